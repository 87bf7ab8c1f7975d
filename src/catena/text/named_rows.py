"""A table with named rows, common to audits, checks and estimates of errors."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import ClassVar, Generic, TypeVar

from ..errors import InputError, nearest
from .plain import Json

Row = TypeVar("Row")


class NamedRows(Generic[Row]):
    """`table["energy"]` is the row of that name; iteration yields the rows. A subclass has the field `rows`.

    Attributes
    ----------
    _naming : the attribute of a row that holds its name
    _unknown : message about an unknown name, and where that is
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

    def as_json(self) -> dict[str, dict[str, Json]]:
        """The rows by name as plain values for JSON: a number that is not finite becomes None."""

        def plain(value: Json) -> Json:
            return None if isinstance(value, float) and not isfinite(value) else value

        return {
            name: {key: plain(value) for key, value in vars(row).items() if key != self._naming}
            for name, row in zip(self._names(), self.rows, strict=True)
        }

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
