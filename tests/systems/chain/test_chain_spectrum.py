"""Frequencies of chains, the steps that follow from them, and steps that are too long."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.errors import CatenaWarning
from catena.kernels import views
from catena.running.plan import make_plan
from catena.systems.chain import block_band, link_mechanics
from catena.systems.chain import spectrum as chain_spectrum
from kernels import Kernel
from places import read_reference

FREQUENCIES = read_reference("frequencies.toml")


def helix(n: int, **options) -> ct.Problem:
    return ct.problems.helix_chain(n, **options)


def frequencies(problem: ct.Problem) -> np.ndarray:
    """All of them, those of held coordinates left out, of rigid motions zero."""
    matrix = block_band.assemble(*chain_spectrum.weigh_stiffness(problem.system, problem.start))
    moving = np.abs(matrix).max(axis=0) > 0.0
    return np.sqrt(np.maximum(0.0, np.linalg.eigvalsh(matrix[np.ix_(moving, moving)])))


@pytest.mark.parametrize("name", FREQUENCIES)
def test_frequencies_of_the_helix(name):
    """References: second derivatives by differences in 50 digits, Rayleigh-Ritz in 32 digits.

    omega = 0.008 out of 32 is the root of 6e-8 of the largest eigenvalue: round-off leaves 1e-8 of it; measured 5e-11.
    """
    case = FREQUENCIES[name]
    found = frequencies(helix(**case["arguments"]))
    rigid = case["rigid"]
    assert found[:rigid].max(initial=0.0) < 1e-5
    assert found[rigid : rigid + 6] == pytest.approx(case["lowest"], rel=1e-8 if len(found) > 300 else 1e-12)
    assert found[-1] == pytest.approx(case["highest"], rel=1e-12)


def test_a_wrong_distance_is_seen():
    """The twin: the helix stretched by 1e-6 has other frequencies."""
    case = FREQUENCIES["R9a"]
    problem = helix(**case["arguments"])
    stretched = ct.State({**problem.start.fields, "position": (1 + 1e-6) * problem.start.position})
    found = frequencies(ct.Problem("", problem.system, stretched, 0.02))
    assert abs(found[-1] / case["highest"] - 1.0) > 1e-7


@pytest.mark.parametrize(("state", "highest"), [("helix", 31.8438), ("zigzag", 33.3766)])
def test_the_highest_frequency_is_exact(state, highest):
    """Six digits as printed; against all eigenvalues to the width 1e-13 of the bisection and their round-off."""
    problem = helix(64, state=state)
    found = chain_spectrum.highest_frequency(problem.system, problem.start)
    assert found == pytest.approx(highest, rel=2e-6)
    assert found == pytest.approx(frequencies(problem)[-1], rel=2e-13)


def test_the_highest_frequency_of_a_very_long_chain_approaches_that_of_the_infinite_one():
    """omega_max = 31.8494500361202 at k = pi; ends take 1/n^2 of it: 2.3e-5 at 1000 bodies, so that 4000 miss a sixteenth of that."""
    missing = [
        31.8494500361202 - chain_spectrum.highest_frequency(helix(n).system, helix(n).start) for n in (1000, 4000)
    ]
    assert missing[0] == pytest.approx(2.27e-5, rel=0.01)
    assert missing[0] / missing[1] == pytest.approx(16.0, rel=0.02)


@pytest.mark.parametrize("name", FREQUENCIES)
def test_the_bound_lies_above_the_highest_frequency_but_not_far(name):
    case = FREQUENCIES[name]
    problem = helix(**case["arguments"])
    bound = chain_spectrum.frequency_bound(problem.system, problem.start)
    assert case["highest"] <= bound < 1.2 * case["highest"]


MIXED = ct.Chain(
    [ct.Body.tetrahedron(), ct.Body.from_particles([[0.1, 0.5, 0.2], [0.3, -0.4, 0.7], [-0.5, 0.1, -0.3]])] * 2,
    [ct.LennardJones(5.0, 1.0), ct.BendTwist(10.0, 2.0, 3.0, (1.1, 0.6, 0.4)),
     ct.Morse(5.0, 3.0, 1.1) + ct.BendTwist(5.0, 2.0, 3.0, (1.1, 0.6, 0.4))],
    right=ct.Force((3.0, 0.0, 0.0)),
)  # fmt: skip


def test_the_stiffness_is_that_of_the_forces():
    """Two routes: arrays of NumPy here, the kernel of Newton's method there, which is not symmetrised where a body is twisted."""
    for chain, start in ((MIXED, helix(4).start), (helix(4).system, helix(4).start)):
        turns = Kernel(chain, "canonical", views.block_jacobian)
        out = np.zeros((chain.count, 6, 7, 7))
        turns.function(chain.view("canonical").pack(start), turns.par, out)
        slopes = turns.par.slopes
        to_space = np.zeros((chain.count, 6, 6))
        to_space[:, :3, :3] = to_space[:, 3:, 3:] = link_mechanics.principal_rotations(chain, start)
        diagonal, right = chain_spectrum.stiffness(chain, start)
        diagonal = to_space @ diagonal @ to_space.swapaxes(1, 2)
        right = to_space[:-1] @ right @ to_space[1:].swapaxes(1, 2)
        own = -0.5 * (slopes[:, 1] + slopes[:, 1].transpose(0, 2, 1))
        beside = -0.5 * (slopes[:-1, 2] + slopes[1:, 0].transpose(0, 2, 1))
        assert np.abs(diagonal - own).max() < 1e-8 * np.abs(own).max()
        assert np.abs(right - beside).max() < 1e-8 * np.abs(own).max()


