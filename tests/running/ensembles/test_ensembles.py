"""Ensembles: members are single runs to the bit, failures stay alone, and the audit needs no samples."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

import catena as ct
from catena.engine.block import Members
from catena.engine.folding import compile_fold, fold
from catena.engine.looks import unseen
from catena.errors import InputError, StepFailure
from catena.kernels.views import NOT_FINITE, View
from catena.running.auditing import BLOCKS, EPS, Sizes, assess
from catena.running.ensembles import Batch, Ensemble, Job, batch, ensemble, following, members, running
from catena.running.ensembles.auditing import measure_in
from catena.systems.base import Field, Invariant, System
from processes import run_python

KEPLER = ct.problems.kepler().system
RUNAWAY = ct.Hamiltonian("p**2/2 - q**4/4")  # falls to infinity in a time of about 1.85 / q


def kepler_starts(members: int) -> dict[str, np.ndarray]:
    """Ellipses from the pericentre, eccentricities from 0 to 0.8 in an order without meaning."""
    e = np.random.default_rng(20240607).permutation(np.linspace(0.0, 0.8, members))
    zero = np.zeros(members)
    return {"q": np.stack([1 - e, zero], axis=1), "p": np.stack([zero, np.sqrt((1 + e) / (1 - e))], axis=1)}


def single(method: ct.Gauss, starts: dict[str, np.ndarray], i: int, **options: float) -> ct.Run:
    return ct.simulate(KEPLER, KEPLER.start(q=starts["q"][i], p=starts["p"][i]), method, progress=False, **options)


@pytest.mark.parametrize("method", [ct.Gauss(3), ct.Splitting(6)], ids=str)
def test_members_are_single_runs_to_the_bit(method, monkeypatch):
    """7 does not divide 500, and chunks differ from those of a single run: nothing may depend on either."""
    monkeypatch.setattr(following, "FIRST_CHUNK", 33)
    starts = kepler_starts(11)
    many = ensemble(KEPLER, starts, method, dt=0.03, steps=500, every=7, keep="samples", threads=2)
    for i in range(11):
        run = single(method, starts, i, dt=0.03, steps=500, every=7)
        assert many.data.isel(member=i).identical(run.data)
        for name, field in run.final.fields.items():
            np.testing.assert_array_equal(many.final[name][i], field)
        assert many.final.time[i] == run.final.time


def test_members_that_are_sampled_at_their_start_only_may_have_rounded() -> None:
    """A planet thrown straight away from the sun: the angular momentum begins at 0, so nothing but the steps made tells what may be round-off."""
    start = KEPLER.start(q=[0.75, 1.0], p=[0.75, 1.0])
    with pytest.warns(ct.CatenaWarning, match="no sample follows the start"):
        audit = ensemble(KEPLER, [start] * 2, ct.Splitting(6), dt=0.03, steps=20, every=100).audit()
    assert audit["angular_momentum"].worst > 0.0
    assert audit["angular_momentum"].verdicts == {"too short": 2} and audit.ok
    assert "fewer than 200 samples" in str(audit)


def test_the_bits_do_not_depend_on_threads_and_batches(monkeypatch):
    """The last run differs in one start by one unit in the last place: exactly that member must differ."""
    starts = kepler_starts(13)
    alone = ensemble(KEPLER, starts, ct.Gauss(3), dt=0.05, steps=300, threads=1)
    monkeypatch.setattr(members, "LARGEST_BATCH", 2)
    assert ensemble(KEPLER, starts, ct.Gauss(3), dt=0.05, steps=300, threads=3).final.identical(alone.final)
    starts["q"][5, 0] = np.nextafter(starts["q"][5, 0], 2.0)
    moved = ensemble(KEPLER, starts, ct.Gauss(3), dt=0.05, steps=300, threads=3)
    differs = (moved.final.q != alone.final.q).any("dof").values
    assert np.flatnonzero(differs).tolist() == [5]


def test_starts_may_be_states_arrays_or_a_dataset():
    starts = kepler_starts(4)
    states = [KEPLER.start(q=q, p=p, time=2.0) for q, p in zip(starts["q"], starts["p"], strict=True)]
    options = {"method": ct.Splitting(6), "dt": 0.05, "steps": 40}
    expected = ensemble(KEPLER, states, **options).final
    assert (expected.time == 2.0 + 40 * 0.05).all()
    assert ensemble(KEPLER, {**starts, "time": 2.0}, **options).final.identical(expected)
    assert ensemble(KEPLER, ct.State(starts, 2.0), **options).final.identical(expected)
    dataset = ensemble(KEPLER, {**starts, "time": 2.0 - 40 * 0.05}, **options).final
    dataset = dataset.assign(q=(("member", "dof"), starts["q"]), p=(("member", "dof"), starts["p"]))
    again = ensemble(KEPLER, dataset.transpose("dof", "member"), **options).final
    np.testing.assert_array_equal(again.q, expected.q)
    np.testing.assert_array_equal(again.time, expected.time)


def test_a_failing_member_stops_no_other():
    """Steps, times and samples of the failing members are those of single runs."""
    q = np.array([0.01, 2.0, 0.02, 3.0])
    many = ensemble(
        RUNAWAY, {"q": q, "p": np.zeros(4)}, ct.RK4(), dt=0.05, steps=60, every=4, keep="samples", threads=2
    )
    assert [member for member, _ in many.failures] == [1, 3]
    for member, failure in many.failures:
        with pytest.raises(StepFailure) as caught:
            ct.simulate(
                RUNAWAY, RUNAWAY.start(q=q[member], p=0.0), ct.RK4(), dt=0.05, steps=60, every=4, progress=False
            )
        assert (failure.step, failure.time) == (caught.value.step, caught.value.time)
        assert caught.value.wrong.startswith(failure.wrong)  # a single run also tells what changed most
        run = caught.value.run
        assert 1 < len(run.data.time) < many.data.sizes["time"]
        kept = many.data.isel(member=member)
        assert kept.isel(time=slice(len(run.data.time))).identical(run.data)
        assert np.isnan(kept.q[len(run.data.time) :]).all()
        np.testing.assert_array_equal(many.final.q[member], run.final.q)
        assert many.final.time[member] == run.final.time
    for member in (0, 2):
        run = ct.simulate(
            RUNAWAY, RUNAWAY.start(q=q[member], p=0.0), ct.RK4(), dt=0.05, steps=60, every=4, progress=False
        )
        assert many.data.isel(member=member).identical(run.data)
    audit = many.audit()
    assert (audit.members, audit.failed) == (4, 2)
    assert sum(audit["energy"].verdicts.values()) == 2
    assert audit["energy"].member in (0, 2)


def test_a_member_without_a_solution_of_its_stage_equations_fails_alone():
    """dt = 8 is longer than the period of the first orbit, and a hundredth of that of the second."""
    starts = {"q": [[1.0, 0.0], [100.0, 0.0]], "p": [[0.0, 1.0], [0.0, 0.1]]}
    many = ensemble(KEPLER, starts, ct.Gauss(3), dt=8.0, steps=50)
    assert [(f.member, f.failure.step) for f in many.failures] == [(0, 1)]
    np.testing.assert_array_equal(many.final.q[0], [1.0, 0.0])
    assert float(np.hypot(*many.final.q[1])) == pytest.approx(100.0, rel=1e-6)


def test_a_start_without_an_energy_fails_at_its_first_step():
    starts = {"q": [[1.0, 0.0], [0.0, 0.0]], "p": [[0.0, 1.0], [0.0, 1.0]]}
    many = ensemble(KEPLER, starts, ct.Splitting(6), dt=0.05, steps=10)
    assert [(f.member, f.failure.step, f.failure.time) for f in many.failures] == [(1, 1, 0.0)]


@pytest.mark.parametrize("method", [ct.Splitting(6), ct.RK4()], ids=str)
def test_each_member_gets_the_verdict_of_its_single_run(method):
    """The worst deviations are equal to the bit; RK4 drifts, so that more than one verdict is seen."""
    starts = kepler_starts(12)
    options = {"dt": 0.04, "steps": 3000, "every": 3}
    many = ensemble(KEPLER, starts, method, **options)
    audits = [single(method, starts, i, **options).audit() for i in range(12)]
    for row in many.audit():
        singles = [audit[row.quantity] for audit in audits]
        verdicts = [s.verdict for s in singles]
        assert row.verdicts == {v: verdicts.count(v) for v in row.verdicts}
        assert row.worst == max(s.worst for s in singles) == singles[row.member].worst
        assert row.promised == singles[0].promised
        assert row.contradicting == tuple(i for i, s in enumerate(singles) if s.contradicts)


def test_the_audit_needs_no_samples():
    """What is kept does not change the audit, and what the audit needs does not grow with the number of steps.

    Block means differ from those of the samples by the round-off of about 50 additions, 1e-14 of the largest deviation, and so
    do drifts over the whole run.
    """
    starts = kepler_starts(6)
    options = {"method": ct.RK4(), "dt": 0.05, "steps": 1000}
    kept = {keep: ensemble(KEPLER, starts, keep=keep, **options) for keep in ("nothing", "final", "samples")}
    assert str(kept["nothing"].audit()) == str(kept["final"].audit()) == str(kept["samples"].audit())
    data, folded = kept["samples"].data, kept["nothing"]._column
    for i in range(6):
        row = assess("energy", data.time, data.energy[i], steps=1000, scale=1.0, promised="none", rows=2)
        assert folded("energy_worst")[i] == row.worst
        assert abs(folded("energy_drift")[i] - row.drift) * 50.0 < 1e-12 * row.worst
        assert abs(folded("energy_drift_error")[i] - row.drift_error) * 50.0 < 1e-12 * row.worst
    with pytest.raises(InputError, match="not kept"):
        _ = kept["nothing"].final
    with pytest.raises(InputError, match="not kept"):
        _ = kept["final"].data
    short, long = (Job(KEPLER, ct.RK4(), 0.1, steps, 1, "final") for steps in (10, 10**9))
    assert batch.bytes_each(short) == batch.bytes_each(long)


def unmoved(count: int, dt: float) -> Members:
    """Members of which nothing matters but their number and their step."""
    none, kinds = np.zeros((count, 0)), np.zeros(count, dtype=np.int64)
    return Members(none, np.zeros(count), np.full(count, dt), {}, np.zeros((1, 0, 0)), kinds, np.arange(count))


class Recorded(System):
    """A system of which only what is recorded matters: a field, a scalar and a vector that should be kept."""

    title = "recorded"
    fields = (Field("x", (1,), ("dof",)),)
    invariants = (Invariant("energy", (), (), tags=frozenset({"energy"})), Invariant("momentum", (3,), ("xyz",)))

    default_method = ("Gauss", {})

    def parameter_arrays(self) -> dict[str, np.ndarray]:
        return {}

    def describe(self) -> dict[str, str]:
        return {"kind": "recorded"}

    def names(self) -> dict[str, str]:
        return {}

    def view(self, name: str) -> View | None:
        """Any will do: no step is made."""
        return ct.problems.pendulum().system.view(name)


def recorded(rows: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """(rows, 4) deviations of a kind; sizes near round-off, where every verdict is possible."""
    noise = rng.standard_normal((rows, 4)) * EPS
    made = {
        "walk": np.cumsum(noise, axis=0),
        "noise": 1e6 * noise,
        "drift": np.cumsum(noise, axis=0) + np.array([0, 0, 1, 0]) * np.linspace(0, 1e-9, rows)[:, None],
        "large": 1e12 * noise,
        "still": 0.0 * noise,
        "jump": noise + 2e-3 * (np.arange(rows)[:, None] > 0.6 * rows) * np.array([1, 0, 0, 1]),
        "lost": 1e12 * noise + 0.2 * (np.arange(rows)[:, None] > 0) * np.array([1, 0, 0, 1]),
    }[kind]
    return made - made[0]


@pytest.mark.parametrize("rows", [150, 200, 1013])
def test_verdicts_from_folded_deviations_are_those_of_the_series(rows):
    """Against `assess` on the whole series, in chunks of every size. A block edge that is off by one sample must show."""
    rng = np.random.default_rng(rows)
    kinds = ["walk", "noise", "drift", "large", "still", "jump", "lost"] * 8
    series = [recorded(rows, kind, rng) for kind in kinds]
    job = Job(Recorded(), ct.Gauss(2), 0.1, rows - 1, 1, "nothing")
    batch = Batch.empty(job, len(series))
    batch.start[:], batch.scale[:] = 0.0, 1.0
    unlooked = np.stack([unseen(4)] * len(series))
    whose = unmoved(len(series), 0.1)
    sums = np.zeros((len(series), BLOCKS, 4))
    for i, deviation in enumerate(series):
        number, again = 1, (np.zeros(4), np.zeros((BLOCKS, 4)))
        while number < rows:
            chunk = deviation[number : number + int(rng.integers(1, rows))]
            compile_fold()(chunk, len(chunk), number, np.zeros(4), job.edges.astype(float), batch.worst[i], sums[i])
            number += len(chunk)
        if i < 5:  # all at once, and not compiled: the same bits
            fold(deviation[1:], rows - 1, 1, np.zeros(4), job.edges, *again)
            np.testing.assert_array_equal(again[1], sums[i])
            np.testing.assert_array_equal(again[0], batch.worst[i])
    batch.fit(job, whose.dt, sums, unlooked)
    audit = Ensemble.of(job, whose, batch).audit()
    seen = set()
    for row, part in zip(audit, (slice(0, 1), slice(1, 4)), strict=True):
        singles = [
            assess(
                row.quantity,
                np.arange(rows) * 0.1,
                d[:, part],
                steps=rows - 1,
                scale=1.0,
                promised=row.promised,
                rows=2,
                sizes=Sizes(np.abs(d[:, part]).max(axis=0), 1.0),
            )
            for d in series
        ]
        verdicts = [single.verdict for single in singles]
        assert row.verdicts == {v: verdicts.count(v) for v in row.verdicts}
        assert sum(row.verdicts.values()) == len(series)
        assert row.contradicting == tuple(i for i, single in enumerate(singles) if single.contradicts)
        seen |= set(verdicts)
    assert seen == ({"too short", "large"} if rows < 200 else {"exact", "bounded", "drifts", "jumps", "large"})
    if rows >= 200:
        assert (job.edges[0], job.edges[-1], len(job.edges)) == (0, rows, BLOCKS + 1)
        assert set(np.diff(job.edges).tolist()) <= {rows // BLOCKS, rows // BLOCKS + 1}
        for i in range(len(series)):  # a drift does not depend on those it is fitted together with
            alone = measure_in(sums[i : i + 1], batch.worst[i : i + 1], job.edges, 0.1, job.system.invariants)
            together = batch.drift, batch.drift_error, batch.jump
            np.testing.assert_array_equal(alone, [measured[i : i + 1] for measured in together])
        batch.fit(job, whose.dt, np.roll(sums, 1, axis=1), unlooked)
        assert str(Ensemble.of(job, whose, batch).audit()) != str(audit)


ENDLESS = {"method": ct.Splitting(6), "dt": 1e-6, "steps": 10**10, "every": 10**5, "keep": "nothing", "threads": 2}


def test_an_interrupt_ends_the_threads_soon(interruptible):
    """The members would need hours; a chunk of steps takes a tenth of a second."""
    threads = threading.active_count()
    main = threading.main_thread().ident
    threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGINT]).start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        ensemble(KEPLER, kepler_starts(4), **ENDLESS)
    assert time.perf_counter() - began < 20
    assert threading.active_count() == threads


def test_an_interrupt_between_two_results_ends_the_threads_too(monkeypatch):
    """The first member fails at once; the interrupt comes while its result is put away."""

    def interrupted(job, count, batches, whole):
        assert next(batches).status.tolist() == [NOT_FINITE]
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_gather", interrupted)
    starts = kepler_starts(4)
    starts["q"][0] = 0.0
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as kept:  # with its traceback, and all that hangs on it
        ensemble(KEPLER, starts, **ENDLESS)
    assert kept and threading.active_count() == threads


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": []}, "no starts"),
        ({"starts": [1.0]}, "start 0 = 1.0 is not a state"),
        ({"starts": 1.0}, "starts = 1.0"),
        ({"starts": lambda: None, "members": 2}, "does not take one random generator: too many positional arguments"),
        ({"starts": lambda rng, k: None, "members": 2}, "does not take one random generator: missing .* 'k'"),
        ({"starts": {"q": [[1.0, 0.0]]}}, "the starts have q"),
        ({"starts": {"q": [[1.0, 0.0]], "p": [[0.0, 1.0]], "x": 1}}, "the starts have q, p, x"),
        ({"starts": {"q": [[1.0, 0.0]], "p": [[0.0, 1.0, 2.0]]}}, r"p = \[\[0.0, 1.0, 2.0\]\] has shape \(1, 3\)"),
        ({"starts": {"q": [[1.0, 0.0]], "p": [[0.0, 1.0], [0.0, 1.0]]}}, r"q = \[\[1.0, 0.0\]\] has shape \(1, 2\)"),
        ({"starts": {"q": [["one", 0.0]], "p": [[0.0, 1.0]]}}, "not an array of numbers: it has texts"),
        ({"starts": {"q": [[1, 0], [np.nan, 0]], "p": [[0, 1], [0, 1]]}}, "q of member 1 is not finite"),
        ({"starts": {**kepler_starts(2), "time": [0.0, 1.0]}, "keep": "samples"}, "different times, 0 to 1"),
        ({"keep": "sample"}, r"keep = 'sample' \(did you mean samples\?\)"),
        ({"device": "gpu"}, "device = 'gpu'"),
        ({"threads": 0}, "threads = 0"),
        ({"steps": 0}, "steps = 0"),
        ({"dt": -1.0}, "dt = -1.0"),
        ({"systems": "kepler"}, "'kepler' is not a system"),
        ({"device": "cuda", "threads": 2}, "threads = 2 means nothing on a GPU"),
    ],
)
def test_mistakes_are_explained(change, message):
    arguments = {"systems": KEPLER, "starts": kepler_starts(2), "method": ct.Gauss(3), "dt": 0.1, "steps": 10} | change
    with pytest.raises(InputError, match=message) as caught:
        ensemble(**arguments)
    assert len(str(caught.value).splitlines()) <= 4


WITHOUT = """
import sys
from importlib.machinery import PathFinder
missing = {"zarr", "google_crc32c", "pydantic", "typer", "platformdirs", "rich", "tqdm", "matplotlib", "heyoka"}
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.split(".")[0] in missing else find(name, path, target)
)
import catena as ct
from catena.running.ensembles import ensemble
problem = ct.problems.kepler()
many = ensemble(problem, [problem.start] * 2, ct.Splitting(6), steps=250)
print(many.audit()["angular_momentum"].verdicts, many.final.sizes["member"])
"""


def test_ensembles_in_memory_need_no_package_of_the_store_or_the_command_line():
    """Machines with GPUs often have little else installed."""
    assert run_python(WITHOUT)[0] == "{'exact': 2} 2\n"


# Progress


def test_progress_is_told_how_far_the_members_are_by_the_thread_that_asked(monkeypatch):
    """Two of eight fail; what they will never do counts as done, so that the end is the end."""
    monkeypatch.setattr(members, "SHOWN_SECONDS", 1e-3)
    starts = {"q": [0.01, 2.0, 0.02, 3.0, 0.03, 0.04, 0.05, 0.06], "p": np.zeros(8)}
    told: list[tuple[int, ...]] = []
    threads = set()

    def progress(*numbers: int) -> None:
        told.append(numbers)
        threads.add(threading.current_thread())

    ensemble(RUNAWAY, starts, ct.RK4(), dt=0.05, steps=60, threads=3, progress=progress)
    assert told[-1] == (480, 480, 8, 2)
    assert told == sorted(told) and threads == {threading.main_thread()}


def test_a_long_member_is_seen_to_move_before_it_is_done(monkeypatch):
    """One member, one task: its steps are counted as they are made."""
    monkeypatch.setattr(members, "SHOWN_SECONDS", 1e-3)
    told: list[tuple[int, ...]] = []
    ensemble(
        KEPLER,
        kepler_starts(1),
        ct.Splitting(6),
        dt=1e-4,
        steps=500_000,
        progress=lambda *numbers: told.append(numbers),
    )
    assert len({steps for steps, *_ in told}) > 4
    done = [number for _, _, number, _ in told]
    assert done == sorted(done) and done.count(0) > 4 and told[-1] == (500_000, 500_000, 1, 0)


def test_an_error_of_the_users_own_progress_ends_the_threads():
    threads = threading.active_count()

    def broken(*numbers: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ensemble(KEPLER, kepler_starts(4), **ENDLESS, progress=broken)
    assert threading.active_count() == threads


def test_there_is_a_bar_only_if_it_is_asked_for_without_a_terminal(capfd):
    """About a second of work; the bar is drawn anew every 0.2 s."""
    options = {"method": ct.Splitting(6), "dt": 1e-4, "threads": 1}
    ensemble(KEPLER, kepler_starts(4), **options, steps=10)
    assert capfd.readouterr() == ("", "")
    ensemble(KEPLER, kepler_starts(4), **options, steps=250_000, progress=True)
    output, messages = capfd.readouterr()
    assert output == "" and "steps/s" in messages and "of 4 members" in messages
