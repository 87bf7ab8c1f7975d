"""Many members of an ensemble on a CUDA GPU: the loop of one run, one thread per member.

The functions are those of the CPU, collected with another header. Arrays are (component, member), so that adjacent
threads access adjacent numbers; member k sees the strided views `z[:, k]`. Parameters have one row that all members
share, or one for each; scratch also has the member last. Sample rows stay on the GPU: each launch folds the deviations
of the invariants into running sums, and only requested results are copied to the CPU.

Multiplications and additions are not fused, and elementary functions are our own: the bits are those of the CPU.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError
from ...kernels.views import NOT_FINITE, OK, account_width, measure, publish
from ...log import log_message
from ...methods.base import Method
from ...systems.base import Array, System
from .. import bounds, headers
from ..arrays import Arrays
from ..block import Members
from ..build import OfPair, program_parts
from ..driver import LARGEST
from ..folding import fold, fold_accounts, settle_edges
from ..headers import array_type
from ..looks import unseen
from ..loop import advance
from ..member_loop import of_member
from .rows import DEFAULT, MEASURED, CudaKernel, Landing, Stream, begin_members, conclude_members, launch, repeat_rows

BLOCK = 128  # threads
SKIP = -1  # count of a member that has failed: its thread does nothing
MEMORY_SHARE = 0.7  # of the free memory of the GPU
SAMPLE_BYTES = 2**28  # for the sample rows of a launch


def advance_member(
    k, z, e, t0, dt, first, counts, every, par, tab, work, carry, samples, scale, looks, now, start, worst,
    sums, edges, added, settled, outcome,
):  # fmt: skip
    """Make counts[k] steps with member k and fold its sample rows; outcome receives status and steps made.

    now receives the row of the state reached. As for a single run, a state that exceeds the limit or has an undefined
    invariant is a failure, wherever samples are taken.
    """
    idle = tab[0]  # a placeholder for the arrays of sections, which `advance` never reads here
    status, made = advance(
        z[:, k], e[:, k], t0[k], dt[k], first, counts[k], every, par, tab, work[:, k], carry[:, k],
        samples[:, :, k], scale[:, k], looks[:, :, k], idle, idle, idle, idle,
    )  # fmt: skip
    width = samples.shape[1] - account_width(carry)
    public = width - scale.shape[0]
    publish(z[:, k], par, now[:public, k])
    measure(z[:, k], par, now[public:width, k], now[width:, k])
    if status == OK:
        for i in range(z.shape[0]):
            if not abs(z[i, k]) < LARGEST:
                status = NOT_FINITE
    rows = (first + made) // every - first // every
    outcome[0, k] = fold_member(
        status, rows, 1 + first // every, public, now[:, k], samples[:, :, k], start[:, k], worst[:, k], sums[:, :, k], edges, added[:, :, k], settled
    )  # fmt: skip
    outcome[1, k] = made


def fold_member(status, rows, number, public, now, samples, start, worst, sums, edges, added, settled):
    """Fold the rows of a launch (the first is sample `number`) if they and the row of the state reached are finite.

    Returns the status.
    """
    width = public + start.shape[0]
    if status == OK:
        for i in range(width):
            if not abs(now[i]) < math.inf:
                status = NOT_FINITE
            for row in range(rows):
                if not abs(samples[row, i]) < math.inf:
                    status = NOT_FINITE
    if status == OK:
        fold(samples[:, public:width], rows, number, start, edges, worst, sums)
        fold_accounts(samples[:, width:], rows, number, settled, added)
    return status


class DeviceArray(Protocol):
    """An array in the memory of a GPU."""

    def copy_to_host(self, array: np.ndarray | None = None, stream: Stream = DEFAULT, /) -> np.ndarray: ...

    def copy_to_device(self, array: object, /) -> None: ...

    def reshape(self, *shape: int) -> DeviceArray: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, place: object, /) -> DeviceArray: ...


@dataclass(frozen=True)
class CudaProgram(OfPair):
    """The kernel of a pair of system and method, with the sizes of its arrays."""

    kernel: CudaKernel

    @property
    def state_size(self) -> int:
        """Numbers per member besides `carry`, with a copy of the state at the start of a launch."""
        return self.stepper.work + 4 * self.view.dimension


def build(system: System, method: Method) -> CudaProgram:
    """The program of this pair for the GPU of this machine, a thread for each member."""
    require_cuda()
    title = f"{system.title} x {method} on CUDA"
    view, stepper, parts = program_parts(system, method, entry=advance_member)
    arrays = Arrays.of(system, view, stepper).used_by(parts)
    kind = f"{system.kind} x {method.program} on CUDA"
    text = headers.module_text(
        kind, parts, arrays.types, header=headers.CUDA, entry="@_fn", checked=bounds.are_wanted() and is_simulated(),
        with_ground=system.with_ground,
    )  # fmt: skip
    return CudaProgram(system, view, stepper, arrays, load(text + kernel_text(arrays), title))


RECORDED = {
    "samples": array_type(3), "scale": array_type(2), "looks": array_type(3), "now": array_type(2), "start": array_type(2),
    "worst": array_type(2), "sums": array_type(3), "edges": array_type(1, "int64"), "added": array_type(3),
    "settled": array_type(1, "int64"), "outcome": array_type(2, "int64"),
}  # fmt: skip


def kernel_text(arrays: Arrays) -> str:
    """The kernel text: it finds its member and gathers `par` from single arrays, of scratch only the member's part."""
    before = {
        "z": array_type(2), "e": array_type(2), "t0": array_type(1), "dt": array_type(1), "first": "types.int64",
        "counts": array_type(1, "int64"), "every": "types.int64", "kinds": array_type(1, "int64"),
    }  # fmt: skip
    after = {"tab": array_type(3), "work": array_type(2), "carry": array_type(2), **RECORDED}
    return f"""
{entry_text("advance_members", {**before, **types_of(arrays), **after})}
    k = cuda.grid(1)
    if k < z.shape[1] and counts[k] > {SKIP}:
        par = Parameters({", ".join(pass_on(name, arrays) for name in arrays.together)})
        advance(k, {", ".join(name for name in before if name != "kinds")}, par, {of_member("tab")}, {", ".join(name for name in after if name != "tab")})
"""


