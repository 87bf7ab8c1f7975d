"""Loads on a linkage that statics can treat: constant ones with a potential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...errors import CapabilityError, InputError
from ...geometry import rotations
from ...systems.linkage.constraints import turn_vectors
from ...systems.linkage.joint_forces import BetweenPoints, JointForce, Load, OfDistance, OnAngle, Prescribed, Spring
from ...systems.linkage.joint_form.motion import BALL, Link
from ...systems.linkage.joint_form.motion import Node as NodeRow
from ...systems.linkage.joints import GROUND
from ...systems.linkage.linkage import Linkage
from ...systems.numbers import finite_numbers
from ...systems.sampled import depends_on_time

if TYPE_CHECKING:
    from .linkage_problem import LinkageBalance, LinkageProblem

COINCIDE = 1e-12  # of the size of the linkage: points closer than this coincide
PARALLEL = 1e-12  # directions that differ by less are equal


def check_forces(linkage: Linkage) -> None:
    """Refuse loads that change with time; all other forces have a potential, or vanish at rest."""
    if linkage.signals.gravity_moves:
        raise CapabilityError(
            "gravity changes with time: there is no equilibrium to look for", where="Linkage.gravity", do="give numbers"
        )
    for number, force in enumerate(linkage.forces):
        if isinstance(force, Prescribed):
            raise CapabilityError(
                f"joint {force.joint} is driven: statics knows no prescribed motion", where=f"Linkage.forces[{number}]",
                do="leave it out, or hold the joint by a stiff Torsion",
            )  # fmt: skip
        if isinstance(force, OnAngle) and "motor_torque" in force.quantities:
            raise CapabilityError(
                f"a {type(force).__name__} has no potential", where=f"Linkage.forces[{number}]",
                do='for a target that stands still give Torsion(joint, "kp*(theta - target)**2/2"), and for a torque "-torque*theta"',
            )  # fmt: skip
        parts = force.components if isinstance(force, Load) else force.signals
        if force.in_time or any(map(depends_on_time, parts)):
            raise CapabilityError(
                f"a {type(force).__name__} that depends on t changes with time: there is no equilibrium to look for",
                where=f"Linkage.forces[{number}]", do="give it as numbers",
            )  # fmt: skip


def without_direction(linkage: Linkage, position: Array, orientation: Array, extent: float) -> int | None:
    """The first force that does not vanish between two coinciding points: its energy has a kink there, and no slope."""
    for number, force in enumerate(linkage.forces):
        if isinstance(force, OfDistance) or (isinstance(force, Spring) and force.length > 0.0 and force.k > 0.0):
            first, second = (
                turn_vectors(orientation, body, point) + (0.0 if body == GROUND else position[body])
                for body, point in zip((force.i, force.j), force.at, strict=True)
            )
            if np.linalg.norm(second - first) <= COINCIDE * extent:
                return number
    return None


def reach_of_forces(linkage: Linkage) -> float:
    """The longest lever arm of a force, and the longest natural length of a spring."""
    arms = [float(np.linalg.norm(point)) for f in linkage.forces if isinstance(f, BetweenPoints) for point in f.at]
    lengths = [force.length for force in linkage.forces if isinstance(force, Spring)]
    return max([*arms, *lengths], default=0.0)


def with_load(linkage: Linkage, load: ArrayLike | None, where: str) -> Linkage:
    """The linkage with forces on the centres of mass: (n, 3), or (3,) for the last body."""
    if load is None:
        return linkage
    given = np.asarray(load)
    forces = np.zeros((linkage.count, 3))
    if given.shape == (3,):
        forces[-1] = finite_numbers(given, (3,), where=where)
    else:
        forces[:] = finite_numbers(given, (linkage.count, 3), where=where)
    loads = [Load(j, force=tuple(force.tolist())) for j, force in enumerate(forces) if force.any()]
    more: Sequence[JointForce] = (*linkage.forces, *loads)
    return linkage.with_parts(forces=more)


def load_energy(linkage: Linkage, position: Array, orientation: Array) -> float:
    """-F.x of all constant forces, at their points of application."""
    total = 0.0
    for force in linkage.forces:
        if isinstance(force, Load):
            point = position[force.body] + rotations.rotate(orientation[force.body], np.array(force.at))
            total -= float(np.array(force.force, dtype=float) @ point)
    return total


def torque_weights(problem: LinkageProblem, z: Array) -> Array:
    """w with the potential -w.z of all constant torques; refuses a torque that has no potential.

    A torque has a potential if its body rotates about one direction only: all hinges up to the ground are parallel, and
    there are no ball joints. The hinges bear its component across that direction.
    """
    weights = np.zeros_like(z)
    for number, force in enumerate(problem.linkage.forces):
        if isinstance(force, Load) and np.array(force.torque, dtype=float).any():
            hinges = _hinges(problem, force.body, z)
            if hinges is None:
                raise CapabilityError(
                    f"the torque on body {force.body} has no potential: the body can turn about more than one direction",
                    where=f"Linkage.forces[{number}].torque", do="give a pair of forces, or a Torsion of a joint",
                )  # fmt: skip
            for place, axis in hinges:
                weights[place] += float(axis @ np.array(force.torque, dtype=float))
    return weights


def _hinges(problem: LinkageProblem, body: int, z: Array) -> list[tuple[int, Array]] | None:
    """Index in z, and axis in space per unit of the coordinate, of hinges that rotate a body; None unless parallel."""
    problem.motions(z)
    found: list[tuple[int, Array]] = []
    k = problem.layout.home[body]
    while k > 0:
        node = problem.layout.nodes[k]
        if node.kind == BALL:
            return None
        if node.rates and node.turn != 0.0:
            axis = problem.par.tree_nodes[k, NodeRow.S + 3 : NodeRow.S + 6].copy()
            if found and np.linalg.norm(np.cross(axis, found[0][1])) > PARALLEL:
                return None
            found.append((int(problem.layout.links[k, Link.COORDINATE]), axis))
        k = node.parent
    return found


def refuse_fall(problem: LinkageProblem, balance: LinkageBalance, stiffness: Array) -> None:
    """An error if a body floats, and nothing holds it against a force."""
    size = np.abs(stiffness).max(initial=0.0)
    for body, shift in problem.shifts(balance):
        force, held = -shift.T @ balance.gradient, np.abs(stiffness @ shift).max()
        if held <= PARALLEL * size and np.abs(force).max() > PARALLEL * (shift.T @ balance.gross).max():
            raise InputError(
                f"nothing holds body {body} and what hangs on it against the force {np.round(force, 12).tolist()}: it has no equilibrium",
                where="Linkage.joints", do="join it to the ground, hold it by springs, or balance the forces",
            )  # fmt: skip
    _refuse_slide(problem, balance, stiffness)


def _refuse_slide(problem: LinkageProblem, balance: LinkageBalance, stiffness: Array) -> None:
    """An error if a joint slides forever under constant forces: no spring and no rotation of another joint holds it."""
    if problem.linkage.particle_forces or any(isinstance(f, Spring | OfDistance) for f in problem.linkage.forces):
        return
    size = np.abs(stiffness).max(initial=0.0)
    for k, number in enumerate(balance.free):
        coordinate, force = problem.coordinates[number], -float(balance.gradient[k])
        held = np.abs(stiffness[:, k]).max() > PARALLEL * size
        if not coordinate.turns and not held and abs(force) > PARALLEL * balance.gross[k]:
            raise InputError(
                f"nothing holds {coordinate.name} against the force {force:.6g}: it has no equilibrium", where="Linkage.joints",
                do="hold it by a spring, or take a joint that does not slide",
            )  # fmt: skip
