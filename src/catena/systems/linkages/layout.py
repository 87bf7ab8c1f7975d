"""Where the numbers of a linkage stand in the few arrays that its kernels share.

Few arrays, because every call of a compiled function hands over every array of the parameters in parts: with one array per quantity
a step would take minutes to compile.
"""

# par.tree, integers of a body
ORDER = 0  # not of this body: the body at this place of the order, parents before children
CARRIER = 1  # the joint that carries it, or -1
GROUND_FORCE = 2  # the first force between it and the ground, or -1
LOAD = 3  # the first load on it, or -1
FREEDOM = 4  # of the joint that carries it, or 6 if none does; in the recursions along a tree
UNKNOWN = 5  # where its joint's unknowns begin in a recursion
PLACE = 6  # where its table stands; it is needed from its first child to its own turn only

# par.link, integers of a joint
PARENT, CHILD = 0, 1
FIRST_ROW, END_ROW = 2, 3
HAS_ANGLE = 4  # 1 if its angle matters: a torsion, or the advance of a screw
TORSION = 5  # the number of its torsion, or -1
JOINT_FORCE = 6  # the first force between its two bodies, or -1

# par.joint, numbers of a joint
CHILD_POINT = 0  # (3) in the child
TRIAD = 3  # (9) axis, second, third direction in the parent
PITCH = 12
AXIS_IMAGE = 13  # (3) image of the axis in the child
SECOND_IMAGE = 16  # (3) image of the second direction
THETA = 19  # its angle at the start of the step
SHIFT = 20  # of a screw
DAMPING = 21  # of its torsion
PARENT_POINT = 22  # (3) in the parent

# par.row and par.row_sort: x (3), y (3), constant, length of the gradient; kind, axis of a point, image, whether it is kept
CONSTANT, LENGTH = 6, 7
KIND, POINT_AXIS, IMAGE, KEPT = 0, 1, 2, 3

# par.force and par.force_sort: the two points (3 + 3) and two constants; kind, two bodies, potential, next in its list
FIRST_POINT, SECOND_POINT, STIFFNESS, REST = 0, 3, 6, 7
FORCE_KIND, BODY_I, BODY_J, POTENTIAL, NEXT = 0, 1, 2, 3, 4

# par.load: force (3), torque (3), where it acts
LOAD_POINT = 6

# par.space
GRAVITY, FOOT, UP = 0, 3, 6  # (3 each) a point of the vertical line, and its direction
WORK = 9  # 1 if dampers or loads do work
ARM = 10  # the longest arm to the point of a joint or force; of the ground, how far away that is

# par.node[0 or 1, body]: position, directors, velocity and body angular velocity times the step; Cayley vector
# and displacement of the step (a difference of positions would cost their digits)
DIRECTORS, VELOCITY, SPIN, TURN, MOVE = 3, 12, 15, 18, 21
NODE = 24

# par.scratch
PAIR = 42  # numbers of a pair of bodies
PAIR_A, PAIR_B, PAIR_C, MEAN = 0, 42, 84, 126
COEFFICIENTS = 168  # (21)
OUT, BASE, ZERO = 189, 207, 225  # (18 each)
UNIT = 243  # (12)
VALUES, VALUES_BASE = 255, 267  # (12 each) Phi (6), then f (6)
VECTORS = 279  # (18)
LOADED = 297  # (6)
WORST, BLAMED = 303, 305  # (2 each) a joint and its residual
SOLUTION = 307  # (24)
REACH = 331  # the largest coordinate of a position, or the longest arm
SCRATCH = 332

# par.sweep[body], in the recursions along a tree; the last row is the ground. Vectors in space, at the start of the step, then at its end
SPACE_TURN = 0  # (3) Cayley vector of the step, Q1 = cay(c) Q0
AXIS_START, AXIS = 3, 6  # (3 each) of its hinge
PARENT_ARM_START, PARENT_ARM = 9, 12  # (3 each) from the parent's centre to the joint
CHILD_ARM_START, CHILD_ARM = 15, 18  # (3 each) from its own centre to the joint
CHANGE = 21  # (rows) correction of the end of the body: displacement, turn; velocity, angular velocity


def behind_change(rows: int) -> tuple[int, int, int, int, int]:
    """Where the rest of a row of par.sweep stands if a table has 6 rows (positions) or 12 (both levels): dense rows stay in the cache.

    STEP    (rows/2) correction of the joint if the parent stays
    GAIN    (hinge rows/6 x rows, ball joint rows/2 x rows/2) derivative of the joint's correction by that of the parent, or of
            the joint's point in it
    COLUMNS (as many) derivative of the wrench by the joint
    INVERSE (as many) inverse of the derivative of the joint's equations by the joint
    SPACE_SPIN (3) angular velocity at the end, times the step
    """
    step = CHANGE + rows
    gain, block = step + rows // 2, rows * rows // 4
    return step, gain, gain + block, gain + 2 * block, gain + 3 * block


def sweep_width(rows: int) -> int:
    """Numbers in a row of par.sweep, whole lines of the cache."""
    return -(-(behind_change(rows)[-1] + 3) // 8) * 8


# par.table[place]: derivative of the wrench by the body (6 x 6 or 12 x 12), the wrench, what corrections beyond the joint add to it, in rows
TABLE = 12 * 14

# par.scratch of a recursion, where the solver of blocks keeps its pairs
FACTORED, LAST_CHANGE = 0, 1  # whether derivatives are known; the correction before
SCALE = 2  # what corrections are relative to
EQUATIONS = 3  # (2 x 14) a hinge's equations
MAPS = 31  # (27) of a joint, for both levels
