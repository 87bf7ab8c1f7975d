"""Record a field as a list of operations, by running it on numbers that remember how they were computed.

The field is a plain function; run on `Term`s instead of floats, it records every operation, equal ones once. Taylor
series support arithmetic, powers and elementary functions; a field that compares numbers cannot be recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ...errors import CapabilityError

MOST_MULTIPLIED = 64  # largest whole power computed by products: a series of x^3 then needs no division by x
ARCS = ("log", "asin", "acos", "atan", "asinh", "acosh", "atanh")  # their derivative is a'/d for a series d
PAIRS = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}  # each one occurs in the derivative of the other

Operand: TypeAlias = "Term | float"


@dataclass(frozen=True)
class Node:
    """One operation on earlier ones.

    Operations: "number" (in `value`), "parameter" (its text in `value`), "variable" (its place in `value`), "add", "subtract", "negative",
    "scale" (a constant, a series), "multiply", "divide", "power" (a series, a constant), "exp", those of `PAIRS`, those of
    `ARCS` with their d, and "atan2" with x^2 + y^2.
    """

    operation: str
    arguments: tuple[int, ...] = ()
    value: float | int | str | None = None


@dataclass
class Recorder:
    """The operations so far; `constant` marks those that do not change along a solution."""

    nodes: list[Node] = field(default_factory=list)
    constant: list[bool] = field(default_factory=list)
    places: dict[tuple[object, ...], int] = field(default_factory=dict)

    def add(self, operation: str, *arguments: int, value: float | int | str | None = None) -> int:
        """The place of an operation, recorded if it is new."""
        if operation in ("add", "multiply"):
            arguments = tuple(sorted(arguments))
        key = (operation, arguments, value, math.copysign(1.0, value) if isinstance(value, float) else 1.0)
        if key not in self.places:
            self.nodes.append(Node(operation, arguments, value))
            fixed = all(self.constant[k] for k in arguments) if arguments else operation != "variable"
            self.constant.append(fixed)
            self.places[key] = len(self.nodes) - 1
        return self.places[key]

    def number(self, place: int) -> float | None:
        """The value of a number."""
        node = self.nodes[place]
        return node.value if node.operation == "number" and not isinstance(node.value, str) else None

    def place_of(self, value: Operand) -> int:
        """The place of a term or a number."""
        if isinstance(value, Term):
            return value.place
        return self.add("number", value=float(value))

    def term(self, place: int) -> Term:
        """The operation at a place, as a term for further arithmetic."""
        return Term(self, place)

    def folded(self, operation: str, *places: int) -> int | None:
        """The result if all are numbers, else None."""
        values = [self.number(place) for place in places]
        if any(value is None for value in values):
            return None
        a, b = float(values[0] or 0.0), float(values[-1] or 0.0)
        made = {
            "add": lambda: a + b, "subtract": lambda: a - b, "multiply": lambda: a * b, "divide": lambda: a / b,
            "negative": lambda: -a,
        }[operation]()  # fmt: skip
        return self.add("number", value=made)

    def split(self, place: int) -> tuple[int | None, int]:
        """A constant factor, if there is one, and the rest."""
        node = self.nodes[place]
        if node.operation == "scale":
            return node.arguments[0], node.arguments[1]
        if node.operation == "negative" and not self.constant[place]:
            return self.add("number", value=-1.0), node.arguments[0]
        return None, place

    def sum(self, a: int, b: int) -> int:
        """a + b, without a node if one of them is zero."""
        if (folded := self.folded("add", a, b)) is not None:
            return folded
        if self.number(a) == 0.0:
            return b
        return a if self.number(b) == 0.0 else self.add("add", a, b)

    def difference(self, a: int, b: int) -> int:
        """a - b, likewise."""
        if (folded := self.folded("subtract", a, b)) is not None:
            return folded
        if self.number(b) == 0.0:
            return a
        return self.negative(b) if self.number(a) == 0.0 else self.add("subtract", a, b)

    def negative(self, a: int) -> int:
        """-a."""
        if (folded := self.folded("negative", a)) is not None:
            return folded
        factor, rest = self.split(a)
        return self.add("negative", a) if factor is None else self.scaled(self.negative(factor), rest)

    def scaled(self, constant: int, series: int) -> int:
        """A constant times a series; constants are collected in front, so that equal products of series are merged."""
        factor, rest = self.split(series)
        if factor is not None:
            constant = self.product(constant, factor)
        value = self.number(constant)
        if value == 0.0:
            return self.add("number", value=0.0)
        if value == 1.0:
            return rest
        return self.add("negative", rest) if value == -1.0 else self.add("scale", constant, rest)

    def product(self, a: int, b: int) -> int:
        """a b, without a node if one of them is 0, 1 or -1."""
        if (folded := self.folded("multiply", a, b)) is not None:
            return folded
        if self.constant[a] and self.constant[b]:
            for one, other in ((a, b), (b, a)):
                if self.number(one) == 1.0:
                    return other
                if self.number(one) == 0.0:
                    return one
            return self.add("multiply", a, b)
        if self.constant[a] or self.constant[b]:
            return self.scaled(a, b) if self.constant[a] else self.scaled(b, a)
        first, a = self.split(a)
        second, b = self.split(b)
        made = self._power_sum(a, b)
        for factor in (first, second):
            made = made if factor is None else self.scaled(factor, made)
        return made

    def _root(self, place: int) -> tuple[int, float]:
        """A series as a power of another with a constant exponent: sqrt(r), r and 1/r are powers of r."""
        node = self.nodes[place]
        if node.operation == "power" and (exponent := self.number(node.arguments[1])) is not None:
            return node.arguments[0], exponent
        return place, 1.0

    def _power_sum(self, a: int, b: int) -> int:
        """The product of two series; r sqrt(r) becomes one power of r, one series instead of two."""
        (base, s), (other, t) = self._root(a), self._root(b)
        if base == other and (s, t) != (1.0, 1.0):
            return self.power(base, self.place_of(s + t))
        return self.add("multiply", a, b)

    def quotient(self, a: int, b: int) -> int:
        """a / b."""
        if (folded := self.folded("divide", a, b)) is not None:
            return folded
        if self.constant[b]:
            if self.constant[a]:
                return a if self.number(b) == 1.0 else self.add("divide", a, b)
            return self.scaled(self.quotient(self.place_of(1.0), b), a)
        first, a = (None, a) if self.constant[a] else self.split(a)
        second, b = self.split(b)
        base, s = self._root(b)
        # a power has its own series, so a product is cheaper than a quotient
        made = self.add("divide", a, b) if s == 1.0 else self.product(a, self.power(base, self.place_of(-s)))
        if first is not None:
            made = self.scaled(first, made)
        return made if second is None else self.scaled(self.quotient(self.place_of(1.0), second), made)

    def power(self, a: int, exponent: int) -> int:
        """a^exponent: by products for whole numbers, by its own series for other constants, else exp(exponent log a)."""
        value = self.number(exponent)
        if value is not None and value.is_integer() and abs(value) <= MOST_MULTIPLIED:
            whole = self._whole_power(a, abs(int(value)))
            return whole if value >= 0.0 else self.quotient(self.place_of(1.0), whole)
        if self.constant[exponent]:
            return self.add("power", a, exponent)
        return self.function("exp", self.product(exponent, self.function("log", a)))

    def _whole_power(self, a: int, exponent: int) -> int:
        if exponent == 0:
            return self.place_of(1.0)
        half = self._whole_power(a, exponent // 2)
        square = self.product(half, half)
        return self.product(square, a) if exponent % 2 else square

    def function(self, name: str, a: int) -> int:
        """An elementary function of a."""
        if self.constant[a]:
            return self.add(name, a)
        if name == "tan":
            return self.quotient(self.function("sin", a), self.function("cos", a))
        if name == "tanh":
            return self.quotient(self.function("sinh", a), self.function("cosh", a))
        if name in PAIRS:
            self.add(PAIRS[name], a)
        if name in ARCS:
            return self.add(name, a, self._denominator(name, a))
        return self.add(name, a)

    def _denominator(self, name: str, a: int) -> int:
        """d of the derivative a'/d."""
        one, half = self.place_of(1.0), self.place_of(0.5)
        if name == "log":
            return a
        square = self.product(a, a)
        inside = {
            "atan": lambda: self.sum(one, square), "atanh": lambda: self.difference(one, square),
            "asin": lambda: self.difference(one, square), "acos": lambda: self.difference(one, square),
            "asinh": lambda: self.sum(one, square), "acosh": lambda: self.difference(square, one),
        }[name]()  # fmt: skip
        return inside if name in ("atan", "atanh") else self.power(inside, half)


