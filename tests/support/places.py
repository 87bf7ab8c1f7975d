"""Locations for tests: the checkout, shared files, and independently computed values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"


def read_reference(name: str) -> dict[str, Any]:
    """The values of a file of tests/reference."""
    return tomllib.loads((TESTS / "reference" / name).read_text(encoding="utf-8"))
