"""Vilmart's survey of integrators for the free body [vilmart2015]: its table of properties, measured, and its book.

It also includes the question of Fasso [fasso2003]: how much the order of the axes matters for splittings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..methods.base import Method
from ..methods.conserving.rattle import Rattle
from ..methods.rotors.dmv_coefficients import TABLE
from ..methods.rotors.jacobi import Jacobi
from ..methods.rotors.moser_veselov import DMV
from ..methods.rotors.rotations import SymmetricRotation, ThreeRotations
from ..methods.runge_kutta.implicit import Gauss, ImplicitMidpoint
from ..output.style import legend_above, line_style
from ..problems.free_bodies import book
from ..running.runs import Run
from ..running.simulation import simulate
from . import axis_orders
from .body_structure import DT, KEPT, Structure, leading_power, measure_structure, step_defects
from .report import Folder, Report, Row, compare

if TYPE_CHECKING:
    from ..systems.free_body import FreeBody

NAME = "vilmart"
ABOUT = "free rigid body: table of properties of the integrators, measured, and the book [vilmart2015]; orders of axes [fasso2003]"
SOURCE = ("Vilmart [vilmart2015]", "tables 1 and 2, figure 1")

PREPROCESSED = tuple(DMV(order) for order in (4, 6, 8, 10, 12))
METHODS: tuple[Method, ...] = (
    Jacobi(), ThreeRotations(), SymmetricRotation(), DMV(2), Rattle(), ImplicitMidpoint(), *PREPROCESSED, DMV("exact"),
    Gauss(1), Gauss(2), Gauss(3),
)  # fmt: skip

# Table 2 of the survey: R y, C, H, Poisson, symplectic. It has neither ThreeRotations nor Gauss, nor DMV("exact").
ALL_KEPT = "+ + + + +"
PUBLISHED: dict[Method, str] = {
    Jacobi(): ALL_KEPT, SymmetricRotation(): "+ + - + +", DMV(2): ALL_KEPT, Rattle(): ALL_KEPT,
    ImplicitMidpoint(): "+ + + - -", **dict.fromkeys(PREPROCESSED, "+ + + + -"),
}  # fmt: skip
# Methods that are not in the table, by an independent program; the exact DMV is the exact flow.
UNPUBLISHED: dict[Method, str] = {
    ThreeRotations(): "+ + - + +", DMV("exact"): ALL_KEPT, **dict.fromkeys((Gauss(1), Gauss(2), Gauss(3)), "- + + - -"),
}  # fmt: skip
ORDER_TOLERANCE = 0.05

# The symplectic defect of DMV(2p) is of the order 2p + 1.
DEFECT_STEPS = (0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
DEFECT_TOLERANCE = 0.15

# The book at t = 40 by power series in 40 digits, and half its period.
BOOK_DT, BOOK_END = 0.01, 40.0
BOOK_Y = (0.05459368051700475, -0.5930307093190378, -0.8033268997439126)
BOOK_Q = (0.7620456033094549, 0.5769991038241422, 0.02721972837574796, -0.2926048855539089)
BOOK_HALF_PERIOD = 3.6537877196467472
BOOK_LEVEL = 1e-12
SMALLEST = 1e-17  # drawn instead of an error of zero
FIGURE_METHOD = DMV(10)
BOOK_METHODS: tuple[Method, ...] = (
    FIGURE_METHOD, DMV(4), SymmetricRotation(), ThreeRotations(), ImplicitMidpoint(), DMV(2)
)  # fmt: skip


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Measure the table, run the book over t = 40, and try all orders of axes; fewer runs and bodies if `quick`."""
    folder = Folder(out)
    table = {method: measure_structure(method) for method in METHODS}
    rows = [row for method, structure in table.items() for row in _property_rows(method, structure)]
    _write_table(folder, table)
    lines = [line.split(" = ") for line in TABLE.strip().splitlines()]
    folder.numbers("vilmart_coefficients", {"coefficient": [a for a, _ in lines], "polynomial": [b for _, b in lines]})
    rows += _defects(folder, PREPROCESSED[-2:] if quick else PREPROCESSED)

    methods = BOOK_METHODS[:1] if quick else BOOK_METHODS
    runs = {method: simulate(book(), method=method, dt=BOOK_DT, t_end=BOOK_END, progress=False) for method in methods}
    rows += _book_rows(runs)
    _draw_book(folder, runs[FIGURE_METHOD])
    _draw_errors(folder, runs)

    families = axis_orders.compare(axis_orders.FEW if quick else axis_orders.MANY)
    rows += axis_orders.rows(families)
    axis_orders.draw(folder, families)
    notes = (
        f"Marks, in this order: {', '.join(KEPT)}; + kept, - lost. They and the defects are those of one step of {DT:g} for the",
        "moments 0.6, 0.9, 1.3; the step is differentiated in 32 digits (closed forms: in 16). The order is that of y and q.",
        "The coefficients of table 1, and those of the orders beyond it, are in vilmart_coefficients.csv; the orders above prove them.",
        "ImplicitMidpoint is the rule in rotation matrices, as in the survey; in quaternions it is Gauss(1).",
        "Orders of axes: errors of y and q after 20 steps of 0.1/|omega|, as multiples of that of the best order, for each body.",
    )
    return folder.report(NAME, "Integrators of the free rigid body", rows, notes=notes)


