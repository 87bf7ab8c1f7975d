"""Kernels of one joint: its rows, and what its multipliers do to its two bodies.

All rows are written in invariants of the relative motion of parent I and child J, so that multipliers conserve momentum:

    s_kl = q_k^I . q_l^J,    g_k = q_k^I . D,    D = r_J - r_I,    E = V_J - V_I
    Phi  = sum_kl x_k y_l s_kl  [+ x . g]  [+ q_a^J . D]  + constant
    f    = dPhi/dt = sum_kl s_kl ((W_I x x)_k y_l [+ x_k (W_J x y)_l])  [+ (W_I x x) . g + sum_k x_k q_k^I . E]
                     [+ q_a^J . E + (W_J x Y)_a]

with the terms of planes, of points and of all but points in brackets; V and W are velocities (body angular velocities) times the
step. The point rows stand in the axes of the child, and their f uses that the points meet: f must be invariant under
rotations, or the step loses angular momentum. Discrete derivatives are those of products: d(w s) = wbar ds + sbar dw with
ds = Abar.dB + Bbar.dA, where sbar is the mean of the end values of s [gonzalez1999].

A pair of bodies at one node is 42 numbers: Q_I (9, row by row), Q_J (9), D, E, W_I, W_J (3 each), s (9), g (3).
"""

import math

from .joints import PLANE, POINT, SCREW
from .layout import Joint, Row, RowSort


def pair_at(node, i, j, a):
    """The pair of bodies i and j; i = -1 is the ground, the last row of `node`."""
    for k in range(9):
        a[k] = node[i, 3 + k]
        a[9 + k] = node[j, 3 + k]
    for k in range(3):
        a[18 + k] = node[j, k] - node[i, k]
        a[21 + k] = node[j, 12 + k] - node[i, 12 + k]
        a[24 + k] = node[i, 15 + k]
        a[27 + k] = node[j, 15 + k]
    products(a)


def products(a):
    """s and g from the rest."""
    for k in range(3):
        q1 = a[k]
        q2 = a[3 + k]
        q3 = a[6 + k]
        for l in range(3):
            a[30 + 3 * k + l] = q1 * a[9 + l] + q2 * a[12 + l] + q3 * a[15 + l]
        a[39 + k] = q1 * a[18] + q2 * a[19] + q3 * a[20]


def cross(a1, a2, a3, b1, b2, b3):
    """a x b."""
    return a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1


def times(s, y1, y2, y3):
    """s y for the nine numbers s."""
    return (
        s[0] * y1 + s[1] * y2 + s[2] * y3, s[3] * y1 + s[4] * y2 + s[5] * y3, s[6] * y1 + s[7] * y2 + s[8] * y3,
    )  # fmt: skip


def transposed_times(s, x1, x2, x3):
    """s^T x."""
    return (
        s[0] * x1 + s[3] * x2 + s[6] * x3, s[1] * x1 + s[4] * x2 + s[7] * x3, s[2] * x1 + s[5] * x2 + s[8] * x3,
    )  # fmt: skip


def row_values(joint, row, sort, a, phi, rate):
    """Phi (but for the angle of a screw) and f of all rows of a joint, for the pair a."""
    s = a[30:39]
    for r in range(row.shape[0]):
        x1, x2, x3 = row[r, 0], row[r, 1], row[r, 2]
        y1, y2, y3 = row[r, 3], row[r, 4], row[r, 5]
        kind = sort[r, RowSort.KIND]
        t1, t2, t3 = times(s, y1, y2, y3)
        o1, o2, o3 = cross(a[24], a[25], a[26], x1, x2, x3)
        if kind >= PLANE:
            t1 += a[39]
            t2 += a[40]
            t3 += a[41]
        value = row[r, Row.CONSTANT] + x1 * t1 + x2 * t2 + x3 * t3
        speed = o1 * t1 + o2 * t2 + o3 * t3
        if kind == POINT:
            l = sort[r, RowSort.POINT_AXIS]
            value += a[9 + l] * a[18] + a[12 + l] * a[19] + a[15 + l] * a[20]
            speed += a[9 + l] * a[21] + a[12 + l] * a[22] + a[15 + l] * a[23]
            c1, c2, c3 = cross(a[27], a[28], a[29], joint[0], joint[1], joint[2])
            speed += y1 * c1 + y2 * c2 + y3 * c3  # y is e_a
        else:
            v1, v2, v3 = transposed_times(s, x1, x2, x3)
            c1, c2, c3 = cross(a[27], a[28], a[29], y1, y2, y3)
            speed += c1 * v1 + c2 * v2 + c3 * v3
            if kind >= PLANE:
                e1 = a[0] * a[21] + a[3] * a[22] + a[6] * a[23]
                e2 = a[1] * a[21] + a[4] * a[22] + a[7] * a[23]
                e3 = a[2] * a[21] + a[5] * a[22] + a[8] * a[23]
                speed += x1 * e1 + x2 * e2 + x3 * e3
            if kind == SCREW:
                turn = 0.0
                for l in range(3):
                    turn += joint[Joint.AXIS_IMAGE + l] * a[27 + l] - joint[Joint.TRIAD + 0 + l] * a[24 + l]
                speed -= joint[Joint.PITCH] * turn
        phi[r] = value
        rate[r] = speed


