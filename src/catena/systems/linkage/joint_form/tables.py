"""Parameters of the joint form of a linkage beyond those of the director form, as its kernels read them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....kernels.marks import Numbers
from ..director_arrays import director_arrays
from ..joints import DOT
from ..start import principal_joint
from ..thin import THIN
from . import charts as charts
from . import forces as forces
from . import loops as loops
from . import motion as motion
from .layout import Layout, layout_of

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
    rates = [0 if node is None else node.rates for node in layout.nodes]
    data = np.zeros((len(layout.nodes), motion.Data.WIDTH))
    scratch = np.zeros((len(layout.nodes), motion.Node.WIDTH))
    scratch[0, motion.Node.ORIENTATION] = 1.0
    scratch[0, motion.Node.AXES : motion.Node.AXES + 9] = np.eye(3).ravel()
    for k, node in enumerate(layout.nodes):
        if node is None:
            continue
        data[k, motion.Data.PARENT_POINT : motion.Data.TURN] = *node.a, *node.b, *node.axis
        data[k, [motion.Data.TURN, motion.Data.ADVANCE]] = node.turn, node.advance
        data[k, motion.Data.HELD : motion.Data.HELD + 3] = node.held
        if node.body >= 0:
            body = linkage.bodies[node.body]
            data[k, motion.Data.MASS] = body.mass
            data[k, motion.Data.MOMENTS : motion.Data.MOMENTS + 3] = body.moments
    closures = _closures(linkage, layout)
    parameters = {
        "tree_links": layout.links.copy(),
        "tree_data": data,
        "field_ends": layout.ends.copy(),
        "tree_places": np.array([layout.time, layout.work, layout.chart], dtype=np.int64),
        "tree_home": np.array([layout.home[body] for body in (*range(n), -1)], dtype=np.int64),
        "tree_joints": _joints(linkage, layout),
        **closures,
        # where a moment is zero so is the momentum, but their quotient, the spin, is measured, too
        "moments": np.array([np.where(body.moments > 0.0, body.moments, THIN) for body in linkage.bodies]),
        "newton_rows": np.cumsum(rates, dtype=np.int64) - rates,
    }
    own = {"tree_nodes": scratch, "tree_power": np.zeros(2), "tree_director": np.zeros(13 * n + 6 * joints + 3)}
    return parameters, own | _loop_scratch(layout, len(closures["tree_rows"]))


def _joints(linkage: Linkage, layout: Layout) -> NDArray[np.int64]:
    table = np.full((len(linkage.joints), forces.JointPlace.WIDTH), -1, dtype=np.int64)
    for k in range(len(linkage.joints)):
        table[k, forces.JointPlace.IMAGE] = layout.images.get(k, -1)
        table[k, forces.JointPlace.ANGLE] = layout.angles.get(k, -1)
        table[k, forces.JointPlace.SHIFT] = layout.shifts.get(k, -1)
    for number, node in enumerate(layout.nodes):
        if node is not None and node.joint >= 0 and (node.turn != 0.0 or linkage.joints[node.joint].slides):
            table[node.joint, forces.JointPlace.HINGE] = number
        if node is not None and node.joint >= 0 and node.turn != 0.0:
            table[node.joint, forces.JointPlace.DRIVEN] = node.driven
    for closure, k in enumerate(linkage.tree.loops):
        table[k, forces.JointPlace.CLOSURE] = closure
    return table


def _closures(linkage: Linkage, layout: Layout) -> Arrays:
    rows, closures, data, row_units = [], [], [], []
    for closure, number in enumerate(linkage.tree.loops):
        joint = linkage.joints[number]
        places = [layout.images[number], layout.angles.get(number, -1), layout.shifts.get(number, -1)]
        closures.append([layout.home[joint.parent], layout.home[joint.child], *places])
        a, b, triad = principal_joint(linkage, joint)
        data.append([*a, *b, *triad.ravel(), joint.pitch, joint.length])
        rows += [[*row, closure] for row in joint.rows]
        size = _size(linkage, layout, closure)
        row_units += [1.0 if kind == DOT else size for kind, _, _ in joint.rows]
    return {
        "tree_rows": np.array(rows, dtype=np.int64).reshape(-1, loops.Condition.WIDTH),
        "tree_closures": np.array(closures, dtype=np.int64).reshape(-1, loops.Closure.WIDTH),
        "tree_closure_data": np.array(data, dtype=float).reshape(-1, loops.ClosureData.WIDTH),
        **_charts(linkage, layout, np.array(row_units)),
    }


def _loop_scratch(layout: Layout, count: int) -> Arrays:
    """What `loops` and `charts` write into, for so many rows of closing joints."""
    rates = len(layout.loop_rates)
    return {
        "tree_chart": np.zeros(1 + count + rates, dtype=np.int64),
        "tree_order": np.zeros(count + rates, dtype=np.int64),
        "tree_gradients": np.zeros((count, loops.Row.WIDTH)),
        "tree_slopes": np.zeros((count, rates)),
        "tree_matrix": np.zeros(count * max(count + 2, 2 * sum(node.rates for node in layout.nodes if node) + 1)),
        "tree_multipliers": np.zeros(count),
        "tree_applied": np.zeros((len(layout.nodes), 9)),
        "tree_closed": np.zeros(layout.dimension),
        "tree_before": np.zeros(2 * layout.dimension),
        "tree_fault": np.zeros(charts.Fault.WIDTH),
    }


def _size(linkage: Linkage, layout: Layout, closure: int) -> float:
    """The longest arm of a joint around a loop, the length to which others are measured there."""
    nodes = [layout.nodes[k] for k in layout.loops[closure]]
    arms = [arm for node in nodes if node is not None for arm in (node.a, node.b)]
    joint = linkage.joints[linkage.tree.loops[closure]]
    arms += joint.at
    return max(float(np.linalg.norm(np.array(arms), axis=1).max()), joint.length) or 1.0


def _charts(linkage: Linkage, layout: Layout, row_units: NDArray[np.float64]) -> Arrays:
    """What `charts` needs: the rates around loops, and their units."""
    rates = len(layout.loop_rates)
    table = np.zeros((rates, charts.LoopRate.WIDTH), dtype=np.int64)
    columns = np.full(len(layout.nodes), -1, dtype=np.int64)
    rate_units = np.ones(rates)
    for c, (k, number) in enumerate(layout.loop_rates):
        node = layout.nodes[k]
        assert node is not None
        table[c] = k, number, layout.links[k, motion.Link.RATE] + number
        columns[k] = c if number == 0 else columns[k]
        if node.kind == motion.TRANSLATION or (node.kind == motion.SINGLE and node.turn == 0.0):
            rate_units[c] = _size(linkage, layout, next(i for i, loop in enumerate(layout.loops) if k in loop))
    return {
        "tree_rates": table,
        "tree_columns": columns,
        "tree_units": np.concatenate([row_units, rate_units]),
    }
