"""Statics where a scale is zero: no stiffness, no length, no force. What is found is said, and no number is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.analysis.statics import descent
from catena.analysis.statics import newton as static_newton

BOX = ct.Body.box((1.0, 1.2, 0.8))
NOTHING: dict[str, tuple[ct.Body, Any]] = {
    "BendTwist": (BOX, ct.BendTwist(0.0, 0.0, 0.0, (0, 0, 1))),
    "Elastic": (BOX, ct.Elastic(np.zeros((6, 6)), ([0, 0, 0], [0, 0, 1]))),
    "text": (BOX, ct.LinkPotential("k*d1**2", {"k": 0.0})),
    "no pairs": (ct.Body.tetrahedron(), ct.PairTable({(0, 0): None})),
    "no length either": (BOX, ct.BendTwist(0.0, 0.0, 0.0, (0, 0, 0))),
}
pytestmark = pytest.mark.filterwarnings("error")


def is_sound(found: Any) -> bool:
    """All of a result that is always known is a number."""
    known = (found.energy, found.residual, found.tol, found.moved)
    return all(map(np.isfinite, known)) and all(np.isfinite(field).all() for field in found.state.fields.values())


@pytest.mark.parametrize(
    "ends", [(ct.Clamped(), ct.Free()), (ct.Free(), ct.Free()), (ct.Clamped(), ct.Clamped())], ids=str
)
@pytest.mark.parametrize("name", NOTHING)
def test_what_nothing_holds_rests_anywhere(name, ends):
    body, potential = NOTHING[name]
    chain = ct.Chain([body] * 3, potential, *ends)
    for start in (None, chain.straight(1.0), chain.straight(0.0, check=False)):
        found = chain.equilibrium(start)
        assert found.converged and found.flat > 0 and found.iterations == 0 and is_sound(found)
        assert found.lowest == pytest.approx(0.0, abs=1e-20)
    modes = chain.normal_modes(chain.straight(1.0))
    assert modes.zero == chain.equilibrium(chain.straight(1.0)).flat
    assert len(modes.omega) == 0 and modes.zero == 6 * (3 - sum(not end.moves for end in ends))


@pytest.mark.parametrize("name", NOTHING)
def test_what_nothing_holds_bears_nothing(name):
    body, potential = NOTHING[name]
    chain = ct.Chain([body] * 3, potential)
    start = chain.straight(1.0)
    for found in (
        chain.equilibrium(start, load=(0.0, 0.0, 1.0)),
        ct.Chain([body] * 3, potential, gravity=(0.0, 0.0, -1.0)).equilibrium(start),
        ct.Chain([body] * 3, potential, right=ct.Clamped(), gravity=(0.0, 0.0, -1.0)).equilibrium(start),
    ):
        assert found.status == "not_converged" and found.iterations == 0 and is_sound(found)
        assert found.residual >= 1.0
    with pytest.raises(ct.InputError, match="moves at no cost"):
        chain.equilibrium_path((0.0, 0.0, 1.0), start=start)
    with pytest.raises(ct.InputError, match="do not resist"):
        chain.rod_limit(at=start)
    with pytest.raises(ct.InputError, match="nothing oscillates"):
        chain.suggest_dt(ct.Splitting(2), start)


def test_a_string_that_resists_stretching_only_hangs_straight(monkeypatch):
    """Springs of length 1 and stiffness 1 under a pull of 1: each twice as long, wherever bodies turn at no cost.

    The twin: with 1e-12 of the stiffness in the place of none, noise turned the bodies, and the iteration stopped at 1e-6.
    """
    string = ct.Chain([BOX] * 3, ct.BendTwist(1.0, 0.0, 0.0, (0, 0, 1)))
    start = string.straight(1.0)
    found = string.equilibrium(start, load=(0.0, 0.0, 1.0))
    assert found.converged and found.energy == pytest.approx(-3.0, abs=1e-13)
    assert found.state.position[-1] == pytest.approx([0.0, 0.0, 4.0], abs=1e-13)
    from_one_place = string.equilibrium(string.straight(0.0, check=False))
    assert from_one_place.converged and from_one_place.energy == pytest.approx(0.0, abs=1e-28)
    without_length = ct.Chain([BOX] * 3, ct.BendTwist(1.0, 1.0, 1.0, (0, 0, 0))).equilibrium(load=(1.0, 0.0, 0.0))
    assert without_length.converged and without_length.energy == pytest.approx(-1.0, abs=1e-13)

    def before(stiffness):
        size = np.abs(np.einsum("nii->ni", stiffness))
        size = np.maximum(size, 1e-12 * size.max(axis=1, keepdims=True))
        unit = np.sqrt(size[:, :, None] * size[:, None])
        sizes, axes = np.linalg.eigh(stiffness / unit)
        sizes = np.maximum(np.abs(sizes), static_newton.FLOOR)
        return unit * ((axes * sizes[:, None]) @ axes.swapaxes(1, 2))

    monkeypatch.setattr(static_newton, "positive", before)
    monkeypatch.setattr(descent, "MOST_ITERATIONS", found.iterations)
    assert not string.equilibrium(start, load=(0.0, 0.0, 1.0)).converged
