"""Equilibria under a growing load, up to where they end or become unstable: `chain.equilibrium_path()`.

The prescribed quantity is not the load f but its work coordinate, X = sum e_j.r_j for the load f e_j, which continues
to grow where the load has its maximum: the bordered matrix [[K, -e], [e^T, 0]] of (x, f) is regular there [keller1977].
If an end is held, its displacement or turn itself is prescribed. Steps are refused if the load does not follow its
slope, or if bodies move too far: a chain has many branches. The critical point is the zero of the lowest eigenvalue of
K: a limit if df/dX = 0, else a bifurcation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...systems.base import Array, State
from ...systems.chain.chain import Chain
from ...systems.numbers import finite_number, finite_numbers
from .equilibrium import Equilibrium, find_equilibrium, state_at
from .poses import Poses, orthogonal, turn_matrices
from .problem import Balance, StaticProblem, load_array, mask_blocks
from .stability import lowest_eigenvalue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...output.page.page import Page

FIRST_STEP = 0.004  # of the length of the chain
LONGEST_STEP = 0.05
SHORTEST_STEP = 1e-9
GROWTH = 1.3
FEWEST_POINTS, MOST_POINTS = 8, 2000
CORRECTIONS = 12
LOAD_ERROR = 0.02  # of the change of the load in a step
LEAST_LOAD = 1e-6  # of the stiffness of a link times its length
MOVED = 4.0  # times the step, plus a part of a link: largest motion of a body
MOVED_LEAST = 0.02
LEVEL = 1e-5  # of the first slope of the load: counts as zero


@dataclass(frozen=True, eq=False)
class Limit:
    """The end of stability: "limit" (the load has its maximum) or "bifurcation" (another branch begins)."""

    kind: Literal["limit", "bifurcation"]
    load: float
    extension: float
    slope: float
    state: State = field(repr=False)

    def __repr__(self) -> str:
        slope = 0.0 if self.kind == "limit" else self.slope  # up to rounding
        return f"{self.kind} at load {self.load:.12g}, extension {self.extension:.12g}, slope {slope:.3g}"


@dataclass(frozen=True, eq=False)
class EquilibriumPath:
    """A sequence of equilibria.

    Attributes
    ----------
    load : (m,) multiples f of the load direction; for a held end, the reaction along its motion
    extension : (m,) displacement on which the load does work, from its beginning; for a held end, how far it was moved or turned
    states : a state for each
    lowest : (m,) lowest eigenvalue omega^2 of each
    limit : where stability ends, or None if the path ends before
    complete : whether the path reaches its end or the limit; otherwise it could not be followed any further
    """

    chain: Chain = field(repr=False)
    load: Array
    extension: Array
    states: tuple[State, ...] = field(repr=False)
    lowest: Array
    limit: Limit | None
    complete: bool = True

    def plot(self, ax: Axes | None = None) -> Axes:
        """Load against extension, with the point where stability ends."""
        from ...output.static_plots import draw_path

        return draw_path(self, ax)

    def view(self, path: str | Path | None = None, *, title: str | None = None) -> Page:
        """A page that steps through the equilibria, for a browser or a notebook.

        Parameters
        ----------
        path : HTML file to write; None: only return the page, which a notebook shows
        title : heading
        """
        from ...output.page.pose_pages import path_page

        page = path_page(self, title)
        if path is not None:
            page.save(path)
        return page

    def __repr__(self) -> str:
        ends = f"load {self.load[0]:.6g} .. {self.load[-1]:.6g}, extension {self.extension[0]:.6g} .. {self.extension[-1]:.6g}"
        end = "stable to its end" if self.complete else "it could not be followed any farther"
        end = end if self.limit is None else repr(self.limit)
        return f"EquilibriumPath: {len(self.load)} equilibria, {ends}\n  {end}"


@dataclass(frozen=True)
class _Point:
    """An equilibrium on the path: its poses, the load, and its slope."""

    balance: Balance
    extension: float
    load: float
    slope: float
    lowest: float
    tangent: Array  # displacements (n, 6) by the extension


def find_path(
    chain: Chain, load_direction: ArrayLike, to: float | None = None, start: State | Equilibrium | None = None
) -> EquilibriumPath:
    """See `Chain.equilibrium_path`."""
    last = None if to is None else finite_number(to, "equilibrium_path.to")
    if last is not None and last <= 0.0:
        raise InputError(
            f"to = {last:g}", where="equilibrium_path.to", do="give a positive number; turn the direction round"
        )
    if start is not None:
        state_at(chain, start, "equilibrium_path.start")
    begin = start if isinstance(start, Equilibrium) else find_equilibrium(chain, start)
    if not begin.converged:
        raise InputError(
            f"the path has no stable equilibrium to begin with: {begin.status}", where="equilibrium_path.start",
            do="give a start nearer to one",
        )  # fmt: skip
    control = _control(chain, load_direction, begin)
    return _Path(control, last).follow()


def limit_of_load(chain: Chain, forces: Array, start: State) -> Limit | None:
    """The end of stability as the forces, except those at zero load, grow in proportion; None if they can be borne."""
    if not forces.any():
        return None
    bare = StaticProblem(chain, np.zeros_like(forces))
    from .equilibrium import solve

    begin = solve(bare, Poses.of_state(chain, start))
    if not begin.converged:
        return None
    return _Path(_LoadControl(chain, forces, begin), 1.0).follow().limit


def _control(chain: Chain, direction: ArrayLike, begin: Equilibrium) -> _Control:
    given = np.asarray(direction)
    where = "equilibrium_path.load_direction"
    if given.shape == (chain.count, 3) or (given.shape == (3,) and chain.right.moves):
        loads = load_array(chain, direction, where)
        if not loads.any():
            raise InputError("no direction", where=where, do="give a vector other than zero")
        return _LoadControl(chain, loads, begin)
    motion = finite_numbers(direction, (3,), (6,), where=where)
    if chain.right.moves or (len(motion) == 6 and chain.right.turns):
        raise InputError(
            f"the right end is {chain.right}: it cannot be moved or turned like that", where=where,
            do="clamp it to turn it, clamp or displace it to move it",
        )  # fmt: skip
    screw = motion if len(motion) == 6 else np.concatenate([np.zeros(3), motion])
    if not screw.any():
        raise InputError("no direction", where=where, do="give a vector other than zero")
    return _EndControl(chain, screw, begin)


class _Control(ABC):
    """The quantity prescribed along a path, and the solver for the equilibrium; in `unit_length`."""

    unit: float  # of the extension
    reach: float  # largest motion of the bodies by extension, if they follow
    least_load: float

    def __init__(self, chain: Chain, begin: Equilibrium) -> None:
        self.chain, self.begin = chain, begin
        self.poses = Poses.of_state(chain, begin.state)
        lengths = np.linalg.norm(self.poses.d, axis=1)
        self.length, self.whole = float(np.median(lengths)), float(lengths.sum())
        self.problem = StaticProblem(chain, begin.forces)
        balance = self.problem.balance(self.poses)
        self.least_load = LEAST_LOAD * float(np.abs(balance.values.stiffness).max()) * self.length

    def correct(self, before: _Point | None, extension: float) -> _Point | None:
        """The equilibrium at this extension near a known one, or None if Newton's method does not find it."""
        best: tuple[Balance, float] | None = None
        poses, load = self._predict(before, extension)
        for _ in range(CORRECTIONS):
            problem = self._problem(load)
            balance = problem.balance(poses)
            error = balance.residual + abs(self._missing(poses, extension)) * self.least_load / self.unit
            if not np.isfinite(error):
                return None
            if best is not None and error >= best[0].residual and best[0].residual <= problem.attainable(balance):
                break
            best = balance, load
            try:
                x, change, _, _ = self._newton(problem, balance, self._missing(poses, extension))
            except RuntimeError:  # singular
                return None
            poses, load = self._move(poses, x), load + change
        else:
            return None
        return self._point(*best, extension)

    def _point(self, balance: Balance, load: float, extension: float) -> _Point:
        problem = self._problem(load)
        _, _, tangent, slope = self._newton(problem, balance, 0.0)
        lowest = lowest_eigenvalue(problem, balance)
        return _Point(balance, extension, self._load(balance, load), slope, lowest, tangent)

    @abstractmethod
    def _problem(self, load: float) -> StaticProblem:
        """The chain under this load."""

    @abstractmethod
    def _predict(self, before: _Point | None, extension: float) -> tuple[Poses, float]:
        """Starting poses and load, predicted from the previous point."""

    def _missing(self, poses: Poses, extension: float) -> float:
        return 0.0

    def _load(self, balance: Balance, load: float) -> float:
        return load

    def _move(self, poses: Poses, xi: Array) -> Poses:
        root = self._problem(0.0).root
        return poses.displaced(xi) if root is None else poses.strained(xi, root=root)

    @abstractmethod
    def _newton(self, problem: StaticProblem, balance: Balance, missing: float) -> tuple[Array, float, Array, float]:
        """Corrections of displacements and load; derivatives of displacements and load by the extension."""


