"""Many chains on a CUDA GPU, one thread for each body: its numbers stay in registers, its neighbours are seen in memory that a block shares.

A block holds as many whole chains as fit; how threads work together is said by the view and the method (`catena.kernels.bodies`). What is kept from launch to
launch is (row, member, body), so that neighbouring threads touch neighbouring numbers. A launch ends where somebody looks at the members: there a
second kernel, with a thread for each member, publishes and measures as the processor does, adding up in its order.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.bodies import Bodies, begin_body, follow_body, load_body, store_body
from ..kernels.marks import Filling, Kernel, Slot, bind
from ..kernels.views import NOT_FINITE, OK, account, account_width, is_closed, measure, publish
from ..methods.base import Method
from ..systems.base import System
from . import bounds, collector, headers
from .arrays import Arrays
from .cuda import (
    RECORDED,
    SKIP,
    CudaProgram,
    DeviceArray,
    MemberDriver,
    entry_text,
    fold_member,
    is_simulated,
    loaded,
    require_cuda,
    seen,
    sent,
    types_of,
)
from .cuda import build as build_for_members
from .cuda_rows import CudaKernel, launch
from .driver import LARGEST
from .headers import array_type
from .looks import look_after, stride_at, take_look
from .loop import account_nothing
from .member_loop import of_member
from .pairing import Pairing

WARP = 32  # threads that go in step
MOST_THREADS = 256  # of a block: each may have all the registers that there are for one
REGISTERS = 168  # of a thread: some numbers do not fit, but half as many threads more run at a time
SHARED_BYTES = 48 * 1024  # of memory that a block shares, without being asked for
SUMS = 8  # of a body, the last of them that of its chain
MOMENTUM = 3
PARTIAL = 24  # sums of the momenta of a chain
ALONE = "alone"  # scratch of a body that is turned by itself


def advance_body(
    z, i, before, after, j, count, most, dt, par, tab, carry, w, sums, shown, links, momenta, partial
):  # fmt: skip
    """Make `count` steps with body j of the chain z (rows, bodies); a status."""
    last = z.shape[0] - 1
    load_body(z, j, w)
    status, pending = follow_body(
        w, i, before, after, j, count, most, dt, z[last, j], par, tab, carry, sums, shown, links, momenta, partial
    )
    if count > 0:
        store_body(w, z, j)
        z[last, j] = pending
    return status


def look_at_member(
    k,
    z,
    counts,
    done,
    row,
    stride,
    last,
    first,
    every,
    par,
    carry,
    ended,
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
    """Look at member k after `done` steps of a launch: a sample row (-1: none), a look (stride 0: none); fold what there is after the last.

    The status of a member whose bodies failed is that of the first of these.
    """
    width = samples.shape[1] - account_width(carry)
    public = width - scale.shape[0]
    if counts[k] >= done:
        if row >= 0:
            publish(z[:, k], par, samples[row, :public, k])
            measure(z[:, k], par, samples[row, public:width, k], scale[:, k])
            if done > 0:
                account(par, carry[:, k], samples[row, width:, k])
        if stride > 0:
            take_look(z[:, k], par, stride, looks[:, :, k])
    if last:
        publish(z[:, k], par, now[:public, k])
        measure(z[:, k], par, now[public:width, k], now[width:, k])
        status = status_of(z[:, k], ended[k], counts[k])
        rows = (first + counts[k]) // every - first // every
        outcome[0, k] = fold_member(
            status, rows, 1 + first // every, public, now[:, k], samples[:, :, k], start[:, k], worst[:, k], sums[:, :, k], edges, added[:, :, k], settled
        )  # fmt: skip
        outcome[1, k] = counts[k]


def status_of(z, ended, count):
    """How a chain is after so many steps: the first of its bodies that failed counts, or a number that is large beyond use."""
    for j in range(z.shape[1]):
        if count > 0 and ended[j] != OK:
            return ended[j]
    for row in range(z.shape[0]):
        for j in range(z.shape[1]):
            if not abs(z[row, j]) < LARGEST:
                return NOT_FINITE
    return OK


@dataclass(frozen=True)
class BodyProgram(CudaProgram):
    """The same by bodies: `kernel` and `arrays` are those of the looks."""

    steps: CudaKernel
    steps_arrays: Arrays
    bodies: Bodies
    threads: int

    @property
    def chains(self) -> int:
        """Members of a block."""
        return self.threads // self.bodies.count

    @property
    def state_size(self) -> int:
        return 2 * self.bodies.rows * self.bodies.count


def build(system: System, method: Method) -> CudaProgram:
    """The program of this pair for the GPU of this machine: a thread for each body where they can share a step, else for each member."""
    pairing = Pairing.of(system, method)
    bodies, stepper = bodies_of(pairing), pairing.stepper
    if bodies is None:
        return build_for_members(system, method)
    threads = threads_for(bodies)
    require_cuda()
    arrays = Arrays.of(system, pairing.view, stepper)
    kind, title = f"{system.kind} x {method.program} on CUDA, by bodies", f"{system.title} x {method} on CUDA"

    def collected(entry: Kernel) -> tuple[str, Arrays]:
        parts = collector.collect(entry, {})
        own = arrays.used_by(parts)
        text = headers.module_text(
            kind, parts, own.types, header=headers.CUDA, entry="@_fn", checked=bounds.are_wanted() and is_simulated()
        )  # fmt: skip
        return text, own

    (steps_text, steps_arrays), (looks_text, looks_arrays) = map(collected, kernels_of(pairing))
    closed = bool(pairing.view.fills.get(is_closed, 0))
    steps_text += steps_kernel(steps_arrays, bodies, threads, closed=closed)
    return BodyProgram(
        system, pairing.view, stepper, looks_arrays, loaded(looks_text + looks_kernel(looks_arrays), f"{title}, looks", "look_at_members"),
        loaded(steps_text, title, "advance_bodies"), steps_arrays, bodies, threads,
    )  # fmt: skip


def bodies_of(pairing: Pairing) -> Bodies | None:
    """How threads share the bodies of a system; None if each follows a member of its own."""
    if pairing.view.bodies is None or pairing.stepper.of_body is None:
        return None
    bodies = pairing.view.bodies()
    return bodies if threads_for(bodies) else None


def kernels_of(pairing: Pairing) -> tuple[Kernel, ...]:
    """The kernels of the steps and of the looks, all slots filled; none where a thread follows a member."""
    bodies, stepper = bodies_of(pairing), pairing.stepper
    if bodies is None or stepper.of_body is None:
        return ()
    fills: dict[Slot, Filling] = {
        **bodies.fills, follow_body: stepper.of_body, account: stepper.account or account_nothing,
        account_width: pairing.account_width,
    }  # fmt: skip
    return bind(advance_body, fills), bind(look_at_member, fills)


def shared_bytes(bodies: Bodies, threads: int) -> int:
    """Of the memory that the chains of a block share."""
    return 8 * ((bodies.shown + bodies.linked + MOMENTUM) * threads + PARTIAL * (threads // bodies.count))


def threads_for(bodies: Bodies) -> int:
    """Threads of a block, in whole warps: few of them idle, and as few as possible, since all wait for each other; 0 if a chain does not fit."""
    fitting = [
        threads
        for threads in range(WARP, MOST_THREADS + 1, WARP)
        if threads >= bodies.count and shared_bytes(bodies, threads) <= SHARED_BYTES
    ]

    def busy(threads: int) -> float:
        return threads // bodies.count * bodies.count / threads

    best = max(map(busy, fitting), default=0.0)
    return next((threads for threads in fitting if busy(threads) >= 0.95 * best), 0)


def steps_kernel(arrays: Arrays, bodies: Bodies, threads: int, *, closed: bool) -> str:
    """The kernel of the steps: a thread finds its member and its body, and its neighbours in the block. Threads that have none go along and do nothing."""
    n, chains = bodies.count, threads // bodies.count
    before = {
        "z": array_type(3), "dt": array_type(1), "counts": array_type(1, "int64"), "begin": "types.int64", "most": "types.int64",
        "kinds": array_type(1, "int64"),
    }  # fmt: skip
    after = {"tab": array_type(3), "carry": array_type(2), "ended": array_type(2, "int64")}
    names = [ALONE if name == ALONE else seen(name, arrays) for name in arrays.together]
    first, last = (f"i + {n - 1}", f"i - {n - 1}") if closed else ("-1", "i")
    room = {
        "shown": (bodies.shown, threads), "links": (bodies.linked, threads), "momenta": (MOMENTUM, threads), "partial": (PARTIAL, chains),
    }  # fmt: skip
    shared = "\n    ".join(f"{name} = cuda.shared.array({shape}, types.float64)" for name, shape in room.items())
    return f"""
{entry_text("advance_bodies", {**before, **types_of(without_own(arrays)), **after}, max_registers=REGISTERS)}
    i = cuda.threadIdx.x
    j = i % {n}
    k = cuda.blockIdx.x * {chains} + i // {n}
    count = 0
    if i < {chains * n} and k < z.shape[1]:
        count = max(0, min(counts[k] - begin, most))
    k = min(k, z.shape[1] - 1)
    before = min(i - 1 if j > 0 else {first}, {threads - 1})
    after = min(i + 1 if j < {n - 1} else {last}, {threads - 1})
    w = cuda.local.array({bodies.numbers}, types.float64)
    sums = cuda.local.array({SUMS}, types.float64)
    {ALONE} = cuda.local.array(14, types.float64)
    {shared}
    par = Parameters({", ".join(names)})
    status = advance(z[:, k], i, before, after, j, count, most, dt[k], par, {of_member("tab")}, carry[:, k], w, sums, shown, links, momenta, partial)
    if count > 0 and (begin == 0 or ended[k, j] == {OK}):
        ended[k, j] = status
