"""Forces and torques drawn beside the bodies: torques of motors, loads, tweezers, fields, and the reactions of joints.

Arrows of one kind are to scale; the longest of a run is as long as a body. A torque is an arrow along its axis, by the
right-hand rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...geometry import rotations
from ...systems.base import State
from .frames import Frames

if TYPE_CHECKING:
    from ...running.runs import Run
    from ...systems.chain.chain import Chain
    from ...systems.linkage.linkage import Linkage

MOST_TORQUES, MOST_REACTIONS = 150, 50  # times at which they are computed: 1 ms each, or 10 ms
MOST_JOINTS = 40  # with drawn reactions
MOST_PARTICLES = 200  # with drawn fields


@dataclass(frozen=True, eq=False)
class Marks:
    """Lines or arrows of one kind.

    Attributes
    ----------
    name : what they are; the label of the button that shows them
    kind : "arrow", or "line" for a spring
    ends : (frames, m, 2, 3) start and end in space
    shown : whether they are visible at first
    """

    name: str
    kind: Literal["arrow", "line"]
    ends: Array
    shown: bool = True


def marks_of(run: Run, shown: Frames, reach: float) -> list[Marks]:
    """All forces and torques that can be drawn for a run; arrows are at most as long as `reach`."""
    from ...systems.chain.chain import Chain
    from ...systems.linkage.linkage import Linkage

    if shown.orientation is None or not shown.is_sound.all():
        return []
    found: list[Marks] = []
    with np.errstate(over="ignore", invalid="ignore"):  # a run that blew up
        if isinstance(run.system, Chain):
            found = list(_of_chain(run.system, shown, reach))
        if isinstance(run.system, Linkage):
            found = list(_of_linkage(run.system, run, shown, reach))
    return [one for one in found if one.ends.size and np.isfinite(one.ends).all()]


def _arrows(name: str, at: Array, vectors: Array, reach: float, *, shown: bool = True) -> Iterator[Marks]:
    """The arrows; None if nothing acts."""
    longest = float(np.linalg.norm(vectors, axis=-1).max(initial=0.0))
    if np.isfinite(longest) and longest > 0.0:
        yield Marks(name, "arrow", np.stack([at, at + vectors * (reach / longest)], axis=2), shown)


def _of_chain(chain: Chain, shown: Frames, reach: float) -> Iterator[Marks]:
    """Tweezers from the point of the body to their anchor; forces at ends and other bodies."""
    from ...analysis.load_outputs import doings
    from ...systems.chain.ends import Force, Tweezers

    if not any(
        isinstance(source, Force | Tweezers) for source in [chain.left, chain.right, *(load for _, load in chain.loads)]
    ):
        return
    ends = [(0, chain.left), (chain.count - 1, chain.right), *chain.loads]
    nothing = np.zeros((len(shown.position), 2, 3))
    lines, points, forces = [], [], []
    for (j, source), done in zip(ends, doings(chain, shown.data, (nothing, nothing)), strict=True):
        if isinstance(source, Force | Tweezers):
            at = _carry(shown, j, source.at)
            if isinstance(source, Tweezers) and source.k > 0.0:
                lines.append(np.stack([at, at + done.force / source.k], axis=1))
            elif isinstance(source, Force):
                points.append(at)
                forces.append(done.force)
    if lines:
        yield Marks("tweezers", "line", np.stack(lines, axis=1))
    if points:
        yield from _arrows("loads", np.stack(points, axis=1), np.stack(forces, axis=1), reach)


def _of_linkage(linkage: Linkage, run: Run, shown: Frames, reach: float) -> Iterator[Marks]:
    """Motors and drives along their axes, loads, fields at particles, reactions at joints.

    Positions are those of each frame; magnitudes are computed in some frames and interpolated in the others.
    """
    from ...analysis.linkage_reactions import load_at
    from ...systems.linkage.joint_forces import Load

    times = shown.data.time.values
    points = [_carry(shown, joint.child, joint.at[1]) for joint in linkage.joints]
    pushed = linkage.moved_joints
    if pushed:
        outputs = linkage.outputs(run, every=shown.every * -(-len(times) // MOST_TORQUES))
        axes = [_turn(shown, linkage.joints[k].parent, linkage.joints[k].triad[0]) for k in pushed]
        torque = _between(times, outputs.time, outputs.motor_torque.values[:, pushed])
        yield from _arrows(
            "motors", np.stack([points[k] for k in pushed], axis=1), torque[..., None] * np.stack(axes, axis=1), reach
        )
    loads = [force for force in linkage.forces if isinstance(force, Load)]
    if loads:
        at = np.stack([_carry(shown, force.body, force.at) for force in loads], axis=1)
        pulls = np.array([[load_at(force, float(t))[:3] for force in loads] for t in times])
        yield from _arrows("loads", at, pulls, reach)
    yield from _of_fields(linkage, shown, reach)
    if points and len(points) <= MOST_JOINTS:
        outputs = linkage.outputs(run, every=shown.every * -(-len(times) // MOST_REACTIONS))
        forces = _between(times, outputs.time, outputs.reaction_force.values)
        yield from _arrows("reactions", np.stack(points, axis=1), forces, reach, shown=False)


def _of_fields(linkage: Linkage, shown: Frames, reach: float) -> Iterator[Marks]:
    """The force of external fields on each particle."""
    from ...systems.particles.acting_terms import Terms

    fields = Terms(linkage.acting.terms.fields)
    if not fields or linkage.acting.count > MOST_PARTICLES:
        return
    times, rows = shown.data.time.values, slice(None, None, -(-len(shown.position) // MOST_TORQUES))
    states = [
        State({"position": r, "orientation": q}, float(t)) for r, q, t in zip(shown.position, _orientation(shown), times, strict=True)
    ]  # fmt: skip
    places = np.array([linkage.acting.at(state).positions for state in states])
    pushes = [fields.forces(x, linkage.acting.types, float(t)) for x, t in zip(places[rows], times[rows], strict=True)]
    yield from _arrows("fields", places, _between(times, times[rows], np.array(pushes)), reach)


def _orientation(shown: Frames) -> Array:
    assert shown.orientation is not None
    return shown.orientation


def _turn(shown: Frames, body: int, vector: ArrayLike) -> Array:
    """A direction of a body in space, in all frames; body -1 is the ground."""
    given = np.broadcast_to(np.array(vector, dtype=float), (len(shown.position), 3))
    return given if body < 0 else rotations.rotate(_orientation(shown)[:, body], given)


def _carry(shown: Frames, body: int, point: ArrayLike) -> Array:
    """A point of a body in space, in all frames."""
    return shown.position[:, body] + _turn(shown, body, point)


def _between(times: Array, known: Array, values: Array) -> Array:
    """Values (rows, ...) at all times."""
    flat = values.reshape(len(values), -1)
    return np.stack([np.interp(times, known, column) for column in flat.T], axis=1).reshape(
        len(times), *values.shape[1:]
    )
