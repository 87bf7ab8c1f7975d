"""The three forms of the equations of a chain: what each keeps, and that they are the same motion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.systems.base import system_from
from chains import BRIEF_STATES, REFERENCE, Plain, disturbed_helix, in_form, problem_of, worst_difference
from uncompiled import simulate

PULLED = {"n": 3, "right": "force", "F": (3.0, 0.0, 0.0), "amp": 0.5}

# Largest ||q|^2 - 1| and |q.g| of the pulled helix up to t = 1: at dt = 0.02 and 0.01, and |q.g| at 0.02.
MULTIPLIER = {
    ct.EulerB(): (1.5e-2, 7.2e-3, 1.2e-1),
    ct.EulerA(): (1.5e-2, 7.2e-3, 1.2e-1),
    ct.StormerVerlet(): (4.1e-9, 1.0e-9, 4.3e-8),
    ct.Gauss(1): (2.9e-4, 7.3e-5, 2.5e-3),
    ct.SunGeng(): (9.8e-9, 3.2e-10, 6.4e-8),
    ct.Gauss(2): (1.9e-6, 1.2e-7, 1.3e-5),
    ct.Gauss(3): (2.5e-9, 3.7e-11, 1.7e-8),
    ct.Gauss(4): (9.5e-12, 5.2e-14, 6.6e-11),
}
QUATERNION = {ct.EulerA(): 2.4e-3, ct.EulerB(): 2.4e-3, ct.StormerVerlet(): 9.9e-10}  # others: exact


LONG = (ct.SunGeng(), ct.Gauss(3), ct.Gauss(4))  # seconds each, uncompiled


def rows(methods) -> list:
    """Methods as parameters; those that take long are for the slow tests."""
    return [pytest.param(m, id=str(m), marks=[pytest.mark.slow] if m in LONG else []) for m in methods]


def residuals(form: str, method, dt: float) -> tuple[float, float]:
    """Largest ||q|^2 - 1| and |q.g| up to t = 1."""
    problem = in_form(ct.problems.helix_chain(**PULLED), form)
    run = simulate(problem, None, method, dt=dt, steps=round(1.0 / dt))
    return float(np.abs(run.data.unit_residual).max()), float(np.abs(run.data.tangency_residual).max())


@pytest.mark.parametrize("method", rows(MULTIPLIER))
def test_the_multiplier_form_leaves_the_constraints_with_the_order_of_the_method(method):
    """Values as measured by another program, two digits: 4 %; the last, near round-off, to a quarter."""
    coarse, fine, tangency = MULTIPLIER[method]
    seen, seen_finer = residuals("multiplier", method, 0.02), residuals("multiplier", method, 0.01)
    assert seen[0] == pytest.approx(coarse, rel=0.04)
    assert seen_finer[0] == pytest.approx(fine, rel=0.04 if fine > 1e-12 else 0.25)
    assert seen[1] == pytest.approx(tangency, rel=0.04)


@pytest.mark.parametrize("method", rows(MULTIPLIER))
def test_the_quaternion_form_keeps_the_constraints_of_every_method_that_keeps_quadratic_forms(method):
    """q.g always (bilinear), |q|^2 by the methods that keep quadratic forms: 1e-14 for 50 steps of round-off."""
    unit, tangency = residuals("quaternion", method, 0.02)
    assert tangency < 1e-14
    if method in QUATERNION:
        assert unit == pytest.approx(QUATERNION[method], rel=0.04)
    else:
        assert unit < 1e-14


# Largest element of D^T Omega D - Omega along the constraints, D the derivative of one step of 0.04; below NOISE: symplectic.
NOISE = 1e-8
SYMPLECTIC_DEFECT = {
    ct.EulerA(): 7.4e-3,
    ct.EulerB(): 0.0,
    ct.StormerVerlet(): 1.3e-7,
    ct.ImplicitMidpoint(): 2.8e-2,
    ct.SunGeng(): 1.6e-4,
    ct.Gauss(2): 4.3e-4,
    ct.Gauss(3): 5.7e-6,
    ct.Gauss(4): 1.9e-7,
}
PROJECTED_DEFECT = {ct.EulerA(): 1.7e-3, ct.EulerB(): 8e-4}
BODY = np.r_[3:6, 10:14, 17:20, 24:28]  # r, q, p, g of the second of two bodies


def one_step(problem: ct.Problem, method, *, project: bool):
    """(r, q, p, g) of the second body -> the same after a step of 0.04."""
    program = build(problem.system, method, compiled=False)
    z = program.view.pack(problem.start)
    split = len(z) == 26

    def stepped(x: np.ndarray) -> np.ndarray:
        start = z.copy()
        if split:
            y = 0.5 * rotations.multiply(rotations.conjugate(x[3:7]), x[10:])[1:]
            start[BODY[:10]], start[23:26] = x[:10], y
        else:
            start[BODY] = x
        driver = Driver(program, start, t0=0.0, dt=0.04, every=1)
        assert driver._call(1, np.zeros((1, program.width)))[0] == 0
        full = driver.z + driver.e
        out = (
            full[BODY]
            if not split
            else np.r_[full[BODY[:10]], 2.0 * rotations.multiply(full[10:14], np.r_[0.0, full[23:26]])]
        )
        if project:
            out[3:7] /= np.linalg.norm(out[3:7])
            out[10:] -= (out[3:7] @ out[10:]) * out[3:7]
        return out

    x = problem.system.view("canonical").pack(problem.start)[BODY]
    return stepped, x


def symplectic_defect(form: str, method, *, project: bool = False, everywhere: bool = False) -> float:
    """Along the constraints {|q| = 1, q.g = 0}, or on all of R^14; sixth-order differences of 2e-3, noise 2e-9."""
    base = ct.problems.helix_chain(2, amp=0.8)
    problem = base if form == "quaternion" else in_form(base, form)
    stepped, x = one_step(problem, method, project=project)
    normals = np.zeros((2, 14))
    normals[0, 3:7], normals[1, 3:7], normals[1, 10:] = x[3:7], x[10:], x[3:7]
    tangents = np.eye(14) if everywhere else null_space(normals)
    step = 2e-3
    weights = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}
    derivative = np.column_stack(
        [sum(w * (stepped(x + k * step * t) - stepped(x - k * step * t)) for k, w in weights.items()) / step for t in tangents.T]
    )  # fmt: skip
    omega = np.zeros((14, 14))
    omega[:7, 7:], omega[7:, :7] = np.eye(7), -np.eye(7)
    return float(np.abs(derivative.T @ omega @ derivative - tangents.T @ omega @ tangents).max())


@pytest.mark.parametrize("method", rows([*SYMPLECTIC_DEFECT, Plain(2), Plain(4)]))
def test_a_step_of_the_quaternion_form_is_symplectic(method):
    assert symplectic_defect("quaternion", method) < NOISE


@pytest.mark.parametrize("method", rows(SYMPLECTIC_DEFECT))
def test_a_step_of_the_multiplier_form_is_not(method):
    """As measured by another program: two digits. Forces at the old q make one step of EulerB the exception."""
    wanted = SYMPLECTIC_DEFECT[method]
    assert symplectic_defect("multiplier", method) == pytest.approx(wanted, rel=0.04, abs=NOISE)


@pytest.mark.parametrize("method", PROJECTED_DEFECT, ids=str)
def test_projecting_spoils_a_symplectic_step(method):
    assert symplectic_defect("quaternion", method, project=True) == pytest.approx(PROJECTED_DEFECT[method], rel=0.07)


def test_off_the_constraints_only_the_quaternion_form_is_hamiltonian():
    assert symplectic_defect("quaternion", ct.EulerA(), everywhere=True) < NOISE
    assert symplectic_defect("multiplier", ct.EulerA(), everywhere=True) > 1.0


def right_hand_side(problem: ct.Problem) -> np.ndarray:
    program = build(problem.system, ct.RK4(), compiled=False)
    z = program.view.pack(problem.start)
    out = np.zeros_like(z)
    name = next(part for part in vars(program.module) if part.endswith(("canonical_field", "multiplier_field")))
    getattr(program.module, name)(z, program.new_par(), out)
    return out


@pytest.mark.parametrize("J0", [1.0, 0.3])
@pytest.mark.parametrize("row", REFERENCE["static"], ids=lambda row: row["potential"]["kind"])
def test_on_the_constraints_both_quaternion_forms_have_the_same_right_hand_side(row, J0):
    """For every potential and every fourth moment; 1e-13 of the largest component, as the forces themselves."""
    chain, state = disturbed_helix(row["potential"])
    j = np.arange(4)
    spin = np.column_stack([np.cos(j), np.cos(2 * j), np.sin(3 * j)]) * (j > 0)[:, None]
    moving = ct.State({**state.fields, "angular_momentum": spin})
    problem = ct.Problem("disturbed", chain, moving, 0.02)
    plain, multiplied = right_hand_side(problem), right_hand_side(in_form(problem, "multiplier", J0))
    assert np.abs(plain - multiplied).max() < 3e-13 * np.abs(plain).max()


@pytest.mark.parametrize("form", ["rotation", "multiplier"])
@pytest.mark.parametrize("row", REFERENCE["static"], ids=lambda row: row["potential"]["kind"])
def test_energy_and_force_are_the_same_in_every_form(row, form):
    chain, state = disturbed_helix(row["potential"])
    problem = in_form(ct.Problem("disturbed", chain, state, 0.02), form)
    program = build(problem.system, ct.Rattle() if form == "rotation" else ct.RK4(), compiled=False)
    z = program.view.pack(state)
    out, par = np.zeros(len(z) + 1), program.new_par()
    name = next(part for part in vars(program.module) if part.endswith(("chain_force", "multiplier_rate")))
    getattr(program.module, name)(z, par, out)
    assert np.abs(par.f[1] - row["force"]).max() < 3e-13 * np.abs(row["force"]).max()
    if form == "rotation":
        assert np.abs(par.tau[1] - row["torque"]).max() < 3e-13 * np.abs(row["torque"]).max()
    recorded = Driver(program, z, t0=0.0, dt=0.02, every=1).first_row().rows
    assert problem.system.columns(recorded)["energy"][0] == pytest.approx(row["energy"], rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", BRIEF_STATES)
def test_the_multiplier_form_reaches_the_reference_states_as_far_as_it_can(name):
    """1e-11, not 1e-12: off the constraints it is unstable, so that round-off of the start grows, whatever dt is.

    u = |q|^2 - 1 and s = q.g obey u' = s/2, s' = u q.V_q, and q.V_q is some tens here: 1e-16 becomes up to 9e-12 at t = 2.
    """
    case = REFERENCE[name]
    run = ct.simulate(in_form(problem_of(case), "multiplier"), method=ct.Gauss(6), dt=0.01, t_end=case["t"], every=10)
    assert float(run.data.energy[0]) == pytest.approx(case["energy"], abs=1e-12)
    assert worst_difference(run.final, case) < 1e-11
    if name == "R4":
        assert np.abs(run.data.unit_residual).max() > 1e-13


@pytest.mark.parametrize("name", BRIEF_STATES)
def test_the_rotation_form_reaches_the_reference_states(name):
    case = REFERENCE[name]
    run = ct.simulate(
        in_form(problem_of(case), "rotation"), method=ct.Splitting(6), dt=0.0025, t_end=case["t"], every=50
    )
    assert float(run.data.energy[0]) == pytest.approx(case["energy"], abs=1e-12)
    assert worst_difference(run.final, case) < case["tolerance"]
    assert np.abs(run.data.orthogonality_residual).max() < 1e-14


def rattle_has_order_two(name: str, dts: tuple[float, float], *, compiled: bool) -> None:
    """Within 0.15; and what is left when the leading error is removed is 20 times less."""
    case = REFERENCE[name]
    problem = in_form(problem_of(case), "rotation")
    counts = [round(case["t"] / dt) for dt in dts]
    found = [
        simulate(problem, None, ct.Rattle(), dt=dt, steps=steps, every=steps, compiled=compiled).final
        for dt, steps in zip(dts, counts, strict=True)
    ]
    errors = [worst_difference(state, case) for state in found]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
    left = {}
    for (field, coarse), fine in zip(found[0].fields.items(), found[1].fields.values(), strict=True):
        sign = np.sign((coarse * fine).sum(-1, keepdims=True)) if field == "orientation" else 1.0
        left[field] = (4.0 * sign * fine - coarse) / 3.0
    assert worst_difference(ct.State(left), case) < errors[1] / 20


def test_rattle_reaches_a_reference_state_with_its_order():
    rattle_has_order_two("R8", (0.005, 0.0025), compiled=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", BRIEF_STATES)
def test_rattle_reaches_every_reference_state_with_its_order(name):
    rattle_has_order_two(name, (0.001, 0.0005), compiled=True)


@pytest.mark.parametrize("method", [ct.Rattle(), Plain(2), Plain(4)], ids=str)
def test_the_rotation_form_is_the_same_map_as_the_quaternion_form(method):
    """Round-off of 50 steps near stiff links: 1e-13 (measured 2e-14)."""
    problem = ct.problems.helix_chain(**PULLED)
    ends = [simulate(p, None, method, dt=0.01, steps=50).final for p in (problem, in_form(problem, "rotation"))]
    for field in ("position", "momentum", "angular_momentum"):
        assert np.abs(getattr(ends[0], field) - getattr(ends[1], field)).max() < 1e-13
    assert np.abs(np.abs((ends[0].orientation * ends[1].orientation).sum(axis=1)) - 1.0).max() < 1e-13


def rattle_with_multipliers(problem: ct.Problem, dt: float) -> tuple[np.ndarray, ...]:
    """One step of RATTLE on (r, R; p, P) for the second of two bodies, its multipliers found by Newton: (r, R, p, y)."""
    from scipy.optimize import fsolve

    chain, start = problem.system, problem.start
    body = chain.bodies[1]
    d = np.diag(body.second_moments)

    def forces(r: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Force, and -dV/dR = sum w X^T."""
        left = chain.particles(start)[0]
        right = r + body.particles.positions @ matrix.T
        f, w = np.zeros(3), np.zeros((3, 3))
        for x, local in zip(right, body.particles.positions, strict=True):
            apart = x - left
            distance = np.linalg.norm(apart, axis=1)
            push = (chain.potentials[0].force(distance) / distance) @ apart
            f += push
            w += np.outer(push, local)
        return f, w

    def symmetric(numbers: np.ndarray) -> np.ndarray:
        a, b, c, x, y, w = numbers
        return np.array([[a, x, y], [x, b, w], [y, w, c]])

    upper = np.triu_indices(3)
    r0, R0 = start.position[1], rotations.to_matrix(start.orientation[1])
    omega = body.inverse_moments * start.angular_momentum[1]
    hat = np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
    f0, w0 = forces(r0, R0)
    p = start.momentum[1] + 0.5 * dt * f0
    r1 = r0 + dt * p / body.mass

    def half_kicked(numbers: np.ndarray) -> np.ndarray:
        return R0 @ hat @ d + 0.5 * dt * w0 - dt * R0 @ symmetric(numbers)

    def turned(numbers: np.ndarray) -> np.ndarray:
        return R0 + dt * half_kicked(numbers) @ np.linalg.inv(d)

    found = np.zeros(6)
    for _ in range(3):
        found = fsolve(lambda x: ((turned(x).T @ turned(x) - np.eye(3)) / dt**2)[upper], found, xtol=1e-15)
    R1, f_w = turned(found), forces(r1, turned(found))
    kicked = half_kicked(found) + 0.5 * dt * f_w[1]
    y = R1.T @ kicked - kicked.T @ R1  # the second multiplier is symmetric and does not enter
    return r1, R1, p + 0.5 * dt * f_w[0], np.array([y[2, 1], y[0, 2], y[1, 0]])