def joint_wrench(joint, row, sort, a, b, lam, both, mean, c, out):
    """What the multipliers do between the nodes a and b: the discrete derivative of lam.(Phi, f), into out.

    out: on D (3), on E (3), on W_I (3), on W_J (3), torques on I (3) and on J (3), in space. lam: one number per row for Phi, then,
    if both is 1, one per row for f. The result is linear in lam and affine in each of Q_I, Q_J, D, E, W_I, W_J of b alone.
    """
    m = row.shape[0]
    for l in range(21):
        c[l] = 0.0
    for l in range(42):
        mean[l] = 0.5 * (a[l] + b[l])
    s = mean[30:39]
    wi1, wi2, wi3 = 0.0, 0.0, 0.0
    wj1, wj2, wj3 = 0.0, 0.0, 0.0
    for r in range(m):
        force = lam[r]
        impulse = 0.0
        if both == 1:
            impulse = lam[m + r]
        if force == 0.0 and impulse == 0.0:
            continue
        x1, x2, x3 = row[r, 0], row[r, 1], row[r, 2]
        y1, y2, y3 = row[r, 3], row[r, 4], row[r, 5]
        kind = sort[r, RowSort.KIND]
        o1, o2, o3 = cross(mean[24], mean[25], mean[26], x1, x2, x3)
        f1 = force * x1 + impulse * o1
        f2 = force * x2 + impulse * o2
        f3 = force * x3 + impulse * o3
        t1, t2, t3 = times(s, y1, y2, y3)
        if kind == POINT:
            l = sort[r, RowSort.POINT_AXIS]
            c[12 + l] += force
            c[18 + l] += impulse
            d1, d2, d3 = cross(joint[0], joint[1], joint[2], y1, y2, y3)
            c1, c2, c3 = 0.0, 0.0, 0.0
        else:
            v1, v2, v3 = transposed_times(s, x1, x2, x3)
            d1, d2, d3 = cross(y1, y2, y3, v1, v2, v3)
            c1, c2, c3 = cross(mean[27], mean[28], mean[29], y1, y2, y3)
            if kind >= PLANE:
                t1 += mean[39]
                t2 += mean[40]
                t3 += mean[41]
                c[9] += f1
                c[10] += f2
                c[11] += f3
                c[15] += impulse * x1
                c[16] += impulse * x2
                c[17] += impulse * x3
            if kind == SCREW:
                pitch = impulse * joint[Joint.PITCH]
                wi1 += pitch * joint[Joint.TRIAD + 0 + 0]
                wi2 += pitch * joint[Joint.TRIAD + 0 + 1]
                wi3 += pitch * joint[Joint.TRIAD + 0 + 2]
                wj1 -= pitch * joint[Joint.AXIS_IMAGE + 0]
                wj2 -= pitch * joint[Joint.AXIS_IMAGE + 1]
                wj3 -= pitch * joint[Joint.AXIS_IMAGE + 2]
        e1, e2, e3 = cross(x1, x2, x3, t1, t2, t3)
        wi1 += impulse * e1
        wi2 += impulse * e2
        wi3 += impulse * e3
        wj1 += impulse * d1
        wj2 += impulse * d2
        wj3 += impulse * d3
        i1 = impulse * c1
        i2 = impulse * c2
        i3 = impulse * c3
        c[0] += f1 * y1 + x1 * i1
        c[1] += f1 * y2 + x1 * i2
        c[2] += f1 * y3 + x1 * i3
        c[3] += f2 * y1 + x2 * i1
        c[4] += f2 * y2 + x2 * i2
        c[5] += f2 * y3 + x2 * i3
        c[6] += f3 * y1 + x3 * i1
        c[7] += f3 * y2 + x3 * i2
        c[8] += f3 * y3 + x3 * i3
    out[6] = wi1
    out[7] = wi2
    out[8] = wi3
    out[9] = wj1
    out[10] = wj2
    out[11] = wj3
    spread(c, mean, out)


