"""The arrays that the kernels of a chain use in `par`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernels.marks import Numbers
from .distant import distant_arrays
from .ends import Force

if TYPE_CHECKING:
    from .chain import Chain


def parameter_arrays(chain: Chain) -> dict[str, Numbers]:
    """The arrays that are constant during a run."""
    moves, turns = chain.held
    each = chain.alike.each
    masses = each(lambda body: body.mass)
    load = masses[:, None] * chain.gravity
    for j, end in ((0, chain.left), (-1, chain.right), *chain.loads):
        if isinstance(end, Force) and end.constant:
            load[j] += end.force
    changing = ("pair", "link") if chain.drives.moving else ()  # if they depend on time, they are scratch
    return {
        "mass": masses,
        "inertia": each(lambda body: body.rotor_moments),
        "inverse": each(lambda body: body.inverse_moments),
        "frame": each(lambda body: body.frame),
        "moves": moves.astype(float),
        "turns": turns.astype(float),
        "load": load,
        **{name: array for name, array in chain.interactions.arrays.items() if name not in changing},
        **distant_arrays(chain),
        **(chain.drives.arrays if chain.drives else {}),
    }
