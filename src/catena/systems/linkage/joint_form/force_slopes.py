"""What the forces on a tree change by where its nodes move and turn: for the derivatives of its accelerations.

Between two points with the vector d from the first to the second acts tension d. The tension of springs and pair potentials is
a function of d alone; that of a damper is c (d.v)/d^2 with the relative velocity v.

A torque tau = -V'(theta) - c theta' acts about the axis a of the joint, which turns with its parent: theta' = a.(omega_J - omega_I). Where the
loop is closed theta changes by a.(phi_J - phi_I) with the turns phi of both nodes.
"""

from ....geometry.vectors import add, add3, cross, dot, load3, negative, scaled, store3, subtract
from ....kernels.marks import Record, optional
from ...particles.slopes import change_wrench, find_changes, move_particles
from .. import layout as at
from ..director_form.blocks import torsion_curvature, torsion_slope
from ..director_form.forces import DAMPER, load_values, point_tension, tension_slope
from ..director_form.motors import has_motors, push_joints
from .forces import JointPlace, axis_of, ends_of, ends_of_joint, has_loops, velocity_between
from .motion import Node, time_of, turn_from
from .slopes import Base, Change


class Tie(Record):
    """par.tree_ties[k]: force k between two points where the derivatives are taken."""

    FIRST_ARM = 3
    SECOND_ARM = 3
    GAP = 3  # d
    TENSION = 1
    BY_GAP = 3  # derivative of the tension by d
    BY_VELOCITY = 3  # and by the relative velocity


class Twist(Record):
    """par.tree_twists[k]: torsion of joint k, if it closes a loop, where the derivatives are taken."""

    TORQUE = 1
    STIFFNESS = 1
    DAMPING = 1


def note_all_forces(z, par):
    """`note_forces` for whatever may act."""
    note_ties(par)
    note_torsions(z, par)
    note_loads(z, par)
    note_particles(par)


@optional
def note_particles(par):
    """What `change_particles` needs of the forces on the particles, which `accelerate` has found."""


@optional
def change_particles(par):
    """Add what particles do otherwise to APPLIED."""


def change_nodes_of_particles(par):
    """Changes of the forces between the particles of all bodies."""
    for i in range(par.mass.shape[0]):
        change = par.tree_change[par.tree_home[i]]
        move_particles(i, load3(change, Change.MOVE), load3(change, Change.TURN), par)
    find_changes(par)
    for i in range(par.mass.shape[0]):
        home = par.tree_home[i]
        force, torque = change_wrench(i, load3(par.tree_change[home], Change.TURN), par)
        add3(par.tree_nodes[home], Node.APPLIED, negative(force))
        add3(par.tree_nodes[home], Node.APPLIED + 3, negative(torque))


def note_ties(par):
    """Arms, tension and its derivatives."""
    for k in range(par.force.shape[0]):
        tie = par.tree_ties[k]
        n, m, x, y, d = ends_of(k, par)
        square = dot(d, d)
        tension = point_tension(k, square, par)
        by_gap = scaled(2.0 * tension_slope(k, square, par), d)
        by_velocity = scaled(0.0, d)
        if par.force_sort[k, at.ForceSort.KIND] == DAMPER and square > 0.0:
            velocity = velocity_between(n, m, x, y)
            strength = par.force[k, at.Force.STIFFNESS] / square
            tension = strength * dot(d, velocity)
            by_gap = subtract(scaled(strength, velocity), scaled(2.0 * tension / square, d))
            by_velocity = scaled(strength, d)
        store3(tie, Tie.FIRST_ARM, x)
        store3(tie, Tie.SECOND_ARM, y)
        store3(tie, Tie.GAP, d)
        tie[Tie.TENSION] = tension
        store3(tie, Tie.BY_GAP, by_gap)
        store3(tie, Tie.BY_VELOCITY, by_velocity)


def note_torsions(z, par):
    """Stiffness and damping of the hinges; of joints that close loops their torque, too."""
    for k in range(par.tree_joints.shape[0]):
        joint = par.tree_joints[k]
        if par.link[k, at.Link.TORSION] >= 0:
            theta = z[joint[JointPlace.ANGLE]]
            if has_loops() and joint[JointPlace.CLOSES] >= 0:
                axis, spin = axis_of(k, par)
                store3(par.tree_twists[k], Twist.TORQUE, find_torque(theta, dot(axis, spin), k, par))
            else:
                base = par.tree_base[joint[JointPlace.HINGE]]
                _, stiffness, damping = find_torque(theta, base[Base.RATES], k, par)
                base[Base.STIFFNESS] += stiffness
                base[Base.DAMPING] += damping


