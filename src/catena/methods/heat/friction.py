"""How a heat bath acts on bodies: rates along their axes, or a resistance that rotates with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np

from ...arrays import Array
from ...errors import CapabilityError, InputError
from ...geometry import rotations
from ...kernels.declarations import Inertia
from ...text.plain import Json

Rates: TypeAlias = float | Sequence[float]
ON_AN_AXIS = 1e-12  # largest deviation of a given axis from a principal axis for a rate of its own
DIAGONAL = 1e-14  # of a resistance: residual of its other elements if principal axes are not given to the last digit


@dataclass(frozen=True)
class Friction:
    """Friction of bodies, in the axes in which they were given.

    Every friction gives the same law of the momenta, because noise and friction share their axes. It only changes how
    fast the momenta decorrelate.

    Parameters
    ----------
    translation : rate at which momentum decays: a number, or three along the axes of the body, which turn with it
    rotation : rate at which angular momentum decays: a number, or three about the axes of the body, which must be
        principal axes then
    resistance : (6, 6) symmetric matrix Z instead of rates: force and torque = -Z (velocity, angular velocity) in the
        axes of the body. Its diagonal holds the drag coefficients zeta_k. For a top or a free body (3, 3)

    Examples
    --------
    >>> import catena as ct
    >>> ct.Friction(translation=0.1, rotation=(0.2, 0.2, 0.4))
    Friction(translation=0.1, rotation=(0.2, 0.2, 0.4))
    """

    translation: Rates = 0.0
    rotation: Rates = 0.0
    resistance: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        for name in ("translation", "rotation"):
            object.__setattr__(self, name, _rates(getattr(self, name), f"Friction.{name}", count=3))
        if self.resistance is not None:
            if self.translation != 0.0 or self.rotation != 0.0:
                raise InputError(
                    "both rates and a resistance are given", where="Friction", do="give one of them: Z has it all"
                )
            object.__setattr__(self, "resistance", _resistance(self.resistance))

    def __repr__(self) -> str:
        given = [f"{f.name}={value}" for f in fields(self) if (value := getattr(self, f.name)) != f.default]
        return f"Friction({', '.join(given)})"

    @property
    def is_nothing(self) -> bool:
        """Whether it has no effect."""
        return not (np.any(self.translation) or np.any(self.rotation) or np.any(self.resistance or 0.0))

    def describe(self) -> dict[str, Json]:
        """As a case writes it."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {name: list_numbers(value) for name, value in named.items()}


Given: TypeAlias = "float | str | Sequence[float] | Friction | Mapping[str, object]"


def friction_from(given: object) -> float | tuple[float, ...] | Friction:
    """The friction that a user or a case gave: a rate, one for each body, or a Friction."""
    if isinstance(given, Friction):
        return given
    if isinstance(given, Mapping):
        known = [f.name for f in fields(Friction)]
        for name in given:
            if name not in known:
                raise InputError(
                    f"friction has no {name!r}", where="Langevin.friction", do=f"choose among {', '.join(known)}"
                )
        return Friction(**given)
    return _rates(given, "Langevin.friction")


def list_numbers(value: object) -> Json:
    """Numbers as JSON writes them, which has no infinity."""
    if isinstance(value, tuple):
        return [list_numbers(part) for part in value]
    assert isinstance(value, (int, float))
    return "inf" if value == math.inf else value


def _rates(given: object, where: str, count: int | None = None) -> float | tuple[float, ...]:
    """A rate, or several, none of them negative; inf is allowed."""
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) and np.ndim(given) == 1:
        if count is not None and len(given) != count:
            raise InputError(f"{len(given)} rates are given", where=where, do=f"give one number, or {count}")
        return tuple(_rate(one, f"{where}[{k}]") for k, one in enumerate(given))
    return _rate(given, where)


def _rate(given: object, where: str) -> float:
    value = math.inf if given == "inf" else given
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value >= 0.0:
        raise InputError(
            f"friction = {given!r}",
            where=where,
            do="give a rate, 1/time: a number that is not below zero; inf is allowed",
        )
    return float(value)


