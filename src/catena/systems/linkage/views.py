"""The director form of a linkage as methods see it: arrays of parameters, scratch, and kernels.

Stepped variables z: positions (3 n), orientations (4 n), momenta (3 n), angular momenta in the bodies (3 n), in principal axes; for each
joint the image of its directions (4), the angle (1) and the shift of a screw (1), all joints' images first; the time, the work
of dampers, the work of loads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...kernels import views
from ...kernels.marks import Filling, Kernel, Numbers, Slot, Written, bind
from ...kernels.views import Flag, View
from ..base import Array, State
from ..chain.motion import publish_split
from ..numbers import Vector
from ..potentials.pair_set import PairSet
from . import layout as at
from . import measures as linkage_measures
from . import rank as linkage_rank
from . import start as linkage_start
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
from .director_form import solver as linkage_solver
from .director_form import steps as linkage_steps
from .director_form.recursion_torsion import hinge_torque, no_torque, torsion_torque
from .joint_forces import AngleQuantity, BetweenPoints, Damper, Load, OfDistance, OnAngle, OnParticles, Spring
from .joints import DISTANCE, DOT, GROUND, POINT, SCREW, Revolute, Rigid, Spherical
from .tree import Tree

if TYPE_CHECKING:
    from .linkage import Linkage

Arrays = dict[str, Numbers]
Scratch = Callable[[], Arrays]

KINDS = {Spring: linkage_forces.SPRING, Damper: linkage_forces.DAMPER, OfDistance: linkage_forces.SITE_PAIR}

MOMENTUM = (linkage_measures.no_momentum, linkage_measures.vertical_momentum, linkage_measures.total_momentum)


def director_view(linkage: Linkage, name: str) -> View | None:
    """The view of this name, or None."""
    loops = bool(linkage.tree.loops)
    works = _has_angle(linkage) or linkage_measures.does_work(linkage)
    kernels: dict[Slot, Filling] = {
        views.publish: publish_split,
        views.measure: linkage_measures.measure_linkage,
        linkage_measures.momentum_part: MOMENTUM[linkage_measures.kept_momentum(linkage)[0]],
        linkage_clock.torsion_energy: _torsions(linkage, "torsion_energy"),
        linkage_blocks.torsion_slope: _torsions(linkage, "torsion_slope"),
        linkage_blocks.torsion_curvature: _torsions(linkage, "torsion_curvature"),
        linkage_forces.load_values: linkage.signals.load_values(),
        linkage_steps.mean_load: linkage_steps.load_in_middle,
        **_clock(linkage, kicks=name == "constrained"),
        views.begin_increment: linkage_steps.begin,
        views.guess_increment: linkage_steps.guess,
        views.correct_increment: linkage_steps.correct,
        views.accept_increment: linkage_steps.accept,
        views.blame: linkage_steps.blame,
        linkage_blocks.angle_part: linkage_blocks.angle_block if _has_angle(linkage) else linkage_blocks.no_angle,
        linkage_steps.work_part: linkage_steps.work_between_nodes if works else linkage_steps.no_work,
        linkage_steps.rank_part: linkage_rank.choose_rows if loops else linkage_steps.all_rows,
        linkage_steps.rank_check: linkage_rank.rows_met if loops else linkage_steps.nothing_left_out,
    }
    pairs = _pairs(linkage)
    for slot in (views.pair_energy, views.pair_force, views.pair_slope):
        kernels[slot] = pairs.kernel(slot.__name__)
    kernels |= _particle_kernels(linkage, name)
    if name == "energy_momentum_directors":
        return _published_view(linkage, kernels)
    solve = linkage_solver.dense_correction if is_dense(linkage) else linkage_solver.tree_correction
    both = name == "energy_momentum"
    fills: dict[Any, Any] = {}
    if name == "constrained":
        rattle = linkage_rattle
        first = _blocks(
            linkage, rattle.position_body, rattle.position_joint, rattle.position_force, rattle.position_load
        )
        last = _blocks(
            linkage, rattle.velocity_body, rattle.velocity_joint, rattle.velocity_force, rattle.velocity_load
        )
        kernels |= {
            linkage_steps.both_levels: 0,
            linkage_steps.mean_load: rattle.mean_of_kicks,
            views.begin_increment: rattle.begin_kicked,
            views.accept_increment: rattle.accept,
            views.share_forces: rattle.share_forces,
            views.bath_of_links: linkage_bath.stir,
            views.tally_of_links: linkage_bath.tally,
            linkage_steps.correction: bind(solve, first),
            rattle.velocity_correction: bind(solve, last),
        }
    else:
        body = linkage_steps.body_two_level if both else linkage_steps.body_published
        fills = _blocks(
            linkage, body, linkage_blocks.joint_block, linkage_forces.force_block, linkage_forces.load_block
        )
        kernels |= {linkage_steps.both_levels: int(both), linkage_steps.correction: bind(solve, fills)}
    unknowns = unknown_count(linkage, both=both)
    own: Scratch = dict
    if name != "constrained" and is_recursive(linkage):
        kernels |= _recursion(linkage, fills)
        unknowns = int(joint_freedoms(linkage).sum()) * (1 + both)
        own = partial(_recursion_scratch, linkage, 12 if both else 6)
    flags = {Flag.LINEAR_BODIES} if any(body.kind in ("linear", "point") for body in linkage.bodies) else set()
    flags |= {Flag.DAMPERS} if _has_dampers(linkage) else set()
    made = _view(linkage, name, kernels, flags, unknowns, own)
    return replace(made, inertia=linkage.inertia) if name == "constrained" else made


def _clock(linkage: Linkage, *, kicks: bool) -> dict[Slot, Filling]:
    """What depends on the time; in steps with kicks at both ends, or with forces in the middle."""
    signals, clock = linkage.signals, linkage_clock
    working = clock.clock_at_nodes if kicks else clock.clock_between_nodes
    return {
        clock.tell_time: signals.told if len(signals) else clock.note_time,
        clock.gravity_now: clock.moving_gravity if signals.gravity_moves else clock.constant_gravity,
        clock.gravity_slope: clock.moving_gravity_slope if signals.gravity_moves else clock.no_gravity_slope,
        clock.clock_part: working if signals.change_potentials else clock.no_clock,
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
    loads = load if any(isinstance(acting, Load) for acting in linkage.forces) else linkage_solver.no_load
    if linkage.particle_forces:
        half = load in (linkage_rattle.position_load, linkage_rattle.velocity_load)
        pushes = linkage_particles.add_half_pushes if half else linkage_particles.add_pushes
        loads = bind(pushes, {linkage_particles.other_loads: loads})
    return {
        linkage_solver.body_block: body,
        linkage_solver.joint_part: joint,
        linkage_solver.force_part: force if _point_forces(linkage) else linkage_solver.no_force,
        linkage_solver.load_part: loads,
    }


def _particle_kernels(linkage: Linkage, name: str) -> dict[Slot, Filling]:
    """What particles do in a step, and their energy."""
    steps, own = linkage_steps, linkage_particles
    if not linkage.particle_forces:
        return {
            steps.begin_particles: steps.no_particles_begin,
            steps.act_on_particles: steps.no_particles_act,
            linkage_rattle.end_particles: linkage_rattle.no_particles_end,
            linkage_measures.measure_particles: linkage_measures.no_particles_measured,
            steps.work_of_particles: steps.no_work_of_particles,
        }
    work = own.work_of_kicks if name == "constrained" else own.work_between
    rattle = name == "constrained"
    return linkage.acting.fills(len(_pairs(linkage).values)) | {
        steps.begin_particles: own.begin_kick if rattle else own.place_start,
        steps.act_on_particles: own.keep_kick if rattle else own.act_between,
        steps.work_of_particles: work if linkage.acting.terms.in_time else steps.no_work_of_particles,
        linkage_rattle.end_particles: own.end_kick,
        linkage_measures.measure_particles: own.measure_all,
    }


def _recursion(linkage: Linkage, forces: dict[Slot, Filling]) -> dict[Slot, Filling]:
    """A conserving step in the joints' increments."""
    angles = _has_angle(linkage)
    acting = linkage.particle_forces or any(not isinstance(force, OnAngle | OnParticles) for force in linkage.forces)
    return forces | {
        views.begin_increment: linkage_recursion.begin,
        views.guess_increment: linkage_recursion.guess,
        views.correct_increment: linkage_recursion.correct,
        linkage_recursion.knows_all_forces: int(not linkage.particle_forces),
        views.accept_increment: linkage_recursion.accept,
        linkage_recursion.angles_part: linkage_steps.set_joints if angles else linkage_recursion.no_angles,
        hinge_torque: torsion_torque if angles else no_torque,
        tables.acted_upon: int(acting),
    }


