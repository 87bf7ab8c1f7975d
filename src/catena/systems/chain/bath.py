"""A heat bath for the bodies of a chain: body by body, and in tiles.

`catena.systems.baths` has the formulas for one body. In tiles, the constants of the bath lie below those of the rotor,
in the array that holds everything else a sweep touches; the accumulated sums lie apart, body by body as in the other
views.
"""

from __future__ import annotations

from ...kernels.eights import (
    add_eight,
    larger_eight,
    load_eight,
    multiply_eight,
    parts_of_eight,
    same_eight,
    square_eight,
    store_eight,
)
from ...kernels.marks import Record, apart, within
from ...kernels.noise import MOMENTA, normals
from ..baths import disturb_along_body, disturb_body, tally_component, turn_round
from .forces import body_rotation
from .motion import momentum_place
from .tiles.kernels import (
    LOW_P,
    LOW_Y,
    SPIN_ROWS,
    P,
    Y,
    constants_row,
    drift_lanes,
    drift_with_fast_bodies,
    gain,
    is_fast,
    kick_lanes,
    lane_count,
    link_tile,
    shift_lane,
    spin_row,
    stride_of,
    tile_size,
    turn_alone,
    turn_lane,
)

PARTIAL = 8  # partial sums of the total momentum, for bodies added at once; the size of a tile is a multiple of it
COMPONENTS = 6  # of a body: p in space, y along its principal axes


class BathRows(Record):
    """Rows of constants for a bath in tiles: one for p, equal along all axes, and those for y1, y2, y3."""

    LOSS = 4
    STIR = 4
    PRECISION = 4


BATH = SPIN_ROWS - BathRows.WIDTH  # first row of the bath, among the rows of the rotor


# One by one -------------------------------------------------------------------------------------------------------------


def chain_bath(z, e, par, member, step):
    """`bath_of_components` for all bodies."""
    n = par.mass.shape[0]
    for j in range(n):
        p = momentum_place(n, j)
        disturb_body(z, e, j, p, p + 3 * n, par, member, step)


def chain_bath_of_bodies(z, e, par, member, step):
    """`bath_of_bodies` for all bodies that move or turn."""
    n = par.mass.shape[0]
    for j in range(n):
        if par.moves[j] + par.turns[j] != 0.0:
            p = momentum_place(n, j)
            disturb_along_body(z, e, j, p, p + 3 * n, body_rotation(z, n, j), par, member, step)


def chain_tally(z, par, total, sums):
    """`tally` for all bodies."""
    n = par.mass.shape[0]
    begin_total(total)
    for j in range(n):
        p = momentum_place(n, j)
        for c in range(3):
            total[1 + PARTIAL * c + j % PARTIAL] += z[p + c]
        fourth = 0.0
        for c in range(3):
            fourth += tally_component(par.precision[j, c] * (z[p + c] * z[p + c]), c * n + j, sums)
        for c in range(3):
            y = z[p + 3 * n + c]
            fourth += tally_component(par.precision[j, 3 + c] * (y * y), (3 + c) * n + j, sums)
        sums[COMPONENTS * n + j] += fourth
    end_total(par, total)


def begin_total(total):
    """Clear the total momentum: for each axis, partial sums over every eighth body, which vector lanes can add."""
    for k in range(1, 1 + 3 * PARTIAL):
        total[k] = 0.0


def end_total(par, total):
    """Add its square."""
    square = 0.0
    for c in range(3):
        p = 0.0
        for k in range(PARTIAL):
            p += total[1 + PARTIAL * c + k]
        square += p * p
    total[0] += par.total_precision[0] * square


def chain_reverse(z, e, par):
    """`reverse` for all bodies."""
    n = par.mass.shape[0]
    turn_round(z, e, momentum_place(n, 0), momentum_place(n, 2 * n))


# In tiles ------------------------------------------------------------------------------------------------------------------


