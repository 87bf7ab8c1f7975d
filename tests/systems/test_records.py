"""Rows of numbers are records: their places have names, and no kernel uses a bare number instead."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import catena.systems
from catena.kernels.marks import Record
from catena.systems.linkage.layout import Node

FOLDER = Path(catena.systems.__file__).parent
Arrays = dict[str, int]  # name of an array of par, or of a local name for part of one -> axes that are left


def records() -> list[type[Record]]:
    """All records of the systems."""
    for module in pkgutil.walk_packages([str(FOLDER)], "catena.systems."):
        importlib.import_module(module.name)
    found = [record for record in Record.__subclasses__() if record.__module__.startswith("catena.systems.")]
    return sorted(found, key=lambda record: (record.__module__, record.__name__))


def described(record: type[Record]) -> tuple[str, int] | None:
    """The array that a record describes, as its docstring tells it, and its number of axes: `par.node[0 or 1, i]` has three."""
    found = re.match(r"par\.(\w+)(?:\[([^\]]*)\])?", record.__doc__ or "")
    return (found[1], 1 if found[2] is None else found[2].count(",") + 2) if found else None


@dataclass
class Kernels:
    """Functions of some files, with what is known of their parameters: which are arrays of records, and what is left of their axes."""

    arrays: Arrays
    functions: dict[str, ast.FunctionDef]
    known: dict[str, Arrays] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)

    def check(self) -> list[str]:
        """Every subscript of a record by a bare number."""
        before = None
        while before != (before := {name: dict(known) for name, known in self.known.items()}):
            for name, function in self.functions.items():
                self._look(name, function)
        return sorted(self.found)

    def _look(self, name: str, function: ast.FunctionDef) -> None:
        local = dict(self.known.get(name, {}))
        numbers = {"range", *_counters(function)}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                left = self._left(node.value, local)
                if left is not None:
                    local[node.targets[0].id] = left
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and self._is_bare(node, local, numbers):
                self.found.add(f"{name}: {ast.unparse(node)}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.functions:
                called = self.functions[node.func.id]
                for parameter, argument in zip(called.args.args, node.args, strict=False):
                    left = self._left(argument, local)
                    if left is not None:
                        self.known.setdefault(called.name, {})[parameter.arg] = left

    def _left(self, node: ast.expr, local: Mapping[str, int]) -> int | None:
        """How many axes an expression has if it is (part of) an array of records, else None."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "par":
            return self.arrays.get(node.attr)
        if isinstance(node, ast.Name):
            return local.get(node.id)
        if isinstance(node, ast.Subscript):
            left = self._left(node.value, local)
            if left is None or not all(_is_record(index) for index in _indices(node)):
                return None
            return left - sum(not isinstance(index, ast.Slice) for index in _indices(node))
        return None

    def _is_bare(self, node: ast.Subscript, local: Mapping[str, int], numbers: set[str]) -> bool:
        """Whether the axis that has names is subscripted without one."""
        left = self._left(node.value, local)
        if left is None or len(_indices(node)) < left:
            return False
        last = _indices(node)[-1]
        edges = [last.lower, last.upper] if isinstance(last, ast.Slice) else [last]
        return any(_is_number(edge, numbers) for edge in edges if edge is not None)


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_record(index: ast.expr) -> bool:
    """A part of a record between two of its names is a vector or a matrix; one that is as wide as another record is that."""
    if not isinstance(index, ast.Slice) or index.upper is None:
        return True
    edge = index.upper
    return isinstance(edge, ast.BinOp) and isinstance(edge.right, ast.Attribute) and edge.right.attr == "WIDTH"


def _is_number(index: ast.expr, numbers: set[str]) -> bool:
    """Whether a place is made of numbers and counters alone; a counter alone runs over what a loop says."""
    names = {inner.id for inner in ast.walk(index) if isinstance(inner, ast.Name)}
    constants = [inner for inner in ast.walk(index) if isinstance(inner, ast.Constant)]
    return bool(constants) and names <= numbers


def _counters(function: ast.FunctionDef) -> Iterator[str]:
    """Loop variables that run over numbers."""
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            names = {inner.id for inner in ast.walk(node.iter) if isinstance(inner, ast.Name)}
            if names <= {"range"}:
                yield node.target.id


def functions_of(text: str) -> dict[str, ast.FunctionDef]:
    """Functions of a file that see `par` or parts of it."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def arrays(*rooms: str) -> Arrays:
    """The arrays of par that the records of some rooms describe."""
    own = [record for record in records() if record.__module__.split(".")[2] in rooms]
    return dict(found for record in own if (found := described(record)))


METHODS = FOLDER.parent / "methods"
# kernels that call each other: whose records they read, and the files
FAMILIES = {
    "linkage": ("linkage", FOLDER.glob("linkage/*.py")),
    "director form": ("linkage", FOLDER.glob("linkage/director_form/*.py")),
    "joint form": ("linkage", FOLDER.glob("linkage/joint_form/*.py")),
    "chain": ("chain", FOLDER.glob("chain/**/*.py")),
    "particles": ("particles", FOLDER.glob("particles/*.py")),
    "scaling": ("scaling", [*FOLDER.glob("scaling/*.py"), METHODS / "conserving" / "energy_momentum_scaling.py"]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_bare_number_is_a_place_in_a_record(family: str) -> None:
    """Rows that are handed on from kernel to kernel are followed."""
    room, files = FAMILIES[family]
    functions: dict[str, ast.FunctionDef] = {}
    for file in sorted(files):
        functions |= functions_of(file.read_text())
    assert arrays(room)
    assert Kernels(arrays(room), functions).check() == []


def test_every_room_with_records_is_looked_at() -> None:
    rooms = {record.__module__.split(".")[2] for record in records() if described(record)}
    assert rooms == {room for room, _ in FAMILIES.values()}


@pytest.mark.parametrize(
    "line",
    [
        "par.node[0, i, 12]",
        "par.node[1, i, 3:12]",
        "own[15]",
        "par.space[3]",
        "hand(own)",
        "hand(par.sweep[i])",
        "hand(par.scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH])",
    ],
)
def test_a_bare_number_is_found(line):
    text = f"""
def kernel(i, par):
    own = par.node[0, i]
    return {line}

def hand(row):
    for l in range(3):
        row[3 + l] = 0.0
"""
    assert len(Kernels(arrays("linkage"), functions_of(text)).check()) == 1


@pytest.mark.parametrize(
    "line", ["own[Node.SPIN + 1]", "par.node[0, i]", "hand(par.block)", "own[k]", "hand(own[Node.SPIN : Node.TURN])"]
)
def test_named_places_and_rows_are_left_alone(line):
    text = f"""
def kernel(i, k, par):
    own = par.node[0, i]
    return {line}

def hand(row):
    return row[3]
"""
    assert Kernels(arrays("linkage"), functions_of(text)).check() == []


def test_places_follow_each_other_without_gaps():
    """Widths are what a record says: the places of two names never overlap."""
    for record in records():
        places = [place for name, place in vars(record).items() if name.isupper() and name != "WIDTH"]
        assert places == sorted(places)
        assert places[0] == 0
        assert places[-1] <= record.WIDTH


def test_places_cannot_be_set_later():
    """Else a slip in another class, `Node.SPIN = 3`, would silently move what all kernels read."""
    with pytest.raises(AttributeError, match="are fixed"):
        Node.SPIN = 3
