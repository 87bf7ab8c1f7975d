"""Whether the bodies stand and move as their joints let them, and the nearest state in which they do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...geometry import rotations
from ...log import log_message
from ..base import Array, State
from . import constraints
from .held import Rows, apply_rows, solve_held
from .joints import DISTANCE, DOT, PLANE, POINT, SCREW

if TYPE_CHECKING:
    from .linkage import Linkage

MEETING = 1e-9  # mismatch of a joint, to the size of the linkage, that counts as rounding of the start
PROJECTIONS = 50
SHORT = 0.25  # turn of a body in a step towards the joints: there products of directions change as if they were linear
WORDS = {
    POINT: "its points meet",
    DOT: "its directions stay normal",
    PLANE: "its points stay in the plane",
    SCREW: "it advances with its turn",
    DISTANCE: "its points keep their distance",
}  # what rows say


class Fit:
    """How the joints hold the bodies, as they count from a state, and what rounding is to their rows.

    Parameters
    ----------
    shifts : of its screws (`constraints.shifts_of`), if they count from elsewhere
    """

    def __init__(self, linkage: Linkage, state: State, shifts: Array | None = None) -> None:
        self.linkage, self.size = linkage, constraints.extent(linkage, state.position)
        self.images = constraints.images_of(linkage, state.orientation)
        self.shifts = constraints.shifts_of(linkage, state.position, state.orientation) if shifts is None else shifts
        # rows that are lengths are compared with the size of the linkage, products of directions with 1
        kinds = [kind for joint in linkage.joints for kind, *_ in joint.rows]
        self.sizes = np.array([1.0 if kind == DOT else self.size for kind in kinds])

    def residuals(self, position: Array, orientation: Array) -> Array:
        """Phi, all rows."""
        return constraints.residuals(self.linkage, position, orientation, images=self.images, shifts=self.shifts)

    def rows(self, position: Array, orientation: Array) -> list[Rows]:
        """How they change, joint by joint."""
        return constraints.joint_rows(self.linkage, position, orientation, images=self.images)

    def gap(self, state: State) -> Array | None:
        """How far a state is from fitting the joints, all rows; None if not farther than rounding."""
        phi = self.residuals(state.position, state.orientation)
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
            u = constraints.turn_vectors(state.orientation, joint.parent, joint.triad)
            if (np.vecdot(u, constraints.turn_images(joint, self.images[k], state.orientation))[:held] < 0.0).any():
                return k
        return None

    def rate(self, state: State) -> Array | None:
        """How far its velocities are from keeping the joints together; None if not farther than rounding."""
        motion = constraints.velocities(self.linkage, state)
        rate = apply_rows(self.rows(state.position, state.orientation), motion)
        moving, turning = np.abs(motion).reshape(-1, 2, 3).max(axis=(0, 2), initial=0.0)
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
        linkage, r, q = self.linkage, state.position.copy(), state.orientation.copy()
        inertia = constraints.sizes_of_inertia(linkage)[:, None]
        for _ in range(PROJECTIONS):
            phi = self.residuals(r, q)
            if np.abs(phi / self.sizes).max() <= 4.0 * np.finfo(float).eps:
                break
            weights = constraints.weigh(linkage, q)
            thick = np.where(weights.masses > 0.0, weights.masses, inertia)
            weights = weights._replace(masses=thick, length=self.size)  # with which `gap` compares lengths, too
            change = solve_held(self.rows(r, q), weights, np.zeros(6 * linkage.count), -phi).motion.reshape(-1, 2, 3)
            change = change * min(1.0, longest / float(np.linalg.norm(change[:, 1], axis=1).max() or 1.0))
            r += change[:, 0]
            q = rotations.multiply(rotations.from_vector(change[:, 1]), q)
            if max(np.abs(change[:, 0]).max() / self.size, np.abs(change[:, 1]).max()) <= np.finfo(float).eps:
                break
        return State({**state.fields, "position": r, "orientation": q}, state.time)

    def moving(self, state: State, driven: Sequence[Rows] = (), told: ArrayLike = ()) -> State:
        """The velocity nearest in kinetic energy that keeps the joints together; what has no inertia turns as it must.

        Parameters
        ----------
        driven : rows of driven joints
        told : their rates
        """
        linkage, weights = self.linkage, constraints.weigh(self.linkage, state.orientation)
        rows = [*self.rows(state.position, state.orientation), *driven]
        wanted = np.append(np.zeros(len(self.sizes)), told)
        # as if the momenta were forces: a change of velocities would leave rounding of the fastest that is lost
        pushes = weights.times(constraints.velocities_of_momenta(linkage, state))
        v = solve_held(rows, weights, pushes, wanted).motion.reshape(-1, 2, 3)
        p = np.array([[body.mass] for body in linkage.bodies]) * v[:, 0]
        omega = rotations.rotate(rotations.conjugate(state.orientation), v[:, 1])
        y = rotations.apply([body.tensor for body in linkage.bodies], omega)
        return State({**state.fields, "momentum": p, "angular_momentum": y}, state.time)


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
        # a joint without an image gets that of the state which is returned
        fit.images = constraints.images_of(linkage, state.orientation)
        change = np.abs(state.position - given.position).max()
        log_message(f"start projected onto the joints: bodies moved by up to {change:.3g}")
    rate = fit.rate(state)
    if rate is None:
        return state
    if project:
        given, state = state, fit.moving(state)
        change = np.abs(constraints.velocities(linkage, state) - constraints.velocities(linkage, given)).max()
        log_message(f"start projected onto the joints: velocities changed by up to {change:.3g}")
        return state
    number, _, off = _worst(linkage, rate)
    raise InputError(
        f"the velocities pull {describe(linkage, number)} apart at {off}",
        where=f"start.velocity[{linkage.joints[number].child}]",
        do="correct the velocities, leave the linear ones out (they follow), or use project=True",
    )


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
