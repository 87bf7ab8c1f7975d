"""The link potentials of one system as kernels: one function for all, told by a number which of them acts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.marks import Filling, Written
from .link_potentials import ARGUMENTS, LinkKernel, Linkwise


class LinkSet:
    """Link potentials numbered 0, 1, ... in the order given; at least one.

    Neighbours in this order that differ in constants only share their code, so other constants never change the text.

    Examples
    --------
    >>> from catena.systems.potentials.link_potentials import BendTwist
    >>> LinkSet([BendTwist(1.0, 2.0, 3.0, (0, 0, 1)), BendTwist(4.0, 5.0, 6.0, (0, 0, 1))]).values.shape
    (28,)
    """

    def __init__(self, potentials: Sequence[Linkwise]) -> None:
        self.potentials = tuple(potentials)

    @property
    def values(self) -> NDArray[np.float64]:
        """The constants of all potentials, for par.link; never empty."""
        return np.array([c for potential in self.potentials for c in potential.constants] or [0.0])

    def kernel(self, name: LinkKernel) -> Written:
        """link_energy(which, d1, .., q33, par) -> V; link_force(...) -> (f1, f2, f3, c1, c2, c3)."""
        lines, first, at = [f"def {name}(which, {ARGUMENTS}, par):"], 0, 0
        uses: list[tuple[str, Filling]] = []
        for kernel, group in itertools.groupby(self.potentials, lambda potential: potential.part(name)):
            members = list(group)
            width = len(members[0].constants)
            part = f"part{len(uses)}"
            place = str(at) if len(members) == 1 else f"{width} * which + {at - width * first}"
            uses.append((part, kernel))
            first += len(members)
            at += width * len(members)
            call = f"return {part}({ARGUMENTS}, {place}, par)"
            last = first == len(self.potentials)
            lines += [f"    {call}"] if last else [f"    if which < {first}:", f"        {call}"]
        return Written(name, "\n".join(lines), __name__, tuple(uses))
