"""Text of strangers in names, labels and messages: a terminal shows it and obeys nothing; a page holds it as text."""

from __future__ import annotations

import io
import json
import unicodedata
import warnings
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli import app, terminal
from catena.engine.build import build
from catena.errors import CatenaWarning, InputError, warn_once
from catena.log import log_message
from catena.output.page.page import page_of
from catena.text.controls import escape_controls

CLEAR = "\x1b[2J"
ATTACKS = (
    CLEAR,
    "\x1b]0;owned\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "\u2066",
    "\u200b",
    "\r",
    "\x08",
    "\x7f",
    "\u2028",
    "\ud800",
)
CASE = """\
[system]
kind = "Hamiltonian"
energy = "p**2/2 + q**2/2"
q = ["q"]
p = ["p"]
[start]
q = [1.0]
p = [0.0]
[method]
kind = "StormerVerlet"
[run]
dt = 0.01
steps = 20
[units]
time = "s\\u001b[2J\\u202e\\u009b"
length = "m</script><script>alert(1)</script>"
"""


def is_safe(text: str) -> bool:
    return all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


@pytest.mark.parametrize("attack", ATTACKS, ids=ascii)
def test_what_a_terminal_would_obey_is_shown(attack: str) -> None:
    shown = escape_controls(f"a{attack}b\n\tc")
    assert is_safe(shown)
    assert "\\" in shown and shown.startswith("a") and shown.endswith("b\n\tc")


def test_words_of_any_language_stay_as_they_are() -> None:
    for text in ("Trägheit", "энергия", "能量", "é", "טנסור", "µ·s⁻¹", "a\nb\tc"):
        assert escape_controls(text) == text


@pytest.mark.parametrize("attack", ATTACKS, ids=ascii)
def test_errors_and_warnings_hold_no_control_characters(attack: str, caplog: pytest.LogCaptureFixture) -> None:
    error = InputError(f"name = {attack}", where=f"gift{attack}.zarr", do=f"rename {attack}")
    for text in (str(error), error.wrong, error.where, error.do):
        assert is_safe(text)
    system = ct.problems.harmonic().system
    with pytest.warns(CatenaWarning) as told:
        warn_once(system, attack, f"the label {attack}")
    assert is_safe(str(told[0].message))
    with caplog.at_level("INFO", "catena"):
        log_message(f"compiling {attack}")
    assert is_safe(caplog.messages[-1])


def test_a_table_on_a_terminal_shows_them_and_keeps_its_own() -> None:
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = terminal.safe_console(file=stream, force_terminal=True, width=80)
    table = Table(f"quantity{CLEAR}", title=f"audit{CLEAR}", caption=Text(f"note{CLEAR}"))
    table.add_row(Text(f"energy{CLEAR}", "bold red"))
    console.print(table)
    console.print(f"warning {CLEAR}", style="yellow", markup=False)
    written = stream.getvalue()
    assert CLEAR not in written
    assert "\x1b[1;31m" in written  # its own colours
    assert written.count("\\x1") == 5  # a column may be too narrow for all of it


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A case with hostile units in a file with a hostile name."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    monkeypatch.chdir(tmp_path)
    file = Path(f"gift{CLEAR}\u202e.toml")
    file.write_text(CASE)
    return file


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_commands_print_no_control_characters_of_others(hostile: Path, as_json: bool) -> None:
    flags = ["--json"] if as_json else []
    runner = CliRunner()
    for command in (["check", str(hostile)], ["run", str(hostile), "--out", "run.zarr"], ["info", "run.zarr"]):
        result = runner.invoke(app, [*command, *flags])
        assert result.exit_code == 0, result.output
        assert is_safe(result.stdout), command
        assert is_safe(result.stderr), command
        if as_json:
            assert json.loads(result.stdout)["case"]["units"]["time"] == f"s{CLEAR}\u202e\x9b"
    missing = runner.invoke(app, ["info", f"none{CLEAR}.zarr"])
    assert missing.exit_code == 2 or is_safe(missing.output)


def test_mistakes_in_a_case_are_quoted_without_obeying(hostile: Path) -> None:
    hostile.write_text(CASE.replace("StormerVerlet", "Verlet\\u001b[2J") + '"\\u001b[2J" = 1 # \x1b[2J')
    result = CliRunner().invoke(app, ["check", str(hostile)])
    assert result.exit_code == 2
    assert is_safe(result.output)
    hostile.write_text(CASE.replace("StormerVerlet", "Verlet\\u001b[2J") + '"\\u001b[2J" = 1')
    result = CliRunner().invoke(app, ["check", str(hostile)])
    assert result.exit_code == 2
    assert "Verlet" in result.output and is_safe(result.output)


def test_without_escaping_the_screen_would_be_cleared(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin."""
    monkeypatch.setattr(terminal, "escape_controls", lambda text, **_: text)
    assert not is_safe(CliRunner().invoke(app, ["check", str(hostile)]).stderr)


def test_a_page_holds_hostile_words_as_text(hostile: Path) -> None:
    """No label ends the script that it stands in, nor an attribute."""
    CliRunner().invoke(app, ["run", str(hostile), "--out", "run.zarr"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = page_of(ct.open("run.zarr"), title='"><script>alert(2)</script>')
    assert "<script>alert" not in page.html
    assert "&lt;script&gt;alert(2)" in page.html
