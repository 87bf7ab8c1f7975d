"""Chains, linkages, tops and orbits as members on a CUDA GPU: the bits of the CPU, and first figures.

    python benchmarks/gpu_members.py --out DIR

writes DIR/gpu_members.json and DIR/gpu_members.txt. For each pair of system and method: how many of a sample of members have the bits of
the CPU after some steps, the largest difference of the others, time per step and member for several numbers of members,
time per step on one core, compile time, and the scratch memory of a member. All bits should be equal, including those
of sines and cosines.

Each case is a process, so that one that compiles for long or fails does not affect the others: several compile at a
time, and one at a time uses the GPU. Cases that are not done after `SECONDS` are ended and reported. `--simulate` runs
all of it, tiny, under numba's simulator; `--only TEXT` the cases whose names contain the text.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np

import catena as ct
from catena.engine.block import Members
from catena.engine.build import build
from catena.engine.cuda import members as cuda
from catena.engine.driver import Driver
from catena.kernels.views import OK
from catena.output.files import write_text
from catena.running.ensembles import Job
from catena.running.plan import Problem

SECONDS = 570.0  # for everything
AT_ONCE = 5  # processes that compile
REPEATS = 2
LONG = 20.0  # seconds of a launch; after a longer one, no larger number of members is tried
NONE, SOME = "none", "sin, cos"  # elementary functions


def helix(form: Any = "quaternion", *, unequal: bool = False) -> Problem:
    """Eight tetrahedra; with `unequal` the last one has a fifth particle."""
    given = ct.problems.helix_chain(8)
    chain = given.system
    assert isinstance(chain, ct.Chain)
    bodies = list(chain.bodies)
    if unequal:
        corners = bodies[-1].particles.positions
        bodies[-1] = ct.Body.from_particles(np.vstack([corners, 1.1 * corners[:1]]))
    made = ct.Chain(bodies, chain.potentials[0], chain.left, chain.right, chain.gravity.tolist(), form)
    return Problem(f"helix, {form}", made, given.start, given.dt)


def pendulum() -> Problem:
    return ct.problems.triple_pendulum()


def balls() -> Problem:
    return ct.problems.hanging_chain("spherical", 4)


def heavy_top() -> Problem:
    top = ct.Top(ct.Body(moments=(0.376, 0.627, 1.0)), ct.Gravity(1.0, (0.0, 0.0, 1.0)))
    return Problem("heavy top", top, top.start((1.0, 0.0, 0.0, 0.0), angular_momentum=(0.0, 0.6, -0.8)), 0.1)


CASES: dict[str, tuple[Callable[[], Problem], Any, str]] = {
    "chain in tiles, Splitting(2)": (helix, ct.Splitting(2), NONE),
    "chain in tiles, Splitting(4)": (helix, ct.Splitting(4), NONE),
    "unequal bodies in tiles, Splitting(4)": (lambda: helix(unequal=True), ct.Splitting(4), NONE),
    "plain chain, Splitting(4), Jacobi": (helix, ct.Splitting(4, rotor=ct.Jacobi()), SOME),
    "chain, Gauss(2)": (helix, ct.Gauss(2, solver="fixed-point"), NONE),
    "chain, Rattle": (helix, ct.Rattle(), NONE),
    "chain of rotations, Rattle": (lambda: helix("rotation"), ct.Rattle(), NONE),
    "chain of rotations, Splitting(2)": (lambda: helix("rotation"), ct.Splitting(2), NONE),
    "chain with multiplier, Gauss(2)": (lambda: helix("multiplier"), ct.Gauss(2), NONE),
    "three hinges, EnergyMomentum": (pendulum, ct.EnergyMomentum(), NONE),
    "three hinges, EnergyMomentum, position": (pendulum, ct.EnergyMomentum(level="position"), NONE),
    "four balls, EnergyMomentum": (balls, ct.EnergyMomentum(), NONE),
    "three hinges, Rattle": (pendulum, ct.Rattle(), NONE),
    "three hinges, joint form, Gauss(2)": (pendulum, ct.Gauss(2, solver="fixed-point"), SOME),
    "four-bar loop, EnergyMomentum": (ct.problems.four_bar, ct.EnergyMomentum(), NONE),
    "four-bar loop, EnergyMomentum, position": (
        ct.problems.four_bar,
        ct.EnergyMomentum(level="position"),
        NONE,
    ),
    "four-bar loop, Rattle": (ct.problems.four_bar, ct.Rattle(), NONE),
    "four-bar loop, joint form, Gauss(2)": (ct.problems.four_bar, ct.Gauss(2), SOME),
    "Kepler, Taylor": (lambda: ct.problems.kepler(e=0.6), ct.Taylor(), NONE),
    "heavy top, Taylor": (heavy_top, ct.Taylor(), NONE),
    "heavy top, Gauss(5)": (heavy_top, ct.Gauss(5), NONE),
    "symmetric top, Lagrange": (ct.problems.lagrange_top, ct.Lagrange(), SOME),
    "chain, Gauss(2), Newton": (helix, ct.Gauss(2, solver="newton"), NONE),
    "four-bar loop, joint form, Gauss(2), Newton": (ct.problems.four_bar, ct.Gauss(2, solver="newton"), SOME),
}


class Sizes:
    """Problem sizes."""

    def __init__(self, *, simulate: bool) -> None:
        self.sample = 2 if simulate else 64
        self.steps = 1 if simulate else 20
        self.members = (2, 3) if simulate else (1024, 16_384, 65_536)
        self.cpu_steps = 2 if simulate else 400


def one_case(name: str, out: Path, *, simulate: bool) -> None:
    """All results of one case, written as they become known: the process may be ended at any time."""
    sizes, (make, method, functions) = Sizes(simulate=simulate), CASES[name]
    found: dict[str, Any] = {"case": name, "method": str(method), "functions": functions}

    def note(**more: Any) -> None:
        found.update(more)
        write_text(out, json.dumps(found, indent=1))

    try:
        note(under_way="compiling for the processor")
        of, began = make(), time.perf_counter()
        program = build(of.system, method, compiled=not simulate)
        starts = along(program, of, sizes.sample)
        here = [steps_alone(program, z, of, sizes.steps) for z in starts]
        note(view=program.view.name, bodies=of.system.parts, compile_cpu_s=time.perf_counter() - began)
        note(under_way="compiling for the GPU")
        began = time.perf_counter()
        made = cuda.build(of.system, method)
        note(scratch_bytes=sum(array.nbytes for array in made.arrays.scratch.values()))
        with alone_on_gpu(out.parent / "gpu.lock"):
            note(under_way="on the GPU")
            there = steps_on_gpu(made, starts, of, sizes.steps)  # the kernel is loaded in the first launch
            note(compile_s=time.perf_counter() - began, **compared(made, here, there))
            note(cpu_ns_per_step=nanoseconds_alone(program, starts[0], of, sizes.cpu_steps))
            note(gpu=list(rates(made, starts, of, sizes)))
        del found["under_way"]
        note()
    except Exception as problem:
        traceback.print_exc(limit=-6)
        first = (str(problem).splitlines() or [""])[0]
        note(error=f"{type(problem).__name__} while {found.pop('under_way', '')}: {first[:300]}")


def along(program: Any, of: Problem, count: int) -> np.ndarray:
    """(count, n) stepped variables along a run from the start of the problem: all different and consistent."""
    driver = Driver(program, program.view.pack(of.start), t0=of.start.time, dt=of.dt, every=1)
    made = []
    for _ in range(count):
        assert driver.advance(2).status == OK, "the run of the starts failed"
        made.append(driver.z.copy())
    return np.array(made)


def steps_alone(program: Any, z: np.ndarray, of: Problem, steps: int) -> np.ndarray:
    """The row of a member after some steps on the CPU."""
    driver = Driver(program, z, t0=of.start.time, dt=of.dt, every=steps)
    driver.advance(steps)
    return driver.first_row().rows[0]


def nanoseconds_alone(program: Any, z: np.ndarray, of: Problem, steps: int) -> float:
    """Time of a step on one core."""
    seconds = []
    for _ in range(REPEATS):
        driver = Driver(program, z, t0=of.start.time, dt=of.dt, every=steps)
        began = time.perf_counter()
        driver.advance(steps)
        seconds.append((time.perf_counter() - began) / max(1, driver.step))
    return 1e9 * min(seconds)


def driver_on_gpu(made: cuda.CudaProgram, z: np.ndarray, of: Problem, steps: int) -> cuda.MemberDriver:
    """Members on the GPU, started."""
    edges = Job(of.system, ct.RK4(), of.dt, steps * (REPEATS + 1), steps, "final").edges
    members = Members.alike(made, z, np.full(len(z), of.start.time), of.dt)
    driver = cuda.MemberDriver(made, members, every=steps, edges=edges)
    driver.begin()
    return driver


def steps_on_gpu(made: cuda.CudaProgram, z: np.ndarray, of: Problem, steps: int) -> cuda.MemberDriver:
    """Members after some steps on the GPU."""
    driver = driver_on_gpu(made, z, of, steps)
    while driver.step < steps:
        driver.advance(steps - driver.step, keep=False)
    return driver


def compared(made: cuda.CudaProgram, here: list[np.ndarray], there: cuda.MemberDriver) -> dict[str, Any]:
    """Agreement of the final states."""
    public = made.system.public_width
    ours, theirs = np.array(here)[:, :public], there.rows()[1][:, :public]
    return {
        "compared": len(ours),
        "bit_equal": int((ours == theirs).all(axis=1).sum()),
        "largest_difference": float(np.abs(ours - theirs).max()),
        "failed": int((there.status != OK).sum()),
    }


def rates(made: cuda.CudaProgram, starts: np.ndarray, of: Problem, sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Time per member and step for several numbers of members, until a launch takes too long."""
    for members in sizes.members:
        driver = driver_on_gpu(made, starts[np.arange(members) % len(starts)], of, sizes.steps)
        seconds = []
        for _ in range(REPEATS):
            began, target = time.perf_counter(), driver.step + sizes.steps
            while driver.step < target:
                driver.advance(target - driver.step, keep=False)
            seconds.append(time.perf_counter() - began)
        each = 1e9 * min(seconds) / (members * sizes.steps)
        yield {"members": members, "ns_per_member_step": each, "failed": int((driver.status != OK).sum())}
        if seconds[-1] > LONG:
            return


