"""Plans and states from what a store says: each part is checked before it is used, whoever wrote it.

A store cannot name anything to import or evaluate: kinds of systems and methods are looked up in the registries, and
texts of energies pass the parser of `catena.expressions`. Everything that a description can produce is produced here
once; if any of it fails, for whatever reason, the description is not one that catena wrote. See docs/security.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.looks import SIZES, unseen
from ..errors import CatenaError, StoreError
from ..store import Checkpoint, Stream, read_given, read_layout
from ..store.checking import all_of, check_list, number, show, table, text, whole
from ..store.long_arrays import as_lists, put_back
from ..systems.numbers import real_array
from ..systems.states import as_state
from ..text.plain import Json
from .control import check_control
from .crossings import check_watched
from .plan import Plan, Stepping, plan_from, positive_integer, positive_number
from .streams import streams_of

ATTRIBUTES = ("long_name", "units", "names")  # of columns; others would mean something to xarray
NAMED = 10_000  # size of a state whose names are checked, used or not
STATE = ("z", "e", "carry", "scale", "marks")  # arrays of a checkpoint, see `engine.driver.Driver`


def run_of(path: str | Path) -> tuple[Plan, int]:
    """The plan of a stored run and its number of steps; StoreError if catena cannot have written this spec.json."""
    layout = read_layout(Path(path))
    with blame_description(path, "spec.json"):
        spec = table(layout.spec, "spec", needs=("plan", "steps"))
        content = whole_description(spec["plan"], read_given(Path(path), layout), "spec.plan", needs=PLAN)
        _check_plan(content, layout.streams)
        plan = plan_from(content)
        start = as_state(plan.system, plan.start, "plan.start")
        plan = replace(plan, start=start)
        positive_number(plan.dt, "run.dt")
        positive_integer(plan.every, "run.every")
        steps = positive_integer(layout.spec["steps"], "steps")
        check_watched(plan.system, [*plan.sections, *plan.events])
        check_control(plan.system, plan.control)
        require_usable(plan, plan.describe(apart={}))
        check_streams(layout.streams, streams_of(plan))
        check_attributes(layout.attributes)
    return plan, steps


def whole_description(
    content: Any, given: Mapping[str, np.ndarray], field: str, *, needs: Iterable[str]
) -> dict[str, Any]:
    """The description in spec.json, with the arrays that are stored beside it filled in as lists."""
    content = put_back(table(content, field, needs=needs), given)
    return {**content, "system": as_lists(content["system"])} if given else content


PLAN = ("system", "start", "method", "run", "section", "event")


def _check_plan(content: Mapping[str, Json], streams: Sequence[Stream]) -> None:
    """Check the types of all tables, and the sizes of what will be made."""
    check_described(content, streams)
    start = table(content["start"], "start", needs=("time",))
    number(start["time"], "start.time")
    for name in start.keys() - {"time"}:
        try:
            real_array(start[name])
        except (TypeError, ValueError) as trouble:
            raise ValueError(
                f"start.{show(name)} = {show(start[name])} is not an array of numbers: it has {trouble}"
            ) from None
    run = table(content["run"], "run", needs=("dt", "every"))
    if unknown := run.keys() - {"dt", "every"}:
        raise ValueError(f"run.{show(unknown.pop())} is not known")
    all_of(table, content["section"], "section")
    all_of(table, content["event"], "event")
    for name, unit in table(content.get("units", {}), "units").items():
        text(unit, f"units.{name}")
    for name, word in table(content.get("problem", {}), "problem").items():
        text(word, f"problem.{name}")


def check_described(content: Mapping[str, Json], streams: Sequence[Stream]) -> None:
    """Check what all systems and methods have in common in their tables; a count of bodies must match the columns."""
    system = table(content["system"], "system", needs=("kind",))
    table(content["method"], "method", needs=("kind",))
    text(system["kind"], "system.kind")
    bodies = system.get("bodies")
    if isinstance(bodies, dict):  # equal ones are described once
        if "which" in bodies:
            count = len(check_list(bodies["which"], "system.bodies.which"))
        else:
            count = whole(bodies.get("count"), "system.bodies.count", least=1)
        if not any(count in column.shape for stream in streams for column in stream.columns):
            raise ValueError(f"system.bodies.count = {count} is not the number of bodies in any column")


def require_usable(stepping: Stepping, described: object) -> None:
    """Call everything that will be asked of a system and a method, so that anything missing shows now."""
    system, promised = stepping.system, stepping.pairing.promises.to_dict()
    names = list(system.names()) if system.public_width <= NAMED else []  # more bodies only add numbers
    content = [described, promised, repr(system), str(stepping.method), system.title, names]
    json.dumps(content, allow_nan=False)


def check_streams(found: Sequence[Stream], wanted: Sequence[Stream]) -> None:
    """Check that the arrays of a store are those of its run."""
    if [stream.name for stream in found] != [stream.name for stream in wanted]:
        raise ValueError(f"streams = {show([s.name for s in found])} instead of {[s.name for s in wanted]}")
    for stream, known in zip(found, wanted, strict=True):
        field = f"stream {stream.name}"
        if (stream.dim, stream.fixed) != (known.dim, known.fixed):
            raise ValueError(
                f"{field}: dim = {stream.dim!r}, fixed = {stream.fixed} instead of {known.dim!r}, {known.fixed}"
            )
        if [column.name for column in stream.columns] != [column.name for column in known.columns]:
            names = show([column.name for column in stream.columns])
            raise ValueError(f"{field}: columns = {names} instead of {[column.name for column in known.columns]}")
        for column, like in zip(stream.columns, known.columns, strict=True):
            if (column.shape, column.dims) != (like.shape, like.dims):
                raise ValueError(f"column {column.name}: shape = {column.shape} instead of {like.shape}")
            for name, value in column.attributes.items():  # another version may word a long_name differently
                if name not in ATTRIBUTES or (name != "long_name" and value != like.attributes.get(name)):
                    raise ValueError(
                        f"column {column.name}: attribute {show(name)} = {show(value)} is not one of a run"
                    )
            text(column.attributes.get("long_name", ""), f"column {column.name}: long_name")


def check_attributes(attributes: Mapping[str, Json]) -> None:
    """Check the attributes that readers see."""
    text(attributes.get("catena_version"), "attributes.catena_version")
    for name in ("conventions", "quaternion_order"):
        text(attributes.get(name, ""), f"attributes.{name}")
    for name in ("made_with", "traits", "case"):
        table(attributes.get(name, {}), f"attributes.{name}")
    for name in ("cite", "references"):
        all_of(text, attributes.get(name, []), f"attributes.{name}")


def check_run(path: str | Path, plan: Plan, checkpoint: Checkpoint) -> None:
    """StoreError unless a checkpoint can belong to a run of this plan: compiled code trusts each of its numbers."""
    with blame_description(path, "the checkpoint"):
        _check_ending(checkpoint.head)
        made = 1 + checkpoint.step // plan.every
        if checkpoint.rows["samples"] != made:
            raise ValueError(
                f"rows.samples = {checkpoint.rows['samples']}, but after step {checkpoint.step} there are {made}"
            )
        view, stepper = plan.pairing.view, plan.pairing.stepper
        marks = marks_of(plan)
        width = plan.system.invariant_width
        found = checkpoint.arrays.get("z")
        whole_state = found is not None and found.shape == (view.dimension,)  # as older checkpoints hold it
        kept = (view.dimension, view.dimension) if whole_state else view.kept_sizes
        sizes = zip(STATE, [*kept, stepper.carry, width, len(marks)], strict=True)
        nothing = unseen(width)
        shapes = {**{name: (size,) for name, size in sizes}, "looks": nothing.shape}
        if plan.control is not None:
            shapes["control"] = (len(plan.system.controls) + plan.control.memory,)
        check_arrays({"looks": nothing} | checkpoint.arrays, shapes)  # older checkpoints have none
        _check_looks(checkpoint.arrays.get("looks", nothing))
        for name in ("z", "e", "scale", *(["control"] if plan.control else [])):
            require_finite(checkpoint.arrays[name], name)
        if plan.control is not None and checkpoint.rows["control_"] != plan.control.calls(checkpoint.step):
            raise ValueError(
                f"rows.control_ = {checkpoint.rows['control_']}, but by step {checkpoint.step} it was called {plan.control.calls(checkpoint.step)} times"
            )
        if (checkpoint.arrays["scale"] < 0).any():
            raise ValueError(f"scale = {show(checkpoint.arrays['scale'].tolist())} is below zero")
        count = (len(marks) - 1) // 3
        seen = checkpoint.arrays["marks"]
        for at in (
            0,
            *range(1 + count, len(marks)),
        ):  # waiting rows, directions, stops; the values between may be anything
            if seen[at] != marks[at]:
                raise ValueError(f"marks[{at}] = {seen[at]} instead of {marks[at]}")
        plan.method.counts(checkpoint.arrays["carry"])


def _check_looks(looks: np.ndarray) -> None:
    """Check that numbers seen between samples are not nan (inf: none was seen); sizes and steps are not negative."""
    if np.isnan(looks).any() or (looks[SIZES:] < 0.0).any():
        raise ValueError("looks hold what is not a number, or a size below zero")


def marks_of(plan: Plan) -> np.ndarray:
    """The marks of a run before its first step, see `engine.sections`."""
    watched = [*plan.sections, *plan.events]
    directions = [float(getattr(one, "direction", 0)) for one in watched]
    return np.array(
        [0.0, *(0.0 for _ in watched), *directions, *(float(getattr(one, "stop", False)) for one in watched)]
    )


def steps_of(checkpoint: Checkpoint, planned: int) -> int:
    """Number of steps in all for a run with this checkpoint: as planned, or as extended later."""
    return whole(checkpoint.head.get("steps", planned), "head.steps", least=1, below=2**62)


def _check_ending(head: Mapping[str, Json]) -> None:
    whole(head.get("steps", 1), "head.steps", least=1, below=2**62)
    whole(head.get("failed_at", 1), "head.failed_at", least=1, below=2**62)
    text(head.get("reason", ""), "head.reason")
    all_of(text, head.get("stopped_by", []), "head.stopped_by")


def check_arrays(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check names, types and shapes of arrays."""
    if set(arrays) != set(shapes):
        raise ValueError(f"arrays = {show(sorted(arrays))} instead of {sorted(shapes)}")
    for name, shape in shapes.items():
        if arrays[name].dtype != np.float64 or arrays[name].shape != shape:
            raise ValueError(f"{name} is {arrays[name].dtype} {arrays[name].shape} instead of float64 {shape}")


def require_finite(array: np.ndarray, name: str) -> None:
    """Refuse numbers that are not finite."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name}[{int(np.argmin(np.isfinite(array)))}] is not finite")


@contextmanager
def blame_description(path: str | Path, what: str) -> Iterator[None]:
    """Turn any exception raised while something is made from a store into a StoreError."""
    try:
        yield
    except StoreError:
        raise
    except CatenaError as refusal:
        where = f"{path}{', ' + refusal.where if refusal.where else ''}"
        raise StoreError(f"{what} cannot be used: {refusal.wrong}", where=where, do=_do(refusal.do)) from refusal
    except ValueError as refusal:
        raise StoreError(f"{what} was not written by catena: {refusal}", where=str(path), do=_do()) from refusal
    except Exception as trouble:  # constructors of systems and methods may raise anything for a wrong description
        seen = f"{type(trouble).__name__}: {show(str(trouble))}"
        raise StoreError(f"{what} was not written by catena: {seen}", where=str(path), do=_do()) from trouble


def _do(more: str = "") -> str:
    own = "do not trust this store; a run of your own may need the version, or the plug-in, that it was made with"
    return f"{more}; {own}" if more else own
