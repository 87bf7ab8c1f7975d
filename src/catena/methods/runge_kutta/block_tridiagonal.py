"""Newton's corrections for bodies that interact with their neighbours only: linear in the number of bodies.

The matrices are the 1 - h J of `modes`, with J block tridiagonal over the bodies. With x the seven positions (r, q) of
a body and m its seven momenta (p, g), the momenta are eliminated body by body,

    m = N (rho_m + h sum_k J_mx[j, k] x_k),      N = (1 - h J_mm)^-1,      E = h J_xm N,

and a block tridiagonal system with blocks of 7 x 7 remains for the positions:

    (1 - h J_xx - h E J_mx[j, j]) x_j - h E (J_mx[j, j-1] x_{j-1} + J_mx[j, j+1] x_{j+1}) = rho_x + E rho_m.

It is factorised without exchanging bodies, but with pivoting inside the blocks. If the bodies form a ring, the last one
borders the system of the others, T x + C x_last = rho: with T Z = C (seven columns), T y = rho and x = y - Z x_last,

    (D - L Z_{n-2} - R Z_0) x_last = rho_last - L y_{n-2} - R y_0.

The factors are complex, so they are stored in par:

newton_matrices (modes, bodies, 6, 7, 7): N, E, inverse of the reduced diagonal block, block to the left, the inverse
times the block to the right (for the last body of a ring, that block itself), scratch, and in a ring Z.
newton_vectors (bodies, 21): x, m, scratch. newton_jacobian: J as `block_jacobian` computes it.
"""

from __future__ import annotations

import numpy as np

from ...kernels.elimination import reciprocal
from ...kernels.marks import Numbers
from ...kernels.views import SINGULAR, block_entry, block_jacobian, is_closed

HALF = 7  # positions of a body, and momenta
BLOCK = 14


def linearise_blocks(z, par):
    """The Jacobian at z."""
    block_jacobian(z, par, par.newton_jacobian)


def factorise_blocks(c, h, par):
    """Factorise 1 - h J; returns a status."""
    return SINGULAR if eliminate(h, par.newton_jacobian, par.newton_matrices[c]) != 0 else 0


def solve_blocks(c, h, x, par):
    """Solve (1 - h J) x = x in place."""
    v = par.newton_vectors
    for j in range(v.shape[0]):
        for a in range(BLOCK):
            v[j, a] = x[block_entry(j, a, par)]
    substitute(h, par.newton_jacobian, par.newton_matrices[c], v)
    for j in range(v.shape[0]):
        for a in range(BLOCK):
            x[block_entry(j, a, par)] = v[j, a]


def eliminate(h, slopes, kept):
    """Write the factors of 1 - h J into kept; returns 0, or 1 if a block is singular."""
    n = slopes.shape[0]
    for j in range(n):
        inverse = kept[j, 0]
        onto = kept[j, 1]
        own = kept[j, 2]
        left = kept[j, 3]
        onward = kept[j, 4]
        scratch = kept[j, 5]
        one_minus(h, slopes[j, 3], scratch)
        if invert(scratch, inverse) != 0:
            return 1
        clear(onto)
        subtract_product(-h, slopes[j, 1], inverse, onto)
        clear(left)
        subtract_product(h, onto, slopes[j, 4], left)
        one_minus(h, slopes[j, 0], scratch)
        subtract_product(h, onto, slopes[j, 2], scratch)
        if is_closed() and j == n - 1:
            return close_elimination(h, slopes, kept)
        if j > 0:
            subtract_product(1.0, left, kept[j - 1, 4], scratch)
        if invert(scratch, own) != 0:
            return 1
        clear(scratch)
        subtract_product(-h, onto, slopes[j, 5], scratch)
        clear(onward)
        subtract_product(1.0, own, scratch, onward)
    return 0


def close_elimination(h, slopes, kept):
    """Z of all bodies but the last, and the inverse of the remaining block of that one (D in its scratch); 0 or 1."""
    last = slopes.shape[0] - 1
    for j in range(last):
        z = kept[j, 6]
        clear(z)
        if j == 0:
            subtract_product(-1.0, kept[j, 2], kept[j, 3], z)
        else:
            scratch = kept[j, 5]
            clear(scratch)
            subtract_product(1.0, kept[j, 3], kept[j - 1, 6], scratch)
            subtract_product(-1.0, kept[j, 2], scratch, z)
    add_block(kept[last - 1, 4], kept[last - 1, 6])
    for i in range(last - 1):
        j = last - 2 - i
        subtract_product(1.0, kept[j, 4], kept[j + 1, 6], kept[j, 6])
    right = kept[last, 4]
    clear(right)
    subtract_product(h, kept[last, 1], slopes[last, 5], right)
    rest = kept[last, 5]
    subtract_product(1.0, kept[last, 3], kept[last - 1, 6], rest)
    subtract_product(1.0, right, kept[0, 6], rest)
    return invert(rest, kept[last, 2])


