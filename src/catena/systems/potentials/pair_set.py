"""The pair potentials of one system as kernels: one function for all, with a number that selects the one that acts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...kernels.marks import Filling, Kernel, Written
from .pair_kernels import no_mean, nothing
from .pairwise import Pairwise, Quantity, require_numbers


class PairSet:
    """Pair potentials numbered 0, 1, ... in the given order; None means no interaction.

    Consecutive ones that differ only in constants share their code: the number selects the constants, without a branch.
    Other constants never change the text of a kernel.

    Parameters
    ----------
    potentials : any number of pair potentials

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import LennardJones, PairSet
    >>> PairSet([LennardJones(5.0, 1.0)]).values.tolist()
    [1.0, 120.0, 20.0]
    """

    def __init__(self, potentials: Sequence[Pairwise | None]) -> None:
        self.potentials = tuple(potentials)
        for potential in self.potentials:
            if potential is not None and not isinstance(potential, Pairwise):
                raise InputError(f"{potential!r} is no pair potential", where="PairSet", do="give potentials of r")
            for term in getattr(potential, "terms", (potential,)):
                if term is not None:
                    require_numbers(term)  # a chain has already replaced those that depend on time

    @property
    def values(self) -> NDArray[np.float64]:
        """The constants of all potentials, for par.pair; never empty."""
        return np.array([c for p in self.potentials if p is not None for c in p.constants] or [0.0])

    @property
    def places(self) -> NDArray[np.int64]:
        """Index of the first constant of each potential, and the end of the last."""
        return np.cumsum([0, *(0 if p is None else len(p.constants) for p in self.potentials)])

    def kernel(self, name: str, constants: int = 0) -> Written:
        """pair_energy(s, which, par) -> V; pair_force(...) -> A = -(dV/dr)/r; pair_slope(...) -> dA/ds; s = r^2.

        pair_mean(s0, s1, which, par) -> -2 (V1 - V0)/(s1 - s0). The constants are in par.pair from place `constants`
        on.
        """
        quantities: dict[str, Quantity] = {"pair_energy": "energy", "pair_force": "force", "pair_slope": "slope"}
        places = "s0, s1" if name == "pair_mean" else "s"

        def code(potential: Pairwise | None) -> Kernel:
            if name == "pair_mean":
                return no_mean if potential is None else potential.mean_kernel()
            return nothing if potential is None else potential.kernel(quantities[name])

        lines, first, at = [f"def {name}({places}, which, par):"], 0, constants
        uses: list[tuple[str, Filling]] = []
        for kernel, group in itertools.groupby(self.potentials, code):
            members = list(group)
            width = 0 if members[0] is None else len(members[0].constants)
            part = f"part{len(uses)}"
            place = str(at) if len(members) == 1 or width == 0 else f"{width} * which + {at - width * first}"
            uses.append((part, kernel))
            first += len(members)
            at += width * len(members)
            call = f"return {part}({places}, {place}, par)"
            last = first == len(self.potentials)
            lines += [f"    {call}"] if last else [f"    if which < {first}:", f"        {call}"]
        if not uses:
            lines.append("    return 0.0")
        return Written(name, "\n".join(lines), __name__, tuple(uses))
