"""Prescribed paths: their values at many times at once, and the steps in which they jump."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType, SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from ..expressions.values import FUNCTIONS_ON_ARRAYS
from ..kernels.marks import Written
from .base import Array
from .potentials.pairwise import interpret
from .sampled import CONSTANT, CUBIC, KNOT, LINEAR, SQUARE, InTime, Sampled, write_in_time

JUMP = 0.5  # fraction of a change in a step that the slopes at both ends do not explain
LEAST_JUMP = 0.05  # smallest jump: an angle, or a fraction of a length
SUDDEN = 4.0  # ratio of the rate between two samples to the rates on both sides
FULL_TURN = 2.0 * np.pi
FUNCTIONS = SimpleNamespace(**FUNCTIONS_ON_ARRAYS, pow=np.power)


def path_at(function: InTime, times: Array) -> tuple[Array, Array]:
    """Values and slopes at times; nan where the path has none."""
    if isinstance(function, float):
        return np.full(times.shape, function), np.zeros(times.shape)
    if isinstance(function, Sampled):
        rows = function.rows
        row = rows[np.clip(np.searchsorted(rows[:, KNOT], times, side="right") - 1, 0, len(rows) - 1)].T
        x = times - row[KNOT]
        value = ((row[CUBIC] * x + row[SQUARE]) * x + row[LINEAR]) * x + row[CONSTANT]
        return value, (3.0 * row[CUBIC] * x + 2.0 * row[SQUARE]) * x + row[LINEAR]
    with np.errstate(all="ignore"):
        value, slope = (np.broadcast_to(part, times.shape) for part in function_of(function, 2, many=True)(times))
    finite = np.isfinite(value) & np.isfinite(slope)
    return np.where(finite, value, np.nan), np.where(finite, slope, np.nan)


@lru_cache
def function_of(text: str, count: int, *, many: bool = False) -> FunctionType:
    """A compiled text in t that returns `count` numbers: value, slope, curvature; for arrays of times if `many`."""
    outputs = ("value", "slope", "curvature")[:count]
    lines = ["def values(t):", *(f"    {line}" for line in write_in_time(text, outputs, 0))]
    written = Written("values", "\n".join([*lines, f"    return {', '.join(outputs)},"]), __name__)
    return interpret(written, FUNCTIONS) if many else interpret(written)


@dataclass(frozen=True)
class Jump:
    """A jump of a path: its time, a message, and the argument that gave the path."""

    time: float
    wrong: str
    where: str


def first_of(jumps: Iterable[Jump]) -> Jump | None:
    """The earliest jump."""
    return min(jumps, key=lambda jump: jump.time, default=None)


def jumps_of(
    function: InTime, path: str, where: str, times: Array, dt: float, *, least: float, period: float = 0.0
) -> Iterator[Jump]:
    """The first of the steps from these times in which a path jumps, and the first jump of its table, if any.

    Parameters
    ----------
    path : its name in messages
    least, period : as for `jumping_steps`
    """
    (before, slope), (after, later) = path_at(function, times), path_at(function, times + dt)
    for k in jumping_steps((before, after), (slope, later), dt, least=least, period=period)[:1].tolist():
        yield jump_from(path, where, (times[k], before[k]), (times[k] + dt, after[k]))
    if isinstance(function, Sampled):
        yield from table_jumps(function, path, where, times, dt, least=least)


def table_jumps(table: Sampled, path: str, where: str, times: Array, dt: float, *, least: float) -> Iterator[Jump]:
    """The first samples of a table, less than a step apart, between which it changes much faster than before and after.

    The spline through them is smooth, but overshoots widely on both sides.
    """
    t, values = table.knots, np.asarray(table.values)
    rates = np.abs(np.diff(values) / np.diff(t))
    around = np.maximum(np.append(0.0, rates[:-1]), np.append(rates[1:], 0.0))
    sudden = (np.diff(t) < dt) & (np.abs(np.diff(values)) > least) & (rates > SUDDEN * around)
    for k in np.flatnonzero(sudden & (t[:-1] >= times[0]) & (t[:-1] <= times[-1] + dt))[:1].tolist():
        yield jump_from(path, where, (t[k], values[k]), (t[k + 1], values[k + 1]))


def jump_from(path: str, where: str, before: tuple[float, float], after: tuple[float, float]) -> Jump:
    """A jump between two points, (time, value); the second value is nan if there is none."""
    if np.isnan(after[1]):
        return Jump(before[0], f"{path} has no value at t = {after[0]:g}", where)
    change = f"from {before[1]:g} at t = {before[0]:g} to {after[1]:g} at t = {after[0]:g}"
    return Jump(before[0], f"{path} jumps {change}", where)


def jumping_steps(
    ends: tuple[Array, Array], slopes: tuple[Array, Array], dt: float, *, least: float, period: float = 0.0
) -> NDArray[np.intp]:
    """Indices of the steps in which a path jumps: its change disagrees with the slopes at both ends, or it has no value
    at the end.

    Parameters
    ----------
    ends, slopes : values and slopes of the path at the start and at the end of each step
    least : smaller changes are not jumps
    period : changes by multiples of it are not jumps; 0: none
    """
    change, expected = ends[1] - ends[0], 0.5 * dt * (slopes[0] + slopes[1])
    if period:
        change = change - period * np.round((change - expected) / period)
    unexplained = np.abs(change - expected)
    allowed = np.maximum(JUMP * np.maximum(np.abs(change), np.abs(expected)), least)
    return np.flatnonzero(~(unexplained <= allowed))


def turning_jumps(quaternion: Sequence[InTime], path: str, where: str, times: Array, dt: float) -> Iterator[Jump]:
    """The same for an orientation given by four functions, whose norm does not matter."""
    (u0, w0), (u1, w1) = _turning(quaternion, times), _turning(quaternion, times + dt)
    angle = 2.0 * np.arccos(np.minimum(np.abs((u0 * u1).sum(axis=0)), 1.0))
    for k in jumping_steps((np.zeros(len(times)), angle), (w0, w1), dt, least=LEAST_JUMP)[:1].tolist():
        yield jump_from(path, where, (times[k], 0.0), (times[k] + dt, angle[k]))
    for k, function in enumerate(quaternion):
        if isinstance(function, Sampled):
            yield from table_jumps(function, "the orientation", f"{where}[{k}]", times, dt, least=LEAST_JUMP)


def _turning(quaternion: Sequence[InTime], times: Array) -> tuple[Array, Array]:
    """Unit quaternions (4, times), and angular speeds; nan where a quaternion is zero."""
    found = [path_at(function, times) for function in quaternion]
    q, rate = np.array([value for value, _ in found]), np.array([slope for _, slope in found])
    length = np.linalg.norm(q, axis=0)
    length = np.where(length > 0.0, length, np.nan)
    unit, rate = q / length, rate / length
    return unit, 2.0 * np.linalg.norm(rate - unit * (unit * rate).sum(axis=0), axis=0)