def find_torque(theta, rate, k, par):
    """The torque of all that acts on the angle of joint k, and what it loses by the angle and by its rate."""
    which = par.link[k, at.Link.TORSION]
    damping = par.joint[k, at.Joint.DAMPING]
    torque = -torsion_slope(theta, which, par) - damping * rate
    stiffness = torsion_curvature(theta, which, par)
    if not has_motors():
        return torque, stiffness, damping
    push, by_theta, by_rate = push_joints(theta, rate, which, par)
    return torque + push, stiffness - by_theta, damping - by_rate


def note_loads(z, par):
    """A force f at the arm x that turns with the body: (phi x x) x f = (x f^T - x.f) phi."""
    t = time_of(z, par)
    value = par.scratch[at.Scratch.LOADED : at.Scratch.LOADED + 6]
    for i in range(par.mass.shape[0]):
        home = par.tree_home[i]
        loaded = par.tree_base[home, Base.LOADED : Base.LOADED + 9]
        load = par.tree[i, at.Tree.LOAD]
        while load >= 0:
            load_values(t, load, par, value)
            x = turn_from(par.tree_nodes[home], par.load[load], at.Load.POINT)
            for a in range(3):
                for b in range(3):
                    loaded[3 * a + b] += x[a] * value[b]
                loaded[4 * a] -= dot(x, load3(value, 0))
            load = par.load_next[load]


def change_all_forces(par):
    """`change_forces` for whatever may act; torsions of hinges have changed TAU."""
    for k in range(par.force.shape[0]):
        tie = par.tree_ties[k]
        first = par.tree_home[par.force_sort[k, at.ForceSort.BODY_I]]
        second = par.tree_home[par.force_sort[k, at.ForceSort.BODY_J]]
        x = load3(tie, Tie.FIRST_ARM)
        y = load3(tie, Tie.SECOND_ARM)
        d = load3(tie, Tie.GAP)
        moved_x, quicker_x = change_point(x, load3(par.tree_nodes[first], Node.SPIN), par.tree_change[first])
        moved_y, quicker_y = change_point(y, load3(par.tree_nodes[second], Node.SPIN), par.tree_change[second])
        gap = subtract(moved_y, moved_x)
        tension = dot(load3(tie, Tie.BY_GAP), gap)
        tension += dot(load3(tie, Tie.BY_VELOCITY), subtract(quicker_y, quicker_x))
        force = scaled(tie[Tie.TENSION], d)
        change = add(scaled(tension, d), scaled(tie[Tie.TENSION], gap))
        pull_node(par.tree_nodes[first], par.tree_change[first], x, scaled(-1.0, force), scaled(-1.0, change))
        pull_node(par.tree_nodes[second], par.tree_change[second], y, force, change)
    change_particles(par)
    if has_loops():
        change_twists(par)


def change_point(arm, w, change):
    """Changes of the place and of the velocity of a point on an arm."""
    phi = load3(change, Change.TURN)
    turned = cross(phi, arm)
    swung = add(cross(load3(change, Change.SPIN), arm), cross(w, turned))
    return add(load3(change, Change.MOVE), turned), add(load3(change, Change.SPEED), swung)


def pull_node(n, change, arm, against, change_against):
    """Add the change of minus a force at an arm that turns with the node."""
    torque = add(cross(cross(load3(change, Change.TURN), arm), against), cross(arm, change_against))
    add3(n, Node.APPLIED, change_against)
    add3(n, Node.APPLIED + 3, torque)


def changes_of_joint(k, par):
    """The changes of the nodes I and J of joint k."""
    joint = par.tree_joints[k]
    return par.tree_change[joint[JointPlace.PARENT]], par.tree_change[joint[JointPlace.CHILD]]


def change_twists(par):
    """The change of tau a where a joint closes a loop, against the parent and on the child."""
    for k in range(par.tree_joints.shape[0]):
        if par.tree_joints[k, JointPlace.CLOSES] >= 0 and par.link[k, at.Link.TORSION] >= 0:
            twist = par.tree_twists[k]
            n, m = ends_of_joint(k, par)
            of_n, of_m = changes_of_joint(k, par)
            axis, spin = axis_of(k, par)
            axis_change = cross(load3(of_n, Change.TURN), axis)
            turn = subtract(load3(of_m, Change.TURN), load3(of_n, Change.TURN))
            spin_change = subtract(load3(of_m, Change.SPIN), load3(of_n, Change.SPIN))
            quicker = dot(axis_change, spin) + dot(axis, spin_change)
            torque = -twist[Twist.STIFFNESS] * dot(axis, turn) - twist[Twist.DAMPING] * quicker
            change = add(scaled(torque, axis), scaled(twist[Twist.TORQUE], axis_change))
            add3(n, Node.APPLIED + 3, change)
            add3(m, Node.APPLIED + 3, scaled(-1.0, change))
