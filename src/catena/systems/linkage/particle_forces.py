"""Potentials of the particles of linked bodies: fields in space, angles between three of them, dihedral angles of four."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...disk_cache import remembered
from ...errors import InputError
from ...expressions import jacobian, parse, to_sympy, write_lines
from ...expressions.values import first_undefined
from ...kernels.marks import Written
from ..potentials.named_constants import checked_parameters
from .joint_forces import FORCES, OnParticles

TIME = "t"
JUMP = 1e-9  # relative: what a potential may differ by after a full turn


@dataclass(frozen=True)
class Derived(OnParticles):
    """A potential given as text, with what follows from it."""

    variables: ClassVar[tuple[str, ...]] = ()
    stem: ClassVar[str] = ""

    def _check_text(self, text: object, parameters: Mapping[str, float]) -> None:
        where = type(self).__name__
        if not isinstance(text, str):
            names = ", ".join(self.variables)
            raise InputError(
                f"{text!r}", where=f"{where}.potential", do=f"give text in {names}, {TIME} and the parameters"
            )
        checked = checked_parameters(parameters, (*self.variables, TIME), where)
        parse(text, [*self.variables, TIME, *checked], what=where)
        object.__setattr__(self, "parameters", checked)

    @property
    @abstractmethod
    def text(self) -> str:
        """The potential."""

    @property
    @abstractmethod
    def values(self) -> Mapping[str, float]:
        """The parameters."""

    @property
    def in_time(self) -> bool:
        """Whether it depends on the time."""
        return TIME in parse(self.text, [*self.variables, TIME, *self.values]).names

    @property
    def constants(self) -> tuple[float, ...]:
        """What the kernels read from par.particle_constant."""
        return tuple(self.values.values())

    def undefined_at(self, *place: float) -> str:
        """Why there is no value at a place and time; empty if there is one."""
        values = dict(zip((*self.variables, TIME), place, strict=True)) | dict(self.values)
        return first_undefined(parse(self.text, list(values)), values)

    def kernel(self, quantity: str) -> Written:
        """Kernel (variables, t, at, par): "energy", "slope" (a tuple, one for each variable) or "rate", the derivative by t."""
        return Written(f"derived_{self.stem}_{quantity}", self._texts[quantity], __name__)

    @cached_property
    def _texts(self) -> dict[str, str]:
        request = json.dumps(["particles", self.stem, self.text, list(self.values)])
        return json.loads(remembered(request, self._derive))

    def _derive(self) -> str:
        names = [*self.variables, TIME]
        v = to_sympy(parse(self.text, [*names, *self.values]))
        slopes = jacobian([v], names)[0]
        load = {name: name for name in names}
        load |= {name: f"par.particle_constant[at + {k}]" for k, name in enumerate(self.values)}

        def function(quantity: str, results: list[object]) -> str:
            lines = write_lines([(f"result{k}", one) for k, one in enumerate(results)], load)
            result = ", ".join(f"result{k}" for k in range(len(results)))
            head = f"def derived_{self.stem}_{quantity}({', '.join(names)}, at, par):"
            return "\n".join([head, *(f"    {line}" for line in lines), f"    return {result}"])

        return json.dumps(
            {
                "energy": function("energy", [v]),
                "slope": function("slope", slopes[:-1]),
                "rate": function("rate", slopes[-1:]),
            }
        )


@FORCES.register
@dataclass(frozen=True)
class External(Derived):
    """A potential of the place of particles in space, which may change in time; each particle feels it by itself.

    Parameters
    ----------
    potential : text in x, y, z, t and the parameters, for example "k*(x**2 + y**2)/2 - F*z*sin(t)"
    types : of the particles that feel it; None: all
    parameters : name -> value

    Examples
    --------
    >>> import catena as ct
    >>> ct.External("q*E*x", types=["Na"], parameters={"q": 1.0, "E": 0.2}).constants
    (0.2, 1.0)
    """

    potential: str = "0"
    types: Sequence[int | str] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    variables: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    stem: ClassVar[str] = "field"

    def __post_init__(self) -> None:
        self._check_text(self.potential, self.parameters)
        given = self.types
        if given is not None:
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise InputError(f"types = {given!r}", where="External.types", do='give a list of types, as ["C", "H"]')
            object.__setattr__(self, "types", tuple(given))

    @property
    def text(self) -> str:
        return self.potential

    @property
    def values(self) -> Mapping[str, float]:
        return self.parameters


@dataclass(frozen=True)
class OfParticles(Derived):
    """A potential of an angle that some particles make."""

    atoms: Sequence[int] = ()
    potential: str = "0"
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    count: ClassVar[int] = 0
    stem: ClassVar[str] = "angle"

    def __post_init__(self) -> None:
        self._check_text(self.potential, self.parameters)
        where, given = f"{type(self).__name__}.atoms", self.atoms
        listed = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else []
        whole = [int(a) for a in listed if isinstance(a, int | np.integer) and not isinstance(a, bool) and a >= 0]
        if len(whole) != self.count or len(listed) != self.count or len(set(whole)) < self.count:
            raise InputError(
                f"atoms = {given!r}", where=where,
                do=f"give the numbers of {self.count} different particles, as linkage.particles(state) counts them",
            )  # fmt: skip
        object.__setattr__(self, "atoms", tuple(whole))

    @property
    def text(self) -> str:
        return self.potential

    @property
    def values(self) -> Mapping[str, float]:
        return self.parameters


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

    count: ClassVar[int] = 3
    variables: ClassVar[tuple[str, ...]] = ("theta",)


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

    count: ClassVar[int] = 4
    variables: ClassVar[tuple[str, ...]] = ("phi",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for quantity, what in (("energy", ""), ("slope", "the slope of ")):
            low, high, *others = (self._value(quantity, angle) for angle in (-math.pi, math.pi, 0.5, -2.0))
            size = max(map(abs, (low, high, *others)))
            if math.isfinite(low) and math.isfinite(high) and abs(high - low) > JUMP * size:
                raise InputError(
                    f"{what}{self.potential!r} jumps where phi passes pi: from {high:g} to {low:g}", where="Dihedral.potential",
                    do="give a potential with the period 2 pi, as k*(1 - cos(phi - phi0))",
                )  # fmt: skip

    def _value(self, quantity: str, phi: float) -> float:
        from ..potentials.pairwise import interpreted

        namespace = type("par", (), {"particle_constant": self.constants})
        try:
            return float(interpreted(self.kernel(quantity))(phi, 0.0, 0, namespace))
        except (ZeroDivisionError, ValueError, OverflowError):
            return math.nan
