"""Pictures of statics: what they show, and that they draw into axes that are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import catena as ct
from statics import helix


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_modes_are_drawn_with_their_frequencies():
    problem = helix(4)
    modes = problem.system.normal_modes(problem.start)
    top, moved, turned = modes.plot([0, -1])
    assert top.lines[0].get_ydata() == pytest.approx(modes.omega)
    assert len(moved.lines) == len(turned.lines) == 2
    assert moved.lines[1].get_ydata() == pytest.approx(np.linalg.norm(modes.displacement(-1).position, axis=1))
    with pytest.raises(ct.InputError, match="there is no mode 18"):
        modes.plot([18])


def test_a_path_is_drawn_up_to_its_limit():
    problem = helix(2)
    path = problem.system.equilibrium_path((1.0, 0.0, 0.0), start=problem.start)
    ax = path.plot(plt.figure().add_subplot())
    assert path.limit is not None
    assert ax.lines[-1].get_ydata() == pytest.approx([path.limit.load])
    assert ax.lines[0].get_ydata() == pytest.approx(path.load)


def test_branches_and_comparisons_are_drawn():
    problem = helix(4)
    waves = problem.system.dispersion(np.linspace(0.0, np.pi, 9), at=problem.start)
    assert len(waves.plot().lines) == 7  # six branches, and where bending begins
    compared = problem.system.rod_limit(at=problem.start).compare((5, 9), count=2)
    drawn = compared.plot()
    assert drawn.lines[0].get_ydata() == pytest.approx(np.abs(compared.error).max(axis=1))


def test_the_modes_of_a_chain_are_marked_in_a_spectrum():
    problem = helix(3)
    modes = problem.system.normal_modes(problem.start)
    run = ct.simulate(problem.system, modes.start({0: 1e-3}), ct.Splitting(2), dt=0.05, steps=200)
    marked = run.plot.spectrum(modes=modes)
    assert len(marked.lines) == 3 + int((modes.omega / (2 * np.pi) <= 10.0).sum())
