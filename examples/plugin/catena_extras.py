"""One of each: a method, a pair potential, a force on a joint and a system, as they stand in catena or in a package of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import CapabilityError
from catena.kernels import views
from catena.kernels.marks import Kernel, Numbers
from catena.kernels.summation import put_back, save
from catena.kernels.views import Flag, View, dimension, drift, force, kick
from catena.methods.base import Bounded, Exact, Method, Stepper, Traits
from catena.methods.base import register as register_method
from catena.systems.base import Array, Field, Invariant, State, System
from catena.systems.base import register as register_system
from catena.systems.linkage.declared import ABOVE_ZERO
from catena.systems.linkage.joint_forces import FORCES, AngleQuantity, OnAngle
from catena.systems.numbers import finite_number
from catena.systems.potentials.pairwise import Pairwise, Quantity, check
from catena.systems.potentials.pairwise import register as register_potential

# A method ---------------------------------------------------------------------------------------------------------

KICKS = (7 / 24, 3 / 4, -1 / 24)
DRIFTS = (2 / 3, -2 / 3, 1.0)


def ruth_step(z, e, dt, par, tab, work, carry):
    """Three kicks and drifts in turn: tab[0] kicks, tab[1] drifts. A failure leaves z and e as they were."""
    n = dimension(z)
    save(z, e, work)
    for i in range(3):
        force(z, par, work[2 * n :])
        status = kick(z, e, tab[0, i] * dt, par, work[2 * n :])
        if status == 0:
            status = drift(z, e, tab[1, i] * dt, par, work[3 * n :])
        if status != 0:
            put_back(z, e, work)
            return status
    return 0


@register_method
@dataclass(frozen=True)
class Ruth3(Method):
    """Ruth's splitting: three kicks and three drifts.

    Order 3, symplectic, not symmetric; three force evaluations per step. Prefer `Splitting(4)`.

    References
    ----------
    [hairer2006] section II.5
    """

    needs = ("split",)

    def stepper(self, view: View) -> Stepper:
        if Flag.ROTOR in view.flags:  # or take a rotor, as Splitting does: catena.methods.rotors.rotor.with_rotor
            raise CapabilityError(f"{self} turns no bodies")
        return Stepper(ruth_step, np.array([KICKS, DRIFTS]), work=4 * view.dimension, carry=0)

    @property
    def traits(self) -> Traits:
        return Traits(
            order=3, symplectic=True, symmetric=False, explicit=True,
            keeps=(Exact("linear"), Exact("bilinear"), Bounded("energy")), cite=("hairer2006",), stability=2.507,
        )  # fmt: skip


# A pair potential ---------------------------------------------------------------------------------------------------


def buckingham_energy(s, at, par):
    """A exp(-b r) - c/r^6."""
    return par.pair[at] * math.exp(-par.pair[at + 1] * math.sqrt(s)) - par.pair[at + 2] / (s * s * s)


def buckingham_force(s, at, par):
    """(A b exp(-b r) - 6 c/r^7)/r."""
    r = math.sqrt(s)
    b = par.pair[at + 1]
    return par.pair[at] * b * math.exp(-b * r) / r - 6.0 * par.pair[at + 2] / (s * s * s * s)


def buckingham_slope(s, at, par):
    """Its derivative by s: 24 c/r^10 - A b exp(-b r) (b r + 1)/(2 r^3)."""
    r = math.sqrt(s)
    b = par.pair[at + 1]
    wall = par.pair[at] * b * math.exp(-b * r) * (b * r + 1.0) / (2.0 * r * s)
    return 24.0 * par.pair[at + 2] / (s * s * s * s * s) - wall


@register_potential
@dataclass(frozen=True)
class Buckingham(Pairwise):
    """V = wall exp(-b r) - c/r^6 [Buckingham 1938].

    Parameters
    ----------
    wall, b : strength and steepness of the repulsion
    c : strength of the attraction
    """

    wall: float
    b: float
    c: float

    def __post_init__(self) -> None:
        for name in ("wall", "b", "c"):
            object.__setattr__(self, name, check(getattr(self, name), f"Buckingham.{name}", above=0.0))

    @property
    def constants(self) -> tuple[float, ...]:
        return self.wall, self.b, self.c

    def kernel(self, quantity: Quantity) -> Kernel:
        return {"energy": buckingham_energy, "force": buckingham_force, "slope": buckingham_slope}[quantity]


# A force on a joint -------------------------------------------------------------------------------------------------


def bump_energy(theta, at, par):
    """k (|theta| - limit)^4/4 beyond the limit."""
    over = abs(theta) - par.torsion[at + 1]
    return 0.25 * par.torsion[at] * over * over * over * over if over > 0.0 else 0.0


def bump_slope(theta, at, par):
    """By theta."""
    over = abs(theta) - par.torsion[at + 1]
    return math.copysign(par.torsion[at] * over * over * over, theta) if over > 0.0 else 0.0


def bump_curvature(theta, at, par):
    """Once more."""
    over = abs(theta) - par.torsion[at + 1]
    return 3.0 * par.torsion[at] * over * over if over > 0.0 else 0.0


@FORCES.register
@dataclass(frozen=True)
class Bump(OnAngle):
    """A soft stop of a joint: V = k (|theta| - limit)^4/4 beyond the limit.

    Parameters
    ----------
    joint : number of a joint with an angle
    k : stiffness
    limit : angle up to which the joint moves freely
    """

    k: float = field(default=1.0, metadata=ABOVE_ZERO)
    limit: float = field(default=1.0, metadata=ABOVE_ZERO)

    @property
    def constants(self) -> tuple[float, ...]:
        return self.k, self.limit

    def kernel(self, quantity: AngleQuantity) -> Kernel:
        return {"torsion_energy": bump_energy, "torsion_slope": bump_slope, "torsion_curvature": bump_curvature}[quantity]


# A system -----------------------------------------------------------------------------------------------------------


def lorentz(z, par, out):
    """dx/dt = v, dv/dt = v x B - k x."""
    b = par.trap[0]
    k = par.trap[1]
    out[0] = z[2]
    out[1] = z[3]
    out[2] = b * z[3] - k * z[0]
    out[3] = -b * z[2] - k * z[1]


def publish(z, par, row):
    """Position and velocity."""
    for i in range(4):
        row[i] = z[i]


def measure(z, par, out, scale):
    """Energy and canonical angular momentum, and the sizes of their terms."""
    square = z[0] * z[0] + z[1] * z[1]
    kinetic = 0.5 * (z[2] * z[2] + z[3] * z[3])
    elastic = 0.5 * par.trap[1] * square
    out[0] = kinetic + elastic
    scale[0] = max(scale[0], kinetic + abs(elastic))
    spin = z[0] * z[3] - z[1] * z[2]
    flux = 0.5 * par.trap[0] * square
    out[1] = spin + flux
    scale[1] = max(scale[1], abs(spin) + abs(flux))


def pack(state: State) -> Array:
    """State -> stepped variables."""
    return np.concatenate([state.position, state.velocity])


def unpack(z: Array, time: float) -> State:
    """Stepped variables -> state."""
    return State({"position": z[:2].copy(), "velocity": z[2:].copy()}, time)


@register_system
class MagneticTrap(System):
    """A charge in a plane, in a magnetic field across it and an elastic trap.

    Parameters
    ----------
    field : cyclotron frequency
    stiffness : of the trap, per mass
    """

    title = "Magnetic trap"
    fields = (Field("position", (2,), ("xy",), "of the charge"), Field("velocity", (2,), ("xy",), "of the charge"))
    invariants = (
        Invariant("energy", (), (), "per mass", frozenset({"energy", "quadratic"})),
        Invariant("canonical_momentum", (), (), "x v_y - y v_x + B r^2/2", frozenset({"quadratic"})),
    )
    default_method = ("Gauss", {"stages": 3})

    def __init__(self, field: float = 1.0, stiffness: float = 0.0) -> None:
        self.field = finite_number(field, "MagneticTrap.field")
        self.stiffness = finite_number(stiffness, "MagneticTrap.stiffness")

    def start(self, position: ArrayLike, velocity: ArrayLike, time: float = 0.0) -> State:
        """Position (2,) and velocity (2,)."""
        return State({"position": np.array(position, dtype=float), "velocity": np.array(velocity, dtype=float)}, time)

    @classmethod
    def examples(cls) -> tuple[tuple[System, State, float], ...]:
        trap = cls(2.0, 0.5)
        return ((trap, trap.start((1.0, 0.3), (-0.2, 0.8)), 0.1),)

    def view(self, name: str) -> View | None:
        if name != "field":
            return None
        fills = {views.field: lorentz, views.publish: publish, views.measure: measure}
        return View(name, fills, 4, pack, unpack, withdrawn=frozenset({"symplectic"}))

    def parameter_arrays(self) -> Mapping[str, Numbers]:
        return {"trap": np.array([self.field, self.stiffness])}

    def describe(self) -> dict[str, object]:
        return {"kind": self.kind, "field": self.field, "stiffness": self.stiffness}

    def names(self) -> dict[str, str]:
        return {"x": "row[0]", "y": "row[1]", "u": "row[2]", "v": "row[3]"}
