"""The result of a run: samples, invariants, sections, events, final state, audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic

import numpy as np

from ..engine.looks import find_deviation, unseen, usual_size
from ..errors import InputError, StoreError
from ..methods.base import Method
from ..store import Checkpoint, is_empty, read_attributes, read_checkpoint, read_spec, refuse_foreign, remedy, verify
from ..systems.base import Invariant, Moved, Samples, State, System
from ..text.plain import Json
from .auditing import Audit, Sizes, assess
from .happened import Happening, Happenings, damage_lines
from .origin import Origin, changes, origins_in
from .plan import Plan, positive_integer
from .streams import control_columns, crossing_columns, streams_of
from .thermal import canonical_of, why_no_law
from .trust import check_run, run_of

if TYPE_CHECKING:
    import xarray
    from numpy.typing import ArrayLike

    from ..analysis.averages import Average
    from ..engine.build import Program
    from ..output.page.page import Page
    from ..output.plots import RunPlots
    from .accuracy import PathError

VERIFIED_BYTES = 2**28  # larger stores are not verified when they are opened, but when they are read


class Run(ABC, Generic[Moved]):
    """A run, finished or not. `data`, `final`, `sections` and `events` hold its results; `audit` judges it."""

    plan: Plan[Moved]
    steps: int
    ending: Mapping[str, Json]
    origins: tuple[Origin, ...] = ()  # what computed it, if it is stored
    path: Path | None = None  # of its store
    _program: Program | None = None  # if this process made the run

    def __init__(
        self, plan: Plan[Moved], steps: int, arrays: Mapping[str, np.ndarray], ending: Mapping[str, Json]
    ) -> None:
        self.plan = plan
        self.steps = steps
        self.ending = dict(ending)
        self._z = np.asarray(arrays["z"])
        self._scale = np.asarray(arrays["scale"])
        self._looks = np.asarray(arrays.get("looks", unseen(len(self._scale))))  # older stores have none
        self._carry = np.asarray(arrays["carry"])

    @property
    def system(self) -> Moved:
        """The system of the run."""
        return self.plan.system

    @property
    def method(self) -> Method:
        """The method of the run."""
        return self.plan.method

    @property
    def counts(self) -> dict[str, int]:
        """Counts of the method: for implicit methods `sweeps` of the iteration, and `newton_steps`, steps that needed Newton's method."""
        return self.method.counts(self._carry)

    @property
    def doubt(self) -> str:
        """Why averages along the run mean nothing, such as hardly any accepted trajectory; usually empty."""
        return self.method.doubt(self._carry)

    @cached_property
    def final(self) -> State:
        """The state after the last step."""
        view = self.plan.pairing.view
        return view.unpack(view.stepped(self._z), float(self.plan.times(self.steps)))

    @cached_property
    def data(self) -> xarray.Dataset:
        """The samples: the fields and invariants along `time`; lazy when the run is stored."""
        return self._dataset("", "time")

    @cached_property
    def sections(self) -> dict[str, xarray.Dataset]:
        """The crossings of each section, by name."""
        return {s.name: self._dataset(f"section_{s.name}_", f"crossing_{s.name}") for s in self.plan.sections}

    @cached_property
    def control(self) -> xarray.Dataset | None:
        """What the controller returned: `torque` (control, motor) from each `time` on; None without a controller."""
        return None if self.plan.control is None else self._dataset("control_", "control")

    @cached_property
    def events(self) -> Happenings:
        """Events in order of time: those that were asked for, and those that the samples show, such as a torn link."""
        happened = []
        if self.plan.events:
            table = self._dataset("event_", "event").load()
            for row in (table.isel(event=i) for i in range(table.sizes["event"])):
                happened.append(Happening(self._event(float(row.which)), float(row.time), self._names_defined_in(row)))
        for sample, grave in self._grave:
            data = self._names_defined_in(self.data.isel(time=sample)) | grave.data
            happened.append(grave._replace(data=data))
        return Happenings(sorted(happened, key=lambda h: h.time))

    def _names_defined_in(self, row: xarray.Dataset) -> dict[str, np.ndarray]:
        """The fields and invariants in one row."""
        return {field.name: row[field.name].values for field in (*self.system.fields, *self.system.invariants)}

    def _event(self, which: float) -> str:
        """Name of an event by its number; a store may hold any number."""
        if which not in range(len(self.plan.events)):
            raise StoreError(
                f"event_which = {which} is no event of this run", where="events", do="do not trust this store"
            )
        return self.plan.events[int(which)].name

    @cached_property
    def _grave(self) -> list[tuple[int, Happening]]:
        """Events that the samples themselves show, with the number of the first sample that shows them."""
        if type(self.system).happenings is System.happenings:
            return []  # without reading the samples
        with np.errstate(over="ignore", invalid="ignore"):  # a run that blew up
            return [
                (sample, Happening(name, time, more, ", ".join(f"{k} {v}" for k, v in more.items()), grave=True))
                for name, time, sample, more in self.system.happenings(self._samples())
            ]

    @property
    def changes(self) -> tuple[str, ...]:
        """The steps from which another program or another machine computed it, in a few lines; usually none."""
        return changes(self.origins)

    @cached_property
    def damage(self) -> tuple[str, ...]:
        """Events that change the meaning of the run, such as a torn link, in a few lines."""
        return tuple(damage_lines(sorted((grave for _, grave in self._grave), key=lambda h: h.time)))

    def _samples(self) -> Samples:
        """The samples by name, in the cheapest form available."""
        return self.data

    def audit(self, *, probe: bool | None = None) -> Audit:
        """Promised against measured, one row per invariant, and events that change the meaning of the run.

        In a heat bath, `audit.canonical` compares averages with the laws of the temperature, see
        `catena.running.auditing.canonical`.

        Parameters
        ----------
        probe : whether to compare an error that is not small with what the order of the method predicts, see
            `catena.running.probing`: this repeats up to 5 % of the steps of the run, with half the step. None: only if this process
            made the run; for a run that was opened nothing is computed
        """
        samples = self._samples()
        time = np.asarray(samples["time"])
        promises = self.plan.pairing.promises
        promised, judged = promises.kept, promises.judged(self.system.invariants)
        rows, doubtful, first = [], [], 0
        for invariant in self.system.invariants:
            part = slice(first, first + invariant.width)
            first += invariant.width
            if invariant not in judged:
                continue
            values = np.asarray(samples[invariant.name]).reshape(len(time), -1)
            sizes = self._sizes(values, part)
            row = assess(
                invariant.name, time, values[:, 0] if invariant.shape == () else values, steps=self.steps,
                scale=float(self._scale[part].max()), promised=promised[invariant.name],
                rows=len(judged), continuous=invariant.continuous, sizes=sizes,
            )  # fmt: skip
            rows.append(row)
            if invariant.continuous and row.verdict in ("too short", "bounded", "drifts") and sizes.doubtful:
                doubtful.append(invariant)
        large = self._beyond_order(doubtful, probe) if doubtful else []
        rows = [replace(row, verdict="large") if row.quantity in large else row for row in rows]
        failed = [f"failed in step {self.ending['failed_at']}"] if "failed_at" in self.ending else []
        stopped = [str(self.ending["reason"])] if "stopped_by" in self.ending else []
        canonical = canonical_of(self.plan.pairing, samples)
        remarks = [remark for remark in (why_no_law(self.plan.pairing), self.doubt) if remark]
        return Audit(
            tuple(rows), (*self.damage, *failed), (*stopped, *self.changes, *remarks),
            canonical.doubted if self.doubt else canonical,
            random=promises.traits.random,
        )  # fmt: skip

    def _beyond_order(self, doubtful: Sequence[Invariant], probe: bool | None) -> list[str]:
        """Names of the invariants whose error is not what the order of the method predicts."""
        from .probing import beyond_order

        if probe is False or (probe is None and self._program is None):
            return []
        return beyond_order(self, self._program or self.plan.program(), doubtful)

    def _sizes(self, values: np.ndarray, part: slice) -> Sizes:
        """What is known, beside its samples (n, k), of the size of the invariant in these columns."""
        looks, start = self._looks[:, part], values[0]
        with np.errstate(over="ignore", invalid="ignore"):  # a run that blew up
            worst = np.abs(values - start).max(axis=0)
        return Sizes(
            find_deviation(worst, start, looks), float(usual_size(looks, self._scale[part]).max()), self.system.parts
        )

    def error(self, *, t_end: float | None = None) -> PathError:
        """How accurate the path is, measured by further runs with half and with twice the step; see `catena.running.accuracy.path_error`.

        Parameters
        ----------
        t_end : time up to which the path is checked (to the last sample before it); the end of the run if None
        """
        from .accuracy import path_error

        return path_error(self, t_end=t_end)

    def spectrum(self, name: str) -> xarray.DataArray:
        """Power spectral density of a field or invariant; see `catena.analysis.spectrum`."""
        from ..analysis.spectrum import spectrum

        return spectrum(self, name)

    def average(self, quantity: str | ArrayLike, *, after: float | None = None) -> Average:
        """The mean of a quantity along the run, with an error that accounts for correlation in time.

        Parameters
        ----------
        quantity : text in the names of the state, the invariants and what the method records, such as "q1**2" or
            "body_temperature[3]"; or a number for each sample
        after : time from which samples count; None: all but the first fifth of the run

        Returns
        -------
        Average, with `mean`, `error`, `effective` (number of independent samples with that error) and `correlation_time`

        Examples
        --------
        >>> import catena as ct
        >>> spring = ct.Hamiltonian("p**2/2 + q**2/2")
        >>> run = ct.simulate(spring, spring.start(q=0.0, p=0.0), ct.Langevin(2.0, friction=1.0, seed=7), dt=0.5, steps=20_000, every=10)
        >>> energy = run.average("q**2/2")
        >>> bool(abs(energy.mean - 1.0) < 4 * energy.error), energy.error < 0.06
        (True, True)

        References
        ----------
        [geyer1992]
        """
        from ..analysis.averages import average

        return average(self, quantity, after=after)

    def autocorrelation(
        self, quantity: str | ArrayLike, lags: int | None = None, *, after: float | None = None
    ) -> xarray.Dataset:
        """Autocorrelation of a quantity about its mean: `correlation`, `error` and `covariance` along `lag`, a time.

        Parameters
        ----------
        quantity, after : as for `average`
        lags : number of lags; the first is 0, the others are whole numbers of samples. At most a fortieth of the samples; None: 101,
            or fewer
        """
        from ..analysis.averages import autocorrelation

        return autocorrelation(self, quantity, lags, after=after)

    def histogram(
        self,
        quantity: str | ArrayLike,
        bins: int = 50,
        range: tuple[float, float] | None = None,
        *,
        after: float | None = None,
    ) -> xarray.Dataset:
        """Density of a quantity in bins of equal width: `density` and `error` along `value`, the middle of the bins.

        Parameters
        ----------
        quantity, after : as for `average`
        bins, range : number of bins, and their range; over all values if None
        """
        from ..analysis.averages import histogram

        return histogram(self, quantity, bins, range, after=after)

    def free_energy(
        self,
        quantity: str | ArrayLike,
        bins: int = 50,
        range: tuple[float, float] | None = None,
        *,
        after: float | None = None,
    ) -> xarray.Dataset:
        """Free energy along a coordinate, -kT log(density): `free_energy`, 0 at its minimum, and `error` along `value`.

        If barriers keep one run from visiting all states, bias several runs and use `ct.free_energy`.

        Parameters
        ----------
        quantity, bins, range, after : as for `histogram`
        """
        from ..analysis.averages import free_energy, require_temperature

        require_temperature(self)
        return free_energy(self, self.histogram(quantity, bins, range, after=after))

    @property
    def plot(self) -> RunPlots:
        """Pictures of the run."""
        from ..output.plots import RunPlots

        return RunPlots(self)

    def view(self, path: str | Path | None = None, *, title: str | None = None, frames: int | None = None) -> Page:
        """A page that shows the run in a browser, or in a notebook; see `catena.output.page.page.page_of`.

        Parameters
        ----------
        path : HTML file to write; None: only return the page, which a notebook shows
        title : heading; by default the system
        frames : largest number of samples to show, 2000 if None; if there are more, every k-th is shown, and the page says so
        """
        from ..output.page.page import page_of

        page = page_of(self, title=title, frames=frames)
        if path is not None:
            page.save(path)
        return page

    def movie(self, path: str | Path, *, seconds: float = 10.0, fps: int = 30) -> Path:
        """Write a film of the run: the bodies in space, or the path of a Hamiltonian.

        Parameters
        ----------
        path : a file that ends with .mp4, which needs ffmpeg (the extra `movie` installs it), or with .gif
        seconds : longest duration; samples are left out if there are too many
        fps : frames per second
        """
        from ..output.movie import movie

        return movie(self, path, seconds=seconds, fps=fps)

    def export(self, path: str | Path, format: str | None = None) -> Path:
        """Write the run for other programs, in the format of the suffix; see `catena.output.export.exporting.export`."""
        from ..output.export.exporting import export

        return export(self, path, format)

    def _repr_html_(self) -> str:
        from ..output.page.facts import facts_table

        return facts_table(self)

    def __repr__(self) -> str:
        newton = self.counts.get("newton_steps", 0)
        by = f", {newton} of them by Newton" if newton else ""
        end = f", {self.ending['reason']}" if "reason" in self.ending else ""
        damage = "".join(f"; {line}" for line in (*self.damage, *self.changes))
        return f"Run({self.system.title}, {self.method}, dt={self.plan.dt:g}, {self.steps} steps{by}{end}{damage})"

    @abstractmethod
    def _dataset(self, prefix: str, dim: str) -> xarray.Dataset: ...


