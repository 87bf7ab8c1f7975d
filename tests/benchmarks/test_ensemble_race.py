"""The races of ensembles: everybody solves the same problem, and errors are what they are said to be."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
races: Any = pytest.importorskip("ensemble_races")
measured: Any = pytest.importorskip("ensemble")
ENSEMBLES = races.ensembles(128)


def test_the_error_of_a_race_is_a_median_over_members() -> None:
    """One member that is far off does not decide; half of them do."""
    right = np.zeros((5, 3))
    found = right.copy()
    found[0, 1], found[1, 2], found[2, 0] = 9.0, -2.0, 1.0
    assert measured.error(found, right) == 1.0
    assert measured.error(found[2:], right) == 0.0


def test_starts_are_the_fields_of_our_states_one_after_the_other() -> None:
    race, _ = ENSEMBLES["symmetric top"]
    starts = race.starts(4)
    np.testing.assert_array_equal(np.concatenate([starts[f.name] for f in race.system.fields], axis=1), race.z[:4])


def test_everybody_takes_part_in_the_quick_races() -> None:
    """Members and lanes, methods by steps and by tolerances, and MuJoCo, which has tops only."""
    quick = [methods for key, (_, methods) in ENSEMBLES.items() if key in measured.QUICK]
    assert len(quick) == len(measured.QUICK) < len(ENSEMBLES)
    assert {layout for methods in quick for _, layout in methods} == {"members", "lanes"}
    assert {method is races.ct.Taylor for methods in quick for method, _ in methods} == {True, False}
    assert "heavy top" in measured.QUICK


@pytest.mark.slow
@pytest.mark.parametrize("name", ["henon_heiles", "kepler"])
def test_heyoka_scipy_and_our_lanes_end_at_the_same_states(name: str) -> None:
    """Tolerances of 1e-12 and small steps: the starts, the equations and the times are the same for all."""
    pytest.importorskip("heyoka")
    race, methods = ENSEMBLES[name]
    theirs = races.heyoka_batch(race, 1e-15)(8)
    np.testing.assert_allclose(races.scipy_loop(race, 1e-12)(8), theirs, atol=1e-7)
    method, layout = methods[0]
    np.testing.assert_allclose(races.ours(race, method, 4000, layout)(8), theirs, atol=1e-9)