def _recursion_scratch(linkage: Linkage, rows: int) -> Arrays:
    """What a sweep along the tree keeps of its bodies; tables have this many rows."""
    places = max(table_places(linkage.tree), default=0) + 1
    return {"sweep": np.zeros((linkage.count + 1, at.sweep_width(rows))), "table": np.zeros((places, at.TABLE))}


def _view(
    linkage: Linkage, name: str, kernels: dict[Slot, Filling], flags: set[Flag], unknowns: int, own: Scratch
) -> View:
    """The view; `own` is scratch that others of the director form do not have, or have in another size."""
    dimension = 13 * linkage.count + 6 * len(linkage.joints) + 3
    pack, unpack = partial(_pack, linkage), partial(_unpack, linkage)

    def scratch() -> Arrays:
        return director_arrays(linkage)[1] | own()

    return View(
        name, kernels, dimension, pack, unpack, frozenset(flags), False, unknowns=unknowns, scratch=scratch, packs_many=not _has_screws(linkage)
    )  # fmt: skip


def _published_view(linkage: Linkage, kernels: dict[Slot, Filling]) -> View | None:
    """The published equations with all their unknowns: for trees without forces but gravity."""
    if (
        linkage.forces
        or linkage.particle_forces
        or linkage.tree.loops
        or any(joint.rows[-1][0] == SCREW for joint in linkage.joints)
    ):
        return None
    kernels |= {
        views.begin_increment: linkage_directors.begin, views.guess_increment: linkage_directors.guess,
        views.correct_increment: linkage_directors.correct, views.accept_increment: linkage_directors.accept,
    }  # fmt: skip
    rows = sum(len(joint.rows) for joint in linkage.joints)
    n, unknowns = linkage.count, 24 * linkage.count + rows

    def own() -> Arrays:
        return {
            "directors": np.zeros((3, n, 24)), "push": np.zeros((n + 1, 12)), "director_work": np.zeros(36),
            "director_residual": np.zeros((2, unknowns)), "dense": np.zeros(unknowns * (unknowns + 1)),
            "delta": np.zeros(unknowns),
        }  # fmt: skip

    return _view(linkage, "energy_momentum_directors", kernels, set(), unknowns, own)


