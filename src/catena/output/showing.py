"""Access of the output modules to a system: the scene that it declares."""

from __future__ import annotations

from ..errors import CapabilityError
from ..systems.base import System
from ..systems.scene import Scene

NOTHING = Scene()  # for a system that declares none: only numbers can be shown


def scene_or_nothing(system: System) -> Scene:
    """The scene of a system, an empty one if it declares none."""
    return system.scene() or NOTHING


def scene_of(system: System, *, where: str) -> Scene:
    """The scene of a system; CapabilityError if it declares none."""
    scene = scene_or_nothing(system)
    if not scene.bodies and not scene.coordinates:
        raise CapabilityError(
            f"{system.title} declares nothing that can be drawn in space", where=where,
            do="look at run.data, run.plot.energy() and run.plot.invariants(), or give the system a scene()",
        )  # fmt: skip
    return scene
