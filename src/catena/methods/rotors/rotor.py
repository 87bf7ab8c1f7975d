"""What a rotor is: a method that rotates free bodies, alone or inside the drift of a splitting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import CapabilityError, InputError
from ...kernels.marks import Filling, Kernel, Slot, bind
from ...kernels.views import Flag, View, rotate, rotate_lane
from ..base import Bounded, Method, Stepper, Traits

NEARLY_SYMPLECTIC = 10  # order up to which a rotor must be symplectic for an energy without drift


def rotate_free_body(z, e, dt, par, tab, work, carry):
    """The rotor on z = (q, y)."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], dt, par.rotor[0])


@runtime_checkable
class Turning(Protocol):
    """Anything that rotates bodies inside a drift: a rotor, or a composition of rotors."""

    @property
    def takes_notes(self) -> bool:
        """Whether its kernel writes to its row, which is then scratch."""

    def rotor_kernel(self) -> Kernel:
        """The kernel that fills `rotate`."""

    def table(self, view: View) -> Array:
        """One row of constants for each body."""


def turning(method: Method) -> Turning:
    """A method as a rotor; CapabilityError if it is none."""
    if not isinstance(method, (Rotor, Turning)):  # isinstance with a protocol is slow
        raise CapabilityError(f"{method} turns no bodies", do="use a rotor, such as DMV(10) or SymmetricRotation()")
    return method


class Rotor(Method):
    """Base of the rotors. `par.rotor[j]` is the row of `table` for body j."""

    needs: ClassVar[tuple[str, ...]] = ("rotor",)

    @property
    def takes_notes(self) -> bool:
        """Whether its kernel writes to its row, which is then scratch."""
        return False

    @abstractmethod
    def rotor_kernel(self) -> Kernel:
        """The kernel that fills `rotate`."""

    def table(self, view: View) -> Array:
        """One row of constants for each body; CapabilityError if it cannot rotate a body."""
        return _for_each(moments_of(view), self.row)

    def row(self, moments: Array) -> Array:
        """The constants for a body with these moments."""
        return np.zeros(1)

    def lane_kernel(self, moments: Array) -> Kernel:
        """The kernel that fills `rotate_lane` for bodies with these moments; CapabilityError if there is none."""
        raise CapabilityError(f"{self} has no form for lanes")

    def lane_row(self, moments: Array) -> Array:
        """The constants for a body with these moments there; CapabilityError if there is none."""
        raise CapabilityError(f"{self} has no form for lanes")

    def stepper(self, view: View) -> Stepper:
        kernel = bind(rotate_free_body, {rotate: self.rotor_kernel()})
        return with_table(Stepper(kernel, np.zeros((1, 1)), 0, 0), self, view)


class TurnsBodies(Method):
    """Base of the splittings that rotate bodies by a rotor in their drifts."""

    rotor: Method | None

    @abstractmethod
    def _rotor(self, view: View) -> Method:
        """The rotor for the bodies of a view."""

    @property
    @abstractmethod
    def _alone(self) -> Traits:
        """Its traits if no body rotates."""

    @property
    def traits(self) -> Traits:
        return self._alone if self.rotor is None else turning_with(self._alone, self.rotor)

    def traits_on(self, view: View) -> Traits:
        return turning_with(self._alone, self._rotor(view)) if Flag.ROTOR in view.flags else self._alone


def moments_of(view: View) -> Array:
    """The moments of the bodies; a view for rotors has them."""
    assert view.moments is not None
    return view.moments


def _for_each(moments: Array, row: Callable[[Array], Array]) -> Array:
    """A row for each body, computed once for bodies with the same moments."""
    different, which = different_rows(moments)
    return np.array([row(each) for each in different])[which]


def different_rows(moments: Array) -> tuple[Array, NDArray[np.int64]]:
    """The distinct rows, and the index of each row among them; without a sort, which is expensive, if all are equal."""
    if (moments == moments[:1]).all():
        return moments[:1], np.zeros(len(moments), dtype=np.int64)
    different, which = np.unique(moments, axis=0, return_inverse=True)
    return different, which


