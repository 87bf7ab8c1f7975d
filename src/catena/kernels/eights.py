"""Eight numbers at a time, as `catena.kernels.fours` has four: the lanes of a tile, which a bath sums together."""

from .fused import counted
from .marks import vector


@vector
def load_eight(t, i):
    """t[i] to t[i + 7]."""
    return (
        t[counted(i)], t[counted(i + 1)], t[counted(i + 2)], t[counted(i + 3)],
        t[counted(i + 4)], t[counted(i + 5)], t[counted(i + 6)], t[counted(i + 7)],
    )  # fmt: skip


@vector
def store_eight(t, i, v):
    """t[i] to t[i + 7] = v."""
    (
        t[counted(i)], t[counted(i + 1)], t[counted(i + 2)], t[counted(i + 3)],
        t[counted(i + 4)], t[counted(i + 5)], t[counted(i + 6)], t[counted(i + 7)],
    ) = v  # fmt: skip


@vector
def same_eight(x):
    """A number, eight times."""
    return x, x, x, x, x, x, x, x


@vector
def parts_of_eight(v):
    """The eight numbers."""
    return v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]


@vector
def add_eight(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7]


@vector
def multiply_eight(a, b):
    """a b."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3], a[4] * b[4], a[5] * b[5], a[6] * b[6], a[7] * b[7]


@vector
def square_eight(a):
    """a a."""
    return a[0] * a[0], a[1] * a[1], a[2] * a[2], a[3] * a[3], a[4] * a[4], a[5] * a[5], a[6] * a[6], a[7] * a[7]


@vector
def larger_eight(a, b):
    """The larger of the two; b if they cannot be compared."""
    return (
        a[0] if a[0] > b[0] else b[0], a[1] if a[1] > b[1] else b[1],
        a[2] if a[2] > b[2] else b[2], a[3] if a[3] > b[3] else b[3],
        a[4] if a[4] > b[4] else b[4], a[5] if a[5] > b[5] else b[5],
        a[6] if a[6] > b[6] else b[6], a[7] if a[7] > b[7] else b[7],
    )  # fmt: skip
