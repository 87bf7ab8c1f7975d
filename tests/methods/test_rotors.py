"""Rotors: measured order, and which of R y, |y|, H, the Poisson and the symplectic structure each keeps; misprints that lose them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import comb
from typing import Any

import mpmath
import numpy as np
import pytest

import bodies
import broken
import catena as ct
import harness
from bodies import EPS, TOPS, Tangent, distance, free_problem, run_to, slope
from catena.engine.pairing import Pairing, can_treat
from catena.geometry.free_motion import free_motion
from catena.geometry.quaternion import exponential, renew, turn_about_axis, turn_right
from catena.methods.base import Method, Traits, all_methods
from catena.methods.rotors import rotations as kernels
from catena.methods.rotors.dmv_coefficients import polynomials
from catena.methods.rotors.rotor import Rotor

MOMENTS, MOMENTUM, ORIENTATION = (0.6, 0.9, 1.3), (0.7, -0.5, 0.9), (5, 1, -7, 2)
BODY = free_problem(MOMENTS, MOMENTUM, ORIENTATION)
CASE = {"moments": MOMENTS, "y0": MOMENTUM, "q0": ORIENTATION}
STRUCTURE = {row["method"]: row for row in TOPS["structure"]}
LONG_STEP = 0.3

# Differences of 1e-15 leave 1e-30; everything else is 50 digits.
TANGENT_LEVEL = 1e-27
PRECISE_LEVEL = harness.PRECISE_LEVEL


def rotor_methods() -> list[Method]:
    """Every registered method that turns free bodies, rather than solving their equations; and two compositions."""
    turning = [m for kind in all_methods() for m in kind.examples() if can_treat(BODY.system, m)]
    rotors = [m for m in turning if Pairing.of(BODY.system, m).view.name in ("rotor", "constrained")]
    return [*rotors, ct.Composition(ct.SymmetricRotation(), "suzuki4"), ct.Composition(ct.DMV(2), "kahanli6")]


ALL = rotor_methods()
EXACT = [m for m in ALL if m.traits.exact]  # elliptic functions, written for 53 bits
STEPPING = [m for m in ALL if m.traits.has_order]
BY_NAME = {str(m): m for m in [*ALL, *(ct.Gauss(stages) for stages in (1, 2, 3))]}


def size(defect: float, expected: float) -> bool:
    """Whether a defect has the size that is known to one digit, or is none where none is expected."""
    return defect < TANGENT_LEVEL if expected == 0 else 0.6 * expected < defect < 1.6 * expected


# Misprints ----------------------------------------------------------------------------------------------------------------


def printed_three_rotations(y, q, ey, eq, inertia, h, tab):
    """As printed in [vilmart2015]: about 3, 2, 1, 2, 1."""
    turn_about_axis(y, q, ey, eq, 2, 0.5 * h * y[2] / inertia[2])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 0, h * y[0] / inertia[0])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    renew(q, eq)
    return 0


def printed_symmetric_rotation(y, q, ey, eq, inertia, h, tab):
    """As printed in [vilmart2015]: alpha = y1/I1."""
    i = int(tab[0])
    k = int(tab[2])
    turn_about_axis(y, q, ey, eq, i, 0.5 * h * y[i] / inertia[i])
    c, v1, v2, v3 = exponential(h * tab[4] * y[0], h * tab[4] * y[1], h * tab[4] * y[2])
    turn_right(q, eq, c, v1, v2, v3)
    turn_about_axis(y, q, ey, eq, k, h * tab[5] * y[k])
    turn_about_axis(y, q, ey, eq, i, 0.5 * h * y[i] / inertia[i])
    renew(q, eq)
    return 0


def lopsided_rotations(y, q, ey, eq, inertia, h, tab):
    """Each axis once: order 1, not symmetric."""
    turn_about_axis(y, q, ey, eq, 0, h * y[0] / inertia[0])
    turn_about_axis(y, q, ey, eq, 1, h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 2, h * y[2] / inertia[2])
    renew(q, eq)
    return 0


def unequal_turn(y, q, ey, eq, inertia, h, tab):
    """Momentum and orientation turned by angles that differ by 1e-12 of them: R y is lost."""
    turn_about_axis(y, q, ey, eq, 0, h * y[0] / inertia[0])
    c, v1, v2, v3 = exponential(1e-12 * h * y[0] / inertia[0], 0.0, 0.0)
    turn_right(q, eq, c, v1, v2, v3)
    return 0


@dataclass(frozen=True)
class Twin(broken._Named, Rotor):
    """A rotor with a wrong kernel and the claims of the right one."""

    wrong: Any
    like: Method

    def rotor_kernel(self) -> Any:
        return self.wrong

    def row(self, moments: np.ndarray) -> np.ndarray:
        return self.like.row(moments)  # type: ignore[attr-defined]

    @property
    def traits(self) -> Traits:
        return self.like.traits


PRINTED = [Twin(printed_three_rotations, ct.ThreeRotations()), Twin(printed_symmetric_rotation, ct.SymmetricRotation())]


# Order ----------------------------------------------------------------------------------------------------------------------


def errors(method: Method, counts: list[int], *, t: float = 2.0) -> list[float]:
    y, q = bodies.taylor(CASE, t)
    return [distance(run_to(method, BODY, t, n), y, q) for n in counts]


def precise_errors(method: Method, counts: list[int], *, t: float = 2.0) -> list[float]:
    """In 50 digits, where round-off never takes part."""
    with mpmath.workdps(harness.DIGITS):
        y, q = (np.array(part, dtype=object) for part in bodies.precise_taylor(exact_inputs(), t, digits=30))
        found = []
        for n in counts:
            step = Tangent(method, BODY, mpmath.mpf(t) / n)
            step.program.par = step.program.par._replace(rotor=precise_coefficients(method.traits.order))
            z = step.program.steps(step.start, step.dt, n)
            sign = 1 if z[0] * q[0] > 0 else -1
            found.append(float(harness.largest([*(z[4:] - y), *(sign * z[:4] - q)])))
        return found


def precise_coefficients(order: int) -> np.ndarray:
    """What `coefficients` gives in float64, whose rounding would show at order 12: middle moment, s and t in powers of H - r C and C."""
    a1, a2, a3 = a = [1 / mpmath.mpf(moment) for moment in MOMENTS]
    e1, e2, e3, r = a1 + a2 + a3, a1 * a2 + a2 * a3 + a3 * a1, a1 * a2 * a3, sorted(a)[1]

    def published(letter: str, k: int, m: int) -> Any:
        terms = polynomials()[letter, k, m]
        return sum(mpmath.mpf(f.numerator) / f.denominator * e1**i * e2**j * e3**l for f, i, j, l in terms)

    values = [
        sum(published(letter, k, n) * comb(k - n, m - n) * r ** (m - n) for n in range(m + 1))
        for letter in "st"
        for k in range(1, order // 2)
        for m in range(k + 1)
    ]
    return np.array([[mpmath.mpf(sorted(MOMENTS)[1]), *values]], dtype=object)


def exact_inputs() -> dict[str, Any]:
    """The case with the quaternion that the problem starts from, which is rounded."""
    return CASE | {"q0": BODY.start.orientation.tolist()}


COUNTS = {2: [20, 40, 80, 160], 4: [10, 14, 20, 28, 40], 6: [8, 10, 12, 16, 20, 24], 8: [6, 7, 8, 10, 12, 14]}


@pytest.mark.parametrize("method", [m for m in STEPPING if m.traits.order <= 8], ids=str)
def test_the_order_is_the_one_declared(method):
    counts = COUNTS[method.traits.order]
    measured = slope(counts, errors(method, counts))
    assert abs(measured - method.traits.order) < 0.15, measured


@pytest.mark.parametrize("order", [10, 12])
def test_the_highest_orders_show_in_few_large_steps(order):
    """dt |omega| from 0.16 to 0.24: errors of 1e-12 to 1e-17, in 50 digits because float64 ends there."""
    counts = [12, 14, 16, 18]
    measured = slope(counts, precise_errors(ct.DMV(order), counts))
    assert abs(measured - order) < 0.15, measured


@pytest.mark.parametrize("twin", PRINTED, ids=["ThreeRotations", "SymmetricRotation"])
def test_the_printed_algorithms_do_not_converge(twin):
    assert errors(twin, [320])[0] > 0.1


def test_half_a_splitting_has_order_one():
    counts = COUNTS[2]
    assert abs(slope(counts, errors(Twin(lopsided_rotations, ct.ThreeRotations()), counts)) - 1) < 0.15


# Structure ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", STRUCTURE.values(), ids=STRUCTURE)
def test_what_one_long_step_keeps_is_what_the_table_says(row):
    """R y, |y|^2/2, H, the Poisson and the symplectic structure after a step of 0.3, in 50 digits."""
    method = BY_NAME[row["method"]]
    changes = bodies.invariant_defects(method, BODY, dt=LONG_STEP)
    assert size(changes["spatial_momentum"], row.get("momentum", 0)), changes
    assert size(changes["casimir"], 0), changes
    assert size(changes["energy"], row.get("energy", 0)), changes
    assert size(bodies.poisson_defect(method, BODY, dt=LONG_STEP), row.get("poisson", 0))
    assert size(bodies.symplectic_defect(method, BODY, dt=LONG_STEP), row.get("symplectic", 0))


@pytest.mark.parametrize("method", STEPPING, ids=str)
def test_symplectic_is_claimed_by_those_who_are(method):
    """ImplicitMidpoint is symplectic where its equations are canonical, not on a free body."""
    if not isinstance(method, ct.ImplicitMidpoint):
        assert (bodies.symplectic_defect(method, BODY, dt=LONG_STEP) < TANGENT_LEVEL) == method.traits.symplectic


@pytest.mark.parametrize("method", EXACT, ids=str)
def test_the_exact_flow_is_symplectic_and_poisson(method):
    """Central differences of order 6 in float64, floor 5e-12; a defect of 8e-11, that of DMV(10), is seen by them."""
    assert max(bodies.differenced_defects(method, BODY, dt=LONG_STEP)) < 1e-11
    poisson, symplectic = bodies.differenced_defects(ct.DMV(10), BODY, dt=LONG_STEP)
    assert poisson < 1e-11 and size(symplectic, STRUCTURE["DMV(10)"]["symplectic"])


@pytest.mark.parametrize("order", [4, 6, 8, 10, 12])
def test_preprocessed_methods_are_symplectic_up_to_their_order(order):
    """The defect of a step is of the size dt^(order + 1)."""
    steps = [0.3, 0.15]
    defects = [bodies.symplectic_defect(ct.DMV(order), BODY, dt=dt) for dt in steps]
    assert abs(np.log2(defects[0] / defects[1]) - (order + 1)) < 0.3


@pytest.mark.parametrize("method", STEPPING, ids=str)
def test_a_step_back_undoes_a_step(method):
    assert bodies.reversal_defect(method, BODY, dt=LONG_STEP) < PRECISE_LEVEL


@pytest.mark.parametrize("method", STEPPING, ids=str)
def test_what_is_claimed_to_be_kept_exactly_is_kept_in_50_digits(method):
    defects = bodies.invariant_defects(method, BODY, dt=LONG_STEP)
    for invariant in BODY.system.invariants:
        if method.traits.promise(invariant.tags) == "exact":
            assert defects[invariant.name] < PRECISE_LEVEL, invariant.name


def test_the_checks_see_what_is_wrong():
    """Turning momentum and orientation by angles that differ by 1e-12; a splitting that is not symmetric."""
    unequal = Twin(unequal_turn, ct.ThreeRotations())
    assert 1e-14 < bodies.invariant_defects(unequal, BODY, dt=LONG_STEP)["spatial_momentum"] < 1e-11
    assert bodies.symplectic_defect(unequal, BODY, dt=LONG_STEP) > 1e-14
    lopsided = Twin(lopsided_rotations, ct.ThreeRotations())
    assert bodies.reversal_defect(lopsided, BODY, dt=LONG_STEP) > 1e-3
    assert bodies.symplectic_defect(lopsided, BODY, dt=LONG_STEP) < TANGENT_LEVEL, "it is still a product of flows"


def test_the_sign_of_the_two_form_matters():
    """With +hat(y) even an exact symplectic step would fail."""
    with mpmath.workdps(harness.DIGITS):
        step = Tangent(ct.ThreeRotations(), BODY, LONG_STEP)
        m = step.matrix()
        wrong = [bodies.two_form([-x for x in z[4:]]) for z in (step.start, step.end)]
        assert harness.largest(m.T * wrong[1] * m - wrong[0]) > 0.1


# SymmetricRotation chooses its axes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moments", [(1.0, 1.0, 0.4), (1.0, 0.4, 1.0), (0.4, 1.0, 1.0), (1.0, 1.0, 1.7), (1.7, 1.0, 1.0), (1.0, 1.0, 1.0)]
)
def test_symmetric_bodies_are_turned_exactly(moments):
    """Ten long steps against one: no error of the method, whatever axis the symmetry has."""
    of = free_problem(moments, MOMENTUM, ORIENTATION)
    ten, one = run_to(ct.SymmetricRotation(), of, 5.0, 10), run_to(ct.SymmetricRotation(), of, 5.0, 1)
    y, q = bodies.taylor(CASE | {"moments": moments}, 5.0, digits=20)
    assert max(distance(ten, y, q), distance(one, y, q)) < 50 * EPS


def test_three_rotations_turn_no_symmetric_body_exactly():
    of = free_problem((1.0, 1.0, 0.4), MOMENTUM, ORIENTATION)
    y, q = bodies.taylor(CASE | {"moments": (1.0, 1.0, 0.4)}, 5.0, digits=20)
    assert distance(run_to(ct.ThreeRotations(), of, 5.0, 10), y, q) > 1e-3


def test_the_choice_of_axes_is_close_to_the_best():
    """Over random bodies it is the best order of axes in the median; with i and k exchanged the error is 1.6 times larger, with
    the axes as they stand thousands of times at worst. One step of 0.2, largest error of y and q."""
    rng = np.random.default_rng(4)
    chosen, exchanged, plain = [], [], []
    for _ in range(60):
        d = rng.uniform(0.02, 1.0, 3)
        moments, y0 = np.array([d[1] + d[2], d[0] + d[2], d[0] + d[1]]), rng.normal(size=3)
        y0 *= 0.2 / np.linalg.norm(y0 / moments)
        y, q = free_motion(moments, y0, q0=[1, 0, 0, 0], times=[1.0])
        found, a = {}, 1.0 / moments
        for i, j, k in permutations(range(3)):
            found[i, j, k] = _one_step(moments, y0, [i, j, k, a[i] - a[j], a[j], a[k] - a[j]], y[0], q[0])
        best = min(found.values())
        axes = kernels._symmetric_axes(moments)
        i, j, k = (int(axis) for axis in axes[:3])
        chosen.append(_one_step(moments, y0, axes, y[0], q[0]) / best)
        exchanged.append(found[k, j, i] / best)
        plain.append(found[0, 1, 2] / best)
    assert np.median(chosen) < 1.1 and max(chosen) < 20
    assert np.median(exchanged) > 1.4 and max(plain) > 5 * max(chosen)


def _one_step(moments, y0, tab, y, q) -> float:
    z, e = [1.0, 0.0, 0.0, 0.0], [0.0] * 4
    momentum, ey = list(y0), [0.0] * 3
    kernels.symmetric_rotation(momentum, z, ey, e, moments, 1.0, tab)
    return float(max(np.abs(np.array(momentum) - y).max(), np.abs(np.array(z) * np.sign(np.dot(z, q)) - q).max()))


# In runs ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(MOMENTS, id="solid"),
        pytest.param((1.0, 1.0, 0.4), id="symmetric", marks=pytest.mark.slow),
        pytest.param((0.5, 0.7, 1.2), id="flat", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("method", ALL, ids=str)
def test_no_run_contradicts_what_its_method_promises(method, moments):
    """2000 steps; exact: 50 eps sqrt(steps) of the terms, bounded: no drift."""
    harness.check_promises(method, free_problem(moments, MOMENTUM, ORIENTATION), dt=0.05, steps=2000, every=5)


def test_a_rotor_that_loses_the_momentum_contradicts_its_promise():
    with pytest.raises(AssertionError, match="spatial_momentum"):
        harness.check_promises(Twin(unequal_turn, ct.ThreeRotations()), BODY, dt=0.05, steps=2000, every=5)


@pytest.mark.parametrize("method", [ct.DMV(4), ct.SymmetricRotation(), ct.Composition(ct.DMV(2), "suzuki4")], ids=str)
def test_compiled_and_uncompiled_rotors_have_the_same_bits(method):
    ends = [run_to(method, BODY, 5.0, 100, compiled=compiled) for compiled in (False, True)]
    assert ends[0].orientation.tobytes() == ends[1].orientation.tobytes()
    assert ends[0].angular_momentum.tobytes() == ends[1].angular_momentum.tobytes()


@pytest.mark.parametrize("order", [2, "exact"])
def test_a_rotor_without_a_form_for_lanes_is_given_none(order: Any) -> None:
    """A chain is turned by it outside of tiles; constants for lanes, which do not exist, are not computed."""
    chain = ct.problems.helix_chain(n=3).system
    assert Pairing.of(chain, ct.Splitting(2, rotor=ct.DMV(order))).view.name == "split"
    assert Pairing.of(chain, ct.Splitting(2, rotor=ct.DMV(4))).view.name == "tiles"
    with pytest.raises(ct.CapabilityError, match="no form for lanes"):
        ct.DMV(order).lane_row(np.array([1.0, 2.0, 2.5]))
