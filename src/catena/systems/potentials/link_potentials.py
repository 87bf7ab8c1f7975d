"""Link potentials: V(d, Q) of two neighbours, by relative position d = R_a^T (r_b - r_a) and rotation Q = R_a^T R_b.

With f = -dV/dd and c = -dV/dtheta for Q -> Q exp(hat theta), that is c = -rot(Q^T V_Q), rot(M) = (M32 - M23, M13 - M31,
M21 - M12): the right body feels the force R_a f and, in its own axes, the torque c; the left one the force -R_a f and,
in its own axes, the torque -Q c - d x f. Total force and torque vanish.
"""

from __future__ import annotations

import dataclasses
import json
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...errors import InputError
from ...expressions import jacobian, parse, to_sympy, write_lines
from ...geometry.rotations import to_matrix
from ...kernels.marks import Kernel, Written
from ...text.plain import Json
from ..derivation import Constants
from ..numbers import finite_numbers
from ..sampled import GivenInTime, InTime, components, describe_in_time
from . import link_kernels
from .named_constants import FromText, constants_text
from .pair_potentials import PairTable, Pairwise
from .pairwise import OfParameters, Summed, interpret, register, require_numbers

LinkKernel = Literal["link_energy", "link_force"]

POSITION = ("d1", "d2", "d3")
ROTATION = ("Q11", "Q12", "Q13", "Q21", "Q22", "Q23", "Q31", "Q32", "Q33")
ARGUMENTS = ", ".join([*POSITION, *(name.lower() for name in ROTATION)])


class Linkwise(OfParameters):
    """Base class of the link potentials: frozen dataclasses that add with +, also to pair potentials."""

    @abstractmethod
    def part(self, name: LinkKernel) -> Kernel:
        """`kernel` with one more argument before par: the index of the first constant in par.link."""

    @property
    def torn_distance(self) -> float:
        """Distance of the centres of mass beyond which the link is torn; inf if it never is."""
        return math.inf

    @property
    def links(self) -> int | None:
        """Number of consecutive links for which it has constants; None: the same ones for any link."""
        return None

    def of_link(self, link: int) -> Linkwise:
        """The potential of one link."""
        return self

    @property
    def resting_pose(self) -> tuple[Array, Array] | None:
        """d (3,) and Q (3, 3) at rest, or (links, 3) and (links, 3, 3); None if they are not known."""
        return None

    @property
    def table(self) -> Array:
        """The constants, one row for each link: (1, width), or (links, width)."""
        return np.array([self.constants], dtype=float)

    @property
    def values(self) -> Array:
        """The constants, for par.link; never empty."""
        return self.table.ravel() if self.table.size else np.zeros(1)

    def kernel(self, name: LinkKernel) -> Written:
        """link_energy(d1, .., q11, .., q33, par) -> V; link_force(...) -> (f1, f2, f3, c1, c2, c3)."""
        text = f"def {name}({ARGUMENTS}, par):\n    return part({ARGUMENTS}, 0, par)"
        return Written(name, text, __name__, (("part", self.part(name)),))

    def energy(self, d: ArrayLike, rotation: ArrayLike) -> float:
        """V for d (3,) and the rotation matrix Q (3, 3); nan if it is undefined."""
        return float(self._at("link_energy", d, rotation)[0])

    def force(self, d: ArrayLike, rotation: ArrayLike) -> Array:
        """f and c, six numbers, for d (3,) and the rotation matrix Q (3, 3); nan if V is undefined."""
        return self._at("link_force", d, rotation)

    def _at(self, name: LinkKernel, d: ArrayLike, rotation: ArrayLike) -> Array:
        position, matrix = np.asarray(d, dtype=float), np.asarray(rotation, dtype=float)
        if position.shape != (3,) or matrix.shape != (3, 3):
            raise InputError(
                f"d of shape {position.shape}, rotation of shape {matrix.shape}", where=type(self).__name__,
                do="give a vector (3,) and a rotation matrix (3, 3)",
            )  # fmt: skip
        try:
            result = interpret(self.kernel(name))(
                *position.tolist(), *matrix.ravel().tolist(), SimpleNamespace(link=self._one_row().tolist())
            )
        except (ZeroDivisionError, ValueError, OverflowError):
            result = math.nan if name == "link_energy" else (math.nan,) * 6
        return np.atleast_1d(np.array(result))

    def energies(self, d: Array, rotation: Array) -> Array:
        """`energy` at many places: (n,) for d (n, 3) and Q (n, 3, 3); functions may differ from it in the last place."""
        found = self._at_once("link_energy", d, rotation)
        if found is None:
            return np.array([self.energy(*one) for one in zip(d, rotation, strict=True)])
        return np.where(np.isfinite(found[0]), found[0], np.nan)

    def forces(self, d: Array, rotation: Array) -> Array:
        """`force` at many places: (n, 6) for d (n, 3) and Q (n, 3, 3); functions may differ from it in the last place."""
        found = self._at_once("link_force", d, rotation)
        if found is None:
            return np.array([self.force(*one) for one in zip(d, rotation, strict=True)]).reshape(-1, 6)
        forces = np.stack(found, axis=1)
        forces[~np.isfinite(forces).all(axis=1)] = np.nan
        return forces

    def _at_once(self, name: LinkKernel, d: Array, rotation: Array) -> list[Array] | None:
        kernel, par = interpret(self.kernel(name), np), SimpleNamespace(link=self._one_row().tolist())
        try:
            with np.errstate(all="ignore"):
                found = kernel(*d.T, *rotation.reshape(-1, 9).T, par)
        except (TypeError, ValueError):  # branches take only one number
            return None
        return [np.broadcast_to(part, len(d)) for part in (found if isinstance(found, tuple) else (found,))]

    def _one_row(self) -> Array:
        require_numbers(self)
        if self.links is not None:
            raise InputError(
                f"this {type(self).__name__} is one for each of {self.links} links", where=type(self).__name__,
                do="ask that of one of them: of_link(j)",
            )  # fmt: skip
        return self.table[0]

    def describe(self) -> dict[str, Json]:
        """The description in a case: JSON from which `potential_from` makes the same potential."""
        fields = dataclasses.fields(self)
        values = {field.name: getattr(self, field.name) for field in fields}
        plain = {
            name: [*map(describe_in_time, v)] if isinstance(v, tuple) else describe_in_time(v)
            for name, v in values.items()
        }
        return {"kind": type(self).__name__} | plain

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> Potential:
        """The potential from the JSON of `describe`, without its kind."""
        return cls(**arguments)

    @overload
    def __add__(self, other: Linkwise) -> LinkSum: ...

    @overload
    def __add__(self, other: Pairwise | PairTable) -> MixedPotential: ...

    def __add__(self, other: Linkwise | Pairwise | PairTable) -> LinkSum | MixedPotential:
        if isinstance(other, Linkwise):
            return LinkSum((self, other))
        return MixedPotential(other, self) if isinstance(other, (Pairwise, PairTable)) else NotImplemented

    def __radd__(self, other: Pairwise | PairTable) -> MixedPotential:
        return MixedPotential(other, self) if isinstance(other, (Pairwise, PairTable)) else NotImplemented


