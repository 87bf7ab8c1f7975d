// Where the scene is seen from: z is up, and what is to be seen fills the window.

import { PerspectiveCamera, Vector3 } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const ANGLE = 32; // of view, degrees
const MARGIN = 1.12;

export class Eye {
  constructor(canvas, onMove) {
    this.camera = new PerspectiveCamera(ANGLE, 1, 0.01, 1000);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", onMove);
  }

  resize(aspect) {
    this.camera.aspect = aspect;
    this.camera.updateProjectionMatrix();
  }

  // Look along a direction so that all balls (x, y, z, radius) are inside the window, as large as they can be.
  fit(balls, direction) {
    const back = direction.clone().normalize();
    const up = Math.abs(back.z) > 0.999 ? new Vector3(0, 1, 0) : new Vector3(0, 0, 1);
    const right = new Vector3().crossVectors(up, back).normalize();
    up.crossVectors(back, right);
    const tan = Math.tan((ANGLE * Math.PI) / 360);
    const slopes = [tan * this.camera.aspect, tan];
    const axes = [right, up];
    const point = new Vector3();
    // Each of the four sides of the view gives the plane that touches the balls: p +- s z <= side.
    const sides = [[-Infinity, -Infinity], [-Infinity, -Infinity]];
    let [near, far] = [-Infinity, Infinity];
    for (let i = 0; i < balls.length; i += 4) {
      point.set(balls[i], balls[i + 1], balls[i + 2]);
      const z = point.dot(back);
      const r = balls[i + 3];
      near = Math.max(near, z + r);
      far = Math.min(far, z - r);
      axes.forEach((axis, k) => {
        const p = point.dot(axis);
        const reach = r * Math.hypot(1, slopes[k]);
        sides[k][0] = Math.max(sides[k][0], slopes[k] * z + p + reach);
        sides[k][1] = Math.max(sides[k][1], slopes[k] * z - p + reach);
      });
    }
    const middle = axes.map((_, k) => (sides[k][0] - sides[k][1]) / 2);
    const heights = axes.map((_, k) => (sides[k][0] + sides[k][1]) / 2 / slopes[k]);
    const depth = (near + far) / 2;
    const distance = Math.max((Math.max(...heights) - depth) * MARGIN, (near - depth) * 1.2, 1e-9);
    const target = right.multiplyScalar(middle[0]).addScaledVector(up, middle[1]).addScaledVector(back, depth);
    this.camera.up.set(...(Math.abs(back.z) > 0.999 ? [0, 1, 0] : [0, 0, 1]));
    this.camera.position.copy(target).addScaledVector(back, distance);
    this.camera.near = distance / 1000;
    this.camera.far = distance * 1000;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(target);
    this.controls.update();
  }

  // Move along with a point, so that it stays where it is in the window.
  shift(x, y, z) {
    this.camera.position.x += x;
    this.camera.position.y += y;
    this.camera.position.z += z;
    this.controls.target.x += x;
    this.controls.target.y += y;
    this.controls.target.z += z;
    this.controls.update();
  }
}
