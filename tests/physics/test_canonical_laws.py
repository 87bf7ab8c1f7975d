"""Averages of systems in a heat bath against laws that are known in closed form or by quadrature.

Errors come from the spread of members, which share nothing; a law holds within four of them. Steps have a bias of order dt^2, so the
long studies extrapolate from dt and dt/2, with the errors of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy import integrate, special

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.methods.base import Method
from catena.systems.base import State, System

Columns = dict[str, np.ndarray]
Averages = dict[str, Callable[[Columns], np.ndarray]]
CHUNK = 4096  # samples at a time


@dataclass(frozen=True)
class Mean:
    """An average, with its standard error from the spread of members."""

    value: float
    error: float

    def __sub__(self, law: float) -> float:
        """Standard errors from a law."""
        return (self.value - law) / self.error


@cache
def program_of(system: System, method: Method) -> Program:
    return build(system, method)


def averages(
    system: System, start: State, method: Method, of: Averages, *, dt: float, steps: int, every: int = 4,
    members: int = 16, settle: int = 2000, program: Program | None = None,
) -> dict[str, Mean]:  # fmt: skip
    """Averages over samples of members that differ by their noise, after `settle` steps each."""
    program = program or program_of(system, method)
    fields = (*system.fields, *system.invariants, *program.stepper.accounts)
    found = np.zeros((members, len(of)))
    for member in range(members):
        driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=every, member=member)
        assert driver.advance(settle - settle % every).status == 0
        left, seen = steps // every, 0
        while left:
            rows = driver.advance(every * min(left, CHUNK)).rows
            columns, place = {}, 0
            for field in fields:
                columns[field.name] = rows[:, place : place + field.width].reshape(len(rows), *field.shape)
                place += field.width
            found[member] += [float(np.sum(average(columns))) for average in of.values()]
            left, seen = left - len(rows), seen + len(rows)
        found[member] /= seen
    errors = found.std(axis=0, ddof=1) / math.sqrt(members)
    return {name: Mean(*pair) for name, *pair in zip(of, found.mean(axis=0), errors, strict=True)}


def extrapolated(long: Mean, short: Mean) -> Mean:
    """To dt = 0, from dt and dt/2 with a bias of order 2."""
    return Mean((4.0 * short.value - long.value) / 3.0, math.hypot(4.0 * short.error, long.error) / 3.0)


# Laws -------------------------------------------------------------------------------------------------------------------


def langevin_function(x: float) -> float:
    """coth x - 1/x."""
    return 1.0 / math.tanh(x) - 1.0 / x


def bending(bend: float, twist: float, power: int = 1) -> float:
    """<T33^power> of a `BendTwist` link at kT = 1: u = q0^2 + q3^2 is uniform by Haar's measure, T33 = 2 u - 1, with the weight below."""

    def weight(u: float) -> float:
        return math.exp(2.0 * bend * (u - 1.0)) * special.ive(0, twist * u)  # exp((2 B - C) u) I_0(C u)

    whole = integrate.quad(weight, 0.0, 1.0, epsabs=1e-13, epsrel=1e-13)[0]
    part = integrate.quad(lambda u: (2.0 * u - 1.0) ** power * weight(u), 0.0, 1.0, epsabs=1e-13, epsrel=1e-13)[0]
    return float(part / whole)


def test_the_laws_have_the_digits_of_their_references() -> None:
    """By quadrature with 30 digits: B, C = 4, 3; 0.5, 2; and b = 1.5 of a top."""
    assert bending(4.0, 3.0) == pytest.approx(0.720816179014524032, rel=1e-12)
    assert bending(4.0, 3.0, 2) == pytest.approx(0.598976209131075418, rel=1e-12)
    assert bending(0.5, 2.0) == pytest.approx(-0.0262392982916459229, rel=1e-10)
    assert -langevin_function(1.5) == pytest.approx(-0.438124726315845237, rel=1e-14)


# A heavy top ---------------------------------------------------------------------------------------------------------------

TOP = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
TOP_START = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0.5, -0.5, 0.3))
WARM = ct.Langevin(1.0, 1.0, seed=2026)


def height(columns: Columns) -> np.ndarray:
    q = columns["orientation"]
    return q[:, 0] ** 2 - q[:, 1] ** 2 - q[:, 2] ** 2 + q[:, 3] ** 2


