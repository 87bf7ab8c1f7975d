"""The sweep over a chain with one GPU thread for each body, which keeps its numbers in registers and shows its
neighbours what they need.

A body is a tile of one body (`body_text`), moved by the operations of the tile kernels (`body_motion`), so the bits are
the same. Threads of a chain exchange numbers in shared memory: `shown`, position and particles, and `links`, f and t of
the link to the next body; each body has a column. They synchronise after they have written, and once more before
anything there is written again.

Between launches z (rows, bodies) of a chain holds the rows of a tile up to the particles, and the length of the kick
that is still to be made.
"""

from ....geometry.quaternion import to_body
from ....kernels.marks import size, slot, within
from ....kernels.threads import together
from ..bath import BATH, PARTIAL
from ..forces import bond_energy, link_count, pair_energies
from .body_motion import (
    first_pair_of,
    is_fast_one,
    kick_one,
    second_pair_of,
    shift_one,
    squares_of,
    third_pair_of,
    turn_one,
    turn_one_alone,
)
from .body_text import STRIDE
from .kernels import PADDING, TURNS, F, P, Q, R, S, T, X, Y

PENDING = X  # row of the kick that is still to be made


@size
def count_tiled(par):
    """Number of bodies in a tile that holds their constants; always replaced by a literal."""
    return par.lanes.shape[1]


@size
def chain_count(momenta):
    """Number of bodies of a chain; always replaced by a literal: the loops of its sums are unrolled, without
    division."""
    return momenta.shape[1]


@slot
def place_body(w, i, fixed, at, shown):
    """Place the particles of a body, and show them with its position to the previous body."""


@slot
def link_body(w, i, after, pair, fixed, at, shown, links):
    """Compute the link to the next body, and show it to that body."""


@slot
def see_before(w, before, links):
    """Read the previous link into the place where kicks expect it."""


@slot
def load_whole(z, j, w):
    """Load all numbers of body j."""


@slot
def load_shown(shown, j, w):
    """Load position and particles of body j from where it has shown them."""


@slot
def store_moved(w, z, j):
    """Store all numbers of body j."""


@slot
def store_link(w, z, j):
    """Store the forces of the link of body j."""


def begin_body(start, j, z):
    """r, q, p, y from the view "split"; forces are unknown, no kick is pending."""
    count = start.shape[0] // 13
    for row in range(z.shape[0]):
        z[row, j] = 0.0
    for c in range(3):
        z[R + c, j] = start[3 * j + c]
        z[P + c, j] = start[7 * count + 3 * j + c]
        z[Y + c, j] = start[10 * count + 3 * j + c]
    for c in range(4):
        z[Q + c, j] = start[3 * count + 4 * j + c]


@within
def drift_body(w, j, fixed, spins, at, glide, par):
    """Free motion, without the particles; a status."""
    m = count_tiled(par) + PADDING
    shift_one(w, fixed, at, m, glide)
    if is_fast_one(w, spins[at], glide):
        return turn_one_alone(w, j, glide, par)
    turn_one(w, fixed[at + TURNS * m], spins, at, m, glide)
    return 0


