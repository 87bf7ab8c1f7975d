"""Where the numbers of a linkage stand in the few arrays that its kernels share.

Few arrays, because every call of a compiled function hands over every array of the parameters in parts: with one array per quantity
a step would take minutes to compile.
"""

from ...kernels.marks import Record


class Tree(Record):
    """par.tree[i]: integers of body i."""

    ORDER = 1  # not of this body: the body at this place of the order, parents before children
    CARRIER = 1  # the joint that carries it, or -1
    GROUND_FORCE = 1  # the first force between it and the ground, or -1
    LOAD = 1  # the first load on it, or -1
    FREEDOM = 1  # of the joint that carries it, or 6 if none does; in the sweeps along a tree
    UNKNOWN = 1  # where its joint's unknowns begin in a sweep
    PLACE = 1  # where its table stands; it is needed from its first child to its own turn only


class Link(Record):
    """par.link[k]: integers of joint k."""

    PARENT = 1
    CHILD = 1
    FIRST_ROW = 1
    END_ROW = 1
    HAS_ANGLE = 1  # 1 if its angle matters: a torsion, or the advance of a screw
    TORSION = 1  # the number of its torsion, or -1
    FORCE = 1  # the first force between its two bodies, or -1


class Joint(Record):
    """par.joint[k]: numbers of joint k."""

    CHILD_POINT = 3  # in the child
    TRIAD = 9  # axis, second, third direction in the parent
    PITCH = 1
    AXIS_IMAGE = 3  # image of the axis in the child
    SECOND_IMAGE = 3  # image of the second direction
    THETA = 1  # its angle at the start of the step
    SHIFT = 1  # of a screw
    DAMPING = 1  # of its torsion
    PARENT_POINT = 3  # in the parent
    LENGTH = 1  # of a massless rod


class Row(Record):
    """par.row[r]: numbers of row r."""

    X = 3
    Y = 3
    CONSTANT = 1
    LENGTH = 1  # of its gradient
    # of the row of a prescribed motion (`director_form.drives`); rates are taken times the step
    X_RATE = 3  # of X
    PRESCRIBED = 3  # X at the time at which the row is to be zero
    PRESCRIBED_RATE = 3
    GROWTH = 1  # of a prescribed displacement at that time


class RowSort(Record):
    """par.row_sort[r]: integers of row r."""

    KIND = 1
    POINT_AXIS = 1
    IMAGE = 1  # which direction of the triad has its image in Y, or -1
    KEPT = 1  # 0 if it follows from others
    SIGNAL = 1  # the function of the time that prescribes it, or -1


class Force(Record):
    """par.force[f]: numbers of a force between two points."""

    FIRST_POINT = 3
    SECOND_POINT = 3
    STIFFNESS = 1
    REST = 1


class ForceSort(Record):
    """par.force_sort[f]: integers of a force between two points."""

    KIND = 1
    BODY_I = 1
    BODY_J = 1
    POTENTIAL = 1
    NEXT = 1  # in its list, or -1


class Load(Record):
    """par.load[f]: numbers of a load; `load_values` writes the first two."""

    FORCE = 3
    TORQUE = 3
    POINT = 3


class Signal(Record):
    """par.signal[s]: function s of the time, and its first two derivatives, at the time NOW."""

    VALUE = 1
    SLOPE = 1
    CURVATURE = 1


class Space(Record):
    """par.space: numbers of the whole."""

    GRAVITY = 3
    FOOT = 3  # a point of the vertical line
    UP = 3  # its direction
    WORK = 1  # 1 if dampers or loads do work
    ARM = 1  # the longest arm to the point of a joint or force; of the ground, how far away that is
    WEIGHT = 1  # what rows of joints are multiplied by in equations: rounding of theirs is none of masses then


class Node(Record):
    """par.node[0 or 1, i]: body i at the start or at the end of a step; the last is the ground. Velocities are taken times the step."""

    POSITION = 3
    DIRECTORS = 9  # row by row
    MOVE = 3  # displacement in the step; a difference of positions would cost its digits. From here on in the order of `Unknown`
    TURN = 3  # Cayley vector of the step
    VELOCITY = 3
    SPIN = 3  # angular velocity in the body
    PUSH = 3  # momentum before the joints take their part of it, times the step
    SPUN = 3  # the same of the angular momentum, in the body


class Unknown(Record):
    """Unknowns of a body in a step, the last two with both levels only, times the step."""

    MOVE = 3  # increment of the position
    TURN = 3  # Cayley vector, in the body
    VELOCITY = 3  # at the end
    SPIN = 3


