"""Newton's method on linkages in joint form: stiff torsions, springs and dampers at steps far beyond their periods.

A hinge without weight under the torque -k (theta - target) - c thetadot (a PD controller) has a closed form; k dt^2/I = 100 at dt = 0.01.
"""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.methods.base import Method
from catena.systems.linkage.joint_form import force_slopes
from catena.systems.linkage.joint_form.layout import layout_of
from linkages import run_to, state_of, turned
from linked import difference, independent_motion

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


@pytest.mark.parametrize("damping", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_a_stiff_controller_holds_its_hinge(solver, damping: float) -> None:
    """k dt^2/I = 100: no step fails, every step is Newton's, and what is not resolved dies out."""
    angle, driver = angle_after(ct.RadauIIA(3, solver=solver), damping, 30 * DT, 30)
    assert ct.RadauIIA(3).counts(driver.carry)["newton_steps"] == 30
    assert angle == pytest.approx(TARGET, abs=1e-13)


@pytest.mark.parametrize(
    ("method", "counts"),
    [
        (ct.RadauIIA(3, solver="newton"), (32, 48, 64, 96)),
        (ct.Gauss(2, solver="newton"), (32, 48, 64, 96)),
        (ct.Gauss(3, solver="newton"), (8, 12, 16, 24)),
        (ct.Gauss(4, solver="newton"), (12, 16, 20, 24)),
    ],
    ids=str,
)
def test_a_controlled_hinge_moves_with_the_declared_order(method: Method, counts: tuple[int, ...]) -> None:
    """Against the closed form, with steps that resolve its period of 6 ms; measured 5.06, 4.00, 6.02, 7.92."""
    errors = [abs(angle_after(method, 0.5, DT, n)[0] - exact_angle(0.5, DT)) for n in counts]
    found = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert found == pytest.approx(method.traits.order, abs=0.15), (found, errors)


# An arm under gravity with a stiff controller at its elbow ------------------------------------------------------------------

ELBOW = ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0, 0.5)), axis=(1, 0, 0), image=(1, 0, 0, 0))
STIFFNESS, DAMPING = 0.2 * FREQUENCY**2, 4.0 * FREQUENCY


def arm() -> tuple[ct.Linkage, ct.State]:
    torque = ct.Torsion(1, "k*(theta - target)**2/2", {"k": STIFFNESS, "target": TARGET}, damping=DAMPING)
    linkage = ct.Linkage([ROD, ROD], [HINGE, ELBOW], [torque])
    return linkage, linkage.start(orientation=[turned(0, 1.0), turned(0, 1.0 + TARGET)])


