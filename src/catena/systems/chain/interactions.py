"""Interactions between the neighbours of a chain: the potentials of its links, checked, numbered, as kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...geometry import rotations
from ...kernels import fused, views
from ...kernels.marks import Filling, Kernel, Numbers, Slot, Written
from ...text.plain import Json
from ..alike import Alike, alike_from, alike_together, describe_alike
from ..body import Body
from ..potentials.in_time import follow
from ..potentials.link_potentials import Linkwise, MixedPotential, Potential
from ..potentials.link_set import LinkSet
from ..potentials.pair_potentials import PairSet, PairTable, Pairwise
from ..potentials.pairwise import potential_from
from . import forces as chain_forces
from . import hessian as chain_hessian
from . import link_slopes as chain_link_slopes
from . import links as chain_links

SOME_LINKS = (
    ((0.3, 0.9, -0.7), (1.1, -0.4, 0.8)),
    ((-1.1, 2.0, 0.4), (0.2, 1.3, -0.9)),
    ((2.5, 1.3, 1.9), (-0.7, 0.6, 1.2)),
)  # a generic Q (from Euler angles) and d
HELD_TOLERANCE = 1e-12  # torque about an axis without moment of inertia, relative to the whole torque


GivenPotential: TypeAlias = Potential | Mapping[str, object]
GivenPotentials: TypeAlias = GivenPotential | Sequence[GivenPotential]  # for all links, or one for each


class Interactions:
    """The potentials between neighbouring bodies.

    Parameters
    ----------
    bodies : all bodies of the chain
    potential : between particles, between bodies, or a sum of both; or a list with one for each link
    closed : whether the last link joins the last body to the first

    Attributes
    ----------
    potentials : as given, one for each link
    pairs : the part that acts between particles, for each link; None if there is none
    bonds : the part that acts between bodies, for each link; None if there is none
    """

    def __init__(self, bodies: Sequence[Body], potential: GivenPotentials, *, closed: bool = False) -> None:
        self.bodies = tuple(bodies)
        self.closed = closed
        self.alike = Alike(self.bodies)
        links = self.count
        if isinstance(potential, Mapping) and "which" in potential:
            potential = alike_from(potential, _potential, "Chain.potential")
        if isinstance(potential, (list, tuple)):
            if len(potential) != links:
                raise InputError(
                    f"{len(potential)} potentials for {links} links", where="Chain.potential",
                    do="give one for all links, or one for each",
                )  # fmt: skip
            known: dict[int, Potential] = {}
            for j, given in enumerate(potential):
                if id(given) not in known:
                    known[id(given)] = _for_links(
                        _potential(given, f"Chain.potential[{j}]"), None, f"Chain.potential[{j}]"
                    )
            made = [known[id(given)] for given in potential]
        else:
            made = [_for_links(_potential(potential, "Chain.potential"), links, "Chain.potential")] * links
        self.potentials = tuple(_each_once(made, follow))
        self._acting = Alike(self.potentials)
        distinct, which = self._acting.distinct, self._acting.which.tolist()
        pairs, bonds = [_pairs_of(given) for given in distinct], [_bond_of(given) for given in distinct]
        self.pairs = tuple(map(pairs.__getitem__, which))
        self.bonds = tuple(map(bonds.__getitem__, which))
        self.has_pairs, self.has_bonds = any(map(_is_there, pairs)), any(map(_is_there, bonds))
        for j in self.kinds[0].tolist():
            if self.pairs[j] is not None:
                self._check_particles(j)
            bond = self.bonds[j]
            if bond is not None and not all(body.moments.all() for body in self.joined(j)):
                for link in [j] if bond.links is None else np.flatnonzero(self.kinds[1] == self.kinds[1][j]).tolist():
                    self._check_torques(link, bond.of_link(link))

    @cached_property
    def kinds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Kinds of links: links between equal bodies with equal potentials. The first link of each kind, and the kind
        of each link.

        A potential with constants for each link counts as one; `alike_links` distinguishes its links.
        """
        left, right = self.sides
        return alike_together(self.alike.which[left], self.alike.which[right], self._acting.which)

    @property
    def count(self) -> int:
        """Number of links."""
        return len(self.bodies) - (not self.closed)

    @cached_property
    def sides(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The bodies to the left and to the right of each link."""
        left = np.arange(self.count)
        return left, (left + 1) % len(self.bodies)

    def joined(self, link: int) -> tuple[Body, Body]:
        """The two bodies of a link."""
        return self.bodies[link], self.bodies[(link + 1) % len(self.bodies)]

    @cached_property
    def alike_links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Links that are equal in every respect: the first of each kind, and the kind of each link."""
        if all(bond.links is None for bond in self.distinct_bonds):
            return self.kinds
        rows = [np.unique(group.table, axis=0, return_inverse=True)[1].ravel() for group in self.bond_set.groups]
        first = [group.first for group in self.bond_set.groups]
        equal = np.concatenate([[-1], *(row + start for row, start in zip(rows, first, strict=True))])
        return alike_together(self.kinds[1], equal[self.arrays["link_which"] + 1] + 1)

    @property
    def smoothness(self) -> float:
        """Number of continuous derivatives of the energy."""
        return min(potential.smoothness for potential in self._acting.distinct)

    def between(self, link: int) -> list[list[Pairwise | None]]:
        """The potential between each particle of the left body and each of the right one."""
        pairs, (left, right) = self.pairs[link], self.joined(link)
        if pairs is None:
            return [[None] * len(right.particles) for _ in left.particles.types]
        return [[pairs.between(a, b) for b in right.particles.types] for a in left.particles.types]

    @cached_property
    def length(self) -> float:
        """The longest known resting distance of particles, or of the bodies of a link; 0 if none is known."""
        lengths = [potential.length for potential in self.pair_set.potentials if potential is not None]
        for bond in self.distinct_bonds:
            poses = [part.resting_pose for part in getattr(bond, "terms", (bond,))]
            lengths += [float(np.linalg.norm(pose[0], axis=-1).max()) for pose in poses if pose is not None]
        return max((length for length in lengths if np.isfinite(length)), default=0.0)

    @property
    def pair_set(self) -> PairSet:
        """The different pair potentials as numbered kernels."""
        return self._numbered[0]

    def numbers_of_pairs(self) -> NDArray[np.int64]:
        """The potential between each two particles of a link, (kinds, most particles, most particles); -1: none."""
        pairs, which, types = self._numbered
        first, width = self.kinds[0], types.shape[1]
        left, right = (side[first] for side in self.sides)
        numbers = np.zeros((len(first), width, width), dtype=np.int64)
        if which is not None:
            numbers = which[first[:, None, None], types[left][:, :, None], types[right][:, None, :]]
        there = np.arange(width) < self.alike.each(lambda body: len(body.particles), np.int64)[:, None]
        acts = np.array([potential is not None for potential in pairs.potentials])
        return np.where(there[left][:, :, None] & there[right][:, None, :] & acts[numbers], numbers, -1)

    def fills(self) -> dict[Slot, Filling]:
        """The kernels for the slots."""
        pairs = self.pair_set
        filled: dict[Slot, Filling] = {
            views.pair_force: pairs.kernel("pair_force"),
            views.pair_energy: pairs.kernel("pair_energy"),
            views.pair_slope: pairs.kernel("pair_slope"),
            chain_forces.is_uniform: int(self._numbered[1] is None),
            chain_forces.lane_count: self._lanes,
            chain_forces.pair_constants: self._constants_kernel(),
            views.is_closed: int(self.closed),
            chain_forces.distant_energy: chain_forces.no_distant_energy,
        }
        if not self.has_bonds:
            return filled | {
                chain_forces.add_link_forces: chain_forces.no_link_forces,
                chain_forces.bond_energy: chain_forces.no_bond_energy,
                chain_hessian.add_link_slopes: chain_hessian.no_link_slopes,
            }
        return filled | {
            chain_forces.add_link_forces: chain_links.add_forces_of_links,
            chain_forces.bond_energy: chain_links.energy_of_link,
            chain_links.link_force: self.bond_set.kernel("link_force"),
            chain_links.link_energy: self.bond_set.kernel("link_energy"),
            chain_hessian.add_link_slopes: chain_link_slopes.add_slopes_of_links,
        }

    def scratch(self) -> dict[str, Numbers]:
        """The arrays that the kernels write to: particles with their forces, then forces and torques on bodies."""
        n, rows, lanes = len(self.bodies), len(self.arrays["particles"]), self._lanes
        return {"x": np.zeros((rows, 6 * lanes)), "f": np.zeros((n, 3)), "tau": np.zeros((n, 3))}

    @cached_property
    def arrays(self) -> dict[str, Numbers]:
        """Particles in principal axes, and which potential acts; bodies whose particles do not interact have none here."""
        n = len(self.bodies)
        counts = self.alike.each(lambda body: len(body.particles) * self.has_pairs, np.int64)
        lanes = self._lanes
        row = np.concatenate([[0], np.cumsum(-(-counts // lanes))])
        particles = np.zeros((row[-1], 3, lanes))
        pairs, which, types_of_bodies = self._numbered
        types = np.zeros((n, lanes * int(np.diff(row).max())), dtype=np.int64)
        for kind, body in enumerate(self.alike.distinct):
            mine = np.flatnonzero((self.alike.which == kind) & (counts > 0))
            if not mine.size:
                continue
            count = len(body.particles)
            filled = np.minimum(np.arange(lanes * -(-count // lanes)), count - 1)  # the last particle fills its row
            places = body.principal_particles.positions[filled].reshape(-1, lanes, 3).transpose(0, 2, 1)
            particles[row[mine, None] + np.arange(len(places))] = places
            types[mine, : len(filled)] = types_of_bodies[mine][:, filled]
        return {
            "count": counts,
            "row": row,
            "particles": particles.reshape(-1, 3 * lanes),
            "types": types,
            "which": np.zeros((1, 1, 1), dtype=np.int64) if which is None else which,
            "pair": np.array(pairs.values, dtype=float),
            "link_which": self._numbers_of_links(),
            "link": self.bond_set.values,
        }

    def _numbers_of_links(self) -> NDArray[np.int64]:
        """Which link potential acts at each link, in the numbering of `bond_set`; -1: none."""
        bonds: dict[Linkwise | None, int] = dict(zip(self.distinct_bonds, self.bond_set.numbers, strict=True))
        found = self._acting.each(lambda given: bonds.get(_bond_of(given), -1), np.int64)
        own = self._acting.each(lambda given: getattr(_bond_of(given), "links", None) is not None, np.bool_)
        return found + np.where(own, np.arange(len(found)), 0)

    def describe(self) -> Json:
        """The description in a case: one potential for all links, or a list."""
        described = [potential.describe() for potential in self._acting.distinct]
        if all(one == described[0] for one in described):
            return described[0]
        return describe_alike(described, self._acting.which)

    @property
    def distinct_bonds(self) -> list[Linkwise]:
        """The different link potentials, in order of first appearance."""
        bonds = map(_bond_of, self._acting.distinct)
        return list(dict.fromkeys(bond for bond in bonds if bond is not None))

    @cached_property
    def bond_set(self) -> LinkSet:
        """The link potentials as numbered kernels."""
        return LinkSet(self.distinct_bonds)

    @cached_property
    def _lanes(self) -> int:
        """Places of a row of particles: whole registers if the loops are vectorised: constants are in registers."""
        counts = {len(body.particles) for body in self.alike.distinct}
        most, least = max(1, *counts), chain_forces.LANES
        if self._numbered[1] is not None or most <= chain_forces.FEW_PARTICLES:
            return -(-most // -(-most // least))

        def rounded(count: int, lanes: int) -> int:
            return -(-count // lanes) * lanes

        # long rows are faster, unless most places are unused
        longer = range(least, most + least, least)
        return max(lanes for lanes in longer if all(rounded(c, lanes) == rounded(c, least) for c in counts))

    def _constants_kernel(self) -> Kernel:
        """A single potential has its constants in registers: in memory they could alias what a loop writes."""
        pairs, which, _ = self._numbered
        if which is not None:
            return chain_forces.constants_in_memory
        constants = "".join(f"par.pair[{k}], " for k in range(len(pairs.values)))
        text = f"def pair_constants(par):\n    return held(({constants}))"
        return Written("pair_constants", text, __name__, (("held", fused.held),))

    @cached_property
    def _numbered(self) -> tuple[PairSet, NDArray[np.int64] | None, NDArray[np.int64]]:
        """The distinct potentials; which one acts, by link and types (None: one for all); the particle types."""
        bodies = self.alike
        kinds = {t: k for k, t in enumerate(dict.fromkeys(t for body in bodies.distinct for t in body.particles.types))}
        width = max(len(body.particles) for body in bodies.distinct) if self.has_pairs else 0

        def row_of(body: Body) -> list[int]:
            row = [kinds[t] for t in body.particles.types[:width]]
            return row + [0] * (width - len(row))

        first, kind_of_link = self.kinds
        table = np.zeros((len(first), len(kinds), len(kinds)), dtype=np.int64)
        distinct: dict[Pairwise | None, int] = {}
        for kind, j in enumerate(first.tolist()):
            pairs = self.pairs[j]
            left, right = (dict.fromkeys(body.particles.types) for body in self.joined(j))
            for a in left:
                for b in right:
                    acting = None if pairs is None else pairs.between(a, b)
                    table[kind, kinds[a], kinds[b]] = distinct.setdefault(acting, len(distinct))
        which = table[kind_of_link] if len(distinct) > 1 else None
        return PairSet(list(distinct)), which, bodies.each(row_of, np.int64)

    def _check_particles(self, link: int) -> None:
        for j in (link, (link + 1) % len(self.bodies)):
            if len(self.bodies[j].particles) == 0:
                raise InputError(
                    f"body {j} has no particles to interact with", where=f"Chain.bodies[{j}]",
                    do="make it with Body.from_particles, or use a link potential",
                )  # fmt: skip
        self.between(link)  # a table must contain all types that interact

    def _check_torques(self, link: int, bond: Linkwise) -> None:
        """Refuse torques about an axis without moment of inertia; checked at some relative positions."""
        for angles, d in SOME_LINKS:
            q = rotations.to_matrix(rotations.from_euler(angles))
            found = bond.force(d, q)
            torques = (-q @ found[3:] - np.cross(d, found[:3]), found[3:])
            for j, torque in zip((link, (link + 1) % len(self.bodies)), torques, strict=True):
                body = self.bodies[j]
                fixed = body.frame_matrix[:, body.moments == 0.0]
                if np.abs(torque @ fixed).max(initial=0.0) > HELD_TOLERANCE * np.linalg.norm(found):
                    what = "a point" if body.kind == "point" else "a linear body about its own line"
                    raise InputError(
                        f"the potential of link {link} turns body {j}, {what}: there is no moment of inertia",
                        where=f"Chain.potential, link {link}",
                        do="use a potential that does not depend on that rotation, or a body with some extent",
                    )


def _potential(given: object, where: str) -> Potential:
    made = potential_from(given) if isinstance(given, Mapping) else given
    if not isinstance(made, (Pairwise, PairTable, Linkwise, MixedPotential)):
        raise InputError(
            f"{made!r} is no potential",
            where=where,
            do="give one, such as LennardJones(5.0, 1.0), or one for each link",
        )
    return made


def _for_links(potential: Potential, links: int | None, where: str) -> Potential:
    """A potential, if it has constants for this number of links, or for any; None: it is meant for one of them."""
    bond = _bond_of(potential)
    if bond is not None and bond.links not in (None, links):
        raise InputError(
            f"a potential with constants for {bond.links} links at {'one' if links is None else links}", where=where,
            do="give it alone, for all links, with as many rows as there are links; of_link(j) is that of one",
        )  # fmt: skip
    return potential


def _each_once(potentials: Sequence[Potential], change: Callable[[Potential], Potential]) -> list[Potential]:
    """Equal potentials are changed once, and become one object."""
    row = Alike(potentials)
    changed = [change(potential) for potential in row.distinct]
    return [changed[number] for number in row.which.tolist()]


def _is_there(part: object) -> bool:
    return part is not None


def _pairs_of(potential: Potential) -> Pairwise | PairTable | None:
    if isinstance(potential, MixedPotential):
        return potential.pairs
    return None if isinstance(potential, Linkwise) else potential


def _bond_of(potential: Potential) -> Linkwise | None:
    if isinstance(potential, MixedPotential):
        return potential.links
    return potential if isinstance(potential, Linkwise) else None
