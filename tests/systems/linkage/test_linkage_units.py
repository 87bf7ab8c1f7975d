"""Linkages in other units: nanometres in metres, atoms in kilograms, a million kilometres; and light bodies beside heavy ones.

Powers of two, so that rounding is the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp

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


LIGHT = [(1.0, 1e-12), (1e-12, 1.0), (1.0, 1e-12, 1.0), (1.0, 1e-20, 1e-12, 1.0)]


def hang(masses: tuple[float, ...]) -> tuple[ct.Linkage, ct.State]:
    """Boxes of one density on hinges across each other, one below the other, bent, at rest."""
    sizes = np.cbrt(masses)
    joints = [
        ct.Revolute(
            j - 1, j, at=((0, 0, -0.5 * sizes[j - 1] if j else 0), (0, 0, 0.5 * sizes[j])), axis=np.roll((1, 0, 0), j), image=STILL
        )
        for j in range(len(masses))
    ]  # fmt: skip
    bodies = [
        ct.Body.box(size * np.array([0.5, 0.6, 1.0]), mass=mass) for mass, size in zip(masses, sizes, strict=True)
    ]
    linkage = ct.Linkage(bodies, joints)
    return linkage, linkage.start(angles=np.linspace(0.3, 1.2, len(masses)))


def nearest(linkage: ct.Linkage, state: ct.State) -> np.ndarray:
    """(6 n,): the velocities nearest in kinetic energy to those of a state that keep the joints together, with 60 digits."""
    images = constraints.images_of(linkage, state.orientation)
    rows = constraints.gradients(linkage, state.position, state.orientation, images=images)
    given = constraints.velocities_of_momenta(linkage, state)
    with mp.workdps(60):
        a, mass, v = mp.matrix(rows), mp.matrix(constraints.mass_matrix(linkage, state.orientation)), mp.matrix(given)
        passed_on = mass**-1 * a.T
        return np.array([float(x) for x in v - passed_on * mp.lu_solve(a * passed_on, a * v)])


@pytest.mark.parametrize("masses", LIGHT)
def test_velocities_are_projected_beside_very_light_bodies(
    masses: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that only heavy bodies fill were taken for rounding: thermal velocities pulled the joints apart, and starts were refused.

    To rounding of the fastest body, and of the moment of inertia that rotates one; with other masses it is another motion.
    """
    linkage, rest = hang(masses)
    draw = np.random.default_rng(5)
    moving = linkage.start(rest.position, rest.orientation, check=False)
    v, w = draw.normal(size=(2, len(masses), 3))
    tensors = np.array([body.tensor for body in linkage.bodies])
    given = {"momentum": np.array(masses)[:, None] * v, "angular_momentum": np.einsum("jkl,jl->jk", tensors, w)}
    wanted = nearest(linkage, ct.State(moving.fields | given, 0.0))

    def off() -> float:
        found = linkage.start(rest.position, rest.orientation, velocity=v, angular_velocity=w, project=True)
        velocities = constraints.velocities_of_momenta(linkage, found)
        return float(np.abs(velocities - wanted).max() / np.abs(wanted).max())

    assert off() < 1e-13
    weigh = constraints.weigh
    monkeypatch.setattr(constraints, "weigh", lambda *given: weigh(*given)._replace(masses=np.ones((len(masses), 6))))
    assert off() > 1e-3


@pytest.mark.parametrize("masses", LIGHT)
def test_positions_are_projected_beside_very_light_bodies(masses: tuple[float, ...]) -> None:
    """No loop was found that closes: a millimetre away all joints meet to rounding, and a heavy body above is where it is without light ones."""
    linkage, rest = hang(masses)
    away = 1e-3 * np.random.default_rng(6).normal(size=(len(masses), 3))
    made = linkage.start(rest.position + away, rest.orientation, project=True)
    for k, joint in enumerate(linkage.joints):
        assert np.abs(constraints.place_joint(joint, made.position, made.orientation)[1]).max() < 1e-15, k
    alone, still = hang(masses[:1])
    if masses == LIGHT[0]:
        place = alone.start(still.position + away[:1], still.orientation, project=True).position
        assert np.abs(made.position[0] - place[0]).max() < 1e-12
    assert np.abs(made.position - rest.position).max() > 1e-4


