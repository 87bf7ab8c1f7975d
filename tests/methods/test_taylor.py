"""Taylor series of our own: every operation, steps that samples do not touch, and nothing but round-off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mp

import catena as ct
import processes
from bodies import EPS, HEAVY, error, problem_of
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.engine.sections import observe_crossings
from catena.errors import StepFailure
from catena.methods.taylor import series_text, taylor
from catena.methods.taylor.series_nodes import record
from catena.methods.taylor.taylor import log_two, table_place, two_to
from catena.running.crossings import crossing_of
from catena.running.plan import Problem
from catena.store import read_checkpoint
from uncompiled import simulate

# Every operation -------------------------------------------------------------------------------------------------------

# q' = f(q) of H = p f(q), so that f itself stands in the equations; k = 0.7
RATES = {
    "sin(q)": mp.sin, "cos(q)": mp.cos, "tan(q)": mp.tan, "asin(q)": mp.asin, "acos(q)": mp.acos, "atan(q)": mp.atan,
    "sinh(q)": mp.sinh, "cosh(q)": mp.cosh, "tanh(q)": mp.tanh, "asinh(q)": mp.asinh, "atanh(q)": mp.atanh,
    "acosh(2 + q)": lambda q: mp.acosh(2 + q), "exp(q)": mp.exp, "log(1 + q)": lambda q: mp.log(1 + q), "sqrt(q)": mp.sqrt,
    "atan2(q, 1 - q**2)": lambda q: mp.atan2(q, 1 - q**2), "q**k": lambda q: q ** mp.mpf(0.7), "k**q": lambda q: mp.mpf(0.7) ** q,
    "q**q": lambda q: q**q, "q**-1.5": lambda q: q ** mp.mpf(-1.5), "q**3 - 2*q + k": lambda q: q**3 - 2 * q + mp.mpf(0.7),
    "(1 + q)/(2 - q**2)": lambda q: (1 + q) / (2 - q**2), "1/(k + 2*q)": lambda q: 1 / (mp.mpf(0.7) + 2 * q),
    "exp(-sin(q)**2)/(1 + cos(q)**4)": lambda q: mp.exp(-(mp.sin(q) ** 2)) / (1 + mp.cos(q) ** 4),
}  # fmt: skip


def rate_problem(text: str) -> Problem:
    system = ct.Hamiltonian(f"p*({text})", "q", "p", {"k": 0.7})
    return Problem("rate", system, system.start(q=0.4, p=1.0), 0.1)


def off(text: str) -> float:
    """Error of q after 0.3, in eps."""
    run = simulate(rate_problem(text), None, ct.Taylor(), dt=0.15, steps=2)
    with mpmath.workdps(25):
        exact = mp.odefun(lambda t, q: RATES[text](q), 0, mp.mpf(0.4), tol=mp.mpf(10) ** -22)(mp.mpf(0.15) * 2)
        return abs(float((mp.mpf(float(run.final.q[0])) - exact) / EPS))


@pytest.mark.parametrize("text", RATES)
def test_the_series_of_every_function_is_right(text):
    """A few roundings of numbers near 1; 4 allowed, at most 2.1 measured."""
    assert off(text) < 4.0


@pytest.mark.parametrize("text", ["cos(q)", "exp(-sin(q)**2)/(1 + cos(q)**4)"])
def test_a_wrong_sign_in_a_recurrence_is_seen(text, monkeypatch):
    monkeypatch.setattr(series_text, "SIGNS", {**series_text.SIGNS, "cos": ""})
    monkeypatch.setattr("catena.engine.pairing._recorded", {})
    assert off(text) > 1e6


@pytest.mark.parametrize("name", ["B13", "B14", "B15"])
def test_tops_reach_their_reference_motion(name):
    """With samples far apart; 1e-13 as the table was confirmed."""
    assert error(ct.Taylor(), HEAVY[name], 2) < 2e-13


def test_many_variables_are_several_blocks_of_lanes():
    """A ring of twenty pendula whose first swings: as the same by Gauss(6) to its error."""
    n = 20
    q, p = [f"q{k}" for k in range(n)], [f"p{k}" for k in range(n)]
    text = " + ".join(f"p{k}**2/2 - cos(q{k}) + 0.1*(q{k} - q{(k + 1) % n})**2" for k in range(n))
    system = ct.Hamiltonian(text, q, p)
    start = system.start(q=[1.0] + [0.0] * (n - 1), p=np.zeros(n))
    runs = [
        simulate(system, start, method, dt=0.1, steps=5).final
        for method in (ct.Taylor(), ct.Gauss(6, solver="fixed-point"))
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 20 * EPS


# What cannot be followed ------------------------------------------------------------------------------------------------


def test_equations_that_branch_are_refused():
    def field(z, par, out):
        out[0] = z[0] if z[0] > 0.0 else -z[0]

    with pytest.raises(ct.CapabilityError, match="size of a number"):
        record(lambda module: field, {}, 1)


def test_a_chain_is_refused_with_what_works():
    of = ct.problems.helix_chain(4)
    with pytest.raises(ct.CapabilityError, match="Taylor"):
        Pairing.of(of.system, ct.Taylor())


@pytest.mark.parametrize("tolerance", [0.0, -1e-9, 1.0, "small", math.nan])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(ct.InputError, match="tolerance"):
        ct.Taylor(tolerance)


def test_the_order_follows_from_the_tolerance():
    assert [ct.Taylor(t).order for t in (1e-6, 1e-8, 1e-9, 1e-13, 1e-14, None)] == [15, 15, 18, 18, 21, 21]
    assert ct.Taylor(1e-30)._tolerance == ct.Taylor()._tolerance  # below round-off there is nothing to gain


def test_logarithm_and_power_of_the_step_need_no_library():
    for x in np.exp(np.linspace(-600.0, 600.0, 301)):
        assert abs(log_two(float(x)) - math.log2(x)) < 1e-3
    for x in np.linspace(-50.0, 50.0, 301):
        assert abs(two_to(float(x)) / 2.0**x - 1.0) < 2e-4


# Steps and samples --------------------------------------------------------------------------------------------------------


def final(of: Problem, method, *, dt: float, steps: int, every: int = 1) -> tuple[np.ndarray, np.ndarray]:
    program = build(of.system, method, compiled=False)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=dt, every=every)
    assert run.advance(steps).status == 0
    return run.z, run.e


@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_samples_do_not_change_a_bit_of_the_result(tolerance):
    """Intervals that are powers of two, so that the same times are meant; and a sample at the end only."""
    of, method = ct.problems.kepler(e=0.6), ct.Taylor(tolerance)
    wanted = np.concatenate(final(of, method, dt=4.0, steps=1))
    for dt, steps, every in ((2.0**-4, 64, 1), (2.0**-4, 64, 64), (0.5, 8, 2)):
        assert np.array_equal(np.concatenate(final(of, method, dt=dt, steps=steps, every=every)), wanted)


def test_backwards_it_returns():
    of = ct.problems.kepler(e=0.6)
    there, _ = final(of, ct.Taylor(), dt=1.0, steps=4)
    back = Problem("back", of.system, of.system.start(q=there[:2], p=there[2:]), 0.1)
    again, _ = final(back, ct.Taylor(), dt=-1.0, steps=4)
    assert np.abs(again - np.concatenate([of.start.q, of.start.p])).max() < 40 * EPS


def test_an_error_falls_with_the_tolerance():
    """Of a Kepler orbit over a period: the error per step, times some hundred steps' growth."""
    of = ct.problems.kepler(e=0.6)
    found = []
    for tolerance in (1e-6, 1e-9, 1e-12):
        z, _ = final(of, ct.Taylor(tolerance), dt=math.pi, steps=2)
        found.append(float(np.abs(z[:2] - of.exact(2 * math.pi).q).max()) / tolerance)
    assert all(0.1 < ratio < 2000 for ratio in found), found


