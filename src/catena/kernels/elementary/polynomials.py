"""Polynomials in z by Estrin's scheme: their halves are evaluated side by side.

c holds their coefficients, lowest first.
"""

from ..fused import multiply_add


def four(z, a, b, c, d):
    """a + b z + c z^2 + d z^3."""
    return multiply_add(z * z, multiply_add(z, d, c), multiply_add(z, b, a))


def seven(z, c):
    """c[0] + c[1] z + ... + c[6] z^6."""
    z2 = z * z
    high = multiply_add(z2, c[6], multiply_add(z, c[5], c[4]))
    return multiply_add(z2 * z2, high, four(z, c[0], c[1], c[2], c[3]))


def eight(z, c):
    """The same up to z^7."""
    z2 = z * z
    return multiply_add(z2 * z2, four(z, c[4], c[5], c[6], c[7]), four(z, c[0], c[1], c[2], c[3]))


def twelve(z, c):
    """The same up to z^11."""
    z4 = z * z * (z * z)
    return multiply_add(z4 * z4, four(z, c[8], c[9], c[10], c[11]), eight(z, c))


def twelve_and(end, z, c):
    """The same, and `end` z^12, which may be a polynomial, too."""
    z4 = z * z * (z * z)
    high = multiply_add(z4, end, four(z, c[8], c[9], c[10], c[11]))
    return multiply_add(z4 * z4, high, eight(z, c))
