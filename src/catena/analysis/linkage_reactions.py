"""Accelerations and reactions of linked bodies at a state: the multipliers that hold the joints together there.

    M a = F - Phi_q^T lambda,    Phi_q a = -(d Phi_q/dt) v

Plain numpy, independent of any method and step: the loads in joints, for plots and tests. If rows are redundant, the
distribution among them is not determined, and the smallest multipliers are used, with torques divided by a length of
the linkage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..geometry import rotations
from ..systems.base import Array, State
from ..systems.linkage import constraints
from ..systems.linkage.held import HeldMotion, Rows, solve_held
from ..systems.linkage.joint_coordinates import coordinate_ends, joint_speeds, with_ground
from ..systems.linkage.joint_forces import BetweenPoints, Damper, Load, OfDistance, OnAngle, Spring
from ..systems.linkage.joints import DISTANCE, DOT, POINT, SCREW, Joint
from ..systems.linkage.layout import Signal
from ..systems.linkage.signals import values_at
from ..systems.sampled import Sampled

if TYPE_CHECKING:
    from ..systems.linkage.linkage import Linkage


class JointReactions(NamedTuple):
    """Reactions of joints on their children: force, and torque about the child's point, (joints, 3), in space."""

    force: Array
    torque: Array


def accelerations(linkage: Linkage, state: State, angles: Array | None = None) -> HeldMotion:
    """Accelerations of each body in space, linear and angular (6 n,); multipliers of all rows, then of driven joints.

    Parameters
    ----------
    angles : of the joints, with full turns; None: those in (-pi, pi]
    """
    return _solve(linkage, state, angles)[1]


def _solve(linkage: Linkage, state: State, angles: Array | None) -> tuple[list[Rows], HeldMotion]:
    """The rows of all joints, then those of the driven joints, and the accelerations."""
    images = constraints.images_of(linkage, state.orientation)
    rows = constraints.joint_rows(linkage, state.position, state.orientation, images=images)
    rows += drive_rows(linkage, state)
    motion = constraints.velocities(linkage, state)
    force = applied_forces(linkage, state, motion, linkage.angles(state) if angles is None else angles)
    for j, (body, (_, omega)) in enumerate(zip(linkage.bodies, motion.reshape(-1, 2, 3), strict=True)):
        turn = rotations.to_matrix(state.orientation[j])
        force[j, 1] -= np.cross(omega, turn @ body.tensor @ turn.T @ omega)
    wanted = -np.concatenate([bias(linkage, state, images, motion), drive_bias(linkage, state, motion)])
    return rows, solve_held(rows, constraints.weigh(linkage, state.orientation), force.ravel(), wanted)


def reactions(linkage: Linkage, state: State, angles: Array | None = None) -> JointReactions:
    """Reaction of each joint on its child at a state; `angles` as for `accelerations`."""
    rows, (_, multipliers) = _solve(linkage, state, angles)
    made, first = JointReactions(np.zeros((len(linkage.joints), 3)), np.zeros((len(linkage.joints), 3))), 0
    for k, joint in enumerate(linkage.joints):
        own = slice(first, first + len(joint.rows))
        first = own.stop
        wrench = -multipliers[own] @ rows[k].values[:, 1]
        arm = constraints.turn_vectors(state.orientation, joint.child, joint.at[1])
        made.force[k], made.torque[k] = wrench[:3], wrench[3:] - np.cross(arm, wrench[:3])
    return made


def bias(linkage: Linkage, state: State, images: Array, motion: Array) -> Array:
    """(d Phi_q/dt) v: the second derivative of all rows without accelerations."""
    values: list[float] = []
    moving = with_ground(motion)
    for k, joint in enumerate(linkage.joints):
        u, d, speed, bent = _moving_gap(joint, state, moving)
        w = constraints.turn_images(joint, images[k], state.orientation)
        o_i, o_j = moving[joint.parent, 1], moving[joint.child, 1]
        for kind, first, second in joint.rows:
            if kind == POINT:
                values.append(bent[first])
            elif kind == DISTANCE:
                values.append(float((speed @ speed + d @ bent) / joint.length))
            elif kind == DOT:
                a, b = u[first], w[second]
                change = np.cross(np.cross(o_i, a), b) + np.cross(a, np.cross(o_j, b))
                values.append((o_i - o_j) @ change)
            else:
                turned = joint.pitch * np.cross(o_i, u[first]) @ (o_j - o_i) if kind == SCREW else 0.0
                values.append(_bent_along(u[first], o_i, d, speed, bent) - turned)
    return np.array(values)


