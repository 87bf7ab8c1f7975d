"""The tables of [sweep]: axes, repeats, and what to keep."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from ..running.ensembles.job import Keep
from ..running.ensembles.reductions import KINDS, Reduction, reduction_from
from .tables import Filled, Table, table_of

MOST_POINTS = 1_000_000  # of an axis


class AxisTable(Table):
    """[[sweep.axis]]: a key of the case and its values, listed or equally spaced."""

    key: Filled = Field(description="key of the case, such as system.right.force.0")
    name: Filled | None = Field(None, description="name of the dimension; the key if left out")
    values: list[object] | None = Field(None, min_length=1, description="or give first, last and count")
    first: float | None = None
    last: float | None = None
    count: int | None = Field(None, gt=0, le=MOST_POINTS)

    @model_validator(mode="after")
    def _one_way(self) -> AxisTable:
        apart = [self.first, self.last, self.count]
        if (self.values is None) == (None in apart) or (self.values is not None and apart != [None] * 3):
            raise ValueError("an axis has its values in one of two ways: give values, or first, last and count")
        return self

    def row(self) -> list[object]:
        """The values."""
        if self.values is not None:
            return self.values
        assert self.first is not None and self.last is not None and self.count is not None
        return [*np.linspace(self.first, self.last, self.count).tolist()]


AnyReduction: Any = Annotated[
    reduce(or_, (table_of(kind, kind=(Literal[name], ...)) for name, kind in KINDS.items())), Field(discriminator="kind")
]  # fmt: skip


class SweepTable(Table):
    """[sweep]: every combination of the values of its axes is run, each a member of one ensemble."""

    axis: list[AxisTable] = Field([], description="the dimensions, the last one fastest")
    repeats: int = Field(1, gt=0, description="members at each point")
    keep: Keep = Field("final", description="states at the end, all samples, or nothing but the audit")
    reduce: dict[str, AnyReduction] = Field({}, description="what else is kept of the samples, by name")

    def reductions(self) -> dict[str, Reduction]:
        """The reductions, by name."""
        return {name: reduction_from(table.given()) for name, table in self.reduce.items()}
