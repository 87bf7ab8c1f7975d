"""Fields, angles and dihedral angles of one system as kernels: one function for all of a kind, selected by number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...kernels.marks import Filling, Numbers, Slot, Written
from ..base import Array
from ..potentials.pairwise import interpret
from . import kernels, slopes, terms
from .layout import Term

if TYPE_CHECKING:
    from ..linkage.particle_forces import Derived, External, OfParticles

Types = Sequence[int | str]
IN_LINE = 1e-8  # sine of an angle below which its three particles count as collinear


class Terms:
    """Fields on single particles, and potentials of three or four particles.

    Parameters
    ----------
    given : forces of a linkage, of which External, Angle and Dihedral act on particles
    """

    def __init__(self, given: Sequence[object]) -> None:
        self.given = tuple(given)
        self.fields: list[External] = []
        self.angles: list[OfParticles] = []
        if not given:
            return
        from ..linkage.particle_forces import External, OfParticles  # they import the forces on bodies

        self.fields = [one for one in given if isinstance(one, External)]
        self.angles = [one for one in given if isinstance(one, OfParticles)]

    def __bool__(self) -> bool:
        return bool(self.fields or self.angles)

    @cached_property
    def in_time(self) -> bool:
        """Whether any of them depends on time."""
        return any(one.in_time for one in (*self.fields, *self.angles))

    def check(self, count: int, types: Types) -> None:
        """Refuse particles and types that do not exist."""
        for one in self.angles:
            for atom in one.atoms:
                if atom >= count:
                    raise InputError(
                        f"there is no particle {atom}; there are {count}", where=f"{self._place(one)}.atoms",
                        do=f"give numbers below {count}, as linkage.particles(state) counts them",
                    )  # fmt: skip
        for field in self.fields:
            if not count:
                raise InputError(
                    "no body has particles", where=self._place(field), do="make bodies with Body.from_particles"
                )
            for kind in field.types or ():
                if kind not in types:
                    known = ", ".join(map(repr, dict.fromkeys(types)))
                    raise InputError(
                        f"no particle is of type {kind!r}", where=f"{self._place(field)}.types", do=f"give some of {known}"
                    )  # fmt: skip

    def check_angles(self, places: Array) -> None:
        """Refuse dihedral angles without a value: three of their particles are collinear, or two coincide."""
        for one in self.angles:
            for three in (one.atoms[:3], one.atoms[1:]) if len(one.atoms) == 4 else ():
                u, v = places[three[0]] - places[three[1]], places[three[2]] - places[three[1]]
                if not np.linalg.norm(np.cross(u, v)) > IN_LINE * np.linalg.norm(u) * np.linalg.norm(v):
                    raise InputError(
                        f"particles {', '.join(map(str, three))} lie in a line, about which no dihedral angle is defined",
                        where=f"{self._place(one)}.atoms", do="choose others, or turn the bodies",
                    )  # fmt: skip

    def _place(self, one: object) -> str:
        """The name of a term in messages."""
        return f"Linkage.forces[{self.given.index(one)}]"

    def fills(self) -> dict[Slot, Filling]:
        """Kernels for the slots."""
        none = kernels.no_particles
        if not self:
            slots = (kernels.push_more, kernels.push_more_between, kernels.find_more_energies, slopes.change_more)
            return dict.fromkeys(slots, none) | {kernels.find_rate: kernels.no_rate}
        numbers: dict[str, Sequence[Derived]] = {"angle": self.angles, "field": self.fields}
        places = {"angle": "angle", "field": "x, y, z"}
        filled: dict[Slot, Filling] = {
            getattr(terms, f"{stem}_{quantity}"): self._choice(stem, quantity, numbers[stem], places[stem])
            for stem in numbers
            for quantity in ("energy", "slope", "rate")
        }
        return filled | {
            kernels.push_more: terms.push_terms,
            kernels.push_more_between: terms.push_terms_between,
            kernels.find_more_energies: terms.add_energies_of_terms,
            kernels.find_rate: terms.rate_of_terms if self.in_time else kernels.no_rate,
            slopes.change_more: terms.change_terms,
        }

    def _choice(self, stem: str, quantity: str, given: Sequence[Derived], place: str) -> Written:
        """One kernel for all, with a number that selects the one that acts; equal texts share their code."""
        name, uses = f"{stem}_{quantity}", []
        lines = [f"def {name}({place}, t, which, par):", "    at = par.particle_constants[which]"]
        if stem == "field":
            lines[1] = f"    at = par.particle_constants[{len(self.angles)} + which]"
        texts: dict[str, list[int]] = {}
        for number, one in enumerate(given):
            texts.setdefault(one.kernel(quantity).text.replace("theta", "angle").replace("phi", "angle"), []).append(
                number
            )
        for k, members in enumerate(texts.values()):
            uses.append((f"part{k}", given[members[0]].kernel(quantity)))
            chosen = " or ".join(f"which == {number}" for number in members)
            call = f"return part{k}({place}, t, at, par)"
            lines += [f"    {call}"] if k + 1 == len(texts) else [f"    if {chosen}:", f"        {call}"]
        if not given:
            lines.append("    return 0.0, 0.0, 0.0" if name == "field_slope" else "    return 0.0")
        return Written(name, "\n".join(lines), __name__, tuple(uses))

    def arrays(self, types: Types) -> dict[str, Numbers]:
        """The parameters of the kernels."""
        table = np.full((len(self.angles), Term.WIDTH), -1, dtype=np.int64)
        for k, one in enumerate(self.angles):
            table[k, Term.KIND], table[k, Term.POTENTIAL] = terms.BEND if len(one.atoms) == 3 else terms.TWIST, k
            table[k, Term.FIRST : Term.FIRST + len(one.atoms)] = one.atoms
        acts = [[int(one.types is None or kind in one.types) for one in self.fields] for kind in types]
        constants = [one.constants for one in (*self.angles, *self.fields)]
        return {
            "particle_term": table,
            "particle_field": np.array(acts, dtype=np.int64).reshape(len(types), len(self.fields)),
            "particle_constant": np.array([value for own in constants for value in own] or [0.0]),
            "particle_constants": np.cumsum([0, *map(len, constants)], dtype=np.int64),
        }

    def forces(self, places: Array, types: Types, time: float) -> Array:
        """(particles, 3): force on each; the kernels run as plain Python, which is fast enough for one state."""
        made = np.zeros((len(types), 3))
        for field in self.fields:
            slope, par = interpret(field.kernel("slope")), SimpleNamespace(particle_constant=field.constants)
            for a, kind in enumerate(types):
                if field.types is None or kind in field.types:
                    made[a] -= slope(*places[a].tolist(), time, 0, par)
        for one in self.angles:
            par = SimpleNamespace(particle_constant=one.constants)
            x = [places[a] for a in one.atoms]
            if len(x) == 3:
                u, v = x[0] - x[1], x[2] - x[1]
                angle, gradients = np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v), terms.bend_gradient(u, v)
            else:
                angle, gradients = dihedral(*x), terms.twist_gradient(x[0] - x[1], x[1] - x[2], x[3] - x[2])
            slope = interpret(one.kernel("slope"))(float(angle), time, 0, par)
            for a, gradient in zip(one.atoms, gradients, strict=False):
                made[a] -= slope * np.array(gradient)
        return made


def dihedral(a: Array, b: Array, c: Array, d: Array) -> float:
    """The dihedral angle of four points in (-pi, pi], 0 where a and d are eclipsed, positive clockwise along b to c (IUPAC)."""
    along = c - b
    n, m = np.cross(b - a, along), np.cross(along, d - c)
    return float(np.arctan2(np.linalg.norm(along) * ((b - a) @ m), n @ m))
