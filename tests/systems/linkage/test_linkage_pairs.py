"""Pair potentials between the particles of all bodies of a linkage: beside a list of forces between points, which is a second way to the same motion."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena.engine.build import build
from catena.errors import InputError
from catena.kernels.views import View
from catena.systems.base import system_from
from catena.systems.linkage.director_form import recursion, steps
from catena.systems.linkage.director_form.rows import both_levels
from catena.systems.linkage.layout import Scratch, Sweep
from catena.systems.linkage.linkage import Linkage
from catena.systems.particles import kernels
from molecules import peptide
from typed_particles import TABLE, bent

EPS = np.finfo(float).eps
KEPT = ("energy", "total_momentum", "total_angular_momentum")


def listed(linkage: Linkage) -> Linkage:
    """The same forces, each given by itself."""
    forces = []
    for i, body in enumerate(linkage.bodies):
        for j in range(i + 1, linkage.count):
            if not (linkage.exclude and any({i, j} == {joint.parent, joint.child} for joint in linkage.joints)):
                other = linkage.bodies[j]
                for x, first in zip(body.particles.positions, body.particles.types, strict=True):
                    for y, second in zip(other.particles.positions, other.particles.types, strict=True):
                        potential = None if "none" in (first, second) else TABLE.between(first, second)
                        if potential is not None:
                            forces.append(ct.SitePair(i, j, at=(x, y), potential=potential))
    return ct.Linkage(linkage.bodies, linkage.joints, forces, linkage.gravity)


@pytest.mark.parametrize(
    "method",
    [
        ct.Rattle(),
        *(
            pytest.param(method, marks=pytest.mark.slow)
            for method in (ct.EnergyMomentum(), ct.Gauss(2, solver="newton"))
        ),
    ],
    ids=repr,
)
def test_pairs_act_as_forces_given_one_by_one(method):
    """A step, whose sums are added in another order: round-off, 100 times allowed."""
    pairs, start = bent(pairs=TABLE)
    ours, theirs = (uncompiled.simulate(one, start, method, dt=0.05, steps=1) for one in (pairs, listed(pairs)))
    for field in ("position", "orientation", "momentum", "angular_momentum"):
        assert np.abs(getattr(ours.final, field) - getattr(theirs.final, field)).max() < 100 * EPS
    assert ours.data.energy.values == pytest.approx(theirs.data.energy.values, abs=100 * EPS)


def test_reactions_and_stiffness_know_of_pairs():
    """Both from the forces one by one; sums of 30 terms of size 1, 1000 roundings."""
    pairs, start = bent(pairs=TABLE)
    one_by_one = listed(pairs)
    assert pairs.reactions(start).force == pytest.approx(one_by_one.reactions(start).force, abs=1000 * EPS)
    ours, theirs = pairs.linearise(start), one_by_one.linearise(start)
    assert ours.stiffness == pytest.approx(theirs.stiffness, abs=1000 * EPS * np.abs(theirs.stiffness).max())


class ForceOfTheStart(Linkage):
    """A wrong conserving step: pairs act as at its start."""

    def view(self, name: str) -> View | None:
        view = super().view(name)
        assert view is not None
        view.fills[kernels.push_all_between] = view.fills[kernels.push_all]  # type: ignore[index]
        return view


@pytest.mark.parametrize("of", [Linkage, ForceOfTheStart])
def test_a_conserving_step_keeps_energy_and_momenta(of):
    """In a step of 0.1: round-off, 50 allowed; the twin is off by 1e-4."""
    linkage, start = bent(of, pairs=TABLE)
    data = uncompiled.simulate(linkage, start, ct.EnergyMomentum(), dt=0.1, steps=1).data
    changes = [np.abs(np.diff(data[name].values, axis=0)).max() for name in KEPT]
    assert max(changes) < 50 * EPS * np.abs(data.total_angular_momentum.values).max() or of is ForceOfTheStart
    assert changes[0] > 1e-6 or of is Linkage


def end_by_joints(z, h, par, x):
    """The end of a step from the increments of the joints, the last correction among them."""
    recursion.outwards(par, x)
    par.scratch[Scratch.ENDED] = 1.0
    for i in range(par.mass.shape[0]):
        for l in range(6 + 6 * both_levels()):
            par.sweep[i, Sweep.CHANGE + l] = 0.0
    return recursion.place_end(z, h, par, x)


class LastDigitsOfJoints(Linkage):
    """A conserving step whose momenta are as good as the increments of its joints are rounded."""

    def view(self, name: str) -> View | None:
        view = super().view(name)
        assert view is not None
        view.fills[steps.place_end] = end_by_joints  # type: ignore[index]
        return view


@pytest.mark.parametrize("level", ["position", "both"])
@pytest.mark.parametrize("of", [Linkage, LastDigitsOfJoints])
def test_momenta_of_a_long_chain_are_kept_to_their_own_rounding(of, level):
    """60 bodies on 59 hinges, the last 100 bonds from the first, three steps: half a rounding of all momenta; the twin 10 and more."""
    linkage, start = peptide(30, of=of)
    data = uncompiled.simulate(linkage, start, ct.EnergyMomentum(level), dt=0.02, steps=3).data
    change = np.abs(np.diff(data.total_momentum.values, axis=0)).max()
    rounding = EPS * np.abs(data.momentum.values[0]).sum()
    assert change < 0.5 * rounding if of is Linkage else change > 10 * rounding


def test_forces_of_rattle_are_kept_and_found_again_with_the_same_bits():
    """A second driver, which knows no forces, goes on with the bits of the first."""
    linkage, start = bent(pairs=TABLE)
    program = build(linkage, ct.Rattle(), compiled=False)
    uncompiled.check_goes_on(program, start, dt=0.02, steps=1)


@pytest.mark.parametrize(("hops", "pairs"), [(0, 10), (1, 6), (2, 3), (3, 1), (4, 0)])
def test_bodies_a_few_joints_apart_do_not_interact(hops, pairs):
    """Five bodies of one particle in a row; the joint to the ground connects nothing."""
    atom = ct.Body.from_particles([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0.1]], types=["A", "none", "none"])
    joints = [ct.Spherical(k - 1, k, at=((0.5, 0, 0), (-0.5, 0, 0))) for k in range(5)]
    assert ct.Linkage([atom] * 5, joints, pairs=ct.WCA(1.0, 0.1), exclude=hops).acting.pair_count == pairs


def test_a_ring_is_as_far_as_its_shorter_way():
    atom = ct.Body.from_particles([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0.1]], types=["A", "none", "none"])
    joints = [ct.Spherical(*ends, at=((0.5, 0, 0), (-0.5, 0, 0))) for ends in [*((k, k + 1) for k in range(5)), (0, 5)]]
    assert ct.Linkage([atom] * 6, joints, pairs=ct.WCA(1.0, 0.1), exclude=2).acting.pair_count == 3


def test_particles_are_told_once_with_their_types():
    linkage, start = bent()
    found = linkage.particles(start)
    assert found.positions.shape == (7, 3)
    assert found.types[:4] == ("A", "B", "B", "A")
    wanted = start.position[0] + linkage.bodies[0].particles.positions[1]  # the first body is not turned
    assert found.positions[1] == pytest.approx(wanted, abs=4 * EPS)


def test_a_linkage_with_pairs_is_written_down_and_made_again():
    linkage, start = bent(pairs=TABLE, exclude=2)
    again = system_from(linkage.describe())
    assert isinstance(again, Linkage)
    assert again.describe() == linkage.describe()
    assert again.begun(start).acting.pair_count == linkage.acting.pair_count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": ct.LennardJones(1.0, 9.0)}, "are .* apart, less than half of"),
        ({"pairs": ct.PairTable({("A", "A"): None})}, "no potential for particles of types"),
        ({"pairs": 3.0}, "is no pair potential"),
        ({"pairs": ct.WCA(1.0, 0.1), "exclude": -1}, "exclude = -1"),
        ({"pairs": ct.WCA(1.0, 0.1), "exclude": 1.5}, "exclude = 1.5"),
    ],
)
def test_what_cannot_act_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        bent(**arguments)


def test_bodies_without_particles_have_none_to_interact_with():
    with pytest.raises(InputError, match="no body has particles"):
        ct.Linkage([ct.Body(moments=(1, 2, 3))] * 2, pairs=ct.WCA(1.0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("residues", [10, 30])
@pytest.mark.parametrize("method", [ct.EnergyMomentum(), ct.Rattle()], ids=repr)
def test_a_chain_of_residues_keeps_what_is_promised(method, residues):
    """50 or 150 atoms, 954 or 10 324 pairs, 20 000 steps."""
    linkage, start = peptide(residues, pairs=ct.LennardJones(0.5, 3.0), exclude=2)
    audit = ct.simulate(linkage, start, method, dt=0.02, steps=20_000, every=20).audit()
    assert audit["energy"].verdict == ("exact" if method == ct.EnergyMomentum() else "bounded")
    assert audit["total_momentum"].verdict == audit["total_angular_momentum"].verdict == "exact"
