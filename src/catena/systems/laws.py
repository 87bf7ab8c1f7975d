"""Exact averages of a system at a temperature, with which a run in a heat bath can be compared.

Each is exact for the canonical density exp(-H/kT), by a formula or by quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array

States = Mapping[str, Array]  # fields by name, each with the same leading axes

PANELS = 44  # of the quadrature, each half as wide as the one before it
NODES = 24  # in each: the integrand is analytic, and nearly constant in the narrowest
NEARLY_FREE = 1e-2  # below it coth x - 1/x is computed from its series


@dataclass(frozen=True, eq=False)
class Law:
    """The average of a function of the configuration.

    Attributes
    ----------
    name : of the quantity
    value : its canonical average
    of : states -> values, one for each state
    unit : unit of deviations: the value itself, or, if the average may be zero, the range of the quantity
    """

    name: str
    value: float
    of: Callable[[States], Array]
    unit: float


def langevin_function(x: float) -> float:
    """coth x - 1/x, the mean cosine of a direction in a field.

    Examples
    --------
    >>> langevin_function(1.5), langevin_function(-1e-3)  # doctest: +ELLIPSIS
    (0.43812..., -0.000333333311...)
    """
    if abs(x) < NEARLY_FREE:
        return x / 3.0 * (1.0 - x * x / 15.0 * (1.0 - 2.0 * x * x / 21.0))
    return 1.0 / math.tanh(x) - 1.0 / x


def mean_cosine(bend: float, twist: float) -> float:
    """<T33> of a rotation T with the energy 2 (bend (w1^2 + w2^2) + twist w3^2), w the vector part of its quaternion, at kT = 1.

    By Haar's measure u = q0^2 + q3^2 is uniform in [0, 1] and q3^2 = u sin^2(phi), so that T33 = 2 u - 1 has the weight
    exp((2 bend - twist) u) I_0(twist u).

    Examples
    --------
    >>> f"{mean_cosine(4.0, 3.0):.15f}", abs(mean_cosine(0.0, 0.0)) < 1e-15
    ('0.720816179014524', True)
    """
    from scipy.special import ive

    # stiff links stay near u = 1: panels become narrower towards it
    edges = np.append(np.exp2(-np.arange(PANELS, dtype=float)), 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half, middle = 0.5 * (edges[:-1] - edges[1:]), 0.5 * (edges[:-1] + edges[1:])
    lost = (middle[:, None] + half[:, None] * nodes).ravel()  # 1 - u
    weight = (half[:, None] * weights).ravel() * np.exp(-2.0 * bend * lost) * ive(0, twist * (1.0 - lost))
    return float(1.0 - 2.0 * (lost @ weight) / weight.sum())
