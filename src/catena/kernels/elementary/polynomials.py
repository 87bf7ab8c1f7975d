"""Estrin's scheme: the halves of a polynomial are evaluated side by side."""

from ..fused import multiply_add


def four(z, z2, a, b, c, d):
    """a + b z + c z^2 + d z^3."""
    return multiply_add(z2, multiply_add(z, d, c), multiply_add(z, b, a))


def eight(z, z2, z4, a, b, c, d, e, f, g, h):
    """a + b z + ... + h z^7."""
    return multiply_add(z4, four(z, z2, e, f, g, h), four(z, z2, a, b, c, d))
