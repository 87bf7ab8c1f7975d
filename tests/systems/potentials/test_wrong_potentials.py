"""Pair potentials that cannot be: each is refused with what is wrong and what to do."""

from __future__ import annotations

import math

import pytest

import catena as ct
from catena.systems.potentials.pair_potentials import (
    WCA,
    Harmonic,
    LennardJones,
    Morse,
    PairPotential,
    PairSet,
    PairTable,
    Switched,
    Yukawa,
    pair_potential_from,
)
from refusals import check_refused

TABLE = PairTable({("A", "A"): LennardJones(1.0, 1.0), ("A", "B"): None})
LJ = LennardJones(1.0, 1.0)
WRONG = {
    "negative depth": (lambda: LennardJones(-1.0, 1.0), "epsilon = -1"),
    "no size": (lambda: WCA(1.0, 0.0), "sigma = 0"),
    "not a number": (lambda: Morse("deep", 1.0, 1.0), "unknown name deep"),
    "nan": (lambda: Morse(1.0, math.nan, 1.0), "nan is not finite"),
    "negative screening": (lambda: Yukawa(1.0, -1.0), "kappa = -1"),
    "no charge": (lambda: Yukawa(0.0, 1.0), "leave the potential out"),
    "a spring of no length": (lambda: Harmonic(1.0, 0.0), "PairPotential"),
    "unknown name": (lambda: PairPotential("a/rr", {"a": 1.0}), "rr"),
    "no distance": (lambda: PairPotential("a", {"a": 1.0}), "does not depend on r"),
    "a parameter r": (lambda: PairPotential("1/r", {"r": 1.0}), "cannot be called 'r'"),
    "a parameter without a value": (lambda: PairPotential("a/r", {"a": None}), "None is not a number"),
    "parameters of no meaning": (lambda: PairPotential("r*log(a)", {"a": -1.0}), "not defined for the parameters"),
    "parameters in a list": (lambda: PairPotential("a/r", ["a"]), "parameters = "),
    "a plain cut": (lambda: Switched(LJ, 2.0, 2.0), "plain cut"),
    "a cut of the force": (lambda: Switched(LJ, 1.0, 2.0, smoothness=0), "plain cut"),
    "a switch backwards": (lambda: Switched(LJ, 2.0, 1.0), "beyond r_cut"),
    "half a derivative": (lambda: Switched(LJ, 1.0, 2.0, smoothness=2.5), "smoothness = 2.5"),
    "too smooth": (lambda: Switched(LJ, 1.0, 2.0, smoothness=21), "at most 20"),
    "smoother than itself": (lambda: Switched(WCA(1.0, 1.0), 1.0, 2.0), "only 1 continuous"),
    "a switched table": (lambda: Switched(TABLE, 1.0, 2.0), "switch each entry"),
    "a missing pair": (lambda: TABLE.between("A", "C"), "'A' and 'C'"),
    "two potentials": (lambda: PairTable({(0, 1): LJ, (1, 0): WCA(1.0, 1.0)}), "two potentials for 0 and 1"),
    "three types": (lambda: PairTable({(0, 1, 2): LJ}), "no two types"),
    "a type that is none": (lambda: PairTable({(0, 1.5): LJ}), "no two types"),
    "a table of numbers": (lambda: PairTable({(0, 1): 3.0}), "3.0 is no pair potential"),
    "an empty table": (lambda: PairTable({}), "pairs = {}"),
    "tables of other types": (lambda: TABLE + PairTable({(0, 0): LJ}), "types 'A' and 'A'"),
    "a set of numbers": (lambda: PairSet([1.0]), "1.0 is no pair potential"),
    "a set of tables": (lambda: PairSet([TABLE]), "no pair potential"),
    "distance zero": (lambda: LJ.energy([1.0, 0.0]), "positive, finite"),
    "no kind": (lambda: pair_potential_from({"epsilon": 1.0}), "describes no potential"),
    "text for a description": (lambda: pair_potential_from("LennardJones"), "describes no potential"),
    "unknown kind": (lambda: pair_potential_from({"kind": "LenardJones"}), "did you mean LennardJones"),
    "unknown argument": (
        lambda: pair_potential_from({"kind": "WCA", "epsilon": 1.0, "sigm": 1.0}),
        "did you mean sigma",
    ),
    "missing argument": (lambda: pair_potential_from({"kind": "WCA", "epsilon": 1.0}), "WCA needs sigma"),
    "an entry cut short": (lambda: pair_potential_from({"kind": "PairTable", "pairs": [["A", "B"]]}), "no entry"),
    "terms that are none": (lambda: pair_potential_from({"kind": "PotentialSum", "terms": 3}), "terms = 3"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_refused_with_what_and_what_to_do(case):
    check_refused(*WRONG[case])


def test_what_is_no_potential_does_not_add():
    for attempt in (lambda: LJ + 1.0, lambda: 1.0 + LJ, lambda: TABLE + 1.0, lambda: 1.0 + TABLE):
        with pytest.raises(TypeError):
            attempt()


@pytest.mark.parametrize("kind", [ct.LennardJones, ct.WCA])
def test_a_call_that_lacks_an_argument_names_the_class_that_was_called(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__"):
        kind(1.0)
