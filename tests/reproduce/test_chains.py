"""The reproductions of chains find what the references say, and see a wrong twin."""

from __future__ import annotations

from functools import partial

import pytest

import catena as ct
from catena.engine.build import build
from catena.reproduce import chain, constraint


@pytest.fixture
def _uncompiled(monkeypatch):
    monkeypatch.setattr(constraint, "build", partial(build, compiled=False))


@pytest.mark.usefixtures("_uncompiled")
def test_both_constraints_are_invariants_without_the_multiplier_and_are_lost_with_it():
    kept = constraint.residuals("quaternion", ct.Gauss(2), 0.02, 0.1, None)
    lost = constraint.residuals("multiplier", ct.Gauss(2), 0.02, 0.1, None)
    assert max(kept) < 1e-15
    assert lost[0] > 1e-9 and lost[1] > 1e-8


@pytest.mark.usefixtures("_uncompiled")
def test_normalising_hides_one_constraint_and_projecting_both():
    unit, tangency = constraint.residuals("multiplier", ct.Gauss(2), 0.02, 0.04, constraint.normalise)
    assert unit < 1e-15 < 1e-9 < tangency
    assert max(constraint.residuals("multiplier", ct.Gauss(2), 0.02, 0.04, constraint.project)) < 1e-15


@pytest.mark.usefixtures("_uncompiled")
def test_a_step_is_symplectic_without_the_multiplier_only():
    """EulerA with the multiplier: 7.4e-3 on the tangent space of the constraints, 70 off it."""
    kept, everywhere = constraint.symplectic_defect("quaternion", ct.EulerA())
    assert max(kept, everywhere) < constraint.STRUCTURE_FLOOR
    lost, everywhere = constraint.symplectic_defect("multiplier", ct.EulerA())
    assert lost == pytest.approx(7.4e-3, rel=0.05) and everywhere == pytest.approx(70, rel=0.05)


def test_the_printed_chain_starts_as_published_and_its_discs_cannot_hold():
    rows = [*chain._printed_start(), *chain._printed_discs()]
    assert all(row.agrees for row in rows)
