"""Synchronisation of threads that work on one state."""

from .marks import provided


@provided
def together() -> None:
    """Barrier: wait until all threads of a block are here; then what each has written is visible to the others."""
