"""catena equilibrium and catena modes: what Python gives, files that can be used again, and every mistake told."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cases import read_system
from catena.cli import app

CHAIN = """\
[system]
kind = "Chain"
bodies = { count = 8, shape = "tetrahedron" }
potential = { kind = "LennardJones", epsilon = 5.0, sigma = 1.0 }
right = { kind = "Force", force = [3.0, 0.0, 0.0] }
[start]
problem = "helix_chain"
"""
LINKAGE = """\
[system]
kind = "Linkage"
[[system.body]]
shape = "box"
size = [0.1, 0.1, 1.0]
mass = 2.0
[[system.joint]]
kind = "Spherical"
parent = -1
child = 0
at = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]
[[system.force]]
kind = "Damper"
i = -1
j = 0
at = [[0.0, 3.0, -0.5], [0.0, 0.0, 0.0]]
c = 0.2
"""


@pytest.fixture
def case(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("chain.toml").write_text(CHAIN)
    Path("linkage.toml").write_text(LINKAGE)
    return tmp_path


def call(*arguments: object, code: int = 0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.stdout, result.stderr)
    assert "Traceback" not in result.stderr
    return result


def test_an_equilibrium_is_the_one_of_python_and_its_file_is_a_start(case):
    """R22 of the chain pulled by 3; from the file that was written nothing is left to do."""
    shown = call("equilibrium", "chain.toml", "--out", "rest.toml").stdout
    assert "converged after 4 iterations" in shown and "-269.09444527394" in shown
    assert "written: rest.toml" not in shown
    start = tomllib.loads(Path("rest.toml").read_text())["start"]
    assert start["position"][-1] == pytest.approx(
        [5.805863266035956, -0.266250015480175, -0.485792643675437], abs=1e-11
    )
    Path("again.toml").write_text(CHAIN.partition("[start]")[0] + Path("rest.toml").read_text())
    again = json.loads(call("equilibrium", "again.toml", "--json").stdout)
    assert again["iterations"] == 0 and again["status"] == "converged"
    call("equilibrium", "chain.toml", "--out", "rest.npz", "-q")
    with np.load("rest.npz") as kept:
        assert kept["position"].tolist() == start["position"]


def test_loads_and_overrides_add_to_the_case(case):
    pulled = json.loads(
        call("equilibrium", "chain.toml", "--json", "--load", "1,0,0", "--set", "system.right.force=[2,0,0]").stdout
    )
    assert pulled["energy"] == pytest.approx(-269.0944452739441, rel=1e-13)


def test_modes_of_a_chain_as_table_files_and_page(case):
    problem = ct.problems.helix_chain(8, right="force", F=(3.0, 0.0, 0.0), amp=0.0)
    wanted = problem.system.normal_modes(problem.system.equilibrium(problem.start)).omega
    shown = call("modes", "chain.toml", "--count", 3, "--out", "modes.csv", "--page", "mode.html", "--mode", 1).stdout
    assert (
        shown.splitlines()[0].split() == ["mode", "omega", "frequency", "period", "error"]
        and len(shown.splitlines()) == 4
    )
    table = np.genfromtxt("modes.csv", delimiter=",", names=True)
    assert table["omega"] == pytest.approx(wanted[:3], rel=1e-12)
    assert table["period"] == pytest.approx(2.0 * np.pi / wanted[:3], rel=1e-12)
    assert "Mode 1: omega = 0.57201" in Path("mode.html").read_text(encoding="utf-8")
    call("modes", "chain.toml", "--out", "modes.npz")
    with np.load("modes.npz") as kept:
        assert kept["omega"] == pytest.approx(wanted, rel=1e-11) and kept["vectors"].shape == (len(wanted), 8, 6)


def test_modes_of_a_linkage_without_start_and_run(case):
    """Only [system] is needed; what costs nothing is named, and what dampers take has a column."""
    shown = call("modes", "linkage.toml").stdout
    assert "damping" in shown.splitlines()[0] and "1 motion costs nothing: body 0 turn 3" in shown
    found = json.loads(call("modes", "linkage.toml", "--json").stdout)
    assert found["zero"] == 1 and len(found["modes"]) == 2 and found["equilibrium"]["flat_motions"] == ["body 0 turn 3"]
    assert found["modes"][0]["omega"] == pytest.approx(np.sqrt(9.81 / (2.0 / 12.0 * 1.01 + 0.5)), rel=1e-12)


def test_what_comes_apart_is_shown_and_gives_code_3(case):
    for command in ("equilibrium", "modes"):
        result = call(command, "chain.toml", "--load", "100,0,0", code=3)
        assert "torn" in result.stdout
    assert "no stable equilibrium" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("equilibrium", "nowhere.toml"), "nowhere.toml"),
        (("equilibrium", "chain.toml", "--load", "1,2"), "three numbers"),
        (("equilibrium", "chain.toml", "--load", "1,2,nan"), "three numbers"),
        (("equilibrium", "chain.toml", "--tol", "-1"), "tol = -1"),
        (("equilibrium", "chain.toml", "--out", "rest.txt"), "rest.txt ends with none of"),
        (("equilibrium", "chain.toml", "--out", "chain.toml"), "chain.toml exists; nothing is overwritten"),
        (("modes", "chain.toml", "--out", "taken.csv"), "taken.csv exists; nothing is overwritten"),
        (("equilibrium", "chain.toml", "--set", "system.right.kind=\"Clumped\""), "Clumped"),
        (("equilibrium", "chain.toml", "--set", "system.body=3"), "body"),
        (("modes", "chain.toml", "--count", "0"), "count = 0"),
        (("modes", "chain.toml", "--count", "400"), "count = 400"),
        (("modes", "chain.toml", "--page", "m.html", "--mode", "400"), "there is no mode 400"),
        (("modes", "chain.toml", "--mode", "1"), "--mode is given without --page"),
        (("equilibrium", "top.toml"), "Top has no statics"),
        (("equilibrium", "empty.toml"), "[system]"),
        (("equilibrium", "falls.toml"), "nothing holds the chain"),
    ],
)  # fmt: skip
def test_mistakes_are_told_without_a_traceback(case, arguments, words):
    Path("top.toml").write_text('[system]\nkind = "Top"\nbody = { moments = [1, 1, 0.5] }\npotential = "R33"\n')
    Path("taken.csv").write_text("mine")
    Path("empty.toml").write_text("[run]\nsteps = 1\n")
    Path("falls.toml").write_text(CHAIN.replace("[start]", 'left = { kind = "Free" }\n[start]'))
    result = call(*arguments, code=2)
    assert words in result.stderr and result.stdout == ""
    assert Path("chain.toml").read_text() == CHAIN and Path("taken.csv").read_text() == "mine"


def test_other_tables_are_checked_though_they_are_not_used(case):
    Path("chain.toml").write_text(CHAIN + "[run]\nstepps = 3\n")
    assert "stepps" in call("equilibrium", "chain.toml", code=2).stderr
    system, start = read_system("linkage.toml")
    assert isinstance(system, ct.Linkage) and start is None
