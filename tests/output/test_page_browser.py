"""The page in a real browser, without a network."""

from __future__ import annotations

import io
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

import catena as ct
from made_up import made_up, tumbling

pytestmark = pytest.mark.browser

FLAGS = [
    "--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]  # fmt: skip
TITLE = "</script><script>window.broken = true</script><b>a & b</b>"
BODY, FRAME = 3, 50
PATIENCE = 200_000  # ms until something is given up: drawing without a GPU on a loaded machine takes its time


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=PATIENCE)
        yield launched
        launched.close()


class Opened:
    """A page in a window of its own, with all that it asked for and complained about."""

    def __init__(self, browser: Any, file: Path, *, size: tuple[int, int] = (1100, 900), **settings: Any) -> None:
        viewport = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(viewport=viewport, offline=True, **settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.address = file.as_uri()
        self.page.goto(self.address)
        self.until("window.catena !== undefined")
        self.settle()

    def until(self, condition: str) -> None:
        """Wait for a condition. Asked from outside: the page itself forbids to evaluate text."""
        end = time.monotonic() + 20.0
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not come true; {self.complaints}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    @property
    def frame(self) -> int:
        return self.page.evaluate("catena.player.frame")

    def picture(self) -> bytes:
        """What the canvas shows, without what lies over it."""
        read = """() => new Promise(done => catena.stage.picture(blob => {
            const reader = new FileReader();
            reader.onload = () => done(reader.result.split(",")[1]);
            reader.readAsDataURL(blob);
        }))"""
        return b64decode(self.page.evaluate(read))

    def colours(self) -> int:
        """How many different colours the canvas shows; one if it is blank."""
        return colours_of(self.picture())


def colours_of(picture: bytes) -> int:
    from PIL import Image

    return len(Image.open(io.BytesIO(picture)).convert("RGB").getcolors(maxcolors=2**24))


@pytest.fixture(scope="module")
def run() -> ct.Run:
    return ct.simulate(ct.problems.helix_chain(5, amp=0.5), dt=0.02, steps=240, every=4)


@pytest.fixture(scope="module")
def file(run: ct.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    run.view(path, title=TITLE)
    return path


@pytest.fixture(scope="module")
def opened(browser: Any, file: Path) -> Iterator[Opened]:
    page = Opened(browser, file)
    yield page
    page.context.close()


def test_the_page_asks_for_nothing_and_complains_about_nothing(opened: Opened) -> None:
    assert opened.requests == [opened.address]
    assert opened.complaints == []


def test_text_of_the_user_is_text(opened: Opened) -> None:
    assert opened.page.text_content("h1") == TITLE
    assert opened.page.title() == TITLE
    assert opened.page.evaluate("window.broken") is None


def test_bodies_are_drawn(opened: Opened) -> None:
    assert opened.colours() > 100
    opened.page.evaluate("catena.stage.scene.visible = false")
    assert opened.colours() == 1
    opened.page.evaluate("catena.stage.scene.visible = true")


def test_poses_on_the_page_are_those_of_the_run(opened: Opened, run: ct.Run) -> None:
    """Also the matrix that is drawn: its columns are the rotated axes, by scipy."""
    from scipy.spatial.transform import Rotation

    opened.page.evaluate(f"catena.player.seek({FRAME})")
    pose = opened.page.evaluate(f"catena.pose({BODY})")
    position, q = (run.data[name].values[FRAME, BODY] for name in ("position", "orientation"))
    np.testing.assert_allclose(pose["position"], position, rtol=0, atol=1e-6)
    np.testing.assert_allclose(pose["orientation"], q, rtol=0, atol=1e-6)
    drawn = np.array(pose["drawn"]).reshape(4, 4).T
    np.testing.assert_allclose(drawn[:3, :3], Rotation.from_quat(np.roll(q, -1)).as_matrix(), rtol=0, atol=1e-6)
    origin = opened.page.evaluate("catena.page.poses.origin")
    np.testing.assert_allclose(drawn[:3, 3] + origin, position, rtol=0, atol=1e-6)


def test_particles_are_drawn_where_they_are(opened: Opened, run: ct.Run) -> None:
    opened.page.evaluate(f"catena.player.seek({FRAME})")
    drawn = opened.page.evaluate("Array.from(catena.stage.layers.particles[0].instanceMatrix.array)")
    found = np.array(drawn).reshape(-1, 4, 4)[:, 3, :3] + opened.page.evaluate("catena.page.poses.origin")
    state = ct.State({field.name: run.data[field.name].values[FRAME] for field in run.system.fields})
    np.testing.assert_allclose(found, np.concatenate(run.system.particles(state)), rtol=0, atol=2e-6)


def test_links_join_the_centres_of_neighbours(opened: Opened, run: ct.Run) -> None:
    """A rod has the middle and the direction of its link: the second column is the link itself."""
    opened.page.evaluate(f"catena.player.seek({FRAME})")
    drawn = np.array(opened.page.evaluate("Array.from(catena.stage.rods.instanceMatrix.array)")).reshape(-1, 4, 4)
    centres = run.data.position.values[FRAME]
    np.testing.assert_allclose(drawn[:, 1, :3], np.diff(centres, axis=0), rtol=0, atol=3e-6)
    assert abs(np.linalg.det(drawn[0, :3, :3])) > 0.0


@pytest.mark.slow
def test_pages_of_modes_and_paths_show_their_poses(browser: Any, tmp_path: Path) -> None:
    """A quarter of a period from the equilibrium a body is where the mode has it; a path holds each of its equilibria for some frames."""
    helix = ct.problems.helix_chain(5, amp=0.0)
    modes = helix.system.normal_modes(helix.start)
    modes.view(tmp_path / "mode.html", mode=1)
    path = helix.system.equilibrium_path((1.0, 0.0, 0.0), to=3.0, start=helix.start)
    path.view(tmp_path / "path.html")
    position, _ = modes.displaced(1, [modes.visible_amplitude(1)])
    for name, frame, wanted in (("mode", 30, position[0]), ("path", -1, path.states[-1].position)):
        shown = Opened(browser, tmp_path / f"{name}.html")
        shown.page.evaluate(f"catena.player.seek({frame} < 0 ? catena.page.samples - 1 : {frame})")
        pose = shown.page.evaluate("catena.pose(4)")
        np.testing.assert_allclose(pose["position"], wanted[4], rtol=0, atol=1e-6)
        assert shown.complaints == [] and shown.requests == [shown.address] and shown.colours() > 50
        shown.context.close()


def test_play_and_pause(opened: Opened) -> None:
    opened.page.evaluate("catena.player.seek(0)")
    opened.page.click("#play")
    opened.until("catena.player.frame > 3")
    opened.page.keyboard.press("Space")
    stopped = opened.frame
    opened.page.wait_for_timeout(150)
    assert opened.frame == stopped > 3
    assert opened.page.get_attribute("#play", "aria-label") == "play"
    assert opened.page.text_content("#count") == f"{stopped + 1} / 61"


def test_keys_step_through_the_frames(opened: Opened) -> None:
    opened.page.evaluate("catena.player.seek(20)")
    for key, frame in {"ArrowRight": 21, "ArrowLeft": 20, "Shift+ArrowRight": 30, "End": 60, "Home": 0}.items():
        opened.page.keyboard.press(key)
        assert opened.frame == frame
    opened.page.keyboard.press("ArrowLeft")
    assert opened.frame == 0


def test_loop_and_its_end(opened: Opened) -> None:
    opened.page.click("#loop")
    opened.page.evaluate("catena.player.seek(57)")
    opened.page.click("#play")
    opened.until("!catena.player.playing")
    assert opened.frame == 60
    opened.page.click("#loop")
    opened.page.click("#play")
    opened.until("catena.player.frame < 50")
    opened.page.click("#play")


def test_slider_and_charts_seek(opened: Opened, run: ct.Run) -> None:
    """A click at a quarter of the axis of a chart goes to a quarter of the run."""
    opened.page.fill("#slider", "42")
    assert opened.frame == 42
    plot = opened.page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    left, right = 58, 14  # margins of the axes
    opened.page.mouse.click(box["x"] + left + 0.25 * (box["width"] - left - right), box["y"] + 60)
    assert opened.frame == 15
    assert opened.page.input_value("#slider") == "15"
    cursor = opened.page.locator(".cursor").first.bounding_box()
    assert cursor["x"] - box["x"] - left == pytest.approx(0.25 * (box["width"] - left - right), abs=1.5)
    assert float(opened.page.text_content("#time").replace("\u2212", "-")) == pytest.approx(run.data.time.values[15])


def test_colours_follow_the_chosen_scalar(opened: Opened, run: ct.Run) -> None:
    """The body with the largest speed has the last colour of the map, the one with the least the first."""
    opened.page.select_option("#colour", label="speed")
    speed = np.linalg.norm(run.data.momentum.values, axis=-1) / 4.0
    frame, body = np.unravel_index(int(speed.argmax()), speed.shape)
    opened.page.evaluate(f"catena.player.seek({frame})")
    drawn = np.array(opened.page.evaluate("Array.from(catena.stage.layers.bodies[0].instanceColor.array)")).reshape(
        -1, 3
    )
    yellow, violet = np.array([0xFD, 0xE7, 0x25]) / 255, np.array([0x44, 0x01, 0x54]) / 255

    def linear(c: np.ndarray) -> np.ndarray:
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)

    np.testing.assert_allclose(drawn[body], linear(yellow), atol=1e-6)
    np.testing.assert_allclose(drawn[0], linear(violet), atol=1e-6)  # the clamped one
    assert opened.page.text_content("#legend-name") == "speed"
    assert float(opened.page.text_content("#legend-high").lstrip("\u2265 ")) == pytest.approx(speed.max(), rel=1e-2)


def test_the_camera_follows_a_body(opened: Opened) -> None:
    """Its place in the window stays, while that of another one changes."""
    opened.page.evaluate("catena.player.seek(0)")
    opened.page.select_option("#follow", "4")
    where = "j => new Float64Array(catena.stage.eye.camera.position.toArray().map((x, k) => x - catena.stage.points[j][k])).join()"
    before = [np.fromstring(opened.page.evaluate(where, j), sep=",") for j in (4, 1)]
    opened.page.evaluate("catena.player.seek(60)")
    after = [np.fromstring(opened.page.evaluate(where, j), sep=",") for j in (4, 1)]
    np.testing.assert_allclose(after[0], before[0], atol=1e-5)
    assert np.abs(after[1] - before[1]).max() > 1e-3
    opened.page.select_option("#follow", "-1")


def test_all_views_show_all_bodies(opened: Opened) -> None:
    """Projected centres lie inside the window, whatever side they are seen from."""
    project = """() => catena.stage.points.map(p => {
        const v = catena.stage.eye.camera.position.clone().set(...p); return v.project(catena.stage.eye.camera).toArray(); })"""
    for name in ("fit", "x", "y", "z"):
        opened.page.click(f'[data-look="{name}"]')
        opened.settle()
        assert np.abs(np.array(opened.page.evaluate(project))[:, :2]).max() < 1.0


def test_a_pendulum_is_in_sight_all_the_time_from_the_first_view_on(browser: Any, tmp_path: Path) -> None:
    """It begins hanging, 2.5 times smaller than all that it passes through."""
    rod = ct.Body.box((0.1, 0.1, 1.0))
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    way = np.stack([np.sin(angle), 0.0 * angle, -np.cos(angle)], axis=-1)
    fields = {
        "position": np.stack([0.5 * way, 1.5 * way], axis=1),
        "orientation": np.tile([1.0, 0.0, 0.0, 0.0], (60, 2, 1)),
    }
    fields |= {name: np.zeros((60, 2, 3)) for name in ("momentum", "angular_momentum")}
    joints = [ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.5))), ct.Spherical(0, 1, at=((0, 0, -0.5), (0, 0, 0.5)))]
    made_up(ct.Linkage([rod, rod], joints), fields).view(tmp_path / "pendulum.html")
    opened = Opened(browser, tmp_path / "pendulum.html")
    project = """() => catena.stage.points.map(p => {
        const v = catena.stage.eye.camera.position.clone().set(...p); return v.project(catena.stage.eye.camera).toArray(); })"""
    farthest = []
    for frame in range(0, 60, 5):
        opened.page.evaluate(f"catena.player.seek({frame})")
        farthest.append(np.abs(np.array(opened.page.evaluate(project))[:, :2]).max())
    opened.context.close()
    assert max(farthest) < 1.0


