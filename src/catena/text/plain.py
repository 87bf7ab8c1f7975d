"""Plain data: values that JSON or TOML can hold, of which descriptions and reports are made; and plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # what is recorded is kept in a directory of this name
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def clip(text: str, longest: int) -> str:
    """At most this number of characters; an ellipsis replaces the rest."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
