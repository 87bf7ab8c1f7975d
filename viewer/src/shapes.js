// Geometry from the triangles that the page carries, and matrices from poses.

import { BufferAttribute, BufferGeometry, Vector3 } from "three";
import { HUES } from "./colours.js";
import { numbers } from "./data.js";

const DARKER = 0.72;
// towards +x, +y, +z (and a fourth one, for octants); paler: those on the other side
const SIDES = [HUES, HUES.map((colour) => colour.map((c) => 0.35 + 0.65 * c))];

// Triangles apart from each other, with flat normals, or those of the round surface they belong to. The octants of a round
// shape, or the quadrants of a cylinder, are painted in turn, so that one sees it turn.
export function geometryOf(shape) {
  const vertices = numbers(shape.vertices, "f4");
  const faces = numbers(shape.faces, "u4");
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(vertices, 3));
  geometry.setIndex(new BufferAttribute(faces, 1));
  if (shape.smooth) geometry.computeVertexNormals();
  const apart = geometry.toNonIndexed();
  if (!shape.smooth) apart.computeVertexNormals();
  const place = apart.getAttribute("position");
  const shades = new Float32Array(3 * place.count).fill(1);
  if (shape.painted) {
    const [middle, corner] = [new Vector3(), new Vector3()];
    for (let i = 0; i < place.count; i += 3) {
      middle.set(0, 0, 0);
      for (let k = 0; k < 3; k++) middle.add(corner.fromBufferAttribute(place, i + k));
      const sign = middle.x * middle.y * (shape.painted === "quadrants" ? 1 : middle.z);
      if (sign < 0) shades.fill(DARKER, 3 * i, 3 * i + 9);
    }
  }
  apart.setAttribute("color", new BufferAttribute(shades, 3));
  apart.userData = { shades, faces: faceColours(apart, Boolean(shape.painted)) };
  return apart;
}

// The colour of each triangle, so that one sees which way a body has turned: by the axis of the body that a flat one looks
// along; on a round surface by the octant it is in, whose borders no triangle crosses.
function faceColours(geometry, round) {
  const place = geometry.getAttribute("position");
  const colours = new Float32Array(3 * place.count);
  const corners = [new Vector3(), new Vector3(), new Vector3()];
  for (let i = 0; i < place.count; i += 3) {
    corners.forEach((corner, k) => corner.fromBufferAttribute(place, i + k));
    const colour = round ? octantColour(corners) : sideColour(corners);
    for (let k = 0; k < 3; k++) colours.set(colour, 3 * (i + k));
  }
  return colours;
}

function sideColour([a, b, c]) {
  const normal = b.clone().sub(a).cross(c.clone().sub(a)).toArray();
  const axis = normal.reduce((best, x, k) => (Math.abs(x) > 1.000001 * Math.abs(normal[best]) ? k : best), 0);
  return SIDES[normal[axis] < 0 ? 1 : 0][axis];
}

function octantColour([a, b, c]) {
  const middle = a.clone().add(b).add(c);
  return SIDES[middle.z < 0 ? 1 : 0][(middle.x < 0 ? 1 : 0) + (middle.y < 0 ? 2 : 0)];
}

// Columns of scale * R(q), then the position, into a 4 x 4 matrix.
export function writePose(out, at, x, y, z, w, a, b, c, scale) {
  const s = (2 * scale) / (w * w + a * a + b * b + c * c);
  out[at] = scale - s * (b * b + c * c);
  out[at + 1] = s * (a * b + w * c);
  out[at + 2] = s * (a * c - w * b);
  out[at + 4] = s * (a * b - w * c);
  out[at + 5] = scale - s * (a * a + c * c);
  out[at + 6] = s * (b * c + w * a);
  out[at + 8] = s * (a * c + w * b);
  out[at + 9] = s * (b * c - w * a);
  out[at + 10] = scale - s * (a * a + b * b);
  out[at + 12] = x;
  out[at + 13] = y;
  out[at + 14] = z;
  out[at + 15] = 1;
}

// A ball of this radius.
export function writeBall(out, at, x, y, z, radius) {
  out.fill(0, at, at + 16);
  out[at] = out[at + 5] = out[at + 10] = radius;
  out[at + 12] = x;
  out[at + 13] = y;
  out[at + 14] = z;
  out[at + 15] = 1;
}

// A unit cylinder about y, from one point to another.
export function writeRod(out, at, from, to, radius) {
  let [x, y, z] = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
  const length = Math.hypot(x, y, z) || 1e-12;
  (x /= length), (y /= length), (z /= length);
  // Any two directions across complete the axes; the one built from the smaller component is never short.
  const flat = Math.abs(x) > Math.abs(z);
  let [u, v, w] = flat ? [-y, x, 0] : [0, -z, y];
  const across = Math.hypot(u, v, w);
  (u /= across), (v /= across), (w /= across);
  out[at] = radius * u;
  out[at + 1] = radius * v;
  out[at + 2] = radius * w;
  out[at + 4] = length * x;
  out[at + 5] = length * y;
  out[at + 6] = length * z;
  out[at + 8] = radius * (v * z - w * y);
  out[at + 9] = radius * (w * x - u * z);
  out[at + 10] = radius * (u * y - v * x);
  out[at + 12] = (from[0] + to[0]) / 2;
  out[at + 13] = (from[1] + to[1]) / 2;
  out[at + 14] = (from[2] + to[2]) / 2;
  out[at + 15] = 1;
}
