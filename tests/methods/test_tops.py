"""Methods for tops: measured order, structure in 50 digits, RATTLE against its matrix form, and what long runs keep."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest

import bodies
import catena as ct
import harness
from bodies import EPS, GENERAL, HEAVY, TOPS, distance, problem_of, run_to, slope, top_problem
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import can_treat
from catena.geometry import rotations
from catena.kernels.marks import bind
from catena.kernels.views import View, commutator_kick
from catena.methods.base import Method, Stepper, Traits, all_methods
from catena.methods.splitting import splitting
from catena.systems.top import motion as top_motion

T_END = 2.0
TANGENT_LEVEL, PRECISE_LEVEL = 1e-27, harness.PRECISE_LEVEL
HEAVY_TOP = {"moments": (0.6, 0.9, 1.3), "y0": (0.7, -0.5, 0.9), "q0": (5, 1, -7, 2), "gravity": (0.3, 0.2, 1.0)}
PROBLEMS = {"heavy": HEAVY_TOP, "general": GENERAL}
# Exactly symplectic rotors of higher order.
FOURTH = ct.Composition(ct.SymmetricRotation(), "suzuki4")
SIXTH = ct.Composition(ct.ThreeRotations(), "kahanli6")

SPLITTINGS = [
    ct.Splitting(2), ct.Splitting(2, ct.ThreeRotations()), ct.Splitting(2, ct.DMV(2)), ct.Splitting(4), ct.Splitting(6),
    ct.Splitting(8), ct.Splitting(8, ct.DMV(2)), ct.Nystrom4(), ct.Nystrom4(ct.DMV(10)), ct.Nystrom6(), ct.Nystrom6(weak=True), ct.Rattle(), ct.QuatEM(),
    ct.Composition(ct.Splitting(2, ct.DMV(2)), "kahanli6"), ct.Composition(ct.Rattle(), "suzuki4"),
]  # fmt: skip
COUNTS = {2: [64, 96, 128, 192], 4: [32, 40, 52, 64], 6: [16, 18, 20, 24], 8: [14, 16, 18, 20]}


@cache
def reference(name: str):
    return bodies.taylor(PROBLEMS[name], T_END)


@cache
def problem(name: str):
    return problem_of(PROBLEMS[name])


def errors(method: Method, name: str, counts: list[int]) -> list[float]:
    return [distance(run_to(method, problem(name), T_END, n), *reference(name)) for n in counts]


# Order --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", SPLITTINGS, ids=str)
def test_the_order_is_the_one_declared(method, name):
    """Compositions of Strang reach theirs with a rotor of order 2, too."""
    counts = COUNTS[method.traits.order]
    measured = slope(counts, errors(method, name, counts))
    assert abs(measured - method.traits.order) < 0.15, measured


def halved_commutator(z, e, s, par, out):
    """Half of the commutator."""
    return top_motion.top_commutator_kick(z, e, 0.5 * s, par, out)


def no_commutator(z, e, s, par, out):
    """None of it."""
    return 0


def reversed_commutator(z, e, s, par, out):
    """The wrong sign, as printed in [vilmart2015]."""
    return top_motion.top_commutator_kick(z, e, -s, par, out)


def commutator_without_the_group(z, e, s, par, out):
    """The part a x tau, which only a group has, added a second time with the opposite sign."""
    t1 = out[4]
    t2 = out[5]
    t3 = out[6]
    a1 = par.inverse[0] * t1
    a2 = par.inverse[1] * t2
    a3 = par.inverse[2] * t3
    top_motion.top_commutator_kick(z, e, s, par, out)
    z[4] += 2.0 * s * (a2 * t3 - a3 * t2)
    z[5] += 2.0 * s * (a3 * t1 - a1 * t3)
    z[6] += 2.0 * s * (a1 * t2 - a2 * t1)
    return 0


@dataclass(frozen=True)
class WrongNystrom(ct.Nystrom4):
    """Nystrom4 with another commutator kick."""

    wrong: object = None

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        return replace(made, kernel=bind(made.kernel, {commutator_kick: self.wrong}))


@pytest.mark.parametrize("wrong", [no_commutator, halved_commutator, reversed_commutator, commutator_without_the_group])
def test_without_the_right_commutator_the_order_is_two(wrong):
    method, counts = WrongNystrom(ct.DMV(10), wrong=wrong), COUNTS[4]
    assert abs(slope(counts, errors(method, "general", counts)) - 2) < 0.15
    assert errors(method, "general", [40])[0] > 20 * errors(ct.Nystrom4(ct.DMV(10)), "general", [40])[0]


# Rotors of too low an order --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "needed"),
    [
        (lambda: ct.Splitting(4, ct.DMV(2)), 4),
        (lambda: ct.Splitting(4, ct.SymmetricRotation()), 4),
        (lambda: ct.Splitting(6, ct.DMV(4)), 6),
        (lambda: ct.Splitting(6, ct.Composition(ct.DMV(2), "suzuki4")), 6),
        (lambda: ct.Nystrom4(ct.ThreeRotations()), 4),
    ],
)
def test_a_rotor_of_too_low_an_order_is_refused(make, needed):
    with pytest.raises(ct.InputError, match=f"the splitting {needed}"):
        make()


@pytest.mark.parametrize("wrong", [ct.Gauss(2), ct.Composition(ct.StormerVerlet(), "suzuki4"), 3, "DMV(10)"], ids=str)
def test_what_is_not_a_rotor_is_refused(wrong):
    with pytest.raises(ct.InputError, match="not a rotor"):
        ct.Splitting(2, wrong)


@dataclass(frozen=True)
class Forced(ct.Splitting):
    """A splitting whose rotor is not checked."""

    def __post_init__(self) -> None:
        pass


@pytest.mark.parametrize(("rotor", "order"), [(ct.DMV(2), 2), (ct.ThreeRotations(), 2), (ct.DMV(4), 4)], ids=str)
def test_forced_it_would_lower_the_order_of_the_splitting(rotor, order):
    counts = COUNTS[4]
    assert abs(slope(counts, errors(Forced(6, rotor), "heavy", counts)) - order) < 0.15


def test_with_two_orders_more_the_rotor_does_not_show():
    """The default rotors: the error equals that of the exact rotor to three digits."""
    for order, n in ((4, 40), (6, 20)):
        usual, exact = (errors(ct.Splitting(order, rotor), "general", [n])[0] for rotor in (None, ct.Jacobi()))
        assert usual == pytest.approx(exact, rel=1e-2)
    assert splitting.DEFAULT_ROTORS[4].traits.order >= 6 and splitting.DEFAULT_ROTORS[6].traits.order >= 8


# Structure ------------------------------------------------------------------------------------------------------------------

SYMPLECTIC = [
    ct.Splitting(2), ct.Splitting(2, ct.ThreeRotations()), ct.Splitting(2, ct.DMV(2)), ct.Splitting(4, FOURTH),
    ct.Splitting(6, SIXTH), ct.Splitting(8, ct.ThreeRotations()), ct.Nystrom4(FOURTH), ct.Rattle(),
    ct.Composition(ct.Rattle(), "suzuki4"),
]  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", SYMPLECTIC, ids=str)
def test_a_step_is_symplectic(method, name):
    """M^T Omega(y1) M = Omega(y0) in 50 digits, with rotors that are; SRKN coefficients need not be exact for that."""
    assert bodies.symplectic_defect(method, problem(name), dt=0.2) < TANGENT_LEVEL


@pytest.mark.parametrize(
    ("method", "defect"),
    [(ct.Splitting(4), 9e-15), (ct.Nystrom4(), 1e-15), (ct.Splitting(6), 3e-17), (ct.Splitting(8), 8e-16)],
    ids=str,
)
def test_with_the_default_rotors_it_is_symplectic_as_far_as_these_are(method, defect):
    """Preprocessed rotors are symplectic up to their order: dt^(2p+1) of each drift. Sizes at dt = 0.2."""
    of = problem("heavy")
    measured = bodies.symplectic_defect(method, of, dt=0.2)
    assert defect / 2 < measured < 2 * defect
    p = (splitting.DEFAULT_ROTORS[method.traits.order]).traits.order
    shorter = bodies.symplectic_defect(method, of, dt=0.1)
    assert math.log2(measured / shorter) > p


ROTORS = [ct.DMV(4), ct.DMV(10), FOURTH, ct.Composition(ct.DMV(2), "suzuki4")]


@pytest.mark.parametrize("make", [partial(ct.Splitting, 2), partial(ct.Splitting, 4), ct.Nystrom4], ids=str)
@pytest.mark.parametrize("rotor", ROTORS, ids=str)
def test_with_a_rotor_symplectic_is_claimed_by_those_who_are(make, rotor):
    """And only they promise an energy without drift, and DMV(10), whose defect of order 10 no run shows."""
    method = make(rotor=rotor)
    is_symplectic = bodies.symplectic_defect(method, problem("heavy"), dt=0.2) < TANGENT_LEVEL
    assert method.traits.symplectic == is_symplectic == (rotor is not ROTORS[0] and rotor is not ROTORS[1])
    assert method.traits.promise({"energy"}) == ("bounded" if is_symplectic or rotor is ROTORS[1] else "none")
    assert ct.Composition(ct.Splitting(2, rotor), "suzuki4").traits.symplectic == is_symplectic


@pytest.mark.parametrize("method", [ct.Splitting(6, ct.Jacobi()), ct.Nystrom4(ct.Jacobi())], ids=str)
def test_with_the_exact_rotor_it_is_symplectic(method):
    """In float64 by differences of order 6, floor 1e-11; the twin below has 2e-3."""
    assert bodies.differenced_defects(method, problem("heavy"), dt=0.2)[1] < 3e-11


def test_quat_em_and_wrong_kicks_are_not_symplectic():
    assert 1e-4 < bodies.symplectic_defect(ct.QuatEM(), problem("heavy"), dt=0.2) < 1e-2
    assert (
        bodies.symplectic_defect(WrongNystrom(FOURTH, wrong=commutator_without_the_group), problem("heavy"), dt=0.2)
        > 1e-7
    )


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", [ct.ImplicitMidpoint(), ct.Gauss(2), ct.StormerVerlet(), ct.EulerB()], ids=str)
def test_canonical_methods_are_symplectic_in_q_and_g(method, name):
    harness.check_symplectic(method, problem(name))


def test_a_canonical_method_that_is_not_symplectic_is_seen():
    assert harness.symplectic_defect(ct.RadauIIA(2), problem("heavy")) > 1e-8


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", [*SPLITTINGS, ct.Nystrom4(FOURTH)], ids=str)
def test_a_step_back_undoes_a_step(method, name):
    """In 50 digits. QuatEM iterates to the end of these digits."""
    assert bodies.reversal_defect(method, problem(name), dt=0.2) < PRECISE_LEVEL


SYMMETRIC_TOP = top_problem((1.0, 1.0, 0.5), ct.Gravity(1.5, (0, 0, 1)), (0.25, 0.5, 3.0), (4, 1, 0, 0))


def symmetric_top(*moments: float):
    return top_problem(moments, ct.Gravity(1.5, (0.3, 0.2, 1.0)), (0.25, 0.5, 3.0), (4, 1, 0, 0))


SYMMETRIC_MOMENTS = [
    (1.0, 1.0, 0.5),
    (0.5, 1.0, 1.0),
    (1.0, 0.6, 1.0),
    (1.0, 1.0, 1.0),
    (1.0, 0.5, np.nextafter(1.0, 2.0)),
]


@pytest.mark.parametrize(
    ("method", "moments"),
    [
        *((ct.Splitting(6), moments) for moments in SYMMETRIC_MOMENTS),
        *((method, SYMMETRIC_MOMENTS[0]) for method in (ct.Splitting(4), ct.Splitting(8), ct.Nystrom4())),
    ],
    ids=str,
)
def test_a_top_with_two_equal_moments_is_turned_exactly(method, moments):
    """Symplectic and symmetric in 50 digits also where the body turns by more than a radian in a step."""
    of = symmetric_top(*moments)
    assert bodies.symplectic_defect(method, of, dt=0.4) < TANGENT_LEVEL
    assert bodies.reversal_defect(method, of, dt=0.4) < PRECISE_LEVEL


@pytest.mark.parametrize(("moments", "rotor"), [((1.0, 1.0 + 1e-14, 0.5), None), ((1.0, 1.0, 0.5), ct.DMV(10))])
def test_no_other_top_is_taken_for_symmetric(moments, rotor):
    """Nor is a rotor replaced that was given. Twin of the test above: the defect of DMV(10) shows in steps of this length."""
    of = symmetric_top(*moments)
    assert bodies.symplectic_defect(ct.Splitting(6, rotor), of, dt=0.4) > 1e-14


@pytest.mark.parametrize("order", [4, 6])
def test_the_exact_rotor_of_a_symmetric_top_is_that_of_jacobi(order):
    """20 steps apart by round-off, and far nearer to each other than to the motion."""
    of = symmetric_top(1.0, 1.0, 0.5)
    chosen, jacobi = (run_to(ct.Splitting(order, rotor), of, T_END, 20) for rotor in (None, ct.Jacobi()))
    assert distance(chosen, jacobi.angular_momentum, jacobi.orientation) < 1e-13
    finer = run_to(ct.Splitting(order), of, T_END, 40)
    assert distance(chosen, finer.angular_momentum, finer.orientation) > 1e-11


@pytest.mark.parametrize(
    "of", [problem("heavy"), problem("general"), SYMMETRIC_TOP], ids=["heavy", "general", "symmetric"]
)
@pytest.mark.parametrize("method", [*SPLITTINGS, ct.Nystrom4(FOURTH)], ids=str)
def test_what_is_claimed_to_be_kept_exactly_is_kept_in_50_digits(method, of):
    defects = bodies.invariant_defects(method, of, dt=0.1)
    for invariant in of.system.invariants:
        if method.traits.promise(invariant.tags) == "exact":
            assert defects[invariant.name] < PRECISE_LEVEL, invariant.name


def test_what_is_not_claimed_is_not_kept():
    """QuatEM loses the axial momentum, splittings the energy, ThreeRotations the axial momentum; U(R) the vertical one."""
    quat_em = bodies.invariant_defects(ct.QuatEM(), SYMMETRIC_TOP, dt=0.2)
    assert quat_em["energy"] < PRECISE_LEVEL and quat_em["axial_momentum"] > 1e-6
    assert bodies.invariant_defects(ct.Splitting(6), SYMMETRIC_TOP, dt=0.2)["energy"] > 1e-12
    turned = bodies.invariant_defects(ct.Splitting(2, ct.ThreeRotations()), SYMMETRIC_TOP, dt=0.2)
    assert turned["axial_momentum"] > 1e-6 and turned["vertical_momentum"] < PRECISE_LEVEL
    assert bodies.invariant_defects(ct.Rattle(), problem("general"), dt=0.2)["vertical_momentum"] > 1e-3


# The heavy cone ------------------------------------------------------------------------------------------------------------------

CONE = TOPS["cone"]


def cone():
    return ct.problems.symmetric_top("quaternion")


def test_quat_em_has_its_published_state_after_200_steps():
    end = run_to(ct.QuatEM(), cone(), 1.0, 200)
    assert distance(end, CONE["quat_em"]["y"], CONE["quat_em"]["q"]) < 1e-11


def test_rattle_has_its_published_state_after_200_steps():
    end = run_to(ct.Rattle(), cone(), 1.0, 200)
    assert np.abs(rotations.to_matrix(end.orientation) - CONE["rattle"]["rotation"]).max() < 1e-11
    assert np.abs(end.angular_momentum - CONE["rattle"]["y"]).max() < 1e-11


@pytest.mark.parametrize("wrong", [ct.Splitting(2), ct.ImplicitMidpoint()], ids=str)
def test_another_method_of_order_two_is_far_from_both(wrong):
    """So the states tell the methods apart."""
    end = run_to(wrong, cone(), 1.0, 200)
    assert distance(end, CONE["quat_em"]["y"], CONE["quat_em"]["q"]) > 1e-3
    assert np.abs(rotations.to_matrix(end.orientation) - CONE["rattle"]["rotation"]).max() > 1e-3


@pytest.mark.parametrize(("method", "name"), [(ct.QuatEM(), "quat_em"), (ct.Rattle(), "rattle")], ids=str)
def test_the_errors_of_the_cone_are_the_published_ones(method, name):
    """Error of R at t = 0.25, four digits."""
    study = CONE["convergence"]
    reached = run_to(ct.Gauss(6), cone(), study["t"], 100)
    exact = rotations.to_matrix(reached.orientation)
    measured = []
    for steps in study["steps"][:4]:
        end = run_to(method, cone(), study["t"], steps)
        measured.append(float(np.abs(rotations.to_matrix(end.orientation) - exact).max()))
    np.testing.assert_allclose(measured, study[name][:4], rtol=1e-4)
    assert abs(slope(study["steps"][1:4], measured[1:]) - 2) < 0.01


def long_run(method: Method):
    of = cone()
    program = build(of.system, method)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=0.005, every=1)
    first = run.first_row().rows
    chunk = run.advance(20_000)
    assert chunk.status == 0
    return of.system.columns(np.concatenate([first, chunk.rows]))


def test_quat_em_keeps_energy_and_momentum_over_20000_steps():
    """Relative round-off 2e-13 was published; the compensated sums do better."""
    rows = long_run(ct.QuatEM())
    for name in ("energy", "vertical_momentum"):
        assert np.abs(rows[name] / rows[name][0] - 1).max() < 2e-13, name
    assert np.abs(rows["unit_residual"]).max() < 1.1e-13
    drift = np.abs(rows["axial_momentum"] / rows["axial_momentum"][0] - 1).max()
    assert 1e-6 < drift < 1e-4, "the axial momentum is off by O(h^2), bounded"


def test_the_energy_of_rattle_stays_in_its_published_range_over_20000_steps():
    rows = long_run(ct.Rattle())
    energy = rows["energy"] - rows["energy"][0]
    np.testing.assert_allclose([energy.min(), energy.max()], CONE["long"]["rattle_energy"], atol=6e-6)
    means = [energy[1:2001].mean(), energy[-2000:].mean()]
    np.testing.assert_allclose(means, CONE["long"]["rattle_means"], atol=6e-6)
    for name in ("vertical_momentum", "axial_momentum"):
        assert np.abs(rows[name] / rows[name][0] - 1).max() < 2e-14, name
    # held by a small part of the defect per turn: measured 4 EPS, rounding of the sum of squares among it
    assert np.abs(rows["unit_residual"]).max() < 8 * EPS


# In runs -------------------------------------------------------------------------------------------------------------------------

TOPS_OF_RUNS = {
    "asymmetric": problem("heavy"),
    "symmetric": SYMMETRIC_TOP,
    "general": problem("general"),
}


def methods_for_tops() -> list[Method]:
    treating = [m for kind in all_methods() for m in kind.examples() if can_treat(SYMMETRIC_TOP.system, m)]
    return [m for m in treating if m.traits.has_order and m.traits.symmetric]


RUNNING = [
    ct.Splitting(2), ct.Splitting(4), ct.Splitting(6), ct.Nystrom4(), ct.Rattle(), ct.QuatEM(), ct.ImplicitMidpoint(),
]  # fmt: skip
NOT_SO_LONG = {"general": (ct.Nystrom4(), ct.QuatEM()), "symmetric": (ct.Splitting(4), ct.Rattle(), ct.QuatEM())}


@pytest.mark.parametrize(
    ("method", "of"),
    [
        pytest.param(
            method, of, id=f"{method}-{name}",
            marks=() if method in NOT_SO_LONG.get(name, RUNNING) else pytest.mark.slow,
        )
        for method in RUNNING
        for name, of in TOPS_OF_RUNS.items()
    ],
)  # fmt: skip
def test_no_run_contradicts_what_its_method_promises(method, of):
    """2000 steps; exact: 50 eps sqrt(steps) of the terms, bounded: no drift."""
    harness.check_promises(method, of, dt=0.05, steps=2000, every=5)


@pytest.mark.parametrize("method", [ct.Splitting(2), ct.Rattle()], ids=str)
def test_kovalevskayas_integral_is_audited_too(method):
    of = problem_of(HEAVY["B15"])
    assert [kept.row.quantity for kept in harness.audit(method, of, dt=0.05, steps=2000, every=5)][-1] == "kovalevskaya"
    harness.check_promises(method, of, dt=0.05, steps=2000, every=5)


def energy_row(method: Method):
    """The energy of an asymmetric top over 400000 steps of 0.2, a third of a turn at most."""
    return harness.audit(method, problem("heavy"), dt=0.2, steps=400_000, every=100, compiled=True)[0].row


def test_the_energy_of_a_long_run_does_not_drift():
    """Splitting(4) with its default rotor: below 2e-7 and without drift, as with the exact rotor."""
    row = energy_row(ct.Splitting(4))
    assert row.verdict == "bounded" and row.worst < 5e-7, row


def test_with_a_rotor_that_is_not_symplectic_enough_it_would():
    """DMV(6), of sufficient order: the energy drifts by 3e-11 per time, which is why it is no default."""
    row = energy_row(ct.Splitting(4, ct.DMV(6)))
    assert row.verdict == "drifts" and abs(row.drift) > 1e-11, row


def test_a_false_promise_is_contradicted():
    @dataclass(frozen=True)
    class Boastful(ct.Rattle):
        """RATTLE, declared to keep the energy."""

        @property
        def traits(self) -> Traits:
            return ct.QuatEM().traits

    with pytest.raises(AssertionError, match="energy"):
        harness.check_promises(Boastful(), SYMMETRIC_TOP, dt=0.05, steps=2000, every=5)


def test_the_methods_that_treat_tops_are_known():
    """Everything but the rotors by themselves, and Jacobi."""
    names = {method.name for method in methods_for_tops()}
    assert {
        "Splitting",
        "Nystrom4",
        "Rattle",
        "QuatEM",
        "Gauss",
        "ImplicitMidpoint",
        "StormerVerlet",
        "Composition",
    } <= names
    assert not names & {"DMV", "Jacobi", "ThreeRotations", "SymmetricRotation"}