def with_lanes(stepper: Stepper, rotor: Method, view: View) -> Stepper:
    """A stepper whose sweeps rotate bodies by this rotor, fast ones one at a time."""
    assert view.spread is not None  # such a view has bodies
    spin = view.spread(lane_table(rotor, view))
    return turn_in_lanes(replace(stepper, parameters={**stepper.parameters, "spin": spin}), rotor, view)


def lane_table(rotor: Method, view: View) -> Array:
    """A row of constants for each body, for the lanes; CapabilityError if the rotor has none."""
    if not isinstance(rotor, Rotor):
        raise CapabilityError(f"{rotor} has no form for lanes")
    return _for_each(moments_of(view), rotor.lane_row)


def turn_in_lanes(stepper: Stepper, rotor: Method, view: View) -> Stepper:
    """The same for a stepper whose rotor constants are already spread over the lanes."""
    assert isinstance(rotor, Rotor)
    fills: dict[Slot, Filling] = {rotate_lane: rotor.lane_kernel(moments_of(view)), rotate: rotor.rotor_kernel()}
    of_body = None if stepper.of_body is None else bind(stepper.of_body, fills)
    return with_table(replace(stepper, kernel=bind(stepper.kernel, fills), of_body=of_body), rotor, view)


def with_rotor(stepper: Stepper, rotor: Method, view: View) -> Stepper:
    """A stepper whose drifts rotate bodies by this rotor; unchanged for systems without bodies."""
    if Flag.ROTOR not in view.flags:
        return stepper
    turns = turning(rotor)
    kernel = bind(stepper.kernel, {rotate: turns.rotor_kernel()})
    return with_table(replace(stepper, kernel=kernel), turns, view)


def with_table(stepper: Stepper, rotor: Turning, view: View) -> Stepper:
    """A stepper whose kernels find the table of this rotor in `par`."""
    table = {"rotor": rotor.table(view)}
    if rotor.takes_notes:
        return replace(stepper, scratch={**stepper.scratch, **table})
    return replace(stepper, parameters={**stepper.parameters, **table})


def turning_with(traits: Traits, rotor: Method) -> Traits:
    """Traits of a splitting that rotates bodies by this rotor, from its traits without rotation.

    A step is as symplectic as its rotor. A rotor that is symplectic up to a high order still bounds the energy error as
    far as runs can show: with DMV(10) the energy of a chaotic top did not drift in 4e5 steps of dt |omega| = 0.35 and
    0.7 under orders 4, 6 and 8; with DMV(8) and DMV(6) it did.
    """
    turning = rotor.traits
    up_to = turning.nearly or turning.order
    axial = tuple(keep for keep in turning.keeps if keep.what == "axial")
    bounded = turning.symplectic or up_to >= NEARLY_SYMPLECTIC
    others = tuple(keep for keep in traits.keeps if bounded or keep != Bounded("energy"))
    return replace(
        traits,
        symplectic=turning.symplectic,
        nearly=0 if turning.symplectic or up_to <= traits.order else up_to,
        explicit=traits.explicit and turning.explicit,
        keeps=(*axial, *others),
    )


def check_rotor(rotor: Method, *, order: int, where: str) -> None:
    """Refuse anything that is not a rotor, and a rotor whose order would spoil that of the splitting."""
    # A composition is a rotor if its base is one.
    if not hasattr(getattr(rotor, "base", rotor), "rotor_kernel"):
        raise InputError(
            f"{rotor!r} is not a rotor", where=where, do="give one, such as DMV(10) or SymmetricRotation()"
        )
    if rotor.traits.order < order:
        raise InputError(
            f"{rotor} has order {rotor.traits.order}, the splitting {order}", where=where,
            do=f"choose a rotor of order {order} or more, such as DMV({order})",
        )  # fmt: skip