def _moving_gap(joint: Joint, state: State, moving: Array) -> tuple[Array, Array, Array, Array]:
    """Directions of a joint in the parent (rows), the gap between its points, its rate, and its second derivative.

    The second derivative is that without accelerations.
    """
    u, d, (arm_i, arm_j) = constraints.place_joint(joint, state.position, state.orientation)
    (v_i, o_i), (v_j, o_j) = moving[joint.parent], moving[joint.child]
    speed = v_j + np.cross(o_j, arm_j) - v_i - np.cross(o_i, arm_i)
    bent = np.cross(o_j, np.cross(o_j, arm_j)) - np.cross(o_i, np.cross(o_i, arm_i))
    return u, d, speed, bent


def _bent_along(a: Array, spin: Array, d: Array, speed: Array, bent: Array) -> float:
    """The second derivative of a gap along a direction that rotates with a body, without accelerations."""
    rate = np.cross(spin, a)
    return float(2.0 * rate @ speed + a @ bent + np.cross(spin, rate) @ d)


def drive_rows(linkage: Linkage, state: State) -> list[Rows]:
    """Rows for the angles or displacements of driven joints."""
    made = []
    for number in linkage.signals.driven:
        joint, row = linkage.joints[number], coordinate_ends(linkage, state, number).reshape(1, 2, 6)
        made.append(Rows(row, joint.parent, joint.child, closes=number in linkage.tree.loops))
    return made


def drive_bias(linkage: Linkage, state: State, motion: Array) -> Array:
    """Deviation of their second derivatives from the prescribed ones without accelerations."""
    moving = with_ground(motion)
    signals, made = linkage.signals.at(state.time), np.zeros(len(linkage.signals.driven))
    for k, (number, place) in enumerate(linkage.signals.driven.items()):
        joint = linkage.joints[number]
        u, d, speed, bent = _moving_gap(joint, state, moving)
        o_i, o_j = moving[joint.parent, 1], moving[joint.child, 1]
        made[k] = np.cross(o_i, u[0]) @ (o_j - o_i) if joint.has_angle else _bent_along(u[0], o_i, d, speed, bent)
        made[k] -= signals[place, Signal.CURVATURE]
    return made


def motor_torques(linkage: Linkage, state: State, angles: Array | None = None) -> Array:
    """(joints,): torques of motors and drives about the axes of the joints; `angles` as for `accelerations`."""
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
    made, moving = np.zeros((linkage.count + 1, 2, 3)), with_ground(motion)  # the last is the ground
    made[:-1, 0] = np.outer([body.mass for body in linkage.bodies], linkage.gravity_at(state.time))
    for force in linkage.forces:
        if isinstance(force, BetweenPoints):
            d, arms = constraints.span((force.i, force.j), force.at, state.position, state.orientation)
            start, end = (v + np.cross(o, arm) for (v, o), arm in zip(moving[[force.i, force.j]], arms, strict=True))
            length = float(np.linalg.norm(d))
            if length == 0.0:  # the line has no direction, and kernels apply no force either
                continue
            pull = _along(force, length, float(d @ (end - start)) / length) * d / length
            for number, arm, sign in ((force.i, arms[0], -1.0), (force.j, arms[1], 1.0)):
                made[number] += sign * pull, sign * np.cross(arm, pull)
        elif isinstance(force, OnAngle):
            joint, along = linkage.joints[force.joint], coordinate_ends(linkage, state, force.joint)
            bodies = [joint.parent, joint.child]
            rate = float(np.vdot(along, moving[bodies]))
            made[bodies] += force.torque_at(float(angles[force.joint]), rate, state.time) * along
        elif isinstance(force, Load):
            push, torque = np.split(load_at(force, state.time), 2)
            arm = constraints.turn_vectors(state.orientation, force.body, force.at)
            made[force.body] += push, torque + np.cross(arm, push)
    for j, wrench in enumerate(linkage.acting.wrenches(state)):
        made[j] += wrench
    return made[:-1]


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
