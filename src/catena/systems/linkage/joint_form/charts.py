"""Coordinates on the surface where loops are closed: which rows and which coordinates follow from the others, and their values.

Of the rows of the joints that close loops as many are kept as are independent, and as many coordinates of joints are solved for: the
others are coordinates of the surface. A choice of both is a chart. The field of the system is the one on the surface, found from the coordinates
that are not solved for; those that are go along with the others by Newton's method, at every stage. So the field is smooth around
the surface as well as on it, a Runge-Kutta method works on independent coordinates without noticing (its order and its symmetry are those
it has), and nothing drifts [hairer2006, section IV.5].

The chart stands in z: 1 or 0 for each row, then for each rate of a loop. Its number of rows, the rank, is that of the start and never
changes. Which rows and coordinates it takes changes between steps only, where the largest minor of the gradients has become WORSE
times larger than the chart's own: near a dead point of a coordinate. Where the rank changes there is no chart; the step fails.

par.tree_columns[i] is the first rate of node i that moves a loop, or -1; par.tree_units: lengths of loops, for each row and then for each such
rate, that make all slopes numbers without unit; par.tree_chart = [rank, rows kept, rates solved for]. Scratch: par.tree_slopes, par.tree_order,
par.tree_closed (a copy of z on the surface), par.tree_before (the state before the step).
"""

from ....geometry.quaternion import load4, product, square, store4, with_vector
from ....geometry.vectors import along_axis, dot, load3, sum_from
from ....kernels import elementary as math
from ....kernels.elimination import eliminate, reduce, substitute
from ....kernels.marks import Record
from ....kernels.summation import put_back, save
from ....kernels.views import LOOP_LOST, OK, method_step
from ..director_form.rows import has_drives
from .forces import JointPlace
from .kernels import articulated_field, hand_on
from .loops import Condition, Row, along_row, turn_of, write_row
from .motion import BALL, Link, Node, Place, clear, copy, freedoms, hands_on, place_nodes


class LoopRate(Record):
    """par.tree_rates[c]: rate c of those that move a loop."""

    NODE = 1
    NUMBER = 1  # in its node
    PLACE = 1  # in z


class Fault(Record):
    """par.tree_fault."""

    LOST = 1  # 1 if a loop was lost in this step
    REASON = 1  # why it was last; stays when earlier steps are made again to come to the one that failed
    AMOUNT = 1  # by how much


# reasons
NO_POINT = 1.0  # Newton finds no point of the surface
LEFT_OUT_OFF = 2.0  # a row that was left out does not hold: the rank is larger than it was
RANK_CHANGED = 3.0  # the gradients have another rank
CHART_ENDS = 4.0  # the minor of the chart vanishes within the step

SWEEPS = 20
REACH = 0.5  # largest correction of an angle, or of a length to that of its loop
NEAR = 1e-7  # after a correction of this size nothing is left but rounding
ROUNDED = 1e-14
LEFT_OUT = 1e-9  # largest value of a row left out
DEPENDENT = 1e-7  # a pivot of a row that others imply
CLEAR = 1e-5  # a pivot of a row that they do not imply; in between nobody knows
WORSE = 4.0


def closed_field(z, par, out):
    """The field at the point of the surface that has the coordinates z; not a number where there is none."""
    if close_loops(z, par.tree_closed, par) == OK:
        articulated_field(par.tree_closed, par, out)
        return
    for k in range(z.shape[0]):
        out[k] = math.nan


def closed_step(z, e, dt, par, tab, work, carry):
    """A step of the method, its end put on the surface, and a look at the chart there; a status."""
    save(z, e, par.tree_before)
    par.tree_fault[Fault.LOST] = 0.0
    status = method_step(z, e, dt, par, tab, work, carry)
    if status == OK:
        par.tree_fault[Fault.LOST] = 0.0  # an iteration may have strayed and come back
        status = end_on_surface(z, e, dt, par)
    else:
        chart_ends(z, dt, par)
        if par.tree_fault[Fault.LOST] == 1.0:
            status = LOOP_LOST
        else:
            par.tree_fault[Fault.REASON] = 0.0
    if status != OK:
        put_back(z, e, par.tree_before)
    return status


