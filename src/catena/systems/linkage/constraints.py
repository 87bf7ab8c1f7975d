"""Joints as constraints Phi(q) = 0 on the bodies at a state: residuals, gradients and rates, and the masses that they weigh.

Plain numpy, used once per start. Positions and directors are those of the axes in which the bodies were given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...geometry import rotations
from ..base import Array, State
from .held import RANK, Rows, Weights, apply_rows, follow_rows, write_out
from .joints import DISTANCE, DOT, GROUND, PLANE, POINT, SCREW, Joint

if TYPE_CHECKING:
    from .linkage import Linkage

ALIKE = 4  # powers of two by which a length may differ from one and be measured in ones: digits are lost with the square of others
MANY = 64  # bodies from which on matrices are sparse: the cube of their number would be felt
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def images_of(linkage: Linkage, orientation: Array) -> Array:
    """(..., joints, 4): the orientation of each child seen from its parent where the joint's directions coincide, for orientations (..., n, 4)."""
    made = np.zeros((*orientation.shape[:-2], len(linkage.joints), 4))
    for k, joint in enumerate(linkage.joints):
        made[..., k, :] = _see(joint, orientation) if joint.image is None else joint.image
    return made


def _see(joint: Joint, orientation: Array) -> Array:
    """The orientation (..., 4) of the child seen from the parent."""
    back = IDENTITY if joint.parent == GROUND else rotations.conjugate(orientation[..., joint.parent, :])
    return rotations.multiply(back, orientation[..., joint.child, :])


def shifts_of(linkage: Linkage, position: Array, orientation: Array) -> Array:
    """(joints,): how far the points of a screw are apart along its axis where its angle is zero; 0 for other joints."""
    made = np.zeros(len(linkage.joints))
    images = images_of(linkage, orientation)
    for k, joint in enumerate(linkage.joints):
        if joint.rows[-1][0] == SCREW:
            u, d = plane(linkage, joint, position, orientation)
            made[k] = u[0] @ d - joint.pitch * angle_of(joint, images[k], orientation)
    return made


def angle_of(joint: Joint, image: Array, orientation: Array) -> float:
    """The angle about the axis of a joint, in (-pi, pi], from the orientation `image` on."""
    return float(angles_of(joint, image, orientation))


def angles_of(joint: Joint, image: Array, orientation: Array) -> Array:
    """The same for images (..., 4) and orientations (..., n, 4)."""
    turned = rotations.to_matrix(rotations.multiply(_see(joint, orientation), rotations.conjugate(image)))
    _, b, c = (np.asarray(one, dtype=float) for one in joint.triad)

    def between(a: Array) -> Array:
        """a . turned b, by the products of rows that a single one takes: the bits are the same."""
        return ((a @ turned)[..., None, :] @ b[:, None])[..., 0, 0]

    return np.arctan2(between(c), between(b))


def residuals(linkage: Linkage, position: Array, orientation: Array, *, images: Array, shifts: Array) -> Array:
    """Phi, all rows of all joints one after the other."""
    values: list[float] = []
    for k, joint in enumerate(linkage.joints):
        u, d = plane(linkage, joint, position, orientation)
        w = turn_images(joint, images[k], orientation)
        for kind, first, second in joint.rows:
            if kind == POINT:
                values.append(d[first])
            elif kind == DOT:
                values.append(u[first] @ w[second])
            elif kind == PLANE:
                values.append(u[first] @ d)
            elif kind == DISTANCE:
                values.append(float((d @ d - joint.length**2) / (2.0 * joint.length)))
            else:
                turn = angle_of(joint, images[k], orientation)
                values.append(u[0] @ d - shifts[k] - joint.pitch * turn)
    return np.array(values)


def joint_gradients(linkage: Linkage, position: Array, orientation: Array, *, images: Array) -> Iterator[Array]:
    """For each joint (rows, 2, 6): its rows change by this matrix times the displacements and turns of parent and child, in space."""
    for k, joint in enumerate(linkage.joints):
        u, d = plane(linkage, joint, position, orientation)
        w = turn_images(joint, images[k], orientation)
        arm_parent = turn_vectors(orientation, joint.parent, joint.at[0])
        arm_child = turn_vectors(orientation, joint.child, joint.at[1])
        made = np.zeros((len(joint.rows), 2, 2, 3))
        for row, (kind, first, second) in zip(made, joint.rows, strict=True):
            of_parent, of_child = row
            if kind == DOT:
                torque = np.cross(u[first], w[second])
                of_parent[1] += torque
                of_child[1] -= torque
                continue
            force = np.eye(3)[first] if kind == POINT else u[first]
            if kind == DISTANCE:
                force = d / joint.length
            of_child[0] += force
            of_parent[0] -= force
            of_child[1] += np.cross(arm_child, force)
            of_parent[1] -= np.cross(arm_parent, force)
            if kind in (PLANE, SCREW):
                of_parent[1] += np.cross(u[first], d)
            if kind == SCREW:
                of_child[1] -= joint.pitch * u[0]
                of_parent[1] += joint.pitch * u[0]
        yield made.reshape(-1, 2, 6)


