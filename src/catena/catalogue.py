"""Knowing what there is: the table of methods, made from the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from .engine.build import can_treat
from .methods.base import Exact, Method, registered
from .systems.base import System

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
    """Methods with their traits, one row each; prints as a table."""

    methods: tuple[Method, ...]

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[Method]:
        return iter(self.methods)

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table."""
        return [(str(method), *_cells(method)) for method in self.methods]

    def to_dict(self) -> list[dict[str, Any]]:
        """The table as plain values for JSON."""
        listed = []
        for method in self.methods:
            t = method.traits
            keeps = [{"what": keep.what, "how": type(keep).__name__.lower()} for keep in t.keeps]
            listed.append(
                {
                    "name": method.name, "example": str(method), "order": t.order, "symplectic": t.symplectic,
                    "symmetric": t.symmetric, "explicit": t.explicit, "keeps": keeps, "cite": list(t.cite),
                    "stability": None if t.stability == inf else t.stability,
                }
            )  # fmt: skip
        return listed

    def __str__(self) -> str:
        lines = [HEADINGS, *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    __repr__ = __str__

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table(*HEADINGS)
        for row in self.rows():
            table.add_row(*row)
        return table


def _cells(method: Method) -> tuple[str, ...]:
    t = method.traits
    exact = [keep.what for keep in t.keeps if isinstance(keep, Exact)]
    limit = {inf: "any", 0.0: "-"}.get(t.stability, f"{t.stability:.3g}")
    marks = ["yes" if flag else "-" for flag in (t.symplectic, t.symmetric, t.explicit)]
    order = "adaptive" if t.adaptive else str(t.order)
    return (
        order,
        *marks,
        ", ".join(exact) or "-",
        t.promise(["energy"]).replace("none", "-"),
        limit,
        ", ".join(t.cite),
    )


def list_methods(system: System | None = None) -> MethodTable:
    """The methods with their traits; with a system, only those that can treat it.

    Examples
    --------
    >>> import catena as ct
    >>> len(ct.list_methods()) > len(ct.list_methods(ct.problems.pendulum().system))
    True
    """
    methods = [method for kind in registered() for method in kind.examples()]
    return MethodTable(tuple(m for m in methods if system is None or can_treat(system, m)))