class MemoryRun(Run[Moved]):
    """A run whose samples are in memory."""

    def __init__(
        self,
        plan: Plan[Moved],
        steps: int,
        arrays: Mapping[str, np.ndarray],
        rows: np.ndarray,
        crossings: np.ndarray,
        ending: Mapping[str, Json],
        control: np.ndarray | None = None,
    ) -> None:
        super().__init__(plan, steps, arrays, ending)
        self._rows = rows
        self._crossings = crossings
        self._control = np.zeros((0, 1)) if control is None else control

    def _samples(self) -> dict[str, np.ndarray]:
        times = self.plan.times(np.arange(len(self._rows)) * self.plan.every)
        return {"time": times} | self.plan.pairing.columns(self._rows)

    def _dataset(self, prefix: str, dim: str) -> xarray.Dataset:
        import xarray

        columns: Mapping[str, np.ndarray]
        if prefix == "control_":
            columns = control_columns(self._control)
        else:
            columns = crossing_columns(self.plan, self._crossings)[prefix] if prefix else self._samples()
        stream = next(s for s in streams_of(self.plan) if s.dim == dim)
        return xarray.Dataset(
            {
                column.name.removeprefix(prefix): ((dim, *column.dims), columns[column.name], column.attributes)
                for column in stream.columns
            }
        )


