"""Coefficients of the Runge-Kutta methods, correctly rounded.

They are computed in decimal arithmetic with 80 digits and rounded to float64 at the very end, so no number is copied
from a table. An implicit method is stored in the form of [antonana2017]: with the increments L_j = dt b_j f(Y_j),

    Y_i = z + sum_j mu_ij L_j,      z' = z + sum_i L_i,      mu_ij = a_ij / b_j,

a method is symplectic if and only if mu_ij + mu_ji = 1, which can hold exactly in float64. The usual form
b_i a_ij + b_j a_ji = b_i b_j cannot, and its residual makes the energy drift [hairer2008].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

MOST_STAGES = 16
DIGITS = 80  # the polynomials below lose about 13 of them for 16 stages

Matrix = tuple[tuple[Decimal, ...], ...]


@dataclass(frozen=True, eq=False)
class Collocation:
    """Coefficients of an implicit Runge-Kutta method with distinct nodes.

    Attributes
    ----------
    stages, order : number of stages s and order of the method
    c, b : (s,) float64, nodes and weights, correctly rounded; read-only, as are all arrays here
    mu : (s, s) float64, a_ij / b_j; if the method is symplectic, mu_ij + mu_ji is exactly 1
    extrapolation : (s, s) float64, E_ij = (b_i / b_j) l_j(1 + c_i) with the Lagrange polynomials l_j of the nodes:
        the increments sum_j E_ij L_j continue the polynomial of the last step into the next one of the same length
    exact_a, exact_b, exact_c : the Butcher tableau itself in Decimal, right to at least 60 digits
    """

    stages: int
    order: int
    c: NDArray[np.float64]
    b: NDArray[np.float64]
    mu: NDArray[np.float64]
    extrapolation: NDArray[np.float64]
    exact_a: Matrix
    exact_b: tuple[Decimal, ...]
    exact_c: tuple[Decimal, ...]


@dataclass(frozen=True)
class ExplicitTableau:
    """Butcher tableau of an explicit Runge-Kutta method in exact fractions.

    Attributes
    ----------
    stages, order : number of stages s and order of the method
    a : row i holds the i numbers left of the diagonal
    b, c : weights and nodes
    """

    stages: int
    order: int
    a: tuple[tuple[Fraction, ...], ...]
    b: tuple[Fraction, ...]
    c: tuple[Fraction, ...]


def gauss(stages: int) -> Collocation:
    """Gauss collocation: order 2s, symplectic, symmetric, A-stable.

    Parameters
    ----------
    stages : 1 (the implicit midpoint rule) to 16

    Raises
    ------
    InputError : for any other number of stages

    Examples
    --------
    >>> gauss(2).c
    array([0.21132487, 0.78867513])
    >>> float(gauss(2).mu[0, 1] + gauss(2).mu[1, 0])
    1.0

    References
    ----------
    [gauss1816] for the nodes, [kuntzmann1961] and [butcher1964] for the methods.
    """
    return _gauss(_check(stages, "Gauss"))


def radau_iia(stages: int) -> Collocation:
    """Radau IIA collocation: order 2s - 1, L-stable, the last stage is the end of the step. Not symplectic.

    Parameters
    ----------
    stages : as for `gauss`; 1 is the implicit Euler method

    Examples
    --------
    >>> radau_iia(2).b
    array([0.75, 0.25])

    References
    ----------
    [ehle1969], [axelsson1969]; [hairer1999] for their history and use.
    """
    return _radau_iia(_check(stages, "RadauIIA"))


@cache
def sun_geng() -> Collocation:
    """The symplectic companion of RadauIIA(3): order 5, A-stable, not symmetric.

    With R the matrix of RadauIIA(3), a_ij = (R_ij + b_j - b_j R_ji / b_i) / 2; weights and nodes are those of Radau.

    Examples
    --------
    >>> sun_geng().order
    5

    References
    ----------
    [sun1993]. Beware of copies of the tableau with 169 for 167 in a_12 and a_21: they are not symplectic.
    """
    radau = radau_iia(3)
    b = radau.exact_b
    with localcontext(Context(prec=DIGITS)):
        a = tuple(
            tuple((a_ij + b[j] - b[j] * radau.exact_a[j][i] / b[i]) / 2 for j, a_ij in enumerate(row))
            for i, row in enumerate(radau.exact_a)
        )
        mu = _symplectic(_over_weights(a, b))
    return Collocation(3, 5, radau.c, radau.b, mu, radau.extrapolation, a, b, radau.exact_c)


@cache
def explicit_euler() -> ExplicitTableau:
    """The explicit Euler method, order 1: z' = z + dt f(z)."""
    return ExplicitTableau(1, 1, ((),), (Fraction(1),), (Fraction(0),))


@cache
def rk4() -> ExplicitTableau:
    """The classical Runge-Kutta method, order 4 [kutta1901].

    Examples
    --------
    >>> [str(weight) for weight in rk4().b]
    ['1/6', '1/3', '1/3', '1/6']
    """
    zero, half, one = Fraction(0), Fraction(1, 2), Fraction(1)
    third, sixth = Fraction(1, 3), Fraction(1, 6)
    a = ((), (half,), (zero, half), (zero, zero, one))
    return ExplicitTableau(4, 4, a, (sixth, third, third, sixth), (zero, half, half, one))


