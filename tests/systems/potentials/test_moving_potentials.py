"""Chains whose potentials depend on time: forces, works, orders and bytes.

The reference of a motion is an integrator of scipy on equations written here, particle by particle; that of all kinds of potentials is the chain
with the numbers of one time, which knows no clocks.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
import uncompiled
from catena.engine.build import build
from catena.engine.pairing import Pairing
from catena.systems.chain import moving_kernels
from catena.systems.chain.forces import add_link_forces
from catena.systems.chain.moving_kernels import potential_rate
from catena.systems.potentials.pairwise import Pairwise
from chains import BODY, Plain, matrix, product

STIFFNESS, LENGTH = "3*(1 + 0.3*sin(2*t))", "1.5 + 0.1*t"
TIMES = np.linspace(0.0, 2.0, 9)
TABLE = ct.Sampled(TIMES, 1.5 + 0.1 * np.sin(TIMES))
LJ = ct.LennardJones("0.3*(1 + 0.1*sin(t))", "1 + 0.05*t")
ROD = ct.BendTwist("20 + t", "3*exp(-t)", 2.0, (0, "0.1*t", TABLE), (0.9, 0.1, 0.2, 0.3))
LINK = ct.LinkPotential("k*(d1**2 + d2**2 + (d3 - 1)**2)/2 + sqrt(b)*(1 - Q33)*cos(t)", {"k": "4 + t", "b": 2.0})
TYPED = ct.Body.from_particles(BODY.particles.positions, [1.0, 2.0, 1.5, 0.5], ["A", "B", "A", "B"])
TYPES = ct.PairTable({("A", "A"): LJ, ("A", "B"): ct.Yukawa("2*cos(t)", 0.5), ("B", "B"): None})
STIFF = [["3 + t" if i == j else "0.1*cos(t)" if i + j == 5 else 0.0 for j in range(6)] for i in range(6)]
POTENTIALS: dict[str, Any] = {
    "LennardJones": LJ,
    "Morse": ct.Morse("1 + t/5", "2 - t/10", TABLE),
    "Yukawa": ct.Yukawa("1 + sin(t)", "0.5*cos(t)"),
    "PairPotential": ct.PairPotential("k*log(1 + a*t)*(1 - r**2)**2 + b/r", {"k": 2.0, "a": "cos(t)", "b": 0.1}),
    "WCA": ct.WCA("1 + t/2", "1.2 + 0.001*t"),
    "Switched": ct.Switched(ct.LennardJones("1 + t", 1.1) + ct.Yukawa("cos(t)", 0.4), "1.2 + 0.1*t", TABLE, 3),
    "GayBerne": ct.GayBerne("1 + t", "0.8 + 0.1*t", "1.5 + 0.1*sin(t)", "1.2 + t/10", "2 - t/9", "1 + t/5"),
    "Elastic": ct.Elastic(STIFF, (["0.1*t", 0.05, "0.2*sin(t)"], [1.4, "0.1*t", TABLE]), "exponential", "middle"),
    "BendTwist": ROD,
    "LinkPotential": LINK,
    "sum": LJ + ct.Harmonic(2.0, 1.4) + ct.Yukawa("t", 0.3) + ROD + LINK,
    "table": TYPES,
    "each link": [LJ, ct.Harmonic(2.0, 1.4) + ROD, LINK],
}


def chain_of(potential: Any, **given: Any) -> tuple[ct.Chain, ct.State]:
    """Four bodies, the first held, all turned and moving."""
    chain = ct.Chain([TYPED] * 4, potential, **given)
    position = np.outer(np.arange(4), (1.45, 0.1, 0.05))
    turned = np.array([[1.0, 0.1 * k, -0.05 * k, 0.2 * k] for k in range(4)])
    spin = np.outer(np.arange(4), (0.2, -0.1, 0.3))
    turned /= np.linalg.norm(turned, axis=1)[:, None]
    return chain, chain.start(position, turned, angular_velocity=spin, check=False)


def at(potential: Any, t: float) -> Any:
    """The numbers of a potential at a time."""
    if isinstance(potential, list):
        return [at(one, t) for one in potential]
    if isinstance(potential, ct.PairTable):
        return ct.PairTable({types: None if one is None else one.at(t) for types, one in potential.pairs.items()})
    if hasattr(potential, "pairs"):
        return at(potential.pairs, t) + at(potential.links, t)
    if hasattr(potential, "terms"):
        first, *rest = [at(term, t) for term in potential.terms]
        for term in rest:
            first = first + term
        return first
    return potential.at(t)


def forces(potential: Any, start: ct.State) -> np.ndarray:
    """Of all bodies, and w' behind them where there is a clock, at the time of the start."""
    program = build(ct.Chain([TYPED] * 4, potential), Plain(2), compiled=False)
    out = np.zeros(program.view.dimension)
    known = [part for part in vars(program.module) if part.endswith(("moving_kernels_at_time", "chain_force"))]
    evaluate = getattr(program.module, max(known, key=lambda part: part.endswith("at_time")))
    evaluate(program.view.pack(start), program.new_par(), out)
    return out