class StoredRun(Run[System]):
    """A run whose samples are in a store; they are read when they are used."""

    path: Path

    def __init__(
        self, path: Path, plan: Plan, checkpoint: Checkpoint, *, planned_steps: int, origins: tuple[Origin, ...]
    ) -> None:
        self.path, self.planned_steps, self.origins = path, planned_steps, origins
        self.finished = checkpoint.finished
        super().__init__(plan, checkpoint.step, checkpoint.arrays, checkpoint.head)

    @classmethod
    def opened(cls, path: str | Path, plan: Plan | None = None) -> StoredRun:
        """Read and check a store; its plan is made from it, unless this process wrote it and gives the plan."""
        path = Path(path)
        spec = read_run_spec(path)
        _, checkpoint = read_store(path)
        if plan is None:
            plan, steps = run_of(path)
        else:
            steps = positive_integer(spec["steps"], "steps")
        check_run(path, plan, checkpoint)
        origins = origins_in(read_attributes(path), checkpoint.head, path=path)
        return cls(path, plan, checkpoint, planned_steps=steps, origins=origins)

    @property
    def planned(self) -> int:
        """Number of steps to make, as planned or as extended later."""
        steps = self.ending.get("steps")
        return steps if isinstance(steps, int) else self.planned_steps

    @cached_property
    def _all(self) -> xarray.Dataset:
        from ..store.arrays import open_arrays

        return open_arrays(self.path)

    def _samples(self) -> Samples:
        from ..store.columns import open_columns

        return open_columns(self.path)

    def _dataset(self, prefix: str, dim: str) -> xarray.Dataset:
        names = [str(name) for name, array in self._all.variables.items() if dim in array.dims]
        return self._all[names].rename({name: name.removeprefix(prefix) for name in names if prefix})


