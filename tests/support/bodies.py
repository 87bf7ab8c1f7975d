"""Rigid bodies for the tests: reference motions, an independent solution of any accuracy, and derivatives of a step.

`taylor` shares no code with catena: power series of (y, q) in mpmath. `Tangent` differentiates a step in 50 digits on
the text of the loop itself, so that a defect of symplecticity of 1e-20 is visible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from unittest import mock

import mpmath
import numpy as np
from mpmath import mp

import catena as ct
import harness
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.methods.base import Method
from catena.methods.rotors import moser_veselov
from catena.running.plan import Problem
from harness import largest
from places import read_reference

RIGID = read_reference("rigid.toml")
TOPS = read_reference("tops.toml")

Case = dict[str, Any]
FREE: dict[str, Case] = {case["name"]: case for case in RIGID["free"]}
HEAVY: dict[str, Case] = {case["name"]: case for case in RIGID["top"]}
GENERAL: Case = RIGID["general"][0]
EPS = float(np.finfo(float).eps)


# Problems ----------------------------------------------------------------------------------------------------------


def unit(*q: float) -> np.ndarray:
    return rotations.normalise(np.array(q, dtype=float))


def free_problem(moments: Sequence[float], y: Sequence[float], q: Sequence[float] = (1, 0, 0, 0)) -> Problem:
    """A free body in its principal axes."""
    system = ct.FreeBody(ct.Body(moments=tuple(moments)))
    return Problem("free", system, system.start(unit(*q), angular_momentum=y), 0.1)


def top_problem(moments: Sequence[float], potential: Any, y: Sequence[float], q: Sequence[float]) -> Problem:
    """A top in its principal axes."""
    system = ct.Top(ct.Body(moments=tuple(moments)), potential)
    return Problem("top", system, system.start(unit(*q), angular_momentum=y), 0.1)


def problem_of(case: Case) -> Problem:
    """The problem of a reference case."""
    if "gravity" in case:
        return top_problem(case["moments"], ct.Gravity(1.0, case["gravity"]), case["y0"], case["q0"])
    if "linear" in case:
        return top_problem(case["moments"], general_text(case["linear"], case["quadratic"]), case["y0"], case["q0"])
    return free_problem(case["moments"], case["y0"], case["q0"])


def general_text(linear: Any, quadratic: Any) -> str:
    """U = sum G_ij R_ij + 1/2 sum W_ij R_ij^2."""
    terms = [f"{g!r}*R{i + 1}{j + 1}" for (i, j), g in np.ndenumerate(np.array(linear)) if g != 0.0]
    terms += [f"{w / 2!r}*R{i + 1}{j + 1}**2" for (i, j), w in np.ndenumerate(np.array(quadratic)) if w != 0.0]
    return " + ".join(f"({term.replace('np.float64', '')})" for term in terms)


def turned_problem(case: Case, turn: np.ndarray) -> Problem:
    """The same body described in rotated axes: X' = F X for the rotation F of the quaternion `turn`."""
    f = rotations.to_matrix(turn)
    tensor = f @ np.diag(case["moments"]) @ f.T
    body = ct.Body.from_inertia(1.0, 0.5 * (tensor + tensor.T))
    if "gravity" in case:
        system: Any = ct.Top(body, ct.Gravity(1.0, f @ case["gravity"]))
    elif "linear" in case:
        text = general_text(case["linear"], case["quadratic"])
        for i in (1, 2, 3):
            for j in (1, 2, 3):  # R = R' F
                product = " + ".join(f"S{i}{k}*({float(f[k - 1, j - 1])!r})" for k in (1, 2, 3))
                text = text.replace(f"R{i}{j}", f"({product})")
        system = ct.Top(body, text.replace("S", "R"))
    else:
        system = ct.FreeBody(body)
    q = rotations.multiply(unit(*case["q0"]), rotations.conjugate(turn))
    return Problem("turned", system, system.start(q, angular_momentum=f @ case["y0"]), 0.1)


