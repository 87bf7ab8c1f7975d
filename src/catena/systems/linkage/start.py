"""Where linked bodies may be and how they may move: the rows of the joints and their gradients, checks and projections.

Plain numpy, used once per start. Positions and directors are those of the axes in which the bodies were given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...geometry import rotations
from ...log import log_message
from ..base import Array, State
from ..many_bodies import start_array, start_momenta
from ..numbers import finite_number
from ..orientations import orientations
from .joint_forces import OfDistance, OnAngle
from .joints import DISTANCE, DOT, GROUND, PLANE, POINT, SCREW, Joint, Turned

if TYPE_CHECKING:
    from .linkage import Linkage

MEETING = 1e-9  # mismatch of a joint, to the size of the linkage, that counts as rounding of the start
PROJECTIONS = 50
RANK = 1e-10  # singular values of the rows below this part of the largest are zero


@dataclass(frozen=True)
class Given:
    """What a start is made of, as `Linkage.start` is given it."""

    position: ArrayLike | None
    orientation: ArrayLike | None
    velocity: ArrayLike | None
    angular_velocity: ArrayLike | None
    momentum: ArrayLike | None = None
    angular_momentum: ArrayLike | None = None
    time: float = 0.0
    project: bool = False


def make_start(linkage: Linkage, given: Given) -> State:
    """A state that fits the joints; see `Linkage.start`."""
    n = linkage.count
    q = orientations(given.orientation, n)
    r = placed(linkage, q) if given.position is None else start_array(given.position, (n, 3), "position")
    masses = np.array([[body.mass] for body in linkage.bodies])
    y = start_momenta(
        n, lambda w: rotations.apply([body.tensor for body in linkage.bodies], w), prefix="angular_",
        velocity=given.angular_velocity, momentum=given.angular_momentum,
    )  # fmt: skip
    p = start_momenta(n, lambda v: masses * v, velocity=given.velocity, momentum=given.momentum)
    y = np.zeros((n, 3)) if y is None else y
    if p is None:
        fields = {"orientation": q, "momentum": np.zeros((n, 3)), "angular_momentum": y}
        motion = velocities_of_momenta(linkage, State(fields))
        if given.angular_velocity is not None:  # no momentum tells a spin of lines and points, but what it moves does
            motion = motion + _thin_spins(linkage, q, np.asarray(given.angular_velocity, dtype=float))
        p = masses * moved(linkage, q, motion.reshape(n, 2, 3)[:, 1])
    fields = {"position": r, "orientation": q, "momentum": p, "angular_momentum": y}
    return checked_start(linkage, State(fields, finite_number(given.time, "start.time")), project=given.project)


def _thin_spins(linkage: Linkage, orientation: Array, angular_velocity: Array) -> Array:
    """(6 n,): the part of angular velocities, in the axes of the bodies, about axes without a moment of inertia."""
    motion = np.zeros((linkage.count, 2, 3))
    motion[:, 1] = rotations.rotate(orientation, angular_velocity)
    lines = thin_axes(linkage, orientation)
    return (lines @ motion.ravel()) @ lines


def images_of(linkage: Linkage, orientation: Array) -> Array:
    """(..., joints, 4): the orientation of each child seen from its parent where the joint's directions coincide, for orientations (..., n, 4)."""
    made = np.zeros((*orientation.shape[:-2], len(linkage.joints), 4))
    for k, joint in enumerate(linkage.joints):
        made[..., k, :] = _seen(joint, orientation) if joint.image is None else joint.image
    return made


def _seen(joint: Joint, orientation: Array) -> Array:
    """The orientation (..., 4) of the child seen from the parent."""
    return rotations.multiply(_conjugate_of(orientation, joint.parent), orientation[..., joint.child, :])


def begun(linkage: Linkage, start: State) -> Linkage:
    """The linkage with the image of every joint where it is at a start: its angles count from there, wherever it is later."""
    images = images_of(linkage, start.orientation)
    joints = [
        replace(joint, image=tuple(rotations.normalise(image).tolist()))
        if isinstance(joint, Turned) and joint.image is None
        else joint
        for joint, image in zip(linkage.joints, images, strict=True)
    ]
    return linkage.with_parts(joints=joints)


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
    turned = rotations.to_matrix(rotations.multiply(_seen(joint, orientation), rotations.conjugate(image)))
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
        w = turned_images(joint, images[k], orientation)
        for kind, first, second in joint.rows:
            if kind == POINT:
                values.append(d[first])
            elif kind == DOT:
                values.append(u[first] @ w[second])
            elif kind == PLANE:
                values.append(u[first] @ d)
            elif kind == DISTANCE:
                values.append(_stretch(joint, d))
            else:
                turn = angle_of(joint, images[k], orientation)
                values.append(u[0] @ d - shifts[k] - joint.pitch * turn)
    return np.array(values)