OF_TOP: Averages = {
    "cos": height, "cos^2": lambda c: height(c) ** 2, **{f"y{k + 1}": lambda c, k=k: c["equipartition"][:, k] for k in range(3)},
    "fourth": lambda c: c["fourth_moment"], "published y1": lambda c: c["angular_momentum"][:, 0] ** 2,
}  # fmt: skip
LAWS_OF_TOP = {
    "cos": -langevin_function(1.5), "cos^2": 1.0 - 2.0 * langevin_function(1.5) / 1.5,
    "y1": 1.0, "y2": 1.0, "y3": 1.0, "fourth": 1.0,
}  # fmt: skip


def departures(found: dict[str, Mean], laws: dict[str, float]) -> dict[str, float]:
    return {name: found[name] - law for name, law in laws.items()}


def test_a_top_has_the_temperature_and_the_height_of_its_bath() -> None:
    """dt = 0.1, where the bias of cos is 3e-4, a tenth of the error: within 4.5 errors of 15 degrees of freedom (six figures)."""
    found = averages(TOP, TOP_START, WARM, OF_TOP, dt=0.1, steps=16_000, every=8, settle=400)
    assert max(map(abs, departures(found, LAWS_OF_TOP).values())) < 4.5, found
    assert found["cos"].error < 0.01 and found["y1"].error < 0.01


@pytest.mark.parametrize("fault", ["temperature", "frozen", "noise of one component too small"])
def test_a_top_with_a_wrong_bath_is_seen(fault: str) -> None:
    """The same compiled step with other constants."""
    program = program_of(TOP, WARM)
    timed = program.arrays.timed
    assert timed is not None

    def wrong(dt: float) -> dict[str, np.ndarray]:
        made = {name: array.copy() for name, array in timed(dt).items()}
        if fault == "temperature":
            made["stir"] *= math.sqrt(1.15)
        elif fault == "frozen":
            made["loss"][0, 2], made["stir"][0, 2] = -1.0, 0.0
        else:
            made["stir"][0, 1] *= 0.7
        return made

    broken = replace(program, arrays=replace(program.arrays, timed=wrong))
    found = averages(TOP, TOP_START, WARM, OF_TOP, dt=0.1, steps=16_000, every=8, settle=400, program=broken)
    assert max(map(abs, departures(found, LAWS_OF_TOP).values())) > 8.0, found


@pytest.mark.slow
def test_the_height_of_a_top_extrapolated() -> None:
    """From dt = 0.4 and 0.2, with the momenta; the order of the bias is measured in `test_laws_to_four_digits`."""
    long, short = (
        averages(TOP, TOP_START, WARM, OF_TOP, dt=dt, steps=round(1_000_000 / dt), every=4, members=16)
        for dt in (0.4, 0.2)
    )
    at_zero = {name: extrapolated(long[name], short[name]) for name in LAWS_OF_TOP}
    print({name: (mean, mean - LAWS_OF_TOP[name]) for name, mean in at_zero.items()})
    assert max(map(abs, departures(at_zero, LAWS_OF_TOP).values())) < 4.5


# Chains of links ---------------------------------------------------------------------------------------------------------------

TETRAHEDRON = ct.Body.tetrahedron()


def linked(
    count: int, bend: float, twist: float, *, spacing: float = 1.0, force: float = 0.0
) -> tuple[ct.Chain, State]:
    potential = ct.BendTwist(100.0 if spacing else 4.0, bend, twist, (0, 0, spacing))
    right = ct.Force((0.0, 0.0, force)) if force else ct.Free()
    chain = ct.Chain([TETRAHEDRON] * count, potential, right=right)
    return chain, chain.start(position=[[0, 0, spacing * k] for k in range(count)], orientation=[[1, 0, 0, 0]] * count)


def axes(columns: Columns) -> np.ndarray:
    """e3 of each body, in space."""
    q = np.moveaxis(columns["orientation"], -1, 0)
    return np.stack(
        [2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]), q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2],
        axis=-1,
    )  # fmt: skip


def neighbours(columns: Columns) -> np.ndarray:
    e = axes(columns)
    return (e[:, 1:] * e[:, :-1]).sum(axis=-1).mean(axis=1)


