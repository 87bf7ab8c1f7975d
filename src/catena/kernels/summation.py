"""Compensated sums: the stepped state is z + e, where e holds the part that z cannot represent."""

from .views import dimension


def add(z, e, i, d):
    """z_i += d, with the rounding error kept in e_i."""
    d += e[i]
    before = z[i]
    after = before + d
    e[i] = d - (after - before)
    z[i] = after


def add3(z, e, at, v):
    """Add the vector v to three numbers from `at` on."""
    for k in range(3):
        add(z, e, at + k, v[k])


def save(z, e, copies):
    """Save the state in the first 2 n numbers of `copies`."""
    n = dimension(z)
    for k in range(n):
        copies[k] = z[k]
        copies[n + k] = e[k]


def put_back(z, e, copies):
    """Restore the state from `save`."""
    n = dimension(z)
    for k in range(n):
        z[k] = copies[k]
        e[k] = copies[n + k]