def test_ghost_and_trails_appear(opened: Opened) -> None:
    opened.page.select_option("#colour", "-1")
    opened.page.evaluate("catena.player.seek(60)")
    before = opened.picture()
    opened.page.click("#ghost")
    ghost = opened.picture()
    opened.page.click("#ghost")
    opened.page.select_option("#trail", "whole")
    trail = opened.picture()
    assert len({before, ghost, trail}) == 3
    assert opened.picture() == trail
    assert opened.page.evaluate("catena.stage.path.geometry.drawRange.count") == 2 * 5 * 60
    opened.page.select_option("#trail", "off")


def test_a_picture_is_saved(opened: Opened) -> None:
    from PIL import Image

    with opened.page.expect_download() as waiting:
        opened.page.click("#png")
    assert waiting.value.suggested_filename.endswith(".png")
    saved = waiting.value.path().read_bytes()
    picture = Image.open(io.BytesIO(saved))
    box = opened.page.locator("#view").bounding_box()
    assert picture.size == (int(box["width"]), int(box["height"]))
    assert colours_of(saved) > 100


def test_dark_and_light(browser: Any, file: Path) -> None:
    """As the system says, then as the button says."""
    opened = Opened(browser, file, color_scheme="dark", size=(420, 800))
    background = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
    dark = opened.page.evaluate(background)
    opened.page.click("#theme")
    assert opened.page.evaluate(background) != dark
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 420, "nothing sticks out of a small window"
    assert opened.complaints == []
    opened.context.close()


