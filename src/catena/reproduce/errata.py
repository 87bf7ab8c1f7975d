"""The errata as HTML, for a page without MathJax: short formulas as letters with super- and subscripts."""

from __future__ import annotations

import html
import re
from importlib.resources import files

LETTERS = {
    "alpha": "α", "beta": "β", "theta": "θ", "lambda": "λ", "phi": "φ", "mu": "μ", "varphi": "φ", "psi": "ψ", "tau": "τ", "omega": "ω",
    "Lambda": "Λ", "cdot": "·", "times": "×", "sum": "∑", "le": "≤", "dots": "…", "lvert": "|", "rvert": "|",
    "sin": " sin ", "cos": " cos ",
}  # fmt: skip
ABOVE = {"dot": "\u0307", "ddot": "\u0308", "hat": "\u0302", "tilde": "\u0303"}
LABEL = re.compile(r"^\(errata-\w+\)=$", re.M)
FORMULA = re.compile(r"\$([^$]+)\$")
ROLE = re.compile(r"\{cite\}`([^`]+)`")
CODE = re.compile(r"`([^`]+)`")


def errata_html() -> str:
    """All errata: a heading for each document, its tables, and the text between them."""
    text = LABEL.sub("", (files(__package__) / "errata.md").read_text(encoding="utf-8"))
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    return "\n".join(_block(block.strip()) for block in blocks)


def formula(tex: str) -> str:
    r"""A short formula as HTML.

    Examples
    --------
    >>> formula(r"\dot\theta\cos\phi = q_{12}^T")
    '<i>θ̇ cos φ = q<sub>12</sub><sup>T</sup></i>'
    """
    made = tex.replace(r"\,", " ").replace(r"\frac12", "½").replace("-", "−").replace(r"\{", "⦃").replace(r"\}", "⦄")
    made = re.sub(r"\\mathrm\{(\w+)\}", r"\1", made)
    made = html.escape(made, quote=False)
    made = re.sub(r"\\([A-Za-z]+)", lambda m: LETTERS.get(m[1], m[0]), made)
    made = re.sub(r"\\(ddot|dot|hat|tilde) ?(\w)", lambda m: m[2] + ABOVE[m[1]], made)
    for _ in range(2):  # an index may have an index
        made = re.sub(r"_(\w|\{[^{}]*\})", lambda m: f"<sub>{m[1].strip('{}')}</sub>", made)
    made = re.sub(r"\^(\w|\{[^{}]*\})", lambda m: f"<sup>{m[1].strip('{}')}</sup>", made)
    made = made.replace("⦃", "{").replace("⦄", "}")  # visible braces, not grouping ones
    return f"<i>{re.sub(' +', ' ', made).strip()}</i>"


def _block(block: str) -> str:
    if block.startswith("#"):
        level = len(block) - len(block.lstrip("#"))
        return f"<h{level + 1}>{_inline(block.lstrip('# '))}</h{level + 1}>"
    if not block.startswith("|"):
        return f"<p>{_inline(block)}</p>"
    head, _, *rows = [_cells(line) for line in block.splitlines()]
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>{body}</table>"


def _cells(line: str) -> list[str]:
    return [_inline(cell.strip()) for cell in line.strip().strip("|").split("|")]


def _inline(text: str) -> str:
    """Formulas, citations, code and emphasis; everything else is escaped."""
    made, place = [], 0
    for found in FORMULA.finditer(text):
        made += [_words(text[place : found.start()]), formula(found[1])]
        place = found.end()
    return "".join([*made, _words(text[place:])])


def _words(text: str) -> str:
    escaped = ROLE.sub(r"[\1]", html.escape(text, quote=False))
    return re.sub(r"\*(\w+)\*", r"<em>\1</em>", CODE.sub(r"<code>\1</code>", escaped))
