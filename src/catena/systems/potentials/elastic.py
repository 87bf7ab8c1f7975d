"""Elastic links: V quadratic in six coordinates of the relative pose of two bodies, rotation first, then translation.

V = (x - x0).K (x - x0)/2, x = (r, t). With Q = R_a^T R_b, a turn by phi about n, and D = r_b - r_a in space:

    coordinates  "cayley": r = 2 tan(phi/2) n, |phi| < pi;      "exponential": r = phi n, |phi| < pi
    frame        "first": t = R_a^T D;                          "middle": t = (R_a Q^(1/2))^T D

n has the same components in the axes of both bodies and in the middle frame, so the frame affects only t. x0 are the
coordinates of the link at rest in the same convention, not those of a deviation from it, as in rigid-base models of DNA
[lankas2009].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...errors import InputError
from ...geometry import rotations
from ...kernels.marks import Filling, Written
from ...text.plain import Json
from ..numbers import finite_numbers, number_of_one
from . import elastic_in_time
from . import elastic_kernels as kernels
from .elastic_coordinates import FACTORS, Coordinates, Frame, components_of, pose_of, slopes_of
from .link_potentials import ARGUMENTS, ROTATION, LinkKernel, Linkwise
from .pairwise import register

if TYPE_CHECKING:
    import sympy

STRAIN, STRESS = (tuple(f"{letter}{k}" for k in range(1, 7)) for letter in "xm")

COMPONENTS = (
    "r1",
    "r2",
    "r3",
    "t1",
    "t2",
    "t3",
)  # the order of all arrays of six numbers: rotation, then translation
UPPER = np.triu_indices(6)
SYMMETRIC = 1e-12  # of the largest element: differences that rounding may leave
SEMIDEFINITE = 1e-12  # of the diagonal
ORTHOGONAL = 1e-9
FARTHEST = 1e8  # length of a Cayley vector: there, 2e-8 rad before half a turn, half of its digits are left

TRANSLATIONS = {"first": kernels.first_translation, "middle": kernels.middle_translation}
FORCES = {"first": kernels.first_force, "middle": kernels.middle_force}
TEXT = {
    "link_energy": f"""\
def elastic_energy({ARGUMENTS}, at, par):
    w, v = half_turn({", ".join(name.lower() for name in ROTATION)})
    g, e = factors(w)
    return strain_energy(strain(g, v, translation(w, v, (d1, d2, d3)), at, par), at, par)""",
    "link_force": f"""\