def turned_back(state: ct.State, turn: np.ndarray) -> ct.State:
    """A state of `turned_problem` in the axes of the case."""
    y = rotations.to_matrix(turn).T @ state.angular_momentum
    return ct.State({"orientation": rotations.multiply(state.orientation, turn), "angular_momentum": y}, state.time)


# Running -----------------------------------------------------------------------------------------------------------


def run_to(method: Method, of: Problem, t: float, steps: int, *, compiled: bool = False) -> ct.State:
    """The state at time t; z + e, so that nothing is lost."""
    program = build(of.system, method, compiled=compiled)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=t / steps, every=steps)
    assert run.advance(steps).status == 0, f"{method} failed at step {run.step + 1}"
    return program.view.unpack(run.z + run.e, t)


def distance(state: ct.State, y: Any, q: Any) -> float:
    """Largest difference of y and q from a reference; q up to its sign."""
    y, q = np.array(y, dtype=float), np.array(q, dtype=float)
    sign = math.copysign(1.0, float(state.orientation @ q))
    return float(max(np.abs(state.angular_momentum - y).max(), np.abs(sign * state.orientation - q).max()))


def error(method: Method, case: Case, steps: int, **how: Any) -> float:
    """Distance of a run from the reference case."""
    return distance(run_to(method, problem_of(case), case["t"], steps, **how), case["y"], case["q"])


def slope(counts: Sequence[int], errors: Sequence[float]) -> float:
    """Measured order: least squares on the logarithms."""
    assert all(e > 0 for e in errors), errors
    return -float(np.polyfit(np.log(counts), np.log(np.array(errors, dtype=float)), 1)[0])


# An independent solution ---------------------------------------------------------------------------------------------


def taylor(case: Case, t: float, *, digits: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """y and q of a free body or a top with U = sum G_ij R_ij + 1/2 sum W_ij R_ij^2, by power series in t."""
    y, q = precise_taylor(case, t, digits=digits)
    return np.array(y, dtype=float), np.array(q, dtype=float)


def precise_taylor(case: Case, t: float, *, digits: int) -> tuple[list[Any], list[Any]]:
    """The same as numbers of mpmath."""
    names = ("moments", "y0", "q0", "gravity", "linear", "quadratic")
    return _taylor(tuple(tuple(np.ravel(case.get(name, 0.0)).tolist()) for name in names), float(t), digits)


@cache
def _taylor(key: Any, t: float, digits: int) -> tuple[list[Any], list[Any]]:
    moments, y0, q0, gravity, linear, quadratic = key
    with mpmath.workdps(digits):
        g, w = np.zeros((3, 3)), np.zeros((3, 3))
        if len(gravity) == 3:
            g[2] = gravity
        if len(linear) == 9:
            g, w = np.reshape(linear, (3, 3)), np.reshape(quadratic, (3, 3))
        inertia = [mp.mpf(x) for x in moments]
        y, q = [mp.mpf(x) for x in y0], [mp.mpf(x) for x in q0]
        length = mp.sqrt(sum(x * x for x in q))
        q = [x / length for x in q]
        rate = max(1.0, float(np.linalg.norm(np.array(y0) / moments)) + float(np.abs(g).max() + np.abs(w).max()))
        steps = math.ceil(2 * abs(t) * rate)
        h = mp.mpf(t) / steps
        for _ in range(steps):
            ys, qs = _series(y, q, inertia, g, w, digits + 4)
            y, q = ([mp.polyval(s[::-1], h) for s in part] for part in (ys, qs))
        return y, q


def _series(y: Any, q: Any, inertia: Any, g: np.ndarray, w: np.ndarray, order: int) -> tuple[Any, Any]:
    """Coefficients of ydot = y x J^-1 y + tau, qdot = q * (0, J^-1 y)/2, tau = -rot(R^T U_R), from n to n + 1."""
    ys, qs = [[x] for x in y], [[x] for x in q]
    omega = [[x / i] for x, i in zip(y, inertia, strict=True)]
    forced = bool(g.any() or w.any())
    r: Any = [[[] for _ in range(3)] for _ in range(3)]

    def conv(a: Any, b: Any, n: int) -> Any:
        return mp.fdot(a[: n + 1], b[n::-1])

    for n in range(order):
        if forced:
            qq = [[conv(qs[a], qs[b], n) for b in range(4)] for a in range(4)]
            scalar, vector = qq[0][0], sum(qq[k][k] for k in (1, 2, 3))
            for i in range(3):
                for j in range(3):
                    k, sign = 3 - i - j, 1 if (j - i) % 3 == 1 else -1
                    value = 2 * qq[i + 1][j + 1]
                    value += scalar - vector if i == j else -sign * 2 * qq[0][k + 1]
                    r[i][j].append(value)
            slope_r = [[[w[i, j] * x for x in r[i][j]] for j in range(3)] for i in range(3)]
            for i in range(3):
                for j in range(3):
                    slope_r[i][j][0] += g[i, j]
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            rate = conv(ys[i], omega[j], n) - conv(ys[j], omega[i], n)
            if forced:  # -rot(M)_k = M_ij - M_ji, M = R^T U_R
                rate += sum(conv(r[a][i], slope_r[a][j], n) - conv(r[a][j], slope_r[a][i], n) for a in range(3))
            ys[k].append(rate / (n + 1))
        v = [conv(qs[a], omega[b], n) for a, b in ((1, 0), (2, 1), (3, 2))]
        qdot = [-sum(v)]
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            qdot.append(conv(qs[0], omega[k], n) + conv(qs[i + 1], omega[j], n) - conv(qs[j + 1], omega[i], n))
        for a in range(4):
            qs[a].append(qdot[a] / (2 * (n + 1)))
        for k in range(3):
            omega[k].append(ys[k][-1] / inertia[k])
    return ys, qs


# Derivatives of a step, in 50 digits -----------------------------------------------------------------------------------


def product(p: Any, q: Any) -> np.ndarray:
    """Hamilton product of quaternions with components of any type."""
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
            p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
        ],
        dtype=object,
    )


