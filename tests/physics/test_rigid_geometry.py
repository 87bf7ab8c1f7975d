"""Two facts of the theory of the rigid body, each checked once: momenta on T*SO(3), and the energy that a splitting keeps."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

import bodies
import catena as ct
import harness
from bodies import GENERAL, free_problem, problem_of
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.methods.rotors.rotations import _symmetric_axes
from catena.running.plan import Problem

# Momenta on T*SO(3) --------------------------------------------------------------------------------------------------------
#
# With P = R' D the constraint is R^T P D^-1 + D^-1 P^T R = 0, which is no cotangent bundle. Subtracting R L with the symmetric
# part L of R^T P leaves a momentum with R^T P skew, that is one on T*SO(3), and the same canonical form tr(P^T dR).

SECOND_MOMENTS = (0.8, 0.5, 0.1)
MOMENTS = (0.6, 0.9, 1.3)
MOMENTUM = (0.7, -0.5, 0.9)
TURN = (0.4, -0.9, 0.7)


def as_given(r, y):
    """P = R hat(omega) D."""
    return r * bodies.hat([a / i for a, i in zip(y, map(mp.mpf, MOMENTS), strict=True)]) * mp.diag(SECOND_MOMENTS)


def on_the_bundle(r, y):
    """P - R L, L the symmetric part of R^T P."""
    p = as_given(r, y)
    m = r.T * p
    return p - r * (m + m.T) / 2


def not_halved(r, y):
    """A wrong change: twice the skew part."""
    return 2 * on_the_bundle(r, y)


def two_form_of(momentum, r, y):
    """sum dR_ij ^ dP_ij on the six directions (xi, dy) of R exp(hat xi), y + dy, by differences of 1e-15 in 50 digits."""
    gap = mp.mpf(10) ** -15

    def moved(k, sign):
        step = [sign * gap * (i == k) for i in range(6)]
        turned = r * mpmath.expm(bodies.hat(step[:3]))
        return turned, momentum(turned, [a + b for a, b in zip(y, step[3:], strict=True)])

    slopes = []
    for k in range(6):
        (ahead_r, ahead_p), (behind_r, behind_p) = moved(k, 1), moved(k, -1)
        slopes.append(((ahead_r - behind_r) / (2 * gap), (ahead_p - behind_p) / (2 * gap)))
    form = mp.matrix(6, 6)
    for i in range(6):
        for j in range(6):
            (ri, pi), (rj, pj) = slopes[i], slopes[j]
            form[i, j] = mp.fdot(ri, pj) - mp.fdot(rj, pi)
    return form


def test_a_change_of_momenta_puts_the_matrix_form_on_the_cotangent_bundle():
    """R^T P = hat(y)/2 is skew, the Hamiltonian is T(y), and the canonical two-form is the one that steps are tested with."""
    with mpmath.workdps(harness.DIGITS):
        y = [mp.mpf(value) for value in MOMENTUM]
        r = mpmath.expm(bodies.hat([mp.mpf(value) for value in TURN]))
        p, changed = as_given(r, y), on_the_bundle(r, y)
        m = r.T * changed
        assert mpmath.mnorm(m + m.T) < 1e-45 and mpmath.mnorm(r.T * p + p.T * r) > 0.1
        assert mpmath.mnorm(m - bodies.hat(y) / 2) < 1e-15  # D and J, rounded apart, differ by that
        inverse = mp.diag([1 / mp.mpf(d) for d in SECOND_MOMENTS])
        kinetic = mp.fdot(p * inverse, p)  # tr(P D^-1 P^T)
        assert abs(kinetic - sum(a * a / mp.mpf(i) for a, i in zip(y, MOMENTS, strict=True))) < 1e-14

        right = bodies.two_form(y)
        for momentum in (as_given, on_the_bundle):
            assert mpmath.mnorm(two_form_of(momentum, r, y) - right) < 1e-14
        assert mpmath.mnorm(two_form_of(not_halved, r, y) - right) > 0.1


# The energy that a splitting keeps ------------------------------------------------------------------------------------------
#
# Half a step of A, one of B, half of A: H + dt^2 H2 is kept up to dt^4, H2 = {B, {B, A}}/12 - {A, {A, B}}/24 [hairer2006, III.4.2].

STEPS = (40, 80)
T_END = 4.0


def hat(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def rot(m):
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])


def term_of_the_top(state: ct.State, first: float = 1 / 12, second: float = -1 / 24) -> float:
    """A = U, B = T: {T, {T, U}} is the second derivative of U in the free motion, {U, {U, T}} = tau.J^-1 tau."""
    inverse = 1.0 / np.array(GENERAL["moments"])
    linear, quadratic = np.array(GENERAL["linear"]), np.array(GENERAL["quadratic"])
    r, y = rotations.to_matrix(state.orientation), state.angular_momentum
    omega = inverse * y
    slope, turned = linear + quadratic * r, r @ hat(omega)
    torque = -rot(r.T @ slope)
    rate = -rot(turned.T @ slope + r.T @ (quadratic * turned))
    free = -rate @ omega - torque @ (inverse * np.cross(y, omega))
    return first * free + second * torque @ (inverse * torque)


def term_of_the_axes(state: ct.State, first: float = 1 / 12, second: float = -1 / 24) -> float:
    """The parts of SymmetricRotation; {f, g} = y.(f_y x g_y) up to a sign, which two brackets do not see."""
    return float(_axes_term(first, second)(*state.angular_momentum))


@cache
def _axes_term(first: float, second: float):
    y = sympy.Matrix(sympy.symbols("y1:4", real=True))
    i, _, k, alpha, beta, gamma = _symmetric_axes(np.array(MOMENTS))
    a = alpha * y[int(i)] ** 2 / 2
    b = beta * y.dot(y) / 2 + gamma * y[int(k)] ** 2 / 2

    def bracket(f, g):
        return y.dot(sympy.Matrix([f]).jacobian(y).T.cross(sympy.Matrix([g]).jacobian(y).T))

    return sympy.lambdify(list(y), first * bracket(b, bracket(b, a)) + second * bracket(a, bracket(a, b)))


CASES = {
    "top": (ct.Splitting(2, ct.Jacobi()), problem_of(GENERAL), term_of_the_top),
    "free body": (ct.SymmetricRotation(), free_problem(MOMENTS, MOMENTUM), term_of_the_axes),
}


def changes(method, of: Problem, term, steps: int, **wrong: float) -> tuple[float, float]:
    """Largest change of H, and of H + dt^2 H2."""
    program = build(of.system, method, compiled=False)
    dt = T_END / steps
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=dt, every=1)
    energy, kept = [], []
    for rows in (run.first_row().rows, run.advance(steps).rows):
        columns = of.system.columns(rows)
        for k in range(len(rows)):
            state = ct.State({name: columns[name][k] for name in ("orientation", "angular_momentum")})
            energy.append(columns["energy"][k])
            kept.append(energy[-1] + dt * dt * term(state, **wrong))
    return float(np.ptp(energy)), float(np.ptp(kept))


def order(values: list[float]) -> float:
    return float(np.log2(values[0] / values[1]))


@pytest.mark.parametrize(("method", "of", "term"), CASES.values(), ids=CASES)
def test_a_splitting_keeps_a_modified_energy(method, of, term):
    """To fourth order with the right term, to second with none or one whose factors are wrong by a tenth."""
    plain, modified = zip(*(changes(method, of, term, n) for n in STEPS), strict=True)
    assert abs(order(plain) - 2) < 0.1 and abs(order(modified) - 4) < 0.1, (plain, modified)
    for wrong in ({"first": 1.1 / 12}, {"second": -1.1 / 24}, {"second": 1 / 24}):
        assert abs(order([changes(method, of, term, n, **wrong)[1] for n in STEPS]) - 4) > 1.0, wrong
