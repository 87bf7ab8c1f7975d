"""What every method claims about its structure, and what every step must do; each claim with methods that fail it."""

from __future__ import annotations

import math

import mpmath
import pytest

import broken
import catena as ct
import harness
import many_digits
from catena.engine.build import build
from catena.engine.pairing import can_treat
from catena.methods.base import Bounded, Drifts, Exact
from catena.methods.runge_kutta import iteration
from catena.running.auditing import EPS
from harness import examples, pairs, problem, slow_where

SEPARABLE_AND_NOT = ("kepler", "pendulum")
CANONICAL = (*SEPARABLE_AND_NOT, "henon_heiles", "galactic")
WITH_INVARIANTS = ("trough", "whirl")
BODIES = ("book", "lagrange_top")
LINKED = ("hanging_chain",)


def fails(check, *arguments, **options) -> bool:
    """Whether a check refuses what it is given."""
    try:
        check(*arguments, **options)
    except AssertionError:
        return True
    return False


# Symplectic, symmetric ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "of"), pairs(*CANONICAL, where=lambda m: m.traits.symplectic))
def test_the_derivative_of_a_step_is_symplectic(method, of):
    """D^T J D = J in 50 digits; the level is derived where it stands, in the harness."""
    harness.check_symplectic(method, of)


@pytest.mark.parametrize(
    ("method", "of"), pairs("pendulum", where=lambda m: not m.traits.symplectic and m.traits.has_order)
)
def test_methods_that_claim_no_symplecticity_have_none(method, of):
    """The weakest of them, RadauIIA(3), has a defect of 5e-12 here: the check sees what it must see."""
    assert harness.symplectic_defect(method, of) > 1e-14


@pytest.mark.parametrize(
    "twin",
    [broken.BoastfulEuler(), broken.BoastfulRK4(), broken.PlainlyRoundedGauss(3), broken.MisprintedGauss()],
    ids=str,
)
def test_a_step_that_is_not_symplectic_is_seen(twin):
    assert fails(harness.check_symplectic, twin, problem("pendulum"))


def test_rounding_every_coefficient_for_itself_breaks_symplecticity_by_less_than_float64_can_see():
    """And yet it makes the energy of a long run drift (tests/physics/test_roundoff.py)."""
    assert 1e-20 < harness.symplectic_defect(broken.PlainlyRoundedGauss(3), problem("pendulum")) < 1e-16


@pytest.mark.parametrize(("method", "of"), pairs(*CANONICAL, where=lambda m: m.traits.symmetric))
def test_a_step_back_undoes_a_step(method, of):
    """Phi_-h(Phi_h(y)) = y in 50 digits."""
    harness.check_symmetric(method, of)


@pytest.mark.parametrize(
    ("method", "of"), pairs("pendulum", where=lambda m: not m.traits.symmetric and m.traits.has_order)
)
def test_methods_that_claim_no_symmetry_have_none(method, of):
    """The smallest defect is that of SunGeng, 1e-10."""
    assert harness.reversal_defect(method, of) > 1e-12


@pytest.mark.parametrize("twin", [broken.BoastfulEuler(), broken.BoastfulRK4(), broken.LopsidedVerlet()], ids=str)
def test_a_step_that_is_not_symmetric_is_seen(twin):
    assert fails(harness.check_symmetric, twin, problem("kepler"))


def test_lopsided_kicks_are_still_symplectic():
    """So symmetry is a claim of its own."""
    harness.check_symplectic(broken.LopsidedVerlet(), problem("kepler"))


# What is kept ------------------------------------------------------------------------------------------------------


def claims(kind: type) -> set[str]:
    return {claim.what for method in examples() for claim in method.traits.keeps if isinstance(claim, kind)}


def test_for_every_claim_there_is_a_problem_with_such_an_invariant():
    """A tag that no invariant carries could never fail."""
    systems = [problem(name).system for name in (*WITH_INVARIANTS, *BODIES, *LINKED, "kovalevskaya")]
    known = {tag for system in systems for invariant in system.invariants for tag in invariant.tags}
    assert claims(Exact) | claims(Bounded) | claims(Drifts) <= known
    for name in WITH_INVARIANTS:
        kinds = [invariant.tags for invariant in problem(name).system.invariants]
        assert {"linear", "bilinear", "quadratic"} in kinds
        assert {"bilinear", "quadratic"} in kinds
        assert {"quadratic"} in kinds


@pytest.mark.parametrize(("method", "of"), pairs(*WITH_INVARIANTS, where=lambda m: m.traits.has_order))
def test_what_is_kept_exactly_is_kept_in_50_digits(method, of):
    harness.check_keeps_exactly(method, of)


@pytest.mark.parametrize(("method", "of"), pairs(*WITH_INVARIANTS, where=lambda m: m.traits.symplectic))
def test_quadratic_invariants_are_kept_by_those_who_claim_it_only(method, of):
    """Partitioned methods and compositions of them change quadratic invariants that are not bilinear."""
    quadratic = [i for i in of.system.invariants if i.tags == {"quadratic"}]
    defects = harness.invariant_defects(method, of)
    claimed = Exact("quadratic") in method.traits.keeps
    assert all((defects[i.name] < harness.PRECISE_LEVEL) == claimed for i in quadratic)


