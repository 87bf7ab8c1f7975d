"""One small problem for each kind of system and form, on which the promises for the kind are measured.

Nothing vanishes by symmetry in them, unless the kind is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import catena as ct
from catena.running.plan import Problem
from catena.systems.base import SYSTEMS, State, System

TURNED = (0.7, 0.5, -0.1, 0.5)  # a unit quaternion


def _problem(name: str, system: System, start: State, dt: float) -> Problem:
    return Problem(name, system, start, dt)


def separable() -> Problem:
    """Henon and Heiles away from their axes."""
    system = ct.problems.henon_heiles().system
    return _problem("separable", system, system.start(q=[0.2, -0.3], p=[0.35, 0.25]), 0.2)  # type: ignore[attr-defined]


def not_separable() -> Problem:
    system = ct.problems.pendulum().system
    return _problem("not separable", system, system.start(q=[1.3], p=[0.4]), 0.3)  # type: ignore[attr-defined]


def free_body() -> Problem:
    system = ct.FreeBody(ct.Body(moments=(0.6, 0.9, 1.3)))
    return _problem("free body", system, system.start(TURNED, angular_momentum=(0.7, -0.5, 0.9)), 0.2)


def _top(form: Any, *, symmetric: bool) -> Problem:
    moments = (1.0, 1.0, 0.5) if symmetric else (0.9, 1.3, 0.7)
    center = (0.0, 0.0, 1.0) if symmetric else (0.3, -0.4, 1.0)
    system = ct.Top(ct.Body(moments=moments), ct.Gravity(1.0, center), form)
    start = system.start(TURNED, angular_momentum=(0.4, -0.6, 1.1))
    return _problem(f"{'symmetric ' if symmetric else ''}top, {form}", system, start, 0.2)


def _chain(form: Any, *, clamped: bool) -> Problem:
    """Two tetrahedra close to each other, drifting and turning; a third body in front if the end is clamped."""
    n = 3 if clamped else 2
    ends = (ct.Clamped(), ct.Force((1.0, 0.5, 0.0))) if clamped else (ct.Free(), ct.Free())
    system = ct.Chain([ct.Body.tetrahedron()] * n, ct.LennardJones(5.0, 1.0), *ends, form=form)
    position = [(2.1 * k, 0.1 * (k % 2), -0.05 * k) for k in range(n)]
    turned = [(1.0, 0.0, 0.0, 0.0), (0.98, 0.14, -0.1, 0.1), (0.98, -0.14, 0.1, 0.1)][:n]
    turned = [tuple(x / sum(y * y for y in q) ** 0.5 for x in q) for q in turned]
    still = [(0.0, 0.0, 0.0)] if clamped else []
    velocity = [*still, (0.1, -0.2, 0.15), (-0.05, 0.1, 0.2)][:n]
    turning = [*still, (0.2, 0.4, -0.3), (-0.1, 0.3, 0.2)][:n]
    start = system.start(position, turned, velocity=velocity, angular_velocity=turning)
    return _problem(f"{'clamped' if clamped else 'free'} chain, {form}", system, start, 0.05)


def linkage() -> Problem:
    """A ball joint on the ground, a hinge below it."""
    first, second = ct.Body.box((0.3, 0.5, 1.0), mass=1.0), ct.Body.box((0.2, 0.3, 0.8), mass=0.7)
    joints = [
        ct.Spherical(-1, 0, at=((0, 0, 0), (0.1, 0, 0.5))),
        ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0.1, 0.4)), axis=(1, 0.2, 0)),
    ]
    system = ct.Linkage([first, second], joints, [ct.Torsion(1, "0.8*(1 - cos(theta - 0.3))")], gravity=(0, 0, -2.0))
    spin = (0.8, -0.5, 0.6)
    start = system.start(orientation=[TURNED, TURNED], angular_velocity=[spin, spin], project=True)
    return _problem("linkage", system, start, 0.05)


def free_linkage() -> Problem:
    """Two boxes hinged to each other, in free flight."""
    bodies = [ct.Body.box((0.3, 0.5, 1.0), mass=1.0), ct.Body.box((0.2, 0.3, 0.8), mass=0.7)]
    hinge = ct.Revolute(0, 1, at=((0, 0.1, -0.5), (0.1, 0, 0.4)), axis=(1, 0.2, 0.1))
    system = ct.Linkage(bodies, [hinge], gravity=(0, 0, 0))
    turning = [(0.8, -0.5, 0.6), (0.8 + 0.5, -0.5 + 0.1, 0.6 + 0.05)]
    start = system.start(
        orientation=[TURNED, TURNED], velocity=[(0.1, 0.2, -0.1)] * 2, angular_velocity=turning, project=True
    )
    return _problem("free linkage", system, start, 0.05)


def loop() -> Problem:
    return ct.problems.four_bar()


def _scaling(constraint: Any, *, loaded: bool = False) -> Problem:
    loads = [ct.Load(0, (0.3, -0.2, 0.4), force=(0.1, 0.2, -0.5))] if loaded else []
    system = ct.ScalingBody(ct.Body(mass=1.5, moments=(2.0, 3.0, 4.0)), constraint, forces=loads)
    rate = {} if constraint == "equality" else {"scale_rate": 0.2, "scale": 0.8}
    start = system.start(TURNED, velocity=(0.3, -0.1, 0.2), angular_velocity=(0.7, -1.1, 0.5), **rate)
    return _problem(f"{'loaded ' if loaded else ''}scaling body, {constraint}", system, start, 0.1)


KINDS: dict[str, Callable[[], Problem]] = {
    "separable": separable,
    "not separable": not_separable,
    "free body": free_body,
    "top": lambda: _top("quaternion", symmetric=False),
    "symmetric top": lambda: _top("quaternion", symmetric=True),
    "top with multiplier": lambda: _top("multiplier", symmetric=False),
    "chain": lambda: _chain("quaternion", clamped=False),
    "clamped chain": lambda: _chain("quaternion", clamped=True),
    "chain in rotations": lambda: _chain("rotation", clamped=False),
    "chain with multiplier": lambda: _chain("multiplier", clamped=False),
    "linkage": linkage,
    "free linkage": free_linkage,
    "loop": loop,
    "scaling body": lambda: _scaling("none"),
    "loaded scaling body": lambda: _scaling("none", loaded=True),
    "scaling body of fixed size": lambda: _scaling("equality"),
    "scaling body with impacts": lambda: _scaling("unilateral"),
}
KINDS |= {  # kinds with their own examples
    f"{kind.__name__} {number}": partial(_problem, f"{kind.__name__} {number}", *example)
    for kind in SYSTEMS
    for number, example in enumerate(kind.examples())
}


@cache
def kind(name: str) -> Problem:
    """The problem of a kind."""
    return KINDS[name]()
