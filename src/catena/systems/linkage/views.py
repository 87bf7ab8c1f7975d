"""The director form of a linkage as methods see it: arrays of parameters, scratch, and kernels.

Stepped variables z: positions (3 n), orientations (4 n), momenta (3 n), angular momenta in the bodies (3 n), in principal axes; for each
joint the image of its directions (4), the angle (1) and the shift of a screw (1), all joints' images first; the time, the work
of dampers, the work of loads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...geometry import rotations
from ...kernels import views
from ...kernels.marks import Filling, Kernel, Slot, Written, bind, keep_given
from ...kernels.views import Flag, View
from ..base import Array, State
from ..chain.motion import publish_split
from ..potentials.pair_set import PairSet
from . import constraints, measures, rank, traits
from . import layout as at
from .director_arrays import Arrays, director_arrays, table_places
from .director_form import bath, blocks, clock, directors, forces, motors, particles, rattle, recursion, solver, steps
from .director_form.directors import Body, Push, Work
from .director_form.recursion_tables import acts_on_bodies, hinge_torque, particles_push, torsion_torque
from .director_form.rows import both_levels, has_distances, has_drives, kicks, phase
from .joint_forces import AngleQuantity, Load, OfDistance, OnAngle, OnParticles, Prescribed
from .joints import Distance
from .thin import THIN, ThinBodies, is_thin, spins_of_joints, thin_bodies

if TYPE_CHECKING:
    from .linkage import Linkage

Scratch = Callable[[], Arrays]

OF_RATES: frozenset[AngleQuantity] = frozenset({"motor_torque", "drag_torque"})
# what a solver puts into its blocks: bodies, joints, forces between points, loads
CONSERVING = (steps.body_of_step, blocks.joint_block, forces.force_block, forces.load_block)
KICKING = (rattle.position_body, rattle.joint_at_node, rattle.kick_points, rattle.kick_loads)
MOMENTUM = (None, measures.vertical_momentum, measures.total_momentum)


def director_view(linkage: Linkage, name: str) -> View | None:
    """The view of this name, or None."""
    kernels = _common_kernels(linkage)
    if name == "energy_momentum_directors":
        return _published_view(linkage, kernels)
    both = name == "energy_momentum"
    unknowns = traits.unknown_count(linkage, both=both)
    own: Scratch = dict
    if name == "constrained":
        kernels |= _rattle(linkage)
    else:
        equations = bind(_solver(linkage), _blocks(linkage, *CONSERVING))
        kernels |= {both_levels: int(both), steps.correction: equations}
        if traits.is_recursive(linkage):
            kernels |= _recursion(linkage)
            unknowns = int(traits.joint_freedoms(linkage).sum()) * (1 + both)
            own = partial(_recursion_scratch, linkage, 12 if both else 6)
    flags = {Flag.LINEAR_BODIES} if any(map(is_thin, linkage.bodies)) else set()
    flags |= {Flag.DAMPERS} if traits.has_dampers(linkage) else set()
    made = _view(linkage, name, kernels, flags, unknowns, own)
    return replace(made, inertia=linkage.inertia) if name == "constrained" else made


def _common_kernels(linkage: Linkage) -> dict[Slot, Filling]:
    """What all steps have in common, but for the equations that they solve."""
    signals = linkage.signals
    loops, angles, pairs = bool(linkage.tree.loops), traits.has_angle(linkage), _pairs(linkage)
    works = angles or measures.does_work(linkage)
    pushing = any(OF_RATES & force.quantities for force in linkage.forces if isinstance(force, OnAngle))
    return keep_given(
        {
            views.publish: publish_split,
            views.measure: measures.measure_linkage,
            measures.momentum_part: MOMENTUM[measures.find_kept_momentum(linkage)[0]],
            views.begin_increment: steps.begin,
            views.guess_increment: steps.guess,
            views.correct_increment: steps.correct,
            views.accept_increment: steps.accept,
            views.blame: steps.blame,
            has_drives: int(bool(signals.driven)),
            has_distances: int(any(isinstance(joint, Distance) for joint in linkage.joints)),
            blocks.angle_part: blocks.angle_block if angles else None,
            steps.work_part: steps.work_between_nodes if works else None,
            steps.rank_part: rank.choose_rows if loops else None,
            steps.rank_check: rank.rows_met if loops else None,
            forces.load_values: signals.load_values(),
            clock.set_time: signals.set_time if len(signals) else None,
            clock.gravity_now: clock.moving_gravity if signals.gravity_moves else None,
            clock.gravity_slope: clock.moving_gravity_slope if signals.gravity_moves else None,
            clock.clock_part: clock.add_work_of_time if signals.change_potentials else None,
            motors.has_motors: int(pushing),
            clock.torsion_energy: _on_angles(linkage, "torsion_energy"),
            clock.torsion_rate: _on_angles(linkage, "torsion_rate"),
            blocks.torsion_slope: _on_angles(linkage, "torsion_slope"),
            blocks.torsion_curvature: _on_angles(linkage, "torsion_curvature"),
            motors.motor_torque: _on_angles(linkage, "motor_torque"),
            motors.drag_torque: _on_angles(linkage, "drag_torque"),
            **{slot: pairs.kernel(slot.__name__) for slot in (views.pair_energy, views.pair_force, views.pair_slope)},
            **(_particles(linkage) if linkage.particle_forces else {}),
        }
    )


def _solver(linkage: Linkage) -> Kernel:
    return solver.dense_correction if traits.is_dense(linkage) else solver.tree_correction


def _rattle(linkage: Linkage) -> dict[Slot, Filling]:
    """A step with kicks at both ends: its equations of the positions, and then those of the velocities."""
    kicking = _blocks(linkage, *KICKING)
    at_ends: dict[Slot, Filling] = {
        steps.begin_particles: particles.find_kick, steps.act_on_particles: particles.find_kick,
        rattle.end_particles: particles.end_kick,
    }  # fmt: skip
    return {
        both_levels: 0,
        kicks: 1,
        steps.find_velocities: rattle.find_velocities,
        views.share_forces: rattle.share_forces,
        views.bath_of_links: bath.stir,
        views.bath_of_rates_of_links: bind(bath.stir, {rattle.inertia_of: bath.heavier}),
        views.tally_of_links: bath.tally,
        steps.correction: bind(_solver(linkage), kicking),
        rattle.velocity_correction: bind(
            _solver(linkage), kicking | {solver.body_block: rattle.velocity_body, phase: 1}
        ),
        **(at_ends if linkage.particle_forces else {}),
    }


def _blocks(
    linkage: Linkage, body: Kernel, joint: Kernel, force: Kernel, load: Kernel, *, pushes: bool = True
) -> dict[Slot, Filling]:
    """What a solver puts into its blocks; without `pushes` particles are none of its concern."""
    loads: Filling | None = load if any(isinstance(acting, Load) for acting in linkage.forces) else None
    if linkage.particle_forces and pushes:
        loads = bind(particles.add_pushes, keep_given({particles.other_loads: loads}))
    return keep_given(
        {
            solver.body_block: body,
            solver.joint_part: joint,
            solver.force_part: force if traits.point_forces(linkage) else None,
            solver.load_part: loads,
        }
    )


def _particles(linkage: Linkage) -> dict[Slot, Filling | None]:
    """What particles do in a step, and their energy."""
    return {
        **linkage.acting.fills(len(_pairs(linkage).values)),
        steps.begin_particles: particles.place_start,
        steps.act_on_particles: particles.act_between,
        steps.work_of_particles: particles.work_of_time if linkage.acting.terms.in_time else None,
        measures.measure_particles: particles.measure_all,
    }


def _recursion(linkage: Linkage) -> dict[Slot, Filling]:
    """A conserving step in the joints' increments."""
    angles = traits.has_angle(linkage)
    acting = any(not isinstance(force, OnAngle | OnParticles) for force in linkage.forces)
    return keep_given(
        {
            **_blocks(linkage, *CONSERVING, pushes=False),
            views.begin_increment: recursion.begin,
            views.guess_increment: recursion.guess,
            views.correct_increment: recursion.correct,
            steps.place_end: recursion.place_end,
            steps.move_body: recursion.move_body,
            recursion.angles_part: steps.set_joints if angles else None,
            hinge_torque: torsion_torque if angles else None,
            acts_on_bodies: int(acting),
            particles_push: int(linkage.particle_forces),
        }
    )


