"""Available memory; a result that would not fit is refused before the run starts, not after an hour."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

from .errors import InputError

LARGEST = 2**32
"""Largest size of a result in memory, in bytes, however large the machine is: beyond it, pictures and audits, which
copy, take longer than reading from a store.
"""

UNASKED = 2**19
"""Bytes that are always allowed: asking the operating system takes longer than a short run."""

SHARE = 0.5
"""Fraction of the available memory that a result may use; the rest is for processing it."""

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> float:
    """Bytes available without swapping, as reported by the system; inf if it reports nothing."""
    found = [_physical(), _of_linux(), _of_container()]
    return min(bytes_ for bytes_ in found if bytes_ is not None)


def allow(needed: float = LARGEST) -> float:
    """Bytes that a result may take in memory; a result that needs few is allowed without asking the system."""
    return UNASKED if needed <= UNASKED else min(LARGEST, SHARE * available())


def require(needed: float, *, what: str, where: str, do: str) -> None:
    """Refuse a result that needs more memory than it may take.

    Parameters
    ----------
    needed : peak memory in bytes
    what : what needs it, for the message
    where, do : of the message
    """
    limit = allow(needed)
    if needed > limit:
        raise InputError(
            f"{what} would take {_size(needed)} of memory; {_size(limit)} are allowed here", where=where, do=do
        )


def require_room(needed: float, *, what: str, where: str, do: str) -> None:
    """Refuse what does not fit into this machine, without the limit on results; arguments as for `require`."""
    there = inf if needed <= UNASKED else available()
    if needed > there:
        raise InputError(f"{what} would take {_size(needed)} of memory; {_size(there)} are there", where=where, do=do)


def _size(count: float) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 2**27 else f"{count / 2**20:.3g} MiB"


def _physical() -> float:
    """Memory of the machine; Windows has no sysconf."""
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
    """Memory left under the limit of a container: /proc shows the whole machine there."""
    try:
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # "max": no limit
        return None
    return float(max(0, limit - used))
