"""A generated text as plain Python with the files and lines of the kernels, for tracebacks and debuggers."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from ..kernels.marks import Kernel
from .collector import Part, source_of
from .trees import module_tree


def interpret_in_place(text: str, parts: Sequence[Part]) -> types.ModuleType:
    """A generated text as a module of plain Python functions, each with the file and the lines of its kernel."""
    made = types.ModuleType("catena_interpreted")
    kernels = {part.name: part.kernel for part in parts} | {"advance": parts[-1].kernel}
    for node in module_tree(text).body:
        filename = "<interpreted>"
        if isinstance(node, ast.FunctionDef) and (kernel := kernels.get(node.name)) is not None:
            filename = _move(node, kernel)
        exec(compile(ast.Module([node], []), filename, "exec"), made.__dict__)
    return made


def _move(function: ast.FunctionDef, kernel: Kernel) -> str:
    """Give a function the line numbers of its kernel; returns the file."""
    filename, first, body = source_of(kernel)
    _set_line(function, first)
    here, there = _statements(function.body), _statements(body)
    if len(here) == len(there):  # a size that became a literal is another function
        for mine, theirs in zip(here, there, strict=True):
            _set_line(mine, first - 1 + theirs.lineno)
    return filename


def _statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """All statements, outer ones first; bare annotations are not part of a generated text."""
    found = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.stmt)]
    return [node for node in found if not (isinstance(node, ast.AnnAssign) and node.value is None)]


def _set_line(statement: ast.stmt, line: int) -> None:
    for node in ast.walk(statement):
        if isinstance(node, (ast.expr, ast.stmt, ast.arg)):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
