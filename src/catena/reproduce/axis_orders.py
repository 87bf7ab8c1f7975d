"""How much the order of the axes matters for the splittings of the free rotation [fasso2003].

For each body all six orders are tried: of the rotations 1-2-3-2-1, and of the roles i (rotation), j, k (symmetric part) in
T = (a_i - a_j) y_i^2/2 + [a_j |y|^2/2 + (a_k - a_j) y_k^2/2]. Errors are multiples of that of the best order of the same body.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from ..geometry.free_motion import free_motion
from ..methods.rotors.rotations import SymmetricRotation, ThreeRotations
from ..output.style import legend_above, line_style, plain_log_axis
from .report import Folder, Row

Array = np.ndarray
ORDERS = list(permutations(range(3)))
MANY, FEW = 200, 20  # bodies of each family
STEPS, ANGLE = 20, 0.1  # of one run, and dt |omega|
SEED = 2003
# Median and largest error of SymmetricRotation over that of the best order, for other random bodies: with the axes i
# and k of its order exchanged, and with the axes as given.
KNOWN = {"exchanged": "1.6 (17)", "as given": "2.1 (8700)"}


@dataclass(frozen=True)
class Family:
    """Errors of a family of bodies, (bodies, orders), over that of the best order, and which order is which.

    Attributes
    ----------
    three, symmetric : errors of ThreeRotations and SymmetricRotation
    sizes : (bodies, 3), whether the moment of an axis is small, middle or large
    roles : (bodies, 3), whether an axis has the middle moment, is closer to it in 1/I, or farther
    chosen : (bodies,), the order that SymmetricRotation chooses
    """

    name: str
    three: Array
    symmetric: Array
    sizes: Array
    roles: Array
    chosen: Array


def compare(count: int) -> list[Family]:
    """Three families of bodies with all orders of their axes."""
    rng = np.random.default_rng(SEED)
    families = []
    for name, second_moments in _families(rng, count).items():
        three, symmetric, sizes, roles, chosen = [], [], [], [], []
        for d in second_moments:
            moments = d.sum() - d
            momentum = rng.normal(size=3)
            three.append([_error_of_three(moments, momentum, order) for order in ORDERS])
            symmetric.append([_error_of_symmetric(moments, momentum, order) for order in ORDERS])
            places = np.argsort(np.argsort(moments))
            sizes.append(np.array(["small", "middle", "large"])[places])
            distance = np.abs(1.0 / moments - 1.0 / np.median(moments))
            roles.append(np.array(["middle", "near", "far"])[np.argsort(np.argsort(distance))])
            chosen.append(ORDERS.index(tuple(int(axis) for axis in SymmetricRotation().row(moments)[:3])))
        words = (np.array(sizes), np.array(roles), np.array(chosen))
        families.append(Family(name, _relative(three), _relative(symmetric), *words))
    return families


def _families(rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Second moments d_k of bodies: any are possible."""
    random = rng.uniform(size=(count, 3))
    symmetric = rng.uniform(size=(count, 3))
    symmetric[:, 1] = symmetric[:, 0] * (1.0 + 0.01 * rng.uniform(-1.0, 1.0, size=count))
    flat = rng.uniform(size=(count, 3))
    flat[:, 2] = 1e-3 * flat[:, :2].min(axis=1)
    # the axis that differs can be any of the three
    return {
        "random": random, "nearly symmetric": rng.permuted(symmetric, axis=1), "flat": rng.permuted(flat, axis=1)
    }  # fmt: skip


def _relative(errors: list[list[float]]) -> Array:
    values = np.array(errors)
    return values / values.min(axis=1, keepdims=True)


def _error_of_three(moments: Array, momentum: Array, order: tuple[int, ...]) -> float:
    """The same body in permuted axes; a left-handed permutation reverses the momentum."""
    axes = list(order)
    sign = float(np.linalg.det(np.eye(3)[axes]))
    return _error(ThreeRotations().rotor_kernel(), moments[axes], sign * momentum[axes], np.zeros(1))


def _error_of_symmetric(moments: Array, momentum: Array, order: tuple[int, ...]) -> float:
    i, j, k = order
    inverse = 1.0 / moments
    tab = np.array([i, j, k, inverse[i] - inverse[j], inverse[j], inverse[k] - inverse[j]])
    return _error(SymmetricRotation().rotor_kernel(), moments, momentum, tab)


