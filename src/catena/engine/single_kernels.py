"""Single kernels of a view, outside the loop: plain Python if a system is small, compiled otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..kernels import views
from ..kernels.marks import Kernel, Numbers
from ..kernels.views import View
from ..methods.base import Stepper
from ..systems.base import System
from . import bounds, cache, collector, headers
from .arrays import Arrays
from .plain_python import interpret

PAR = -1  # in `dimensions`, marks the argument `par`


class SingleKernels:
    """Kernels of one view of a system that work on the same arrays.

    Parameters
    ----------
    system, view : owner of the kernels
    scratch : arrays of `par` beyond those of the view

    Attributes
    ----------
    arrays : parameters and scratch by name, as the kernels see them
    """

    def __init__(self, system: System, view: View, *, scratch: Mapping[str, Numbers]) -> None:
        self._title, self._fills = system.title, view.fills
        self._found = Arrays.of(system, view, Stepper(views.step, np.zeros((1, 1)), 0, 0, scratch=dict(scratch)))
        self.arrays = self._found.fresh()

    def function(self, kernel: Kernel, dimensions: Sequence[int], *, compiled: bool) -> Callable[..., None]:
        """A kernel, or the filling of a slot, as a function of all its arguments but `par`.

        Parameters
        ----------
        kernel : it returns nothing
        dimensions : of each argument, all float64 arrays; PAR for `par`
        """
        parts = collector.collect(kernel, self._fills)
        used = self._found.used_by(parts)
        title = f"{self._title}, {getattr(kernel, '__name__', 'kernel').replace('_', ' ')}"
        if compiled:
            arguments = [headers.parameters_type(used.types) if d == PAR else headers.array_type(d) for d in dimensions]
            entry = headers.cpu_function("types.void", arguments)
            checked = bounds.are_wanted()
            text = headers.module_text(title, parts, used.types, header=headers.CPU, entry=entry, checked=checked)
            module = cache.load(text, title)
        else:
            text = headers.module_text(title, parts, used.types, header=headers.PYTHON, entry="@_fn")
            module = interpret(text)
        par = module.Parameters(**{name: self.arrays[name] for name in used.together})
        return partial(_with_par, module.advance, par, list(dimensions).index(PAR))


def _with_par(function: Callable[..., None], par: object, place: int, *arguments: Numbers) -> None:
    function(*arguments[:place], par, *arguments[place:])
