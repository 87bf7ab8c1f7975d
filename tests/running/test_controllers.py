"""Controllers: Python functions that set motors at fixed times, what they are told, and runs that are resumed with them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import processes
import uncompiled
from catena.errors import CatenaWarning, InputError, StepFailure, StoreError
from catena.running.control import Seen
from catena.store import read_checkpoint
from catena.systems.linkage.motor import hold_forces

ROD = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
HINGES = (
    ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0)),
    ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0, 0.5)), axis=(0.6, 0.8, 0)),
)
GAUSS = ct.Gauss(2, solver="fixed-point")


def arm(*motors: ct.Motor, bodies: int = 2) -> ct.Linkage:
    return ct.Linkage([ROD] * bodies, HINGES[:bodies], motors or [ct.Motor(k) for k in range(bodies)])


def holding(system: ct.Linkage, torques: Any) -> ct.Linkage:
    return system.with_parts(forces=hold_forces(system.forces, torques))


def held(seen: Seen) -> np.ndarray:
    """Depends on all that a controller is told."""
    seen.memory[0] += 0.01 * float(seen.angle.sum())
    down = seen.state.position[0, 2]
    return 3.0 * (np.array([0.4, -0.3]) - seen.angle) - 0.5 * seen.speed - seen.memory[0] + np.sin(seen.time) + down


@pytest.mark.parametrize(
    "method", [ct.EnergyMomentum("position"), pytest.param(GAUSS, marks=pytest.mark.slow)], ids=str
)
def test_between_calls_torques_are_held_as_if_they_were_given_as_numbers(method: Any) -> None:
    """From the second call on like the run of a linkage whose motors have these torques, but for the rounding of the state there."""
    system, every = arm(), 3
    start = system.start(angular_velocity=[(0.2, 0, 0), (0.2, 0, 0)])
    control = ct.Controller(held, every=every, memory=1)
    run = uncompiled.simulate(system, start, method, dt=0.02, steps=2 * every, control=control)
    assert run.control is not None
    assert run.control.time.values.tolist() == [0.0, 3 * 0.02]
    assert np.abs(np.diff(run.control.torque.values, axis=0)).max() > 0.1
    fixed, row = holding(system.begun(start), run.control.torque.values[1]), run.data.isel(time=every)
    there = ct.State({field.name: row[field.name].values for field in system.fields}, float(row.time))
    final = uncompiled.simulate(fixed, there, method, dt=0.02, steps=every).final
    assert np.abs(run.final.position - final.position).max() < 1e-14
    assert float(np.abs(run.data.load_work).max()) > 1e-3


def test_the_work_of_controlled_motors_is_in_the_balance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Energy less work to round-off; work that is not counted is noticed."""
    system = arm()
    start, control = system.start(), ct.Controller(held, every=2, memory=1)
    data = uncompiled.simulate(system, start, ct.EnergyMomentum("position"), dt=0.05, steps=8, control=control).data
    assert float(np.abs(data.load_work).max()) > 0.05
    assert float(np.abs(data.energy - data.energy[0]).max()) < 1e-12
    from catena.systems.linkage.director_form import steps

    monkeypatch.setattr(steps, "motor_work", uncounted_work)
    data = uncompiled.simulate(system, start, ct.EnergyMomentum("position"), dt=0.05, steps=8, control=control).data
    assert float(np.abs(data.energy - data.energy[0]).max()) > 1e-4


def uncounted_work(z, e, h, time, k, d, par):
    """None."""


def told(seen: Seen) -> list[float]:
    SEEN.append((seen.time, seen.angle.copy(), seen.speed.copy(), seen.state.orientation.copy()))
    return [12.0, 0.0]


SEEN: list[Any] = []


