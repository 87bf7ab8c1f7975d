"""A body that changes its size: closed form, equations from virtual work, the conserving step, impacts, the multiplier."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.kernels.views import NOT_CONVERGED
from catena.methods.base import Method
from catena.systems.base import system_from
from catena.systems.linkage.joint_forces import Load
from catena.systems.scaling.scaling_body import ScalingBody
from places import read_reference

EPS = np.finfo(float).eps
DATA = read_reference("scaling.toml")
FREE, IMPACT = DATA["free"], DATA["impact"]
SOLID = ct.Body(moments=FREE["moments"])
SKEW = ct.Body.from_inertia(1.5, [[2.0, 0.3, 0.1], [0.3, 3.0, -0.2], [0.1, -0.2, 4.0]])
W0 = np.array(FREE["w"])
A0 = np.array(FREE["quaternion"])
LOADS = (Load(0, (0.3, -0.2, 0.5), force=(1.0, 2.0, -0.7)), Load(0, (0.1, 0.4, 0.0), force=(0.0, 0.0, -2.0)))


def free_start(body: ScalingBody) -> ct.State:
    s = float(A0 @ A0)
    return body.start(
        A0 / np.sqrt(s), angular_velocity=W0 / s, scale=s, scale_rate=FREE["rate"], velocity=(1.0, 2.0, -0.5)
    )


def impact_start(body: ScalingBody) -> ct.State:
    s = IMPACT["scale"]
    return body.start(angular_velocity=W0 / s, scale=s, scale_rate=IMPACT["rate"])


def steps(body: ScalingBody, start: ct.State, method: Method, *, dt: float, count: int) -> dict[str, np.ndarray]:
    """Fields and invariants after each step, uncompiled; the start first."""
    program = build(body, method, compiled=False)
    driver = Driver(program, program.view.pack(start), t0=start.time, dt=dt, every=1)
    first, chunk = driver.first_row(), driver.advance(count)
    assert chunk.status == 0, f"step {driver.step + 1}: {chunk.status}"
    return body.columns(np.concatenate([first.rows, chunk.rows]))


def final(found: dict[str, np.ndarray]) -> np.ndarray:
    names = ("position", "orientation", "momentum", "angular_momentum", "scale", "scale_rate")
    return np.concatenate([np.atleast_1d(found[name][-1]) for name in names])


def of_state(state: ct.State) -> np.ndarray:
    return np.concatenate([np.atleast_1d(array) for array in state.fields.values()])


def slope(counts: list[int], errors: list[float]) -> float:
    return float(-np.polyfit(np.log(counts), np.log(errors), 1)[0])


def published_equations(t: float, y: np.ndarray) -> np.ndarray:
    """A, nu, w of a free body as Moeller and Glocker write them: Adot = A * (nu, w)/(2 s), kappa nudot = w.Theta w/s, ..."""
    a, nu, w = y[:4], y[4], y[5:]
    theta, s = np.array(FREE["moments"]), y[:4] @ y[:4]
    kappa = 0.5 * theta.sum()
    rate = rotations.multiply(a, np.array([nu, *w])) / (2.0 * s)
    return np.array([*rate, w @ (theta * w) / (s * kappa), *(-(nu * theta * w + np.cross(w, theta * w)) / (s * theta))])


# Closed form --------------------------------------------------------------------------------------------------------------


def test_the_closed_form_meets_the_reference_values() -> None:
    body = ScalingBody(SOLID)
    found = body.exact(FREE["times"], free_start(body))
    assert np.abs(found.scale - FREE["scale"]).max() <= FREE["tolerance"]


def test_the_closed_form_solves_the_published_equations() -> None:
    """Against DOP853 on the unnormalised quaternion; its tolerance is 1e-13, errors grow to some 1e-12."""
    body = ScalingBody(SOLID)
    found = body.exact(FREE["times"], free_start(body))
    y0 = np.array([*A0, FREE["rate"], *W0])
    ode = solve_ivp(
        published_equations, (0.0, 5.0), y0, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=FREE["times"]
    ).y.T
    a = found.orientation * np.sqrt(found.scale)[:, None]
    w = found.angular_momentum / (found.scale[:, None] * np.array(FREE["moments"]))
    assert np.abs(a - ode[:, :4]).max() < 2e-12
    assert np.abs(found.scale_rate - ode[:, 4]).max() < 2e-12
    assert np.abs(w - ode[:, 5:]).max() < 2e-12


def test_the_body_turns_through_a_finite_angle_while_it_grows_for_ever() -> None:
    """tau is the time in which the rigid body of momentum l turns as far."""
    from catena.systems.scaling.flight import Flight, after

    s, k = 1.1, 6.7881
    c = np.sqrt(k / 4.5)
    _, _, tau = after(Flight(0.0, s, FREE["rate"], 0.0), c, np.array([2.0, 1e300]))
    assert np.abs(tau - [FREE["turning_time_at_2"], FREE["turning_time_in_all"]]).max() < 1e-13


@pytest.mark.parametrize("t", [-3.0, 1e-12, 1e6])
def test_the_closed_form_is_a_flow(t: float) -> None:
    """Exact(a + b) = exact(b) after exact(a), backwards, too."""
    body = ScalingBody(SKEW)
    start = free_start(body)
    there = body.exact(start.time + t, start)
    back = body.exact(start.time, there)
    assert np.abs(of_state(back) - of_state(start)).max() <= 50 * EPS * max(
        1.0, abs(t) / 1e3 * float(there.scale) / 1e3
    )


def test_without_turning_the_size_moves_at_constant_rate_and_particles_move_straight() -> None:
    body = ScalingBody(SOLID)
    found = body.exact([1.0, 4.0], body.start(scale=2.0, scale_rate=-0.25))
    assert np.array_equal(found.scale, [1.75, 1.0])
    with pytest.raises(ct.InputError, match="shrinks to a point at t = 8"):
        body.exact(9.0, body.start(scale=2.0, scale_rate=-0.25))


@pytest.mark.parametrize("constraint", ["none", "equality"])
def test_the_closed_form_can_be_stepped(constraint: str) -> None:
    """As the method Jacobi: each sample is evaluated from the start."""
    body = ScalingBody(SKEW, constraint)
    start = free_start(body) if constraint == "none" else body.start(angular_velocity=W0, velocity=(1, 0, 0))
    found = steps(body, start, ct.Jacobi(), dt=0.7, count=6)
    exact = body.exact(6 * 0.7, start)
    assert np.abs(final(found) - of_state(exact)).max() < 20 * EPS * max(1.0, float(exact.scale))
    assert np.ptp(found["energy"]) < 20 * EPS * found["energy"][0]


# Equations from first principles --------------------------------------------------------------------------------------------


def test_the_equations_follow_from_virtual_work_on_particles() -> None:
    """sum (m a - f).dx = 0 for the seven displacements that the body has, a by differences of the particles' positions.

    Fourth-order differences of steps of 2e-3 leave 1e-9 of accelerations of size 10. The force on particle 2 is the load.
    """
    rng = np.random.default_rng(1)
    x, masses = rng.normal(size=(6, 3)), rng.uniform(0.5, 2.0, 6)
    solid = ct.Body.from_particles(x, masses)
    at, force = solid.particles.positions[2], np.array([0.8, -1.3, 0.6])
    body = ScalingBody(solid, forces=[Load(0, at, force=force)])
    start = body.start(
        A0 / np.linalg.norm(A0), velocity=(0.1, 0.2, 0.3), angular_velocity=W0, scale=1.1, scale_rate=0.25
    )

    def particles(row: dict[str, np.ndarray], k: int) -> np.ndarray:
        turned = rotations.rotate(row["orientation"][k], solid.particles.positions)
        return row["position"][k] + row["scale"][k] * turned

    h = 2e-3
    ahead = steps(body, start, ct.Gauss(4), dt=h, count=2)
    behind = steps(body, start, ct.Gauss(4), dt=-h, count=2)
    now = particles(ahead, 0)
    second = (
        16.0 * (particles(ahead, 1) + particles(behind, 1)) - particles(ahead, 2) - particles(behind, 2)
    ) - 30.0 * now
    residual = masses[:, None] * second / (12.0 * h * h)
    residual[2] -= force
    arms = now - start.position
    turns = [np.cross(axis, arms) for axis in np.eye(3)]
    shifts = [np.broadcast_to(axis, arms.shape) for axis in np.eye(3)]
    work = [float((residual * displacement).sum()) for displacement in (arms, *turns, *shifts)]
    assert np.abs(work).max() < 1e-7
    assert np.abs(residual).max() > 0.1  # the particles are not free


# The conserving step --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("solid", "loads", "push"), [(SOLID, (), 0.0), (SKEW, LOADS, -0.4)], ids=["free", "loaded"])
def test_the_step_has_order_two(solid: ct.Body, loads: tuple[Load, ...], push: float) -> None:
    body = ScalingBody(solid, forces=loads, scaling_force=push)
    start = free_start(body)
    exact = final(steps(body, start, ct.Gauss(6), dt=0.1, count=20))
    if body.is_free:
        assert np.abs(exact - of_state(body.exact(2.0, start))).max() < 1e-12
    counts = [40, 60, 80, 120]
    errors = [np.abs(final(steps(body, start, ct.EnergyMomentum(), dt=2 / n, count=n)) - exact).max() for n in counts]
    assert abs(slope(counts, errors) - 2.0) < 0.05


@pytest.mark.parametrize("loads", [(), LOADS], ids=["free", "loaded"])
def test_the_step_keeps_the_energy_and_the_momentum_in_space(loads: tuple[Load, ...]) -> None:
    """To round-off: a walk of some eps per step; with a step of 0.1 the midpoint rule is off by more than 1e-4."""
    body = ScalingBody(SKEW, forces=loads, scaling_force=-0.4 if loads else 0.0)
    start = free_start(body)
    found = steps(body, start, ct.EnergyMomentum(), dt=0.1, count=100)
    limit = 50 * EPS * np.sqrt(100) * np.abs(found["energy"]).max()
    assert np.ptp(found["energy"]) < limit
    wrong = steps(body, start, ct.ImplicitMidpoint(), dt=0.1, count=100)
    assert np.ptp(wrong["energy"]) > 1e-4
    if not loads:
        assert np.ptp(found["spatial_momentum"], axis=0).max() < limit
        assert np.ptp(found["spin_energy"]) < limit
        assert np.ptp(wrong["spatial_momentum"], axis=0).max() > 1e-4


def test_parallel_forces_leave_the_momentum_about_their_direction() -> None:
    """Kept to round-off by the conserving step, not by the midpoint rule; two directions leave none."""
    pulls = [Load(0, (0.3, -0.2, 0.5), force=(0.5, 1.0, -0.5)), Load(0, (0.1, 0.4, 0.0), force=(-1.0, -2.0, 1.0))]
    body = ScalingBody(SKEW, forces=pulls)
    start = free_start(body)
    found = steps(body, start, ct.EnergyMomentum(), dt=0.1, count=60)["vertical_momentum"]
    assert np.ptp(found) < 50 * EPS * np.sqrt(60) * 5.0
    wrong = steps(body, start, ct.ImplicitMidpoint(), dt=0.1, count=60)["vertical_momentum"]
    assert np.ptp(wrong) > 1e-6
    names = [invariant.name for invariant in ScalingBody(SKEW, forces=LOADS).invariants]
    assert names == ["energy", "unit_residual"]


def test_the_step_with_a_held_size_is_that_of_a_rigid_body() -> None:
    """Implicit midpoint for rotation matrices on the free body, the same map to round-off."""
    held, rigid = ScalingBody(SKEW, "equality"), ct.FreeBody(SKEW)
    a = steps(held, held.start(angular_velocity=W0), ct.EnergyMomentum(), dt=0.05, count=40)
    program = build(rigid, ct.ImplicitMidpoint(), compiled=False)
    driver = Driver(program, program.view.pack(rigid.start(angular_velocity=W0)), t0=0.0, dt=0.05, every=40)
    b = rigid.columns(driver.advance(40).rows)
    assert np.abs(a["orientation"][-1] - b["orientation"][-1]).max() < 40 * EPS
    assert (a["scale"] == 1.0).all() and (a["scale_rate"] == 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("constraint", "rate"), [("none", 0.25), ("unilateral", 0.25), ("equality", 0.0)])
def test_nothing_drifts_in_many_steps(constraint: str, rate: float) -> None:
    """1e5 steps; the audit's limit is 50 eps sqrt(steps) times the size of the terms. The unconstrained body bounces, too."""
    push = -3.0 if constraint == "none" else 0.0  # without a force it would grow for ever
    body = ScalingBody(SKEW, constraint, scaling_force=push)
    start = body.start(angular_velocity=W0, scale=0.9 if rate else 1.0, scale_rate=rate)
    audit = ct.simulate(body, start, method=ct.EnergyMomentum(), dt=0.02, steps=100_000, every=100).audit()
    for name in ("energy", "spatial_momentum", "unit_residual", "spin_energy"):
        assert audit[name].verdict == "exact", audit


