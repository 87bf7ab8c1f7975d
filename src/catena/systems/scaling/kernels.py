"""Equations of a body that turns and changes its size: z = (r, q, p, l, s, nu), in principal axes.

A point rho of the body lies at r + s R(q) rho. With kappa = tr Theta/2, l = s^2 Theta omega the angular momentum in the body
and k = l.Theta^-1 l [moeller2012]:

    rdot = p/m,  qdot = q * (0, omega)/2,  pdot = F,  ldot = l x omega + s M + R^T T,  sdot = nu,  kappa nudot = k/s^3 + c + lambda

where forces f at points rho give F = sum f, M = sum rho x R^T f, c = sum rho.R^T f, and T is the sum of moments in space.
"""

from __future__ import annotations

from ...geometry.free_rotation import evaluate, prepare
from ...geometry.quaternion import conjugate, load4, product, rate, square, store4, to_body, to_space
from ...geometry.vectors import ZERO, add, cross, diagonal_times, dot, load3, scaled, store3
from ...kernels import elementary as math
from ...kernels.marks import Record, size
from ...kernels.views import NOT_FINITE

ORIENTATION = 3
MOMENTUM = 7
SPIN = 10
SCALE = 13
RATE = 14
DIMENSION = 15


class Load(Record):
    """par.loads[j]: its point in the body, its force and its moment in space."""

    POINT = 3
    FORCE = 3
    MOMENT = 3


@size
def is_held(par):
    """1 if the size is held at 1 by a perfect constraint, else 0."""
    return 0


def scaling_field_end(b, par):
    """Position, orientation, momentum, angular momentum, scale, rate; the last three are one field if the scale is
    held.

    A field that does not change would always look converged.
    """
    if b == 0:
        return ORIENTATION
    if b == 1:
        return MOMENTUM
    if b == 2:
        return SPIN
    return DIMENSION if is_held(par) == 1 else SCALE + b - 3


def rotation_integral(l, par):
    """k = l.Theta^-1 l."""
    return par.inverse[0] * l[0] * l[0] + par.inverse[1] * l[1] * l[1] + par.inverse[2] * l[2] * l[2]


def loads_at(q, s, par):
    """Force in space, moment s M + R^T T in the body, and scaling force c, whose potential is -s c."""
    force = ZERO
    moment = ZERO
    c = par.scaling[0]
    for j in range(par.loads.shape[0]):
        load = par.loads[j]
        rho = load3(load, Load.POINT)
        f = load3(load, Load.FORCE)
        torque = load3(load, Load.MOMENT)
        force = add(force, f)
        pull = to_body(q, f[0], f[1], f[2])
        c += dot(rho, pull)
        moment = add(moment, add(scaled(s, cross(rho, pull)), to_body(q, torque[0], torque[1], torque[2])))
    return force, moment, c


def scaling_field(z, par, out):
    """The seven degrees of freedom; six if the size is held."""
    l = load3(z, SPIN)
    s = z[SCALE]
    shrink = 1.0 / (s * s)
    w = diagonal_times(scaled(shrink, load3(par.inverse, 0)), l)
    force, moment, c = loads_at(z[ORIENTATION:MOMENTUM], s, par)
    for i in range(3):
        out[i] = z[MOMENTUM + i] / par.mass[0]
    store4(out, ORIENTATION, rate(load4(z, ORIENTATION), w))
    store3(out, MOMENTUM, force)
    store3(out, SPIN, add(cross(l, w), moment))
    out[SCALE] = z[RATE]
    out[RATE] = (shrink / s * rotation_integral(l, par) + c) / par.kappa[0]
    if is_held(par) == 1:
        out[SCALE] = 0.0
        out[RATE] = 0.0


def scaling_flow(t, start, par, out):
    """The motion without forces: scale in closed form, rotation of a rigid body in the time tau (`flight`)."""
    s = start[SCALE]
    growth = start[RATE]
    l = load3(start, SPIN)
    tau = t
    out[SCALE] = s
    out[RATE] = growth
    if is_held(par) == 0:
        c = math.sqrt(rotation_integral(l, par) / par.kappa[0])
        along = s + growth * t
        across = c * t / s
        if c == 0.0 and not along > 0.0:
            return NOT_FINITE
        out[SCALE] = math.sqrt(along * along + across * across)
        out[RATE] = (s * growth + (growth * growth + (c / s) * (c / s)) * t) / out[SCALE]
        tau = math.atan2(c * t, s * along) / c if c > 0.0 else t / (s * along)
    inertia = par.inertia[0]
    status = prepare(inertia[0], inertia[1], inertia[2], l[0], l[1], l[2], par.orbit)
    if status != 0:
        return status
    l1, l2, l3, r0, r1, r2, r3 = evaluate(par.orbit, tau)
    store3(out, SPIN, (l1, l2, l3))
    for i in range(3):
        out[i] = start[i] + t * start[MOMENTUM + i] / par.mass[0]
        out[MOMENTUM + i] = start[MOMENTUM + i]
    turned = product(load4(start, ORIENTATION), (r0, r1, r2, r3))
    length = 1.5 - 0.5 * square(turned)
    store4(out, ORIENTATION, (turned[0] * length, turned[1] * length, turned[2] * length, turned[3] * length))
    return 0


def publish_scaling(z, par, row):
    """The state in the axes in which the body was given."""
    frame = load4(par.frame, 0)
    for i in range(DIMENSION):
        row[i] = z[i]
    store4(row, ORIENTATION, product(load4(z, ORIENTATION), conjugate(frame)))
    store3(row, SPIN, to_space(frame, z[SPIN], z[SPIN + 1], z[SPIN + 2]))


def measure_scaling(z, par, out, scale):
    """Energy, |q|^2 - 1, then the conserved momenta."""
    q = load4(z, ORIENTATION)
    p = load3(z, MOMENTUM)
    l = load3(z, SPIN)
    s = z[SCALE]
    k = rotation_integral(l, par)
    straight = 0.5 * dot(p, p) / par.mass[0]
    growth = 0.5 * par.kappa[0] * z[RATE] * z[RATE]
    turning = 0.5 * k / (s * s)
    force, _, c = loads_at(q, s, par)
    potential = -dot(force, load3(z, 0)) - s * c
    out[0] = straight + growth + turning + potential
    out[1] = square(q) - 1.0
    scale[0] = max(scale[0], straight, growth, turning, abs(potential))
    scale[1] = 1.0
    n = 2
    if keeps_rotation(par) == 2:
        in_space = to_space(q, l[0], l[1], l[2])
        out[n] = dot(load3(par.axis, 0), in_space)
        scale[n] = max(scale[n], math.sqrt(dot(in_space, in_space)))
        n += 1
    if keeps_momentum(par) == 1:
        for i in range(3):
            out[n + i] = z[MOMENTUM + i]
            scale[n + i] = max(scale[n + i], abs(p[0]), abs(p[1]), abs(p[2]))
        n += 3
    if keeps_rotation(par) == 1:
        whole = dot(l, l)
        store3(out, n, to_space(q, l[0], l[1], l[2]))
        for i in range(3):
            scale[n + i] = max(scale[n + i], math.sqrt(whole))
        out[n + 3] = 0.5 * whole
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
