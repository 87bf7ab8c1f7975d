"""Composition and Runge-Kutta-Nystrom weights: order, symmetry, rounding and sources."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import factorial
from pathlib import Path

import mpmath
import numpy as np
import pytest

import catena
from catena.methods.splitting.schemes import COMMUTATOR, NYSTROM, SCHEMES, palindrome

COMPOSITIONS = [pytest.param(scheme, id=name) for name, scheme in SCHEMES.items()]
SPLITTINGS = [pytest.param(splitting, id=name) for name, splitting in NYSTROM.items()]

KNOWN = Fraction(1, 10**24)  # Kahan & Li print 26 digits; their rounding errors add up to 1e-25
REFERENCES = Path(catena.__file__).with_name("references.bib")


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(60):
        yield


# Order conditions of compositions


def power_sum_defect(weights: Sequence[Fraction], order: int) -> Fraction:
    """sum g = 1 and sum g^3 = sum g^5 = ... = 0 for the odd powers below the order."""
    return max(abs(sum(g**k for g in weights) - (k == 1)) for k in range(1, order, 2))


def order_defect(weights: Sequence[Fraction], order: int) -> Fraction:
    """Largest defect of all order conditions of a symmetric composition, in exact arithmetic.

    The base is exp(h Y1 + h^3 Y3 + h^5 Y5 + ...) with non-commuting Y. The product of its copies is expanded in the
    words of the letters 1, 3, 5, 7 and compared with exp(h Y1): 1/k! for the word of k ones, 0 for any other.
    """
    product = {(): Fraction(1)}
    for g in weights:
        product = multiplied(product, base(g, order), order)
    exact = {(1,) * k: Fraction(1, factorial(k)) for k in range(order + 1)}
    return max(abs(product.get(word, 0) - exact.get(word, 0)) for word in product.keys() | exact.keys())


def base(g: Fraction, order: int) -> dict[tuple[int, ...], Fraction]:
    exponent = {(k,): g**k for k in range(1, order + 1, 2)}
    term = total = {(): Fraction(1)}
    for k in range(1, order + 1):
        term = {word: value / k for word, value in multiplied(term, exponent, order).items()}
        total = {word: total.get(word, 0) + term.get(word, 0) for word in total.keys() | term.keys()}
    return total


def multiplied(left: dict, right: dict, order: int) -> dict:
    product: dict[tuple[int, ...], Fraction] = {}
    for word, value in left.items():
        for other, factor in right.items():
            if sum(word) + sum(other) <= order:
                product[word + other] = product.get(word + other, Fraction(0)) + value * factor
    return product


@pytest.mark.parametrize("scheme", COMPOSITIONS)
def test_every_order_condition_holds_and_the_next_ones_do_not(scheme):
    """A symmetric method has even order, so it is those of order + 1 that fail: by 8e-4 (Kahan & Li, 8) to 14."""
    assert order_defect(scheme.exact_weights, scheme.order) < KNOWN
    assert order_defect(scheme.exact_weights, scheme.order + 1) > Fraction(1, 2000)


@pytest.mark.parametrize("scheme", COMPOSITIONS)
def test_the_power_sums_vanish(scheme):
    assert power_sum_defect(scheme.exact_weights, scheme.order) < KNOWN


@pytest.mark.parametrize("scheme", COMPOSITIONS)
def test_the_composition_of_matrix_exponentials_has_the_declared_order(scheme):
    """Non-commuting 4 x 4 matrices in 60 digits; measured within 0.006 of the order."""
    assert matrix_order(scheme.exact_weights) == pytest.approx(scheme.order, abs=0.02)


def matrix_order(weights: Sequence[Fraction]) -> float:
    """Slope of the error of one step against exp(h (A + B)), h = 1/128 and 1/256, less one."""
    coarse, fine = (matrix_error(weights, mpmath.mpf(1) / n) for n in (128, 256))
    return float(mpmath.log(coarse / fine, 2)) - 1


def matrix_error(weights: Sequence[Fraction], h):
    a, b = matrices()
    product = mpmath.eye(4)
    for g in weights:
        length = h * exact(g)
        half = exponential(length / 2 * a)
        product = half * exponential(length * b) * half * product
    return mpmath.mnorm(product - exponential(h * (a + b)), mpmath.inf)


@cache
def matrices():
    random = np.random.default_rng(5)
    return tuple(mpmath.matrix(random.integers(-9, 10, (4, 4)).tolist()) / 10 for _ in range(2))


def exponential(matrix):
    """Taylor series; norm below 0.3 here, so 40 terms leave 0.3^40 / 40! < 1e-68."""
    assert mpmath.mnorm(matrix, mpmath.inf) < 0.3
    term = total = mpmath.eye(4)
    for k in range(1, 40):
        term = term * matrix / k
        total = total + term
    return total


def exact(number: Fraction):
    return mpmath.mpf(number.numerator) / number.denominator


# Numbers printed but not stored


@pytest.mark.parametrize(
    ("name", "stages", "middle"),
    [
        ("yoshida6", 7, "1.31518632068391121888424972824"),
        ("kahanli6", 9, "0.79854399093482996339895035"),
        ("yoshida8", 15, "1.70845307078728158466837936223"),
        ("suzukiumeno8", 15, "-0.796887939352916354019788840174"),
        ("kahanli8", 17, "-0.60550853383003451169892108"),
    ],
)
def test_the_middle_weight_is_the_printed_one(name, stages, middle):
    """Up to the rounding of the printed numbers, half a unit in the last place of each."""
    weights = SCHEMES[name].exact_weights
    places = len(middle.partition(".")[2])
    assert len(weights) == stages
    assert abs(weights[stages // 2] - Fraction(middle)) <= Fraction(stages, 2) / 10**places


def test_the_closed_forms_of_yoshida4_and_suzuki4():
    """2 g^3 + (1 - 2g)^3 = 0 and 4 g^3 + (1 - 4g)^3 = 0, solved by another route: (1 - ng)/g = -n^(1/3)."""
    for name, n in (("yoshida4", 2), ("suzuki4", 4)):
        weights = SCHEMES[name].exact_weights
        assert len(weights) == n + 1
        ratio = exact(weights[n // 2]) / exact(weights[0])
        assert abs(ratio + mpmath.cbrt(n)) < mpmath.mpf("1e-55")


@pytest.mark.parametrize(
    ("name", "total"),
    [("yoshida4", 4.40), ("suzuki4", 2.32), ("yoshida6", 5.71), ("kahanli6", 3.82), ("suzukiumeno8", 6.53),
     ("kahanli8", 5.35), ("yoshida8", 15.25)],
)  # fmt: skip
def test_the_length_of_the_way_is_the_tabulated_one(name, total):
    assert np.abs(SCHEMES[name].weights).sum() == pytest.approx(total, abs=0.005)


# Broken twins


def test_a_lost_sign_in_yoshida6_is_seen():
    outer = list(SCHEMES["yoshida6"].exact_weights[:3])
    wrong = palindrome([outer[0], outer[1], -outer[2]], inner=1)
    assert order_defect(wrong, 6) > KNOWN
    assert power_sum_defect(wrong, 6) > KNOWN
    assert matrix_order(wrong) < 3


@pytest.mark.parametrize("scheme", COMPOSITIONS)
@pytest.mark.parametrize("size", [12, 20])
def test_an_error_of_1e_12_or_1e_20_in_any_weight_is_seen(scheme, size):
    for number in range(len(scheme.weights) // 2):
        outer = list(scheme.exact_weights[: len(scheme.weights) // 2])
        outer[number] += Fraction(1, 10**size)
        assert power_sum_defect(palindrome(outer, inner=1), scheme.order) > KNOWN


def test_the_15_digits_in_which_yoshida8_is_usually_given_are_seen_to_be_inaccurate():
    """They differ from ours by 2.4e-13 at most, and the order conditions decide: 3e-12 against 1e-27."""
    usual = ["0.914844246229740", "0.253693336566229", "-1.44485223686048", "-0.158240635368243",
             "1.93813913762276", "-1.96061023297549", "0.102799849391985"]  # fmt: skip
    outer = [Fraction(number) for number in usual]
    ours = SCHEMES["yoshida8"].exact_weights[: len(outer)]
    assert max(abs(x - y) for x, y in zip(outer, ours, strict=True)) < Fraction(3, 10**13)
    wrong = palindrome(outer, inner=1)
    assert order_defect(wrong, 8) > Fraction(1, 10**12)
    assert power_sum_defect(wrong, 8) > Fraction(1, 10**12)
    assert matrix_order(wrong) < 3


def test_a_composition_that_is_not_symmetric_is_seen_to_lose_its_order():
    """The order conditions for the words that are no powers need the palindrome."""
    weights = SCHEMES["suzuki4"].exact_weights
    shuffled = (weights[2], *weights[:2], *weights[3:])
    assert power_sum_defect(shuffled, 4) < KNOWN
    assert order_defect(shuffled, 4) > Fraction(1, 1000)
    assert matrix_order(shuffled) < 3.1


# Nystrom splittings


def henon_heiles_force(q):
    return [-q[0] - 2 * q[0] * q[1], -q[1] - q[0] ** 2 + q[1] ** 2]


START = ("0.1", "-0.2", "0.3", "0.4")
TIME = 2


@cache
def henon_heiles_reference():
    """Taylor series in 40 digits."""
    with mpmath.workdps(40):
        start = [mpmath.mpf(value) for value in START]
        return mpmath.odefun(lambda _, z: [z[2], z[3], *henon_heiles_force(z[:2])], 0, start)(TIME)


def henon_heiles_commutator(q):
    """-grad |V_q|^2 = 2 V_qq f."""
    f = henon_heiles_force(q)
    return [-2 * ((1 + 2 * q[1]) * -f[0] + 2 * q[0] * -f[1]), -2 * (2 * q[0] * -f[0] + (1 - 2 * q[1]) * -f[1])]


def henon_heiles_error(kicks, drifts, steps: int, commutators=None):
    h = mpmath.mpf(TIME) / steps
    z = [mpmath.mpf(value) for value in START]
    q, p = z[:2], z[2:]
    for _ in range(steps):
        for i, kick in enumerate(kicks):
            p = [p_i + h * kick * f_i for p_i, f_i in zip(p, henon_heiles_force(q), strict=True)]
            if commutators is not None:
                p = [p_i + h**3 * commutators[i] * w for p_i, w in zip(p, henon_heiles_commutator(q), strict=True)]
            if i < len(drifts):
                q = [q_i + h * drifts[i] * p_i for q_i, p_i in zip(q, p, strict=True)]
    return max(abs(x - y) for x, y in zip([*q, *p], henon_heiles_reference(), strict=True))


def nystrom_order(kicks: Sequence[Fraction], drifts: Sequence[Fraction]) -> float:
    """Slope between 32 and 64 steps, where the error is above the 1e-16 to which the weights are known."""
    kicks, drifts = [exact(b) for b in kicks], [exact(a) for a in drifts]
    with mpmath.workdps(32):
        coarse, fine = (henon_heiles_error(kicks, drifts, steps) for steps in (32, 64))
    return float(mpmath.log(coarse / fine, 2))


def commutator_order(splitting, *, wrong: Fraction = Fraction(0), steps: tuple[int, int] = (16, 32)) -> float:
    """Slope of the error with one commutator off by a part of itself."""
    v = list(splitting.exact_commutators)
    v[1] *= 1 + wrong
    numbers = [[exact(x) for x in part] for part in (splitting.exact_kicks, splitting.exact_drifts, v)]
    with mpmath.workdps(36):
        coarse, fine = (henon_heiles_error(*numbers[:2], count, numbers[2]) for count in steps)
    return float(mpmath.log(coarse / fine, 2))


@pytest.mark.parametrize("name", COMMUTATOR)
def test_splittings_with_commutators_have_the_declared_order(name):
    """Measured 3.996, 5.99, 6.01; with 1e-5 of a commutator more, 4 in the long run."""
    splitting = COMMUTATOR[name]
    assert commutator_order(splitting) == pytest.approx(splitting.order, abs=0.03)
    assert len(splitting.drifts) == {"4": 2, "6": 7, "6 weak": 5}[name]
    if splitting.order == 6:
        wrong = commutator_order(splitting, wrong=Fraction(1, 1000), steps=(64, 128))
        assert wrong < 5.0


@pytest.mark.parametrize("name", ["6", "6 weak"])
def test_thirty_digits_of_splittings_with_commutators_are_right(name):
    """Steps so short that their sixth power is 1e-21: the order still holds."""
    splitting = COMMUTATOR[name]
    numbers = [
        [exact(x) for x in part]
        for part in (splitting.exact_kicks, splitting.exact_drifts, splitting.exact_commutators)
    ]
    with mpmath.workdps(45):
        kicks, drifts, commutators = numbers
        ends = []
        for h in (mpmath.mpf(2) ** -9, mpmath.mpf(2) ** -10):
            q, p = [mpmath.mpf("0.1"), mpmath.mpf("-0.2")], [mpmath.mpf("0.3"), mpmath.mpf("0.4")]
            right = mpmath.odefun(lambda _, z: [z[2], z[3], *henon_heiles_force(z[:2])], 0, [*q, *p])(h)
            for i, kick in enumerate(kicks):
                p = [a + h * kick * f for a, f in zip(p, henon_heiles_force(q), strict=True)]
                p = [a + h**3 * commutators[i] * w for a, w in zip(p, henon_heiles_commutator(q), strict=True)]
                if i < len(drifts):
                    q = [a + h * drifts[i] * b for a, b in zip(q, p, strict=True)]
            ends.append(max(abs(x - y) for x, y in zip([*q, *p], right, strict=True)))
        assert float(mpmath.log(ends[0] / ends[1], 2)) == pytest.approx(7.0, abs=0.1)


@pytest.mark.parametrize("splitting", SPLITTINGS)
def test_nystrom_splittings_have_the_declared_order(splitting):
    """Measured 2.0007, 4.0014, 6.0002."""
    assert nystrom_order(splitting.exact_kicks, splitting.exact_drifts) == pytest.approx(splitting.order, abs=0.005)


# The same as power series in the step, which sees every digit


POTENTIAL = {(m, n): Fraction((7 * m * m + 3 * n + 5 * m * n) % 11 - 5, 10) for m in range(7) for n in range(7 - m)}


def taylor_defects(kicks: Sequence[Fraction], drifts: Sequence[Fraction], *, up_to: int) -> list[Fraction]:
    """Largest difference, for each power of the step, between one step and the solution, in exact arithmetic.

    A polynomial potential of degree 6 in two variables has all the elementary differentials up to order 6.
    """
    pad = [Fraction(0)] * up_to
    start = [[Fraction(number), *pad] for number in START]
    q, p = start[:2], start[2:]
    for i, kick in enumerate(kicks):
        p = [p_i[:1] + [x + kick * f for x, f in zip(p_i[1:], f_i, strict=False)]
             for p_i, f_i in zip(p, series_force(q), strict=True)]  # fmt: skip
        if i < len(drifts):
            q = [q_i[:1] + [x + drifts[i] * v for x, v in zip(q_i[1:], p_i, strict=False)]
                 for q_i, p_i in zip(q, p, strict=True)]  # fmt: skip
    exact_q, exact_p = [series[:] for series in start[:2]], [series[:] for series in start[2:]]
    for k in range(up_to):
        force = series_force(exact_q)
        for d in range(2):
            exact_q[d][k + 1] = exact_p[d][k] / (k + 1)
            exact_p[d][k + 1] = force[d][k] / (k + 1)
    return [
        max(abs(x[k] - y[k]) for x, y in zip([*q, *p], [*exact_q, *exact_p], strict=True)) for k in range(up_to + 1)
    ]


def series_force(q: list[list[Fraction]]) -> list[list[Fraction]]:
    length = len(q[0])
    powers = []
    for series in q:
        row = [[Fraction(1), *[Fraction(0)] * (length - 1)]]
        for _ in range(6):
            row.append([sum(row[-1][i] * series[k - i] for i in range(k + 1)) for k in range(length)])
        powers.append(row)
    force = [[Fraction(0)] * length for _ in q]
    for (m, n), v in POTENTIAL.items():
        for d, factor, x, y in ((0, m, powers[0][m - 1], powers[1][n]), (1, n, powers[0][m], powers[1][n - 1])):
            if factor:
                for k in range(length):
                    force[d][k] -= v * factor * sum(x[i] * y[k - i] for i in range(k + 1))
    return force


PRINTED = Fraction(1, 10**16)  # left by 15 printed digits: measured 4e-17 (SRKN6b) and 2e-17 (SRKN11b)


@pytest.mark.parametrize("splitting", SPLITTINGS)
def test_the_taylor_series_of_a_nystrom_splitting_is_right_up_to_its_order_and_no_further(splitting):
    """The first wrong coefficient is 3e-2 (Strang), 3e-6 (SRKN6b), 2e-7 (SRKN11b)."""
    defects = taylor_defects(splitting.exact_kicks, splitting.exact_drifts, up_to=splitting.order + 1)
    assert max(defects[:-1]) < PRINTED
    assert defects[-1] > Fraction(1, 10**7)


@pytest.mark.parametrize("name", ["SRKN6b", "SRKN11b"])
@pytest.mark.parametrize("which", ["kicks", "drifts"])
def test_a_wrong_13th_decimal_in_a_nystrom_splitting_is_seen(name, which):
    """In any of its numbers, with the palindrome and the sum kept: the defect is then 5e-16 to 2e-14."""
    splitting = NYSTROM[name]
    numbers = {"kicks": splitting.exact_kicks, "drifts": splitting.exact_drifts}
    right = numbers[which]
    for number in range((len(right) - 1) // 2):
        outer = list(right[: (len(right) - 1) // 2])
        outer[number] += Fraction(1, 10**13)
        numbers[which] = palindrome(outer, inner=2 - len(right) % 2)
        assert max(taylor_defects(numbers["kicks"], numbers["drifts"], up_to=splitting.order)) > PRINTED


@pytest.mark.parametrize(
    ("name", "evaluations", "kick", "drift"),
    [
        ("Strang", 1, "0.5", "1"),
        ("SRKN6b", 6, "0.1195241940131508", "-0.350171622895351"),
        ("SRKN11b", 11, "0.2366699247869311", "0.20477705429147"),
    ],
)
def test_nystrom_splittings_have_their_number_of_forces_and_the_known_inner_numbers(name, evaluations, kick, drift):
    splitting = NYSTROM[name]
    assert len(splitting.drifts) == evaluations == len(splitting.kicks) - 1
    assert splitting.exact_kicks[len(splitting.kicks) // 2] == Fraction(kick)
    assert splitting.exact_drifts[len(splitting.drifts) // 2] == Fraction(drift)


# Rounding


ROUNDED_AND_EXACT = [
    *(pytest.param(s.weights, s.exact_weights, id=s.name) for s in SCHEMES.values()),
    *(pytest.param(s.kicks, s.exact_kicks, id=f"{s.name} kicks") for s in NYSTROM.values()),
    *(pytest.param(s.drifts, s.exact_drifts, id=f"{s.name} drifts") for s in NYSTROM.values()),
]


@pytest.mark.parametrize(("rounded", "numbers"), ROUNDED_AND_EXACT)
def test_the_rounded_numbers_are_a_palindrome_and_read_only(rounded, numbers):
    assert np.array_equal(rounded, rounded[::-1])
    assert tuple(numbers) == tuple(reversed(numbers))
    with pytest.raises(ValueError, match="read-only"):
        rounded[0] = 0.0


@pytest.mark.parametrize(("rounded", "numbers"), ROUNDED_AND_EXACT)
def test_the_rounded_numbers_add_up_to_the_step_as_well_as_they_can(rounded, numbers):
    """Exact sum of the float64 numbers: off by at most half an ulp of the inner one, or of both if there are two."""
    inner = rounded[len(rounded) // 2]
    copies = 2 - len(rounded) % 2
    assert sum(numbers) == 1
    assert abs(sum(Fraction(float(g)) for g in rounded) - 1) <= copies * Fraction(float(np.spacing(abs(inner)))) / 2


@pytest.mark.parametrize(("rounded", "numbers"), ROUNDED_AND_EXACT)
def test_the_outer_numbers_are_correctly_rounded_and_the_inner_one_takes_their_error(rounded, numbers):
    half = len(rounded) // 2
    outer = (len(rounded) - 1) // 2
    assert [float(g) for g in numbers[:outer]] == list(rounded[:outer])
    ulps = sum(Fraction(float(np.spacing(abs(g)))) for g in rounded)
    assert abs(Fraction(float(rounded[half])) - numbers[half]) <= ulps / 2


def test_rounding_every_number_for_itself_would_miss_the_step():
    """Why the inner number takes the error: for some scheme the plain sum is off by more than the careful one."""

    def miss(numbers):
        return abs(sum(Fraction(float(g)) for g in numbers) - 1)

    assert any(miss(map(float, s.exact_weights)) > miss(s.weights) for s in SCHEMES.values())
    assert all(miss(map(float, s.exact_weights)) >= miss(s.weights) for s in SCHEMES.values())


# Names and sources


def test_the_schemes_are_kept_under_their_public_names():
    assert list(SCHEMES) == ["yoshida4", "suzuki4", "yoshida6", "kahanli6", "yoshida8", "suzukiumeno8", "kahanli8"]
    assert list(NYSTROM) == ["Strang", "SRKN6b", "SRKN11b"]
    assert all(scheme.name == name for name, scheme in {**SCHEMES, **NYSTROM}.items())


def test_every_source_is_in_the_references_once_and_in_order():
    keys = re.findall(r"^@\w+\{(\w+),", REFERENCES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert keys == sorted(set(keys))
    assert {scheme.cite for scheme in (*SCHEMES.values(), *NYSTROM.values())} <= set(keys)


@pytest.mark.parametrize("module", ["runge_kutta/tableaux", "splitting/schemes"])
def test_every_key_in_a_docstring_is_in_the_references(module):
    text = (REFERENCES.parent / "methods" / f"{module}.py").read_text(encoding="utf-8")
    cited = set(re.findall(r"\[([a-z]+\d{4})\]", text)) | set(re.findall(r'"([a-z]+\d{4})"', text))
    references = REFERENCES.read_text(encoding="utf-8")
    assert cited
    assert all(f"{{{key}," in references for key in cited)
