"""The speed of the compiled loops: against C, against SciPy and heyoka at equal energy error, and compile times.

    python benchmarks/engine.py

prints the tables and writes benchmarks/results/engine.json and engine.md. All times are CPU times of one process,
candidates in turn; only their ratios are meaningful.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena import disk_cache
from catena.engine import headers
from catena.engine.build import Program, build
from catena.engine.collector import collect
from catena.engine.driver import Driver
from catena.kernels.marks import Written
from catena.methods.base import Method
from catena.output.files import write_text
from timing import interleaved, ratio

HERE = Path(__file__).parent
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC")
CONTRACTIONS = {"strict": "-ffp-contract=off", "fused": "-ffp-contract=fast"}
NEAR_C = {
    "RK4": (ct.RK4(), 0.025, 400_000, ("rk4",)),
    "Gauss(3)": (ct.Gauss(3), 0.2, 100_000, ("gauss3", "gauss3_vectors")),
}
SAMPLES = 100  # output rows of the races at equal error

Array = NDArray[np.float64]


# Against C -----------------------------------------------------------------------------------------------------


def compiled_c(folder: Path) -> dict[str, ctypes.CDLL]:
    """engine.c with and without fused multiply-adds."""
    libraries = {}
    for name, flag in CONTRACTIONS.items():
        target = folder / f"engine_{name}.so"
        subprocess.run(["gcc", *FLAGS, flag, str(HERE / "engine.c"), "-o", str(target), "-lm"], check=True)
        libraries[name] = ctypes.CDLL(str(target))
    return libraries


def run_c(function: Any, program: Program, dt: float, steps: int) -> tuple[Array, Array]:
    """State and compensation after the steps, computed by a function of engine.c."""

    def pointer(array: Array) -> Any:
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    z = start_of(program)
    e = np.zeros_like(z)
    tables = []
    if function.__name__ != "rk4":
        stages = program.method.describe()["stages"]
        tables = [np.ascontiguousarray(program.stepper.tab[:, :stages])]
    function(
        pointer(z), pointer(e), ctypes.c_double(dt), ctypes.c_long(steps), pointer(program.arrays.parameters["values"]),
        *map(pointer, tables),
    )  # fmt: skip
    return z, e


def run_ours(program: Program, dt: float, steps: int) -> tuple[Array, Array]:
    """State and compensation after the steps."""
    driver = Driver(program, start_of(program), t0=0.0, dt=dt, every=steps)
    assert driver.advance(steps).status == 0
    return driver.z, driver.e


def start_of(program: Program) -> Array:
    return program.view.pack(ct.problems.galactic().start)


def same_bits(first: tuple[Array, Array], second: tuple[Array, Array]) -> bool:
    """Whether state and compensation agree to the last bit."""
    return all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def near_c(rounds: int = 15) -> list[dict[str, Any]]:
    """Our loops against C with the same bits, and against C with fused multiply-adds."""
    with tempfile.TemporaryDirectory() as folder:
        libraries = compiled_c(Path(folder))
        return [row for name in NEAR_C for row in near_c_with(name, libraries, rounds)]


def near_c_with(name: str, libraries: dict[str, ctypes.CDLL], rounds: int) -> list[dict[str, Any]]:
    """One method against all its versions in C."""
    method, dt, steps, functions = NEAR_C[name]
    program = build(ct.problems.galactic().system, method)
    forms = {
        f"{function}, {contraction}": getattr(library, function)
        for contraction, library in libraries.items()
        for function in functions
    }
    candidates: dict[str, Callable[[], object]] = {"ours": partial(run_ours, program, dt, steps)}
    candidates |= {form: partial(run_c, function, program, dt, steps) for form, function in forms.items()}
    times = interleaved(candidates, rounds=rounds)
    ours = run_ours(program, dt, steps)
    return [
        {
            "method": name, "against": form, **ratio(times, "ours", form),
            "same bits": same_bits(ours, run_c(function, program, dt, steps)),
        }
        for form, function in forms.items()
    ]  # fmt: skip


# Against SciPy and heyoka at equal energy error ----------------------------------------------------------------


@dataclass(frozen=True)
class Race:
    """A problem of the races: its energy and field in the notation of the other programs."""

    name: str
    t_end: float
    energy: Callable[[Any], Any]  # rows of states -> energies, in the type of the rows
    field: Callable[[float, Array], Array]  # compiled by numba
    equations: Callable[[Any], list[tuple[Any, Any]]]  # for heyoka

    @property
    def problem(self) -> Any:
        return getattr(ct.problems, self.name)()

    def start(self) -> Array:
        return np.concatenate([self.problem.start.q, self.problem.start.p])

    def error(self, rows: Array) -> float:
        """Largest relative error of the energy, evaluated in extended precision."""
        energies = self.energy(np.asarray(rows, dtype=np.longdouble).T)
        return float(np.abs(energies / energies[0] - 1).max())


def galactic_energy(z: Any) -> Any:
    q1, q2, q3, p1, p2, p3 = z
    inner = 1 + q1 * q1 / z.dtype.type(1.5625) + q2 * q2 + q3 * q3 / z.dtype.type(0.5625)
    return (p1 * p1 + p2 * p2 + p3 * p3) / 2 + z.dtype.type(0.25) * (p1 * q2 - p2 * q1) + np.log(inner)


def galactic_field(t: float, z: Array) -> Array:
    pull = 2.0 / (1.0 + z[0] ** 2 / 1.5625 + z[1] ** 2 + z[2] ** 2 / 0.5625)
    return np.array([
        z[3] + 0.25 * z[1], z[4] - 0.25 * z[0], z[5],
        0.25 * z[4] - pull * z[0] / 1.5625, -0.25 * z[3] - pull * z[1], -pull * z[2] / 0.5625,
    ])  # fmt: skip


def galactic_equations(heyoka: Any) -> list[tuple[Any, Any]]:
    q1, q2, q3, p1, p2, p3 = heyoka.make_vars("q1", "q2", "q3", "p1", "p2", "p3")
    pull = 2.0 / (1.0 + q1**2 / 1.5625 + q2**2 + q3**2 / 0.5625)
    return [
        (q1, p1 + 0.25 * q2), (q2, p2 - 0.25 * q1), (q3, p3),
        (p1, 0.25 * p2 - pull * q1 / 1.5625), (p2, -0.25 * p1 - pull * q2), (p3, -pull * q3 / 0.5625),
    ]  # fmt: skip


def kepler_energy(z: Any) -> Any:
    q1, q2, p1, p2 = z
    return (p1 * p1 + p2 * p2) / 2 - 1 / np.sqrt(q1 * q1 + q2 * q2)


def kepler_field(t: float, z: Array) -> Array:
    inverse = (z[0] ** 2 + z[1] ** 2) ** -1.5
    return np.array([z[2], z[3], -z[0] * inverse, -z[1] * inverse])


def kepler_equations(heyoka: Any) -> list[tuple[Any, Any]]:
    q1, q2, p1, p2 = heyoka.make_vars("q1", "q2", "p1", "p2")
    inverse = (q1**2 + q2**2) ** -1.5
    return [(q1, p1), (q2, p2), (p1, -q1 * inverse), (p2, -q2 * inverse)]


GALACTIC = Race("galactic", 2000.0, galactic_energy, galactic_field, galactic_equations)
KEPLER = Race("kepler", 200.0 * math.pi, kepler_energy, kepler_field, kepler_equations)  # 100 periods

Runner = Callable[[], Array]  # runs, and returns SAMPLES + 1 rows of states


def our_runner(race: Race, method: Method, steps: int) -> Runner:
    """A run with this number of steps."""
    program = build(race.problem.system, method)
    z = race.start()

    def run() -> Array:
        driver = Driver(program, z, t0=0.0, dt=race.t_end / steps, every=steps // SAMPLES)
        first, rest = driver.first_row(), driver.advance(steps)
        assert rest.status == 0
        return np.concatenate([first.rows, rest.rows])[:, : len(z)]

    return run


def scipy_runner(race: Race, tolerance: float) -> Runner:
    """SciPy's DOP853 with the field compiled by numba."""
    from numba import njit
    from scipy.integrate import solve_ivp

    field, times, z = njit(race.field), np.linspace(0.0, race.t_end, SAMPLES + 1), race.start()
    options = {"method": "DOP853", "rtol": tolerance, "atol": 0.01 * tolerance, "t_eval": times}
    return lambda: solve_ivp(field, (0.0, race.t_end), z, **options).y.T