def test_a_start_at_zero_has_a_scale():
    """q = p = 0 with a force: a parabola, exactly."""
    system = ct.Hamiltonian("p**2/2 + q", "q", "p")
    run = simulate(system, system.start(q=0.0, p=0.0), ct.Taylor(), dt=0.5, steps=4)
    assert (run.data.q.values[:, 0] == -0.5 * run.data.time.values**2).all()


def test_fields_of_different_size_are_each_held_to_the_tolerance():
    """Far from the origin with a small momentum: the size of q must not allow errors of p. With one scale for both: 1e-11."""
    system = ct.Hamiltonian("p**2/2 + (q - c)**2/2", "q", "p", {"c": 2.0**20})
    run = simulate(system, system.start(q=2.0**20 + 1.0, p=0.0), ct.Taylor(), dt=0.5, steps=8)
    assert abs(float(run.final.p[0]) + math.sin(4.0)) < 2.0**20 * EPS / 4


def test_a_singular_point_is_reported():
    system = ct.Hamiltonian("p**2/2 - 1/q", "q", "p")
    program = build(system, ct.Taylor(), compiled=False)
    run = Driver(program, program.view.pack(system.start(q=0.5, p=0.0)), t0=0.0, dt=1.0, every=1)
    assert run.attempt(1).status != 0


