"""Natural frequencies and modes: against 30 digits, in long chains, under load, and in motion."""

from __future__ import annotations

import time

import numpy as np
import pytest

import catena as ct
import statics
from catena.analysis.statics import stability
from catena.analysis.statics.compliance import Assembled, Mixed, Sweep
from catena.analysis.statics.poses import Poses
from catena.analysis.statics.problem import StaticProblem
from catena.analysis.statics.stability import lowest_modes
from catena.geometry import rotations
from places import read_reference
from statics import REFERENCE, helix

FREQUENCIES = read_reference("frequencies.toml")


@pytest.mark.parametrize("name", FREQUENCIES)
def test_all_frequencies_of_the_helix(name):
    """32 digits; the lowest by the sweep and the highest by the assembled matrix, each right to round-off: 1e-12 as asked for."""
    case = FREQUENCIES[name]
    problem = helix(**case["arguments"])
    modes = problem.system.normal_modes(problem.start)
    assert modes.zero == case["rigid"] and modes.method == "sweep"
    assert modes.omega[:6] == pytest.approx(case["lowest"], rel=1e-12)
    assert modes.omega[-1] == pytest.approx(case["highest"], rel=1e-12)
    assert len(modes.omega) + modes.zero == int(StaticProblem.of(problem.system, None, "test").free.sum())


def test_the_lowest_frequency_of_a_thousand_bodies_has_all_its_digits():
    case, problem = REFERENCE["long"]["1001"], helix(1001)
    modes = problem.system.normal_modes(problem.start)
    assert modes.omega[0] == pytest.approx(case["first"], rel=1e-12)
    assert modes.omega[2] == pytest.approx(case["third"], rel=1e-12)
    assert modes.error[0] < 1e-12


def test_the_assembled_matrix_has_lost_them():
    """The twin: the same chain by shift and invert of K, measured 2e-6."""
    case, problem = REFERENCE["long"]["1001"], helix(1001)
    static = StaticProblem.of(problem.system, None, "test")
    balance = static.balance(Poses.of_state(problem.system, problem.start))
    values, _ = lowest_modes(Assembled(static, balance), 1)
    assert abs(np.sqrt(values[0]) / case["first"] - 1.0) > 1e-9


@pytest.mark.slow
def test_ten_thousand_bodies_have_them_too_in_linear_time():
    """Measured 3e-16; times are the best of three."""
    problems = {n: helix(n) for n in (1001, 10_001)}
    best: dict[int, float] = {}
    for _ in range(3):
        for n, problem in problems.items():
            begin = time.perf_counter()
            modes = problem.system.normal_modes(problem.start, count=20)
            best[n] = min(best.get(n, np.inf), time.perf_counter() - begin)
            assert modes.omega[0] == pytest.approx(REFERENCE["long"][str(n)]["first"], rel=1e-11)
    assert best[10_001] <= 12 * best[1001]


@pytest.mark.parametrize("n", [8, 64])
def test_frequencies_of_a_helix_under_load(n):
    case = REFERENCE["pulled"][str(n)]
    problem = helix(n, right="force", F=case["force"])
    modes = problem.system.normal_modes(problem.system.equilibrium(problem.start))
    assert modes.method == "mixed"
    wanted = case["lowest"]
    assert modes.omega[: len(wanted)] == pytest.approx(wanted, rel=case["frequency_tolerance"])
    assert modes.omega[-1] == pytest.approx(case["highest"], rel=1e-11)


@pytest.mark.parametrize(("left", "right"), [("clamped", "free"), ("clamped", "clamped"), ("clamped", "displaced"), ("free", "free"),
                                             ("displaced", "free"), ("displaced", "displaced"), ("free", "clamped")])  # fmt: skip
def test_three_ways_to_the_compliance_agree(left, right):
    """Whatever the ends are; the sweep knows neither K nor a factor of it."""
    problem = helix(6, left=left, right=right)
    static = StaticProblem.of(problem.system, None, "test")
    balance = static.balance(Poses.of_state(problem.system, problem.start))
    f = np.random.default_rng(3).normal(size=(3, 6, 6))
    swept, *others = (kind(static, balance).solve(f) for kind in (Sweep, Mixed, Assembled))
    for other in others:
        assert np.abs(swept - other).max() < 1e-11 * np.abs(swept).max()


def test_modes_are_orthonormal_and_displacements_are_in_space():
    problem = helix(8)
    modes = problem.system.normal_modes(problem.start)
    body = problem.system.bodies[0]
    mass = np.zeros((6, 6))
    mass[:3, :3], mass[3:, 3:] = body.mass * np.eye(3), body.tensor
    products = np.einsum("kni,ij,lnj->kl", modes.vectors, mass, modes.vectors)
    assert np.abs(products - np.eye(42)).max() < 1e-11
    moved = modes.displacement(0)
    assert np.linalg.norm(moved.position, axis=1) == pytest.approx(np.linalg.norm(modes.vectors[0, :, :3], axis=1))
    assert np.abs(moved.position[0]).max() == 0.0


def test_bodies_in_any_axes_have_the_same_frequencies():
    """A body given in turned axes, so that principal axes and given ones differ."""
    problem, turn = helix(4), rotations.from_euler((0.3, 0.9, -0.7))
    turned = ct.Body.from_particles(rotations.rotate(turn, ct.Body.tetrahedron().particles.positions))
    assert np.abs(turned.frame_matrix - np.eye(3)).max() > 0.1
    chain = ct.Chain([turned] * 4, ct.LennardJones(5.0, 1.0))
    start = chain.start(
        problem.start.position, rotations.multiply(problem.start.orientation, rotations.conjugate(turn))
    )
    modes, plain = chain.normal_modes(start), problem.system.normal_modes(problem.start)
    assert modes.omega == pytest.approx(plain.omega, rel=1e-11)
    for mode in (0, 5):
        one, other = (of.displacement(mode).position for of in (modes, plain))
        assert np.abs(one * np.sign((one * other).sum()) - other).max() < 1e-9


