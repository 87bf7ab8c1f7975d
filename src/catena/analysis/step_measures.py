"""Properties of a step, measured in doubles: its derivative, the structures it keeps, its reversibility, its order.

Every number comes with an error. Derivatives are central differences of order 8 at spacings that are halved until two
of them agree best; their difference is the error, rounding and truncation together. Quantities that should vanish are
measured at several starts that differ by little more than rounding: the differences between them are noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..engine.build import Program
from ..engine.driver import Driver
from ..errors import CatenaError
from ..systems.base import Array, State
from ..systems.phase_space import PhaseSpace, hat

EPS = float(np.finfo(float).eps)
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # of f(k g) - f(-k g), k = 1 ... 4
WIDEST, HALVINGS = 0.25, 12  # spacings, in sizes of the coordinate
MOST_DIRECTIONS = 36  # in a larger phase space this many random directions are used
SEED = 20
NEARBY, REPEATED = 1e-13, 6  # starts that differ by this part of their size, to measure the noise
TOLD_APART = 8.0  # errors: a larger defect is significant


@dataclass(frozen=True)
class Measured:
    """A number and its error; nan if it could not be measured."""

    value: float
    error: float

    @property
    def vanishes(self) -> bool:
        """Whether it cannot be distinguished from zero."""
        return abs(self.value) <= TOLD_APART * self.error


@dataclass(frozen=True, eq=False)
class Point:
    """A state in published form, and in stepped form: z and its compensation."""

    state: State
    z: Array
    e: Array


class StepMap:
    """Steps of a program as maps near a start.

    The symplectic form is taken in the stepped variables if the method steps canonical variables, where it is constant;
    otherwise in the fields of the state. Only motions that satisfy the constraints count.

    Parameters
    ----------
    program : of a system that is `begun` at the start
    start : the state in question
    treat : applied to the stepped variables after each step, in place
    """

    def __init__(self, program: Program, start: State, treat: Callable[[Array], None] | None = None) -> None:
        self.program, self.treat = program, treat
        self.space: PhaseSpace = program.system.phase_space(start)
        self.is_canonical = program.view.name in ("canonical", "halves")
        self.start = self.point(start)

    def point(self, state: State) -> Point:
        """A state with its stepped variables."""
        z = self.program.view.pack(state)
        return Point(state, z, np.zeros_like(z))

    def moved(self, by: Array) -> Point | None:
        """The start after a displacement in phase space; None if no point near it satisfies the constraints."""
        try:
            return self.point(self.space.moved(self.start.state, by))
        except CatenaError:
            return None

    def shifted(self, by: Array) -> Point:
        """The start after a displacement of the stepped variables, ignoring constraints."""
        return Point(self.start.state, self.start.z + by, self.start.e)

    def after(self, point: Point, dt: float, steps: int = 1) -> Point | None:
        """The point after some steps; None if one of them failed."""
        driver = Driver(self.program, point.z, t0=point.state.time, dt=dt, every=1 if self.treat else steps)
        driver.e[...] = point.e
        for _ in range(steps if self.treat else 1):
            chunk = driver.advance(1 if self.treat else steps)
            if chunk.status != 0 or not len(chunk.rows):
                return None
            if self.treat:
                driver.z[...] += driver.e
                driver.e[...] = 0.0
                self.treat(driver.z)
        system = self.program.system
        columns = system.columns(chunk.rows[-1:])
        state = State({f.name: columns[f.name][0] for f in system.fields}, point.state.time + steps * dt)
        return Point(state, driver.z, driver.e)

    def path(self, dt: float, steps: int, samples: int) -> list[State] | None:
        """This number of states along a run from the start; None if a step failed."""
        driver = Driver(self.program, self.start.z, t0=self.start.state.time, dt=dt, every=steps // samples)
        chunk = driver.advance(steps)
        if chunk.status != 0:
            return None
        system = self.program.system
        columns = system.columns(chunk.rows)
        return [State({f.name: columns[f.name][k] for f in system.fields}) for k in range(samples)]

    def displacement(self, first: Point, second: Point) -> Array:
        """From one point to a nearby one, in the variables of `form`."""
        if self.is_canonical:
            return (second.z - first.z) + (second.e - first.e)
        return self.space.displacement(first.state, second.state)

    def form(self, point: Point) -> Array:
        """The symplectic form at a point."""
        if not self.is_canonical:
            return self.space.form(point.state)
        half = np.eye(len(point.z) // 2)
        return np.block([[0.0 * half, half], [-half, 0.0 * half]])

    def sizes_along(self, dt: float, steps: int = 16) -> Array:
        """Sizes of the coordinates along some steps: from rest they are zero at first."""
        points = [self.start]
        while len(points) <= steps and (then := self.after(points[-1], dt)) is not None:
            points.append(then)
        return self.space.sizes([point.state for point in points])

    def distance(self, first: Point, second: Point, sizes: Array) -> float:
        """Largest displacement of the fields, in sizes."""
        return float(np.abs(self.space.displacement(first.state, second.state) / sizes).max())


@dataclass(frozen=True, eq=False)
class Tangent:
    """Derivatives of points before and after some steps in some directions.

    Attributes
    ----------
    ends : the point before and after
    before, after : (2, variables, k) their derivatives, for two spacings
    """

    step: StepMap
    ends: tuple[Point, Point]
    before: Array
    after: Array

    def symplectic_defect(self) -> Measured:
        """Largest entry of V'W(z')V - U'W(z)U, U and V the derivatives before and after."""
        forms = [self.step.form(point) for point in self.ends]
        return self._judge([v.T @ forms[1] @ v - u.T @ forms[0] @ u for u, v in self._by_gap()])

    def poisson_defect(self) -> Measured | None:
        """Largest entry of M hat(y) M' - hat(y'), M the derivative of y' by y; None if y' depends on others."""
        if not self.step.space.reduced:
            return None
        turned = [hat(point.state.fields["angular_momentum"]) for point in self.ends]
        defects = []
        for u, v in self._by_gap():
            m = v[3:, 3:] @ np.linalg.inv(u[3:, 3:])  # the last three directions are those of y
            defects.append(m @ turned[0] @ m.T - turned[1])
        return self._judge(defects)

    def orthonormal(self) -> Tangent:
        """The same in directions orthonormal in the variables of the form, so defects do not depend on the choice."""
        made = [(q, v @ np.linalg.inv(r)) for (q, r), v in zip(map(np.linalg.qr, self.before), self.after, strict=True)]
        return replace(self, before=np.array([q for q, _ in made]), after=np.array([v for _, v in made]))

    def _by_gap(self) -> Iterator[tuple[Array, Array]]:
        return zip(self.before, self.after, strict=True)

    def _judge(self, defects: list[Array]) -> Measured:
        largest = max(1.0, float(np.abs(self.after).max())) ** 2
        error = max(float(np.abs(defects[0] - defects[1]).max()), EPS * largest)
        return Measured(float(np.abs(defects[0]).max()), error)