def test_rattle_equals_rattle_with_its_multipliers():
    """One step of 0.02 in the potential of a neighbour; the multipliers are found to 1e-13 of the forces."""
    problem = ct.problems.helix_chain(2, amp=0.8)
    r, matrix, p, y = rattle_with_multipliers(problem, 0.02)
    state = simulate(in_form(problem, "rotation"), None, ct.Rattle(), dt=0.02, steps=1).final
    assert np.abs(state.position[1] - r).max() < 1e-15
    assert np.abs(rotations.to_matrix(state.orientation[1]) - matrix).max() < 2e-14
    assert np.abs(state.momentum[1] - p).max() < 2e-13
    assert np.abs(state.angular_momentum[1] - y).max() < 2e-13
    other = simulate(problem, None, ct.Splitting(2, ct.ThreeRotations()), dt=0.02, steps=1).final  # the twin
    assert np.abs(rotations.to_matrix(other.orientation[1]) - matrix).max() > 1e-9


def test_flat_bodies_have_a_rotation_form_and_lines_do_not():
    square = ct.Body.from_particles([[0.5, 0, 0], [-0.5, 0, 0], [0, 0.5, 0], [0, -0.5, 0]])
    rod = ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
    potential = ct.LennardJones(1.0, 1.0)
    flat = ct.Chain([square] * 3, potential)
    start = flat.start(
        [[0, 0, 0], [0.1, 0, 1.1], [0, 0.2, 2.2]], angular_velocity=[[0, 0, 0], [1.0, 0.5, -0.3], [0.2, -0.7, 0.4]]
    )
    problem = ct.Problem("flat", flat, start, 0.01)
    ends = [simulate(p, None, ct.Rattle(), dt=0.01, steps=20).final for p in (problem, in_form(problem, "rotation"))]
    assert np.abs(ends[0].angular_momentum - ends[1].angular_momentum).max() < 1e-14
    with pytest.raises(ct.CapabilityError, match="body 1 is linear"):
        ct.Chain([square, rod], potential, form="rotation")


