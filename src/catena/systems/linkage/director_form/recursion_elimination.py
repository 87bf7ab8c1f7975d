"""What is done to the rows of one table: torques shifted, the unknowns of a joint eliminated; a part of `recursion`.

A table has 6 rows (positions) or 12 (both levels): the derivatives by the body, the wrench, what corrections beyond the joint add to it.
"""

from ....geometry.vectors import add_down, clear, copy, cross, load_down
from ....kernels.elimination import eliminate, invert, substitute
from ....kernels.marks import within
from ..layout import Sweep, behind_change


@within
def clear_table(table, rows, fresh):
    """Nothing known of the wrench, nor of its derivatives if `fresh`."""
    if fresh:
        clear(table, rows * (rows + 2))
    else:
        for r in range(rows):
            table[(rows + 2) * r + rows] = 0.0
            table[(rows + 2) * r + rows + 1] = 0.0


@within
def free_hinge(own, table, rows, equations, fresh):
    """Eliminate the unknowns of a hinge: its correction, and the table without it; 0, or 1 if singular.

    Each row of `equations`: derivative by the parent (as the table's), residual, what corrections beyond the joint add to it.
    INVERSE holds the derivative by the joint, COLUMNS that of the table.
    """
    width = rows + 2
    count = rows // 6
    STEP, GAIN, COLUMNS, INVERSE, _ = behind_change(rows)
    if fresh:
        if invert(own[INVERSE : INVERSE + count * count], count) != 0:
            return 1
        for a in range(count):
            clear(own[GAIN + rows * a :], rows)
            for b in range(count):
                factor = -own[INVERSE + count * a + b]
                for l in range(rows):
                    own[GAIN + rows * a + l] += factor * equations[width * b + l]
        for r in range(rows):
            for a in range(count):
                factor = own[COLUMNS + rows * a + r]
                for l in range(rows):
                    table[width * r + l] += factor * own[GAIN + rows * a + l]
    for a in range(count):
        total = 0.0
        for b in range(count):
            total -= own[INVERSE + count * a + b] * (equations[width * b + rows] + equations[width * b + rows + 1])
        own[STEP + a] = total
        for r in range(rows):
            table[width * r + rows + 1] += own[COLUMNS + rows * a + r] * total
    return 0


@within
def free_ball(own, table, rows, fresh):
    """Eliminate the turn (and angular velocity) of the child of a ball joint; 0, or 1 if that is singular.

    Of each six rows of the table the last three are the equations: they vanish and become zero. Of each six columns the first
    three are by the joint's point in the parent, the last three by the unknowns. COLUMNS holds the derivatives by the unknowns of
    the rows that stay, INVERSE those of the equations.
    """
    width = rows + 2
    STEP, GAIN, COLUMNS, INVERSE, _ = behind_change(rows)
    levels = rows // 6
    count = 3 * levels
    if fresh:
        if invert(own[INVERSE : INVERSE + count * count], count) != 0:
            return 1
        for level in range(levels):
            for axis in range(3):
                column = 6 * level + axis
                for a in range(count):
                    total = 0.0
                    for other in range(levels):
                        for b in range(3):
                            equation = width * (6 * other + 3 + b)
                            total -= own[INVERSE + count * a + 3 * other + b] * table[equation + column]
                    own[GAIN + count * a + 3 * level + axis] = total
        for level in range(levels):
            for axis in range(3):
                stays = width * (6 * level + axis)
                vanishes = stays + 3 * width
                for other in range(levels):
                    for l in range(3):
                        total = 0.0
                        for a in range(count):
                            total += (
                                own[COLUMNS + count * (3 * level + axis) + a] * own[GAIN + count * a + 3 * other + l]
                            )
                        table[stays + 6 * other + l] += total
                clear(table[vanishes:], rows)
    for a in range(count):
        total = 0.0
        for level in range(levels):
            for b in range(3):
                equation = width * (6 * level + 3 + b) + rows
                total -= own[INVERSE + count * a + 3 * level + b] * (table[equation] + table[equation + 1])
        own[STEP + a] = total
    for level in range(levels):
        for axis in range(3):
            stays = width * (6 * level + axis) + rows
            for a in range(count):
                table[stays + 1] += own[COLUMNS + count * (3 * level + axis) + a] * own[STEP + a]
            table[stays + 3 * width + 1] = -table[stays + 3 * width]
    return 0


@within
def free_body(own, table, rows, kept, t, fresh):
    """The correction of a body that no joint carries; 0, or 1 if there is none. Its derivatives are kept."""
    width = rows + 2
    for r in range(rows):
        if fresh:
            copy(table[width * r :], kept[rows * r :], rows)
        copy(kept[rows * r :], t[(rows + 1) * r :], rows)
        t[(rows + 1) * r + rows] = -table[width * r + rows] - table[width * r + rows + 1]
    if eliminate(t, rows, rows, rows + 1) != 0:
        return 1
    substitute(t, rows, rows + 1, own[Sweep.CHANGE : Sweep.CHANGE + rows])
    return 0


@within
def shift_torque(table, a, force, torque, width, fresh):
    """Add a x F to T in all columns of a table, or but for the derivatives; rows begin at `force` and `torque`."""
    if fresh:  # loops of a known length are faster
        shift_columns(table, a, force, torque, width, 0)
    else:
        shift_columns(table, a, force, torque, width, width - 2)


@within
def shift_columns(table, a, force, torque, width, start):
    """Add a x F to T in the columns from `start`."""
    for l in range(start, width):
        f = load_down(table, force + l, width)
        add_down(table, torque + l, width, cross(a, f))
