"""The audit gives each series the verdict of the documented rules, and says in each table what contradicts the promise."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from itertools import product
from math import inf, isnan, nan, nextafter, sqrt

import numpy as np
import pytest

import catena as ct
from audited import judge
from catena.errors import InputError
from catena.running.auditing import Audit, AuditRow, Promise, assess, exact_limit
from uncompiled import simulate

EPS = np.finfo(float).eps


@pytest.mark.parametrize("exponent", [-960, -500, 500, 960])
def test_the_unit_of_the_quantity_changes_no_digit_and_no_verdict(exponent):
    """Squares of 2**960 overflow and those of 2**-960 vanish; the audit scales by powers of two, which is exact."""
    factor = 2.0**exponent
    walk = 1.0 + EPS * np.cumsum(np.random.default_rng(2).standard_normal(2000))
    for values in (walk, walk + 1e-9 * np.arange(2000)):
        one, other = judge(values), judge(factor * values, scale=factor)
        assert other.verdict == one.verdict
        assert (other.drift, other.drift_error) == (factor * one.drift, factor * one.drift_error)
        assert other.worst == factor * one.worst


@pytest.mark.parametrize(("constant", "scale"), [(0.0, 0.0), (0.0, 1.0), (1.5, 1.5), (-1e300, 1e300), (1e-300, 1e-300)])
def test_a_constant_is_exact(constant, scale):
    row = judge(np.full(500, constant), scale=scale, promised="exact")
    assert (row.verdict, row.worst, row.drift, row.drift_error) == ("exact", 0.0, 0.0, 0.0)


def test_a_rise_below_the_rounding_of_the_quantity_is_exact_and_one_above_it_drifts():
    """A perfect line has no error, so only its rise over the run against eps * scale can decide."""
    line = np.linspace(0, 1, 400)
    for scale in (1.0, 1e6):
        below = judge(0.9 * EPS * scale * line, scale=scale)
        above = judge(1.1 * EPS * scale * line, scale=scale)
        assert (below.verdict, above.verdict) == ("exact", "drifts")
        assert abs(below.drift) > 10 * below.drift_error


def test_a_quantised_ramp_of_a_few_rounding_units_drifts():
    """One unit in the last place per 25 samples is found, though each deviation is within the exact limit."""
    row = judge(1 + EPS * np.repeat(np.arange(20), 25), promised="exact")
    assert row.worst <= exact_limit(499, 1.0)
    assert row.verdict == "drifts"


def test_exact_ends_at_fifty_rounding_errors_of_a_walk():
    """50 eps sqrt(steps) scale, to the last bit; the steps count, not the samples."""
    steps, scale = 90_000, 4.0
    limit = 50 * EPS * 300.0 * scale
    spike = np.zeros(1000)
    for size, verdict in ((limit, "exact"), (nextafter(limit, inf), "bounded"), (nextafter(1e3 * limit, 0), "bounded")):
        spike[500] = size
        assert judge(spike, steps=steps, scale=scale, promised="exact").verdict == verdict


@pytest.mark.parametrize("samples", [3, 1000])
def test_broken_begins_a_thousand_times_beyond_what_must_be_exact_and_nowhere_for_others(samples):
    steps = 90_000
    spike = np.zeros(samples)
    spike[1] = nextafter(1e3 * 50 * EPS * 300.0, inf)
    verdicts = {
        kind: judge(spike, steps=steps, promised=kind).verdict
        for kind in ("exact", "needed", "bounded", "drifts", "none")
    }
    otherwise = "bounded" if samples >= 200 else "too short"
    assert verdicts == {
        "exact": "broken",
        "needed": "broken",
        "bounded": otherwise,
        "drifts": otherwise,
        "none": otherwise,
    }


@pytest.mark.parametrize("bad", [nan, inf, -inf])
@pytest.mark.parametrize("at", [0, 250, 499])
@pytest.mark.parametrize("samples", [500, 150])
def test_a_value_that_is_not_finite_is_broken(bad, at, samples):
    values = np.ones(samples)
    values[min(at, samples - 1)] = bad
    row = judge(values, promised="bounded")
    assert row.verdict == "broken"
    assert row.contradicts
    assert isnan(row.worst)
    assert isnan(row.drift)


def test_terms_that_are_not_finite_or_a_deviation_that_overflows_are_broken():
    values = np.full(300, 1.7e308)
    for scale in (nan, inf):
        assert judge(values, scale=scale, promised="bounded").verdict == "broken"
    values[100] = -1.7e308
    assert judge(values, scale=1.7e308, promised="bounded").verdict == "broken"


def test_a_scale_of_zero_leaves_no_room_for_round_off():
    values = np.zeros(300)
    values[100] = EPS
    assert judge(values, scale=0.0, promised="bounded").verdict == "bounded"
    assert judge(values, scale=0.0, promised="exact").verdict == "broken"


def test_steps_without_a_sample_leave_room_for_their_round_off():
    """A run of 20 steps that is sampled every 100 has but its start; between samples it was looked at all the same."""
    with pytest.warns(ct.CatenaWarning, match="no sample follows the start"):
        audit = simulate(ct.problems.lagrange_top(), None, ct.Splitting(2), dt=0.02, steps=20, every=100).audit()
    residual = audit["unit_residual"]
    assert residual.start == 0.0 and residual.worst > 0.0 and residual.verdict == "too short"
    assert audit.ok


def test_fewer_than_200_samples_are_too_short_and_contradict_nothing():
    line = 1e-12 * np.arange(200)
    for samples in (1, 2, 19, 199):
        row = judge(line[:samples], steps=10**6, promised="exact")
        assert row.verdict == "too short"
        assert isnan(row.drift)
        assert not row.contradicts
    assert judge(line, steps=10**6, promised="exact").verdict == "drifts"


def test_a_verdict_contradicts_the_promise_when_it_is_worse():
    """Every pair, written out."""
    worse = {
        ("exact", "bounded"), ("exact", "drifts"), ("exact", "broken"), ("bounded", "drifts"), ("bounded", "broken"),
    }  # fmt: skip
    kinds = ("exact", "bounded", "drifts", "none")
    pairs = product(kinds, ("exact", "bounded", "drifts", "jumps", "broken", "too short"))
    worse |= {(kind, "jumps") for kind in kinds}
    assert {(kind, verdict) for kind, verdict in pairs if Promise(kind).contradicted_by(verdict)} == worse


def kepler(step, steps=20_000, dt=0.05, every=10):
    """Energy and angular momentum of an orbit of eccentricity 0.3, with the largest magnitude of their terms."""
    q, v = np.array([0.7, 0.0]), np.array([0.0, sqrt(1.3 / 0.7)])
    energy, momentum, scales = [], [], []
    for k in range(steps + 1):
        if k % every == 0:
            kinetic, potential = (v @ v) / 2, -1 / sqrt(q @ q)
            terms = q[0] * v[1], -q[1] * v[0]
            energy.append(kinetic + potential)
            momentum.append(sum(terms))
            scales.append((max(kinetic, -potential), max(map(abs, terms))))
        q, v = step(q, v, dt)
    energy_scale, momentum_scale = np.max(scales, axis=0)
    time = dt * every * np.arange(len(energy))
    return Audit(
        (
            assess("energy", time, energy, steps=steps, scale=energy_scale, promised="bounded"),
            assess("angular_momentum", time, momentum, steps=steps, scale=momentum_scale, promised="exact"),
        )
    )


def attraction(q):
    return -q / sqrt(q @ q) ** 3


def verlet(q, v, dt):
    v = v + dt / 2 * attraction(q)
    q = q + dt * v
    return q, v + dt / 2 * attraction(q)


def runge_kutta_2(q, v, dt):
    middle_q, middle_v = q + dt / 2 * v, v + dt / 2 * attraction(q)
    return q + dt * middle_v, v + dt * attraction(middle_q)


def test_verlet_keeps_what_it_promises():
    """Energy bounded and angular momentum exact: Hairer, Lubich & Wanner, Theorem IX.8.1 and Section IV.2."""
    audit = kepler(verlet)
    assert [row.verdict for row in audit] == ["bounded", "exact"], str(audit)
    assert audit.ok


def test_an_explicit_runge_kutta_method_contradicts_the_promises_of_verlet():
    audit = kepler(runge_kutta_2)
    assert [row.verdict for row in audit] == ["drifts", "broken"], str(audit)
    assert audit.contradictions == audit.rows


def test_the_worst_component_decides_and_is_named():
    rng = np.random.default_rng(3)
    values = EPS * rng.standard_normal((1000, 3))
    values[:, 0] += 1e-3 * np.sin(np.arange(1000))  # larger, but bounded
    values[:, 2] += 1e-9 * np.arange(1000)
    row = judge(values)
    assert (row.quantity, row.component, row.label, row.verdict) == ("energy", 2, "energy[2]", "drifts")
    assert judge(values[:, 2]) == replace(row, component=None)
    values[700, 1] = nan
    values[700, 2] = 1e9  # beyond an exact promise too, but finite
    assert judge(values[:, 1:], promised="exact").component == 0
    assert judge(values[:, :0:-1], promised="exact").component == 1


def test_the_largest_deviation_decides_among_equal_verdicts():
    values = np.sin(np.arange(1000))[:, None] * [1e-6, 3e-6, 2e-6]
    assert judge(values).component == 1
    assert judge(values[:100]).component == 1  # too short


@pytest.fixture
def audit() -> Audit:
    return Audit(
        (
            AuditRow("energy", -0.5, 1e-6, 2e-9, 1e-8, "bounded", "bounded"),
            AuditRow("total_momentum", -0.0, 3e-4, 2e-6, 1e-8, "exact", "drifts", component=2),
            AuditRow("a<b", 1.0, nan, nan, nan, "drifts", "broken"),
        )
    )


def test_rows_are_found_by_quantity(audit):
    assert len(audit) == 3
    assert list(audit) == list(audit.rows)
    assert audit["total_momentum"] is audit.rows[1]
    assert "energy" in audit
    assert "enrgy" not in audit
    assert audit.contradictions == (audit.rows[1],)
    assert not audit.ok
    assert Audit((audit.rows[0], audit.rows[2])).ok
    assert Audit(()).ok


def test_an_unknown_quantity_is_answered_with_the_nearest(audit):
    with pytest.raises(InputError, match="did you mean energy"):
        audit["enrgy"]
    with pytest.raises(InputError, match="no rows"):
        Audit(())["energy"]


def test_a_quantity_has_one_row(audit):
    with pytest.raises(InputError, match="more than one row for energy"):
        Audit((audit.rows[0], audit.rows[0]))


def test_prints_as_a_plain_aligned_table(audit):
    assert str(audit) == repr(audit)
    assert str(audit) == (
        "quantity           start  worst deviation  drift per time  +- error  promised  verdict\n"
        "-----------------  -----  ---------------  --------------  --------  --------  --------------------\n"
        "energy              -0.5         1.00e-06       +2.00e-09   1.0e-08  bounded   bounded\n"
        "total_momentum[2]      0         3.00e-04       +2.00e-06   1.0e-08  exact     drifts (contradicts)\n"
        "a<b                    1              nan               -         -  drifts    broken\n"
        "This tells what is kept, not how accurate the path is: run.error() (catena info RUN.zarr --error) shows that."
    )


def test_damage_stands_below_the_table_and_is_not_ok(audit):
    torn = Audit((audit.rows[0],), ["torn, link 1, t = 2"], ["stopped by late"])
    assert not torn.ok
    assert torn.contradictions == ()
    assert str(torn).splitlines()[3:5] == ["torn, link 1, t = 2", "stopped by late"]
    assert '<p style="color: red">torn, link 1, t = 2</p>' in torn._repr_html_()


def test_what_the_audit_does_not_say_is_said_only_where_something_is_promised(audit):
    assert "run.error()" in str(audit)
    assert "run.error()" not in str(Audit((audit.rows[2],)))


def test_what_is_too_short_is_told_what_it_lacks(audit):
    row = AuditRow("energy", 1.0, 1e-3, float("nan"), float("nan"), "bounded", "too short")
    assert "fewer than 200 samples" in str(Audit((row,))) and "smaller `every`" in str(Audit((row,)))
    assert "samples" not in str(audit)


def test_the_time_of_a_jump_stands_in_the_verdict():
    row = AuditRow("energy", 1.0, 1e-3, 0.0, 1e-3, "none", "jumps", jumps_at=1.39)
    assert str(Audit((row,))).splitlines()[2].endswith("none      jumps at t = 1.39 (contradicts)")


def test_the_terminal_shows_contradictions_and_only_them_in_red(audit):
    from rich.console import Console

    stream = StringIO()
    Console(file=stream, force_terminal=True, color_system="standard", width=200).print(audit)
    red = [line for line in stream.getvalue().splitlines() if "\x1b[31m" in line]
    assert len(red) == 1
    assert "total_momentum[2]" in red[0]
    assert "a<b" in stream.getvalue()


def test_the_notebook_shows_contradictions_in_red_and_escapes_names(audit):
    lines = audit._repr_html_().splitlines()
    assert [("red" in line) for line in lines] == [False, False, False, True, False, False, False]
    assert "<td>a&lt;b</td>" in lines[4]


def test_the_dictionary_is_strict_json(audit):
    content = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert content["total_momentum"] == {
        "start": 0.0, "worst": 3e-4, "drift": 2e-6, "drift_error": 1e-8,
        "promised": "exact", "verdict": "drifts", "component": 2, "jumps_at": None,
        "contradicts": True,
    }  # fmt: skip
    assert content["a<b"]["worst"] is None


def test_the_terminal_library_is_loaded_only_to_print():
    code = "import sys, catena.running.auditing; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": np.arange(299.0)}, r"time has shape \(299,\), values \(300,\)"),
        ({"values": np.zeros((300, 2, 2))}, r"values \(300, 2, 2\)"),
        ({"values": np.zeros((300, 0))}, r"values \(300, 0\)"),
        ({"time": np.zeros(0), "values": np.zeros(0)}, r"values \(0,\)"),
        ({"time": np.zeros(300)}, "strictly monotonic"),
        ({"time": np.append(np.arange(299.0), nan)}, "strictly monotonic"),
        ({"steps": 298}, "steps = 298 for 300 samples"),
        ({"scale": -1.0}, "scale = -1.0 is negative"),
        ({"promised": "exactly"}, "did you mean exact"),
    ],
)
def test_impossible_input_is_refused(change, message):
    given = {
        "time": np.arange(300.0),
        "values": np.zeros(300),
        "steps": 299,
        "scale": 1.0,
        "promised": "exact",
    } | change
    with pytest.raises(InputError, match=message) as caught:
        assess("energy", given.pop("time"), given.pop("values"), **given)
    assert str(caught.value).count("\n") <= 3
