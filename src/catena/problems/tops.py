"""Tops: bodies with a fixed point under gravity."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Literal, overload

import numpy as np

from ..errors import InputError
from ..geometry import rotations
from ..running.plan import Problem
from ..systems.base import State
from ..systems.body import Body
from ..systems.hamiltonian import Hamiltonian
from ..systems.numbers import finite_number
from ..systems.top.attitude import Gravity
from ..systems.top.top import Top

POINTS = 200  # of the midpoint rule


def kovalevskaya() -> Problem[Top]:
    """Kovalevskaya's top: I1 = I2 = 2 I3, centre of mass in the plane of the equal moments; a fourth integral exists."""
    top = Top(Body(moments=(2.0, 2.0, 1.0)), Gravity(1.0, (1.0, 0.0, 0.0)))
    start = top.start(_unit(2, 1, 0, 1), angular_momentum=(0.5, 1.0, 0.75))
    about = (
        "Kovalevskaya's top. Its centre of mass lies beside the axis of symmetry, so it swings and spins at once and "
        "looks irregular. It is not: besides energy and the vertical angular momentum there is a third quantity that "
        "stays, found by Kovalevskaya for moments in the ratio 2 : 2 : 1 only, and with it the motion winds round a "
        "torus. The audit shows how well a method knows of it."
    )
    return Problem("kovalevskaya", top, start, 0.02, None, about)


def lagrange_top() -> Problem:
    """Lagrange's top: symmetric, centre of mass on the axis, with an exact solution. `facts` has its nutation limits and period.

    With A = I1, u = cos(theta): udot^2 = f(u) = (2/A)(E' - g u)(1 - u^2) - ((p_z - y3 u)/A)^2, a cubic with roots
    u1 <= u <= u2 < u3; the nutation has the period 2 K(k)/lambda, lambda^2 = g (u3 - u1)/(2 A), k^2 = (u2 - u1)/(u3 - u1).
    """
    inertia, strength = 1.0, 1.5
    top = Top(Body(moments=(inertia, inertia, 0.5)), Gravity(strength, (0.0, 0.0, 1.0)))
    start = top.start(_unit(4, 1, 0, 0), angular_momentum=(0.25, 0.5, 3.0))
    facts = nutation(inertia, strength, start.orientation, start.angular_momentum)
    about = (
        "Lagrange's top. The axis nods between 13 and 32 degrees from the vertical while it walks round it, and draws "
        "loops: gravity tilts the axis, the spin turns the tilt aside into precession, and the two angular momenta that "
        "are conserved, about the vertical and about the axis, leave only this band. Near its upper edge the axis runs "
        "backwards for a moment."
    )
    return Problem("lagrange_top", top, start, 0.02, partial(_exact, top, start), about, facts)


def nutation(inertia: float, strength: float, orientation: np.ndarray, momentum: np.ndarray) -> dict[str, float]:
    """Limits of cos(theta), period of the nutation and azimuth that the axis gains in it, of Lagrange's top.

    The coefficients are exact fractions: near a sleeping top the roots would otherwise lose their digits.
    """
    from scipy.special import ellipk

    q0, q1, q2, q3 = (Fraction(float(x)) for x in orientation)
    y1, y2, y3 = (Fraction(float(x)) for x in momentum)
    a, g, norm = Fraction(inertia), Fraction(strength), q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3
    cosine = (q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3) / norm
    vertical = 2 * ((q1 * q3 - q0 * q2) * y1 + (q2 * q3 + q0 * q1) * y2) / norm + cosine * y3
    energy = (y1 * y1 + y2 * y2) / (2 * a) + g * cosine
    # A^2 f(u)
    cubic = [2 * a * g, -(2 * a * energy + y3 * y3), 2 * vertical * y3 - 2 * a * g, 2 * a * energy - vertical**2]
    u1, u2, u3 = (_polish(cubic, float(root)) for root in sorted(np.roots([float(c) for c in cubic]).real))
    spin, p_z = float(y3), float(vertical)
    rate = math.sqrt(strength * (u3 - u1) / (2 * inertia))
    # u = u1 + (u2 - u1) sin^2(x): the integrand is periodic and smooth, so the midpoint rule converges at once
    square = np.sin((np.arange(POINTS) + 0.5) * math.pi / (2 * POINTS)) ** 2
    u = u1 + (u2 - u1) * square
    precession = (p_z - spin * u) / (inertia * (1 - u * u))
    azimuth = float(np.mean(precession / np.sqrt(1 - (u2 - u1) / (u3 - u1) * square))) * math.pi / rate
    return {
        "lowest_cosine": u1, "highest_cosine": u2, "period": 2 * float(ellipk((u2 - u1) / (u3 - u1))) / rate,
        "azimuth_per_period": azimuth,
    }  # fmt: skip


def _polish(cubic: list[Fraction], root: float) -> float:
    """A root by Newton steps with exact residuals."""
    c3, c2, c1, c0 = cubic
    for _ in range(3):
        x = Fraction(root)
        root -= float((((c3 * x + c2) * x + c1) * x + c0) / ((3 * c3 * x + 2 * c2) * x + c1))
    return root


