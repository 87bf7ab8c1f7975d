"""Uniform states: every link the same, or every cell of links, at rest or under an axial pull.

Under a force T along the axis of its screw, a link bears the wrench (T e, c x T e) on its right body, e the axis and c
the vector to it, both the same in the axes of all bodies: six equations for d and Q.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import InputError
from ...systems.chain.chain import Chain
from ...systems.chain.ring_start import circle_frames
from ...systems.potentials.link_potentials import Linkwise
from .newton import MOST_STRAIN, positive
from .poses import Poses, orthogonal, turn_matrices
from .screws import Screw, pulled_wrench, screw_of
from .units import ScaledLinks, unit_length

Links = NDArray[np.int64]

MOST_STEPS = 100
HALVINGS = 30
CALMER = 0.5  # factor of the gradient that counts as progress, where the energy is lost in rounding
RESTING = 1e-11  # of the stiffness of a link times its length: a gradient that counts as zero
ROUNDED = 8.0 * float(np.finfo(float).eps)  # of the same: rounding error, below which no step helps
SAME_ENERGY = 1e-11  # of energies and stiffnesses: equal energies belong to the same place
UNSTABLE = 1e-10  # of the stiffness: a larger negative eigenvalue is unstable
ALIKE = 1e-6  # relative positions and rotations that count as equal
DISTANCES = 16  # tried along each direction
KEPT = 256  # number of starts that are relaxed
ASKEW = (0.7, -0.4, 0.9)  # a rotation without any symmetry


def link_length(chain: Chain, d: Array) -> float:
    """The unit of strains: the usual length of a link; if all centres coincide, the radius of gyration of a body."""
    lengths = np.linalg.norm(d, axis=1)
    some = lengths[lengths > 0.0]
    if len(some):
        return float(np.median(some))
    return (
        max(float(np.sqrt(body.moments.max() / body.mass)) for body in chain.alike.distinct) / unit_length(chain) or 1.0
    )


def relax_links(
    mechanics: ScaledLinks, links: Links, d: Array, q: Array, length: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Relax each link separately to a minimum of its energy, from d and Q on; and which of them are at rest."""
    for _ in range(MOST_STEPS):
        d, q, moved = relaxing_step(mechanics, links, d, q, length)
        if not moved.any():
            break
    values = mechanics.values(d, q, links)
    limit = RESTING * length * np.abs(values.stiffness).max(axis=(1, 2))
    return d, q, np.abs(values.gradient).max(axis=1) <= limit


