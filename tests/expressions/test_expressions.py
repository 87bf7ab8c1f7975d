"""Text and sympy expressions: what is accepted and what it means."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import time
from fractions import Fraction

import mpmath
import pytest
import sympy

from catena.errors import InputError
from catena.expressions import parse, to_sympy, to_text, write_lines
from catena.expressions.tree import FUNCTIONS
from expression_fuzz import NAMES, SOUND
from expression_values import EVERYTHING, GALACTIC, GALACTIC_NAMES, exact_value, places

# what is accepted, and what it means


@pytest.mark.parametrize("text", SOUND)
def test_sound_expressions_mean_what_python_means(text):
    """Python's own evaluation is the reference; a few roundings apart, 1e-13 of the largest term allowed."""
    tree = parse(text, NAMES)
    point, _ = places(tree, 1)
    space = {**{name: getattr(math, name) for name in FUNCTIONS}, "pi": math.pi, "lamda": point.get("lambda"), **point}
    expected = eval(text.replace("lambda", "lamda"), {"__builtins__": {}}, space)
    assert float(exact_value(tree, point)) == pytest.approx(expected, rel=1e-13, abs=1e-13)
    assert float(to_sympy(tree).subs({sympy.Symbol(n, real=True): v for n, v in point.items()})) == pytest.approx(
        expected, rel=1e-13, abs=1e-13
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-2**2", -4),
        ("2**3**2", 512),
        ("2**-1", Fraction(1, 2)),
        ("-2**-2", Fraction(-1, 4)),
        ("7-2-1", 4),
        ("8/2/2", 2),
        ("8/2*4", 16),
        ("2*3+4*5", 26),
        ("1/3", Fraction(1, 3)),
        ("--1", 1),
        ("+1", 1),
        ("(1+2)*3", 9),
        ("0.5", Fraction(1, 2)),
        ("1.", 1),
        (".25", Fraction(1, 4)),
        ("2.5e-1", Fraction(1, 4)),
        ("1E3", 1000),
        ("0.1", 0.1),
        ("0.1/0.3", 0.1 / 0.3),
        ("0.1*0.7/0.3*1.1", 0.1 * 0.7 / 0.3 * 1.1),
        ("0.1-0.3-0.7", 0.1 - 0.3 - 0.7),
        ("1234567890123456", 1234567890123456.0),
        ("10**14", 10**14),
        ("10**300", 1e300),
        ("sqrt(2)", math.sqrt(2)),
        ("atan2(1, -1)", math.atan2(1, -1)),
        ("pi", math.pi),
        ("1**9**9", 1),
    ],
)
def test_constants_are_computed_as_python_computes_them(text, value):
    number = parse(text, ()).nodes[-1].value
    assert number == value
    assert isinstance(number, float) == isinstance(value, float)


def test_any_name_can_be_declared_and_comes_first():
    names = ("lambda", "print", "E", "pi", "e", "x_1", "sin", "and", "Ω", "größe", "I", "S", "__import__")
    tree = parse(" + ".join(names), names)
    assert tree.names == names
    symbols = {sympy.Symbol(name, real=True) for name in names}
    assert to_sympy(tree).free_symbols == symbols
    lines = write_lines([("out", to_sympy(tree))], {name: f"z[{i}]" for i, name in enumerate(names)})
    space: dict = {"z": [2.0**i for i in range(len(names))]}
    exec("\n".join(lines), space)
    assert space["out"] == 2.0 ** len(names) - 1
    with pytest.raises(InputError, match="declared name"):
        parse("sin(2)", names)


def test_components_are_names_in_canonical_spelling():
    tree = parse("position[ 3, 0 ]**2 - position[03,1]", {"position[3,0]", "position[3,1]"})
    assert tree.names == ("position[3,0]", "position[3,1]")
    for wrong in (
        "position[4,0]",
        "position",
        "position[3]",
        "position[-1,0]",
        "position[x,0]",
        "position[3,0",
        "position[]",
    ):
        with pytest.raises(InputError):
            parse(wrong, {"position[3,0]", "position[3,1]"})


def test_trees_are_equal_when_only_spacing_differs_and_can_be_keys():
    assert {parse("a+ b*2", "ab"): 1}[parse(" a +\n b*2.0", "ab")] == 1
    assert parse("a+b", "ab") != parse("a-b", "ab")
    assert parse("a*b", "ab") != parse("a**b", "ab")


