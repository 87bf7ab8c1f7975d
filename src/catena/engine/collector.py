"""Collects kernels, and all they use, into functions of one generated module.

A kernel is a plain function; its source is read, its global names are replaced by names of the
generated module, and the functions that it calls are collected first. Slots are replaced by their fillings,
sizes by literals. The result imports nothing of catena's kernels, so its text is complete.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import math
import re
import sys
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..kernels.elementary import FUNCTIONS
from ..kernels.marks import Bound, Filling, Kernel, Record, Slot, Table, Written
from .trees import expression_tree, module_tree

BUILTINS = {"range", "len", "abs", "min", "max", "int", "float", "bool", "divmod"}
FOREIGN = set(sys.stdlib_module_names) | {"numpy", "scipy", "numba", "sympy"}
REFUSED = {
    ast.Lambda: "a lambda", ast.FunctionDef: "a function in a function", ast.ClassDef: "a class",
    ast.ListComp: "a comprehension", ast.SetComp: "a comprehension", ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator", ast.Try: "try", ast.Raise: "raise", ast.With: "with", ast.Global: "global",
    ast.Nonlocal: "nonlocal", ast.Import: "an import", ast.ImportFrom: "an import", ast.Assert: "assert",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.Await: "await", ast.JoinedStr: "an f-string",
    ast.Starred: "a star", ast.List: "a list", ast.Dict: "a dict", ast.Set: "a set", ast.Delete: "del",
    ast.NamedExpr: "a walrus",
}  # fmt: skip
OF_PAR = re.compile(r"\bpar\.(\w+)")
OF_MATH = re.compile(r"\bmath\.(\w+)\b")
FILL = "fill it in the view of the system, or bind it in the stepper of the method"

Fills = dict[Slot, Filling]
Key = tuple[Filling, frozenset[tuple[object, ...]]]  # a kernel, and the fillings of its slots
Path = tuple[str, ...]  # of attributes, starting from a global name


@dataclass(frozen=True)
class Part:
    """One function of the generated module, and the kernel that it was made from (the text has no files and lines)."""

    name: str
    mark: str  # "fn", "apart", "inline", "within" or "vector"; "table" for a constant array
    origin: str
    text: str
    kernel: Kernel | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def parameters(self) -> frozenset[str]:
        """The names of arrays of `par` in the text."""
        return frozenset(OF_PAR.findall(self.text))


def collect(entry: Kernel, fills: Mapping[Slot, Filling]) -> list[Part]:
    """The functions that `entry` needs, with slots filled from `fills`: callees first, `entry` last."""
    key = (entry, frozenset((slot, type(filling), filling) for slot, filling in fills.items()))  # tells 1 from True
    variants = _collected.setdefault(key, [])
    kept = next((variant for variant in variants if variant.holds()), None)
    if kept is None:
        kept = _Collector()
        kept.name_of(entry, dict(fills))
        variants.append(kept)
    return list(kept.parts)


class _Collector:
    """Collects for one entry. It records its lookups, so that a later call can check that they are still valid."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.names: dict[tuple[str, str, str], str] = {}  # (stem, mark, text) -> name
        self.known: dict[Key, str] = {}  # memo; without it each path of the call graph would be walked
        self.open: list[Key] = []
        self.used: list[tuple[Mapping[str, object], str, object]] = []  # namespace, name, value found

    def holds(self) -> bool:
        """Whether all lookups would find the same objects again."""
        return all(names.get(name) is value for names, name, value in self.used)

    def name_of(self, kernel: Filling, fills: Fills) -> str:
        """The name of `kernel` in the module; collects it if necessary."""
        key = (kernel, frozenset(fills.items()))
        if key not in self.known:
            if key in self.open:
                raise _refusal(kernel, "calls itself; recursion is not possible in a kernel")
            self.open.append(key)
            self.known[key] = self._enter(kernel, fills)
            self.open.pop()
        return self.known[key]

    def _enter(self, kernel: Filling, fills: Fills) -> str:
        if isinstance(kernel, Bound):
            return self.name_of(kernel.function, {**fills, **dict(kernel.fills)})
        if isinstance(kernel, Written):
            return self._enter_written(kernel, fills)
        mark = getattr(kernel, "__mark__", None)
        if _is_open(kernel, fills):  # the entry itself; a caller would have been named
            raise _refusal(kernel, f"nothing fills this slot: {_purpose(kernel)}", do=FILL)
        if callable(kernel) and (mark in ("slot", None)) and kernel in fills:
            _check_contract(kernel, fills[kernel])
            outside = {k: v for k, v in fills.items() if k is not kernel}  # a filling never sees itself
            return self.name_of(fills[kernel], outside)
        kernel = _plain_function(kernel)
        if mark == "provided":
            return f"_{kernel.__name__}"
        read = _read(kernel)
        stem = stem_of(kernel)
        origin = f"{kernel.__module__}.{kernel.__name__}"
        if mark == "size" and kernel in fills:
            literal = _literal(fills[kernel])
            if literal is None:
                raise _refusal(kernel, f"the size is {fills[kernel]!r}; only a number can be a size")
            text = _unparse(kernel, read.tree(), [ast.Return(expression_tree(literal))])
            return self._name(kernel, stem, "fn", f"{origin}, literal", text)
        mark = mark if mark in ("apart", "inline", "within", "vector") else "fn"
        return self._name(kernel, stem, mark, origin, self._rewritten(read, fills))

    def _enter_written(self, written: Written, fills: Fills) -> str:
        read = _read_written(written)
        stem = f"{written.origin.split('.', 1)[-1].replace('.', '_')}_{written.name}"
        mark = "inline" if written.inline else "fn"
        origin = f"{written.origin}.{written.name}, written"
        if isinstance(read, _Read):
            text = self._rewritten(read, fills)
        else:
            text = OF_MATH.sub(lambda found: self._function_of_math(found[1], fills), read)
        return self._name(written, stem, mark, origin, text)

    def _rewritten(self, read: _Read, fills: Fills) -> str:
        """The text of a kernel with the names of the module in it; cached by these names."""
        found = tuple(self._resolve(read.function, node, path, fills) for path, node in read.references.items())
        if found not in read.texts:
            read.texts[found] = read.with_names(dict(zip(read.references, found, strict=True)))
        return read.texts[found]

    def _name(self, kernel: Kernel | None, stem: str, mark: str, origin: str, text: str) -> str:
        """The name of a function (or table) with this text; reused if the same text is there already."""
        key = (stem, mark, text)
        if key not in self.names:
            taken = set(self.names.values())  # another kernel may be called foo_2
            wanted = itertools.chain([stem], (f"{stem}_{k}" for k in itertools.count(2)))
            name = next(candidate for candidate in wanted if candidate not in taken)
            self.names[key] = name
            text = f"{name} = {text}" if mark == "table" else text.replace("def _(", f"def {name}(", 1)
            self.parts.append(Part(name, mark, origin, text, kernel))
        return self.names[key]

    def _resolve(self, function: types.FunctionType, node: ast.AST, path: Path, fills: Fills) -> str:
        """The expression that replaces a global name (or a dotted path from one) in the module."""
        name = path[0]
        if name in function.__globals__:
            value = function.__globals__[name]
            self.used.append((function.__globals__, name, value))
        elif name in BUILTINS and len(path) == 1:
            return name
        else:
            raise _refusal(function, f"{name} is not defined, or not allowed in a kernel", node)
        dotted = ".".join(path)
        for attribute in path[1:]:
            if not isinstance(value, types.ModuleType) and not _is_record(value):
                raise _refusal(function, f"{dotted}: only modules and records may be looked into", node)
            names = vars(value)
            value = getattr(value, attribute)
            self.used.append((names, attribute, value))
        own_name = getattr(value, "__name__", "")
        if own_name and getattr(math, own_name, None) is value:
            return self._function_of_math(own_name, fills)
        if isinstance(value, Table):
            return self._table(dotted, value)
        if getattr(value, "__mark__", None) == "choice":
            value = fills.get(value, value())
            if _literal(value) is None:
                raise _refusal(function, f"the choice {dotted} is {value!r}; only a number can be a choice", node)
        text = _literal(value)
        if text is not None:
            return text
        if isinstance(value, (Bound, Written)):
            return self.name_of(value, fills)
        if isinstance(value, types.FunctionType):
            if value.__module__.split(".")[0] in FOREIGN:
                raise _refusal(function, f"{dotted} comes from {value.__module__}; use kernels and math only", node)
            if _is_open(value, fills):
                raise _refusal(
                    function, f"calls the slot {dotted}, which nothing fills: {_purpose(value)}", node, do=FILL
                )
            return self.name_of(value, fills)
        hint = {
            "ndarray": "pass arrays through par or tab, or make it a tuple",
            "CPUDispatcher": "take the njit off, the engine compiles it",
            "ufunc": "use math",
        }.get(type(value).__name__, "only numbers, tuples of numbers and functions can be used")
        raise _refusal(function, f"{dotted} is a {type(value).__name__}; {hint}", node)

    def _function_of_math(self, name: str, fills: Fills) -> str:
        """A function of `math`, replaced by one of ours unless it is exact on every machine."""
        return self.name_of(FUNCTIONS[name], fills) if name in FUNCTIONS else f"math.{name}"

    def _table(self, dotted: str, values: Table[int] | Table[float]) -> str:
        """The name of a constant array."""
        stem = f"table_{dotted.rpartition('.')[2].lower()}"
        return self._name(None, stem, "table", dotted, f"_table({_literal(values)})")


