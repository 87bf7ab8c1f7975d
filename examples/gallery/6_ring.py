"""
Plectoneme of a ring
====================

An elastic ring is cut, twisted five times, closed again and released. As with telephone cords and rings of DNA, the ring
leaves its plane and coils.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

import catena as ct

# %%
# A closed chain of 120 boxes on a circle, with equal stiffness for bending and twist. On the way round, the boxes turn about
# the circle five times: this is the linking number, here all twist and no writhe.
n = 120
link = ct.BendTwist(stretch=100.0, bend=20.0, twist=20.0, d0=(0.0, 0.0, 1.0))
ring = ct.Chain([ct.Body.box((0.6, 0.6, 1.0), mass=1.0)] * n, link, closed=True)
calm = ring.ring(1.0, linking_number=5, axis=(0.0, 0.0, 1.0))
print(ring.linking_number(calm), round(ring.twist(calm), 12), round(ring.writhe(calm), 12))

# %%
# Such a circle is stable up to sqrt(3) turns. With five turns, waves with two, three, four and five periods round the ring grow
# together: there are eight ways down. A push out of the plane starts them.
angle = 2.0 * np.pi * np.arange(n) / n
push = np.zeros((n, 3))
push[:, 2] = 0.02 * (np.sin(2 * angle) + 0.7 * np.cos(3 * angle) + 0.5 * np.sin(4 * angle + 1.0))
start = ring.start(calm.position, calm.orientation, velocity=push)
run = ct.simulate(ring, start, dt=0.05, t_end=100.0, every=4)
print(run.audit())

# %%
# While the waves grow, twist becomes writhe, and their sum stays constant to the last digit. Then a loop meets the rest of the
# ring. Only neighbours interact in a chain, and nothing keeps two of its strands apart: they pass through each other, and the
# writhe jumps by two, and so does the linking number, several times. Thickness would stop the strands there and hold the ring
# in a plectoneme, two strands wound about each other.
outputs = ring.outputs(run)
twist, writhe, links = outputs.twist(), outputs.writhe(), outputs.linking_number()
first = int(np.argmax(links.values != 5))
print(f"linking number 5 up to t = {float(run.data.time[first - 1]):g}; twist and writhe add up to it within", end=" ")
print(f"{float(np.abs(twist + writhe - links).max()):.1g}")

# %%
# A ribbon along the second axes of the bodies shows this; its two sides have different colours.
seen_from, light = np.array([0.35, -0.75, 0.55]), np.array([0.2, -0.5, 0.85])
away = seen_from / np.linalg.norm(seen_from)
right = np.cross([0.0, 0.0, 1.0], away) / np.linalg.norm(np.cross([0.0, 0.0, 1.0], away))


def draw(ax: plt.Axes, position: np.ndarray, orientation: np.ndarray) -> None:
    """The ribbon as it is seen, from far to near."""
    q0, v, across = orientation[:, :1], orientation[:, 1:], np.array([0.0, 0.7, 0.0])
    director = across + 2.0 * np.cross(v, q0 * across + np.cross(v, across))
    upper, lower = position + director, position - director
    faces = np.stack([lower, upper, np.roll(upper, -1, axis=0), np.roll(lower, -1, axis=0)], axis=1)
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    shade = 0.45 + 0.55 * np.abs(normals @ (light / np.linalg.norm(light)))
    front = (normals @ away > 0.0)[:, None]
    colours = np.where(front, [0.20, 0.42, 0.66], [0.91, 0.58, 0.25]) * shade[:, None]
    order = np.argsort(faces.mean(axis=1) @ away)
    plane = np.stack([faces @ right, faces @ np.cross(away, right)], axis=-1)
    ax.add_collection(PolyCollection(plane[order], facecolors=colours[order], edgecolors="0.1", linewidths=0.25))
    ax.set(xlim=(-21.0, 21.0), ylim=(-17.0, 17.0), aspect="equal")
    ax.set_axis_off()


figure = plt.figure(figsize=(8.4, 4.6))
grid = figure.add_gridspec(2, 4, height_ratios=(1.1, 1.0), hspace=0.02, wspace=0.0)
below = figure.add_subplot(grid[1, :])
for k, moment in enumerate((0.0, 50.0, 64.0, 73.0)):
    sample = run.data.sel(time=moment, method="nearest")
    above = figure.add_subplot(grid[0, k])
    draw(above, sample.position.values - sample.position.values.mean(axis=0), sample.orientation.values)
    above.set_title(f"t = {moment:g}", fontsize=9, y=-0.02)
    below.axvline(moment, color="0.85", linewidth=0.8, zorder=0)
below.step(run.data.time, links, where="mid", color="0.1", label="linking number")
below.plot(run.data.time, twist, color="#33699f", label="twist")
below.plot(run.data.time, writhe, color="#d98a2b", label="writhe")
below.set(xlabel="time", ylabel="turns", xlim=(0.0, 100.0))
below.legend(frameon=False, fontsize=8, loc="lower left")

# %%
# The whole motion. You can turn and play it:
run.view()