Operator: TypeAlias = "Callable[[Term, Operand], Term]"


def _operators(operation: Callable[[Recorder, int, int], int]) -> tuple[Operator, Operator]:
    """An operation with a term on its left, and the same with a term on its right."""

    def on_left(term: Term, other: Operand) -> Term:
        recorder = term.recorder
        return recorder.term(operation(recorder, term.place, recorder.place_of(other)))

    def on_right(term: Term, other: Operand) -> Term:
        recorder = term.recorder
        return recorder.term(operation(recorder, recorder.place_of(other), term.place))

    return on_left, on_right


class Term:
    """A number that remembers how it was computed."""

    def __init__(self, recorder: Recorder, place: int) -> None:
        self.recorder, self.place = recorder, place

    __add__, __radd__ = _operators(Recorder.sum)
    __sub__, __rsub__ = _operators(Recorder.difference)
    __mul__, __rmul__ = _operators(Recorder.product)
    __truediv__, __rtruediv__ = _operators(Recorder.quotient)
    __pow__, __rpow__ = _operators(Recorder.power)

    def __neg__(self) -> Term:
        return Term(self.recorder, self.recorder.negative(self.place))

    def __pos__(self) -> Term:
        return self

    def _asked(self, *_: object) -> NoReturn:
        raise CapabilityError("its equations depend on the size of a number, which a power series cannot follow")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __abs__ = __float__ = __int__ = __index__ = _asked