def _has_angle(linkage: Linkage) -> bool:
    """Whether the angle of a joint matters."""
    return bool(_torsions_of(linkage)) or any(getattr(joint, "pitch", 0.0) != 0.0 for joint in linkage.joints)


def _has_dampers(linkage: Linkage) -> bool:
    return any(isinstance(f, Damper) or (isinstance(f, OnAngle) and f.dissipates) for f in linkage.forces)


def unknown_count(linkage: Linkage, *, both: bool) -> int:
    """Unknowns of a step."""
    rows = sum(len(joint.rows) for joint in linkage.joints)
    return (6 * linkage.count + rows) * (2 if both else 1)


def is_dense(linkage: Linkage) -> bool:
    """Whether loops, or forces between bodies that no carrying joint connects, need one dense matrix."""
    return bool(linkage.tree.loops) or any(_place(linkage, f) == ("nowhere", -1) for f in _point_forces(linkage))


def joint_freedoms(linkage: Linkage) -> NDArray[np.int64]:
    """Degrees of freedom of the joint that carries each body; 6 where none does."""
    return np.array([6 if k < 0 else linkage.joints[k].degrees for k in linkage.tree.carriers])


def table_places(tree: Tree) -> list[int]:
    """A place for the table of each body, shared by bodies that do not need one at the same time: few stay in the cache."""
    places, free = [-1] * len(tree.order), list(range(len(tree.order)))
    for body in reversed(tree.order):
        for needed in (body, tree.parents[body]):
            if needed >= 0 and places[needed] < 0:
                places[needed] = heapq.heappop(free)
        heapq.heappush(free, places[body])
    return places


