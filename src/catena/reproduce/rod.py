"""The question at the end of the work on chains: linearise a long chain at its equilibrium, and compare it with a
Cosserat rod.

The chain is the helix of tetrahedra, whose equilibrium is stable. It has six branches of waves and no single natural
frequency; two long waves of stretch and twist, and two of bending, are those of a rod. The rate of convergence depends
on two details that are easily missed: a body represents the length of one link around it, so that a free end is half a
link longer; and the rod must have the compliance of a link averaged over the link, not at every point. With both
details the order is 2; without either, it is 1.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ..analysis.statics.rod import RodLimit
from ..analysis.statics.rod_comparison import RodComparison
from ..analysis.statics.rod_modes import rod_frequencies
from ..output.static_plots import draw_dispersion
from ..output.style import legend_above, line_style, plain_log_axis
from ..problems.chains import helix_chain
from ..systems.base import Array
from .report import Folder, Report, Row, compare

NAME = "rod"
ABOUT = "a long chain linearised at its equilibrium, against the Cosserat rod that it tends to"
SOURCE = ("A thesis on chains of rigid bodies", "section 4.2, what it would do next")

SIZES = (9, 17, 33, 65, 129)
COUNT = 6  # lowest frequencies, which are compared
FIRST = 0.5339158579010782  # of eight bodies, clamped and free
LONG = {1001: 3.220624940226233e-5}
WAVES = (7.708611183343972, 9.05837199782145)  # slopes of long stretch-twist waves, computed with 40 digits
BENDING = 9.169002117198601  # b of long bending waves, computed with 45 digits
# largest relative errors of the lowest six frequencies, two digits, by an independent program; lengths in pairs, whose
# quotient is used
ERRORS = {
    "rod": {17: 2.9e-3, 33: 7.3e-4, 65: 3.2e-4, 129: 8.1e-5},
    "without half a link": {17: 6.2e-2, 33: 3.1e-2, 65: 1.6e-2, 129: 7.8e-3},
    "compliance turned along": {17: 6.5e-3, 33: 2.2e-3, 65: 1.25e-3, 129: 3.5e-4},
}
TWO_DIGITS = 0.03
NOTES = (
    "References: frequencies in 32 digits by Rayleigh-Ritz, waves in 40 digits by Bloch's method, errors of the rod by a separate program.",
    "The printed chain at spacing 2 cannot be linearised: between clamps it is an unstable equilibrium (omega^2 = -207), else it is none.",
)


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Frequencies, waves and the order of convergence; `quick` stops at 33 bodies, and omits the long chain."""
    sizes = SIZES[:3] if quick else SIZES
    helix = helix_chain(8, amp=0.0)
    rod = helix.system.rod_limit(at=helix.start)
    found = rod.compare(sizes, count=COUNT)
    made = (np.abs(found.error).max(axis=1), _without_half_a_link(rod, found), _turn_along(rod, found))
    errors = dict(zip(ERRORS, made, strict=True))
    rows = [*_equilibrium_rows(quick=quick), *_wave_rows(rod), *_error_rows(found, errors)]
    folder = Folder(out)
    _draw(folder, rod, found, errors)
    return folder.report(NAME, "A long chain, and the rod that it tends to", rows, notes=NOTES)


def _equilibrium_rows(*, quick: bool) -> list[Row]:
    helix = helix_chain(8, amp=0.0)
    rest = helix.system.equilibrium(helix.start)
    modes = helix.system.normal_modes(rest)
    rows = [
        compare("equilibrium of 8 bodies: ways down", rest.negative, 0, remark=f"lowest omega^2 = {rest.lowest:.6g}"),
        compare("first frequency of 8 bodies", float(modes.omega[0]), FIRST, within=1e-12 * FIRST, digits=16),
    ]
    for n, wanted in {} if quick else LONG.items():
        long = helix_chain(n, amp=0.0)
        omega = float(long.system.normal_modes(long.start, count=COUNT).omega[0])
        rows.append(compare(f"first frequency of {n} bodies", omega, wanted, within=1e-12 * wanted, digits=16))
    return rows


