"""The races of a single body: the yardstick in C has our bits, errors and times are what they are said to be."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli.main import app
from catena.engine.build import build
from catena.geometry.rotations import multiply

free_body: Any = pytest.importorskip("free_body")
races: Any = pytest.importorskip("free_body_races")
steps: Any = pytest.importorskip("free_body_steps")

STEPS = 2000
SHORT = replace(races.FREE, t_end=10.0, outputs=10)

# The yardstick -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    return steps.compiled_c(tmp_path_factory.mktemp("c"))


def both(name: str, form: str, libraries: dict[str, Any], dt: float) -> tuple[Any, Any]:
    """State and compensation after some steps: by our loop, and in C."""
    method, function, _ = steps.NEAR_C[name]
    program = build(ct.problems.book().system, method)
    return (
        steps.run_ours(program, dt, STEPS),
        steps.run_c(getattr(libraries[form], function), program, dt, STEPS),
    )


@pytest.mark.parametrize("form", ["C", steps.SEPARATE])
@pytest.mark.parametrize("name", steps.NEAR_C)
def test_our_steps_and_those_of_c_agree_to_the_last_bit(name: str, form: str, libraries: dict[str, Any]) -> None:
    for dt in steps.STEP_SIZES:
        ours, theirs = both(name, form, libraries, dt)
        assert steps.same_bits(ours, theirs)


@pytest.mark.parametrize("name", steps.NEAR_C)
def test_fused_multiplications_are_noticed_in_the_bits(name: str, libraries: dict[str, Any]) -> None:
    """The deliberate error: other roundings, and nothing else; the motions stay together (2000 steps, 1e-12)."""
    ours, theirs = both(name, steps.FUSED, libraries, 0.1)
    assert not steps.same_bits(ours, theirs)
    assert np.abs(ours[0] - theirs[0]).max() < 1e-12


# Errors --------------------------------------------------------------------------------------------------------


def test_the_attitude_error_is_the_angle_between_two_orientations() -> None:
    """Whatever the sign and the length of the quaternions; the largest of the outputs counts."""
    angle, axis = 1e-9, np.array([0.6, 0.0, 0.8])
    right = np.array([[0.5, 0.5, -0.5, 0.5, 0, 0, 0]] * 2, dtype=np.longdouble)
    small = np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])
    turned = multiply(right[0, :4].astype(float), small)
    rows = np.vstack([right[0], [*(-3.0 * turned), 0, 0, 0]])
    assert races.attitude_error(rows, right) == pytest.approx(angle, rel=1e-6)
    assert races.attitude_error(rows[:1], right[:1]) == 0.0


def test_the_reference_is_the_exact_motion() -> None:
    """Jacobi's solution is right to 10 eps (1 + |omega| t), 3e-14 here; another sign of a moment's difference is not."""
    right = SHORT.reference()
    rows = races.exact_entry(SHORT).rows()
    assert races.attitude_error(rows, right) < 3e-14
    assert np.abs(rows[:, 4:] - right[:, 4:]).max() < 3e-14
    wrong = replace(SHORT, moments=(0.627, 0.376, 1.0))
    assert races.attitude_error(rows, wrong.reference()) > 0.1


@pytest.mark.parametrize("race", [races.TOP, races.SYMMETRIC], ids=lambda race: race.name)
def test_the_reference_of_a_top_does_not_depend_on_its_step_and_keeps_the_energy(race: Any) -> None:
    """Series of order 40 with half the step change nothing but the last digits of extended precision."""
    short = replace(race, t_end=2.0, outputs=4)
    right, finer = short.reference(), short.reference(step=0.125)
    assert races.attitude_error(finer, right) < 1e-16
    energies = short.energy(right)
    assert np.abs(energies - energies[0]).max() < 1e-17
    assert races.attitude_error(replace(short, strength=1.001).reference(), right) > 1e-5


# Times at equal error ------------------------------------------------------------------------------------------


def test_the_time_at_an_error_is_interpolated_between_the_points_that_no_other_beats() -> None:
    """On error = time^-4 the time at 1e-6 is 10^1.5; a point that is slow for its error changes nothing."""
    points = [(t**-4.0, t) for t in (1.0, 10.0, 100.0)]
    assert free_body.time_at(points, 1e-6) == pytest.approx(10**1.5)
    assert free_body.time_at([*points, (1e-5, 110.0)], 1e-6) == pytest.approx(10**1.5)
    assert free_body.time_at(points, 10.0) == 1.0
    assert free_body.time_at(points, 1e-9) is None
    assert free_body.time_at(points[:2], 1e-4) == pytest.approx(10.0)


def test_a_contest_is_held_at_the_error_that_the_peer_reaches() -> None:
    def outcome(who: str, error: float, seconds: float) -> Any:
        entry = races.Entry(who, f"error {error:g}", lambda: np.zeros((1, 7)))
        return free_body.Outcome(entry, error, 0.0, free_body.Seconds(seconds, 2 * seconds))

    contest = free_body.Contest("any", "DMV(10)", "heyoka", 1e-12, 3.0)
    field = [outcome("heyoka", 1e-10, 8.0), outcome("DMV(10)", 1e-11, 2.0), outcome("exact", 1e-15, 1.0)]
    row = free_body.contest_row(contest, field)
    assert (row["attitude error"], row["times faster"], row["median"], row["reached"]) == (1e-10, 4.0, 4.0, True)
    assert row["ours"] == "DMV(10), error 1e-11"
    assert free_body.contest_row(contest, field[1:]) is None


# The command ---------------------------------------------------------------------------------------------------


def test_a_race_without_any_peer_is_held_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_body, "installed", lambda peer: False)
    outcomes, notes = free_body.run_race(SHORT, free_body.QUICK)
    for peer in races.PEERS:
        assert f"{peer}: not installed" in notes
    assert {o.entry.who for o in outcomes} == {"exact", "DMV(10)"}
    assert free_body.race_rows(outcomes)[0]["time"] == 1.0
    assert all(o.seconds.best > 0.0 for o in outcomes)


def test_a_participant_who_solves_another_problem_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(SHORT, momentum=(0.0, 0.6, -0.80001))
    monkeypatch.setattr(free_body, "installed", lambda peer: False)
    monkeypatch.setattr(free_body, "ours_of", lambda race, sizes: [races.exact_entry(other)])
    with pytest.raises(AssertionError, match="exact solves another problem"):
        free_body.run_race(SHORT, free_body.QUICK)


@pytest.mark.slow
def test_catena_bench_free_body_writes_tables_and_a_picture(tmp_path: Path) -> None:
    """With the peers that are installed, each of which must be in the race."""
    finished = CliRunner().invoke(app, ["bench", "free-body", "--", "--quick", "--out", str(tmp_path)])
    assert finished.exit_code == 0, finished.output
    kept = json.loads((tmp_path / "free_body.json").read_text())
    race = next(rows for title, rows in kept.items() if title.startswith("Race: free body"))
    who = {row["entry"].split(",")[0] for row in race}
    assert who == {"exact", "DMV(10)", *(peer for peer in races.PEERS if races.installed(peer))}
    assert "## Race: symmetric top" in (tmp_path / "free_body.md").read_text()
    assert (tmp_path / "free_body.png").read_bytes()[1:4] == b"PNG"
