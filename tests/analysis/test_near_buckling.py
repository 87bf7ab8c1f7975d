"""Just before and just beyond the load at which a straight rod buckles: which it is, against the planar problem in 50 digits."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from test_rod_chain import rod

import catena as ct
from catena.analysis.statics import newton, stability
from catena.analysis.statics.equilibrium import Equilibrium

SLENDER = 1000.0


def lowest_by_50_digits(n: int, load: mpmath.mpf) -> mpmath.mpf:
    """omega^2 of the straight clamped rod under a load along its axis, of shifts u across it and turns t in a plane.

    A link of length l = h (1 - P/EA) bears T = -P along the mean of its ends' axes: V = GA s^2/2h + T (D t - l (t1^2 + t2^2)/4) + EI (t2 - t1)^2/2h,
    with D = u2 - u1, t = (t1 + t2)/2, s = D - l t. Inverse iteration.
    """
    made = rod(n, SLENDER)
    h, ea, ga, ei = (mpmath.mpf(x) for x in (made.spacing, made.stretch, made.shear[0], made.bending[0]))
    length, tension = h * (1 - load / ea), -load
    link = mpmath.zeros(4)  # by u1, t1, u2, t2
    across = (-1, -length / 2, 1, -length / 2)
    for a, x in enumerate(across):
        for b, y in enumerate(across):
            link[a, b] += ga / h * x * y
    for a, x in ((0, -tension / 2), (2, tension / 2)):
        for b in (1, 3):
            link[a, b] += x
            link[b, a] += x
    for a in (1, 3):
        link[a, a] += ei / h - tension * length / 2
        link[a, 4 - a] -= ei / h
    ends = [link[2:, 2:] + (link[:2, :2] if j < n - 2 else mpmath.zeros(2)) for j in range(n - 1)]
    masses = [mpmath.diag([body.mass, body.moments[1]]) for body in made.bodies[1:]]
    v = [mpmath.matrix([1, 0])] * (n - 1)
    for _ in range(6):
        f, pivots = [mass * x for mass, x in zip(masses, v, strict=True)], list(ends)
        for j in range(1, n - 1):  # elimination, block by block
            left = link[2:, :2] * pivots[j - 1] ** -1
            pivots[j], f[j] = pivots[j] - left * link[:2, 2:], f[j] - left * f[j - 1]
        v = [pivots[-1] ** -1 * f[-1]]
        for j in reversed(range(n - 2)):
            v.insert(0, pivots[j] ** -1 * (f[j] - link[:2, 2:] * v[0]))
        size = mpmath.sqrt(mpmath.fsum((x.T * mass * x)[0] for mass, x in zip(masses, v, strict=True)))
        v = [x / size for x in v]
    own = mpmath.fsum((x.T * end * x)[0] for end, x in zip(ends, v, strict=True))
    return own + 2 * mpmath.fsum((x.T * link[:2, 2:] * y)[0] for x, y in pairwise(v))


@cache
def buckling_load(n: int) -> float:
    """Where it vanishes: it is all but linear in the load."""
    with mpmath.workdps(50):
        p, q = mpmath.mpf("2.47"), mpmath.mpf("2.48")
        for _ in range(4):
            here, there = lowest_by_50_digits(n, p), lowest_by_50_digits(n, q)
            p, q = q, q - there * (q - p) / (there - here)
    return float(q)


def pressed(n: int, factor: float) -> Equilibrium:
    made = rod(n, SLENDER)
    return made.equilibrium(made.straight(), load=(-factor * buckling_load(n), 0.0, 0.0))


def assert_told(n: int, beyond: float) -> None:
    """A part `beyond` the load or before it. Beyond it the rod buckles, to where the lowest omega^2 is twice as large, as of every pitchfork; there
    it may be turned about its axis at no cost."""
    with mpmath.workdps(50):
        before, after = (float(lowest_by_50_digits(n, buckling_load(n) * (1.0 + x))) for x in (-beyond, beyond))
    calm, bent = pressed(n, 1.0 - beyond), pressed(n, 1.0 + beyond)
    assert calm.converged and not calm.saddles and (calm.flat, calm.negative) == (0, 0)
    assert calm.lowest == pytest.approx(before, rel=1e-3)
    assert bent.converged and (bent.flat, bent.negative) == (1, 0)
    assert bent.saddles[0] == pytest.approx(after, rel=1e-3)
    assert bent.lowest == pytest.approx(-2.0 * after, rel=0.01)
    assert bent.iterations < 60


@pytest.mark.parametrize(("n", "beyond"), [(17, 2e-4), (33, 1e-3), (33, 1e-4)])
def test_a_rod_is_told_from_one_that_buckles_near_its_critical_load(n, beyond):
    """Rounding of the assembled matrix would leave it open within 2e-3 of the load."""
    assert_told(n, beyond)


def test_by_the_rounding_of_the_assembled_matrix_alone_it_would_be_left_open(monkeypatch):
    monkeypatch.setattr(stability, "NEAR", 1e6)
    with pytest.raises(AssertionError):
        assert_told(33, 1e-3)


def test_with_half_of_the_stress_newtons_steps_would_crawl(monkeypatch):
    monkeypatch.setattr(newton, "SLIGHT", (0.0,))
    made = rod(33, 100.0)
    load = (-2.4696 * 1.002, 0.0, 0.0)
    assert made.equilibrium(made.straight(), load=load).iterations > 300
    monkeypatch.undo()
    assert made.equilibrium(made.straight(), load=load).iterations < 60


def test_modes_near_the_critical_load_are_stable_before_it_and_grow_beyond():
    made, load = rod(33, SLENDER), buckling_load(33)
    for factor in (0.9995, 1.0005):
        with mpmath.workdps(50):
            exact = float(lowest_by_50_digits(33, load * factor))
        chain = rod(33, SLENDER, right=ct.Force((-factor * load, 0.0, 0.0)))
        state = chain.start(made.straight().position * [1.0 - factor * load / made.stretch, 1.0, 1.0], check=False)
        modes = chain.normal_modes(state)
        assert modes.zero == 0 and modes.unstable == (0 if factor < 1.0 else 2)
        assert np.sign(modes.omega[:2]) * modes.omega[:2] ** 2 == pytest.approx([exact, exact], rel=1e-3)


@pytest.mark.parametrize("n", [33, 65])
def test_the_path_ends_at_the_critical_load(n):
    """Of 65 bodies it was found 9e-4 too late."""
    limit = rod(n, SLENDER).equilibrium_path((-1.0, 0.0, 0.0)).limit
    assert limit is not None and limit.kind == "bifurcation"
    assert limit.load == pytest.approx(buckling_load(n), rel=2e-6)


def test_a_column_on_two_hinges_finds_its_buckled_shape_however_little_it_is_shortened():
    """No way down was short enough. Where it has buckled the lowest omega^2 is twice that of the straight one, and it may be rolled and turned."""
    column = rod(33, 500.0, left=ct.Displaced(), right=ct.Displaced())
    straight = column.straight()
    for factor in (1.01, 1.1):
        shortened = 1.0 - factor * np.pi**2 / column.stretch
        found = column.equilibrium(column.start(straight.position * [shortened, 1.0, 1.0], straight.orientation))
        assert found.converged and (found.flat, found.negative, len(found.saddles)) == (2, 0, 1)
        assert found.lowest == pytest.approx(-2.0 * found.saddles[0], rel=2e-3)
