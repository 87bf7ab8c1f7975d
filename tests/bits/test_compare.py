"""The comparison of bits: equal means equal bits, in every pair that both checkouts run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compare import difference, differences
from pairs import PAIRS

ONE = np.array([1.0, np.nan, 0.0])


def test_nan_equals_nan_when_its_bits_do() -> None:
    assert difference(ONE, ONE.copy()) == ""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (np.array([1.0, np.nan, -0.0]), "numbers"),  # the sign of a zero is a bit
        (np.array([np.nextafter(1.0, 2.0), np.nan, 0.0]), "largest difference 2.22e-16"),
        (ONE[:2], "became"),
        (ONE.astype(np.float32), "became"),
        (None, "only in the working tree"),
    ],
)
def test_every_other_difference_is_told(other: np.ndarray | None, told: str) -> None:
    assert told in difference(ONE, other)


def test_differences_are_told_by_pair() -> None:
    ours = {"a|q": ONE, "a|checkpoint.z": ONE, "b|q": ONE}
    theirs = {"a|q": ONE, "a|checkpoint.z": ONE + 1.0, "b|q": ONE, "b|gone": ONE}
    found = differences(ours, theirs)
    assert [len(found[pair]) for pair in "ab"] == [1, 1]
    assert "only in the commit" in found["b"][0]


@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_can_be_made(name: str) -> None:
    """A pair that cannot be made compares nothing."""
    pair = PAIRS[name]()
    assert set(pair.start.fields) == {field.name for field in pair.system.fields}
