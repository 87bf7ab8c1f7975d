"""The director form of a linkage as methods see it: arrays of parameters, scratch, and kernels.

Stepped variables z: positions (3 n), orientations (4 n), momenta (3 n), angular momenta in the bodies (3 n), in principal axes; for each
joint the image of its directions (4), the angle (1) and the shift of a screw (1), all joints' images first; the time, the work
of dampers, the work of loads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry import rotations
from ...kernels import views
from ...kernels.marks import Bound, Filling, Kernel, Slot, Written, bind, given
from ...kernels.views import Flag, View
from ..base import Array, State
from ..chain.motion import publish_split
from ..potentials.pair_set import PairSet
from . import layout as at
from . import measures as linkage_measures
from . import rank as linkage_rank
from . import start as linkage_start
from . import traits
from .director_arrays import Arrays, director_arrays, table_places
from .director_form import bath as linkage_bath
from .director_form import blocks as linkage_blocks
from .director_form import clock as linkage_clock
from .director_form import directors as linkage_directors
from .director_form import forces as linkage_forces
from .director_form import motors as linkage_motors
from .director_form import particles as linkage_particles
from .director_form import rattle as linkage_rattle
from .director_form import recursion as linkage_recursion
from .director_form import recursion_tables as tables
from .director_form import rows as linkage_rows
from .director_form import solver as linkage_solver
from .director_form import steps as linkage_steps
from .director_form.recursion_torsion import hinge_torque, torsion_torque
from .joint_forces import AngleQuantity, Load, OfDistance, OnAngle, OnParticles, Prescribed
from .joints import Distance
from .thin import THIN, ThinBodies, is_thin, spins_of_joints, thin_bodies

if TYPE_CHECKING:
    from .linkage import Linkage

Scratch = Callable[[], Arrays]

MOMENTUM = (None, linkage_measures.vertical_momentum, linkage_measures.total_momentum)


def director_view(linkage: Linkage, name: str) -> View | None:
    """The view of this name, or None."""
    kernels = _common_kernels(linkage, name)
    if name == "energy_momentum_directors":
        return _published_view(linkage, kernels)
    both = name == "energy_momentum"
    unknowns = traits.unknown_count(linkage, both=both)
    own: Scratch = dict
    if name == "constrained":
        kernels |= _rattle(linkage)
    else:
        blocks = _conserving_blocks(linkage)
        kernels |= {linkage_steps.both_levels: int(both), linkage_steps.correction: bind(_solver(linkage), blocks)}
        if traits.is_recursive(linkage):
            kernels |= _recursion(linkage, blocks)
            unknowns = int(traits.joint_freedoms(linkage).sum()) * (1 + both)
            own = partial(_recursion_scratch, linkage, 12 if both else 6)
    flags = {Flag.LINEAR_BODIES} if any(map(is_thin, linkage.bodies)) else set()
    flags |= {Flag.DAMPERS} if traits.has_dampers(linkage) else set()
    made = _view(linkage, name, kernels, flags, unknowns, own)
    return replace(made, inertia=linkage.inertia) if name == "constrained" else made


def _common_kernels(linkage: Linkage, name: str) -> dict[Slot, Filling]:
    """What all steps of the director form have in common, but for the equations that they solve."""
    loops, angles, pairs = bool(linkage.tree.loops), traits.has_angle(linkage), _pairs(linkage)
    works = angles or linkage_measures.does_work(linkage)
    return given(
        {
            views.publish: publish_split,
            views.measure: linkage_measures.measure_linkage,
            linkage_measures.momentum_part: MOMENTUM[linkage_measures.kept_momentum(linkage)[0]],
            linkage_clock.torsion_energy: _torsions(linkage, "torsion_energy"),
            linkage_blocks.torsion_slope: _torsions(linkage, "torsion_slope"),
            linkage_blocks.torsion_curvature: _torsions(linkage, "torsion_curvature"),
            linkage_forces.load_values: linkage.signals.load_values(),
            **_clock(linkage, kicks=name == "constrained"),
            views.begin_increment: linkage_steps.begin,
            views.guess_increment: linkage_steps.guess,
            views.correct_increment: linkage_steps.correct,
            views.accept_increment: linkage_steps.accept,
            views.blame: linkage_steps.blame,
            linkage_rows.has_drives: int(bool(linkage.signals.driven)),
            linkage_rows.has_distances: int(any(isinstance(joint, Distance) for joint in linkage.joints)),
            linkage_blocks.angle_part: linkage_blocks.angle_block if angles else None,
            linkage_steps.work_part: linkage_steps.work_between_nodes if works else None,
            linkage_steps.rank_part: linkage_rank.choose_rows if loops else None,
            linkage_steps.rank_check: linkage_rank.rows_met if loops else None,
            **{slot: pairs.kernel(slot.__name__) for slot in (views.pair_energy, views.pair_force, views.pair_slope)},
            **_particle_kernels(linkage, name),
        }
    )


def _solver(linkage: Linkage) -> Kernel:
    return linkage_solver.dense_correction if traits.is_dense(linkage) else linkage_solver.tree_correction


def _conserving_blocks(linkage: Linkage) -> dict[Slot, Filling]:
    """The equations of a conserving step."""
    steps, forces = linkage_steps, linkage_forces
    return _blocks(linkage, steps.body_of_step, linkage_blocks.joint_block, forces.force_block, forces.load_block)


def _rattle(linkage: Linkage) -> dict[Slot, Filling]:
    """A step with kicks at both ends: its equations of the positions, and then those of the velocities."""
    rattle, solve = linkage_rattle, _solver(linkage)

    def correction(phase: int, body: Kernel) -> Bound:
        blocks = _blocks(linkage, body, rattle.joint_at_node, rattle.kick_points, rattle.kick_loads)
        return bind(solve, blocks | {rattle.phase: phase})

    return {
        linkage_steps.both_levels: 0,
        linkage_steps.mean_load: rattle.mean_of_kicks,
        views.begin_increment: rattle.begin_kicked,
        views.accept_increment: rattle.accept,
        views.share_forces: rattle.share_forces,
        views.bath_of_links: linkage_bath.stir,
        views.bath_of_rates_of_links: linkage_bath.stir_each,
        views.tally_of_links: linkage_bath.tally,
        linkage_steps.correction: correction(0, rattle.position_body),
        rattle.velocity_correction: correction(1, rattle.velocity_body),
        linkage_bath.heavier_correction: correction(1, linkage_bath.heavier_body),
    }


def _clock(linkage: Linkage, *, kicks: bool) -> dict[Slot, Filling | None]:
    """What depends on the time; in steps with kicks at both ends, or with forces in the middle."""
    signals, clock = linkage.signals, linkage_clock
    working = clock.clock_at_nodes if kicks else clock.clock_between_nodes
    return {
        clock.set_time: signals.set_time if len(signals) else None,
        clock.gravity_now: clock.moving_gravity if signals.gravity_moves else None,
        clock.gravity_slope: clock.moving_gravity_slope if signals.gravity_moves else None,
        clock.clock_part: working if signals.change_potentials else None,
        clock.torsion_rate: _torsions(linkage, "torsion_rate"),
        **_motors(linkage, kicks=kicks),
    }


def _motors(linkage: Linkage, *, kicks: bool) -> dict[Slot, Filling]:
    """Motors and what brakes them."""
    motors = linkage_motors
    pushing = any(
        {"motor_torque", "drag_torque"} & force.quantities for force in linkage.forces if isinstance(force, OnAngle)
    )
    return {
        motors.has_motors: int(pushing),
        motors.motor_torque: _pushes(linkage, "motor_torque"),
        motors.drag_torque: _pushes(linkage, "drag_torque"),
        motors.motor_work: motors.work_of_kicks if kicks else motors.work_in_middle,
    }


def _blocks(linkage: Linkage, body: Any, joint: Any, force: Any, load: Any) -> dict[Slot, Filling]:
    """What a solver puts into its blocks."""
    loads: Filling | None = _loads(linkage, load)
    if linkage.particle_forces:
        half = load is linkage_rattle.kick_loads
        pushes = linkage_particles.add_kicks if half else linkage_particles.add_pushes
        loads = bind(pushes, given({linkage_particles.other_loads: loads}))
    return given(
        {
            linkage_solver.body_block: body,
            linkage_solver.joint_part: joint,
            linkage_solver.force_part: force if traits.point_forces(linkage) else None,
            linkage_solver.load_part: loads,
        }
    )


def _loads(linkage: Linkage, load: Kernel) -> Kernel | None:
    return load if any(isinstance(acting, Load) for acting in linkage.forces) else None


def _particle_kernels(linkage: Linkage, name: str) -> dict[Slot, Filling | None]:
    """What particles do in a step, and their energy."""
    steps, own = linkage_steps, linkage_particles
    if not linkage.particle_forces:
        return {}
    work = own.work_of_kicks if name == "constrained" else own.work_between
    rattle = name == "constrained"
    return {
        **linkage.acting.fills(len(_pairs(linkage).values)),
        steps.begin_particles: own.begin_kick if rattle else own.place_start,
        steps.act_on_particles: own.keep_kick if rattle else own.act_between,
        steps.work_of_particles: work if linkage.acting.terms.in_time else None,
        linkage_rattle.end_particles: own.end_kick,
        linkage_measures.measure_particles: own.measure_all,
    }


def _recursion(linkage: Linkage, forces: dict[Slot, Filling]) -> dict[Slot, Filling]:
    """A conserving step in the joints' increments."""
    angles = traits.has_angle(linkage)
    acting = any(not isinstance(force, OnAngle | OnParticles) for force in linkage.forces)
    return given(
        {
            **forces,
            views.begin_increment: linkage_recursion.begin,
            views.guess_increment: linkage_recursion.guess,
            views.correct_increment: linkage_recursion.correct,
            views.accept_increment: linkage_recursion.accept,
            linkage_recursion.angles_part: linkage_steps.set_joints if angles else None,
            hinge_torque: torsion_torque if angles else None,
            tables.acted_upon: int(acting),
            tables.pushed: int(linkage.particle_forces),
            linkage_solver.load_part: _loads(linkage, linkage_forces.load_block),
        }
    )


