"""Sections and events: functions of the state whose sign changes are located inside the run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..disk_cache import remember
from ..engine.build import Crossing
from ..errors import InputError
from ..expressions import parse, to_sympy, write_lines
from ..kernels.marks import Written
from ..systems.base import System


@dataclass(frozen=True)
class Section:
    """A surface of section: states where `text` crosses zero are recorded, located to the accuracy of the method.

    The signs at both ends of each dt are compared, so two crossings within one dt are missed; `Taylor` also compares them at the
    ends of its inner steps.

    Parameters
    ----------
    name : the name in `run.sections`
    text : expression in the names of the state, t and the parameters
    direction : +1 counts crossings upwards, -1 downwards, 0 both
    where : condition that a crossing must satisfy, such as "q1 > 0"

    Examples
    --------
    >>> import catena as ct
    >>> orbit = ct.problems.kepler()
    >>> run = ct.simulate(orbit, dt=0.01, t_end=10.0, sections=[ct.Section("plane", "q2", where="q1 > 0")])
    >>> round(float(run.sections["plane"].time[0]), 3)  # a revolution takes 2 pi
    6.283
    """

    name: str
    text: str
    direction: int = +1
    where: str = ""

    def __post_init__(self) -> None:
        _check(self.name, self.text, self.where)
        if self.direction not in (-1, 0, 1):
            raise InputError(f"direction = {self.direction!r}", where=f"section {self.name}", do="choose +1, -1 or 0")


@dataclass(frozen=True)
class Event:
    """An event: `text` changes sign between the ends of a dt, in either direction.

    Parameters
    ----------
    name : the name in `run.events`
    text : expression in the names of the state, t and the parameters
    stop : whether the run ends with the step in which it happens
    """

    name: str
    text: str
    stop: bool = False

    def __post_init__(self) -> None:
        _check(self.name, self.text)
        if not isinstance(self.stop, bool):
            raise InputError(f"stop = {self.stop!r}", where=f"event {self.name}", do="choose True or False")


def _check(name: str, *texts: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise InputError(f"{name!r} cannot name a section or event", where="name", do="use letters, digits and _")
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{text!r} is not a text", where=name, do='write an expression, such as "q2 - 1"')


def check_watched(system: System, watched: Sequence[Section | Event]) -> None:
    """InputError if two have the same name, or if an expression cannot be parsed; nothing is compiled."""
    names = Counter(w.name for w in watched)
    for name, count in names.items():
        if count > 1:
            raise InputError(f"two sections or events are called {name!r}", where="sections, events", do="rename one")
    known = list(system.names()) if watched else []
    for w in watched:
        parse(w.text, known, what=f"section {w.name}" if isinstance(w, Section) else f"event {w.name}")
        if condition := getattr(w, "where", ""):
            parse(condition, known, what=f"section {w.name}, where", conditions=True)


def crossing_of(system: System, sections: Sequence[Section], events: Sequence[Event]) -> Crossing | None:
    """The kernels that watch a system: sections first, then events."""
    watched: list[Section | Event] = [*sections, *events]
    if not watched:
        return None
    check_watched(system, watched)
    known = system.names()
    conditions = [getattr(w, "where", "") for w in watched]

    def text() -> str:
        value = ["def crossing_value(i, row, t, par):"]
        wanted = ["def crossing_wanted(i, row, t, par):"]
        for i, (w, condition) in enumerate(zip(watched, conditions, strict=True)):
            value += _branch(i, w.text, known, conditions=False)
            if condition:
                wanted += _branch(i, condition, known, conditions=True)
        return json.dumps(["\n".join([*value, "    return 0.0"]), "\n".join([*wanted, "    return True"])])

    request = json.dumps(["crossings", sorted(known.items()), [w.text for w in watched], conditions])
    value, wanted = json.loads(remember(request, text))
    return Crossing(
        Written("crossing_value", value, __name__),
        Written("crossing_wanted", wanted, __name__),
        tuple(getattr(w, "direction", 0) for w in watched),
        tuple(getattr(w, "stop", False) for w in watched),
    )


def _branch(i: int, text: str, known: dict[str, str], *, conditions: bool) -> list[str]:
    expression = to_sympy(parse(text, list(known), conditions=conditions))
    lines = write_lines([("result", expression)], known)
    return [f"    if i == {i}:", *(f"        {line}" for line in lines), "        return result"]
