"""Twist and writhe of a polygon with a director at each vertex: a ribbon with the polygon as one edge.

A closed ribbon has an integer, the linking number of its two edges, however it is deformed, and [calugareanu1959,
white1969]

    Lk = Tw + Wr.

Both parts are exact for polygons. Wr is the Gauss integral over all pairs of edges [banchoff1976, klenin2000]: a pair
contributes the solid angle of all directions from which the two are seen to cross, a spherical parallelogram with the
corners r13, r14, r24, r23 (rij from vertex i to vertex j, edges 12 and 34). It consists of two triangles with the same
volume T = r13.(r34 x r12), whose solid angles are 2 atan2(T, D) [vanoosterom1983]: no digits are lost if all edges lie
nearly in a plane, where sines of angles between planes would lose half of them. Tw is the sum of the angles by which
the director rotates about each edge, and of those by which it rotates, relative to parallel transport, where the
tangent goes from one edge to the next along the shorter arc. Tw is continuous, except for jumps by whole turns where a
director passes through a tangent; Wr, except for jumps by 2 where two edges pass through each other.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import elementary as math
from .vectors import cross, dot, load3, subtract

TURN = 2.0 * math.pi


def writhe_of(vertices, closed):
    """Wr of a polygon with vertices (n, 3); `closed`: 1 if an edge leads from the last vertex to the first, else 0."""
    n = vertices.shape[0]
    edges = n - 1 + closed
    total = 0.0
    for i in range(edges):
        # the next edge is coplanar with this one, and so is the one before: no crossing is visible
        last = edges - 1 if closed == 1 and i == 0 else edges
        row = 0.0
        for j in range(i + 2, last):
            row += half_solid_angle(
                load3(vertices[i], 0), load3(vertices[i + 1], 0), load3(vertices[j], 0), load3(vertices[(j + 1) % n], 0)
            )
        total += row
    return 2.0 * total / TURN


def half_solid_angle(r1, r2, r3, r4):
    """Half of the solid angle from which edges r1 to r2 and r3 to r4 are seen to cross, with the crossing's sign."""
    a = subtract(r3, r1)
    b = subtract(r4, r1)
    c = subtract(r4, r2)
    d = subtract(r3, r2)
    t = dot(a, cross(subtract(r4, r3), subtract(r2, r1)))
    la = math.sqrt(dot(a, a))
    lb = math.sqrt(dot(b, b))
    lc = math.sqrt(dot(c, c))
    ld = math.sqrt(dot(d, d))
    ac = dot(a, c)
    first = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + ac * lb
    second = la * lc * ld + ac * ld + dot(c, d) * la + dot(d, a) * lc
    return math.atan2(t * (first + second), first * second - t * t)


def twist_of(vertices: Array, directors: Array, *, closed: bool) -> float:
    """Tw of a polygon with vertices (n, 3) and directors (n, 3), in turns."""
    if closed:
        vertices, directors = (np.concatenate([given, given[:1]]) for given in (vertices, directors))
    edges = np.diff(vertices, axis=0)
    tangents = edges / np.linalg.norm(edges, axis=1, keepdims=True)
    along = angles(tangents, across(directors[:-1], tangents), across(directors[1:], tangents))
    before, behind, corners = tangents[:-1], tangents[1:], directors[1:-1]
    if closed:
        before, behind, corners = tangents, np.roll(tangents, -1, axis=0), directors[1:]
    at_corners = angles(behind, transport(across(corners, before), before, behind), across(corners, behind))
    return float((along.sum() + at_corners.sum()) / TURN)


def across(vectors: Array, tangents: Array) -> Array:
    """The part of vectors (n, 3) perpendicular to unit vectors (n, 3)."""
    return vectors - (vectors * tangents).sum(axis=1, keepdims=True) * tangents


def transport(vectors: Array, before: Array, behind: Array) -> Array:
    """Vectors perpendicular to `before`, rotated by the smallest rotation that takes it to `behind`."""
    both = before + behind
    cosine = (before * behind).sum(axis=1, keepdims=True)
    return vectors - (vectors * behind).sum(axis=1, keepdims=True) / (1.0 + cosine) * both


def angles(axes: Array, first: Array, second: Array) -> Array:
    """Angles from one vector to the other about unit vectors perpendicular to both, in (-pi, pi]."""
    sines = (axes * np.cross(first, second)).sum(axis=1)
    return np.arctan2(sines, (first * second).sum(axis=1))
