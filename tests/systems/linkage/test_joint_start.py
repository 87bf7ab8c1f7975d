"""Starts from joint coordinates: against geometry by hand, differences of places, and other ways to the same start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena.errors import CapabilityError, InputError
from catena.geometry import rotations
from catena.systems.linkage import constraints, joint_coordinates
from catena.systems.linkage import start as starts
from catena.systems.linkage.joint_form import form
from catena.systems.linkage.joint_form.form import pack_state
from catena.systems.linkage.joints import Joint
from catena.systems.linkage.linkage import Linkage

EPS = float(np.finfo(float).eps)
ROD = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
ZERO = (1.0, 0.0, 0.0, 0.0)


def double_pendulum(image: Any = None, forces: Any = ()) -> Linkage:
    """Rods of length 1 that hang down and turn about x."""
    hinges = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0), image=image, name="upper"),
        ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0, 0.5)), axis=(1, 0, 0), image=image, name="lower"),
    ]
    return ct.Linkage([ROD, ROD], hinges, forces)


def test_a_double_pendulum_stands_and_moves_as_its_angles_say():
    """Centres at half a rod along (0, sin, -cos) of the angle from the vertical; velocities are their derivatives. Ten roundings."""
    a, b, da, db = 0.3, 0.3 + 0.5, -1.0, -1.0 + 2.0
    start = double_pendulum().start(angles=[0.3, 0.5], rates={"lower": 2.0, "upper": -1.0})
    place = [[0, 0.5 * np.sin(a), -0.5 * np.cos(a)], [0, np.sin(a) + 0.5 * np.sin(b), -np.cos(a) - 0.5 * np.cos(b)]]
    speed = [
        [0, 0.5 * da * np.cos(a), 0.5 * da * np.sin(a)],
        [0, da * np.cos(a) + 0.5 * db * np.cos(b), da * np.sin(a) + 0.5 * db * np.sin(b)],
    ]
    assert start.position == pytest.approx(np.array(place), abs=10 * EPS)
    assert start.momentum == pytest.approx(2.0 * np.array(speed), abs=10 * EPS)
    spin = np.array([[da, 0, 0], [db, 0, 0]]) * ROD.moments
    assert start.angular_momentum == pytest.approx(spin, abs=10 * EPS)


@pytest.mark.parametrize(
    "given", [[0.3, -0.7], {"upper": 0.3, "lower": -0.7}, {0: 0.3, 1: -0.7}, {"0": 0.3, "lower": -0.7}]
)
def test_angles_are_read_back_as_they_were_given(given: Any):
    pendulum = double_pendulum(ZERO)
    start = pendulum.start(angles=given)
    assert pendulum.angles(start) == pytest.approx([0.3, -0.7], abs=4 * EPS)
    again = pendulum.start(angles=pendulum.angles(start))
    assert again.position == pytest.approx(start.position, abs=4 * EPS)


def test_joints_without_an_image_stand_at_zero_where_the_orientation_has_them():
    turned = np.array([[np.cos(0.1), np.sin(0.1), 0, 0], [np.cos(0.25), np.sin(0.25), 0, 0]])  # by 0.2 and 0.5 about x
    start = double_pendulum().start(orientation=turned, angles={"lower": 0.4})
    wanted = double_pendulum().start(angles=[0.2, 0.3 + 0.4])
    assert start.position == pytest.approx(wanted.position, abs=10 * EPS)


# All kinds of joints -----------------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[type[Any], dict[str, Any], Any, Any]] = {
    "Revolute": (ct.Revolute, {}, 0.7, 1.3),
    "Prismatic": (ct.Prismatic, {}, 0.4, -0.6),
    "Cylindrical": (ct.Cylindrical, {}, (0.4, 0.7), (-0.6, 1.3)),
    "Universal": (ct.Universal, {}, (0.7, -0.4), (1.3, 0.8)),
    "Planar": (ct.Planar, {}, (0.3, -0.2, 0.7), (0.5, 0.9, 1.3)),
    "Screw": (ct.Screw, {"pitch": 0.3}, 0.7, 1.3),
}
PLACE, TURN = np.array([[1.0, 2.0, 3.0], [0, 0, 0]]), np.array([[0.5, 0.5, -0.5, 0.5], ZERO])


def floating(kind: str) -> Linkage:
    """A free body that carries another on a joint of this kind."""
    of, more, *_ = KINDS[kind]
    image = np.array([0.8, 0.0, 0.48, 0.36])
    joint = of(0, 1, at=((0.1, 0.2, -0.5), (0.05, -0.1, 0.5)), axis=(0.6, 0.0, 0.8), image=tuple(image), **more)
    return ct.Linkage([ROD, ROD], [joint], gravity=(0, 0, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_stands_where_it_is_told_to(kind: str):
    """The joint form finds the same coordinates in the state; the joint fits to rounding, also in its velocities, which `start` checks."""
    linkage, (_, _, angle, rate) = floating(kind), KINDS[kind]
    start = linkage.start(
        PLACE,
        TURN,
        angles=[angle],
        rates=[rate],
        velocity=[[1, 2, 3], [0, 0, 0]],
        angular_velocity=[[0.3, 0.2, -0.4], [0, 0, 0]],
    )
    found = joint_coordinates.measure_coordinates(linkage.joints[0], start, np.array(linkage.joints[0].image))
    shift = 0.7 * 0.3 if kind == "Screw" else 0.0
    assert found == pytest.approx(np.atleast_1d(angle), abs=20 * EPS)
    assert start.position[0].tolist() == [1, 2, 3] and start.momentum[0] == pytest.approx([2, 4, 6])
    if shift:
        u, d, _ = constraints.place_joint(linkage.joints[0], start.position, start.orientation)
        assert u[0] @ d == pytest.approx(shift, abs=20 * EPS)


def motion_error(kind: str, off: float = 0.0) -> float:
    """Velocities against central differences of places, 1e-5 apart: 1e-10 of the third derivative, 1e-11 of rounding."""
    linkage, (_, _, angle, rate) = floating(kind), KINDS[kind]
    start = linkage.start(PLACE, TURN, angles=[angle], rates=[(np.asarray(rate) * (1 + off)).tolist()])
    h = 1e-5
    ahead, back = (
        linkage.start(PLACE, TURN, angles=[(np.asarray(angle) + s * h * np.asarray(rate)).tolist()]) for s in (1, -1)
    )
    speed = (ahead.position[1] - back.position[1]) / (2 * h)
    turns = [rotations.to_matrix(one.orientation[1]) for one in (ahead, back, start)]
    spin = (turns[0] - turns[1]) / (2 * h) @ turns[2].T
    w = turns[2] @ (start.angular_momentum[1] / ROD.moments)
    wanted = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    return float(max(np.abs(start.momentum[1] / 2.0 - speed).max(), np.abs(w - wanted).max()))


@pytest.mark.parametrize("kind", KINDS)
def test_rates_move_the_bodies(kind: str):
    assert motion_error(kind) < 1e-9


def test_wrong_axes_and_rates_are_seen(monkeypatch: pytest.MonkeyPatch):
    """Rates that are off in the sixth digit show in the differences; axes in the wrong order do not fit the joint."""
    assert all(motion_error(kind, off=1e-6) > 1e-8 for kind in KINDS)
    monkeypatch.setattr(ct.Universal, "elements", (("angle", 1), ("angle", 0)))
    with pytest.raises(InputError, match="does not fit"):
        motion_error("Universal")


class Knee(ct.Revolute):
    """A hinge of a package of its own: it says nothing of how it moves but what it is derived from."""


class Stiff(ct.Revolute):
    """A twin that moves in no way that is known."""

    elements = None


def test_a_joint_derived_from_a_hinge_stands_and_moves_as_one():
    given: dict[str, Any] = {"at": ((0, 0, 0), (0, 0, 0.5)), "axis": (1, 0, 0), "image": ZERO}
    knee, hinge, stiff = (ct.Linkage([ROD], [kind(-1, 0, **given)]) for kind in (Knee, ct.Revolute, Stiff))
    found, wanted = (linkage.start(angles=[0.3], rates=[0.7]) for linkage in (knee, hinge))
    assert pack_state(knee, found).tolist() == pack_state(hinge, wanted).tolist()
    assert found.momentum.tolist() == wanted.momentum.tolist()
    with pytest.raises(InputError, match="has no angle"):
        stiff.start(angles=[0.3])
    with pytest.raises(CapabilityError, match="has no joint form"):
        pack_state(stiff, wanted)


def test_a_ball_joint_and_a_free_body_keep_what_they_are_given():
    joints = [
        ct.Spherical(0, 1, at=((0, 0, -0.5), (0, 0, 0.5))),
        ct.Revolute(1, 2, at=((0, 0, -0.5), (0, 0, 0.5)), axis=(1, 0, 0)),
    ]
    linkage = ct.Linkage([ROD] * 3, joints, gravity=(0, 0, 0))
    turns = np.array([ZERO, [0.8, 0.6, 0, 0], [0.8, 0.6, 0, 0]])
    spin = np.array([[0.1, 0, 0], [0, 0.4, 0], [0, 0, 0]])
    start = linkage.start(orientation=turns, angles={1: 0.5}, angular_velocity=spin)
    assert start.orientation[1] == pytest.approx([0.8, 0.6, 0, 0])
    assert start.angular_momentum[1] == pytest.approx(spin[1] * ROD.moments)
    again = linkage.start(orientation=turns, angles=[np.nan, 0.5])  # as `angles` reads a ball joint
    assert np.array_equal(again.orientation, start.orientation)
    with pytest.raises(InputError, match="joint 0 is Spherical: it has no angle"):
        linkage.start(angles={0: 0.5})


# Closed loops ------------------------------------------------------------------------------------------------------------


def four_bar() -> Linkage:
    """A parallelogram in the plane normal to x: two cranks of length 1 on the ground, a coupler of length 2 between them."""
    crank, coupler = ct.Body.box((0.1, 0.1, 1.0)), ct.Body.box((0.1, 2.0, 0.1))
    hinge = {"axis": (1, 0, 0), "image": ZERO}
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, -0.5)), **hinge, name="left"),
        ct.Revolute(0, 1, at=((0, 0, 0.5), (0, -1, 0)), **hinge, name="coupler"),
        ct.Revolute(-1, 2, at=((0, 2, 0), (0, 0, -0.5)), **hinge, name="right"),
        ct.Revolute(1, 2, at=((0, 1, 0), (0, 0, 0.5)), **hinge, name="closing"),
    ]
    return ct.Linkage([crank, coupler, crank], joints)


def test_angles_that_close_a_loop_are_taken_and_others_refused():
    linkage = four_bar()
    angles = {"left": 0.4, "coupler": -0.4, "right": 0.4}
    start = linkage.start(angles=angles, rates={"left": 1.0, "coupler": -1.0, "right": 1.0})
    assert start.position[1] == pytest.approx([0, 1 - np.sin(0.4), np.cos(0.4)], abs=10 * EPS)
    assert linkage.start(angles=angles | {"closing": 0.4}).position == pytest.approx(start.position)
    with pytest.raises(InputError, match=r"closing closes a loop: where the others stand it is at 0\.4, not at 0\.5"):
        linkage.start(angles=angles | {"closing": 0.5})
    with pytest.raises(InputError, match=r"does not fit joint 3 .*\n.*start\.angles\n.*project=True"):
        linkage.start(angles={"left": 0.4})
    with pytest.raises(InputError, match=r"pull joint 3 .* apart.*\n.*start\.rates"):
        linkage.start(angles=angles, rates={"left": 1.0})
    near = linkage.start(angles={"left": 0.1, "coupler": -0.1, "right": 0.12}, project=True)
    assert np.abs(linkage.angles(near)[[0, 2]] - [0.1, 0.12]).max() < 0.05


# What is wrong, and what drives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"angles": [0.3]}, "one for each of the 2 joints"),
        ({"angles": 0.3}, "one for each of the 2 joints"),
        ({"angles": {"uper": 1}}, r"no joint 'uper' \(did you mean upper\?\)"),
        ({"angles": {7: 1.0}}, "no joint 7"),
        ({"angles": {"upper": (1, 2)}}, "give its angle, a number"),
        ({"rates": {"upper": "fast"}}, "give its angle, a number"),
        ({"angles": {"upper": float("nan")}}, "upper = nan is not finite"),
        ({"rates": np.array([0.1, np.nan])}, "lower = nan is not finite"),
        ({"angles": [0.1, 0.2], "momentum": np.zeros((2, 3))}, "momenta beside angles"),
    ],
)
def test_what_is_wrong_is_said(arguments: Any, message: str):
    with pytest.raises(InputError, match=message):
        double_pendulum().start(**arguments)


def test_forces_on_angles_need_a_zero_to_count_from():
    torsion = [ct.Torsion(0, "theta**2")]
    with pytest.raises(InputError, match=r"upper counts its angle from the start, where forces\[0\] \(Torsion\)"):
        double_pendulum(forces=torsion).start(angles=[0.2, 0.0])
    assert double_pendulum(forces=torsion).start(angles=[0.0, 0.3])
    assert double_pendulum(ZERO, torsion).start(angles=[0.2, 0.3])


def test_driven_joints_follow_unless_they_are_named():
    pendulum = double_pendulum(ZERO, [ct.Driven(0, "0.3 + t")])
    start = pendulum.start(angles={"lower": 0.2})
    assert pendulum.angles(start) == pytest.approx([0.3, 0.2], abs=4 * EPS)
    assert uncompiled.simulate(pendulum, start, ct.Gauss(1), dt=0.01, steps=1)
    with pytest.raises(InputError, match=r"told to stand at 0\.3"):
        pendulum.start(angles=[0.1, 0.2])


def test_two_joints_of_one_name_are_refused():
    hinge = {"at": ((0, 0, 0), (0, 0, 0.5)), "name": "knee"}
    with pytest.raises(InputError, match="joints 0 and 1 are both called 'knee'"):
        ct.Linkage([ROD, ROD], [ct.Revolute(-1, 0, **hinge), ct.Revolute(0, 1, **hinge)])
    with pytest.raises(InputError, match="name = ''"):
        ct.Revolute(-1, 0, name="")


def test_outputs_and_pictures_call_joints_by_name():
    pendulum = double_pendulum(ZERO)
    run = uncompiled.simulate(pendulum, pendulum.start(angles=[0.2, 0.3]), ct.Gauss(1), dt=0.01, steps=2)
    outputs = pendulum.outputs(run)
    assert float(outputs.angle.sel(joint_name="lower")[0]) == pytest.approx(0.3, abs=4 * EPS)
    assert float(outputs.angle.sel(joint=1)[0]) == float(outputs.angle.sel(joint_name="lower")[0])
    assert outputs.reaction_force.sel(joint_name="upper").dims == ("time", "xyz")
    ax = run.plot.joint_angles(joints=["lower"])
    assert [line.get_label() for line in ax.lines] == ["lower"]
    with pytest.raises(InputError, match="did you mean lower"):
        run.plot.joint_angles(joints=["lowr"])


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
@pytest.mark.parametrize("kind", [ct.Planar, ct.Cylindrical, ct.Universal])
def test_rates_of_joints_are_those_of_the_bodies_in_any_unit_of_length(
    kind: type[ct.Planar | ct.Cylindrical | ct.Universal], unit: float
) -> None:
    """From momenta to rates and back, to round-off: a nanometre, a metre, a million kilometres. Planes lose a turn of a radian beside slides of 1e9."""
    body = ct.Body.from_inertia(3.0, unit**2 * np.array([[3.0, 0.2, 0.1], [0.2, 2.5, -0.3], [0.1, -0.3, 1.5]]))
    joint = kind(-1, 0, at=unit * np.array([(1.0, -0.6, 0.5), (-0.2, -0.5, -0.6)]), axis=(0.8, 0.4, -0.4))
    linkage = ct.Linkage([body], [joint], form="joint")
    direction = np.array(joint.axis)
    spin = 1.3 * direction if kind is not ct.Universal else 1.3 * direction - 0.4 * joint.triad[1]
    slide = {ct.Planar: joint.triad[1:].T @ (0.7, -0.9), ct.Cylindrical: 0.7 * direction, ct.Universal: np.zeros(3)}[
        kind
    ]
    arm = -unit * np.array([-0.2, -0.5, -0.6])
    start = linkage.start(velocity=[unit * slide + np.cross(spin, arm)], angular_velocity=[spin])

    def off() -> float:
        back = form.unpack_state(linkage, form.pack_state(linkage, start), 0.0)
        return max(np.abs(back.momentum - start.momentum).max() / unit, np.abs(back.angular_momentum - start.angular_momentum).max() / unit**2)  # fmt: skip

    assert off() < 1e-14
    if kind is ct.Planar and unit != 1.0:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                form, "_rates_of", lambda joint, columns, motion: np.linalg.lstsq(columns, motion, rcond=None)[0]
            )
            assert off() > 1e-8


HINGES = [ct.Revolute, ct.Cylindrical, ct.Planar, ct.Screw, ct.Prismatic, ct.Rigid]


@pytest.mark.parametrize("kind", HINGES)
def test_a_body_half_a_turn_from_its_joint_is_refused(kind: type[Joint]) -> None:
    """The products of directions are 0 then, too: the director form took it as it was, and the joint form began somewhere else."""
    linkage = ct.Linkage([ct.Body.box((1, 2, 3))], [kind(-1, 0, at=((0, 0, 0), (0, 0, 1)), image=(1, 0, 0, 0))])
    for project in (False, True):
        with pytest.raises(InputError, match="the wrong way round: body 0 is half a turn"):
            linkage.start(orientation=[(0, 1, 0, 0)], project=project)


@pytest.mark.parametrize("kind", [ct.Spherical, ct.Universal])
def test_a_joint_that_lets_its_body_turn_by_half_a_turn_does(kind: type[Joint]) -> None:
    """A cardan joint holds one product of directions: both angles may be half a turn."""
    linkage = ct.Linkage([ct.Body.box((1, 2, 3))], [kind(-1, 0, at=((0, 0, 0), (0, 0, 1)))])
    for orientation in ((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)):
        state = starts.count_from_start(linkage, linkage.start()).start(orientation=[orientation])
        assert state.orientation[0].tolist() == list(orientation)


@pytest.mark.parametrize("degrees", [30.0, 60.0, 75.0, 85.0])
def test_a_projection_ends_on_the_right_side_of_the_joint(degrees: float) -> None:
    """A hinge about x, and a body turned about y by less than a right angle: Newton's steps from 75 degrees end at half a turn, short ones do not."""
    half = np.radians(0.5 * degrees)
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 1)), axis=(1, 0, 0), image=(1, 0, 0, 0))
    linkage = ct.Linkage([ct.Body.box((1, 2, 3))], [hinge])
    state = linkage.start([(0, 0, -1)], [(np.cos(half), 0, np.sin(half), 0)], project=True)
    assert abs(linkage.angles(state)[0]) < 1e-12
    assert abs(abs(state.orientation[0, 0]) - 1.0) < 1e-12
