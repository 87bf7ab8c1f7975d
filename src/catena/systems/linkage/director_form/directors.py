"""Kernels of the energy-momentum step as it was published: directors and their momenta, 24 unknowns for each body.

For each body q = (r, q1, q2, q3), p = (M v, p1, p2, p3), P = [p1 p2 p3] = Q skew(y)/2; with y/2 = Ghat(q) p and bars for means of both nodes:

    dr = h pbar_0/M,             dq = h Ghat(qbar)^T 4 J^-1 mean(Ghat(q) p)
    dp_0 = h M g - Phi_0^T L,    dp = -h Ghat(pbar)^T 4 J^-1 m + h C(qbar)^T g0 - (1 - C^T (C C^T)^-1 C) Phi_q^T L
    g0 = (C C^T)^-1 [C Ghat(pbar)^T + C(pbar) Ghat(qbar)^T] 4 J^-1 m,    m = mean(Ghat(p) q),    Phi(q1) = 0

C(q) p = 0 are the six conditions on directors [nielsen2013, where (23) lacks a factor h]. The same step as with six unknowns, at
many times the cost: Newton's matrix comes from differences. For small systems without forces but gravity. The momenta of a rod have no part
that belongs to a turn about itself: it has to be one that nothing notices (`thin`).
"""

from ....geometry.vectors import (
    ZERO,
    add,
    add3,
    add_down,
    clear,
    copy,
    cross,
    diagonal_times,
    dot,
    load3,
    load9,
    negative,
    scaled,
    store3,
    store_down,
    subtract,
    times,
)
from ....kernels import summation
from ....kernels.elimination import eliminate, substitute
from ....kernels.marks import Record
from ....kernels.views import OK, STEP_TOO_LONG
from ..layout import Coefficients, Link, Node, Pair, Scratch, Values, Wrench
from .clock import clock_part, gravity_now, time_place
from .drives import set_drives, work_between
from .rows import director, has_drives, pairs_of, values_near, wrench_of
from .steps import LARGEST_TURN, blame, set_node, set_turned, size_of_correction, turn_body

DIFFERENCE = 1e-6  # step of the differences, to the size of the unknowns
STILL = 1e-3  # the least that is taken for this size: directors are of length one, and differences of less are noise


class Body(Record):
    """par.directors[., i]: q and p of body i at the start, at the end, and their means; in x the changes."""

    POSITION = 3
    DIRECTORS = 9  # q1, q2, q3
    MOMENTUM = 3
    MOMENTA = 9  # p1, p2, p3


class Push(Record):
    """par.push[i]: what multipliers do to a body; the last is the ground, at which nobody looks."""

    FORCE = 3
    ON_DIRECTORS = 9


class Work(Record):
    """par.director_work."""

    UNIT = 6
    COLUMN = 9
    INSIDE = 6
    OTHER = 6
    VECTOR = 9


def begin(z, h, par, x):
    """Prepare a step from z: q and p of each body at the start into par.directors[0]."""
    set_node(z, h, par)
    time = z[time_place(par)]
    set_drives(time, time + h, time + h, time + 0.5 * h, h, par)
    for i in range(par.mass.shape[0]):
        a = par.node[0, i]
        own = par.directors[0, i]
        store3(own, Body.POSITION, load3(a, Node.POSITION))
        for l in range(3):
            own[Body.MOMENTUM + l] = par.mass[i] * a[Node.VELOCITY + l] / h
        y = diagonal_times(load3(par.moments[i], 0), load3(a, Node.SPIN))
        y = (y[0] / h, y[1] / h, y[2] / h)
        for l in range(3):
            q = load3(a, Node.DIRECTORS + 3 * l)
            store_down(own, Body.DIRECTORS + l, 3, q)
            store_down(own, Body.MOMENTA + l, 3, scaled(0.5, cross(q, y)))  # P = Q skew(y)/2


def guess(par, x):
    """The motion without forces."""
    clear(x, x.shape[0])
    for i in range(par.mass.shape[0]):
        a, b = par.node[0, i], par.node[1, i]
        own = x[Body.WIDTH * i : Body.WIDTH * (i + 1)]
        set_turned(a, load3(a, Node.SPIN), b)
        store3(own, Body.POSITION, load3(a, Node.VELOCITY))
        for k in range(3):
            gained = subtract(director(b, Node.DIRECTORS, k), director(a, Node.DIRECTORS, k))
            store3(own, Body.DIRECTORS + 3 * k, gained)


def hat_of(body):
    """Ghat(q) p = y/2 of a body."""
    total = ZERO
    for l in range(3):
        total = add(total, cross(director(body, Body.MOMENTA, l), director(body, Body.DIRECTORS, l)))
    return scaled(0.5, total)