@pytest.mark.parametrize("name", POTENTIALS)
def test_forces_and_energies_are_those_of_the_numbers_at_that_time(name):
    """Bit by bit but for constants that are made of parameters by other operations: a few units in the last place."""
    t, potential = 0.7, POTENTIALS[name]
    start = dataclasses.replace(chain_of(potential)[1], time=t)
    frozen = at(potential, t)
    moving, still = (
        uncompiled.simulate(ct.Chain([TYPED] * 4, one), start, Plain(2), dt=1e-3, steps=1)
        for one in (potential, frozen)
    )
    energies = [run.data.energy.values[0] for run in (moving, still)]
    assert abs(energies[0] - energies[1]) < 4e-15 * max(1.0, abs(energies[1]))
    found, wanted = forces(potential, start), forces(frozen, start)
    assert np.abs(found[: len(wanted)] - wanted).max() < 1e-14 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("name", POTENTIALS)
def test_what_the_clock_takes_up_is_the_change_of_the_energy_in_time(name):
    """-dV/dt by differences of order 6 of the energies of chains with numbers, between two knots of the table; 1e-9 of the energy."""
    t, h, potential = 0.875, 0.02, POTENTIALS[name]
    start = dataclasses.replace(chain_of(potential)[1], time=t)
    out = forces(potential, start)
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    energies = {
        k: ct.Chain([TYPED] * 4, at(potential, t + k * h)).link_energies(start).sum() for k in range(-3, 4) if k
    }
    slope = sum(weight * (energies[k] - energies[-k]) for k, weight in weights.items()) / h
    assert abs(slope) > 1e-3
    assert out[-1] == pytest.approx(-slope, abs=1e-9 * max(map(abs, energies.values())))


