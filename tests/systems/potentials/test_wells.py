"""The shape of a force: named ones against the search, any units, narrow wells, forces without bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from catena.systems.potentials.pair_potentials import (
    WCA,
    Harmonic,
    LennardJones,
    Morse,
    PairPotential,
    Switched,
    Yukawa,
)
from catena.systems.potentials.wells import find_well

LJ_TEXT = "4*depth*((size/r)**12 - (size/r)**6)"


def test_named_shapes_are_what_the_search_finds():
    """Where the search has the same definition; 1e-9 is its golden section, the rest bisection to the last digit."""
    for potential, minimum in [(LennardJones(5.0, 1.1), 2 ** (1 / 6) * 1.1), (Morse(5.0, 3.0, 1.1), 1.1)]:
        found = find_well(lambda r, p=potential: float(p.force(r)))
        assert found.minimum == pytest.approx(minimum, rel=1e-14)
        assert found.cohesion == pytest.approx(potential.cohesion, rel=1e-12)
    assert find_well(lambda r: float(Morse(5.0, 3.0, 1.1).force(r))).reach == pytest.approx(
        Morse(5.0, 3.0, 1.1).torn_distance, rel=1e-12
    )
    for potential in (WCA(5.0, 1.0), Yukawa(2.0, 1.5), Yukawa(-2.0, 1.5), Harmonic(3.0, 1.2)):
        found = find_well(lambda r, p=potential: float(p.force(r)))
        assert (found.cohesion, found.reach) == (potential.cohesion, potential.torn_distance)


def test_lennard_jones_is_torn_at_four_sigma():
    potential = LennardJones(5.0, 1.5)
    assert (potential.length, potential.torn_distance) == (1.5, 6.0)
    assert -potential.force(6.0) / potential.cohesion < 1e-3 < -potential.force(5.5) / potential.cohesion


@pytest.mark.parametrize("unit", [1.0, 3.4e-10, 1e9])
def test_shapes_do_not_depend_on_units(unit):
    texts = PairPotential(LJ_TEXT, {"depth": 2.0, "size": unit})
    assert texts.length / unit == pytest.approx(2 ** (1 / 6), rel=1e-13)
    assert texts.cohesion == pytest.approx(LennardJones(2.0, unit).cohesion, rel=1e-12)
    assert -texts.force(texts.torn_distance) == pytest.approx(1e-3 * texts.cohesion, rel=1e-9)


def test_a_narrow_well_is_seen():
    narrow = PairPotential("D*(1 - exp(-a*(r - c)))**2", {"D": 2.0, "a": 1e4, "c": 1.1})
    same = Morse(2.0, 1e4, 1.1)
    assert narrow.length == pytest.approx(1.1, rel=1e-13)
    assert narrow.cohesion == pytest.approx(same.cohesion, rel=1e-9)
    assert narrow.torn_distance == pytest.approx(same.torn_distance, rel=1e-10)


@pytest.mark.parametrize(
    ("text", "length", "cohesion", "torn"),
    [
        ("(1 - r**2)**2", 1.0, math.inf, math.inf),  # at rest exactly on a distance that is looked at
        ("-exp(-r**2)", 0.0, math.sqrt(2) * math.exp(-0.5), None),  # a well without a core
        ("-15*log(1 - (r/1.5)**2) + 1/r**12", None, math.inf, math.inf),  # not defined beyond 1.5
        ("-1/r**6 + 4*exp(-r)*(3 + r)", None, None, None),  # attraction inside, barrier outside
        ("1/r", 0.0, 0.0, math.inf),
        ("-1/r", 0.0, math.inf, math.inf),
    ],
)
def test_shapes_of_other_forces(text, length, cohesion, torn):
    potential = PairPotential(text)
    for expected, found in [
        (length, potential.length),
        (cohesion, potential.cohesion),
        (torn, potential.torn_distance),
    ]:
        assert expected is None or found == pytest.approx(expected, rel=1e-9)
    if 0 < potential.cohesion < math.inf and potential.torn_distance < math.inf:
        beyond = potential.torn_distance * np.array([1 - 1e-6, 1 + 1e-6])
        held = -potential.force(beyond) > 1e-3 * potential.cohesion
        assert held.tolist() == [True, False]


def test_a_switched_well_is_torn_where_its_attraction_ends_and_keeps_the_length_of_what_it_switches():
    short = Switched(LennardJones(5.0, 1.0), 1.2, 2.0)
    assert short.length == 1.0
    assert 1.9 < short.torn_distance < 2.0
    assert short.cohesion > LennardJones(5.0, 1.0).cohesion, "the switch itself pulls"
    assert (Yukawa(1.0, 1.0) + LennardJones(1.0, 2.0) + Harmonic(1.0, 1.5)).length == 1.5
