"""Where the nodes of a tree of elementary joints are and how they move, from the ground outward.

Velocities x_i = (v_i, omega_i) of the centre of node i follow from those of its parent and its own rates u: x_i = X x_p + S u,
xdot_i = X xdot_p + S udot + c, in space axes; X = [[1, -hat(arm)], [0, 1]], its last block 0 where the rates are absolute.
par.tree_nodes has a row of scratch for each node, the ground first.
"""

from ....geometry.quaternion import load4, normalised_rotation, product, store4, with_vector
from ....geometry.vectors import ZERO, add, add3, column, cross, load3, load9, scaled, store3, store9, subtract, times
from ....kernels import elementary as math
from ....kernels.marks import Record, within
from ..director_form.clock import set_time
from ..director_form.rows import has_drives
from ..layout import Signal

SINGLE, BALL, TRANSLATION = 0, 1, 2  # kinds of nodes; a weld is a SINGLE without a coordinate


class Link(Record):
    """par.tree_links[i]: integers of node i; -1: there is none."""

    PARENT = 1
    KIND = 1
    COORDINATE = 1  # place in z
    RATE = 1  # place in z
    IMAGE = 1  # place in z
    SHIFT = 1  # place in z
    DRIVEN = 1  # its coordinate is this function of the time


class Place(Record):
    """par.tree_places: places in z; -1: nowhere."""

    TIME = 1
    WORK = 1  # of dampers; that of loads comes next
    CHART = 1  # which rows of loops are kept, and which coordinates are solved for


class Data(Record):
    """par.tree_data[i]: numbers of node i."""

    PARENT_POINT = 3
    CHILD_POINT = 3
    AXIS = 3
    TURN = 1
    ADVANCE = 1
    MASS = 1
    MOMENTS = 3
    HELD = 3


class Node(Record):
    """par.tree_nodes[i]: node i in motion."""

    POSITION = 3
    ORIENTATION = 4
    AXES = 9  # Q
    VELOCITY = 3
    SPIN = 3
    ARM = 3
    C = 6
    S = 18  # S_k, six numbers each
    P = 36  # 6 x 6
    APPLIED = 6  # p without what children add
    TAU = 3  # behind APPLIED, so that both are cleared and kept together
    BIAS = 6
    U = 18
    INVERSE = 9  # D^-1, 3 x 3
    E = 3
    UDOT = 3
    XDOT = 6
    HANDED = 36  # 6 x 6


ACTING = Node.BIAS - Node.APPLIED  # numbers of APPLIED and TAU


@within
def clear(row, at, count):
    """So many numbers of a row, from `at` on, become 0."""
    for k in range(at, at + count):
        row[k] = 0.0


@within
def copy(row, at, to, place, count):
    """So many numbers of a row, from `at` on, are written into another one, from `place` on."""
    for k in range(count):
        to[place + k] = row[at + k]


@within
def store6(row, at, u, v):
    """Put two vectors into a row."""
    store3(row, at, u)
    store3(row, at + 3, v)


@within
def sum6(start, f, row, at, other, place):
    """start + f a . b for six numbers each that stand in two rows, added up from the left."""
    for k in range(6):
        start += f * row[at + k] * other[place + k]
    return start


@within
def add6(row, at, f, other, place):
    """Add f times six numbers of another row to what stands in a row."""
    for k in range(6):
        row[at + k] += f * other[place + k]


@within
def joint_at(i, par):
    """Of node i: its integers, the node, and the one that carries it."""
    link = par.tree_links[i]
    return link, par.tree_nodes[i], par.tree_nodes[link[Link.PARENT]]


@within
def hands_on(link):
    """1 where a node turns with the one that carries it, and hands torques on to that; 0 for a ball, whose rates are absolute."""
    return 0.0 if link[Link.KIND] == BALL else 1.0


@within
def turn_from(n, data, at):
    """In space, a vector of a node that stands in a row from `at` on."""
    return times(load9(n, Node.AXES), load3(data, at))


def freedoms(link):
    """Number of rates of a node; as branches, for loops over three are unrolled."""
    if link[Link.KIND] != SINGLE:
        return 3
    return 1 if link[Link.RATE] >= 0 else 0


def number_at(z, place):
    """What stands at a place of z; 0 where it stands nowhere."""
    return z[place] if place >= 0 else 0.0


