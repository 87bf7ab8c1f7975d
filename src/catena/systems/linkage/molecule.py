"""Molecules as linked bodies: a file of atoms and the bonds that turn, split into rigid groups with hinges between them.

Atoms on the axis of a hinge belong to the groups on both sides, whichever has them: where a group alone would be a line or a point, it takes
half of the mass of the atoms at the other ends of its hinges. The motion is the same, and every group has three moments of inertia.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...log import log_message
from ..base import Array
from ..body import Body
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
    atoms = _read(path)
    places, symbols = np.array(atoms.get_positions()), atoms.get_chemical_symbols()
    bonded = _bonds(atoms, path)
    turning = [_checked_bond(bond, bonded, symbols, k) for k, bond in enumerate(rotatable)]
    masses = np.array(atoms.get_masses())
    while True:
        groups = _groups(len(places), bonded - set(turning))
        for k, (a, b) in enumerate(turning):
            if groups[a] == groups[b]:
                raise InputError(
                    f"atoms {a} and {b} stay in one group when their bond turns: other bonds connect them", where=f"rotatable[{k}]",
                    do="a ring turns if all of its bonds that connect two groups are given; leave this one out, or add them",
                )  # fmt: skip
        stiff = _turns_nothing(places, groups, turning)
        if stiff is None:
            break
        a, b = turning.pop(stiff)
        log_message(f"the bond of atoms {a} and {b} turns nothing: all atoms on one side lie on its axis; it is held")
    return _made(places, symbols, masses, groups, turning, bonded)


def _read(path: str) -> Atoms:
    try:
        from ase.io import read
    except ImportError:
        raise InputError(
            "molecule files are read by ASE, which is not installed",
            where="from_molecule",
            do='pip install "catena[molecules]"',
        ) from None
    try:
        found = read(path)
        return found[0] if isinstance(found, list) else found
    except FileNotFoundError:
        raise InputError(f"there is no file {path}", where="from_molecule.path", do="check its name") from None
    except Exception as trouble:  # whatever a reader of a hundred formats meets
        raise InputError(
            f"ASE cannot read {path}: {trouble}", where="from_molecule.path", do="give an XYZ or PDB file"
        ) from None


def _bonds(atoms: Atoms, path: str) -> set[Bond]:
    """Atoms at distances of bonds; InputError where two of them overlap."""
    from ase.data import covalent_radii

    places, radii = np.array(atoms.get_positions()), covalent_radii[atoms.get_atomic_numbers()]
    found = set()
    for a in range(len(places)):
        apart = np.linalg.norm(places[a + 1 :] - places[a], axis=1)
        touching = radii[a] + radii[a + 1 :]
        for b in (np.flatnonzero(apart < OVERLAPPING * touching) + a + 1).tolist():
            raise InputError(
                f"atoms {a} and {b} overlap: they are {apart[b - a - 1]:.3g} apart, and bonds of their kind are {touching[b - a - 1]:.3g} long",
                where=path, do="remove one of them (an alternate position?), or correct the file",
            )  # fmt: skip
        found |= {(a, b) for b in (np.flatnonzero(apart <= BONDED * touching) + a + 1).tolist()}
    return found


def _checked_bond(given: Bond, bonded: set[Bond], symbols: Sequence[str], number: int) -> Bond:
    try:
        a, b = (int(atom) for atom in given)
    except (TypeError, ValueError):
        raise InputError(f"{given!r}", where=f"rotatable[{number}]", do="give the numbers of two atoms") from None
    if not (0 <= a < len(symbols) and 0 <= b < len(symbols)):
        raise InputError(
            f"atoms {a} and {b}: there are {len(symbols)}", where=f"rotatable[{number}]",
            do=f"give numbers from 0 to {len(symbols) - 1}",
        )  # fmt: skip
    if (min(a, b), max(a, b)) not in bonded:
        raise InputError(
            f"atoms {a} ({symbols[a]}) and {b} ({symbols[b]}) are not bound", where=f"rotatable[{number}]",
            do="give pairs of atoms at the distance of a bond, counted from 0",
        )  # fmt: skip
    return min(a, b), max(a, b)


def _groups(count: int, bonds: Iterable[Bond]) -> NDArray[np.int64]:
    """The group of each atom, numbered in the order of their first atoms."""
    group = np.arange(count)
    for a, b in sorted(bonds):
        group[group == max(group[a], group[b])] = min(group[a], group[b])
    return np.unique(group, return_inverse=True)[1].ravel()


def _on_axis(places: Array, a: int, b: int, others: Sequence[int]) -> bool:
    axis = (places[b] - places[a]) / np.linalg.norm(places[b] - places[a])
    away = places[list(others)] - places[a]
    return bool(
        np.linalg.norm(np.cross(away, axis), axis=1).max(initial=0.0)
        < ON_A_LINE * np.linalg.norm(places[b] - places[a])
    )


def _turns_nothing(places: Array, groups: NDArray[np.int64], turning: Sequence[Bond]) -> int | None:
    """The first bond with a side, together with the ends of its own bonds, that lies on the axis."""
    for k, (a, b) in enumerate(turning):
        for side in (a, b):
            own = np.flatnonzero(groups == groups[side]).tolist()
            ends = [atom for bond in turning for atom in bond if groups[side] in (groups[bond[0]], groups[bond[1]])]
            if _on_axis(places, a, b, [*own, *ends]):
                return k
    return None


def _made(
    places: Array, symbols: Sequence[str], masses: Array, groups: NDArray[np.int64], turning: Sequence[Bond], bonded: set[Bond]
) -> Molecule:  # fmt: skip
    members = [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]
    lent: list[list[int]] = [[] for _ in members]  # atoms of others whose mass a group shares
    for g, own in enumerate(members):
        if Body.from_particles(places[own], masses[own]).kind in ("linear", "point"):
            across = {bond[k] for bond in turning for k in (0, 1) if groups[bond[1 - k]] == g and groups[bond[k]] != g}
            lent[g] = sorted(across)
    share = masses / (1 + np.bincount([atom for borrowed in lent for atom in borrowed], minlength=len(masses)))
    bodies = []
    for own, borrowed in zip(members, lent, strict=True):
        everything = [*own, *borrowed]
        types = [*(symbols[a] for a in own), *[NO_TYPE] * len(borrowed)]
        bodies.append(Body.from_particles(places[everything], share[everything], types))
    bonds = _outwards(groups, turning)
    along = {atom for bond in turning for atom in bond}
    rank = {atom: (atom not in along, -masses[atom], atom) for atom in range(len(places))}
    joints = [
        replace(_hinge(places, groups, bodies, (a, b), bonded, rank), name=f"{symbols[a]}{a}-{symbols[b]}{b}")
        for a, b in bonds
    ]
    return Molecule(tuple(bodies), tuple(joints), tuple(bonds), tuple(map(tuple, members)))


def _outwards(groups: NDArray[np.int64], turning: Sequence[Bond]) -> list[Bond]:
    """The bonds, each from the group that is reached first, beginning with group 0 (and the first of those not connected to it)."""
    reached, left, ordered = {0}, list(turning), []
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


def _hinge(
    places: Array, groups: NDArray[np.int64], bodies: Sequence[Body], bond: Bond, bonded: set[Bond], rank: dict[int, tuple[bool, float, int]]
) -> Revolute:  # fmt: skip
    """A hinge whose angle is the dihedral angle with a neighbour of each of its atoms: one on other bonds that turn, or the heaviest."""
    a, b = bond
    axis = places[b] - places[a]
    ends = []
    for atom, other in ((a, b), (b, a)):
        others = sorted({c for pair in bonded if atom in pair for c in pair} - {a, b}, key=rank.__getitem__)
        ends.append(next((c for c in others if not _on_axis(places, a, b, [c])), other))
    turned = 0.0 if ends[0] == b or ends[1] == a else dihedral(places[ends[0]], places[a], places[b], places[ends[1]])
    image = (np.cos(0.5 * turned), *(-np.sin(0.5 * turned) * axis / np.linalg.norm(axis)))
    first, second = int(groups[a]), int(groups[b])
    at = (places[a] - bodies[first].center, places[a] - bodies[second].center)
    return Revolute(first, second, at=at, axis=tuple(axis.tolist()), image=tuple(float(c) for c in image))