def relaxing_step(
    mechanics: ScaledLinks, links: Links, d: Array, q: Array, length: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """A Newton step for each link, with its own line search; and which of them have moved."""
    values = mechanics.values(d, q, links)
    d, q, moved = d.copy(), q.copy(), np.zeros(len(d), dtype=bool)
    gradient = values.gradient
    todo = np.flatnonzero(np.abs(gradient).max(axis=1) > ROUNDED * length * np.abs(values.stiffness).max(axis=(1, 2)))
    eta = np.asarray(
        -np.linalg.solve(positive(values.stiffness[todo]), gradient[todo][:, :, None])[:, :, 0], dtype=float
    )
    sizes = np.maximum(
        np.abs(eta[:, :3]).max(axis=1, initial=0.0) / length, np.abs(eta[:, 3:]).max(axis=1, initial=0.0)
    )
    eta *= np.minimum(1.0, MOST_STRAIN / np.maximum(sizes, np.finfo(float).tiny))[:, None]
    for _ in range(HALVINGS):
        if not len(todo):
            break
        new_d = d[todo] + np.einsum("nij,nj->ni", q[todo], eta[:, :3])
        new_q = orthogonal(q[todo] @ turn_matrices(eta[:, 3:]))
        tried = mechanics.values(new_d, new_q, links[todo])
        slope = (gradient[todo] * eta).sum(axis=1)
        # an energy near zero may be the difference of larger ones, as large as the stiffness against rotations
        noise = 1e-14 * (np.abs(values.energy[todo]) + np.abs(values.stiffness[todo, 3:, 3:]).max(axis=(1, 2)))
        calmer = np.abs(tried.gradient).max(axis=1) < CALMER * np.abs(gradient[todo]).max(axis=1)
        better = (tried.energy <= values.energy[todo] + 1e-4 * slope) & (-slope > noise)
        better |= (-slope <= noise) & calmer
        d[todo[better]], q[todo[better]] = new_d[better], new_q[better]
        moved[todo[better]] = True
        todo, eta = todo[~better], 0.5 * eta[~better]
    return d, q, moved


def resting_poses(chain: Chain) -> Poses:
    """Every link in the deepest minimum found from many relative positions; the first body at the origin.

    A ring whose links would not close in this way is wound about a circle.
    """
    known = chain.resting_state()
    if known is not None:
        return Poses.of_state(chain, known)
    d, q = resting_links(chain)
    frame = chain.bodies[0].frame_matrix
    if not chain.closed:
        return Poses.of_links(d, q, np.zeros(3), frame)
    laid = Poses.of_links(d, q, np.zeros(3), frame)
    length = float(np.linalg.norm(d, axis=1).sum())
    if np.linalg.norm(laid.position[-1]) < ALIKE * length and np.abs(laid.matrices[-1] - frame).max() < ALIKE:
        return Poses.of_bodies(laid.position[:-1], laid.matrices[:-1], closed=True)
    return _wound(chain, d, q)


def resting_links(chain: Chain) -> tuple[Array, Array]:
    """d and Q of every link, each in the deepest minimum of its own energy."""
    mechanics = ScaledLinks(chain)
    first, kind_of_link = chain.interactions.alike_links
    d, q, found = _find_declared_rest(mechanics, first)
    for k in np.flatnonzero(~found).tolist():
        d[k], q[k] = resting_link(mechanics, int(first[k]))
    return d[kind_of_link], q[kind_of_link]


def _wound(chain: Chain, d: Array, q: Array) -> Poses:
    """A ring of equal links: their screw line about a circle, with the integer number of turns that twists it least."""
    screw = screw_of(d[0], q[0])
    if len(chain.interactions.alike_links[0]) > 1 or screw.rise <= ALIKE * np.linalg.norm(d[0]):
        raise InputError(
            "links at rest do not close this ring", where="start", do="give a start, such as chain.ring(spacing)"
        )
    points, frames = circle_frames(chain.count, screw.rise, round(chain.count * screw.angle / (2.0 * np.pi)))
    return Poses.of_bodies(points + screw.radius * frames[:, :, 1], frames @ screw.frame.T, closed=True)


def _find_declared_rest(mechanics: ScaledLinks, links: Links) -> tuple[Array, Array, NDArray[np.bool_]]:
    """d and Q of rest positions declared by link potentials, and where these are stable; for all links at once."""
    interactions, frames = mechanics.chain.interactions, mechanics.frames
    poses = [_declared_poses(potential) for potential in interactions.distinct_bonds]  # in the user's unit of length
    which = interactions.arrays["link_which"][links]  # -1 means none: the last row
    d, q = (np.concatenate([*(pose[part] for pose in poses), _declared_poses(None)[part]])[which] for part in (0, 1))
    found = np.isfinite(d[:, 0])
    if interactions.has_pairs:
        found &= np.array([interactions.pairs[j] is None for j in links.tolist()])
    d[found] = np.einsum("nji,nj->ni", frames[links[found]], d[found] / mechanics.unit)
    q[found] = frames[links[found]].swapaxes(1, 2) @ q[found] @ frames[interactions.sides[1][links[found]]]
    if found.any():
        length = link_length(mechanics.chain, d[found])
        d[found], q[found], rests = relax_links(mechanics, links[found], d[found], q[found], length)
        stiffness = mechanics.values(d[found], q[found], links[found]).stiffness
        found[found] = rests & _is_stable(stiffness)
    return d, q, found


def _declared_poses(potential: Linkwise | None) -> tuple[Array, Array]:
    """The rest position declared by a link potential, a row for each set of parameters; d is nan if there is none."""
    count = 1 if potential is None else potential.links or 1
    pose = None if potential is None else potential.resting_pose
    if pose is None:
        return np.full((count, 3), np.nan), np.tile(np.eye(3), (count, 1, 1))
    return pose[0].reshape(-1, 3), pose[1].reshape(-1, 3, 3)


def resting_link(mechanics: ScaledLinks, link: int) -> tuple[Array, Array]:
    """d and Q of the deepest minimum of one link, in principal axes: the best of several hundred relaxed starts."""
    d, q = _find_known_rests(mechanics, link)
    if len(d) != 1 or mechanics.chain.interactions.pairs[link] is not None:
        d, q = (np.concatenate(both) for both in zip((d, q), _trial_poses(mechanics, link), strict=True))
    values = mechanics.values(d, q, np.full(len(d), link))
    energy = np.where(np.isfinite(values.energy), values.energy, np.inf)
    best = np.argsort(energy, kind="stable")[:KEPT]
    length = link_length(mechanics.chain, d[best])
    d, q, rests = relax_links(mechanics, np.full(len(best), link), d[best], q[best], length)
    values = mechanics.values(d, q, np.full(len(best), link))
    energy = np.where(rests & _is_stable(values.stiffness), values.energy, np.inf)
    if not np.isfinite(energy).any():
        raise InputError(
            f"link {link} has no place of rest that could be found",
            where="start",
            do="give a start, a state of the chain",
        )
    size = np.abs(energy[np.isfinite(energy)]).max() + np.abs(values.stiffness[np.isfinite(energy)]).max()
    lowest = int(
        np.argmax(energy <= energy.min() + SAME_ENERGY * size)
    )  # the first of those at the same place up to rounding
    return d[lowest], q[lowest]


def _is_stable(stiffness: Array) -> NDArray[np.bool_]:
    """Whether no displacement of a link lowers its energy beyond rounding, (links,)."""
    return np.linalg.eigvalsh(stiffness)[:, 0] >= -UNSTABLE * np.abs(stiffness).max(axis=(1, 2))


def _trial_poses(mechanics: ScaledLinks, link: int) -> tuple[Array, Array]:
    """Positions in 14 directions at the distance of least energy, with the rotations of a cube, plain and askew."""
    chain = mechanics.chain
    radii = [
        np.linalg.norm(body.particles.positions, axis=1).max(initial=0.0) for body in chain.interactions.joined(link)
    ]
    lengths = [one.length for row in chain.interactions.between(link) for one in row if one is not None]
    known = np.linalg.norm(_find_known_rests(mechanics, link)[0], axis=1)
    reach = (sum(radii) + max(lengths, default=0.0)) / mechanics.unit or known.max(initial=0.0) or 1.0
    signs = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))
    ways = signs[np.isin(np.abs(signs).sum(axis=1), (1.0, 3.0))]
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    cube = _cube_rotations()
    turns = np.concatenate([cube, cube @ turn_matrices(np.array(ASKEW))])
    steps = np.linspace(0.1, 1.3, DISTANCES) * reach
    d = (steps[:, None, None, None] * ways[None, :, None] * np.ones((1, 1, len(turns), 1))).reshape(-1, 3)
    q = np.broadcast_to(turns, (len(steps), len(ways), *turns.shape)).reshape(-1, 3, 3)
    energy = mechanics.values(d, q, np.full(len(d), link)).energy.reshape(len(steps), -1)
    best = np.argmin(np.where(np.isfinite(energy), energy, np.inf), axis=0)
    chosen = best * energy.shape[1] + np.arange(energy.shape[1])
    return d[chosen], q[chosen]


