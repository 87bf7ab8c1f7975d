"""The page as text: what is drawn, what it says, what it leaves out."""

from __future__ import annotations

import json
import logging
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.cli import app
from catena.geometry import rotations
from catena.geometry.inertia import inertia_tensor, mesh_second_moment, mesh_volume
from catena.output.page import frames, samples
from catena.output.page.appearance import appearance_of
from catena.output.page.charts import charts
from catena.output.page.colouring import scalars
from catena.output.page.frames import choose_frames
from catena.output.page.page import page_of
from catena.output.page.shapes import Shape, cone_of, hull, shape_of
from catena.output.page.tension import link_forces
from catena.running.runs import MemoryRun
from catena.text.citations import ENTRY, bibtex, readable
from made_up import made_up, tumbling

PAGE = Path(frames.__file__).parent
CUBE = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]


def chain(count: int = 6) -> Any:
    return ct.problems.helix_chain(count).system


def described(page: Any) -> dict[str, Any]:
    """What the script on the page reads."""
    return json.loads(re.search(r'<script type="application/json" id="description">(.*?)</script>', page.html)[1])


def array(page: Any, name: str, kind: str) -> np.ndarray:
    text = re.search(rf'<script type="application/base64" id="{name}">(.*?)</script>', page.html)[1]
    return np.frombuffer(b64decode(text), kind)


# Shapes


