"""Refused chains: forms that do not support the bodies or drives, loads without effect, rings with ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import CapabilityError, InputError
from .ends import Force, Torque, Tweezers

if TYPE_CHECKING:
    from .chain import Chain

LEAST_OF_A_RING = 3  # two bodies would be joined twice


def check_points(chain: Chain) -> None:
    """A point can be pulled only at its centre, and nothing can turn it."""
    for acting in chain.drives.acting:
        body, source = chain.bodies[acting.body], acting.source
        if isinstance(source, Torque) and body.kind == "point":
            raise InputError(
                f"body {acting.body} is a point: a torque does nothing",
                where=f"Chain.{acting.name}",
                do="leave it out",
            )
        if isinstance(source, (Force, Tweezers)) and np.any(source.at) and body.kind == "point":
            raise InputError(
                f"body {acting.body} is a point, and at = {list(source.at)} is not in it",
                where=f"Chain.{acting.name}.at", do="leave it out",
            )  # fmt: skip


def check_loads(chain: Chain) -> None:
    """A pull on a held body has no effect; a body that may turn can be turned by a pull off its centre."""
    moves, turns = chain.held
    for number, (body, load) in enumerate(chain.loads):
        turned = isinstance(load, Torque) or np.any(load.at)
        if not moves[body] and not (turns[body] and turned):
            raise InputError(
                f"body {body} is held: {load} does nothing to it", where=f"Chain.loads[{number}]", do="leave it out, or free that end"
            )  # fmt: skip


def check_form(chain: Chain) -> None:
    """The multiplier form supports neither link potentials nor drives; the matrix form no linear body."""
    if chain.form == "multiplier":
        if chain.interactions.has_bonds:
            raise CapabilityError(
                "link potentials are functions of rotations; the multiplier form leaves them", where="Chain.form",
                do='use form="quaternion"',
            )  # fmt: skip
        if chain.drives:
            raise CapabilityError(
                f"{chain.drives.names[0]} depends on time or acts off the centre of mass, which the multiplier form does not know",
                where="Chain.form", do='use form="quaternion"',
            )  # fmt: skip
    for j, body in zip(chain.alike.first.tolist(), chain.alike.distinct, strict=True):
        if chain.form == "rotation" and body.kind == "linear":
            raise CapabilityError(
                f"body {j} is linear: RATTLE on matrices needs a body with three directions",
                where="Chain.form", do='use form="quaternion"',
            )  # fmt: skip


def check_ring(closed: object, bodies: int, given: Sequence[bool]) -> bool:
    """Whether a chain is closed; a ring has no ends, `given` or not, and at least three bodies."""
    if not isinstance(closed, (bool, np.bool_)):
        raise InputError(f"closed = {closed!r}", where="Chain.closed", do="give True or False")
    if not closed:
        return False
    if bodies < LEAST_OF_A_RING:
        raise InputError(
            f"{bodies} bodies make no ring", where="Chain.bodies", do=f"give {LEAST_OF_A_RING} or more, or closed=False"
        )
    ends = [name for name, there in zip(("left", "right"), given, strict=True) if there]
    if ends:
        raise InputError(
            f"a closed chain has no ends, but {' and '.join(ends)} {'is' if len(ends) == 1 else 'are'} given",
            where=f"Chain.{ends[0]}", do="leave the ends out, or closed",
        )  # fmt: skip
    return True


def refuse_distant(chain: Chain, what: str) -> None:
    """Statics includes only neighbours."""
    if chain.acting.pairs is not None:
        raise CapabilityError(
            f"{what} looks at links only, and this chain has pairs between all bodies", where=f"chain.{what}",
            do="leave pairs out where the chain does not touch itself",
        )  # fmt: skip


def refuse_moving_pairs(chain: Chain) -> None:
    """Potentials in time get new constants; the constants of pairs between all bodies are fixed."""
    if chain.acting.pairs is not None and chain.drives.moving:
        raise CapabilityError(
            "potentials of links that depend on time do not go together with pairs between all bodies", where="Chain.pairs",
            do="give the links numbers, or leave pairs out",
        )  # fmt: skip
