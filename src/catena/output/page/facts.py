"""A summary of a run: for the page, and for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ...text.plain import clip

if TYPE_CHECKING:
    from ...running.runs import Run

LONGEST = 400  # characters of a value


def facts(run: Run, *, samples: int | None = None) -> list[tuple[str, str]]:
    """Names and values that describe a run. `samples`: of a killed run, fewer samples may be readable than it made."""
    count = run.steps // run.plan.every + 1 if samples is None else samples
    end = float(run.plan.times(run.steps))
    described = {name: in_short(value) for name, value in run.system.describe().items() if name != "kind"}
    return [
        ("system", str(run.system.title)),
        *described.items(),
        ("method", str(run.method)),
        ("dt", repr(run.plan.dt)),
        ("steps", str(run.steps)),
        ("time", f"{run.plan.t0:.10g} to {end:.10g}"),
        *([("ended", str(run.ending["reason"]))] if "reason" in run.ending else []),
        *([("damage", "; ".join(run.damage))] if run.damage else []),
        *([("continued", "; ".join(run.changes))] if run.changes else []),
        ("samples", f"{count}, {rhythm(run.plan.every)}"),
        *((f"unit of {name}", str(unit)) for name, unit in run.plan.units.items()),
    ]


def facts_table(run: Run) -> str:
    """The facts as a small HTML table."""
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts(run))
    return f"<table>{''.join(rows)}</table>"


def rhythm(every: int) -> str:
    """How often a sample is kept, in words."""
    return "every step" if every == 1 else f"every {every} steps"


def in_short(value: object) -> str:
    """A part of a description on one line."""
    if isinstance(value, dict):
        text = ", ".join(f"{name} = {part}" for name, part in value.items())
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return clip(text, LONGEST)
