"""Cases of bodies: they give what Python gives, every mistake is found and placed, and the templates run as they are."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import catena as ct
from case_texts import mistakes, read, toml
from catena.cases import CaseError, bodies, case_schema, read_case, template
from catena.cli import app
from catena.engine.build import build
from catena.systems.body import Body

FREE = """\
[system]
kind = "FreeBody"
body = { moments = [1.0, 1.5, 2.0] }

[start]
orientation = [0.6, 0.0, 0.8, 0.0]
angular_velocity = [0.1, 1.0, 0.2]
time = 2.0

[method]
kind = "DMV"
order = 8

[run]
dt = 0.1
t_end = 12.0

[[section]]
name = "flip"
text = "angular_momentum[1]"
where = "orientation[0] > 0 and t > 3"
"""

TOP = """\
[system]
kind = "Top"
body = { shape = "box", size = [1.0, 2.0, 3.0], mass = 12.0 }
potential = { kind = "Gravity", strength = 2.0, center = [0.0, 0.5, 1.0] }

[start]
angular_momentum = [0.1, 1, 0.2]

[method]
kind = "Splitting"
order = 6
rotor = { kind = "DMV", order = 10 }

[run]
dt = 0.1
steps = 10
"""

TETRAHEDRON = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
BODIES = [
    Body(2.0, (1.0, 1.5, 2.0)),
    Body.box((1.0, 2.0, 3.0), mass=0.7),
    Body.ellipsoid((1.0, 2.0, 3.0)),
    Body.disc(2.0),
    Body.disc(2.0, 0.1, mass=3.0),
    Body.from_inertia(2.0, [[2.0, 0.1, 0.0], [0.1, 1.5, 0.2], [0.0, 0.2, 1.0]]),
    Body.from_particles([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2]], masses=[1, 2, 3, 4], types=["a", "b", 1, 2]),
    Body.tetrahedron(),
    Body.tetrahedron(TETRAHEDRON, mass=2.0),
    Body.from_mesh(TETRAHEDRON, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], density=3.0),
    Body.rod(2.0, mass=3.0),
]


@pytest.fixture
def uncompiled(monkeypatch):
    """The same programs as plain Python: same bits, nothing to compile."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))


def test_a_free_body_is_the_one_that_python_makes():
    case = read(FREE)
    system = ct.FreeBody(Body(moments=(1.0, 1.5, 2.0)))
    start = system.start([0.6, 0.0, 0.8, 0.0], angular_velocity=[0.1, 1.0, 0.2], time=2.0)
    assert case.plan.system.describe() == system.describe()
    assert case.plan.start.time == 2.0 and case.steps == 100
    for name, values in start.fields.items():
        assert np.array_equal(case.plan.start.fields[name], values)
    assert case.plan.method == ct.DMV(8)
    assert case.plan.sections == (ct.Section("flip", "angular_momentum[1]", 1, "orientation[0] > 0 and t > 3"),)


def test_a_top_is_the_one_that_python_makes():
    case = read(TOP)
    system = ct.Top(Body.box((1.0, 2.0, 3.0), mass=12.0), ct.Gravity(2.0, (0.0, 0.5, 1.0)))
    assert case.plan.system.describe() == system.describe()
    assert case.plan.method == ct.Splitting(6, ct.DMV(10))


def test_a_top_in_a_potential_that_is_a_text():
    case = read(TOP, 'system.potential="g*R33 + k*R11**2"', "system.parameters={ g = 2.0, k = 0.5 }")
    expected = ct.Top(Body.box((1.0, 2.0, 3.0), mass=12.0), "g*R33 + k*R11**2", parameters={"g": 2.0, "k": 0.5})
    assert case.plan.system.describe() == expected.describe()


@pytest.mark.parametrize("body", BODIES, ids=lambda body: f"{body.shape}-{body.kind}")
def test_every_body_is_written_in_a_case_as_it_describes_itself(body):
    text = FREE.replace("{ moments = [1.0, 1.5, 2.0] }", toml(body.describe()))
    text = text.replace("[0.1, 1.0, 0.2]", "[0.1, 1.0, 0.0]")  # a line does not spin about itself
    assert read(text).plan.system.body == body