class _LoadControl(_Control):
    """Forces f e_j; X = sum e_j.r_j is prescribed, f follows."""

    def __init__(self, chain: Chain, loads: Array, begin: Equilibrium) -> None:
        super().__init__(chain, begin)
        loads = self.problem.unit * loads
        self.loads, self.fixed = loads, self.problem.forces
        self.origin = float((loads * self.poses.position).sum())
        size = float(np.linalg.norm(loads, axis=1).sum())
        self.unit, self.reach, self.least_load = size * self.whole, 1.0 / size, self.least_load / size

    def _problem(self, load: float) -> StaticProblem:
        return self.problem.under(self.fixed + load * self.loads)

    def _predict(self, before: _Point | None, extension: float) -> tuple[Poses, float]:
        if before is None:
            return self.poses, 0.0
        step = extension - before.extension
        return self._move(before.balance.poses, step * before.tangent), before.load + before.slope * step

    def _missing(self, poses: Poses, extension: float) -> float:
        return extension - (float((self.loads * poses.position).sum()) - self.origin)

    def _newton(self, problem: StaticProblem, balance: Balance, missing: float) -> tuple[Array, float, Array, float]:
        poses, n = balance.poses, self.chain.count
        free = problem.gauge(poses)
        wrench = None if problem.root is None else problem.wrenches(poses)
        blocks = mask_blocks(*problem.blocks(balance, wrench=wrench), free)
        pull = np.zeros((n, 6))
        pull[:, :3] = np.einsum("nji,nj->ni", poses.matrices, self.loads)
        pull = np.where(free, pull, 0.0)
        sides = np.zeros((2, 6 * n + 1))
        sides[0, :-1] = -np.where(free, balance.gradient, 0.0).ravel()
        sides[:, -1] = missing, 1.0
        found = _solve(*blocks, sides, border=pull.ravel())
        return found[0, :-1].reshape(n, 6), float(found[0, -1]), found[1, :-1].reshape(n, 6), float(found[1, -1])


