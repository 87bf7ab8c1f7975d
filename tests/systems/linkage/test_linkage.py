"""Linkages as a user gives them: descriptions, starts, projections, reactions, and everything that may be wrong."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.analysis.linkage_reactions import accelerations
from catena.geometry import rotations
from catena.systems.base import system_from
from catena.systems.linkage import constraints
from linked import KINDS, two_bodies

BOX = ct.Body.box((1.0, 0.5, 3.0), mass=12.0)
TOP, BOTTOM = (0.0, 0.0, 1.5), (0.0, 0.0, -1.5)
HINGES = [ct.Revolute(-1, 0, ((0, 0, 0), TOP), axis=(1, 0, 0)), ct.Revolute(0, 1, (BOTTOM, TOP), axis=(1, 0, 0))]


def test_a_description_gives_the_same_linkage_back() -> None:
    forces = [
        ct.Spring(0, 1, ((0, 0, 0), (0, 0, 0)), k=2.0, length=1.0), ct.Damper(-1, 1, c=0.5),
        ct.Torsion(1, "k*theta**2", {"k": 3.0}, damping=0.1), ct.Load(0, force=("sin(t)", 0, 0)),
        ct.SitePair(0, 1, potential=ct.LennardJones(1.0, 1.0)),
    ]  # fmt: skip
    linkage = ct.Linkage([BOX] * 2, HINGES, forces, gravity=(0, 0, -1.0), form="director")
    again = system_from(linkage.describe())
    assert again.describe() == linkage.describe()
    assert isinstance(again, ct.Linkage)
    assert again.joints == linkage.joints
    assert again.forces == linkage.forces


def test_the_tree_and_its_loops_follow_from_the_joints() -> None:
    four_bar = ct.problems.four_bar().system
    assert four_bar.tree.parents == (-1, 0, -1)
    assert four_bar.tree.loops == (3,)
    free = ct.problems.molecule().system
    assert free.tree.parents[0] == -2
    assert free.tree.order == (0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradients_of_the_rows_are_their_derivatives(kind) -> None:
    """Central differences along each coordinate; truncation 1e-9."""
    linkage, start = two_bodies(kind)
    images = constraints.images_of(linkage, start.orientation)
    shifts = constraints.shifts_of(linkage, start.position, start.orientation)
    rows = constraints.gradients(linkage, start.position, start.orientation, images=images)
    step = 1e-5

    def moved(coordinate: int, sign: float) -> np.ndarray:
        r, q = start.position.copy(), start.orientation.copy()
        body, part = divmod(coordinate, 6)
        if part < 3:
            r[body, part] += sign * step
        else:
            turn = np.zeros(4)
            turn[0], turn[part - 2] = np.cos(0.5 * step), sign * np.sin(0.5 * step)
            q[body] = rotations.multiply(turn, q[body])
        return constraints.residuals(linkage, r, q, images=images, shifts=shifts)

    by_differences = np.array([(moved(k, 1.0) - moved(k, -1.0)) / (2 * step) for k in range(12)]).T
    assert np.abs(by_differences - rows).max() < 1e-8


def test_left_out_positions_and_velocities_follow_from_the_joints() -> None:
    linkage = ct.Linkage([BOX] * 2, HINGES)
    q = [(0.8, 0.6, 0.0, 0.0), (0.6, 0.8, 0.0, 0.0)]
    start = linkage.start(orientation=q, angular_velocity=[(1.0, 0, 0), (-2.0, 0, 0)])
    tip = rotations.rotate(np.array(q[0]), np.array(BOTTOM)) * 2.0
    assert start.position[1] == pytest.approx(tip - rotations.rotate(np.array(q[1]), np.array(TOP)), abs=1e-15)
    speed = np.cross((1.0, 0, 0), tip) - np.cross((-2.0, 0, 0), rotations.rotate(np.array(q[1]), np.array(TOP)))
    assert start.momentum[1] / 12.0 == pytest.approx(speed, abs=1e-14)


def test_a_start_that_does_not_fit_is_refused_or_projected(caplog) -> None:
    linkage = ct.Linkage([BOX] * 2, HINGES)
    with pytest.raises(ct.InputError, match=r"joint 1 \(Revolute, bodies 0 and 1\): off by 0.5"):
        linkage.start([(0, 0, -1.5), (0, 0.5, -4.5)])
    with pytest.raises(ct.InputError, match=r"pull joint 0 \(Revolute, bodies -1 and 0\) apart at 2"):
        linkage.start([(0, 0, -1.5), (0, 0, -4.5)], velocity=[(2.0, 0, 0), (2.0, 0, 0)])
    caplog.set_level("INFO", logger="catena")
    start = linkage.start([(0, 0, -1.5), (0, 0.5, -4.5)], velocity=[(2.0, 1.0, 0), (2.0, 0, 0)], project=True)
    assert "bodies moved by up to" in caplog.text
    images = constraints.images_of(linkage, start.orientation)
    rows = constraints.gradients(linkage, start.position, start.orientation, images=images)
    assert np.abs(rows @ constraints.velocities(linkage, start)).max() < 1e-14
    assert start.position[1] == pytest.approx((0.0, 0.25, -4.5), abs=0.3)  # near, not elsewhere


def test_a_loop_that_cannot_close_names_its_joints() -> None:
    rods = [ct.Body.box((0.1, 0.1, 1.0)), ct.Body.box((0.1, 0.1, 1.0))]
    top, bottom = (0, 0, 0.5), (0, 0, -0.5)
    joints = [
        ct.Spherical(-1, 0, ((0, 0, 0), top)), ct.Spherical(0, 1, (bottom, top)),
        ct.Spherical(-1, 1, ((0, 0, -3.0), bottom)),
    ]  # fmt: skip
    # all three are off by the same, but for rounding
    message = r"no position near the start closes the loop: joint \d .*off by 0.333; not met: \"its points meet\" of joint 0, 1, 2"
    with pytest.raises(ct.InputError, match=message):
        ct.Linkage(rods, joints).start([(0, 0.1, -0.5), (0, -0.1, -1.5)], project=True)


def test_a_loop_whose_hinges_are_askew_names_the_rows_that_are_not_met() -> None:
    """Two rods that hang together, the second hinge turned by 0.2 rad: points meet; the least squares share the angle among all."""
    rods = [ct.Body.box((0.1, 0.1, 1.0))] * 2
    top, bottom, askew = (0, 0, 0.5), (0, 0, -0.5), (np.cos(0.1), 0, np.sin(0.1), 0)
    joints = [
        ct.Revolute(-1, 0, ((0, 0, 0), top), axis=(1, 0, 0)),
        ct.Rigid(0, 1, (bottom, top)),
        ct.Revolute(-1, 1, ((0, 0, -1.0), top), axis=(1, 0, 0), image=askew),
    ]
    with pytest.raises(ct.InputError, match='not met: "its directions stay normal" of joint 0, 1, 2'):
        ct.Linkage(rods, joints).start(project=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ct.Revolute(-1, 0, axis=(0, 0, 0)), "axis = (0, 0, 0) has no direction"),
        (lambda: ct.Revolute(0, 0), "body 0 is joined to itself"),
        (lambda: ct.Revolute(-2, 0), "parent = -2"),
        (lambda: ct.Revolute(-1, 0, at=((0, 0), (0, 0, 0))), "Revolute.at"),
        (lambda: ct.Revolute(-1, 0, image=(2, 0, 0, 0)), "length 2"),
        (
            lambda: ct.Linkage([BOX], [ct.Spherical(-1, 3)]),
            "there is no body 3: there is 1, counted from 0\n  at Linkage.joints[0].child",
        ),
        (lambda: ct.Linkage([BOX] * 2, [ct.Spherical(1, 0), ct.Spherical(0, 1)]), "carry one another"),
        (lambda: ct.Linkage([BOX], [{"kind": "Hinge", "parent": -1, "child": 0}]), "there is no joint 'Hinge'"),
        (lambda: ct.Linkage([BOX], [{"kind": "Revolute", "parent": -1, "child": 0, "axes": 1}]), "did you mean axis"),
        (lambda: ct.Linkage([BOX], HINGES[:1], [ct.Torsion(4)]), "there is no joint 4"),
        (lambda: ct.Linkage([BOX], [ct.Spherical(-1, 0)], [ct.Torsion(0)]), "no single number"),
        (lambda: ct.Linkage([BOX], HINGES[:1], [ct.Spring(0, 7)]), "there is no body 7"),
        (lambda: ct.Linkage([BOX], [{"kind": "Revolute", "child": 0}]), "Revolute needs parent"),
        (lambda: ct.Linkage([BOX], ["Revolute"]), "'Revolute' is no joint"),
        (lambda: ct.Linkage([BOX], HINGES[:1], [{"kind": "Sprung"}]), "there is no force 'Sprung'"),
        (lambda: ct.Linkage([BOX], HINGES[:1], [{"kind": "Spring", "i": 0}]), "Spring needs j"),
        (lambda: ct.Linkage([BOX], HINGES[:1], ["Spring"]), "'Spring' is no force"),
        (lambda: ct.Spring(0, 1, k=-1.0), "k = -1"),
        (lambda: ct.Load(0, force=("sin(x)", 0, 0)), "x"),
        (lambda: ct.Load(-1), "the ground carries no load"),
        (lambda: ct.SitePair(0, 1), "potential = None"),
        (lambda: ct.Linkage([], []), "no body is given"),
        (lambda: ct.Linkage([BOX], [], form="matrix"), "form = 'matrix'"),
        (lambda: ct.Linkage([BOX]).start(orientation=[(2.0, 0, 0, 0)]), "has length 2"),
        (lambda: ct.Linkage([BOX]).start(position=[(0.0, 0.0)]), "has shape"),
        (lambda: ct.Linkage([BOX, {"mass": 0.0, "moments": [1, 1, 1]}]), "Linkage.bodies[1].mass"),
        (lambda: ct.EnergyMomentum(level="velocity"), "level = 'velocity'"),
        (lambda: ct.problems.hanging_chain("hinge"), "joint = 'hinge'"),
    ],
)
def test_a_mistake_is_named(make, message) -> None:
    with pytest.raises(ct.InputError) as caught:
        make()
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 4


def test_a_hanging_chain_at_rest_pulls_with_its_weight() -> None:
    """The upper joint carries both bodies, the lower one the last; no torque about the hinge axis."""
    linkage = ct.Linkage([BOX] * 2, HINGES)
    pulled = linkage.reactions(linkage.start())
    assert pulled.force[0] == pytest.approx((0.0, 0.0, 2 * 12.0 * 9.81), rel=1e-13)
    assert pulled.force[1] == pytest.approx((0.0, 0.0, 12.0 * 9.81), rel=1e-13)
    assert np.abs(pulled.torque).max() < 1e-12


def test_reactions_and_the_spring_make_up_the_accelerations_of_both_bodies() -> None:
    """M (a - g) less the reactions is the spring's force, opposite on the two bodies and as large as its stretch says."""
    linkage, start = two_bodies("Spherical")
    force = linkage.reactions(start).force
    acceleration, _ = accelerations(linkage, start)
    rest = [
        linkage.bodies[b].mass * (acceleration[6 * b : 6 * b + 3] - linkage.gravity) - outside
        for b, outside in ((0, force[0] - force[1]), (1, force[1]))
    ]
    spring = linkage.forces[0]
    ends = [start.position[b] + rotations.rotate(start.orientation[b], np.array(spring.at[b])) for b in (0, 1)]
    pull = 40.0 * (np.linalg.norm(ends[1] - ends[0]) - 0.6)
    assert rest[0] == pytest.approx(-rest[1], abs=1e-11)
    assert np.linalg.norm(rest[0]) == pytest.approx(abs(pull), abs=1e-11)


