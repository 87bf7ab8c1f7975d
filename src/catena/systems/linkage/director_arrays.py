"""The arrays of the director form: parameters, and scratch; `layout` tells what stands where."""

from __future__ import annotations

import heapq
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...kernels.marks import Numbers
from ..base import Array
from ..potentials.pair_set import PairSet
from . import layout as at
from . import measures, traits
from .constraints import principal, principal_joint, sizes_of_inertia
from .director_form.forces import DAMPER, SITE_PAIR, SPRING
from .joint_forces import Damper, Load, OfDistance, Spring
from .joints import DISTANCE, DOT, POINT
from .tree import Tree

if TYPE_CHECKING:
    from .linkage import Linkage

Arrays = dict[str, Numbers]

SMALL = 2.0**-24  # masses and moments beside which rows of joints, products of directions, are too large
KINDS = {Spring: SPRING, Damper: DAMPER, OfDistance: SITE_PAIR}


def director_arrays(linkage: Linkage) -> tuple[Arrays, Arrays]:
    """What kernels see as `par`: parameters and scratch."""
    link, written = _joint_arrays(linkage)
    tree = np.full((linkage.count, at.Tree.WIDTH), -1, dtype=np.int64)
    tree[:, at.Tree.ORDER], tree[:, at.Tree.CARRIER] = linkage.tree.order, linkage.tree.carriers
    tree[:, at.Tree.FREEDOM] = freedoms = traits.joint_freedoms(linkage)
    tree[:, at.Tree.UNKNOWN] = np.cumsum(freedoms) - freedoms
    tree[:, at.Tree.PLACE] = table_places(linkage.tree)
    _, foot, up = measures.find_kept_momentum(linkage)
    made = {
        "mass": np.array([body.mass for body in linkage.bodies]),
        "moments": np.array([body.moments for body in linkage.bodies], dtype=float),
        "inertia_root": np.sqrt(_resisting(linkage)),
        "frame": np.array([body.frame for body in linkage.bodies]),
        "space": np.array(
            [*linkage.gravity, *foot, *up, measures.does_work(linkage), _arm(linkage), _weight(linkage)], dtype=float
        ),
        "tree": tree,
        "link": link,
    }
    made |= _force_arrays(linkage, tree, link)
    written |= _scratch(linkage, len(written["row"]))
    if linkage.particle_forces:
        made |= linkage.acting.arrays
        written |= linkage.acting.scratch() | {"particle_state": np.zeros((2, 7 * linkage.count + 1))}
    return made, written


def _joint_arrays(linkage: Linkage) -> tuple[NDArray[np.int64], Arrays]:
    """What joints connect; and their constants, which stand beside what each step writes there: images, angles, which rows are kept."""
    joints = linkage.joints
    rows = [traits.rows_of(linkage, k) for k in range(len(joints))]
    starts = [0, *np.cumsum([len(own) for own in rows]).tolist()]
    row, sort = np.zeros((starts[-1], at.Row.WIDTH)), np.zeros((starts[-1], at.RowSort.WIDTH), dtype=np.int64)
    sort[:, at.RowSort.KEPT], sort[:, at.RowSort.IMAGE], sort[:, at.RowSort.SIGNAL] = 1, -1, -1
    joint_values = np.zeros((len(joints), at.Joint.WIDTH))
    link = np.full((len(joints), at.Link.WIDTH), -1, dtype=np.int64)
    torsions = {number: (k, forces) for k, (number, forces) in enumerate(traits.torsions_of(linkage).items())}
    for k, joint in enumerate(joints):
        a, b, triad = principal_joint(linkage, joint)
        number, acting = torsions.get(k, (-1, ()))
        joint_values[k, at.Joint.CHILD_POINT : at.Joint.CHILD_POINT + 3] = b
        joint_values[k, at.Joint.PARENT_POINT : at.Joint.PARENT_POINT + 3] = a
        joint_values[k, at.Joint.TRIAD : at.Joint.TRIAD + 9] = triad.ravel()
        joint_values[k, [at.Joint.PITCH, at.Joint.LENGTH]] = joint.pitch, joint.length
        joint_values[k, at.Joint.DAMPING] = sum(force.viscosity for force in acting)
        link[k, : at.Link.FORCE] = (
            joint.parent, joint.child, *starts[k : k + 2], bool(acting) or joint.pitch != 0.0, number,
        )  # fmt: skip
        for r, (kind, first, second) in enumerate(rows[k], start=starts[k]):
            sort[r, at.RowSort.KIND] = kind
            if kind == POINT:
                sort[r, at.RowSort.POINT_AXIS] = first
                row[r, : at.Row.LENGTH] = *-a, *np.eye(3)[first], b[first]
            elif kind == DOT:
                sort[r, at.RowSort.IMAGE] = second
                row[r, : at.Row.Y] = triad[first]
            elif kind == DISTANCE:
                row[r, : at.Row.LENGTH] = *a, *b, joint.length
            else:
                row[r, : at.Row.LENGTH] = *triad[first], *b, -triad[first] @ a
        if k in linkage.signals.driven:
            sort[starts[k], at.RowSort.SIGNAL] = linkage.signals.driven[k]
    return link, {"joint": joint_values, "row": row, "row_sort": sort}


