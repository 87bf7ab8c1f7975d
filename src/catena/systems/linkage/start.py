"""Where linked bodies may be and how they may move: the rows of the joints and their gradients, checks and projections.

Plain numpy, used once per start. Positions and directors are those of the axes in which the bodies were given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...geometry import rotations
from ...log import log_message
from ..base import Array, State
from ..many_bodies import start_array, start_momenta
from ..numbers import finite_number
from ..orientations import orientations
from .held import RANK, Rows, apply_rows, follow_rows, solve_held, write_out
from .joints import DISTANCE, DOT, GROUND, PLANE, POINT, SCREW, Joint, Turned

if TYPE_CHECKING:
    from .linkage import Linkage

MEETING = 1e-9  # mismatch of a joint, to the size of the linkage, that counts as rounding of the start
PROJECTIONS = 50
SHORT = 0.25  # turn of a body in a step towards the joints: there products of directions change as if they were linear
ALIKE = 4  # powers of two by which a length may differ from one and be measured in ones: digits are lost with the square of others
MANY = 64  # bodies from which on matrices are sparse: the cube of their number would be felt
Motion: TypeAlias = tuple[Array, Array]  # positions, or displacements, and their rates
Slides: TypeAlias = Mapping[int, Motion]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
WORDS = {
    POINT: "its points meet",
    DOT: "its directions stay normal",
    PLANE: "its points stay in the plane",
    SCREW: "it advances with its turn",
    DISTANCE: "its points keep their distance",
}  # what rows say


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


class Drives(NamedTuple):
    """How fast driven joints move: `rows` times the velocities of the bodies are `rates`."""

    rows: Sequence[Rows]
    rates: Array


def make_start(linkage: Linkage, given: Given) -> State:
    """A state that fits the joints; see `Linkage.start`."""
    n = linkage.count
    q, nothing = orientations(given.orientation, n), np.zeros((n, 3))
    masses, tensors = np.array([[body.mass] for body in linkage.bodies]), [body.tensor for body in linkage.bodies]
    turning = {"velocity": given.angular_velocity, "momentum": given.angular_momentum}
    y = start_momenta(n, lambda w: rotations.apply(tensors, w), prefix="angular_", **turning)
    p = start_momenta(n, lambda v: masses * v, velocity=given.velocity, momentum=given.momentum)
    r = None if given.position is None else start_array(given.position, (n, 3), "position")
    y = nothing if y is None else y
    if r is None or p is None:
        spun = State({"orientation": q, "momentum": nothing, "angular_momentum": y})
        motion = velocities_of_momenta(linkage, spun)
        if given.angular_velocity is not None:  # no momentum tells a spin of lines and points, but what it moves does
            motion = motion + _thin_spins(linkage, q, np.asarray(given.angular_velocity, dtype=float))
        places, v = carry(linkage, q, motion.reshape(n, 2, 3)[:, 1], (nothing, nothing), {})
        r, p = places if r is None else r, masses * v if p is None else p
    fields = {"position": r, "orientation": q, "momentum": p, "angular_momentum": y}
    return check_start(linkage, State(fields, finite_number(given.time, "start.time")), project=given.project)


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
        made[..., k, :] = _see(joint, orientation) if joint.image is None else joint.image
    return made


def _see(joint: Joint, orientation: Array) -> Array:
    """The orientation (..., 4) of the child seen from the parent."""
    back = IDENTITY if joint.parent == GROUND else rotations.conjugate(orientation[..., joint.parent, :])
    return rotations.multiply(back, orientation[..., joint.child, :])


def count_from_start(linkage: Linkage, start: State) -> Linkage:
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
    return _on_diagonal(blocks.reshape(-1, 6, 6))


def inverse_roots(linkage: Linkage, orientation: Array) -> tuple[Array, Array]:
    """(n, 6, 6): of each body W with W W^T the inverse of its mass and inertia in space; displacements W x have the size |x|.

    And (n, 6): 0 for turns about which it has no moment of inertia, else 1. Its largest moment stands for those, or, for a point, its mass at the
    farthest of its joints.
    """
    made, inertial = np.zeros((linkage.count, 6, 6)), np.ones((linkage.count, 6))
    for j, body in enumerate(linkage.bodies):
        roots = np.sqrt(body.inverse_moments)
        inertial[j, 3:] = roots != 0.0
        if not roots.all():
            roots[roots == 0.0] = 1.0 / np.sqrt(size_of_inertia(linkage, j))
        made[j, :3, :3] = np.eye(3) / np.sqrt(body.mass)
        made[j, 3:, 3:] = rotations.to_matrix(orientation[j]) @ body.frame_matrix * roots
    return made, inertial


def _on_diagonal(blocks: Array) -> Array:
    """(6 n, 6 n) of blocks (n, 6, 6)."""
    n = len(blocks)
    made, each = np.zeros((n, 6, n, 6)), np.arange(n)
    made[each, :, each, :] = blocks
    return made.reshape(6 * n, 6 * n)


def size_of_inertia(linkage: Linkage, number: int) -> float:
    """The largest moment of a body; of a point, its mass at the farthest of its joints."""
    arms = [
        np.linalg.norm(joint.at[joint.child == number])
        for joint in linkage.joints
        if number in (joint.parent, joint.child)
    ]
    body, reach = linkage.bodies[number], float(max(arms, default=0.0)) or unit_of_arms(linkage)
    return float(body.moments.max()) or body.mass * reach**2


def velocities(linkage: Linkage, state: State) -> Array:
    """(6 n,): velocity and angular velocity in space of each body; spins that have no momentum are those that fit the joints."""
    made = velocities_of_momenta(linkage, state)
    if all(body.moments.all() for body in linkage.bodies) or len(linkage.joints) == 0:
        return made
    if linkage.count > MANY:
        images = images_of(linkage, state.orientation)
        blocks = joint_rows(linkage, state.position, state.orientation, images=images)
        return made + follow_rows(blocks, *inverse_roots(linkage, state.orientation), made)
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


def carry(linkage: Linkage, orientation: Array, omega: Array, free: Motion, slides: Slides) -> Motion:
    """Positions at which the points of every carrying joint coincide, and velocities that keep them together.

    Parameters
    ----------
    omega : angular velocities, in space
    free : positions and velocities, of which those of bodies that no joint carries are taken
    slides : by bodies, how far the point of the parent is displaced, and how fast, in the axes of the parent; others are not
    """
    still, (r, v) = np.zeros(3), (one.copy() for one in free)
    for j in linkage.tree.order:
        if linkage.tree.carriers[j] < 0:
            continue
        joint = linkage.joints[linkage.tree.carriers[j]]
        slide, opening = slides.get(j, (still, still))
        place, speed, spin = (still if joint.parent == GROUND else one[joint.parent] for one in (r, v, omega))
        arm = turn_vectors(orientation, joint.parent, np.add(joint.at[0], slide))
        back = turn_vectors(orientation, j, joint.at[1])
        r[j] = place + arm - back
        v[j] = speed + np.cross(spin, arm) + turn_vectors(orientation, joint.parent, opening) - np.cross(omega[j], back)
    return r, v


class Fit:
    """How the joints hold the bodies, as they count from a state, and what rounding is to their rows.

    Parameters
    ----------
    shifts : of its screws (`shifts_of`), if they count from elsewhere
    """

    def __init__(self, linkage: Linkage, state: State, shifts: Array | None = None) -> None:
        self.linkage, self.size = linkage, extent(linkage, state.position)
        self.images = images_of(linkage, state.orientation)
        self.shifts = shifts_of(linkage, state.position, state.orientation) if shifts is None else shifts
        # rows that are lengths are compared with the size of the linkage, products of directions with 1
        kinds = [kind for joint in linkage.joints for kind, *_ in joint.rows]
        self.sizes = np.array([1.0 if kind == DOT else self.size for kind in kinds])

    def gap(self, state: State) -> Array | None:
        """How far a state is from fitting the joints, all rows; None if not farther than rounding."""
        phi = residuals(self.linkage, state.position, state.orientation, images=self.images, shifts=self.shifts)
        return None if (np.abs(phi) <= MEETING * self.sizes).all() else phi

    def require(self, state: State) -> None:
        """InputError if the state is farther off. Its velocities may be those of a step that holds positions only."""
        phi = self.gap(state)
        if phi is not None:
            number, word, off = _worst(self.linkage, phi)
            raise InputError(
                f"the start does not fit {describe(self.linkage, number)}: off by {off} from where {word}",
                where=f"start.position[{self.linkage.joints[number].child}]",
                do="correct the positions, leave them out (they follow from the joints), or use project=True",
            )
        self.require_facing(state)

    def require_facing(self, state: State) -> None:
        """InputError if directions that joints hold along each other point against each other."""
        number = self.turned_round(state)
        if number is not None:
            child = self.linkage.joints[number].child
            raise InputError(
                f"the start has {describe(self.linkage, number)} the wrong way round: body {child} is half a turn from where its image lets it be",
                where=f"start.orientation[{child}]", do="turn the body, give another image, or leave it out: then it is that of the start",
            )  # fmt: skip

    def turned_round(self, state: State) -> int | None:
        """The first joint with directions that point against each other: the products across are 0 both ways."""
        for k, joint in enumerate(self.linkage.joints):
            # one product holds no direction, two the axis, three all
            held = (0, 0, 1, 3)[sum(kind == DOT for kind, *_ in joint.rows)]
            u = turn_vectors(state.orientation, joint.parent, joint.triad)
            if (np.vecdot(u, turn_images(joint, self.images[k], state.orientation))[:held] < 0.0).any():
                return k
        return None

    def rate(self, state: State) -> Array | None:
        """How far its velocities are from keeping the joints together; None if not farther than rounding."""
        rate = rates(self.linkage, state, images=self.images)
        moving, turning = np.abs(velocities(self.linkage, state)).reshape(-1, 2, 3).max(axis=(0, 2), initial=0.0)
        fits = np.abs(rate) <= MEETING * (moving / self.size + turning) * self.sizes
        return None if fits.all() else rate

    def placed(self, state: State) -> State:
        """The nearest position that fits; in short steps where long ones leave a joint the wrong way round, or do not get there."""
        made = self._nearest(state, math.inf)
        if self.gap(made) is not None or self.turned_round(made) is not None:
            made = self._nearest(state, SHORT)
        phi = self.gap(made)
        if phi is not None:
            number, _, off = _worst(self.linkage, phi)
            raise InputError(
                f"no position near the start closes the loop: {describe(self.linkage, number)} is off by {off}; not met: "
                + _unmet(self.linkage, phi), where=f"start, joint {number}",
                do="check the lengths and points of the bodies in that loop",
            )  # fmt: skip
        self.require_facing(made)
        return made

    def _nearest(self, state: State, longest: float) -> State:
        """Newton towards Phi = 0 along the shortest way, masses as weights, turning no body by more in a step.

        A rod may have to turn about its own line, and a point to turn, to fit a joint: they weigh as if they had a moment there.
        """
        linkage, known = self.linkage, {"images": self.images, "shifts": self.shifts}
        r, q = state.position.copy(), state.orientation.copy()
        for _ in range(PROJECTIONS):
            phi = residuals(linkage, r, q, **known) / self.sizes
            if np.abs(phi).max() <= 4.0 * np.finfo(float).eps:
                break
            step = self._step_back(joint_rows(linkage, r, q, images=self.images), inverse_roots(linkage, q)[0], phi)
            change = step.reshape(linkage.count, 2, 3)
            change = change * min(1.0, longest / float(np.linalg.norm(change[:, 1], axis=1).max() or 1.0))
            r += change[:, 0]
            for j in range(linkage.count):
                q[j] = rotations.multiply(rotations.from_vector(change[j, 1]), q[j])
            if max(np.abs(change[:, 0]).max() / self.size, np.abs(change[:, 1]).max()) <= np.finfo(float).eps:
                break
        return State({**state.fields, "position": r, "orientation": q}, state.time)

    def _step_back(self, rows: Sequence[Rows], roots: Array, phi: Array) -> Array:
        """The smallest displacements (6 n,), by weights, that take the rows by -phi, to their sizes."""
        if self.linkage.count > MANY:
            return solve_held(rows, roots, np.ones((len(roots), 6)), np.zeros(6 * len(roots)), -phi * self.sizes).motion
        weights = _on_diagonal(roots)
        return (
            -weights @ np.linalg.lstsq(write_out(rows, len(roots)) / self.sizes[:, None] @ weights, phi, rcond=RANK)[0]
        )

    def moving(self, state: State, drives: Drives | None = None) -> State:
        """The velocity nearest in kinetic energy that keeps the joints together, and drives; what has no inertia turns as it must."""
        linkage, motion = self.linkage, velocities_of_momenta(self.linkage, state)
        rows = joint_rows(linkage, state.position, state.orientation, images=self.images)
        driven, told = ([], np.zeros(0)) if drives is None else drives
        if linkage.count > MANY:
            roots, inertial = inverse_roots(linkage, state.orientation)
            off = apply_rows([*rows, *driven], motion) - np.concatenate([np.zeros(len(self.sizes)), told])
            change = solve_held([*rows, *driven], roots, inertial, np.zeros(6 * len(roots)), -off).motion
        else:
            change = self._change_few(state, motion, write_out(driven, linkage.count), told)
        v = (motion + change).reshape(linkage.count, 2, 3)
        p, y = state.momentum.copy(), state.angular_momentum.copy()
        for j, body in enumerate(linkage.bodies):
            p[j] = body.mass * v[j, 0]
            y[j] = rotations.apply(body.tensor, rotations.rotate(rotations.conjugate(state.orientation[j]), v[j, 1]))
        return State({**state.fields, "momentum": p, "angular_momentum": y}, state.time)

    def _change_few(self, state: State, motion: Array, driven: Array, told: Array) -> Array:
        """The change of velocities of a few bodies."""
        linkage = self.linkage
        rows = gradients(linkage, state.position, state.orientation, images=self.images) / self.sizes[:, None]
        off = rows @ motion
        if len(driven):
            units = np.array([unit_of(self.size) if linkage.joints[k].slides else 1.0 for k in linkage.signals.driven])
            off = np.concatenate([off, (driven @ motion - told) / units])
            rows = np.vstack([rows, driven / units[:, None]])
        lines = thin_axes(linkage, state.orientation)
        if len(lines) and len(rows):  # turns that cost nothing fit whatever rows they can
            fitted = seen_spins(rows, lines)[0]
            rows, off = rows - fitted @ (fitted.T @ rows), off - fitted @ (fitted.T @ off)
        roots, inertial = inverse_roots(linkage, state.orientation)
        weights = _on_diagonal(roots * inertial[:, None])
        return -weights @ np.linalg.lstsq(rows @ weights, off, rcond=RANK)[0]


def project(linkage: Linkage, state: State, *, shifts: Array) -> State:
    """The state nearest to a given one that fits the joints to round-off; a smooth function of it.

    The images of the joints must be known (`count_from_start`), and the shifts of its screws.
    """
    fit = Fit(linkage, state, shifts)
    return fit.moving(fit.placed(state))


def require_closed(linkage: Linkage, state: State) -> None:
    """InputError if a state in which driven joints follow their paths pulls a loop apart: the paths contradict it."""
    fit = Fit(linkage, state)
    phi = fit.gap(state)
    most = fit.rate(state) if phi is None else phi
    if most is None:
        return
    number, word, off = _worst(linkage, most)
    driven = ", ".join(map(str, sorted(linkage.signals.driven)))
    raise InputError(
        f"the prescribed motions of joint {driven} contradict a loop: they pull joint {number} apart {'at' if phi is None else 'by'} {off} from where {word}",
        where=f"start, joint {number}", do="drive no more joints than the loop leaves free, along paths that it can follow",
    )  # fmt: skip


def check_start(linkage: Linkage, state: State, *, project: bool) -> State:
    """The state if it fits the joints; else an InputError, or the nearest state that does."""
    fit = Fit(linkage, state)
    if not project or fit.gap(state) is None:
        fit.require(state)
    else:
        given, state = state, fit.placed(state)
        fit.images = images_of(
            linkage, state.orientation
        )  # a joint without one gets that of the state which is returned
        change = np.abs(state.position - given.position).max()
        log_message(f"start projected onto the joints: bodies moved by up to {change:.3g}")
    rate = fit.rate(state)
    if rate is None:
        return state
    if project:
        given, state = state, fit.moving(state)
        change = np.abs(velocities(linkage, state) - velocities(linkage, given)).max()
        log_message(f"start projected onto the joints: velocities changed by up to {change:.3g}")
        return state
    number, _, off = _worst(linkage, rate)
    raise InputError(
        f"the velocities pull {describe(linkage, number)} apart at {off}",
        where=f"start.velocity[{linkage.joints[number].child}]",
        do="correct the velocities, leave the linear ones out (they follow), or use project=True",
    )


def extent(linkage: Linkage, position: Array) -> float:
    """The largest coordinate of a centre or of a joint's point, 1 if all are zero: in any unit it tells rounding from a mistake."""
    points = [np.abs(np.array(joint.at, dtype=float)).max() for joint in linkage.joints]
    return float(max([np.abs(position).max(initial=0.0), *points])) or 1.0


def _row_names(linkage: Linkage) -> list[tuple[int, str]]:
    """The joint that each row belongs to, and what it says."""
    return [(number, WORDS[kind]) for number, joint in enumerate(linkage.joints) for kind, *_ in joint.rows]


def describe(linkage: Linkage, number: int) -> str:
    """A joint in a message, with its bodies."""
    joint = linkage.joints[number]
    return f"joint {number} ({type(joint).__name__}, bodies {joint.parent} and {joint.child})"


def _worst(linkage: Linkage, off: Array) -> tuple[int, str, str]:
    """The joint that is farthest from fitting, what its row says, and how far it is off."""
    row = int(np.argmax(np.abs(off)))
    return *_row_names(linkage)[row], f"{abs(off[row]):.3g}"


def _unmet(linkage: Linkage, phi: Array) -> str:
    """The rows that are off by half of the worst or more, in words: "its points meet" of joint 0, 1."""
    joints: dict[str, set[int]] = {}
    for (number, word), off in zip(_row_names(linkage), np.abs(phi), strict=True):
        if off > 0.5 * np.abs(phi).max():
            joints.setdefault(word, set()).add(number)
    return "; ".join(f'"{word}" of joint {", ".join(map(str, sorted(which)))}' for word, which in joints.items())


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
