"""The first chart of closed loops: how many of their rows are independent is decided here, once, at the start of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError
from ....kernels.views import OK
from ...base import Array
from . import charts
from .loops import Condition, Row
from .tables import joint_form_par

if TYPE_CHECKING:
    from ..linkage import Linkage


def close_start(linkage: Linkage, z: Array, time: float) -> Array:
    """z with a chart, and on the surface where the rows kept hold; InputError where the number of independent rows is not clear."""
    par = joint_form_par(linkage, time)
    charts.write_slopes(z, par)
    rank, least, _ = charts.choose_chart(par)
    _require_clear(linkage, rank, least)
    charts.write_chart(rank, z, par)
    closed = np.zeros_like(z)
    if charts.close_loops(z, closed, par) != OK:
        raise InputError(
            "the loops cannot be closed from the start", where=_where(linkage), do="use start(..., project=True)"
        )
    charts.write_slopes(closed, par)
    again, least, _ = charts.choose_chart(par)
    off = np.abs(par.tree_gradients[:, Row.VALUE] / par.tree_units[: len(par.tree_gradients)])
    if again != rank or (off > charts.LEFT_OUT).any():
        raise InputError(
            f"rows that follow from others at the start do not hold where those do: off by {off.max():.2g} of the loop's size",
            where=f"start, joint {par.tree_rows[int(off.argmax()), Condition.JOINT]}",
            do="give points and axes of a loop that is movable although it should not be with all digits",
        )
    _require_clear(linkage, again, least)
    return closed


LOST = {
    charts.NO_POINT: "no closed position is near the predicted one: a loop moves too far in one step, or reaches a singular position",
    charts.LEFT_OUT_OFF: "rows that followed from others at the start no longer do (off by {:.1e}): that was a singular position",
    charts.RANK_CHANGED: "a loop reaches a singular position, where its rows become dependent (the last differs by {:.1e}) and its motion has "
    "no one way to go on",
    charts.CHART_ENDS: "a loop passes a singular position, stretched or folded flat, or turns too far in one step",
}  # fmt: skip


def explain_loss(par: object) -> str:
    """Why the loops could not be followed through a step, from the parameters of its run; empty if they could."""
    _, reason, amount = getattr(par, "tree_fault", (0.0, 0.0, 0.0))
    return LOST[float(reason)].format(abs(amount)) if reason else ""


def _require_clear(linkage: Linkage, rank: int, least: float) -> None:
    if rank > 0 and least < charts.CLEAR:
        raise InputError(
            f"whether the loops can move is not clear at the start: of their rows, {rank} or fewer are independent (the last by {least:.1e})",
            where=_where(linkage), do="start away from where a loop is stretched or folded flat, and give points and axes with all digits",
        )  # fmt: skip


def _where(linkage: Linkage) -> str:
    return f"start, joint {linkage.tree.loops[0]}"
