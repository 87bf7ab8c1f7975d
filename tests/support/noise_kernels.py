"""Kernels that fill arrays with the noise of `catena.kernels.noise`, compiled alone; and the trap that it avoids."""

from __future__ import annotations

from catena.kernels.noise import FIRST_FACTOR, MOMENTA, OF_HAMILTONIAN, STARTS, minus_log, normals, philox

STREAMS = (MOMENTA, MOMENTA + 1, MOMENTA + 2, OF_HAMILTONIAN, STARTS, STARTS + 1, STARTS + 2)


def fill_streams(counter, out):
    """Pairs of every stream that steps use, each a literal of its own loop on lanes: out[2 s + c, body].

    counter: low and high word of the seed, member, step.
    """
    seed0 = int(counter[0])
    seed1 = int(counter[1])
    member = int(counter[2])
    step = int(counter[3])
    n = out.shape[1]
    for i in range(n):
        out[0, i], out[1, i] = normals(seed0, seed1, member, step, i, MOMENTA)
    for i in range(n):
        out[2, i], out[3, i] = normals(seed0, seed1, member, step, i, MOMENTA + 1)
    for i in range(n):
        out[4, i], out[5, i] = normals(seed0, seed1, member, step, i, MOMENTA + 2)
    for i in range(n):
        out[6, i], out[7, i] = normals(seed0, seed1, member, step, i, OF_HAMILTONIAN)
    for i in range(n):
        out[8, i], out[9, i] = normals(seed0, seed1, member, step, i, STARTS)
    for i in range(n):
        out[10, i], out[11, i] = normals(seed0, seed1, member, step, i, STARTS + 1)
    for i in range(n):
        out[12, i], out[13, i] = normals(seed0, seed1, member, step, i, STARTS + 2)
    return 0


def fill_steps(counter, out):
    """Pairs of one body in many steps and of its neighbours: out[c, step, body]."""
    for k in range(out.shape[1]):
        for i in range(out.shape[2]):
            out[0, k, i], out[1, k, i] = normals(
                int(counter[0]), int(counter[1]), int(counter[2]), int(counter[3]) + k, i, MOMENTA
            )
    return 0


def known_words(given, out):
    """Words of counters and keys, a row for each."""
    for k in range(given.shape[0]):
        c0, c1, c2, c3 = int(given[k, 0]), int(given[k, 1]), int(given[k, 2]), int(given[k, 3])
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = philox(c0, c1, c2, c3, int(given[k, 4]), int(given[k, 5]))
    return 0


def logarithms(given, out):
    """-log of each number."""
    for k in range(given.shape[0]):
        out[k] = minus_log(given[k])
    return 0


def highest_bits(given, out):
    """The trap: the highest bit of a product of two words, with the normal product of numba."""
    for k in range(given.shape[0]):
        out[k] = ((FIRST_FACTOR * (int(given[k]) & 0xFFFFFFFF)) >> 32) & 0x80000000
    return 0
