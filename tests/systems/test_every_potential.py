"""Every registered potential, a plug-in's too: its force is minus the derivative of its energy, its slope that of its force.

A kind whose fields are numbers is made here with some, or with its defaults; another one needs an example below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena as ct
from catena.errors import InputError
from catena.systems.potentials.link_potentials import Linkwise
from catena.systems.potentials.pairwise import POTENTIALS, Pairwise, interpret

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
DISTANCES = np.array([0.83, 0.97, 1.21, 1.7])
STEP = 2e-4  # differences are right to its fourth power, and to eps/STEP


def numbered(kind: type, **given: Any) -> Any:
    """One with numbers that are all different, so that none stands for another; where a kind refuses them, with its defaults, if there are some."""
    others = [field for field in fields(kind) if field.name not in given]
    numbers = {field.name: 1.0 + 0.1 * k for k, field in enumerate(others)}
    try:
        return kind(**given, **numbers)
    except InputError:
        return kind(**given, **{field.name: numbers[field.name] for field in others if field.default is MISSING})


def example(kind: type) -> Any:
    """One of this kind."""
    return EXAMPLES[kind.__name__] if kind.__name__ in EXAMPLES else numbered(kind)


def quotient(function: Any, x: Any, step: Any = STEP) -> Any:
    """The derivative of a function at x, along `step`, by central differences of order 4."""
    near, far = function(x + step) - function(x - step), function(x + 2.0 * step) - function(x - 2.0 * step)
    return (8.0 * near - far) / (12.0 * STEP)


def beyond(bound: float, errors: Mapping[str, float]) -> dict[str, float]:
    """Those of the errors that are not below a bound."""
    return {name: error for name, error in errors.items() if not error < bound}


def pair_errors(potential: Pairwise) -> dict[str, float]:
    """How far the force is from minus the derivative of V, and the slope from that of A = -V'(r)/r by s = r^2, relatively: 2 is a wrong sign."""
    par = SimpleNamespace(pair=np.array(potential.constants))
    force, slope = (interpret(potential.kernel(name)) for name in ("force", "slope"))
    s = DISTANCES**2
    wanted = -quotient(potential.energy, DISTANCES)
    wanted_slope = np.array([quotient(lambda x: force(x, 0, par), x) for x in s])
    found_slope = np.array([slope(x, 0, par) for x in s])
    return {
        "force": float(np.abs(potential.force(DISTANCES) - wanted).max() / np.abs(wanted).max()),
        "slope": float(np.abs(found_slope - wanted_slope).max() / np.abs(wanted_slope).max()),
    }


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
