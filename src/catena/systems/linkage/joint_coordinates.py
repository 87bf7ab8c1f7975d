"""Where the joints of a linkage stand and how they move, in numbers: the angles and speeds of a state, and the start from them.

Outwards along the tree, with the orientation `image` of the child seen from its parent where the joint stands at zero, and the points a and
b that the joint holds together:

    Q_child = Q_parent turn image,     r_child = r_parent + Q_parent (a + slide) - Q_child b
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...errors import InputError, unknown_word
from ...geometry import rotations
from ...kernels.views import View
from ..base import Array, State
from ..many_bodies import start_array
from ..numbers import finite_numbers
from ..orientations import orientations
from . import constraints, fit
from . import start as starts
from .joint_forces import OnJoint
from .joints import GROUND, SLIDE, TURN, Joint, Spherical, Universal
from .layout import Signal

if TYPE_CHECKING:
    from .linkage import Linkage

One: TypeAlias = "float | Sequence[float] | None"
GivenCoordinates: TypeAlias = "Mapping[str, One] | Mapping[int, One] | Sequence[One] | Array"
ROUNDING = 16 * np.finfo(float).eps  # of a sum of four vectors, to the largest of them


def joint_angles(linkage: Linkage, state: State) -> Array:
    """(joints,): the angle of each joint that has one, the displacement of sliders; nan for the others."""
    images = constraints.images_of(linkage, state.orientation)
    made = np.full(len(linkage.joints), np.nan)
    for k, joint in enumerate(linkage.joints):
        if joint.has_angle:
            made[k] = constraints.angle_of(joint, images[k], state.orientation)
        elif joint.has_coordinate:
            u, d, _ = constraints.place_joint(joint, state.position, state.orientation)
            made[k] = u[0] @ d
    return made


def with_ground(motion: Array) -> Array:
    """(n + 1, 2, 3): velocities and angular velocities of the bodies, (6 n,), and of the ground behind them."""
    return np.vstack([motion.reshape(-1, 2, 3), np.zeros((1, 2, 3))])


def coordinate_row(linkage: Linkage, state: State, number: int) -> Array:
    """(n + 1, 2, 3): how the angle of a joint, or the displacement of a slider, changes as bodies and, last, the ground move and turn."""
    row, joint = np.zeros((linkage.count + 1, 2, 3)), linkage.joints[number]
    row[joint.parent], row[joint.child] = coordinate_ends(linkage, state, number)
    return row


def coordinate_ends(linkage: Linkage, state: State, number: int) -> Array:
    """(2, 2, 3): the same by the motions of its parent and of its child alone."""
    ends, joint = np.zeros((2, 2, 3)), linkage.joints[number]
    u, d, (arm_parent, arm_child) = constraints.place_joint(joint, state.position, state.orientation)
    if joint.has_angle:
        ends[1, 1] += u[0]
        ends[0, 1] -= u[0]
        return ends
    ends[1] += u[0], np.cross(arm_child, u[0])
    ends[0] -= u[0], np.cross(arm_parent + d, u[0])
    return ends


def joint_speeds(linkage: Linkage, state: State) -> Array:
    """(joints,): rate of the angle of each joint, or of the displacement of a slider; nan for the others."""
    moving = with_ground(constraints.velocities(linkage, state))
    made = np.full(len(linkage.joints), np.nan)
    for k, joint in enumerate(linkage.joints):
        if joint.has_angle:
            axis = constraints.turn_vectors(state.orientation, joint.parent, joint.triad[0])
            made[k] = axis @ (moving[joint.child, 1] - moving[joint.parent, 1])
        elif joint.has_coordinate:
            made[k] = np.vdot(coordinate_row(linkage, state, k), moving)
    return made


def read_controlled_joints(
    linkage: Linkage, view: View, z: Array, known_as: Callable[[], State]
) -> tuple[Array, Array]:
    """Angles, full turns counted, and speeds of the joints whose motors a controller sets; of a tree in joint form both stand in z."""
    from .joint_form.layout import layout_of
    from .joint_form.motion import Link

    joints = list(linkage.controls)
    if view.name == "field":
        layout = layout_of(linkage)
        places = [layout.angles[k] for k in joints]
        rates = {row[Link.COORDINATE]: row[Link.RATE] for row in layout.links if row[Link.RATE] >= 0}
        if all(place in rates for place in places):  # none closes a loop
            return z[places], z[[rates[place] for place in places]]
    else:
        places = [13 * linkage.count + 4 * len(linkage.joints) + k for k in joints]
    return z[places], joint_speeds(linkage, known_as())[joints]


def start_from_joints(
    linkage: Linkage, angles: GivenCoordinates | None, rates: GivenCoordinates | None, given: starts.Given
) -> State:
    """A state that fits the joints, from where they stand; see `Linkage.start`."""
    if given.momentum is not None or given.angular_momentum is not None:
        do = "give velocity and angular_velocity of bodies that no joint carries"
        raise InputError("momenta beside angles and rates of joints", where="start", do=do)
    n = linkage.count
    values, speeds = _by_number(linkage, angles, "angles"), _by_number(linkage, rates, "rates")
    _check_counting(linkage, values)
    _add_drives(linkage, values, speeds, given.time)
    q = orientations(given.orientation, n).copy()
    named = {name: getattr(given, name) for name in ("position", "velocity", "angular_velocity")}
    r, v, w = (np.zeros((n, 3)) if one is None else start_array(one, (n, 3), name) for name, one in named.items())
    images = constraints.images_of(linkage, q)
    w = rotations.rotate(q, w)  # in space from here on
    slides: dict[int, starts.Motion] = {}
    for j in linkage.tree.order:
        number = linkage.tree.carriers[j]
        if number < 0 or isinstance(linkage.joints[number], Spherical):  # which leaves its child turned as it is given
            continue
        joint = linkage.joints[number]
        turn, turning, slides[j] = move_joint(joint, values.get(number), speeds.get(number))
        relative = rotations.multiply(turn, images[number])
        on_ground = joint.parent == GROUND
        q[j] = relative if on_ground else rotations.multiply(q[joint.parent], relative)
        w[j] = (0.0 if on_ground else w[joint.parent]) + constraints.turn_vectors(q, joint.parent, turning)
    r, v = starts.carry(linkage, q, w, (r, v), slides)
    w = rotations.rotate(rotations.conjugate(q), w)
    state = _make(linkage, starts.Given(r, q, v, w, time=given.time, project=given.project))
    if not given.project:
        _check_loops(linkage, state, values)
    return state


def move_joint(joint: Joint, values: Array | None, rates: Array | None) -> tuple[Array, Array, starts.Motion]:
    """What a joint does from where it stands at zero, in the axes of the parent: turn (quaternion), its rate, slide with its rate."""
    turn, turning, slide, opening = constraints.IDENTITY, np.zeros(3), np.zeros(3), np.zeros(3)
    elements = joint.elements or ()
    nothing = np.zeros(len(elements))
    values, rates = nothing if values is None else values, nothing if rates is None else rates
    for (kind, k), value, rate in zip(elements, values, rates, strict=True):
        direction = rotations.rotate(turn, joint.triad[k])
        along = joint.pitch if kind == TURN else 1.0
        slide, opening = slide + along * value * direction, opening + along * rate * direction
        if kind == TURN:
            turning = turning + rate * direction
            turn = rotations.multiply(turn, rotations.from_vector(value * joint.triad[k]))
    return turn, turning, (slide, opening)


def measure_coordinates(joint: Joint, state: State, image: Array) -> Array:
    """Displacements and angles of a joint, in the order of its elements; the angles count from the orientation `image`."""
    if isinstance(joint, Universal):
        return _cardan_angles(joint, state, image)
    u, d = _directions_and_gap(joint, state)
    return np.array(
        [
            u[k] @ d if kind == SLIDE else constraints.angle_of(joint, image, state.orientation)
            for kind, k in joint.elements or ()
        ]
    )


def _cardan_angles(joint: Universal, state: State, image: Array) -> Array:
    """Turn about the axis, then about the second direction that this turn has carried."""
    parent = constraints.IDENTITY if joint.parent == GROUND else state.orientation[joint.parent]
    seen = rotations.multiply(rotations.conjugate(parent), state.orientation[joint.child])
    turn = rotations.multiply(seen, rotations.conjugate(image))
    axis, second, third = joint.triad
    carried = rotations.rotate(turn, second)
    first = float(np.arctan2(third @ carried, second @ carried))
    about = np.array([np.cos(0.5 * first), *(np.sin(0.5 * first) * axis)])
    rest = rotations.multiply(rotations.conjugate(about), turn)
    return np.array([first, 2.0 * np.arctan2(second @ rest[1:], rest[0])])


def unit_motions(joint: Joint, state: State, values: Array) -> Array:
    """(6, elements): motion of the child's centre for a unit rate of each element of a joint, which stand at `values`."""
    u, _ = _directions_and_gap(joint, state)
    from_hinge = -rotations.rotate(state.orientation[joint.child], np.array(joint.at[1]))
    made: list[Array] = []
    for kind, k in joint.elements or ():
        direction = u[k]
        if isinstance(joint, Universal) and made:  # the turn about the first axis has carried the second
            direction = np.cos(values[0]) * u[1] + np.sin(values[0]) * u[2]
        slide = np.concatenate([direction, np.zeros(3)])
        turn = np.concatenate([np.cross(direction, from_hinge), direction])
        made.append(slide if kind == SLIDE else turn + joint.pitch * slide)
    return np.array(made).T


