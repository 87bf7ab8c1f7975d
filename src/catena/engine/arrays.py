"""The arrays that kernels see as `par`: parameters, which define a system, and scratch, which steps write to.

Parameters never change while a system is stepped, so all drivers, threads and members share them. Scratch belongs to
one driver, or to one member on a GPU; no step needs what an earlier one left there, but scratch may start with numbers
that no step writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from ..errors import InputError
from ..kernels.marks import Numbers
from ..kernels.views import View
from ..methods.base import Stepper
from ..systems.base import System
from .collector import Part
from .headers import ArrayType

LOCKED = "read-only"  # part of numpy's message for a write to such an array

AnyNumbers = TypeVar("AnyNumbers", bound=np.ndarray)


def lock(array: AnyNumbers) -> AnyNumbers:
    """The same numbers, but a write raises a ValueError (`LOCKED`)."""
    seen = array.view()
    seen.flags.writeable = False
    return seen


@cache  # numpy builds the name anew at each call
def _name_of(dtype: np.dtype[np.generic]) -> str:
    return dtype.name


@dataclass(frozen=True, eq=False)
class Arrays:
    """The arrays of `par`, by name; scratch as it is before the first step.

    `timed` gives the parameters that depend on the step: dt -> arrays by name. Until a driver sets dt, they are those
    of dt = 1.
    """

    parameters: Mapping[str, Numbers]
    scratch: Mapping[str, Numbers]
    timed: Callable[[float], Mapping[str, Numbers]] | None = None

    @classmethod
    def of(cls, system: System, view: View, stepper: Stepper) -> Arrays:
        """The arrays of the system, those that its view adds, and those that the method adds."""
        timed = stepper.timed(1.0) if stepper.timed else {}
        parameters = {**system.parameter_arrays(), **view.parameters, **stepper.parameters, **timed}
        scratch = {**view.scratch(), **stepper.scratch}
        for name in sorted(parameters.keys() & scratch.keys()):
            raise InputError(
                f"par.{name} of {system.title} is a parameter and scratch, too", where=f"view {view.name}",
                do="declare it once: as scratch if a kernel writes into it",
            )  # fmt: skip
        # compiled code needs contiguous arrays; a table that the method transposed is not
        rows = {name: array if array.flags.c_contiguous else array.copy() for name, array in parameters.items()}
        return cls(rows, scratch, stepper.timed)

    @property
    def together(self) -> dict[str, Numbers]:
        """All arrays, parameters and scratch, without copying."""
        return {**self.parameters, **self.scratch}

    @property
    def types(self) -> list[ArrayType]:
        """Name, dimensions and type of each."""
        return [(name, array.ndim, _name_of(array.dtype)) for name, array in self.together.items()]

    def named_in(self, parts: Sequence[Part]) -> Arrays:
        """The arrays that these functions name."""
        named = frozenset[str]().union(*(part.parameters for part in parts))
        parameters, scratch = (
            {name: array for name, array in kind.items() if name in named} for kind in (self.parameters, self.scratch)
        )
        return Arrays(parameters, scratch, self.timed)

    def used_by(self, parts: Sequence[Part]) -> Arrays:
        """The same, but at least one array. Only these are passed: each array adds seven numbers to every call."""
        named = self.named_in(parts)
        return named if named.together else Arrays(dict(list(self.parameters.items())[:1]), {}, self.timed)

    def locked(self) -> Arrays:
        """The same with parameters that plain Python cannot write to."""
        timed = self.timed

        def locked_at(dt: float) -> dict[str, Numbers]:
            assert timed is not None
            return {name: lock(array) for name, array in timed(dt).items()}

        parameters = {name: lock(array) for name, array in self.parameters.items()}
        return Arrays(parameters, self.scratch, locked_at if timed else None)

    def at(self, dt: float) -> dict[str, Numbers]:
        """The parameters for steps of this length: the only place where dt reaches the arrays of a method."""
        timed = self.timed(dt) if self.timed else {}
        return {name: timed.get(name, array) for name, array in self.parameters.items()}

    def fresh(self, dt: float = 1.0) -> dict[str, Numbers]:
        """The arrays for another driver with this step: shared parameters, and its own scratch."""
        return {**self.at(dt), **{name: array.copy() for name, array in self.scratch.items()}}
