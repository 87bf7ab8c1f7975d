"""The hanging chains agree with their references, and the report would show it if they did not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from catena.methods.conserving.energy_momentum import EnergyMomentum
from catena.reproduce import hanging_chain

pytestmark = pytest.mark.slow  # the motions take most of a minute

PUBLISHED, BOTH = hanging_chain.LEVELS


@pytest.fixture(scope="module")
def short() -> hanging_chain.Motions:
    """Both chains by both steps for two seconds."""
    return {
        (joint, name): hanging_chain.move(joint, method, hanging_chain.DT, 2.0)
        for joint in hanging_chain.JOINTS
        for name, method in hanging_chain.LEVELS.items()
    }


def test_the_hanging_chains_are_reproduced(tmp_path: Path) -> None:
    report = hanging_chain.reproduce(tmp_path, quick=True)
    assert report.ok, report
    assert sum(row.agrees is True for row in report.rows) >= 45
    assert {file.suffix for file in report.files} == {".png", ".pdf", ".csv"}


def test_a_step_that_holds_positions_only_would_be_seen(short: hanging_chain.Motions) -> None:
    """The published step in the place of the other one: the joints' velocities are off by 1e-2."""
    right = hanging_chain._velocity_rows("spherical", {**short})[-1]
    wrong = hanging_chain._velocity_rows("spherical", {**short, ("spherical", BOTH): short["spherical", PUBLISHED]})[-1]
    assert right.agrees
    assert not wrong.agrees
    assert wrong.ours > 1e-3  # type: ignore[operator]


def test_each_step_has_values_of_its_own() -> None:
    """At dt = 0.1 the two steps end 7e-5 apart; the tolerance is 1e-11."""
    case = next(case for case in hanging_chain.STEPPED if case[0] == PUBLISHED and case[2] == "spherical")
    name, _, *rest = case
    rows = hanging_chain._step_rows(name, EnergyMomentum(), *rest)  # type: ignore[arg-type]
    assert not any(row.agrees for row in rows)


def test_energy_without_turning_would_be_seen(short: hanging_chain.Motions) -> None:
    """The parts add up to the whole only with the energy of the turning, here a fifth of it."""
    assert all(row.agrees for row in hanging_chain._start_rows(short))
    motion = hanging_chain.Motion(short["revolute", PUBLISHED].run)
    vars(motion)["kinetic"] = (motion.column("momentum") ** 2).sum(axis=(1, 2)) / 24.0
    rows = hanging_chain._start_rows({**short, ("revolute", PUBLISHED): motion})
    assert [row.quantity for row in rows if not row.agrees] == ["revolute: kinetic + potential - total, to kinetic"]


def test_the_momentum_about_the_vertical_is_the_one_that_the_run_measures(short: hanging_chain.Motions) -> None:
    """Of a ball joint; the other two components change by 1e3 and more."""
    motion = short["spherical", BOTH]
    assert np.abs(motion.momentum[:, 2] - motion.column("vertical_momentum")).max() < 1e-11
    assert np.abs(motion.momentum[:, :2]).max() > 1e3
    assert motion.kept_momentum_error.max() < hanging_chain.CONSERVED