class _EndControl(_Control):
    """The last body is moved along, or rotated about, a direction in space; the load is the reaction to that."""

    def __init__(self, chain: Chain, screw: Array, begin: Equilibrium) -> None:
        super().__init__(chain, begin)
        self.turn, self.shift = screw[:3], screw[3:] / self.problem.unit
        shift, turn = float(np.linalg.norm(self.shift)), float(np.linalg.norm(self.turn))
        links = len(self.poses.d)
        self.unit = min(self.whole / shift if shift else np.inf, links / turn if turn else np.inf)
        self.reach = shift + 0.5 * turn * self.whole
        self.least_load = self.least_load * max(shift, turn * self.length)

    def _problem(self, load: float) -> StaticProblem:
        return self.problem

    def _predict(self, before: _Point | None, extension: float) -> tuple[Poses, float]:
        poses = self.poses
        if before is not None:
            poses = before.balance.poses.displaced((extension - before.extension) * before.tangent)
        matrix = orthogonal(turn_matrices(extension * self.turn) @ self.poses.matrices[-1])
        if self.chain.right.turns:
            matrix = poses.matrices[-1]
        return poses.with_last(self.poses.position[-1] + extension * self.shift, matrix), 0.0

    def _move(self, poses: Poses, xi: Array) -> Poses:
        return poses.displaced(xi)

    def _load(self, balance: Balance, load: float) -> float:
        return float(balance.gradient[-1] @ self._motion(balance.poses))

    def _motion(self, poses: Poses) -> Array:
        return np.concatenate([poses.matrices[-1].T @ self.shift, poses.matrices[-1].T @ self.turn])

    def _newton(self, problem: StaticProblem, balance: Balance, missing: float) -> tuple[Array, float, Array, float]:
        """K x = -g, and the response of the chain to its end."""
        n, free = self.chain.count, problem.gauge(balance.poses)
        diagonal, right = problem.blocks(balance)
        end = np.where(free[-1], 0.0, self._motion(balance.poses))
        sides = np.zeros((2, n, 6))
        sides[0] = -balance.gradient
        sides[1, -2:] = -(right[-1] @ end), -(diagonal[-1] @ end)
        kept = np.where(free, sides, 0.0).reshape(2, -1)
        correction, tangent = _solve(*mask_blocks(diagonal, right, free), kept).reshape(2, n, 6)
        tangent[-1] += end
        change = diagonal[-1] @ tangent[-1] + right[-1].T @ tangent[-2]
        return correction, 0.0, tangent, float(change @ end)


