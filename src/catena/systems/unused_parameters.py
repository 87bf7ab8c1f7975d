"""Parameters that no text has: most often a name misspelt, or a term forgotten, which changes no number and so is never seen."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import nearest, warn_once


def warn_of_unused(owner: object, parameters: Iterable[str], *texts: str) -> None:
    """Warn of each parameter that no text of its owner has; sections and events may have it all the same, so it is no error."""
    used = {name for text in texts for name in re.findall(r"[^\W0-9]\w*", text)}
    for name in parameters:
        if name not in used:
            kind = type(owner).__name__
            warn_once(
                owner, f"unused {name}",
                f"nothing in this {kind} depends on its parameter {name!r}{nearest(name, sorted(used))}",
            )  # fmt: skip
