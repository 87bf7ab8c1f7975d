"""Pictures show the numbers of the run, leave no trace, and hide nothing."""

from __future__ import annotations

from functools import partial

import matplotlib
import matplotlib.style
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import catena as ct
from catena.engine.build import build
from catena.errors import CapabilityError, InputError
from catena.output import efficiency, plots, style, thinning
from catena.output.plots import work_precision

matplotlib.use("agg")
EPS = np.finfo(float).eps
PLANE = ct.Section("plane", "q2", where="q1 > 0")


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def run():
    return ct.simulate(ct.problems.kepler(), method=ct.Gauss(3), dt=0.05, steps=1000, progress=False)


@pytest.fixture(scope="module")
def crossing_run():
    return ct.simulate(
        ct.problems.galactic(), method=ct.RK4(), dt=0.05, t_end=1000.0, every=4, sections=[PLANE], progress=False
    )


@pytest.fixture
def uncompiled(monkeypatch):
    """The same programs as plain Python: same bits, nothing to compile."""
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    monkeypatch.setattr("catena.output.efficiency.build", partial(build, compiled=False))


def data_line(ax):
    """The first line that is not the round-off floor."""
    return next(line for line in ax.lines if line.get_label() != style.ROUND_OFF)


def labels(ax) -> list[str]:
    """Of the curves."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def draws(ax) -> bool:
    """Whether the axes, drawn, have ink that is neither white nor grey."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    return bool((np.ptp(pixels, axis=-1) > 60).sum() > 100)


class TestEnergy:
    def test_shows_the_relative_energy_error_of_every_sample_after_the_start(self, run):
        line = data_line(run.plot.energy())
        energy = run.data.energy.values
        np.testing.assert_array_equal(line.get_xdata(), run.data.time.values[1:])
        np.testing.assert_array_equal(line.get_ydata(), (np.abs(energy - energy[0]) / abs(energy[0]))[1:])

    def test_axis_is_logarithmic_with_the_round_off_floor_of_the_largest_term(self, run):
        """The largest term of this energy is the potential at the pericentre, 1/(1 - e) = 2.5; H = -1/2."""
        ax = run.plot.energy()
        floor = next(line for line in ax.lines if line.get_label() == style.ROUND_OFF)
        assert ax.get_yscale() == "log"
        assert floor.get_ydata()[0] == pytest.approx(EPS * 2.5 / 0.5, rel=1e-3)
        assert ax.get_ylim()[0] < floor.get_ydata()[0] < ax.get_ylim()[1]

    def test_floor_of_many_small_terms_is_that_of_the_number_which_is_stored(self, uncompiled):
        """Twenty oscillators, each with a term of 1/2: H = 10 has 20 times the rounding of a term."""
        q, p = [f"q{k}" for k in range(20)], [f"p{k}" for k in range(20)]
        many = ct.Hamiltonian("+".join(f"{name}**2/2" for name in q + p), q, p)
        run = ct.simulate(many, many.start(q=[1.0] * 20, p=[0.0] * 20), method=ct.RK4(), dt=0.1, steps=10)
        floor = next(line for line in run.plot.energy().lines if line.get_label() == style.ROUND_OFF)
        assert floor.get_ydata()[0] == EPS

    def test_is_absolute_where_the_energy_is_zero(self, uncompiled):
        oscillator = ct.Hamiltonian("p**2/2 + q**2/2 - 1/2", "q", "p")
        run = ct.simulate(oscillator, oscillator.start(q=1.0, p=0.0), method=ct.RK4(), dt=0.1, steps=10)
        ax = run.plot.energy()
        np.testing.assert_array_equal(data_line(ax).get_ydata(), np.abs(run.data.energy.values)[1:])
        assert "/" not in ax.get_ylabel()

    def test_without_any_error_shows_the_floor_alone(self, uncompiled):
        saddle = ct.Hamiltonian("p**2/2 - q**2/2", "q", "p")
        run = ct.simulate(saddle, saddle.start(q=0.0, p=0.0), method=ct.RK4(), dt=0.1, steps=10)
        ax = run.plot.invariants()
        ax.figure.canvas.draw()
        assert not data_line(ax).get_ydata().any()
        assert ax.get_ylim()[0] < EPS < ax.get_ylim()[1]

    def test_says_in_the_legend_that_it_thins_and_keeps_the_largest_errors(self, run, monkeypatch):
        monkeypatch.setattr(thinning, "ERROR_POINTS", 100)
        line = data_line(run.plot.energy())
        energy = run.data.energy.values
        assert "largest of every 10 samples" in line.get_label()
        assert len(line.get_ydata()) == 100  # 1000 after the start
        assert line.get_ydata().max() == np.abs(energy / energy[0] - 1).max()

    def test_of_several_runs_on_the_same_axes_differ_in_colour_and_dash(self, run):
        ax = run.plot.energy()
        assert run.plot.energy(ax) is ax
        first, second = (line for line in ax.lines if line.get_label() != style.ROUND_OFF)
        assert first.get_color() != second.get_color()
        assert first.get_linestyle() != second.get_linestyle()
        assert len(ax.lines) == 3  # one floor for both


