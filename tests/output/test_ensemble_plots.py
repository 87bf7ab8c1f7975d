"""Pictures of ensembles and sweeps: the numbers that they show are those of the members, whatever was kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli.main import app
from catena.running.ensembles import Ensemble, StoredEnsemble

SPRING = ct.problems.harmonic()
FALLING = ct.Hamiltonian("p**2/2 - q**4/4")  # to infinity, in a time of about 1.85 / q


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def shown(ax: plt.Axes) -> list[np.ndarray]:
    """Heights of the lines with a place in the legend."""
    return [np.asarray(line.get_ydata()) for line in ax.lines if not str(line.get_label()).startswith("_")]


def warm(**changes: object) -> Ensemble:
    how = {"dt": 0.1, "steps": 400, "every": 4, "members": 12} | changes
    return ct.ensemble(SPRING, SPRING.start, ct.Langevin(1.0, 1.0, seed=5), **how)


def test_members_in_a_bath_show_their_temperatures_and_the_mean_of_the_audit() -> None:
    """A member's temperature is that of its samples after the first fifth, which `keep="samples"` has."""
    many = warm(keep="samples")
    assert many.plot.suited() == ("energy", "temperature")
    ax = many.plot.temperature()
    by_hand = many.data.coordinate_temperature.values[:, 21:, 0].mean(
        axis=1
    )  # of the samples 1 to 100, 80 from the 21st on
    members = next(heights for heights in shown(ax) if len(heights) == len(many))
    assert members == pytest.approx(by_hand, rel=1e-13)
    row = many.audit().canonical["temperature"]
    assert 0.01 < row.error < 0.1  # one digit of it is that of hundredths
    assert f"mean {row.mean:.2f} ± {row.error:.2f}" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert warm().plot.temperature().lines[0].get_ydata() == pytest.approx(
        members, rel=1e-13
    )  # also if only the end is kept


def test_the_mean_of_one_member_has_no_error() -> None:
    many = warm(members=1)
    (mean,) = (
        text.get_text() for text in many.plot.temperature().get_legend().get_texts() if "mean" in text.get_text()
    )
    assert mean == f"mean {many.audit().canonical['temperature'].mean:.3g}"


def test_energies_are_those_of_the_samples_or_of_the_end() -> None:
    many = warm(keep="samples")
    for member, heights in enumerate(shown(many.plot.energy())):
        assert heights.tolist() == many.data.energy.values[member].tolist()
    assert shown(warm().plot.energy())[0].tolist() == warm().final.energy.values.tolist()
    with pytest.raises(ct.InputError, match="the states were not kept"):
        warm(keep="nothing").plot.energy()
    assert warm(keep="nothing").plot.suited() == ("temperature",)


def test_invariants_are_the_worst_of_each_member_without_those_that_failed() -> None:
    starts = [FALLING.start(q=q, p=0.0) for q in (0.1, 0.2, 5.0)]
    many = ct.ensemble(FALLING, starts, ct.RK4(), dt=0.05, steps=60)
    assert [member for member, _ in many.failures] == [2]
    heights = shown(many.plot.invariants())[0]
    for member, start in enumerate(starts[:2]):
        run = ct.simulate(FALLING, start, ct.RK4(), dt=0.05, steps=60)
        energy = run.data.energy.values
        assert heights[member] == pytest.approx(np.abs(energy - energy[0]).max() / run._scale[0], rel=1e-12)
    assert np.isnan(heights[2])


@pytest.mark.parametrize("keep", ["final", "samples"])
def test_where_all_members_failed_nothing_is_drawn(keep: str) -> None:
    many = ct.ensemble(FALLING, [FALLING.start(q=5.0, p=0.0)], ct.RK4(), dt=0.05, steps=60, keep=keep)
    for name in many.plot.suited():
        with pytest.raises(ct.InputError, match="all members failed"):
            getattr(many.plot, name)()


def test_sweeps_stand_over_their_first_axis_with_the_error_of_their_repeats(tmp_path: Path) -> None:
    def spring(k: float, begin: float, rng: np.random.Generator) -> tuple[ct.System, ct.State]:
        system = SPRING.system.with_parameters(k=k)
        return system, system.start(q=begin + 0.1 * rng.normal(), p=0.0)

    study = ct.sweep(
        spring, {"k": [1.0, 2.0, 3.0], "begin": [0.5, 1.0]}, repeats=4, method=ct.StormerVerlet(), dt=0.1, steps=50,
        reduce={"size": ct.Mean("q**2")}, out=tmp_path / "many.zarr",
    )  # fmt: skip
    (panel,) = StoredEnsemble(tmp_path / "many.zarr").plot.reduced()
    assert panel.get_xlabel() == "k"
    for number, bars in enumerate(panel.containers):
        values = study["size"].values[:, number]
        line, _, (upright,) = bars
        assert line.get_ydata() == pytest.approx(values.mean(axis=1), rel=1e-13)
        halves = [0.5 * np.ptp(segment[:, 1]) for segment in upright.get_segments()]
        assert halves == pytest.approx(values.std(axis=1, ddof=1) / 2.0, rel=1e-9)
    result = CliRunner().invoke(app, ["plot", str(tmp_path / "many.zarr"), "--out", str(tmp_path / "pictures")])
    assert result.exit_code == 0, result.output
    assert {file.stem for file in (tmp_path / "pictures").glob("*.png")} == {"energy", "invariants", "reduced"}
    wrong = CliRunner().invoke(app, ["plot", str(tmp_path / "many.zarr"), "orbit", "--out", str(tmp_path)])
    assert wrong.exit_code == 2 and "choose one of energy, invariants, reduced" in wrong.stderr
