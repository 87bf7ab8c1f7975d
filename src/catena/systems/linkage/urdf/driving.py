"""Motors and stops of a robot description: what the file says of its joints, and what the user drives them with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....errors import CatenaWarning, InputError, nearest
from ...sampled import Sampled
from ..joint_forces import JointForce
from ..limit import Limit
from ..motor import Motor
from .importing import Robot


def drives_of(
    robot: Robot, motors: Mapping[str, Mapping[str, Any]], stops: tuple[float, float] | None
) -> list[JointForce]:
    """Motors by the names of their joints, with the efforts of the file, and stops where the file has limits.

    Parameters
    ----------
    motors : joint -> arguments of `Motor`
    stops : stiffness and damping of the limits; None: there are none
    """
    made: list[JointForce] = []
    for name, given in motors.items():
        number = _number(robot, name)
        motor = Motor(number, **({"effort": robot.efforts.get(name)} | dict(given)))
        _require_within(motor, robot.limits.get(name), name)
        made.append(motor)
    limited = [name for name in robot.limits if name in robot.joint_names]
    if stops is not None:
        made += [Limit(_number(robot, name), *robot.limits[name], *stops) for name in limited]
    _warn(robot, [] if stops is not None else limited, motors)
    return made


def _number(robot: Robot, name: str) -> int:
    if name not in robot.joint_names:
        raise InputError(
            f"there is no movable joint {name!r}{nearest(str(name), list(robot.joint_names))}", where="from_urdf.motors",
            do=f"choose among {', '.join(robot.joint_names)}",
        )  # fmt: skip
    return robot.joint_names.index(name)


def _require_within(motor: Motor, limit: tuple[float, float] | None, name: str) -> None:
    """Refuse a target that is known to lie beyond the limits."""
    target = motor.target
    if limit is None or not isinstance(target, (float, Sampled)):
        return
    values = [target] if isinstance(target, float) else np.asarray(target.values, dtype=float).tolist()
    for value in values:
        if not limit[0] <= value <= limit[1]:
            raise InputError(
                f"the target {value:g} of joint {name!r} is beyond its limits, {limit[0]:g} and {limit[1]:g}",
                where=f"from_urdf.motors.{name}", do="give a target within them",
            )  # fmt: skip


def _warn(robot: Robot, unused: list[str], motors: Mapping[str, object]) -> None:
    """Name what the file says and nothing here does."""
    notes = []
    if unused:
        notes.append(f"limits of {', '.join(unused)} are not enforced: give limits=(stiffness, damping)")
    if robot.frictions:
        notes.append(f"dry friction of {', '.join(robot.frictions)} is left out")
    if robot.speeds:
        notes.append(f"largest speeds of {', '.join(robot.speeds)} are not enforced")
    idle = [name for name in robot.efforts if name not in motors]
    if idle and motors:
        notes.append(f"efforts of {', '.join(idle)} are not used: no motor acts there")
    if notes:
        warnings.warn(f"{robot.name or 'robot'}: {'; '.join(notes)}", CatenaWarning, stacklevel=4)