@within
def stir_lane(w, high, low, at, n, x):
    """w[high] += loss w[high] + stir x."""
    gain(w, high, low, w[at] * w[high] + w[at + (BathRows.STIR - BathRows.LOSS) * n] * x)


@within
def first_pair(w, i, n, at, seed0, seed1, member, step, j):
    """Friction and noise on p1 and p2 of body j, lane i of its tile."""
    a, b = normals(seed0, seed1, member, step, j, MOMENTA)
    stir_lane(w, P * n + i, LOW_P * n + i, at + i, n, a)
    stir_lane(w, (P + 1) * n + i, (LOW_P + 1) * n + i, at + i, n, b)


def rest_of_bath(w, first, seed0, seed1, member, step):
    """The second and the third pair for all bodies of a tile; `first` is the number of its first body."""
    n = stride_of(w)
    at = (spin_row(w) + BATH) * n
    for i in range(lane_count(w)):
        a, b = normals(seed0, seed1, member, step, first + i, MOMENTA + 1)
        stir_lane(w, (P + 2) * n + i, (LOW_P + 2) * n + i, at + i, n, a)
        stir_lane(w, Y * n + i, LOW_Y * n + i, at + n + i, n, b)
    for i in range(lane_count(w)):
        a, b = normals(seed0, seed1, member, step, first + i, MOMENTA + 2)
        stir_lane(w, (Y + 1) * n + i, (LOW_Y + 1) * n + i, at + 2 * n + i, n, a)
        stir_lane(w, (Y + 2) * n + i, (LOW_Y + 2) * n + i, at + 3 * n + i, n, b)


def half_drift_lanes(w, glide, first, seed0, seed1, member, step):
    """Free motion without placing particles, then the first pair of the bath.

    In one loop: a loop over eight lanes of shift and rotation alone would be unrolled, and never vectorised.
    """
    n = stride_of(w)
    fixed = constants_row(w) * n
    spin = spin_row(w) * n
    at = (spin_row(w) + BATH) * n
    for i in range(lane_count(w)):
        shift_lane(w, i, n, fixed, glide)
        turn_lane(w, i, n, fixed, spin, glide)
        first_pair(w, i, n, at, seed0, seed1, member, step, first + i)


@apart
def half_drift_with_fast_bodies(w, t, glide, par, seed0, seed1, member, step):
    """The same if some bodies are too fast for `rotate_lane`."""
    n = stride_of(w)
    fixed = constants_row(w) * n
    spin = spin_row(w) * n
    at = (spin_row(w) + BATH) * n
    for i in range(lane_count(w)):
        j = t * lane_count(w) + i
        shift_lane(w, i, n, fixed, glide)
        if is_fast(w, i, n, spin, glide):
            status = turn_alone(w, i, n, j, glide, par)
            if status != 0:
                return status
        else:
            turn_lane(w, i, n, fixed, spin, glide)
        first_pair(w, i, n, at, seed0, seed1, member, step, j)
    return 0


