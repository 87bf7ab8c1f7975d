"""Find where a kernel left its arrays or wrote to parameters: repeat steps in plain Python, with the kernels' lines."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from ..errors import KernelError
from . import bounds
from .build import build

if TYPE_CHECKING:
    from .driver import Driver

DO = (
    "correct the index, or make the array as long as it must be: Stepper.work and Stepper.carry declare those of a method, "
    "View.scratch and parameter_arrays() those of a system, `fields` and `invariants` the rows that publish and measure fill"
)


def out_of_bounds(driver: Driver, steps: int) -> KernelError:
    """The error, with kernel and line, for the first of these steps that leaves an array; 0 steps: only record."""
    for power in reversed(range(steps.bit_length())):
        fault_in(driver, 2**power)
    return locate(driver, min(steps, 1))


def locate(driver: Driver, steps: int) -> KernelError:
    """The error for the first of these steps that leaves an array in plain Python; 0 steps: only record the state."""
    program = driver.program
    checked = build(program.system, program.method, crossing=program.crossing, compiled=False, checked=True)
    again = type(driver)(checked, driver.variables(), t0=driver.t0, dt=driver.dt, every=driver.every)
    again.restore(driver.step, driver.state())
    fault = fault_in(again, min(steps, 1))
    while fault is None and again.step < driver.step + steps:
        fault = fault_in(again, 1)
    step = f"step {again.step + 1}" if steps else "the start"
    if fault is None:
        return KernelError(
            f"{program.title} leaves an array, but not in plain Python", where=step,
            do="look for a kernel that reads what no kernel has written",
        )  # fmt: skip
    place = [frame for frame in traceback.extract_tb(fault.__traceback__) if frame.filename != bounds.__file__][-1]
    return KernelError(
        f"{program.title}: kernel {place.name} leaves an array: {fault}",
        where=f"{place.filename}:{place.lineno}, {step}: {place.line}", do=DO,
    )  # fmt: skip


def blame_write_into_parameter(driver: Driver, fault: Exception) -> KernelError:
    """The error for a kernel that writes to a parameter, which all drivers, threads and members share."""
    place = traceback.extract_tb(fault.__traceback__)[-1]
    return KernelError(
        f"{driver.program.title}: kernel {place.name} writes into a parameter",
        where=f"{place.filename}:{place.lineno}, step {driver.step + 1}: {place.line}",
        do="declare the array as scratch: View.scratch that of a system, Stepper.scratch that of a method",
    )  # fmt: skip


def fault_in(driver: Driver, steps: int) -> IndexError | None:
    """The access outside an array in these steps, after which the state is restored; None if there is none."""
    step, before = driver.step, {name: array.copy() for name, array in driver.state().items()}
    try:
        driver.attempt(steps) if steps else driver.record()
    except IndexError as fault:
        driver.restore(step, before)
        return fault
    return None
