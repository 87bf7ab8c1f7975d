"""Chains of growing length against their rod limit: `rod.compare()`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import InputError
from ...systems.chain.chain import Chain
from ...systems.chain.ends import Clamped, End, Free
from ...systems.numbers import each_of, whole_number
from .modes import find_modes
from .poses import Poses
from .units import unit_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .rod import RodLimit


@dataclass(frozen=True, eq=False)
class RodComparison:
    """Frequencies of chains of several lengths, those of the rods, and their differences.

    Attributes
    ----------
    sizes : (m,) numbers of bodies
    chain, rod : (m, count) frequencies
    error : (m, count) of the rod, relative to the chain
    """

    sizes: NDArray[np.int64]
    chain: Array
    rod: Array
    ends: str = field(default="")

    @property
    def error(self) -> Array:
        """Of the rod, relative to the chain."""
        return self.rod / self.chain - 1.0

    @property
    def orders(self) -> Array:
        """(m - 1,) orders with which the largest error falls with the number of bodies."""
        worst = np.abs(self.error).max(axis=1)
        return np.log(worst[:-1] / worst[1:]) / np.log(self.sizes[1:] / self.sizes[:-1])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Largest and first error against the number of bodies, with the slope of order 2."""
        from ...output.static_plots import draw_comparison

        return draw_comparison(self, ax)

    def __repr__(self) -> str:
        lines = [f"RodComparison, {self.ends}: relative error of the lowest {self.chain.shape[1]} frequencies"]
        lines.append("  bodies     largest       first   order")
        worst = np.abs(self.error).max(axis=1)
        for k, n in enumerate(self.sizes):
            order = f"{self.orders[k - 1]:8.2f}" if k else ""
            lines.append(f"  {n:6d}  {worst[k]:10.3e}  {self.error[k, 0]:10.2e}{order}")
        return "\n".join(lines)


def compare_rod(rod: RodLimit, sizes: tuple[int, ...], left: str, right: str, count: int) -> RodComparison:
    """See `RodLimit.compare`."""
    if len(rod.cell.d) > 1:
        raise InputError("a cell of several bodies", where="RodLimit.compare", do="compare chains of equal bodies")
    ends: dict[str, End] = {"clamped": Clamped(), "free": Free()}
    found, expected = [], []
    counts = [
        whole_number(n, "RodLimit.compare.sizes", "give numbers of bodies from 2 on", least=2)
        for n in each_of(sizes, "RodLimit.compare.sizes", "(9, 17)")
    ]
    for n in counts:
        chain = Chain(
            [rod.chain.bodies[rod.chain.count // 2]] * n,
            rod.chain.potentials[0],
            ends.get(left, left),
            ends.get(right, right),
        )
        d, q = np.tile(rod.cell.d / unit_length(chain), (n - 1, 1)), np.tile(rod.cell.q, (n - 1, 1, 1))
        state = Poses.of_links(d, q, np.zeros(3), np.eye(3)).state(chain)
        found.append(find_modes(chain, state, count).omega)
        expected.append(rod.modes(n, left, right, count))
    return RodComparison(np.array(counts), np.array(found), np.array(expected), f"{left}-{right}")
