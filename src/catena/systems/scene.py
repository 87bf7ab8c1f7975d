"""What can be shown of a system, as the system declares it: pages, films, pictures and exports use nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as _default
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .body import Body
    from .chain.interactions import Interactions
    from .linkage.joints import Joint
    from .top.attitude import Gravity

NO_GRAVITY = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Scene:
    """What can be shown of the states of a system.

    Bodies are drawn at the fields `position` (the origin, if there is none) and `orientation`; without bodies, the path
    through the first coordinates is drawn.

    Attributes
    ----------
    bodies : bodies with their shapes and particles, in the order of the fields
    links : interactions between each body and the next; None if neighbours are not linked
    joints : joints between bodies; None if the system has no joints at all
    gravity : (3,) acceleration in space
    torque : whether a torque acts on a body with a fixed point
    weight : the uniform gravity that acts on the centre of mass of such a body; None without gravity
    labels : names of the components of fields that have names, such as "q" and "p"; those of "q" are the coordinates of
        a path
    """

    bodies: tuple[Body, ...] = ()
    links: Interactions | None = None
    joints: tuple[Joint, ...] | None = None
    gravity: Any = NO_GRAVITY
    torque: bool = False
    weight: Gravity | None = None
    labels: Mapping[str, tuple[str, ...]] = _default(default_factory=dict)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates of a path."""
        return self.labels.get("q", ())