@pytest.mark.parametrize(
    "force", [ct.Spring(-1, 0, k=3.0), ct.Spring(-1, 0, k=3.0, length=0.3), ct.Damper(-1, 0, c=3.0)]
)
def test_reactions_know_springs_between_points_that_meet(force: ct.Spring | ct.Damper) -> None:
    """There is no line between them, and no force along it: the joint holds the weight, and would hold more if a force were taken for k times the length."""
    linkage = ct.Linkage([ct.Body.box((1, 2, 0.5), mass=2.0)], [ct.Spherical(-1, 0)], [force])
    held = linkage.reactions(linkage.start()).force[0]
    assert held == pytest.approx((0, 0, 2.0 * 9.81), abs=1e-14)
    pushed = linkage.with_parts(forces=[force, ct.Load(0, force=(0, 0, -3.0 * 0.3))])
    assert pushed.reactions(pushed.start()).force[0, 2] == pytest.approx(2.0 * 9.81 + 0.9, abs=1e-14)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_the_length_of_an_axis_does_not_matter(size: float) -> None:
    """Two roundings; squares that are no doubles made it nan, and the start was said not to fit."""
    axis = ct.Revolute(-1, 0, axis=(0.0, 3.0 * size, -4.0 * size)).axis
    assert np.abs(np.array(axis) - (0.0, 0.6, -0.8)).max() <= 2.0**-52
