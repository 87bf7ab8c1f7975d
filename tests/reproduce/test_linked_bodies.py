"""The reproductions of linked bodies and of the scaling body agree with their references, and would show it if not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from catena.reproduce import linked, scaling


@pytest.mark.slow
def test_the_scaling_body_is_reproduced(tmp_path: Path) -> None:
    report = scaling.reproduce(tmp_path, quick=True)
    assert report.ok, report
    assert len([row for row in report.rows if row.agrees is not None]) >= 17
    assert {file.suffix for file in report.files} == {".png", ".pdf", ".csv"}


def test_a_wrong_restitution_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Energy and multiplier after the impact are those of no rebound at all."""
    right = scaling._bound
    monkeypatch.setattr(scaling, "_bound", lambda restitution: right(max(restitution, 0.5)))
    rows = scaling._impact_rows((60, 120))
    assert not all(row.agrees for row in rows)


@pytest.mark.slow
def test_linked_bodies_are_reproduced(tmp_path: Path) -> None:
    report = linked.reproduce(tmp_path, quick=True)
    assert report.ok, report
    assert report["d|r34|^2/dt at the start, printed matrix"].ours == pytest.approx(1.35, abs=5e-3)


def test_the_printed_matrix_gives_other_accelerations() -> None:
    axis = np.array([1.0, 0.0, 0.0])
    right, printed = (linked.particle_matrix(linked.ATOMS, axis, printed=printed) for printed in (False, True))
    assert np.abs(right - printed).max() > 1.0
    v = (right @ linked.RATES).reshape(4, 3)
    for i, j in ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)):
        assert abs((linked.ATOMS[j] - linked.ATOMS[i]) @ (v[j] - v[i])) < 1e-14


def test_normal_equations_lose_more_digits_the_longer_the_chain() -> None:
    found = linked._conditions("revolute", (4, 16))
    assert found.condition[1] > 100 * found.condition[0]
    assert found.normal[1] > 10 * found.qr[1]