def _wave_rows(rod: RodLimit) -> list[Row]:
    names = ("slower", "faster")
    rows = [
        compare(
            f"long waves of stretch and twist, {name}, links per time",
            float(ours),
            exact,
            within=1e-12 * exact,
            digits=16,
        )
        for name, ours, exact in zip(names, rod.speeds, WAVES, strict=True)
    ]
    b = float(rod.bending_coefficients[0])
    return [*rows, compare("long waves of bending, b", b, BENDING, within=1e-12 * BENDING, digits=16)]


def _error_rows(found: RodComparison, errors: dict[str, Array]) -> list[Row]:
    sizes, rows = found.sizes.tolist()[-2:], []
    for name, values in errors.items():
        for n, error in zip(sizes, values[-2:], strict=True):
            wanted = ERRORS[name][n]
            rows.append(
                compare(f"error: {name}, {n} bodies", float(error), wanted, within=TWO_DIGITS * wanted, digits=3)
            )
    between = f"{sizes[0]} to {sizes[1]} bodies, quotient of errors"
    first, second = (float(errors[name][-2] / errors[name][-1]) for name in ("rod", "without half a link"))
    return [
        *rows,
        compare(f"rod: {between}", first, 4.0, within=1.0, digits=3, remark="order 2"),
        compare(f"without half a link: {between}", second, 2.0, within=0.1, digits=3, remark="order 1"),
    ]


def _without_half_a_link(rod: RodLimit, found: RodComparison) -> Array:
    """Largest errors if the rod ends at the last body."""
    short = [rod_frequencies(rod, 0.0, n - 1.0, (True, False), COUNT) for n in found.sizes.tolist()]
    return np.abs(np.array(short) / found.chain - 1.0).max(axis=1)


def _turn_along(rod: RodLimit, found: RodComparison) -> Array:
    """Largest errors if the compliance at each point is that of a link, rotated along the screw."""
    local = {m: (m * rod.angle, part) for m, part in rod.mean.items()}
    made = [replace(rod, harmonics=local).modes(n, count=COUNT) for n in found.sizes.tolist()]
    return np.abs(np.array(made) / found.chain - 1.0).max(axis=1)


def _draw(folder: Folder, rod: RodLimit, found: RodComparison, errors: dict[str, Array]) -> None:
    with folder.picture("rod", width=7.2, height=3.4) as figure:
        left, right = figure.subplots(1, 2)
        _draw_errors(left, found, errors)
        _draw_waves(right, rod)
    frequencies = {
        f"{name} {k}": values[:, k]
        for name, values in (("chain", found.chain), ("rod", found.rod))
        for k in range(COUNT)
    }
    folder.numbers(
        "rod_errors",
        {"bodies": found.sizes, **{f"error, {name}": values for name, values in errors.items()}, **frequencies},
    )


def _draw_errors(ax: Axes, found: RodComparison, errors: dict[str, Array]) -> None:
    for number, (name, values) in enumerate(errors.items()):
        ax.loglog(found.sizes, values, marker="o", markersize=3.5, label=name, **line_style(number))
    for order, name in ((1, "without half a link"), (2, "rod")):
        guide = 0.4 * errors[name][-1] * (found.sizes[-1] / found.sizes) ** order
        ax.loglog(found.sizes, guide, color="0.6", linewidth=0.8, linestyle=(0, (2, 2)))
        ax.annotate(
            f"order {order}",
            (found.sizes[-1], guide[-1]),
            (-6, 1),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
            color="0.35",
        )
    plain_log_axis(ax.xaxis)
    ax.set(xlabel="bodies", ylabel=f"largest error of {COUNT} frequencies")
    legend_above(ax)


def _draw_waves(ax: Axes, rod: RodLimit) -> None:
    """Branches of the chain, and the long waves of the rod."""
    k = np.linspace(0.0, np.pi, 241)
    helix = helix_chain(8, amp=0.0)
    draw_dispersion(helix.system.dispersion(k, at=helix.start), ax)
    near, about = k[k < 0.9], k[np.abs(k - abs(rod.angle)) < 0.9]
    for speed in rod.speeds:
        ax.plot(near, speed * near, **line_style(1))
    ax.plot(
        about,
        rod.bending_coefficients[0] * (about - abs(rod.angle)) ** 2,
        label="long waves of the rod",
        **line_style(1),
    )
    legend_above(ax)
