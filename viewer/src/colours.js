// The colour map, and the colours of what is drawn, for dark and light.

// viridis, every 17th of its 256 colours
const VIRIDIS = [
  0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e, 0x2a788e, 0x23888e,
  0x1f988b, 0x22a884, 0x35b779, 0x54c568, 0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725,
];

const toLinear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

function mapped() {
  const screen = new Float32Array(768);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (VIRIDIS.length - 1);
    const k = Math.min(Math.floor(at), VIRIDIS.length - 2);
    for (let c = 0; c < 3; c++) {
      const shift = 16 - 8 * c;
      const [a, b] = [(VIRIDIS[k] >> shift) & 255, (VIRIDIS[k + 1] >> shift) & 255];
      screen[3 * i + c] = (a + (b - a) * (at - k)) / 255;
    }
  }
  return screen;
}

const SCREEN = mapped();
export const LINEAR = SCREEN.map(toLinear); // the renderer computes with linear light

// x, y, z: orange, green, blue, as in the triad; and a yellow. In linear light.
export const HUES = [[0xd5, 0x5e, 0x00], [0x00, 0x9e, 0x73], [0x00, 0x72, 0xb2], [0xe6, 0xc2, 0x2e]].map((c) => c.map((x) => toLinear(x / 255)));

export function gradient() {
  const stops = [];
  for (let i = 0; i <= 255; i += 15) {
    stops.push(`rgb(${[0, 1, 2].map((c) => Math.round(255 * SCREEN[3 * i + c])).join(" ")})`);
  }
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

export const THEMES = {
  light: { background: 0xffffff, body: 0x4f86c6, link: 0x7b8794, particle: 0x2f3a46, ghost: 0x8a94a0, trail: 0x7d8896, joint: 0xc8702a, ground: 0x9aa3ad, momentum: 0x8e44ad, motors: 0xc0392b, loads: 0x1e8449, tweezers: 0xb7950b, fields: 0x2471a3, reactions: 0x6c3483 },
  dark: { background: 0x171a20, body: 0x6ea8e8, link: 0x8b97a5, particle: 0xdfe6ee, ghost: 0x8a94a0, trail: 0x76828f, joint: 0xe39a55, ground: 0x5d6672, momentum: 0xc58fe0, motors: 0xff7466, loads: 0x58d68d, tweezers: 0xf4d03f, fields: 0x5dade2, reactions: 0xbb8fce },
};
