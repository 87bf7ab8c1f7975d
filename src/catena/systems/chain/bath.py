"""A heat bath for the bodies of a chain, one by one, and in tiles.

`catena.systems.baths` has what happens to a body. In tiles the constants of the bath stand below those of the rotor, in the same array as
all else that a sweep touches; the sums that it leaves stand apart, body by body as in the other views.
"""

from __future__ import annotations

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

PARTIAL = 8  # partial sums of the total momentum; tiles have a multiple of so many bodies
COMPONENTS = 6  # of a body: p in space, y along its principal axes


class BathRows(Record):
    """Rows of constants for a bath in tiles: each for p, which is alike along all axes, and for y1, y2, y3."""

    LOSS = 4
    STIR = 4
    PRECISION = 4


BATH = SPIN_ROWS - BathRows.WIDTH  # the first of them, among the rows of the rotor


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
    """The total momentum, before the first body: for each axis in partial sums over every eighth body, which lanes can add up."""
    for k in range(1, 1 + 3 * PARTIAL):
        total[k] = 0.0


def end_total(par, total):
    """Count its square."""
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
    """The second and the third pair of all bodies of a tile, `first` the number of its first one."""
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

    In one loop: eight lanes of shift and rotation alone would be unrolled, and never become vectors.
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
    """The same where some bodies are too fast for `rotate_lane`."""
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


def tally_lanes(w, first, parts, glide, sums):
    """The squares of the momenta of a tile, body by body; `parts` are all lanes of all tiles.

    Returns how many bodies are too fast for `rotate_lane`: the bath has changed them.
    """
    if lane_count(w) > PARTIAL:
        return tally_rows(w, first, parts, glide, sums)
    n = stride_of(w)
    spin = spin_row(w) * n
    fast = 0
    for i in range(lane_count(w)):
        j = first + i
        fast += int(is_fast(w, i, n, spin, glide))
        p1, p2, p3, y1, y2, y3 = squares(w, i, n)
        sums[j] += p1
        sums[parts + j] += p2
        sums[2 * parts + j] += p3
        sums[3 * parts + j] += y1
        sums[4 * parts + j] += y2
        sums[5 * parts + j] += y3
        sums[6 * parts + j] += p1 * p1 + p2 * p2 + p3 * p3 + y1 * y1 + y2 * y2 + y3 * y3
    return fast


def tally_rows(w, first, parts, glide, sums):
    """The same sum by sum, where there are more lanes than are unrolled: a loop that writes to seven places, which might be one, never becomes vectors."""
    n = stride_of(w)
    m = lane_count(w)
    spin = spin_row(w) * n
    at = (spin_row(w) + BATH + BathRows.PRECISION) * n
    fast = 0
    for i in range(lane_count(w)):
        fast += int(is_fast(w, i, n, spin, glide))
    for c in range(3):
        own = sums[c * parts + first : c * parts + first + m]
        for i in range(lane_count(w)):
            p = w[(P + c) * n + i]
            own[i] += w[at + i] * (p * p)
    for c in range(3):
        own = sums[(3 + c) * parts + first : (3 + c) * parts + first + m]
        for i in range(lane_count(w)):
            y = w[(Y + c) * n + i]
            own[i] += w[at + (1 + c) * n + i] * (y * y)
    own = sums[COMPONENTS * parts + first : COMPONENTS * parts + first + m]
    for i in range(lane_count(w)):
        p1, p2, p3, y1, y2, y3 = squares(w, i, n)
        own[i] += p1 * p1 + p2 * p2 + p3 * p3 + y1 * y1 + y2 * y2 + y3 * y3
    return fast


@within
def squares(w, i, n):
    """Of the six momenta of lane i, over what they should be."""
    at = (spin_row(w) + BATH + BathRows.PRECISION) * n + i
    p1 = w[P * n + i]
    p2 = w[(P + 1) * n + i]
    p3 = w[(P + 2) * n + i]
    y1 = w[Y * n + i]
    y2 = w[(Y + 1) * n + i]
    y3 = w[(Y + 2) * n + i]
    return (
        w[at] * (p1 * p1), w[at] * (p2 * p2), w[at] * (p3 * p3), w[at + n] * (y1 * y1), w[at + 2 * n] * (y2 * y2), w[at + 3 * n] * (y3 * y3),
    )  # fmt: skip


def add_momenta(w, total):
    """The momenta of a tile, added to those before it."""
    n = stride_of(w)
    for g in range(lane_count(w) // PARTIAL):
        for k in range(PARTIAL):
            total[1 + k] += w[P * n + PARTIAL * g + k]
            total[1 + PARTIAL + k] += w[(P + 1) * n + PARTIAL * g + k]
            total[1 + 2 * PARTIAL + k] += w[(P + 2) * n + PARTIAL * g + k]


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
    """All tiles in turn, as `sweep_tiles`."""
    length = tile_size(z)
    tiles = par.lanes.shape[0]
    begin_total(total)
    for t in range(tiles + 1):
        if t < tiles:
            w = z[t * length : (t + 1) * length]
            status = half_move(w, t, push, glide, par, member, step)
            if status == 0:
                fast = tally_lanes(w, t * lane_count(w), tiles * lane_count(w), glide, sums)
                add_momenta(w, total)
                if fast == 0:
                    drift_lanes(w, glide)
                else:
                    status = drift_with_fast_bodies(w, t, glide, par)
            if status != 0:
                return status
        if t > 0:
            link_tile(z, t - 1, par)
    end_total(par, total)
    return 0
