"""Newton's method on linkages in joint form: stiff torsions, springs and dampers at steps far beyond their periods.

A hinge without weight under the torque -k (theta - target) - c thetadot (a PD controller) has a closed form; k dt^2/I = 100 at dt = 0.01.
"""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.driver import Driver
from catena.methods.base import Method
from catena.systems.articulated.layout import layout_of
from linkages import run_to, turned

DT = 0.01
STIFF = 100.0  # k dt^2/I
TARGET, ANGLE = 0.3, 0.35
ROD = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
HINGE = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0), image=(1, 0, 0, 0))
INERTIA = float(ROD.tensor[0, 0]) + 2.0 * 0.5**2
FREQUENCY = STIFF**0.5 / DT


def controlled(damping: float) -> tuple[ct.Linkage, ct.State]:
    """A rod on a hinge, held by a controller with this part of the critical damping, from rest beside its target."""
    gains = {"k": INERTIA * FREQUENCY**2, "target": TARGET}
    torque = ct.Torsion(0, "k*(theta - target)**2/2", gains, damping=2.0 * damping * INERTIA * FREQUENCY)
    linkage = ct.Linkage([ROD], [HINGE], [torque], gravity=(0, 0, 0))
    return linkage, linkage.start(orientation=[turned(0, ANGLE)])


def exact_angle(damping: float, time: float) -> float:
    """Damped oscillation from rest, damping below 1."""
    slow = FREQUENCY * np.sqrt(1.0 - damping**2)
    wave = np.cos(slow * time) + damping * FREQUENCY / slow * np.sin(slow * time)
    return float(TARGET + (ANGLE - TARGET) * np.exp(-damping * FREQUENCY * time) * wave)


def angle_after(method: Method, damping: float, time: float, steps: int) -> tuple[float, Driver]:
    linkage, start = controlled(damping)
    driver = run_to(linkage, start, method, dt=time / steps, steps=steps, compiled=False)
    return float(driver.z[layout_of(linkage).angles[0]]), driver


@pytest.mark.parametrize(
    ("method", "counts"),
    [
        (ct.RadauIIA(3, solver="newton"), (12, 16, 24, 32, 48)),
        (ct.RadauIIA(2, solver="newton"), (64, 96, 128, 192)),
        (ct.Gauss(2, solver="newton"), (32, 48, 64, 96)),
        (ct.Gauss(3, solver="newton"), (10, 14, 20, 28)),
        (ct.Gauss(4, solver="newton"), (6, 8, 12, 16)),
    ],
    ids=str,
)
def test_a_controlled_hinge_moves_with_the_declared_order(method: Method, counts: tuple[int, ...]) -> None:
    """Steps around the period over one step of 0.01; slopes between neighbours still fall towards the order, the last is taken."""
    errors = [abs(angle_after(method, 0.3, DT, n)[0] - exact_angle(0.3, DT)) for n in counts]
    found = np.log(errors[-2] / errors[-1]) / np.log(counts[-1] / counts[-2])
    assert found == pytest.approx(method.traits.order, abs=0.25), (found, errors)
