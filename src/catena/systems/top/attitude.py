"""Potentials of orientation: U(R, t) as text in R11 .. R33, with everything that the motion of a top needs from it.

x = R X maps body to space. The torque in the body is tau = -rot(R^T U_R) with (U_R)_ij = dU/dR_ij and
rot(M) = (M32 - M23, M13 - M31, M21 - M12); its derivative along the rotation R -> R exp(hat a) is derived too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...disk_cache import remember
from ...errors import InputError, unknown_word
from ...expressions import jacobian, parse, to_sympy, to_text, write_lines
from ...expressions.values import first_undefined
from ...kernels.marks import Numbers, Written
from ...text.plain import Json
from ..numbers import finite_numbers
from ..potentials.in_time import number_at
from ..potentials.named_constants import parameters_in_time
from ..potentials.pairwise import interpret, number_or_in_time
from ..sampled import (
    SPLINES,
    TIME,
    GivenInTime,
    Sampled,
    depends_on_time,
    describe_in_time,
    in_time,
    span_of,
    spline_arrays,
    write_in_time,
)

if TYPE_CHECKING:
    import sympy

ELEMENTS = tuple(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))


@dataclass(frozen=True)
class Gravity:
    """Uniform gravity on a body with a fixed point: U = strength * center . n, n = R^T e_z the vertical in the body.

    Parameters
    ----------
    strength : mass times gravity (or their product with the distance, for a unit `center`): a number, a text in t, or `Sampled(times, values)`
    center : centre of mass relative to the fixed point, in the axes of the body
    """

    strength: float = 1.0
    center: Sequence[float] = (0.0, 0.0, 1.0)

    if TYPE_CHECKING:

        def __init__(self, strength: GivenInTime = ..., center: Sequence[float] = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", number_or_in_time(self.strength, "Gravity.strength"))
        object.__setattr__(self, "center", tuple(finite_numbers(self.center, (3,), where="Gravity.center").tolist()))

    @property
    def moment(self) -> np.ndarray:
        """G = strength * center, so that U = G . n and tau = n x G."""
        return self.strength * np.array(self.center)

    def describe(self) -> dict[str, Json]:
        """The description in a case."""
        strength = describe_in_time(in_time(self.strength, "Gravity.strength"))
        return {"kind": "Gravity", "strength": strength, "center": list(self.center)}


GivenPotential: TypeAlias = "Gravity | str | sympy.Expr | Mapping[str, object]"


class AttitudePotential:
    """U(R) with its derived kernels."""

    def __init__(self, potential: GivenPotential, parameters: Mapping[str, GivenInTime] | None = None) -> None:
        if isinstance(potential, Mapping):
            described = dict(potential)
            if described.pop("kind", None) != "Gravity":
                raise InputError(
                    f"potential = {potential!r}", where="Top.potential", do='use kind = "Gravity", or a text'
                )
            known = [field.name for field in fields(Gravity)]
            for name in described:
                if name not in known:
                    raise unknown_word(f"Gravity has no {name!r}", name, known, "Top.potential")
            potential = Gravity(**{str(name): value for name, value in described.items()})
        self.given = potential if isinstance(potential, Gravity) else None
        self.gravity = (
            None if self.given is None or depends_on_time(self.given.strength) else self.given
        )  # constant in time
        if self.gravity is not None:
            text = "G1*R31 + G2*R32 + G3*R33"
            parameters = dict(zip(("G1", "G2", "G3"), self.gravity.moment.tolist(), strict=True))
        elif isinstance(potential, Gravity):
            text = "S*(c1*R31 + c2*R32 + c3*R33)"
            parameters = {"S": potential.strength} | dict(zip(("c1", "c2", "c3"), potential.center, strict=True))
        else:
            if isinstance(potential, (int, float)):
                raise InputError(
                    f"{potential!r} is not a potential", where="Top.potential",
                    do=f"give ct.Gravity({potential!r}), or a text in R11 .. R33",
                )  # fmt: skip
            names = [*ELEMENTS, *(parameters or {}), TIME]
            text = potential if isinstance(potential, str) else to_text(potential, names, "Top.potential")
        self.parameters = parameters_in_time(parameters or {}, ELEMENTS, "Top", text)
        used = parse(text, [*ELEMENTS, *self.parameters], what="potential").names
        self.text = text
        self.rows = tuple(any(f"R{i}{j}" in used for j in (1, 2, 3)) for i in (1, 2, 3))  # rows of R in U

    @property
    def moves(self) -> bool:
        """Whether it depends on time."""
        return any(map(depends_on_time, self.parameters.values()))

    @property
    def tables(self) -> tuple[Sampled, ...]:
        """The tables among the parameters, in order."""
        return tuple(value for value in self.parameters.values() if isinstance(value, Sampled))

    def numbers_at(self, t: float) -> dict[str, float]:
        """The parameters at a time; if tables have no values then, at the nearest time at which they do."""
        low, high = span_of(self.tables)
        return {name: number_at(value, min(max(t, low), high)) for name, value in self.parameters.items()}

    def arrays(self) -> dict[str, Numbers]:
        """The arrays that kernels read in par."""
        if not self.moves:
            return {"potential": self.values}
        given = np.array([0.0 if depends_on_time(value) else value for value in self.parameters.values()], dtype=float)
        return {"potential_given": given} | (spline_arrays(self.tables) if self.tables else {})

    def scratch(self) -> dict[str, Numbers]:
        """The arrays that they write to if it depends on time."""
        count = len(self.parameters)
        return {"potential": np.zeros(count), "potential_slope": np.zeros(count)}

    def set_numbers(self) -> Written:
        """`set_numbers`: numbers from par, texts and splines as code, with their derivatives."""
        lines, table = ["def set_numbers(t, par):"], 0
        for k, value in enumerate(self.parameters.values()):
            outputs = f"par.potential[{k}]", f"par.potential_slope[{k}]"
            if not depends_on_time(value):
                lines.append(f"    {outputs[0]} = par.potential_given[{k}]")
                continue
            lines += [f"    {line}" for line in write_in_time(value, outputs, table)]
            table += isinstance(value, Sampled)
        return Written("set_numbers", "\n".join(lines), __name__, SPLINES)

    @property
    def values(self) -> np.ndarray:
        """The parameters in the form of the kernels, for a potential that does not depend on time."""
        return np.array(list(self.parameters.values()) or [0.0], dtype=float)

    def describe(self) -> Json:
        """The description in a case."""
        return self.given.describe() if self.given is not None else self.text

    def kernel(self, name: str) -> Written:
        """potential(r, par) -> U; torque(r, par) -> tau; torque_rate(r, a, par); gradient(r, par) -> U_R; r has nine elements, row by row."""
        return Written(name, self._texts[name], __name__)

    def energy_at(self, r: np.ndarray, time: float = 0.0) -> float:
        """U at the rotation matrix r (3, 3) and a time; nan if it is undefined. For checks, not for runs."""
        return self._at("potential", r, time)[0]

    def undefined_at(self, r: np.ndarray, time: float = 0.0) -> str:
        """The operation of U that has no finite value at r; empty if all have one."""
        values = dict(zip(ELEMENTS, r.ravel().tolist(), strict=True)) | self.numbers_at(time)
        return first_undefined(parse(self.text, list(values)), values)

    def torque_at(self, r: np.ndarray, time: float = 0.0) -> np.ndarray:
        """Torque in the body, in the same way."""
        return np.full(3, self._at("torque", r, time))

    def _at(self, name: str, r: np.ndarray, time: float) -> list[float]:
        numbers = np.array(list(self.numbers_at(time).values()) or [0.0])
        try:
            found = interpret(self.kernel(name))(tuple(r.ravel().tolist()), SimpleNamespace(potential=numbers))
        except (ZeroDivisionError, ValueError, OverflowError):
            found = math.nan
        return np.atleast_1d(found).tolist()

    @cached_property
    def _texts(self) -> dict[str, str]:
        changing = [name for name, value in self.parameters.items() if depends_on_time(value)]
        request = json.dumps(
            ["attitude of a matrix", self.text, list(self.parameters), *([changing] if changing else [])]
        )
        return json.loads(remember(request, self._derive))

    def _derive(self) -> str:
        import sympy

        names = [*ELEMENTS, *self.parameters]
        u = to_sympy(parse(self.text, names))
        r = sympy.Matrix(3, 3, [sympy.Symbol(name, real=True) for name in ELEMENTS])
        slope = sympy.Matrix(3, 3, jacobian([u], ELEMENTS)[0])
        m = r.T * slope
        torque = [m[1, 2] - m[2, 1], m[2, 0] - m[0, 2], m[0, 1] - m[1, 0]]
        a = [sympy.Symbol(f"turn {k}", real=True) for k in (1, 2, 3)]  # names of users contain no space
        hat = sympy.Matrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
        change = list(r * hat)
        rate = [sum(d * c for d, c in zip(row, change, strict=True)) for row in jacobian(torque, ELEMENTS)]

        load = {name: f"r[{k}]" for k, name in enumerate(ELEMENTS)} | {f"turn {k}": f"a[{k - 1}]" for k in (1, 2, 3)}
        load |= {name: f"par.potential[{k}]" for k, name in enumerate(self.parameters)}

        def function(name: str, arguments: str, outputs: list[sympy.Expr]) -> str:
            targets = [(f"out{k}", sympy.sympify(expression)) for k, expression in enumerate(outputs)]
            result = targets[0][0] if len(targets) == 1 else f"({', '.join(t for t, _ in targets)})"
            lines = [*write_lines(targets, load), f"return {result}"]
            return "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines)])

        texts = {
            "potential": function("potential", "r, par", [u]),
            "torque": function("torque", "r, par", torque),
            "torque_rate": function("torque_rate", "r, a, par", rate),
            "gradient": function("gradient", "r, par", list(slope)),
        }
        changing = [name for name, value in self.parameters.items() if depends_on_time(value)]
        if changing:
            speeds = {name: sympy.Symbol(f"slope {name}", real=True) for name in changing}
            load |= {f"slope {n}": f"par.potential_slope[{k}]" for k, n in enumerate(self.parameters) if n in speeds}
            in_time = [
                sum(d * speed for d, speed in zip(row, speeds.values(), strict=True))
                for row in jacobian([u, *torque], changing)
            ]
            texts["potential_rate"] = function("potential_rate", "r, par", in_time[:1])
            texts["torque_in_time"] = function("torque_in_time", "r, par", in_time[1:])
        return json.dumps(texts)