def _recursion_scratch(linkage: Linkage, height: int) -> Arrays:
    """What a sweep along the tree keeps of its bodies; tables have so many rows."""
    places = max(table_places(linkage.tree), default=0) + 1
    return {"sweep": np.zeros((linkage.count + 1, at.sweep_width(height))), "table": np.zeros((places, at.TABLE))}


def _view(
    linkage: Linkage, name: str, kernels: dict[Slot, Filling], flags: set[Flag], unknowns: int, own: Scratch
) -> View:
    """The view; `own` is scratch that others of the director form do not have, or have in another size."""
    dimension = 13 * linkage.count + 6 * len(linkage.joints) + 3
    thin = thin_bodies(linkage)
    parameters: Arrays = {}
    if thin is not None:
        kernels = kernels | {views.publish: measures.publish_thin}
        parameters = {"moments": thin.moments(linkage), "has_moment": np.where(thin.none, 0.0, 1.0)}
    return View(
        name, kernels, dimension, partial(_pack, linkage, thin), partial(_unpack, linkage), frozenset(flags), False,
        unknowns=unknowns, parameters=parameters, scratch=lambda: director_arrays(linkage)[1] | own(),
        packs_many=not traits.has_screws(linkage) and thin is None and not linkage.signals.driven,
    )  # fmt: skip


