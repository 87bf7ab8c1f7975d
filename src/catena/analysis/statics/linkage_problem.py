"""Statics of a linkage in the coordinates of its joints: energy, forces and stiffness, with or without closed loops.

A displacement phi has one number for each rate of the joint form: angles and shifts of joints, turns of a body on a
ball joint (or free) about its own principal axes, shifts of a free body along the axes of space. In closed loops some
of them follow from the others, phi = N y to first order, and y are the free ones. With the multipliers lambda of the
independent rows, chosen such that no force is left on the dependent coordinates, the stiffness by y is
N^T (K - lambda dJ) N, exactly, also away from equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from ...engine.single_kernels import PAR, SingleKernels
from ...errors import InputError
from ...geometry import rotations
from ...kernels import views
from ...kernels.marks import Kernel, Slot
from ...kernels.views import OK
from ...systems.base import Array, State
from ...systems.linkage import constraints
from ...systems.linkage import start as starts
from ...systems.linkage.joint_forces import Damper
from ...systems.linkage.joint_form import charts, statics
from ...systems.linkage.joint_form.closing import close_start
from ...systems.linkage.joint_form.forces import JointPlace
from ...systems.linkage.joint_form.form import articulated_view, pack_state, unpack_state
from ...systems.linkage.joint_form.layout import layout_of
from ...systems.linkage.joint_form.loops import Condition, Row
from ...systems.linkage.joint_form.motion import BALL, Link, place_nodes
from ...systems.linkage.joint_form.motion import Node as NodeRow
from ...systems.linkage.linkage import Linkage
from ..least_squares import node_motions
from .linkage_coordinates import Coordinate, coordinates_of
from .linkage_loads import check_forces, load_energy, reach_of_forces, torque_weights, without_direction

NOTHING = 1e-12
PLAIN = 120  # largest number of rates for which the stiffness is computed in plain Python: compiling takes longer


@dataclass(frozen=True)
class LinkageBalance:
    """A linkage at rest in some position.

    Attributes
    ----------
    z : the position in joint form
    energy : including that of constant loads
    noise : rounding error of the energy
    push : (rates,) force on each joint coordinate
    tangent : (rates, d) N: derivatives of all coordinates by the d free ones
    free : indices of the free coordinates
    gradient : (d,) of the energy by them
    gross : (d,) sums of the magnitudes of the terms of the gradient
    residual : largest residual torque; a force counts with the size of the linkage as its arm
    """

    z: Array
    energy: float
    noise: float
    push: Array
    tangent: Array
    free: NDArray[np.int64]
    gradient: Array
    gross: Array
    residual: float


class LinkageProblem:
    """A linkage whose angles count from a start, with the kernels for its statics.

    Parameters
    ----------
    linkage : its loads are constant
    start : origin of the angles of joints without `image`

    Attributes
    ----------
    linkage : the same with all images fixed
    begin : the start in joint form, at rest
    extent : size of the linkage, and of the springs that hold it
    coordinates : of its joints
    """

    def __init__(self, linkage: Linkage, start: State) -> None:
        check_forces(linkage)
        self.linkage = starts.count_from_start(linkage, start)
        self.layout = layout_of(self.linkage)
        view = articulated_view(self.linkage, "field")
        assert view is not None and view.factors is not None
        self._kernels = SingleKernels(self.linkage, view, scratch=view.factors(1))
        self._made: dict[Kernel | Slot, Callable[..., None]] = {}
        self.par = SimpleNamespace(**self._kernels.arrays)
        self.coordinates: tuple[Coordinate, ...] = coordinates_of(self.layout)
        self.begin = self.position(start)
        self.extent = max(constraints.extent(self.linkage, start.position), reach_of_forces(self.linkage))
        self._torques = torque_weights(self, self.begin)
        if (number := self.without_direction(start)) is not None:
            raise InputError(
                "the points of a force coincide: it has no direction there", where=f"start, Linkage.forces[{number}]",
                do="start with these points apart",
            )  # fmt: skip

    @property
    def count(self) -> int:
        """Number of all joint coordinates."""
        return len(self.coordinates)

    def position(self, state: State) -> Array:
        """A state in joint form, without its velocities."""
        still = np.zeros((self.linkage.count, 3))
        fields = {"position": state.position, "orientation": state.orientation}
        return pack_state(self.linkage, State({**fields, "momentum": still, "angular_momentum": still}, state.time))

    def state(self, z: Array) -> State:
        """The state of a position."""
        return unpack_state(self.linkage, z, 0.0)

    def balance(self, z: Array) -> LinkageBalance:
        """Energy and forces at a position with all loops closed."""
        push, out, scale = np.zeros(self.count), *np.zeros((2, self.linkage.invariant_width))
        with np.errstate(all="ignore"):
            self._function(views.measure, (1, PAR, 1, 1))(z, out, scale)
            self._function(statics.find_push, (1, PAR, 1))(z, push)
        applied, twists = self._apply(), self._twists()
        tangent, free = self._tangent(z)
        gross = np.einsum("ni,nik->k", applied, np.abs(self.motions(z))) + twists
        position, orientation = self._poses()
        energy = float(out[0]) + load_energy(self.linkage, position, orientation) - float(self._torques @ z)
        noise = 1e-13 * float(abs(scale[0]) + np.abs(applied[:, :3]).sum() * np.abs(position).max(initial=0.0))
        gradient = -tangent.T @ push
        residual = float(np.abs(gradient * self.units(free)).max(initial=0.0))
        return LinkageBalance(z, energy, noise, push, tangent, free, gradient, np.abs(tangent).T @ gross, residual)

    def matrices(self, balance: LinkageBalance) -> tuple[Array, Array]:
        """Stiffness and damping (d, d) by the free coordinates, symmetric parts."""
        damped = any(isinstance(f, Damper) or getattr(f, "damping", 0.0) > 0.0 for f in self.linkage.forces)
        out = np.zeros((2 if damped else 1, self.count, self.count))
        if self.linkage.tree.loops:
            self._hold(balance)
        with np.errstate(all="ignore"):
            self._function(statics.find_stiffness, (1, PAR, 3), compiled=self.count > PLAIN)(balance.z, out)
        stiffness, *rest = (balance.tangent.T @ part @ balance.tangent for part in out)
        damping = rest[0] if rest else np.zeros_like(stiffness)
        return 0.5 * (stiffness + stiffness.T), 0.5 * (damping + damping.T)

    def motion_matrices(self, z: Array) -> Array:
        """(2, rates, rates): A and B of M dudot + B du + A dphi = 0 about the motion of a tree."""
        out = np.zeros((2, self.count, self.count))
        self._function(statics.find_motion, (1, PAR, 3), compiled=self.count > PLAIN)(z, out)
        return out

    def without_direction(self, state: State) -> int | None:
        """A force without a direction in a state; an apparent balance there is not one."""
        return without_direction(self.linkage, state.position, state.orientation, self.extent)

    def units(self, free: NDArray[np.int64]) -> Array:
        """(d,): units of the free coordinates: radians, and the size of the linkage."""
        return np.array([1.0 if self.coordinates[k].turns else self.extent for k in free])

    def force_size(self, balance: LinkageBalance, stiffness: Array) -> float:
        """Size of the torques that must balance, as in `residual`: those that act, and those of unit coordinates."""
        unit = self.units(balance.free)
        return float((unit * (balance.gross + np.abs(stiffness) @ unit)).max(initial=0.0))

    def mass(self, z: Array, tangent: Array, *, girth: float = 0.0) -> Array:
        """(d, d): masses by the free coordinates; with `girth`, each body also has its mass at this distance."""
        moved = self.body_motions(z) @ tangent
        _, orientation = self._poses()
        made = np.zeros((tangent.shape[1],) * 2)
        for body, turn, own in zip(self.linkage.bodies, rotations.to_matrix(orientation), moved, strict=True):
            tensor = turn @ body.tensor @ turn.T + girth**2 * body.mass * np.eye(3)
            made += body.mass * own[:3].T @ own[:3] + own[3:].T @ tensor @ own[3:]
        return made

    def motions(self, z: Array) -> Array:
        """(nodes, 6, rates): motions of the nodes with each coordinate, in space."""
        place_nodes(z, self.par)
        return node_motions(self.linkage, self.par.tree_nodes)

    def body_motions(self, z: Array) -> Array:
        """(n, 6, rates): the same for the bodies."""
        return self.motions(z)[self._homes]

    def moved(self, balance: LinkageBalance, y: Array) -> Array | None:
        """The position displaced by y along the free coordinates, with loops closed again; None if that fails."""
        z, phi, at = balance.z.copy(), balance.tangent @ y, 0
        for k, node in enumerate(self.layout.nodes):
            place, own = int(self.layout.links[k, Link.COORDINATE]), phi[at : at + node.rates]
            at += node.rates
            if node.kind == BALL:
                turned = rotations.multiply(z[place : place + 4], rotations.from_vector(own))
                z[place : place + 4] = turned / np.linalg.norm(turned)
            elif node.rates:
                z[place : place + node.rates] += own
        return self._close(z) if self.linkage.tree.loops else z

    def shifts(self, balance: LinkageBalance) -> list[tuple[int, Array]]:
        """Floating bodies, and the shift (d, 3) of each with everything attached to it; not if loops hold it."""
        found = []
        for k, coordinate in enumerate(self.coordinates):
            if coordinate.is_shift_of_body and coordinate.number == 0:
                whole = np.eye(self.count)[:, k : k + 3]
                own = whole[balance.free]
                if np.abs(balance.tangent @ own - whole).max() < NOTHING:
                    found.append((coordinate.body, own))
        return found

    @cached_property
    def _homes(self) -> list[int]:
        return [self.layout.home[j] for j in range(self.linkage.count)]

    def _poses(self) -> tuple[Array, Array]:
        """Positions and orientations of the bodies, from the present nodes."""
        rows = self.par.tree_nodes[self._homes]
        frames = np.array([body.frame for body in self.linkage.bodies])
        turned = rotations.normalise(rows[:, NodeRow.ORIENTATION : NodeRow.ORIENTATION + 4])
        position = rows[:, NodeRow.POSITION : NodeRow.POSITION + 3].copy()
        return position, rotations.multiply(turned, rotations.conjugate(frames))

    def _apply(self) -> Array:
        """(nodes, 6): magnitudes of the forces and torques on the nodes."""
        return np.abs(self.par.tree_nodes[:, NodeRow.APPLIED : NodeRow.APPLIED + 6])

    def _twists(self) -> Array:
        """(rates,): magnitudes of the torques of torsions on their own coordinates."""
        nodes = zip(self.par.tree_nodes, self.layout.nodes, strict=True)
        return np.abs(np.concatenate([row[NodeRow.TAU : NodeRow.TAU + node.rates] for row, node in nodes]))

    def _close(self, z: Array) -> Array | None:
        closed = np.zeros_like(z)
        if charts.close_loops(z, closed, self.par) != OK:
            return None
        try:
            return close_start(self.linkage, closed, 0.0)  # in the best chart there
        except InputError:
            return None

    def _tangent(self, z: Array) -> tuple[Array, NDArray[np.int64]]:
        """N, and the free coordinates."""
        exists = np.array([coordinate.exists for coordinate in self.coordinates], dtype=bool)
        if not self.linkage.tree.loops:
            free = np.flatnonzero(exists)
            return np.eye(self.count)[:, free], free
        rows, solved = self._rows(z)
        free = np.flatnonzero(exists & ~np.isin(np.arange(self.count), solved))
        tangent = np.zeros((self.count, len(free)))
        tangent[free, np.arange(len(free))] = 1.0
        tangent[solved] = -np.linalg.solve(rows[:, solved], rows[:, free])
        return tangent, free

    def _rows(self, z: Array) -> tuple[Array, NDArray[np.int64]]:
        """J of the independent rows, (rank, rates), and the dependent coordinates.

        Rows also depend on coordinates outside their loop: turns of a ball joint are absolute, and do not carry its
        children along.
        """
        par = self.par
        charts.read_chart(z, par)
        charts.write_slopes(z, par)
        rank = int(par.tree_chart[0])
        kept, solved = par.tree_chart[1 : 1 + rank], par.tree_rates[par.tree_chart[1 + rank : 1 + 2 * rank]]
        ends = par.tree_joints[par.tree_rows[kept, Condition.JOINT]]
        moved, rows = node_motions(self.linkage, par.tree_nodes), np.zeros((rank, self.count))
        for node, at in ((JointPlace.PARENT, Row.PARENT_FORCE), (JointPlace.CHILD, Row.CHILD_FORCE)):
            rows += np.einsum("ri,rik->rk", par.tree_gradients[kept, at : at + 6], moved[ends[:, node]])
        return rows, par.newton_rows[solved[:, charts.LoopRate.NODE]] + solved[:, charts.LoopRate.NUMBER]

    def _hold(self, balance: LinkageBalance) -> None:
        """Multipliers that leave no force on the dependent coordinates."""
        rows, solved = self._rows(balance.z)
        kept = self.par.tree_chart[1 : 1 + len(rows)]
        self.par.tree_gradients[kept, Row.MULTIPLIER] = np.linalg.solve(rows[:, solved].T, -balance.push[solved])

    def _function(
        self, kernel: Kernel | Slot, arguments: tuple[int, ...], *, compiled: bool = False
    ) -> Callable[..., None]:
        """A kernel of the joint form; one that traverses the tree once per rate is compiled if there are many."""
        if kernel not in self._made:
            self._made[kernel] = self._kernels.function(kernel, arguments, compiled=compiled)
        return self._made[kernel]
