"""The value of an expression at a point, operation by operation; if it has none, where and why."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tree import Node, Tree


def first_undefined(tree: Tree, values: Mapping[str, float]) -> str:
    """Which operation of an expression has no finite value at a point, and with which arguments; empty if all have one.

    Examples
    --------
    >>> from catena.expressions import parse
    >>> first_undefined(parse("p**2/2 - 1/sqrt(q**2)", ["q", "p"]), {"q": 0.0, "p": 1.0})
    'division by 0 (in q, column 11 of the text)'
    """
    done: list[float] = []
    names: list[frozenset[str]] = []
    for node in tree.nodes:
        arguments = [done[place] for place in node.arguments]
        own = {str(node.value)} if node.operation == "name" else set()
        names.append(frozenset(own).union(*(names[place] for place in node.arguments)))
        try:
            value = _value(node, arguments, values)
        except (ArithmeticError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            used = ", ".join(sorted(names[-1])) or "no name"
            return f"{_word(node, arguments)} (in {used}, column {node.column + 1} of the text)"
        done.append(value)
    return ""


def value_at(tree: Tree, values: Mapping[str, float]) -> float:
    """The value of an expression at a point; nan if it has none.

    Examples
    --------
    >>> from catena.expressions import parse
    >>> value_at(parse("2*t**2", ["t"]), {"t": 3.0})
    18.0
    """
    done: list[float] = []
    try:
        for node in tree.nodes:
            done.append(_value(node, [done[place] for place in node.arguments], values))
    except (ArithmeticError, ValueError):
        return math.nan
    return done[-1]


def values_along(tree: Tree, values: Mapping[str, NDArray[np.float64] | float]) -> NDArray[np.float64]:
    """The values of an expression at many points, for arrays that broadcast; not finite where it has none.

    Examples
    --------
    >>> from catena.expressions import parse
    >>> values_along(parse("2*t**2 + a", ["t", "a"]), {"t": np.array([1.0, 3.0]), "a": 0.5}).tolist()
    [2.5, 18.5]
    """
    done: list[NDArray[np.float64]] = []
    with np.errstate(all="ignore"):
        for node in tree.nodes:
            arguments = [done[place] for place in node.arguments]
            match node.operation:
                case "number":
                    assert node.number is not None
                    done.append(np.asarray(float(node.number)))
                case "name":
                    done.append(np.asarray(values[str(node.value)], dtype=float))
                case "sum":
                    done.append(reduce(np.add, arguments))
                case "product":
                    done.append(reduce(np.multiply, arguments))
                case operation:
                    done.append(np.asarray(ON_ARRAYS[operation](*arguments)))
    return done[-1]


OnArrays: TypeAlias = Callable[..., NDArray[np.float64]]
FUNCTIONS_ON_ARRAYS: dict[str, OnArrays] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "atan2": np.arctan2,
}
ON_ARRAYS: dict[str, OnArrays] = {
    "negative": np.negative,
    "reciprocal": lambda under: 1.0 / under,
    "quotient": np.divide,
    "power": np.power,
    **FUNCTIONS_ON_ARRAYS,
}


def _value(node: Node, arguments: list[float], values: Mapping[str, float]) -> float:
    folded: dict[str, Callable[..., float]] = {
        "sum": lambda *terms: math.fsum(terms),
        "product": lambda *factors: reduce(operator.mul, factors),
        "negative": operator.neg,
        "reciprocal": lambda under: 1.0 / under,
        "quotient": operator.truediv,
        "power": math.pow,
    }
    match node.operation:
        case "number":
            assert node.number is not None
            return float(node.number)
        case "name":
            return float(values[str(node.value)])
        case operation:
            function = folded.get(operation) or getattr(math, operation)
            return float(function(*arguments))


def _word(node: Node, arguments: list[float]) -> str:
    shown = [f"{argument:g}" for argument in arguments]
    match node.operation:
        case "reciprocal" | "quotient":
            return f"division by {shown[-1]}"
        case "power":
            return f"the power {shown[0]}**{shown[1]}"
        case "sum" | "product" | "negative":
            return f"a {node.operation} beyond the doubles"
        case operation:
            return f"{operation}({', '.join(shown)})"