def _property_rows(method: Method, structure: Structure) -> list[Row]:
    order = method.traits.order
    known = PUBLISHED.get(method) or UNPUBLISHED.get(method)
    remarks = ["" if method in PUBLISHED else "not published", f"lost: {structure.lost}" if structure.lost else ""]
    agrees = None if known is None else structure.marks == known
    marks = Row(f"{method}: keeps", structure.marks, known, agrees, "; ".join(filter(None, remarks)))
    if method.traits.exact:
        exact = math.isinf(structure.order)
        return [Row(f"{method}: order", "exact" if exact else structure.order, "exact", exact), marks]
    return [compare(f"{method}: order", structure.order, order, within=ORDER_TOLERANCE, digits=5), marks]


def _write_table(folder: Folder, table: dict[Method, Structure]) -> None:
    columns: dict[str, ArrayLike] = {
        "method": [str(method) for method in table],
        "order": [structure.order for structure in table.values()],
    }
    for k, name in enumerate(KEPT):
        columns[f"defect of {name}"] = [structure.defects[k] for structure in table.values()]
    columns["published marks"] = [PUBLISHED.get(method, "") for method in table]
    folder.numbers("vilmart_table", columns, digits=5)


def _defects(folder: Folder, methods: Sequence[Method]) -> list[Row]:
    """The symplectic defect as a function of the step: where DMV(2p) is almost symplectic."""
    defects = {method: [step_defects(method, dt=dt)[-1] for dt in DEFECT_STEPS] for method in methods}
    folder.over_steps(
        "vilmart_defects", DEFECT_STEPS, {str(method): v for method, v in defects.items()}, "symplectic defect of one step",
        size=(4.6, 3.6), digits=5,
    )  # fmt: skip
    rows = []
    for method, values in defects.items():
        power = leading_power(DEFECT_STEPS, values)
        quantity = f"{method}: order of its symplectic defect"
        rows.append(compare(quantity, power, method.traits.order + 1, within=DEFECT_TOLERANCE, digits=5))
    return rows


def _book_rows(runs: Mapping[Method, Run[FreeBody]]) -> list[Row]:
    final = runs[FIGURE_METHOD].final
    q = final.orientation * np.sign(final.orientation @ np.array(BOOK_Q))
    pairs = [(f"y{k + 1}", final.angular_momentum[k], BOOK_Y[k]) for k in range(3)]
    pairs += [(f"q{k}", q[k], BOOK_Q[k]) for k in range(4)]
    where = f"book, {FIGURE_METHOD}, t = {BOOK_END:g}"
    rows = [
        compare(f"{where}: {name}", float(ours), reference, within=BOOK_LEVEL, digits=14)
        for name, ours, reference in pairs
    ]
    known = book().facts["half_period"]
    rows.append(compare("book: half period", known, BOOK_HALF_PERIOD, within=1e-14 * BOOK_HALF_PERIOD, digits=16))
    for method, run in runs.items():
        remark = f"dt = {BOOK_DT:g}, {run.steps} steps"
        limit = f"< {BOOK_LEVEL:g}" if method == FIGURE_METHOD else None
        error = float(_errors(run)[-1])
        agrees = error < BOOK_LEVEL if limit else None
        rows.append(Row(f"book, {method}: error of y and q", error, limit, agrees, remark, digits=2))
    return rows


def _errors(run: Run[FreeBody]) -> np.ndarray:
    """Largest error of y and q at each sample, against Jacobi's solution."""
    exact = run.system.exact(run.data.time.values, run.plan.start)
    q, right = run.data.orientation.values, exact.orientation
    sign = np.sign(np.sum(q * right, axis=1, keepdims=True))
    y = run.data.angular_momentum.values - exact.angular_momentum
    return np.maximum(np.abs(sign * q - right).max(axis=1), np.abs(y).max(axis=1))


def _draw_book(folder: Folder, run: Run) -> None:
    with folder.picture("vilmart_book", width=9.6, height=4.2) as figure:
        polhode, columns, herpolhode = figure.subplots(1, 3)
        run.plot.polhode(polhode)
        run.plot.columns(columns)
        run.plot.herpolhode(herpolhode)
    data = run.data
    columns_of = {f"y{k + 1}": data.angular_momentum.values[:, k] for k in range(3)}
    columns_of |= {f"q{k}": data.orientation.values[:, k] for k in range(4)}
    folder.numbers("vilmart_book", {"time": data.time.values} | columns_of)


def _draw_errors(folder: Folder, runs: Mapping[Method, Run[FreeBody]]) -> None:
    """Error and energy error of each method over time."""
    with folder.picture("vilmart_errors", width=7.6, height=4.0) as figure:
        motion, energy = figure.subplots(1, 2)
        for number, (method, run) in enumerate(runs.items()):
            data, style = run.data, line_style(number)
            motion.plot(data.time[1:], np.maximum(_errors(run)[1:], SMALLEST), label=str(method), **style)
            change = np.abs(data.energy.values - data.energy.values[0]) / data.energy.values[0]
            energy.plot(data.time[1:], np.maximum(change[1:], SMALLEST), **style | {"linestyle": "-", "linewidth": 0.6})
        for ax, name in ((motion, "error of y and q"), (energy, "relative energy error")):
            ax.set_yscale("log")
            ax.set_ylim(SMALLEST)
            ax.set(xlabel="time", ylabel=name)
        legend_above(motion)
    errors = {str(method): _errors(run) for method, run in runs.items()}
    folder.numbers("vilmart_errors", {"time": next(iter(runs.values())).data.time.values} | errors, digits=5)
