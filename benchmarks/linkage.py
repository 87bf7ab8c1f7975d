"""The speed of linked bodies: the hanging chains against MuJoCo and EXUDYN, and the growth of the time with the bodies.

    catena bench linkage [-- --quick --out DIR]

prints the tables and writes linkage.json and linkage.md, without --out into benchmarks/results. All times are CPU times of one process,
candidates in turn; only their ratios are meaningful. A peer that is not installed is skipped. --quick runs everything
on tiny sizes, which says nothing about speed.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from catena.methods.base import Method
from catena.output.files import write_text
from engine import table
from free_body import rounded
from linkage_chains import (
    PEERS,
    SOLVERS,
    WARM_UP,
    Chain,
    Motion,
    Runner,
    exudyn_runner,
    installed,
    mujoco_runner,
    our_runner,
)
from timing import Seconds, sampled, time_at

RESULTS = Path(__file__).parent / "results"
Rows = list[dict[str, Any]]

JOINTS = ("revolute", "spherical")
PUBLISHED, BOTH = ct.EnergyMomentum(level="position"), ct.EnergyMomentum()
ENERGY_TOLERANCE = 1e-13  # relative difference at the start between a peer and us
SAME_MOTION = 1e-6  # m and m/s, after a short time
# (x, y, z) of the last of four bodies at t = 2: extrapolation with 26 digits on minimal coordinates
LAST_AT_TWO = {
    "revolute": (0.0, -4.8946907510715296, -7.9783722179254313),
    "spherical": (2.27194059078921, -4.42851094789014, -7.77111619891651),
}
REFERENCE, REFERENCE_STEPS, REFERENCE_ERROR = ct.Composition(BOTH, "kahanli6"), 800, 1e-12
T_END = 2.0
ERRORS = (1e-6, 1e-9)  # of positions and velocities at the end


@dataclass(frozen=True)
class Sizes:
    """Problem sizes and numbers of repetitions."""

    few: int  # bodies of the short chains
    many: int
    growth: tuple[int, ...]
    rounds: int
    slot: float  # seconds of one sample, at least
    methods: Mapping[Method, tuple[int, ...]]  # with the steps to the end, for equal accuracy
    mujoco_steps: tuple[int, ...]


FULL = Sizes(
    few=4, many=400, growth=(4, 40, 400, 4000), rounds=5, slot=0.05,
    methods={
        ct.RK4(): (200, 400, 800, 1600, 3200, 6400),
        ct.Gauss(4): (50, 71, 100, 141, 200, 283, 400),
        ct.Gauss(6): (40, 50, 57, 71, 80, 100, 141, 200),
        ct.Composition(PUBLISHED, "kahanli6"): (25, 50, 100, 200),
        ct.Composition(BOTH, "kahanli6"): (25, 50, 100, 200),
    },
    mujoco_steps=(200, 400, 800, 1600, 3200, 6400, 12800),
)  # fmt: skip
QUICK = Sizes(
    few=4, many=8, growth=(4, 8), rounds=1, slot=0.0, methods={ct.Composition(BOTH, "kahanli6"): (100,)},
    mujoco_steps=(800, 1600),
)  # fmt: skip


# The same problem ----------------------------------------------------------------------------------------------


def extrapolated(make: Callable[[float, int], Runner], t_end: float, steps: int) -> Motion:
    """The motion at t_end from two runs of order two."""
    whole, halves = make(t_end / steps, steps).after(), make(0.5 * t_end / steps, 2 * steps).after()
    return Motion(
        *((4.0 * b - a) / 3.0 for a, b in zip(vars(whole).values(), vars(halves).values(), strict=True))
    )  # fmt: skip


def same_problem(chain: Chain, t_end: float, steps: int) -> list[str]:
    """Check that each peer has our energy and motion; returns the differences, or raises AssertionError."""
    notes = []
    energy = chain.energy(chain.motion(chain.problem.start))
    right = extrapolated(lambda dt, n: our_runner(chain, PUBLISHED, dt, n), t_end, steps)
    others: dict[str, tuple[float, Motion]] = {}  # energy at the start, motion at the end
    if installed("MuJoCo"):
        first = mujoco_runner(chain, 0.01, 0)
        first.go()
        others["MuJoCo"] = first.energy(), mujoco_runner(chain, t_end / steps, steps).after()
    if installed("EXUDYN"):
        for solver in SOLVERS:

            def make(dt: float, n: int, solver: str = solver) -> Runner:
                return exudyn_runner(chain, solver, dt, n)

            others[f"EXUDYN {solver}"] = make(0.01, 1).energy(), extrapolated(make, t_end, steps)
    for who, (theirs, last) in others.items():
        off = abs(theirs / energy - 1.0)
        assert off < ENERGY_TOLERANCE, f"{who} has another energy of the {chain.name} bodies, by {off:g}"
        place, velocity = last.distance(right)
        assert max(place, velocity) < SAME_MOTION, f"{who} moves the {chain.name} bodies elsewhere: {place:g}"
        notes.append(
            f"{chain.name} bodies, {who}: energy differs by {off:.0e}, at t = {t_end:g} positions by {place:.0e} "
            f"and velocities by {velocity:.0e}"
        )
    return notes


# A step --------------------------------------------------------------------------------------------------------


def times_of(runners: Mapping[str, Runner], sizes: Sizes) -> dict[str, Seconds]:
    """Seconds of one step."""
    goes = {name: runner.go for name, runner in runners.items()}
    taken = sampled(goes, rounds=sizes.rounds, slot=sizes.slot)
    steps = {name: runner.steps for name, runner in runners.items()}
    return {n: Seconds(t.best / steps[n], t.median / steps[n]) for n, t in taken.items()}


def step_runners(chain: Chain, dt: float, sizes: Sizes) -> dict[str, Runner]:
    """Ours and the peers', at one step size; the cost of a step of MuJoCo does not depend on the state."""
    short = chain.bodies <= sizes.few
    steps = 200 if short else 20
    runners = {
        name: our_runner(chain, method, dt, steps, warm_up=WARM_UP)
        for name, method in (("published", PUBLISHED), ("two-level", BOTH))
    }
    if installed("MuJoCo"):
        runners["MuJoCo RK4"] = mujoco_runner(chain, dt, steps if short else 2)
    if installed("EXUDYN"):
        for solver in SOLVERS:
            runners[f"EXUDYN {solver}"] = exudyn_runner(chain, solver, dt, steps)
    return runners


