"""A rigid body: mass, centre, principal moments and axes, and the particles that forces act on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Literal, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CatenaWarning, InputError, unknown_word
from ..geometry import inertia, rotations
from ..text.markup import html_table
from ..text.plain import Json
from .base import Array
from .numbers import finite_number, finite_numbers

THIRD = 1.0 / 3.0
TETRAHEDRON = ((-0.5, -THIRD, -0.25), (0.5, -THIRD, -0.25), (0.0, 2.0 * THIRD, -0.25), (0.0, 0.0, 0.75))


@dataclass(frozen=True, eq=False)
class Particles:
    """Points of a body on which forces act: positions (n, 3) about its centre of mass, masses (n,), types (n)."""

    positions: Array
    masses: Array
    types: tuple[int | str, ...]

    def __len__(self) -> int:
        return len(self.types)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Body:
    """A rigid body, given by its principal moments of inertia.

    Other ways to make one: `from_particles`, `from_inertia`, `from_mesh`, `box`, `ellipsoid`, `disc`, `rod`,
    `tetrahedron`. Bodies may be flat, a line or a point; `kind` says which.

    Parameters
    ----------
    mass : positive
    moments : principal moments I1, I2, I3 about the centre of mass, along the axes of the body, in any order.
        None may exceed the sum of the others by more than 16 rounding units of the largest

    Attributes
    ----------
    mass : total mass
    center : (3,) centre of mass in the coordinates in which the body was given
    tensor : (3, 3) inertia tensor about the centre, in the axes in which the body was given
    moments : (3,) principal moments of inertia
    second_moments : (3,) d_k = int X_k^2 dm along the principal axes; I1 = d2 + d3 (cyclic)
    frame : (4,) unit quaternion, scalar first, from the principal axes to the given axes
    kind : "solid", "planar", "linear" or "point": three, two, one or no d_k is positive
    particles : in the given axes, relative to the centre; none if the body was not given by particles

    Notes
    -----
    The given axes are kept if the second-moment matrix is diagonal in them up to rounding; otherwise the moments
    ascend, and the largest component of the first and of the second axis is positive.

    Examples
    --------
    >>> Body(mass=2.0, moments=(1, 2, 2.5))
    <Body moments, mass 2, moments (1, 2, 2.5), solid>
    >>> Body.box((1, 2, 3), mass=12).second_moments.tolist()
    [1.0, 4.0, 9.0]
    >>> Body.disc(radius=2.0).kind
    'planar'
    >>> Body.from_particles([[0, 0, 0], [1, 1, 0]], masses=[1, 3]).center.tolist()
    [0.75, 0.75, 0.0]
    """

    mass: float
    center: Array
    tensor: Array
    moments: Array
    second_moments: Array
    frame: Array
    kind: Literal["solid", "planar", "linear", "point"]
    particles: Particles
    _description: Mapping[str, Json]

    def __init__(self, mass: float = 1.0, moments: ArrayLike = (1.0, 2.0, 3.0)) -> None:
        mass, values = _positive(mass, "Body.mass"), _lengths(moments, (3,), "Body.moments")
        principal = inertia.principal_of_moments(values, "Body.moments")
        self._fill({"mass": mass, "moments": values.tolist()}, mass, principal)

    @classmethod
    def from_particles(
        cls, positions: ArrayLike, masses: ArrayLike = 1.0, types: Sequence[int | str] | None = None
    ) -> Body:
        """A body of point masses.

        Parameters
        ----------
        positions : (n, 3), in any frame; the origin of the body's own coordinates is its centre of mass
        masses : (n,), or one number for all
        types : n names or integers by which pair potentials distinguish particles; by default all are 0

        Notes
        -----
        Particles count as coplanar or collinear if their distance from the plane or line is below 8 rounding units of
        their coordinates.
        """
        where = "Body.from_particles"
        x, m, kinds = _particles(positions, masses, types, where)
        description = {"shape": "particles", "positions": x.tolist(), "masses": m.tolist(), "types": list(kinds)}
        return cls._of_particles(description, x, m, kinds)

    @classmethod
    def from_inertia(cls, mass: float, tensor: ArrayLike) -> Body:
        """A body with a given inertia tensor (3, 3) about its centre of mass."""
        where = "Body.from_inertia"
        mass, given = _positive(mass, f"{where}.mass"), finite_numbers(tensor, (3, 3), where=f"{where}.tensor")
        odd = np.abs(given - given.T)
        if odd.max() > inertia.ROUNDING * np.abs(given).max():
            i, j = sorted(int(k) for k in np.unravel_index(np.argmax(odd), (3, 3)))
            raise InputError(
                f"the tensor is not symmetric: element {i + 1}{j + 1} is {given[i, j]:.17g}, element {j + 1}{i + 1} "
                f"is {given[j, i]:.17g}", where=f"{where}.tensor", do="give a symmetric tensor",
            )  # fmt: skip
        if np.diag(given).min() < 0.0:
            raise InputError(
                f"the tensor has the diagonal {given.diagonal().tolist()}", where=f"{where}.tensor",
                do="give moments that are not negative",
            )  # fmt: skip
        symmetric = 0.5 * given + 0.5 * given.T
        principal = inertia.principal_of_tensor(symmetric, f"{where}.tensor")
        return cls.__new__(cls)._fill(
            {"shape": "inertia", "mass": mass, "tensor": given.tolist()}, mass, principal, tensor=symmetric
        )

    @classmethod
    def from_mesh(cls, vertices: ArrayLike, faces: ArrayLike, density: float = 1.0) -> Body:
        """The interior of a closed surface of triangles, filled with a density.

        Parameters
        ----------
        vertices : (n, 3)
        faces : (m, 3) indices of vertices, counter-clockwise seen from outside. Every edge must belong to two
            triangles that traverse it in opposite directions. A surface that is inside out is corrected,
            with a `CatenaWarning`.
        """
        where = "Body.from_mesh"
        x, density = (
            finite_numbers(vertices, (None, 3), where=f"{where}.vertices"),
            _positive(density, f"{where}.density"),
        )
        corners = _faces(faces, len(x), f"{where}.faces")
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            volume, center, triangles = inertia.mesh_volume(x[corners])
        if volume == 0.0:
            raise InputError(
                "the surface encloses no volume", where=f"{where}.faces",
                do="give a surface with an inside (from_particles for a flat body) in units that suit its size",
            )  # fmt: skip
        if volume < 0.0:
            warn(
                f"the triangles of this mesh run clockwise seen from outside (volume {volume:.6g}); they were turned",
                CatenaWarning, stacklevel=2,
            )  # fmt: skip
            corners = corners[:, ::-1]
            volume, center, triangles = inertia.mesh_volume(x[corners])
        mass = density * volume

        def measure(points: Array) -> Array:
            return density * inertia.mesh_second_moment(points)

        description = {"shape": "mesh", "vertices": x.tolist(), "faces": corners.tolist(), "density": density}
        reach = float(np.abs(x[corners]).max())
        return cls._of_points(description, mass, center=center, points=triangles, measure=measure, reach=reach)

    @classmethod
    def box(cls, size: ArrayLike, mass: float = 1.0) -> Body:
        """A solid box with given edges along the axes; d = m (a^2, b^2, c^2)/12."""
        edges = _lengths(size, (3,), "Body.box.size")
        return cls._of_extents({"shape": "box", "size": edges.tolist()}, mass, edges, np.full(3, 12.0))

    @classmethod
    def ellipsoid(cls, semi_axes: ArrayLike, mass: float = 1.0) -> Body:
        """A solid ellipsoid with given semi-axes; d = m (a^2, b^2, c^2)/5."""
        radii = _lengths(semi_axes, (3,), "Body.ellipsoid.semi_axes")
        return cls._of_extents({"shape": "ellipsoid", "semi_axes": radii.tolist()}, mass, radii, np.full(3, 5.0))

    @classmethod
    def disc(cls, radius: float, thickness: float = 0.0, mass: float = 1.0) -> Body:
        """A solid cylinder about axis 3; d = m (r^2/4, r^2/4, t^2/12). Thickness 0 is the flat disc."""
        r, t = _length(radius, "Body.disc.radius"), _length(thickness, "Body.disc.thickness")
        parts = np.array([4.0, 4.0, 12.0])
        return cls._of_extents({"shape": "disc", "radius": r, "thickness": t}, mass, np.array([r, r, t]), parts)

    @classmethod
    def rod(cls, length: float, mass: float = 1.0) -> Body:
        """A thin rod along axis 3; d = m (0, 0, l^2/12)."""
        long = _length(length, "Body.rod.length")
        return cls._of_extents({"shape": "rod", "length": long}, mass, np.array([0.0, 0.0, long]), np.full(3, 12.0))

    @classmethod
    def tetrahedron(cls, vertices: ArrayLike | None = None, mass: float | None = None) -> Body:
        """A solid tetrahedron with given vertices (4, 3); without vertices, four particles of mass 1.

        The particles are (-1/2, -1/3, -1/4), (1/2, -1/3, -1/4), (0, 2/3, -1/4), (0, 0, 3/4), with the centre of mass at the
        origin, principal axes along the coordinate axes, and I = (17/12, 5/4, 7/6).
        """
        where = "Body.tetrahedron"
        if vertices is None:
            if mass is not None:
                raise InputError(
                    f"mass = {mass!r} without vertices", where=f"{where}.mass",
                    do="give the vertices too; the tetrahedron of particles has mass 4",
                )  # fmt: skip
            return cls._of_particles({"shape": "tetrahedron"}, np.array(TETRAHEDRON), np.ones(4), (0, 0, 0, 0))
        x, mass = (
            finite_numbers(vertices, (4, 3), where=f"{where}.vertices"),
            _positive(1.0 if mass is None else mass, where),
        )
        _, center, relative = inertia.center(x, np.full(4, 0.25))
        weights = np.full(4, mass / 20.0)  # S = m/20 sum v v^T
        description = {"shape": "tetrahedron", "vertices": x.tolist(), "mass": mass}
        return cls._of_points(
            description, mass, center=center, points=relative, reach=float(np.abs(x).max()),
            measure=lambda points: inertia.second_moment(points, weights),
        )  # fmt: skip

    @classmethod
    def from_description(cls, description: Mapping[str, object]) -> Body:
        """The body that `describe` (or a case) describes.

        Examples
        --------
        >>> Body.from_description({"shape": "rod", "length": 2.0, "mass": 3.0}).moments.tolist()
        [1.0, 1.0, 0.0]
        """
        arguments = dict(description)
        shape = arguments.pop("shape", "moments")
        ways: dict[str, Callable[..., Body]] = {
            "moments": cls, "particles": cls.from_particles, "inertia": cls.from_inertia, "mesh": cls.from_mesh,
            "box": cls.box, "ellipsoid": cls.ellipsoid, "disc": cls.disc, "rod": cls.rod,
            "tetrahedron": cls.tetrahedron,
        }  # fmt: skip
        if shape not in ways:
            raise unknown_word(f"there is no shape {shape!r}", shape, ways, "body.shape")
        known = signature(ways[shape]).parameters
        for name in arguments:
            if name not in known:
                raise unknown_word(f"a body of shape {shape!r} has no {name!r}", name, known, f"body.{name}")
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in arguments:
                raise InputError(f"a body of shape {shape!r} needs {name}", where=f"body.{name}", do="add it")
        return ways[shape](**arguments)

    def describe(self) -> dict[str, Json]:
        """The body in the form of a case: JSON from which `from_description` makes the same body, bit for bit."""
        return json.loads(self._text)

    @property
    def shape(self) -> str:
        """The form in which the body was given: "box", "particles", "mesh", ...; its dimensions are in `describe()`."""
        return str(self._description.get("shape", "moments"))

    @cached_property
    def frame_matrix(self) -> Array:
        """(3, 3) rotation whose columns are the principal axes, in the given axes: Theta = F diag(I) F^T."""
        return _freeze(rotations.to_matrix(self.frame))

    @cached_property
    def principal_particles(self) -> Particles:
        """The particles in the principal frame, exactly in the plane or on the line of a planar or linear body."""
        turned = rotations.apply(self.frame_matrix.T, self.particles.positions)
        turned[:, self.second_moments == 0.0] = 0.0
        return Particles(_freeze(turned), self.particles.masses, self.particles.types)

    @cached_property
    def inverse_moments(self) -> Array:
        """1/I_k; 0 about the line of a linear body or for a point, because that rotation does not exist."""
        return _freeze(np.divide(1.0, self.moments, out=np.zeros(3), where=self.moments > 0.0))

    @cached_property
    def rotor_moments(self) -> Array:
        """The moments used for free rotation: a line turns like a sphere with the same moment.

        There is no angular momentum along the line, so the moment about it has no effect.
        """
        return _freeze(np.where(self.moments > 0.0, self.moments, self.moments.max()))

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Body) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def _repr_html_(self) -> str:
        rows = [
            ("mass", f"{self.mass:.10g}"),
            ("principal moments", ", ".join(f"{moment:.10g}" for moment in self.moments)),
            ("kind", self.kind),
            ("particles", str(len(self.particles))),
        ]
        return html_table(rows, title=repr(self))

    def __repr__(self) -> str:
        shape = f"of {len(self.particles)} particles" if len(self.particles) else self.shape
        moments = ", ".join(f"{x:.6g}" for x in self.moments.tolist())
        return f"<Body {shape}, mass {self.mass:.6g}, moments ({moments}), {self.kind}>"

    @cached_property
    def _text(self) -> str:
        return json.dumps(self._description)

    @classmethod
    def _of_extents(cls, description: dict[str, Json], mass: float, extents: Array, parts: Array) -> Body:
        """A shape along the axes whose second moments are m extent^2 / part."""
        where = f"Body.{description['shape']}"
        mass = _positive(mass, f"{where}.mass")
        with np.errstate(over="ignore", under="ignore"):
            d = mass * extents * extents / parts
        inertia.refuse_unrepresentable(d, extents, where)
        return cls.__new__(cls)._fill(description | {"mass": mass}, mass, inertia.principal_of_second_moments(d))

    @classmethod
    def _of_particles(
        cls, description: Mapping[str, Json], x: Array, masses: Array, types: tuple[int | str, ...]
    ) -> Body:
        mass, center, relative = inertia.center(x, masses)
        return cls._of_points(
            description, mass, center=center, points=relative, reach=float(np.abs(x).max()),
            measure=lambda points: inertia.second_moment(points, masses),
            particles=Particles(_freeze(relative), _freeze(masses), types),
        )  # fmt: skip

    @classmethod
    def _of_points(
        cls,
        description: Mapping[str, Json],
        mass: float,
        *,
        center: Array,
        points: Array,
        measure: Callable[[Array], Array],
        reach: float,
        particles: Particles | None = None,
    ) -> Body:
        """A body made of points relative to its centre; `reach` is the largest coordinate given."""
        where = f"Body, {description['shape']}"
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            s = measure(points)
        inertia.refuse_unrepresentable(np.diag(s), np.abs(points).reshape(-1, 3).max(axis=0), where)
        floor = mass * (inertia.ROUNDING * reach) ** 2
        principal = inertia.principal_of_points(points, measure, floor=floor, where=where)
        return cls.__new__(cls)._fill(
            description, mass, principal, center=center, tensor=inertia.inertia_tensor(s), particles=particles
        )

    def _fill(
        self,
        description: Mapping[str, Json],
        mass: float,
        principal: inertia.Principal,
        *,
        center: Array | None = None,
        tensor: Array | None = None,
        particles: Particles | None = None,
    ) -> Self:
        nothing = Particles(_freeze(np.zeros((0, 3))), _freeze(np.zeros(0)), ())
        values = {
            "mass": mass,
            "center": _freeze(np.zeros(3) if center is None else center),
            "tensor": _freeze(np.diag(principal.moments) if tensor is None else tensor),
            "moments": _freeze(principal.moments),
            "second_moments": _freeze(principal.second_moments),
            "frame": _freeze(rotations.from_matrix(principal.axes)),
            "kind": principal.kind,
            "particles": nothing if particles is None else particles,
            "_description": description,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self


def point_with_axes(body: Body, axes: Array) -> Body:
    """The same point with other principal axes, the columns of a rotation matrix: any axes are principal."""
    made = Body.__new__(Body)
    for name, value in vars(body).items():
        if name != "frame_matrix":
            object.__setattr__(made, name, value)
    object.__setattr__(made, "frame", _freeze(rotations.from_matrix(axes)))
    return made


def _freeze(array: Array) -> Array:
    """A read-only copy."""
    array = np.array(array, dtype=float)
    array.setflags(write=False)
    return array


def _lengths(value: ArrayLike, shape: tuple[int | None, ...], where: str) -> Array:
    """Numbers without negative ones."""
    array = finite_numbers(value, shape, where=where)
    if array.min() < 0.0:
        raise InputError(f"{array.tolist()} has a negative element", where=where, do="give numbers >= 0")
    return array + 0.0  # -0.0 becomes 0.0


def _length(value: float, where: str) -> float:
    return float(_lengths(value, (), where))


def _positive(value: float, where: str) -> float:
    number = finite_number(value, where)
    if not number > 0.0:
        raise InputError(f"{number!r} is not positive", where=where, do="give a number > 0")
    return number


def _particles(
    positions: ArrayLike, masses: ArrayLike, types: Sequence[int | str] | None, where: str
) -> tuple[Array, Array, tuple[int | str, ...]]:
    x = finite_numbers(positions, (None, 3), where=f"{where}.positions")
    n = len(x)
    m = finite_numbers(masses, () if np.ndim(masses) == 0 else (n,), where=f"{where}.masses")
    m = np.array(np.broadcast_to(m, n))
    if m.min() <= 0.0:
        k = int(np.argmax(m <= 0.0))
        raise InputError(f"particle {k} has mass {m[k]:g}", where=f"{where}.masses", do="give masses > 0")
    if types is None:
        return x, m, (0,) * n
    given = list(types)
    kinds = tuple(t if isinstance(t, str) else int(t) for t in given if isinstance(t, str | int | np.integer))
    if isinstance(types, str) or len(given) != n or len(kinds) != n:
        raise InputError(
            f"types = {types!r} for {n} particles", where=f"{where}.types", do=f"give {n} integers or names"
        )
    return x, m, kinds


def _faces(faces: ArrayLike, count: int, where: str) -> NDArray[np.int64]:
    """Triangles of vertex indices that form a closed and consistently oriented surface."""
    numbers = finite_numbers(faces, (None, 3), where=where)
    corners = numbers.astype(np.int64)
    if (corners != numbers).any() or corners.min() < 0 or corners.max() >= count:
        raise InputError(
            f"the indices of vertices run from {numbers.min():g} to {numbers.max():g}", where=where,
            do=f"give integers from 0 to {count - 1}",
        )  # fmt: skip
    inertia.refuse_open(corners, where)
    return corners
