"""Vectors and matrices of the compiled loop as tuples: (x, y, z), and nine elements row by row. They stay in registers.

Plain functions that the engine collects. `load3` and `store3` move vectors between a row of an array and registers,
once each way.
"""

from ..kernels.marks import within

ZERO = (0.0, 0.0, 0.0)


@within
def load3(row, at):
    """The vector in a row, starting at `at`."""
    return row[at], row[at + 1], row[at + 2]


@within
def load9(row, at):
    """The matrix in a row, starting at `at`."""
    return (
        row[at], row[at + 1], row[at + 2],
        row[at + 3], row[at + 4], row[at + 5],
        row[at + 6], row[at + 7], row[at + 8],
    )  # fmt: skip


@within
def store3(row, at, v):
    """Store a vector in a row."""
    row[at] = v[0]
    row[at + 1] = v[1]
    row[at + 2] = v[2]


@within
def store9(row, at, m):
    """Store a matrix in a row."""
    for k in range(9):
        row[at + k] = m[k]


@within
def add3(row, at, v):
    """Add a vector to a row."""
    row[at] += v[0]
    row[at + 1] += v[1]
    row[at + 2] += v[2]


@within
def clear(row, count):
    """Set the first numbers of a row to zero."""
    for k in range(count):
        row[k] = 0.0


@within
def copy(row, to, count):
    """Copy the first numbers of a row to another one."""
    for k in range(count):
        to[k] = row[k]


@within
def load_down(table, at, width):
    """The vector in a column of a table, starting at `at`, in rows of `width` numbers."""
    return table[at], table[at + width], table[at + 2 * width]


@within
def store_down(table, at, width, v):
    """Store a vector in a column of a table."""
    table[at] = v[0]
    table[at + width] = v[1]
    table[at + 2 * width] = v[2]


@within
def add_down(table, at, width, v):
    """Add a vector to a column of a table."""
    table[at] += v[0]
    table[at + width] += v[1]
    table[at + 2 * width] += v[2]


def along_axis(k, f):
    """f times the unit vector along axis k."""
    return f if k == 0 else 0.0, f if k == 1 else 0.0, f if k == 2 else 0.0


def unit(k):
    """The unit vector along axis k."""
    return along_axis(k, 1.0)


def add(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def mean(a, b):
    """(a + b)/2."""
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


def negative(a):
    """-a."""
    return -a[0], -a[1], -a[2]


def scaled(f, a):
    """f a."""
    return f * a[0], f * a[1], f * a[2]


def diagonal_times(d, a):
    """diag(d) a."""
    return d[0] * a[0], d[1] * a[1], d[2] * a[2]


def largest(a):
    """The largest |a_k|."""
    return max(abs(a[0]), max(abs(a[1]), abs(a[2])))


def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def sum_from(start, a, b):
    """start + a . b, summed from the left."""
    return start + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def times(m, a):
    """m a."""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


def transposed_times(m, a):
    """m^T a."""
    return (
        m[0] * a[0] + m[3] * a[1] + m[6] * a[2],
        m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
        m[2] * a[0] + m[5] * a[1] + m[8] * a[2],
    )


def product(a, b):
    """a b."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6], a[0] * b[1] + a[1] * b[4] + a[2] * b[7], a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6], a[3] * b[1] + a[4] * b[4] + a[5] * b[7], a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6], a[6] * b[1] + a[7] * b[4] + a[8] * b[7], a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )  # fmt: skip


def product_transposed(a, b):
    """a b^T."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2], a[0] * b[3] + a[1] * b[4] + a[2] * b[5], a[0] * b[6] + a[1] * b[7] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[1] + a[5] * b[2], a[3] * b[3] + a[4] * b[4] + a[5] * b[5], a[3] * b[6] + a[4] * b[7] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[1] + a[8] * b[2], a[6] * b[3] + a[7] * b[4] + a[8] * b[5], a[6] * b[6] + a[7] * b[7] + a[8] * b[8],
    )  # fmt: skip


def tensor(m, d):
    """m diag(d) m^T: along the columns of m its principal values are d."""
    stretched = (
        m[0] * d[0], m[1] * d[1], m[2] * d[2],
        m[3] * d[0], m[4] * d[1], m[5] * d[2],
        m[6] * d[0], m[7] * d[1], m[8] * d[2],
    )  # fmt: skip
    return product_transposed(stretched, m)


def transposed_product(a, b):
    """a^T b."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6], a[0] * b[1] + a[3] * b[4] + a[6] * b[7], a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[0] + a[4] * b[3] + a[7] * b[6], a[1] * b[1] + a[4] * b[4] + a[7] * b[7], a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
        a[2] * b[0] + a[5] * b[3] + a[8] * b[6], a[2] * b[1] + a[5] * b[4] + a[8] * b[7], a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
    )  # fmt: skip


def inner(a, b):
    """a : b, the sum of the products of all elements, summed from the left."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
        + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
        + a[6] * b[6] + a[7] * b[7] + a[8] * b[8]
    )  # fmt: skip


def plus_scaled(a, f, b):
    """a + f b for matrices."""
    return (
        a[0] + f * b[0], a[1] + f * b[1], a[2] + f * b[2],
        a[3] + f * b[3], a[4] + f * b[4], a[5] + f * b[5],
        a[6] + f * b[6], a[7] + f * b[7], a[8] + f * b[8],
    )  # fmt: skip


def scaled_difference(d, a, b):
    """diag(d) (b - a) for matrices."""
    return (
        d[0] * (b[0] - a[0]), d[0] * (b[1] - a[1]), d[0] * (b[2] - a[2]),
        d[1] * (b[3] - a[3]), d[1] * (b[4] - a[4]), d[1] * (b[5] - a[5]),
        d[2] * (b[6] - a[6]), d[2] * (b[7] - a[7]), d[2] * (b[8] - a[8]),
    )  # fmt: skip


def column(m, k):
    """Column k of m."""
    if k == 0:
        return m[0], m[3], m[6]
    if k == 1:
        return m[1], m[4], m[7]
    return m[2], m[5], m[8]
