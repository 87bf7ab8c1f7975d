"""Named parameters of a potential given as text, and the constants its kernels make of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import InputError
from ...expressions import write_lines
from ...kernels.marks import Written
from .pairwise import checked, interpreted

if TYPE_CHECKING:
    import sympy


def checked_parameters(parameters: object, taken: Sequence[str], where: str) -> dict[str, float]:
    """Named numbers in the order of their names, so that no text depends on how they were listed."""
    if not isinstance(parameters, Mapping):
        raise InputError(f"parameters = {parameters!r}", where=f"{where}.parameters", do='write {"a": 1.0}')
    for name in parameters:
        if not isinstance(name, str) or not name.isidentifier() or name in taken:
            raise InputError(f"a parameter cannot be called {name!r}", where=f"{where}.parameters", do="rename it")
    return {name: checked(value, f"{where}.parameters.{name}") for name, value in sorted(parameters.items())}


def constants_text(expressions: Sequence[sympy.Expr], parameters: Mapping[str, float]) -> str:
    """Text of `constants(values)`: the expressions of parameters alone, found once and not in every step."""
    load = {name: f"values[{k}]" for k, name in enumerate(parameters)}
    lines = write_lines([(f"c{k}", expression) for k, expression in enumerate(expressions)], load)
    made = "".join(f"c{k}, " for k in range(len(expressions)))
    return "\n".join(["def constants(values):", *(f"    {line}" for line in lines), f"    return ({made})"])


def constant_values(text: str, parameters: Mapping[str, float], where: str) -> tuple[float, ...]:
    """The parameters, then the constants made of them."""
    given = tuple(parameters.values())
    try:
        made = interpreted(Written("constants", text, __name__))(given)
    except (ZeroDivisionError, ValueError, OverflowError):
        made = (math.nan,)
    if not all(map(math.isfinite, made)):
        raise InputError(
            f"the potential is not defined for the parameters {dict(parameters)}", where=f"{where}.parameters",
            do="choose values for which every quotient, root and logarithm of them exists",
        )  # fmt: skip
    return (*given, *made)
