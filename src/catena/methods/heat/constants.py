"""Constants of a heat bath over a step: E - 1 and L of p += (E - 1) p + L xi, and the scales of sums of squares.

Constants from rates are exact to the last digit on every machine: exponentials and roots are computed with 40 digits
and rounded once. Resistances with axes of their own need eigenvectors, which are as accurate as the linear algebra of
the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import cache

import numpy as np

from ...arrays import Array
from ...errors import CapabilityError
from ...kernels.declarations import Inertia
from ...kernels.marks import Numbers
from .friction import Friction, frames_of, principal_resistance

DIGITS = 40


@cache
def find_loss(rate: float, dt: float) -> float:
    """exp(-rate dt) - 1, correctly rounded.

    Examples
    --------
    >>> find_loss(1e-30, 0.5), find_loss(float("inf"), 0.5), find_loss(0.0, 0.5)
    (-5e-31, -1.0, 0.0)
    """
    return -float(_find_loss(rate, dt)) if rate > 0.0 else 0.0


def _find_loss(rate: float, dt: float) -> Decimal:
    """1 - exp(-rate dt)."""
    if rate == math.inf:
        return Decimal(1)
    exponent = Context(prec=120).multiply(Decimal(rate), Decimal(dt))
    small = max(0, -exponent.adjusted())  # leading digits lost in the difference from 1
    context = Context(prec=DIGITS + small)
    return context.subtract(Decimal(1), context.exp(context.minus(exponent)))


@cache
def find_stir(rate: float, dt: float, temperature: float, variance: float) -> float:
    """sqrt((1 - exp(-2 rate dt)) kT M), correctly rounded.

    Examples
    --------
    >>> find_stir(float("inf"), 0.5, 2.0, 8.0), find_stir(0.0, 0.5, 2.0, 8.0)
    (4.0, 0.0)
    """
    if rate == 0.0 or temperature == 0.0 or variance == 0.0:
        return 0.0
    context = Context(prec=DIGITS)
    gained = context.multiply(_find_loss(rate, 2.0 * dt), context.multiply(Decimal(temperature), Decimal(variance)))
    return float(context.sqrt(gained))


def temperatures_of(inertia: Inertia, temperature: float | Sequence[float]) -> Array:
    """(parts,) kT of each."""
    given = np.asarray(temperature, dtype=float)
    parts = len(inertia.variances)
    if given.ndim == 1 and len(given) != parts:
        raise CapabilityError(
            f"{len(given)} temperatures are given for {parts} {'bodies' if inertia.part == 'body' else 'coordinates'}",
            do=f"give one, or {parts}",
        )
    return np.broadcast_to(given, (parts,))


def precision_of(inertia: Inertia, temperatures: Array) -> Array:
    """1/(M kT) of each momentum; 0 if there is no such momentum, or no temperature."""
    product = inertia.variances * temperatures[:, None]
    return np.divide(1.0, product, out=np.zeros_like(product), where=product > 0.0)


def rates_of_links(inertia: Inertia, rates: Array | None, temperatures: Array) -> Array:
    """The rates of linked bodies, which must have joints without loops and one temperature."""
    if inertia.looped:
        raise CapabilityError(
            "its joints close loops, and a bath is for trees of joints",
            do="replace the joint that closes a loop by a stiff Spring between its points",
        )
    if (temperatures != temperatures[0]).any():
        raise CapabilityError(
            "joints couple the momenta of all bodies, so that all of them need the same temperature",
            do="give one temperature; rates may differ",
        )
    if rates is None:
        raise CapabilityError(
            "linked bodies have one rate of translation each, and rates about their principal axes",
            do="give rates that do not mix axes, or the same rate for the three directions of translation",
        )
    return rates


def precision_of_joints(inertia: Inertia, temperatures: Array) -> Array:
    """(bodies, 1): 1 over the mean of momentum times velocity of the joint that carries a body; 0 if it is rigid."""
    assert inertia.freedoms is not None
    product = (inertia.freedoms * temperatures)[:, None]
    return np.divide(1.0, product, out=np.zeros_like(product), where=product > 0.0)


def total_precision_of(inertia: Inertia, temperatures: Array) -> Array:
    """1 over the mean square of the total momentum, all axes together."""
    width = inertia.variances.shape[1]
    variance = float((inertia.variances * temperatures[:, None])[:, :3].sum()) if width == 6 else 0.0
    return np.array([1.0 / variance if variance > 0.0 else 0.0])


def of_components(inertia: Inertia, rates: Array, temperatures: Array, dt: float) -> dict[str, Numbers]:
    """`loss` and `stir` (parts, components)."""
    loss = np.array([[find_loss(rate, dt) for rate in row] for row in rates.tolist()])
    kinds, which = np.unique(
        np.stack(np.broadcast_arrays(rates, temperatures[:, None], inertia.variances), axis=-1).reshape(-1, 3),
        axis=0, return_inverse=True,
    )  # fmt: skip
    stir = np.array([find_stir(rate, dt, kT, variance) for rate, kT, variance in kinds.tolist()])[which]
    return {"loss": np.where(inertia.variances > 0.0, loss, 0.0), "stir": stir.reshape(rates.shape)}


def of_links(inertia: Inertia, rates: Array, temperatures: Array, dt: float) -> dict[str, Numbers]:
    """`loss`, `stir`, `heavier` (bodies, 6) for several rates: -X, 2 sqrt(kT M X), M (1 + X), X = tanh(rate dt/2)."""
    braked = np.array([[halfway(rate, dt) for rate in row] for row in rates.tolist()])
    masses = inertia.variances
    return {
        "loss": np.where(masses > 0.0, -braked, 0.0), "stir": 2.0 * np.sqrt(temperatures[:, None] * masses * braked),
        "heavier": masses * (1.0 + braked),
    }  # fmt: skip


@cache
def halfway(rate: float, dt: float) -> float:
    """tanh(rate dt/2), correctly rounded.

    Examples
    --------
    >>> halfway(float("inf"), 0.5), halfway(0.0, 0.5), halfway(1e-30, 0.5)
    (1.0, 0.0, 2.5e-31)
    """
    gone = _find_loss(rate, dt) if rate > 0.0 else Decimal(0)
    context = Context(prec=DIGITS)
    return float(context.divide(gone, context.subtract(Decimal(2), gone)))


def of_bodies(inertia: Inertia, friction: Friction, temperatures: Array, dt: float) -> dict[str, Numbers]:
    """`loss_matrix` and `stir_matrix` (bodies, k, k): with A = M^-1/2 Z M^-1/2 = V w V^T, E = M^1/2 V exp(-w dt) V^T M^-1/2."""
    loss, stir = [], []
    for variances, frame, kT in zip(inertia.variances, frames_of(inertia), temperatures, strict=True):
        z = _resistance_of(friction, variances, frame)
        root = np.sqrt(variances)
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0)
        w, v = np.linalg.eigh(inverse[:, None] * z * inverse)
        w = np.where(w > 1e-14 * max(1e-300, w.max()), w, 0.0)
        outer = root[:, None] * v
        loss.append((outer * np.expm1(-w * dt)) @ (v.T * inverse))
        stir.append(math.sqrt(kT) * outer * np.sqrt(-np.expm1(-2.0 * w * dt)))
    return {"loss_matrix": np.array(loss), "stir_matrix": np.array(stir)}


def _resistance_of(friction: Friction, variances: Array, frame: Array) -> Array:
    """Z of a body in its principal axes."""
    if friction.resistance is not None:
        return principal_resistance(friction.resistance, frame, len(variances))
    translation, rotation = (
        np.broadcast_to(np.asarray(rates, dtype=float), (3,)) for rates in (friction.translation, friction.rotation)
    )
    if not (np.isfinite(translation).all() and np.isfinite(rotation).all()):
        raise CapabilityError(
            "an infinite rate along one axis of a body that turns is not available",
            do="give a large rate, or one for all",
        )
    z = np.zeros((6, 6))
    z[:3, :3] = frame.T @ np.diag(variances[0] * translation) @ frame
    z[3:, 3:] = np.diag(variances[3:] * rotation[np.abs(frame).argmax(axis=0)])
    return z


def of_coupled(
    inertia: Inertia, rates: Array, temperatures: Array, dt: float
) -> tuple[dict[str, Numbers], dict[str, Numbers]]:
    """For coupled coordinates, one rate: `loss`, `stir_matrix` (1, n, n), which depend on dt; then `whitening`."""
    assert inertia.matrix is not None
    if (rates != rates[0, 0]).any() or (temperatures != temperatures[0]).any():
        raise CapabilityError(
            "the momenta of these coordinates are coupled by the kinetic energy, so that all of them need the same bath",
            do="give one rate and one temperature",
        )
    lower = np.linalg.cholesky(inertia.matrix)
    kT = float(temperatures[0])
    stir = find_stir(float(rates[0, 0]), dt, kT, 1.0) * lower
    white = np.linalg.inv(lower) / math.sqrt(kT) if kT > 0.0 else np.zeros_like(lower)
    return {"loss": np.full((1, 1), find_loss(float(rates[0, 0]), dt)), "stir_matrix": stir[None]}, {
        "whitening": white[None]
    }
