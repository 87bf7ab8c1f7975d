"""Derivatives of potentials by differences, to compare with their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from catena.errors import InputError
from catena.systems.potentials.pairwise import Pairwise, interpret

DISTANCES = np.array([0.83, 0.97, 1.21, 1.7])
STEP = 2e-4  # differences are accurate to its fourth power, and to eps/STEP


def numbered(kind: type, **given: Any) -> Any:
    """A potential whose numbers all differ, so that none can replace another; if a kind refuses them, its default."""
    others = [field for field in fields(kind) if field.name not in given]
    numbers = {field.name: 1.0 + 0.1 * k for k, field in enumerate(others)}
    try:
        return kind(**given, **numbers)
    except InputError:
        return kind(**given, **{field.name: numbers[field.name] for field in others if field.default is MISSING})


def quotient(function: Any, x: Any, step: Any = STEP) -> Any:
    """The derivative of a function at x, along `step`, by central differences of order 4."""
    near, far = function(x + step) - function(x - step), function(x + 2.0 * step) - function(x - 2.0 * step)
    return (8.0 * near - far) / (12.0 * STEP)


def beyond(bound: float, errors: Mapping[str, float]) -> dict[str, float]:
    """The errors that are not below a bound."""
    return {name: error for name, error in errors.items() if not error < bound}


def pair_errors(potential: Pairwise) -> dict[str, float]:
    """Relative errors of the force, against -dV/dr, and of the slope, against dA/ds, A = -V'(r)/r: 2 is a wrong
    sign."""
    par = SimpleNamespace(pair=np.array(potential.constants))
    force, slope = (interpret(potential.kernel(name)) for name in ("force", "slope"))
    s = DISTANCES**2
    wanted = -quotient(potential.energy, DISTANCES)
    wanted_slope = np.array([quotient(lambda x: force(x, 0, par), x) for x in s])
    found_slope = np.array([slope(x, 0, par) for x in s])
    return {
        "force": float(np.abs(potential.force(DISTANCES) - wanted).max() / np.abs(wanted).max()),
        "slope": float(np.abs(found_slope - wanted_slope).max() / np.abs(wanted_slope).max()),
    }