def _find_known_rests(mechanics: ScaledLinks, link: int) -> tuple[Array, Array]:
    """Rest positions declared by the parts of a link potential."""
    bond = mechanics.chain.interactions.bonds[link]
    left, right = mechanics.frames[link], mechanics.frames[(link + 1) % len(mechanics.frames)]
    parts = [] if bond is None else getattr(bond.of_link(link), "terms", (bond.of_link(link),))
    poses = [part.resting_pose for part in parts if part.resting_pose is not None]
    d = [left.T @ pose[0] / mechanics.unit for pose in poses]
    q = [left.T @ pose[1] @ right for pose in poses]
    return np.array(d).reshape(-1, 3), np.array(q).reshape(-1, 3, 3)


def _cube_rotations() -> Array:
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[np.arange(3), order] = signs
            if np.linalg.det(matrix) > 0.0:
                found.append(matrix)
    return np.array(found)


def uniform_link(chain: Chain, poses: Poses) -> tuple[Array, Array] | None:
    """d and Q if all links are of one kind and have the same pose, else None."""
    if len(chain.interactions.alike_links[0]) > 1:
        return None
    d, q = poses.d, poses.q
    size = np.linalg.norm(d, axis=1).max()
    if np.abs(d - d[0]).max() > ALIKE * size or np.abs(q - q[0]).max() > ALIKE:
        return None
    return d[0], q[0]


