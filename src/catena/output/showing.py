"""What output asks of a system: its declared scene."""

from __future__ import annotations

from ..errors import CapabilityError
from ..systems.base import System
from ..systems.scene import Scene

NOTHING = Scene()  # of a system that declares none: only numbers can be shown


def scene_or_nothing(system: System) -> Scene:
    """What the system can show, an empty scene if it declares none."""
    return system.scene() or NOTHING


def scene_of(system: System, *, where: str) -> Scene:
    """What the system can show; CapabilityError if that is nothing."""
    scene = scene_or_nothing(system)
    if not scene.bodies and not scene.coordinates:
        raise CapabilityError(
            f"{system.title} declares nothing that can be drawn in space", where=where,
            do="look at run.data, run.plot.energy() and run.plot.invariants(), or give the system a scene()",
        )  # fmt: skip
    return scene
