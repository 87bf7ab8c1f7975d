"""States of a chain, checked: shapes, numbers, held bodies, particles too close, forces that would tear it apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError, warn_once
from ...geometry import rotations
from ..base import Array, State
from ..many_bodies import start_array
from ..orientations import orientations
from ..potentials.pairwise import Pairwise
from .ends import Displaced

if TYPE_CHECKING:
    from .chain import Chain

TOO_CLOSE = 0.5  # of the distance at which two particles rest
SPIN_TOLERANCE = 4 * np.finfo(float).eps  # of the momentum of a linear body about its own line, to the whole


def make_start(
    chain: Chain,
    position: ArrayLike,
    orientation: ArrayLike | None,
    *,
    velocity: ArrayLike | None,
    momentum: ArrayLike | None,
    angular_velocity: ArrayLike | None,
    angular_momentum: ArrayLike | None,
    time: float,
    check: bool,
) -> State:
    """A state of all bodies; see `Chain.start`."""
    n = chain.count
    r = start_array(position, (n, 3), "position")
    q = orientations(orientation, n)
    _one_of(velocity, momentum, "velocity", "momentum")
    _one_of(angular_velocity, angular_momentum, "angular_velocity", "angular_momentum")
    masses = np.array([[body.mass] for body in chain.bodies])
    p, y = np.zeros((n, 3)), np.zeros((n, 3))
    if momentum is not None:
        p = start_array(momentum, (n, 3), "momentum")
    elif velocity is not None:
        p = masses * start_array(velocity, (n, 3), "velocity")
    if angular_momentum is not None:
        y = start_array(angular_momentum, (n, 3), "angular_momentum")
    elif angular_velocity is not None:
        omega = start_array(angular_velocity, (n, 3), "angular_velocity")
        y = np.array([body.tensor @ w for body, w in zip(chain.bodies, omega, strict=True)])
    _check_held(chain, r, p, y)
    _check_lines(chain, y)
    state = State({"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, float(time))
    if check:
        _check_distances(chain, state)
    return state


def _one_of(a: Any, b: Any, first: str, second: str) -> None:
    if a is not None and b is not None:
        raise InputError(f"both {first} and {second} are given", where="start", do="give one of them")


def _check_held(chain: Chain, r: Array, p: Array, y: Array) -> None:
    moves, turns = chain.held
    for j in range(chain.count):
        if not moves[j] and p[j].any():
            raise InputError(f"body {j} is held, but moves", where=f"start.momentum[{j}]", do="give it no velocity")
        if not turns[j] and y[j].any():
            what = "is a point, but spins" if chain.bodies[j].kind == "point" else "is held, but turns"
            raise InputError(f"body {j} {what}", where=f"start.angular_momentum[{j}]", do="give it no spin")
    for j, end in ((0, chain.left), (chain.count - 1, chain.right)):
        if isinstance(end, Displaced) and end.position is not None and not np.array_equal(r[j], end.position):
            raise InputError(
                f"body {j} starts at {r[j].tolist()}, but its end is displaced to {list(end.position)}",
                where=f"start.position[{j}]", do="start it there",
            )  # fmt: skip


def _check_lines(chain: Chain, y: Array) -> None:
    for j, body in enumerate(chain.bodies):
        if body.kind == "linear":
            along = float((body.frame_matrix.T @ y[j])[int(np.argmin(body.moments))])
            if abs(along) > SPIN_TOLERANCE * np.linalg.norm(y[j]):
                raise InputError(
                    f"body {j} is a line and cannot spin about it: momentum {along:g} along it",
                    where=f"start.angular_momentum[{j}]", do="remove that component",
                )  # fmt: skip


class Nearest(NamedTuple):
    """The two nearest particles of a link between which a potential acts."""

    distance: float
    link: int
    left: int
    right: int


def _check_distances(chain: Chain, state: State) -> None:
    """Refuse particles nearer than half the length of their potential; warn where the force exceeds the cohesion."""
    placed = chain.particles(state)
    nearest: dict[Pairwise, list[Nearest]] = {}
    for j in range(chain.count - 1):
        for potential, distances in _acting(chain, placed, j):
            k, l = (int(index) for index in np.unravel_index(int(distances.argmin()), distances.shape))
            found = Nearest(float(distances[k, l]), j, k, l)
            _refuse_too_close(potential, found)
            nearest.setdefault(potential, []).append(found)
    for potential, pairs in nearest.items():
        if 0.0 < potential.cohesion < np.inf:
            _warn_of_pressure(chain, placed, potential, pairs)


def _acting(chain: Chain, placed: list[Array], j: int) -> Iterator[tuple[Pairwise, Array]]:
    """The potentials between the particles of a link, with the distances of those between which each acts, inf elsewhere."""
    pairs = chain.interactions.pairs[j]
    if pairs is None:
        return
    between = np.linalg.norm(placed[j][:, None] - placed[j + 1][None], axis=-1)
    if isinstance(pairs, Pairwise):
        yield pairs, between
        return
    acting = chain.interactions.between(j)
    for potential in pairs.potentials:
        mine = np.array([[one == potential for one in row] for row in acting])
        if mine.any():
            yield potential, np.where(mine, between, np.inf)


def _refuse_too_close(potential: Pairwise, found: Nearest) -> None:
    distance, j, k, l = found
    if distance < TOO_CLOSE * potential.length or distance == 0.0:
        raise InputError(
            f"particle {k} of body {j} and particle {l} of body {j + 1} are {distance:.4g} apart, less than half of "
            f"{potential.length:.4g}", where=f"start.position[{j}]", do="move the bodies apart, or turn them; check=False takes them as they are",
        )  # fmt: skip


def _warn_of_pressure(chain: Chain, placed: list[Array], potential: Pairwise, pairs: list[Nearest]) -> None:
    """Of the two particles pressed together most, if what presses them is not balanced by the others of their link.

    A warm chain is pressed somewhere in most of its states: one warning has to do, or its restarts would flood the terminal.
    """
    forces = potential.force([found.distance for found in pairs])
    for force, (_, j, k, l) in sorted(zip(forces.tolist(), pairs, strict=True), key=lambda found: -found[0]):
        if not force > potential.cohesion:
            return
        if np.linalg.norm(_net_force(chain, placed, j)) > potential.cohesion:
            warn_once(
                chain, "pressed",
                f"particle {k} of body {j} and particle {l} of body {j + 1} repel with {force:.4g}, "
                f"{force / potential.cohesion:.3g} times the largest attraction of two particles: the chain starts far from "
                "equilibrium and may tear",
            )  # fmt: skip
            return


def _net_force(chain: Chain, placed: list[Array], j: int) -> Array:
    """What the particles of body j + 1 do to body j."""
    total = np.zeros(3)
    apart = placed[j][:, None] - placed[j + 1][None]
    for potential, distances in _acting(chain, placed, j):
        acts = np.isfinite(distances)
        total += (potential.force(distances[acts]) / distances[acts]) @ apart[acts]
    return total


def placed_particles(chain: Chain, state: State) -> list[Array]:
    """Positions in space of the particles of each body."""
    return [
        r + rotations.rotate(q, body.particles.positions)
        for r, q, body in zip(state.position, state.orientation, chain.bodies, strict=True)
    ]


def undefined_link(chain: Chain, state: State) -> str:
    """The first link whose energy is not defined in a state."""
    placed, matrices = placed_particles(chain, state), rotations.to_matrix(state.orientation)
    for j, bond in enumerate(chain.interactions.bonds):
        if bond is not None:
            d, q = matrices[j].T @ (state.position[j + 1] - state.position[j]), matrices[j].T @ matrices[j + 1]
            if not np.isfinite(bond.energy(d, q)):
                return f"start, link {j}"
        for x, row in zip(placed[j], chain.interactions.between(j), strict=True):
            for y, potential in zip(placed[j + 1], row, strict=True):
                if potential is not None and not np.isfinite(potential.energy(np.linalg.norm(x - y))):
                    return f"start, link {j}"
    return "start"
