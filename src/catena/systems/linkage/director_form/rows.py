"""Kernels of one joint: its rows, and what its multipliers do to its two bodies.

All rows are written in invariants of the relative motion of parent I and child J, so that multipliers conserve momentum:

    s_kl = q_k^I . q_l^J,    g_k = q_k^I . D,    D = r_J - r_I,    E = V_J - V_I
    Phi  = sum_kl x_k y_l s_kl  [+ x . g]  [+ q_a^J . D]  + constant
    f    = dPhi/dt = sum_kl s_kl ((W_I x x)_k y_l [+ x_k (W_J x y)_l])  [+ (W_I x x) . g + sum_k x_k q_k^I . E]
                     [+ q_a^J . E + (W_J x Y)_a]

and for the distance of two points, d = D + Q_J y - Q_I x, at most quadratic in invariants, too:

    Phi  = (d.d - l^2)/(2 l),    d.d = D.D + 2 sum_l y_l q_l^J.D - 2 x.g - 2 sum_kl x_k y_l s_kl + constant
    f    = (D.E + sum_l (y_l q_l^J.E + (W_J x y)_l q_l^J.D) - sum_k (x_k q_k^I.E + (W_I x x)_k g_k)
            - sum_kl s_kl (x_k (W_J x y)_l + (W_I x x)_k y_l))/l

with the terms of planes, of points and of all but points in brackets; V and W are velocities (body angular velocities) times the
step. The point rows stand in the axes of the child, and their f uses that the points meet: f must be invariant under
rotations, or the step loses angular momentum. Discrete derivatives are those of products: d(w s) = wbar ds + sbar dw with
ds = Abar.dB + Bbar.dA, where sbar is the mean of the end values of s [gonzalez1999].

A pair of bodies at one node is a `Pair`.
"""

from ....geometry.vectors import (
    ZERO,
    add,
    add3,
    clear,
    cross,
    dot,
    load3,
    load9,
    mean,
    negative,
    scaled,
    store3,
    store9,
    subtract,
    sum_from,
    times,
    transposed_times,
)
from ....kernels import elementary as math
from ....kernels.marks import choice, within
from ..joints import DISTANCE, PLANE, POINT, SCREW
from ..layout import Coefficients, Joint, Link, Node, Pair, Row, RowSort, Scratch, Values, Wrench


@choice
def has_drives():
    """1 if the motion of a joint is prescribed, else 0; plain Python asks each joint."""
    return 1


@choice
def both_levels():
    """1 if positions and velocities are held, 0 if positions only."""
    return 1


@choice
def has_distances():
    """1 if a joint is a massless rod, else 0."""
    return 0


@choice
def kicks():
    """1 if forces kick at both ends of a step (RATTLE), 0 if they act in its middle."""
    return 0


@choice
def phase():
    """Of RATTLE: 0 in the equations of the positions, whose multipliers and forces act at the start; 1 in those of the velocities, at the end."""
    return 0


def axes(own):
    """The directors of a node, nine numbers row by row."""
    return load9(own, Node.DIRECTORS)


@within
def to_space(own, v):
    """Q v: a vector of the body of a node, in space."""
    return times(axes(own), v)


@within
def to_body(own, v):
    """Q^T v, the other way."""
    return transposed_times(axes(own), v)


def mean_to_space(a, b, v):
    """The mean of the directors at two nodes of a body, times a vector of the body."""
    return mean(to_space(a, v), to_space(b, v))


def pair_at(k, node, par, a):
    """The pair of bodies of joint k at a node, into a; the ground, -1, is the last row of `node`."""
    parent = node[par.link[k, Link.PARENT]]
    child = node[par.link[k, Link.CHILD]]
    store9(a, Pair.PARENT_AXES, axes(parent))
    store9(a, Pair.CHILD_AXES, axes(child))
    store3(a, Pair.GAP, subtract(load3(child, Node.POSITION), load3(parent, Node.POSITION)))
    store3(a, Pair.SPEED, subtract(load3(child, Node.VELOCITY), load3(parent, Node.VELOCITY)))
    store3(a, Pair.PARENT_SPIN, load3(parent, Node.SPIN))
    store3(a, Pair.CHILD_SPIN, load3(child, Node.SPIN))
    products(a)


def pairs_of(k, node, par):
    """The pairs of joint k at a node and at the end of the step, and room for one that is moved."""
    a, b, c = scratch_pairs(par)
    pair_at(k, node, par, a)
    pair_at(k, par.node[1], par, b)
    return a, b, c


