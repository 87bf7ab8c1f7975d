"""Joints as constraints Phi(q) = 0 on the bodies at a state: residuals, gradients and rates, and the masses that they weigh.

Plain numpy, used once per start. Positions and directors are those of the axes in which the bodies were given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...geometry import rotations
from ..base import Array, State
from ..numbers import Vector
from .held import RANK, Rows, Weights, follow_rows, write_out
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
            u, d, _ = place_joint(joint, position, orientation)
            made[k] = u[0] @ d - joint.pitch * angle_of(joint, images[k], orientation)
    return made


def angle_of(joint: Joint, image: Array, orientation: Array) -> Array:
    """The angle about the axis of a joint, in (-pi, pi], from the orientation `image` (..., 4) on, for orientations (..., n, 4)."""
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
        u, d, _ = place_joint(joint, position, orientation)
        w = turn_images(joint, images[k], orientation)
        for kind, first, second in joint.rows:
            if kind == POINT:
                values.append(d[first])
            elif kind == DOT:
                values.append(u[first] @ w[second])
            elif kind == DISTANCE:
                values.append(float((d @ d - joint.length**2) / (2.0 * joint.length)))
            elif kind == PLANE:
                values.append(u[first] @ d)
            else:
                values.append(u[0] @ d - shifts[k] - joint.pitch * angle_of(joint, images[k], orientation))
    return np.array(values)


def joint_rows(linkage: Linkage, position: Array, orientation: Array, *, images: Array) -> list[Rows]:
    """The rows of each joint: they change by these times the displacements and turns of parent and child, in space."""
    made = []
    for k, joint in enumerate(linkage.joints):
        u, d, (arm_parent, arm_child) = place_joint(joint, position, orientation)
        w = turn_images(joint, images[k], orientation)
        rows = np.zeros((len(joint.rows), 2, 2, 3))
        for (of_parent, of_child), (kind, first, second) in zip(rows, joint.rows, strict=True):
            if kind == DOT:
                torque = np.cross(u[first], w[second])
                of_parent[1] += torque
                of_child[1] -= torque
                continue
            force = np.eye(3)[first] if kind == POINT else d / joint.length if kind == DISTANCE else u[first]
            of_child[0] += force
            of_parent[0] -= force
            of_child[1] += np.cross(arm_child, force)
            of_parent[1] -= np.cross(arm_parent, force)
            if kind in (PLANE, SCREW):
                of_parent[1] += np.cross(u[first], d)
            if kind == SCREW:
                of_child[1] -= joint.pitch * u[0]
                of_parent[1] += joint.pitch * u[0]
        made.append(Rows(rows.reshape(-1, 2, 6), joint.parent, joint.child, closes=k in linkage.tree.loops))
    return made


def gradients(linkage: Linkage, position: Array, orientation: Array, *, images: Array) -> Array:
    """(rows, 6 n): Phi changes by this matrix times (dr_0, turn_0, dr_1, ...), turns in space."""
    return write_out(joint_rows(linkage, position, orientation, images=images), linkage.count)


def mass_matrix(linkage: Linkage, orientation: Array) -> Array:
    """(6 n, 6 n): masses and inertia tensors in space."""
    made = np.zeros((linkage.count, 2, 3, linkage.count, 2, 3))
    for j, body in enumerate(linkage.bodies):
        turn = rotations.to_matrix(orientation[j])
        made[j, 0, :, j, 0], made[j, 1, :, j, 1] = body.mass * np.eye(3), turn @ body.tensor @ turn.T
    return made.reshape(6 * linkage.count, 6 * linkage.count)


def weigh(linkage: Linkage, orientation: Array) -> Weights:
    """What the bodies weigh, along their principal axes in space."""
    frames = np.array([body.frame_matrix for body in linkage.bodies])
    masses = np.array([[*[body.mass] * 3, *body.moments] for body in linkage.bodies])
    return Weights(rotations.to_matrix(orientation) @ frames, masses, length_of(linkage))


def length_of(linkage: Linkage) -> float:
    """The longest arm of a body to the point of a joint, massless rod, or radius of gyration: the same wherever the linkage is."""
    radii = [math.sqrt(max(body.moments) / body.mass) for body in linkage.bodies]
    return max([*reaches_of(linkage), *radii, *(joint.length for joint in linkage.joints)]) or 1.0


def reaches_of(linkage: Linkage) -> Array:
    """(n,): how far the joints of each body are from its centre."""
    made = np.zeros(linkage.count)
    for joint in linkage.joints:
        for body, point in zip((joint.parent, joint.child), joint.at, strict=True):
            if body != GROUND:
                made[body] = max(made[body], np.linalg.norm(point))
    return made


def sizes_of_inertia(linkage: Linkage) -> Array:
    """(n,): the largest moment of each body; of a point, its mass at the farthest of its joints."""
    reach = reaches_of(linkage)
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
    """`gradients` at a state, lengths in a unit in which arms are neither large nor small: beside products of directions, rounding is told from what is small."""
    images, unit = images_of(linkage, state.orientation), unit_of_arms(linkage)
    units = [1.0 if kind == DOT else unit for joint in linkage.joints for kind, *_ in joint.rows]
    return gradients(linkage, state.position, state.orientation, images=images) / np.array(units)[:, None]


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
    return float(np.abs(rows.reshape(len(rows), rows.shape[1] // 6, 2, 3)[:, :, 1]).max(initial=0.0))


def velocities_of_momenta(linkage: Linkage, state: State) -> Array:
    """(6 n,): those that the momenta tell; 0 about axes without a moment of inertia."""
    masses, inverse = (
        np.array([getattr(body, name) for body in linkage.bodies]) for name in ("mass", "inverse_moments")
    )
    frames = np.array([body.frame_matrix for body in linkage.bodies])
    omega = rotations.apply(frames, inverse * rotations.apply(frames.swapaxes(1, 2), state.angular_momentum))
    return np.stack([state.momentum / masses[:, None], rotations.rotate(state.orientation, omega)], axis=1).ravel()


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


def place_joint(joint: Joint, position: Array, orientation: Array) -> tuple[Array, Array, tuple[Array, Array]]:
    """The directions of a joint in its parent (rows), the vector from the parent's point to the child's, and the arms of both; in space."""
    d, arms = span((joint.parent, joint.child), joint.at, position, orientation)
    return turn_vectors(orientation, joint.parent, joint.triad), d, arms


def span(
    bodies: tuple[int, int], points: Sequence[Vector] | Array, position: Array, orientation: Array
) -> tuple[Array, tuple[Array, Array]]:
    """The vector from a point of a body to a point of another, and their arms from the centres, in space."""
    start, end = (np.zeros(3) if body == GROUND else position[body] for body in bodies)
    first, second = (turn_vectors(orientation, body, point) for body, point in zip(bodies, points, strict=True))
    return end + second - start - first, (first, second)


def turn_images(joint: Joint, image: Array, orientation: Array) -> Array:
    """The images of the directions in the child, in space (rows)."""
    return turn_vectors(orientation, joint.child, rotations.rotate(rotations.conjugate(image), joint.triad))
