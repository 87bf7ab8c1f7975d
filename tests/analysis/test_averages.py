"""Averages along runs with their errors, free energies with and without biases, and how chains are bent, against what is known of them.

Samples are drawn from their laws by other means than the product's, so nothing here depends on a bath; the long studies at the end do.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import special
from scipy.signal import lfilter

import catena as ct
from catena.analysis import averages, chain_averages, umbrella
from catena.analysis.quantities import at_samples
from catena.engine.pairing import Pairing
from catena.errors import InputError
from catena.running.runs import Run
from catena.systems.laws import langevin_function, mean_cosine
from uncompiled import simulate

SPRING = ct.Hamiltonian("p**2/2 + k*q**2/2", parameters={"k": 2.0})
BATH = ct.Langevin(1.0, 1.0, seed=5)


def run_of(values: np.ndarray, kT: float = 1.0, between: float = 0.5) -> Run:
    """What the analysis asks of a run, with these values as its q."""
    import xarray

    method = ct.Langevin(kT, 1.0)
    data = xarray.Dataset(
        {
            "time": ("time", between * np.arange(len(values))), "q": (("time", "dof"), values[:, None]),
            "p": (("time", "dof"), 0.0 * values[:, None]), "energy": ("time", 0.0 * values),
            **{name: (("time", *dims), np.ones((len(values), *[1] * len(dims)))) for name, dims in
               {"equipartition": ["component"], "coordinate_temperature": ["dof"], "fourth_moment": []}.items()},
        }
    )  # fmt: skip
    plan = SimpleNamespace(pairing=Pairing.of(SPRING, method), dt=between, every=1)
    return cast(Run, SimpleNamespace(data=data, system=SPRING, method=method, plan=plan))


def memory(keep: float, samples: int, seed: int = 1) -> np.ndarray:
    """A series of variance 1 that remembers so much of the sample before."""
    noise = np.random.default_rng(seed).standard_normal(samples + 200) * math.sqrt(1.0 - keep**2)
    return np.asarray(lfilter([1.0], [1.0, -keep], noise)[200:])


@cache
def short_run() -> Run:
    """As plain Python."""
    return simulate(SPRING, SPRING.start(q=0.3, p=0.1), BATH, dt=0.1, steps=600)


def test_pictures_show_points_with_their_errors() -> None:
    """The points and bars of each picture are the numbers of the analysis, and their axes are named."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    run = short_run()
    pictures = {
        "histogram": (run.plot.histogram("q", bins=10), run.histogram("q", 10), "density", "q"),
        "autocorrelation": (run.plot.autocorrelation("q", 5), run.autocorrelation("q", 5), "autocorrelation of q", "lag"),
        "free_energy": (run.plot.free_energy("q", bins=10), run.free_energy("q", 10), "free energy", "q"),
    }  # fmt: skip
    for name, (ax, found, up, across) in pictures.items():
        (bars,) = ax.containers
        shown = bars.lines[0].get_ydata()
        known = np.isfinite(found["error"].values)
        values = found[{"histogram": "density", "autocorrelation": "correlation"}.get(name, name)].values
        assert np.array_equal(shown, values[known])
        segments = bars.lines[2][0].get_segments()
        heights = np.array([high[1] - low[1] for low, high in segments])
        assert heights == pytest.approx(2.0 * found["error"].values[known], rel=1e-9, abs=1e-12)
        assert (ax.get_ylabel(), ax.get_xlabel()) == (up, across)
        pyplot.close(ax.get_figure())


def test_a_text_is_evaluated_at_the_samples_of_a_run() -> None:
    """Coordinates, parameters, time, invariants and what the bath records, against numpy on the data."""
    run = short_run()
    data, recorded = run.data, run.plan.pairing.recorded
    text = "k*q**2/2 + sin(t) - energy/3 + sqrt(1 + p**2) + 0*t"
    q, p, t = data.q.values[:, 0], data.p.values[:, 0], data.time.values
    wanted = 2.0 * q**2 / 2 + np.sin(t) - data.energy.values / 3 + np.sqrt(1 + p**2)
    assert at_samples(SPRING, recorded, data, text, slice(0, None), "x") == pytest.approx(wanted, rel=1e-14)
    bath = at_samples(SPRING, recorded, data, "fourth_moment + equipartition[0]", slice(5, 9), "x")
    assert bath == pytest.approx(data.fourth_moment.values[5:9] + data.equipartition.values[5:9, 0])
    found = run.average("q**2")
    assert found.mean == pytest.approx((q[121:] ** 2).mean())
    assert run.average(q**2).mean == found.mean and run.average("q**2", after=3.0).mean == pytest.approx(
        (q[30:] ** 2).mean()
    )
    with pytest.raises(InputError, match="unknown name v"):
        run.average("v**2")
    with pytest.raises(InputError, match="samples are left"):
        run.average("q", after=59.0)
    with pytest.raises(InputError, match="shape"):
        run.average(np.ones(3))
    with pytest.raises(InputError, match="not finite"):
        run.average("log(q - 100)")


