"""Cases that deliver nothing, for ever or too much; and those that ask for more than a machine has: refused at once."""

from __future__ import annotations

import os
import re
import resource
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from catena.cases import default_case
from catena.cli import app
from catena.errors import InputError
from catena.text.input_files import read_regular

MOST_SECONDS = 5.0  # on a busy machine; it takes milliseconds


def refused(*arguments: object) -> str:
    """What a command says that is refused, soon."""
    began = time.monotonic()
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert time.monotonic() - began < MOST_SECONDS
    assert result.exit_code == 2, result.output
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_pipe_without_a_writer_does_not_hang(tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "case.toml")
    assert "this is a pipe, a socket or a device" in refused(command, tmp_path / "case.toml")


def test_devices_and_directories_are_refused(tmp_path: Path) -> None:
    assert "write it into a file first" in refused("check", "/dev/zero")
    assert "this is a directory" in refused("check", tmp_path)


def test_a_file_of_terabytes_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    file.touch()
    os.truncate(file, 10**12)  # it takes no space
    assert "1000000000000 bytes" in refused("check", file)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_bytes(bytes(range(256)) * 50)
    assert "not UTF-8" in refused("check", tmp_path / "case.toml")
    (tmp_path / "case.toml").write_bytes(bytes(10_000))
    assert "this is not TOML" in refused("check", tmp_path / "case.toml")


def test_a_link_to_a_case_is_followed_and_descriptors_are_given_back(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text("text")
    (tmp_path / "link.toml").symlink_to("case.toml")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        assert read_regular(tmp_path / "link.toml", 100, do="") == b"text"
        with pytest.raises(InputError, match="has 4 bytes"):
            read_regular(tmp_path / "link.toml", 3, do="")
        with pytest.raises(InputError, match="directory"):
            read_regular(tmp_path, 3, do="")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_that_grows_while_it_is_read_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size was asked for before: here it is told too small."""
    (tmp_path / "case.toml").write_bytes(bytes(50))
    honest = os.fstat

    def early(descriptor: int) -> os.stat_result:
        return os.stat_result([*honest(descriptor)[:6], 2, *honest(descriptor)[7:10]])

    monkeypatch.setattr("catena.text.input_files.os.fstat", early)
    with pytest.raises(InputError, match="more than 10 bytes"):
        read_regular(tmp_path / "case.toml", 10, do="")


@pytest.mark.parametrize("watched", ["", '[[section]]\nname = "s"\ntext = "position[3,0] - 1"\n'])
def test_a_hundred_million_bodies_are_refused_before_they_are_made(tmp_path: Path, watched: str) -> None:
    """The list alone would take 0.8 GB; measured by the memory that the process ever had."""
    (tmp_path / "case.toml").write_text(re.sub(r"count = \d+", "count = 100000000", default_case()) + watched)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    message = refused("check", tmp_path / "case.toml")
    assert "100000000 bodies would take" in message and "of memory" in message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_a_pole_at_the_start_is_found_by_the_check(tmp_path: Path) -> None:
    case = (
        '[system]\nkind = "Hamiltonian"\nenergy = "p**2/2 - 1/q"\nq = ["q"]\np = ["p"]\n[start]\nq = [0.0]\np = [1.0]\n'
    )
    (tmp_path / "case.toml").write_text(case + "[run]\ndt = 0.01\nsteps = 10\n")
    assert "division by 0 (in q, column 11 of the text)" in refused("check", tmp_path / "case.toml")


TORSION = """\
[system]
kind = "Linkage"
body = [{moments = [1.0, 1.0, 1.0]}]
joint = [{kind = "Revolute", parent = -1, child = 0, at = [[0, 0, 0], [0, 0, 0.5]], axis = [1, 0, 0], image = [1, 0, 0, 0]}]
force = [{kind = "Torsion", joint = 0, potential = "1/theta"}]
[start]
[run]
dt = 0.01
steps = 10
"""


def test_a_pole_of_a_force_is_found_by_the_check_without_compiling(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(TORSION)
    assert "not defined at the start" in refused("check", tmp_path / "case.toml")
