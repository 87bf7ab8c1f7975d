"""Ready-made systems with starts and, where it exists, the exact solution."""

from .classic import galactic, harmonic, henon_heiles, kepler, pendulum
from .tops import symmetric_top

__all__ = ["galactic", "harmonic", "henon_heiles", "kepler", "pendulum", "symmetric_top"]
