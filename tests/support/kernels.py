"""A single kernel of a view as plain Python: in float64, or in arithmetic of any precision."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import harness
import many_digits
from catena.engine import collector, headers
from catena.engine.arrays import Arrays
from catena.engine.plain_python import interpret
from catena.methods.base import Stepper
from catena.systems.base import System


class Kernel:
    """A slot of a view, filled, to be called with all arguments but `par`, which comes from the system.

    Parameters
    ----------
    system, view : where the slot is filled
    slot : the slot to call
    precise : compute with mpmath in its present precision
    fills : slots filled otherwise than in the view
    arrays : arrays that a method would add to `par`
    """

    def __init__(
        self, system: System, view: str, slot: Any, *, precise: bool = False, fills: Any = None, arrays: Any = None
    ) -> None:
        offered = system.view(view)
        assert offered is not None
        parts = collector.collect(slot, {**offered.fills, **(fills or {})})
        stepper = Stepper(None, np.zeros((1, 1)), 0, 0, scratch=dict(arrays or {}))
        par = Arrays.of(system, offered, stepper)
        text = headers.module_text("kernel", parts, par.types, header=headers.PYTHON, entry="@_fn")
        plain = interpret(text, many_digits.MATH if precise else math).advance
        self.function = partial(many_digits.compute, plain) if precise else plain
        number = harness.numbers if precise else np.array
        self.par = plain.__globals__["Parameters"](**{name: number(array) for name, array in par.together.items()})
