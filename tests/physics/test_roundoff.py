"""Brouwer's law: the energy of a long symplectic run errs by round-off alone, as a random walk without drift.

Kepler's problem with e = 0.6, Gauss(6), 100 steps to a revolution, a million steps: the error of the method itself is
below 1e-15. Two sets of eight starts, the orbit turned by 0.7 k, which changes nothing but the roundings. The energy at
the end is evaluated in long double from z + e.

Measured: means -3e-15 +- 1.1e-14 and 1.7e-14 +- 1.1e-14, root mean squares 2.8e-14 and 3.5e-14. With coefficients a_ij
and b_i rounded each for itself the means are -4.2e-14 +- 1.0e-14 and -5.4e-14 +- 0.8e-14: a drift. Whatever changes
roundings draws new numbers; 3 standard errors of eight are then exceeded by chance in 2 of 100 sets.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import broken
import catena as ct
import harness
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.methods.base import Method
from harness import problem

STEPS = 1_000_000
STEPS_TO_A_REVOLUTION = 100
OFFSETS = (0.0, 0.35)
STARTS = 8
LARGEST_RMS = 5e-14
SIGNIFICANT = 3.0  # standard errors

long_double = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer than double")


def energy(z: np.ndarray, e: np.ndarray) -> np.longdouble:
    """H of the state z + e in long double."""
    x, y, px, py = z.astype(np.longdouble) + e.astype(np.longdouble)
    return (px**2 + py**2) / 2 - 1 / np.sqrt(x**2 + y**2)


def relative_errors(method: Method, offset: float) -> np.ndarray:
    """Of the energy at the end, for each start: one compiled loop, with the coefficients of the method."""
    kepler = problem("kepler")
    program = replace(
        harness.program_of(ct.Gauss(6), kepler, compiled=True), stepper=Pairing.of(kepler.system, method).stepper
    )
    errors = []
    for k in range(STARTS):
        c, s = math.cos(0.7 * k + offset), math.sin(0.7 * k + offset)
        start = np.array([0.4 * c, 0.4 * s, -2 * s, 2 * c])
        run = Driver(program, start, t0=0.0, dt=2 * math.pi / STEPS_TO_A_REVOLUTION, every=STEPS)
        before = energy(run.z, run.e)
        assert run.advance(STEPS).status == 0
        errors.append(float((energy(run.z, run.e) - before) / abs(before)))
    return np.array(errors)


def check_walks_without_drift(errors: np.ndarray) -> None:
    """The mean is within 3 standard errors of zero, the spread that of round-off."""
    standard_error = errors.std(ddof=1) / math.sqrt(len(errors))
    assert abs(errors.mean()) < SIGNIFICANT * standard_error, f"{errors.mean():.1e} +- {standard_error:.1e}"
    assert math.sqrt((errors**2).mean()) < LARGEST_RMS


@long_double
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.slow
def test_the_energy_of_eight_long_runs_walks_without_drift(offset):
    check_walks_without_drift(relative_errors(ct.Gauss(6), offset))


@long_double
@pytest.mark.slow
def test_coefficients_that_are_rounded_each_for_itself_make_the_energy_drift():
    errors = [relative_errors(broken.PlainlyRoundedGauss(6), offset) for offset in OFFSETS]
    with pytest.raises(AssertionError):
        check_walks_without_drift(np.concatenate(errors))


def test_the_audit_calls_the_energy_and_the_angular_momentum_exact():
    dt = 2 * math.pi / STEPS_TO_A_REVOLUTION
    for kept in harness.audit(ct.Gauss(6), problem("kepler"), dt=dt, steps=STEPS, every=1000, compiled=True):
        assert kept.row.verdict == "exact", kept.row
