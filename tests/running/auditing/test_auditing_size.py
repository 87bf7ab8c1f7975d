"""The audit knows size: an error as large as the quantity itself is called large, however few samples there are and whatever hides it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import catena as ct
from catena.engine import looks
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.output.page.page import page_of
from catena.running.auditing import Sizes, assess, lasting_deviation, lasting_of_blocks
from catena.running.auditing.drift import block_edges
from catena.running.ensembles import ensemble
from catena.running.runs import MemoryRun
from uncompiled import simulate

THROWN_OUT, FOLLOWED = 0.2, 0.005  # steps for an orbit with e = 0.9, whose pericentre takes 0.1^1.5 = 0.03


def orbit(dt: float, steps: int, every: int = 1, *, method: ct.Method | None = None, e: float = 0.9) -> ct.Run:
    return simulate(ct.problems.kepler(e=e), None, method or ct.StormerVerlet(), dt=dt, steps=steps, every=every)


@pytest.mark.parametrize(("steps", "every"), [(1, 1), (2, 1), (19, 1), (198, 1), (199, 1), (1000, 1), (1000, 500)])
def test_a_planet_that_is_thrown_out_keeps_no_energy(steps: int, every: int) -> None:
    """-0.5 is off by 59, while the motion has terms of 10: with 2 samples as with 200. The planet is at 39 after 20 steps."""
    audit = orbit(THROWN_OUT, steps, every).audit()
    assert audit["energy"].worst > 50
    assert (audit["energy"].verdict, audit.ok) == ("large", False)


@pytest.mark.parametrize("method", [ct.EulerA(), ct.StormerVerlet(), ct.RK4(), ct.ImplicitMidpoint()], ids=str)
def test_the_same_orbit_is_followed_with_a_shorter_step(method: ct.Method) -> None:
    """The twin: 1/6 of the time that the pericentre takes. Symplectic Euler is off by 0.06, a sixteenth of the usual potential energy."""
    audit = orbit(FOLLOWED, 1000, method=method).audit()
    assert audit["energy"].verdict != "large" and audit.ok, audit


def test_what_a_drifting_method_loses_is_large_too() -> None:
    """RK4 promises no more than a drift, but it throws the planet out as well: no approximation of this motion has that energy."""
    row = orbit(THROWN_OUT, 1000, method=ct.RK4()).audit()["energy"]
    assert (row.promised, row.verdict, row.contradicts) == ("drifts", "large", True)


@pytest.mark.parametrize("constant", ["", " + 1000000", " + c", " - c"])
def test_a_constant_in_the_energy_hides_nothing(constant: str) -> None:
    """Errors are compared with the terms that move. Størmer-Verlet is off by 2.7e-4 here; 50 eps sqrt(2000) 1e6 would be 5e-7 and,
    with more steps, more. Gauss(3) is off by 1.4e-13, which 1e6 rounds to nothing, or to its last digits."""
    system = ct.Hamiltonian(f"p**2/2 - cos(q){constant}", parameters={"c": 1e6} if "c" in constant.split() else {})
    start = system.start(q=[1.0], p=[0.0])

    def verdict(method: ct.Method, dt: float, steps: int = 1000) -> str:
        return simulate(system, start, method, dt=dt, steps=steps).audit()["energy"].verdict

    assert verdict(ct.StormerVerlet(), 0.05) == "bounded"
    assert verdict(ct.StormerVerlet(), 0.001, 7000) == "bounded"  # off by 1e-7, a fifth of 50 eps sqrt(7000) 1e6
    assert verdict(ct.Gauss(3), 0.05, 300) == "exact"
    assert verdict(ct.ExplicitEuler(), 0.5) == "large"


def test_a_constant_among_thousands_of_terms_does_not_count() -> None:
    """Of energies in loops, too, only terms that move have a size."""
    count = range(18)
    terms = " + ".join(f"p{i}**2/2 - cos(q{i} - q{(i + 1) % 18})" for i in count)
    system = ct.Hamiltonian(f"{terms} + 1000000", [f"q{i}" for i in count], [f"p{i}" for i in count])
    start = system.start(q=0.1 * np.sin(np.arange(18.0)), p=np.zeros(18))
    assert system._derived.tables
    assert simulate(system, start, ct.StormerVerlet(), dt=0.1, steps=3)._scale[0] == pytest.approx(1.0, rel=0.01)


PERIOD = 10  # steps


def harmonic(every: int) -> ct.Run:
    """Størmer-Verlet with a step that takes the oscillator once round in ten: cos(2 pi / 10) = 1 - dt^2 / 2."""
    system = ct.Hamiltonian("p**2/2 + q**2/2")
    start = system.start(q=[1.0], p=[0.5])
    return simulate(
        system, start, ct.StormerVerlet(), dt=2 * math.sin(math.pi / PERIOD), steps=250 * every, every=every
    )


def test_samples_once_in_a_period_do_not_make_a_truncation_error_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The energy oscillates by dt^2/8 = 5 %, but the samples show the same phase again and again: 1e-14. Looks between them, at steps
    that keep step with nothing, see it; without them (the broken twin) it is `exact`."""
    row = harmonic(PERIOD).audit()["energy"]
    often = harmonic(1).audit()["energy"]
    assert (row.verdict, often.verdict) == ("bounded", "bounded")
    assert row.worst == pytest.approx(often.worst, rel=0.05)

    run = harmonic(PERIOD)
    run._looks[:] = looks.unseen(run._looks.shape[1])
    blind = run.audit()["energy"]
    assert blind.verdict == "exact" and blind.worst < 1e-13


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 100, 128, 256])
def test_looks_keep_step_with_no_period(period: int) -> None:
    """Of the looks at the first 200 periods at least 40 % fall between the samples (51 % for a period of 2)."""
    steps, k = [], 0
    while (k := looks.look_after(k)) <= 200 * period:
        steps.append(k)
    assert np.mean(np.array(steps) % period != 0) > 0.4
    assert all(looks.look_after(k) == min(s for s in steps if s > k) for k in range(0, steps[-1], 7))


