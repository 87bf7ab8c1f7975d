"""The named pair potentials as kernels of s = r^2; their constants are in par.pair from place `at` on.

For each: V, A = -(dV/dr)/r, so that the force on the first particle is A (x_a - x_b), and dA/ds for second derivatives.
With V' and V'' by r, dA/ds = -(V'' + A)/(2 s).
"""

from __future__ import annotations

from ...kernels import elementary as math


def lennard_jones_energy(s, at, par):
    """4 epsilon (u^6 - u^3), u = (sigma/r)^2."""
    u = par.pair[at] / s
    u3 = u * u * u
    return par.pair[at + 2] * (u3 * u3 - u3)


def lennard_jones_force(s, at, par):
    """24 epsilon (2 u^6 - u^3)/s."""
    i = 1.0 / s
    u = par.pair[at] * i
    u3 = u * u * u
    return par.pair[at + 1] * (2.0 * u3 * u3 - u3) * i


def lennard_jones_slope(s, at, par):
    """-24 epsilon (14 u^6 - 4 u^3)/s^2."""
    i = 1.0 / s
    u = par.pair[at] * i
    u3 = u * u * u
    return par.pair[at + 1] * (4.0 * u3 - 14.0 * u3 * u3) * i * i


def lennard_jones_mean(s0, s1, at, par):
    """8 epsilon sigma^2 (u0^3 + u1^3 - 1) (u0^2 + u0 u1 + u1^2)/(s0 s1): the difference quotient with s1 - s0 divided out.

    There is no cancellation, however small the change is, and only one division.
    """
    i = par.pair[at] / (s0 * s1)
    u0 = s1 * i
    u1 = s0 * i
    squares = u0 * u0 + u0 * u1 + u1 * u1
    return 2.0 * par.pair[at + 2] * i * (u0 * u0 * u0 + u1 * u1 * u1 - 1.0) * squares


def wca_energy(s, at, par):
    """4 epsilon (u^6 - u^3 + 1/4) as a square: no cancellation towards the end of its reach."""
    if s >= par.pair[at + 3]:
        return 0.0
    u = par.pair[at] / s
    w = 2.0 * u * u * u - 1.0
    return par.pair[at + 2] * w * w


def wca_force(s, at, par):
    """24 epsilon u^3 (2 u^3 - 1)/s."""
    if s >= par.pair[at + 3]:
        return 0.0
    i = 1.0 / s
    u = par.pair[at] * i
    u3 = u * u * u
    return par.pair[at + 1] * u3 * (2.0 * u3 - 1.0) * i


def wca_slope(s, at, par):
    """Like Lennard-Jones within its reach."""
    if s >= par.pair[at + 3]:
        return 0.0
    return lennard_jones_slope(s, at, par)


def morse_energy(s, at, par):
    """D (1 - e)^2 - D = D e (e - 2), e = exp(-a (r - r0))."""
    e = math.exp(-par.pair[at + 1] * (math.sqrt(s) - par.pair[at + 2]))
    return par.pair[at] * e * (e - 2.0)


def morse_force(s, at, par):
    """-2 D a e (1 - e)/r."""
    r = math.sqrt(s)
    a = par.pair[at + 1]
    e = math.exp(-a * (r - par.pair[at + 2]))
    return 2.0 * par.pair[at] * a * e * (e - 1.0) / r


def morse_slope(s, at, par):
    """V'' = 2 D a^2 e (2 e - 1)."""
    r = math.sqrt(s)
    a = par.pair[at + 1]
    e = math.exp(-a * (r - par.pair[at + 2]))
    return par.pair[at] * a * e * (a * (1.0 - 2.0 * e) - (e - 1.0) / r) / s


def yukawa_energy(s, at, par):
    """C exp(-kappa r)/r."""
    r = math.sqrt(s)
    return par.pair[at] * math.exp(-par.pair[at + 1] * r) / r


def yukawa_force(s, at, par):
    """V (kappa + 1/r)/r = V (kappa r + 1)/s."""
    r = math.sqrt(s)
    kr = par.pair[at + 1] * r
    return par.pair[at] * math.exp(-kr) * (kr + 1.0) / (r * s)


def yukawa_slope(s, at, par):
    """V'' + A = V (kappa^2 r^2 + 3 kappa r + 3)/s."""
    r = math.sqrt(s)
    kr = par.pair[at + 1] * r
    return -0.5 * par.pair[at] * math.exp(-kr) * (kr * (kr + 3.0) + 3.0) / (r * s * s)


def harmonic_energy(s, at, par):
    """k (r - r0)^2/2."""
    d = math.sqrt(s) - par.pair[at + 1]
    return 0.5 * par.pair[at] * d * d


def harmonic_force(s, at, par):
    """-k (r - r0)/r."""
    r = math.sqrt(s)
    return par.pair[at] * (par.pair[at + 1] - r) / r


def harmonic_slope(s, at, par):
    """-k r0/(2 r^3)."""
    return -0.5 * par.pair[at] * par.pair[at + 1] / (s * math.sqrt(s))


def nothing(s, at, par):
    """No interaction."""
    return 0.0


def no_mean(s0, s1, at, par):
    """No interaction between two distances."""
    return 0.0