def pulled_link(
    mechanics: ScaledLinks, d: Array, q: Array, tension: float, link: int = 0
) -> tuple[Array, Array] | None:
    """The uniform state near d and Q under an axial force, or None if none is found."""
    from scipy.optimize import root

    number = np.array([link])
    length = float(np.linalg.norm(d))

    def at(x: Array) -> tuple[Array, Array]:
        return d + length * (q @ x[:3]), orthogonal(q @ turn_matrices(x[3:]))

    def excess(x: Array) -> Array:
        new_d, new_q = at(x)
        found = mechanics.values(new_d[None], new_q[None], number).gradient[0]
        return found - pulled_wrench(screw_of(new_d, new_q), tension)

    solved = root(excess, np.zeros(6), tol=1e-14)
    scale = abs(tension) + np.abs(mechanics.values(d[None], q[None], number).stiffness).max() * length
    if not np.abs(excess(solved.x)).max() <= 1e-9 * scale:
        return None
    return at(solved.x)


def pulled_start(chain: Chain, poses: Poses, forces: Array, root: int) -> Poses | None:
    """For a uniform chain pulled at its free end: the uniform state under that pull about its axis, except the root.

    Only the layers at the ends are left to relax, so the number of iterations does not grow with the chain.
    """
    known = uniform_link(chain, poses)
    last = -1 if root == 0 else 0
    others = np.delete(forces, last, axis=0)
    if known is None or others.any() or not forces[last].any():
        return None
    before = screw_of(*known)
    along = poses.matrices[root] @ before.axis
    tension = float(forces[last] @ along) * (1.0 if root == 0 else -1.0)
    found = pulled_link(ScaledLinks(chain), *known, tension)
    if found is None:
        return None
    after = screw_of(*found)
    place, matrix = _about_the_axis(poses.position[root], poses.matrices[root], before, after)
    count = len(poses.d)
    d, q = np.tile(found[0], (count, 1)), np.tile(found[1], (count, 1, 1))
    laid = Poses.of_links(d, q, place, matrix, root=root)
    position, matrices = laid.position.copy(), laid.matrices.copy()
    position[root], matrices[root] = poses.position[root], poses.matrices[root]
    return Poses.of_bodies(position, matrices)


def _about_the_axis(position: Array, matrix: Array, before: Screw, after: Screw) -> tuple[Array, Array]:
    """The position of a body whose screw has changed while the axis stays in place."""
    centre = position + matrix @ before.to_axis
    turned = matrix @ before.frame @ after.frame.T
    return centre - turned @ after.to_axis, turned
