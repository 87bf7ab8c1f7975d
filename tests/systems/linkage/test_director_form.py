"""Massless rods, lines, points and prescribed motions in director form: against particles, quadrature and the joint form.

The steps are symmetric, so that what they are off by is a series in h^2: extrapolated from a few runs of a few steps each, they have to meet references
of 1e-13 (Runge-Kutta of order 8, elliptic integrals) to 1e-11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk
from test_distance_joints import DOUBLE, DUMBBELL, PENDULUM, TRIANGLE, particles, points
from test_driven_joints import crank, four_bar, swing, told
from test_driven_joints import torque as torque_of_crank
from test_rods_and_points import G, lagrange, skew_rods

import catena as ct
import uncompiled
from catena.engine.build import build
from catena.errors import CapabilityError
from catena.systems.linkage.director_form import drives, rows
from catena.systems.linkage.layout import Coefficients

EPS = np.finfo(float).eps
BOTH, PUBLISHED, DIRECTORS, RATTLE = (
    ct.EnergyMomentum(), ct.EnergyMomentum(level="position"), ct.EnergyMomentum(variables="directors"), ct.Rattle(),
)  # fmt: skip
COUNTS = (1, 2, 3, 4, 6)
EVEN = (2, 4, 6, 8, 10)
KEPT = ("energy", "total_momentum", "total_angular_momentum")


def state_of(run: ct.Run) -> np.ndarray:
    fields = run.final.fields
    return np.concatenate([fields[name].ravel() for name in ("position", "momentum", "angular_momentum")])


def limit(system: Any, start: Any, method: Any, end: float, counts: tuple[int, ...] | None = None) -> tuple[Any, Any]:
    """The state at the end for steps of length zero, by Neville's scheme in h^2, and the last run.

    The published step holds the joints' velocities only as means over a step: what is left at the start changes its sign with every
    step, so that even numbers of steps have one series and odd ones another.
    """
    counts = counts or (EVEN if method == PUBLISHED else COUNTS)
    table = []
    for count in counts:
        run = uncompiled.simulate(system, start, method, dt=end / count, steps=count)
        table.append(state_of(run))
        for k in range(len(table) - 2, -1, -1):
            ratio = (count / counts[k]) ** 2
            table[k] = table[k + 1] + (table[k + 1] - table[k]) / (ratio - 1.0)
    return table[0], run


def slow(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("given", "method"),
    [
        (PENDULUM, BOTH), slow(DOUBLE, RATTLE), slow(TRIANGLE, BOTH), slow(DUMBBELL, BOTH), slow(DUMBBELL, RATTLE), slow(TRIANGLE, RATTLE),
        slow(PENDULUM, PUBLISHED),
    ],
    ids=["one", "two-rattle", "loop", "dumbbell", "dumbbell-rattle", "loop-rattle", "one-published"],
)  # fmt: skip
def test_points_on_massless_rods_move_as_particles(given: Any, method: Any) -> None:
    masses, ends, x, v = given
    system = points(masses, ends)
    found, run = limit(system, system.start(position=x, velocity=v), method, 0.05)
    r, s, tension = particles(np.array(masses), ends, x, v, 0.05)
    wanted = np.concatenate([r.ravel(), (np.array(masses)[:, None] * s).ravel(), np.zeros(3 * len(masses))])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11)
    pulled = np.linalg.norm(system.reactions(run.final).force, axis=1)
    np.testing.assert_allclose(pulled, np.abs(tension), rtol=0, atol=1e-2)  # at the end of a run of six steps
    assert float(np.abs(run.data.joint_position_residual).max()) < 1e-14
    if method != RATTLE:
        assert np.ptp(run.data.energy.values) < 100 * EPS * np.abs(run.data.energy.values).max()


def tied_boxes() -> tuple[ct.Linkage, ct.State]:
    """Two free boxes, tied corner to corner, turning."""
    box = ct.Body.box((0.4, 0.6, 1.0), mass=2.0)
    rod = ct.Distance(0, 1, at=((0.2, 0.3, -0.5), (-0.2, 0.1, 0.5)), length=0.8)
    system = ct.Linkage([box, box], [rod], gravity=(0, 0, 0))
    motion = {"angular_velocity": [(1, 0.3, 0.2), (0.2, 0.3, 0.4)], "velocity": [(0.1, 0.2, 0.3), (0, 0, -0.1)]}
    return system, system.start(position=[(0, 0, -0.5), (0.5, 0.3, -2.3)], project=True, **motion)


def without_drift(row, a, b, pair, force, impulse, c, out):
    """A wrong `add_distance`: D.E is left out of the rate of the distance."""
    add_distance(row, a, b, pair, force, impulse, c, out)
    c[Coefficients.DRIFT] = 0.0


add_distance = rows.add_distance


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True])
def test_a_rod_between_bodies_keeps_energy_and_momenta(broken: bool, monkeypatch: Any) -> None:
    """Ten times what rounding leaves is allowed (measured 2 EPS); the twin loses 1e-3."""
    if broken:
        monkeypatch.setattr(rows, "add_distance", without_drift)
    system, start = tied_boxes()
    data = uncompiled.simulate(system, start, BOTH, dt=0.1, steps=3).data
    changes = [np.abs(data[name].values - data[name].values[0]).max() for name in KEPT]
    assert max(changes) < 20 * EPS if not broken else max(changes) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", [BOTH, PUBLISHED, RATTLE], ids=["both", "published", "rattle"])
def test_rods_on_skew_hinges_move_as_their_particles(method: Any) -> None:
    """The spin of the second rod about its own line has no inertia, and its hinge turns it all the same."""
    system, particles_of, q = skew_rods()
    start = system.start()
    found, run = limit(system, start, method, 0.1)
    exact = solve_ivp(lagrange(particles_of, q), (0.0, 0.1), (0, 0, 0, 0), "DOP853", rtol=1e-13, atol=1e-14)
    turned = system.angles(run.final, start)
    assert np.abs(turned).min() > 1e-3
    np.testing.assert_allclose(turned, exact.y[:2, -1], rtol=0, atol=1e-4)
    by_joints = uncompiled.simulate(system, start, ct.Gauss(4), dt=0.02, steps=5, every=5)
    np.testing.assert_allclose(found, state_of(by_joints), rtol=0, atol=1e-11)
    assert run.final.angular_momentum[0, 2] == 0.0  # about its line


def test_a_rod_swings_with_the_period_of_the_elliptic_integral() -> None:
    """A quarter of the period from rest, where it hangs down: K(sin^2(a/2)) sqrt(I/(m g l)) from an angle a = 0.1."""
    rod = ct.Body.from_particles([(0, 0, 0.5), (0, 0, -0.5)])
    ball = ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.7)))
    system = ct.Linkage([rod], [ball], gravity=(0, 0, -G))
    quarter = float(ellipk(np.sin(0.05) ** 2)) * np.sqrt((0.5 + 0.98) / (2.0 * G * 0.7))
    start = system.start(orientation=[(np.cos(0.05), np.sin(0.05), 0, 0)])
    found, run = limit(system, start, BOTH, quarter, (4, 6, 8, 12, 16))
    assert abs(found[1]) < 1e-11
    assert abs(run.final.position[0, 1]) > 1e-6  # without extrapolation


def test_a_point_hangs_at_any_point_of_its_own() -> None:
    """Beside its axes, too, in both forms: as on a massless rod."""
    arm = np.array((0.6, 0.2, 0.8))
    masses, ends = (1.5,), [(-1, 0, float(np.linalg.norm(arm)))]
    system = ct.Linkage(
        [points(masses, ends).bodies[0]], [ct.Spherical(-1, 0, at=((0, 0, 0), arm))], gravity=(0, 0, -9.0)
    )
    speed = np.cross((0.3, 0.2, -0.1), -arm)
    start = system.start(velocity=[speed])
    r, s, _ = particles(np.array(masses), ends, [-arm], [speed], 0.05)
    wanted = np.concatenate([r.ravel(), 1.5 * s.ravel(), np.zeros(3)])
    np.testing.assert_allclose(limit(system, start, BOTH, 0.05)[0], wanted, rtol=0, atol=1e-11)
    by_joints = uncompiled.simulate(system, start, ct.Gauss(4), dt=0.0125, steps=4, every=4)
    np.testing.assert_allclose(state_of(by_joints), wanted, rtol=0, atol=1e-11)


def test_spins_without_inertia_are_found_again_with_the_same_bits() -> None:
    """A second driver goes on where the first one was; what a step knows of a spin stands in what is stored."""
    system, _, _ = skew_rods()
    program = build(system.begun(system.start()), BOTH, compiled=False)
    uncompiled.check_goes_on(program, system.start(), dt=0.05, steps=1)


def test_a_line_that_turns_about_itself_is_refused_in_director_form_too() -> None:
    rod = ct.Body.from_particles([(0, 0, 0.5), (0, 0, -0.5)])
    along = ct.Linkage([rod], [ct.Revolute(-1, 0, axis=(0, 0, 1))])
    with pytest.raises(CapabilityError, match="nothing resists the turn of body 0"):
        uncompiled.simulate(along, along.start(), BOTH, dt=0.1, steps=1)


def test_a_drive_that_turns_a_body_works_as_its_torque_does() -> None:
    """phi = t^2 about a fixed axis without gravity: the work is I phi'^2/2; the energy less the work is that of the start, nothing."""
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    system = ct.Linkage([ct.Body(2.0, (1, 2, 2.5))], [hinge], [ct.Driven(0, "t**2")], gravity=(0, 0, 0))
    data = uncompiled.simulate(system, system.start(), BOTH, dt=0.1, steps=3).data
    assert data.load_work.values == pytest.approx(0.5 * (1 + 0.5) * (2 * np.arange(4) * 0.1) ** 2, abs=4 * EPS)
    assert np.abs(data.energy.values).max() < 4 * EPS


