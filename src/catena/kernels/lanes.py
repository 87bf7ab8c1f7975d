"""What kernels may decide by where several members are stepped at a time, each in a lane of vector registers (`catena.engine.lanes`)."""

from __future__ import annotations

from .marks import provided


@provided
def holds(condition):
    """Whether a condition holds; where there are lanes, whether it holds in all of them.

    What members differ in is no reason to branch: kernels on lanes do the same with all of them. So a kernel asks by `holds` what is the same for all
    anyway (a flag of its own), or what is a failure if it does not hold.
    """
    return condition


@provided
def chosen(condition, a, b):
    """a where a condition holds, else b; where there are lanes, in each of them. Both are computed."""
    return a if condition else b
