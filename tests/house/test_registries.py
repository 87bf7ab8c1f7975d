"""Systems, methods, potentials, joints and forces are registered alike: what one package adds is known everywhere, and shadows nothing."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import catena as ct
import uncompiled
from catena.cases import joints, potentials, tables, whole_case
from catena.cases.reading import read_case
from catena.cli import app
from catena.errors import CapabilityError, CatenaWarning, InputError
from catena.methods.base import METHODS
from catena.registry import Registry, _all_plugins
from catena.systems.base import SYSTEMS, system_from
from catena.systems.linkage.joint_forces import FORCES
from catena.systems.linkage.joints import JOINTS
from catena.systems.potentials.pairwise import POTENTIALS
from processes import run_python
from wheel import SYSTEM

REGISTRIES: dict[str, Registry[Any]] = {
    registry.group.removeprefix("catena."): registry for registry in (SYSTEMS, METHODS, POTENTIALS, JOINTS, FORCES)
}
BUILT_IN = {"systems": "Top", "methods": "RK4", "potentials": "Morse", "joints": "Screw", "forces": "Load"}

PLUGINS = {
    "systems": ("Wheel", SYSTEM),
    "methods": (
        "Twice",
        """
from dataclasses import dataclass
from catena.methods.base import register
from catena.methods.runge_kutta.runge_kutta import RK4
@register
@dataclass(frozen=True)
class Twice(RK4):
    '''Another name.'''
""",
    ),
    "potentials": (
        "Stiff",
        """
from dataclasses import dataclass
from catena.systems.potentials.pair_potentials import Harmonic
from catena.systems.potentials.pairwise import register
@register
@dataclass(frozen=True)
class Stiff(Harmonic):
    '''Another name.'''
""",
    ),
    "joints": (
        "Pin",
        """
from dataclasses import dataclass
from catena.systems.linkage.joints import JOINTS, Spherical
@JOINTS.register
@dataclass(frozen=True)
class Pin(Spherical):
    '''Another name.'''
""",
    ),
    "forces": (
        "Rubber",
        """
from dataclasses import dataclass
from catena.systems.linkage.joint_forces import FORCES, Spring
@FORCES.register
@dataclass(frozen=True)
class Rubber(Spring):
    '''Another name.'''
""",
    ),
}
WRITTEN = {"potentials": potentials.WRITTEN, "joints": joints.JOINTS, "forces": joints.FORCES}
CACHED = (tables.system_tables, whole_case.method_table, whole_case.case_table)
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Packages with entry points, forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    found: list[importlib.metadata.EntryPoint] = []
    made: list[str] = []

    def entry_points(**which: str) -> Any:
        return importlib.metadata.EntryPoints(found).select(**which)

    for registry in REGISTRIES.values():
        registry.names()
        monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    tables.system_tables()  # those of catena are known once they are imported
    monkeypatch.setattr(tables, "_systems", dict(tables._systems))

    def put(group: str, text: str, module: str = "") -> None:
        name = module or f"third_{group}"
        made.append(name)
        (tmp_path / f"{name}.py").write_text(text)
        found.append(importlib.metadata.EntryPoint(name, name, f"catena.{group}"))
        _all_plugins.cache_clear()
        monkeypatch.setattr(REGISTRIES[group], "_loaded", False)
        for cached in CACHED:
            cached.cache_clear()

    yield put
    for name in made:
        sys.modules.pop(name, None)
    for cached in CACHED:
        cached.cache_clear()


@pytest.mark.parametrize("group", REGISTRIES)
def test_what_another_package_registers_is_known(group: str, install: Install) -> None:
    name, text = PLUGINS[group]
    registry = REGISTRIES[group]
    assert name not in registry
    install(group, text)
    assert name in registry and registry.find(name).__module__ == f"third_{group}"
    assert [kind.__name__ for kind in registry.of_others()] == [name]


@pytest.mark.parametrize("group", REGISTRIES)
def test_nothing_of_another_package_shadows_a_kind_of_catena(group: str, install: Install) -> None:
    name, text = PLUGINS[group]
    own = REGISTRIES[group].find(BUILT_IN[group])
    install(group, text.replace(f"class {name}(", f"class {BUILT_IN[group]}("))
    with pytest.warns(CatenaWarning, match=f"{BUILT_IN[group]} is a {REGISTRIES[group].what} of catena"):
        assert REGISTRIES[group].names().count(BUILT_IN[group]) == 1
    assert REGISTRIES[group].find(BUILT_IN[group]) is own


@pytest.mark.parametrize("group", REGISTRIES)
def test_nor_one_of_a_third_package(group: str, install: Install) -> None:
    name, text = PLUGINS[group]
    install(group, text)
    install(group, text, module="fourth_party")
    with pytest.warns(CatenaWarning, match=f"{name} is a {REGISTRIES[group].what} of the package third_{group}"):
        assert REGISTRIES[group].find(name).__module__ == f"third_{group}"


@pytest.mark.parametrize("group", REGISTRIES)
def test_an_unknown_kind_is_named_with_its_neighbour(group: str) -> None:
    with pytest.raises(InputError, match=f"did you mean {BUILT_IN[group]}"):
        REGISTRIES[group].find(BUILT_IN[group][:-1])


CASE = """
[system]
kind = "Wheel"
rate = 2.0
[start]
place = [1.0, 0.0]
[[section]]
name = "top"
text = "place[1]"
[run]
dt = 0.1
steps = 8
"""


def test_a_system_of_another_package_runs_from_a_case(install: Install) -> None:
    """Its file alone: no table, no template and no line of catena names it."""
    install("systems", SYSTEM)
    case = read_case(None, text=CASE, label="case")
    assert case.plan.system.describe() == {"kind": "Wheel", "rate": 2.0}
    assert system_from(case.plan.system.describe()).describe() == case.plan.system.describe()
    assert "Wheel" in str(whole_case.case_schema())
    for wrong, told in (("rate = 2.0", "rat = 2.0"), ("place = [1.0, 0.0]", "plce = [1.0, 0.0]")):
        with pytest.raises(InputError, match="did you mean"):
            read_case(None, text=CASE.replace(wrong, told), label="case")
    run = uncompiled.simulate(case.plan.system, case.plan.start, ct.RK4(), dt=0.1, steps=8)
    assert run.data.place.values[-1] == pytest.approx([np.cos(1.6), -np.sin(1.6)], abs=1e-3)


def test_a_page_of_what_cannot_be_shown_is_refused_before_the_run(install: Install, tmp_path: Path) -> None:
    """Not when all steps are made, and nothing of them is kept."""
    install("systems", SYSTEM)
    case = tmp_path / "wheel.toml"
    case.write_text(CASE)
    result = CliRunner().invoke(app, ["run", str(case), "--no-out", "--page", str(tmp_path / "wheel.html")])
    assert result.exit_code == 2 and "at --page" in result.stderr and "place" not in result.stdout


def test_nor_does_a_system_of_catena_need_a_written_table(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in `systems` is enough: what is written in `cases/kinds` is better than the arguments of the class, not needed."""
    install("systems", SYSTEM)
    monkeypatch.setattr(SYSTEMS.find("Wheel"), "__module__", "catena.systems.wheel")
    assert read_case(None, text=CASE, label="case").plan.system.describe() == {"kind": "Wheel", "rate": 2.0}


