"""Runge-Kutta coefficients: order, symplecticity, stability and rounding, each from its definition."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import ROUND_DOWN, Context, Decimal, localcontext
from fractions import Fraction
from math import factorial

import mpmath
import numpy as np
import pytest

from catena.errors import InputError
from catena.methods.runge_kutta import tableaux
from catena.methods.runge_kutta.tableaux import (
    Collocation,
    ExplicitTableau,
    explicit_euler,
    gauss,
    radau_iia,
    rk4,
    sun_geng,
)

GAUSS = [pytest.param(gauss(s), id=f"Gauss({s})") for s in range(1, 17)]
RADAU = [pytest.param(radau_iia(s), id=f"RadauIIA({s})") for s in range(1, 17)]
SUN_GENG = [pytest.param(sun_geng(), id="SunGeng")]
SYMPLECTIC = GAUSS + SUN_GENG
ALL = GAUSS + RADAU + SUN_GENG

ZERO = Decimal("1e-60")  # the tableaux promise 60 digits; a condition of order 32 that fails misses it by 1e-20 or more


@pytest.fixture(autouse=True)
def many_digits():
    with localcontext(Context(prec=100)), mpmath.workdps(100):
        yield


# Butcher's simplifying conditions; each returns its largest defect


def defect_b(tableau: Collocation, k: int) -> Decimal:
    """B: sum_i b_i c_i^(k-1) = 1/k."""
    return abs(sum(b * c ** (k - 1) for b, c in zip(tableau.exact_b, tableau.exact_c, strict=True)) - Decimal(1) / k)


def defect_c(tableau: Collocation, k: int) -> Decimal:
    """C: sum_j a_ij c_j^(k-1) = c_i^k / k."""
    powers = [c ** (k - 1) for c in tableau.exact_c]
    return max(
        abs(sum(a * power for a, power in zip(row, powers, strict=True)) - c**k / k)
        for row, c in zip(tableau.exact_a, tableau.exact_c, strict=True)
    )


def defect_d(tableau: Collocation, k: int) -> Decimal:
    """D: sum_i b_i c_i^(k-1) a_ij = b_j (1 - c_j^k) / k."""
    weights = [b * c ** (k - 1) for b, c in zip(tableau.exact_b, tableau.exact_c, strict=True)]
    columns = zip(*tableau.exact_a, strict=True)
    return max(
        abs(sum(w * a for w, a in zip(weights, column, strict=True)) - b * (1 - c**k) / k)
        for column, b, c in zip(columns, tableau.exact_b, tableau.exact_c, strict=True)
    )


def highest(defect, tableau: Collocation) -> int:
    """The largest n such that the condition holds for k = 1..n."""
    k = 1
    while defect(tableau, k) < ZERO:
        k += 1
    return k - 1


def order_of(tableau: Collocation) -> int:
    """Butcher's theorem: B(p), C(q), D(r) give the order min(p, q + r + 1, 2 q + 2)."""
    p, q, r = (highest(defect, tableau) for defect in (defect_b, defect_c, defect_d))
    return min(p, q + r + 1, 2 * q + 2)


def symplectic_defect(tableau: Collocation) -> Decimal:
    """b_i a_ij + b_j a_ji - b_i b_j."""
    a, b, stages = tableau.exact_a, tableau.exact_b, range(tableau.stages)
    return max(abs(b[i] * a[i][j] + b[j] * a[j][i] - b[i] * b[j]) for i in stages for j in stages)


def is_exactly_symplectic(mu: np.ndarray) -> bool:
    """mu_ij + mu_ji = 1 for the float64 numbers themselves, in rational arithmetic."""
    n = len(mu)
    return all(Fraction(mu[i, j]) + Fraction(mu[j, i]) == 1 for i in range(n) for j in range(n))


def stability(a, b, z):
    """R(z) = det(I - z A + z 1 b^T) / det(I - z A)."""
    n = len(b)
    below = mpmath.matrix([[(i == j) - z * mpmath.mpmathify(str(a[i][j])) for j in range(n)] for i in range(n)])
    above = mpmath.matrix([[below[i, j] + z * mpmath.mpmathify(str(b[j])) for j in range(n)] for i in range(n)])
    return mpmath.det(above) / mpmath.det(below)