def types_of(arrays: Arrays) -> dict[str, str]:
    """The arrays of `par` as arguments: parameters have the kind first, scratch the member last."""
    return {f"par_{name}": array_type(dimensions + 1, dtype) for name, dimensions, dtype in arrays.types}


def entry_text(name: str, arguments: Mapping[str, str], **options: int) -> str:
    """The head of a kernel with these types."""
    # lto: the linker would fuse again what NVVM was told not to fuse; the simulator has no such options
    return f"""
from numba import config, types
_options = {{}} if config.ENABLE_CUDASIM else {{"lto": False, **{options}}}

@cuda.jit(types.void({", ".join(arguments.values())}), fastmath=False, **_options)
def {name}({", ".join(arguments)}):"""


def pass_on(name: str, arrays: Arrays) -> str:
    """How the kernel passes an array on, without padding: of scratch the member's part, of parameters its row."""
    places = ["0:0" if length == 0 else ":" for length in arrays.together[name].shape]
    if name in arrays.scratch:
        return f"par_{name}[{', '.join([*places, 'k'])}]"
    return of_member(f"par_{name}", *(places if "0:0" in places else ()))


def _pad(array: np.ndarray) -> np.ndarray:
    """The same array, with one element if it is empty: a GPU refuses empty arrays."""
    return array if array.size else np.zeros([max(1, length) for length in array.shape], dtype=array.dtype)


_loaded: dict[tuple[str, str], CudaKernel] = {}  # by text and name: pairs that differ only in numbers share a kernel


def load(text: str, title: str, name: str = "advance_members") -> CudaKernel:
    """Compile the kernel of that name in a text; the title is for the log message."""
    if (text, name) not in _loaded:
        log_message(f"compiling {title} (a few seconds)")
        namespace: dict[str, object] = {"__name__": "catena_generated_cuda"}
        with without_contraction():
            exec(compile(text, f"<{title}>", "exec"), namespace)
        made = namespace[name]
        assert isinstance(made, CudaKernel)
        _loaded[text, name] = made
    return _loaded[text, name]


def is_simulated() -> bool:
    """Whether the GPU is simulated in plain Python, which can check subscripts (`bounds`) but has no machine code."""
    from numba import config

    return bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]


