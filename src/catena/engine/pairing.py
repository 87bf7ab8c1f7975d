"""System x method: the result of combining the two, computed once and used everywhere.

The method lists the views that it can work with, best first; the first one that the system offers and the method
accepts is used. Cases are checked with it; plans, runs, audits and stores query it; programs are built from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ..errors import CapabilityError
from ..kernels import views
from ..kernels.declarations import Field, cut
from ..kernels.views import View
from ..methods.base import Method, Stepper, all_methods
from ..systems.base import System
from . import collector, headers
from .arrays import Arrays
from .plain_python import interpret
from .promises import Promises, promises_on


class Pairing:
    """A system with a method that can treat it; CapabilityError, naming methods that can, if it cannot.

    Use `Pairing.of(system, method)`, which creates it once.

    Attributes
    ----------
    system, method : the two
    view : the view of the system that the method uses
    stepper : the method fitted to that view, with its tables
    """

    _known: ClassVar[WeakValueDictionary[tuple[int, int], Pairing]] = WeakValueDictionary()

    def __init__(self, system: System, method: Method) -> None:
        self.system, self.method = system, method
        self.view, self.stepper = _choose_view(system, method)

    @classmethod
    def of(cls, system: System, method: Method) -> Pairing:
        """The pairing of these two objects: the existing one as long as somebody holds it, else a new one.

        It holds both objects, so their ids are not reused meanwhile, and the cache keeps nothing alive.
        """
        found = cls._known.get((id(system), id(method)))
        if found is None:
            found = cls._known[id(system), id(method)] = cls(system, method)
        return found

    @cached_property
    def promises(self) -> Promises:
        """What the method promises for this system; tables, cases, stores, audits and documentation all use this."""
        return promises_on(self.view, self.method, self.system.invariants)

    @property
    def recorded(self) -> tuple[Field, ...]:
        """The columns of a sample, in this order: fields and invariants of the system, sums of the method."""
        return (*self.system.fields, *self.system.invariants, *self.stepper.accounts)

    def columns(self, rows: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Sample rows (m, width) split into these columns, by name."""
        return cut(rows, self.recorded)

    @property
    def limit(self) -> float:
        """Largest stable dt times highest frequency; inf if there is no limit, 0 if no step is stable."""
        return self.promises.traits.stability


def _choose_view(system: System, method: Method) -> tuple[View, Stepper]:
    """The best view that the system offers and the method can use."""
    reasons: list[CapabilityError] = []
    for name in method.needs:
        view = system.view(name)
        if view is None:
            continue
        try:
            return view, _fit(system, method, view)
        except CapabilityError as reason:
            reasons.append(reason)
    messages = [reason.wrong for reason in reasons] + [why for name in method.needs if (why := system.lacks(name))]
    raise CapabilityError(
        f"{method} cannot treat {system.title}: "
        + (
            "; ".join(dict.fromkeys(messages))
            or method.asks_for
            or f"it needs {_word_needs(method.needs)}, which this system does not offer"
        ),
        do=_instead(system, method, reasons),
    )


IN_WORDS = {
    "tiles": "kicks and drifts", "split": "kicks and drifts", "rotor": "a body that turns freely", "canonical": "canonical coordinates and momenta",
    "field": "equations of first order", "constrained": "equations with constraints", "symmetric": "a symmetric top", "flow": "a known exact motion",
}  # fmt: skip


def _word_needs(names: Sequence[str]) -> str:
    """What these views require of a system, in words for users."""
    return " or ".join(dict.fromkeys(IN_WORDS.get(name, f"the view {name}") for name in names))


def _fit(system: System, method: Method, view: View) -> Stepper:
    """The step of the method on a view, including kernels written from its field, if any."""
    stepper = method.stepper(view)
    if stepper.recorded is None:
        return stepper
    parts = collector.collect(views.field, {**view.fills, views.dimension: view.dimension})
    arrays = Arrays.of(system, view, stepper).used_by(parts)
    text = headers.module_text("field", parts, arrays.types, header=headers.PYTHON, entry="@_fn")
    whole = tuple((name, array.tobytes()) for name, array in arrays.together.items() if array.dtype.kind == "i")
    key = (method, text, whole)
    if key not in _recorded:
        _recorded[key] = stepper.recorded(
            stepper, lambda module: interpret(text, module).advance, arrays.together, view.dimension
        )
    return _recorded[key]


_recorded: dict[Any, Stepper] = {}  # cached, because recording a field and writing its series is slow


def _instead(system: System, method: Method, reasons: Sequence[CapabilityError]) -> str:
    """Alternatives that work: the refusals' own advice, else the method with other parameters; then other methods."""
    own = list(dict.fromkeys(reason.do for reason in reasons if reason.do))
    if not own:
        own = [f"use {example}" for example in type(method).examples() if can_treat(system, example)][:1]
    others = [name for name in methods_for(system) if name != method.name and f"{name}(" not in "".join(own)]
    verb = "" if own and own[-1].startswith("use ") else "use "
    named = [f"{verb}one of {', '.join(others)}"] if others else []
    return ", or ".join([*own, *named])


def can_treat(system: System, method: Method) -> bool:
    """Whether the method can treat the system."""
    for name in method.needs:
        try:
            view = system.view(name)
            if view is not None:
                _fit(system, method, view)
                return True
        except CapabilityError:
            continue
    return False


def methods_for(system: System) -> list[str]:
    """Names of the methods that can treat a system with at least some of their parameters."""
    return [kind.name for kind in all_methods() if any(can_treat(system, method) for method in kind.examples())]
