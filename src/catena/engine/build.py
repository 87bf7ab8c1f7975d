"""System x method -> one program.

The kernels of the view that the two share (`catena.engine.pairing`) and those of the method are collected into one
text, which is compiled (or run as plain Python).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import FunctionType, ModuleType

import numpy as np

from ..kernels import marks as kernel
from ..kernels import summation, views
from ..kernels.marks import Filling, Kernel, Parameters, Slot
from ..methods.base import Method, Stepper
from ..systems.base import System
from . import bounds, cache, collector, headers, loop, member_loop, own_lines, sections
from .arrays import Arrays, lock
from .pairing import Pairing
from .plain_python import interpret


@dataclass(frozen=True)
class Crossing:
    """A section or an event as the loop sees it: two kernels, a direction (-1, 0, 1) and whether to stop."""

    value: kernel.Written
    wanted: kernel.Written
    direction: tuple[int, ...]
    stop: tuple[bool, ...]


@dataclass(frozen=True)
class OfPair:
    """Common base of the programs of a pair, on the CPU and on a GPU: system, view, stepper, arrays, widths of rows."""

    system: System
    view: views.View
    stepper: Stepper
    arrays: Arrays

    @cached_property
    def defined_width(self) -> int:
        """Numbers in a sample row that the state defines: public fields, then invariants."""
        return self.system.public_width + self.system.invariant_width

    @cached_property
    def width(self) -> int:
        """Numbers in a sample row: those, then the sums of the method since the last row."""
        return self.defined_width + self.stepper.account_width


@dataclass(frozen=True)
class Program(OfPair):
    """A runnable program: the entry of a generated module with the tables and sizes it needs."""

    title: str
    method: Method
    text: str
    module: ModuleType
    crossing: Crossing | None

    @property
    def advance_members(self) -> Callable[..., None]:
        """The compiled loop over members, see `catena.engine.member_loop`; a run is one member."""
        return self.module.advance_members

    @property
    def compiled(self) -> bool:
        """Whether it is machine code, not plain Python."""
        return not isinstance(self.module.advance_members, FunctionType)

    def new_par(self, dt: float = 1.0) -> Parameters:
        """`par` as the loop takes it, for another driver with this step: shared parameters, and its own scratch."""
        return self.module.Parameters(**self.arrays.fresh(dt))


def program_parts(
    system: System,
    method: Method,
    *,
    crossing: Crossing | None = None,
    entry: Kernel = loop.advance,
    vectors: bool = False,
) -> tuple[views.View, Stepper, list[collector.Part]]:
    """The view, the stepper and the functions of the loop of this pair; `vectors`: for a CPU with vector registers."""
    pairing = Pairing.of(system, method)
    view, stepper = pairing.view, pairing.stepper
    fills: dict[Slot, Filling] = {views.step: stepper.kernel, views.method_step: stepper.kernel, **view.fills}
    fills[views.account] = stepper.account or loop.account_nothing
    fills[views.account_width] = stepper.account_width
    if view.literal:
        fills[views.dimension] = view.dimension
    if crossing is None:
        fills[views.remember] = loop.remember_nothing
        fills[views.observe] = loop.observe_nothing
    else:
        fills[views.remember] = summation.save
        fills[views.observe] = stepper.observe or sections.observe_crossings
        fills[views.observe_part] = sections.observe_crossings
        fills[views.rewind] = stepper.rewind or sections.forget
        fills[views.crossing_value] = crossing.value
        fills[views.crossing_wanted] = crossing.wanted
        fills[views.crossing_count] = len(crossing.direction)
        fills[sections.public_width] = system.public_width
    if vectors and stepper.side_by_side is not None:
        from . import stage_lanes  # imported here because few programs have such steps

        together = stepper.side_by_side.kernel
        parts = collector.collect(entry, {**fills, views.step: together, views.method_step: together})
        if stage_lanes.can_stand_side_by_side(parts):
            return view, stepper, parts
    return view, stepper, collector.collect(entry, fills)


def build(
    system: System,
    method: Method,
    *,
    crossing: Crossing | None = None,
    compiled: bool = True,
    checked: bool | None = None,
    vectors: bool | None = None,
) -> Program:
    """The program of this pair, compiled or as plain Python (same bits, slow; parameters are read-only).

    `vectors`: whether to evaluate stages at once, each in a lane, if possible; None: only if compiled.

    `checked`: whether to check every subscript; None: as set in the environment (`catena.engine.bounds`).
    """
    if checked is None:
        checked = bounds.are_wanted()
    together = (compiled if vectors is None else vectors) and not checked
    view, stepper, parts = program_parts(system, method, crossing=crossing, vectors=together)
    title = f"{system.title} x {method}" + ("" if crossing is None else " with sections")
    kind = f"{system.kind} x {method.program}"  # without names of coordinates: renaming them does not recompile
    arrays = Arrays.of(system, view, stepper).used_by(parts)
    types = arrays.types
    last = ""
    if stepper.side_by_side is not None:
        from .stage_lanes import stage_header

        last = stage_header(parts, types, stepper.side_by_side, compiled=compiled)
    write = partial(
        headers.module_text, kind, parts, types, checked=checked, with_ground=system.with_ground, last=last
    )  # fmt: skip
    entry = member_loop.member_loop(types, compiled=compiled, packed=stepper.packed)
    if checked:
        entry = bounds.add_checks_to_text(entry)
    if compiled:
        header = headers.CPU + headers.INLINED * view.literal + headers.PACKED * stepper.packed
        text = write(header=header, entry="@_apart") + entry
        module = cache.load(text, title)
    else:
        arrays, stepper = arrays.locked(), replace(stepper, tab=lock(stepper.tab))
        text = write(header=headers.PYTHON, entry="@_fn") + entry
        module = own_lines.interpret_in_place(text, parts) if checked else _interpret(text, on_lanes=last != "")
    return Program(system, view, stepper, arrays, title, method, text, module, crossing)


def _interpret(text: str, *, on_lanes: bool) -> ModuleType:
    """A module of plain Python."""
    if on_lanes:
        from .plain_lanes import interpret_on_lanes

        return interpret_on_lanes(text)
    return interpret(text)


def compile_function(kernel: Kernel, result: str, dimensions: Sequence[int | str], title: str) -> Callable[..., int]:
    """Compile one kernel for float64 arrays with these numbers of dimensions; 0: an integer, a string: a type."""
    arguments = ", ".join(
        d if isinstance(d, str) else headers.array_type(d) if d else "types.int64" for d in dimensions
    )  # fmt: skip
    entry = headers.cpu_function(result, [arguments])
    parts = collector.collect(kernel, {})
    checked = bounds.are_wanted()
    text = headers.module_text(title, parts, [], header=headers.CPU, entry=entry, checked=checked)
    return cache.load(text, title).advance


def empty_marks(program: Program) -> np.ndarray:
    """Marks of the crossings before the first step."""
    if program.crossing is None:
        return np.zeros(1)
    count = len(program.crossing.direction)
    marks = np.zeros(1 + 3 * count)
    marks[1 + count : 1 + 2 * count] = program.crossing.direction
    marks[1 + 2 * count :] = program.crossing.stop
    return marks
