"""Chunks of a few rows, so that short runs have many files."""

from __future__ import annotations

import pytest

from catena.store import layout


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two commits to a chunk for scalars, one for triples, less than one for two triples."""
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 64)
    monkeypatch.setattr(layout, "CHUNK_BYTES_LIMIT", 150)
