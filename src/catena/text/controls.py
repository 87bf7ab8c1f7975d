"""Text from strangers, made safe for a terminal: what a terminal would obey is shown instead.

Labels, names and messages may come from stores, cases and URDF files of others. An escape sequence in them could clear the screen,
rename the window or hide a line; a mark that turns the direction of writing makes a text look like another one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

OBEYED = (
    "Cc",
    "Cf",
    "Cs",
    "Zl",
    "Zp",
)  # controls, invisible marks of format, halves of characters, separators of lines
PLAIN = "\n\t"
LEFT = str.maketrans("", "", PLAIN)


def in_python(character: str) -> str:
    """A character as Python writes it in a string."""
    return ascii(character)[1:-1]


def escape_controls(text: str, *, written: Callable[[str], str] = in_python) -> str:
    r"""The text with every character that a terminal would obey written as an escape; ends of lines and tabs stay.

    Parameters
    ----------
    text : any text
    written : how such a character is written

    Examples
    --------
    >>> print(escape_controls("energy\x1b[2J"))
    energy\x1b[2J
    """
    shown = text.translate(LEFT)
    if shown.isascii() and shown.isprintable():
        return text
    return "".join(character if _is_plain(character) else written(character) for character in text)


def _is_plain(character: str) -> bool:
    return character in PLAIN or unicodedata.category(character) not in OBEYED