"""


def without_own(arrays: Arrays) -> Arrays:
    """Those that travel: each body has room of its own to be turned by itself."""
    return Arrays(arrays.parameters, {name: array for name, array in arrays.scratch.items() if name != ALONE})


def looks_kernel(arrays: Arrays) -> str:
    """The kernel of the looks, a thread for each member."""
    before = {
        "z": array_type(3), "counts": array_type(1, "int64"), "done": "types.int64", "row": "types.int64", "stride": "types.int64", "last": "types.int64",
        "first": "types.int64", "every": "types.int64", "kinds": array_type(1, "int64"),
    }  # fmt: skip
    after = {"carry": array_type(2), "ended": array_type(2, "int64"), **RECORDED}
    return f"""
{entry_text("look_at_members", {**before, **types_of(arrays), **after})}
    k = cuda.grid(1)
    if k < z.shape[1] and counts[k] > {SKIP}:
        par = Parameters({", ".join(seen(name, arrays) for name in arrays.together)})
        advance(k, {", ".join(name for name in before if name != "kinds")}, par, {", ".join(after)})
"""


BEGIN = """
@cuda.jit
def begin_bodies(start, z):
    t = cuda.grid(1)
    if t < z.shape[1] * z.shape[2]:
        k = t // z.shape[2]
        advance(start[min(k, start.shape[0] - 1)], t % z.shape[2], z[:, k])
