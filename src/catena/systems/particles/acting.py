"""The particles of all bodies of a system, numbered, and their interactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...geometry import rotations
from ...kernels import views
from ...kernels.marks import Bound, Filling, Kernel, Numbers, Slot, bind
from ..base import Array, State
from ..body import Body, Particles
from ..numbers import finite_numbers, whole_number
from ..potentials.in_time import follow
from ..potentials.pair_potentials import PairSet, PairTable, Pairwise
from ..potentials.pair_table import pair_potential_from
from ..potentials.pairwise import NO_TYPE
from . import kernels, lists, slopes
from .acting_terms import Terms, dihedral
from .layout import Center, Frame, Listing, Particle, Sort

GivenPairs: TypeAlias = Pairwise | PairTable | Mapping[str, object] | None
PAIR_SLOTS = (views.pair_energy, views.pair_force, views.pair_slope, views.pair_mean)
TOO_CLOSE = 0.5  # of the resting distance of two particles
FEW = 500  # particles up to which all distances are computed at once
LISTED_FROM = 100  # particles: with fewer, neighbour lists cost as much as they save
SKIN = 0.2  # of the reach
ROOM = 200  # for partners of a particle, on average
SAME_PLACE = 1e-6  # of the extent of the bodies: a particle of type "none" that is closer to another is a part of it
COINCIDE = 1e-12  # of the size of the system: closer particles coincide


class ActingParticles:
    """The particles of all bodies, each once, and the pair potential between them.

    Particles of type "none" only add to the mass of their body: they are a part of an atom in another body.

    Parameters
    ----------
    bodies : of the system
    pairs : potential, or table of potentials by types; None: particles do not interact in pairs
    near : for each body, the bodies after it whose particles do not interact with its own
    where : name of the argument in messages
    terms : fields on single particles, and potentials of three or four of them
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        pairs: GivenPairs,
        near: Sequence[Iterable[int]],
        where: str,
        terms: Terms | None = None,
    ) -> None:
        self.bodies = tuple(bodies)
        self.pairs = pairs_from(pairs, where)
        self.terms = terms or Terms(())
        self.near = tuple(tuple(sorted(others)) for others in near)
        self.counted = [np.flatnonzero([kind != NO_TYPE for kind in body.particles.types]) for body in self.bodies]
        if self.pairs is not None and not self.count:
            raise InputError(
                "no body has particles to interact with", where=where, do="make bodies with Body.from_particles"
            )
        if self.terms:
            self.terms.check(self.count, self.types)
        if self.pairs is not None:
            self._numbered  # a table must contain all types that interact  # noqa: B018

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first particle of each body, and the number of particles."""
        return np.cumsum([0, *(len(own) for own in self.counted)], dtype=np.int64)

    @property
    def count(self) -> int:
        """Number of particles."""
        return int(self.first[-1])

    @cached_property
    def body_of(self) -> NDArray[np.int64]:
        """The body of each particle."""
        return np.repeat(np.arange(len(self.bodies)), np.diff(self.first))

    @cached_property
    def types(self) -> tuple[int | str, ...]:
        """The type of each particle."""
        return tuple(body.particles.types[k] for body, own in zip(self.bodies, self.counted, strict=True) for k in own)

    def at(self, state: State) -> Particles:
        """Positions of the particles in a state, with the mass that each adds to its body, and their types."""
        places = [np.zeros((0, 3))]
        for j, (body, own) in enumerate(zip(self.bodies, self.counted, strict=True)):
            inside = body.particles.positions[own]
            places.append(state.position[j] + rotations.rotate(state.orientation[j], inside))
        masses = [body.particles.masses[own] for body, own in zip(self.bodies, self.counted, strict=True)]
        return Particles(np.concatenate(places), np.concatenate([np.zeros(0), *masses]), self.types)

    def whole(self, state: State) -> Particles:
        """The same with whole masses: an atom on a hinge has a part in two bodies, one a particle of type "none"."""
        from scipy.spatial import cKDTree

        found, masses, size = self.at(state), [], 0.0
        hidden = [np.zeros((0, 3))]
        for j, (body, own) in enumerate(zip(self.bodies, self.counted, strict=True)):
            others = np.setdiff1d(np.arange(len(body.particles)), own)
            hidden.append(state.position[j] + rotations.rotate(state.orientation[j], body.particles.positions[others]))
            masses.append(body.particles.masses[others])
            size = max(size, float(np.abs(body.particles.positions).max(initial=0.0)))
        places = np.concatenate(hidden)
        if not (len(places) and self.count):
            return found
        apart, nearest = cKDTree(found.positions).query(places)
        total, there = found.masses.copy(), apart <= SAME_PLACE * size
        np.add.at(total, nearest[there], np.concatenate(masses)[there])
        return Particles(found.positions, total, found.types)

    def dihedrals(self, state: State, atoms: ArrayLike) -> Array:
        """Dihedral angles of particles, numbered through all bodies; see `Linkage.dihedrals`."""
        places = self.at(state).positions
        given = finite_numbers(
            atoms, (4,), (None, 4), where="dihedrals.atoms", do="give four numbers of particles, or (m, 4)"
        )
        wrong = given[(given != np.floor(given)) | (given < 0) | (given >= len(places))]
        if wrong.size:
            raise InputError(
                f"there is no particle {wrong[0]:g}", where="dihedrals.atoms", do=f"number them from 0 to {len(places) - 1}"
            )  # fmt: skip
        rows = given.astype(np.int64)
        for row in rows.reshape(-1, 4).tolist():
            if len(set(row)) < 4:
                do = "give four different particles"
                raise InputError(f"{row} names a particle twice", where="dihedrals.atoms", do=do)
        return np.array([dihedral(*places[row]) for row in rows.reshape(-1, 4)]).reshape(rows.shape[:-1])

    @cached_property
    def _numbered(self) -> tuple[PairSet, NDArray[np.int64], NDArray[np.int64]]:
        """The distinct potentials; which one acts, by two types; the number of the type of each particle."""
        kinds = {kind: k for k, kind in enumerate(dict.fromkeys(self.types))}
        distinct: dict[Pairwise | None, int] = {}
        which = np.zeros((len(kinds), len(kinds)), dtype=np.int64)
        for a, first in kinds.items():
            for b, second in kinds.items():
                acting = None if self.pairs is None else self.pairs.between(a, b)
                which[first, second] = distinct.setdefault(acting, len(distinct))
        return PairSet(list(distinct)), which, np.array([kinds[kind] for kind in self.types], dtype=np.int64)

    @property
    def pair_count(self) -> int:
        """Number of pairs, without those between near bodies."""
        sizes = np.diff(self.first)
        inside = int((sizes * (sizes - 1) // 2).sum())
        left_out = sum(int(sizes[i] * sizes[j]) for i, near in enumerate(self.near) for j in near)
        return self.count * (self.count - 1) // 2 - inside - left_out

    def fills(self, constants: int) -> dict[Slot, Filling]:
        """Kernels for the slots; the constants of the potentials are in par.pair from this place on."""
        more = self.terms.fills()
        if self.pairs is None:
            slots = (kernels.push_all, kernels.push_all_between, kernels.find_energies, slopes.change_pushes)
            return more | dict.fromkeys(slots, kernels.no_particles)
        numbered = self._numbered[0]
        own: dict[Slot, Filling] = {slot: numbered.kernel(slot.__name__, constants) for slot in PAIR_SLOTS}
        own[kernels.one_potential] = int(len(numbered.potentials) == 1)
        ways: dict[Slot, Kernel] = {
            kernels.push_all: kernels.PUSH,
            kernels.push_all_between: kernels.PUSH_BETWEEN,
            kernels.find_energies: kernels.add_energies_of_row,
            slopes.change_pushes: slopes.CHANGE,
        }
        return more | {slot: self._way(slot, row, own) for slot, row in ways.items()}

    def _way(self, slot: Slot, row: Kernel, own: Mapping[Slot, Filling]) -> Bound:
        """A traversal of all pairs that does this with each row."""
        plain = {kernels.act_on_row: bind(row, {**own, kernels.partner: kernels.itself})}
        if not self.is_listed:
            return bind(kernels.every_pair, plain)
        along: dict[Slot, Filling] = {
            lists.act_on_listed_row: bind(row, {**own, kernels.partner: lists.read_partner}),
            lists.looks_at_both_ends: int(slot is kernels.push_all_between),
        }
        return bind(lists.list_pairs, {**plain, **along})

    @property
    def is_listed(self) -> bool:
        """Whether neighbour lists pay: many particles, and potentials that end."""
        return self.pairs is not None and self.count >= LISTED_FROM and self.pairs.reach < np.inf

    @property
    def constants(self) -> Array:
        """Constants of the potentials, for par.pair."""
        return self._numbered[0].values if self.pairs is not None else np.zeros(0)

    @cached_property
    def arrays(self) -> dict[str, Numbers]:
        """The parameters of the kernels."""
        places = [body.principal_particles.positions[own] for body, own in zip(self.bodies, self.counted, strict=True)]
        sort = np.zeros((self.count, Sort.WIDTH), dtype=np.int64)
        sort[:, Sort.BODY], sort[:, Sort.TYPE] = self.body_of, self._numbered[2]
        return {
            **self.terms.arrays(self.types),
            "particle_first": self.first,
            "particle_place": np.concatenate([np.zeros((0, 3)), *places]),
            "particle_sort": sort,
            "particle_which": self._numbered[1],
            **self._list_arrays,
            "particle_near_first": np.cumsum([0, *map(len, self.near)], dtype=np.int64),
            "particle_near": np.array([j for near in self.near for j in near] or [-1], dtype=np.int64),
        }

    @property
    def _list_arrays(self) -> dict[str, Numbers]:
        if not self.is_listed or self.pairs is None:
            return {}
        # the kernels stop where s reaches the square of the reach, up to rounding
        reach = self.pairs.reach * (1.0 + 1e-12)
        return {"particle_reach": np.array([reach, SKIN * reach])}

    def _list_scratch(self) -> dict[str, Numbers]:
        if not self.is_listed:
            return {}
        room = min(self.count * (self.count - 1) // 2, ROOM * self.count)
        return {
            "particle_listing": np.zeros(Listing.WIDTH),
            "particle_listed": np.zeros((self.count, 3)),
            "particle_row": np.zeros(self.count + 1, dtype=np.int64),
            "particle_partner": np.zeros(room, dtype=np.int64),
            "particle_cell": np.zeros(self.count, dtype=np.int64),
            "particle_next": np.zeros(self.count, dtype=np.int64),
        }

    def scratch(self) -> dict[str, Numbers]:
        """The arrays that the kernels write to."""
        frame = np.zeros(Frame.WIDTH)
        arms = [np.linalg.norm(body.particles.positions, axis=1).max(initial=0.0) for body in self.bodies]
        frame[Frame.LENGTH] = max(arms, default=0.0) or 1.0
        return {
            **self._list_scratch(),
            "particle_frame": frame,
            "particle": np.zeros((self.count, Particle.WIDTH)),
            "particle_center": np.zeros((len(self.bodies), Center.WIDTH)),
        }

    def wrenches(self, state: State) -> Array:
        """(bodies, 2, 3): force, and torque about the centre of mass, on the particles of each body; plain numpy."""
        made, forces = np.zeros((len(self.bodies), 2, 3)), self.forces(state)
        arms = self.at(state).positions - np.asarray(state.position)[self.body_of]
        np.add.at(made, self.body_of, np.stack([forces, np.cross(arms, forces)], axis=1))
        return made

    def forces(self, state: State) -> Array:
        """(particles, 3): force on each; plain numpy, for messages and tests."""
        places = self.at(state).positions
        made = self.terms.forces(places, self.types, state.time)
        if self.pairs is None:
            return made
        for i, near in enumerate(self.near):
            others = [j for j in range(i + 1, len(self.bodies)) if j not in near]
            for a in range(self.first[i], self.first[i + 1]):
                for b in (b for j in others for b in range(self.first[j], self.first[j + 1])):
                    potential = self.pairs.between(self.types[a], self.types[b])
                    if potential is not None:
                        apart = places[b] - places[a]
                        distance = float(np.linalg.norm(apart))
                        push = float(potential.force(distance)) / distance * apart
                        made[a] -= push
                        made[b] += push
        return made

    def undefined_at(self, state: State) -> str:
        """The first pair, or particle in a field, whose energy is undefined in a state; empty if all have one."""
        places = self.at(state).positions
        for one in self.terms.fields:
            for a, kind in enumerate(self.types):
                if one.types is None or kind in one.types:
                    reason = one.undefined_at(*places[a].tolist(), state.time)
                    if reason:
                        return f"start, External on particle {a} ({kind}): {reason}"
        for a, b in closer_than(COINCIDE * float(np.abs(places).max(initial=0.0)), places):
            if self.pairs is not None and self.body_of[a] != self.body_of[b]:
                return f"start, particles {a} and {b} coincide"
        return ""

    def check_distances(self, state: State) -> None:
        """Refuse particles that coincide, or that are closer than half the length of their potential."""
        if self.pairs is None:
            return
        places = self.at(state).positions
        reach = max(TOO_CLOSE * self.pairs.length, COINCIDE * float(np.abs(places).max(initial=0.0)))
        for a, b in closer_than(reach, places):
            potential = self.pairs.between(self.types[a], self.types[b])
            distance = float(np.linalg.norm(places[b] - places[a]))
            i, j = int(self.body_of[a]), int(self.body_of[b])
            if potential is None or i == j or j in self.near[i]:
                continue
            if distance < TOO_CLOSE * potential.length or not potential.is_defined(distance):
                raise InputError(
                    f"particle {a} ({self.types[a]}, body {i}) and particle {b} ({self.types[b]}, body {j}) are {distance:.4g} apart, "
                    f"less than half of {potential.length:.4g}", where=f"start.position[{i}]",
                    do="move the bodies apart or turn them, or exclude more hops; check=False takes them as they are",
                )  # fmt: skip


def closer_than(reach: float, places: Array) -> list[tuple[int, int]]:
    """All pairs of points that are at most this far apart, in the order of their numbers."""
    if len(places) > FEW:
        from scipy.spatial import KDTree  # slow to import

        return sorted(KDTree(places).query_pairs(reach))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    return [(int(a), int(b)) for a, b in zip(*np.nonzero(np.triu(apart <= reach, 1)), strict=True)]


def pairs_from(given: GivenPairs, where: str) -> Pairwise | PairTable | None:
    """The potential, or the one from the JSON of `describe` or from a case."""
    made = pair_potential_from(given) if isinstance(given, Mapping) else given
    if made is not None and not isinstance(made, Pairwise | PairTable):
        raise InputError(
            f"{given!r} is no pair potential", where=where, do="give LennardJones(...), a PairTable, or leave it out"
        )
    for potential in made.potentials if isinstance(made, PairTable) else () if made is None else (made,):
        if follow(potential) is not potential:
            raise InputError(
                f"{potential!r} depends on time",
                where=where,
                do="give numbers, or an External in t; links of a chain may depend on time",
            )
    return made


def check_hops(given: object, where: str) -> int:
    """A non-negative integer."""
    return whole_number(given, where, "give how many joints apart bodies begin to interact: 0, 1, 2, ...", least=0)


def within_hops(start: int, joined: Sequence[Iterable[int]], hops: int) -> set[int]:
    """All bodies that can be reached from a body in at most this many hops."""
    found, edge = {start}, {start}
    for _ in range(hops):
        edge = {other for body in edge for other in joined[body]} - found
        found |= edge
    return found - {start}