def elastic_force({ARGUMENTS}, at, par):
    w, v = half_turn({", ".join(name.lower() for name in ROTATION)})
    g, e = factors(w)
    t = translation(w, v, (d1, d2, d3))
    m1, m2, m3, m4, m5, m6 = stress(strain(g, v, t, at, par), at, par)
    f, c = force(w, v, t, (m4, m5, m6))
    return six(f, turning(w, v, g, e, (m1, m2, m3)), c)""",
}
NAMES: dict[LinkKernel, str] = {"link_energy": "elastic_energy", "link_force": "elastic_force"}
SHARED = tuple(
    (name, getattr(kernels, name)) for name in ("half_turn", "strain", "stress", "strain_energy", "turning", "six")
)


@register
@dataclass(frozen=True, eq=False)
class Elastic(Linkwise):
    """V = (x - x0).K (x - x0)/2 in six coordinates x of the relative pose: three for rotation, then three for translation.

    It may be the same for all links or differ between them: each argument may have a leading axis for the links.

    Cayley vectors make half a turn infinitely stiff. Rotation vectors jump there, from phi n to -phi n, and so does V,
    so this potential is not suitable for motions that reach half a turn. Prefer `BendTwist`, which is smooth
    everywhere, for large rotations without coupling.

    In a potential for all links each number of the stiffness, and of the coordinates at rest, may be a text in t, or a table
    `Sampled(times, values)`.

    Parameters
    ----------
    stiffness : (6, 6) or (links, 6, 6), K: symmetric, without negative eigenvalues
    rest : rotation and translation of the link at rest, a pair. Rotation: its coordinates (3,), a quaternion (4,), scalar first,
        or a matrix (3, 3), from the axes of the second body to those of the first. Translation (3,): from the first body to the
        second, in the frame. For different links: (links, 3), (links, 4) or (links, 3, 3), and (links, 3). A single value holds
        for all links
    coordinates : "cayley", 2 tan(phi/2) n, or "exponential", phi n
    frame : axes in which the translation is given; "first": those of the first body, "middle": half-way between both

    Examples
    --------
    >>> soft = Elastic(np.diag([2.0, 2.0, 1.0, 100.0, 100.0, 100.0]), ([0, 0, 0.6], [0, 0, 1]), "exponential")
    >>> bent = rotations.to_matrix(rotations.from_vector([0.0, 0.1, 0.0]))
    >>> round(soft.energy([0, 0, 1], bent), 12)  # 2 (0.1)^2/2 + 1 (0.6)^2/2
    0.19
    """

    stiffness: ArrayLike
    rest: Sequence[ArrayLike]
    coordinates: Coordinates = "cayley"
    frame: Frame = "first"
    timed = ("stiffness", "rest")

    def __post_init__(self) -> None:
        for name, known in (("coordinates", Coordinates), ("frame", Frame)):
            if getattr(self, name) not in get_args(known):
                raise InputError(
                    f"{name} = {getattr(self, name)!r}", where=f"Elastic.{name}",
                    do=f"choose one of {', '.join(get_args(known))}",
                )  # fmt: skip
        given = elastic_in_time.numbers_of(self.stiffness, self.rest)
        if isinstance(given, elastic_in_time.Moving):
            object.__setattr__(self, "stiffness", given.stiffness)
            object.__setattr__(self, "rest", given.rest)
            return
        stiffness = _check_stiffness(given[0])
        turn, shift = _check_rest(given[1], self.coordinates)
        counts = {len(part) for part, single in ((stiffness, 2), (turn, 1), (shift, 1)) if part.ndim > single}
        if len(counts) > 1:
            raise InputError(
                f"stiffness of shape {stiffness.shape}, rest of shapes {turn.shape} and {shift.shape}", where="Elastic",
                do="give as many of each, or one for all links",
            )  # fmt: skip
        for array in (stiffness, turn, shift):
            array.setflags(write=False)
        object.__setattr__(self, "stiffness", stiffness)
        object.__setattr__(self, "rest", (turn, shift))

    @property
    def links(self) -> int | None:
        return None if self.moves or (len(self.table) == 1 and self._is_single) else len(self.table)

    @property
    def _is_single(self) -> bool:
        return self.moves or (np.ndim(self.stiffness) == 2 and all(np.ndim(part) == 1 for part in self.rest))

    def of_link(self, link: int) -> Elastic:
        """The potential of a single link."""
        if self.links is None:
            return self
        row = self.table[number_of_one(link, self.links, "Elastic.of_link.link")]
        turn, shift, stiffness = np.split(row, (kernels.ElasticRow.SHIFT, kernels.ElasticRow.STIFFNESS))
        return Elastic(_full(stiffness[None])[0], (turn, shift), self.coordinates, self.frame)

    @cached_property
    def table(self) -> Array:
        """A row of constants for each link, or one for all."""
        stiffness = np.atleast_3d(self.stiffness) if np.ndim(self.stiffness) == 3 else np.asarray(self.stiffness)[None]
        parts = [*(np.atleast_2d(part) for part in self.rest), stiffness[:, *UPPER]]
        count = max(map(len, parts))
        return np.hstack([np.broadcast_to(part, (count, part.shape[1])) for part in parts])

    @property
    def constants(self) -> tuple[float, ...]:
        if self.moves:
            return elastic_in_time.constants_of((self.stiffness, self.rest))
        return tuple(self._one_row().tolist())

    @property
    def moves(self) -> bool:
        """Whether it depends on time: then both are rows of numbers, texts and tables."""
        return isinstance(self.stiffness, tuple)

    @property
    def strained(self) -> tuple[list[str], tuple[tuple[str, Filling], ...]]:
        """Lines that compute the strain x1 .. x6 and the stress m1 .. m6 of a link, constants from place `at`, and the
        kernels they call."""
        part = self.part("link_energy")
        lines = TEXT["link_energy"].splitlines()[1:3]
        found = [
            f"{names} = {call}" for names, call in (
                (", ".join(STRAIN), "strain(g, v, translation(w, v, (d1, d2, d3)), at, par)"), (", ".join(STRESS), f"stress(({', '.join(STRAIN)}), at, par)"),
            )
        ]  # fmt: skip
        return [*(line.strip() for line in lines), *found], part.uses

    def in_strain(self, constants: Sequence[sympy.Expr]) -> sympy.Expr:
        """x.K x/2 - m.x0, whose derivatives by K and x0 are those of V."""
        import sympy

        x, m = (sympy.symbols(names, real=True) for names in (STRAIN, STRESS))
        rest, stiffness = constants[:6], constants[6:]
        total = -sympy.Add(*(a * b for a, b in zip(m, rest, strict=True)))
        for k, (i, j) in enumerate(zip(*UPPER, strict=True)):
            total += stiffness[k] * x[i] * x[j] / (2 if i == j else 1)
        return total

    def part(self, name: LinkKernel) -> Written:
        own = (
            ("factors", FACTORS[self.coordinates]),
            ("translation", TRANSLATIONS[self.frame]),
            ("force", FORCES[self.frame]),
        )
        return Written(NAMES[name], TEXT[name], __name__, (*SHARED, *own))

    @property
    def resting_pose(self) -> tuple[Array, Array]:
        return pose_of(self._rest, self.coordinates, self.frame)

    @property
    def _rest(self) -> Array:
        """x0, (6,) or (links, 6)."""
        return np.concatenate(np.broadcast_arrays(*self.rest), axis=-1)

    def components(self, d: ArrayLike, rotation: ArrayLike) -> Array:
        """The six coordinates (..., 6) of relative poses d (..., 3) and Q (..., 3, 3): rotation, then translation."""
        return components_of(d, rotation, self.coordinates, self.frame)

    def converted(self, coordinates: Coordinates | None = None, frame: Frame | None = None) -> Elastic:
        """The link in another convention, with the same pose at rest and the same second derivatives of V there.

        Away from rest the two differ by terms of third order in the strain: V is quadratic in only one convention.

        Examples
        --------
        >>> one = Elastic(np.eye(6), ([0.0, 0.0, 0.5], [0.0, 1.0, 3.0]), "cayley", "middle")
        >>> one.converted(coordinates="exponential").rest[0].round(9).tolist()  # 2 atan(0.25)
        [0.0, 0.0, 0.489957326]
        """
        given, wanted = (self.coordinates, self.frame), (coordinates or self.coordinates, frame or self.frame)
        x = components_of(*self.resting_pose, *wanted)
        change = slopes_of(self._rest, *given) @ np.linalg.inv(slopes_of(x, *wanted))
        stiffness = np.swapaxes(change, -1, -2) @ np.asarray(self.stiffness, dtype=float) @ change
        return Elastic(0.5 * (stiffness + np.swapaxes(stiffness, -1, -2)), (x[..., :3], x[..., 3:]), *wanted)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        coordinates: Coordinates | None = None,
        frame: Frame | None = None,
        angle_unit: float | None = None,
    ) -> Elastic:
        """Links from a table, .npz or .csv, as `write` writes it; the page on chains explains its content.

        Parameters
        ----------
        path : the file
        coordinates, frame : the convention, if the table does not state it
        angle_unit : unit of the rotation coordinates in radians, such as pi/180; 1 if neither this nor the table gives one
        """
        from .elastic_tables import read_table

        return read_table(Path(path), {"coordinates": coordinates, "frame": frame, "angle_unit": angle_unit})

    def write(self, path: str | Path) -> None:
        """Write rest shapes and stiffnesses to a new file, .npz or .csv, with the convention and all digits."""
        from ...output.files import new_file
        from .elastic_tables import check_kind, write_table

        check_kind(Path(path))
        with new_file(path) as temporary:
            write_table(self, temporary)

    def describe(self) -> dict[str, Json]:
        if self.moves:
            return {"kind": type(self).__name__, **elastic_in_time.describe((self.stiffness, self.rest))} | {
                "coordinates": self.coordinates, "frame": self.frame,
            }  # fmt: skip
        return {
            "kind": type(self).__name__, "stiffness": np.asarray(self.stiffness).tolist(),
            "rest": [np.asarray(part).tolist() for part in self.rest], "coordinates": self.coordinates, "frame": self.frame,
        }  # fmt: skip

    @cached_property
    def _bytes(self) -> tuple[object, ...]:
        if self.moves:
            return self.coordinates, self.frame, self.stiffness, self.rest
        arrays = [np.asarray(self.stiffness), *map(np.asarray, self.rest)]
        return self.coordinates, self.frame, *((array.shape, array.tobytes()) for array in arrays)

    def __eq__(self, other: object) -> bool:
        return self._bytes == other._bytes if isinstance(other, Elastic) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)


def _full(upper: Array) -> Array:
    """Symmetric matrices (..., 6, 6) from their upper triangles (..., 21)."""
    made = np.zeros((*upper.shape[:-1], 6, 6))
    made[..., UPPER[0], UPPER[1]] = made[..., UPPER[1], UPPER[0]] = upper
    return made


def _of_link(j: int, many: bool) -> str:
    return f" of link {j}" if many else ""


def _check_stiffness(given: ArrayLike) -> Array:
    where, do = "Elastic.stiffness", "give a symmetric matrix without negative eigenvalues, rotation before translation"
    found = finite_numbers(given, (6, 6), (None, 6, 6), where=where)
    many = found.ndim == 3
    stack = found if many else found[None]
    size = np.abs(stack).max(axis=(1, 2), initial=0.0)
    off = np.abs(stack - stack.swapaxes(1, 2))
    for j in np.flatnonzero(off.max(axis=(1, 2)) > SYMMETRIC * size)[:1].tolist():
        a, b = np.unravel_index(off[j].argmax(), (6, 6))
        seen = f"{stack[j, a, b]:.6g} and {stack[j, b, a]:.6g}"
        raise InputError(
            f"the stiffness{_of_link(j, many)} is not symmetric: {COMPONENTS[a]} {COMPONENTS[b]} has {seen}", where=where, do=do
        )  # fmt: skip
    stack = 0.5 * (stack + stack.swapaxes(1, 2))
    diagonal = np.sqrt(np.abs(np.einsum("nii->ni", stack)))
    unit = np.where(diagonal > 0.0, diagonal, np.sqrt(size)[:, None])  # rotations and translations have different units
    unit = np.where(unit > 0.0, unit, 1.0)
    lowest = np.linalg.eigvalsh(stack / (unit[:, :, None] * unit[:, None]))[:, 0]
    for j in np.flatnonzero(lowest < -SEMIDEFINITE)[:1].tolist():
        seen = f"its lowest eigenvalue is {np.linalg.eigvalsh(stack[j])[0]:.6g}"
        raise InputError(f"the stiffness{_of_link(j, many)} is not positive: {seen}", where=where, do=do)
    return stack if many else stack[0]


def _check_rest(given: Sequence[ArrayLike], coordinates: Coordinates) -> tuple[Array, Array]:
    """Coordinates of the rotation, and the translation, of one link or of several."""
    where = "Elastic.rest"
    if isinstance(given, (str, Mapping)) or not isinstance(given, (Sequence, np.ndarray)) or len(given) != 2:
        raise InputError(f"rest = {given!r:.60}", where=where, do="give two: the rotation and the translation")
    shift = finite_numbers(given[1], (3,), (None, 3), where=f"{where}, translation")
    turn = finite_numbers(given[0], where=f"{where}, rotation")
    many, shape = shift.ndim == 2, turn.shape[shift.ndim - 1 :]
    if shape not in ((3,), (4,), (3, 3)) or turn.shape[: shift.ndim - 1] != shift.shape[:-1]:
        raise InputError(
            f"a rotation of shape {turn.shape} with a translation of shape {shift.shape}", where=where,
            do="give coordinates (3,), a quaternion (4,) or a matrix (3, 3), with as many rows as the translation",
        )  # fmt: skip
    if shape == (3, 3):
        with np.errstate(over="ignore", invalid="ignore"):  # huge numbers overflow; the results are refused
            off = np.abs(np.swapaxes(turn, -1, -2) @ turn - np.eye(3)).max(axis=(-1, -2))
            wrong = np.atleast_1d(~((off <= ORTHOGONAL) & (np.linalg.det(turn) > 0.0)))
        for j in np.flatnonzero(wrong)[:1].tolist():
            seen = f"R^T R is off by {np.atleast_1d(off)[j]:.3g}, det R = {np.atleast_1d(np.linalg.det(turn))[j]:.6g}"
            raise InputError(f"the matrix{_of_link(j, many)} is no rotation: {seen}", where=where, do="give a rotation")
    if shape == (4,) and not turn.any(axis=-1).all():
        raise InputError("a quaternion of zeros", where=where, do="give one other than zero, scalar first")
    if shape != (3,):
        matrices = turn if shape == (3, 3) else rotations.to_matrix(turn)
        turn = components_of(np.zeros(3), matrices, coordinates, "first")[..., :3]
    with np.errstate(over="ignore"):  # inf counts as at least half a turn
        length = np.linalg.norm(turn, axis=-1)
    limit = np.pi if coordinates == "exponential" else FARTHEST
    for j in np.flatnonzero(~(np.atleast_1d(length) < limit))[:1].tolist():
        raise InputError(
            f"the rotation{_of_link(j, many)} at rest has coordinates of length {np.atleast_1d(length)[j]:.6g}: it is no less than half "
            "a turn", where=where, do="choose axes of the bodies that are nearer to each other at rest",
        )  # fmt: skip
    return turn, shift
