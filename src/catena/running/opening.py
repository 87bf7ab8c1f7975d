"""Stored runs and ensembles by their paths: `open`, `resume`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ..errors import InputError
from ..store import read_spec
from .control import Steering
from .ensembles import StoredEnsemble, resume_ensemble
from .ensembles.cluster import Client
from .runs import Run, open_run
from .simulation import StoppedRun, require_same_names


def open(path: str | Path) -> Run | Any:
    """Open a stored run or a stored ensemble, finished, interrupted or still running.

    Parameters
    ----------
    path : its directory

    Returns
    -------
    Run or StoredEnsemble

    Raises
    ------
    StoreError : it is not a run store, has another format, or is damaged
    """
    if isinstance(path, (str, Path)) and "ensemble" in read_spec(path):
        return StoredEnsemble(path)
    return open_run(path)


def resume(
    path: str | Path,
    t_end: float | None = None,
    steps: int | None = None,
    progress: bool | Callable[..., None] | None = None,
    anyway: bool = False,
    client: Client | None = None,
    threads: int | None = None,
    control: Steering | str | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Run | Any:
    """Continue a stored run or ensemble that was stopped, or extend a finished run.

    Parameters
    ----------
    path : directory of the stored run or ensemble
    t_end, steps : the total length, counted from the start of the run; as planned if neither is given
    progress : as for `simulate`, or for `ensemble`
    anyway : continue although another program computed it: another version of catena, or other kernels. The store then
        records the step from which on. The same program is never refused, even if its code has moved to other files
    client : for an ensemble, as for `ensemble`; it need not be the client with which it was started
    threads : as for `simulate`, or for `ensemble`
    control : for a run with a `Controller`, its function, or "module:function", which is imported. The store holds only
        its name: nothing that a store names is executed unless you name it yourself
    device : for a run, as for `simulate`; an ensemble continues on the device on which it was started

    Raises
    ------
    StoreError : it is damaged, another process is writing it, or another program computed it
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"{path!r} is not a path", where="resume", do="give the directory of a stored run")
    if not isinstance(anyway, bool):
        raise InputError(f"anyway = {anyway!r}", where="resume.anyway", do="give True or False")
    spec = read_spec(path)
    if "ensemble" in spec:
        require_same_names(spec, path)
        if steps is not None or t_end is not None:
            raise InputError(
                "an ensemble cannot be made longer", where="resume", do="start another one from its final states"
            )
        return resume_ensemble(path, threads=threads, progress=progress, anyway=anyway, client=client)
    if client is not None:
        raise InputError("a run has one member", where="resume.client", do="leave it out")
    return StoppedRun.reopened(path).go_on(
        t_end=t_end, steps=steps, progress=progress, anyway=anyway, threads=threads, control=control, device=device
    )