# Reading and rewriting source takes far longer than checking lookups. An object that was looked up may be replaced, and
# restored later.
_collected: dict[Key, list[_Collector]] = {}


class _Read:
    """A kernel's source: the names that it takes from its module, in order, and the texts with these replaced."""

    def __init__(self, function: types.FunctionType, source: str) -> None:
        self.function = function
        self.source = source
        self.texts: dict[tuple[str, ...], str] = {}
        self.references: dict[Path, ast.AST] = {}
        tree = self.tree()
        _arguments(function, tree)
        self._rewrite(tree, self._note)

    def tree(self) -> ast.FunctionDef:
        """The definition, as a new tree that may be changed."""
        tree = module_tree(self.source).body[0]
        assert isinstance(tree, ast.FunctionDef)
        return tree

    def with_names(self, names: Mapping[Path, str]) -> str:
        """The text as a function `_`, with the names of its module replaced."""
        tree = self.tree()
        return _unparse(self.function, tree, self._rewrite(tree, lambda node, path: expression_tree(names[path])))

    def _note(self, node: ast.AST, path: Path) -> ast.expr:
        self.references.setdefault(path, node)
        return ast.Constant(0)  # a placeholder

    def _rewrite(self, tree: ast.FunctionDef, resolve: Callable[[ast.AST, Path], ast.expr]) -> list[ast.stmt]:
        rewrite = _Rewrite(self.function, resolve)
        return [node for node in map(rewrite.visit, _body(tree)) if node is not None]


