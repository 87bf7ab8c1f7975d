"""The sweep over a chain in tiles: kick, free motion, particles and forces of all bodies in one pass over memory.

A tile holds a number of bodies side by side: quantity c of body i is w[c * stride + i], so that a loop over i runs over
the lanes of vector registers. Everything that a sweep touches is in one array, z, and lanes and stride are literals of
the compiled code: so all offsets are known and nothing can alias. Column `lanes` of r and x repeats the first body of
the next tile; column -1 of f and t, the last of the padding of the previous row, is the last link of the previous tile.
In a ring the first body is repeated after the last one, in a column that nothing else needs, and the last link of the
last tile is also stored before the first body.

Link i joins bodies i and i + 1. With d = r_i - r_{i+1} and a_k = x_k + d, the forces w_k = sum_l A (a_k - x'_l) give
f = sum w_k and t = sum a_k x w_k: +f acts on body i, -f on body i + 1, the torques are s = t - d x f and -t, because the forces
are central. So each pair is computed once, nothing is accumulated on the right body, and momentum is conserved to
round-off.

z ends with two numbers: whether it holds constants and forces, and the length of a kick that is still to be made with
them: the last kick of a step and the first of the next are merged.
"""

from ....geometry.quaternion import HOLD, to_body
from ....kernels.marks import apart, size, slot, within
from ....kernels.views import is_closed, multiply_add, rotate, rotate_lane

PADDING = 8
# Rows of a tile: p, y, the low parts of p, y, r, q (their compensation), f, t, s, r, q, x. No loop may write above the
# rows that it reads from neighbouring columns: the compiler would suspect that it reads what it has just written.
P, Y, LOW, F, T, S, R, Q, X = 0, 3, 6, 19, 22, 25, 28, 31, 35
LOW_P, LOW_Y, LOW_R, LOW_Q = 6, 9, 12, 15
# After x, the constants: inverse mass, whether the body moves, turns and has a next one, load, its shape (particles,
# axes), the constants of the link to the next one; then the constants of the rotor.
INVERSE_MASS, MOVES, TURNS, LINKED, LOAD, SHAPE = 0, 1, 2, 3, 4, 7
SPIN_ROWS = 33
FAR = 1e3  # distance of the bodies that fill up the last tile: their links are computed and ignored


@size
def lane_count(w):
    """Number of bodies in a tile; always replaced by a literal."""
    return w.shape[0]


@size
def count_placed(w):
    """Rows of x: what is placed for the links, particles and axes of a body; always replaced by a literal."""
    return w.shape[0]


@size
def shape_count(w):
    """Rows of constants from which x is computed, and of the link potential; always replaced by a literal."""
    return w.shape[0]


@slot
def place_lanes(w):
    """x = R X, the particles of all bodies of a tile less their centres; and the axes in which bodies were given."""


@slot
def drift_lanes(w, glide):
    """Free motion of all bodies of a tile, then `place_lanes`."""


@slot
def link_lanes(w, pair):
    """f, t and s of all links of a tile; pair: the constants of the potential."""


def stride_of(w):
    """Length of a row."""
    return lane_count(w) + PADDING


def constants_row(w):
    """First row of the constants of the bodies."""
    return X + count_placed(w)


def spin_row(w):
    """First row of the constants of the rotor."""
    return constants_row(w) + SHAPE + shape_count(w)


def tile_size(w):
    """Length of a tile."""
    return (spin_row(w) + SPIN_ROWS) * stride_of(w)


@within
def gain(w, high, low, d):
    """w[high] += d, with its rounding error kept in w[low]."""
    d += w[low]
    before = w[high]
    after = before + d
    w[low] = d - (after - before)
    w[high] = after