@within
def sweep_body(w, i, before, after, j, moves, push, glide, par, shown, links):
    """`sweep` of body j, in column i; its neighbours are in columns `before` (-1: none) and `after` (i: none).

    If it does not move, only its forces are computed. All threads of a block must call this equally often, because it
    synchronises.
    """
    fixed = par.lanes[j // count_tiled(par)]
    spins = par.spin[j // count_tiled(par)]
    at = j % count_tiled(par)
    status = 0
    if moves:
        kick_one(w, fixed, at, count_tiled(par) + PADDING, push)
        status = drift_body(w, j, fixed, spins, at, glide, par)
    place_body(w, i, fixed, at, shown)
    together()
    link_body(w, i, after, par.pair, fixed, at, shown, links)
    together()
    see_before(w, before, links)
    return status


def move_chained(z, j, before, moves, push, glide, par, w, shown, links):
    """The first half of `sweep_body`, with bodies as columns."""
    fixed = par.lanes[j // count_tiled(par)]
    spins = par.spin[j // count_tiled(par)]
    at = j % count_tiled(par)
    status = 0
    load_whole(z, j, w)
    if moves:
        see_before(w, before, links)
        kick_one(w, fixed, at, count_tiled(par) + PADDING, push)
        status = drift_body(w, j, fixed, spins, at, glide, par)
        store_moved(w, z, j)
    place_body(w, j, fixed, at, shown)
    return status


def join_chained(z, j, after, par, w, shown, links):
    """The second half."""
    load_shown(shown, j, w)
    link_body(w, j, after, par.pair, par.lanes[j // count_tiled(par)], j % count_tiled(par), shown, links)
    store_link(w, z, j)


@within
def stirred_sweep_body(
    w, i, before, after, j, moves, push, glide, par, member, step, sums, shown, links, momenta, partial
):
    """`stirred_sweep` of body j. sums: of the body, the last of its chain; momenta, partial: for the total momentum."""
    fixed = par.lanes[j // count_tiled(par)]
    spins = par.spin[j // count_tiled(par)]
    at = j % count_tiled(par)
    m = count_tiled(par) + PADDING
    status = 0
    if moves:
        kick_one(w, fixed, at, m, push)
        status = drift_body(w, j, fixed, spins, at, glide, par)
        stir_body(w, j, spins, at + BATH * m, m, par, member, step)
        tally_body(w, spins, at + BATH * m, m, sums)
        momenta[0, i] = w[P * STRIDE]
        momenta[1, i] = w[(P + 1) * STRIDE]
        momenta[2, i] = w[(P + 2) * STRIDE]
        again = drift_body(w, j, fixed, spins, at, glide, par)
        status = again if status == 0 else status
    place_body(w, i, fixed, at, shown)
    together()
    if moves:
        add_some_momenta(i, j, momenta, partial)
    link_body(w, i, after, par.pair, fixed, at, shown, links)
    together()
    see_before(w, before, links)
    if moves and j == 0:
        sums[7] += square_of_total(i, par, partial)
    return status


@within
def stir_body(w, j, spins, at, m, par, member, step):
    """The heat bath, all pairs."""
    seed0 = int(par.seed[0])
    seed1 = int(par.seed[1])
    first_pair_of(w, spins, at, m, seed0, seed1, member, step, j)
    second_pair_of(w, spins, at, m, seed0, seed1, member, step, j)
    third_pair_of(w, spins, at, m, seed0, seed1, member, step, j)


@within
def tally_body(w, spins, at, m, sums):
    """Add the squares of the momenta."""
    p1, p2, p3, y1, y2, y3, fourth = squares_of(w, spins, at, m)
    sums[0] += p1
    sums[1] += p2
    sums[2] += p3
    sums[3] += y1
    sums[4] += y2
    sums[5] += y3
    sums[6] += fourth


@within
def add_some_momenta(i, j, momenta, partial):
    """Add the partial sums of the total momentum that fall to body j, over every eighth body like `tally_lanes`."""
    for turn in range(-(-3 * PARTIAL // chain_count(momenta))):
        k = j + chain_count(momenta) * turn
        if k < 3 * PARTIAL:
            total = 0.0
            for eight in range(-(-chain_count(momenta) // PARTIAL)):
                other = k % PARTIAL + PARTIAL * eight
                if other < chain_count(momenta):
                    total += momenta[k // PARTIAL, i - j + other]
            partial[k, i // chain_count(momenta)] = total


@within
def square_of_total(i, par, partial):
    """The square of the total momentum, in units of its variance; i: column of the first body."""
    square = 0.0
    for c in range(3):
        p = 0.0
        for k in range(PARTIAL):
            p += partial[PARTIAL * c + k, i // chain_count(partial)]
        square += p * p
    return par.total_precision[0] * square


@within
def load_sums(carry, first, j, parts, sums):
    """Load the sums of body j from carry at `first`, see `tally`. Without loops: they can stay in registers."""
    sums[0] = carry[first + j]
    sums[1] = carry[first + parts + j]
    sums[2] = carry[first + 2 * parts + j]
    sums[3] = carry[first + 3 * parts + j]
    sums[4] = carry[first + 4 * parts + j]
    sums[5] = carry[first + 5 * parts + j]
    sums[6] = carry[first + 6 * parts + j]


@within
def store_sums(sums, carry, first, j, parts):
    """Store them."""
    carry[first + j] = sums[0]
    carry[first + parts + j] = sums[1]
    carry[first + 2 * parts + j] = sums[2]
    carry[first + 3 * parts + j] = sums[3]
    carry[first + 4 * parts + j] = sums[4]
    carry[first + 5 * parts + j] = sums[5]
    carry[first + 6 * parts + j] = sums[6]


def gather_one(z, j, par, out):
    """r, q, p, y of body j as in the other views, with the pending kick applied."""
    count = par.mass.shape[0]
    link = j - 1 if j > 0 else count - 1  # zero before the first body of an open chain, and after the last one
    for c in range(3):
        out[3 * j + c] = z[R + c, j]
        f = z[F + c, j] - z[F + c, link] + par.load[j, c]
        out[7 * count + 3 * j + c] = z[P + c, j] + z[PENDING, j] * par.moves[j] * f
    for c in range(4):
        out[3 * count + 4 * j + c] = z[Q + c, j]
    t1, t2, t3 = to_body(
        out[3 * count + 4 * j : 3 * count + 4 * j + 4],
        z[S, j] - z[T, link],
        z[S + 1, j] - z[T + 1, link],
        z[S + 2, j] - z[T + 2, link],
    )
    a = z[PENDING, j] * par.turns[j]
    out[10 * count + 3 * j] = z[Y, j] + a * t1
    out[10 * count + 3 * j + 1] = z[Y + 1, j] + a * t2
    out[10 * count + 3 * j + 2] = z[Y + 2, j] + a * t3


def gather_bodies(z, par):
    """The same for all bodies, into par.gathered."""
    for j in range(par.mass.shape[0]):
        gather_one(z, j, par, par.gathered)


def terms_of_link(gathered, j, par, out):
    """The energy of the link of body j in its two parts, from placed particles; zero if there is no link."""
    if j < link_count(par.mass.shape[0]):
        out[0, j] = pair_energies(gathered, j, par)
        out[1, j] = bond_energy(gathered, j, par)
