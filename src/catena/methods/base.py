"""What a method is: parameters, the views it needs, the traits it promises, and its kernel.

A method is a small frozen dataclass, registered by the decorator `register`. The registry is the only list of methods:
the tables of `catena methods`, the cases, the tests and the citations are made from it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from dataclasses import field as _default
from typing import ClassVar, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, nearest
from ..kernels.declarations import Field as Account
from ..kernels.marks import Kernel, Numbers
from ..kernels.views import View
from ..registry import Registry
from ..text.markup import html_table
from ..text.plain import Json

LINE = 8  # numbers in 64 bytes


@dataclass(frozen=True)
class Keeps:
    """What happens to the quantities with a tag ("linear", "bilinear", "quadratic", "energy", ...)."""

    what: str


class Exact(Keeps):
    """Kept up to round-off."""


class Bounded(Keeps):
    """Error without drift, over times exponentially long in 1/dt for small dt."""


class Drifts(Keeps):
    """Grows or decays systematically."""


class Needed(Keeps):
    """Must hold for the motion to make sense, but the method does not keep it: the audit judges it by its size."""


@dataclass(frozen=True)
class Traits:
    """What a method claims; the tests measure each claim.

    Attributes
    ----------
    order : order of convergence; if the error does not depend on dt, the order as which it may be composed
    symplectic, symmetric, explicit : structure of the step
    keeps : falsifiable statements about conserved quantities
    cite : keys of references.bib
    stability : largest dt * omega for the harmonic oscillator, inf if A-stable, 0 if none
    exact : whether it is the exact flow, up to round-off, for any dt
    adaptive : whether it makes inner steps of its own, so that the error does not depend on dt
    poisson : whether the angular momenta of a free body move by a Poisson map, as they do for symplectic methods
    nearly : order up to which a step that is not exactly symplectic is symplectic, if above its own order; else 0
    reflects : whether a step of length zero is near a reflection of some velocities instead of the identity; then only two
        steps in a row may be composed with others
    random : whether it draws random numbers: its order is that of averages, not of paths, and the path between steps is undefined
    unbiased : whether its averages have only statistical errors, at any dt
    """

    order: int
    symplectic: bool
    symmetric: bool
    explicit: bool
    keeps: tuple[Keeps, ...]
    cite: tuple[str, ...]
    stability: float
    exact: bool = False
    adaptive: bool = False
    poisson: bool = False
    nearly: int = 0
    reflects: bool = False
    random: bool = False
    unbiased: bool = False

    @property
    def has_order(self) -> bool:
        """Whether the errors of a path fall with dt."""
        return not (self.exact or self.adaptive or self.random)

    @property
    def order_word(self) -> str:
        """The order as tables write it: "4", "exact", "adaptive", or "2 in law" for averages."""
        if self.random:
            return "exact in law" if self.unbiased else f"{self.order} in law"
        return "exact" if self.exact else "adaptive" if self.adaptive else str(self.order)

    @property
    def symplectic_word(self) -> str:
        """How symplectic it is, as tables write it: "yes", "to order 10", "Poisson" (for the angular momentum alone) or "no"."""
        if self.symplectic:
            return "yes"
        return f"to order {self.nearly}" if self.nearly else "Poisson" if self.poisson else "no"

    def promise(self, tags: Iterable[str]) -> str:
        """What is promised for a quantity with these tags: "exact", "bounded", "drifts", "needed" or "none"."""
        tags = set(tags)
        for claim, word in ((Exact, "exact"), (Bounded, "bounded"), (Drifts, "drifts"), (Needed, "needed")):
            if any(isinstance(keep, claim) and keep.what in tags for keep in self.keeps):
                return word
        return "none"


@dataclass(frozen=True)
class SideBySide:
    """A step that evaluates the equations of the system several times at once, each in a lane of vector registers."""

    kernel: Kernel
    lanes: int


@dataclass(frozen=True, eq=False)
class Stepper:
    """A method fitted to a view: its `step` kernel, its coefficients and how much memory it needs.

    `tab` has rows and columns. A `carry` of zeros means that nothing is known from earlier steps. `parameters` are tables that the
    kernels of the system access as `par.<name>`, such as those of the rotor inside a drift. `scratch` holds the arrays there that
    kernels write to: each driver has a copy. `packed` asks the compiler to pack straight-line code into vector instructions; the
    bits are the same.

    If kernels are written from the field of the system, `recorded` does this: (stepper, field for a given math module, par,
    dimension) -> stepper. `rewind` fills the slot of that name if zeros are not the best choice. `observe` fills the slot of that
    name for a method that looks for crossings at steps of its own; there is room for another state, z and e, at the end of `copies`.

    `timed` gives parameters that depend on the step, dt -> tables by name; the engine calls it when a driver knows dt. A method that
    draws random numbers finds the number of its member in an ensemble at carry[`member_place`]. `account` fills the slot of that
    name: `accounts` are the quantities that it records at each sample, in this order.

    `in_sweeps`: a step is a `sweep` for each column of `tab`, kicks and drifts in units of dt, so threads can share it
    (`catena.engine.parts`). `of_body` fills `follow_body`: steps of one body by a thread of its own. `side_by_side` is the same step
    for a processor with vector registers, used where the kernels of the system allow it.
    """

    kernel: Kernel
    tab: NDArray[np.float64]
    work: int
    carry: int
    parameters: Mapping[str, Numbers] = _default(default_factory=dict)
    scratch: Mapping[str, Numbers] = _default(default_factory=dict)
    packed: bool = False
    recorded: Callable[..., Stepper] | None = None
    rewind: Kernel | None = None
    observe: Kernel | None = None
    timed: Callable[[float], Mapping[str, Numbers]] | None = None
    member_place: int | None = None
    account: Kernel | None = None
    accounts: tuple[Account, ...] = ()
    in_sweeps: bool = False
    of_body: Kernel | None = None
    side_by_side: SideBySide | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.tab, np.ndarray) and self.tab.ndim == 2 and self.tab.dtype == float):
            raise InputError(
                f"tab has shape {np.shape(self.tab)}, or is not of floats", where="Stepper.tab",
                do="give an array of rows and columns, np.array([[1.0, 0.5]]); kernels read tab[i, j]",
            )  # fmt: skip

    @property
    def account_width(self) -> int:
        """Numbers that it records at each sample."""
        return sum(field.width for field in self.accounts)

    def first_carry(self, member: int = 0) -> NDArray[np.float64]:
        """`carry` before the first step of a member of an ensemble; a run is member 0. A step knows its member only from this."""
        carry = zeros_at_a_line(self.carry)
        if self.member_place is not None:
            carry[self.member_place] = member
        return carry

    def first_carries(self, members: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same of many members, by their numbers: (members, carry)."""
        carries = np.repeat(self.first_carry()[None], len(members), axis=0)
        if self.member_place is not None:
            carries[:, self.member_place] = members
        return carries


