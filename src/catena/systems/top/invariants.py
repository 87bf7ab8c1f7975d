"""What a run of a top publishes and measures: energy, vertical momentum, constraints, and the integrals of special tops."""

import math

from ...geometry.quaternion import normalised_rotation
from ...geometry.vectors import store3
from ...kernels.marks import slot
from ..one_body import publish_body
from .motion import momentum_of, potential_at


def publish_quaternion(z, par, row):
    """(q, y) of (q, g) in the given axes."""
    store3(row, 4, momentum_of(z))
    for k in range(4):
        row[k] = z[k]
    publish_body(row, par, row)


def measure_top(z, par, out, scale):
    """The invariants of z = (q, y); there is no g, so q.g = 0."""
    measure_attitude(z[0:4], z[4], z[5], z[6], 0.0, par, out, scale)


def measure_quaternion(z, par, out, scale):
    """The invariants of z = (q, g)."""
    y1, y2, y3 = momentum_of(z)
    tangency = z[0] * z[4] + z[1] * z[5] + z[2] * z[6] + z[3] * z[7]
    measure_attitude(z[0:4], y1, y2, y3, tangency, par, out, scale)


@slot
def measure_special(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """Further invariants of special tops."""


def measure_nothing(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """No further invariants."""


def measure_axial(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """Momentum about the axis of a symmetric top."""
    k = int(par.special[0])
    out[4] = y1
    if k == 1:
        out[4] = y2
    if k == 2:
        out[4] = y3
    scale[4] = max(scale[4], abs(y1), abs(y2), abs(y3))


def measure_kovalevskaya(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """K = |(w1 + i w2)^2 - (Gx + i Gy)/I3 (n1 + i n2)|^2 in axes where I1 = I2 = 2 I3.

    special: [axes a, b, c in that order (a rotation), Gx, Gy].
    """
    a = int(par.special[0])
    b = int(par.special[1])
    c = int(par.special[2])
    w1 = par.inverse[a] * (y1 if a == 0 else (y2 if a == 1 else y3))
    w2 = par.inverse[b] * (y1 if b == 0 else (y2 if b == 1 else y3))
    n1 = r31 if a == 0 else (r32 if a == 1 else r33)
    n2 = r31 if b == 0 else (r32 if b == 1 else r33)
    gx = par.special[3] * par.inverse[c]
    gy = par.special[4] * par.inverse[c]
    real = w1 * w1 - w2 * w2 - (gx * n1 - gy * n2)
    imaginary = 2.0 * w1 * w2 - (gx * n2 + gy * n1)
    out[4] = real * real + imaginary * imaginary
    scale[4] = max(scale[4], (w1 * w1 + w2 * w2) ** 2, gx * gx + gy * gy)


def measure_attitude(q, y1, y2, y3, tangency, par, out, scale):
    """Energy, vertical momentum, |q|^2 - 1, q.g, then the invariants of special tops."""
    r = normalised_rotation(q)
    _, _, _, _, _, _, r31, r32, r33 = r
    t1 = 0.5 * par.inverse[0] * y1 * y1
    t2 = 0.5 * par.inverse[1] * y2 * y2
    t3 = 0.5 * par.inverse[2] * y3 * y3
    u = potential_at(r, par)
    out[0] = t1 + t2 + t3 + u
    out[1] = r31 * y1 + r32 * y2 + r33 * y3
    out[2] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0
    out[3] = tangency
    length = math.sqrt(y1 * y1 + y2 * y2 + y3 * y3)
    scale[0] = max(scale[0], t1, t2, t3, abs(u))
    scale[1] = max(scale[1], length)
    scale[2] = 1.0
    scale[3] = max(scale[3], 2.0 * length)
    measure_special(q, y1, y2, y3, r31, r32, r33, par, out, scale)