def tangent_of(step: StepMap, dt: float, sizes: Array, *, steps: int = 2) -> Tangent | None:
    """Derivatives of some steps in all directions of phase space, or in some if they are many; None if a step fails.

    Two steps, because the first may be special: it starts on the constraints, without memory of earlier steps.
    """
    return _tangent(step, dt, steps, [(step.moved, sizes * direction) for direction in _directions(step.space)])


def tangent_everywhere(step: StepMap, dt: float, variables: Sequence[int], *, steps: int = 1) -> Tangent | None:
    """Derivatives by some of the stepped variables, also off the constraints."""
    return _tangent(step, dt, steps, [(step.shifted, way) for way in np.eye(len(step.start.z))[variables]])


def _tangent(
    step: StepMap, dt: float, steps: int, ways: Sequence[tuple[Callable[[Array], Point | None], Array]]
) -> Tangent | None:
    reached = step.after(step.start, dt, steps)
    if reached is None:
        return None
    columns = []
    for move, way in ways:

        def both_ends(
            by: float, move: Callable[[Array], Point | None] = move, way: Array = way, end: Point = reached
        ) -> Array | None:
            there = move(by * way)
            then = None if there is None else step.after(there, dt, steps)
            if there is None or then is None:
                return None
            return np.concatenate([step.displacement(step.start, there), step.displacement(end, then)])

        column = _differences(both_ends)
        if column is None:
            return None
        columns.append(column)
    before, after = np.split(np.stack(columns, axis=-1), 2, axis=1)
    return Tangent(step, (step.start, reached), before, after)


def _directions(space: PhaseSpace) -> Array:
    basis = space.basis()
    if len(basis) <= MOST_DIRECTIONS:
        return basis
    drawn = np.random.default_rng(SEED).normal(size=(len(basis), MOST_DIRECTIONS))
    return np.linalg.qr(drawn)[0].T @ basis