# Impacts --------------------------------------------------------------------------------------------------------------------


def test_the_first_impact_is_where_the_closed_form_puts_it() -> None:
    body = ScalingBody(SOLID, "unilateral", 0.0)
    start = impact_start(body)
    time = body.impacts(start, 5.0)
    assert len(time) == 1 and abs(time[0] - IMPACT["time"]) < 1e-14
    before = body.exact(np.nextafter(IMPACT["time"], 0.0), start)
    assert abs(before.scale - 1.0) < 4 * EPS and abs(before.scale_rate - IMPACT["rate_before"]) < 1e-14
    after = body.exact([IMPACT["time"] + 1e-9, 7.0], start)
    assert (after.scale == 1.0).all() and (after.scale_rate == 0.0).all()
    assert np.abs(body.multiplier(after) - IMPACT["multiplier"]).max() < 1e-13


@pytest.mark.parametrize("restitution", [1.0, 0.5, 0.0])
def test_motion_with_impacts_agrees_with_events_of_another_integrator(restitution: float) -> None:
    """DOP853 on the published equations, stopped and turned round at s = 1; five impacts or until it rests."""
    body = ScalingBody(SOLID, "unilateral", restitution)
    start = impact_start(body)
    y = np.array([np.sqrt(IMPACT["scale"]), 0.0, 0.0, 0.0, IMPACT["rate"], *W0])

    def bound(t: float, y: np.ndarray) -> float:
        return y[:4] @ y[:4] - 1.0

    bound.terminal, bound.direction = True, 1.0  # type: ignore[attr-defined]
    t, times = 0.0, []
    for _ in range(5 if restitution > 0.0 else 1):
        flight = solve_ivp(published_equations, (t, t + 10.0), y, method="DOP853", rtol=1e-13, atol=1e-14, events=bound)
        t, y = float(flight.t_events[0][0]), flight.y_events[0][0].copy()
        times.append(t)
        y[4] *= -restitution
        y[:4] *= 1.0 - 1e-13  # below the bound, so that the next flight does not end at once
    found = body.impacts(start, times[-1] + 1e-6)
    assert np.abs(found[: len(times)] - times).max() < 1e-10


