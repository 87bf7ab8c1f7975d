"""Forces between neighbouring bodies of a chain by potentials of their relative position and rotation.

d = R_a^T (r_b - r_a) and Q = R_a^T R_b in the axes in which the bodies were given; forces and torques as in
`link_potentials`, with the torques rotated back into principal axes.
"""

from ...geometry.quaternion import rotation, to_body
from ...geometry.vectors import (
    add3,
    cross,
    load3,
    negative,
    product_transposed,
    subtract,
    sum_from,
    times,
    transposed_product,
    transposed_times,
)
from ...kernels.marks import slot
from .forces import after, body_rotation, link_count


@slot
def link_force(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par):
    """f = -dV/dd and c = -dV/dtheta, six numbers."""


@slot
def link_energy(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par):
    """V(d, Q)."""


def force_at(which, d, q, par):
    """`link_force` as two vectors, for d and Q in registers."""
    f1, f2, f3, c1, c2, c3 = link_force(
        which, d[0], d[1], d[2], q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8], par
    )  # fmt: skip
    return (f1, f2, f3), (c1, c2, c3)


def given_rotation(z, n, j, par):
    """R F^T of body j: from the axes in which it was given to space."""
    return product_transposed(body_rotation(z, n, j), rotation(par.frame[j]))


def relative(z, j, other, a, b):
    """d and Q of bodies j and `other` with rotations a and b."""
    return transposed_times(a, subtract(load3(z, 3 * other), load3(z, 3 * j))), transposed_product(a, b)


def add_forces_of_links(z, par):
    """Right body: force R_a f, torque c; left body: -R_a f and -Q c - d x f; added to par.f and par.tau."""
    n = par.mass.shape[0]
    b = given_rotation(z, n, 0, par)
    for j in range(link_count(n)):
        other = after(j, par)
        a = b
        b = given_rotation(z, n, other, par)
        which = par.link_which[j]
        if which < 0:
            continue
        d, q = relative(z, j, other, a, b)
        f, c = force_at(which, d, q, par)
        s = times(a, f)
        t = cross(d, f)
        t = (
            sum_from(t[0], (q[0], q[1], q[2]), c),
            sum_from(t[1], (q[3], q[4], q[5]), c),
            sum_from(t[2], (q[6], q[7], q[8]), c),
        )
        add3(par.f[j], 0, negative(s))
        add3(par.tau[j], 0, negative(to_body(par.frame[j], t[0], t[1], t[2])))
        add3(par.f[other], 0, s)
        add3(par.tau[other], 0, to_body(par.frame[other], c[0], c[1], c[2]))


def energy_of_link(z, j, par):
    """Energy of the potential between body j and the next one."""
    n = par.mass.shape[0]
    other = after(j, par)
    which = par.link_which[j]
    if which < 0:
        return 0.0
    d, q = relative(z, j, other, given_rotation(z, n, j, par), given_rotation(z, n, other, par))
    return link_energy(which, d[0], d[1], d[2], q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8], par)
