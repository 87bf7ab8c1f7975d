"""Many chains on a CUDA GPU, one thread for each body: its numbers in registers, its neighbours in shared memory.

A block holds as many whole chains as fit; the view and the method define how threads cooperate
(`catena.kernels.bodies`). The state kept between launches is (row, member, body), so that adjacent threads access
adjacent numbers. Where members are looked at, their bodies are copied, and the steps go on: a launch takes longer than
a step of many short chains, and at first nearly every step is looked at. After some such stops a second kernel gathers
the states and computes the energies of links, with a thread for each body, and a third publishes and measures, with a
thread for each member, adding in the same order as the CPU.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.bodies import (
    Bodies,
    begin_body,
    follow_body,
    gather_body,
    load_body,
    place_body_of,
    store_body,
    terms_of_body,
)
from ...kernels.marks import Filling, Kernel, Slot, bind
from ...kernels.threads import together
from ...kernels.views import NOT_FINITE, OK, account, account_width, is_closed, measure, publish
from ...methods.base import Method
from ...systems.base import System
from .. import bounds, collector, headers
from ..arrays import Arrays
from ..driver import LARGEST
from ..headers import array_type
from ..looks import look_after, stride_at, take_look
from ..loop import account_nothing
from ..member_loop import of_member
from ..pairing import Pairing
from .members import (
    RECORDED,
    SKIP,
    CudaProgram,
    DeviceArray,
    MemberDriver,
    entry_text,
    fold_member,
    free_memory,
    is_simulated,
    load,
    pass_on,
    require_cuda,
    send,
    types_of,
)
from .members import build as build_for_members
from .rows import CudaKernel, launch

WARP = 32  # threads that run in lockstep
MOST_THREADS = 256  # of a block: each may use the maximum number of registers per thread
REGISTERS = 168  # per thread: some numbers are spilled, but half as many threads more run at a time
LOOK_REGISTERS = 128  # per thread: 65 536 members are looked at together
SHARED_BYTES = 48 * 1024  # of shared memory for a block that needs no opt-in
SUMS = 8  # per body, the last one that of its chain
COPIES_BYTES = 2**30  # for copies of bodies at stops, ...
COPIES_SHARE = 0.05  # ... and as a fraction of the free memory of the GPU
MOMENTUM = 3
PARTIAL = 24  # sums of the momenta of a chain
ALONE = "alone"  # scratch of a body for its own rotation
LINK_TERMS = "link_terms"  # energies of the links, if known


class Stop(NamedTuple):
    """A point where members are looked at: steps since the launch, sample row (-1: none), look's stride (0: none)."""

    done: int
    row: int
    stride: int


def advance_body(
    z, copies, stops, i, before, after, j, begin, goal, dt, par, tab, carry, w, sums, shown, links, momenta, partial
):  # fmt: skip
    """Advance body j of the chain z (rows, bodies) from step `begin` of a launch to its `goal`, stopping at all stops.

    Returns the first status that is not OK. copies (stops, rows, bodies) receive its numbers at all stops but the last,
    where they are in z.
    """
    last = z.shape[0] - 1
    load_body(z, j, w)
    pending = z[last, j]
    ended = 0
    made = begin
    for s in range(stops.shape[0]):
        most = stops[s, 0] - made
        count = max(0, min(goal - made, most))
        status, pending = follow_body(
            w, i, before, after, j, count, most, dt, pending, par, tab, carry, sums, shown, links, momenta, partial
        )
        ended = status if ended == 0 else ended
        made = stops[s, 0]
        if goal > begin:
            here = copies[s] if s < stops.shape[0] - 1 else z
            store_body(w, here, j)
            here[last, j] = pending
        together()  # one thread has written what the method counts for its chain
    return ended


def gather_state(there, z, j, par, gathered, terms):
    """Gather the state of body j of the chain z (rows, bodies), and compute the energy of its link.

    Threads without a body take part, because all must reach the barriers.
    """
    if there:
        gather_body(z, j, par, gathered)
    together()
    if there:
        place_body_of(gathered, j, par)
    together()
    if there:
        terms_of_body(gathered, j, par, terms)