"""


@functools.cache
def begin_bodies(kernel: Kernel) -> CudaKernel:
    """(start (m, size), or (1, size) for all, z (rows, m, bodies)): what is kept of the bodies of members, from what these are told by."""
    parts = collector.collect(kernel, {})
    text = headers.module_text("where bodies begin", parts, [], header=headers.CUDA, entry="@_fn")
    return loaded(text + BEGIN, "starts of bodies on CUDA", "begin_bodies")


class BodyDriver(MemberDriver):
    """Members in progress on the GPU, as `MemberDriver`, by a program of bodies."""

    program: BodyProgram

    def _first_state(self) -> dict[str, DeviceArray]:
        program, bodies = self.program, self.program.bodies
        z: DeviceArray = require_cuda().device_array((bodies.rows, self.members, bodies.count))
        begin = bodies.fills[begin_body]
        launch(begin_bodies(begin), self.members * bodies.count, sent(self._told()), z)
        self._ended: DeviceArray = require_cuda().device_array((self.members, bodies.count), dtype=np.int64)
        self._steps_par = self._sent_arrays(without_own(program.steps_arrays))
        return {"z": z, "carry": self._carry}

    def _told(self) -> NDArray[np.float64]:
        """What the members are told by; older stores have all stepped variables."""
        z, view = self.followed.z, self.program.view
        assert view.begin is not None
        if z.shape[1] != view.dimension:
            return z[:1] if z.strides[0] == 0 else z
        states = (view.unpack(one, float(t)) for one, t in zip(z, self.followed.t0, strict=True))
        return np.array([view.begin.pack(state) for state in states])

    def _launch(self, counts: NDArray[np.int64]) -> None:
        """Steps up to each look, and the looks; none at all: the rows of the starts."""
        self._counts.copy_to_device(counts)
        first, most = self.step, int(counts.max(initial=0))
        if most <= 0:
            self._look(0, row=0, stride=0, last=True)
            return
        done = 0
        while done < most:
            at = first + done
            due, look = (at // self.every + 1) * self.every, look_after(at)
            stop = min(due, look, first + most)
            self._step(done, stop - at)
            done = stop - first
            row = stop // self.every - first // self.every - 1 if stop == due else -1
            last = done == most
            if row >= 0 or stop == look or last:
                self._look(done, row=row, stride=stride_at(look) if stop == look else 0, last=last)

    def _step(self, begin: int, most: int) -> None:
        program, state = self.program, self._state
        blocks = -(-self.members // program.chains)
        launch(
            program.steps, blocks * program.threads, state["z"], self._dt, self._counts, begin, most, self._kinds, *self._steps_par,
            self._tab, state["carry"], self._ended, block=program.threads,
        )  # fmt: skip

    def _look(self, done: int, *, row: int, stride: int, last: bool) -> None:
        state = self._state
        launch(
            self.program.kernel, self.members, state["z"], self._counts, done, row, stride, int(last), self.step, self.every, self._kinds, *self._par,
            state["carry"], self._ended, *self._recorded, block=WARP,
        )  # fmt: skip


def driver_for(program: CudaProgram) -> type[MemberDriver]:
    """Who follows the members of a program."""
    return BodyDriver if isinstance(program, BodyProgram) else MemberDriver