def test_a_failing_step_tells_no_change_where_it_made_none():
    """A singular point stops the series before the state moves; dt beyond a million expansions is no singular point, so both are named."""
    fall = ct.Hamiltonian("p**2/2 - 1/q**2", "q", "p")
    with pytest.raises(ct.StepFailure) as failed:
        simulate(fall, fall.start(q=1.0, p=0.0), ct.Taylor(), dt=0.1, steps=10)
    assert "no longer finite" in str(failed.value) and "changes by" not in str(failed.value)
    assert "smaller dt" in ct.Taylor().advice() and "singular point" in ct.Taylor().advice()


def test_a_section_is_located_on_the_solution():
    of = ct.problems.kepler(e=0.6)
    run = simulate(of, None, ct.Taylor(), dt=0.5, steps=14, sections=[ct.Section("axis", "q2", direction=-1)])
    found = run.sections["axis"]
    assert np.abs(found.time.values - math.pi).max() < 20 * EPS
    assert np.abs(found.q.values[:, 1]).max() < 20 * EPS and np.abs(found.q.values[:, 0] + 1.6).max() < 20 * EPS


def test_a_crossing_is_a_root_of_the_series(monkeypatch):
    """It is searched for on one expansion from the start of the step, not on one for each trial."""
    write, places = series_text.Writer.coefficients, []

    def counted(writer):
        place = writer.layout.width - 1  # filled up, and of no use
        assert place not in writer.layout.columns.values()
        places.append(table_place(4) + place)
        begin = "def coefficients(t, order, inverses, par):"
        return write(writer).replace(begin, f"{begin}\n    t[{place}] += 1.0", 1)

    monkeypatch.setattr(series_text.Writer, "coefficients", counted)
    monkeypatch.setattr("catena.engine.pairing._recorded", {})
    of = ct.problems.kepler(e=0.6)
    section = [ct.Section("axis", "q2", direction=-1)]
    program = build(of.system, ct.Taylor(), crossing=crossing_of(of.system, section, ()), compiled=False)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=0.25, every=1)
    run.first_row()
    crossings = run.advance(16).crossings
    made = [run.carry[places[0]], run._spare[places[0]]]
    assert len(crossings) == 1 and 1.0 <= made[1] <= 2.0 < made[0], made


PLANES = [ct.Section("up", "q2"), ct.Section("turn", "p1", 0), ct.Section("far", "q1 + 1.5", -1)]


def crossings_of(dt: float, t_end: float, events: Sequence[ct.Event] = ()) -> dict[str, np.ndarray]:
    """Times at which a Kepler orbit crosses some planes."""
    of, steps = ct.problems.kepler(e=0.6), round(t_end / dt)
    run = simulate(of, None, ct.Taylor(), dt=dt, steps=steps, sections=PLANES, events=events)
    return {name: run.sections[name].time.values for name in run.sections}


@pytest.mark.parametrize("dt", [5.0, 40.0])
def test_a_long_dt_loses_no_crossing(dt: float) -> None:
    """As found in steps of 1/8, shorter than any series, to the round-off of the times; how many there are is known: six revolutions."""
    found, reference = crossings_of(dt, 40.0), crossings_of(0.125, 40.0)
    assert {name: len(times) for name, times in found.items()} == {"up": 6, "turn": 12, "far": 6}
    for name, times in reference.items():
        assert np.abs(found[name] - times).max() < 100 * EPS * 40.0


def test_crossings_are_lost_where_only_the_ends_of_a_long_dt_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taylor, "observe_series", observe_crossings)
    monkeypatch.setattr("catena.engine.pairing._recorded", {})
    assert len(crossings_of(5.0, 40.0)["turn"]) < 6


def test_a_stop_within_a_long_dt_leaves_the_marks_of_its_end() -> None:
    """All crossings of the dt are kept, as with other methods, and the run ends with it; three revolutions lie in 20."""
    of = ct.problems.kepler(e=0.6)
    stop = ct.Event("away", "q1 + 1.5", stop=True)
    run = simulate(of, None, ct.Taylor(), dt=20.0, steps=3, sections=PLANES, events=[stop])
    assert run.steps == 1 and len(run.sections["up"].time) == 3
    assert run.ending["stopped_by"] == ["away"]