def _recursion_scratch(linkage: Linkage, rows: int) -> Arrays:
    """What a sweep along the tree keeps of its bodies; tables have this many rows."""
    places = max(table_places(linkage.tree), default=0) + 1
    return {"sweep": np.zeros((linkage.count + 1, at.sweep_width(rows))), "table": np.zeros((places, at.TABLE))}


def _view(
    linkage: Linkage, name: str, kernels: dict[Slot, Filling], flags: set[Flag], unknowns: int, own: Scratch
) -> View:
    """The view; `own` is scratch that others of the director form do not have, or have in another size."""
    dimension = 13 * linkage.count + 6 * len(linkage.joints) + 3
    thin = thin_bodies(linkage)
    pack, unpack = partial(_pack, linkage, thin), partial(_unpack, linkage)
    parameters: Arrays = {}
    if thin is not None:
        kernels = kernels | {views.publish: linkage_measures.publish_thin}
        parameters = {"moments": thin.moments(linkage), "has_moment": np.where(thin.none, 0.0, 1.0)}

    def scratch() -> Arrays:
        return director_arrays(linkage)[1] | own()

    return View(
        name, kernels, dimension, pack, unpack, frozenset(flags), False, unknowns=unknowns, parameters=parameters, scratch=scratch,
        packs_many=not traits.has_screws(linkage) and thin is None and not linkage.signals.driven,
    )  # fmt: skip


