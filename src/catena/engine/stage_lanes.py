"""A field evaluated for all stages of a step at once: each stage is a lane of vector registers in an ordinary program.

The kernels for one stage are compiled once more for lanes (`catena.engine.lane_types`): parameters stay numbers, the
state and the arrays that the field writes to become arrays of lanes. So no equation has a second form, and each stage
has the same bits as on its own.

This requires kernels that do the same in all lanes, which is decided from their text, before compiling: values are
followed from the state through every call, and a branch on one, a function that exists for numbers only, or a store
into an array of numbers rules lanes out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from ..kernels.lanes import ON_LANES
from ..methods.base import SideBySide
from .collector import Part
from .headers import ArrayType
from .lane_loop import version_of_lanes
from .trees import module_tree

Kind: TypeAlias = frozenset[str]  # of a value: the attribute names that lead from it to lanes

NUMBERS: Kind = frozenset()  # numbers, and everything made of them
LANES: Kind = frozenset({"*"})  # lanes, an array or a tuple of them
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
POWERS = range(1, 2**16)  # exponents that `lane_types` supports
# functions that accept lanes, with their numbers of arguments; the result has lanes if an argument has
OF_LANES = {
    "abs": [1], "min": range(2, 9), "max": range(2, 9), "_multiply_add": [3], "_chosen": [3], "_held": [1], "_linked": [1], "_spun": [3],
}  # fmt: skip
OF_LANES_IN_MATH = {"sqrt", "fabs", "copysign"}
OF_ALL_LANES = {"len", "_holds"}  # their result is the same for all lanes
VIEWED, GATHERED = "_side_by_side", "_on_lanes"
CALL = f"{GATHERED}("

COMPILED = """\
# lanes {version}
from catena.engine import lane_types as _lane_types
_multiply_add, _holds, _chosen = _lane_types.multiply_add, _lane_types.holds, _lane_types.chosen
_side_by_side = _lane_types.side_by_side({lanes})
@share(njit(forceinline=True, **_strict, **_inner), "within")
"""
PLAIN = """\
from catena.engine.plain_lanes import largest as max, smallest as min
from catena.engine.plain_lanes import chosen as _chosen, holds as _holds, multiply_add as _multiply_add, side_by_side as _side_by_side
"""
GATHER = """\
def _on_lanes(par, {given}):
    return Parameters({fields})
"""


class _Apart(Exception):
    """These kernels must evaluate one stage at a time."""


def can_stand_side_by_side(parts: Sequence[Part]) -> bool:
    """Whether everything that is called with lanes does the same in each of them."""
    return _can_stand(tuple((part.name, part.text) for part in parts if part.mark not in ("table", "vector")))


@cache
def _can_stand(texts: tuple[tuple[str, str], ...]) -> bool:
    followed = _Followed({name: _definition(text) for name, text in texts})
    try:
        for name, text in texts:
            if CALL in text:
                followed.follow(name, ())
    except _Apart:
        return False
    return True


@cache
def _definition(text: str) -> ast.FunctionDef:
    function = module_tree(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


class _Followed:
    """Finds which values of some functions are lanes."""

    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self.functions = functions
        self.known: dict[tuple[str, tuple[Kind, ...]], Kind] = {}

    def follow(self, name: str, given: tuple[Kind, ...]) -> Kind:
        """Kind of a function's result for arguments of these kinds; numbers if `given` is empty."""
        if (name, given) not in self.known:
            function = self.functions[name]
            names = [argument.arg for argument in function.args.args]
            values = _Values(self, dict(zip(names, given or [NUMBERS] * len(names), strict=True)))
            before = None
            while before != values.kinds:  # repeated, because lanes at the end of a loop are lanes at its beginning
                before = dict(values.kinds)
                values.take(function.body)
            self.known[name, given] = values.returned
        return self.known[name, given]


