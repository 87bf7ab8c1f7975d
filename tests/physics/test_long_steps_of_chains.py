"""Implicit steps of chains: fixed point where it converges, Newton by blocks beyond, and what is kept in both."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.errors import CatenaWarning
from catena.kernels.views import NOT_CONVERGED
from catena.methods.base import Method
from catena.running.plan import Problem

# Iterations of a dense simplified Newton with a Jacobian by differences, started at the state and stopped at a change of
# 1e-13, on the average of ten steps of helix_chain(8): an independent program.
ITERATIONS = {0.02: 5.0, 0.05: 6.9, 0.1: 10.1, 0.2: 15.2, 0.4: 20.3}
SEEING_THE_END = 8  # more of them until it is seen that changes stay at the level of round-off


@cache
def helix(n: int = 8) -> Problem:
    return ct.problems.helix_chain(n, amp=0.1)


@cache
def program(method: Method, n: int = 8, *, compiled: bool = True) -> Program:
    return build(helix(n).system, method, compiled=compiled)  # the number of bodies is no part of the code


def driver(method: Method, dt: float, *, n: int = 8, newton: bool = False, compiled: bool = True) -> Driver:
    made = program(method, n, compiled=compiled)
    run = Driver(made, made.view.pack(helix(n).start), t0=0.0, dt=dt, every=1)
    if newton and method.solver == "auto":
        run.carry[-2] = 1.0  # as after three failures of the fixed point
    return run


def invariants(run: Driver, steps: int) -> dict[str, np.ndarray]:
    rows = [run.first_row().rows]
    chunk = run.advance(steps)
    assert chunk.status == 0
    return run.program.system.columns(np.concatenate([*rows, chunk.rows]))


# Fixed point ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_step_of_order_six_takes_few_force_evaluations():
    """At most 27 at dt = 0.01, three for each sweep; measured 21.8."""
    run = driver(ct.Gauss(3), 0.01)
    invariants(run, 200)
    counts = run.program.method.counts(run.carry)
    assert counts["newton_steps"] == 0
    assert 3 * (counts["sweeps"] / 200 - 1) <= 27


@pytest.mark.slow
def test_without_what_the_last_step_knew_it_takes_more():
    """The twin: no predictor, and positions and momenta changed together."""
    run = driver(ct.Gauss(3), 0.01)
    for _ in range(20):
        run.carry[-5] = 0.0
        assert run.advance(1).status == 0
    assert 3 * (run.program.method.counts(run.carry)["sweeps"] / 20 - 1) > 27


def sliding_rod() -> Driver:
    """A rod of six bodies that moves before it turns, with a step too long for the fixed point."""
    j = np.arange(6)
    chain = ct.Chain([ct.Body.tetrahedron()] * 6, ct.BendTwist(200.0, 30.0, 20.0, (0.0, 0.0, 1.2)))
    velocity = 0.05 * np.column_stack([np.sin(j), np.cos(j), np.sin(2 * j)]) * (j > 0)[:, None]
    start = chain.start(np.outer(1.2 * j, (0.0, 0.0, 1.0)), velocity=velocity)
    made = build(chain, ct.Gauss(3, solver="fixed-point"), compiled=False)
    return Driver(made, made.view.pack(start), t0=0.0, dt=0.3, every=1)


def test_orientations_at_rest_do_not_make_up_for_positions_that_bounce(monkeypatch):
    """The twin: the smallest change of all fields, that of the quaternions, taken for convergence."""
    run = sliding_rod()
    assert run.advance(1).status == NOT_CONVERGED
    name = next(part for part in vars(run.program.module) if part.endswith("_extremes"))
    right = getattr(run.program.module, name)
    monkeypatch.setattr(run.program.module, name, lambda *arguments: (right(*arguments)[0], 0.0))
    assert run.advance(1).status == 0


# Newton -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dt", ITERATIONS)
def test_newton_takes_as_many_iterations_as_the_dense_one(dt):
    run = driver(ct.Gauss(3), dt, newton=True)
    invariants(run, 10)
    counts = run.program.method.counts(run.carry)
    assert counts["newton_steps"] == 10
    assert ITERATIONS[dt] - 1.5 <= counts["sweeps"] / 10 - 1 <= ITERATIONS[dt] + SEEING_THE_END


def test_with_a_wrong_jacobian_it_takes_more(monkeypatch):
    """The twin: forces that change by half as much again; 34 sweeps instead of 19, uncompiled."""
    run = driver(ct.Gauss(1), 0.1, newton=True, compiled=False)
    assert run.advance(1).status == 0
    right = run.program.method.counts(run.carry)["sweeps"]
    name = next(part for part in vars(run.program.module) if part.endswith("chain_jacobian"))
    original = getattr(run.program.module, name)

    def wrong(z, par, out):
        original(z, par, out)
        out[:, 2] *= 1.5

    monkeypatch.setattr(run.program.module, name, wrong)
    run = driver(ct.Gauss(1), 0.1, newton=True, compiled=False)
    assert run.advance(1).status == 0
    assert run.program.method.counts(run.carry)["sweeps"] > right + 10


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.02, 0.1, 0.4])
def test_newton_keeps_quaternions_and_their_momenta_as_well_as_the_fixed_point(dt):
    """|q|^2 - 1 and q.g are quadratic; measured 5e-16 and 7e-15."""
    seen = invariants(driver(ct.Gauss(3), dt, newton=True), 10)
    assert np.abs(seen["unit_residual"]).max() <= 1e-15
    assert np.abs(seen["tangency_residual"]).max() <= 1e-14


@pytest.mark.slow
def test_newton_and_the_fixed_point_make_the_same_steps():
    """Ten steps of 0.05; the forces amplify the round-off of positions, eps 5.7, by dt omega_max = 1.6 and more."""
    ends = []
    for newton in (False, True):
        run = driver(ct.Gauss(3), 0.05, newton=newton)
        invariants(run, 10)
        assert run.program.method.counts(run.carry)["newton_steps"] == 10 * newton
        ends.append(run.z + run.e)
    assert np.abs(ends[0] - ends[1]).max() < 1e-12


@pytest.mark.parametrize("kind", [ct.SunGeng, ct.ImplicitMidpoint, lambda **solver: ct.RadauIIA(2, **solver)])
def test_other_implicit_methods_take_newton_too(kind):
    """One step, uncompiled, against the fixed point."""
    ends = []
    for solver in ("fixed-point", "newton"):
        run = driver(kind(solver=solver), 0.04, n=3, compiled=False)
        assert run.advance(1).status == 0
        ends.append(run.z + run.e)
    assert np.abs(ends[0] - ends[1]).max() < 1e-13


@pytest.mark.slow
def test_a_fixed_point_that_fails_three_times_is_not_tried_again():
    """dt omega_max rho(A) = 0.2 * 31.4 * 0.215 > 1: it diverges; the run tells who made the steps."""
    run = driver(ct.Gauss(3), 0.2)
    made = []
    for _ in range(5):
        assert run.advance(1).status == 0
        made.append((run.carry[-3], run.carry[-2], run.carry[-1]))
    assert made[:4] == [(1, 0, 1), (2, 0, 2), (3, 1, 3), (3, 1, 4)]
    simulated = ct.simulate(helix(), method=ct.Gauss(3), dt=0.2, steps=5)
    assert simulated.counts["newton_steps"] == 5
    assert "5 of them by Newton" in repr(simulated)
    assert np.array_equal(simulated._z, run.z)


def test_one_newton_step_is_symplectic_and_a_wrong_coefficient_is_seen():
    """M^T Omega M = Omega on R^(14 n), dt = 0.1; differences of order 6 leave 1e-9 of elements of size up to 5e2."""
    problem = ct.problems.helix_chain(2, left="free", amp=0.8)
    free = build(problem.system, ct.Gauss(3))
    start = free.view.pack(problem.start)

    def defect(of: Program) -> float:
        def end(z: np.ndarray) -> np.ndarray:
            run = Driver(of, z, t0=0.0, dt=0.1, every=1)
            run.carry[-2] = 1.0
            assert run.advance(1).status == 0
            return run.z + run.e

        gap, weights = 1e-3, ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
        unit = np.eye(len(start))
        m = np.array([sum(w * (end(start + k * gap * e) - end(start - k * gap * e)) for k, w in weights) / gap
                      for e in unit]).T  # fmt: skip
        half = len(start) // 2
        omega = np.block([[np.zeros((half, half)), np.eye(half)], [-np.eye(half), np.zeros((half, half))]])
        return float(np.abs(m.T @ omega @ m - omega).max())

    assert defect(free) < 1e-6
    tab = free.stepper.tab.copy()
    tab[0, 1] += 1e-4
    assert defect(replace(free, stepper=replace(free.stepper, tab=tab))) > 1e-5


def seconds_for(run: Driver, steps: int) -> float:
    run.advance(1)
    began = time.process_time()
    assert run.advance(steps).status == 0
    return time.process_time() - began


def test_the_cost_of_a_newton_step_grows_with_the_number_of_bodies_only():
    """From 8 to 512 bodies 64 times as much; measured 60 to 100, as round-off grows with the length. A dense matrix would take 64^3 times as much."""
    few = min(seconds_for(driver(ct.Gauss(3), 0.1, newton=True), 64) for _ in range(3)) / 64
    many = min(seconds_for(driver(ct.Gauss(3), 0.1, n=512, newton=True), 2) for _ in range(3)) / 2
    assert many / few < 2.5 * 64


# Failure --------------------------------------------------------------------------------------------------------------


def crumpling_row() -> Problem:
    """A row far from equilibrium, which says so."""
    with pytest.warns(CatenaWarning, match="far from equilibrium"):
        return ct.problems.printed_chain(8)


def test_a_failed_step_tells_where_and_what_was_recorded_opens(tmp_path):
    """Steps too long for a row that falls together: the sixth fails."""
    with pytest.raises(ct.StepFailure) as caught:
        ct.simulate(crumpling_row(), method=ct.Gauss(3), dt=0.15, steps=50, out=tmp_path / "run.zarr")
    failure = caught.value
    assert failure.step > 1
    assert 0 <= failure.body < 8
    assert f"step {failure.step}, t = {failure.time:.10g}, body {failure.body}" in str(failure)
    assert len(failure.changes) >= 2
    assert f"{failure.changes[-1]:.1e}" in str(failure)
    assert "use a smaller dt" in str(failure)
    assert len(str(failure).splitlines()) <= 4
    again = ct.open(tmp_path / "run.zarr")
    assert again.steps == failure.step - 1
    assert again.data.sizes["time"] == failure.step


def test_a_failed_step_leaves_the_state():
    problem = crumpling_row()
    made = build(problem.system, ct.Gauss(3))
    run = Driver(made, made.view.pack(problem.start), t0=0.0, dt=50.0, every=1)
    before = run.z.copy()
    assert run._call(1, np.empty((1, made.width)))[0] == NOT_CONVERGED
    assert np.array_equal(run.z, before)
    assert not run.e.any()