def end_on_surface(z, e, dt, par):
    """Solve for the coordinates that follow, then look at rank and chart; a status."""
    y = par.tree_closed
    if close_loops(z, y, par) != OK:
        return LOOP_LOST
    for k in range(z.shape[0]):
        if y[k] != z[k]:
            z[k] = y[k]
            e[k] = 0.0
    if chart_ends(z, -dt, par) != OK:
        return LOOP_LOST
    write_slopes(z, par)
    for r in range(par.tree_rows.shape[0]):
        if not abs(par.tree_gradients[r, Row.VALUE]) <= LEFT_OUT * par.tree_units[r]:
            return fault(LEFT_OUT_OFF, par.tree_gradients[r, Row.VALUE] / par.tree_units[r], par)
    _, own = chart_minor(par)
    rank, least, largest = choose_chart(par)
    if rank != par.tree_chart[0] or least < CLEAR:
        return fault(RANK_CHANGED, least, par)
    if largest - own > math.log(WORSE):
        write_chart(rank, z, par)
    return OK


def chart_ends(z, dt, par):
    """LOOP_LOST if the minor of the chart changes its sign on the way along the velocities over dt, else OK.

    On the way back over the step just made this tells a chart that ended within it, also if the loop went on along another branch
    of the surface, where the minor has its old sign.
    """
    y = par.tree_closed
    write_slopes(z, par)
    here, _ = chart_minor(par)
    copy(z, 0, y, 0, z.shape[0])
    if has_drives():
        y[par.tree_places[Place.TIME]] += dt
    for c in range(par.tree_rates.shape[0]):
        move(y, c, dt * z[par.tree_rates[c, LoopRate.PLACE]], par)
    write_slopes(y, par)
    there, _ = chart_minor(par)
    return fault(CHART_ENDS, 0.0, par) if here != there else OK


def fault(reason, amount, par):
    """Note why a loop is lost; the status that says so."""
    par.tree_fault[Fault.LOST] = 1.0
    par.tree_fault[Fault.REASON] = reason
    par.tree_fault[Fault.AMOUNT] = amount
    return LOOP_LOST


def close_loops(z, y, par):
    """y becomes z with the solved coordinates and rates on the surface; a status."""
    copy(z, 0, y, 0, z.shape[0])
    read_chart(z, par)
    before = REACH
    for _ in range(SWEEPS):
        place_nodes(y, par)
        change = correct(y, par)
        if not change <= REACH:
            break
        if change <= ROUNDED or before <= NEAR:
            correct_rates(y, par)
            settle_rest(y, par)
            return OK
        before = change
    return fault(NO_POINT, 0.0, par)


def settle_rest(y, par):
    """What follows from the coordinates solved for: the angles of closing joints; the length of quaternions, which no method keeps."""
    for k in range(par.tree_joints.shape[0]):
        joint = par.tree_joints[k]
        if joint[JointPlace.CLOSES] >= 0 and joint[JointPlace.ANGLE] >= 0:
            y[joint[JointPlace.ANGLE]] = turn_of(y, k, par)
    rank = par.tree_chart[0]
    for j in range(rank):
        link = par.tree_links[par.tree_rates[par.tree_chart[1 + rank + j], LoopRate.NODE]]
        if link[Link.KIND] == BALL:
            q = y[link[Link.COORDINATE] : link[Link.COORDINATE] + 4]
            length = math.sqrt(square(q))
            for k in range(4):
                q[k] /= length


def read_chart(z, par):
    """par.tree_chart from the flags in z."""
    first = par.tree_places[Place.CHART]
    rows = par.tree_rows.shape[0]
    taken = 0
    par.tree_chart[0] = 0
    for k in range(rows + par.tree_rates.shape[0]):
        if z[first + k] == 1.0:
            taken += 1
            par.tree_chart[taken] = k if k < rows else k - rows
            par.tree_chart[0] += 1 if k < rows else 0


def write_chart(rank, z, par):
    """The flags in z of the first rows and rates of par.tree_order."""
    first = par.tree_places[Place.CHART]
    rows = par.tree_rows.shape[0]
    clear(z, first, rows + par.tree_rates.shape[0])
    for k in range(rank):
        z[first + par.tree_order[k]] = 1.0
        z[first + rows + par.tree_order[rows + k]] = 1.0


