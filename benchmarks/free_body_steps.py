"""The cost of one step of a rotor: against C with the same bits, and Jacobi's solution against steps of DMV(2)."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.methods.rotors.rotor import Rotor
from engine import FLAGS, same_bits
from timing import interleaved, ratio

Array = NDArray[np.float64]

SOURCE = Path(__file__).with_name("free_body.c")
STRICT = "-ffp-contract=off"
# gcc merges the sine and the cosine of an angle into one call of sincos; numba makes two calls.
SEPARATE = "C, separate sine and cosine"
FUSED = "C, fused multiply-adds"
FORMS = {
    "C": (STRICT,),
    SEPARATE: (STRICT, "-fno-builtin-sin", "-fno-builtin-cos"),
    FUSED: ("-ffp-contract=fast",),
}


class AnewDMV(ct.DMV):
    """DMV as used inside a splitting: the modified moments are computed in each step."""

    stepper = Rotor.stepper


class AnewJacobi(ct.Jacobi):
    """Jacobi as used inside a splitting: the orbit is prepared in each step."""

    stepper = Rotor.stepper


# method, its function in free_body.c, and the largest allowed time of a step, in steps of the versions in C
NEAR_C: dict[str, tuple[Rotor, str, dict[str, float]]] = {
    "DMV(2)": (ct.DMV(2), "dmv2", {"C": 1.25}),
    "DMV(10)": (ct.DMV(10), "dmv10", {"C": 1.3}),
    "DMV(10) in a splitting": (AnewDMV(10), "dmv10_anew", {"C": 1.3}),
    "SymmetricRotation()": (
        ct.SymmetricRotation(), "symmetric_rotation", {"C": 1.6, SEPARATE: 1.15},
    ),
}  # fmt: skip
STEP_SIZES = (0.01, 0.1)


def compiled_c(folder: Path) -> dict[str, ctypes.CDLL]:
    """free_body.c in all its versions."""
    libraries = {}
    for number, (form, flags) in enumerate(FORMS.items()):
        target = folder / f"free_body_{number}.so"
        subprocess.run(["gcc", *FLAGS, *flags, str(SOURCE), "-o", str(target), "-lm"], check=True)
        libraries[form] = ctypes.CDLL(str(target))
    return libraries


def run_c(function: Any, program: Program, dt: float, steps: int) -> tuple[Array, Array]:
    """State and compensation after the steps of the book, computed by a function of free_body.c."""
    z = program.view.pack(ct.problems.book().start)
    e = np.zeros_like(z)
    given = program.new_par()
    arrays = [z, e, np.ascontiguousarray(given.inertia), np.ascontiguousarray(given.rotor)]
    pointers = [array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for array in arrays]
    status = function(*pointers[:2], ctypes.c_double(dt), ctypes.c_long(steps), *pointers[2:])
    assert status == 0
    return z, e


def run_ours(program: Program, dt: float, steps: int) -> tuple[Array, Array]:
    """The same by our loop."""
    driver = Driver(program, program.view.pack(ct.problems.book().start), t0=0.0, dt=dt, every=steps)
    assert driver.advance(steps).status == 0
    return driver.z, driver.e


def near_c(*, steps: int, rounds: int) -> list[dict[str, Any]]:
    """Our steps over those of C, and whether the bits are the same."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        libraries = compiled_c(Path(folder))
        for name, (method, function, targets) in NEAR_C.items():
            program = build(ct.problems.book().system, method)
            for dt in STEP_SIZES:
                in_c = {
                    form: partial(run_c, getattr(libraries[form], function), program, dt, steps)
                    for form in (*targets, FUSED)
                }
                candidates: dict[str, Callable[[], object]] = {"ours": partial(run_ours, program, dt, steps), **in_c}
                times = interleaved(candidates, rounds=rounds)
                ours = run_ours(program, dt, steps)
                rows += [
                    {
                        "method": name, "dt": dt, "against": form, **ratio(times, "ours", form),
                        "target": targets.get(form, "-"), "same bits": same_bits(ours, run()),
                    }
                    for form, run in in_c.items()
                ]  # fmt: skip
    return rows


def against_dmv2(*, steps: int, rounds: int) -> list[dict[str, Any]]:
    """One evaluation of Jacobi's solution in steps of DMV(2), dt = 0.1."""
    problem, dt = ct.problems.book(), 0.1
    system, start = problem.system, problem.start
    times = dt * np.arange(1, steps + 1)
    few = np.linspace(0.0, 1000.0, 1001)
    repeats = max(1, steps // len(few))
    candidates: dict[str, tuple[Callable[[], object], int, float | str]] = {
        "DMV(2)": (partial(run_ours, build(system, ct.DMV(2)), dt, steps), steps, "-"),
        "DMV(10) in a splitting": (partial(run_ours, build(system, AnewDMV(10)), dt, steps), steps, 2.0),
        "Jacobi(), a step": (partial(run_ours, build(system, ct.Jacobi()), dt, steps), steps, 1.5),
        f"exact, at {steps} times": (lambda: system.exact(times, start), steps, 1.5),
        f"exact, at {len(few)} times": (
            lambda: [system.exact(few, start) for _ in range(repeats)], repeats * len(few), 1.5,
        ),
        "Jacobi() in a splitting": (partial(run_ours, build(system, AnewJacobi()), dt, steps), steps, 5.0),
    }  # fmt: skip
    taken = interleaved({name: call for name, (call, _, _) in candidates.items()}, rounds=rounds)
    unit = taken["DMV(2)"]
    return [
        {
            "evaluation": name, "best": round(taken[name].best / count / (unit.best / steps), 2),
            "median": round(taken[name].median / count / (unit.median / steps), 2), "target": target,
        }
        for name, (_, count, target) in candidates.items()
    ]  # fmt: skip
