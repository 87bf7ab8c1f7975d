"""Coefficients of the preprocessed discrete Moser-Veselov method, orders 4 to 12.

The method steps with modified moments 1/It_j = a_j (1 + s) + t, a_j = 1/I_j, where

    s = sum_k h^(2k) sum_m s_(2k+1)[m] H^(k-m) C^m,      k = 1 .. order/2 - 1,

and t similarly; H is the energy, C = |y|^2/2, and e1, e2, e3 are the elementary symmetric functions of a_1, a_2, a_3.
The coefficients up to s7, t7 are those of [hairer2006vilmart], the others continue them: with the exact relative
rotation rho(h), e = rho_v/rho_0 and Y = y0 + e (e.y0) - e x y0, the quotients 2 e_j/(h Y_j) are series in h^2 whose
coefficients have the form s a_j + t. A test derives them again.

The kernels use other variables, because these cancel for needles: with one a_j large and no energy in it, the terms of
s have the size (a_j h^2 H)^k, their sum h^2 H. With r the inverse of the middle moment, d_j = a_j - r and
H' = H - r C = sum d_j y_j^2/2, the coefficients of H'^(k-m) C^m are polynomials in r, f1 = sum d_j and f2, the product
of the two d_j that are not 0. These do not cancel.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError

HIGHEST_ORDER = 12
LARGEST_POWER = 1000  # binary exponent: beyond it products of inverse moments leave the range of doubles
AT_ONCE = 4096  # bodies: all terms of one take up to 13 kB

TABLE = """
s3[0] = -1/3 e1
s3[1] = +1/6 e2
t3[0] = +1/6 e2
t3[1] = -1/3 e3
s5[0] = +1/30 e1^2 -1/60 e2
s5[1] = -1/30 e1 e2 +2/15 e3
s5[2] = +1/30 e2^2 -1/10 e1 e3
t5[0] = -1/60 e1 e2 -1/10 e3
t5[1] = -1/60 e2^2 +2/15 e1 e3
t5[2] = -1/60 e2 e3
s7[0] = -1/630 e1^3 +1/630 e1 e2 +1/35 e3
s7[1] = +1/420 e1^2 e2 +41/2520 e2^2 -53/630 e1 e3
s7[2] = -1/70 e1 e2^2 +11/210 e1^2 e3 -1/84 e2 e3
s7[3] = +17/2520 e2^3 -11/420 e1 e2 e3 +5/126 e3^2
t7[0] = +1/1260 e1^2 e2 -13/1260 e2^2 +1/42 e1 e3
t7[1] = +13/2520 e1 e2^2 -8/315 e1^2 e3 +11/252 e2 e3
t7[2] = +1/1260 e2^3 -1/1260 e1 e2 e3 -22/315 e3^2
t7[3] = -19/2520 e2^2 e3 +1/35 e1 e3^2
s9[0] = +1/22680 e1^4 -1/15120 e1^2 e2 +17/5040 e2^2 -3/280 e1 e3
s9[1] = -1/11340 e1^3 e2 -11/1890 e1 e2^2 +23/945 e1^2 e3 -23/1260 e2 e3
s9[2] = +13/3780 e1^2 e2^2 +1/2520 e2^3 -17/1260 e1^3 e3 +1/252 e1 e2 e3 +53/1260 e3^2
s9[3] = -11/3240 e1 e2^3 +17/1260 e1^2 e2 e3 +47/7560 e2^2 e3 -47/945 e1 e3^2
s9[4] = +31/22680 e2^4 -19/2520 e1 e2^2 e3 +1/120 e1^2 e3^2 +97/15120 e2 e3^2
t9[0] = -1/45360 e1^3 e2 -1/7560 e1 e2^2 -1/360 e1^2 e3 +17/1680 e2 e3
t9[1] = -1/1512 e1^2 e2^2 +97/22680 e2^3 +8/2835 e1^3 e3 -23/1890 e1 e2 e3 -1/35 e3^2
t9[2] = -1/1512 e1 e2^3 +19/7560 e1^2 e2 e3 -19/1080 e2^2 e3 +89/1890 e1 e3^2
t9[3] = -1/45360 e2^4 +37/7560 e1 e2^2 e3 -2/105 e1^2 e3^2 +19/1260 e2 e3^2
t9[4] = -61/45360 e2^3 e3 +3/560 e1 e2 e3^2 -61/4536 e3^3
s11[0] = -1/1247400 e1^5 +1/623700 e1^3 e2 -13/39600 e1 e2^2 +31/15400 e1^2 e3 -283/92400 e2 e3
s11[1] = +1/498960 e1^4 e2 +1747/1663200 e1^2 e2^2 -7339/4989600 e2^3 -5281/1247400 e1^3 e3 +1741/277200 e1 e2 e3 +551/46200 e3^2
s11[2] = -347/623700 e1^3 e2^2 -1/13860 e1 e2^3 +461/207900 e1^4 e3 -107/138600 e1^2 e2 e3 +3827/415800 e2^2 e3 -2323/69300 e1 e3^2
s11[3] = +2077/2494800 e1^2 e2^3 +2759/4989600 e2^4 -461/138600 e1^3 e2 e3 -467/59400 e1 e2^2 e3 +173/5940 e1^2 e3^2 -547/59400 e2 e3^2
s11[4] = -1037/1247400 e1 e2^4 +691/138600 e1^2 e2^2 e3 +1747/2494800 e2^3 e3 -307/46200 e1^3 e3^2 -2531/415800 e1 e2 e3^2 +85/6237 e3^3
s11[5] = +691/2494800 e2^5 -403/207900 e1 e2^3 e3 +307/92400 e1^2 e2 e3^2 +527/237600 e2^2 e3^2 -37/5544 e1 e3^3
t11[0] = +1/2494800 e1^4 e2 -37/166320 e1^2 e2^2 +241/277200 e2^3 +17/83160 e1^3 e3 -79/92400 e1 e2 e3 -13/3850 e3^2
t11[1] = +251/4989600 e1^3 e2^2 -43/277200 e1 e2^3 -32/155925 e1^4 e3 +2033/831600 e1^2 e2 e3 -1073/110880 e2^2 e3 +293/23100 e1 e3^2
t11[2] = +73/415800 e1^2 e2^3 -73/83160 e2^4 -871/1247400 e1^3 e2 e3 +1297/207900 e1 e2^2 e3 -122/7425 e1^2 e3^2 +2977/138600 e2 e3^2
t11[3] = +251/4989600 e1 e2^4 -293/166320 e1^2 e2^2 e3 +1037/415800 e2^3 e3 +12/1925 e1^3 e3^2 -383/41580 e1 e2 e3^2 -1537/69300 e3^3
t11[4] = +1/2494800 e2^5 +259/356400 e1 e2^3 e3 -269/92400 e1^2 e2 e3^2 -691/166320 e2^2 e3^2 +7883/415800 e1 e3^3
t11[5] = -173/623700 e2^4 e3 +317/184800 e1 e2^2 e3^2 -2/825 e1^2 e3^3 -109/166320 e2 e3^3
"""

Monomial = tuple[Fraction, int, int, int]
Polynomial = dict[tuple[int, int, int], int]


@cache
def polynomials() -> dict[tuple[str, int, int], tuple[Monomial, ...]]:
    """(letter, k, m) -> monomials (factor, powers of e1, e2, e3) of s_(2k+1)[m] or t_(2k+1)[m]."""
    found = {}
    for line in TABLE.strip().splitlines():
        name, right = line.split(" = ")
        letter, rest = name[0], name[1:]
        index, m = rest.rstrip("]").split("[")
        monomials: list[tuple[Fraction, list[int]]] = []
        for word in right.split():
            if word[0] in "+-":
                monomials.append((Fraction(word), [0, 0, 0]))
            else:
                symbol, _, power = word.partition("^")
                monomials[-1][1][int(symbol[1]) - 1] += int(power or 1)
        found[letter, (int(index) - 1) // 2, int(m)] = tuple((f, a, b, c) for f, (a, b, c) in monomials)
    return found


# The elementary symmetric functions of r + d_j: powers of r, f1, f2 -> factor.
SYMMETRIC: tuple[Polynomial, ...] = (
    {(1, 0, 0): 3, (0, 1, 0): 1},
    {(2, 0, 0): 3, (1, 1, 0): 2, (0, 0, 1): 1},
    {(3, 0, 0): 1, (2, 1, 0): 1, (1, 0, 1): 1},
)


@cache
def _symmetric_power(*powers: int) -> Polynomial:
    """e1^i e2^j e3^l in r, f1, f2."""
    which = next((n for n in range(3) if powers[n] > 0), None)
    if which is None:
        return {(0, 0, 0): 1}
    product: Polynomial = {}
    for (i, j, l), f in _symmetric_power(*(p - (n == which) for n, p in enumerate(powers))).items():
        for (a, b, c), g in SYMMETRIC[which].items():
            product[i + a, j + b, l + c] = product.get((i + a, j + b, l + c), 0) + f * g
    return product


def shifted_polynomial(letter: str, k: int, m: int) -> tuple[Monomial, ...]:
    """Monomials (factor, powers of r, f1, f2) of the coefficient of H'^(k-m) C^m in s or t, from H = H' + r C."""
    total: dict[tuple[int, int, int], Fraction] = {}
    for n in range(m + 1):
        for factor, *powers in polynomials()[letter, k, n]:
            for (i, j, l), g in _symmetric_power(*powers).items():
                place = (i + m - n, j, l)
                total[place] = total.get(place, Fraction(0)) + factor * (comb(k - n, m - n) * g)
    return tuple((value, i, j, l) for (i, j, l), value in sorted(total.items()) if value != 0)


@cache
def padded_monomials(order: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The terms that `coefficients` sums, padded with factors 0.

    Factors (values, terms) and powers of r, f1, f2 (3, values, terms).
    """
    sums = [shifted_polynomial(letter, k, m) for letter in "st" for k in range(1, order // 2) for m in range(k + 1)]
    factors = np.zeros((len(sums), max(map(len, sums))))
    powers = np.zeros((3, *factors.shape), dtype=np.int64)
    for row, terms in enumerate(sums):
        for column, (factor, *exponents) in enumerate(terms):
            factors[row, column], powers[:, row, column] = float(factor), exponents
    return factors, powers


def coefficients(moments: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """The middle moment, then the coefficients of H'^(k-m) C^m in s and in t, k = 1 .. order/2 - 1, m = 0 .. k.

    For a body with these moments, or for many of them, (bodies, 3).
    """
    i = np.asarray(moments, dtype=float)
    if i.ndim > 1 and len(i) > AT_ONCE:
        return np.concatenate([coefficients(i[k : k + AT_ONCE], order) for k in range(0, len(i), AT_ONCE)])
    _require_range(i, order)
    middle = np.sort(i, axis=-1)[..., 1:2]
    d = (middle - i) / (middle * i)
    r, f1 = 1.0 / middle[..., 0], d.sum(axis=-1)
    f2 = d[..., 0] * d[..., 1] + d[..., 1] * d[..., 2] + d[..., 2] * d[..., 0]  # two of the products are 0
    factors, powers = padded_monomials(order)
    terms = factors.reshape(*factors.shape, *(1,) * r.ndim)
    for base, exponents in zip((r, f1, f2), powers, strict=True):
        # by repeated multiplication: numpy's power has other bits for arrays, and on other processors
        table = np.ones((order, *r.shape))
        table[1:] = base
        with np.errstate(over="ignore"):  # in powers that no term uses
            powers_of_base = np.multiply.accumulate(table)
        terms = terms * powers_of_base[exponents]
    values = np.zeros((len(factors), *r.shape))
    for column in range(factors.shape[1]):  # in this order, which is part of the bits of a sum
        values += terms[:, column]
    return np.ascontiguousarray(np.concatenate([middle, np.moveaxis(values, 0, -1)], axis=-1))


def has_powers(moments: NDArray[np.float64], order: int) -> bool:
    """Whether the powers of moments that this order uses are within the range of doubles."""
    size = np.abs(np.log2(moments[moments > 0.0]))
    return bool(size.max(initial=0.0) * (order - 1) <= LARGEST_POWER)


def _require_range(moments: NDArray[np.float64], order: int) -> None:
    """CapabilityError if powers of the moments overflow, or are so small that terms would silently vanish."""
    there = moments[moments > 0.0]
    if not has_powers(moments, order):
        farthest = there[np.argmax(np.abs(np.log2(there)))]
        raise CapabilityError(
            f"DMV({order}) takes powers of moments of inertia up to {order - 1}, too many for one of {farthest:.3g}",
            do='choose units in which they are nearer to 1, or another rotor: Jacobi(), DMV("exact")',
        )  # fmt: skip
