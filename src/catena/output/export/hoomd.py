"""GSD, the format of HOOMD-blue, which OVITO shows with shapes: quaternions scalar first, single precision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...text.plain import Json
from ..page.appearance import appearance_of, bodies_of
from ..page.shapes import Shape
from .atoms import atoms_of
from .shared import Frame, frames, names_of_shapes, scalars_of

if TYPE_CHECKING:
    import gsd.hoomd

    from ...running.runs import Run


def write_bodies(run: Run, path: Path) -> None:
    """Write a particle for each body, typed by its shape; invariants are logged, and momenta in double precision."""
    import gsd.hoomd

    looks = appearance_of(run.system)
    bodies = bodies_of(run.system)
    mass = np.array([body.mass for body in bodies])
    box = _box(run, max(shape.reach for shape in looks.shapes))
    vectors = [name for name in ("momentum", "angular_momentum") if name in run.data]
    with gsd.hoomd.open(str(path), "w") as file:
        for frame in frames(run):
            written = _frame(run, frame, box)
            particles = written.particles
            particles.N = looks.count
            particles.types = names_of_shapes(looks)
            particles.typeid = looks.shape_of
            particles.type_shapes = [_describe(shape, frame.scale) for shape in looks.shapes]
            particles.mass = mass
            particles.position = frame.position
            particles.orientation = frame.orientation
            if "momentum" in vectors:
                particles.velocity = frame.fields["momentum"].reshape(-1, 3) / mass[:, None]
            written.log |= {f"particles/{name}": frame.fields[name].reshape(-1, 3) for name in vectors}
            file.append(written)


def write_particles(run: Run, path: Path) -> None:
    """Write the particles of all bodies, each once, with type, mass and number of the body; invariants are logged."""
    import gsd.hoomd

    looks, atoms = appearance_of(run.system), atoms_of(run)
    reach = np.linalg.norm(looks.particle_at, axis=1) + looks.particle_size
    box = _box(run, float(reach.max()))
    with gsd.hoomd.open(str(path), "w") as file:
        for frame in frames(run):
            written = _frame(run, frame, box)
            particles = written.particles
            particles.N = len(atoms.index)
            particles.types = list(atoms.names)
            particles.typeid = atoms.kind - 1
            particles.body = atoms.body
            particles.mass = atoms.mass
            particles.diameter = 2.0 * looks.particle_size[atoms.index]
            particles.position = atoms.placed(frame, looks)
            file.append(written)


def _frame(run: Run, frame: Frame, box: list[float]) -> gsd.hoomd.Frame:
    """A frame with everything except its particles."""
    import gsd.hoomd

    written = gsd.hoomd.Frame()
    written.configuration.step = frame.step
    written.configuration.box = box
    written.configuration.dimensions = 3
    facts = {"time": frame.time, **scalars_of(run, frame)}
    written.log = {name: np.array([value]) for name, value in facts.items()}
    return written


def _box(run: Run, reach: float) -> list[float]:
    """A box about the origin, large enough for all frames: nothing is periodic, but the format requires a box."""
    far = np.zeros(3)
    for frame in frames(run):
        far = np.fmax(far, np.abs(frame.position).max(axis=0) + frame.scale * reach)
    edges: Array = 2.0 * far * 1.001
    return [*edges.tolist(), 0.0, 0.0, 0.0]


def _describe(shape: Shape, scale: float) -> dict[str, Json]:
    """A shape in the notation of HOOMD-blue."""
    vertices = scale * shape.vertices
    if shape.kind == "ellipsoid":
        upright = np.allclose((shape.vertices / shape.half_extents) ** 2 @ np.ones(3), 1.0)
        if upright:  # if the principal axes are the axes of the body
            return {"type": "Ellipsoid", **dict(zip("abc", (scale * shape.half_extents).tolist(), strict=True))}
    if shape.kind == "box" or (shape.kind == "hull" and not shape.smooth):
        return {"type": "ConvexPolyhedron", "vertices": vertices.tolist(), "rounding_radius": 0.0}
    return {"type": "Mesh", "vertices": vertices.tolist(), "indices": shape.faces.tolist()}
