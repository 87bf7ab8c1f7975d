"""States of a chain, checked: shapes, numbers, held bodies, particles too close, forces that would tear it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, warn_once
from ...geometry import rotations
from ..base import Array, State
from ..many_bodies import start_array, start_momenta
from ..numbers import finite_number
from ..orientations import orientations
from ..potentials.pairwise import Pairwise
from .drive_kernels import Now
from .driving import at_rest
from .ends import Displaced, Moved
from .tearing import distances_of

if TYPE_CHECKING:
    from .chain import Chain

TOO_CLOSE = 0.5  # of the resting distance of two particles
MOST_PRESSED = 16  # links that are checked in detail: all others are compressed less
SPIN_TOLERANCE = 4 * np.finfo(float).eps  # momentum of a linear body about its own line, relative to the whole


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
    masses, tensors = chain.alike.each(lambda body: [body.mass]), chain.alike.each(lambda body: body.tensor)
    p = start_momenta(n, lambda v: masses * v, velocity=velocity, momentum=momentum)
    y = start_momenta(
        n, lambda w: rotations.apply(tensors, w), prefix="angular_", velocity=angular_velocity,
        momentum=angular_momentum,
    )  # fmt: skip
    p = np.zeros((n, 3)) if p is None else p
    y = np.zeros((n, 3)) if y is None else y
    _check_held(chain, r, p, y)
    _check_lines(chain, y)
    state = State(
        {"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, finite_number(time, "start.time")
    )
    state = _as_prescribed(chain, state)
    if check:
        _check_distances(chain, state)
        chain.acting.check_distances(state)
    return state


def check_held(chain: Chain, state: State) -> None:
    """InputError for a state that ends or bodies do not allow; momenta of prescribed bodies are not checked."""
    resting = at_rest(chain, state)
    _check_held(chain, state.position, resting.momentum, resting.angular_momentum)
    _check_lines(chain, state.angular_momentum)
    _as_prescribed(chain, state)


def _check_held(chain: Chain, r: Array, p: Array, y: Array) -> None:
    moves, turns = chain.held
    still, unturned = np.flatnonzero(~moves), np.flatnonzero(~turns)  # few of many bodies
    for j in still[p[still].any(axis=1)].tolist():
        raise InputError(f"body {j} is held, but moves", where=f"start.momentum[{j}]", do="give it no velocity")
    for j in unturned[y[unturned].any(axis=1)].tolist():
        what = "is a point, but spins" if chain.bodies[j].kind == "point" else "is held, but turns"
        raise InputError(f"body {j} {what}", where=f"start.angular_momentum[{j}]", do="give it no spin")
    for j, end in ((0, chain.left), (chain.count - 1, chain.right)):
        if isinstance(end, Displaced) and end.position is not None and not np.array_equal(r[j], end.position):
            raise InputError(
                f"body {j} starts at {r[j].tolist()}, but its end is displaced to {list(end.position)}",
                where=f"start.position[{j}]", do="start it there",
            )  # fmt: skip


def _as_prescribed(chain: Chain, state: State) -> State:
    """The state with prescribed bodies moved to their path at its time; InputError if the path has no value."""
    if not chain.drives:
        return state
    fields = {name: values.copy() for name, values in state.fields.items()}
    now = chain.drives.at(np.array([state.time]))[0]
    for acting, row in zip(chain.drives.acting, now, strict=True):
        where, j = f"Chain.{acting.name}", acting.body
        if not np.isfinite(row).all():
            raise InputError(
                f"{acting.source or 'gravity'} is not defined at t = {state.time:g}", where=where,
                do="give functions that have a value and two derivatives along the run",
            )  # fmt: skip
        if isinstance(acting.source, Moved):
            turned = row[Now.QUATERNION : Now.SLOPE]
            if not np.linalg.norm(turned) > 0.0:
                raise InputError(
                    f"the orientation is 0 at t = {state.time:g}", where=f"{where}.orientation", do="give a quaternion"
                )
            if acting.source.position is not None:
                _require_near(fields["position"][j], row[Now.VALUE : Now.QUATERNION], j, "position", where)
                fields["position"][j] = row[Now.VALUE : Now.QUATERNION]
            if acting.source.orientation is not None:
                _require_near(fields["orientation"][j], turned / np.linalg.norm(turned), j, "orientation", where)
                fields["orientation"][j] = turned / np.linalg.norm(turned)
    return State(fields, state.time)


def _require_near(given: Array, prescribed: Array, j: int, what: str, where: str) -> None:
    """Refuse a start away from the prescribed motion: it would be a jump."""
    away = min(np.abs(given - prescribed).max(), np.abs(given + prescribed).max() if what == "orientation" else np.inf)
    if away > 1e-6 * max(1.0, float(np.abs(prescribed).max())):
        raise InputError(
            f"body {j} starts with {what} {given.tolist()}, but it is moved from {prescribed.tolist()}",
            where=f"start.{what}[{j}]", do=f"start it there, or let {where} begin where it starts",
        )  # fmt: skip


def _check_lines(chain: Chain, y: Array) -> None:
    for kind, body in enumerate(chain.alike.distinct):
        if body.kind != "linear":
            continue
        mine = np.flatnonzero(chain.alike.which == kind)
        along = rotations.apply(body.frame_matrix.T, y[mine])[:, int(np.argmin(body.moments))]
        for k in np.flatnonzero(np.abs(along) > SPIN_TOLERANCE * np.linalg.norm(y[mine], axis=1)):
            raise InputError(
                f"body {mine[k]} is a line and cannot spin about it: momentum {along[k]:g} along it",
                where=f"start.angular_momentum[{mine[k]}]", do="remove that component",
            )  # fmt: skip


class Nearest(NamedTuple):
    """The two nearest particles of some links, among those that interact: arrays with one element for each link."""

    distance: Array
    link: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    def at(self, k: int) -> tuple[float, int, int, int]:
        """The particles of one link."""
        return float(self.distance[k]), int(self.link[k]), int(self.left[k]), int(self.right[k])


def _check_distances(chain: Chain, state: State) -> None:
    """Refuse particles closer than half the length of their potential; warn if the force exceeds the cohesion."""
    found = [(potential, _nearest(chain, state, links, acts)) for links, potential, acts in _acting(chain)]
    close = []
    for potential, nearest in found:
        too_close = (nearest.distance < TOO_CLOSE * potential.length) | (nearest.distance == 0.0)
        close += [(nearest.at(k)[1], nearest.at(k), potential) for k in np.flatnonzero(too_close)[:1].tolist()]
    if close:
        _refuse_too_close(chain, *min(close, key=lambda one: one[0])[1:])
    for potential, nearest in found:
        if 0.0 < potential.cohesion < np.inf:
            _warn_of_pressure(chain, state, potential, nearest)


def _nearest(chain: Chain, state: State, links: NDArray[np.int64], acts: NDArray[np.bool_]) -> Nearest:
    """The nearest particles of links of one kind; `acts` says which pairs interact."""
    parts = []
    for part, between in distances_of(chain, state.position, state.orientation, links):
        flat = np.where(acts, between, np.inf).reshape(len(between), -1)
        pair = flat.argmin(axis=1)
        parts.append((flat[np.arange(len(flat)), pair], links[part], *np.unravel_index(pair, acts.shape)))
    return Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _acting(chain: Chain) -> Iterator[tuple[NDArray[np.int64], Pairwise, NDArray[np.bool_]]]:
    """For each kind of links: the links, a potential between their particles, and the pairs between which it acts."""
    first, kind_of_link = chain.interactions.kinds
    for kind, j in enumerate(first.tolist()):
        acting = chain.interactions.between(j)
        links = np.flatnonzero(kind_of_link == kind)
        for potential in dict.fromkeys(one for row in acting for one in row if one is not None):
            yield links, potential, np.array([[one == potential for one in row] for row in acting])


def _after(chain: Chain, link: int) -> int:
    """The body at the right of a link."""
    return int(chain.interactions.sides[1][link])


def _refuse_too_close(chain: Chain, found: tuple[float, int, int, int], potential: Pairwise) -> None:
    distance, j, k, l = found
    raise InputError(
        f"particle {k} of body {j} and particle {l} of body {_after(chain, j)} are {distance:.4g} apart, less than half of "
        f"{potential.length:.4g}", where=f"start.position[{j}]", do="move the bodies apart, or turn them; check=False takes them as they are",
    )  # fmt: skip


def _warn_of_pressure(chain: Chain, state: State, potential: Pairwise, nearest: Nearest) -> None:
    """Warn of the two particles that are pressed together most, if the other particles of their link do not balance
    this.

    In most states of a warm chain something is compressed: only one warning is given, or restarts would flood the
    terminal.
    """
    forces = potential.force(nearest.distance)
    pressed = np.flatnonzero(forces > potential.cohesion)
    for at in pressed[np.argsort(-forces[pressed], kind="stable")][:MOST_PRESSED].tolist():
        _, j, k, l = nearest.at(at)
        if np.linalg.norm(_net_force(chain, state, j)) > potential.cohesion:
            warn_once(
                chain, "pressed",
                f"particle {k} of body {j} and particle {l} of body {_after(chain, j)} repel with {forces[at]:.4g}, "
                f"{forces[at] / potential.cohesion:.3g} times the largest attraction of two particles: the chain starts far "
                "from equilibrium and may tear",
            )  # fmt: skip
            return


def _net_force(chain: Chain, state: State, j: int) -> Array:
    """The force of the particles of the next body on body j."""
    total = np.zeros(3)
    left, right = (place_particles(chain, state, [k])[0] for k in (j, _after(chain, j)))
    for x, row in zip(left, chain.interactions.between(j), strict=True):
        for y, potential in zip(right, row, strict=True):
            if potential is not None:
                apart = x - y
                distance = np.linalg.norm(apart)
                total += float(potential.force(distance)) / distance * apart
    return total


def place_particles(chain: Chain, state: State, bodies: Sequence[int] | None = None) -> list[Array]:
    """Positions in space of the particles of each body, or of some."""
    return [
        state.position[j] + rotations.rotate(state.orientation[j], chain.bodies[j].particles.positions)
        for j in (range(chain.count) if bodies is None else bodies)
    ]


def find_undefined_link(chain: Chain, state: State) -> str:
    """The first link whose energy is undefined in a state."""
    placed, matrices = place_particles(chain, state), rotations.to_matrix(state.orientation)
    for j, bond in enumerate(chain.interactions.bonds):
        other = _after(chain, j)
        if bond is not None:
            d, q = matrices[j].T @ (state.position[other] - state.position[j]), matrices[j].T @ matrices[other]
            if not np.isfinite(bond.of_link(j).energy(d, q)):
                return f"start, link {j}"
        for x, row in zip(placed[j], chain.interactions.between(j), strict=True):
            for y, potential in zip(placed[other], row, strict=True):
                if potential is not None and not potential.is_defined(float(np.linalg.norm(x - y))):
                    return f"start, link {j}"
    return "start"
