"""Many members of an ensemble on a CUDA GPU: the loop of one run, one thread per member.

The functions are those of the processor, collected with another header. Arrays are (component, member), so that
neighbouring threads touch neighbouring numbers; member k sees the strided views `z[:, k]`. Parameters have a row that all members
share, or one for each; scratch has the member last, too. Sample rows stay on the GPU: each launch folds the deviations of the
invariants into running sums, and only what is asked for travels.

Multiplications and additions are not fused, and elementary functions are our own: the bits are those of the processor.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import CapabilityError
from ..kernels.views import NOT_FINITE, OK, View, account_width, measure, publish
from ..log import log_message
from ..methods.base import Method, Stepper
from ..systems.base import System
from . import bounds, headers
from .arrays import Arrays
from .block import Members
from .build import program_parts
from .cuda_rows import MEASURED, CudaKernel, begin_members, conclude_members, launch, repeat_rows
from .driver import LARGEST
from .folding import fold, fold_accounts, settled_edges
from .looks import unseen
from .loop import advance
from .member_loop import of_member

Array = NDArray[np.float64]

BLOCK = 128  # threads
SKIP = -1  # count of a member that has failed: its thread does nothing
MEMORY_SHARE = 0.7  # of what is free on the GPU
SAMPLE_BYTES = 2**28  # for the sample rows of a launch


def advance_member(
    k,
    z,
    e,
    t0,
    dt,
    first,
    counts,
    every,
    par,
    tab,
    work,
    carry,
    samples,
    scale,
    looks,
    now,
    start,
    worst,
    sums,
    edges,
    added,
    settled,
    outcome,
):
    """Make counts[k] steps with member k and fold its sample rows; outcome takes status and steps made.

    now takes the row of the state reached. As for a single run, a state that is large beyond use or has an undefined
    invariant is a failure, wherever samples are taken.
    """
    idle = tab[0]  # no section looks: what `advance` hands on for them is never read
    status, made = advance(
        z[:, k], e[:, k], t0[k], dt[k], first, counts[k], every, par, tab, work[:, k], carry[:, k],
        samples[:, :, k], scale[:, k], looks[:, :, k], idle, idle, idle, idle,
    )  # fmt: skip
    width = samples.shape[1] - account_width(carry)
    public = width - scale.shape[0]
    publish(z[:, k], par, now[:public, k])
    measure(z[:, k], par, now[public:width, k], now[width:, k])
    rows = (first + made) // every - first // every
    if status == OK:
        for i in range(z.shape[0]):
            if not abs(z[i, k]) < LARGEST:
                status = NOT_FINITE
        for i in range(width):
            if not abs(now[i, k]) < math.inf:
                status = NOT_FINITE
            for row in range(rows):
                if not abs(samples[row, i, k]) < math.inf:
                    status = NOT_FINITE
    if status == OK:
        number = 1 + first // every
        fold(samples[:, public:width, k], rows, number, start[:, k], edges, worst[:, k], sums[:, :, k])
        fold_accounts(samples[:, width:, k], rows, number, settled, added[:, :, k])
    outcome[0, k] = status
    outcome[1, k] = made


class DeviceArray(Protocol):
    """An array in the memory of a GPU."""

    def copy_to_host(self) -> np.ndarray: ...

    def copy_to_device(self, array: object, /) -> None: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, place: object, /) -> DeviceArray: ...


@dataclass(frozen=True)
class CudaProgram:
    """The kernel of a pair of system and method, with the sizes its arrays need."""

    system: System
    view: View
    stepper: Stepper
    arrays: Arrays
    kernel: CudaKernel

    @property
    def defined_width(self) -> int:
        """Numbers in a sample row that a state has: public fields, then invariants."""
        return self.system.public_width + self.system.invariant_width

    @property
    def width(self) -> int:
        """Numbers in a sample row: those, then what the method has added up since the last row."""
        return self.defined_width + sum(field.width for field in self.stepper.accounts)


def build(system: System, method: Method) -> CudaProgram:
    """The program of this pair for the GPU of this machine."""
    require_cuda()
    title = f"{system.title} x {method} on CUDA"
    view, stepper, parts = program_parts(system, method, entry=advance_member)
    arrays = Arrays.of(system, view, stepper).used_by(parts)
    kind = f"{system.kind} x {method.program} on CUDA"
    text = headers.module_text(
        kind, parts, arrays.types, header=headers.CUDA, entry="@_fn", checked=bounds.are_wanted() and _simulated(),
        with_ground=system.with_ground,
    )  # fmt: skip
    return CudaProgram(system, view, stepper, arrays, _loaded(text + kernel_text(arrays), title))


def kernel_text(arrays: Arrays) -> str:
    """The kernel: it finds its member, and gathers the arrays of `par`, which travel one by one: of scratch those of the member."""

    def array(dimensions: int, dtype: str = "float64") -> str:
        return f"types.{dtype}[{':, ' * (dimensions - 1)}::1]"

    before = {
        "z": array(2), "e": array(2), "t0": array(1), "dt": array(1), "first": "types.int64",
        "counts": array(1, "int64"), "every": "types.int64", "kinds": array(1, "int64"),
    }  # fmt: skip
    gathered = {f"par_{name}": array(dimensions + 1, dtype) for name, dimensions, dtype in arrays.types}
    after = {
        "tab": array(3), "work": array(2), "carry": array(2), "samples": array(3), "scale": array(2), "looks": array(3),
        "now": array(2), "start": array(2), "worst": array(2), "sums": array(3), "edges": array(1, "int64"),
        "added": array(3), "settled": array(1, "int64"), "outcome": array(2, "int64"),
    }  # fmt: skip
    arguments = {**before, **gathered, **after}
    # lto: the linker would fuse again what NVVM was told not to; the simulator does not know the option
    return f"""
