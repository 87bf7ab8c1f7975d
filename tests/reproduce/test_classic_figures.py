"""The classic figures come out as published, pictures and numbers, and wrong methods or systems do not."""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pytest
from matplotlib.image import imread

import catena as ct
from catena.engine.build import build
from catena.reproduce import galactic, harmonic, kepler, pendulum


@pytest.fixture
def uncompiled(monkeypatch):
    """The same programs as plain Python: same bits, nothing to compile."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))


def assert_complete(report, *, pictures):
    """Every row agrees or says why it cannot, every file is there, no picture is blank."""
    assert report.ok, str(report)
    assert all(row.agrees is not None or row.remark for row in report.rows), str(report)
    names = {file.name for file in report.files}
    for picture in pictures:
        assert {f"{picture}.png", f"{picture}.pdf"} <= names
    for file in report.files:
        assert file.stat().st_size > 0
        if file.suffix == ".png":
            pixels = imread(file)[..., :3]
            assert (np.ptp(pixels, axis=-1) > 0.25).sum() > 500, f"{file} has no coloured ink"
        if file.suffix == ".pdf":
            assert file.read_bytes().startswith(b"%PDF")


def test_harmonic_oscillator(uncompiled, tmp_path):
    report = harmonic.reproduce(tmp_path, quick=True)
    assert_complete(report, pictures=["harmonic_energy"])
    assert len(report.rows) == 17
    with (tmp_path / "harmonic_energy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == harmonic.STEPS + 1
    # 2 (1 + 4 h^2)^2000, another way to the same number
    assert float(rows[-1]["ExplicitEuler()"]) == pytest.approx(4.450369930684, abs=1e-12)


def test_harmonic_oscillator_with_a_wrong_method_disagrees(uncompiled, monkeypatch, tmp_path):
    """EulerA under the name of EulerB has the same range of energies, but not the same modified energy."""

    class Impostor(ct.EulerA):
        def __str__(self) -> str:
            return "EulerB()"

    monkeypatch.setattr(harmonic, "EulerB", Impostor)
    report = harmonic.reproduce(tmp_path)
    wrong = [row.quantity for row in report.rows if row.agrees is False]
    assert wrong == ["EulerB(): change of H - 2 dt p q"]


@pytest.mark.slow
def test_pendulum(tmp_path):
    report = pendulum.reproduce(tmp_path, quick=True)
    assert_complete(report, pictures=["pendulum"])
    assert report["RadauIIA(2): H after 10000 steps"].agrees
    assert report["RadauIIA(2): steps of the first 100 in which H grows"].ours == 33


@pytest.mark.slow
def test_kepler(tmp_path):
    report = kepler.reproduce(tmp_path, quick=True)
    assert_complete(report, pictures=["kepler_orbits", "kepler_errors"])
    times = [row for row in report.rows if "time /" in row.quantity]
    assert [row.agrees for row in times] == [None] * 4
    assert [f"{row.reference:.2f}" for row in times] == ["6.99", "1.88", "1.00", "4.67"]
    assert times[2].ours == 1.0


@pytest.fixture(scope="module")
def galactic_report(tmp_path_factory):
    return galactic.reproduce(tmp_path_factory.mktemp("galactic"), quick=True)


class TestGalactic:
    @pytest.mark.slow
    def test_counts_energies_and_pictures(self, galactic_report):
        assert_complete(galactic_report, pictures=["galactic_sections", "galactic_drift"])
        counts = [row.ours for row in galactic_report.rows if row.quantity.endswith("crossings")]
        assert counts == [475, 475, 475, 475, 475, 470]

    @pytest.mark.slow
    @pytest.mark.parametrize("case", galactic.CASES, ids=lambda case: case.row)
    def test_sections_of_a_plain_run_give_the_same_counts(self, case):
        """49 in all rows up to t = 1000, the start included."""
        run = ct.simulate(
            ct.problems.galactic(), method=case.method, dt=case.dt, t_end=1e3, sections=[galactic.PLANE], progress=False
        )
        crossings = run.sections["plane"]
        assert 1 + crossings.sizes["crossing_plane"] == 49
        assert np.abs(crossings.q.values[:, 1]).max() < 1e-14 and crossings.q.values[:, 0].min() > 0

    def test_the_counting_rule_by_linear_interpolation_gives_the_same_count(self):
        """The published rule in plain numpy: sign changes of the samples, q1 interpolated."""
        run = ct.simulate(
            ct.problems.galactic(), method=ct.RK4(), dt=0.1, t_end=1e4, sections=[galactic.PLANE], progress=False
        )
        q1, q2 = run.data.q.values[:, 0], run.data.q.values[:, 1]
        part = q2[:-1] / (q2[:-1] - q2[1:] + (q2[:-1] == q2[1:]))
        at_crossing = q1[:-1] + part * np.diff(q1)
        assert 1 + ((q2[:-1] < 0) & (q2[1:] >= 0) & (at_crossing > 0)).sum() == 470

    @pytest.mark.parametrize(("c", "count"), [(0.75, 46192), (0.5, 47586)])
    def test_whole_row_f_comes_out_and_a_misprinted_galaxy_does_not(self, c, count):
        """c = 0.5 is a misprint found in the literature; its count is that of another program."""
        problem = ct.problems.galactic()
        galaxy = ct.Problem("galaxy", problem.system.with_parameters(c=c), problem.start, problem.dt)
        assert galactic.follow(galaxy, ct.RK4(), dt=0.1, t_end=1e6).count == count

    def test_memory_does_not_hold_the_samples(self, monkeypatch):
        """Chunks of any length give the same crossings and extremes."""
        whole = galactic.follow(ct.problems.galactic(), ct.RK4(), dt=0.1, t_end=1e3)
        monkeypatch.setattr(galactic, "CHUNK", 7)
        parts = galactic.follow(ct.problems.galactic(), ct.RK4(), dt=0.1, t_end=1e3)
        assert parts.crossings.tobytes() == whole.crossings.tobytes()
        assert (parts.least, parts.largest) == (whole.least, whole.largest)

    @pytest.mark.slow
    def test_whole_table(self, tmp_path):
        """All counts but that of row b, which is noise: 46500 to 47150 is all that can be said."""
        report = galactic.reproduce(tmp_path)
        assert_complete(report, pictures=["galactic_sections", "galactic_drift"])
        counts = {row.quantity[0]: row.ours for row in report.rows if row.quantity.endswith("crossings")}
        assert 46500 <= counts.pop("b") <= 47150
        assert counts == {"a": 47093, "c": 46597, "d": 47092, "e": 47004, "f": 46192}


@pytest.mark.parametrize("module", [harmonic, pendulum, kepler, galactic], ids=lambda module: module.NAME)
def test_every_reproduction_names_itself(module):
    assert module.__name__.endswith(module.NAME) and module.ABOUT
