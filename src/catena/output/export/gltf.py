"""glTF 2.0 binary: a node for each body, moved by an animation; quaternions scalar last, signs made continuous.

The file stores the numbers of one body together; the run delivers those of one sample together. They are written
through a memory map of the file, so that memory stays constant.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError
from ...text.plain import Json
from ...version import __version__
from ..page.appearance import Appearance, appearance_of
from ..page.samples import blocks, only, poses
from ..page.shapes import Shape

if TYPE_CHECKING:
    import xarray

    from ...running.runs import Run

FLOAT, UNSIGNED = 5126, 5125
VERTICES, INDICES = 34962, 34963
LARGEST = 2**32 - 1  # bytes: lengths in the file have 32 bits
BLOCK = 2**20  # bytes written at once
UPRIGHT = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # turns z, up in catena, into y, up in glTF
COLOUR = [0.12, 0.26, 0.55, 1.0]


WIDTH = {"SCALAR": 4, "VEC3": 12, "VEC4": 16}  # bytes of an element
KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


class Mesh(NamedTuple):
    """Accessor numbers of a shape, by their names in glTF."""

    attributes: dict[str, int]
    indices: int


class Layout:
    """The layout of the binary part, and the JSON that describes it."""

    def __init__(self) -> None:
        self.length = 0
        self.views: list[dict[str, int]] = []
        self.accessors: list[dict[str, Json]] = []
        self._view_of: list[int] = []

    def view(self, length: int, *, target: int | None = None) -> int:
        """Reserve this many bytes; returns the number of the view."""
        aimed = {} if target is None else {"target": target}
        self.views.append({"buffer": 0, "byteOffset": self.length, "byteLength": length, **aimed})
        self.length += length
        return len(self.views) - 1

    def accessor(self, view: int, count: int, kind: str, *, component: int = FLOAT, **more: Json) -> int:
        """Define this many elements of a view; returns the number of the accessor."""
        self.accessors.append({"bufferView": view, "componentType": component, "count": count, "type": kind, **more})
        self._view_of.append(view)
        return len(self.accessors) - 1

    def array(self, count: int, kind: str, *, target: int | None = None, component: int = FLOAT, **more: Json) -> int:
        """Define a view with one accessor for all of it; returns the number of the accessor."""
        return self.accessor(self.view(WIDTH[kind] * count, target=target), count, kind, component=component, **more)

    def offset(self, accessor: int) -> int:
        """Offset of the numbers of an accessor."""
        return self.views[self._view_of[accessor]]["byteOffset"]


def write(run: Run, path: Path) -> None:
    """Write the shapes, a node for each body, and an animation over the whole run, with time from 0."""
    looks = appearance_of(run.system)
    names = ["time", "position", "orientation", "scale"]
    data = only(run.data, names)
    count = data.sizes["time"]
    time = np.asarray(data.time.values) - run.plan.t0
    layout = Layout()
    meshes = [_mesh(shape, layout) for shape in looks.shapes]
    clock = layout.array(count, "SCALAR", min=[_single(time[0])], max=[_single(time[-1])])
    present = [path for path in KINDS if path != "scale" or "scale" in data]
    views = {path: layout.view(WIDTH[KINDS[path]] * count * looks.count) for path in present}
    described = _describe(looks, layout, meshes, clock=clock, views=views, count=count)
    text = json.dumps(described, allow_nan=False).encode("ascii")
    text += b" " * (-len(text) % 4)
    if 28 + len(text) + layout.length > LARGEST:
        raise CapabilityError(
            f"{count} samples of {looks.count} bodies are more than a glTF file can hold (4 GiB)", where="export",
            do="record fewer samples (every=...), or choose gsd",
        )  # fmt: skip
    start = 12 + 8 + len(text) + 8
    with path.open("wb") as file:
        file.write(struct.pack("<4sII", b"glTF", 2, start + layout.length))
        file.write(struct.pack("<I4s", len(text), b"JSON") + text)
        file.write(struct.pack("<I4s", layout.length, b"BIN\0"))
        # zeros, not a hole: writing through a map into a hole kills the process if the disk is full; a write only fails
        for begin in range(0, layout.length, BLOCK):
            file.write(bytes(min(BLOCK, layout.length - begin)))
    for shape, mesh in zip(looks.shapes, meshes, strict=True):
        _fill_mesh(path, start, layout, shape, mesh)
    _map(path, start + layout.offset(clock), (count,))[:] = time
    room = {
        name: _map(path, start + layout.views[view]["byteOffset"], (looks.count, count, WIDTH[KINDS[name]] // 4))
        for name, view in views.items()
    }
    _fill_animation(data, room)


def _fill_animation(data: xarray.Dataset, room: Mapping[str, np.ndarray]) -> None:
    """Poses, body by body. q and -q are one rotation, but viewers interpolate: signs of neighbours must agree."""
    done, last = 0, None
    for block in blocks(data):
        position, orientation = poses(block)
        end = done + len(position)
        before = orientation[:1] if last is None else last
        turn = (np.concatenate([before, orientation[:-1]]) * orientation).sum(axis=-1)
        sign = np.cumprod(np.where(turn < 0.0, -1.0, 1.0), axis=0)[..., None]
        orientation = orientation * sign
        last = orientation[-1:]
        room["translation"][:, done:end] = position.swapaxes(0, 1)
        room["rotation"][:, done:end] = np.roll(orientation, -1, axis=-1).swapaxes(0, 1)
        if "scale" in room:
            scale = block["scale"].values.reshape(len(position), -1, 1)
            room["scale"][:, done:end] = np.broadcast_to(scale, position.shape).swapaxes(0, 1)
        done = end


def _describe(
    looks: Appearance, layout: Layout, meshes: list[Mesh], *, clock: int, views: dict[str, int], count: int
) -> dict[str, Json]:
    """The JSON part. One view holds the motion of all bodies; each body has an accessor for its part of it."""
    bodies = looks.count
    samplers: list[dict[str, Json]] = []
    channels: list[dict[str, Json]] = []
    for path, view in views.items():
        kind = KINDS[path]
        for body in range(bodies):
            output = layout.accessor(view, count, kind, byteOffset=body * count * WIDTH[kind])
            samplers.append({"input": clock, "output": output, "interpolation": "LINEAR"})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": body + 1, "path": path}})
    nodes: list[dict[str, Json]] = [
        {"name": "space", "rotation": UPRIGHT, "children": list(range(1, bodies + 1))},
    ]
    nodes += [{"name": f"body {j}", "mesh": int(shape)} for j, shape in enumerate(looks.shape_of)]
    return {
        "asset": {"version": "2.0", "generator": f"catena {__version__}"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes,
        "meshes": [{"primitives": [{**mesh._asdict(), "material": 0}]} for mesh in meshes],
        "materials": [
            {"pbrMetallicRoughness": {"baseColorFactor": COLOUR, "metallicFactor": 0.1, "roughnessFactor": 0.6}}
        ],
        "animations": [{"name": "motion", "samplers": samplers, "channels": channels}],
        "buffers": [{"byteLength": layout.length}],
        "bufferViews": layout.views,
        "accessors": layout.accessors,
    }


def _mesh(shape: Shape, layout: Layout) -> Mesh:
    """Reserve memory for a shape. Without normals, a viewer draws flat triangles."""
    low, high = ([_single(x) for x in f(shape.vertices, axis=0)] for f in (np.min, np.max))
    attributes = {"POSITION": layout.array(len(shape.vertices), "VEC3", target=VERTICES, min=low, max=high)}
    if shape.smooth:
        attributes["NORMAL"] = layout.array(len(shape.vertices), "VEC3", target=VERTICES)
    indices = layout.array(shape.faces.size, "SCALAR", component=UNSIGNED, target=INDICES)
    return Mesh(attributes, indices)


def _fill_mesh(path: Path, start: int, layout: Layout, shape: Shape, mesh: Mesh) -> None:
    places = {"POSITION": shape.vertices, "NORMAL": _normals(shape)}
    for name, accessor in mesh.attributes.items():
        _map(path, start + layout.offset(accessor), shape.vertices.shape)[:] = places[name]
    _map(path, start + layout.offset(mesh.indices), (shape.faces.size,), "<u4")[:] = shape.faces.ravel()


def _normals(shape: Shape) -> NDArray[np.float64]:
    """Unit normals at the vertices: area-weighted means over the adjacent triangles."""
    corners = shape.vertices[shape.faces]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(shape.vertices)
    for k in range(3):
        np.add.at(normals, shape.faces[:, k], face)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _map(path: Path, offset: int, shape: tuple[int, ...], kind: str = "<f4") -> np.ndarray:
    return np.memmap(path, dtype=kind, mode="r+", offset=offset, shape=shape)


def _single(x: float) -> float:
    """Numbers in single precision: bounds must hold for the stored numbers."""
    return float(np.float32(x))
