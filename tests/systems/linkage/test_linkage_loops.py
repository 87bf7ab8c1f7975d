"""Closed loops with redundant rows: the four-bar linkage and Bricard's six bars, and a branched tree against a dense solution."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.systems.linkage.director_form import solver as linkage_solver
from linked import difference, independent_motion
from places import read_reference
from uncompiled import simulate

FOUR_BAR = read_reference("linkage.toml")["four_bar"]
METHODS = (ct.EnergyMomentum(), ct.EnergyMomentum(level="position"), ct.Rattle())


def worst(run: ct.Run, name: str) -> float:
    """Largest change of an invariant in a run."""
    values = np.asarray(run.data[name])
    return float(np.abs(values - values[0]).max())


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(ct.problems.four_bar, id="four_bar"),
        pytest.param(ct.problems.bricard, id="bricard", marks=pytest.mark.slow),
    ],
)
def test_loops_are_held_although_rows_are_redundant(make, method) -> None:
    """20 rows of rank 17, 30 rows of rank 29: those left out hold, too, and the energy is kept."""
    problem = make()
    run = simulate(problem, None, method, dt=0.02, steps=3)
    assert worst(run, "joint_position_residual") < 1e-14
    if method.traits.promise({"energy"}) == "exact":
        assert worst(run, "energy") < 1e-13
    if method != ct.EnergyMomentum(level="position"):
        assert worst(run, "joint_velocity_residual") < 1e-13


@pytest.mark.parametrize(("make", "rank"), [(ct.problems.four_bar, 17), (ct.problems.bricard, 29)])
def test_as_many_rows_are_kept_as_the_loop_has_rank(make, rank) -> None:
    problem = make()
    program = build(problem.system, ct.EnergyMomentum(), compiled=False)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=0.02, every=1)
    driver.advance(1)
    assert int(driver.par.row_sort[:, 3].sum()) == rank


def test_the_four_bar_starts_with_its_energy() -> None:
    problem = ct.problems.four_bar()
    run = simulate(problem, None, ct.EnergyMomentum(), dt=0.01, steps=1)
    assert float(run.data["energy"][0]) == pytest.approx(FOUR_BAR["energy"], abs=1e-12)


@pytest.mark.slow
def test_the_motion_of_a_loop_is_that_of_an_independent_integrator() -> None:
    problem = ct.problems.bricard()
    reference = independent_motion(problem.system, problem.start, 0.1)
    errors = [
        difference(simulate(problem, None, ct.EnergyMomentum(), dt=0.1 / n, steps=n).final, reference) for n in (1, 2)
    ]
    assert 3.7 < errors[0] / errors[1] < 4.3


@pytest.mark.parametrize("level", ["both", "position"])
def test_the_sweep_along_a_branched_tree_solves_the_same_equations_as_one_dense_matrix(level, monkeypatch) -> None:
    """Mixed joints, a free body, springs along joints and to the ground; only the elimination differs."""
    box = ct.Body.box((0.3, 0.4, 0.5), mass=2.0)
    joints = [
        ct.Revolute(-1, 1, ((0, 0, 0), (0, 0, 0.3)), axis=(1, 0, 0)),
        ct.Spherical(1, 0, ((0.1, 0, -0.3), (0, 0, 0.3))),
        ct.Universal(1, 3, ((-0.1, 0, -0.3), (0, 0.2, 0.3)), axis=(0, 1, 0)),
        ct.Rigid(3, 2, ((0, 0, -0.3), (0.1, 0, 0.3))),
    ]
    forces = [ct.Spring(1, 0, k=30.0, length=0.4), ct.Spring(-1, 2, ((1, 0, 0), (0, 0, 0)), k=9.0, length=0.5)]
    linkage = ct.Linkage([box] * 5, joints, forces)
    start = linkage.start(angular_velocity=[(0.1 * j, 0.3, 0.2) for j in range(5)], project=True)
    method = ct.EnergyMomentum(level=level)
    tree = simulate(linkage, start, method, dt=0.05, steps=3).final
    monkeypatch.setattr(linkage_solver, "tree_correction", linkage_solver.dense_correction)
    monkeypatch.setattr("catena.systems.linkage.traits.is_dense", lambda linkage: True)
    dense = simulate(linkage, start, method, dt=0.05, steps=3).final
    assert difference(tree, dense) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("make", [ct.problems.four_bar, ct.problems.bricard], ids=["four_bar", "bricard"])
def test_loops_keep_everything_over_ten_thousand_steps(make) -> None:
    run = ct.simulate(make(), method=ct.EnergyMomentum(), dt=0.01, steps=10_000, every=20)
    assert worst(run, "energy") < 1e-11
    assert worst(run, "joint_position_residual") < 1e-11
    assert worst(run, "joint_velocity_residual") < 1e-11


@pytest.mark.slow
def test_the_period_of_the_four_bar_is_that_of_the_quadrature() -> None:
    """The crank is back at rest after one period; the turning point lies half a period before."""
    period = FOUR_BAR["period"]
    problem = ct.problems.four_bar()
    method = ct.Composition(ct.EnergyMomentum(), "kahanli6")
    run = ct.simulate(problem, method=method, dt=period / 400, steps=400, every=200)
    q = np.asarray(run.data["orientation"][:, 0])
    angles = 2.0 * np.arctan2(q[:, 1], q[:, 0])
    assert angles[1] == pytest.approx(FOUR_BAR["turning"], abs=1e-12)
    assert angles[2] == pytest.approx(1.0, abs=1e-12)
    # at the turning point the angle says little about time: the momentum grows linearly with the time missed
    crank = np.asarray(run.data["angular_momentum"][2, 0, 0])
    push = abs(float(crank)) / 3.0  # moment of inertia about A is 1/3, the angular acceleration is of order 10
    assert push < 1e-12


def parallel_cranks(unit: float, mass: float) -> tuple[ct.Linkage, ct.State]:
    """Three parallel cranks of one coupler, the third of which is redundant; lengths in a unit, masses, too."""
    bar = ct.Body.from_inertia(mass, mass * unit**2 * np.diag([0.1, 0.2, 0.3]))
    ends = [(-1, 0, (0, 0, 0), (0, 0, -0.5)), (-1, 1, (0, 1, 0), (0, 0, -0.5)), (0, 2, (0, 0, 0.5), (0, -0.5, 0)),
            (1, 2, (0, 0, 0.5), (0, 0.5, 0)), (-1, 3, (0, 0.5, 0), (0, 0, -0.5)), (2, 3, (0, 0, 0), (0, 0, 0.5))]  # fmt: skip
    hinges = [ct.Revolute(i, j, at=unit * np.array((a, b), dtype=float), axis=(1, 0, 0)) for i, j, a, b in ends]
    linkage = ct.Linkage([bar] * 4, hinges, gravity=(0, 0, -9.0 * unit))
    place = unit * np.array([(0, 0, 0.5), (0, 1, 0.5), (0, 0.5, 1.0), (0, 0.5, 0.5)])
    speed = unit * np.array([(0, -0.25, 0), (0, -0.25, 0), (0, -0.5, 0), (0, -0.25, 0)])
    turning = [(0.5, 0, 0), (0.5, 0, 0), (0, 0, 0), (0.5, 0, 0)]
    return linkage, linkage.start(place, velocity=speed, angular_velocity=turning)


@pytest.mark.parametrize("method", [ct.EnergyMomentum(), ct.Rattle()])
@pytest.mark.parametrize(("unit", "mass"), [(2.0**30, 1.0), (2.0**-33, 2.0**-86), (2.0**-33, 1.0), (1.0, 2.0**80)])
def test_loops_move_alike_in_any_unit(unit: float, mass: float, method: ct.EnergyMomentum | ct.Rattle) -> None:
    """Lengths of 1e9 m, atoms in metres and kilograms: rows left out are off by the rounding of lengths, and pivots are masses. No step was found.

    Powers of two leave nothing but other pivots; a step of another length differs.
    """
    linkage, start = parallel_cranks(1.0, 1.0)
    wanted = simulate(linkage, start, method, dt=0.1, steps=2).final
    linkage, start = parallel_cranks(unit, mass)
    found = simulate(linkage, start, method, dt=0.1, steps=2).final
    for name, size in (("position", unit), ("momentum", mass * unit), ("angular_momentum", mass * unit**2)):
        assert np.abs(getattr(found, name) / size - getattr(wanted, name)).max() < 1e-13
    other = simulate(linkage, start, method, dt=0.1001, steps=2).final
    assert np.abs(other.position / unit - wanted.position).max() > 1e-5
