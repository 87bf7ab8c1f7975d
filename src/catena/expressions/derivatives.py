"""Exact derivatives by the chain rule; each part of an expression is differentiated once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

from .symbols import bottom_up

if TYPE_CHECKING:
    import sympy


def jacobian(expressions: Sequence[sympy.Expr], names: Sequence[str]) -> list[list[sympy.Expr]]:
    """Derivatives of every expression (rows) by every name (columns); the Hessian is the jacobian of the gradient.

    `sympy.diff` gives the same, 5 to 20 times slower on energies of 10 to 1000 operations, because it differentiates
    shared parts again at each of their occurrences. At the kink of `Abs` its derivative is `sign`, and that of `sign`
    is 0.

    Examples
    --------
    >>> from catena.expressions import parse, to_sympy
    >>> jacobian([to_sympy(parse("p**2/2 - cos(q)", ["q", "p"]))], ["q", "p"])
    [[sin(q), p]]
    """
    import sympy

    columns = []
    for name in names:
        done = {sympy.Symbol(name, real=True): sympy.Integer(1)}
        columns.append([bottom_up(expression, partial(_chain_rule, sympy), done) for expression in expressions])
    return [list(row) for row in zip(*columns, strict=True)]


def _chain_rule(sympy: ModuleType, part: sympy.Basic, inner: list[sympy.Expr]) -> sympy.Expr:
    zero = sympy.S.Zero
    moving = [number for number, derivative in enumerate(inner) if derivative is not zero]
    if not moving or isinstance(part, sympy.sign):
        return zero
    if part.is_Add:
        return sympy.Add(*inner)
    if part.is_Mul:
        factors = part.args
        return sympy.Add(*(sympy.Mul(*factors[:i], inner[i], *factors[i + 1 :]) for i in moving))
    if part.is_Pow:
        base, exponent = part.args
        if moving == [0]:
            # number times sum first: sympy multiplies it into the sum, and 2*(x - y)/2 becomes x - y
            return exponent * inner[0] * base ** (exponent - 1)
        return part * (inner[1] * sympy.log(base) + exponent * inner[0] / base)
    if isinstance(part, sympy.Abs):
        return sympy.sign(part.args[0]) * inner[0]
    return sympy.Add(*(part.fdiff(i + 1) * inner[i] for i in moving))
