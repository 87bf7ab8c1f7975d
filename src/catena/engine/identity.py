"""Identity of a program: a digest of what its loop computes, whatever the names and order of its functions.

The bits of a run are determined by the operations of its kernels and their order, the literals in them, the tables of
the method and the parameters of the system. The digest covers exactly these. A function enters by its operations, so
the digest ignores names of functions and of their variables, comments, docstrings, annotations, files and the order of
definition. It also ignores the marks, which affect speed but not results: floating point is strict.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..disk_cache import remember
from ..kernels.marks import Kernel
from ..methods.base import Method
from ..systems.base import System
from . import headers, loop
from .arrays import Arrays
from .build import Crossing, program_parts
from .collector import Part, collect
from .trees import module_tree

OURS = __package__.partition(".")[0]
UNTOLD = frozenset({"ctx", "annotation", "returns", "type_comment", "type_params", "decorator_list", "kind", "name"})


def program_digest(
    system: System,
    method: Method,
    *,
    crossing: Crossing | None = None,
    entry: Kernel = loop.advance,
    kernels: Iterable[Kernel] = (),
    formulas: Iterable[Callable[..., object]] = (),
) -> str:
    """SHA-256 of what the loop of this pair computes.

    Parameters
    ----------
    system, method, crossing, entry : as for `catena.engine.build.program_parts`
    kernels, formulas : other code that determines the stored numbers: single kernels, and functions of plain Python
    """
    view, stepper, parts = program_parts(system, method, crossing=crossing, entry=entry)
    arrays = Arrays.of(system, view, stepper).named_in(parts).together
    words = [headers.STRICT, parts_digest(parts), _array_digest(stepper.tab)]
    words += [f"{name} {_array_digest(arrays[name])}" for name in sorted(arrays)]
    words += [parts_digest(collect(kernel, {})) for kernel in kernels]
    words += [formula_digest(formula) for formula in formulas]
    return _sha256("\n".join(words))


def parts_digest(parts: Sequence[Part]) -> str:
    """Digest of collected functions and tables: that of the last one, which includes the others through its calls."""

    def made() -> str:
        known: dict[str, str] = {}
        for part in parts:
            definition = module_tree(part.text).body[0]
            if isinstance(definition, ast.FunctionDef):
                known[part.name] = _definition_digest(definition, known)
            else:  # a table, without its name
                known[part.name] = _sha256(part.text.removeprefix(part.name))
        return known[parts[-1].name]

    return remember("\n".join(part.text for part in parts), made)  # cached, because long texts take a tenth of a second


def formula_digest(function: Callable[..., object]) -> str:
    """Digest of a function of plain Python, and of the functions of catena that it calls."""
    assert isinstance(function, types.FunctionType)
    definition = module_tree(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    known = {}
    for name in {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}:
        value = function.__globals__.get(name)
        if isinstance(value, types.FunctionType) and value.__module__.startswith(OURS) and value is not function:
            known[name] = formula_digest(value)
        elif isinstance(value, (int, float, tuple)):
            known[name] = repr(value)
    return _definition_digest(definition, known)


def _definition_digest(definition: ast.FunctionDef, known: Mapping[str, str]) -> str:
    """Digest of a function and the names that it uses, each with its meaning."""
    arguments = [node.arg for node in ast.walk(definition) if isinstance(node, ast.arg)]
    stored = [n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    own = {name: f"v{number}" for number, name in enumerate(dict.fromkeys([*arguments, *stored]))}
    words: list[str] = []
    _write(definition, {**known, **own}, words)
    return _sha256(" ".join(words))


def _write(node: object, names: Mapping[str, str], words: list[str]) -> None:
    """The tree of a text as words, independent of the version of Python."""
    if isinstance(node, list):
        words.append("[")
        for inner in node:
            if not _is_documentation(inner):
                _write(inner, names, words)
        words.append("]")
    elif isinstance(node, ast.Name):
        words.append(names.get(node.id, node.id))
    elif isinstance(node, ast.arg):
        words.append(names[node.arg])
    elif isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for field, inner in ast.iter_fields(node):
            if field not in UNTOLD:
                _write(inner, names, words)
        words.append(";")
    else:
        words.append(repr(node))


def _is_documentation(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _array_digest(array: np.ndarray) -> str:
    array = np.ascontiguousarray(array)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return f"{little.dtype.str} {little.shape} {hashlib.sha256(little.data).hexdigest()}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
