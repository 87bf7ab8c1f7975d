"""The modules whose classes are the forces of linkages: the registry imports them with this one."""

from . import driven, joint_forces, limit, motor, particle_forces

__all__ = ["driven", "joint_forces", "limit", "motor", "particle_forces"]
