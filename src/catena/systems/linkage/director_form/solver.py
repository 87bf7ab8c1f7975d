"""Newton's method for linked bodies: exact, in one sweep inwards and one outwards along the tree, or dense where loops are.

A block of `joint_part` holds the unknowns of a body and of the joint that carries it, which only the parent's unknowns touch
besides. Eliminating them, leaves first, leaves the parent's block changed and nothing else filled: the cost grows with the number of
bodies. Loops, and forces between bodies that no joint connects, need one dense matrix.
"""

from ....geometry.vectors import clear, copy
from ....kernels.elimination import eliminate, substitute
from ....kernels.marks import optional, slot
from ..layout import ForceSort, Link, RowSort, Scratch, Space, Tree
from .rows import both_levels


@slot
def body_block(i, h, par, t, width, first):
    """Add the inertia and weight of body i to a block whose unknowns of i begin at `first`."""


@slot
def joint_part(k, h, lam, par, t, width):
    """The block of joint k, into t; lam are its multipliers now."""


@optional
def force_part(f, h, par, t, width, first, second):
    """Add force f to a block: the unknowns of its two bodies begin at `first` and `second` (-1: not there)."""


@optional
def load_part(i, h, time, par, t, width, first):
    """Add the loads on body i to a block whose unknowns of i begin at `first`."""


def ground_forces(i, h, par, t, width):
    """Add the forces between body i and the ground to a block whose unknowns of i stand first."""
    f = par.tree[i, Tree.GROUND_FORCE]
    while f >= 0:
        side = 0 if par.force_sort[f, ForceSort.BODY_I] == i else -1
        force_part(f, h, par, t, width, side, -1 - side)
        f = par.force_sort[f, ForceSort.NEXT]


def multipliers_of(k, par):
    """Where the multipliers of joint k begin among all unknowns, and how many there are."""
    levels = 1 + both_levels()
    first = par.link[k, Link.FIRST_ROW]
    return levels * (6 * par.mass.shape[0] + first), levels * (par.link[k, Link.END_ROW] - first)


def tree_correction(h, time, x, par):
    """The Newton correction of all unknowns x into par.delta; 0, or 1 if a block is singular."""
    n = par.mass.shape[0]
    size = 6 + 6 * both_levels()
    for i in range(n):
        own = par.own[i]
        clear(own, size * (size + 1))
        body_block(i, h, par, own, size + 1, 0)
        load_part(i, h, time, par, own, size + 1, 0)
        ground_forces(i, h, par, own, size + 1)
    for place in range(n - 1, -1, -1):
        i = par.tree[place, Tree.ORDER]
        k = par.tree[i, Tree.CARRIER]
        if k < 0:
            status = eliminate(par.own[i], size, size, size + 1)
        else:
            first, rows = multipliers_of(k, par)
            status = fold(i, k, h, x[first : first + rows], par)
        if status != 0:
            return 1
    for place in range(n):
        unfold(par.tree[place, Tree.ORDER], par)
    return 0


def fold(i, k, h, lam, par):
    """Eliminate body i and the joint k that carries it, with multipliers lam: what the parent sees of them; 0, or 1 if singular."""
    size = 6 + 6 * both_levels()
    narrow = size + 1
    inner = size + lam.shape[0]
    width = inner + narrow
    t = par.block
    own = par.own[i]
    parent = par.link[k, Link.PARENT]
    joint_part(k, h, lam, par, t, width)
    weigh_rows(t, size, inner, width, par)
    f = par.link[k, Link.FORCE]
    while f >= 0:
        other = inner if parent >= 0 else -1
        is_second = par.force_sort[f, ForceSort.BODY_J] == i
        force_part(f, h, par, t, width, other if is_second else 0, 0 if is_second else other)
        f = par.force_sort[f, ForceSort.NEXT]
    for r in range(size):
        for c in range(size):
            t[r * width + c] += own[r * narrow + c]
        t[r * width + width - 1] += own[r * narrow + size]
    if eliminate(t, inner, inner + size if parent >= 0 else inner, width) != 0:
        return 1
    copy(t, par.upper[i], inner * width)
    if parent >= 0:
        below = par.own[parent]
        for r in range(size):
            for c in range(narrow):
                below[r * narrow + c] += t[(inner + r) * width + inner + c]
    return 0


