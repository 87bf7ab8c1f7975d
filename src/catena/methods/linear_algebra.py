"""LU factorisation with partial pivoting on flat arrays, and Newton's corrections by it: no allocation, same bits everywhere."""

from ..views import SINGULAR, dimension, jacobian
from .stages import stage_count


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
            a[i * n + k] /= a[k * n + k]
            factor = a[i * n + k]
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
        x[i] = total / a[i * n + i]


def prepare_dense(z, dt, par, tab, memory):
    """The factors of 1 - dt b_i mu_ij J, J at z, for all stages together; a status. memory: matrix, pivots, J."""
    n = dimension(z)
    s = stage_count(tab)
    m = s * n
    matrix = memory[: m * m]
    slope = memory[m * m + m : m * m + m + n * n]
    jacobian(z, par, slope)
    for i in range(s):
        for k in range(n):
            for j in range(s):
                factor = dt * tab[2 * s, i] * tab[j, i]
                for l in range(n):
                    matrix[(i * n + k) * m + j * n + l] = -factor * slope[k * n + l]
            matrix[(i * n + k) * m + i * n + k] += 1.0
    return SINGULAR if factorise(matrix, m, memory[m * m : m * m + m]) != 0 else 0


def correct_dense(residual, change, dt, par, tab, memory):
    """change = (1 - dt b_i mu_ij J)^-1 residual, both stage after stage."""
    m = residual.shape[0]
    for k in range(m):
        change[k] = residual[k]
    solve(memory[: m * m], m, memory[m * m : m * m + m], change)


def dense_memory(s: int, n: int) -> int:
    """Numbers of memory for s stages of n variables."""
    return (s * n) ** 2 + s * n + n * n