def test_parsing_does_not_import_sympy():
    code = (
        "import sys; from catena.expressions import parse; parse('sin(x)**2', ['x']); assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


REFUSED = {
    "": "is empty",
    " \n ": "is empty",
    "x +": "ends too early",
    "(x": "ends too early",
    "x)": "does not belong",
    "x y": "lacks an operator",
    "2x": "lacks an operator",
    "2(x)": "lacks an operator",
    "x(2)": "declared name",
    "x^2": "powers are written with",
    "x²": r"write \*\*2",
    "x // 2": "does not belong",
    "x % 2": "'%'",
    "x == 2": "'='",
    "y": "unknown name y",
    "e**x": "exp",
    "sine(x)": "did you mean sin",
    "sin": r"write sin\(",
    "sin x": "without",
    "sin()": "0 arguments",
    "sin(x, x)": "2 arguments",
    "atan2(x)": "1 arguments",
    "sin(x,)": "does not belong",
    "sin(,x)": "does not belong",
    "abs(x)": "not a known function",
    "x < 1": "not a condition",
    "x and x": "not a condition",
    "x.real": "no attributes",
    "x.__class__": "no attributes",
    "__import__('os')": "no quoted text",
    "__import__(x)": "not a known function",
    "[x]": "does not belong",
    "x[0]": r"unknown name x\[0\]",
    "lambda: x": "':'",
    "x if x else x": "lacks an operator",
    "1/0": "no finite real value",
    "1/(2 - 2)": "no finite real value",
    "0**-1": "no finite real value",
    "x/(0.1 - 0.1)": "no finite real value",
    "sqrt(-1)": "no finite real value",
    "(-8)**(1/3)": "no finite real value",
    "log(0)": "no finite real value",
    "acos(2)": "no finite real value",
    "exp(1000)": "no finite real value",
    "1e200*1e200": "no finite real value",
    "9**9**9**9": "no finite real value",
    "1e999": "too large",
    "1e-999": "too small",
    "nan": "unknown name",
    "inf": "unknown name",
    "1j": "lacks an operator",
    "0x10": "lacks an operator",
    "1_000": "lacks an operator",
    "(-2)**x": "positive base",
    "0**x": "positive base",
    "x**101": "the limit is 100",
    "x**-1e9": "the limit is 100",
    "\0": "no expression knows",
    "x" * 19_000 + "²": r"write \*\*2",
    "1" * 19_000: "too large",
    "x[" + "1" * 19_000 + "]": "unknown name",
    "٣*x": "no expression knows",
    "(" * 60 + "x" + ")" * 60: "nested deeper",
    "-" * 1000 + "x": "nested deeper",
    "x**" * 1000 + "x": "nested deeper",
    "sin(" * 5000: "nested deeper",
    "(" * 10**6: "1000000 characters",
    "*".join(f"sin(x + {i})" for i in range(200)): "too involved",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:30])
def test_what_is_not_an_expression_is_refused_at_once_with_place_and_advice(text):
    """At once: 0.2 s of processor time, a hundred times what the slowest takes."""
    started = time.process_time()
    with pytest.raises(InputError, match=REFUSED[text]) as caught:
        parse(text, ["x"], what="energy")
    assert time.process_time() - started < 0.2
    assert str(caught.value).startswith("energy ")
    assert "at energy" in str(caught.value)
    assert caught.value.do
    assert len(str(caught.value).split("\n")) <= 4


def test_what_is_not_text_is_refused():
    for wrong in (3, None, b"x", ["x"]):
        with pytest.raises(InputError, match="not text"):
            parse(wrong, ["x"])


def test_components_of_an_array_are_named_as_one():
    """64 bodies have 192 places: named one by one, those of the first bodies filled the line, and nothing else was seen."""
    places = [f"position[{body},{axis}]" for body in range(64) for axis in range(3)]
    with pytest.raises(InputError) as caught:
        parse("energi", [*places, "t", "energy", "omega[0]", "omega[1]"])
    assert caught.value.do == "use one of: energy omega[0..1] position[0..63,0..2] t (did you mean energy?)"


def test_the_caret_stands_under_the_mistake():
    with pytest.raises(InputError) as caught:
        parse("p**2/2 - co(q)", ["q", "p"], what="energy")
    _, shown, caret, _ = str(caught.value).split("\n")
    assert "energy, column 10" in shown
    assert shown[caret.index("^") :] == "co(q)"
    with pytest.raises(InputError) as caught:
        parse("1 + " * 2000 + "wrong" + " + 1" * 2000, [], what="energy")
    _, shown, caret, _ = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith("wrong")
    assert len(shown) < 100


@pytest.mark.parametrize("text", ["1/(x - x)", "log(x - x)", "sqrt(-x**2)", "sqrt(-exp(x))", "0*x/(x - x)"])
def test_what_is_nowhere_real_and_finite_is_refused_as_soon_as_sympy_finds_out(text):
    with pytest.raises(InputError, match="no finite real value anywhere"):
        to_sympy(parse(text, ["x"]))