def scratch_pairs(par):
    """Room for the pairs at the two nodes, and for one that is moved."""
    scratch = par.scratch
    return (
        scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH],
        scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH],
        scratch[Scratch.PAIR_C : Scratch.PAIR_C + Pair.WIDTH],
    )


def products(a):
    """s and g from the rest."""
    child = load9(a, Pair.CHILD_AXES)
    gap = load3(a, Pair.GAP)
    for k in range(3):
        q = director(a, Pair.PARENT_AXES, k)
        store3(a, Pair.PRODUCTS + 3 * k, transposed_times(child, q))
        a[Pair.ALONG + k] = dot(q, gap)


@within
def director(a, axes, k):
    """Column k of the matrix that stands in a row from `axes` on."""
    return a[axes + k], a[axes + 3 + k], a[axes + 6 + k]


def values_at(k, node, par):
    """Phi (but for the angle of a screw) and f of all rows of joint k at a node, into the scratch VALUES."""
    a, _, _ = scratch_pairs(par)
    pair_at(k, node, par, a)
    values_near(k, a, a, par)


def values_near(k, near, a, par):
    """The same for the pair a, affine in each part of it alone: that of a distance is replaced by its tangent at the pair `near`."""
    joint = par.joint[k]
    first = par.link[k, Link.FIRST_ROW]
    row = par.row[first : par.link[k, Link.END_ROW]]
    sort = par.row_sort[first : par.link[k, Link.END_ROW]]
    phi = par.scratch[Scratch.VALUES + Values.PHI :]
    rate = par.scratch[Scratch.VALUES + Values.RATE :]
    s = load9(a, Pair.PRODUCTS)
    parent_spin = load3(a, Pair.PARENT_SPIN)
    child_spin = load3(a, Pair.CHILD_SPIN)
    speed = load3(a, Pair.SPEED)
    for r in range(row.shape[0]):
        x = load3(row[r], Row.X)
        y = load3(row[r], Row.Y)
        kind = sort[r, RowSort.KIND]
        if has_distances() and kind == DISTANCE:
            phi[r], rate[r] = stretch(x, y, row[r, Row.CONSTANT], near, a)
            continue
        t = times(s, y)
        if kind >= PLANE:
            t = add(t, load3(a, Pair.ALONG))
        prescribed_rate = 0.0
        if has_drives() and sort[r, RowSort.SIGNAL] >= 0:
            x = load3(row[r], Row.PRESCRIBED)
            prescribed_rate = dot(load3(row[r], Row.PRESCRIBED_RATE), t) - row[r, Row.GROWTH]
        value = sum_from(row[r, Row.CONSTANT], x, t)
        change = dot(cross(parent_spin, x), t)
        if has_drives():
            change += prescribed_rate
        if kind == POINT:
            q = director(a, Pair.CHILD_AXES, sort[r, RowSort.POINT_AXIS])
            value += dot(q, load3(a, Pair.GAP))
            change += dot(q, speed)
            change += dot(y, cross(child_spin, load3(joint, Joint.CHILD_POINT)))  # y is e_a
        else:
            change += dot(cross(child_spin, y), transposed_times(s, x))
            if kind >= PLANE:
                change += dot(x, transposed_times(load9(a, Pair.PARENT_AXES), speed))
            if kind == SCREW:
                turn = 0.0
                for l in range(3):
                    turn += joint[Joint.AXIS_IMAGE + l] * child_spin[l] - joint[Joint.TRIAD + l] * parent_spin[l]
                change -= joint[Joint.PITCH] * turn
        phi[r] = value
        rate[r] = change


def stretch(x, y, length, near, a):
    """(|d|^2 - l^2)/(2 l) for the gap d between the points x of I and y of J, and its rate, by their tangents at the pair `near`."""
    d0, v0 = between(x, y, near)
    d, v = between(x, y, a)
    square = 2.0 * dot(d, d0) - dot(d0, d0)
    return (square - length * length) / (2.0 * length), (dot(d, v0) + dot(d0, v) - dot(d0, v0)) / length


def between(x, y, a):
    """The gap between the points x of I and y of J, and its rate."""
    parent = load9(a, Pair.PARENT_AXES)
    child = load9(a, Pair.CHILD_AXES)
    d = subtract(add(load3(a, Pair.GAP), times(child, y)), times(parent, x))
    swung = times(child, cross(load3(a, Pair.CHILD_SPIN), y))
    return d, subtract(add(load3(a, Pair.SPEED), swung), times(parent, cross(load3(a, Pair.PARENT_SPIN), x)))


