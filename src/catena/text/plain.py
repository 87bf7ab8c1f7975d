"""Plain data: what a JSON or TOML text can hold, and all that a description or a report is made of; and plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def clipped(text: str, longest: int) -> str:
    """At most so many characters; an ellipsis stands for the rest."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"
