"""Tree <-> sympy, exactly and without any simplification that could take long."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..errors import InputError, nearest
from ..text.plain import clip
from .parser import LONGEST_SUM, SHOWN
from .tree import EXACT_DIGITS, FUNCTIONS, Node, Tree, Value

if TYPE_CHECKING:
    import sympy

Result = TypeVar("Result")


def to_sympy(tree: Tree) -> sympy.Expr:
    """The tree as a sympy expression in real symbols named as the user named them.

    Integers and small fractions are exact; any other constant is the Float of its double.

    Raises
    ------
    InputError : no finite real value anywhere, as in ``log(x - x)``

    Examples
    --------
    >>> from catena.expressions import parse
    >>> to_sympy(parse("x/3 + 0.5*x**2", ["x"]))
    x**2/2 + x/3
    """
    import sympy

    done: list[sympy.Basic] = []
    for node in tree.nodes:
        done.append(_operation(sympy, node, [done[place] for place in node.arguments]))
    whole = done[-1]
    if whole.has(sympy.I, sympy.zoo, sympy.oo, -sympy.oo, sympy.nan):
        raise InputError(
            f"{tree.what} has no finite real value anywhere: {tree.text[:60]!r} became {str(whole)[:60]}",
            where=tree.what,
            do="look for a division by zero, or a root or logarithm of what is never positive",
        )
    return whole


def _operation(sympy: ModuleType, node: Node, arguments: list[sympy.Basic]) -> sympy.Basic:
    match node.operation:
        case "number":
            return _number(sympy, node.value)
        case "name":
            return sympy.Symbol(node.value, real=True)
        case "sum":
            return sympy.Add(*arguments)
        case "product":
            return sympy.Mul(*arguments)
        case "negative":
            return -arguments[0]
        case "reciprocal":
            return _power(sympy, arguments[0], sympy.Integer(-1))
        case "power":
            return _power(sympy, *arguments)
        case "sqrt":
            return _power(sympy, arguments[0], sympy.Rational(1, 2))
        case "abs":
            return sympy.Abs(*arguments)
        case "<" | "<=" | ">" | ">=":
            return sympy.Rel(*arguments, node.operation)
        case "and" | "or" | "not":
            return getattr(sympy, node.operation.capitalize())(*arguments)
        case _:
            return getattr(sympy, node.operation)(*arguments)


def _number(sympy: ModuleType, value: Value | str | None) -> sympy.Number:
    if isinstance(value, float):
        return sympy.Float(value, precision=53)
    assert value is not None  # a number has a value
    fraction = Fraction(value)
    return sympy.Rational(fraction.numerator, fraction.denominator)


def _power(sympy: ModuleType, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """base**exponent; an integer power of a rational coefficient must not grow into thousands of digits."""
    coefficient, rest = base.as_coeff_Mul()
    if exponent.is_Integer and coefficient.is_Rational and coefficient not in (0, 1, -1):
        digits = math.log10(max(abs(coefficient.p), coefficient.q))
        if abs(int(exponent)) * digits > 2 * EXACT_DIGITS:
            # sympy's Float has no bound; a value out of range for a double is refused when it is written
            return sympy.Float(coefficient, precision=53) ** exponent * rest**exponent
    return base**exponent


def bottom_up(
    expression: sympy.Basic, rule: Callable[[sympy.Basic, list[Result]], Result], done: dict[sympy.Basic, Result]
) -> Result:
    """``rule(part, results of its arguments)`` for every part of an expression, each different part once.

    A loop with a memo, because an expression may be deeper than the stack and far larger written out than in memory.
    """
    waiting = [expression]
    while waiting:
        part = waiting[-1]
        missing = [argument for argument in part.args if argument not in done] if part not in done else []
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        if part not in done:
            done[part] = rule(part, [done[argument] for argument in part.args])
    return done[expression]


def to_text(expression: object, names: Collection[str], where: str = "") -> str:
    """A user's sympy expression as text that `parse` accepts and that means the same.

    ``Abs(u)`` is written as ``sqrt(u**2)``, because sympy itself turns that root into it.

    Raises
    ------
    InputError : undeclared symbols, functions that `parse` does not know, infinite or complex constants

    Examples
    --------
    >>> import sympy
    >>> q, p = sympy.symbols("q p")
    >>> to_text(p**2/2 - sympy.cos(q)/p, ["q", "p"])
    '1/2*p**2 - p**(-1)*cos(q)'
    """
    library = sys.modules.get("sympy")  # whoever made an expression has imported it
    if library is None or not isinstance(expression, library.Expr):
        wrong = f"{clip(repr(expression), SHOWN)} is neither a text nor a scalar expression of sympy"
        raise InputError(wrong, where=where, do='give a text such as "2*cos(q)"')

    def spell(part: sympy.Basic, arguments: list[_Spelled]) -> _Spelled:
        spelled = _spell(library, part, arguments, names)
        if len(spelled.text) > LONGEST_SUM:
            raise InputError(
                f"the sympy expression is longer than {LONGEST_SUM} characters when written out",
                do="shorten it, for example with parameters for repeated constants",
            )
        return spelled

    try:
        return str(bottom_up(expression, spell, {}).text)
    except InputError as trouble:
        raise InputError(trouble.wrong, where=where, do=trouble.do) from None


class _Spelled(NamedTuple):
    """Text and how strongly its outermost operation binds: 1 sum or sign, 2 product or quotient, 3 power, 4 none."""

    text: str
    level: int

    def within(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def _spell(sympy: ModuleType, part: sympy.Basic, arguments: list[_Spelled], names: Collection[str]) -> _Spelled:
    if part.is_Symbol:
        if part.name not in names:
            close = nearest(part.name, sorted(names)[:1000])
            raise InputError(f"the sympy expression holds the undeclared symbol {part.name}{close}", do="declare it")
        return _Spelled(part.name, 4)
    if part.is_Rational:
        text = str(part.p) if part.q == 1 else f"{part.p}/{part.q}"
        return _Spelled(text, 1 if part.p < 0 else 2 if part.q != 1 else 4)
    if part.is_Float or isinstance(part, sympy.NumberSymbol):
        return _Spelled(repr(float(part)), 1 if part < 0 else 4)
    if part.is_Add:
        terms = "".join(f" - {term.text[1:]}" if term.text[0] == "-" else f" + {term.text}" for term in arguments)
        return _Spelled(terms[3:] if terms[1] == "+" else "-" + terms[3:], 1)
    if part.is_Mul:
        if arguments[0].text == "-1":
            return _Spelled("-" + "*".join(factor.within(2) for factor in arguments[1:]), 1)
        return _Spelled("*".join([arguments[0].text, *(factor.within(2) for factor in arguments[1:])]), 2)
    if part.is_Pow:
        return _Spelled(f"{arguments[0].within(4)}**{arguments[1].within(4)}", 3)
    name = "sqrt" if isinstance(part, sympy.Abs) else part.func.__name__
    if name in FUNCTIONS and name in names:
        raise InputError(
            f"the sympy expression needs the function {name}, but {name} is a declared name", do="rename it"
        )
    if isinstance(part, sympy.Abs):
        return _Spelled(f"sqrt({arguments[0].within(4)}**2)", 4)
    if part.is_Function and part.func is getattr(sympy, name, None) and FUNCTIONS.get(name) == len(arguments):
        return _Spelled(f"{name}({', '.join(argument.text for argument in arguments)})", 4)
    raise InputError(
        f"the sympy expression holds {str(part)[:60]}, which cannot be used here",
        do=f"use numbers, declared symbols, + - * / ** and the functions {' '.join(FUNCTIONS)}",
    )
