"""Arguments of elementary functions, ordinary and hard ones, and the distance of values from those of MPFR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TWO = {"atan2", "pow", "hypot"}  # of two arguments
USUAL = {
    "sin": (-10.0, 10.0), "cos": (-10.0, 10.0), "tan": (-10.0, 10.0), "asin": (-1.0, 1.0), "acos": (-1.0, 1.0),
    "atan": (-5.0, 5.0), "sinh": (-25.0, 25.0), "cosh": (-25.0, 25.0), "tanh": (-25.0, 25.0), "asinh": (-9.0, 9.0),
    "acosh": (1.0, 9.0), "atanh": (-1.0, 1.0), "exp": (-745.2, 709.8), "log": (0.0, 20.0), "atan2": (-3.0, 3.0),
    "pow": (0.0, 9.0), "hypot": (-3.0, 3.0),
}  # fmt: skip
# where another formula begins, where the value is zero, or the argument is as hard to reduce as possible
EDGES = {
    "sin": (2.0**30, math.pi, math.pi / 4, 6381956970095103 * 2.0**797, 1e22, 5e-324, 1e-8),
    "tan": (2.0**30, math.pi / 2, math.pi / 4, 6381956970095103 * 2.0**797, 1e-8, 1.7976931348623157e308),
    "asin": (0.5, 1.0, 1e-9), "atan": (math.tan(math.pi / 8), 1.0, math.tan(3 * math.pi / 8), 1e300, 1e17, 1e-9),
    "sinh": (1.0, 20.0, 710.4, 711.0, 1e-9), "tanh": (0.55, 20.0, 1e-9), "asinh": (0.5, 1.0, 2.0**28, 1e-9),
    "acosh": (1.0, 2.0, 3.0, 2.0**28), "atanh": (0.5, 1.0, 1e-9), "exp": (700.0, 708.4, 745.13, 1e-17, math.log(2) / 128),
    "log": (1.0, 0.703125, 1.40625, 2.0**-1022, 0.9921875, 0.99609375), "pow": (1.0, 0.703125, 2.0**-1022),
    "atan2": (1.0, math.tan(math.pi / 8), 1e290, 1e-290), "hypot": (1.0, 1e150, 1e-140),
}  # fmt: skip
LIKE = {"cos": "sin", "acos": "asin", "cosh": "sinh"}
ALL_BITS = {"sin", "cos", "tan", "atan", "asinh", "tanh", "hypot", "atan2", "pow", "log"}  # defined over all magnitudes


def reference(name: str) -> Callable[..., Any]:
    """The function of MPFR; a GPU machine without MPFR uses only the arguments."""
    import gmpy2

    return getattr(gmpy2, name) if name != "pow" else lambda x, y: gmpy2.mpfr(x) ** gmpy2.mpfr(y)


def arguments(name: str, count: int, seed: int = 1) -> tuple[Array, Array]:
    """x and y, about `count` of each kind: usual ones, small ones, near limits and multiples of pi/2, of any
    magnitude."""
    rng = np.random.default_rng([seed, *name.encode()])
    low, high = USUAL[name]
    usual = rng.uniform(low, high, count // 2)
    small = usual[: count // 8] * 10.0 ** rng.uniform(-12, 0, count // 8)
    edges = np.array(EDGES[LIKE.get(name, name)])
    with np.errstate(over="ignore"):
        near = rng.choice(edges, count // 8) * (1.0 + rng.integers(-40, 40, count // 8) * 2.0**-52)
    parts = [usual, near * rng.choice([-1.0, 1.0], count // 8)]
    if name == "acosh":
        parts.append(1.0 + np.abs(small))
    elif name not in ("log", "pow"):
        parts.append(small)
    if name in ("sin", "cos", "tan"):
        parts.append(rng.integers(1, 2**40, count // 8) * (math.pi / 2))
        parts.append(rng.integers(1, 2**10, count // 8) * (math.pi / 2))
    if name in ALL_BITS:
        parts.append(rng.integers(-(2**63), 2**63, count // 8).view(np.float64))
    if name == "log":
        parts.append(1.0 + rng.uniform(-1, 1, count // 8) * 10.0 ** rng.uniform(-15, 0, count // 8))
    x = np.concatenate(parts)
    y = rng.uniform(-3.0, 3.0, len(x))
    if name == "pow":
        y *= 10.0 ** rng.choice([-3.0, 0.0, 1.0, 2.0], len(x))
        near_one = rng.integers(0, len(x), len(x) // 8)
        x[near_one] = 1.0 + rng.uniform(-1e-6, 1e-6, len(near_one))
        y[near_one] *= 1e6
        y[: len(x) // 16] = np.round(y[: len(x) // 16])
    elif name in TWO:
        scale = np.where(rng.random(len(x)) < 0.5, 10.0 ** rng.uniform(-20, 20, len(x)), 1.0)
        with np.errstate(invalid="ignore"):  # some bit patterns are nan
            y *= np.where(np.isfinite(x) & (np.abs(x) > 1e30), np.abs(x) / 1e3, scale)
    return x, y


def units_off(name: str, values: Array, x: Array, y: Array) -> Array:
    """Distance of values from those of MPFR, in units in the last place: at most 1/2 for correctly rounded ones.

    Infinite if one is a number and the other is not.
    """
    import gmpy2

    function, off = reference(name), np.full(len(x), 0.5)
    arrays = (x.tolist(), y.tolist()) if name in TWO else (x.tolist(),)
    with gmpy2.context(precision=130):
        nearest = np.array(list(map(float, map(function, *arrays))))
        wrong = ~((values == nearest) | (np.isnan(values) & np.isnan(nearest)))
        for k in np.flatnonzero(wrong).tolist():
            exact, found = function(*(array[k] for array in arrays)), float(values[k])
            both = math.isfinite(found) and not gmpy2.is_nan(exact)
            off[k] = float(abs(exact - found) / math.ulp(float(nearest[k]))) if both else math.inf
            if math.isinf(found) and abs(float(nearest[k])) == LARGEST:
                off[k] = float(abs(abs(exact) - 2.0**1023 * gmpy2.mpfr(2)) / math.ulp(LARGEST))
    return off


def units_off_of_many(name: str, values: Array, x: Array, y: Array) -> Array:
    """The same for millions: most values are so close to those of the C library for 64 bits that MPFR is not needed;
    for all others it is.

    MPFR also checks each hundredth value: AssertionError if the library is wrong by more than allowed.
    """
    if np.finfo(np.longdouble).nmant < 63:
        return units_off(name, values, x, y)
    with np.errstate(all="ignore"):
        arrays = (np.longdouble(x), np.longdouble(y)) if name in TWO else (np.longdouble(x),)
        wide = getattr(np, IN_NUMPY.get(name, name))(*arrays)
        off = np.asarray(np.abs(wide - values) / np.spacing(np.abs(wide.astype(np.float64))), dtype=np.float64)
    seen = ~(off <= 0.5 + DOUBT)
    seen[::100] = True
    exact = units_off(name, values[seen], x[seen], y[seen])
    clear = np.isfinite(off[seen]) & np.isfinite(exact)
    assert (np.abs(np.maximum(off[seen], 0.5) - exact)[clear] < DOUBT).all()
    off[seen] = exact
    return off


IN_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power",
}  # fmt: skip
DOUBT = 0.01  # units in the last place: five times the error of the C library
LARGEST = 1.7976931348623157e308