@contextmanager
def without_contraction() -> Iterator[None]:
    """Round products and sums separately, as on the CPU.

    NVVM fuses them unless given -fma=0, and numba-cuda supports that option only as a part of its fastmath.
    """
    if is_simulated():
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
    """numba.cuda; raises an error that says what is missing."""
    if not hasattr(np, "row_stack"):  # numpy 2.5 removed it, numba-cuda 0.30 still uses it
        vars(np)["row_stack"] = np.vstack
    try:
        import numba_cuda  # noqa: F401  # numba's own numba.cuda is another, older one
        from numba import cuda
    except ImportError:
        raise CapabilityError(
            'device="cuda" needs the package numba-cuda, which is not installed', where="device",
            do='install the extra: pip install "catena[gpu]"; or use device="cpu"',
        ) from None  # fmt: skip
    if not cuda.is_available():
        raise CapabilityError(
            'device="cuda", but no CUDA GPU can be used here', where="device",
            do='see `python -c "from numba import cuda; cuda.detect()"`; or use device="cpu"',
        )  # fmt: skip
    return cuda


def gpu_name() -> str:
    """The model of the GPU."""
    name = getattr(require_cuda().get_current_device(), "name", "simulator")
    return name.decode() if isinstance(name, bytes) else str(name)


def gpus_alike() -> list[int]:
    """Numbers of the GPUs (see CUDA_VISIBLE_DEVICES) that can run what is compiled for the first."""
    able = [gpu.compute_capability for gpu in require_cuda().gpus]
    return [number for number, capability in enumerate(able) if capability == able[0]]


def use_gpu(number: int) -> None:
    """Select the GPU for this thread."""
    require_cuda().select_device(number)


def members_at_once(program: CudaProgram) -> int:
    """How many members fit on the GPU together."""
    scratch = sum(array.nbytes for array in program.arrays.scratch.values())
    bytes_each = 8 * (program.state_size + 2 * program.stepper.carry + 40 * program.width + 8) + scratch
    free = free_memory()
    return 2**31 if free == math.inf else max(1, int((MEMORY_SHARE * free - SAMPLE_BYTES) / bytes_each))


def free_memory() -> float:
    """Free memory of the GPU in bytes; inf in the simulator."""
    return float(require_cuda().current_context().get_memory_info()[0])


def send(array: np.ndarray) -> DeviceArray:
    """Copy an array to the GPU."""
    made: DeviceArray = require_cuda().to_device(np.ascontiguousarray(array))
    return made


def send_together(arrays: Mapping[str, np.ndarray]) -> dict[str, DeviceArray]:
    """Copy arrays to the GPU, all of one type in a single transfer: the latency exceeds the time for the numbers."""
    there = {}
    for kind in {array.dtype for array in arrays.values()}:
        alike = {name: array for name, array in arrays.items() if array.dtype == kind}
        whole = send(np.concatenate([array.ravel() for array in alike.values()]))
        ends = np.cumsum([0, *(array.size for array in alike.values())]).tolist()
        for (name, array), first, last in zip(alike.items(), ends[:-1], ends[1:], strict=True):
            there[name] = whole[first:last].reshape(*array.shape)
    return there


