// The least page that shows the same bodies: one instanced mesh, one light, the pose of every body in every frame.

import {
  BufferAttribute, BufferGeometry, Color, DirectionalLight, HemisphereLight, InstancedMesh, Matrix4, MeshLambertMaterial,
  PerspectiveCamera, Quaternion, Scene, Vector3, WebGLRenderer,
} from "three";
import { numbers } from "../src/data.js";

const page = JSON.parse(document.getElementById("description").textContent);
const position = numbers(document.getElementById("position").textContent, "f4");
const orientation = numbers(document.getElementById("orientation").textContent, "f4");
const { vertices, faces } = page.bodies.shapes[0];
const count = page.bodies.shapeOf.length;
const frames = page.time.length;
const canvas = document.getElementById("view");
const renderer = new WebGLRenderer({ canvas, antialias: true });
renderer.setSize(canvas.clientWidth, canvas.clientHeight, false);
const scene = new Scene();
scene.background = new Color(0xf7f8fa);
const camera = new PerspectiveCamera(32, canvas.clientWidth / canvas.clientHeight, 0.1, 1e5);
const [x, y, z, tx, ty, tz] = window.eye;
camera.up.set(0, 0, 1);
camera.position.set(x, y, z);
camera.lookAt(tx, ty, tz);
const indexed = new BufferGeometry();
indexed.setAttribute("position", new BufferAttribute(numbers(vertices, "f4"), 3));
indexed.setIndex(new BufferAttribute(numbers(faces, "u4"), 1));
const geometry = indexed.toNonIndexed();
geometry.computeVertexNormals();
const mesh = new InstancedMesh(geometry, new MeshLambertMaterial({ color: 0x4f86c6 }), count);
mesh.frustumCulled = false;
const sun = new DirectionalLight(0xffffff, 1.5);
sun.position.set(-1, -1, 2);
scene.add(mesh, sun, new HemisphereLight(0xffffff, 0xa8b0bc, 2.3));
const [matrix, place, turn, one] = [new Matrix4(), new Vector3(), new Quaternion(), new Vector3(1, 1, 1)];
let frame = 0;
window.drawn = 0;
window.running = true;
function loop() {
  requestAnimationFrame(loop);
  if (!window.running) return;
  frame = (frame + 1) % frames;
  for (let j = 0; j < count; j++) {
    const [p, q] = [3 * (frame * count + j), 4 * (frame * count + j)];
    place.fromArray(position, p);
    turn.set(orientation[q + 1], orientation[q + 2], orientation[q + 3], orientation[q]);
    mesh.setMatrixAt(j, matrix.compose(place, turn, one));
  }
  mesh.instanceMatrix.needsUpdate = true;
  renderer.render(scene, camera);
  window.drawn += 1;
}
requestAnimationFrame(loop);
