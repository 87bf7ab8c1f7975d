"""Where results may go: a new name or a regular file. What a link leads to, a pipe, a socket and a device stay as they are."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli import app
from catena.engine.build import build
from catena.errors import CatenaError, InputError, StoreError
from catena.output import files
from catena.output.files import refuse_special, replacing, write_text
from catena.reproduce.everything import write_page
from catena.reproduce.report import Folder


def link_to_a_file(target: Path) -> None:
    target.symlink_to(target.parent / "home" / "precious")


def link_to_nothing(target: Path) -> None:
    target.symlink_to(target.parent / "home" / "login")


def pipe(target: Path) -> None:
    os.mkfifo(target)


def listening_socket(target: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(target))


TRAPS = (link_to_a_file, link_to_nothing, pipe, listening_socket)
WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    "out.csv": lambda run, target: run.export(target),
    "out.nc": lambda run, target: run.export(target),
    "out.glb": lambda run, target: run.export(target),
    "out.xyz": lambda run, target: run.export(target),
    "out.html": lambda run, target: run.view(target),
    "out.gif": lambda run, target: run.movie(target),
    "numbers.csv": lambda run, target: Folder(target.parent).numbers("numbers", {"t": [1.0]}),
    "drawn.png": lambda run, target: Folder(target.parent).save("drawn", run.plot.energy().figure),
    "index.html": lambda run, target: write_page(target.parent, [], version="1"),
    "record.json": lambda run, target: write_text(target, "{}"),
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ct.Run:
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    return ct.simulate(ct.problems.helix_chain(3), method=ct.Splitting(2), dt=0.02, steps=4, progress=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to write into, beside what must stay as it is."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").write_text("mine")
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    return tmp_path


def look(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Kind and content of everything in a directory."""
    return {
        str(entry.relative_to(folder)): (stat.S_IFMT(entry.lstat().st_mode), entry.read_bytes() if entry.is_file() else b"")
        for entry in folder.rglob("*")
    }  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_no_writer_follows_or_replaces_a_link(run: ct.Run, folder: Path, name: str) -> None:
    """Two kinds of links: to somebody's file, and to one that does not exist yet."""
    for trap in (link_to_a_file, link_to_nothing):
        target = folder / name
        trap(target)
        before = look(folder)
        with pytest.raises(InputError, match="link"):
            WRITERS[name](run, target)
        assert look(folder) == before
        target.unlink()


@pytest.mark.parametrize("trap", TRAPS)
def test_nothing_takes_the_name_of_what_is_no_file(folder: Path, trap: Callable[[Path], None]) -> None:
    trap(Path("out.txt"))
    before = look(folder)
    with pytest.raises(InputError, match="neither"):
        write_text("out.txt", "text")
    assert look(folder) == before


def test_a_trap_that_is_laid_while_a_file_is_written_is_seen(folder: Path) -> None:
    def write() -> None:
        with replacing(folder / "out.txt") as temporary:
            temporary.write_text("text")
            link_to_a_file(folder / "out.txt")

    with pytest.raises(InputError, match="link"):
        write()
    assert (folder / "home" / "precious").read_text() == "mine"
    assert sorted(entry.name for entry in folder.iterdir()) == ["home", "out.txt"]


def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="device"):
        refuse_special(Path(os.devnull))


def test_a_regular_file_is_replaced_and_its_other_names_stay(folder: Path) -> None:
    """A hard link is a regular file: the name gets the new content, the other one keeps the old."""
    os.link(folder / "home" / "precious", folder / "out.txt")
    write_text(folder / "out.txt", "new")
    assert ((folder / "out.txt").read_text(), (folder / "home" / "precious").read_text()) == ("new", "mine")


@pytest.mark.parametrize("command", ["plot", "view", "export"])
def test_the_commands_say_what_to_do(run: ct.Run, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ct.simulate(ct.problems.helix_chain(3), method=ct.Splitting(2), dt=0.02, steps=4, out="run.zarr", progress=False)
    target = {"plot": "energy.pdf", "view": "page.html", "export": "run.csv"}[command]
    options = {"plot": ["energy"], "view": ["--out", target], "export": [target]}[command]
    link_to_a_file(folder / target)
    result = CliRunner().invoke(app, [command, "run.zarr", *options])
    assert result.exit_code == 2, result.output
    assert "do: remove the link" in result.stderr
    assert (folder / "home" / "precious").read_text() == "mine"


@pytest.mark.parametrize("trap", TRAPS)
def test_a_store_takes_the_place_of_nothing(run: ct.Run, folder: Path, trap: Callable[[Path], None]) -> None:
    trap(Path("run.zarr"))
    before = look(folder)
    with pytest.raises((InputError, StoreError)):
        ct.simulate(
            ct.problems.helix_chain(3), method=ct.Splitting(2), dt=0.02, steps=4, out="run.zarr", progress=False
        )
    assert look(folder) == before


@pytest.mark.parametrize("trap", [link_to_a_file, pipe])
def test_without_looking_first_a_link_or_a_pipe_would_be_lost(
    folder: Path, trap: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: a rename alone replaces what it finds."""
    monkeypatch.setattr(files, "refuse_special", lambda target: None)
    trap(folder / "out.txt")
    try:
        write_text(folder / "out.txt", "text")
    except CatenaError:
        pytest.fail("it was refused")
    assert stat.S_ISREG((folder / "out.txt").lstat().st_mode)
