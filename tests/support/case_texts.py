"""Cases as texts: read, refused with positions, and written from descriptions of objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catena.cases import CaseError, read_case


def read(text: str, *overrides: str) -> Any:
    """The case in a text."""
    return read_case(None, text=text, label="case.toml", overrides=overrides)


def mistakes(text: str, *overrides: str) -> list[tuple[int | None, int | None, str]]:
    """Line, column and message of each mistake."""
    with pytest.raises(CaseError) as caught:
        read(text, *overrides)
    found = [mistake.to_dict() for mistake in caught.value.mistakes]
    return [(m["line"], m["column"], m["wrong"]) for m in found]  # type: ignore[misc]


def toml(value: Any) -> str:
    """A value in TOML syntax."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)
