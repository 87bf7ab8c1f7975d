// Curves of the invariants over time, with a cursor that follows the frame; a click or drag seeks.

const [LEFT, RIGHT, TOP, BOTTOM] = [58, 14, 10, 24];
const HEIGHT = 132;

export function makeCharts(page, container, onSeek) {
  return page.charts.map((chart) => new Chart(page, chart, container, onSeek));
}

class Chart {
  constructor(page, chart, container, onSeek) {
    Object.assign(this, { page, chart });
    this.points = chart.low.length / chart.labels.length;
    const figure = add(container, "figure", "chart");
    const caption = add(figure, "figcaption");
    add(caption, "strong").textContent = chart.name;
    add(caption, "span", "about").textContent = chart.about;
    this.now = add(caption, "output");
    this.plot = add(figure, "div", "plot");
    this.canvas = add(this.plot, "canvas");
    this.cursor = add(this.plot, "div", "cursor");
    if (chart.labels.length > 1) {
      const key = add(figure, "p", "key");
      chart.labels.forEach((label, k) => {
        const item = add(key, "span");
        item.textContent = label;
        item.style.setProperty("--line", `var(--line-${k % 3})`);
      });
    }
    const seek = (event) => {
      const box = this.plot.getBoundingClientRect();
      onSeek(Math.min(Math.max((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT), 0), 1));
    };
    this.plot.addEventListener("pointerdown", (event) => {
      this.plot.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.plot.addEventListener("pointermove", (event) => { if (event.buttons & 1) seek(event); });
  }

  // The whole curve; only the cursor moves afterwards.
  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.plot.clientWidth;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(HEIGHT * ratio);
    const c = this.canvas.getContext("2d");
    c.scale(ratio, ratio);
    const style = getComputedStyle(this.plot);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.span = width - LEFT - RIGHT;
    const { low, high, unit, labels } = this.chart;
    let [bottom, top] = [0, 0];
    for (const value of low) if (value < bottom) bottom = value;
    for (const value of high) if (value > top) top = value;
    if (bottom === top) (bottom = -1), (top = 1);
    const pad = 0.08 * (top - bottom);
    (bottom -= pad), (top += pad);
    const y = (value) => TOP + ((top - value) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
    const x = (i) => LEFT + (this.points > 1 ? i / (this.points - 1) : 0) * this.span;
    c.font = `11px ${style.fontFamily}`;
    c.fillStyle = colour("--faint");
    c.strokeStyle = colour("--rule");
    c.lineWidth = 1;
    const flat = !low.some(Boolean) && !high.some(Boolean);
    const values = flat ? [{ at: 0, text: "0" }] : [4, 6].map((n) => ticks(bottom * unit, top * unit, n)).find((t, i) => i || t.length > 2);
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const { at, text } of values) {
      const height = Math.round(y(at / unit)) + 0.5;
      line(c, LEFT, height, width - RIGHT, height);
      c.fillText(text, LEFT - 8, height);
    }
    const { time } = this.page;
    const [start, end] = [time[0], this.page.timeEnd];
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const { at, text } of ticks(start, end, Math.max(2, Math.floor(this.span / 110)))) {
      const across = LEFT + (end > start ? (at - start) / (end - start) : 0) * this.span;
      line(c, Math.round(across) + 0.5, HEIGHT - BOTTOM, Math.round(across) + 0.5, HEIGHT - BOTTOM + 4);
      c.fillText(text, across, HEIGHT - BOTTOM + 7);
    }
    for (let k = labels.length - 1; k >= 0; k--) {
      c.strokeStyle = c.fillStyle = colour(`--line-${k % 3}`);
      c.lineWidth = 1.25;
      c.lineJoin = "round";
      c.beginPath();
      let drawing = false;
      for (let i = 0; i < this.points; i++) {
        const [a, b] = [low[k * this.points + i], high[k * this.points + i]];
        if (!Number.isFinite(a) || !Number.isFinite(b)) { drawing = false; continue; }
        if (drawing) c.lineTo(x(i), y(a)); else c.moveTo(x(i), y(a));
        if (b !== a) c.lineTo(x(i), y(b));
        drawing = true;
      }
      c.stroke();
    }
  }

  // Of the run's samples, the share that lies before the shown one.
  seek(share) {
    this.cursor.style.transform = `translateX(${LEFT + share * this.span}px)`;
    const i = Math.min(Math.round(share * (this.points - 1)), this.points - 1);
    const { low, high, unit, labels } = this.chart;
    const values = labels.map((_, k) => {
      const [a, b] = [low[k * this.points + i], high[k * this.points + i]];
      return (Math.abs(a) > Math.abs(b) ? a : b) * unit;
    });
    const largest = values.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
    this.now.textContent = Number.isFinite(largest) ? `${largest > 0 ? "+" : ""}${short(largest)}` : "not finite";
  }
}

export function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  if (!(rough > 0)) return [{ at: low, text: shown(low) }];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const listed = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) listed.push({ at: k * step, text: shown(k * step, step) });
  return listed;
}

// A number with the digits that a step between ticks asks for.
export function shown(value, step = value) {
  const size = Math.abs(value);
  if (size < 1e-9 * Math.abs(step)) return "0";
  const digits = Math.min(Math.max(0, Math.floor(Math.log10(size)) - Math.floor(Math.log10(Math.abs(step)))), 12);
  return typeset(size >= 1e6 || size < 1e-3 ? value.toExponential(digits) : String(Number(value.toPrecision(digits + 1))));
}

// A number with three digits.
export function short(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return typeset(size >= 1e6 || size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3))));
}

const typeset = (text) => text.replaceAll("-", "\u2212").replace("e+", "e");

function line(c, a, b, x, y) {
  c.beginPath();
  c.moveTo(a, b);
  c.lineTo(x, y);
  c.stroke();
}

function add(parent, tag, name = "") {
  const element = document.createElement(tag);
  if (name) element.className = name;
  parent.append(element);
  return element;
}