def _published_view(linkage: Linkage, kernels: dict[Slot, Filling]) -> View | None:
    """The published equations with all their unknowns."""
    if not_published(linkage):
        return None
    kernels |= {
        both_levels: 0,
        views.begin_increment: directors.begin, views.guess_increment: directors.guess,
        views.correct_increment: directors.correct, views.accept_increment: directors.accept,
    }  # fmt: skip
    n, unknowns = linkage.count, Body.WIDTH * linkage.count + traits.row_count(linkage)

    def own() -> Arrays:
        return {
            "directors": np.zeros((3, n, Body.WIDTH)), "push": np.zeros((n + 1, Push.WIDTH)), "director_work": np.zeros(Work.WIDTH),
            "director_residual": np.zeros((2, unknowns)), "delta": np.zeros(unknowns), "dense": np.zeros(unknowns * (unknowns + 1)),
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


def _on_angles(linkage: Linkage, quantity: AngleQuantity) -> Written:
    """torsion_energy, motor_torque, ...: one function for all joints, told by a number on which of them it acts."""
    of_rates = quantity in OF_RATES
    first = {id(linkage.forces[number]): place for number, place in linkage.signals.first.items()}
    lines: list[str] = []
    uses: list[tuple[str, Kernel]] = []
    at = 0
    for number, acting in enumerate(traits.torsions_of(linkage).values()):
        parts = []
        for force in acting:
            if quantity in force.quantities:
                more = f"rate, {at}, {first.get(id(force), -1)}" if of_rates else at
                parts.append(f"part{len(uses)}(theta, {more}, par)")
                uses.append((f"part{len(uses)}", force.kernel(quantity)))
            at += len(force.constants)
        if parts:
            lines.append(f"    if which == {number}:")
        if parts and not of_rates:
            lines.append(f"        return {' + '.join(parts)}")
        elif parts:
            for part in parts:
                lines.append(f"        one, two, three = {part}")
                lines.append("        torque, by_theta, by_rate = torque + one, by_theta + two, by_rate + three")
    if of_rates:
        lines = ["    torque, by_theta, by_rate = 0.0, 0.0, 0.0", *lines, "    return torque, by_theta, by_rate"]
    else:
        lines.append("    return 0.0")
    head = f"def {quantity}(theta, {'rate, ' * of_rates}which, par):"
    return Written(quantity, "\n".join([head, *lines]), __name__, tuple(uses))


def _pack(linkage: Linkage, thin: ThinBodies | None, state: State) -> Array:
    """z of a state, or of states with leading axes where no joint is a screw."""
    frames = np.array([body.frame for body in linkage.bodies])
    many = state.position.shape[:-2]
    images = constraints.images_of(linkage, state.orientation)
    angles = np.zeros((*many, len(linkage.joints)))
    for k, joint in enumerate(linkage.joints):
        if joint.has_angle:
            angles[..., k] = constraints.angle_of(joint, images[..., k, :], state.orientation)
    shifts = np.zeros(angles.shape)
    if traits.has_screws(linkage):
        shifts[:] = constraints.shifts_of(linkage, state.position, state.orientation)
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