def test_the_error_and_the_time_of_an_average_are_those_of_its_memory() -> None:
    """c = 0.8: g = 9, so that 20 000 samples are as good as 1780, and the correlation time is 9/2 intervals; 40 means within their errors."""
    found = [averages.average(run_of(memory(0.8, 25_000, seed)), "q") for seed in range(40)]
    assert np.median([one.effective for one in found]) == pytest.approx(20_000 / 9.0, rel=0.1)
    assert np.median([one.correlation_time for one in found]) == pytest.approx(4.5 * 0.5, rel=0.1)
    chi = sum((one.mean / one.error) ** 2 for one in found)
    assert 20.0 < chi < 62.0, (
        "chi^2 of 40: 20.7 to 66.8 with 99.5 % each side, less for errors that are the larger of two"
    )


def test_an_autocorrelation_is_within_its_errors() -> None:
    run = run_of(memory(0.8, 50_000))
    found = averages.autocorrelation(run, "q", 20)
    away = (found.correlation.values - 0.8 ** np.arange(20))[1:] / found.error.values[1:]
    assert found.correlation.values[0] == 1.0 and found.error.values[0] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(away).max() < 4.5 and found.error.values[1:].max() < 0.02
    assert found.lag.values[3] == 1.5
    wrong = (found.correlation.values - 0.7 ** np.arange(20))[1:] / found.error.values[1:]
    assert np.abs(wrong).max() > 10.0, "the twin with another memory"
    with pytest.raises(InputError, match="lags"):
        averages.autocorrelation(run, "q", 2000)


def test_a_histogram_and_its_free_energy_are_those_of_a_normal() -> None:
    """kT = 2: the free energy of a normal is kT q^2/2; every bin within 4.5 errors, whose sizes grow with the memory."""
    run = run_of(memory(0.9, 60_000), kT=2.0)
    found = averages.histogram(run, "q", 24, (-3.0, 3.0))
    edges = np.linspace(-3.0, 3.0, 25)
    share = np.diff(special.ndtr(edges)) / 0.25
    assert np.abs((found.density.values - share) / found.error.values).max() < 4.5
    white = averages.histogram(run_of(memory(0.0, 60_000)), "q", 24, (-3.0, 3.0))
    assert found.error.values[10:14].mean() > 1.5 * white.error.values[10:14].mean()
    profile = averages.free_energy(run, found)
    law = -2.0 * np.log(share)
    away = (profile.free_energy.values - (law - law.min())) / profile.error.values
    assert profile.free_energy.values.min() == 0.0 and np.abs(away).max() < 5.0
    empty = averages.free_energy(run, averages.histogram(run, "q", 10, (-3.0, 30.0)))
    assert np.isinf(empty.free_energy.values[-1]) and np.isinf(empty.error.values[-1])
    frictionless = simulate(SPRING, SPRING.start(q=0.3, p=0.1), ct.Splitting(2), dt=0.1, steps=60)
    with pytest.raises(InputError, match="no temperature"):
        frictionless.free_energy("q")