def kick_lanes(w, push, glide):
    """p += push f, y += push tau; returns the number of bodies that are too fast for `rotate_lane`."""
    n = stride_of(w)
    fixed = constants_row(w) * n
    spin = spin_row(w) * n
    fast = 0
    for i in range(lane_count(w)):
        a = push * w[fixed + MOVES * n + i]
        load = fixed + LOAD * n + i
        gain(w, P * n + i, LOW_P * n + i, a * (w[F * n + i] - w[F * n - 1 + i] + w[load]))
        gain(w, (P + 1) * n + i, (LOW_P + 1) * n + i, a * (w[(F + 1) * n + i] - w[(F + 1) * n - 1 + i] + w[load + n]))
        gain(
            w, (P + 2) * n + i, (LOW_P + 2) * n + i, a * (w[(F + 2) * n + i] - w[(F + 2) * n - 1 + i] + w[load + 2 * n])
        )
        a = push * w[fixed + TURNS * n + i]
        q = w[Q * n + i], w[(Q + 1) * n + i], w[(Q + 2) * n + i], w[(Q + 3) * n + i]
        t1, t2, t3 = to_body(
            q,
            a * (w[S * n + i] - w[T * n - 1 + i]),
            a * (w[(S + 1) * n + i] - w[(T + 1) * n - 1 + i]),
            a * (w[(S + 2) * n + i] - w[(T + 2) * n - 1 + i]),
        )
        gain(w, Y * n + i, LOW_Y * n + i, t1)
        gain(w, (Y + 1) * n + i, (LOW_Y + 1) * n + i, t2)
        gain(w, (Y + 2) * n + i, (LOW_Y + 2) * n + i, t3)
        fast += int(is_fast(w, i, n, spin, glide))
    return fast


@within
def is_fast(w, i, n, spin, glide):
    """Whether body i turns too far for `rotate_lane`."""
    y1 = w[Y * n + i]
    y2 = w[(Y + 1) * n + i]
    y3 = w[(Y + 2) * n + i]
    return w[spin + i] * (glide * glide) * (y1 * y1 + y2 * y2 + y3 * y3) >= 1.0


@within
def shift_lane(w, i, n, fixed, glide):
    """r += glide p/m of body i."""
    a = glide * w[fixed + INVERSE_MASS * n + i]
    gain(w, R * n + i, LOW_R * n + i, a * w[P * n + i])
    gain(w, (R + 1) * n + i, (LOW_R + 1) * n + i, a * w[(P + 1) * n + i])
    gain(w, (R + 2) * n + i, (LOW_R + 2) * n + i, a * w[(P + 2) * n + i])


@within
def turn_lane(w, i, n, fixed, spin, glide):
    """Free rotation of body i: q += q (rho - 1), with the correction of its length by `hold_length`."""
    q0 = w[Q * n + i]
    q1 = w[(Q + 1) * n + i]
    q2 = w[(Q + 2) * n + i]
    q3 = w[(Q + 3) * n + i]
    a, b, c, d, y1, y2, y3 = rotate_lane(w[Y * n + i], w[(Y + 1) * n + i], w[(Y + 2) * n + i], glide, w, spin + i, n)
    square = multiply_add(q3, q3, multiply_add(q2, q2, multiply_add(q1, q1, q0 * q0)))
    a += HOLD * w[fixed + TURNS * n + i] * (1.0 - square)
    low = LOW_Q * n + i
    gain(w, Q * n + i, low, multiply_add(-q3, d, multiply_add(-q2, c, multiply_add(-q1, b, q0 * a))))
    gain(w, (Q + 1) * n + i, low + n, multiply_add(-q3, c, multiply_add(q2, d, multiply_add(q1, a, q0 * b))))
    gain(w, (Q + 2) * n + i, low + 2 * n, multiply_add(-q1, d, multiply_add(q3, b, multiply_add(q2, a, q0 * c))))
    gain(w, (Q + 3) * n + i, low + 3 * n, multiply_add(-q2, b, multiply_add(q1, c, multiply_add(q3, a, q0 * d))))
    gain(w, Y * n + i, LOW_Y * n + i, y1)
    gain(w, (Y + 1) * n + i, (LOW_Y + 1) * n + i, y2)
    gain(w, (Y + 2) * n + i, (LOW_Y + 2) * n + i, y3)