def look_at_member(
    k, gathered, z, count, done, row, stride, last, first, every, par, carry, ended, samples, scale, looks,
    now, start, worst, sums, edges, added, settled, outcome,
):  # fmt: skip
    """Look at member k after `done` steps: sample row (-1: none), stride of a look (0: none); fold after the last.

    A member whose bodies failed gets the status of the first of these.
    """
    width = samples.shape[1] - account_width(carry)
    public = width - scale.shape[0]
    if count >= done:
        if row >= 0:
            publish(gathered, par, samples[row, :public, k])
            measure(gathered, par, samples[row, public:width, k], scale[:, k])
            if done > 0:
                account(par, carry[:, k], samples[row, width:, k])
        if stride > 0:
            take_look(gathered, par, stride, looks[:, :, k])
    if last:
        publish(gathered, par, now[:public, k])
        measure(gathered, par, now[public:width, k], now[width:, k])
        status = status_of(z, ended[k], count)
        rows = (first + count) // every - first // every
        outcome[0, k] = fold_member(
            status, rows, 1 + first // every, public, now[:, k], samples[:, :, k], start[:, k], worst[:, k], sums[:, :, k], edges, added[:, :, k], settled
        )  # fmt: skip
        outcome[1, k] = count


def status_of(z, ended, count):
    """Status of a chain after `count` steps: that of its first failed body, NOT_FINITE if a number is too large."""
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
    """A program by bodies: `kernel` and `arrays` belong to the looks, `gathering` computes what these need."""

    steps: CudaKernel
    steps_arrays: Arrays
    gathering: CudaKernel
    gathering_arrays: Arrays
    bodies: Bodies
    threads: int

    @property
    def chains(self) -> int:
        """Number of members in a block."""
        return self.threads // self.bodies.count

    @property
    def state_size(self) -> int:
        return (2 * self.bodies.rows + measure_width(self.bodies)) * self.bodies.count


def build(system: System, method: Method) -> CudaProgram:
    """The program of this pair for this machine's GPU: a thread for each body, or for each member if not possible."""
    pairing = Pairing.of(system, method)
    bodies, stepper = bodies_of(pairing), pairing.stepper
    if bodies is None:
        return build_for_members(system, method)
    threads = threads_for(bodies)
    require_cuda()
    arrays = Arrays.of(system, pairing.view, stepper)
    known = np.zeros((bodies.terms, bodies.count))
    arrays = Arrays(arrays.parameters, {**arrays.scratch, LINK_TERMS: known})
    kind, title = f"{system.kind} x {method.program} on CUDA, by bodies", f"{system.title} x {method} on CUDA"

    def collected(entry: Kernel) -> tuple[str, Arrays]:
        parts = collector.collect(entry, {})
        own = arrays.used_by(parts)
        text = headers.module_text(
            kind, parts, own.types, header=headers.CUDA, entry="@_fn", checked=bounds.are_wanted() and is_simulated()
        )  # fmt: skip
        return text, own

    (steps, steps_arrays), (gathering, gathering_arrays), (looks, looks_arrays) = map(collected, kernels_of(pairing))
    steps += steps_kernel(steps_arrays, bodies, threads, closed=bool(pairing.view.fills.get(is_closed, 0)))
    gathering += gathering_kernel(gathering_arrays, bodies, threads)
    looks += looks_kernel(looks_arrays)
    return BodyProgram(
        system, pairing.view, stepper, without_own(looks_arrays), load(looks, f"{title}, looks", "look_at_members"),
        load(steps, title, "advance_bodies"), without_own(steps_arrays),
        load(gathering, f"{title}, energies of links", "gather_states"), without_own(gathering_arrays), bodies, threads,
    )  # fmt: skip


def bodies_of(pairing: Pairing) -> Bodies | None:
    """How threads share the bodies of a system; None if each thread steps a whole member."""
    if pairing.view.bodies is None or pairing.stepper.of_body is None:
        return None
    bodies = pairing.view.bodies()
    return bodies if threads_for(bodies) else None


def kernels_of(pairing: Pairing) -> tuple[Kernel, ...]:
    """The kernels for steps, gathering and looks, all slots filled; empty if each thread steps a whole member."""
    bodies, stepper = bodies_of(pairing), pairing.stepper
    if bodies is None or stepper.of_body is None:
        return ()
    fills: dict[Slot, Filling] = {
        **bodies.fills, follow_body: stepper.of_body, account: stepper.account or account_nothing,
        account_width: stepper.account_width,
    }  # fmt: skip
    recorded: dict[Slot, Filling] = {**fills, **dict(zip((publish, measure), bodies.recorded, strict=True))}
    return bind(advance_body, fills), bind(gather_state, fills), bind(look_at_member, recorded)


def measure_width(bodies: Bodies) -> int:
    """Numbers gathered per body, including the energy of its link."""
    return bodies.gathered + bodies.terms


