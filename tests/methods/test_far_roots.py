"""The conserving step at dt omega beyond 2, where its equations have several roots that all keep the energy.

A rod on a hinge through its centre, under a torsion alone: a root of the step lies on the exact motion (theta, omega)(s) from the same
start, since it has the same energy, where the step that leads to it, h = 4 tan((theta - theta_0)/2)/(omega_0 + omega), has the length dt. The
root of the motion is the first such point, and h must have grown all the way there: where it falls, the roots of shorter steps end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.kernels.views import OK
from linkages import turned

ROD = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
INERTIA = float(ROD.tensor[0, 0])
HINGE = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0)), axis=(1, 0, 0), image=(1, 0, 0, 0))
TORSIONS = {
    "ripples": ("1 - cos(6*theta)", lambda angle: 6.0 * np.sin(6.0 * angle), 36.0),
    "two wells": ("(theta**2 - 1/4)**2", lambda angle: 4.0 * angle * (angle**2 - 0.25), 2.0),
    "spring": ("theta**2/2", lambda angle: angle, 1.0),
}
STARTS = 10


def program(torsion: str, level: str, *, parts: int) -> Program:
    """The step, in this many parts at most."""
    linkage = ct.Linkage([ROD], [HINGE], [ct.Torsion(0, TORSIONS[torsion][0])], gravity=(0, 0, 0))
    made = build(linkage, ct.EnergyMomentum(level=level), compiled=False)
    return replace(made, stepper=replace(made.stepper, tab=np.full((1, 1), float(parts))))


def one_step(made: Program, angle: float, turning: float, dt: float) -> tuple[int, float]:
    """The status of a step from here, and the angle after it."""
    start = made.system.start(orientation=[turned(0, angle)], angular_velocity=[(turning, 0, 0)])
    driver = Driver(made, made.view.pack(start), t0=0.0, dt=dt, every=1)
    status = driver.advance(1).status
    return status, float(2.0 * np.arctan2(driver.z[4], driver.z[3]))


def starts(torsion: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Angles, angular velocities and the frequency at a minimum."""
    rng, frequency = np.random.default_rng(seed), float(np.sqrt(TORSIONS[torsion][2] / INERTIA))
    return rng.uniform(-1.0, 1.0, STARTS), 0.5 * frequency * rng.normal(size=STARTS), frequency


def roots_of_the_motion(
    torsion: str, angle: np.ndarray, turning: np.ndarray, dt: float, frequency: float
) -> np.ndarray:
    """The angles after a step, by RK4 with 12000 steps; nan where the roots of shorter steps end before."""
    slope, ds = TORSIONS[torsion][1], min(dt, 4.0 / frequency) / 2000.0
    y, length = np.array([angle, turning]), np.zeros(len(angle))
    found, ended = np.full(len(angle), np.nan), np.zeros(len(angle), dtype=bool)

    def rate(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -slope(y[0]) / INERTIA])

    for _ in range(12000):
        k1 = rate(y)
        k2 = rate(y + 0.5 * ds * k1)
        k3 = rate(y + 0.5 * ds * k2)
        after = y + ds / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(y + ds * k3))
        longer = 4.0 * np.tan(0.5 * (after[0] - angle)) / (turning + after[1])
        there = ~ended & (longer >= dt)
        between = (dt - length) / (longer - length)
        found[there] = (y[0] + between * (after[0] - y[0]))[there]
        ended |= there | (longer < length) | (np.abs(after[0] - angle) >= np.pi)
        y, length = after, longer
        if ended.all():
            break
    return found


def outcomes(made: Program, torsion: str, times: float) -> tuple[int, int, int]:
    """How many steps of dt omega = `times` took the root of the motion, took another one, and failed."""
    angle, turning, frequency = starts(torsion, 3)
    dt = times / frequency
    right = roots_of_the_motion(torsion, angle, turning, dt, frequency)
    made_of = [one_step(made, a, w, dt) for a, w in zip(angle, turning, strict=True)]
    taken = np.array([after if status == OK else np.nan for status, after in made_of])
    near = np.abs(taken - right) < 1e-4
    failed = np.isnan(taken)
    return int(near.sum()), int((~near & ~failed).sum()), int(failed.sum())


@pytest.mark.parametrize("level", ["both", "position"])
@pytest.mark.parametrize("torsion", TORSIONS)
def test_a_long_step_takes_the_root_of_the_motion_or_fails(torsion: str, level: str) -> None:
    """dt omega = 3 and 10, each step in one part. Of 3200 starts with seeds 1 and 7 none took another root."""
    made = program(torsion, level, parts=1)
    for times, least in ((3.0, 3), (10.0, 0)):
        near, far, _ = outcomes(made, torsion, times)
        assert far == 0, f"{far} of {STARTS} at dt omega = {times}"
        assert near >= least


@pytest.mark.parametrize("torsion", ["ripples", "two wells"])
def test_without_following_the_root_other_ones_are_taken(torsion: str) -> None:
    """The twin: every root that Newton's method finds."""
    made = program(torsion, "position", parts=1)
    module = vars(made.module)
    follow = next(name for name in module if name.endswith("_follow"))
    module[follow] = lambda z, h, par, x, kept: OK
    assert sum(outcomes(made, torsion, times)[1] for times in (3.0, 10.0)) > 0


def test_a_step_that_is_resolved_is_never_refused() -> None:
    """dt omega = 1: one root, found by all starts."""
    for torsion in TORSIONS:
        assert outcomes(program(torsion, "position", parts=1), torsion, 1.0) == (STARTS, 0, 0)


def test_where_a_long_step_has_no_such_root_it_is_made_in_parts() -> None:
    """dt omega = 10 over ripples: every start gets there, with the energy it had."""
    made = program("ripples", "both", parts=1024)
    angle, turning, frequency = starts("ripples", 3)
    for a, w in zip(angle[:2], turning[:2], strict=True):
        start = made.system.start(orientation=[turned(0, a)], angular_velocity=[(w, 0, 0)])
        driver = Driver(made, made.view.pack(start), t0=0.0, dt=10.0 / frequency, every=1)
        first = driver.first_row().rows[0]
        chunk = driver.advance(3)
        assert chunk.status == OK
        energy = made.system.public_width
        assert chunk.rows[:, energy] == pytest.approx(first[energy], rel=1e-12)
