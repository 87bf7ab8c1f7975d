"""What a run of linked bodies is measured by: energy, momentum, and how well the joints hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...geometry.quaternion import load4, square
from ...geometry.vectors import add, add3, clear, cross, diagonal_times, dot, largest, load3, scaled, subtract
from ...kernels.marks import optional
from ..base import Array, Invariant
from ..chain.motion import publish_momenta, publish_orientation
from ..numbers import Vector
from ..sampled import depends_on_time
from .director_form.clock import gravity_now, time_place, torsion_energy
from .director_form.drives import set_drives
from .director_form.forces import between_points, point_energy
from .director_form.rows import to_space, values_at
from .director_form.steps import set_node
from .joint_forces import Damper, Load, OnAngle, OnParticles, Prescribed
from .joints import GROUND, Spherical
from .layout import Joint, Link, Node, Scratch, Space, Values
from .particle_forces import External

if TYPE_CHECKING:
    from .linkage import Linkage


def invariants_of(linkage: Linkage) -> tuple[Invariant, ...]:
    """What is measured, in the order in which `measure_linkage` writes it."""
    kept = [
        _number("energy", "energy, less the work of loads, motors and dampers, and of what depends on time", "energy"),
        _number("joint_position_residual", "largest row of the joints", "joint_position"),
        _number("joint_velocity_residual", "its largest rate", "joint_velocity"),
        _number("unit_residual", "|q|^2 - 1 of the worst body", "unit", "quadratic"),
    ]
    kind = find_kept_momentum(linkage)[0]
    if kind == 1:
        about = "angular momentum about the vertical through the fixed point"
        kept.append(_number("vertical_momentum", about, "vertical", "bilinear", "quadratic"))
    if kind == 2:
        tags = frozenset({"bilinear", "quadratic"})
        kept.append(Invariant("total_momentum", (3,), ("xyz",), "momentum", tags | {"linear"}))
        kept.append(Invariant("total_angular_momentum", (3,), ("xyz",), "angular momentum", tags))
    if does_work(linkage):
        kept.append(_number("damping_work", "work of the dampers", "work"))
        kept.append(_number("load_work", "work of loads and motors, and of what depends on time", "work"))
    return tuple(kept)


def _number(name: str, about: str, *tags: str) -> Invariant:
    return Invariant(name, (), (), about, frozenset(tags))


def does_work(linkage: Linkage) -> bool:
    """Whether anything acts that has no potential, or one that changes with t."""
    changing = linkage.signals.change_potentials or linkage.acting.terms.in_time
    return changing or any(
        isinstance(force, Damper | Load | Prescribed)
        or (isinstance(force, OnAngle) and (force.dissipates or "motor_torque" in force.quantities))
        for force in linkage.forces
    )


def find_kept_momentum(linkage: Linkage) -> tuple[int, Array, Array]:
    """Which momentum is kept (0 none, 1 the angular one about the vertical line, 2 both with all components), a point of the vertical line, and its direction."""
    gravity = _steady(linkage)
    if gravity is None:
        return 0, np.zeros(3), np.array((0.0, 0.0, 1.0))
    strength = float(np.linalg.norm(gravity))
    up = np.array((0.0, 0.0, 1.0)) if strength == 0.0 else -gravity / strength
    held: list[tuple[Vector, bool]] = [
        (joint.at[0], isinstance(joint, Spherical)) for joint in linkage.joints if joint.parent == GROUND
    ]
    for force in linkage.forces:
        if isinstance(force, Load | External):
            return 0, np.zeros(3), up
        if not isinstance(force, OnAngle | Prescribed | OnParticles) and GROUND in (force.i, force.j):
            held.append((force.at[0 if force.i == GROUND else 1], True))
    if not held:
        return (2 if strength == 0.0 else 1), np.zeros(3), up
    foot = np.array(held[0][0])
    for point, free in held:
        away = np.array(point) - foot
        if not free or np.linalg.norm(away - up * (away @ up)) > 1e-12 * max(1.0, float(np.linalg.norm(foot))):
            return 0, np.zeros(3), up
    return 1, foot, up


def _steady(linkage: Linkage) -> Array | None:
    """Gravity, or a vector along it if only its strength may change with t; None if its direction does."""
    if not linkage.signals.gravity_moves:
        return linkage.gravity
    acting = [depends_on_time(part) or part != 0.0 for part in linkage.given_gravity]
    return -np.array(acting, dtype=float) if sum(acting) == 1 else None


# places of what is measured; behind them, if any, the two works
ENERGY, POSITION, VELOCITY, UNIT, MOMENTUM = 0, 1, 2, 3, 4


def measure_linkage(z, par, out, scale):
    """Energy, residuals of the joints, |q|^2 - 1, momentum, work: the invariants of `invariants_of`."""
    set_node(z, 1.0, par)
    time = z[time_place(par)]
    set_drives(time, time, time, time, 1.0, par)
    node = par.node[0]
    damped = time_place(par) + 1
    clear(out, out.shape[0])
    out[ENERGY] = -z[damped] - z[damped + 1]
    scale[ENERGY] = max(scale[ENERGY], max(abs(z[damped]), abs(z[damped + 1])))
    scale[UNIT] = 1.0
    for i in range(par.mass.shape[0]):
        measure_body(z, i, par, out, scale)
        momentum_part(node[i], i, par, out, scale)
    for f in range(par.force_sort.shape[0]):
        gap = par.scratch[Scratch.START_GAP : Scratch.END_GAP]
        add_energy(point_energy(f, between_points(f, node, par, gap), par), out, scale)
    measure_particles(z[damped - 1], par, out, scale)
    for k in range(par.link.shape[0]):
        if par.link[k, Link.TORSION] >= 0:
            add_energy(torsion_energy(par.joint[k, Joint.THETA], par.link[k, Link.TORSION], par), out, scale)
        measure_joint(k, node, par, out)
    if par.space[Space.WORK] == 1.0:
        last = out.shape[0] - 2
        for l in range(2):
            out[last + l] = z[damped + l]
            scale[last + l] = max(scale[last + l], abs(out[last + l]))


def publish_thin(z, par, row):
    """The public fields where some bodies are lines or points: spins without a moment have no momentum."""
    n = par.mass.shape[0]
    for j in range(n):
        publish_orientation(load4(z, 3 * n + 4 * j), par.frame[j], row, 3 * n + 4 * j)
        publish_momenta(z, j, diagonal_times(load3(par.has_moment[j], 0), load3(z, 10 * n + 3 * j)), par, row)


def add_energy(stored, out, scale):
    """Add an energy."""
    out[ENERGY] += stored
    scale[ENERGY] = max(scale[ENERGY], abs(stored))


def measure_body(z, i, par, out, scale):
    """Energy and length of the quaternion of body i; positions and velocities are what residuals are compared with."""
    n = par.mass.shape[0]
    own = par.node[0, i]
    m = par.mass[i]
    g = gravity_now(par)
    kinetic = 0.0
    weight = 0.0
    for l in range(3):
        v = own[Node.VELOCITY + l]
        w = own[Node.SPIN + l]
        kinetic += 0.5 * m * v * v + 0.5 * par.moments[i, l] * w * w
        weight -= m * g[l] * own[Node.POSITION + l]
    out[ENERGY] += kinetic + weight
    scale[ENERGY] = max(scale[ENERGY], max(kinetic, abs(weight)))
    scale[POSITION] = max(scale[POSITION], largest(load3(own, Node.POSITION)))
    scale[VELOCITY] = max(scale[VELOCITY], largest(load3(own, Node.VELOCITY)))
    unit = square(load4(z, 3 * n + 4 * i)) - 1.0
    if abs(unit) > abs(out[UNIT]):
        out[UNIT] = unit


def measure_joint(k, node, par, out):
    """How far the rows of joint k are off, and their rates."""
    joint = par.joint[k]
    scratch = par.scratch
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    values_at(k, node, par)
    if joint[Joint.PITCH] != 0.0:
        scratch[Scratch.VALUES + m - 1] -= joint[Joint.SHIFT] + joint[Joint.PITCH] * joint[Joint.THETA]
    for r in range(m):
        out[POSITION] = max(out[POSITION], abs(scratch[Scratch.VALUES + Values.PHI + r]))
        out[VELOCITY] = max(out[VELOCITY], abs(scratch[Scratch.VALUES + Values.RATE + r]))


@optional
def measure_particles(time, par, out, scale):
    """Add the energy of the particles at node 0."""


@optional
def momentum_part(own, i, par, out, scale):
    """Add what body i has of the momentum that is kept, if one is."""


def vertical_momentum(own, i, par, out, scale):
    """The angular momentum about the vertical line."""
    l, y = angular_momenta(own, par.mass[i], load3(par.moments[i], 0), par.space)
    out[MOMENTUM] += dot(load3(par.space, Space.UP), add(l, y))
    scale[MOMENTUM] = max(scale[MOMENTUM], abs(l[0]) + abs(l[1]) + abs(l[2]) + abs(y[0]) + abs(y[1]) + abs(y[2]))


def total_momentum(own, i, par, out, scale):
    """Momentum, and angular momentum about the origin."""
    p = scaled(par.mass[i], load3(own, Node.VELOCITY))
    l, y = angular_momenta(own, par.mass[i], load3(par.moments[i], 0), par.space)
    add3(out, MOMENTUM, p)
    add3(out, MOMENTUM + 3, add(l, y))
    for k in range(3):
        scale[MOMENTUM + k] = max(scale[MOMENTUM + k], abs(p[k]))
        scale[MOMENTUM + 3 + k] = max(scale[MOMENTUM + 3 + k], abs(l[k]) + abs(y[k]))


def angular_momenta(own, m, j, space):
    """m r x v about a point of the vertical line, and that of the rotation."""
    r = subtract(load3(own, Node.POSITION), load3(space, Space.FOOT))
    spin = to_space(own, diagonal_times(j, load3(own, Node.SPIN)))
    return cross(r, scaled(m, load3(own, Node.VELOCITY))), spin
