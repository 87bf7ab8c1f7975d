"""How long a second process takes to its first step, in units of `import numpy, numba`.

    python benchmarks/warm_start.py

Whole processes, including the start of the interpreter, are compared by CPU time, in turn, best of seven. The first
process compiles and is not counted; it also leaves the bytecode of catena, as numpy and numba have theirs from their
installation. The parts are those of the best process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from catena.output.files import write_text

RESULT = Path(__file__).parent / "results" / "warm_start.json"
SOURCE = Path(__file__).parents[1] / "src"
ROUNDS = 7
TARGET = 2.2

IMPORTS = """
import numpy, numba
"""
SIMULATE = """
import catena as ct
ct.simulate(ct.problems.kepler(), method={method}, steps=1)
"""
PARTS = """
import json, time
taken = {{}}
def timed(module, name, part):
    call = getattr(module, name)
    def wrapper(*arguments, **options):
        begin = time.process_time()
        result = call(*arguments, **options)
        taken[part] = time.process_time() - begin
        return result
    setattr(module, name, wrapper)
start = time.process_time()
import numpy, numba
imported = time.process_time()
import catena as ct
from catena.engine import build, cache, driver
timed(build, "program_parts", "collecting the kernels")
timed(cache, "load", "loading the machine code")
timed(driver.Driver, "advance", "the step")
ct.simulate(ct.problems.kepler(), method={method}, steps=1)
rest = time.process_time() - imported - sum(taken.values())
print(json.dumps({{"interpreter": start, "numpy, numba": imported - start, **taken, "the rest of catena": rest}}))
"""
METHODS = {"the default method": "None", "Gauss(6)": "ct.Gauss(6)"}


def surroundings(cache: Path) -> dict[str, str]:
    """The environment of a user's process: catena from here, its machine code in a folder, bytecode stored."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(SOURCE), "CATENA_CACHE_DIR": str(cache)}


def cpu_seconds(code: str, cache: Path) -> float:
    """CPU time of a new Python that runs a text, over its whole life."""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=surroundings(cache), stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"a process of the benchmark failed:\n{code}")
    return usage.ru_utime + usage.ru_stime


def measured(cache: Path, rounds: int = ROUNDS, names: Iterable[str] = METHODS) -> dict[str, float]:
    """Best CPU seconds of the imports alone and of a first step with each method, in turn."""
    codes = {"imports": IMPORTS} | {name: SIMULATE.format(method=METHODS[name]) for name in names}
    for code in codes.values():
        cpu_seconds(code, cache)
    samples = [{name: cpu_seconds(code, cache) for name, code in codes.items()} for _ in range(rounds)]
    return {name: min(sample[name] for sample in samples) for name in codes}


def parts(method: str, cache: Path, rounds: int = ROUNDS) -> dict[str, float]:
    """CPU seconds of the parts of a warm start, the best of each."""
    command = [sys.executable, "-c", PARTS.format(method=method)]
    samples = [json.loads(subprocess.check_output(command, env=surroundings(cache))) for _ in range(rounds)]
    return {name: min(sample[name] for sample in samples) for name in samples[0]}


def main() -> None:
    """Print and store the ratios and the parts."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = measured(Path(folder))
        divided = {name: parts(text, Path(folder)) for name, text in METHODS.items()}
    ratios = {name: round(seconds[name] / seconds["imports"], 2) for name in METHODS}
    print(f"import numpy, numba: {seconds['imports']:.2f} s of CPU")
    for name, ratio in ratios.items():
        print(f"to the first step of Kepler with {name}: {ratio} times that (target: at most {TARGET})")
        print("   " + ", ".join(f"{part} {1000 * taken:.0f} ms" for part, taken in divided[name].items()))
    result = {"import numpy, numba": seconds["imports"], "ratios": ratios, "parts": divided}
    write_text(RESULT, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
