"""What the torsions of joints that close loops change by: a part of `force_slopes` where loops are.

A torque tau = -V'(theta) - c theta' acts about the axis a of the joint, which turns with its parent: theta' = a.(omega_J - omega_I). Where the
loop is closed theta changes by a.(phi_J - phi_I) with the turns phi of both nodes.
"""

from __future__ import annotations

from ....geometry.vectors import add, add3, cross, dot, load3, scaled, store3, subtract
from ....kernels.marks import Record
from .. import layout as at
from ..director_form.blocks import torsion_slope
from .force_slopes import resistance
from .forces import JointPlace
from .loop_slopes import changes_of_joint
from .loops import ends_of_joint
from .motion import Node, turned_from
from .slopes import Change


class Twist(Record):
    """par.tree_twists[k]: torsion of joint k, if it closes a loop, where the derivatives are taken."""

    AXIS = 3
    SPIN = 3  # omega_J - omega_I
    TORQUE = 1
    STIFFNESS = 1
    DAMPING = 1


def note_closing_twist(theta, k, par):
    """`note_twist` where loops are."""
    twist = par.tree_twists[k]
    n, m = ends_of_joint(k, par)
    axis = turned_from(n, par.joint[k], at.Joint.TRIAD)
    spin = subtract(load3(m, Node.SPIN), load3(n, Node.SPIN))
    rate = dot(axis, spin)
    push, stiffness, damping = resistance(theta, rate, k, par)
    torque = -torsion_slope(theta, par.link[k, at.Link.TORSION], par)
    store3(twist, Twist.AXIS, axis)
    store3(twist, Twist.SPIN, spin)
    twist[Twist.TORQUE] = torque - par.joint[k, at.Joint.DAMPING] * rate + push
    twist[Twist.STIFFNESS] = stiffness
    twist[Twist.DAMPING] = damping


def change_closing_twists(par):
    """`change_twists` where loops are: the change of tau a, against the parent and on the child."""
    for k in range(par.tree_joints.shape[0]):
        if par.tree_joints[k, JointPlace.CLOSES] >= 0 and par.link[k, at.Link.TORSION] >= 0:
            twist = par.tree_twists[k]
            n, m = ends_of_joint(k, par)
            of_n, of_m = changes_of_joint(k, par)
            axis = load3(twist, Twist.AXIS)
            axis_change = cross(load3(of_n, Change.TURN), axis)
            turn = subtract(load3(of_m, Change.TURN), load3(of_n, Change.TURN))
            spin = subtract(load3(of_m, Change.SPIN), load3(of_n, Change.SPIN))
            quicker = dot(axis_change, load3(twist, Twist.SPIN)) + dot(axis, spin)
            torque = -twist[Twist.STIFFNESS] * dot(axis, turn) - twist[Twist.DAMPING] * quicker
            change = add(scaled(torque, axis), scaled(twist[Twist.TORQUE], axis_change))
            add3(n, Node.APPLIED + 3, change)
            add3(m, Node.APPLIED + 3, scaled(-1.0, change))
