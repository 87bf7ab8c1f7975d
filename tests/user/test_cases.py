"""Cases: every mistake is found and placed, nothing but mistakes is reported, and Python is described once."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeAliasType

import catena as ct
from case_texts import mistakes, read
from catena.cases import CaseError, case_schema, default_case, read_case, tables, template, template_names
from catena.cases.positions import Place, Positions
from catena.cases.tables import RunTable, system_tables
from catena.cases.whole_case import Named, case_table
from catena.errors import InputError
from catena.methods.base import all_methods, method_from

EXAMPLES = Path(__file__).parents[2] / "examples"

GOOD = """\
[system]
kind = "Hamiltonian"
energy = "p**2/2 + k*q**2/2"
parameters = { k = 4.0 }

[start]
q = 1.0
p = 0.0

[method]
kind = "Composition"
scheme = "suzuki4"
base = { kind = "StormerVerlet" }

[run]
dt = 0.1
t_end = 50.0

[[section]]
name = "zero"
text = "q"

[[section]]
name = "turn"
text = "p"
direction = -1
where = "q > 0 and k > 1"

[[event]]
name = "far"
text = "q - 2"

[units]
time = "s"
"""


def test_a_case_gives_the_objects_that_python_makes_of_the_same_arguments():
    case = read(GOOD)
    assert case.plan.method == ct.Composition(ct.StormerVerlet(), "suzuki4")
    assert case.plan.sections == (ct.Section("zero", "q"), ct.Section("turn", "p", -1, "q > 0 and k > 1"))
    assert case.plan.events == (ct.Event("far", "q - 2"),)
    assert (case.plan.dt, case.steps, case.plan.every, case.out) == (0.1, 500, 1, None)
    expected = ct.Hamiltonian("p**2/2 + k*q**2/2", "q", "p", {"k": 4.0})
    assert case.plan.system.describe() == expected.describe()
    assert case.plan.start.q.tolist() == [1.0] and case.plan.start.time == 0.0
    assert case.plan.describe()["units"] == {"time": "s"}


def test_the_start_of_a_problem_takes_its_arguments_and_only_its_start():
    kepler = EXAMPLES / "kepler.toml"
    start = read_case(kepler).plan.start
    expected = ct.problems.kepler(e=0.3).start
    assert np.array_equal(start.q, expected.q) and np.array_equal(start.p, expected.p)
    other = read_case(kepler, overrides=["system.energy='(p1**2 + p2**2)/3 - 1/sqrt(q1**2 + q2**2)'"]).plan
    assert np.array_equal(other.start.q, expected.q) and "/3" in other.system.energy


def test_the_start_of_another_kind_of_system_is_a_mistake():
    (found,) = mistakes(GOOD.replace("q = 1.0\np = 0.0", 'problem = "book"'))
    assert found[:2] == (7, 1) and "orientation" in found[2]


@pytest.mark.parametrize("name", template_names())
def test_every_template_explains_units_and_where_there_are_bodies_frames_and_the_order_of_quaternions(name):
    text = " ".join(template(name).replace("\n#", " ").split())
    assert "Units are yours" in text and "# [units]" in template(name)
    assert "stored; left out, under the name of the case" in text
    if "orientation" in {field.name for field in read_case(None, text=template(name), label=name).plan.system.fields}:
        assert "scalar first (w, x, y, z)" in text and "the axes of the body to space" in text.replace(
            "a body", "the body"
        )
        assert "angular_velocity" in text.split("[system]")[0] and "axes of" in text.split("[system]")[0]


@pytest.mark.parametrize("name", template_names())
def test_every_template_is_a_case_without_mistakes(name):
    text = template(name)
    assert read_case(None, text=text, label=name).steps > 0
    assert "#" in text


def test_the_default_case_is_the_built_in_pulled_helix():
    plan = read_case(None, text=default_case(), label="default").plan
    problem = ct.problems.helix_chain(64, right="force", F=(3.0, 0.0, 0.0))
    assert plan.system.describe() == problem.system.describe()
    for name, values in problem.start.fields.items():
        assert np.array_equal(getattr(plan.start, name), values), name


SIX_MISTAKES = """\
# six mistakes, each of another kind
[system]
kind = "Hamiltonian"
energy = "p**2/2 + kk*q**2/2"
parameters = { k = 4.0 }
[start]
q = 1.0
p = "fast"
[method]
kind = "StormerVerlat"
[run]
  dt = 0.3
  t_end = 1.0
  evry = 2
