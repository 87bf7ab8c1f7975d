// The bodies in space: every shape, particle, link and joint is one instanced mesh, moved to the poses of a frame.

import {
  BufferAttribute, BufferGeometry, Color, CylinderGeometry, DirectionalLight, DynamicDrawUsage, HemisphereLight,
  IcosahedronGeometry, InstancedBufferAttribute, InstancedMesh, LineBasicMaterial, LineSegments, MeshLambertMaterial,
  Scene, Vector3, WebGLRenderer,
} from "three";
import { Eye } from "./camera.js";
import { HUES, LINEAR, THEMES } from "./colours.js";
import { geometryOf, writeBall, writePose, writeRod } from "./shapes.js";

const SHORT_TRAIL = 0.06; // of all frames
const LEAST_TRAIL = 20; // frames
const FAR = 4; // times the extent of a frame: farther, bodies would be too small to see
const PIN = 1.9; // half the length of a pin, in radii of its joint
const PLATE = 4; // half the diagonal of the ground's plate, in the same
const WHITE = new Color(0xffffff);
const VIEWS = { x: [1, 0, 0], y: [0, -1, 0], z: [0, 0, 1] };

export class Stage {
  constructor(canvas, page) {
    this.page = page;
    this.count = page.bodies ? page.bodies.shapeOf.length : 1;
    this.frames = page.time.length;
    this.frame = 0;
    this.scalar = null;
    this.byFace = false;
    this.followed = -1;
    this.trail = "off";
    this.changed = true;
    // An opaque canvas: what lies under it need not be drawn.
    const context = canvas.getContext("webgl2", { alpha: false, antialias: true, stencil: false });
    if (!context) throw new Error("no WebGL");
    this.renderer = new WebGLRenderer({ canvas, context });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.scene = new Scene();
    this.eye = new Eye(canvas, () => { this.changed = true; });
    this.sky = new HemisphereLight(0xffffff, 0xa8b0bc, 2.3);
    this.sun = new DirectionalLight(0xffffff, 1.5);
    this.scene.add(this.sky, this.sun, this.sun.target);
    this.layers = { bodies: [], ghost: [], particles: [], links: [], axes: [], momentum: [] };
    for (const { name } of page.marks) this.layers[name] = [];
    this.points = Array.from({ length: this.count }, () => [0, 0, 0]);
    this.size = page.size;
    this.build();
    this.setFrame(0);
  }

  build() {
    const { bodies } = this.page;
    if (bodies) {
      bodies.shapes.forEach((shape, number) => this.addShape(geometryOf(shape), number));
      this.addParticles(bodies);
    } else {
      const marker = new IcosahedronGeometry(this.size, 3);
      marker.setAttribute("color", new BufferAttribute(new Float32Array(3 * marker.getAttribute("position").count).fill(1), 3));
      this.addShape(marker, 0);
    }
    this.addLinks();
    if (this.page.arrows) this.addArrows();
    for (const mark of this.page.marks) this.addMarks(mark);
  }

  instanced(layer, geometry, count, role, options = {}) {
    const material = new MeshLambertMaterial(options);
    const mesh = new InstancedMesh(geometry, material, Math.max(count, 1));
    mesh.count = count;
    mesh.frustumCulled = false;
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.userData.role = role;
    this.scene.add(mesh);
    this.layers[layer].push(mesh);
    return mesh;
  }

