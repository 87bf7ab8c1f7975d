"""The exact motion of Lagrange's top, against references of many digits.

Errors are in units of eps (1 + (|omega| + sqrt(|g|/A)) |t|), of the quaternion with its sign, and of y relative to its size.
"""

from __future__ import annotations

import math

import pytest
from lagrange_families import CLOSED, INTEGRATED, cases
from lagrange_reference import Case, closed_form, taylor
from mpmath import mpf

from catena.geometry import lagrange_motion, lagrange_roots
from catena.geometry.elliptic import complete
from catena.geometry.lagrange_motion import evaluate, prepare
from catena.geometry.lagrange_orbit import FREE, HYPERBOLIC, STEADY, TRIGONOMETRIC, Orbit
from catena.kernels.views import NOT_FINITE, UNRESOLVED
from places import read_reference

EPS = 2.0**-52
ALLOWED = 10.0
VALUES = read_reference("lagrange.toml")


def prepared(case: Case, axis: int = 2) -> list[float]:
    a, c, g, q, y, _ = case
    orbit = [0.0] * Orbit.WIDTH
    assert prepare(axis, a, c, g, q, y, orbit) == 0
    return orbit


def error(case: Case, reference: list, values: tuple[float, ...] | None = None) -> float:
    """The larger of the errors of q and y."""
    a, c, g, _, y, t = case
    values = values or evaluate(prepared(case), t)
    unit = EPS * (1.0 + (math.hypot(y[0] / a, y[1] / a, y[2] / c) + math.sqrt(abs(g) / a)) * abs(t))
    off = [abs(float(mpf(x) - r)) for x, r in zip(values, reference, strict=True)]
    size = math.hypot(*y) + math.sqrt(abs(g) * a) + math.hypot(*map(float, reference[4:]))
    return max(*off[:4], max(off[4:]) / size) / unit


@pytest.mark.parametrize("g", [1.3, -0.7])
def test_the_references_agree(g):
    """Taylor steps of 26 digits; gravity up and down."""
    case = 0.6, 0.9, g, (0.8, -0.3, 0.5, 0.4), (0.7, -0.5, 0.9), 3.0
    assert max(abs(x - y) for x, y in zip(taylor(case), closed_form(case), strict=True)) < 1e-24


@pytest.mark.parametrize("name", CLOSED)
def test_the_motion_is_exact(name):
    """Ten units promised; 200 cases of each family measured at most 2.1."""
    family, digits = CLOSED[name]
    for case in cases(family, 20):
        assert error(case, closed_form(case, digits)) < ALLOWED, case


@pytest.mark.parametrize("name", INTEGRATED)
def test_the_motion_is_exact_where_the_closed_form_is_singular(name):
    for case in cases(INTEGRATED[name], 7):
        assert error(case, taylor(case)) < ALLOWED, case


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CLOSED, *INTEGRATED])
def test_the_motion_is_exact_in_many_cases(name):
    """7840 in all."""
    if name in CLOSED:
        family, digits = CLOSED[name]
        worst = max(error(case, closed_form(case, digits)) for case in cases(family, 200))
    else:
        worst = max(error(case, taylor(case)) for case in cases(INTEGRATED[name], 40))
    print(f"{name}: {worst:.2f}")
    assert worst < ALLOWED


# Reference values -----------------------------------------------------------------------------------------------------


def listed(name: str) -> tuple[Case, list[float]]:
    values = VALUES["motion"][name]
    case = *values["moments"], values["g"], values["q0"], values["y0"], values["t"]
    return case, [*values["q"], *values["y"], values["y0"][2]]


def opposite_if_negative(values: tuple[float, ...]) -> tuple[float, ...]:
    """q and -q are one orientation; the table has q0 >= 0."""
    return (*(math.copysign(1.0, values[0]) * x for x in values[:4]), *values[4:])


@pytest.mark.parametrize("name", VALUES["motion"])
def test_the_reference_values_are_reached(name):
    case, reference = listed(name)
    assert error(case, reference, opposite_if_negative(evaluate(prepared(case), case[-1]))) < 1.0


def test_the_constants_on_the_way_are_those_of_the_table():
    """Of th1 and th2 themselves: a factor e^(ix) of their series stands in the rates nu here."""
    wanted = VALUES["B14"]
    orbit = prepared((1.0, 0.5, 1.5, (4.0, 1.0, 0.0, 0.0), (0.25, 0.5, 3.0), 0.0))
    assert orbit[Orbit.KIND] == TRIGONOMETRIC
    assert orbit[Orbit.RATE] == pytest.approx(wanted["rate"], rel=4 * EPS)
    assert orbit[Orbit.START] == pytest.approx(wanted["start"], rel=8 * EPS)
    assert -orbit[Orbit.DENOMINATOR + 1] / 2 == pytest.approx(wanted["nome"], rel=16 * EPS)
    assert orbit[Orbit.ALPHA_RATE] == pytest.approx(wanted["nu1"] + wanted["rate"], rel=8 * EPS)
    assert orbit[Orbit.BETA_RATE] == pytest.approx(wanted["nu2"] + wanted["rate"], rel=8 * EPS)
    points = lagrange_roots.turning_points(constants_of((4.0, 1.0, 0.0, 0.0), (0.25, 0.5, 3.0)), 3.0)
    assert complete(points[lagrange_roots.Points.W23] / points[lagrange_roots.Points.W13]) == pytest.approx(
        wanted["quarter"], rel=4 * EPS
    )