class Table:
    """An array of parameters whose numbers the kernel loads; integers are recorded by value."""

    def __init__(self, recorder: Recorder, name: str, array: Any, at: tuple[int, ...] = ()) -> None:
        self.recorder, self.name, self.array, self.at = recorder, name, array, at
        self.shape = array.shape[len(at) :]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: int | tuple[int, ...]) -> Table | Term | int:
        at = (*self.at, *(index if isinstance(index, tuple) else (index,)))
        if not all(isinstance(k, int | np.integer) for k in at):
            raise CapabilityError("its equations take parts of arrays, which cannot be recorded")
        if len(at) < self.array.ndim:
            return Table(self.recorder, self.name, self.array, at)
        if self.array.dtype.kind in "iu":
            return int(self.array[at])
        text = f"par.{self.name}[{', '.join(str(int(k)) for k in at)}]"
        return self.recorder.term(self.recorder.add("parameter", value=text))


def functions(recorder: Recorder) -> SimpleNamespace:
    """The replacement for the module `math`."""

    def of(name: str) -> Callable[[Term | float], Term | float]:
        def applied(x: Term | float) -> Term | float:
            if not isinstance(x, Term):
                return float(getattr(math, name)(x))
            return recorder.term(recorder.function(name, x.place))

        return applied

    def sqrt(x: Term | float) -> Term | float:
        return power(x, 0.5) if isinstance(x, Term) else math.sqrt(x)

    def power(x: Term | float, y: Term | float) -> Term:
        return recorder.term(recorder.power(recorder.place_of(x), recorder.place_of(y)))

    def atan2(y: Term | float, x: Term | float) -> Term:
        a, b = recorder.place_of(y), recorder.place_of(x)
        square = recorder.sum(recorder.product(a, a), recorder.product(b, b))
        return recorder.term(recorder.add("atan2", a, b, square))

    known = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", *ARCS)
    named = {name: of(name) for name in known}
    return SimpleNamespace(pi=math.pi, e=math.e, sqrt=sqrt, pow=power, atan2=atan2, **named)


@dataclass(frozen=True)
class Recorded:
    """A field of n variables: its operations, which of them are constant, and the place of each rate."""

    nodes: tuple[Node, ...]
    constant: tuple[bool, ...]
    rates: tuple[int, ...]


def record(field_with: Any, par: Any, n: int) -> Recorded:
    """Run a field once; `field_with` takes the replacement for `math`, par are its arrays by name.

    Raises
    ------
    CapabilityError : it branches, or uses a function that has no series here
    """
    recorder = Recorder()
    z = [recorder.term(recorder.add("variable", value=k)) for k in range(n)]
    tables = SimpleNamespace(**{name: Table(recorder, name, np.asarray(array)) for name, array in par.items()})
    out: list[Term | float] = [0.0] * n
    try:
        field_with(functions(recorder))(z, tables, out)
    except (AttributeError, TypeError) as fault:
        raise CapabilityError(f"its equations cannot be recorded as power series ({fault})") from None
    rates = tuple(recorder.place_of(rate) for rate in out)
    return Recorded(tuple(recorder.nodes), tuple(recorder.constant), rates)
