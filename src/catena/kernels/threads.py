"""What threads that work together on one state ask of the machine."""

from .marks import provided


@provided
def together() -> None:
    """Wait until all threads of a block are here: what each has shown before, the others see from now on."""
