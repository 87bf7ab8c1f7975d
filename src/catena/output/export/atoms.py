"""The particles of all bodies as atoms for other programs: each once, with its type as a number and by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, Integers
from ...geometry import rotations
from ...systems.potentials.pairwise import NO_TYPE
from ..page.appearance import Appearance, appearance_of, bodies_of
from ..page.samples import blocks, only, poses
from .shared import Frame

if TYPE_CHECKING:
    import xarray

    from ...running.runs import Run

SAME = 1e-6  # of the extent of their bodies: particles of joined bodies that stay closer are one atom
DUMMY = "X"  # the symbol of no element
ELEMENTS = (  # noqa: SIM905
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc "
    "Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi "
    "Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
).split()


@dataclass(frozen=True, eq=False)
class Atoms:
    """The particles that are written.

    Attributes
    ----------
    index : (m,) their numbers among the particles of all bodies
    body : (m,) the body of each, the first of those that share it
    mass : (m,) total mass of each atom; bodies that share it hold parts of it
    kind : (m,) its type as a number from 1 on
    names : the name of each type, without spaces
    """

    index: Integers
    body: Integers
    mass: Array
    kind: Integers
    names: tuple[str, ...]

    @property
    def species(self) -> list[str]:
        """(m) the name of each atom's type."""
        return [self.names[kind - 1] for kind in self.kind.tolist()]

    def placed(self, frame: Frame, looks: Appearance) -> Array:
        """(m, 3) positions of the atoms."""
        body = looks.particle_body[self.index]
        turned = rotations.rotate(frame.orientation[body], frame.scale * looks.particle_at[self.index])
        return frame.position[body] + turned


def atoms_of(run: Run) -> Atoms:
    """The atoms of a run whose bodies have particles."""
    bodies, looks = bodies_of(run.system), appearance_of(run.system)
    given = [kind for body in bodies for kind in body.particles.types]
    types = dict.fromkeys(kind for kind in given if kind != NO_TYPE)
    distinct = sorted(types, key=lambda kind: (isinstance(kind, str), kind))
    plain = len(distinct) == 1 and not isinstance(distinct[0], str)  # no types were given
    kind = np.array([0 if one == NO_TYPE else 1 + distinct.index(one) for one in given])
    owner = _owners(run, looks, kind)
    index = np.flatnonzero((owner == np.arange(len(owner))) & (kind > 0))
    mass = np.zeros(len(owner))
    np.add.at(mass, owner, np.concatenate([body.particles.masses for body in bodies]))
    names = tuple(DUMMY if plain else "_".join(str(one).split()) or DUMMY for one in distinct)
    return Atoms(index, looks.particle_body[index], mass[index], kind[index], names)


def atomic_number(name: str) -> int:
    """The atomic number of an element, otherwise 0."""
    return ELEMENTS.index(name) + 1 if name in ELEMENTS else 0


def _owners(run: Run, looks: Appearance, kind: Integers) -> Integers:
    """(n,) for each particle, the one as which it is written: the first of its type from which it never separates; one
    of type "none" joins any other.

    Bodies share atoms if a joint holds them together: for example, both ends of the bond about which two groups turn.
    """
    owner = np.arange(len(kind))
    pairs = np.array(list(_coinciding(run, looks, kind)), dtype=np.int64).reshape(-1, 2)
    data = only(run.data, ["time", "position", "orientation"])
    for block in blocks(data) if len(pairs) else ():
        pairs = pairs[_apart(block, looks, pairs) <= _tolerance(looks, pairs)]
    for first, second in sorted(pairs.tolist()):
        kept, gone = (first, second) if kind[owner[first]] > 0 else (second, first)
        owner[owner == owner[gone]] = owner[kept]
    return owner


def _coinciding(run: Run, looks: Appearance, kind: Integers) -> Iterator[tuple[int, int]]:
    """Pairs of particles of joined bodies, of equal type or one of type "none", that coincide in the first sample."""
    start = run.data.isel(time=slice(0, 1)).load()
    for joint in looks.joints:
        ours, theirs = (np.flatnonzero(looks.particle_body == body) for body in sorted((joint.parent, joint.child)))
        pairs = np.stack(np.meshgrid(ours, theirs, indexing="ij"), axis=-1).reshape(-1, 2)
        one, other = kind[pairs].T
        pairs = pairs[(one == other) | (one * other == 0)]
        for pair in pairs[_apart(start, looks, pairs) <= _tolerance(looks, pairs)].tolist():
            yield pair[0], pair[1]


def _apart(block: xarray.Dataset, looks: Appearance, pairs: Integers) -> Array:
    """(p,) the largest distance of each pair of particles in a block of samples."""
    position, orientation = poses(block)
    first, second = (
        position[:, looks.particle_body[side]]
        + rotations.rotate(orientation[:, looks.particle_body[side]], looks.particle_at[side])
        for side in pairs.T
    )
    return np.linalg.norm(first - second, axis=-1).max(axis=0, initial=0.0)


def _tolerance(looks: Appearance, pairs: Integers) -> Array:
    return SAME * np.linalg.norm(looks.particle_at[pairs], axis=-1).max(axis=-1)
