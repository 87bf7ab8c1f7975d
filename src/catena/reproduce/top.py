"""The heavy symmetric top in Euler angles, quaternions and rotation matrices; QUAT-EM and RATTLE on it; its constraints.

The top is a solid cone of mass 1.5 that spins on its apex with 100 rad/s (`catena.problems.symmetric_top`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..geometry import rotations
from ..methods.base import Method
from ..methods.conserving.quat_em import QuatEM
from ..methods.conserving.rattle import Rattle
from ..methods.runge_kutta.implicit import Gauss
from ..methods.splitting.splitting import Splitting
from ..output.style import legend_above, line_style
from ..problems.tops import nutation, symmetric_top
from ..running.runs import Run
from ..running.simulation import simulate
from . import top_constraints
from .report import Folder, Report, Row, compare, small

NAME = "top"
ABOUT = "heavy symmetric top: three sets of coordinates, QUAT-EM [betsch2009] and RATTLE [leimkuhler2004], constraint errors"
SOURCE = ("A thesis on chains of rigid bodies", "the figures of the heavy top up to 2.19")

# The exact state at t = 1: canonical equations in theta in multiple precision, 18 digits.
EXACT = {
    "theta": 0.672004354000337331, "psi": 0.667361615251614090, "phi": 100.310089025289518,
    "y1": 1.63238010659828154, "y2": 1.42005710999631616, "y3": 35.6281602370481768,
    "q0": 0.920652647783362833, "q1": -0.141666304208762129, "q2": 0.297729659265276380, "q3": 0.209012943080317756,
    "height": 1.04082530393333029,
}  # fmt: skip
LENGTH = 1.33  # of the centre of mass from the fixed point
FINE_DT, FINE_END = 0.0025, 4.0
FINE_LEVEL = 1e-11  # Gauss(4) has 3e-12 with quaternions, which follow the spin: a quarter of a radian in such a step

# States after 200 steps of 0.005, each scheme solved in 30 digits.
DT, STEPS = 0.005, 200
QUAT_EM = {
    "q0": 0.943883303598962, "q1": -0.227225051843076, "q2": 0.237716873562762, "q3": -0.030720889075129,
    "y1": 1.809302080938073, "y2": 0.991287080027328, "y3": 35.628639706134385,
}  # fmt: skip
RATTLE = {
    "R11": 0.548713982795145, "R12": 0.672919444197693, "R13": 0.496076996751268,
    "R21": -0.834036774423536, "R22": 0.399880180823581, "R23": 0.380103275299864,
    "R31": 0.057407525589191, "R32": -0.622314440299410, "R33": 0.780659409346072,
    "y1": -1.493228388474635, "y2": 1.657132163774855, "y3": 35.628160237048177, "E": 1810.11005167332669,
}  # fmt: skip
STATE_LEVEL = 1e-11

# Error of R at t = 0.25 with 100, 200, ... steps, to five digits.
CONVERGENCE_END = 0.25
COUNTS = (100, 200, 400, 800, 1600)
ERRORS = {
    "QuatEM()": (3.2553e-2, 8.1437e-3, 2.0362e-3, 5.0907e-4, 1.2727e-4),
    "Rattle()": (2.5443e-1, 6.3617e-2, 1.5869e-2, 3.9647e-3, 9.9099e-4),
}
ORDER_TOLERANCE = 0.01

# E - E0 of RATTLE over 20000 steps, and its mean over the first and the last 2000.
LONG = 20_000
PART = 2000
BAND = (-0.00807, 0.01227)
MEANS = (0.00208, 0.00218)
LAST_DIGIT = 1e-5

AXIAL_LEVEL = 1e-4  # relative bound of the error of the momentum about the axis, which QUAT-EM does not conserve


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """All figures; `quick` uses fewer methods and steps for the constraints only."""
    folder = Folder(out)
    fine = _fine_runs()
    rows = _exact_rows(fine)
    _draw_motion(folder, fine)
    _draw_momentum(folder, fine["quaternion"])

    schemes: tuple[Method, ...] = (QuatEM(), Rattle())
    rows += _state_rows({str(method): _run(method, dt=DT, steps=STEPS) for method in schemes})
    errors = _convergence(schemes)
    rows += _convergence_rows(errors)
    _draw_convergence(folder, errors)
    quat_em, rattle = (_run(method, dt=DT, steps=LONG) for method in schemes)
    rows += _long_rows(quat_em, rattle)
    _draw_energy(folder, quat_em, rattle)

    studies = top_constraints.study(quick=quick)
    rows += top_constraints.rows(studies)
    top_constraints.draw(folder, studies)
    notes = (
        "Moments and gravity of the published figures are not printed: a solid cone and 9.81 are our choice, so values compare with",
        "references in 18 to 30 digits, not with plots. At dt = 0.005 the top turns by half a radian in a step.",
        "RATTLE is symplectic: its energy stays within a band that shrinks with dt^2. It does not conserve energy, as was printed.",
        "Both the vertical momentum in space and the axial one in the body are constant; the plotted component is the first.",
        *top_constraints.NOTES,
    )
    return folder.report(NAME, "Heavy symmetric top", rows, notes=notes)


def _run(method: Method, *, dt: float, steps: int, coordinates: str = "quaternion") -> Run:
    return simulate(symmetric_top(coordinates), method=method, dt=dt, steps=steps, progress=False)


def _fine_runs() -> dict[str, Run]:
    """The same motion in three sets of coordinates."""
    methods = {"euler": Gauss(4), "quaternion": Gauss(4), "rotation": Splitting(8)}
    steps = round(FINE_END / FINE_DT)
    return {c: _run(method, dt=FINE_DT, steps=steps, coordinates=c) for c, method in methods.items()}


def _angles(run: Run) -> np.ndarray:
    """psi, theta, phi of every sample, psi and phi without jumps."""
    if "q" in run.data:
        return run.data.q.values
    angles = rotations.to_euler(run.data.orientation.values)
    return np.stack([np.unwrap(angles[:, 0]), angles[:, 1], np.unwrap(angles[:, 2])], axis=-1)


def _matrices(run: Run) -> np.ndarray:
    """R of every sample."""
    q = rotations.from_euler(run.data.q.values) if "q" in run.data else run.data.orientation.values
    return rotations.to_matrix(q)


def _exact_rows(runs: dict[str, Run]) -> list[Row]:
    n = round(1.0 / FINE_DT)
    rows = []
    for coordinates, run in runs.items():
        psi, theta, phi = _angles(run)[n]
        found = {"theta": theta, "psi": psi, "height": LENGTH * float(_matrices(run)[n, 2, 2])}
        if coordinates == "euler":
            found["phi"] = phi
        else:
            q, y = run.data.orientation.values[n], run.data.angular_momentum.values[n]
            q = q * np.sign(q[0])
            found |= {f"q{k}": q[k] for k in range(4)} | {f"y{k + 1}": y[k] for k in range(3)}
        error = max(abs(float(value) - EXACT[name]) for name, value in found.items())
        title = f"{coordinates}, {run.method}, t = 1: largest error"
        rows.append(small(title, error, FINE_LEVEL, remark=f"of {', '.join(found)}"))
        if coordinates == "quaternion":
            rows += [
                compare(f"{coordinates}, t = 1: {name}", float(found[name]), EXACT[name], within=FINE_LEVEL, digits=14)
                for name in ("theta", "psi", "height", "y1", "y2", "y3")
            ]
    whole = [_matrices(run) for run in runs.values()]
    apart = max(float(np.abs(whole[0] - other).max()) for other in whole[1:])
    rows.append(small(f"all coordinates, t <= {FINE_END:g}: difference of R", apart, 1e-9))
    return rows + _nutation_rows(runs["quaternion"])


def _nutation_rows(run: Run) -> list[Row]:
    """Limits of the nutation against the roots of the cubic of Lagrange's top."""
    problem = symmetric_top("quaternion")
    gravity = problem.system.potential.gravity
    assert gravity is not None
    inertia = float(problem.system.body.moments[0])
    start = problem.start
    facts = nutation(inertia, gravity.strength, start.orientation, start.angular_momentum)
    cosine = _matrices(run)[:, 2, 2]
    # an extreme lies within half a step of a sample: cos(theta) is harmonic up to a few percent
    within = 0.5 * (facts["highest_cosine"] - facts["lowest_cosine"]) * (np.pi * FINE_DT / facts["period"]) ** 2
    return [
        compare("least cos(theta)", float(cosine.min()), facts["lowest_cosine"], within=within, remark="root of the cubic"),
        compare("largest cos(theta)", float(cosine.max()), facts["highest_cosine"], within=within, remark="root of the cubic"),
    ]  # fmt: skip


