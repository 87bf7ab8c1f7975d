"""Second derivatives of a chain: changes of forces as bodies move and turn, and the Jacobian of the canonical
equations.

A body is displaced by dr and rotated by phi in space; a particle at a from its centre moves by J (dr, phi), J = (1,
-^a), 3 x 6. For a pair of particles with D = x - y and the force A D on the first,

    dD = J_a (dr, phi)_a - J_b (dr, phi)_b,      d(A D) = H dD,      H = A + 2 A' D D^T,

and force and torque of body a change by J_a^T H dD, those of body b by -J_b^T H dD; in addition, if a body rotates
under constant forces w, its torque a x w changes by (phi x a) x w. par.slopes[j, k] (6 x 6): force and torque of body j
by position and rotation of body j - 1 + k, periodic in a ring. For quaternions phi = 2 E(q) dq/|q|^2, and -dV/dq = 2
E(q)^T t/|q|^2 with t the torque in space.

Scratch in par: arms (3, 3, 6), J_a, J_b and a sum over the particles of b; lift (bodies, 6, 7), dr and phi by (r, q).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.marks import slot
from ...kernels.views import is_closed, pair_force, pair_slope
from .forces import after, body_rotation, find_forces, link_count, particle, potential_of


@slot
def add_link_slopes(z, par):
    """Add the slopes of potentials of relative position and rotation to par.slopes."""


def no_link_slopes(z, par):
    """No such potential."""


def scratch(bodies: int) -> dict[str, NDArray[np.float64]]:
    """The arrays of par that these kernels use; elements that are 1 or 0 in all states are never written."""
    arms = np.zeros((3, 3, 6))
    arms[:2, :, :3] = np.eye(3)
    lift = np.zeros((bodies, 6, 7))
    lift[:, :3, :3] = np.eye(3)
    return {"slopes": np.zeros((bodies, 3, 6, 6)), "arms": arms, "lift": lift, "bond_slope": np.zeros((6, 6))}


def chain_entry(j, a, par):
    """`block_entry`: r, q, p, g of all bodies one after the other."""
    n = par.mass.shape[0]
    if a < 3:
        return 3 * j + a
    if a < 7:
        return 3 * n + 4 * j + a - 3
    return 7 * n + 3 * j + a - 7 if a < 10 else 10 * n + 4 * j + a - 10


def chain_jacobian(z, par, out):
    """`block_jacobian` of the canonical equations."""
    n = par.mass.shape[0]
    find_forces(z, par)
    find_slopes(z, par)
    for j in range(n):
        k = 3 * n + 4 * j
        f = 2.0 / (z[k] * z[k] + z[k + 1] * z[k + 1] + z[k + 2] * z[k + 2] + z[k + 3] * z[k + 3])
        for i in range(3):
            row = e_row(i, z[k], z[k + 1], z[k + 2], z[k + 3])
            for a in range(4):
                par.lift[j, 3 + i, 3 + a] = f * row[a]
    for j in range(n):
        for k in range(out.shape[1]):
            for a in range(out.shape[2]):
                for b in range(out.shape[3]):
                    out[j, k, a, b] = 0.0
        add_kinetic(z, n, j, par, out[j])
        add_torque(z, n, j, par, out[j, 2])
        add_slopes(j, j, 1, par, out[j, 2])
        if j > 0:
            add_slopes(j, j - 1, 0, par, out[j, 4])
        if j < link_count(n):
            add_slopes(j, after(j, par), 2, par, out[j, 5])
    if is_closed():
        add_slopes(0, n - 1, 0, par, out[0, 4])


# Forces by positions and rotations ------------------------------------------------------------------------------------


def find_slopes(z, par):
    """Compute par.slopes; the particles must have been placed."""
    n = par.mass.shape[0]
    slopes = par.slopes
    for j in range(n):
        for k in range(slopes.shape[1]):
            for a in range(slopes.shape[2]):
                for b in range(slopes.shape[3]):
                    slopes[j, k, a, b] = 0.0
    for j in range(link_count(n)):
        other = after(j, par)
        add_pairs(z, j, other, par, slopes[j, 1], slopes[j, 2], slopes[other, 0], slopes[other, 1])
    add_link_slopes(z, par)


def add_pairs(z, j, beside, par, aa, ab, ba, bb):
    """Pairs of bodies a = j and b = beside, the next one: J_a^T H J_a, -J_a^T H J_b, -J_b^T H J_a, J_b^T H J_b; and
    add_turn."""
    left = par.arms[0]
    right = par.arms[1]
    pushed = par.arms[2]  # the sum over b of H J_b; its first three columns are the sum of H
    for k in range(par.count[j]):
        x0, x1, x2 = particle(par.x, j, k, par)
        turn_arm(left, x0, x1, x2)
        w0 = w1 = w2 = 0.0
        for i in range(3):
            for c in range(6):
                pushed[i, c] = 0.0
        for l in range(par.count[beside]):
            y0, y1, y2 = particle(par.x, beside, l, par)
            turn_arm(right, y0, y1, y2)
            d0 = x0 - y0 + (z[3 * j] - z[3 * beside])
            d1 = x1 - y1 + (z[3 * j + 1] - z[3 * beside + 1])
            d2 = x2 - y2 + (z[3 * j + 2] - z[3 * beside + 2])
            s = d0 * d0 + d1 * d1 + d2 * d2
            which = potential_of(j, k, l, par)
            a = pair_force(s, which, par)
            f = 2.0 * pair_slope(s, which, par)
            w0 += a * d0
            w1 += a * d1
            w2 += a * d2
            add_turn(bb, y0, y1, y2, -a * d0, -a * d1, -a * d2)
            for c in range(6):
                along = f * (d0 * right[0, c] + d1 * right[1, c] + d2 * right[2, c])
                h0 = a * right[0, c] + along * d0
                h1 = a * right[1, c] + along * d1
                h2 = a * right[2, c] + along * d2
                pushed[0, c] += h0
                pushed[1, c] += h1
                pushed[2, c] += h2
                for r in range(6):
                    bb[r, c] += right[0, r] * h0 + right[1, r] * h1 + right[2, r] * h2
        add_turn(aa, x0, x1, x2, w0, w1, w2)
        for r in range(6):
            for c in range(6):
                own = 0.0
                other = 0.0
                for i in range(3):
                    other += left[i, r] * pushed[i, c]
                    for m in range(3):
                        own += left[i, r] * pushed[i, m] * left[m, c]
                aa[r, c] += own
                ab[r, c] -= other
                ba[c, r] -= other


def add_turn(out, a0, a1, a2, w0, w1, w2):
    """(phi x a) x w = (a w^T - a.w) phi."""
    along = a0 * w0 + a1 * w1 + a2 * w2
    out[3, 3] += a0 * w0 - along
    out[3, 4] += a0 * w1
    out[3, 5] += a0 * w2
    out[4, 3] += a1 * w0
    out[4, 4] += a1 * w1 - along
    out[4, 5] += a1 * w2
    out[5, 3] += a2 * w0
    out[5, 4] += a2 * w1
    out[5, 5] += a2 * w2 - along


def turn_arm(out, a0, a1, a2):
    """Write -^a into the last three columns."""
    out[0, 4] = a2
    out[0, 5] = -a1
    out[1, 3] = -a2
    out[1, 5] = a0
    out[2, 3] = a1
    out[2, 4] = -a0


# In quaternions ---------------------------------------------------------------------------------------------------------


def add_slopes(j, k, place, par, out):
    """out += lift_j^T slopes lift_k, without the rows of held coordinates."""
    left = par.lift[j]
    right = par.lift[k]
    middle = par.slopes[j, place]
    for a in range(7):
        free = par.moves[j] if a < 3 else par.turns[j]
        for c in range(6):
            total = 0.0
            for d in range(6):
                total += left[d, a] * middle[d, c]
            for b in range(7):
                out[a, b] += free * total * right[c, b]


def add_torque(z, n, j, par, out):
    """2 E(q)^T t/|q|^2 by q at constant t: 2 E(dq)^T t/|q|^2 - 4 (q.dq) E(q)^T t/|q|^4."""
    a11, a12, a13, a21, a22, a23, a31, a32, a33 = body_rotation(z, n, j)
    k = 3 * n + 4 * j
    f = 2.0 * par.turns[j] / (z[k] * z[k] + z[k + 1] * z[k + 1] + z[k + 2] * z[k + 2] + z[k + 3] * z[k + 3])
    u1 = par.tau[j, 0]
    u2 = par.tau[j, 1]
    u3 = par.tau[j, 2]
    t = (a11 * u1 + a12 * u2 + a13 * u3, a21 * u1 + a22 * u2 + a23 * u3, a31 * u1 + a32 * u2 + a33 * u3)
    for i in range(3):
        for b in range(4):
            unit = e_row(i, equal(b, 0), equal(b, 1), equal(b, 2), equal(b, 3))
            for a in range(4):
                out[3 + a, 3 + b] += f * t[i] * (unit[a] - z[k + b] * par.lift[j, 3 + i, 3 + a])


def add_kinetic(z, n, j, par, out):
    """Derivatives of p/m, G(q)^T w and G(g)^T w, w = J^-1 G(q) g/4, with G(dq) g = -G(g) dq."""
    for a in range(3):
        out[1, a, a] += par.moves[j] / par.mass[j]
    k = 3 * n + 4 * j
    l = 10 * n + 4 * j
    for i in range(3):
        q = g_row(i, z[k], z[k + 1], z[k + 2], z[k + 3])
        g = g_row(i, z[l], z[l + 1], z[l + 2], z[l + 3])
        f = 0.25 * par.turns[j] * par.inverse[j, i]
        w = f * (q[0] * z[l] + q[1] * z[l + 1] + q[2] * z[l + 2] + q[3] * z[l + 3])
        for b in range(4):
            unit = g_row(i, equal(b, 0), equal(b, 1), equal(b, 2), equal(b, 3))
            for a in range(4):
                out[0, 3 + a, 3 + b] += w * unit[a] - f * q[a] * g[b]
                out[1, 3 + a, 3 + b] += f * q[a] * q[b]
                out[2, 3 + a, 3 + b] -= f * g[a] * g[b]
                out[3, 3 + a, 3 + b] += w * unit[a] + f * g[a] * q[b]


def g_row(i, q0, q1, q2, q3):
    """Row i of G(q)."""
    if i == 0:
        return -q1, q0, q3, -q2
    if i == 1:
        return -q2, -q3, q0, q1
    return -q3, q2, -q1, q0


def e_row(i, q0, q1, q2, q3):
    """Row i of E(q)."""
    if i == 0:
        return -q1, q0, -q3, q2
    if i == 1:
        return -q2, q3, q0, -q1
    return -q3, -q2, q1, q0


def equal(a, b):
    """1 or 0."""
    return 1.0 if a == b else 0.0
