"""Linear equations with the derivative of a tree's equations: as many unknowns as the tree has rates.

The equations are xdot = K u for the coordinates and udot = a(x, u) for the rates. With the turns and shifts phi of the joints
instead of their coordinates, A = da/dphi and B = da/du, the coordinates are eliminated from (1 - h J)(dx, du) = (r_x, r_u):

    (1 - h B - h A T) du = r_u + h A phi_r,      phi = phi_r + T du,

node by node T = h and phi_r = r_x where the coordinate is the turn. A ball has qdot = q w/2 (as quaternions, w its rates), so

    dq = (r_q + h q dw/2) (1 + h w/2)/g,   g = 1 + h^2 |w|^2/4,   phi = 2 Im(q^-1 dq),   T v = h (v + h v x w/2)/g.

Images and shifts never change; the time is exact after one sweep; nothing depends on the work. They keep their residuals.

par.newton_rows (nodes): where the rates of a node begin. newton_slopes (2, f, f): A, B. newton_factors (c, f * f), newton_pivots (c, f). newton_turns (2, f): phi, and the right-hand side.
"""

from ....geometry.quaternion import load4, product, store4, with_vector
from ....geometry.vectors import add, cross, dot, load3, negative, scaled, store3
from ....kernels.elimination import factorise, reciprocal, solve
from ....kernels.views import SINGULAR
from .motion import BALL, Link, copy, freedoms
from .slopes import Base


def factorise_tree(c, h, par):
    """The factors of 1 - h B - h A T at the point of `find_slopes`, which has A, B, rates and quaternions there; a status."""
    f = par.newton_slopes.shape[1]
    a = par.newton_slopes[0]
    b = par.newton_slopes[1]
    m = par.newton_factors[c]
    for i in range(f):
        for k in range(f):
            m[i * f + k] = -h * (b[i, k] + h * a[i, k])
        m[i * f + i] += 1.0
    for n in range(1, par.tree_links.shape[0]):
        link = par.tree_links[n]
        if link[Link.KIND] == BALL:
            at = par.newton_rows[n]
            w = load3(par.tree_base[n], Base.RATES)
            g = reciprocal(1.0 + 0.25 * h * h * dot(w, w))
            for i in range(f):
                # a row times T: T^T v = h (v - h v x w/2)/g
                row = load3(a[i], at)
                turned = add(row, scaled(-0.5 * h, cross(row, w)))
                for k in range(3):
                    m[i * f + at + k] -= h * h * (turned[k] * g - row[k])
    return SINGULAR if factorise(m, f, par.newton_pivots[c]) != 0 else 0


def solve_tree(c, h, x, par):
    """x becomes the solution of (1 - h J) x = x."""
    f = par.newton_slopes.shape[1]
    a = par.newton_slopes[0]
    phi = par.newton_turns[0]
    right = par.newton_turns[1]
    for n in range(1, par.tree_links.shape[0]):
        link = par.tree_links[n]
        at = par.newton_rows[n]
        copy(x, link[Link.RATE], right, at, freedoms(link))
        if link[Link.KIND] == BALL:
            turn_ball(link[Link.COORDINATE], at, h, par.tree_base[n], x, phi)
        else:
            copy(x, link[Link.COORDINATE], phi, at, freedoms(link))
    for i in range(f):
        for k in range(f):
            right[i] += h * a[i, k] * phi[k]
    solve(par.newton_factors[c], f, par.newton_pivots[c], right)
    for n in range(1, par.tree_links.shape[0]):
        link = par.tree_links[n]
        copy(right, par.newton_rows[n], x, link[Link.RATE], freedoms(link))
        if link[Link.KIND] == BALL:
            follow_ball(link[Link.COORDINATE], link[Link.RATE], h, par.tree_base[n], x)
        else:
            for k in range(freedoms(link)):
                x[link[Link.COORDINATE] + k] += h * x[link[Link.RATE] + k]


def turn_ball(at, to, h, base, x, phi):
    """phi_r = 2 Im(q^-1 r_q (1 + h w/2))/g."""
    q0 = base[Base.COORDINATES]
    q = load3(base, Base.COORDINATES + 1)
    w = load3(base, Base.RATES)
    half = 0.5 * h
    s = product(with_vector(q0, negative(q)), load4(x, at))
    t = product(s, with_vector(1.0, scaled(half, w)))
    g = reciprocal(0.5 * (q0 * q0 + dot(q, q)) * (1.0 + half * half * dot(w, w)))
    store3(phi, to, (t[1] * g, t[2] * g, t[3] * g))


def follow_ball(at, rate, h, base, x):
    """dq = (r_q + h q dw/2) (1 + h w/2)/g."""
    w = load3(base, Base.RATES)
    half = 0.5 * h
    s = product(load4(base, Base.COORDINATES), with_vector(0.0, scaled(half, load3(x, rate))))
    r = (x[at] + s[0], x[at + 1] + s[1], x[at + 2] + s[2], x[at + 3] + s[3])
    t = product(r, with_vector(1.0, scaled(half, w)))
    g = reciprocal(1.0 + half * half * dot(w, w))
    store4(x, at, (t[0] * g, t[1] * g, t[2] * g, t[3] * g))
