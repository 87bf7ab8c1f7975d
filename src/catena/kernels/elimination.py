"""Linear equations on flat arrays, row by row: no allocation, same bits everywhere.

`factorise` and `solve` are LU with partial pivoting, for real or complex matrices and many right-hand sides;
`eliminate` and `substitute` process the right-hand side, and rows that are eliminated only in part, along with the
matrix. Positive definite matrices have a Cholesky factorisation. `reduce` finds the rank.
"""

from . import elementary as math
from .marks import slot


@slot
def quotient(a, b):
    """a / b, for real or complex numbers."""


def real_quotient(a, b):
    """a / b."""
    return a / b


def complex_quotient(a, b):
    """a / b by products: numpy's complex division has other bits than compiled code."""
    return a * reciprocal(b)


def reciprocal(b):
    """1 / b for a complex number."""
    return b.conjugate() * (1.0 / (b.real * b.real + b.imag * b.imag))


def factorise(a, n, pivots):
    """Replace a (n x n, row by row) by L and U; returns 0, or 1 if a is singular."""
    for k in range(n):
        m = k
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > abs(a[m * n + k]):
                m = i
        pivots[k] = m
        if not abs(a[m * n + k]) > 0.0:
            return 1
        if m != k:
            for j in range(n):
                swapped = a[k * n + j]
                a[k * n + j] = a[m * n + j]
                a[m * n + j] = swapped
        for i in range(k + 1, n):
            factor = quotient(a[i * n + k], a[k * n + k])
            a[i * n + k] = factor
            for j in range(k + 1, n):
                a[i * n + j] -= factor * a[k * n + j]
    return 0


def solve(a, n, pivots, x):
    """Solve the factorised system for the right-hand side x, in place."""
    for k in range(n):
        m = int(pivots[k])
        swapped = x[k]
        x[k] = x[m]
        x[m] = swapped
    for i in range(n):
        total = x[i]
        for j in range(i):
            total -= a[i * n + j] * x[j]
        x[i] = total
    for i in range(n - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, n):
            total -= a[i * n + j] * x[j]
        x[i] = quotient(total, a[i * n + i])


def eliminate(t, pivots, rows, width):
    """Gaussian elimination of the first `pivots` columns of t (rows x width), exchanging only the first rows; 0, or 1 if singular."""
    for k in range(pivots):
        largest = abs(t[k * width + k])
        best = k
        for r in range(k + 1, pivots):
            if abs(t[r * width + k]) > largest:
                largest = abs(t[r * width + k])
                best = r
        if not largest > 0.0:
            return 1
        if best != k:
            for c in range(k, width):
                swapped = t[k * width + c]
                t[k * width + c] = t[best * width + c]
                t[best * width + c] = swapped
        inverse = 1.0 / t[k * width + k]
        pivot = t[k * width + k + 1 : (k + 1) * width]
        for r in range(k + 1, rows):
            factor = t[r * width + k] * inverse
            if factor != 0.0:
                row = t[r * width + k + 1 : (r + 1) * width]
                for c in range(width - k - 1):
                    row[c] -= factor * pivot[c]
    return 0


def substitute(t, pivots, width, x):
    """x (pivots) from the eliminated rows of t; the last column must already include the columns behind."""
    for r in range(pivots - 1, -1, -1):
        total = t[r * width + width - 1]
        for c in range(r + 1, pivots):
            total -= t[r * width + c] * x[c]
        x[r] = total / t[r * width + r]


def invert(a, count):
    """Replace a (count x count) by its inverse; 0, or 1 if that fails.

    Without exchanges: for matrices whose diagonal is never small.
    """
    for k in range(count):
        if not abs(a[count * k + k]) > 0.0:
            return 1
        inverse = 1.0 / a[count * k + k]
        a[count * k + k] = 1.0
        for c in range(count):
            a[count * k + c] *= inverse
        for r in range(count):
            if r != k:
                factor = a[count * r + k]
                a[count * r + k] = 0.0
                for c in range(count):
                    a[count * r + c] -= factor * a[count * k + c]
    return 0


def factorise_positive(w, n):
    """Replace the lower triangle of a positive definite matrix by its Cholesky factor."""
    for i in range(n):
        for j in range(i + 1):
            total = w[i * n + j]
            for k in range(j):
                total -= w[i * n + k] * w[j * n + k]
            w[i * n + j] = math.sqrt(total) if i == j else total / w[j * n + j]


def solve_positive(w, n, b):
    """Solve L L^T x = b in place of b, L the lower triangle of w."""
    for i in range(n):
        for j in range(i):
            b[i] -= w[i * n + j] * b[j]
        b[i] /= w[i * n + i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= w[j * n + i] * b[j]
        b[i] /= w[i * n + i]


def reduce(a, rows, columns, order, dependent):
    """Gaussian elimination with complete pivoting, down to `dependent`: (rank, last pivot, log and sign of the minor).

    order: numbers of the rows, then of the columns, in the order of elimination.
    """
    for k in range(rows + columns):
        order[k] = k if k < rows else k - rows
    sign = 1.0
    size = 0.0
    least = 1.0
    for k in range(min(rows, columns)):
        p = k
        q = k
        for i in range(k, rows):
            for j in range(k, columns):
                if abs(a[i * columns + j]) > abs(a[p * columns + q]):
                    p = i
                    q = j
        pivot = a[p * columns + q]
        if not abs(pivot) > dependent:
            return k, least, size, sign
        least = abs(pivot)
        size += math.log(least)
        sign = sign if pivot > 0.0 else -sign
        if p != k:
            sign = -sign
            exchange(order, k, p, 1, 1)
            exchange(a, k * columns, p * columns, columns, 1)
        if q != k:
            sign = -sign
            exchange(order, rows + k, rows + q, 1, 1)
            exchange(a, k, q, rows, columns)
        for i in range(k + 1, rows):
            factor = a[i * columns + k] / a[k * columns + k]
            for j in range(k + 1, columns):
                a[i * columns + j] -= factor * a[k * columns + j]
    return min(rows, columns), least, size, sign


def exchange(a, p, q, count, apart):
    """Swap `count` numbers of a starting at p with those starting at q, with stride `apart`."""
    for k in range(count):
        kept = a[p + k * apart]
        a[p + k * apart] = a[q + k * apart]
        a[q + k * apart] = kept