def test_what_has_no_average_is_refused_in_a_few_lines() -> None:
    """Not with nan, zeros or all numbers of an array."""
    run = run_of(memory(0.5, 400))
    with pytest.raises(InputError, match="the same in every sample"):
        averages.autocorrelation(run, "energy")
    with pytest.raises(InputError, match="no sample lies in any bin"):
        averages.free_energy(run, averages.histogram(run, "q", 5, (10.0, 11.0)))
    for refused in (np.full(400, np.nan), "log(q - 100)"):
        with pytest.raises(InputError, match="not finite") as told:
            averages.average(run, refused)
        assert len(str(told.value)) < 200
    with pytest.raises(InputError, match="after = 'late'"):
        averages.average(run, "q", after=cast(float, "late"))
    with pytest.raises(InputError, match="bins = 1000000000"):
        averages.histogram(run, "q", 10**9)
    assert averages.histogram(run, "q", 5, (10.0, 11.0)).density.values.tolist() == [0.0] * 5
    with pytest.raises(InputError, match="the quantity is 1 in every sample"):
        averages.histogram(run, np.ones(400))
    for wrong in ((1.0, 0.0), (0.0, 1.0, 2.0), "ab"):
        with pytest.raises(InputError, match="range"):
            averages.histogram(run, "q", 5, cast(Any, wrong))


def test_umbrellas_without_samples_or_runs_are_refused() -> None:
    rng = np.random.default_rng(5)
    runs, numbers = [run_of(biased(c, 400, rng)) for c in (-0.1, 0.1)], [{"a": STIFF, "c": c} for c in (-0.1, 0.1)]
    with pytest.raises(InputError, match="no sample lies in any bin"):
        umbrella.free_energy(runs, "q", "a/2*(x - c)**2", numbers, range=(10.0, 11.0))
    for none in ([], runs[0]):
        with pytest.raises(InputError, match="list of runs"):
            umbrella.free_energy(cast(Any, none), "q", "0*x", [{}])


# Biased runs -------------------------------------------------------------------------------------------------------------------

WINDOWS = np.linspace(-0.9, 0.9, 7)
STIFF, B = 30.0, 1.5


def biased(center: float, count: int, rng: np.random.Generator, stiff: float = STIFF) -> np.ndarray:
    """Samples of exp(-b x - stiff/2 (x - center)^2) on [-1, 1], the law of the cosine of a heavy top with an umbrella, by inversion."""
    x = np.linspace(-1.0, 1.0, 20_001)
    weight = np.exp(-B * x - 0.5 * stiff * (x - center) ** 2)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (weight[1:] + weight[:-1]))])
    return np.interp(rng.random(count) * total[-1], total, x)


def test_umbrellas_over_the_cosine_of_a_top_give_its_law() -> None:
    """-log of exp(-b x): a line of slope b; seven windows, each bin within 4.5 errors of at most 0.12 kT. Twin: biases that are forgotten."""
    rng = np.random.default_rng(3)
    runs = [run_of(biased(c, 4000, rng)) for c in WINDOWS]
    numbers = [{"a": STIFF, "c": float(c)} for c in WINDOWS]
    found = umbrella.free_energy(runs, "q", "a/2*(x - c)**2", numbers, bins=20, range=(-1.0, 1.0))
    edges = np.linspace(-1.0, 1.0, 21)
    law = -np.log(np.exp(-B * edges[:-1]) - np.exp(-B * edges[1:]))
    away = (found.free_energy.values - (law - law.min()))[1:] / found.error.values[
        1:
    ]  # the lowest bin is zero by definition
    assert np.abs(away).max() < 4.5 and found.error.values.max() < 0.12
    wrong = umbrella.free_energy(runs, "q", "0*a*(x - c)**2", numbers, bins=20, range=(-1.0, 1.0))
    assert np.abs(wrong.free_energy.values - (law - law.min())).max() > 1.0


@pytest.mark.slow
def test_errors_of_umbrellas_are_those_of_their_spread() -> None:
    """Twenty repetitions: the errors told are 0.6 to 1.6 of the spread in the middle of the range."""
    rng = np.random.default_rng(4)
    numbers = [{"a": STIFF, "c": float(c)} for c in WINDOWS]
    found = [
        umbrella.free_energy([run_of(biased(c, 400, rng)) for c in WINDOWS], "q", "a/2*(x - c)**2", numbers, bins=8, range=(-1.0, 1.0))
        for _ in range(20)
    ]  # fmt: skip
    spread = np.std([one.free_energy.values for one in found], axis=0, ddof=1)[1:]
    told = np.mean([one.error.values for one in found], axis=0)[1:]
    assert 0.6 < (told / spread).mean() < 1.6


