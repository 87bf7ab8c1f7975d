"""What tests of commands share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _quiet_again() -> Iterator[None]:
    """Commands set up the logger; the other tests want it as it was."""
    logger = logging.getLogger("catena")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    logger.level, logger.propagate, logger.handlers[:] = before
