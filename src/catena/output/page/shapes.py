"""The surface of a body: triangles in the axes in which the body was given, relative to its origin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...systems.body import Body

Faces = NDArray[np.int64]

AROUND = 32  # corners of a circle
ALONG = 16  # rings of a sphere from pole to pole
FLAT = 0.02  # of the largest extent: the thickness at which a flat body, or a line, is still visible
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
BOX_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
     [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Shape:
    """A closed surface of triangles, counter-clockwise seen from outside.

    Attributes
    ----------
    kind : "box", "ellipsoid", "disc", "rod", "mesh", "hull" or "cone"
    vertices : (v, 3) in the axes of the body
    faces : (f, 3) indices of vertices
    smooth : whether neighbouring triangles belong to one round surface
    """

    kind: str
    vertices: Array
    faces: Faces
    smooth: bool = False

    @property
    def half_extents(self) -> Array:
        """(3,) half the edges of the box around it, along the axes of the body."""
        return 0.5 * (self.vertices.max(axis=0) - self.vertices.min(axis=0))

    @property
    def reach(self) -> float:
        """The largest distance of a vertex from the origin."""
        return float(np.linalg.norm(self.vertices, axis=1).max())


def shape_of(body: Body) -> Shape:
    """The shape of a body.

    A body of particles is their convex hull. A body given by its inertia alone is the ellipsoid of the same mass and
    inertia, with semi-axes sqrt(5 d_k / m) along the principal axes.
    """
    given = {name: np.array(value) for name, value in body.describe().items()}
    if body.shape == "box":
        return Shape("box", CORNERS * thicken(given["size"]), BOX_FACES)
    if body.shape == "ellipsoid":
        return ellipsoid(thicken(given["semi_axes"]))
    if body.shape == "disc":
        extents = thicken(np.array([2 * given["radius"], 2 * given["radius"], given["thickness"]]))
        return cylinder(0.5 * extents[0], extents[2])
    if body.shape == "rod":
        length = float(given["length"])
        return cylinder(FLAT * length, length, kind="rod")
    if body.shape == "mesh":
        return Shape("mesh", given["vertices"] - body.center, given["faces"])
    if body.shape == "tetrahedron" and "vertices" in given:
        return hull(given["vertices"] - body.center)
    if len(body.particles):
        return hull(body.particles.positions)
    principal = ellipsoid(thicken(np.sqrt(5.0 * body.second_moments / body.mass)))
    return Shape("ellipsoid", principal.vertices @ body.frame_matrix.T, principal.faces, smooth=True)


def cone_of(body: Body, center: Array) -> Shape | None:
    """The solid cone with its tip at the fixed point and the moments of a top about it; None if there is none.

    d = m (3/20 a^2, 3/20 b^2, 3/5 h^2) for the semi-axes a, b of its base and its height h, which points along a
    principal axis, as the centre of mass must.
    """
    along = body.frame_matrix.T @ center
    k = int(np.argmax(np.abs(along)))
    if np.linalg.norm(np.delete(along, k)) > 1e-9 * np.linalg.norm(along) or body.second_moments.min() <= 0.0:
        return None
    size = np.sqrt(body.second_moments / body.mass * np.where(np.arange(3) == k, 5.0 / 3.0, 20.0 / 3.0))
    i, j = (k + 1) % 3, (k + 2) % 3
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    vertices = np.zeros((AROUND + 2, 3))
    vertices[:AROUND, i], vertices[:AROUND, j] = size[i] * np.cos(angle), size[j] * np.sin(angle)
    vertices[: AROUND + 1, k] = np.sign(along[k]) * size[k]
    ring = np.arange(AROUND)
    base = np.column_stack([ring, np.roll(ring, -1), np.full(AROUND, AROUND)])
    side = np.column_stack([np.roll(ring, -1), ring, np.full(AROUND, AROUND + 1)])
    faces = np.vstack([base, side])
    return Shape("cone", vertices @ body.frame_matrix.T, faces if along[k] > 0 else faces[:, ::-1])


def ellipsoid(semi_axes: Array) -> Shape:
    """An ellipsoid along the axes."""
    polar = np.pi * np.arange(1, ALONG) / ALONG
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    rings = np.stack(
        [
            np.outer(np.sin(polar), np.cos(angle)),
            np.outer(np.sin(polar), np.sin(angle)),
            np.outer(np.cos(polar), np.ones(AROUND)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    vertices = np.vstack([rings, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]) * semi_axes
    north, south = len(rings), len(rings) + 1
    here = np.arange(AROUND)
    there = np.roll(here, -1)
    faces = [np.column_stack([here, there, np.full(AROUND, north)])]
    for ring in range(ALONG - 2):
        upper, lower = ring * AROUND, (ring + 1) * AROUND
        faces.append(np.column_stack([upper + here, lower + here, lower + there]))
        faces.append(np.column_stack([upper + here, lower + there, upper + there]))
    last = (ALONG - 2) * AROUND
    faces.append(np.column_stack([last + there, last + here, np.full(AROUND, south)]))
    return Shape("ellipsoid", vertices, np.vstack(faces), smooth=True)


def cylinder(radius: float, length: float, *, kind: str = "disc") -> Shape:
    """A cylinder about axis 3."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    half = np.full((AROUND, 1), 0.5 * length)
    axis = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
    vertices = np.vstack([np.hstack([circle, -half]), np.hstack([circle, half]), axis])
    here = np.arange(AROUND)
    there = np.roll(here, -1)
    bottom, top = 2 * AROUND, 2 * AROUND + 1
    faces = np.vstack(
        [
            np.column_stack([here, there, AROUND + there]),
            np.column_stack([here, AROUND + there, AROUND + here]),
            np.column_stack([there, here, np.full(AROUND, bottom)]),
            np.column_stack([AROUND + here, AROUND + there, np.full(AROUND, top)]),
        ]
    )
    return Shape(kind, vertices, faces)