def test_windows_that_do_not_overlap_are_refused() -> None:
    rng = np.random.default_rng(5)
    runs = [run_of(biased(c, 400, rng, stiff=4000.0)) for c in (-0.8, 0.8)]
    numbers = [{"a": 4000.0, "c": -0.8}, {"a": 4000.0, "c": 0.8}]
    with pytest.raises(InputError, match="runs 0 and 1 do not overlap"):
        umbrella.free_energy(runs, "q", "a/2*(x - c)**2", numbers)
    with pytest.raises(InputError, match="for 1 of 2 runs"):
        umbrella.free_energy(runs, "q", "a/2*(x - c)**2", numbers[:1])


def test_weights_solve_the_equations_of_the_estimate() -> None:
    """sum_n exp(f_k - u_k) w_n = 1 for every run, and three runs without bias weigh all samples alike."""
    rng = np.random.default_rng(6)
    u = rng.standard_normal((3, 500))
    counts = np.array([100, 150, 250])
    f = umbrella._free_energies(u, counts)
    weights = np.exp(umbrella.log_weights(u, counts))
    assert np.exp(f[:, None] - u) @ weights == pytest.approx(np.ones(3), rel=1e-9)
    assert np.ptp(umbrella.log_weights(np.zeros((3, 500)), counts)) < 1e-12


# Chains ------------------------------------------------------------------------------------------------------------------------

BEND, TWIST, STRETCH = 4.0, 3.0, 100.0


def cosines(rng: np.random.Generator, shape: tuple[int, ...], bend: float, twist: float) -> np.ndarray:
    """T33 of links, by inversion of the law of u = (1 + T33)/2."""
    u = np.linspace(0.0, 1.0, 20_001)
    weight = np.exp(2.0 * bend * (u - 1.0)) * special.ive(0, twist * u)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (weight[1:] + weight[:-1]))])
    return 2.0 * np.interp(rng.random(shape) * total[-1], total, u) - 1.0


