"""Kernels of a tree of hinges, ball joints and rigid joints in the increments of its joints, which leave no multipliers.

Unknowns of a step: t = 2 tan(angle/2) of a hinge, the Cayley vector (in space) of the child of a ball joint, displacement and Cayley vector
of a body that no joint carries. Outwards along the tree they give the end of the step:

    hinge: c = c_p o t N0,     a o b = (a + b + a x b/2)/(1 - a.b/4),     dr = dr_p + c_p x abar - c x bbar

with N0 the axis at the start of the step, abar and bbar the mean arms from the centres of parent and child to the joint; nothing
is a difference of positions, so no digit is lost [nielsen2013].
"""

from ....geometry.quaternion import rotation, turn_right
from ....geometry.vectors import (
    ZERO,
    add,
    add3,
    clear,
    cross,
    dot,
    largest,
    load3,
    negative,
    scaled,
    store3,
    store9,
    subtract,
    times,
    transposed_times,
)
from ....kernels import summation
from ....kernels.marks import inline, optional, within
from ....kernels.views import OK, SINGULAR, STEP_TOO_LONG
from ..layout import EQUATIONS, TABLE, Joint, Link, Node, Scratch, Space, Sweep, Tree
from .clock import set_time, time_place
from .recursion_elimination import clear_table, free_ball, free_body, free_hinge
from .recursion_levels import end_velocity_of_rates
from .recursion_tables import add_body, add_to_parent, joint_equations, mean_at, particles_push, spread
from .rows import axes, both_levels, to_body, to_space
from .steps import (
    LARGEST_TURN,
    act_on_particles,
    begin_particles,
    cayley_change,
    fall,
    forget_worst,
    set_body,
    set_moved,
    set_turned,
)

ROUNDED = 2.0**-53  # of turns, and to the size of positions: states cannot tell them
FALLING = 0.05  # corrections that fall by less want new derivatives
FOUND = 2.0**-50  # relative: a correction to come that no longer changes what particles do
SETTLING = 2.0**-6  # of what rounding does to the directions of a joint, taken back in each step


@optional
def angles_part(z, par):
    """Set the angles of the joints, if they matter."""


@within
def begin(z, h, par, x):
    """Prepare a step from z: the bodies, the arms and the axes at its start."""
    angles_part(z, par)
    set_time(z[time_place(par)] + 0.5 * h, par)
    clear(par.scratch[Scratch.FACTORED :], Scratch.SCALE - Scratch.FACTORED)
    for place in range(par.mass.shape[0]):
        i = par.tree[place, Tree.ORDER]
        set_body(z, h, i, par)
        k = par.tree[i, Tree.CARRIER]
        if k >= 0:
            set_arms(par.node[0], i, par.link[k, Link.PARENT], par.joint[k], 0, par.sweep[i])
    begin_particles(z, h, par)


@within
def set_arms(node, i, parent, joint, end, own):
    """Arms and axis of the joint that carries body i, at the start (end = 0) or the end (3) of the step."""
    q = axes(node[parent])
    store3(own, Sweep.PARENT_ARM_START + end, times(q, load3(joint, Joint.PARENT_POINT)))
    store3(own, Sweep.AXIS_START + end, times(q, load3(joint, Joint.TRIAD)))
    store3(own, Sweep.CHILD_ARM_START + end, to_space(node[i], load3(joint, Joint.CHILD_POINT)))


@within
def compose(a, b):
    """a o b: the Cayley vector of the turn b, then a."""
    k = 1.0 / (1.0 - 0.25 * dot(a, b))
    return scaled(k, add(add(a, b), scaled(0.5, cross(a, b))))