@apart
def drift_with_fast_bodies(w, t, glide, par):
    """The same if some bodies are too fast for `rotate_lane`: these are turned one by one."""
    n = stride_of(w)
    fixed = constants_row(w) * n
    spin = spin_row(w) * n
    for i in range(lane_count(w)):
        shift_lane(w, i, n, fixed, glide)
        if is_fast(w, i, n, spin, glide):
            status = turn_alone(w, i, n, t * lane_count(w) + i, glide, par)
            if status != 0:
                return status
        else:
            turn_lane(w, i, n, fixed, spin, glide)
    place_lanes(w)
    return 0


def turn_alone(w, i, n, j, glide, par):
    """Free rotation of body j, lane i of its tile, by the rotor for single bodies."""
    alone = par.alone
    for c in range(4):
        alone[c] = w[(Q + c) * n + i]
        alone[4 + c] = w[(LOW_Q + c) * n + i]
    for c in range(3):
        alone[8 + c] = w[(Y + c) * n + i]
        alone[11 + c] = w[(LOW_Y + c) * n + i]
    status = rotate(alone[8:11], alone[0:4], alone[11:14], alone[4:8], par.inertia[j], glide, par.rotor[j])
    for c in range(4):
        w[(Q + c) * n + i] = alone[c]
        w[(LOW_Q + c) * n + i] = alone[4 + c]
    for c in range(3):
        w[(Y + c) * n + i] = alone[8 + c]
        w[(LOW_Y + c) * n + i] = alone[11 + c]
    return status


@within
def link_tile(z, t, par):
    """Forces of the links of tile t; the particles of the next tile must have been placed."""
    tiles = par.lanes.shape[0]
    lanes = lane_count(z)
    n = stride_of(z)
    length = tile_size(z)
    w = z[t * length : (t + 1) * length]
    v = z[(t + 1) * length :]
    if t + 1 < tiles:
        for c in range(3):
            w[(R + c) * n + lanes] = v[(R + c) * n]
        for c in range(count_placed(z)):
            w[(X + c) * n + lanes] = v[(X + c) * n]
    if is_closed() and t + 1 == tiles:
        repeat_first(z, w, par.mass.shape[0] - t * lanes)
    link_lanes(w, par.pair)
    if t + 1 < tiles:
        for c in range(6):
            v[(F + c) * n - 1] = w[(F + c) * n + lanes - 1]
    if is_closed() and t + 1 == tiles:
        close_ring(z, w, par.mass.shape[0] - t * lanes - 1)


def repeat_first(z, w, i):
    """Repeat the first body of a ring in column i of the last tile w, after the last body."""
    n = stride_of(z)
    for c in range(3):
        w[(R + c) * n + i] = z[(R + c) * n]
    for c in range(count_placed(z)):
        w[(X + c) * n + i] = z[(X + c) * n]


def close_ring(z, w, i):
    """Copy the link of the last body, in column i of the last tile w, to where the first body reads its previous
    one."""
    n = stride_of(z)
    for c in range(6):
        z[(F + c) * n - 1] = w[(F + c) * n + i]


