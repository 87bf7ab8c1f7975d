"""Judge a series of numbers as the audit of a run does."""

from __future__ import annotations

import numpy as np

from catena.running.auditing import AuditRow, assess


def judge(values, *, dt=0.125, start_time=0.0, steps=None, scale=1.0, promised="none", **more) -> AuditRow:
    values = np.asarray(values)
    time = start_time + dt * np.arange(len(values))
    steps = len(values) - 1 if steps is None else steps
    return assess("energy", time, values, steps=steps, scale=scale, promised=promised, **more)
