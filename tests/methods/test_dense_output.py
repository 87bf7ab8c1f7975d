"""Points between the steps of Gauss methods: on the polynomial of the collocation, without a trace in the steps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.methods.runge_kutta import dense
from catena.methods.runge_kutta.tableaux import gauss
from catena.running.crossings import crossing_of

KEPLER = ct.problems.kepler(e=0.3)


def rows(method, dt: float, steps: int, *, every: int = 1) -> tuple[np.ndarray, Driver]:
    program = build(KEPLER.system, method, compiled=False)
    run = Driver(program, program.view.pack(KEPLER.start), t0=0.0, dt=dt, every=every)
    chunk = run.advance(steps)
    assert chunk.status == 0
    return chunk.rows[:, :4], run


def test_weights_are_integrals_of_the_polynomials_of_the_nodes() -> None:
    """By quadrature of the Lagrange polynomials with twice as many nodes; 1e-13 as 16 stages divide by differences of nodes."""
    x, w = np.polynomial.legendre.leggauss(20)
    for s in (1, 2, 5, 8, 16):
        t, m = gauss(s), 5
        for row, k in zip(dense.weights_between(t, m), range(1, m), strict=True):
            theta = k / m
            points = theta * (x + 1.0) / 2.0
            for j in range(s):
                others = np.delete(t.c, j)
                lagrange = np.prod([(points - c) / (t.c[j] - c) for c in others], axis=0) if s > 1 else np.ones(20)
                assert abs(row[j] - theta / 2.0 * (w * lagrange).sum() / t.b[j]) < 1e-12


def orders(stages: int) -> tuple[float, float]:
    """Measured between steps, at theta = 1/3 and 2/3, and at their ends: of the largest errors until t = 1.5 with 8 and 16 steps."""
    errors = []
    for n in (8, 16):
        dt = 1.5 / (3 * n)
        found, _ = rows(ct.Gauss(stages, solver="fixed-point", span=3), dt, 3 * n)
        right = np.array([KEPLER.exact(dt * k).q for k in range(1, 3 * n + 1)])
        off = np.abs(found[:, :2] - right).max(axis=1).reshape(n, 3)
        errors.append((off[:, :2].max(), off[:, 2].max()))
    (between, ends), (finer_between, finer_ends) = errors
    return math.log2(between / finer_between), math.log2(ends / finer_ends)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_points_between_steps_have_the_order_that_is_said(stages: int) -> None:
    """s + 1, two for one stage, and 2 s at the ends of steps."""
    between, ends = orders(stages)
    print(f"Gauss({stages}): between steps {between:.2f}, at their ends {ends:.2f}")
    assert abs(between - ct.Gauss(stages, span=3).traits.order) < 0.45
    assert abs(ends - 2 * stages) < 0.6


def test_a_straight_line_between_the_ends_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dense, "weights_between", lambda t, m: np.repeat(np.arange(1, m)[:, None] / m, t.stages, axis=1)
    )
    assert orders(3)[0] < 2.5


def test_steps_do_not_depend_on_samples() -> None:
    """Ends of steps have every bit of those without points between, whatever is sampled; powers of two, so that lengths are the same."""
    plain, alone = rows(ct.Gauss(3), 0.25, 8)
    for span, every in ((2, 1), (8, 1), (8, 8), (4, 16)):
        found, run = rows(ct.Gauss(3, span=span), 0.25 / span, 8 * span, every=every)
        assert run.z.tobytes() == alone.z.tobytes() and run.e.tobytes() == alone.e.tobytes()
        if every == 1:
            assert found[span - 1 :: span].tobytes() == plain.tobytes()


def test_a_run_that_stops_between_steps_goes_on_as_if_it_had_not() -> None:
    _, whole = rows(ct.Gauss(3, span=4), 0.125, 11)
    _, first = rows(ct.Gauss(3, span=4), 0.125, 6)
    again = Driver(first.program, first.z, t0=0.0, dt=0.125, every=1)
    again.restore(first.step, {name: array.copy() for name, array in first.state().items()})
    again.advance(5)
    assert again.z.tobytes() == whole.z.tobytes() and again.e.tobytes() == whole.e.tobytes()


def test_a_crossing_is_found_by_steps_of_its_own() -> None:
    """A quarter of a period of an oscillator: right to the error of the sample before it, h^5/720 with h = 0.4."""
    system = ct.Hamiltonian("p**2/2 + q**2/2", "q", "p")
    crossing = crossing_of(system, [ct.Section("zero", "q", direction=-1)], ())
    program = build(system, ct.Gauss(4, solver="fixed-point", span=4), crossing=crossing, compiled=False)
    run = Driver(program, program.view.pack(system.start(q=1.0, p=0.0)), t0=0.0, dt=0.1, every=1)
    run.first_row()
    found = run.advance(17).crossings
    assert len(found) == 1 and abs(found[0, 1] - math.pi / 2) < 0.4**5 / 720


def test_nothing_is_promised_between_steps() -> None:
    """Quadratic invariants are kept at the ends of steps only, so that an audit of all samples must not hold the method to it."""
    method = ct.Gauss(2, span=4)
    assert not method.traits.symplectic and method.traits.promise({"quadratic"}) == "none"
    assert ct.Gauss(2).traits.promise({"quadratic"}) == "exact" and str(method) == "Gauss(2, span=4)"


@pytest.mark.parametrize("span", [0, -1, 2.0, True, 1001, Fraction(3), "4"])
def test_a_span_that_is_none_is_refused(span: object) -> None:
    with pytest.raises(ct.InputError, match="span"):
        ct.Gauss(2, span=span)  # type: ignore[arg-type]
