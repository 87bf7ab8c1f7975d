"""A kernel of a view on its own, as plain Python: in float64, or in arithmetic of any precision."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

import harness
from catena.engine import collector, headers
from catena.engine.build import interpreted, parameter_arrays, parameter_types
from catena.systems.base import System


class Kernel:
    """A slot of a view, filled, to be called with everything but `par`, which comes from the system.

    Parameters
    ----------
    system, view : where the slot is filled
    slot : what is wanted
    precise : compute with mpmath in its present precision
    fills : slots filled otherwise than the view does it
    arrays : what a method would add to `par`
    """

    def __init__(
        self, system: System, view: str, slot: Any, *, precise: bool = False, fills: Any = None, arrays: Any = None
    ) -> None:
        import mpmath

        offered = system.view(view)
        assert offered is not None
        par = SimpleNamespace(par=dict(arrays or {}))
        parts = collector.collect(slot, {**offered.fills, **(fills or {})})
        types = parameter_types(system, par)  # type: ignore[arg-type]
        text = headers.module_text("kernel", parts, types, header=headers.PYTHON, entry="@_fn")
        self.function = interpreted(text, mpmath.mp if precise else math).advance
        arrays = parameter_arrays(system, par)  # type: ignore[arg-type]
        number = harness.numbers if precise else np.array
        module = self.function.__globals__
        self.par = module["Parameters"](**{name: number(array) for name, array in arrays.items()})