  addShape(geometry, number) {
    const { bodies } = this.page;
    const members = [];
    for (let j = 0; j < this.count; j++) if (!bodies || bodies.shapeOf[j] === number) members.push(j);
    const mesh = this.instanced("bodies", geometry, members.length, "body", { vertexColors: true });
    mesh.userData.members = members;
    mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(3 * members.length).fill(1), 3);
    mesh.instanceColor.setUsage(DynamicDrawUsage);
    const ghost = this.instanced("ghost", geometry, members.length, "ghost", {
      transparent: true, opacity: 0.16, depthWrite: false,
    });
    ghost.visible = false;
    members.forEach((j, i) => this.writeBody(ghost.instanceMatrix.array, 16 * i, j, 0));
  }

  addParticles({ particles }) {
    this.particles = particles;
    const count = particles.body.length;
    const role = particles.colour ? "atom" : "particle";
    const mesh = this.instanced("particles", new IcosahedronGeometry(1, count > 100 ? 1 : 2), count, role);
    if (particles.colour) {
      const hues = particles.colour.flatMap((hue) => new Color(hue).toArray());
      mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(hues), 3);
    }
    mesh.visible = particles.shown;
  }

  // A link is a rod from centre to centre, a joint two rods to the shared point and a ball there; a pin lies along its axis,
  // and a square plate is the ground that it is fixed to.
  addLinks() {
    const { links, joints } = this.page.bodies || { links: [], joints: [] };
    const rods = links.length + 2 * joints.length;
    this.rods = this.instanced("links", new CylinderGeometry(1, 1, 1, 6, 1, true), rods, "link");
    this.balls = this.instanced("links", new IcosahedronGeometry(1, 2), joints.length, "joint");
    this.pinned = joints.filter((joint) => joint.axis);
    this.grounded = joints.filter((joint) => joint.plate);
    this.pins = this.instanced("links", new CylinderGeometry(1, 1, 1, 20), this.pinned.length, "joint");
    this.plates = this.instanced("links", new CylinderGeometry(1, 1, 1, 4), this.grounded.length, "ground");
    for (const mesh of this.layers.links) mesh.visible = Boolean(this.page.bodies?.linksShown);
  }

  // Of a single body: its own axes, and its angular momentum in space.
  addArrows() {
    const shaft = new CylinderGeometry(1, 1, 1, 12);
    const head = new CylinderGeometry(0, 1, 1, 16);
    for (const [layer, count] of [["axes", 3], ["momentum", 1]]) {
      for (const geometry of [shaft, head]) {
        const mesh = this.instanced(layer, geometry, count, layer === "axes" ? "axis" : "momentum");
        if (layer === "axes") mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(HUES.slice(0, 3).flat()), 3);
      }
    }
  }

  placeArrows() {
    const { arrows, spin } = this.page;
    if (!arrows) return;
    const from = this.carry(0, [0, 0, 0]);
    const tips = arrows.axes.map((length, k) => this.carry(0, [0, 1, 2].map((i) => (i === k ? length : 0))));
    tips.forEach((tip, k) => this.writeArrow(this.layers.axes, k, from, tip, 0.012 * arrows.reach));
    const s = 3 * this.frame;
    const tip = [0, 1, 2].map((k) => from[k] + arrows.reach * spin[s + k]);
    this.writeArrow(this.layers.momentum, 0, from, tip, 0.02 * arrows.reach);
  }

  // What acts on the bodies: arrows, or springs with a ball at their anchors. They begin inside of bodies, which must not hide them.
  addMarks({ name, kind, count, shown }) {
    const end = kind === "arrow" ? new CylinderGeometry(0, 1, 1, 16) : new IcosahedronGeometry(1, 2);
    for (const geometry of [new CylinderGeometry(1, 1, 1, 12), end]) {
      const mesh = this.instanced(name, geometry, count, name, { depthTest: false, transparent: true, opacity: 0.85 });
      mesh.renderOrder = 1;
      mesh.visible = shown;
    }
  }

  placeMarks() {
    for (const { name, kind, count, ends } of this.page.marks) {
      const layer = this.layers[name];
      if (!layer[0].visible) continue;
      const row = 6 * count * this.frame;
      for (let i = 0; i < count; i++) {
        const [from, to] = [0, 3].map((k) => Array.from(ends.subarray(row + 6 * i + k, row + 6 * i + k + 3)));
        if (kind === "arrow") this.writeArrow(layer, i, from, to, 0.6 * this.page.bodies.linkSize);
        else {
          writeRod(layer[0].instanceMatrix.array, 16 * i, from, to, 0.5 * this.page.bodies.linkSize);
          writeBall(layer[1].instanceMatrix.array, 16 * i, ...to, 1.3 * this.page.bodies.linkSize);
        }
      }
      for (const mesh of layer) mesh.instanceMatrix.needsUpdate = true;
    }
  }

  // A shaft, and a head that ends in the tip.
  writeArrow([shaft, head], i, from, tip, radius) {
    const along = tip.map((x, k) => x - from[k]);
    const length = Math.hypot(...along) || 1e-30;
    const share = Math.max(0, 1 - (7 * radius) / length);
    const neck = from.map((x, k) => x + share * along[k]);
    writeRod(shaft.instanceMatrix.array, 16 * i, from, neck, radius);
    writeRod(head.instanceMatrix.array, 16 * i, neck, tip, 2.6 * radius);
    shaft.instanceMatrix.needsUpdate = head.instanceMatrix.needsUpdate = true;
  }

  writeBody(out, at, j, frame) {
    const { position, orientation, scale, stretch } = this.page;
    const p = 3 * (frame * this.count + j);
    const q = 4 * (frame * this.count + j);
    const [x, y, z] = [position[p] * stretch[0], position[p + 1] * stretch[1], position[p + 2] * stretch[2]];
    if (!orientation) writePose(out, at, x, y, z, 1, 0, 0, 0, 1);
    else {
      const size = scale ? scale[frame * this.count + j] : 1;
      writePose(out, at, x, y, z, orientation[q], orientation[q + 1], orientation[q + 2], orientation[q + 3], size);
    }
  }

  setFrame(frame) {
    const before = this.followed >= 0 ? this.points[this.followed].slice() : null;
    this.frame = frame;
    for (const mesh of this.layers.bodies) {
      const out = mesh.instanceMatrix.array;
      mesh.userData.members.forEach((j, i) => {
        this.writeBody(out, 16 * i, j, frame);
        const point = this.points[j];
        (point[0] = out[16 * i + 12]), (point[1] = out[16 * i + 13]), (point[2] = out[16 * i + 14]);
      });
      mesh.instanceMatrix.needsUpdate = true;
    }
    this.placeParticles();
    this.placeLinks();
    this.placeArrows();
    this.placeMarks();
    this.colourBodies();
    this.cutTrail();
    if (before) {
      const now = this.points[this.followed];
      this.eye.shift(now[0] - before[0], now[1] - before[1], now[2] - before[2]);
    }
    this.changed = true;
  }

  // The place in space of a point of a body; body -1 is the ground.
  carry(j, local) {
    if (j < 0) return local.map((x, k) => x - this.page.poses.origin[k]);
    const q = 4 * (this.frame * this.count + j);
    const [w, a, b, c] = this.page.orientation.subarray(q, q + 4);
    const s = this.page.scale ? this.page.scale[this.frame * this.count + j] : 1;
    const [x, y, z] = [local[0] * s, local[1] * s, local[2] * s];
    const [u, v, t] = [2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)];
    const at = this.points[j];
    return [at[0] + x + w * u + b * t - c * v, at[1] + y + w * v + c * u - a * t, at[2] + z + w * t + a * v - b * u];
  }

  placeParticles() {
    const mesh = this.layers.particles[0];
    if (!mesh || !mesh.visible) return;
    const { body, at, size } = this.particles;
    for (let i = 0; i < body.length; i++) {
      const place = this.carry(body[i], at[i]);
      writeBall(mesh.instanceMatrix.array, 16 * i, place[0], place[1], place[2], size[i]);
    }
    mesh.instanceMatrix.needsUpdate = true;
  }

  placeLinks() {
    if (!this.rods.visible || !this.page.bodies) return;
    const { links, joints, linkSize } = this.page.bodies;
    const out = this.rods.instanceMatrix.array;
    let n = 0;
    for (const [a, b] of links) writeRod(out, 16 * n++, this.points[a], this.points[b], linkSize);
    joints.forEach(({ parent, child, atParent, atChild }, i) => {
      const shared = this.carry(child, atChild);
      const other = this.carry(parent, atParent);
      writeRod(out, 16 * n++, parent < 0 ? other : this.points[parent], other, linkSize);
      writeRod(out, 16 * n++, this.points[child], shared, linkSize);
      writeBall(this.balls.instanceMatrix.array, 16 * i, ...shared, joints[i].size);
    });
    this.pinned.forEach(({ parent, child, atChild, axis, size }, i) => {
      const shared = this.carry(child, atChild);
      const way = parent < 0 ? axis : this.turn(parent, axis);
      const [a, b] = [-1, 1].map((side) => shared.map((x, k) => x + side * PIN * size * way[k]));
      writeRod(this.pins.instanceMatrix.array, 16 * i, a, b, 0.7 * size);
    });
    const { origin } = this.page.poses;
    this.grounded.forEach(({ plate, up, size }, i) => {
      const [a, b] = [-1, 1].map((side) => plate.map((x, k) => x - origin[k] + side * 0.2 * size * up[k]));
      writeRod(this.plates.instanceMatrix.array, 16 * i, a, b, PLATE * size);
    });
    for (const mesh of [this.rods, this.balls, this.pins, this.plates]) mesh.instanceMatrix.needsUpdate = true;
  }

  // A direction of a body in space.
  turn(j, local) {
    const there = this.carry(j, local);
    return there.map((x, k) => x - this.points[j][k]);
  }

  // The colour map's entry of a body in a frame; -1 for the plain colour.
  level(frame, j) {
    if (!this.scalar) return -1;
    const { levels } = this.scalar;
    return levels.length === this.frames ? levels[frame] : levels[frame * this.count + j];
  }

  colourBodies() {
    for (const mesh of this.layers.bodies) {
      const out = mesh.instanceColor.array;
      const plain = this.byFace ? WHITE : this.plain;
      mesh.userData.members.forEach((j, i) => this.writeColour(out, 3 * i, this.level(this.frame, j), plain));
      mesh.instanceColor.needsUpdate = true;
    }
  }

  writeColour(out, at, level, plain) {
    if (level < 0) {
      if (plain) (out[at] = plain.r), (out[at + 1] = plain.g), (out[at + 2] = plain.b);
    } else for (let c = 0; c < 3; c++) out[at + c] = LINEAR[3 * level + c];
  }

  setScalar(scalar, byFace = false) {
    this.scalar = scalar;
    this.byFace = byFace && Boolean(this.page.bodies);
    for (const { geometry } of this.layers.bodies) {
      if (geometry.userData.faces) geometry.setAttribute("color", new BufferAttribute(geometry.userData[this.byFace ? "faces" : "shades"], 3));
    }
    this.colourBodies();
    this.colourTrail();
    this.changed = true;
  }

  setTheme(name) {
    const theme = THEMES[name];
    this.scene.background = new Color(theme.background);
    this.plain = new Color(theme.body);
    this.faint = new Color(theme.trail);
    const { background, body, trail, ...colours } = theme;
    for (const layer of Object.values(this.layers)) {
      for (const mesh of layer) if (colours[mesh.userData.role]) mesh.material.color.set(colours[mesh.userData.role]);
    }
    this.colourBodies();
    this.colourTrail();
    this.changed = true;
  }

  show(layer, visible) {
    for (const mesh of this.layers[layer]) mesh.visible = visible;
    this.placeParticles();
    this.placeLinks();
    this.placeMarks();
    this.changed = true;
  }

  // Segments of all bodies, frame by frame, so that the last ones are a range of the buffer.
  buildTrail() {
    const { traced } = this.page.bodies || { traced: [[0, 0, 0]] };
    const { count, frames } = this;
    const here = new Float32Array(3 * count);
    const place = new Float32Array(6 * count * Math.max(frames - 1, 0));
    const kept = this.frame;
    for (let f = 0; f < frames; f++) {
      this.frame = f;
      for (let j = 0; j < count; j++) {
        const p = 3 * (f * count + j);
        for (let k = 0; k < 3; k++) this.points[j][k] = this.page.position[p + k] * this.page.stretch[k];
        const tip = this.page.orientation ? this.carry(j, traced[j]) : this.points[j];
        const at = 6 * ((f - 1) * count + j);
        for (let k = 0; k < 3; k++) {
          if (f > 0) (place[at + k] = here[3 * j + k]), (place[at + 3 + k] = tip[k]);
          here[3 * j + k] = tip[k];
        }
      }
    }
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(place, 3));
    geometry.setAttribute("color", new BufferAttribute(new Float32Array(place.length), 3));
    this.path = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true }));
    this.path.frustumCulled = false;
    this.scene.add(this.path);
    this.colourTrail();
    this.setFrame(kept);
  }

  colourTrail() {
    if (!this.path) return;
    const attribute = this.path.geometry.getAttribute("color");
    for (let f = 1; f < this.frames; f++) {
      for (let j = 0; j < this.count; j++) {
        const at = 6 * ((f - 1) * this.count + j);
        this.writeColour(attribute.array, at, this.level(f - 1, j), this.faint);
        this.writeColour(attribute.array, at + 3, this.level(f, j), this.faint);
      }
    }
    attribute.needsUpdate = true;
  }

  setTrail(trail) {
    this.trail = trail;
    if (trail !== "off" && !this.path) this.buildTrail();
    if (this.path) this.path.visible = trail !== "off";
    this.cutTrail();
    this.changed = true;
  }

  cutTrail() {
    if (!this.path || this.trail === "off") return;
    const length = this.trail === "whole" ? this.frame : Math.max(LEAST_TRAIL, SHORT_TRAIL * this.frames);
    const first = Math.max(0, this.frame - Math.ceil(length));
    this.path.geometry.setDrawRange(2 * this.count * first, 2 * this.count * (this.frame - first));
  }

  // What is to be seen, as balls: the bodies of all frames, or of this one if they go far away; a whole path;
  // of a single body its corners.
  seen() {
    const { page } = this;
    const step = page.bodies ? Math.max(1, Math.floor(this.frames / 60)) : 1;
    const [kept, here, all] = [this.frame, [], []];
    const corners = page.bodies && this.count === 1 ? extremes(this.layers.bodies[0].geometry) : null;
    for (let f = 0; f < this.frames; f += step) {
      for (let j = 0; j < this.count; j++) {
        const p = 3 * (f * this.count + j);
        const place = [0, 1, 2].map((k) => page.position[p + k] * page.stretch[k]);
        if (!corners) all.push(...place, page.reach[j]);
        else {
          this.points[j] = place;
          this.frame = f;
          for (const corner of corners) all.push(...this.carry(j, corner), 0);
          if (page.arrows) all.push(...place.map((x, k) => x + page.arrows.reach * page.spin[3 * f + k]), 0);
        }
      }
    }
    this.setFrame(kept);
    this.points.forEach((point, j) => here.push(...point, page.reach[j]));
    return !page.bodies || corners || extent(all) < FAR * extent(here) ? all : here;
  }

  look(name) {
    const balls = this.followed >= 0 ? [...this.points[this.followed], 6 * this.page.reach[this.followed]] : this.seen();
    const direction = name === "fit" ? oblique(balls, this.page.flat) : VIEWS[name];
    this.eye.fit(balls, new Vector3(...direction));
    this.changed = true;
  }

  follow(j) {
    this.followed = j;
    this.look("fit");
  }

  resize(width, height) {
    this.renderer.setSize(width, height, false);
    this.eye.resize(width / height);
    this.changed = true;
  }

  render() {
    // The sun stands behind the left shoulder of who looks.
    const { camera } = this.eye;
    this.sun.position.set(-0.5, 0.7, 1).applyQuaternion(camera.quaternion).add(this.sun.target.position);
    this.renderer.render(this.scene, camera);
    this.changed = false;
  }

  picture(use) {
    this.render();
    this.renderer.domElement.toBlob(use, "image/png");
  }
}

