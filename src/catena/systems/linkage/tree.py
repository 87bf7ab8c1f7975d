"""How joints connect bodies: a tree that starts at the ground or at free bodies, and the joints that close loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InputError
from .declared import require_below
from .joints import GROUND, Joint

FLOATING = -2  # parent of a body that no joint of the tree carries


@dataclass(frozen=True)
class Tree:
    """The first joint with a body as its child carries that body; every other joint closes a loop.

    Attributes
    ----------
    parents : for each body the body that carries it, GROUND or FLOATING
    carriers : for each body the number of the joint that carries it, or -1
    order : the bodies, parents before children
    loops : numbers of the joints that close loops
    """

    parents: tuple[int, ...]
    carriers: tuple[int, ...]
    order: tuple[int, ...]
    loops: tuple[int, ...]


def tree_of(count: int, joints: Sequence[Joint]) -> Tree:
    """The tree of `count` bodies; InputError if a joint names no body or the carriers run in a circle."""
    parents, carriers, loops = [FLOATING] * count, [-1] * count, []
    for number, joint in enumerate(joints):
        for role, body in (("parent", joint.parent), ("child", joint.child)):
            require_below(count, body, "body", f"Linkage.joints[{number}].{role}")
        if joint.carries and carriers[joint.child] < 0:
            parents[joint.child], carriers[joint.child] = joint.parent, number
        else:
            loops.append(number)
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(parents):
        children.setdefault(parent, []).append(body)
    order: list[int] = []
    open_bodies = [*reversed(children.get(FLOATING, [])), *reversed(children.get(GROUND, []))]
    while open_bodies:
        body = open_bodies.pop()
        order.append(body)
        open_bodies += reversed(children.get(body, []))
    if len(order) < count:
        body = min(set(range(count)) - set(order))
        circle = [body]
        while parents[circle[-1]] not in circle:
            circle.append(parents[circle[-1]])
        ring = circle[circle.index(parents[circle[-1]]) :]
        names = " <- ".join(str(b) for b in [*ring, ring[0]])
        raise InputError(
            f"bodies {names} carry one another: each is the child of the next",
            where=f"Linkage.joints[{carriers[ring[0]]}]",
            do="a loop is welcome, but one of its joints must have a child that another joint already carries: "
            "exchange parent and child of that joint, or list the joint that holds the loop to the ground first",
        )
    return Tree(tuple(parents), tuple(carriers), tuple(order), tuple(loops))
