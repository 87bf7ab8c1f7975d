"""Derivatives of expressions, the code written for them, the limits on both, and expressions with random mistakes."""

from __future__ import annotations

import ast
import math
import random
import re
import subprocess
import sys
import time

import numba
import numpy as np
import pytest
import sympy

from catena.errors import CatenaError, InputError
from catena.expressions import Tree, jacobian, parse, to_sympy, write_lines
from expression_fuzz import NAMES, SOUND, mutations
from expression_values import (
    EVERYTHING,
    GALACTIC,
    GALACTIC_NAMES,
    deviations,
    exact_derivatives,
    places,
    run_code,
    written,
)
from places import SUPPORT


@pytest.mark.parametrize("text", [*SOUND, GALACTIC, EVERYTHING, "sqrt(x**2)**3*y + (x*y)**(7/2)"])
def test_written_code_gives_value_gradient_and_hessian(text):
    """At 40 digits only the doubles of folded constants (1/3, log 2, ...) differ: 1e-14, 50 roundings of them, allowed.

    The same code in doubles stays within 1e-12, some thousand roundings, of itself at 40 digits.
    """
    tree = parse(text, {*NAMES, *GALACTIC_NAMES, "x", "y"})
    lines = written(tree)
    for seed in range(3):
        point, direction = places(tree, seed)
        assert deviations(lines, tree, point, direction) < 1e-14
        doubles = run_code(lines, tree, point, direction, math)
        assert doubles == pytest.approx(
            [float(x) for x in exact_derivatives(tree, point, direction)], rel=1e-12, abs=1e-12
        )


@pytest.mark.parametrize("text", SOUND)
def test_a_wrong_sign_in_any_written_line_is_noticed(text):
    """The broken twin of the test above: each + or * of the code in turn becomes - or +. 1e-9: a hundred thousand times its tolerance."""
    tree = parse(text, NAMES)
    lines = written(tree)
    point, direction = places(tree, 0)
    for number, line in enumerate(lines):
        for right, wrong in ((" + ", " - "), ("*", "+")):
            if right in line:
                broken = [*lines[:number], line.replace(right, wrong, 1), *lines[number + 1 :]]
                assert deviations(broken, tree, point, direction) > 1e-9, line


def test_jacobian_agrees_with_sympy():
    expression = to_sympy(parse(EVERYTHING, ["x", "y"]))
    names = ("x", "y")
    symbols = [sympy.Symbol(name, real=True) for name in names]
    point = {symbols[0]: sympy.Rational(7, 10), symbols[1]: sympy.Rational(13, 10)}
    ours = jacobian(jacobian([expression], names)[0], names)
    for row, one in zip(ours, symbols, strict=True):
        for entry, other in zip(row, symbols, strict=True):
            expected = expression.diff(one, other).subs(point).evalf(30)
            assert float(entry.subs(point).evalf(30) / expected - 1) == pytest.approx(0, abs=1e-14)


def plain_and_compiled(lines: list[str]):
    text = "def f(z, out):\n    " + "\n    ".join(lines) + "\n"
    space: dict = {"math": math}
    exec(text, space)
    return space["f"], numba.njit(error_model="numpy")(space["f"])


def test_compiled_and_uncompiled_code_agree_to_the_bit():
    tree = parse(EVERYTHING, ["x", "y"])
    value = to_sympy(tree)
    gradient = jacobian([value], ["x", "y"])[0]
    outputs = [(f"out[{i}]", part) for i, part in enumerate([value, *gradient, *jacobian(gradient, ["x", "y"])[1]])]
    plain, fast = plain_and_compiled(write_lines(outputs, {"x": "z[0]", "y": "z[1]"}))
    chance = np.random.default_rng(1)
    for z in chance.uniform(0.2, 2.0, (500, 2)):
        expected, found = [0.0] * len(outputs), np.zeros(len(outputs))
        plain([float(part) for part in z], expected)
        fast(z, found)
        assert expected == found.tolist(), z


