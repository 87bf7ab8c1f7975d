"""Laws of configurations with errors of 3e-4 or less, and the order of the bias: minutes of members in compiled code.

Steps are as long as they may be: a bias of order dt^2 leaves with dt and dt/2, and the errors of independent samples fall with the time
that is followed, not with the steps. Links are soft in stretch, which the laws of their angles do not know, so that dt may be.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from physics.test_canonical_laws import Mean, bending, extrapolated, langevin_function
from scipy import stats

import catena as ct
from catena.systems.base import State, System

MEMBERS, EVERY = 32, 2
CHANCE = float(
    stats.t.isf(stats.norm.sf(4.0), MEMBERS - 1)
)  # errors as rarely exceeded as four of a normal distribution: 4.6


def axis(body: str) -> str:
    """e3.z of a body, as a reduction is written."""
    q = [f"orientation[{body}{k}]" for k in range(4)]
    return f"({q[0]}**2 - {q[1]}**2 - {q[2]}**2 + {q[3]}**2)"


def means(
    system: System, start: State, texts: dict[str, str], dt: float, time: float, friction: float = 1.0
) -> dict[str, Mean]:
    """Averages over so much time of all members together, and their errors from the spread of members."""
    warm = ct.Langevin(1.0, friction, seed=2026)
    steps = round(time / (MEMBERS * dt)) // EVERY * EVERY
    many = ct.ensemble(
        system, start, warm, dt=dt, steps=steps, every=EVERY, members=MEMBERS, keep="nothing",
        reduce={name: ct.Mean(text) for name, text in texts.items()},
    )  # fmt: skip
    assert not many.failures
    found = {}
    for name in texts:
        values = many.reduced[name].values
        found[name] = Mean(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(MEMBERS))
    return found


TOP = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
TOP_START = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0.5, -0.5, 0.3))
TETRAHEDRON = ct.Body.tetrahedron()


def links(
    count: int, bend: float, twist: float, *, stretch: float, spacing: float = 1.0, force: float = 0.0
) -> tuple[ct.Chain, State]:
    """A clamped tetrahedron and so many more."""
    right = ct.Force((0.0, 0.0, force)) if force else ct.Free()
    chain = ct.Chain([TETRAHEDRON] * (count + 1), ct.BendTwist(stretch, bend, twist, (0, 0, spacing)), right=right)
    places = [[0, 0, spacing * k] for k in range(count + 1)]
    return chain, chain.start(position=places, orientation=[[1, 0, 0, 0]] * (count + 1))


@dataclass(frozen=True, eq=False)
class Law:
    """A system, what is averaged, its law, the longer of two steps, and the time that is followed; `at_every_step` if steps have no bias.

    What turns freely forgets sooner with less friction: a tenth of it spares three quarters of the time.
    """

    system: tuple[System, State]
    texts: dict[str, str]
    laws: dict[str, float]
    dt: float
    time: float
    at_every_step: bool = False
    friction: float = 1.0

    def at_zero(self, long: Mean, short: Mean) -> Mean:
        """From averages with dt and dt/2: extrapolated, or both together."""
        if not self.at_every_step:
            return extrapolated(long, short)
        a, b = long.error**-2.0, short.error**-2.0
        return Mean((a * long.value + b * short.value) / (a + b), (a + b) ** -0.5)


TILT = axis("")
LAWS = {
    "top": Law(
        (TOP, TOP_START), {"cos": TILT, "cos_square": f"{TILT}**2"},
        {"cos": -langevin_function(1.5), "cos_square": 1.0 - 2.0 * langevin_function(1.5) / 1.5}, 0.4, 1.2e7,
    ),
    "bending": Law(
        links(1, 4.0, 3.0, stretch=1.0), {"T33": axis("1,"), "T33_square": f"{axis('1,')}**2"},
        {"T33": bending(4.0, 3.0), "T33_square": bending(4.0, 3.0, 2)}, 0.3, 6e6,
    ),
    "gaussian": Law(
        links(3, 0.0, 0.0, stretch=4.0, spacing=0.0),
        {f"square{j}": f"(position[{j},0]**2 + position[{j},1]**2 + position[{j},2]**2)/{0.75 * j}" for j in (1, 2, 3)},
        {f"square{j}": 1.0 for j in (1, 2, 3)}, 0.8, 3.6e7, at_every_step=True,
    ),
    "dead force": Law(
        links(2, 0.0, 0.0, stretch=4.0, force=2.0), {"extension": "position[2,2] - position[1,2]"},
        {"extension": langevin_function(2.0) + 2.0 / 4.0}, 0.3, 1.6e7, friction=0.1,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_laws_hold_to_four_digits(name: str) -> None:
    """Extrapolated from dt and dt/2 within CHANCE errors of at most 3e-4; cosines absolute, squares and lengths in units of their law.

    Springs alone have no bias with any step: there both averages are of the same law.
    """
    law = LAWS[name]
    long, short = (means(*law.system, law.texts, dt, law.time, law.friction) for dt in (law.dt, 0.5 * law.dt))
    at_zero = {key: law.at_zero(long[key], short[key]) for key in law.laws}
    print(name, {key: (law.laws[key], mean, round(mean - law.laws[key], 2)) for key, mean in at_zero.items()})
    assert max(abs(mean - law.laws[key]) for key, mean in at_zero.items()) < CHANCE
    assert max(mean.error for mean in at_zero.values()) <= 3e-4


ORDERS = {
    "top": ((TOP, TOP_START), TILT, -langevin_function(1.5), 0.8, 2e7, 1.0),
    "chain": (links(1, 1.0, 0.0, stretch=1.0), axis("1,"), bending(1.0, 0.0), 0.8, 8e7, 0.3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDERS)
def test_the_bias_is_of_order_two(name: str) -> None:
    """The bias of a cosine at dt and dt/2, some 2e-2 and 6e-3 with errors of 2e-4: a factor of 3.5 to 4.5, known to 0.15."""
    (system, start), text, law, dt, time, friction = ORDERS[name]
    long, short = (means(system, start, {"cos": text}, step, time, friction)["cos"] for step in (dt, 0.5 * dt))
    factor = (long.value - law) / (short.value - law)
    error = abs(factor) * np.hypot(long.error / (long.value - law), short.error / (short.value - law))
    print(name, long.value - law, short.value - law, factor, error)
    assert error < 0.15
    assert 3.5 < factor < 4.5


# What a GPU measured ---------------------------------------------------------------------------------------------------------

RECORD = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "heat_laws.json").read_text())
DIGITS = {  # by quadrature with 30 digits
    ("link, B, C = 4, 3", "T33"): 0.720816179014524032, ("link, B, C = 4, 3", "var v"): 1.93414603846906102,
    ("link, B, C = 10, 5", "T33^2"): 0.815063795586233689, ("link, B, C = 50, 30", "v"): 1.50953453512296718,
    ("link, B, C = 1, 0", "var v"): 0.275938339033689534, ("link, B, C = 0.5, 2", "T33"): -0.0262392982916459229,
    ("2 links, stretch 100", "R^2 of 2 bonds"): 3.50163235802904806, ("2 links, stretch 100", "heat capacity"): 6.0 + 6.868292,
    ("16 links, stretch 100", "R^2 of 8 bonds"): 32.4020115859939782, ("16 links, stretch 100", "R^2 of 16 bonds"): 80.7022188780698363,
    ("free link, F a/kT = 0.5", "extension"): 0.163953413738652849 + 0.125, ("free link, F a/kT = 5", "extension"): 0.800090803982019376 + 1.25,
    ("top, b = 1.5", "var U"): 0.503730950481462131, ("top, b = 3", "cos"): -0.671636489980355838, ("two tetrahedra", "V"): -11.6490,
}  # fmt: skip


def test_laws_that_a_gpu_measured_hold_to_3e_4() -> None:
    """Every law within 4 errors of at most 3e-4, those of two tetrahedra within 3; their sum of squares is that of normals; the bias is of order two."""
    rows = [row for row in RECORD["rows"] if not (row["order"] or row["must_fail"])]
    found = {(row["system"], row["law"]): row for row in rows}
    assert all(found[which]["exact"] == pytest.approx(law, rel=1e-6) for which, law in DIGITS.items())
    assert max(row["error"] / row["unit"] for row in rows) <= 3e-4
    assert max(abs(row["off_by"]) for row in rows) < 4.0
    assert max(abs(row["off_by"]) for row in rows if row["system"] == "two tetrahedra") < 3.0
    assert 0.6 < np.mean([row["off_by"] ** 2 for row in rows]) < 1.5
    factors = [row["factor"] for row in RECORD["rows"] if row["order"]]
    assert len(factors) == 2 and all(3.5 < factor < 4.5 for factor in factors)
    assert min(abs(row["off_by"]) for row in RECORD["rows"] if row["must_fail"]) > 50.0
