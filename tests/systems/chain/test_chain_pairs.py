"""Pairs between bodies of a chain that no link joins: beside free bodies between which all pairs act."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena.errors import CapabilityError, InputError
from catena.systems.base import system_from
from catena.systems.chain.distant import near_bodies

EPS = np.finfo(float).eps
LJ = ct.LennardJones(1.0, 1.0)


def bent(**arguments):
    """Four tetrahedra in a curve, free, moving."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 4, LJ, left=ct.Free(), right=ct.Free(), **arguments)
    places = [(0, 0, 0), (2.3, 0.1, 0), (3.2, 2.2, 0.2), (1.4, 3.3, 0.4)]
    turns = np.random.default_rng(4).normal(size=(4, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    velocity = [(0.1, 0, 0), (0, 0.1, 0.2), (-0.3, 0, 0), (0, -0.2, 0.1)]
    return chain, chain.start(places, turns, velocity=velocity, angular_velocity=0.2 * turns[:, 1:])


def test_a_chain_with_pairs_is_bodies_between_which_all_pairs_act():
    """Gauss(2) on quaternions beside Gauss(2) on joint coordinates of free bodies: both errors are below 1e-12 at this step."""
    chain, start = bent(pairs=LJ)
    free = ct.Linkage(chain.bodies, gravity=(0, 0, 0), pairs=LJ, exclude=0)
    ours = uncompiled.simulate(chain, start, ct.Gauss(2), dt=0.001, steps=1)
    theirs = uncompiled.simulate(free, start, ct.Gauss(2), dt=0.001, steps=1)
    for field in ("position", "momentum", "angular_momentum"):
        assert np.abs(getattr(ours.final, field) - getattr(theirs.final, field)).max() < 1e-12
    assert ours.data.energy.values == pytest.approx(theirs.data.energy.values, abs=1e-12)
    without, _ = bent()
    other = uncompiled.simulate(without, start, ct.Gauss(2), dt=0.001, steps=1).final  # the twin: pairs matter
    assert np.abs(other.momentum - theirs.final.momentum).max() > 1e-7


@pytest.mark.parametrize("form", ["quaternion", "rotation"])
def test_momenta_are_kept(form):
    chain, start = bent(pairs=LJ, form=form)
    data = uncompiled.simulate(chain, start, ct.Splitting(2, rotor=ct.DMV(2)), dt=0.01, steps=2).data
    for name in ("total_momentum", "total_angular_momentum"):
        assert np.abs(np.diff(data[name].values, axis=0)).max() < 500 * EPS
    assert np.abs(np.diff(data.energy.values)).max() < 1e-3


def test_bodies_near_in_a_ring_are_near_over_its_end():
    assert [sorted(near) for near in near_bodies(5, 1, closed=True)] == [[1, 4], [2], [3], [4], []]
    assert [sorted(near) for near in near_bodies(5, 2, closed=False)] == [[1, 2], [2, 3], [3, 4], [4], []]


def test_reactions_know_of_pairs():
    """The end that is held feels what the others do to it: links and pairs of the same potential."""
    chain, start = bent(pairs=LJ)
    held = ct.Chain(chain.bodies, LJ, left=ct.Clamped(), right=ct.Free(), pairs=LJ)
    rest = held.start(start.position, start.orientation)
    free = ct.Linkage(chain.bodies, gravity=(0, 0, 0), pairs=LJ, exclude=0)
    assert held.reactions(rest).force[0] == pytest.approx(-free.acting.wrenches(rest)[0, 0], abs=1e-12)


def test_a_chain_with_pairs_is_written_down_and_made_again():
    chain, _ = bent(pairs=ct.PairTable({(0, 0): LJ}), exclude=2)
    assert system_from(chain.describe()).describe() == chain.describe()


def test_statics_refuse_pairs_and_starts_that_overlap_are_refused():
    chain, start = bent(pairs=LJ)
    with pytest.raises(CapabilityError, match="normal_modes looks at links only"):
        chain.normal_modes(start)
    with pytest.raises(InputError, match="apart, less than half of"):
        bent(pairs=ct.LennardJones(1.0, 6.0))


def test_pairs_and_potentials_in_time_are_refused_together():
    with pytest.raises(InputError, match="depends on time"):
        bent(pairs=ct.LennardJones("1 + 0.1*sin(t)", 1.0))
    with pytest.raises(CapabilityError, match="do not go together with pairs"):
        ct.Chain([ct.Body.tetrahedron()] * 4, ct.LennardJones("1 + 0.1*sin(t)", 1.0), pairs=LJ)