[[section]]
name = "ok"
text = "q"
[[section]]
name = "bad"
text = "q"
where = "q > "
"""


def test_six_different_mistakes_are_all_reported_with_line_and_column():
    found = mistakes(SIX_MISTAKES)
    assert [(line, column) for line, column, _ in found] == [(4, 20), (8, 1), (10, 1), (12, 3), (14, 3), (21, 14)]
    words = [wrong for *_, wrong in found]
    assert "unknown name kk" in words[0]
    assert words[1] == 'p = "fast" is not a number'
    assert "did you mean StormerVerlet?" in words[2]
    assert "does not divide" in words[3]
    assert "[run] has no key evry (did you mean every?)" in words[4]
    assert "ends too early" in words[5]


def test_a_mistake_shows_its_line_with_a_mark_under_the_column():
    with pytest.raises(CaseError) as caught:
        read(SIX_MISTAKES)
    assert str(caught.value.mistakes[0]).splitlines()[:3] == [
        "case.toml:4:20: energy uses the unknown name kk",
        '    energy = "p**2/2 + kk*q**2/2"',
        "                       ^",
    ]
    assert all(len(str(mistake).splitlines()) <= 4 for mistake in caught.value.mistakes)


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("dt = 0.1", "", (15, 1), "dt is missing"),
        ("t_end = 50.0", "t_end = 50.0\nsteps = 3", (18, 1), "both steps and t_end"),
        ("t_end = 50.0", "", (15, 1), "neither steps nor t_end"),
        ('kind = "Hamiltonian"\n', "", (1, 1), "lacks the key kind"),
        ('"Hamiltonian"', '"Hamltonian"', (2, 1), "did you mean Hamiltonian?"),
        ('kind = "StormerVerlet"', 'kind = "RK4"', (13, 1), "not symmetric"),
        ('kind = "StormerVerlet"', "knd = 3", (13, 1), "[method.base] lacks the key kind"),
        ('scheme = "suzuki4"', 'scheme = "suzuki5"', (12, 1), "did you mean suzuki4?"),
        ("[start]\nq = 1.0\np = 0.0", "[start]\nq = [1.0, 2.0]\np = 0.0", (7, 1), "shape"),
        ('name = "turn"', 'name = "zero"', (24, 1), "two sections or events"),
        ('name = "far"', 'name = "turn"', (30, 1), "two sections or events"),
        ("direction = -1", "direction = 2", (26, 1), "direction = 2"),
        ('text = "q - 2"', 'text = "q - r"', (31, 13), "unknown name r"),
        ('time = "s"', "tme = 1", (34, 1), "did you mean time?"),
        ('time = "s"', 'time = "s since 2000"', (34, 1), "is not a unit"),
        ("{ k = 4.0 }", "{ k = nan }", (4, 16), "not finite"),
        ("{ k = 4.0 }", "{ k = 4.0, q = 1.0 }", (1, 1), "given twice"),
        ("dt = 0.1", "dt = true", (16, 1), "not a number"),
        ("t_end = 50.0", "steps = 10.0", (17, 1), "not a whole number"),
        ("[units]", "[unit]", (33, 1), "did you mean units?"),
        ("dt = 0.1", "dt = ", (16, 6), "not TOML"),
    ],
)
def test_a_mistake_stands_at_its_key(old, new, place, words):
    """Changed by one mistake, the good case has that one and no other."""
    assert GOOD.count(old) == 1 or old.startswith(("kind", "name", "dt", "text", "[start]"))
    found = mistakes(GOOD.replace(old, new, 1))
    assert [(line, column) for line, column, _ in found] == [place], found
    assert words in found[0][2]


def test_a_method_that_cannot_treat_the_system_is_reported_at_its_kind():
    text = GOOD.replace("p**2/2 + k*q**2/2", "p**2/2 + k*q**2/2 + q*p")
    found = mistakes(text.replace('kind = "Composition"', 'kind = "Splitting"').replace('scheme = "suzuki4"', "order = 6")
                     .replace('base = { kind = "StormerVerlet" }', ""))  # fmt: skip
    assert [(line, column) for line, column, _ in found] == [(11, 1)]
    assert "cannot treat" in found[0][2]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("dt = 0.1", "dt = 0.1\ndt = 0.2", "stands once"), ("dt = 0.1", "dt = 0,1", "with a point")],
)
def test_usual_slips_of_toml_are_told_apart(old, new, words):
    with pytest.raises(CaseError) as caught:
        read(GOOD.replace(old, new, 1))
    assert words in caught.value.mistakes[0].do


def test_a_singular_start_is_reported_without_a_warning():
    found = mistakes(GOOD.replace("k*q**2/2", "k/q").replace("q = 1.0", "q = 0.0"))
    assert found[0][:2] == (6, 1) and "not defined" in found[0][2]


def test_overrides_replace_keys_and_are_named_in_mistakes():
    case = read(GOOD, "run.dt=0.5", "method.scheme='kahanli8'", "section.1.direction=0", "run.out='x.zarr'")
    assert case.steps == 100 and case.plan.method.scheme == "kahanli8" and case.out == "x.zarr"
    assert case.plan.sections[1].direction == 0
    with pytest.raises(CaseError) as caught:
        read(GOOD, "run.dt=0.3", "method={kind = 'Gaus'}", "units.length=1")
    assert [mistake.location for mistake in caught.value.mistakes] == [
        "--set method={kind = 'Gaus'}", "--set units.length=1", "--set run.dt=0.3",
    ]  # fmt: skip


def test_the_length_of_a_run_can_be_overridden_by_either_key():
    """The other key of the file gives way; two overrides that both tell the length are a mistake as ever."""
    assert read(GOOD, "run.steps=7").steps == 7
    assert read(GOOD.replace("t_end = 50.0", "steps = 3"), "run.t_end=2.0").steps == 20
    with pytest.raises(CaseError) as caught:
        read(GOOD, "run.steps=7", "run.t_end=2.0")
    assert "steps" in caught.value.mistakes[0].wrong and "t_end" in caught.value.mistakes[0].wrong


@pytest.mark.parametrize(
    "override",
    ["", "run", "=1", "run.dt", "run.dt=", "run.dt=x", "run..dt=1", "run.dt.x=1", "section.9.name='a'", "a=1\nb=2"],
)
def test_an_override_that_makes_no_sense_is_a_mistake(override):
    (found,) = mistakes(GOOD, override)
    assert found[:2] == (None, None)


POSITIONS = """\
top = 1
[a]
b.c."d e" = 1
'é.f' = { g = [10, { h = 2 }], i.j = "text" }    # ü
[[list]]
  x = 1
