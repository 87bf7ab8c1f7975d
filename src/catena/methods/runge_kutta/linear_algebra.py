"""Newton's corrections from one dense matrix for all stages."""

from ...kernels.elimination import factorise, solve
from ...kernels.views import SINGULAR, dimension, jacobian
from .stages import stage_count


def prepare_dense(z, dt, par, tab, memory):
    """Factorise 1 - dt b_i mu_ij J, J at z, for all stages together; returns a status. memory: matrix, pivots, J."""
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
    """Size of `memory` for s stages of n variables."""
    return (s * n) ** 2 + s * n + n * n