@pytest.mark.parametrize("method", [ct.EnergyMomentum("position"), GAUSS], ids=["directors", "joints"])
def test_a_controller_is_told_angles_with_full_turns_and_speeds(method: Any) -> None:
    """Against those that are found in the samples."""
    SEEN.clear()
    system = arm(ct.Motor(0), ct.Motor(1, effort=3.0))
    turning = [(16.0, 0, 0), (16.0, 0, 0)]
    run = uncompiled.simulate(
        system, system.start(angular_velocity=turning), method, dt=0.02, steps=24, control=ct.Controller(told, every=4)
    )
    outputs = run.system.outputs(run)
    for k, (time, angle, speed, orientation) in enumerate(SEEN):
        assert time == run.data.time.values[4 * k]
        assert np.abs(angle - outputs.angle.values[4 * k]).max() < 1e-12
        assert np.abs(speed - outputs.speed.values[4 * k]).max() < 1e-10
        assert np.abs(orientation - run.data.orientation.values[4 * k]).max() == 0.0
    assert SEEN[-1][1][0] > np.pi  # more than half a turn


def too_much(seen: Seen) -> list[float]:
    return [1.0, 8.0]


def test_outputs_tell_what_motors_did_within_their_efforts() -> None:
    system = arm(ct.Motor(0), ct.Motor(1, effort=3.0))
    run = uncompiled.simulate(system, system.start(), GAUSS, dt=0.02, steps=4, control=ct.Controller(too_much, every=3))
    assert run.control is not None
    assert run.control.torque.values.tolist() == [[1.0, 8.0]] * 2
    outputs = run.system.outputs(run)
    assert outputs.motor_torque.values.tolist() == [[1.0, 3.0]] * 5
    fixed = holding(system.begun(run.plan.start), [1.0, 8.0])
    expected = fixed.reactions(run.final).force
    assert np.abs(outputs.reaction_force.values[-1] - expected).max() < 1e-9
    assert np.abs(system.begun(run.plan.start).reactions(run.final).force - expected).max() > 1e-3


def failing(seen: Seen, how: str) -> Any:
    if seen.time < 0.05:
        return [0.1, 0.2]
    if how == "raises":
        raise RuntimeError("no answer")
    if how == "memory":
        seen.memory[0] = np.inf
    return {"nan": [1.0, np.nan], "shape": [1.0], "nothing": None, "text": ["a", "b"], "memory": [1.0, 1.0]}[how]


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ("nan", "returned nan for the motor of joint 1"), ("shape", r"shape \(1,\) instead of \(2,\)"), ("nothing", "None instead of 2"),
        ("text", "instead of 2 torques"), ("memory", "memory"), ("raises", "RuntimeError: no answer"),
    ],
)  # fmt: skip
def test_a_controller_that_fails_leaves_what_was_recorded(how: str, match: str) -> None:
    system = arm()
    control = ct.Controller(partial(failing, how=how), every=2, memory=1)
    with pytest.raises(StepFailure, match=match) as caught:
        uncompiled.simulate(system, system.start(), GAUSS, dt=0.01, steps=20, control=control)
    assert caught.value.step == 7  # called at t = 0.06 (0.04999... is before)
    assert caught.value.run is not None
    assert caught.value.run.steps == 6
    assert len(caught.value.run.data.time) == 7


def test_what_controllers_and_motors_lack_is_named() -> None:
    system, plain = arm(), arm(ct.Motor(0, torque=1.0), ct.Motor(1, torque="t"))
    start = system.start()
    with pytest.raises(InputError, match="nothing sets the motors of joints 0, 1"):
        ct.simulate(system, start, dt=0.01, steps=1)
    with pytest.raises(InputError, match="nothing sets"):
        ct.ensemble(system, [start] * 2, dt=0.01, steps=1)
    with pytest.raises(InputError, match="no motor for the controller"):
        ct.simulate(plain, start, dt=0.01, steps=1, control=ct.Controller(held))
    with pytest.raises(InputError, match="no controller"):
        ct.simulate(system, start, dt=0.01, steps=1, control=held)  # type: ignore[arg-type]
    for wrong in ({"function": 3}, {"function": held, "every": 0}, {"function": held, "memory": -1}):
        with pytest.raises(InputError):
            ct.Controller(**wrong)  # type: ignore[arg-type]


def test_a_function_is_named_only_if_it_is_found_by_its_name() -> None:
    assert ct.Controller(held).name == f"{__name__}:held"
    for hidden in (lambda seen: 0.0, partial(failing, how="nan"), Seen.__init__.__get__(1)):
        assert ct.Controller(hidden).name == ""


def record(path: Path, control: ct.Controller, steps: int) -> ct.Run:
    return ct.simulate(arm(), arm().start(), GAUSS, dt=0.01, steps=steps, every=2, out=path, control=control)


