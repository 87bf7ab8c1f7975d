"""Parameters of the joint form of a linkage beyond those of the director form, as its kernels read them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....kernels.marks import Numbers
from ..director_arrays import director_arrays
from ..joints import DOT
from ..thin import THIN
from ..traits import point_forces
from . import charts, force_slopes, forces, loops, motion, slopes
from .layout import Layout, layout_of
from .nodes import ZERO, Node

if TYPE_CHECKING:
    from ..linkage import Linkage

Arrays = dict[str, Numbers]


def joint_form_par(linkage: Linkage, time: float = 0.0) -> SimpleNamespace:
    """`par` of the joint form at a time, for kernels that plain Python calls."""
    (parameters, scratch), (more, written) = director_arrays(linkage), articulated_arrays(linkage)
    return SimpleNamespace(**(parameters | more | scratch | written | {"signal": linkage.signals.at(time)}))


def articulated_arrays(linkage: Linkage) -> tuple[Arrays, Arrays]:
    """Parameters and scratch, by the names of the kernels."""
    layout = layout_of(linkage)
    n, joints = linkage.count, len(linkage.joints)
    rates = [node.rates for node in layout.nodes]
    scratch = np.zeros((len(layout.nodes), motion.Node.WIDTH))
    # what never changes for the ground, and for what moves along the axes of space
    scratch[:, motion.Node.ORIENTATION] = 1.0
    scratch[:, motion.Node.AXES : motion.Node.AXES + 9] = np.eye(3).ravel()
    scratch[:, motion.Node.S : motion.Node.S + 18] = np.eye(3, 6).ravel()
    of_loops = _charts(linkage, layout)
    moments = np.array([body.moments for body in linkage.bodies], dtype=float)
    parameters = {
        "tree_links": layout.links.copy(),
        "tree_data": np.array([_data(linkage, node) for node in layout.nodes], dtype=float),
        "field_ends": layout.ends.copy(),
        "tree_places": np.array([layout.time, layout.work, layout.chart], dtype=np.int64),
        "tree_home": np.array([layout.home[body] for body in (*range(n), -1)], dtype=np.int64),
        "tree_joints": _joints(linkage, layout),
        **of_loops,
        "tree_moments": moments,
        # where a moment is zero so is the momentum, but their quotient, the spin, is measured, too
        "moments": np.where(moments > 0.0, moments, THIN),
        "newton_rows": np.cumsum(rates, dtype=np.int64) - rates,
    }
    count, loop_rates = len(of_loops["tree_rows"]), len(layout.loop_rates)
    return parameters, {
        "tree_nodes": scratch,
        "tree_power": np.zeros(forces.Power.WIDTH),
        "tree_director": np.zeros(13 * n + 6 * joints + 3),
        "tree_chart": np.zeros(1 + count + loop_rates, dtype=np.int64),
        "tree_order": np.zeros(count + loop_rates, dtype=np.int64),
        "tree_gradients": np.zeros((count, loops.Row.WIDTH)),
        "tree_slopes": np.zeros((count, loop_rates)),
        "tree_matrix": np.zeros(count * max(count + 2, 2 * sum(rates) + 1)),
        "tree_multipliers": np.zeros(count),
        "tree_applied": np.zeros((len(rates), motion.ACTING)),
        "tree_closed": np.zeros(layout.dimension),
        "tree_before": np.zeros(2 * layout.dimension),
        "tree_fault": np.zeros(charts.Fault.WIDTH),
    }


def newton_arrays(linkage: Linkage, modes: int) -> Arrays:
    """What derivatives and Newton's method write into, for so many factors."""
    layout = layout_of(linkage)
    counts = [node.rates for node in layout.nodes]
    rates, rows = sum(counts), sum(len(linkage.joints[k].rows) for k in linkage.tree.loops)
    unknowns = rates
    arrays: Arrays = {
        "tree_base": np.zeros((len(counts), slopes.Base.WIDTH)),
        "tree_change": np.zeros((len(counts), slopes.Change.WIDTH)),
        "tree_ties": np.zeros((len(point_forces(linkage)), force_slopes.Tie.WIDTH)),
        "newton_slopes": np.zeros((2, rates + rows, rates)),
    }
    if linkage.tree.loops:
        unknowns = 2 * rates + counts.count(3)  # a length for each ball, at most
        arrays |= {
            "tree_twists": np.zeros((len(linkage.joints), force_slopes.Twist.WIDTH)),
            "newton_changed": np.zeros((rows, loops.Row.WIDTH)),
            "newton_rates": np.array(
                [(i, k, 0, 0) for i, count in enumerate(counts) for k in range(count)], dtype=np.int64
            ),
            "newton_tangent": np.zeros((2, rates)),
            "newton_columns": np.zeros((unknowns, layout.dimension)),
            "newton_unknowns": np.zeros(unknowns, dtype=complex),
        }
    else:
        arrays["newton_turns"] = np.zeros((2, rates), dtype=complex)
    return arrays | {
        "newton_factors": np.zeros((modes, unknowns**2), dtype=complex),
        "newton_pivots": np.zeros((modes, unknowns), dtype=np.int64),
    }