def test_impacts_with_loss_end_and_the_body_rests_at_its_bound() -> None:
    """Rebounds shrink by the restitution, so their times add up; the motion is then that of the held body."""
    body, held = ScalingBody(SOLID, "unilateral", 0.5), ScalingBody(SOLID, "equality")
    start = impact_start(body)
    times = body.impacts(start, 100.0)
    assert 20 < len(times) < 60
    assert np.diff(times)[-1] < 1e-6
    rest = body.exact(times[-1], start)
    later, expected = body.exact(9.0, start), held.exact(9.0, rest)
    assert np.abs(of_state(later) - of_state(expected)).max() < 1e-13


@pytest.mark.parametrize("restitution", [1.0, 0.0])
def test_the_step_meets_impacts_with_order_two_and_without_loss_of_energy(restitution: float) -> None:
    body = ScalingBody(SOLID, "unilateral", restitution)
    start = impact_start(body)
    exact = of_state(body.exact(3.0, start))
    counts, errors = [60, 90, 120, 180], []
    for n in counts:
        found = steps(body, start, ct.EnergyMomentum(), dt=3 / n, count=n)
        errors.append(np.abs(final(found) - exact).max())
        expected = IMPACT["energy"] if restitution else IMPACT["energy_at_rest"]
        assert abs(found["energy"][-1] - expected) < 50 * EPS * np.sqrt(n) * IMPACT["energy"]
        assert np.ptp(found["spatial_momentum"], axis=0).max() < 50 * EPS * np.sqrt(n) * 5.0
        assert found["scale"].max() <= 1.0
    assert abs(slope(counts, errors) - 2.0) < 0.1


