"""Registries of kinds by name: systems, methods, potentials, joints and forces are all registered in the same way.

A registry is the only list of its kinds: cases and their schema, tables of the documentation, stores and tests are made
from it. Other packages add kinds through an entry point of the registry's group, which is loaded at the first query.
The name of such a kind must differ from those of catena and of other packages.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pkgutil import walk_packages
from typing import Any, Generic, TypeVar

from .errors import CatenaError, CatenaWarning, InputError, nearest, unknown_word
from .text.controls import escape_controls


@cache
def _all_plugins(found_by: Callable[[], Any]) -> Any:
    """The entry points of all installed packages; cached, because finding them reads a file of each package."""
    return found_by()


Kind = TypeVar("Kind", bound=type[Any])
Decorated = TypeVar("Decorated", bound=type[Any])


class Registry(Generic[Kind]):
    """All registered kinds of one sort.

    Parameters
    ----------
    what : the sort, in the singular, for messages
    group : of the entry points by which other packages add kinds: "catena.methods"
    home : package whose modules register the kinds of catena when they are imported
    do : advice for an unknown name; None: the names are listed
    """

    def __init__(self, what: str, *, group: str, home: str, do: str | None = None) -> None:
        self.what, self.group, self._home, self._do = what, group, home, do
        self._kinds: dict[str, Kind] = {}
        self._loaded = self._loading_own = False

    def register(self, kind: Decorated) -> Decorated:
        """Register a class under its name."""
        name = kind.__name__
        if not self.is_own(kind):
            self._load_own()
        taken: Any = self._kinds.get(name)
        if taken is not None and (taken.__module__, taken.__qualname__) != (kind.__module__, kind.__qualname__):
            whose = "catena" if self.is_own(taken) else f"the package {taken.__module__.partition('.')[0]}"
            raise InputError(
                f"{name} is a {self.what} of {whose}", where=f"{kind.__module__}.{kind.__qualname__}",
                do="give the class another name",
            )  # fmt: skip
        self._kinds[name] = kind  # type: ignore[assignment]
        return kind

    def find(self, name: Any) -> Kind:
        """The kind with this name. Most are public names of catena, for which only their own module is imported."""
        if isinstance(name, str) and name not in self._kinds:
            getattr(importlib.import_module(__package__), name, None)
        own = self._kinds.get(name) if isinstance(name, str) else None
        if own is not None and self.is_own(own):
            return own
        self._load()
        if not isinstance(name, str) or name not in self._kinds:
            known = self.names()
            raise InputError(
                f"there is no {self.what} {name!r}{nearest(str(name), known)}", where=f"{self.what}.kind",
                do=self._do or f"choose one of {', '.join(known)}",
            )  # fmt: skip
        return self._kinds[name]

    def described(self, given: Mapping[str, object]) -> tuple[Kind, dict[str, object]]:
        """The dataclass named by given["kind"] (from `describe` or a case), and its arguments.

        Raises if one is unknown or missing.
        """
        arguments = dict(given)
        kind = self.find(arguments.pop("kind", None))
        known = {field.name: field for field in fields(kind) if field.init}
        for name in arguments:
            if name not in known:
                raise unknown_word(f"{kind.__name__} has no {name!r}", name, known, f"{self.what}.{name}")
        for name, field in known.items():
            if name not in arguments and field.default is MISSING and field.default_factory is MISSING:
                raise InputError(f"{kind.__name__} needs {name}", where=f"{self.what}.{name}", do="add it")
        return kind, arguments

    def __iter__(self) -> Iterator[Kind]:
        """All kinds, those of installed packages last. The order does not depend on the order of imports."""
        self._load()
        return iter(sorted(self._kinds.values(), key=self._place))

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._kinds

    def names(self) -> list[str]:
        """Their names."""
        return [kind.__name__ for kind in self]

    def of_others(self) -> list[Kind]:
        """Kinds that are not part of catena."""
        return [kind for kind in self if not self.is_own(kind)]

    def _place(self, kind: type[Any]) -> tuple[bool, str, str]:
        """Sort key: the module, whichever folder it is in, then the order of registration. Other packages come last."""
        module = kind.__module__
        return (False, module.rpartition(".")[2], module) if self.is_own(kind) else (True, "", "")

    def is_own(self, kind: type[Any]) -> bool:
        """Whether it is part of catena."""
        return kind.__module__.startswith(f"{__package__}.")

    def _load(self) -> None:
        """Import the modules of catena and of installed packages that have some, once."""
        if self._loaded or self._loading_own:
            return
        self._load_own()
        self._loaded = (
            True  # here, because plug-ins may query the registry; not earlier, so an interrupted load starts again
        )
        try:
            for plugin in _all_plugins(importlib.metadata.entry_points).select(group=self.group):
                self._load_plugin(plugin)
        except BaseException:
            self._loaded = False
            raise

    def _load_own(self) -> None:
        """Repeated calls find the modules imported, and so does a module that is just being imported by them."""
        if self._loading_own:
            return
        self._loading_own = True
        try:
            inner = getattr(importlib.import_module(self._home), "__path__", ())  # a single module has none
            found = [module.name for module in walk_packages(inner, f"{self._home}.")]
            for module in found:
                importlib.import_module(module)
        finally:
            self._loading_own = False

    def _load_plugin(self, plugin: Any) -> None:
        """Import a plug-in; if that fails, name it in a warning and go on without it."""
        known = dict(self._kinds)
        try:
            plugin.load()
        except (Exception, SystemExit) as error:  # a foreign module may raise anything on import
            self._kinds.clear()
            self._kinds.update(known)
            reason = error.wrong if isinstance(error, CatenaError) else f"{type(error).__name__}: {error}"
            home = "of an unknown distribution" if plugin.dist is None else f"of the distribution {plugin.dist.name}"
            warnings.warn(
                escape_controls(f"the plug-in {plugin.name} ({plugin.value}) {home} is left out: {reason}"),
                CatenaWarning, stacklevel=2,
            )  # fmt: skip
