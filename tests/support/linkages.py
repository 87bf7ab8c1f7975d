"""Linkages for the tests of the joint form, and their accelerations by multipliers on all joints."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.kernels import views
from catena.kernels.views import View
from catena.methods.base import Method
from catena.systems.base import State
from catena.systems.linkage import constraints
from catena.systems.linkage.joint_forces import Load, Spring
from catena.systems.linkage.joint_form import charts as articulated_charts
from catena.systems.linkage.joint_form import forces as articulated_forces
from catena.systems.linkage.joint_form import kernels as articulated_kernels
from catena.systems.linkage.joint_form import loops as articulated_loops
from catena.systems.linkage.joint_form.form import articulated_view, carry_time_and_work, pack_state, unpack_state
from catena.systems.linkage.joint_form.layout import layout_of
from catena.systems.linkage.joint_form.motion import BALL, TRANSLATION
from catena.systems.linkage.joints import Joint, Revolute, Screw, Spherical
from catena.systems.linkage.linkage import Linkage

RNG = np.random.default_rng


def measure_nothing(z, par, out, scale):
    """Nothing is measured."""


class Bare(Linkage):
    """A linkage that measures nothing and treats trees as loops without rows: one compiled program for all of them."""

    invariants = ()  # type: ignore[assignment]
    title = "Linkage"  # type: ignore[assignment]

    def view(self, name: str) -> View | None:
        view = articulated_view(self, name)
        if view is not None:
            view.fills.update(  # type: ignore[attr-defined]
                {
                    views.measure: measure_nothing,
                    articulated_kernels.apply_forces: articulated_forces.apply_all,
                    articulated_kernels.hold_loops: articulated_loops.respond_with_loops,
                    views.field: articulated_charts.closed_field,
                    views.step: articulated_charts.closed_step,
                    articulated_kernels.carry_along: carry_time_and_work,
                    articulated_forces.has_loops: 1,
                }
            )
        return (
            None if view is None else replace(view, factors=None)
        )  # the Jacobians of loops and trees are different programs


def turned(axis: int, angle: float) -> np.ndarray:
    """Quaternion of a rotation about a coordinate axis."""
    q = np.zeros(4)
    q[0], q[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return q


def box_chain(kind: type[Joint], angles: list[float], *, of: type[Linkage] = Bare) -> tuple[Linkage, State]:
    """Boxes that hang below each other; on ball joints the plane of the chain is rotated by 45 degrees."""
    axis: dict[str, Any] = {"axis": (1.0, 0.0, 0.0)} if kind is Revolute else {}
    joints = [
        kind(i - 1, i, at=((0, 0, -1.5 if i else 0.0), (0, 0, 1.5)), **axis)  # type: ignore[call-arg]
        for i in range(len(angles))
    ]
    chain = of([ct.Body(12.0, (9.25, 10.0, 1.25))] * len(angles), joints)
    plane = turned(1, np.pi / 4) if kind is Spherical else turned(1, 0.0)
    return chain, chain.start(orientation=[rotations.multiply(plane, turned(0, angle)) for angle in angles])


def molecule(*, of: type[Linkage] = Bare) -> tuple[Linkage, State]:
    """Four particles; 1, 2, 3 and 2, 3, 4 are rigid and hinged on the axis from 2 to 3, with a spring between 1 and 4."""
    x = np.array([(-0.7, 1.2, 0.0), (0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.1, -0.5, 1.0)])
    first, second = ct.Body.from_particles(x[:3], (15.0, 6.0, 6.5)), ct.Body.from_particles(x[1:], (6.0, 6.5, 16.0))
    hinge = Revolute(0, 1, at=(x[1] - first.center, x[1] - second.center), axis=x[2] - x[1])
    spring = Spring(0, 1, at=(x[0] - first.center, x[3] - second.center), k=30.0, length=3.0)
    linkage = of([first, second], [hinge], [spring], gravity=(0, 0, 0))
    velocity, turning = np.array([0.1, -0.2, 0.3]), np.array([0.4, 0.7, -0.5])
    other = turning + 1.1 * np.array([1.0, 0.0, 0.0])
    at_hinge = velocity + np.cross(turning, x[1] - x[0])
    velocities = [velocity + np.cross(turning, first.center - x[0]), at_hinge + np.cross(other, second.center - x[1])]
    return linkage, linkage.start([first.center, second.center], velocity=velocities, angular_velocity=[turning, other])


SQUEEZER_START = (
    -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885, 0.487364979543842550,
    -0.222668390165885885, 1.23054744454982119,
)  # fmt: skip


def squeezer(*, of: type[Linkage] = Bare) -> tuple[Linkage, State]:
    """Andrews' squeezing mechanism: seven flat bodies in a plane, three loops; angles beta, theta, gamma, phi, delta, Omega, epsilon."""
    masses = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
    inertias = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    a, b, c = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0), (0.014, 0.072, 0)
    parents = (-1, 0, -1, 4, -1, 6, -1)
    on_parent = (
        (0, 0, 0),
        (0.007 - 0.00092, 0, 0),
        b,
        (0.04 - 0.02308, -0.00916, 0),
        a,
        (0.00449, -0.04 + 0.01228, 0),
        a,
    )
    # centres of mass and loop points, relative to the hinge of each body
    centers = (
        (0.00092, 0),
        (-0.0115, 0),
        (0.01043, -0.01874),
        (0, -0.00579),
        (0.02308, 0.00916),
        (0.00579, 0),
        (-0.00449, -0.01228),
    )
    ends = {1: (-0.028, 0), 2: (0, -0.035), 3: (0, -0.02), 5: (0.02, 0)}
    bodies = [ct.Body(m, (i, i, i)) for m, i in zip(masses, inertias, strict=True)]
    hinges: list[Joint] = [
        Revolute(p, k, at=(on_parent[k], (-centers[k][0], -centers[k][1], 0)), image=(1, 0, 0, 0), axis=(0, 0, 1))
        for k, p in enumerate(parents)
    ]

    def end(k: int) -> tuple[float, float, float]:
        return ends[k][0] - centers[k][0], ends[k][1] - centers[k][1], 0.0

    loops = [Spherical(1, k, at=(end(1), end(k))) for k in (2, 3, 5)]
    spring = Spring(-1, 2, at=(c, (0.02 - centers[2][0], -0.018 - centers[2][1], 0)), k=4530.0, length=0.07785)
    mechanism = of(bodies, [*hinges, *loops], [spring, Load(0, torque=(0, 0, 0.033))], gravity=(0, 0, 0))
    be, th, ga, ph, de, om, ep = SQUEEZER_START
    angles = (be, be + th, ga, ph + de, de, om + ep, ep)
    return mechanism, mechanism.start(orientation=[turned(2, angle) for angle in angles])


