"""Elementary functions on a CUDA GPU: the bits of the CPU, one function after the other, and the cost of a value there.

    python benchmarks/gpu_elementary.py --out DIR

writes DIR/gpu_elementary.json: for each function how many of a million values have other bits than on the CPU (there
should be none), the first of these, and the time of a value beside that of the CUDA library. Then `gpu_members.py`
compares linkages in joint coordinates, which use sines and cosines. `--simulate` runs all of it, tiny, under numba's
simulator.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np

from catena.engine import cache, headers
from catena.engine.collector import collect
from catena.engine.cuda import members as cuda
from catena.engine.plain_python import interpret
from catena.kernels.elementary import FUNCTIONS
from catena.kernels.marks import Written
from catena.output.files import write_text
from elementary_arguments import TWO, arguments

BLOCK = 256
KERNEL = """
_options = {{}} if config.ENABLE_CUDASIM else {{"lto": False}}  # code that is finished by the linker would fuse again

@cuda.jit(fastmath=False, **_options)
def over_all(x, y, out):
    i = cuda.grid(1)
    if i < len(x):
        advance(i, x, y, out)

@cuda.jit(fastmath=False, **_options)
def of_library(x, y, out):
    i = cuda.grid(1)
    if i < len(x):
        out[i] = {library}
"""


def call(name: str) -> str:
    return f"math.{name}(x[i], y[i])" if name in TWO else f"math.{name}(x[i])"


def on_processor(name: str, *, simulate: bool) -> Any:
    """The function in a loop; plain Python has the same bits, which is enough for the simulator."""
    text = f"def loop(x, y, out):\n    for i in range(len(x)):\n        out[i] = {call(name)}\n    return 0\n"
    parts = collect(Written("loop", text, "catena.loop"), {})
    if simulate:
        return interpret(headers.module_text(name, parts, (), header=headers.PYTHON, entry="@_fn")).advance
    entry = headers.cpu_function("types.int64", [headers.array_type(1)] * 3)
    return cache.load(headers.module_text(name, parts, (), header=headers.CPU, entry=entry), name).advance


def on_gpu(name: str) -> dict[str, Any]:
    """The function as a CUDA kernel, ours and that of the CUDA library."""
    parts = collect(Written("one", f"def one(i, x, y, out):\n    out[i] = {call(name)}\n", "catena.loop"), {})
    text = headers.module_text(name, parts, (), header=headers.CUDA, entry="@_fn")
    namespace: dict[str, Any] = {"__name__": "catena_generated_cuda"}
    exec(compile(text + KERNEL.format(library=call(name)), f"<{name}>", "exec"), namespace)
    return {"library": namespace["of_library"], "own": namespace["over_all"]}


def compare(name: str, count: int, *, simulate: bool) -> dict[str, Any]:
    """Bits and times of a function."""
    gpu = cuda.require_cuda()
    x, y = (np.ascontiguousarray(array[:count]) for array in arguments(name, count))
    here, there = np.empty(len(x)), np.empty(len(x))
    on_processor(name, simulate=simulate)(x, y, here)
    sent = gpu.to_device(x), gpu.to_device(y), gpu.to_device(there)
    kernels, seconds = on_gpu(name), {}
    if simulate:
        del kernels["library"]  # there it is Python's function, which raises for undefined values
    with cuda.without_contraction():  # kernels are compiled at their first call
        for who, kernel in kernels.items():
            taken = []
            for _ in range(1 if simulate else 6):
                gpu.synchronize()
                began = time.perf_counter()
                kernel[-(-len(x) // BLOCK), BLOCK](*sent)
                gpu.synchronize()
                taken.append(time.perf_counter() - began)
            seconds[who] = min(taken)
            if who == "own":
                there = sent[2].copy_to_host()
    alike = (here.view(np.int64) == there.view(np.int64)) | (np.isnan(here) & np.isnan(there))
    wrong = np.flatnonzero(~alike)
    first = [float(a).hex() for k in wrong[:1] for a in (x[k], y[k], here[k], there[k])]
    costs = {f"{who}_ns": round(1e9 * s / len(x), 4) for who, s in seconds.items()}
    return {"function": name, "compared": len(x), "other_bits": len(wrong), "first": first, **costs}


def main() -> int:
    """Compare all; returns 1 if some bits differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of gpu_elementary.json")
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    parser.add_argument("--only", default="", help="functions whose names contain this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"gpu": "simulator" if options.simulate else cuda.gpu_name(), "functions": []}
    for name in [name for name in FUNCTIONS if options.only in name]:
        found["functions"].append(compare(name, 60 if options.simulate else 10**6, simulate=options.simulate))
        print(json.dumps(found["functions"][-1]), flush=True)
        write_text(options.out / "gpu_elementary.json", json.dumps(found, indent=1))
    members = [
        sys.executable,
        str(Path(__file__).parent / "gpu_members.py"),
        "--out",
        str(options.out),
        "--only",
        "joint form",
    ]
    status = 0 if options.only else subprocess.call(members + ["--simulate"] * options.simulate)
    return int(status != 0 or any(row["other_bits"] for row in found["functions"]))


if __name__ == "__main__":
    sys.exit(main())