def test_impacts_under_forces_are_located_and_keep_the_energy() -> None:
    """Order 2 by comparing steps with their halves; a step that lets the body pass its bound would not keep the energy."""
    body = ScalingBody(SKEW, "unilateral", 1.0, forces=LOADS, scaling_force=-2.0)
    start = impact_start(body)
    finals = []
    for n in (60, 120, 240):
        found = steps(body, start, ct.EnergyMomentum(), dt=3 / n, count=n)
        assert np.ptp(found["energy"]) < 50 * EPS * np.sqrt(n) * 5.0
        assert (found["scale_rate"][1:] < 0.0).any() and found["scale"].max() <= 1.0
        finals.append(final(found))
    ratio = np.abs(finals[0] - finals[1]).max() / np.abs(finals[1] - finals[2]).max()
    assert 3.6 < ratio < 4.4


def test_contact_ends_where_a_force_pulls_the_body_in() -> None:
    """A pendulum held at s = 1: E = I omega^2/2 - cos(theta) = 1.25, so lambda = -(2 E + 3 cos(theta)) is 0 at cos(theta) = -5/6.

    The body stays until the end of the step that passes this point.
    """
    body = ScalingBody(SOLID, "unilateral", 0.0, forces=[Load(0, (0.0, 0.0, 1.0), force=(0.0, 0.0, 1.0))])
    found = steps(body, body.start(angular_velocity=(1.5, 0.0, 0.0)), ct.EnergyMomentum(), dt=0.02, count=150)
    cosine = rotations.to_matrix(found["orientation"])[:, 2, 2]
    leaves = int(np.argmax(found["scale"] < 1.0))
    assert cosine[leaves - 2] > -5 / 6 > cosine[leaves]
    assert np.ptp(found["energy"]) < 1e-13


