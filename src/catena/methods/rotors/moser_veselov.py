"""The discrete Moser-Veselov method, plain and preprocessed, and RATTLE, which is the same map.

With the tangent half-angle vector e of the relative rotation rho = (1, e)/sqrt(1 + |e|^2):

    J e + e x J e = (1 + |e|^2) (h/2) y,      y' = y + 4/(h (1 + |e|^2)) (J e) x e,      q' = q * rho

[vilmart2015] (13)-(15). Only the moments occur, so flat bodies need no special treatment. Preprocessed: the same with
modified moments (`dmv_coefficients`), which raises the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...geometry.free_rotation import Orbit
from ...geometry.quaternion import cayley, hold_length, turn_right
from ...kernels.marks import Kernel, bind, size, slot
from ...kernels.summation import add
from ...kernels.views import STEP_TOO_LONG, View
from ..base import Exact, Method, Stepper, Traits, register
from . import lane_rotors
from .dmv_coefficients import HIGHEST_ORDER, coefficients, has_powers
from .jacobi import EXACT_ORDER, Jacobi, exact_factors
from .rotor import Rotor, moments_of, with_table

ITERATIONS = 30
# Newton steps beyond convergence. Without one, |y| drifts by a relative 4e-21 in each step at most; a second changes
# nothing.
EXTRA = 1
# (pi/2)^2. Beyond a quarter turn the root for modified moments belongs to another rotation, with the same invariants.
QUARTER_TURN = 2.467


@slot
def moment_factors(y, inertia, h, tab):
    """k_1, k_2, k_3, s for the moments k_j I_j that the Moser-Veselov step uses, k_j = 1/(s + t I_j)."""


@size
def half_order(tab):
    """Half the order of the preprocessed method."""
    return 1


def plain_factors(y, inertia, h, tab):
    """Order 2: the moments of the body."""
    return 1.0, 1.0, 1.0, 1.0


def preprocessed_factors(y, inertia, h, tab):
    """k_j = 1/(1 + s + t I_j) with the series s, t in h^2, homogeneous in H' and C (`dmv_coefficients`)."""
    y1 = y[0]
    y2 = y[1]
    y3 = y[2]
    i1 = inertia[0]
    i2 = inertia[1]
    i3 = inertia[2]
    middle = tab[0]
    shifted = (middle - i1) * y1 * y1 / i1 + (middle - i2) * y2 * y2 / i2 + (middle - i3) * y3 * y3 / i3
    x = 0.5 * h * h / middle * shifted
    c = 0.5 * h * h * (y1 * y1 + y2 * y2 + y3 * y3)
    p = half_order(tab)
    count = (p - 1) * (p + 2) // 2
    s = 0.0
    t = 0.0
    i = 1
    for k in range(1, p):
        vs = tab[i]
        vt = tab[count + i]
        power = 1.0
        for m in range(1, k + 1):
            power *= c
            vs = vs * x + tab[i + m] * power
            vt = vt * x + tab[count + i + m] * power
        s += vs
        t += vt
        i += k + 1
    s += 1.0
    return 1.0 / (s + t * i1), 1.0 / (s + t * i2), 1.0 / (s + t * i3), s


def half_angle(g1, g2, g3, a, b, c, stretch):
    """Root of e + (a e2 e3, b e3 e1, c e1 e2) = (1 + stretch |e|^2) g by Newton's method; last number: a status.

    The equation is quadratic, so after a correction d the error is of the size |d|^2. The branch from e = 0 ends where the
    Jacobian becomes singular.
    """
    e1 = g1 - a * g2 * g3
    e2 = g2 - b * g3 * g1
    e3 = g3 - c * g1 * g2
    extra = EXTRA
    for _ in range(ITERATIONS):
        factor = 1.0 + stretch * (e1 * e1 + e2 * e2 + e3 * e3)
        f1 = e1 + a * e2 * e3 - factor * g1
        f2 = e2 + b * e3 * e1 - factor * g2
        f3 = e3 + c * e1 * e2 - factor * g3
        w1 = 2.0 * stretch * e1
        w2 = 2.0 * stretch * e2
        w3 = 2.0 * stretch * e3
        j11 = 1.0 - g1 * w1
        j12 = a * e3 - g1 * w2
        j13 = a * e2 - g1 * w3
        j21 = b * e3 - g2 * w1
        j22 = 1.0 - g2 * w2
        j23 = b * e1 - g2 * w3
        j31 = c * e2 - g3 * w1
        j32 = c * e1 - g3 * w2
        j33 = 1.0 - g3 * w3
        c11 = j22 * j33 - j23 * j32
        c12 = j23 * j31 - j21 * j33
        c13 = j21 * j32 - j22 * j31
        determinant = j11 * c11 + j12 * c12 + j13 * c13
        if not determinant > 0.0:
            return e1, e2, e3, STEP_TOO_LONG
        r = 1.0 / determinant
        d1 = r * (c11 * f1 + (j13 * j32 - j12 * j33) * f2 + (j12 * j23 - j13 * j22) * f3)
        d2 = r * (c12 * f1 + (j11 * j33 - j13 * j31) * f2 + (j13 * j21 - j11 * j23) * f3)
        d3 = r * (c13 * f1 + (j12 * j31 - j11 * j32) * f2 + (j11 * j22 - j12 * j21) * f3)
        e1 -= d1
        e2 -= d2
        e3 -= d3
        square = d1 * d1 + d2 * d2 + d3 * d3
        if square <= 1e-17 * (abs(e1) + abs(e2) + abs(e3)):
            if extra == 0 or square == 0.0:
                return e1, e2, e3, 0
            extra -= 1
    return e1, e2, e3, STEP_TOO_LONG