@pytest.mark.parametrize("name", WITH_INVARIANTS)
@pytest.mark.parametrize(
    "twin",
    [broken.BoastfulEuler(), broken.BoastfulRK4(), broken.PlainlyRoundedGauss(3), broken.HastyMidpoint()],
    ids=str,
)
def test_a_claim_to_keep_what_is_not_kept_is_seen(twin, name):
    assert fails(harness.check_keeps_exactly, twin, problem(name))


def is_long(method, of) -> bool:
    """Compositions of many stages on a top take as long as all others together, and step by the kernels of the short ones."""
    return of.name == "lagrange_top" and isinstance(method, ct.Composition) and method.traits.order > 4


@pytest.mark.parametrize(
    ("method", "of"), slow_where(pairs(*WITH_INVARIANTS, *BODIES, where=lambda m: m.traits.symplectic), is_long)
)
def test_what_is_kept_exactly_is_kept_up_to_round_off_in_a_run(method, of):
    """50 eps sqrt(steps) times the terms of the invariant; only if implicit equations are solved to round-off."""
    harness.check_promises(method, of, dt=0.05, steps=220)


def test_equations_that_are_not_solved_to_round_off_are_seen():
    assert fails(harness.check_promises, broken.HastyMidpoint(), problem("trough"), dt=0.05, steps=220)


@pytest.mark.parametrize(
    ("method", "of"),
    slow_where(
        pairs("kepler", where=lambda m: Bounded("energy") in m.traits.keeps), lambda method, of: method.traits.order > 4
    ),
)
def test_the_energy_error_of_a_run_does_not_drift(method, of):
    """Forty revolutions: most methods take longer to compile than to run uncompiled."""
    harness.check_promises(method, of, dt=0.05, steps=5_000, every=5)


LONG = [ct.StormerVerlet(), ct.Composition(ct.StormerVerlet(), "kahanli8")]  # the others in `make slow`


@pytest.mark.parametrize(
    ("method", "of"),
    slow_where(
        pairs("kepler", where=lambda m: Bounded("energy") in m.traits.keeps and m.traits.explicit),
        lambda method, of: method not in LONG,
    ),
)
def test_the_energy_error_of_a_long_run_does_not_drift(method, of):
    """Eight hundred revolutions."""
    harness.check_promises(method, of, dt=0.05, steps=100_000, every=20, compiled=True)


@pytest.mark.parametrize(
    ("method", "of"),
    slow_where(
        pairs("pendulum", where=lambda m: Bounded("energy") in m.traits.keeps),
        lambda method, of: method not in (ct.ImplicitMidpoint(), ct.StormerVerlet(), ct.EulerA()),
    ),
)
def test_the_energy_error_does_not_drift_where_h_is_not_separable(method, of):
    harness.check_promises(method, of, dt=0.1, steps=1000)


@pytest.mark.parametrize(("method", "of"), pairs("henon_heiles", where=lambda m: Drifts("energy") in m.traits.keeps))
def test_an_energy_that_is_said_to_drift_does(method, of):
    """Order 1 with a small step: with the usual one it has lost its energy before the audit has enough samples."""
    dt = 0.1 if method.traits.order > 1 else 0.005
    harness.check_promises(method, of, dt=dt, steps=2000)


@pytest.mark.parametrize("twin", [broken.BoastfulEuler(), broken.BoastfulRK4()], ids=str)
def test_a_drift_that_is_denied_is_seen(twin):
    dt = 0.1 if twin.traits.order > 1 else 0.005
    assert fails(harness.check_promises, twin, problem("henon_heiles"), dt=dt, steps=2000)


def test_a_drift_that_is_not_there_is_missed():
    assert fails(harness.check_promises, broken.DriftingGauss(), problem("henon_heiles"), dt=0.1, steps=2000)


# When an iteration ends ---------------------------------------------------------------------------------------------


def judged(changes: list[tuple[float, float]]) -> list[int]:
    """The decisions on a sequence of (largest, smallest) relative changes of the fields, up to the last one."""
    decisions, best, worse = [], math.inf, 0
    for sweep, (most, least) in enumerate(changes, start=1):
        decision, best, worse = iteration.judge(most, least, best, worse, sweep)
        decisions.append(decision)
        if decision != iteration.GO_ON:
            break
    return decisions


def test_fields_that_change_by_turns_do_not_end_an_iteration_early():
    """Changes of q and p in a step of Gauss(4): the third sweep is larger than the second, and p hardly moved in it."""
    turns = [(5.2e-6, 2.4e-9), (2.8e-9, 2.0e-9), (3.5e-9, 8.9e-13), (2e-12, 1e-12), (1e-15, 4e-16), (0.0, 0.0)]
    assert judged(turns) == [iteration.GO_ON] * 5 + [iteration.DONE]


