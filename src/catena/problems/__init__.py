"""Ready-made systems with starts and, where it exists, the exact solution."""

from .chains import disc_chain, helix_chain, printed_chain
from .classic import galactic, harmonic, henon_heiles, kepler, pendulum
from .free_bodies import book, flip
from .tops import kovalevskaya, lagrange_top, sleeping_top, symmetric_top

__all__ = [
    "book",
    "disc_chain",
    "flip",
    "galactic",
    "harmonic",
    "helix_chain",
    "henon_heiles",
    "kepler",
    "kovalevskaya",
    "lagrange_top",
    "pendulum",
    "printed_chain",
    "sleeping_top",
    "symmetric_top",
]