def peer_rows(chain: Chain, dt: float, times: Mapping[str, Seconds], targets: Mapping[str, float]) -> Rows:
    """How many times faster the published step is."""
    rows = []
    for who, theirs in times.items():
        target = next((goal for peer, goal in targets.items() if who.startswith(peer)), None)
        if target is None:
            continue
        faster = theirs.best / times["published"].best
        rows.append(
            {
                "chain": chain.name, "dt": dt, "against": who, "times faster": rounded(faster, 3),
                "median": rounded(theirs.median / times["published"].median, 3), "target": target,
                "reached": faster >= target,
            }
        )  # fmt: skip
    return rows


def level_row(chain: Chain, dt: float, times: Mapping[str, Seconds]) -> dict[str, Any]:
    """The cost of enforcing joint velocities."""
    best, median = (getattr(times["two-level"], w) / getattr(times["published"], w) for w in ("best", "median"))
    found = {"chain": chain.name, "dt": dt, "best": rounded(best, 3), "median": rounded(median, 3)}
    return found | {"target": 4.0, "reached": best <= 4.0}


def energy_row(chain: Chain, dt: float, runners: Mapping[str, Runner]) -> dict[str, Any]:
    """Energy error of each step at the end of a sample, relative to the energy of the start."""
    start = chain.energy(chain.motion(chain.problem.start))
    row: dict[str, Any] = {"chain": chain.name, "dt": dt}
    for who, runner in runners.items():
        runner.go()
        row[who] = rounded(abs(runner.energy() / start - 1.0), 2)
    return row


def steps_against_peers(sizes: Sizes) -> tuple[dict[str, Rows], list[str]]:
    """Short chains with steps of 0.01, long ones with 0.001; first a check that all solve the same problem."""
    faster: Rows = []
    levels: Rows = []
    energies: Rows = []
    notes: list[str] = [f"{peer}: not installed" for peer in PEERS if not installed(peer)]
    for joint in JOINTS:
        for n, dt, target in ((sizes.few, 0.01, 1.0), (sizes.many, 0.001, 20.0)):
            chain = Chain(joint, n)
            notes += same_problem(chain, *((0.2, 400) if n == sizes.few else (0.008, 16)))
            runners = step_runners(chain, dt, sizes)
            if n == sizes.few:
                energies.append(energy_row(chain, dt, runners))
            times = times_of(runners, sizes)
            faster += peer_rows(chain, dt, times, {"MuJoCo": target, "EXUDYN": 15.0})
            levels.append(level_row(chain, dt, times))
    return {
        "Times faster than a peer, one step of the published scheme at the same dt": faster,
        "Time of a step of the two-level scheme over that of the published one": levels,
        "Error of the energy after 200 steps": energies,
    }, notes


# Growth --------------------------------------------------------------------------------------------------------


def largest_growth(times: Sequence[float]) -> float:
    """The largest ratio of a time to an earlier one, at least 1."""
    return max(after / before for k, before in enumerate(times) for after in times[k:])


