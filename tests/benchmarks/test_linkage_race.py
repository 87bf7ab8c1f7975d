"""The race of linked bodies: everybody moves the same chain, and the figures are what they are said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from catena.cli.main import app

linkage: Any = pytest.importorskip("linkage")
chains: Any = pytest.importorskip("linkage_chains")

SHORT = (0.05, 100)  # time and steps


# The same problem ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_extrapolation_takes_away_an_error_of_order_two(order: int) -> None:
    """1 + dt^2 becomes 1; with an error of order 1 it does not."""

    def make(dt: float, steps: int) -> Any:
        value = np.full((1, 3), 1.0 + dt**order)
        return chains.Runner("any", dt, steps, lambda: None, lambda: chains.Motion(value, value, value), lambda: 0.0)

    off = np.abs(linkage.extrapolated(make, 1.0, 10).position - 1.0).max()
    assert off < 1e-15 if order == 2 else off > 1e-3


@pytest.mark.peers
@pytest.mark.parametrize("joint", linkage.JOINTS)
def test_the_peers_solve_our_problem(joint: str) -> None:
    notes = linkage.same_problem(chains.Chain(joint, 4), *SHORT)
    assert len(notes) == chains.installed("MuJoCo") + 2 * chains.installed("EXUDYN")


def changed_model(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    text = chains.mujoco_text
    assert old in text(chains.Chain("spherical", 4), 0.01)
    monkeypatch.setattr(chains, "mujoco_text", lambda chain, dt: text(chain, dt).replace(old, new))


@pytest.mark.peers
def test_a_peer_with_another_mass_or_another_inertia_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest the inertia does not show in the energy, but in the motion."""
    changed_model(monkeypatch, 'mass="12.0"', 'mass="12.0000001"')
    with pytest.raises(AssertionError, match="MuJoCo has another energy"):
        linkage.same_problem(chains.Chain("spherical", 4), *SHORT)
    monkeypatch.undo()
    changed_model(monkeypatch, "9.25", "9.26")
    with pytest.raises(AssertionError, match="MuJoCo moves"):
        linkage.same_problem(chains.Chain("spherical", 4), *SHORT)


@pytest.mark.slow
def test_a_wrong_reference_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    linkage.reference("revolute", 4)
    monkeypatch.setitem(linkage.LAST_AT_TWO, "revolute", (0.0, -4.8946907510, -7.9783722179))
    with pytest.raises(AssertionError, match="revolute chain is"):
        linkage.reference("revolute", 4)


# Figures -------------------------------------------------------------------------------------------------------


def test_growth_is_that_from_any_shorter_chain_to_any_longer_one() -> None:
    assert linkage.largest_growth([1.0, 0.5, 0.8]) == pytest.approx(1.6)
    assert linkage.largest_growth([1.0, 0.5]) == 1.0


def outcome(who: str, error: float, seconds: float) -> Any:
    runner = chains.Runner(who, 0.01, 1, lambda: None, lambda: None, lambda: 0.0)
    return linkage.Outcome(runner, error, linkage.Seconds(seconds, 2.0 * seconds))


def test_a_contest_is_between_our_fastest_and_mujoco_at_each_error_that_both_reach() -> None:
    """On error = time^-4 MuJoCo takes 10^1.5 at 1e-6; nobody of ours reaches 1e-9."""
    field = [outcome("MuJoCo RK4", t**-4.0, t) for t in (10.0, 100.0, 1000.0)]
    field += [outcome("Gauss(6)", 1e-7, 2.0), outcome("RK4()", 1e-6, 1.0), outcome("RK4()", 1e-8, 4.0)]
    (row,) = linkage.contest_rows("revolute", field)
    assert (row["error"], row["ours"], row["times faster"]) == (1e-6, "RK4(), dt 0.01", pytest.approx(31.6))


def test_a_step_is_timed_against_each_peer() -> None:
    times = {"published": linkage.Seconds(1.0, 2.0), "two-level": linkage.Seconds(3.0, 10.0)}
    times["MuJoCo RK4"] = linkage.Seconds(25.0, 30.0)
    (row,) = linkage.peer_rows(chains.Chain("revolute", 4), 0.01, times, {"MuJoCo": 20.0, "EXUDYN": 15.0})
    assert (row["times faster"], row["median"], row["reached"]) == (25.0, 15.0, True)
    row = linkage.level_row(chains.Chain("revolute", 4), 0.01, times)
    assert (row["best"], row["median"], row["reached"]) == (3.0, 5.0, True)


# The command ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_race_without_any_peer_is_held_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkage, "installed", lambda peer: False)
    sections, notes = linkage.steps_against_peers(linkage.QUICK)
    assert notes == [f"{peer}: not installed" for peer in chains.PEERS]
    faster, levels, energies = sections.values()
    assert (len(faster), len(levels), len(energies)) == (0, 4, 2)
    assert all(row[step] < 1e-13 for row in energies for step in ("published", "two-level"))


@pytest.mark.slow
def test_catena_bench_linkage_writes_tables(tmp_path: Path) -> None:
    """With the peers that are installed, each of which must be in the race."""
    finished = CliRunner().invoke(app, ["bench", "linkage", "--", "--quick", "--out", str(tmp_path)])
    assert finished.exit_code == 0, finished.output
    kept = json.loads((tmp_path / "linkage.json").read_text())
    against = {row["against"].split()[0] for title, rows in kept.items() if "than a peer" in title for row in rows}
    assert against == {peer for peer in chains.PEERS if chains.installed(peer)}
    assert "## Time per body and step" in (tmp_path / "linkage.md").read_text()
