"""Where `catena run` stores a run: no result is thrown away unless the user asks for that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, StoreError
from .terminal import print_message

if TYPE_CHECKING:
    from ..cases import Case
    from ..running.runs import Run


class Place:
    """The directory in which a run is stored: as requested, with a free name, or none.

    Attributes
    ----------
    path : the directory; None for a run in memory
    """

    def __init__(self, path: Path | None, further: Iterator[Path] | None = None) -> None:
        self.path = path
        self._further = further

    @classmethod
    def asked_for(cls, out: Path | None, no_out: bool, case: Case, stem: str) -> Place:
        """From the command line, or else the case, or else `stem.zarr` in the working directory, numbered if it
        exists."""
        if out is not None and no_out:
            raise InputError(f"--out {out} and --no-out", where="catena run", do="give one of them")
        if no_out:
            return cls(None)
        if out is not None or case.out is not None:
            return cls(out or Path(str(case.out)))
        names = free_names(stem)
        return cls(next(names), names)

    def run(self, case: Case, *, progress: bool | None) -> Run:
        """Run the case and store it. If another run takes the name meanwhile, the next one is used."""
        from ..running.simulation import run_plan
        from ..store import NameTaken

        while True:
            try:
                return run_plan(case.plan, case.steps, out=self.path, progress=progress)
            except NameTaken:
                if self._further is None:
                    raise
                taken, self.path = self.path, next(self._further)
                print_message(f"{taken} belongs to another run by now; this one is stored in {self.path}")
            except StoreError as refusal:
                if self._further is not None and self.path is not None and not self.path.exists():
                    refusal.add_note("  or keep nothing: --no-out")
                raise

    def __str__(self) -> str:
        return "none: the run is in memory and gone at the end" if self.path is None else str(self.path)


def free_names(stem: str) -> Iterator[Path]:
    """Those of `stem.zarr`, `stem-2.zarr`, `stem-3.zarr`, ... that are not in use."""
    for number in count(1):
        path = Path(f"{stem}.zarr" if number == 1 else f"{stem}-{number}.zarr")
        if not (path.exists() or path.is_symlink()):
            yield path
