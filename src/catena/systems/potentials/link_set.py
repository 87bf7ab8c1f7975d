"""The link potentials of one system as kernels: one function for all, with a number that selects the one that acts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.marks import Filling, Kernel, Written
from .link_potentials import ARGUMENTS, LinkKernel, Linkwise


class LinkGroup(NamedTuple):
    """Link potentials that differ only in their constants: one kernel of each kind, a row of constants for each."""

    first: int
    energy: Kernel
    force: Kernel
    table: NDArray[np.float64]  # (numbers, width)

    @property
    def end(self) -> int:
        """The number after its last."""
        return self.first + len(self.table)


class LinkSet:
    """Link potentials numbered 0, 1, ... in the given order; one with constants for several links has a number for
    each. At least one.

    Consecutive ones that differ only in constants share their code, so other constants never change the text.

    Examples
    --------
    >>> from catena.systems.potentials.link_potentials import BendTwist
    >>> LinkSet([BendTwist(1.0, 2.0, 3.0, (0, 0, 1)), BendTwist(4.0, 5.0, 6.0, (0, 0, 1))]).values.shape
    (28,)
    """

    def __init__(self, potentials: Sequence[Linkwise]) -> None:
        self.potentials = tuple(potentials)
        self.groups: list[LinkGroup] = []
        first = 0

        def code(potential: Linkwise) -> tuple[Kernel, Kernel]:
            return potential.part("link_energy"), potential.part("link_force")

        for (energy, force), members in itertools.groupby(self.potentials, code):
            group = LinkGroup(first, energy, force, np.concatenate([member.table for member in members]))
            self.groups.append(group)
            first = group.end

    @property
    def numbers(self) -> list[int]:
        """The first number of each potential."""
        counts = [0, *(potential.links or 1 for potential in self.potentials)]
        return np.cumsum(counts)[:-1].tolist()

    @property
    def values(self) -> NDArray[np.float64]:
        """The constants of all potentials, for par.link; never empty."""
        values = np.concatenate([np.zeros(0), *(group.table.ravel() for group in self.groups)])
        return values if values.size else np.zeros(1)

    def kernel(self, name: LinkKernel) -> Written:
        """link_energy(which, d1, .., q33, par) -> V; link_force(...) -> (f1, f2, f3, c1, c2, c3)."""
        lines, at = [f"def {name}(which, {ARGUMENTS}, par):"], 0
        uses: list[tuple[str, Filling]] = []
        for group in self.groups:
            width = group.table.shape[1]
            part = f"part{len(uses)}"
            place = str(at) if len(group.table) == 1 else f"{width} * which + {at - width * group.first}"
            uses.append((part, group.energy if name == "link_energy" else group.force))
            at += group.table.size
            call = f"return {part}({ARGUMENTS}, {place}, par)"
            last = group is self.groups[-1]
            lines += [f"    {call}"] if last else [f"    if which < {group.end}:", f"        {call}"]
        return Written(name, "\n".join(lines), __name__, tuple(uses))
