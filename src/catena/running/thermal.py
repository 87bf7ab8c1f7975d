"""The quantities of a run in a heat bath, or of an ensemble, that are compared with the laws of its temperature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.folding import first_settled
from ..engine.pairing import Pairing
from ..errors import InputError
from ..kernels.declarations import Inertia
from ..systems.base import Array, Samples, System
from ..systems.laws import Law
from .auditing import Canonical, Point, Series, judge_runs, means_of_members

AT_ONCE = 2**20  # numbers of the states that are evaluated together


def why_no_law(pairing: Pairing) -> str:
    """Why the averages are not known, in a sentence; empty if they are known, or without a heat bath."""
    if not pairing.promises.traits.random:
        return ""
    if pairing.method.bath_temperature is None:
        return "no law is known: the bath is at zero, or at several temperatures"
    reason = pairing.system.restless
    return f"no law is known, as there is no equilibrium: {reason}" if reason else ""


def is_lawful(pairing: Pairing) -> bool:
    """Whether there are laws to compare averages with."""
    return pairing.promises.traits.random and not why_no_law(pairing)


def require_lawful(pairing: Pairing, where: str) -> None:
    """Refuse a run that has no temperature to show."""
    if not is_lawful(pairing):
        raise InputError(
            why_no_law(pairing) or "there is no heat bath", where=where, do="run it with ct.Langevin, for example"
        )


class Compared(NamedTuple):
    """Means of squares of momenta, each divided by its law: (..., k), and which components these are."""

    quantity: str
    values: Array
    components: tuple[int, ...] | None = None

    def series(self, values: Array, halves: Array | None = None) -> Series:
        """The form that the audit takes."""
        return Series(self.quantity, values, components=self.components, halves=halves)


def momenta(inertia: Inertia, accounts: Mapping[str, Array]) -> Iterator[Compared]:
    """The sums that a heat bath has accumulated over the momenta, without those that are fixed or do not exist; any
    leading axes.

    Nothing is compared twice: the temperature of a single body is that of the system, and one coordinate has one
    component.
    """
    there = inertia.variances > 0.0
    by_part = "body_temperature" if inertia.part == "body" else "coordinate_temperature"
    freedoms = there.sum(axis=1) if inertia.freedoms is None else inertia.freedoms
    yield Compared("temperature", (accounts[by_part] * freedoms).sum(axis=-1, keepdims=True) / freedoms.sum())
    shares, width = accounts["equipartition"], there.shape[1]
    axes = {6: ("momentum", "angular_momentum"), 3: ("angular_momentum",)}.get(width, ())
    names = axes if inertia.freedoms is None else ()  # joints mix them
    for number, name in enumerate(names):
        some = tuple(c for c in range(3) if there[:, 3 * number + c].any())
        if some:
            yield Compared(name, shares[..., [3 * number + c for c in some]], some)
    parts = tuple(np.flatnonzero(freedoms).tolist())
    if len(parts) > 1:
        yield Compared(by_part, accounts[by_part][..., list(parts)], parts)
    yield Compared("fourth_moment", accounts["fourth_moment"][..., None])
    if "total_momentum_square" in accounts and there[:, :3].any(axis=1).sum() > 1:
        yield Compared("total_momentum_square", accounts["total_momentum_square"][..., None])


def canonical_of(pairing: Pairing, samples: Samples) -> Canonical:
    """All rows of the thermal audit of a run with these samples."""
    if not is_lawful(pairing):
        return Canonical()
    return Canonical(judge_runs(series_of(pairing, samples)), unbiased=pairing.promises.traits.unbiased)


def series_of(pairing: Pairing, samples: Samples) -> list[Series]:
    """The samples of a run that are compared with laws: all but its first fifth."""
    total = len(samples["time"])
    settled = slice(first_settled(total), total)
    found = [one.series(one.values) for one in momenta(_inertia(pairing), _accounts(pairing, samples, settled))]
    for law in pairing.system.laws(_temperature(pairing)):
        values = along(law, pairing.system, samples, settled)[:, None]
        found.append(Series(law.name, values, law.value, law.unit, configuration=True))
    return found


def temperature_of(pairing: Pairing, samples: Samples) -> Array:
    """(samples,) temperature of all momenta, mean since the sample before, over that of the heat bath."""
    accounts = _accounts(pairing, samples, slice(None))
    return next(momenta(_inertia(pairing), accounts)).values[:, 0]


def _inertia(pairing: Pairing) -> Inertia:
    assert pairing.view.inertia is not None, "a bath needs it"
    return pairing.view.inertia()


def _temperature(pairing: Pairing) -> float:
    found = pairing.method.bath_temperature
    assert found is not None, "there is no law without it"
    return found


def _accounts(pairing: Pairing, samples: Samples, part: slice) -> dict[str, Array]:
    return {field.name: np.asarray(samples[field.name][part]) for field in pairing.stepper.accounts}


def along(law: Law, system: System, samples: Samples, part: slice) -> Array:
    """The quantity of a law in a part of the samples, (n,); evaluated in blocks so that little memory is used."""
    size = max(1, AT_ONCE // max(1, system.public_width))
    found = [np.empty(0)]
    for first in range(part.start, part.stop, size):
        some = slice(first, min(first + size, part.stop))
        found.append(law.of({field.name: np.asarray(samples[field.name][some]) for field in system.fields}))
    return np.concatenate(found)


def momenta_of_members(pairing: Pairing, halves: Mapping[str, Array], counts: NDArray[np.int64]) -> list[Series]:
    """The sums of members, by name (m, 2, ...): means over both halves of their samples, and the numbers of samples."""
    weights = counts / max(1, int(counts.sum()))
    return [
        one.series(np.einsum("h,mhk->mk", weights, one.values), one.values)
        for one in momenta(_inertia(pairing), halves)
    ]  # fmt: skip


def laws_of_members(
    systems: Sequence[System], kinds: NDArray[np.float64], temperatures: NDArray[np.float64], states: Mapping[str, Array],
    settled: NDArray[np.int64] | None, named: Callable[[NDArray[np.int64]], str],
) -> list[Series]:  # fmt: skip
    """Averages of configurations in each member, and their laws.

    Parameters
    ----------
    systems, kinds : the different systems, and the number of that of each member
    temperatures : of the members
    states : fields (m, ...) at the end; or (m, samples, ...)
    settled : where the halves of the samples begin and end; None if each has only one state
    named : what groups of members have in common, in words
    """
    whose = list(zip(kinds.astype(int).tolist(), temperatures.tolist(), strict=True))
    laws = {(kind, kT): systems[kind].laws(kT) for kind, kT in dict.fromkeys(whose)}
    own = laws[whose[0]] if whose else ()
    if any([law.name for law in some] != [law.name for law in own] for some in laws.values()):
        return []
    weights = np.ones(1) if settled is None else np.diff(settled)[1:] / max(1, np.diff(settled)[1:].sum())
    found = []
    for number in range(len(own)):
        each = [laws[one][number] for one in whose]
        means = np.full((len(kinds), len(weights)), np.nan)
        for member, (law, (kind, _)) in enumerate(zip(each, whose, strict=True)):
            fields = {name: field[member] for name, field in states.items()}
            means[member] = _means_in(law, systems[kind], fields, settled)
        value, unit, moved = _on_one_law(each, means)
        halves = None if settled is None else moved[:, :, None]
        points = _points(each, means @ weights, named)
        found.append(Series(own[number].name, moved @ weights[:, None], value, unit, True, None, halves, points))
    return found


def _on_one_law(each: Sequence[Law], means: Array) -> tuple[float, float, Array]:
    """The mean law and unit of all members, and means (m, ...) moved to it: deviations per unit are kept."""
    values, units = (np.array([getattr(law, name) for law in each])[:, None] for name in ("value", "unit"))
    value, unit = (float(row.mean() if np.ptp(row) else row[0, 0]) for row in (values, units))
    return value, unit, value + (means - values) * (unit / units)


def _points(each: Sequence[Law], means: Array, named: Callable[[NDArray[np.int64]], str]) -> tuple[Point, ...]:
    """The members of each law, in order of first appearance; empty if all have the same."""
    groups: dict[tuple[float, float], list[int]] = {}
    for member, law in enumerate(each):
        groups.setdefault((law.value, law.unit), []).append(member)
    if len(groups) == 1:
        return ()
    found = []
    for (value, _), members in groups.items():
        own = means_of_members(means[members, None])
        found.append(Point(named(np.array(members)), value, float(own.mean[0]), float(own.error[0]), len(members)))
    return tuple(found)


def _means_in(law: Law, system: System, states: Mapping[str, Array], settled: NDArray[np.int64] | None) -> Array:
    """Means over both halves of the samples of a member; or its only value."""
    if settled is None:
        return np.atleast_1d(law.of({name: field[None] for name, field in states.items()}))
    parts = [along(law, system, states, slice(int(a), int(b))) for a, b in pairwise(settled[1:])]
    return np.array([part.mean() if len(part) else np.nan for part in parts])


def of_ladders(series: Sequence[Series], unit: int) -> list[Series]:
    """Means over the members of each ladder: members exchange states, so only ladders are independent."""

    def together(values: Array) -> Array:
        return np.asarray(values.reshape(-1, unit, *values.shape[1:]).mean(axis=1))

    return [
        one._replace(values=together(one.values), halves=None if one.halves is None else together(one.halves))
        for one in series
    ]  # fmt: skip
