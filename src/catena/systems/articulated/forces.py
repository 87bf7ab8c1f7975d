"""What acts on the nodes of a tree: springs, dampers, pair potentials between points, loads, torsions of joints.

The parameters are those of the director form (`linkage_layout`). par.tree_home[i] is the node of body i (the last: the ground); par.tree_joints[k] tells of
joint k where its image, its angle and its shift stand in z, the node of its hinge, and its number among those that close loops.
"""

from __future__ import annotations

import math

from ...kernel import slot
from ..linkages import layout as at
from ..linkages.blocks import torsion_slope
from ..linkages.forces import DAMPER, load_values, point_tension
from .motion import APPLIED, RATE, TAU, R, V, W, cross, turned

# par.tree_joints[k]; -1: there is none
IMAGE_PLACE = 0
ANGLE_PLACE = 1
SHIFT_PLACE = 2
HINGE = 3
CLOSURE = 4
JOINTS = 5

# par.tree_places: places in z
TIME = 0
WORK = 1  # of dampers; that of loads comes next
CHART = 2  # which rows of loops are kept, and which coordinates are solved for

# par.tree_power
DAMPING = 0
LOADS = 1


@slot
def twist_closure(c, torque, par):
    """A torque about the axis of the joint that closes loop c; returns the rate of turning about it."""


def push(n, f1, f2, f3, x1, x2, x3):
    """A force at a point relative to the centre of a node; returns its power."""
    t1, t2, t3 = cross(x1, x2, x3, f1, f2, f3)
    n[APPLIED] -= f1
    n[APPLIED + 1] -= f2
    n[APPLIED + 2] -= f3
    n[APPLIED + 3] -= t1
    n[APPLIED + 4] -= t2
    n[APPLIED + 5] -= t3
    return f1 * n[V] + f2 * n[V + 1] + f3 * n[V + 2] + t1 * n[W] + t2 * n[W + 1] + t3 * n[W + 2]


def apply_ties(par):
    """Springs, dampers and pair potentials, each along the line between two points."""
    for k in range(par.force.shape[0]):
        data = par.force[k]
        n = par.tree_nodes[par.tree_home[par.force_sort[k, at.ForceSort.BODY_I]]]
        m = par.tree_nodes[par.tree_home[par.force_sort[k, at.ForceSort.BODY_J]]]
        x1, x2, x3 = turned(n, data[0], data[1], data[2])
        y1, y2, y3 = turned(m, data[3], data[4], data[5])
        d1 = m[R] - n[R] + (y1 - x1)
        d2 = m[R + 1] - n[R + 1] + (y2 - x2)
        d3 = m[R + 2] - n[R + 2] + (y3 - x3)
        square = d1 * d1 + d2 * d2 + d3 * d3
        tension = point_tension(k, square, par)
        if par.force_sort[k, at.ForceSort.KIND] == DAMPER and square > 0.0:
            a1, a2, a3 = cross(n[W], n[W + 1], n[W + 2], x1, x2, x3)
            b1, b2, b3 = cross(m[W], m[W + 1], m[W + 2], y1, y2, y3)
            rate = d1 * (m[V] - n[V] + (b1 - a1)) + d2 * (m[V + 1] - n[V + 1] + (b2 - a2))
            rate = (rate + d3 * (m[V + 2] - n[V + 2] + (b3 - a3))) / math.sqrt(square)
            tension = data[at.Force.STIFFNESS] * rate / math.sqrt(square)
            par.tree_power[DAMPING] -= data[at.Force.STIFFNESS] * rate * rate
        push(n, tension * d1, tension * d2, tension * d3, x1, x2, x3)
        push(m, -tension * d1, -tension * d2, -tension * d3, y1, y2, y3)


def apply_loads(z, par):
    """Loads, constant or in t."""
    t = z[par.tree_places[TIME]] if par.tree_places[TIME] >= 0 else 0.0
    value = par.scratch[at.Scratch.LOADED : at.Scratch.LOADED + 6]
    for i in range(par.mass.shape[0]):
        n = par.tree_nodes[par.tree_home[i]]
        load = par.tree[i, at.Tree.LOAD]
        while load >= 0:
            load_values(t, load, par, value)
            x1, x2, x3 = turned(n, par.load[load, 6], par.load[load, 7], par.load[load, 8])
            power = push(n, value[0], value[1], value[2], x1, x2, x3)
            for k in range(3):
                n[APPLIED + 3 + k] -= value[3 + k]
                power += value[3 + k] * n[W + k]
            par.tree_power[LOADS] += power
            load = par.load_next[load]


def apply_torsions(z, par):
    """Torsions and their damping: on the coordinate of a hinge, or about the axis of a joint that closes a loop."""
    for k in range(par.tree_joints.shape[0]):
        which = par.link[k, at.Link.TORSION]
        if which >= 0:
            joint = par.tree_joints[k]
            torque = -torsion_slope(z[joint[ANGLE_PLACE]], which, par)
            damping = par.joint[k, at.Joint.DAMPING]
            if joint[CLOSURE] < 0:
                rate = z[par.tree_links[joint[HINGE], RATE]]
                par.tree_nodes[joint[HINGE], TAU] += torque - damping * rate
            else:
                rate = twist_closure(joint[CLOSURE], torque, par)
                twist_closure(joint[CLOSURE], -damping * rate, par)
            par.tree_power[DAMPING] -= damping * rate * rate


def apply_all(z, par):
    """All forces, and the power of those without a potential."""
    par.tree_power[DAMPING] = 0.0
    par.tree_power[LOADS] = 0.0
    apply_ties(par)
    apply_loads(z, par)
    apply_torsions(z, par)


def apply_none(z, par):
    """No forces but the weight."""


def twist_nothing(c, torque, par):
    """No loop."""
    return 0.0
