"""What a view declares besides its kernels: recorded fields, inertia, and shorter forms of its stepped variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .marks import Kernel


@dataclass(frozen=True)
class Field:
    """An array that is recorded at each sample: its name, shape and the names of its dimensions."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    about: str = ""

    @property
    def width(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


def cut(rows: NDArray[np.float64], fields: Sequence[Field]) -> dict[str, NDArray[np.float64]]:
    """Split rows of samples (..., width) into consecutive fields, by name: views, whatever the memory layout."""
    parts: dict[str, NDArray[np.float64]] = {}
    start = 0
    for field_ in fields:
        parts[field_.name] = rows[..., start : start + field_.width].reshape(*rows.shape[:-1], *field_.shape)
        start += field_.width
    return parts


@dataclass(frozen=True)
class Inertia:
    """The kinetic energy of a view, for a heat bath: there its momenta are normal, with these variances times kT.

    Attributes
    ----------
    variances : (parts, components) mass or moment of each momentum; 0 for one that is held or does not exist.
        Components of a body are p in space (three, if it moves) and y along its true principal axes (three); a
        coordinate has one
    names : of the components
    part : what a part is: "body", or "dof"
    matrix : (parts, parts) mass matrix, if the momenta of coordinates are coupled
    frames : (parts, 4) quaternions that rotate principal axes to those in which a body was given
    freedoms : (parts,) degrees of freedom of the joint that carries each body, if joints hold them: only so many
        momenta are free
    looped : whether joints close loops, so that freedoms are not those of single joints
    """

    variances: NDArray[np.float64]
    names: tuple[str, ...]
    part: str
    matrix: NDArray[np.float64] | None = None
    frames: NDArray[np.float64] | None = None
    freedoms: NDArray[np.int64] | None = None
    looped: bool = False


@dataclass(frozen=True)
class Fold:
    """The part of the stepped variables that must be kept to continue a run, if it is less than all of them.

    The rest follows from it: the first step after `unfold` gives the same bits. Nothing is compensated outside of z.

    Attributes
    ----------
    size : how many numbers are kept
    fold : stepped variables -> kept numbers, a new array
    unfold : kept numbers -> stepped variables
    """

    size: int
    fold: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    unfold: Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Begin:
    """A few numbers that determine the stepped variables of a start; members are sent and stored in this form.

    Attributes
    ----------
    size : how many
    pack : state, or states with leading axes -> (..., size)
    grow : (..., size) -> stepped variables (..., dimension)
    kernel : (begun, z), the same for one state, into z
    many : (fields of many states, constants, (states, size)): `pack` as a kernel, for so many states that numpy would
        be slow
    constants : () -> its constants
    """

    size: int
    pack: Callable[[Any], NDArray[np.float64]]
    grow: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    kernel: Kernel
    many: Callable[..., None]
    constants: Callable[[], tuple[NDArray[np.float64], ...]]
