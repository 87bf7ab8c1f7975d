"""The motion of a top: its potential in any axes, and its equations in two sets of variables.

Splittings: z = (q, y), orientation and body angular momentum in principal axes. Canonical: z = (q, g) with y = G(q) g/2, where U
is taken at the normalised rotation. Then H is defined on all of R^8, |q|^2 and q.g are quadratic first integrals, and every
symplectic Runge-Kutta method keeps both: no multiplier is needed.
"""

from ...geometry.quaternion import normalised_rotation, rotation, to_space
from ...kernels.marks import size, slot, within
from ...kernels.summation import add
from ...kernels.views import rotate
from ..one_body import body_field

# The potential ----------------------------------------------------------------------------------------------------


@slot
def potential(r11, r12, r13, r21, r22, r23, r31, r32, r33, par):
    """U(R)."""


@slot
def torque(r11, r12, r13, r21, r22, r23, r31, r32, r33, par):
    """Torque in the body, in the axes in which it was given."""


@slot
def torque_rate(r11, r12, r13, r21, r22, r23, r31, r32, r33, a1, a2, a3, par):
    """Change of the torque along the turn R -> R exp(hat a)."""


@size
def is_framed(par):
    """1 if the principal axes differ from those in which the body was given, else 0."""
    return 1


def given_axes(r, par):
    """R of the axes in which the body was given, from R of the principal axes: R F^T."""
    if is_framed(par) == 0:
        return r
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = r
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame)
    return (
        r11 * f11 + r12 * f12 + r13 * f13, r11 * f21 + r12 * f22 + r13 * f23, r11 * f31 + r12 * f32 + r13 * f33,
        r21 * f11 + r22 * f12 + r23 * f13, r21 * f21 + r22 * f22 + r23 * f23, r21 * f31 + r22 * f32 + r23 * f33,
        r31 * f11 + r32 * f12 + r33 * f13, r31 * f21 + r32 * f22 + r33 * f23, r31 * f31 + r32 * f32 + r33 * f33,
    )  # fmt: skip


def to_principal_axes(x, y, z, par):
    """F^T (x, y, z)."""
    if is_framed(par) == 0:
        return x, y, z
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame)
    return f11 * x + f21 * y + f31 * z, f12 * x + f22 * y + f32 * z, f13 * x + f23 * y + f33 * z


def to_given_axes(x, y, z, par):
    """F (x, y, z)."""
    if is_framed(par) == 0:
        return x, y, z
    return to_space(par.frame, x, y, z)


def principal_torque(r, par):
    """Torque in principal axes at the rotation r (principal axes)."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(r, par)
    t1, t2, t3 = torque(r11, r12, r13, r21, r22, r23, r31, r32, r33, par)
    return to_principal_axes(t1, t2, t3, par)


@slot
def gradient(r11, r12, r13, r21, r22, r23, r31, r32, r33, par):
    """dU/dR in the axes in which the body was given."""


def gradient_at(r, par):
    """dU/dR for the rotation r of the principal axes: W F."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(r, par)
    w = gradient(r11, r12, r13, r21, r22, r23, r31, r32, r33, par)
    if is_framed(par) == 0:
        return w
    w11, w12, w13, w21, w22, w23, w31, w32, w33 = w
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame)
    return (
        w11 * f11 + w12 * f21 + w13 * f31, w11 * f12 + w12 * f22 + w13 * f32, w11 * f13 + w12 * f23 + w13 * f33,
        w21 * f11 + w22 * f21 + w23 * f31, w21 * f12 + w22 * f22 + w23 * f32, w21 * f13 + w22 * f23 + w23 * f33,
        w31 * f11 + w32 * f21 + w33 * f31, w31 * f12 + w32 * f22 + w33 * f32, w31 * f13 + w32 * f23 + w33 * f33,
    )  # fmt: skip


def potential_at(r, par):
    """U at the rotation r (principal axes)."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(r, par)
    return potential(r11, r12, r13, r21, r22, r23, r31, r32, r33, par)


# Splitting: z = (q, y) ----------------------------------------------------------------------------------------


def top_force(z, par, out):
    """The torque, into the places of the momentum."""
    out[4], out[5], out[6] = principal_torque(rotation(z), par)


def top_kick(z, e, h, par, out):
    """y += h tau."""
    for k in range(4, 7):
        add(z, e, k, h * out[k])
    return 0


def top_drift(z, e, h, par, work):
    """The free rotation."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], h, par.rotor[0])