def asymmetries(inertia, k1, k2, k3, s):
    """(It_3 - It_2)/It_1 and cyclic, for It_j = k_j I_j: from the body's moments, whose differences are not rounded."""
    return (
        s * (inertia[2] - inertia[1]) * k2 * k3 / (k1 * inertia[0]),
        s * (inertia[0] - inertia[2]) * k3 * k1 / (k2 * inertia[1]),
        s * (inertia[1] - inertia[0]) * k1 * k2 / (k3 * inertia[2]),
    )


def turn(y, q, ey, eq, j1, j2, j3, a, b, c, h, stretch):
    """One step with the moments j and their asymmetries; stretch 1: Moser-Veselov, 0: implicit midpoint on matrices.

    The momentum must change with the same a, b, c that were used to find e: if they are rounded separately, as j2 - j3,
    a step back does not undo the map, and |y| drifts by a relative 1e-22 or so in each step.
    """
    half = 0.5 * h
    e1, e2, e3, status = half_angle(half * y[0] / j1, half * y[1] / j2, half * y[2] / j3, a, b, c, stretch)
    if status != 0:
        return status
    f = -4.0 / (h * (1.0 + stretch * (e1 * e1 + e2 * e2 + e3 * e3)))
    add(y, ey, 0, f * j1 * a * e2 * e3)
    add(y, ey, 1, f * j2 * b * e3 * e1)
    add(y, ey, 2, f * j3 * c * e1 * e2)
    r0, r1, r2, r3 = cayley(e1, e2, e3)
    turn_right(q, eq, r0, r1, r2, r3)
    hold_length(q, eq)
    return 0


def turns_too_far(y, inertia, h):
    """Whether the body rotates by more than a quarter of a full turn within h."""
    t1 = h * y[0] / inertia[0]
    t2 = h * y[1] / inertia[1]
    t3 = h * y[2] / inertia[2]
    return not t1 * t1 + t2 * t2 + t3 * t3 < QUARTER_TURN


def moser_veselov(y, q, ey, eq, inertia, h, tab):
    """The rotor: moments modified for the present momentum."""
    if turns_too_far(y, inertia, h):
        return STEP_TOO_LONG
    k1, k2, k3, s = moment_factors(y, inertia, h, tab)
    a, b, c = asymmetries(inertia, k1, k2, k3, s)
    return turn(y, q, ey, eq, k1 * inertia[0], k2 * inertia[1], k3 * inertia[2], a, b, c, h, 1.0)


def free_moser_veselov(z, e, dt, par, tab, work, carry):
    """On a free body H and C are constant, so the modified moments are computed once.

    carry: [known, moments, asymmetries].
    """
    inertia = par.inertia[0]
    if turns_too_far(z[4:7], inertia, dt):
        return STEP_TOO_LONG
    if carry[0] == 0.0:
        k1, k2, k3, s = moment_factors(z[4:7], inertia, dt, par.rotor[0])
        carry[1] = k1 * inertia[0]
        carry[2] = k2 * inertia[1]
        carry[3] = k3 * inertia[2]
        carry[4], carry[5], carry[6] = asymmetries(inertia, k1, k2, k3, s)
        carry[0] = 1.0
    return turn(
        z[4:7], z[0:4], e[4:7], e[0:4], carry[1], carry[2], carry[3], carry[4], carry[5], carry[6], dt, 1.0
    )  # fmt: skip


