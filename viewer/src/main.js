// The page: reads what it carries, wires the controls, and draws when something has changed.

import { makeCharts, short, shown } from "./charts.js";
import { gradient } from "./colours.js";
import { readPage } from "./data.js";
import { Player } from "./player.js";
import { Stage } from "./scene.js";
import { Triad } from "./triad.js";

const READOUT_INTERVAL = 120; // milliseconds
let shownAt = 0;

const find = (id) => document.getElementById(id);
const page = readPage();
const player = new Player(page.time.length, showFrame);
const charts = makeCharts(page, find("charts"), (share) => player.seek((share * (page.samples - 1)) / page.every));
const stage = makeStage();
const triad = stage && new Triad(find("triad"), page.axes);

function makeStage() {
  try {
    return new Stage(find("view"), page);
  } catch (error) {
    const notice = find("notice");
    notice.textContent = "This browser offers no WebGL, so the bodies cannot be drawn. The charts below are complete.";
    notice.hidden = false;
    find("view").hidden = true;
    for (const element of document.querySelectorAll("[data-needs-webgl]")) element.hidden = true;
    return null;
  }
}

function showFrame(frame) {
  if (stage) stage.setFrame(frame);
  // While it plays, the rest of the page need not change with every frame: laying it out costs more than the bodies do.
  const now = performance.now();
  if (player.playing && now - shownAt < READOUT_INTERVAL) return;
  shownAt = now;
  showTime(frame);
}

function showTime(frame) {
  const share = page.samples > 1 ? (frame * page.every) / (page.samples - 1) : 0;
  for (const chart of charts) chart.seek(share);
  find("slider").value = frame;
  find("time").textContent = shown(page.time[frame], 1e-4 * (page.timeEnd - page.time[0]) || 1);
  find("count").textContent = `${frame + 1} / ${page.time.length}`;
}

// Transport

function showPlaying() {
  document.body.classList.toggle("playing", player.playing);
  find("play").setAttribute("aria-label", player.playing ? "pause" : "play");
  showTime(player.frame);
}

function toggle() {
  if (player.playing) player.pause();
  else player.play();
  showPlaying();
}

find("play").addEventListener("click", toggle);
find("slider").max = page.time.length - 1;
find("slider").addEventListener("input", (event) => player.seek(Number(event.target.value)));
find("speed").addEventListener("change", (event) => { player.speed = Number(event.target.value); });
find("loop").addEventListener("click", (event) => {
  player.loop = !player.loop;
  event.currentTarget.setAttribute("aria-pressed", player.loop);
});

const KEYS = {
  " ": toggle,
  ArrowRight: (event) => player.seek(player.frame + (event.shiftKey ? 10 : 1)),
  ArrowLeft: (event) => player.seek(player.frame - (event.shiftKey ? 10 : 1)),
  Home: () => player.seek(0),
  End: () => player.seek(page.time.length - 1),
};

document.addEventListener("keydown", (event) => {
  if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  if (event.key === " " && event.target.tagName === "BUTTON" && event.target.id !== "play") return;
  event.preventDefault();
  KEYS[event.key](event);
});
// The button would be pressed again when the space bar goes up.
document.addEventListener("keyup", (event) => { if (event.key === " " && event.target.id === "play") event.preventDefault(); });

// What is drawn

function option(select, value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  select.append(element);
}

const BY_FACE = -2;

function colourBy(index) {
  const scalar = index < 0 ? null : page.scalars[index];
  stage.setScalar(scalar, index === BY_FACE);
  find("legend").hidden = !scalar;
  if (!scalar) return;
  find("legend-name").textContent = scalar.name;
  find("legend-low").textContent = (scalar.cut ? "\u2264 " : "") + short(scalar.low);
  find("legend-high").textContent = (scalar.cut ? "\u2265 " : "") + short(scalar.high);
}

if (stage) {
  find("legend-bar").style.background = gradient();
  option(find("colour"), -1, "one colour");
  if (page.bodies) option(find("colour"), BY_FACE, "by face");
  page.scalars.forEach((scalar, i) => option(find("colour"), i, scalar.name));
  find("colour").addEventListener("change", (event) => colourBy(Number(event.target.value)));
  find("colour").value = page.colour;
  colourBy(page.colour);

  option(find("follow"), -1, "nothing");
  for (let j = 0; j < stage.count; j++) option(find("follow"), j, `body ${j}`);
  find("follow").addEventListener("change", (event) => stage.follow(Number(event.target.value)));
  find("trail").value = page.trail;
  find("trail").addEventListener("change", (event) => stage.setTrail(event.target.value));
  stage.setTrail(page.trail);

  for (const button of document.querySelectorAll("[data-look]")) {
    button.addEventListener("click", () => stage.look(button.dataset.look));
  }
  const parts = { particles: stage.particles?.body.length > 0, links: stage.rods.count > 0, ghost: Boolean(page.bodies) };
  parts.axes = parts.momentum = Boolean(page.arrows);
  for (const name of ["motors", "loads", "tweezers", "fields", "reactions"]) parts[name] = page.marks.some((mark) => mark.name === name);
  if (page.bodies?.joints.length) find("links").textContent = "joints";
  for (const [layer, present] of Object.entries(parts)) {
    const button = find(layer);
    const visible = () => (stage.layers[layer] || []).some((mesh) => mesh.visible);
    button.hidden = !present;
    button.setAttribute("aria-pressed", visible());
    button.addEventListener("click", () => {
      stage.show(layer, !visible());
      button.setAttribute("aria-pressed", visible());
    });
  }
  find("follow").closest("label").hidden = stage.count < 2;
  find("png").addEventListener("click", () => {
    stage.picture((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${page.file}-${String(player.frame).padStart(5, "0")}.png`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  });
}

// Dark and light: as the system says, until the button is pressed

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  if (stage) stage.setTheme(name);
  for (const chart of charts) chart.draw();
}

find("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));

// Size, and the loop

function resize() {
  const box = find("stage").getBoundingClientRect();
  if (stage) stage.resize(Math.max(box.width, 1), Math.max(box.height, 1));
  for (const chart of charts) chart.draw();
  showFrame(player.frame);
}

function loop(now) {
  player.tick(now);
  if (document.body.classList.contains("playing") !== player.playing) showPlaying();
  if (stage && stage.changed) {
    stage.render();
    triad.turn(stage.eye.camera.quaternion);
  }
  requestAnimationFrame(loop);
}

setTheme(dark.matches ? "dark" : "light");
resize();
if (stage) stage.look("fit");
new ResizeObserver(resize).observe(find("stage"));
requestAnimationFrame(loop);

// For scripts: what the page shows, in the numbers of the run.
window.catena = {
  page,
  player,
  stage,
  pose(j) {
    const { position, orientation, poses } = page;
    const [p, q] = [3 * (player.frame * stage.count + j), 4 * (player.frame * stage.count + j)];
    return {
      position: Array.from(position.subarray(p, p + 3), (x, k) => x + poses.origin[k]),
      orientation: orientation ? Array.from(orientation.subarray(q, q + 4)) : null,
      drawn: Array.from(stage.layers.bodies.flatMap((mesh) => {
        const i = mesh.userData.members.indexOf(j);
        return i < 0 ? [] : Array.from(mesh.instanceMatrix.array.subarray(16 * i, 16 * i + 16));
      })),
    };
  },
};
