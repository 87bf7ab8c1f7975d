"""Marks for kernels: the plain functions that the engine collects into one compiled loop.

This module imports nothing of catena, so every layer may use it.

A kernel is an ordinary module-level function. What it calls is found by the builder
(`catena.engine.build`); what another part must supply is a *slot*; a length that may become a
literal of the compiled code is a *size*; a number on which the code branches is a *choice*; the places of a row of numbers have names in a *record*.
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
Slot: TypeAlias = Callable[..., object]  # what is filled: a slot, or a size
Kernel: TypeAlias = "Callable[..., object] | Bound | Written"
Filling: TypeAlias = "Kernel | int"  # an int is that of a size
Numbers: TypeAlias = "NDArray[np.float64] | NDArray[np.int64] | NDArray[np.complex128]"  # what kernels find in par


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
    """Mark a slot that may stay empty: then its own body, which may do nothing, is what it does."""
    vars(function)["__optional__"] = True
    return slot(function)


def size(function: Function) -> Function:
    """Mark a length read from an argument; the builder may replace its body by a literal."""
    return _mark(function, "size")


def choice(function: Function) -> Function:
    """Mark a number, without arguments, that is fixed when the loop is built: calls become the literal, and `if` on it is decided before compiling.

    Where nothing is filled in, it is what the function returns.
    """
    function.__mark__ = "choice"  # type: ignore[attr-defined]
    return function


def apart(function: Function) -> Function:
    """Mark a function that is called rarely: it stays a function where others become part of their callers."""
    return _mark(function, "apart")


def inline(function: Function) -> Function:
    """Mark a function that becomes part of its caller before anything is optimised: what it calls is optimised once less."""
    return _mark(function, "inline")


def within(function: Function) -> Function:
    """Mark a function that always becomes part of its caller, so that the loop around it can use vector instructions."""
    return _mark(function, "within")


def vector(function: Function) -> Function:
    """Mark a function of several numbers side by side, which compiled for a processor is made of vector instructions (`catena.engine.fours`)."""
    return _mark(function, "vector")


def provided(function: Function) -> Function:
    """Mark a function that the header of a generated module defines for its machine; the body serves plain Python."""
    return _mark(function, "provided")


class _Fixed(type):
    """Of classes whose names stay what they are: a place that is set later would move every number that kernels read."""

    def __setattr__(cls, name: str, value: Any) -> None:
        if "WIDTH" in vars(cls):
            raise AttributeError(f"the places of {cls.__name__} are fixed: {name} cannot be set")
        super().__setattr__(name, value)


class Record(metaclass=_Fixed):
    """Names for the places of a row of numbers. A subclass says how many numbers each name stands for, and becomes their places.

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
    """Numbers, or whole numbers, that kernels look up by an index computed on the way; a constant array of the compiled code.

    The index must be from 0 to the length, exclusive: nobody asks.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Bound:
    """A kernel with some of its slots filled and sizes fixed; a filling may be Bound itself."""

    function: Kernel
    fills: tuple[tuple[Slot, Filling], ...] = ()


def bind(function: Kernel, fills: Mapping[Slot, Filling]) -> Bound:
    """`function` with these slots filled; scopes nest, and a filling never sees itself. A plain function that is filled is replaced, too."""
    return Bound(function, tuple(fills.items()))


def keep_given(fills: Mapping[Slot, Filling | None]) -> dict[Slot, Filling]:
    """The fillings that there are; an optional slot for which there is None stays empty."""
    return {place: filling for place, filling in fills.items() if filling is not None}


@dataclass(frozen=True)
class Written:
    """A kernel that exists only as text: derived from an expression, or an unrolled tableau.

    `origin` is the module that wrote it; `uses` gives the slots and kernels its text calls by name. An `inline` kernel
    becomes part of its caller before anything is optimised, so that several calls in a row can be packed together.
    """

    name: str
    text: str
    origin: str
    uses: tuple[tuple[str, Filling], ...] = ()
    inline: bool = False