def tally_lanes(w, first, parts, glide, total, sums):
    """Add the squares of the momenta of a tile, body by body, and its total momentum; `parts` are all lanes of all
    tiles.

    Returns whether some body is too fast for `rotate_lane`, since the bath has changed them. In groups of eight: if a
    loop writes to another array, which might be the one that it reads, and is unrolled, it is not vectorised.
    """
    n = stride_of(w)
    spin = spin_row(w) * n
    at = (spin_row(w) + BATH + BathRows.PRECISION) * n
    reach = same_eight(glide * glide)
    farthest = same_eight(0.0)
    total1 = load_eight(total, 1)
    total2 = load_eight(total, 1 + PARTIAL)
    total3 = load_eight(total, 1 + 2 * PARTIAL)
    for eight in range(lane_count(w) // PARTIAL):
        i = PARTIAL * eight
        j = first + i
        p1 = load_eight(w, P * n + i)
        p2 = load_eight(w, (P + 1) * n + i)
        p3 = load_eight(w, (P + 2) * n + i)
        y1 = square_eight(load_eight(w, Y * n + i))
        y2 = square_eight(load_eight(w, (Y + 1) * n + i))
        y3 = square_eight(load_eight(w, (Y + 2) * n + i))
        total1 = add_eight(total1, p1)
        total2 = add_eight(total2, p2)
        total3 = add_eight(total3, p3)
        turned = multiply_eight(multiply_eight(load_eight(w, spin + i), reach), add_eight(add_eight(y1, y2), y3))
        farthest = larger_eight(turned, farthest)
        of_p = load_eight(w, at + i)
        s1 = multiply_eight(of_p, square_eight(p1))
        s2 = multiply_eight(of_p, square_eight(p2))
        s3 = multiply_eight(of_p, square_eight(p3))
        s4 = multiply_eight(load_eight(w, at + n + i), y1)
        s5 = multiply_eight(load_eight(w, at + 2 * n + i), y2)
        s6 = multiply_eight(load_eight(w, at + 3 * n + i), y3)
        fourth = add_eight(add_eight(square_eight(s1), square_eight(s2)), square_eight(s3))
        fourth = add_eight(add_eight(add_eight(fourth, square_eight(s4)), square_eight(s5)), square_eight(s6))
        # read all before writing any: the CPU confuses addresses that differ by multiples of 4096, as with 512 bodies
        s1 = add_eight(load_eight(sums, j), s1)
        s2 = add_eight(load_eight(sums, parts + j), s2)
        s3 = add_eight(load_eight(sums, 2 * parts + j), s3)
        s4 = add_eight(load_eight(sums, 3 * parts + j), s4)
        s5 = add_eight(load_eight(sums, 4 * parts + j), s5)
        s6 = add_eight(load_eight(sums, 5 * parts + j), s6)
        fourth = add_eight(load_eight(sums, COMPONENTS * parts + j), fourth)
        store_eight(sums, j, s1)
        store_eight(sums, parts + j, s2)
        store_eight(sums, 2 * parts + j, s3)
        store_eight(sums, 3 * parts + j, s4)
        store_eight(sums, 4 * parts + j, s5)
        store_eight(sums, 5 * parts + j, s6)
        store_eight(sums, COMPONENTS * parts + j, fourth)
    store_eight(total, 1, total1)
    store_eight(total, 1 + PARTIAL, total2)
    store_eight(total, 1 + 2 * PARTIAL, total3)
    a, b, c, d, e, f, g, h = parts_of_eight(farthest)
    return max(a, b, c, d, e, f, g, h) >= 1.0


def half_move(w, t, push, glide, par, member, step):
    """Kick, free motion over `glide` and bath of a tile; a status."""
    seed0 = int(par.seed[0])
    seed1 = int(par.seed[1])
    first = t * lane_count(w)
    if kick_lanes(w, push, glide) == 0:
        half_drift_lanes(w, glide, first, seed0, seed1, member, step)
    else:
        status = half_drift_with_fast_bodies(w, t, glide, par, seed0, seed1, member, step)
        if status != 0:
            return status
    rest_of_bath(w, first, seed0, seed1, member, step)
    return 0


@within
def stirred_sweep_of_tiles(z, e, push, glide, par, member, step, total, sums):
    """All tiles in turn, like `sweep_tiles`."""
    length = tile_size(z)
    tiles = par.lanes.shape[0]
    begin_total(total)
    for t in range(tiles + 1):
        if t < tiles:
            w = z[t * length : (t + 1) * length]
            status = half_move(w, t, push, glide, par, member, step)
            if status == 0:
                if tally_lanes(w, t * lane_count(w), tiles * lane_count(w), glide, total, sums):
                    status = drift_with_fast_bodies(w, t, glide, par)
                else:
                    drift_lanes(w, glide)
            if status != 0:
                return status
        if t > 0:
            link_tile(z, t - 1, par)
    end_total(par, total)
    return 0
