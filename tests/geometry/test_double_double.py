"""Sums and products with their rounding errors, against rational arithmetic."""

from __future__ import annotations

import operator
import random
from fractions import Fraction
from functools import reduce

import pytest

from catena.geometry.double_double import exact_sum, pair_product, put_product, two_product, two_sum


def wide(rng: random.Random) -> float:
    """A float with 53 random bits, of magnitude 2^-40 to 2^40."""
    return rng.choice((-1, 1)) * rng.getrandbits(53) * 2.0 ** rng.randint(-93, -13)


def test_a_sum_and_a_product_are_exact_with_their_error():
    rng = random.Random(1)
    for _ in range(2000):
        a, b = wide(rng), wide(rng)
        high, low = two_sum(a, b)
        assert (Fraction(high) + Fraction(low), high) == (Fraction(a) + Fraction(b), a + b)
        high, low = two_product(a, b)
        assert (Fraction(high) + Fraction(low), high) == (Fraction(a) * Fraction(b), a * b)


def test_a_product_of_pairs_has_a_hundred_bits():
    """Relative error below 2^-102, as promised; measured 2^-104."""
    rng = random.Random(2)
    worst = Fraction(0)
    for _ in range(2000):
        pairs = [two_sum(wide(rng), wide(rng)) for _ in range(2)]
        exact = (Fraction(pairs[0][0]) + Fraction(pairs[0][1])) * (Fraction(pairs[1][0]) + Fraction(pairs[1][1]))
        high, low = pair_product(*pairs)
        worst = max(worst, abs((Fraction(high) + Fraction(low)) / exact - 1))
    assert Fraction(1, 2**110) < worst < Fraction(1, 2**102)


@pytest.mark.parametrize("rest", [0.0, 2.0**-300, -(2.0**-1000)])
def test_an_exact_sum_keeps_what_is_left_when_everything_cancels(rest):
    """Products and their negatives, shuffled, with a remainder 2^-300 or 2^-1000 of them; a plain sum loses it."""
    rng = random.Random(3)
    lost = 0
    for _ in range(100):
        terms = [0.0] * 16
        for k in range(0, 16, 2):
            put_product(terms, k, wide(rng), wide(rng))
        terms = [*terms, rest, *(-x for x in terms), 0.0]
        rng.shuffle(terms)
        lost += reduce(operator.add, terms) != rest  # `sum` compensates from Python 3.12 on
        assert exact_sum([7.0, *terms], 1, len(terms)) == rest
    assert lost > 90


def test_an_exact_sum_is_the_rounded_rational_sum():
    """One unit in the last place is allowed: the parts that do not overlap are added with rounding."""
    rng = random.Random(4)
    for _ in range(500):
        terms = [wide(rng) for _ in range(32)]
        exact = sum(map(Fraction, terms))
        assert abs(Fraction(exact_sum(terms, 0, 32)) - exact) <= abs(exact) * Fraction(1, 2**52)
