"""The equations of a top in quaternions with a Lagrange multiplier, which hold only on the unit sphere.

R is extended off the sphere by M(q) = (2 q0^2 - 1) 1 + 2 v v^T + 2 q0 [v]x, which is not normalised; a fourth moment J0 belongs to
the scalar direction, and U_q = dU(M(q))/dq has a component along q, which the multiplier removes:

    qdot = 1/4 (q.g)/J0 q + G(q)^T w,      gdot = -1/4 (q.g)/J0 g + G(g)^T w - U_q - 2 lambda q,
    w = J^-1 G(q) g / 4,                   lambda = -q.U_q / 2

The multiplier is correct only for |q| = 1. Then |q|^2 and q.g are constant, but off the sphere
d(q.g)/dt = -(1 - |q|^2) q.U_q and d|q|^2/dt = |q|^2 (q.g)/(2 J0): no method conserves what the equations do not.
"""

from ...geometry.quaternion import store4
from .motion import gradient_at, gyration, quaternion_velocity


def extended_rotation(q):
    """The nine elements of M(q), row by row."""
    a = q[0]
    b = q[1]
    c = q[2]
    d = q[3]
    k = 2.0 * a * a - 1.0
    return (
        k + 2.0 * b * b, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c),
        2.0 * (b * c + a * d), k + 2.0 * c * c, 2.0 * (c * d - a * b),
        2.0 * (b * d - a * c), 2.0 * (c * d + a * b), k + 2.0 * d * d,
    )  # fmt: skip


def slope_in_quaternion(q, par):
    """U_q with W = dU/dR at M(q): 4 q0 tr W + 2 v.rot W, and 2 (W + W^T) v + 2 q0 rot W."""
    w11, w12, w13, w21, w22, w23, w31, w32, w33 = gradient_at(extended_rotation(q), par)
    a = q[0]
    b = q[1]
    c = q[2]
    d = q[3]
    r1 = w32 - w23
    r2 = w13 - w31
    r3 = w21 - w12
    return (
        4.0 * a * (w11 + w22 + w33) + 2.0 * (b * r1 + c * r2 + d * r3),
        2.0 * (2.0 * w11 * b + (w12 + w21) * c + (w13 + w31) * d + a * r1),
        2.0 * ((w12 + w21) * b + 2.0 * w22 * c + (w23 + w32) * d + a * r2),
        2.0 * ((w13 + w31) * b + (w23 + w32) * c + 2.0 * w33 * d + a * r3),
    )


def tangency_rate(z, par):
    """(q.g)/(4 J0)."""
    return 0.25 * (z[0] * z[4] + z[1] * z[5] + z[2] * z[6] + z[3] * z[7]) / par.fourth_moment[0]


def multiplier_velocity(z, par, out):
    """qdot."""
    quaternion_velocity(z, par, out)
    k = tangency_rate(z, par)
    for i in range(4):
        out[i] += k * z[i]


def multiplier_force(z, par, out):
    """gdot, the multiplier evaluated at this q."""
    store4(out, 4, gyration(z, par))
    u0, u1, u2, u3 = slope_in_quaternion(z, par)
    twice = z[0] * u0 + z[1] * u1 + z[2] * u2 + z[3] * u3  # -2 lambda
    k = tangency_rate(z, par)
    out[4] += twice * z[0] - u0 - k * z[4]
    out[5] += twice * z[1] - u1 - k * z[5]
    out[6] += twice * z[2] - u2 - k * z[6]
    out[7] += twice * z[3] - u3 - k * z[7]


def multiplier_field(z, par, out):
    """Both halves."""
    multiplier_velocity(z, par, out)
    multiplier_force(z, par, out)