def test_without_webgl_the_page_says_so_and_shows_its_charts(browser: Any, file: Path, tmp_path: Path) -> None:
    """A browser whose canvas offers no WebGL context."""
    text = file.read_text()
    without = "<script>HTMLCanvasElement.prototype.getContext = (g => function (kind, ...more) " \
        "{ return kind === '2d' ? g.call(this, kind, ...more) : null; })(HTMLCanvasElement.prototype.getContext)</script>"  # fmt: skip
    changed = tmp_path / "without.html"
    changed.write_text(text.replace("<header>", without + "<header>", 1))
    opened = Opened(browser, changed)
    assert "no WebGL" in opened.page.text_content("#notice")
    assert opened.page.is_visible("#notice") and not opened.page.is_visible("#png")
    opened.page.click("#play")
    opened.until("catena.player.frame > 1")
    painted = "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean))(document.querySelector('.plot canvas'))"
    assert opened.page.evaluate(painted)
    assert opened.complaints == []
    opened.context.close()


def test_a_notebook_shows_the_page_in_a_frame(browser: Any, run: ct.Run, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset='utf-8'><body>{run.view(title=TITLE)._repr_html_()}</body>")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#play").click()
    assert frame.locator("h1").text_content() == TITLE
    end = time.monotonic() + 20.0
    while page.frames[1].evaluate("catena.player.frame") < 2:
        assert time.monotonic() < end
    assert [url for url in requests if not url.startswith("about:")] == [notebook.as_uri()]
    context.close()


