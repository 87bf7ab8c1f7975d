"""One long run on several threads: each sweeps over some parts of the state, then the seams between them are closed.

A long chain in tiles is stepped by sweeps, in which a tile needs one body and one link of each neighbour. Each thread
takes a contiguous range of tiles; every number is computed as by a single thread, so the bits do not depend on the
number of threads. A step that ends with a sample, or with a look at the invariants, is made by the loop of all runs
(`catena.engine.loop`), which sees the whole state.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np

from ..arrays import Array
from ..errors import CapabilityError
from ..kernels.marks import Bound, Kernel, Parameters
from ..kernels.views import OK, join_part, sweep_part
from . import bounds, cache, collector, headers
from .arrays import Arrays
from .build import Program
from .driver import Driver
from .looks import look_after
from .pairing import Pairing
from .plain_python import interpret


def sweep_between(z, push, glide, par, begin, end):
    """Sweep over parts begin to end - 1; if there are none, join the part before `end` to part `end`."""
    if begin == end:
        join_part(z, par, end - 1)
        return 0
    return sweep_part(z, push, glide, par, begin, end)


class PartedDriver(Driver):
    """A run in progress, like `Driver`, whose steps are shared by several threads.

    Parameters
    ----------
    program, z, t0, dt, every : as for `Driver`
    threads : number of threads; at most one per part is used
    compiled : compiled or plain Python, as the program is
    """

    def __init__(
        self, program: Program, z: Array, *, t0: float, dt: float, every: int, threads: int, compiled: bool = True
    ) -> None:
        require_parts(program, watched=program.crossing is not None)
        super().__init__(program, z, t0=t0, dt=dt, every=every)
        parts = program.view.parts
        edges = np.arange(min(threads, parts) + 1) * parts // min(threads, parts)
        self._between = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        module, arrays = _load(program, compiled=compiled)
        # parameters are shared; each thread has its own scratch
        self._sweep = module.advance
        self._own: list[Parameters] = [module.Parameters(**arrays.fresh(dt)) for _ in self._between]

    def _call(self, steps: int, rows: Array, *, ahead: int = 0) -> tuple[int, int]:
        """The same as the loop does; steps that threads cannot share are made by the loop itself."""
        made, first = 0, self.step + ahead
        if steps == 0:
            return super()._call(0, rows, ahead=ahead)
        with ThreadPoolExecutor(len(self._between)) as threads:
            while made < steps:
                at = first + made
                seen = min((at // self.every + 1) * self.every, look_after(at))
                if self.z[-2] != 0.0:  # forces are known
                    status, shared = self._share(min(seen - 1 - at, steps - made), threads)
                    made += shared
                    if status != OK or made == steps:
                        return status, made
                filled = (first + made) // self.every - first // self.every
                status, one = super()._call(1, rows[filled:], ahead=ahead + made)
                made += one
                if status != OK:
                    return status, made
        return OK, made

    def _share(self, steps: int, threads: ThreadPoolExecutor) -> tuple[int, int]:
        """Make steps without samples and looks; returns a status and the steps made.

        After a failure the driver must restore z.
        """
        kicks, drifts = self.program.stepper.tab
        for made in range(steps):
            push = float(self.z[-1])
            for kick, drift in zip(kicks[:-1].tolist(), drifts[:-1].tolist(), strict=True):
                status = self._share_sweep(push + kick * self.dt, drift * self.dt, threads)
                if status != OK:
                    return status, made
                push = 0.0
            self.z[-1] = float(kicks[-1]) * self.dt
        return OK, steps

    def _share_sweep(self, push: float, glide: float, threads: ThreadPoolExecutor) -> int:
        """Sweep over all parts, a thread for each range, then over the seams.

        Returns the first status that is not OK.
        """

        def run(own: Parameters, begin: int, end: int) -> int:
            with np.errstate(all="ignore"):
                return int(self._sweep(self.z, push, glide, own, begin, end))

        others = [threads.submit(run, own, *ends) for own, ends in zip(self._own[1:], self._between[1:], strict=True)]
        states = [run(self._own[0], *self._between[0]), *(other.result() for other in others)]
        for _, end in self._between:
            run(self._own[0], end, end)
        return next((status for status in states if status != OK), OK)


def require_parts(of: Program | Pairing, *, watched: bool) -> None:
    """CapabilityError for a run that threads cannot share; watched: it has sections or events."""
    if watched or not (of.view.parts and of.stepper.in_sweeps):
        raise CapabilityError(
            f"the steps of {of.method} for {of.system.title} cannot be shared by threads", where="simulate.threads",
            do="leave threads out; long chains with Splitting, without drives, sections and events, can be; "
            "runs that do not depend on each other are an ensemble",
        )  # fmt: skip


def _load(program: Program, *, compiled: bool) -> tuple[ModuleType, Arrays]:
    """The module of `sweep_between`, and the arrays that it needs."""
    view, stepper = program.view, program.stepper
    parts = collector.collect(instead(stepper.kernel, sweep_between), dict(view.fills))
    arrays = Arrays.of(program.system, view, stepper).used_by(parts)
    kind = f"{program.system.kind} x {program.method.program}, parts of a sweep"
    if not compiled:
        return interpret(_text(kind, parts, arrays, headers.PYTHON, "@_fn")), arrays.locked()
    number, index = "types.float64", "types.int64"
    entry = headers.cpu_function(
        "types.int64", [headers.array_type(1), number, number, headers.parameters_type(arrays.types), index, index]
    )
    return cache.load(_text(kind, parts, arrays, headers.CPU, entry), f"{program.title}, parts of a sweep"), arrays


def _text(kind: str, parts: Sequence[collector.Part], arrays: Arrays, header: str, entry: str) -> str:
    return headers.module_text(kind, parts, arrays.types, header=header, entry=entry, checked=bounds.are_wanted())


def instead(kernel: Kernel, function: Kernel) -> Kernel:
    """Another function with the same slots filled as in a kernel."""
    return Bound(instead(kernel.function, function), kernel.fills) if isinstance(kernel, Bound) else function
