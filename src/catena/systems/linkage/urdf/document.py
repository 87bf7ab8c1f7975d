"""A robot description file as links and joints, each with the line where it stands.

The text is read by the parser of the standard library with everything switched off that could reach beyond the file or grow
without bound: a document type, and with it every entity, is refused; so are files, depths and counts beyond any real robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError, nearest
from ....text.input_files import read_regular

Array = NDArray[np.float64]

LARGEST_FILE = 2**26
DEEPEST = 64
MOST_ELEMENTS = 1_000_000
SMALLEST, LARGEST = 1e-100, 1e100  # magnitude of numbers: squares and products must not leave the range
FOREIGN = ("xacro:", "xi:")  # elements that another program would replace by links and joints
SHOWN = 40  # characters of a text in a message
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


@dataclass
class Element:
    """One element of the file."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def first(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next((child for child in self.children if child.tag == tag), None)


@dataclass(frozen=True)
class Inertial:
    """Mass, centre and inertia about the centre, in the axes of the link."""

    mass: float
    center: Array
    tensor: Array
    line: int


@dataclass(frozen=True)
class Link:
    """A rigid part; without inertial it has no mass."""

    name: str
    inertial: Inertial | None
    line: int


@dataclass(frozen=True)
class UrdfJoint:
    """A joint: its frame in the parent link, the axis in that frame, and what was said about its motion."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Array
    turn: Array  # (3, 3)
    axis: Array
    damping: float
    friction: float
    limit: tuple[float, float] | None
    effort: float | None  # largest torque of its motor
    velocity: float | None  # largest speed
    line: int


@dataclass(frozen=True)
class Document:
    """Links and joints by name, in the order of the file."""

    path: str
    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, UrdfJoint]

    def at(self, line: int) -> str:
        """A place in the file."""
        return f"{self.path}:{line}"


def read_document(path: str | Path) -> Document:
    """Links and joints of a file; what only shows or drives the robot is passed over."""
    root = _parse(Path(path))
    where = str(path)
    if root.tag != "robot":
        raise InputError(
            f"the file describes <{root.tag}>, not <robot>", where=f"{where}:{root.line}", do="give a URDF file"
        )
    links: dict[str, Link] = {}
    joints: dict[str, UrdfJoint] = {}
    for element in root.children:
        place = f"{where}:{element.line}"
        if element.tag.startswith(FOREIGN):
            raise InputError(
                f"<{element.tag}> stands for other elements", where=place, do="give the file that xacro made of it"
            )
        if element.tag not in ("link", "joint"):
            continue
        name = _attribute(element, "name", place)
        if name in (links if element.tag == "link" else joints):
            raise InputError(f"there are two {element.tag}s {name!r}", where=place, do="rename one of them")
        if element.tag == "link":
            links[name] = Link(name, _inertial(element, where), element.line)
        else:
            joints[name] = _joint(element, name, where)
    return Document(where, root.attributes.get("name", ""), links, joints)


def _parse(path: Path) -> Element:
    """The root element."""
    try:
        text = read_regular(path, LARGEST_FILE, do=f"give a URDF file of {LARGEST_FILE} bytes at most")
    except OSError as trouble:
        raise InputError(f"the file cannot be read: {trouble.strerror}", where=str(path), do="give its path") from None
    parser = expat.ParserCreate()
    top = Element("", {}, 0)
    stack, count = [top], 0

    def refuse(*_: object) -> NoReturn:
        raise InputError(
            "the file declares a document type or entities", where=f"{path}:{parser.CurrentLineNumber}",
            do="remove the declaration; a robot needs none",
        )  # fmt: skip

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > DEEPEST or count > MOST_ELEMENTS:
            raise InputError(
                f"the file has more than {MOST_ELEMENTS} elements, or {DEEPEST} inside each other",
                where=f"{path}:{parser.CurrentLineNumber}", do="give a URDF file",
            )  # fmt: skip
        element = Element(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda tag: stack.pop()
    try:
        parser.Parse(text, True)
    except expat.ExpatError as trouble:
        raise InputError(
            f"the file is not well formed: {expat.ErrorString(trouble.code)}", where=f"{path}:{trouble.lineno}",
            do="correct the XML there",
        ) from None  # fmt: skip
    except (ValueError, LookupError) as trouble:
        raise InputError(f"the file cannot be decoded: {trouble}", where=f"{path}:1", do="store it as UTF-8") from None
    return top.children[0]


def _inertial(link: Element, path: str) -> Inertial | None:
    element = link.first("inertial")
    if element is None:
        return None
    place = f"{path}:{element.line}"
    center, turn = _origin(element, path)
    mass, inertia = element.first("mass"), element.first("inertia")
    if mass is None or inertia is None:
        raise InputError(
            f"an inertial without {'mass' if mass is None else 'inertia'}",
            where=place,
            do="add it, or drop the inertial",
        )
    value = _numbers(_attribute(mass, "value", place), 1, f"{path}:{mass.line}", "mass")[0]
    xx, xy, xz, yy, yz, zz = (
        _numbers(_attribute(inertia, name, place), 1, f"{path}:{inertia.line}", name)[0]
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    if value < 0.0:
        raise InputError(f"the mass is {value:g}", where=f"{path}:{mass.line}", do="give a mass that is not negative")
    tensor = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    return Inertial(float(value), center, 0.5 * (tensor + tensor.T), element.line)


def _joint(element: Element, name: str, path: str) -> UrdfJoint:
    place = f"{path}:{element.line}"
    kind = _attribute(element, "type", place)
    if kind not in JOINT_TYPES:
        raise InputError(
            f"joint {name!r} has type {kind!r}{nearest(kind, list(JOINT_TYPES))}", where=place,
            do=f"choose one of {', '.join(JOINT_TYPES)}",
        )  # fmt: skip
    ends = []
    for tag in ("parent", "child"):
        end = element.first(tag)
        if end is None:
            raise InputError(f"joint {name!r} has no {tag}", where=place, do=f'add <{tag} link="..."/>')
        ends.append(_attribute(end, "link", f"{path}:{end.line}"))
    if element.first("mimic") is not None and kind != "fixed":
        raise InputError(
            f"joint {name!r} mimics another one", where=place, do="remove <mimic>: angles cannot be tied to each other"
        )
    origin, turn = _origin(element, path)
    return UrdfJoint(
        name, kind, ends[0], ends[1], origin, turn, _axis(element, name, path), *_dynamics(element, name, path),
        _limit(element, path), _largest(element, "effort", path), _largest(element, "velocity", path), element.line,
    )  # fmt: skip


def _axis(element: Element, name: str, path: str) -> Array:
    given = element.first("axis")
    if given is None:
        return np.array([1.0, 0.0, 0.0])
    place = f"{path}:{given.line}"
    axis = _numbers(_attribute(given, "xyz", place), 3, place, "axis")
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        raise InputError(f"the axis of joint {name!r} is zero", where=place, do="give a direction")
    return axis / length


def _dynamics(element: Element, name: str, path: str) -> tuple[float, float]:
    """Damping and dry friction."""
    dynamics = element.first("dynamics")
    if dynamics is None:
        return 0.0, 0.0
    place, found = f"{path}:{dynamics.line}", []
    for what in ("damping", "friction"):
        value = float(_numbers(dynamics.attributes.get(what, "0"), 1, place, what)[0])
        if value < 0.0:
            raise InputError(f"joint {name!r} has the {what} {value:g}", where=place, do="give none below 0")
        found.append(value)
    return found[0], found[1]


def _largest(element: Element, what: str, path: str) -> float | None:
    """The largest effort or velocity; 0 is what files say that know none."""
    limit = element.first("limit")
    if limit is None or what not in limit.attributes:
        return None
    value = float(_numbers(limit.attributes[what], 1, f"{path}:{limit.line}", what)[0])
    return value if value > 0.0 else None


def _limit(element: Element, path: str) -> tuple[float, float] | None:
    limit = element.first("limit")
    if limit is None or not {"lower", "upper"} & set(limit.attributes):
        return None
    place = f"{path}:{limit.line}"
    lower, upper = (_numbers(limit.attributes.get(n, "0"), 1, place, n)[0] for n in ("lower", "upper"))
    return float(lower), float(upper)


def _origin(element: Element, path: str) -> tuple[Array, Array]:
    """Position and rotation matrix; rpy turns about the fixed axes x, y, z, in this order."""
    given = element.first("origin")
    if given is None:
        return np.zeros(3), np.eye(3)
    place = f"{path}:{given.line}"
    xyz = _numbers(given.attributes.get("xyz", "0 0 0"), 3, place, "xyz")
    roll, pitch, yaw = _numbers(given.attributes.get("rpy", "0 0 0"), 3, place, "rpy").tolist()
    return xyz, turned_about(2, yaw) @ turned_about(1, pitch) @ turned_about(0, roll)


def turned_about(axis: int, angle: float) -> Array:
    """Rotation matrix about a coordinate axis."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix


def _attribute(element: Element, name: str, place: str) -> str:
    if not element.attributes.get(name):
        raise InputError(f"<{element.tag}> has no {name}", where=place, do=f'add {name}="..."')
    return element.attributes[name]


def _numbers(text: str, count: int, place: str, what: str) -> Array:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    wanted = "a number" if count == 1 else f"{count} numbers"
    shown = repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
    if len(values) != count or not all(map(math.isfinite, values)):
        raise InputError(f"{what} = {shown} is not {wanted}", where=place, do=f"give {wanted}")
    if not all(value == 0.0 or SMALLEST <= abs(value) <= LARGEST for value in values):
        raise InputError(
            f"{what} = {shown} is out of range", where=place, do=f"give {wanted} from {SMALLEST:g} to {LARGEST:g}, or 0"
        )
    return np.array(values)
