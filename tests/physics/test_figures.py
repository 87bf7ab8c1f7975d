"""What the standard pictures of geometric integration show, in numbers: oscillator, pendulum, Kepler, galactic orbit."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
import harness
from harness import problem


def samples(
    method, name: str, *, dt: float, steps: int, every: int = 1, compiled: bool = False
) -> dict[str, np.ndarray]:
    """Fields and invariants along a run, the start included."""
    run = harness.driver(method, problem(name), dt=dt, every=every, compiled=compiled)
    rows = [run.first_row().rows, (chunk := run.advance(steps)).rows]
    assert chunk.status == 0
    return problem(name).system.columns(np.concatenate(rows))


def span(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


# Oscillator, H = p^2/2 + 2 q^2, dt = 0.01, 2000 steps -------------------------------------------------------------

H = 0.01
OSCILLATOR = dict(name="harmonic", dt=H, steps=2000)


def oscillation(method) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    run = samples(method, **OSCILLATOR)
    return run["q"][:, 0], run["p"][:, 0], run["energy"]


@pytest.mark.parametrize(
    ("method", "factor", "change", "digits"),
    [
        (ct.ExplicitEuler(), 1 + 4 * H**2, 2.450369930684, 5e-13),
        (ct.ImplicitEuler(), 1 / (1 + 4 * H**2), -1.101198313331, 5e-13),
        (ct.RK4(), 1 - (2 * H) ** 6 / 72 + (2 * H) ** 8 / 576, -3.5554e-9, 5e-14),
    ],
    ids=str,
)
def test_the_energy_of_the_oscillator_changes_by_a_known_factor_in_every_step(method, factor, change, digits):
    """2 |R(2 i dt)|^(2 n). RK4 loses energy: not every explicit method that is not symplectic blows up."""
    energy = oscillation(method)[2]
    assert energy == pytest.approx(2 * factor ** np.arange(2001), rel=2e-13)
    assert energy[-1] - 2 == pytest.approx(change, abs=digits + 2e-13)


def modified_energies(q: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
    """The quadratic form that each linear map keeps."""
    return {
        "EulerB()": p**2 / 2 + 2 * q**2 - 2 * H * p * q,
        "EulerA()": p**2 / 2 + 2 * q**2 + 2 * H * p * q,
        "StormerVerlet()": p**2 / 2 + 2 * q**2 * (1 - H**2),
        "StormerVerlet(variant='B')": (1 - H**2) * p**2 / 2 + 2 * q**2,
    }


@pytest.mark.parametrize("method", [ct.EulerA(), ct.EulerB(), ct.StormerVerlet("A"), ct.StormerVerlet("B")], ids=str)
def test_a_symplectic_method_keeps_its_own_modified_energy_of_the_oscillator(method):
    """Up to round-off of 2000 steps; the forms of the other three methods change by dt^2 at least."""
    q, p, energy = oscillation(method)
    changes = {name: np.ptp(form) for name, form in modified_energies(q, p).items()}
    assert changes.pop(str(method)) < 1e-13
    assert min(changes.values()) > H**2
    assert np.ptp(energy) > H**2


@pytest.mark.parametrize(
    ("method", "low", "high", "digits"),
    [
        (ct.EulerB(), -0.019802, 0.020202, 5e-7),
        (ct.EulerA(), -0.019802, 0.020202, 5e-7),
        (ct.StormerVerlet("A"), 0.0, 2.0002e-4, 5e-9),
        (ct.StormerVerlet("B"), -2.0000e-4, 0.0, 5e-9),
        (ct.Gauss(3), 0.0, 0.0, 1e-13),
    ],
    ids=str,
)
def test_the_energy_error_of_the_oscillator_stays_in_a_known_range(method, low, high, digits):
    """All printed digits."""
    assert span(oscillation(method)[2] - 2) == pytest.approx((low, high), abs=digits)


# Perturbed pendulum, dt = 0.3 ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dissipation() -> np.ndarray:
    return samples(ct.RadauIIA(2), "pendulum", dt=0.3, steps=100_000, compiled=True)["energy"]


@pytest.fixture(scope="module")
def band() -> np.ndarray:
    return samples(ct.ImplicitMidpoint(), "pendulum", dt=0.3, steps=100_000, compiled=True)["energy"]


@pytest.mark.parametrize(
    ("n", "energy"),
    [(100, 0.786161426513), (1000, 0.664604480428), (10_000, -0.452237405319), (100_000, -1.013888888369)],
)
@pytest.mark.slow
def test_radau_lets_the_pendulum_die(dissipation, n, energy):
    """Twelve digits, kept over the whole run: the motion is damped, so round-off is too."""
    assert dissipation[n] == pytest.approx(energy, abs=2e-12)


def test_radau_ends_at_the_equilibrium_but_not_monotonically(dissipation):
    """H = -73/72 at (0, -1/6), not at the origin; 33 of the first 100 steps gain energy."""
    assert dissipation[-1] == pytest.approx(-73 / 72, abs=1e-9)
    assert np.count_nonzero(np.diff(dissipation[:101]) > 0) == 33
    assert dissipation.max() == pytest.approx(0.80006668, abs=5e-9)


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [
        (100, 0.79999283, 0.81705326),
        (1000, 0.79999273, 0.81710960),
        (10_000, 0.79999273, 0.81711346),
        (100_000, 0.79999273, 0.81711353),
    ],
)
def test_the_midpoint_rule_keeps_the_pendulum_in_a_band(band, n, low, high):
    assert span(band[: n + 1]) == pytest.approx((low, high), abs=5.1e-9)
    assert np.ptp(band) < 0.0172


# Kepler, e = 0.6, t = 200 ---------------------------------------------------------------------------------------------


def test_explicit_euler_lets_the_planet_escape():
    run = samples(ct.ExplicitEuler(), "kepler", dt=0.0005, steps=400_000, compiled=True)
    assert run["energy"][-1] == pytest.approx(-0.311180, abs=5e-7)
    assert span(run["energy"][1:]) == pytest.approx((-0.499987, -0.311180), abs=5.1e-7)
    assert np.hypot(*run["q"].T).max() == pytest.approx(2.7456, abs=5e-5)
    assert run["angular_momentum"][-1] - 0.8 == pytest.approx(0.0941, abs=5e-5)


@pytest.mark.parametrize(
    ("method", "end", "low", "high", "digits"),
    [
        (ct.EulerB(), -0.490733, -0.545832, -0.403376, 5.1e-7),
        (ct.EulerA(), -0.464628, -0.545832, -0.403376, 5.1e-7),
        (ct.StormerVerlet("A"), -0.494902, -0.4999996, -0.4906113, 5.1e-7),
    ],
    ids=str,
)
def test_symplectic_methods_keep_the_planet_with_a_hundred_times_longer_steps(method, end, low, high, digits):
    run = samples(method, "kepler", dt=0.05, steps=4000)
    assert run["energy"][-1] == pytest.approx(end, abs=digits)
    assert span(run["energy"][1:]) == pytest.approx((low, high), abs=digits)
    assert np.abs(run["angular_momentum"] - 0.8).max() < 1e-13


def test_gauss_keeps_the_planet_to_nearly_all_digits():
    run = samples(ct.Gauss(3), "kepler", dt=0.05, steps=4000, compiled=True)
    assert span(run["energy"] + 0.5) == pytest.approx((-1.763e-8, 0.0), abs=5e-12)
    assert np.abs(run["angular_momentum"] - 0.8).max() < 1e-14


# Orbit in a rotating galaxy: crossings of the half-plane q2 = 0, q1 > 0, upwards ----------------------------------------
#
# The counting rule behind the published column: the start, which lies on the half-plane, and every step with
# q2_n < 0 <= q2_(n+1) and q1 > 0 where the straight line between the two crosses. [Hairer, Lubich & Wanner 2006]

ROWS = {
    "a": (ct.Gauss(3), 1 / 5),
    "b": (ct.Gauss(3), 2 / 5),
    "c": (ct.RadauIIA(3), 1 / 10),
    "d": (ct.SunGeng(), 1 / 5),
    "e": (ct.RK4(), 1 / 40),
    "f": (ct.RK4(), 1 / 10),
}
COUNTS = {
    1e3: dict.fromkeys("abcdef", 49),
    1e4: dict(a=475, b=475, c=475, d=475, e=475, f=470),
    1e5: dict(a=4718, b=4712, c=4684, d=4718, e=4715, f=4665),
    1e6: dict(a=47093, c=46597, d=47092, e=47004, f=46192),
}
CHUNK = 200_000


def crossings(row: str, t_end: float) -> tuple[int, tuple[float, float]]:
    """The count by the published rule, and the range of H - 2."""
    method, dt = ROWS[row]
    run = harness.driver(method, problem("galactic"), dt=dt, compiled=True)
    last = run.first_row().rows
    count, low, high = 1, 0.0, 0.0
    left = round(t_end / dt)
    while left:
        rows = np.concatenate([last, run.advance(min(CHUNK, left)).rows])
        left -= len(rows) - 1
        last = rows[-1:]
        q1, q2 = rows[:, 0], rows[:, 1]
        upwards = np.flatnonzero((q2[:-1] < 0) & (q2[1:] >= 0))
        part = q2[upwards] / (q2[upwards] - q2[upwards + 1])
        count += int(np.count_nonzero(q1[upwards] + part * (q1[upwards + 1] - q1[upwards]) > 0))
        error = problem("galactic").system.columns(rows)["energy"] - 2
        low, high = min(low, float(error.min())), max(high, float(error.max()))
    return count, (low, high)


@pytest.mark.parametrize("t_end", [1e3, 1e4])
@pytest.mark.parametrize("row", [pytest.param(row, marks=[pytest.mark.slow] if row in "cd" else []) for row in ROWS])
def test_the_orbit_crosses_as_often_as_published_in_short(row, t_end):
    """Counts that do not change when the start is moved by 1e-12."""
    assert crossings(row, t_end)[0] == COUNTS[t_end][row]


def test_another_shape_of_the_galaxy_is_seen_in_the_counts():
    """With c = 0.5, as sometimes printed, the orbit is another."""
    method, dt = ROWS["a"]
    of = ct.problems.galactic()
    run = ct.simulate(of.system.with_parameters(c=0.5), of.start, method, dt=dt, t_end=1e4)
    q1, q2 = run.data.q.values[:, 0], run.data.q.values[:, 1]
    upwards = np.flatnonzero((q2[:-1] < 0) & (q2[1:] >= 0) & (q1[1:] > 0))
    assert 1 + len(upwards) != COUNTS[1e4]["a"]


@pytest.mark.slow
@pytest.mark.parametrize("row", COUNTS[1e5])
def test_the_orbit_crosses_as_often_as_published_in_a_tenth_of_the_time(row):
    assert crossings(row, 1e5)[0] == COUNTS[1e5][row]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "worst", "digit"),
    [
        ("a", 3.17e-8, 1e-10),
        ("c", 1.2702e-3, 1e-7),
        ("d", 4.4e-7, 1e-8),
        ("e", 2.3133e-5, 1e-9),
        ("f", 1.94116e-2, 1e-7),
    ],
)
def test_the_orbit_crosses_as_often_as_published(row, worst, digit):
    """And the largest |H - 2| is the known one, to a unit of its last digit."""
    count, (low, high) = crossings(row, 1e6)
    assert count == COUNTS[1e6][row]
    assert max(-low, high) == pytest.approx(worst, abs=digit)


@pytest.mark.slow
def test_the_count_with_the_long_step_is_chaotic_but_near():
    """Moving the start by 1e-12 changes it between 46661 and 47007: no value is right."""
    count, (low, high) = crossings("b", 1e6)
    assert 46500 <= count <= 47150
    assert -1e-4 < low < high < 1e-4


def test_the_energy_of_the_orbit_drifts_with_rk4_and_stays_with_gauss():
    """dt = 0.4: after 80 000 steps the drift of RK4 is 5e4 times the band of Gauss."""
    drift = samples(ct.RK4(), "galactic", dt=0.4, steps=80_000, compiled=True)["energy"] - 2
    assert drift[2500] == pytest.approx(-0.0222306, abs=5e-8)
    assert drift[20_000] == pytest.approx(-0.1591345, abs=5e-8)
    assert drift[80_000] == pytest.approx(-1.156, abs=0.002)
    low, high = span(samples(ct.Gauss(3), "galactic", dt=0.4, steps=80_000, compiled=True)["energy"] - 2)
    assert low > -1.12e-5
    assert high < 2.5e-6
    assert -drift[80_000] / (high - low) > 5e4
