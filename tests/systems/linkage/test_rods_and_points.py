"""Lines and points on joints: they have no moment of inertia about some axis, and move all the same.

References: the equations of Lagrange of the particles that they are made of, by sympy, and Runge-Kutta of order 8 with tolerance 1e-13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import catena as ct
import uncompiled
from catena.errors import CapabilityError
from catena.geometry import rotations
from catena.systems.linkage import constraints, thin
from catena.systems.linkage.held import Weights
from catena.systems.linkage.joint_form.form import pack_state

G = 9.0


def turned(axis: tuple[float, ...], angle: sympy.Expr) -> sympy.Matrix:
    """Rotation matrix about a unit vector."""
    x, y, z = (sympy.Float(a, 30) for a in axis)
    k = sympy.Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return sympy.eye(3) + sympy.sin(angle) * k + (1 - sympy.cos(angle)) * k * k


def lagrange(particles: list[tuple[float, sympy.Matrix]], q: list[sympy.Symbol]) -> Callable[..., Any]:
    """q'' as a function of (q, q') for particles (mass, position in q) in gravity along -z."""
    rates = [sympy.Symbol(f"d{name}") for name in q]
    speeds = [sum((x.diff(a) * b for a, b in zip(q, rates, strict=True)), sympy.zeros(3, 1)) for _, x in particles]
    kinetic = sum(m * v.dot(v) / 2 for (m, _), v in zip(particles, speeds, strict=True))
    potential = sum(m * G * x[2] for m, x in particles)
    mass = sympy.hessian(kinetic, rates)
    momenta = sympy.Matrix([kinetic]).jacobian(rates).T
    force = sympy.Matrix([kinetic - potential]).jacobian(q).T - momenta.jacobian(q) * sympy.Matrix(rates)
    found = sympy.lambdify([*q, *rates], (mass, force), "numpy", cse=True)

    def slope(t: float, x: Any) -> Any:
        m, f = found(*x)
        return np.concatenate([x[len(q) :], np.linalg.solve(m, f.ravel())])

    return slope


SKEW = (0.48, 0.64, 0.6)


def skew_rods() -> tuple[ct.Linkage, list[tuple[float, sympy.Matrix]], list[sympy.Symbol]]:
    """A rod (two particles) on a hinge about x, and on its end another one on a skew hinge, so that it turns about its own line, too."""
    rod = ct.Body.from_particles([(0, 0, 0.5), (0, 0, -0.5)], masses=[1.0, 2.0])
    other = ct.Body.from_particles([(0.4, 0, 0), (-0.4, 0, 0)], masses=[0.5, 0.7])
    first, second = sympy.symbols("a b")
    upper, lower = turned((1.0, 0.0, 0.0), first), turned(SKEW, second)
    # particles of the upper rod below its hinge, those of the lower one from the end of the upper one
    low, lower_axis = sympy.Matrix([0, 0, -1]), sympy.Matrix([1, 0, 0])
    points = [(1.0, upper * sympy.zeros(3, 1)), (2.0, upper * low)]
    points += [(0.5, upper * (low + lower * (lower_axis * sympy.Rational(4, 5)))), (0.7, upper * low)]
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 2.0 / 3.0)), axis=(1, 0, 0)),
        ct.Revolute(0, 1, at=((0, 0, -1.0 / 3.0), (-0.8 * 0.5 / 1.2, 0, 0)), axis=SKEW),
    ]
    return ct.Linkage([rod, other], joints, gravity=(0, 0, -G)), points, [first, second]