def is_recursive(linkage: Linkage) -> bool:
    """Whether the joints' increments can be the only unknowns: a tree of hinges, ball joints and rigid joints."""
    return (
        not linkage.tree.loops
        and all(isinstance(joint, Revolute | Spherical | Rigid) for joint in linkage.joints)
        and all(_place(linkage, force)[0] == "ground" for force in _point_forces(linkage))
    )


def _point_forces(linkage: Linkage) -> list[BetweenPoints]:
    return [force for force in linkage.forces if isinstance(force, BetweenPoints)]


def _place(linkage: Linkage, force: BetweenPoints) -> tuple[str, int]:
    """Where along the tree a force belongs: to a body (and the ground), to a joint, or nowhere."""
    for a, b in ((force.i, force.j), (force.j, force.i)):
        if a == GROUND:
            return "ground", b
        if a == linkage.tree.parents[b] if b != GROUND else False:
            return "joint", linkage.tree.carriers[b]
    return "nowhere", -1


def director_arrays(linkage: Linkage) -> tuple[Arrays, Arrays]:
    """What kernels see as `par`: parameters and scratch; `linkage_layout` tells what stands where."""
    joints = linkage.joints
    frames = [body.frame_matrix for body in linkage.bodies]

    def inside(body: int, vector: object) -> Array:
        """A vector of a body's given axes in its principal axes."""
        return np.array(vector, dtype=float) if body == GROUND else frames[body].T @ np.array(vector, dtype=float)

    starts = [0, *np.cumsum([len(joint.rows) for joint in joints]).tolist()]
    row, sort = np.zeros((starts[-1], at.Row.WIDTH)), np.zeros((starts[-1], at.RowSort.WIDTH), dtype=np.int64)
    sort[:, at.RowSort.KEPT], sort[:, at.RowSort.IMAGE] = 1, -1
    joint_values = np.zeros((len(joints), at.Joint.WIDTH))
    link = np.full((len(joints), at.Link.WIDTH), -1, dtype=np.int64)
    torsions = {number: (k, forces) for k, (number, forces) in enumerate(_torsions_of(linkage).items())}
    for k, joint in enumerate(joints):
        a, b = inside(joint.parent, joint.at[0]), inside(joint.child, joint.at[1])
        triad = np.array([inside(joint.parent, u) for u in joint.triad])
        number, acting = torsions.get(k, (-1, ()))
        pitch = getattr(joint, "pitch", 0.0)
        joint_values[k, at.Joint.CHILD_POINT : at.Joint.CHILD_POINT + 3] = b
        joint_values[k, at.Joint.PARENT_POINT : at.Joint.PARENT_POINT + 3] = a
        joint_values[k, at.Joint.TRIAD : at.Joint.TRIAD + 9] = triad.ravel()
        joint_values[k, at.Joint.PITCH] = pitch
        joint_values[k, at.Joint.DAMPING] = sum(force.viscosity for force in acting)
        link[k, : at.Link.FORCE] = (
            joint.parent, joint.child, *starts[k : k + 2], bool(acting) or pitch != 0.0, number,
        )  # fmt: skip
        for r, (kind, first, second) in enumerate(joint.rows, start=starts[k]):
            sort[r, at.RowSort.KIND] = kind
            if kind == POINT:
                sort[r, at.RowSort.POINT_AXIS] = first
                row[r, : at.Row.LENGTH] = *-a, *np.eye(3)[first], b[first]
            elif kind == DOT:
                sort[r, at.RowSort.IMAGE] = second
                row[r, : at.Row.Y] = triad[first]
            elif kind == DISTANCE:
                row[r, : at.Row.LENGTH] = *a, *b, linkage_start.length_of(joint)
            else:
                row[r, : at.Row.LENGTH] = *triad[first], *b, -triad[first] @ a
    tree = np.full((linkage.count, at.Tree.WIDTH), -1, dtype=np.int64)
    tree[:, at.Tree.ORDER], tree[:, at.Tree.CARRIER] = linkage.tree.order, linkage.tree.carriers
    tree[:, at.Tree.FREEDOM] = freedoms = joint_freedoms(linkage)
    tree[:, at.Tree.UNKNOWN] = np.cumsum(freedoms) - freedoms
    tree[:, at.Tree.PLACE] = table_places(linkage.tree)
    _, foot, up = linkage_measures.kept_momentum(linkage)
    made = {
        "mass": np.array([body.mass for body in linkage.bodies]),
        "moments": np.array([body.moments for body in linkage.bodies], dtype=float),
        "frame": np.array([body.frame for body in linkage.bodies]),
        "space": np.array(
            [*linkage.gravity, *foot, *up, linkage_measures.does_work(linkage), _arm(linkage)], dtype=float
        ),
        "tree": tree,
        "link": link,
    }
    # constants of joints stand beside what each step writes there: images, angles, which rows are kept
    written = {"joint": joint_values, "row": row, "row_sort": sort}
    made |= _force_arrays(linkage, inside, tree, link)
    written |= _scratch(linkage, starts[-1])
    if linkage.particle_forces:
        made |= linkage.acting.arrays
        written |= linkage.acting.scratch() | {"particle_state": np.zeros((2, 7 * linkage.count + 1))}
    return made, written


