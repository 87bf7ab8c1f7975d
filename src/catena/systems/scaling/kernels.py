"""Equations of a body that turns and changes its size: z = (r, q, p, l, s, nu), in principal axes.

A point rho of the body lies at r + s R(q) rho. With kappa = tr Theta/2, l = s^2 Theta omega the angular momentum in the body
and k = l.Theta^-1 l [moeller2012]:

    rdot = p/m,  qdot = q * (0, omega)/2,  pdot = F,  ldot = l x omega + s M + R^T T,  sdot = nu,  kappa nudot = k/s^3 + c + lambda

where forces f at points rho give F = sum f, M = sum rho x R^T f, c = sum rho.R^T f, and T is the sum of moments in space.
"""

from __future__ import annotations

from ...geometry.free_rotation import evaluate, prepare
from ...geometry.quaternion import multiply_right, to_body, to_space
from ...kernels import elementary as math
from ...kernels.marks import size
from ...kernels.views import NOT_FINITE

ORIENTATION = 3
MOMENTUM = 7
SPIN = 10
SCALE = 13
DIMENSION = 15


@size
def is_held(par):
    """1 if the size is held at 1 by a perfect constraint, else 0."""
    return 0


def scaling_field_end(b, par):
    """Position, orientation, momentum, angular momentum, scale, rate; the last three in one where the size is held.

    A field that stays as it is would always look converged.
    """
    if b == 0:
        return ORIENTATION
    if b == 1:
        return MOMENTUM
    if b == 2:
        return SPIN
    return DIMENSION if is_held(par) == 1 else SCALE + b - 3


def rotation_integral(l1, l2, l3, par):
    """k = l.Theta^-1 l."""
    return par.inverse[0] * l1 * l1 + par.inverse[1] * l2 * l2 + par.inverse[2] * l3 * l3


def loads_at(q, s, par):
    """Force in space, moment s M + R^T T in the body, and scaling force c, whose potential is -s c."""
    f1 = 0.0
    f2 = 0.0
    f3 = 0.0
    m1 = 0.0
    m2 = 0.0
    m3 = 0.0
    c = par.scaling[0]
    for j in range(par.loads.shape[0]):
        a = par.loads[j]
        x = a[0]
        y = a[1]
        z = a[2]
        f1 += a[3]
        f2 += a[4]
        f3 += a[5]
        g1, g2, g3 = to_body(q, a[3], a[4], a[5])
        t1, t2, t3 = to_body(q, a[6], a[7], a[8])
        c += x * g1 + y * g2 + z * g3
        m1 += s * (y * g3 - z * g2) + t1
        m2 += s * (z * g1 - x * g3) + t2
        m3 += s * (x * g2 - y * g1) + t3
    return f1, f2, f3, m1, m2, m3, c


def scaling_field(z, par, out):
    """The seven degrees of freedom; six if the size is held."""
    q0 = z[3]
    q1 = z[4]
    q2 = z[5]
    q3 = z[6]
    l1 = z[10]
    l2 = z[11]
    l3 = z[12]
    s = z[13]
    shrink = 1.0 / (s * s)
    w1 = shrink * par.inverse[0] * l1
    w2 = shrink * par.inverse[1] * l2
    w3 = shrink * par.inverse[2] * l3
    f1, f2, f3, m1, m2, m3, c = loads_at(z[3:7], s, par)
    for i in range(3):
        out[i] = z[7 + i] / par.mass[0]
    out[3] = -0.5 * (q1 * w1 + q2 * w2 + q3 * w3)
    out[4] = 0.5 * (q0 * w1 + q2 * w3 - q3 * w2)
    out[5] = 0.5 * (q0 * w2 + q3 * w1 - q1 * w3)
    out[6] = 0.5 * (q0 * w3 + q1 * w2 - q2 * w1)
    out[7] = f1
    out[8] = f2
    out[9] = f3
    out[10] = l2 * w3 - l3 * w2 + m1
    out[11] = l3 * w1 - l1 * w3 + m2
    out[12] = l1 * w2 - l2 * w1 + m3
    out[13] = z[14]
    out[14] = (shrink / s * rotation_integral(l1, l2, l3, par) + c) / par.kappa[0]
    if is_held(par) == 1:
        out[13] = 0.0
        out[14] = 0.0


