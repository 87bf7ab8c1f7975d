"""Chain against rod: the report agrees, and would show it if the rod were too short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from catena.analysis.statics.rod import RodLimit
from catena.reproduce import rod


@pytest.mark.slow
def test_the_rod_is_that_of_the_chain(tmp_path: Path, monkeypatch) -> None:
    """Quick: up to 33 bodies. A rod without half a link at its end (the twin) disagrees in its errors and in their quotient."""
    report = rod.reproduce(tmp_path, quick=True)
    assert report.ok, report
    assert {file.name for file in report.files} == {"rod.png", "rod.pdf", "rod_errors.csv", "rod.csv"}

    def short(self: RodLimit, n: int, left: str = "clamped", right_end: str = "free", count: int = 6) -> np.ndarray:
        return rod.rod_frequencies(self, 0.0, n - 1.0, (True, False), count)

    monkeypatch.setattr(RodLimit, "modes", short)
    wrong = rod.reproduce(tmp_path / "wrong", quick=True)
    failed = [row.quantity for row in wrong.rows if row.agrees is False]
    assert "error: rod, 33 bodies" in failed and "rod: 17 to 33 bodies, quotient of errors" in failed