def shared_bytes(bodies: Bodies, threads: int) -> int:
    """Size of the shared memory for the chains of a block."""
    return 8 * ((bodies.shown + bodies.linked + MOMENTUM) * threads + PARTIAL * (threads // bodies.count))


def threads_for(bodies: Bodies) -> int:
    """Threads of a block, in whole warps: few of them idle, and as few as possible, since all wait for each other.

    0 if a chain does not fit.
    """
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
    """The kernel of the steps: a thread finds its member, its body, and its neighbours in the block.

    Threads without a body do nothing.
    """
    n, chains = bodies.count, threads // bodies.count
    before = {
        "z": array_type(3), "copies": array_type(4), "stops": array_type(2, "int64"), "dt": array_type(1), "counts": array_type(1, "int64"),
        "begin": "types.int64", "kinds": array_type(1, "int64"),
    }  # fmt: skip
    after = {"tab": array_type(3), "carry": array_type(2), "ended": array_type(2, "int64")}
    names = [ALONE if name == ALONE else pass_on(name, arrays) for name in arrays.together]
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
    goal = counts[k] if i < {chains * n} and k < z.shape[1] else 0
    k = min(k, z.shape[1] - 1)
    before = min(i - 1 if j > 0 else {first}, {threads - 1})
    after = min(i + 1 if j < {n - 1} else {last}, {threads - 1})
    w = cuda.local.array({bodies.numbers}, types.float64)
    sums = cuda.local.array({SUMS}, types.float64)
    {ALONE} = cuda.local.array(14, types.float64)
    {shared}
    par = Parameters({", ".join(names)})
    status = advance(
        z[:, k], copies[:, :, k], stops, i, before, after, j, begin, goal, dt[k], par, {of_member("tab")}, carry[:, k], w, sums, shown, links, momenta, partial
    )
    if goal > begin and (begin == 0 or ended[k, j] == {OK}):
        ended[k, j] = status
"""


def gathering_kernel(arrays: Arrays, bodies: Bodies, threads: int) -> str:
    """The kernel that gathers states, with threads as for the steps.

    A member that does not reach a stop is not gathered there, but at the last stop, in its present state.
    """
    n, chains = bodies.count, threads // bodies.count
    before = {
        "z": array_type(3), "copies": array_type(4), "stops": array_type(2, "int64"), "counts": array_type(1, "int64"),
        "kinds": array_type(1, "int64"),
    }  # fmt: skip
    after = {"gathered": array_type(3), "terms": array_type(4)}
    return f"""
{entry_text("gather_states", {**before, **types_of(without_own(arrays)), **after})}
    i = cuda.threadIdx.x
    j = i % {n}
    k = cuda.blockIdx.x * {chains} + i // {n}
    there = i < {chains * n} and k < z.shape[1]
    k = min(k, z.shape[1] - 1)
    par = Parameters({", ".join(pass_on(name, arrays) for name in arrays.together)})
    for s in range(stops.shape[0]):
        is_last = s == stops.shape[0] - 1
        here = z[:, k] if is_last else copies[s, :, k]
        advance(there and (is_last or counts[k] >= stops[s, 0]), here, j, par, gathered[s, :, k], terms[s, :, :, k])
"""


def without_own(arrays: Arrays) -> Arrays:
    """The arrays that are sent: without scratch for a body's rotation, and without energies of links (one per stop)."""
    scratch = {name: array for name, array in arrays.scratch.items() if name not in (ALONE, LINK_TERMS)}
    return Arrays(arrays.parameters, scratch)


def looks_kernel(arrays: Arrays) -> str:
    """The kernel of the looks, a thread for each member."""
    before = {
        "gathered": array_type(3), "terms": array_type(4), "z": array_type(3), "stops": array_type(2, "int64"), "counts": array_type(1, "int64"),
        "last": "types.int64", "first": "types.int64", "every": "types.int64", "kinds": array_type(1, "int64"),
    }  # fmt: skip
    after = {"carry": array_type(2), "ended": array_type(2, "int64"), **RECORDED}
    names = ["terms[s, :, :, k]" if name == LINK_TERMS else pass_on(name, arrays) for name in arrays.together]
    return f"""
{entry_text("look_at_members", {**before, **types_of(without_own(arrays)), **after}, max_registers=LOOK_REGISTERS)}
    k = cuda.grid(1)
    if k < z.shape[1] and counts[k] > {SKIP}:
        for s in range(stops.shape[0]):
            par = Parameters({", ".join(names)})
            ends = last if s == stops.shape[0] - 1 else 0
            advance(
                k, gathered[s, :, k], z[:, k], counts[k], stops[s, 0], stops[s, 1], stops[s, 2], ends, first, every, par, {", ".join(after)}
            )
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
    """Kernel (start (m, size), or (1, size) for all, z (rows, m, bodies)): initialise bodies from starts."""
    parts = collector.collect(kernel, {})
    text = headers.module_text("where bodies begin", parts, [], header=headers.CUDA, entry="@_fn")
    return load(text + BEGIN, "starts of bodies on CUDA", "begin_bodies")


class BodyDriver(MemberDriver):
    """Members in progress on the GPU, like `MemberDriver`, stepped by a program of bodies."""

    program: BodyProgram

    def _first_state(self) -> dict[str, DeviceArray]:
        program, bodies = self.program, self.program.bodies
        z: DeviceArray = require_cuda().device_array((bodies.rows, self.members, bodies.count))
        begin = bodies.fills[begin_body]
        launch(begin_bodies(begin), self.members * bodies.count, send(self._give_starts()), z)
        self._ended: DeviceArray = require_cuda().device_array((self.members, bodies.count), dtype=np.int64)
        self._steps_par, self._gathering_par = map(self._send_arrays, (program.steps_arrays, program.gathering_arrays))
        self._make_room()
        return {"z": z, "carry": self._carry}

    def _make_room(self) -> None:
        """Allocate memory for the bodies at all stops but the last, and for the gathered numbers at each stop."""
        bodies, m, array = self.program.bodies, self.members, require_cuda().device_array
        each = 8 * m * bodies.count * (bodies.rows + measure_width(bodies))
        self._most_copies = copies = int(min(COPIES_BYTES, COPIES_SHARE * free_memory()) / each)
        self._copies: DeviceArray = array((copies, bodies.rows, m, bodies.count) if copies else (1, 1, m, 1))
        self._gathered: DeviceArray = array((copies + 1, bodies.gathered * bodies.count, m))
        self._terms: DeviceArray = array((copies + 1, bodies.terms, bodies.count, m))

    def _give_starts(self) -> NDArray[np.float64]:
        """The starts of the members; older stores have all stepped variables instead."""
        z, view = self.followed.z, self.program.view
        assert view.begin is not None
        if z.shape[1] != view.dimension:
            return z[:1] if z.strides[0] == 0 else z
        states = (view.unpack(one, float(t)) for one, t in zip(z, self.followed.t0, strict=True))
        return np.array([view.begin.pack(state) for state in states])

    def _launch(self, counts: NDArray[np.int64]) -> None:
        """Make steps, several stops at a time, and look at the members there; with no steps, record the starts."""
        self._counts.copy_to_device(counts)
        most = int(counts.max(initial=0))
        if most <= 0:
            self._look(send(np.array([Stop(0, 0, 0)])), last=True)
            return
        stops = list(self._stops(most))
        there = send(np.array(stops))
        begin = first = 0
        for number, stop in enumerate(stops, 1):
            last = number == len(stops)
            if last or number - first > self._most_copies or (stop.row >= 0 and self.program.stepper.accounts):
                self._step(begin, there[first:number])
                self._look(there[first:number], last=last)
                begin, first = stop.done, number

    def _stops(self, most: int) -> Iterator[Stop]:
        """The stops where members are looked at, and the end."""
        first = at = self.step
        while at < first + most:
            due, look = (at // self.every + 1) * self.every, look_after(at)
            at = min(due, look, first + most)
            row = at // self.every - first // self.every - 1 if at == due else -1
            yield Stop(at - first, row, stride_at(look) if at == look else 0)

    def _step(self, begin: int, stops: DeviceArray) -> None:
        program, state = self.program, self._state
        launch(
            program.steps, self._threads, state["z"], self._copies, stops, self._dt, self._counts, begin, self._kinds, *self._steps_par,
            self._tab, state["carry"], self._ended, block=program.threads, stream=self._stepping,
        )  # fmt: skip

    def _look(self, stops: DeviceArray, *, last: bool) -> None:
        program, state = self.program, self._state
        launch(
            program.gathering, self._threads, state["z"], self._copies, stops, self._counts, self._kinds, *self._gathering_par, self._gathered, self._terms,
            block=program.threads, stream=self._stepping,
        )  # fmt: skip
        launch(
            program.kernel, self.members, self._gathered, self._terms, state["z"], stops, self._counts, int(last), self.step, self.every, self._kinds,
            *self._par, state["carry"], self._ended, *self._recorded, block=WARP, stream=self._stepping,
        )  # fmt: skip

    @property
    def _threads(self) -> int:
        """Number of threads in all blocks."""
        return -(-self.members // self.program.chains) * self.program.threads


def driver_for(program: CudaProgram) -> type[MemberDriver]:
    """The driver for the members of a program."""
    return BodyDriver if isinstance(program, BodyProgram) else MemberDriver