def test_rods_on_skew_hinges_move_as_their_particles() -> None:
    """Gauss(4) at dt = 0.02 over 0.4: 1e-11 asked for."""
    system, points, q = skew_rods()
    still = system.start()
    assert [body.kind for body in system.bodies] == ["linear", "linear"]
    run = uncompiled.simulate(system, still, ct.Gauss(4), dt=0.025, steps=16, every=4)
    found = solve_ivp(lagrange(points, q), (0.0, 0.4), (0, 0, 0, 0), "DOP853", rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(system.angles(run.final, still), found.y[:2, -1], rtol=0, atol=1e-11)
    assert float(np.abs(run.data.joint_velocity_residual).max()) < 1e-13
    assert float(np.abs(run.data.energy - run.data.energy[0]).max()) < 1e-10
    speeds = system.outputs(run).speed[-1].values
    np.testing.assert_allclose(speeds, found.y[2:, -1], rtol=0, atol=1e-10)
    again = uncompiled.simulate(system, run.final, ct.Gauss(4), dt=0.025, steps=4, every=4)  # from a start in motion
    further = solve_ivp(lagrange(points, q), (0.4, 0.5), found.y[:, -1], "DOP853", rtol=1e-13, atol=1e-14)
    turned_further = system.angles(again.final, run.final)
    np.testing.assert_allclose(turned_further, further.y[:2, -1] - found.y[:2, -1], rtol=0, atol=1e-10)


def test_forces_of_rods_on_hinges_balance() -> None:
    """Force of the first hinge = weight and acceleration of all particles."""
    system, points, q = skew_rods()
    start = system.start()
    gains = lagrange(points, q)(0.0, np.zeros(4))[2:]
    total = np.zeros(3)
    for mass, x in points:
        acceleration = sum(
            np.array(x.diff(a).subs({b: 0 for b in q}), dtype=float).ravel() * g for a, g in zip(q, gains, strict=True)
        )
        total += mass * (acceleration + np.array([0, 0, G]))
    np.testing.assert_allclose(system.reactions(start).force[0], total, atol=1e-12)


def test_a_rod_swings_with_the_period_of_the_elliptic_integral() -> None:
    """A quarter of the period from rest at 1.2 rad, where it hangs down: 4 K(sin^2(0.6)) sqrt(I/(m g l))."""
    rod = ct.Body.from_particles([(0, 0, 0.5), (0, 0, -0.5)])
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.7)), axis=(1, 0, 0), image=(1, 0, 0, 0))
    system = ct.Linkage([rod], [hinge], gravity=(0, 0, -G))
    inertia, mass = 2 * 0.25 + 2 * 0.49, 2.0
    quarter = float(ellipk(np.sin(0.6) ** 2)) * np.sqrt(inertia / (mass * G * 0.7))
    start = system.start(orientation=[(np.cos(0.6), np.sin(0.6), 0, 0)])
    run = uncompiled.simulate(system, start, ct.Gauss(4), dt=quarter / 16, steps=16, every=16)
    assert abs(system.angles(run.final)[0]) < 1e-11


def test_a_point_on_a_universal_joint_is_a_spherical_pendulum() -> None:
    """The same as on a ball joint."""
    ends = []
    point = ct.Body.from_particles([(0, 0, 0)], masses=[1.5])
    at = ((0, 0, 0), (1.0, 0, 0))
    for joint in (ct.Universal(-1, 0, at=at, axis=(0, 0, 1)), ct.Spherical(-1, 0, at=at)):
        system = ct.Linkage([point], [joint], gravity=(-G, 0, 0))
        start = system.start(velocity=[(0.0, 0.7, 0.4)])
        ends.append(uncompiled.simulate(system, start, ct.Gauss(4), dt=0.025, steps=12, every=12).final.position)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11)


def test_a_line_that_turns_about_itself_is_refused() -> None:
    rod = ct.Body.from_particles([(0, 0, 0.5), (0, 0, -0.5)])
    along = ct.Linkage([rod], [ct.Revolute(-1, 0, axis=(0, 0, 1))])
    with pytest.raises(CapabilityError, match="nothing resists the turn of body 0"):
        uncompiled.simulate(along, along.start(), ct.Gauss(2), dt=0.1, steps=1)