def substitute(h, slopes, kept, v):
    """Solve (1 - h J) v = v in place; v holds positions and momenta of all bodies."""
    n = slopes.shape[0]
    rows = n - is_closed()
    for j in range(n):
        for a in range(HALF):
            total = v[j, a]
            for c in range(HALF):
                total += kept[j, 1, a, c] * v[j, HALF + c]
            if 0 < j < rows:
                for c in range(HALF):
                    total -= kept[j, 3, a, c] * v[j - 1, c]
            v[j, BLOCK + a] = total
        if j < rows:
            apply(kept[j, 2], v, j, 0)
    for i in range(rows - 1):
        j = rows - 2 - i
        for a in range(HALF):
            total = v[j, a]
            for c in range(HALF):
                total -= kept[j, 4, a, c] * v[j + 1, c]
            v[j, a] = total
    if is_closed():
        close_substitution(kept, v)
    for j in range(n):
        before = j - 1 if j > 0 else n - 1
        behind = j + 1 if j < n - 1 else 0
        for a in range(HALF):
            total = slopes[j, 2, a, 0] * v[j, 0]
            for c in range(1, HALF):
                total += slopes[j, 2, a, c] * v[j, c]
            if is_closed() or j > 0:
                for c in range(HALF):
                    total += slopes[j, 4, a, c] * v[before, c]
            if is_closed() or j < n - 1:
                for c in range(HALF):
                    total += slopes[j, 5, a, c] * v[behind, c]
            v[j, BLOCK + a] = v[j, HALF + a] + h * total
        apply(kept[j, 0], v, j, HALF)


def close_substitution(kept, v):
    """Positions of the last body of a ring, its right side in the scratch of v; then the others: x = y - Z x_last."""
    last = v.shape[0] - 1
    for a in range(HALF):
        total = v[last, BLOCK + a]
        for c in range(HALF):
            total -= kept[last, 3, a, c] * v[last - 1, c] + kept[last, 4, a, c] * v[0, c]
        v[last, BLOCK + a] = total
    apply(kept[last, 2], v, last, 0)
    for j in range(last):
        for a in range(HALF):
            total = v[j, a]
            for c in range(HALF):
                total -= kept[j, 6, a, c] * v[last, c]
            v[j, a] = total


def apply(matrix, v, j, first):
    """v[j, first ..] = matrix times the scratch of v[j]."""
    for a in range(HALF):
        total = matrix[a, 0] * v[j, BLOCK]
        for c in range(1, HALF):
            total += matrix[a, c] * v[j, BLOCK + c]
        v[j, first + a] = total


def one_minus(h, a, out):
    """out = 1 - h a."""
    for i in range(HALF):
        for k in range(HALF):
            out[i, k] = -h * a[i, k]
        out[i, i] += 1.0


def add_block(a, out):
    """out += a."""
    for i in range(HALF):
        for k in range(HALF):
            out[i, k] += a[i, k]


def clear(out):
    """out = 0."""
    for i in range(HALF):
        for k in range(HALF):
            out[i, k] = 0.0


def subtract_product(factor, a, b, out):
    """out -= factor a b."""
    for i in range(HALF):
        for l in range(HALF):
            f = factor * a[i, l]
            for k in range(HALF):
                out[i, k] -= f * b[l, k]


def invert(a, out):
    """out = a^-1 by Gauss-Jordan elimination with row exchanges; overwrites a. Returns 0, or 1 if a is singular."""
    clear(out)
    for i in range(HALF):
        out[i, i] = 1.0
    for l in range(HALF):
        m = l
        for i in range(l + 1, HALF):
            if abs(a[i, l].real) + abs(a[i, l].imag) > abs(a[m, l].real) + abs(a[m, l].imag):
                m = i
        if not abs(a[m, l].real) + abs(a[m, l].imag) > 0.0:
            return 1
        f = reciprocal(a[m, l])
        for k in range(HALF):
            upper = f * a[m, k]
            a[m, k] = a[l, k]
            a[l, k] = upper
            upper = f * out[m, k]
            out[m, k] = out[l, k]
            out[l, k] = upper
        for i in range(HALF):
            if i != l:
                f = a[i, l]
                for k in range(HALF):
                    a[i, k] -= f * a[l, k]
                    out[i, k] -= f * out[l, k]
    return 0


def block_scratch(modes: int, bodies: int, *, closed: bool) -> dict[str, Numbers]:
    """Scratch for the kernels of this module."""
    return {
        "newton_matrices": np.zeros((modes, bodies, 7 if closed else 6, HALF, HALF), dtype=complex),
        "newton_vectors": np.zeros((bodies, BLOCK + HALF), dtype=complex),
        "newton_jacobian": np.zeros((bodies, 6, HALF, HALF)),
    }
