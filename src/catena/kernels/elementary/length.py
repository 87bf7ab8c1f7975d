"""hypot."""

import math

from ..fused import multiply_add


def hypot(x, y):
    """sqrt(x^2 + y^2), even if the squares are out of range."""
    a = abs(x)
    b = abs(y)
    large = a if a >= b else b
    small = b if a >= b else a
    if 1e-140 < large < 1e150:
        return root_of_squares(large, small)
    if a == math.inf or b == math.inf:
        return math.inf
    if a != a or b != b:
        return math.nan
    if large == 0.0:
        return 0.0
    scale = 2.0**-600 if large > 1.0 else 2.0**600
    return root_of_squares(large * scale, small * scale) / scale


def root_of_squares(a, b):
    """sqrt(a^2 + b^2) for a >= b >= 0: the root of the rounded sum, and a Newton step with the rounding errors."""
    p = a * a
    q = b * b
    total = p + q
    rest = ((p - total) + q) + (multiply_add(a, a, -p) + multiply_add(b, b, -q))
    root = math.sqrt(total)
    return root + (multiply_add(-root, root, total) + rest) * (0.5 / root)
