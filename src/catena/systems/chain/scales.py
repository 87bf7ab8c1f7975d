"""Units of a chain: its natural length, mass and time, and the same chain in dimensionless form.

r = L r', X = L X', m = M m', t = tau t'. Then p = (M L/tau) p', y = (M L^2/tau) y', V = (M L^2/tau^2) V', and the equations keep
their form. For Lennard-Jones L = sigma, M = m, tau = sigma sqrt(m/epsilon) leave sigma' = epsilon' = m' = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from ...errors import CapabilityError, InputError
from ...expressions import parse, to_sympy
from ..base import State
from ..body import Body
from ..potentials.elastic import Elastic
from ..potentials.link_potentials import (
    POSITION,
    ROTATION,
    BendTwist,
    GayBerne,
    LinkPotential,
    LinkSum,
    Linkwise,
    MixedPotential,
    Potential,
)
from ..potentials.pair_potentials import WCA, Harmonic, LennardJones, Morse, PairPotential, PairTable, Switched, Yukawa
from ..potentials.pairwise import Pairwise, PotentialSum, check
from ..sampled import InTime
from ..states import as_state
from .ends import Displaced, End, Force

if TYPE_CHECKING:
    import sympy

    from .chain import Chain


@dataclass(frozen=True)
class Scales:
    """Units in which a chain is dimensionless.

    Attributes
    ----------
    length, mass, time : the units L, M, tau
    chain : the chain in these units
    """

    length: float
    mass: float
    time: float
    chain: Chain

    @property
    def momentum(self) -> float:
        """M L/tau."""
        return self.mass * self.length / self.time

    @property
    def angular_momentum(self) -> float:
        """M L^2/tau."""
        return self.momentum * self.length

    @property
    def energy(self) -> float:
        """M L^2/tau^2."""
        return self.angular_momentum / self.time

    @property
    def force(self) -> float:
        """M L/tau^2."""
        return self.momentum / self.time

    def nondimensional(self, state: State) -> State:
        """A state of the original chain as a state of `chain`."""
        state = as_state(self.chain, state, "nondimensional.state")
        return State(
            {name: array / unit for (name, array), unit in zip(state.fields.items(), self._units, strict=True)},
            state.time / self.time,
        )

    def dimensional(self, state: State) -> State:
        """A state of `chain` as a state of the original one."""
        state = as_state(self.chain, state, "dimensional.state")
        return State(
            {name: array * unit for (name, array), unit in zip(state.fields.items(), self._units, strict=True)},
            state.time * self.time,
        )

    @property
    def _units(self) -> tuple[float, float, float, float]:
        """Units of position, orientation, momentum and angular momentum."""
        return self.length, 1.0, self.momentum, self.angular_momentum


def scales_of(chain: Chain, length: float | None, mass: float | None, time: float | None) -> Scales:
    """The given units, the others natural: those of the first potential and of the first body."""
    own_length, own_energy = (
        natural_units(chain.potentials[0]) if length is None or time is None else (math.nan, math.nan)
    )
    L = check(own_length if length is None else length, "scales.length", above=0.0)
    M = check(mass if mass is not None else chain.bodies[0].mass, "scales.mass", above=0.0)
    if time is None:
        time = L * math.sqrt(M / own_energy)
    tau = check(time, "scales.time", above=0.0)
    energy = M * (L / tau) ** 2
    bodies = {body: _body(body, L, M) for body in dict.fromkeys(chain.bodies)}
    potentials = {potential: in_units(potential, L, energy) for potential in dict.fromkeys(chain.potentials)}
    scaled = [potentials[potential] for potential in chain.potentials]
    ends = {} if chain.closed else {side: _end(getattr(chain, side), L, energy / L) for side in ("left", "right")}
    if chain.drives or chain.loads:
        raise CapabilityError(
            f"{(*chain.drives.names, 'loads')[0]} has units of its own",
            where="scales",
            do="take it away, and scale it by hand",
        )
    plain = type(chain)(
        [bodies[body] for body in chain.bodies],
        scaled[0] if len(potentials) == 1 else scaled,
        gravity=(chain.gravity * (tau * tau / L)).tolist(),
        form=chain.form,
        J0=chain.J0 / (M * L * L),
        closed=chain.closed,
        loads=(),
        pairs=_distant_in_units(chain.acting.pairs, L, energy),
        exclude=chain.exclude,
        **ends,
    )
    return Scales(L, M, tau, plain)


def _body(body: Body, length: float, mass: float) -> Body:
    if len(body.particles):
        return Body.from_particles(
            body.particles.positions / length, body.particles.masses / mass, types=body.particles.types
        )
    return Body.from_inertia(body.mass / mass, body.tensor / (mass * length * length))


def _end(end: End, length: float, force: float) -> End:
    if isinstance(end, Force):
        return Force(tuple(np.array(end.force) / force))
    if isinstance(end, Displaced) and end.position is not None:
        return Displaced(tuple(np.array(end.position) / length))
    return end


@singledispatch
def natural_units(potential: object) -> tuple[float, float]:
    """Natural length and energy of a potential: of its well, if it has one."""
    well, depth = 0.0, 0.0
    if isinstance(potential, Pairwise):
        well = potential.length
        depth = -float(potential.energy(well)) if well > 0.0 else 0.0
    if not depth > 0.0:
        raise InputError(
            f"{type(potential).__name__} suggests no length and energy", where="scales", do="give length= and time="
        )
    return well, depth


@natural_units.register(LennardJones)
@natural_units.register(WCA)
@natural_units.register(GayBerne)
def _(potential: LennardJones | WCA | GayBerne) -> tuple[float, float]:
    return potential.sigma, potential.epsilon


@natural_units.register
def _(potential: Harmonic) -> tuple[float, float]:
    return potential.r0, potential.k * potential.r0**2


@natural_units.register
def _(potential: Switched) -> tuple[float, float]:
    return natural_units(potential.potential)


@natural_units.register(PotentialSum)
@natural_units.register(LinkSum)
def _(potential: PotentialSum | LinkSum) -> tuple[float, float]:
    return natural_units(potential.terms[0])


@natural_units.register
def _(potential: PairTable) -> tuple[float, float]:
    return natural_units(potential.potentials[0] if potential.potentials else None)


@natural_units.register
def _(potential: MixedPotential) -> tuple[float, float]:
    return natural_units(potential.pairs)


@singledispatch
def in_units(potential: object, length: float, energy: float) -> Potential:
    """V'(x') = V(length x')/energy as a potential of the same kind."""
    raise InputError(f"{type(potential).__name__} cannot be scaled", where="scales", do="register it with `in_units`")


def _pairs_in_units(potential: Pairwise, length: float, energy: float) -> Pairwise:
    scaled = in_units(potential, length, energy)
    assert isinstance(scaled, Pairwise)
    return scaled


def _distant_in_units(pairs: Pairwise | PairTable | None, length: float, energy: float) -> Pairwise | PairTable | None:
    scaled = None if pairs is None else in_units(pairs, length, energy)
    assert scaled is None or isinstance(scaled, Pairwise | PairTable)
    return scaled


def _links_in_units(potential: Linkwise, length: float, energy: float) -> Linkwise:
    scaled = in_units(potential, length, energy)
    assert isinstance(scaled, Linkwise)
    return scaled


@in_units.register(LennardJones)
@in_units.register(WCA)
def _(potential: LennardJones | WCA, length: float, energy: float) -> LennardJones | WCA:
    return type(potential)(potential.epsilon / energy, potential.sigma / length)


@in_units.register
def _(potential: Morse, length: float, energy: float) -> Morse:
    return Morse(potential.depth / energy, potential.a * length, potential.r0 / length)


@in_units.register
def _(potential: Yukawa, length: float, energy: float) -> Yukawa:
    return Yukawa(potential.strength / (energy * length), potential.kappa * length)


@in_units.register
def _(potential: Harmonic, length: float, energy: float) -> Harmonic:
    return Harmonic(potential.k * length**2 / energy, potential.r0 / length)


@in_units.register
def _(potential: Switched, length: float, energy: float) -> Switched:
    inner = _pairs_in_units(potential.potential, length, energy)
    return Switched(inner, potential.r_on / length, potential.r_cut / length, potential.smoothness)


@in_units.register
def _(potential: PotentialSum, length: float, energy: float) -> PotentialSum:
    return PotentialSum(tuple(_pairs_in_units(term, length, energy) for term in potential.terms))


@in_units.register
def _(potential: LinkSum, length: float, energy: float) -> LinkSum:
    return LinkSum(tuple(_links_in_units(term, length, energy) for term in potential.terms))


@in_units.register
def _(potential: PairTable, length: float, energy: float) -> PairTable:
    return PairTable({types: one and _pairs_in_units(one, length, energy) for types, one in potential.pairs.items()})


@in_units.register
def _(potential: MixedPotential, length: float, energy: float) -> MixedPotential:
    pairs = in_units(potential.pairs, length, energy)
    assert isinstance(pairs, (Pairwise, PairTable))
    return MixedPotential(pairs, _links_in_units(potential.links, length, energy))


@in_units.register
def _(potential: BendTwist, length: float, energy: float) -> BendTwist:
    stretch, d0 = potential.stretch * length**2 / energy, tuple(x / length for x in potential.d0)
    return BendTwist(stretch, potential.bend / energy, potential.twist / energy, d0, potential.q0)


@in_units.register
def _(potential: Elastic, length: float, energy: float) -> Elastic:
    unit = np.array([1.0, 1.0, 1.0, length, length, length])
    turn, shift = map(np.asarray, potential.rest)
    stiffness = np.asarray(potential.stiffness) * unit[:, None] * unit / energy
    return Elastic(stiffness, (turn, shift / length), potential.coordinates, potential.frame)


@in_units.register
def _(potential: GayBerne, length: float, energy: float) -> GayBerne:
    shape = (potential.kappa, potential.kappa_prime, potential.mu, potential.nu)
    return GayBerne(potential.epsilon / energy, potential.sigma / length, *shape)


@in_units.register
def _(potential: PairPotential, length: float, energy: float) -> PairPotential:
    return PairPotential(*_scaled_text(potential, ("r",), ("r",), length, energy))


@in_units.register
def _(potential: LinkPotential, length: float, energy: float) -> LinkPotential:
    return LinkPotential(*_scaled_text(potential, (*POSITION, *ROTATION), POSITION, length, energy))


def _scaled_text(
    potential: PairPotential | LinkPotential,
    variables: tuple[str, ...],
    lengths: tuple[str, ...],
    length: float,
    energy: float,
) -> tuple[sympy.Expr, dict[str, InTime]]:
    """The expression with its lengths multiplied by a new parameter and itself divided by another."""
    units = []
    for unit in ("unit_length", "unit_energy"):
        while unit in potential.parameters:
            unit += "_"
        units.append(unit)
    names = [*variables, *potential.parameters, *units]
    expression = to_sympy(parse(potential.text, names))
    by_length, by_energy = (to_sympy(parse(unit, names)) for unit in units)
    symbols = [to_sympy(parse(name, names)) for name in lengths]
    scaled = expression.xreplace({symbol: by_length * symbol for symbol in symbols}) / by_energy
    return scaled, {**potential.parameters, units[0]: length, units[1]: energy}