def test_few_steps_are_looked_at() -> None:
    """The cost: of 256 steps one; at the start more, but of a thousand 35."""
    steps, k = [], 0
    while (k := looks.look_after(k)) <= 100_000:
        steps.append(k)
    assert sum(s <= 1000 for s in steps) == 35
    assert len(steps) < 100_000 / 256 + 40


def test_looks_do_not_depend_on_chunks_and_come_back_from_a_checkpoint() -> None:
    """The same bits in one piece, in pieces, and from a state in the middle; an old state without looks begins with none."""
    program = build(ct.problems.kepler().system, ct.StormerVerlet(), compiled=False)
    start = program.view.pack(ct.problems.kepler().start)

    def driver() -> Driver:
        return Driver(program, start, t0=0.0, dt=0.05, every=50)

    whole, pieces, resumed, old = driver(), driver(), driver(), driver()
    whole.advance(600)
    for _ in range(60):
        pieces.advance(10)
    halfway = driver()
    halfway.advance(333)
    resumed.restore(333, halfway.state())
    resumed.advance(267)
    assert whole.looks.tobytes() == pieces.looks.tobytes() == resumed.looks.tobytes()
    assert whole.looks[looks.STEPS, 0] > 250
    old.restore(333, {name: array for name, array in halfway.state().items() if name != "looks"})
    assert np.isinf(old.looks[looks.LOWEST]).all()
    old.advance(267)
    assert old.z.tobytes() == whole.z.tobytes()