def read_run_spec(path: str | Path) -> Mapping[str, Json]:
    """The description with which a stored run was created; InputError if it is an ensemble."""
    spec = read_spec(path)
    if "ensemble" in spec:
        raise InputError(
            "this is a stored ensemble, not a run",
            where=str(path),
            do="use `catena info`, `plot` or `resume`, which take both, or ct.open(path) in Python",
        )
    return spec


def read_store(path: Path) -> tuple[Mapping[str, Json], Checkpoint]:
    """Description and checkpoint of a store; StoreError if it is damaged, or has no checkpoint yet."""
    spec, checkpoint = read_begun_store(path)
    if checkpoint is None:
        raise StoreError(
            "nothing has been recorded yet", where=str(path), do="resume the run, or open it a second later"
        )
    return spec, checkpoint


def read_begun_store(path: Path) -> tuple[Mapping[str, Json], Checkpoint | None]:
    """The same; None before the first commit that readers can see."""
    spec = read_spec(path)
    refuse_foreign(path)
    checkpoint = read_checkpoint(path)
    if checkpoint is None or is_empty(path):
        return spec, None
    problems = verify(path, most_bytes=VERIFIED_BYTES)
    if problems:
        raise StoreError(
            f"the store is damaged: {problems[0]}" + (f" (and {len(problems) - 1} more)" if problems[1:] else ""),
            where=str(path), do=remedy(problems),
        )  # fmt: skip
    return spec, checkpoint


def open_run(path: str | Path) -> Run:
    """Open a stored run, finished, interrupted or still running.

    Raises
    ------
    StoreError : it is not a run store, of another format, or damaged
    InputError : it is an ensemble
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"{path!r} is not a path", where="open", do="give the directory of a stored run")
    return StoredRun.opened(path)