def time_of(z, par):
    """The time that stands in z; 0 where nothing depends on it."""
    return number_at(z, par.tree_places[Place.TIME])


def orient(n, q):
    """Set the orientation of a node."""
    store4(n, Node.ORIENTATION, q)
    store9(n, Node.AXES, normalised_rotation(q))


def place_nodes(z, par):
    """Positions, velocities, S and c of all nodes, from the ground outward, at the time that stands in z."""
    set_time(time_of(z, par), par)
    for i in range(1, par.tree_links.shape[0]):
        link, n, above = joint_at(i, par)
        data = par.tree_data[i]
        if link[Link.KIND] == TRANSLATION:
            # massless, along the axes of space: all else stays as `tables` has it
            store3(n, Node.POSITION, load3(z, link[Link.COORDINATE]))
            store3(n, Node.VELOCITY, load3(z, link[Link.RATE]))
        elif link[Link.KIND] == BALL:
            place_ball(z, link, data, n, above)
        else:
            place_single(z, link, data, n, above, par)


def place_ball(z, link, data, n, above):
    """The orientation is absolute, the rates are the angular velocity in the body."""
    orient(n, load4(z, link[Link.COORDINATE]))
    p = turn_from(above, data, Data.PARENT_POINT)
    b = turn_from(n, data, Data.CHILD_POINT)
    set_motion(n, above, p, b, turn_from(n, z, link[Link.RATE]))
    store3(n, Node.ARM, p)
    for k in range(3):
        d = column(load9(n, Node.AXES), k)
        free = 1.0 - data[Data.HELD + k]
        store6(n, Node.S + 6 * k, scaled(free, cross(b, d)), scaled(free, d))


def set_motion(n, above, p, b, w):
    """r, v, omega and the centripetal part of c, for the arms p in the parent and b in the node."""
    o = load3(above, Node.SPIN)
    f = cross(o, p)
    g = cross(w, b)
    store3(n, Node.POSITION, add(load3(above, Node.POSITION), subtract(p, b)))
    store3(n, Node.SPIN, w)
    store3(n, Node.VELOCITY, add(load3(above, Node.VELOCITY), subtract(f, g)))
    store6(n, Node.C, subtract(cross(o, f), cross(w, g)), ZERO)


def place_single(z, link, data, n, above, par):
    """A hinge, a slide, a screw or a weld: turn * x about the axis, advance * x along it."""
    x = number_at(z, link[Link.COORDINATE])
    rate = number_at(z, link[Link.RATE])
    push = 0.0
    if has_drives() and link[Link.DRIVEN] >= 0:
        x = par.signal[link[Link.DRIVEN], Signal.VALUE]
        rate = par.signal[link[Link.DRIVEN], Signal.SLOPE]
        push = par.signal[link[Link.DRIVEN], Signal.CURVATURE]
    turn = data[Data.TURN]
    advance = data[Data.ADVANCE]
    half = 0.5 * turn * x
    about = with_vector(math.cos(half), scaled(math.sin(half), load3(data, Data.AXIS)))
    q = product(load4(above, Node.ORIENTATION), about)
    if link[Link.IMAGE] >= 0:
        q = product(q, load4(z, link[Link.IMAGE]))
    orient(n, q)
    d = turn_from(above, data, Data.AXIS)
    b = turn_from(n, data, Data.CHILD_POINT)
    along = advance * x
    if link[Link.SHIFT] >= 0:
        along += z[link[Link.SHIFT]]
    p = add(turn_from(above, data, Data.PARENT_POINT), scaled(along, d))
    spin = turn * rate
    speed = advance * rate
    o = load3(above, Node.SPIN)
    set_motion(n, above, p, b, add(o, scaled(spin, d)))
    store3(n, Node.ARM, subtract(p, b))
    add3(n, Node.VELOCITY, scaled(speed, d))
    # zeta = omega_p x n thetadot; Coriolis 2 omega_p x n xdot
    y = cross(o, d)
    add3(n, Node.C, subtract(scaled(2.0 * speed, y), scaled(spin, cross(y, b))))
    store3(n, Node.C + 3, scaled(spin, y))
    store6(n, Node.S, subtract(scaled(advance, d), scaled(turn, cross(d, b))), scaled(turn, d))
    if has_drives():
        add6(n, Node.C, push, n, Node.S)
