"""Kernels of joints whose motion is prescribed: one more row of the joint, which changes with the time.

An angle phi(t) is held by sin(theta - phi) = 0, written in directors like any other row, and a displacement by that of a plane:

    Phi = (Q_I x).(Q_J b') = 0,    x(t) = cos(phi) c - sin(phi) b,        Phi = (Q_I a).(gap) - phi(t) = 0

with the directions a (axis), b, c of the joint in the parent and the image b' of b in the child. Conserving steps take the mean of x at both ends
in what the multiplier does, and x at the end in the row that must hold there; steps with half kicks take x at the time of each kick. The work
of the drive is what its multipliers do on the way: between the nodes a and b the change of lambda Phi + gamma f by the bodies' motion, which is
minus that by the time; with half kicks the multiplier times the rate of Phi by t alone at either end, minus the momentum that belongs to t
[hairer2006]. So the energy less the work is kept as it is without drives.
"""

from ....geometry.vectors import ZERO, add, clear, dot, load3, load9, mean, scaled, store3, subtract, times
from ....kernels import elementary as math
from ....kernels import summation
from ..layout import Joint, Link, Node, Pair, Row, RowSort, Scratch, Signal, Values, Wrench
from .clock import set_time, work_place
from .rows import both_levels, has_drives, pair_at, pairs_of, scratch_pairs, to_space, wrench_of


def set_drives(first, last, end, now, h, par):
    """It is `now`; rows of prescribed motions have x as the mean of two times, and what it is to be at a third; rates times h."""
    if has_drives():
        write_prescribed(first, Row.X, Row.X_RATE, h, par)
        write_prescribed(last, Row.PRESCRIBED, Row.PRESCRIBED_RATE, h, par)
        for k in range(par.link.shape[0]):
            if is_driven(k, par):
                row = par.row[par.link[k, Link.FIRST_ROW]]
                store3(row, Row.X, mean(load3(row, Row.X), load3(row, Row.PRESCRIBED)))
                store3(row, Row.X_RATE, mean(load3(row, Row.X_RATE), load3(row, Row.PRESCRIBED_RATE)))
        write_prescribed(end, Row.PRESCRIBED, Row.PRESCRIBED_RATE, h, par)
    set_time(now, par)


def write_prescribed(time, at, rate_at, h, par):
    """x of the rows of prescribed motions at a time, and h times its rate, into these places of the rows; and displacements."""
    set_time(time, par)
    for k in range(par.link.shape[0]):
        if is_driven(k, par):
            first = par.link[k, Link.FIRST_ROW]
            row = par.row[first]
            signal = par.signal[par.row_sort[first, RowSort.SIGNAL]]
            joint = par.joint[k]
            x = load3(joint, Joint.TRIAD)
            rate = ZERO
            if par.row_sort[first, RowSort.IMAGE] >= 0:  # an angle
                c, s = math.cos(signal[Signal.VALUE]), math.sin(signal[Signal.VALUE])
                second, third = load3(joint, Joint.TRIAD + 3), load3(joint, Joint.TRIAD + 6)
                x = subtract(scaled(c, third), scaled(s, second))
                rate = scaled(-h * signal[Signal.SLOPE], add(scaled(c, second), scaled(s, third)))
            else:
                row[Row.GROWTH] = h * signal[Signal.SLOPE]
                row[Row.CONSTANT] = -dot(x, load3(joint, Joint.PARENT_POINT)) - signal[Signal.VALUE]
            store3(row, at, x)
            store3(row, rate_at, rate)


def is_driven(k, par):
    """Whether the motion of joint k is prescribed: its first row is."""
    return par.row_sort[par.link[k, Link.FIRST_ROW], RowSort.SIGNAL] >= 0


def work_between(z, e, unit_of_work, lam, par):
    """Add the work of drives between two nodes; lam are the multipliers of all joints, in these units."""
    total = 0.0
    for k in range(par.link.shape[0]):
        if is_driven(k, par):
            first = par.link[k, Link.FIRST_ROW]
            m = par.link[k, Link.END_ROW] - first
            unit = par.scratch[Scratch.UNIT : Scratch.UNIT + Values.WIDTH]
            clear(unit, Values.WIDTH)
            for level in range(1 + both_levels()):
                unit[m * level] = lam[first * (1 + both_levels()) + m * level]
            total -= change_of(k, unit, par)
    summation.add(z, e, work_place(par), unit_of_work * total)


def change_of(k, unit, par):
    """Change of what multipliers of joint k hold by the motion of its bodies between the nodes."""
    i, j = par.link[k, Link.PARENT], par.link[k, Link.CHILD]
    a, b, _ = pairs_of(k, par.node[0], par)
    out = par.scratch[Scratch.OUT : Scratch.OUT + Wrench.WIDTH]
    wrench_of(k, a, b, unit, par)
    total = dot(load3(out, Wrench.ON_GAP), gain(Node.MOVE, par.node[1, i], par.node[1, j]))
    total += dot(load3(out, Wrench.PARENT_TORQUE), turn(i, par)) + dot(load3(out, Wrench.CHILD_TORQUE), turn(j, par))
    if both_levels():
        total += dot(load3(out, Wrench.ON_SPEED), gain(Pair.SPEED, a, b))
        total += dot(load3(out, Wrench.ON_PARENT_SPIN), gain(Pair.PARENT_SPIN, a, b))
        total += dot(load3(out, Wrench.ON_CHILD_SPIN), gain(Pair.CHILD_SPIN, a, b))
    return total


def turn(i, par):
    """Cayley vector of the turn of body i in space; of the ground, the last body, there is none."""
    return to_space(par.node[0, i], load3(par.node[1, i], Node.TURN))


def gain(at, a, b):
    """What the vector at this place of two rows, a and b, differs by."""
    return subtract(load3(b, at), load3(a, at))


def work_of_kicks(z, e, h, time, first, last, par):
    """Add the work of drives in a step with half kicks, whose multipliers at the start and at the end are those of all joints."""
    total = 0.0
    for phase in range(2):
        lam = first if phase == 0 else last
        moment = time + phase * h
        set_drives(moment, moment, moment, moment, h, par)
        for k in range(par.link.shape[0]):
            if is_driven(k, par):
                total += lam[par.link[k, Link.FIRST_ROW]] * growth_of_row(k, par.node[phase], par)
    summation.add(z, e, work_place(par), total / (h * h))


def growth_of_row(k, node, par):
    """h dPhi/dt of the row of a drive while the bodies stay."""
    row = par.row[par.link[k, Link.FIRST_ROW]]
    a, _, _ = scratch_pairs(par)
    pair_at(k, node, par, a)
    t = times(load9(a, Pair.PRODUCTS), load3(row, Row.Y))
    return dot(load3(row, Row.PRESCRIBED_RATE), t) - row[Row.GROWTH]
