"""`ct.check`: numbers with errors, a table beside what is promised, and mistakes that are explained."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bodies
import catena as ct
import kinds
from catena.analysis.step_measures import Measured, PowerStudy, StepMap, reversal_defect, step_length, tangent_of
from catena.analysis.structure_check import Check, check_program
from catena.engine.build import build
from catena.engine.pairing import Pairing


def free_step(method: ct.DMV | ct.Gauss) -> tuple[StepMap, float, np.ndarray]:
    of = kinds.kind("free body")
    step = StepMap(build(of.system, method, compiled=False), of.start)
    dt = 0.4
    return step, dt, step.sizes_along(dt)


@pytest.fixture(scope="module")
def found() -> Check:
    of = kinds.kind("free body")
    program = build(of.system, ct.DMV(4), compiled=False)
    return check_program(
        program, of.start, Pairing.of(of.system, ct.DMV(4)).promises, dt=0.4, most_steps=1500, kept_steps=250
    )


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ct.DMV(4), ct.DMV(8), ct.Gauss(2)], ids=str)
def test_a_defect_is_what_50_digits_say_within_its_error(method):
    """One step on the same variations: columns are in the sizes of what is varied, angles 1 and momenta max |y|."""
    of = kinds.kind("free body")
    step, dt, sizes = free_step(method)
    measured = tangent_of(step, dt, np.ones_like(sizes), steps=1).symplectic_defect()
    exact = bodies.symplectic_defect(method, of, dt=dt)
    assert abs(measured.value - exact) < 8 * measured.error < 1e-11


def test_a_defect_of_round_off_is_told_from_a_small_one():
    """DMV(12) has a defect of 1.5e-11 at this step, DMV("exact") none."""
    step, dt, sizes = free_step(ct.DMV(12))
    assert not tangent_of(step, dt, sizes).symplectic_defect().vanishes
    step, dt, sizes = free_step(ct.DMV("exact"))
    assert tangent_of(step, dt, sizes).symplectic_defect().vanishes


def test_a_step_back_that_misses_by_noise_is_symmetric():
    step, dt, sizes = free_step(ct.DMV(4))
    assert reversal_defect(step, dt, sizes).vanishes
    step, dt, sizes = free_step(ct.SunGeng())
    assert not reversal_defect(step, dt, sizes).vanishes


@pytest.mark.parametrize("power", [1, 2, 5, 12])
def test_a_power_is_found_within_its_error(power):
    h = 0.8 * np.array([0.85**k for k in range(12)])
    values = 0.3 * h**power * (1 + 0.4 * h**2 - 0.1 * h**4)
    noise = np.full_like(h, 1e-15)
    found = PowerStudy(tuple(h), tuple(values), tuple(noise), even=True).power
    assert abs(found.value - power) <= found.error < 0.05


def test_noise_is_no_power_and_too_few_values_tell_nothing():
    noise = (1e-15,) * 6
    lengths = tuple(0.5**k for k in range(6))
    assert math.isinf(PowerStudy(lengths, (3e-16,) * 6, noise).power.value)
    assert math.isnan(PowerStudy(lengths[:3], (1e-3, 1e-4, 1e-5), noise[:3]).power.value)
    assert math.isnan(PowerStudy(lengths, (1e-3, math.nan, 1e-5, 0.0, 0.0, 0.0), noise).power.value)


def test_a_step_is_found_whatever_the_guess():
    """Within a factor of two, from rest as well."""
    of = ct.problems.pendulum()
    rest = of.system.start(q=[1.0], p=[0.0])
    lengths = [step_length(StepMap(build(of.system, ct.RK4(), compiled=False), rest), g)[0] for g in (1e-3, 0.3, 20.0)]
    assert 0.1 < min(lengths) <= max(lengths) <= 2.001 * min(lengths) < 4.0


def test_a_value_that_vanishes_does_so_within_its_error():
    assert Measured(7e-15, 1e-15).vanishes and not Measured(9e-15, 1e-15).vanishes
    assert not Measured(math.nan, math.nan).vanishes


# The table ------------------------------------------------------------------------------------------------------------


def test_a_check_prints_as_a_table(found):
    lines = str(found).splitlines()
    assert lines[0] == "FreeBody x DMV(4), dt = 0.4"
    assert lines[1].split() == ["property", "measured", "+-", "error", "promised", "verdict"]
    assert [line.split()[0] for line in lines[3:]] == [row.name for row in found]
    assert found["symplectic"].verdict == "no" and found["Poisson"].verdict == "yes"
    assert found["order"].measured == pytest.approx(4, abs=0.05)
    assert found["energy"].verdict == "exact" and "energy" in found and len(found) == 8
    assert repr(found) == str(found)


def test_a_check_is_shown_in_notebooks_and_terminals(found):
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=120).print(found)
    for text in (out.getvalue(), found._repr_html_()):
        assert all(row.name in text for row in found) and "FreeBody x DMV(4)" in text


def test_a_check_as_plain_values(found):
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["ok"] is found.ok is True
    assert plain["rows"]["order"]["promised"] == "4"
    assert set(plain["rows"]) == {row.name for row in found}


def test_a_contradiction_is_red_and_not_ok(found):
    from dataclasses import replace

    rows = tuple(replace(row, contradicts=row.name == "symplectic") for row in found.rows)
    wrong = replace(found, rows=rows)
    assert not wrong.ok and "no (contradicts)" in str(wrong) and "color: red" in wrong._repr_html_()


# Mistakes ---------------------------------------------------------------------------------------------------------------


def test_mistakes_are_explained(found):
    body = kinds.kind("free body").system
    with pytest.raises(ct.InputError, match="there is no start"):
        ct.check(body, ct.DMV(4))
    with pytest.raises(ct.InputError, match="is not a system"):
        ct.check("body", ct.DMV(4))
    with pytest.raises(ct.InputError, match="is not a method"):
        ct.check(kinds.kind("free body"), "DMV")
    with pytest.raises(ct.InputError, match="dt = -1"):
        ct.check(kinds.kind("free body"), ct.DMV(4), dt=-1)
    with pytest.raises(ct.CapabilityError, match="cannot treat"):
        ct.check(kinds.kind("free body"), ct.EnergyMomentum())
    with pytest.raises(ct.InputError, match="did you mean energy"):
        found["energie"]


def test_a_step_that_cannot_be_made_is_said():
    of = kinds.kind("free body")
    program = build(of.system, ct.DMV(4), compiled=False)
    with pytest.raises(ct.CapabilityError, match="makes no step of 50"):
        check_program(program, of.start, Pairing.of(of.system, ct.DMV(4)).promises, dt=50.0)
