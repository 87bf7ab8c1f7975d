"""Chains: reference states, forces, invariants, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.systems.base import system_from
from chains import REFERENCE, STATES, disturbed_helix, problem_of, worst_difference
from uncompiled import simulate


@pytest.mark.parametrize(
    ("name", "method", "dt"),
    [
        *((name, ct.Splitting(6), 0.0025) for name in STATES),
        *(pytest.param(name, ct.Gauss(6), 0.005, marks=pytest.mark.slow) for name in STATES),
    ],
)
def test_chains_reach_the_reference_states(name, method, dt):
    """Tolerance 1e-12 as the reference was made for (1e-11 for the chaotic row): measured 1e-15 to 5e-14."""
    case = REFERENCE[name]
    run = ct.simulate(problem_of(case), method=method, dt=dt, t_end=case["t"], every=50)
    assert float(run.data.energy[0]) == pytest.approx(case["energy"], abs=1e-12)
    assert worst_difference(run.final, case) < case["tolerance"]


def test_a_wrong_digit_in_the_potential_is_seen():
    """The twin: epsilon off by 1e-9 moves the final state of R2 by far more than the tolerance."""
    case = REFERENCE["R2"]
    problem = problem_of(case)
    wrong = ct.Chain(problem.system.bodies, ct.LennardJones(5.0 + 1e-9, 1.0))
    run = ct.simulate(wrong, problem.start, method=ct.Splitting(6), dt=0.0025, t_end=case["t"], every=50)
    assert worst_difference(run.final, case) > 10 * case["tolerance"]


@pytest.mark.parametrize("row", REFERENCE["static"], ids=lambda row: row["potential"]["kind"])
def test_energy_force_and_torque_of_every_potential(row):
    """Relative 1e-13 of the largest component, uncompiled."""
    chain, state = disturbed_helix(row["potential"])
    program = build(chain, ct.RK4(), compiled=False)
    z = program.view.pack(state)
    out, par = np.zeros(len(z)), program.new_par()
    name = next(part for part in vars(program.module) if part.endswith("canonical_field"))
    getattr(program.module, name)(z, par, out)
    for seen, wanted in ((par.f[1], row["force"]), (par.tau[1], row["torque"])):
        assert np.abs(seen - wanted).max() < 1e-13 * np.abs(wanted).max() * 3
    energies = next(part for part in vars(program.module) if part.endswith("link_energies"))
    total, _ = getattr(program.module, energies)(z, par)
    assert total == pytest.approx(row["energy"], rel=1e-13)


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        (ct.Splitting(4), 200),
        (ct.Gauss(6), 20),
        (ct.Rattle(), 40),
        *(pytest.param(method, 200, marks=pytest.mark.slow) for method in (ct.Gauss(6), ct.Rattle())),
    ],
    ids=str,
)
def test_a_free_chain_keeps_what_the_method_promises(method, steps):
    """Round-off limits of the audit, 50 eps sqrt(steps) scale; the drift verdict is not asked of so short a run.

    Few steps are taken uncompiled: compiling the chain takes 14 s with Gauss(6).
    """
    problem = ct.problems.helix_chain(4, left="free", right="free")
    run = simulate(problem, None, method, dt=0.01, steps=steps, compiled=steps == 200)
    for invariant in run.system.invariants:
        if method.traits.promise(invariant.tags) == "exact":
            values = run.data[invariant.name].values
            deviation = np.abs(values - values[0]).max()
            assert deviation < 50 * np.finfo(float).eps * np.sqrt(steps) * 10, invariant.name


def test_euler_does_not_keep_the_unit_length_but_gauss_does():
    problem = ct.problems.helix_chain(3, right="force", F=(3.0, 0.0, 0.0), amp=0.5)
    worst = {}
    for method in (ct.EulerB(), ct.Gauss(1)):
        run = simulate(problem.system, problem.start, method, dt=0.01, steps=100)
        worst[method.name] = float(np.abs(run.data.unit_residual).max())
    assert worst["Gauss"] < 1e-14
    assert 1e-4 < worst["EulerB"] < 1e-2


def test_a_chain_of_linear_bodies_keeps_its_lines_from_spinning():
    """Two-particle rods: what round-off makes of the momentum about the line is measured at 1.4e-17."""
    rod = ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
    chain = ct.Chain([rod] * 4, ct.LennardJones(1.0, 1.0))
    j = np.arange(4)
    position = np.column_stack([1.2 * j, 0.1 * j, np.zeros(4)])
    velocity = 0.1 * np.column_stack([np.sin(j), np.cos(j), np.sin(2 * j)]) * (j > 0)[:, None]
    run = simulate(chain, chain.start(position, velocity=velocity), method=ct.Gauss(3), dt=0.01, steps=40)
    assert np.abs(run.data.angular_momentum[..., 2]).max() < 1e-16
    with pytest.raises(ct.CapabilityError, match="linear"):
        ct.simulate(chain, chain.start(position), method=ct.Splitting(2, ct.ThreeRotations()), dt=0.01, steps=1)


def test_a_chain_describes_itself():
    chain = ct.problems.helix_chain(5, right="force", F=(1.0, 2.0, 3.0), gravity=(0.0, 0.0, -1.0)).system
    again = system_from(chain.describe())
    assert again.describe() == chain.describe()
    for name, array in chain.parameter_arrays().items():
        assert np.array_equal(array, again.parameter_arrays()[name]), name


def test_one_potential_for_each_link_and_a_table_of_types_give_the_same_forces():
    lj = ct.LennardJones(5.0, 1.0)
    same = [disturbed_helix(potential)[0] for potential in (lj, [lj, lj, ct.LennardJones(5.0, 1.0)])]
    table = ct.Chain(
        [ct.Body.from_particles(ct.Body.tetrahedron().particles.positions, types=["a", "a", "b", "b"])] * 4,
        ct.PairTable({("a", "a"): lj, ("a", "b"): lj, ("b", "b"): ct.Morse(5.0, 3.0, 1.1)}),
    )
    state = disturbed_helix(lj)[1]
    forces = []
    for chain in (*same, table):
        program = build(chain, ct.RK4(), compiled=False)
        par = program.new_par()
        getattr(program.module, next(p for p in vars(program.module) if p.endswith("canonical_field")))(
            program.view.pack(state), par, np.zeros(14 * 4)
        )
        forces.append(par.f)
    assert np.array_equal(forces[0], forces[1])
    assert np.abs(forces[0] - forces[2]).max() > 1.0


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ct.Chain([ct.Body.tetrahedron()], ct.LennardJones(1, 1)), "one body is too few"),
        (lambda: ct.Chain([ct.Body(1.0, (1, 2, 3))] * 2, ct.LennardJones(1, 1)), "body 0 has no particles"),
        (lambda: ct.Chain([ct.Body.tetrahedron()] * 3, [ct.LennardJones(1, 1)]), "1 potentials for 2 links"),
        (lambda: ct.Chain([ct.Body.tetrahedron()] * 3, ct.LennardJones(1, 1), left="Clampd"), "Clamped"),
        (lambda: disturbed_helix(ct.LennardJones(5, 1))[0].straight(0.3), "apart"),
        (lambda: disturbed_helix(ct.LennardJones(5, 1))[0].start(np.zeros((3, 3))), "shape"),
        (lambda: disturbed_helix(ct.LennardJones(5, 1))[0].start(np.full((4, 3), np.nan)), "body 0 is not finite"),
        (
            lambda: disturbed_helix(ct.LennardJones(5, 1))[0].start(
                3.0 * np.arange(12.0).reshape(4, 3), np.full((4, 4), 0.6)
            ),
            "body 0 has length",
        ),
        (
            lambda: disturbed_helix(ct.LennardJones(5, 1))[0].start(
                3.0 * np.arange(12.0).reshape(4, 3), velocity=np.ones((4, 3))
            ),
            "body 0 is held",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_explained(make, match):
    with pytest.raises(ct.CatenaError, match=match):
        make()


def test_a_stored_chain_resumes_to_the_same_arrays(tmp_path):
    problem = ct.problems.helix_chain(4)
    whole = ct.simulate(problem, method=ct.Splitting(4), dt=0.02, steps=60, every=5, out=tmp_path / "whole.zarr")
    ct.simulate(problem, method=ct.Splitting(4), dt=0.02, steps=25, every=5, out=tmp_path / "part.zarr")
    again = ct.resume(tmp_path / "part.zarr", steps=60)
    for name in whole.data.variables:
        assert np.array_equal(whole.data[name], again.data[name]), name


def test_a_chain_in_other_units_keeps_the_pairs_of_its_particles():
    """In units of 2 the distance 1 is 0.5, and bodies that may not pass through each other still may not."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 4, ct.LennardJones(5.0, 1.0), pairs=ct.LennardJones(0.5, 1.0), exclude=2)
    scaled = chain.scales(length=2.0).chain
    assert scaled.exclude == 2
    given, made = (one.describe()["pairs"] for one in (chain, scaled))
    assert given != made and "0.5" in str(made)
    bare = ct.Chain([ct.Body.tetrahedron()] * 4, ct.LennardJones(5.0, 1.0)).scales(length=2.0).chain
    assert "pairs" not in bare.describe()  # the twin
