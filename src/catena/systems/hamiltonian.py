"""A Hamiltonian system with canonical coordinates, given by its energy."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..expressions import parse
from ..expressions.terms import evaluate
from ..expressions.values import first_undefined
from ..kernels import elementary, views
from ..kernels.declarations import Inertia
from ..kernels.marks import Filling, Kernel, Numbers, Slot, Written
from ..kernels.summation import add
from ..kernels.views import Flag, View, dimension, momentum_rate, velocity
from ..text.plain import NAME, Json
from . import baths
from .base import Array, Field, Invariant, State, System, no_bath, register
from .derivation import Derived, derive
from .numbers import finite_number, finite_numbers
from .phase_space import Pair, PhaseSpace
from .sampled import SPLINES, TIME, GivenInTime, Sampled, describe_in_time, in_time, spline_arrays
from .scene import Scene
from .states import naming_arguments

if TYPE_CHECKING:
    import sympy

RESERVED = ("energy", "work", "q", "p", "time")  # names of what else is recorded
MOST_SHOWN = 8  # coordinates in a title
ELSEWHERE = "start away from singular points and inside the domain of every function"
LONGEST_SHOWN = 60  # characters of a long energy


def copy_state(z, par, row):
    """Publish the stepped variables as they are."""
    for k in range(dimension(z)):
        row[k] = z[k]


def copy_driven_state(z, par, row):
    """The same without t, the last coordinate, and its momentum."""
    half = dimension(z) // 2
    for k in range(half - 1):
        row[k] = z[k]
        row[half - 1 + k] = z[half + k]


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

    The energy may depend on the time, t. Then t is one more coordinate, whose momentum accumulates the work. `energy`
    is then H minus the work done on the system, which the motion conserves, and `work` is recorded beside it.

    Parameters
    ----------
    energy : H as text in the names below, or a sympy expression. Long sums are derived once for each form of term, so
        twenty bodies compile as fast as five
    q, p : names of the coordinates and of their momenta: one string, or a list for several
    parameters : name -> value; numbers can change without recompiling (`with_parameters`). A value may also be a text
        in t and those parameters that are numbers, or a table `Sampled(times, values)`
    invariants : name -> text of further conserved quantities, which are recorded and audited

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
        energy: str | sympy.Expr,
        q: str | Sequence[str] = "q",
        p: str | Sequence[str] = "p",
        parameters: Mapping[str, GivenInTime] | None = None,
        *,
        invariants: Mapping[str, str | sympy.Expr] | None = None,
    ) -> None:
        self.q = _names(q, "q")
        self.p = _names(p, "p")
        for where, table in (("parameters", parameters), ("invariants", invariants)):
            if not (table is None or isinstance(table, Mapping)):
                raise InputError(
                    f"{where} = {table!r}", where=f"Hamiltonian.{where}", do='give a table by names, such as {"k": 1.0}'
                )
        # sorted by name: generated code must not depend on the order in a case or a store
        given = sorted((parameters or {}).items())
        numbers = [str(name) for name, value in given if not isinstance(value, (str, Mapping, Sampled))]
        self.given = {str(name): in_time(value, f"parameters.{name}", numbers) for name, value in given}
        self.parameters = {name: value for name, value in self.given.items() if isinstance(value, float)}
        self.tables = {name: value for name, value in self.given.items() if isinstance(value, Sampled)}
        self._texts = {name: value for name, value in self.given.items() if isinstance(value, str)}
        if len(self.q) != len(self.p):
            raise InputError(
                f"{len(self.q)} coordinates but {len(self.p)} momenta", where="Hamiltonian.q, Hamiltonian.p",
                do="give each coordinate its momentum",
            )  # fmt: skip
        names = [*self.q, *self.p, *self.given]
        if TIME in names:
            raise InputError(f"{TIME!r} is the time", where="Hamiltonian", do="rename that coordinate or parameter")
        for name, count in Counter(names).items():
            if not name.isidentifier():
                several = re.split(r"[\s,;]+", name.strip())
                listed = all(map(str.isidentifier, several)) and len(several) > 1
                do = f"give several as a list: {several}" if listed else "use letters, digits and _"
                raise InputError(f"{name!r} is not a name", where="Hamiltonian", do=do)
            if count > 1:
                raise InputError(f"the name {name!r} is given twice", where="Hamiltonian", do="rename one of them")
        self.energy = _text(energy, [*names, TIME], "energy")
        self._further = {
            str(name): _text(text, [*names, TIME], f"invariants.{name}")
            for name, text in sorted((invariants or {}).items())
        }
        for name in self._further:
            if name in RESERVED or not NAME.fullmatch(name):
                do = "rename it" if name in RESERVED else "start with a letter; use letters, digits, _ and -"
                raise InputError(f"{name!r} cannot name an invariant", where="Hamiltonian.invariants", do=do)
        self._derived: Derived = derive(
            self._in_full(self.energy), self.q, self.p, list(self.parameters),
            {name: self._in_full(text) for name, text in self._further.items()}, sampled=list(self.tables),
        )  # fmt: skip
        self._kernels: dict[str, Written] = {}  # cache of the kernels in use
        self._values = self._parameter_values()

    def _in_full(self, text: str) -> str:
        """A text with parameters that are texts themselves substituted."""
        if not self._texts:
            return text
        return re.sub(
            r"[^\W0-9]\w*", lambda found: f"({self._texts[found[0]]})" if found[0] in self._texts else found[0], text
        )

    def with_parameters(self, **values: GivenInTime) -> Hamiltonian:
        """The same system with other parameter values. If they are numbers, nothing is derived or compiled again."""
        for name in values:
            if name not in self.given:
                raise InputError(
                    f"there is no parameter {name!r}", where="with_parameters",
                    do=f"choose among {', '.join(self.given) or 'none'}",
                )  # fmt: skip
        return Hamiltonian(self.energy, self.q, self.p, {**self.given, **values}, invariants=self._further)

    @property
    def driven(self) -> bool:
        """Whether the energy depends on t."""
        return self._derived.driven

    @property
    def time_tables(self) -> tuple[Sampled, ...]:
        return tuple(self.tables.values())

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
    def title(self) -> str:
        shown = self.q if len(self.q) <= MOST_SHOWN else (self.q[0], self.q[1], "...", self.q[-1])
        return f"Hamiltonian in {', '.join(shown)}"

    @property
    def default_method(self) -> tuple[str, dict[str, Json]]:
        return ("Splitting", {"order": 6}) if self.quadratic_kinetic else ("Gauss", {"stages": 4})

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        n = len(self.q)
        return Field("q", (n,), ("dof",), ", ".join(self.q)), Field("p", (n,), ("dof",), ", ".join(self.p))

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        energy, work = self.energy, dict[str, str]()
        if self.driven:
            energy, work = f"{self.energy}, less the work", {"work": "work of what depends on t"}
        texts = {"energy": energy, **work, **self._further}
        own = {"energy": {"energy"}, "work": {"work"}}
        return tuple(
            Invariant(name, (), (), text, frozenset(() if name == "work" else tags) | own.get(name, set()))
            for (name, text), tags in zip(texts.items(), self._derived.tags, strict=True)
        )

    @naming_arguments
    def start(self, q: ArrayLike, p: ArrayLike, *, time: float = 0.0) -> State:
        """A state: coordinates, momenta and time."""
        n = len(self.q)
        shapes = ((1,), ()) if n == 1 else ((n,),)
        fields = {
            name: np.atleast_1d(
                finite_numbers(
                    value, *shapes, where=f"start.{name}", do=f"give {n} finite number{'' if n == 1 else 's'}"
                )
            )
            for name, value in (("q", q), ("p", p))
        }
        state = State(fields, finite_number(time, "start.time"))
        if not math.isfinite(self.energy_of(state)):
            reason = self._find_undefined_term(state)
            wrong = f"the energy is not defined at q = {_show(fields['q'])}, p = {_show(fields['p'])}"
            raise InputError(wrong + (f": {reason}" if reason else ""), where="start", do=ELSEWHERE)
        without = self._find_undefined_derivative(state)
        if without:
            raise InputError(
                f"the derivative of the energy by {without} is not defined at q = {_show(fields['q'])}, "
                f"p = {_show(fields['p'])}", where="start", do=ELSEWHERE,
            )  # fmt: skip
        return state

    def undefined_at(self, state: State) -> str:
        """The first operation of the energy that has no value."""
        reason = self._find_undefined_term(state)
        return f"start: {reason}" if reason else "start"

    def _find_undefined_term(self, state: State) -> str:
        values = dict(zip((*self.q, *self.p), (*state.q, *state.p), strict=True)) | self.parameters | {TIME: state.time}
        values |= {name: table.at(state.time) for name, table in self.tables.items()}
        return first_undefined(parse(self._in_full(self.energy), list(values), what="energy", many_terms=True), values)

    def _find_undefined_derivative(self, state: State) -> str:
        """The variable with respect to which the energy has no finite derivative in a state."""
        clock = (TIME,) if self.driven else ()
        rates = np.zeros(2 * len((*self.q, *clock)))
        par = SimpleNamespace(**self.parameter_arrays())
        for kernel, names in (("velocity", (*self.p, *clock)), ("momentum_rate", (*self.q, *clock))):
            try:
                with np.errstate(all="ignore"):
                    self._interpret(kernel)(self.to_stepped(state), par, rates)
            except (ZeroDivisionError, ValueError, OverflowError):
                return names[0] if len(names) == 1 else f"one of {', '.join(names[:MOST_SHOWN])}"
        wrong = np.flatnonzero(~np.isfinite(rates))
        # the rate of q is the derivative with respect to p
        return (*self.p, *clock, *self.q, *clock)[int(wrong[0])] if len(wrong) else ""

    def energy_of(self, state: State) -> float:
        """H at a state; nan if it is undefined."""
        out, scale = np.zeros(len(self.invariants)), np.zeros(len(self.invariants))
        try:
            with np.errstate(all="ignore"):
                par = SimpleNamespace(**self.parameter_arrays())
                self._interpret("measure")(self.to_stepped(state), par, out, scale)
        except (ZeroDivisionError, ValueError, OverflowError):
            return math.nan
        return float(out[0])

    def view(self, name: str) -> View | None:
        n = 2 * (len(self.q) + self.driven)
        straight = not self._derived.tables
        names = ("field", "jacobian", "velocity", "momentum_rate", "measure", "field_end")
        kernels: dict[Slot, Filling] = {getattr(views, name): self._write(name) for name in names}
        publish = copy_driven_state if self.driven else copy_state
        kernels |= {views.publish: publish, views.field_count: 4 if self.driven else 2}
        if self.driven:
            kernels[views.has_clock] = 1
        flags = {Flag.JACOBIAN}
        if straight:
            kernels[views.registers] = self._write("registers")
            flags |= {Flag.REGISTERS}
        if self.separable:
            kernels |= {
                views.force: self._write("momentum_rate"),
                views.kick: kick_momenta,
                views.drift: drift_positions,
            }
            flags |= {Flag.SEPARABLE}
        if self.quadratic_kinetic:
            kernels[views.commutator_kick] = self._write("commutator_kick")
            kernels |= {
                views.bath_of_components: baths.coordinate_bath, views.bath_of_bodies: baths.coupled_bath,
                views.tally: baths.coordinate_tally, views.tally_of_bodies: baths.coupled_tally,
                views.reverse: baths.coordinate_reverse,
            }  # fmt: skip
            flags |= {Flag.QUADRATIC_KINETIC, Flag.COMMUTATOR_KICK}
        offered = {"field", "canonical"} | ({"split"} if self.separable else set())
        if name not in offered:
            return None
        # loops read their sizes at run time, so that the same code serves any number of terms
        inertia = self.inertia if self.quadratic_kinetic else None
        return View(
            name, kernels, n, self.to_stepped, self.from_stepped, frozenset(flags), literal=straight, inertia=inertia,
            measures=self.invariant_width, packs_many=True,
        )  # fmt: skip

    def inertia(self) -> Inertia:
        if not self.quadratic_kinetic:
            raise no_bath(self, "its kinetic energy is not quadratic in the momenta")
        if self.driven:
            raise no_bath(self, "it is driven by the time, which would get noise as well")
        inverse, at_rest = self._velocity_matrix()
        if at_rest.any():
            raise no_bath(self, "it moves without momenta: its kinetic energy has terms that are linear in them")
        diagonal = np.diag(inverse)
        if (diagonal <= 0.0).any():
            k = int(np.argmin(diagonal))
            raise no_bath(self, f"the kinetic energy does not grow with {self.p[k]}")
        if np.array_equal(inverse, np.diag(diagonal)):
            return Inertia((1.0 / diagonal)[:, None], ("p",), "dof")
        inverse = 0.5 * (inverse + inverse.T)
        if np.linalg.eigvalsh(inverse)[0] <= 0.0:
            raise no_bath(self, "its kinetic energy is not positive for all momenta")
        matrix = np.linalg.inv(inverse)
        return Inertia(np.diag(matrix)[:, None].copy(), ("p",), "dof", matrix=0.5 * (matrix + matrix.T))

    def _velocity_matrix(self) -> tuple[Array, Array]:
        """B and b of dq/dt = B p + b, for a quadratic kinetic energy."""
        n, par = len(self.q), SimpleNamespace(**self.parameter_arrays())
        rates = np.zeros((n + 1, 2 * n))
        for k, momenta in enumerate([*np.eye(n), np.zeros(n)]):
            self._interpret("velocity")(np.concatenate([np.zeros(n), momenta]), par, rates[k])
        return (rates[:n, :n] - rates[n, :n]).T, rates[n, :n]

    def lacks(self, name: str) -> str:
        if name == "split" and self._derived.kinetic_in_time:
            return "its kinetic energy depends on t, so there are no kicks and drifts"
        return ""

    def parameter_arrays(self) -> dict[str, Numbers]:
        tables = self._derived.tables
        if not tables:
            return {"values": self._values, **(spline_arrays(self.time_tables) if self.tables else {})}
        places = {
            "spans": np.array(tables["spans"], dtype=np.int64),
            "places": np.array(tables["places"], dtype=np.int64),
        }
        return {"values": self._values, **places}

    def to_stepped(self, state: State) -> Array:
        """z = (q, p), or (q, t, p, 0) if the energy depends on t."""
        if self.driven:
            time = np.asarray(state.time, dtype=float)[..., None]
            return np.concatenate([state.q, time, state.p, np.zeros_like(time)], axis=-1)
        return np.concatenate([state.q, state.p], axis=-1)

    def from_stepped(self, z: Array, time: float) -> State:
        """The state of z."""
        n, half = len(self.q), len(z) // 2
        return State({"q": z[:n].copy(), "p": z[half : half + n].copy()}, time)

    def phase_space(self, start: State) -> PhaseSpace:
        return PhaseSpace((Pair("q", "p", [np.eye(len(self.q))]),))

    def scene(self) -> Scene:
        return Scene(labels={"q": self.q, "p": self.p})

    def describe(self) -> dict[str, Json]:
        described: dict[str, Json] = {"kind": self.kind, "energy": self.energy, "q": list(self.q), "p": list(self.p)}
        parameters = {name: describe_in_time(value) for name, value in self.given.items()}
        described |= {"parameters": parameters} if parameters else {}
        return described | ({"invariants": dict(self._further)} if self._further else {})

    def names(self) -> dict[str, str]:
        first = len(self._derived.tables.get("values", ()))
        known = {"t": "t"} | {name: f"par.values[{first + k}]" for k, name in enumerate(self.parameters)}
        return known | {name: f"row[{k}]" for k, name in enumerate([*self.q, *self.p])}

    def __repr__(self) -> str:
        if self._derived.tables:
            text = self.energy if len(self.energy) <= LONGEST_SHOWN else f"{self.energy[:LONGEST_SHOWN]}..."
            return f"Hamiltonian({text!r}, {len(self.q)} coordinates, {len(self.given)} parameters)"
        return f"Hamiltonian({self.energy!r}, q={list(self.q)}, p={list(self.p)}, parameters={self.given})"

    def _write(self, name: str) -> Written:
        """A kernel with the functions that it calls; cached, because each run asks for a view."""
        if name in self._kernels:
            return self._kernels[name]
        text = self._derived.kernels[name]
        called = set(re.findall(r"\b(\w+)\(", text)) - {name}
        uses: dict[str, Kernel] = {"add": add, "velocity": velocity, "momentum_rate": momentum_rate, **dict(SPLINES)}
        uses |= {piece: self._write(piece) for piece in self._derived.kernels if piece.startswith(f"{name}_")}
        calls = tuple((word, use) for word, use in uses.items() if word in called)
        return self._kernels.setdefault(name, Written(name, text, __name__, calls))

    def _interpret(self, name: str) -> FunctionType:
        namespace: dict[str, object] = {"math": elementary, **dict(SPLINES)}
        for part, text in self._derived.kernels.items():
            if part == name or part.startswith(f"{name}_"):
                exec(text, namespace)
        made = namespace[name]
        assert isinstance(made, FunctionType)
        return made

    def _parameter_values(self) -> Array:
        """The parameters and the constants computed from them."""
        try:
            with np.errstate(all="ignore"):
                values = self._values_in_loops() if self._derived.tables else self._values_in_lines()
        except (ZeroDivisionError, ValueError, OverflowError):
            values = np.array([math.nan])
        if not np.isfinite(values).all():
            given = (
                str(self.parameters)
                if len(self.parameters) <= MOST_SHOWN
                else f"of which {len(self.parameters)} are given"
            )
            raise InputError(
                f"the energy is not defined for the parameters {given}", where="Hamiltonian.parameters",
                do="choose values for which every quotient, root and logarithm of them exists",
            )  # fmt: skip
        return values if len(values) else np.zeros(1)

    def _values_in_lines(self) -> Array:
        given = np.array(list(self.parameters.values()), dtype=float)
        made = np.zeros(self._derived.kernels["constants"].count("out["))
        self._interpret("constants")(given, made)
        return np.concatenate([given, made])

    def _values_in_loops(self) -> Array:
        tables = self._derived.tables
        constants = evaluate(tables["constants"], self.parameters)
        return np.array([*(constants[number] for number in tables["values"]), *self.parameters.values()], dtype=float)


def _show(values: Array) -> str:
    return np.array2string(values, threshold=MOST_SHOWN)


def _names(given: str | Sequence[str], where: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{where} = {given!r} is not a list of names", where=f"Hamiltonian.{where}", do='write q=["q1", "q2"]'
        )
    return names


def _text(expression: str | sympy.Expr, names: Sequence[str], where: str) -> str:
    """The text of an expression; it is checked where it is derived."""
    if isinstance(expression, str):
        return expression
    from ..expressions import to_text

    return to_text(expression, names, f"Hamiltonian.{where}")
