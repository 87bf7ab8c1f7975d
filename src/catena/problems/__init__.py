"""Ready-made systems with starts and, where it exists, the exact solution."""

from .classic import galactic, harmonic, henon_heiles, kepler, pendulum

__all__ = ["galactic", "harmonic", "henon_heiles", "kepler", "pendulum"]
