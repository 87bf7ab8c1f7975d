"""Paths of equilibria: limit loads, bifurcations, ends that are moved and turned."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
import statics
from catena.analysis.statics import compliance, equilibrium_path
from catena.systems.chain import link_mechanics
from statics import REFERENCE, helix


def straight_rod(n: int, right: object = None) -> ct.Chain:
    """Bodies along z, nearly inextensible: bending stiffness 20, unit links."""
    return ct.Chain(
        [ct.Body.box((0.3, 0.3, 1.0))] * n, ct.BendTwist(1e4, 20.0, 15.0, (0, 0, 1)), right=right or ct.Free()
    )


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow), 8])
def test_the_limit_of_the_force_on_a_helix(n):
    case, problem = REFERENCE["limit"][str(n)], helix(n)
    path = problem.system.equilibrium_path((1.0, 0.0, 0.0), start=problem.start)
    assert path.limit is not None and path.limit.kind == "limit"
    assert path.limit.load == pytest.approx(case["load"], abs=1e-11)
    assert path.limit.extension == pytest.approx(case["extension"], abs=1e-9)
    assert (np.diff(path.load) > 0).all() and (path.lowest > 0).all()
    assert "limit at load" in repr(path)


def test_a_path_ends_at_the_load_that_was_asked_for():
    case, problem = REFERENCE["pulled"]["8"], helix(8)
    path = problem.system.equilibrium_path((1.0, 0.0, 0.0), to=3.0, start=problem.start)
    assert path.limit is None and path.load[-1] == pytest.approx(3.0, rel=1e-12)
    assert path.states[-1].position[-1] == pytest.approx(case["last"], abs=1e-11)
    work = float(np.sum(0.5 * (path.load[1:] + path.load[:-1]) * np.diff(path.extension)))
    energy = case["energy"] + 3.0 * case["last"][0] - problem.system.link_energies(problem.start).sum()
    assert work == pytest.approx(energy, rel=1e-2)  # the trapezium rule on four points


def test_without_the_stress_of_its_links_it_would_not_buckle(monkeypatch):
    """K without G; with it a rod of these links buckles at 2.1: see the tests of `ct.Rod` for its load."""
    nothing = np.zeros((5, 6, 6))
    monkeypatch.setattr(link_mechanics, "geometric_blocks", lambda *_: (nothing, nothing))
    monkeypatch.setattr(compliance, "geometric_blocks", lambda *_: (nothing, nothing))
    monkeypatch.setattr(equilibrium_path, "MOST_POINTS", 4)
    assert straight_rod(6).equilibrium_path((0.0, 0.0, -1.0)).limit is None
    monkeypatch.undo()
    limit = straight_rod(6).equilibrium_path((0.0, 0.0, -1.0)).limit
    assert limit is not None and limit.kind == "bifurcation" and 1.9 < limit.load < 2.6


def test_an_end_can_be_moved_and_turned():
    """A held end: what it takes is the reaction, and the slope is the stiffness of the links in a row."""
    chain = straight_rod(6, ct.Clamped())
    pulled = chain.equilibrium_path((0.0, 0.0, 1.0), to=0.05)
    assert pulled.extension[-1] == pytest.approx(0.05) and pulled.load[-1] == pytest.approx(1e4 / 5 * 0.05, rel=1e-9)
    turned = chain.equilibrium_path((0.0, 0.0, 1.0, 0.0, 0.0, 0.0), to=0.5)
    assert turned.load[-1] == pytest.approx(
        5 * 15.0 / 5 * np.sin(0.1), rel=1e-9
    )  # V = 2 twist sin^2(angle/2) of each link
    reaction = chain.reactions(turned.states[-1])
    assert reaction.torque[1] == pytest.approx([0.0, 0.0, turned.load[-1]], abs=1e-9)


def test_mistakes_are_told():
    chain = straight_rod(4)
    held = straight_rod(4, ct.Displaced())
    for make, match in (
        (lambda: chain.equilibrium_path((0.0, 0.0, 0.0)), "no direction"),
        (lambda: chain.equilibrium_path((0.0, 0.0, 1.0), to=-1.0), "to = -1"),
        (lambda: held.equilibrium_path((0.0, 0.0, 1.0, 0.0, 0.0, 0.0)), "cannot be moved or turned"),
        (lambda: chain.equilibrium_path((0.0, 1.0)), "load_direction"),
    ):
        with pytest.raises(ct.InputError, match=match):
            make()
    torn, start = statics.stretched("clamped", 3.0)
    with pytest.raises(ct.InputError, match="no stable equilibrium to begin with"):
        torn.equilibrium_path((1.0, 0.0, 0.0), start=start)