def test_a_system_without_a_scene_says_that_it_cannot_be_drawn(install: Install, tmp_path: Path) -> None:
    """Whatever draws in space; numbers are shown and written all the same."""
    install("systems", SYSTEM)
    wheel = SYSTEMS.find("Wheel")()
    run = uncompiled.simulate(wheel, wheel.start([1.0, 0.0]), ct.RK4(), dt=0.1, steps=8)  # type: ignore[attr-defined]
    assert wheel.scene() is None and repr(wheel) == "Wheel(rate=1.0)"
    for draw in (
        lambda: run.view(),
        lambda: run.movie(tmp_path / "wheel.gif"),
        lambda: run.export(tmp_path / "wheel.glb"),
        lambda: run.export(tmp_path / "wheel.xyz"),
    ):
        with pytest.raises(CapabilityError, match="Wheel"):
            draw()
    assert run.export(tmp_path / "wheel.csv").read_text().startswith("time,place[0],place[1],radius")
    assert run.plot.suited() == ("energy", "invariants", "spectrum")


def test_a_potential_a_joint_and_a_force_of_other_packages_stand_in_cases(install: Install) -> None:
    """Their tables are made from the fields of the dataclasses."""
    for group in ("potentials", "joints", "forces"):
        install(group, PLUGINS[group][1])
    for group, arguments in {
        "potentials": {"kind": "Stiff", "k": 2.0, "r0": 1.0},
        "joints": {"kind": "Pin", "parent": -1, "child": 0},
        "forces": {"kind": "Rubber", "i": 0, "j": -1, "k": 3.0},
    }.items():
        made = tables.tables_of(REGISTRIES[group], WRITTEN[group])
        (table,) = (one for one in made if tables.kind_of(one) == arguments["kind"])
        assert table.model_validate(arguments).given() == arguments
    body = ct.Body(1.0, (1, 2, 3))
    pin, rubber = (REGISTRIES[group].find(PLUGINS[group][0]) for group in ("joints", "forces"))
    named, plain = (
        ct.Linkage([body], [joint(-1, 0, at=((0, 0, 0), (0, 0, 1)))], [force(0, -1, k=3.0)])
        for joint, force in ((pin, rubber), (ct.Spherical, ct.Spring))
    )
    assert system_from(named.describe()).describe() == named.describe()
    ends = [
        uncompiled.simulate(one, one.start(position=[[0, 0, -1]]), ct.EnergyMomentum(), dt=0.05, steps=2).final.position
        for one in (named, plain)
    ]
    assert ends[0].tobytes() == ends[1].tobytes()


def test_the_order_of_methods_does_not_depend_on_what_was_imported_first() -> None:
    """Lists in messages and tables are the same whatever a script used before."""
    asked = "from catena.methods.base import all_methods; print([kind.name for kind in all_methods()])"
    first, *others = (
        run_python(f"{before}; {asked}")[0]
        for before in ("pass", "import catena; catena.RK4", "import catena.methods.conserving.rattle")
    )
    assert all(other == first for other in others)