@pytest.mark.parametrize("masses", [(1.0, 1e-12, 1.0), (1e-12, 1.0, 1.0), (1e-12, 1e-20, 1e-12), (1e-6, 1e-12, 1.0)])
def test_loops_of_heavy_and_light_bars_close_and_move(masses: tuple[float, float, float]) -> None:
    """A four-bar linkage with redundant rows: no position was found that closes it.

    Points and rates meet to rounding, and the one freedom is left: thermal motion is faster than rounding.
    """
    top, bottom, axis = (0, 0, 0.5), (0, 0, -0.5), (0, 1, 0)
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), top), axis=axis), ct.Revolute(0, 1, at=(bottom, bottom), axis=axis),
        ct.Revolute(-1, 2, at=((1.2, 0, 0), top), axis=axis), ct.Revolute(1, 2, at=(top, bottom), axis=axis),
    ]  # fmt: skip
    linkage = ct.Linkage([ct.Body.box((0.1, 0.1, 1.0), mass=mass) for mass in masses], joints)
    turns = 0.5 * np.array([0.3, 0.5 * np.pi - 0.2, -0.3])
    start = linkage.start(
        orientation=np.stack([np.cos(turns), 0 * turns, np.sin(turns), 0 * turns], axis=1), project=True
    )
    for joint in joints:
        assert np.abs(constraints.place_joint(joint, start.position, start.orientation)[1]).max() < 1e-15
    moving = linkage.maxwell(start, 1.0, seed=4)
    motion = constraints.velocities(linkage, moving)
    images = constraints.images_of(linkage, moving.orientation)
    rows = constraints.gradients(linkage, moving.position, moving.orientation, images=images)
    assert np.abs(rows @ motion).max() < 1e-14 * np.abs(motion).max()
    assert np.abs(motion).max() > 0.01


@pytest.mark.parametrize("masses", LIGHT)
def test_light_bodies_pass_on_what_heavy_ones_weigh(masses: tuple[float, ...]) -> None:
    """Each hinge of a chain that hangs straight carries what is below it; below a light body it was nothing, or half of it."""
    linkage, _ = hang(masses)
    force = linkage.reactions(linkage.start()).force[:, 2]
    assert force == pytest.approx(9.81 * np.cumsum(masses[::-1])[::-1], rel=1e-14, abs=1e-14)


def in_units(linkage: ct.Linkage, state: ct.State, unit: float) -> tuple[ct.Linkage, ct.State]:
    """The same motion with lengths in another unit."""
    bodies = [ct.Body.from_inertia(body.mass, unit**2 * body.tensor) for body in linkage.bodies]
    joints = [replace(joint, at=unit * np.array(joint.at)) for joint in linkage.joints]
    powers = {"position": 1, "momentum": 1, "angular_momentum": 2, "orientation": 0}
    fields = {name: unit ** powers[name] * values for name, values in state.fields.items()}
    return ct.Linkage(bodies, joints, gravity=unit * linkage.gravity), ct.State(fields, state.time)


@pytest.mark.parametrize("unit", [1e-9, 1e6])
@pytest.mark.parametrize("name", ["four_bar", "bennett", "bricard", "six_ring"])
def test_loops_share_reactions_alike_in_any_unit(name: str, unit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redundant rows leave the split open; forces were compared with torques, and the smallest of both were others in other units by 3 % to 19 %."""
    problem = getattr(ct.problems, name)()
    askew = ct.Linkage(problem.system.bodies, problem.system.joints, gravity=(4.0, 1.0, -9.81))
    wanted = askew.reactions(problem.start)
    other, same = in_units(askew, problem.start, unit)
    found = other.reactions(same)
    assert np.abs(wanted.torque).max() > 1e-3 * np.abs(wanted.force).max()
    assert worst(found.force, wanted.force, unit) < 1e-11
    assert worst(found.torque, wanted.torque, unit**2) < 1e-11
    monkeypatch.setattr(constraints, "length_of", lambda linkage: 1.0)
    assert worst(other.reactions(same).force, wanted.force, unit) > 1e-3


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e3])
def test_two_hinges_share_the_weight_of_a_door(unit: float) -> None:
    """Its moment W d is 2 h F + 2 T, by forces +-F in two hinges 2 h apart and torques T; F^2 + (T/L)^2 is least where F/h = T/L^2.

    L is the longest arm, sqrt(d^2 + h^2). With L = 1 the torques of a door in nanometres would be 1e-18 of that, or all of it.
    """
    d, h = 0.5 * unit, 0.8 * unit
    joints = [ct.Revolute(-1, 0, at=((0, 0, z), (-d, 0, z)), axis=(0, 0, 1)) for z in (h, -h)]
    door = ct.Linkage([ct.Body.box(unit * np.array([1.0, 0.1, 2.0]), mass=3.0)], joints, gravity=(0, 0, -10.0))
    found = door.reactions(door.start([(d, 0, 0)]))
    share = 30.0 * d / 2.0 / (h**2 + (d**2 + h**2))
    assert found.force / 30.0 == pytest.approx(
        np.array([(-share * h / 30.0, 0, 0.5), (share * h / 30.0, 0, 0.5)]), abs=1e-14
    )
    assert found.torque / (30.0 * d) == pytest.approx(
        np.array([(0, -share * (d**2 + h**2) / 30.0 / d, 0)] * 2), abs=1e-14
    )


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
