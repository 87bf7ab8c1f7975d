"""Replica exchange between temperatures: members of a ladder try to exchange their states with those of the next temperature.

    accept if -log(u) >= (1/kT_i - 1/kT_j)(V_j - V_i);    then i gets the positions of j, and its momenta times sqrt(T_i/T_j)

This preserves the product of both canonical distributions, however the states were generated [hukushima1996],
[sugita1999]: momenta at T_j times that factor are momenta at T_i, so the potential energies alone decide. The pairs (0,
1), (2, 3), .. and (1, 2), (3, 4), .. try in turn. u is a function of seed, ladder, step and pair: no bit depends on
threads, on the order of ladders or on resuming.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...engine.block import MemberBlock
from ...errors import CapabilityError, InputError
from ...kernels.declarations import Inertia
from ...kernels.noise import EXCHANGE, minus_log, unit_number, words
from ...methods.base import Method
from ...methods.heat.langevin import InBath, seed_words
from ...methods.heat.sums import Sums
from ...systems.base import Array, State, System
from ...systems.maxwell import MOMENTA, kinetic_energy
from ...systems.numbers import finite_numbers
from ...text.plain import Json
from ..plan import positive_integer

WHERE = "Tempering.temperatures"


@dataclass(frozen=True)
class Tempering:
    """Replica exchange (parallel tempering): states move between temperatures, so that those at the lowest cross barriers.

    Members form consecutive ladders: member k has temperature number k modulo the number of temperatures, so `members` must be a
    multiple of that number. Choose temperatures so that 20 to 60 % of the exchanges are accepted (`Ensemble.exchanged`): ratios of
    about 1 + sqrt(2/degrees of freedom).

    Parameters
    ----------
    temperatures : kT of the members of a ladder, ascending; the first is that of the method
    every : steps between two attempts; a multiple of the steps between samples

    Examples
    --------
    >>> import catena as ct
    >>> double_well = ct.Hamiltonian("p**2/2 + 8*(q**2 - 1)**2")
    >>> many = ct.ensemble(
    ...     double_well, double_well.start(q=1.0, p=0.0), ct.Langevin(1.0, 1.0, seed=7), dt=0.1, steps=4000, every=20, members=12,
    ...     tempering=ct.Tempering((1.0, 2.0, 4.0), every=20), reduce={"right": ct.Mean("q")},
    ... )
    >>> many.temperatures[:4].tolist(), many.exchanged.shape
    ([1.0, 2.0, 4.0, 1.0], (2,))

    References
    ----------
    [hukushima1996], [sugita1999]
    """

    temperatures: Sequence[float]
    every: int

    def __post_init__(self) -> None:
        given = finite_numbers(self.temperatures, (np.size(self.temperatures),), where=WHERE)
        if len(given) < 2 or not (given > 0.0).all() or not (np.diff(given) > 0.0).all():
            raise InputError(
                f"temperatures = {given.tolist()}", where=WHERE, do="give two or more, above zero, each above the one before it"
            )  # fmt: skip
        object.__setattr__(self, "temperatures", tuple(given.tolist()))
        positive_integer(self.every, "Tempering.every")

    def __len__(self) -> int:
        return len(self.temperatures)

    def describe(self) -> dict[str, Json]:
        """As JSON."""
        return {"temperatures": list(self.temperatures), "every": self.every}

    def methods(self, method: Method) -> tuple[Method, ...]:
        """The method at each temperature."""
        if not isinstance(method, InBath):
            raise InputError(
                f"{method} has no temperature", where="ensemble.tempering", do="use Langevin or HybridMonteCarlo"
            )
        if method.temperature != self.temperatures[0]:
            raise InputError(
                f"the first temperature is {self.temperatures[0]:g}, that of {method.name} is {method.temperature!r}",
                where=WHERE, do="begin with that of the method",
            )  # fmt: skip
        return tuple(replace(method, temperature=kT) for kT in self.temperatures)

    def check(self, system: System, *, view: str, members: int, every: int) -> None:
        """InputError or CapabilityError if states cannot be exchanged."""
        if view == "constrained":
            raise CapabilityError(
                f"{system.title} cannot be tempered: turns that its joints have counted would be lost",
                do="use a chain, a top, a free body or a Hamiltonian",
            )
        if not any(invariant.name == "energy" for invariant in system.invariants):
            raise CapabilityError(f"{system.title} has no energy to exchange by", do="use a system with one")
        if members % len(self):
            raise InputError(
                f"{members} members do not make whole ladders of {len(self)} temperatures", where="ensemble.members",
                do=f"give a multiple of {len(self)}",
            )  # fmt: skip
        if self.every % every:
            raise InputError(
                f"exchanges every {self.every} steps, but samples every {every}", where="Tempering.every",
                do="give a multiple of the steps between samples",
            )  # fmt: skip


def tempering_from(described: Mapping[str, object]) -> Tempering:
    """The tempering from the JSON of `Tempering.describe`."""
    return Tempering(**described)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Exchange:
    """Exchanges between the members of ladders: the scheme, the kinetic energy, and the seed of the method."""

    tempering: Tempering
    inertia: Inertia
    seed: int

    def __call__(self, block: MemberBlock, part: slice, rows: Array, step: int, accepted: Array) -> None:
        """Exchange states between the members of a part, which are whole ladders, after a step.

        Parameters
        ----------
        rows : (members, width) recorded rows of their states: fields, then invariants
        accepted : (members,) exchanges of each member with the next one; those made now are added
        """
        program, count = block.program, len(self.tempering)
        columns = program.system.columns(rows)
        fields = {f.name: columns[f.name] for f in program.system.fields}
        turn = (step // self.tempering.every) % 2
        for ladder in range(0, len(rows), count):
            energies = [
                float(columns["energy"][k])
                - kinetic_energy(self.inertia, {name: values[k] for name, values in fields.items()})
                for k in range(ladder, ladder + count)
            ]
            number = int(block.members.numbers[part.start + ladder]) // count
            for i in range(turn, count - 1, 2):
                if is_accepted(self.tempering, i, energies, number=number, step=step, seed=self.seed):
                    accepted[ladder + i] += 1.0
                    for to, source in ((i, i + 1), (i + 1, i)):
                        _take(self.tempering, block, part, fields, ladder, to=to, source=source, step=step)


def is_accepted(tempering: Tempering, i: int, energies: Sequence[float], *, number: int, step: int, seed: int) -> bool:
    """Whether temperatures i and i + 1 of a ladder exchange their states; never with an energy that is nan."""
    cold, warm = tempering.temperatures[i : i + 2]
    low, high = map(int, seed_words(seed))
    w0, w1, _, _ = words(low, high, number, step, i, EXCHANGE)
    return bool(minus_log(unit_number(w0, w1)) >= (1.0 / cold - 1.0 / warm) * (energies[i + 1] - energies[i]))


def _take(
    tempering: Tempering, block: MemberBlock, part: slice, fields: Mapping[str, Array], ladder: int, *,
    to: int, source: int, step: int,
) -> None:  # fmt: skip
    """Give a member the state of another; the method forgets what it knew of the old state, its noise continues."""
    k = part.start + ladder + to
    factor = math.sqrt(tempering.temperatures[to] / tempering.temperatures[source])
    own = {name: values[ladder + source] * (factor if name in MOMENTA else 1.0) for name, values in fields.items()}
    time = float(block.members.t0[k] + step * block.members.dt[k])
    block.z[k] = block.program.view.pack(State(own, time))
    block.e[k] = 0.0
    block.carry[k, Sums.WINDOW :] = 0.0