def random_tree(
    kinds: list[type[Joint] | None], parents: list[int], seed: int, *, forces: Any = (), extra: Any = ()
) -> tuple[Linkage, np.ndarray, State]:
    """Bodies of random particles on random joints, somewhere in their range, moving: the linkage, z, and the state of z."""
    rng = RNG(seed)
    joints: list[Joint] = []
    for child, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        if kind is not None:
            more: dict[str, Any] = {} if not hasattr(kind, "axis") else {"axis": rng.normal(size=3)}
            more |= {"pitch": 0.3} if kind is Screw else {}
            joints.append(kind(parent, child, at=rng.normal(size=(2, 3)), **more))
    bodies = [ct.Body.from_particles(rng.normal(size=(7, 3)), rng.uniform(0.5, 2.0, 7)) for _ in kinds]
    linkage = Linkage(bodies, [*joints, *extra], forces, gravity=(0.3, -0.2, -9.81))
    still = linkage.start(
        orientation=[rotations.normalise(q) for q in rng.normal(size=(len(kinds), 4))], project=bool(extra)
    )
    z, layout = pack_state(linkage, still), layout_of(linkage)
    for k, node in enumerate(layout.nodes):
        place, rate = layout.links[k, 2:4]
        z[rate : rate + node.rates] = rng.normal(size=node.rates)
        if node.kind != BALL and node.coordinates:
            z[place : place + node.coordinates] = rng.normal(size=node.coordinates)
        if node.kind == TRANSLATION:
            z[place : place + 3] = rng.normal(size=3)
    return linkage, z, still


def closed_by(kind: type[Joint]) -> tuple[Linkage, State]:
    """Four bodies in a row on ball joints, free in space, and a joint from the first to the last, whose points meet."""
    rng = RNG(5)
    tree, _, still = random_tree([None, Spherical, Spherical, Spherical], [-2, 0, 1, 2], 7)
    r, q = still.position, still.orientation
    a = rng.normal(size=3)
    meets = r[0] + rotations.rotate(q[0], a)
    b = rotations.rotate(rotations.conjugate(q[3]), meets - r[3])
    more: dict[str, Any] = {"axis": rng.normal(size=3)} if hasattr(kind, "axis") else {}
    closing = kind(0, 3, at=(a, b), **(more | ({"pitch": 0.3} if kind is Screw else {})))
    linkage = Linkage(tree.bodies, [*tree.joints, closing], gravity=tree.gravity)
    motion = rng.normal(size=(4, 3))
    return linkage, linkage.start(r, q, velocity=rng.normal(size=(4, 3)), angular_velocity=motion, project=True)


