"""Tops."""

from __future__ import annotations

import math

from ..errors import InputError
from ..plan import Problem
from ..systems.hamiltonian import Hamiltonian


def symmetric_top(coordinates: str = "euler") -> Problem:
    """Heavy symmetric top: a solid cone spinning about its axis with the apex fixed, in Euler angles ZYZ.

    psi precession, theta nutation, phi spin; H = p_theta^2/(2 I) + (p_psi - p_phi cos theta)^2/(2 I sin^2 theta)
    + p_phi^2/(2 I3) + m g l cos theta. Cone of mass 1.5 whose centre lies at l = 1.33, so of height 4 l/3, with a base
    radius of half the height; g = 9.81. Singular at theta = 0.
    """
    if coordinates != "euler":
        raise InputError(
            f"coordinates = {coordinates!r}", where="symmetric_top.coordinates", do='choose "euler"'
        )
    mass, length, gravity = 1.5, 1.33, 9.81
    height = 4 * length / 3
    radius = height / 2
    inertia3 = 0.3 * mass * radius**2
    inertia = 0.6 * mass * height**2 + 0.15 * mass * radius**2
    system = Hamiltonian(
        "p_theta**2/(2*I) + (p_psi - p_phi*cos(theta))**2/(2*I*sin(theta)**2) + p_phi**2/(2*I3) + mgl*cos(theta)",
        ["psi", "theta", "phi"], ["p_psi", "p_theta", "p_phi"],
        {"I": inertia, "I3": inertia3, "mgl": mass * gravity * length},
        invariants={"vertical_momentum": "p_psi", "axial_momentum": "p_phi"},
    )  # fmt: skip
    psi, theta, phi = math.radians(1), math.radians(45), math.radians(1)
    psi_rate, theta_rate, phi_rate = 1.0, 1.0, 100.0
    spin = phi_rate + psi_rate * math.cos(theta)
    p_psi = inertia * psi_rate * math.sin(theta) ** 2 + inertia3 * spin * math.cos(theta)
    start = system.start(q=[psi, theta, phi], p=[p_psi, inertia * theta_rate, inertia3 * spin])
    return Problem("symmetric_top", system, start, 0.005, None, "heavy symmetric top in Euler angles")