def _error(kernel: Callable[..., int], moments: Array, momentum: Array, tab: Array) -> float:
    """Largest error of y/|y| and q after the steps, against the exact motion."""
    y: list[float] = (momentum / np.linalg.norm(momentum)).tolist()
    q = [1.0, 0.0, 0.0, 0.0]
    dt = ANGLE / float(np.linalg.norm(np.array(y) / moments))
    right_y, right_q = free_motion(moments, y, q0=q, times=[STEPS * dt])
    ey, eq = [0.0] * 3, [0.0] * 4
    for _ in range(STEPS):
        kernel(y, q, ey, eq, moments.tolist(), dt, tab.tolist())
    sign = math.copysign(1.0, float(np.dot(q, right_q[0])))
    return float(max(np.abs(y - right_y[0]).max(), np.abs(sign * np.array(q) - right_q[0]).max()))


def _median_and_largest(values: Array) -> str:
    return f"{np.median(values):.2g} ({values.max():.2g})"


def rows(families: list[Family]) -> list[Row]:
    """Median and largest multiple of the best error, for our orders, the axes as given, and the worst."""
    found = []
    for family in families:
        bodies = np.arange(len(family.chosen))
        chosen = family.symmetric[bodies, family.chosen]
        exchanged = family.symmetric[bodies, [ORDERS.index(ORDERS[order][::-1]) for order in family.chosen]]
        other = "other random bodies; " if family.name == "random" else ""
        title = f"{family.name}, SymmetricRotation()"
        for word, values in (("chosen", chosen), ("exchanged", exchanged), ("as given", family.symmetric[:, 0])):
            known = KNOWN.get(word) if family.name == "random" else None
            found.append(
                Row(f"{title}: order {word}", _median_and_largest(values), known, None, f"{other}median (largest)")
            )
        worst = _median_and_largest(family.symmetric.max(axis=1))
        found.append(Row(f"{title}: worst order", worst, None, None, "median (largest)"))
        found.append(_best_order(title, family.symmetric, family.roles))
        title = f"{family.name}, ThreeRotations()"
        for word, values in (("order as given", family.three[:, 0]), ("worst order", family.three.max(axis=1))):
            found.append(Row(f"{title}: {word}", _median_and_largest(values), None, None, "median (largest)"))
        found.append(_best_order(title, family.three, family.sizes))
    return found


def _best_order(title: str, errors: Array, words: Array) -> Row:
    """The order with the smallest geometric mean, with names for the axes."""
    logarithms: dict[str, list[float]] = {}
    for body, names in zip(np.log(errors), words, strict=True):
        for order, value in zip(ORDERS, body, strict=True):
            logarithms.setdefault("-".join(names[list(order)]), []).append(float(value))
    means = {name: float(np.exp(np.mean(values))) for name, values in logarithms.items()}
    best = min(means, key=lambda name: means[name])
    return Row(f"{title}: best order", best, None, None, f"on the whole: {means[best]:.2g} times the best of each body")


def draw(folder: Folder, families: list[Family]) -> None:
    """Share of the bodies whose error is below a multiple of the best."""
    with folder.picture("vilmart_axis_orders", width=8.6, height=3.6) as figure:
        axes = figure.subplots(1, len(families), sharey=True)
        for ax, family in zip(axes, families, strict=True):
            bodies = np.arange(len(family.chosen))
            curves = {
                "SymmetricRotation, chosen": family.symmetric[bodies, family.chosen],
                "SymmetricRotation, as given": family.symmetric[:, 0],
                "ThreeRotations, as given": family.three[:, 0],
            }
            for number, (name, values) in enumerate(curves.items()):
                share = np.arange(1, len(values) + 1) / len(values)
                ax.step(np.sort(values), share, where="post", label=name, **line_style(number))
            ax.set_xscale("log")
            ax.set_xlim(0.9)
            plain_log_axis(ax.xaxis)
            ax.set_xlabel(f"error / best order\n{family.name} bodies")
        axes[0].set_ylabel("share of bodies")
        legend_above(axes[0])
    columns: dict[str, ArrayLike] = {
        "family": [family.name for family in families for _ in family.chosen],
        "chosen": np.concatenate([family.chosen for family in families]),
    }
    for k, order in enumerate(ORDERS):
        word = "".join(str(axis + 1) for axis in order)
        columns[f"ThreeRotations {word}"] = np.concatenate([family.three[:, k] for family in families])
        columns[f"SymmetricRotation {word}"] = np.concatenate([family.symmetric[:, k] for family in families])
    folder.numbers("vilmart_axis_orders", columns, digits=5)
