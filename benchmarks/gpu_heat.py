"""Members in a heat bath on a CUDA GPU: the bits of the CPU, and the cost of a step of a member.

    python benchmarks/gpu_heat.py --out DIR

writes DIR/gpu_heat.json. For each system: whether 64 members that differ by their noise end with the bits of the CPU
after 200 steps, and the time of a whole `ensemble` of 65 536 members and 1000 steps beside that of one core. Packing,
copies and the audit do not grow with the number of steps, so the time of a step alone comes from two lengths, for
several numbers of threads in a block; also the result of the compiler for the kernel: registers, and spilled bytes.
Chains have a thread for each body, in blocks of one size. `--only TEXT` runs the systems whose names contain the text,
`--keep FILE` keeps the others from that file; `--simulate` runs all of it, tiny, under numba's simulator.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np

import catena as ct
from catena.engine.cuda import bodies as cuda_bodies
from catena.engine.cuda import members as cuda
from catena.output.files import write_text
from catena.running.ensembles.results import Ensemble


def bending_links() -> ct.Problem:
    """A clamped tetrahedron and two more, linked by BendTwist: few numbers, no pairs of particles."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)))
    start = chain.start(position=[(0, 0, k) for k in range(3)], orientation=[(1, 0, 0, 0)] * 3)
    return ct.Problem("bending_links", chain, start, 0.05)


PROBLEMS = {
    "bending chain of 3": (bending_links, 1.0),
    "chain of 8": (lambda: ct.problems.helix_chain(8), 0.1),
    "chain of 64": (lambda: ct.problems.helix_chain(64), 0.1),
    "heavy top": (ct.problems.lagrange_top, 0.1),
    "free body": (ct.problems.book, 0.1),
    "Henon-Heiles": (ct.problems.henon_heiles, 0.01),
}
FRICTION = 0.5
BLOCKS = (32, 64, 128, 256)  # threads


def measure(problem: Any, method: ct.Langevin, *, simulate: bool) -> dict[str, Any]:
    """Bits and times of one system."""
    few, many, short, long = (3, 4, 2, 2) if simulate else (64, 65_536, 200, 1000)

    def follow(members: int, steps: int, **options: Any) -> tuple[float, Ensemble]:
        began = time.perf_counter()
        found = ct.ensemble(
            problem, problem.start, method, members=members, steps=steps, every=steps, progress=False, **options
        )
        return time.perf_counter() - began, found

    (_, here), (_, there) = follow(few, short), follow(few, short, device="cuda")
    columns = [(np.asarray(here.final[name]), np.asarray(there.final[name])) for name in here.final.data_vars]
    added = [
        f"{account.name}_halves" for account in here._job.pairing.stepper.accounts
    ]  # the averages that the audit compares with laws
    columns += [(here._column(name), there._column(name)) for name in added]
    follow(many, long, device="cuda")
    gpu = follow(many, long, device="cuda")[0] / many / long
    slopes, program = {}, cuda_bodies.build(problem.system, method)
    for threads in (program.threads,) if isinstance(program, cuda_bodies.BodyProgram) else BLOCKS:
        cuda.BLOCK = threads
        times = [min(follow(many, steps, device="cuda")[0] for _ in range(2)) for steps in (long, 4 * long)]
        slopes[str(threads)] = 1e9 * (times[1] - times[0]) / (3 * long * many)
    cuda.BLOCK = 128
    alone = max(2, many // 512)
    core = follow(alone, long, threads=1)[0] / alone / long
    return {
        "compared": few, "bit_equal": all(bool((a == b).all()) for a, b in columns), "members": many, "steps": long,
        "gpu_ns_per_member_step": 1e9 * gpu, "core_ns_per_step": 1e9 * core, "core_over_gpu": core / gpu,
        "bodies": max(1, problem.system.parts), "gpu_ns_per_member_step_alone": slopes, "kernel": facts_of(problem, method),
    }  # fmt: skip


def facts_of(problem: Any, method: ct.Langevin) -> dict[str, Any]:
    """Registers and spilled bytes of the kernel; nothing under the simulator."""
    program = cuda_bodies.build(problem.system, method)
    kernel = program.steps if isinstance(program, cuda_bodies.BodyProgram) else program.kernel
    found = {
        "view": program.view.name,
        "numbers": program.view.dimension,
        "work": program.stepper.work,
        "carry": program.stepper.carry,
    }
    for name in ("get_regs_per_thread", "get_local_mem_per_thread", "get_const_mem_size"):
        if hasattr(kernel, name):
            told = getattr(kernel, name)()
            found[name.removeprefix("get_")] = next(iter(told.values())) if isinstance(told, dict) else told
    return found


def main() -> int:
    """Measure all; returns 1 if some bits differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of gpu_heat.json")
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    parser.add_argument("--only", default="", help="the systems whose names contain this")
    parser.add_argument("--keep", type=Path, help="results of an earlier run: the systems that are not run now stay")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    earlier = json.loads(options.keep.read_text(encoding="utf-8"))["systems"] if options.keep else {}
    found: dict[str, Any] = {"gpu": "simulator" if options.simulate else cuda.gpu_name(), "systems": earlier}
    for name, (problem, temperature) in PROBLEMS.items():
        if options.only in name:
            method = ct.Langevin(temperature, FRICTION, seed=7)
            found["systems"][name] = measure(problem(), method, simulate=options.simulate)
            print(name, json.dumps(found["systems"][name]), flush=True)
            write_text(options.out / "gpu_heat.json", json.dumps(found, indent=1))
    return int(not all(row["bit_equal"] for row in found["systems"].values()))


if __name__ == "__main__":
    sys.exit(main())
