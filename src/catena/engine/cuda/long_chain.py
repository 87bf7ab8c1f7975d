"""One long chain on a CUDA GPU, a thread for each body: neighbours see each other's numbers in global memory.

A sweep is two launches: all bodies move and publish their positions, then all links are computed. So the bits are those
of the CPU, whatever the number of bodies. Where a run is sampled or looked at, the state is copied back, and the CPU
publishes and measures it: a sum over a million bodies in their order does not suit a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import CapabilityError
from ...kernels.bodies import Bodies, gather_body, join_body, move_body, place_body_of, terms_of_body
from ...kernels.marks import Kernel
from ...kernels.views import NOT_FINITE, OK, is_closed
from .. import bounds, collector, headers
from ..arrays import Arrays
from ..build import Program
from ..driver import LARGEST, Driver
from ..headers import array_type
from ..looks import HIGHEST, LATEST, LOWEST, SIZES, STEPS, TOTAL, look_after, stride_at, unseen
from ..pairing import Pairing
from ..parts import instead
from ..single_kernels import PAR, SingleKernels
from .bodies import ALONE, REGISTERS, without_own
from .members import DeviceArray, entry_text, is_simulated, load, require_cuda, send
from .rows import CudaKernel, launch

BLOCK = 128  # threads


def is_sound_body(z, j):
    """1 if all numbers of body j are within the limit."""
    for row in range(z.shape[0]):
        if not abs(z[row, j]) < LARGEST:
            return 0
    return 1


def require_bodies(of: Program | Pairing, *, watched: bool) -> None:
    """CapabilityError for a run that a GPU cannot share, or without a GPU; watched: it has sections or events."""
    if watched or of.view.bodies is None or of.stepper.of_body is None or not of.stepper.in_sweeps:
        raise CapabilityError(
            f"the steps of {of.method} for {of.system.title} cannot be shared by the threads of a GPU", where="simulate.device",
            do="leave device out; long chains with Splitting, without drives, sections and events, can be; many members are an ensemble, which can",
        )  # fmt: skip
    require_cuda()


@dataclass(frozen=True)
class LongProgram:
    """The kernels for one chain.

    They move bodies, join them and gather their states; place particles; compute the energies of links; and check
    whether a body is sound.
    """

    bodies: Bodies
    move: CudaKernel
    join: CudaKernel
    gather: CudaKernel
    place: CudaKernel
    terms: CudaKernel
    sound: CudaKernel
    arrays: dict[str, Arrays]

    @classmethod
    def of(cls, program: Program) -> LongProgram:
        """CapabilityError for a run that a GPU cannot share."""
        require_bodies(program, watched=program.crossing is not None)
        view, stepper = program.view, program.stepper
        assert view.bodies is not None and stepper.of_body is not None
        bodies = view.bodies()
        arrays = Arrays.of(program.system, view, stepper)
        closed = bool(view.fills.get(is_closed, 0))
        made: dict[str, CudaKernel] = {}
        used: dict[str, Arrays] = {}
        for name, entry in ENTRIES.items():
            parts = collector.collect(instead(stepper.of_body, entry), dict(bodies.fills))
            own = arrays.named_in(parts)
            text = headers.module_text(
                f"{program.title}, bodies of a long chain", parts, own.types, header=headers.CUDA, entry="@_fn",
                checked=bounds.are_wanted() and is_simulated(),
            )  # fmt: skip
            text += KERNELS[name](own, bodies, closed)
            made[name] = load(text, f"{program.title} on CUDA, {name}", f"{name}_bodies")
            used[name] = without_own(own)
        return cls(bodies, arrays=used, **made)


def _head(name: str, arguments: dict[str, str], arrays: Arrays) -> str:
    """The head of a kernel, and its body number j."""
    given = {f"par_{one}": array_type(dimensions, dtype) for one, dimensions, dtype in without_own(arrays).types}
    return f"""
{entry_text(f"{name}_bodies", {**arguments, **given}, max_registers=REGISTERS)}
    j = cuda.grid(1)
    n = z.shape[1]
    if j >= n:
        return
    {ALONE} = cuda.local.array(14, types.float64)
    par = {_par(arrays)}"""


def _par(arrays: Arrays) -> str:
    names = [one if one == ALONE else f"par_{one}" for one in arrays.together]
    return f"Parameters({', '.join(names)})" if names else "0"


def _move(arrays: Arrays, bodies: Bodies, closed: bool) -> str:
    arguments = {
        "z": array_type(2), "moves": "types.int64", "push": "types.float64", "glide": "types.float64", "pending": "types.float64",
        "shown": array_type(2), "links": array_type(2), "failed": array_type(1, "int64"),
    }  # fmt: skip
    return f"""{_head("move", arguments, arrays)}
    w = cuda.local.array({bodies.numbers}, types.float64)
    before = j - 1 if j > 0 else {"n - 1" if closed else "-1"}
    status = advance(z, j, before, moves, push, glide, par, w, shown, links)
    if moves:
        z[{bodies.rows - 1}, j] = pending
        if status != {OK}:
            cuda.atomic.max(failed, 0, status)
