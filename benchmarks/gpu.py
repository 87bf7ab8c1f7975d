"""Whole calls of `catena.ensemble` on a CUDA GPU against one core of the CPU beside it, and threads against one thread.

    catena bench gpu [-- --out DIR]

writes gpu.json and gpu.txt, without --out into benchmarks/results. For each case (`many_cases.py`): microseconds of a
whole call for each member of 1000 steps, from arrays to arrays, on one core and on the GPU; the number of cores that
the GPU replaces; the time of its steps alone; and how many of a sample of members have the bits of the CPU. Then the
speed-up by threads, with many members and with one long chain, and the time of a step of that chain on the GPU. For
chains with a thread per body also the fraction of the GPU's float64 rate, from the operations of a body counted in its
machine code (`OPERATIONS`). Times are the best of several; everything is compiled beforehand.

Programs for the CPU are compiled by several processes at a time; a case that fails is reported, and the others
continue. `--simulate` runs all of it, tiny, under numba's simulator; `--only TEXT` the cases whose names contain the
text; `--blocks` tries numbers of threads in a block.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np

import catena as ct
from catena.engine.build import build
from catena.engine.cuda import bodies as cuda_bodies
from catena.engine.cuda import members as cuda
from catena.engine.cuda.long_chain import GpuDriver
from catena.engine.parts import PartedDriver
from catena.output.files import write_text
from catena.running.ensembles.asking import ask
from catena.running.ensembles.results import Ensemble
from many_cases import CASES, Case, call, some

FLOAT64 = 34e12 / 2  # instructions of an H200 per second, by the vendor, who counts a fused one twice
OPERATIONS = 752  # float64 instructions of a tetrahedron in a Strang step: kick, rotation, particles, 16 pairs with a division each
SECONDS = 400.0  # no case is started later
REPEATS = 3
BRIEF = 2.0  # seconds below which a call is repeated more often
LONG = 6.0  # seconds above which a call is not repeated
SCALED = ("kepler, Splitting(6)", "free body, DMV(10)", "chain of 8, Splitting(2)", "kepler, Gauss(3)")


class Sizes:
    """Problem sizes."""

    def __init__(self, *, simulate: bool) -> None:
        self.simulate = simulate
        self.steps = 2 if simulate else 1000
        self.members = 3 if simulate else 65_536
        self.sample = 2 if simulate else 256
        cores = len(os.sched_getaffinity(0))
        self.threads = (1, 2) if simulate else tuple(n for n in (1, 2, 4, 8, 16, 32) if n <= cores)

    def here(self, case: Case) -> int:
        """Members for one core."""
        return 3 if self.simulate else case.members


def least(run: Any) -> float:
    """Seconds of a call, the best of several."""
    spent: list[float] = []
    while (len(spent) < REPEATS and sum(spent) < LONG) or sum(spent) < BRIEF:
        began = time.perf_counter()
        run()
        spent.append(time.perf_counter() - began)
    return min(spent)


def one_case(name: str, sizes: Sizes, blocks: tuple[int, ...]) -> dict[str, Any]:
    """All results of one case."""
    case, steps = CASES[name], sizes.steps
    problem, starts = case.of(max(sizes.members, sizes.here(case)))
    row: dict[str, Any] = {"case": name, "steps": steps, "members": sizes.members}
    few = some(starts, sizes.sample)
    began = time.perf_counter()
    here = call(case, problem, few, steps=steps, threads=1)
    row["compile_cpu_s"] = time.perf_counter() - began
    began = time.perf_counter()
    there = call(case, problem, few, steps=steps, device="cuda")
    row["compile_s"] = time.perf_counter() - began
    row |= compared(here, there)
    alone = some(starts, sizes.here(case))
    row["core_us"] = 1e6 * least(lambda: call(case, problem, alone, steps=steps, threads=1)) / len(here_of(alone))
    row["cpu_ns_per_step"] = 1e3 * row["core_us"] / steps
    many = some(starts, sizes.members)
    seconds = least(lambda: call(case, problem, many, steps=steps, device="cuda"))
    row |= {"call_s": seconds, "gpu_us": 1e6 * seconds / sizes.members}
    row["cores_worth"] = row["core_us"] / row["gpu_us"]
    row["gpu"] = [steps_alone(case, problem, many, sizes)]
    for cuda.BLOCK in blocks:
        row[f"ns_per_step_block_{cuda.BLOCK}"] = steps_alone(case, problem, many, sizes)["ns_per_member_step"]
    cuda.BLOCK = BLOCK
    return row


BLOCK = cuda.BLOCK


def here_of(starts: dict[str, np.ndarray]) -> np.ndarray:
    """Any of the fields: its length is the number of members."""
    return next(iter(starts.values()))


def compared(here: Ensemble, there: Ensemble) -> dict[str, Any]:
    """Number of members with the same bits, and the largest difference of the others."""
    names = list(here.final.data_vars)
    same = np.ones(len(here), dtype=bool)
    largest = 0.0
    for field in names:
        ours, theirs = (np.nan_to_num(many.final[field].values.reshape(len(many), -1)) for many in (here, there))
        same &= (ours == theirs).all(axis=1)
        largest = max(largest, float(np.abs(ours - theirs).max()))
    failed = [len(here.failures), len(there.failures)]
    return {"compared": len(here), "bit_equal": int(same.sum()), "largest_difference": largest, "failed": failed}


def steps_alone(case: Case, problem: Any, starts: dict[str, np.ndarray], sizes: Sizes) -> dict[str, Any]:
    """Nanoseconds of the steps of a member, without the time before and after them."""
    wanted = ask(
        problem.system, starts, case.method, steps=sizes.steps, dt=problem.dt, every=sizes.steps, keep="final", members=None, seed=None, reduce=None
    )  # fmt: skip
    members, program = wanted.members, cuda_bodies.build(problem.system, case.method)
    driver = cuda_bodies.driver_for(program)(program, members, every=sizes.steps, edges=np.arange(REPEATS + 3))
    driver.begin()
    made: list[float] = []
    while len(made) < REPEATS and sum(made) < LONG:
        began, target = time.perf_counter(), driver.step + sizes.steps
        while driver.step < target:
            driver.advance(target - driver.step, keep=False)
        made.append(time.perf_counter() - began)
    row: dict[str, Any] = {
        "members": len(members),
        "ns_per_member_step": 1e9 * min(made) / (sizes.steps * len(members)),
    }
    if isinstance(program, cuda_bodies.BodyProgram):
        each = row["ns_per_member_step"] / program.bodies.count
        row |= {"threads": program.threads, "float64_rate": OPERATIONS / (1e-9 * each) / FLOAT64}
    return row


def scaling(name: str, sizes: Sizes) -> dict[str, Any]:
    """Microseconds of a member by the number of threads, and the speed-up over one; `per_core`: per thread."""
    case = CASES[name]
    row: dict[str, Any] = {"case": name, "cores": os.cpu_count()}
    for threads in sizes.threads:
        members = min(sizes.members, sizes.here(case) * max(1, threads))
        problem, starts = case.of(members)
        seconds = least(lambda p=problem, s=starts, n=threads: call(case, p, s, steps=sizes.steps, threads=n))  # type: ignore[misc]
        row[f"us_{threads}_threads"] = 1e6 * seconds / members
        row[f"speed_up_{threads}"] = row["us_1_threads"] / row[f"us_{threads}_threads"]
        row[f"per_core_{threads}"] = row[f"speed_up_{threads}"] / threads
    return row


def long_chain(sizes: Sizes) -> dict[str, Any]:
    """Milliseconds of a Strang step of one long chain by number of threads, and whether the bits are those of one."""
    bodies, steps = (20, 3) if sizes.simulate else (1_000_000, 24)
    of = ct.problems.helix_chain(bodies)
    program = build(of.system, ct.Splitting(2), compiled=not sizes.simulate)
    z = program.view.pack(of.start)
    row: dict[str, Any] = {"case": f"one chain of {bodies}, Splitting(2)", "bodies": bodies, "same_bits": True}
    reached: np.ndarray | None = None
    for threads in sizes.threads:
        driver = PartedDriver(
            program, z, t0=0.0, dt=of.dt, every=10**9, threads=threads, compiled=not sizes.simulate
        )  # fmt: skip
        driver.step = 2**20  # far from the start, where each step is checked
        driver.attempt(2)
        began = time.perf_counter()
        driver.attempt(steps)
        row[f"ms_{threads}_threads"] = 1e3 * (time.perf_counter() - began) / steps
        row[f"speed_up_{threads}"] = row["ms_1_threads"] / row[f"ms_{threads}_threads"]
        row["same_bits"] &= reached is None or bool((driver.z == reached).all())
        reached = driver.z
    return row | long_chain_on_gpu(program, z, of.dt, steps, reached, simulate=sizes.simulate)


def long_chain_on_gpu(
    program: Any, z: np.ndarray, dt: float, steps: int, reached: np.ndarray | None, *, simulate: bool
) -> dict[str, Any]:
    """Milliseconds of a step on the GPU: between checks, and far from the start, with one check in 256; the bits."""
    driver = GpuDriver(program, z, t0=0.0, dt=dt, every=10**9, compiled=not simulate)
    driver.step = 2**20
    driver.attempt(2)
    driver.attempt(steps)
    fold = program.view.fold.fold
    row: dict[str, Any] = {"gpu_same_bits": reached is None or bool((driver.state()["z"] == fold(reached)).all())}
    for name, count, run in (
        ("gpu_ms", 8 * steps, driver._sweep),
        ("gpu_ms_with_looks", 1024 if not simulate else 3, driver.attempt),
    ):
        began = time.perf_counter()
        run(count)
        row[name] = 1e3 * (time.perf_counter() - began) / count
    return row


def compile_all(names: list[str]) -> None:
    """Compile programs for the CPU into the cache that all processes share."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import gpu; gpu.compile_one(sys.argv[1])"
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in names]
    for process in running:
        process.wait()