def test_more_crossings_than_one_dt_has_room_for_end_the_run_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for eight: nine in a dt are too many, but as many as one likes in a run of shorter ones."""
    monkeypatch.setattr("catena.engine.driver.CROSSING_ROWS", 8)
    with pytest.raises(StepFailure) as failed:
        crossings_of(20.0, 40.0)
    assert "a thousand crossings" in str(failed.value)
    assert len(crossings_of(10.0, 40.0)["turn"]) == 12


# Round-off ----------------------------------------------------------------------------------------------------------------


def test_invariants_of_a_top_are_kept_to_round_off():
    of = problem_of(HEAVY["B13"])
    run = simulate(of, None, ct.Taylor(), dt=0.01, steps=250)
    audit = run.audit()
    assert {row.quantity: row.verdict for row in audit.rows if row.promised == "exact"} == {
        name: "exact" for name in ("energy", "vertical_momentum", "unit_residual", "tangency_residual")
    }


@pytest.mark.usefixtures("plain_programs")
@pytest.mark.parametrize("every", [1, 3])
def test_a_killed_run_goes_on_to_the_same_bytes(every: int, tmp_path: Path) -> None:
    """Steps of a series do not end where samples are: the step under way stands in the checkpoint."""
    of = ct.problems.kepler(e=0.6)

    def write(path: Path) -> ct.Run:
        return ct.simulate(of, method=ct.Taylor(1e-12), dt=0.11, steps=12, every=every, out=path)

    count = len(processes.boundaries(partial(write, tmp_path / "whole.zarr")))
    whole, resumed = processes.contents(tmp_path / "whole.zarr"), 0
    for number in range(5, count, max(1, count // 4)):
        path = tmp_path / f"killed{number}.zarr"
        processes.kill_at(number, partial(write, path))
        if path.exists() and read_checkpoint(path) is not None:
            ct.resume(path)
            resumed += 1
            assert processes.contents(path) == whole
    assert resumed


@pytest.mark.slow
def test_energies_of_ten_thousand_periods_wander_and_do_not_drift():
    """Eight rotated starts: rms below 5e-14, mean within three standard errors of 0; 2.2e-14 measured. At 1e-15 it is -7e-13."""

    def ends(method) -> np.ndarray:
        of, found = ct.problems.kepler(e=0.6), []
        program = build(of.system, method)
        for angle in np.arange(8) * 0.7:
            turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
            start = of.system.start(q=turn @ of.start.q, p=turn @ of.start.p)
            run = Driver(program, program.view.pack(start), t0=0.0, dt=2 * math.pi, every=10_000)
            first = run.first_row().rows[0, 4]
            rows = run.advance(10_000).rows
            found.append((rows[-1, 4] - first) / abs(first))
        return np.array(found)

    errors = ends(ct.Taylor())
    print(f"mean {errors.mean():.2g}, rms {np.sqrt((errors**2).mean()):.2g}")
    assert np.sqrt((errors**2).mean()) < 5e-14
    assert abs(errors.mean()) < 3 * errors.std(ddof=1) / math.sqrt(8)
    assert abs(ends(ct.Taylor(1e-15)).mean()) > 2e-13


@pytest.mark.slow
def test_the_energy_of_a_heavy_top_wanders_by_a_few_roundings():
    """t = 2000, eight starts: rms below 5e-15 relative, and of |q|^2 - 1 as well, though nothing holds it; 3.4e-15 and 2.6e-15 measured."""
    system = ct.Top(ct.Body(moments=(0.376, 0.627, 1.0)), ct.Gravity(1.0, (0.0, 0.0, 1.0)))
    errors, lengths = [], []
    for k in range(8):
        half = 0.05 * k
        start = system.start((math.cos(half), math.sin(half), 0.0, 0.0), angular_momentum=(0.0, 0.6, -0.8))
        run = ct.simulate(system, start, method=ct.Taylor(), dt=10.0, t_end=2000.0, progress=False)
        energy = run.data.energy.values
        errors.append((energy[-1] - energy[0]) / abs(energy[0]))
        lengths.append(run.data.unit_residual.values[-1])
    found = [math.sqrt(float(np.mean(np.square(values)))) for values in (errors, lengths)]
    print(f"rms {found}")
    assert max(found) < 5e-15