"""


def _join(arrays: Arrays, bodies: Bodies, closed: bool) -> str:
    arguments = {"z": array_type(2), "shown": array_type(2), "links": array_type(2)}
    return f"""{_head("join", arguments, arrays)}
    w = cuda.local.array({bodies.numbers}, types.float64)
    after = j + 1 if j < n - 1 else {"0" if closed else "j"}
    advance(z, j, after, par, w, shown, links)
"""


def _gather(arrays: Arrays, bodies: Bodies, closed: bool) -> str:
    return f"""{_head("gather", {"z": array_type(2), "out": array_type(1)}, arrays)}
    advance(z, j, par, out)
"""


def _sound(arrays: Arrays, bodies: Bodies, closed: bool) -> str:
    return f"""{_head("sound", {"z": array_type(2), "failed": array_type(1, "int64")}, arrays)}
    if advance(z, j) == 0:
        cuda.atomic.max(failed, 0, {NOT_FINITE})
"""


def _place(arrays: Arrays, bodies: Bodies, closed: bool) -> str:
    return f"""{_head("place", {"z": array_type(2), "gathered": array_type(1)}, arrays)}
    advance(gathered, j, par)
"""


def _terms(arrays: Arrays, bodies: Bodies, closed: bool) -> str:
    return f"""{_head("terms", {"z": array_type(2), "gathered": array_type(1), "out": array_type(2)}, arrays)}
    advance(gathered, j, par, out)
