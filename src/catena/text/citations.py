"""The references of a method, from the one file that lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files

ENTRY = re.compile(r"^@\w+\{(?P<key>[^,\s]+),.*?^\}$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$", re.MULTILINE | re.DOTALL)
ACCENT = re.compile(r"\{?\\(['`\"^~v])\{?\\?([A-Za-z])\}?\}?")
MARKS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303", "v": "\u030c"}


def bibtex(keys: Iterable[str]) -> dict[str, str]:
    """The BibTeX entries of these keys, each once, without unknown ones, which a foreign method may cite."""
    text = (files("catena") / "references.bib").read_text(encoding="utf-8")
    entries = {entry["key"]: entry[0] for entry in ENTRY.finditer(text)}
    return {key: entries[key] for key in keys if key in entries}


def readable(entry: str) -> str:
    """An entry as a readable line: authors, title, publication, year.

    Examples
    --------
    >>> readable(bibtex(["axelsson1969"])["axelsson1969"])
    'Axelsson, O.: A class of A-stable methods. BIT 9, 185–199 (1969)'
    """
    fields = {name.lower(): _plain(value) for name, value in FIELD.findall(entry)}
    authors = " and ".join(_initials(author) for author in fields["author"].split(" and "))
    home = next((fields[name] for name in ("journal", "booktitle", "publisher", "institution") if name in fields), "")
    place = ", ".join(part for part in (f"{home} {fields.get('volume', '')}".strip(), fields.get("pages", "")) if part)
    return f"{authors}: {fields['title']}. {place} ({fields['year']})"


def _plain(value: str) -> str:
    from unicodedata import normalize

    composed = ACCENT.sub(lambda m: normalize("NFC", m[2] + MARKS[m[1]]), " ".join(value.split()))
    return (
        composed.replace("---", "\u2014")
        .replace("--", "\u2013")
        .replace("~", " ")
        .translate({ord(c): None for c in "{}\\"})
    )


def _initials(author: str) -> str:
    family, _, given = author.partition(", ")
    return family + (", " + " ".join(f"{name[0]}." for name in given.split()) if given else "")