def spread(c, mean, out):
    """Coefficients of ds (9), d(q^I.D), d(q^J.D), d(q^I.E), d(q^J.E) (3 each) -> forces and torques on the bodies."""
    ai1, ai2, ai3 = times(mean[0:9], c[9], c[10], c[11])
    aj1, aj2, aj3 = times(mean[9:18], c[12], c[13], c[14])
    bi1, bi2, bi3 = times(mean[0:9], c[15], c[16], c[17])
    bj1, bj2, bj3 = times(mean[9:18], c[18], c[19], c[20])
    d1, d2, d3 = mean[18], mean[19], mean[20]
    e1, e2, e3 = mean[21], mean[22], mean[23]
    t1, t2, t3 = 0.0, 0.0, 0.0
    for k in range(3):
        u1, u2, u3 = times(mean[9:18], c[3 * k], c[3 * k + 1], c[3 * k + 2])
        v1, v2, v3 = cross(mean[k], mean[3 + k], mean[6 + k], u1, u2, u3)
        t1 += v1
        t2 += v2
        t3 += v3
    out[0] = ai1 + aj1
    out[1] = ai2 + aj2
    out[2] = ai3 + aj3
    out[3] = bi1 + bj1
    out[4] = bi2 + bj2
    out[5] = bi3 + bj3
    v1, v2, v3 = cross(ai1, ai2, ai3, d1, d2, d3)
    w1, w2, w3 = cross(bi1, bi2, bi3, e1, e2, e3)
    out[12] = t1 + v1 + w1
    out[13] = t2 + v2 + w2
    out[14] = t3 + v3 + w3
    v1, v2, v3 = cross(aj1, aj2, aj3, d1, d2, d3)
    w1, w2, w3 = cross(bj1, bj2, bj3, e1, e2, e3)
    out[15] = -t1 + v1 + w1
    out[16] = -t2 + v2 + w2
    out[17] = -t3 + v3 + w3


# The angle about an axis -------------------------------------------------------------------------------------------------


def angle_parts(joint, a):
    """(u, w) = (cos, sin) of the angle of a joint: u = (Q_I b).(Q_J bJ), w = (Q_I c).(Q_J bJ)."""
    y1, y2, y3 = joint[Joint.SECOND_IMAGE + 0], joint[Joint.SECOND_IMAGE + 1], joint[Joint.SECOND_IMAGE + 2]
    t1, t2, t3 = times(a[30:39], y1, y2, y3)
    u = joint[Joint.TRIAD + 3 + 0] * t1 + joint[Joint.TRIAD + 3 + 1] * t2 + joint[Joint.TRIAD + 3 + 2] * t3
    w = joint[Joint.TRIAD + 6 + 0] * t1 + joint[Joint.TRIAD + 6 + 1] * t2 + joint[Joint.TRIAD + 6 + 2] * t3
    return u, w


def turned_by(u0, w0, u1, w1):
    """The increment of the angle between two nodes, in (-pi, pi]."""
    return math.atan2(u0 * w1 - u1 * w0, u0 * u1 + w0 * w1)


def over_sine(d):
    """d / sin(d), and its derivative."""
    s = math.sin(d)
    if abs(s) < 0.05 and math.cos(d) > 0.0:
        t = s * s
        value = 1.0 + t * (1.0 / 6.0 + t * (3.0 / 40.0 + t * (15.0 / 336.0 + t * 105.0 / 3456.0)))
        return value, s * (1.0 / 3.0 + t * (3.0 / 10.0 + t * 15.0 / 56.0)) * math.cos(d)
    return d / s, (s - d * math.cos(d)) / (s * s)


def angle_torque(joint, a, b, u, w):
    """The torque on I of the discrete derivative of the angle (that on J is opposite), but for d/sin(d); u, w are means.

    D theta = d/sin(d) (u Dw - w Du), since u dw - w du = sin(d) between the nodes.
    """
    b1, b2, b3 = 0.0, 0.0, 0.0
    n1, n2, n3 = 0.0, 0.0, 0.0
    for l in range(3):
        y = joint[Joint.SECOND_IMAGE + l]
        b1 += 0.5 * y * (a[9 + l] + b[9 + l])
        b2 += 0.5 * y * (a[12 + l] + b[12 + l])
        b3 += 0.5 * y * (a[15 + l] + b[15 + l])
        x = u * joint[Joint.TRIAD + 6 + l] - w * joint[Joint.TRIAD + 3 + l]
        n1 += 0.5 * x * (a[l] + b[l])
        n2 += 0.5 * x * (a[3 + l] + b[3 + l])
        n3 += 0.5 * x * (a[6 + l] + b[6 + l])
    return cross(n1, n2, n3, b1, b2, b3)