def _state_rows(runs: dict[str, Run]) -> list[Row]:
    rows = []
    for name, known in (("QuatEM()", QUAT_EM), ("Rattle()", RATTLE)):
        final, energy = runs[name].final, float(runs[name].data.energy[-1])
        q = final.orientation * np.sign(final.orientation[0])
        r = rotations.to_matrix(q)
        found = {f"q{k}": q[k] for k in range(4)} | {f"y{k + 1}": final.angular_momentum[k] for k in range(3)}
        found |= {f"R{i + 1}{j + 1}": r[i, j] for i in range(3) for j in range(3)} | {"E": energy}
        error = max(abs(float(found[key]) - value) for key, value in known.items())
        title = f"{name}, {STEPS} steps of {DT:g}: largest error"
        parts = "R, y and E" if "E" in known else "q and y"
        remark = f"of {parts}; the scheme itself in 30 digits"
        rows.append(small(title, error, STATE_LEVEL, remark=remark))
    return rows


def _convergence(methods: tuple[Method, ...]) -> dict[str, list[float]]:
    """Largest error of an element of R at t = 0.25, against Gauss(4) with a quarter of the smallest step."""
    right = _final_rotation(Gauss(4), 4 * COUNTS[-1])
    return {str(m): [float(np.abs(_final_rotation(m, n) - right).max()) for n in COUNTS] for m in methods}


