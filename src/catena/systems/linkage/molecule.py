"""Molecules as linked bodies: a file of atoms and the bonds that turn, split into rigid groups with hinges between them.

Atoms on the axis of a hinge belong to the groups on both sides, whichever has them: where a group alone would be a line or a point, it takes
half of the mass of the atoms at the other ends of its hinges. The motion is the same, and every group has three moments of inertia.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...log import log_message
from ..base import Array
from ..body import Body
from ..numbers import whole_number
from ..particles.acting_terms import dihedral
from ..potentials.pairwise import NO_TYPE
from .declared import require_below
from .joint_forces import OnBodies
from .joints import Revolute
from .particle_forces import OfParticles

if TYPE_CHECKING:
    from ase import Atoms

OVERLAPPING = 0.5  # of the sum of covalent radii: atoms closer than this
BONDED = 1.2  # of that sum: atoms that are not farther apart are bound
ON_A_LINE = 1e-6  # sine of an angle, below which atoms have no dihedral angle

Bond = tuple[int, int]


@dataclass(frozen=True)
class Molecule:
    """A molecule in rigid groups.

    Attributes
    ----------
    bodies : the groups, where they are in the file
    joints : a hinge for each bond that turns; its angle is the dihedral angle of the atoms (IUPAC), 0 where they are eclipsed
    bonds : the bond of each hinge, atom of the parent first
    groups : numbers of the atoms of each group, in the order of the particles of its body
    """

    bodies: tuple[Body, ...]
    joints: tuple[Revolute, ...]
    bonds: tuple[Bond, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """For each atom of the file its number among the particles of the linkage."""
        order = np.array([atom for group in self.groups for atom in group])
        return np.argsort(order)

    def renumbered(self, force: OnBodies) -> OnBodies:
        """An angle or dihedral angle between atoms of the file as one between particles of the linkage."""
        if not isinstance(force, OfParticles):
            return force
        numbers = self.numbers
        for atom in force.atoms:
            require_below(len(numbers), atom, "atom", f"{type(force).__name__}.atoms")
        return replace(force, atoms=tuple(int(numbers[atom]) for atom in force.atoms))


def read_molecule(path: str, rotatable: Iterable[Bond]) -> Molecule:
    """The groups and hinges of a molecule file.

    Parameters
    ----------
    path : XYZ, PDB or any other format that ASE reads
    rotatable : bonds that turn, as pairs of numbers of atoms, from 0 on
    """
    read = _read(path)
    places, symbols = np.array(read.get_positions()), read.get_chemical_symbols()
    bonded = _bonds(read, path)
    turning = [_check_bond(bond, bonded, symbols, f"rotatable[{k}]") for k, bond in enumerate(rotatable)]
    for k, (a, b) in enumerate(turning):
        if (a, b) in turning[:k]:
            raise InputError(f"atoms {a} and {b} are given twice", where=f"rotatable[{k}]", do="leave one of them out")
    while True:
        groups = _groups(len(places), bonded - set(turning))
        for k, (a, b) in enumerate(turning):
            if groups[a] == groups[b]:
                wrong = f"atoms {a} and {b} stay in one group when their bond turns: other bonds connect them"
                do = "a ring turns if all of its bonds that connect two groups are given; leave this one out, or add them"
                raise InputError(wrong, where=f"rotatable[{k}]", do=do)
        atoms = _Atoms(places, symbols, np.array(read.get_masses()), bonded, groups, turning)
        stiff = atoms.turns_nothing()
        if stiff is None:
            return atoms.split()
        a, b = turning.pop(stiff)
        log_message(f"the bond of atoms {a} and {b} turns nothing: all atoms on one side lie on its axis; it is held")


def _read(path: str) -> Atoms:
    where = "from_molecule.path"
    try:
        from ase.io import read
    except ImportError:
        wrong = "molecule files are read by ASE, which is not installed"
        raise InputError(wrong, where=where, do='pip install "catena[molecules]"') from None
    try:
        found = read(path)
        return found[0] if isinstance(found, list) else found
    except FileNotFoundError:
        raise InputError(f"there is no file {path}", where=where, do="check its name") from None
    except Exception as trouble:  # whatever a reader of a hundred formats meets
        raise InputError(f"ASE cannot read {path}: {trouble}", where=where, do="give an XYZ or PDB file") from None


def _bonds(atoms: Atoms, path: str) -> set[Bond]:
    """Atoms at distances of bonds; InputError where two of them overlap."""
    from ase.data import covalent_radii
    from scipy.spatial import KDTree

    places, radii = np.array(atoms.get_positions()), covalent_radii[atoms.get_atomic_numbers()]
    for atom in np.flatnonzero(~np.isfinite(places).all(axis=1))[:1].tolist():
        raise InputError(f"atom {atom} is at {places[atom].tolist()}", where=path, do="correct the file")
    near = KDTree(places).query_pairs(2.0 * BONDED * radii.max(), output_type="ndarray")
    near = near[np.lexsort(near.T[::-1])]
    apart, touching = np.linalg.norm(places[near[:, 1]] - places[near[:, 0]], axis=1), radii[near].sum(axis=1)
    for k in np.flatnonzero(apart < OVERLAPPING * touching)[:1].tolist():
        raise InputError(
            f"atoms {near[k, 0]} and {near[k, 1]} overlap: they are {apart[k]:.3g} apart, and bonds of their kind are {touching[k]:.3g} long",
            where=path, do="remove one of them (an alternate position?), or correct the file",
        )  # fmt: skip
    return {(a, b) for a, b in near[apart <= BONDED * touching].tolist()}


def _check_bond(given: Bond, bonded: set[Bond], symbols: Sequence[str], where: str) -> Bond:
    try:
        a, b = sorted(whole_number(atom, where, "give the numbers of two atoms") for atom in given)
    except (TypeError, ValueError):
        raise InputError(f"{given!r}", where=where, do="give the numbers of two atoms") from None
    if not 0 <= a <= b < len(symbols):
        wrong = f"atoms {a} and {b}: there are {len(symbols)}"
        raise InputError(wrong, where=where, do=f"give numbers from 0 to {len(symbols) - 1}")
    if (a, b) not in bonded:
        wrong = f"atoms {a} ({symbols[a]}) and {b} ({symbols[b]}) are not bound"
        raise InputError(wrong, where=where, do="give pairs of atoms at the distance of a bond, counted from 0")
    return a, b


def _groups(count: int, bonds: Iterable[Bond]) -> NDArray[np.int64]:
    """The group of each atom, numbered in the order of their first atoms."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.array(sorted(bonds), dtype=np.int64).reshape(-1, 2)
    found = connected_components(coo_array((np.ones(len(ends)), ends.T), (count, count)), directed=False)[1]
    _, first, group = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group.ravel()]


