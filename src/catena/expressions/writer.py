"""sympy expressions -> straight-line Python code of floats, the same compiled and uncompiled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import InputError
from .symbols import bottom_up
from .tree import FUNCTIONS

if TYPE_CHECKING:
    import sympy

LARGEST_MULTIPLIED = 16
"""Powers up to this one become products (cheaper than `math.pow`, at most 8 units in the last place worse)."""

LONGEST_INLINE = 80
"""Longer operands get a line of their own: deep nesting is slow to compile and hard to read."""

MOST_OPERANDS = 16
"""Largest number of operands of one sum or product in a line."""


def write_lines(outputs: Sequence[tuple[str, sympy.Expr]], load: Mapping[str, str]) -> list[str]:
    """Code that computes all outputs, sharing common subexpressions.

    Loads every used symbol once into v0, v1, ..., computes common parts into w0, w1, ..., then assigns the targets, so
    a target may overwrite what was loaded. The user's names do not occur in the code.

    Parameters
    ----------
    outputs : (target, expression), for example ``("out[0]", x**2)``
    load : code that loads a symbol, by its name, for example ``{"x": "z[0]"}``; its order is that of the lines

    Returns
    -------
    lines of Python that need nothing but ``math``

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x", real=True)
    >>> write_lines([("out[0]", x**2/2), ("out[1]", 1/x**2)], {"x": "z[0]"})
    ['v0 = z[0]', 'w0 = v0*v0', 'out[0] = 0.5*w0', 'out[1] = 1.0/w0']
    """
    import sympy

    done: dict[sympy.Basic, sympy.Basic] = {}
    numeric = [bottom_up(part, partial(_with_numbers, sympy), done) for _, part in outputs]
    used = {symbol.name for part in numeric for symbol in part.free_symbols}
    if not used <= set(load):
        raise KeyError(f"no code loads {', '.join(sorted(used - set(load)))}")
    writer = _Writer(sympy, {name: code for name, code in load.items() if name in used})
    # no user name contains a dot, so these symbols cannot collide
    common, reduced = sympy.cse(numeric, sympy.numbered_symbols("."), order="none")
    for symbol, part in common:
        writer.variables[symbol.name] = writer.keep(writer.text(part))
    results = [writer.text(part) for part in reduced]
    return writer.lines + [f"{target} = {text}" for (target, _), text in zip(outputs, results, strict=True)]


def _with_numbers(sympy: ModuleType, part: sympy.Basic, arguments: list[sympy.Basic]) -> sympy.Basic:
    """The part with constants such as log(2) and sqrt(2) replaced by their doubles."""
    if isinstance(part, sympy.DiracDelta):
        return sympy.Integer(0)  # `sympy.diff` creates it from |u|'' = 0 almost everywhere
    if part.is_Number or (not arguments and not part.is_number):
        return part
    if all(argument.is_Number for argument in arguments):
        return sympy.Float(_double(part.func(*arguments) if arguments else part), precision=53)
    return part if list(part.args) == arguments else part.func(*arguments)


def _double(constant: sympy.Expr) -> float:
    try:
        value = constant.p / constant.q if constant.is_Rational else float(constant.evalf(20))
    except (TypeError, ArithmeticError):
        value = math.nan
    if not math.isfinite(value) or (value == 0.0 and not constant.is_zero):
        raise InputError(
            f"the constant {str(constant)[:60]} in an expression or its derivatives is no finite double",
            do="scale the units so that constants and their powers stay between 1e-300 and 1e300",
        )
    return value


class _Writer:
    """Turns one expression after the other into text, and keeps intermediate results as lines."""

    def __init__(self, sympy: ModuleType, load: Mapping[str, str]) -> None:
        self.sympy = sympy
        self.variables = {name: f"v{number}" for number, name in enumerate(load)}
        self.lines = [f"{self.variables[name]} = {code}" for name, code in load.items()]
        self.kept: dict[str, str] = {}

    def keep(self, text: str) -> str:
        """The variable that holds this text, computed once."""
        if text.isidentifier():
            return text
        if text not in self.kept:
            self.kept[text] = f"w{len(self.kept)}"
            self.lines.append(f"{self.kept[text]} = {text}")
        return self.kept[text]

    def text(self, part: sympy.Basic) -> str:
        """An expression; sums and products without brackets."""
        if part.is_Symbol:
            return self.variables[part.name]
        if part.is_Number:
            return repr(_double(part))
        if part in (self.sympy.true, self.sympy.false):
            return str(part)
        if part.is_Add:
            return self.sum(part)
        if part.is_Mul or part.is_Pow:
            negative, text = self.product(part)
            return f"-{text}" if negative else text
        if part.is_Relational:
            return f"{self.operand(part.lhs)} {part.rel_op} {self.operand(part.rhs)}"
        return self.function(part)

    def operand(self, part: sympy.Basic) -> str:
        """An expression that can be a factor or the argument of an operator."""
        text = self.text(part)
        if part.is_Symbol or part.is_Function or (part.is_Number and part >= 0):
            return text
        return f"({text})" if len(text) <= LONGEST_INLINE else self.keep(text)

    def argument(self, part: sympy.Basic) -> str:
        text = self.text(part)
        return text if len(text) <= LONGEST_INLINE else self.keep(text)

    def sum(self, part: sympy.Basic) -> str:
        terms = [self.product(term) for term in part.args]
        # start with a positive term: a leading minus would cost an operation
        first = next((number for number, (negative, _) in enumerate(terms) if not negative), 0)
        terms.insert(0, terms.pop(first))
        text = ("-" if terms[0][0] else "") + terms[0][1]
        for number, (negative, term) in enumerate(terms[1:], start=1):
            if number % MOST_OPERANDS == 0:
                text = self.keep(text)
            text += (" - " if negative else " + ") + term
        return text

    def product(self, part: sympy.Basic) -> tuple[bool, str]:
        """Sign and text of a product with at most one division; anything else is a product of one factor."""
        over, under = [], []
        coefficient = self.sympy.Integer(1)
        waiting = [part]
        while waiting:
            factor = waiting.pop(0)
            if factor.is_Mul:
                waiting[:0] = factor.args
            elif factor.is_Number:
                coefficient *= factor
            elif factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
                under.append(self.power(factor.base, -factor.exp))
            elif factor.is_Pow:
                over.append(self.power(factor.base, factor.exp))
            else:
                over.append(self.operand(factor))
        negative = bool(coefficient < 0)
        coefficient = abs(coefficient)
        if under and coefficient.is_Rational and coefficient.q & (coefficient.q - 1):
            # the division is made anyway: x/(3.0*y) rounds fewer times than 0.333...*x/y
            under.insert(0, repr(_double(self.sympy.Integer(coefficient.q))))
            coefficient = self.sympy.Integer(coefficient.p)
        if coefficient != 1 or not over:
            over.insert(0, repr(_double(coefficient)))
        text = self.chain(over)
        if under:
            bottom = self.chain(under)
            text += f"/({bottom})" if len(under) > 1 else f"/{bottom}"
        return negative, text

    def chain(self, factors: list[str]) -> str:
        text = factors[0]
        for number, factor in enumerate(factors[1:], start=1):
            if number % MOST_OPERANDS == 0:
                text = self.keep(text)
            text += "*" + factor
        return text

    def power(self, base: sympy.Expr, exponent: sympy.Expr) -> str:
        """A positive or variable power, by multiplications and square roots if these are few."""
        if exponent.is_Number and (halves := 2.0 * _double(exponent)).is_integer():
            whole, half = divmod(int(halves), 2)
            if 0 <= whole <= LARGEST_MULTIPLIED:
                root = self.keep(self.argument(base))
                factors = [self.multiplied(root, whole)] if whole else []
                factors += [self.keep(f"math.sqrt({root})")] if half else []
                return self.keep("*".join(factors)) if factors else "1.0"
        if base == self.sympy.E:
            return f"math.exp({self.argument(exponent)})"
        return f"math.pow({self.argument(base)}, {self.argument(exponent)})"

    def multiplied(self, base: str, exponent: int) -> str:
        if exponent == 1:
            return base
        part = self.multiplied(base, exponent // 2)
        square = self.keep(f"{part}*{part}")
        return self.keep(f"{square}*{base}") if exponent % 2 else square

    def function(self, part: sympy.Basic) -> str:
        name = part.func.__name__
        arguments = [self.argument(argument) for argument in part.args]
        if name in FUNCTIONS:
            return f"math.{name}({', '.join(arguments)})"
        match name:
            case "Abs":
                return f"math.fabs({arguments[0]})"
            case "sign":
                return f"math.copysign(1.0, {arguments[0]})"
            case "And" | "Or":
                return f" {name.lower()} ".join(f"({argument})" for argument in arguments)
            case "Not":
                return f"not ({arguments[0]})"
        raise InputError(f"{str(part)[:60]} cannot be compiled", do="use smooth functions only")
