"""The search for an equilibrium, of chains and linkages: down to a balance, and on as long as it is unstable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import numpy as np

from ...arrays import Array
from .at_rest import Measured, Status

MOST_ITERATIONS = 1000  # a chain that is pulled apart slowly may take 500
MOST_SADDLES = 20
WAY_DOWN = (0.1, 0.02, 0.004, 8e-4, 1.6e-4, 3e-5, 6e-6)  # sizes of the steps tried from a saddle


class Stable(Protocol):
    """Small motions about a balance: number of unstable ones, lowest eigenvalue omega^2 of those that need energy."""

    @property
    def negative(self) -> int: ...
    @property
    def lowest(self) -> float: ...


Place = TypeVar("Place", bound=Measured)
Motions = TypeVar("Motions", bound=Stable)


class Descent(ABC, Generic[Place, Motions]):
    """A search for an equilibrium: its present position, and what it has met.

    Attributes
    ----------
    balance : present position, its energy and its forces
    iterations : steps of Newton's method
    saddles : the lowest eigenvalue of each unstable equilibrium that was met, and left
    """

    def __init__(self, balance: Place) -> None:
        self.balance = balance
        self.iterations = 0
        self.saddles: list[float] = []

    @property
    @abstractmethod
    def tol(self) -> float:
        """The requested tolerance, or the attainable one if that is larger."""

    @abstractmethod
    def step(self) -> Place | None:
        """The position after the next step; None if no step leads down."""

    @abstractmethod
    def motions(self) -> Motions:
        """The small motions about the balance."""

    @abstractmethod
    def way_down(self, motions: Motions) -> Array:
        """The fastest way down, normalised to size 1."""

    @abstractmethod
    def displaced(self, motion: Array) -> Place | None:
        """The position after this motion; None if there is none."""

    def take(self, found: Place) -> None:
        """Move to this position."""
        self.balance = found

    def sharper(self, motions: Motions) -> Place | None:
        """A better balance, if the residual forces could account for the lowest eigenvalue; else None."""
        return None

    def is_torn(self, *, surely: bool = False) -> bool:
        """Whether something has come apart; `surely`: whatever path the search took."""
        return False

    def settle(self) -> tuple[Status, Motions | None]:
        """Descend to a balance, and on from it as long as it is unstable."""
        while (status := self.descend()) == "converged":
            motions = self.motions()
            while (found := self.sharper(motions)) is not None:
                self.take(found)
                self.iterations += 1
                motions = self.motions()
            if motions.negative == 0:
                return status, motions
            if len(self.saddles) == MOST_SADDLES or not self.leave(motions):
                return "saddle", motions
        return status, None

    def descend(self) -> Status:
        """Take steps until the residual is below the tolerance."""
        while not self.balance.residual <= self.tol:
            goes_on = self.iterations < MOST_ITERATIONS and np.isfinite(self.balance.energy)
            found = self.step() if goes_on else None
            if found is None:
                return "torn" if self.is_torn(surely=True) else "not_converged"
            self.take(found)
            self.iterations += 1
            if self.is_torn():
                return "torn"
        return "converged"

    def leave(self, motions: Motions) -> bool:
        """Take a small step down from a saddle, to the side with the lower energy; returns whether there is one."""
        motion = self.way_down(motions)
        for size in WAY_DOWN:
            sides = [found for sign in (1.0, -1.0) if (found := self.displaced(sign * size * motion)) is not None]
            lowest = min(sides, key=lambda side: side.energy if np.isfinite(side.energy) else np.inf, default=None)
            if lowest is not None and lowest.energy < self.balance.energy:
                self.saddles.append(motions.lowest)
                self.take(lowest)
                return True
        return False