def _directions_and_gap(joint: Joint, state: State) -> tuple[Array, Array]:
    """The triad of the joint in space (rows), and the vector from the parent's point to the child's."""
    turn, start = np.eye(3), np.zeros(3)
    if joint.parent != GROUND:
        turn, start = rotations.to_matrix(state.orientation[joint.parent]), state.position[joint.parent]
    parts = [state.position[joint.child], rotations.rotate(state.orientation[joint.child], np.array(joint.at[1]))]
    parts += [-start, -turn @ np.array(joint.at[0])]
    gap = np.sum(parts, axis=0)
    # a displacement of nothing but rounding would be taken for the size of all displacements
    if np.abs(gap).max() <= ROUNDING * np.abs(parts).max():
        gap = np.zeros(3)
    return joint.triad @ turn.T, gap


def _make(linkage: Linkage, given: starts.Given) -> State:
    """The state; where loops stay open the message is about the angles, which alone can be wrong."""
    try:
        return starts.make_start(linkage, given)
    except InputError as error:
        if given.project or not linkage.tree.loops:
            raise
        what = "rates" if "velocity" in error.where else "angles"
        do = f"give {what} of all joints that fit together, or project=True, which takes the nearest that do"
        raise InputError(error.wrong, where=f"start.{what}", do=do) from None


