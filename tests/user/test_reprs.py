"""What a notebook or a prompt shows: short, escaped, and nothing is computed for it."""

from __future__ import annotations

from functools import partial
from xml.etree import ElementTree

import pytest

import catena as ct
from catena.engine.build import build
from catena.methods.base import all_methods
from catena.running.auditing import Canonical
from catena.text.markup import html_table

CHAIN = ct.problems.helix_chain(64)
SHOWN = [
    CHAIN.system, CHAIN.start, ct.Body.tetrahedron(), ct.FreeBody(ct.Body(moments=(1, 2, 2.5))),
    ct.problems.kepler().system, ct.problems.lagrange_top().system,
    *(method for kind in all_methods() for method in kind.examples()[:1]),
]  # fmt: skip


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: type(shown).__name__)
def test_a_repr_is_one_short_line_and_its_table_is_well_formed(shown):
    assert "\n" not in repr(shown) and len(repr(shown)) < 400
    table = ElementTree.fromstring(shown._repr_html_())
    assert table.tag == "table" and len(list(table.iter("td"))) >= 2


def test_a_problem_is_shown_without_its_paragraph_and_addresses():
    shown = repr(ct.problems.kepler())
    assert len(shown) < 300 and " at 0x" not in shown and "dt=" in shown


def test_a_repr_computes_nothing(monkeypatch):
    """No kernel is collected, derived or compiled."""
    monkeypatch.setattr("catena.engine.build.build", None)
    chain = ct.problems.helix_chain(3).system
    before = set(vars(chain))
    chain._repr_html_(), repr(chain)
    assert not any(name in vars(chain) for name in ("_pairs", "_numbered") if name not in before)


def test_the_pictures_of_a_run_are_shown_by_their_names(monkeypatch):
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    run = ct.simulate(ct.problems.harmonic(), method=ct.Gauss(3), steps=2)
    assert repr(run.plot) == f"<pictures of {run!r}: energy, invariants, phase, spectrum>"


def test_cells_are_escaped():
    table = html_table([("<b>", "a & b")], headings=("x", "y"), title="<script>")
    assert "<script>" not in table and "&lt;b&gt;" in table and "a &amp; b" in table


def test_the_table_of_methods_is_a_table_in_a_notebook():
    listed = ct.list_methods(ct.problems.pendulum().system)
    table = ElementTree.fromstring(listed._repr_html_())
    assert len(list(table.iter("tr"))) == len(listed) + 1


def test_no_laws_are_no_empty_table():
    assert "no law" in repr(Canonical()) and "---" not in repr(Canonical())


def test_one_body_and_one_joint_are_not_several():
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    assert repr(ct.Linkage([ct.Body.rod(1.0)], [hinge])) == "Linkage of 1 body with 1 joint"
    assert repr(ct.Linkage([ct.Body.rod(1.0)] * 2)) == "Linkage of 2 bodies with 0 joints"