def compile_one(name: str) -> None:
    """The program of a case."""
    case = CASES[name]
    problem, starts = case.of(2)
    call(case, problem, starts, steps=1, threads=1)


def machine(simulate: bool) -> dict[str, Any]:
    """Description of the machine."""
    import numba
    import numba_cuda

    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    gpu = "simulator" if simulate else cuda.gpu_name()
    return {
        "gpu": gpu,
        "cores": os.cpu_count(),
        "numba-cuda": numba_cuda.__version__,
        "catena": ct.__version__,
        **versions,
    }


def table(found: dict[str, Any]) -> str:
    """The results as text."""
    lines = [", ".join(f"{name} {value}" for name, value in found["machine"].items()), ""]
    lines.append(
        f"{'whole calls, 1000 steps':38} {'core':>10} {'GPU':>9} {'cores':>7} {'steps':>9} {'compile':>8} {'bit-equal':>10} {'largest':>9}"
    )
    lines.append(f"{'':38} {'us/member':>10} {'us':>9} {'worth':>7} {'ns/step':>9} {'s':>8} {'':>10} {'diff.':>9}")
    for row in found["pairs"]:
        if "error" in row:
            lines.append(f"{row['case']:38} FAILED: {row['error']}")
            continue
        equal = f"{row['bit_equal']}/{row['compared']}"
        lines.append(
            f"{row['case']:38} {row['core_us']:10.1f} {row['gpu_us']:9.3f} {row['cores_worth']:7.0f} "
            f"{row['gpu'][0]['ns_per_member_step']:9.3f} {row['compile_s']:8.1f} {equal:>10} {row['largest_difference']:9.1e}"
        )
        lines += [f"    {name}: {value:.4g}" for name, value in row.items() if name.startswith("ns_per_step_block")]
    lines += ["", f"{'threads, time of a member or step':38} " + "speed-up over one thread, by their number"]
    for row in found["threads"]:
        if "error" in row:
            lines.append(f"{row['case']:38} FAILED: {row['error']}")
            continue
        unit = f"{row['ms_1_threads']:.1f} ms" if "bodies" in row else f"{row['us_1_threads']:.1f} us"
        ups = (f"{name.removeprefix('speed_up_')}: {value:.2f}" for name, value in row.items() if "speed_up" in name)
        lines.append(
            f"{row['case']:38} {unit};  "
            + ", ".join(ups)
            + ("" if row.get("same_bits", True) else "; OTHER BITS")
            + (f"; GPU {row['gpu_ms_with_looks']:.2f} ms, same bits: {row['gpu_same_bits']}" if "gpu_ms" in row else "")
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run everything that fits into the time; returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="folder of gpu.json and gpu.txt; benchmarks/results if none is given")
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    parser.add_argument("--only", default="", help="the cases whose names contain this")
    parser.add_argument("--blocks", type=int, nargs="*", default=[], help="threads in a block to be tried")
    parser.add_argument("--keep", type=Path, help="results of an earlier run: the cases that are not run now stay")
    options = parser.parse_args()
    if options.out is None:
        if options.simulate:
            parser.error("--simulate measures nothing: say by --out where that is to go")
        options.out = Path(__file__).parent / "results"
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(simulate=options.simulate)
    began = time.perf_counter()
    names = [name for name in CASES if options.only in name]
    earlier = json.loads(options.keep.read_text(encoding="utf-8")) if options.keep else {"pairs": [], "threads": []}
    found: dict[str, Any] = {**earlier, "machine": machine(options.simulate)}
    if not options.simulate:
        compile_all(names)
        print(f"{time.perf_counter() - began:6.1f} s  compiled for the processor", flush=True)

    def attempt(where: str, case: str, run: Any) -> None:
        at = time.perf_counter() - began
        try:
            row = run() if at < SECONDS else {"case": case, "error": f"not begun: {at:.0f} s were over"}
        except Exception as problem:
            traceback.print_exc(limit=-4)
            first = (str(problem).splitlines() or [""])[0]
            row = {"case": case, "error": f"{type(problem).__name__}: {first}"}
        print(f"{time.perf_counter() - began:6.1f} s  {json.dumps(row)}", flush=True)
        places = {one["case"]: place for place, one in enumerate(found[where])}
        place = places.get(row["case"], len(places))
        found[where][place : place + 1] = [row]
        write_text(options.out / "gpu.json", json.dumps(found, indent=1))
        write_text(options.out / "gpu.txt", table(found))

    for name in names:
        attempt("pairs", name, lambda name=name: one_case(name, sizes, tuple(options.blocks)))
    for name in SCALED:
        if name in names:
            attempt("threads", name, lambda name=name: scaling(name, sizes))
    if "chain" in options.only or not options.only:
        attempt("threads", "one long chain", lambda: long_chain(sizes))
    print(table(found))
    return int(any("error" in row for row in (*found["pairs"], *found["threads"])))


if __name__ == "__main__":
    sys.exit(main())
