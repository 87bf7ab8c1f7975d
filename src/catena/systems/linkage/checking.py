"""Whether forces find the bodies and joints that they act on, and which joint a failed step could not meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...kernels.marks import Parameters
from ..base import Array
from ..paths import path_at
from .joint_coordinates import label_of
from .joint_forces import Load, OnAngle, OnParticles, Prescribed
from .layout import Scratch
from .limit import Limit
from .motor import Motor
from .start import described

if TYPE_CHECKING:
    from .linkage import Linkage


def check_names(linkage: Linkage) -> None:
    """InputError where two joints have one name."""
    known: dict[str, int] = {}
    for number, joint in enumerate(linkage.joints):
        if joint.name is not None and known.setdefault(joint.name, number) != number:
            raise InputError(
                f"joints {known[joint.name]} and {number} are both called {joint.name!r}",
                where=f"Linkage.joints[{number}].name", do="rename one",
            )  # fmt: skip


def check_forces(linkage: Linkage) -> None:
    """InputError where a force acts on what there is not, or on what another one drives."""
    for number, force in enumerate(linkage.forces):
        where = f"Linkage.forces[{number}]"
        if isinstance(force, OnAngle | Prescribed):
            _check_joint(linkage, force.joint, where)
            _check_drives(linkage, force, where)
            if isinstance(force, Limit):
                _check_targets(linkage, force, where)
        elif not isinstance(force, OnParticles):
            for body in (force.body,) if isinstance(force, Load) else (force.i, force.j):
                if body >= linkage.count:
                    raise InputError(
                        f"there is no body {body}; there are {linkage.count}", where=where,
                        do=f"give a number below {linkage.count}",
                    )  # fmt: skip


def _check_joint(linkage: Linkage, number: int, where: str) -> None:
    """Refuse a joint that there is not, or one without an angle or a displacement of its own."""
    if number >= len(linkage.joints):
        raise InputError(
            f"there is no joint {number}; there are {len(linkage.joints)}", where=f"{where}.joint",
            do=f"give a number below {len(linkage.joints)}",
        )  # fmt: skip
    joint = linkage.joints[number]
    if joint.slides and number in linkage.tree.loops:
        _refuse_closing(linkage, number, where)
    if not joint.has_coordinate:
        raise InputError(
            f"joint {number} is {type(joint).__name__}: no single number tells where it stands", where=f"{where}.joint",
            do="choose a Revolute, Prismatic, Cylindrical, Planar or Screw joint",
        )  # fmt: skip


def _check_drives(linkage: Linkage, force: OnAngle | Prescribed, where: str) -> None:
    """Refuse what acts on a driven joint, and a drive of a joint that it cannot move, or that another one moves."""
    if isinstance(force, OnAngle):
        if force.joint in linkage.signals.driven:
            raise InputError(
                f"joint {force.joint} is driven: what acts on its angle only adds to the torque of the drive", where=where,
                do=f"leave out this {type(force).__name__}, or the Driven",
            )  # fmt: skip
        return
    if force.joint in linkage.tree.loops:
        _refuse_closing(linkage, force.joint, where)
    if sum(isinstance(other, Prescribed) and other.joint == force.joint for other in linkage.forces) > 1:
        raise InputError(f"joint {force.joint} is driven twice", where=where, do="leave one of them out")


def _check_targets(linkage: Linkage, limit: Limit, where: str) -> None:
    """Refuse a constant target that the stops of its joint keep a motor from; one that moves may press on a stop for a while."""
    motors = [force for force in linkage.forces if isinstance(force, Motor) and force.joint == limit.joint]
    for target in [motor.target for motor in motors]:
        if isinstance(target, float) and not limit.low <= target <= limit.high:
            raise InputError(
                f"the motor of joint {limit.joint} has the target {target:g}, but its stops are at {limit.low:g} and {limit.high:g}",
                where=where, do="choose a target between the stops, or move them",
            )  # fmt: skip


def passed_stop(linkage: Linkage, times: Array) -> str:
    """The first motor whose target, where it moves, passes a stop of its joint at one of these times; empty if there is none."""
    for limit in (force for force in linkage.forces if isinstance(force, Limit)):
        for motor in (force for force in linkage.forces if isinstance(force, Motor) and force.joint == limit.joint):
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


def _refuse_closing(linkage: Linkage, number: int, where: str) -> None:
    raise InputError(
        f"joint {number} closes a loop, and carries no body that could be moved", where=f"{where}.joint",
        do=f"list it before the joint that carries body {linkage.joints[number].child}",
    )  # fmt: skip


def blamed(linkage: Linkage, par: Parameters) -> str:
    """The joint that a failed step could not meet, from the parameters of its run; empty if that is not known."""
    scratch = getattr(par, "scratch", None)  # that of the director form
    if scratch is None or scratch[Scratch.BLAMED] < 0.0:
        from .joint_form.closing import lost

        return lost(par)
    number = int(scratch[Scratch.BLAMED])
    return f"{described(linkage, number)}, off by {scratch[Scratch.BLAMED + 1]:.2g}"
