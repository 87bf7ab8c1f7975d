"""The named link potentials as kernels of d and Q; their constants are in par.link from place `at` on.

Forces are (f1, f2, f3, c1, c2, c3): f = -dV/dd and c = -dV/dtheta for Q -> Q exp(hat theta). With (V_Q)_ij = dV/dQ_ij and
M = Q^T V_Q that is c = (M23 - M32, M31 - M13, M12 - M21).
"""

from __future__ import annotations

from ...kernels import elementary as math


def bend_twist_energy(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, at, par):
    """k/2 |d - d0|^2 + rest - W.Q."""
    p = par.link
    x = d1 - p[at + 1]
    y = d2 - p[at + 2]
    z = d3 - p[at + 3]
    turned = (
        p[at + 5] * q11 + p[at + 6] * q12 + p[at + 7] * q13
        + p[at + 8] * q21 + p[at + 9] * q22 + p[at + 10] * q23
        + p[at + 11] * q31 + p[at + 12] * q32 + p[at + 13] * q33
    )  # fmt: skip
    return 0.5 * p[at] * (x * x + y * y + z * z) + (p[at + 4] - turned)


def bend_twist_force(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, at, par):
    """-k (d - d0), and V_Q = -W."""
    p = par.link
    k = p[at]
    w11 = p[at + 5]
    w12 = p[at + 6]
    w13 = p[at + 7]
    w21 = p[at + 8]
    w22 = p[at + 9]
    w23 = p[at + 10]
    w31 = p[at + 11]
    w32 = p[at + 12]
    w33 = p[at + 13]
    return (
        k * (p[at + 1] - d1),
        k * (p[at + 2] - d2),
        k * (p[at + 3] - d3),
        q13 * w12 + q23 * w22 + q33 * w32 - (q12 * w13 + q22 * w23 + q32 * w33),
        q11 * w13 + q21 * w23 + q31 * w33 - (q13 * w11 + q23 * w21 + q33 * w31),
        q12 * w11 + q22 * w21 + q32 * w31 - (q11 * w12 + q21 * w22 + q31 * w32),
    )


def half_overlap(x, a, b, c):
    """x S(x)/2 = x (a^2 + b^2 - 2 x a b c)/(1 - x^2 c^2), and its derivatives by a, b, c."""
    xc = x * c
    by = x / (1.0 - xc * xc)
    f = by * (a * a + b * b - 2.0 * xc * a * b)
    return f, 2.0 * by * (a - xc * b), 2.0 * by * (b - xc * a), 2.0 * by * (xc * f - x * a * b)


def gay_berne_energy(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, at, par):
    """4 e (w^12 - w^6), w = sigma/(r - s + sigma)."""
    p = par.link
    sigma = p[at + 1]
    chi = p[at + 2]
    r = math.sqrt(d1 * d1 + d2 * d2 + d3 * d3)
    a = d3 / r
    b = (d1 * q13 + d2 * q23 + d3 * q33) / r
    f, _, _, _ = half_overlap(chi, a, b, q33)
    g, _, _, _ = half_overlap(p[at + 3], a, b, q33)
    depth = p[at] * math.exp(p[at + 4] * math.log(1.0 - g) - p[at + 5] * math.log(1.0 - chi * chi * q33 * q33))
    w = sigma / (r - sigma / math.sqrt(1.0 - f) + sigma)
    w3 = w * w * w
    w6 = w3 * w3
    return depth * (w6 * w6 - w6)


def gay_berne_force(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, at, par):
    """By the chain rule through r, a = n.u_a, b = n.u_b and c = u_a.u_b, with u_a = e3 and u_b the third column of Q."""
    p = par.link
    sigma = p[at + 1]
    chi = p[at + 2]
    mu = p[at + 4]
    half_nu = p[at + 5]
    r = math.sqrt(d1 * d1 + d2 * d2 + d3 * d3)
    i = 1.0 / r
    n1 = d1 * i
    n2 = d2 * i
    n3 = d3 * i
    a = n3
    b = n1 * q13 + n2 * q23 + n3 * q33
    c = q33
    f, f_a, f_b, f_c = half_overlap(chi, a, b, c)
    g, g_a, g_b, g_c = half_overlap(p[at + 3], a, b, c)
    aligned = 1.0 - chi * chi * c * c
    depth = p[at] * math.exp(mu * math.log(1.0 - g) - half_nu * math.log(aligned))
    s = sigma / math.sqrt(1.0 - f)
    w = sigma / (r - s + sigma)
    w3 = w * w * w
    w6 = w3 * w3
    v = depth * (w6 * w6 - w6)
    v_r = depth * (6.0 * w6 - 12.0 * w6 * w6) * w / sigma
    v_f = -0.5 * v_r * s / (1.0 - f)
    v_g = -mu * v / (1.0 - g)
    v_a = v_f * f_a + v_g * g_a
    v_b = v_f * f_b + v_g * g_b
    v_c = v_f * f_c + v_g * g_c + 2.0 * half_nu * chi * chi * c * v / aligned
    # d = r n: only components across n change a and b
    along = v_r - (v_a * a + v_b * b) * i
    u1 = v_b * n1
    u2 = v_b * n2
    u3 = v_b * n3 + v_c
    return (
        -(along * n1 + v_b * i * q13),
        -(along * n2 + v_b * i * q23),
        -(along * n3 + v_b * i * q33 + v_a * i),
        q12 * u1 + q22 * u2 + q32 * u3,
        -(q11 * u1 + q21 * u2 + q31 * u3),
        0.0,
    )
