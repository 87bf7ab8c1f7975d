"""The errors of the models in the words of a user: each error of a validation becomes a mistake in the source."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ..errors import nearest
from .mistakes import Mistake
from .positions import Path
from .source import Source

NEEDED = {
    "float_type": ("a number", "write a number such as 0.05"),
    "int_type": ("a whole number", "write a whole number such as 100"),
    "int_from_float": ("a whole number", "write it without a decimal point or exponent"),
    "string_type": ("text", "write it in double quotes"),
    "bool_type": ("true or false", "write true or false"),
    **dict.fromkeys(("list_type", "sequence_str", "is_instance_of"), ("a list", "write it in brackets: [1.0, 2.0]")),
    "dict_type": ("a table", "write it in braces, {{ name = 1.0 }}, or under its own header {header}"),
    "model_type": ("a table", "write its keys under the header {header}"),
    "model_attributes_type": ("a table", 'write {{ kind = "..." }}, or its keys under the header {header}'),
    "finite_number": ("finite", "give a finite number"),
    "string_too_short": ("filled in", "write something between the quotes"),
    "unit_label": ("a unit", 'write the unit alone, such as "s"; readers of the store would take "since" for a date'),
}

OF_THE_TYPE = {
    "finite_number",
    "too_short",
    "too_long",
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
}


@dataclass(frozen=True)
class Refusal:
    """A value that a model refused: the keys that lead to it, the message, and whether the last key is unknown.

    The message is empty for a key that is missing because it is misspelt.
    """

    path: Path
    mistake: Mistake | None
    unknown_key: bool = False


def refusals(error: ValidationError, case: type[BaseModel], source: Source) -> Iterator[Refusal]:
    """Everything that the model of the case refused, once each."""
    details = error.errors(include_url=False)
    misspelt: list[tuple[Path, str]] = []
    unfit: dict[Path, list[ErrorDetails]] = {}
    tables: set[Path] = set()
    for detail in sorted(details, key=lambda detail: detail["type"] != "extra_forbidden"):
        path = _path(detail["loc"], source)
        if detail["type"] == "extra_forbidden":
            wrong, do = _unknown_key(path, _keys(case, detail["loc"][:-1]))
            misspelt.append((path[:-1], wrong))
            tables.add(path[:-1])
            yield Refusal(path, source.mistake(path, wrong, do), unknown_key=True)
        elif detail["type"] == "missing":
            tables.add(path)
            meant = f"(did you mean {detail['loc'][-1]}?)"
            is_named = any(table == path and wrong.endswith(meant) for table, wrong in misspelt)
            words = _missing(path, detail["loc"][-1], _lists_tables(case, detail["loc"]))
            yield Refusal(path, None if is_named else source.mistake(path, *words))
        elif detail["type"] == "union_tag_not_found":
            yield Refusal(path, source.mistake(path, *_missing(path, _discriminator(detail))))
        elif detail["type"] == "union_tag_invalid":
            key = _discriminator(detail)
            yield Refusal(path, source.mistake((*path, key), *_unknown_choice(path, key, detail)))
        else:
            unfit.setdefault(path, []).append(detail)
    for path, alternatives in unfit.items():
        inside = any(other[: len(path)] == path != other for other in unfit)
        if path in tables or (inside and all(one["type"] in NEEDED for one in alternatives)):
            continue  # that it is not a number, or not a list, either is beside the point
        lists = any(_lists_tables(case, one["loc"]) for one in alternatives)
        yield Refusal(path, source.mistake(path, *_unfit(path, alternatives, lists)))


def _missing(path: Path, key: str | int, lists_tables: bool = False) -> tuple[str, str]:
    if not path:
        return f"the table [{key}] is missing", f"add [{key}] and its keys"
    do = f"add it under its own header [[{join_path((*path, key))}]]" if lists_tables else f"add {key} = ..."
    return f"{_header(path)} lacks the key {key}", do


def _unknown_key(path: Path, known: list[str]) -> tuple[str, str]:
    what = "key" if path[:-1] else "table"
    wrong = f"{_header(path[:-1])} has no {what} {path[-1]}{nearest(str(path[-1]), known)}"
    return wrong, f"use one of {', '.join(known)}"


def _discriminator(detail: ErrorDetails) -> str:
    return detail["ctx"]["discriminator"].strip("'")


def _unknown_choice(path: Path, key: str, detail: ErrorDetails) -> tuple[str, str]:
    known = [word.strip("'") for word in detail["ctx"]["expected_tags"].split(", ")]
    value = detail["input"][key]
    more = "; `catena methods` tells what each one keeps" if path[:1] == ("method",) else ""
    return f"{key} = {show(value)} is not known{nearest(str(value), known)}", f"use one of {', '.join(known)}{more}"


def _unfit(path: Path, alternatives: list[ErrorDetails], lists_tables: bool) -> tuple[str, str]:
    """A value that is none of what its key can take; or keys that do not go together: "what is wrong: what to do"."""
    if alternatives[0]["type"] == "value_error":
        wrong, _, do = str(alternatives[0]["ctx"]["error"]).partition(": ")
        return wrong, do
    first = max(k for k, part in enumerate(path) if isinstance(part, str))
    name = path[first:]
    needed, advice = [], []
    for detail in _of_the_type(alternatives):
        kind, context = detail["type"], detail.get("ctx", {})
        known = {
            "literal_error": (context.get("expected", ""), f"write {context.get('expected', '')}"),
            "greater_than": (f"above {context.get('gt', 0):g}", "give a larger number"),
            "greater_than_equal": (f"at least {context.get('ge', 0):g}", "give a larger number"),
            "less_than": (f"below {context.get('lt', 0):g}", "give a smaller number"),
            "less_than_equal": (f"at most {context.get('le', 0):g}", "give a smaller number"),
            "too_short": _of_length(context.get("min_length", 0), context),
            "too_long": _of_length(context.get("max_length", 0), context),
        } | NEEDED
        if lists_tables:  # [section] in place of [[section]]
            known["list_type"] = ("a list of tables", f"write each under its own header [[{join_path(path)}]]")
        if kind == "model_type" and len(alternatives) > 1:  # beside numbers a table has no header of its own
            known["model_type"] = ("a table", "write its keys in braces")
        words, do = known.get(kind, (f"possible: {detail['msg']}", "give another value"))
        needed.append(words)
        advice.append(do.format(header=_header(path)))
    wrong = f"{join_path(name)} = {show(alternatives[-1]['input'])} is not {' or '.join(needed)}"
    return wrong, ", or ".join(part for part in advice if part)


def _of_the_type(alternatives: list[ErrorDetails]) -> list[ErrorDetails]:
    """The errors of a value of the right type, and the words for that type; errors of the other types do not matter."""
    if any(one["type"] in OF_THE_TYPE for one in alternatives):
        return [one for one in alternatives if one["type"] in {*OF_THE_TYPE, "literal_error"}]
    return alternatives


def _of_length(needed: int, context: Mapping[str, object]) -> tuple[str, str]:
    """The required length of a list in words, and what to do."""
    if needed == 1:
        return "a list of one or more", "give one at least"
    return f"a list of {needed}", f"give {needed}, not {context.get('actual_length', 0)}"


def _header(path: Path) -> str:
    """The header of a table."""
    if not path:
        return "the case"
    return f"[[{join_path(path[:-1])}]]" if isinstance(path[-1], int) else f"[{join_path(path)}]"


def show(value: object) -> str:
    """A value in TOML syntax, shortened."""
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        return "[...]" if value else "[]"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def join_path(path: Path) -> str:
    """`method.base`, `section[1].text`: elements are counted from 0, as in Python."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _path(location: tuple[int | str, ...], source: Source) -> Path:
    """The keys of a location, without the tags of unions that pydantic inserts."""
    path: Path = ()
    for part in location:
        if (*path, part) in source:
            path = (*path, part)
    return path


