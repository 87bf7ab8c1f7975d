"""The run store: one Zarr v3 directory that is readable and resumable at any moment, even after a kill.

This layer handles arrays and JSON, and knows nothing of mechanics. See `layout` for the files, `writing` for the
order in which they are written, `files` for the guarantees.
"""

from catena.store.checkpoint import Checkpoint, read_given
from catena.store.foreign import refuse_foreign
from catena.store.layout import Column, Stream
from catena.store.reading import (
    is_empty,
    name_foreign,
    read_attributes,
    read_checkpoint,
    read_layout,
    read_spec,
    remedy,
    verify,
)
from catena.store.writing import NameTaken, Store, require_place

__all__ = [
    "Checkpoint",
    "Column",
    "NameTaken",
    "Store",
    "Stream",
    "is_empty",
    "name_foreign",
    "read_attributes",
    "read_checkpoint",
    "read_given",
    "read_layout",
    "read_spec",
    "refuse_foreign",
    "remedy",
    "require_place",
    "verify",
]