def zeros_at_a_line(count: int) -> NDArray[np.float64]:
    """Zeros aligned to a cache line of 64 bytes: with an unaligned table of series, a step takes a tenth longer."""
    room = np.zeros(count + LINE - 1)
    first = -room.__array_interface__["data"][0] // room.itemsize % LINE
    return room[first : first + count]


class Method(ABC):
    """Base of all methods, which are frozen dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    needs: ClassVar[tuple[str, ...]]
    asks_for: ClassVar[str] = ""  # what that is in words, for users whose system lacks it
    name: ClassVar[str]
    stated: ClassVar[Mapping[str, str]] = {}  # what `describe` says besides the parameters
    formerly: ClassVar[str] = ""  # the method meant by a stored description that has this name but not what is stated

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What this method, with its parameters, promises for the systems that it is made for."""

    def traits_on(self, view: View) -> Traits:
        """What it promises with this view; differs from `traits` where the method is another map there."""
        return self.traits

    @property
    def order_at_ends(self) -> int:
        """Order of the ends of steps, where points between them have a lower one."""
        return self.traits.order

    def other_tolerances(self) -> tuple[Method, Method]:
        """The same with a smaller and a larger tolerance, whose paths show how accurate its own is; itself, if it has none."""
        return self, self

    def _repr_html_(self) -> str:
        traits = self.traits
        symplectic = {"yes": "symplectic", "no": ""}.get(traits.symplectic_word, f"symplectic {traits.symplectic_word}")
        symplectic = "Poisson" if traits.symplectic_word == "Poisson" else symplectic
        words = filter(None, [symplectic, *(word for word in ("symmetric", "explicit") if getattr(traits, word))])
        keeps = [f"{keep.what}: {type(keep).__name__.lower()}" for keep in traits.keeps]
        rows = [
            ("order", traits.order_word),
            ("structure", ", ".join(words) or "-"),
            ("keeps", "; ".join(keeps) or "-"),
            ("cite", ", ".join(traits.cite)),
        ]
        return html_table(rows, title=str(self))

    @abstractmethod
    def stepper(self, view: View) -> Stepper:
        """The step on this view; CapabilityError if the view lacks something."""

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        """Instances that represent the class in tables and tests, the plainest first."""
        return (cls(),)

    def counts(self, carry: NDArray[np.float64]) -> dict[str, int]:
        """What the method has counted so far, by name: sweeps of an iteration, steps by Newton."""
        return {}

    def doubt(self, carry: NDArray[np.float64]) -> str:
        """Why averages along a path that left this memory mean nothing, in a sentence; empty if they are meaningful."""
        return ""

    def trace(self, view: View, work: NDArray[np.float64]) -> tuple[int | None, list[float]]:
        """After a failed iteration: the variable that changed most, if known, and the relative changes of the last sweeps."""
        return None, []

    def advice(self) -> str:
        """What to try when a step fails."""
        return "use a smaller dt"

    @property
    def program(self) -> str:
        """Name of the compiled loop; the same for parameters that are read at run time."""
        return str(self)

    @property
    def bath_temperature(self) -> float | None:
        """kT of its averages; None if it has none, or more than one."""
        return None

    @property
    def reach(self) -> float:
        """Largest dt |omega| at which it can rotate a body; inf if there is no limit."""
        return math.inf

    def describe(self) -> dict[str, Json]:
        """The method as a case writes it: its kind and its parameters."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"kind": self.name, **self.stated} | {
            k: v.describe() if isinstance(v, Method) else v for k, v in values.items()
        }

    def __str__(self) -> str:
        parameters = []
        for f in fields(self):
            value = getattr(self, f.name)
            if value != f.default:
                word = "" if f.default is MISSING else f"{f.name}="
                parameters.append(word + (str(value) if isinstance(value, Method) else repr(value)))
        return f"{self.name}({', '.join(parameters)})"


METHODS: Registry[type[Method]] = Registry(
    "method", group="catena.methods", home=__package__, do="choose one that `catena methods` lists"
)
AnyMethod = TypeVar("AnyMethod", bound=type[Method])


def register(method: AnyMethod) -> AnyMethod:
    """Make a method known under the name of its class, which no other method may have."""
    METHODS.register(method).name = method.__name__
    return method


def all_methods() -> tuple[type[Method], ...]:
    """All methods, in the order of registration; those of installed plug-ins last."""
    return tuple(METHODS)


def method_from(description: Mapping[str, object]) -> Method:
    """The method that `describe` (or a case) wrote down."""
    arguments = dict(description)
    kind = arguments.pop("kind", None)
    method = METHODS.find(kind)
    for name, value in method.stated.items():
        given = arguments.pop(name, value)
        if given != value:
            raise InputError(f"{kind} has {name} = {value!r}, not {given!r}", where=f"method.{name}", do="leave it out")
    known = [f.name for f in fields(method)]
    for argument in arguments:
        if argument not in known:
            raise InputError(
                f"{kind} has no parameter {argument!r}{nearest(argument, known)}", where=f"method.{argument}"
            )
    return method(**{k: method_from(v) if _is_method(v) else v for k, v in arguments.items()})


def _is_method(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping) and "kind" in value


def find_stored_method(description: Mapping[str, object]) -> Method:
    """The method that a store describes, even if its name means something else today."""
    return method_from(_rename(description))


def is_renamed(description: Mapping[str, object]) -> bool:
    """Whether a store describes a method by a name that means another method today."""
    return _rename(description) != description


def _rename(description: Mapping[str, object]) -> dict[str, object]:
    method = METHODS.find(description.get("kind"))
    old = bool(method.formerly) and not method.stated.keys() <= description.keys()
    return {
        **{k: _rename(v) if _is_method(v) else v for k, v in description.items()},
        "kind": method.formerly if old else method.name,
    }