def heyoka_runner(race: Race, tolerance: float) -> Runner:
    """heyoka's adaptive Taylor method."""
    import heyoka

    times, z = np.linspace(0.0, race.t_end, SAMPLES + 1), race.start()
    integrator = heyoka.taylor_adaptive(race.equations(heyoka), z, tol=tolerance)

    def run() -> Array:
        integrator.time = 0.0
        integrator.state[:] = z
        return integrator.propagate_grid(times)[-1]

    return run


def fastest(race: Race, runners: dict[str, Runner], largest_error: float) -> tuple[str, float] | None:
    """Name and error of the fastest runner whose error is small enough."""
    errors = {name: race.error(run()) for name, run in runners.items()}
    good = {name: run for name, run in runners.items() if errors[name] <= largest_error}
    if not good:
        return None
    times = interleaved(good, rounds=5)
    best = min(good, key=lambda name: times[name].best)
    return best, errors[best]


STEPS = {"galactic": (3000, 4000, 5000, 6000, 8000, 10000), "kepler": (2000, 3000, 4000, 5000, 6000, 8000, 10000)}
TOLERANCES = (1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 2.3e-16)


def against_heyoka(rounds: int = 25) -> list[dict[str, Any]]:
    """At each error level the fastest setting of both that reaches it; or at the smallest error of heyoka."""
    rows = []
    for race in (GALACTIC, KEPLER):
        theirs = {f"heyoka, tolerance {t:g}": heyoka_runner(race, t) for t in TOLERANCES}
        ours = {
            f"{method}, {steps} steps": our_runner(race, method, steps)
            for method in (ct.Gauss(6), ct.Gauss(8))
            for steps in STEPS[race.name]
        }
        ours |= {f"Taylor, tolerance {t:g}": our_runner(race, ct.Taylor(t), SAMPLES) for t in TOLERANCES}
        floor = min(race.error(run()) for run in theirs.values())
        for level in (1e-13, 1e-15):
            reached = max(level, floor)
            their_best, our_best = fastest(race, theirs, reached), fastest(race, ours, reached)
            assert their_best is not None and our_best is not None
            times = interleaved({"ours": ours[our_best[0]], "theirs": theirs[their_best[0]]}, rounds=rounds)
            rows.append({
                "problem": race.name, "level": level, "error allowed": reached,
                "ours": our_best[0], "our error": our_best[1], "theirs": their_best[0], "their error": their_best[1],
                **ratio(times, "ours", "theirs"),
            })  # fmt: skip
    return rows


