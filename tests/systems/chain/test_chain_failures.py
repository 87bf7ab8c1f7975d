"""A step of a chain that cannot be made says which, when, where, by how much, and what to do; what was recorded is kept."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.errors import StepFailure
from catena.methods.runge_kutta import stages
from chains import in_form
from uncompiled import simulate


def failure_of(problem: ct.Problem, method, dt: float, steps: int = 200) -> StepFailure:
    with pytest.raises(StepFailure) as error:
        simulate(problem, None, method, dt=dt, steps=steps)
    return error.value


@pytest.mark.parametrize("form", ["quaternion", "rotation"])
def test_a_state_that_is_no_longer_finite_names_the_body(form):
    """Body 2 is shot onto its neighbour: one step of 1/16 at speed 48 covers exactly the 3 between them."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 4, ct.WCA(5.0, 1.0), left=ct.Free())
    position = [[0, 0, 0], [10.0, 0, 0], [20.0, 0, 0], [23.0, 0, 0]]
    start = chain.start(position, velocity=[[0, 0, 0], [0, 0, 0], [48.0, 0, 0], [0, 0, 0]])
    problem = in_form(ct.Problem("shot", chain, start, 0.0625), form)
    failure = failure_of(problem, ct.Splitting(2), 0.0625)
    assert failure.body in (2, 3)
    assert f"body {failure.body}" in failure.where
    assert f"step {failure.step}, t = {failure.time:.10g}" in failure.where
    assert failure.do
    assert len(failure.run.data.time) == failure.step
    assert len(str(failure).splitlines()) <= 4


def test_a_body_that_turns_too_fast_for_the_rotor_is_named():
    problem = ct.problems.helix_chain(4, left="free")
    spin = np.zeros((4, 3))
    spin[2] = (0.0, 60.0, 0.0)
    start = problem.system.start(problem.start.position, problem.start.orientation, angular_velocity=spin)
    failure = failure_of(ct.Problem("spun", problem.system, start, 0.05), ct.Splitting(4), 0.05)
    assert (failure.step, failure.time, failure.body) == (1, 0.0, 2)
    assert "dt |omega| is 3" in failure.wrong
    assert "body 2" in failure.where


@pytest.mark.parametrize("form", ["quaternion", "multiplier"])
def test_stages_without_a_solution_tell_the_last_changes(form):
    """A step 40 times beyond the fixed point's reach, without Newton."""
    problem = in_form(ct.problems.helix_chain(4, amp=0.3), form)
    failure = failure_of(problem, ct.Gauss(2, solver="fixed-point"), 4.0)
    assert failure.step == 1
    assert "have no solution within reach" in failure.wrong
    assert "last relative changes" in failure.wrong
    assert 'solver="newton"' in failure.do


def swept(*changes: float) -> tuple[int, list[float]]:
    """What is told of a step of two stages and four variables with these changes, from the second sweep on."""
    tab = stages.table(ct.Gauss(2).tableau())
    work = np.zeros(stages.count_used(np.empty(4), tab))
    for number, change in enumerate(changes, 2):
        stages.note(number, change, np.empty(4), tab, work)
    return stages.note_sweep(work, 4, tab)


def test_stages_that_are_no_numbers_are_not_told_to_have_converged(monkeypatch):
    """Beyond the edge of a square root the rates are nan, which slips through all comparisons: a change of 0.0e+00 was told."""
    assert swept(1.6, 2.8) == (0, [1.6, 2.8])
    told = swept(1.6, 2.8, 0.0)
    assert told[1][:2] == [1.6, 2.8] and np.isnan(told[1][2])
    monkeypatch.setattr(stages, "note_sweep", lambda *_: told)
    failure = failure_of(ct.problems.helix_chain(4, amp=0.3), ct.Gauss(2, solver="fixed-point"), 4.0)
    assert "no longer finite" in failure.wrong and "within reach" not in failure.wrong
    assert failure.wrong.endswith("last relative changes 1.6e+00, 2.8e+00, nan")


@pytest.mark.parametrize("form", ["quaternion", "multiplier"])
def test_power_series_that_cannot_follow_the_forces_of_a_chain_are_refused(form):
    """Forces are kept in par on the way, as numbers; series are none."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 2, ct.LennardJones(5.0, 1.0), form=form)
    with pytest.raises(ct.CapabilityError, match="keeps numbers on the way"):
        build(chain, ct.Taylor(), compiled=False)
