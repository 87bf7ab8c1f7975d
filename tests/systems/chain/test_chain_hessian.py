"""The Jacobian of the canonical equations of a chain, against differences in 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mp

import catena as ct
import harness
from catena.kernels import views
from catena.systems.potentials import pair_kernels
from kernels import Kernel

LOPSIDED = ct.Body.from_particles([[0.1, 0.5, 0.2], [0.3, -0.4, 0.7], [-0.5, 0.1, -0.3], [0.6, 0.7, -0.4], [0, 0, 0.9]])
ROD = ct.Body.from_particles([[0, 0, -0.4], [0, 0, 0.4]])
LJ = ct.LennardJones(5.0, 1.0)


def typed(kinds: str) -> ct.Body:
    return ct.Body.from_particles(ct.Body.tetrahedron().particles.positions, types=list(kinds))


LOPSIDED_A = ct.Body.from_particles(LOPSIDED.particles.positions, types=list("abbab"))
TABLE = ct.PairTable({("a", "a"): LJ, ("a", "b"): ct.Yukawa(2.0, 1.5), ("b", "b"): ct.Morse(5.0, 3.0, 1.1)})
CHAINS = {
    "equal bodies, free": ct.Chain([ct.Body.tetrahedron()] * 3, LJ, left=ct.Free()),
    "clamped": ct.Chain([ct.Body.tetrahedron()] * 3, LJ, right=ct.Force((3.0, 0.0, 0.0))),
    "unequal bodies, displaced": ct.Chain(
        [ct.Body.tetrahedron(), LOPSIDED, ROD], ct.Harmonic(3.0, 1.2), left=ct.Displaced()
    ),
    "table of types": ct.Chain([typed("aabb"), typed("abab"), typed("bbba")], TABLE, left=ct.Free()),
    "ring": ct.Chain([typed("aabb"), LOPSIDED_A, typed("abab"), typed("bbba")], TABLE, closed=True),
}
BONDED = {
    "rod": ct.Chain([ct.Body.tetrahedron(), LOPSIDED] * 2, ct.BendTwist(10.0, 2.0, 3.0, (1.1, 0.2, 0.3))),
    "uniaxial": ct.Chain([ct.Body.tetrahedron()] * 3, ct.GayBerne(1.0, 1.0, 3.0, 5.0, 2.0, 1.0), left=ct.Free()),
    "both": ct.Chain([LOPSIDED] * 3, LJ + ct.BendTwist(10.0, 2.0, 3.0, (1.1, 0.2, 0.3)), left=ct.Free()),
    "ring": ct.Chain(
        [ct.Body.tetrahedron(), LOPSIDED, LOPSIDED], ct.BendTwist(10.0, 2.0, 3.0, (1.1, 0.2, 0.3)), closed=True
    ),
}


def disturbed(chain: ct.Chain) -> np.ndarray:
    """Canonical variables near a stretched helix, off |q| = 1 and q.g = 0, all of them in motion."""
    n = chain.count
    helix = ct.problems.helix_chain(n, amp=0.5, left="free").start
    state = ct.State({**helix.fields, "position": 1.3 * helix.position})
    z = chain.view("canonical").pack(state)
    return z + 0.03 * np.sin(1.0 + np.arange(14 * n) ** 2)


def assembled(chain: ct.Chain, blocks: np.ndarray) -> np.ndarray:
    """The whole matrix, everything outside the blocks zero."""
    n = chain.count
    whole = np.full((14 * n, 14 * n), mp.mpf(0), dtype=object)
    entry = Kernel(chain, "canonical", views.block_entry)
    place = [[entry.function(j, a, entry.par) for a in range(14)] for j in range(n)]
    for j in range(n):
        x, m = place[j][:7], place[j][7:]
        parts = [(x, x), (x, m), (m, x), (m, m), (m, place[j - 1][:7]), (m, place[(j + 1) % n][:7])]
        for k, (rows, columns) in enumerate(parts):
            if not chain.closed and ((k == 4 and j == 0) or (k == 5 and j == n - 1)):
                continue
            whole[np.ix_(rows, columns)] += blocks[j, k]
    return whole


def jacobian_error(chain: ct.Chain, **options) -> float:
    """Largest difference of an element from a central difference of the field, relative to the largest element."""
    with mpmath.workdps(harness.DIGITS):
        z = harness.numbers(disturbed(chain))
        jacobian = Kernel(chain, "canonical", views.block_jacobian, precise=True, **options)
        field = Kernel(chain, "canonical", views.field, precise=True)
        blocks = np.full((chain.count, 6, 7, 7), mp.mpf(0), dtype=object)
        jacobian.function(z, jacobian.par, blocks)
        found = assembled(chain, blocks)
        gap = mp.mpf(10) ** -16
        worst = largest = mp.mpf(0)
        for k in range(len(z)):
            rates = []
            for sign in (1, -1):
                moved = z.copy()
                moved[k] += sign * gap
                out = harness.zeros(len(z))
                field.function(moved, field.par, out)
                rates.append(out)
            column = (rates[0] - rates[1]) / (2 * gap)
            worst = max(worst, harness.largest(found[:, k] - column))
            largest = max(largest, harness.largest(column))
        return float(worst / largest)


@pytest.mark.parametrize("name", CHAINS)
def test_the_jacobian_is_that_of_the_canonical_equations(name):
    """Off the manifold too. The gap 1e-16 leaves its square times third derivatives: measured up to 1.5e-31."""
    assert jacobian_error(CHAINS[name]) < 1e-29


@pytest.mark.parametrize("name", BONDED)
def test_link_potentials_enter_by_differences(name):
    """Differences with a gap of 1e-6 leave its square times third derivatives: measured up to 6e-12."""
    assert jacobian_error(BONDED[name]) < 1e-10


def wrong_slope(s, which, par):
    """The derivative of the force, one digit wrong."""
    return 1.000001 * pair_kernels.lennard_jones_slope(s, 0, par)


def test_a_wrong_second_derivative_is_seen():
    assert jacobian_error(CHAINS["clamped"], fills={views.pair_slope: wrong_slope}) > 1e-8


def test_every_variable_belongs_to_the_body_whose_block_it_is_in():
    chain = CHAINS["clamped"]
    entry = Kernel(chain, "canonical", views.block_entry)
    body_of = chain.view("canonical").body_of
    assert [[body_of(entry.function(j, a, entry.par)) for a in range(14)] for j in range(3)] == [
        [j] * 14 for j in range(3)
    ]