def correct(y, par):
    """One Newton correction of the coordinates solved for; the largest, without unit, or -1 if there is none.

    par.tree_matrix keeps what `correct_rates` needs: the eliminated square matrix with the rates of the rows beside it.
    """
    rank = par.tree_chart[0]
    width = rank + 2
    t = par.tree_matrix
    x = par.tree_multipliers
    for i in range(rank):
        r = par.tree_chart[1 + i]
        row = par.tree_gradients[r]
        write_slope(y, r, par)
        for j in range(rank):
            t[i * width + j] = par.tree_slopes[r, par.tree_chart[1 + rank + j]]
        t[i * width + rank] = -along_row(r, row, Node.VELOCITY, par) / par.tree_units[r]
        t[i * width + rank + 1] = -row[Row.VALUE] / par.tree_units[r]
    if eliminate(t, rank, rank, width) != 0:
        return -1.0
    substitute(t, rank, width, x)
    largest = 0.0
    for j in range(rank):
        if not abs(x[j]) <= REACH:
            return -1.0
        c = par.tree_chart[1 + rank + j]
        largest = max(largest, abs(x[j]))
        move(y, c, x[j] * par.tree_units[par.tree_rows.shape[0] + c], par)
    return largest


def correct_rates(y, par):
    """The rates solved for, such that the rows kept have none; after `correct`."""
    rank = par.tree_chart[0]
    width = rank + 2
    t = par.tree_matrix
    x = par.tree_multipliers
    for i in range(rank):
        t[i * width + rank + 1] = t[i * width + rank]
    substitute(t, rank, width, x)
    for j in range(rank):
        c = par.tree_chart[1 + rank + j]
        y[par.tree_rates[c, LoopRate.PLACE]] += x[j] * par.tree_units[par.tree_rows.shape[0] + c]


def move(y, c, change, par):
    """Move the coordinate of rate c; of a ball, turn it about its own axis."""
    link = par.tree_links[par.tree_rates[c, LoopRate.NODE]]
    at = link[Link.COORDINATE]
    k = par.tree_rates[c, LoopRate.NUMBER]
    if link[Link.KIND] == BALL:
        turn = with_vector(math.cos(0.5 * change), along_axis(k, math.sin(0.5 * change)))
        store4(y, at, product(load4(y, at), turn))
    else:
        y[at + k] += change


def write_slopes(y, par):
    """All rows at y, and their slopes."""
    place_nodes(y, par)
    for r in range(par.tree_rows.shape[0]):
        write_slope(y, r, par)


def write_slope(y, r, par):
    """Row r, and par.tree_slopes[r], its derivatives by the coordinates of the loops, without units: its wrenches go inward along the tree."""
    row = par.tree_gradients[r]
    write_row(y, r, par, row)
    slope = par.tree_slopes[r]
    clear(slope, 0, slope.shape[0])
    joint = par.tree_joints[par.tree_rows[r, Condition.JOINT]]
    for side in range(2):
        i = joint[JointPlace.PARENT + side]
        force = load3(row, Row.PARENT_FORCE + 6 * side)
        torque = load3(row, Row.PARENT_TORQUE + 6 * side)
        while i > 0:
            link = par.tree_links[i]
            n = par.tree_nodes[i]
            c = par.tree_columns[i]
            if c >= 0:
                for l in range(freedoms(link)):
                    a = Node.S + 6 * l
                    along = sum_from(dot(load3(n, a), force), load3(n, a + 3), torque)
                    slope[c + l] += along * par.tree_units[par.tree_rows.shape[0] + c + l] / par.tree_units[r]
            torque = hand_on(load3(n, Node.ARM), force, hands_on(link), torque)
            i = link[Link.PARENT]


def chart_minor(par):
    """Sign of the minor of the slopes that belongs to the chart, and the logarithm of its size."""
    rank = par.tree_chart[0]
    for i in range(rank):
        for j in range(rank):
            par.tree_matrix[i * rank + j] = par.tree_slopes[par.tree_chart[1 + i], par.tree_chart[1 + rank + j]]
    found, _, size, sign = reduce(par.tree_matrix, rank, rank, par.tree_order, DEPENDENT)
    return sign, size if found == rank else -math.inf


def choose_chart(par):
    """(rank, smallest pivot, logarithm of the minor) of the best chart; its rows and rates stand first in the parts of par.tree_order."""
    rows = par.tree_slopes.shape[0]
    columns = par.tree_slopes.shape[1]
    for i in range(rows):
        copy(par.tree_slopes[i], 0, par.tree_matrix, i * columns, columns)
    rank, least, size, _ = reduce(par.tree_matrix, rows, columns, par.tree_order, DEPENDENT)
    return rank, least, size
