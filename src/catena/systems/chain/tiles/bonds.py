"""Link potentials in tiles: force and torque of one link, from quaternions of the axes in which bodies were given."""

from ....geometry.quaternion import conjugate, product, rotation
from ....geometry.vectors import negative, times, transposed_times
from ....kernels.marks import slot, within


@slot
def bond_force(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, at, par):
    """f = -dV/dd and c = -dV/dtheta, six numbers."""


@within
def push_of_bond(a, b, d, par):
    """f and t of `kernels`, six numbers, for d = r_i - r_{i+1} in space: the other body feels R_a f and, in space, R_b c."""
    m = rotation(a)
    q = rotation(product(conjugate(a), b))
    x = transposed_times(m, negative(d))
    f1, f2, f3, c1, c2, c3 = bond_force(
        x[0], x[1], x[2], q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8], 0, par
    )  # fmt: skip
    f = times(m, (f1, f2, f3))
    t = times(m, times(q, (c1, c2, c3)))
    return -f[0], -f[1], -f[2], -t[0], -t[1], -t[2]
