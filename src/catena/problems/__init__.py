"""Ready-made systems with starts and, where it exists, the exact solution."""

from .classic import galactic, harmonic, henon_heiles, kepler, pendulum
from .free_bodies import book, flip
from .tops import kovalevskaya, lagrange_top, sleeping_top, symmetric_top

__all__ = [
    "book",
    "flip",
    "galactic",
    "harmonic",
    "henon_heiles",
    "kepler",
    "kovalevskaya",
    "lagrange_top",
    "pendulum",
    "sleeping_top",
    "symmetric_top",
]