def add_hat_transposed(q, a, scale, out):
    """out += scale Ghat(q)^T a."""
    for l in range(3):
        add_down(out, l, 3, scaled(0.5 * scale, cross(director(q, 0, l), a)))


def conditions(q, p, out):
    """C(q) p, six numbers."""
    clear(out, 6)
    for l in range(3):
        for k in range(3):
            m = 3 * ((k + 1) % 3) + l
            n = 3 * ((k + 2) % 3) + l
            out[k] += q[3 * k + l] * p[3 * k + l]
            out[3 + k] += q[n] * p[m] + q[m] * p[n]


def add_conditions_transposed(q, a, scale, out):
    """out += scale C(q)^T a."""
    for l in range(3):
        out[l] += scale * (a[0] * q[l] + a[4] * q[6 + l] + a[5] * q[3 + l])
        out[3 + l] += scale * (a[1] * q[3 + l] + a[3] * q[6 + l] + a[5] * q[l])
        out[6 + l] += scale * (a[2] * q[6 + l] + a[3] * q[3 + l] + a[4] * q[l])


def solve_conditions(q, a, par):
    """a := (C C^T)^-1 a for six numbers a."""
    t = par.block
    unit = par.director_work[Work.UNIT : Work.COLUMN]
    column = par.director_work[Work.COLUMN : Work.INSIDE]
    for c in range(6):
        clear(unit, 6)
        unit[c] = 1.0
        clear(column, 9)
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
    for i in range(n):
        for l in range(Body.WIDTH):
            change = x[Body.WIDTH * i + l]
            par.directors[1, i, l] = par.directors[0, i, l] + change
            par.directors[2, i, l] = par.directors[0, i, l] + 0.5 * change
        body = par.directors[1, i]
        b = par.node[1, i]
        store3(b, Node.POSITION, load3(body, Body.POSITION))
        for l in range(3):
            store3(b, Node.DIRECTORS + 3 * l, director(body, Body.DIRECTORS, l))
        clear(par.push[i], Push.WIDTH)
    place = Body.WIDTH * n
    for k in range(par.link.shape[0]):
        m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
        push_directors(k, x[place : place + m], par, out[place : place + m])
        place += m
    for i in range(n):
        at = Body.WIDTH * i
        body_residual(i, h, x[at : at + Body.WIDTH], par, out[at : at + Body.WIDTH])


def body_residual(i, h, change, par, out):
    """The same of body i alone."""
    middle = par.directors[2, i]
    q = middle[Body.DIRECTORS : Body.MOMENTUM]
    p = middle[Body.MOMENTA : Body.WIDTH]
    momenta = out[Body.MOMENTA : Body.WIDTH]
    g = gravity_now(par)
    force = par.push[i, Push.ON_DIRECTORS : Push.WIDTH]
    inside = par.director_work[Work.INSIDE : Work.OTHER]
    sum_of_ends = scaled(2.0, add(hat_of(par.directors[0, i]), hat_of(par.directors[1, i])))
    # 4 J^-1 times the mean of Ghat(q) p; that of Ghat(p) q is its opposite
    m = (sum_of_ends[0] / par.moments[i, 0], sum_of_ends[1] / par.moments[i, 1], sum_of_ends[2] / par.moments[i, 2])
    copy(change, out, Body.WIDTH)
    for l in range(3):
        out[Body.POSITION + l] -= h * middle[Body.MOMENTUM + l] / par.mass[i]
        weight = h * par.mass[i] * g[l]
        out[Body.MOMENTUM + l] += par.push[i, Push.FORCE + l] - weight
    add_hat_transposed(q, m, -h, out[Body.DIRECTORS : Body.MOMENTUM])
    add_hat_transposed(p, m, -h, momenta)
    conditions(q, force, inside)
    for l in range(9):
        momenta[l] += force[l]
    add_crossed(q, p, m, h, inside, par)
    add_crossed(p, q, m, h, inside, par)
    solve_conditions(q, inside, par)
    add_conditions_transposed(q, inside, -1.0, momenta)


def add_crossed(q, p, m, h, inside, par):
    """Add -h C(q) Ghat(p)^T m to `inside`."""
    other = par.director_work[Work.OTHER : Work.VECTOR]
    vector = par.director_work[Work.VECTOR : Work.WIDTH]
    clear(vector, 9)
    add_hat_transposed(p, m, -1.0, vector)
    conditions(q, vector, other)
    for l in range(6):
        inside[l] += h * other[l]