def _published_view(linkage: Linkage, kernels: dict[Slot, Filling]) -> View | None:
    """The published equations with all their unknowns."""
    if not_published(linkage):
        return None
    kernels |= {
        views.begin_increment: linkage_directors.begin, views.guess_increment: linkage_directors.guess,
        views.correct_increment: linkage_directors.correct, views.accept_increment: linkage_directors.accept,
    }  # fmt: skip
    n, unknowns = linkage.count, 24 * linkage.count + traits.row_count(linkage)

    def own() -> Arrays:
        return {
            "directors": np.zeros((3, n, 24)), "push": np.zeros((n + 1, 12)), "director_work": np.zeros(36),
            "director_residual": np.zeros((2, unknowns)), "dense": np.zeros(unknowns * (unknowns + 1)),
            "delta": np.zeros(unknowns),
        }  # fmt: skip

    return _view(linkage, "energy_momentum_directors", kernels, set(), unknowns, own)


def not_published(linkage: Linkage) -> str:
    """Why the published equations with all their unknowns, for trees and massless rods without forces but gravity, are not for this linkage."""
    if linkage.particle_forces or not all(isinstance(force, Prescribed) for force in linkage.forces):
        return "no force may act but gravity and drives"
    if traits.has_screws(linkage) or not all(isinstance(linkage.joints[k], Distance) for k in linkage.tree.loops):
        return "it has screws or closed loops"
    thin = thin_bodies(linkage)
    return "" if thin is None or not thin.guided.any() else "joints turn a line about itself, or a point"