[list.sub]
y = 2
[[list]]
x = 3
[ "q r" . s ]
t = \"\"\"
one \\u00e9 two \\
   three\"\"\"
u = 'raw \\ text'
v = [ # comment
  1,
  2,
]
"""


@pytest.mark.parametrize(
    ("path", "line", "column", "width"),
    [
        (("top",), 1, 1, 3),
        (("a",), 2, 1, 3),
        (("a", "b"), 3, 1, 1),
        (("a", "b", "c"), 3, 3, 1),
        (("a", "b", "c", "d e"), 3, 5, 5),
        (("a", "é.f"), 4, 1, 5),
        (("a", "é.f", "g"), 4, 11, 1),
        (("a", "é.f", "g", 0), 4, 16, 2),
        (("a", "é.f", "g", 1, "h"), 4, 22, 1),
        (("a", "é.f", "i", "j"), 4, 34, 1),
        (("list", 0), 5, 1, 8),
        (("list", 0, "x"), 6, 3, 1),
        (("list", 0, "sub"), 7, 1, 10),
        (("list", 0, "sub", "y"), 8, 1, 1),
        (("list", 1, "x"), 10, 1, 1),
        (("q r", "s"), 11, 1, 13),
        (("q r", "s", "v", 1), 18, 3, 1),
        (("a", "missing", "deep"), 2, 1, 3),
        (("nothing",), 1, 1, 1),
    ],
)
def test_keys_are_found_where_they_stand(path, line, column, width):
    """Dotted, quoted and inline keys, arrays of tables and text that is not ASCII: counted by eye."""
    assert Positions(POSITIONS).place(path) == Place(line, column, width)


@pytest.mark.parametrize(
    ("path", "offset", "line", "column"),
    [
        (("a", "é.f", "i", "j"), 0, 4, 39),
        (("a", "é.f", "i", "j"), 3, 4, 42),
        (("q r", "s", "t"), 0, 13, 1),
        (("q r", "s", "t"), 4, 13, 5),
        (("q r", "s", "t"), 5, 13, 11),
        (("q r", "s", "t"), 10, 14, 4),
        (("q r", "s", "u"), 6, 15, 12),
        (("top",), 5, 1, 1),
    ],
)
def test_characters_of_texts_are_found_where_they_are_written(path, offset, line, column):
    """Escapes, first newlines and continued lines take more room than they give: counted by eye."""
    place = Positions(POSITIONS).inside(path, offset)
    assert (place.line, place.column) == (line, column)


def test_windows_line_ends_and_a_byte_order_mark_change_no_position():
    assert mistakes("\ufeff" + SIX_MISTAKES.replace("\n", "\r\n")) == mistakes(SIX_MISTAKES)


WARM = """\
[system]
kind = "Top"
body = { moments = [1.0, 0.8, 0.5] }
potential = { kind = "Gravity", strength = 1.5, center = [0, 0, 1] }
[start]
orientation = [0.6, 0.8, 0.0, 0.0]
temperature = 0.5
seed = 3
[method]
kind = "Langevin"
temperature = 0.5
friction = { rotation = [0.2, 0.2, 0.4] }
seed = 7
[run]
dt = 0.1
steps = 10
"""


def test_a_start_at_a_temperature_and_a_bath_are_those_of_python():
    case = read(WARM)
    rest = case.plan.system.start((0.6, 0.8, 0.0, 0.0), angular_momentum=(0.0, 0.0, 0.0))
    wanted = case.plan.system.maxwell(rest, 0.5, seed=3)
    assert np.array_equal(case.plan.start.angular_momentum, wanted.angular_momentum) and wanted.angular_momentum.all()
    assert case.plan.method == ct.Langevin(0.5, ct.Friction(rotation=(0.2, 0.2, 0.4)), seed=7)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("temperature = 0.5\nseed = 3", "temperature = -0.5\nseed = 3", "temperature = -0.5"),
        ("temperature = 0.5\nseed = 3", "seed = 3", "seed is that of momenta"),
        ("seed = 3", "seed = -3", "seed = -3"),
        ("friction = { rotation", "friction = { spin", "spin"),
        ('friction = { rotation = [0.2, 0.2, 0.4] }', "friction = -1.0", "friction = -1.0"),
        ("seed = 7", "seed = -7", "seed = -7"),
        ('friction = { rotation = [0.2, 0.2, 0.4] }', 'friction = "high"', "is not a number or 'inf' or a list"),
        ('friction = { rotation = [0.2, 0.2, 0.4] }', "friction = nan", "friction = nan is not finite or 'inf'"),
    ],
)  # fmt: skip
def test_mistakes_about_a_temperature_are_placed(before, after, message):
    text = WARM.replace(before, after, 1)
    found = mistakes(text)
    assert len(found) == 1 and message in found[0][2], found
    assert "instance" not in found[0][2] and "Value error" not in found[0][2]


def test_a_bath_refuses_crossings_where_they_are_written():
    text = WARM.replace("[run]", '[[event]]\nname = "down"\ntext = "orientation[0]"\n[run]', 1)
    ((line, _, words),) = mistakes(text)
    assert text.splitlines()[line - 1] == "[[event]]" and "no crossing can be located" in words


def test_the_models_have_the_names_and_defaults_of_python():
    """A case uses the Python names and arguments, nothing else."""
    for kind, table in system_tables().items():
        system = getattr(ct, kind)
        signature = inspect.signature(system.__init__).parameters
        assert set(table.model_fields) - {"kind"} == set(signature) - {"self"}
        required = {name for name, field in table.model_fields.items() if field.is_required()} - {"kind"}
        assert required == {n for n, p in signature.items() if p.default is p.empty and n != "self"}
        arguments = set(inspect.signature(system.start).parameters) - {"self"}
        ways = {
            name for name in table.start.model_fields if hasattr(system, name)
        } - arguments  # chain.straight(spacing)
        own = set(table.start.model_fields) - {"temperature", "seed"}  # those of system.maxwell
        assert own - ways == arguments
    simulate = inspect.signature(ct.simulate).parameters
    assert {name: field.default for name, field in RunTable.model_fields.items()} == {
        name: simulate[name].default for name in ("dt", "steps", "t_end", "every", "out")
    }


@pytest.mark.parametrize("method", [m for kind in all_methods() for m in kind.examples()], ids=str)
def test_a_case_can_name_every_method_of_the_registry(method):
    table = (
        case_table(Named(None))
        .model_validate({"system": {}, "start": {}, "run": {}, "method": method.describe()})
        .method
    )
    assert method_from(table.given()) == method
    assert set(type(table).model_fields) == {"kind", *method.stated} | {f.name for f in fields(method)}


def test_the_schema_knows_every_method_and_forbids_other_keys():
    schema = case_schema()
    names = {kind.name for kind in all_methods()}
    assert names <= set(schema["$defs"])
    cases = [schema["$defs"][f"{kind}Case"] for kind in system_tables()]
    assert len(schema["anyOf"]) == len(cases) and all(case["additionalProperties"] is False for case in cases)
    assert all(schema["$defs"][name]["additionalProperties"] is False for name in names)
    assert schema["$defs"]["Gauss"]["properties"]["solver"]["enum"] == ["auto", "fixed-point", "newton"]


@pytest.mark.parametrize("alias", [False, True])
def test_arrays_are_lists_in_a_case_whatever_python_calls_them(alias, monkeypatch):
    """numpy's ArrayLike is a union, and from Python 3.12 on an alias of one: with it alone no case could be read there."""
    kind = TypeAliasType("ArrayLike", ArrayLike) if alias else ArrayLike
    monkeypatch.setattr(tables, "ARRAY_LIKE", set(get_args(kind)) or {kind})
    assert tables._without_arrays(kind) == tables.Nested
    assert set(get_args(tables._without_arrays(kind | None))) == {*get_args(tables.Nested), type(None)}
    assert tables._without_arrays(int | None) == int | None


