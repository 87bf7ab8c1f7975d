"""What a system is: parameters, the fields of its state, its invariants, and the views it offers to methods."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as _default
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, nearest
from ..views import View

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """A public array of the state: its name, shape and the names of its dimensions."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    about: str = ""

    @property
    def width(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Invariant(Field):
    """A quantity that the motion keeps. `tags` tell a method what it is: "energy", "linear", "bilinear", "quadratic"."""

    tags: frozenset[str] = _default(default_factory=frozenset)


@dataclass(frozen=True, eq=False)
class State:
    """Named arrays and a time: where a system is. Fields are attributes: `state.q`, `state.position`."""

    fields: Mapping[str, Array]
    time: float = 0.0

    def __getattr__(self, name: str) -> Array:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(
                f"a state of this system has {', '.join(self.__dict__['fields'])}, not {name}"
            ) from None

    def __repr__(self) -> str:
        return f"State(time={self.time!r}, " + ", ".join(f"{k}={v.tolist()}" for k, v in self.fields.items()) + ")"


class System:
    """Base of all systems. A system is frozen: changing a parameter gives another one."""

    kind: ClassVar[str]
    title: str  # names the system in messages and in generated code; free of parameter values
    fields: tuple[Field, ...]
    invariants: tuple[Invariant, ...]
    default_method: tuple[str, dict[str, Any]]

    def view(self, name: str) -> View | None:
        """What the system lets a method see under this name, or None."""
        raise NotImplementedError

    def parameter_arrays(self) -> dict[str, NDArray[Any]]:
        """The parameters as arrays, by the names that kernels use: `par.<name>`."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """The system as a case writes it: JSON that `system_from` turns back into the same system."""
        raise NotImplementedError

    def names(self) -> dict[str, str]:
        """What a section or event may be written in: name -> code on (row, t, par)."""
        raise NotImplementedError

    @property
    def public_width(self) -> int:
        """Numbers in a published row."""
        return sum(f.width for f in self.fields)

    @property
    def invariant_width(self) -> int:
        """Numbers in the invariants of a row."""
        return sum(f.width for f in self.invariants)

    def columns(self, rows: Array) -> dict[str, Array]:
        """Rows of samples (m, width) cut into the public fields and the invariants, by name."""
        cut: dict[str, Array] = {}
        start = 0
        for part in (*self.fields, *self.invariants):
            cut[part.name] = rows[:, start : start + part.width].reshape(len(rows), *part.shape)
            start += part.width
        return cut


_kinds: dict[str, type[System]] = {}


def register(system: type[System]) -> type[System]:
    """Make a system known under the name of its class."""
    system.kind = system.__name__
    _kinds[system.kind] = system
    return system


def system_from(description: Mapping[str, Any]) -> System:
    """The system that `describe` (or a case) wrote down."""
    arguments = dict(description)
    kind = arguments.pop("kind", None)
    from importlib import import_module
    from pkgutil import iter_modules

    from . import __path__ as folder

    for module in sorted(m.name for m in iter_modules(folder)):
        import_module(f"catena.systems.{module}")
    if kind not in _kinds:
        raise InputError(
            f"there is no system {kind!r}{nearest(str(kind), list(_kinds))}", where="system.kind",
            do=f"choose one of {', '.join(_kinds)}",
        )  # fmt: skip
    return _kinds[kind](**arguments)