def stretch(columns: Columns) -> np.ndarray:
    """K |d - d0|^2 / 3 kT: the bond in the frame of the body before it; its length and angle are enough with d0 along e3."""
    d = np.diff(columns["position"], axis=1) - axes(columns)[:, :-1]
    return 100.0 * (d**2).sum(axis=-1).mean(axis=1) / 3.0


OF_LINKS: Averages = {
    "T33": neighbours, "stretch": stretch,
    "R^2": lambda c: ((c["position"][:, -1] - c["position"][:, 0]) ** 2).sum(axis=-1),
    **{f"p{k}": lambda c, k=k: c["equipartition"][:, k] for k in range(6)}, "fourth": lambda c: c["fourth_moment"],
    "total": lambda c: c["total_momentum_square"], "published p": lambda c: (c["momentum"][:, 1:] ** 2).mean(axis=(1, 2)) / TETRAHEDRON.mass,
}  # fmt: skip


@pytest.mark.slow
def test_a_chain_of_bending_links_at_two_steps() -> None:
    """T33, stretch and <R^2> of B, C = 4, 3 and two links; the momenta inside, and those of samples, which are low.

    The bond of a link points along e3 of the body before it, so the clamped body fixes the direction of the first.
    """
    chain, start = linked(3, 4.0, 3.0)
    found = {
        dt: averages(chain, start, WARM, OF_LINKS, dt=dt, steps=round(30_000 / dt), members=16, settle=4000) for dt in (0.1, 0.05)
    }  # fmt: skip
    c = bending(4.0, 3.0)
    laws = {"T33": c, "R^2": 2 * 1.03 + 2 * c, "stretch": 1.0, "fourth": 1.0, "total": 1.0} | {
        f"p{k}": 1.0 for k in range(6)
    }
    at_zero = {name: extrapolated(found[0.1][name], found[0.05][name]) for name in laws}
    print({name: (law, at_zero[name], round(at_zero[name] - law, 2)) for name, law in laws.items()})
    print(found)
    assert max(map(abs, departures(at_zero, laws).values())) < 4.5
    assert found[0.05]["published p"].value - 1.0 == pytest.approx(-0.0236, abs=0.004), "as (dt omega)^2/4 tells"


@pytest.mark.slow
def test_a_gaussian_chain_is_exact_at_every_step() -> None:
    """Stretch alone, d0 = 0: <|r_j - r_0|^2> = 3 j kT/K at dt omega = 0.45 and 1.35."""
    chain, start = linked(4, 0.0, 0.0, spacing=0.0)
    of: Averages = {
        f"{j}": lambda c, j=j: ((c["position"][:, j] - c["position"][:, 0]) ** 2).sum(axis=-1) for j in (1, 2, 3)
    }  # fmt: skip
    laws = {f"{j}": 3.0 * j / 4.0 for j in (1, 2, 3)}
    highest = math.sqrt(3.247 * 4.0 / TETRAHEDRON.mass)  # of three masses on a wall: 4 sin^2(5 pi/14) = 3.247
    for x in (0.45, 1.35):
        found = averages(chain, start, WARM, of, dt=x / highest, steps=200_000, members=16)
        print(x, found, departures(found, laws))
        assert max(map(abs, departures(found, laws).values())) < 4.5


@pytest.mark.slow
def test_a_dead_force_stretches_free_links_by_the_langevin_function() -> None:
    """x = F a/kT = 2: a L(2) + F/K for each link but the first, whose direction the clamped body fixes."""
    chain, start = linked(4, 0.0, 0.0, force=2.0)
    of: Averages = {"extension": lambda c: 0.5 * (c["position"][:, 3, 2] - c["position"][:, 1, 2])}
    long, short = (
        averages(chain, start, WARM, of, dt=dt, steps=round(10_000 / dt), members=16, settle=4000) for dt in (0.1, 0.05)
    )
    mean = extrapolated(long["extension"], short["extension"])
    law = langevin_function(2.0) + 2.0 / 100.0
    print(law, mean, mean - law)
    assert abs(mean - law) < 4.5


