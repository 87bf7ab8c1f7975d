"""What members cost beside their steps: Python works on tasks, not on members, and audits conclude in compiled code."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.folding import compile_conclude_members, conclude_members
from catena.engine.looks import find_deviation, usual_size
from catena.kernels.views import NOT_FINITE, OK
from catena.running.auditing import BLOCKS, lasting_of_blocks
from catena.running.ensembles import Job, following

KEPLER = ct.problems.kepler().system
MEMBERS = 16384


def python_calls(threads: int) -> int:
    """Functions of Python that an ensemble of one step calls, in all its threads."""
    starts = {"q": np.full((MEMBERS, 2), [1.0, 0.0]), "p": np.full((MEMBERS, 2), [0.0, 1.0])}
    count = 0

    def seen(frame: Any, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        ct.ensemble(KEPLER, starts, ct.Splitting(6), dt=0.05, steps=1, threads=threads)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


def test_sixteen_threads_call_python_for_tasks_not_for_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads wait for each other wherever they are in Python: at 0.2 us a call, 3 calls for each member would be 1 % of short ones.

    Measured 1.6, most of it 240 calls for each of 111 tasks; it was 9. Followed sixteen at a time, there would be more.
    """
    monkeypatch.setattr(following.Pace, "took", lambda *arguments: None)  # a loaded machine would make chunks shorter
    monkeypatch.setattr(following, "FIRST_CHUNK", MEMBERS)
    python_calls(2)  # compiled and imported
    assert python_calls(16) < 3 * MEMBERS
    monkeypatch.setattr(following, "_together", lambda job, pace: 16)
    assert python_calls(16) > 4 * MEMBERS


@pytest.mark.parametrize("compiled", [True, False])
def test_what_audits_conclude_is_what_whole_arrays_tell(compiled: bool) -> None:
    """Against the formulas of single runs: `find_deviation`, `usual_size`, `lasting_of_blocks`; the same operations in the same order."""
    rng, members, k, public, samples = np.random.default_rng(7), 9, 3, 4, 57
    start, (worst, scale) = rng.normal(size=(members, public + k)), rng.uniform(size=(2, members, k))
    sums, looks = rng.normal(size=(members, BLOCKS, k)), rng.uniform(size=(members, 6, k))
    looks[:, 5] = np.arange(members)[:, None] // 4  # nobody looked at the first four
    looks[:4, :2] = np.array([np.inf, -np.inf])[:, None]
    status = np.array([OK, NOT_FINITE, *[OK] * (members - 2)])
    wanted = find_deviation(worst, start[:, public:], looks), lasting_of_blocks(sums, samples), usual_size(looks, scale)
    made = np.zeros((3, members, k))
    conclude = compile_conclude_members() if compiled else conclude_members
    conclude(samples, public, start, status, worst, scale, sums, looks, *made)
    for ours, theirs in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(ours).all(axis=1), status != OK)
        np.testing.assert_array_equal(ours[status == OK], theirs[status == OK])
    assert np.isnan(worst[1]).all() and np.isnan(scale[1]).all() and not np.isnan(worst[0]).any()


@pytest.mark.parametrize("rows", [2, 39, 40, 41, 500])
def test_no_block_of_an_audit_is_empty(rows: int) -> None:
    """So a member that is looked at twice needs room for two blocks, not for forty."""
    edges = Job(KEPLER, ct.Splitting(6), 0.05, rows - 1, 1, "final").edges
    assert len(edges) == min(rows, BLOCKS) + 1 and (edges[0], edges[-1]) == (0, rows)
    assert set(np.diff(edges).tolist()) <= {rows // (len(edges) - 1), rows // (len(edges) - 1) + 1}
