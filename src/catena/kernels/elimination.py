"""LU factorisation with partial pivoting on flat arrays, real or complex: no allocation, same bits everywhere."""

from .marks import slot


@slot
def quotient(a, b):
    """a / b, of real or of complex numbers."""


def real_quotient(a, b):
    """a / b."""
    return a / b


def complex_quotient(a, b):
    """a / b by products: numpy divides complex numbers with other bits than compiled code."""
    return a * reciprocal(b)


def reciprocal(b):
    """1 / b for a complex number."""
    return b.conjugate() * (1.0 / (b.real * b.real + b.imag * b.imag))


def factorise(a, n, pivots):
    """a (n x n, row by row) becomes L and U; 0, or 1 if it is singular."""
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
    """x becomes the solution of the factorised system with right-hand side x."""
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
