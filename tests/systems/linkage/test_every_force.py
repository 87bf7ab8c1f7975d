"""Every registered force on linked bodies, a plug-in's too: its slope is the derivative of its energy, and both forms of a linkage balance it.

A kind whose fields are numbers, beside the bodies or the joint that it acts on, is made here with some, or with its defaults; another one needs an example below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena.errors import InputError
from catena.systems.base import system_from
from catena.systems.linkage.joint_forces import (
    FORCES,
    BetweenPoints,
    OfDistance,
    OnAngle,
    OnBodies,
    OnParticles,
    Prescribed,
)
from potential_slopes import DISTANCES, beyond, numbered, pair_errors, quotient

POINTS = ((0.1, 0.2, -0.3), (0.9, -0.4, 0.5))
ANGLES = np.array([-1.9, -0.7, 0.4, 1.6])
EXAMPLES: dict[str, Any] = {
    "SitePair": ct.SitePair(0, -1, POINTS, ct.Morse(1.0, 1.1, 1.2)),
    "Torsion": ct.Torsion(0, "k*(1 - cos(3*theta)) + theta**3", {"k": 1.5}, damping=0.3),
    "Motor": ct.Motor(0, target="0.3*sin(2*t)", kp=3.0, kd=0.4),
    "Driven": ct.Driven(0, "0.3*t + 0.5*t**2"),
    "Limit": ct.Limit(0, -0.3, -0.2, stiffness=30.0, damping=2.0),
    "Load": ct.Load(0, POINTS[0], force=(0.3, "sin(3*t)", 0.1), torque=(0.1, 0.5, -0.2)),
    "External": ct.External("k*x**2 + y**3/3 + z*sin(2*t)", ["A"], {"k": 1.5}),
    "Angle": ct.Angle(
        (0, 1, 2), "k*(theta - 1)**2*(1 + t)", {"k": 0.5}
    ),  # of one body: its angle stays, and only time works
    "Dihedral": ct.Dihedral((0, 1, 2, 3), "k*(1 + cos(3*phi))*(1 + t)", {"k": 0.5}),
}
DIRECTOR, JOINT = ct.EnergyMomentum(), ct.Gauss(3)


def example(kind: type[OnBodies]) -> Any:
    """One of this kind."""
    if kind.__name__ in EXAMPLES:
        return EXAMPLES[kind.__name__]
    return numbered(kind, **({"i": 0, "j": -1, "at": POINTS} if issubclass(kind, BetweenPoints) else {"joint": 0}))


def linkage(force: Any) -> ct.Linkage:
    """A heavy body on a hinge."""
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0.1, 0.2, 0.6)), axis=(0.1, 1.0, 0.2))
    body = ct.Body(1.2, (1.0, 1.3, 0.8))
    if isinstance(force, OnParticles):
        corners = [(-0.5, -0.3, -0.2), (0.6, -0.3, -0.3), (0.1, 0.7, 0.25), (0.2, 0.1, -0.6)]
        body = ct.Body.from_particles(corners, 0.3, ["A", "B", "A", "B"])
    return ct.Linkage([body], [hinge], [force], gravity=(0, 0, -1.0))


def angle_errors(force: OnAngle) -> dict[str, float]:
    """How far the slope is from the derivative of V, and the curvature from that of the slope, relatively: 2 is a wrong sign."""
    values = {
        name: np.vectorize(lambda theta, name=name: force.value(name, theta))
        for name in ("torsion_energy", "torsion_slope", "torsion_curvature")
    }

    def error(found: str, function: str) -> float:
        wanted = quotient(values[function], ANGLES)
        return float(np.abs(values[found](ANGLES) - wanted).max() / np.abs(wanted).max())

    return {"slope": error("torsion_slope", "torsion_energy"), "curvature": error("torsion_curvature", "torsion_slope")}


def imbalance(force: Any, method: Any, *, dt: float) -> float:
    """How far the energy, which counts what loads and dampers do, is from its start after some steps of a fast swing."""
    system = linkage(force)
    start = system.start(angular_velocity=[(0.3, 3.0, 0.6)], project=True)
    data = uncompiled.simulate(system, start, method, dt=dt, steps=6).data
    return float(np.abs(data.energy - data.energy[0]).max())


@pytest.mark.parametrize("kind", list(FORCES), ids=lambda kind: kind.__name__)
def test_forces_are_the_derivatives_of_energies(kind: type[OnBodies]) -> None:
    """Both errors are those of differences of order 4; a potential that is not smooth everywhere must be so at these places."""
    force = example(kind)
    if isinstance(force, OfDistance):
        assert beyond(1e-10, pair_errors(force.pair)) == {}
        assert np.isfinite(force.pair.energy(DISTANCES)).all()
    elif isinstance(force, OnAngle) and "torsion_energy" in force.quantities:
        assert beyond(1e-9, angle_errors(force)) == {}


@pytest.mark.parametrize("kind", list(FORCES), ids=lambda kind: kind.__name__)
def test_both_forms_of_a_linkage_balance_its_energy(kind: type[OnBodies]) -> None:
    """The conserving method up to round-off; Gauss(3) up to 1e-12 (measured; it falls with dt^7), of which a hundredfold is allowed."""
    if not issubclass(kind, Prescribed):  # which only the joint form knows
        assert imbalance(example(kind), DIRECTOR, dt=0.05) < 1e-12
    assert imbalance(example(kind), JOINT, dt=0.01) < 1e-10


@pytest.mark.parametrize("kind", list(FORCES), ids=lambda kind: kind.__name__)
def test_a_force_is_made_again_from_its_description(kind: type[OnBodies]) -> None:
    system = linkage(example(kind))
    assert system_from(system.describe()).describe() == system.describe()


def cubic_energy(theta, at, par):
    return par.torsion[at] * theta * theta * theta


def cubic_slope(theta, at, par):
    return 3.0 * par.torsion[at] * theta * theta


def cubic_curvature(theta, at, par):
    return 6.0 * par.torsion[at] * theta


@dataclass(frozen=True)
class Cubic(OnAngle):
    """A force that is right, so that each of its parts can be wrong."""

    k: float = 1.0
    wrong: str = ""

    @property
    def constants(self) -> tuple[float, ...]:
        return (self.k,)

    def kernel(self, quantity: Any) -> Any:
        right = {"torsion_energy": cubic_energy, "torsion_slope": cubic_slope, "torsion_curvature": cubic_curvature}
        return cubic_energy if quantity == self.wrong else right[quantity]


def test_a_wrong_kernel_is_noticed() -> None:
    assert beyond(1e-9, angle_errors(Cubic(0))) == {}
    assert imbalance(Cubic(0), DIRECTOR, dt=0.05) < 1e-12
    assert angle_errors(Cubic(0, wrong="torsion_slope"))["slope"] > 0.1
    assert angle_errors(Cubic(0, wrong="torsion_curvature"))["curvature"] > 0.1
    assert imbalance(Cubic(0, wrong="torsion_slope"), JOINT, dt=0.01) > 1e-4


def test_a_force_that_says_nothing_of_what_it_does_is_told_what_to_say() -> None:
    @dataclass(frozen=True)
    class Silent(OnBodies):
        joint: int

    with pytest.raises(InputError, match="derive the class from OnAngle or OfDistance"):
        linkage(Silent(0))
