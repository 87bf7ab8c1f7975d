"""Generated texts as plain Python."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from ..kernels.elementary import FUNCTIONS
from .collector import stem_of

MathModule: TypeAlias = types.ModuleType | types.SimpleNamespace  # its functions replace those of `math`

# Name in generated texts -> a faster equivalent; in plain Python a sine takes 10 microseconds. Tests put compiled
# functions here.
quick: dict[str, Callable[..., float]] = {}


def interpret(text: str, math_module: MathModule = math) -> types.ModuleType:
    """A generated text as a module of plain Python functions, optionally with another `math`."""
    module = types.ModuleType("catena_interpreted")
    exec(_bytecode(text), module.__dict__)
    if math_module is not math:
        # it also replaces our own functions; one that it lacks cannot be called
        own = {stem_of(kernel): getattr(math_module, name, None) for name, kernel in FUNCTIONS.items()}
        module.__dict__.update({name: function for name, function in own.items() if name in module.__dict__})
    else:
        module.__dict__.update({name: function for name, function in quick.items() if name in module.__dict__})
    module.__dict__["math"] = math_module
    return module


@lru_cache(128)
def _bytecode(text: str) -> types.CodeType:
    return compile(text, "<interpreted>", "exec")