def _final_rotation(method: Method, steps: int) -> np.ndarray:
    run = simulate(
        symmetric_top("quaternion"), method=method, dt=CONVERGENCE_END / steps, steps=steps, every=steps, progress=False
    )
    return rotations.to_matrix(run.final.orientation)


def _convergence_rows(errors: dict[str, list[float]]) -> list[Row]:
    rows = []
    for method, values in errors.items():
        for count, ours, known in zip(COUNTS, values, ERRORS[method], strict=True):
            last = 0.5001 * 10.0 ** (np.floor(np.log10(known)) - 4)
            title = f"{method}, {count} steps to t = {CONVERGENCE_END:g}: error of R"
            rows.append(compare(title, ours, known, within=last, digits=5))
        order = float(np.log2(values[-2] / values[-1]))
        rows.append(compare(f"{method}: order", order, 2, within=ORDER_TOLERANCE, digits=5))
    ratio = errors["Rattle()"][-1] / errors["QuatEM()"][-1]
    rows.append(compare("error of RATTLE / error of QUAT-EM", ratio, 7.8, within=0.05, digits=3))
    return rows


def _long_rows(quat_em: Run, rattle: Run) -> list[Row]:
    rows = []
    for run in (quat_em, rattle):
        for row in run.audit():
            if row.promised == "exact":
                title = f"{run.method}, {LONG} steps: {row.quantity.replace('_', ' ')}"
                rows.append(
                    Row(title, row.verdict, "exact", row.verdict == "exact", f"worst deviation {row.worst:.1e}")
                )
    axial = quat_em.data.axial_momentum.values
    error = float(np.abs(axial / axial[0] - 1.0).max())
    rows.append(small("QuatEM(): relative error of axial momentum", error, AXIAL_LEVEL, remark="not kept, bounded"))
    energy = rattle.data.energy.values - rattle.data.energy.values[0]
    for word, ours, known in zip(("least", "largest"), (energy.min(), energy.max()), BAND, strict=True):
        title = f"Rattle(), {LONG} steps: {word} E - E0"
        rows.append(compare(title, float(ours), known, within=LAST_DIGIT, remark="bounded, not kept", digits=4))
    means = (energy[: PART + 1].mean(), energy[-PART:].mean())
    for word, ours, known in zip(("first", "last"), means, MEANS, strict=True):
        title = f"Rattle(), mean of E - E0 in the {word} {PART} steps"
        rows.append(compare(title, float(ours), known, within=LAST_DIGIT, remark="no drift", digits=3))
    return rows