def test_an_iteration_ends_where_round_off_begins():
    assert judged([(1e-6, 1e-6), (1e-12, 1e-12), (2e-16, 1e-16), (2e-16, 1e-16)])[-1] == iteration.DONE


def test_a_field_that_is_noise_itself_does_not_keep_an_iteration_from_ending():
    """Momenta near an equilibrium change by all of their size, for ever; the positions have long been found."""
    noise = [(0.5, 1e-17)] * 50
    assert judged([(1.0, 1e-3), *noise]) == [iteration.GO_ON] * (1 + iteration.STAGNANT) + [iteration.DONE]


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e9])
def test_an_iteration_that_bounces_far_above_round_off_fails(size):
    decisions = judged([(size, size), (2 * size, 2 * size)] * 100)
    assert decisions[-1] == iteration.FAILED
    assert len(decisions) <= 2 * iteration.WORSE


def test_an_iteration_that_overflows_fails_at_once():
    assert judged([(math.inf, 1.0)]) == judged([(math.nan, 1.0)]) == [iteration.FAILED]


# What a step does ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "of"), pairs("kepler", where=lambda m: m.traits.explicit and m.traits.has_order))
def test_explicit_methods_never_iterate(method, of):
    """As many evaluations for a long step as for a short one."""
    harness.check_never_iterates(method, of)


@pytest.mark.parametrize(("method", "of"), pairs("kepler", where=lambda m: not m.traits.explicit))
def test_implicit_methods_are_seen_to_iterate(method, of):
    assert fails(harness.check_never_iterates, method, of)


def test_an_implicit_method_that_is_declared_explicit_is_seen():
    assert fails(harness.check_never_iterates, broken.IteratingEuler(), problem("kepler"))


def repeats(method) -> bool:
    return not (method.traits.adaptive or method.traits.random)


@pytest.mark.parametrize(("method", "of"), pairs(*SEPARABLE_AND_NOT, where=repeats))
def test_nothing_has_to_be_known_before_the_first_step(method, of):
    """A carry of zeros gives the same step, in 50 digits; that of an adaptive method to its tolerance only. Noise knows its step."""
    harness.check_cold_start(method, of)


def test_a_carry_that_must_be_known_is_seen():
    assert fails(harness.check_cold_start, broken.Presumptuous(), problem("kepler"))


@pytest.mark.parametrize(("method", "of"), slow_where(pairs(*SEPARABLE_AND_NOT, *BODIES), is_long))
def test_a_run_resumes_to_the_same_bits(method, of):
    harness.check_resumes(method, of)


def test_memory_outside_the_carry_is_seen():
    assert fails(harness.check_resumes, broken.Forgetful(), problem("kepler"))


@pytest.mark.parametrize(("method", "of"), pairs("kepler", where=lambda m: not m.traits.explicit))
def test_a_failed_step_leaves_the_state_as_it_was(method, of):
    """Some step that is far too long fails, here or on the pendulum."""
    failed = harness.check_failures_leave_the_state(method, of)
    assert failed + harness.check_failures_leave_the_state(method, problem("pendulum")) > 0


@pytest.mark.parametrize("base", [ct.ImplicitMidpoint(), ct.StormerVerlet()], ids=str)
def test_a_composition_whose_last_stage_fails_leaves_the_state_as_it_was(base):
    """Implicit stages can fail after others have been made."""
    assert harness.check_failures_leave_the_state(ct.Composition(base, "suzuki4"), problem("pendulum")) > 0


def test_a_state_that_is_changed_by_a_failure_is_seen():
    assert fails(harness.check_failures_leave_the_state, broken.Careless(), problem("kepler"))


def test_a_kernel_that_allocates_is_refused():
    """What proves that no compiled loop allocates: numba has no memory to give."""
    from numba.core.errors import NumbaError

    build(problem("kepler").system, broken.Allocating(), compiled=False)
    with pytest.raises(NumbaError, match=r"(?i)nrt|allocat"):
        build(problem("kepler").system, broken.Allocating())


def test_every_method_treats_one_of_the_problems_of_these_tests():
    names = (*CANONICAL, *WITH_INVARIANTS, *BODIES, *LINKED)
    for method in examples():
        assert any(can_treat(problem(name).system, method) for name in names), method


def test_the_level_of_the_checks_is_far_below_float64():
    """50 digits leave 1e-45 after a few thousand operations; what float64 cannot see is 1e-17."""
    assert harness.PRECISE_LEVEL < harness.SYMPLECTIC_LEVEL < 1e-6 * EPS


def test_the_numbers_of_mpfr_are_those_of_mpmath(monkeypatch):
    """Both round the operations of a polynomial field correctly; with a digit more they differ."""
    program = harness.Precise(ct.Gauss(2), problem("henon_heiles"))

    def end(digits):
        with mpmath.workdps(digits):
            return list(program.steps(program.start(), 0.1))

    fast, other = end(harness.DIGITS), end(harness.DIGITS + 1)
    monkeypatch.setattr(many_digits, "compute", lambda kernel, *arguments: kernel(*arguments))
    monkeypatch.setattr(program.module, "math", mpmath.mp)
    assert end(harness.DIGITS) == fast != other