def _data(linkage: Linkage, node: Node) -> tuple[float, ...]:
    """A row of `motion.Data`."""
    body = linkage.bodies[node.body] if node.body >= 0 else None
    mass, moments = (0.0, ZERO) if body is None else (body.mass, body.moments)
    return *node.a, *node.b, *node.axis, node.turn, node.advance, mass, *moments, *node.held


def _joints(linkage: Linkage, layout: Layout) -> NDArray[np.int64]:
    """Rows of `forces.JointPlace`."""
    hinges = {node.joint: k for k, node in enumerate(layout.nodes) if node.tells}
    driven = {node.joint: node.driven for node in layout.nodes if node.tells and node.turns}
    columns = layout.images, layout.angles, layout.shifts, hinges, dict.fromkeys(linkage.tree.loops, 1), driven
    rows = [
        [layout.home[joint.parent], layout.home[joint.child], *(column.get(k, -1) for column in columns)]
        for k, joint in enumerate(linkage.joints)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, forces.JointPlace.WIDTH)


def _size(linkage: Linkage, layout: Layout, closure: int) -> float:
    """The longest arm of a joint around a loop, the length to which others are measured there."""
    joint = linkage.joints[linkage.tree.loops[closure]]
    arms = [arm for k in layout.loops[closure] for arm in (layout.nodes[k].a, layout.nodes[k].b)] + [*joint.at]
    return max(float(np.linalg.norm(np.array(arms), axis=1).max()), joint.length) or 1.0


def _charts(linkage: Linkage, layout: Layout) -> Arrays:
    """The rows of joints that close loops and the rates around these, and the units of both."""
    sizes = [_size(linkage, layout, closure) for closure in range(len(layout.loops))]
    rows = [(*row, k) for k in linkage.tree.loops for row in linkage.joints[k].rows]
    rates = [(k, number, layout.links[k, motion.Link.RATE] + number) for k, number in layout.loop_rates]
    units = [1.0 if kind == DOT else sizes[linkage.tree.loops.index(k)] for kind, _, _, k in rows]
    columns = np.full(len(layout.nodes), -1, dtype=np.int64)
    for c, (k, number, _) in enumerate(rates):
        columns[k] = c - number
        around = next(size for size, loop in zip(sizes, layout.loops, strict=True) if k in loop)
        units.append(1.0 if layout.nodes[k].turns else around)
    return {
        "tree_rows": np.array(rows, dtype=np.int64).reshape(-1, loops.Condition.WIDTH),
        "tree_rates": np.array(rates, dtype=np.int64).reshape(-1, charts.LoopRate.WIDTH),
        "tree_columns": columns,
        "tree_units": np.array(units, dtype=float),
    }