def _check(stages: int, name: str) -> int:
    if stages not in range(1, MOST_STAGES + 1):
        raise InputError(
            f"{name} has no tableau with stages = {stages!r}.",
            where=f"{name}(stages)",
            do=f"choose a whole number of stages from 1 to {MOST_STAGES}.",
        )
    return int(stages)


@cache
def _gauss(stages: int) -> Collocation:
    return _collocation(_nodal_polynomial(stages, stages), order=2 * stages, symplectic=True)


@cache
def _radau_iia(stages: int) -> Collocation:
    return _collocation(_nodal_polynomial(stages, stages - 1), order=2 * stages - 1, symplectic=False)


def _nodal_polynomial(stages: int, derivatives: int) -> list[int]:
    """Coefficients, lowest first, of (1/m!) d^m/dx^m [x^m (x - 1)^s] by Rodrigues: m = s Gauss, m = s - 1 Radau IIA."""
    return [(-1) ** (stages - k) * comb(stages, k) * comb(derivatives + k, k) for k in range(stages + 1)]


def _collocation(nodal: Sequence[int], *, order: int, symplectic: bool) -> Collocation:
    """a_ij = integral of l_j from 0 to c_i, b_j = integral of l_j from 0 to 1, l_j the Lagrange polynomials."""
    with localcontext(Context(prec=DIGITS)):
        polynomial = [Decimal(coefficient) for coefficient in nodal]
        c = _roots(polynomial)
        lagrange = [_lagrange(polynomial, node) for node in c]
        integrals = [[Decimal(0), *(l_k / k for k, l_k in enumerate(l, start=1))] for l in lagrange]
        b = tuple(_value(integral, Decimal(1)) for integral in integrals)
        a = tuple(tuple(_value(integral, node) for integral in integrals) for node in c)
        mu = _over_weights(a, b)
        extrapolation = tuple(
            tuple(b_i / b_j * _value(l, 1 + c_i) for l, b_j in zip(lagrange, b, strict=True))
            for c_i, b_i in zip(c, b, strict=True)
        )
        return Collocation(
            stages=len(c),
            order=order,
            c=_round(c),
            b=_round(b),
            mu=_symplectic(mu) if symplectic else _round(mu),
            extrapolation=_round(extrapolation),
            exact_a=a,
            exact_b=b,
            exact_c=c,
        )


def _roots(polynomial: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """All roots, ascending, of a polynomial whose roots are real, simple and in (0, 1].

    Newton's method with the known roots divided out (Maehly), starting to the right of all roots: from there it
    decreases monotonically to the largest remaining root.
    """
    derivative = [k * coefficient for k, coefficient in enumerate(polynomial)][1:]
    enough = Decimal(10) ** (-DIGITS // 2 - 5)  # the next correction would be about the square of this
    roots: list[Decimal] = []
    for _ in derivative:
        x = Decimal("1.01")
        correction = Decimal(1)
        while abs(correction) > enough:
            value = _value(polynomial, x)
            found = sum((1 / (x - root) for root in roots), Decimal(0))
            correction = value / (_value(derivative, x) - value * found)
            x -= correction
        roots.append(x)
    return tuple(reversed(roots))


def _lagrange(polynomial: Sequence[Decimal], node: Decimal) -> list[Decimal]:
    """Coefficients, lowest first, of polynomial / (x - node), scaled to the value 1 at the node."""
    quotient = [polynomial[-1]]
    for coefficient in polynomial[-2:0:-1]:
        quotient.append(coefficient + node * quotient[-1])
    quotient.reverse()
    scale = _value(quotient, node)
    return [coefficient / scale for coefficient in quotient]


def _value(polynomial: Sequence[Decimal], x: Decimal) -> Decimal:
    """Horner's rule, coefficients lowest first."""
    total = Decimal(0)
    for coefficient in reversed(polynomial):
        total = total * x + coefficient
    return total


def _over_weights(a: Matrix, b: Sequence[Decimal]) -> Matrix:
    return tuple(tuple(a_ij / b_j for a_ij, b_j in zip(row, b, strict=True)) for row in a)


def _symplectic(mu: Matrix) -> NDArray[np.float64]:
    """Round so that mu_ij + mu_ji is exactly 1.

    The larger of the pair, which is in [1/2, 2], is rounded; then 1 minus it is exact in float64 (Sterbenz).
    """
    rounded = np.full((len(mu), len(mu)), 0.5)
    for i in range(len(mu)):
        for j in range(i):
            large, small = ((i, j), (j, i)) if mu[i][j] > mu[j][i] else ((j, i), (i, j))
            rounded[large] = float(mu[large[0]][large[1]])
            rounded[small] = 1.0 - rounded[large]
    rounded.flags.writeable = False
    return rounded


def _round(values: Sequence[Decimal] | Sequence[Sequence[Decimal]]) -> NDArray[np.float64]:
    """Correctly rounded (as float(Decimal) is) and read-only, because all callers share the cached arrays."""
    rounded = np.array(values, dtype=np.float64)
    rounded.flags.writeable = False
    return rounded
