"""Members that differ in more than their starts: systems with other numbers, other steps; and what is reduced in the loop.

Compiled code is that of pairs which other tests have; what is reduced is compared with the samples of single runs.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.pairing import Pairing
from catena.errors import InputError, StoreError
from catena.running.ensembles import following
from catena.running.ensembles.asking import require_noise
from catena.running.ensembles.checking import check_column
from catena.running.ensembles.kinds import Kinds, Varied
from catena.running.recording import ROWS_VARIABLE
from processes import contents

GALAXY = ct.problems.galactic()
METHOD = ct.Gauss(3)


def galaxies(count: int) -> list[ct.Hamiltonian]:
    """Potentials that turn at other rates."""
    known = GALAXY.system
    name, value = next(iter(known.parameters.items()))
    return [
        ct.Hamiltonian(
            known.energy, list(known.q), list(known.p), dict(known.parameters) | {name: value * (1 + 0.05 * k)}
        )
        for k in range(count)
    ]


def test_members_with_other_parameters_and_steps_are_single_runs_to_the_bit() -> None:
    """Seven members of three systems, in an order without meaning, each with its own step."""
    systems, which = galaxies(3), [2, 0, 1, 1, 2, 0, 0]
    dt = np.linspace(0.1, 0.2, 7)
    many = ct.ensemble([systems[k] for k in which], GALAXY.start, METHOD, steps=90, dt=dt, every=7, threads=2)
    assert many.systems == tuple(systems[k] for k in (2, 0, 1)) and "kind" in many._columns
    for k, kind in enumerate(which):
        run = ct.simulate(systems[kind], GALAXY.start, METHOD, dt=dt[k], steps=90, every=7, progress=False)
        np.testing.assert_array_equal(many.final.q[k], run.final.q)
        np.testing.assert_array_equal(
            many.final.energy[k], run.data.energy[-1] if 90 % 7 == 0 else many.final.energy[k]
        )
        assert many.final.time[k] == run.final.time
    again = ct.ensemble([systems[0]] * 7, GALAXY.start, METHOD, steps=90, dt=dt, every=7)
    differs = (again.final.q != many.final.q).any("dof").values
    assert np.flatnonzero(~differs).tolist() == [1, 5, 6]  # the twin: with one system only its own members agree


def test_systems_that_need_other_code_are_refused() -> None:
    plain, other = galaxies(1)[0], ct.problems.kepler().system
    with pytest.raises(InputError, match="makes its steps by other code"):
        Kinds.of([(plain, METHOD), (other, METHOD)])
    top, chain = ct.problems.kovalevskaya(), ct.problems.helix_chain(4)
    with pytest.raises(InputError, match="system 1, Chain, has other states than system 0, Top"):
        ct.ensemble([top, chain], steps=1)
    longer = ct.problems.helix_chain(5)
    with pytest.raises(InputError, match="other states than system 0"):
        ct.ensemble([chain, longer], steps=1)


def test_descriptions_that_differ_in_numbers_come_back_as_the_same_systems() -> None:
    """Whole numbers stay whole; a word that differs is refused."""
    pulls = [ct.problems.helix_chain(4, right="force", F=(0.5 * k, 0.0, 0.0)).system for k in range(3)]
    varied = Varied.of(pulls)
    assert len(varied.places) == 1 and varied.numbers.shape == (3, 1)
    assert [system.describe() for system in varied.systems()] == [system.describe() for system in pulls]
    with pytest.raises(InputError, match="of system 1 is"):
        Varied.of([pulls[0], ct.problems.helix_chain(4, right="free").system])


REDUCE: dict[str, Any] = {
    "mean": ct.Mean("q1**2 + t"), "usual": ct.Mean("energy"), "width": ct.Extremes("q2"),
    "where": ct.Histogram("q1", -0.5, 0.5, 10), "pass": ct.LastCrossing("q2", direction=1),
}  # fmt: skip


def starts(count: int) -> dict[str, np.ndarray]:
    scale = np.linspace(1.0, 1.1, count)[:, None]
    return {name: array * scale for name, array in GALAXY.start.fields.items()}


def test_reductions_are_those_of_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against numpy on the samples of the same members, in chunks of odd lengths; means to 4 ulp of the largest term, the rest exactly."""
    monkeypatch.setattr(following, "FIRST_CHUNK", 33)
    many = ct.ensemble(GALAXY.system, starts(3), METHOD, dt=0.1, steps=400, every=3, keep="samples", reduce=REDUCE)
    q1, q2 = (many.data.q.values[:, :, k] for k in (0, 1))
    time, made = many.data.time.values, many.reduced
    np.testing.assert_allclose(made["mean"], (q1**2 + time).mean(axis=1), rtol=1e-15)
    np.testing.assert_array_equal(made.width_low, q2.min(axis=1))
    np.testing.assert_array_equal(made.width_high_time, time[q2.argmax(axis=1)])
    counts = [np.histogram(row, 10, (-0.5, 0.5))[0] for row in q1]
    np.testing.assert_array_equal(made["where"], counts)
    np.testing.assert_array_equal(made.where_below, (q1 < -0.5).sum(axis=1))
    np.testing.assert_array_equal(made.where_below + made.where_above + made["where"].sum("where_bin"), len(time))
    for k in range(3):
        rises = np.flatnonzero((q2[k, :-1] <= 0) & (q2[k, 1:] > 0))
        assert made.pass_count[k] == len(rises) > 1
        i = rises[-1]
        assert made.pass_time[k] == pytest.approx(np.interp(0.0, q2[k, i : i + 2], time[i : i + 2]), rel=1e-14)


