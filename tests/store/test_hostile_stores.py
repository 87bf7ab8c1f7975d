"""Stores with valid checksums whose every key was changed: whatever is done with them, it is done, or refused with a reason.

A hang is 10 s of processor time in one command, or a minute asleep; a run that makes steps until Ctrl-C is none.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import hostile_pool
import pytest
from hostile import Key
from hostile_pool import Worker, fuzz, make_outside

LEAST = 20  # mutations of each key in the long study
STORES = 4300  # there are 384 keys


def test_some_hostile_stores_are_used_or_refused(tmp_path: Path) -> None:
    report, _ = fuzz(tmp_path, stores=16, seed=1)
    assert report.stores == 16 and not report.faults, "\n\n".join(report.faults)


@pytest.mark.slow
def test_every_key_of_two_thousand_hostile_stores_is_used_or_refused(tmp_path: Path) -> None:
    report, hostile = fuzz(tmp_path, stores=STORES, seed=2, workers=2)
    assert report.stores == STORES and not report.faults, "\n\n".join(report.faults)
    seldom: dict[Key, int] = {key: count for key, count in hostile.counts.items() if count < LEAST}
    assert not seldom
    used = sum(count for answer, count in report.answers.items() if answer in ("opening: ok", "ct.resume: ok"))
    assert used > STORES / 10  # most are refused, but not all: what is refused at the door tests nothing behind it


@pytest.mark.slow
def test_what_must_not_happen_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twins: a worker that dies, hangs, fails, or writes where it may not."""
    monkeypatch.setattr(hostile_pool, "HANG", 1.0)
    outside = make_outside(tmp_path / "outside")
    before = hostile_pool.contents(outside)
    worker = Worker(tmp_path / "worker", outside, tmp_path / "honest")
    try:
        for name, told in (
            ("fails", "ZeroDivisionError"),
            ("hangs", "hangs in a twin"),
            ("dies", "dies with -6 in a twin"),
        ):
            _, faults = worker.use(Path(name), tmp_path, 0)
            assert len(faults) == 1 and told in faults[0]
        _, faults = worker.use(Path("touches"), tmp_path, 0)
        assert not faults and hostile_pool.contents(outside) != before
    finally:
        worker.stop()
    shutil.rmtree(tmp_path / "honest")
