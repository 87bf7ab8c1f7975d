"""The speed of a single rigid body: steps against C, and races against heyoka, SciPy and MuJoCo at equal error.

    catena bench free-body [-- --quick --out DIR]

prints the tables and writes free_body.json, free_body.md and free_body.png, without --out into benchmarks/results. All
times are CPU times of one process, candidates in turn; only their ratios are meaningful. A peer that is not installed
is skipped. --quick runs everything on tiny sizes, which says nothing about speed.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from catena.output import style
from catena.output.files import replacing, write_text
from engine import table
from free_body_races import (
    FREE,
    PEERS,
    RACES,
    SYMMETRIC,
    TOP,
    Entry,
    Race,
    attitude_error,
    exact_entry,
    heyoka_entry,
    installed,
    mujoco_entry,
    mujoco_model,
    our_entry,
    scipy_entry,
    taylor_entry,
)
from free_body_steps import against_dmv2, near_c
from timing import Seconds, sampled, time_at

RESULTS = Path(__file__).parent / "results"
Rows = list[dict[str, Any]]

UNIT = "heyoka, tolerance 1e-12"  # its time is the unit of a race if it takes part; otherwise that of the first entry
ENERGY_TOLERANCE = 1e-12  # of the start, computed by MuJoCo and by us
SAME_MOTION = 1e-5  # every participant, at its best, is at least this close to the reference


@dataclass(frozen=True)
class Sizes:
    """Problem sizes and numbers of repetitions."""

    steps: int
    rounds: int
    slot: float  # seconds of one sample, at least
    quick: bool

    def race(self, race: Race) -> Race:
        """The race, with few outputs in a quick run."""
        return replace(race, t_end=10 * race.t_end / race.outputs, outputs=10) if self.quick else race

    def some(self, settings: Sequence[Any]) -> Sequence[Any]:
        """All settings, or the first and the last."""
        return settings[:: max(1, len(settings) - 1)] if self.quick else settings


FULL = Sizes(steps=100_000, rounds=11, slot=0.05, quick=False)
QUICK = Sizes(steps=300, rounds=1, slot=0.0, quick=True)

# Who takes part ------------------------------------------------------------------------------------------------

TOLERANCES = {"heyoka": (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-14, 1e-15, 1e-16, 1e-18),
              "Taylor": (1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15),
              "DOP853": (1e-6, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)}  # fmt: skip
# steps from one output to the next
MUJOCO_STEPS = {FREE.name: (10, 20, 50, 100), TOP.name: (1, 2, 5, 10)}
FREE_METHODS = {
    ct.DMV(10): (2, 3, 4, 5, 6, 8, 10, 12, 16, 20),
    ct.DMV(12): (1, 2, 3, 4, 5, 6, 8, 10),
    ct.DMV("exact"): (1, 2),
    ct.Jacobi(): (1,),
}
TOP_METHODS = {
    ct.Splitting(6): (1, 2, 3, 4, 5, 6),
    ct.Splitting(8): (1, 2, 3, 4),
    ct.Splitting(8, ct.SymmetricRotation()): (1, 2, 3, 4),
    ct.Nystrom4(): (1, 2, 3, 4, 6, 8),
    ct.Nystrom6(): (1, 2, 3, 4),
    ct.Nystrom6(weak=True): (1, 2, 3, 4),
    ct.Gauss(4): (1, 2, 3),
    ct.Gauss(5): (1, 2),
}
LONG_STEPS = {
    ct.Gauss(8, span=2): (1,),
    ct.Gauss(8, span=4): (1,),
}  # several outputs in a step if they are close to each other


def peers_of(race: Race, name: str, sizes: Sizes) -> list[Entry]:
    """All settings of one peer."""
    if name == "MuJoCo RK4":
        return [mujoco_entry(race, steps) for steps in sizes.some(MUJOCO_STEPS[race.name])]
    make = {"heyoka": heyoka_entry, "DOP853": scipy_entry}[name]
    return [make(race, tolerance) for tolerance in sizes.some(TOLERANCES[name])]


def ours_of(race: Race, sizes: Sizes) -> list[Entry]:
    """Our methods with all their steps, Taylor series of tops, and the exact solution if there is one."""
    methods: Mapping[Any, Sequence[int]] = TOP_METHODS if race.strength else FREE_METHODS
    if race.name == TOP.name:
        methods = {**methods, **LONG_STEPS}
    if sizes.quick:
        methods = dict([next(iter(methods.items()))])
    entries = [exact_entry(race)] if race.is_solved else []
    if race.strength:
        entries += [taylor_entry(race, tolerance) for tolerance in sizes.some(TOLERANCES["Taylor"])]
    return entries + [our_entry(race, method, n) for method, steps in methods.items() for n in sizes.some(steps)]


# A race --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """An entry with its error and its time."""

    entry: Entry
    error: float
    energy_error: float
    seconds: Seconds


def run_race(race: Race, sizes: Sizes) -> tuple[list[Outcome], list[str]]:
    """All participants: first a check that they solve the same problem, then their times; and remarks."""
    right = race.reference()
    notes = [f"{race.name}: t = {race.t_end:g}, {race.outputs} outputs"]
    entries = ours_of(race, sizes)
    for peer in PEERS:
        if not installed(peer):
            notes.append(f"{peer}: not installed")
        elif peer == "MuJoCo RK4" and race.name not in MUJOCO_STEPS:
            notes.append(f"{peer}: refuses these moments")
        else:
            entries += peers_of(race, peer, sizes)
    notes += same_problem(race, right)

    outputs = {entry.name: entry.rows() for entry in entries}
    errors = {name: attitude_error(rows, right) for name, rows in outputs.items()}
    for who in dict.fromkeys(entry.who for entry in entries):
        nearest = min(errors[entry.name] for entry in entries if entry.who == who)
        assert nearest < SAME_MOTION, f"{who} solves another problem: {nearest:g} from the reference"
    energy = float(race.energy(right)[0])
    drifts = {name: float(np.abs(race.energy(rows) - energy).max()) for name, rows in outputs.items()}
    times = sampled({entry.name: entry.run for entry in entries}, rounds=sizes.rounds, slot=sizes.slot)
    return [Outcome(e, errors[e.name], drifts[e.name], times[e.name]) for e in entries], notes


def same_problem(race: Race, right: Any) -> list[str]:
    """Check the reference, and that MuJoCo's model, in its own notation, is the same body."""
    notes = []
    if installed("heyoka"):
        other = heyoka_entry(race, 1e-21, np.longdouble).rows()
        notes.append(f"reference against heyoka in extended precision: {attitude_error(other, right):.0e}")
    else:
        notes.append(f"reference with half the step: {attitude_error(race.reference(step=0.125), right):.0e}")
    if installed("MuJoCo RK4") and race.name in MUJOCO_STEPS:
        _, data = mujoco_model(race, 0.01, energy="enable")
        difference = abs(float(data.energy.sum()) - float(race.energy(right)[0]))
        assert difference < ENERGY_TOLERANCE, f"MuJoCo's body has another energy, by {difference:g}"
        notes.append(f"energy of MuJoCo's model at the start: differs by {difference:.0e}")
    return notes


