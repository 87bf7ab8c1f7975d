"""`simulate` without compiling: the same text run as plain Python, the same bits, for short runs."""

from __future__ import annotations

from collections.abc import Sequence

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.methods.base import Method
from catena.running.control import ControlledDriver
from catena.running.crossings import crossing_of
from catena.running.plan import Problem, make_plan
from catena.running.recording import MemoryRecorder
from catena.running.simulation import _run
from catena.systems.base import System


def simulate(
    system: System | Problem,
    start: ct.State | None,
    method: Method,
    *,
    dt: float,
    steps: int,
    every: int = 1,
    sections: Sequence[ct.Section] = (),
    events: Sequence[ct.Event] = (),
    compiled: bool = False,
    control: ct.Controller | None = None,
) -> ct.Run:
    """A run in memory, by the driver and the recorder of `ct.simulate`."""
    plan, count = make_plan(
        system, start, method, dt=dt, steps=steps, t_end=None, every=every, sections=sections, events=events, control=control,
    )  # fmt: skip
    program = build(plan.system, method, crossing=crossing_of(plan.system, sections, events), compiled=compiled)
    z, of = program.view.pack(plan.start), {"t0": plan.t0, "dt": dt, "every": every}
    driver = Driver(program, z, **of) if control is None else ControlledDriver(program, z, **of, controller=control)
    return _run(plan, driver, MemoryRecorder(plan), count, False, first=driver.first_row())


def check_goes_on(program: Program, start: ct.State, *, dt: float, steps: int) -> None:
    """A second driver, which gets only a checkpoint of the first, makes the next steps with the same bits."""
    whole, first, second = (Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=1) for _ in range(3))
    whole.advance(2 * steps)
    first.advance(steps)
    second.restore(steps, {name: array.copy() for name, array in first.state().items()})
    second.advance(steps)
    for name, array in whole.state().items():
        assert array.tobytes() == second.state()[name].tobytes(), name