def pade(numerator: int, denominator: int, z):
    """The Pade approximant of exp."""
    coefficients = [1 / mpmath.factorial(k) for k in range(numerator + denominator + 1)]
    p, q = mpmath.pade(coefficients, numerator, denominator)
    return mpmath.polyval(p[::-1], z) / mpmath.polyval(q[::-1], z)


def sun_geng_with(number: int) -> Collocation:
    """The printed tableau (r = sqrt 6), with the number that some copies get wrong."""
    r = Decimal(6).sqrt()
    a = (
        ((16 - r) / 72, (328 - number * r) / 1800, (-2 + 3 * r) / 450),
        ((328 + number * r) / 1800, (16 + r) / 72, (-2 - 3 * r) / 450),
        ((85 - 10 * r) / 180, (85 + 10 * r) / 180, Decimal(1) / 18),
    )
    return replace(sun_geng(), exact_a=a)


# Order


@pytest.mark.parametrize("tableau", ALL)
def test_the_declared_order_is_the_one_of_the_simplifying_conditions(tableau):
    """B(order + 1) fails, so the order is not higher either."""
    assert order_of(tableau) == tableau.order
    assert defect_b(tableau, tableau.order + 1) > ZERO


@pytest.mark.parametrize("tableau", GAUSS)
def test_gauss_fulfils_b_of_2s_and_c_and_d_of_s_and_no_more(tableau):
    s = tableau.stages
    assert [highest(defect, tableau) for defect in (defect_b, defect_c, defect_d)] == [2 * s, s, s]


@pytest.mark.parametrize("tableau", GAUSS)
def test_the_first_moment_gauss_misses_is_missed_by_the_known_amount(tableau):
    """The error of Gauss quadrature of x^(2s) on [0, 1] is (s!)^4 / ((2s + 1) ((2s)!)^2)."""
    s = tableau.stages
    known = Decimal(factorial(s)) ** 4 / ((2 * s + 1) * Decimal(factorial(2 * s)) ** 2)
    assert abs(defect_b(tableau, 2 * s + 1) - known) < ZERO


@pytest.mark.parametrize("tableau", RADAU)
def test_radau_iia_fulfils_b_of_2s_minus_1_c_of_s_d_of_s_minus_1_and_no_more(tableau):
    s = tableau.stages
    assert [highest(defect, tableau) for defect in (defect_b, defect_c, defect_d)] == [2 * s - 1, s, s - 1]


def test_sun_geng_fulfils_b5_c2_d2_and_no_more():
    assert [highest(defect, sun_geng()) for defect in (defect_b, defect_c, defect_d)] == [5, 2, 2]


@pytest.mark.parametrize("tableau", [gauss(2), gauss(16), radau_iia(3), sun_geng()])
def test_an_error_in_the_55th_digit_is_seen_by_the_order_check(tableau):
    first = (tableau.exact_a[0][0] + Decimal("1e-55"), *tableau.exact_a[0][1:])
    wrong = replace(tableau, exact_a=(first, *tableau.exact_a[1:]))
    assert order_of(wrong) < tableau.order
    b = (tableau.exact_b[0] + Decimal("1e-55"), *tableau.exact_b[1:])
    assert order_of(replace(tableau, exact_b=b)) == 0


# The numbers, from other sources than the code's


@pytest.mark.parametrize("tableau", GAUSS)
def test_gauss_nodes_and_weights_are_those_of_legendre(tableau):
    """P_s(x) = 0 and w = 2 / ((1 - x^2) P_s'(x)^2) on [-1, 1]; a node is off by P_s(x) / P_s'(x)."""
    s = tableau.stages
    for c, b in zip(tableau.exact_c, tableau.exact_b, strict=True):
        x = 2 * mpmath.mpf(str(c)) - 1
        slope = s * (mpmath.legendre(s - 1, x) - x * mpmath.legendre(s, x)) / (1 - x * x)
        assert abs(mpmath.legendre(s, x) / slope) < mpmath.mpf("1e-60")
        assert abs(mpmath.mpf(str(b)) - 1 / ((1 - x * x) * slope**2)) < mpmath.mpf("1e-60")
    assert list(tableau.exact_c) == sorted(set(tableau.exact_c))