"""


ENTRIES: dict[str, Kernel] = {
    "move": move_body, "join": join_body, "gather": gather_body, "place": place_body_of, "terms": terms_of_body, "sound": is_sound_body,
}  # fmt: skip
KERNELS: dict[str, Callable[[Arrays, Bodies, bool], str]] = {
    "move": _move, "join": _join, "gather": _gather, "place": _place, "terms": _terms, "sound": _sound,
}  # fmt: skip


class GpuDriver(Driver):
    """A run in progress, like `Driver`, whose steps are shared by the threads of a GPU.

    Parameters
    ----------
    program, z, t0, dt, every : as for `Driver`
    compiled : whether measuring is compiled; otherwise plain Python, as the program is
    """

    def __init__(self, program: Program, z: Array, *, t0: float, dt: float, every: int, compiled: bool = True) -> None:
        self._long = LongProgram.of(program)
        super().__init__(program, z, t0=t0, dt=dt, every=every)
        bodies = self._long.bodies
        there: dict[str, DeviceArray] = {}
        for arrays in self._long.arrays.values():
            there |= {name: send(array) for name, array in arrays.together.items() if name not in there}
        self._par = {kernel: [there[name] for name in arrays.together] for kernel, arrays in self._long.arrays.items()}
        self._shown: DeviceArray = require_cuda().device_array((bodies.shown, bodies.count))
        self._links: DeviceArray = require_cuda().device_array((bodies.linked, bodies.count))
        self._gathered: DeviceArray = require_cuda().device_array(bodies.gathered * bodies.count)
        self._terms: DeviceArray = require_cuda().device_array((bodies.terms, bodies.count))
        self._failed = send(np.zeros(1, dtype=np.int64))
        self._there: DeviceArray = require_cuda().device_array((bodies.rows, bodies.count))
        self._gathered_here = np.zeros(bodies.gathered * bodies.count)
        terms = np.zeros((bodies.terms, bodies.count))
        alone = SingleKernels(program.system, program.view, scratch={"link_terms": terms})
        self._terms_here = alone.arrays["link_terms"]
        publish, measure = bodies.recorded
        self._publish = alone.function(publish, (1, PAR, 1), compiled=compiled)
        self._measure = alone.function(measure, (1, PAR, 1, 1), compiled=compiled)
        self._send(self.z)
        self.z = self.z[:0]  # it is on the GPU now

    def _send(self, z: Array) -> None:
        """Send stepped variables, or the part of them that a checkpoint holds, to the GPU."""
        fold, bodies = self.program.view.fold, self._long.bodies
        assert fold is not None
        kept = z if z.shape == (fold.size,) else fold.fold(z)
        rows = np.empty((bodies.rows, bodies.count))
        rows[:-1], rows[-1] = kept[:-1].reshape(bodies.rows - 1, bodies.count), kept[-1]
        self._there.copy_to_device(rows)
        self._pending, self._settled = float(kept[-1]), False

    def _fetch(self) -> Array:
        """The part of the stepped variables that a checkpoint holds."""
        return np.append(self._there.copy_to_host()[:-1].ravel(), self._pending)

    def variables(self) -> Array:
        """The stepped variables, copied from the GPU, without particles and constants."""
        return self.program.view.stepped(self._fetch())

    def state(self) -> dict[str, Array]:
        """Everything that determines the future, by name."""
        return {"z": self._fetch(), **self._on_the_processor()}

    def _on_the_processor(self) -> dict[str, Array]:
        return {"e": self.e[:0], "carry": self.carry, "scale": self.scale, "looks": self.looks, "marks": self.marks}

    def restore(self, step: int, arrays: dict[str, Array]) -> None:
        """Go (back) to a state."""
        self._restore_on_the_processor(step, arrays)
        self._send(arrays["z"])

    def _restore_on_the_processor(self, step: int, arrays: dict[str, Array]) -> None:
        self.step = step
        for name, array in ({"looks": unseen(self.looks.shape[1])} | arrays).items():
            if name not in ("z", "e"):
                getattr(self, name)[...] = array

    def way_back(self) -> Callable[[], None]:
        """A function that restores the present state, whose variables stay on the GPU."""
        step, pending, kept = self.step, self._pending, require_cuda().device_array_like(self._there)
        kept.copy_to_device(self._there)
        others = {name: array.copy() for name, array in self._on_the_processor().items()}

        def back() -> None:
            self._restore_on_the_processor(step, others)
            self._there.copy_to_device(kept)
            self._pending, self._settled = pending, False

        return back

    def _is_small(self) -> bool:
        launch(self._long.sound, self._long.bodies.count, self._there, self._failed, block=BLOCK)
        return self._fetch_worst_status() == OK

    def _fetch_worst_status(self) -> int:
        """The worst status since the last call."""
        status = int(self._failed.copy_to_host()[0])
        if status != OK:
            self._failed.copy_to_device(np.zeros(1, dtype=np.int64))
        return status

    def _call(self, steps: int, rows: Array, *, ahead: int = 0) -> tuple[int, int]:
        """The same as the loop does (`catena.engine.loop`)."""
        if steps == 0:
            self._record(rows[0], self._gather_states())
            return OK, 0
        made, first = 0, self.step + ahead
        while made < steps:
            at = first + made
            due, look = (at // self.every + 1) * self.every, look_after(at)
            stop = min(due, look, first + steps)
            status = self._sweep(stop - at)
            if status != OK:
                return status, made
            if stop == due and not self._is_small():
                return NOT_FINITE, made
            made = stop - first
            gathered = self._gather_states() if stop in (due, look) else None
            if stop == due and gathered is not None:
                self._record(rows[stop // self.every - first // self.every - 1], gathered)
            if stop == look and gathered is not None:
                self._look(gathered, stride_at(look))
        return OK, made

    def _sweep(self, steps: int) -> int:
        """Make steps without recording; returns a status."""
        kicks, drifts = self.program.stepper.tab
        after = float(kicks[-1]) * self.dt
        if not self._settled:
            self._launch(moves=False, push=0.0, glide=0.0, after=after)
            self._settled = True
        for _ in range(steps):
            push = self._pending
            for kick, drift in zip(kicks[:-1].tolist(), drifts[:-1].tolist(), strict=True):
                self._launch(moves=True, push=push + kick * self.dt, glide=drift * self.dt, after=after)
                push = 0.0
            self._pending = after
        return self._fetch_worst_status()

    def _launch(self, *, moves: bool, push: float, glide: float, after: float) -> None:
        """Launch a sweep, or compute the forces only."""
        count, program = self._long.bodies.count, self._long
        seen = self._shown, self._links
        launch(
            program.move, count, self._there, int(moves), push, glide, after, *seen, self._failed, *self._par["move"],
            block=BLOCK,
        )  # fmt: skip
        launch(program.join, count, self._there, *seen, *self._par["join"], block=BLOCK)

    def _gather_states(self) -> Array:
        """The gathered state on the CPU, including the energies of its links."""
        count, long = self._long.bodies.count, self._long
        launch(long.gather, count, self._there, self._gathered, *self._par["gather"], block=BLOCK)
        launch(long.place, count, self._there, self._gathered, *self._par["place"], block=BLOCK)
        launch(long.terms, count, self._there, self._gathered, self._terms, *self._par["terms"], block=BLOCK)
        self._terms.copy_to_host(self._terms_here)
        self._gathered.copy_to_host(self._gathered_here)
        return self._gathered_here

    def _record(self, row: Array, gathered: Array) -> None:
        """Write a sample row."""
        public = self.program.system.public_width
        with np.errstate(all="ignore"):
            self._publish(gathered, row[:public])
            self._measure(gathered, row[public : self.program.defined_width], self.scale)

    def _look(self, gathered: Array, stride: int) -> None:
        """The same as `take_look`."""
        latest, sizes, looks = self.looks[LATEST], self.looks[SIZES], self.looks
        sizes[...] = 0.0
        with np.errstate(all="ignore"):
            self._measure(gathered, latest, sizes)
        looks[LOWEST] = np.where(latest < looks[LOWEST], latest, looks[LOWEST])
        looks[HIGHEST] = np.where(latest > looks[HIGHEST], latest, looks[HIGHEST])
        looks[TOTAL] += stride * sizes
        looks[STEPS] += stride
