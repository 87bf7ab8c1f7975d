"""Starts of a chain: what is refused and why, and what is warned of."""

from __future__ import annotations

import re
import warnings
from functools import partial

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.errors import CatenaWarning
from uncompiled import simulate

LJ = ct.LennardJones(5.0, 1.0)
TETRAHEDRON = ct.Body.tetrahedron()
SPACED = np.column_stack([2.2 * np.arange(4), np.zeros(4), np.zeros(4)])


def chain(potential=LJ, bodies=(TETRAHEDRON,) * 4, **ends) -> ct.Chain:
    return ct.Chain(list(bodies), potential, **ends)


def typed() -> ct.Body:
    return ct.Body.from_particles(TETRAHEDRON.particles.positions, types=[1, 1, 2, 2])


def table() -> ct.PairTable:
    return ct.PairTable({(1, 1): LJ, (1, 2): ct.LennardJones(5.0, 0.2), (2, 2): None})


def test_particles_that_coincide_name_their_link():
    """In a state that was made by hand; `start` refuses it."""
    start = chain().start(SPACED)
    there = start.position.copy()
    there[3] = there[2]
    assert chain().undefined_at(ct.State({**start.fields, "position": there})) == "start, link 2"
    assert chain().undefined_at(start) == "start"


def test_particles_nearer_than_half_their_distance_are_refused_with_their_names():
    position = SPACED.copy()
    position[2:, 0] -= 1.8
    match = re.escape("particle 0 of body 1 and particle 0 of body 2 are 0.4 apart, less than half of 1")
    with pytest.raises(ct.InputError, match=match) as error:
        chain().start(position)
    assert error.value.where == "start.position[1]"


def test_in_a_table_each_pair_has_its_own_distance():
    """0.4 is too close for sigma = 1, not for 0.2; and nothing is too close where nothing acts."""
    bodies = [typed()] * 2
    apart = [[0, 0, 0], [0.4, 0, 0]]
    with pytest.raises(ct.InputError, match="less than half of 1"):
        chain(table(), bodies).start(apart)
    only = ct.PairTable({(1, 1): None, (1, 2): ct.LennardJones(5.0, 0.2), (2, 2): None})
    chain(only, bodies).start(apart)


def test_link_potentials_do_not_mind_where_particles_are():
    chain(ct.BendTwist(10.0, 1.0, 1.0, (0.1, 0, 0))).start(0.1 * SPACED / 2.2)


@pytest.mark.parametrize("bodies", [(TETRAHEDRON,) * 2, (typed(),) * 2], ids=["one potential", "table"])
def test_a_force_beyond_the_cohesion_is_warned_of(bodies):
    """At distance sigma two particles repel with 24 epsilon, 10 times the largest attraction; the pair is named."""
    potential = LJ if bodies[0] is TETRAHEDRON else ct.PairTable({(1, 1): LJ, (1, 2): LJ, (2, 2): LJ})
    with pytest.warns(CatenaWarning, match="particle 1 of body 0 and particle 0 of body 1 repel with 120, 10 times"):
        chain(potential, bodies).start([[0, 0, 0], [2.0, 0, 0]])