def test_invariants_are_all_drawn_relative_to_their_largest_terms(run):
    ax = run.plot.invariants()
    assert labels(ax) == ["energy", "angular momentum"]
    momentum = next(line for line in ax.lines if line.get_label() == "angular momentum")
    values = run.data.angular_momentum.values
    largest = np.abs(run.data.q.values * run.data.p.values[:, ::-1]).max()  # q1 p2 and q2 p1
    np.testing.assert_allclose(momentum.get_ydata(), np.abs(values - values[0])[1:] / largest, rtol=1e-12)


def test_phase_shows_a_coordinate_against_its_momentum(run):
    ax = run.plot.phase(1)
    np.testing.assert_array_equal(data_line(ax).get_xdata(), run.data.q.values[:, 1])
    np.testing.assert_array_equal(data_line(ax).get_ydata(), run.data.p.values[:, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("q2", "p2")


def test_orbit_shows_coordinates_against_each_other_at_equal_scale(run):
    ax = run.plot.orbit()
    np.testing.assert_array_equal(data_line(ax).get_xydata(), run.data.q.values)
    assert ax.get_aspect() == 1.0


def test_orbit_in_space_has_three_axes(crossing_run):
    ax = crossing_run.plot.orbit(dofs=(0, 1, 2))
    np.testing.assert_array_equal(np.transpose(ax.lines[0].get_data_3d()), crossing_run.data.q.values)
    assert ax.get_zlabel() == "q3"


def test_a_thinned_orbit_says_so_and_joins_no_distant_samples(run, monkeypatch):
    monkeypatch.setattr(plots, "CURVE_POINTS", 48)
    line = data_line(run.plot.orbit())
    assert "every 21st sample, as points" in line.get_label()
    assert line.get_linestyle() == "None"
    np.testing.assert_array_equal(line.get_xdata(), run.data.q.values[::21, 0])


def test_section_shows_every_crossing_and_counts_them(crossing_run):
    """48 crossings up to t = 1000: the published count 49 includes the start."""
    ax = crossing_run.plot.section()
    crossings = crossing_run.sections["plane"]
    line = data_line(ax)
    np.testing.assert_array_equal(line.get_xdata(), crossings.q.values[:, 0])
    np.testing.assert_array_equal(line.get_ydata(), crossings.p.values[:, 0])
    assert "48 crossings" in line.get_label() and "q2 = 0 upwards, q1 > 0" in line.get_label()


def test_a_section_of_one_point_is_shown_as_one_and_says_how_near_its_crossings_are(uncompiled):
    """An oscillator passes its centre with the same momentum each time; without a window the axis would read 2 + 1e-9."""
    problem = ct.problems.harmonic()
    run = ct.simulate(problem, method=ct.Gauss(3), dt=0.1, steps=150, sections=[ct.Section("centre", "q")])
    ax = run.plot.section()
    crossings = run.sections["centre"]
    assert len(crossings.p) > 3
    for (low, high), name in ((ax.get_xlim(), "q"), (ax.get_ylim(), "p")):
        assert high - low == pytest.approx(plots.WINDOW * np.ptp(run.data[name].values))
        assert low < crossings[name].values.min() <= crossings[name].values.max() < high
    assert ax.get_ylabel() == f"p  (all within {np.ptp(crossings.p.values):.1g})"


def test_a_section_without_crossings_shows_where_the_run_was(uncompiled):
    """The empty axes span the samples of the run."""
    problem = ct.problems.harmonic()
    run = ct.simulate(problem, method=ct.Gauss(3), dt=0.1, steps=20, sections=[ct.Section("never", "q - 100")])
    ax = run.plot.section()
    assert len(run.sections["never"].time) == 0
    assert ax.get_ylim() == pytest.approx((float(run.data.p.min()), float(run.data.p.max())))


def test_section_draws_the_variables_asked_for(crossing_run):
    ax = crossing_run.plot.section("plane", x="q3", y="p2")
    np.testing.assert_array_equal(data_line(ax).get_ydata(), crossing_run.sections["plane"].p.values[:, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("q3", "p2")


@pytest.mark.parametrize("picture", ["energy", "invariants", "phase", "orbit", "section"])
def test_every_picture_has_ink_labels_and_a_legend_and_changes_no_setting(crossing_run, picture):
    before = dict(matplotlib.rcParams)
    ax = getattr(crossing_run.plot, picture)()
    assert dict(matplotlib.rcParams) == before
    assert draws(ax) and ax.get_xlabel() and ax.get_ylabel() and ax.get_legend()


def test_an_empty_picture_has_no_ink():
    """The check above can fail."""
    with style.apply_style():
        figure = style.new_figure(width=4, height=3)
        assert not draws(figure.subplots())


@pytest.mark.parametrize("picture", ["energy", "invariants", "phase", "orbit"])
def test_given_axes_are_drawn_into_and_no_other_figure_is_opened(run, picture):
    import matplotlib.pyplot as plt

    ax = Figure().subplots()
    assert getattr(run.plot, picture)(ax=ax) is ax
    assert plt.get_fignums() == []


def test_what_changes_while_drawing_and_is_not_of_the_style_stays_changed():
    """The first figure of a notebook switches the interactive mode on; a context of matplotlib, the twin, puts it back."""
    before = matplotlib.rcParams["font.size"]
    for context, stays in ((style.apply_style(), True), (matplotlib.style.context(style.SHEET), False)):
        with matplotlib.rc_context({"interactive": False}):
            with context:
                assert matplotlib.rcParams["font.size"] == 9.0 != before
                matplotlib.interactive(True)
            assert matplotlib.is_interactive() is stays
            assert matplotlib.rcParams["font.size"] == before


@pytest.mark.parametrize(
    "values", [1e-5 * np.sin(np.arange(20)), 3.0 + 1e-4 * np.sin(np.arange(20))], ids=["small", "alike"]
)
@pytest.mark.parametrize(
    "legend", [style.legend_above, partial(style.legend_in_one_row, title=None)], ids=["above", "in a row"]
)
def test_powers_and_offsets_of_numbers_stand_beside_the_legend(legend, values):
    def stands_in_legend() -> bool:
        ax.figure.draw_without_rendering()
        power = ax.yaxis.get_offset_text()
        return bool(power.get_text()) and power.get_window_extent().overlaps(ax.get_legend().get_window_extent())

    with style.apply_style():
        ax = style.axes_for(None)
        ax.plot(values, label="Splitting(4), dt = 0.05")
        legend(ax)
        assert not stands_in_legend()
        ax.ticklabel_format(axis="y", useOffset=True)  # as matplotlib has them
        ax.yaxis.get_offset_text().set_horizontalalignment("left")
        assert stands_in_legend()


def test_colours_stay_apart_in_grey():
    """Neighbours in the cycle differ in dashes, and no two lines share colour and dashes."""
    with style.apply_style():
        cycle = [style.line_style(k) for k in range(7)]
    dashes = [str(one["linestyle"]) for one in cycle]
    assert len(set(dashes)) == len(dashes) and len({one["color"] for one in cycle}) == len(cycle)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda plot: plot.phase(2), "count from 0 to 1: q1, q2"),
        (lambda plot: plot.orbit(dofs=(0,)), "two or three"),
        (lambda plot: plot.orbit(dofs=(0, 5)), "dof = 5"),
        (lambda plot: plot.section(), "no section"),
        (lambda plot: plot.work_precision([], [0.1]), "nothing to compare"),
        (lambda plot: plot.work_precision([ct.RK4()], [0.1], cost="tears"), "cost = 'tears'"),
        (lambda plot: plot.work_precision([ct.RK4()], [0.3]), "does not divide"),
    ],
)
def test_mistakes_are_explained(run, call, words):
    with pytest.raises(InputError, match=words):
        call(run.plot)


def test_an_unknown_section_or_variable_is_explained(crossing_run):
    with pytest.raises(InputError, match="did you mean plane"):
        crossing_run.plot.section("plan")
    with pytest.raises(InputError, match="no 'x1'"):
        crossing_run.plot.section(x="x1")


class TestWorkPrecision:
    """Henon-Heiles up to T = 8. Errors at numbers of force evaluations from an independent 25-digit program: RK4 5.6e-8 at
    1024; order 4 splitting 2.8e-8 at 384; order 6 splitting 1.9e-8 at 176 (each two digits)."""

    problem = ct.problems.henon_heiles()
    right = ct.State(
        {
            "q": np.array([0.157920100252473, 0.296401778999475]),
            "p": np.array([-0.425214385458796, 0.101536003667547]),
        },
        8.0,
    )

    @pytest.mark.parametrize(
        ("method", "steps", "evaluations", "error"),
        [(ct.RK4(), 256, 1024, 5.6e-8), (ct.Splitting(4), 64, 384, 2.8e-8), (ct.Splitting(6), 16, 176, 1.9e-8)],
        ids=str,
    )
    def test_shows_the_known_error_at_the_known_number_of_evaluations(
        self, uncompiled, method, steps, evaluations, error
    ):
        """A splitting evaluates the force once more, at the start; the next step reuses the last one."""
        ax = work_precision(self.problem, [method], [8 / steps], t_end=8.0, reference=self.right)
        extra = 1 if isinstance(method, ct.Splitting) else 0
        assert ax.lines[0].get_xdata() == [evaluations + extra]
        assert ax.lines[0].get_ydata() == pytest.approx([error], abs=0.5e-9 + 0.05e-8)

    def test_takes_a_finer_method_for_reference_where_no_solution_is_known(self, uncompiled):
        given = efficiency.measure_work(self.problem, [ct.RK4()], [0.25], t_end=8.0, reference=self.right)
        made = efficiency.measure_work(self.problem, [ct.RK4()], [0.25], t_end=8.0)
        assert made.against == "Gauss(6), dt = 0.125"
        assert made.by_method[ct.RK4()][0].error == pytest.approx(given.by_method[ct.RK4()][0].error, rel=1e-8)

    def test_counting_changes_no_bit(self):
        plain = build(self.problem.system, ct.RK4(), compiled=False)
        counting = build(efficiency.Counting(self.problem.system), ct.RK4(), compiled=False)
        states = [efficiency._run(p, self.problem.start, 0.1, 20, counting=False)[0] for p in (plain, counting)]
        assert states[0].q.tobytes() == states[1].q.tobytes()

    def test_leaves_out_a_failed_step_size_and_says_so(self, uncompiled):
        """With dt = 0.05 the fixed point of the implicit Euler method diverges at step 26, t = 1.3."""
        methods = [ct.ImplicitEuler(solver="fixed-point")]
        ax = work_precision(ct.problems.kepler(), methods, [0.05, 0.005], t_end=2.0)
        assert len(ax.lines[0].get_xdata()) == 1
        assert "failed at 1 of 2 dt" in ax.lines[0].get_label()

    def test_of_a_run_takes_its_end_and_times_too(self, uncompiled):
        run = ct.simulate(ct.problems.kepler(), method=ct.Gauss(3), dt=0.05, steps=20, progress=False)
        ax = run.plot.work_precision([ct.Gauss(3)], [0.1, 0.0125], cost="time")
        seconds, errors = ax.lines[0].get_data()
        assert 0 < seconds[0] < seconds[1] and errors[0] > 30 * errors[1] > 0
        assert "t = 1\n" in ax.get_ylabel() and "(s)" in ax.get_xlabel()

    def test_refuses_to_count_what_it_cannot(self):
        with pytest.raises(CapabilityError, match="cannot be counted"):
            efficiency._counting(len)

    def test_takes_time_for_cost_where_evaluations_cannot_be_counted(self, uncompiled):
        """The fields of bodies are fixed kernels: asked for by name, their count is refused; by default time is taken."""
        body = ct.problems.book()
        ax = work_precision(body, [ct.Gauss(2)], [0.1, 0.05], t_end=0.2)
        assert "time in the compiled loop" in ax.get_xlabel()
        with pytest.raises(CapabilityError, match="cannot be counted"):
            work_precision(body, [ct.Gauss(2)], [0.1], t_end=0.2, cost="evaluations")
        assert "evaluations" in work_precision(self.problem, [ct.RK4()], [0.1], t_end=0.2).get_xlabel()


def test_the_energy_in_a_heat_bath_is_drawn_as_it_is():
    """Nobody promised to keep it, so its change is no error."""
    run = ct.simulate(ct.problems.harmonic(), method=ct.Langevin(1.0, 1.0, seed=1), dt=0.1, steps=50, progress=False)
    ax = run.plot.energy()
    assert ax.get_yscale() == "linear" and "error" not in ax.get_ylabel()
    assert np.array_equal(ax.lines[0].get_ydata(), run.data.energy)


def test_pictures_in_a_heat_bath_show_its_temperature_and_no_energy_that_nobody_keeps(uncompiled):
    """The temperature of the audit, with its law; a system of which nothing is kept has no picture of invariants."""
    run = ct.simulate(ct.problems.harmonic(), method=ct.Langevin(1.0, 1.0, seed=1), dt=0.1, steps=50, progress=False)
    assert "temperature" in run.plot.suited() and "invariants" not in run.plot.suited()
    ax = run.plot.temperature()
    assert np.array_equal(ax.lines[0].get_ydata(), run.data.coordinate_temperature[1:, 0])
    assert [*ax.lines[1].get_ydata()] == [1.0, 1.0]
    row = run.audit().canonical["temperature"]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((row.mean - row.error, row.mean + row.error))
    with pytest.raises(InputError, match="nothing is kept"):
        run.plot.invariants()
    chain = ct.problems.helix_chain(2)
    warm = ct.simulate(chain, method=ct.Langevin(0.1, 1.0, seed=1), steps=4, progress=False)
    assert labels(warm.plot.invariants()) == ["unit residual", "tangency residual"]


def test_work_is_no_invariant_and_no_error_of_the_energy(uncompiled):
    """What is drawn is H less the work, and the axis says so."""
    driven = ct.Hamiltonian("p**2/2 + q**2/2 - 0.3*q*cos(1.3*t)")
    run = ct.simulate(driven, driven.start(q=1.0, p=0.0), ct.Splitting(4), dt=0.1, steps=20, progress=False)
    assert labels(run.plot.invariants()) == ["energy"]
    assert "H-W-H_0" in run.plot.energy().get_ylabel()
    with pytest.raises(InputError, match="there is no heat bath"):
        run.plot.temperature()
