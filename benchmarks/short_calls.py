"""The overhead of a short call: the symmetric top's race, 50 outputs, in units of heyoka's whole time for it.

    python benchmarks/short_calls.py

writes results/short_calls.json. Everything is warm: compiled, loaded, called before. heyoka runs at the tolerance that
gives an error of 1e-8.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.output.files import write_text
from catena.running.plan import make_plan
from free_body_races import SYMMETRIC, heyoka_entry
from timing import sampled

RESULT = Path(__file__).parent / "results" / "short_calls.json"
TOLERANCE = 1e-7  # of heyoka: its error is 6e-9
ROUNDS, SLOT = 40, 0.01


def exact_calls() -> dict[str, Callable[[], object]]:
    """`exact` at the 51 times of the race, and the compiled motion in it."""
    top, times = SYMMETRIC.system, SYMMETRIC.times
    start = top.start(SYMMETRIC.orientation, angular_momentum=SYMMETRIC.momentum)
    top.exact(times, start)
    form, z = top._closed_form, top.to_stepped(start)
    q, y, orbit = np.empty((len(times), 4)), np.empty((len(times), 3)), np.empty(form._width)
    return {
        "exact": lambda: top.exact(times, start),
        "exact, its motion": lambda: form._evaluate(form._constants, z, 0.0, form._frame, times, orbit, q, y),
    }


def simulate_calls() -> dict[str, Callable[[], object]]:
    """A run of 50 steps, and parts of it, which overlap."""
    top, method, steps = SYMMETRIC.system, ct.Nystrom6(), SYMMETRIC.outputs
    start, dt = top.start(SYMMETRIC.orientation, angular_momentum=SYMMETRIC.momentum), SYMMETRIC.t_end / steps
    program = build(top, method)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=1)
    driver.first_row()
    back = driver.way_back()

    def steps_alone() -> None:
        back()
        driver.advance(steps)

    return {
        "simulate": lambda: ct.simulate(top, start, method, dt=dt, steps=steps, progress=False),
        "simulate, its steps": steps_alone,
        "simulate, its plan": lambda: make_plan(top, start, method, dt=dt, steps=steps, t_end=None),
        "simulate, its program": lambda: build(top, method),
    }


def measured() -> dict[str, float]:
    """Each over heyoka's race, the best of many."""
    race = heyoka_entry(SYMMETRIC, TOLERANCE)
    taken = sampled({"heyoka": race.run, **exact_calls(), **simulate_calls()}, rounds=ROUNDS, slot=SLOT)
    return {name: round(taken[name].best / taken["heyoka"].best, 3) for name in taken if name != "heyoka"}


def main() -> None:
    """Measure, print and write."""
    found = measured()
    for name, share in found.items():
        print(f"{name:24} {share:8.3f}")
    write_text(RESULT, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
