"""Ready-made systems with starts and, where it exists, the exact solution.

A family of problems is loaded when one of its problems is first used, as the public names of catena are.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "chains": ["disc_chain", "helix_chain", "printed_chain"],
    "classic": ["galactic", "harmonic", "henon_heiles", "kepler", "pendulum"],
    "free_bodies": ["book", "flip"],
    "linkages": [
        "bennett",
        "bricard",
        "double_pendulum",
        "four_bar",
        "hanging_chain",
        "molecule",
        "six_ring",
        "triple_pendulum",
    ],
    "tops": ["kovalevskaya", "lagrange_top", "sleeping_top", "symmetric_top"],
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'catena.problems' has no attribute {name!r}")
    value = getattr(import_module(f"catena.problems.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
