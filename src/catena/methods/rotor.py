"""What a rotor is: a method that turns free bodies, alone or inside the drift of a splitting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..kernel import bind
from ..views import View, rotate
from .base import Method, Stepper

Array = NDArray[np.float64]


def rotate_free_body(z, e, dt, par, tab, work, carry):
    """The rotor on z = (q, y)."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], dt, par.rotor[0])


class Rotor(Method):
    """Base of the rotors. `par.rotor[j]` is the row of `table` for body j."""

    needs = ("rotor",)

    def rotor_kernel(self) -> Any:
        """The kernel that fills `rotate`."""
        raise NotImplementedError

    def table(self, view: View) -> Array:
        """One row of constants for each body; CapabilityError if a body cannot be turned."""
        return np.array([self.row(moments) for moments in view.moments])  # type: ignore[union-attr]

    def row(self, moments: Array) -> Array:
        """The constants for a body with these moments."""
        return np.zeros(1)

    def stepper(self, view: View) -> Stepper:
        kernel = bind(rotate_free_body, {rotate: self.rotor_kernel()})
        return Stepper(kernel, np.zeros((1, 1)), 0, 0, {"rotor": self.table(view)})


def with_rotor(stepper: Stepper, rotor: Any, view: View) -> Stepper:
    """A stepper whose drifts turn bodies by this rotor; unchanged for systems without bodies."""
    if "rotor" not in view.flags:
        return stepper
    kernel = bind(stepper.kernel, {rotate: rotor.rotor_kernel()})
    return replace(stepper, kernel=kernel, par={**stepper.par, "rotor": rotor.table(view)})


def check_rotor(rotor: Any, *, order: int, where: str) -> None:
    """Refuse what is not a rotor, and one whose order would spoil that of the splitting."""
    # A composition is a rotor if what it composes is one.
    if not hasattr(getattr(rotor, "base", rotor), "rotor_kernel"):
        raise InputError(
            f"{rotor!r} is not a rotor", where=where, do="give one, such as DMV(10) or SymmetricRotation()"
        )
    if rotor.traits.order < order:
        raise InputError(
            f"{rotor} has order {rotor.traits.order}, the splitting {order}", where=where,
            do=f"choose a rotor of order {order} or more, such as DMV({order})",
        )  # fmt: skip