def growth(sizes: Sizes) -> Rows:
    """Time per body and step as the chain gets longer."""
    rows = []
    for joint in JOINTS:
        for name, method in (("published", PUBLISHED), ("two-level", BOTH)):
            runners = {
                str(n): our_runner(Chain(joint, n), method, 0.001, max(4, 8000 // n), warm_up=WARM_UP)
                for n in sizes.growth
            }
            times = times_of(runners, sizes)
            each = [times[str(n)].best / n for n in sizes.growth]
            worst = largest_growth(each)
            row: dict[str, Any] = {"joints": joint, "step": name}
            row |= {f"{n} bodies": rounded(t / each[0], 3) for n, t in zip(sizes.growth, each, strict=True)}
            rows.append(row | {"growth": rounded(worst, 3), "target": 1.5, "reached": worst <= 1.5})
    return rows


# At equal error ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Error and time of a participant with one step size."""

    runner: Runner
    error: float  # the larger of position and velocity
    seconds: Seconds


def reference(joint: str, few: int) -> Motion:
    """The motion at the end; the position of its last body is known independently."""
    motion = our_runner(Chain(joint, few), REFERENCE, T_END / REFERENCE_STEPS, REFERENCE_STEPS).after()
    off = float(np.abs(motion.position[-1] - LAST_AT_TWO[joint]).max())
    assert off < REFERENCE_ERROR, f"the reference of the {joint} chain is {off:g} off"
    return motion


def run_race(joint: str, sizes: Sizes) -> list[Outcome]:
    """All participants with all step sizes: final states, then times."""
    chain, right = Chain(joint, sizes.few), reference(joint, sizes.few)
    runners = [our_runner(chain, m, T_END / n, n) for m, steps in sizes.methods.items() for n in steps]
    if installed("MuJoCo"):
        runners += [mujoco_runner(chain, T_END / n, n) for n in sizes.mujoco_steps]
    errors = [max(runner.after().distance(right)) for runner in runners]
    for who in dict.fromkeys(runner.who for runner in runners):
        least = min(error for runner, error in zip(runners, errors, strict=True) if runner.who == who)
        assert least < SAME_MOTION, f"{who} solves another problem: {least:g} from the reference"
    goes = {str(k): runner.go for k, runner in enumerate(runners)}
    times = sampled(goes, rounds=sizes.rounds, slot=sizes.slot)
    return [Outcome(runners[k], errors[k], times[str(k)]) for k in range(len(runners))]


def contest_rows(joint: str, outcomes: Sequence[Outcome]) -> Rows:
    """Our best method against MuJoCo's at each error."""
    rows = []
    theirs = [o for o in outcomes if o.runner.who == "MuJoCo RK4"]
    ours = [o for o in outcomes if o.runner.who != "MuJoCo RK4"]
    for error in ERRORS:
        faster = {}
        for which in ("best", "median"):
            mine, other = (
                time_at([(o.error, getattr(o.seconds, which)) for o in group], error) for group in (ours, theirs)
            )
            if mine is None or other is None:
                break
            faster[which] = rounded(other / mine, 3)
        else:
            fastest, rival = (
                min((o for o in group if o.error <= error), key=lambda o: o.seconds.best) for group in (ours, theirs)
            )
            rows.append(
                {
                    "joints": joint, "error": error, "ours": f"{fastest.runner.who}, dt {fastest.runner.dt:.3g}",
                    "against": f"MuJoCo RK4, dt {rival.runner.dt:.3g}",
                    "times faster": faster["best"], "median": faster["median"],
                }
            )  # fmt: skip
    return rows


def race_rows(outcomes: Sequence[Outcome]) -> Rows:
    """Error and time of each entry, the time over that of the last."""
    unit = outcomes[-1].seconds
    return [
        {
            "entry": o.runner.who, "dt": rounded(o.runner.dt, 3), "error": rounded(o.error, 2),
            "time": rounded(o.seconds.best / unit.best, 3), "median": rounded(o.seconds.median / unit.median, 3),
        }
        for o in outcomes
    ]  # fmt: skip


# Report --------------------------------------------------------------------------------------------------------


def page_of(sections: Mapping[str, Rows], notes: Sequence[str], rounds: int) -> str:
    """All tables in Markdown."""
    machine = f"{platform.machine()}, Python {platform.python_version()}; best and median of {rounds} rounds"
    remarks = "\n".join(f"- {note}" for note in notes)
    tables = "\n\n".join(f"## {title}\n\n{table(found)}" for title, found in sections.items() if found)
    return f"# Speed of linked bodies\n\n{machine}\n\n{remarks}\n\n{tables}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, print and store it."""
    parser = argparse.ArgumentParser(prog="catena bench linkage")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else FULL

    sections, notes = steps_against_peers(sizes)
    sections["Time per body and step, over that of the shortest chain; dt = 0.001"] = growth(sizes)
    races = {joint: run_race(joint, sizes) for joint in JOINTS}
    title = f"Times faster at equal error of positions and velocities, t = {T_END:g}"
    sections[title] = [row for joint, found in races.items() for row in contest_rows(joint, found)]
    for joint, found in races.items():
        last = found[-1].runner
        sections[f"{sizes.few} {joint} bodies, t = {T_END:g}; time over that of {last.who}, dt {last.dt:.3g}"] = (
            race_rows(found)
        )

    page = page_of(sections, notes, sizes.rounds)
    print(page)
    given.out.mkdir(parents=True, exist_ok=True)
    write_text(given.out / "linkage.json", json.dumps({"notes": notes, **sections}, indent=1) + "\n")
    write_text(given.out / "linkage.md", page)


if __name__ == "__main__":
    main()