def test_printed_closed_forms_of_gauss_2_and_3():
    r3, r15 = Decimal(3).sqrt(), Decimal(15).sqrt()
    quarter = Decimal(1) / 4
    two = ((quarter, quarter - r3 / 6), (quarter + r3 / 6, quarter))
    three = (
        (Decimal(5) / 36, Decimal(2) / 9 - r15 / 15, Decimal(5) / 36 - r15 / 30),
        (Decimal(5) / 36 + r15 / 24, Decimal(2) / 9, Decimal(5) / 36 - r15 / 24),
        (Decimal(5) / 36 + r15 / 30, Decimal(2) / 9 + r15 / 15, Decimal(5) / 36),
    )
    assert largest_difference(gauss(2).exact_a, two) < ZERO
    assert largest_difference(gauss(3).exact_a, three) < ZERO


def test_printed_closed_forms_of_radau_iia_2_and_3():
    r = Decimal(6).sqrt()
    two = ((Decimal(5) / 12, Decimal(-1) / 12), (Decimal(3) / 4, Decimal(1) / 4))
    three = (
        ((88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225),
        ((296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225),
        ((16 - r) / 36, (16 + r) / 36, Decimal(1) / 9),
    )
    assert largest_difference(radau_iia(2).exact_a, two) < ZERO
    assert largest_difference(radau_iia(3).exact_a, three) < ZERO
    assert largest_difference([radau_iia(3).exact_c], [((4 - r) / 10, (4 + r) / 10, Decimal(1))]) < ZERO


def test_printed_closed_form_of_sun_geng():
    assert largest_difference(sun_geng().exact_a, sun_geng_with(167).exact_a) < ZERO
    assert sun_geng().exact_b == radau_iia(3).exact_b
    assert sun_geng().exact_c == radau_iia(3).exact_c


@pytest.mark.parametrize("tableau", RADAU)
def test_the_last_stage_of_radau_iia_is_the_end_of_the_step(tableau):
    assert tableau.c[-1] == 1.0
    assert np.all(tableau.mu[-1] == 1.0)


def largest_difference(ours, printed) -> Decimal:
    return max(abs(x - y) for row, other in zip(ours, printed, strict=True) for x, y in zip(row, other, strict=True))


# Symplecticity


@pytest.mark.parametrize("tableau", SYMPLECTIC)
def test_the_rounded_coefficients_are_exactly_symplectic(tableau):
    assert symplectic_defect(tableau) < ZERO
    assert is_exactly_symplectic(tableau.mu)


@pytest.mark.parametrize("tableau", SYMPLECTIC)
def test_the_symplectic_rounding_is_off_by_at_most_half_an_ulp_of_the_larger_number(tableau):
    """The larger number lies below 1.2, where half an ulp is 1.11e-16; the smaller one inherits its error."""
    errors = [
        abs(Decimal(float(tableau.mu[i, j])) - tableau.exact_a[i][j] / tableau.exact_b[j])
        for i in range(tableau.stages)
        for j in range(tableau.stages)
    ]
    assert max(errors) <= Decimal("1.12e-16")


@pytest.mark.parametrize("tableau", RADAU)
def test_radau_iia_is_not_symplectic(tableau):
    """Stiffly accurate with b_s = 1/s^2, so the last diagonal defect alone is 2 b_s a_ss - b_s^2 = 1/s^4."""
    assert symplectic_defect(tableau) > 1 / Decimal(tableau.stages) ** 4 - ZERO
    assert not is_exactly_symplectic(tableau.mu)


@pytest.mark.parametrize("stages", range(2, 17))
def test_plain_rounding_is_seen_not_to_be_symplectic(stages):
    """Why the rounding takes care: a_ij and b_j rounded each for itself, then divided."""
    exact = gauss(stages)
    a = np.array(exact.exact_a, dtype=float)
    assert not is_exactly_symplectic(a / exact.b)


def test_169_for_167_in_sun_geng_is_seen():
    assert order_of(sun_geng_with(169)) < 5
    assert symplectic_defect(sun_geng_with(169)) > Decimal("1e-4")
    assert symplectic_defect(sun_geng_with(167)) < ZERO


# Stability


@pytest.mark.parametrize(
    ("tableau", "modulus"),
    [(radau_iia(2), "0.98772960"), (radau_iia(3), "0.99986931")],
)
def test_radau_iia_damps_the_oscillator_by_the_known_factor(tableau, modulus):
    """|R(i)| to the eight printed digits."""
    assert abs(abs(stability(tableau.exact_a, tableau.exact_b, 1j)) - mpmath.mpf(modulus)) < mpmath.mpf("5e-9")


@pytest.mark.parametrize("tableau", SYMPLECTIC)
def test_symplectic_methods_keep_the_amplitude_of_the_oscillator(tableau):
    for y in (1, 10, 1000):
        assert abs(abs(stability(tableau.exact_a, tableau.exact_b, 1j * y)) - 1) < mpmath.mpf("1e-50")


@pytest.mark.parametrize("tableau", ALL)
def test_the_stability_function_is_the_pade_approximant_that_makes_the_method_a_stable(tableau):
    """Diagonal (s, s) for the symplectic ones, SunGeng being the same as Gauss(3); (s - 1, s) for Radau IIA [ehle1969].

    Solving for the Pade coefficients of exp with 16 stages loses about 40 of the 100 digits.
    """
    s = tableau.stages
    numerator = s if symplectic_defect(tableau) < ZERO else s - 1
    for z in (mpmath.mpc(-2, 1), mpmath.mpc("0.5", 3), mpmath.mpf(-7)):
        assert abs(stability(tableau.exact_a, tableau.exact_b, z) - pade(numerator, s, z)) < mpmath.mpf("1e-50")


# Rounding and what follows from it


@pytest.mark.parametrize("tableau", ALL)
def test_nodes_weights_and_extrapolation_are_correctly_rounded(tableau):
    """Within half an ulp; extrapolation against the product form of the Lagrange polynomials."""
    c, b, stages = tableau.exact_c, tableau.exact_b, range(tableau.stages)
    assert_correctly_rounded(tableau.c, c)
    assert_correctly_rounded(tableau.b, b)
    for i in stages:
        exact = []
        for j in stages:
            value = b[i] / b[j]
            for m in stages:
                if m != j:
                    value *= (1 + c[i] - c[m]) / (c[j] - c[m])
            exact.append(value)
        assert_correctly_rounded(tableau.extrapolation[i], exact)


@pytest.mark.parametrize("tableau", RADAU)
def test_radau_mu_is_correctly_rounded(tableau):
    for rounded, row in zip(tableau.mu, tableau.exact_a, strict=True):
        assert_correctly_rounded(rounded, [a / b for a, b in zip(row, tableau.exact_b, strict=True)])


def assert_correctly_rounded(rounded, exact):
    for number, value in zip(rounded, exact, strict=True):
        assert abs(Decimal(float(number)) - value) <= Decimal(float(np.spacing(abs(number)))) / 2


@pytest.mark.parametrize("tableau", ALL)
def test_the_rounded_stages_lie_at_the_nodes(tableau):
    """sum_j mu_ij b_j = c_i and sum_j b_j = 1 in exact arithmetic with the rounded numbers, to one ulp of 1."""
    b = [Fraction(float(weight)) for weight in tableau.b]
    for row, c in zip(tableau.mu, tableau.exact_c, strict=True):
        total = sum((Fraction(float(mu)) * weight for mu, weight in zip(row, b, strict=True)), Fraction(0))
        assert abs(total - Fraction(c)) <= Fraction(float(np.spacing(1.0)))
    assert abs(sum(b) - 1) <= Fraction(float(np.spacing(0.5)))


@pytest.mark.parametrize("tableau", [gauss(2), gauss(6), radau_iia(3), sun_geng()])
def test_extrapolation_continues_a_polynomial_field_into_the_next_step(tableau):
    """f(t) = t^(s-1) - 3 is continued to 1 + c_i; round-off of a sum with terms up to max |E|."""
    field = lambda t: t ** (tableau.stages - 1) - 3  # noqa: E731
    continued = tableau.extrapolation @ (tableau.b * field(tableau.c))
    expected = tableau.b * field(1 + tableau.c)
    scale = np.abs(tableau.extrapolation).max() * np.abs(tableau.b * field(tableau.c)).sum()
    assert np.abs(continued - expected).max() < 4 * np.finfo(float).eps * scale


# Explicit methods


def order_conditions(tableau: ExplicitTableau) -> dict[int, list[Fraction]]:
    """Defects of the conditions of the rooted trees with 1..5 nodes (of the 9 with 5: the bushy and the tall one)."""
    s = range(tableau.stages)
    a = [[*row, *[Fraction(0)] * (tableau.stages - len(row))] for row in tableau.a]
    b, c = tableau.b, tableau.c
    through = lambda v: [sum((a[i][j] * v[j] for j in s), Fraction(0)) for i in s]  # noqa: E731
    total = lambda v, value: sum((b[i] * v[i] for i in s), Fraction(0)) - value  # noqa: E731
    one = [Fraction(1) for _ in s]
    square, ac = [x * x for x in c], through(c)
    return {
        1: [total(one, 1), *(x - y for x, y in zip(through(one), c, strict=True))],
        2: [total(c, Fraction(1, 2))],
        3: [total(square, Fraction(1, 3)), total(ac, Fraction(1, 6))],
        4: [
            total([x**3 for x in c], Fraction(1, 4)),
            total([c[i] * ac[i] for i in s], Fraction(1, 8)),
            total(through(square), Fraction(1, 12)),
            total(through(ac), Fraction(1, 24)),
        ],
        5: [total([x**4 for x in c], Fraction(1, 5)), total(through(through(ac)), Fraction(1, 120))],
    }


def explicit_order(tableau: ExplicitTableau) -> int:
    conditions = order_conditions(tableau)
    return next(p for p in range(5) if any(conditions[p + 1]))


@pytest.mark.parametrize("tableau", [explicit_euler(), rk4()], ids=["ExplicitEuler", "RK4"])
def test_explicit_methods_have_exactly_the_declared_order(tableau):
    assert explicit_order(tableau) == tableau.order
    assert [len(row) for row in tableau.a] == list(range(tableau.stages))
    assert len(tableau.b) == len(tableau.c) == tableau.stages


def test_a_wrong_weight_of_rk4_is_seen():
    sixth, third = Fraction(1, 6), Fraction(1, 3)
    assert explicit_order(replace(rk4(), b=(sixth, third, sixth, third))) < 4


def test_rk4_damps_the_oscillator_by_the_known_factor():
    """R(z) is the Taylor polynomial, so |R(i)|^2 = (1 - 1/2 + 1/24)^2 + (1 - 1/6)^2; 0.99390504 is printed."""
    a = [[*map(to_decimal, row), *[Decimal(0)] * (4 - len(row))] for row in rk4().a]
    modulus = abs(stability(a, [to_decimal(weight) for weight in rk4().b], 1j))
    assert abs(modulus - mpmath.sqrt(mpmath.mpf(13) ** 2 / 24**2 + mpmath.mpf(5) ** 2 / 36)) < mpmath.mpf("1e-90")
    assert abs(modulus - mpmath.mpf("0.99390504")) < mpmath.mpf("5e-9")


def to_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator


# Use


@pytest.mark.parametrize("make", [gauss, radau_iia])
@pytest.mark.parametrize("stages", [0, 17, -1, 2.5, "3", None])
def test_another_number_of_stages_is_an_input_error_that_names_it(make, stages):
    with pytest.raises(InputError) as error:
        make(stages)
    assert repr(stages) in str(error.value)
    assert "1 to 16" in error.value.do
    assert str(error.value).count("\n") <= 3


def test_tableaux_are_shared_and_cannot_be_changed():
    assert gauss(3) is gauss(3)
    for array in (gauss(3).b, gauss(3).c, gauss(3).mu, gauss(3).extrapolation, radau_iia(2).mu, sun_geng().mu):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_the_decimal_context_of_the_caller_neither_matters_nor_changes():
    with localcontext(Context(prec=7, rounding=ROUND_DOWN)) as context:
        fresh = tableaux._gauss.__wrapped__(5)
        assert context.prec == 7
        assert context.rounding == ROUND_DOWN
    assert fresh.exact_a == gauss(5).exact_a
    assert np.array_equal(fresh.mu, gauss(5).mu)


@pytest.mark.parametrize(("stages", "milliseconds"), [(3, 3), (16, 50)])
def test_a_tableau_is_computed_in_no_noticeable_time(stages, milliseconds):
    """CPU time, best of 5; measured 0.3 and 7 ms."""
    times = []
    for _ in range(5):
        start = time.process_time()
        tableaux._gauss.__wrapped__(stages)
        times.append(time.process_time() - start)
    assert 1000 * min(times) < milliseconds