def _stretch(joint: Joint, gap: Array) -> float:
    """(|d|^2 - l^2)/(2 l)."""
    return float((gap @ gap - joint.length**2) / (2.0 * joint.length))


def joint_gradients(linkage: Linkage, position: Array, orientation: Array, *, images: Array) -> Iterator[Array]:
    """For each joint (rows, 2, 6): its rows change by this matrix times the displacements and turns of parent and child, in space."""
    for k, joint in enumerate(linkage.joints):
        u, d = plane(linkage, joint, position, orientation)
        w = turned_images(joint, images[k], orientation)
        arm_parent = turned(orientation, joint.parent, joint.at[0])
        arm_child = turned(orientation, joint.child, joint.at[1])
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
    n, first = linkage.count, 0
    made = np.zeros((sum(len(joint.rows) for joint in linkage.joints), n + 1, 6))  # the last stands for the ground
    blocks = joint_gradients(linkage, position, orientation, images=images)
    for joint, block in zip(linkage.joints, blocks, strict=True):
        own = slice(first, first + len(block))
        first = own.stop
        made[own, joint.parent], made[own, joint.child] = block[:, 0], block[:, 1]
    return made[:, :n].reshape(len(made), 6 * n)


def rates(linkage: Linkage, state: State, *, images: Array) -> Array:
    """dPhi/dt, all rows; the whole matrix of a long chain would fill the memory."""
    motion = np.vstack([velocities(linkage, state).reshape(-1, 6), np.zeros((1, 6))])  # the last is the ground
    blocks = joint_gradients(linkage, state.position, state.orientation, images=images)
    values = [
        block[:, 0] @ motion[joint.parent] + block[:, 1] @ motion[joint.child]
        for joint, block in zip(linkage.joints, blocks, strict=True)
    ]
    return np.concatenate(values) if values else np.zeros(0)


def mass_matrix(linkage: Linkage, orientation: Array) -> Array:
    """(6 n, 6 n): masses and inertia tensors in space."""
    full = np.zeros((6 * linkage.count, 6 * linkage.count))
    for j, body in enumerate(linkage.bodies):
        turn = rotations.to_matrix(orientation[j])
        full[6 * j : 6 * j + 3, 6 * j : 6 * j + 3] = body.mass * np.eye(3)
        full[6 * j + 3 : 6 * j + 6, 6 * j + 3 : 6 * j + 6] = turn @ body.tensor @ turn.T
    return full


def inverse_roots(linkage: Linkage, orientation: Array, *, fill: bool) -> Array:
    """(6 n, 6 n): W with W W^T the inverse of `mass_matrix`; displacements W x have the size |x|.

    Where a body has no moment of inertia, W is zero: there is no motion; or, filled in, its largest moment stands for it, and for
    a point its mass at the farthest of its joints.
    """
    full = np.zeros((6 * linkage.count, 6 * linkage.count))
    for j, body in enumerate(linkage.bodies):
        roots = np.sqrt(body.inverse_moments)
        if fill and not roots.all():
            roots[roots == 0.0] = 1.0 / np.sqrt(size_of_inertia(linkage, j))
        turn = rotations.to_matrix(orientation[j]) @ body.frame_matrix
        full[6 * j : 6 * j + 3, 6 * j : 6 * j + 3] = np.eye(3) / np.sqrt(body.mass)
        full[6 * j + 3 : 6 * j + 6, 6 * j + 3 : 6 * j + 6] = turn * roots
    return full


def size_of_inertia(linkage: Linkage, number: int) -> float:
    """The largest moment of a body; of a point, its mass at the farthest of its joints."""
    arms = [
        np.linalg.norm(joint.at[joint.child == number])
        for joint in linkage.joints
        if number in (joint.parent, joint.child)
    ]
    body, reach = linkage.bodies[number], float(max(arms, default=0.0)) or 1.0
    return float(body.moments.max()) or body.mass * reach**2


def velocities(linkage: Linkage, state: State) -> Array:
    """(6 n,): velocity and angular velocity in space of each body; spins that have no momentum are those that fit the joints."""
    made = velocities_of_momenta(linkage, state)
    lines = thin_axes(linkage, state.orientation)
    if len(lines) == 0 or len(linkage.joints) == 0:
        return made
    images = images_of(linkage, state.orientation)
    rows = gradients(linkage, state.position, state.orientation, images=images)
    u, sizes, spins = seen_spins(rows, lines)
    return made - (u.T @ rows @ made / sizes) @ spins @ lines


