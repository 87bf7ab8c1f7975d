"""What kernels call `math`: elementary functions of our own, with the same bits compiled, interpreted and on a GPU.

    from ..kernels import elementary as math

Libraries of functions differ from machine to machine in the last digit. These are made of sums, products, quotients, roots and fused
multiply-adds, which IEEE arithmetic rounds in one way, and of the bits of a double; what is exact anyway is that of Python. None is wrong by
one unit in the last place (`tests/kernels/test_elementary.py` has the figures). In a kernel that says `import math` the
engine puts them in place of those of the same name, and so it does in texts that are written.

Methods: the argument is reduced to a short interval with the help of a small table or of a constant in several parts, there a polynomial
is evaluated (Estrin's scheme, which waits less than Horner's), and its small value is added to a large exact part in the end, so that
hardly more than that last addition is rounded. J.-M. Muller, Elementary Functions, 3rd ed., Birkhaeuser 2016, chapters 5, 6, 11 and 12.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, copysign, fabs, floor, frexp, fsum, inf, isfinite, isinf, isnan, ldexp, nan, pi, sqrt

from .exponential import exp
from .hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from .inverse import acos, asin, atan, atan2
from .length import hypot
from .logarithm import log
from .power import pow
from .trigonometric import cos, sin, tan

# what is taken from `math` as it is, is exact or rounded correctly on every machine
__all__ = [
    "FUNCTIONS", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "exp", "fabs",
    "floor", "frexp", "fsum", "hypot", "inf", "isfinite", "isinf", "isnan", "ldexp", "log", "nan", "pi", "pow", "sin", "sinh",
    "sqrt", "tan", "tanh",
]  # fmt: skip

FUNCTIONS: dict[str, Callable[..., float]] = {
    function.__name__: function
    for function in (
        sin, cos, tan, asin, acos, atan, atan2, exp, log, sinh, cosh, tanh, asinh, acosh, atanh, pow, hypot,
    )
}  # fmt: skip
"""Name in `math` -> the kernel that stands for it."""