@register
@dataclass(frozen=True)
class LinkPotential(FromText, Linkwise):
    """V as text, or as a sympy expression, in d1 d2 d3, Q11 .. Q33 and named parameters; forces are derived.

    Parameters
    ----------
    text : for example "k*(d1**2 + d2**2 + (d3 - 1)**2)/2 + b*(1 - Q33)"
    parameters : name -> value; also a text in t, or a table `Sampled(times, values)`. The text itself may contain t

    Examples
    --------
    >>> hinge = LinkPotential("k*d3**2/2 + b*(1 - Q33)", {"k": 4.0, "b": 1.0})
    >>> hinge.force([0.0, 0.0, 0.5], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]).tolist()
    [0.0, 0.0, -2.0, -1.0, 0.0, 0.0]
    """

    text: str
    parameters: Mapping[str, InTime] = field(default_factory=dict, hash=False)
    _constants: tuple[float, ...] = field(init=False, repr=False, compare=False)
    timed = ("parameters",)

    def __post_init__(self) -> None:
        missing = "depends on neither position nor rotation"
        self._check([*POSITION, *ROTATION], missing, do="write V as text in d1 d2 d3 and Q11 .. Q33")

    def part(self, name: LinkKernel) -> Written:
        return self._write(f"derived_{name}", name)

    def _derive(self) -> str:
        import sympy

        variables = [sympy.Symbol(name, real=True) for name in (*POSITION, *ROTATION)]
        constants = Constants(set(variables))
        v = constants.hoisted(to_sympy(parse(self.text, [*POSITION, *ROTATION, *self.parameters])))
        slopes = jacobian([v], [*POSITION, *ROTATION])[0]
        m = sympy.Matrix(3, 3, variables[3:]).T * sympy.Matrix(3, 3, slopes[3:])
        torque = [m[1, 2] - m[2, 1], m[2, 0] - m[0, 2], m[0, 1] - m[1, 0]]
        places = [*self.parameters, *(symbol.name for symbol in constants.symbols)]
        load = {name: name.lower() for name in (*POSITION, *ROTATION)}
        load |= {name: f"par.link[at + {k}]" for k, name in enumerate(places)}

        def function(name: str, outputs: Sequence[sympy.Expr]) -> str:
            targets = [f"out{k}" for k in range(len(outputs))]
            lines = write_lines(list(zip(targets, outputs, strict=True)), load)
            result = targets[0] if len(targets) == 1 else f"({', '.join(targets)})"
            body = [f"    {line}" for line in [*lines, f"return {result}"]]
            return "\n".join([f"def derived_{name}({ARGUMENTS}, at, par):", *body])

        return json.dumps(
            {
                "link_energy": function("link_energy", [v]),
                "link_force": function("link_force", [*(-slope for slope in slopes[:3]), *torque]),
                "constants": constants_text(constants.expressions, self.parameters),
            }
        )