def volume_and_inertia(shape: Shape, density: float = 1.0) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre, and inertia tensor about the centre of what a closed surface encloses."""
    volume, center, relative = mesh_volume(shape.vertices[shape.faces])
    return volume, center, inertia_tensor(density * mesh_second_moment(relative))


SOLIDS = {
    "box": (ct.Body.box((1, 2, 3), mass=6.0), 1e-13),
    "mesh": (ct.Body.from_mesh(CUBE, hull(np.array(CUBE, dtype=float)).faces, density=2.0), 1e-13),
    "tetrahedron": (ct.Body.tetrahedron([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], mass=1.0), 1e-13),
    # A circle of N corners has sin(2 pi/N)/(2 pi/N) of its area: 6.4e-3 less for 32. A second moment has that squared and
    # a little more: 2 %; a sphere loses the same along its rings again.
    "ellipsoid": (ct.Body.ellipsoid((1, 2, 3), mass=5.0), 0.04),
    "disc": (ct.Body.disc(2.0, 1.0, mass=3.0), 0.02),
    "moments": (ct.Body(mass=2.0, moments=(1.0, 2.0, 2.5)), 0.04),
    "inertia": (ct.Body.from_inertia(1.5, [[2.0, 0.3, 0.1], [0.3, 3.0, -0.2], [0.1, -0.2, 2.5]]), 0.04),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLIDS)
def test_a_shape_has_the_inertia_of_its_body(name: str) -> None:
    """Filled with the mass of the body, in its axes, about its centre; triangles face outwards."""
    body, tolerance = SOLIDS[name]
    shape = shape_of(body)
    volume, center, tensor = volume_and_inertia(shape)
    assert volume > 0.0
    np.testing.assert_allclose(center, np.zeros(3), atol=1e-12)
    np.testing.assert_allclose(tensor * body.mass / volume, body.tensor, rtol=tolerance, atol=tolerance)


def test_a_shape_of_other_axes_would_be_noticed() -> None:
    """The twin of the test above: the principal axes of a tensor are not those it was given in."""
    body, tolerance = SOLIDS["inertia"]
    shape = shape_of(body)
    turned = Shape("ellipsoid", shape.vertices @ body.frame_matrix, shape.faces, smooth=True)
    volume, _, tensor = volume_and_inertia(turned)
    assert np.abs(tensor * body.mass / volume - body.tensor).max() > 2 * tolerance


@pytest.mark.parametrize("name", [*SOLIDS, "rod", "flat disc", "tetrahedron of particles", "line", "point", "plane"])
def test_every_surface_is_closed(name: str) -> None:
    """Each edge belongs to two triangles that run through it in opposite directions, so it has an inside."""
    bodies = {
        "rod": ct.Body.rod(2.0), "flat disc": ct.Body.disc(1.0), "tetrahedron of particles": ct.Body.tetrahedron(),
        "line": ct.Body.from_particles([[0, 0, 0], [1, 2, 3], [2, 4, 6]]), "point": ct.Body.from_particles([[1, 2, 3]]),
        "plane": ct.Body.from_particles([[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 2]]),
        **{key: body for key, (body, _) in SOLIDS.items()},
    }  # fmt: skip
    shape = shape_of(bodies[name])
    edges = {(int(f[i]), int(f[(i + 1) % 3])) for f in shape.faces for i in range(3)}
    assert len(edges) == 3 * len(shape.faces)
    assert all((b, a) in edges for a, b in edges)
    assert mesh_volume(shape.vertices[shape.faces])[0] > 0.0
    assert set(shape.faces.ravel()) == set(range(len(shape.vertices)))


def test_atoms_have_the_colours_and_radii_of_their_elements() -> None:
    """In any unit of length; particles that only add mass are not drawn, and other particles have no colours."""
    places = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [1.5, 1.5, 0.0], [0.0, 0.0, 1.5]])
    colours, sizes = [], []
    for unit in (1.0, 0.1):
        body = ct.Body.from_particles(unit * places, [12.0, 14.0, 16.0, 5.0], ["C", "N", "O", "none"])
        looks = appearance_of(ct.Linkage([body], gravity=(0, 0, 0)))
        colours.append(looks.particle_colour)
        sizes.append(looks.particle_size)
    assert colours == [[0x909090, 0x3050F8, 0xFF0D0D, 0]] * 2
    assert sizes[0] == pytest.approx(0.45 * np.array([0.76, 0.71, 0.66, 0.0]))
    assert sizes[1] == pytest.approx(0.1 * sizes[0])
    assert appearance_of(chain()).particle_colour is None


def test_the_hull_of_particles_has_them_for_corners() -> None:
    body = ct.Body.tetrahedron()
    assert sorted(shape_of(body).vertices.tolist()) == sorted(body.particles.positions.tolist())
    inner = hull(np.array([*CUBE, [0.5, 0.5, 0.5]], dtype=float))
    assert len(inner.vertices) == 8


@pytest.mark.parametrize("center", [(0, 0, 2), (0, 0, -1), (3, 0, 0)])
def test_a_top_is_the_cone_of_its_moments_about_the_fixed_point(center: tuple[float, ...]) -> None:
    """Second moments about the tip; a polygon of 32 corners lacks 2 % of those across."""
    body = ct.Body(moments=(1.0, 1.2, 0.5))
    cone = cone_of(body, np.array(center, dtype=float))
    assert cone is not None
    corners = cone.vertices[cone.faces]
    volume, middle, relative = mesh_volume(corners)
    about_tip = mesh_second_moment(relative) / volume + np.outer(middle, middle)
    np.testing.assert_allclose(about_tip, np.diag(body.second_moments), rtol=0.021, atol=1e-12)
    assert volume > 0.0 and middle @ center > 0.0


def test_a_top_whose_centre_is_on_no_principal_axis_is_no_cone() -> None:
    assert cone_of(ct.Body(moments=(1.0, 1.2, 0.5)), np.array([0.0, 0.3, 1.0])) is None


def test_joints_are_those_of_the_linkage() -> None:
    rod = ct.Body.box((0.1, 0.1, 1.0))
    joints = [
        ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.5))),
        ct.Revolute(0, 1, at=((0, 0, -0.5), (0, 0, 0.5)), axis=(1, 0, 0)),
    ]
    looks = appearance_of(ct.Linkage([rod, rod], joints))
    assert [(joint.parent, joint.child) for joint in looks.joints] == [(-1, 0), (0, 1)]
    assert looks.joints[1].at_parent.tolist() == [0.0, 0.0, -0.5]
    assert len(looks.links) == 0 and len(looks.shapes) == 1


# Tension


def test_the_tension_of_a_link_is_the_slope_of_its_energy() -> None:
    """Moving all right of a link along the line of centres by h changes the energy by T h; differences of order 2.

    Forces come from a table of 4096 nodes over an octave or two: relative error (1e-3)^2 V'''/V', 1e-3 allowed.
    """
    problem = ct.problems.helix_chain(5)
    system, start = problem.system, problem.start
    r, q = start.position.copy(), start.orientation
    r[3:] += [0.05, 0.02, -0.01]  # out of equilibrium
    tension, energy = link_forces(system.interactions, r[None], q[None])

    def exact(place: np.ndarray, j: int) -> float:
        x = [
            c + rotations.rotate(turn, b.particles.positions)
            for c, turn, b in zip(place, q, system.bodies, strict=True)
        ]
        apart = np.linalg.norm(x[j][:, None] - x[j + 1][None], axis=-1)
        return float(ct.LennardJones(5.0, 1.0).energy(apart).sum())

    for j in range(4):
        line = (r[j + 1] - r[j]) / np.linalg.norm(r[j + 1] - r[j])
        h = 1e-5
        moved = [exact(r + sign * h * line * (np.arange(5) > j)[:, None], j) for sign in (1.0, -1.0)]
        slope = (moved[0] - moved[1]) / (2 * h)
        assert tension[0, j] == pytest.approx(slope, abs=1e-3 * (1.0 + abs(slope)))
        assert energy[0, j] == pytest.approx(exact(r, j), abs=1e-3)
    assert tension[0, 2] > 1.0, "a link that was drawn out pulls"


@pytest.mark.parametrize("place", [-1e300, 1e308, 0.0, np.inf, np.nan])
def test_bodies_that_a_store_puts_anywhere_are_drawn(place: float) -> None:
    """All in one point, or so far apart that their distances overflow: a page has colours for what can be told, and no traceback."""
    problem = ct.problems.helix_chain(n=4)
    position = np.repeat(problem.start.position[None], 3, axis=0)
    position[1] = place
    position[2, ::2] = place
    with np.errstate(all="ignore"):
        tension, energy = link_forces(
            problem.system.interactions, position, np.repeat(problem.start.orientation[None], 3, axis=0)
        )
    assert np.isfinite(tension[0]).all() and np.isfinite(energy[0]).all()


def test_a_chain_in_equilibrium_is_not_under_tension() -> None:
    """The helix is the minimum of the energy of each link. 16 pairs, and tables with steps of 2e-4: 1e-3 allowed."""
    problem = ct.problems.helix_chain(12)
    tension, _ = link_forces(problem.system.interactions, problem.start.position[None], problem.start.orientation[None])
    assert np.abs(tension).max() < 1e-3


# The page


SYSTEMS = {
    "Hamiltonian in the plane": lambda: ct.problems.kepler().system,
    "Hamiltonian of one coordinate": lambda: ct.problems.pendulum().system,
    "Hamiltonian of four": lambda: ct.Hamiltonian(
        "(a**2 + b**2 + c**2 + d**2 + w**2 + x**2 + y**2 + z**2)/2", q=["w", "x", "y", "z"], p=["a", "b", "c", "d"]
    ),
    "FreeBody": lambda: ct.problems.book().system,
    "Top": lambda: ct.problems.lagrange_top().system,
    "Chain": chain,
    "Chain of discs": lambda: ct.problems.disc_chain(3).system,
    "Linkage": lambda: ct.Linkage([ct.Body.rod(1.0)], [ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.5)))]),
    "ScalingBody": lambda: ct.ScalingBody(ct.Body.box((1, 2, 3))),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_a_page(name: str) -> None:
    """Poses, or the path, are the samples, to single precision from the middle of their range."""
    run = tumbling(SYSTEMS[name]())
    page = page_of(run)
    assert "$" not in re.sub(r"<(script|style).*?</\1>", "", page.html, flags=re.DOTALL)
    reading = described(page)
    position = array(page, "position", "<f4").reshape(40, -1, 3) + reading["poses"]["origin"]
    if reading["bodies"] is None:
        q = run.data.q.values
        expected = q[:, :3] if q.shape[1] > 1 else np.hstack([q, run.data.p.values])
        np.testing.assert_allclose(position[:, 0, : expected.shape[1]], expected, atol=1e-6)
    else:
        turned = array(page, "orientation", "<f4").reshape(40, -1, 4)
        np.testing.assert_allclose(turned, run.data.orientation.values.reshape(turned.shape), atol=1e-7)
        if "position" in run.data:
            np.testing.assert_allclose(position, run.data.position.values.reshape(position.shape), atol=1e-6)
        else:
            assert not position.any()
    assert len(reading["charts"]) == len(run.system.invariants)
    assert reading["time"] == run.data.time.values.tolist()


def test_a_slender_rod_can_be_seen() -> None:
    """Its bodies are a two-thousandth of it; drawn 1000 points wide, its links have a radius of one. A chain of bodies that touch keeps thin ones."""
    rod = ct.Rod.circular(1.0, 5e-4, E=1e12, G=4e11, density=1e6, n=17)
    assert described(rod.normal_modes(count=1).view())["bodies"]["linkSize"] == pytest.approx(1e-3)
    bodies = described(page_of(tumbling(chain(64))))["bodies"]
    assert bodies["linkSize"] == pytest.approx(0.07 * appearance_of(chain(64)).shapes[0].half_extents.max())


def test_64_bodies_and_500_frames_are_below_3_megabytes() -> None:
    page = page_of(tumbling(chain(64), count=500))
    assert len(page.html.encode()) < 3_000_000
    assert page.notes == ()


def test_thinning_is_announced(caplog: pytest.LogCaptureFixture) -> None:
    """In the page, in the result, and on the way."""
    run = tumbling(chain(2), count=101)
    with caplog.at_level("INFO", logger="catena"):
        page = page_of(run, frames=30)
    words = "26 of 101 samples are shown in space, every 4th"
    assert words in page.notes[0] and words in page.html and words in caplog.text
    assert described(page)["time"] == run.data.time.values[::4].tolist()
    assert page_of(run).notes == ()


def test_frames_are_thinned_further_when_a_page_could_not_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_BYTES", 20 * 2 * 7 * 6)
    shown = choose_frames(tumbling(chain(), count=200), 2000)
    assert len(shown.position) <= 20 and shown.every == 11


def test_a_large_page_is_quantised_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    run = tumbling(chain())
    monkeypatch.setattr(frames, "QUANTISED_FROM", 0)
    page = page_of(run)
    reading = described(page)["poses"]
    position = array(page, "position", "<i2").reshape(40, 6, 3) * reading["step"] + reading["origin"]
    error = np.abs(position - run.data.position.values).max()
    resolution = choose_frames(run, 2000).resolution
    assert 0.1 * resolution < error <= resolution * 1.001
    assert page.notes == (f"Positions in space are rounded to {resolution:.1g} to keep the page small.",)


def test_charts_show_the_least_and_the_largest_deviation_of_each_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    """One peak among 3000 samples must be seen, whatever the blocks in which they are read."""
    run = tumbling(chain(2), count=3000)
    energy = run._rows[:, run.system.public_width]
    energy[1234] += 0.5
    monkeypatch.setattr(samples, "BLOCK_BYTES", 10_000)
    drawn, length = charts(run)
    assert length == 3
    low, high = (np.frombuffer(b64decode(drawn[0][name]), "<f4") * drawn[0]["unit"] for name in ("low", "high"))
    deviation = (energy - energy[0]).reshape(-1, 3)
    np.testing.assert_allclose(high, deviation.max(axis=1), atol=1e-7)
    np.testing.assert_allclose(low, deviation.min(axis=1), atol=1e-7)
    assert high.argmax() == 1234 // 3


def test_text_of_the_user_is_escaped_everywhere() -> None:
    """In the title, in units, in the text of an energy."""
    evil = "</script><script>alert(1)</script>&\"'"
    run = tumbling(ct.Hamiltonian("p**2/2 + q**2/2", q="q", p="p"))
    run = made_up(run.system, {"q": run.data.q.values, "p": run.data.p.values}, units={"time": evil})
    page = page_of(run, title=evil)
    assert "<script>alert" not in page.html
    assert page.html.count("</script>") == page.html.count("<script")
    frame = page._repr_html_()
    assert frame.count('"') == 6 and "<script" not in frame
    assert "<script" not in run._repr_html_()


def test_the_page_forbids_itself_the_network() -> None:
    page = page_of(tumbling(chain(2)))
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page.html)[1]
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline'")
    assert not re.findall(r'(?:src|href)="', page.html.split("<script", 1)[0])


@pytest.mark.parametrize("factor", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("name", ["Chain", "FreeBody", "Hamiltonian of one coordinate"])
def test_a_run_that_exploded_has_a_page_that_says_so(name: str, factor: float) -> None:
    run = tumbling(SYSTEMS[name]())
    run._rows[30:] *= factor
    page = page_of(run)
    assert "In 10 frames something is not finite, or too far away; it is drawn at the origin." in page.notes
    assert np.isfinite(array(page, "position", "<f4")).all()


def test_a_run_of_one_sample_has_a_page() -> None:
    assert described(page_of(tumbling(chain(2), count=1)))["time"] == [0.0]


def test_scalars_have_their_levels() -> None:
    """Speed, tension and components of momentum, of every body in every frame."""
    run = tumbling(chain(), count=50)
    found = {scalar.name: scalar for scalar in scalars(run.system, choose_frames(run, 100).data)}
    speed = np.linalg.norm(run.data.momentum.values, axis=-1) / 4.0
    scalar = found["speed"]
    values = scalar.low + scalar.levels / 255 * (scalar.high - scalar.low)
    np.testing.assert_allclose(
        values, speed.clip(scalar.low, scalar.high), atol=0.51 * (scalar.high - scalar.low) / 255
    )
    assert {"kinetic energy", "tension, mean of its links", "momentum z", "angular momentum x", "energy"} <= set(found)
    kinetic = 0.5 * (run.data.momentum.values**2).sum(-1) / 4.0
    kinetic += 0.5 * (run.data.angular_momentum.values**2 / run.system.bodies[0].moments).sum(-1)
    level = found["kinetic energy"]
    expected = (kinetic.clip(level.low, level.high) - level.low) / (level.high - level.low) * 255
    np.testing.assert_allclose(level.levels, expected, atol=0.51)


def test_few_outliers_do_not_swallow_the_colours() -> None:
    run = tumbling(chain(), count=500)
    run._rows[7, : run.system.public_width] *= 1e3
    speed = next(s for s in scalars(run.system, choose_frames(run, 500).data) if s.name == "speed")
    assert speed.is_cut and speed.high < 5.0
    assert speed.levels.max() == 255 and np.median(speed.levels) > 50


def test_an_opened_run_has_the_same_page(tmp_path: Path) -> None:
    problem = ct.problems.kepler()
    ct.simulate(problem, method=ct.StormerVerlet(), dt=0.05, steps=50, out=tmp_path / "orbit.zarr")
    opened = ct.open(tmp_path / "orbit.zarr")
    page = opened.view(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    assert "<h1>Kepler</h1>" in page.html and page.html.count("orbit.zarr") == 1
    in_memory = ct.simulate(problem, method=ct.StormerVerlet(), dt=0.05, steps=50)
    assert in_memory.view().html == page.html.replace("orbit.zarr \u00b7 ", "")


def test_the_command_line_writes_pages_and_exports(tmp_path: Path, quiet_again: None) -> None:
    from typer.testing import CliRunner

    path = tmp_path / "orbit.zarr"
    ct.simulate(ct.problems.kepler(), method=ct.StormerVerlet(), dt=0.05, steps=50, out=path)

    def catena(*words: object) -> Any:
        return CliRunner().invoke(app, [str(word) for word in words])

    result = catena("view", path, "-o", tmp_path / "page.html", "--frames", 20, "--title", "a <b>")
    assert result.exit_code == 0 and "17 of 51 samples" in result.stderr and result.stdout == ""
    assert "<h1>a &lt;b&gt;</h1>" in (tmp_path / "page.html").read_text()
    assert catena("export", path, tmp_path / "orbit.csv").exit_code == 0
    assert (tmp_path / "orbit.csv").read_text().startswith("time,q1,q2,p1,p2,energy")
    refused = catena("export", path, tmp_path / "orbit.gsd")
    assert refused.exit_code == 2 and "has no bodies" in refused.stderr and "Traceback" not in refused.output
    assert catena("export", path, tmp_path / "orbit.abc", "--format", "csv").exit_code == 0
    assert catena("view", tmp_path / "missing.zarr").exit_code == 4


@pytest.fixture
def quiet_again() -> Iterator[None]:
    """Commands set up the logger; the other tests want it as it was."""
    logger = logging.getLogger("catena")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    logger.level, logger.propagate, logger.handlers[:] = before


def test_a_page_is_not_computed_to_show_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = tumbling(chain(2))
    monkeypatch.setattr(MemoryRun, "data", property(lambda self: pytest.fail("data were read")))
    assert "Gauss(2)" in run._repr_html_()


@pytest.mark.parametrize("wrong", [0, 1, -3, 2.5, "many"])
def test_an_impossible_number_of_frames_is_refused(wrong: Any) -> None:
    with pytest.raises(ct.InputError, match="frames"):
        tumbling(chain(2)).view(frames=wrong)


def test_every_source_becomes_a_line_to_read() -> None:
    text = (Path(ct.__file__).parent / "references.bib").read_text()
    for entry in ENTRY.finditer(text):
        line = readable(entry[0])
        assert not set(line) & set("{}\\~"), line
        assert re.search(r"\(\d{4}\)$", line)
    assert readable(bibtex(["antonana2017"])["antonana2017"]).startswith("Anto\u00f1ana, M. and Makazaga, J.")


def test_the_bundle_cannot_end_its_own_element() -> None:
    """A page is one text: a closing tag inside the script, or two dashes in the licence, would cut it."""
    assert "</script" not in (PAGE / "viewer.min.js").read_text()
    assert "-->" not in (PAGE / "viewer.licence.txt").read_text()
    assert "three.js" in (PAGE / "viewer.licence.txt").read_text()