def test_every_shape_that_a_body_can_have_is_known_to_cases():
    """The shapes are those of Body.from_description, no more and no less."""
    with pytest.raises(ct.InputError) as caught:
        Body.from_description({"shape": "?"})
    known = caught.value.do.removeprefix("choose one of ").split(", ")
    assert sorted(known) == sorted(table.model_fields["shape"].annotation.__args__[0] for table in bodies.BODIES)
    assert {table.__name__ for table in bodies.BODIES} <= set(case_schema()["$defs"])


@pytest.mark.parametrize("table", bodies.BODIES, ids=lambda table: table.__name__)
def test_the_keys_of_a_shape_are_the_arguments_in_python(table):
    """A key too many is refused by Body itself; one too few would make a body that a case cannot give."""
    from inspect import signature

    shape = table.model_fields["shape"].annotation.__args__[0]
    ways = {"moments": Body, "particles": Body.from_particles, "inertia": Body.from_inertia, "mesh": Body.from_mesh}
    assert set(table.model_fields) - {"shape"} == set(signature(ways.get(shape) or getattr(Body, shape)).parameters)


@pytest.mark.parametrize("problem", ["book", "flip"])
def test_the_start_of_a_problem(problem):
    start = f'[start]\nproblem = "{problem}"\n'
    text = FREE[: FREE.index("[start]")] + start + FREE[FREE.index("[method]") :]
    expected = getattr(ct.problems, problem)().start
    assert np.array_equal(read(text).plan.start.angular_momentum, expected.angular_momentum)
    top = TOP[: TOP.index("[start]")] + '[start]\nproblem = "kepler"\n' + TOP[TOP.index("[method]") :]
    ((line, column, wrong),) = mistakes(top)
    assert (line, column) == (7, 1) and "the start of kepler has q, p" in wrong


MISTAKEN = """\
[system]
kind = "Top"
body = { shape = "bx", size = [1.0, 2.0] }
potential = { kind = "Gravity", strenght = 1.0, center = [0.0, 1.0] }
[start]
orientation = [0.9, 0.28, 0.0]
angular_momentum = ["a", 0.5, 3.0]
[method]
kind = "Splitting"
order = 6
rotor = { kind = "DMV", order = 10, steps = 1 }
[run]
dt = 0.02
t_end = 100.0
[[section]]
name = "s"
text = "R33 + angular_momentum[0]"
"""


def test_mistakes_of_every_table_are_all_reported_with_line_and_column():
    assert mistakes(MISTAKEN) == [
        (3, 10, 'shape = "bx" is not known (did you mean box?)'),
        (4, 33, "[system.potential] has no key strenght (did you mean strength?)"),
        (4, 49, "center = [...] is not a list of 3"),
        (6, 1, "orientation = [...] is not a list of 4"),
        (7, 21, 'angular_momentum[0] = "a" is not a number'),
        (11, 37, "[method.rotor] has no key steps"),
    ]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ('system.potential="g*R34"', "unknown name g"),
        ("system.potential=3.0", "potential = 3.0 is not text"),
        ("system.parameters={ g = 1.0 }", "parameters belong to a potential that is a text"),
        ('system.form="matrix"', "form = \"matrix\" is not 'quaternion' or 'multiplier'"),
        ("system.body={ moments = [1.0, 2.0, 5.0] }", "I3 = 5 is larger than I1 + I2 = 3"),
        ("system.body={ moments = [1.0, 2.0] }", "moments = [...] is not a list of 3"),
        ("system.body={ mass = 2.0 }", "[system.body] lacks the key moments"),
        ('system.body={ shape = "rod", length = -1.0 }', "length = -1.0 is not at least 0"),
        ('system.body={ shape = "rod" }', "[system.body] lacks the key length"),
        ("system.body=3", "body = 3 is not a table"),
        ("start.orientation=[0.9, 0.0, 0.0, 0.0]", "has length 0.9"),
    ],
)
def test_a_mistake_is_told_of_the_option_that_made_it(override, words):
    with pytest.raises(CaseError) as caught:
        read(TOP, override)
    (mistake,) = caught.value.mistakes
    assert words in mistake.wrong and mistake.where == f"--set {override}"


def test_what_two_keys_contradict_each_other_in_is_told_once():
    ((line, _, wrong),) = mistakes(TOP.replace("rotor = {", 'rotor = { kind = "DMV", order = 2 } #'))
    assert line == 12 and wrong == "DMV(2) has order 2, the splitting 6"
    ((line, _, wrong),) = mistakes(TOP.replace("[start]", "[start]\nangular_velocity = [0.0, 0.0, 1.0]"))
    assert line == 6 and "either the angular velocity or the angular momentum" in wrong
    ((line, _, wrong),) = mistakes(
        TOP.replace('"Splitting"\norder = 6\nrotor = { kind = "DMV", order = 10 }', '"Jacobi"')
    )
    assert line == 10 and "Jacobi() cannot treat Top in gravity" in wrong


