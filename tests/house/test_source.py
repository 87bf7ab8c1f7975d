"""Code that people find their way in: the words that they search for, short files, short functions."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import catena
from catena.systems.potentials.pairwise import Pairwise

ROOT = Path(catena.__file__).parent
DEFINED = re.compile(
    r"^ *(?:(?:def|class|for) +)?([a-z_]\w*)(?= *[=:(,]| in )|\bas ([a-z_]\w*)", re.ASCII | re.I | re.M
)
PRIVATE = re.compile(r"(?:^|_)(?:cards?|says?|said|talks?)(?:_|$)|Card", re.ASCII)  # for GPU, log and message
PARTICIPLE = re.compile(
    r"_*(?!(?:feed|need|seed|speed)$)(?:[a-z]+ed|begun|done|drawn|given|held|known|lost|made|seen|sent|shown|spun|taken|told|worn|written)",
    re.ASCII,
)
MATHEMATICS = {
    "chosen",
    "counted",
    "held",
    "linked",
    "scaled",
    "spun",
}  # what stands in formulas of kernels is named as what it is
MOST_LINES = 600  # of a file
MOST_LINES_OF_FUNCTION = 60  # with its docstring, without decorators


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The sources by their paths."""
    return {str(file.relative_to(ROOT)): file.read_text() for file in sorted(ROOT.rglob("*.py"))}


def names_to_change(text: str) -> set[str]:
    """Functions, classes, fields, arguments and variables with names that nobody would search for."""
    return {name for found in DEFINED.findall(text) for name in found if name and PRIVATE.search(name)}


def functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """All functions of a tree, wherever they are defined."""
    for part in getattr(node, "body", ()):
        if isinstance(part, ast.FunctionDef):
            yield part
        if isinstance(part, ast.FunctionDef | ast.ClassDef | ast.If | ast.With):
            yield from functions(part)


def too_long(text: str) -> list[str]:
    """Functions of a source, and the source itself, with more lines than anybody reads at a time."""
    lines = {one.name: (one.end_lineno or 0) - one.lineno + 1 for one in functions(ast.parse(text))}
    found = [name for name, count in lines.items() if count > MOST_LINES_OF_FUNCTION]
    return [*found, "the file"] if text.count("\n") > MOST_LINES else found


def test_names_are_words_that_engineers_search_for(texts: dict[str, str]) -> None:
    found = {file: names_to_change(text) for file, text in texts.items()}
    assert not {file: names for file, names in found.items() if names}


def test_a_private_word_would_be_noticed() -> None:
    wrong = "def say(text): ...\nclass OnCard: ...\n    said: int\n    card_name = essays = 1\n  from .log import f as talk\n    discard = 3"
    assert names_to_change(wrong) == {"say", "OnCard", "said", "card_name", "talk"}


def without_verb(text: str) -> set[str]:
    """Functions of a module that are called by what came out of them: `packed` for `pack`. Decorators may."""
    names = {one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    return {name for name in names if PARTICIPLE.fullmatch(name)} - MATHEMATICS - {"provided"}


def test_functions_are_verbs(texts: dict[str, str]) -> None:
    found = {file: without_verb(text) for file, text in texts.items()}
    assert not {file: names for file, names in found.items() if names}


def test_a_function_without_a_verb_would_be_noticed() -> None:
    wrong = "def packed(z): ...\ndef _made(): ...\ndef pack(z): ...\ndef driven_kick(z): ...\ndef scaled(f, a): ...\ndef speed(): ..."
    assert without_verb(wrong) == {"packed", "_made"}


def test_files_and_functions_are_short(texts: dict[str, str]) -> None:
    found = {file: too_long(text) for file, text in texts.items()}
    assert not {file: names for file, names in found.items() if names}


def test_a_line_too_many_would_be_noticed() -> None:
    longest = "class A:\n  def long(self):\n" + "    pass\n" * (MOST_LINES_OF_FUNCTION - 1)
    assert too_long(longest) == [] and too_long(longest + "    pass\n") == ["long"]
    assert too_long("\n" * MOST_LINES) == [] and too_long("\n" * (MOST_LINES + 1)) == ["the file"]


def without_docstring(module: ModuleType) -> list[str]:
    """Public functions, classes and their parts that do not say what they are; a base class may say it, and protocols are signatures."""
    found = []
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value) and not value.__doc__:
            found.append(name)
        if inspect.isclass(value) and not getattr(value, "_is_protocol", False):
            found += [name] * (not value.__doc__)
            found += [f"{name}.{part}" for part in list(vars(value)) if is_silent(value, part)]
    return found


def is_silent(kind: type, name: str) -> bool:
    """Whether neither a class nor a base says what a public method or property is."""
    parts = [vars(base)[name] for base in kind.__mro__ if name in vars(base)]
    callables = [getattr(part, "fget", getattr(part, "func", getattr(part, "__func__", part))) for part in parts]
    return not name.startswith("_") and inspect.isfunction(callables[0]) and not any(one.__doc__ for one in callables)


def test_every_public_function_and_class_says_what_it_is() -> None:
    names = [module.name for module in pkgutil.walk_packages([str(ROOT)], "catena.") if "__main__" not in module.name]
    found = {name: without_docstring(importlib.import_module(name)) for name in names}
    assert not {name: parts for name, parts in found.items() if parts}


def test_a_missing_docstring_would_be_noticed() -> None:
    text = "def f(): ...\nclass A:\n  'A.'\n  def g(self): 'g'\n  def h(self): ...\nclass B(A):\n  def g(self): ...\n"
    module = ModuleType("silent")
    exec(text, vars(module))
    assert without_docstring(module) == ["f", "A.h", "B"]


def test_what_a_subclass_must_have_is_abstract(texts: dict[str, str]) -> None:
    """A part that is missing is named when the object is made, not when it is needed."""
    assert not [file for file, text in texts.items() if "NotImplementedError" in text]

    class Half(Pairwise):
        constants = (1.0,)

    with pytest.raises(TypeError, match=r"abstract.*kernel"):
        Half()  # type: ignore[abstract]
