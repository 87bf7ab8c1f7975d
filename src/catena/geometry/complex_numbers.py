"""Complex numbers of the compiled loop as tuples (real, imaginary): in registers, and with every rounding explicit.

Plain functions that the engine collects.
"""

from ..kernels import elementary as math
from ..kernels.elementary.trigonometric import cosine_and_sine


def turn(angle):
    """e^(i angle)."""
    return cosine_and_sine(angle)


def times(a, b):
    """a b."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def conjugate_times(a, b):
    """conj(a) b."""
    return a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0]


def scaled(f, a):
    """f a for a real f."""
    return f * a[0], f * a[1]


def difference(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1]


def square(a):
    """|a|^2."""
    return a[0] * a[0] + a[1] * a[1]


def direction(a):
    """a/|a|."""
    return scaled(1.0 / math.sqrt(square(a)), a)
