"""Speed of the page against the least page that shows the same bodies: python viewer/bench/speed.py [bodies]

Both run in one browser, in turns of a second, so that a busy machine slows both. Two ratios are printed: of frames per second
(median of the turns), and of processor time per frame of all processes of the browser, which other work does not change.
Needs node_modules (viewer/build.sh installs them), Chromium and psutil.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

import catena as ct

FLAGS = ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--ignore-gpu-blocklist"]  # fmt: skip
SIZE: Any = {"width": 1280, "height": 900}
TURNS = 15
VIEWER = Path(__file__).parents[1]

COUNT = """() => new Promise(done => {
  let frames = 0;
  const end = performance.now() + 1000;
  const tick = now => { frames += 1; now < end ? requestAnimationFrame(tick) : done(frames); };
  requestAnimationFrame(tick);
})"""


class Speed(NamedTuple):
    """Frames per second, median of the turns, and milliseconds of processor time per frame."""

    rate: float
    cost: float


def main() -> None:
    bodies = int(sys.argv[1]) if sys.argv[1:] else 512
    run = ct.simulate(ct.problems.helix_chain(bodies), dt=0.02, steps=2500, every=5)
    full, least = measured(run)
    for name, speed in (("page", full), ("least page", least)):
        print(f"{name:10s}  {speed.rate:5.1f} frames per second, {speed.cost:5.1f} ms of processor per frame")
    print(f"{bodies} bodies: ratio {full.rate / least.rate:.2f} by time, {least.cost / full.cost:.2f} by processor")


def measured(run: ct.Run) -> tuple[Speed, Speed]:
    """The speed of the page of a run, and of the least page."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "page.html"
    run.view(file)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        ours = full_page(browser, file)
        least = least_page(browser, ours, file.read_text(), bundled(folder))
        sides = (
            (ours, "catena.player.play()", "catena.player.pause()"),
            (least, "window.running = true", "window.running = false"),
        )
        rates: list[list[float]] = [[], []]
        costs = [0.0, 0.0]
        for _ in range(TURNS):
            for side, (page, go, stop) in enumerate(sides):
                page.evaluate(go)
                before = processor_time()
                rates[side].append(page.evaluate(COUNT))
                costs[side] += processor_time() - before
                page.evaluate(stop)
        browser.close()
    shutil.rmtree(folder)
    full, bare = (Speed(statistics.median(r), 1000 * c / sum(r)) for r, c in zip(rates, costs, strict=True))
    return full, bare


def full_page(browser: Browser, file: Path) -> Page:
    """The page as users see it, playing so fast that each refresh shows another frame."""
    page = browser.new_page(viewport=SIZE)
    page.goto(file.as_uri())
    page.wait_for_function("window.catena")
    page.select_option("#speed", "8")
    return page


def least_page(browser: Browser, ours: Page, text: str, script: str) -> Page:
    """A canvas of the same size, seen from the same place, with the same data."""
    eye = ours.evaluate("[...catena.stage.eye.camera.position, ...catena.stage.eye.controls.target]")
    width, height = ours.evaluate("(b => [b.clientWidth, b.clientHeight])(document.getElementById('view'))")
    data = re.findall(r'<script type="application/\w+" id="(?:description|position|orientation)">.*?</script>', text)
    page = browser.new_page(viewport=SIZE)
    page.set_content(
        f"<!doctype html><body style='margin:0'><canvas id='view' style='width:{width}px;height:{height}px'></canvas>"
        + "".join(data) + f"<script>window.eye = {list(eye)}</script><script>{script}</script>"
    )  # fmt: skip
    page.wait_for_function("window.drawn > 3")
    page.evaluate("window.running = false")
    return page


def bundled(folder: Path) -> str:
    """The script of the least page."""
    script = folder / "minimal.js"
    subprocess.run(
        [VIEWER / "node_modules/.bin/esbuild", VIEWER / "bench/minimal.js", "--bundle", "--minify", "--format=iife",
         f"--outfile={script}", "--log-level=error"], check=True,
    )  # fmt: skip
    return script.read_text()


def processor_time() -> float:
    """Seconds that the processes of the browser have used."""
    total = 0.0
    for child in psutil.Process(os.getpid()).children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


if __name__ == "__main__":
    main()
