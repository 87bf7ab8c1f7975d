"""Prescribed paths that jump are found before a run, with the time; targets that pass the stops of their joints are warned of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.errors import CatenaWarning, InputError
from catena.running.plan import make_plan
from catena.systems.paths import path_at

ROD = ct.Body.box((0.2, 0.2, 1.0))


def moved(position: Any = None, orientation: Any = None) -> tuple[ct.Chain, ct.State]:
    """Three bodies, the first of them told where to be."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, ct.Harmonic(30.0, 1.5), left=ct.Moved(position, orientation))
    start = np.zeros((3, 3))
    start[:, 0] = 1.5 * np.arange(3)
    return chain, chain.start(start, check=False)


def planned(system: Any, start: Any, steps: int = 200) -> Any:
    return make_plan(
        system,
        start,
        ct.Splitting(2) if isinstance(system, ct.Chain) else ct.Gauss(2),
        dt=0.01,
        steps=steps,
        t_end=None,
    )


TABLE = ct.Sampled([0.0, 0.5, 1.0, 1.001, 1.5, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
STEP = "1.0005 + tanh(2000*(t - 1.005))"


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ({"position": ("0.001/(t - 1.005) + 0.001/1.005", 0, 0)}, r"the x to which the left end is moved jumps from -0\.19\d* at t = 1 to 0\.2\d* at t = 1\.01"),
        ({"position": (0, f"0.1*({STEP}) - 0.1*0.0005", 0)}, r"the y .* at t = 1 to .* at t = 1\.01"),
        ({"position": (0, 0, "sqrt(1.005 - t) - sqrt(1.005)")}, r"the z .* has no value at t = 1\.01"),
        ({"position": (TABLE, 0, 0)}, r"the x .* jumps from 0 at t = 1 to 1 at t = 1\.001"),
        ({"orientation": (1, f"0.3*({STEP}) - 0.3*0.0005", 0, 0)}, r"the angle by which the left end is turned in a step jumps from 0 at t = 1 to 1\.0\d* at t = 1\.01"),
    ],
)  # fmt: skip
def test_an_end_that_is_told_to_jump_is_refused_before_the_run(path: Any, wrong: str):
    with pytest.raises(InputError, match=wrong) as error:
        planned(*moved(**path))
    name = next(iter(path))
    assert error.value.where.startswith(f"Chain.left.{name}")
    assert planned(*moved(**path), steps=99), "before the jump there is nothing to refuse"


@pytest.mark.parametrize(
    "path",
    [
        {"position": ("5*sin(9*t)", "t**3", ct.Sampled(np.linspace(0, 3, 31), np.sin(np.linspace(0, 3, 31))))},
        {"orientation": ("cos(20*t)", "sin(20*t)", 0, 0)},
        {"orientation": ("3*cos(t/3)", "sin(t/3)", "0.2*sin(t)", 0)},
        {"position": ("0.01*sin(400*t)", 0, 0)},  # faster than the step, but hardly anything
    ],
)
def test_smooth_paths_are_taken(path: Any):
    assert planned(*moved(**path))


def test_every_step_of_a_long_run_is_looked_at():
    """One step of a million, 0.01 long, in which a path rises by a tenth of the distance of the bodies."""
    chain, start = moved(position=("0.1*tanh(2000*(t - 7654.325)) + 0.1", 0, 0))
    with pytest.raises(InputError, match=r"at t = 7654\.32 to .* at t = 7654\.33"):
        planned(chain, start, steps=1_000_000)


def test_many_values_at_once_are_those_of_the_kernels():
    """Numpy's functions may differ from ours in the last place."""
    times = np.linspace(0.1, 2.9, 57)
    from catena.systems.linkage.signals import values_at

    texts = (
        "exp(-t)*sin(3*t)**2",
        "atan2(t, 1 + t)",
        "sqrt(t) + log(t) + asinh(t)",
        "t**2.5",
        ct.Sampled(np.arange(5), np.arange(5) ** 2),
        0.3,
    )
    for text in texts:
        value, slope = path_at(text, times)
        known = np.array([values_at([text], float(t))[0] for t in times])
        np.testing.assert_allclose([value, slope], known.T[:2], rtol=1e-14, atol=1e-14)


def arm(target: Any) -> tuple[ct.Linkage, ct.State]:
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0), image=(1, 0, 0, 0), name="elbow")
    forces = [ct.Motor(0, target=target, kp=10.0, kd=1.0), ct.Limit(0, -0.5, 0.8, 100.0, 1.0)]
    system = ct.Linkage([ROD], [hinge], forces)
    return system, system.start()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("0.9*sin(t)", r"the target of the motor of elbow passes the stop high = 0\.8 at t = 1\.1, where it is 0\.80"),
        ("-0.6*t", r"passes the stop low = -0\.5 at t = 0\.84"),
        (ct.Sampled([0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 1.0, 1.5]), r"passes the stop high = 0\.8 at t = 1\.61"),
    ],
)
def test_a_target_that_passes_a_stop_is_warned_of(target: Any, words: str):
    with pytest.warns(CatenaWarning, match=words):
        planned(*arm(target))


def test_a_target_between_the_stops_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert planned(*arm("0.15 + 0.64*sin(t)"))
        assert planned(*arm("0.9*sin(t)"), steps=100)  # which ends before it passes