def _arm(linkage: Linkage) -> float:
    """The longest arm to the point of a joint, or of a force between points."""
    points = [point for joint in linkage.joints for point in joint.at]
    points += [point for force in _point_forces(linkage) for point in force.at]
    return max((float(np.linalg.norm(point)) for point in points), default=0.0)


def _torsions_of(linkage: Linkage) -> dict[int, list[OnAngle]]:
    """What acts on the angle of each joint, for those on which something does."""
    found: dict[int, list[OnAngle]] = {}
    for force in linkage.forces:
        if isinstance(force, OnAngle):
            found.setdefault(force.joint, []).append(force)
    return found


def _force_arrays(
    linkage: Linkage, inside: Callable[[int, Vector], Array], tree: NDArray[np.int64], link: NDArray[np.int64]
) -> Arrays:
    """Forces and loads; those of a body or a joint form a list that begins in `tree` or `link`."""
    forces, loads = _point_forces(linkage), [force for force in linkage.forces if isinstance(force, Load)]
    values, sort = (
        np.zeros((len(forces), at.Force.WIDTH)),
        np.full((len(forces), at.ForceSort.WIDTH), -1, dtype=np.int64),
    )
    potentials = [force.pair for force in forces if isinstance(force, OfDistance)]
    pairs = iter(range(len(potentials)))
    for f, force in enumerate(forces):
        values[f, : at.Force.STIFFNESS] = *inside(force.i, force.at[0]), *inside(force.j, force.at[1])
        code = next(code for kind, code in KINDS.items() if isinstance(force, kind))
        sort[f, : at.ForceSort.POTENTIAL] = code, force.i, force.j
        if isinstance(force, Spring):
            values[f, at.Force.STIFFNESS :] = force.k, force.length
        elif isinstance(force, Damper):
            values[f, at.Force.STIFFNESS] = force.c
        else:
            sort[f, at.ForceSort.POTENTIAL] = next(pairs)
        kind, place = _place(linkage, force)
        if kind == "joint":
            sort[f, at.ForceSort.NEXT], link[place, at.Link.FORCE] = link[place, at.Link.FORCE], f
        elif kind == "ground":
            sort[f, at.ForceSort.NEXT], tree[place, at.Tree.GROUND_FORCE] = tree[place, at.Tree.GROUND_FORCE], f
    load, load_next = np.zeros((len(loads), at.Load.WIDTH)), np.full(len(loads), -1, dtype=np.int64)
    for f, acting in enumerate(loads):
        numbers = [c if isinstance(c, float) else 0.0 for c in acting.components]
        load[f] = *numbers, *inside(acting.body, acting.at)
        load_next[f], tree[acting.body, at.Tree.LOAD] = tree[acting.body, at.Tree.LOAD], f
    return {
        "force": values,
        "force_sort": sort,
        "load": load,
        "load_next": load_next,
        "pair": np.concatenate([PairSet(potentials).values, linkage.acting.constants]),
        "torsion": np.array([v for f in chain(*_torsions_of(linkage).values()) for v in f.constants] or [0.0]),
        **linkage.signals.arrays(),
    }