def test_a_run_of_an_older_store_is_judged_by_what_it_has() -> None:
    """Without looks the largest terms stand for the usual ones."""
    run = orbit(THROWN_OUT, 400)
    arrays = {"z": run._z, "scale": run._scale, "carry": run._carry}
    older = MemoryRun(run.plan, run.steps, arrays, run._rows, run._crossings, {})
    assert older.audit()["energy"].verdict == "large"


def test_members_get_the_verdict_of_a_single_run() -> None:
    """e = 0.9 is thrown out, e = 0.1 is followed; 21 samples or 401."""
    e = np.array([0.9, 0.1])
    starts = {"q": np.stack([1 - e, 0 * e], axis=1), "p": np.stack([0 * e, np.sqrt((1 + e) / (1 - e))], axis=1)}
    for every, word in ((20, "too short"), (1, "bounded")):
        many = ensemble(
            ct.problems.kepler().system,
            starts,
            ct.StormerVerlet(),
            dt=THROWN_OUT,
            steps=400,
            every=every,
            progress=False,
        )
        row = many.audit()["energy"]
        assert row.verdicts == {word: 1, "large": 1}
        assert row.contradicting == (0,) and not many.audit().ok
        assert row.worst == orbit(THROWN_OUT, 400, every).audit()["energy"].worst
        assert "1 large" in str(many.audit())


def test_every_text_says_large_in_red() -> None:
    run = orbit(THROWN_OUT, 400)
    audit = run.audit()
    assert "large (contradicts)" in str(audit)
    assert "a shorter step" in str(audit)
    assert 'style="color: red"' in audit._repr_html_() and "large (contradicts)" in audit._repr_html_()
    assert '<td class="contradicts">large, against the promise' in str(page_of(run).html)
    assert audit.to_dict()["energy"]["verdict"] == "large"
    assert "a shorter step" not in str(orbit(FOLLOWED, 400).audit())


def test_the_error_of_many_bodies_is_compared_with_all_of_them() -> None:
    """A thousand bodies, each off by a thousandth of its energy: as a sum that is the energy of one, and not large."""
    values = np.concatenate([[0.0], np.full(999, 1.0)])
    time = np.arange(1000.0)

    def verdict(parts: int) -> str:
        sizes = Sizes(np.array([1.0]), 1.0, parts)
        return assess("energy", time, values, steps=999, scale=1.0, promised="none", sizes=sizes).verdict

    assert (verdict(1000), verdict(1)) == ("bounded", "large")
    assert ct.problems.hanging_chain().system.parts == len(ct.problems.hanging_chain().start.position)


def test_a_peak_is_not_large_where_the_terms_are() -> None:
    """An error of 0.3 where the terms are 10 and usually 1, in one sample of fifty: bounded; lasting, it is large."""
    time = np.arange(1000.0)
    peaks = np.where(time % 50 == 25, 0.3, 0.0)
    sizes = Sizes(np.array([0.3]), 1.0)

    def verdict(values: np.ndarray) -> str:
        return assess("energy", time, values, steps=999, scale=10.0, promised="bounded", sizes=sizes).verdict

    assert (verdict(peaks), verdict(np.where(time > 0, 0.3, 0.0))) == ("bounded", "large")


@pytest.mark.parametrize("samples", [2, 3, 39, 40, 41, 200, 1007])
def test_what_lasts_is_the_same_from_samples_and_from_sums_over_blocks(samples: int) -> None:
    """An ensemble keeps sums over 40 blocks only; fewer samples than blocks are blocks of their own."""
    deviation = np.random.default_rng(samples).standard_normal((samples, 2))
    deviation[0] = 0.0
    edges = block_edges(samples)
    sums = np.array([deviation[a:b].sum(axis=0) for a, b in pairwise(edges)])
    assert lasting_deviation(deviation) == pytest.approx(lasting_of_blocks(sums, samples), rel=1e-12)
    assert lasting_deviation(np.where(np.arange(samples) > 0, -2.0, 0.0)[:, None]) == pytest.approx(2.0, rel=1e-12)
