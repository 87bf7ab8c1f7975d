"""The checked form of a text: a list of operations, constants folded, and what its derivatives would cost."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction

Value = int | Fraction | float

EXACT_DIGITS = 15
"""Integers and fractions stay exact up to this many digits; beyond, they are doubles."""

LEAST_OPERANDS = 30
"""Minimum cost of the derivative of a product, power or function, in operands (measured on sums of small terms)."""

FUNCTIONS = {
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan"), 1),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 1),
    **dict.fromkeys(("exp", "log", "sqrt"), 1),
    "atan2": 2,
}
"""Name and number of arguments. Only smooth functions: the integrators need derivatives of every order they promise."""

CONDITION_FUNCTIONS = {**FUNCTIONS, "abs": 1}
"""A condition is never differentiated, so `abs` is allowed there; `min` and `max` are `and` and `or`."""

COMPARISONS = ("<", "<=", ">", ">=")
LOGIC = ("and", "or", "not")


@dataclass(frozen=True, slots=True)
class Node:
    """One operation; its arguments are places of earlier nodes in `Tree.nodes`.

    Operations: "number" and "name" (in `value`), "sum", "product", "negative", "reciprocal", "power",
    a function's name, a comparison, "and", "or", "not".
    """

    operation: str
    arguments: tuple[int, ...] = ()
    value: Value | str | None = None
    column: int = field(default=0, compare=False)

    @property
    def number(self) -> Value | None:
        """The value of a constant; None for anything else."""
        return self.value if self.operation == "number" and not isinstance(self.value, str) else None

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false, not a number."""
        return self.operation in COMPARISONS or self.operation in LOGIC


@dataclass(frozen=True)
class Tree:
    """A checked expression. Equal expressions are equal trees, whatever their spacing.

    Attributes
    ----------
    nodes : the operations, each after its arguments and each different one once; the last is the root
    text, what : the text and what it is to the user, for messages
    """

    nodes: tuple[Node, ...]
    text: str = field(compare=False)
    what: str = field(compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names used, in the order of their first appearance."""
        return tuple(str(node.value) for node in self.nodes if node.operation == "name")

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false, not a number."""
        return self.nodes[-1].is_condition


def canonical(value: Value) -> Value:
    """The unique representation of a constant: exact if that takes few digits, else the double.

    A double such as 0.5, 2.0 or 1.25 becomes a small fraction, exactly; 0.1 stays a double.

    Raises
    ------
    OverflowError, ValueError : beyond the range of a double; not a number
    """
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("not a number")
        if math.isinf(value):
            raise OverflowError("beyond the range of a double")
        if not (value * 1024.0).is_integer():
            return value
        value = Fraction(value)
    exact = Fraction(value)
    limit = 10**EXACT_DIGITS
    if abs(exact.numerator) >= limit or exact.denominator >= limit:
        return float(exact)
    return exact.numerator if exact.denominator == 1 else exact


def fold(operation: str, values: list[Value]) -> Value:
    """Value of an operation on constants, exact for small fractions, else in Python's doubles.

    Raises
    ------
    ArithmeticError, ValueError : division by zero, overflow, no real value
    """
    match operation:
        case "sum":
            return canonical(sum(values))
        case "product":
            return canonical(functools.reduce(operator.mul, values))
        case "quotient" | "reciprocal":
            over, under = values if operation == "quotient" else (1, *values)
            if isinstance(over, float) or isinstance(under, float):
                return canonical(over / under)
            return canonical(Fraction(over, under))
        case "negative":
            return canonical(-values[0])
        case "power":
            return _power(*values)
        case "abs":
            return canonical(max(values[0], -values[0]))
        case _:
            return canonical(getattr(math, operation)(*(float(value) for value in values)))


def _power(base: Value, exponent: Value) -> Value:
    size = max(abs(base.numerator), base.denominator) if not isinstance(base, float) else 0
    if isinstance(exponent, int) and size and abs(exponent) * math.log10(size) <= EXACT_DIGITS:
        return canonical(Fraction(base) ** exponent)
    # unlike **, math.pow refuses complex results
    return canonical(math.pow(float(base), float(exponent)))


def derivative_cost(nodes: tuple[Node, ...]) -> int:
    """Approximate number of operands of the second derivatives by all names when written out.

    With n names in a part of s operands: its gradient multiplies n derivatives by the other factors, n s; the
    Hessian has n**2 such products, and the gradient of its arguments once more for every name on either side.
    """
    used: list[int] = []  # the names in each part, as bits
    sizes: list[int] = []
    gradients: list[int] = []
    hessians: list[int] = []
    letters = 0
    for node in nodes:
        if node.operation == "name":
            used.append(1 << letters)
            letters += 1
        else:
            used.append(functools.reduce(operator.or_, (used[place] for place in node.arguments), 0))
        size = 1 + sum(sizes[place] for place in node.arguments)
        gradient = sum(gradients[place] for place in node.arguments)
        hessian = sum(hessians[place] for place in node.arguments)
        if node.operation in ("sum", "negative"):
            names, untouched = used[-1].bit_count(), 1
        else:
            names, untouched = sum(used[place].bit_count() for place in node.arguments), size + LEAST_OPERANDS
            hessian += 2 * names * gradient
        sizes.append(size)
        gradients.append(gradient + names * untouched)
        hessians.append(hessian + names**2 * untouched)
    return hessians[-1]
