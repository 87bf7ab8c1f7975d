"""Four numbers at a time, side by side in a vector register, for the sums of power series; `eights` serves baths.

Compiled for a CPU they are vectors (`catena.engine.fours`), so that vectorisation is not left to the compiler;
elsewhere they are these functions of tuples. The bits are the same: every operation is that of IEEE arithmetic on each
of the four.
"""

from .fused import counted, multiply_add
from .marks import vector


@vector
def load_four(t, i):
    """t[i] to t[i + 3]."""
    return t[counted(i)], t[counted(i + 1)], t[counted(i + 2)], t[counted(i + 3)]


@vector
def load_same(t, i):
    """t[i], four times."""
    x = t[counted(i)]
    return x, x, x, x


@vector
def store_four(t, i, v):
    """t[i] to t[i + 3] = v."""
    t[counted(i)], t[counted(i + 1)], t[counted(i + 2)], t[counted(i + 3)] = v


@vector
def same_four(x):
    """A number, four times."""
    return x, x, x, x


@vector
def join_four(a, b, c, d):
    """Four numbers."""
    return a, b, c, d


@vector
def parts_of_four(v):
    """The four numbers."""
    return v[0], v[1], v[2], v[3]


@vector
def add_four(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


@vector
def subtract_four(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]


@vector
def multiply_four(a, b):
    """a b."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]


@vector
def fuse_four(a, b, c):
    """a b + c, rounded once."""
    return (
        multiply_add(a[0], b[0], c[0]), multiply_add(a[1], b[1], c[1]),
        multiply_add(a[2], b[2], c[2]), multiply_add(a[3], b[3], c[3]),
    )  # fmt: skip
