"""`ct.check`: the properties of a method on a system, measured, next to what is promised for the pair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..engine.build import Program, build
from ..engine.driver import Driver
from ..engine.pairing import Pairing
from ..engine.promises import Promises
from ..errors import CapabilityError, InputError
from ..methods.base import Method, Traits
from ..running.auditing import Audit
from ..running.plan import Plan, Problem, positive_number
from ..running.recording import make_here
from ..running.runs import MemoryRun
from ..systems.base import State, System
from ..systems.states import as_start
from ..text.named_rows import NamedRows
from ..text.plain import Json
from ..text.tables import ShownTable
from .step_measures import Measured, StepMap, measure_order, reversal_defect, step_length, symplectic_order, tangent_of

if TYPE_CHECKING:
    from rich.table import Table

MOST_STEPS = 60_000  # of all runs that measure the order
ORDER_TOLERANCE = 0.15
KNOWN_ORDER = 0.5  # a measured order with a larger error says nothing
CLEAR = 1e-6  # with a larger error, an invisible defect says nothing
KEPT_STEPS, KEPT_EVERY, KEPT_PART = 2000, 4, 0.25  # the run that measures conservation, with this part of the step
NOTHING_KEPT = ("drifts", "none")
HEADINGS = ("property", "measured", "+- error", "promised", "verdict")


@dataclass(frozen=True)
class CheckRow:
    """One property: promised against measured.

    Attributes
    ----------
    name : "order", "symplectic", "Poisson", "symmetric", or the name of an invariant
    measured, error : the order; the defect of a structure; the largest deviation of an invariant, with the error of its
        drift per time; nan if it could not be measured
    promised, verdict : in words
    contradicts : whether the measurement falls short of the promise
    """

    name: str
    measured: float
    error: float
    promised: str
    verdict: str
    contradicts: bool = False


@dataclass(frozen=True, repr=False)
class Check(NamedRows[CheckRow]):
    """Measured properties of a method on a system near a start. Prints as a table; `check["order"]` is one row.

    Attributes
    ----------
    system, method : titles of the pair
    dt : step with which structures were measured
    rows : one for each property
    audit : of the run that measures conservation
    """

    _naming: ClassVar[str] = "name"
    _unknown: ClassVar[tuple[str, str]] = ("{} was not checked", "check")

    system: str
    method: str
    dt: float
    rows: tuple[CheckRow, ...]
    audit: Audit

    @property
    def contradictions(self) -> tuple[CheckRow, ...]:
        """The rows that fall short of their promise."""
        return tuple(row for row in self.rows if row.contradicts)

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts its promise."""
        return not self.contradictions

    def to_dict(self) -> dict[str, Json]:
        """The table as plain values for JSON: a number that is not finite becomes None."""
        told: dict[str, Json] = {"system": self.system, "method": self.method, "dt": self.dt, "ok": self.ok}
        return told | {"rows": dict(self.as_json())}

    @property
    def title(self) -> str:
        """Title of the table: system, method, step."""
        return f"{self.system} x {self.method}, dt = {self.dt:.3g}"

    @property
    def _table(self) -> ShownTable:
        return ShownTable(HEADINGS, [(_cells(row), row.contradicts) for row in self.rows], title=self.title)

    def __str__(self) -> str:
        return "\n".join([self.title, *self._table.lines()])

    __repr__ = __str__

    def __rich__(self) -> Table:
        return self._table.__rich__()

    def _repr_html_(self) -> str:
        return self._table._repr_html_()


def _cells(row: CheckRow) -> tuple[str, ...]:
    shown = f"{row.measured:.2f}" if row.name == "order" else f"{row.measured:.1e}"
    error = f"{row.error:.0e}" if math.isfinite(row.error) else "-"
    verdict = f"{row.verdict} (contradicts)" if row.contradicts else row.verdict
    return row.name, shown if math.isfinite(row.measured) else "-", error, row.promised, verdict


def check(system: System | Problem, method: Method, start: State | None = None, *, dt: float | None = None) -> Check:
    """Measure what a method does to a system: its order, the structures it keeps, whether it is symmetric, and what it conserves.

    Everything is measured at one start, with a step that is long enough to show what the method does. Each number has an error: a
    defect that cannot be distinguished from zero counts as kept. The symplectic form is measured on the motions that satisfy the
    constraints: in the stepped variables if they are canonical, otherwise in positions, orientations and their momenta. "to order
    10" means that the defect of a step falls with dt^11, although the method has a lower order. Invariants are audited over a run
    of 2000 steps.

    Parameters
    ----------
    system : the system; a `Problem` also supplies its start, and its step as a first guess
    method : the method
    start : where to measure; best a state at which nothing vanishes by symmetry
    dt : step with which structures are measured; by default one is searched for

    Returns
    -------
    Check : prints as a table; `.ok` says whether every promise holds

    Raises
    ------
    InputError : there is no start
    CapabilityError : the method cannot treat the system, or makes no step from this start

    Examples
    --------
    >>> import catena as ct
    >>> found = ct.check(ct.problems.book(), ct.DMV(10))
    >>> [(row.name, row.verdict) for row in found][1:4]
    [('symplectic', 'no'), ('Poisson', 'yes'), ('symmetric', 'yes')]
    >>> found["energy"].verdict, found.ok
    ('exact', True)
    """
    guess = None
    if isinstance(system, Problem):
        guess, start, system = system.dt, start or system.start, system.system
    if not isinstance(system, System):
        raise InputError(f"{system!r} is not a system", where="check, first argument", do="give a System or a Problem")
    if not isinstance(method, Method):
        raise InputError(f"{method!r} is not a method", where="check.method", do="give one, such as ct.Gauss(3)")
    if not isinstance(start, State):
        raise InputError(
            "there is no start: what a method does is measured at a state", where="check.start",
            do="make one with system.start(...), or give a Problem",
        )  # fmt: skip
    start = as_start(system, start, "check.start")
    given = None if dt is None else positive_number(dt, "dt")
    found = Pairing.of(system, method).promises
    if found.traits.random:
        raise CapabilityError(
            f"{method} draws random numbers: its steps are no map whose order and structure could be measured",
            where="check.method", do="check the method without friction, Splitting(2), and compare averages of ensembles",
        )  # fmt: skip
    begun = system.begun(start)
    return check_program(build(begun, method), start, found, dt=given, guess=guess or 0.1)


