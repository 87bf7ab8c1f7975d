"""Forces between neighbouring bodies of a chain by potentials of their relative position and rotation.

d = R_a^T (r_b - r_a) and Q = R_a^T R_b in the axes in which the bodies were given; forces and torques as
`link_potentials` says, the torques turned back into principal axes.
"""

from ...geometry.quaternion import rotation, to_body
from ...kernel import slot
from .forces import body_rotation


@slot
def link_force(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par):
    """f = -dV/dd and c = -dV/dtheta, six numbers."""


@slot
def link_energy(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par):
    """V(d, Q)."""


def given_rotation(z, n, j, par):
    """R F^T of body j: the axes in which it was given, to space."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = body_rotation(z, n, j)
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame[j])
    return (
        r11 * f11 + r12 * f12 + r13 * f13, r11 * f21 + r12 * f22 + r13 * f23, r11 * f31 + r12 * f32 + r13 * f33,
        r21 * f11 + r22 * f12 + r23 * f13, r21 * f21 + r22 * f22 + r23 * f23, r21 * f31 + r22 * f32 + r23 * f33,
        r31 * f11 + r32 * f12 + r33 * f13, r31 * f21 + r32 * f22 + r33 * f23, r31 * f31 + r32 * f32 + r33 * f33,
    )  # fmt: skip


def relative(z, n, j, a, b):
    """d and Q, twelve numbers, of bodies j and j + 1 with rotations a and b."""
    a11, a12, a13, a21, a22, a23, a31, a32, a33 = a
    b11, b12, b13, b21, b22, b23, b31, b32, b33 = b
    x = z[3 * j + 3] - z[3 * j]
    y = z[3 * j + 4] - z[3 * j + 1]
    w = z[3 * j + 5] - z[3 * j + 2]
    return (
        a11 * x + a21 * y + a31 * w, a12 * x + a22 * y + a32 * w, a13 * x + a23 * y + a33 * w,
        a11 * b11 + a21 * b21 + a31 * b31, a11 * b12 + a21 * b22 + a31 * b32, a11 * b13 + a21 * b23 + a31 * b33,
        a12 * b11 + a22 * b21 + a32 * b31, a12 * b12 + a22 * b22 + a32 * b32, a12 * b13 + a22 * b23 + a32 * b33,
        a13 * b11 + a23 * b21 + a33 * b31, a13 * b12 + a23 * b22 + a33 * b32, a13 * b13 + a23 * b23 + a33 * b33,
    )  # fmt: skip


def add_forces_of_links(z, par):
    """Right body: force R_a f, torque c; left body: -R_a f and -Q c - d x f; added to par.f and par.tau."""
    n = par.mass.shape[0]
    b = given_rotation(z, n, 0, par)
    for j in range(n - 1):
        a = b
        b = given_rotation(z, n, j + 1, par)
        which = par.link_which[j]
        if which < 0:
            continue
        a11, a12, a13, a21, a22, a23, a31, a32, a33 = a
        d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33 = relative(z, n, j, a, b)
        f1, f2, f3, c1, c2, c3 = link_force(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par)
        s1 = a11 * f1 + a12 * f2 + a13 * f3
        s2 = a21 * f1 + a22 * f2 + a23 * f3
        s3 = a31 * f1 + a32 * f2 + a33 * f3
        t1 = d2 * f3 - d3 * f2 + q11 * c1 + q12 * c2 + q13 * c3
        t2 = d3 * f1 - d1 * f3 + q21 * c1 + q22 * c2 + q23 * c3
        t3 = d1 * f2 - d2 * f1 + q31 * c1 + q32 * c2 + q33 * c3
        u1, u2, u3 = to_body(par.frame[j], t1, t2, t3)
        v1, v2, v3 = to_body(par.frame[j + 1], c1, c2, c3)
        par.f[j, 0] -= s1
        par.f[j, 1] -= s2
        par.f[j, 2] -= s3
        par.tau[j, 0] -= u1
        par.tau[j, 1] -= u2
        par.tau[j, 2] -= u3
        par.f[j + 1, 0] += s1
        par.f[j + 1, 1] += s2
        par.f[j + 1, 2] += s3
        par.tau[j + 1, 0] += v1
        par.tau[j + 1, 1] += v2
        par.tau[j + 1, 2] += v3


def energy_of_link(z, j, par):
    """Energy of the potential between bodies j and j + 1."""
    n = par.mass.shape[0]
    which = par.link_which[j]
    if which < 0:
        return 0.0
    a = given_rotation(z, n, j, par)
    b = given_rotation(z, n, j + 1, par)
    d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33 = relative(z, n, j, a, b)
    return link_energy(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par)