def _resisting(linkage: Linkage) -> Array:
    """(n, 3) moments, and what stands for those that a line or a point does not have where rows are compared."""
    made = np.array([body.moments for body in linkage.bodies], dtype=float)
    none = made == 0.0
    return np.where(none, sizes_of_inertia(linkage)[:, None], made) if none.any() else made


def _arm(linkage: Linkage) -> float:
    """The longest arm to the point of a joint, or of a force between points."""
    points = [point for joint in linkage.joints for point in joint.at]
    points += [point for force in traits.point_forces(linkage) for point in force.at]
    return max((float(np.linalg.norm(point)) for point in points), default=0.0)


def _weight(linkage: Linkage) -> float:
    """The size of the least mass or moment where that is small, such as those of atoms in kilograms; else 1.

    Pivots are the largest numbers of a column: where rows of joints stand beside masses below their rounding, that would be taken for a pivot.
    """
    least = min(min([body.mass, *(moment for moment in body.moments if moment > 0.0)]) for body in linkage.bodies)
    return 2.0 ** int(np.frexp(least)[1]) if least < SMALL else 1.0


def _force_arrays(linkage: Linkage, tree: NDArray[np.int64], link: NDArray[np.int64]) -> Arrays:
    """Forces and loads; those of a body or a joint form a list that begins in `tree` or `link`."""
    forces, loads = traits.point_forces(linkage), [force for force in linkage.forces if isinstance(force, Load)]
    values = np.zeros((len(forces), at.Force.WIDTH))
    sort = np.full((len(forces), at.ForceSort.WIDTH), -1, dtype=np.int64)
    potentials = [force.pair for force in forces if isinstance(force, OfDistance)]
    pairs = iter(range(len(potentials)))
    lists = {"joint": link[:, at.Link.FORCE], "ground": tree[:, at.Tree.GROUND_FORCE]}
    for f, force in enumerate(forces):
        first, second = principal(linkage, force.i, force.at[0]), principal(linkage, force.j, force.at[1])
        values[f, : at.Force.STIFFNESS] = *first, *second
        code = next(code for kind, code in KINDS.items() if isinstance(force, kind))
        sort[f, : at.ForceSort.POTENTIAL] = code, force.i, force.j
        if isinstance(force, Spring):
            values[f, at.Force.STIFFNESS :] = force.k, force.length
        elif isinstance(force, Damper):
            values[f, at.Force.STIFFNESS] = force.c
        else:
            sort[f, at.ForceSort.POTENTIAL] = next(pairs)
        kind, place = traits.place_of(linkage, force)
        if kind in lists:
            sort[f, at.ForceSort.NEXT], lists[kind][place] = lists[kind][place], f
    load, load_next = np.zeros((len(loads), at.Load.WIDTH)), np.full(len(loads), -1, dtype=np.int64)
    for f, acting in enumerate(loads):
        numbers = [c if isinstance(c, float) else 0.0 for c in acting.components]
        load[f] = *numbers, *principal(linkage, acting.body, acting.at)
        load_next[f], tree[acting.body, at.Tree.LOAD] = tree[acting.body, at.Tree.LOAD], f
    return {
        "force": values,
        "force_sort": sort,
        "load": load,
        "load_next": load_next,
        "pair": np.concatenate([PairSet(potentials).values, linkage.acting.constants]),
        "torsion": np.array([v for f in chain(*traits.torsions_of(linkage).values()) for v in f.constants] or [0.0]),
        **linkage.signals.arrays(),
    }


def _scratch(linkage: Linkage, rows: int) -> Arrays:
    n = linkage.count
    most = max((len(traits.rows_of(linkage, k)) for k in range(len(linkage.joints))), default=0)
    inner, unknowns = 12 + 2 * most, traits.unknown_count(linkage, both=True)
    dense, looped = traits.is_dense(linkage), bool(linkage.tree.loops)
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


def table_places(tree: Tree) -> list[int]:
    """A place for the table of each body, shared by bodies that do not need one at the same time: few stay in the cache."""
    places, free = [-1] * len(tree.order), list(range(len(tree.order)))
    for body in reversed(tree.order):
        for needed in (body, tree.parents[body]):
            if needed >= 0 and places[needed] < 0:
                places[needed] = heapq.heappop(free)
        heapq.heappush(free, places[body])
    return places
