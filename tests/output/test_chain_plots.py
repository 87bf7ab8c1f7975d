"""Pictures of chains show what the run holds, and say what they cannot draw."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import catena as ct
from catena.output.plots import RunPlots
from uncompiled import simulate

mpl.use("agg")


@pytest.fixture(scope="module")
def run():
    problem = ct.problems.helix_chain(3, right="force", F=(3.0, 0.0, 0.0))
    return simulate(problem, None, ct.Splitting(2), dt=0.02, steps=20)


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_every_suited_picture_can_be_drawn(run):
    for name in run.plot.suited():
        assert getattr(run.plot, name)() is not None


def test_link_lengths_are_the_distances_of_neighbours(run):
    (cells,) = run.plot.link_lengths().collections
    position = run.data.position.values
    expected = np.linalg.norm(position[:, 1:] - position[:, :-1], axis=2)
    assert np.array_equal(np.asarray(cells.get_array()), expected.T)


def test_kinetic_energies_and_the_potential_add_up_to_the_energy(run):
    """The kinetic energy by an independent route: angular velocity from the tensor in the given axes."""
    kinetic = np.zeros(len(run.data.time))
    for j, body in enumerate(run.system.bodies):
        y, p = run.data.angular_momentum.values[:, j], run.data.momentum.values[:, j]
        kinetic += 0.5 * (y * np.linalg.solve(body.tensor, y.T).T).sum(axis=1) + 0.5 * (p**2).sum(axis=1) / body.mass
    lines = {line.get_label().split(" ")[0]: line.get_ydata() for line in run.plot.energy_parts().lines}
    assert np.allclose(lines["kinetic"], kinetic - kinetic[0], rtol=0, atol=1e-13)
    energy = run.data.energy.values
    assert np.allclose(lines["kinetic"] + lines["potential"], energy - energy[0], rtol=0, atol=1e-12)


def test_snapshots_are_the_nearest_samples_and_hold_all_particles(run):
    axes = run.plot.snapshots(times=[0.0, 0.21])
    assert [ax.texts[0].get_text() for ax in axes] == ["t = 0", "t = 0.2"]
    drawn = sum(len(line.get_xdata()) for line in axes[1].lines if line.get_markersize() == 2.6)
    assert drawn == 12
    with pytest.raises(ct.InputError, match=r"no sample at t = 9"):
        run.plot.snapshots(times=[9.0])
    with pytest.raises(ct.InputError, match=r"1 axes for 2 times"):
        run.plot.snapshots(times=[0.0, 0.2], ax=axes[:1])


def test_the_spectrum_peaks_at_the_frequency_of_the_motion_and_holds_its_variance():
    oscillator = simulate(ct.problems.harmonic(), None, ct.StormerVerlet(), dt=0.1, steps=2000)
    density = oscillator.spectrum("q")
    frequency = density.frequency.values
    step = frequency[1]
    omega = 2.0 * np.arcsin(0.5 * 2.0 * 0.1) / 0.1  # of the leapfrog with step 0.1, for the frequency 2
    assert abs(frequency[int(density.values[:, 0].argmax())] - omega / (2 * np.pi)) <= step
    variance = oscillator.data.q.values[:, 0].var()
    assert density.values[:, 0].sum() * step == pytest.approx(variance, rel=0.02)
    with pytest.raises(ct.InputError, match="no 'speed'"):
        oscillator.spectrum("speed")


def test_what_is_not_made_of_bodies_says_so():
    run = simulate(ct.problems.harmonic(), None, ct.StormerVerlet(), dt=0.1, steps=10)
    plots = RunPlots(run)
    for name in ("link_lengths", "body_energies", "snapshots", "momentum"):
        with pytest.raises(ct.InputError, match="bodies"):
            getattr(plots, name)()
    with pytest.raises(ct.InputError, match="no constraints"):
        plots.residuals()
