"""Forces on linked bodies: springs, dampers, potentials of a joint's angle, pair potentials between points, loads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from types import SimpleNamespace
from typing import ClassVar, Literal

import numpy as np

from ...disk_cache import remembered
from ...errors import InputError
from ...expressions import jacobian, parse, to_sympy, write_lines
from ...expressions.values import first_undefined
from ...kernels.marks import Kernel, Written
from ...registry import Registry
from ...text.plain import Json
from ..base import Array
from ..many_bodies import vector
from ..numbers import Vector
from ..potentials.named_constants import checked_parameters
from ..potentials.pair_table import pair_potential_from
from ..potentials.pairwise import Pairwise, checked, interpreted
from .joints import GROUND, from_description

ORIGIN = (0.0, 0.0, 0.0)
AngleQuantity = Literal["torsion_energy", "torsion_slope", "torsion_curvature"]


class OnBodies:
    """Base of the forces, torques and loads on linked bodies."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


class OnParticles(OnBodies):
    """Base of what acts on particles of the bodies (`particle_forces`)."""


FORCES: Registry[type[OnBodies]] = Registry("force", group="catena.forces", home=__name__)


@dataclass(frozen=True)
class BetweenPoints(OnBodies):
    """A force along the line between a point of body i and a point of body j (-1: the ground).

    Parameters
    ----------
    i, j : numbers of two bodies; -1 is the ground
    at : the points, in the coordinates of body i and of body j
    """

    i: int
    j: int
    at: Sequence[Vector] | Array = (ORIGIN, ORIGIN)

    def __post_init__(self) -> None:
        where = type(self).__name__
        for name in ("i", "j"):
            object.__setattr__(self, name, _body(getattr(self, name), f"{where}.{name}"))
        if self.i == self.j:
            raise InputError(f"i and j are both {self.i}", where=where, do="name two bodies")
        points = np.array([vector(point, f"{where}.at") for point in _pair(self.at, f"{where}.at")])
        object.__setattr__(self, "at", tuple(map(tuple, points.tolist())))


@FORCES.register
@dataclass(frozen=True)
class Spring(BetweenPoints):
    """A spring of stiffness k and natural length: V = k/2 (distance - length)^2."""

    k: float = 1.0
    length: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", checked(self.k, "Spring.k", least=0.0))
        object.__setattr__(self, "length", checked(self.length, "Spring.length", least=0.0))


@FORCES.register
@dataclass(frozen=True)
class Damper(BetweenPoints):
    """A damper: force -c times the rate of change of the distance, along the line between the points."""

    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", checked(self.c, "Damper.c", least=0.0))


class OfDistance(BetweenPoints):
    """Base of the forces with a potential of the distance between two points: a new one says which, as `pair`."""

    @property
    def pair(self) -> Pairwise:
        """The potential."""
        raise NotImplementedError


@FORCES.register
@dataclass(frozen=True)
class SitePair(OfDistance):
    """A pair potential V(r) between two points: `LennardJones`, `PairPotential("text in r")`, ..."""

    potential: Pairwise | Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        potential = self.potential
        made = pair_potential_from(potential) if isinstance(potential, Mapping) else potential
        if not isinstance(made, Pairwise):
            raise InputError(
                f"potential = {potential!r}", where="SitePair.potential", do="give a pair potential such as Morse(...)"
            )
        object.__setattr__(self, "potential", made)

    @property
    def pair(self) -> Pairwise:
        """However it was given."""
        assert isinstance(self.potential, Pairwise)
        return self.potential


@dataclass(frozen=True)
class OnAngle(OnBodies):
    """Base of the forces on the angle of a joint: a potential V(theta), and damping in proportion to the rate.

    A new one gives `constants` and the kernels that read them; parameters change constants, never kernels.

    Parameters
    ----------
    joint : number of a joint with an angle: Revolute, Cylindrical, Planar or Screw
    """

    joint: int

    def __post_init__(self) -> None:
        number = self.joint
        if isinstance(number, (bool, np.timedelta64)) or not isinstance(number, int | np.integer) or number < 0:
            where = f"{type(self).__name__}.joint"
            raise InputError(f"joint = {number!r}", where=where, do="give the number of a joint")

    @property
    def damping(self) -> float:
        """Torque per angular velocity."""
        return 0.0

    @property
    def constants(self) -> tuple[float, ...]:
        """What the kernels read from par.torsion."""
        raise NotImplementedError

    def kernel(self, quantity: AngleQuantity) -> Kernel:
        """Kernel (theta, at, par): V, dV/dtheta or its second derivative; its constants stand in par.torsion from `at` on."""
        raise NotImplementedError

    def value(self, quantity: AngleQuantity, theta: float) -> float:
        """V or a derivative at an angle; nan where it is not defined."""
        try:
            return float(interpreted(self.kernel(quantity))(theta, 0, SimpleNamespace(torsion=self.constants)))
        except (ZeroDivisionError, ValueError, OverflowError):
            return math.nan

    def undefined_at(self, theta: float) -> str:
        """Why V has no value at an angle; empty if it has one."""
        return "" if math.isfinite(self.value("torsion_energy", theta)) else f"no finite energy at angle {theta:g}"


