"""Friction and noise on the momenta of bodies and coordinates: heat-bath kernels for each layout of momenta.

Each is the exact flow of dP = -gamma P dt + sqrt(2 gamma kT M) dW over a step, as an increment P += (E - 1) P + L xi with constants
that the method computes once. An amplitude of zero marks a component that does not exist. The normals of body j come
from the counter of body j, whatever else is stepped: p1 p2, p3 y1, y2 y3 [salmon2011].
"""

from __future__ import annotations

from ..geometry import vectors
from ..geometry.vectors import dot, load3, times, transposed_times
from ..kernels.noise import MOMENTA, OF_HAMILTONIAN, normals
from ..kernels.summation import add, add3
from ..kernels.views import dimension


def disturb(z, e, k, loss, stir, x):
    """z_k += loss z_k + stir x; loss = exp(-gamma h) - 1."""
    add(z, e, k, loss * z[k] + stir * x)


def draw_six(par, member, step, j):
    """The six normals of body j."""
    seed0 = int(par.seed[0])
    seed1 = int(par.seed[1])
    a, b = normals(seed0, seed1, member, step, j, MOMENTA)
    c, d = normals(seed0, seed1, member, step, j, MOMENTA + 1)
    f, g = normals(seed0, seed1, member, step, j, MOMENTA + 2)
    return a, b, c, d, f, g


def draw_three(par, member, step, j):
    """The last three of the six normals of body j, for its angular momentum."""
    seed0 = int(par.seed[0])
    seed1 = int(par.seed[1])
    _, d = normals(seed0, seed1, member, step, j, MOMENTA + 1)
    f, g = normals(seed0, seed1, member, step, j, MOMENTA + 2)
    return d, f, g


def disturb_body(z, e, j, p, y, par, member, step):
    """Friction and noise on the momentum at p and the angular momentum at y of body j, component by component."""
    xi = draw_six(par, member, step, j)
    for c in range(3):
        disturb(z, e, p + c, par.loss[j, c], par.stir[j, c], xi[c])
        disturb(z, e, y + c, par.loss[j, 3 + c], par.stir[j, 3 + c], xi[3 + c])


def multiply_rows(matrix, at, first, second):
    """Three rows of a matrix (6, 6) from row `at` on, times the vector (first, second)."""
    return (
        dot(load3(matrix[at], 0), first) + dot(load3(matrix[at], 3), second),
        dot(load3(matrix[at + 1], 0), first) + dot(load3(matrix[at + 1], 3), second),
        dot(load3(matrix[at + 2], 0), first) + dot(load3(matrix[at + 2], 3), second),
    )


def disturb_along_body(z, e, j, p, y, r, par, member, step):
    """The same with matrices on (R^T p, y); R, principal axes to space, is r."""
    a, b, c, d, f, g = draw_six(par, member, step, j)
    push, turn = transposed_times(r, load3(z, p)), load3(z, y)
    loss = par.loss_matrix[j]
    stir = par.stir_matrix[j]
    moved = vectors.add(multiply_rows(loss, 0, push, turn), multiply_rows(stir, 0, (a, b, c), (d, f, g)))
    turned = vectors.add(multiply_rows(loss, 3, push, turn), multiply_rows(stir, 3, (a, b, c), (d, f, g)))
    add3(z, e, p, times(r, moved))
    add3(z, e, y, turned)


def tally_component(square, place, sums):
    """Add the square of a component, over its variance, to its sum; returns the fourth power, to be summed too."""
    sums[place] += square
    return square * square


def turn_round(z, e, first, last):
    """Negate momenta and their compensations."""
    for k in range(first, last):
        z[k] = -z[k]
        e[k] = -e[k]


# One body: z = (q, y) ---------------------------------------------------------------------------------------------------


def turning_bath(z, e, par, member, step):
    """`bath_of_components` of a body that turns: components 3, 4, 5 of body 0."""
    d, f, g = draw_three(par, member, step, 0)
    disturb(z, e, 4, par.loss[0, 0], par.stir[0, 0], d)
    disturb(z, e, 5, par.loss[0, 1], par.stir[0, 1], f)
    disturb(z, e, 6, par.loss[0, 2], par.stir[0, 2], g)


def turning_bath_of_axes(z, e, par, member, step):
    """`bath_of_bodies` of a body that turns."""
    d, f, g = draw_three(par, member, step, 0)
    y = load3(z, 4)
    loss = par.loss_matrix[0]
    stir = par.stir_matrix[0]
    for c in range(3):
        add(z, e, 4 + c, dot(load3(loss[c], 0), y) + dot(load3(stir[c], 0), (d, f, g)))


def turning_tally(z, par, total, sums):
    """`tally` of a body that turns; it has no total momentum."""
    fourth = 0.0
    for c in range(3):
        fourth += tally_component(par.precision[0, c] * (z[4 + c] * z[4 + c]), c, sums)
    sums[3] += fourth


def turning_reverse(z, e, par):
    """`reverse` of a body that turns."""
    turn_round(z, e, 4, 7)


# Coordinates: z = (q, p) -----------------------------------------------------------------------------------------------


def coordinate_bath(z, e, par, member, step):
    """`bath_of_components`: p_k += loss p_k + stir xi_k, two normals at a time."""
    n = dimension(z) // 2
    for i in range((n + 1) // 2):
        a, b = normals(int(par.seed[0]), int(par.seed[1]), member, step, i, OF_HAMILTONIAN)
        k = 2 * i
        disturb(z, e, n + k, par.loss[k, 0], par.stir[k, 0], a)
        if k + 1 < n:
            disturb(z, e, n + k + 1, par.loss[k + 1, 0], par.stir[k + 1, 0], b)


def coupled_bath(z, e, par, member, step):
    """`bath_of_bodies`: p += loss p + L xi with the lower triangle L of the mass matrix, all rates equal. par.drawn: xi."""
    n = dimension(z) // 2
    for i in range((n + 1) // 2):
        a, b = normals(int(par.seed[0]), int(par.seed[1]), member, step, i, OF_HAMILTONIAN)
        par.drawn[2 * i] = a
        par.drawn[2 * i + 1] = b
    loss = par.loss[0, 0]
    for k in range(n):
        noise = 0.0
        for l in range(k + 1):
            noise += par.stir_matrix[0, k, l] * par.drawn[l]
        add(z, e, n + k, loss * z[n + k] + noise)


def coordinate_tally(z, par, total, sums):
    """`tally` of coordinates."""
    n = dimension(z) // 2
    for k in range(n):
        sums[n + k] += tally_component(par.precision[k, 0] * (z[n + k] * z[n + k]), k, sums)


def coupled_tally(z, par, total, sums):
    """The same for coupled momenta: it uses L^-1 p, whose components are independent."""
    n = dimension(z) // 2
    for k in range(n):
        x = 0.0
        for l in range(k + 1):
            x += par.whitening[0, k, l] * z[n + l]
        sums[n + k] += tally_component(x * x, k, sums)


def coordinate_reverse(z, e, par):
    """`reverse` of coordinates."""
    turn_round(z, e, dimension(z) // 2, dimension(z))