def _pairs(linkage: Linkage) -> PairSet:
    return PairSet([force.pair for force in linkage.forces if isinstance(force, OfDistance)])


def _torsions(linkage: Linkage, quantity: AngleQuantity) -> Written:
    """torsion_energy, torsion_slope, ...: one function for all joints, told by a number on which of them it acts."""
    lines, at = [f"def {quantity}(theta, which, par):"], 0
    uses: list[tuple[str, Kernel]] = []
    for number, forces in enumerate(traits.torsions_of(linkage).values()):
        parts = []
        for force in forces:
            if quantity in force.quantities:
                parts.append(f"part{len(uses)}(theta, {at}, par)")
                uses.append((f"part{len(uses)}", force.kernel(quantity)))
            at += len(force.constants)
        if parts:
            lines += [f"    if which == {number}:", f"        return {' + '.join(parts)}"]
    return Written(quantity, "\n".join([*lines, "    return 0.0"]), __name__, tuple(uses))


def _pushes(linkage: Linkage, quantity: AngleQuantity) -> Written:
    """motor_torque or drag_torque: one function for all joints."""
    lines, at = [f"def {quantity}(theta, rate, which, par):", "    torque, by_theta, by_rate = 0.0, 0.0, 0.0"], 0
    uses: list[tuple[str, Kernel]] = []
    places = {id(linkage.forces[number]): first for number, first in linkage.signals.first.items()}
    for number, forces in enumerate(traits.torsions_of(linkage).values()):
        for force in forces:
            if quantity in force.quantities:
                part = f"part{len(uses)}"
                lines += [
                    f"    if which == {number}:",
                    f"        one, two, three = {part}(theta, rate, {at}, {places.get(id(force), -1)}, par)",
                    "        torque, by_theta, by_rate = torque + one, by_theta + two, by_rate + three",
                ]
                uses.append((part, force.kernel(quantity)))
            at += len(force.constants)
    return Written(quantity, "\n".join([*lines, "    return torque, by_theta, by_rate"]), __name__, tuple(uses))


def _pack(linkage: Linkage, thin: ThinBodies | None, state: State) -> Array:
    """z of a state, or of states with leading axes where no joint is a screw."""
    frames = np.array([body.frame for body in linkage.bodies])
    many = state.position.shape[:-2]
    images = linkage_start.images_of(linkage, state.orientation)
    angles = np.zeros((*many, len(linkage.joints)))
    for k, joint in enumerate(linkage.joints):
        if joint.has_angle:
            angles[..., k] = linkage_start.angles_of(joint, images[..., k, :], state.orientation)
    shifts = np.zeros(angles.shape)
    if traits.has_screws(linkage):
        shifts[:] = linkage_start.shifts_of(linkage, state.position, state.orientation)
    q = rotations.multiply(state.orientation, frames)
    y = rotations.rotate(rotations.conjugate(frames), state.angular_momentum)
    if thin is not None:
        y = np.where(thin.none, THIN * spins_of_joints(linkage, thin, state), y)
    clock = np.zeros((*many, 3))
    clock[..., 0] = state.time
    parts = state.position, q, state.momentum, y, linkage.principal_images(images), angles, shifts, clock
    return np.concatenate([part.reshape(*many, -1) for part in parts], axis=-1)


def _unpack(linkage: Linkage, z: Array, time: float) -> State:
    n = linkage.count
    frames = np.array([body.frame for body in linkage.bodies])
    q = rotations.multiply(z[3 * n : 7 * n].reshape(n, 4), rotations.conjugate(frames))
    inside = z[10 * n : 13 * n].reshape(n, 3) * np.array([body.moments != 0.0 for body in linkage.bodies])
    y = rotations.rotate(frames, inside)
    r, p = z[: 3 * n].reshape(n, 3).copy(), z[7 * n : 10 * n].reshape(n, 3).copy()
    return State({"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, time)