def test_a_turn_that_only_a_loop_could_hold_has_no_joint_form() -> None:
    """Two points on a line that slides: nothing but the rod that closes the loop may notice how it turns. Accelerations were off by rounding over 0."""
    points = [ct.Body(1.0, (0, 0, 0)), ct.Body(2.0, (0, 0, 0))]
    joints = [ct.Distance(-1, 0, at=((0, 0, 0), (0.5, 0, 0)), length=2.5), ct.Prismatic(0, 1, axis=(0, 0.6, 0.8))]
    linkage = ct.Linkage(points, joints)
    state = linkage.start([(2, 0, 0), (2, 0.12, 0.16)])
    with pytest.raises(CapabilityError, match="nothing resists the turn of body 0"):
        pack_state(linkage, state)


THIN = {
    "point": ct.Body.from_particles([(0, 0, 0)], masses=[1.3]),
    "rod": ct.Body.from_particles([(0, 0, 0.4), (0, 0, -0.7)], masses=[1.3, 0.7]),
}
HOLDING: dict[str, dict[str, Any]] = {"Rigid": {}, "Revolute": {"axis": SKEW}, "Cylindrical": {"axis": SKEW}, "Universal": {"axis": SKEW}, "Spherical": {}}  # fmt: skip


def held(body: ct.Body, joint: str, *, thickness: float = 0.0) -> ct.Linkage:
    """A box on a hinge, and on it a body beside its middle, with as much more moment about every axis."""
    thick = ct.Body.from_inertia(body.mass, body.tensor + thickness * np.eye(3)) if thickness else body
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0.2, 0, 1.0)), axis=(1, 0, 0))
    second = getattr(ct, joint)(0, 1, at=((0, 0.1, -1.0), (0.2, 0.3, 0.5)), **HOLDING[joint])
    return ct.Linkage([ct.Body.box((1.0, 2.0, 0.5), mass=1.7), thick], [hinge, second])


@pytest.mark.parametrize("joint", HOLDING)
@pytest.mark.parametrize("body", THIN)
def test_projected_velocities_of_thin_bodies_are_the_limit_of_thick_ones(body: str, joint: str, monkeypatch) -> None:
    """A moment of 1e-10 changes momenta in proportion to it, by 2e-8 at most; spins taken for none would give others by more than 1e-3."""
    given = {"velocity": [(0.3, -0.4, 0.9), (1.0, 0.8, -0.7)], "angular_velocity": [(0.2, 0.5, -0.3), (0.4, -0.1, 0.6)]}
    thin = held(THIN[body], joint)
    start, limit = (
        thin.start(**given, project=True),
        held(THIN[body], joint, thickness=1e-10).start(**given, project=True),
    )
    np.testing.assert_allclose(start.momentum, limit.momentum, rtol=0, atol=1e-7)
    np.testing.assert_allclose(start.angular_momentum, limit.angular_momentum, rtol=0, atol=1e-7)
    thin.start(start.position, start.orientation, momentum=start.momentum, angular_momentum=start.angular_momentum)
    if (body, joint) == ("rod", "Rigid"):
        return  # fixed across its line, it does not spin
    weigh = constraints.weigh

    def weigh_stiffly(*given: Any) -> Weights:
        weights = weigh(*given)
        return weights._replace(masses=np.where(weights.masses > 0.0, weights.masses, 1e12))

    monkeypatch.setattr(constraints, "weigh", weigh_stiffly)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(thin.start(**given, project=True).momentum, limit.momentum, rtol=0, atol=1e-3)