def against_scipy(rounds: int = 3) -> list[dict[str, Any]]:
    """How many times faster than DOP853 at an energy error that is not larger."""
    rows = []
    choices = ((1e-12, ct.Gauss(6), (5000, 6000, 8000)), (1e-9, ct.RK4(), (80_000, 100_000, 160_000)))
    for tolerance, method, possible in choices:
        theirs = scipy_runner(GALACTIC, tolerance)
        their_error = GALACTIC.error(theirs())
        ours = {f"{method}, {steps} steps": our_runner(GALACTIC, method, steps) for steps in possible}
        best = fastest(GALACTIC, ours, their_error)
        assert best is not None
        times = interleaved({"ours": ours[best[0]], "theirs": theirs}, rounds=rounds)
        rows.append({
            "ours": best[0], "our error": best[1],
            "theirs": f"DOP853, tolerance {tolerance:g}", "their error": their_error,
            "times faster": round(times["theirs"].best / times["ours"].best),
        })  # fmt: skip
    return rows


# What compiling costs ------------------------------------------------------------------------------------------


def compile_times() -> list[dict[str, Any]]:
    """CPU seconds of compiling the galactic orbit with several methods, with an empty cache."""
    system = ct.problems.galactic().system
    verlet = ct.StormerVerlet()
    rows = []
    for method in (ct.RK4(), verlet, ct.Composition(verlet, "suzuki4"), ct.Gauss(3), ct.Gauss(6)):
        begin = time.process_time()
        text = build(system, method).text
        rows.append({"kernel": f"galactic orbit x {method}", "lines": text.count("\n"), "seconds": since(begin)})
    rows += [long_kernel(lines) for lines in (100, 400, 800)]
    return rows