def top_commutator_kick(z, e, s, par, out):
    """Flow over s of V = tau.J^-1 tau: y -= 2 s (dtau(a) + a x tau), a = J^-1 tau; a x tau is the group's own part."""
    t1 = out[4]
    t2 = out[5]
    t3 = out[6]
    a1 = par.inverse[0] * t1
    a2 = par.inverse[1] * t2
    a3 = par.inverse[2] * t3
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(rotation(z), par)
    b1, b2, b3 = to_given_axes(a1, a2, a3, par)
    d1, d2, d3 = torque_rate(r11, r12, r13, r21, r22, r23, r31, r32, r33, b1, b2, b3, par)
    c1, c2, c3 = to_principal_axes(d1, d2, d3, par)
    add(z, e, 4, -2.0 * s * (c1 + a2 * t3 - a3 * t2))
    add(z, e, 5, -2.0 * s * (c2 + a3 * t1 - a1 * t3))
    add(z, e, 6, -2.0 * s * (c3 + a1 * t2 - a2 * t1))
    return 0


def top_field(z, par, out):
    """Euler's equations with torque."""
    t1, t2, t3 = principal_torque(rotation(z), par)
    body_field(z, par, out)
    out[4] += t1
    out[5] += t2
    out[6] += t3


# Canonical: z = (q, g) ----------------------------------------------------------------------------------------


def momentum_of(z):
    """y = G(q) g / 2."""
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    g0 = z[4]
    g1 = z[5]
    g2 = z[6]
    g3 = z[7]
    return (
        0.5 * (-q1 * g0 + q0 * g1 + q3 * g2 - q2 * g3),
        0.5 * (-q2 * g0 - q3 * g1 + q0 * g2 + q1 * g3),
        0.5 * (-q3 * g0 + q2 * g1 - q1 * g2 + q0 * g3),
    )


@within
def velocity_of(z, par):
    """qdot = G(q)^T w with w = J^-1 y / 2."""
    y1, y2, y3 = momentum_of(z)
    w1 = 0.5 * par.inverse[0] * y1
    w2 = 0.5 * par.inverse[1] * y2
    w3 = 0.5 * par.inverse[2] * y3
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    return (
        -q1 * w1 - q2 * w2 - q3 * w3,
        q0 * w1 - q3 * w2 + q2 * w3,
        q3 * w1 + q0 * w2 - q1 * w3,
        -q2 * w1 + q1 * w2 + q0 * w3,
    )


def quaternion_velocity(z, par, out):
    """The same, into its places."""
    out[0], out[1], out[2], out[3] = velocity_of(z, par)


def gyration(z, par):
    """G(g)^T w with w = J^-1 y / 2: what the rotation does to g."""
    y1, y2, y3 = momentum_of(z)
    w1 = 0.5 * par.inverse[0] * y1
    w2 = 0.5 * par.inverse[1] * y2
    w3 = 0.5 * par.inverse[2] * y3
    g0 = z[4]
    g1 = z[5]
    g2 = z[6]
    g3 = z[7]
    return (
        -g1 * w1 - g2 * w2 - g3 * w3,
        g0 * w1 - g3 * w2 + g2 * w3,
        g3 * w1 + g0 * w2 - g1 * w3,
        -g2 * w1 + g1 * w2 + g0 * w3,
    )


@within
def force_of(z, par):
    """gdot = G(g)^T w + 2 G(q)^T tau/|q|^2, the torque at the normalised rotation."""
    f0, f1, f2, f3 = gyration(z, par)
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    t1, t2, t3 = principal_torque(normalised_rotation(z), par)
    k = 2.0 / (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    t1 *= k
    t2 *= k
    t3 *= k
    return (
        f0 - q1 * t1 - q2 * t2 - q3 * t3,
        f1 + q0 * t1 - q3 * t2 + q2 * t3,
        f2 + q3 * t1 + q0 * t2 - q1 * t3,
        f3 - q2 * t1 + q1 * t2 + q0 * t3,
    )


def quaternion_force(z, par, out):
    """The same, into its places."""
    out[4], out[5], out[6], out[7] = force_of(z, par)


def quaternion_field(z, par, out):
    """The canonical equations of H = |G(q) g|^2_(J^-1)/8 + U(R(q/|q|))."""
    quaternion_velocity(z, par, out)
    quaternion_force(z, par, out)


@within
def quaternion_registers(q0, q1, q2, q3, g0, g1, g2, g3, par):
    """The same on scalars."""
    z = (q0, q1, q2, q3, g0, g1, g2, g3)
    a0, a1, a2, a3 = velocity_of(z, par)
    b0, b1, b2, b3 = force_of(z, par)
    return a0, a1, a2, a3, b0, b1, b2, b3


def quaternion_field_end(b, par):
    """q, then g."""
    return 4 + 4 * b