def hull(points: Array) -> Shape:
    """The convex hull of points; a flat one gets a small thickness, a line becomes a rod, a point a small ball."""
    from scipy.spatial import ConvexHull

    middle = points.mean(axis=0)
    _, spread, axes = np.linalg.svd(points - middle, full_matrices=True)
    spread = np.concatenate([spread, np.zeros(3 - len(spread))])
    rank = int((spread > 1e-9 * max(spread[0], 1e-300)).sum()) if spread[0] > 0.0 else 0
    if rank == 0:
        ball = ellipsoid(np.full(3, 0.05))
        return Shape("hull", ball.vertices + middle, ball.faces, smooth=True)
    local = (points - middle) @ axes.T
    thin = 0.5 * FLAT * float(np.ptp(local[:, 0]))
    if rank == 1:
        rod = cylinder(thin, float(np.ptp(local[:, 0])))
        turned = rod.vertices[:, [2, 0, 1]] + [0.5 * (local[:, 0].min() + local[:, 0].max()), 0.0, 0.0]
        return Shape("hull", _turn_back(turned, axes, middle), _outwards(rod.faces, axes))
    if rank == 2:
        local = np.vstack([local * [1.0, 1.0, 0.0], local * [1.0, 1.0, 0.0]])
        local[:, 2] = np.repeat([thin, -thin], len(points))
    found = ConvexHull(local)
    corners = local[found.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normal, found.equations[:, :3]) < 0.0
    faces = np.where(inward[:, None], found.simplices[:, ::-1], found.simplices)
    used, renumbered = np.unique(faces, return_inverse=True)
    vertices = points[used] if rank == 3 else _turn_back(local[used], axes, middle)
    return Shape("hull", vertices, _outwards(renumbered.reshape(faces.shape), axes))


def _turn_back(local: Array, axes: Array, middle: Array) -> Array:
    return local @ axes + middle


def _outwards(faces: Faces, axes: Array) -> Faces:
    """Triangles found in left- or right-handed axes, oriented outwards."""
    return faces if np.linalg.det(axes) > 0.0 else faces[:, ::-1]


def thicken(extents: Array) -> Array:
    """Extents with a minimum, so that each is visible."""
    return np.maximum(extents, FLAT * extents.max())
