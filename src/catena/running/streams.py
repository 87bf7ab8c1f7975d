"""What a run records, and under which names: the arrays of samples, crossings and events."""

from __future__ import annotations

import numpy as np

from ..store import Column, Stream
from .plan import Plan
from .units import unit_of


def streams_of(plan: Plan) -> tuple[Stream, ...]:
    """The arrays of the store: the samples, the crossings of each section, the events."""

    def columns(prefix: str) -> tuple[Column, ...]:
        parts = (*plan.system.fields, *plan.system.invariants) if prefix else plan.pairing.recorded
        time = Column(f"{prefix}time", (), (), attributes_of("time", "time"))
        return (time, *(Column(prefix + f.name, f.shape, f.dims, attributes_of(f.name, f.about)) for f in parts))

    def attributes_of(name: str, about: str) -> dict[str, str]:
        unit = unit_of(plan.system, name, plan.units)
        return {"long_name": about or name} | ({"units": unit} if unit else {})

    streams = [Stream("samples", "time", columns(""))]
    for section in plan.sections:
        prefix = f"section_{section.name}_"
        streams.append(Stream(prefix, f"crossing_{section.name}", columns(prefix)))
    if plan.events:
        known = {"names": [event.name for event in plan.events]}
        streams.append(Stream("event_", "event", (Column("event_which", (), (), known), *columns("event_"))))
    if plan.control is not None:
        torque = {"long_name": "torque that the controller returned"}
        torques = Column("control_torque", (len(plan.system.controls),), ("motor",), torque)
        streams.append(
            Stream("control_", "control", (Column("control_time", (), (), attributes_of("time", "time")), torques))
        )
    return tuple(streams)


def control_columns(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Rows (time, torques) of a controller as the columns of its stream."""
    return {"control_time": rows[:, 0], "control_torque": rows[:, 1:]}


def crossing_columns(plan: Plan, crossings: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """Rows of crossings, sorted into the streams of the sections and of the events."""
    sorted_rows: dict[str, dict[str, np.ndarray]] = {}
    which = crossings[:, 0].astype(int)

    def columns(prefix: str, rows: np.ndarray) -> dict[str, np.ndarray]:
        parts = {prefix + name: array for name, array in plan.system.columns(rows[:, 2:]).items()}
        return {prefix + "time": rows[:, 1]} | parts

    for i, section in enumerate(plan.sections):
        prefix = f"section_{section.name}_"
        sorted_rows[prefix] = columns(prefix, crossings[which == i])
    if plan.events:
        rows = crossings[which >= len(plan.sections)]
        sorted_rows["event_"] = {"event_which": rows[:, 0] - len(plan.sections)} | columns("event_", rows)
    return sorted_rows
