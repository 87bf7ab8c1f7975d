"""What kernels may decide by where several members are stepped at a time, each in a lane of vector registers (`catena.engine.lanes`)."""

from __future__ import annotations

from .marks import provided

ON_LANES = "on_lanes_"  # what the name of an array in `par` begins with that is another one's, a number for each lane


@provided
def holds(condition):
    """Whether a condition holds; where there are lanes, whether it holds in all of them.

    What members differ in is no reason to branch: kernels on lanes do the same with all of them. So a kernel asks by `holds` what is the same for all
    anyway (a flag of its own), or what is a failure if it does not hold.
    """
    return condition


@provided
def side_by_side(numbers):
    """An array of numbers whose last index is the lane, as an array of lanes."""
    return numbers


@provided
def on_lanes(par, *arrays):
    """`par` with these arrays of lanes in place of those of the same names, but for `ON_LANES`."""
    return par


@provided
def chosen(condition, a, b):
    """a where a condition holds, else b; where there are lanes, in each of them. Both are computed."""
    return a if condition else b
