"""The joint form of a linkage: its state in the coordinates of the joints, and the view on it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError
from ....geometry import rotations
from ....geometry.quaternion import load4, store4, to_body
from ....geometry.vectors import diagonal_times, dot, load3, scaled, store3
from ....kernels import elimination, views
from ....kernels.marks import Filling, Slot
from ....kernels.views import Flag, View
from ...base import Array, State
from ...chain.motion import publish_split
from ...particles.slopes import keep_pushes
from .. import constraints, fit
from .. import measures as linkage_measures
from ..director_arrays import director_arrays
from ..director_form.clock import time_place
from ..director_form.rows import has_drives
from ..joint_coordinates import measure_coordinates, unit_motions, with_ground
from ..joints import GROUND, TURN, Joint
from ..layout import Signal
from ..thin import is_thin, nothing_resists, spin_of_body
from ..views import director_view
from . import charts, force_slopes, forces, kernels, loop_newton, loop_slopes, loops, newton, slopes, statics
from .closing import close_start
from .layout import Layout, layout_of
from .motion import BALL, TRANSLATION, Link, Node, Place, copy, joint_at, number_at, place_nodes, time_of
from .slopes import write_wrench
from .tables import articulated_arrays, joint_form_par, newton_arrays

if TYPE_CHECKING:
    from ..linkage import Linkage

# In joint coordinates momenta are no quadratic functions, and the equations are not canonical: no Runge-Kutta method keeps
# them or bounds the error of the energy.
NOT_POLYNOMIAL = frozenset({"linear", "bilinear", "quadratic", "energy", "vertical", "symplectic"})
# Joints hold by construction, those that close loops because each step ends where they do. Quaternions of balls are another matter: their
# length is the method's, and the residuals see it.
CLOSED = frozenset({"joint_position", "joint_velocity"})
INERT = 1e-13  # part of the inertia of a node below which a joint feels none


def write_directors(z, moments, par):
    """The stepped variables of the director form, in par.tree_director, for bodies with these moments of inertia."""
    place_nodes(z, par)
    d = par.tree_director
    n = par.mass.shape[0]
    joints = par.tree_joints.shape[0]
    for j in range(n):
        node = par.tree_nodes[par.tree_home[j]]
        q = load4(node, Node.ORIENTATION)
        w = load3(node, Node.SPIN)
        store3(d, 3 * j, load3(node, Node.POSITION))
        store4(d, 3 * n + 4 * j, q)
        store3(d, 7 * n + 3 * j, scaled(par.mass[j], load3(node, Node.VELOCITY)))
        store3(d, 10 * n + 3 * j, diagonal_times(load3(moments[j], 0), to_body(q, w[0], w[1], w[2])))
    for j in range(joints):
        joint = par.tree_joints[j]
        image = joint[forces.JointPlace.IMAGE]
        if image >= 0:
            copy(z, image, d, 13 * n + 4 * j, 4)
        angle = number_at(z, joint[forces.JointPlace.ANGLE])
        if has_drives():
            driven = joint[forces.JointPlace.DRIVEN]
            angle = par.signal[driven, Signal.VALUE] if driven >= 0 else angle
        d[13 * n + 4 * joints + j] = angle
        d[13 * n + 5 * joints + j] = number_at(z, joint[forces.JointPlace.SHIFT])
    last = time_place(par)
    d[last] = time_of(z, par)
    work = par.tree_places[Place.WORK]
    if work >= 0:
        copy(z, work, d, last + 1, 2)


def publish_articulated(z, par, row):
    """Positions, orientations, momenta and angular momenta of the bodies."""
    write_directors(z, par.tree_moments, par)
    publish_split(par.tree_director, par, row)


def measure_articulated(z, par, out, scale):
    """As in the director form; spins about axes without a moment of inertia count."""
    write_directors(z, par.moments, par)
    linkage_measures.measure_linkage(par.tree_director, par, out, scale)


def carry_time_and_work(z, par, out):
    """The time goes on, angles of joints that close loops turn with them, forces without potential work."""
    time = par.tree_places[Place.TIME]
    work = par.tree_places[Place.WORK]
    if time >= 0:
        out[time] = 1.0
    if has_drives():
        par.tree_power[forces.Power.LOADS] += drive_power(par)
    if work >= 0:
        out[work] = par.tree_power[forces.Power.DAMPING]
        out[work + 1] = par.tree_power[forces.Power.LOADS]
    for k in range(par.tree_joints.shape[0]):
        joint = par.tree_joints[k]
        if joint[forces.JointPlace.CLOSES] >= 0 and joint[forces.JointPlace.ANGLE] >= 0:
            out[joint[forces.JointPlace.ANGLE]] = forces.twist_about_axis(k, 0.0, par)


def drive_power(par):
    """What drives put in: the wrench that a node with all that it carries asks of its joint, S^T F, times the rate."""
    for i in range(1, par.tree_links.shape[0]):
        write_wrench(par.tree_nodes[i], par.tree_data[i], par.tree_nodes[i], Node.BIAS)
    power = 0.0
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        link, n, _ = joint_at(i, par)
        if link[Link.DRIVEN] >= 0:
            asked = dot(load3(n, Node.S), load3(n, Node.BIAS)) + dot(load3(n, Node.S + 3), load3(n, Node.BIAS + 3))
            power += asked * par.signal[link[Link.DRIVEN], Signal.SLOPE]
        kernels.hand_bias(i, Node.BIAS, par)
    return power


def articulated_view(linkage: Linkage, name: str) -> View | None:
    """The field of a linkage in joint form."""
    if name != "field":
        return None
    layout = layout_of(linkage)
    director = director_view(linkage, "energy_momentum")
    assert director is not None
    # forces, and how a state is measured, are those of the director form
    fills: dict[Slot, Filling] = {
        **director.fills,
        views.field: kernels.articulated_field,
        views.field_end: kernels.articulated_field_end,
        views.publish: publish_articulated,
        views.measure: measure_articulated,
        forces.changes_in_time: int(linkage.signals.change_potentials),
        forces.has_loops: int(bool(linkage.tree.loops)),
        views.linearise: slopes.find_slopes,
        elimination.quotient: elimination.complex_quotient,
        views.factorise_shifted: newton.factorise_tree,
        views.solve_shifted: newton.solve_tree,
        views.has_clock: int(layout.time >= 0),
    }
    if linkage.forces or linkage.particle_forces or linkage.signals.change_potentials:
        fills |= {
            kernels.apply_forces: forces.apply_all,
            slopes.note_forces: force_slopes.note_all_forces,
            slopes.change_forces: force_slopes.change_all_forces,
        }
    if linkage.particle_forces:
        fills |= {
            forces.apply_particles: forces.push_nodes,
            force_slopes.note_particles: keep_pushes,
            force_slopes.change_particles: force_slopes.change_nodes_of_particles,
        }
    if linkage.tree.loops:
        fills |= _of_loops()
    if linkage.tree.loops or layout.work >= 0:
        fills[kernels.carry_along] = carry_time_and_work
    balls = any(node.kind == BALL for node in layout.nodes)
    return View(
        name, fills, layout.dimension, partial(pack_state, linkage), partial(unpack_state, linkage),
        frozenset({Flag.NEWTON_ON_DEMAND} if linkage.tree.loops else ()), False,
        scratch=lambda: director_arrays(linkage)[1] | articulated_arrays(linkage)[1], withdrawn=NOT_POLYNOMIAL,
        needed=CLOSED if balls else frozenset(), held=frozenset() if balls else CLOSED, factors=partial(newton_arrays, linkage),
    )  # fmt: skip


def _of_loops() -> dict[Slot, Filling]:
    """What closed loops fill, some of it otherwise."""
    return {
        views.field: charts.closed_field,
        views.step: charts.closed_step,
        views.linearise: loop_newton.linearise_loops,
        views.factorise_shifted: loop_newton.factorise_loops,
        views.solve_shifted: loop_newton.solve_loops,
        kernels.hold_loops: loops.respond_with_loops,
        slopes.respond_to_change: loop_slopes.respond_in_loops,
        statics.hold_rows: statics.hold_kept_rows,
        statics.change_rows: loop_slopes.change_kept_rows,
    }


def unpack_state(linkage: Linkage, z: Array, time: float) -> State:
    """The state of z."""
    row = np.zeros(linkage.public_width + linkage.invariant_width)
    publish_articulated(z, joint_form_par(linkage, time), row)
    columns = linkage.columns(row[None, :])
    return State({field.name: columns[field.name][0] for field in linkage.fields}, time)


def follow_drives(linkage: Linkage, state: State) -> State:
    """The state in which driven joints stand and move as prescribed; all others do what they do in `state`."""
    path = linkage.signals.at(state.time)
    for number, place in linkage.signals.driven.items():
        joint = linkage.joints[number]
        if not np.isfinite(path[place]).all():
            raise InputError(
                f"the path of joint {number} is not defined at t = {state.time:g}", where=f"start, joint {number}",
                do="give a function that has a value and two derivatives along the run",
            )  # fmt: skip
        if joint.image is None and joint.has_angle and abs(path[place, Signal.VALUE]) > fit.MEETING:
            raise InputError(
                f"joint {number} counts its angle from the start, but its path has {path[place, Signal.VALUE]:g} there",
                where=f"start, joint {number}", do="give the joint an image, from which angles count, or let the path begin at 0",
            )  # fmt: skip
    followed = unpack_state(linkage, pack_state(linkage, state, follow=True), state.time)
    if linkage.tree.loops:
        fit.require_closed(linkage, followed)
    return followed


def pack_state(linkage: Linkage, state: State, *, follow: bool = False) -> Array:
    """z of a state; with `follow` driven joints need not be where they are told to be."""
    layout = layout_of(linkage)
    z = np.zeros(layout.dimension)
    motion = with_ground(constraints.velocities(linkage, state))
    images = constraints.images_of(linkage, state.orientation)
    shifts = constraints.shifts_of(linkage, state.position, state.orientation)
    principal_images = linkage.principal_images(images)
    for number, at in layout.images.items():
        z[at : at + 4] = principal_images[number]
    for number, at in layout.shifts.items():
        z[at] = shifts[number]
    for k, node in enumerate(layout.nodes):
        at, rate = layout.links[k, [Link.COORDINATE, Link.RATE]]
        if node.kind == TRANSLATION:
            carried = layout.nodes[k + 1].body
            z[at : at + 3], z[rate : rate + 3] = state.position[carried], motion[carried, 0]
        elif node.kind == BALL:
            body, number = linkage.bodies[node.body], node.body
            z[at : at + 4] = rotations.multiply(state.orientation[number], body.frame)
            if is_thin(body):  # whose momentum does not tell all spins
                spin = np.where(node.held, 0.0, spin_of_body(linkage, state, number, motion[number, 1]))
            else:
                spin = body.inverse_moments * constraints.principal(linkage, number, state.angular_momentum[number])
            z[rate : rate + 3] = spin
        elif node.has_image:
            placed = _set_single(linkage, layout, k, state, images[node.joint], motion, z)
            if node.driven >= 0 and not follow:
                _require_on_path(linkage, node.joint, placed, state)
    if layout.time >= 0:
        z[layout.time] = state.time
    _require_inertia(linkage, layout, z, state.time)
    if not linkage.tree.loops:
        return z
    for number in layout.angles.keys() & linkage.tree.loops:
        z[layout.angles[number]] = constraints.angle_of(linkage.joints[number], images[number], state.orientation)
    return close_start(linkage, z, state.time)


def _require_inertia(linkage: Linkage, layout: Layout, z: Array, time: float) -> None:
    """CapabilityError where a joint turns a line about itself, and nothing that it carries resists."""
    if not any(map(is_thin, linkage.bodies)):
        return
    par, unit = joint_form_par(linkage, time), constraints.unit_of_arms(linkage)
    units = np.array([unit] * 3 + [1.0] * 3)
    place_nodes(z, par)
    kernels.weigh_nodes((0.0, 0.0, 0.0), par)
    for k in range(len(layout.nodes) - 1, 0, -1):
        node, row = layout.nodes[k], par.tree_nodes[k]
        inertia = row[Node.P : Node.P + 36].reshape(6, 6) * units[:, None] * units
        s = row[Node.S : Node.S + 18].reshape(3, 6)[: node.rates] / units * (1.0 if node.turns else unit)
        free = [i for i in range(node.rates) if not (node.kind == BALL and node.held[i])]
        arms = float(np.abs(inertia).max()) * max(1.0, float((s**2).sum()))
        resist = s[free] @ inertia @ s[free].T
        if free and np.linalg.eigvalsh(resist).min() <= INERT * arms:
            body = node.body if node.body >= 0 else linkage.joints[node.joint].child
            raise nothing_resists(body, f"Linkage.joints[{node.joint}]")
        kernels.gather_node(k, par)


def _require_on_path(linkage: Linkage, number: int, found: tuple[float, float], state: State) -> None:
    """InputError unless a driven joint stands and moves as prescribed."""
    joint, time = linkage.joints[number], state.time
    size = 1.0 if joint.has_angle else constraints.extent(linkage, state.position)
    value, slope, _ = linkage.signals.at(time)[linkage.signals.driven[number]]
    off = found[0] - value
    if joint.has_angle:
        off = float(np.arctan2(np.sin(off), np.cos(off)))
    fast = found[1] - slope
    if not (abs(off) <= fit.MEETING * (size + abs(value)) and abs(fast) <= fit.MEETING * (size + abs(slope))):
        raise InputError(
            f"joint {number} is driven: at t = {time:g} it is told to stand at {value:g} and to move at {slope:g}, but "
            f"the start has {found[0]:g} and {found[1]:g}", where=f"start.{'orientation' if joint.has_angle else 'position'}[{joint.child}], or angles",
            do="use start(..., project=True), which lets driven joints follow, with an image of that joint",
        )  # fmt: skip


def _rates_of(joint: Joint, columns: Array, relative: Array) -> Array:
    """Rates of the elements of a joint, of which `columns` are the motions, that make up a motion (6,).

    Several are told from each other in any unit of length: in that of the arms.
    """
    turns = np.array([kind == TURN for kind, _ in joint.elements or ()])
    units, lengths = np.ones((6, 1)), np.ones(len(turns))
    if turns.any() and len(turns) > 1:
        units[:3] = lengths[~turns] = constraints.unit_of(np.abs(columns[:3, turns]).max())
    return lengths * np.linalg.lstsq(columns * lengths / units, relative / units[:, 0], rcond=None)[0]


def _set_single(
    linkage: Linkage, layout: Layout, k: int, state: State, image: Array, motion: Array, z: Array
) -> tuple[float, float]:
    """Coordinates and rates of the joint that ends in node k, from the bodies on both sides; the last ones are returned."""
    joint = linkage.joints[layout.nodes[k].joint]
    values = measure_coordinates(joint, state, image)
    if len(values) == 0:
        return 0.0, 0.0
    at, rate = layout.links[k + 1 - len(values) : k + 1, [Link.COORDINATE, Link.RATE]].T
    own = at >= 0
    z[at[own]] = values[own]
    columns = unit_motions(joint, state, values)
    (speed, spin), place = motion[joint.parent], np.zeros(3) if joint.parent == GROUND else state.position[joint.parent]
    carried = speed + np.cross(spin, state.position[joint.child] - place)
    relative = np.concatenate([motion[joint.child, 0] - carried, motion[joint.child, 1] - spin])
    rates = _rates_of(joint, columns, relative)
    z[rate[own]] = rates[own]
    return float(values[-1]), float(rates[-1])
