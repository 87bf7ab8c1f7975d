"""The `math` of kernels: elementary functions of our own, with the same bits compiled, interpreted and on a GPU.

    from ..kernels import elementary as math

Mathematical libraries differ between machines in the last digit. These functions are made of sums, products, quotients,
roots and fused multiply-adds, for which IEEE arithmetic defines the rounding, and of the bits of a double; exact
functions are those of Python. No error reaches one unit in the last place (`tests/kernels/test_elementary.py` has the
figures). In a kernel that says `import math`, the engine replaces functions of the same name by these, and so it does
in generated texts.

Methods: the argument is reduced to a short interval with a small table or a constant in several parts. There a
polynomial is evaluated (Estrin's scheme, which has shorter dependency chains than Horner's). At the end its small value
is added to a large exact part, so that there is little rounding besides that addition. J.-M. Muller, Elementary
Functions, 3rd ed., Birkhaeuser 2016, chapters 5, 6, 11 and 12.
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

# the functions taken from `math` unchanged are exact or correctly rounded on every machine
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
"""Name in `math` -> the kernel that replaces it."""
