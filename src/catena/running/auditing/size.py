"""The size of an error: an error as large as the quantity itself is not "bounded" in any useful sense.

A conserved quantity is a sum of terms that vary, such as kinetic and potential energy. The motion turns one into the
other, so an error as large as these terms is no small perturbation of the motion: it is another motion. The natural
size of the quantity is

    parts * size of its largest term,

where parts is the number of bodies, or coordinates, that have such terms each. Two errors are compared with it:

- the lasting error: the mean over 40 blocks of the magnitude of the mean deviation, compared with the usual size along
  the run, the mean over time. A peak at the pericentre of an orbit does not last, and the terms are large there;
- the largest deviation, compared with the largest terms, those at the worst moment of the run.

Smaller errors may still be too large for an approximation: `catena.running.probing` compares them with the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .drift import BLOCKS, block_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LASTING = 0.1  # of the usual size: with a larger lasting error, the motion is another one
WHOLE = 0.5  # of the largest size: a larger error is not that of an approximation, however briefly it occurs
DOUBT = 1e-3  # of the usual size: smaller errors are not doubted, whatever the order says


@dataclass(frozen=True)
class Sizes:
    """What is known of the size of a quantity beside its samples.

    Attributes
    ----------
    seen : (..., k) largest deviation from the start, in the samples or between them
    usual : mean over time of the largest magnitude among its terms; a number, or an array that broadcasts with `seen`
    parts : number of bodies, or coordinates, that have such terms each
    """

    seen: Floats
    usual: float | Floats
    parts: int = 1

    def large(self, lasting: Floats, scale: float | Floats) -> NDArray[np.bool_]:
        """Which components have an error as large as their natural size; `scale` is the largest magnitude among the terms."""
        whole = self.seen > WHOLE * self.parts * np.asarray(scale)
        return whole | (lasting > LASTING * self.parts * np.asarray(self.usual))

    @property
    def doubtful(self) -> bool:
        """Whether the error is large enough to be compared with what the order of the method predicts."""
        return bool((self.seen > DOUBT * self.parts * np.asarray(self.usual)).any())


def lasting_deviation(deviation: Floats) -> Floats:
    """Mean over the blocks of the magnitude of the mean deviation (k,), from deviations (n, k) whose first is zero."""
    n = len(deviation)
    if n <= BLOCKS:
        return np.abs(deviation).sum(axis=0) / max(1, n - 1)
    return lasting_of_blocks(np.add.reduceat(deviation, block_edges(n)[:-1], axis=0), n)


def lasting_of_blocks(sums: Floats, samples: int) -> Floats:
    """The same from sums of deviations over the blocks (..., blocks, k)."""
    return np.abs(sums).sum(axis=-2) / max(1, samples - 1)