def test_the_multiplier_form_promises_nothing_and_loses_the_angular_momentum():
    """Euler in both forms: bilinear, so kept to round-off, against an error of order 1."""
    problem = ct.problems.helix_chain(3, left="free", right="free", amp=0.5)
    lost = {}
    for form in ("quaternion", "multiplier"):
        run = simulate(in_form(problem, form), None, ct.EulerB(), dt=0.02, steps=50)
        lost[form] = float(np.abs(run.data.total_angular_momentum - run.data.total_angular_momentum[0]).max())
    assert lost["quaternion"] < 1e-13
    assert lost["multiplier"] > 1e-2
    assert all(ct.Gauss(4).traits.promise(i.tags) == "none" for i in in_form(problem, "multiplier").system.invariants)


def test_a_form_is_described_and_refused_where_it_cannot_be():
    for form in ("rotation", "multiplier"):
        chain = in_form(ct.problems.helix_chain(3), form, J0=2.0 if form == "multiplier" else 1.0).system
        assert system_from(chain.describe()).describe() == chain.describe()
        assert (chain.describe()["form"], chain.describe().get("J0", 1.0)) == (form, chain.J0)
    bodies = [ct.Body.tetrahedron()] * 2
    with pytest.raises(ct.InputError, match="quaternion, rotation, multiplier"):
        ct.Chain(bodies, ct.LennardJones(1, 1), form="euler")
    with pytest.raises(ct.InputError, match="J0"):
        ct.Chain(bodies, ct.LennardJones(1, 1), form="multiplier", J0=0.0)
    with pytest.raises(ct.CapabilityError, match="link potentials"):
        ct.Chain(bodies, ct.BendTwist(1.0, 1.0, 1.0, (0, 0, 1)), form="multiplier")
    with pytest.raises(ct.CapabilityError, match=r"use one of .*Rattle"):
        build(in_form(ct.problems.helix_chain(3), "rotation").system, ct.Gauss(2), compiled=False)
    with pytest.raises(ct.CapabilityError, match=r"use one of .*EulerA"):
        build(in_form(ct.problems.helix_chain(3), "multiplier").system, ct.Splitting(2), compiled=False)