def reference(t_end: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Positions and momenta of bodies 1 to 3 and the work, harmonic springs between particles, by DOP853."""
    mass, places, tensor = TYPED.mass, TYPED.particles.positions, TYPED.tensor
    start = chain_of(ct.Harmonic(STIFFNESS, LENGTH))[1]

    def found(t, state):
        r, q, p, y = (np.zeros((4, width)) for width in (3, 4, 3, 3))
        r[0], q[0] = start.position[0], start.orientation[0]
        r[1:], q[1:], p[1:], y[1:] = np.split(state[:39].reshape(3, 13), [3, 7, 10], axis=1)
        stiff, stiffer = 3 * (1 + 0.3 * np.sin(2 * t)), 1.8 * np.cos(2 * t)
        length, longer = 1.5 + 0.1 * t, 0.1
        turn = [matrix(one) for one in q]
        force, torque, work = np.zeros((4, 3)), np.zeros((4, 3)), 0.0
        for j in range(3):
            a, b = places @ turn[j].T, places @ turn[j + 1].T
            d = (r[j] + a)[:, None] - (r[j + 1] + b)[None]
            apart = np.linalg.norm(d, axis=2, keepdims=True)
            f = -stiff * (apart - length) * d / apart
            work += (0.5 * stiffer * (apart - length) ** 2 - stiff * (apart - length) * longer).sum()
            force[j] += f.sum((0, 1))
            force[j + 1] -= f.sum((0, 1))
            torque[j] += np.cross(a, f.sum(1)).sum(0)
            torque[j + 1] -= np.cross(b, f.sum(0)).sum(0)
        spin = [np.linalg.solve(tensor, one) for one in y]
        out = [
            np.concatenate([p[j] / mass, 0.5 * product(q[j], [0.0, *spin[j]]), force[j], turn[j].T @ torque[j] - np.cross(spin[j], y[j])])
            for j in (1, 2, 3)
        ]  # fmt: skip
        return np.concatenate([*out, [work]])

    rows = np.hstack([start.position, start.orientation, start.momentum, start.angular_momentum])[1:]
    state = solve_ivp(found, (0.0, t_end), [*rows.ravel(), 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    bodies = state[:39].reshape(3, 13)
    return bodies[:, :3], bodies[:, 7:10], state[39]


@pytest.fixture(scope="module")
def half_second():
    return reference(0.5)


METHODS = {
    "plain": (Plain(4), "quaternion", 4), "Gauss": (ct.Gauss(2), "quaternion", 4), "Rattle": (ct.Rattle(), "rotation", 2),
    "Verlet": (ct.StormerVerlet(), "quaternion", 2), "Euler": (ct.EulerB(), "quaternion", 1),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["plain", "Verlet", *(pytest.param(m, marks=pytest.mark.slow) for m in METHODS if m not in ("plain", "Verlet"))],
)
def test_motion_and_work_converge_to_the_reference_with_the_order_declared(name, half_second):
    method, form, order = METHODS[name]
    chain, start = chain_of(ct.Harmonic(STIFFNESS, LENGTH), form=form)
    errors = []
    for steps in (10, 20):
        run = uncompiled.simulate(chain, start, method, dt=0.5 / steps, steps=steps, every=steps)
        found = run.final.position[1:], run.final.momentum[1:], run.data.work.values[-1, 0]
        errors.append(max(np.abs(a - b).max() for a, b in zip(found, half_second, strict=True)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def greedy_moving(z, par):
    """The clock takes up too much: the twin of `add_moving`."""
    add_link_forces(z, par)
    par.drive_rate[0] = 0.0 - 1.01 * potential_rate(z, par)


def test_energy_less_work_and_momenta_are_kept_and_a_wrong_work_is_seen(monkeypatch):
    """A free chain: what depends on time acts between its bodies only, so that momenta are kept to rounding."""
    chain, start = chain_of(ct.Harmonic(STIFFNESS, LENGTH), left=ct.Free())
    runs = [uncompiled.simulate(chain, start, Plain(4), dt=0.025, steps=40)]
    monkeypatch.setattr(moving_kernels, "add_moving", greedy_moving)
    runs.append(uncompiled.simulate(chain, start, Plain(4), dt=0.025, steps=40))
    spread = [np.ptp(run.data.energy.values) for run in runs]
    assert spread[0] < 1e-6 * np.abs(runs[0].data.work.values).max() and spread[1] > 100 * spread[0]
    assert Pairing.of(chain, Plain(4)).promises.kept["energy"] == "bounded"
    for name in ("total_momentum", "total_angular_momentum"):
        assert np.abs(runs[0].data[name].values - runs[0].data[name].values[0]).max() < 1e-13


def test_tables_and_drives_of_both_kinds_find_their_own():
    """Tweezers with a table and a potential with another: the work of each is its own."""
    shake = ct.Sampled(TIMES, 6.0 + np.cos(TIMES))
    chain, start = chain_of(ct.Harmonic(3.0, TABLE), right=ct.Tweezers(2.0, (shake, 0, 0)))
    assert chain.drives.names == ["potential", "right"] and chain.time_tables == (shake, TABLE)
    run = uncompiled.simulate(chain, start, Plain(4), dt=0.025, steps=20)
    assert np.ptp(run.data.energy.values) < 1e-6 and np.abs(run.data.work.values[-1]).min() > 1e-3
    out = chain.outputs(run)
    assert out.link_energy.values[-1] == pytest.approx(
        ct.Chain([TYPED] * 4, ct.Harmonic(3.0, TABLE.at(0.5))).link_energies(run.final), rel=1e-13
    )


def test_a_text_without_t_is_a_number_and_descriptions_make_the_same_chain():
    from catena.systems.base import system_from

    assert ct.LennardJones("10/2", 1.0) == ct.LennardJones(5.0, 1.0)
    assert not chain_of(ct.Harmonic("3", 1.5))[0].drives
    for potential in POTENTIALS.values():
        described = chain_of(potential)[0].describe()
        assert system_from(described).describe() == described
        assert system_from(described).drives.names == ["potential"]


PAIRS = [
    LJ, ct.Morse("2 + t", 1.0, 1.0), ct.WCA(1.0, "1 + t"), ct.Yukawa("1 + t", 1.0), ct.Harmonic("1 + t", 1.0),
    ct.PairPotential("(2 + t)*(1 - r**2)**2"), LJ + ct.Yukawa(1.0, 1.0), ct.Switched(LJ, 2.0, 3.0),
    ct.Switched(ct.LennardJones(1.0, 1.0), 2.0, "3 + t"),
]  # fmt: skip


@pytest.mark.parametrize("potential", PAIRS, ids=lambda potential: type(potential).__name__)
def test_the_well_of_a_potential_that_depends_on_time_is_asked_for_at_a_time(potential: Pairwise) -> None:
    """Formulas took the text for a number: a TypeError, or a minimum of "1 + t"."""
    with pytest.raises(ct.InputError, match=r"depends on time\n.*\n  do: ask at a time: potential.at\(t\)"):
        _ = potential.well
    assert all(isinstance(number, float) for number in potential.at(1.0).well)


@pytest.mark.parametrize(
    ("make", "kind", "wrong"),
    [
        (lambda: ct.LennardJones("5*s", 1.0), ct.InputError, "unknown name s"),
        (lambda: ct.LennardJones("sin(t)", 1.0).energy(1.0), ct.InputError, "depends on time"),
        (lambda: ct.LennardJones("sin(t)", 1.0).length, ct.InputError, "epsilon depends on time"),
        (lambda: ct.Yukawa("sin(t)", 1.0).cohesion, ct.InputError, "strength depends on time"),
        (lambda: ct.Morse(1.0, "1 + t", 1.0).torn_distance, ct.InputError, "a depends on time"),
        (lambda: ct.WCA(1.0, "1 + t").reach, ct.InputError, "sigma depends on time"),
        (lambda: ct.Switched(LJ, 2.0, "3 + t").reach, ct.InputError, "depends on time"),
        (lambda: ct.LennardJones("sin(t)", 1.0).at(4.0), ct.InputError, "epsilon = -0.75"),
        (lambda: ROD.force([0, 0, 1], np.eye(3)), ct.InputError, "depends on time"),
        (lambda: ct.WCA("t", "s"), ct.InputError, "unknown name s"),
        (lambda: ct.Elastic(np.eye(6), ([0, 0, "u"], [0, 0, 1])), ct.InputError, "unknown name u"),
        (lambda: ct.Elastic([["t"] * 6] * 5, ([0, 0, 0], [0, 0, 1])), ct.InputError, "6 rows of 6"),
        (lambda: ct.Elastic([*STIFF[:5], ["t"] * 6], ([0, 0, 0], [0, 0, 1])), ct.InputError, "not symmetric"),
        (lambda: ct.Elastic([["-t" if i == j else 0.0 for j in range(6)] for i in range(6)], ([0] * 3, [0] * 3)).at(1.0), ct.InputError, "not positive"),
        (lambda: ct.GayBerne("1 + y", 1, 1, 1, 1, 1), ct.InputError, "unknown name y"),
        (lambda: ct.Switched(LJ, 2.0, 3.0).energy(1.0), ct.InputError, "depends on time"),
        (lambda: ct.Switched(LJ, "2 + t", 3.0).at(1.0), ct.InputError, "a plain cut at r = 3"),
        (lambda: ct.Switched(LJ, "2 + t", 3.0).at(2.0), ct.InputError, "is beyond r_cut"),
        (lambda: chain_of(LJ)[0].equilibrium(), ct.CapabilityError, "changes with time"),
        (lambda: chain_of(LJ, form="multiplier"), ct.CapabilityError, "multiplier form"),
    ],
)  # fmt: skip
def test_bad_input_is_told(make, kind, wrong):
    with pytest.raises(kind, match=wrong):
        make()


@pytest.mark.slow
def test_a_chain_whose_potential_changes_ends_with_the_same_bytes_when_stopped_and_as_plain_python(tmp_path):
    chain, start = chain_of(LJ + ROD)
    options = {"dt": 0.01, "every": 2}
    whole = ct.simulate(chain, start, ct.Splitting(4), steps=40, out=tmp_path / "whole.zarr", **options)
    ct.simulate(chain, start, ct.Splitting(4), steps=17, out=tmp_path / "part.zarr", **options)
    rest = ct.resume(tmp_path / "part.zarr", steps=40)
    for name in whole.data:
        assert whole.data[name].values.tobytes() == rest.data[name].values.tobytes()
    plain = uncompiled.simulate(chain, start, ct.Splitting(4), steps=40, **options)
    assert plain.final.momentum.tobytes() == whole.final.momentum.tobytes()
    assert plain.data.work.values.tobytes() == whole.data.work.values.tobytes()
