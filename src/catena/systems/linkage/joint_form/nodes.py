"""A linkage as a tree of elementary joints, each with one coordinate, three, or none.

A joint with several freedoms becomes a row of elementary ones between massless nodes: cylindrical = slide + hinge, planar = two
slides + hinge, universal = two hinges; a body that nothing carries = translation + ball. Arms, axes and images are in principal axes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ....errors import CapabilityError
from ...numbers import Vector
from ..constraints import principal, principal_joint
from ..joints import AXIS, GROUND, TURN, Distance, Joint, Screw, Spherical
from ..thin import ON_LINE, is_thin
from ..tree import FLOATING
from .motion import BALL, SINGLE, TRANSLATION

if TYPE_CHECKING:
    from ..linkage import Linkage

GROUND_NODE = 0
ZERO = (0.0, 0.0, 0.0)
NONE_HELD = (False, False, False)


@dataclass(frozen=True)
class Node:
    """An elementary joint with what it carries.

    Attributes
    ----------
    kind : SINGLE, BALL or TRANSLATION
    parent : node that carries it; GROUND_NODE is the ground
    body : number of the body, or -1 for a massless node
    joint : number of the joint, or -1
    a, b : the joint's point in the parent node and in this one
    axis : of a SINGLE, in the parent node
    turn, advance : of a SINGLE, per unit of its coordinate; both 0 for a weld
    has_shift : whether it stands farther along its axis than its coordinate says, by a constant
    held : of a BALL, which of its three turning rates do not exist
    driven : of a SINGLE, the number of the function of the time that is its coordinate, or -1
    tells : whether its coordinate is the angle of the joint, or the displacement of a slider
    """

    kind: int
    parent: int
    body: int
    joint: int
    a: Vector = ZERO
    b: Vector = ZERO
    axis: Vector = ZERO
    turn: float = 0.0
    advance: float = 0.0
    has_shift: bool = False
    held: tuple[bool, ...] = NONE_HELD
    driven: int = -1
    tells: bool = False

    @property
    def coordinates(self) -> int:
        """Numbers that place it."""
        return {SINGLE: int(self.moves), BALL: 4, TRANSLATION: 3}[self.kind]

    @property
    def rates(self) -> int:
        """Numbers that move it."""
        return {SINGLE: int(self.moves), BALL: 3, TRANSLATION: 3}[self.kind]

    @property
    def moves(self) -> bool:
        """Whether a SINGLE has a coordinate: it is no weld, and nothing prescribes it."""
        return self.driven < 0 and (self.turn != 0.0 or self.advance != 0.0)

    @property
    def turns(self) -> bool:
        """Whether its coordinates are angles or an orientation, and no lengths."""
        return self.kind == BALL or (self.kind == SINGLE and self.turn != 0.0)

    @property
    def has_image(self) -> bool:
        """Whether its orientation counts from that of the joint's image."""
        return self.kind == SINGLE and self.body >= 0


def nodes_of(linkage: Linkage) -> tuple[Node, ...]:
    """The nodes, parents before children; the first is the ground, a weld to nothing."""
    nodes = [Node(SINGLE, -1, -1, -1)]
    home = {FLOATING: GROUND_NODE, GROUND: GROUND_NODE}
    for body in linkage.tree.order:
        parent = home[linkage.tree.parents[body]]
        for node in _elementary(linkage, body):
            nodes.append(replace(node, parent=parent))
            parent = len(nodes) - 1
        home[body] = parent
    carried: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        carried[node.parent].append(node)
    return tuple(replace(node, held=_find_held(linkage, node, carried[k])) for k, node in enumerate(nodes))


def _elementary(linkage: Linkage, body: int) -> list[Node]:
    """What leads from the body that carries it to a body; their parents are not known yet."""
    number = linkage.tree.carriers[body]
    if number < 0:
        return [Node(TRANSLATION, 0, -1, -1), Node(BALL, 0, body, -1)]
    joint: Joint = linkage.joints[number]
    a, b, triad = principal_joint(linkage, joint)
    if isinstance(joint, Spherical):
        return [Node(BALL, 0, joint.child, number, a=a, b=b)]
    if joint.elements is None:
        raise CapabilityError(f"joint {number}, {type(joint).__name__}, has no joint form", do='use form="director"')
    made = [Node(SINGLE, 0, -1, number, axis=triad[AXIS])] if not joint.elements else []
    for kind, k in joint.elements:
        turn, advance = (1.0, joint.pitch) if kind == TURN else (0.0, 1.0)
        tells = kind == TURN or joint.slides
        made.append(Node(SINGLE, 0, -1, number, axis=triad[k], turn=turn, advance=advance, tells=tells))
    made[0] = replace(made[0], a=a)
    driven, shifts = linkage.signals.driven.get(number, -1), isinstance(joint, Screw)
    made[-1] = replace(made[-1], body=joint.child, b=b, has_shift=shifts, driven=driven)
    return made


def _find_held(linkage: Linkage, node: Node, children: list[Node]) -> tuple[bool, ...]:
    """Turning rates that move nothing: a line on ball joints along itself does not notice its spin.

    Where it carries a hinge, or a point beside itself, it does, and that moves with it.
    """
    if node.kind != BALL or not is_thin(linkage.bodies[node.body]):
        return NONE_HELD
    closing = [linkage.joints[k] for k in linkage.tree.loops]
    closing = [joint for joint in closing if node.body in (joint.parent, joint.child)]
    if not all(isinstance(joint, Spherical | Distance) for joint in closing) or any(c.kind != BALL for c in children):
        return NONE_HELD
    tied = [principal(linkage, node.body, joint.at[joint.child == node.body]) for joint in closing]
    arms = np.abs(np.array([node.b, *(child.a for child in children), *tied])).max(axis=0)
    beside = [max(arms[m] for m in range(3) if m != k) for k in range(3)]
    still = linkage.bodies[node.body].moments == 0.0
    return tuple(bool(still[k] and beside[k] <= ON_LINE * arms.max()) for k in range(3))
