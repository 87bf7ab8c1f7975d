"""Steps of implicit methods solved with forty digits, by an independent root finder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp

from catena.methods.runge_kutta.tableaux import Collocation

Field = Callable[[Sequence[Any]], Sequence[Any]]


def collocation_step(tableau: Collocation, field: Field, z: Sequence[Any], dt: Any) -> list[Any]:
    """z' = z + dt sum b_i k_i with k_i = f(z + dt sum a_ij k_j)."""
    s, n = tableau.stages, len(z)
    a = [[mp.mpf(str(value)) for value in row] for row in tableau.exact_a]
    b = [mp.mpf(str(value)) for value in tableau.exact_b]

    def missing(*flat: Any) -> list[Any]:
        k = [flat[i * n : (i + 1) * n] for i in range(s)]
        found = []
        for i in range(s):
            rate = field([z[m] + dt * sum(a[i][j] * k[j][m] for j in range(s)) for m in range(n)])
            found += [k[i][m] - rate[m] for m in range(n)]
        return found

    k = mp.findroot(missing, list(field(z)) * s, tol=1e-60, maxsteps=60)
    return [z[m] + dt * sum(b[i] * k[i * n + m] for i in range(s)) for m in range(n)]
