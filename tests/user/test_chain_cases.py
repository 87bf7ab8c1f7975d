"""Cases of chains: they give what Python gives, and every mistake is found and placed."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import catena as ct
from case_texts import mistakes, read, toml
from catena.cases.potentials import TABLES
from catena.systems.chain.ends import KINDS
from catena.systems.potentials import pairwise

CHAIN = """\
[system]
kind = "Chain"
bodies = { count = 4, shape = "tetrahedron" }
potential = { kind = "LennardJones", epsilon = 5.0, sigma = 1.0 }
right = { kind = "Force", force = [3.0, 0.0, 0.0] }

[start]
problem = "helix_chain"
amp = 0.3

[method]
kind = "Splitting"
order = 4

[run]
dt = 0.05
steps = 10
"""
LJ = ct.LennardJones(5.0, 1.0)
POTENTIALS = [
    LJ, ct.WCA(1.0, 1.0), ct.Morse(5.0, 3.0, 1.1), ct.Yukawa(2.0, 1.5), ct.Harmonic(3.0, 1.2),
    ct.PairPotential("k/r**9", {"k": 2.0}), ct.Switched(LJ, 1.2, 2.0, smoothness=3), LJ + ct.Yukawa(1.0, 1.0),
    ct.PairTable({("a", "a"): LJ, ("a", "b"): ct.WCA(1.0, 1.0), ("b", "b"): None}),
    ct.LinkPotential("k*(d1**2 + d2**2 + d3**2) + (1 - Q11)", {"k": 3.0}), ct.BendTwist(9.0, 2.0, 1.0, (1, 0, 0)),
    ct.GayBerne(1.0, 1.0, 3.0, 5.0, 2.0, 1.0), LJ + ct.BendTwist(9.0, 2.0, 1.0, (1, 0, 0)),
    ct.Elastic(np.eye(6), ([0.0, 0.0, 0.1], [0.0, 0.0, 1.0])),
    LJ + ct.Elastic([np.eye(6)] * 2, ([[0.0, 0.0, 0.1]] * 2, [[0.0, 0.0, 1.0]] * 2), "exponential", "middle"),
]  # fmt: skip


def with_start(text: str, start: str) -> str:
    return text[: text.index("[start]")] + f"[start]\n{start}\n" + text[text.index("[method]") :]


def test_a_chain_is_the_one_that_python_makes():
    case = read(CHAIN)
    problem = ct.problems.helix_chain(4, right="force", F=(3.0, 0.0, 0.0), amp=0.3)
    assert case.plan.system.describe() == problem.system.describe()
    for name, values in problem.start.fields.items():
        assert np.array_equal(case.plan.start.fields[name], values)


@pytest.mark.parametrize("end", [ct.Free(), ct.Clamped(), ct.Displaced(), ct.Force((1.0, 2.0, 3.0))], ids=str)
def test_the_start_of_a_problem_holds_what_the_chain_holds(end):
    kind = type(end).__name__
    force = ", force = [1.0, 2.0, 3.0]" if kind == "Force" else ""
    case = read(CHAIN.replace('{ kind = "Force", force = [3.0, 0.0, 0.0] }', f'{{ kind = "{kind}"{force} }}'))
    assert case.plan.system.right == end
    expected = ct.problems.helix_chain(4, right=kind.lower(), amp=0.3).start
    assert np.array_equal(case.plan.start.momentum, expected.momentum)


def test_a_row_and_every_body_apart():
    row = read(with_start(CHAIN, "straight = 2.1\nvelocity = [[0,0,0],[0,0,1.0],[0,0,0],[0,0,0]]")).plan
    assert np.array_equal(row.start.position, row.system.straight(2.1).position)
    assert row.start.momentum[1, 2] == 4.0
    apart = "position = [[0,0,0],[2.5,0,0],[5,0,0],[7.5,0,0]]"
    assert np.array_equal(read(with_start(CHAIN, apart)).plan.start.position, row.system.straight(2.5).position)


def test_bodies_and_potentials_one_by_one():
    bodies = '[{ shape = "tetrahedron" }, { shape = "particles", positions = [[0,0,0.5],[0,0,-0.5]] }, { shape = "tetrahedron" }]'
    text = CHAIN.replace('{ count = 4, shape = "tetrahedron" }', bodies)
    text = text.replace(toml(LJ.describe()), f'[{toml(LJ.describe())}, {{ kind = "Harmonic", k = 3.0, r0 = 1.5 }}]')
    chain = read(with_start(text, "straight = 2.5")).plan.system
    assert [len(body.particles) for body in chain.bodies] == [4, 2, 4]
    assert chain.potentials == (LJ, ct.Harmonic(3.0, 1.5))


@pytest.mark.parametrize("potential", POTENTIALS, ids=lambda p: type(p).__name__)
def test_every_potential_is_written_in_a_case_as_it_describes_itself(potential):
    from pydantic import TypeAdapter

    from catena.cases.potentials import Potentials, make_potential

    table = TypeAdapter(Potentials).validate_python(json.loads(json.dumps(potential.describe())))
    assert make_potential(table, "potential") == potential


def test_elastic_links_stand_in_a_case_as_python_takes_them():
    """One for all, or one for each of three links, with rotations as coordinates, quaternion or matrix; a row too short has its place."""
    rows, unit = toml(np.eye(6).tolist()), toml(np.eye(3).tolist())
    for rotation in ("[0.0, 0.0, 0.1]", "[1.0, 0.0, 0.0, 0.05]", unit):
        table = f'{{ kind = "Elastic", stiffness = {rows}, rest = [{rotation}, [0.0, 0.0, 1.0]], frame = "middle" }}'
        chain = read(with_start(CHAIN.replace(toml(LJ.describe()), table), "straight = 2.1")).plan.system
        assert chain.potentials[0].frame == "middle" and chain.potentials[0].links is None
    each = f'{{ kind = "Elastic", stiffness = {rows}, rest = [[{", ".join(["[0.0, 0.0, 0.1]"] * 3)}], [{", ".join(["[0, 0, 1]"] * 3)}]] }}'
    chain = read(with_start(CHAIN.replace(toml(LJ.describe()), each), "straight = 2.1")).plan.system
    assert chain.potentials[0].links == 3
    short = CHAIN.replace(
        toml(LJ.describe()), each.replace("[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]", "[1.0, 0.0, 0.0, 0.0, 0.0]")
    )
    ((line, column, wrong),) = mistakes(with_start(short, "straight = 2.1"))
    assert (line, column, wrong) == (4, 46, "stiffness[0] = [...] is not a list of 6")


def test_cases_know_every_potential_and_every_end():
    kinds = {table.model_fields["kind"].annotation.__args__[0]: table for table in TABLES}
    assert set(kinds) == set(pairwise.POTENTIALS.names())
    for kind, table in kinds.items():
        keys = {field.name for field in dataclasses.fields(pairwise.POTENTIALS.find(kind)) if field.init}
        assert set(table.model_fields) - {"kind"} == keys
    from catena.cases.kinds.chain import ENDS

    assert {table.model_fields["kind"].annotation.__args__[0] for table in ENDS} == set(KINDS)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ('{ kind = "Tweezers", k = 3.0, anchor = ["4 + t", 0.0, 0.0] }', "free"),
        ('{ kind = "Torque", torque = [1.0, 0.0, 0.0] }', "free"),
        ('{ kind = "Moved" }', "clamped"),
    ],
)
def test_a_chain_with_any_end_starts_as_a_problem(end, kind):
    """Starts of problems differ in whether their ends move and turn."""
    right = next(line for line in CHAIN.splitlines() if line.startswith("right"))
    made = read(with_start(CHAIN.replace(right, f"right = {end}"), 'problem = "helix_chain"')).plan
    same = ct.problems.helix_chain(n=4, right=kind).start
    assert np.array_equal(made.start.momentum, same.momentum)


MISTAKEN = """\
[system]
kind = "Chain"
bodies = { cout = 4, shape = "tetrahedron" }
potential = { kind = "LennardJons", epsilon = 5.0, sigma = 1.0 }
left = { kind = "Clamped", force = [0, 0, 0] }
right = { kind = "Force", force = [3.0, 0.0] }
[start]
position = [[0, 0], [1, 2, "a"]]
[run]
dt = 0.05
steps = 10
"""


def test_mistakes_of_every_table_are_all_reported_with_line_and_column():
    assert mistakes(MISTAKEN) == [
        (3, 12, "[system.bodies] has no key cout (did you mean count?)"),
        (4, 15, 'kind = "LennardJons" is not known (did you mean LennardJones?)'),
        (5, 28, "[system.left] has no key force"),
        (6, 27, "force = [...] is not a list of 3"),
        (8, 13, "position[0] = [...] is not a list of 3"),
        (8, 28, 'position[1][2] = "a" is not a number'),
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (with_start(CHAIN, "straight = 0.2"), 7, "apart, less than half of 1"),
        (CHAIN.replace("count = 4", "count = 1"), 3, "count = 1 is not above 1"),
        (CHAIN.replace("sigma = 1.0", "sigma = -1.0"), 4, "sigma = -1"),
        (
            CHAIN.replace('"LennardJones", epsilon = 5.0, sigma = 1.0', '"PairPotential", text = "k/r + b"'),
            4,
            "unknown name",
        ),
        (CHAIN.replace('potential = { kind', 'potential = [{ kind').replace("sigma = 1.0 }", "sigma = 1.0 }]"), 4, "1 potentials for 3 links"),
        (with_start(CHAIN, "straight = 2.1\norientation = [[1,0,0,0],[1,0,0,0.1],[1,0,0,0],[1,0,0,0]]"), 9, "orientation of body 1"),
        (CHAIN + '[[event]]\nname = "far"\ntext = "position[4,0] - 9"\n', 20, "position[4,0]"),
    ],
)  # fmt: skip
def test_a_mistake_is_shown_where_it_stands(text, line, words):
    ((at, _, wrong),) = mistakes(text)
    assert at == line and words in wrong
