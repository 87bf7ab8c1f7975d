"""The ready-made problems, as type checkers see them and as `catena.problems` loads them."""

from .chains import disc_chain, helix_chain, printed_chain, ring_chain
from .classic import (
    galactic,
    harmonic,
    henon_heiles,
    kepler,
    pendulum,
)
from .free_bodies import book, flip
from .linkages import (
    bennett,
    bricard,
    double_pendulum,
    four_bar,
    hanging_chain,
    molecule,
    six_ring,
    triple_pendulum,
)
from .tops import (
    kovalevskaya,
    lagrange_top,
    sleeping_top,
    symmetric_top,
)

__all__ = [
    "bennett",
    "book",
    "bricard",
    "disc_chain",
    "double_pendulum",
    "flip",
    "four_bar",
    "galactic",
    "hanging_chain",
    "harmonic",
    "helix_chain",
    "henon_heiles",
    "kepler",
    "kovalevskaya",
    "lagrange_top",
    "molecule",
    "pendulum",
    "printed_chain",
    "ring_chain",
    "six_ring",
    "sleeping_top",
    "symmetric_top",
    "triple_pendulum",
]
