"""Potentials of orientation: U(R) as text in R11 .. R33, with everything that the motion of a top needs of it.

x = R X takes body to space. The torque in the body is tau = -rot(R^T U_R) with (U_R)_ij = dU/dR_ij and
rot(M) = (M32 - M23, M13 - M31, M21 - M12); its change along the turn R -> R exp(hat a) is derived too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...disk_cache import remembered
from ...errors import InputError
from ...expressions import jacobian, parse, to_sympy, to_text, write_lines
from ...expressions.values import first_undefined
from ...kernels.marks import Written
from ...text.plain import Json
from ..numbers import finite_number, finite_numbers
from ..potentials.pairwise import checked, interpreted

if TYPE_CHECKING:
    import sympy

ELEMENTS = tuple(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))


@dataclass(frozen=True)
class Gravity:
    """Uniform gravity on a body with a fixed point: U = strength * center . n, n = R^T e_z the vertical in the body.

    Parameters
    ----------
    strength : mass times gravity (or their product with the distance, for a unit `center`)
    center : centre of mass from the fixed point, in the body's axes
    """

    strength: float = 1.0
    center: Sequence[float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", finite_number(self.strength, "Gravity.strength"))
        object.__setattr__(self, "center", tuple(finite_numbers(self.center, (3,), where="Gravity.center").tolist()))

    @property
    def moment(self) -> np.ndarray:
        """G = strength * center, so that U = G . n and tau = n x G."""
        return self.strength * np.array(self.center)

    def describe(self) -> dict[str, Json]:
        """As a case writes it."""
        return {"kind": "Gravity", "strength": self.strength, "center": list(self.center)}


GivenPotential: TypeAlias = "Gravity | str | sympy.Expr | Mapping[str, object]"


class AttitudePotential:
    """U(R) with its derived kernels."""

    def __init__(self, potential: GivenPotential, parameters: Mapping[str, float] | None = None) -> None:
        if isinstance(potential, Mapping):
            described = dict(potential)
            if described.pop("kind", None) != "Gravity":
                raise InputError(
                    f"potential = {potential!r}", where="Top.potential", do='use kind = "Gravity", or a text'
                )
            potential = Gravity(**{str(name): value for name, value in described.items()})
        self.gravity = potential if isinstance(potential, Gravity) else None
        if self.gravity is not None:
            text = "G1*R31 + G2*R32 + G3*R33"
            parameters = dict(zip(("G1", "G2", "G3"), self.gravity.moment.tolist(), strict=True))
        else:
            names = [*ELEMENTS, *(parameters or {})]
            text = potential if isinstance(potential, str) else to_text(potential, names)
        self.parameters = {
            name: checked(value, f"Top.parameters.{name}") for name, value in sorted((parameters or {}).items())
        }
        for name in self.parameters:
            if name in ELEMENTS or not name.isidentifier():
                raise InputError(f"a parameter cannot be called {name!r}", where="Top.parameters", do="rename it")
        used = parse(text, [*ELEMENTS, *self.parameters], what="potential").names
        self.text = text
        self.rows = tuple(any(f"R{i}{j}" in used for j in (1, 2, 3)) for i in (1, 2, 3))  # rows of R in U

    @property
    def values(self) -> np.ndarray:
        """The parameters as the kernels take them."""
        return np.array(list(self.parameters.values()) or [0.0])

    def describe(self) -> Json:
        """As a case writes it."""
        return self.gravity.describe() if self.gravity is not None else self.text

    def kernel(self, name: str) -> Written:
        """potential(r, par) -> U; torque(r, par) -> tau; torque_rate(r, a, par); gradient(r, par) -> U_R; r has nine elements, row by row."""
        return Written(name, self._texts[name], __name__)

    def energy_at(self, r: np.ndarray) -> float:
        """U at the rotation matrix r (3, 3); nan where it is not defined. For checks, not for runs."""
        return self._at("potential", r)[0]

    def undefined_at(self, r: np.ndarray) -> str:
        """Which operation of U has no finite value at r; empty if all have one."""
        values = dict(zip(ELEMENTS, r.ravel().tolist(), strict=True)) | self.parameters
        return first_undefined(parse(self.text, list(values)), values)

    def torque_at(self, r: np.ndarray) -> np.ndarray:
        """Torque in the body, alike."""
        return np.full(3, self._at("torque", r))

    def _at(self, name: str, r: np.ndarray) -> list[float]:
        try:
            found = interpreted(self.kernel(name))(tuple(r.ravel().tolist()), SimpleNamespace(potential=self.values))
        except (ZeroDivisionError, ValueError, OverflowError):
            found = math.nan
        return np.atleast_1d(found).tolist()

    @cached_property
    def _texts(self) -> dict[str, str]:
        request = json.dumps(["attitude of a matrix", self.text, list(self.parameters)])
        return json.loads(remembered(request, self._derive))

    def _derive(self) -> str:
        import sympy

        names = [*ELEMENTS, *self.parameters]
        u = to_sympy(parse(self.text, names))
        r = sympy.Matrix(3, 3, [sympy.Symbol(name, real=True) for name in ELEMENTS])
        slope = sympy.Matrix(3, 3, jacobian([u], ELEMENTS)[0])
        m = r.T * slope
        torque = [m[1, 2] - m[2, 1], m[2, 0] - m[0, 2], m[0, 1] - m[1, 0]]
        a = [sympy.Symbol(f"turn {k}", real=True) for k in (1, 2, 3)]  # a space: no user's name
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

        return json.dumps(
            {
                "potential": function("potential", "r, par", [u]),
                "torque": function("torque", "r, par", torque),
                "torque_rate": function("torque_rate", "r, a, par", rate),
                "gradient": function("gradient", "r, par", list(slope)),
            }
        )
