"""Torsions of hinges in the increments of joints: a part of `recursion`."""

from ....geometry.vectors import ZERO, add, cross, dot, load3, scaled, subtract
from ....kernels import elementary as math
from ....kernels.marks import optional
from ..layout import Joint, Link, Sweep
from .blocks import torsion_mean

SMALL_ANGLE = 1e-4  # below it a series is exact


@optional
def hinge_torque(k, h, t, par, own):
    """What the torsion of hinge k adds to its equation; its derivatives by the angle and by the turn of the parent."""
    return 0.0, 0.0, ZERO


def torsion_torque(k, h, t, par, own):
    """(V1 - V0)/angle along the mean axis, as its work demands: times (angle/t) (1 - t c_p.N0/4)/(1 + |c_p|^2/4)."""
    above = load3(par.sweep[par.link[k, Link.PARENT]], Sweep.SPACE_TURN)
    n = load3(own, Sweep.AXIS_START)
    angle = 2.0 * math.atan(0.5 * t)
    torque, slope = torsion_mean(k, par.joint[k, Joint.THETA], angle, h, par)
    if abs(t) < SMALL_ANGLE:
        ratio, ratio_slope = 1.0 - angle * angle / 12.0, -angle / 6.0
    else:
        ratio = angle / t
        ratio_slope = (1.0 - ratio * (1.0 + 0.25 * t * t)) / t
    along = dot(above, n)
    k0 = 1.0 / (1.0 + 0.25 * dot(above, above))
    lever = k0 * (ratio - 0.25 * angle * along)
    k1 = -0.25 * torque * k0 * angle
    k2 = 0.25 * along * k1 - 0.5 * torque * lever
    by_parent = add(scaled(k1, subtract(n, scaled(0.5, cross(n, above)))), scaled(k2, above))
    return torque * lever, slope * lever + torque * k0 * (ratio_slope - 0.25 * along), by_parent
