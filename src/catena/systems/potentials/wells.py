"""The shape of a central force: where it holds particles, how strongly, and how far it reaches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FALLEN = 1e-3
"""Fraction of the largest attraction: where the force has fallen to it, it holds nothing any more."""

DECADES = 15
"""Distances from 1e-15 to 1e15 are sampled, so that any units work."""

PER_DECADE = 50
NARROWEST = 1e-6  # offset of the first sampled distance beyond a minimum, relative to it


class Well(NamedTuple):
    """The result of `find_well`.

    Attributes
    ----------
    minimum : the smallest distance at which repulsion turns into attraction; 0 if there is none
    cohesion : the largest attraction beyond it; 0 if nothing attracts, inf if it is unbounded
    reach : distance beyond which the attraction stays below `FALLEN` times the cohesion; inf if it never does, or if
        the cohesion is 0 or inf
    """

    minimum: float
    cohesion: float
    reach: float


def find_well(force: Callable[[float], float]) -> Well:
    """Search a force (positive: repulsion) given as a function of the distance; nan where it is undefined."""
    coarse = np.geomspace(10.0**-DECADES, 10.0**DECADES, 2 * DECADES * PER_DECADE + 1)
    values = np.array([force(r) for r in coarse.tolist()])
    signed = np.flatnonzero(np.isfinite(values) & (values != 0))  # a minimum may coincide with a sampled distance
    turns = np.flatnonzero((values[signed[:-1]] > 0) & (values[signed[1:]] < 0))
    minimum = 0.0
    if len(turns):
        minimum = _root(force, coarse[signed[turns[0]]], coarse[signed[turns[0] + 1]])
        # offsets from the minimum: the well may be narrow
        coarse = minimum * (1.0 + np.geomspace(NARROWEST, 10.0**DECADES, (DECADES + 6) * PER_DECADE))
        values = np.array([force(r) for r in coarse.tolist()])
    defined = np.isfinite(values)
    coarse, values = coarse[defined], values[defined]
    if not (values < 0).any():
        return Well(minimum, 0.0, math.inf)
    deepest = int(np.argmin(values))
    if deepest in (0, len(values) - 1):
        return Well(minimum, math.inf, math.inf)
    cohesion = _largest(lambda r: -force(r), float(coarse[deepest - 1]), float(coarse[deepest + 1]))
    holding = np.flatnonzero(-values >= FALLEN * cohesion)
    if len(holding) == 0:  # a pole between two distances
        return Well(minimum, math.inf, math.inf)
    last = holding[-1]
    if last == len(values) - 1:
        return Well(minimum, cohesion, math.inf)
    return Well(minimum, cohesion, _root(lambda r: -force(r) - FALLEN * cohesion, coarse[last], coarse[last + 1]))


def _root(function: Callable[[float], float], positive: float, negative: float) -> float:
    """Where the function ceases to be positive, by bisection down to neighbouring doubles."""
    while True:
        middle = float(0.5 * (positive + negative))
        if not positive < middle < negative:
            return middle
        if function(middle) > 0:
            positive = middle
        else:
            negative = middle


def _largest(function: Callable[[float], float], left: float, right: float) -> float:
    """Largest value between two distances, by golden section; its position has only half of the digits."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    inner, outer = right - ratio * (right - left), left + ratio * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    while right - left > 1e-9 * right:
        if at_inner < at_outer:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + ratio * (right - left)
            at_outer = function(outer)
        else:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - ratio * (right - left)
            at_inner = function(inner)
    return max(at_inner, at_outer)