# The multiplier, and the rest -----------------------------------------------------------------------------------------------


def test_the_multiplier_is_the_force_that_the_particles_need() -> None:
    """lambda = sum rho.R^T (m a - f) for a rigid motion: the centripetal part and the load, from the particles."""
    rng = np.random.default_rng(2)
    solid = ct.Body.from_particles(rng.normal(size=(5, 3)), rng.uniform(0.5, 2.0, 5))
    at, force = (0.2, -0.4, 0.7), np.array([0.8, -1.3, 0.6])
    body = ScalingBody(solid, "equality", forces=[Load(0, at, force=force)], scaling_force=0.3)
    state = body.start(A0 / np.linalg.norm(A0), angular_velocity=W0)
    x, m = solid.particles.positions, solid.particles.masses
    centripetal = np.cross(W0, np.cross(W0, x))
    expected = (
        float((m[:, None] * centripetal * x).sum()) - float(rotations.rotate(state.orientation, at) @ force) - 0.3
    )
    assert abs(float(body.multiplier(state)) - expected) < 1e-13
    assert float(ScalingBody(solid).multiplier(state)) == 0.0


def test_the_axes_in_which_the_body_was_given_do_not_matter() -> None:
    turn = rotations.from_euler((0.3, 1.1, -0.7))
    matrix = rotations.to_matrix(turn)
    turned = ct.Body.from_inertia(1.5, matrix @ SKEW.tensor @ matrix.T)
    results = []
    for solid, frame, r in ((SKEW, (1, 0, 0, 0), np.eye(3)), (turned, turn, matrix)):
        loads = [Load(0, tuple(r @ load.at), force=load.force) for load in LOADS]
        body = ScalingBody(solid, forces=loads)
        start = body.start(rotations.conjugate(frame), angular_velocity=r @ W0, scale=1.2, scale_rate=0.1)
        found = steps(body, start, ct.EnergyMomentum(), dt=0.05, count=20)
        results.append(
            np.concatenate(
                [found["position"][-1], [found["scale"][-1], found["energy"][-1]], r.T @ found["angular_momentum"][-1]]
            )
        )
    assert np.abs(results[0] - results[1]).max() < 1e-13


