"""Cases of linkages and of the body that scales: they give what Python gives, and every mistake is found and placed."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import catena as ct
from case_texts import mistakes, read
from catena.cases import CaseError, template
from catena.cases.joints import FORCES, JOINTS
from catena.systems.linkage import joint_forces, joints

LINKAGE = """\
[system]
kind = "Linkage"
[[system.body]]
shape = "box"
size = [0.2, 0.2, 1.0]
[[system.body]]
moments = [1.0, 1.5, 2.0]
[[system.joint]]
kind = "Revolute"
parent = -1
child = 0
at = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]
axis = [1.0, 0.0, 0.0]
[[system.joint]]
kind = "Spherical"
parent = 0
child = 1
at = [[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]
[[system.force]]
kind = "Torsion"
joint = 0
potential = "k*theta**2/2"
parameters = { k = 2.0 }
[[system.force]]
kind = "Load"
body = 1
force = ["2*sin(t)", 0.0, 0.0]
[[system.force]]
kind = "SitePair"
i = -1
j = 1
potential = { kind = "Harmonic", k = 1.0, r0 = 2.0 }
[start]
orientation = [[0.8, 0.6, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
[run]
dt = 0.01
steps = 10
"""


def test_a_linkage_is_the_one_that_python_makes():
    made = read(LINKAGE).plan
    bodies = [ct.Body.box((0.2, 0.2, 1.0)), ct.Body(moments=(1.0, 1.5, 2.0))]
    linked = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0)),
        ct.Spherical(0, 1, at=((0, 0, -0.5), (0, 0, 0.5))),
    ]
    forces = [
        ct.Torsion(0, "k*theta**2/2", {"k": 2.0}), ct.Load(1, force=("2*sin(t)", 0.0, 0.0)),
        ct.SitePair(-1, 1, potential=ct.Harmonic(1.0, 2.0)),
    ]  # fmt: skip
    expected = ct.Linkage(bodies, linked, forces)
    assert made.system.describe() == expected.describe()
    start = expected.start(orientation=[[0.8, 0.6, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    for name, values in start.fields.items():
        assert np.array_equal(made.start.fields[name], values)
    (found,) = mistakes(template("scaling-body").replace("restitution = 1", "restitution = 1.5 # 1"))
    assert "restitution = 1.5 is not at most 1" in found[2]


@pytest.mark.parametrize(("tables", "kinds"), [(JOINTS, joints.JOINTS), (FORCES, joint_forces.FORCES)])
def test_cases_know_every_joint_and_force_with_their_arguments(tables, kinds):
    known = {table.model_fields["kind"].annotation.__args__[0]: table for table in tables}
    assert set(known) == set(kinds.names())
    for kind, table in known.items():
        assert set(table.model_fields) - {"kind"} == {field.name for field in fields(kinds.find(kind)) if field.init}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('kind = "Spherical"', 'kind = "Sperical"', 15, "did you mean Spherical?"),
        ("child = 1\n", "chld = 1\n", 17, "no key chld (did you mean child?)"),
        ("axis = [1.0, 0.0, 0.0]", "axis = [0.0, 0.0, 0.0]", 13, "has no direction"),
        ("k*theta**2/2", "k*phi**2/2", 22, "unknown name phi"),
        ("2*sin(t)", "2*sin(x)", 27, "unknown name x"),
        ("joint = 0", "joint = 1", 21, "no single number"),
        ("parent = 0\nchild = 1", "parent = 0\nchild = 5", 17, "body 5"),
        ("[0.8, 0.6, 0.0, 0.0]", "[0.8, 0.7, 0.0, 0.0]", 34, "orientation"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(old, new, line, words):
    found = mistakes(LINKAGE.replace(old, new))
    assert any(at == line and words in wrong for at, _, wrong in found), found


@pytest.mark.parametrize(
    ("force", "at", "words"),
    [
        ('kind = "Limit"\njoint = 0\nlow = 1.0\nhigh = -1.0', (1, 1), "low = 1 is not below high = -1"),
        ('kind = "Motor"\njoint = 0\ntorque = 1.0\ntarget = 1.0\nkp = 1.0', (1, 1), "both torque and target"),
        ('kind = "Motor"\njoint = 0\ntarget = 1.0', (1, 1), "not followed without kp"),
        (
            'kind = "Driven"\njoint = 0\npath = { times = [0, 1, 0.5, 2], values = [0, 1, 2, 3] }',
            (4, 10),
            "is not after times[1]",
        ),
        ('kind = "Driven"\njoint = 0\npath = { times = [0, 1, 2, 3], values = [0, 1, 2] }', (4, 1), "4 times and 3 values"),
        ('kind = "Load"\nforce = [0, "f*t", 0]', (3, 14), "force[1] uses the unknown name f"),
        ('kind = "External"\npotential = "x"', (1, 1), "no body has particles"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_force_is_shown_at_its_table_or_key(force, at, words):
    """Lines are counted from the header of the force."""
    header = LINKAGE.index("[[system.force]]")
    line = LINKAGE[:header].count("\n")
    found = mistakes(LINKAGE[:header] + "[[system.force]]\n" + force + "\n" + LINKAGE[LINKAGE.index("[start]") :])
    assert [(row - line, column) for row, column, _ in found] == [at]
    assert words in found[0][2]


@pytest.mark.parametrize(
    ("gravity", "wrong", "do"),
    [
        ("[0, 0, nan]", "gravity[2] = nan is not finite", "give a finite number"),
        ("[0, 1]", "gravity = [...] is not a list of 3", "give 3, not 2"),
        ("[]", "gravity = [] is not a list of 3", "give 3, not 0"),
        (
            "[0, 0, { time = [0, 1], values = [0, 1] }]",
            "[[system.gravity]] has no key time (did you mean times?)",
            "use one of times, values",
        ),
        (
            "[0, 0, true]",
            "gravity[2] = true is not a number or text or a table",
            "write a number such as 0.05, or write it in double quotes, or write its keys in braces",
        ),
    ],
)
def test_a_key_of_several_types_is_refused_by_the_type_it_was_given(gravity, wrong, do):
    """A number, a text or a table: which one was meant is seen, and the others are not advised."""
    with pytest.raises(CaseError) as caught:
        read(LINKAGE.replace('kind = "Linkage"', f'kind = "Linkage"\ngravity = {gravity}', 1))
    assert [(mistake.wrong, mistake.do) for mistake in caught.value.mistakes] == [(wrong, do)]


DRIVEN = """\
[system]
kind = "Linkage"
[[system.body]]
shape = "box"
size = [0.2, 0.2, 1.0]
[[system.joint]]
kind = "Revolute"
parent = -1
child = 0
at = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]
image = [1.0, 0.0, 0.0, 0.0]
name = "shoulder"
[[system.force]]
kind = "Driven"
joint = 0
path = "0.3*sin(t)"
[start]
angles = { shoulder = 0.0 }
rates = [0.3]
[run]
dt = 0.01
steps = 10
"""
BODY = """\
[[system.body]]
shape = "box"
size = [0.2, 0.2, 1.0]
"""


@pytest.mark.parametrize(
    ("old", "new", "wrong", "do"),
    [
        ("[[system.joint]]", "[system.joint]", "joint = {...} is not a list of tables", "own header [[system.joint]]"),
        (BODY, "", "[system] lacks the key body", "add it under its own header [[system.body]]"),
        ("shoulder = 0.0", 'shoulder = "0"', 'shoulder = "0" is not a number or a list', "a number such as 0.05"),
        ("shoulder = 0.0", "shoulder = nan", "shoulder = nan is not finite", "give a finite number"),
    ],
)
def test_what_is_wrong_with_tables_and_what_they_hold_is_said_once(old: str, new: str, wrong: str, do: str) -> None:
    """A header lacks its second brackets; and who writes a table of angles does not mean a list of them."""
    assert DRIVEN.count(old) == 1
    with pytest.raises(CaseError) as caught:
        read(DRIVEN.replace(old, new))
    (mistake,) = caught.value.mistakes
    assert mistake.wrong == wrong and do in mistake.do


def test_a_problem_that_does_not_fit_the_system_is_named() -> None:
    given = DRIVEN.replace("angles = { shoulder = 0.0 }\nrates = [0.3]", 'problem = "double_pendulum"')
    (found,) = mistakes(given)
    assert "the start of double_pendulum does not fit this system: orientation has shape (2, 4)" in found[2]


def test_names_that_a_section_may_use_are_all_told() -> None:
    (found,) = mistakes(DRIVEN + '[[section]]\nname = "a"\ntext = "angle[0]"\n')
    assert "unknown name angle[0]" in found[2]
    with pytest.raises(CaseError, match=r"momentum\[0\.\.0,0\.\.2\] .* position\[0\.\.0,0\.\.2\] t"):
        read(DRIVEN + '[[section]]\nname = "a"\ntext = "angle[0]"\n')


def test_a_start_from_joint_angles_is_the_one_that_python_makes():
    made = read(DRIVEN).plan
    assert isinstance(made.system, ct.Linkage)
    assert made.start.angular_momentum == pytest.approx(made.system.start(rates={"shoulder": 0.3}).angular_momentum)
    assert made.system.angles(made.start) == pytest.approx([0.0])


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("0.3*sin(t)", "0.001/(t - 0.055) + 0.001/0.055 + (0.3 + 0.001/0.055**2)*t", 16, "jumps from -0.15"),
        ("shoulder = 0.0", "shoulder = 0.1", 18, "told to stand at 0 and"),
        ("angles = { shoulder = 0.0 }\nrates = [0.3]", "orientation = [[0.8, 0.0, 0.0, 0.6]]", 18, "told to stand at 0 and"),
        ("shoulder = 0.0", "elbow = 0.0", 18, "no joint 'elbow'"),
        ("rates = [0.3]", "rates = [0.3, 0.1]", 19, "rates = [0.3, 0.1]"),
    ],
)  # fmt: skip
def test_a_path_that_jumps_and_a_start_off_it_are_shown_where_they_stand(old, new, line, words):
    ((at, _, wrong),) = mistakes(DRIVEN.replace(old, new))
    assert at == line and words in wrong


def test_a_body_that_scales_is_the_one_that_python_makes():
    made = read(template("scaling-body")).plan
    system = ct.ScalingBody(ct.Body(moments=(2.0, 3.0, 4.0)), "unilateral", 1.0)
    assert made.system.describe() == system.describe()
    start = system.start(angular_velocity=(0.7, -1.1, 0.5), scale=0.8, scale_rate=0.3)
    for name, values in start.fields.items():
        assert np.array_equal(made.start.fields[name], values)
    (found,) = mistakes(template("scaling-body").replace("restitution = 1", "restitution = 1.5 # 1"))
    assert "restitution = 1.5 is not at most 1" in found[2]