def hat(w: Any) -> Any:
    return mp.matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def two_form(y: Any) -> Any:
    """Omega(y) = [[-hat(y), 1], [-1, 0]] on (xi, dy), for the variation R hat(xi)."""
    omega = mp.matrix(6, 6)
    omega[:3, :3] = -hat(y)
    for k in range(3):
        omega[k, 3 + k], omega[3 + k, k] = 1, -1
    return omega


class Tangent:
    """A method on z = (q, y) in 50 digits, its start and one step from it."""

    def __init__(self, method: Method, of: Problem, dt: Any) -> None:
        # 50 digits need two more Newton steps than 16
        with mock.patch.object(moser_veselov, "EXTRA", 3):
            self.program = harness.Precise(method, of)
        par = self.program.par
        # 1/I in full precision, so that the measured energy belongs to the moments that turn the body
        self.program.par = par._replace(inverse=np.array([1 / x for x in par.inertia[0]], dtype=object))
        z = harness.numbers(self.program.view.pack(of.start))
        self.start = np.concatenate([z[:4] / mp.sqrt(sum(z[:4] ** 2)), z[4:]])
        self.dt = dt
        self.end = self.program.steps(self.start, dt)

    def change(self) -> np.ndarray:
        """Change of the invariants."""
        return self.program.invariants(self.end) - self.program.invariants(self.start)

    def matrix(self) -> Any:
        """Derivative of (xi, y) after the step by (xi, y) before it; central differences of 1e-15, error 1e-30."""
        gap = mp.mpf(10) ** -15
        columns = []
        for k in range(6):
            ends = [self.program.steps(self._moved(k, sign * gap), self.dt) for sign in (1, -1)]
            back = self.end[:4] * np.array([1, -1, -1, -1])
            turns = [2 * product(back, end[:4])[1:] for end in ends]
            columns.append([*(turns[0] - turns[1]) / (2 * gap), *(ends[0] - ends[1])[4:] / (2 * gap)])
        return mp.matrix(columns).T

    def _moved(self, k: int, by: Any) -> np.ndarray:
        z = self.start.copy()
        if k < 3:
            turn = np.array([mp.cos(by / 2), mp.mpf(0), mp.mpf(0), mp.mpf(0)], dtype=object)
            turn[1 + k] = mp.sin(by / 2)
            z[:4] = product(z[:4], turn)
        else:
            z[1 + k] += by
        return z