def _scratch(linkage: Linkage, rows: int) -> Arrays:
    n = linkage.count
    most = max((len(joint.rows) for joint in linkage.joints), default=0)
    inner, unknowns = 12 + 2 * most, unknown_count(linkage, both=True)
    dense, looped = is_dense(linkage), bool(linkage.tree.loops)
    node = np.zeros((2, n + 1, at.Node.WIDTH))
    node[:, n, at.Node.DIRECTORS : at.Node.DIRECTORS + 9] = np.eye(3).ravel()  # the ground
    scratch = np.zeros(at.Scratch.WIDTH)
    scratch[at.Scratch.BLAMED] = scratch[at.Scratch.WORST] = -1.0
    scratch[at.Scratch.KICKS : at.Scratch.KICKS + 2] = 0.5
    return {
        "node": node,
        "scratch": scratch,
        "own": np.zeros((n, 12 * 13)),
        "block": np.zeros((inner + 12) * (inner + 13)),
        "upper": np.zeros((1 if dense else n, inner * (inner + 13))),
        "delta": np.zeros(unknowns),
        "dense": np.zeros(unknowns * (unknowns + 1) if dense else 1),
        "gradient": np.zeros((rows, 6 * n) if looped else (1, 1)),
        **linkage.signals.scratch(),
    }


def _pairs(linkage: Linkage) -> PairSet:
    return PairSet([force.pair for force in linkage.forces if isinstance(force, OfDistance)])


def _torsions(linkage: Linkage, quantity: AngleQuantity) -> Written:
    """torsion_energy, torsion_slope, ...: one function for all joints, told by a number on which of them it acts."""
    lines, at = [f"def {quantity}(theta, which, par):"], 0
    uses: list[tuple[str, Kernel]] = []
    for number, forces in enumerate(_torsions_of(linkage).values()):
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
    for number, forces in enumerate(_torsions_of(linkage).values()):
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


def _pack(linkage: Linkage, state: State) -> Array:
    """z of a state, or of states with leading axes where no joint is a screw."""
    frames = np.array([body.frame for body in linkage.bodies])
    many = state.position.shape[:-2]
    images = linkage_start.images_of(linkage, state.orientation)
    angles = np.zeros((*many, len(linkage.joints)))
    for k, joint in enumerate(linkage.joints):
        if joint.has_angle:
            angles[..., k] = linkage_start.angles_of(joint, images[..., k, :], state.orientation)
    shifts = np.zeros(angles.shape)
    if _has_screws(linkage):
        shifts[:] = linkage_start.shifts_of(linkage, state.position, state.orientation)
    q = rotations.multiply(state.orientation, frames)
    y = rotations.rotate(rotations.conjugate(frames), state.angular_momentum)
    clock = np.zeros((*many, 3))
    clock[..., 0] = state.time
    parts = state.position, q, state.momentum, y, linkage.principal_images(images), angles, shifts, clock
    return np.concatenate([part.reshape(*many, -1) for part in parts], axis=-1)


def _has_screws(linkage: Linkage) -> bool:
    return any(joint.rows[-1][0] == SCREW for joint in linkage.joints)


def _unpack(linkage: Linkage, z: Array, time: float) -> State:
    n = linkage.count
    frames = np.array([body.frame for body in linkage.bodies])
    q = rotations.multiply(z[3 * n : 7 * n].reshape(n, 4), rotations.conjugate(frames))
    y = rotations.rotate(frames, z[10 * n : 13 * n].reshape(n, 3))
    r, p = z[: 3 * n].reshape(n, 3).copy(), z[7 * n : 10 * n].reshape(n, 3).copy()
    return State({"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, time)