def gradients(linkage: Linkage, position: Array, orientation: Array, *, images: Array) -> Array:
    """(rows, 6 n): Phi changes by this matrix times (dr_0, turn_0, dr_1, ...), turns in space."""
    return write_out(joint_rows(linkage, position, orientation, images=images), linkage.count)


def joint_rows(linkage: Linkage, position: Array, orientation: Array, *, images: Array) -> list[Rows]:
    """The rows of each joint."""
    loops, blocks = set(linkage.tree.loops), joint_gradients(linkage, position, orientation, images=images)
    return [
        Rows(block, joint.parent, joint.child, number in loops)
        for number, (joint, block) in enumerate(zip(linkage.joints, blocks, strict=True))
    ]


def rates(linkage: Linkage, state: State, *, images: Array) -> Array:
    """dPhi/dt, all rows; the whole matrix of a long chain would fill the memory."""
    return apply_rows(joint_rows(linkage, state.position, state.orientation, images=images), velocities(linkage, state))


def mass_matrix(linkage: Linkage, orientation: Array) -> Array:
    """(6 n, 6 n): masses and inertia tensors in space."""
    turns = [rotations.to_matrix(q) for q in orientation]
    tensors = [turn @ body.tensor @ turn.T for turn, body in zip(turns, linkage.bodies, strict=True)]
    blocks = np.zeros((linkage.count, 2, 3, 2, 3))
    blocks[:, 0, :, 0], blocks[:, 1, :, 1] = [body.mass * np.eye(3) for body in linkage.bodies], tensors
    made, each = np.zeros((linkage.count, 6, linkage.count, 6)), np.arange(linkage.count)
    made[each, :, each, :] = blocks.reshape(-1, 6, 6)
    return made.reshape(6 * linkage.count, 6 * linkage.count)


def weigh(linkage: Linkage, orientation: Array) -> Weights:
    """What the bodies weigh, along their principal axes in space."""
    frames = np.array([body.frame_matrix for body in linkage.bodies])
    masses = np.array([[*[body.mass] * 3, *body.moments] for body in linkage.bodies])
    return Weights(rotations.to_matrix(orientation) @ frames, masses, length_of(linkage))


def length_of(linkage: Linkage) -> float:
    """The longest arm of a body to the point of a joint, massless rod, or radius of gyration: the same wherever the linkage is."""
    arms = [
        float(np.linalg.norm(point))
        for joint in linkage.joints
        for body, point in zip((joint.parent, joint.child), joint.at, strict=True)
        if body != GROUND
    ]
    radii = [math.sqrt(max(body.moments) / body.mass) for body in linkage.bodies]
    return max([*arms, *radii, *(joint.length for joint in linkage.joints)]) or 1.0


def sizes_of_inertia(linkage: Linkage) -> Array:
    """(n,): the largest moment of each body; of a point, its mass at the farthest of its joints."""
    reach = np.zeros(linkage.count)
    for joint in linkage.joints:
        for body, point in zip((joint.parent, joint.child), joint.at, strict=True):
            if body != GROUND:
                reach[body] = max(reach[body], np.linalg.norm(point))
    reach[reach == 0.0] = unit_of_arms(linkage)
    largest, mass = np.array([(body.moments.max(), body.mass) for body in linkage.bodies]).T
    return np.where(largest > 0.0, largest, mass * reach**2)


def velocities(linkage: Linkage, state: State) -> Array:
    """(6 n,): velocity and angular velocity in space of each body; spins that have no momentum are those that fit the joints."""
    made = velocities_of_momenta(linkage, state)
    if all(body.moments.all() for body in linkage.bodies) or len(linkage.joints) == 0:
        return made
    if linkage.count > MANY:
        images = images_of(linkage, state.orientation)
        blocks = joint_rows(linkage, state.position, state.orientation, images=images)
        return made + follow_rows(blocks, weigh(linkage, state.orientation), made)
    rows, lines = rows_in_units(linkage, state), thin_axes(linkage, state.orientation)
    u, sizes, spins = seen_spins(rows, lines)
    return made - (u.T @ rows @ made / sizes) @ spins @ lines


def rows_in_units(linkage: Linkage, state: State) -> Array:
    """`gradients` at a state, with lengths in `row_units`: where they stand beside products of directions rounding is told from what is small."""
    images = images_of(linkage, state.orientation)
    rows = gradients(linkage, state.position, state.orientation, images=images)
    return rows / row_units(linkage)[:, None]


