"""catena warmup, catena reproduce, catena bench: compiling in advance, reproducing published results, measuring."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, unknown_word
from .options import Quiet
from .pictures import make_folder
from .terminal import be, echo, print_message, show

if TYPE_CHECKING:
    from ..engine.build import Program
    from ..reproduce.report import Report, Reproduction

EVERYTHING = "all"  # stands for every reproduction


def warmup(quiet: Quiet = False) -> None:
    """Compile the common combinations of problem and method, so that their runs start at once."""
    be(quiet=True)
    combinations = list(common_combinations())
    width = max(len(name) for name, _, _ in combinations)
    for number, (name, method, program) in enumerate(combinations, 1):
        began = time.perf_counter()
        program()
        spent = time.perf_counter() - began
        if not quiet:
            echo(f"{number:3d}/{len(combinations)}  {name:{width}}  {method:40}  {spent:5.1f} s", err=True)


def common_combinations() -> Iterator[tuple[str, str, Callable[[], Program]]]:
    """Combinations to compile in advance: name, method, and a function that compiles.

    Each built-in problem with its default method and the simplest form of each symmetric symplectic one; and the cases
    that come with the package.
    """
    from .. import problems
    from ..cases import default_case, read_case, template, template_names
    from ..engine.build import build
    from ..engine.pairing import can_treat
    from ..methods.base import all_methods, method_from

    plain = [kind.examples()[0] for kind in all_methods()]
    usual = [m for m in plain if m.traits.symplectic and m.traits.symmetric]
    for name in problems.__all__:
        system = getattr(problems, name)().system
        kind, arguments = system.default_method
        default = method_from({"kind": kind, **arguments})
        for method in dict.fromkeys([default, *usual]):
            if can_treat(system, method):
                yield name, str(method), partial(build, system, method)
    shipped = {"default case": default_case()} | {f"new {name}": template(name) for name in template_names()}
    for label, text in shipped.items():
        plan = read_case(None, text=text, label=label).plan
        yield label, str(plan.method), plan.program


def reproduce(
    name: Annotated[
        str, typer.Argument(help="What to compute again, or all; if omitted, the choices are listed.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Directory for pictures and numbers.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A shorter version, for a first look.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compute a published table or figure again and compare the numbers."""
    be(quiet=quiet)
    known = {module.NAME: module for module in _reproductions()}
    if not name:
        _list({word: module.ABOUT for word, module in known.items()})
        return
    if name == EVERYTHING:
        _reproduce_all(known, out or Path("reproduction"), quick=quick)
        return
    if name not in known:
        raise unknown_word(
            f"there is nothing called {name!r} to reproduce", name, [*known, EVERYTHING], "catena reproduce"
        )
    folder = out or Path("reproduction") / name
    make_folder(folder)
    show(known[name].reproduce(folder, quick=quick))


def _reproduce_all(known: dict[str, Reproduction], folder: Path, *, quick: bool) -> None:
    """Run all of them, with one page; the page is rewritten after each, so that nothing is lost."""
    from ..reproduce.everything import write_page
    from ..version import __version__

    made: list[tuple[Reproduction, Report]] = []
    for number, (word, module) in enumerate(known.items(), start=1):
        print_message(f"{number} of {len(known)}: {word}")
        make_folder(folder / word)
        made.append((module, module.reproduce(folder / word, quick=quick)))
        page = write_page(folder, made, version=__version__)
    for module, report in made:
        asked = [row.agrees for row in report.rows if row.agrees is not None]
        echo(f"{module.NAME}: {sum(asked)} of {len(asked)} compared numbers agree")
    echo(str(page))


def _reproductions() -> Iterator[Reproduction]:
    """The modules that reproduce something: those with a NAME."""
    from importlib import import_module
    from pkgutil import iter_modules

    from .. import reproduce as folder
    from ..reproduce.report import Reproduction

    for found in iter_modules(folder.__path__):
        module = import_module(f"{folder.__name__}.{found.name}")
        if isinstance(module, Reproduction):
            yield module


def bench(
    name: Annotated[str, typer.Argument(help="The benchmark; if omitted, the benchmarks are listed.")] = "",
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on: catena bench NAME -- --option")] = None,
) -> None:
    """Run a benchmark of a source checkout; all times are ratios within one run."""
    import catena

    folder = Path(str(catena.__file__)).parents[2] / "benchmarks"
    scripts = [file for file in sorted(folder.glob("*.py")) if "\ndef main(" in file.read_text(encoding="utf-8")]
    known = {file.stem.replace("_", "-"): file for file in scripts}
    if not known:
        raise InputError(
            "the benchmarks are not part of an installed catena", where="catena bench",
            do="run it in a source checkout, installed with pip install -e .",
        )  # fmt: skip
    if not name:
        _list({word: _first_line(script) for word, script in known.items()})
        return
    if name not in known:
        raise unknown_word(f"there is no benchmark {name!r}", name, known, "catena bench")
    finished = subprocess.run([sys.executable, str(known[name]), *(arguments or [])], check=False)
    raise typer.Exit(finished.returncode)


def _list(known: Mapping[str, str]) -> None:
    """Print the names, each with its description."""
    width = max(map(len, known), default=0)
    for name, about in known.items():
        echo(f"{name:{width}}  {about}".rstrip())


def _first_line(script: Path) -> str:
    """The first line of the docstring of a script."""
    about = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return about.partition("\n")[0]
