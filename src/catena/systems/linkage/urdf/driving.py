"""Motors and stops of a robot description: what the file says of its joints, and what the user drives them with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ....errors import CatenaWarning, InputError, unknown_word
from ...sampled import GivenInTime, Sampled
from ..joint_forces import JointForce
from ..motor import Driven, Limit, Motor
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
    paths = {name: Driven(_number(robot, name, "driven"), path) for name, path in driven.items()}
    prescribed = {drive.joint for drive in paths.values()}
    made: list[JointForce] = [damping for damping in robot.forces if damping.joint not in prescribed]
    braked = [robot.joint_names[damping.joint] for damping in robot.forces if damping.joint in prescribed]
    for name, given in motors.items():
        motor = _motor(robot, name, given)
        _require_within(motor.target, robot.limits.get(name), f"target of joint {name!r}", f"motors.{name}")
        made.append(motor)
    for name, drive in paths.items():
        _require_within(drive.path, robot.limits.get(name), f"path of joint {name!r}", f"driven.{name}")
    limited = [name for name in robot.limits if name in robot.joint_names and name not in driven]
    if stops is not None:
        made += [_stop(robot, name, stops) for name in limited]
    _warn(robot, [] if stops is not None else limited, [*motors, *driven], braked)
    return [*made, *paths.values()]


def _motor(robot: Robot, name: str, given: Mapping[str, Any]) -> Motor:
    """The motor of a joint, bounded by the effort of the file."""
    number, where = _number(robot, name, "motors"), f"from_urdf.motors.{name}"
    known = [field.name for field in fields(Motor) if field.init and field.name != "joint"]
    if not isinstance(given, Mapping):
        raise InputError(f"{given!r}", where=where, do='give a table, as {"target": "sin(t)", "kp": 50.0, "kd": 2.0}')
    for key in given:
        if key not in known:
            raise unknown_word(f"a motor has no {key!r}", key, known, where)
    return Motor(number, **({"effort": robot.efforts.get(name)} | dict(given)))


def _stop(robot: Robot, name: str, stops: tuple[float, float]) -> Limit:
    """The stops of a joint."""
    low, high = robot.limits[name]
    if not low < high:
        do = "make the joint fixed in the file" if low == high else "exchange them in the file"
        if low == high == 0.0:
            do = f"give both in the file, where one that is missing is 0, {do}"
        wrong = f"joint {name!r} has no way between its limits: lower = {low:g}, upper = {high:g}"
        raise InputError(wrong, where="from_urdf.limits", do=f"{do}, or leave out limits")
    return Limit(robot.joint_names.index(name), low, high, *stops)


def _number(robot: Robot, name: str, argument: str) -> int:
    if name not in robot.joint_names:
        raise unknown_word(f"there is no movable joint {name!r}", name, robot.joint_names, f"from_urdf.{argument}")
    return robot.joint_names.index(name)


def _require_within(prescribed: object, limit: tuple[float, float] | None, what: str, argument: str) -> None:
    """Refuse a target, or a path, that is known to lie beyond the limits."""
    if limit is None or not isinstance(prescribed, (float, Sampled)):
        return
    low, high = limit
    for value in np.ravel(prescribed if isinstance(prescribed, float) else prescribed.values):
        if not low <= value <= high:
            wrong = f"the {what} is {value:g}, beyond its limits {low:g} and {high:g}"
            do = "stay within them" if low < high else "give both in the file, where one that is missing is 0"
            raise InputError(wrong, where=f"from_urdf.{argument}", do=do)


def _warn(robot: Robot, unused: list[str], moved: list[str], braked: list[str]) -> None:
    """Name what the file says and nothing here does."""
    idle = [name for name in robot.efforts if name not in moved] if moved else []
    fates = (
        ("limits of", unused, "are not enforced: give limits=(stiffness, damping)"),
        ("dry friction of", robot.frictions, "is left out"),
        ("largest speeds of", robot.speeds, "are not enforced"),
        ("damping of", braked, "is left out: their motion is prescribed"),
        ("efforts of", idle, "are not used: no motor acts there"),
    )
    notes = [f"{what} {', '.join(names)} {fate}" for what, names, fate in fates if names]
    if notes:
        warnings.warn(f"{robot.name or 'robot'}: {'; '.join(notes)}", CatenaWarning, stacklevel=4)
