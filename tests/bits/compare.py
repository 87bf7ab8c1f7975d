"""Whether the working tree computes the same bits as a commit: `python tests/bits/compare.py COMMIT [part of a name ...]`.

Both checkouts run the same list of pairs, each in its own process with its own cache. States, invariants, stored arrays and the numbers
of checkpoints are compared bit for bit; descriptions, versions and digests may differ. Run it before and after each move of code.
What a commit computed is kept in out/bits and not computed again; delete the folder after changing compilers.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
KEPT = TREE / "out" / "bits"
UNEQUAL, CANNOT = 1, 2


def git(*arguments: str) -> str:
    """What git answers."""
    return subprocess.run(["git", "-C", TREE, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def start(source: Path, cache: Path, numbers: Path, wanted: list[str]) -> subprocess.Popen[bytes]:
    """A process that runs the pairs with the catena of a checkout; it writes what it does beside its numbers."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "CATENA_CACHE_DIR": str(cache)}
    with numbers.with_suffix(".log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, HERE / "record.py", numbers, *wanted], env=environment, stdout=log, stderr=log, cwd=HERE
        )


def checkout(commit: str) -> Path:
    """The sources of a commit, in a folder of their own."""
    folder = KEPT / commit[:12]
    if not (folder / "src").exists():
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["git", "-C", TREE, "archive", commit, "src"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    return folder


def run_both(commit: str, wanted: list[str]) -> tuple[Path, Path]:
    """The numbers of the commit and of the working tree."""
    pairs = hashlib.sha256((HERE / "pairs.py").read_bytes() + repr(wanted).encode()).hexdigest()[:12]
    source = checkout(commit)
    theirs, ours = source / f"{pairs}.npz", KEPT / "tree.npz"
    ours.unlink(missing_ok=True)
    processes = [start(TREE, KEPT / "cache", ours, wanted)]
    if not theirs.exists():
        processes.append(start(source, source / "cache", theirs, wanted))
    for process in processes:
        process.wait()
    for numbers in (theirs, ours):
        if not numbers.exists():
            sys.exit(f"no numbers were computed: see {numbers.with_suffix('.log')}")
    return theirs, ours


def bits(array: np.ndarray) -> np.ndarray:
    """The bytes of an array, so that nan equals nan and 0 is not -0."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def difference(ours: np.ndarray | None, theirs: np.ndarray | None) -> str:
    """What differs between two arrays in words, empty if nothing does."""
    if ours is None or theirs is None:
        return "only in the commit" if ours is None else "only in the working tree"
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{theirs.dtype} {theirs.shape} became {ours.dtype} {ours.shape}"
    if np.array_equal(bits(ours), bits(theirs)):
        return ""
    if ours.dtype.kind != "f":
        return "differs"
    apart = np.abs(ours - theirs)
    return f"{np.count_nonzero(~(apart == 0.0))} of {apart.size} numbers, largest difference {np.nanmax(apart):.3g}"


def differences(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> dict[str, list[str]]:
    """By pair, what differs."""
    found: dict[str, list[str]] = {}
    for key in [*theirs, *(key for key in ours if key not in theirs)]:
        pair, _, what = key.partition("|")
        told = difference(ours.get(key), theirs.get(key))
        found.setdefault(pair, []).extend([f"{what}: {told}"] if told else [])
    return found


def refusals(numbers: dict[str, np.ndarray]) -> list[str]:
    """The pairs that could not be run, with the reason."""
    return [f"{key.partition('|')[0]}: {bytes(v).decode()}" for key, v in numbers.items() if key.endswith("|refused")]


def main() -> int:
    """Compare, print what differs; the exit code says whether anything does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", help="what to compare with, such as main or HEAD~1")
    parser.add_argument("wanted", nargs="*", help="only pairs with one of these in their names")
    given = parser.parse_args()
    commit = git("rev-parse", f"{given.commit}^{{commit}}")
    KEPT.mkdir(parents=True, exist_ok=True)
    theirs, ours = (dict(np.load(path)) for path in run_both(commit, given.wanted))
    found = differences(ours, theirs)
    for pair, told in found.items():
        if told:
            print(pair, *told, sep="\n    ")
    cannot = refusals(ours)
    if cannot:
        print("could not be run:", *cannot, sep="\n    ")
    unequal = sum(map(bool, found.values()))
    print(f"{len(found) - unequal} of {len(found)} pairs have the same bits as {commit[:12]} ({len(theirs)} arrays)")
    return UNEQUAL if unequal else CANNOT if cannot else 0


if __name__ == "__main__":
    sys.exit(main())
