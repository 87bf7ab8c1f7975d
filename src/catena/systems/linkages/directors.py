"""Kernels of the energy-momentum step as it was published: directors and their momenta, 24 unknowns for each body.

For each body q = (r, q1, q2, q3), p = (M v, p1, p2, p3), P = [p1 p2 p3] = Q skew(y)/2; with y/2 = Ghat(q) p and bars for means of both nodes:

    dr = h pbar_0/M,             dq = h Ghat(qbar)^T 4 J^-1 mean(Ghat(q) p)
    dp_0 = h M g - Phi_0^T L,    dp = -h Ghat(pbar)^T 4 J^-1 m + h C(qbar)^T g0 - (1 - C^T (C C^T)^-1 C) Phi_q^T L
    g0 = (C C^T)^-1 [C Ghat(pbar)^T + C(pbar) Ghat(qbar)^T] 4 J^-1 m,    m = mean(Ghat(p) q),    Phi(q1) = 0

C(q) p = 0 are the six conditions on directors [nielsen2013, where (23) lacks a factor h]. The same step as with six unknowns, at
many times the cost: Newton's matrix comes from differences. For small systems without forces but gravity.
"""

from ...geometry.quaternion import cayley, hold_length, turn_right
from ...summation import add
from ...views import OK, STEP_TOO_LONG
from .layout import Link, Node, Pair, Scratch, Space
from .rows import joint_wrench, pair_at, row_values, times
from .solver import eliminate, substitute
from .steps import LARGEST_TURN, blame, is_noise, set_node, turned

DIFFERENCE = 1e-6  # step of the differences, to the size of the unknowns
STILL = 1e-3  # the least that is taken for this size: directors are of length one, and differences of less are noise


def begin(z, h, par, x):
    """Prepare a step from z: q and p of each body at the start into par.directors[0]."""
    n = par.mass.shape[0]
    set_node(z, h, par)
    for i in range(n):
        a = par.node[0, i]
        own = par.directors[0, i]
        for l in range(3):
            own[l] = a[l]
            own[12 + l] = par.mass[i] * a[12 + l] / h
            for k in range(3):
                own[3 + 3 * k + l] = a[3 + 3 * l + k]
        y1 = par.moments[i, 0] * a[15] / h
        y2 = par.moments[i, 1] * a[16] / h
        y3 = par.moments[i, 2] * a[17] / h
        for l in range(3):  # P = Q skew(y)/2
            q = a[3 + 3 * l : 6 + 3 * l]
            own[15 + l] = 0.5 * (q[1] * y3 - q[2] * y2)
            own[18 + l] = 0.5 * (q[2] * y1 - q[0] * y3)
            own[21 + l] = 0.5 * (q[0] * y2 - q[1] * y1)


def guess(par, x):
    """The motion without forces."""
    n = par.mass.shape[0]
    for k in range(x.shape[0]):
        x[k] = 0.0
    for i in range(n):
        a = par.node[0, i]
        turned(a[3:12], a[15], a[16], a[17], par.node[1, i, 3:12])
        for l in range(3):
            x[24 * i + l] = a[12 + l]
            for k in range(3):
                x[24 * i + 3 + 3 * k + l] = par.node[1, i, 3 + 3 * l + k] - a[3 + 3 * l + k]


def hat(q, p):
    """Ghat(q) p = y/2 for three directors q and three momenta p, nine numbers each."""
    s = 0.0
    t = 0.0
    u = 0.0
    for l in range(3):
        s += q[6 + l] * p[3 + l] - q[3 + l] * p[6 + l]
        t += q[l] * p[6 + l] - q[6 + l] * p[l]
        u += q[3 + l] * p[l] - q[l] * p[3 + l]
    return 0.5 * s, 0.5 * t, 0.5 * u


def add_hat_transposed(q, a1, a2, a3, scale, out):
    """out += scale Ghat(q)^T a."""
    half = 0.5 * scale
    for l in range(3):
        out[l] += half * (a3 * q[3 + l] - a2 * q[6 + l])
        out[3 + l] += half * (a1 * q[6 + l] - a3 * q[l])
        out[6 + l] += half * (a2 * q[l] - a1 * q[3 + l])


def conditions(q, p, out):
    """C(q) p, six numbers."""
    for k in range(6):
        out[k] = 0.0
    for l in range(3):
        out[0] += q[l] * p[l]
        out[1] += q[3 + l] * p[3 + l]
        out[2] += q[6 + l] * p[6 + l]
        out[3] += q[6 + l] * p[3 + l] + q[3 + l] * p[6 + l]
        out[4] += q[6 + l] * p[l] + q[l] * p[6 + l]
        out[5] += q[3 + l] * p[l] + q[l] * p[3 + l]


