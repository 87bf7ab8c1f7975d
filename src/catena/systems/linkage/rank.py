"""Which rows of closed loops are independent: chosen where the joints fit, at the start of each step.

The rows of the joints of the tree are independent by themselves. Those of the joints that close loops are taken one by one, the one
that differs most from all rows taken so far first, until nothing but rounding is left of the others; those follow from the rows taken, and
are left out with their multipliers.
"""

import math

from ...geometry.vectors import add3, clear, negative, scaled
from ...kernels.views import NOT_CONVERGED, OK
from .director_form.blocks import unit_wrench
from .director_form.rows import angle_parts, angle_torque, pair_at, scratch_pairs, values_at
from .joints import DOT
from .layout import Joint, Link, Row, RowSort, Scratch, Tree, Wrench

LEFT_OUT = 1e-9  # largest value of a row left out, at the end of a step; of a length, to the reach of the linkage
DEPENDENT = 1e-7  # what is left of a row that others imply, to its own length


def choose_rows(par):
    """Set the flags of all rows, at the node of the start of the step."""
    rows = par.gradient
    joints = par.link.shape[0]
    for k in range(joints):
        write_gradient(k, par)
    for k in range(joints):
        if par.tree[par.link[k, Link.CHILD], Tree.CARRIER] == k:
            for r in range(par.link[k, Link.FIRST_ROW], par.link[k, Link.END_ROW]):
                take(r, par)
    best = 0
    while best >= 0:
        best = -1
        most = DEPENDENT
        for r in range(rows.shape[0]):
            if par.row_sort[r, RowSort.KEPT] == 0:
                left = norm(rows[r]) / par.row[r, Row.LENGTH]
                if left > most:
                    most = left
                    best = r
        if best >= 0:
            take(best, par)


def rows_met(par):
    """OK if the rows that were left out hold at the end of the step, too."""
    scratch = par.scratch
    for k in range(par.link.shape[0]):
        first = par.link[k, Link.FIRST_ROW]
        m = par.link[k, Link.END_ROW] - first
        left_out = 0
        for r in range(m):
            left_out += 1 - par.row_sort[first + r, RowSort.KEPT]
        if left_out > 0:
            values_at(k, par.node[1], par)
            if par.joint[k, Joint.PITCH] != 0.0:
                scratch[Scratch.VALUES + m - 1] = 0.0
            for r in range(m):
                value = abs(scratch[Scratch.VALUES + r])
                unit = 1.0 if par.row_sort[first + r, RowSort.KIND] == DOT else scratch[Scratch.REACH]
                if not value <= LEFT_OUT * unit:
                    scratch[Scratch.WORST] = k
                    scratch[Scratch.WORST + 1] = value
                    return NOT_CONVERGED
    return OK


def norm(row):
    """Length of a row."""
    total = 0.0
    for c in range(row.shape[0]):
        total += row[c] * row[c]
    return math.sqrt(total)


def take(r, par):
    """Keep row r: make it a unit vector and the rows not yet taken normal to it."""
    par.row_sort[r, RowSort.KEPT] = 1
    own = par.gradient[r]
    width = own.shape[0]
    length = norm(own)
    for c in range(width):
        own[c] /= length
    for other in range(par.gradient.shape[0]):
        if par.row_sort[other, RowSort.KEPT] == 0:
            row = par.gradient[other]
            for _ in range(2):  # a second time removes what rounding left
                along = 0.0
                for c in range(width):
                    along += row[c] * own[c]
                for c in range(width):
                    row[c] -= along * own[c]


def write_gradient(k, par):
    """The gradients of the rows of joint k at the start of the step, with masses as weights, and their lengths; none is kept yet."""
    i, j = par.link[k, Link.PARENT], par.link[k, Link.CHILD]
    first = par.link[k, Link.FIRST_ROW]
    m = par.link[k, Link.END_ROW] - first
    joint = par.joint[k]
    a, _, _ = scratch_pairs(par)
    pair_at(k, par.node[0], par, a)
    out = par.scratch[Scratch.OUT : Scratch.OUT + Wrench.WIDTH]
    for r in range(m):
        row = par.gradient[first + r]
        clear(row, row.shape[0])
        unit_wrench(k, r, a, a, par)
        if joint[Joint.PITCH] != 0.0 and r == m - 1:
            u, w = angle_parts(joint, a)
            n = scaled(joint[Joint.PITCH], angle_torque(joint, a, a, u, w))
            add3(out, Wrench.PARENT_TORQUE, negative(n))
            add3(out, Wrench.CHILD_TORQUE, n)
        for l in range(3):
            row[6 * j + l] = out[Wrench.ON_GAP + l] / math.sqrt(par.mass[j])
            row[6 * j + 3 + l] = out[Wrench.CHILD_TORQUE + l] / par.inertia_root[j, l]
            if i >= 0:
                row[6 * i + l] = -out[Wrench.ON_GAP + l] / math.sqrt(par.mass[i])
                row[6 * i + 3 + l] = out[Wrench.PARENT_TORQUE + l] / par.inertia_root[i, l]
        par.row_sort[first + r, RowSort.KEPT] = 0
        par.row[first + r, Row.LENGTH] = norm(row)