def begin_tiles(start, z):
    """r, q, p, y of the view "split" in tiles, into z; forces are unknown, no kick is pending."""
    count = start.shape[0] // 13
    lanes = lane_count(z)
    n = stride_of(z)
    length = tile_size(z)
    for k in range(z.shape[0]):
        z[k] = 0.0
    for j in range(-(-count // lanes) * lanes):
        w = z[(j // lanes) * length : (j // lanes + 1) * length]
        i = j % lanes
        body = min(j, count - 1)
        for c in range(3):
            w[(R + c) * n + i] = start[3 * body + c]
            if j < count:
                w[(P + c) * n + i] = start[7 * count + 3 * j + c]
                w[(Y + c) * n + i] = start[10 * count + 3 * j + c]
        w[R * n + i] += FAR * (j - body)
        w[Q * n + i] = 1.0
        if j < count:
            for c in range(4):
                w[(Q + c) * n + i] = start[3 * count + 4 * j + c]
    last = (-(-count // lanes) - 1) * length
    for c in range(3):
        z[last + (R + c) * n + lanes] = z[last + (R + c) * n + lanes - 1] + FAR


@apart
def settle_tiles(z, par):
    """Fill in the constants; compute particles and forces at the positions in z."""
    n = stride_of(z)
    length = tile_size(z)
    tiles = par.lanes.shape[0]
    for t in range(tiles):
        w = z[t * length : (t + 1) * length]
        for k in range(par.lanes.shape[1]):
            w[constants_row(z) * n + k] = par.lanes[t, k]
        for k in range(par.spin.shape[1]):
            w[spin_row(z) * n + k] = par.spin[t, k]
        place_lanes(w)
    for t in range(tiles):
        link_tile(z, t, par)


def copy_state(w, kept, n):
    """Copy p, y, r, q and their low parts of a tile, which have the same places in both."""
    for k in range(F * n):
        kept[k] = w[k]
    for k in range(R * n, X * n):
        kept[k] = w[k]


def keep_tiles(z, par):
    """Save the state of all tiles in par.kept."""
    length = tile_size(z)
    for t in range(par.lanes.shape[0]):
        copy_state(z[t * length : (t + 1) * length], par.kept[t], stride_of(z))


@apart
def recall_tiles(z, par):
    """Restore it."""
    length = tile_size(z)
    for t in range(par.lanes.shape[0]):
        copy_state(par.kept[t], z[t * length : (t + 1) * length], stride_of(z))


@within
def move_tile(w, t, push, glide, par):
    """Kick and free motion of the bodies of tile t, w; a status."""
    if kick_lanes(w, push, glide) == 0:
        drift_lanes(w, glide)
        return 0
    return drift_with_fast_bodies(w, t, glide, par)


@within
def sweep_tiles(z, e, push, glide, par):
    """All tiles in turn; the links of a tile wait for the particles of the next."""
    length = tile_size(z)
    tiles = par.lanes.shape[0]
    for t in range(tiles + 1):
        if t < tiles:
            status = move_tile(z[t * length : (t + 1) * length], t, push, glide, par)
            if status != 0:
                return status
        if t > 0:
            link_tile(z, t - 1, par)
    return 0


def sweep_some_tiles(z, push, glide, par, begin, end):
    """`sweep_tiles` for the tiles begin to end - 1, without the links of the last: they wait for the next particles."""
    length = tile_size(z)
    for t in range(begin, end):
        status = move_tile(z[t * length : (t + 1) * length], t, push, glide, par)
        if status != 0:
            return status
        if t > begin:
            link_tile(z, t - 1, par)
    return 0


def link_one_tile(z, par, part):
    """The links of a tile; the particles of the next one must have been placed."""
    link_tile(z, part, par)


@apart
def gather(z, par):
    """r, q, p, y of all bodies into par.gathered, as in the other views, with the pending kick applied."""
    out = par.gathered
    count = par.mass.shape[0]
    lanes = lane_count(z)
    n = stride_of(z)
    length = tile_size(z)
    pending = z[z.shape[0] - 1]
    for j in range(count):
        w = z[(j // lanes) * length : (j // lanes + 1) * length]
        i = j % lanes
        for c in range(3):
            out[3 * j + c] = w[(R + c) * n + i]
            f = w[(F + c) * n + i] - w[(F + c) * n - 1 + i] + par.load[j, c]
            out[7 * count + 3 * j + c] = w[(P + c) * n + i] + pending * par.moves[j] * f
        for c in range(4):
            out[3 * count + 4 * j + c] = w[(Q + c) * n + i]
        t1, t2, t3 = to_body(
            out[3 * count + 4 * j : 3 * count + 4 * j + 4],
            w[S * n + i] - w[T * n - 1 + i],
            w[(S + 1) * n + i] - w[(T + 1) * n - 1 + i],
            w[(S + 2) * n + i] - w[(T + 2) * n - 1 + i],
        )
        a = pending * par.turns[j]
        out[10 * count + 3 * j] = w[Y * n + i] + a * t1
        out[10 * count + 3 * j + 1] = w[(Y + 1) * n + i] + a * t2
        out[10 * count + 3 * j + 2] = w[(Y + 2) * n + i] + a * t3
