"""The audit finds drifts, raises few false alarms, and says in each table what contradicts the promise."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from io import StringIO
from itertools import pairwise, product
from math import inf, isnan, nan, nextafter, sqrt
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.auditing import (
    Audit,
    AuditRow,
    Promise,
    alarm_level,
    assess,
    drift,
    exact_limit,
    fit_drift,
    jumps,
    verdicts,
)
from catena.errors import InputError

ROOT = Path(__file__).parent.parent
EPS = np.finfo(float).eps

sys.path.insert(0, str(ROOT / "benchmarks"))
calibration = importlib.import_module("audit_calibration")


def judge(values, *, dt=0.125, start_time=0.0, steps=None, scale=1.0, promised="none", **more) -> AuditRow:
    values = np.asarray(values)
    time = start_time + dt * np.arange(len(values))
    steps = len(values) - 1 if steps is None else steps
    return assess("energy", time, values, steps=steps, scale=scale, promised=promised, **more)


def reference_drift(time, values, within):
    """Drift and error by another route: the inverse of each covariance of the 40 block means, written out."""
    edges = [k * len(time) // 40 for k in range(41)]
    means = np.array([np.mean(values[a:b] - values[0]) for a, b in pairwise(edges)])
    centers = np.array([np.mean(time[a:b]) for a, b in pairwise(edges)])
    walk = np.array([[min(i, j) + (1 / 3 if i == j else 1 / 2) for j in range(40)] for i in range(40)])
    design = np.stack([np.ones(40), centers], axis=1)
    found = []
    for ratio in (0.0, *np.logspace(-4, 2, 25), None):
        covariance = walk if ratio is None else ratio * walk + np.eye(40)
        inverse = np.linalg.inv(covariance)
        normal = design.T @ inverse @ design
        best = np.linalg.solve(normal, design.T @ inverse @ means)
        residual = means - design @ best
        variance = residual @ inverse @ residual / 38
        determinants = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(normal)[1]
        error = sqrt(variance * np.linalg.inv(normal)[1, 1])
        found.append((-(38 * np.log(variance) + determinants) / 2, abs(best[1]) / error, best[1], error))
    likely = max(likelihood for likelihood, *_ in found)
    return min(one[1:] for one in found if one[0] >= likely - within)[1:]


@pytest.mark.parametrize("rows", [1, 5, 100])
@pytest.mark.parametrize("make", ["walk", "noise", "both"])
def test_drift_and_error_are_those_of_the_least_significant_plausible_walk(make, rows):
    """Round-off of two routes through covariances of condition 1e4: 1e-9. Which walks are plausible depends on the rows."""
    rng = np.random.default_rng(5)
    noise, walk = rng.standard_normal(1007), np.cumsum(rng.standard_normal(1007))
    values = 3.0 + {"walk": walk, "noise": noise, "both": walk + 10 * noise}[make]
    time = 0.125 * np.arange(1007)
    slope, error = reference_drift(time, values, 2 + 0.5 * max(0.0, np.log(2e-4 / (1e-3 / 1.2 / rows))))
    row = judge(values, rows=rows)
    assert row.drift == pytest.approx(slope, rel=1e-9)
    assert row.drift_error == pytest.approx(error, rel=1e-9)


def test_samples_that_are_unevenly_spaced_have_a_line_in_time():
    """The line goes through the mean times of the blocks, wherever they are."""
    time = np.exp(np.linspace(0, 1, 1000))
    row = assess("energy", time, 5.0 - 0.5 * time, steps=999, scale=10.0, promised="none")
    assert row.drift == pytest.approx(-0.5, rel=1e-12)
    slope, error = reference_drift(time, np.cos(time), 2.0)
    row = assess("energy", time, np.cos(time), steps=999, scale=1.0, promised="none")
    assert (row.drift, row.drift_error) == (pytest.approx(slope, rel=1e-9), pytest.approx(error, rel=1e-9))


@pytest.mark.parametrize("samples", [200, 201, 219, 2007])
def test_a_line_has_its_own_slope_whatever_the_number_of_samples(samples):
    row = judge(7.0 - 0.25 * 0.125 * np.arange(samples), scale=10.0)
    assert row.drift == pytest.approx(-0.25, rel=1e-13)
    assert row.verdict == "drifts"


@pytest.mark.parametrize("samples", [200, 207, 219])
def test_every_sample_counts(samples):
    quiet = np.zeros(samples)
    for k in range(1, samples):  # sample 0 is the reference of the deviation
        one = quiet.copy()
        one[k] = 1.0
        assert judge(one).drift != 0.0, k


def test_drift_and_error_do_not_depend_on_the_origin_of_time():
    """At 2**49 the times, multiples of 1/8, are still exact, but their sums are not."""
    values = np.cumsum(np.random.default_rng(1).standard_normal(1000))
    assert judge(values, start_time=2.0**49) == judge(values)


def test_running_backwards_in_time_reverses_the_drift_and_nothing_else():
    values = np.cumsum(np.random.default_rng(1).standard_normal(1000))
    forward, backward = judge(values), judge(values, dt=-0.125)
    assert backward == replace(forward, drift=-forward.drift)


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


@pytest.mark.parametrize("at", [4, 25, 37, 250, 375, 495])
def test_a_single_step_of_a_constant_is_a_jump_and_no_drift(at):
    """Four samples are needed on each side; a step within what round-off explains is exact."""
    values = np.ones(500)
    values[at:] += 1e-3
    row = judge(values)
    assert (row.verdict, row.contradicts) == ("jumps", True)
    assert abs(row.jumps_at - 0.125 * at) <= 0.25
    assert judge(values, continuous=False).verdict == "bounded"
    values[at:] = 1 + 2 * EPS
    assert judge(values).verdict == "exact"


@pytest.mark.parametrize("at", [1, 2, 3, 497, 498, 499])
def test_what_fewer_than_four_samples_show_may_come_back(at):
    values = np.ones(500)
    values[at:] += 1e-3
    assert judge(values).verdict == "bounded"


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_peak_that_returns_is_no_jump(width):
    values = np.ones(2000) + 1e-12 * np.sin(np.arange(2000))
    for at in (300, 900, 901, 1500):
        values[at : at + width] += 1e-3
    assert judge(values).verdict == "bounded"


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_few_jumps_of_a_smooth_series_alarm(number):
    """As the energy of a loop whose rank is decided anew: 0.4 % in jumps, oscillations of 1e-6 between them."""
    rng = np.random.default_rng(number)
    time = np.arange(2000)
    values = 2.5 + 1e-6 * np.sin(2 * np.pi * time / 700)
    for at in rng.choice(np.arange(20, 1980, 15), number, replace=False):
        values[at:] += 0.01 * rng.choice((-1, 1))
    row = judge(values, promised="bounded", rows=4)
    assert row.verdict in ("jumps", "drifts"), row
    assert row.contradicts


def test_levels_that_change_a_little_with_each_encounter_are_bounded():
    """Plateaus between the encounters of an orbit, each a little off the one before, and peaks between them. Twin: any jump."""
    orbit = np.arange(2000) // 52
    values = -0.5 + 1e-3 * np.sin(0.5 * orbit)
    values[::52] += 3e-3
    assert judge(values, promised="bounded").verdict == "bounded"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "LARGE", inf)
        assert judge(values, promised="bounded").verdict == "jumps"


def test_small_errors_that_come_in_a_moment_are_no_jumps():
    """As those of the momentum of a body that flips now and then: 1e-9 of the scale at each flip. Twin: a thousandth."""
    flips = np.where(np.arange(2000) // 400 % 2 == 0, 0.0, 1.0)
    for size, verdict in ((1e-9, "bounded"), (1e-3, "jumps")):
        assert judge(1.0 + size * flips + 1e-15 * (np.arange(2000) % 3), promised="none").verdict == verdict


PHASES = np.linspace(0, 2 * np.pi, 16, endpoint=False)


def as_long_as_a_block(period: float, samples: int) -> set[str]:
    """Verdicts on oscillations of this period, at several phases."""
    turns = 2 * np.pi * np.arange(samples) / period
    return {judge(1 + 1e-6 * np.cos(turns + phase)).verdict for phase in PHASES}


@pytest.mark.parametrize("period", [12.43, 12.57, 25.2, 50.0005, 50.3, 50.5])
@pytest.mark.parametrize("samples", [2001, 2020, 2039])
def test_an_oscillation_as_long_as_a_block_neither_drifts_nor_jumps(period, samples):
    """Its means beat with the blocks, slower than the run: noise-free, smooth, and at most 1/28 of its amplitude."""
    assert as_long_as_a_block(period, samples) == {"bounded"}


def test_beats_that_count_fail_it(monkeypatch):
    """Broken twin: a beat slower than the run is a line, as far as can be seen."""
    monkeypatch.setattr(verdicts, "BEAT", inf)
    assert "drifts" in as_long_as_a_block(50.3, 2001)


def test_blocks_of_two_sizes_make_a_jump_that_is_known_in_size():
    """An oscillation of exactly 50 samples in blocks of 50 and 51: a staircase, within the bound that ensembles take off."""
    deviation = np.cos(2 * np.pi * np.arange(2007) / 50.0005)[:, None]
    edges = drift.block_edges(2007)
    (size,) = jumps.largest_jump(drift.means_between(deviation, edges))[0]
    assert 0.0 < size < jumps.left_by_uneven_blocks(edges) * np.abs(deviation).max()
    assert jumps.left_by_uneven_blocks(drift.block_edges(2000)) == 0.0
    assert jumps.jumps_of(np.arange(2007.0), deviation)[0] == [0.0]


def test_a_jump_within_the_oscillation_of_an_energy_is_found_in_block_means():
    """The fast oscillation of amplitude 1 is averaged out: a jump of 1 is larger than anything that is left."""
    time = np.arange(8000)
    values = 10.0 + np.sin(2.2 * time)
    values[4321:] += 1.0
    row = judge(values, scale=10.0, promised="bounded")
    assert row.verdict == "jumps"
    assert abs(row.jumps_at - 0.125 * 4321) < 0.125 * 8000 / 40


@pytest.mark.parametrize("eccentricity", [0.6, 0.9])
@pytest.mark.parametrize("every", [1, 7, 40])
def test_close_encounters_of_a_symplectic_method_are_bounded(eccentricity, every):
    """Peaks at each pericentre, sampled finely and coarsely; no drift, no jump."""
    orbit = ct.problems.kepler(e=eccentricity)
    run = ct.simulate(orbit, method=ct.Splitting(6), dt=0.005, steps=1000 * every, every=every, progress=False)
    assert run.audit()["energy"].verdict in ("bounded", "exact"), run.audit()


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


def brownian_ratios(count: int, white: float, level: float) -> np.ndarray:
    """|drift| / error of Brownian motions, with white noise of this variance, from the exact covariance of their block means."""
    rng = np.random.default_rng(11)
    block = np.arange(40)
    covariance = np.minimum.outer(block, block) + 0.5
    covariance[block, block] = block + 1 / 3
    root = np.linalg.cholesky(covariance + white * np.eye(40))
    ratios = []
    for _ in range(0, count, 2000):
        slope, error = fit_drift(block + 0.5, rng.standard_normal((2000, 40)) @ root.T, level)
        ratios.append(np.abs(slope) / error)
    return np.concatenate(ratios)


@pytest.mark.parametrize(("rows", "components", "documented"), [(1, 1, 3.6), (5, 1, 4.2), (5, 3, 4.5), (5, 64, 5.5)])
def test_the_false_alarms_of_a_run_are_shared_by_all_components_of_all_rows(rows, components, documented):
    level = alarm_level(rows, components)
    assert level * rows * components == pytest.approx(1e-3 / 1.2, rel=1e-12)
    assert round(drift.significant_ratio(level), 1) == documented


@pytest.mark.parametrize("white", [0.0, 0.08, 1.0])
def test_brownian_motion_alarms_no_more_often_than_its_level(white):
    """40 000 motions at a level of 1 %, where they can be counted: 400 are expected, 1.2 times as many allowed for the walk
    alone, and 4 standard deviations."""
    false = int((brownian_ratios(40_000, white, 0.01) >= drift.significant_ratio(0.01)).sum())
    assert false <= 1.2 * 400 + 4 * sqrt(400)
    if white == 0.0:
        assert false > 200  # nor far less: missed drifts would be the price


def out_of_range(counts, recorded) -> list[str]:
    """Rates that differ from the recorded ones by more than 4 binomial errors of the two measurements.

    One wrong verdict more (Laplace) keeps the error of a rate of zero above zero.
    """
    found = []
    for kind, count in counts.items():
        known = recorded[kind]
        pairs = {"false alarms": (count.false_alarms, count.runs, known.false_alarms, known.runs)}
        for size, missed in count.missed.items():
            pairs[f"missed, {size}"] = (missed, count.series, known.missed[size], known.series)
        for name, (now, of, before, of_before) in pairs.items():
            rate = (now + before + 1) / (of + of_before + 2)
            if abs(now / of - before / of_before) > 4 * sqrt(rate * (1 - rate) * (1 / of + 1 / of_before)):
                found.append(f"{kind}: {name}: {now} of {of}, recorded {before} of {of_before}")
    return found


FRESH = {"seed": 1, "runs": 100, "series": 200, "jumps": (), "many": ()}


def test_false_alarms_and_missed_drifts_are_as_rare_as_documented():
    """Fresh series, other seed than that of the record, drifts of the recorded size."""
    recorded = calibration.recorded()
    units = {kind: count.unit for kind, count in recorded.items()}
    counts = calibration.calibrate(recorded, sizes=(3, 5, 8), units=units, **FRESH)
    assert list(recorded) == list(calibration.BACKGROUNDS)
    assert out_of_range(counts, recorded) == []


def test_at_most_one_run_in_a_thousand_alarms_falsely_in_the_record():
    """0.1 %, and no jump is ever seen where there is none; an oscillation slower than the run is reported, but not bound."""
    for kind, count in calibration.recorded().items():
        assert count.jumps == 0, kind
        if calibration.BACKGROUNDS[kind].bound:
            assert count.false_alarms <= 1e-3 * count.runs, kind


def test_large_jumps_always_alarm_in_the_record():
    """A hundred standard deviations, once or several times, whatever the series is between them."""
    for kind, count in calibration.recorded().items():
        assert count.unseen["100"] <= 0.01 * calibration.JUMPING, kind


def test_the_verdict_of_the_audit_is_the_one_that_is_calibrated():
    """`assess` on rounded values near 1 against the rule on many series at once."""
    rng = np.random.default_rng(4)
    series = calibration.slow_wander(rng, 500, 60)
    series[:, ::2] += 1e-5 * calibration.run_time(500)[:, None]
    drifting = calibration.drifting(series, 1)
    assert 5 < drifting.sum() < 55
    for column, expected in zip(series.T, drifting, strict=True):
        assert (calibration.judge(column[:, None]).verdict == "drifts") == expected


def test_a_fit_that_takes_the_means_for_independent_fails_the_calibration(monkeypatch):
    """Broken twin: without the walk most pure walks are called a drift."""
    monkeypatch.setattr(drift, "RATIOS", np.array([0.0]))
    kinds = ("random walk", "slow wander")
    counts = calibration.calibrate(kinds, sizes=(), units=dict.fromkeys(kinds, 1.0), **FRESH)
    failures = out_of_range(counts, calibration.recorded())
    assert [failure.split(":")[0] for failure in failures] == list(kinds)


def test_a_walk_and_nothing_else_fails_the_calibration(monkeypatch):
    """Broken twin on the other side: it misses drifts of quasi-periodic series."""
    monkeypatch.setattr(drift, "RATIOS", np.array([np.inf]))
    units = {"quasi-periodic": calibration.recorded()["quasi-periodic"].unit}
    counts = calibration.calibrate(units, sizes=(3,), units=units, **FRESH)
    assert any("missed, 3" in failure for failure in out_of_range(counts, calibration.recorded()))


def test_the_same_threshold_for_each_of_many_components_alarms_too_often(monkeypatch):
    """Broken twin: 0.1 % for each of nine components in five rows."""
    level = verdicts.FALSE_ALARMS * 20  # so that few runs tell
    share = {
        "right": lambda rows, components: level / 1.2 / (rows * components),
        "wrong": lambda rows, components: level,
    }
    alarms = {}
    for name, rule in share.items():
        monkeypatch.setattr(calibration, "alarm_level", rule)
        alarms[name] = calibration.count_runs("random walk, 200 samples", np.random.default_rng(3), 1000)[0]
    assert alarms["right"] <= 20 + 4 * sqrt(20)
    assert alarms["wrong"] > 80


def test_the_documented_tables_are_the_recorded_ones():
    written = (ROOT / "docs" / "audit.md").read_text()
    assert calibration.table(calibration.recorded()) in written
    assert calibration.jump_table(calibration.recorded()) in written


@pytest.fixture
def audit() -> Audit:
    return Audit(
        (
            AuditRow("energy", -0.5, 1e-6, 2e-9, 1e-8, "bounded", "bounded"),
            AuditRow("total_momentum", 0.0, 3e-4, 2e-6, 1e-8, "exact", "drifts", component=2),
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
        "This tells what is kept, not how accurate the path is: run.error() estimates that."
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
    code = "import sys, catena.auditing; sys.exit('rich' in sys.modules)"
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


def test_a_loop_that_lost_half_of_its_energy_at_once_jumps() -> None:
    """Bennett's loop with its rank decided anew at each stage: 23.6 -> 20 little by little, then -3.7 in one sample, then nothing.

    The twin: the same change in ten samples is no jump, and one that comes back is a peak.
    """
    recorded = tomllib.loads((Path(__file__).parent / "reference" / "energy_jumps.toml").read_text())
    energy = np.array(recorded["energy"])
    time = recorded["sample"] * np.arange(len(energy))

    def row(values: np.ndarray) -> AuditRow:
        return assess("energy", time, values, steps=4000, scale=24.0, promised="none")

    found = row(energy)
    assert found.verdict == "jumps" and found.contradicts
    assert found.jumps_at == pytest.approx(time[19])
    back = energy.copy()
    back[100:] += np.linspace(0.0, 12.0, len(back) - 100)
    assert row(back).verdict != "jumps"
    layer = np.full(len(energy), energy[-1])
    layer[:3] = energy[:3]
    assert row(layer).verdict != "jumps"  # what a stiff motion loses in its first steps
    spread = np.interp(time, [0.0, 0.4, 2.0, time[-1]], [23.6, 14.8, 11.1, 11.1])
    assert row(spread + 1e-6 * np.sin(50.0 * time)).verdict != "jumps"