def test_a_path_of_coordinates_is_drawn(browser: Any, tmp_path: Path) -> None:
    run = tumbling(ct.problems.kepler().system, count=301)
    run.view(tmp_path / "orbit.html")
    opened = Opened(browser, tmp_path / "orbit.html")
    opened.page.evaluate("catena.player.seek(100)")
    opened.settle()
    np.testing.assert_allclose(
        opened.page.evaluate("catena.pose(0).position"), [*run.data.q.values[100], 0.0], rtol=0, atol=1e-6
    )
    assert opened.colours() > 20
    assert opened.page.evaluate("catena.stage.path.geometry.drawRange.count") == 200
    assert opened.page.locator("#triad text").all_text_contents() == ["q1", "q2"]
    assert opened.complaints == []
    opened.context.close()


@pytest.mark.parametrize("kind", ["f4", "i2"])
def test_quantised_poses_are_read_back_to_their_announced_resolution(
    kind: str, browser: Any, run: ct.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a step of 65534 over the extent; single precision is far finer."""
    from catena.output.page import frames

    if kind == "i2":
        monkeypatch.setattr(frames, "QUANTISED_FROM", 0)
    page = run.view(tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    opened.page.evaluate(f"catena.player.seek({FRAME})")
    pose = opened.page.evaluate(f"catena.pose({BODY})")
    opened.context.close()
    position, q = (run.data[name].values for name in ("position", "orientation"))
    error = np.abs(np.array(pose["position"]) - position[FRAME, BODY]).max()
    step = np.ptp(position, axis=(0, 1)).max() / 65534
    if kind == "i2":
        assert 1e-7 < error <= 0.51 * step
        assert np.abs(np.array(pose["orientation"]) - q[FRAME, BODY]).max() <= 0.51 / 32767
        assert any("rounded" in note for note in page.notes)
    else:
        assert error < 1e-6 and page.notes == ()


def test_joints_are_drawn_where_bodies_meet(browser: Any, tmp_path: Path) -> None:
    """A ball at r + R b of the child, rods from there to both centres; the ground's point stays where it is."""
    rod = ct.Body.box((0.1, 0.1, 1.0))
    points = [((1.0, 2.0, 3.0), (0.0, 0.1, 0.5)), ((0.0, 0.0, -0.5), (0.2, 0.0, 0.5))]
    joints = [ct.Spherical(-1, 0, at=points[0]), ct.Spherical(0, 1, at=points[1])]
    run = tumbling(ct.Linkage([rod, rod], joints), count=10)
    run.view(tmp_path / "linkage.html")
    opened = Opened(browser, tmp_path / "linkage.html")
    opened.page.evaluate("catena.player.seek(7)")
    origin = opened.page.evaluate("catena.page.poses.origin")
    read = "name => Array.from(catena.stage[name].instanceMatrix.array)"
    balls, rods = (np.array(opened.page.evaluate(read, name)).reshape(-1, 4, 4) for name in ("balls", "rods"))
    opened.context.close()
    r, q = (run.data[name].values[7] for name in ("position", "orientation"))
    meeting = np.array([r[j] + turned(q[j], points[j][1]) for j in range(2)])
    np.testing.assert_allclose(balls[:, 3, :3] + origin, meeting, atol=2e-6)
    others = [np.array(points[0][0]), r[0] + turned(q[0], points[1][0])]
    ends = [(others[0], others[0]), (r[0], meeting[0]), (r[0], others[1]), (r[1], meeting[1])]
    for drawn, (a, b) in zip(rods, ends, strict=True):
        np.testing.assert_allclose(drawn[3, :3] + origin, (a + b) / 2, atol=2e-6)
        np.testing.assert_allclose(drawn[1, :3], b - a, atol=2e-6)


def turned(q: np.ndarray, point: Any) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(np.roll(q, -1)).apply(point)


def test_what_acts_on_bodies_is_drawn_where_it_acts(browser: Any, tmp_path: Path) -> None:
    """The arrow of a torque begins at its hinge; reactions are drawn when their button is pressed."""
    rod = ct.Body.box((0.2, 0.2, 1.0), mass=2.0)
    hinge = ct.Revolute(-1, 0, at=((0.3, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    arm = ct.Linkage([rod], [hinge], [ct.Motor(0, torque=2.0)])
    tumbling(arm, count=10).view(tmp_path / "arm.html")
    opened = Opened(browser, tmp_path / "arm.html")
    assert opened.page.evaluate("catena.page.marks.map((mark) => mark.name)") == ["motors", "reactions"]
    visible = "catena.stage.layers.reactions.map((mesh) => mesh.visible)"
    assert opened.page.evaluate(visible) == [False, False]
    opened.page.click("#reactions")
    assert opened.page.evaluate(visible) == [True, True]
    shaft = "Array.from(catena.stage.layers.motors[0].instanceMatrix.array.subarray(0, 16))"
    assert np.isfinite(opened.page.evaluate(shaft)).all()
    assert opened.complaints == []


def test_atoms_are_drawn_in_the_colours_of_their_elements(browser: Any, tmp_path: Path) -> None:
    body = ct.Body.from_particles([[0, 0, 0], [1.5, 0, 0], [0, 1.5, 0.3]], types=["C", "N", "O"])
    tumbling(ct.Linkage([body], gravity=(0, 0, 0)), count=10).view(tmp_path / "atoms.html")
    opened = Opened(browser, tmp_path / "atoms.html")
    hues = opened.page.evaluate("Array.from(catena.stage.layers.particles[0].instanceColor.array)")
    carbon, nitrogen, oxygen = np.reshape(hues, (3, 3))
    assert np.ptp(carbon) < 1e-6 and nitrogen.argmax() == 2 and oxygen.argmax() == 0
    assert opened.complaints == []


def test_a_body_is_drawn_in_its_size(browser: Any, tmp_path: Path) -> None:
    """Of a body that scales, the matrix is s R."""
    run = tumbling(ct.ScalingBody(ct.Body.box((1, 2, 3))), count=10)
    run.view(tmp_path / "scaling.html")
    opened = Opened(browser, tmp_path / "scaling.html")
    opened.page.evaluate("catena.player.seek(7)")
    drawn = np.array(opened.page.evaluate("catena.pose(0).drawn")).reshape(4, 4).T[:3, :3]
    assert opened.complaints == []
    opened.context.close()
    q, scale = run.data.orientation.values[7].ravel(), float(run.data.scale.values[7].ravel()[0])
    np.testing.assert_allclose(drawn, scale * turned(q, np.eye(3)).T, atol=2e-6)


def test_hinges_and_the_ground_are_seen(browser: Any, tmp_path: Path) -> None:
    """A pin along the axis of the parent, turned with it; a plate on the other side of the ground's point than the body."""
    rod = ct.Body.box((0.1, 0.1, 1.0))
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    joints = [
        ct.Revolute(-1, 0, at=((1.0, 2.0, 3.0), (0.0, 0.0, 0.5)), axis=(0, 1, 0)),
        ct.Revolute(0, 1, at=((0.0, 0.0, -0.5), (0.0, 0.0, 0.5)), axis=axis),
    ]
    run = tumbling(ct.Linkage([rod, rod], joints, gravity=(0.0, -9.81, 0.0)), count=10)
    run.view(tmp_path / "hinges.html")
    opened = Opened(browser, tmp_path / "hinges.html")
    opened.page.evaluate("catena.player.seek(7)")
    read = "name => Array.from(catena.stage[name].instanceMatrix.array)"
    pins, plates = (np.array(opened.page.evaluate(read, name)).reshape(-1, 4, 4) for name in ("pins", "plates"))
    origin, size = opened.page.evaluate("[catena.page.poses.origin, catena.page.bodies.joints[0].size]")
    assert opened.page.text_content("#links") == "joints"
    before = opened.picture()
    opened.page.click("#links")
    assert opened.picture() != before
    assert opened.complaints == []
    opened.context.close()
    q, child = run.data.orientation.values[7, 0], run.data.position.values[0, 0]
    for pin, way in zip(pins, ((0, 1, 0), turned(q, axis)), strict=True):
        np.testing.assert_allclose(pin[1, :3] / np.linalg.norm(pin[1, :3]), way, atol=1e-6)
    above = np.array([0.0, 1.0, 0.0])  # against gravity
    side = -np.sign((child - [1.0, 2.0, 3.0]) @ above)
    np.testing.assert_allclose(
        plates[0, 3, :3] + origin, np.array([1.0, 2.0, 3.0]) + side * 1.2 * size * above, atol=1e-6
    )


def test_arrows_show_the_axes_and_the_angular_momentum_of_a_single_body(browser: Any, tmp_path: Path) -> None:
    """The tips: along the columns of R, and along R y, which is as long as |y| is to its largest."""
    run = tumbling(ct.FreeBody(ct.Body.box((1, 2, 3))), count=10)
    run.view(tmp_path / "body.html")
    opened = Opened(browser, tmp_path / "body.html")
    opened.page.evaluate("catena.player.seek(7)")
    read = "layer => catena.stage.layers[layer].map(mesh => Array.from(mesh.instanceMatrix.array))"
    axes, momentum = (
        np.array(opened.page.evaluate(read, layer)).reshape(2, -1, 4, 4) for layer in ("axes", "momentum")
    )
    colours = opened.page.evaluate("Array.from(catena.stage.layers.bodies[0].geometry.getAttribute('color').array)")
    opened.page.select_option("#colour", label="one colour")
    plain = opened.page.evaluate("Array.from(catena.stage.layers.bodies[0].geometry.getAttribute('color').array)")
    assert opened.complaints == []
    opened.context.close()
    q, y = (run.data[name].values for name in ("orientation", "angular_momentum"))
    ways = axes.sum(axis=0)[:, 1, :3]  # shaft and head, one after the other
    np.testing.assert_allclose(ways / np.linalg.norm(ways, axis=1)[:, None], turned(q[7], np.eye(3)), atol=1e-6)
    reach = 1.3 * np.linalg.norm([0.5, 1.0, 1.5])
    wanted = reach * turned(q[7], y[7]) / np.linalg.norm(y, axis=1).max()
    np.testing.assert_allclose(momentum.sum(axis=0)[0, 1, :3], wanted, atol=1e-6)
    assert len(np.unique(np.array(colours).reshape(-1, 3), axis=0)) == 6  # sides of a box
    assert set(plain) == {1.0}


def test_the_page_tells_what_a_problem_shows(browser: Any, tmp_path: Path) -> None:
    """Title in words, and a paragraph; also of a stored run. From another start nothing is claimed."""
    problem = ct.problems.pendulum()
    run = ct.simulate(problem, method=ct.RK4(), steps=20, out=tmp_path / "run.zarr", progress=False)
    run.view(tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    assert opened.page.text_content("h1") == "Pendulum"
    assert opened.page.text_content(".about") == problem.about
    opened.context.close()
    other = ct.simulate(problem, problem.system.start(q=0.1, p=0.0), method=ct.RK4(), steps=20, progress=False)
    assert 'class="about"' not in other.view().html
    assert "<h1>Hamiltonian system with 1 degree of freedom</h1>" in other.view().html
