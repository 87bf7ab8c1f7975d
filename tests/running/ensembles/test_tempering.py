"""Replica exchange between temperatures: the law of each temperature stays as it is, and no bit depends on who follows a ladder.

Springs make it exact: the positions of `Langevin` on a spring have <q^2> = kT/k at any step, so only the exchange could spoil it.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.engine.block import MemberBlock
from catena.running.ensembles import following, tempering
from catena.running.ensembles.asking import ask
from catena.systems.maxwell import kinetic_energy

SPRING = ct.Hamiltonian("p**2/(2*m) + k*q**2/2", parameters={"k": 2.0, "m": 0.7})
START = SPRING.start(q=0.3, p=0.0)
WARM = ct.Langevin(0.6, 0.3, seed=5)  # so little friction that exchanges decide
LADDER = ct.Tempering((0.6, 1.1, 2.0), every=2)
SQUARE = {"square": ct.Mean("q**2")}


def springs(**more: object) -> ct.running.ensembles.Ensemble:
    given = {"dt": 0.5, "steps": 600, "every": 2, "members": 96, "tempering": LADDER, "reduce": SQUARE}
    return ct.ensemble(SPRING, START, WARM, **(given | more))


def departures(many: ct.running.ensembles.Ensemble) -> np.ndarray:
    """Standard errors by which <q^2> is off kT/k at each temperature, from the spread of ladders."""
    squares = many.reduced.square.values.reshape(-1, len(LADDER)) * 2.0 / np.array(LADDER.temperatures)
    return (squares.mean(axis=0) - 1.0) / (squares.std(axis=0, ddof=1) / math.sqrt(len(squares)))


def test_every_temperature_of_a_ladder_keeps_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 4.5 errors of 31 degrees of freedom; the twins that always exchange, or the wrong way round, are far outside."""
    many = springs()
    assert np.abs(departures(many)).max() < 4.5, departures(many)
    assert (many.exchanged > 0.4).all() and (many.exchanged < 0.95).all(), many.exchanged
    assert many.temperatures[:4].tolist() == [0.6, 1.1, 2.0, 0.6]
    row = many.audit().canonical["temperature"]
    assert row.effective == 32, "ladders are independent, members are not"
    assert row.verdict != "off" and abs(row.mean - 1.0) < 4.5 * row.error
    right = tempering.is_accepted
    for wrong in (
        lambda *given, **named: True,
        lambda of, i, energies, **named: right(of, i, [-v for v in energies], **named),
    ):
        monkeypatch.setattr(tempering, "is_accepted", wrong)
        assert np.abs(departures(springs())).max() > 8.0


def test_exchanges_are_accepted_with_the_probability_of_metropolis() -> None:
    """Of 4000 tries exp(-(b_i - b_j)(V_j - V_i)), within 5 errors; all of those that lower the sum."""
    energies = [1.0, 2.0, 0.5]
    found = [
        [tempering.is_accepted(LADDER, i, energies, number=3, step=step, seed=9) for step in range(4000)] for i in (0, 1)
    ]  # fmt: skip
    wanted = math.exp(-(1 / 0.6 - 1 / 1.1))
    assert np.mean(found[0]) == pytest.approx(wanted, abs=5 * math.sqrt(wanted * (1 - wanted) / 4000))
    assert np.mean(found[1]) == 1.0
    assert not tempering.is_accepted(LADDER, 0, [math.nan, 1.0, 1.0], number=0, step=1, seed=9)


def test_states_are_exchanged_with_momenta_of_the_other_temperature() -> None:
    """A ladder whose exchange is sure: positions change places, momenta times sqrt(T_i/T_j); noise and counters stay with their member."""
    starts = [SPRING.start(q=q, p=p) for q, p in ((3.0, 0.4), (0.1, -0.5), (0.2, 0.7))]
    wanted = ask(
        SPRING, starts, WARM, steps=8, dt=0.5, every=2, keep="final", members=None, seed=None, reduce=None, tempering=LADDER
    )  # fmt: skip
    block = MemberBlock(wanted.job.program, wanted.members, every=2)
    part, accepted = slice(0, 3), np.zeros(3)
    rows = block.record(part)
    before = block.carry.copy()
    wanted.job.exchange(block, part, rows, 4, accepted)
    assert accepted.tolist() == [1.0, 0.0, 0.0]
    states = [wanted.job.pairing.view.unpack(z, 0.0) for z in block.z]
    assert [float(s.q[0]) for s in states] == [0.1, 3.0, 0.2]
    assert [float(s.p[0]) for s in states] == pytest.approx(
        [-0.5 * math.sqrt(0.6 / 1.1), 0.4 * math.sqrt(1.1 / 0.6), 0.7]
    )
    assert np.array_equal(block.carry[:, :3], before[:, :3]), "steps, member and acceptance"