def _differences(function: Callable[[float], Array | None]) -> Array | None:
    """(2, n) derivative at 0 for the two successive spacings that agree best; None if there are none."""
    known: dict[float, Array | None] = {}

    def at(place: float) -> Array | None:
        if place not in known:
            known[place] = function(place)
        return known[place]

    def slope(gap: float) -> Array | None:
        total: Array | float = 0.0
        for k, weight in enumerate(WEIGHTS, start=1):
            ahead, behind = at(k * gap), at(-k * gap)
            if ahead is None or behind is None:
                return None
            total = total + weight / gap * (ahead - behind)
        return np.asarray(total)

    best, least, before, worse = None, math.inf, None, 0
    for halving in range(HALVINGS):
        now = slope(WIDEST / len(WEIGHTS) * 0.5**halving)
        if before is not None and now is not None:
            apart = float(np.abs(now - before).max())
            if apart < least:
                best, least, worse = np.stack([before, now]), apart, 0
            else:
                worse += 1
        if worse >= 2:
            break
        before = now
    return best


def reversal_defect(step: StepMap, dt: float, sizes: Array) -> Measured:
    """How far a step and one back miss the start, in sizes; its error is the variation between starts."""
    generator = np.random.default_rng(SEED)
    basis = step.space.basis()
    missed = []
    for _ in range(REPEATED):
        start = step.moved(NEARBY * sizes * (generator.uniform(-1.0, 1.0, size=len(basis)) @ basis))
        there = None if start is None else step.after(start, dt)
        back = None if there is None else step.after(there, -dt)
        if start is None or back is None:
            return Measured(math.nan, math.nan)
        missed.append(step.space.displacement(start.state, back.state) / sizes)
    mean = np.mean(missed, axis=0)
    noise = max(float(np.abs(np.array(missed) - mean).max()), 4 * EPS)
    return Measured(float(np.abs(mean).max()), noise)


# Order ---------------------------------------------------------------------------------------------------------------

SAMPLES = 4  # of each run, at the same times
EXACT_LEVEL = 1e-12  # differences below it count as none
NOISY = 16.0  # times its noise, below which a value is not used
FITTED, FEWEST_FITTED = 5, 4
MODEL = 1e-3  # relative error of the fitted law itself, so that no single value dominates
ENOUGH = 0.01  # accuracy of a power, twice in a row, that is enough
SHORTEST = 2.0**-24  # of the first step of a study


@dataclass(frozen=True, eq=False)
class PowerStudy:
    """A small quantity for shorter and shorter steps, its noise, and the power of the step with which it falls.

    Attributes
    ----------
    lengths : of the steps, with a constant ratio
    values, noise : measured values, and their errors
    even : whether the method is symmetric
    """

    lengths: tuple[float, ...]
    values: tuple[float, ...]
    noise: tuple[float, ...]
    even: bool = False

    @cached_property
    def power(self) -> Measured:
        """The power, from the shortest steps above the noise; inf if there is only noise, nan if too little data.

        The fit is value = c h^p exp(b h), or exp(b h^2) for symmetric methods, whose errors have an expansion in h^2.
        The error of p: its change if the longest of these steps is left out, and the effect of the noise of the values.
        """
        values, noise = np.array(self.values), np.array(self.noise)
        if not len(values) or not np.isfinite(values).all():
            return Measured(math.nan, math.nan)
        if (values <= np.maximum(EXACT_LEVEL, 2.0 * noise)).all():
            return Measured(math.inf, 0.0)
        seen = np.flatnonzero(values > NOISY * noise)
        usable = len(seen) if len(seen) == len(values) else int(np.argmin(values > NOISY * noise))
        chosen = slice(max(0, usable - FITTED), usable)
        h, value, blur = np.array(self.lengths)[chosen], values[chosen], noise[chosen]
        if len(h) < FEWEST_FITTED:
            return Measured(math.nan, math.nan)
        p, error = _fit(h, value, blur / value, even=self.even)
        fewer, _ = _fit(h[1:], value[1:], blur[1:] / value[1:], even=self.even)
        return Measured(p, 4.0 * abs(p - fewer) + error)


def _fit(h: Array, value: Array, blur: Array, *, even: bool) -> tuple[float, float]:
    """The p of value = c h^p exp(b h^k), k = 2 or 1, for relative errors `blur`; and its error from these."""
    weight = 1.0 / np.hypot(blur, MODEL)
    terms = np.stack([np.ones_like(h), np.log(h), (h / h[0]) ** (2 if even else 1)], axis=1)
    inverse = np.linalg.pinv(weight[:, None] * terms)
    return float(inverse[1] @ (weight * np.log(value))), float(np.linalg.norm(inverse[1] * weight * blur))