@register
@dataclass(frozen=True)
class BendTwist(Linkwise):
    """V = stretch/2 |d - d0|^2 + 2 (bend (w1^2 + w2^2) + twist w3^2), w the vector part of q0^-1 q.

    For small angles this is the quadratic energy of a rod along the third axis. In T = R(q0)^T Q, with w1^2 + w2^2 =
    (1 - T33)/2 and w3^2 = (1 + T33 - T11 - T22)/4, it is a polynomial: smooth everywhere, whatever the sign of q.

    Parameters
    ----------
    stretch, bend, twist : stiffnesses: numbers, texts in t, or tables `Sampled(times, values)`
    d0 : relative position at rest, in the same forms
    q0 : relative orientation at rest (quaternion of any norm, scalar first)

    Examples
    --------
    >>> rod = BendTwist(100.0, 2.0, 1.0, (0, 0, 1))
    >>> rod.energy([0, 0, 1.5], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # stretched, and bent by a right angle
    14.5
    """

    stretch: float
    bend: float
    twist: float
    d0: Sequence[float]
    q0: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    timed = ("stretch", "bend", "twist", "d0")

    if TYPE_CHECKING:

        def __init__(
            self,
            stretch: GivenInTime,
            bend: GivenInTime,
            twist: GivenInTime,
            d0: Sequence[GivenInTime] | Array,
            q0: Sequence[float] | Array = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._take("stretch", "bend", "twist", least=0.0)
        object.__setattr__(self, "d0", components(self.d0, 3, "BendTwist.d0"))
        numbers = finite_numbers(self.q0, (4,), where="BendTwist.q0")
        object.__setattr__(self, "q0", tuple(numbers.tolist()))
        if not any(self.q0):
            raise InputError("q0 = 0", where="BendTwist.q0", do="give a quaternion other than zero")

    @cached_property
    def constants(self) -> tuple[float, ...]:
        """k, d0, and rest and W with V = ... + rest - sum_ik W_ik Q_ik."""
        weights = np.array([0.5 * self.twist, 0.5 * self.twist, self.bend - 0.5 * self.twist])
        turned = to_matrix(self.q0) * weights
        return (self.stretch, *self.d0, self.bend + 0.5 * self.twist, *turned.ravel().tolist())

    @property
    def resting_pose(self) -> tuple[Array, Array]:
        return np.array(self.d0), to_matrix(self.q0)

    def part(self, name: LinkKernel) -> Kernel:
        return {"link_energy": link_kernels.bend_twist_energy, "link_force": link_kernels.bend_twist_force}[name]


@register
@dataclass(frozen=True)
class GayBerne(Linkwise):
    """Uniaxial bodies with axis u = R e3: a Lennard-Jones well whose range and depth depend on the orientations.

    n = d/|d|, a = n.u_a, b = n.u_b, c = u_a.u_b, S(x) = 2 (a^2 + b^2 - 2 x a b c)/(1 - x^2 c^2);
    range s = sigma (1 - chi S(chi)/2)^(-1/2), depth e = epsilon (1 - chi^2 c^2)^(-nu/2) (1 - chi' S(chi')/2)^mu,
    V = 4 e (rho^-12 - rho^-6), rho = (r - s + sigma)/sigma [Gay & Berne 1981].

    Parameters
    ----------
    epsilon, sigma : depth and range for bodies side by side, except for the factor with nu. All parameters are numbers, texts in
        t, or tables
    kappa : ratio of length to breadth, chi = (kappa^2 - 1)/(kappa^2 + 1)
    kappa_prime : ratio of the depth side by side to that end to end, chi' = (kappa'^(1/mu) - 1)/(kappa'^(1/mu) + 1)
    mu, nu : exponents

    Examples
    --------
    >>> rods = GayBerne(1.0, 1.0, 3.0, 5.0, 2.0, 1.0)
    >>> end_to_end = rods.energy([0, 0, 2.0 + 2.0**(1/6)], np.eye(3))
    >>> side_by_side = rods.energy([2.0**(1/6), 0, 0], np.eye(3))
    >>> round(side_by_side / end_to_end, 12)
    5.0
    """

    epsilon: float
    sigma: float
    kappa: float
    kappa_prime: float
    mu: float
    nu: float
    timed = ("epsilon", "sigma", "kappa", "kappa_prime", "mu", "nu")

    if TYPE_CHECKING:

        def __init__(
            self,
            epsilon: GivenInTime,
            sigma: GivenInTime,
            kappa: GivenInTime,
            kappa_prime: GivenInTime,
            mu: GivenInTime,
            nu: GivenInTime,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._take("epsilon", "sigma", "kappa", "kappa_prime", "mu", above=0.0)
        self._take("nu")

    @property
    def constants(self) -> tuple[float, ...]:
        square = self.kappa * self.kappa
        scaled = self.kappa_prime ** (1.0 / self.mu)
        chi, chi_prime = (square - 1.0) / (square + 1.0), (scaled - 1.0) / (scaled + 1.0)
        return 4.0 * self.epsilon, self.sigma, chi, chi_prime, self.mu, 0.5 * self.nu

    @property
    def torn_distance(self) -> float:
        """Distance with rho > 4 in any orientation, as for Lennard-Jones: 3 sigma beyond the longest range."""
        return (max(self.kappa, 1.0) + 3.0) * self.sigma

    def part(self, name: LinkKernel) -> Kernel:
        return {"link_energy": link_kernels.gay_berne_energy, "link_force": link_kernels.gay_berne_force}[name]


@dataclass(frozen=True)
class LinkSum(Summed, Linkwise):
    """The sum of link potentials, made by +."""

    terms: tuple[Linkwise, ...]

    def __post_init__(self) -> None:
        nested = [term.terms if isinstance(term, LinkSum) else (term,) for term in self.terms]
        object.__setattr__(self, "terms", tuple(term for terms in nested for term in terms))
        counts = sorted({term.links for term in self.terms if term.links is not None})
        if len(counts) > 1:
            raise InputError(
                f"potentials for {' and for '.join(map(str, counts))} links do not add", where="potential",
                do="give all of them as many links",
            )  # fmt: skip

    @property
    def links(self) -> int | None:
        return next((term.links for term in self.terms if term.links is not None), None)

    def of_link(self, link: int) -> Linkwise:
        return LinkSum(tuple(term.of_link(link) for term in self.terms))

    @property
    def table(self) -> Array:
        tables = [term.table for term in self.terms]
        return np.hstack([np.broadcast_to(one, (self.links or 1, one.shape[1])) for one in tables])

    @property
    def torn_distance(self) -> float:
        return max(term.torn_distance for term in self.terms)

    def part(self, name: LinkKernel) -> Written:
        lines, uses, width = [f"def sum_{name}({ARGUMENTS}, at, par):"], [], 0
        for number, term in enumerate(self.terms):
            uses.append((f"term{number}", term.part(name)))
            lines.append(f"    v{number} = term{number}({ARGUMENTS}, at + {width}, par)")
            width += term.table.shape[1]
        found = [f"v{number}" for number in range(len(self.terms))]
        sums = [" + ".join(f"{v}[{k}]" for v in found) for k in range(6)]
        result = " + ".join(found) if name == "link_energy" else f"({', '.join(sums)})"
        return Written(f"sum_{name}", "\n".join([*lines, f"    return {result}"]), __name__, tuple(uses))


@dataclass(frozen=True)
class MixedPotential:
    """Pair potentials between particles plus a link potential between bodies, made by +.

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import LennardJones
    >>> both = LennardJones(1.0, 1.0) + BendTwist(100.0, 2.0, 1.0, (0, 0, 1))
    >>> both.pairs
    LennardJones(epsilon=1.0, sigma=1.0)
    """

    pairs: Pairwise | PairTable
    links: Linkwise

    @property
    def smoothness(self) -> float:
        """That of the less smooth of the two."""
        return min(self.pairs.smoothness, self.links.smoothness)

    def __add__(self, other: Potential) -> MixedPotential:
        if isinstance(other, Linkwise):
            return MixedPotential(self.pairs, self.links + other)
        if isinstance(other, (Pairwise, PairTable)):
            return MixedPotential(self.pairs + other, self.links)
        if isinstance(other, MixedPotential):
            return MixedPotential(self.pairs + other.pairs, self.links + other.links)
        return NotImplemented

    def __radd__(self, other: Linkwise | Pairwise | PairTable) -> MixedPotential:
        if isinstance(other, Linkwise):
            return MixedPotential(self.pairs, other + self.links)
        if isinstance(other, (Pairwise, PairTable)):
            return MixedPotential(other + self.pairs, self.links)
        return NotImplemented

    def describe(self) -> dict[str, Json]:
        """The description in a case."""
        return {"kind": "PotentialSum", "terms": [self.pairs.describe(), self.links.describe()]}


Potential: TypeAlias = Pairwise | PairTable | Linkwise | MixedPotential
