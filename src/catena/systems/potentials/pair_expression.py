"""Pair potentials given as text: V(r), from which the forces are derived."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...expressions import jacobian, parse, to_sympy, write_lines
from ...kernels.marks import Written
from ..derivation import Constants
from ..sampled import InTime
from .named_constants import FromText, constants_text
from .pairwise import Pairwise, Quantity, register

if TYPE_CHECKING:
    import sympy


@register
@dataclass(frozen=True)
class PairPotential(FromText, Pairwise):
    """V(r) as text, or as a sympy expression, in r and named parameters; forces are derived.

    Parameters
    ----------
    text : for example "C/r**9 - exp(-r/b)"
    parameters : name -> value; for a chain also a text in t, or a table `Sampled(times, values)`. The text itself may contain t

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import PairPotential
    >>> soft = PairPotential("k*(1 - r**2)**2", {"k": 2.0})
    >>> float(soft.force(2.0))
    -48.0
    """

    text: str
    parameters: Mapping[str, InTime] = field(default_factory=dict, hash=False)
    _constants: tuple[float, ...] = field(init=False, repr=False, compare=False)
    timed = ("parameters",)

    def __post_init__(self) -> None:
        self._check(("r",), "does not depend on r", do="write V as text in the distance r")

    def kernel(self, quantity: Quantity) -> Written:
        return self._write(f"derived_{quantity}", quantity)

    def _derive(self) -> str:
        import sympy

        r = sympy.Symbol("r", real=True)
        constants = Constants({r})
        v = constants.hoisted(to_sympy(parse(self.text, ["r", *self.parameters])))
        a = _times(-jacobian([v], ["r"])[0][0], 1 / r, r)
        slope = _times(jacobian([a], ["r"])[0][0] / 2, 1 / r, r)
        # even powers of r = sqrt(s) are powers of s: no root
        root = sympy.sqrt(sympy.Symbol("r squared", positive=True))  # names of users contain no space
        places = [*self.parameters, *(symbol.name for symbol in constants.symbols)]
        load = {"r squared": "s"} | {name: f"par.pair[at + {k}]" for k, name in enumerate(places)}

        def function(quantity: str, expression: sympy.Expr) -> str:
            lines = [*write_lines([("value", expression.xreplace({r: root}))], load), "return value"]
            return "\n".join([f"def derived_{quantity}(s, at, par):", *(f"    {line}" for line in lines)])

        return json.dumps(
            {
                "energy": function("energy", v),
                "force": function("force", a),
                "slope": function("slope", slope),
                "constants": constants_text(constants.expressions, self.parameters),
            }
        )


def _times(expression: sympy.Expr, factor: sympy.Expr, r: sympy.Symbol) -> sympy.Expr:
    """expression * factor, with the factor distributed over powers of r: r^-13/r is r^-14 = s^-7, without a root."""

    def is_power(term: sympy.Expr) -> bool:
        moving = term.as_independent(r, as_Add=False)[1]
        return moving == 1 or moving == r or (moving.is_Pow and moving.base == r and moving.exp.is_Number)

    if expression.is_Add:
        powers = [term for term in expression.args if is_power(term)]
        rest = expression.func(*(term for term in expression.args if not is_power(term)))
        return expression.func(*(term * factor for term in powers), rest * factor)
    if expression.is_Mul:
        for place, part in enumerate(expression.args):
            if part.is_Add and all(map(is_power, part.args)):
                others = expression.func(*expression.args[:place], *expression.args[place + 1 :])
                return expression.func(others, _times(part, factor, r))
    return expression * factor
