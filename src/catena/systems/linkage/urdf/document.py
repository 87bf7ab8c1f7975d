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

from ....arrays import Array
from ....errors import InputError, unknown_word
from ....text.input_files import read_regular

LARGEST_FILE = 2**26
DEEPEST = 64
MOST_ELEMENTS = 1_000_000
SMALLEST, LARGEST = 1e-100, 1e100  # magnitude of numbers: squares and products must not leave the range
FOREIGN = ("xacro:", "xi:")  # elements that another program would replace by links and joints
SHOWN = 40  # characters of a text in a message
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
LIMITED = ("revolute", "prismatic")  # by the specification; exporters write a <limit> for others, too


@dataclass
class Element:
    """One element of the file."""

    tag: str
    attributes: Mapping[str, str]
    path: str
    line: int
    children: list[Element] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Where it stands, in messages."""
        return f"{self.path}:{self.line}"

    def first(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def required(self, tag: str) -> Element:
        """The first child with this tag; InputError if there is none."""
        found = self.first(tag)
        if found is None:
            raise InputError(f"<{self.tag}> has no <{tag}>", where=self.place, do="add it")
        return found

    def optional(self, tag: str, **absent: str) -> Element:
        """The first child with this tag, or one with the attributes that stand for it where there is none."""
        return self.first(tag) or Element(tag, absent, self.path, self.line)

    def text(self, name: str) -> str:
        """An attribute; InputError if there is none."""
        if not self.attributes.get(name):
            raise InputError(f"<{self.tag}> has no {name}", where=self.place, do=f'add {name}="..."')
        return self.attributes[name]

    def number(self, name: str, absent: str = "") -> float:
        """An attribute as a number; without `absent`, which stands for it, it must be there."""
        return float(self.numbers(name, 1, absent)[0])

    def numbers(self, name: str, count: int, absent: str = "") -> Array:
        """The same of several."""
        text = self.attributes.get(name, absent) if absent else self.text(name)
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        wanted = "a number" if count == 1 else f"{count} numbers"
        shown = f"{name} = {text if len(text) <= SHOWN else text[:SHOWN] + '...'!r} of <{self.tag}>"
        if len(values) != count or not all(map(math.isfinite, values)):
            raise InputError(f"{shown} is not {wanted}", where=self.place, do=f"give {wanted}")
        if not all(value == 0.0 or SMALLEST <= abs(value) <= LARGEST for value in values):
            allowed = f"from {SMALLEST:g} to {LARGEST:g}, or 0"
            raise InputError(f"{shown} is out of range", where=self.place, do=f"give {wanted} {allowed}")
        return np.array(values)


@dataclass(frozen=True)
class Inertial:
    """Mass, centre and inertia about the centre, in the axes of the link."""

    mass: float
    center: Array
    tensor: Array
    place: str


@dataclass(frozen=True)
class Link:
    """A rigid part; without inertial it has no mass."""

    name: str
    inertial: Inertial | None
    place: str


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
    limit: tuple[float, float] | None  # where there is a <limit>; an end that it does not give is 0
    effort: float  # largest torque of its motor; 0 is what files say that know none
    velocity: float  # largest speed, alike
    place: str


@dataclass(frozen=True)
class Document:
    """Links and joints by name, in the order of the file."""

    path: str
    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, UrdfJoint]


def read_document(path: str | Path) -> Document:
    """Links and joints of a file; what only shows or drives the robot is passed over."""
    root = _parse(Path(path))
    if root.tag != "robot":
        raise InputError(f"the file describes <{root.tag}>, not <robot>", where=root.place, do="give a URDF file")
    links: dict[str, Link] = {}
    joints: dict[str, UrdfJoint] = {}
    for element in root.children:
        if element.tag.startswith(FOREIGN):
            wrong = f"<{element.tag}> stands for other elements"
            raise InputError(wrong, where=element.place, do="give the file that xacro made of it")
        if element.tag not in ("link", "joint"):
            continue
        name = element.text("name")
        if name in (links if element.tag == "link" else joints):
            raise InputError(f"there are two {element.tag}s {name!r}", where=element.place, do="rename one of them")
        if element.tag == "link":
            links[name] = Link(name, _inertial(element), element.place)
        else:
            joints[name] = _joint(element, name)
    return Document(str(path), root.attributes.get("name", ""), links, joints)


def _parse(path: Path) -> Element:
    """The root element."""
    try:
        text = read_regular(path, LARGEST_FILE, do=f"give a URDF file of {LARGEST_FILE} bytes at most")
    except OSError as trouble:
        raise InputError(f"the file cannot be read: {trouble.strerror}", where=str(path), do="give its path") from None
    parser = expat.ParserCreate()
    top = Element("", {}, str(path), 0)
    stack, count = [top], 0

    def refused(wrong: str, do: str, line: int | None = None) -> InputError:
        return InputError(wrong, where=f"{path}:{parser.CurrentLineNumber if line is None else line}", do=do)

    def refuse(*_: object) -> NoReturn:
        raise refused("the file declares a document type or entities", "remove the declaration; a robot needs none")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > DEEPEST or count > MOST_ELEMENTS:
            wrong = f"the file has more than {MOST_ELEMENTS} elements, or {DEEPEST} inside each other"
            raise refused(wrong, "give a URDF file")
        element = Element(tag, attributes, str(path), parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda tag: stack.pop()
    try:
        parser.Parse(text, True)
    except expat.ExpatError as trouble:
        wrong = f"the file is not well formed: {expat.ErrorString(trouble.code)}"
        raise refused(wrong, "correct the XML there", trouble.lineno) from None
    except (ValueError, LookupError) as trouble:
        raise refused(f"the file cannot be decoded: {trouble}", "store it as UTF-8", 1) from None
    return top.children[0]


def _inertial(link: Element) -> Inertial | None:
    element = link.first("inertial")
    if element is None:
        return None
    center, turn = _origin(element)
    mass, inertia = element.required("mass"), element.required("inertia")
    value = mass.number("value")
    if value < 0.0:
        raise InputError(f"the mass is {value:g}", where=mass.place, do="give a mass that is not negative")
    xx, xy, xz, yy, yz, zz = (inertia.number(name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    tensor = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    return Inertial(value, center, 0.5 * (tensor + tensor.T), element.place)


def _joint(element: Element, name: str) -> UrdfJoint:
    place, kind = element.place, element.text("type")
    if kind not in JOINT_TYPES:
        raise unknown_word(f"joint {name!r} has type {kind!r}", kind, JOINT_TYPES, place)
    if element.first("mimic") is not None and kind != "fixed":
        wrong = f"joint {name!r} mimics another one"
        raise InputError(wrong, where=place, do="remove <mimic>: angles cannot be tied to each other")
    direction = element.optional("axis", xyz="1 0 0")
    axis = direction.numbers("xyz", 3)
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        raise InputError(f"the axis of joint {name!r} is zero", where=direction.place, do="give a direction")
    dynamics, limit = element.optional("dynamics"), element.optional("limit")
    losses = {what: dynamics.number(what, "0") for what in ("damping", "friction")}
    for what, value in losses.items():
        if value < 0.0:
            raise InputError(f"joint {name!r} has the {what} {value:g}", where=dynamics.place, do="give none below 0")
    if losses["damping"] > 0.0 and kind == "floating":
        wrong = f"the floating joint {name!r} has damping"
        raise InputError(wrong, where=place, do="set it to 0, and add a Damper to the linkage")
    origin, turn = _origin(element)
    stops = limit.number("lower", "0"), limit.number("upper", "0")
    return UrdfJoint(
        name,
        kind,
        element.required("parent").text("link"),
        element.required("child").text("link"),
        origin=origin,
        turn=turn,
        axis=axis / length,
        damping=losses["damping"],
        friction=losses["friction"],
        limit=stops if kind in LIMITED and element.first("limit") is not None else None,
        effort=max(limit.number("effort", "0"), 0.0),
        velocity=max(limit.number("velocity", "0"), 0.0),
        place=place,
    )


def _origin(element: Element) -> tuple[Array, Array]:
    """Position and rotation matrix; rpy turns about the fixed axes x, y, z, in this order."""
    origin = element.optional("origin")
    roll, pitch, yaw = origin.numbers("rpy", 3, "0 0 0").tolist()
    return origin.numbers("xyz", 3, "0 0 0"), turn_about(2, yaw) @ turn_about(1, pitch) @ turn_about(0, roll)


def turn_about(axis: int, angle: float) -> Array:
    """Rotation matrix about a coordinate axis."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix
