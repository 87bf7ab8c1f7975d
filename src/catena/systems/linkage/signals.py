"""Functions of the time that drive a linkage: gravity where it depends on t, and what its forces name; and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...kernels.marks import Numbers, Written
from ..base import Array
from ..paths import FULL_TURN, LEAST_JUMP, Jump, first_of, function_of, jumps_of
from ..sampled import SPLINES, InTime, Sampled, depends_on_time, spline_arrays, write_in_time
from .joint_forces import JointForce, Load, OnAngle, Prescribed
from .layout import Scratch, Signal


class Signals:
    """All of them, numbered as in par.signal: the three components of gravity if one depends on t, then those of the forces.

    Parameters
    ----------
    gravity : three components
    forces : of the linkage
    """

    def __init__(self, gravity: Sequence[InTime], forces: Sequence[JointForce]) -> None:
        self.gravity_moves = any(map(depends_on_time, gravity))
        found = list(gravity) if self.gravity_moves else []
        self.first: dict[int, int] = {}  # by the number of a force
        for number, force in enumerate(forces):
            if force.signals:
                self.first[number] = len(found)
                found += force.signals
        self.functions = tuple(found)
        acting = [(forces[number], first) for number, first in self.first.items()]
        # joint -> its function, and function -> joint of the motor that a controller sets
        self.driven = {force.joint: first for force, first in acting if isinstance(force, Prescribed)}
        self.held = {first: force.joint for force, first in acting if isinstance(force, OnAngle) and force.controlled}
        self.loads = tuple(force for force in forces if isinstance(force, Load))
        self._parts = [*found, *(part for load in self.loads for part in load.components)]
        self._in_potentials = any(force.in_time for force in forces if isinstance(force, OnAngle))

    def __len__(self) -> int:
        return len(self.functions)

    @property
    def depend_on_time(self) -> bool:
        """Whether anything does."""
        return self._in_potentials or bool(self.driven) or any(map(depends_on_time, self._parts))

    @property
    def change_potentials(self) -> bool:
        """Whether a potential depends on t."""
        return self.gravity_moves or self._in_potentials

    @cached_property
    def tables(self) -> tuple[Sampled, ...]:
        """Those of the functions, then those of the loads."""
        return tuple(part for part in self._parts if isinstance(part, Sampled))

    def arrays(self) -> dict[str, Numbers]:
        """What kernels find in par."""
        constant = [f if isinstance(f, float) else 0.0 for f in self.functions]
        made: dict[str, Numbers] = {"signal_constant": np.array(constant)} if constant else {}
        return made | (spline_arrays(self.tables) if self.tables else {})

    def scratch(self) -> dict[str, Numbers]:
        """What they are written into."""
        return {"signal": np.zeros((len(self), Signal.WIDTH))} if len(self) else {}

    @cached_property
    def set_time(self) -> Written:
        """`set_time`: numbers from par, texts and splines written out with two derivatives."""
        lines, table = ["def set_time(t, par):", f"    par.scratch[{Scratch.NOW}] = t"], 0
        for number, function in enumerate(self.functions):
            if number in self.held:  # written between steps
                continue
            if not depends_on_time(function):
                lines.append(f"    par.signal[{number}, {Signal.VALUE}] = par.signal_constant[{number}]")
                continue
            outputs = [f"par.signal[{number}, {place}]" for place in range(Signal.WIDTH)]
            lines += [f"    {line}" for line in write_in_time(function, outputs, table)]
            table += isinstance(function, Sampled)
        return Written("set_time", "\n".join(lines), __name__, SPLINES)

    def load_values(self) -> Written:
        """`load_values`: numbers from par.load, texts in t and splines written out."""
        table = sum(isinstance(function, Sampled) for function in self.functions)
        lines = [
            "def load_values(t, which, par, out):",
            "    for k in range(6):",
            "        out[k] = par.load[which, k]",
        ]
        for number, load in enumerate(self.loads):
            for k, component in enumerate(load.components):
                if depends_on_time(component):
                    lines.append(f"    if which == {number}:")
                    lines += [f"        {line}" for line in write_in_time(component, ["value"], table)]
                    lines.append(f"        out[{k}] = value")
                    table += isinstance(component, Sampled)
        return Written("load_values", "\n".join(lines), __name__, SPLINES)

    def first_jump(self, times: Array, dt: float) -> Jump | None:
        """The first step among those from these times in which a prescribed path jumps, or after which it has no value."""
        found: list[Jump] = []
        forces = {first: number for number, first in self.first.items()}
        for joint, number in self.driven.items():
            names = f"the path of joint {joint}", f"Linkage.forces[{forces[number]}].path"
            found += jumps_of(self.functions[number], *names, times, dt, least=LEAST_JUMP, period=FULL_TURN)
        return first_of(found)

    def at(self, time: float) -> Array:
        """(functions, 3): values and two derivatives at a time, outside of kernels; nan where one has none."""
        return values_at(self.functions, time)


def values_at(functions: Sequence[InTime], time: float) -> Array:
    """(functions, 3): values and two derivatives at a time; nan where one has none."""
    made = np.zeros((len(functions), Signal.WIDTH))
    for row, function in zip(made, functions, strict=True):
        if isinstance(function, float):
            row[Signal.VALUE] = function
        elif isinstance(function, Sampled):
            row[:] = [spline(time, 0, len(function.rows), function.rows) for _, spline in SPLINES]
        else:
            row[:] = _values_of(function, time)
    return made


def _values_of(text: str, time: float) -> Array:
    """Those of a text in t: where sqrt(t) begins it has a value, but no derivatives."""
    made = np.full(Signal.WIDTH, np.nan)
    for count in range(Signal.WIDTH, 0, -1):
        try:
            made[:count] = function_of(text, count)(time)
        except (ArithmeticError, ValueError):
            continue
        break
    return made