def drawn_chains(count: int, bodies: int, bend: float, twist: float, seed: int = 2) -> np.ndarray:
    """Positions (count, bodies, 3) of chains of independent links: the next direction at an angle of that law, about it anywhere."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal((count, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    position = np.zeros((count, bodies, 3))
    for j in range(1, bodies):
        position[:, j] = position[:, j - 1] + direction + rng.standard_normal((count, 3)) / math.sqrt(STRETCH)
        across = np.cross(direction, rng.standard_normal((count, 3)))
        across /= np.linalg.norm(across, axis=1)[:, None]
        c = cosines(rng, (count,), bend, twist)[:, None]
        direction = c * direction + np.sqrt(1.0 - c**2) * across
    return position


def structure_by_transfer(k: np.ndarray, bodies: int, bend: float, twist: float) -> np.ndarray:
    """S(k) of such chains: directions are a Markov chain on the sphere, whose step has the eigenvalues <P_l(T33)>, and exp(i k b) is a
    matrix in Legendre functions; sums over all pairs of bodies."""
    x, weights = np.polynomial.legendre.leggauss(64)
    u = 0.5 * (x + 1.0)
    density = np.exp(2.0 * bend * (u - 1.0)) * special.ive(0, twist * u) * weights
    density /= density.sum()
    orders = 24
    basis = np.array([special.eval_legendre(l, x) * math.sqrt((2 * l + 1) / 2) for l in range(orders)])
    step = np.array([(special.eval_legendre(l, x) * density).sum() for l in range(orders)])
    found = []
    for wave in k:
        phase = (basis * weights * np.exp(1j * wave * x)) @ basis.T * math.exp(-0.5 * wave**2 / STRETCH)
        state, total = np.eye(orders)[0].astype(complex), float(bodies)
        for m in range(1, bodies):
            state = phase @ (step * state if m > 1 else state)
            total += 2.0 * (bodies - m) * state[0].real
        found.append(total / bodies)
    return np.array(found)


def test_the_transfer_of_free_links_is_a_power_of_their_phase() -> None:
    """The reference against a second route: without bend and twist every bond gives sin(k)/k exp(-k^2/2K)."""
    k = np.array([0.3, 1.0, 2.5])
    phase = np.sinc(k / np.pi) * np.exp(-0.5 * k**2 / STRETCH)
    wanted = 1.0 + 2.0 * sum((9 - m) * phase**m for m in range(1, 9)) / 9
    assert structure_by_transfer(k, 9, 0.0, 0.0) == pytest.approx(wanted, rel=1e-12)


def test_drawn_chains_have_the_persistence_length_and_the_structure_factor_of_their_links() -> None:
    """c = 0.7208: l = -1/log c = 3.05464; S(k) by transfer matrices; bonds a^2 c^m. Twin: another stiffness."""
    position = drawn_chains(4000, 9, BEND, TWIST)
    c = mean_cosine(BEND, TWIST)
    found = chain_averages.persistence_length(position)
    assert abs(found.mean - 3.05463713029) < 4.5 * found.error and found.error < 0.1
    assert abs(found.mean + 1.0 / math.log(mean_cosine(8.0, 3.0))) > 20.0 * found.error, "the twin"
    bonds = chain_averages.bond_correlation(position)
    away = (bonds.correlation.values - np.array([1.0 + 3.0 / STRETCH, *c ** np.arange(1, 8)])) / bonds.error.values
    assert np.abs(away).max() < 4.5
    k = np.array([0.1, 0.5, 1.0, 2.0, 4.0])
    factor = chain_averages.structure_factor(position, k)
    away = (factor.structure_factor.values - structure_by_transfer(k, 9, BEND, TWIST)) / factor.error.values
    assert np.abs(away).max() < 4.5
    with pytest.raises(InputError, match="longer chain"):
        chain_averages.persistence_length(position[:, :3])


@pytest.mark.slow
def test_errors_of_persistence_lengths_are_those_of_their_spread() -> None:
    found = [chain_averages.persistence_length(drawn_chains(400, 9, BEND, TWIST, seed)) for seed in range(24)]
    spread = np.std([one.mean for one in found], ddof=1)
    assert 0.6 < np.mean([one.error for one in found]) / spread < 1.6


# Long studies --------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_umbrellas_over_a_heavy_top_in_a_bath_give_the_law_of_its_height() -> None:
    """b = 1.5, seven umbrellas as a potential in R33, dt = 0.1: -log density of the cosine is b x, within 4.5 errors."""
    top = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), "1.5*R33 + a/2*(R33 - c)**2", parameters={"a": 20.0, "c": 0.0})
    start = top.start((0.8, 0.6, 0, 0), angular_momentum=(0, 0, 0))
    tops = [ct.Top(top.body, top.potential.text, parameters={"a": 20.0, "c": float(c)}) for c in WINDOWS]
    height = "orientation[0]**2 - orientation[1]**2 - orientation[2]**2 + orientation[3]**2"
    runs = [ct.simulate(one, start, ct.Langevin(1.0, 1.0, seed=8), dt=0.1, steps=200_000, every=10) for one in tops]
    found = ct.free_energy(runs, height, "a/2*(x - c)**2", bins=20, range=(-1.0, 1.0))
    edges = np.linspace(-1.0, 1.0, 21)
    law = -np.log(np.exp(-B * edges[:-1]) - np.exp(-B * edges[1:]))
    away = (found.free_energy.values - (law - law.min()))[1:] / found.error.values[1:]
    print(away, found.error.values)
    assert np.abs(away).max() < 4.5 and found.error.values.max() < 0.1
    mean = -langevin_function(B)
    density = found.density.values / found.density.values.sum()
    assert (density * found.value.values).sum() == pytest.approx(mean, abs=0.02)


@pytest.mark.slow
def test_a_chain_in_a_bath_has_the_persistence_length_and_the_structure_factor_of_its_links() -> None:
    """B, C = 4, 3, eight links, dt = 0.05 (bias of c below 1e-4): l = 3.0546 and S(k) within 4.5 errors."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 9, ct.BendTwist(STRETCH, BEND, TWIST, (0, 0, 1)), left="Free")
    start = chain.start(position=[[0, 0, j] for j in range(9)])
    run = ct.simulate(chain, start, ct.Langevin(1.0, 1.0, seed=12), dt=0.05, steps=2_000_000, every=100)
    outputs = cast(Any, run.system).outputs(run)
    found = outputs.persistence_length()
    print(found, (found.mean - 3.05463713029) / found.error)
    assert abs(found.mean - 3.05463713029) < 4.5 * found.error and found.error < 0.1
    k = np.array([0.1, 0.5, 1.0, 2.0, 4.0])
    factor = outputs.structure_factor(k)
    law = structure_by_transfer(k, 9, BEND, TWIST)
    print(law, factor.structure_factor.values, factor.error.values)
    assert np.abs((factor.structure_factor.values - law) / factor.error.values).max() < 4.5