def implicit_midpoint_rotor(y, q, ey, eq, inertia, h, tab):
    """Implicit midpoint rule for (y, R) with R a matrix, which keeps R y; on quaternions it is a different rule."""
    a, b, c = asymmetries(inertia, 1.0, 1.0, 1.0, 1.0)
    return turn(y, q, ey, eq, inertia[0], inertia[1], inertia[2], a, b, c, h, 0.0)


KEEPS = (Exact("spatial_momentum"), Exact("casimir"), Exact("energy"), Exact("unit"), Exact("axial"))


@register
@dataclass(frozen=True)
class DMV(Rotor):
    """Discrete Moser-Veselov method of order 2 to 12, or exact.

    Keeps R(q) y, |y| and the energy exactly at every order, with one 3 x 3 Newton iteration per step. Order 2 is RATTLE and
    symplectic, but the least accurate method of its order. Orders from 4 on are Poisson maps, symplectic up to their order:
    choose 6 or more. Needs dt |omega| < 1 (order 2) or less than a quarter turn (others), and otherwise fails with a message.

    Parameters
    ----------
    order : 2, 4, 6, 8, 10, 12, or "exact": moments for which the step is the exact flow, computed once on a free body

    References
    ----------
    [moser1991], [hairer2006vilmart], [vilmart2015] algorithm 4, where the powers of h must read h^2, h^4, h^6, ...
    """

    order: int | Literal["exact"]

    def __post_init__(self) -> None:
        if self.order != "exact" and self.order not in range(2, HIGHEST_ORDER + 1, 2):
            raise InputError(
                f"order = {self.order!r} is not available", where="DMV.order", do='choose 2, 4, 6, 8, 10, 12 or "exact"'
            )

    def _factors(self) -> Kernel:
        if self.order == "exact":
            return exact_factors
        if self.order == 2:
            return plain_factors
        return bind(preprocessed_factors, {half_order: int(self.order) // 2})

    def rotor_kernel(self) -> Kernel:
        return bind(moser_veselov, {moment_factors: self._factors()})

    @property
    def takes_notes(self) -> bool:
        return self.order == "exact"  # its row stores the orbit

    def row(self, moments: Array) -> Array:
        if self.order == "exact":
            return np.zeros(Orbit.WIDTH)
        return coefficients(moments, self.order) if self.order != 2 else super().row(moments)

    def table(self, view: View) -> Array:
        if isinstance(self.order, int) and self.order > 2:
            return coefficients(moments_of(view), self.order)
        return super().table(view)

    def lane_kernel(self, moments: Array) -> Kernel:
        if self.order in ("exact", 2):
            return super().lane_kernel(moments)
        series = lane_rotors.series_text(int(self.order) // 2)
        return bind(lane_rotors.moser_veselov_lane, {lane_rotors.modify: series})

    def lane_row(self, moments: Array) -> Array:
        if self.order in ("exact", 2):
            return super().lane_row(moments)
        bound = lane_rotors.reach(moments, lane_rotors.moser_veselov_reach(moments))
        middle, *series = self.row(moments)
        return np.array([bound, *(1.0 / moments), 1.0 / middle, *series])

    def stepper(self, view: View) -> Stepper:
        kernel = bind(free_moser_veselov, {moment_factors: self._factors()})
        return with_table(Stepper(kernel, np.zeros((1, 1)), 0, 7), self, view)

    @property
    def traits(self) -> Traits:
        cite = ("moser1991", "hairer2006vilmart")
        if self.order == "exact":
            return Traits(EXACT_ORDER, True, True, False, KEEPS, cite, 0.0, exact=True)
        return Traits(self.order, self.order == 2, True, False, KEEPS, cite, 0.0, poisson=True)

    @property
    def reach(self) -> float:
        return 1.0 if self.order == 2 else 0.5 * math.pi

    def advice(self) -> str:
        return "use a smaller dt: DMV(2) turns by less than a radian, the others by less than a quarter turn; or use Jacobi()"

    @classmethod
    def examples(cls) -> tuple[DMV, ...]:
        return *(cls(order) for order in range(2, HIGHEST_ORDER + 1, 2)), cls("exact")


def choose_rotor(view: View, default: Method) -> Method:
    """The default rotor of a splitting.

    `Jacobi()` if the default needs powers of moments outside the range of doubles (a molecule, or the Earth, in SI
    units).
    """
    if isinstance(default, DMV) and isinstance(default.order, int) and view.moments is not None:
        return default if has_powers(view.moments, default.order) else Jacobi()
    return default
