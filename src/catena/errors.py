"""Errors that a user can meet: each one says what is wrong, where, and what to do."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .text.controls import escape_controls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .running.ensembles import StoredEnsemble
    from .running.runs import Run


class CatenaError(Exception):
    """Base class of all errors that users may handle.

    Parameters
    ----------
    wrong : what is wrong, with the value that was seen
    where : field, file position, body or step
    do : what to do about it
    """

    def __init__(self, wrong: str, *, where: str = "", do: str = "") -> None:
        # any of them may quote a store or a case from somebody else
        wrong, where, do = escape_controls(wrong), escape_controls(where), escape_controls(do)
        self.wrong, self.where, self.do = wrong, where, do
        super().__init__(wrong + (f"\n  at {where}" if where else "") + (f"\n  do: {do}" if do else ""))


class InputError(CatenaError):
    """A value, name or text that cannot be used as it was given."""


class CapabilityError(CatenaError):
    """The method cannot treat this system, or the system does not offer what was asked for."""


class KernelError(CatenaError):
    """A kernel accesses memory outside its arrays, or writes to parameters: a bug in a system or method.

    Plain Python and `CATENA_DEBUG=1` find it.
    """


class StoreError(CatenaError):
    """A run store cannot be created, read or continued. Nothing in it was changed."""


class StepFailure(CatenaError):
    """A step failed. Everything recorded before it is kept.

    Attributes
    ----------
    step, time : the step that failed (1 is the first) and the time at its start
    body : the body whose equations were farthest from solved, if known
    changes : relative changes in the last sweeps of the iteration that failed
    run : the Run with everything recorded so far
    """

    def __init__(self, wrong: str, *, step: int, time: float, do: str, where: str = "") -> None:
        self.step = step
        self.time = time
        self.run: Run | None = None
        self.body: int | None = None
        self.changes: tuple[float, ...] = ()
        place = f"step {step}, t = {time:.10g}" + (f", {where}" if where else "")
        super().__init__(wrong, where=place, do=do)


class CatenaWarning(UserWarning):
    """An input was corrected, or looks unintended; the message says what."""


_warned: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


def warn_once(owner: object, about: str, message: str) -> None:
    """Warn once, at the user's own line, about something that is true of many states of one system.

    Python shows a warning once for each text; a text that contains numbers of a state would be shown for every state.

    Parameters
    ----------
    owner, about : the system, and a key that distinguishes its warnings
    """
    if about not in _warned.setdefault(owner, set()):
        _warned[owner].add(about)
        warnings.warn(escape_controls(message), CatenaWarning, stacklevel=_users_frame())


def _users_frame() -> int:
    """Number of frames between the caller of this function and the first code outside catena."""
    package, frame, above = __name__.partition(".")[0], sys._getframe(1), 1
    # by module, not by file: code that `dataclass` generates has no file
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, above = frame.f_back, above + 1
    return above


def nearest(word: str, known: list[str]) -> str:
    """`" (did you mean ...?)"` for the known word closest to an unknown one; empty if none is close."""
    from difflib import get_close_matches

    cutoff = 0.6 if len(word) > 3 else 0.7  # in a word of three letters every letter counts: gpu is not cpu
    close = get_close_matches(word, known, n=1, cutoff=cutoff)
    return f" (did you mean {close[0]}?)" if close else ""


def unknown_word(wrong: str, word: object, known: Iterable[str], where: str) -> InputError:
    """The error for an unknown word: what is wrong, which known word may be meant, and the full list."""
    words = list(known)
    do = f"choose one of {', '.join(words)}" if words else "leave it out: there are none"
    return InputError(f"{wrong}{nearest(str(word), words)}", where=where, do=do)


def naming_the_nearest(load: Callable[[str], object], package: str, names: list[str]) -> Callable[[str], object]:
    """`__getattr__` for a package that loads names on first use; its error suggests the nearest name."""

    def named(name: str) -> object:
        try:
            return load(name)
        except AttributeError:
            if name.startswith("_"):  # asked for by tools, not by people
                raise
            raise AttributeError(f"{package} has no {name!r}{nearest(name, names)}", name=name) from None

    return named


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM stopped a run. `run` holds what was recorded; a stored run can be resumed."""

    def __init__(self, message: str, run: Run | StoredEnsemble | None) -> None:
        self.run = run
        super().__init__(message)