class MemberDriver:
    """Members in progress on the GPU. `made` counts the steps of each, `status` holds its status.

    Parameters
    ----------
    program : from `build`
    members : the members and their starts
    every : steps between samples
    edges : sample numbers at which the blocks of the audit begin and end
    """

    def __init__(self, program: CudaProgram, members: Members, *, every: int, edges: NDArray[np.int64]) -> None:
        cuda = require_cuda()
        self.program, self.followed = program, members
        self.every, self.step = every, 0
        self._there: dict[str, DeviceArray] = {}
        m = self.members = len(members)
        self.status = np.zeros(m, dtype=np.int64)
        self.made = np.zeros(m, dtype=np.int64)
        invariants = program.system.invariant_width
        self.most_rows = max(1, min(int(edges[-1]), SAMPLE_BYTES // (8 * program.width * m)))
        self._kinds = send(members.kinds)
        self._carry = self._spread(_pad(program.stepper.first_carry()[None]))
        if program.stepper.member_place is not None:
            self._carry[program.stepper.member_place].copy_to_device(members.numbers.astype(float))
        self._state = self._first_state()
        self._before = {name: cuda.device_array_like(array) for name, array in self._state.items()}
        own = send_together({"t0": members.t0, "dt": members.dt, "tab": members.tab})
        self._t0, self._dt, self._tab = own["t0"], own["dt"], own["tab"]
        self._par = self._send_arrays(program.arrays)
        self._samples = cuda.device_array((self.most_rows, program.width, m))
        self._scale, self._start, self._worst, self._now, self._first, self._sums, self._added = self._zeros(
            (invariants,), (invariants,), (invariants,), (program.defined_width + invariants,), (program.defined_width,),
            (len(edges) - 1, invariants), (3, max(1, program.width - program.defined_width)),
        )  # fmt: skip
        self._looks = self._spread(unseen(invariants)[None])
        self._edges, self._rows = send(edges), int(edges[-1])
        self._settled = send(settle_edges(self._rows))
        self._landing = Landing(
            *[(program.defined_width, m)] * 2, (len(MEASURED), invariants, m), tuple(self._added.shape)
        )
        self._stepping: Stream = cuda.stream()
        self._start_is_here = False
        self._outcome = cuda.device_array((2, m), dtype=np.int64)
        self._counts = cuda.device_array(m, dtype=np.int64)

    def _spread(self, rows: np.ndarray) -> DeviceArray:
        """(kinds, ...) numbers, expanded on the GPU to (..., m): only the rows are transferred."""
        cuda = require_cuda()
        whole: DeviceArray = cuda.device_array((*rows.shape[1:], self.members), dtype=rows.dtype)
        flat = np.ascontiguousarray(rows.reshape(len(rows), -1))
        launch(
            repeat_rows(), self.members, send(flat), self._kinds, whole.reshape(flat.shape[1], self.members)
        )  # fmt: skip
        return whole

    def _zeros(self, *shapes: tuple[int, ...]) -> list[DeviceArray]:
        """Zeros (..., m) with these shapes, one after the other in a single allocation."""
        ends = np.cumsum([0, *map(math.prod, shapes)]).tolist()
        whole = self._spread(np.zeros((1, ends[-1])))
        return [
            whole[first:last].reshape(*shape, self.members)
            for first, last, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
        ]

    def _send_arrays(self, arrays: Arrays) -> list[DeviceArray]:
        """Send the arrays of `par` for a kernel; an array shared by several kernels is sent once."""
        new = {name: _pad(self.followed.par[name]) for name in arrays.together if name not in self._there}
        self._there |= {name: self._spread(array) for name, array in new.items() if name in arrays.scratch}
        self._there |= send_together({name: array for name, array in new.items() if name in arrays.parameters})
        return [self._there[name] for name in arrays.together]

    def _first_state(self) -> dict[str, DeviceArray]:
        """Everything from which a launch continues, with the member as second axis."""
        self._work = require_cuda().device_array((max(1, self.program.stepper.work), self.members))
        z = self._begin(send(np.transpose(self.followed.z)))
        [e] = self._zeros((self.program.view.dimension,))
        return {"z": z, "e": e, "carry": self._carry}

    def _begin(self, starts: DeviceArray) -> DeviceArray:
        """The stepped variables (n, m) of starts: the starts themselves, or grown on the GPU."""
        view = self.program.view
        if view.begin is None or starts.shape[0] == view.dimension:
            return starts
        z: DeviceArray = require_cuda().device_array((view.dimension, self.members))
        launch(begin_members(view.begin.kernel), self.members, starts, z)
        return z

    def begin(self) -> None:
        """Compute the rows of the starts, from which deviations are measured, before the first step.

        A member whose invariants are not defined at its start has failed.
        """
        self._launch(np.zeros(self.members, dtype=np.int64))
        self.status = self._outcome.copy_to_host()[0]
        self._first.copy_to_device(self._now[: self.program.defined_width])
        self._start.copy_to_device(self._now[self.program.system.public_width : self.program.defined_width])

    def rows(self) -> tuple[Array, Array]:
        """(m, defined_width) rows of the starts, and of the present states; call it once, at the end."""
        first, last, *_ = self._landing.arrays()
        self._receive_start()
        self._now[: self.program.defined_width].copy_to_host(last)
        return first.T, last.T

    def _receive_start(self) -> None:
        """Copy the rows of the starts while the GPU makes steps, in a stream of its own."""
        if not self._start_is_here:
            receiving: Stream = require_cuda().stream()
            self._first.copy_to_host(self._landing.arrays()[0], receiving)
            receiving.synchronize()
            self._start_is_here = True

    def advance(self, steps: int, *, keep: bool) -> Array:
        """Make steps with every member that has not failed; a failing one stays at the state before the failing step.

        Returns the sample rows (m, rows, width) if they are to be kept, nan after a failure; otherwise None.
        """
        steps = min(steps, self.most_rows * self.every)
        for name, array in self._state.items():
            self._before[name].copy_to_device(array)
        running = self.status == OK
        self._launch(np.where(running, steps, SKIP))
        self._receive_start()
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
        """Results for the invariants, by name (`MEASURED`): (m, k), nan for members that failed."""
        cuda = require_cuda()
        made = cuda.device_array((len(MEASURED), *self._worst.shape))
        launch(
            conclude_members(), self.members, self._rows, cuda.to_device(self.status), self._start, self._worst, self._scale, self._sums, self._looks, made
        )  # fmt: skip
        measured = made.copy_to_host(self._landing.arrays()[2])
        return dict(zip(MEASURED, measured.transpose(0, 2, 1), strict=True))

    def carry(self) -> Array:
        """(m, n) what the method has stored in `carry` for each member."""
        return self._carry.copy_to_host().T

    def sums(self) -> Array:
        """(m, blocks, k) sums of the deviations of the invariants over the blocks of the audit."""
        return self._sums.copy_to_host().transpose(2, 0, 1)

    def added(self) -> Array:
        """Sums of the method: (m, 3, k) over the part that is left out, and both halves of the rest."""
        if self.program.width == self.program.defined_width:
            return np.zeros((self.members, self._added.shape[0], 0))
        return self._added.copy_to_host(self._landing.arrays()[3]).transpose(2, 0, 1)

    def _stop_before_failure(
        self, which: NDArray[np.bool_], status: NDArray[np.int64], steps: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put members that failed in the last launch back to their last sound states; their status and steps made.

        By bisection: a state that is not sound never leads to a sound one, and repeated steps have the same bits.
        """
        before = {name: array.copy_to_host()[:, which] for name, array in self._before.items()}
        part = type(self)(
            self.program, self.followed.part(which), every=self.every, edges=self._edges.copy_to_host()
        )  # fmt: skip
        part.step = self.step
        sound, lost = np.zeros(part.members, dtype=np.int64), np.full(part.members, steps)
        while (lost - sound > 1).any():
            middle = (sound + lost) // 2
            seen = part._repeat(before, middle)
            status = np.where(seen == OK, status, seen)
            sound, lost = np.where(seen == OK, middle, sound), np.where(seen == OK, lost, middle)
        part._repeat(before, sound)
        for mine, made in ((self._state["z"], part._state["z"]), (self._now, part._now)):
            array = mine.copy_to_host()
            array[:, which] = made.copy_to_host()
            mine.copy_to_device(array)
        return status, sound

    def _repeat(self, before: dict[str, Array], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        for name, array in before.items():
            self._state[name].copy_to_device(np.ascontiguousarray(array))
        self._launch(counts)
        return self._outcome.copy_to_host()[0]

    @property
    def sampled(self) -> tuple[DeviceArray, ...]:
        """Sample rows (rows, width, m) of the last launch; for their times: t0, dt and kinds of the members."""
        return self._samples, self._t0, self._dt, self._kinds

    @property
    def _recorded(self) -> tuple[DeviceArray, ...]:
        """The arrays of `RECORDED`."""
        return (
            self._samples, self._scale, self._looks, self._now, self._start, self._worst, self._sums, self._edges, self._added,
            self._settled, self._outcome,
        )  # fmt: skip

    def _launch(self, counts: NDArray[np.int64]) -> None:
        self._counts.copy_to_device(counts)
        state = self._state
        arguments = (
            state["z"], state["e"], self._t0, self._dt, self.step, self._counts, self.every, self._kinds, *self._par, self._tab,
            self._work, state["carry"], *self._recorded,
        )  # fmt: skip
        launch(self.program.kernel, self.members, *arguments, block=BLOCK, stream=self._stepping)
