"""Bounds checks: a generated module that compares every subscript with the size of its array.

Compiled code does not check subscripts: one beyond the end accesses memory outside the array, and a negative one counts
from the end. With `CATENA_DEBUG=1` in the environment, every subscript and both edges of every slice are checked, in
compiled code and in plain Python.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection
from dataclasses import replace

from .collector import Part
from .trees import module_tree

VARIABLE = "CATENA_DEBUG"

# Literal subscripts are left alone: numba needs them to index tuples of different types, and numba
# (`boundscheck`) or Python finds those beyond the end.
COMPILED = """\
_strict = dict(error_model="numpy", fastmath=False, _nrt=False, boundscheck=True)
_fn = _apart = njit(**_strict, **_inner)
_inline = njit(inline="always", **_strict, **_inner)
@_fn
def _at(index, size):
    if index < 0 or index >= size:
        raise IndexError
    return index
@_fn
def _row(index, size):
    if index < -1 or index >= size:
        raise IndexError
    return index
@_fn
def _edge(index, size):
    if index < 0 or index > size:
        raise IndexError
    return index
"""
PLAIN = "from catena.engine.bounds import at as _at, edge as _edge, row as _row\n"


def are_wanted() -> bool:
    """Whether the environment asks for checks."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def at(index: int, size: int) -> int:
    """An index into an axis of this size."""
    if not 0 <= index < size:
        raise IndexError(f"element {index} of {size}")
    return index


def row(index: int, size: int) -> int:
    """An index into an axis of this size, -1 being the last."""
    if not -1 <= index < size:
        raise IndexError(f"element {index} of {size}")
    return index


def edge(index: int, size: int) -> int:
    """Where a slice of an axis of this size begins or ends."""
    if not 0 <= index <= size:
        raise IndexError(f"a slice from or to element {index} of {size}")
    return index


def add_checks(part: Part, with_ground: Collection[str]) -> Part:
    """The same function with every subscript checked; in some arrays -1 is the last row (`System.with_ground`)."""
    return replace(part, text=add_checks_to_text(part.text, with_ground))


def add_checks_to_text(text: str, with_ground: Collection[str] = ()) -> str:
    """The text with every subscript checked."""
    return ast.unparse(_Look(with_ground).visit(module_tree(text))) + "\n"


class _Look(ast.NodeTransformer):
    """Rewrites `a[i, k:]` as `a[_at(i, len(a)), _edge(k, a.shape[1]):]`."""

    def __init__(self, with_ground: Collection[str]) -> None:
        self.with_ground = with_ground

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.value, "id", getattr(node.value, "attr", ""))  # a local name, or an array of par
        check = "_row" if name in self.with_ground else "_at"
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [_look(check, index, node.value, axis) for axis, index in enumerate(node.slice.elts)]
        else:
            node.slice = _look(check, node.slice, node.value, 0)
        return node


def _look(check: str, index: ast.expr, array: ast.expr, axis: int) -> ast.expr:
    """A checked index along an axis."""
    if isinstance(index, ast.Slice):
        lower, upper = (part and _call("_edge", part, array, axis) for part in (index.lower, index.upper))
        return ast.Slice(lower=lower, upper=upper, step=index.step)
    return index if isinstance(index, ast.Constant) else _call(check, index, array, axis)


def _call(check: str, index: ast.expr, array: ast.expr, axis: int) -> ast.expr:
    size: ast.expr = ast.Call(ast.Name("len", ast.Load()), [array], [])
    if axis > 0:  # only arrays have more than one axis; for the first axis len also works for tuples
        size = ast.Subscript(ast.Attribute(array, "shape", ast.Load()), ast.Constant(axis), ast.Load())
    return ast.Call(ast.Name(check, ast.Load()), [index, size], [])
