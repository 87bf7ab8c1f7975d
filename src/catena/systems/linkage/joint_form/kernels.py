"""Accelerations of linked bodies in the coordinates of their joints, by articulated-body inertias [featherstone1983].

Gauss's principle for the whole tree [kneller1994] is solved from the tips inward and back, x = X x_p + S u as in `motion`:

    U = P S,  D = S^T U,  e = tau - S^T p,   P_p += X^T (P - U D^-1 U^T) X,   p_p += X^T (p + P c + U D^-1 (e - U^T c))
    udot = D^-1 (e - U^T t),  xdot = t + S udot,  t = X xdot_p + c

P begins as the inertia of the node and p as (-m g - f, omega x I omega - torque).
"""

from ....geometry.quaternion import load4, product, store4, with_vector
from ....geometry.vectors import add, add3, add_down, cross, load3, load9, load_down, scaled, store3, tensor, times
from ....kernels.marks import optional
from ..director_form.clock import gravity_now
from .motion import BALL, Data, Link, Node, add6, clear, copy, freedoms, hands_on, joint_at, place_nodes, store6, sum6


@optional
def apply_forces(z, par):
    """Add what acts on the nodes besides their weight to APPLIED and TAU."""


@optional
def hold_loops(z, par):
    """Add the forces that hold closed loops to APPLIED, then `respond` to all."""
    respond(par, 1.0)


def weigh_nodes(g, par):
    """Own inertia P and own part of p (weight, by the gravity g, and gyroscopic torque) of all nodes; TAU = 0."""
    for i in range(par.tree_links.shape[0]):
        data = par.tree_data[i]
        n = par.tree_nodes[i]
        clear(n, Node.P, 36)
        inertia = tensor(load9(n, Node.AXES), load3(data, Data.MOMENTS))
        for k in range(3):
            n[Node.P + 7 * k] = data[Data.MASS]
            for l in range(3):
                n[Node.P + 21 + 6 * k + l] = inertia[3 * k + l]
        w = load3(n, Node.SPIN)
        clear(n, Node.TAU, 3)
        store6(n, Node.APPLIED, scaled(-data[Data.MASS], g), cross(w, times(inertia, w)))


def along(n, k, l):
    """S_k . U_l."""
    return sum6(0.0, 1.0, n, Node.S + 6 * k, n, Node.U + 6 * l)


def times_inverse(n, f, k, at):
    """Row k of D^-1 times the f numbers of a node that stand there."""
    total = 0.0
    for l in range(f):
        total += n[Node.INVERSE + 3 * k + l] * n[at + l]
    return total


def invert_three(n, data):
    """INVERSE = D^-1 for D = S^T U of a node with three rates, by D = L diag L^T; a rate that does not exist gets 1."""
    d11 = along(n, 0, 0) if data[Data.HELD] != 1.0 else 1.0
    d22 = along(n, 1, 1) if data[Data.HELD + 1] != 1.0 else 1.0
    d33 = along(n, 2, 2) if data[Data.HELD + 2] != 1.0 else 1.0
    d21 = along(n, 1, 0)
    d31 = along(n, 2, 0)
    d32 = along(n, 2, 1)
    l21 = d21 / d11
    l31 = d31 / d11
    g2 = d22 - l21 * d21
    l32 = (d32 - l31 * d21) / g2
    g3 = d33 - l31 * d31 - l32 * l32 * g2
    # rows of L^-1
    m31 = l32 * l21 - l31
    i21 = -l21 / g2 - m31 * l32 / g3
    i31 = m31 / g3
    i32 = -l32 / g3
    store3(n, Node.INVERSE, (1.0 / d11 + l21 * l21 / g2 + m31 * m31 / g3, i21, i31))
    store3(n, Node.INVERSE + 3, (i21, 1.0 / g2 + l32 * l32 / g3, i32))
    store3(n, Node.INVERSE + 6, (i31, i32, 1.0 / g3))


def gather_node(i, par):
    """U and D^-1 of a node whose children have handed on their inertia; its own is handed on to its parent."""
    link, n, above = joint_at(i, par)
    f = freedoms(link)
    for k in range(f):
        for a in range(6):
            n[Node.U + 6 * k + a] = sum6(0.0, 1.0, n, Node.P + 6 * a, n, Node.S + 6 * k)
    if f == 1:
        n[Node.INVERSE] = 1.0 / along(n, 0, 0)
    if f == 3:
        invert_three(n, par.tree_data[i])
    if link[Link.PARENT] > 0:
        hand_inward(n, above, f, hands_on(link))


