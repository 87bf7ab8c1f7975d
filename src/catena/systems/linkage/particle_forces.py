"""Potentials of the particles of linked bodies: fields in space, angles between three of them, dihedral angles of four."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...kernels.marks import Written
from ..potentials.pairwise import interpret, value_or_nan
from .declared import is_number, unless_none
from .joint_forces import FORCES, FromText, OnParticles

JUMP = 1e-9  # relative: what a potential may differ by after a full turn
ANGLES = (-math.pi, math.pi, 0.5, -2.0)  # at which it is asked: where the turn ends, and others that tell its size


class Derived(FromText, OnParticles):
    """Base of the potentials of particles."""

    array = "par.particle_constant"

    def kernel(self, quantity: str) -> Written:
        """Kernel (variables, t, at, par): "energy", "slope" (a tuple, one for each variable) or "rate", the derivative by t."""
        return self.written(f"{self.stem}_{quantity}")


def _types(given: object, where: str) -> tuple[int | str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise InputError(f"types = {given!r}", where=where, do='give a list of types, as ["C", "H"]')
    return tuple(given)


@FORCES.register
@dataclass(frozen=True)
class External(Derived):
    """A potential of the position of particles in space, which may depend on time; it acts on each particle separately.

    Parameters
    ----------
    potential : text in x, y, z, t and the parameters, for example "k*(x**2 + y**2)/2 - F*z*sin(t)"
    types : types of the particles on which it acts; None: all
    parameters : name -> value

    Examples
    --------
    >>> import catena as ct
    >>> ct.External("q*E*x", types=["Na"], parameters={"q": 1.0, "E": 0.2}).constants
    (0.2, 1.0)
    """

    potential: str = "0"
    types: Sequence[int | str] | None = field(default=None, metadata=unless_none(_types))
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    variables = ("x", "y", "z")
    arguments = "x, y, z, t, at, par"
    stem = "field"


@dataclass(frozen=True)
class OfParticles(Derived):
    """A potential of an angle that some particles make."""

    atoms: Sequence[int] = ()
    potential: str = "0"
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    count: ClassVar[int]
    stem = "angle"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.atoms
        listed = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else []
        whole = [int(atom) for atom in listed if is_number(atom, 0)]
        if len(whole) != self.count or len(listed) != self.count or len(set(whole)) < self.count:
            do = f"give the numbers of {self.count} different particles, as linkage.particles(state) counts them"
            raise InputError(f"atoms = {given!r}", where=f"{type(self).__name__}.atoms", do=do)
        object.__setattr__(self, "atoms", tuple(whole))


@FORCES.register
@dataclass(frozen=True)
class Angle(OfParticles):
    """A potential of the angle theta, from 0 to pi, at the second of three particles.

    Parameters
    ----------
    atoms : numbers of three particles, as `linkage.particles(state)` counts them
    potential : text in theta, t and the parameters, for example "k*(theta - 1.9)**2/2"
    parameters : name -> value
    """

    count = 3
    variables = ("theta",)
    arguments = "theta, t, at, par"


@FORCES.register
@dataclass(frozen=True)
class Dihedral(OfParticles):
    """A potential of the dihedral angle phi of four particles, in (-pi, pi]: 0 where the first and the last are eclipsed (cis).

    Looking along the bond from the second to the third, phi is positive if the last is turned clockwise from the first (IUPAC).

    Parameters
    ----------
    atoms : numbers of four particles, as `linkage.particles(state)` counts them
    potential : text in phi, t and the parameters, with the period 2 pi, for example "k*(1 + cos(3*phi))"
    parameters : name -> value
    """

    count = 4
    variables = ("phi",)
    arguments = "phi, t, at, par"

    def __post_init__(self) -> None:
        super().__post_init__()
        par = SimpleNamespace(particle_constant=self.constants)
        for quantity, what in (("energy", ""), ("slope", "the slope of ")):
            low, high, *others = (value_or_nan(interpret(self.kernel(quantity)), phi, 0.0, 0, par) for phi in ANGLES)
            size = max(map(abs, (low, high, *others)))
            if math.isfinite(low) and math.isfinite(high) and abs(high - low) > JUMP * size:
                wrong = f"{what}{self.potential!r} jumps where phi passes pi: from {high:g} to {low:g}"
                do = "give a potential with the period 2 pi, as k*(1 - cos(phi - phi0))"
                raise InputError(wrong, where="Dihedral.potential", do=do)
