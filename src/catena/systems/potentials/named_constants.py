"""Shared by potentials given as text: named parameters, constants computed from them, and derived kernels."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ...disk_cache import remember
from ...errors import InputError
from ...expressions import parse, to_text, write_lines
from ...kernels.marks import Written
from ...text.plain import Json
from ..sampled import TIME, InTime, depends_on_time, describe_in_time
from .pairwise import check, interpret, number_or_in_time

if TYPE_CHECKING:
    import sympy


def check_parameters(parameters: object, taken: Sequence[str], where: str) -> dict[str, float]:
    """Named numbers, sorted by name, so that no text depends on the order in which they were given."""
    named = _name(parameters, taken, where)
    return {name: check(value, f"{where}.parameters.{name}") for name, value in sorted(named.items())}


def parameters_in_time(parameters: object, taken: Sequence[str], where: str, text: object) -> dict[str, InTime]:
    """The same with texts in t or tables. If the text of the potential contains t, t becomes a parameter."""
    named = _name(parameters, taken, where)
    made = {name: number_or_in_time(value, f"{where}.parameters.{name}") for name, value in named.items()}
    if isinstance(text, str) and TIME in parse(text, [*taken, *made, TIME], what="potential").names:
        made.setdefault(TIME, TIME)
    return dict(sorted(made.items()))


def _name(parameters: object, taken: Sequence[str], where: str) -> Mapping[str, object]:
    if not isinstance(parameters, Mapping):
        raise InputError(f"parameters = {parameters!r}", where=f"{where}.parameters", do='write {"a": 1.0}')
    for name in parameters:
        if not isinstance(name, str) or not name.isidentifier() or name in taken:
            raise InputError(f"a parameter cannot be called {name!r}", where=f"{where}.parameters", do="rename it")
    return parameters


def constants_text(expressions: Sequence[sympy.Expr], parameters: Mapping[str, InTime]) -> str:
    """Text of `constants(values)`: expressions of parameters alone, computed once and not in every step."""
    load = {name: f"values[{k}]" for k, name in enumerate(parameters)}
    lines = write_lines([(f"c{k}", expression) for k, expression in enumerate(expressions)], load)
    made = "".join(f"c{k}, " for k in range(len(expressions)))
    return "\n".join(["def constants(values):", *(f"    {line}" for line in lines), f"    return ({made})"])


def constant_values(text: str, parameters: Mapping[str, InTime], where: str) -> tuple[float, ...]:
    """The parameters, then the constants computed from them; none if they depend on time."""
    given = tuple(value for value in parameters.values() if isinstance(value, float))
    if any(map(depends_on_time, parameters.values())):
        return ()
    try:
        made = interpret(Written("constants", text, __name__))(given)
    except (ZeroDivisionError, ValueError, OverflowError):
        made = (math.nan,)
    if not all(map(math.isfinite, made)):
        raise InputError(
            f"the potential is not defined for the parameters {dict(parameters)}", where=f"{where}.parameters",
            do="choose values for which every quotient, root and logarithm of them exists",
        )  # fmt: skip
    return (*given, *made)


class FromText(ABC):
    """Base class of potentials given as text: derived kernels are cached on disk, parameters become constants."""

    text: str
    parameters: Mapping[str, InTime]
    _constants: tuple[float, ...]

    def _check(self, variables: Sequence[str], missing: str, *, do: str) -> None:
        """Check and store text and parameters; `missing` and `do` are the message if the text contains no variable."""
        where = type(self).__name__
        parameters = parameters_in_time(self.parameters, variables, where, self.text)
        names = [*variables, *parameters]
        text = self.text if isinstance(self.text, str) else to_text(self.text, names, f"{where}.text")
        if not set(variables) & set(parse(text, names, what="potential").names):
            raise InputError(f"{text!r} {missing}", where=f"{where}.text", do=do)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "_constants", constant_values(self._texts["constants"], parameters, where))

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers that the kernels read: the parameters, and the constants computed from them."""
        return self._constants

    def describe(self) -> dict[str, Json]:
        """The description in a case."""
        parameters = {name: describe_in_time(value) for name, value in self.parameters.items()}
        return {"kind": type(self).__name__, "text": self.text, "parameters": parameters}

    @property
    def constants_kernel(self) -> Written:
        """(values of the parameters) -> further constants of the kernels."""
        return self._write("constants", "constants")

    def _write(self, name: str, key: str) -> Written:
        return Written(name, self._texts[key], type(self).__module__)

    @cached_property
    def _texts(self) -> dict[str, str]:
        request = json.dumps([type(self).__name__, self.text, list(self.parameters)])
        return json.loads(remember(request, self._derive))

    @abstractmethod
    def _derive(self) -> str:
        """JSON of the texts of the kernels, by name, including "constants"."""
