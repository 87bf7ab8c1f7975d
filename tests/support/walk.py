"""The path of a `catena run` through the code: files and functions of catena that it visits.

    python tests/support/walk.py [options of run ...]

The catena in `PYTHONPATH` is traced. Comprehensions, generator expressions and lambdas count as functions, as Python
3.11 runs them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

OPTIMISED = 1  # a flag of code objects: functions, not modules or classes


class Walk(NamedTuple):
    """Functions, as file:name, with numbers of calls; numbers of systems constructed by class; imported modules."""

    functions: dict[str, int]
    systems: dict[str, int]
    modules: list[str]

    @property
    def files(self) -> set[str]:
        """The files of the functions."""
        return {name.partition(":")[0] for name in self.functions}


def walk(folder: Path, options: Sequence[str]) -> Walk:
    """The walk of a warm `catena run` in a folder: the first of two runs fills the caches."""
    for _ in range(2):
        found = folder / "walk.json"
        subprocess.run(
            [sys.executable, __file__, "--trace", found, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
    return Walk(*json.loads(found.read_text()))


def trace(found: Path, options: Sequence[str]) -> None:
    """Run, and record the path."""
    import catena
    from catena.cli.main import main
    from catena.systems.base import System

    home = f"{Path(catena.__file__).parent}{os.sep}"
    functions: Counter[str] = Counter()
    systems: Counter[str] = Counter()

    def visited(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(home) or not code.co_flags & OPTIMISED:
            return
        functions[f"{code.co_filename.removeprefix(home)}:{code.co_qualname}"] += 1
        if code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), System):
            systems[code.co_qualname.partition(".")[0]] += 1

    sys.argv = ["catena", "run", *options]
    sys.setprofile(visited)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    found.write_text(json.dumps([functions, systems, sorted(sys.modules)]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--trace"]:
        trace(Path(sys.argv[2]), sys.argv[3:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            made = walk(Path(folder), sys.argv[1:] or ["--no-out"])
        for name, count in sorted(made.functions.items()):
            print(f"{count:8} {name}")
        named = sum(not name.endswith(">") for name in made.functions)
        print(
            f"{len(made.files)} files, {len(made.functions)} functions ({named} with a name); constructed: {made.systems}"
        )
