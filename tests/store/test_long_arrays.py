"""Long rows of numbers stand in a store as arrays: few bytes of JSON, the same plan again, and no array that has no place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.errors import InputError, StoreError
from catena.running.plan import Plan, make_plan, plan_from
from catena.running.trust import run_of
from catena.store import Column, Store, Stream, read_layout
from catena.store.long_arrays import put_back, set_apart
from catena.systems.base import system_from

MANY = 1100  # bodies: their row of kinds is long, too
LINE = ct.Body.from_particles([(-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)])


def long_plan(*, mixed: bool = False) -> Plan:
    bodies = [LINE if mixed and j % 3 == 1 else ct.Body.tetrahedron() for j in range(MANY)]
    potentials = [ct.LennardJones(5.0, 1.0 + 0.1 * (mixed and j % 2)) for j in range(MANY - 1)]
    chain = ct.Chain(bodies, potentials, ct.Free(), ct.Free())
    return make_plan(chain, chain.straight(2.5), ct.Splitting(2), dt=0.001, steps=1, t_end=None)[0]


def stored(path: Path, plan: Plan, **changes: Any) -> Path:
    """A store of this plan before its first step, without a program; parts of its spec or of what is given replaced."""
    from catena.running.origin import Origin
    from catena.running.recording import store_attributes
    from catena.running.streams import streams_of

    given: dict[str, np.ndarray] = {}
    described = plan.describe(apart=given)
    described |= changes.get("described", {})
    Store.create(
        path, spec={"plan": described, "steps": 1}, streams=streams_of(plan), rows_per_commit=1,
        attributes=store_attributes(plan, Origin.here("0" * 64), described), given=given | changes.get("given", {}),
    ).close()  # fmt: skip
    return path


@pytest.mark.parametrize("mixed", [False, True])
def test_a_long_plan_comes_back_from_its_arrays(mixed: bool, tmp_path: Path) -> None:
    """The description of what was read, against that of what was given, number for number; the JSON stays small."""
    plan = long_plan(mixed=mixed)
    path = stored(tmp_path / "run.zarr", plan)
    again, _ = run_of(path)
    assert again.describe() == plan.describe() == plan_from(plan.describe()).describe()
    for name, array in plan.start.fields.items():
        assert again.start.fields[name].tobytes() == array.tobytes()
    assert len((path / ".catena" / "spec.json").read_bytes()) < 20_000
    assert len((path / "zarr.json").read_bytes()) < 20_000
    assert sorted(read_layout(path).given) == sorted(
        ["start.position", "start.orientation", "start.momentum", "start.angular_momentum"]
        + mixed * ["system.bodies.which", "system.potential.which"]
    )


def test_a_list_instead_of_an_array_opens_too(tmp_path: Path) -> None:
    """As stores have it that were written earlier."""
    plan = long_plan()
    layout = Store.create(
        tmp_path / "old.zarr", spec={"plan": plan.describe(), "steps": 1}, rows_per_commit=1,
        attributes=read_layout(stored(tmp_path / "new.zarr", plan)).attributes,
        streams=read_layout(tmp_path / "new.zarr").streams,
    )  # fmt: skip
    layout.close()
    assert run_of(tmp_path / "old.zarr")[0].describe() == plan.describe()


def nan(plan: Plan) -> np.ndarray:
    return np.full_like(plan.start.position, np.nan)


HOSTILE: dict[str, Any] = {
    "an array without a place": lambda plan: {"given": {"start.nothing": np.zeros(3)}},
    "an array in another place": lambda plan: {
        "described": {"start": {"time": 0.0, **{name: {"given": "start.position"} for name in plan.start.fields}}}
    },
    "a place without an array": lambda plan: {"described": {"units": {"given": "units"}}},
    "what is not finite": lambda plan: {"given": {"start.position": nan(plan)}},
    "numbers of another type": lambda plan: {"given": {"start.position": plan.start.position.astype("<f4")}},
    "too few numbers": lambda plan: {"given": {"start.position": plan.start.position[1:]}},
    "a body that there is not": lambda plan: {"given": {"system.bodies.which": np.full(MANY, 2)}},
    "bodies that are no whole numbers": lambda plan: {"given": {"system.bodies.which": np.zeros(MANY)}},
    "more bodies than columns": lambda plan: {"given": {"system.bodies.which": np.zeros(2 * MANY, dtype=int)}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_arrays_that_catena_did_not_write_are_refused(what: str, tmp_path: Path) -> None:
    plan = long_plan(mixed=True)
    path = stored(tmp_path / "run.zarr", plan, **HOSTILE[what](plan))
    with pytest.raises(StoreError):
        run_of(path)


def test_rows_that_are_not_of_numbers_stay() -> None:
    ragged = [[1.0] * 900, [1.0] * 901]
    described = {
        "a": ["x"] * 2000,
        "b": ragged,
        "c": [True] * 2000,
        "d": [[1, 2]] * 600,
        "e": [2**70] * 2000,
        "f": None,
    }
    apart: dict[str, np.ndarray] = {}
    told = set_apart(described, apart)
    assert list(apart) == ["d"] and apart["d"].dtype == np.int64
    json.dumps(told)
    assert put_back(told, apart)["d"].tolist() == described["d"]
    assert {**put_back(told, apart), "d": 0} == {**described, "d": 0}


def test_a_row_of_kinds_that_is_none_is_refused() -> None:
    """Not only in stores: who writes a description by hand is told what is wrong."""
    described = long_plan(mixed=True).system.describe()
    for wrong in ({"kinds": []}, {"which": [0.5] * MANY}, {"which": [-1] * MANY}, {"more": 1}):
        with pytest.raises(InputError, match="kinds"):
            system_from(described | {"bodies": described["bodies"] | wrong})


def test_a_stream_of_the_store_needs_no_mechanics(tmp_path: Path) -> None:
    """The layer below: arrays given under any name come back."""
    column = Stream("rows", "row", (Column("x"),))
    with Store.create(
        tmp_path / "a.zarr",
        spec={},
        attributes={},
        streams=(column,),
        rows_per_commit=1,
        given={"start.x": np.arange(3)},
    ) as store:
        assert store.given()["start.x"].tolist() == [0, 1, 2]