from numba import config, types
_options = {{}} if config.ENABLE_CUDASIM else {{"lto": False}}

@cuda.jit(types.void({", ".join(arguments.values())}), fastmath=False, **_options)
def advance_members({", ".join(arguments)}):
    k = cuda.grid(1)
    if k < z.shape[1] and counts[k] > {SKIP}:
        par = Parameters({", ".join(_seen(name, arrays) for name in arrays.together)})
        advance(k, {", ".join(name for name in before if name != "kinds")}, par, {of_member("tab")}, {", ".join(name for name in after if name != "tab")})
"""


def _seen(name: str, arrays: Arrays) -> str:
    """How the kernel hands an array on: without the element that stands for none; of scratch, which has the member last, what is this
    member's, and of parameters its row or the one that all share."""
    places = ["0:0" if length == 0 else ":" for length in arrays.together[name].shape]
    if name in arrays.scratch:
        return f"par_{name}[{', '.join([*places, 'k'])}]"
    return of_member(f"par_{name}", *(places if "0:0" in places else ()))


def _padded(array: np.ndarray) -> np.ndarray:
    """The same, with an element in place of none: a GPU refuses arrays without elements."""
    return array if array.size else np.zeros([max(1, length) for length in array.shape], dtype=array.dtype)


@functools.cache
def _loaded(text: str, title: str) -> CudaKernel:
    log_message(f"compiling {title} (a few seconds)")
    namespace: dict[str, object] = {"__name__": "catena_generated_cuda"}
    with without_contraction():
        exec(compile(text, f"<{title}>", "exec"), namespace)
    made = namespace["advance_members"]
    assert isinstance(made, CudaKernel)
    return made


def _simulated() -> bool:
    """Whether the GPU is plain Python, which can check subscripts (`bounds`) and knows no machine code."""
    from numba import config

    return bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]


@contextmanager
def without_contraction() -> Iterator[None]:
    """Multiply and add are rounded each, as on the processor.

    NVVM fuses them unless given -fma=0, and numba-cuda knows that option only as a part of its fastmath.
    """
    if _simulated():
        yield
        return
    from numba.cuda.cudadrv import nvvm

    compile_ir = nvvm.compile_ir
    nvvm.compile_ir = functools.partial(compile_ir, fma=False)
    try:
        yield
    finally:
        nvvm.compile_ir = compile_ir


@functools.cache
def require_cuda() -> ModuleType:
    """numba.cuda, or the error that says what is missing."""
    if not hasattr(np, "row_stack"):  # numpy 2.5 dropped the name, numba-cuda 0.30 still asks for it
        np.row_stack = np.vstack  # noqa: NPY201
    try:
        import numba_cuda  # noqa: F401  # numba's own numba.cuda is another, older one
        from numba import cuda
    except ImportError:
        raise CapabilityError(
            'device="cuda" needs the package numba-cuda, which is not installed', where="ensemble.device",
            do='install the extra: pip install "catena[gpu]"; or use device="cpu"',
        ) from None  # fmt: skip
    if not cuda.is_available():
        raise CapabilityError(
            'device="cuda", but no CUDA GPU can be used here', where="ensemble.device",
            do='see `python -c "from numba import cuda; cuda.detect()"`; or use device="cpu"',
        )  # fmt: skip
    return cuda