@pytest.mark.slow
def test_lines_have_five_freedoms_each():
    dumbbell = ct.Body.from_particles([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]])
    lines = ct.Chain([dumbbell] * 3, ct.LennardJones(1.0, 1.0))
    modes = lines.normal_modes()
    assert len(modes.omega) + modes.zero == 10  # five for each of two
    # nothing turns the clamped line about itself, nor what hangs on it; one more costs nothing in this arrangement
    assert modes.zero == 2 and modes.unstable == 0 and modes.omega[0] > 1.0


@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("held", [False, True])
def test_points_on_a_line_stretch_and_do_nothing_else(n, held):
    """Nothing moves when points turn about their own line: it is no motion that costs nothing, and takes no frequency away. In closed form
    omega = 2 sqrt(k/m) sin of j pi/2n (free), (2j - 1) pi/(4n - 2) (one end held).
    """
    point = ct.Body.from_particles([[0.0, 0.0, 0.0]], masses=2.0)
    chain = ct.Chain([point] * n, ct.Harmonic(k=5.0, r0=1.0), left=ct.Clamped() if held else ct.Free(), right=ct.Free())
    rest = chain.equilibrium(chain.start([(k, 0, 0) for k in range(n)], [(1, 0, 0, 0)] * n))
    modes = chain.normal_modes(rest)
    j = np.arange(1, n)
    expected = 2.0 * np.sqrt(2.5) * np.sin(np.pi * ((2 * j - 1) / (4 * n - 2) if held else j / (2 * n)))
    assert modes.omega == pytest.approx(expected, rel=1e-13)
    assert modes.zero == rest.flat == 3 * (n - held) - (n - 1)
    assert rest.lowest == pytest.approx(expected[0] ** 2, rel=1e-12)


@pytest.mark.filterwarnings("ignore:particle 1 of body 0")
def test_an_unstable_mode_is_flagged():
    row = ct.problems.printed_chain(left="clamped", right="clamped", amp=0.0)
    modes = row.system.normal_modes(row.start)
    assert modes.omega[0] == pytest.approx(-np.sqrt(207.0), rel=1e-2)
    assert modes.unstable == int((modes.omega < 0).sum()) > 0 and "no stable equilibrium" in repr(modes)


def test_a_state_out_of_balance_has_no_frequencies():
    problem = helix(4)
    with pytest.raises(ct.InputError, match="this is no equilibrium"):
        problem.system.normal_modes(statics.disturbed(problem.system, problem.start, 0.01, 1))
    with pytest.raises(ct.InputError, match="count = 0"):
        problem.system.normal_modes(problem.start, count=0)


def test_long_chains_that_bear_load_are_assembled_beyond_memory(monkeypatch):
    """The mixed form is left where its band would be too large, and agrees with what takes its place."""
    problem = helix(64, right="force", F=(3.0, 0.0, 0.0))
    found = problem.system.equilibrium(problem.start)
    mixed = problem.system.normal_modes(found).omega[:6]
    monkeypatch.setattr(stability, "MOST_MIXED", 32)
    assembled = problem.system.normal_modes(found)
    assert assembled.method == "assembled"
    assert assembled.omega[:6] == pytest.approx(mixed, rel=1e-9)


# In motion -----------------------------------------------------------------------------------------------------------------


def measured(values: np.ndarray, omega: float, dt: float) -> float:
    """Frequency by linear prediction with two terms at a lag of about 0.8/omega: cos(w tau) = sum (a+ + a-) a0/(2 sum a0^2)."""
    lag = max(1, int(0.8 / (omega * dt)))
    ahead, here, behind = values[2 * lag :], values[lag:-lag], values[: -2 * lag]
    return float(np.arccos((ahead + behind) @ here / (2.0 * here @ here)) / (lag * dt))


@pytest.mark.slow
def test_small_motions_oscillate_at_the_frequencies_of_their_modes():
    """Verlet's frequency is (2/dt) arcsin(w dt/2); beyond it 4e-9 was measured at this amplitude, in proportion to it."""
    problem = helix(8)
    modes = problem.system.normal_modes(problem.start)
    chosen, dt = [0, 1, 2, 5, 10, 20, 30, 41], 0.01
    start = modes.start({mode: 1e-5 for mode in chosen})
    run = ct.simulate(problem.system, start, ct.Splitting(2), dt=dt, steps=12_000)
    _, rates = modes.amplitudes(run)
    for mode in chosen:
        omega = modes.omega[mode]
        shifted = 2.0 / dt * np.arcsin(0.5 * omega * dt)
        found = measured(rates[:, mode], omega, dt)
        assert found == pytest.approx(shifted, rel=2e-8), mode
        if omega > 20.0:  # the twin: without the shift of the method
            assert abs(found / omega - 1.0) > 1e-3
    energy = modes.energy(run)
    assert energy.dims == ("time", "mode")
    assert energy.isel(time=0, mode=chosen).values == pytest.approx(0.5e-10, rel=1e-6)
    assert energy.sum("mode").values == pytest.approx(0.5e-10 * len(chosen), rel=0.05)
