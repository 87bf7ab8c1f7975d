"""Tops whose potential depends on time: the reference is an integrator of scipy on Euler's equations written here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
import uncompiled
from catena.engine.build import build
from catena.errors import CapabilityError, InputError
from catena.geometry import rotations
from catena.systems.base import system_from
from catena.systems.top import driven

BODY = ct.Body.from_inertia(1.0, [[1.0, 0.1, 0.0], [0.1, 1.3, 0.05], [0.0, 0.05, 0.8]])
TEXT = "k*R33*(1 + 0.5*sin(3*t)) + b*R12*R31"
RAMP = "0.4 + 0.3*t"
TIMES = np.linspace(0.0, 2.0, 9)
EPS = np.finfo(float).eps


def top(potential: Any = TEXT, **given: Any) -> tuple[ct.Top, ct.State]:
    parameters = {"k": 1.5, "b": RAMP} if potential == TEXT else {}
    system = ct.Top(BODY, potential, parameters={**parameters, **given} or None)
    return system, system.start((0.8, 0.36, 0.0, 0.48), angular_momentum=(0.4, -0.3, 1.2))


def reference(end: float) -> np.ndarray:
    """q, y and the work at the end: q' = q (0, w)/2, y' = y x w + tau, W' = dU/dt, by DOP853."""

    def slope(t: float, x: Any) -> Any:
        q, y = x[:4], x[4:7]
        k, b = 1.5 * (1 + 0.5 * np.sin(3 * t)), 0.4 + 0.3 * t
        r = rotations.to_matrix(q)
        gradient = np.zeros((3, 3))
        gradient[2, 2], gradient[0, 1], gradient[2, 0] = k, b * r[2, 0], b * r[0, 1]
        m = r.T @ gradient
        tau = -np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
        w = np.linalg.solve(BODY.tensor, y)
        rate = 1.5 * 1.5 * np.cos(3 * t) * r[2, 2] + 0.3 * r[0, 1] * r[2, 0]
        return np.concatenate([rotations.multiply(q, [0.0, *(0.5 * w)]), np.cross(y, w) + tau, [rate]])

    start = top()[1]
    begin = [*start.orientation, *start.angular_momentum, 0.0]
    return solve_ivp(slope, (0.0, end), begin, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


METHODS: list[Any] = [
    (ct.Splitting(2), 2), (ct.Splitting(4), 4), (ct.Splitting(6), 6), (ct.Rattle(), 2), (ct.Gauss(2), 4), (ct.Nystrom4(), 4), (ct.RK4(), 4),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "order"),
    [METHODS[1], *(pytest.param(*pair, marks=pytest.mark.slow) for pair in (METHODS[0], *METHODS[2:]))],
    ids=lambda given: str(given),
)
def test_motion_and_work_converge_with_the_order_declared(method: Any, order: int) -> None:
    """Steps in which the error is far above rounding, and that of the next order small: within 0.15."""
    system, start = top()
    exact, errors = reference(1.0), []
    for steps in (16, 32) if order < 6 else (8, 16):  # the reference is good to 1e-13
        run = uncompiled.simulate(system, start, method, dt=1.0 / steps, steps=steps, every=steps)
        found = [*run.final.orientation, *run.final.angular_momentum, float(run.data.work[-1])]
        errors.append(np.abs(found - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def forgetful(z, par, out):
    """A wrong `driven_force`: the torque is that of the time, but no work is done."""
    driven_force(z, par, out)
    out[driven.WORK] = 0.0


driven_force = driven.driven_force


def test_energy_less_work_is_kept_and_a_missing_work_is_seen(monkeypatch: Any) -> None:
    """Without drift, by the error of the method (measured 2e-6); the energy itself changes by 0.5."""
    system, start = top()
    spread = []
    for twin in (driven_force, forgetful):
        monkeypatch.setattr(driven, "driven_force", twin)
        run = uncompiled.simulate(system, start, ct.Splitting(4), dt=0.05, steps=60)
        spread.append(np.ptp(run.data.energy.values))
    assert spread[0] < 1e-5 and spread[1] > 0.1


def test_gravity_may_change_and_a_text_without_t_is_a_number() -> None:
    """Gravity as text, as a table (a cubic, which a spline has exactly), and as U in R33: the same motion to rounding."""
    still = ct.Top(BODY, ct.Gravity("3/2", (0, 0, 1)))
    assert still.potential.gravity == ct.Gravity(1.5, (0, 0, 1)) and still.view("split").dimension == 7
    table = ct.Sampled(TIMES, 1.5 + 0.2 * TIMES**3)
    systems = [
        ct.Top(BODY, ct.Gravity("1.5 + 0.2*t**3", (0, 0, 1))),
        ct.Top(BODY, ct.Gravity(table, (0, 0, 1))),
        ct.Top(BODY, "(1.5 + 0.2*t**3)*R33"),
        ct.Top(BODY, "s*R33", parameters={"s": table}),
    ]
    start = top()[1]
    ends = [uncompiled.simulate(one, start, ct.Splitting(2), dt=0.1, steps=5).final.angular_momentum for one in systems]
    for end in ends[1:]:
        assert np.abs(end - ends[0]).max() < 50 * EPS
    for one in systems:
        assert system_from(one.describe()).describe() == one.describe()
        assert one.view("split").dimension == 9
    assert systems[1].time_tables == systems[3].time_tables == (table,)


def test_a_driven_top_goes_on_with_the_same_bits() -> None:
    system, start = top()
    program = build(system, ct.Splitting(4), compiled=False)
    uncompiled.check_goes_on(program, start, dt=0.05, steps=2)


@pytest.mark.slow
def test_a_driven_top_is_compiled_to_the_same_bits_and_resumed(tmp_path: Any) -> None:
    system, start = top()
    options = {"dt": 0.05, "every": 2}
    whole = ct.simulate(system, start, ct.Splitting(4), steps=40, out=tmp_path / "whole.zarr", **options)
    ct.simulate(system, start, ct.Splitting(4), steps=17, out=tmp_path / "part.zarr", **options)
    rest = ct.resume(tmp_path / "part.zarr", steps=40)
    plain = uncompiled.simulate(system, start, ct.Splitting(4), steps=40, **options)
    for name in whole.data:
        assert (
            whole.data[name].values.tobytes() == rest.data[name].values.tobytes() == plain.data[name].values.tobytes()
        )


def test_what_a_driven_top_lacks_is_named() -> None:
    system, start = top()
    with pytest.raises(InputError, match="unknown name s"):
        ct.Top(BODY, "R33*sin(s)")
    with pytest.raises(InputError, match="unknown name u"):
        ct.Top(BODY, ct.Gravity("1 + u"))
    with pytest.raises(CapabilityError, match="multiplier"):
        ct.Top(BODY, "t*R33", "multiplier")
    with pytest.raises(CapabilityError, match="depends on time"):
        system.exact(1.0, start)
    with pytest.raises(CapabilityError, match="depends on time"):
        ct.simulate(system, start, ct.QuatEM(), dt=0.1, steps=1)
    short = ct.Top(BODY, "s*R33", parameters={"s": ct.Sampled(TIMES, TIMES)})
    with pytest.raises(InputError, match="table"):
        ct.simulate(short, short.start(angular_momentum=(0, 0, 1)), ct.Splitting(2), dt=0.1, t_end=3.0)