def row_units(linkage: Linkage) -> Array:
    """(rows,): the unit of rows that are lengths, one in which arms are neither large nor small; 1 for products of directions."""
    unit = unit_of_arms(linkage)
    return np.array([1.0 if kind == DOT else unit for joint in linkage.joints for kind, *_ in joint.rows])


def unit_of_arms(linkage: Linkage) -> float:
    """`unit_of` the longest arm to the point of a joint, or massless rod."""
    return unit_of(max([0.0, *(max(np.abs(np.array(joint.at)).max(), joint.length) for joint in linkage.joints)]))


def unit_of(length: float) -> float:
    """A power of two near a length; 1 near one, where all digits stay as they are."""
    _, power = np.frexp(length)
    return 2.0 ** int(power) if abs(power) > ALIKE else 1.0


def seen_spins(rows: Array, lines: Array) -> tuple[Array, Array, Array]:
    """What turns about `lines` do to the rows: the parts with a singular value that is not rounding."""
    u, sizes, spins = np.linalg.svd(rows @ lines.T, full_matrices=False)
    # a line that turns about itself within a ball joint moves no row but by rounding
    known = sizes > RANK * largest_of_turns(rows)
    return u[:, known], sizes[known], spins[known]


def largest_of_turns(rows: Array) -> float:
    """The most that a turn of a body does to a row."""
    return float(np.abs(rows.reshape(len(rows), -1, 2, 3)[:, :, 1]).max(initial=0.0))


def velocities_of_momenta(linkage: Linkage, state: State) -> Array:
    """(6 n,): those that the momenta tell; 0 about axes without a moment of inertia."""
    made = np.zeros((linkage.count, 2, 3))
    for j, body in enumerate(linkage.bodies):
        along = body.inverse_moments * rotations.apply(body.frame_matrix.T, state.angular_momentum[j])
        omega = rotations.apply(body.frame_matrix, along)
        made[j] = state.momentum[j] / body.mass, rotations.rotate(state.orientation[j], omega)
    return made.ravel()


def thin_axes(linkage: Linkage, orientation: Array) -> Array:
    """(axes, 6 n): turns about which bodies have no moment of inertia: no momentum tells how fast they are, but the joints may."""
    idle = [(j, k) for j, body in enumerate(linkage.bodies) for k in np.flatnonzero(body.moments == 0.0)]
    made = np.zeros((len(idle), linkage.count, 2, 3))
    for row, (j, k) in zip(made, idle, strict=True):
        row[j, 1] = rotations.rotate(orientation[j], linkage.bodies[j].frame_matrix[:, k])
    return made.reshape(len(idle), 6 * linkage.count)


def extent(linkage: Linkage, position: Array) -> float:
    """The largest coordinate of a centre or of a joint's point, 1 if all are zero: in any unit it tells rounding from a mistake."""
    points = [np.abs(np.array(joint.at, dtype=float)).max() for joint in linkage.joints]
    return float(max([np.abs(position).max(initial=0.0), *points])) or 1.0


def turn_vectors(orientation: Array, body: int, vectors: ArrayLike) -> Array:
    """Vectors (..., 3) of a body in space."""
    return np.array(vectors, dtype=float) if body == GROUND else rotations.rotate(orientation[body], vectors)


def principal(linkage: Linkage, body: int, vector: ArrayLike) -> Array:
    """A vector of a body (-1: the ground) in its principal axes."""
    given = np.array(vector, dtype=float)
    return given if body == GROUND else rotations.apply(linkage.bodies[body].frame_matrix.T, given)


def principal_joint(linkage: Linkage, joint: Joint) -> tuple[Array, Array, Array]:
    """The points of a joint in its parent and in its child, and its triad (rows), in their principal axes."""
    a, b = principal(linkage, joint.parent, joint.at[0]), principal(linkage, joint.child, joint.at[1])
    return a, b, np.array([principal(linkage, joint.parent, direction) for direction in joint.triad])


def plane(linkage: Linkage, joint: Joint, position: Array, orientation: Array) -> tuple[Array, Array]:
    """The directions of the parent in space (rows), and the vector from the parent's point to the child's."""
    u = turn_vectors(orientation, joint.parent, joint.triad)
    start = np.zeros(3) if joint.parent == GROUND else position[joint.parent]
    d = position[joint.child] + turn_vectors(orientation, joint.child, joint.at[1])
    return u, d - start - turn_vectors(orientation, joint.parent, joint.at[0])


def turn_images(joint: Joint, image: Array, orientation: Array) -> Array:
    """The images of the directions in the child, in space (rows)."""
    return turn_vectors(orientation, joint.child, rotations.rotate(rotations.conjugate(image), joint.triad))
