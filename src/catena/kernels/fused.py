"""Fused multiply-add: a b + c rounded once.

Written out it is part of the arithmetic: unlike the contraction a compiler may choose, it gives the same bits for every vector
width and on every machine, in hardware where there is such an instruction.
"""

from __future__ import annotations

from fractions import Fraction
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
    if a == 0.0 or b == 0.0 or not abs(a * b + c) < 1e300:
        return a * b + c  # signs of zeros, and what is not finite
    return float(Fraction(a) * Fraction(b) + Fraction(c))


@provided
def counted(index: int) -> int:
    """An index from the beginning of an array. Compiled, it has no sign: nobody asks whether it counts from the end.

    That question stands between the loads of a loop and the vector instructions they could become.
    """
    return index


@provided
def held(pair: tuple[float, ...]) -> SimpleNamespace:
    """What `par` is to a kernel of a pair potential: an object with its constants, here in registers."""
    return SimpleNamespace(pair=pair)