def unit_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The entry whose time is the unit."""
    return next((o for o in outcomes if o.entry.name == UNIT), outcomes[0])


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def race_rows(outcomes: Sequence[Outcome]) -> Rows:
    """Error and time of each entry, the time in units of one of them."""
    unit = unit_of(outcomes).seconds
    return [
        {
            "entry": o.entry.name, "attitude error": rounded(o.error, 2), "energy error": rounded(o.energy_error, 2),
            "time": rounded(o.seconds.best / unit.best, 3), "median": rounded(o.seconds.median / unit.median, 3),
            "spread": f"{o.seconds.median / o.seconds.best - 1:.0%}",
        }
        for o in outcomes
    ]  # fmt: skip


# At equal error ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """Who races whom at which error, and how many times faster we want to be. ours: None for the best; peer: or
    ours."""

    race: str
    ours: str | None
    peer: str
    error: float
    target: float


CONTESTS = (
    Contest(FREE.name, "exact", "heyoka", 1e-12, 3.0),
    Contest(FREE.name, "DMV(10)", "heyoka", 1e-12, 1.0),
    Contest(FREE.name, "exact", "DOP853", 1e-8, 500.0),
    Contest(FREE.name, "DMV(10)", "DOP853", 1e-8, 50.0),
    Contest(FREE.name, "exact", "MuJoCo RK4", 1e-7, 500.0),
    Contest(FREE.name, "DMV(10)", "MuJoCo RK4", 1e-7, 60.0),
    Contest(TOP.name, "Taylor", "heyoka", 1e-8, 1.7),
    Contest(TOP.name, "Taylor", "heyoka", 1e-12, 2.2),
    Contest(TOP.name, "Gauss(8, span=4)", "heyoka", 1e-8, 0.8),
    Contest(TOP.name, "Nystrom6()", "Splitting(6)", 1e-9, 1.7),
    Contest(TOP.name, "Nystrom6()", "Splitting(6)", 1e-11, 1.7),
    Contest(TOP.name, None, "DOP853", 1e-8, 50.0),
    Contest(TOP.name, None, "MuJoCo RK4", 1e-7, 1.0),
    Contest(SYMMETRIC.name, "exact", "heyoka", 1e-8, 4.0),
    Contest(SYMMETRIC.name, "exact", "heyoka", 1e-12, 8.0),
    Contest(SYMMETRIC.name, None, "DOP853", 1e-8, 50.0),
)


def contest_row(contest: Contest, outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """How many times faster we are; if the peer does not reach the error, at the smallest error that it reaches."""
    theirs = [o for o in outcomes if o.entry.who == contest.peer]
    ours = [o for o in outcomes if (o.entry.who == contest.ours if contest.ours else o.entry.who not in PEERS)]
    if not theirs or not ours:
        return None
    level = max(contest.error, min(o.error for o in theirs))
    faster = {}
    for which in ("best", "median"):
        mine, other = (
            time_at([(o.error, getattr(o.seconds, which)) for o in group], level) for group in (ours, theirs)
        )
        if mine is None or other is None:
            return None
        faster[which] = rounded(other / mine, 3)
    fastest = min((o for o in ours if o.error <= level), key=lambda o: o.seconds.best)
    return {
        "race": contest.race, "ours": fastest.entry.name, "against": contest.peer, "attitude error": rounded(level, 2),
        "times faster": faster["best"], "median": faster["median"], "target": contest.target,
        "reached": faster["best"] >= contest.target,
    }  # fmt: skip


# Report --------------------------------------------------------------------------------------------------------


def draw(races: Mapping[str, Sequence[Outcome]], path: Path) -> None:
    """Time against error, a panel for each race; a peer has the same style in all of them."""
    with style.apply_style():
        figure = style.new_figure(width=11.0, height=4.6)
        for ax, (name, outcomes) in zip(figure.subplots(1, len(races)), races.items(), strict=True):
            unit = unit_of(outcomes)
            for number, who in enumerate(dict.fromkeys([*PEERS, *(o.entry.who for o in outcomes)])):
                points = sorted((o.error, o.seconds.best / unit.seconds.best) for o in outcomes if o.entry.who == who)
                if points:
                    ax.plot(*zip(*points, strict=True), label=who, **line_and_marker(number))
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xlabel(f"{name}: largest attitude error")
            ax.set_ylabel(f"time / that of {unit.entry.name}")
            style.legend_above(ax)
        with replacing(path) as temporary:
            figure.savefig(temporary)


def line_and_marker(number: int) -> dict[str, Any]:
    """The style of the line with this number; when the markers are used up, they become hollow."""
    repeated, marker = divmod(number, len(style.MARKERS))
    filled = {"markerfacecolor": "none"} if repeated else {}
    return {**style.line_style(number), "marker": style.MARKERS[marker], **filled}


def page_of(sections: Mapping[str, Rows], notes: Sequence[str], rounds: int) -> str:
    """All tables in Markdown."""
    machine = f"{platform.machine()}, Python {platform.python_version()}; best and median of {rounds} rounds"
    remarks = "\n".join(f"- {note}" for note in notes)
    tables = "\n\n".join(f"## {title}\n\n{table(found)}" for title, found in sections.items() if found)
    return f"# Speed of a single body\n\n{machine}\n\n{remarks}\n\n{tables}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, print and store it."""
    parser = argparse.ArgumentParser(prog="catena bench free-body")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else FULL

    sections: dict[str, Rows] = {}
    if shutil.which("gcc"):
        sections["Time of a step over that of C (same arithmetic)"] = near_c(steps=sizes.steps, rounds=sizes.rounds)
    sections["Jacobi's solution, in steps of DMV(2)"] = against_dmv2(steps=sizes.steps, rounds=sizes.rounds)
    races, notes = {}, []
    for race in RACES:
        races[race.name], remarks = run_race(sizes.race(race), sizes)
        notes += remarks
    rows = [contest_row(contest, races[contest.race]) for contest in CONTESTS]
    sections["Times faster at equal error"] = [row for row in rows if row is not None]
    sections |= {
        f"Race: {name}; time over that of {unit_of(found).entry.name}": race_rows(found)
        for name, found in races.items()
    }

    page = page_of(sections, notes, sizes.rounds)
    print(page)
    given.out.mkdir(parents=True, exist_ok=True)
    write_text(given.out / "free_body.json", json.dumps({"notes": notes, **sections}, indent=1) + "\n")
    write_text(given.out / "free_body.md", page)
    draw(races, given.out / "free_body.png")


if __name__ == "__main__":
    main()