// The vertices that reach farthest along the edges, faces and corners of a cube.
function extremes(geometry) {
  const place = geometry.getAttribute("position");
  const signs = [-1, 0, 1];
  const ways = signs.flatMap((x) => signs.flatMap((y) => signs.map((z) => [x, y, z]))).filter((way) => way.some(Boolean));
  return ways.map((way) => {
    let [best, far] = [0, -Infinity];
    for (let i = 0; i < place.count; i++) {
      const reach = way[0] * place.getX(i) + way[1] * place.getY(i) + way[2] * place.getZ(i);
      if (reach > far) (best = i), (far = reach);
    }
    return [place.getX(best), place.getY(best), place.getZ(best)];
  });
}

function spans(balls) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < balls.length; i += 4) {
    for (let k = 0; k < 3; k++) {
      low[k] = Math.min(low[k], balls[i + k] - balls[i + 3]);
      high[k] = Math.max(high[k], balls[i + k] + balls[i + 3]);
    }
  }
  return high.map((x, k) => x - low[k]);
}

const extent = (balls) => Math.hypot(...spans(balls));

// From the front and above, turned a little; what is long lies across the window. A plane is seen from above.
function oblique(balls, flat) {
  if (flat) return VIEWS.z;
  const [x, y, z] = spans(balls);
  const turn = Math.max(x, y, z) > 4 * Math.min(x, y, z) ? 0.16 : 0.38; // perspective makes a long thing uneven
  return z > 2 * Math.max(x, y) || x >= y ? [turn, -1, 0.34] : [1, -turn, 0.34];
}
