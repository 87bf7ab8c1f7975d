"""A long sum as a few shapes: terms that differ only in variables and constants become one expression and a table.

The 190 pairs of twenty bodies are one shape with 190 rows; a chain of 512 springs has a handful of shapes. Only the
shapes are differentiated, written and compiled, so this work does not grow with the number of terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from ..errors import InputError
from .tree import Node, Tree, Value, fold

Step: TypeAlias = tuple[str, tuple[int, ...], Value | str | None]  # an operation on earlier steps
Key: TypeAlias = tuple[tuple[Step, ...], tuple[int, ...]]  # structure of a term: steps, and which of them are factors
Operation: TypeAlias = tuple[str, Sequence[int], int | float | str | None]  # on constants, as stored in JSON

SHORT_SUM, LONGEST_SQUARED = 16, 300
"""Squares of sums with more terms than this are expanded into pairs; beyond the next limit these are too many."""

MOST_TERMS = 100_000
"""Largest number of expanded terms; they are sorted in a few seconds."""


class Constants:
    """Parts without variables, each once, as operations on numbers and parameters; evaluated, never compiled."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.places: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        """The number of an operation on earlier constants; an operation on numbers becomes its value."""
        values = [self.nodes[place].number for place in node.arguments]
        if values and None not in values:
            node = Node("number", value=fold(node.operation, [value for value in values if value is not None]))
        if node not in self.places:
            self.places[node] = len(self.nodes)
            self.nodes.append(node)
        return self.places[node]

    def product(self, factors: list[int], *, negative: bool) -> int:
        """The number of a product of constants."""
        numbers = [number for f in factors if (number := self.nodes[f].number) is not None]
        others = sorted(f for f in factors if self.nodes[f].number is None)  # m1*m2 and m2*m1 are the same constant
        whole = fold("product", [-1 if negative else 1, *numbers])
        if whole != 1 or not others:
            others = [self.add(Node("number", value=whole)), *others]
        return others[0] if len(others) == 1 else self.add(Node("product", tuple(others)))

    def describe(self) -> list[Operation]:
        """The operations as JSON, for `evaluate`."""
        return [
            (n.operation, n.arguments, str(n.value) if isinstance(n.value, Fraction) else n.value) for n in self.nodes
        ]


def evaluate(described: Sequence[Operation], parameters: Mapping[str, float]) -> list[float]:
    """The values of constants.

    Raises
    ------
    ArithmeticError, ValueError : one of them is undefined, or not finite
    """
    values: list[Value] = []
    for operation, arguments, value in described:
        if isinstance(value, str):
            values.append(Fraction(value) if operation == "number" else parameters[value])
        elif value is not None:
            values.append(value)
        else:
            values.append(fold(operation, [values[place] for place in arguments]))
    return [float(value) for value in values]


@dataclass
class Shape:
    """Terms of a sum with the same structure.

    Attributes
    ----------
    tree : one of them, in the names x0, x1, ... of variables and c0, c1, ... of constants
    variables : for each term the variables that replace x0, x1, ..., by number
    constants : for each term the constants that replace c0, c1, ..., by number among the `Constants`
    same : the number of a constant, if it is the same in all terms, by its name
    """

    tree: Tree
    variables: list[tuple[int, ...]] = field(default_factory=list)
    constants: list[tuple[int, ...]] = field(default_factory=list)
    same: dict[str, int] = field(default_factory=dict)


def shapes_of(tree: Tree, variables: Mapping[str, tuple[int, str]], constants: Constants) -> list[Shape]:
    """The terms of a sum, sorted by shape, in the order of their first appearance.

    Constant factors are multiplied into sums, so (p1**2 + p2**2)/2 is two terms; squares of long sums become pairs of
    their terms.

    Parameters
    ----------
    variables : name -> number and kind; a shape has variables of the same kinds in all its terms
    constants : collects the parts without variables
    """
    splitter = _Splitter(tree, variables, constants)
    found: dict[Key, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {}
    for coefficient, factors in splitter.terms(len(tree.nodes) - 1):
        key, used, holes = splitter.shape(factors)
        rows = found.setdefault(key, ([], []))
        rows[0].append(used)
        rows[1].append((coefficient, *holes))
    return [_shape(key, *rows, constants, tree.what) for key, rows in found.items()]


class _Splitter:
    """Splits one tree."""

    def __init__(self, tree: Tree, variables: Mapping[str, tuple[int, str]], constants: Constants) -> None:
        self.nodes, self.variables, self.constants = tree.nodes, variables, constants
        self.what, self.count = tree.what, 0
        self.fixed: list[int | None] = []  # number among the constants, for parts without variables
        for node in tree.nodes:
            inner = [self.fixed[place] for place in node.arguments]
            moves = None in inner or (node.operation == "name" and node.value in variables)
            arguments = tuple(number for number in inner if number is not None)
            self.fixed.append(None if moves else constants.add(Node(node.operation, arguments, node.value)))

    def terms(self, whole: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """For each term of a part its constant factor and its other factors."""
        waiting: list[tuple[bool, list[int], int]] = [(False, [], whole)]
        while waiting:
            self.count_one()
            negative, known, place = waiting.pop()
            negative, fixed, moving = self.factors(place, negative)
            known = known + fixed
            if len(moving) == 1 and self.nodes[moving[0]].operation == "sum":
                waiting += [(negative, known, part) for part in reversed(self.nodes[moving[0]].arguments)]
            elif len(moving) == 1 and self.is_long_square(moving[0]):
                for twice, factors in self.squared(self.nodes[moving[0]].arguments[0]):
                    self.count_one()
                    yield self.constants.product([*known, *twice], negative=negative), factors
            else:
                yield self.constants.product(known, negative=negative), tuple(moving)

    def count_one(self) -> None:
        self.count += 1
        if self.count > MOST_TERMS:
            raise InputError(
                f"{self.what} has more than {MOST_TERMS} terms when squares of sums are multiplied out", where=self.what,
                do="write it with fewer or shorter squares",
            )  # fmt: skip

    def is_long_square(self, place: int) -> bool:
        """Whether a part is the square of a long sum, such as that of a mean field."""
        node = self.nodes[place]
        if node.operation != "power" or self.nodes[node.arguments[1]].number != 2:
            return False
        base = self.nodes[node.arguments[0]]
        return base.operation == "sum" and SHORT_SUM < len(base.arguments) <= LONGEST_SQUARED

    def squared(self, whole: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
        """The square of a sum as squares and products of pairs: constants and other factors of each."""
        parts = list(self.terms(whole))
        two = self.constants.add(Node("number", value=2))
        for i, (constant, factors) in enumerate(parts):
            yield [constant, constant], factors + factors
            for other, more in parts[i + 1 :]:
                yield [constant, other, two], factors + more

    def factors(self, place: int, negative: bool) -> tuple[bool, list[int], list[int]]:
        """Sign, constant factors and other factors of a part."""
        fixed: list[int] = []
        moving: list[int] = []
        waiting = [place]
        while waiting:
            place = waiting.pop()
            node, constant = self.nodes[place], self.fixed[place]
            if constant is not None:
                fixed.append(constant)
            elif node.operation == "negative":
                negative = not negative
                waiting.append(node.arguments[0])
            elif node.operation == "product":
                waiting += reversed(node.arguments)
            else:
                moving.append(place)
        return negative, fixed, moving

    def shape(self, factors: tuple[int, ...]) -> tuple[Key, tuple[int, ...], list[int]]:
        """The structure of the product of these factors; its variables and constants in the order of their places."""
        steps: list[Step] = []
        done: dict[int, int] = {}
        slots: dict[int, int] = {}
        holes: list[int] = []

        def literal(place: int, exponent: bool) -> Value | None:
            constant = self.fixed[place]
            return self.constants.nodes[constant].number if exponent and constant is not None else None

        def visit(place: int) -> int:
            node, constant = self.nodes[place], self.fixed[place]
            if constant is not None:
                holes.append(constant)
                steps.append(("constant", (len(holes),), None))
                return len(steps) - 1
            if place not in done:
                if node.operation == "name":
                    number, kind = self.variables[str(node.value)]
                    steps.append(("variable", (slots.setdefault(number, len(slots)),), kind))
                else:
                    arguments = []
                    for k, argument in enumerate(node.arguments):
                        power = literal(argument, node.operation == "power" and k == 1)
                        if power is not None:  # a square has another structure than a cube
                            steps.append(("number", (), power))
                            arguments.append(len(steps) - 1)
                        else:
                            arguments.append(visit(argument))
                    steps.append((node.operation, tuple(arguments), None))
                done[place] = len(steps) - 1
            return done[place]

        ends = [visit(factor) for factor in factors]
        return (tuple(steps), tuple(ends)), tuple(slots), holes


def _shape(
    key: Key, variables: list[tuple[int, ...]], constants: list[tuple[int, ...]], known: Constants, what: str
) -> Shape:
    """The shape of terms with this key: constants that never differ become numbers of its tree, if they are numbers."""
    columns = list(zip(*constants, strict=True))
    different = list(dict.fromkeys(columns))  # two constants that are equal in all terms are one
    values = [known.nodes[column[0]].number if len(set(column)) == 1 else None for column in different]
    kept = [column for column, value in zip(different, values, strict=True) if value is None]
    names = {column: f"c{k}" for k, column in enumerate(kept)}
    nodes: list[Node] = []
    places: dict[Node, int] = {}

    def add(node: Node) -> int:
        if node not in places:
            places[node] = len(nodes)
            nodes.append(node)
        return places[node]

    def constant(column: tuple[int, ...]) -> int:
        value = values[different.index(column)]
        return add(Node("name", value=names[column]) if value is None else Node("number", value=value))

    steps, ends = key
    done: list[int] = []
    for operation, arguments, value in steps:
        match operation:
            case "constant":
                done.append(constant(columns[arguments[0]]))
            case "variable":
                done.append(add(Node("name", value=f"x{arguments[0]}")))
            case "number":
                done.append(add(Node("number", value=value)))
            case _:
                done.append(add(Node(operation, tuple(done[place] for place in arguments))))
    factors = [constant(columns[0])] if values[0] != 1 or not ends else []
    factors += [done[end] for end in ends]
    if len(factors) > 1:
        add(Node("product", tuple(factors)))
    rows: list[tuple[int, ...]] = list(zip(*kept, strict=True)) if kept else [()] * len(variables)
    same = {name: column[0] for column, name in names.items() if len(set(column)) == 1}
    return Shape(Tree(tuple(_order(nodes, factors)), "", what), variables, rows, same)


def _order(nodes: list[Node], factors: list[int]) -> list[Node]:
    """The nodes with the root last: a single factor may come before others that it does not need."""
    return nodes if len(factors) > 1 else nodes[: factors[0] + 1]
