"""The results of an ensemble, in memory or stored: states, samples, failures, audit.

In both cases they are a set of columns along `member`, see `columns_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.block import Members
from ...errors import InputError, StepFailure
from ...kernels.declarations import cut
from ...kernels.views import OK
from ...methods.base import Method
from ...store import Column, Stream, read_attributes
from ...systems.base import Array, Field, System
from ...systems.maxwell import MOMENTA
from ..auditing import Canonical, Series, Sizes, judge_members
from ..origin import Origin, changes, origins_in
from ..runs import read_begun_store
from ..simulation import explain
from ..thermal import is_lawful, laws_of_members, momenta_of_members, of_ladders, why_no_law
from .auditing import EnsembleAudit, assess_members
from .batch import Batch
from .grids import Grid
from .job import Job
from .reductions import Reductions, dims_of
from .tempering import Tempering

if TYPE_CHECKING:
    import xarray

    from ...output.ensemble_plots import EnsemblePlots

MEASURED = ("worst", "seen", "lasting", "drift", "drift_error", "jump")  # of each number of an invariant

OLDER = {"seen": "worst", "lasting": "worst", "usual": "scale"}  # columns of older stores that stand in for these


def streams_of(job: Job) -> tuple[Stream, ...]:
    """The columns along `member`, and the times of the samples, if they are kept."""
    times = Column("time", attributes={"long_name": "time"})
    recorded = [Column(f.name, f.shape, f.dims, {"long_name": f.about or f.name}) for f in job.pairing.recorded]
    defined = recorded[: len(job.system.fields) + len(job.system.invariants)]  # functions of the state alone

    def named(prefix: str) -> list[Column]:
        return [Column(prefix + c.name, c.shape, c.dims, c.attributes) for c in (times, *defined)]

    columns = named("start_") + (named("final_") if job.keep != "nothing" else [])
    columns.append(Column("status", attributes={"long_name": "0, or the code of the failure"}))
    columns.append(Column("steps", attributes={"long_name": "steps made"}))
    columns += [Column(name, attributes={"long_name": about}) for name, about in _differing(job).items()]
    columns += reduce_columns(job)
    for f in job.system.invariants:
        for what, about in (
            ("worst", "largest deviation in the samples"), ("seen", "largest deviation in the samples or between them"),
            ("lasting", "mean over blocks of the magnitude of the mean deviation"), ("drift", "drift per time"),
            ("drift_error", "error of the drift"), ("jump", "largest jump"),
        ):  # fmt: skip
            columns.append(
                Column(f"{f.name}_{what}", f.shape, f.dims, {"long_name": f"{about} of {f.about or f.name}"})
            )
        columns.append(Column(f"{f.name}_scale", attributes={"long_name": "largest of the terms that make it up"}))
        columns.append(
            Column(f"{f.name}_usual", attributes={"long_name": "mean over time of the largest of these terms"})
        )
    columns += [
        Column(f"{f.name}_halves", (2, *f.shape), ("half", *f.dims), {"long_name": f"{f.about or f.name}, mean over each half of what follows the first fifth"})
        for f in job.pairing.stepper.accounts
    ]  # fmt: skip
    if not job.kept_rows:
        return (Stream("members", "member", tuple(columns)),)
    columns += [Column(c.name, (job.rows, *c.shape), ("time", *c.dims), c.attributes) for c in recorded]
    return Stream("members", "member", tuple(columns)), Stream("times", "time", (times,), fixed=job.rows)


def _differing(job: Job) -> dict[str, str]:
    """Columns of the numbers in which members differ beside their starts."""
    found = {"kind": "number of the system, see `systems`, and of the method, see `methods`"} if job.kinds else {}
    if job.tempering is not None:
        found |= {"temperature": "temperature", "exchanged": "exchanges with the next temperature that were accepted"}
    return found | ({"dt": "step"} if job.own_dt else {})


def reduce_columns(job: Job) -> list[Column]:
    """The columns of the reductions."""
    made = job.reductions.columns(job.reductions.first()[None])
    return [Column(name, values.shape[1:], dims_of(name, values), {"long_name": name}) for name, values in made.items()]


def names_that_come_out(job: Job) -> set[str]:
    """Names and dimensions of all results of a member except reductions, in the store or in a Dataset made from it."""
    streams = streams_of(replace(job, reductions=Reductions()))
    recorded: list[Column | Field] = [
        *(column for stream in streams for column in stream.columns),
        *job.pairing.recorded,
    ]
    dims = {dim for column in recorded for dim in column.dims}
    return {"member", "time", "failure", *dims, *(column.name for column in recorded)}


def older_streams_of(job: Job) -> tuple[Stream, ...]:
    """The same without the columns that older stores lack."""
    lacks = {f"{invariant.name}_{what}" for invariant in job.system.invariants for what in OLDER}
    return tuple(
        replace(stream, columns=tuple(column for column in stream.columns if column.name not in lacks))
        for stream in streams_of(job)
    )


def columns_of(job: Job, members: Members, batch: Batch) -> dict[str, Array]:
    """The columns along `member` of a batch of these members."""
    system, times = job.system, members.t0
    columns = {f"start_{name}": values for name, values in system.columns(batch.start).items()}
    columns["start_time"] = times
    if job.keep != "nothing":
        columns |= {f"final_{name}": values for name, values in system.columns(batch.final).items()}
        columns["final_time"] = times + batch.made * members.dt
    columns["status"], columns["steps"] = batch.status.astype(float), batch.made.astype(float)
    differing = {"kind": members.kinds.astype(float), "dt": members.dt, "exchanged": batch.exchanged}
    if job.tempering is not None:
        differing["temperature"] = np.array(job.tempering.temperatures)[members.numbers % job.unit]
    columns |= {name: differing[name] for name in _differing(job)} | job.reductions.columns(batch.reduced)
    first = 0
    for f in system.invariants:
        part = slice(first, first + f.width)
        first += f.width
        for what in MEASURED:
            columns[f"{f.name}_{what}"] = getattr(batch, what)[:, part].reshape(-1, *f.shape)
        for what in ("scale", "usual"):
            columns[f"{f.name}_{what}"] = getattr(batch, what)[:, part].max(axis=1)
    halves = batch.added[:, 1:] / np.maximum(np.diff(job.settled)[1:], 1)[:, None]
    columns |= {f"{name}_halves": values for name, values in cut(halves, job.pairing.stepper.accounts).items()}
    if job.kept_rows:
        rows = batch.samples.reshape(-1, batch.samples.shape[-1])
        for name, values in job.pairing.columns(rows).items():
            columns[name] = values.reshape(len(batch), job.rows, *values.shape[1:])
    return columns


def sample_times(job: Job, times: Array) -> Array:
    """Times of the samples; if samples are kept, these are the same for all members."""
    return times[0] + np.arange(job.rows) * job.every * job.dt


class Failure(NamedTuple):
    """A member that failed, and why."""

    member: int
    failure: StepFailure


class Ensemble:
    """The results of many starts: `final` and `data` hold them, `audit` judges them, `failures` lists the members that failed.

    Examples
    --------
    >>> import catena as ct
    >>> starts = {"q": [[0.4, 0.0], [0.7, 0.0], [1.0, 0.0]], "p": [[0.0, 2.0], [0.0, 1.4], [0.0, 1.0]]}
    >>> many = ct.ensemble(ct.problems.kepler(), starts, steps=400)
    >>> many.final.q.shape
    (3, 2)
    >>> many.audit()["angular_momentum"].verdicts
    {'exact': 3}
    """

    origins: tuple[Origin, ...] = ()  # what computed it, if it is stored

    def __init__(self, job: Job, columns: Mapping[str, Array]) -> None:
        self.system, self.method = job.system, job.method
        self.dt, self.steps, self.every, self.keep = job.dt, job.steps, job.every, job.keep
        self._job, self._columns = job, columns

    @classmethod
    def of(cls, job: Job, members: Members, batch: Batch) -> Ensemble:
        """The ensemble of these members in memory."""
        columns = columns_of(job, members, batch)
        return cls(job, columns | {"time": sample_times(job, members.t0)} if job.kept_rows else columns)

    def __len__(self) -> int:
        return len(self._column("status"))

    @cached_property
    def final(self) -> xarray.Dataset:
        """The last states, fields, invariants and time along `member`; for a failed member, the state before the failing step."""
        if self.keep == "nothing":
            raise InputError("the states were not kept", where="Ensemble.final", do='run it with keep="final"')
        return self._dataset({f"final_{name}": name for name in ("time", *self._names)})

    @cached_property
    def data(self) -> xarray.Dataset:
        """The samples, fields and invariants along `member` and `time`, and sums of the method; nan once a member has
        failed."""
        if self.keep != "samples":
            raise InputError("the samples were not kept", where="Ensemble.data", do='run it with keep="samples"')
        return self._dataset({name: name for name in ("time", *(f.name for f in self._job.pairing.recorded))})

    @cached_property
    def reduced(self) -> xarray.Dataset:
        """The reductions of the samples, along `member`; nan for a member that failed."""
        if not self._job.reductions.named:
            raise InputError(
                "nothing was reduced", where="Ensemble.reduced", do='run it with reduce={"name": ct.Mean("q1")}, for example'
            )  # fmt: skip
        return self._dataset({column.name: column.name for column in reduce_columns(self._job)})

    @cached_property
    def study(self) -> xarray.Dataset:
        """All that was kept of each member, with a dimension for each parameter of the sweep: states at the end (or
        samples), reductions, `status`, `steps` and `failure`, the cause (empty if there is none)."""
        from .studies import study_of

        return study_of(self)

    @property
    def grid(self) -> Grid | None:
        """The axes of the sweep of which these members are the points; None without a sweep."""
        return self._job.grid

    @cached_property
    def failures(self) -> list[Failure]:
        """The members that failed, in their order."""
        status, made, started = (self._column(name) for name in ("status", "steps", "start_time"))
        dt = self.step_sizes
        return [
            Failure(
                int(i),
                StepFailure(
                    explain(int(status[i]), self.method, float(dt[i])),
                    step=int(made[i]) + 1, time=float(started[i] + made[i] * dt[i]),
                    do=self.method.advice(), where=self.name_of(int(i)),
                ),
            )
            for i in np.flatnonzero(status != OK)
        ]  # fmt: skip

    def name_of(self, member: int) -> str:
        """The number of a member, and its point in a sweep: `member 5 (force = 2.0, kick = 0.1)`."""
        if self.grid is None:
            return f"member {member}"
        return f"member {member} ({', '.join(f'{name} = {value}' for name, value in self.grid.at(member).items())})"

    def _name_of_all(self, members: NDArray[np.int64]) -> str:
        """What these members share: values along the axes of a sweep, or a temperature; or the number of the first."""
        shared = {} if self.grid is None else self.grid.shared(members)
        temperatures = self._bath_temperatures()
        if not shared and np.ptp(temperatures) > 0.0 and np.ptp(temperatures[members]) == 0.0:
            shared = {"kT": float(temperatures[members[0]])}
        if shared:
            known = [f"{name} = {x:g}" if isinstance(x, float) else f"{name} = {x}" for name, x in shared.items()]
            return ", ".join(known)
        return f"member {members[0]}" + (f" and {len(members) - 1} more" if len(members) > 1 else "")

    @property
    def plot(self) -> EnsemblePlots:
        """Pictures of the members."""
        from ...output.ensemble_plots import EnsemblePlots

        return EnsemblePlots(self)

    @property
    def changes(self) -> tuple[str, ...]:
        """The members from which on another program or another machine computed them, in a few lines; usually none."""
        return changes(self.origins, "member")

    def audit(self) -> EnsembleAudit:
        """Promised against measured, one row per invariant, over the members that did not fail."""
        sound = np.flatnonzero(self._column("status") == OK)
        promises = self._job.pairing.promises
        promised, judged = promises.kept, promises.judged(self.system.invariants)
        sampled = (self._job.rows - 1) * self.every
        duration = sampled * (self.step_sizes[sound][:, None] if self._job.own_dt else self.dt)
        rows = []
        for invariant in judged:
            name, shape = invariant.name, (len(sound), invariant.width)
            of = {what: self._read_measured(name, what)[sound].reshape(shape) for what in MEASURED}
            scale, usual = (self._read_measured(name, what)[sound] for what in ("scale", "usual"))
            rows.append(
                assess_members(
                    name, sound, of["worst"], of["drift"], of["drift_error"], of["jump"],
                    samples=self._job.rows, steps=self.steps, duration=duration, scale=scale,
                    promised=promised[name], rows=len(judged),
                    start=self._column(f"start_{name}")[sound].reshape(shape),
                    sizes=Sizes(of["seen"], usual[:, None], self.system.parts),
                    lasting=of["lasting"], continuous=invariant.continuous,
                )
            )  # fmt: skip
        lawless = why_no_law(self._job.pairing)
        doubt = self._doubt(sound)
        canonical = self._canonical(sound)
        return EnsembleAudit(
            tuple(rows), len(self), len(self) - len(sound), self._find_damaged(),
            (*self.changes, *(remark for remark in (lawless, doubt) if remark)), canonical.doubted if doubt else canonical,
        )  # fmt: skip

    def _doubt(self, sound: NDArray[np.int64]) -> str:
        """Why averages over these members mean nothing: more than half of them accepted nothing; usually empty."""
        if not self._job.pairing.promises.traits.unbiased or self.keep == "nothing" or not len(sound):
            return ""
        names = [field.name for field in self.system.fields if field.name not in MOMENTA]
        same = [self._column(f"final_{name}")[sound] == self._column(f"start_{name}")[sound] for name in names]
        still = int(np.all([each.reshape(len(sound), -1).all(axis=1) for each in same], axis=0).sum())
        if 2 * still <= len(sound):
            return ""
        return f"{still} of {len(sound)} members end where they began, so nothing that they tried was accepted: {self.method.advice()}"

    def _canonical(self, sound: NDArray[np.int64]) -> Canonical:
        """Averages over the members that did not fail, with errors from their spread."""
        pairing = self._job.pairing
        if not is_lawful(pairing) or not len(sound):
            return Canonical()
        series = self._momenta(sound)
        kind = self._column("kind")[sound] if self._job.kinds else np.zeros(len(sound))
        fields = [f.name for f in self.system.fields]
        if self.keep != "nothing":
            prefix = "" if self.keep == "samples" else "final_"
            states = {name: self._column(prefix + name)[sound] for name in fields}
            temperatures = self._bath_temperatures()[sound]
            settled = self._job.settled if self.keep == "samples" else None
            series += laws_of_members(
                self.systems, kind, temperatures, states, settled, lambda some: self._name_of_all(sound[some])
            )
        return Canonical(judge_members(of_ladders(series, self._job.unit)), unbiased=pairing.promises.traits.unbiased)

    def _momenta(self, sound: NDArray[np.int64]) -> list[Series]:
        """The averages that a heat bath has accumulated over the momenta of these members, temperature first."""
        accounts = self._job.pairing.stepper.accounts
        halves = {f.name: self._column(f"{f.name}_halves")[sound] for f in accounts}
        return momenta_of_members(self._job.pairing, halves, np.diff(self._job.settled)[1:])

    def _read_measured(self, invariant: str, what: str) -> Array:
        """A column of an invariant; in an older store the nearest: samples only, largest terms, or unknown."""
        try:
            return self._column(f"{invariant}_{what}")
        except KeyError:
            nearest = self._column(f"{invariant}_{OLDER[what]}")
            return np.full(nearest.shape, np.nan) if what == "lasting" else nearest

    def _find_damaged(self) -> tuple[int, ...]:
        """The members that were intact at the start and are not at the end; empty if the states were not kept."""
        if self.keep == "nothing":
            return ()
        kind = self._column("kind") if self._job.kinds else np.zeros(len(self))
        lost = np.zeros(len(self), dtype=bool)
        for number, system in enumerate(self.systems):
            these = kind == number
            before, after = (
                system.damaged({f.name: self._column(prefix + f.name)[these] for f in system.fields})
                for prefix in ("start_", "final_")
            )
            lost[these] = after & ~before
        return tuple(np.flatnonzero(lost).tolist())

    @property
    def systems(self) -> tuple[System, ...]:
        """The different systems; if there are several, the column `kind` says which member has which."""
        return self._job.kinds or (self.system,)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods of these systems."""
        return self._job.kind_methods or (self.method,) * len(self.systems)

    def _bath_temperatures(self) -> Array:
        """(members,) temperature of the heat bath of each; nan without one."""
        if self._job.tempering is not None:
            return self._column("temperature")
        each = np.array(
            [np.nan if method.bath_temperature is None else method.bath_temperature for method in self.methods]
        )
        return each[self._column("kind").astype(int)] if self._job.kinds else np.full(len(self), each[0])

    @property
    def temperatures(self) -> Array:
        """(members,) temperature of each, if states were exchanged between temperatures."""
        self._require_tempering("temperatures")
        return self._column("temperature")

    @property
    def exchanged(self) -> Array:
        """(temperatures - 1,): fraction of exchanges accepted between each temperature and the next, mean over all ladders; nan without any."""
        tempering = self._require_tempering("exchanged")
        sound = (self._column("status") == OK).reshape(-1, len(tempering))
        made = self._column("exchanged").reshape(-1, len(tempering))[:, :-1][sound[:, 0]]
        tries = np.arange(1, -(-self.steps // tempering.every))  # no exchange after the last step
        tried = np.array([np.count_nonzero(tries % 2 == i % 2) for i in range(len(tempering) - 1)])
        return np.where(tried > 0, made.mean(axis=0) / np.maximum(tried, 1), np.nan)

    def _require_tempering(self, name: str) -> Tempering:
        if self._job.tempering is None:
            raise InputError(
                "there is one temperature", where=f"Ensemble.{name}", do="run it with tempering=ct.Tempering(...)"
            )
        return self._job.tempering

    @property
    def step_sizes(self) -> Array:
        """dt of each member."""
        return self._column("dt") if self._job.own_dt else np.full(len(self), self.dt)

    @property
    def _names(self) -> list[str]:
        return [f.name for f in (*self.system.fields, *self.system.invariants)]

    def _column(self, name: str) -> Array:
        return self._columns[name]

    def _dataset(self, names: Mapping[str, str]) -> xarray.Dataset:
        """The columns with these names, under new ones."""
        import xarray

        return xarray.Dataset(
            {
                names[column.name]: ((stream.dim, *column.dims), self._columns[column.name], column.attributes)
                for stream in streams_of(self._job)
                for column in stream.columns
                if column.name in names
            }
        )

    def __repr__(self) -> str:
        failed = int((self._column("status") != OK).sum())
        return (
            f"Ensemble({len(self)} members of {self.system.title}, {self.method}, dt={self.dt:g}, {self.steps} steps"
            + (f", {failed} failed" if failed else "")
            + "".join(f"; {line}" for line in self.changes)
            + ")"
        )


class StoredEnsemble(Ensemble):
    """An ensemble in a store: its members until the last commit, none before the first one. They are read when they are used.

    Attributes
    ----------
    path : directory of the store
    finished : whether all members are there
    planned : planned number of members
    device : where they are computed
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        from .checking import check_members, job_of

        _, checkpoint = read_begun_store(self.path)
        self.finished = checkpoint is not None and checkpoint.finished
        job, self.planned, self.device = job_of(self.path)
        if checkpoint is not None:
            check_members(self.path, self.planned, checkpoint)
        head = {} if checkpoint is None else checkpoint.head
        self.origins = origins_in(read_attributes(self.path), head, path=self.path)
        super().__init__(job, {})

    @cached_property
    def _all(self) -> xarray.Dataset:
        from ...store.arrays import open_arrays

        return open_arrays(self.path)

    def _column(self, name: str) -> Array:
        from .checking import check_column

        return check_column(self.path, self._job, name, self._all[name].values)

    def _dataset(self, names: Mapping[str, str]) -> xarray.Dataset:
        return self._all[list(names)].rename(names)
