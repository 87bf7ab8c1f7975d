"""Phase space in public coordinates: what may vary, and that the form there is the one of canonical coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
import kinds
from catena.systems.linkage import constraints
from catena.systems.phase_space import PhaseSpace, hat

FREEDOMS = {
    "separable": 4, "not separable": 2, "free body": 6, "top": 6, "chain": 24, "clamped chain": 24,
    "chain in rotations": 24, "scaling body": 14, "scaling body of fixed size": 12,
}  # fmt: skip


def space_of(name: str) -> tuple[PhaseSpace, ct.State]:
    of = kinds.kind(name)
    return of.system.begun(of.start).phase_space(of.start), of.start


@pytest.mark.parametrize(("name", "freedoms"), FREEDOMS.items(), ids=str)
def test_as_many_directions_as_freedoms(name, freedoms):
    """Two for each; none for what is clamped or held."""
    assert len(space_of(name)[0].basis()) == freedoms


def test_a_linear_body_does_not_turn_about_its_line():
    rod = ct.FreeBody(ct.Body.rod(1.0, mass=1.0))
    space = rod.phase_space(rod.start(angular_momentum=(0.1, 0.2, 0.0)))
    assert len(space.basis()) == 4 and not space.reduced


@pytest.mark.parametrize("name", FREEDOMS)
def test_a_displacement_is_found_again(name):
    """To second order in its size: the chart of rotations is not the exponential."""
    space, start = space_of(name)
    by = 1e-5 * np.random.default_rng(3).normal(size=len(space.basis())) @ space.basis()
    assert space.displacement(start, space.moved(start, by)) == pytest.approx(by, abs=1e-14)


def test_orientations_of_opposite_sign_are_the_same():
    space, start = space_of("free body")
    other = ct.State({**start.fields, "orientation": -start.orientation})
    assert not space.displacement(start, other).any()


@pytest.mark.parametrize("name", ["top", "chain"])
def test_the_form_is_that_of_canonical_coordinates(name):
    """Pulled back from (q, g), where it is dq ^ dg, by differences of 1e-4: an error of 1e-8."""
    space, start = space_of(name)
    pack = kinds.kind(name).system.view("canonical").pack
    basis, gap = space.basis(), 1e-4
    columns = [(pack(space.moved(start, gap * d)) - pack(space.moved(start, -gap * d))) / (2 * gap) for d in basis]
    u = np.array(columns).T
    half = len(u) // 2
    canonical = u[:half].T @ u[half:] - u[half:].T @ u[:half]
    assert basis @ space.form(start) @ basis.T == pytest.approx(canonical, abs=1e-6)


def test_a_form_without_its_curvature_is_another_one():
    space, start = space_of("top")
    flat = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    assert np.abs(space.form(start) - flat).max() == np.abs(hat(start.angular_momentum)).max() > 0.1


@pytest.mark.parametrize("name", ["linkage", "free linkage"])
def test_a_displaced_linkage_still_fits_its_joints(name):
    of = kinds.kind(name)
    linkage = of.system.begun(of.start)
    space = linkage.phase_space(of.start)
    by = 0.05 * np.random.default_rng(5).normal(size=space.basis().shape[1])
    moved = space.moved(of.start, by)
    images = constraints.images_of(linkage, moved.orientation)
    shifts = constraints.shifts_of(linkage, moved.position, moved.orientation)
    phi = constraints.residuals(linkage, moved.position, moved.orientation, images=images, shifts=shifts)
    assert np.abs(phi).max() < 1e-14
    rows = constraints.gradients(linkage, moved.position, moved.orientation, images=images)
    assert np.abs(rows @ constraints.velocities(linkage, moved)).max() < 1e-14
    assert np.abs(space.displacement(of.start, moved)).max() > 0.02
