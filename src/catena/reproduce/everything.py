"""All reproductions on one page: ours beside the published numbers, what differs and why, and the command of each."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .report import HEADINGS, Report

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th { text-align: left; border-bottom: 2px solid #888; } th, td { padding: .15rem .6rem .15rem 0; vertical-align: top; }
td.number { font-family: ui-monospace, monospace; white-space: nowrap; text-align: right; }
tr.NO td { color: #b00020; font-weight: 600; } code { background: #f2f2f2; padding: .1rem .3rem; }
img { max-width: 100%; height: auto; margin: 1rem 0; } nav li { margin: .1rem 0; } p.note { color: #555; margin: .2rem 0; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #16181c; } code { background: #2a2d33; } p.note { color: #aaa; }
img { background: #fff; } tr.NO td { color: #ff8a80; } }
"""


def write_page(folder: Path, made: Iterable[tuple[Any, Report]], *, version: str) -> Path:
    """index.html in a folder whose subfolders hold the files of the reports."""
    parts = list(made)
    links = "".join(
        f'<li><a href="#{module.NAME}">{html.escape(report.title)}</a>{"" if report.ok else " (something disagrees)"}</li>'
        for module, report in parts
    )
    sections = "\n".join(_section(folder, module, report) for module, report in parts)
    agreeing = sum(row.agrees is True for _, report in parts for row in report.rows)
    asked = sum(row.agrees is not None for _, report in parts for row in report.rows)
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Reproduced with catena</title><style>{STYLE}</style>"
        f"<h1>Published tables and figures, computed again</h1>"
        f"<p>catena {html.escape(version)}: {agreeing} of {asked} compared numbers agree. "
        f"Where no agreement can be asked for, the remark says why.</p><nav><ul>{links}</ul></nav>{sections}</html>\n"
    )
    file = folder / "index.html"
    written = folder / ".index.html.new"
    written.write_text(page, encoding="utf-8")
    written.replace(file)
    return file


def _section(folder: Path, module: Any, report: Report) -> str:
    body = "".join(
        f'<tr class="{cells[3]}">' + "".join(_cell(heading, cell) for heading, cell in zip(HEADINGS, cells, strict=True)) + "</tr>"
        for cells in (row.cells() for row in report.rows)
    )  # fmt: skip
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in report.notes)
    pictures = "".join(
        f'<img src="{html.escape(file.relative_to(folder).as_posix())}" alt="{html.escape(file.stem)}">'
        for file in report.files
        if file.suffix == ".png"
    )
    tables = ", ".join(
        f'<a href="{html.escape(file.relative_to(folder).as_posix())}">{html.escape(file.name)}</a>'
        for file in report.files
        if file.suffix in (".csv", ".pdf")
    )
    return (
        f'<h2 id="{module.NAME}">{html.escape(report.title)}</h2><p>{html.escape(module.ABOUT)}</p>'
        f"<p><code>catena reproduce {module.NAME}</code></p><table><tr>{head}</tr>{body}</table>{notes}{pictures}"
        f"<p>Numbers and vector pictures: {tables}</p>"
    )


def _cell(heading: str, text: str) -> str:
    number = ' class="number"' if heading in ("ours", "reference") else ""
    return f"<td{number}>{html.escape(text)}</td>"
