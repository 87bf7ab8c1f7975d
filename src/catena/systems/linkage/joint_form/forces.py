"""What acts on the nodes of a tree: springs, dampers, pair potentials between points, loads, torsions of joints.

The parameters are those of the director form (`layout` of the linkage). par.tree_home[i] is the node of body i (the last: the ground); par.tree_joints[k] tells of
joint k its nodes, where its image, its angle and its shift stand in z, the node of its hinge, and whether it closes a loop.
"""

import math

from ....geometry.vectors import add, add3, cross, dot, load3, load9, negative, scaled, store3, subtract, sum_from
from ....kernels.marks import Record, choice, optional
from ...particles.kernels import find_rate, find_wrenches, place_body
from ...particles.layout import Center, Frame
from .. import layout as at
from ..director_form.blocks import torsion_slope
from ..director_form.clock import gravity_slope, torsion_rate
from ..director_form.forces import DAMPER, load_values, point_tension
from ..director_form.motors import drag_torque, has_motors, motor_torque
from .motion import Link, Node, time_of, turn_from


class JointPlace(Record):
    """par.tree_joints[k]: the nodes of joint k, where its image, angle and shift stand in z, what it is in the tree; -1: there is none."""

    PARENT = 1
    CHILD = 1
    IMAGE = 1
    ANGLE = 1
    SHIFT = 1
    HINGE = 1  # its node
    CLOSES = 1  # 1 if it closes a loop
    DRIVEN = 1  # the function of the time that is its angle


class Power(Record):
    """par.tree_power."""

    DAMPING = 1
    LOADS = 1


@choice
def has_loops():
    """1 if joints close loops, else 0."""
    return 0


@choice
def changes_in_time():
    """1 if a potential depends on t, else 0."""
    return 0


def push(n, force, arm):
    """A force at a point relative to the centre of a node; returns its power."""
    torque = cross(arm, force)
    add3(n, Node.APPLIED, negative(force))
    add3(n, Node.APPLIED + 3, negative(torque))
    return sum_from(dot(force, load3(n, Node.VELOCITY)), torque, load3(n, Node.SPIN))


def ends_of(k, par):
    """Of force k between two points: its nodes, the arms to its points, and the vector from the first to the second."""
    n = par.tree_nodes[par.tree_home[par.force_sort[k, at.ForceSort.BODY_I]]]
    m = par.tree_nodes[par.tree_home[par.force_sort[k, at.ForceSort.BODY_J]]]
    x = turn_from(n, par.force[k], at.Force.FIRST_POINT)
    y = turn_from(m, par.force[k], at.Force.SECOND_POINT)
    return n, m, x, y, add(subtract(load3(m, Node.POSITION), load3(n, Node.POSITION)), subtract(y, x))


def velocity_between(n, m, x, y):
    """The rate of that vector."""
    swung = subtract(cross(load3(m, Node.SPIN), y), cross(load3(n, Node.SPIN), x))
    return add(subtract(load3(m, Node.VELOCITY), load3(n, Node.VELOCITY)), swung)


def apply_ties(par):
    """Springs, dampers and pair potentials, each along the line between two points."""
    for k in range(par.force.shape[0]):
        n, m, x, y, d = ends_of(k, par)
        square = dot(d, d)
        tension = point_tension(k, square, par)
        if par.force_sort[k, at.ForceSort.KIND] == DAMPER and square > 0.0:
            damping = par.force[k, at.Force.STIFFNESS]
            rate = dot(d, velocity_between(n, m, x, y)) / math.sqrt(square)
            tension = damping * rate / math.sqrt(square)
            par.tree_power[Power.DAMPING] -= damping * rate * rate
        push(n, scaled(tension, d), x)
        push(m, scaled(-tension, d), y)


def apply_loads(z, par):
    """Loads, constant or in t."""
    t = time_of(z, par)
    value = par.scratch[at.Scratch.LOADED : at.Scratch.LOADED + 6]
    for i in range(par.mass.shape[0]):
        n = par.tree_nodes[par.tree_home[i]]
        load = par.tree[i, at.Tree.LOAD]
        while load >= 0:
            load_values(t, load, par, value)
            torque = load3(value, at.Load.TORQUE)
            power = push(n, load3(value, at.Load.FORCE), turn_from(n, par.load[load], at.Load.POINT))
            add3(n, Node.APPLIED + 3, negative(torque))
            par.tree_power[Power.LOADS] += sum_from(power, torque, load3(n, Node.SPIN))
            load = par.load_next[load]