def add_conditions_transposed(q, a, scale, out):
    """out += scale C(q)^T a."""
    for l in range(3):
        out[l] += scale * (a[0] * q[l] + a[4] * q[6 + l] + a[5] * q[3 + l])
        out[3 + l] += scale * (a[1] * q[3 + l] + a[3] * q[6 + l] + a[5] * q[l])
        out[6 + l] += scale * (a[2] * q[6 + l] + a[3] * q[3 + l] + a[4] * q[l])


def solve_conditions(q, a, par):
    """a := (C C^T)^-1 a for six numbers a."""
    t = par.block
    for c in range(6):
        unit = par.director_work[0:6]
        column = par.director_work[6:15]
        for k in range(6):
            unit[k] = 0.0
        unit[c] = 1.0
        for k in range(9):
            column[k] = 0.0
        add_conditions_transposed(q, unit, 1.0, column)
        conditions(q, column, unit)
        for k in range(6):
            t[7 * k + c] = unit[k]
    for k in range(6):
        t[7 * k + 6] = a[k]
    eliminate(t, 6, 6, 7)
    substitute(t, 6, 7, a)


def residual(h, x, par, out):
    """What is missing in the equations, for unknowns x: q1 - q0 and p1 - p0 of each body, then L = h lambda of each row."""
    n = par.mass.shape[0]
    work = par.director_work
    for i in range(n):
        for l in range(24):
            par.directors[1, i, l] = par.directors[0, i, l] + x[24 * i + l]
            par.directors[2, i, l] = par.directors[0, i, l] + 0.5 * x[24 * i + l]
        for l in range(3):
            par.node[1, i, l] = par.directors[1, i, l]
            for k in range(3):
                par.node[1, i, 3 + 3 * l + k] = par.directors[1, i, 3 + 3 * k + l]
            for k in range(4):
                par.push[i, 3 * k + l] = 0.0
    place = 24 * n
    for k in range(par.link.shape[0]):
        m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
        push_directors(k, x[place : place + m], par, out[place : place + m])
        place += m
    for i in range(n):
        first = par.directors[0, i]
        last = par.directors[1, i]
        mean = par.directors[2, i]
        own = out[24 * i : 24 * i + 24]
        d = x[24 * i : 24 * i + 24]
        a1, a2, a3 = hat(first[3:12], first[15:24])
        b1, b2, b3 = hat(last[3:12], last[15:24])
        # 4 J^-1 times the mean of Ghat(q) p; that of Ghat(p) q is its opposite
        m1 = 2.0 * (a1 + b1) / par.moments[i, 0]
        m2 = 2.0 * (a2 + b2) / par.moments[i, 1]
        m3 = 2.0 * (a3 + b3) / par.moments[i, 2]
        for l in range(24):
            own[l] = d[l]
        for l in range(3):
            own[l] -= h * mean[12 + l] / par.mass[i]
            own[12 + l] += par.push[i, l] - h * par.mass[i] * par.space[Space.GRAVITY + l]
        add_hat_transposed(mean[3:12], m1, m2, m3, -h, own[3:12])
        add_hat_transposed(mean[15:24], m1, m2, m3, -h, own[15:24])
        q = mean[3:12]
        force = par.push[i, 3:12]
        inside = work[15:21]
        other = work[21:27]
        vector = work[27:36]
        conditions(q, force, inside)
        for l in range(9):
            own[15 + l] += force[l]
            vector[l] = 0.0
        add_hat_transposed(mean[15:24], m1, m2, m3, -1.0, vector)
        conditions(q, vector, other)
        for l in range(6):
            inside[l] += h * other[l]
        for l in range(9):
            vector[l] = 0.0
        add_hat_transposed(q, m1, m2, m3, -1.0, vector)
        conditions(mean[15:24], vector, other)
        for l in range(6):
            inside[l] += h * other[l]
        solve_conditions(q, inside, par)
        add_conditions_transposed(q, inside, -1.0, own[15:24])


def push_directors(k, lam, par, phi):
    """Add Phi_q(qbar)^T L of joint k to par.push (on r, q1, q2, q3 of each body), and write its rows at the end."""
    i = par.link[k, Link.PARENT]
    j = par.link[k, Link.CHILD]
    first = par.link[k, Link.FIRST_ROW]
    end = par.link[k, Link.END_ROW]
    scratch = par.scratch
    a = scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH]
    b = scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH]
    mean = scratch[Scratch.MEAN : Scratch.MEAN + Pair.WIDTH]
    c = scratch[Scratch.COEFFICIENTS : Scratch.OUT]
    pair_at(par.node[0], i, j, a)
    pair_at(par.node[1], i, j, b)
    row = par.row[first:end]
    sort = par.row_sort[first:end]
    row_values(par.joint[k], row, sort, b, phi, scratch[Scratch.VALUES + 6 : Scratch.VALUES + 12])
    joint_wrench(par.joint[k], row, sort, a, b, lam, 0, mean, c, scratch[Scratch.OUT : Scratch.OUT + 18])
    for l in range(3):
        par.push[j, l] += scratch[Scratch.OUT + l]
        par.push[i, l] -= scratch[Scratch.OUT + l]  # of the ground, the last body: nobody looks at it
    for k3 in range(3):
        u1, u2, u3 = times(mean[9:18], c[3 * k3], c[3 * k3 + 1], c[3 * k3 + 2])
        v1, v2, v3 = times(mean[0:9], c[k3], c[3 + k3], c[6 + k3])
        for l in range(3):
            par.push[i, 3 + 3 * k3 + l] += (u1, u2, u3)[l] + c[9 + k3] * mean[18 + l]
            par.push[j, 3 + 3 * k3 + l] += (v1, v2, v3)[l] + c[12 + k3] * mean[18 + l]