def scaling_flow(t, start, par, out):
    """The motion without forces: the size in closed form, the turn of a rigid body in the time tau (`scaling_body_flight`)."""
    s = start[13]
    rate = start[14]
    tau = t
    out[13] = s
    out[14] = rate
    if is_held(par) == 0:
        c = math.sqrt(rotation_integral(start[10], start[11], start[12], par) / par.kappa[0])
        along = s + rate * t
        across = c * t / s
        if c == 0.0 and not along > 0.0:
            return NOT_FINITE
        out[13] = math.sqrt(along * along + across * across)
        out[14] = (s * rate + (rate * rate + (c / s) * (c / s)) * t) / out[13]
        tau = math.atan2(c * t, s * along) / c if c > 0.0 else t / (s * along)
    inertia = par.inertia[0]
    status = prepare(inertia[0], inertia[1], inertia[2], start[10], start[11], start[12], par.orbit)
    if status != 0:
        return status
    out[10], out[11], out[12], r0, r1, r2, r3 = evaluate(par.orbit, tau)
    for i in range(3):
        out[i] = start[i] + t * start[7 + i] / par.mass[0]
        out[7 + i] = start[7 + i]
    q = out[3:7]
    for i in range(4):
        q[i] = start[3 + i]
    multiply_right(q, r0, r1, r2, r3)
    length = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for i in range(4):
        q[i] *= length
    return 0


def publish_scaling(z, par, row):
    """The state in the axes in which the body was given."""
    f = par.frame
    for i in range(DIMENSION):
        row[i] = z[i]
    multiply_right(row[3:7], f[0], -f[1], -f[2], -f[3])
    row[10], row[11], row[12] = to_space(f, z[10], z[11], z[12])


def measure_scaling(z, par, out, scale):
    """Energy, |q|^2 - 1, then what is kept of the momenta."""
    q = z[3:7]
    s = z[13]
    k = rotation_integral(z[10], z[11], z[12], par)
    straight = 0.5 * (z[7] * z[7] + z[8] * z[8] + z[9] * z[9]) / par.mass[0]
    growth = 0.5 * par.kappa[0] * z[14] * z[14]
    turning = 0.5 * k / (s * s)
    f1, f2, f3, _, _, _, c = loads_at(q, s, par)
    potential = -(f1 * z[0] + f2 * z[1] + f3 * z[2]) - s * c
    out[0] = straight + growth + turning + potential
    out[1] = z[3] * z[3] + z[4] * z[4] + z[5] * z[5] + z[6] * z[6] - 1.0
    scale[0] = max(scale[0], straight, growth, turning, abs(potential))
    scale[1] = 1.0
    n = 2
    if keeps_rotation(par) == 2:
        x, y, w = to_space(q, z[10], z[11], z[12])
        out[n] = par.axis[0] * x + par.axis[1] * y + par.axis[2] * w
        scale[n] = max(scale[n], math.sqrt(x * x + y * y + w * w))
        n += 1
    if keeps_momentum(par) == 1:
        for i in range(3):
            out[n + i] = z[7 + i]
            scale[n + i] = max(scale[n + i], abs(z[7]), abs(z[8]), abs(z[9]))
        n += 3
    if keeps_rotation(par) == 1:
        square = z[10] * z[10] + z[11] * z[11] + z[12] * z[12]
        out[n], out[n + 1], out[n + 2] = to_space(q, z[10], z[11], z[12])
        for i in range(3):
            scale[n + i] = max(scale[n + i], math.sqrt(square))
        out[n + 3] = 0.5 * square
        scale[n + 3] = max(scale[n + 3], out[n + 3])
        out[n + 4] = 0.5 * k
        scale[n + 4] = max(scale[n + 4], out[n + 4])


@size
def keeps_momentum(par):
    """1 if no force acts on the whole, else 0."""
    return 0


@size
def keeps_rotation(par):
    """1 if no moment acts, 2 if none acts about par.axis, else 0."""
    return 0
