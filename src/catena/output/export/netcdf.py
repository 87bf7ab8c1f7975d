"""NetCDF 3 with 64-bit offsets: every sample of every field and invariant, in double precision, with the case in the
attributes.

Time is the record dimension: the file is a header, then one record for each sample with the numbers of all variables,
big endian. So a run of any length is written sample by sample. The header follows the NetCDF classic format
specification.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...running.origin import Origin
from ...running.plan import Plan
from ...running.recording import store_attributes
from ...text.plain import Json
from ..page.samples import blocks

if TYPE_CHECKING:
    import xarray

    from ...running.runs import Run

DIMENSION, VARIABLE, ATTRIBUTE = 0x0A, 0x0B, 0x0C
CHAR, DOUBLE = 2, 6


def write(run: Run, path: Path) -> None:
    """Write the arrays of `run.data` with their names and dimensions."""
    data = run.data
    # attributes of a store belong to its numbers, whichever version of catena exports them
    known = dict(data.attrs) if run.origins else _describe_here(run.plan)
    known |= {"continued": run.changes} if run.changes else {}
    attributes = {name: value if isinstance(value, str) else json.dumps(value) for name, value in known.items()}
    record = np.dtype([(str(name), ">f8", array.shape[1:]) for name, array in data.variables.items()])
    with path.open("wb") as file:
        file.write(_head(data, attributes))
        for block in blocks(data):
            rows = np.empty(block.sizes["time"], dtype=record)
            for name, array in block.variables.items():
                rows[str(name)] = array.values
            file.write(rows.tobytes())


def _describe_here(plan: Plan) -> dict[str, Json]:
    """The attributes that a store of this run would have; long rows of numbers are omitted as in a store."""
    return store_attributes(plan, Origin.here(plan.program_digest()), plan.describe(apart={}))


def _head(data: xarray.Dataset, attributes: Mapping[str, str]) -> bytes:
    """Everything before the first record."""
    dimensions = ["time", *(str(name) for name in data.sizes if name != "time")]
    sizes = [0, *(data.sizes[name] for name in dimensions[1:])]  # 0 marks the record dimension

    def head(start: int) -> bytes:
        """The header, if the first record begins at `start`."""
        variables, begin = [], start
        for name, array in data.variables.items():
            length = 8 * int(np.prod(array.shape[1:]))
            variables.append(
                _name(str(name))
                + _integers(array.ndim, *(dimensions.index(str(dim)) for dim in array.dims))
                + _attributes({str(key): str(value) for key, value in array.attrs.items()})
                + _integers(DOUBLE, length)
                + struct.pack(">q", begin)
            )
            begin += length
        described = [_name(name) + _integers(size) for name, size in zip(dimensions, sizes, strict=True)]
        return (
            b"CDF\x02"
            + _integers(data.sizes["time"])
            + _list(DIMENSION, described)
            + _attributes(attributes)
            + _list(VARIABLE, variables)
        )

    return head(len(head(0)))


def _attributes(attributes: Mapping[str, str]) -> bytes:
    """The attributes that are text."""
    texts = {name: text.encode() for name, text in attributes.items()}
    return _list(ATTRIBUTE, [_name(name) + _integers(CHAR, len(text)) + _pad(text) for name, text in texts.items()])


def _list(tag: int, items: list[bytes]) -> bytes:
    return _integers(tag if items else 0, len(items)) + b"".join(items)


def _name(text: str) -> bytes:
    return _integers(len(text.encode())) + _pad(text.encode())


def _pad(text: bytes) -> bytes:
    return text + b"\0" * (-len(text) % 4)


def _integers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)
