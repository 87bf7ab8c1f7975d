"""Forces on linked bodies: springs, dampers, potentials of a joint's angle, pair potentials between points, loads."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...disk_cache import remember
from ...errors import InputError
from ...expressions import Tree, jacobian, parse, to_sympy, write_lines
from ...expressions.values import first_undefined
from ...kernels.marks import Kernel, Written
from ...registry import Registry
from ..base import Array
from ..many_bodies import vector
from ..numbers import Vector
from ..potentials.named_constants import check_parameters
from ..potentials.pair_table import pair_potential_from
from ..potentials.pairwise import Pairwise, interpret, value_or_nan
from ..sampled import TIME, GivenInTime, InTime, components
from .declared import BODY_OR_GROUND, FROM_ZERO, POINTS, Declared, made_from, numbers_of, takes
from .layout import Scratch

if TYPE_CHECKING:
    import sympy

ORIGIN = (0.0, 0.0, 0.0)
IN_SPACE = takes(lambda given, where: components(given, 3, where))
AngleQuantity = Literal[
    "torsion_energy", "torsion_slope", "torsion_curvature", "torsion_rate", "motor_torque", "drag_torque"
]


class OnBodies(Declared, ABC):
    """Base of the forces, torques and loads on linked bodies."""

    @property
    def signals(self) -> tuple[InTime, ...]:
        """Functions of the time that its kernels find in par.signal."""
        return ()

    @property
    def in_time(self) -> bool:
        """Whether its energy depends on t besides."""
        return False

    @property
    def followed(self) -> InTime | None:
        """The function of the time that the coordinate of its joint follows, or is to follow."""
        return None


class OnParticles(OnBodies):
    """Base of what acts on particles of the bodies (`particle_forces`)."""


FORCES: Registry[type[OnBodies]] = Registry("force", group="catena.forces", home=f"{__package__}.force_kinds")


@dataclass(frozen=True)
class BetweenPoints(OnBodies):
    """A force along the line between a point of body i and a point of body j (-1: the ground).

    Parameters
    ----------
    i, j : numbers of two bodies; -1 is the ground
    at : the points, in the coordinates of body i and of body j
    """

    i: int = field(metadata=BODY_OR_GROUND)
    j: int = field(metadata=BODY_OR_GROUND)
    at: Sequence[Vector] | Array = field(default=(ORIGIN, ORIGIN), metadata=POINTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.i == self.j:
            raise InputError(f"i and j are both {self.i}", where=type(self).__name__, do="name two bodies")


@FORCES.register
@dataclass(frozen=True)
class Spring(BetweenPoints):
    """A spring of stiffness k and natural length: V = k/2 (distance - length)^2."""

    k: float = field(default=1.0, metadata=FROM_ZERO)
    length: float = field(default=0.0, metadata=FROM_ZERO)


@FORCES.register
@dataclass(frozen=True)
class Damper(BetweenPoints):
    """A damper: force -c times the rate of change of the distance, along the line between the points."""

    c: float = field(default=1.0, metadata=FROM_ZERO)


def _pair_potential(given: object, where: str) -> Pairwise:
    made = pair_potential_from(given) if isinstance(given, Mapping) else given
    if not isinstance(made, Pairwise):
        raise InputError(f"potential = {given!r}", where=where, do="give a pair potential such as Morse(...)")
    return made


class OfDistance(BetweenPoints):
    """Base of the forces with a potential of the distance between two points: a new one says which, as `pair`."""

    @property
    @abstractmethod
    def pair(self) -> Pairwise:
        """The potential."""


@FORCES.register
@dataclass(frozen=True)
class SitePair(OfDistance):
    """A pair potential V(r) between two points: `LennardJones`, `PairPotential("text in r")`, ..."""

    potential: Pairwise | Mapping[str, object] | None = field(default=None, metadata=takes(_pair_potential))

    @property
    def pair(self) -> Pairwise:
        """However it was given."""
        assert isinstance(self.potential, Pairwise)
        return self.potential


@dataclass(frozen=True)
class OnJoint(OnBodies):
    """Base of what acts on a joint.

    Parameters
    ----------
    joint : its number
    """

    joint: int = field(metadata=numbers_of("a joint"))


@dataclass(frozen=True)
class OnAngle(OnJoint):
    """Base of the forces on the angle of a joint: a potential V(theta), and damping in proportion to the rate.

    A new one gives `constants` and the kernels that read them; parameters change constants, never kernels.

    Parameters
    ----------
    joint : number of a joint with an angle (Revolute, Cylindrical, Planar or Screw), or of a Prismatic one: then its displacement stands for the angle,
        and a force along it for the torque (joint form only)
    """

    # for which it has kernels
    quantities: ClassVar[frozenset[AngleQuantity]] = frozenset({"torsion_energy", "torsion_slope", "torsion_curvature"})

    @property
    def damping(self) -> float:
        """Torque per angular velocity."""
        return 0.0

    @property
    def viscosity(self) -> float:
        """The same, for kernels: of forces that have a damping of another kind, none."""
        return self.damping

    @property
    def dissipates(self) -> bool:
        """Whether it depends on the rate of the angle."""
        return self.viscosity > 0.0 or "drag_torque" in self.quantities

    @property
    def controlled(self) -> bool:
        """Whether a controller sets its torque."""
        return False

    @property
    @abstractmethod
    def constants(self) -> tuple[float, ...]:
        """What the kernels read from par.torsion."""

    def torque_at(self, theta: float, rate: float, time: float) -> float:
        """The torque about the axis, on the child and against the parent, at an angle, an angular velocity and a time."""
        torque = -self.value("torsion_slope", theta, time) - self.viscosity * rate
        if "drag_torque" not in self.quantities:
            return torque
        return torque + float(interpret(self.kernel("drag_torque"))(theta, rate, 0, 0, self._par(time))[0])

    @abstractmethod
    def kernel(self, quantity: AngleQuantity) -> Kernel:
        """Kernel (theta, at, par): V, dV/dtheta or its second derivative; its constants stand in par.torsion from `at` on.

        Where V depends on t, which stands in par.scratch[Scratch.NOW], also dV/dt, "torsion_rate". Torques without a potential have a kernel
        (theta, rate, at, signal, par) for the torque and its derivatives by theta and by the rate: "motor_torque", or "drag_torque" if
        they only take energy out; their functions of the time stand in par.signal from `signal` on.
        """

    def value(self, quantity: AngleQuantity, theta: float, time: float = 0.0) -> float:
        """V or a derivative at an angle; nan where it is not defined."""
        return value_or_nan(interpret(self.kernel(quantity)), theta, 0, self._par(time))

    def _par(self, time: float) -> SimpleNamespace:
        """What the kernels read at a time."""
        scratch = np.zeros(Scratch.WIDTH)
        scratch[Scratch.NOW] = time
        return SimpleNamespace(torsion=self.constants, scratch=scratch)

    def undefined_at(self, theta: float, time: float) -> str:
        """Why V has no value at an angle and a time; empty if it has one."""
        finite = "torsion_energy" not in self.quantities or math.isfinite(self.value("torsion_energy", theta, time))
        return "" if finite else f"no finite energy at angle {theta:g}"


class FromText(OnBodies):
    """Base of the potentials given as text in some variables, t and named parameters, with what follows from it."""

    variables: ClassVar[tuple[str, ...]]
    stem: ClassVar[str]  # of the names of its kernels
    arguments: ClassVar[str]  # of its kernels
    array: ClassVar[str]  # where these find the parameters, from `at` on
    time: ClassVar[str] = TIME  # and the time
    potential: str
    parameters: Mapping[str, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        where = type(self).__name__
        parameters = check_parameters(self.parameters, (*self.variables, TIME), where)
        parse(self.potential, [*self.variables, TIME, *parameters], what=where)
        object.__setattr__(self, "parameters", parameters)

    @property
    def in_time(self) -> bool:
        return TIME in self._tree.names

    @property
    def _tree(self) -> Tree:
        return parse(self.potential, [*self.variables, TIME, *self.parameters])

    @property
    def constants(self) -> tuple[float, ...]:
        """What the kernels read."""
        return tuple(self.parameters.values())

    def undefined_at(self, *place: float) -> str:
        """Why there is no value at a place and time; empty if there is one."""
        values = dict(zip((*self.variables, TIME), place, strict=True)) | dict(self.parameters)
        return first_undefined(parse(self.potential, list(values)), values)

    def derivatives(self, energy: sympy.Expr) -> dict[str, list[sympy.Expr]]:
        """What the kernels return, by their names, for the energy that the text says: that, its slopes, and its rate."""
        *slopes, rate = jacobian([energy], [*self.variables, TIME])[0]
        return {f"{self.stem}_energy": [energy], f"{self.stem}_slope": slopes, f"{self.stem}_rate": [rate]}

    def written(self, name: str) -> Written:
        """The kernel of this name."""
        return Written(f"derived_{name}", self._texts[name], __name__)

    @cached_property
    def _texts(self) -> dict[str, str]:
        request = json.dumps([self.arguments, self.array, self.time, self.potential, list(self.parameters)])
        return json.loads(remember(request, self._derive))

    def _derive(self) -> str:
        energy = to_sympy(self._tree)
        load = {name: name for name in self.variables} | {TIME: self.time}
        load |= {name: f"{self.array}[at + {k}]" for k, name in enumerate(self.parameters)}
        texts = {}
        for name, results in self.derivatives(energy).items():
            outputs = [f"value{k}" for k in range(len(results))]
            lines = [*write_lines(list(zip(outputs, results, strict=True)), load), f"return {', '.join(outputs)}"]
            texts[name] = "\n".join([f"def derived_{name}({self.arguments}):", *(f"    {line}" for line in lines)])
        return json.dumps(texts)


@FORCES.register
@dataclass(frozen=True)
class Torsion(FromText, OnAngle):
    """A potential V(theta, t) of the angle of a joint, counted from where the joint's `image` puts zero (the start).

    Full turns count: V need not be periodic. `damping` adds the torque -damping * dtheta/dt. A change of V with t is work from
    outside, and counts as work of the loads.

    Parameters
    ----------
    joint : number of a joint with an angle, or of a slider, whose displacement then is theta (joint form)
    potential : text in theta, t and the parameters, for example "k*(1 - cos(3*theta - w*t))"
    parameters : name -> value
    damping : torque per angular velocity
    """

    potential: str = "0"
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    damping: float = field(default=0.0, metadata=FROM_ZERO)
    variables = ("theta",)
    stem = "torsion"
    arguments = "theta, at, par"
    array = "par.torsion"
    time = f"par.scratch[{Scratch.NOW}]"

    @property
    def quantities(self) -> frozenset[AngleQuantity]:  # type: ignore[override]
        return OnAngle.quantities | {"torsion_rate"} if self.in_time else OnAngle.quantities

    def kernel(self, quantity: AngleQuantity) -> Written:
        return self.written(quantity)

    def derivatives(self, energy: sympy.Expr) -> dict[str, list[sympy.Expr]]:
        made = super().derivatives(energy)
        return made | {"torsion_curvature": jacobian(made["torsion_slope"], ["theta"])[0]}


@FORCES.register
@dataclass(frozen=True)
class Load(OnBodies):
    """A force at a point of a body and a torque on it, constant in space or functions of time.

    Parameters
    ----------
    body : number of the body
    at : where the force acts, in the body's coordinates
    force, torque : in space, three components, each a number, a text in t such as "2*sin(3*t)", or `Sampled(times, values)`
    """

    body: int = field(metadata=numbers_of("a body; the ground carries no load"))
    at: Vector = field(default=ORIGIN, metadata=takes(lambda given, where: tuple(vector(given, where).tolist())))
    force: Sequence[GivenInTime] | Array = field(default=ORIGIN, metadata=IN_SPACE)
    torque: Sequence[GivenInTime] | Array = field(default=ORIGIN, metadata=IN_SPACE)

    @property
    def components(self) -> tuple[InTime, ...]:
        """All six, those of the force first."""
        return components((*self.force, *self.torque), 6, "Load")


@dataclass(frozen=True)
class Prescribed(OnJoint):
    """Base of what prescribes the coordinate of a joint, an angle or that of a slider: the first of its `signals`."""

    @property
    def followed(self) -> InTime | None:
        return self.signals[0]


JointForce = Spring | Damper | OfDistance | OnAngle | Load | OnParticles | Prescribed  # what kernels know how to treat


def force_from(given: object) -> JointForce:
    """The force itself, or the one that `describe` (or a case) wrote down."""
    made = made_from(given, OnBodies, FORCES, such_as="Spring(...), Load")
    if not isinstance(made, JointForce):
        do = "derive the class from OnAngle or OfDistance, which ask for a potential, or from Spring, Damper or Load"
        raise InputError(f"{made!r} says nothing of what it does", where="Linkage.forces", do=do)
    return made
