"""Fused multiply-add: a b + c rounded once.

It is written out as part of the arithmetic: unlike a contraction chosen by a compiler, it gives the same bits for every
vector width and on every machine, in hardware where the instruction exists.
"""

from __future__ import annotations

import math
from fractions import Fraction
from struct import Struct
from types import SimpleNamespace

from .marks import provided


@provided
def multiply_add(a: float, b: float, c: float) -> float:
    """a b + c, rounded once.

    Examples
    --------
    >>> multiply_add(1.0 + 2.0**-52, 1.0 - 2.0**-52, -1.0) == -(2.0**-104)
    True
    """
    product = a * b
    rough = abs(product + c)
    if not (1e-120 < abs(a) < 1e120 and 1e-120 < abs(b) < 1e120 and (c == 0.0 or 1e-200 < abs(c) < 1e250)):
        if a == 0.0 or b == 0.0 or not rough < 1e300:
            return product + c  # signs of zeros, and results that are not finite
        return float(Fraction(a) * Fraction(b) + Fraction(c))
    # a b = product + rest and c + rest = u + v, exactly; then product + u = s + t, and t + v, rounded to odd, decides
    # how s is rounded: S. Boldo and G. Melquiond, IEEE Trans. Comput. 57 (2008) 462, algorithm 5
    rest = _rest_of_product(a, b, product)
    u = c + rest
    w = u - c
    v = (c - (u - w)) + (rest - w)
    s = product + u
    w = s - product
    t = (product - (s - w)) + (u - w)
    return s + _sum_to_odd(t, v)


SPLITTER = 2.0**27 + 1.0


def _rest_of_product(a: float, b: float, product: float) -> float:
    """a b - product, exactly (Dekker)."""
    large = SPLITTER * a
    a1 = large - (large - a)
    large = SPLITTER * b
    b1 = large - (large - b)
    a2, b2 = a - a1, b - b1
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _sum_to_odd(a: float, b: float) -> float:
    """a + b, rounded to odd: if it is not a double, the neighbouring double whose last bit is 1."""
    total = a + b
    w = total - a
    error = (a - (total - w)) + (b - w)
    if error == 0.0 or as_integer(total) & 1:
        return total
    return math.nextafter(total, math.inf if error > 0.0 else -math.inf)


@provided
def as_integer(x: float) -> int:
    """The 64 bits of a double as a signed integer."""
    return int(INTEGER.unpack(DOUBLE.pack(x))[0])


@provided
def as_double(bits: int) -> float:
    """The double with these 64 bits."""
    return float(DOUBLE.unpack(INTEGER.pack(bits))[0])


INTEGER, DOUBLE = Struct("<q"), Struct("<d")


@provided
def counted(index: int) -> int:
    """An index from the beginning of an array. Compiled, it is unsigned: no test for counting from the end.

    Such a test between the loads of a loop would prevent vectorisation.
    """
    return index


@provided
def held(pair: tuple[float, ...]) -> SimpleNamespace:
    """The `par` of a kernel of a pair potential: an object with its constants, here in registers."""
    return SimpleNamespace(pair=pair)


@provided
def linked(link: tuple[float, ...]) -> SimpleNamespace:
    """The same for a kernel of a link potential."""
    return SimpleNamespace(link=link)


@provided
def spun(inverse: tuple[float, ...], frame: tuple[float, ...], potential: tuple[float, ...]) -> SimpleNamespace:
    """The same for the equations of a top."""
    return SimpleNamespace(inverse=inverse, frame=frame, potential=potential)
