"""Final states of every method on the classic problems against an independent implementation in 24 to 30 digits."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
import harness
from catena.kernels.views import NOT_CONVERGED
from harness import problem
from places import read_reference

TABLES = read_reference("classic.toml")


def method_of(text: str):
    """The method that a table names, written as a user writes it."""
    return eval(text, {name: getattr(ct, name) for name in ct.__all__})


ROWS = [
    pytest.param(method_of(text), name, end, id=f"{text}-{name}")
    for name, table in TABLES.items()
    for text, end in table["final"].items()
]


def tolerance(method, name: str) -> float:
    table = TABLES[name]
    return table["tolerance_compositions"] if isinstance(method, ct.Composition) else table["tolerance"]


def final(method, name: str, *, compiled: bool = False) -> np.ndarray:
    table = TABLES[name]
    return harness.final(method, problem(name), dt=table["dt"], steps=table["steps"], compiled=compiled)


def deviation(method, name: str, end: list[float]) -> float:
    return float(np.abs(final(method, name) - end).max())


@pytest.mark.parametrize(("method", "name", "end"), ROWS)
def test_the_final_state_is_the_tabulated_one(method, name, end):
    """Round-off of 100 to 1000 steps; a third implementation in float64 is within 2e-13 of the table."""
    assert deviation(method, name, end) <= tolerance(method, name)


@pytest.mark.parametrize(
    ("splitting", "same"),
    [(ct.Splitting(2), ct.StormerVerlet()), (ct.Splitting(8), ct.Composition(ct.StormerVerlet(), "kahanli8"))],
)
@pytest.mark.parametrize("name", ["harmonic", "henon_heiles", "kepler"])
def test_splittings_of_order_2_and_8_are_verlet_and_its_composition(splitting, same, name):
    """Written differently (kicks merged), so equal to round-off only."""
    end = TABLES[name]["final"][str(same)]
    assert deviation(splitting, name, end) <= tolerance(splitting, name)


def test_sun_geng_is_gauss_on_the_oscillator():
    """Both have the Pade approximant (3, 3) as stability function."""
    assert np.abs(final(ct.SunGeng(), "harmonic") - final(ct.Gauss(3), "harmonic")).max() < 1e-13


@pytest.mark.parametrize("solver", ["fixed-point", "newton"])
@pytest.mark.parametrize("make", [ct.Gauss, ct.RadauIIA], ids=["Gauss", "RadauIIA"])
def test_fixed_point_and_newton_solve_the_same_equations(make, solver):
    for name in ("pendulum", "kepler"):
        end = TABLES[name]["final"][str(make(3))]
        assert deviation(make(3, solver=solver), name, end) <= TABLES[name]["tolerance"]


@pytest.mark.parametrize(("dt", "step"), [(0.05, 26), (0.02, 174)])
def test_implicit_euler_on_kepler_fails_where_the_fixed_point_diverges(dt, step):
    """It loses energy until the planet falls into the sun: a failure, never silent garbage."""
    run = harness.driver(ct.ImplicitEuler(), problem("kepler"), dt=dt)
    chunk = run.advance(round(5 / dt))
    assert chunk.status == NOT_CONVERGED
    assert run.step == len(chunk.rows) == step - 1
    assert np.isfinite(chunk.rows).all()


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (ct.Gauss(3), "kepler"),
        (ct.Splitting(6), "kepler"),
        (ct.Composition(ct.StormerVerlet(), "kahanli8"), "kepler"),
        (ct.RK4(), "galactic"),
        pytest.param(ct.ImplicitMidpoint(), "pendulum", marks=pytest.mark.slow),
        pytest.param(ct.SunGeng(), "galactic", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_compiled_and_interpreted_loops_give_the_same_bits(method, name):
    assert final(method, name, compiled=True).tobytes() == final(method, name).tobytes()


@pytest.mark.parametrize("error", [1e-11, 1e-9])
def test_a_wrong_11th_digit_in_a_weight_is_seen(error, monkeypatch):
    """What the table adds to a test of the order: 1e-11 in a weight has no visible effect there."""
    from catena.methods.splitting import schemes

    right = schemes.SCHEMES["kahanli6"]
    weights = right.weights.copy()
    weights[0] += error
    end = TABLES["pendulum"]["final"]["Composition(StormerVerlet(), 'kahanli6')"]
    method = ct.Composition(ct.StormerVerlet("A"), "kahanli6")
    harness.program_of.cache_clear()
    monkeypatch.setitem(
        schemes.SCHEMES, "kahanli6", type(right)(right.name, 6, weights, right.exact_weights, right.cite)
    )
    assert deviation(method, "pendulum", end) > tolerance(method, "pendulum")
    harness.program_of.cache_clear()
