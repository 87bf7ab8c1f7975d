"""The motion of a top: its potential in any axes, and its equations in two sets of variables.

Splittings: z = (q, y), orientation and body angular momentum in principal axes. Canonical: z = (q, g) with y = G(q) g/2, where U
is evaluated at the normalised rotation. Then H is defined on all of R^8, |q|^2 and q.g are quadratic first integrals,
and every symplectic Runge-Kutta method conserves both: no multiplier is needed.
"""

from ...geometry.quaternion import (
    carry,
    carry_from,
    half_product,
    load4,
    normalised_rotation,
    rotation,
    square,
    store4,
    to_space,
)
from ...geometry.vectors import (
    add3,
    diagonal_times,
    load3,
    product,
    product_transposed,
    scaled,
    store3,
    transposed_times,
)
from ...kernels.marks import size, slot, within
from ...kernels.summation import add
from ...kernels.views import rotate
from ..one_body import body_field

# The potential ----------------------------------------------------------------------------------------------------


@slot
def potential(r, par):
    """U(R)."""


@slot
def torque(r, par):
    """Torque in the body, in the axes in which it was given."""


@slot
def torque_rate(r, a, par):
    """Derivative of the torque along the rotation R -> R exp(hat a)."""


@slot
def gradient(r, par):
    """dU/dR in the axes in which the body was given."""


@size
def is_framed(par):
    """1 if the principal axes differ from those in which the body was given, else 0."""
    return 1


def given_axes(r, par):
    """R of the axes in which the body was given, from R of the principal axes: R F^T."""
    if is_framed(par) == 0:
        return r
    return product_transposed(r, rotation(par.frame))


def to_principal_axes(v, par):
    """F^T v."""
    if is_framed(par) == 0:
        return v
    return transposed_times(rotation(par.frame), v)


def to_given_axes(v, par):
    """F v."""
    if is_framed(par) == 0:
        return v
    return to_space(par.frame, v[0], v[1], v[2])


def principal_torque(r, par):
    """Torque in principal axes at the rotation r (principal axes)."""
    return to_principal_axes(torque(given_axes(r, par), par), par)


def gradient_at(r, par):
    """dU/dR for the rotation r of the principal axes: W F."""
    w = gradient(given_axes(r, par), par)
    if is_framed(par) == 0:
        return w
    return product(w, rotation(par.frame))


def potential_at(r, par):
    """U at the rotation r (principal axes)."""
    return potential(given_axes(r, par), par)


# Splitting: z = (q, y) ----------------------------------------------------------------------------------------


def top_force(z, par, out):
    """The torque, in the place of the momentum."""
    store3(out, 4, principal_torque(rotation(z), par))


def top_kick(z, e, h, par, out):
    """y += h tau."""
    for k in range(4, 7):
        add(z, e, k, h * out[k])
    return 0


def top_drift(z, e, h, par, work):
    """The free rotation."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], h, par.rotor[0])


def top_commutator_kick(z, e, s, par, out):
    """Flow over s of V = tau.J^-1 tau: y -= 2 s (dtau(a) + a x tau), a = J^-1 tau; a x tau comes from the group."""
    t = load3(out, 4)
    a = diagonal_times(par.inverse, t)
    rate = torque_rate(given_axes(rotation(z), par), to_given_axes(a, par), par)
    c = to_principal_axes(rate, par)
    add(z, e, 4, -2.0 * s * (c[0] + a[1] * t[2] - a[2] * t[1]))
    add(z, e, 5, -2.0 * s * (c[1] + a[2] * t[0] - a[0] * t[2]))
    add(z, e, 6, -2.0 * s * (c[2] + a[0] * t[1] - a[1] * t[0]))
    return 0


def top_field(z, par, out):
    """Euler's equations with torque."""
    t = principal_torque(rotation(z), par)
    body_field(z, par, out)
    add3(out, 4, t)


# Canonical: z = (q, g) ----------------------------------------------------------------------------------------


@within
def momentum_of(z):
    """y = G(q) g / 2."""
    return half_product(load4(z, 0), load4(z, 4))


@within
def half_spin(z, par):
    """w = J^-1 y / 2."""
    y = momentum_of(z)
    return 0.5 * par.inverse[0] * y[0], 0.5 * par.inverse[1] * y[1], 0.5 * par.inverse[2] * y[2]


@within
def velocity_of(z, par):
    """qdot = G(q)^T w."""
    return carry(load4(z, 0), half_spin(z, par))


def quaternion_velocity(z, par, out):
    """The same, written to its place."""
    store4(out, 0, velocity_of(z, par))


@within
def gyration(z, par):
    """G(g)^T w: the effect of the rotation on g."""
    return carry(load4(z, 4), half_spin(z, par))


@within
def force_of(z, par):
    """gdot = G(g)^T w + 2 G(q)^T tau/|q|^2, the torque at the normalised rotation."""
    q = load4(z, 0)
    t = principal_torque(normalised_rotation(z), par)
    return carry_from(gyration(z, par), q, scaled(2.0 / square(q), t))


def quaternion_force(z, par, out):
    """The same, written to its place."""
    store4(out, 4, force_of(z, par))


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
