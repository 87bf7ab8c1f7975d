"""Whether forces find the bodies and joints that they act on, and have an energy; and which joint a failed step could not meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...kernels.marks import Parameters
from ..base import Array, State
from ..paths import path_at
from .constraints import span
from .declared import require_below
from .fit import describe
from .joint_coordinates import label_of
from .joint_forces import Load, OfDistance, OnAngle, OnJoint, OnParticles, Prescribed
from .layout import Scratch
from .motor import Limit, Motor

if TYPE_CHECKING:
    from .linkage import Linkage


def check_names(linkage: Linkage) -> None:
    """InputError where two joints have one name."""
    known: dict[str, int] = {}
    for number, joint in enumerate(linkage.joints):
        if joint.name is not None and known.setdefault(joint.name, number) != number:
            wrong = f"joints {known[joint.name]} and {number} are both called {joint.name!r}"
            raise InputError(wrong, where=f"Linkage.joints[{number}].name", do="rename one")


def check_forces(linkage: Linkage) -> None:
    """InputError where a force acts on what there is not, or on what another one drives."""
    for number, force in enumerate(linkage.forces):
        where = f"Linkage.forces[{number}]"
        if isinstance(force, OnJoint):
            require_below(len(linkage.joints), force.joint, "joint", f"{where}.joint")
            wrong, do = _misfit(linkage, force)
            if wrong:
                raise InputError(f"joint {force.joint} {wrong}", where=f"{where}.joint", do=do)
        elif not isinstance(force, OnParticles):
            for body in (force.body,) if isinstance(force, Load) else (force.i, force.j):
                require_below(linkage.count, body, "body", where)
    for limit, motor in _find_stops(linkage):
        # a target that moves may press on a stop for a while
        if isinstance(motor.target, float) and not limit.low <= motor.target <= limit.high:
            raise InputError(
                f"the motor of joint {limit.joint} has the target {motor.target:g}, but its stops are at {limit.low:g} and {limit.high:g}",
                where=f"Linkage.forces[{linkage.forces.index(limit)}]", do="choose a target between the stops, or move them",
            )  # fmt: skip


def _misfit(linkage: Linkage, force: OnAngle | Prescribed) -> tuple[str, str]:
    """Why a force cannot act on its joint, and what to do about it; empty if it can."""
    number, drives = force.joint, isinstance(force, Prescribed)
    joint = linkage.joints[number]
    if number in linkage.tree.loops and (joint.slides or drives):
        do = f"list it before the joint that carries body {joint.child}"
        return "closes a loop, and carries no body that could be moved", do
    if not joint.has_coordinate:
        do = "choose a Revolute, Prismatic, Cylindrical, Planar or Screw joint"
        return f"is {type(joint).__name__}: no single number tells where it stands", do
    if drives and sum(isinstance(other, Prescribed) and other.joint == number for other in linkage.forces) > 1:
        return "is driven twice", "leave one of them out"
    if not drives and number in linkage.signals.driven:
        do = f"leave out this {type(force).__name__}, or the Driven"
        return "is driven: what acts on its angle only adds to the torque of the drive", do
    return "", ""


def _find_stops(linkage: Linkage) -> list[tuple[Limit, Motor]]:
    """Stops, with the motors of their joints."""
    motors = [force for force in linkage.forces if isinstance(force, Motor)]
    limits = [force for force in linkage.forces if isinstance(force, Limit)]
    return [(limit, motor) for limit in limits for motor in motors if motor.joint == limit.joint]


def find_passed_stop(linkage: Linkage, times: Array) -> str:
    """The first motor whose target, where it moves, passes a stop of its joint at one of these times; empty if there is none."""
    for limit, motor in _find_stops(linkage):
        if motor.followed is None:
            continue
        target, _ = path_at(motor.followed, times)
        beyond = np.flatnonzero((target < limit.low) | (target > limit.high))
        if len(beyond):
            k = int(beyond[0])
            stop = "low" if target[k] < limit.low else "high"
            return (
                f"the target of the motor of {label_of(linkage, limit.joint)} passes the stop {stop} = {getattr(limit, stop):g} "
                f"at t = {times[k]:g}, where it is {target[k]:g}: the motor will press against the stop"
            )
    return ""


def blame(linkage: Linkage, par: Parameters) -> str:
    """The joint that a failed step could not meet, from the parameters of its run; empty if that is not known."""
    scratch = getattr(par, "scratch", None)  # that of the director form
    if scratch is None or scratch[Scratch.BLAMED] < 0.0:
        from .joint_form.closing import explain_loss

        return explain_loss(par)
    number = int(scratch[Scratch.BLAMED])
    return f"{describe(linkage, number)}, off by {scratch[Scratch.BLAMED + 1]:.2g}"


def find_undefined_force(linkage: Linkage, state: State) -> str:
    """The first force whose energy is not defined in a state, and why."""
    angles = linkage.angles(state)
    for k, force in enumerate(linkage.forces):
        reason = ""
        if isinstance(force, OnAngle):
            reason = force.undefined_at(float(angles[force.joint]), state.time)
        elif isinstance(force, OfDistance):
            distance = float(np.linalg.norm(span((force.i, force.j), force.at, state.position, state.orientation)[0]))
            reason = "" if force.pair.is_defined(distance) else f"no finite energy at distance {distance:g}"
        if reason:
            return f"start, forces[{k}] ({type(force).__name__}): {reason}"
    return linkage.acting.undefined_at(state) or "start"
