"""Joints between two rigid bodies, or between a body and the ground.

A joint holds a point a of its parent and a point b of its child (and directions of both) in some relation. It is a set of
rows Phi(q) = 0, made of four kinds, all at most quadratic in positions and directors [nielsen2013]:

    point       r_J + Q_J b = r_I + Q_I a                             three rows
    dot(u, w)   (Q_I u).(Q_J w) = 0                                   one row
    plane(u)    (Q_I u).(r_J + Q_J b - r_I - Q_I a) = 0               one row
    distance    (|r_J + Q_J b - r_I - Q_I a|^2 - l^2)/(2 l) = 0       one row

I is the parent, J the child, u one of the directions (axis, second, third) of the parent, w one of their images in the child.
The images are fixed by `image`: the orientation of the child, seen from the parent, at which both coincide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...geometry import rotations
from ...registry import Registry
from ...text.plain import Json
from ..base import Array
from ..numbers import Vector, finite_numbers
from ..orientations import UNIT_TOLERANCE
from .declared import ABOVE_ZERO, BODY, BODY_OR_GROUND, NUMBER, POINTS, Declared, made_from, takes, unless_none

GROUND = -1
UNIT_ROUNDING = 4 * float(np.finfo(float).eps)  # what is off by less has been divided by its length before
POINT, DOT, PLANE, SCREW, DISTANCE = 0, 1, 2, 3, 4  # kinds of rows
SQUARES = 1e-140, 1e140  # between these the squares of numbers are numbers, with all digits
AXIS, SECOND, THIRD = 0, 1, 2  # directions of the triad of a joint
SLIDE, TURN = "displacement", "angle"
Row = tuple[int, int, int]
Element = tuple[str, int]  # along (SLIDE), or about (TURN), which direction of the triad it moves

POINT_ROWS: tuple[Row, ...] = ((POINT, 0, 0), (POINT, 1, 1), (POINT, 2, 2))
AXIS_ROWS: tuple[Row, ...] = ((DOT, AXIS, SECOND), (DOT, AXIS, THIRD))
LOCK_ROWS: tuple[Row, ...] = ((DOT, SECOND, THIRD), (DOT, THIRD, AXIS), (DOT, AXIS, SECOND))
LINE_ROWS: tuple[Row, ...] = ((PLANE, SECOND, 0), (PLANE, THIRD, 0))


def _name(given: object, where: str) -> str:
    if not (isinstance(given, str) and given):
        raise InputError(f"name = {given!r}", where=where, do="give a text, or leave it out")
    return given


def _is_unit(vector: Array) -> bool:
    """Whether it is of length one up to rounding. It stays as it is then, so that a joint made from its description is the same to the last bit."""
    return abs(float(np.linalg.norm(vector)) - 1.0) <= UNIT_ROUNDING


def _direction(given: object, where: str) -> Vector:
    """The unit vector of a direction of any length."""
    axis = finite_numbers(given, (3,), where=where, do="give three numbers")
    largest = np.abs(axis).max()
    if not largest > 0.0:
        raise InputError(f"axis = {given!r} has no direction", where=where, do="give one in the parent")
    if not SQUARES[0] < largest < SQUARES[1]:
        axis = axis / largest
    if not _is_unit(axis):
        axis = axis / np.linalg.norm(axis)
        axis = axis / np.linalg.norm(axis)  # the first quotient may be off by two roundings
    return tuple(axis.tolist())


def _orientation(given: object, where: str) -> Vector:
    """A unit quaternion."""
    q = finite_numbers(given, (4,), where=where, do="give a unit quaternion, scalar first")
    if not abs(np.linalg.norm(q) - 1.0) <= UNIT_TOLERANCE:
        raise InputError(f"image has length {np.linalg.norm(q):.9g}", where=where, do="give a unit quaternion")
    return tuple((q if _is_unit(q) else rotations.normalise(q)).tolist())


JOINTS: Registry[type[Joint]] = Registry("joint", group="catena.joints", home=__name__)


@dataclass(frozen=True)
class Joint(Declared):
    """What all joints have in common.

    Parameters
    ----------
    parent : number of a body, or -1 for the ground
    child : number of a body
    at : the points a in the parent's and b in the child's coordinates (axes in which the body was given, origin at its
        centre of mass; the coordinates of the ground are those of space)
    name : name for starts, outputs and pictures; None: they use the number
    """

    rows: ClassVar[tuple[Row, ...]]
    # how it moves, one after the other; None: not made of slides and turns
    elements: ClassVar[tuple[Element, ...] | None] = None
    carries: ClassVar[bool] = True  # whether it can place its child against its parent
    has_axis: ClassVar[bool] = False  # whether it has an `axis`, about or along which the child may move
    has_angle: ClassVar[bool] = False  # whether one angle about `axis` tells how the child is turned
    slides: ClassVar[bool] = False  # whether one displacement along `axis` tells where the child is

    parent: int = field(metadata=BODY_OR_GROUND)
    child: int = field(metadata=BODY)
    at: Sequence[Vector] | Array = field(default=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), metadata=POINTS)
    name: str | None = field(default=None, kw_only=True, metadata=unless_none(_name))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parent == self.child:
            raise InputError(f"body {self.child} is joined to itself", where=type(self).__name__, do="name two bodies")

    @property
    def has_coordinate(self) -> bool:
        """Whether one number, an angle or a displacement, tells where it stands, and may be acted upon."""
        return self.has_angle or self.slides

    @property
    def pitch(self) -> float:
        """Advance per radian of a screw; 0 for the others."""
        return 0.0

    @property
    def length(self) -> float:
        """That of a massless rod; 0 for the others."""
        return 0.0

    @property
    def image(self) -> Vector | None:
        """The orientation of the child at which the directions of both bodies coincide; None where that is the one of the start."""
        return None

    @property
    def degrees(self) -> int:
        """Degrees of freedom that the joint leaves."""
        return 6 - len(self.rows)

    @property
    def triad(self) -> Array:
        """(3, 3): axis, second and third direction as rows, a right-handed orthonormal triad of the parent."""
        return np.eye(3)

    def describe(self) -> dict[str, Json]:
        return {name: value for name, value in super().describe().items() if value is not None}


@JOINTS.register
@dataclass(frozen=True)
class Spherical(Joint):
    """Ball and socket: the two points coincide. Three degrees of freedom."""

    rows = POINT_ROWS


@JOINTS.register
@dataclass(frozen=True)
class Distance(Joint):
    """A massless rod: the two points stay at a fixed distance. Five degrees of freedom.

    It carries no body: a body that no other joint carries has coordinates of its own, and its start needs a position.

    Parameters
    ----------
    length : length of the rod, above 0
    """

    rows = ((DISTANCE, 0, 0),)
    carries = False

    length: float = field(default=1.0, metadata=ABOVE_ZERO)


@dataclass(frozen=True)
class Turned(Joint):
    """A joint that also holds directions.

    Parameters
    ----------
    image : unit quaternion, scalar first: the orientation of the child seen from the parent at which the directions of both
        coincide, and from which the angle about the axis is counted. None: that of the start.
    """

    image: Vector | None = field(default=None, metadata=unless_none(_orientation))


@JOINTS.register
@dataclass(frozen=True)
class Rigid(Turned):
    """The child is fixed to the parent. No degree of freedom."""

    rows = POINT_ROWS + LOCK_ROWS
    elements = ()


@dataclass(frozen=True)
class AboutAxis(Turned):
    """A joint with an axis.

    Parameters
    ----------
    axis : direction in the parent's coordinates, of any length; its image in the child follows from `image`
    """

    has_axis: ClassVar[bool] = True

    axis: Vector = field(default=(0.0, 0.0, 1.0), metadata=takes(_direction))

    @property
    def triad(self) -> Array:
        """The axis and two directions normal to it; the second is normal to the coordinate axis farthest from the axis."""
        a = np.array(self.axis)
        b = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        b /= np.linalg.norm(b)
        return np.array([a, b, np.cross(a, b)])


@JOINTS.register
@dataclass(frozen=True)
class Revolute(AboutAxis):
    """Hinge: the points coincide and the child turns about the axis. One degree of freedom."""

    rows = POINT_ROWS + AXIS_ROWS
    elements = ((TURN, AXIS),)
    has_angle = True


@JOINTS.register
@dataclass(frozen=True)
class Universal(AboutAxis):
    """Cardan joint: the points coincide, the axis of the parent stays normal to a direction of the child.

    That direction is the second one of the triad, fixed by `image`. Two degrees of freedom.
    """

    rows = (*POINT_ROWS, (DOT, AXIS, SECOND))
    elements = ((TURN, AXIS), (TURN, SECOND))


@JOINTS.register
@dataclass(frozen=True)
class Prismatic(AboutAxis):
    """Slider: the child moves along the axis without turning. One degree of freedom."""

    rows = LINE_ROWS + LOCK_ROWS
    elements = ((SLIDE, AXIS),)
    slides = True


@JOINTS.register
@dataclass(frozen=True)
class Cylindrical(AboutAxis):
    """The child moves along the axis and turns about it. Two degrees of freedom."""

    rows = LINE_ROWS + AXIS_ROWS
    elements = ((SLIDE, AXIS), (TURN, AXIS))
    has_angle = True


@JOINTS.register
@dataclass(frozen=True)
class Planar(AboutAxis):
    """The child moves in the plane through a normal to the axis, and turns about the axis. Three degrees of freedom."""

    rows = ((PLANE, AXIS, 0), *AXIS_ROWS)
    elements = ((SLIDE, SECOND), (SLIDE, THIRD), (TURN, AXIS))
    has_angle = True


@JOINTS.register
@dataclass(frozen=True)
class Screw(AboutAxis):
    """The child turns about the axis and advances along it by `pitch` per radian. One degree of freedom."""

    rows = (*LINE_ROWS, *AXIS_ROWS, (SCREW, AXIS, 0))
    elements = ((TURN, AXIS),)
    has_angle = True

    pitch: float = field(default=0.0, metadata=NUMBER)


def joint_from(given: object) -> Joint:
    """The joint itself, or the one that `describe` (or a case) wrote down."""
    return made_from(given, Joint, JOINTS, such_as="Revolute(...), Spherical")