def largest_square(value, t, kept):
    """A kernel as a user writes it: the largest square, and when."""
    if value * value > kept[0]:
        kept[0] = value * value
        kept[1] = t


def test_a_kernel_of_the_users_own_reduces() -> None:
    mine = ct.Custom("q1", largest_square, (0.0, 0.0))
    many = ct.ensemble(GALAXY.system, starts(2), METHOD, dt=0.1, steps=60, keep="samples", reduce={"mine": mine})
    q1 = many.data.q.values[:, :, 0]
    np.testing.assert_array_equal(many.reduced.mine[:, 0], (q1**2).max(axis=1))
    np.testing.assert_array_equal(many.reduced.mine[:, 1], many.data.time.values[(q1**2).argmax(axis=1)])
    with pytest.raises(InputError, match="kernel of your own cannot be stored"):
        ct.ensemble(GALAXY.system, starts(2), METHOD, dt=0.1, steps=60, reduce={"mine": mine}, out="never.zarr")
    assert not Path("never.zarr").exists()


def test_what_differs_is_stored_and_resumed_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after two of five commits; no member that is there is followed again."""
    from catena.running.ensembles import running

    monkeypatch.setenv(ROWS_VARIABLE, "2")
    systems, dt = [*galaxies(3)] * 3, np.linspace(0.1, 0.2, 9)
    options: dict[str, Any] = {"steps": 60, "dt": dt, "reduce": REDUCE, "threads": 1}
    whole = ct.ensemble(systems, GALAXY.start, METHOD, **options, out=tmp_path / "whole.zarr")
    commit = running.Store.commit

    def stopping(store: Any, **what: Any) -> None:
        commit(store, **what)
        if what["step"] == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(running.Store, "commit", stopping)
        with pytest.raises(ct.Interrupted):
            ct.ensemble(systems, GALAXY.start, METHOD, **options, out=tmp_path / "cut.zarr")
    followed: list[int] = []
    follow = running.on_executor.__globals__["follow"]
    monkeypatch.setitem(
        running.on_executor.__globals__,
        "follow",
        lambda job, of, *into: followed.extend(of.numbers.tolist()) or follow(job, of, *into),
    )
    resumed = ct.resume(tmp_path / "cut.zarr")
    assert followed == [4, 5, 6, 7, 8]
    assert contents(tmp_path / "cut.zarr") == contents(tmp_path / "whole.zarr")
    assert str(resumed.audit()) == str(whole.audit())
    np.testing.assert_array_equal(ct.open(tmp_path / "cut.zarr").reduced["mean"], whole.reduced["mean"])


@pytest.mark.parametrize("number", [-np.inf, np.nan, -1.0, 0.5, 3.0])
def test_the_number_of_a_system_that_is_none_is_refused(number: float) -> None:
    """A store may say anything: with checksums that fit, such a number was an index."""
    job: Any = SimpleNamespace(kinds=galaxies(3), steps=10)
    right = np.array([2.0, 0.0, 1.0])
    assert check_column("gift.zarr", job, "kind", right) is right
    with pytest.raises(StoreError, match="of member 1 cannot be"):
        check_column("gift.zarr", job, "kind", np.array([2.0, number, 1.0]))


def test_starts_are_drawn_by_the_number_of_the_member() -> None:
    """So the first of twenty are those of five; another seed gives others."""

    def drawn(rng: np.random.Generator) -> ct.State:
        return ct.State({name: array * rng.uniform(0.9, 1.1) for name, array in GALAXY.start.fields.items()})

    few, more, others = (
        ct.ensemble(GALAXY.system, drawn, METHOD, dt=0.1, steps=5, members=members, seed=seed)
        for members, seed in ((3, 7), (5, 7), (3, 8))
    )
    np.testing.assert_array_equal(few.final.q, more.final.q[:3])
    assert (few.final.q != others.final.q).any()


def test_one_start_without_members_is_refused_as_one() -> None:
    """Not as arrays of a wrong shape, whose first axis would be the components of the state."""
    with pytest.raises(InputError, match="this is the start of one member") as caught:
        ct.ensemble(GALAXY.system, GALAXY.start, METHOD, dt=0.1, steps=5)
    assert "a list of starts" in caught.value.do


@pytest.mark.parametrize("more", [{"members": 3}, {"systems": [GALAXY.system] * 3}, {"method": [METHOD] * 3}])
def test_members_from_one_start_that_nothing_tells_apart_are_refused(more: dict[str, Any]) -> None:
    """In the words of the command line; noise, or a step of their own, tells them apart, and one alone is like no other."""
    arguments: dict[str, Any] = {
        "systems": GALAXY.system,
        "starts": GALAXY.start,
        "method": METHOD,
        "dt": 0.1,
        "steps": 5,
    }
    arguments |= more
    with pytest.raises(InputError, match="all members would be the same") as caught:
        ct.ensemble(**arguments)
    with pytest.raises(InputError) as told:
        require_noise(Pairing.of(GALAXY.system, METHOD), 3, where="--members", starts="--starts FILE")
    assert caught.value.wrong == told.value.wrong
    assert len(np.unique(ct.ensemble(**arguments | {"dt": [0.1, 0.11, 0.12]}).final.q, axis=0)) == 3
    assert len(ct.ensemble(**arguments | {"systems": GALAXY, "method": METHOD, "starts": None, "members": 1})) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"systems": []}, r"\[\] is not a system"),
        ({"systems": [GALAXY, "kepler"]}, "'kepler' is not a system"),
        ({"systems": [GALAXY] * 3, "starts": starts(2)}, "3 systems, but 2 starts"),
        ({"dt": [0.1, 0.2, 0.3]}, r"dt = \[0.1, 0.2, 0.3\] has shape \(3,\)"),
        ({"dt": [0.1, -0.2]}, "dt = -0.2"),
        ({"dt": [0.1, 0.2], "keep": "samples"}, "different steps, 0.1 to 0.2"),
        ({"seed": 3}, "seed = 3, but nothing is drawn"),
        ({"members": 3}, "members = 3, but 2 starts"),
        ({"reduce": {"x": ct.Mean("nothing")}}, "nothing"),
        ({"reduce": {"x y": ct.Mean("q1")}}, "'x y' cannot name a reduction"),
        ({"reduce": {"x": "q1"}}, "x = 'q1' is not a reduction"),
        ({"reduce": {"q": ct.Mean("q1")}, "keep": "samples"}, "the reduction q has the name of what comes out"),
        ({"reduce": {"energy": ct.Mean("q1")}}, "the reduction energy has the name of what comes out"),
        ({"reduce": {"dof": ct.Mean("q1")}}, "the reduction dof has the name of what comes out"),
        ({"reduce": {"a": ct.Extremes("q1"), "a_low": ct.Mean("q2")}}, "a and a_low both make a_low"),
        ({"reduce": {"a_bin": ct.Mean("q1"), "a": ct.Histogram("q1", 0, 1)}}, "a_bin and a both make a_bin"),
        ({"reduce": [ct.Mean("q1")]}, "has no names"),
    ],
)
def test_mistakes_are_explained(change: dict[str, Any], message: str) -> None:
    states = [ct.State({name: array[k] for name, array in starts(2).items()}) for k in range(2)]
    arguments = {"systems": GALAXY.system, "starts": states, "method": METHOD, "dt": 0.1, "steps": 10} | change
    with pytest.raises(InputError, match=message) as caught:
        ct.ensemble(**arguments)
    assert len(str(caught.value).splitlines()) <= 4