def seen_spins(rows: Array, lines: Array) -> tuple[Array, Array, Array]:
    """What turns about `lines` do to the rows: the parts with a singular value that is not rounding."""
    u, sizes, spins = np.linalg.svd(rows @ lines.T, full_matrices=False)
    # a line that turns about itself within a ball joint moves no row but by rounding
    known = sizes > RANK * np.abs(rows).max()
    return u[:, known], sizes[known], spins[known]


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
    made = []
    for j, body in enumerate(linkage.bodies):
        for k in np.flatnonzero(body.moments == 0.0):
            row = np.zeros((linkage.count, 2, 3))
            row[j, 1] = rotations.rotate(orientation[j], body.frame_matrix[:, k])
            made.append(row.ravel())
    return np.array(made).reshape(len(made), 6 * linkage.count)


def placed(linkage: Linkage, orientation: Array) -> Array:
    """Positions at which the points of every carrying joint coincide; free bodies lie in the origin."""
    r = np.zeros((linkage.count, 3))
    for j in linkage.tree.order:
        if linkage.tree.carriers[j] >= 0:
            joint = linkage.joints[linkage.tree.carriers[j]]
            start = np.zeros(3) if joint.parent == GROUND else r[joint.parent]
            arms = turned(orientation, joint.parent, joint.at[0]), turned(orientation, j, joint.at[1])
            r[j] = start + arms[0] - arms[1]
    return r


def moved(linkage: Linkage, orientation: Array, omega: Array) -> Array:
    """Velocities with which those points stay together, for angular velocities in space."""
    v = np.zeros((linkage.count, 3))
    for j in linkage.tree.order:
        if linkage.tree.carriers[j] >= 0:
            joint = linkage.joints[linkage.tree.carriers[j]]
            if joint.parent != GROUND:
                v[j] = v[joint.parent] + np.cross(omega[joint.parent], turned(orientation, joint.parent, joint.at[0]))
            v[j] -= np.cross(omega[j], turned(orientation, j, joint.at[1]))
    return v


def projected(linkage: Linkage, state: State, *, shifts: Array) -> State:
    """The state nearest to a given one that fits the joints to round-off; a smooth function of it.

    The images of the joints must be known (`begun`), and the shifts of its screws.
    """
    images = images_of(linkage, state.orientation)
    size = extent(linkage, state.position)
    state = _projected_position(linkage, state, images=images, shifts=shifts, size=size)
    return _projected_velocity(linkage, state, images, size=size)


def with_fitting_velocity(linkage: Linkage, state: State) -> State:
    """The state with the velocities nearest in kinetic energy that fit the joints: noise of the masses becomes noise of the joints."""
    images = images_of(linkage, state.orientation)
    return _projected_velocity(linkage, state, images, size=extent(linkage, state.position))


def check_position(linkage: Linkage, state: State) -> None:
    """InputError if the bodies are not where the joints hold them. Velocities may be those of a step that holds positions only."""
    phi = _mismatch(linkage, state)
    if phi is not None:
        _refuse_position(linkage, phi)


def require_closed(linkage: Linkage, state: State) -> None:
    """InputError if a state in which driven joints follow their paths pulls a loop apart: the paths contradict it."""
    phi = _mismatch(linkage, state)
    images, size = images_of(linkage, state.orientation), extent(linkage, state.position)
    rate = _rate_mismatch(linkage, state, images, size=size)
    off = rate if phi is None else phi
    if off is None:
        return
    number, word = row_name(linkage, int(np.argmax(np.abs(off))))
    driven = ", ".join(map(str, sorted(linkage.signals.driven)))
    how = f"at {np.abs(off).max():.3g}" if phi is None else f"by {np.abs(off).max():.3g}"
    raise InputError(
        f"the prescribed motions of joint {driven} contradict a loop: they pull joint {number} apart {how} from where {word}",
        where=f"start, joint {number}", do="drive no more joints than the loop leaves free, along paths that it can follow",
    )  # fmt: skip


def _mismatch(linkage: Linkage, state: State) -> Array | None:
    """How far a state is from fitting the joints, all rows; None if not farther than rounding."""
    images, shifts = images_of(linkage, state.orientation), shifts_of(linkage, state.position, state.orientation)
    phi = residuals(linkage, state.position, state.orientation, images=images, shifts=shifts)
    fits = np.abs(phi) <= MEETING * row_sizes(linkage, extent(linkage, state.position))
    return None if fits.all() else phi