def power_study(value: Callable[[float], Measured | None], longest: float, *, expected: int, even: bool) -> PowerStudy:
    """Measure with shorter and shorter steps until the power is known or only noise is left.

    Parameters
    ----------
    value : step -> quantity that should vanish with it; None if a step fails
    expected : power for which the steps are chosen; a wrong one costs time, but does not change the result
    even : whether the method is symmetric
    """
    ratio = min(2.0, 4.0 ** (1.0 / expected))
    study, dt, almost = PowerStudy((), (), (), even), longest, False
    while dt > SHORTEST * longest:
        found = value(dt)
        if found is None or not math.isfinite(found.value):
            if study.values:
                break
        else:
            lengths, values = (*study.lengths, dt), (*study.values, found.value)
            study = PowerStudy(lengths, values, (*study.noise, max(found.error, EPS)), even)
            known = study.power.error < ENOUGH
            if (known and almost) or (len(study.values) > 1 and found.value <= found.error):
                break
            almost = known
        dt /= ratio
    return study


def measure_order(step: StepMap, longest: float, sizes: Array, *, expected: int, even: bool, most: int) -> Measured:
    """Order of a method, from runs over the same time with more and more steps, `most` in all.

    The error of a method of order p is C h^p, so two runs differ by C (h^p - h'^p); the power of this difference
    is p after dividing by 1 - (h'/h)^p.
    """
    ratio = min(2.0, 4.0 ** (1.0 / expected))
    counts: list[int] = []
    paths: list[list[State]] = []
    order, count, almost = Measured(math.nan, math.nan), 2.0, False
    while sum(counts) + (n := SAMPLES * max(round(count), 1 + (counts[-1] // SAMPLES if counts else 1))) <= most:
        path = step.path(2 * SAMPLES * longest / n, n, SAMPLES)
        count = max(count * ratio, n / SAMPLES)
        if path is None:
            if paths:
                break
            counts, count = [], 2.0 * n / SAMPLES
            continue
        counts.append(n)
        paths.append(path)
        if len(paths) <= FEWEST_FITTED:
            continue
        apart = np.array([_apart(step, *pair, sizes) for pair in pairwise(paths)])
        order = _order_of(np.array(counts), apart, expected, even=even)
        known = order.error < ENOUGH
        if (known and almost) or apart[-1] <= _noise(n):
            break
        almost = known
    return order


def _apart(step: StepMap, first: list[State], second: list[State], sizes: Array) -> float:
    """Root mean square of the displacements between two paths, in sizes."""
    ways = [step.space.displacement(a, b) / sizes for a, b in zip(first, second, strict=True)]
    return float(np.sqrt(np.mean(np.square(ways))))


def _noise(steps: int | NDArray[np.int64]) -> Array:
    return 4 * EPS * np.sqrt(steps)


def _order_of(counts: NDArray[np.int64], apart: Array, expected: int, *, even: bool) -> Measured:
    order = Measured(float(expected), 0.0)
    for _ in range(8):
        part = 1.0 - (counts[:-1] / counts[1:]) ** order.value
        noise = _noise(counts[1:]) / part
        order = PowerStudy(tuple(1.0 / counts[:-1]), tuple(apart / part), tuple(noise), even).power
        if not math.isfinite(order.value):
            break
    return order


def symplectic_order(step: StepMap, longest: float, sizes: Array, *, expected: int, even: bool) -> Measured:
    """The order up to which a step is symplectic: its defect falls with one power more."""

    def defect(dt: float) -> Measured | None:
        tangent = tangent_of(step, dt, sizes)
        return None if tangent is None else tangent.symplectic_defect()

    power = power_study(defect, longest, expected=expected + 1, even=even).power
    return Measured(power.value - 1.0, power.error)


CLOSE = 1e-3  # difference of a step and two halves of it, in sizes
FAR = 1.5  # largest motion in a step, in sizes of positions at the start, or about in radians


def step_length(step: StepMap, guess: float) -> tuple[float, Array]:
    """A step long enough to show the properties of a method and short enough to work: a power of two times the guess.

    The longest whose two halves end near it, and that moves nothing by much more than its size; and sizes along it.
    """
    at_first = step.space.sizes([step.start.state], nothing=math.inf)
    at_first[step.space.is_momentum()] = math.inf

    def fits(dt: float) -> bool:
        whole, half = step.after(step.start, dt), step.after(step.start, 0.5 * dt, 2)
        if whole is None or half is None or step.distance(step.start, whole, at_first) > FAR:
            return False
        return step.distance(half, whole, step.sizes_along(dt)) < CLOSE

    dt = guess
    while not fits(dt) and dt > guess * 2.0**-40:
        dt *= 0.5
    while dt < guess * 2.0**20 and fits(2.0 * dt):
        dt *= 2.0
    return dt, step.sizes_along(dt)
