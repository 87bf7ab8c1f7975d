"""The base class of systems: parameters, the fields of the state, invariants, and the views that methods use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as _default
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array as Array
from ..errors import CapabilityError
from ..kernels.declarations import Field as Field
from ..kernels.declarations import Inertia, cut
from ..kernels.marks import Numbers, Parameters
from ..kernels.views import View
from ..registry import Registry
from ..text.markup import html_table
from ..text.plain import Json, clip

if TYPE_CHECKING:
    import xarray

    from .laws import Law
    from .paths import Jump
    from .phase_space import PhaseSpace
    from .sampled import Sampled
    from .scene import Scene

Samples: TypeAlias = "Mapping[str, Array] | xarray.Dataset"  # arrays along `time`, by name
SHOWN = 12  # numbers of a field that a repr shows
LONGEST_REPR = 200  # characters of a system without its own repr


@dataclass(frozen=True)
class Invariant(Field):
    """A quantity that the motion conserves. Methods know it by its `tags`: "energy", "linear", "bilinear", "quadratic".

    "work" and "changes" are tags of quantities that are recorded beside the invariants, but that the motion itself changes.
    """

    tags: frozenset[str] = _default(default_factory=frozenset)

    @property
    def constant(self) -> bool:
        """Whether the exact motion conserves it."""
        return not self.tags & {"work", "changes"}

    @property
    def continuous(self) -> bool:
        """The same, and it is a continuous function of the state; a residual is not: it belongs to the worst body."""
        return self.constant and not self.name.endswith("residual")


@dataclass(frozen=True, eq=False)
class State:
    """A state of a system: named arrays and a time. Fields are attributes: `state.q`, `state.position`."""

    fields: Mapping[str, Array]
    time: float = 0.0

    def __getattr__(self, name: str) -> Array:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(
                f"a state of this system has {', '.join(self.__dict__['fields'])}, not {name}"
            ) from None

    def __repr__(self) -> str:
        return f"State(time={self.time!r}, " + ", ".join(f"{k}={_shortly(v)}" for k, v in self.fields.items()) + ")"

    def _repr_html_(self) -> str:
        rows = [("time", repr(self.time)), *((name, _shortly(values)) for name, values in self.fields.items())]
        return html_table(rows, title="State")


def _shortly(values: Array) -> str:
    return str(values.tolist()) if values.size <= SHOWN else f"<{' x '.join(map(str, values.shape))} numbers>"


class System(ABC):
    """Base class of all systems. A system is frozen: changing a parameter gives another system."""

    kind: ClassVar[str]
    start: Callable[..., State]  # makes a state from the arguments that the system needs
    with_ground: ClassVar[frozenset[str]] = (
        frozenset()
    )  # arrays of par whose last row kernels address as -1: the ground

    @classmethod
    def examples(cls) -> tuple[tuple[System, State, float], ...]:
        """Systems, each with a start and a dt, that represent the kind in tests; nothing in them vanishes by symmetry."""
        return ()

    @property
    @abstractmethod
    def title(self) -> str:
        """Name of the system in messages, without parameter values."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The fields of a state."""

    @property
    @abstractmethod
    def invariants(self) -> tuple[Invariant, ...]:
        """What the motion conserves, and what is recorded beside it."""

    @property
    @abstractmethod
    def default_method(self) -> tuple[str, dict[str, Json]]:
        """Kind and arguments of the method that is used if none is given."""

    @property
    def smoothness(self) -> float:
        """Number of continuous derivatives of the energy along every motion: that of its tables."""
        return min((table.smoothness for table in self.time_tables), default=math.inf)

    @property
    def time_tables(self) -> tuple[Sampled, ...]:
        """Tables of functions of time that drive the system: a run must end within them."""
        return ()

    @property
    def in_words(self) -> str:
        """The system in words, as the heading of a page."""
        return self.title

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.describe().items() if name != "kind")
        return clip(f"{self.kind}({given})", LONGEST_REPR)

    def _repr_html_(self) -> str:
        """The system, its invariants and its default method; nothing is computed for it."""
        kind, arguments = self.default_method
        method = f"{kind}({', '.join(f'{name}={value}' for name, value in arguments.items())})"
        rows = [
            ("fields", "; ".join(f"{f.name} {f.shape}" for f in self.fields)),
            ("invariants", ", ".join(i.name for i in self.invariants)),
            ("default method", method),
        ]
        return html_table(rows, title=repr(self))

    @abstractmethod
    def view(self, name: str) -> View | None:
        """The view with this name, or None."""

    def lacks(self, name: str) -> str:
        """Why there is no view with this name, if a user should know."""
        return ""

    @abstractmethod
    def parameter_arrays(self) -> Mapping[str, Numbers]:
        """The parameters as arrays, by the names in kernels: `par.<name>`."""

    @abstractmethod
    def describe(self) -> dict[str, Json]:
        """The system as a case writes it: JSON that `system_from` turns back into the same system."""

    def names(self) -> dict[str, str]:
        """Names that sections and events may use: name -> code on (row, t, par); by default the components of the fields."""
        return component_names(self.fields)

    def check_start(self, state: State) -> None:
        """InputError if a state violates the constraints of the system, so that no motion can start there."""
        return  # by default there are no constraints

    @property
    def controls(self) -> tuple[int, ...]:
        """Joints whose motors a controller sets, in the order of these motors."""
        return ()

    def hold(self, par: Parameters, torques: Array) -> None:
        """Set the torques of these motors from now on, in the `par` of one run."""
        return  # a system without such motors

    def motor_places(self, view: View, z: Array, known_as: Callable[[], State]) -> tuple[Array, Array]:
        """Angles and speeds of these joints, in stepped variables z; `known_as` computes the state if it is needed."""
        return np.zeros(0), np.zeros(0)

    def undefined_at(self, state: State) -> str:
        """The part of the system whose energy is undefined in a state."""
        return "start"

    def happenings(self, samples: Samples) -> Iterator[tuple[str, float, int, dict[str, Numbers]]]:
        """Events that the samples (arrays along `time` by name, such as a Dataset) show, including changes of what a
        run means, such as a torn link: name, time, first sample that shows it, more data."""
        return iter(())

    def damaged(self, states: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Which of many states, fields with a leading axis, show an event of `happenings`."""
        return np.zeros(len(next(iter(states.values()))), dtype=bool)

    def frequency_above(self, threshold: float, state: State) -> float | None:
        """The highest frequency of small motions about a state if known and above the threshold; otherwise None."""
        return None

    def scene(self) -> Scene | None:
        """What can be shown of its states; None if only numbers."""
        return None

    def begun(self, start: State) -> System:
        """The system with everything that is counted from its start, such as the angles of joints, fixed there."""
        return self

    def inertia(self) -> Inertia:
        """The inertia of its momenta, for a heat bath; CapabilityError if it has none."""
        raise no_bath(self, "its kinetic energy has no constant masses")

    def maxwell(self, state: State, temperature: float, *, seed: int = 0, member: int = 0) -> State:
        """The state with momenta drawn at a temperature. Positions stay; constrained or missing motions get none.

        Parameters
        ----------
        state : supplies positions, orientations and time
        temperature : kT, in units of energy
        seed : below 2^64
        member : number of the start in an ensemble; each has its own momenta

        Raises
        ------
        CapabilityError : the kinetic energy is not quadratic in the momenta, with constant masses

        Examples
        --------
        >>> import catena as ct
        >>> top = ct.Top(ct.Body(moments=(1.0, 1.0, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
        >>> rest = top.start((0.96, 0.28, 0, 0), angular_momentum=(0, 0, 0))
        >>> top.maxwell(rest, temperature=0.5, seed=3).angular_momentum.round(6).tolist()
        [0.245717, 0.604993, 0.494766]
        """
        from .maxwell import with_momenta
        from .states import as_state

        state = as_state(self, state, "maxwell.state")
        return with_momenta(self.inertia(), state, temperature, seed, member)

    def laws(self, temperature: float) -> tuple[Law, ...]:
        """Averages over configurations whose exact values at this temperature are known."""
        return ()

    @property
    def restless(self) -> str:
        """Why the system has no thermal equilibrium, such as a force that depends on time; empty if it has one."""
        return ""

    def phase_space(self, start: State) -> PhaseSpace:
        """Pairs of conjugate fields near a state of `begun(start)`, their allowed variations, and the constraints."""
        raise CapabilityError(
            f"{self.title} does not say which of its fields are conjugate", do="give the system a phase_space()"
        )

    def angular_speed(self, state: State) -> float | None:
        """|omega| of the fastest body, for messages; None if no body turns."""
        return None

    def fastest_body(self, state: State) -> int | None:
        """Index of the body that turns fastest; None if there is only one."""
        return None

    def blamed(self, par: Parameters) -> str:
        """The condition that a failed step could not meet, from the parameters of its run; empty if unknown."""
        return ""

    @property
    def is_prescribed(self) -> bool:
        """Whether functions of time prescribe a part of the motion."""
        return False

    def first_jump(self, times: Array, dt: float, start: State) -> Jump | None:
        """The first of the steps from these times in which a prescribed path jumps; None if all are smooth.

        start : of the run, as a scale for lengths
        """
        return None

    def passed_stop(self, times: Array) -> str:
        """The part whose prescribed path leads through a stop at one of these times; empty if none does."""
        return ""

    @cached_property
    def public_width(self) -> int:
        """Length of a published row."""
        return sum(f.width for f in self.fields)

    @property
    def parts(self) -> int:
        """Number of bodies, or coordinates, that each add their terms to an energy."""
        return max((f.shape[0] for f in self.fields if f.dims and f.dims[0] in ("body", "dof")), default=1)

    @cached_property
    def invariant_width(self) -> int:
        """Number of values of all invariants of a row."""
        return sum(f.width for f in self.invariants)

    def columns(self, rows: Array) -> dict[str, Array]:
        """Rows of samples (m, width) split into the public fields and the invariants, by name."""
        return cut(rows, (*self.fields, *self.invariants))


if TYPE_CHECKING:  # Python 3.13 has it in typing
    from typing_extensions import TypeVar as _TypeVar

    Moved = _TypeVar("Moved", bound=System, default=System, covariant=True)
else:
    Moved = TypeVar("Moved", bound=System, covariant=True)


def component_names(fields: tuple[Field, ...]) -> dict[str, str]:
    """Names of all components for sections (`angular_momentum[2]`), and the time."""
    names, place = {"t": "t"}, 0
    for field in fields:
        for index in np.ndindex(*field.shape):
            which = f"[{','.join(map(str, index))}]" if index else ""
            names[field.name + which] = f"row[{place}]"
            place += 1
    return names


def no_bath(system: System, why: str) -> CapabilityError:
    """The error for a system that cannot be coupled to a heat bath."""
    return CapabilityError(
        f"{system.title} has no temperature here: {why}",
        do="use a chain, a linkage, a top, a free body, or a Hamiltonian T(p) + V(q) with T quadratic in p and positive",
    )


SYSTEMS: Registry[type[System]] = Registry("system", group="catena.systems", home=__package__)
AnySystem = TypeVar("AnySystem", bound=type[System])


def register(system: AnySystem) -> AnySystem:
    """Register a system under the name of its class, which must be unique."""
    SYSTEMS.register(system).kind = system.__name__
    return system


def system_from(description: Mapping[str, object]) -> System:
    """The system from the JSON of `describe`, or from a case."""
    arguments = dict(description)
    return SYSTEMS.find(arguments.pop("kind", None))(**arguments)
