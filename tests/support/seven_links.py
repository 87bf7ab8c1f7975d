"""An arm of seven links as a robot description, and paths for its joints."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

AXES = ("0 0 1", "0 1 0", "0 0 1", "0 -1 0", "0.1 0 1", "0 1 0.2", "0 0 1")
PATHS = tuple(f"{0.3 + 0.05 * k}*sin({1.1 + 0.3 * k}*t + {0.2 * k}) - {0.1 * k}" for k in range(7))
KP, KD = 120.0, 9.0


def description() -> str:
    """The file: masses, centres and inertia differ from link to link, and nothing is parallel to an axis."""
    parts = ['<robot name="seven">', '<link name="base"/>']
    for k in range(7):
        size = 1.0 - 0.1 * k
        parts.append(
            f'<link name="l{k}"><inertial><origin xyz="{0.02 + 0.01 * k} {-0.03 * size} {0.15 * size}" rpy="0.1 {0.05 * k} -0.2"/>'
            f'<mass value="{4.0 * size}"/><inertia ixx="{0.05 * size}" ixy="0.001" ixz="{-0.002 * size}" iyy="{0.06 * size}" '
            f'iyz="0.0015" izz="{0.03 * size}"/></inertial></link>'
        )
        origin = f'xyz="{0.01 * k} {0.02 * (k % 2)} {0.32 * size}" rpy="{0.1 * (k % 3)} {-0.2 + 0.1 * k} 0.3"'
        parent = f"l{k - 1}" if k else "base"
        parts.append(
            f'<joint name="j{k}" type="continuous"><origin {origin}/><parent link="{parent}"/><child link="l{k}"/>'
            f'<axis xyz="{AXES[k]}"/></joint>'
        )
    return "\n".join([*parts, "</robot>"])


def write(folder: Path) -> str:
    """The file in a folder; its path."""
    path = folder / "seven.urdf"
    path.write_text(description())
    return str(path)


def told(t: float) -> np.ndarray:
    """(7, 3): the paths and their derivatives, in closed form."""
    made = []
    for k in range(7):
        a, w, p = 0.3 + 0.05 * k, 1.1 + 0.3 * k, 0.2 * k
        made.append((a * math.sin(w * t + p) - 0.1 * k, a * w * math.cos(w * t + p), -a * w * w * math.sin(w * t + p)))
    return np.array(made)
