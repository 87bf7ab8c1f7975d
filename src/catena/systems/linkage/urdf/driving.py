"""Motors and stops of a robot description: what the file says of its joints, and what the user drives them with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ....errors import CatenaWarning, InputError, nearest
from ...sampled import GivenInTime, Sampled
from ..driven import Driven
from ..joint_forces import JointForce
from ..limit import Limit
from ..motor import Motor
from .importing import Robot


def drives_of(
    robot: Robot,
    motors: Mapping[str, Mapping[str, Any]],
    driven: Mapping[str, GivenInTime],
    stops: tuple[float, float] | None,
) -> list[JointForce]:
    """Damping of the file, motors by the names of their joints, with the efforts of the file, and stops where the file has limits.

    Nothing else acts on joints whose motion is prescribed.

    Parameters
    ----------
    motors : joint -> arguments of `Motor`
    driven : joint -> path of `Driven`
    stops : stiffness and damping of the limits; None: there are none
    """
    prescribed = {_number(robot, name, "driven"): Driven(_number(robot, name, "driven"), path) for name, path in driven.items()}  # fmt: skip
    made: list[JointForce] = [damping for damping in robot.forces if damping.joint not in prescribed]
    for name, given in motors.items():
        motor = _motor(robot, name, given)
        _require_within(motor.target, robot.limits.get(name), name, "motors")
        made.append(motor)
    for name in driven:
        _require_within(prescribed[_number(robot, name, "driven")].path, robot.limits.get(name), name, "driven")
    limited = [name for name in robot.limits if name in robot.joint_names and name not in driven]
    if stops is not None:
        made += [Limit(_number(robot, name, "limits"), *robot.limits[name], *stops) for name in limited]
    braked = [robot.joint_names[damping.joint] for damping in robot.forces if damping.joint in prescribed]
    _warn(robot, [] if stops is not None else limited, [*motors, *driven], braked)
    return [*made, *prescribed.values()]


def _motor(robot: Robot, name: str, given: Mapping[str, Any]) -> Motor:
    """The motor of a joint, bounded by the effort of the file."""
    number, where = _number(robot, name, "motors"), f"from_urdf.motors.{name}"
    known = [field.name for field in fields(Motor) if field.init and field.name != "joint"]
    if not isinstance(given, Mapping):
        raise InputError(f"{given!r}", where=where, do='give a table, as {"target": "sin(t)", "kp": 50.0, "kd": 2.0}')
    for key in given:
        if key not in known:
            raise InputError(
                f"a motor has no {key!r}{nearest(str(key), known)}", where=where, do=f"use some of {', '.join(known)}"
            )
    return Motor(number, **({"effort": robot.efforts.get(name)} | dict(given)))


def _number(robot: Robot, name: str, argument: str) -> int:
    if name not in robot.joint_names:
        raise InputError(
            f"there is no movable joint {name!r}{nearest(str(name), list(robot.joint_names))}", where=f"from_urdf.{argument}",
            do=f"choose among {', '.join(robot.joint_names)}",
        )  # fmt: skip
    return robot.joint_names.index(name)


def _require_within(prescribed: object, limit: tuple[float, float] | None, name: str, argument: str) -> None:
    """Refuse a target, or a path, that is known to lie beyond the limits."""
    if limit is None or not isinstance(prescribed, (float, Sampled)):
        return
    values = [prescribed] if isinstance(prescribed, float) else np.asarray(prescribed.values, dtype=float).tolist()
    for value in values:
        if not limit[0] <= value <= limit[1]:
            raise InputError(
                f"the {'target' if argument == 'motors' else 'path'} {value:g} of joint {name!r} is beyond its limits, "
                f"{limit[0]:g} and {limit[1]:g}", where=f"from_urdf.{argument}.{name}", do="stay within them",
            )  # fmt: skip


def _warn(robot: Robot, unused: list[str], moved: list[str], braked: list[str]) -> None:
    """Name what the file says and nothing here does."""
    notes = []
    if unused:
        notes.append(f"limits of {', '.join(unused)} are not enforced: give limits=(stiffness, damping)")
    if robot.frictions:
        notes.append(f"dry friction of {', '.join(robot.frictions)} is left out")
    if robot.speeds:
        notes.append(f"largest speeds of {', '.join(robot.speeds)} are not enforced")
    if braked:
        notes.append(f"damping of {', '.join(braked)} is left out: their motion is prescribed")
    idle = [name for name in robot.efforts if name not in moved]
    if idle and moved:
        notes.append(f"efforts of {', '.join(idle)} are not used: no motor acts there")
    if notes:
        warnings.warn(f"{robot.name or 'robot'}: {'; '.join(notes)}", CatenaWarning, stacklevel=4)