# Friction and every kind of body -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_momenta_of_a_sphere_forget_with_the_rates_of_its_axes() -> None:
    """<y_k(t) y_k(0)> = I kT exp(-gamma_k t), rates 0.2, 0.7, 2 at a lag of 0.5: averages alone never tell a friction."""
    sphere = ct.FreeBody(ct.Body(moments=(1.5, 1.5, 1.5)))
    rates = np.array([0.2, 0.7, 2.0])
    method = ct.Langevin(1.0, ct.Friction(rotation=tuple(rates)), seed=4)
    program = program_of(sphere, method)
    found = []
    for member in range(24):
        driver = Driver(
            program, program.view.pack(sphere.start(angular_momentum=(0, 0, 0))), t0=0.0, dt=0.1, every=1, member=member
        )
        driver.advance(400)
        y = np.concatenate([driver.advance(4096).rows[:, 4:7] for _ in range(24)])
        found.append((y[5:] * y[:-5]).mean(axis=0) / 1.5)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
    z = (mean - np.exp(-0.5 * rates)) / error
    print(mean, error, z)
    assert np.abs(z).max() < 4.5
    assert np.abs((mean - np.exp(-0.5 * rates[::-1])) / error).max() > 20.0, "the twin with exchanged axes"


BODIES = {
    "solid": ct.Body(mass=1.3, moments=(1.0, 0.8, 0.5)), "planar": ct.Body(mass=0.9, moments=(0.4, 0.6, 1.0)),
    "linear": ct.Body(mass=1.1, moments=(0.7, 0.7, 0.0)), "point": ct.Body(mass=0.8, moments=(0.0, 0.0, 0.0)),
    "needle": ct.Body(mass=1.0, moments=(1.0, 1.00005, 1e-4)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", ["quaternion", "rotation"])
def test_every_component_of_every_kind_of_body_has_its_share(form: str) -> None:
    """y_k^2/(I_k kT) and p_c^2/(m kT) inside the steps, of a chain with one body of each kind, the first held."""
    line = "linear" if form == "quaternion" else "solid"  # matrices do not take lines
    bodies = [BODIES[name] for name in ("solid", "solid", "planar", line, "needle", "point")]
    chain = ct.Chain(bodies, ct.BendTwist(20.0, 0.0, 0.0, (0, 0, 1)), form=form)
    of: Averages = {f"body {j}": lambda c, j=j: c["body_temperature"][:, j] for j in range(1, 6)}
    of |= {f"p{k}": lambda c, k=k: c["equipartition"][:, k] for k in range(6)}
    found = averages(chain, chain.straight(1.0), WARM, of, dt=0.05, steps=60_000, every=20, settle=4000)
    print(form, found)
    biases = 0.003  # (dt omega)^2 terms inside the step, measured for stiff chains at most 3.6e-4 at dt omega = 0.6, and some room
    assert max(max(0.0, abs(mean.value - 1.0) - biases) / mean.error for mean in found.values()) < 4.5
    assert max(mean.error for mean in found.values()) < 0.01


@pytest.mark.slow
def test_tiny_moments_are_moments() -> None:
    """Moments, kT and time scaled so that the motion is the same: orientations are equal to the bit, momenta scale exactly."""
    powers = 2.0**-46, 2.0**-23
    ends = []
    for inertia, time in ((1.0, 1.0), powers):
        body = ct.FreeBody(ct.Body(moments=(inertia, 0.75 * inertia, 0.5 * inertia)))
        program = program_of(body, ct.Langevin(1.0, 1.0 / time, seed=3))
        start = body.start(angular_momentum=(0.0, 0.0, 0.0))
        driver = Driver(program, program.view.pack(start), t0=0.0, dt=0.25 * time, every=10**9)
        driver.advance(20_000)
        ends.append((driver.z[:4].copy(), driver.z[4:] / math.sqrt(inertia)))
    assert np.array_equal(ends[0][0], ends[1][0]) and np.array_equal(ends[0][1], ends[1][1])


@pytest.mark.slow
def test_orientations_stay_on_the_unit_sphere_over_many_steps() -> None:
    """|q|^2 - 1 and q.g after 1e7 steps of a top."""
    program = program_of(TOP, WARM)
    driver = Driver(program, program.view.pack(TOP_START), t0=0.0, dt=0.1, every=1000)
    worst = np.zeros(2)
    for _ in range(20):
        columns = TOP.columns(driver.advance(500_000).rows)
        worst = np.maximum(worst, [np.abs(columns[name]).max() for name in ("unit_residual", "tangency_residual")])
    print(worst)
    assert worst.max() < 1e-12
