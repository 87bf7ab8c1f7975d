"""Compensated sums: the stepped state is z + e, where e holds what z cannot."""


def add(z, e, i, d):
    """z_i += d, with the rounding error kept in e_i."""
    d += e[i]
    before = z[i]
    after = before + d
    e[i] = d - (after - before)
    z[i] = after
