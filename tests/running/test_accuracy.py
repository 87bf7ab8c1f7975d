"""`run.error()` tells how far a path is from the exact one, and says when it cannot."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.errors import InputError
from catena.running import accuracy
from catena.running.plan import make_plan


def true_errors(run: ct.Run, problem, field: str) -> np.ndarray:
    """Largest component of the error along a run, from the exact solution."""
    exact = np.array([getattr(problem.exact(float(t)), field) for t in run.data.time])
    return np.abs(run.data[field].values - exact).max(axis=1)


@pytest.mark.parametrize(("method", "dt"), [(ct.RK4(), 0.02), (ct.Splitting(6), 0.05)], ids=str)
def test_the_error_is_that_against_the_exact_orbit(method, dt):
    """Kepler's orbit, e = 0.6: the next power of dt is left out, 20 % here; without the extrapolation of order p the factor
    1 - 2^-p would be missing, 6 % and less, so the order is looked at by itself below."""
    problem = ct.problems.kepler(e=0.6)
    run = ct.simulate(problem, method=method, dt=dt, steps=400, every=4, progress=False)
    error = run.error()
    assert error.regime == "asymptotic", error
    assert error.measured_order == pytest.approx(method.traits.order, abs=0.5)
    for field in ("q", "p"):
        truth = true_errors(run, problem, field)
        assert error[field].worst == pytest.approx(truth.max(), rel=0.2)
        assert error[field].end == pytest.approx(truth[-1], rel=0.2)


def test_the_difference_of_both_paths_is_extrapolated_with_the_order():
    """Symplectic Euler has order 1: the error is twice the difference, which alone (the twin) is half of it. From this start
    the coordinate converges with order 2, and its error is 4/3 of the difference."""
    problem = ct.problems.harmonic()
    run = ct.simulate(problem, method=ct.EulerA(), dt=0.001, steps=1000, every=10, progress=False)
    error = run.error()
    for field in ("q", "p"):
        assert error[field].worst == pytest.approx(true_errors(run, problem, field).max(), rel=0.05)
    assert abs(error["p"].worst / 2 - true_errors(run, problem, "p").max()) > 0.4 * error["p"].worst


def test_a_conserving_method_that_is_far_too_coarse_is_found_out():
    """Energy and angular momentum bounded and exact, the audit ok, and the orbit long lost."""
    run = ct.simulate(
        ct.problems.kepler(e=0.6), method=ct.StormerVerlet(), dt=0.05, steps=4000, every=4, progress=False
    )
    assert run.audit().ok
    assert "run.error()" in str(run.audit())
    error = run.error()
    assert error.regime == "separated"
    assert error["q"].worst > 0.5
    assert "separated" in repr(error)
    early = run.error(t_end=1.0)
    assert early.t_end == pytest.approx(1.0)
    assert early.regime == "asymptotic"
    assert early["q"].worst < 0.05
    assert run.error(t_end=1.05).t_end == early.t_end  # the last sample before it
    with pytest.raises(ct.InputError, match="t_end = -1"):
        run.error(t_end=-1)


def test_the_sign_of_a_quaternion_is_no_error_and_an_orientation_is_compared_by_its_angle():
    """A body turned by 1e-3 rad about an axis, and the same with the other sign."""
    plan = ct.simulate(ct.problems.book(), method=ct.ThreeRotations(), steps=4, progress=False).plan
    half = 0.5e-3
    one = np.tile((1.0, 0.0, 0.0, 0.0), (3, 1))
    other = np.tile((np.cos(half), 0.0, np.sin(half), 0.0), (3, 1))
    assert accuracy._distance("orientation", plan, one, other) == pytest.approx([1e-3] * 3, rel=1e-6)
    assert accuracy._distance("orientation", plan, one, -other) == pytest.approx([1e-3] * 3, rel=1e-6)


def test_the_orientation_of_a_free_body_has_the_error_of_its_exact_motion():
    problem = ct.problems.book()
    run = ct.simulate(problem, method=ct.ThreeRotations(), dt=0.05, steps=200, every=2, progress=False)
    exact = np.array([problem.exact(float(t)).orientation for t in run.data.time])
    angle = 2 * np.arccos(np.minimum(1.0, np.abs((exact * run.data.orientation.values).sum(axis=-1))))
    error = run.error()
    assert error["orientation"].worst == pytest.approx(angle.max(), rel=0.05)
    assert error["orientation"].unit == "rad"


def test_an_exact_flow_differs_by_rounding_only():
    run = ct.simulate(ct.problems.book(), method=ct.Jacobi(), dt=0.05, steps=100, progress=False)
    error = run.error()
    assert error.regime == "round-off"
    assert "rounding" in repr(error)


def test_paths_with_the_same_bits_are_not_called_free_of_errors():
    """A closed form gives the same bits for every step: 0 is what was compared, not the error."""
    run = ct.simulate(ct.problems.book(), method=ct.Jacobi(), dt=0.05, steps=100, progress=False)
    said = repr(accuracy.PathError((accuracy.FieldError("q", 0.0, 0.0, ""),), 1.0, "round-off", 4, None))
    assert "does not show" in said
    assert "as large" not in said
    assert run.error().measured_order is None


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10, None])
def test_a_method_with_its_own_steps_is_compared_by_its_tolerance(tolerance):
    """dt is only the interval between samples there: with half and twice of it the path is the same to the last bit, however wrong."""
    problem = ct.problems.kepler(e=0.6)
    run = ct.simulate(problem, method=ct.Taylor(tolerance), dt=0.25, steps=200, progress=False)
    error = run.error()
    truth = true_errors(run, problem, "q").max()
    if tolerance is None:
        assert error.regime == "round-off", error
        assert truth <= 10 * error["q"].worst
    else:
        assert error.regime == "tolerance", error
        assert error["q"].worst == pytest.approx(truth, rel=0.5)


def test_differences_that_shrink_faster_than_the_order_are_no_fault_of_the_step():
    """e = 0.6: 6.4 powers of 2 for an order of 4, as the step is long at the pericentre. The extrapolation with order 4 is off by less than
    the next power of the step, which makes a fifth of it at most."""
    problem = ct.problems.kepler(e=0.6)
    run = ct.simulate(problem, method=ct.Splitting(4), dt=0.05, steps=2000, progress=False)
    error = run.error()
    assert error.regime == "faster", error
    assert error.measured_order is not None and error.measured_order > 4.5
    assert error["q"].worst == pytest.approx(true_errors(run, problem, "q").max(), rel=0.2)
    assert "faster than the order" in repr(error) and "chaotic" not in repr(error)


def test_a_motion_that_is_not_smooth_does_not_shrink_as_the_method_promises(monkeypatch):
    """The twin: a ball between two slopes meets the edge at any part of a step, so order 4 is lost, and the paths have not separated."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    slopes = ct.Hamiltonian("p**2/2 + sqrt(x**2)", q="x", p="p")
    run = ct.simulate(slopes, slopes.start(1.0, 0.0), method=ct.Splitting(4), dt=0.02, steps=100, progress=False)
    error = run.error()
    assert error.regime == "pre-asymptotic", error
    assert "separated" not in repr(error)
    assert "does not shrink" in repr(error)


