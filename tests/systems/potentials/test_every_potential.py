"""Every registered potential, a plug-in's too: its force is minus the derivative of its energy, its slope that of its force.

A kind whose fields are numbers is made here with some, or with its defaults; another one needs an example below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena as ct
from catena.errors import InputError
from catena.systems.potentials.link_potentials import Linkwise
from catena.systems.potentials.pairwise import POTENTIALS, Pairwise, interpret
from potential_slopes import STEP, beyond, numbered, pair_errors, quotient

LJ = ct.LennardJones(1.3, 0.9)
EXAMPLES: dict[str, Any] = {
    "PairPotential": ct.PairPotential("k/r**2 + exp(-r)", {"k": 2.0}),
    "Switched": ct.Switched(LJ, 1.0, 2.0),
    "PotentialSum": LJ + ct.Harmonic(3.0, 1.1),
    "PairTable": ct.PairTable({("a", "a"): LJ}),
    "LinkPotential": ct.LinkPotential("k*(d1**2 + d2*d3) + 2*Q12*d1 - Q33", {"k": 1.5}),
    "Elastic": ct.Elastic(
        np.diag([2.0, 3.0, 4.0, 8.0, 9.0, 10.0]) + 0.5, ([0.2, -0.3, 0.4], [0.1, 0.2, 1.0]), frame="middle"
    ),
    "BendTwist": ct.BendTwist(10.0, 2.0, 1.0, (0.1, 0.2, 1.0), (0.9, 0.1, 0.2, 0.3)),
}


def example(kind: type) -> Any:
    """One of this kind."""
    return EXAMPLES[kind.__name__] if kind.__name__ in EXAMPLES else numbered(kind)


def link_error(potential: Linkwise) -> float:
    """How far force and torque are from the derivatives of V by a shift and by a turn of the second body, relatively."""
    d, turned = np.array([0.7, -0.3, 1.1]), Rotation.from_rotvec((0.3, -0.5, 0.4))

    def energy(move: np.ndarray) -> float:
        return potential.energy(d + move[:3], (turned * Rotation.from_rotvec(move[3:])).as_matrix())

    wanted = -np.array([quotient(energy, np.zeros(6), STEP * axis) for axis in np.eye(6)])
    return float(np.abs(potential.force(d, turned.as_matrix()) - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("kind", list(POTENTIALS), ids=lambda kind: kind.__name__)
def test_forces_and_slopes_are_the_derivatives_of_energies(kind: type) -> None:
    potential = example(kind)
    if isinstance(potential, Pairwise):
        assert beyond(1e-10, pair_errors(potential)) == {}
    elif isinstance(potential, Linkwise):
        assert link_error(potential) < 1e-10
    else:
        assert kind is ct.PairTable  # of others


def test_a_kind_that_orders_its_numbers_is_made_with_its_defaults() -> None:
    @dataclass(frozen=True)
    class Ordered:
        size: float
        upper: float = 12.0
        lower: float = 6.0

        def __post_init__(self) -> None:
            if self.upper <= self.lower:
                raise InputError("upper is not above lower", where="Ordered.upper", do="give a larger number")

    assert example(Ordered) == Ordered(1.0)


@pytest.mark.parametrize("wrong", ["a", [1.0, "b"], 1 + 2j, None, True, -1.0, [1.0, np.nan], [[1.0], [2.0, 3.0]]])
def test_distances_that_are_no_numbers_are_refused(wrong):
    for values in (LJ.energy, LJ.force):
        with pytest.raises(InputError, match=r"^r ") as told:
            values(wrong)
        assert told.value.do == "give positive, finite distances"


@pytest.mark.parametrize("quantity", ["force", "slope"])
def test_a_wrong_sign_or_factor_is_noticed(quantity: str) -> None:
    class Wrong(ct.LennardJones):
        def kernel(self, name: Any) -> Any:
            right = interpret(super().kernel(name))
            return (lambda s, at, par: -0.5 * right(s, at, par)) if name == quantity else right

    assert pair_errors(Wrong(1.0, 1.1))[quantity] > 0.1


def test_a_wrong_torque_is_noticed() -> None:
    class Wrong(ct.BendTwist):
        def force(self, d: Any, rotation: Any) -> Any:
            return super().force(d, rotation) * np.array([1.0, 1.0, 1.0, 1.0, -1.0, 1.0])

    assert link_error(Wrong(10.0, 2.0, 1.0, (0.1, 0.2, 1.0))) > 0.1