def guess(par, x):
    """x of a motion without forces: what the joints do at the start of the step, times the step."""
    clear(par.scratch[Scratch.FACTORED :], Scratch.SCALE - Scratch.FACTORED)
    levels = 1 + both_levels()
    for i in range(par.mass.shape[0]):
        freedom = par.tree[i, Tree.FREEDOM]
        a = par.node[0, i]
        spin = to_space(a, load3(a, Node.SPIN))
        for level in range(levels):
            at = par.tree[i, Tree.UNKNOWN] + level * (x.shape[0] // levels)
            if freedom == 6:
                store3(x, at, load3(a, Node.VELOCITY))
                store3(x, at + 3, spin)
            elif freedom == 3:
                store3(x, at, spin)
            elif freedom == 1:
                b = par.node[0, par.link[par.tree[i, Tree.CARRIER], Link.PARENT]]
                relative = subtract(spin, to_space(b, load3(b, Node.SPIN)))
                x[at] = dot(load3(par.sweep[i], Sweep.AXIS_START), relative)


@within
def outwards(par, x):
    """The end of the step: turns, directors, displacements, arms, axes and velocities, from the joints' increments x.

    Returns the largest turn of a body or displacement of one that no joint carries.
    """
    motion = 0.0
    for place in range(par.mass.shape[0]):
        i = par.tree[place, Tree.ORDER]
        at = par.tree[i, Tree.UNKNOWN]
        freedom = par.tree[i, Tree.FREEDOM]
        k = par.tree[i, Tree.CARRIER]
        a, b = par.node[0, i], par.node[1, i]
        own = par.sweep[i]
        parent = par.link[k, Link.PARENT] if k >= 0 else -1
        above = load3(par.sweep[parent], Sweep.SPACE_TURN)
        c = above
        if freedom == 1:
            c = compose(above, scaled(x[at], load3(own, Sweep.AXIS_START)))
        elif freedom == 3:
            c = load3(x, at)
        elif freedom == 6:
            c = load3(x, at + 3)
            store3(b, Node.MOVE, load3(x, at))
        store3(own, Sweep.SPACE_TURN, c)
        turn = to_body(a, c)
        store3(b, Node.TURN, turn)
        motion = max(motion, largest(turn))
        set_turned(a, turn, b)
        if k >= 0:
            set_arms(par.node[1], i, parent, par.joint[k], 3, own)
            swung = cross(above, mean_at(own, Sweep.PARENT_ARM_START))
            back = cross(c, mean_at(own, Sweep.CHILD_ARM_START))
            store3(b, Node.MOVE, subtract(add(load3(par.node[1, parent], Node.MOVE), swung), back))
        else:
            motion = max(motion, largest(load3(b, Node.MOVE)))
        set_moved(a, b)
        if both_levels():
            end_velocity_of_rates(i, x, par)
    return motion


def correct(z, h, par, x):
    """One Newton correction of x in place; its size, relative to the motion in the step, or -1 if there is none.

    Derivatives are kept as long as the corrections fall fast with them. Those of what particles do are left out: it is found anew until it
    stays the same.
    """
    n = par.mass.shape[0]
    scratch = par.scratch
    fresh = scratch[Scratch.FACTORED] == 0.0
    motion = outwards(par, x)
    known = particles_push() == 0 or scratch[Scratch.SETTLED] == 1.0
    if not known:
        act_on_particles(z, h, par)
    forget_worst(par)
    if inwards(h, z[time_place(par)], x, par, fresh) != 0:
        return -1.0
    if fresh:  # the motion in the step, or a fall
        scratch[Scratch.SCALE] = max(motion, fall(h, par))
    most = 0.0
    noise = True
    for place in range(n):
        i = par.tree[place, Tree.ORDER]
        spread(i, x, par)
        twisted, moved = correction_of(i, par)
        if not twisted + moved <= most:
            most = twisted + moved
        if twisted > ROUNDED or (moved > 0.0 and moved > ROUNDED * reach_of(i, par)):
            noise = False
    if not most < 1e300:
        return -1.0
    scratch[Scratch.ENDED] = 1.0
    if most == 0.0 or (known and noise):  # a correction within rounding is the last, unless a part of each is left
        return 0.0
    # from rest nothing else tells how far forces will move it
    scratch[Scratch.SCALE] = max(scratch[Scratch.SCALE], most)
    change = most / scratch[Scratch.SCALE]
    last = scratch[Scratch.LAST_CHANGE]
    scratch[Scratch.FACTORED] = 1.0 if fresh or change <= FALLING * last else 0.0
    if last > 0.0 and change * change <= FOUND * last:
        scratch[Scratch.SETTLED] = 1.0
    scratch[Scratch.LAST_CHANGE] = change
    return change


@within
def end_body(i, par):
    """The end of body i with its last correction, in its own numbers.

    From the increments of the joints it would be as good as those are rounded: the first ones move all that hangs on them, and their
    last digits, times its mass and its length, are far more than rounding of the momenta.
    """
    own = par.sweep[i]
    a, b = par.node[0, i], par.node[1, i]
    turn = load3(own, Sweep.CHANGE + 3)
    if both_levels():
        w = to_space(b, load3(b, Node.SPIN))
        add3(b, Node.VELOCITY, load3(own, Sweep.CHANGE + 6))
        add3(b, Node.SPIN, to_body(b, add(load3(own, Sweep.CHANGE + 9), cross(w, turn))))
    turn = cayley_change(negative(load3(own, Sweep.SPACE_TURN)), turn)
    add3(b, Node.TURN, to_body(a, turn))
    add3(b, Node.MOVE, load3(own, Sweep.CHANGE))
    set_turned(a, load3(b, Node.TURN), b)
    set_moved(a, b)


@within
def correction_of(i, par):
    """How much body i is corrected: turn, and displacement if no joint carries it; both with what they are in velocities."""
    own = par.sweep[i]
    twisted = 0.0
    moved = 0.0
    for level in range(0, 6 + 6 * both_levels(), 6):
        for l in range(3):
            twisted += abs(own[Sweep.CHANGE + level + 3 + l])
            # displacements of the others follow, at the end of a chain with much rounding
            if par.tree[i, Tree.CARRIER] < 0:
                moved += abs(own[Sweep.CHANGE + level + l])
    return twisted, moved


@within
def reach_of(i, par):
    """The size of the position of body i, or the longest arm: what its displacements are rounded to."""
    return max(par.space[Space.ARM], largest(load3(par.node[0, i], Node.POSITION)))


@inline
def inwards(h, time, x, par, fresh):
    """Eliminate all joints, leaves first; 0, or 1 if one has no correction."""
    rows = 6 + 6 * both_levels()
    for turn in range(par.mass.shape[0] - 1, -1, -1):
        i = par.tree[turn, Tree.ORDER]
        k = par.tree[i, Tree.CARRIER]
        own = par.sweep[i]
        table = par.table[par.tree[i, Tree.PLACE]]
        freedom = par.tree[i, Tree.FREEDOM]
        add_body(i, h, time, par, table, fresh)
        status = 0
        if k < 0:
            status = free_body(own, table, rows, par.own[i], par.block, fresh)
        else:
            joint_equations(i, k, h, x, par, table, fresh)
            if freedom == 1:
                equations = par.scratch[Scratch.EQUATIONS : Scratch.EQUATIONS + EQUATIONS]
                status = free_hinge(own, table, rows, equations, fresh)
            elif freedom == 3:
                status = free_ball(own, table, rows, fresh)
            parent = par.link[k, Link.PARENT]
            if parent >= 0:
                add_to_parent(i, k, par, table, par.table[par.tree[parent, Tree.PLACE]], fresh)
        clear_table(table, rows, fresh)
        if status != 0:
            for place in range(par.table.shape[0]):
                clear(par.table[place], TABLE)
            return 1
    return 0


def place_end(z, h, par, x):
    """`steps.place_end`, with the last correction of the bodies themselves."""
    if par.scratch[Scratch.ENDED] == 0.0 and correct(z, h, par, x) < 0.0:  # a root, but not found right before
        return SINGULAR
    for i in range(par.mass.shape[0]):
        end_body(i, par)
        c = load3(par.node[1, i], Node.TURN)
        if not dot(c, c) <= LARGEST_TURN:
            return STEP_TOO_LONG
    return OK


def move_body(z, e, i, par):
    """`steps.move_body`: where its joint holds it; a little of what rounding did to the directions of the joint is taken back."""
    n = par.mass.shape[0]
    b = par.node[1, i]
    store9(b, Node.DIRECTORS, rotation(z[3 * n + 4 * i : 3 * n + 4 * i + 4]))
    k = par.tree[i, Tree.CARRIER]
    if k < 0:
        summation.add3(z, e, 3 * i, load3(b, Node.MOVE))
        return
    parent = par.link[k, Link.PARENT]
    joint = par.joint[k]
    freedom = par.tree[i, Tree.FREEDOM]
    own = axes(b)
    above = axes(par.node[1, parent])
    if freedom < 3:
        image = rotation(z[13 * n + 4 * k : 13 * n + 4 * k + 4])
        turn = misalignment(own, above, image, load3(joint, Joint.TRIAD))
        if freedom == 0:
            turn = add(turn, misalignment(own, above, image, load3(joint, Joint.TRIAD + 3)))
        turn = scaled(0.5 * SETTLING, transposed_times(own, turn))
        first = 3 * n + 4 * i
        turn_right(z[first : first + 4], e[first : first + 4], 0.0, turn[0], turn[1], turn[2])
    r = load3(z, 3 * parent) if parent >= 0 else ZERO
    arm = times(above, load3(joint, Joint.PARENT_POINT))
    store3(z, 3 * i, subtract(add(r, arm), times(own, load3(joint, Joint.CHILD_POINT))))
    store3(e, 3 * i, ZERO)


def misalignment(own, above, image, d):
    """The turn in space that brings the image of a direction d of the joint in the child to the direction in the parent."""
    return cross(times(own, transposed_times(image, d)), times(above, d))
