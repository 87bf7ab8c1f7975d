"""The application: its commands, and the handling of their errors."""

from __future__ import annotations

import errno
import platform
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from ..errors import CatenaError, CatenaWarning, InputError, StepFailure, StoreError
from ..text.controls import escape_controls
from ..version import __version__
from . import codes, describing, knowing, many, pictures, reproducing, running, statics, viewing
from .terminal import complain, error_console

if TYPE_CHECKING:
    from typer._click import Context

REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)  # by the file system, whoever writes


class Commands(TyperGroup):
    """Turns errors into messages and exit codes."""

    def invoke(self, ctx: Context) -> object:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = partial(_show_warning, set())
                return super().invoke(ctx)
        except CatenaError as error:
            complain(error)
            raise typer.Exit(code_of(error)) from None
        except KeyboardInterrupt:
            error_console().print("stopped", style="bold")
            raise typer.Exit(codes.STOPPED) from None
        except BrokenPipeError:
            _close_stdout()  # the reader of the results has closed the pipe
            raise typer.Exit(codes.DONE) from None
        except (typer.Exit, typer.Abort, SystemExit):
            raise
        except OSError as refusal:
            if refusal.errno not in REFUSED:
                _report(refusal)
                raise typer.Exit(codes.BUG) from None
            where, do = str(refusal.filename or "disk"), "free some space, or choose another place"
            complain(InputError(f"a file cannot be written: {refusal.strerror}", where=where, do=do))
            raise typer.Exit(codes.MISTAKE) from None
        except Exception as bug:
            if _is_usage_error(bug):
                raise
            _report(bug)
            raise typer.Exit(codes.BUG) from None


def _show_warning(
    shown: set[str], message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: object
) -> None:
    """Print a warning of catena as a sentence, once, without the line of our code that raised it."""
    if str(message) in shown:
        return
    shown.add(str(message))
    if issubclass(category, CatenaWarning):
        error_console().print(f"warning: {message}", style="yellow", markup=False)
    else:
        error_console().print(warnings.formatwarning(message, category, filename, lineno).rstrip(), markup=False)


def code_of(error: CatenaError) -> int:
    """The exit code of an error."""
    if isinstance(error, StepFailure):
        return codes.FAILED_STEP
    return codes.STORE if isinstance(error, StoreError) else codes.MISTAKE


def _is_usage_error(error: Exception) -> bool:
    """Whether typer reports the error itself, as for wrong options; the class is private and has its own exit code."""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


def _report(bug: Exception) -> None:
    import traceback

    sys.stderr.write(escape_controls("".join(traceback.format_exception(bug))))
    console = error_console()
    console.print(f"catena {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    console.print("This is a bug in catena: please report it with the lines above and the case.", style="bold red")


def _close_stdout() -> None:
    """Discard what would still be flushed at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    name="catena",
    help="Hamiltonian dynamics with integrators that preserve what mechanics preserves, and an audit of every run.",
    epilog="Exit codes: 0 done, 1 a bug, 2 a mistake in the input, 3 a step failed or no equilibrium was found, 4 a problem with the store, 130 stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        parts = (f"{name} {version(name.lower())}" for name in ("NumPy", "Numba"))
        typer.echo(f"catena {__version__} (Python {platform.python_version()}, {', '.join(parts)})")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Run": (running.run, running.resume, many.sweep, many.ensemble),
    "Rest and small motions": (statics.equilibrium, statics.modes),
    "Write a case": (describing.new, describing.check, describing.schema),
    "Look": (pictures.plot, viewing.view, viewing.export),
    "Know": (knowing.info, knowing.methods, knowing.cite),
    "Compute in advance, compute again": (reproducing.warmup, reproducing.reproduce, reproducing.bench),
}
for group, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=group)(command)


def main() -> None:
    """Run the command that the program was called with."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    sys.unraisablehook = _interrupt_again
    app(prog_name="catena")


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM is treated like Ctrl-C."""
    raise KeyboardInterrupt


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat Ctrl-C a moment later if it arrived inside a callback of the compiler, where it is lost."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
    else:
        sys.__unraisablehook__(lost)
