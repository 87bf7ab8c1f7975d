"""Untrusted text, made safe for a terminal: control sequences are shown instead of executed.

Labels, names and messages may come from stores, cases and URDF files of others. An escape sequence in them could clear
the screen, rename the window or hide a line; a bidirectional control character can make a text look like another one.
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
)  # controls, invisible format characters, lone surrogates, line separators
PLAIN = "\n\t"
LEFT = str.maketrans("", "", PLAIN)


def in_python(character: str) -> str:
    """A character as an escape in a Python string."""
    return ascii(character)[1:-1]


def escape_controls(text: str, *, written: Callable[[str], str] = in_python) -> str:
    r"""The text with every character that a terminal would interpret replaced by an escape; newlines and tabs stay.

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
