"""How much memory there is, and the refusal of what would not fit: before a run starts, not after an hour of it."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

from .errors import InputError

LARGEST = 2**32
"""Bytes that a result in memory may take, however large the machine is: beyond it pictures and audits, which copy, take longer
than reading from a store."""

UNASKED = 2**19
"""Bytes that are there in any case: reading what the system says takes longer than a short run."""

SHARE = 0.5
"""Of the available memory; the rest is for what is done with the result."""

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> float:
    """Bytes that can be had without swapping, as far as the system tells; inf where it does not."""
    found = [_physical(), _of_linux(), _of_container()]
    return min(bytes_ for bytes_ in found if bytes_ is not None)


def allow(needed: float = LARGEST) -> float:
    """Bytes that a result may take in memory; one that needs few is not worth asking."""
    return UNASKED if needed <= UNASKED else min(LARGEST, SHARE * available())


def require(needed: float, *, what: str, where: str, do: str) -> None:
    """Refuse a result that needs more memory than it may take.

    Parameters
    ----------
    needed : bytes, at the moment when it is most
    what : what needs them, for the message
    where, do : of the message
    """
    limit = allow(needed)
    if needed > limit:
        raise InputError(
            f"{what} would take {_size(needed)} of memory; {_size(limit)} are allowed here", where=where, do=do
        )


def require_room(needed: float, *, what: str, where: str, do: str) -> None:
    """Refuse what the machine cannot hold, though it may be as large as that; arguments as for `require`."""
    there = inf if needed <= UNASKED else available()
    if needed > there:
        raise InputError(f"{what} would take {_size(needed)} of memory; {_size(there)} are there", where=where, do=do)


def _size(count: float) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 2**27 else f"{count / 2**20:.3g} MiB"


def _physical() -> float:
    """What the machine has; Windows has no sysconf."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def _of_linux() -> float | None:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _of_container() -> float | None:
    """What the limit of a container leaves: /proc shows the whole machine there."""
    try:
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # "max": no limit
        return None
    return float(max(0, limit - used))