def _solve(diagonal: Array, right: Array, sides: Array, border: Array | None = None) -> Array:
    """Solutions x of K x = sides, each a row; with a border, of [[K, -b], [b^T, 0]] (x, f) = sides."""
    from scipy.sparse import coo_array, csc_array
    from scipy.sparse.linalg import splu

    n = len(diagonal)
    k = np.arange(6 * n).reshape(n, 6)
    left = k[: len(right)]
    beside = np.roll(k, -1, axis=0)[: len(right)]
    rows, columns, values = [], [], []
    for a, b, blocks in ((k, k, diagonal), (left, beside, right), (beside, left, right.swapaxes(1, 2))):
        rows.append(np.broadcast_to(a[:, :, None], blocks.shape).ravel())
        columns.append(np.broadcast_to(b[:, None], blocks.shape).ravel())
        values.append(blocks.ravel())
    if border is not None:
        at = np.flatnonzero(border)
        last = np.full(len(at), 6 * n)
        rows, columns, values = [*rows, at, last], [*columns, last, at], [*values, -border[at], border[at]]
    size = 6 * n + (border is not None)
    places = np.concatenate(rows), np.concatenate(columns)
    return splu(csc_array(coo_array((np.concatenate(values), places), (size, size)))).solve(sides.T).T


