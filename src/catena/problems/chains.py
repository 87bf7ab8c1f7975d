"""Chains: a stable helix, the printed example, a stack of discs. No random numbers anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import InputError, unknown_word
from ..geometry import rotations
from ..running.plan import Problem, positive_integer
from ..systems.body import Body
from ..systems.chain.chain import Chain
from ..systems.chain.ends import Clamped, Displaced, End, Force, Free
from ..systems.chain.ring_start import circle_frames
from ..systems.many_bodies import require_memory
from ..systems.numbers import finite_number, is_whole, whole_number
from ..systems.potentials.pair_potentials import LennardJones

ATTRACTION = LennardJones(5.0, 1.0)  # between the particles of two tetrahedra

# Screw-symmetric minima of the pair energy of two tetrahedra, Lennard-Jones (5, 1), polished by Newton in 40 digits:
# screw angle, rise, radius, quaternion of body 0 with the screw axis along x.
SCREWS = {
    "zigzag": (
        math.pi, 1.1082468846894963, 0.35480352434379278, (0.28818514212843111, 0.95757470928195256, 0.0, 0.0),
    ),
    "near": (
        3.0940539522997475, 1.1064946016326416, 0.38454234171743584,
        (0.11696636889908813, 0.47698166012803908, 0.83905227401081267, -0.23409110603640278),
    ),
    "helix": (
        1.5028861647506566, 0.81211622078439246, 0.75894262258599935,
        (0.27883711358051216, 0.88810032079108794, -0.11463863408559378, 0.34696637859574318),
    ),
}  # fmt: skip

# Distance between neighbouring discs in the staggered stack, by the number of particles of a disc.
STACKS = {
    8: 0.48768750927408671,
    12: 0.77273578000955511,
    16: 0.84889737724439889,
    24: 0.89008553011023740,
    32: 0.89688396755443275,
}


def helix_chain(
    n: int = 8,
    state: str = "helix",
    left: str = "clamped",
    right: str = "free",
    F: Sequence[float] = (0.0, 0.0, 0.0),
    amp: float = 0.1,
    gravity: Sequence[float] = (0.0, 0.0, 0.0),
    system: Chain | None = None,
) -> Problem[Chain]:
    """A stable chain of tetrahedra on a screw line: an equilibrium, disturbed by velocities of size `amp`.

    Parameters
    ----------
    n : number of bodies
    state : "helix" (chiral), "near" (almost two-fold) or "zigzag" (the lowest energy)
    left, right : "clamped", "free", "force" or "displaced"
    F : force on an end of kind "force"; F = (f, 0, 0) acts along the screw axis
    amp : size of the starting velocities
    gravity : acceleration
    system : a chain of n bodies that gets this start, instead of the chain that these arguments describe
    """
    n = _count(n, "helix_chain.n")
    angle, rise, radius, q0 = _screw(state, "helix_chain.state")
    about = (
        f"Chain of {n} tetrahedra on a screw line, {state}. Particles of neighbours attract and repel each other, and in "
        "this arrangement all forces balance, in a stable way. The velocities of the start run through it as waves of "
        "stretching, bending and twisting, which the ends throw back; a force on an end stretches it, too. A symplectic "
        "method lets the energy wander a little and never grow."
    )
    j = np.arange(n)
    position = np.column_stack([rise * j, radius * np.cos(angle * j), radius * np.sin(angle * j)])
    turn = np.column_stack([np.cos(angle * j / 2), np.sin(angle * j / 2), np.zeros(n), np.zeros(n)])
    orientation = rotations.multiply(turn, np.array(q0))
    chain = system or Chain([Body.tetrahedron()] * n, ATTRACTION, _end(left, F), _end(right, F), gravity)
    return _start("helix_chain", chain, position, orientation, amp=amp, about=about)


def ring_chain(
    n: int = 96, state: str = "zigzag", turns: int = 0, amp: float = 0.1, system: Chain | None = None
) -> Problem[Chain]:
    """The screw line of `helix_chain` bent into a closed ring, disturbed by velocities of size `amp`; free in space.

    Parameters
    ----------
    n : number of bodies
    state : "helix", "near" or "zigzag"; the radius of the ring should be several times that of the screw
    turns : turns of the screw round the ring in addition to the whole number that twists it least; they add to its
        linking number
    amp : size of the starting velocities
    system : a closed chain of n bodies that gets this start, instead of one of tetrahedra
    """
    n = _count(n, "ring_chain.n")
    turns = whole_number(turns, "ring_chain.turns", "give a whole number")
    angle, rise, radius, q0 = _screw(state, "ring_chain.state")
    about = (
        f"Ring of {n} tetrahedra on a screw line, {state}, whose end is linked to its beginning. How often the bodies turn about "
        "the ring on the way round cannot change while the links hold: twist can only become writhe, and writhe twist, so "
        "that a ring with many turns leaves its plane and coils. Nothing holds it: momentum and angular momentum are kept."
    )
    points, frames = circle_frames(n, rise, round(n * angle / (2.0 * math.pi)) + turns)
    position = points + radius * frames[:, :, 1]
    orientation = rotations.multiply(rotations.from_matrix(frames), np.array(q0))
    chain = system or Chain([Body.tetrahedron()] * n, ATTRACTION, closed=True)
    return _start("ring_chain", chain, position, orientation, amp=amp, about=about)


def printed_chain(
    n: int = 8,
    spacing: float = 2.0,
    left: str = "clamped",
    right: str = "force",
    F: Sequence[float] = (3.0, 0.0, 0.0),
    amp: float = 0.1,
    system: Chain | None = None,
) -> Problem[Chain]:
    """Tetrahedra in a row with equal orientations: far from equilibrium, it crumples within t = 1, heats up and tears;
    chaotic.

    `system` is a chain of n bodies that gets this start, instead of the chain that these arguments describe.
    """
    n = _count(n, "printed_chain.n")
    spacing = finite_number(spacing, "printed_chain.spacing")
    about = (
        f"Row of {n} tetrahedra, none turned, as it was printed. This is no equilibrium: the bodies fall towards each "
        "other, and what they had in potential energy becomes heat. Within one unit of time the row crumples, then it "
        "writhes without order, and links tear. The path is chaotic, so that two methods soon disagree about it; their "
        "energies must not."
    )
    position = np.zeros((n, 3))
    position[:, 0] = spacing * (np.arange(n) + 1)
    orientation = np.tile((1.0, 0.0, 0.0, 0.0), (n, 1))
    chain = system or Chain([Body.tetrahedron()] * n, ATTRACTION, _end(left, F), _end(right, F))
    return _start("printed_chain", chain, position, orientation, amp=amp, about=about)


def disc_chain(
    n: int = 6,
    n_p: int = 12,
    left: str = "clamped",
    right: str = "free",
    F: Sequence[float] = (0.0, 0.0, 0.0),
    amp: float = 0.02,
    system: Chain | None = None,
) -> Problem[Chain]:
    """A stack of discs of n_p particles on two rims, each turned half a spacing against its neighbour; a stable equilibrium.

    `system` is a chain of n bodies that gets this start, instead of the chain that these arguments describe.
    """
    n = _count(n, "disc_chain.n")
    if not is_whole(n_p) or n_p not in STACKS:
        raise InputError(f"n_p = {n_p!r}", where="disc_chain.n_p", do=f"choose one of {', '.join(map(str, STACKS))}")
    about = (
        f"Stack of {n} discs with {n_p} particles each. Every disc is turned by half a spacing, so that its particles "
        "stand over the gaps of its neighbour: a stable equilibrium, held together by weak forces. Disturbed a little, it "
        "trembles in all its modes at once, and goes on doing so, since nothing damps it; the fastest mode decides how "
        "long a step may be."
    )
    h = n_p // 2
    j = np.arange(n)
    turn = np.column_stack([np.cos(j * np.pi / h / 2), np.zeros(n), np.zeros(n), np.sin(j * np.pi / h / 2)])
    orientation = rotations.multiply(np.full(4, 0.5), turn)
    position = np.zeros((n, 3))
    position[:, 0] = STACKS[n_p] * j
    chain = system or Chain([_disc(n_p)] * n, LennardJones(1.0 / n_p, 0.8), _end(left, F), _end(right, F))
    return _start("disc_chain", chain, position, orientation, amp=amp, about=about)


def _count(n: object, where: str) -> int:
    """A number of bodies that fits in memory."""
    count = positive_integer(n, where)
    require_memory(count, where)
    return count


def _screw(state: str, where: str) -> tuple[float, float, float, tuple[float, ...]]:
    """Screw angle, rise, radius and quaternion of a state."""
    if not isinstance(state, str) or state not in SCREWS:
        raise unknown_word(f"state = {state!r}", state, SCREWS, where)
    return SCREWS[state]


def _disc(n_p: int) -> Body:
    """n_p particles on two rims."""
    around = 2 * np.pi * np.arange(n_p // 2) / (n_p // 2)
    rim = np.column_stack([np.cos(around), np.sin(around)])
    particles = np.vstack([np.column_stack([rim, np.full(n_p // 2, side / 20)]) for side in (-1.0, 1.0)])
    return Body.from_particles(particles, 1.0 / n_p)


def _start(
    name: str, chain: Chain, position: np.ndarray, orientation: np.ndarray, *, amp: float, about: str
) -> Problem[Chain]:
    """v_j = amp (sin j, sin 2j, cos 3j) in space, omega_j = amp (cos j, cos 2j, sin 3j) in the body; 0 if held."""
    amp = finite_number(amp, f"{name}.amp")
    if not isinstance(chain, Chain):
        raise InputError(
            f"{chain!r} is not a chain", where=f"{name}.system", do="give a Chain of as many bodies, or none"
        )
    j = np.arange(chain.count)
    moves, turns = chain.held
    velocity = amp * np.column_stack([np.sin(j), np.sin(2 * j), np.cos(3 * j)]) * moves[:, None]
    spin = amp * np.column_stack([np.cos(j), np.cos(2 * j), np.sin(3 * j)]) * turns[:, None]
    start = chain.start(position, rotations.normalise(orientation), velocity=velocity, angular_velocity=spin)
    return Problem(name, chain, start, 0.02, None, about)


def _end(name: str, force: Sequence[float]) -> End:
    known: dict[str, End] = {"clamped": Clamped(), "free": Free(), "force": Force(force), "displaced": Displaced()}
    if not isinstance(name, str) or name not in known:
        raise InputError(f"{name!r} is not an end", where="left, right", do=f"choose one of {', '.join(known)}")
    return known[name]
