"""The heavy top comes out as in references of 18 to 30 digits, and wrong schemes or constraints do not."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from matplotlib.image import imread

import catena as ct
from catena.engine.build import build
from catena.reproduce import top, top_constraints

PICTURES = ("top_motion", "top_momentum", "top_convergence", "top_invariants", "top_constraints")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return top.reproduce(tmp_path_factory.mktemp("top"), quick=True)


@pytest.fixture
def uncompiled(monkeypatch):
    """The same programs as plain Python: same bits, nothing to compile."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))


@pytest.mark.slow
def test_every_row_agrees_and_every_picture_has_ink(report):
    assert report.ok, str(report)
    assert all(row.agrees is not None for row in report.rows)
    names = {file.name for file in report.files}
    for picture in PICTURES:
        assert {f"{picture}.png", f"{picture}.pdf"} <= names
    for file in report.files:
        if file.suffix == ".png":
            pixels = imread(file)[..., :3]
            assert (np.ptp(pixels, axis=-1) > 0.25).sum() > 500, f"{file} has no coloured ink"


@pytest.mark.slow
def test_all_published_errors_are_compared_in_all_their_digits(report):
    rows = [row for row in report.rows if row.quantity.endswith("error of R")]
    assert len(rows) == 10
    for row in rows:
        assert f"{row.ours:.4e}" == f"{row.reference:.4e}"


@pytest.mark.slow
def test_rattle_is_not_said_to_conserve_energy(report):
    assert not any(row.quantity == f"Rattle(), {top.LONG} steps: energy" for row in report.rows)
    assert report[f"Rattle(), {top.LONG} steps: largest E - E0"].ours > 0.01


def test_another_splitting_in_the_place_of_rattle_disagrees(uncompiled):
    """Strang's splitting with an exact rotation is of order 2, too, but it is another map."""
    runs = {"QuatEM()": top._run(ct.QuatEM(), dt=top.DT, steps=top.STEPS)}
    runs["Rattle()"] = top._run(ct.Splitting(2), dt=top.DT, steps=top.STEPS)
    right, wrong = top._state_rows(runs)
    assert right.agrees and not wrong.agrees


def test_a_top_with_another_moment_disagrees(uncompiled, monkeypatch):
    """Half the base radius: the spin of the cone is then slower to precess."""
    true = top.symmetric_top("quaternion")
    moments = true.system.body.moments * np.array([1.0, 1.0, 0.99])
    other = ct.Top(ct.Body(1.5, moments), true.system.potential.gravity)
    monkeypatch.setattr(top, "symmetric_top", lambda coordinates: ct.Problem("other", other, true.start, 0.005))
    run = top._run(ct.QuatEM(), dt=top.DT, steps=top.STEPS)
    assert not top._state_rows({"QuatEM()": run, "Rattle()": run})[0].agrees


class TestConstraints:
    def test_orders_are_those_of_the_methods_and_all_else_is_round_off(self):
        (study,) = (study for study in top_constraints.study(quick=True) if study.form == "quaternion")
        rows = {row.quantity: row for row in top_constraints.rows([study])}
        assert rows["quaternion, EulerA(): |q|^2 - 1: order"].reference == 1
        assert rows["quaternion, StormerVerlet(): |q|^2 - 1: order"].reference == 2
        assert rows["quaternion, Gauss(2): |q|^2 - 1"].ours < 1e-14
        assert all(row.agrees for row in rows.values()), rows

    def test_with_a_multiplier_every_method_loses_both(self):
        (study,) = (study for study in top_constraints.study(quick=True) if study.form == "multiplier")
        rows = {row.quantity: row for row in top_constraints.rows([study])}
        assert [row.reference for row in rows.values()] == [1, 1, 2, 2, 4, 4]
        assert all(row.agrees for row in rows.values()), rows

    def test_constraints_that_are_kept_where_they_should_not_be_disagree(self, tmp_path, monkeypatch):
        """The default form under the name of the other one keeps what that one loses."""
        real = top_constraints._asymmetric_top
        monkeypatch.setattr(top_constraints, "_asymmetric_top", lambda form: real("quaternion"))
        studies = top_constraints.study(quick=True)
        assert [study.form for study in studies] == ["quaternion", "multiplier"]
        rows = {row.quantity: row for row in top_constraints.rows(studies)}
        assert rows["multiplier, Gauss(2): |q|^2 - 1: order"].agrees is False
        folder = top.Folder(tmp_path)
        top_constraints.draw(folder, studies)
        assert len(folder.files) == 3

    def test_an_order_is_not_taken_from_round_off(self):
        values = np.array([1e-9, 1.6e-11, 2e-15, 3e-15])
        residuals = np.stack([values, values], axis=1)
        study = top_constraints.Study("multiplier", top_constraints.DTS, {ct.Gauss(3): residuals})
        assert [row.ours for row in top_constraints.rows([study])] == pytest.approx([5.97, 5.97], abs=0.01)


@pytest.mark.slow
def test_the_whole_comparison(tmp_path):
    report = top.reproduce(tmp_path)
    assert report.ok, str(report)
    kept = [row for row in report.rows if row.quantity.startswith("quaternion, ") and "q.g" in row.quantity]
    assert len(kept) == len(top_constraints.METHODS)
    lost = [row for row in report.rows if row.quantity.startswith("multiplier, ")]
    assert [row.reference for row in lost[::2]] == [1, 1, 2, 2, 5, 4, 6, 8]