def differenced_defects(method: Method, of: Problem, *, dt: float, gap: float = 2e-4) -> tuple[float, float]:
    """Defects of the Poisson and the symplectic structure in float64, by central differences of order 6.

    For steps that are written for 53 bits only. Floor 5e-12: round-off 1e-16/gap, and gap^6.
    """
    program = build(of.system, method, compiled=False)
    start = program.view.pack(of.start)

    def stepped(z: np.ndarray) -> np.ndarray:
        run = Driver(program, z, t0=0.0, dt=dt, every=1)
        assert run.advance(1).status == 0
        return run.z + run.e

    end, columns = stepped(start), []
    back = rotations.conjugate(end[:4])
    for k in range(6):
        slopes = []
        for m in (1, 2, 3):
            ends = []
            for sign in (1.0, -1.0):
                z, by = start.copy(), sign * m * gap
                if k < 3:
                    turn = np.array([math.cos(by / 2), 0.0, 0.0, 0.0])
                    turn[1 + k] = math.sin(by / 2)
                    z[:4] = rotations.multiply(z[:4], turn)
                else:
                    z[1 + k] += by
                ends.append(stepped(z))
            turns = [rotations.multiply(back, x[:4]) for x in ends]
            vectors = [2 * np.arcsin(x[1:] * np.sign(x[0])) for x in turns]  # any chart with this slope does
            slopes.append(np.concatenate([vectors[0] - vectors[1], ends[0][4:] - ends[1][4:]]))
        columns.append((45 * slopes[0] - 9 * slopes[1] + slopes[2]) / (60 * gap))
    m = np.array(columns).T
    omega = [np.array(two_form(z[4:]).tolist(), dtype=float) for z in (start, end)]
    hats = [np.array(hat(z[4:]).tolist(), dtype=float) for z in (start, end)]
    poisson = m[3:, 3:] @ hats[0] @ m[3:, 3:].T - hats[1]
    return float(np.abs(poisson).max()), float(np.abs(m.T @ omega[1] @ m - omega[0]).max())


def precisely(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run with 50 digits."""

    def run(*arguments: Any, **options: Any) -> Any:
        with mpmath.workdps(harness.DIGITS):
            return function(*arguments, **options)

    return run


@precisely
def symplectic_defect(method: Method, of: Problem, *, dt: float) -> float:
    """Largest element of M^T Omega(y1) M - Omega(y0)."""
    step = Tangent(method, of, dt)
    m = step.matrix()
    return float(largest(m.T * two_form(step.end[4:]) * m - two_form(step.start[4:])))


@precisely
def poisson_defect(method: Method, of: Problem, *, dt: float) -> float:
    """Largest element of M_yy hat(y0) M_yy^T - hat(y1)."""
    step = Tangent(method, of, dt)
    m = step.matrix()[3:6, 3:6]
    return float(largest(m * hat(step.start[4:]) * m.T - hat(step.end[4:])))


@precisely
def reversal_defect(method: Method, of: Problem, *, dt: float) -> float:
    """Distance from the start after a step forward and one back."""
    step = Tangent(method, of, dt)
    return float(largest(step.program.steps(step.end, -dt) - step.start))


@precisely
def invariant_defects(method: Method, of: Problem, *, dt: float) -> dict[str, float]:
    """Change of each invariant in one step."""
    change, defects, k = Tangent(method, of, dt).change(), {}, 0
    for invariant in of.system.invariants:
        defects[invariant.name] = float(largest(change[k : k + invariant.width]))
        k += invariant.width
    return defects
