"""What a run of linked bodies is measured by: energy, momentum, and how well the joints hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel import slot
from ..base import Array, Invariant
from .blocks import torsion_energy
from .forces import between_points, point_energy
from .joint_forces import Damper, Load, Torsion
from .joints import GROUND, Spherical
from .layout import Joint, Link, Pair, Scratch, Space
from .rows import cross, pair_at, row_values, times
from .steps import set_node

if TYPE_CHECKING:
    from .linkage import Linkage


def invariants_of(linkage: Linkage) -> tuple[Invariant, ...]:
    """What is measured, in the order in which `measure_linkage` writes it."""
    kept = [
        Invariant("energy", (), (), "energy, less the work of loads and dampers", frozenset({"energy"})),
        Invariant("joint_position_residual", (), (), "largest row of the joints", frozenset({"joint_position"})),
        Invariant("joint_velocity_residual", (), (), "its largest rate", frozenset({"joint_velocity"})),
        Invariant("unit_residual", (), (), "|q|^2 - 1 of the worst body", frozenset({"unit", "quadratic"})),
    ]
    kind = kept_momentum(linkage)[0]
    if kind == 1:
        about = "angular momentum about the vertical through the fixed point"
        kept.append(Invariant("vertical_momentum", (), (), about, frozenset({"vertical", "bilinear", "quadratic"})))
    if kind == 2:
        kept += [
            Invariant("total_momentum", (3,), ("xyz",), "momentum", frozenset({"linear", "bilinear", "quadratic"})),
            Invariant(
                "total_angular_momentum", (3,), ("xyz",), "angular momentum", frozenset({"bilinear", "quadratic"})
            ),
        ]
    if does_work(linkage):
        kept += [
            Invariant("damping_work", (), (), "work of the dampers", frozenset({"work"})),
            Invariant("load_work", (), (), "work of the loads", frozenset({"work"})),
        ]
    return tuple(kept)


def does_work(linkage: Linkage) -> bool:
    """Whether anything acts that has no potential."""
    return any(
        isinstance(force, Damper | Load) or (isinstance(force, Torsion) and force.damping > 0.0)
        for force in linkage.forces
    )


def kept_momentum(linkage: Linkage) -> tuple[int, Array, Array]:
    """Which momentum is kept (0 none, 1 the angular one about the vertical line, 2 both with all components), a point of the vertical line, and its direction."""
    strength = float(np.linalg.norm(linkage.gravity))
    up = np.array((0.0, 0.0, 1.0)) if strength == 0.0 else -linkage.gravity / strength
    held: list[Any] = [
        (joint.at[0], isinstance(joint, Spherical)) for joint in linkage.joints if joint.parent == GROUND
    ]
    for force in linkage.forces:
        if isinstance(force, Load):
            return 0, np.zeros(3), up
        if not isinstance(force, Torsion) and GROUND in (force.i, force.j):
            held.append((force.at[0 if force.i == GROUND else 1], True))
    if not held:
        return (2 if strength == 0.0 else 1), np.zeros(3), up
    foot = np.array(held[0][0])
    for point, free in held:
        away = np.array(point) - foot
        if not free or np.linalg.norm(away - up * (away @ up)) > 1e-12 * max(1.0, float(np.linalg.norm(foot))):
            return 0, np.zeros(3), up
    return 1, foot, up


def measure_linkage(z, par, out, scale):
    """Energy, residuals of the joints, |q|^2 - 1, momentum, work: the invariants of `invariants_of`."""
    n = par.mass.shape[0]
    joints = par.link.shape[0]
    set_node(z, 1.0, par)
    node = par.node[0]
    extra = 13 * n + 6 * joints
    for l in range(out.shape[0]):
        out[l] = 0.0
    energy = -z[extra + 1] - z[extra + 2]
    largest = max(abs(z[extra + 1]), abs(z[extra + 2]))
    reach = 0.0
    speed = 0.0
    for i in range(n):
        own = node[i]
        m = par.mass[i]
        kinetic = 0.0
        weight = 0.0
        for l in range(3):
            kinetic += 0.5 * m * own[12 + l] * own[12 + l] + 0.5 * par.moments[i, l] * own[15 + l] * own[15 + l]
            weight -= m * par.space[Space.GRAVITY + l] * own[l]
            reach = max(reach, abs(own[l]))
            speed = max(speed, abs(own[12 + l]))
        energy += kinetic + weight
        largest = max(largest, kinetic, abs(weight))
        q = z[3 * n + 4 * i : 3 * n + 4 * i + 4]
        unit = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0
        if abs(unit) > abs(out[3]):
            out[3] = unit
        momentum_part(own, i, par, out, scale)
    for f in range(par.force_sort.shape[0]):
        stored = point_energy(
            f, between_points(f, node, par, par.scratch[Scratch.START_GAP : Scratch.START_GAP + 3]), par
        )
        energy += stored
        largest = max(largest, abs(stored))
    for k in range(joints):
        if par.link[k, Link.TORSION] >= 0:
            stored = torsion_energy(par.joint[k, Joint.THETA], par.link[k, Link.TORSION], par)
            energy += stored
            largest = max(largest, abs(stored))
        first = par.link[k, Link.FIRST_ROW]
        end = par.link[k, Link.END_ROW]
        m = end - first
        pair_at(
            node,
            par.link[k, Link.PARENT],
            par.link[k, Link.CHILD],
            par.scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH],
        )
        row_values(
            par.joint[k], par.row[first:end], par.row_sort[first:end], par.scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH],
            par.scratch[Scratch.VALUES : Scratch.VALUES + 6], par.scratch[Scratch.VALUES + 6 : Scratch.VALUES + 12],
        )  # fmt: skip
        if par.joint[k, Joint.PITCH] != 0.0:
            par.scratch[Scratch.VALUES + m - 1] -= (
                par.joint[k, Joint.SHIFT] + par.joint[k, Joint.PITCH] * par.joint[k, Joint.THETA]
            )
        for r in range(m):
            out[1] = max(out[1], abs(par.scratch[Scratch.VALUES + r]))
            out[2] = max(out[2], abs(par.scratch[Scratch.VALUES + 6 + r]))
    out[0] = energy
    scale[0] = max(scale[0], largest)
    scale[1] = max(scale[1], reach)
    scale[2] = max(scale[2], speed)
    scale[3] = 1.0
    if par.space[Space.WORK] == 1.0:
        last = out.shape[0] - 2
        out[last] = z[extra + 1]
        out[last + 1] = z[extra + 2]
        scale[last] = max(scale[last], abs(out[last]))
        scale[last + 1] = max(scale[last + 1], abs(out[last + 1]))


@slot
def momentum_part(own, i, par, out, scale):
    """Add what body i has of the momentum that is kept."""


def no_momentum(own, i, par, out, scale):
    """None is kept."""


def vertical_momentum(own, i, par, out, scale):
    """The angular momentum about the vertical line."""
    l1, l2, l3, y1, y2, y3 = angular_momenta(own, par.mass[i], par.moments[i], par.space)
    out[4] += (
        par.space[Space.UP] * (l1 + y1) + par.space[Space.UP + 1] * (l2 + y2) + par.space[Space.UP + 2] * (l3 + y3)
    )
    scale[4] = max(scale[4], abs(l1) + abs(l2) + abs(l3) + abs(y1) + abs(y2) + abs(y3))


def total_momentum(own, i, par, out, scale):
    """Momentum, and angular momentum about the origin."""
    l1, l2, l3, y1, y2, y3 = angular_momenta(own, par.mass[i], par.moments[i], par.space)
    for l in range(3):
        p = par.mass[i] * own[12 + l]
        out[4 + l] += p
        out[7 + l] += (l1 + y1, l2 + y2, l3 + y3)[l]
        scale[4 + l] = max(scale[4 + l], abs(p))
        scale[7 + l] = max(scale[7 + l], abs((l1, l2, l3)[l]) + abs((y1, y2, y3)[l]))


def angular_momenta(own, m, j, space):
    """m r x v about a point of the vertical line, and that of the rotation."""
    y1, y2, y3 = times(own[3:12], j[0] * own[15], j[1] * own[16], j[2] * own[17])
    r1, r2, r3 = own[0] - space[Space.FOOT], own[1] - space[Space.FOOT + 1], own[2] - space[Space.FOOT + 2]
    l1, l2, l3 = cross(r1, r2, r3, m * own[12], m * own[13], m * own[14])
    return l1, l2, l3, y1, y2, y3
