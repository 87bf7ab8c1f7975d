"""Marks for kernels: the plain functions that the engine collects into one compiled loop.

This module imports nothing of catena, so every layer may use it.

A kernel is an ordinary module-level function. The builder (`catena.engine.build`) finds the functions that it calls. A
function that another part must supply is a *slot*; a length that may become a literal of the compiled code is a *size*;
a number on which the code branches is a *choice*; names for the places of a row of numbers form a *record*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])
Number = TypeVar("Number", int, float)
Slot: TypeAlias = Callable[..., object]  # what can be filled: a slot, or a size
Kernel: TypeAlias = "Callable[..., object] | Bound | Written"
Filling: TypeAlias = "Kernel | int"  # an int fills a size
Numbers: TypeAlias = "NDArray[np.float64] | NDArray[np.int64] | NDArray[np.complex128]"  # arrays of `par`


class Parameters(Protocol):
    """`par` as kernels see it: a namedtuple of arrays."""

    def __getattr__(self, name: str, /) -> np.ndarray: ...


def _mark(function: Function, mark: str) -> Function:
    vars(function)["__mark__"] = mark
    return function


def slot(function: Function) -> Function:
    """Mark a function that another part supplies when the loop is built; its signature is the contract."""
    return _mark(function, "slot")


def optional(function: Function) -> Function:
    """Mark a slot that may stay empty: then its own body, which may do nothing, is used."""
    vars(function)["__optional__"] = True
    return slot(function)


def size(function: Function) -> Function:
    """Mark a length read from an argument; the builder may replace its body by a literal."""
    return _mark(function, "size")


def choice(function: Function) -> Function:
    """Mark a number, without arguments, that is fixed when the loop is built.

    Calls become the literal, and `if` on it is decided before compiling. Without a filling, it is the value that the
    function returns.
    """
    function.__mark__ = "choice"  # type: ignore[attr-defined]
    return function


def apart(function: Function) -> Function:
    """Mark a function that is called rarely: it is never inlined."""
    return _mark(function, "apart")


def inline(function: Function) -> Function:
    """Mark a function that is inlined before optimisation: its callees are optimised once less."""
    return _mark(function, "inline")


def within(function: Function) -> Function:
    """Mark a function that is always inlined, so that the loop around it can be vectorised."""
    return _mark(function, "within")


def vector(function: Function) -> Function:
    """Mark a function of several numbers that becomes vector instructions on a CPU (`catena.engine.fours`)."""
    return _mark(function, "vector")


def provided(function: Function) -> Function:
    """Mark a function that the header of a generated module defines for its machine; the body serves plain Python."""
    return _mark(function, "provided")


class _Fixed(type):
    """Metaclass that forbids changing places: one that is set later would shift every number that kernels read."""

    def __setattr__(cls, name: str, value: Any) -> None:
        if "WIDTH" in vars(cls):
            raise AttributeError(f"the places of {cls.__name__} are fixed: {name} cannot be set")
        super().__setattr__(name, value)


class Record(metaclass=_Fixed):
    """Names for the places of a row of numbers. A subclass gives each name a count of values; it becomes their place.

    Examples
    --------
    >>> class Tie(Record):
    ...     ARM = 3
    ...     TENSION = 1
    >>> Tie.ARM, Tie.TENSION, Tie.WIDTH
    (0, 3, 4)
    """

    WIDTH: ClassVar[int]

    def __init_subclass__(cls) -> None:
        place = 0
        for name in [name for name in vars(cls) if name.isupper()]:
            width = getattr(cls, name)
            setattr(cls, name, place)
            place += width
        cls.WIDTH = place


class Table(tuple[Number, ...]):
    """Numbers, or integers, that kernels look up by a computed index; a constant array of the compiled code.

    The index must be from 0 to the length, exclusive; it is not checked.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Bound:
    """A kernel with some of its slots filled and sizes fixed; a filling may be Bound itself."""

    function: Kernel
    fills: tuple[tuple[Slot, Filling], ...] = ()


def bind(function: Kernel, fills: Mapping[Slot, Filling]) -> Bound:
    """`function` with these slots filled; scopes nest, and a filling never sees itself.

    A plain function can be replaced, too.
    """
    return Bound(function, tuple(fills.items()))


def keep_given(fills: Mapping[Slot, Filling | None]) -> dict[Slot, Filling]:
    """The fillings that are not None; an optional slot with None stays empty."""
    return {place: filling for place, filling in fills.items() if filling is not None}


@dataclass(frozen=True)
class Written:
    """A kernel that exists only as text: derived from an expression, or an unrolled tableau.

    `origin` is the module that wrote it; `uses` gives the slots and kernels its text calls by name. An `inline` kernel
    is inlined before optimisation, so that several calls in a row can be vectorised together.
    """

    name: str
    text: str
    origin: str
    uses: tuple[tuple[str, Filling], ...] = ()
    inline: bool = False
