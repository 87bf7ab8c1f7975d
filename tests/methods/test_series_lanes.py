"""Products of series are gathered into groups of four, and each is found where it is formed."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import catena as ct
from catena.engine.fours import NAMES
from catena.engine.pairing import Pairing
from catena.kernels import eights, fours
from catena.methods.taylor import series_text
from catena.methods.taylor.series_lanes import Group, Layout, Operand
from catena.methods.taylor.taylor import largest

X = [Operand(k) for k in range(12)]


def misplaced(layout: Layout) -> list[tuple[Operand, Operand]]:
    """Lanes that are not the product of their own columns."""
    found = []
    for lane, (group, place) in layout.where.items():
        wanted = {layout.columns[lane[0]], layout.columns[lane[1]]}
        if set(layout.groups[group].columns()[place]) != wanted:
            found.append(lane)
    return found


def test_every_product_is_formed_from_its_own_columns() -> None:
    """Of random lists; with two groups exchanged (the deliberate error) it is not."""
    random = np.random.default_rng(1)
    for _ in range(50):
        pairs = [(X[a], X[b]) for a, b in random.integers(0, 12, (20, 2))]
        layout = Layout.of([*X[:5], None], pairs)
        assert set(layout.where) == set(pairs) and not misplaced(layout)
        assert len(layout.groups) <= len(set(pairs))
        assert all(column < layout.used <= layout.width for column in layout.columns.values())
        first, second, *others = layout.groups
        assert misplaced(replace(layout, groups=(second, first, *others)))


def test_products_of_one_series_with_its_neighbours_are_one_group() -> None:
    products = [(X[5], X[k]) for k in range(4)]
    assert Layout.of(X[:8], products).groups == (Group(5, 0),)
    squares = [(X[k], X[k]) for k in range(4)]
    assert Layout.of(X[:8], squares).groups == (Group(0, 0, abreast=True),)


def test_a_top_has_seven_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three momenta times the quaternion, two products of momenta, two of the quaternion with itself."""
    layouts, write = [], series_text.Writer.coefficients
    monkeypatch.setattr(
        series_text.Writer, "coefficients", lambda writer: layouts.append(writer.layout) or write(writer)
    )
    monkeypatch.setattr("catena.engine.pairing._recorded", {})
    Pairing.of(ct.problems.kovalevskaya().system, ct.Taylor()).stepper  # noqa: B018
    assert len(layouts[0].groups) == 7 and layouts[0].width == 8


def test_a_coefficient_that_is_not_finite_is_seen_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.methods.taylor.taylor.row_width", lambda table: 4)
    for place in range(4):
        for wrong in (math.nan, math.inf):
            table = np.array([1.0, -3.0, 2.0, 0.5])
            assert largest(table, 0, 0, 4) == 3.0
            table[place] = wrong
            assert math.isnan(largest(table, 0, 0, 4))


def through(f, t):
    """Every function of four numbers at a time."""
    a = f.load_four(t, 0)
    b = f.load_same(t, 5)
    c = f.subtract_four(f.multiply_four(a, b), f.add_four(a, f.same_four(0.3)))
    d = f.fuse_four(c, a, b)
    p0, p1, p2, p3 = f.parts_of_four(d)
    f.store_four(t, 8, f.join_four(p3, p1, p0, p2))


def test_vectors_have_the_bits_of_tuples() -> None:
    """And not those of a product that is rounded before it is added."""
    compiled = {}
    exec("def made(t):\n" + TEXT, {name: function for name, function in NAMES.items()}, compiled)
    start = np.concatenate([np.random.default_rng(2).normal(size=8), np.zeros(4)])
    plain, vectors, rounded = start.copy(), start.copy(), start.copy()
    through(fours, plain)
    njit(error_model="numpy")(compiled["made"])(vectors)
    assert plain.tobytes() == vectors.tobytes() and plain[8:].all()
    twice = {**vars(fours), "fuse_four": lambda a, b, c: fours.add_four(fours.multiply_four(a, b), c)}
    through(SimpleNamespace(**twice), rounded)
    assert rounded.tobytes() != plain.tobytes()


def through_eights(f, t):
    """Every function of eight numbers at a time."""
    a = f.load_eight(t, 1)
    b = f.add_eight(a, f.multiply_eight(f.square_eight(a), f.same_eight(0.3)))
    c = f.larger_eight(b, f.same_eight(0.1))
    p0, p1, p2, p3, p4, p5, p6, p7 = f.parts_of_eight(c)
    f.store_eight(t, 9, f.add_eight(c, f.same_eight(p7 * p6 * p5 * p4 + p3 * p2 * p1 * p0)))


def test_vectors_of_eight_have_the_bits_of_tuples() -> None:
    """Also where a number is none, with which nothing can be compared: the other one is taken. And not those of the smaller of both."""
    compiled = {}
    exec("def made(t):\n" + TEXT_OF_EIGHTS, {name: function for name, function in NAMES.items()}, compiled)
    for nothing in (0.5, math.nan):
        start = np.concatenate([np.random.default_rng(2).normal(size=9), np.zeros(8)])
        start[4] = nothing
        plain, vectors, other = start.copy(), start.copy(), start.copy()
        through_eights(eights, plain)
        njit(error_model="numpy")(compiled["made"])(vectors)
        assert plain.tobytes() == vectors.tobytes() and np.isfinite(plain[9:]).all()
        wrong = {**vars(eights), "larger_eight": lambda a, b: tuple(map(min, a, b))}
        through_eights(SimpleNamespace(**wrong), other)
        assert other.tobytes() != plain.tobytes()


TEXT = """\
    a = load_four(t, 0)
    b = load_same(t, 5)
    c = subtract_four(multiply_four(a, b), add_four(a, same_four(0.3)))
    d = fuse_four(c, a, b)
    p0, p1, p2, p3 = parts_of_four(d)
    store_four(t, 8, join_four(p3, p1, p0, p2))
"""
TEXT_OF_EIGHTS = """\
    a = load_eight(t, 1)
    b = add_eight(a, multiply_eight(square_eight(a), same_eight(0.3)))
    c = larger_eight(b, same_eight(0.1))
    p0, p1, p2, p3, p4, p5, p6, p7 = parts_of_eight(c)
    store_eight(t, 9, add_eight(c, same_eight(p7 * p6 * p5 * p4 + p3 * p2 * p1 * p0)))
"""
