"""Ensembles on a CUDA card against one core of the processor beside it.

    python benchmarks/gpu.py --out DIR

writes DIR/gpu.json and DIR/gpu.txt. For each pair of problem and method: time per step and member on the card for several
numbers of members, time per step on one core, time to compile, and how far the states at the end are from those of the
processor, in a sample of members: they should be the same to the bit. Then: what fused
multiply-adds would change, what the size of a block changes, what a whole `ensemble` costs, and how threads scale.

Times are the least of several. A case that fails is reported, and the others go on. `--simulate` runs all of it, tiny, under
numba's simulator.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np

import catena as ct
from catena.engine import cuda
from catena.engine.block import Members
from catena.kernels.views import OK
from catena.output.files import write_text
from catena.running.ensembles import Batch, Job, ensemble, follow

SEED = 20240607
SECONDS = 270.0  # no case is begun later
REPEATS = 3

METHODS = {
    "kepler": [ct.Gauss(3), ct.Gauss(6), ct.RK4(), ct.StormerVerlet(), ct.Splitting(6)],
    "galactic": [ct.Gauss(3), ct.Gauss(6), ct.RK4(), ct.StormerVerlet()],
}
Cases = list[dict[str, Any]]


class Sizes:
    """How much is computed."""

    def __init__(self, *, simulate: bool) -> None:
        self.members = (3, 5) if simulate else (1024, 65_536, 1_000_000)
        self.usual = self.members[1]
        self.steps = 4 if simulate else 100
        self.sample = 3 if simulate else 256
        self.cpu_steps = 20 if simulate else 20_000
        self.threads = (1, 2) if simulate else (1, 2, 4, 8, 16)
        self.thread_members = 4 if simulate else 2048
        self.blocks = (2, 4) if simulate else (32, 64, 128, 256)
        self.methods = {name: methods[:1] for name, methods in METHODS.items()} if simulate else METHODS


def starts(name: str, members: int) -> np.ndarray:
    """(m, n) stepped variables: Kepler ellipses up to an eccentricity of 0.8, galactic orbits near the usual one."""
    rng = np.random.default_rng(SEED)
    if name == "kepler":
        e, zero = rng.uniform(0.0, 0.8, members), np.zeros(members)
        return np.stack([1 - e, zero, zero, np.sqrt((1 + e) / (1 - e))], axis=1)
    start = ct.problems.galactic().start
    z = np.concatenate([start.q, start.p])
    return z + 0.02 * rng.standard_normal((members, len(z)))


def least(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(REPEATS))


def on_card(program: cuda.CudaProgram, z: np.ndarray, dt: float, *, steps: int, every: int) -> cuda.MemberDriver:
    """Members on the card, started; blocks of the audit for all launches that may follow."""
    edges = Job(program.system, ct.RK4(), dt, steps * (REPEATS + 1), every, "final").edges
    members = Members.alike(program, z, np.zeros(len(z)), dt)
    driver = cuda.MemberDriver(program, members, every=every, edges=edges)
    driver.first_rows()
    return driver


def launch_seconds(driver: cuda.MemberDriver, steps: int) -> float:
    began, target = time.perf_counter(), driver.step + steps
    while driver.step < target:
        driver.advance(target - driver.step, keep=False)
    return time.perf_counter() - began


def rate(program: cuda.CudaProgram, name: str, members: int, sizes: Sizes, *, every: int) -> dict[str, Any]:
    """Time per step and member on the card, after a first launch; what failed meanwhile is counted."""
    dt = getattr(ct.problems, name)().dt
    driver = on_card(program, starts(name, members), dt, steps=sizes.steps, every=every)
    launch_seconds(driver, sizes.steps)
    seconds = least(lambda: launch_seconds(driver, sizes.steps))
    return {
        "members": members,
        "every": every,
        "ns_per_member_step": 1e9 * seconds / (members * sizes.steps),
        "failed": int((driver.status != OK).sum()),
    }


def one_core(name: str, method: Any, sizes: Sizes) -> tuple[float, Batch, float]:
    """Nanoseconds per step on one core, the sample of members at the end, and the seconds to compile."""
    problem = getattr(ct.problems, name)()
    job = Job(problem.system, method, problem.dt, sizes.steps, sizes.steps, "final")
    began = time.perf_counter()
    _ = job.program
    compiling = time.perf_counter() - began
    z = starts(name, sizes.usual)[: sizes.sample]
    members = Members.alike(job.pairing, z, np.zeros(len(z)), problem.dt)
    reached = follow(job, members)
    long = Job(problem.system, method, problem.dt, sizes.cpu_steps, sizes.cpu_steps, "final")

    def seconds() -> float:
        began = time.perf_counter()
        made = follow(long, members.part(slice(4))).made.sum()
        return (time.perf_counter() - began) / max(1, made)

    return 1e9 * least(seconds), reached, compiling


def differences(program: cuda.CudaProgram, name: str, reached: Batch, sizes: Sizes) -> dict[str, Any]:
    """How far the sample of members is from the processor after the same steps."""
    dt = getattr(ct.problems, name)().dt
    z = starts(name, sizes.usual)[: sizes.sample]
    driver = on_card(program, z, dt, steps=sizes.steps, every=sizes.steps)
    launch_seconds(driver, sizes.steps)
    public = program.system.public_width
    there, here = driver.rows()[:, :public], reached.final[:, :public]
    return {
        "compared": len(z),
        "bit_equal": int((there == here).all(axis=1).sum()),
        "largest_difference": float(np.abs(there - here).max()),
        "failed": [int((driver.status != OK).sum()), int((reached.status != OK).sum())],
    }


def compiled(name: str, method: Any) -> tuple[cuda.CudaProgram, float]:
    began = time.perf_counter()
    program = cuda.build(getattr(ct.problems, name)().system, method)
    return program, time.perf_counter() - began


def pair(name: str, method: Any, sizes: Sizes) -> dict[str, Any]:
    """All about one pair of problem and method."""
    program, compiling = compiled(name, method)
    core, reached, compiling_here = one_core(name, method, sizes)
    rates = [rate(program, name, members, sizes, every=sizes.steps) for members in sizes.members]
    sampled = rate(program, name, sizes.usual, sizes, every=1)
    usual = next(r for r in rates if r["members"] == sizes.usual)["ns_per_member_step"]
    return {
        "case": f"{name}, {method}",
        "compile_s": compiling,
        "compile_cpu_s": compiling_here,
        "cpu_ns_per_step": core,
        "card": rates,
        "card_sampling_every_step": sampled,
        "cores_worth": core / usual,
        **differences(program, name, reached, sizes),
    }


@contextmanager
def fused():
    """Programs built here have their multiplications and additions fused, as NVVM does when left alone."""
    without = cuda.without_contraction
    cuda.without_contraction = nullcontext
    cuda._loaded.cache_clear()
    try:
        yield
    finally:
        cuda.without_contraction = without
        cuda._loaded.cache_clear()


def fusing(name: str, sizes: Sizes) -> dict[str, Any]:
    """Gauss(3) with fused multiply-adds: speed and bits."""
    method = ct.Gauss(3)
    _, reached, _ = one_core(name, method, sizes)
    with fused():
        program, _ = compiled(name, method)
    card = rate(program, name, sizes.usual, sizes, every=sizes.steps)
    return {"case": f"{name}, {method}, fused", **card, **differences(program, name, reached, sizes)}


def block_sizes(sizes: Sizes) -> dict[str, Any]:
    """Gauss(3) and Splitting(6) on kepler with several numbers of threads in a block."""
    found: dict[str, Any] = {"case": "kepler, ns per member-step by threads in a block"}
    usual = cuda.BLOCK
    try:
        for method in (ct.Gauss(3), ct.Splitting(6)):
            program, _ = compiled("kepler", method)
            for cuda.BLOCK in sizes.blocks:
                made = rate(program, "kepler", sizes.usual, sizes, every=sizes.steps)
                found[f"{method}, {cuda.BLOCK}"] = made["ns_per_member_step"]
    finally:
        cuda.BLOCK = usual
    return found


def whole_call(sizes: Sizes) -> dict[str, Any]:
    """`ensemble` as users call it: starts as arrays, samples every 10 steps folded, states at the end, audit."""
    z = starts("kepler", sizes.usual)
    began = time.perf_counter()
    many = ensemble(
        ct.problems.kepler(),
        {"q": z[:, :2], "p": z[:, 2:]},
        ct.Splitting(6),
        steps=10 * sizes.steps,
        every=10,
        device="cuda",
    )
    ran = time.perf_counter()
    text = str(many.audit())
    return {
        "case": f"ensemble of {len(z)}, kepler, Splitting(6), {10 * sizes.steps} steps",
        "seconds": ran - began,
        "audit_seconds": time.perf_counter() - ran,
        "audit": text.splitlines(),
    }


def thread_scaling(sizes: Sizes) -> dict[str, Any]:
    """`ensemble` on the processor: microseconds per member of 10 x steps by the number of threads."""
    z = starts("kepler", sizes.thread_members)
    fields = {"q": z[:, :2], "p": z[:, 2:]}
    found: dict[str, Any] = {"case": f"kepler, Gauss(3), {10 * sizes.steps} steps on threads", "cores": os.cpu_count()}
    for threads in sizes.threads:

        def seconds(threads: int = threads) -> float:
            began = time.perf_counter()
            ensemble(
                ct.problems.kepler(), fields, ct.Gauss(3), steps=10 * sizes.steps, every=sizes.steps, threads=threads
            )
            return time.perf_counter() - began

        found[f"{threads} threads, us per member"] = 1e6 * least(seconds) / len(z)
    return found


def machine(simulate: bool) -> dict[str, Any]:
    """Where this runs."""
    import numba
    import numba_cuda

    card = "simulator" if simulate else str(cuda._card().get_current_device().name)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    return {"card": card, "numba-cuda": numba_cuda.__version__, "catena": ct.__version__, **versions}


def table(found: dict[str, Any]) -> str:
    """The results as text."""
    lines = [", ".join(f"{name} {value}" for name, value in found["machine"].items()), ""]
    lines.append(
        f"{'':32} {'core':>9} {'card':>9} {'sampled':>9} {'core/card':>9} {'compile':>8} {'bit-equal':>10} {'largest':>9}"
    )
    lines.append(f"{'':32} {'ns/step':>9} {'ns':>9} {'ns':>9} {'':>9} {'s':>8} {'':>10} {'diff.':>9}")
    for row in found["pairs"]:
        if "error" in row:
            lines.append(f"{row['case']:32} FAILED: {row['error']}")
            continue
        usual = row["card"][1]["ns_per_member_step"]
        equal = f"{row['bit_equal']}/{row['compared']}"
        lines.append(
            f"{row['case']:32} {row['cpu_ns_per_step']:9.1f} {usual:9.4f} "
            f"{row['card_sampling_every_step']['ns_per_member_step']:9.4f} {row['cores_worth']:9.0f} "
            f"{row['compile_s']:8.1f} {equal:>10} {row['largest_difference']:9.1e}"
        )
        scaling = (
            f"{r['members']} members {r['ns_per_member_step']:.4f} ns, {r['failed']} failed" for r in row["card"]
        )
        lines.append("    " + "; ".join(scaling))
    for row in found["studies"]:
        lines += ["", row["case"]]
        if "error" in row:
            lines.append(f"    FAILED: {row['error']}")
            continue
        for name, value in row.items():
            if name == "audit":
                lines += [f"    {line}" for line in value]
            elif name != "case":
                lines.append(f"    {name}: {value:.5g}" if isinstance(value, float) else f"    {name}: {value}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run everything that fits into the time; 1 if anything failed."""
    parser = argparse.ArgumentParser(description="Ensembles on a CUDA card against one core.")
    parser.add_argument("--out", type=Path, required=True, help="folder of gpu.json and gpu.txt")
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(simulate=options.simulate)
    began = time.perf_counter()
    found: dict[str, Any] = {"machine": machine(options.simulate), "pairs": [], "studies": []}

    def attempt(where: Cases, case: str, run: Callable[[], dict[str, Any]]) -> None:
        at = time.perf_counter() - began
        try:
            row = run() if at < SECONDS else {"case": case, "error": f"not begun: {at:.0f} s were over"}
        except Exception as problem:
            traceback.print_exc(limit=-4)
            row = {
                "case": case,
                "error": f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}",
            }
        print(
            f"{time.perf_counter() - began:6.1f} s  {row['case']}" + (" FAILED" if "error" in row else ""), flush=True
        )
        where.append(row)
        write_text(options.out / "gpu.json", json.dumps(found, indent=1))
        write_text(options.out / "gpu.txt", table(found))

    for name, methods in sizes.methods.items():
        for method in methods:
            attempt(found["pairs"], f"{name}, {method}", lambda name=name, method=method: pair(name, method, sizes))
    for name in sizes.methods:
        attempt(found["studies"], f"{name}, fused", lambda name=name: fusing(name, sizes))
    attempt(found["studies"], "blocks", lambda: block_sizes(sizes))
    attempt(found["studies"], "whole call", lambda: whole_call(sizes))
    attempt(found["studies"], "threads", lambda: thread_scaling(sizes))
    print(table(found))
    return int(any("error" in row for row in (*found["pairs"], *found["studies"])))


if __name__ == "__main__":
    sys.exit(main())