def check_program(
    program: Program,
    start: State,
    promised: Promises,
    *,
    dt: float | None = None,
    guess: float = 0.1,
    most_steps: int = MOST_STEPS,
    kept_steps: int = KEPT_STEPS,
) -> Check:
    """`check` with an existing program, compiled or not.

    Parameters
    ----------
    program : of a system that is `begun` at the start
    promised : promises to compare with
    most_steps : of the runs that measure the order
    kept_steps : of the run that measures conservation; 0 omits it
    """
    step = StepMap(program, start)
    if dt is None:
        dt, sizes = step_length(step, guess)
    else:
        sizes = step.sizes_along(dt)
    if step.after(step.start, dt) is None:
        raise CapabilityError(
            f"{program.method} makes no step of {dt:.3g} from this start", where="check",
            do="give a smaller dt, or another start",
        )  # fmt: skip
    traits = promised.traits
    expected = traits.order if traits.has_order else 4
    order = measure_order(step, dt, sizes, expected=expected, even=traits.symmetric, most=most_steps)
    if traits.has_order and math.isnan(order.value):  # nothing to see: the order is high, and the step too short for it
        order = measure_order(step, 2.0 * dt, sizes, expected=expected, even=traits.symmetric, most=most_steps)
    rows = [_order_row(order, traits), *_structure_rows(step, dt, sizes, traits)]
    rows.append(_row("symmetric", reversal_defect(step, dt, sizes), traits.symmetric))
    # structures may need a long step to be visible; conservation is measured with a step that follows the motion
    audit = _audit(program, start, KEPT_PART * min(dt, guess), kept_steps) if kept_steps else Audit(())
    rows += [
        CheckRow(
            row.quantity,
            row.worst,
            row.drift_error,
            row.promised,
            row.verdict,
            row.contradicts and row.promised not in NOTHING_KEPT,  # a jump alarms the audit, but contradicts no promise
        )
        for row in audit
    ]
    return Check(program.system.title, str(program.method), dt, tuple(rows), audit)


def _order_row(order: Measured, traits: Traits) -> CheckRow:
    promised = traits.order_word
    if math.isinf(order.value):
        return CheckRow("order", order.value, order.error, promised, "exact")
    if not order.error <= KNOWN_ORDER:
        return CheckRow("order", order.value, order.error, promised, "unclear")
    least = traits.order - ORDER_TOLERANCE if traits.has_order else math.inf
    low = order.value + 2.0 * order.error < least
    return CheckRow("order", order.value, order.error, promised, f"{order.value:.1f}", low)


def _structure_rows(step: StepMap, dt: float, sizes: np.ndarray, traits: Traits) -> list[CheckRow]:
    tangent = tangent_of(step, dt, sizes)
    nothing = Measured(math.nan, math.nan)
    defect = nothing if tangent is None else tangent.symplectic_defect()
    word = traits.symplectic_word.replace("Poisson", "no")  # it has its own row
    rows = [replace(_row("symplectic", defect, traits.symplectic), promised=word)]
    if traits.nearly and not defect.vanishes and tangent is not None:
        reached = symplectic_order(step, dt, sizes, expected=traits.nearly, even=traits.symmetric)
        low = reached.value + 2.0 * reached.error < traits.nearly - ORDER_TOLERANCE
        unclear = not reached.value - 2.0 * reached.error > traits.order
        verdict = "unclear" if unclear else f"to order {reached.value:.0f}" if low else word
        rows = [CheckRow("symplectic", defect.value, defect.error, word, verdict, low)]
    if step.space.reduced:
        poisson = nothing if tangent is None else tangent.poisson_defect()
        assert poisson is not None
        rows.append(_row("Poisson", poisson, traits.poisson or traits.symplectic))
    return rows


def _row(name: str, defect: Measured, promised: bool) -> CheckRow:
    word = "yes" if promised else "no"
    if not defect.error < CLEAR and not (math.isfinite(defect.value) and not defect.vanishes):
        return CheckRow(name, defect.value, defect.error, word, "unclear")
    kept = defect.vanishes
    return CheckRow(name, defect.value, defect.error, word, "yes" if kept else "no", promised and not kept)


def _audit(program: Program, start: State, dt: float, steps: int) -> Audit:
    """Audit of a run from the start, as far as it goes."""
    every = min(KEPT_EVERY, max(1, steps // (KEPT_STEPS // KEPT_EVERY)))
    driver = Driver(program, program.view.pack(start), t0=start.time, dt=dt, every=every)
    first = driver.first_row()
    chunk = driver.advance(steps)
    plan = Plan(program.system, start, program.method, dt, every)
    rows = np.concatenate([first.rows, chunk.rows])
    return make_here(MemoryRun(plan, driver.step, driver.state(), rows, chunk.crossings, {}), driver).audit()