@pytest.mark.parametrize("joint", ["Revolute", "Spherical"])
@pytest.mark.parametrize("body", THIN)
def test_a_turn_of_a_thin_body_moves_what_stands_beside_its_joint(body: str, joint: str) -> None:
    """v = -w x b for the second body where the first rests; a spin taken for none would leave a point where it is."""
    arm, spin = np.array([0.2, 0.3, 0.5]), 1.3 * np.array(SKEW)
    start = held(THIN[body], joint).start(angular_velocity=[(0, 0, 0), spin])
    np.testing.assert_allclose(start.momentum[1] / THIN[body].mass, -np.cross(spin, arm), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "forces",
    [ct.Spring(-1, 0, ((0, 2, 0), (1, 0, 0.3)), k=3.0), ct.Load(0, torque=(0, 0, 1)), ct.Load(0, at=(1, 0, 0), force=(0, 1, 0))],
)  # fmt: skip
@pytest.mark.parametrize("body", THIN)
def test_a_force_that_nothing_resists_is_refused(body: str, forces: ct.Spring | ct.Load) -> None:
    """A torque about a line without a moment of inertia: one form left it out, the other turned the body with a moment of its own.

    Beside a ball joint, or in a plane through the line, something resists, or nothing turns it.
    """
    joint = ct.Spherical(-1, 0, ((0, 0, 0), (0, 0, 1)))
    for joints in ([], [joint]):
        linkage = ct.Linkage([THIN[body]], joints, [forces])
        start = linkage.start(None if joints else [(0.2, 1.0, 0.5)])
        for method in (ct.Gauss(2), ct.EnergyMomentum()):
            with pytest.raises(CapabilityError, match="forces turn body 0 where it is a line or a point"):
                ct.simulate(linkage, start, method, dt=0.02, steps=2)
    steady = ct.Linkage([ct.Body.rod(1.0)], [joint], [ct.Load(0, at=(0, 1, 0), force=(0, 0, 1), torque=(1, 0, 0))])
    steady.check_start(steady.start())
    held_down = ct.Linkage([THIN[body]], [ct.Spherical(-1, 0, ((0, 0, 0), (0.3, 0.2, 1)))], [forces])
    if body == "rod":
        held_down.check_start(held_down.start())


@pytest.mark.parametrize(
    ("method", "bound"), [(ct.EnergyMomentum(), 6e-6), (ct.Rattle(), 6e-6), (ct.Gauss(2), 1e-10)], ids=str
)
def test_a_rod_and_a_point_that_no_joint_holds_fly_freely(method: ct.Method, bound: float) -> None:
    """The rod turns evenly, |omega| = 1.5, and both centres fall. Order 2 is off by omega^3 dt^2 T/12 = 2.8e-6, twice that is allowed.

    Four times the step, the deliberate error, must be seen: it is off by sixteen times as much, or more.
    """
    rod, point = ct.Body.rod(1.0, mass=2.0), ct.Body.from_particles([(0.0, 0.0, 0.0)])
    free = ct.Linkage([rod, point], gravity=(0.0, 0.0, -G))
    speeds, spins = [[1, 0, 0], [0, 2, 0]], [[0.9, 1.2, 0], [0, 0, 0]]
    start = free.start([[0, 0, 0], [1, 0, 0]], velocity=speeds, angular_velocity=spins)
    end = [[0.4, 0, -0.08 * G], [1, 0.8, -0.08 * G]]
    line = np.array([0.8 * np.sin(0.6), -0.6 * np.sin(0.6), np.cos(0.6)])  # that of z, turned about (0.6, 0.8, 0)
    off = []
    for dt in (0.005, 0.02):
        run = uncompiled.simulate(free, start, method, dt=dt, steps=round(0.4 / dt))
        assert run.final.position == pytest.approx(np.array(end), abs=1e-13)
        off.append(np.abs(rotations.rotate(run.final.orientation[0], np.eye(3)[2]) - line).max())
    assert off[0] < bound and off[1] > 10 * off[0]


@pytest.mark.parametrize("count", [5, 40])
def test_what_joints_notice_is_asked_once_for_each_of_their_ends(count: int, monkeypatch) -> None:
    """By each line for all joints, as it was, these are as many as the square of their number: 2 * count - 1 ends are no ground."""
    rod = ct.Body.from_particles([(0, 0, -0.5), (0, 0, 0.5)])
    foot = [(0.0, 0.0, -0.5 if i else 0.0) for i in range(count)]
    joints = [ct.Spherical(i - 1, i, at=(foot[i], (0, 0, 0.5))) for i in range(count)]
    asked, find = [], thin._find_noticed
    monkeypatch.setattr(thin, "_find_noticed", lambda *ends: asked.append(ends) or find(*ends))
    found = thin.thin_bodies(ct.Linkage([rod] * count, joints))
    assert found is not None and found.idle.sum() == count
    assert len(asked) == 2 * count - 1