def sleeping_top(y3: float = 2.5, tilt: float = 1e-6) -> Problem[Top]:
    """A symmetric top spinning upright, tilted a little; stable if y3^2 > 4 A g = 6 (`facts["stable_above"]`)."""
    inertia, strength = 1.0, 1.5
    tilt = finite_number(tilt, "sleeping_top.tilt")
    top = Top(Body(moments=(inertia, inertia, 0.5)), Gravity(strength, (0.0, 0.0, 1.0)))
    start = top.start(_unit(math.cos(tilt / 2), math.sin(tilt / 2), 0, 0), angular_momentum=(0.0, 0.0, y3))
    facts = {"stable_above": math.sqrt(4 * inertia * strength)}
    about = (
        "Sleeping top. It spins upright, tilted by next to nothing, and stays so if the spin is fast: for y3^2 > 4 A g "
        "the axis only trembles. With less spin the upright position is unstable, and the axis falls far to the side, "
        "rises again all the way, and so on, since no friction is there to keep it down."
    )
    return Problem("sleeping_top", top, start, 0.02, partial(_exact, top, start), about, facts)


@overload
def symmetric_top(coordinates: Literal["euler"] = "euler") -> Problem[Hamiltonian]: ...
@overload
def symmetric_top(coordinates: Literal["quaternion", "rotation"]) -> Problem[Top]: ...
@overload
def symmetric_top(coordinates: str) -> Problem: ...
def symmetric_top(coordinates: str = "euler") -> Problem:
    """Heavy symmetric top: a solid cone spinning about its axis with the apex fixed.

    Mass 1.5, centre at l = 1.33 from the apex, so of height 4 l/3, with a base radius of half the height; g = 9.81. Euler
    angles ZYZ: psi precession, theta nutation, phi spin, all at 1 degree but theta at 45; rates 1, 1 and 100.

    Parameters
    ----------
    coordinates : "euler" gives a Hamiltonian in the angles, H = p_theta^2/(2 I) + (p_psi - p_phi cos theta)^2/(2 I sin^2 theta)
        + p_phi^2/(2 I3) + m g l cos theta, singular at theta = 0; "quaternion" and "rotation" give a Top, started from the
        quaternion or from the rotation matrix of the angles
    """
    mass, length, gravity = 1.5, 1.33, 9.81
    about = (
        "Heavy symmetric top: a cone that spins fast on its apex. Instead of falling it goes round the vertical, slowly, "
        "and nods on the way many times in each turn: the torque of gravity turns the large angular momentum of the spin "
        "sideways, and what the start has beyond a steady precession becomes the nodding. Euler angles fail where the "
        "axis is vertical; quaternions do not."
    )
    height = 4 * length / 3
    radius = height / 2
    inertia3 = 0.3 * mass * radius**2
    inertia = 0.6 * mass * height**2 + 0.15 * mass * radius**2
    psi, theta, phi = math.radians(1), math.radians(45), math.radians(1)
    psi_rate, theta_rate, phi_rate = 1.0, 1.0, 100.0
    spin = phi_rate + psi_rate * math.cos(theta)
    if coordinates == "euler":
        system = Hamiltonian(
            "p_theta**2/(2*I) + (p_psi - p_phi*cos(theta))**2/(2*I*sin(theta)**2) + p_phi**2/(2*I3) + mgl*cos(theta)",
            ["psi", "theta", "phi"], ["p_psi", "p_theta", "p_phi"],
            {"I": inertia, "I3": inertia3, "mgl": mass * gravity * length},
            invariants={"vertical_momentum": "p_psi", "axial_momentum": "p_phi"},
        )  # fmt: skip
        p_psi = inertia * psi_rate * math.sin(theta) ** 2 + inertia3 * spin * math.cos(theta)
        start = system.start(q=[psi, theta, phi], p=[p_psi, inertia * theta_rate, inertia3 * spin])
        return Problem("symmetric_top", system, start, 0.005, None, about)
    if coordinates not in ("quaternion", "rotation"):
        raise InputError(
            f"coordinates = {coordinates!r}", where="symmetric_top.coordinates",
            do='choose "euler", "quaternion" or "rotation"',
        )  # fmt: skip
    top = Top(Body(mass, (inertia, inertia, inertia3)), Gravity(mass * gravity * length, (0.0, 0.0, 1.0)))
    orientation = rotations.from_euler([psi, theta, phi])
    if coordinates == "rotation":
        orientation = rotations.from_matrix(rotations.to_matrix(orientation))
    omega = (
        theta_rate * math.sin(phi) - psi_rate * math.sin(theta) * math.cos(phi),
        theta_rate * math.cos(phi) + psi_rate * math.sin(theta) * math.sin(phi),
        spin,
    )
    start = top.start(orientation, angular_velocity=omega)
    return Problem("symmetric_top", top, start, 0.005, partial(_exact, top, start), about)


def _exact(top: Top, start: State, t: float) -> State:
    return top.exact(t, start)


def _unit(*q: float) -> np.ndarray:
    return rotations.normalise(np.array(q, dtype=float))
