"""Linear equations with the derivative of the field of a linkage with closed loops: as many unknowns as a chart has.

The field F(z) = f(Pi(z)) first puts z on the surface (`charts`), so it depends on the coordinates phi and the rates u of the chart alone, and
on the lengths of quaternions that are not solved for. Its derivative is J = D L, where L takes these numbers from a change of z and the
columns of D are the changes of F by each of them. Hence (1 - h J) x = r has the solution

    x = r + h D y,      (1 - h L D) y = L r.

On the surface G u = 0, with the derivatives G of the rows kept by the rates of all joints. Of these some (s) are solved for, and a change
of the others (c) takes them along:

    dphi_s = -G_s^-1 G_c dphi_c,      du_s = -G_s^-1 (G_c du_c + (dG u/dphi) dphi).

The accelerations change by A dphi + B du; `slopes` and `loop_slopes` give A and B with the loops held, and the derivatives of G u by
positions and by rates, which are G. What nothing depends on keeps its residual: time, work, angles of joints that close loops.

par.newton_slopes (2, f + rows, f): derivatives of udot, and below of the rates G u. newton_tangent (2, f): dphi and du. newton_columns: the columns
of D. par.tree_matrix is used again for the equations of what is solved for.
"""

from ....geometry.quaternion import load4, product, square, store4, with_vector
from ....geometry.vectors import add, cross, dot, load3, scaled
from ....kernels.elimination import eliminate, factorise, solve, substitute
from ....kernels.marks import Record
from ....kernels.views import OK, SINGULAR
from .charts import LoopRate, close_loops
from .motion import BALL, Link, clear, freedoms
from .slopes import Base, find_slopes


class Rate(Record):
    """par.newton_rates[k]."""

    NODE = 1
    NUMBER = 1  # in its node
    SOLVED = 1  # 1 if it is solved for
    CHART = 1  # not of this rate: those of the chart, then those solved for


def linearise_loops(z, par):
    """D at z; it stays as it was where there is no such point of the surface: the field tells, and the step fails."""
    if close_loops(z, par.tree_closed, par) != OK:
        return
    find_slopes(par.tree_closed, par)
    split_rates(par)
    if reduce_rows(par) != 0:
        return
    d = par.newton_tangent.shape[1] - par.tree_chart[0]
    for j in range(d):
        for moved in range(2):
            follow(j, moved, par)
            write_change(par, par.newton_columns[j if moved == 1 else d + j])
    count = 2 * d
    for i in range(1, par.tree_links.shape[0]):
        if is_stretched(i, par):
            write_stretch(par.tree_links[i, Link.COORDINATE], par.tree_base[i], par.newton_columns[count])
            count += 1


def split_rates(par):
    """The rates of the chart and those solved for, into par.newton_rates."""
    rates = par.newton_rates
    rank = par.tree_chart[0]
    for k in range(rates.shape[0]):
        rates[k, Rate.SOLVED] = 0
    for j in range(rank):
        rate = par.tree_rates[par.tree_chart[1 + rank + j]]
        k = par.newton_rows[rate[LoopRate.NODE]] + rate[LoopRate.NUMBER]
        rates[k, Rate.SOLVED] = 1
        rates[rates.shape[0] - rank + j, Rate.CHART] = k
    d = 0
    for k in range(rates.shape[0]):
        if rates[k, Rate.SOLVED] == 0:
            rates[d, Rate.CHART] = k
            d += 1


def is_stretched(i, par):
    """Whether node i is a ball that keeps the length of its quaternion: none of its rates is solved for."""
    if par.tree_links[i, Link.KIND] != BALL:
        return False
    solved = 0
    for k in range(3):
        solved += par.newton_rates[par.newton_rows[i] + k, Rate.SOLVED]
    return solved == 0


def reduce_rows(par):
    """par.tree_matrix = [G_s, G_c, dG u/dphi, right-hand side], eliminated; 0, or 1 if G_s is singular."""
    f = par.newton_tangent.shape[1]
    rank = par.tree_chart[0]
    width = 2 * f + 1
    t = par.tree_matrix
    for i in range(rank):
        for j in range(f):
            # those solved for stand first here
            k = par.newton_rates[(f - rank + j) % f, Rate.CHART]
            t[i * width + j] = par.newton_slopes[1, f + i, k]
            t[i * width + f + j] = par.newton_slopes[0, f + i, j]
        t[i * width + 2 * f] = 0.0
    return eliminate(t, rank, rank, width)