def push_directors(k, lam, par, phi):
    """Add Phi_q(qbar)^T L of joint k to par.push (on r, q1, q2, q3 of each body), and write its rows at the end."""
    i, j = par.link[k, Link.PARENT], par.link[k, Link.CHILD]
    scratch = par.scratch
    a, b, _ = pairs_of(k, par.node[0], par)
    middle = scratch[Scratch.MEAN : Scratch.MEAN + Pair.WIDTH]
    c = scratch[Scratch.COEFFICIENTS : Scratch.COEFFICIENTS + Coefficients.WIDTH]
    values_near(k, b, b, par)
    for r in range(phi.shape[0]):
        phi[r] = scratch[Scratch.VALUES + Values.PHI + r]
    wrench_of(k, a, b, lam, par)
    force = load3(scratch, Scratch.OUT + Wrench.ON_GAP)
    add3(par.push[j], Push.FORCE, force)
    add3(par.push[i], Push.FORCE, negative(force))  # of the ground, the last body: nobody looks at it
    gap = load3(middle, Pair.GAP)
    for l in range(3):
        u = times(load9(middle, Pair.CHILD_AXES), load3(c, Coefficients.PRODUCTS + 3 * l))
        v = times(load9(middle, Pair.PARENT_AXES), director(c, Coefficients.PRODUCTS, l))
        add3(par.push[i], Push.ON_DIRECTORS + 3 * l, add(u, scaled(c[Coefficients.PARENT_GAP + l], gap)))
        add3(par.push[j], Push.ON_DIRECTORS + 3 * l, add(v, scaled(c[Coefficients.CHILD_GAP + l], gap)))


def correct(z, h, par, x):
    """One Newton correction of x, with central differences for the matrix; its relative size, or -1."""
    total = x.shape[0]
    width = total + 1
    n = par.mass.shape[0]
    big = par.dense
    up = par.director_residual[0]
    down = par.director_residual[1]
    size = STILL
    for k in range(Body.WIDTH * n):
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
    return add_correction(par, x)


def add_correction(par, x):
    """Add par.delta to x; its size, relative to the motion it leads to (from rest there is none before it), or -1."""
    largest = 0.0
    moved = 0.0
    twisted = 0.0
    scale = 0.0
    for k in range(x.shape[0]):
        x[k] += par.delta[k]
    for i in range(par.mass.shape[0]):
        for l in range(Body.WIDTH):
            change = abs(par.delta[Body.WIDTH * i + l])
            scale = max(scale, abs(x[Body.WIDTH * i + l]))
            if not change <= largest:
                largest = change
            if l < Body.DIRECTORS:
                moved = max(moved, change)
            elif l < Body.MOMENTUM:  # momenta follow
                twisted = max(twisted, change)
    if not largest < 1e300:
        return -1.0
    return size_of_correction(largest, moved, twisted, scale, par)


def accept(z, e, h, par, x):
    """The state at the end of the step, if no body turns by more than a quarter turn; a status."""
    n = par.mass.shape[0]
    residual(h, x, par, par.director_residual[0])
    for i in range(n):
        c = turn_between(par.node[0, i], x[Body.WIDTH * i + Body.DIRECTORS : Body.WIDTH * i + Body.MOMENTUM])
        store3(par.node[1, i], Node.TURN, c)
        store3(par.node[1, i], Node.MOVE, load3(x, Body.WIDTH * i + Body.POSITION))
        if not dot(c, c) <= LARGEST_TURN:
            return STEP_TOO_LONG
    blame(par)
    for i in range(n):
        own = x[Body.WIDTH * i : Body.WIDTH * (i + 1)]
        gained = scaled(2.0, subtract(hat_of(par.directors[1, i]), hat_of(par.directors[0, i])))
        summation.add3(z, e, 3 * i, load3(own, Body.POSITION))
        summation.add3(z, e, 7 * n + 3 * i, load3(own, Body.MOMENTUM))
        summation.add3(z, e, 10 * n + 3 * i, gained)
        turn_body(z, e, n, i, load3(par.node[1, i], Node.TURN))
    time = time_place(par)
    if has_drives():
        work_between(z, e, 1.0 / h, x[Body.WIDTH * n :], par)
    clock_part(z, e, h, z[time], par)
    summation.add(z, e, time, h)
    return OK


def turn_between(a, d):
    """c of R = Q0^T Q1 = 1 + Q0^T dQ for a change d of the directors of a node: 2 axial(R)/(1 + trace R)."""
    trace = 4.0
    axial = ZERO
    for k in range(3):
        for l in range(3):
            trace += a[Node.DIRECTORS + 3 * l + k] * d[3 * k + l]
    for l in range(3):
        # sums over l of q_b d_a - q_a d_b for the axes a, b behind each axis
        axial = add(axial, cross(director(d, 0, l), load3(a, Node.DIRECTORS + 3 * l)))
    axial = scaled(2.0, axial)
    return axial[0] / trace, axial[1] / trace, axial[2] / trace
