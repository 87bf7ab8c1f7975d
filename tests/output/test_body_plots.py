"""Pictures of bodies show the numbers of the run, in the right frame, and are refused where they mean nothing."""

from __future__ import annotations

from functools import partial

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import catena as ct
from catena.engine.build import build
from catena.errors import InputError
from catena.geometry import rotations
from catena.output import body_plots, chain_plots

matplotlib.use("agg")
FAR = body_plots.FAR_LABEL


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module", autouse=True)
def uncompiled():
    """Plain Python: same bits, nothing to compile."""
    patch = pytest.MonkeyPatch()
    patch.setattr("catena.running.plan.build", partial(build, compiled=False))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def free(uncompiled):
    """A free body whose axes are not its principal ones."""
    f = rotations.to_matrix(rotations.normalise([3.0, 1.0, -2.0, 1.0]))
    tensor = f @ np.diag([0.6, 0.9, 1.3]) @ f.T
    body = ct.FreeBody(ct.Body.from_inertia(1.0, (tensor + tensor.T) / 2))
    start = body.start(rotations.normalise([5.0, 1.0, -7.0, 2.0]), angular_momentum=(0.7, -0.5, 0.9))
    section = ct.Section("plane", "angular_momentum[1]", direction=0)
    return ct.simulate(body, start, method=ct.DMV(6), dt=0.05, steps=400, sections=[section], progress=False)


@pytest.fixture(scope="module")
def top(uncompiled):
    return ct.simulate(ct.problems.lagrange_top(), method=ct.Splitting(2), dt=0.02, steps=300, progress=False)


@pytest.fixture(scope="module")
def plain_top(uncompiled):
    """A top whose potential is a text: it has no centre of mass."""
    system = ct.Top(ct.Body(moments=(1, 2, 3)), "R33 + R11**2")
    return ct.simulate(system, system.start(angular_momentum=(1, 0, 2)), method=ct.Splitting(2), dt=0.1, steps=5)


@pytest.fixture(scope="module")
def oscillator(uncompiled):
    return ct.simulate(ct.problems.harmonic(), method=ct.RK4(), dt=0.1, steps=5, progress=False)


def eye_frame(view: tuple[float, float]) -> np.ndarray:
    """Rows right, up, towards the eye: a camera as the textbooks have it."""
    e, a = np.radians(view)
    turn_z = np.array([[np.cos(a), np.sin(a), 0], [-np.sin(a), np.cos(a), 0], [0, 0, 1]])
    turn_y = np.array([[np.cos(e), 0, np.sin(e)], [0, 1, 0], [-np.sin(e), 0, np.cos(e)]])
    return (turn_y @ turn_z)[[1, 2, 0]]


def line(ax, label: str):
    return next(found for found in ax.lines if str(found.get_label()).startswith(label))


def halves(ax, label: str) -> tuple[np.ndarray, np.ndarray]:
    """The near and the far part of a curve on a globe: (n, 2) with nan where the other one is."""
    near = line(ax, label)
    far = ax.lines[ax.lines.index(near) - 1]
    assert far.get_label() == FAR
    return near.get_xydata(), far.get_xydata()


def assert_on_globe(ax, label: str, points: np.ndarray, view: tuple[float, float]) -> None:
    """Every sample is drawn where a camera sees it, dark only if it is on the near side."""
    seen = points @ eye_frame(view).T
    near, far = halves(ax, label)
    in_front = seen[:, 2] >= 0
    np.testing.assert_allclose(near[in_front], seen[in_front, :2], atol=1e-14)
    np.testing.assert_allclose(far[~in_front], seen[~in_front, :2], atol=1e-14)
    shown_in_front = np.isfinite(near[:, 0])
    # the near part goes on to the first point behind, so that the parts meet
    assert (shown_in_front == (in_front | np.roll(in_front, 1))).all()


