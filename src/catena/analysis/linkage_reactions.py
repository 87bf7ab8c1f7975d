"""Accelerations and reactions of linked bodies at a state: the multipliers that keep the joints together there.

    M a = F - Phi_q^T lambda,    Phi_q a = -(d Phi_q/dt) v

Plain numpy, independent of any method and step: what a joint transmits, for plots and tests. Where rows are redundant the
split between them is not determined, and the smallest multipliers are taken, torques over a length of the linkage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..geometry import rotations
from ..systems.base import Array, State
from ..systems.linkage import constraints
from ..systems.linkage.held import HeldMotion, Rows, solve_held
from ..systems.linkage.joint_coordinates import coordinate_ends, joint_speeds, with_ground
from ..systems.linkage.joint_forces import BetweenPoints, Damper, Load, OfDistance, OnAngle, Spring
from ..systems.linkage.joints import DISTANCE, DOT, GROUND, POINT, SCREW, Joint
from ..systems.linkage.layout import Signal
from ..systems.linkage.signals import values_at
from ..systems.sampled import Sampled

if TYPE_CHECKING:
    from ..systems.linkage.linkage import Linkage


class JointReactions(NamedTuple):
    """What joints do to their children: force, and torque about the child's point of the joint, (joints, 3), in space."""

    force: Array
    torque: Array


def accelerations(linkage: Linkage, state: State, angles: Array | None = None) -> HeldMotion:
    """Linear and angular accelerations in space of each body, (6 n,), and the multipliers of all rows, then of the driven joints.

    Parameters
    ----------
    angles : of the joints, with full turns; None: those in (-pi, pi]
    """
    return _accelerations(linkage, state, angles, *_rows(linkage, state))


def _rows(linkage: Linkage, state: State) -> tuple[Array, list[Rows]]:
    """Images of the joints' axes, and the rows of all joints, then those of the driven joints."""
    images = constraints.images_of(linkage, state.orientation)
    joint_rows = constraints.joint_rows(linkage, state.position, state.orientation, images=images)
    return images, [*joint_rows, *drive_rows(linkage, state)]


def _accelerations(
    linkage: Linkage, state: State, angles: Array | None, images: Array, rows: Sequence[Rows]
) -> HeldMotion:
    motion = constraints.velocities(linkage, state)
    turned = linkage.angles(state) if angles is None else angles
    force = applied_forces(linkage, state, motion, turned)
    for j, (body, (_, omega)) in enumerate(zip(linkage.bodies, motion.reshape(-1, 2, 3), strict=True)):
        turn = rotations.to_matrix(state.orientation[j])
        force[j, 1] -= np.cross(omega, turn @ body.tensor @ turn.T @ omega)
    wanted = -np.concatenate([bias(linkage, state, images, motion), drive_bias(linkage, state, motion)])
    return solve_held(rows, constraints.weigh(linkage, state.orientation), force.ravel(), wanted)


def reactions(linkage: Linkage, state: State, angles: Array | None = None) -> JointReactions:
    """What each joint does to its child at a state; `angles` as for `accelerations`."""
    images, rows = _rows(linkage, state)
    multipliers = _accelerations(linkage, state, angles, images, rows).multipliers
    made, first = JointReactions(np.zeros((len(linkage.joints), 3)), np.zeros((len(linkage.joints), 3))), 0
    for k, joint in enumerate(linkage.joints):
        own = slice(first, first + len(joint.rows))
        first = own.stop
        wrench = -multipliers[own] @ rows[k].values[:, 1]
        arm = constraints.turn_vectors(state.orientation, joint.child, joint.at[1])
        made.force[k], made.torque[k] = wrench[:3], wrench[3:] - np.cross(arm, wrench[:3])
    return made


def bias(linkage: Linkage, state: State, images: Array, motion: Array) -> Array:
    """(d Phi_q/dt) v: the second derivative of all rows if nothing accelerates."""
    values: list[float] = []
    moving = with_ground(motion)
    for k, joint in enumerate(linkage.joints):
        u, d, speed, bent = _moving_gap(linkage, joint, state, moving)
        w = constraints.turn_images(joint, images[k], state.orientation)
        o_i, o_j = moving[joint.parent, 1], moving[joint.child, 1]
        for kind, first, second in joint.rows:
            if kind == POINT:
                values.append(bent[first])
                continue
            if kind == DISTANCE:
                values.append(float((speed @ speed + d @ bent) / joint.length))
                continue
            a = u[first]
            rate = np.cross(o_i, a)
            if kind == DOT:
                b = w[second]
                change = np.cross(rate, b) + np.cross(a, np.cross(o_j, b))
                values.append((o_i - o_j) @ change)
                continue
            value = _bent_along(a, o_i, d, speed, bent)
            values.append(value - float(joint.pitch * rate @ (o_j - o_i)) if kind == SCREW else value)
    return np.array(values)


def _moving_gap(linkage: Linkage, joint: Joint, state: State, moving: Array) -> tuple[Array, Array, Array, Array]:
    """The directions of a joint in the parent (rows) and the gap between its points; its rate, and the rate of that if nothing accelerates."""
    u, d = constraints.plane(linkage, joint, state.position, state.orientation)
    (v_i, o_i), (v_j, o_j) = moving[joint.parent], moving[joint.child]
    arm_i = constraints.turn_vectors(state.orientation, joint.parent, joint.at[0])
    arm_j = constraints.turn_vectors(state.orientation, joint.child, joint.at[1])
    speed = v_j + np.cross(o_j, arm_j) - v_i - np.cross(o_i, arm_i)
    bent = np.cross(o_j, np.cross(o_j, arm_j)) - np.cross(o_i, np.cross(o_i, arm_i))
    return u, d, speed, bent