@pytest.mark.parametrize("alias", [False, True])
def test_a_list_or_an_array_is_a_list_in_a_case_whatever_python_calls_it(alias, monkeypatch):
    """So is NDArray: the tables of joints of other packages could not be made."""
    kind = TypeVar("kind", bound=np.generic)
    array = TypeAliasType("Doubles", np.ndarray[Any, np.dtype[kind]], type_params=(kind,)) if alias else NDArray
    given = Union[Sequence[float], array[np.float64]]  # noqa: UP007 - an alias knows no other way
    if alias:
        assert tables._without_arrays(given) == given
        monkeypatch.setattr(tables, "ARRAY", get_origin(array[np.float64]))
    assert tables._without_arrays(given) == Sequence[float]


@pytest.mark.parametrize(
    "text", ["a." * 5000 + "a = 1", "a = " + "[" * 5000, "a = " + "{a=" * 3000, "a = 1" + "0" * 5000]
)
def test_extreme_texts_are_refused(text):
    with pytest.raises(CaseError):
        read(text)


def test_a_case_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_case(tmp_path / "none.toml")
    with pytest.raises(InputError, match="directory"):
        read_case(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"a = 1\nb = '\xe9'\n")
    with pytest.raises(InputError, match="line 2"):
        read_case(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    "start",
    ['problem = "helix_chain"', 'problem = "printed_chain"\nspacing = 3.0'],
)
def test_the_chain_of_a_case_is_made_once(start, monkeypatch):
    """The problem that gives the start puts this chain there, with velocities of this size, whatever its bodies are."""
    made = []
    plain = ct.Chain.__init__

    def counted(chain, *arguments, **more):
        made.append(chain)
        plain(chain, *arguments, **more)

    monkeypatch.setattr(ct.Chain, "__init__", counted)
    text = default_case().replace('problem = "helix_chain"', start)
    plan = read_case(None, text=text, label="default").plan
    assert made == [plan.system]
    velocity = plan.start.momentum / np.array([body.mass for body in plan.system.bodies])[:, None]
    j = np.arange(1, 64)
    assert np.allclose(velocity[1:], 0.1 * np.column_stack([np.sin(j), np.sin(2 * j), np.cos(3 * j)]), rtol=1e-14)
    assert not velocity[0].any()


@pytest.mark.parametrize("text", [*map(template, template_names()), WARM], ids=[*template_names(), "warm"])
def test_a_case_needs_the_tables_of_what_it_names_only(text):
    """The same values come out of the model of all that there is."""
    data = tomllib.loads(text)
    named = Named.by(data)
    few, all_ = (dict(case_table(names).model_validate(data)) for names in (named, Named(named.kind)))
    assert all_.pop("sweep", None) is None and few.pop("sweep", None) is None and few.keys() == all_.keys()
    for key, table in few.items():
        assert repr(table) == repr(all_[key]), key
