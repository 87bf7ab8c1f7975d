"""Newton's corrections for a system that can solve (1 - h J) x = r itself; J: derivative of its field, h: complex.

The iteration matrix 1 - dt (B mu) (x) J of all stages decouples when the Runge-Kutta matrix is diagonalised, B mu = T
Lambda T^-1: one matrix 1 - dt lambda J for each eigenvalue; of a conjugate pair only the first is used [hairer1999].

newton_modes (2 s + 1, modes): T, doubled where a conjugate is omitted; T^-1 transposed; lambda. newton_vector (n): x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.marks import inline
from ...kernels.views import SINGULAR, factorise_shifted, linearise, solve_shifted
from .stages import stage_count
from .tableaux import Collocation


@inline
def prepare_modes(z, dt, par, tab, memory):
    """The derivative at z, and the factors of 1 - h J for each eigenvalue; returns a status."""
    s = stage_count(tab)
    linearise(z, par)
    for c in range(par.newton_modes.shape[1]):
        if factorise_shifted(c, dt * par.newton_modes[2 * s, c], par) != 0:
            return SINGULAR
    return 0


@inline
def correct_modes(residual, change, dt, par, tab, memory):
    """change = (1 - dt (B mu) (x) J)^-1 residual, both stage after stage."""
    s = stage_count(tab)
    n = residual.shape[0] // s
    x = par.newton_vector
    modes = par.newton_modes
    for k in range(s * n):
        change[k] = 0.0
    for c in range(modes.shape[1]):
        for k in range(n):
            total = residual[k] * modes[s, c]
            for i in range(1, s):
                total += residual[i * n + k] * modes[s + i, c]
            x[k] = total
        solve_shifted(c, dt * modes[2 * s, c], x, par)
        for k in range(n):
            for i in range(s):
                change[i * n + k] += (modes[i, c] * x[k]).real


def modes_of(t: Collocation) -> NDArray[np.complex128]:
    """newton_modes of a tableau."""
    s = t.stages
    values, vectors = np.linalg.eig(t.b[:, None] * t.mu)
    inverse = np.linalg.inv(vectors)
    first = [c for c in range(s) if values[c].imag >= 0.0]
    weights = np.where(values[first].imag > 0.0, 2.0, 1.0)
    return np.vstack([weights * vectors[:, first], inverse[first].T, values[None, first]]).astype(complex)


def mode_scratch(n: int) -> dict[str, NDArray[np.complex128]]:
    """Scratch for the kernels of this module, for n variables."""
    return {"newton_vector": np.zeros(n, dtype=complex)}
