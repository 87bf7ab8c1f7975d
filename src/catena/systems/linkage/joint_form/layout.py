"""Where the coordinates and rates of the joints of a linkage stand among the stepped variables.

z = [lengths | quaternions of balls | angles | speeds | turning rates | work]: positions of bodies that nothing carries and displacements
of slides; absolute orientations of bodies on ball joints; angles of hinges; the rates of the first, then of the other two, those of balls
in the body; the work of dampers and of loads. What stays (images and shifts of joints, and, but for changes between steps, the chart of
loops) and the time stand with the angles, or, where there are none, with another field that moves: a field of constants would always
look converged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..joint_forces import OnAngle
from ..joints import Screw
from ..measures import does_work
from .motion import BALL
from .nodes import Node, nodes_of

if TYPE_CHECKING:
    from ..linkage import Linkage

Place = tuple[str, int, int]  # what, of which node or joint, how many numbers


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything stands in z; a place of -1 or an absent one: nowhere.

    Attributes
    ----------
    nodes : the ground, then the nodes that move
    links : (nodes, `Link`) integers of the kernels
    home : node of each body; -1 is the ground
    images, angles, shifts : places by joint, for those that have one; the displacement of a slider counts as its angle
    time : place of the time
    work : place of the work of dampers; that of loads comes next
    loops : the nodes around each loop, which its closing joint holds together
    loop_rates : (node, number of the rate in it) of all rates that move a loop
    chart : place of the chart of the loops
    ends : where the fields of z end
    """

    nodes: tuple[Node, ...]
    links: NDArray[np.int64]
    home: dict[int, int]
    images: dict[int, int]
    angles: dict[int, int]
    shifts: dict[int, int]
    time: int
    work: int
    loops: tuple[tuple[int, ...], ...]
    loop_rates: tuple[tuple[int, int], ...]
    chart: int
    ends: NDArray[np.int64]

    @property
    def dimension(self) -> int:
        """Number of stepped variables."""
        return int(self.ends[-1])


@lru_cache(maxsize=16)
def layout_of(linkage: Linkage) -> Layout:
    """The places of all coordinates and rates."""
    nodes = nodes_of(linkage)
    home = {node.body: k for k, node in enumerate(nodes) if node.body >= 0} | {-1: 0}
    loops = _loops(linkage, nodes, home)
    around = sorted({k for loop in loops for k in loop})
    loop_rates = tuple((k, number) for k in around for number in range(nodes[k].rates))
    places, ends = _places(linkage, nodes, len(loop_rates))

    def place(what: str, which: int = 0) -> int:
        return places.get((what, which), -1)

    def by_joint(what: str) -> dict[int, int]:
        return {which: at for (name, which), at in places.items() if name == what}

    links = [
        [
            node.parent, node.kind, place("coordinate", k), place("rate", k), place("image", node.joint) if node.has_image else -1,
            place("shift", node.joint) if node.has_shift else -1, node.driven,
        ]
        for k, node in enumerate(nodes)
    ]  # fmt: skip
    told = {node.joint: place("coordinate", k) for k, node in enumerate(nodes) if node.tells and node.moves}
    return Layout(
        nodes, np.array(links, dtype=np.int64), home, by_joint("image"), by_joint("angle") | told, by_joint("shift"), place("time"),
        place("work"), loops, loop_rates, place("chart"), ends,
    )  # fmt: skip


def _loops(linkage: Linkage, nodes: tuple[Node, ...], home: dict[int, int]) -> tuple[tuple[int, ...], ...]:
    """Nodes between the two ends of each joint that closes a loop; what carries them all moves the loop as a whole."""

    def inward(body: int) -> set[int]:
        found, k = set(), home[body]
        while k > 0:
            found.add(k)
            k = nodes[k].parent
        return found

    ends = [(linkage.joints[k].parent, linkage.joints[k].child) for k in linkage.tree.loops]
    return tuple(tuple(sorted(inward(parent) ^ inward(child))) for parent, child in ends)


def _places(
    linkage: Linkage, nodes: tuple[Node, ...], loop_rates: int
) -> tuple[dict[tuple[str, int], int], NDArray[np.int64]]:
    """Places in z by what stands there, and of which node or joint; and where the fields end."""
    groups: list[list[Place]] = [[], [], [], [], [], []]
    for k, node in enumerate(nodes):
        if node.coordinates:
            where = 1 if node.kind == BALL else 2 if node.turns else 0
            groups[where].append(("coordinate", k, node.coordinates))
            groups[4 if node.turns else 3].append(("rate", k, node.rates))
    constants = next((groups[g] for g in (2, 1, 0) if groups[g]), groups[2])
    constants += [("image", node.joint, 4) for node in nodes if node.has_image]
    constants += [("shift", node.joint, 1) for node in nodes if node.has_shift]
    constants += _closing(linkage, loop_rates)
    in_time = linkage.acting.terms.in_time or linkage.signals.depend_on_time
    constants += [("time", 0, 1)] if in_time else []
    groups[5] += [("work", 0, 2)] if does_work(linkage) else []
    places: dict[tuple[str, int], int] = {}
    at, ends = 0, []
    for number, group in enumerate(groups):
        for what, which, width in group:
            places[what, which] = at
            at += width
        joined = number == 1 and groups[2]  # fields come in pairs, positions and rates: all that turns is one
        if group and not joined:
            ends.append(at)
    return places, np.array(ends, dtype=np.int64)


def _closing(linkage: Linkage, rates: int) -> list[Place]:
    """What joints that close loops need: their images, the angle where something depends on it, the chart."""
    twisted = {force.joint for force in linkage.forces if isinstance(force, OnAngle)}
    screws = {k for k in linkage.tree.loops if isinstance(linkage.joints[k], Screw)}
    found: list[Place] = [("image", k, 4) for k in linkage.tree.loops]
    found += [("angle", k, 1) for k in linkage.tree.loops if k in twisted | screws]
    found += [("shift", k, 1) for k in sorted(screws)]
    rows = sum(len(linkage.joints[k].rows) for k in linkage.tree.loops)
    return found + ([("chart", 0, rows + rates)] if linkage.tree.loops else [])