def _resistance(given: object) -> tuple[tuple[float, ...], ...]:
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    where = "Friction.resistance"
    if matrix.shape not in ((6, 6), (3, 3)) or not np.isfinite(matrix).all():
        raise InputError(
            f"the resistance has the shape {matrix.shape}", where=where,
            do="give (6, 6) finite numbers; (3, 3) for a top or a free body",
        )  # fmt: skip
    size = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > 1e-12 * size:
        raise InputError("the resistance is not symmetric", where=where, do="give Z with Z_ij = Z_ji")
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -1e-12 * size:
        raise InputError(
            f"the resistance drives some motion: its lowest eigenvalue is {lowest:g}", where=where,
            do="give a matrix without eigenvalues below zero",
        )  # fmt: skip
    return tuple(tuple(row) for row in matrix.tolist())


def rates_of(inertia: Inertia, friction: Rates | Friction) -> Array | None:
    """(parts, components) rates; None if momenta are coupled, so that rates do not suffice."""
    parts, components = inertia.variances.shape
    if not isinstance(friction, Friction):
        rates = np.asarray(friction, dtype=float)
        if rates.ndim == 1 and len(rates) != parts:
            raise CapabilityError(
                f"{len(rates)} rates are given for {parts} {'bodies' if inertia.part == 'body' else 'coordinates'}",
                do=f"give one rate, or {parts}",
            )
        return np.tile(np.broadcast_to(rates, (parts,))[:, None], (1, components))
    frames = frames_of(inertia)
    if friction.resistance is not None:
        return _rates_of_resistance(inertia, frames, friction.resistance)
    rotation = np.broadcast_to(np.asarray(friction.rotation, dtype=float), (3,))
    turning = [_about_principal_axes(rotation, frame) for frame in frames]
    if components == 3:
        if np.any(friction.translation):
            raise CapabilityError(
                f"{friction} has a rate of translation, and this body only turns", do="leave out translation, and give rotation"
            )  # fmt: skip
        return np.array(turning)
    translation = np.broadcast_to(np.asarray(friction.translation, dtype=float), (3,))
    if (translation != translation[0]).any():
        return None
    return np.array([[*translation, *rates] for rates in turning])


def frames_of(inertia: Inertia) -> Array:
    """(parts, 3, 3) principal axes in the given axes, as columns."""
    if inertia.frames is None:
        raise CapabilityError("coordinates have no axes", do="give the friction as one rate, or one for each of them")
    return rotations.to_matrix(inertia.frames)


def _about_principal_axes(rates: Array, frame: Array) -> Array:
    """Convert rates about the given axes to the principal axes, which must be the same unless all rates are equal."""
    if (rates == rates[0]).all():
        return rates
    axes = np.abs(frame).argmax(axis=0)
    if np.abs(np.abs(frame[axes, range(3)]) - 1.0).max() > ON_AN_AXIS:
        raise CapabilityError(
            "three rates of rotation belong to principal axes, and those of this body are not the axes in which it was given",
            do="give the body in its principal axes, one rate, or Friction(resistance=...), which may have any axes",
        )
    return rates[axes]


def _rates_of_resistance(inertia: Inertia, frames: Array, resistance: Sequence[Sequence[float]]) -> Array | None:
    """Rates Z_k / M_k, if Z is diagonal in principal axes and equal for all directions of translation."""
    found = np.array([principal_resistance(resistance, frame, inertia.variances.shape[1]) for frame in frames])
    diagonal = np.diagonal(found, axis1=1, axis2=2)
    rest = found - np.einsum("jk,kl->jkl", diagonal, np.eye(found.shape[1]))
    translation = diagonal[:, :3] if found.shape[1] == 6 else np.zeros((len(found), 3))
    if np.abs(rest).max() > DIAGONAL * np.abs(found).max() or (translation != translation[:, :1]).any():
        return None
    there = inertia.variances > 0.0
    return np.where(there, diagonal / np.where(there, inertia.variances, 1.0), 0.0)


def principal_resistance(resistance: Sequence[Sequence[float]], frame: Array, components: int) -> Array:
    """Z in principal axes."""
    z = np.array(resistance, dtype=float)
    if len(z) != components:
        raise CapabilityError(
            f"the resistance has {len(z)} rows, a body here has {components} momenta",
            do=f"give ({components}, {components}) numbers",
        )
    turn = frame if components == 3 else np.kron(np.eye(2), frame)
    return np.asarray(turn.T @ z @ turn)
