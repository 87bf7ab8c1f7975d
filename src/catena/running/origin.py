"""The program that wrote a store: what computed its rows, from which row on, and the messages if today's program is
another one.

The numbers are determined by the program (`catena.engine.identity`). The same program continues to the same bytes,
whatever the version of catena. With another numba, processor or C library, the last digits of functions such as the
sine may differ: this is reported and recorded, not refused.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path

from ..errors import StoreError
from ..log import log_message
from ..text.plain import Json
from ..version import __version__

KEY = "continued"  # in the head of a checkpoint
LONGEST = 200  # characters of a word
SHOWN = 12  # characters of a digest


@dataclass(frozen=True)
class Origin:
    """What computed the rows of a store, from one of them on.

    Attributes
    ----------
    step : steps made before it (in an ensemble: members); 0 for the first origin
    catena : its version
    program : digest of the program; "" if the store is older than digests
    numba, processor, libc : the compiler, the model of the processor, and the library of sines and exponentials; "" if
        unknown
    """

    step: int
    catena: str
    program: str
    numba: str = ""
    processor: str = ""
    libc: str = ""

    @classmethod
    def here(cls, program: str, *, step: int = 0, processor: str = "") -> Origin:
        """This process; `processor` if it is not that of this machine."""
        from importlib.metadata import version

        libc = " ".join(platform.libc_ver()).strip()
        return cls(step, __version__, program, version("numba"), processor or _processor(), libc)

    @property
    def machine(self) -> tuple[str, str, str]:
        """The rest of the environment that may change the last digits."""
        return self.numba, self.processor, self.libc

    def __str__(self) -> str:
        return f"catena {self.catena}" + (f", program {self.program[:SHOWN]}" if self.program else "")


def _processor() -> str:
    """The processor as the compiler knows it."""
    from llvmlite import binding

    return str(binding.get_host_cpu_name())


def attributes_of(origin: Origin) -> dict[str, Json]:
    """Attributes of a store about its origin, for readers that do not know catena."""
    from importlib.metadata import version

    made_with = {"python": platform.python_version(), "numpy": version("numpy")}
    made_with |= {"numba": origin.numba, "processor": origin.processor, "libc": origin.libc}
    return {"catena_version": origin.catena, "program": origin.program, "made_with": made_with}


def origins_in(attributes: Mapping[str, Json], head: Mapping[str, Json], *, path: str | Path) -> tuple[Origin, ...]:
    """The origins of a store: the first, then each that continued with something else.

    Parameters
    ----------
    attributes, head : of the store, and of its checkpoint
    """
    begun = {"step": 0, "catena": attributes.get("catena_version"), "program": attributes.get("program", "")}
    made_with = attributes.get("made_with", {})
    if not isinstance(made_with, dict):
        raise _foreign(path)
    begun |= {name: made_with.get(name, "") for name in ("numba", "processor", "libc")}
    went_on = head.get(KEY, [])
    if not isinstance(went_on, list):
        raise _foreign(path)
    return tuple(_origin(one, path) for one in (begun, *went_on))


def _origin(described: object, path: str | Path) -> Origin:
    """An origin from its description in a store; StoreError unless catena can have written it."""
    if not isinstance(described, dict):
        raise _foreign(path)
    words = {name: word for name, word in described.items() if name != "step"}
    step = described.get("step")
    known = {word.name for word in fields(Origin)}
    needed = {"step", "catena", "program"}
    if (
        type(step) is not int
        or step < 0
        or not needed <= set(described) <= known
        or not all(map(_is_word, words.values()))
    ):
        raise _foreign(path)
    return Origin(step, **words)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and value.isprintable()


def _foreign(path: str | Path) -> StoreError:
    return StoreError(
        "what it says of who wrote it was not written by catena", where=str(path), do="do not trust this store"
    )


def going_on(
    known: Sequence[Origin], now: Origin, *, path: str | Path, anyway: bool, command: str = ""
) -> tuple[Origin, ...]:
    """The origins of a store once this process continues it; StoreError if the program is another one, unless `anyway`.

    `command` is the command line that continues anyway, if there is one.
    """
    last = known[-1]
    if last.program and last.program != now.program and not anyway:
        raise StoreError(
            f"this was computed by another program: by {last}; here is {now}", where=str(path),
            do=f"go on anyway, and the store says from where: {command and f'{command}, or '}ct.resume(path, anyway=True); or use catena {last.catena}",
        )  # fmt: skip
    if last.program == now.program and last.machine == now.machine:
        return tuple(known)
    if not last.program:
        log_message(f"{path} is older than digests of programs: whether the same one goes on cannot be told")
    elif last.program != now.program:
        log_message(f"{path} goes on with another program: {now} instead of {last}")
    else:
        log_message(f"{path} goes on {_on(now)} instead of {_on(last)}: last digits may differ")
    return (*known, now)


def _on(origin: Origin) -> str:
    return f"with numba {origin.numba} on {origin.processor}, {origin.libc}"


def head_of(origins: Sequence[Origin]) -> dict[str, Json]:
    """What a checkpoint keeps of the origins; nothing if the attributes hold them all."""
    return {KEY: [asdict(one) for one in origins[1:]]} if origins[1:] else {}


def changes(origins: Sequence[Origin], unit: str = "step") -> tuple[str, ...]:
    """Each later origin in one line: what changed, and from where on."""
    lines = []
    for before, one in pairwise(origins):
        if before.program == one.program:
            described = f"{_on(one)} instead of {_on(before)}"
        else:
            described = f"by {one}; before by {before}"
        lines.append(f"from {unit} {one.step} on computed {described}")
    return tuple(lines)
