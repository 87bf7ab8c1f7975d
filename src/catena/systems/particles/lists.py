"""Neighbour lists of particles, for potentials that end: pairs farther apart than a reach are never computed.

Partners are found with cells at least as wide as the reach plus a skin, and the lists stay valid until a particle has
moved by half of the skin. Partners are sorted by number, and what a list omits would add zero: a sum along lists has
the bits of the plain sum, however old a list is. If the lists have no memory left for all partners, all pairs are
computed.
"""

from ...geometry.vectors import dot, load3, store3, subtract
from ...kernels import elementary as math
from ...kernels.marks import choice, slot
from .kernels import every_pair
from .layout import Listing, Particle, Sort

AROUND = 27  # cells, including the middle one


@slot
def act_on_listed_row(a, first, end, par):
    """The operation on particle a and its partners at places `first` to `end` in par.particle_partner."""


def read_partner(k, par):
    """The partner at a place of the lists."""
    return par.particle_partner[k]


@choice
def looks_at_both_ends():
    """1 if pairs are needed at the start and at the end of a step, else 0."""
    return 0


def list_pairs(par):
    """Traverse all pairs that may be within reach."""
    if not is_fresh(par):
        make_lists(par)
    if par.particle_listing[Listing.FULL] == 1.0:
        every_pair(par)
    else:
        for a in range(par.particle.shape[0]):
            act_on_listed_row(a, par.particle_row[a], par.particle_row[a + 1], par)


def is_fresh(par):
    """Whether no particle has moved by more than half of the skin since the lists were made."""
    if par.particle_listing[Listing.MADE] == 0.0:
        return False
    allowed = 0.25 * par.particle_reach[1] * par.particle_reach[1]
    for a in range(par.particle.shape[0]):
        x = load3(par.particle_listed[a], 0)
        d = subtract(load3(par.particle[a], Particle.PLACE), x)
        if not dot(d, d) <= allowed:
            return False
        if looks_at_both_ends():
            d = subtract(load3(par.particle[a], Particle.PLACE_END), x)
            if not dot(d, d) <= allowed:
                return False
    return True


def make_lists(par):
    """Sort all particles into cells, and find the partners of each."""
    n = par.particle.shape[0]
    fill_cells(par)
    reach = par.particle_reach[0] + par.particle_reach[1]
    end = 0
    full = 0.0
    for a in range(n):
        par.particle_row[a] = end
        end = find_partners(a, end, reach * reach, par)
        if end < 0:
            full = 1.0
            break
        sort_part(par.particle_partner, par.particle_row[a], end)
    par.particle_row[n] = max(end, 0)
    par.particle_listing[Listing.MADE] = 1.0
    par.particle_listing[Listing.FULL] = full
    if full == 0.0 and looks_at_both_ends():
        # a step that moves a particle by more than half of the skin needs all pairs
        par.particle_listing[Listing.FULL] = 0.0 if is_fresh(par) else 1.0
        par.particle_listing[Listing.MADE] = 1.0 - par.particle_listing[Listing.FULL]


def fill_cells(par):
    """Fill cells at least as wide as the reach, as many as fit; each lists its particles in the order of their
    numbers."""
    n = par.particle.shape[0]
    state = par.particle_listing
    wide = par.particle_reach[0] + par.particle_reach[1]
    room = par.particle_cell.shape[0]
    count = 1
    for l in range(3):
        low = math.inf
        high = -math.inf
        for a in range(n):
            x = par.particle[a, Particle.PLACE + l]
            low = min(low, x)
            high = max(high, x)
        state[Listing.LOW + l] = low
        span = (high - low) / wide
        cells = 1
        while cells < span and count * (cells + 1) <= room and cells + 1 <= span:
            cells += 1
        state[Listing.CELLS + l] = cells
        state[Listing.WIDTH_OF_CELLS + l] = max((high - low) / cells, wide)
        count *= cells
    for k in range(count):
        par.particle_cell[k] = -1
    for a in range(n - 1, -1, -1):
        store3(par.particle_listed[a], 0, load3(par.particle[a], Particle.PLACE))
        cell = cell_of(a, 0, par) + int(state[Listing.CELLS]) * (
            cell_of(a, 1, par) + int(state[Listing.CELLS + 1]) * cell_of(a, 2, par)
        )
        par.particle_next[a] = par.particle_cell[cell]
        par.particle_cell[cell] = a


def cell_of(a, l, par):
    """The cell of particle a along axis l."""
    state = par.particle_listing
    at = int((par.particle[a, Particle.PLACE + l] - state[Listing.LOW + l]) / state[Listing.WIDTH_OF_CELLS + l])
    return max(0, min(at, int(state[Listing.CELLS + l]) - 1))


def find_partners(a, end, square, par):
    """Write the later partners of particle a, from place `end` on; returns the place after the last, or -1 if full."""
    state = par.particle_listing
    kx = int(state[Listing.CELLS])
    ky = int(state[Listing.CELLS + 1])
    kz = int(state[Listing.CELLS + 2])
    body = par.particle_sort[a, Sort.BODY]
    x = load3(par.particle[a], Particle.PLACE)
    for around in range(AROUND):
        cx = cell_of(a, 0, par) + around % 3 - 1
        cy = cell_of(a, 1, par) + around // 3 % 3 - 1
        cz = cell_of(a, 2, par) + around // 9 - 1
        if cx < 0 or cx >= kx or cy < 0 or cy >= ky or cz < 0 or cz >= kz:
            continue
        b = par.particle_cell[cx + kx * (cy + ky * cz)]
        while b >= 0:
            d = subtract(load3(par.particle[b], Particle.PLACE), x)
            if b > a and dot(d, d) <= square and not is_near(body, par.particle_sort[b, Sort.BODY], par):
                if end >= par.particle_partner.shape[0]:
                    return -1
                par.particle_partner[end] = b
                end += 1
            b = par.particle_next[b]
    return end


def is_near(i, j, par):
    """Whether particles of bodies i <= j do not interact."""
    near = i == j
    for k in range(par.particle_near_first[i], par.particle_near_first[i + 1]):
        near = near or par.particle_near[k] == j
    return near


def sort_part(numbers, first, end):
    """Sort the few numbers at places `first` to `end`."""
    for k in range(first + 1, end):
        moved = numbers[k]
        l = k - 1
        while l >= first and numbers[l] > moved:
            numbers[l + 1] = numbers[l]
            l -= 1
        numbers[l + 1] = moved
