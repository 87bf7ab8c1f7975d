"""Draws helix.gif, the moving picture of the first page:  python docs/images/helix.py"""

from __future__ import annotations

from io import BytesIO
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from PIL import Image

import catena as ct

BODIES, FRAMES, SECONDS = 24, 40, 4.0
LIGHT = np.array([0.3, -0.6, 0.75])
SEEN_FROM = np.array([0.0, -0.94, 0.34])  # along y, a little from above


def frames() -> np.ndarray:
    """(frames, bodies, 4 corners, xyz) of the pulled helix."""
    problem = ct.problems.helix_chain(BODIES, right="force", F=(3.0, 0.0, 0.0), amp=1.0)
    run = ct.simulate(problem, dt=0.05, steps=20 * (FRAMES - 1), every=20)
    data = run.data.isel(time=slice(0, FRAMES))
    corners = np.array([body.particles.positions for body in problem.system.bodies])
    q0, v = data.orientation.values[..., :1], data.orientation.values[..., 1:]
    q0, v, x = q0[:, :, None], v[:, :, None], corners[None]
    turned = x + 2.0 * np.cross(v, q0 * x + np.cross(v, x))
    return turned + data.position.values[:, :, None]


def draw(corners: np.ndarray, limits: tuple[float, float, float, float]) -> Image.Image:
    """One frame: the faces from far to near, shaded by their direction."""
    faces = corners[:, list(combinations(range(4), 3))].reshape(-1, 3, 3)
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    shade = 0.55 + 0.45 * np.abs(normals @ LIGHT / np.linalg.norm(LIGHT))
    colours = mpl.colormaps["viridis"](np.repeat(np.linspace(0.25, 0.85, BODIES), 4))
    colours[:, :3] *= shade[:, None]
    up = np.array([0.0, -SEEN_FROM[1] * SEEN_FROM[2], 1.0 - SEEN_FROM[2] ** 2])
    plane = np.stack([faces[..., 0], faces @ (up / np.linalg.norm(up))], axis=-1)
    order = np.argsort(faces.mean(axis=1) @ SEEN_FROM)
    figure, ax = plt.subplots(figsize=(7.2, 2.2), dpi=100)
    ax.set_position((0.0, 0.0, 1.0, 1.0))
    ax.add_collection(PolyCollection(plane[order], facecolors=colours[order], edgecolors="0.15", linewidths=0.4))
    ax.set(xlim=limits[:2], ylim=limits[2:], aspect="equal")
    ax.set_axis_off()
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    return Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE, colors=24)


def main() -> None:
    """Draw all frames, to and fro."""
    corners = frames()
    x, z = corners[..., 0], corners[..., 2]
    limits = (x.min() - 0.5, x.max() + 0.5, z.min() - 0.5, z.max() + 0.5)
    pictures = [draw(frame, limits) for frame in corners]
    there_and_back = [*pictures, *pictures[-2:0:-1]]
    there_and_back[0].save(
        Path(__file__).with_name("helix.gif"), save_all=True, append_images=there_and_back[1:],
        duration=round(1000 * SECONDS / FRAMES), loop=0, optimize=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
