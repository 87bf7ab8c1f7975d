"""Numbers at every door: what is no finite real number is refused at once, with its place; so are times that doubles cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.errors import InputError
from catena.running.plan import make_plan, positive_integer
from catena.systems.numbers import finite_number, real_array

BODY = ct.Body(moments=(2.0, 3.0, 4.0))
HARMONIC = ct.problems.harmonic()
CHAIN = ct.problems.helix_chain(3)
LINKAGE = ct.problems.hanging_chain("revolute", 2).system
TOP = ct.problems.lagrange_top().system
BAD = {
    "text": "a",
    "complex": 1 + 2j,
    "masked": np.ma.masked,
    "date": np.datetime64("2020-01-01"),
    "duration": np.timedelta64(3, "s"),
    "nan": float("nan"),
    "inf": float("inf"),
    "two numbers": [1.0, 2.0],
    "beyond the doubles": 10**400,
}


def planned(value: Any, name: str) -> Any:
    arguments: dict[str, Any] = {"dt": 0.1, "steps": None if name == "t_end" else 3, "t_end": None} | {name: value}
    return make_plan(HARMONIC, None, ct.RK4(), **arguments)


def ensemble(value: Any, name: str) -> Any:
    starts = {"q": [[1.0]], "p": [[0.0]], "time": [0.0]} | {name: [value] if name == "time" else [[value]]}
    return ct.ensemble(HARMONIC.system, starts, method=ct.RK4(), dt=0.1, steps=2)


DOORS: dict[str, Callable[[Any], Any]] = {
    "dt": partial(planned, name="dt"),
    "steps": partial(planned, name="steps"),
    "t_end": partial(planned, name="t_end"),
    "every": partial(planned, name="every"),
    "Hamiltonian time": lambda x: HARMONIC.system.start(q=1.0, p=0.0, time=x),
    "Hamiltonian q": lambda x: HARMONIC.system.start(q=[x], p=0.0),
    "Hamiltonian parameter": lambda x: ct.Hamiltonian("p**2/2 + k*q", "q", "p", {"k": x}),
    "FreeBody time": lambda x: ct.FreeBody(BODY).start(angular_velocity=(1, 0, 0), time=x),
    "FreeBody omega": lambda x: ct.FreeBody(BODY).start(angular_velocity=(x, 0, 0)),
    "FreeBody exact": lambda x: ct.FreeBody(BODY).exact(
        [[x, x], [0.0, 0.0]], ct.FreeBody(BODY).start(angular_velocity=(1, 0, 0))
    ),
    "Top time": lambda x: TOP.start(angular_velocity=(1, 0, 0), time=x),
    "Top omega": lambda x: TOP.start(angular_velocity=(x, 0, 0)),
    "Linkage time": lambda x: LINKAGE.start(time=x),
    "Linkage omega": lambda x: LINKAGE.start(angular_velocity=[(x, 0, 0), (0, 0, 0)]),
    "gravity": lambda x: ct.Linkage(LINKAGE.bodies, LINKAGE.joints, gravity=(0, 0, x)),
    "Chain time": lambda x: CHAIN.system.start(CHAIN.start.position, time=x),
    "Chain position": lambda x: CHAIN.system.start([(x, 0, 0), (1, 0, 0), (2, 0, 0)]),
    "end": lambda x: ct.Force((x, 0.0, 0.0)),
    "ScalingBody time": lambda x: ct.ScalingBody(BODY).start(time=x),
    "ScalingBody scale": lambda x: ct.ScalingBody(BODY).start(scale=x),
    "ScalingBody rate": lambda x: ct.ScalingBody(BODY).start(scale_rate=x),
    "ScalingBody exact": lambda x: ct.ScalingBody(BODY).exact([[x, x], [0.0, 0.0]], ct.ScalingBody(BODY).start()),
    "restitution": lambda x: ct.ScalingBody(BODY, "unilateral", x),
    "Spring": lambda x: ct.Spring(-1, 0, k=x),
    "Torsion": lambda x: ct.Torsion(0, "k*theta", {"k": x}),
    "damping": lambda x: ct.Torsion(0, "theta", damping=x),
    "Load": lambda x: ct.Load(0, force=(x, 0, 0)),
    "joint": lambda x: ct.Linkage(LINKAGE.bodies, LINKAGE.joints, [ct.Torsion(x, "theta")]),
    "LennardJones": lambda x: ct.LennardJones(x, 1.0),
    "PairPotential": lambda x: ct.PairPotential("k*r", {"k": x}),
    "moments": lambda x: ct.Body(moments=(x, 1.0, 1.0)),
    "mass": lambda x: ct.Body(x, (1.0, 1.0, 1.0)),
    "member q": partial(ensemble, name="q"),
    "member time": partial(ensemble, name="time"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("door", DOORS)
def test_refused_at(door: str, kind: str) -> None:
    with pytest.raises(InputError):
        DOORS[door](BAD[kind])


def test_a_cast_would_let_them_in() -> None:
    """The twin: what numpy makes of them."""
    with np.errstate(all="ignore"):
        assert np.isfinite(np.array(BAD["date"], dtype=float))
        assert np.isfinite(np.array(BAD["duration"], dtype=float))
        assert np.isfinite(np.ma.array([1.0, 2.0], mask=[True, False]).__array__()).all()


def test_numbers_of_any_real_kind_are_taken() -> None:
    from decimal import Decimal
    from fractions import Fraction

    for value in (1, 2.5, np.float32(0.5), np.int8(3), Fraction(1, 3), Decimal("0.1"), np.array(2.0)):
        assert finite_number(value, "here") == float(value)
    assert real_array([[1, 2], [3.5, 4]]).shape == (2, 2)


@pytest.mark.parametrize(
    ("t0", "dt", "steps", "fits"),
    [
        (1e15, 0.01, 10, False),
        (-1e15, 0.01, 10, False),
        (1e15, 0.25, 10, True),  # doubles are 1/8 apart there
        (1e15, 0.24, 10, False),
        (0.0, 0.01, 2**54, False),
        (0.0, 1.0, 2**51, True),
        (0.0, 1e-320, 3, True),
        (1.0, 1e-17, 3, False),
        (0.0, 1e300, 2**61, False),
    ],
)
def test_times_that_doubles_cannot_tell_apart_are_refused(t0: float, dt: float, steps: int, fits: bool) -> None:
    """t, t + dt/2 and t + dt must differ from the first step to the last one."""
    start = ct.State(HARMONIC.start.fields, t0)
    if fits:
        latest = t0 + (steps - 1) * dt
        assert latest < latest + 0.5 * dt < latest + dt or dt < 1e-300
        assert make_plan(HARMONIC.system, start, ct.RK4(), dt=dt, steps=steps, t_end=None)[1] == steps
    else:
        with pytest.raises(InputError, match=r"doubles are .* apart"):
            make_plan(HARMONIC.system, start, ct.RK4(), dt=dt, steps=steps, t_end=None)


def test_every_member_of_an_ensemble_must_be_able_to_tell_its_times() -> None:
    starts = {"q": [[1.0], [1.0]], "p": [[0.0], [0.0]], "time": [0.0, 1e15]}
    with pytest.raises(InputError, match=r"doubles are .* apart"):
        ct.ensemble(HARMONIC.system, starts, method=ct.RK4(), dt=0.01, steps=2)


@pytest.mark.parametrize(
    ("energy", "q", "message"),
    [
        ("p**2/2 - 1/sqrt(q**2)", 0.0, r"division by 0 \(in q, column 11"),
        ("p**2/2 + log(q)", -1.0, r"log\(-1\) \(in q, column 10"),
        ("p**2/2 + exp(q)", 1000.0, r"exp\(1000\) \(in q"),
        ("p**2/2 + q**40", 1e10, r"the power 1e\+10\*\*40 \(in q"),
        ("p**2/2 + q**(-3)", 0.0, r"\(in q"),
        ("p**2/2 + acos(q)", 2.0, r"acos\(2\) \(in q"),
        ("p**2/2 + q*sin(q)*q", 1e200, r"a product beyond the doubles \(in q"),
        ("p**2/2 + sqrt(q)", 0.0, "derivative of the energy by q is not defined"),
        ("sqrt(p) + q**2", 1.0, "derivative of the energy by p is not defined"),
    ],
)
def test_a_pole_or_an_overflow_at_the_start_names_its_operation_and_variable(
    energy: str, q: float, message: str
) -> None:
    system = ct.Hamiltonian(energy, "q", "p")
    with pytest.raises(InputError, match=message):
        system.start(q=q, p=0.0)


def test_a_regular_start_is_not_suspected() -> None:
    for problem in (ct.problems.kepler(), ct.problems.pendulum(), ct.problems.henon_heiles()):
        state = problem.start
        assert problem.system.start(state.q, state.p).q.tolist() == state.q.tolist()


@pytest.mark.parametrize(
    ("force", "why"),
    [
        (ct.Torsion(0, "1/theta"), r"Torsion\): division by 0 \(in theta"),
        (ct.SitePair(-1, 0, ((0, 0, 0), (0, 0, 0.5)), ct.LennardJones(1.0, 1.0)), r"SitePair\): no .* at distance 0"),
    ],
    ids=["torsion", "pair"],
)
def test_a_force_without_an_energy_is_named_before_the_first_step(
    force: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    rod = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0), image=(1, 0, 0, 0))
    linkage = ct.Linkage([rod], [hinge], [ct.Spring(-1, 0, ((1, 0, 0), (0, 0, 0))), force])
    with pytest.raises(InputError, match=rf"not defined at the start\n  at start, forces\[1\] \({why}"):
        ct.simulate(linkage, linkage.start(), ct.EnergyMomentum(), dt=0.01, steps=2)


def test_a_potential_of_a_top_without_a_value_is_named_before_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """`start` itself refuses such a state; one that was made by hand comes to the run."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    top = ct.Top(BODY, "log(R33 - 1)")
    start = ct.State({"orientation": np.array([1.0, 0.0, 0.0, 0.0]), "angular_momentum": np.array([0.1, 0.2, 0.3])})
    with pytest.raises(InputError, match=r"singular at this orientation.*: log\(0\) \(in R33"):
        ct.simulate(top, start, ct.Splitting(2), dt=0.01, steps=2)


@pytest.mark.parametrize(
    ("value", "do"), [(2**62, "below 2^62"), (0, "above zero"), (True, "above zero"), (2.0**70, "above zero")]
)
def test_a_count_is_told_on_which_side_it_is_wrong(value: object, do: str) -> None:
    with pytest.raises(ct.InputError) as refused:
        positive_integer(value, "steps")
    assert refused.value.do == f"give a whole number {do}"