@dataclass(frozen=True)
class _Atoms:
    """The atoms of a file: their bonds, the rigid group of each, and the bonds between groups, which turn."""

    places: Array
    symbols: Sequence[str]
    masses: Array
    bonded: set[Bond]
    groups: NDArray[np.int64]
    turning: Sequence[Bond]

    @cached_property
    def turning_at(self) -> dict[int, list[Bond]]:
        """For each group the bonds between groups that begin or end there, in their order."""
        found: dict[int, list[Bond]] = {}
        for a, b in self.turning:
            for group in {int(self.groups[a]), int(self.groups[b])}:
                found.setdefault(group, []).append((a, b))
        return found

    @cached_property
    def neighbours(self) -> dict[int, set[int]]:
        """For each atom those that are bound to it."""
        found: dict[int, set[int]] = {}
        for a, b in self.bonded:
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
        return found

    @cached_property
    def along(self) -> set[int]:
        """The atoms at the ends of bonds that turn."""
        return {atom for bond in self.turning for atom in bond}

    def on_axis(self, a: int, b: int, others: Sequence[int]) -> bool:
        """Whether other atoms lie on the line through two."""
        axis = self.places[b] - self.places[a]
        length = np.linalg.norm(axis)
        away = np.cross(self.places[list(others)] - self.places[a], axis / length)
        return bool(np.linalg.norm(away, axis=1).max(initial=0.0) < ON_A_LINE * length)

    def turns_nothing(self) -> int | None:
        """The first bond with a side, together with the ends of its own bonds, that lies on the axis."""
        groups = self.groups
        for k, (a, b) in enumerate(self.turning):
            for side in (groups[a], groups[b]):
                ends = [atom for bond in self.turning_at[side] for atom in bond]
                if self.on_axis(a, b, [*np.flatnonzero(groups == side).tolist(), *ends]):
                    return k
        return None

    def split(self) -> Molecule:
        """The groups as bodies, with hinges between them."""
        places, symbols, groups = self.places, self.symbols, self.groups
        members = [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]
        lent: list[list[int]] = [[] for _ in members]  # atoms of others whose mass a group shares
        for g, own in enumerate(members):
            if Body.from_particles(places[own], self.masses[own]).kind in ("linear", "point"):
                ends = [(bond[k], bond[1 - k]) for bond in self.turning_at.get(g, []) for k in (0, 1)]
                lent[g] = sorted({far for far, near in ends if groups[near] == g and groups[far] != g})
        sharing = np.bincount([atom for borrowed in lent for atom in borrowed], minlength=len(places))
        share = self.masses / (1 + sharing)
        bodies = []
        for own, borrowed in zip(members, lent, strict=True):
            everything = [*own, *borrowed]
            types = [*(symbols[a] for a in own), *[NO_TYPE] * len(borrowed)]
            bodies.append(Body.from_particles(places[everything], share[everything], types))
        bonds = self.outwards()
        joints = tuple(self.hinge(bodies, a, b) for a, b in bonds)
        return Molecule(tuple(bodies), joints, tuple(bonds), tuple(map(tuple, members)))

    def outwards(self) -> list[Bond]:
        """The bonds, each from the group that is reached first, beginning with group 0 (and the first of those not connected to it)."""
        groups, reached, left, ordered = self.groups, {0}, list(self.turning), []
        while left:
            k = next((k for k, (a, b) in enumerate(left) if groups[a] in reached or groups[b] in reached), None)
            if k is None:
                reached.add(int(groups[left[0][0]]))
                continue
            a, b = left.pop(k)
            if groups[a] not in reached:
                a, b = b, a
            reached.add(int(groups[b]))
            ordered.append((a, b))
        return ordered

    def hinge(self, bodies: Sequence[Body], a: int, b: int) -> Revolute:
        """A hinge whose angle is the dihedral angle with a neighbour of each of its atoms: one on other bonds that turn, or the heaviest."""
        places = self.places
        axis = places[b] - places[a]
        ends = []
        for atom, other in ((a, b), (b, a)):
            others = self.neighbours[atom] - {a, b}
            ranked = sorted(others, key=lambda c: (c not in self.along, -self.masses[c], c))
            ends.append(next((c for c in ranked if not self.on_axis(a, b, [c])), other))
        missing = ends[0] == b or ends[1] == a
        turned = 0.0 if missing else dihedral(places[ends[0]], places[a], places[b], places[ends[1]])
        image = (np.cos(0.5 * turned), *(-np.sin(0.5 * turned) * axis / np.linalg.norm(axis)))
        first, second = int(self.groups[a]), int(self.groups[b])
        at = (places[a] - bodies[first].center, places[a] - bodies[second].center)
        name = f"{self.symbols[a]}{a}-{self.symbols[b]}{b}"
        return Revolute(first, second, at, axis=tuple(axis.tolist()), image=tuple(map(float, image)), name=name)