def wrench_of(k, a, b, lam, par):
    """What the multipliers of joint k do between the nodes a and b: the discrete derivative of lam.(Phi, f), into the scratch OUT.

    lam: one number per row for Phi, then, with both levels, one per row for f. The result is linear in lam and affine in each of
    Q_I, Q_J, D, E, W_I, W_J of b alone. The means of the pairs, and coefficients, stay in the scratch.
    """
    first = par.link[k, Link.FIRST_ROW]
    m = par.link[k, Link.END_ROW] - first
    mean_pair = par.scratch[Scratch.MEAN : Scratch.MEAN + Pair.WIDTH]
    c = par.scratch[Scratch.COEFFICIENTS : Scratch.COEFFICIENTS + Coefficients.WIDTH]
    out = par.scratch[Scratch.OUT : Scratch.OUT + Wrench.WIDTH]
    clear(c, Coefficients.WIDTH)
    for l in range(Pair.WIDTH):
        mean_pair[l] = 0.5 * (a[l] + b[l])
    store3(out, Wrench.ON_PARENT_SPIN, ZERO)
    store3(out, Wrench.ON_CHILD_SPIN, ZERO)
    for r in range(m):
        impulse = 0.0
        if both_levels():
            impulse = lam[m + r]
        if lam[r] != 0.0 or impulse != 0.0:
            row = par.row[first + r]
            sort = par.row_sort[first + r]
            if has_distances() and sort[RowSort.KIND] == DISTANCE:
                add_distance(row, a, b, mean_pair, lam[r], impulse, c, out)
                continue
            add_row(par.joint[k], row, sort, mean_pair, lam[r], impulse, c, out)
    spread(c, mean_pair, out)


def add_row(joint, row, sort, pair, force, impulse, c, out):
    """Add the coefficients of one row, and what it does to the angular velocities."""
    x = load3(row, Row.X)
    y = load3(row, Row.Y)
    kind = sort[RowSort.KIND]
    s = load9(pair, Pair.PRODUCTS)
    f = add(scaled(force, x), scaled(impulse, cross(load3(pair, Pair.PARENT_SPIN), x)))
    if has_drives():
        f = add(f, scaled(impulse, load3(row, Row.X_RATE)))
    t = times(s, y)
    i = scaled(impulse, ZERO)
    if kind == POINT:
        l = sort[RowSort.POINT_AXIS]
        c[Coefficients.CHILD_GAP + l] += force
        c[Coefficients.CHILD_SPEED + l] += impulse
        d = cross(load3(joint, Joint.CHILD_POINT), y)
    else:
        d = cross(y, transposed_times(s, x))
        i = scaled(impulse, cross(load3(pair, Pair.CHILD_SPIN), y))
        if kind >= PLANE:
            t = add(t, load3(pair, Pair.ALONG))
            add3(c, Coefficients.PARENT_GAP, f)
            add3(c, Coefficients.PARENT_SPEED, scaled(impulse, x))
        if kind == SCREW:
            pitch = impulse * joint[Joint.PITCH]
            add3(out, Wrench.ON_PARENT_SPIN, scaled(pitch, load3(joint, Joint.TRIAD)))
            add3(out, Wrench.ON_CHILD_SPIN, negative(scaled(pitch, load3(joint, Joint.AXIS_IMAGE))))
    add3(out, Wrench.ON_PARENT_SPIN, scaled(impulse, cross(x, t)))
    add3(out, Wrench.ON_CHILD_SPIN, scaled(impulse, d))
    for k in range(3):
        add3(c, Coefficients.PRODUCTS + 3 * k, add(scaled(f[k], y), scaled(x[k], i)))


