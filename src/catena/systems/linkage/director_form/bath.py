"""Friction and noise on linked bodies, on the velocities that the joints leave free.

With J the rows of the joints and M the masses, momenta that fit the joints are P p, P = 1 - J^T (J M^-1 J^T)^-1 J M^-1. For one rate
the exact flow is p := c p + s P M^1/2 xi: P is the same on both sides of the friction, and P M P^T = P M is the covariance of the
momenta at a temperature. So one solution with multipliers, that of the end of a step of RATTLE, does it [leimkuhler2016].

Several rates G (diagonal) and P do not commute: the flow has the exponential of P G. Its Cayley transform, with X = tanh(G dt/2),

    M (1 + X) v' = M (1 - X) v + 2 sqrt(kT M X) xi - J^T m,    J v' = 0

is one solution of the same kind, with heavier bodies. With S = M^-1/2 P X M^1/2 on what the joints leave, symmetric, the covariance of
M^1/2 v' is (1 + S)^-1 ((1 - S) kT (1 - S) + 4 kT S) (1 + S)^-1 = kT: the law is kept to round-off at every dt. Rates are exact where the joints
do not mix them, (1 - X)/(1 + X) = exp(-G dt), and elsewhere to the second order of the step.
"""

from ....geometry.vectors import add, add3, clear, copy, cross, diagonal_times, dot, load3, scaled, store3, subtract
from ....kernels import summation
from ....kernels.views import OK, SINGULAR
from ...baths import draw_six
from ..layout import Link, Node, Tree
from .clock import time_place
from .rattle import share_forces, velocity_correction
from .rows import to_space
from .steps import set_node

GROUND = -1


def stir(z, e, par, member, step):
    """`bath_of_links`: momenta decay and get noise, then the joints take their part. `bath_of_rates_of_links` is the same of heavier bodies."""
    disturb_links(z, par, member, step)
    if velocity_correction(1.0, z[time_place(par)], par.delta, par) != 0:
        return SINGULAR
    n = par.mass.shape[0]
    for i in range(n):
        for l in range(3):
            p = 7 * n + 3 * i + l
            y = 10 * n + 3 * i + l
            summation.add(z, e, p, par.mass[i] * par.delta[6 * i + l] - z[p])
            summation.add(z, e, y, par.moments[i, l] * par.delta[6 * i + 3 + l] - z[y])
    return OK


def heavier(i, par):
    """`inertia_of` body i with its friction, from par.heavier (bodies, 6)."""
    return par.heavier[i, 0], load3(par.heavier[i], 3)


def disturb_links(z, par, member, step):
    """Both nodes of the bodies where they are, at rest at the second, with their momenta after friction and noise; no force acts."""
    n = par.mass.shape[0]
    set_node(z, 1.0, par)
    share_forces(par, 0.0, 0.0)
    for i in range(n):
        b = par.node[1, i]
        copy(par.node[0, i], b, Node.MOVE)
        clear(b[Node.MOVE :], Node.PUSH - Node.MOVE)
        xi = draw_six(par, member, step, i)
        for l in range(3):
            p = z[7 * n + 3 * i + l]
            y = z[10 * n + 3 * i + l]
            b[Node.PUSH + l] = p + (par.loss[i, l] * p + par.stir[i, l] * xi[l])
            b[Node.SPUN + l] = y + (par.loss[i, 3 + l] * y + par.stir[i, 3 + l] * xi[3 + l])


def tally(z, par, total, sums):
    """`tally_of_links`, at the nodes that `stir` has left.

    With velocities u of a joint and the momenta pi that belong to them <pi.u> = kT for each freedom: pi.u is the twist of a body,
    less that of its parent, on the momentum of all that it carries. The sum of all is twice the kinetic energy, a chi^2 of all freedoms.
    """
    n = par.mass.shape[0]
    for i in range(n):
        b = par.node[1, i]
        v = load3(par.delta, 6 * i)
        w = load3(par.delta, 6 * i + 3)
        store3(b, Node.VELOCITY, v)
        store3(b, Node.SPIN, to_space(b, w))
        store3(b, Node.PUSH, scaled(par.mass[i], v))
        store3(b, Node.SPUN, to_space(b, diagonal_times(load3(par.moments[i], 0), w)))
    all_of_them = 0.0
    freedoms = 0.0
    counted = 0.0
    for place in range(n - 1, -1, -1):
        i = par.tree[place, Tree.ORDER]
        freedom = par.tree[i, Tree.FREEDOM]
        share = energy_of_joint(i, par)
        if par.precision[i, 0] != 0.0:
            sums[i] += par.precision[i, 0] * share
            all_of_them += freedom * (par.precision[i, 0] * share)
            freedoms += freedom
            counted += 1.0
    if counted > 0.0:  # a mean over all parts is taken of what stands in one of them
        sums[n] += 3.0 * counted * (all_of_them * all_of_them) / (freedoms * (freedoms + 2.0))


def energy_of_joint(i, par):
    """pi.u of the joint that carries body i; then its parent carries what it carries. Children must have been before."""
    b = par.node[1, i]
    k = par.tree[i, Tree.CARRIER]
    v = load3(b, Node.VELOCITY)
    w = load3(b, Node.SPIN)
    push = load3(b, Node.PUSH)
    spun = load3(b, Node.SPUN)
    parent = par.link[k, Link.PARENT] if k >= 0 else GROUND
    if parent != GROUND:
        a = par.node[1, parent]
        arm = subtract(load3(b, Node.POSITION), load3(a, Node.POSITION))
        turning = load3(a, Node.SPIN)
        v = subtract(v, add(load3(a, Node.VELOCITY), cross(turning, arm)))
        w = subtract(w, turning)
        add3(a, Node.PUSH, push)
        add3(a, Node.SPUN, add(spun, cross(arm, push)))
    return dot(v, push) + dot(w, spun)