class _Values:
    """Kinds of the local values of one function."""

    def __init__(self, followed: _Followed, kinds: dict[str, Kind]) -> None:
        self.followed, self.kinds, self.returned = followed, kinds, NUMBERS

    def take(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign():
                    for target in statement.targets:
                        self._assign(target, statement.value)
                case ast.AugAssign():
                    self._keep(statement.target, self._operate(statement.op, statement.target, statement.value))
                case ast.Return():
                    self.returned |= self.of(statement.value)
                case ast.If() | ast.While():
                    self._plain(statement.test)
                    self.take([*statement.body, *statement.orelse])
                case ast.For():
                    self._plain(statement.iter)
                    self.take([*statement.body, *statement.orelse])
                case ast.Expr():
                    self.of(statement.value)
                case ast.Pass() | ast.Break() | ast.Continue():
                    pass
                case _:
                    raise _Apart

    def of(self, value: ast.expr | None) -> Kind:
        """The kind of an expression."""
        match value:
            case None | ast.Constant():
                return NUMBERS
            case ast.Name():
                return self.kinds.get(value.id, NUMBERS)
            case ast.Attribute():
                return self._look_up(self.of(value.value), value.attr)
            case ast.Subscript():
                self._plain(value.slice)
                return self.of(value.value)
            case ast.Tuple():
                return NUMBERS.union(*map(self.of, value.elts))
            case ast.BinOp():
                return self._operate(value.op, value.left, value.right)
            case ast.UnaryOp():
                return self.of(value.operand) if isinstance(value.op, ast.USub) else self._plain(value.operand)
            case ast.Compare() if len(value.ops) == 1:
                return self.of(value.left) | self.of(value.comparators[0])
            case ast.IfExp():
                self._plain(value.test)
                return self.of(value.body) | self.of(value.orelse)
            case ast.Call():
                return self._call(value)
        return self._plain(*ast.iter_child_nodes(value))

    def _plain(self, *values: ast.AST) -> Kind:
        """Require a number here."""
        if any(self.of(value) for value in values if isinstance(value, ast.expr)):
            raise _Apart
        return NUMBERS

    def _look_up(self, kind: Kind, name: str) -> Kind:
        return LANES if name != "shape" and (kind == LANES or name in kind) else NUMBERS

    def _operate(self, operation: ast.operator, left: ast.expr, right: ast.expr) -> Kind:
        if isinstance(operation, ARITHMETIC):
            return self.of(left) | self.of(right)
        if isinstance(operation, ast.Pow) and isinstance(right, ast.Constant) and type(right.value) is int:
            return self.of(left) if right.value in POWERS else self._plain(left)
        return self._plain(left, right)

    def _call(self, call: ast.Call) -> Kind:
        function = call.func
        if isinstance(function, ast.Attribute):  # of `math`
            exact = function.attr in OF_LANES_IN_MATH
            return NUMBERS.union(*map(self.of, call.args)) if exact else self._plain(*call.args)
        assert isinstance(function, ast.Name)
        if function.id == VIEWED:
            return LANES
        if function.id == GATHERED:
            named = {node.attr for array in call.args for node in ast.walk(array) if isinstance(node, ast.Attribute)}
            return frozenset(name.removeprefix(ON_LANES) for name in named)
        given = tuple(map(self.of, call.args))
        by_name = [keyword.value for keyword in call.keywords]
        if not any(given) or by_name or function.id in OF_ALL_LANES:
            return self._plain(*by_name, *(call.args if by_name else ()))
        if function.id in self.followed.functions:
            return self.followed.follow(function.id, given)
        if len(given) in OF_LANES.get(function.id, ()):
            return NUMBERS.union(*given)
        raise _Apart

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._assign(one, its)
        else:
            self._keep(target, self.of(value))

    def _keep(self, target: ast.expr, kind: Kind) -> None:
        if isinstance(target, ast.Tuple):
            for one in target.elts:
                self._keep(one, kind)
        elif isinstance(target, ast.Name):
            self.kinds[target.id] = self.kinds.get(target.id, NUMBERS) | kind
        elif kind and not self.of(target):  # lanes stored into an array of numbers
            raise _Apart


def stage_header(parts: Sequence[Part], par: Sequence[ArrayType], step: SideBySide, *, compiled: bool) -> str:
    """End of the header of a module that has such parts, those of this step; empty if there are none."""
    if not any(CALL in part.text for part in parts):
        return ""
    given = [name for name, _, _ in par if name.startswith(ON_LANES)]
    own = {name.removeprefix(ON_LANES): name for name in given}
    fields = ", ".join(own.get(name, f"par.{name}") for name, _, _ in par)
    first = COMPILED.format(version=version_of_lanes(), lanes=step.lanes) if compiled else PLAIN
    return first + GATHER.format(given=", ".join(given), fields=fields)
