"""Draws ring.png, the picture of the gallery's ring:  python docs/images/ring.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

import catena as ct

BODIES, LINKS, T_END = 120, 5, 100.0
SHOWN = (0.0, 50.0, 64.0, 73.0)  # times of the pictures
SEEN_FROM = np.array([0.35, -0.75, 0.55])
LIGHT = np.array([0.2, -0.5, 0.85])
BREADTH = 1.4  # of the ribbon that is drawn


def run_of_the_ring() -> ct.Run:
    """An elastic ring, twisted five times, and pushed out of its plane a little."""
    link = ct.BendTwist(stretch=100.0, bend=20.0, twist=20.0, d0=(0.0, 0.0, 1.0))
    ring = ct.Chain([ct.Body.box((0.6, 0.6, 1.0), mass=1.0)] * BODIES, link, closed=True)
    calm = ring.ring(1.0, linking_number=LINKS, axis=(0.0, 0.0, 1.0))
    angle = 2.0 * np.pi * np.arange(BODIES) / BODIES
    push = np.zeros((BODIES, 3))
    push[:, 2] = 0.02 * (np.sin(2 * angle) + 0.7 * np.cos(3 * angle) + 0.5 * np.sin(4 * angle + 1))
    start = ring.start(calm.position, calm.orientation, velocity=push)
    return ct.simulate(ring, start, dt=0.05, t_end=T_END, every=4)


def ribbon(position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    """Quadrangles (links, 4, 3) between neighbours, along their second axes."""
    q0, v = orientation[:, :1], orientation[:, 1:]
    across = np.array([0.0, 1.0, 0.0])
    director = across + 2.0 * np.cross(v, q0 * across + np.cross(v, across))
    upper, lower = position + 0.5 * BREADTH * director, position - 0.5 * BREADTH * director
    return np.stack([lower, upper, np.roll(upper, -1, axis=0), np.roll(lower, -1, axis=0)], axis=1)


def draw(ax: Axes, faces: np.ndarray, size: float) -> None:
    """The ribbon as it is seen, from far to near; its two sides have two colours."""
    away = SEEN_FROM / np.linalg.norm(SEEN_FROM)
    right = np.cross([0.0, 0.0, 1.0], away)
    right /= np.linalg.norm(right)
    up = np.cross(away, right)
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    front = normals @ away > 0.0
    shade = 0.45 + 0.55 * np.abs(normals @ (LIGHT / np.linalg.norm(LIGHT)))
    colours = np.where(front[:, None], [0.20, 0.42, 0.66], [0.91, 0.58, 0.25]) * shade[:, None]
    order = np.argsort(faces.mean(axis=1) @ away)
    plane = np.stack([faces @ right, faces @ up], axis=-1)
    ax.add_collection(PolyCollection(plane[order], facecolors=colours[order], edgecolors="0.1", linewidths=0.25))
    ax.set(xlim=(-size, size), ylim=(-0.8 * size, 0.8 * size), aspect="equal")
    ax.set_axis_off()


def main() -> None:
    """Four moments of the run, and twist, writhe and linking number along it."""
    run = run_of_the_ring()
    outputs, data = run.system.outputs(run), run.data
    figure = plt.figure(figsize=(8.4, 4.6), dpi=120)
    grid = figure.add_gridspec(2, len(SHOWN), height_ratios=(1.1, 1.0), hspace=0.02, wspace=0.0)
    for k, time in enumerate(SHOWN):
        sample = data.sel(time=time, method="nearest")
        ax = figure.add_subplot(grid[0, k])
        draw(ax, ribbon(sample.position.values - sample.position.values.mean(axis=0), sample.orientation.values), 21.0)
        ax.set_title(f"t = {float(sample.time):g}", fontsize=9, y=-0.02)
    ax = figure.add_subplot(grid[1, :])
    time = data.time.values
    ax.step(time, outputs.linking_number().values, where="mid", color="0.1", label="linking number")
    ax.plot(time, outputs.twist().values, color="#33699f", label="twist")
    ax.plot(time, outputs.writhe().values, color="#d98a2b", label="writhe")
    for moment in SHOWN:
        ax.axvline(moment, color="0.85", linewidth=0.8, zorder=0)
    ax.set(xlabel="time", ylabel="turns", xlim=(0.0, T_END))
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("ring.png"), bbox_inches="tight")


if __name__ == "__main__":
    main()