@FORCES.register
@dataclass(frozen=True)
class Torsion(OnAngle):
    """A potential V(theta) of the angle of a joint, counted from where the joint's `image` puts zero (the start).

    Full turns count: V need not be periodic. `damping` adds the torque -damping * dtheta/dt.

    Parameters
    ----------
    joint : number of a joint with an angle
    potential : text in theta and the parameters, for example "k*(1 - cos(3*theta))"
    parameters : name -> value
    damping : torque per angular velocity
    """

    potential: str = "0"
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    damping: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters = checked_parameters(self.parameters, ("theta",), "Torsion")
        parse(self.potential, ["theta", *parameters], what="torsion")
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "damping", checked(self.damping, "Torsion.damping", least=0.0))

    @property
    def constants(self) -> tuple[float, ...]:
        return tuple(self.parameters.values())

    def undefined_at(self, theta: float) -> str:
        values = {"theta": theta, **self.parameters}
        return first_undefined(parse(self.potential, list(values)), values)

    def kernel(self, quantity: AngleQuantity) -> Written:
        return Written(f"derived_{quantity}", self._texts[quantity], __name__)

    @cached_property
    def _texts(self) -> dict[str, str]:
        request = json.dumps(["torsion", self.potential, list(self.parameters)])
        return json.loads(remembered(request, self._derive))

    def _derive(self) -> str:
        v = to_sympy(parse(self.potential, ["theta", *self.parameters]))
        slope = jacobian([v], ["theta"])[0][0]
        load = {"theta": "theta"} | {name: f"par.torsion[at + {k}]" for k, name in enumerate(self.parameters)}
        return json.dumps(
            {
                name: "\n".join(
                    [
                        f"def derived_{name}(theta, at, par):",
                        *(f"    {line}" for line in write_lines([("value", expression)], load)),
                        "    return value",
                    ]
                )
                for name, expression in (
                    ("torsion_energy", v),
                    ("torsion_slope", slope),
                    ("torsion_curvature", jacobian([slope], ["theta"])[0][0]),
                )
            }
        )


@FORCES.register
@dataclass(frozen=True)
class Load(OnBodies):
    """A force at a point of a body and a torque on it, constant in space or given as text in t.

    Parameters
    ----------
    body : number of the body
    at : where the force acts, in the body's coordinates
    force, torque : three numbers or texts in t, for example ("2*sin(3*t)", 0, 0), in space
    """

    body: int
    at: Vector = ORIGIN
    force: Sequence[float | str] | Array = ORIGIN
    torque: Sequence[float | str] | Array = ORIGIN

    def __post_init__(self) -> None:
        number = _body(self.body, "Load.body")
        if number == GROUND:
            raise InputError("the ground carries no load", where="Load.body", do="give the number of a body")
        object.__setattr__(self, "body", number)
        object.__setattr__(self, "at", tuple(vector(self.at, "Load.at").tolist()))
        for name in ("force", "torque"):
            object.__setattr__(self, name, _components(getattr(self, name), f"Load.{name}"))

    @property
    def texts(self) -> tuple[str, ...]:
        """The six components, force then torque, as text in t."""
        return tuple(c if isinstance(c, str) else repr(c) for c in (*self.force, *self.torque))


JointForce = Spring | Damper | OfDistance | OnAngle | Load | OnParticles  # what kernels know how to treat


def force_from(given: object) -> JointForce:
    """The force itself, or the one that `describe_force` (or a case) wrote down."""
    if isinstance(given, JointForce):
        return given
    if isinstance(given, OnBodies):
        raise InputError(
            f"{given!r} says nothing of what it does", where="Linkage.forces",
            do="derive the class from OnAngle or OfDistance, which ask for a potential, or from Spring, Damper or Load",
        )  # fmt: skip
    if not isinstance(given, Mapping):
        raise InputError(f"{given!r} is no force", where="Linkage.forces", do="give Spring(...), Load(...), ...")
    return from_description(given, FORCES)


def describe_force(force: JointForce) -> dict[str, Json]:
    """The force as a case writes it."""

    def plain(value: Pairwise | Json) -> Json:
        if isinstance(value, Pairwise):
            return value.describe()
        if isinstance(value, Mapping):
            return dict(value)
        return [plain(v) for v in value] if isinstance(value, tuple) else value

    return {"kind": type(force).__name__} | {f.name: plain(getattr(force, f.name)) for f in fields(force)}


def _body(number: object, where: str) -> int:
    if isinstance(number, (bool, np.timedelta64)) or not isinstance(number, int | np.integer) or number < GROUND:
        raise InputError(f"{number!r}", where=where, do="give the number of a body, or -1 for the ground")
    return int(number)


def _pair(at: Sequence[Vector] | Array, where: str) -> tuple[Vector, Vector]:
    try:
        first, second = at
    except (TypeError, ValueError):
        raise InputError(f"{at!r}", where=where, do="give two points, one on each body") from None
    return first, second


def _components(values: object, where: str) -> tuple[float | str, ...]:
    """Three numbers or texts in t."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or len(values) != 3:
        raise InputError(f"{values!r}", where=where, do='give three numbers or texts in t, as ("2*sin(t)", 0, 0)')
    made: list[float | str] = []
    for value in values:
        if isinstance(value, str):
            parse(value, ["t"], what=where)
            made.append(value)
        else:
            made.append(checked(value, where))
    return tuple(made)