def arm_by_lagrange(time: float) -> np.ndarray:
    """Angles of the two hinges: the double pendulum of rods written out, in their angles from the vertical."""
    from scipy.integrate import solve_ivp

    m, g, inertia = ROD.mass, 9.81, float(ROD.tensor[0, 0])

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        a, b, da, db = y
        torque = -STIFFNESS * (b - a - TARGET) - DAMPING * (db - da)
        coupling, swing = 0.5 * m * np.cos(a - b), 0.5 * m * np.sin(a - b)
        mass = np.array([[inertia + 1.25 * m, coupling], [coupling, inertia + 0.25 * m]])
        first = -1.5 * m * g * np.sin(a) - swing * db**2 - torque
        second = -0.5 * m * g * np.sin(b) + swing * da**2 + torque
        return np.array([da, db, *np.linalg.solve(mass, [first, second])])

    y = solve_ivp(rate, (0.0, time), [1.0, 1.0 + TARGET, 0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return np.array([y[0], y[1] - y[0]])


def arm_errors(method: Method, counts: tuple[int, ...], time: float) -> list[float]:
    linkage, start = arm()
    exact, places = arm_by_lagrange(time), [layout_of(linkage).angles[k] for k in (0, 1)]
    runs = [run_to(linkage, start, method, dt=time / n, steps=n, compiled=False) for n in counts]
    return [float(np.abs(run.z[places] - exact).max()) for run in runs]


@pytest.mark.parametrize("method", [pytest.param(ct.RadauIIA(2), marks=pytest.mark.slow), ct.RadauIIA(3)], ids=str)
def test_a_stiff_arm_swings_with_the_declared_order_at_steps_that_do_not_see_its_controller(method: Method) -> None:
    """Steps of 0.04, 0.02 and 0.01, k dt^2/I = 100 in the last: measured 3.00 and 5.00, errors 5.4e-8 and 1.0e-12 there."""
    errors = arm_errors(method, (4, 8, 16), 0.16)
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert slopes == pytest.approx(method.traits.order, abs=0.15), errors


def test_without_the_slope_of_the_controller_the_arm_cannot_be_stepped(monkeypatch) -> None:
    """The twin: Newton's method with a Jacobian that forgets the torsion."""
    monkeypatch.setattr(force_slopes, "note_torsions", forget_torsions)
    linkage, start = arm()
    program = build(linkage, ct.RadauIIA(3, solver="newton"), compiled=False)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=DT, every=1)
    assert driver.advance(1).status != 0


def forget_torsions(z, par):
    """`note_torsions` that notes nothing."""


# Springs and dampers between bodies -----------------------------------------------------------------------------------------


def tied() -> tuple[ct.Linkage, ct.State]:
    """Three floating bodies on a ball joint and a hinge; from the first to the last a strong damper and a stiff spring, 2 mm too long."""
    points = ((0.1, 0.4, 0.0), (-0.3, 0.2, 0.1))
    bodies = [ct.Body.from_inertia(m, np.diag((0.3, 0.4, 0.5)) * m) for m in (2.0, 1.0, 1.5)]
    ball = ct.Spherical(0, 1, ((0.5, 0, 0), (-0.5, 0, 0)))
    hinge = ct.Revolute(1, 2, ((0.5, 0, 0), (-0.5, 0, 0.1)), axis=(0, 1, 1))
    turns = rotations.normalise(np.array([(1.0, 0, 0, 0), (0.9, 0.3, -0.2, 0.24), (0.7, 0.5, 0.4, 0.3)]))
    turning = [(0.7, -0.5, 0.9), (0, 0, 0), (0, 0, 0)]
    start = ct.Linkage(bodies, [ball, hinge]).start(None, turns, angular_velocity=turning, project=True)
    ends = [start.position[k] + rotations.rotate(start.orientation[k], np.array(points[k // 2])) for k in (0, 2)]
    length = float(np.linalg.norm(ends[1] - ends[0])) - 0.002
    ties = [ct.Spring(0, 2, points, k=2e5, length=length), ct.Damper(0, 2, points, c=1e3)]
    return ct.Linkage(bodies, [ball, hinge], ties, form="joint"), start


@pytest.mark.slow
def test_stiff_springs_and_strong_dampers_between_bodies_are_stepped_by_newton() -> None:
    """Against accelerations by multipliers and DOP853 with 1e-11; k dt^2/m = 20 at 0.01. Measured 5.7e-5, 9.2e-8, 9.7e-11.

    At 0.01 a fixed point takes 109 sweeps, Newton 13, and both agree to 5e-13.
    """
    linkage, start = tied()
    exact, newton = independent_motion(linkage, start, 4 * DT), ct.RadauIIA(3, "newton")
    runs = [run_to(linkage, start, newton, dt=4 * DT / n, steps=n, compiled=False) for n in (4, 16, 64)]
    errors = [difference(state_of(linkage, run), exact) for run in runs]
    assert newton.counts(runs[0].carry)["sweeps"] < 4 * 20
    assert errors[1] < 2e-7
    assert np.log(errors[1] / errors[2]) / np.log(4.0) == pytest.approx(5.0, abs=0.15)


@pytest.mark.slow
def test_compiled_newton_gives_the_bits_of_plain_python() -> None:
    """Complex numbers are never divided: numpy and compiled code would do it with different bits, and were 1e-14 apart after three steps."""
    linkage, start = tied()
    runs = [run_to(linkage, start, ct.RadauIIA(3, "newton"), dt=DT, steps=3, compiled=c) for c in (True, False)]
    assert runs[0].z.tobytes() == runs[1].z.tobytes()
    assert runs[0].e.tobytes() == runs[1].e.tobytes()