def add_distance(row, a, b, pair, force, impulse, c, out):
    """The same for the distance of two points; the mean of q^J.D is that of its values at the nodes a and b."""
    x = load3(row, Row.X)
    y = load3(row, Row.Y)
    force = force / row[Row.CONSTANT]
    impulse = impulse / row[Row.CONSTANT]
    swung_x = scaled(impulse, cross(load3(pair, Pair.PARENT_SPIN), x))
    swung_y = scaled(impulse, cross(load3(pair, Pair.CHILD_SPIN), y))
    c[Coefficients.STRETCH] += force
    c[Coefficients.DRIFT] += impulse
    add3(c, Coefficients.CHILD_GAP, add(scaled(force, y), swung_y))
    add3(c, Coefficients.PARENT_GAP, negative(add(scaled(force, x), swung_x)))
    add3(c, Coefficients.CHILD_SPEED, scaled(impulse, y))
    add3(c, Coefficients.PARENT_SPEED, scaled(-impulse, x))
    for k in range(3):
        along_y = add(scaled(force * x[k] + swung_x[k], y), scaled(x[k], swung_y))
        add3(c, Coefficients.PRODUCTS + 3 * k, negative(along_y))
    s = load9(pair, Pair.PRODUCTS)
    along = add(
        transposed_times(load9(a, Pair.CHILD_AXES), load3(a, Pair.GAP)),
        transposed_times(load9(b, Pair.CHILD_AXES), load3(b, Pair.GAP)),
    )
    on_child = subtract(scaled(0.5, along), transposed_times(s, x))
    on_parent = negative(add(load3(pair, Pair.ALONG), times(s, y)))
    add3(out, Wrench.ON_CHILD_SPIN, scaled(impulse, cross(y, on_child)))
    add3(out, Wrench.ON_PARENT_SPIN, scaled(impulse, cross(x, on_parent)))


def spread(c, pair, out):
    """Coefficients -> forces and torques on the bodies."""
    parent = load9(pair, Pair.PARENT_AXES)
    child = load9(pair, Pair.CHILD_AXES)
    gap = load3(pair, Pair.GAP)
    speed = load3(pair, Pair.SPEED)
    parent_gap = times(parent, load3(c, Coefficients.PARENT_GAP))
    child_gap = times(child, load3(c, Coefficients.CHILD_GAP))
    parent_speed = times(parent, load3(c, Coefficients.PARENT_SPEED))
    child_speed = times(child, load3(c, Coefficients.CHILD_SPEED))
    t = ZERO
    for k in range(3):
        u = times(child, load3(c, Coefficients.PRODUCTS + 3 * k))
        t = add(t, cross(director(pair, Pair.PARENT_AXES, k), u))
    store3(out, Wrench.ON_GAP, add(parent_gap, child_gap))
    store3(out, Wrench.ON_SPEED, add(parent_speed, child_speed))
    if has_distances():
        add3(out, Wrench.ON_GAP, add(scaled(c[Coefficients.STRETCH], gap), scaled(c[Coefficients.DRIFT], speed)))
        add3(out, Wrench.ON_SPEED, scaled(c[Coefficients.DRIFT], gap))
    store3(out, Wrench.PARENT_TORQUE, add(add(t, cross(parent_gap, gap)), cross(parent_speed, speed)))
    store3(out, Wrench.CHILD_TORQUE, add(add(negative(t), cross(child_gap, gap)), cross(child_speed, speed)))


# The angle about an axis -------------------------------------------------------------------------------------------------


def angle_parts(joint, a):
    """(u, w) = (cos, sin) of the angle of a joint: u = (Q_I b).(Q_J bJ), w = (Q_I c).(Q_J bJ)."""
    t = times(load9(a, Pair.PRODUCTS), load3(joint, Joint.SECOND_IMAGE))
    return dot(load3(joint, Joint.TRIAD + 3), t), dot(load3(joint, Joint.TRIAD + 6), t)


def turn_by(u0, w0, u1, w1):
    """The increment of the angle between two nodes, in (-pi, pi]."""
    return math.atan2(u0 * w1 - u1 * w0, u0 * u1 + w0 * w1)


def angle_torque(joint, a, b, u, w):
    """The torque on I of the discrete derivative of the angle (that on J is opposite), but for d/sin(d); u, w are means.

    D theta = d/sin(d) (u Dw - w Du), since u dw - w du = sin(d) between the nodes.
    """
    second = ZERO
    normal = ZERO
    for l in range(3):
        y = joint[Joint.SECOND_IMAGE + l]
        child = add(director(a, Pair.CHILD_AXES, l), director(b, Pair.CHILD_AXES, l))
        second = add(second, scaled(0.5 * y, child))
        x = u * joint[Joint.TRIAD + 6 + l] - w * joint[Joint.TRIAD + 3 + l]
        parent = add(director(a, Pair.PARENT_AXES, l), director(b, Pair.PARENT_AXES, l))
        normal = add(normal, scaled(0.5 * x, parent))
    return cross(normal, second)