def correct(z, h, par, x):
    """One Newton correction of x, with central differences for the matrix; its relative size, or -1."""
    total = x.shape[0]
    width = total + 1
    n = par.mass.shape[0]
    big = par.dense
    up = par.director_residual[0]
    down = par.director_residual[1]
    size = STILL
    for k in range(24 * n):
        size = max(size, abs(x[k]))
    step = DIFFERENCE * size
    for k in range(total):
        before = x[k]
        x[k] = before + step
        residual(h, x, par, up)
        x[k] = before - step
        residual(h, x, par, down)
        x[k] = before
        for r in range(total):
            big[r * width + k] = (up[r] - down[r]) / (2.0 * step)
    residual(h, x, par, up)
    for r in range(total):
        big[r * width + total] = -up[r]
    if eliminate(big, total, total, width) != 0:
        return -1.0
    substitute(big, total, width, par.delta)
    return added_correction(par, x)


def added_correction(par, x):
    """Add par.delta to x; its size, relative to the motion it leads to (from rest there is none before it), or -1."""
    largest = 0.0
    moved = 0.0
    twisted = 0.0
    scale = 0.0
    for k in range(x.shape[0]):
        x[k] += par.delta[k]
    for i in range(par.mass.shape[0]):
        for l in range(24):
            change = abs(par.delta[24 * i + l])
            scale = max(scale, abs(x[24 * i + l]))
            if not change <= largest:
                largest = change
            if l < 3:
                moved = max(moved, change)
            elif l < 12:  # momenta follow
                twisted = max(twisted, change)
    if not largest < 1e300:
        return -1.0
    if is_noise(moved, twisted, par):
        return 0.0
    return largest / scale if scale > 0.0 else 1.0


def accept(z, e, h, par, x):
    """The state at the end of the step, if no body turns by more than a quarter turn; a status."""
    n = par.mass.shape[0]
    residual(h, x, par, par.director_residual[0])
    for i in range(n):
        q = par.node[0, i, 3:12]
        d = x[24 * i + 3 : 24 * i + 12]
        # R = Q0^T Q1 = 1 + Q0^T dQ; c = 2 axial(R)/(1 + trace R)
        trace = 4.0
        for k in range(3):
            for l in range(3):
                trace += q[3 * l + k] * d[3 * k + l]
        for k in range(3):
            a = (k + 1) % 3
            b = (k + 2) % 3
            value = 0.0
            for l in range(3):
                value += q[3 * l + b] * d[3 * a + l] - q[3 * l + a] * d[3 * b + l]
            par.node[1, i, Node.TURN + k] = 2.0 * value / trace
        c = par.node[1, i, Node.TURN : Node.TURN + 3]
        if not c[0] * c[0] + c[1] * c[1] + c[2] * c[2] <= LARGEST_TURN:
            return STEP_TOO_LONG
    blame(par)
    for i in range(n):
        c = par.node[1, i, Node.TURN : Node.TURN + 3]
        before = par.directors[0, i]
        after = par.directors[1, i]
        a1, a2, a3 = hat(before[3:12], before[15:24])
        b1, b2, b3 = hat(after[3:12], after[15:24])
        for l in range(3):
            add(z, e, 3 * i + l, x[24 * i + l])
            add(z, e, 7 * n + 3 * i + l, x[24 * i + 12 + l])
            add(z, e, 10 * n + 3 * i + l, 2.0 * ((b1, b2, b3)[l] - (a1, a2, a3)[l]))
        q = z[3 * n + 4 * i : 3 * n + 4 * i + 4]
        error = e[3 * n + 4 * i : 3 * n + 4 * i + 4]
        q1, q2, q3, q4 = cayley(0.5 * c[0], 0.5 * c[1], 0.5 * c[2])
        turn_right(q, error, q1, q2, q3, q4)
        hold_length(q, error)
    add(z, e, 13 * n + 6 * par.link.shape[0], h)
    return OK