def draws(ax) -> bool:
    """Whether the axes, drawn, have ink that is neither white nor grey."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    return bool((np.ptp(pixels, axis=-1) > 60).sum() > 100)


class TestPolhode:
    view = (20.0, 70.0)

    def test_shows_the_momentum_in_the_body_on_its_sphere(self, free):
        ax = free.plot.polhode(view=self.view)
        assert_on_globe(ax, "angular momentum", free.data.angular_momentum.values, self.view)

    def test_grey_curves_have_constant_energy_in_the_given_axes_and_dashed_ones_that_of_the_middle_axis(self, free):
        body = free.system.body
        inverse = np.linalg.inv(body.tensor)
        curves = [(curve @ body.frame_matrix.T, style) for curve, style in body_plots._polhodes(body.moments)]
        assert len(curves) == 4 * body_plots.LEVELS
        for points, style in curves:
            energy = np.einsum("ni,ij,nj->n", points, inverse, points) / 2
            np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-14)
            np.testing.assert_allclose(energy, energy[0], rtol=1e-13)
            assert (style["linestyle"] == "--") == (abs(energy[0] - 0.5 / 0.9) < 1e-13)

    def test_grey_curves_in_principal_axes_would_be_wrong(self, free):
        """Forgetting the frame: the energy along the curves then varies."""
        body = free.system.body
        points, _ = body_plots._polhodes(body.moments)[0]
        energy = np.einsum("ni,ij,nj->n", points, np.linalg.inv(body.tensor), points) / 2
        assert np.ptp(energy) > 0.01

    def test_looks_at_the_curve_by_default(self, free):
        near, _ = halves(free.plot.polhode(), "angular momentum")
        assert np.isfinite(near[:, 0]).mean() > 0.5

    @pytest.mark.parametrize("moments", [(1.0, 1.0, 1.0), (1.0, 1.0, 0.5), (1.0, 1.0, 0.0), (1.0, 2.0, 3.0)])
    def test_symmetric_linear_and_flat_bodies_have_curves_that_are_finite(self, moments):
        assert all(np.isfinite(points).all() for points, _ in body_plots._polhodes(np.array(moments)))

    def test_of_a_top_is_refused(self, top):
        with pytest.raises(InputError, match="only a free body has a polhode"):
            top.plot.polhode()


class TestHerpolhode:
    def test_shows_the_velocity_across_the_momentum_between_two_circles(self, free):
        """Poinsot: omega along R y is 2 H/|y|, a constant, so that |omega|^2 is that of the curve plus its square."""
        ax = free.plot.herpolhode()
        points = line(ax, "angular velocity").get_xydata()
        y = free.data.angular_momentum.values
        omega = np.linalg.solve(free.system.body.tensor, y.T).T
        along = 2 * free.data.energy.values / np.linalg.norm(y, axis=1)
        np.testing.assert_allclose(np.hypot(*points.T) ** 2 + along**2, np.sum(omega**2, axis=1), rtol=1e-13)
        inner, outer = (np.hypot(*found.get_xydata().T) for found in ax.lines[:2])
        assert inner.max() == pytest.approx(np.hypot(*points.T).min())
        assert outer.min() == pytest.approx(np.hypot(*points.T).max())

    def test_turns_as_the_velocity_does_in_space(self, free):
        """Seen against R y, the angle between the first and any later direction, by another formula."""
        points = line(free.plot.herpolhode(), "angular velocity").get_xydata()
        q, y = free.data.orientation.values, free.data.angular_momentum.values
        omega = rotations.rotate(q, np.linalg.solve(free.system.body.tensor, y.T).T)
        axis = rotations.rotate(q[0], y[0]) / np.linalg.norm(y[0])
        across = omega - np.outer(omega @ axis, axis)
        turned = np.arctan2(np.cross(across[0], across) @ axis, across @ across[0])
        drawn = np.arctan2(*points.T[::-1])
        np.testing.assert_allclose(np.cos(drawn - drawn[0] - turned), 1.0, atol=1e-12)


def test_columns_are_the_axes_of_the_body_in_space(free):
    ax = free.plot.columns(view=(10.0, 20.0))
    matrices = rotations.to_matrix(free.data.orientation.values)
    for k, name in enumerate("xyz"):
        assert_on_globe(ax, f"body's {name}", matrices[:, :, k], (10.0, 20.0))
    with pytest.raises(AssertionError):  # rows in place of columns
        assert_on_globe(ax, "body's x", matrices[:, 0, :], (10.0, 20.0))


class TestPath:
    def test_shows_the_centre_of_mass_in_space(self, top):
        ax = top.plot.path(view=(15.0, -40.0))
        center = rotations.rotate(top.data.orientation.values, np.array([0.0, 0.0, 1.0]))
        assert_on_globe(ax, "centre of mass", center, (15.0, -40.0))

    def test_is_refused_where_nothing_falls(self, free, plain_top):
        for run in (free, plain_top):
            with pytest.raises(InputError, match="no centre of mass"):
                run.plot.path()


class TestAngularMomentum:
    def test_shows_all_components_in_the_body_and_in_space(self, free):
        body, space = free.plot.angular_momentum()
        for k in range(3):
            np.testing.assert_array_equal(body.lines[k].get_ydata(), free.data.angular_momentum.values[:, k])
            np.testing.assert_allclose(space.lines[k].get_ydata(), free.data.spatial_momentum.values[:, k], atol=1e-14)
            np.testing.assert_allclose(space.lines[k].get_ydata(), space.lines[k].get_ydata()[0], atol=1e-13)

    def test_of_a_top_keeps_the_vertical_one_only(self, top):
        _, space = top.plot.angular_momentum()
        ranges = [np.ptp(found.get_ydata()) for found in space.lines]
        assert ranges[0] > 0.1 and ranges[1] > 0.1 and ranges[2] < 1e-13

    def test_draws_into_given_axes(self, free):
        import matplotlib.pyplot as plt

        axes = list(plt.figure().subplots(2, 1))
        assert free.plot.angular_momentum(axes) == axes


class TestEnergyParts:
    def test_of_a_free_body_add_up_to_its_energy(self, free):
        *parts, total = (found.get_ydata() for found in free.plot.energy_parts().lines)
        np.testing.assert_array_equal(total, free.data.energy.values)
        np.testing.assert_allclose(sum(parts), total, rtol=1e-14)

    def test_of_a_top_are_changes_that_cancel(self, top):
        """Potential of this top: 1.5 n3; the legend has the values at the start."""
        ax = top.plot.energy_parts()
        kinetic, potential, total = (found.get_ydata() for found in ax.lines)
        height = rotations.to_matrix(top.data.orientation.values)[:, 2, 2]
        np.testing.assert_allclose(potential, 1.5 * (height - height[0]), atol=1e-13)
        np.testing.assert_allclose(kinetic + potential, total, atol=1e-13)
        assert [text.get_text() for text in ax.get_legend().get_texts()][1] == f"potential, from {1.5 * height[0]:.7g}"


def test_a_component_that_does_not_change_has_no_spectrum(top):
    """The axial momentum of a symmetric top: its rounding took half of the picture."""
    lines = top.plot.spectrum().lines
    assert [line.get_label() for line in lines] == ["x", "y"]
    assert lines[1].get_color() == top.plot.angular_momentum()[0].lines[1].get_color()


def test_pictures_suit_the_system(free, top, plain_top, oscillator):
    body = ("columns", "angular_momentum", "energy_parts", "spectrum")
    both = ("energy", "invariants")
    assert free.plot.suited() == (*both, "polhode", "herpolhode", *body)
    assert top.plot.suited() == (*both, "path", *body)
    assert plain_top.plot.suited() == (*both, *body)
    assert oscillator.plot.suited() == (*both, "phase", "spectrum")


@pytest.mark.parametrize("picture", ["polhode", "herpolhode", "columns", "path", "angular_momentum", "energy_parts"])
def test_of_something_else_than_a_body_is_refused(oscillator, picture):
    with pytest.raises(InputError, match="is not a body"):
        getattr(oscillator.plot, picture)()


def test_every_suited_picture_has_ink_and_leaves_no_setting_behind(free, top):
    before = dict(matplotlib.rcParams)
    for run in (free, top):
        for name in run.plot.suited():
            drawn = getattr(run.plot, name)()
            for ax in drawn if isinstance(drawn, list) else [drawn]:
                assert draws(ax), name
    assert dict(matplotlib.rcParams) == before


def test_long_runs_are_thinned_and_the_legend_says_so(free, monkeypatch):
    monkeypatch.setattr(chain_plots, "POINTS", 50)
    ax = free.plot.herpolhode()
    found = line(ax, "angular velocity")
    assert len(found.get_xdata()) == 45  # ceil(401 / 9)
    assert "one of 9 samples" in found.get_label()


class TestSection:
    def test_of_a_body_shows_two_components_that_the_section_does_not_mention(self, free):
        ax = free.plot.section()
        crossings = free.sections["plane"].angular_momentum.values
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("angular_momentum[0]", "angular_momentum[2]")
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), crossings[:, [0, 2]])
        assert len(crossings) > 2 and np.abs(crossings[:, 1]).max() < 1e-12

    def test_shows_any_component(self, free):
        ax = free.plot.section("plane", x="orientation[0]", y="angular_momentum[0]")
        crossings = free.sections["plane"]
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), crossings.orientation.values[:, 0])
        with pytest.raises(InputError, match="there is no 'orientation"):
            free.plot.section("plane", x="orientation[4]")
