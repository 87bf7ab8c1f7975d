"""Pages of motions that are not runs: a mode that oscillates, equilibria along a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...systems.alike import Alike
from ...systems.base import System
from ...text.plain import Json, clip
from .colouring import scalars
from .facts import in_short
from .frames import Frames, text_of
from .page import Page, assemble, describe, section

if TYPE_CHECKING:
    from ...analysis.statics.equilibrium_path import EquilibriumPath
    from ...analysis.statics.modes import Modes

FRAMES = 120  # of a period
LISTED = 40  # frequencies in the table


def mode_page(modes: Modes, mode: int, amplitude: float | None, title: str | None) -> Page:
    """One period of a mode, from the equilibrium on.

    Parameters
    ----------
    amplitude : of the modal displacement; None: large enough to see well
    """
    size = modes.visible_amplitude(mode) if amplitude is None else amplitude
    omega = abs(float(modes.omega[mode]))
    phase = 2.0 * np.pi * np.arange(FRAMES + 1) / FRAMES
    position, orientation = modes.displaced(mode, size * np.sin(phase))
    rates, alike = size * omega * np.cos(phase)[:, None, None], Alike(modes.system.bodies)
    mass, tensor = alike.each(lambda body: body.mass), alike.each(lambda body: body.tensor)
    moved = modes.displacement(mode).position
    momenta = (rates * mass[:, None] * moved, rates * np.einsum("nij,nj->ni", tensor, modes.vectors[mode][:, 3:]))
    grows = modes.omega[mode] < 0.0
    value = f"grows as exp({omega:.6g} t)" if grows else f"omega = {omega:.10g}, period {2.0 * np.pi / omega:.6g}"
    notes = [
        f"A small motion, drawn large: its largest displacement is {_largest(position - modes.state.position):.3g}."
    ]
    if grows:
        notes.append("This mode is unstable: it grows instead of oscillating, and is shown to and fro.")
    return pose_page(
        modes.system, phase / omega, position, orientation, momenta, title=title or f"Mode {mode}: {value}", charted="Displacement of the mode",
        charts={"amplitude": size * np.sin(phase)}, about="", notes=notes, sections=_frequencies(modes, mode) + _facts(modes.system), time_name="t",
        colour="distance from the start",
    )  # fmt: skip


def path_page(path: EquilibriumPath, title: str | None) -> Page:
    """Equilibria along a path, one frame each."""
    held = max(1, round(FRAMES / len(path.states)))  # frames for each: a few states would be over in a moment
    numbers = np.repeat(np.arange(len(path.states)), held)
    position, orientation = (
        np.array([path.states[k].fields[name] for k in numbers]) for name in ("position", "orientation")
    )
    notes = [
        f"Each of {len(path.states)} equilibria that were computed, one after the other; nothing moves between them."
    ]
    notes += [f"Stability ends here: {path.limit}."] if path.limit is not None else []
    charts = {
        "load": path.load[numbers],
        "extension": path.extension[numbers],
        "lowest eigenvalue": path.lowest[numbers],
    }
    still = (np.zeros_like(position), np.zeros_like(position))
    return pose_page(
        path.chain, numbers.astype(float), position, orientation, still, title=title or "Equilibria under a growing load", charted="Along the path, from its start",
        charts=charts, about="", notes=notes, sections=_facts(path.chain), time_name="equilibrium",
    )  # fmt: skip


def pose_page(
    system: System,
    time: Array,
    position: Array,
    orientation: Array,
    momenta: tuple[Array, Array],
    *,
    title: str,
    about: str,
    notes: Sequence[str],
    charted: str,
    charts: Mapping[str, Array],
    sections: str,
    time_name: str,
    colour: str = "",
) -> Page:
    """A page of poses of the bodies of a system, one frame for each.

    Parameters
    ----------
    time : (m,) what the clock shows, called `time_name`
    position, orientation : (m, n, 3), (m, n, 4)
    momenta : (m, n, 3) twice: momentum, and angular momentum in the bodies; bodies can be coloured by them
    charts : curves by name, (m,) each
    sections : HTML below the charts
    colour : the initial colouring of the bodies
    """
    import xarray

    fields = {"position": position, "orientation": orientation, "momentum": momenta[0], "angular_momentum": momenta[1]}
    dims = {name: ("time", "body", "wxyz" if name == "orientation" else "xyz") for name in fields}
    data = xarray.Dataset({name: (dims[name], values) for name, values in fields.items()}, {"time": time})
    shown = Frames(data, 1, len(time), position, orientation, ("x", "y", "z"))
    with np.errstate(over="ignore", invalid="ignore"):
        coloured = scalars(system, data)
    drawn = [_chart(name, values) for name, values in charts.items()]
    description, arrays = describe(system, shown, float(time[-1]), drawn, coloured, title, (colour,))
    return assemble(
        title, clip(repr(system), 160), about=about, notes=notes, charted=charted, sections=sections, time_name=time_name, time_unit="",
        description=description, arrays=arrays,
    )  # fmt: skip


def _chart(name: str, values: Array) -> dict[str, Json]:
    change = values - values[0]
    unit = float(np.abs(change).max(initial=0.0)) or 1.0
    text = text_of(change / unit, "<f4")
    return {"name": name, "about": "", "start": [float(values[0])], "labels": [""], "unit": unit, "low": text, "high": text}  # fmt: skip


def _frequencies(modes: Modes, shown: int) -> str:
    """A table of frequencies, with the mode that is shown in bold."""
    lines = [
        '<tr><th>mode</th><th class="number">omega</th><th class="number">period</th><th class="number">error to be expected</th></tr>'
    ]
    for mode, (omega, error) in enumerate(zip(modes.omega[:LISTED], modes.error, strict=False)):
        cells = [str(mode), f"{omega:.12g}", f"{2.0 * np.pi / omega:.6g}" if omega > 0.0 else "grows", f"{error:.1e}"]
        cells = [f"<strong>{cell}</strong>" if mode == shown else cell for cell in cells]
        lines.append(
            "<tr>"
            + "".join(f'<td class="number">{cell}</td>' if k else f"<td>{cell}</td>" for k, cell in enumerate(cells))
            + "</tr>"
        )
    rest = len(modes.omega) - LISTED
    free = "1 motion costs nothing; it is" if modes.zero == 1 else f"{modes.zero} motions cost nothing; they are"
    below = [f"<p>{free} not among the modes.</p>"] if modes.zero else []
    below += [f"<p>{rest} more are not listed.</p>"] if rest > 0 else []
    return section(
        "Frequencies", f'<div class="table"><table><tbody>{"".join(lines)}</tbody></table></div>{"".join(below)}'
    )


def _facts(system: System) -> str:
    described = {name: in_short(value) for name, value in system.describe().items() if name != "kind"}
    pairs = {"system": str(system.title), **described}
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs.items())
    return section("System", f"<dl>{listed}</dl>")


def _largest(moved: Array) -> float:
    return float(np.linalg.norm(moved, axis=-1).max())