@pytest.mark.parametrize("text", ["1e300*x*1e300", "x*1e-300*1e-300", "asin(2 + x - x)", "(123456789012345*x)**100"])
def test_constants_that_are_no_doubles_are_refused_when_written(text):
    with pytest.raises(InputError, match="no finite double"):
        write_lines([("out", to_sympy(parse(text, ["x"])))], {"x": "x"})


# conditions


@pytest.mark.parametrize(
    "text",
    [
        "x > 0",
        "x <= y",
        "0 < x < 1",
        "0 < x and not y >= 1",
        "x > 0 and y > 0 or x < 0 and y < 0",
        "not (x > 0 or y > 0)",
        "not x > 0 or y > 0",
        "abs(x) < 1/2",
        "x*y > 0.1 and x**2 + y**2 < 1",
        "(x + y)*(x - y) > 0",
    ],
)
def test_conditions_mean_what_python_means(text):
    names = ("x", "y")
    lines = write_lines([("out", to_sympy(parse(text, names, conditions=True)))], {"x": "z[0]", "y": "z[1]"})
    for x, y in itertools.product((-1.5, -0.5, 0.0, 0.25, 0.75, 2.0), repeat=2):
        space: dict = {"z": (x, y), "math": math}
        exec("\n".join(lines), space)
        assert space["out"] is eval(text, {}, {"x": x, "y": y}), (lines, x, y)


@pytest.mark.parametrize(
    "text", ["x", "x + 1", "not x", "x and y > 0", "(x > 0) + 1", "(x > 0) > 1", "x == 0", "sin(x > 0)"]
)
def test_numbers_are_no_conditions_and_conditions_no_numbers(text):
    with pytest.raises(InputError):
        parse(text, ("x", "y"), conditions=True)


# sympy


def test_integers_and_fractions_stay_exact_and_decimals_are_their_double():
    x = sympy.Symbol("x", real=True)
    assert to_sympy(parse("x/3", ["x"])) == x / 3
    assert to_sympy(parse("0.5*x**2.0", ["x"])) == x**2 / 2
    coefficient = to_sympy(parse("0.1*x", ["x"])).args[0]
    assert Fraction(*(int(part) for part in sympy.Rational(coefficient).as_numer_denom())) == Fraction(0.1)


@pytest.mark.parametrize(
    "text", [*SOUND, GALACTIC, EVERYTHING, "sqrt(q**2)*p", "-(-q)**3", "q**-0.1 - 1e-20*p", "-q", "-3", "2/7"]
)
def test_sympy_goes_to_text_and_back(text):
    names = {*NAMES, *GALACTIC_NAMES, "x", "y"}
    expression = to_sympy(parse(text, names))
    assert to_sympy(parse(to_text(expression, names), names)) == expression


def test_a_users_own_symbols_and_unevaluated_forms_are_understood():
    q, p = sympy.symbols("q p", positive=True)
    with sympy.evaluate(False):
        expression = sympy.Add(sympy.Mul(p, p, sympy.Rational(1, 2)), sympy.Mul(-1, sympy.Add(q, -p)), sympy.Pow(q, -2))
    tree = parse(to_text(expression + sympy.pi * q + sympy.E, ["q", "p"]), ["q", "p"])
    with mpmath.workdps(30):
        found = exact_value(tree, {"q": 0.75, "p": 1.25})
    expected = 1.25**2 / 2 - (0.75 - 1.25) + 0.75**-2 + math.pi * 0.75 + math.e
    assert float(found) == pytest.approx(expected, rel=1e-15)


def test_sympy_that_text_could_not_say_is_refused():
    q, z = sympy.symbols("q z")
    wrong = [z, sympy.I * q, sympy.oo, sympy.zoo, sympy.nan, sympy.gamma(q), sympy.Function("f")(q), sympy.Max(q, 1)]
    wrong += [
        sympy.Piecewise((q, q > 0), (0, True)),
        sympy.Integral(q, q),
        sympy.Heaviside(q),
        sympy.cot(q),
        sympy.Function("sin")(q),
    ]
    wrong += [
        q > 0,
        sympy.Matrix([q]),
        "q",
        2,
        None,
        sympy.true,
        sympy.Derivative(sympy.sin(q), q),
        sympy.Float("1e500") * q,
    ]
    for expression in wrong:
        with pytest.raises(InputError):
            parse(to_text(expression, ["q"]), ["q"])
    with pytest.raises(InputError, match="declared name"):
        to_text(sympy.sin(q), ["q", "sin"])


def test_a_small_sympy_object_with_an_enormous_text_is_refused_at_once():
    q = sympy.Symbol("q")
    expression = q
    for _ in range(60):
        expression = sympy.sin(expression) + sympy.cos(expression)
    with pytest.raises(InputError, match="longer than"):
        to_text(expression, ["q"])
