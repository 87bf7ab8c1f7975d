"""A table whose rows have names: what audits, checks and estimates of errors share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar

from ..errors import InputError, nearest

Row = TypeVar("Row")


class NamedRows(Generic[Row]):
    """`table["energy"]` is the row of that name; iteration goes over the rows. A subclass has the field `rows`.

    Attributes
    ----------
    _naming : the attribute of a row that names it
    _unknown : message about a name that no row has, and where that is
    """

    rows: tuple[Row, ...]
    _naming: ClassVar[str]
    _unknown: ClassVar[tuple[str, str]]

    def _names(self) -> list[str]:
        return [getattr(row, self._naming) for row in self.rows]

    def __getitem__(self, name: str) -> Row:
        known = self._names()
        if name in known:
            return self.rows[known.index(name)]
        wrong, where = self._unknown
        raise InputError(
            wrong.format(repr(name)) + nearest(str(name), known), where=where,
            do=f"use one of {', '.join(known)}" if known else "record an invariant: there are no rows",
        )  # fmt: skip

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