def long_kernel(assignments: int) -> dict[str, Any]:
    """Compile, and interpret, a kernel with this many scalar assignments, as in long formulas; results agree."""
    scalars = [f"x{k} = z[{k}]" for k in range(12)]
    for k in range(12, 12 + assignments):
        scalars.append(
            f"x{k} = 0.5 * x{k - 12} * x{k - 5} + 0.4 * x{k - 1} - 0.3 * x{k - 11} / (1.0 + x{k - 7} * x{k - 7})"
        )
    scalars += [f"out[{k}] = x{assignments + k}" for k in range(12)]
    body = "\n".join(f"    {line}" for line in scalars)
    kernel = Written("long_kernel", f"def long_kernel(z, out):\n{body}", __name__)
    parts = collect(kernel, {})
    signature = '@njit("void(float64[::1], float64[::1])", **_strict)'
    results = []
    begin = time.process_time()
    for header, entry in ((headers.CPU, signature), (headers.PYTHON, "@_fn")):
        text = headers.module_text("long kernel", parts, (), header=header, entry=entry)
        namespace: dict[str, Any] = {"__name__": "long_kernel"}
        exec(compile(text, "<long kernel>", "exec"), namespace)
        z, out = np.linspace(0.1, 0.9, 12), np.zeros(12)
        namespace["advance"](z, out)
        results.append(out.tobytes())
    assert results[0] == results[1]
    return {"kernel": "assignments to scalars", "lines": assignments, "seconds": since(begin)}


def since(begin: float) -> float:
    return round(time.process_time() - begin, 1)


# Report --------------------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as a table of Markdown."""

    def shown(value: Any) -> str:
        return f"{value:.1e}" if isinstance(value, float) and value < 1e-3 else str(value)

    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names)]
    lines += [" | ".join(shown(row[name]) for name in names) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def taylor_races() -> list[dict[str, Any]]:
    """Several orbits; see `taylor_races`, which imports this module."""
    from taylor_races import taylor_against_heyoka

    return taylor_against_heyoka()


SECTIONS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "CPU seconds to compile, from nothing": compile_times,
    "Time over that of C (same arithmetic; strict C gives the same bits)": near_c,
    "Time over that of heyoka at equal energy error (its compilation excluded)": against_heyoka,
    "Taylor, times heyoka's speed at equal error of the whole state": taylor_races,
    "Against SciPy's DOP853 with a compiled field": against_scipy,
}


def main() -> None:
    """Measure everything, print and store it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[disk_cache.VARIABLE] = folder  # everything is compiled now
        results = {title: measure() for title, measure in SECTIONS.items()}
    page = "\n\n".join(f"## {title}\n\n{table(rows)}" for title, rows in results.items())
    page = f"# Speed of the compiled loops\n\n{platform.machine()}, Python {platform.python_version()}\n\n{page}\n"
    print(page)
    write_text(HERE / "results" / "engine.json", json.dumps(results, indent=1) + "\n")
    write_text(HERE / "results" / "engine.md", page)


if __name__ == "__main__":
    main()