def test_equilibria_and_gentle_starts_are_not():
    """Discs press some particles together, with others that pull: the link is at rest."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.problems.disc_chain(4, n_p=32)
        ct.problems.helix_chain(4)
        chain(ct.WCA(5.0, 1.0)).start(0.9 * SPACED)  # nothing holds it, so nothing is exceeded


def test_the_printed_chain_warns_and_runs():
    with pytest.warns(CatenaWarning, match="may tear"):
        problem = ct.problems.printed_chain(3)
    assert simulate(problem, None, ct.Splitting(2), dt=0.005, steps=2).steps == 2


MOVING = 0.1 * np.ones((4, 3))
ROD = ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
POINT = ct.Body.from_particles([[0, 0, 0]])
WRONG = {
    "shape": (lambda: chain().start(SPACED[:3]), r"position has shape (3, 3)", "start.position"),
    "text": (lambda: chain().start("here"), "position = 'here' is not an array of numbers", "start.position"),
    "nan": (lambda: chain().start(np.where(SPACED == 4.4, np.nan, SPACED)), "position of body 2 is not finite", "start.position[2]"),
    "width": (lambda: chain().start(SPACED, np.ones((4, 3))), r"orientation has shape (4, 3)", "start.orientation"),
    "length": (
        lambda: chain().start(SPACED, [[1, 0, 0, 0], [1, 0, 0, 2e-3], [1, 0, 0, 0], [1, 0, 0, 0]]),
        "the orientation of body 1 has length 1.000002",
        "start.orientation[1]",
    ),
    "both": (lambda: chain(left=ct.Free()).start(SPACED, velocity=MOVING, momentum=MOVING), "both velocity and momentum", "start"),
    "held": (lambda: chain().start(SPACED, velocity=MOVING), "body 0 is held, but moves", "start.momentum[0]"),
    "clamped": (lambda: chain().start(SPACED, angular_velocity=MOVING), "body 0 is held, but turns", "start.angular_momentum[0]"),
    "displaced": (
        lambda: chain(right=ct.Displaced((7.0, 0, 0))).start(SPACED),
        "body 3 starts at [6.6000000000000005, 0.0, 0.0], but its end is displaced to [7.0, 0.0, 0.0]",
        "start.position[3]",
    ),
    "line": (
        lambda: chain(LJ, [ROD] * 4, left=ct.Free()).start(SPACED, angular_momentum=MOVING),
        "body 0 is a line and cannot spin about it: momentum 0.1",
        "start.angular_momentum[0]",
    ),
    "point": (
        lambda: chain(LJ, [POINT] * 4, left=ct.Free()).start(SPACED, angular_momentum=MOVING),
        "body 0 is a point, but spins",
        "start.angular_momentum[0]",
    ),
    "potentials": (lambda: chain([LJ, LJ]), "2 potentials for 3 links", "Chain.potential"),
    "no body": (lambda: ct.Chain([ct.Body.tetrahedron(), 1], LJ), "1 is no body", "Chain.bodies[1]"),
    "no potential": (lambda: chain([LJ, LJ, 5.0]), "5.0 is no potential", "Chain.potential[2]"),
    "types": (lambda: chain(table(), [typed(), TETRAHEDRON]), "no potential for particles of types", "PairTable"),
    "particles": (lambda: chain(LJ, [TETRAHEDRON, ct.Body(moments=(1, 2, 3))]), "body 1 has no particles", "Chain.bodies[1]"),
    "one body": (lambda: chain(LJ, [TETRAHEDRON]), "one body is too few", "Chain.bodies"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_chain_or_start_is_explained(name):
    make, match, where = WRONG[name]
    with pytest.raises(ct.InputError, match=re.escape(match)) as error:
        make()
    assert error.value.where == where
    assert error.value.do
    assert len(str(error.value).splitlines()) <= 4


def test_a_quaternion_that_is_off_by_less_than_a_millionth_is_normalised():
    given = np.tile((1.0 + 9e-7, 0.0, 0.0, 0.0), (4, 1))
    assert np.array_equal(chain().start(SPACED, given).orientation[:, 0], np.ones(4))


@pytest.mark.parametrize(
    ("potential", "link"),
    [
        ([ct.BendTwist(1.0, 1.0, 1.0, (2.2, 0, 0)), ct.LinkPotential("1/d2"), ct.BendTwist(1.0, 1.0, 1.0, (2.2, 0, 0))], 1),
        ([LJ, LJ, ct.PairPotential("log(r - 1.5)")], 2),
    ],
    ids=["link", "pair"],
)  # fmt: skip
def test_a_singular_expression_names_its_link(potential, link, monkeypatch):
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    system = chain(potential)
    with pytest.raises(ct.InputError, match="is not defined at the start") as error:
        ct.simulate(system, system.start(SPACED), ct.RK4(), dt=0.01, steps=1)
    assert error.value.where == f"start, link {link}"


def test_a_method_of_too_high_an_order_for_the_potential_warns_with_both_numbers():
    switched = chain(ct.Switched(LJ, 1.2, 2.0, smoothness=3))
    start = switched.start(1.05 * SPACED)
    with pytest.warns(
        CatenaWarning, match=re.escape("Splitting(6) has order 6, but the potential has only 3")
    ) as caught:
        simulate(switched, start, ct.Splitting(6), dt=0.01, steps=1)
    assert "expect order 4" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(switched, start, ct.Splitting(4), dt=0.01, steps=1)
        smooth = chain(ct.Switched(LJ, 1.2, 2.0, smoothness=5))
        simulate(smooth, start, ct.Splitting(6), dt=0.01, steps=1)
