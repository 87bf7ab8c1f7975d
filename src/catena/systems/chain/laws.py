"""Exact canonical averages of chains whose links have a stretch, a bend and a twist.

The links of an open chain that is held at one end at most, and not pulled, are independent of each other: given the
pose of a body, d and Q determine that of its neighbour, and the measure dr dR is dd dQ. Then <|d - d0|^2> = 3
kT/stretch, and <T33> follows by quadrature. Under a force on the other end, links without bend and twist turn freely:
the mean extension of each along the force is given by Langevin's function.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...geometry import rotations
from ..laws import Law, States, langevin_function, mean_cosine
from ..potentials.link_potentials import BendTwist
from ..sampled import depends_on_time
from .ends import Clamped, Displaced, Force, Free, Torque, Tweezers

if TYPE_CHECKING:
    from ..base import Array
    from .chain import Chain

TURNING = ("solid", "planar")  # kinds of bodies with three moments


def laws_of(chain: Chain, kT: float) -> tuple[Law, ...]:
    """The known laws of a chain at this temperature; none if it has other forces."""
    links = [potential for potential in chain.potentials if isinstance(potential, BendTwist)]
    if len(links) < chain.interactions.count or chain.closed or chain.drives or chain.loads or chain.gravity.any():
        return ()
    held = [end for end in (chain.left, chain.right) if not isinstance(end, Free)]
    if not held or (len(held) == 1 and isinstance(held[0], (Clamped, Displaced))):
        return _of_free_links(chain, links, kT)
    if isinstance(chain.left, (Clamped, Displaced)) and isinstance(chain.right, Force):
        return _of_pulled_links(chain, links, kT)
    return ()


def why_restless(chain: Chain) -> str:
    """Why a chain has no equilibrium at a temperature; empty if it has one."""
    if chain.drives.moving:
        return "potential depends on time"
    for acting in chain.drives.acting:
        if isinstance(acting.source, Torque):
            return f"{acting.name} is a torque, which has no potential"
        if any(map(depends_on_time, acting.components)):
            return f"{acting.name} depends on time"
    pulled = any(isinstance(one, Force) for one in (chain.left, chain.right, *(load for _, load in chain.loads)))
    held = not chain.held[0].all() or any(isinstance(load, Tweezers) for _, load in chain.loads)
    held = held or any(isinstance(end, Tweezers) for end in (chain.left, chain.right))
    return "a force moves it, and nothing holds it" if (pulled or chain.gravity.any()) and not held else ""


def _of_free_links(chain: Chain, links: list[BendTwist], kT: float) -> tuple[Law, ...]:
    found = []
    stiff = np.array([link.stretch for link in links])
    if (stiff > 0.0).all():
        rest = np.array([link.d0 for link in links])
        found.append(Law("stretch", 1.0, partial(_stretch, stiffness=stiff / (3.0 * kT), rest=rest), 1.0))
    if all(body.kind in TURNING for body in chain.alike.distinct):
        known = {(link.bend, link.twist): 0.0 for link in links}
        known = {key: mean_cosine(key[0] / kT, key[1] / kT) for key in known}
        turned = np.array([link.q0 for link in links])
        law = float(np.mean([known[link.bend, link.twist] for link in links]))
        found.append(Law("bending", law, partial(_bending, rest=turned), 1.0))
    return tuple(found)


def _of_pulled_links(chain: Chain, links: list[BendTwist], kT: float) -> tuple[Law, ...]:
    """Laws of all links but the first, whose direction a clamped body fixes."""
    assert isinstance(chain.right, Force)
    force = np.array(chain.right.force, dtype=float)
    pull = float(np.linalg.norm(force))
    turning = all(body.kind in TURNING for body in chain.bodies[1:])
    loose = all(link.bend == link.twist == 0.0 and link.stretch > 0.0 for link in links)
    if len(links) == 1 or pull == 0.0 or not (turning and loose):
        return ()
    lengths = [float(np.linalg.norm(link.d0)) for link in links[1:]]
    stretched = [pull / link.stretch for link in links[1:]]
    law = np.mean([a * langevin_function(pull * a / kT) + x for a, x in zip(lengths, stretched, strict=True)])
    unit = np.mean(np.add(lengths, stretched))
    direction = force / pull
    return (Law("extension", float(law), partial(_extension, direction=direction), float(unit)),)


def _bonds(states: States) -> Array:
    """d of each link, (..., links, 3)."""
    bonds = np.diff(states["position"], axis=-2)
    return rotations.rotate(rotations.conjugate(states["orientation"][..., :-1, :]), bonds)


def _stretch(states: States, stiffness: Array, rest: Array) -> Array:
    """Mean over the links of stiffness |d - d0|^2."""
    return (stiffness * ((_bonds(states) - rest) ** 2).sum(axis=-1)).mean(axis=-1)


def _bending(states: States, rest: Array) -> Array:
    """Mean over the links of T33 = (R_a R(q0) e3) . (R_b e3)."""
    q = states["orientation"]
    before = rotations.to_matrix(rotations.multiply(q[..., :-1, :], np.broadcast_to(rest, q[..., :-1, :].shape)))
    after = rotations.to_matrix(q[..., 1:, :])
    return (before[..., 2] * after[..., 2]).sum(axis=-1).mean(axis=-1)


def _extension(states: States, direction: Array) -> Array:
    """Mean over all links but the first of their extension along a direction."""
    position = states["position"]
    return (position[..., -1, :] - position[..., 1, :]) @ direction / (position.shape[-2] - 2)
