"""What a wrong coefficient shows: a part of the table of docs/audit.md again, and the table as it was measured."""

from __future__ import annotations

import importlib
import json

import pytest

from catena.methods.base import METHODS, Bounded
from places import ROOT

sabotage = importlib.import_module("audit_sabotage")
RESULTS = json.loads(sabotage.RESULT.read_text())


def test_the_documents_have_the_table_as_it_was_measured() -> None:
    assert sabotage.table(RESULTS) in (ROOT / "docs" / "audit.md").read_text()
    assert list(RESULTS) == [one.title for one in sabotage.SABOTAGES]


def test_with_the_right_coefficients_nothing_is_found() -> None:
    assert not any(found for sizes in RESULTS.values() for found in sizes["0"].values())


def test_every_room_of_methods_that_keep_the_energy_is_in_the_table() -> None:
    """A new file in a room need not be measured before it comes in: that takes a long study."""
    room_of = {
        kind.__module__.split(".")[-1]: kind.__module__.split(".")[-2]
        for kind in METHODS
        if METHODS.is_own(kind) and Bounded("energy") in kind.examples()[0].traits.keeps
    }
    measured = {one.family.partition(" ")[0] for one in sabotage.SABOTAGES}
    assert {room_of[module] for module in measured & set(room_of)} == set(room_of.values())
    assert measured <= {kind.__module__.split(".")[-1] for kind in METHODS}


@pytest.mark.parametrize("family", ["partitioned", "moser_veselov"])
@pytest.mark.parametrize("size", [0.0, 1e-12])
def test_the_audit_finds_what_the_table_says(family: str, size: float) -> None:
    """Of Størmer-Verlet with a wrong kick nothing: it keeps the energy of another motion. Of DMV everything, to the last digits."""
    one = next(one for one in sabotage.SABOTAGES if one.family == family)
    found = sabotage.audit_finds(one.program(size), one.problem())
    assert found == RESULTS[one.title][f"{size:g}"]["audit"]
    assert bool(found) == (family == "moser_veselov" and size > 0.0)