def _bent_along(a: Array, spin: Array, d: Array, speed: Array, bent: Array) -> float:
    """The second derivative of a gap along a direction that turns with a body, if nothing accelerates."""
    rate = np.cross(spin, a)
    return float(2.0 * rate @ speed + a @ bent + np.cross(spin, rate) @ d)


def drive_rows(linkage: Linkage, state: State) -> list[Rows]:
    """How the angles or displacements of driven joints change."""
    made = []
    for number in linkage.signals.driven:
        joint, row = linkage.joints[number], coordinate_ends(linkage, state, number).reshape(1, 2, 6)
        made.append(Rows(row, joint.parent, joint.child, closes=number in linkage.tree.loops))
    return made


def drive_bias(linkage: Linkage, state: State, motion: Array) -> Array:
    """How their second derivatives would differ from those prescribed if nothing accelerated."""
    moving = with_ground(motion)
    signals, made = linkage.signals.at(state.time), np.zeros(len(linkage.signals.driven))
    for k, (number, place) in enumerate(linkage.signals.driven.items()):
        joint = linkage.joints[number]
        u, d, speed, bent = _moving_gap(linkage, joint, state, moving)
        o_i, o_j = moving[joint.parent, 1], moving[joint.child, 1]
        made[k] = np.cross(o_i, u[0]) @ (o_j - o_i) if joint.has_angle else _bent_along(u[0], o_i, d, speed, bent)
        made[k] -= signals[place, Signal.CURVATURE]
    return made


def motor_torques(linkage: Linkage, state: State, angles: Array | None = None) -> Array:
    """(joints,): what motors and drives do about the axes of the joints; `angles` as for `accelerations`."""
    made = np.zeros(len(linkage.joints))
    turned, speeds = linkage.angles(state) if angles is None else angles, joint_speeds(linkage, state)
    for force in linkage.forces:
        if isinstance(force, OnAngle) and "motor_torque" in force.quantities:
            made[force.joint] += force.torque_at(float(turned[force.joint]), float(speeds[force.joint]), state.time)
    if linkage.signals.driven:
        multipliers = accelerations(linkage, state, angles).multipliers
        made[list(linkage.signals.driven)] = -multipliers[-len(linkage.signals.driven) :]
    return made


def applied_forces(linkage: Linkage, state: State, motion: Array, angles: Array) -> Array:
    """(n, 2, 3): forces and torques about the centres of mass of gravity and of everything in `linkage.forces`."""
    n = linkage.count
    made = np.zeros((n + 1, 2, 3))  # the last is the ground
    gravity = linkage.gravity_at(state.time)
    for j, body in enumerate(linkage.bodies):
        made[j, 0] = body.mass * gravity
    moving = with_ground(motion)
    for force in linkage.forces:
        if isinstance(force, BetweenPoints):
            ends = [
                constraints.turn_vectors(state.orientation, b, x)
                for b, x in zip((force.i, force.j), force.at, strict=True)
            ]
            places = [np.zeros(3) if b == GROUND else state.position[b] for b in (force.i, force.j)]
            d = places[1] + ends[1] - places[0] - ends[0]
            speeds = [moving[b, 0] + np.cross(moving[b, 1], x) for b, x in zip((force.i, force.j), ends, strict=True)]
            length = float(np.linalg.norm(d))
            if length == 0.0:  # no direction is the line's: kernels take no force, too
                continue
            pull = _along(force, length, float(d @ (speeds[1] - speeds[0])) / length) * d / length
            for number, arm, sign in ((force.i, ends[0], -1.0), (force.j, ends[1], 1.0)):
                made[number, 0] += sign * pull
                made[number, 1] += sign * np.cross(arm, pull)
        elif isinstance(force, OnAngle):
            joint, along = linkage.joints[force.joint], coordinate_ends(linkage, state, force.joint)
            bodies = [joint.parent, joint.child]
            rate = float(np.vdot(along, moving[bodies]))
            made[bodies] += force.torque_at(float(angles[force.joint]), rate, state.time) * along
        elif isinstance(force, Load):
            value = load_at(force, state.time)
            made[force.body, 0] += value[:3]
            made[force.body, 1] += value[3:] + np.cross(
                constraints.turn_vectors(state.orientation, force.body, force.at), value[:3]
            )
    for j, wrench in enumerate(linkage.acting.wrenches(state)):
        made[j] += wrench
    return made[:n]


def _along(force: BetweenPoints, length: float, rate: float) -> float:
    """The force on the second point along the line from the first one."""
    if isinstance(force, Spring):
        return -force.k * (length - force.length)
    if isinstance(force, Damper):
        return -force.c * rate
    assert isinstance(force, OfDistance)
    return float(force.pair.force(length))


def load_at(force: Load, time: float) -> Array:
    """Force and torque of a load at a time, (6,)."""
    return np.array(
        [
            part.at(time) if isinstance(part, Sampled) else values_at((part,), time)[0, Signal.VALUE]
            for part in force.components
        ]
    )