def test_a_mistake_inside_a_body_or_an_expression_is_placed_to_the_column():
    assert [m[:2] for m in mistakes(FREE.replace("1.0, 1.5, 2.0", "1.0, 1.5, 5.0"))] == [(3, 10)]
    text = TOP.replace('{ kind = "Gravity", strength = 2.0, center = [0.0, 0.5, 1.0] }', '"2*R33 + R44"')
    assert [m[:2] for m in mistakes(text)] == [(4, 22)]


def test_sections_are_written_in_the_state_and_potentials_in_the_rotation():
    (found,) = mistakes(FREE.replace('"angular_momentum[1]"', '"angular_momentum[3]"'))
    assert found[:2] == (20, 9) and "angular_momentum[3]" in found[2]
    section = '\n[[section]]\nname = "up"\ntext = "R33"\n'
    (found,) = mistakes(TOP + section)
    assert "unknown name R33" in found[2]
    (found,) = mistakes(TOP, 'system.potential="angular_momentum[0]*R11"')
    assert "angular_momentum" in found[2]


@pytest.mark.parametrize("name", ["free-body", "top"])
def test_templates_run_unedited_and_save_their_pictures(name, uncompiled, tmp_path):
    """Only shorter, to stay quick in plain Python; the whole is checked without running."""
    runner = CliRunner()
    written = runner.invoke(app, ["new", name])
    assert written.exit_code == 0 and written.stdout.strip() == template(name).strip()
    case = tmp_path / "case.toml"
    case.write_text(written.stdout)
    assert runner.invoke(app, ["check", str(case)]).exit_code == 0
    result = runner.invoke(
        app, ["run", str(case), "--no-out", "--set", "run.t_end=4.0", "--plots", str(tmp_path / "plots"), "--json"]
    )
    assert result.exit_code == 0, result.output
    pictures = {file.stem for file in (tmp_path / "plots").glob("*.png")}
    own = {"polhode", "herpolhode", "section_middle_axis"} if name == "free-body" else {"path"}
    assert pictures == {"energy", "invariants", "columns", "angular_momentum", "energy_parts", "spectrum"} | own


def test_the_template_of_a_free_body_is_the_book(uncompiled):
    plan = read_case(None, text=template("free-body"), label="free-body").plan
    problem = ct.problems.book()
    assert plan.system.describe() == problem.system.describe()
    assert np.array_equal(plan.start.angular_momentum, problem.start.angular_momentum)


@pytest.mark.parametrize("name", ["free-body", "top"])
def test_the_commented_alternatives_of_a_template_are_right(name):
    """Each commented key of [system], put in the place of the one that is there, gives a case without mistakes."""
    lines = template(name).split("[system]\n")[1].split("[start]")[0].splitlines()
    commented = [
        line.removeprefix("# ").rsplit("  #", 1)[0] for line in lines if line.startswith("# ") and " = " in line
    ]
    options = {line.split(" = ", 1)[0]: line.split(" = ", 1)[1] for line in commented}
    assert set(options) == ({"body"} if name == "free-body" else {"potential", "parameters"})
    if name == "top":
        assert (
            read(template(name), *(f"system.{key}={value}" for key, value in options.items())).plan.system.title
            == "Top"
        )
    for line in (line for line in commented if line.startswith("body")):
        assert read(template(name), f"system.{line.replace(' = ', '=', 1)}").steps > 0


def test_the_orientation_of_a_case_may_be_a_matrix() -> None:
    """A quarter turn about z, against its quaternion."""
    half = 0.5**0.5
    matrix, quaternion = "[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]", f"[{half}, 0.0, 0.0, {half}]"
    turned, told = (
        read(FREE.replace("[0.6, 0.0, 0.8, 0.0]", given)).plan.start.orientation for given in (matrix, quaternion)
    )
    assert np.abs(turned - told).max() < 2e-16
    short = FREE.replace("[0.6, 0.0, 0.8, 0.0]", "[[0.0, -1.0, 0.0], [1.0, 0.0]]")
    assert [wrong for _, _, wrong in mistakes(short)] == ["orientation[1] = [...] is not a list of 3"]