@contextmanager
def alone_on_gpu(lock: Path) -> Iterator[None]:
    """One process at a time: timings must not share the GPU."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_cases(names: list[str], folder: Path, *, simulate: bool) -> list[dict[str, Any]]:
    """Run the cases in their own processes, a few at a time; end those that are not done in time."""
    began, waiting, running = time.perf_counter(), list(enumerate(names)), {}
    while waiting or running:
        over = time.perf_counter() - began > SECONDS
        while waiting and len(running) < AT_ONCE and not over:
            number, name = waiting.pop(0)
            command = [sys.executable, __file__, "--out", str(folder), "--case", name, "--number", str(number)]
            running[name] = subprocess.Popen(command + ["--simulate"] * simulate)
        for name, process in list(running.items()):
            if over:
                process.kill()
            if process.poll() is not None or over:
                process.wait()
                del running[name]
                print(f"{time.perf_counter() - began:6.1f} s  {name}" + " (ended)" * over, flush=True)
        if over:
            break
        time.sleep(0.2)
    return [result(folder, number, name) for number, name in enumerate(names)]


def result(folder: Path, number: int, name: str) -> dict[str, Any]:
    """The results that a case has written."""
    path = folder / f"case{number}.json"
    found = json.loads(path.read_text()) if path.exists() else {"case": name, "under_way": "begun"}
    if "under_way" in found and "error" not in found:
        found["error"] = f"not done in {SECONDS:.0f} s: {found.pop('under_way')}"
    return found


def machine(*, simulate: bool) -> dict[str, Any]:
    """Description of the machine."""
    import numba

    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    return {"gpu": "simulator" if simulate else cuda.gpu_name(), "catena": ct.__version__, **versions}


def table(found: dict[str, Any]) -> str:
    """The results as text."""
    lines = [", ".join(f"{name} {value}" for name, value in found["machine"].items()), ""]
    heads = f"{'core':>9} {'GPU':>9} {'core/GPU':>9} {'compile':>8} {'scratch':>8} {'bit-equal':>10} {'largest':>9}  functions"
    lines += [f"{'':44} {heads}", f"{'':44} {'ns/step':>9} {'ns':>9} {'':>9} {'s':>8} {'kB':>8} {'':>10} {'diff.':>9}"]
    for row in found["cases"]:
        if "gpu" not in row:
            equal = f"; {row['bit_equal']}/{row['compared']} bit-equal" if "bit_equal" in row else ""
            lines.append(f"{row['case']:44} FAILED: {row.get('error', '')}{equal}")
            continue
        best, equal = row["gpu"][-1]["ns_per_member_step"], f"{row['bit_equal']}/{row['compared']}"
        lines.append(
            f"{row['case']:44} {row['cpu_ns_per_step']:9.0f} {best:9.2f} {row['cpu_ns_per_step'] / best:9.0f} "
            f"{row['compile_s']:8.1f} {row['scratch_bytes'] / 1e3:8.1f} {equal:>10} {row['largest_difference']:9.1e}  {row['functions']}"
        )
        scaling = (f"{r['members']} members {r['ns_per_member_step']:.2f} ns, {r['failed']} failed" for r in row["gpu"])
        lines.append(f"    {row['view']}, {row['bodies']} bodies; " + "; ".join(scaling))
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the cases; returns 1 if one of them failed, or has other bits."""
    parser = argparse.ArgumentParser(description="Chains and linkages as members on a CUDA GPU.")
    parser.add_argument("--out", type=Path, required=True, help="folder of gpu_members.json and gpu_members.txt")
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        one_case(options.case, options.out / f"case{options.number}.json", simulate=options.simulate)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    names = [name for name in CASES if options.only in name]
    with tempfile.TemporaryDirectory() as folder:
        cases = run_cases(names, Path(folder), simulate=options.simulate)
    found = {"machine": machine(simulate=options.simulate), "cases": cases}
    write_text(options.out / "gpu_members.json", json.dumps(found, indent=1))
    write_text(options.out / "gpu_members.txt", table(found))
    print(table(found))
    other_bits = [row for row in cases if row.get("bit_equal") != row.get("compared")]
    return int(bool(other_bits) or any("error" in row for row in cases))


if __name__ == "__main__":
    sys.exit(main())