def gpu_name() -> str:
    """The model of the GPU."""
    name = getattr(require_cuda().get_current_device(), "name", "simulator")
    return name.decode() if isinstance(name, bytes) else str(name)


def members_at_once(program: CudaProgram) -> int:
    """How many members fit on the GPU together."""
    stepper, n, width = program.stepper, program.view.dimension, program.width
    scratch = sum(array.nbytes for array in program.arrays.scratch.values())
    bytes_each = 8 * (stepper.work + 2 * stepper.carry + 4 * n + 40 * width + 8) + scratch
    free = require_cuda().current_context().get_memory_info()[0]
    return 2**31 if free == math.inf else max(1, int((MEMORY_SHARE * free - SAMPLE_BYTES) / bytes_each))


class MemberDriver:
    """Members in progress on the GPU. `made` counts the steps of each, `status` says how it is.

    Parameters
    ----------
    program : from `build`
    members : what they are, and where they start
    every : steps between samples
    edges : numbers of the samples at which the blocks of the audit begin and end
    """

    def __init__(self, program: CudaProgram, members: Members, *, every: int, edges: NDArray[np.int64]) -> None:
        cuda = require_cuda()
        self.program, self._members = program, members
        self.every, self.step = every, 0
        m = self.members = len(members)
        self.status = np.zeros(m, dtype=np.int64)
        self.made = np.zeros(m, dtype=np.int64)
        invariants = program.system.invariant_width
        self.most_rows = max(1, min(int(edges[-1]), SAMPLE_BYTES // (8 * program.width * m)))

        def sent(array: np.ndarray) -> DeviceArray:
            return cuda.to_device(np.ascontiguousarray(array))

        stepper, kinds = program.stepper, members.kinds
        self._kinds = sent(kinds)

        def spread(rows: np.ndarray) -> DeviceArray:
            """(kinds, ...) numbers, on the GPU (..., m): only the rows travel."""
            whole = cuda.device_array((*rows.shape[1:], m), dtype=rows.dtype)
            flat = np.ascontiguousarray(rows.reshape(len(rows), -1))
            launch(repeat_rows(), m, cuda.to_device(flat), self._kinds, whole.reshape(flat.shape[1], m))
            return whole

        def zeros(*shape: int) -> DeviceArray:
            return spread(np.zeros((1, *shape)))

        carry = spread(_padded(stepper.first_carry()[None]))
        if stepper.member_place is not None:
            carry[stepper.member_place].copy_to_device(members.numbers.astype(float))
        self._state = {
            "z": self._begun(sent(np.transpose(members.z))),
            "e": zeros(program.view.dimension),
            "carry": carry,
        }
        self._before = {name: cuda.device_array_like(array) for name, array in self._state.items()}
        self._t0, self._dt, self._tab = sent(members.t0), sent(members.dt), sent(members.tab)
        self._par = [sent(_padded(members.par[name])) for name in program.arrays.parameters]
        self._par += [spread(_padded(members.par[name])) for name in program.arrays.scratch]
        self._work = cuda.device_array((max(1, stepper.work), m))
        self._samples = cuda.device_array((self.most_rows, program.width, m))
        self._scale, self._start, self._worst = (zeros(invariants) for _ in range(3))
        self._looks = spread(unseen(invariants)[None])
        self._now = zeros(program.defined_width + invariants)
        self._sums = zeros(len(edges) - 1, invariants)
        self._edges, self._rows = sent(edges), int(edges[-1])
        self._settled = sent(settled_edges(self._rows))
        self._added = zeros(3, max(1, program.width - program.defined_width))
        self._outcome = cuda.device_array((2, m), dtype=np.int64)
        self._counts = cuda.device_array(m, dtype=np.int64)

    def _begun(self, starts: DeviceArray) -> DeviceArray:
        """The stepped variables (n, m) of starts: these, or grown on the GPU."""
        view = self.program.view
        if view.begin is None or starts.shape[0] == view.dimension:
            return starts
        z: DeviceArray = require_cuda().device_array((view.dimension, self.members))
        launch(begin_members(view.begin.kernel), self.members, starts, z)
        return z

    def first_rows(self) -> Array:
        """(m, defined_width) rows of the starts, from which deviations are counted; to be taken before the first step.

        A member whose invariants are not defined at its start has failed.
        """
        self._launch(np.zeros(self.members, dtype=np.int64))
        self.status = self._outcome.copy_to_host()[0]
        self._start.copy_to_device(self._now[self.program.system.public_width : self.program.defined_width])
        return self.rows()

    def rows(self) -> Array:
        """(m, defined_width) rows of the states as they are."""
        return self._now[: self.program.defined_width].copy_to_host().T

    def advance(self, steps: int, *, keep: bool) -> Array:
        """Make steps with every member that has not failed; a failing one stays before the failing step.

        Returns the sample rows (m, rows, width) if they are to be kept, nan after a failure, else none.
        """
        steps = min(steps, self.most_rows * self.every)
        for name, array in self._state.items():
            self._before[name].copy_to_device(array)
        running = self.status == OK
        self._launch(np.where(running, steps, SKIP))
        status, made = self._outcome.copy_to_host()
        failed = running & (status != OK)
        count = (self.step + steps) // self.every - self.step // self.every
        rows = np.empty((self.members, 0, self.program.width))
        if keep and count:
            rows = self._samples[:count].copy_to_host().transpose(2, 0, 1)
        if failed.any():
            status[failed], made[failed] = self._stop_before_failure(failed, status[failed], steps)
        self.made[running] += made[running]
        self.status[running] = status[running]
        for k in np.flatnonzero(self.status != OK) if rows.size else ():
            rows[k, max(0, self.made[k] // self.every - self.step // self.every) :] = math.nan
        self.step += steps
        return rows

    def concluded(self) -> dict[str, Array]:
        """Of the invariants, by name (`MEASURED`): (m, k), nan for members that failed."""
        cuda = require_cuda()
        made = cuda.device_array((len(MEASURED), *self._worst.shape))
        launch(
            conclude_members(), self.members, self._rows, cuda.to_device(self.status), self._start, self._worst, self._scale, self._sums, self._looks, made
        )  # fmt: skip
        return dict(zip(MEASURED, made.copy_to_host().transpose(0, 2, 1), strict=True))

    def sums(self) -> Array:
        """(m, blocks, k) sums of the deviations of the invariants over the blocks of the audit."""
        return self._sums.copy_to_host().transpose(2, 0, 1)

    def added(self) -> Array:
        """Of what the method adds up: sums (m, 3, k) over what is left out, and both halves of the rest."""
        width = self.program.width - self.program.defined_width
        return self._added.copy_to_host().transpose(2, 0, 1)[:, :, :width]

    def _stop_before_failure(
        self, which: NDArray[np.bool_], status: NDArray[np.int64], steps: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put members that failed in the launch just made to their last sound states; why they failed, steps made.

        By bisection: a state that is not sound leads to no sound one, and steps repeated have the same bits.
        """
        before = {name: array.copy_to_host()[:, which] for name, array in self._before.items()}
        part = MemberDriver(
            self.program, self._members.part(which), every=self.every, edges=self._edges.copy_to_host()
        )  # fmt: skip
        part.step = self.step
        sound, lost = np.zeros(part.members, dtype=np.int64), np.full(part.members, steps)
        while (lost - sound > 1).any():
            middle = (sound + lost) // 2
            seen = part._repeated(before, middle)
            status = np.where(seen == OK, status, seen)
            sound, lost = np.where(seen == OK, middle, sound), np.where(seen == OK, lost, middle)
        part._repeated(before, sound)
        for mine, made in ((self._state["z"], part._state["z"]), (self._now, part._now)):
            array = mine.copy_to_host()
            array[:, which] = made.copy_to_host()
            mine.copy_to_device(array)
        return status, sound

    def _repeated(self, before: dict[str, Array], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        for name, array in before.items():
            self._state[name].copy_to_device(np.ascontiguousarray(array))
        self._launch(counts)
        return self._outcome.copy_to_host()[0]

    def _launch(self, counts: NDArray[np.int64]) -> None:
        self._counts.copy_to_device(counts)
        state = self._state
        arguments = (
            state["z"], state["e"], self._t0, self._dt, self.step, self._counts, self.every, self._kinds, *self._par, self._tab,
            self._work, state["carry"], self._samples, self._scale, self._looks, self._now, self._start, self._worst,
            self._sums, self._edges, self._added, self._settled, self._outcome,
        )  # fmt: skip
        launch(self.program.kernel, self.members, *arguments, block=BLOCK)