@pytest.mark.slow
@pytest.mark.parametrize("method", [BOTH, RATTLE, PUBLISHED], ids=["both", "rattle", "published"])
def test_a_body_swings_from_a_driven_one_as_a_reference_does(method: Any) -> None:
    """Angle of the swinging body, and the energy less the work of the drive; the torque of the drive is that of the state."""
    system, start = crank()
    _, run = limit(system, start, method, 0.1, (2, 4))
    found, finer = limit(system, start, method, 0.1, EVEN[:4] if method == PUBLISHED else COUNTS[1:])
    phi, dphi = solve_ivp(swing, (0.0, 0.1), (0.0, 0.8), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    a = told(0.1)[0]
    place = np.array(
        [0.6 * np.sin(a), -0.6 * np.cos(a), 1.2 * np.sin(a) + 0.5 * np.sin(phi), -1.2 * np.cos(a) - 0.5 * np.cos(phi)]
    )
    np.testing.assert_allclose(found[[1, 2, 4, 5]], place, rtol=0, atol=1e-11)
    assert found[15] == pytest.approx(0.2 * dphi, abs=1e-11)  # the angular momentum of the lower body
    assert system.motor_torques(finer.final, start)[0] == pytest.approx(torque_of_crank(0.1, phi, dphi), abs=1e-2)
    energy, work = finer.data.energy.values, finer.data.load_work.values
    assert abs(work[-1]) > 0.01
    assert np.ptp(energy) < (1e-4 if method == RATTLE else 20 * EPS * np.abs(energy).max())
    assert np.abs(system.angles(run.final, start)[0] - a) < 4 * EPS


def late(first, last, end, now, h, par):
    """A wrong `set_drives`: a joint is led to where it should have been at the start of the step."""
    set_drives(first, last, first, now, h, par)


set_drives = drives.set_drives


@pytest.mark.slow
def test_a_drive_that_comes_late_is_noticed(monkeypatch: Any) -> None:
    """Its energy balance still holds, since its work is what it does; but it is of order 1."""
    from catena.systems.linkage.director_form import steps

    system, start = crank()
    exact = uncompiled.simulate(system, start, ct.Gauss(4), dt=0.05, steps=2, every=2).final.position
    orders = []
    for twin in (set_drives, late):
        monkeypatch.setattr(steps, "set_drives", twin)
        system, start = crank()  # a program is made once for a system
        runs = [uncompiled.simulate(system, start, BOTH, dt=0.1 / n, steps=n, every=n) for n in (4, 8)]
        errors = [np.abs(run.final.position - exact).max() for run in runs]
        orders.append(np.log2(errors[0] / errors[1]))
    assert orders[0] == pytest.approx(2.0, abs=0.15)
    assert orders[1] < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("method", [BOTH, PUBLISHED, RATTLE], ids=["both", "published", "rattle"])
def test_screws_sliders_and_loops_are_driven_as_in_joint_form(method: Any) -> None:
    """Screw and planar joint told at once, a slider with a pendulum, the crank of a four-bar: both forms to 1e-9, energy balance."""
    body = ct.Body(2.0, (1, 1, 1))
    screw = [
        ct.Screw(-1, 0, axis=(0, 0.6, 0.8), pitch=0.2),
        ct.Planar(0, 1, at=((0, 0, 0), (0, 0.3, 0.4)), axis=(0, 1, 0)),
    ]
    slider = [ct.Prismatic(-1, 0, axis=(0, 0, 1)), ct.Revolute(0, 1, at=((0, 0, 0), (0.3, 0.1, 0.4)), axis=(0, 1, 0))]
    cases: list[Any] = [
        ct.Linkage([body] * 2, screw, [ct.Driven(1, "sin(t)"), ct.Driven(0, "t**2")]),
        ct.Linkage([body] * 2, slider, [ct.Driven(0, "sin(t)")]),
    ]
    for system, start in [*((one, one.start()) for one in cases), four_bar("0.3*t**2")]:
        found, run = limit(system, start, method, 0.1)
        by_joints = uncompiled.simulate(system, start, ct.Gauss(4), dt=0.02, steps=5, every=5)
        np.testing.assert_allclose(found, state_of(by_joints), rtol=0, atol=1e-9)
        energy = run.data.energy.values
        assert np.ptp(energy) < (1e-3 if method == RATTLE else 50 * EPS * max(1.0, np.abs(energy).max()))


@pytest.mark.slow
def test_the_published_equations_with_all_their_unknowns_take_the_same_steps() -> None:
    """Newton's method with differences: 1e-9."""
    rod, point = ct.Body.from_particles([(0, 0, 0.5), (0, 0, -0.5)]), ct.Body.from_particles([(0, 0, 0)])
    tied = ct.Linkage(
        [rod, point],
        [ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.7))), ct.Distance(0, 1, at=((0, 0, -0.6), (0, 0, 0)), length=0.5)],
    )
    start = tied.start([(0, 0, -0.7), (0, 0.3, -1.7)], angular_velocity=[(1, 0.3, 0), (0, 0, 0)], project=True)
    for system, begin in ((tied, start), crank()):
        runs = [uncompiled.simulate(system, begin, method, dt=0.02, steps=2) for method in (PUBLISHED, DIRECTORS)]
        np.testing.assert_allclose(*map(state_of, runs), rtol=0, atol=1e-9)
        np.testing.assert_allclose(*(run.data.energy.values for run in runs), rtol=0, atol=1e-9)
    skew = skew_rods()[0]
    with pytest.raises(CapabilityError, match="turn a line about itself"):
        uncompiled.simulate(skew, skew.start(), DIRECTORS, dt=0.1, steps=1)
