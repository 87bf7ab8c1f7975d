"""Messages for a user who gives something wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import catena as ct


def check_refused(attempt: Callable[[], object], fragment: str) -> None:
    """Check that an attempt is refused in a few lines that say what is wrong, in these words, and what to do."""
    with pytest.raises(ct.InputError) as caught:
        attempt()
    message = str(caught.value)
    assert fragment in message
    assert "do:" in message and len(message.splitlines()) <= 5