def _draw_motion(folder: Folder, runs: dict[str, Run]) -> None:
    """Nutation and precession in all coordinates, the path of the centre, and differences between coordinates."""
    with folder.picture("top_motion", width=7.6, height=5.6) as figure:
        (theta, path), (psi, apart) = figure.subplots(2, 2)
        first = _matrices(runs["euler"])
        for number, (name, run) in enumerate(runs.items()):
            angles, time, style = _angles(run), run.data.time.values, line_style(number)
            theta.plot(time, np.degrees(angles[:, 1]), label=f"{name}: {run.method}", **style)
            psi.plot(time, np.degrees(angles[:, 0]), **style)
            if name != "euler":
                difference = np.abs(_matrices(run) - first).max(axis=(1, 2))
                apart.plot(time, np.maximum(difference, 1e-17), label=f"{name} - euler", **style)
        runs["quaternion"].plot.path(path)
        apart.set_yscale("log")
        for ax, label in ((theta, "nutation (degrees)"), (psi, "precession (degrees)"), (apart, "difference of R")):
            ax.set(xlabel="time", ylabel=label)
        legend_above(theta)
        legend_above(apart)
    columns = {"time": runs["euler"].data.time.values}
    for name, run in runs.items():
        columns |= {f"{angle}, {name}": _angles(run)[:, k] for k, angle in enumerate(("psi", "theta", "phi"))}
    folder.numbers("top_motion", columns)


def _draw_momentum(folder: Folder, run: Run) -> None:
    with folder.picture("top_momentum", width=6.6, height=6.2) as figure:
        *momentum, energy = figure.subplots(3, 1, sharex=True)
        run.plot.angular_momentum(momentum)
        momentum[1].set_xlabel("")
        run.plot.energy_parts(energy)


def _draw_convergence(folder: Folder, errors: dict[str, list[float]]) -> None:
    dts = [CONVERGENCE_END / count for count in COUNTS]
    folder.over_steps("top_convergence", dts, errors, f"error of R at t = {CONVERGENCE_END:g}", size=(4.4, 3.4))


def _draw_energy(folder: Folder, quat_em: Run, rattle: Run) -> None:
    """Invariants of both, and the band of RATTLE's energy."""
    with folder.picture("top_invariants", width=8.6, height=6.4) as figure:
        axes = figure.subplots(2, 2)
        for column, run in enumerate((quat_em, rattle)):
            run.plot.invariants(axes[0, column])
            data, ax = run.data, axes[1, column]
            ax.plot(data.time, data.energy - data.energy[0], linewidth=0.4, color=line_style(column)["color"])
            ax.set(xlabel="time", ylabel="$E - E_0$", title=str(run.method))
    columns = {"time": quat_em.data.time.values}
    for run in (quat_em, rattle):
        columns |= {f"{i.name}, {run.method}": run.data[i.name].values for i in run.system.invariants}
    folder.numbers("top_invariants", columns)