def four_bars(lengths: tuple[float, float, float, float], angle: float, rate: float) -> tuple[Linkage, ct.State]:
    """A planar loop: ground from A = 0 to D along y, crank AB at an angle to it, BC, DC; no gravity, the crank
    turns."""
    ground, crank, coupler, rocker = lengths
    a, d = np.zeros(3), np.array([0.0, ground, 0.0])
    b = crank * np.array([0.0, math.cos(angle), math.sin(angle)])
    gap = d - b
    along = (gap @ gap + coupler**2 - rocker**2) / (2 * np.linalg.norm(gap))
    unit = gap / np.linalg.norm(gap)
    c = b + along * unit + math.sqrt(max(0.0, coupler**2 - along**2)) * np.array([0.0, -unit[2], unit[1]])
    bars = [(a, b), (b, c), (d, c)]
    middle = np.array([(p + q) / 2 for p, q in bars])
    ends = [(-1, 0, a), (0, 1, b), (-1, 2, d), (1, 2, c)]
    hinges = [ct.Revolute(i, j, (p - (0 if i < 0 else middle[i]), p - middle[j]), axis=(1, 0, 0)) for i, j, p in ends]
    linkage = Linkage([ct.Body(1.0, (0.1, 0.1, 0.1))] * 3, hinges, gravity=(0, 0, 0))
    # rates of coupler and rocker: the velocities of C agree
    across = [np.array([-v[2], v[1]]) for v in (b - a, c - b, c - d)]
    others = np.linalg.lstsq(np.array([across[1], -across[2]]).T, -rate * across[0], rcond=None)[0]
    turning = np.array([(rate, 0, 0), (others[0], 0, 0), (others[1], 0, 0)])
    at_b = np.cross(turning[0], b)
    velocity = [at_b / 2, at_b + np.cross(turning[1], middle[1] - b), np.cross(turning[2], middle[2] - d)]
    return linkage, linkage.start(middle, velocity=velocity, angular_velocity=turning)


def accelerations(linkage: Linkage, z: np.ndarray, *, moving: bool = True) -> np.ndarray:
    """(n, 2, 3) by the recursion, uncompiled; without `moving`, the velocity-dependent part c is omitted."""
    from catena.systems.linkage.joint_form.motion import Node

    program = build(linkage, ct.RK4(), compiled=False)
    par, out = program.new_par(), np.zeros_like(z)
    module = vars(program.module)
    ending = "_closed_field" if linkage.tree.loops else "_articulated_field"
    field: Callable[..., None] = next(v for name, v in module.items() if name.endswith(ending))
    if not moving:
        place = next(name for name in module if name.endswith("_place_nodes"))
        kept = module[place]

        def forgetful(z: np.ndarray, par: Any) -> None:
            kept(z, par)
            par.tree_nodes[:, Node.C : Node.C + 6] = 0.0

        module[place] = forgetful
    field(z, par, out)
    return np.array([par.tree_nodes[k, Node.XDOT : Node.XDOT + 6] for k in par.tree_home[: linkage.count]]).reshape(
        -1, 2, 3
    )


def accelerations_by_multipliers(
    linkage: Linkage, state: State, images: np.ndarray, forces: np.ndarray | None = None
) -> np.ndarray:
    """(n, 2, 3): M a + G^T lambda = f with all rows of all joints, d/dt (G x) by differences of fourth order."""
    x = constraints.velocities(linkage, state)

    def rate_at(h: float) -> np.ndarray:
        v = x.reshape(-1, 2, 3)
        half = 0.5 * h * np.linalg.norm(v[:, 1], axis=1)[:, None]
        turns = np.concatenate([np.cos(half), 0.5 * h * np.sinc(half / np.pi) * v[:, 1]], axis=1)
        q = rotations.multiply(turns, state.orientation)
        return constraints.gradients(linkage, state.position + h * v[:, 0], q, images=images) @ x

    h = 1e-3
    gamma = (8.0 * (rate_at(h) - rate_at(-h)) - (rate_at(2 * h) - rate_at(-2 * h))) / (12.0 * h)
    rows = constraints.gradients(linkage, state.position, state.orientation, images=images)
    mass = constraints.mass_matrix(linkage, state.orientation)
    acting = np.zeros((linkage.count, 2, 3)) if forces is None else forces.copy()
    for j, body in enumerate(linkage.bodies):
        w = x.reshape(-1, 2, 3)[j, 1]
        acting[j, 0] += body.mass * linkage.gravity
        acting[j, 1] -= np.cross(w, mass[6 * j + 3 : 6 * j + 6, 6 * j + 3 : 6 * j + 6] @ w)
    free = np.linalg.solve(mass, acting.ravel())
    spread = np.linalg.solve(mass, rows.T)
    lam = np.linalg.lstsq(rows @ spread, -(gamma + rows @ free), rcond=1e-10)[0]
    return (free + spread @ lam).reshape(-1, 2, 3)


def run_to(linkage: Linkage, start: State, method: Method, *, dt: float, steps: int, compiled: bool = True) -> Driver:
    """A run over some steps."""
    program = build(linkage, method, compiled=compiled)
    driver = Driver(program, program.view.pack(start), t0=start.time, dt=dt, every=1)
    chunk = driver.advance(steps)
    assert chunk.status == 0, f"step {driver.step + 1}: status {chunk.status}"
    return driver


def state_of(linkage: Linkage, driver: Driver) -> State:
    """The current state of a run."""
    return unpack_state(linkage, driver.z, driver.time)
