"""What kernels see as `par`: parameters, which say what a system is, and scratch, which steps scribble on.

Parameters never change while a system is stepped, so all drivers, threads and members share them. Scratch belongs to one driver, or to
one member on a card; nothing in it is needed from step to step, but it may begin with numbers that no step writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..errors import InputError
from ..kernels.marks import Numbers
from ..kernels.views import View
from ..methods.base import Stepper
from ..systems.base import System
from .collector import Part
from .headers import ArrayType

LOCKED = "read-only"  # in the words of numpy for who writes into an array that is

AnyNumbers = TypeVar("AnyNumbers", bound=np.ndarray)


def locked(array: AnyNumbers) -> AnyNumbers:
    """The same numbers, but who writes into them gets a ValueError that says so (`LOCKED`)."""
    seen = array.view()
    seen.flags.writeable = False
    return seen


@dataclass(frozen=True, eq=False)
class Arrays:
    """The arrays of `par`, by name; scratch as it is before the first step."""

    parameters: Mapping[str, Numbers]
    scratch: Mapping[str, Numbers]

    @classmethod
    def of(cls, system: System, view: View, stepper: Stepper) -> Arrays:
        """Those of the system, what its view adds to them, and what the method adds."""
        parameters = {**system.parameter_arrays(), **view.parameters, **stepper.parameters}
        scratch = {**view.scratch(), **stepper.scratch}
        for name in sorted(parameters.keys() & scratch.keys()):
            raise InputError(
                f"par.{name} of {system.title} is a parameter and scratch, too", where=f"view {view.name}",
                do="declare it once: as scratch if a kernel writes into it",
            )  # fmt: skip
        # compiled code takes rows of neighbours; what a method transposed does not come so
        rows = {name: array if array.flags.c_contiguous else array.copy() for name, array in parameters.items()}
        return cls(rows, scratch)

    @property
    def together(self) -> dict[str, Numbers]:
        """All of them: these arrays, no copies."""
        return {**self.parameters, **self.scratch}

    @property
    def types(self) -> list[ArrayType]:
        """Name, dimensions and type of each."""
        return [(name, array.ndim, array.dtype.name) for name, array in self.together.items()]

    def named_in(self, parts: Sequence[Part]) -> Arrays:
        """Those that these functions name."""
        named = set(re.findall(r"\bpar\.(\w+)", "\n".join(part.text for part in parts)))
        kinds = (self.parameters, self.scratch)
        return Arrays(*({name: array for name, array in kind.items() if name in named} for kind in kinds))

    def used_by(self, parts: Sequence[Part]) -> Arrays:
        """The same, but never none: what goes along. Each is seven more numbers in every call."""
        named = self.named_in(parts)
        return named if named.together else Arrays(dict(list(self.parameters.items())[:1]), {})

    def locked(self) -> Arrays:
        """The same with parameters that plain Python cannot write into."""
        return Arrays({name: locked(array) for name, array in self.parameters.items()}, self.scratch)

    def fresh(self) -> dict[str, Numbers]:
        """All for one more driver: the parameters themselves, and scratch of its own."""
        return {**self.parameters, **{name: array.copy() for name, array in self.scratch.items()}}
