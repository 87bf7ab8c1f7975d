"""Pair potentials that end: multiplied by a smooth switch."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ...kernels.marks import Written
from ...text.plain import Json
from ..sampled import describe_in_time
from .pair_table import pair_potential_from
from .pairwise import Pairwise, Quantity, number_or_in_time, register, require_numbers

if TYPE_CHECKING:
    from ..sampled import GivenInTime
    from .link_potentials import Potential

SMOOTHEST_SWITCH = 20
"""Largest k; beyond it the polynomial is a step much narrower than r_cut - r_on."""


@register
@dataclass(frozen=True)
class Switched(Pairwise):
    """V S(x), x = (r - r_on)/(r_cut - r_on): V up to r_on, zero from r_cut on, smooth between.

    S(x) = (1 - x)^(k+1) sum_j C(k+j, j) x^j, of degree 2k + 1, has k = `smoothness` continuous derivatives and is
    evaluated without cancellation. Motions through r_on or r_cut are computed with order k + 1 at most: use k >= p - 1
    for a method of order p.

    Parameters
    ----------
    potential : the pair potential to be cut off
    r_on, r_cut : where the switch begins and ends: numbers, texts in t, or tables `Sampled(times, values)`
    smoothness : k, from 1 to 20

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import LennardJones, Switched
    >>> short = Switched(LennardJones(1.0, 1.0), 1.2, 2.0, smoothness=4)
    >>> short.energy([1.0, 1.6, 2.0]).round(6).tolist()
    [0.0, -0.112104, 0.0]
    """

    potential: Pairwise
    r_on: float
    r_cut: float
    smoothness: int = 2
    timed = ("potential", "r_on", "r_cut")

    if TYPE_CHECKING:

        def __init__(
            self, potential: Pairwise, r_on: GivenInTime, r_cut: GivenInTime, smoothness: int = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.potential, Pairwise):
            raise InputError(
                f"{self.potential!r} is no pair potential", where="Switched.potential",
                do="switch potentials of r; in a table, switch each entry",
            )  # fmt: skip
        r_on = number_or_in_time(self.r_on, "Switched.r_on", least=0.0)
        r_cut = number_or_in_time(self.r_cut, "Switched.r_cut", above=0.0)
        try:
            k = operator.index(self.smoothness)
        except TypeError:
            raise InputError(
                f"smoothness = {self.smoothness!r}", where="Switched.smoothness", do="give an integer"
            ) from None
        if r_cut == r_on or k < 1:
            raise InputError(
                f"a plain cut at r = {r_cut}: energy or force jumps there, and no method keeps the energy", where="Switched",
                do="give r_on < r_cut and a smoothness from 1 on, best the order of the method",
            )  # fmt: skip
        if isinstance(r_cut, float) and isinstance(r_on, float) and r_cut < r_on:
            raise InputError(f"r_on = {r_on:g} is beyond r_cut = {r_cut:g}", where="Switched", do="swap them")
        if k > SMOOTHEST_SWITCH:
            raise InputError(f"smoothness = {k}", where="Switched.smoothness", do=f"give at most {SMOOTHEST_SWITCH}")
        if k > self.potential.smoothness:
            raise InputError(
                f"{type(self.potential).__name__} itself has only {self.potential.smoothness} continuous derivatives",
                where="Switched.smoothness", do=f"give smoothness={self.potential.smoothness}, or a smooth potential",
            )  # fmt: skip
        object.__setattr__(self, "r_on", r_on)
        object.__setattr__(self, "r_cut", r_cut)
        object.__setattr__(self, "smoothness", k)

    @property
    def constants(self) -> tuple[float, ...]:
        width = self.r_cut - self.r_on
        k = self.smoothness
        steepest = -math.factorial(2 * k + 1) / math.factorial(k) ** 2 / width  # S' = steepest (x (1 - x))^k
        own = (self.r_on * self.r_on, self.r_cut * self.r_cut, self.r_on, self.r_cut, 1.0 / width, steepest)
        return (*own, *self.potential.constants)

    def kernel(self, quantity: Quantity) -> Written:
        """With T = S'/r: V S, A S - V T and dA/ds S + A T - V dT/ds."""
        k = self.smoothness
        polynomial = f"{float(math.comb(2 * k, k))}"
        for j in reversed(range(k)):
            polynomial = f"{float(math.comb(k + j, j))} + x * ({polynomial})"
        needed: dict[Quantity, tuple[Quantity, ...]] = {
            "energy": ("energy",), "force": ("energy", "force"), "slope": ("energy", "force", "slope"),
        }  # fmt: skip
        lines = [
            f"def switched_{quantity}(s, at, par):",
            "    if s >= par.pair[at + 1]:",
            "        return 0.0",
            *(f"    {name} = inner_{name}(s, at + 6, par)" for name in needed[quantity]),
            "    if s <= par.pair[at]:",
            f"        return {quantity}",
            "    r = math.sqrt(s)",
            "    x = (r - par.pair[at + 2]) * par.pair[at + 4]",
            "    y = (par.pair[at + 3] - r) * par.pair[at + 4]",
            f"    switch = {_product('y', k + 1)} * ({polynomial})",
        ]
        if quantity != "energy":
            lines += ["    p = x * y", f"    turn = par.pair[at + 5] * {_product('p', k)} / r"]
        if quantity == "slope":
            bend = " * ".join([f"{float(k)} * par.pair[at + 5] * par.pair[at + 4]", *["p"] * (k - 1), "(y - x)"])
            lines += [f"    bend = {bend}", "    turn_slope = 0.5 * (bend - turn) / s"]
        result = {
            "energy": "energy * switch",
            "force": "force * switch - energy * turn",
            "slope": "slope * switch + force * turn - energy * turn_slope",
        }[quantity]
        text = "\n".join([*lines, f"    return {result}"])
        uses = tuple((f"inner_{name}", self.potential.kernel(name)) for name in needed[quantity])
        return Written(f"switched_{quantity}", text, __name__, uses)

    @property
    def reach(self) -> float:
        require_numbers(self)
        return min(self.r_cut, self.potential.reach)

    @property
    def length(self) -> float:
        return self.potential.length

    def describe(self) -> dict[str, Json]:
        r_on, r_cut = (describe_in_time(end) for end in (self.r_on, self.r_cut))
        inner = self.potential.describe()
        return {"kind": "Switched", "potential": inner, "r_on": r_on, "r_cut": r_cut, "smoothness": self.smoothness}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> Potential:
        return super().from_arguments({**arguments, "potential": pair_potential_from(arguments["potential"])})


def _product(name: str, count: int) -> str:
    return " * ".join([name] * count)
