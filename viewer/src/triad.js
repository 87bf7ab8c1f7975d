// The axes of space as they stand in the window, in a corner.

import { Quaternion, Vector3 } from "three";

const NS = "http://www.w3.org/2000/svg";
const LENGTH = 24;

export class Triad {
  constructor(svg, names) {
    this.turned = new Quaternion(0, 0, 0, 0);
    this.axes = names.map((name, k) => {
      const line = document.createElementNS(NS, "line");
      const text = document.createElementNS(NS, "text");
      text.textContent = name;
      for (const element of [line, text]) {
        element.setAttribute("class", `axis-${k}`);
        svg.append(element);
      }
      return { line, text, along: new Vector3(...[0, 1, 2].map((i) => (i === k ? 1 : 0))) };
    });
  }

  turn(view) {
    if (this.turned.equals(view)) return;
    this.turned.copy(view);
    const turned = new Vector3();
    const back = view.clone().invert();
    for (const { line, text, along } of this.axes) {
      turned.copy(along).applyQuaternion(back);
      line.setAttribute("x2", LENGTH * turned.x);
      line.setAttribute("y2", -LENGTH * turned.y);
      text.setAttribute("x", 1.42 * LENGTH * turned.x);
      text.setAttribute("y", -1.42 * LENGTH * turned.y);
      line.style.opacity = text.style.opacity = Math.hypot(turned.x, turned.y) < 0.12 ? 0 : 1;
    }
  }
}