def follow(j, moved, par):
    """par.newton_tangent for a unit change of coordinate j of the chart (moved = 1) or of its rate (0)."""
    f = par.newton_tangent.shape[1]
    rank = par.tree_chart[0]
    width = 2 * f + 1
    t = par.tree_matrix
    clear(par.newton_tangent[0], 0, f)
    clear(par.newton_tangent[1], 0, f)
    for level in range(1 - moved, 2):
        # first dphi, then the du that goes with it; or du alone
        change = par.newton_tangent[level]
        if level == 1 - moved:
            change[par.newton_rates[j, Rate.CHART]] = 1.0
        for i in range(rank):
            total = -t[i * width + rank + j]
            if level > 1 - moved:
                total = 0.0
                for k in range(f):
                    total -= t[i * width + f + k] * par.newton_tangent[0, k]
            t[i * width + width - 1] = total
        substitute(t, rank, width, par.tree_multipliers)
        for i in range(rank):
            change[par.newton_rates[f - rank + i, Rate.CHART]] = par.tree_multipliers[i]


def write_change(par, out):
    """The change of the field with par.newton_tangent."""
    phi = par.newton_tangent[0]
    u = par.newton_tangent[1]
    clear(out, 0, out.shape[0])
    for i in range(1, par.tree_links.shape[0]):
        link = par.tree_links[i]
        at = par.newton_rows[i]
        for k in range(freedoms(link)):
            total = 0.0
            for l in range(phi.shape[0]):
                total += par.newton_slopes[0, at + k, l] * phi[l] + par.newton_slopes[1, at + k, l] * u[l]
            out[link[Link.RATE] + k] = total
            if link[Link.KIND] != BALL:
                out[link[Link.COORDINATE] + k] = u[at + k]
        if link[Link.KIND] == BALL:
            write_turn(link[Link.COORDINATE], par.tree_base[i], load3(phi, at), load3(u, at), out)


def write_turn(at, base, phi, u, out):
    """qdot = q w/2 as quaternions; with dq = q phi/2 it changes by q (phi w/4 + u/2)."""
    w = load3(base, Base.RATES)
    change = with_vector(-0.25 * dot(phi, w), add(scaled(0.25, cross(phi, w)), scaled(0.5, u)))
    store4(out, at, product(load4(base, Base.COORDINATES), change))


def write_stretch(at, base, out):
    """A quaternion longer by itself: qdot = q w/2 is, too."""
    clear(out, 0, out.shape[0])
    half = with_vector(0.0, scaled(0.5, load3(base, Base.RATES)))
    store4(out, at, product(load4(base, Base.COORDINATES), half))


def take_unknowns(x, par, y):
    """y = L x: dphi and du of the chart, and the relative changes of lengths; returns how many."""
    d = par.newton_tangent.shape[1] - par.tree_chart[0]
    for j in range(d):
        rate = par.newton_rates[par.newton_rates[j, Rate.CHART]]
        link = par.tree_links[rate[Rate.NODE]]
        k = rate[Rate.NUMBER]
        if link[Link.KIND] == BALL:
            y[j] = 2.0 * within_ball(link[Link.COORDINATE], par.tree_base[rate[Rate.NODE]], x)[1 + k]
        else:
            y[j] = x[link[Link.COORDINATE] + k]
        y[d + j] = x[link[Link.RATE] + k]
    count = 2 * d
    for i in range(1, par.tree_links.shape[0]):
        if is_stretched(i, par):
            y[count] = within_ball(par.tree_links[i, Link.COORDINATE], par.tree_base[i], x)[0]
            count += 1
    return count


def within_ball(at, base, x):
    """q^-1 dq."""
    q = load4(base, Base.COORDINATES)
    g = 1.0 / square(q)
    return product((g * q[0], -g * q[1], -g * q[2], -g * q[3]), load4(x, at))


def factorise_loops(c, h, par):
    """The factors of 1 - h L D; a status."""
    m = par.newton_factors[c]
    y = par.newton_unknowns
    count = take_unknowns(par.newton_columns[0], par, y)
    for k in range(count):
        take_unknowns(par.newton_columns[k], par, y)
        for i in range(count):
            m[i * count + k] = -h * y[i]
        m[k * count + k] += 1.0
    return SINGULAR if factorise(m, count, par.newton_pivots[c]) != 0 else OK


def solve_loops(c, h, x, par):
    """x becomes the solution of (1 - h J) x = x."""
    y = par.newton_unknowns
    count = take_unknowns(x, par, y)
    solve(par.newton_factors[c], count, par.newton_pivots[c], y)
    for k in range(count):
        for i in range(x.shape[0]):
            x[i] += h * y[k] * par.newton_columns[k, i]
