"""Values of expressions, computed without sympy, and the values of the code generated for them."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath

from catena.expressions import Tree, jacobian, to_sympy, write_lines
from catena.expressions.tree import Node

GALACTIC = "(p1**2+p2**2+p3**2)/2 + Om*(p1*q2 - p2*q1) + A*log(C + q1**2/a**2 + q2**2/b**2 + q3**2/c**2)"
GALACTIC_NAMES = ("q1", "q2", "q3", "p1", "p2", "p3", "Om", "A", "C", "a", "b", "c")
EVERYTHING = (
    "sin(x)*cos(y) + tan(x/3) + asin(x/4)*acos(y/4) + atan(x) + atan2(y, x) + sinh(x) + cosh(y) + tanh(x) + asinh(y)"
    "+ acosh(2 + x**2) + atanh(x/5) + exp(-x*y) + log(1 + x**2) + sqrt(x**2 + y**2) + x**y + 2**x + x**0.3"
    "+ (x + y)**(-5/2) + x**16/y**7 + y**40/3 + (2*x + 1)**1.5"
)


def exact_value(tree: Tree, point: dict[str, object]) -> mpmath.mpf:
    """The value of a tree with mpmath; raises ValueError where it is not real or not finite."""
    values: list[object] = []
    for node in tree.nodes:
        value = evaluate_node(node, [values[place] for place in node.arguments], point)
        if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value):
            raise ValueError(f"{node.operation} is not real and finite")
        values.append(value)
    return values[-1]


def evaluate_node(node: Node, arguments: list[mpmath.mpf], point: dict[str, object]) -> object:
    match node.operation:
        case "number":
            fraction = Fraction(node.value)
            return mpmath.mpf(fraction.numerator) / fraction.denominator
        case "name":
            return mpmath.mpf(point[node.value])
        case "sum":
            return mpmath.fsum(arguments)
        case "product":
            return mpmath.fprod(arguments)
        case "negative":
            return -arguments[0]
        case "reciprocal":
            return 1 / arguments[0]
        case "power":
            return arguments[0] ** arguments[1]
        case function:
            return getattr(mpmath, function)(*arguments)


def exact_derivatives(tree: Tree, point: dict[str, float], direction: dict[str, float]) -> list[mpmath.mpf]:
    """Value, first and second derivative along a direction, by differences at 80 digits: accurate to 20."""
    with mpmath.workdps(80):
        step = mpmath.mpf(10) ** -20
        at = [
            exact_value(tree, {name: point[name] + k * step * direction[name] for name in tree.names})
            for k in (-1, 0, 1)
        ]
        return [at[1], (at[2] - at[0]) / (2 * step), (at[2] - 2 * at[1] + at[0]) / step**2]


def written(tree: Tree) -> list[str]:
    """Code for value, gradient and Hessian."""
    value = to_sympy(tree)
    gradient = jacobian([value], tree.names)[0]
    hessian = jacobian(gradient, tree.names)
    outputs = [("value", value), *((f"g[{i}]", part) for i, part in enumerate(gradient))]
    outputs += [(f"h[{i}][{j}]", part) for i, row in enumerate(hessian) for j, part in enumerate(row)]
    return write_lines(outputs, {name: f"z[{i}]" for i, name in enumerate(tree.names)})


class MpmathFunctions:
    """Replaces `math` in generated code, so that formulas are checked independently of round-off."""

    pow = staticmethod(mpmath.power)
    fabs = staticmethod(mpmath.fabs)
    copysign = staticmethod(lambda size, value: size if value >= 0 else -size)

    def __getattr__(self, name: str) -> object:
        return getattr(mpmath, name)


def run_code(
    lines: list[str], tree: Tree, point: dict[str, object], direction: dict[str, float], functions: object
) -> list:
    """Value, first and second derivative along a direction from generated code."""
    n = len(tree.names)
    space = {
        "math": functions,
        "z": [point[name] for name in tree.names],
        "g": [0] * n,
        "h": [[0] * n for _ in range(n)],
    }
    exec("\n".join(lines), space)
    u = [direction[name] for name in tree.names]
    first = sum(g * s for g, s in zip(space["g"], u, strict=True))
    second = sum(space["h"][i][j] * u[i] * u[j] for i in range(n) for j in range(n))
    return [space["value"], first, second]


def deviations(lines: list[str], tree: Tree, point: dict[str, float], direction: dict[str, float]) -> float:
    """Largest relative deviation of value and derivatives of the code, run at 40 digits, from those of the tree."""
    exact = exact_derivatives(tree, point, direction)
    with mpmath.workdps(40):
        given = {name: mpmath.mpf(value) for name, value in point.items()}
        found = run_code(lines, tree, given, direction, MpmathFunctions())
        scale = max(abs(value) for value in exact) + 1
        return float(max(abs(a - b) for a, b in zip(found, exact, strict=True)) / scale)


def places(tree: Tree, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    chance = random.Random(seed)
    return {n: chance.uniform(0.4, 1.6) for n in tree.names}, {n: chance.uniform(-1, 1) for n in tree.names}
