"""A page that shows a run: the motion in space, the invariants, the audit. It needs only a browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...geometry import rotations
from ...log import log_message
from ...running.auditing import Audit, canonical
from ...running.auditing.table import HEADINGS, NUMBERS, cells
from ...running.plan import positive_integer
from ...systems.alike import Alike
from ...systems.base import System
from ...text.citations import bibtex, readable
from ...text.plain import Json, clip, ordinal
from ...version import __version__
from ..files import write_text
from ..showing import scene_of, scene_or_nothing
from .appearance import Appearance, Joint, appearance_of, has_bodies
from .charts import charts
from .colouring import Scalar, scalars
from .facts import facts
from .frames import Frames, choose_frames, encode, text_of
from .marks import marks_of

if TYPE_CHECKING:
    from ...running.runs import Run

MOST_FRAMES = 2000
NOTEBOOK_HEIGHT = 760
MOST_PARTICLES, MOST_LINKS = 1000, 250  # drawn at first: more would slow the page down
PARTICLES_HELD = 200_000  # that can be switched on: more would make the page larger than its frames
PAINTED = {"ellipsoid": "octants", "cone": "octants", "disc": "quadrants", "rod": "quadrants"}
ONE_COLOUR, BY_FACE = -1, -2  # instead of a scalar
LINK = 0.07  # radius of a link, as a fraction of the extent of the bodies ...
LEAST_LINK, LONG_LINK = 0.001, 0.1  # ... but at least this fraction of the whole, and at most that of its own length
GROUND_GAP = 1.2  # distance of the middle of the ground from the point of its joint, in radii of the joint
PREFERRED = ("tension, mean of its links", "speed", "angular speed")


@dataclass(frozen=True)
class Page:
    """A page as text. A notebook shows it in a frame.

    Attributes
    ----------
    html : the whole page; it loads nothing from elsewhere
    notes : what the page leaves out, in words
    """

    html: str = field(repr=False)
    notes: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write the page to a file, which appears complete or not at all."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: {NOTEBOOK_HEIGHT}px; border: 0" '
            'title="catena"></iframe>'
        )


def page_of(run: Run, *, title: str | None = None, frames: int | None = None) -> Page:
    """The page of a run.

    Parameters
    ----------
    run : a run, finished or not, in memory or stored
    title : heading; by default the name of the problem or system
    frames : largest number of samples to show, 2000 if None; if there are more, every k-th is shown, and the page says
        so
    """
    most = MOST_FRAMES if frames is None else positive_integer(frames, "frames")
    if most < 2:
        raise InputError("frames = 1", where="view.frames", do="give two or more")
    scene_of(run.system, where="view")
    shown = choose_frames(run, most)
    with np.errstate(over="ignore", invalid="ignore"):  # a run that blew up
        drawn, length = charts(run)
        coloured = scalars(run.system, shown.data)
    notes = _notes(run, shown, length)
    for note in notes:
        log_message(note)
    heading = _title(run) if title is None else title
    description, arrays = describe(run.system, shown, float(run.data.time.values[-1]), drawn, coloured, heading)
    _add_marks(run, shown, description, arrays)
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(run, samples=shown.samples)
    )
    sections = (
        section("Audit", f'<div class="table">{_audit(run.audit())}</div>')
        + f'\n<div class="columns">\n  {section("Run", f"<dl>{listed}</dl>")}\n  '
        + section("To cite", _citation(run.method.traits.cite))
        + "\n</div>"
    )
    return assemble(
        heading, _subtitle(run), about=run.plan.about, notes=notes, charted="Invariants, from their start", sections=sections, time_name="t",
        time_unit=run.plan.units.get("time", ""), description=description, arrays=arrays,
    )  # fmt: skip


def section(title: str, inside: str) -> str:
    """A part of the page below the charts."""
    return f'<section class="card padded"><h2>{title}</h2>{inside}</section>'


def assemble(
    heading: str,
    subtitle: str,
    *,
    about: str,
    notes: Sequence[str],
    charted: str,
    sections: str,
    time_name: str,
    time_unit: object,
    description: dict[str, Json],
    arrays: dict[str, str],
) -> Page:
    """The page of a motion.

    Parameters
    ----------
    charted : title of the charts
    sections : HTML of everything below them
    time_name, time_unit : labels of the clock
    description, arrays : data for the script on the page
    """
    text = Template(_part("template.html")).substitute(
        title=escape(heading),
        subtitle=escape(subtitle),
        about=f'<p class="about">{escape(about)}</p>' if about else "",
        style=_part("viewer.min.css"),
        time_name=escape(time_name),
        time_unit=escape(f" {time_unit}" if time_unit else ""),
        notes="".join(f"<p>{escape(note)}</p>" for note in notes),
        charted=escape(charted),
        sections=sections,
        footer=f"catena {escape(__version__)}",
        description=json.dumps(description, allow_nan=False).replace("<", "\\u003c"),
        arrays="\n".join(
            f'<script type="application/base64" id="{name}">{text}</script>' for name, text in arrays.items()
        ),
        licence=_part("viewer.licence.txt").strip(),
        viewer=_part("viewer.min.js"),
    )
    return Page(text, tuple(notes))


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _title(run: Run) -> str:
    """The name of the problem or system, in words."""
    name = run.plan.name.replace("_", " ")
    return name[:1].upper() + name[1:] if name else str(run.system.in_words)


def _subtitle(run: Run) -> str:
    stored = f"{run.path.name} \u00b7 " if run.path is not None else ""
    moved = clip(repr(run.system), 160)
    return f"{stored}{moved} \u00b7 {run.method}, dt = {run.plan.dt:g}, {run.steps} steps"


def _notes(run: Run, shown: Frames, length: int) -> list[str]:
    """What the page leaves out."""
    notes = []
    if shown.every > 1:
        notes.append(
            f"{len(shown.position)} of {shown.samples} samples are shown in space, every {ordinal(shown.every)}; "
            "frames= or --frames changes that."
        )
    if shown.is_quantised:
        notes.append(f"Positions in space are rounded to {shown.resolution:.1g} to keep the page small.")
    if length > 1:
        notes.append(f"Each point of a chart stands for {length} samples: their least and their largest value.")
    coordinates = scene_or_nothing(run.system).coordinates
    if shown.orientation is None and len(coordinates) > 3:
        notes.append(f"The path is that of {', '.join(shown.axes)}, three of {len(coordinates)} coordinates.")
    bodies = scene_or_nothing(run.system).bodies
    particles = int(Alike(bodies).each(lambda body: len(body.particles)).sum()) if bodies else 0
    if particles > PARTICLES_HELD:
        notes.append(f"The {particles} particles of the bodies are left out.")
    lost = int((~shown.is_sound).any(axis=1).sum())
    if lost:
        notes.append(f"In {lost} frames something is not finite, or too far away; it is drawn at the origin.")
    return notes


def describe(
    system: System, shown: Frames, last: float, drawn: list[dict[str, Json]], coloured: list[Scalar], heading: str,
    first: Sequence[str] = (),
) -> tuple[dict[str, Json], dict[str, str]]:  # fmt: skip
    """The data for the script on the page: JSON, and arrays by name.

    Parameters
    ----------
    last : time of the last sample
    first : names of scalars that are preferred as colours of the bodies
    """
    reading, arrays = encode(shown)
    looks = appearance_of(system) if has_bodies(system) else None
    single = looks is not None and looks.count == 1
    names = [scalar.name for scalar in coloured]
    preferred = next((names.index(name) for name in (*first, *PREFERRED) if name in names), -1)
    description: dict[str, Json] = {
        "file": "".join(c if c.isalnum() or c in "-_" else "-" for c in heading)[:60] or "catena",
        "time": shown.data.time.values.tolist(),
        "timeEnd": last,
        "samples": shown.samples,
        "every": shown.every,
        "axes": shown.axes,
        "flat": len(shown.axes) == 2,
        "stretch": shown.stretch,
        "poses": reading,
        "charts": drawn,
        "scalars": [{"name": s.name, "low": s.low, "high": s.high, "cut": s.is_cut} for s in coloured],
        "colour": BY_FACE if single else preferred if looks is not None else ONE_COLOUR,
        "trail": "off" if looks is not None and not single else "whole",
        "hasScale": "scale" in shown.data,
        "bodies": None,
        "arrows": None,
        "marks": [],
    }
    arrays |= {f"scalar-{i}": text_of(scalar.levels, "u1") for i, scalar in enumerate(coloured)}
    if looks is not None:
        if "scale" in shown.data:
            arrays["scale"] = text_of(shown.data["scale"].values.reshape(len(shown.position), -1), "<f4")
        reaches = np.array([shape.reach for shape in looks.shapes])
        bodies = _bodies(looks, shown, _upwards(system))
        description |= {"bodies": bodies, "reach": reaches[looks.shape_of].tolist(), "size": 1.0}
        if single:
            description["arrows"], arrays["spin"] = _arrows(looks, shown)
    else:
        extent = float(np.linalg.norm(np.ptp(shown.drawn, axis=(0, 1)) * shown.stretch)) or 1.0
        description |= {"size": 0.012 * extent, "reach": [0.012 * extent]}
    return description, arrays


def _add_marks(run: Run, shown: Frames, description: dict[str, Json], arrays: dict[str, str]) -> None:
    """Add the forces and torques on the bodies to the data for the script on the page."""
    if description["bodies"] is None:
        return
    reaches = np.array([shape.reach for shape in appearance_of(run.system).shapes])
    found = marks_of(run, shown, float(2.0 * reaches.mean()))
    origin = encode(shown)[0]["origin"]
    description["marks"] = [
        {"name": one.name, "kind": one.kind, "count": one.ends.shape[1], "shown": one.shown} for one in found
    ]
    arrays |= {f"marks-{i}": text_of(one.ends - np.array(origin), "<f4") for i, one in enumerate(found)}


def _arrows(looks: Appearance, shown: Frames) -> tuple[dict[str, Json], str]:
    """Lengths of the axes of a single body, and its angular momentum in space in every frame, over the largest."""
    shape = looks.shapes[0]
    assert shown.orientation is not None
    with np.errstate(over="ignore", invalid="ignore"):  # a run that blew up
        spin = rotations.rotate(shown.orientation[:, 0], shown.data["angular_momentum"].values)
        spin = spin / (np.linalg.norm(spin, axis=1).max() or 1.0)
    spin = np.where(np.isfinite(spin) & shown.is_sound[:, :1], spin, 0.0)
    lengths = 1.2 * np.abs(shape.vertices).max(axis=0) + 0.1 * shape.reach
    return {"axes": lengths.tolist(), "reach": 1.3 * shape.reach}, text_of(spin, "<f4")


def _upwards(system: System) -> Array:
    """The direction against gravity; z without gravity."""
    gravity = np.array(scene_or_nothing(system).gravity, dtype=float)
    return -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])


def _plate(joint: Joint, shown: Frames, up: Array) -> list[float] | None:
    """Position of the ground at a joint: on the side of its point away from the body at the start."""
    if joint.parent >= 0:
        return None
    side = -1.0 if (shown.drawn[0, joint.child] - joint.at_parent) @ up > 0.0 else 1.0
    return (joint.at_parent + side * GROUND_GAP * joint.size * up).tolist()


def _link_size(looks: Appearance, shown: Frames) -> float:
    """Radius of links: thin beside the bodies, but visible if these are far apart, as in a slender rod."""
    beside = LINK * float(np.mean([shape.half_extents.max() for shape in looks.shapes]))
    places = shown.drawn[0]
    if not len(looks.links):
        return beside
    apart = float(np.mean(np.linalg.norm(places[looks.links[:, 1]] - places[looks.links[:, 0]], axis=1)))
    return max(beside, min(LEAST_LINK * float(np.ptp(places, axis=0).max()), LONG_LINK * apart))


def _bodies(looks: Appearance, shown: Frames, up: Array) -> dict[str, Json]:
    held = slice(len(looks.particle_body) if len(looks.particle_body) <= PARTICLES_HELD else 0)
    return {
        "shapes": [
            {
                "vertices": text_of(shape.vertices, "<f4"), "faces": text_of(shape.faces, "<u4"),
                "smooth": shape.smooth, "painted": PAINTED.get(shape.kind, ""),
            }
            for shape in looks.shapes
        ],
        "shapeOf": looks.shape_of.tolist(),
        "particles": {
            "body": looks.particle_body[held].tolist(), "at": looks.particle_at[held].tolist(), "size": looks.particle_size[held].tolist(),
            "colour": None if looks.particle_colour is None else list(looks.particle_colour[held]),
            "shown": 0 < len(looks.particle_body) <= MOST_PARTICLES,
        },
        "links": looks.links.tolist(),
        "linkSize": _link_size(looks, shown),
        "linksShown": bool(looks.joints) or len(looks.links) <= MOST_LINKS,
        "joints": [
            {
                "parent": j.parent, "child": j.child, "atParent": j.at_parent.tolist(), "atChild": j.at_child.tolist(),
                "axis": None if j.axis is None else j.axis.tolist(), "size": j.size, "plate": _plate(j, shown, up), "up": up.tolist(),
            }
            for j in looks.joints
        ],
        "traced": looks.traced.tolist(),
    }  # fmt: skip


def _audit(audit: Audit) -> str:
    """The audit as tables."""
    below = [f'<p class="contradicts">{escape(text)}</p>' for text in audit.damage]
    below += [f"<p>{escape(text)}</p>" for text in audit.closing]
    tables = []
    if audit.rows or not audit.canonical.rows:
        against = ", against the promise"
        kept = [
            ((*cells(row)[:-1], row.finding + (against if row.contradicts else "")), _colour(row.verdict, row.contradicts))
            for row in audit
        ]  # fmt: skip
        tables.append(_table(HEADINGS, NUMBERS, kept))
    if audit.canonical.rows:
        laws = [(canonical.cells(row), _colour(row.verdict, row.contradicts)) for row in audit.canonical]
        tables.append(_table(canonical.HEADINGS, canonical.NUMBERS, laws))
    return "".join([*tables, *below])


def _colour(verdict: str, contradicts: bool) -> str:
    """The class of a verdict in the style sheet."""
    good = {"canonical": "exact"}
    return "contradicts" if contradicts else good.get(verdict, verdict.replace(" ", "-"))


def _table(head: Sequence[str], numbers: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> str:
    """A table whose last column is coloured by its verdict."""

    def line(tag: str, texts: Sequence[str], verdict: str = "") -> str:
        marks = [' class="number"' if name in numbers else "" for name in head]
        marks[-1] = f' class="{verdict}"' if verdict else ""
        filled = [f"<{tag}{m}>{escape(_typeset(c))}</{tag}>" for c, m in zip(texts, marks, strict=True)]
        return f"<tr>{''.join(filled)}</tr>"

    body = "".join(line("td", texts, verdict) for texts, verdict in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"


def _typeset(text: str) -> str:
    """A number as the page shows it: unknown is a dash, +- one character."""
    return "\u2013" if text == "-" else text.replace("+-", "\u00b1").replace("\n", " ")


def _citation(keys: tuple[str, ...]) -> str:
    entries = bibtex(keys)
    if not entries:
        return "<p>The method has no source of its own.</p>"
    listed = "".join(f"<li>{escape(readable(entry))}</li>" for entry in entries.values())
    text = escape("\n\n".join(entries.values()))
    return f'<ul class="works">{listed}</ul><details><summary>BibTeX</summary><pre>{text}</pre></details>'
