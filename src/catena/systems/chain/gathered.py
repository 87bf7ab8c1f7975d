"""Recording of a chain whose stepped variables have another order: they are gathered first, as in a plain view."""

from __future__ import annotations

from collections.abc import Mapping

from ...kernels.marks import Filling, Kernel, Slot, bind, slot
from ...kernels.views import measure, publish


@slot
def gather_state(z, par):
    """Write the stepped variables of the plain view into par.gathered."""


def publish_gathered(z, par, row):
    """The public fields."""
    gather_state(z, par)
    publish(par.gathered, par, row)


def measure_gathered(z, par, out, scale):
    """The invariants."""
    gather_state(z, par)
    measure(par.gathered, par, out, scale)


def gathered_fills(gather: Kernel, plain: Mapping[Slot, Filling]) -> dict[Slot, Filling]:
    """`publish` and `measure` of a plain view, for variables that `gather` rearranges."""
    return {
        publish: bind(publish_gathered, {gather_state: gather, publish: plain[publish]}),
        measure: bind(measure_gathered, {gather_state: gather, measure: plain[measure]}),
    }