def _unparse(function: types.FunctionType, tree: ast.FunctionDef, body: list[ast.stmt]) -> str:
    made = ast.FunctionDef("_", _arguments(function, tree), body, [], None, lineno=1)
    vars(made)["type_params"] = []  # required since Python 3.12
    return ast.unparse(made)


class _Rewrite(ast.NodeTransformer):
    """Replaces global names by names of the module, drops annotations and refuses unsupported statements."""

    def __init__(self, function: types.FunctionType, resolve: Callable[[ast.AST, Path], ast.expr]) -> None:
        self.function = function
        self.resolve = resolve
        self.local = set(function.__code__.co_varnames)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if type(node) in REFUSED:
            raise _refusal(self.function, f"{REFUSED[type(node)]} is not allowed in a kernel", node)
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            raise _refusal(self.function, "a string is not allowed in a kernel", node)
        return super().generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id in self.local else self._resolved(node, (node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        path: list[str] = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id not in self.local:
            return self._resolved(node, (inner.id, *path))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        path = [node.func.id] if isinstance(node.func, ast.Name) else []
        function = self.function.__globals__.get(path[0]) if path and path[0] not in self.local else None
        self.generic_visit(node)
        if isinstance(node.func, ast.Constant):  # the call of a choice
            return node.func
        if getattr(function, "__mark__", None) == "within":
            node.args = [_plain_integer(argument) for argument in node.args]
        return node

    def _resolved(self, node: ast.AST, path: Path) -> ast.expr:
        expression = self.resolve(node, path)
        for inner in ast.walk(expression):
            if isinstance(inner, ast.Name) and inner.id in self.local:
                raise _refusal(self.function, f"the local name {inner.id} hides what {'.'.join(path)} becomes", node)
        return expression


def _is_open(kernel: Filling, fills: Fills) -> bool:
    """Whether it is a slot without a filling and without a default body."""
    is_slot = getattr(kernel, "__mark__", None) == "slot" and not hasattr(kernel, "__optional__")
    return is_slot and kernel not in fills


def _purpose(slot: object) -> str:
    """The purpose of a slot: the first line of its docstring."""
    return (inspect.getdoc(slot) or "it has no docstring").partition("\n")[0]


def _refusal(function: object, wrong: str, node: ast.AST | None = None, *, do: str = "") -> InputError:
    plain = getattr(function, "py_func", getattr(function, "func", function))  # of numba, of functools.partial
    code = getattr(plain, "__code__", None)
    if code is None:
        return InputError(f"kernel {function!r}: {wrong}", do=do)
    line = code.co_firstlineno + (getattr(node, "lineno", 1) - 1)
    name = f"{plain.__module__}.{code.co_qualname}"
    return InputError(f"kernel {name}: {wrong}", where=f"{code.co_filename}:{line}", do=do)


def stem_of(kernel: Callable[..., object]) -> str:
    """How the name of a kernel in a generated module begins; a number follows if several share it."""
    module = re.sub(
        r"\W", "_", kernel.__module__.split(".", 1)[-1]
    )  # a script that is run may be a module called <run_path>
    return f"{module.strip('_')}_{kernel.__name__}"


def _plain_function(kernel: object) -> types.FunctionType:
    if not isinstance(kernel, types.FunctionType):
        hint = "; take the njit off, the engine compiles it" if hasattr(kernel, "py_func") else ""
        raise _refusal(kernel, f"is a {type(kernel).__name__}, not a plain Python function{hint}")
    return kernel


def _read(function: types.FunctionType) -> _Read:
    """A plain function with its source, checked against the code that Python runs."""
    if function.__name__ == "<lambda>":
        raise _refusal(function, "a lambda cannot be a kernel; write a def in a module")
    if hasattr(function, "__wrapped__"):
        raise _refusal(function, "is wrapped by a decorator; kernels carry only the marks of catena.kernels.marks")
    if function.__closure__ or "<locals>" in function.__qualname__:
        raise _refusal(function, "is defined inside a function; move it to module level")
    if function.__defaults__ or function.__kwdefaults__:
        raise _refusal(function, "default arguments are not allowed in a kernel")
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        raise _refusal(function, "has no source; a kernel must live in a file, not in a prompt") from None
    kept = _known.get(function)
    if kept is None or kept[0] is not lines or kept[1] is not function.__code__:
        kept = _known[function] = lines, function.__code__, _Read(function, _source(function, lines))
    return kept[2]


# function -> the lines of its file (the same list object, which `linecache` replaces when the file changes), its code
_known: dict[types.FunctionType, tuple[list[str], types.CodeType, _Read]] = {}


def _source(function: types.FunctionType, lines: list[str]) -> str:
    """The source of a function; refused if its file was edited after import: old function, new text.

    The whole file is compiled, because compiling one function alone can give other bytecode.
    """
    code = function.__code__
    found, end = _definitions("".join(lines), code.co_filename).get((code.co_qualname, code.co_firstlineno), (None, 0))
    if found != code:
        raise _refusal(function, "its file has changed since it was imported; restart Python")
    return textwrap.dedent("".join(lines[code.co_firstlineno - 1 : end]))


@functools.lru_cache(None)
def _definitions(text: str, filename: str) -> dict[tuple[str, int], tuple[types.CodeType, int]]:
    """Code and last line of all functions of a file, by qualified name and first line."""
    tree = module_tree(text)
    ends = {
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node.end_lineno or 0
        for node in tree.body  # kernels are at module level
        if isinstance(node, ast.FunctionDef)
    }
    found = {}
    todo = [compile(tree, filename, "exec", dont_inherit=True)]
    while todo:
        code = todo.pop()
        found[code.co_qualname, code.co_firstlineno] = code, ends.get(code.co_firstlineno, 0)
        todo += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return found


@functools.lru_cache(None)
def _stand_in(written: Written) -> types.FunctionType:
    """A generated kernel as a function, as if it had been imported."""
    compiled = compile(written.text, f"<written by {written.origin}>", "exec")
    code = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    function = types.FunctionType(code, {**dict(written.uses), "math": math}, written.name)
    function.__module__ = written.origin
    return function


@functools.lru_cache(None)
def _read_written(written: Written) -> _Read | str:
    """A generated kernel; only its text, as a function `_`, if nothing in it is to be replaced."""
    stand_in = _stand_in(written)
    tree = module_tree(written.text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    _arguments(stand_in, tree)
    if not written.uses and _is_plain(stand_in, tree):  # the longest kernels are of this kind
        return written.text.replace(f"def {written.name}(", "def _(", 1)
    return _Read(stand_in, written.text)


def _is_plain(function: types.FunctionType, tree: ast.FunctionDef) -> bool:
    """Whether a text needs no rewriting: it uses only local names, `math` and builtins."""
    known = {"math", *BUILTINS, *function.__code__.co_varnames}
    for node in (node for statement in tree.body for node in ast.walk(statement)):
        if type(node) in REFUSED or (isinstance(node, ast.Name) and node.id not in known):
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            return False
    return True


def _body(tree: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a kernel without its docstring."""
    first = tree.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return tree.body[1:] or [ast.Pass(lineno=first.lineno)]
    return tree.body


def source_of(kernel: Kernel) -> tuple[str, int, list[ast.stmt]]:
    """File and first line of a kernel, and its statements (lines relative to it); generated text is its own file."""
    if isinstance(kernel, Written):
        filename = f"<{kernel.origin}.{kernel.name}>"
        linecache.cache[filename] = (len(kernel.text), None, kernel.text.splitlines(keepends=True), filename)
        tree = module_tree(kernel.text).body[0]
        assert isinstance(tree, ast.FunctionDef)
        return filename, 1, _body(tree)
    function = _plain_function(kernel)
    return function.__code__.co_filename, function.__code__.co_firstlineno, _body(_read(function).tree())


def _arguments(function: types.FunctionType, tree: ast.FunctionDef) -> ast.arguments:
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise _refusal(function, "only plain positional parameters are allowed")
    for argument in arguments.posonlyargs + arguments.args:
        argument.annotation = None
    return arguments


def _check_contract(slot: Slot, filling: Filling) -> None:
    """A kernel that fills a slot has the slot's parameters, by name and order."""
    while isinstance(filling, Bound):
        filling = filling.function
    if isinstance(filling, Written):
        filling = _stand_in(filling)
    wanted = list(inspect.signature(slot).parameters.values())
    if not isinstance(filling, types.FunctionType) or any(p.kind is p.VAR_POSITIONAL for p in wanted):
        return
    seen = tuple(inspect.signature(filling).parameters)
    promised = tuple(p.name for p in wanted)
    if seen != promised:
        raise _refusal(filling, f"has parameters {seen}, but slot {slot.__name__} promises {promised}")


def _plain_integer(argument: ast.expr) -> ast.expr:
    """An integer that is not a literal: numba compiles a function anew for each literal.

    A function that is always inlined gains nothing from a literal.
    """
    parts = list(ast.walk(argument))
    constants = [part.value for part in parts if isinstance(part, ast.Constant)]
    plain = all(isinstance(part, (ast.Constant, ast.BinOp, ast.operator)) for part in parts)
    if not plain or not all(type(value) is int for value in constants):
        return argument
    return ast.Call(ast.Name("int", ast.Load()), [argument], [])


def _is_record(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Record)


def _literal(value: object) -> str | None:
    """Exact source of a number or a tuple of numbers; None for anything else."""
    if isinstance(value, tuple):
        parts = [_literal(v) for v in value]
        return None if None in parts else "(" + "".join(f"{part}, " for part in parts) + ")"
    if isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        value = float(value)
        special = {math.inf: "math.inf", -math.inf: "(-math.inf)"}
        return repr(value) if math.isfinite(value) else special.get(value, "math.nan")
    return None
