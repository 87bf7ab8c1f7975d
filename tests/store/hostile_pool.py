"""Runs `hostile_worker` on many stores: what it answers, and whether it hung or died on the way."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

from hostile import Hostile

from processes import SOURCE, contents

WORKER = Path(__file__).with_name("hostile_worker.py")
HANG = 10.0  # seconds of processor time for one thing that is done with a store
ASLEEP = 60.0  # seconds, whatever the processor does for others meanwhile
START = 300.0


@dataclass
class Report:
    """What came out: `faults` is empty if every store was used or refused as it should be."""

    faults: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    stores: int = 0


class Worker:
    """A process that is started again when it dies or hangs."""

    def __init__(self, folder: Path, home: Path, honest: Path) -> None:
        self.folder, self.home, self.honest = folder, home, honest
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = (self.folder / "stderr").open("wb")
        environment = {
            **os.environ, "PYTHONPATH": f"{SOURCE}:{SOURCE.parent / 'tests'}", "HOME": str(self.home),
            "MPLCONFIGDIR": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), str(self.honest)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            cwd=self.folder, env=environment,
        )  # fmt: skip
        self.waiting = selectors.DefaultSelector()
        self.waiting.register(self.process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        self.rest = b""
        self.starts += 1
        while "done" not in (self.answer(START, START) or {"done": False}):
            pass

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.waiting.close()
            for stream in (self.process.stdin, self.process.stdout, self.log):
                with suppress(OSError):  # what was not written to a process that died
                    stream.close()  # type: ignore[union-attr]
            self.process = None

    def answer(self, work: float, wait: float) -> dict[str, Any] | None:
        """The next answer; None if there is none after so much work and waiting, or never will be."""
        assert self.process is not None and self.process.stdout is not None
        began, worked = time.monotonic(), self.worked()
        while b"\n" not in self.rest:
            if not self.waiting.select(1.0):
                if self.worked() - worked > work or time.monotonic() - began > wait:
                    return None
                continue
            more = os.read(self.process.stdout.fileno(), 2**16)
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def worked(self) -> float:
        """Seconds of processor time that it has used."""
        assert self.process is not None
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def use(self, store: Path, out: Path, look: int) -> tuple[list[str], list[str]]:
        """What came out of each thing that was done, and what must not be."""
        if self.process is None:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write((json.dumps({"store": str(store), "out": str(out), "look": look}) + "\n").encode())
        self.process.stdin.flush()
        came, faults, doing = [], [], "nothing"
        while True:
            found = self.answer(HANG, ASLEEP)
            if found is None:
                time.sleep(0.2)
                code = self.process.poll()
                what = f"hangs in {doing}" if code is None else f"dies with {code} in {doing}"
                self.stop()
                trace = (self.folder / "stderr").read_text(errors="replace")[-3000:]
                return came, [*faults, what + ("" if code is None else f"\n{trace}")]
            if "done" in found:
                return came, faults
            doing = found.get("begin", doing)
            if "came" in found:
                came.append(f"{found['end']}: {found['came']}")
                if found["came"].startswith("TRACEBACK"):
                    faults.append(f"{found['end']}: {found['came']}")


def make_outside(folder: Path) -> Path:
    """What must stay as it is."""
    (folder / "inner").mkdir(parents=True)
    (folder / "precious").write_text("mine")
    (folder / "inner" / "0").write_text("mine, too")
    return folder


def fuzz(folder: Path, *, stores: int, seed: int, workers: int = 1) -> tuple[Report, Hostile]:
    """Make stores and use each; the places that they may not touch are looked at in between."""
    outside = make_outside(folder / "outside")
    before, report = contents(outside), Report()
    free: Queue[Worker] = Queue()
    pool = [Worker(folder / f"worker{number}", outside, folder / "honest") for number in range(workers)]
    pool[0].start()  # which makes the honest stores
    hostile = Hostile(sorted((folder / "honest").glob("*.zarr")), outside, seed=seed)
    for worker in pool:
        free.put(worker)

    def one(number: int, store: Path, done: list[str]) -> None:
        worker = free.get()
        out = folder / f"out{number}"
        out.mkdir()
        try:
            came, faults = worker.use(store, out, number)
        finally:
            free.put(worker)
        report.answers.update(answer.split("\n")[0][:100] for answer in came)
        report.stores += 1
        report.faults += [f"store {number} ({'; '.join(done)}): {fault}" for fault in faults]
        if contents(outside) != before:
            report.faults.append(f"store {number} ({'; '.join(done)}): something outside was touched")
        shutil.rmtree(out)
        shutil.rmtree(store.parent)

    try:
        with ThreadPoolExecutor(workers) as executor:
            waiting = []
            for number in range(stores):
                store = folder / f"store{number}" / "gift.zarr"
                store.parent.mkdir()
                done = hostile.make(store)
                waiting.append(executor.submit(one, number, store, done))
                while len(waiting) >= 4 * workers:
                    waiting.pop(0).result()
            for future in waiting:
                future.result()
    finally:
        for worker in pool:
            worker.stop()
    return report, hostile