def constants_of(q, y):
    return lagrange_roots.constants(1.0, 1.5, tuple((x, 0.0) for x in q), y)


# Corners --------------------------------------------------------------------------------------------------------------

SPECIAL = {
    "separatrix of the pendulum": (1.0, 0.7, 2.0, (1.0, 1.0, 0.0, 0.0), (2.0, 0.0, 0.0)),
    "separatrix of the pendulum, down": (1.0, 0.7, 2.0, (1.0, 1.0, 0.0, 0.0), (-2.0, 0.0, 0.0)),
    "separatrix with spin": (1.0, 0.7, 2.5, (1.0, 1.0, 0.0, 0.0), (2.0, 1.0, 1.0)),
    "separatrix with spin, turned": (1.0, 0.7, 2.5, (1.0, 0.0, 1.0, 0.0), (1.0, -2.0, -1.0)),
    "sleeping": (1.0, 0.5, 1.5, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 3.0)),
    "sleeping, unstable": (1.0, 0.5, 1.5, (1.0, 0.0, 0.0, 0.5), (0.0, 0.0, 1.0)),
    "hanging": (1.0, 0.5, 1.5, (0.0, 1.0, 0.25, 0.0), (0.0, 0.0, 2.0)),
    "upright at rest": (1.0, 0.5, 1.5, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "released from rest": (1.0, 0.5, 1.5, (3.0, 1.0, 2.0, -1.0), (0.0, 0.0, 0.0)),
    "kicked upright": (1.0, 0.5, 1.5, (1.0, 0.0, 0.0, 0.0), (0.3, 0.4, 0.0)),
    "kicked a little": (1.0, 0.5, 1.5, (1.0, 0.0, 0.0, 0.0), (3e-9, 4e-9, 2.0)),
    "kicked from below": (1.0, 0.5, 1.5, (0.0, 1.0, 0.0, 0.0), (0.3, 0.4, 2.0)),
    "in a plane": (1.0, 2.0, 1.0, (1.0, 0.5, 0.0, 0.0), (1.5, 0.0, 0.0)),
    "across the plane": (1.0, 2.0, 1.0, (1.0, 0.5, 0.0, 0.0), (0.0, 1.5, 0.0)),
    "almost weightless": (1.0, 2.0, 1e-300, (1.0, 0.5, 0.25, 0.0), (0.5, -1.0, 3.0)),
    "almost weightless, upwards": (1.0, 2.0, -1e-300, (1.0, 0.5, 0.25, 0.0), (0.5, -1.0, 3.0)),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_the_motion_is_exact_on_separatrices_and_axes(name):
    for t in (2.0, -3.0):
        case = *SPECIAL[name], t
        assert error(case, taylor(case)) < ALLOWED, t


@pytest.mark.parametrize("name", ["separatrix of the pendulum", "separatrix with spin"])
def test_on_the_separatrix_the_axis_rises_and_stays_up(name):
    orbit = prepared((*SPECIAL[name], 0.0))
    assert (orbit[Orbit.KIND], orbit[Orbit.HALF_PERIOD]) == (HYPERBOLIC, 0.0)
    for t in (1e5, -1e9):
        q = evaluate(orbit, t)
        assert math.hypot(q[0], q[3]) == pytest.approx(1.0, abs=4 * EPS) and math.hypot(*q[4:6]) < 1e-100


def exchanged(case: Case, axis: int) -> Case:
    """The same motion of a body whose axes are called otherwise: a turn that adds up to whole numbers."""
    a, c, g, (q0, q1, q2, q3), y, t = case
    s = 1.0 if axis == 0 else -1.0  # q * conj(1, s, s, s)
    q = (q0 + s * (q1 + q2 + q3), q1 + s * (q3 - q2 - q0), q2 + s * (q1 - q3 - q0), q3 + s * (q2 - q1 - q0))
    return a, c, g, q, tuple(y[(k - axis - 1) % 3] for k in range(3)), t


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("tilt", [1.0, 2.0**-20, 2.0**-44])
def test_any_axis_can_be_that_of_symmetry(axis, tilt):
    """An unstable top whose start leans by next to nothing: the exchange of axes must not round."""
    case = 1.0, 0.5, 1.5, (1.0, tilt, 0.0, 0.0), (0.0, 0.0, 1.25), 20.0
    turned = exchanged(case, axis)
    found = evaluate(prepared(turned, axis), 20.0)
    reference = evaluate(prepared(case), 20.0)
    back = exchanged((*case[:3], reference[:4], reference[4:], 0.0), axis)
    assert found[:4] == pytest.approx([0.5 * x for x in back[3]], abs=ALLOWED * EPS)
    assert found[4:] == pytest.approx(back[4], abs=ALLOWED * EPS)


@pytest.mark.parametrize("inertia", [2.0**-900, 2.0**600])
@pytest.mark.parametrize("rate", [2.0**-300, 2.0**200])
def test_units_that_are_powers_of_two_change_nothing(inertia, rate):
    """Bit for bit; without scaling, squares would leave the range of floats."""
    for name in ("L1", "L4", "L9"):
        (a, c, g, q, y, t), _ = listed(name)
        plain = evaluate(prepared((a, c, g, q, y, t)), t)
        other = (a * inertia, c * inertia, g * inertia * rate * rate, q, [x * inertia * rate for x in y], t / rate)
        if not all(0.0 < abs(x) < math.inf for x in other[:3]):
            continue
        scaled = evaluate(prepared(other), t / rate)
        assert scaled == (*plain[:4], *(x * inertia * rate for x in plain[4:]))


def test_what_cannot_be_resolved_is_reported():
    orbit = [0.0] * Orbit.WIDTH
    upright = (1.0, 0.5, 1.5, (1.0, 0.0, 0.0, 0.0))
    assert prepare(2, *upright, (1e-65, 0.0, 1.0), orbit) == UNRESOLVED
    assert prepare(2, *upright, (1e-63, 0.0, 1.0), orbit) == 0 and orbit[Orbit.KIND] == HYPERBOLIC
    assert prepare(2, *upright, (1e-65, 0.0, 3.0), orbit) == 0 and orbit[Orbit.KIND] == STEADY
    assert prepare(2, 1.0, 0.5, 0.0, (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 1.0), orbit) == 0 and orbit[Orbit.KIND] == FREE
    for value in (math.nan, math.inf):
        assert prepare(2, *upright, (value, 0.0, 1.0), orbit) == NOT_FINITE
        assert prepare(2, 1.0, value, 1.5, (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 1.0), orbit) == NOT_FINITE


@pytest.mark.parametrize("spin", [1.0, 3.0])
def test_the_motion_is_exact_within_1e_60_of_the_vertical(spin):
    """The unstable one leaves it after about 150 units of time; the reference needs four times that many digits."""
    case = 1.0, 0.5, 1.5, (1.0, 3e-61, -1e-61, 0.5), (2e-61, 1e-61, spin), 170.0
    assert error(case, closed_form(case, 320)) < ALLOWED


# Wrong twins ------------------------------------------------------------------------------------------------------------


def worst_of(*names: str) -> float:
    found = [0.0]
    for name in names:
        family, digits = CLOSED[name]
        for case in cases(family, 6):
            try:
                found.append(error(case, closed_form(case, digits)))
            except (ValueError, ZeroDivisionError):  # a square root of a number below zero
                found.append(math.inf)
    return max(found)


def test_a_wrong_sign_in_the_second_form_is_seen(monkeypatch):
    """The exponents of N1 where 1 - w1 is large: 2 n r1, not -2 n r1."""
    right = lagrange_motion.put_term

    def wrong(row, at, n, value):
        right(row, at, -n if at == Orbit.FIRST else n, value)

    monkeypatch.setattr(lagrange_motion, "put_term", wrong)
    assert worst_of("random, t 1") > 1e10


def test_floats_instead_of_pairs_are_seen(monkeypatch):
    """The digits that near roots have in common are lost."""
    monkeypatch.setattr(lagrange_roots, "pair_sum", lambda a, b: (a[0] + b[0], 0.0))
    monkeypatch.setattr(lagrange_roots, "pair_difference", lambda a, b: (a[0] - b[0], 0.0))
    monkeypatch.setattr(lagrange_roots, "pair_product", lambda a, b: (a[0] * b[0], 0.0))
    monkeypatch.setattr(lagrange_roots, "pair_quotient", lambda a, b: (a[0] / b[0], 0.0))
    assert worst_of("upright within 1e-06, unstable", "homoclinic within 1e-09") > 1e3


def test_the_lowest_point_needs_its_own_cubic(monkeypatch):
    """From 1 - w the squares of a tilt of 1e-10 are lost: errors of a million units."""
    monkeypatch.setattr(lagrange_roots, "near_the_bottom", by_the_upper_cubic)
    assert worst_of("lowest point within 1e-10") > 1e3


def by_the_upper_cubic(w3, known, spin):
    """w1 and w2 from their sum and product."""
    _, b0, _, minus, kinetic, scale, _ = known
    energy = lagrange_roots.pair_difference(kinetic, b0)
    b = kinetic[0] - b0[0] + spin * spin / scale[0] - 1.0
    q = minus[0] * spin / scale[0] - energy[0]
    total = (-b - w3[0], 0.0)
    w2, w1, w12 = lagrange_roots.two_roots(total, (q - w3[0] * total[0], 0.0))
    return lagrange_roots.gaps(w12, lagrange_roots.pair_difference(w2, w3), w1, w2, w3, b0)
