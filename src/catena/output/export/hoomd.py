"""GSD, the format of HOOMD-blue that OVITO shows with shapes: quaternions scalar first, single precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..page.appearance import appearance_of, bodies_of
from ..page.shapes import Shape
from .shared import Array, frames, scalars_of


def write(run: Any, path: Path) -> None:
    """A particle for each body; invariants are logged, and momenta in double precision."""
    import gsd.hoomd

    looks = appearance_of(run.system)
    bodies = bodies_of(run.system)
    described = [_described(shape) for shape in looks.shapes]
    mass = np.array([body.mass for body in bodies])
    box = _box(run, max(shape.reach for shape in looks.shapes))
    vectors = [name for name in ("momentum", "angular_momentum") if name in run.data]
    with gsd.hoomd.open(str(path), "w") as file:
        for frame in frames(run):
            written = gsd.hoomd.Frame()
            written.configuration.step = frame.step
            written.configuration.box = box
            written.configuration.dimensions = 3
            particles = written.particles
            particles.N = looks.count
            particles.types = [f"{shape.kind}{k}" for k, shape in enumerate(looks.shapes)]
            particles.typeid = looks.shape_of
            particles.type_shapes = described
            particles.mass = mass
            particles.position = frame.position
            particles.orientation = frame.orientation
            if "momentum" in vectors:
                particles.velocity = frame.fields["momentum"].reshape(-1, 3) / mass[:, None]
            facts = {"time": frame.time, **scalars_of(run, frame)}
            written.log = {name: np.array([value]) for name, value in facts.items()}
            written.log |= {f"particles/{name}": frame.fields[name].reshape(-1, 3) for name in vectors}
            file.append(written)


def _box(run: Any, reach: float) -> list[float]:
    """A box about the origin, large enough for all frames: nothing is periodic, but the format wants one."""
    far = np.zeros(3)
    for frame in frames(run):
        far = np.fmax(far, np.abs(frame.position).max(axis=0))
    edges: Array = 2.0 * (far + reach) * 1.001
    return [*edges.tolist(), 0.0, 0.0, 0.0]


def _described(shape: Shape) -> dict[str, Any]:
    """A shape as HOOMD-blue writes it."""
    if shape.kind == "ellipsoid":
        a, b, c = shape.half_extents.tolist()
        upright = np.allclose((shape.vertices / shape.half_extents) ** 2 @ np.ones(3), 1.0)
        if upright:  # of a body whose principal axes are its axes
            return {"type": "Ellipsoid", "a": a, "b": b, "c": c}
    if shape.kind == "box" or (shape.kind == "hull" and not shape.smooth):
        return {"type": "ConvexPolyhedron", "vertices": shape.vertices.tolist(), "rounding_radius": 0.0}
    return {"type": "Mesh", "vertices": shape.vertices.tolist(), "indices": shape.faces.tolist()}