def _rate_mismatch(linkage: Linkage, state: State, images: Array, *, size: float) -> Array | None:
    """The same of its velocities, for a linkage of this size."""
    rate = rates(linkage, state, images=images)
    moving, turning = np.abs(velocities(linkage, state)).reshape(-1, 2, 3).max(axis=(0, 2), initial=0.0)
    fits = np.abs(rate) <= MEETING * (moving / size + turning) * row_sizes(linkage, size)
    return None if fits.all() else rate


def checked_start(linkage: Linkage, state: State, *, project: bool) -> State:
    """The state if it fits the joints; else an InputError, or the nearest state that does."""
    images = images_of(linkage, state.orientation)
    shifts = shifts_of(linkage, state.position, state.orientation)
    phi, size = _mismatch(linkage, state), extent(linkage, state.position)
    if phi is not None:
        if not project:
            _refuse_position(linkage, phi)
        given = state
        state = _projected_position(linkage, given, images=images, shifts=shifts, size=size)
        images = images_of(
            linkage, state.orientation
        )  # a joint without an image gets that of the state which is returned
        log_message(
            f"start projected onto the joints: bodies moved by up to {np.abs(state.position - given.position).max():.3g}"
        )
    rate = _rate_mismatch(linkage, state, images, size=size)
    if rate is not None:
        if not project:
            _refuse_velocity(linkage, rate)
        given = state
        state = _projected_velocity(linkage, given, images, size=size)
        change = np.abs(velocities(linkage, state) - velocities(linkage, given)).max()
        log_message(f"start projected onto the joints: velocities changed by up to {change:.3g}")
    return state


def extent(linkage: Linkage, position: Array) -> float:
    """The largest coordinate of a centre or of a joint's point, 1 if all are zero: in any unit it tells rounding from a mistake."""
    points = [np.abs(np.array(joint.at, dtype=float)).max() for joint in linkage.joints]
    return float(max([np.abs(position).max(initial=0.0), *points])) or 1.0


def row_sizes(linkage: Linkage, size: float) -> Array:
    """(rows,): what rows are compared with: those that are lengths with the size of the linkage, products of directions with 1."""
    return np.array([1.0 if kind == DOT else size for joint in linkage.joints for kind, *_ in joint.rows])


