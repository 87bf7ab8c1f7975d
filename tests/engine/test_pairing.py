"""A system and a method meet once: whoever asks is given the same pairing, and nothing outlives who asked."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli.main import app
from catena.engine.pairing import Pairing, can_treat
from catena.errors import CapabilityError
from catena.kernels.views import Flag
from catena.running.plan import make_plan
from catena.systems.base import System
from catena.systems.hamiltonian import Hamiltonian

CASE = """
[system]
kind = "Hamiltonian"
energy = "p**2/2 - cos(q)"
q = "q"
p = "p"
[start]
q = 1.0
p = 0.0
[method]
kind = "RK4"
[run]
dt = 0.1
steps = 40
"""


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many systems, pairings and views are made."""
    seen: Counter[str] = Counter()

    def counting(owner: Any, name: str, what: str) -> None:
        original = getattr(owner, name)

        def again(*arguments: Any, **named: Any) -> Any:
            seen[what] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, again)

    counting(Hamiltonian, "__init__", "systems")
    counting(Pairing, "__init__", "pairings")
    counting(ct.RK4, "stepper", "steppers")
    return seen


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.toml").write_text(CASE)
    return tmp_path


def command(*words: str) -> None:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_a_run_makes_its_system_and_its_pairing_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the text of a case to the audit of what is stored."""
    seen = counted(monkeypatch)
    command("run", "case.toml", "--out", "a.zarr")
    assert seen == {"systems": 1, "pairings": 1, "steppers": 1}


def test_a_resumed_run_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command("run", "case.toml", "--out", "a.zarr")
    seen = counted(monkeypatch)
    command("resume", "a.zarr", "--steps", "60")
    assert seen == {"systems": 1, "pairings": 1, "steppers": 1}
    assert ct.open(here / "a.zarr").steps == 60


def test_an_ensemble_too(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ct.problems.pendulum()
    seen = counted(monkeypatch)
    many = ct.ensemble(problem, [problem.start] * 3, ct.RK4(), steps=5)
    many.audit()
    assert seen == {"pairings": 1, "steppers": 1}


def test_a_cache_that_forgets_is_seen(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the tests above."""
    seen = counted(monkeypatch)
    monkeypatch.setattr(Pairing, "of", classmethod(lambda cls, system, method: cls(system, method)))
    command("run", "case.toml", "--out", "a.zarr")
    assert seen["pairings"] > 1


def test_a_pairing_is_the_same_as_long_as_it_is_held() -> None:
    system, method = ct.problems.pendulum().system, ct.Gauss(2)
    held = Pairing.of(system, method)
    assert Pairing.of(system, method) is held
    assert (
        Pairing.of(system, ct.Gauss(2)) is not held
    )  # by identity: another object may be changed by a test, or a plug-in
    other: System = ct.problems.pendulum().system
    assert Pairing.of(other, method) is not held
    assert held.promises is held.promises and held.limit == held.promises.traits.stability


def test_nothing_of_a_pairing_is_left_behind() -> None:
    """Neither system nor pairing waits for the collector of cycles: chains of many bodies take much memory."""
    gc.collect()
    gc.disable()
    try:
        before = len(Pairing._known)
        problem = ct.problems.pendulum()
        plan, _ = make_plan(problem, None, ct.RK4(), dt=0.1, steps=1, t_end=None)
        watched = [weakref.ref(plan.pairing), weakref.ref(plan.system)]
        assert len(Pairing._known) == before + 1
        del plan, problem
        assert [ref() for ref in watched] == [None, None] and len(Pairing._known) == before
    finally:
        gc.enable()


def test_a_pairing_that_cannot_be_is_refused_and_not_kept() -> None:
    system, method = ct.problems.pendulum().system, ct.Rattle()
    assert not can_treat(system, method)
    for _ in range(2):
        with pytest.raises(CapabilityError, match="cannot treat"):
            Pairing.of(system, method)


def test_a_view_with_a_flag_that_there_is_not_is_refused() -> None:
    """A word that is misspelt would never be asked for."""
    view = Pairing.of(ct.problems.pendulum().system, ct.RK4()).view
    assert Flag.JACOBIAN in view.flags
    with pytest.raises(ValueError, match="jacobean"):
        replace(view, flags=frozenset({"jacobean"}))  # type: ignore[arg-type]
