"""Any Hamiltonian system with canonical coordinates, given by its energy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import views
from ..errors import InputError
from ..kernel import Written
from ..summation import add
from ..views import View, dimension, velocity
from .base import Array, Field, Invariant, State, System, register
from .derivation import Derived, derive
from .numbers import real_array, real_number
from .phase_space import Pair, PhaseSpace

LITERAL_DIMENSION = 32  # up to here sizes are literals of the compiled code


def copy_state(z, par, row):
    """The stepped variables are the public ones."""
    for k in range(dimension(z)):
        row[k] = z[k]


def kick_momenta(z, e, h, par, out):
    """p += h force."""
    n = dimension(z)
    for k in range(n // 2, n):
        add(z, e, k, h * out[k])
    return 0


def drift_positions(z, e, h, par, work):
    """q += h T_p(p)."""
    velocity(z, par, work)
    for k in range(dimension(z) // 2):
        add(z, e, k, h * work[k])
    return 0


@register
class Hamiltonian(System):
    """A Hamiltonian system dq/dt = H_p, dp/dt = -H_q, from the text (or sympy expression) of its energy.

    Parameters
    ----------
    energy : H as text in the names below, or a sympy expression
    q, p : names of the coordinates and of their momenta: one string, or a list for several
    parameters : name -> value; they can change without compiling again (`with_parameters`)
    invariants : name -> text of further conserved quantities, to be recorded and audited

    Examples
    --------
    >>> import catena as ct
    >>> pendulum = ct.Hamiltonian("p**2/2 - k*cos(q)", q="q", p="p", parameters={"k": 1.0})
    >>> pendulum.separable
    True
    >>> run = ct.simulate(pendulum, pendulum.start(q=2.0, p=0.0), dt=0.1, steps=1000)
    >>> abs(float(run.data.energy[-1] - run.data.energy[0])) < 1e-7
    True
    """

    def __init__(
        self,
        energy: Any,
        q: str | Sequence[str] = "q",
        p: str | Sequence[str] = "p",
        parameters: Mapping[str, float] | None = None,
        *,
        invariants: Mapping[str, Any] | None = None,
    ) -> None:
        self.q = _names(q, "q")
        self.p = _names(p, "p")
        # in the order of their names: generated code must not depend on how a case or a store lists them
        given = sorted((parameters or {}).items())
        self.parameters = {str(name): _number(value, f"parameters.{name}") for name, value in given}
        if len(self.q) != len(self.p):
            raise InputError(
                f"{len(self.q)} coordinates but {len(self.p)} momenta", where="Hamiltonian.q, Hamiltonian.p",
                do="give each coordinate its momentum",
            )  # fmt: skip
        names = [*self.q, *self.p, *self.parameters]
        for name in names:
            if not name.isidentifier():
                raise InputError(f"{name!r} is not a name", where="Hamiltonian", do="use letters, digits and _")
            if names.count(name) > 1:
                raise InputError(f"the name {name!r} is given twice", where="Hamiltonian", do="rename one of them")
        self.energy = _text(energy, names, "energy")
        self._further = {
            str(name): _text(text, names, f"invariants.{name}") for name, text in sorted((invariants or {}).items())
        }
        reserved = {"energy", "q", "p", "time"} & set(self._further)
        if reserved:
            raise InputError(
                f"{reserved.pop()!r} cannot name an invariant", where="Hamiltonian.invariants", do="rename it"
            )
        self._derived: Derived = derive(
            self.energy, self.q, self.p, list(self.parameters), list(self._further.values())
        )
        self._values = self._parameter_values()

    def with_parameters(self, **values: float) -> Hamiltonian:
        """The same system with other parameter values; nothing is derived or compiled again."""
        for name in values:
            if name not in self.parameters:
                raise InputError(
                    f"there is no parameter {name!r}", where="with_parameters",
                    do=f"choose among {', '.join(self.parameters) or 'none'}",
                )  # fmt: skip
        return Hamiltonian(self.energy, self.q, self.p, self.parameters | values, invariants=self._further)

    @property
    def separable(self) -> bool:
        """H = T(p) + V(q), recognised by H_qp = 0."""
        return self._derived.separable

    @property
    def quadratic_kinetic(self) -> bool:
        """Separable, with T quadratic in the momenta."""
        return self._derived.quadratic_kinetic

    @property
    def in_words(self) -> str:
        count = len(self.q)
        return f"Hamiltonian system with {count} degree{'' if count == 1 else 's'} of freedom"

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Hamiltonian in {', '.join(self.q)}"

    @property
    def default_method(self) -> tuple[str, dict[str, Any]]:  # type: ignore[override]
        return ("Splitting", {"order": 6}) if self.quadratic_kinetic else ("Gauss", {"stages": 4})

    @cached_property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        n = len(self.q)
        return Field("q", (n,), ("dof",), ", ".join(self.q)), Field("p", (n,), ("dof",), ", ".join(self.p))

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:  # type: ignore[override]
        texts = {"energy": self.energy, **self._further}
        return tuple(
            Invariant(name, (), (), text, frozenset(tags) | ({"energy"} if name == "energy" else set()))
            for (name, text), tags in zip(texts.items(), self._derived.tags, strict=True)
        )

    def start(self, q: ArrayLike, p: ArrayLike, *, time: float = 0.0) -> State:
        """A state: coordinates, momenta and time."""
        n = len(self.q)
        fields = {}
        for name, value in (("q", q), ("p", p)):
            try:
                array = np.atleast_1d(real_array(value))
            except (TypeError, ValueError) as trouble:
                raise InputError(
                    f"{name} = {value!r} is not a list of numbers: it has {trouble}", where=f"start.{name}",
                    do=f"give {n} numbers",
                ) from None  # fmt: skip
            if array.shape != (n,):
                raise InputError(f"{name} has shape {array.shape}", where=f"start.{name}", do=f"give {n} numbers")
            if not np.isfinite(array).all():
                raise InputError(f"{name} = {array} is not finite", where=f"start.{name}", do="give finite numbers")
            fields[name] = array
        state = State(fields, _number(time, "start.time"))
        if not math.isfinite(self.energy_of(state)):
            raise InputError(
                f"the energy is not defined at q = {fields['q']}, p = {fields['p']}", where="start",
                do="start away from singular points and inside the domain of every function",
            )  # fmt: skip
        return state

    def energy_of(self, state: State) -> float:
        """H at a state; nan where it is not defined."""
        out, scale = np.zeros(len(self.invariants)), np.zeros(len(self.invariants))
        try:
            with np.errstate(all="ignore"):
                self._interpreted("measure")(self.to_stepped(state), _Values(self._values), out, scale)
        except (ZeroDivisionError, ValueError, OverflowError):
            return math.nan
        return float(out[0])

    def view(self, name: str) -> View | None:
        n = 2 * len(self.q)
        flags = {"jacobian"} | ({"registers"} if n <= LITERAL_DIMENSION else set())
        kernels = {
            views.field: self._written("field"),
            views.jacobian: self._written("jacobian"),
            views.registers: self._written("registers"),
            views.velocity: self._written("velocity"),
            views.momentum_rate: self._written("momentum_rate"),
            views.publish: copy_state,
            views.measure: self._written("measure"),
            views.field_count: 2,
            views.field_end: Written("field_end", f"def field_end(b, par):\n    return (b + 1) * {n // 2}", __name__),
        }
        if self.separable:
            kernels |= {
                views.force: self._written("momentum_rate"),
                views.kick: kick_momenta,
                views.drift: drift_positions,
            }
            flags |= {"separable"}
        if self.quadratic_kinetic:
            kernels[views.commutator_kick] = self._written("commutator_kick", add=add)
            flags |= {"quadratic_kinetic", "commutator_kick"}
        offered = {"field", "canonical"} | ({"split"} if self.separable else set())
        if name not in offered:
            return None
        return View(name, kernels, n, self.to_stepped, self.from_stepped, frozenset(flags), n <= LITERAL_DIMENSION)

    def parameter_arrays(self) -> dict[str, Array]:
        return {"values": self._values}

    def to_stepped(self, state: State) -> Array:
        """z = (q, p)."""
        return np.concatenate([state.q, state.p])

    def from_stepped(self, z: Array, time: float) -> State:
        """The state of z = (q, p)."""
        n = len(self.q)
        return State({"q": z[:n].copy(), "p": z[n:].copy()}, time)

    def phase_space(self, start: State) -> PhaseSpace:
        return PhaseSpace((Pair("q", "p", [np.eye(len(self.q))]),))

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = {"kind": self.kind, "energy": self.energy, "q": list(self.q), "p": list(self.p)}
        described |= {"parameters": dict(self.parameters)} if self.parameters else {}
        return described | ({"invariants": dict(self._further)} if self._further else {})

    def names(self) -> dict[str, str]:
        known = {"t": "t"} | {name: f"par.values[{k}]" for k, name in enumerate(self.parameters)}
        return known | {name: f"row[{k}]" for k, name in enumerate([*self.q, *self.p])}

    def __repr__(self) -> str:
        return f"Hamiltonian({self.energy!r}, q={list(self.q)}, p={list(self.p)}, parameters={self.parameters})"

    def _written(self, name: str, **uses: Any) -> Written:
        return Written(name, self._derived.kernels[name], __name__, tuple(uses.items()))

    def _interpreted(self, name: str) -> Any:
        namespace: dict[str, Any] = {"math": math}
        exec(self._derived.kernels[name], namespace)
        return namespace[name]

    def _parameter_values(self) -> Array:
        """The parameters, then the constants made of them."""
        given = np.array(list(self.parameters.values()), dtype=float)
        made = np.zeros(self._derived.kernels["constants"].count("out["))
        try:
            with np.errstate(all="ignore"):
                self._interpreted("constants")(given, made)
        except (ZeroDivisionError, ValueError, OverflowError):
            made[:] = math.nan
        if not np.isfinite(made).all():
            raise InputError(
                f"the energy is not defined for the parameters {self.parameters}", where="Hamiltonian.parameters",
                do="choose values for which every quotient, root and logarithm of them exists",
            )  # fmt: skip
        return np.concatenate([given, made]) if len(given) + len(made) else np.zeros(1)


class _Values:
    """Stands for the compiled loop's `par` where a kernel runs uncompiled."""

    def __init__(self, values: Array) -> None:
        self.values = values


def _names(given: str | Sequence[str], where: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{where} = {given!r} is not a list of names", where=f"Hamiltonian.{where}", do='write q=["q1", "q2"]'
        )
    return names


def _number(value: Any, where: str) -> float:
    try:
        number = real_number(value)
    except (TypeError, ValueError):
        raise InputError(f"{value!r} is not a number", where=where, do="give a finite number") from None
    if not math.isfinite(number):
        raise InputError(f"{number} is not finite", where=where, do="give a finite number")
    return number


def _text(expression: Any, names: Sequence[str], what: str) -> str:
    """The text of an expression, checked."""
    from ..expressions import parse, to_text

    text = expression if isinstance(expression, str) else to_text(expression, names)
    parse(text, names, what=what)
    return text