@pytest.mark.usefixtures("plain_programs")
@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_a_controlled_run_that_is_killed_goes_on_to_the_same_bytes(tmp_path: Path, kills: int) -> None:
    """At boundaries between changes of the disk; calls are at every third step, samples at every second."""
    control = ct.Controller(held, every=3, memory=1)
    count = len(processes.boundaries(partial(record, tmp_path / "whole.zarr", control, steps=14)))
    whole = processes.contents(tmp_path / "whole.zarr")
    for number in {round(count * (k + 0.5) / kills) for k in range(kills)}:
        path = tmp_path / f"killed{number}.zarr"
        processes.kill_at(number, partial(record, path, control, steps=14))
        if path.exists() and read_checkpoint(path) is not None:
            ct.resume(path, control=held)
            assert processes.contents(path) == whole
    assert ct.open(tmp_path / "whole.zarr").control.torque.shape == (5, 2)


def other(seen: Seen) -> list[float]:
    return [0.0, 0.0]


@pytest.mark.usefixtures("plain_programs")
def test_resuming_asks_for_the_function_and_imports_nothing_by_itself(tmp_path: Path) -> None:
    path, name = tmp_path / "run.zarr", f"{__name__}:held"
    record(path, ct.Controller(held, memory=1), steps=4)
    stored = ct.open(path)
    assert stored.plan.control.name == name
    with pytest.raises(InputError, match=name):
        ct.resume(path, steps=6)
    with pytest.raises(StoreError, match="not by"):
        ct.resume(path, steps=6, control=other)
    assert ct.resume(path, steps=6, control=name).steps == 6
    assert ct.resume(path, steps=8, control=other, anyway=True).steps == 8
    assert ct.resume(path).steps == 8  # nothing is left to do
    with pytest.raises(InputError, match="no_such_module"):
        ct.resume(path, steps=9, control="no_such_module:held")


def violent(seen: Seen) -> list[float]:
    """Torques under which no step of 0.01 converges, from the third call on."""
    seen.memory[0] += 1.0
    return [0.1, 0.1] if seen.time < 0.035 else [1e9, -1e9]


@pytest.mark.usefixtures("plain_programs")
def test_a_run_that_fails_by_its_torques_goes_on_as_if_they_had_not_been_set(tmp_path: Path) -> None:
    """The call that no step came of is neither recorded nor remembered; the message is that of the step that failed."""
    path = tmp_path / "run.zarr"
    with pytest.raises(StepFailure, match=r"no solution|no longer finite|turns too far") as caught:
        record(path, ct.Controller(violent, every=2, memory=1), steps=12)
    assert caught.value.step == 5
    run = ct.open(path)
    assert run.steps == 4
    assert run.control.torque.values.tolist() == [[0.1, 0.1]] * 2
    assert read_checkpoint(path).arrays["control"].tolist() == [0.1, 0.1, 2.0]  # type: ignore[union-attr]
    again = ct.resume(path, control=other, anyway=True)
    assert again.steps == 12
    assert again.control is not None
    assert again.control.time.values.tolist() == pytest.approx([0.0, 0.02, 0.04, 0.06, 0.08, 0.1])


@pytest.mark.usefixtures("plain_programs")
def test_a_function_that_cannot_be_imported_is_told_of_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    with pytest.warns(CatenaWarning, match="cannot be imported"):
        record(path, ct.Controller(lambda seen: [0.1, 0.1]), steps=4)
    with pytest.raises(InputError, match="steered by a function"):
        ct.resume(path, steps=6)
    assert ct.resume(path, steps=6, control=lambda seen: [0.1, 0.1]).steps == 6


@pytest.mark.usefixtures("plain_programs")
def test_the_error_of_a_controlled_path_calls_the_function_at_the_same_times() -> None:
    system = arm(ct.Motor(0), bodies=1)
    run = ct.simulate(system, system.start(), GAUSS, dt=0.02, steps=8, control=ct.Controller(lifted, every=2))
    error = run.error()
    assert error.regime == "asymptotic", error
    assert error["position"].worst < 1e-7


def lifted(seen: Seen) -> np.ndarray:
    return 5.0 * (0.5 - seen.angle) - seen.speed
