"""What tables look like on terminals of any width: no number and no name loses a letter."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest

from catena.cli import terminal
from catena.running.auditing import Audit, AuditRow
from catena.running.auditing.table import EXPENDABLE, cells
from catena.running.catalogue import list_methods

NAN = float("nan")
ROWS = (
    AuditRow("energy", -0.5403023059, 2.49e-14, -2.39e-18, 5.2e-17, "bounded", "exact"),
    AuditRow("joint_position_residual", 2.36e-16, 2.08e-16, NAN, NAN, "exact", "too short"),
    AuditRow("angular_momentum", 12.25, 1.5e-3, 3.5e-4, 1e-5, "exact", "drifts"),
)
ELLIPSIS, RULE = "\u2026", "\u2503"


def show(result: terminal.RichCast, width: int, monkeypatch: pytest.MonkeyPatch, spared: Sequence[str]) -> str:
    """What a terminal of so many columns shows of a result, without colours."""
    stream = io.StringIO()
    made = terminal.safe_console
    console = made(file=stream, force_terminal=True, width=width)
    with monkeypatch.context() as patch:
        patch.setattr(terminal, "safe_console", lambda **elsewhere: made(**elsewhere) if elsewhere else console)
        terminal.show(result, expendable=spared)
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())


@pytest.mark.parametrize(("width", "rules", "spared"), [(110, True, 0), (95, False, 0), (84, False, 1), (76, False, 2)])
def test_an_audit_keeps_every_number_on_a_narrow_terminal(
    width: int, rules: bool, spared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rules go first, then the columns that can be spared, one after the other; what is left is whole."""
    text = show(Audit(ROWS), width, monkeypatch, EXPENDABLE)
    assert max(map(len, text.splitlines())) <= width and ELLIPSIS not in text
    assert (RULE in text) is rules
    gone = {4: "+- error", 3: "per time"}
    assert [heading in text for heading in gone.values()] == [spared < 1, spared < 2]
    for row in ROWS:
        kept = [cell for k, cell in enumerate(cells(row)) if k not in list(gone)[:spared]]
        assert all(word in text for cell in kept for word in cell.split()), (text, kept)


def test_a_word_that_is_wider_than_its_column_goes_on_in_the_next_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = show(Audit(ROWS[:1]), 40, monkeypatch, EXPENDABLE)
    assert max(map(len, text.splitlines())) <= 40 and ELLIPSIS not in text
    first, second = (line.split() for line in text.splitlines() if re.match(r"energy|  +\d", line))
    assert first[1] + second[0] == cells(ROWS[0])[1]


def test_a_table_of_methods_leaves_out_what_can_be_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    spared = ("keeps exactly", "cite")
    wide, narrow = (show(list_methods(), width, monkeypatch, spared) for width in (200, 80))
    assert "hairer2003" in wide and "hairer2003" not in narrow
    assert ELLIPSIS not in wide + narrow
