"""How kernels may branch if several members are stepped at a time, each in a lane (`catena.engine.lanes`)."""

from __future__ import annotations

from .marks import provided

ON_LANES = "on_lanes_"  # prefix of names of arrays in `par` with a number for each lane, for another array


@provided
def holds(condition):
    """Whether a condition holds; with lanes, whether it holds in all of them.

    Kernels on lanes do the same with all members, so they cannot branch on numbers that differ between members. They
    use `holds` for conditions that are the same for all (a flag of their own), or whose violation is a failure.
    """
    return condition


@provided
def side_by_side(numbers):
    """An array of numbers whose last index is the lane, as an array of lanes."""
    return numbers


@provided
def on_lanes(par, *arrays):
    """`par` with these arrays of lanes in place of those with the same names; the prefix `ON_LANES` is removed."""
    return par


@provided
def chosen(condition, a, b):
    """a if a condition holds, else b; with lanes, separately in each of them. Both are computed."""
    return a if condition else b