def _by_number(linkage: Linkage, given: GivenCoordinates | None, name: str) -> dict[int, Array]:
    """Coordinates, or rates, by the numbers of joints. None is none; so is nan where `joint_angles` has it, not where it is a number gone wrong."""
    joints, where = linkage.joints, f"start.{name}"
    if given is None:
        return {}
    if isinstance(given, Mapping):
        numbered = {number_of(linkage, key, where): one for key, one in given.items()}
    else:
        if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)) or len(given) != len(joints):
            do = f"give one for each of the {len(joints)} joints, in their order, or None; or some by name or number: {{0: 0.5}}"
            raise InputError(f"{name} = {given!r}", where=where, do=do)
        numbered = dict(enumerate(given))
    made = {}
    for number, one in numbered.items():
        if one is None or (isinstance(one, float) and np.isnan(one) and not joints[number].has_coordinate):
            continue
        kinds = [kind for kind, _ in joints[number].elements or ()]
        label = label_of(linkage, number)
        if not kinds:
            instead = ", and give the orientation of its child" if isinstance(joints[number], Spherical) else ""
            wrong = f"{label} is {type(joints[number]).__name__}: it has no angle"
            raise InputError(wrong, where=where, do=f"leave it out{instead}")
        do = f"give its {kinds[0]}, a number" if len(kinds) == 1 else f"give ({', '.join(kinds)})"
        found = finite_numbers(one, () if len(kinds) == 1 else (len(kinds),), where=f"{where}, {label}", do=do)
        made[number] = found.reshape(len(kinds))
    return made


def number_of(linkage: Linkage, key: object, where: str) -> int:
    """The joint of a name, or of a number."""
    names = [joint.name for joint in linkage.joints]
    if isinstance(key, str) and key in names:
        return names.index(key)
    number = int(key) if isinstance(key, str) and key.isdecimal() else key  # keys of a TOML table are texts
    if isinstance(number, int | np.integer) and 0 <= number < len(names):
        return int(number)
    wrong, known = f"there is no joint {key!r}", [name for name in names if name]
    if known:
        raise unknown_word(wrong, key, known, where)
    raise InputError(wrong, where=where, do=f"give a number below {len(names)}; Revolute(..., name=...) names a joint")


def label_of(linkage: Linkage, number: int) -> str:
    """What a message or a picture calls a joint."""
    return linkage.joints[number].name or f"joint {number}"


def _check_counting(linkage: Linkage, values: Mapping[int, Array]) -> None:
    """Refuse angles from which a force would not count: those of joints without an image count from the start."""
    for number, force in enumerate(linkage.forces):
        if isinstance(force, OnJoint) and values.get(force.joint, np.zeros(1))[-1] != 0.0:
            joint = linkage.joints[force.joint]
            if joint.has_angle and joint.image is None:
                raise InputError(
                    f"{label_of(linkage, force.joint)} counts its angle from the start, where forces[{number}] ({type(force).__name__}) finds it at 0",
                    where="start.angles", do="give the joint an image, from which angles count: image=(1, 0, 0, 0)",
                )  # fmt: skip


def _add_drives(linkage: Linkage, values: dict[int, Array], rates: dict[int, Array], time: float) -> None:
    """Driven joints that are not named stand and move as they are told."""
    for number, place in linkage.signals.driven.items():
        told = linkage.signals.at(time)[place]
        if np.isfinite(told).all():
            last = np.eye(len(linkage.joints[number].elements or ()))[-1]
            values.setdefault(number, told[Signal.VALUE] * last)
            rates.setdefault(number, told[Signal.SLOPE] * last)


def _check_loops(linkage: Linkage, state: State, values: Mapping[int, Array]) -> None:
    """Refuse an angle of a joint that closes a loop if it follows otherwise from the others."""
    found = joint_angles(linkage, state)
    for number in linkage.tree.loops:
        joint = linkage.joints[number]
        if number in values and joint.has_coordinate:
            off = float(values[number][-1] - found[number])
            off = float(np.arctan2(np.sin(off), np.cos(off))) if joint.has_angle else off
            size = 1.0 if joint.has_angle else constraints.extent(linkage, state.position)
            if abs(off) > fit.MEETING * (size + abs(found[number])):
                raise InputError(
                    f"{label_of(linkage, number)} closes a loop: where the others stand it is at {found[number]:g}, not at {values[number][-1]:g}",
                    where="start.angles", do="leave it out, or correct the others",
                )  # fmt: skip
