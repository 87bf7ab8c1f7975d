"""Linkages in other units: nanometres in metres, atoms in kilograms, a million kilometres. Powers of two, so that rounding is the same."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.errors import InputError
from catena.systems.linkage import constraints

UNITS = [(2.0**-33, 1.0), (2.0**-33, 2.0**-86), (2.0**30, 1.0)]
STILL = (1.0, 0.0, 0.0, 0.0)
TURNED = (0.8, 0.6, 0.0, 0.0)


def crane(unit: float, mass: float) -> tuple[ct.Linkage, ct.State]:
    """A box that slides, a line on a hinge across it, and a point that hangs beside itself on a universal joint; all move."""
    bodies = [
        ct.Body.box(unit * np.array([1, 1, 2]), mass=2 * mass),
        ct.Body.rod(unit, mass=mass),
        ct.Body(mass, (0, 0, 0)),
    ]
    joints = [
        ct.Prismatic(-1, 0, axis=(0.6, 0, 0.8), image=STILL),
        ct.Revolute(0, 1, unit * np.array([(0.5, 0, -1), (0, 0.25, 0.5)]), axis=(0.6, 0.8, 0), image=TURNED),
        ct.Universal(1, 2, unit * np.array([(0, 0, -0.5), (0.1, 0.2, 0.7)]), axis=(1, 0, 0), image=STILL),
    ]
    linkage = ct.Linkage(bodies, joints, gravity=(0, 0, -10 * unit))
    return linkage, linkage.start(angles=[0.3 * unit, 0.4, (0.2, 0.5)], rates=[0.5 * unit, 1.0, (2.0, 0.3)])


def worst(found: np.ndarray, wanted: np.ndarray, unit: float) -> float:
    """How far numbers in a unit are from those in another one, to the largest."""
    return float(np.abs(found / unit - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize(("unit", "mass"), UNITS)
def test_lines_and_points_start_alike_in_any_unit(unit: float, mass: float) -> None:
    """Spins without momentum were taken for rounding below 1e-10 m: such a start pulled its joints apart, and was refused."""
    (_, wanted), (_, found) = crane(1.0, 1.0), crane(unit, mass)
    assert worst(found.position, wanted.position, unit) < 1e-15
    assert worst(found.momentum, wanted.momentum, unit * mass) < 1e-14
    assert worst(found.angular_momentum, wanted.angular_momentum, unit**2 * mass) < 1e-14


@pytest.mark.parametrize(("unit", "mass"), UNITS)
def test_lines_and_points_are_as_hot_in_any_unit(unit: float, mass: float) -> None:
    """The same noise in units of mass and energy: to the condition of the rows, 1e-12 asked for."""
    (linkage, state), (other, same) = crane(1.0, 1.0), crane(unit, mass)
    wanted, found = linkage.maxwell(state, 1.0, seed=3), other.maxwell(same, unit**2 * mass, seed=3)
    assert worst(found.momentum, wanted.momentum, unit * mass) < 1e-12
    assert worst(found.angular_momentum, wanted.angular_momentum, unit**2 * mass) < 1e-12


@pytest.mark.parametrize(("unit", "mass"), UNITS)
def test_lines_and_points_have_the_same_inertia_in_any_unit(unit: float, mass: float) -> None:
    """The joint form refused them: what resists a slide, a mass, was compared with moments of inertia."""
    matrices, same = (linkage.linearise(state) for linkage, state in (crane(1.0, 1.0), crane(unit, mass)))
    lengths = np.array([unit, 1.0, 1.0, 1.0])  # of the coordinates: the first is a slide
    assert worst(same.mass * np.outer(lengths, lengths), matrices.mass, unit**2 * mass) < 1e-14


@pytest.mark.parametrize(("unit", "mass"), UNITS)
def test_reactions_are_the_same_in_any_unit(unit: float, mass: float) -> None:
    """Rows of lengths stand beside products of directions: one kind was taken for rounding of the other, and reactions were half of what they are."""
    (linkage, state), (other, same) = crane(1.0, 1.0), crane(unit, mass)
    wanted, found = linkage.reactions(state), other.reactions(same)
    assert worst(found.force, wanted.force, unit * mass) < 1e-12
    assert worst(found.torque, wanted.torque, unit**2 * mass) < 1e-12


@pytest.mark.parametrize(("mass", "size"), [(1.0, 1.0), (1e-6, 1e-2), (1e-9, 1e-3), (1e-12, 1e-4)])
def test_a_bearing_carries_the_heavy_body_beside_a_light_one(mass: float, size: float) -> None:
    """Both hang at rest, so the bearings carry what is below them; beside a milligram of a centimetre a kilogram weighed nothing.

    Forces are solved for by the square roots of masses, with rounding of the largest.
    """
    bodies = [ct.Body.box((0.1, 0.1, 1.0), mass=1.0), ct.Body.box((size,) * 3, mass=mass)]
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0)),
        ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0, 0.5 * size)), axis=(1, 0, 0)),
    ]
    linkage = ct.Linkage(bodies, joints, gravity=(0, 0, -10))
    force = linkage.reactions(linkage.start()).force
    off = np.abs(force - [[0, 0, 10 * (1 + mass)], [0, 0, 10 * mass]]).max(axis=1)
    assert (off < 1e-14 * np.array([10.0, 10.0 * np.sqrt(mass)])).all()


@pytest.mark.parametrize("unit", [2.0**-33, 2.0**30])
def test_a_point_held_at_its_centre_is_projected_alike_in_any_unit(unit: float) -> None:
    """It turns at a price, as if its mass were as far out as the joints of the others: one metre was taken for that."""

    def projected(unit: float) -> ct.State:
        bodies = [ct.Body.box(unit * np.array([1, 2, 3])), ct.Body(1.0, (0, 0, 0))]
        joints = [
            ct.Spherical(-1, 0, unit * np.array([(0, 0, 0), (0, 0, 0.75)])),
            ct.Revolute(0, 1, unit * np.array([(0, 0, -0.75), (0, 0, 0)]), axis=(1, 0, 0), image=STILL),
        ]
        linkage = ct.Linkage(bodies, joints)
        return linkage.start(orientation=[(1, 0, 0, 0), (0.8, 0, 0.6, 0)], project=True)

    wanted, found = projected(1.0), projected(unit)
    assert np.abs(found.orientation - wanted.orientation).max() < 1e-12
    assert worst(found.position, wanted.position, unit) < 1e-12


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_driven_slider_that_is_elsewhere_is_refused_in_any_unit(unit: float) -> None:
    """A nanometre was as good as another one; a million kilometres may be off by the rounding of places."""
    box = ct.Body.box((unit,) * 3)
    slide = ct.Prismatic(-1, 0, unit * np.array([(0.1, 0.7, -1.3), (0, 0, 0)]), axis=(0.6, 0, 0.8), image=STILL)
    linkage = ct.Linkage([box], [slide], [ct.Driven(0, f"{0.3 * unit!r}*cos(t)")])
    on = linkage.start()
    assert linkage.angles(linkage.start(on.position, on.orientation))[0] == pytest.approx(0.3 * unit, rel=1e-14)
    along = 0.1 * unit * np.array([0.6, 0, 0.8])
    with pytest.raises(InputError, match="told to stand at"):
        linkage.start(on.position + along, on.orientation)


@pytest.mark.parametrize("unit", [1e-9, 1.0])
def test_a_slider_that_closes_a_loop_elsewhere_is_refused_in_any_unit(unit: float) -> None:
    """Two sliders side by side between the same bodies: the second stands where the first does."""
    joints = [ct.Prismatic(-1, 0, axis=(1, 0, 0), image=STILL), ct.Prismatic(-1, 0, axis=(1, 0, 0), image=STILL)]
    linkage = ct.Linkage([ct.Body.box((unit,) * 3)], joints)
    assert linkage.start(angles=[unit, unit]).position[0, 0] == unit
    with pytest.raises(InputError, match="closes a loop"):
        linkage.start(angles=[unit, 2 * unit])


def test_the_unit_of_a_length_is_one_near_one() -> None:
    """Where it is 1 no digit of a start changes; elsewhere it is a power of two within a factor of two."""
    assert [constraints.unit_of(length) for length in (0.0, 0.05, 1.0, 15.0)] == [1.0] * 4
    for length in (1e-10, 3e-3, 20.0, 1e9):
        unit = constraints.unit_of(length)
        assert 0.5 <= length / unit < 1.0
        assert np.frexp(unit)[0] == 0.5