def _keys(case: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that the table at a location accepts."""
    current: object = case
    for part in location:
        current = _inner(current, part)
    models = [one for one in (current, *get_args(current)) if isinstance(one, type) and issubclass(one, BaseModel)]
    return [str(name) for model in models for name in _fields(model)]


def _fields(model: type[BaseModel]) -> dict[int | str, FieldInfo]:
    """The fields of a model by their keys in a case."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _inner(current: object, part: int | str) -> object:
    """The part of a model at a key, an index or the tag of a union."""
    if isinstance(current, type) and issubclass(current, BaseModel):
        return _fields(current)[part].annotation if part in _fields(current) else None
    origin, arguments = get_origin(current), get_args(current)
    if origin is Annotated:
        return arguments[0] if Tag(str(part)) in arguments[1:] else _inner(arguments[0], part)
    if origin in (Union, UnionType):
        members = [argument for argument in arguments if _has_tag(argument, part)]
        if members:
            return members[0]
        members = [_inner(argument, part) for argument in arguments if argument is not type(None)]
        return next((member for member in members if member is not None), None)
    if origin is list:
        return arguments[0]
    return arguments[1] if origin is dict else None


def _lists_tables(case: type[BaseModel], location: tuple[int | str, ...]) -> bool:
    """Whether a key takes tables, each under a header of its own."""
    current: object = case
    for part in location:
        current = _inner(current, part)
    if get_origin(current) is not list:
        return False
    element = get_args(current)[0]
    while get_origin(element) in (Annotated, Union, UnionType):
        element = get_args(element)[0]
    return isinstance(element, type) and issubclass(element, BaseModel)


def _has_tag(member: object, tag: int | str) -> bool:
    """Whether a member of a union has this tag, `kind` or `problem`; without one, its name counts."""
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return False
    if member.__name__ == tag:
        return True
    choices = [field.annotation for field in member.model_fields.values() if get_origin(field.annotation) is Literal]
    return any(get_args(choice) == (tag,) for choice in choices)
