// What the page carries: a description as JSON, and numbers as base64 in elements of their own.

const TYPES = { f4: Float32Array, i2: Int16Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

export function numbers(text, type) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return new TYPES[type](bytes.buffer);
}

function take(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const text = element.textContent;
  element.remove(); // megabytes of text are not needed twice
  return text;
}

export function readPage() {
  const page = JSON.parse(take("description"));
  page.position = poses(take("position"), page.poses, page.poses.step);
  page.orientation = page.bodies ? poses(take("orientation"), page.poses, null) : null;
  page.scale = page.bodies && page.hasScale ? numbers(take("scale"), "f4") : null;
  page.spin = page.arrows ? numbers(take("spin"), "f4") : null;
  page.marks.forEach((mark, i) => { mark.ends = numbers(take(`marks-${i}`), "f4"); });
  page.scalars.forEach((scalar, i) => { scalar.levels = numbers(take(`scalar-${i}`), "u1"); });
  for (const chart of page.charts) {
    chart.low = numbers(chart.low, "f4");
    chart.high = numbers(chart.high, "f4");
  }
  return page;
}

// Single precision as it is; 16-bit integers times their step (positions), or 1/32767 (quaternions).
function poses(text, { quantised }, step) {
  if (!quantised) return numbers(text, "f4");
  const whole = numbers(text, "i2");
  const values = new Float32Array(whole.length);
  for (let i = 0; i < whole.length; i++) values[i] = whole[i] * (step ? step[i % 3] : 1 / 32767);
  return values;
}
