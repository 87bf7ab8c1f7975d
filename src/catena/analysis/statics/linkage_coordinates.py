"""Names of the joint coordinates of a linkage, and of motions in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...systems.linkage.joint_form.layout import Layout
from ...systems.linkage.joint_form.motion import BALL, SINGLE

SMALL = 1e-6  # of the largest part of a motion: smaller parts are left out
SHOWN = 6  # largest number of coordinates of a motion, and of motions, that are named


@dataclass(frozen=True)
class Coordinate:
    """One joint coordinate.

    Attributes
    ----------
    name : such as "joint 2 angle", "joint 0 shift", "body 3 turn 1" (about its first principal axis), "body 0 shift z"
    body : the body that it turns or shifts; -1 if it belongs to a joint
    number : index among the rates of its node
    turns : whether it is an angle
    exists : whether it has any effect: the spin of a line has none
    """

    name: str
    body: int
    number: int
    turns: bool
    exists: bool

    @property
    def is_shift_of_body(self) -> bool:
        """Whether it shifts a floating body."""
        return self.body >= 0 and not self.turns


def coordinates_of(layout: Layout) -> tuple[Coordinate, ...]:
    """All coordinates, in the order of the rates."""
    made = []
    for k, node in enumerate(layout.nodes):
        if node.kind == SINGLE:
            what = "angle" if node.turns else "shift"
            alike = [
                at for at, other in enumerate(layout.nodes) if (other.joint, other.turns) == (node.joint, node.turns)
            ]
            number = f" {1 + alike.index(k)}" if len(alike) > 1 else ""
            names, body = [f"joint {node.joint} {what}{number}"], -1
        else:
            body = node.body if node.kind == BALL else layout.nodes[k + 1].body
            names = [f"body {body} {'turn' if node.turns else 'shift'} {at}" for at in ("123" if node.turns else "xyz")]
        for number_in_node, name in enumerate(names[: node.rates]):
            exists = not (node.kind == BALL and node.held[number_in_node])
            made.append(Coordinate(name, body, number_in_node, node.turns, exists))
    return tuple(made)


def describe_motion(y: Array, names: Sequence[str]) -> str:
    """A motion in words: the participating coordinates, with their shares."""
    size = np.abs(y).max(initial=0.0)
    parts = [k for k in np.argsort(-np.abs(y), kind="stable") if abs(y[k]) > SMALL * size]
    if len(parts) == 1:
        return names[parts[0]]
    shown = [f"{y[k] / size:+.3g} {names[k]}" for k in parts[:SHOWN]]
    return ", ".join(shown) + (f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else "")


def list_motions(motions: Sequence[str], name: str) -> list[tuple[str, str]]:
    """Rows of a report that name motions; the first one carries the name of the row."""
    shown = [*motions[:SHOWN], *([f"and {len(motions) - SHOWN} more"] if len(motions) > SHOWN else [])]
    return [(name if k == 0 else "", motion) for k, motion in enumerate(shown)]


def simplest(space: Array) -> Array:
    """Another basis of the columns of a matrix: each vector has zeros where the others have their largest element.

    So motions of single joints are separate vectors, whatever mixture of them an eigensolver returned.
    """
    rows, pivots = space.T.copy(), []
    for k in range(len(rows)):
        rest = np.abs(rows[k:])
        at = int(np.argmax(rest.max(axis=0)))
        best = k + int(np.argmax(rest[:, at]))
        rows[[k, best]] = rows[[best, k]]
        rows[k] /= rows[k, at]
        for other in range(len(rows)):
            if other != k:
                rows[other] -= rows[other, at] * rows[k]
        pivots.append(at)
    rows[np.abs(rows) < SMALL * np.abs(rows).max(axis=1, keepdims=True, initial=1e-300)] = 0.0
    return rows[np.argsort(pivots)].T
