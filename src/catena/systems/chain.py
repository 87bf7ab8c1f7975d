"""A chain of rigid bodies made of particles; neighbouring bodies interact particle by particle.

V is evaluated with the normalised rotations, so it is homogeneous of degree 0 in each quaternion and H is defined on all of
R^(14 n). Then |q_j|^2 and q_j.g_j are quadratic first integrals: every symplectic Runge-Kutta method keeps both exactly, at any order,
without multiplier or projection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import views
from ..errors import InputError
from ..geometry import rotations
from ..views import View
from . import chain_forces, chain_motion
from .base import Array, Field, Invariant, State, System, register
from .body import Body
from .ends import Clamped, Displaced, Force, Free, describe_end, end_from
from .free_body import UNIT_TOLERANCE, component_names
from .potentials import PairSet, PairTable, pair_potential_from

Form = Literal["quaternion"]
CLAMPED, FREE = Clamped(), Free()


@register
class Chain(System):
    """A chain of rigid bodies.

    Parameters
    ----------
    bodies : list of Body with particles, two or more
    potential : a pair potential, a `PairTable` by particle types, or a list with one for each link
    left, right : what holds or pulls the first and the last body: `Clamped()`, `Force(force)`, `Displaced(position)`, `Free()`
    gravity : acceleration in space
    form : "quaternion"

    Examples
    --------
    >>> import catena as ct
    >>> chain = ct.problems.helix_chain(8)
    >>> run = ct.simulate(chain, dt=0.02, t_end=2.0)
    >>> run.audit()["unit_residual"].worst < 1e-14
    True
    """

    default_method = ("Splitting", {"order": 4})

    def __init__(
        self,
        bodies: Any,
        potential: Any,
        left: Any = CLAMPED,
        right: Any = FREE,
        gravity: Sequence[float] = (0.0, 0.0, 0.0),
        form: Form = "quaternion",
    ) -> None:
        self.bodies = _bodies(bodies)
        self.left, self.right = end_from(left, "Chain.left"), end_from(right, "Chain.right")
        self.gravity = _vector(gravity, "Chain.gravity")
        if form != "quaternion":
            raise InputError(f"form = {form!r}", where="Chain.form", do='choose "quaternion"')
        self.form = form
        self.potentials = self._link_potentials(potential)

    def _link_potentials(self, potential: Any) -> tuple[Any, ...]:
        links = len(self.bodies) - 1
        if isinstance(potential, (list, tuple)):
            if len(potential) != links:
                raise InputError(
                    f"{len(potential)} potentials for {links} links", where="Chain.potential",
                    do="give one for all links, or one for each",
                )  # fmt: skip
            return tuple(pair_potential_from(p) if isinstance(p, Mapping) else p for p in potential)
        given = pair_potential_from(potential) if isinstance(potential, Mapping) else potential
        return (given,) * links

    @property
    def title(self) -> str:  # type: ignore[override]
        return "Chain"

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.bodies)

    @cached_property
    def held(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which bodies may move, and which may turn."""
        moves, turns = np.ones(self.count, dtype=bool), np.array([b.kind != "point" for b in self.bodies])
        for j, end in ((0, self.left), (-1, self.right)):
            moves[j] = end.moves
            turns[j] &= end.turns
        return moves, turns

    @property
    def is_isolated(self) -> bool:
        """Whether momentum and angular momentum are kept: nothing outside acts on the chain."""
        return isinstance(self.left, Free) and isinstance(self.right, Free) and not self.gravity.any()

    @cached_property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        n = self.count
        return (
            Field("position", (n, 3), ("body", "xyz"), "centres of mass"),
            Field("orientation", (n, 4), ("body", "wxyz"), "orientations, body to space, scalar first"),
            Field("momentum", (n, 3), ("body", "xyz"), "momenta"),
            Field("angular_momentum", (n, 3), ("body", "xyz"), "angular momenta in the bodies"),
        )

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:  # type: ignore[override]
        always = (
            Invariant("energy", (), (), "energy, with the work of the load", frozenset({"energy"})),
            Invariant("unit_residual", (), (), "|q|^2 - 1 of the worst body", frozenset({"unit", "quadratic"})),
            Invariant(
                "tangency_residual", (), (), "q.g of the worst body", frozenset({"unit", "bilinear", "quadratic"})
            ),
        )
        if not self.is_isolated:
            return always
        return (
            *always,
            Invariant("total_momentum", (3,), ("xyz",), "momentum", frozenset({"linear", "bilinear", "quadratic"})),
            Invariant(
                "total_angular_momentum", (3,), ("xyz",), "angular momentum", frozenset({"bilinear", "quadratic"})
            ),
        )

    def start(
        self,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        *,
        velocity: ArrayLike | None = None,
        momentum: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        angular_momentum: ArrayLike | None = None,
        time: float = 0.0,
    ) -> State:
        """A state of all bodies, at rest where nothing is said.

        Parameters
        ----------
        position : (n, 3) centres of mass
        orientation : (n, 4) unit quaternions, scalar first; none turned if None
        velocity or momentum : (n, 3) in space
        angular_velocity or angular_momentum : (n, 3) in the axes of the bodies
        """
        n = self.count
        r = self._array(position, 3, "position")
        q = np.tile((1.0, 0.0, 0.0, 0.0), (n, 1)) if orientation is None else self._array(orientation, 4, "orientation")
        lengths = np.linalg.norm(q, axis=1)
        for j in np.flatnonzero(~(np.abs(lengths - 1.0) <= UNIT_TOLERANCE)):
            raise InputError(
                f"the orientation of body {j} has length {lengths[j]:.9g}", where=f"start.orientation[{j}]",
                do="give unit quaternions, scalar first",
            )  # fmt: skip
        _one_of(velocity, momentum, "velocity", "momentum")
        _one_of(angular_velocity, angular_momentum, "angular_velocity", "angular_momentum")
        if momentum is not None:
            p = self._array(momentum, 3, "momentum")
        else:
            masses = np.array([[body.mass] for body in self.bodies])
            p = np.zeros((n, 3)) if velocity is None else masses * self._array(velocity, 3, "velocity")
        if angular_momentum is not None:
            y = self._array(angular_momentum, 3, "angular_momentum")
        elif angular_velocity is not None:
            omega = self._array(angular_velocity, 3, "angular_velocity")
            y = np.array([body.tensor @ w for body, w in zip(self.bodies, omega, strict=True)])
        else:
            y = np.zeros((n, 3))
        self._check_held(r, p, y)
        state = State(
            {"position": r, "orientation": q / lengths[:, None], "momentum": p, "angular_momentum": y}, float(time)
        )
        self._check_distances(state)
        return state

    def straight(self, spacing: float) -> State:
        """All bodies in a row along x, none turned, at rest; the first at the origin."""
        position = np.zeros((self.count, 3))
        position[:, 0] = spacing * np.arange(self.count)
        return self.start(position)

    def particles(self, state: State) -> list[Array]:
        """Positions in space of the particles of each body."""
        turned = [
            rotations.rotate(q, b.particles.positions) for q, b in zip(state.orientation, self.bodies, strict=True)
        ]
        return [r + x for r, x in zip(state.position, turned, strict=True)]

    def _array(self, values: Any, width: int, name: str) -> Array:
        try:
            array = np.array(values, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{name} is not an array of numbers", where=f"start.{name}") from None
        if array.shape != (self.count, width):
            raise InputError(
                f"{name} has shape {array.shape}", where=f"start.{name}", do=f"give shape ({self.count}, {width})"
            )
        for j in np.flatnonzero(~np.isfinite(array).all(axis=1)):
            raise InputError(f"{name} of body {j} is not finite: {array[j].tolist()}", where=f"start.{name}[{j}]")
        return array

    def _check_held(self, r: Array, p: Array, y: Array) -> None:
        moves, turns = self.held
        for j in range(self.count):
            if not moves[j] and p[j].any():
                raise InputError(f"body {j} is held, but moves", where=f"start.momentum[{j}]", do="give it no velocity")
            if not turns[j] and y[j].any():
                raise InputError(
                    f"body {j} is held, but turns", where=f"start.angular_momentum[{j}]", do="give it no spin"
                )
        for j, end in ((0, self.left), (self.count - 1, self.right)):
            if isinstance(end, Displaced) and end.position is not None and not np.array_equal(r[j], end.position):
                raise InputError(
                    f"body {j} starts at {r[j].tolist()}, but its end is displaced to {list(end.position)}",
                    where=f"start.position[{j}]", do="start it there",
                )  # fmt: skip

    def _check_distances(self, state: State) -> None:
        """Refuse particles nearer than half the length of their potential; warn where the force exceeds the cohesion."""
        placed = self.particles(state)
        for j, potential in enumerate(self.potentials):
            if isinstance(potential, PairTable):
                continue
            between = np.linalg.norm(placed[j][:, None] - placed[j + 1][None], axis=-1)
            k, l = np.unravel_index(int(between.argmin()), between.shape)
            if between[k, l] < 0.5 * potential.length:
                raise InputError(
                    f"particle {k} of body {j} and particle {l} of body {j + 1} are {between[k, l]:.4g} apart, "
                    f"less than half of {potential.length:.4g}", where=f"start.position[{j}]",
                    do="move the bodies apart, or turn them",
                )  # fmt: skip

    def view(self, name: str) -> View | None:
        kernels: dict[Any, Any] = {
            views.pair_force: self._pairs.kernel("pair_force"),
            views.pair_energy: self._pairs.kernel("pair_energy"),
            chain_forces.is_uniform: int(self._which is None),
            chain_forces.add_link_forces: chain_forces.no_link_forces,
            chain_forces.link_energies: chain_forces.no_link_energies,
            views.field_count: 4,
        }
        flags = {"linear_bodies"} if any(body.kind == "linear" for body in self.bodies) else set()
        n = self.count
        if name in ("split", "constrained"):
            kernels |= {
                views.force: chain_motion.chain_force, views.kick: chain_motion.chain_kick,
                views.drift: chain_motion.chain_drift, views.publish: chain_motion.publish_split,
                views.measure: chain_motion.measure_split, views.field_end: chain_motion.split_field_end,
            }  # fmt: skip
            flags |= {"rotor", "quadratic_kinetic"}
            moments = np.array([body.rotor_moments for body in self.bodies])
            return View(name, kernels, 13 * n, self._pack, self._unpack, frozenset(flags), False, moments)
        if name in ("canonical", "field"):
            kernels |= {
                views.field: chain_motion.canonical_field, views.velocity: chain_motion.canonical_velocity,
                views.momentum_rate: chain_motion.canonical_rate, views.publish: chain_motion.publish_canonical,
                views.measure: chain_motion.measure_canonical, views.field_end: chain_motion.canonical_field_end,
            }  # fmt: skip
            return View(name, kernels, 14 * n, self._pack_canonical, self._unpack_canonical, frozenset(flags), False)
        return None

    @cached_property
    def _numbered(self) -> tuple[PairSet, NDArray[np.int64] | None, NDArray[np.int64]]:
        """The distinct potentials; which acts, by link and types (None: one for all); the types of the particles."""
        width = max(len(body.particles.positions) for body in self.bodies)
        kinds = sorted({str(t) for body in self.bodies for t in body.particles.types})
        types = np.zeros((self.count, width), dtype=np.int64)
        for j, body in enumerate(self.bodies):
            types[j, : len(body.particles.types)] = [kinds.index(str(t)) for t in body.particles.types]
        distinct: list[Any] = []

        def number(potential: Any) -> int:
            if potential not in distinct:
                distinct.append(potential)
            return distinct.index(potential)

        which = np.zeros((self.count - 1, len(kinds), len(kinds)), dtype=np.int64)
        for j, potential in enumerate(self.potentials):
            for a, first in enumerate(kinds):
                for b, second in enumerate(kinds):
                    acting = potential.between(first, second) if isinstance(potential, PairTable) else potential
                    which[j, a, b] = number(acting)
        return PairSet(distinct), which if len(distinct) > 1 else None, types

    @property
    def _pairs(self) -> PairSet:
        return self._numbered[0]

    @property
    def _which(self) -> NDArray[np.int64] | None:
        return self._numbered[1]

    def parameter_arrays(self) -> dict[str, NDArray[Any]]:
        n = self.count
        counts = np.array([len(body.particles.positions) for body in self.bodies], dtype=np.int64)
        particles = np.zeros((n, int(counts.max()), 3))
        for j, body in enumerate(self.bodies):
            particles[j, : counts[j]] = body.principal_particles.positions
        moves, turns = self.held
        masses = np.array([body.mass for body in self.bodies])
        load = masses[:, None] * self.gravity
        for j, end in ((0, self.left), (-1, self.right)):
            if isinstance(end, Force):
                load[j] += end.force
        pairs, which, types = self._numbered
        return {
            "mass": masses,
            "inertia": np.array([body.rotor_moments for body in self.bodies]),
            "inverse": np.array([body.inverse_moments for body in self.bodies]),
            "frame": np.array([body.frame for body in self.bodies]),
            "moves": moves.astype(float),
            "turns": turns.astype(float),
            "load": load,
            "count": counts,
            "particles": particles,
            "types": types,
            "which": np.zeros((1, 1, 1), dtype=np.int64) if which is None else which,
            "pair": np.array(pairs.values, dtype=float),
            "x": np.zeros((3, n, particles.shape[1])),
            "w": np.zeros((3, n, particles.shape[1])),
            "f": np.zeros((n, 3)),
            "tau": np.zeros((n, 3)),
        }

    def _pack(self, state: State) -> Array:
        frames = np.array([body.frame for body in self.bodies])
        q = rotations.multiply(state.orientation, frames)
        y = rotations.rotate(rotations.conjugate(frames), state.angular_momentum)
        return np.concatenate([state.position.ravel(), q.ravel(), state.momentum.ravel(), y.ravel()])

    def _unpack(self, z: Array, time: float) -> State:
        n = self.count
        frames = np.array([body.frame for body in self.bodies])
        q = rotations.multiply(z[3 * n : 7 * n].reshape(n, 4), rotations.conjugate(frames))
        y = rotations.rotate(frames, z[10 * n : 13 * n].reshape(n, 3))
        r, p = z[: 3 * n].reshape(n, 3).copy(), z[7 * n : 10 * n].reshape(n, 3).copy()
        return State({"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, time)

    def _pack_canonical(self, state: State) -> Array:
        n = self.count
        z = self._pack(state)
        y = np.hstack([np.zeros((n, 1)), z[10 * n :].reshape(n, 3)])
        g = 2.0 * rotations.multiply(z[3 * n : 7 * n].reshape(n, 4), y)
        return np.concatenate([z[: 10 * n], g.ravel()])

    def _unpack_canonical(self, z: Array, time: float) -> State:
        n = self.count
        q, g = z[3 * n : 7 * n].reshape(n, 4), z[10 * n :].reshape(n, 4)
        y = 0.5 * rotations.multiply(rotations.conjugate(q), g)[:, 1:]
        return self._unpack(np.concatenate([z[: 10 * n], y.ravel()]), time)

    def describe(self) -> dict[str, Any]:
        bodies: Any = [body.describe() for body in self.bodies]
        if all(body == bodies[0] for body in bodies):
            bodies = {"count": len(bodies), **bodies[0]}
        same = all(potential == self.potentials[0] for potential in self.potentials)
        potentials = [potential.describe() for potential in self.potentials]
        return {
            "kind": self.kind, "bodies": bodies, "potential": potentials[0] if same else potentials,
            "left": describe_end(self.left), "right": describe_end(self.right), "gravity": self.gravity.tolist(),
        }  # fmt: skip

    def names(self) -> dict[str, str]:
        return component_names(self.fields)

    def __repr__(self) -> str:
        return f"Chain of {self.count} bodies, left {self.left}, right {self.right}"


def _bodies(given: Any) -> tuple[Body, ...]:
    if isinstance(given, Mapping):
        described = dict(given)
        count = described.pop("count", None)
        if isinstance(count, bool) or not isinstance(count, int):
            raise InputError(f"count = {count!r}", where="Chain.bodies.count", do="give the number of bodies")
        given = [Body.from_description(described)] * count
    bodies = tuple(body if isinstance(body, Body) else Body.from_description(body) for body in given)
    if len(bodies) < 2:
        raise InputError(f"{len(bodies)} bodies do not make a chain", where="Chain.bodies", do="give two or more")
    for j, body in enumerate(bodies):
        if len(body.particles.positions) == 0:
            raise InputError(
                f"body {j} has no particles to interact with", where=f"Chain.bodies[{j}]",
                do="make it with Body.from_particles",
            )  # fmt: skip
    return bodies


def _vector(values: Any, where: str) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"{values!r}", where=where, do="give three finite numbers")
    return array


def _one_of(a: Any, b: Any, first: str, second: str) -> None:
    if a is not None and b is not None:
        raise InputError(f"both {first} and {second} are given", where="start", do="give one of them")
