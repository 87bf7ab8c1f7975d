"""The table of methods, made from the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from ..engine.pairing import Pairing, can_treat
from ..engine.promises import Promises
from ..errors import InputError
from ..methods.base import Method, all_methods
from ..systems.base import System
from ..text.markup import html_table
from ..text.plain import Json
from ..text.tables import ShownTable, align

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = (
    "method",
    "order",
    "symplectic",
    "symmetric",
    "explicit",
    "keeps exactly",
    "energy",
    "stable dt*omega",
    "cite",
)


@dataclass(frozen=True)
class MethodTable:
    """Methods with their traits, or with what they promise for one system; one row each, prints as a table."""

    methods: tuple[Method, ...]
    system: System | None = None

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[Method]:
        return iter(self.methods)

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table."""
        return [(str(method), *self._cells(method)) for method in self.methods]

    def to_dict(self) -> list[dict[str, Json]]:
        """The table as plain values for JSON: `keeps` lists kinds of invariants, or those of the system by name."""
        listed = []
        for method in self.methods:
            found = self.promised(method)
            t, kept = found.traits, found.kept
            structure = {name: value for name, value in found.to_dict().items() if name != "promised"}
            keeps = [{"what": what, "how": how} for what, how in kept.items() if how != "none"]
            listed.append(
                {
                    "name": method.name, "example": str(method), **structure, "keeps": keeps, "cite": list(t.cite),
                    "stability": None if t.stability == inf else t.stability,
                }
            )  # fmt: skip
        return listed

    def promised(self, method: Method) -> Promises:
        """What it promises for the system; without one, for kinds of invariants."""
        if self.system is not None:
            return Pairing.of(self.system, method).promises
        traits = method.traits
        return Promises(traits, {keep.what: traits.promise([keep.what]) for keep in traits.keeps})

    def _cells(self, method: Method) -> tuple[str, ...]:
        found = self.promised(method)
        t = found.traits
        exact = found.that_are("exact")
        limit = {inf: "any", 0.0: "-"}.get(t.stability, f"{t.stability:.3g}")
        return (
            t.order_word,
            dash(t.symplectic_word),
            *("yes" if flag else "-" for flag in (t.symmetric, t.explicit)),
            ", ".join(exact) or "-",
            dash(found.kept.get("energy", "none")),
            limit,
            ", ".join(t.cite),
        )

    def __str__(self) -> str:
        return "\n".join(align([HEADINGS, *self.rows()]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.rows(), headings=HEADINGS)

    def __rich__(self) -> Table:
        return ShownTable(HEADINGS, [(row, False) for row in self.rows()]).__rich__()


def dash(word: str) -> str:
    """The text of a cell; a dash if it is empty."""
    return "-" if word in ("no", "none") else word


def list_methods(system: System | None = None) -> MethodTable:
    """All methods with their traits; or, for a system, those that can treat it, with what they promise for it.

    Examples
    --------
    >>> import catena as ct
    >>> len(ct.list_methods()) > len(ct.list_methods(ct.problems.pendulum().system))
    True
    """
    if not (system is None or isinstance(system, System)):
        raise InputError(
            f"{system!r} is not a system", where="list_methods.system", do="give a System, such as problem.system, or nothing"
        )  # fmt: skip
    methods = [method for kind in all_methods() for method in kind.examples()]
    return MethodTable(tuple(m for m in methods if system is None or can_treat(system, m)), system)
