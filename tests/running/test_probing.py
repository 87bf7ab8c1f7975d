"""A probe with half the step tells an error that the order of the method predicts from one that it does not."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.driver import Driver
from catena.running import probing
from uncompiled import simulate

SLOW = 1.0  # energy of the mode that is followed with ease


def two_modes(fast: float, *, steps: int = 3000, every: int = 3, method: ct.Method | None = None) -> ct.Run:
    """A slow oscillator beside a fast one with a hundredth of its energy, whose frequency times the step is `fast`.

    Størmer-Verlet keeps (p^2 + w^2 q^2 (1 - (w dt)^2 / 4)) / 2 of an oscillator: its energy varies between E and E / (1 - (w dt)^2 / 4).
    """
    dt = 0.1
    system = ct.Hamiltonian("p1**2/2 + q1**2/2 + p2**2/2 + w**2*q2**2/2", ["q1", "q2"], ["p1", "p2"], {"w": fast / dt})
    start = system.start(q=[0.0, 0.0], p=[(2 * SLOW) ** 0.5, (0.02 * SLOW) ** 0.5])
    return simulate(system, start, method or ct.StormerVerlet(), dt=dt, steps=steps, every=every)


def test_an_error_beyond_the_order_is_large_though_it_is_small_beside_the_energy() -> None:
    """w dt = 1.9 of at most 2: the energy of 0.01 becomes 0.1 and comes back, a tenth of the whole; the slow oscillator adds a quarter
    of dt^2. With half the step it becomes 0.0129: 31 times less, where order 2 predicts 4."""
    run = two_modes(1.9)
    row = run.audit()["energy"]
    assert row.worst == pytest.approx(0.01 / (1 - 1.9**2 / 4) - 0.01, abs=SLOW * 0.1**2 / 4)
    assert (row.verdict, row.contradicts) == ("large", True)
    assert run.audit(probe=False)["energy"].verdict == "bounded"


@pytest.mark.parametrize("fast", [0.3, 0.6, 1.0])
def test_an_error_that_the_order_predicts_is_bounded(fast: float) -> None:
    """The twin. The fast oscillator has (1 - (w dt / 2)^2 / 4) / (1 - (w dt)^2 / 4) times what order 2 predicts, the slow one nearly once."""
    run = two_modes(fast)
    assert run.audit()["energy"].verdict == "bounded" and run.audit().ok
    ratio = probing.order_ratios(run, run._program, run.system.invariants[:1])["energy"]
    assert 0.95 < ratio < 1.05 * (1 - fast**2 / 16) / (1 - fast**2 / 4)


@pytest.mark.parametrize(("steps", "every"), [(480, 1), (600, 2), (3000, 3)])
def test_a_probe_makes_a_twentieth_of_the_steps_and_leaves_the_run_alone(
    steps: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = two_modes(1.9, steps=steps, every=every)
    before = run._rows.tobytes(), run._z.tobytes(), run._looks.tobytes(), run._scale.tobytes()
    made, advance = [], Driver.advance
    monkeypatch.setattr(Driver, "advance", lambda self, count: made.append(count) or advance(self, count))
    assert run.audit()["energy"].verdict == "large"
    assert len(made) == 2
    assert 0.04 * steps < sum(made) <= steps / 20
    assert (run._rows.tobytes(), run._z.tobytes(), run._looks.tobytes(), run._scale.tobytes()) == before


def test_small_errors_short_runs_and_exact_methods_are_not_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [two_modes(1.0, method=ct.Gauss(3)), two_modes(1.9, steps=479, every=1)]
    monkeypatch.setattr(Driver, "advance", None)
    for run in runs:
        assert run.audit()["energy"].verdict in ("bounded", "exact", "too short")


def test_of_a_store_that_was_opened_nothing_is_computed() -> None:
    """Such a run has no program: one would have to be compiled from what a stranger may have written."""
    run = two_modes(1.9)
    run._program = None
    assert run.audit()["energy"].verdict == "bounded"


def test_a_sample_that_does_not_give_back_its_energy_is_no_start() -> None:
    """As of a system that counts something beside its fields: nothing is said then."""
    run = two_modes(1.9)
    row = run.system.public_width
    run._rows[:, row] += 1e-3  # the energy that was recorded is another one
    assert probing.order_ratios(run, run._program, run.system.invariants[:1]) == {}


def test_the_part_that_changes_most_is_found() -> None:
    values = np.zeros(100)
    values[42:45] = [1.0, -1.0, 0.5]
    assert probing.most_changing(values, 10) == 40
    values[40:42] = 0.25
    assert probing.most_changing(values, 10) == 45
    assert probing.most_changing(values, 1) == 42
    assert probing.most_changing(values, 200) == 0