# Steps ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "wanted"),
    [(ct.Splitting(2), 0.4), (ct.Splitting(4), 0.2 * 5.02691), (ct.Splitting(6), 0.2 * 9.07361), (ct.Gauss(3), 1.0),
     (ct.RadauIIA(2), 1.0), (ct.StormerVerlet(), 0.4)], ids=str,
)  # fmt: skip
def test_the_suggested_step_is_a_fifth_of_the_limit_or_resolves_the_fastest_mode(method, wanted):
    problem = helix(8)
    assert problem.system.suggest_dt(method, problem.start) == pytest.approx(wanted / 31.43277117466771, rel=1e-6)


def test_the_suggested_step_is_the_default_and_divides_the_time():
    problem = helix(8)
    suggested = problem.system.suggest_dt(start=problem.start)
    plan, steps = make_plan(problem.system, problem.start, None, dt=None, steps=None, t_end=1.0)
    assert plan.dt * steps == pytest.approx(1.0, rel=1e-15)
    assert steps == np.ceil(1.0 / suggested)
    assert make_plan(problem.system, problem.start, None, dt=None, steps=7, t_end=None)[0].dt == suggested


def test_a_fast_spin_asks_for_shorter_steps():
    problem = helix(8)
    spin = problem.start.angular_momentum.copy()
    spin[3] = (400.0, 0.0, 0.0)
    spinning = ct.State({**problem.start.fields, "angular_momentum": spin})
    omega = 400.0 / ct.Body.tetrahedron().moments[0]
    assert problem.system.suggest_dt(ct.Gauss(3), spinning) == pytest.approx(1.0 / omega)


def far_apart() -> tuple[ct.Chain, ct.State]:
    chain = ct.Chain([ct.Body.tetrahedron()] * 2, ct.WCA(1.0, 1.0))
    return chain, chain.straight(30.0)


def test_where_nothing_can_be_suggested_it_says_so():
    problem = helix(8)
    chain, start = far_apart()
    for make, match in (
        (lambda: problem.system.suggest_dt(), "depend on where it is"),
        (lambda: problem.system.suggest_dt(ct.ExplicitEuler(), problem.start), "no stable step"),
        (lambda: chain.suggest_dt(start=start), "nothing oscillates"),
    ):
        with pytest.raises(ct.InputError, match=match):
            make()


LIMIT = 2.0 / 31.43277117466771


@pytest.mark.parametrize("method", [ct.Splitting(2), ct.StormerVerlet(), ct.Rattle()], ids=str)
def test_a_step_beyond_the_limit_is_refused_and_one_near_it_is_warned_of(method):
    problem = helix(8)
    with pytest.raises(ct.InputError, match=r"dt = 0.064 is unstable.*0.06363 .*omega = 31.4328") as caught:
        make_plan(problem, None, method, dt=0.064, steps=1, t_end=None)
    assert len(str(caught.value).splitlines()) <= 4
    with pytest.warns(CatenaWarning, match="near the limit"):
        make_plan(problem, None, method, dt=0.063, steps=1, t_end=None)
    make_plan(problem, None, method, dt=0.047, steps=1, t_end=None)  # a warning would be an error
    make_plan(problem, None, ct.Gauss(3), dt=1.0, steps=1, t_end=None)


def growth(dt: float) -> float:
    """Of a tiny motion, in 50 steps."""
    problem = helix(3, amp=1e-9)
    program = build(problem.system, ct.Splitting(2, ct.ThreeRotations()), compiled=False)  # z = r, q, p, y
    run = Driver(program, program.view.pack(problem.start), t0=0.0, dt=dt, every=50)
    chunk = run.advance(50)
    assert chunk.status == 0
    momentum = problem.system.columns(chunk.rows)["momentum"][-1]
    return float(np.abs(momentum).max() / np.abs(problem.start.momentum).max())


def test_the_limit_is_where_small_motions_begin_to_grow():
    """2 / omega_max; beyond it the fastest mode alternates and grows by exp(2 arcosh(dt omega/2)) a step, 1e6 in fifty."""
    problem = helix(3)
    limit = 2.0 / chain_spectrum.highest_frequency(problem.system, problem.start)
    assert growth(0.99 * limit) < 100.0
    assert growth(1.01 * limit) > 1e3
