"""Trees of bodies from robot description files (URDF)."""

from .importing import Robot, read_urdf

__all__ = ["Robot", "read_urdf"]
