"""The modules whose classes are the forces of linkages: the registry imports them with this one."""

from . import joint_forces, motor, particle_forces

__all__ = ["joint_forces", "motor", "particle_forces"]
