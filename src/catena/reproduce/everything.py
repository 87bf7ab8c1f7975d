"""All reproductions on one page: ours beside the published numbers, what differs and why, and the command for each."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..output.files import write_text
from ..text.citations import bibtex, readable
from .errata import errata_html
from .report import HEADINGS, Report

if TYPE_CHECKING:
    from .report import Reproduction

SHOWN = 0.65  # pixels on the page for each pixel of a picture
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th { text-align: left; border-bottom: 2px solid #888; } th, td { padding: .15rem .6rem .15rem 0; vertical-align: top; }
td.number { font-family: ui-monospace, monospace; white-space: nowrap; } .number { text-align: right; }
tr.NO td { color: #b00020; font-weight: 600; } code { background: #f2f2f2; padding: .1rem .3rem; }
img { display: block; max-width: 100%; height: auto; margin: 1.5rem 0; } p.note { color: #555; margin: .2rem 0; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #16181c; } code { background: #2a2d33; } p.note { color: #aaa; }
img { background: #fff; } tr.NO td { color: #ff8a80; } }
"""


def write_page(folder: Path, made: Iterable[tuple[Reproduction, Report]], *, version: str) -> Path:
    """index.html in a folder whose subfolders hold the files of the reports."""
    parts = sorted(made, key=_place)
    sections = "\n".join(_section(folder, module, report) for module, report in parts)
    agreeing = sum(row.agrees is True for _, report in parts for row in report.rows)
    asked = sum(row.agrees is not None for _, report in parts for row in report.rows)
    content = (
        f"<h1>Published tables and figures, computed again</h1>"
        f"<p>catena {html.escape(version)}: {agreeing} of {asked} compared numbers agree.</p>"
        "<p>Beside each number of ours stands its reference: the published number where there is one, else a value of a closed "
        "formula or of a separate program, as the notes below each table say. A dash under &ldquo;agrees&rdquo; means that no "
        "agreement can be asked for; the remark says why.</p>"
        f"{_contents(parts)}{sections}{errata_html()}"
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Reproduced with catena</title><style>{STYLE}</style>{content}{_references(content)}</html>\n"
    )
    file = folder / "index.html"
    write_text(file, page)
    return file


def _place(part: tuple[Reproduction, Report]) -> tuple[str, list[int], str]:
    """Sort key: documents alphabetically, in each the numbers of figures in order, others at the end."""
    document, what = part[0].SOURCE
    number = re.search(r"\d+(\.\d+)*", what)
    return document, [int(digits) for digits in number[0].split(".")] if number else [2**31], what


def _contents(parts: list[tuple[Reproduction, Report]]) -> str:
    """Table of contents: what is reproduced of each document, and where."""
    documents: dict[str, list[str]] = {}
    for module, report in parts:
        document, what = module.SOURCE
        wrong = "" if report.ok else " (something disagrees)"
        link = f'<a href="#{module.NAME}">{html.escape(report.title)}</a>{wrong}'
        documents.setdefault(document, []).append(f"<td>{html.escape(what)}</td><td>{link}</td>")
    rows = "".join(
        f"<tr><td>{html.escape(document) if number == 0 else ''}</td>{cells}</tr>"
        for document, listed in documents.items()
        for number, cells in enumerate(listed)
    )
    return f"<nav><table><tr><th>document</th><th>table or figure</th><th>here</th></tr>{rows}</table></nav>"


def _section(folder: Path, module: Reproduction, report: Report) -> str:
    body = "".join(
        f'<tr class="{cells[3]}">' + "".join(_cell(heading, cell) for heading, cell in zip(HEADINGS, cells, strict=True)) + "</tr>"
        for cells in (row.cells() for row in report.rows)
    )  # fmt: skip
    head = "".join(f'<th class="{_kind(heading)}">{heading}</th>' for heading in HEADINGS)
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in report.notes)
    pictures = "".join(_picture(folder, file) for file in report.files if file.suffix == ".png")
    tables = ", ".join(
        f'<a href="{html.escape(file.relative_to(folder).as_posix())}">{html.escape(file.name)}</a>'
        for file in report.files
        if file.suffix in (".csv", ".pdf")
    )
    return (
        f'<h2 id="{module.NAME}">{html.escape(report.title)}</h2><p>{html.escape(module.ABOUT)}</p>'
        f"<p>{html.escape(': '.join(module.SOURCE))}</p>"
        f"<p><code>catena reproduce {module.NAME}</code></p><table><tr>{head}</tr>{body}</table>{notes}{pictures}"
        f"<p>Numbers and vector pictures: {tables}</p>"
    )


def _picture(folder: Path, file: Path) -> str:
    """A picture at a size at which all pictures have letters of equal size."""
    width = int.from_bytes(file.read_bytes()[16:20], "big")  # width, from the PNG header
    address = html.escape(file.relative_to(folder).as_posix())
    return f'<img src="{address}" alt="{html.escape(file.stem)}" width="{round(SHOWN * width)}">'


def _references(content: str) -> str:
    """The works that the page cites by their keys."""
    found = bibtex(sorted(set(re.findall(r"\[(\w+\d{4}\w*)\]", content))))
    listed = "".join(f"<li>[{key}] {html.escape(readable(entry))}</li>" for key, entry in found.items())
    return f"<h2>References</h2><ul>{listed}</ul>"


def _kind(heading: str) -> str:
    return "number" if heading in ("ours", "reference") else "words"


def _cell(heading: str, text: str) -> str:
    return f'<td class="{_kind(heading)}">{html.escape(text)}</td>'