def unfold(i, par):
    """par.delta of body i and of the joint that carries it, from that of the parent."""
    size = 6 + 6 * both_levels()
    k = par.tree[i, Tree.CARRIER]
    solution = par.scratch[Scratch.SOLUTION : Scratch.SOLUTION + 24]
    if k < 0:
        substitute(par.own[i], size, size + 1, solution)
    else:
        first, rows = multipliers_of(k, par)
        inner = size + rows
        width = inner + size + 1
        parent = par.link[k, Link.PARENT]
        t = par.upper[i]
        if parent >= 0:
            for r in range(inner):
                total = t[r * width + width - 1]
                for c in range(size):
                    total -= t[r * width + inner + c] * par.delta[size * parent + c]
                t[r * width + width - 1] = total
        substitute(t, inner, width, solution)
        copy(solution[size:], par.delta[first:], rows)
    copy(solution, par.delta[size * i :], size)


def dense_correction(h, time, x, par):
    """The same for loops: one matrix; rows that others imply (not kept) are left out with their multipliers."""
    n = par.mass.shape[0]
    size = 6 + 6 * both_levels()
    total = size * n + par.row.shape[0] * (1 + both_levels())
    width = total + 1
    big = par.dense
    clear(big, total * width)
    for i in range(n):
        body_block(i, h, par, big, width, size * i)
        load_part(i, h, time, par, big, width, size * i)
    for f in range(par.force_sort.shape[0]):
        i, j = par.force_sort[f, ForceSort.BODY_I], par.force_sort[f, ForceSort.BODY_J]
        force_part(f, h, par, big, width, size * i if i >= 0 else -1, size * j if j >= 0 else -1)
    for k in range(par.link.shape[0]):
        first, rows = multipliers_of(k, par)
        inner = size + rows
        joint_part(k, h, x[first : first + rows], par, par.block, inner + size + 1)
        weigh_rows(par.block, size, inner, inner + size + 1, par)
        scatter(
            par.block, inner, size, first, size * par.link[k, Link.CHILD], size * par.link[k, Link.PARENT], big, width
        )
    for k in range(par.link.shape[0]):
        leave_out(k, x, par, big, width)
    if eliminate(big, total, total, width) != 0:
        return 1
    substitute(big, total, width, par.delta)
    return 0


def weigh_rows(t, first, end, width, par):
    """Rows of a joint as large as the masses that they stand beside."""
    weight = par.space[Space.WEIGHT]
    if weight != 1.0:
        for l in range(first * width, end * width):
            t[l] *= weight


def leave_out(k, x, par, big, width):
    """The rows of joint k that are not kept: their multipliers become zero."""
    first, rows = multipliers_of(k, par)
    m = rows // (1 + both_levels())
    for r in range(m):
        if par.row_sort[par.link[k, Link.FIRST_ROW] + r, RowSort.KEPT] == 0:
            for place in range(first + r, first + rows, m):
                for c in range(width - 1):
                    big[place * width + c] = 0.0
                    big[c * width + place] = 0.0
                big[place * width + place] = 1.0
                big[place * width + width - 1] = -x[place]


def scatter(t, inner, size, multiplier, child, parent, big, width):
    """Add a block to the dense matrix: unknowns of the child, multipliers, unknowns of the parent (negative: the ground)."""
    narrow = inner + size + 1
    last = inner + size if parent >= 0 else inner
    for r in range(last):
        row = target(r, inner, size, multiplier, child, parent) * width
        for c in range(last):
            big[row + target(c, inner, size, multiplier, child, parent)] += t[r * narrow + c]
        big[row + width - 1] += t[r * narrow + narrow - 1]


def target(place, inner, size, multiplier, child, parent):
    """Where a row or column of a block stands in the dense matrix."""
    if place < size:
        return child + place
    if place < inner:
        return multiplier + place - size
    return parent + place - inner