def apply_torsions(z, par):
    """Torsions, their damping, and motors."""
    for k in range(par.tree_joints.shape[0]):
        which = par.link[k, at.Link.TORSION]
        if which >= 0:
            theta = z[par.tree_joints[k, JointPlace.ANGLE]]
            damping = par.joint[k, at.Joint.DAMPING]
            rate = turn_joint(z, k, -torsion_slope(theta, which, par), par)
            turn_joint(z, k, -damping * rate, par)
            par.tree_power[Power.DAMPING] -= damping * rate * rate
            if has_motors():
                push, _, _ = motor_torque(theta, rate, which, par)
                drag, _, _ = drag_torque(theta, rate, which, par)
                turn_joint(z, k, push + drag, par)
                par.tree_power[Power.LOADS] += push * rate
                par.tree_power[Power.DAMPING] += drag * rate


def turn_joint(z, k, torque, par):
    """A torque on the coordinate of the hinge of joint k, or about its axis if it closes a loop; returns the rate of its angle."""
    joint = par.tree_joints[k]
    if has_loops() and joint[JointPlace.CLOSES] >= 0:
        return twist_about_axis(k, torque, par)
    par.tree_nodes[joint[JointPlace.HINGE], Node.TAU] += torque
    return z[par.tree_links[joint[JointPlace.HINGE], Link.RATE]]


def ends_of_joint(k, par):
    """The nodes I and J of joint k."""
    joint = par.tree_joints[k]
    return par.tree_nodes[joint[JointPlace.PARENT]], par.tree_nodes[joint[JointPlace.CHILD]]


def axis_of(k, par):
    """The axis of joint k, in space, and omega_J - omega_I."""
    n, m = ends_of_joint(k, par)
    return turn_from(n, par.joint[k], at.Joint.TRIAD), subtract(load3(m, Node.SPIN), load3(n, Node.SPIN))


def twist_about_axis(k, torque, par):
    """A torque about the axis of joint k, on its child and against its parent; returns the rate of turning about it."""
    n, m = ends_of_joint(k, par)
    axis, spin = axis_of(k, par)
    add3(n, Node.APPLIED + 3, scaled(torque, axis))
    add3(m, Node.APPLIED + 3, scaled(-torque, axis))
    return dot(axis, spin)


def apply_all(z, par):
    """All forces, and the power of those without a potential."""
    par.tree_power[Power.DAMPING] = 0.0
    par.tree_power[Power.LOADS] = 0.0
    apply_ties(par)
    apply_loads(z, par)
    apply_torsions(z, par)
    apply_particles(z, par)
    if changes_in_time():
        change_potentials(z, par)


def change_potentials(z, par):
    """What potentials gain because t goes on, as power of the loads."""
    slope = gravity_slope(par)
    for i in range(par.mass.shape[0]):
        n = par.tree_nodes[par.tree_home[i]]
        par.tree_power[Power.LOADS] -= par.mass[i] * dot(slope, load3(n, Node.POSITION))
    for k in range(par.tree_joints.shape[0]):
        which = par.link[k, at.Link.TORSION]
        if which >= 0:
            par.tree_power[Power.LOADS] += torsion_rate(z[par.tree_joints[k, JointPlace.ANGLE]], which, par)


@optional
def apply_particles(z, par):
    """What particles do to the nodes of their bodies."""


def push_nodes(z, par):
    """Forces between the particles of all bodies."""
    place_particles(z, par)
    find_wrenches(par)
    par.tree_power[Power.LOADS] += find_rate(par)
    for i in range(par.mass.shape[0]):
        n = par.tree_nodes[par.tree_home[i]]
        own = par.particle_center[i]
        add3(n, Node.APPLIED, negative(load3(own, Center.FORCE)))
        add3(n, Node.APPLIED + 3, negative(load3(own, Center.TORQUE)))


def place_particles(z, par):
    """Particles where the nodes are."""
    origin = load3(par.tree_nodes[par.tree_home[0]], Node.POSITION)
    store3(par.particle_frame, Frame.ORIGIN, origin)
    par.particle_frame[Frame.TIME] = time_of(z, par)
    for i in range(par.mass.shape[0]):
        n = par.tree_nodes[par.tree_home[i]]
        place_body(i, subtract(load3(n, Node.POSITION), origin), load9(n, Node.AXES), 0, par)