class Pair(Record):
    """The two bodies of a joint, I and J, at one node (`rows`)."""

    PARENT_AXES = 9  # Q_I, row by row
    CHILD_AXES = 9
    GAP = 3  # D = r_J - r_I
    SPEED = 3  # E = V_J - V_I
    CHILD_SPIN = 3
    PARENT_SPIN = 3  # W_I
    PRODUCTS = 9  # s_kl
    ALONG = 3  # g_k


class Wrench(Record):
    """What multipliers do to a pair, as `rows.wrench_of` writes it."""

    ON_GAP = 3
    ON_SPEED = 3
    ON_PARENT_SPIN = 3
    ON_CHILD_SPIN = 3
    PARENT_TORQUE = 3  # in space
    CHILD_TORQUE = 3


class Coefficients(Record):
    """Factors of the derivatives of products in a wrench (`rows.wrench_of`)."""

    PRODUCTS = 9  # of ds
    PARENT_GAP = 3  # of d(q^I.D)
    CHILD_GAP = 3
    PARENT_SPEED = 3  # of d(q^I.E)
    CHILD_SPEED = 3
    STRETCH = 1  # of d(D.D)/2
    DRIFT = 1  # of d(D.E)


class Values(Record):
    """Rows of a joint at a pair."""

    PHI = 6
    RATE = 6


class Arms(Record):
    """Of a force between two points: arms of its bodies, as means of both ends of the step or at one of them."""

    FIRST = 3
    SECOND = 3


EQUATIONS = 2 * 14  # numbers in the equations of a hinge: for both levels two rows of a table


class Scratch(Record):
    """par.scratch: what kernels hand to each other."""

    PAIR_A = Pair.WIDTH
    PAIR_B = Pair.WIDTH
    PAIR_C = Pair.WIDTH
    MEAN = Pair.WIDTH
    COEFFICIENTS = Coefficients.WIDTH
    OUT = Wrench.WIDTH
    VALUES = Values.WIDTH
    BASE = Wrench.WIDTH  # what these two are compared with, in the same order
    VALUES_BASE = Values.WIDTH
    UNIT = Values.WIDTH
    START_GAP = 3  # between the points of a force
    END_GAP = 3
    ARMS = Arms.WIDTH
    LOADED = 6  # force and torque of a load
    NOW = 1  # the time at which what depends on it is taken
    WORST = 2  # a joint and its residual
    BLAMED = 2
    SOLUTION = 24
    REACH = 1  # the largest coordinate of a position, or the longest arm
    KICKS = 2  # which parts of the forces act at the start of a step and at its end, where they act there only
    # of the sweeps along a tree; the first four are forgotten between steps
    FACTORED = 1  # whether derivatives are known
    LAST_CHANGE = 1  # the correction before
    SETTLED = 1  # whether what particles do in the step is known
    ENDED = 1  # whether the end of the step is that of the last correction, which is not added to it yet
    SCALE = 1  # what corrections are relative to
    EQUATIONS = EQUATIONS  # of a hinge
    MAPS = 27  # of a joint, for both levels


class Sweep(Record):
    """par.sweep[i]: body i in the sweeps along a tree; the last is the ground. Vectors in space, at the start of the step and at its end."""

    SPACE_TURN = 3  # Cayley vector of the step, Q1 = cay(c) Q0
    AXIS_START = 3  # of its hinge
    AXIS = 3
    PARENT_ARM_START = 3  # from the parent's centre to the joint
    PARENT_ARM = 3
    CHILD_ARM_START = 3  # from its own centre to the joint
    CHILD_ARM = 3
    CHANGE = 0  # (rows) correction of the end of the body: displacement, turn; velocity, angular velocity


def behind_change(rows: int) -> tuple[int, int, int, int, int]:
    """Where the rest of a row of par.sweep stands if a table has 6 rows (positions) or 12 (both levels): dense rows stay in the cache.

    STEP    (rows/2) correction of the joint if the parent stays
    GAIN    (hinge rows/6 x rows, ball joint rows/2 x rows/2) derivative of the joint's correction by that of the parent, or of
            the joint's point in it
    COLUMNS (as many) derivative of the wrench by the joint
    INVERSE (as many) inverse of the derivative of the joint's equations by the joint
    SPACE_SPIN (3) angular velocity at the end, times the step
    """
    step = Sweep.CHANGE + rows
    gain, block = step + rows // 2, rows * rows // 4
    return step, gain, gain + block, gain + 2 * block, gain + 3 * block


def sweep_width(rows: int) -> int:
    """Numbers in a row of par.sweep, whole lines of the cache."""
    return -(-(behind_change(rows)[-1] + 3) // 8) * 8


# par.table[place]: derivative of the wrench by the body (6 x 6 or 12 x 12), the wrench, what corrections beyond the joint add to it, in rows
TABLE = 12 * 14