class _Path:
    """Follows the path step by step."""

    def __init__(self, control: _Control, last: float | None) -> None:
        self.control, self.last = control, last
        self.points: list[_Point] = []

    def follow(self) -> EquilibriumPath:
        """Continue to the requested end, or until stability ends."""
        control = self.control
        first = control.correct(None, 0.0)
        if first is None:
            raise InputError(
                "something of the chain moves at no cost: no load makes a path of equilibria",
                where="equilibrium_path", do="hold it, or give its links stiffness",
            )  # fmt: skip
        self.points.append(first)
        step, limit = FIRST_STEP * control.unit, None
        while len(self.points) < MOST_POINTS and step > SHORTEST_STEP * control.unit:
            here = self.points[-1]
            step = min(step, self._to_end(here))
            found = control.correct(here, here.extension + step)
            if found is None or not self._follows(here, found, step):
                step *= 0.5
                continue
            if found.lowest < 0.0:
                limit = self._critical(here, found)
                self._fill(limit)
                break
            if self._is_beyond(found):
                self.points.append(self._at_load(found))
                break
            self.points.append(found)
            step = min(GROWTH * step, LONGEST_STEP * control.unit)
        return self._make(limit)

    def _fill(self, limit: Limit) -> None:
        """Add some points before a limit that the first steps have passed."""
        if len(self.points) >= FEWEST_POINTS:
            return
        for extension in np.linspace(self.points[-1].extension, limit.extension, FEWEST_POINTS)[1:-1]:
            found = self.control.correct(self.points[-1], float(extension))
            if found is not None and found.lowest > 0.0:
                self.points.append(found)

    def _to_end(self, here: _Point) -> float:
        """The step to the requested end."""
        if self.last is None:
            return np.inf
        if isinstance(self.control, _EndControl):
            return self.last - here.extension
        missing = self.last - here.load
        return missing / here.slope if here.slope > 0.0 else np.inf

    def _is_beyond(self, here: _Point) -> bool:
        if self.last is None:
            return False
        reached = here.extension if isinstance(self.control, _EndControl) else here.load
        return reached >= self.last * (1.0 - 1e-12)

    def _at_load(self, here: _Point) -> _Point:
        """The point at exactly the requested load, from one near it."""
        if isinstance(self.control, _EndControl) or self.last is None:
            return here
        for _ in range(CORRECTIONS):
            if abs(here.load - self.last) <= 1e-13 * self.last:
                break
            found = self.control.correct(here, here.extension + (self.last - here.load) / here.slope)
            if found is None:
                break
            here = found
        return here

    def _follows(self, here: _Point, found: _Point, step: float) -> bool:
        """Whether this is the same branch: the load follows its slope, and no body jumps."""
        control = self.control
        moved = np.linalg.norm(found.balance.poses.position - here.balance.poses.position, axis=1).max()
        if moved > MOVED * control.reach * step + MOVED_LEAST * control.length:
            return False
        error = abs(found.load - here.load - 0.5 * (here.slope + found.slope) * step)
        return bool(error <= LOAD_ERROR * abs(here.slope * step) + control.least_load)

    def _critical(self, stable: _Point, unstable: _Point) -> Limit:
        """The point between two others at which the lowest eigenvalue is zero."""
        from scipy.optimize import brentq

        known = {stable.extension: stable, unstable.extension: unstable}

        def lowest(extension: float) -> float:
            if extension not in known:
                below = max(x for x, point in known.items() if x <= extension and point.lowest > 0.0)
                found = self.control.correct(known[below], extension)
                if found is None:
                    raise ArithmeticError
                known[extension] = found
            return known[extension].lowest

        with suppress(ArithmeticError):  # as near to a singular matrix as Newton's method gets
            brentq(lowest, stable.extension, unstable.extension, xtol=1e-16 * self.control.unit, rtol=1e-14)
        return self._limit(min(known.values(), key=lambda point: abs(point.lowest)))

    def _limit(self, point: _Point) -> Limit:
        first = self.points[0].slope
        level = abs(point.slope) <= LEVEL * abs(first)
        state = point.balance.poses.state(self.control.chain)
        return Limit("limit" if level else "bifurcation", point.load, point.extension, point.slope, state)

    def _make(self, limit: Limit | None) -> EquilibriumPath:
        points, chain = self.points, self.control.chain
        load, extension, lowest = (
            np.array([getattr(point, name) for point in points]) for name in ("load", "extension", "lowest")
        )
        states = tuple(point.balance.poses.state(chain) for point in points)
        complete = limit is not None or self._is_beyond(points[-1])
        return EquilibriumPath(chain, load, extension, states, lowest, limit, complete)
