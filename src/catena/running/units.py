"""Units of the quantities of a run, from the labels of its case (`[units]`); nothing is converted."""

from __future__ import annotations

from collections.abc import Mapping

from ..systems.base import System

SPIN, ENERGY = (1, 2, -1), (1, 2, -2)
POWERS = {  # of mass, length and time; all other quantities have no unit, or one that depends on the case
    "time": (0, 0, 1),
    "position": (0, 1, 0),
    "momentum": (1, 1, -1),
    "total_momentum": (1, 1, -1),
    "angular_momentum": SPIN,
    "total_angular_momentum": SPIN,
    "spatial_momentum": SPIN,
    "vertical_momentum": SPIN,
    "axial_momentum": SPIN,
    "casimir": (2, 4, -2),
    "energy": ENERGY,
    "spin_energy": ENERGY,
    "damping_work": ENERGY,
    "load_work": ENERGY,
    "work": ENERGY,
    "scale_rate": (0, 0, -1),
    "force": (1, 1, -2),
    "torque": ENERGY,
}
OF_ANY_SYSTEM = ("time", "energy", "work")  # coordinates of a Hamiltonian may be anything
RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def unit_of(system: System, name: str, labels: Mapping[str, str], *, raised: bool = False) -> str:
    """Unit of a field or invariant, such as "kg m2 s-2"; empty if it has none, or if a label that it needs is missing.

    Parameters
    ----------
    name : of the field or invariant, or "time"
    labels : of "mass", "length" and "time"
    raised : whether to print powers as superscripts, "kg m\u00b2 s\u207b\u00b2", for people; other programs read the
        form above

    Examples
    --------
    >>> import catena as ct
    >>> unit_of(ct.problems.book().system, "energy", {"mass": "kg", "length": "m", "time": "s"})
    'kg m2 s-2'
    """
    has_bodies = any(field.name == "orientation" for field in system.fields)
    if name not in (POWERS if has_bodies else OF_ANY_SYSTEM):
        return ""
    parts = []
    for quantity, power in zip(("mass", "length", "time"), POWERS[name], strict=True):
        label = labels.get(quantity, "").strip()
        if power and not label:
            return ""
        if power:
            written = "" if power == 1 else str(power).translate(RAISED) if raised else str(power)
            parts.append((label if label.isalpha() or power == 1 else f"({label})") + written)
    return " ".join(parts)
