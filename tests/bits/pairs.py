"""The pairs of system and method whose bits are compared: every system and form, every family of methods.

Written with public names alone: the same text runs in a checkout of any age. Each pair says what to run, in a few milliseconds once
it is compiled; where the order of operations matters (tiles, blocks of rows, both levels, loops, refilled starts) there is a pair for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

import catena as ct

TURNED = (0.7, 0.5, -0.1, 0.5)  # a unit quaternion
SPIN = (0.8, -0.5, 0.6)


@dataclass(frozen=True)
class Pair:
    """A system, where it starts, a method, and how it is run: `many` starts make an ensemble of it."""

    system: Any
    start: Any
    method: Any
    dt: float
    steps: int = 40
    many: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)


Make = Callable[[], Pair]
PAIRS: dict[str, Make] = {}


def add(name: str, problem: Callable[[], tuple[Any, Any, float]], method: Callable[[], Any], **how: Any) -> None:
    """Put a pair on the list; nothing of it is made before it is run."""

    def make() -> Pair:
        system, start, dt = problem()
        options = {key: value() if callable(value) else value for key, value in how.items()}
        return Pair(system, start, method(), dt, **options)

    assert name not in PAIRS, name
    PAIRS[name] = make


def built_in(name: str, *arguments: Any) -> Callable[[], tuple[Any, Any, float]]:
    """A problem of the library."""

    def problem() -> tuple[Any, Any, float]:
        found = getattr(ct.problems, name)(*arguments)
        return found.system, found.start, found.dt

    return problem


# Hamiltonians


def henon_heiles() -> tuple[Any, Any, float]:
    system = ct.problems.henon_heiles().system
    return system, system.start(q=[0.2, -0.3], p=[0.35, 0.25]), 0.2


def nonseparable() -> tuple[Any, Any, float]:
    system = ct.problems.pendulum().system
    return system, system.start(q=[1.3], p=[0.4]), 0.3


def fermi() -> tuple[Any, Any, float]:
    """Forty oscillators: terms of one shape, which become loops over tables."""
    n = 40
    names = [f"q{i}" for i in range(1, n + 1)]
    stretch = ["q1", *(f"({b} - {a})" for a, b in pairwise(names)), f"q{n}"]
    text = " + ".join([f"p{i}**2/2" for i in range(1, n + 1)] + [f"{s}**2/2 + {s}**4/8" for s in stretch])
    system = ct.Hamiltonian(text, names, [f"p{i}" for i in range(1, n + 1)])
    places = np.arange(1, n + 1)
    return system, system.start(q=np.sin(np.pi * places / (n + 1)), p=np.zeros(n)), 0.1


for title, method in {
    "Euler A": lambda: ct.EulerA(),
    "Euler B": lambda: ct.EulerB(),
    "Verlet": lambda: ct.StormerVerlet(),
    "Verlet B": lambda: ct.StormerVerlet(variant="B"),
    "kahanli8": lambda: ct.Composition(ct.StormerVerlet(), "kahanli8"),
    "splitting 6": lambda: ct.Splitting(6),
    "Nystrom 4": lambda: ct.Nystrom4(),
    "RK4": lambda: ct.RK4(),
    "Gauss 3": lambda: ct.Gauss(3),
    "Gauss 2 by Newton": lambda: ct.Gauss(2, solver="newton"),
    "Radau 3": lambda: ct.RadauIIA(3),
    "Sun": lambda: ct.SunGeng(),
    "midpoint": lambda: ct.ImplicitMidpoint(),
}.items():
    add(f"Henon-Heiles, {title}", henon_heiles, method)
add("pendulum, Gauss 4", nonseparable, lambda: ct.Gauss(4))
add("pendulum, implicit Euler", nonseparable, lambda: ct.ImplicitEuler())
add("Kepler, splitting 8", built_in("kepler", 0.6), lambda: ct.Splitting(8))
add("galactic, Gauss 6", built_in("galactic"), lambda: ct.Gauss(6))
add("galactic, Taylor", built_in("galactic"), lambda: ct.Taylor())
add("Fermi, splitting 4", fermi, lambda: ct.Splitting(4))
add("Fermi, Gauss 2", fermi, lambda: ct.Gauss(2))
add(
    "Henon-Heiles with a section and an event", henon_heiles, lambda: ct.Splitting(4), steps=400,
    options=lambda: {"sections": [ct.Section("x", "q1")], "events": [ct.Event("far", "q2 - 0.1")]},
)  # fmt: skip


# One body


def free_body() -> tuple[Any, Any, float]:
    system = ct.FreeBody(ct.Body(moments=(0.6, 0.9, 1.3)))
    return system, system.start(TURNED, angular_momentum=(0.7, -0.5, 0.9)), 0.2


def top(form: str, moments: tuple[float, float, float], center: tuple[float, float, float]) -> Any:
    def problem() -> tuple[Any, Any, float]:
        system = ct.Top(ct.Body(moments=moments), ct.Gravity(1.0, center), form)  # type: ignore[arg-type]
        return system, system.start(TURNED, angular_momentum=(0.4, -0.6, 1.1)), 0.1

    return problem


skew = top("quaternion", (0.9, 1.3, 0.7), (0.3, -0.4, 1.0))
symmetric = top("quaternion", (1.0, 1.0, 0.5), (0.0, 0.0, 1.0))
multiplier = top("multiplier", (0.9, 1.3, 0.7), (0.3, -0.4, 1.0))


def scaling(constraint: str) -> Any:
    def problem() -> tuple[Any, Any, float]:
        loads = [ct.Load(0, (0.3, -0.2, 0.4), force=(0.1, 0.2, -0.5))]
        body = ct.Body(mass=1.5, moments=(2.0, 3.0, 4.0))
        system = ct.ScalingBody(body, constraint, forces=loads)  # type: ignore[arg-type]
        rate = {} if constraint == "equality" else {"scale_rate": 0.2, "scale": 0.8}
        return system, system.start(TURNED, velocity=(0.3, -0.1, 0.2), angular_velocity=(0.7, -1.1, 0.5), **rate), 0.1

    return problem


for title, method in {
    "Jacobi": lambda: ct.Jacobi(),
    "DMV 2": lambda: ct.DMV(2),
    "DMV 10": lambda: ct.DMV(10),
    "DMV exact": lambda: ct.DMV("exact"),
    "three rotations": lambda: ct.ThreeRotations(),
    "symmetric rotation": lambda: ct.SymmetricRotation(),
    "Rattle": lambda: ct.Rattle(),
    "Gauss 3": lambda: ct.Gauss(3),
}.items():
    add(f"free body, {title}", free_body, method)
for title, method in {
    "splitting 2": lambda: ct.Splitting(2),
    "splitting 6, DMV": lambda: ct.Splitting(6, rotor=ct.DMV(10)),
    "Gauss 4": lambda: ct.Gauss(4),
    "Nystrom 4": lambda: ct.Nystrom4(),
    "QUAT-EM": lambda: ct.QuatEM(),
    "Rattle": lambda: ct.Rattle(),
}.items():
    add(f"top, {title}", skew, method)
add("symmetric top, splitting 4", symmetric, lambda: ct.Splitting(4))
add("top, Nystrom 6", skew, lambda: ct.Nystrom6())
add("symmetric top, Lagrange", symmetric, lambda: ct.Lagrange())
add("top with multiplier, Gauss 2", multiplier, lambda: ct.Gauss(2))
add("Euler angles of a top, Gauss 3", built_in("symmetric_top"), lambda: ct.Gauss(3))
for constraint in ("none", "equality", "unilateral"):
    add(f"scaling body, {constraint}", scaling(constraint), lambda: ct.EnergyMomentum())
add("scaling body, Gauss 3", scaling("none"), lambda: ct.Gauss(3))


# Chains


def chain(
    n: int, potential: Callable[[], Any], *, form: str = "quaternion", mixed: bool = False, clamped: bool = True
) -> Any:
    """Tetrahedra in a bent row; with `mixed` every second body has a fifth particle."""

    def problem() -> tuple[Any, Any, float]:
        plain = ct.Body.tetrahedron()
        fifth = ct.Body.from_particles(
            [(-0.5, -0.3, -0.2), (0.5, -0.3, -0.2), (0, 0.7, -0.2), (0, 0, 0.8), (0, 0, -0.5)]
        )
        bodies = [fifth if mixed and i % 2 else plain for i in range(n)]
        ends = (ct.Clamped(), ct.Force((1.0, 0.5, 0.0))) if clamped else (ct.Free(), ct.Free())
        system = ct.Chain(bodies, potential(), *ends, gravity=(0.0, 0.1, -0.2), form=form)  # type: ignore[arg-type]
        place = np.arange(n)
        position = np.stack([2.2 * place, 0.1 * (place % 2), -0.05 * place], axis=1)
        turned = np.stack([np.ones(n), 0.02 * (place % 5), -0.03 * (place % 3), 0.04 * (place % 2)], axis=1)
        turned /= np.linalg.norm(turned, axis=1)[:, None]
        moving = np.stack([0.1 * np.sin(place), -0.2 * np.cos(place), 0.05 * place / n], axis=1)
        if clamped:
            moving[0] = 0.0
        return system, system.start(position, turned, velocity=moving, angular_velocity=2.0 * moving), 0.02

    return problem


def lennard_jones() -> Any:
    return ct.LennardJones(5.0, 1.0)


def morse() -> Any:
    return ct.Morse(5.0, 3.0, 1.1)


def text_potential() -> Any:
    return ct.PairPotential("a*(r - b)**2/(1 + r**2)", {"a": 2.0, "b": 1.0})


def bend_twist() -> Any:
    return ct.BendTwist(stretch=30.0, bend=4.0, twist=3.0, d0=(2.2, 0.0, 0.0))


def elastic() -> Any:
    stiffness = [[(30.0 if i == j else 0.5) for j in range(6)] for i in range(6)]
    return ct.Elastic(stiffness, ([0.1, 0.0, 0.2], [2.2, 0.0, 0.1]), "exponential", "middle")


tile = chain(24, lennard_jones)
small = chain(3, lennard_jones)
for title, made, method in (
    ("tiles, Strang", tile, lambda: ct.Splitting(2)),
    ("tiles, splitting 4", tile, lambda: ct.Splitting(4)),
    ("tiles, three rotations", tile, lambda: ct.Splitting(2, rotor=ct.ThreeRotations())),
    ("tiles, free ends", chain(17, lennard_jones, clamped=False), lambda: ct.Splitting(2)),
    ("mixed bodies, Strang", chain(9, lennard_jones, mixed=True), lambda: ct.Splitting(2)),
    ("Morse and mixed bodies, Strang", chain(9, morse, mixed=True), lambda: ct.Splitting(2)),
    ("text, Strang", chain(6, text_potential), lambda: ct.Splitting(2)),
    ("bend and twist, Strang", chain(6, bend_twist), lambda: ct.Splitting(2)),
    ("elastic, Strang", chain(9, elastic), lambda: ct.Splitting(2)),
    ("bend and twist, Gauss 2 by Newton", chain(6, bend_twist), lambda: ct.Gauss(2, solver="newton")),
    ("Gauss 3", small, lambda: ct.Gauss(3)),
    ("RK4", small, lambda: ct.RK4()),
    ("Rattle", small, lambda: ct.Rattle()),
    ("Verlet", small, lambda: ct.StormerVerlet()),
    ("rotations, splitting 4", chain(3, lennard_jones, form="rotation"), lambda: ct.Splitting(4)),
    ("rotations, Rattle", chain(3, lennard_jones, form="rotation"), lambda: ct.Rattle()),
    ("multiplier, Gauss 2", chain(3, lennard_jones, form="multiplier"), lambda: ct.Gauss(2)),
):  # fmt: skip
    add(f"chain, {title}", made, method)
add("helix, default method", built_in("helix_chain"), lambda: None)


def ring() -> tuple[Any, Any, float]:
    """Six bodies with the energy of a rod, on a twisted circle."""
    system = ct.Chain([ct.Body.box((0.6, 0.8, 1.0), mass=1.0)] * 6, bend_twist(), closed=True)
    return system, system.ring(2.1, linking_number=1), 0.02


add("ring, tiles, Strang", built_in("ring_chain"), lambda: ct.Splitting(2))
add("ring, bend and twist, Gauss 2 by Newton", ring, lambda: ct.Gauss(2, solver="newton"))
add("discs, Gauss 2", built_in("disc_chain"), lambda: ct.Gauss(2), steps=10)


# Linkages


def arm(kept: str = "every force") -> tuple[Any, Any, float]:
    """A ball joint on the ground, a hinge below it, every kind of force; or those with a potential and loads; or none."""
    damped = kept == "every force"
    first, second = ct.Body.box((0.3, 0.5, 1.0), mass=1.0), ct.Body.box((0.2, 0.3, 0.8), mass=0.7)
    joints = [
        ct.Spherical(-1, 0, at=((0, 0, 0), (0.1, 0, 0.5))),
        ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0.1, 0.4)), axis=(1, 0.2, 0)),
    ]
    forces = [
        ct.Torsion(1, "0.8*(1 - cos(theta - 0.3))", damping=0.05 * damped),
        ct.Load(1, (0.0, 0.1, -0.3), force=(0.2, 0.1, 0.0), torque=(0.0, 0.05, 0.1)),
        ct.Spring(-1, 1, at=((1.0, 0.5, -0.5), (0.0, 0.0, -0.4)), k=2.0, length=0.4),
        *([ct.Damper(0, 1, at=((0.1, 0.0, 0.2), (0.0, 0.1, -0.2)), c=0.1)] if damped else []),
    ]
    system = ct.Linkage([first, second], joints, [] if kept == "no force" else forces, gravity=(0, 0, -2.0))
    start = system.start(orientation=[TURNED, TURNED], angular_velocity=[SPIN, SPIN], project=True)
    return system, start, 0.02


def all_joints() -> tuple[Any, Any, float]:
    """A tree with every kind of joint, in free flight."""
    kinds = [ct.Revolute, ct.Prismatic, ct.Cylindrical, ct.Universal, ct.Screw, ct.Planar, ct.Spherical]
    bodies = [ct.Body.box((0.3, 0.5, 1.0 + 0.1 * i), mass=1.0 + 0.2 * i) for i in range(len(kinds) + 1)]
    joints = []
    for i, kind in enumerate(kinds):
        more: dict[str, Any] = {"axis": (1.0, 0.2 * i, 0.1)}
        if kind is ct.Spherical:
            more = {}
        elif kind is ct.Screw:
            more["pitch"] = 0.3
        joints.append(kind(i, i + 1, at=((0, 0.1, -0.5), (0.1, 0, 0.5)), **more))
    system = ct.Linkage(bodies, joints, gravity=(0, 0, 0))
    still = [(0.0, 0.0, 0.0)] * len(bodies)
    turning = [SPIN] * len(bodies)
    return system, system.start(velocity=still, angular_velocity=turning, project=True), 0.02


def forced_tree() -> tuple[Any, Any, float]:
    """Hinges, a rigid joint, ball joints and a free body under torsions, loads in t and forces of the ground: the sweeps of a tree."""
    bodies = [ct.Body.box((0.3, 0.5, 0.8 + 0.1 * i), mass=1.0 + 0.2 * i) for i in range(6)]
    at = ((0.1, 0, -0.5), (0, 0.1, 0.4))
    joints = [
        ct.Spherical(-1, 0, at=((0, 0, 0), (0.1, 0, 0.5))),
        ct.Revolute(0, 1, at=at, axis=(1, 0.2, 0)),
        ct.Rigid(1, 2, at=at),
        ct.Revolute(1, 3, at=at, axis=(0.1, 1, 0)),
        ct.Spherical(3, 4, at=at),
    ]
    forces = [
        ct.Torsion(1, "0.8*(1 - cos(theta - 0.3))", damping=0.05),
        ct.Torsion(3, "0.3*theta**2"),
        ct.Load(2, (0.0, 0.1, -0.3), force=("0.2*sin(3*t)", 0.1, 0.0), torque=(0.0, 0.05, 0.1)),
        ct.Load(5, (0.1, 0.0, 0.2), force=(0.0, 0.1, 0.3)),
        ct.Spring(-1, 4, at=((1.0, 0.5, -0.5), (0.0, 0.0, -0.4)), k=2.0, length=0.4),
        ct.Damper(3, -1, at=((0.0, 0.1, -0.2), (0.5, 0.0, 0.2)), c=0.1),
        ct.SitePair(-1, 5, at=((0.0, 2.0, 2.0), (0.1, 0.0, 0.0)), potential=ct.LennardJones(0.2, 1.0)),
    ]
    system = ct.Linkage(bodies, joints, forces, gravity=(0, 0.1, -2.0))
    turning = [(0.8 - 0.1 * i, -0.5, 0.2 * i) for i in range(6)]
    return system, system.start(orientation=[TURNED] * 6, angular_velocity=turning, project=True), 0.02


def twisted_ring() -> tuple[Any, Any, float]:
    """A ring of hinges with torsions on one of the tree and on the closing one, a damper across, a spring, a load."""
    problem = ct.problems.four_bar()
    ring: Any = problem.system
    forces = [
        ct.Torsion(0, "0.4*(1 - cos(theta))", damping=0.02),
        ct.Torsion(len(ring.joints) - 1, "0.3*theta**2", damping=0.03),
        ct.Damper(0, 2, at=((0.1, 0, 0.1), (0, 0.1, 0)), c=0.1),
        ct.Spring(-1, 1, at=((0, 0.5, -0.5), (0, 0.1, 0)), k=1.0, length=0.2),
        ct.Load(1, (0, 0.1, 0), force=(0.0, "0.1*cos(t)", 0.2), torque=(0.05, 0, 0)),
    ]
    return ct.Linkage(ring.bodies, ring.joints, forces, ring.gravity), problem.start, problem.dt


for title, made, method in (
    ("both levels", arm, lambda: ct.EnergyMomentum()),
    ("published", arm, lambda: ct.EnergyMomentum(level="position")),
    ("directors", lambda: arm("no force"), lambda: ct.EnergyMomentum(variables="directors")),
    ("Rattle", lambda: arm("no damper"), lambda: ct.Rattle()),
    ("Gauss 3", arm, lambda: ct.Gauss(3, solver="fixed-point")),
    ("RK4", arm, lambda: ct.RK4()),
    ("Radau 3", arm, lambda: ct.RadauIIA(3)),
):
    add(f"arm, {title}", made, method)
add("tree under forces, both levels", forced_tree, lambda: ct.EnergyMomentum())
add("tree under forces, published", forced_tree, lambda: ct.EnergyMomentum(level="position"))
add("tree under forces, Radau 2", forced_tree, lambda: ct.RadauIIA(2))
add("twisted ring, Gauss 2", twisted_ring, lambda: ct.Gauss(2, solver="newton"))
add("twisted ring, both levels", twisted_ring, lambda: ct.EnergyMomentum())
add("all joints, both levels", all_joints, lambda: ct.EnergyMomentum())
add("all joints, Rattle", all_joints, lambda: ct.Rattle())
add("all joints, published", all_joints, lambda: ct.EnergyMomentum(level="position"))
add("all joints, Gauss 2", all_joints, lambda: ct.Gauss(2, solver="fixed-point"))
add("hanging hinges, both levels", built_in("hanging_chain", "revolute", 12), lambda: ct.EnergyMomentum())
add("hanging balls, published", built_in("hanging_chain", "spherical", 12), lambda: ct.EnergyMomentum(level="position"))
add("molecule, both levels", built_in("molecule"), lambda: ct.EnergyMomentum(), steps=10)
for ring in ("four_bar", "bricard", "bennett", "six_ring"):
    add(f"{ring}, Gauss 2", built_in(ring), lambda: ct.Gauss(2))
for ring in ("four_bar", "bricard"):
    add(f"{ring}, both levels", built_in(ring), lambda: ct.EnergyMomentum())


# Ensembles


def shaken(problem: Callable[[], tuple[Any, Any, float]], name: str) -> Callable[[], list[Any]]:
    """Five starts that differ in one field."""

    def starts() -> list[Any]:
        _, start, _ = problem()
        return [ct.State({**start.fields, name: start.fields[name] * (1.0 + 0.01 * k)}, 0.0) for k in range(5)]

    return starts


# In a heat bath

add("Henon-Heiles, Langevin", henon_heiles, lambda: ct.Langevin(0.01, 1.0, seed=7), options={"every": 5})
add("helix, Langevin", built_in("helix_chain"), lambda: ct.Langevin(0.3, 0.5, seed=7), options={"every": 5})
add(
    "top, Langevin, resistance", skew,
    lambda: ct.Langevin(0.5, ct.Friction(resistance=((1.0, 0.2, 0.0), (0.2, 0.8, 0.1), (0.0, 0.1, 0.5))), seed=7),
)  # fmt: skip
add(
    "hinges, Langevin",
    built_in("hanging_chain", "revolute", 3),
    lambda: ct.Langevin(0.3, 0.5, seed=7),
    options={"every": 5},
)
add("Henon-Heiles, hybrid Monte Carlo", henon_heiles, lambda: ct.HybridMonteCarlo(0.01, substeps=4, seed=7))

add("ensemble of Henon-Heiles", henon_heiles, lambda: ct.Splitting(6), many=shaken(henon_heiles, "p"))
add("ensemble of free bodies", free_body, lambda: ct.DMV(10), many=shaken(free_body, "angular_momentum"))
add(
    "ensemble of chains, with samples", tile, lambda: ct.Splitting(2), many=shaken(tile, "momentum"),
    options={"keep": "samples", "every": 10},
)  # fmt: skip