def _projected_position(linkage: Linkage, state: State, *, images: Array, shifts: Array, size: float) -> State:
    """Newton towards Phi = 0 along the shortest way, masses as weights.

    A rod may have to turn about its own line, and a point to turn, to fit a joint: they weigh as if they had a moment there.
    """
    r, q, sizes = state.position.copy(), state.orientation.copy(), row_sizes(linkage, size)
    for _ in range(PROJECTIONS):
        phi = residuals(linkage, r, q, images=images, shifts=shifts) / sizes
        if np.abs(phi).max() <= 4.0 * np.finfo(float).eps:
            break
        rows = gradients(linkage, r, q, images=images) / sizes[:, None]
        weights = inverse_roots(linkage, q, fill=True)
        step = -weights @ np.linalg.lstsq(rows @ weights, phi, rcond=RANK)[0]
        change = step.reshape(linkage.count, 2, 3)
        r += change[:, 0]
        for j in range(linkage.count):
            q[j] = rotations.multiply(rotations.from_vector(change[j, 1]), q[j])
        if max(np.abs(change[:, 0]).max() / size, np.abs(change[:, 1]).max()) <= np.finfo(float).eps:
            break
    phi = residuals(linkage, r, q, images=images, shifts=shifts)
    if not (np.abs(phi) <= MEETING * sizes).all():
        _refuse_position(linkage, phi, tried=True)
    p, y = state.momentum, state.angular_momentum
    return State({"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, state.time)


def _projected_velocity(linkage: Linkage, state: State, images: Array, *, size: float) -> State:
    """The velocity nearest in kinetic energy that keeps the joints together; what has no inertia turns as it must."""
    rows = gradients(linkage, state.position, state.orientation, images=images) / row_sizes(linkage, size)[:, None]
    motion = velocities_of_momenta(linkage, state)
    lines = thin_axes(linkage, state.orientation)
    if len(lines) and len(rows):  # turns that cost nothing fit whatever rows they can
        fitted = seen_spins(rows, lines)[0]
        rows = rows - fitted @ (fitted.T @ rows)
    weights = inverse_roots(linkage, state.orientation, fill=False)
    change = -weights @ np.linalg.lstsq(rows @ weights, rows @ motion, rcond=RANK)[0]
    v = (motion + change).reshape(linkage.count, 2, 3)
    p, y = state.momentum.copy(), state.angular_momentum.copy()
    for j, body in enumerate(linkage.bodies):
        p[j] = body.mass * v[j, 0]
        y[j] = rotations.apply(body.tensor, rotations.rotate(rotations.conjugate(state.orientation[j]), v[j, 1]))
    fields = {"position": state.position, "orientation": state.orientation, "momentum": p, "angular_momentum": y}
    return State(fields, state.time)


def row_name(linkage: Linkage, row: int) -> tuple[int, str]:
    """The joint that a row belongs to, and what it says."""
    words = {POINT: "its points meet", DOT: "its directions stay normal", PLANE: "its points stay in the plane",
             SCREW: "it advances with its turn", DISTANCE: "its points keep their distance"}  # fmt: skip
    for number, joint in enumerate(linkage.joints):
        if row < len(joint.rows):
            return number, words[joint.rows[row][0]]
        row -= len(joint.rows)
    raise IndexError(row)


def described(linkage: Linkage, number: int) -> str:
    """A joint in a message, with its bodies."""
    joint = linkage.joints[number]
    return f"joint {number} ({type(joint).__name__}, bodies {joint.parent} and {joint.child})"


def _refuse_position(linkage: Linkage, phi: Array, *, tried: bool = False) -> None:
    worst = int(np.argmax(np.abs(phi)))
    number, word = row_name(linkage, worst)
    joint = linkage.joints[number]
    which = described(linkage, number)
    if tried:
        raise InputError(
            f"no position near the start closes the loop: {which} is off by {abs(phi[worst]):.3g}; not met: "
            + _unmet(linkage, phi), where=f"start, joint {number}",
            do="check the lengths and points of the bodies in that loop",
        )  # fmt: skip
    raise InputError(
        f"the start does not fit {which}: off by {abs(phi[worst]):.3g} from where {word}",
        where=f"start.position[{joint.child}]",
        do="correct the positions, leave them out (they follow from the joints), or use project=True",
    )


def _unmet(linkage: Linkage, phi: Array) -> str:
    """The rows that are off by half of the worst or more, in words: "its points meet" of joint 0, 1."""
    joints: dict[str, set[int]] = {}
    for row in np.flatnonzero(np.abs(phi) > 0.5 * np.abs(phi).max()):
        number, word = row_name(linkage, int(row))
        joints.setdefault(word, set()).add(number)
    return "; ".join(f'"{word}" of joint {", ".join(map(str, sorted(which)))}' for word, which in joints.items())


def _refuse_velocity(linkage: Linkage, rate: Array) -> None:
    worst = int(np.argmax(np.abs(rate)))
    number, _ = row_name(linkage, worst)
    raise InputError(
        f"the velocities pull {described(linkage, number)} apart at {abs(rate[worst]):.3g}",
        where=f"start.velocity[{linkage.joints[number].child}]",
        do="correct the velocities, leave the linear ones out (they follow), or use project=True",
    )  # fmt: skip


def _conjugate_of(orientation: Array, body: int) -> Array:
    return np.array((1.0, 0.0, 0.0, 0.0)) if body == GROUND else rotations.conjugate(orientation[..., body, :])


def turned(orientation: Array, body: int, vectors: ArrayLike) -> Array:
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
    u = turned(orientation, joint.parent, joint.triad)
    start = np.zeros(3) if joint.parent == GROUND else position[joint.parent]
    d = position[joint.child] + turned(orientation, joint.child, joint.at[1])
    return u, d - start - turned(orientation, joint.parent, joint.at[0])


def turned_images(joint: Joint, image: Array, orientation: Array) -> Array:
    """The images of the directions in the child, in space (rows)."""
    return turned(orientation, joint.child, rotations.rotate(rotations.conjugate(image), joint.triad))


def undefined_force(linkage: Linkage, state: State) -> str:
    """The first force whose energy is not defined in a state, and why."""
    for k, force in enumerate(linkage.forces):
        reason = ""
        if isinstance(force, OnAngle):
            reason = force.undefined_at(float(linkage.angles(state)[force.joint]), state.time)
        elif isinstance(force, OfDistance):
            distance = _distance(force, state)
            reason = "" if force.pair.is_defined(distance) else f"no finite energy at distance {distance:g}"
        if reason:
            return f"start, forces[{k}] ({type(force).__name__}): {reason}"
    return linkage.acting.undefined_at(state) or "start"


def _distance(force: OfDistance, state: State) -> float:
    """How far the points of a force are apart."""
    ends = []
    for body, point in zip((force.i, force.j), map(np.array, force.at), strict=True):
        turned = point if body == GROUND else state.position[body] + rotations.rotate(state.orientation[body], point)
        ends.append(turned)
    return float(np.linalg.norm(ends[0] - ends[1]))
