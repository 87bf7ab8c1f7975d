"""What a rotor is: a method that turns free bodies, alone or inside the drift of a splitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import CapabilityError, InputError
from ..kernel import bind
from ..views import View, rotate, rotate_lane
from .base import Bounded, Keeps, Method, Stepper

Array = NDArray[np.float64]


def rotate_free_body(z, e, dt, par, tab, work, carry):
    """The rotor on z = (q, y)."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], dt, par.rotor[0])


class Rotor(Method):
    """Base of the rotors. `par.rotor[j]` is the row of `table` for body j."""

    needs: ClassVar[tuple[str, ...]] = ("rotor",)

    def rotor_kernel(self) -> Any:
        """The kernel that fills `rotate`."""
        raise NotImplementedError

    def table(self, view: View) -> Array:
        """One row of constants for each body; CapabilityError if a body cannot be turned."""
        return _for_each(view.moments, self.row)

    def row(self, moments: Array) -> Array:
        """The constants for a body with these moments."""
        return np.zeros(1)

    def lane_kernel(self, moments: Array) -> Any:
        """The kernel that fills `rotate_lane` for bodies with these moments; CapabilityError if there is none."""
        raise CapabilityError(f"{self} has no form for lanes")

    def lane_row(self, moments: Array) -> Array:
        """The constants for a body with these moments there."""
        raise NotImplementedError

    def stepper(self, view: View) -> Stepper:
        kernel = bind(rotate_free_body, {rotate: self.rotor_kernel()})
        return Stepper(kernel, np.zeros((1, 1)), 0, 0, {"rotor": self.table(view)})


def _for_each(moments: Any, row: Callable[[Array], Array]) -> Array:
    """A row for each body; bodies with the same moments share the work."""
    different, which = np.unique(moments, axis=0, return_inverse=True)
    return np.array([row(each) for each in different])[which]


def with_lanes(stepper: Stepper, rotor: Any, view: View) -> Stepper:
    """A stepper whose sweeps turn bodies by this rotor, the fast ones among them one by one."""
    if not isinstance(rotor, Rotor):
        raise CapabilityError(f"{rotor} has no form for lanes")
    assert view.moments is not None and view.spread is not None  # such a view has bodies
    kernel = bind(stepper.kernel, {rotate_lane: rotor.lane_kernel(view.moments), rotate: rotor.rotor_kernel()})
    spin = view.spread(_for_each(view.moments, rotor.lane_row))
    return replace(stepper, kernel=kernel, par={**view.arrays, "rotor": rotor.table(view), "spin": spin})


def with_rotor(stepper: Stepper, rotor: Any, view: View) -> Stepper:
    """A stepper whose drifts turn bodies by this rotor; unchanged for systems without bodies."""
    if "rotor" not in view.flags:
        return stepper
    kernel = bind(stepper.kernel, {rotate: rotor.rotor_kernel()})
    return replace(stepper, kernel=kernel, par={**stepper.par, "rotor": rotor.table(view)})


def is_symplectic_with(rotor: Method | None) -> bool:
    """Whether a splitting with this rotor is symplectic. Without one it is, if no body turns; default rotors nearly are."""
    return rotor is None or rotor.traits.symplectic


def kept_with(rotor: Method | None, default: Method) -> tuple[Keeps, ...]:
    """What a splitting with this rotor promises of energy and axial momentum."""
    axial = tuple(keep for keep in (rotor or default).traits.keeps if keep.what == "axial")
    return (*axial, Bounded("energy")) if is_symplectic_with(rotor) else axial


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