def test_threads_and_stores_do_not_change_a_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread or three, in memory, stored, or stored, cut after some ladders and resumed."""
    several = {"members": 36, "steps": 40, "keep": "samples"}
    one, three = springs(threads=1, **several), springs(threads=3, **several)
    stored = springs(out=tmp_path / "whole.zarr", **several)
    calls = 0
    follow = following._follow_block

    def cut(*given: object) -> None:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise KeyboardInterrupt
        follow(*given)

    monkeypatch.setattr(following, "_follow_block", cut)
    with pytest.raises(ct.Interrupted):
        springs(out=tmp_path / "cut.zarr", threads=1, **several)
    monkeypatch.undo()
    resumed = ct.resume(tmp_path / "cut.zarr")
    for other in (three, stored, resumed):
        assert np.array_equal(one.data.q.values, other.data.q.values)
        assert np.array_equal(one.exchanged, other.exchanged)
        assert np.array_equal(one.temperatures, other.temperatures)
    assert not np.array_equal(
        one.data.q.values, springs(tempering=ct.Tempering((0.6, 1.1, 2.0), every=8), **several).data.q.values
    )


def test_kinetic_energies_are_those_of_the_systems() -> None:
    """H - V of a chain, a top, a free body and coupled coordinates: energies with momenta less those without."""
    tilted = ct.Body.from_inertia(2.0, [[1.0, 0.2, 0.0], [0.2, 1.5, 0.1], [0.0, 0.1, 2.0]])
    chain = ct.Chain([tilted] * 3, ct.BendTwist(1.0, 0.5, 0.2, (0, 0, 1)))
    top = ct.Top(tilted, ct.Gravity(1.5, (0, 0, 1)))
    coupled = ct.Hamiltonian("p1**2/2 + p2**2 + p1*p2/2 + q1**2", ["q1", "q2"], ["p1", "p2"])
    for system, start in (
        (chain, chain.straight(1.1)),
        (top, top.start((0.6, 0.8, 0, 0), angular_momentum=(0, 0, 0))),
        (coupled, coupled.start(q=[0.3, 0.1], p=[0.0, 0.0])),
    ):
        warm = system.maxwell(start, 0.8, seed=4)
        energies = []
        for state in (warm, start):
            program = ct.engine.build.build(system, ct.Langevin(1.0, 1.0), compiled=False)
            driver = ct.engine.driver.Driver(program, program.view.pack(state), t0=0.0, dt=0.1, every=1)
            energies.append(float(system.columns(driver.first_row().rows)["energy"][0]))
        assert kinetic_energy(system.inertia(), warm.fields) == pytest.approx(energies[0] - energies[1], rel=1e-12)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"members": 10}, "10 members do not make whole ladders of 3 temperatures"),
        ({"every": 3}, "exchanges every 2 steps, but samples every 3"),
        ({"steps": 2}, "exchanges every 2 steps, but 2 steps in all"),
        ({"tempering": ct.Tempering((1.0, 2.0), every=2)}, "the first temperature is 1, that of Langevin is 0.6"),
        ({"tempering": (0.6, 1.1)}, "tempering = (0.6, 1.1)"),
        ({"dt": np.linspace(0.1, 0.2, 96)}, "one dt"),
    ],
    ids=["members", "every", "no exchange", "first", "no Tempering", "steps"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(ct.InputError) as refused:
        springs(**more)
    assert message in str(refused.value)


@pytest.mark.parametrize("given", [(1.0,), (2.0, 1.0), (1.0, 1.0), (0.0, 1.0), (1.0, math.inf)])
def test_temperatures_that_are_no_ladder_are_refused(given: tuple[float, ...]) -> None:
    with pytest.raises(ct.InputError, match="Tempering"):
        ct.Tempering(given, every=10)


def test_methods_and_systems_without_a_temperature_are_refused() -> None:
    with pytest.raises(ct.InputError, match="has no temperature"):
        ct.ensemble(SPRING, START, ct.Splitting(2), dt=0.1, steps=8, members=3, tempering=LADDER, every=2)
    rod = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
    pendulum = ct.Linkage([rod], [ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))])
    with pytest.raises(ct.CapabilityError, match="turns that its joints have counted"):
        ct.ensemble(pendulum, pendulum.start(), WARM, dt=0.1, steps=8, members=3, tempering=LADDER, every=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [ct.Langevin(1.0, 1.0, seed=3), ct.HybridMonteCarlo(1.0, substeps=4, seed=3)], ids=lambda m: m.name
)
def test_bending_links_keep_their_law_at_every_temperature(method: ct.Langevin | ct.HybridMonteCarlo) -> None:
    """<T33> of two links with B, C = 4/kT, 3/kT, within 4.5 errors; Monte Carlo has no bias, Langevin at dt omega = 0.6 one of 6e-5."""
    from physics.test_canonical_laws import bending

    ladder = ct.Tempering((1.0, 1.4, 2.0), every=40)
    body = ct.Body.tetrahedron()
    chain = ct.Chain([body] * 3, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)))
    start = chain.start(position=[[0, 0, k] for k in range(3)], orientation=[[1, 0, 0, 0]] * 3)
    # T33 of the first link: the clamped body is not turned, so it is e3.z of the next
    text = "orientation[1,0]**2 - orientation[1,1]**2 - orientation[1,2]**2 + orientation[1,3]**2"
    dt, steps = (0.05, 40_000) if isinstance(method, ct.Langevin) else (0.32, 10_000)
    many = ct.ensemble(
        chain, start, method, dt=dt, steps=steps, every=40, members=96, tempering=ladder, reduce={"T33": ct.Mean(text)}
    )  # fmt: skip
    found = many.reduced.T33.values.reshape(-1, 3)
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    laws = np.array([bending(4.0 / kT, 3.0 / kT) for kT in ladder.temperatures])
    print(found.mean(axis=0), error, laws, many.exchanged)
    assert np.abs((found.mean(axis=0) - laws) / error).max() < 4.5
    assert error.max() < 0.01
