"""Every registered system, a plug-in's too: what it packs, publishes, measures and describes is of one piece.

Problems of catena's own stand in `kinds`; another system brings its own by `examples`. Its arrays are watched by
`tests/engine/test_every_program.py`, what methods promise for it by `tests/engine/test_promises.py`.
"""

from __future__ import annotations

import importlib
import json
import math
from typing import Any

import numpy as np
import pytest

import kinds
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.methods.base import method_from
from catena.running.plan import Problem
from catena.systems.base import SYSTEMS, System, system_from
from wheel import SYSTEM

SHORTER = 0.1  # of the dt of a problem


def problem_of(kind: type[System]) -> Problem:
    """One of its problems."""
    found = next((of for name in kinds.KINDS if type((of := kinds.kind(name)).system) is kind), None)
    assert found is not None, f"give {kind.__name__} a classmethod examples(): (system, start, dt), at least one"
    return found


def driver_of(of: Problem) -> Driver:
    """At its start, uncompiled, with the method that is usual for it."""
    kind, arguments = of.system.default_method
    system = of.system.begun(of.start)
    program = build(system, method_from({"kind": kind, **arguments}), compiled=False)
    return Driver(program, program.view.pack(of.start), t0=of.start.time, dt=SHORTER * of.dt, every=1)


def lost(of: Problem) -> dict[str, float]:
    """The invariants that change in a few short steps by 1e-6 of their largest terms, and by how much."""
    driver = driver_of(of)
    first, rows = driver.first_row(), driver.advance(4).rows
    begin, later = of.system.columns(first.rows), of.system.columns(rows)
    kept = [invariant.name for invariant in of.system.invariants if invariant.continuous]
    assert kept
    changes = {name: np.abs(later[name] - begin[name]).max() / max(1.0, np.abs(begin[name]).max()) for name in kept}
    return {name: float(change) for name, change in changes.items() if not change < 1e-6}


KNOWN = [pytest.param(kind, id=kind.__name__) for kind in SYSTEMS]


@pytest.mark.parametrize("kind", KNOWN)
def test_a_system_is_made_again_from_its_description(kind: type[System]) -> None:
    """Through JSON, as a store keeps it."""
    described = problem_of(kind).system.describe()
    assert system_from(json.loads(json.dumps(described))).describe() == described


@pytest.mark.parametrize("kind", KNOWN)
def test_the_first_sample_is_the_start(kind: type[System]) -> None:
    """Packed, unpacked and published: fields have the names, shapes and places that the system says; quaternions are normalised on the way."""
    of = problem_of(kind)
    driver = driver_of(of)
    state, row = driver.program.view.unpack(driver.z, of.start.time), driver.first_row().rows
    published = of.system.columns(row)
    assert row.shape == (1, of.system.public_width + of.system.invariant_width)
    for field in of.system.fields:
        assert state.fields[field.name].shape == field.shape == of.start.fields[field.name].shape
        for found in (state.fields[field.name], published[field.name][0]):
            np.testing.assert_allclose(found, of.start.fields[field.name], rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KNOWN)
def test_what_is_called_an_invariant_is_one(kind: type[System]) -> None:
    """Steps of a tenth of the usual length change it by far less than 1e-6; what is no invariant changes by a part of dt."""
    assert lost(problem_of(kind)) == {}


@pytest.mark.parametrize("kind", KNOWN)
def test_what_sections_may_be_written_in_can_be_computed(kind: type[System]) -> None:
    driver = driver_of(problem_of(kind))
    row = driver.first_row().rows[0]
    for name, code in driver.program.system.names().items():
        value: Any = eval(code, {"row": row, "t": 0.0, "par": driver.program.new_par(), "math": math})
        assert np.isfinite(value), name


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_an_invariant_that_is_none_is_seen(right: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SYSTEM.replace("@register\n", "")
    name = f"wheel_that_is_{'right' if right else 'wrong'}"
    (tmp_path / f"{name}.py").write_text(text if right else text.replace("+ z[1] * z[1]", "- z[1] * z[1]"))
    monkeypatch.syspath_prepend(str(tmp_path))
    wheel = importlib.import_module(name).Wheel()
    wheel.kind = "Wheel"
    assert (lost(Problem("wheel", wheel, wheel.start([1.0, 0.5]), 0.1)) == {}) == right
