"""Pictures of chains show what the run holds, and say what they cannot draw."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import catena as ct
from catena.output import chain_plots
from catena.output.plots import RunPlots
from made_up import tumbling
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


@pytest.mark.parametrize("name", ["linkage", "scaling"])
def test_every_suited_picture_of_made_up_runs_has_units_on_its_axes(name):
    if name == "linkage":
        rods = [ct.Body.box((0.1, 0.1, 1.0))] * 2
        system = ct.Linkage(rods, [ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.5)))])
    else:
        system = ct.ScalingBody(ct.Body.box((1, 2, 3)))
    run = tumbling(system, units={"mass": "kg", "length": "m", "time": "s"})
    drawn = {name: getattr(run.plot, name)() for name in run.plot.suited()}
    assert len(drawn) == len(run.plot.suited()) >= 5 and "link_lengths" not in drawn
    if name == "scaling":
        assert [panel.get_ylabel() for panel in drawn["scale"]] == ["scale", "scale rate (s\u207b\u00b9)"]
        assert np.array_equal(drawn["scale"][0].lines[0].get_ydata(), run.data.scale.values)
        return
    assert drawn["energy_parts"].get_ylabel() == "energy less its start (kg m\u00b2 s\u207b\u00b2)"
    assert drawn["momentum"][0].get_ylabel() == "total momentum\n(kg m s\u207b\u00b9)"
    assert drawn["snapshots"][0].get_ylabel() == "z (m)", "of the two axes that are drawn z is up"
    outlines = [path for some in drawn["snapshots"][0].collections for path in some.get_paths()]
    assert len(outlines) == 2, "an outline for each body"
    assert all(float(tick).is_integer() for tick in drawn["body_energies"].get_yticks())
    with pytest.raises(ct.InputError, match="held by joints"):
        run.plot.link_lengths()


def test_the_map_of_a_single_link_is_not_empty():
    pair = tumbling(ct.problems.helix_chain(2).system)
    ax = pair.plot.link_lengths()
    (cells,) = ax.collections
    assert cells.get_array().shape == (1, 40)
    assert ax.get_ylim() == (-0.5, 0.5)


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
    lines = {line.get_label().split(",")[0]: line.get_ydata() for line in run.plot.energy_parts().lines}
    assert np.allclose(lines["kinetic"], kinetic - kinetic[0], rtol=0, atol=1e-13)
    energy = run.data.energy.values
    assert np.allclose(lines["kinetic"] + lines["potential"], energy - energy[0], rtol=0, atol=1e-12)


def test_long_runs_are_thinned_and_the_legends_say_so(run, monkeypatch):
    samples = run.data.sizes["time"]
    assert "samples" not in run.plot.energy_parts().get_legend().get_title().get_text()
    monkeypatch.setattr(chain_plots, "POINTS", -(-samples // 3))
    ax, (panel, _) = run.plot.energy_parts(), run.plot.momentum()
    assert {len(line.get_xdata()) for line in (*ax.lines, *panel.lines)} == {-(-samples // 3)}
    for drawn in (ax, panel):
        assert "one of 3 samples" in drawn.get_legend().get_title().get_text()


def test_snapshots_are_the_nearest_samples_and_hold_all_particles(run):
    axes = run.plot.snapshots(times=[0.0, 0.21])
    assert [ax.texts[0].get_text() for ax in axes] == ["t = 0", "t = 0.2"]
    drawn = sum(len(line.get_xdata()) for line in axes[1].lines if line.get_markersize() == 2.6)
    assert drawn == 12
    assert len(axes[1].lines) == 4, "as many artists for any number of bodies: links, particles of each colour, centres"
    with pytest.raises(ct.InputError, match=r"no sample at t = 9"):
        run.plot.snapshots(times=[9.0])
    with pytest.raises(ct.InputError, match=r"1 axes for 2 panels"):
        run.plot.snapshots(times=[0.0, 0.2], ax=axes[:1])


@pytest.mark.parametrize(("name", "count"), [("snapshots", 5), ("momentum", 2)])
def test_a_picture_with_several_panels_is_saved_like_any_other_and_takes_axes(run, name, count, tmp_path):
    """As the first page says: each picture takes `ax=` and returns axes, which have a figure."""
    panels = getattr(run.plot, name)()
    assert len(panels) == count and all(panel.figure is panels.figure for panel in panels)
    panels.figure.savefig(tmp_path / "picture.pdf")
    given = Figure().subplots(1, count)
    assert list(getattr(run.plot, name)(ax=given)) == list(given)
    with pytest.raises(ct.InputError, match=f"1 axes for {count} panels[\\s\\S]*give a list of {count}"):
        getattr(run.plot, name)(ax=Figure().subplots())


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
    ax = oscillator.plot.spectrum()
    assert np.array_equal(ax.lines[0].get_ydata(), density.values[1:, 0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["q"]
    assert [line.get_label() for line in oscillator.plot.spectrum("energy").lines] == ["energy"]


def test_a_direction_in_which_nothing_moves_leaves_the_picture_to_the_others():
    """What is left of it, 1e-60 here, has a spectrum of 1e-120: a hundred decades without anything."""
    flat = ct.Hamiltonian("(px**2 + py**2)/2 + (x**2 + y**2)/2", q=["x", "y"], p=["px", "py"])
    run = simulate(flat, flat.start(q=[1.0, 1e-60], p=[0.0, 0.0]), ct.Splitting(2), dt=0.3, steps=64)
    low, high = run.plot.spectrum().get_ylim()
    assert high > run.spectrum("q").values.max() and low > 1e-40 * high


def test_the_spectrum_is_that_of_the_body_that_moves_most(run):
    ax = run.plot.spectrum()
    variance = run.spectrum("position").sum(["frequency", "xyz"]).values
    assert ax.get_ylabel().endswith(f"of body {variance.argmax()}")
    assert run.plot.spectrum(body=-1).get_ylabel().endswith("of body 2")
    with pytest.raises(ct.InputError, match="no body 3"):
        run.plot.spectrum(body=3)
    with pytest.raises(ct.InputError, match="position of body 0 does not change"):
        run.plot.spectrum(body=0)  # clamped


def test_what_is_not_made_of_bodies_says_so():
    run = simulate(ct.problems.harmonic(), None, ct.StormerVerlet(), dt=0.1, steps=10)
    plots = RunPlots(run)
    for name in ("link_lengths", "body_energies", "snapshots", "momentum"):
        with pytest.raises(ct.InputError, match="bodies"):
            getattr(plots, name)()
    with pytest.raises(ct.InputError, match="no constraints"):
        plots.residuals()


def test_work_power_and_force_over_extension_are_those_of_the_outputs(run):
    chain = ct.Chain(
        run.system.bodies, ct.LennardJones(5.0, 1.0), right=ct.Tweezers(5.0, ("4.5 + t", 0, 0)), loads=[(1, ct.Torque((0, 0, "t")))]
    )  # fmt: skip
    pulled = simulate(chain, chain.straight(2.2), ct.Splitting(2), dt=0.02, steps=20)
    out = chain.outputs(pulled)
    work, power = pulled.plot.work()
    for panel, values in ((work, out.work), (power, out.power)):
        assert [line.get_label() for line in panel.lines] == ["right", "loads[0]"]
        np.testing.assert_array_equal(panel.lines[0].get_ydata(), values.sel(source="right").values)
    ax = pulled.plot.force_extension()
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), out.extension.values)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), out.force.sel(source="right").values[:, 0], atol=1e-3)
    assert {"work", "force_extension"} <= set(pulled.plot.suited())
    with pytest.raises(ct.InputError, match="nothing acts at 'left'"):
        pulled.plot.force_extension("left")
    free = ct.Chain(run.system.bodies, ct.LennardJones(5.0, 1.0))
    with pytest.raises(ct.InputError, match="nothing pulls"):
        simulate(free, free.straight(2.2), ct.Splitting(2), dt=0.02, steps=1).plot.work()
