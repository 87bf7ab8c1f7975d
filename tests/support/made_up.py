"""Runs with made-up samples: for everything that shows or writes runs of any system. Nothing is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

import catena as ct
from catena.geometry import rotations
from catena.running.plan import Plan
from catena.running.runs import MemoryRun


def made_up(system: Any, fields: dict[str, np.ndarray], **settings: Any) -> MemoryRun:
    """A run with given samples: nothing is compiled. Its invariants vary a little."""
    count = len(next(iter(fields.values())))
    wander = np.sin(np.arange(count))[:, None] * 1e-9
    rows = np.hstack(
        [
            *(np.asarray(fields[f.name], dtype=float).reshape(count, -1) for f in system.fields),
            *(np.tile(1.0 + wander, (1, f.width)) for f in system.invariants),
        ]
    )
    start = ct.State({f.name: fields[f.name][0] for f in system.fields})
    plan = Plan(system, start, ct.Gauss(2), 0.1, **settings)
    arrays = {"z": np.zeros(1), "scale": np.ones(system.invariant_width), "carry": np.zeros(0)}
    crossings = np.zeros((0, 2 + rows.shape[1]))
    return MemoryRun(plan, (count - 1) * plan.every, arrays, rows, crossings, {})


def tumbling(system: Any, count: int = 40, seed: int = 1, **settings: Any) -> MemoryRun:
    """Bodies at random positions, with random orientations."""
    random = np.random.default_rng(seed)
    shapes = {f.name: (count, *f.shape) for f in system.fields}
    fields = {name: random.normal(size=shape) for name, shape in shapes.items()}
    if "orientation" in fields:
        fields["orientation"] = rotations.normalise(fields["orientation"])
    return made_up(system, fields, **settings)