def hand_inward(n, above, f, turns):
    """P_p += X^T (P - U D^-1 U^T) X, X = [[1, -hat(arm)], [0, turns]]."""
    arm = load3(n, Node.ARM)
    for a in range(6):
        row = n[Node.HANDED + 6 * a : Node.HANDED + 6 * a + 6]
        copy(n, Node.P + 6 * a, row, 0, 6)
        for k in range(f):
            share = 0.0
            for l in range(f):
                share += n[Node.U + 6 * l + a] * n[Node.INVERSE + 3 * l + k]
            add6(row, 0, -share, n, Node.U + 6 * k)
        store3(row, 3, hand_on(arm, load3(row, 0), turns, load3(row, 3)))
    for b in range(6):
        force = load_down(n, Node.HANDED + b, 6)
        add_down(above, Node.P + b, 6, force)
        add_down(above, Node.P + 18 + b, 6, hand_on(arm, force, turns, load_down(n, Node.HANDED + 18 + b, 6)))


def hand_on(arm, force, turns, torque):
    """The torque about the centre of the parent: that of the force, and the own one if the joint hands it on."""
    return add(cross(arm, force), scaled(turns, torque))


def hand_bias(i, at, par):
    """Add the wrench at `at` of node i to BIAS of its parent, about the centre of the parent."""
    link, n, above = joint_at(i, par)
    if link[Link.PARENT] > 0:
        force = load3(n, at)
        add3(above, Node.BIAS, force)
        add3(above, Node.BIAS + 3, hand_on(load3(n, Node.ARM), force, hands_on(link), load3(n, at + 3)))


def begin_bias(par):
    """BIAS of all nodes: APPLIED, to which the nodes farther out will add."""
    for i in range(1, par.tree_links.shape[0]):
        copy(par.tree_nodes[i], Node.APPLIED, par.tree_nodes[i], Node.BIAS, 6)


def gather_drive(i, par):
    """E = TAU - S^T BIAS along the freedoms of a joint."""
    n = par.tree_nodes[i]
    for k in range(freedoms(par.tree_links[i])):
        n[Node.E + k] = sum6(n[Node.TAU + k], -1.0, n, Node.S + 6 * k, n, Node.BIAS)


def respond(par, moving):
    """udot and xdot of all nodes under APPLIED and TAU, with (moving = 1) or without (0) the part c of the motion itself."""
    begin_bias(par)
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        gather_drive(i, par)
        if par.tree_links[i, Link.PARENT] > 0:
            push_inward(par.tree_nodes[i], freedoms(par.tree_links[i]), moving)
            hand_bias(i, Node.XDOT, par)
    for i in range(1, par.tree_links.shape[0]):
        follow(i, moving, par)


def push_inward(n, f, moving):
    """p + P c + U D^-1 (e - U^T c) to XDOT, for the parent."""
    for k in range(f):
        n[Node.UDOT + k] = sum6(n[Node.E + k], -moving, n, Node.U + 6 * k, n, Node.C)
    for a in range(6):
        n[Node.XDOT + a] = sum6(n[Node.BIAS + a], moving, n, Node.P + 6 * a, n, Node.C)
    for k in range(f):
        add6(n, Node.XDOT, times_inverse(n, f, k, Node.UDOT), n, Node.U + 6 * k)


def follow(i, moving, par):
    """udot = D^-1 (e - U^T t), xdot = t + S udot, t = X xdot_p + c."""
    link, n, above = joint_at(i, par)
    f = freedoms(link)
    turning = load3(above, Node.XDOT + 3)
    t = add(load3(above, Node.XDOT), cross(turning, load3(n, Node.ARM)))
    store3(n, Node.XDOT, add(t, scaled(moving, load3(n, Node.C))))
    store3(n, Node.XDOT + 3, add(scaled(hands_on(link), turning), scaled(moving, load3(n, Node.C + 3))))
    for k in range(f):
        n[Node.E + k] = sum6(n[Node.E + k], -1.0, n, Node.U + 6 * k, n, Node.XDOT)
    for k in range(f):
        n[Node.UDOT + k] = times_inverse(n, f, k, Node.E)
        add6(n, Node.XDOT, n[Node.UDOT + k], n, Node.S + 6 * k)


def accelerate(z, par):
    """Positions, velocities and accelerations of all nodes."""
    place_nodes(z, par)
    weigh_nodes(gravity_now(par), par)
    apply_forces(z, par)
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        gather_node(i, par)
    hold_loops(z, par)


def articulated_field(z, par, out):
    """Rates of the coordinates and of the rates; images and shifts stay."""
    accelerate(z, par)
    clear(out, 0, out.shape[0])
    for i in range(1, par.tree_links.shape[0]):
        link, n, _ = joint_at(i, par)
        at = link[Link.COORDINATE]
        rate = link[Link.RATE]
        copy(n, Node.UDOT, out, rate, freedoms(link))
        if link[Link.KIND] == BALL:
            store4(out, at, product(load4(z, at), with_vector(0.0, scaled(0.5, load3(z, rate)))))
        else:
            copy(z, rate, out, at, freedoms(link))
    carry_along(z, par, out)


@optional
def carry_along(z, par, out):
    """Rates of what is stepped besides the tree: the time, the angles of joints that close loops."""


def articulated_field_end(b, par):
    """Places in z where a field ends."""
    return par.field_ends[b]