def test_an_order_that_a_lost_path_shows_is_none():
    """From 0.11 to 0.0001 of the extent: shrunk by ten powers of 2, from nothing. Half as far apart it was not lost."""
    plan, _ = make_plan(ct.problems.kepler(), None, ct.Splitting(4), dt=0.05, steps=4, t_end=None, every=1)
    assert accuracy._regime(plan, 1e-4, 0.11, 10.1) == "pre-asymptotic"
    assert accuracy._regime(plan, 1e-4, 0.05, 9.0) == "faster"


def test_a_stored_run_has_the_same_error(tmp_path):
    options = {"method": ct.RK4(), "dt": 0.05, "steps": 100, "every": 2, "progress": False}
    here = ct.simulate(ct.problems.kepler(), **options).error()
    ct.simulate(ct.problems.kepler(), out=tmp_path / "run.zarr", **options)
    assert ct.open(tmp_path / "run.zarr").error() == here


def test_it_prints_as_a_short_table_and_answers_mistakes():
    run = ct.simulate(ct.problems.kepler(), method=ct.RK4(), dt=0.05, steps=100, progress=False)
    error = run.error()
    lines = repr(error).splitlines()
    assert [line.split()[0] for line in lines] == ["error", "q", "p", "the"]
    assert lines[0].endswith("largest")
    assert "(order 4, measured" in lines[-1]
    assert error._repr_html_().count("<tr>") == 3
    assert [row.field for row in error] == ["q", "p"]
    with pytest.raises(InputError, match="no field 'qq'"):
        error["qq"]
    with pytest.raises(InputError, match="beyond the end of the run"):
        run.error(t_end=50.0)
    with pytest.raises(InputError, match="1 samples after the start"):
        run.error(t_end=0.05)


@pytest.mark.parametrize(
    ("measured", "regime"), [(4.9, "asymptotic"), (8.2, "asymptotic"), (4.0, "pre-asymptotic"), (9.0, "faster")]
)
def test_points_between_the_ends_of_steps_may_converge_as_the_ends_do(measured: float, regime: str) -> None:
    """Gauss(4, span=4): order 5 in between, 8 at the ends and, by symmetry, in the middle; only these are shared by the paths that are compared."""
    plan, _ = make_plan(ct.problems.lagrange_top(), None, ct.Gauss(4, span=4), dt=0.05, steps=4, t_end=None, every=1)
    assert accuracy._regime(plan, 1e-6, 1e-5, measured) == regime
    whole = replace(plan, method=ct.Gauss(4))
    assert accuracy._regime(whole, 1e-6, 1e-5, 4.9) == "pre-asymptotic", "the twin without points in between"