def test_a_description_gives_the_same_body() -> None:
    body = ScalingBody(SKEW, "unilateral", 0.5, forces=LOADS, scaling_force=-0.4)
    again = system_from(body.describe())
    assert isinstance(again, ScalingBody)
    assert again.describe() == body.describe()
    for name, array in body.parameter_arrays().items():
        assert np.array_equal(array, again.parameter_arrays()[name]), name


def test_a_state_survives_being_stepped() -> None:
    body = ScalingBody(SKEW)
    start = free_start(body)
    back = body.from_stepped(body.to_stepped(start), start.time)
    assert np.abs(of_state(back) - of_state(start)).max() < 4 * EPS


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScalingBody(SOLID, "rigid"), "constraint = 'rigid'"),
        (lambda: ScalingBody(SOLID, "unilateral", 1.5), "restitution = 1.5"),
        (lambda: ScalingBody(SOLID, scaling_force=np.inf), "scaling_force = inf"),
        (lambda: ScalingBody(SOLID, forces=[Load(1)]), "is no load on this body"),
        (lambda: ScalingBody(SOLID, forces=[Load(0, force=("t", 0, 0))]), "depends on time"),
        (lambda: ScalingBody(ct.Body.rod(2.0), forces=[Load(0, (0.1, 0, 1.0), force=(1, 0, 0))]), "about its own line"),
        (lambda: ScalingBody(SOLID).start(scale=0.0), "scale = 0.0"),
        (lambda: ScalingBody(SOLID, "unilateral").start(scale=1.01), "beyond the bound"),
        (lambda: ScalingBody(SOLID, "equality").start(scale=0.9), "the size is held"),
        (lambda: ScalingBody(SOLID).start(velocity=(1, 0, 0), momentum=(1, 0, 0)), "both given"),
        (lambda: ScalingBody(SOLID, forces=LOADS).exact(1.0, free_start(ScalingBody(SOLID))), "without forces"),
        (lambda: ScalingBody(SOLID).impacts(free_start(ScalingBody(SOLID)), 1.0), "unilateral"),
        (lambda: build(ScalingBody(SOLID, "unilateral"), ct.RK4(), compiled=False), "rate jumps at impacts.*\n.*EnergyMomentum"),
        (lambda: build(ScalingBody(SOLID, "unilateral"), ct.Jacobi(), compiled=False), "rate jumps at impacts"),
        (lambda: build(ScalingBody(SOLID, "unilateral"), ct.Composition(ct.EnergyMomentum(), "suzuki4"), compiled=False),
         "backwards in time, and impacts cannot be undone\n  do: use one of EnergyMomentum"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, message: str) -> None:
    with pytest.raises(ct.CatenaError, match=message):
        make()


def test_a_body_that_shrinks_through_a_point_fails_and_stays_where_it_was() -> None:
    body = ScalingBody(SOLID)
    program = build(body, ct.EnergyMomentum(), compiled=False)
    start = body.to_stepped(body.start(scale=0.1, scale_rate=-1.0))
    driver = Driver(program, start, t0=0.0, dt=0.06, every=1)
    assert driver.advance(3).status == NOT_CONVERGED
    assert driver.step == 1 and abs(driver.z[13] - 0.04) < EPS
