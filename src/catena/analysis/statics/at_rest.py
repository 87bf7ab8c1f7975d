"""Common base of the equilibria of chains and of linkages."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from ...systems.base import State

Status = Literal["converged", "saddle", "torn", "not_converged"]
ENOUGH = 1e-4  # of the predicted decrease of the energy


@dataclass(frozen=True, eq=False, repr=False)
class AtRest:
    """A state at rest, and how certain that is; subclasses document the attributes."""

    state: State
    energy: float
    status: Status
    residual: float
    tol: float
    lowest: float
    negative: int
    flat: int
    saddles: tuple[float, ...]
    moved: float
    iterations: int

    @property
    def converged(self) -> bool:
        """Whether this is a stable equilibrium."""
        return self.status == "converged"

    @abstractmethod
    def report(self) -> list[tuple[str, str]]:
        """Rows of the report: names and values."""

    def common_report(self) -> list[tuple[str, str]]:
        """Rows of the report for every kind of equilibrium."""
        rows = [
            ("status", f"{self.status} after {self.iterations} iterations"),
            ("energy", f"{self.energy:.15g}"),
            ("residual", f"{self.residual:.2g} (asked for {self.tol:.2g})"),
            (
                "lowest",
                f"omega^2 = {self.lowest:.10g}; {self.negative} negative, {self.flat} that cost{'s' if self.flat == 1 else ''} nothing",
            ),
            ("moved", f"{self.moved:.6g}"),
        ]
        if self.saddles:
            rows.append(("left", f"unstable equilibria with omega^2 = {', '.join(f'{w:.6g}' for w in self.saddles)}"))
        return rows

    def __repr__(self) -> str:
        (_, status), *rest = self.report()
        return "\n".join([f"Equilibrium: {status}", *(f"  {name:9} {value}" for name, value in rest)])


class Measured(Protocol):
    """A position with its energy, the largest residual force, and the rounding error of the energy."""

    @property
    def energy(self) -> float: ...
    @property
    def residual(self) -> float: ...
    @property
    def noise(self) -> float: ...


def is_better(found: Measured, before: Measured, predicted: float) -> bool:
    """Whether a step decreases the energy as predicted; or the residual, where the energy is lost in rounding."""
    if not (np.isfinite(found.energy) and np.isfinite(found.residual)):
        return False
    noise = max(before.noise, found.noise)
    if -predicted < noise and found.residual < before.residual:
        return found.energy <= before.energy + 10.0 * noise
    return found.energy <= before.energy + ENOUGH * predicted + noise
