"""A body that may change its size: free motion, the size fixed by a constraint, and impacts at a bound of the size.

Closed forms, the energy-momentum step and Gauss's method are compared; the published text has equations and no numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..methods.base import Method
from ..methods.conserving.energy_momentum import EnergyMomentum
from ..methods.runge_kutta.implicit import Gauss
from ..output.style import legend_above, line_style
from ..systems.base import Array, State
from ..systems.body import Body
from ..systems.free_body import FreeBody
from ..systems.scaling.scaling_body import ScalingBody
from .report import Folder, Report, Row, compare, power, small
from .stepping import driver_of, follow_steps

NAME = "scaling"
ABOUT = "a body that may change its size: free motion, constraint and impacts in closed form and stepped [moeller2012]"
SOURCE = ("Moller and Glocker [moeller2012]", "its equations")

MOMENTS, QUATERNION, RATE, W = (2.0, 3.0, 4.0), (0.9, 0.3, -0.2, 0.4), 0.25, (0.7, -1.1, 0.5)
SCALES = {1.0: 1.75190372642639, 2.0: 2.74711970373820, 5.0: 6.05715829962093}
TURNED = 1.09959916222156  # the time tau in which a rigid body turns as far as this one does in infinite time
BOUNCE_SCALE, BOUNCE_RATE = 0.8, 0.3
IMPACT_TIME, IMPACT_RATE, RESTING_ENERGY, MULTIPLIER = 0.369598482897832, 0.734029972140103, 1.7952, -3.5904
RESTITUTIONS = (1.0, 0.5, 0.0)
DIGITS = 1e-13
ROUND_OFF = 1e-13  # energy of the step; a few eps times its magnitude of 3
COUNTS = (50, 100, 200, 400)
ORDER_TOLERANCE = 0.05
NOTES = (
    "References: extrapolation on the published equations, and closed forms found here: s^2 is a quadratic of t, and the body turns",
    "like a rigid one in the time tau, dtau = dt/s^2. The authors' slides have a dot too many in the virtual power; their equations are right.",
)


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """All three motions; `quick` measures the order with fewer steps. Nothing is long enough to need compiling."""
    counts = COUNTS[:3] if quick else COUNTS
    rows = [*_free_rows(counts), *_rows_of_held_body(), *_impact_rows(counts)]
    folder = Folder(out)
    _draw(folder)
    return folder.report(NAME, "A body that may change its size", rows, notes=NOTES)


def _free() -> tuple[ScalingBody, State]:
    body = ScalingBody(Body(moments=MOMENTS))
    a = np.array(QUATERNION)
    s = float(a @ a)
    return body, body.start(a / np.sqrt(s), angular_velocity=np.array(W) / s, scale=s, scale_rate=RATE)


def _bound(restitution: float) -> tuple[ScalingBody, State]:
    body = ScalingBody(Body(moments=MOMENTS), "unilateral", restitution)
    turning = np.array(W) / BOUNCE_SCALE
    return body, body.start(angular_velocity=turning, scale=BOUNCE_SCALE, scale_rate=BOUNCE_RATE)


def _step(body: ScalingBody, start: State, method: Method, *, dt: float, steps: int) -> dict[str, Array]:
    return follow_steps(driver_of(body, start, method, dt), steps)


def _free_rows(counts: tuple[int, ...]) -> list[Row]:
    body, start = _free()
    exact = body.exact(list(SCALES), start)
    rows = [
        compare(f"free: s({t:g})", float(s), SCALES[t], within=DIGITS, digits=15)
        for t, s in zip(SCALES, exact.scale, strict=True)
    ]
    gauss = _step(body, start, Gauss(6), dt=0.1, steps=20)
    error = float(np.abs(gauss["orientation"][-1] - exact.orientation[1]).max())
    rows.append(small("free: Gauss(6) to t = 2, off by", error, 1e-12, remark="orientation"))
    far = body.exact(1e12, start)
    rigid = FreeBody(Body(moments=MOMENTS))
    turned = rigid.exact(TURNED, rigid.start(start.orientation, angular_momentum=start.angular_momentum))
    error = float(np.abs(far.orientation - turned.orientation).max())
    rows.append(small("free: orientation in the end, off by", error, 1e-11, remark="turned through a finite tau"))
    errors, drift, turn = [], 0.0, 0.0
    for n in counts:
        found = _step(body, start, EnergyMomentum(), dt=2.0 / n, steps=n)
        errors.append(
            float(
                np.abs(found["orientation"][-1] - exact.orientation[1]).max() + abs(found["scale"][-1] - exact.scale[1])
            )
        )
        drift = max(drift, float(np.ptp(found["energy"])))
        turn = max(turn, float(np.ptp(found["spatial_momentum"], axis=0).max()))
    order = -power(counts, errors)
    rows.append(compare("free: order of EnergyMomentum()", order, 2.0, within=ORDER_TOLERANCE, digits=4))
    rows.append(small("free: change of its energy", drift, ROUND_OFF, remark="round-off"))
    rows.append(small("free: change of its angular momentum in space", turn, ROUND_OFF, remark="round-off"))
    return rows


def _rows_of_held_body() -> list[Row]:
    """The perfect constraint: as a reduced equation (Gauss) and with its multiplier in every step (EnergyMomentum)."""
    held, rigid = ScalingBody(Body(moments=MOMENTS), "equality"), FreeBody(Body(moments=MOMENTS))
    start = held.start(angular_velocity=W)
    exact = rigid.exact(2.0, rigid.start(angular_velocity=W))
    gauss = _step(held, start, Gauss(6), dt=0.1, steps=20)
    error = float(np.abs(gauss["orientation"][-1] - exact.orientation).max())
    coarse, fine = (
        np.abs(_step(held, start, EnergyMomentum(), dt=2.0 / n, steps=n)["orientation"][-1] - exact.orientation).max()
        for n in (100, 200)
    )
    return [
        small("held: reduced equation to t = 2, off the rigid body by", error, 1e-12, remark="Gauss(6)"),
        compare(
            "held: order with the multiplier in each step", float(np.log2(coarse / fine)), 2.0, within=ORDER_TOLERANCE,
            remark="EnergyMomentum()", digits=4,
        ),
        compare(
            "held: multiplier", float(held.multiplier(start)), -float(np.array(MOMENTS) @ np.square(W)), within=DIGITS,
            remark="-w.Theta w", digits=15,
        ),
    ]  # fmt: skip


def _impact_rows(counts: tuple[int, ...]) -> list[Row]:
    body, start = _bound(0.0)
    times = body.impacts(start, 3.0)
    before = body.exact(np.nextafter(times[0], 0.0), start)
    after = body.exact(3.0, start)
    stepped = _step(body, start, EnergyMomentum(), dt=0.05, steps=60)
    rows = [
        compare("impact: time", float(times[0]), IMPACT_TIME, within=DIGITS, digits=15),
        compare("impact: rate before", float(before.scale_rate), IMPACT_RATE, within=DIGITS, digits=15),
        compare("restitution 0: energy after", float(stepped["energy"][-1]), RESTING_ENERGY, within=DIGITS, digits=15),
        compare("restitution 0: multiplier after", float(body.multiplier(after)), MULTIPLIER, within=DIGITS, digits=15),
        compare("restitution 0: impacts", len(times), 1, remark="contact persists"),
    ]
    elastic, start = _bound(1.0)
    exact = elastic.exact(3.0, start)
    errors, drift = [], 0.0
    for n in counts:
        found = _step(elastic, start, EnergyMomentum(), dt=3.0 / n, steps=n)
        errors.append(float(abs(found["scale"][-1] - exact.scale)))
        drift = max(drift, float(np.ptp(found["energy"])))
    order = -power(counts, errors)
    half, start = _bound(0.5)
    impacts = half.impacts(start, 100.0)
    ratio = float(np.diff(impacts)[-1] / np.diff(impacts)[-2])
    return [
        *rows,
        compare("restitution 1: order of EnergyMomentum() over three impacts", order, 2.0, within=0.1, digits=4),
        small("restitution 1: change of its energy", drift, ROUND_OFF, remark="round-off"),
        compare("restitution 0.5: last flights, ratio of their lengths", ratio, 0.5, within=1e-4, remark="impacts end at "
                 f"t = {impacts[-1]:.6f}, after {len(impacts)}"),
    ]  # fmt: skip


def _draw(folder: Folder) -> None:
    impacts = np.concatenate([body.impacts(start, 5.0) for body, start in map(_bound, RESTITUTIONS)])
    t = np.unique(np.concatenate([np.linspace(0.0, 5.0, 501), np.nextafter(impacts, 0.0), impacts]))
    columns: dict[str, Array] = {"time": t}
    with folder.picture("scaling", width=6.8, height=5.4) as figure:
        (left, right), (low, last) = figure.subplots(2, 2)
        body, start = _free()
        exact = body.exact(t, start)
        coarse = _step(body, start, EnergyMomentum(), dt=0.25, steps=20)
        left.plot(t, exact.scale, label="s, closed form", **line_style(0))
        left.plot(
            np.arange(21) * 0.25,
            coarse["scale"],
            "o",
            markersize=3.0,
            color=line_style(1)["color"],
            label="EnergyMomentum(), dt = 0.25",
        )
        left.set_ylabel("scale, free")
        for k in range(4):
            right.plot(t, exact.orientation[:, k], label=f"q{k}", **line_style(k))
        right.set_ylabel("orientation, free")
        columns["free"] = exact.scale
        for number, restitution in enumerate(RESTITUTIONS):
            bounded, start = _bound(restitution)
            motion = bounded.exact(t, start)
            energy = 0.5 * bounded.kappa * motion.scale_rate**2 + RESTING_ENERGY / motion.scale**2
            low.plot(t, motion.scale, label=f"restitution {restitution:g}", **line_style(number))
            last.plot(t, energy, label=f"restitution {restitution:g}", **line_style(number))
            columns[f"restitution {restitution:g}"] = motion.scale
        low.set_ylabel("scale, at most 1")
        last.set_ylabel("energy")
        for ax in (left, right, low, last):
            ax.set_xlabel("time")
            legend_above(ax)
    folder.numbers("scaling_curves", columns)