def operations(lines: list[str]) -> dict[str, int]:
    """How many of each operation a code performs."""
    counts: dict[str, int] = {}
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.BinOp | ast.Call):
            kind = type(node.op).__name__ if isinstance(node, ast.BinOp) else ast.unparse(node.func)
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def galactic_field() -> list[str]:
    value = to_sympy(parse(GALACTIC, GALACTIC_NAMES))
    gradient = jacobian([value], GALACTIC_NAMES[:6])[0]
    field = gradient[3:] + [-part for part in gradient[:3]]
    return write_lines(
        [(f"out[{i}]", part) for i, part in enumerate(field)], {n: f"z[{i}]" for i, n in enumerate(GALACTIC_NAMES)}
    )


def test_the_galactic_field_costs_little_more_than_written_by_hand():
    """By hand, with 1/a**2, 1/b**2, 1/c**2 known: 14 products, 7 sums, 1 division. These three are 3 products, 3 divisions."""
    counts = operations(galactic_field())
    assert counts.pop("Div") == 1 + 3
    assert counts.pop("Add") + counts.pop("Sub") == 7
    assert counts.pop("Mult") <= 14 + 3 + 3
    assert not counts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x**2", {"Mult": 1}),
        ("x**8", {"Mult": 3}),
        ("x**16", {"Mult": 4}),
        ("x**17", {"math.pow": 1}),
        ("x**-12", {"Mult": 4, "Div": 1}),
        ("x**(-3/2)", {"Mult": 1, "math.sqrt": 1, "Div": 1}),
        ("x**0.5", {"math.sqrt": 1}),
        ("1/sqrt(x)", {"math.sqrt": 1, "Div": 1}),
        ("x**(1/3)", {"math.pow": 1}),
        ("x/y/3", {"Mult": 1, "Div": 1}),
        ("x/3", {"Mult": 1}),
        ("1/x/y", {"Mult": 1, "Div": 1}),
        ("x - y - 1", {"Sub": 2}),
        ("exp(2*x)", {"Mult": 1, "math.exp": 1}),
    ],
)
def test_powers_and_quotients_use_the_fewest_operations(text, expected):
    assert operations(write_lines([("out", to_sympy(parse(text, ["x", "y"])))], {"x": "x", "y": "y"})) == expected


def test_every_constant_in_the_code_is_a_float_and_targets_come_last():
    lines = written(parse(EVERYTHING, ["x", "y"]))
    constants = [node.value for node in ast.walk(ast.parse("\n".join(lines[2:]))) if isinstance(node, ast.Constant)]
    subscripts = [node for line in lines for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Subscript)]
    assert [type(value) for value in constants].count(int) == len(subscripts) - 2
    private = [re.match(r"[vw]\d+ = ", line) is not None for line in lines]
    assert private == sorted(private, reverse=True)


def test_long_sums_and_products_become_short_lines():
    """Deep syntax trees overflow the stack of whatever reads the code: 16 operands and 80 characters of nesting per line."""
    names = [f"x{i}" for i in range(60)]
    for sign in "+*":
        operation = {"+": sympy.Add, "*": sympy.Mul}[sign]
        expression = operation(*(sympy.sin(sympy.Symbol(name, real=True)) for name in names))
        lines = write_lines([("out", expression)], {name: name for name in names})
        assert all(line.count(sign) <= 16 for line in lines)
        assert operations(lines)[{"+": "Add", "*": "Mult"}[sign]] == 59


def test_only_used_symbols_are_loaded_and_a_missing_one_is_named():
    x = to_sympy(parse("x**2", ["x"]))
    assert write_lines([("x2", x)], {"y": "z[0]", "x": "z[1]"}) == ["v0 = z[1]", "w0 = v0*v0", "x2 = w0"]
    with pytest.raises(KeyError, match="no code loads x"):
        write_lines([("x2", x)], {"y": "z[0]"})


def test_the_code_is_the_same_in_every_process():
    program = """
from catena.expressions import parse, to_sympy, to_text, write_lines
from expression_fuzz import NAMES, SOUND
from expression_values import EVERYTHING, GALACTIC, GALACTIC_NAMES, written

names = {*NAMES, *GALACTIC_NAMES, "x", "y"}
for text in (*SOUND, GALACTIC, EVERYTHING):
    tree = parse(text, names)
    print(written(tree), to_text(to_sympy(tree), names))
condition = parse("q > 0 and p < 1 or not (a*b > q*p and e < r)", names, conditions=True)
print(write_lines([("out", to_sympy(condition))], {name: name for name in condition.names}))
"""
    texts = set()
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            cwd=SUPPORT,
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(done.stdout)
    assert len(texts) == 1
    assert len(texts.pop()) > 10_000


