"""Torsions of hinges in the increments of joints: a part of `recursion`."""

import math

from ...geometry.vectors import load3
from ...kernel import slot
from .blocks import torsion_mean
from .layout import Joint, Link, Sweep
from .rows import cross

SMALL_ANGLE = 1e-4  # below it a series is exact


@slot
def hinge_torque(k, h, t, par, own):
    """What the torsion of hinge k adds to its equation; its derivatives by the angle and by the turn of the parent (3)."""


def no_torque(k, h, t, par, own):
    """No torsion acts."""
    return 0.0, 0.0, 0.0, 0.0, 0.0


def torsion_torque(k, h, t, par, own):
    """(V1 - V0)/angle along the mean axis, as its work demands: times (angle/t) (1 - t c_p.N0/4)/(1 + |c_p|^2/4)."""
    e1, e2, e3 = load3(par.sweep[par.link[k, Link.PARENT]], Sweep.SPACE_TURN)
    n1, n2, n3 = load3(own, Sweep.AXIS_START)
    angle = 2.0 * math.atan(0.5 * t)
    torque, slope = torsion_mean(k, par.joint[k, Joint.THETA], angle, h, par)
    if abs(t) < SMALL_ANGLE:
        ratio, ratio_slope = 1.0 - angle * angle / 12.0, -angle / 6.0
    else:
        ratio = angle / t
        ratio_slope = (1.0 - ratio * (1.0 + 0.25 * t * t)) / t
    along = e1 * n1 + e2 * n2 + e3 * n3
    k0 = 1.0 / (1.0 + 0.25 * (e1 * e1 + e2 * e2 + e3 * e3))
    lever = k0 * (ratio - 0.25 * angle * along)
    f1, f2, f3 = cross(n1, n2, n3, e1, e2, e3)
    k1 = -0.25 * torque * k0 * angle
    k2 = 0.25 * along * k1 - 0.5 * torque * lever
    return (
        torque * lever, slope * lever + torque * k0 * (ratio_slope - 0.25 * along),
        k1 * (n1 - 0.5 * f1) + k2 * e1, k1 * (n2 - 0.5 * f2) + k2 * e2, k1 * (n3 - 0.5 * f3) + k2 * e3,
    )  # fmt: skip
