"""Claims of the documents are measured: right formulas agree, wrong twins do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catena as ct
from catena.reproduce import (
    adaptive_bodies,
    constraint_order,
    coordinates,
    modified_energy,
    molecules,
    projection,
)
from catena.reproduce.report import power

# Modified energies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", modified_energy.CASES, ids=lambda case: f"{case.title} {case.method}")
def test_the_modified_energy_swings_with_the_fourth_power_of_the_step(case):
    found = np.array([modified_energy.swings(case, dt, 4.0) for dt in (0.2, 0.1)])
    assert power((0.2, 0.1), found[:, 0]) == pytest.approx(2.0, abs=0.15)
    assert power((0.2, 0.1), found[:, 1]) == pytest.approx(4.0, abs=0.15)
    wrong = modified_energy.Case(case.title, case.method, case.make, case.energy, lambda columns: -case.term(columns))
    lost = [modified_energy.swings(wrong, dt, 4.0)[1] for dt in (0.2, 0.1)]
    assert power((0.2, 0.1), lost) == pytest.approx(2.0, abs=0.15)


def test_a_double_bracket_is_that_of_its_definition():
    """{f, g} = -y.(f_y x g_y) by differences of the inner bracket."""
    rng = np.random.default_rng(5)
    f, g, y = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)

    def inner(y):
        return -y @ np.cross(f * y, g * y)

    gradient = [(inner(y + 1e-6 * e) - inner(y - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    assert modified_energy.double_bracket(f, g, y[None])[0] == pytest.approx(-y @ np.cross(f * y, gradient), abs=1e-8)


# The order of the constraint figure -------------------------------------------------------------------------------


def test_forces_and_multiplier_are_derivatives_of_the_energy():
    pair = constraint_order.Pair()
    x = pair.start[:7].copy()
    x[3:] *= 1.1  # off the sphere, too

    def energy(x):
        corners = x[:3] + pair.corners @ constraint_order.rotation(x[3:]).T
        distance = np.linalg.norm(corners[:, None] - pair.others[None], axis=-1)
        return (
            float(ct.LennardJones(pair.depth, pair.sigma).energy(distance).sum())
            - np.array(constraint_order.PULL) @ x[:3]
        )

    push, slope = pair.forces(x)
    for k, value in enumerate((*push, *slope)):
        step = 1e-6 * np.eye(7)[k]
        assert value == pytest.approx(-(energy(x + step) - energy(x - step)) / 2e-6, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("method", ["Euler A", "Stormer-Verlet", "midpoint", "Gauss(2)"])
def test_a_frozen_multiplier_loses_second_order_in_a_step_whatever_the_method(method):
    frozen = constraint_order.READINGS[2]
    found = np.array([constraint_order.residuals(method, frozen, dt) for dt in (0.01, 0.005)])
    assert power((0.01, 0.005), found[:, 1]) == pytest.approx(2.0, abs=0.2)


def test_a_multiplier_at_every_stage_does_not():
    free = constraint_order.Reading("", frozen=False, single=True)
    found = np.array([constraint_order.residuals("Gauss(2)", free, dt) for dt in (0.02, 0.01)])
    assert power((0.02, 0.01), found[:, 1]) == pytest.approx(5.0, abs=0.3)


# Projection -------------------------------------------------------------------------------------------------------


def test_projection_takes_the_angular_momentum_from_euler_and_nothing_from_gauss():
    plain, projected = (projection._follow(ct.EulerA(), 5, projected=flag)[0] for flag in (False, True))
    assert plain < 1e-13 < 1e-6 < projected
    before, after = (projection._follow(ct.Gauss(1), 3, projected=flag) for flag in (False, True))
    assert after[0] < 1e-13 and np.abs(before[2] - after[2]).max() < 1e-12


# Coordinates ------------------------------------------------------------------------------------------------------


def test_operations_are_counted_and_the_products_are_right():
    assert all(row.agrees for row in coordinates._cost_rows())
    p, q = np.array((0.5, -0.5, 0.5, 0.5)), np.array((0.8, 0.0, 0.6, 0.0))
    product = coordinates.multiply_quaternions(list(p), list(q))
    assert product == pytest.approx(ct.geometry.rotations.multiply(p, q).tolist(), abs=1e-15)
    matrix = ct.geometry.rotations.to_matrix(p)
    x = [0.3, -0.2, 0.7]
    assert coordinates.turn_by_quaternion(list(p), x) == pytest.approx((matrix @ x).tolist(), abs=1e-15)
    assert coordinates.turn_by_matrix(matrix.ravel().tolist(), x) == pytest.approx((matrix @ x).tolist(), abs=1e-15)


def test_digits_are_lost_and_angles_jump_as_said():
    found = coordinates.drift((100, 2000))
    assert all(row.agrees for row in coordinates._digit_rows(found)[:4])
    assert coordinates.precession_speed(0.01) == pytest.approx(100.0, rel=0.05)
    assert np.abs(np.diff(coordinates.passing(0.0)[1][:, 0])).max() == pytest.approx(math.pi, abs=1e-9)


# Adaptive steps ---------------------------------------------------------------------------------------------------


def test_the_fields_of_body_and_chain_keep_their_energies():
    """dE/dt = 0 and d(angular momentum)/dt = 0 along them, by differences."""
    start = ct.problems.book().start
    z = np.concatenate([start.orientation, start.angular_momentum])
    helix = adaptive_bodies.FreeHelix()
    w = helix.start.copy()
    w[:12] += 0.05 * np.sin(np.arange(12))  # off the equilibrium
    for field, state, errors in (
        (adaptive_bodies.body_field, z, lambda s: adaptive_bodies._body_errors(s[:, :4], s[:, 4:])),
        (helix.field, w, lambda s: helix.errors(*helix.parts(s))),
    ):
        rate = np.array(field(0.0, state))
        ends = errors(np.stack([state - 1e-6 * rate, state + 1e-6 * rate]))
        assert all(values[1] < 2e-10 for values in ends.values()), ends


# Molecules --------------------------------------------------------------------------------------------------------


def test_the_period_of_butane_is_that_of_its_torsion_without_rigid_motion(monkeypatch):
    _, psi = molecules.butane_angles(40)
    rows = molecules._butane_rows(psi)
    assert all(row.agrees for row in rows), [row.cells() for row in rows]
    right = molecules.butane_period()
    monkeypatch.setattr(molecules, "rigid_motions", lambda x: np.zeros((12, 6)))
    assert molecules.butane_period() > 1.2 * right


def test_the_chair_of_cyclohexane_is_rigid_and_its_boat_is_not():
    assert molecules._freedom("chair") == (0, 0)
    assert molecules._freedom("boat") == (1, 1)
    for form in ("chair", "boat"):
        atoms = molecules.ring_atoms(form)
        lengths = [np.linalg.norm(atoms[i] - atoms[j]) for i, j in molecules.PAIRS]
        assert np.ptp(lengths[:6]) < 1e-14 and np.ptp(lengths[6:]) < 1e-14
    assert (
        np.abs(
            molecules.rigidity(molecules.ring_atoms("boat"))
            @ molecules.boat_velocity(molecules.ring_atoms("boat")).ravel()
        ).max()
        < 1e-14
    )


def test_a_peptide_has_two_torsions_for_each_link_and_flat_peptide_bonds():
    system, _, members = molecules.peptide(4)
    assert len(system.joints) == 6 and len(members) == 7
    atoms, _ = molecules.backbone(4)
    for k in (1, 4, 7):  # CA, C, N, CA
        a, b, c, d = atoms[k : k + 4]
        assert abs(np.cross(b - a, c - b) @ (d - c)) < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [adaptive_bodies, constraint_order, coordinates, modified_energy, molecules, projection],
    ids=lambda m: m.NAME,
)
def test_the_whole_comparison(module, tmp_path):
    report = module.reproduce(tmp_path, quick=True)
    assert report.ok, str(report)
    assert {file.suffix for file in report.files} == {".png", ".pdf", ".csv"}