# limits


def nested(pattern: str, levels: int) -> str:
    text = "x*y"
    for _ in range(levels):
        text = pattern.replace("#", text)
    return text


FAMILIES = {
    **{
        p: (lambda n, p=p: nested(p, n))
        for p in ("sin(#)", "sqrt(1 + #)", "(1 + x*(#))**y", "exp(-y*(#))", "tanh(x - #)", "atan2(#, y)")
    },
    "terms": lambda n: " + ".join(f"x**{i % 90}*y*sin({i}*x)" for i in range(n)),
    "factors": lambda n: "*".join(f"sin(x + {i}*y)" for i in range(n)),
    "names": lambda n: "*".join(f"x{i}" for i in range(n)),
    "pairs": lambda n: " + ".join(
        f"1/sqrt((x{i} - x{j})**2 + (x{i + 20} - x{j + 20})**2)" for i in range(n) for j in range(i)
    ),
}


@pytest.mark.parametrize("pattern", ["1 + x*(-#)", "x > 1 and x < y or (#)", "not (#)", "-(2 + (#)**2)", "x**-(#)"])
def test_the_deepest_accepted_nesting_needs_no_deep_stack(pattern):
    """From 400 frames down, as in a notebook or a command line, within Python's usual 1000."""
    conditions = "and" in pattern or "not" in pattern
    text = "x > y" if conditions else "x"
    levels, refusal = 0, ""
    while not refusal:
        try:
            deepest = parse(text, ["x", "y"], conditions=conditions)
            text = pattern.replace("#", text)
            levels += 1
        except InputError as error:
            refusal = str(error)
    assert "nested deeper" in refusal or "too involved" in refusal
    assert levels > 10

    def from_below(frames: int) -> object:
        return from_below(frames - 1) if frames else to_sympy(parse(deepest.text, ["x", "y"], conditions=conditions))

    assert from_below(400) == to_sympy(deepest)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.slow
def test_the_largest_accepted_expression_is_derived_in_about_a_second(family):
    """Largest of its family by bisection; 2 s of processor time, as the machine may be busy."""
    names = ["x", "y", *(f"x{i}" for i in range(80))]

    def accepted(size: int) -> Tree | None:
        try:
            return parse(FAMILIES[family](size), names)
        except InputError:
            return None

    low, high = 1, 2000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepted(middle) else (low, middle)
    tree = accepted(low)
    assert tree is not None
    sympy.core.cache.clear_cache()
    started = time.process_time()
    gradient = jacobian([to_sympy(tree)], tree.names)[0]
    hessian = jacobian(gradient, tree.names)
    assert time.process_time() - started < 2.0, low
    assert any(entry != 0 for row in hessian for entry in row)


# mistakes at random


def test_mistaken_texts_are_refused_or_mean_something():
    """10 000 texts; of the accepted ones, 150 different ones are derived, written and run against their exact values.

    The formulas (code at 40 digits) may deviate by 1e-10: constants are doubles, and some points are ill-conditioned.
    """
    accepted: dict[Tree, None] = {}
    refused = 0
    for text in mutations(20240607, 10_000):
        try:
            accepted.setdefault(parse(text, NAMES))
        except CatenaError:
            refused += 1
    assert refused > 3000
    assert len(accepted) > 600
    compared = 0
    for tree in random.Random(1).sample(list(accepted), 150):
        try:
            lines = written(tree)
        except CatenaError:
            continue
        for seed in range(3):
            point, direction = places(tree, seed)
            try:
                exact = exact_derivatives(tree, point, direction)
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if max(abs(value) for value in exact) < 1e15:
                assert deviations(lines, tree, point, direction) < 1e-10, (tree.text, point)
                scale = max(abs(value) for value in exact) + 1
                doubles = run_code(lines, tree, point, direction, math)
                assert max(abs(a - b) for a, b in zip(doubles, exact, strict=True)) < 1e-8 * scale, (tree.text, point)
                compared += 1
                break
    assert compared > 100
