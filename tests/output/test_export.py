"""Exports, each read back by a program that is not ours."""

from __future__ import annotations

import csv
import errno
import json
import os
import struct
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.output.export import exporting, gltf, netcdf, shared, table
from catena.output.export.exporting import FORMATS
from catena.output.page import samples
from made_up import made_up, tumbling
from processes import boundaries, kill_at
from uncompiled import simulate

BODY, FRAME = 3, 50
SINGLE = 2.0**-23  # the rounding of single precision, relative


@pytest.fixture(scope="module")
def run() -> ct.Run:
    """Five tetrahedra that tumble: 61 samples."""
    return ct.simulate(ct.problems.helix_chain(5, amp=0.5), dt=0.02, steps=240, every=4)


@pytest.fixture(scope="module")
def expected(run: ct.Run) -> dict[str, np.ndarray]:
    """Body 3 at frame 50."""
    at = {name: run.data[name].values[FRAME, BODY] for name in ("position", "orientation", "momentum")}
    q = at["orientation"]
    assert np.abs(q).min() > 0.05, "every component must tell, or an exchanged order would pass"
    assert np.abs(np.diff(np.sort(np.abs(q)))).min() > 0.02
    return at


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("export")


def matrix(x: float, y: float, z: float, w: float) -> np.ndarray:
    """The rotation matrix of a quaternion, scalar last, by scipy."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat([x, y, z, w]).as_matrix()


def test_ase_reads_bodies_from_extended_xyz(run: ct.Run, expected: dict[str, np.ndarray], folder: Path) -> None:
    """Scalar last, as OVITO takes it; every digit is kept."""
    import ase.io

    path = run.export(folder / "bodies.xyz")
    frames = ase.io.read(path, index=":", format="extxyz")
    assert len(frames) == 61 and len(frames[0]) == 5
    frame = frames[FRAME]
    w, x, y, z = expected["orientation"]
    assert frame.arrays["orientation"][BODY].tolist() == [x, y, z, w]
    assert frame.positions[BODY].tolist() == expected["position"].tolist()
    assert frame.get_momenta()[BODY].tolist() == expected["momentum"].tolist()
    assert frame.info["Time"] == run.data.time.values[FRAME] and frame.info["Step"] == 200
    assert frame.info["total_energy"] == run.data.energy.values[FRAME]
    assert frame.arrays["aspherical_shape"][BODY] == pytest.approx([0.5, 0.5, 0.5])  # of the tetrahedron of particles


def test_ase_reads_particles_from_extended_xyz(run: ct.Run, expected: dict[str, np.ndarray], folder: Path) -> None:
    """Positions r + R x to the rounding of the rotation, a few units."""
    import ase.io

    path = run.export(folder / "particles.xyz", format="xyz-particles")
    frame = ase.io.read(path, index=FRAME, format="extxyz")
    w, x, y, z = expected["orientation"]
    own = run.system.bodies[BODY].particles.positions
    placed = expected["position"] + own @ matrix(x, y, z, w).T
    chosen = frame.arrays["body"] == BODY
    np.testing.assert_allclose(frame.positions[chosen], placed, rtol=0, atol=1e-14)
    assert len(frame) == 20 and set(frame.arrays["type"]) == {1}


def dump_columns(path: Path, frame: int) -> dict[str, np.ndarray]:
    """A frame of a dump by the names that its header gives to the columns."""
    text = path.read_text().split("ITEM: ATOMS ")[frame + 1]
    names, *rows = text.split("ITEM:")[0].splitlines()
    table = np.array([row.split() for row in rows], dtype=float)
    return dict(zip(names.split(), table.T, strict=True))


def test_a_lammps_dump_holds_orientations_scalar_first_and_diameters(
    run: ct.Run, expected: dict[str, np.ndarray], folder: Path
) -> None:
    """Positions and the box by ASE, which knows no orientations and takes units for granted: the rest by column names."""
    import ase.io

    path = run.export(folder / "bodies.lammpstrj")
    frame = ase.io.read(path, index=FRAME, format="lammps-dump-text")
    assert frame.positions[BODY].tolist() == expected["position"].tolist()
    assert frame.info["timestep"] == 200 and not frame.pbc.any()
    columns = dump_columns(path, FRAME)
    found = [columns[name][BODY] for name in ("quatw", "quati", "quatj", "quatk")]
    assert found == expected["orientation"].tolist()
    assert [columns[name][BODY] for name in ("vx", "vy", "vz")] == (expected["momentum"] / 4.0).tolist()
    assert [columns[name][BODY] for name in ("shapex", "shapey", "shapez")] == pytest.approx([1.0, 1.0, 1.0])


def test_a_lammps_dump_of_particles_is_read_by_ase(run: ct.Run, folder: Path) -> None:
    import ase.io

    particles = ase.io.read(run.export(folder / "b.xyz", format="xyz-particles"), index=FRAME, format="extxyz")
    path = run.export(folder / "particles.dump", format="dump-particles")
    frame = ase.io.read(path, index=FRAME, format="lammps-dump-text")
    np.testing.assert_array_equal(frame.positions, particles.positions)
    assert dump_columns(path, FRAME)["mol"].tolist() == (particles.arrays["body"] + 1).tolist()


def test_gsd_holds_orientations_scalar_first_and_shapes(
    run: ct.Run, expected: dict[str, np.ndarray], folder: Path
) -> None:
    """Single precision in the standard chunks; what is logged keeps its digits."""
    import gsd.hoomd

    with gsd.hoomd.open(str(run.export(folder / "bodies.gsd")), "r") as file:
        assert len(file) == 61
        frame = file[FRAME]
        shapes = frame.particles.type_shapes
    np.testing.assert_allclose(frame.particles.orientation[BODY], expected["orientation"], rtol=SINGLE)
    np.testing.assert_allclose(frame.particles.position[BODY], expected["position"], rtol=SINGLE)
    np.testing.assert_allclose(frame.particles.velocity[BODY], expected["momentum"] / 4.0, rtol=2 * SINGLE)
    assert frame.log["total_energy"][0] == run.data.energy.values[FRAME]
    assert frame.log["particles/momentum"][BODY].tolist() == expected["momentum"].tolist()
    assert frame.configuration.step == 200
    assert np.abs(frame.particles.position).max(axis=0).tolist() < (frame.configuration.box[:3] / 2).tolist()
    assert shapes[0]["type"] == "ConvexPolyhedron"
    found = sorted(shapes[0]["vertices"])
    np.testing.assert_allclose(found, sorted(run.system.bodies[0].particles.positions.tolist()), atol=1e-15)


# Types, and atoms that two bodies share


def groups(types: tuple[int | str, ...]) -> ct.Linkage:
    """Four atoms, two rigid groups that turn about the bond of atoms 1 and 2, whose masses they share."""
    atoms = np.array([(-0.7, 1.2, 0.0), (0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.1, -0.5, 1.0)])
    masses = np.array([15.0, 12.0, 13.0, 16.0])
    first = ct.Body.from_particles(atoms[:3], masses=masses[:3] / [1.0, 2.0, 2.0], types=types[:3])
    second = ct.Body.from_particles(atoms[1:], masses=masses[1:] / [2.0, 2.0, 1.0], types=types[1:])
    hinge = ct.Revolute(0, 1, (atoms[1] - first.center, atoms[1] - second.center), axis=(1.0, 0.0, 0.0))
    return ct.Linkage([first, second], [hinge], gravity=(0.0, 0.0, 0.0))


def turning(system: ct.Linkage, *, parts: float = 0.0) -> ct.Run:
    """The groups turn about their bond, and the whole in space; in the last of 61 samples the bond parts, if told to."""
    from scipy.spatial.transform import Rotation

    time = np.linspace(0.0, 3.0, 61)
    whole = Rotation.from_rotvec(time[:, None] * [0.3, -0.8, 0.5])
    twist = whole * Rotation.from_rotvec(time[:, None] * [1.0, 0.0, 0.0])
    bond = np.stack([np.sin(time), time, np.cos(time)], axis=1)  # where atom 1 is
    at = [np.array(point) for point in system.joints[0].at]
    position = np.stack([bond - whole.apply(at[0]), bond - twist.apply(at[1])], axis=1)
    position[-1, 1] += parts
    quaternions = np.stack([np.roll(r.as_quat(), 1, axis=1) for r in (whole, twist)], axis=1)
    still = np.zeros_like(position)
    fields = {"position": position, "orientation": quaternions, "momentum": still, "angular_momentum": still}
    return made_up(system, fields)


def test_atoms_have_their_types_and_none_is_written_twice(tmp_path: Path) -> None:
    """Read by ASE and by GSD's own reader: four atoms, elements by name, anything else by the name it was given."""
    import ase.io
    import gsd.hoomd

    run = turning(groups(("C", "O", "side chain", "C")))
    xyz = run.export(tmp_path / "a.xyz", format="xyz-particles")
    frame = ase.io.read(xyz, index=FRAME, format="extxyz")
    assert frame.get_chemical_symbols() == ["C", "O", "X", "C"]
    assert [line.split()[0] for line in xyz.read_text().splitlines()[2:6]] == ["C", "O", "side_chain", "C"]
    assert frame.arrays["type"].tolist() == [1, 2, 3, 1] and frame.arrays["body"].tolist() == [0, 0, 0, 1]
    lengths = [frame.get_distance(1, 0), frame.get_distance(1, 2), frame.get_distance(2, 3)]
    assert lengths == pytest.approx([1.93**0.5, 1.5, 1.61**0.5], abs=1e-14)

    path = run.export(tmp_path / "a.dump", format="dump-particles")
    read = ase.io.read(path, index=FRAME, format="lammps-dump-text")
    assert read.get_chemical_symbols() == ["C", "O", "X", "C"]
    np.testing.assert_array_equal(read.positions, frame.positions)
    assert "ITEM: ATOMS id mol type element x y z\n1 1 1 C " in path.read_text()

    with gsd.hoomd.open(str(run.export(tmp_path / "a.gsd", format="gsd-particles"))) as file:
        particles = file[FRAME].particles
        edges = file[FRAME].configuration.box[:3]
    assert [particles.types[k] for k in particles.typeid] == ["C", "O", "side_chain", "C"]
    assert particles.mass.tolist() == [15.0, 12.0, 13.0, 16.0] and particles.body.tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(particles.position, frame.positions, rtol=SINGLE, atol=SINGLE)
    assert (np.abs(particles.position) < edges / 2).all()


def test_particles_that_part_once_or_differ_in_type_are_atoms_of_their_own(tmp_path: Path) -> None:
    """Together in all samples but the last, or of another type in the other body: then they are not the same."""
    import ase.io

    def count(run: ct.Run) -> int:
        return len(ase.io.read(run.export(tmp_path / "a.xyz", format="xyz-particles"), index=0, format="extxyz"))

    system = groups((0, 0, 0, 0))
    assert (count(turning(system)), count(turning(system, parts=1e-3))) == (4, 6)
    other = groups((0, 0, 1, 0))
    mixed = ct.Linkage([system.bodies[0], other.bodies[1]], system.joints, gravity=(0.0, 0.0, 0.0))
    assert count(turning(mixed)) == 5


def test_types_that_nobody_gave_are_those_of_no_element(run: ct.Run, tmp_path: Path) -> None:
    """A dump then has no elements, and integers stay the names they are."""
    text = run.export(tmp_path / "a.xyz", format="xyz-particles").read_text()
    assert text.splitlines()[2].startswith("X 0 ")
    assert "ITEM: ATOMS id mol type x y z\n" in run.export(tmp_path / "a.dump", format="dump-particles").read_text()
    numbered = turning(groups((7, 2, 2, 7))).export(tmp_path / "b.xyz", format="xyz-particles").read_text()
    assert [line.split()[0] for line in numbered.splitlines()[2:6]] == ["7", "2", "2", "7"]


def test_elements_are_those_of_ase() -> None:
    from ase.data import chemical_symbols

    from catena.output.export.atoms import ELEMENTS, atomic_number

    assert ["X", *ELEMENTS] == chemical_symbols
    assert (atomic_number("C"), atomic_number("Og"), atomic_number("X"), atomic_number("c")) == (6, 118, 0, 0)


def test_bodies_are_named_by_their_shapes(tmp_path: Path) -> None:
    box, ball = ct.Body.box((1.0, 0.5, 3.0)), ct.Body.ellipsoid((1.0, 2.0, 3.0))
    joints = [ct.Spherical(0, 1, ((0, 0, 1), (0, 0, -1))), ct.Spherical(1, 2, ((0, 0, 1), (0, 0, -1)))]
    run = tumbling(ct.Linkage([box, ball, box], joints, gravity=(0.0, 0.0, 0.0)), count=3)
    text = run.export(tmp_path / "a.xyz").read_text()
    assert [line.split()[:2] for line in text.splitlines()[2:5]] == [["box0", "0"], ["ellipsoid1", "0"], ["box0", "0"]]


def test_a_body_that_grows_is_written_as_large_as_it_is(tmp_path: Path) -> None:
    """r + s R x for its particles; semi-axes, diameters and the shapes of GSD grow with s, too."""
    import ase.io
    import gsd.hoomd
    from scipy.spatial.transform import Rotation

    system = ct.ScalingBody(ct.Body.tetrahedron())
    data = tumbling(system, count=61).data
    run = made_up(system, {f.name: data[f.name].values for f in system.fields} | {"scale": np.full(61, 2.5)})
    frame = ase.io.read(run.export(tmp_path / "a.xyz", format="xyz-particles"), index=FRAME, format="extxyz")
    q = np.roll(run.data.orientation.values[FRAME], -1)
    own = np.array(system.body.particles.positions)
    placed = run.data.position.values[FRAME] + 2.5 * Rotation.from_quat(q).apply(own)
    np.testing.assert_allclose(frame.positions, placed, atol=1e-14)
    whole = ase.io.read(run.export(tmp_path / "b.xyz"), index=FRAME, format="extxyz")
    assert whole.arrays["aspherical_shape"][0] == pytest.approx([1.25, 1.25, 1.25])
    assert dump_columns(run.export(tmp_path / "b.dump"), FRAME)["shapex"] == pytest.approx([2.5])
    with gsd.hoomd.open(str(run.export(tmp_path / "b.gsd"))) as file:
        shape = file[FRAME].particles.type_shapes[0]
        edges = file[FRAME].configuration.box[:3]
    np.testing.assert_allclose(sorted(shape["vertices"]), sorted((2.5 * own).tolist()), atol=1e-15)
    assert (np.abs(placed).max(axis=0) < edges / 2).all()


class Animated:
    """A glTF file as pygltflib reads it."""

    def __init__(self, path: Path) -> None:
        import pygltflib

        self.file: Any = pygltflib.GLTF2().load(str(path))
        self.blob = self.file.binary_blob()

    def array(self, number: int) -> np.ndarray:
        accessor = self.file.accessors[number]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor.type]
        start = self.file.bufferViews[accessor.bufferView].byteOffset + (accessor.byteOffset or 0)
        kind = {5126: "<f4", 5125: "<u4"}[accessor.componentType]
        return np.frombuffer(self.blob, kind, accessor.count * width, start).reshape(accessor.count, width)

    def channel(self, body: int, path: str) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of a channel."""
        animation = self.file.animations[0]
        node = next(i for i, node in enumerate(self.file.nodes) if node.name == f"body {body}")
        chosen = next(c for c in animation.channels if (c.target.node, c.target.path) == (node, path))
        sampler = animation.samplers[chosen.sampler]
        assert sampler.interpolation == "LINEAR"
        return self.array(sampler.input)[:, 0], self.array(sampler.output)


def test_gltf_turns_bodies_scalar_last_with_signs_made_continuous(
    run: ct.Run, expected: dict[str, np.ndarray], folder: Path
) -> None:
    """The rotation of body 3 equals ours, whatever its sign; from sample to sample no sign jumps."""
    scene = Animated(run.export(folder / "scene.glb"))
    times, turns = scene.channel(BODY, "rotation")
    _, places = scene.channel(BODY, "translation")
    w, x, y, z = expected["orientation"]
    np.testing.assert_allclose(matrix(*turns[FRAME].astype(float)), matrix(x, y, z, w), atol=4 * SINGLE)
    np.testing.assert_allclose(places[FRAME], expected["position"], rtol=SINGLE)
    np.testing.assert_allclose(times, run.data.time.values, rtol=SINGLE)
    for body in range(5):
        turns = scene.channel(body, "rotation")[1]
        assert ((turns[1:] * turns[:-1]).sum(axis=1) > 0.0).all()


def test_gltf_makes_signs_continuous_across_blocks(run: ct.Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored orientations whose signs jump, in blocks of one sample; without the cure they stay jumpy."""
    data = run.data.copy(deep=True)
    data["orientation"][::2] *= -1.0
    rough = data.orientation.values[:, BODY]
    assert (rough[1:] * rough[:-1]).sum(axis=1).max() < 0.0
    monkeypatch.setattr(samples, "BLOCK_BYTES", 1)
    room = {"translation": np.zeros((5, 61, 3)), "rotation": np.zeros((5, 61, 4))}
    gltf._fill_animation(data, room)
    smooth = room["rotation"][BODY]
    assert (smooth[1:] * smooth[:-1]).sum(axis=1).min() > 0.0
    np.testing.assert_array_equal(np.abs(smooth), np.abs(np.roll(rough, -1, axis=1)))


def test_gltf_is_well_formed(run: ct.Run, folder: Path) -> None:
    """Lengths, alignment, and the bounds that the format demands: of vertices and of times."""
    path = run.export(folder / "form.glb")
    data = path.read_bytes()
    magic, version, length = struct.unpack("<4sII", data[:12])
    assert (magic, version, length) == (b"glTF", 2, len(data))
    scene = Animated(path)
    for number, accessor in enumerate(scene.file.accessors):
        view = scene.file.bufferViews[accessor.bufferView]
        assert (view.byteOffset + (accessor.byteOffset or 0)) % 4 == 0
        if accessor.min:
            assert scene.array(number).min(axis=0).tolist() == accessor.min
            assert scene.array(number).max(axis=0).tolist() == accessor.max
    mesh = scene.file.meshes[0].primitives[0]
    vertices, faces = scene.array(mesh.attributes.POSITION), scene.array(mesh.indices).reshape(-1, 3)
    corners = vertices[faces].astype(float)
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    assert volume == pytest.approx(1.0 / 6.0, rel=1e-6)  # base 1/2, height 1; positive: triangles face outwards


def test_gltf_takes_its_room_before_it_is_filled(run: ct.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with holes, mapped into memory, would kill the process where the disk is full."""
    from catena.output.export import gltf

    mapped, taken = gltf._map, []

    def watched(path: Path, *arguments: Any) -> Any:
        taken.append(path.stat().st_blocks * 512 >= path.stat().st_size)
        return mapped(path, *arguments)

    monkeypatch.setattr(gltf, "_map", watched)
    run.export(tmp_path / "motion.glb")
    assert taken and all(taken)


def test_a_gltf_viewer_sees_z_upwards(run: ct.Run, folder: Path) -> None:
    """glTF has y up: the root turns z into y."""
    root = Animated(run.export(folder / "up.glb")).file.nodes[0]
    np.testing.assert_allclose(matrix(*root.rotation) @ [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], atol=1e-15)
    assert len(root.children) == 5


def test_netcdf_is_read_by_scipy_and_xarray_to_the_last_digit(run: ct.Run, folder: Path) -> None:
    import xarray
    from scipy.io import netcdf_file

    path = run.export(folder / "run.nc")
    with netcdf_file(path, mmap=False) as file:
        assert file.variables["orientation"].data.astype(float).tolist() == run.data.orientation.values.tolist()
        assert file.variables["position"].dimensions == ("time", "body", "xyz")
        assert json.loads(file.case)["system"]["kind"] == "Chain"
    with xarray.open_dataset(path, engine="scipy") as read:
        assert set(read.variables) == set(run.data.variables)
        for name in run.data.variables:
            assert read[name].dims == run.data[name].dims
            np.testing.assert_array_equal(read[name].values, run.data[name].values)
        assert read.energy.attrs["long_name"] == run.data.energy.attrs["long_name"]
        assert read.attrs["quaternion_order"] == "wxyz"


def read_csv(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        heads, *rows = csv.reader(file)
    return dict(zip(heads, np.array(rows, dtype=float).T, strict=True))


def test_csv_holds_the_scalars_to_the_last_digit(run: ct.Run, folder: Path) -> None:
    table = read_csv(run.export(folder / "scalars.csv"))
    assert list(table) == ["time", "energy", "unit_residual", "tangency_residual"]
    for name, values in table.items():
        assert values.tolist() == run.data[name].values.tolist()


def test_csv_names_coordinates_as_the_system_does(folder: Path) -> None:
    run = tumbling(ct.problems.kepler().system)
    table = read_csv(run.export(folder / "orbit.csv"))
    assert list(table)[:5] == ["time", "q1", "q2", "p1", "p2"]
    assert table["p2"].tolist() == run.data.p.values[:, 1].tolist()


def test_a_single_body_turns_about_the_origin(folder: Path) -> None:
    import ase.io

    run = tumbling(ct.problems.book().system, count=61)
    frame = ase.io.read(run.export(folder / "book.xyz"), index=FRAME, format="extxyz")
    assert frame.positions.tolist() == [[0.0, 0.0, 0.0]]
    w, x, y, z = run.data.orientation.values[FRAME]
    assert frame.arrays["orientation"].tolist() == [[x, y, z, w]]


@pytest.mark.parametrize("format", FORMATS)
def test_samples_pass_through_in_blocks(
    format: str, run: ct.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of one sample, of which no more than two are ever kept, and the file is the same as from one block."""
    run.export(tmp_path / "at once", format=format)
    alive: set[int] = set()
    most = 0

    def watched(data: Any, **options: Any) -> Iterator[Any]:
        nonlocal most
        for number, block in enumerate(samples.blocks(data, **options)):
            copied = block.copy(deep=True)
            array = copied["time"].values  # views of it keep it alive
            alive.add(number)
            weakref.finalize(array, alive.discard, number)
            most = max(most, len(alive))
            del array
            yield copied

    monkeypatch.setattr(samples, "BLOCK_BYTES", 1)
    for writer in (shared, gltf, netcdf, table):
        monkeypatch.setattr(writer, "blocks", watched)
    run.export(tmp_path / "in blocks", format=format)
    assert 1 <= most <= 2
    if format == "gsd":  # it stores where its own buffers ended
        import gsd.hoomd

        with gsd.hoomd.open(str(tmp_path / "at once")) as a, gsd.hoomd.open(str(tmp_path / "in blocks")) as b:
            for first, second in zip(a, b, strict=True):
                np.testing.assert_array_equal(first.particles.orientation, second.particles.orientation)
    else:
        assert (tmp_path / "at once").read_bytes() == (tmp_path / "in blocks").read_bytes()


@pytest.mark.slow
def test_memory_stays_flat(tmp_path: Path) -> None:
    """Of 24001 samples in a store, 13 MB, no format that maps or streams numbers needs half; one copy would need all."""
    ct.simulate(ct.problems.helix_chain(5), dt=0.02, steps=24_000, out=tmp_path / "run.zarr")
    for format in ("netcdf", "gltf"):
        run = ct.open(tmp_path / "run.zarr")
        whole = sum(run.data[name].nbytes for name in run.data.variables)
        run.export(tmp_path / "file", format=format)  # what is imported on the way is not of this run
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(samples, "BLOCK_BYTES", 2**16)
            assert traced(lambda: run.export(tmp_path / "file", format=format)) < whole / 2  # noqa: B023
        assert traced(lambda: run.export(tmp_path / "file", format=format)) > whole / 2  # noqa: B023


def traced(action: Any) -> int:
    """The most memory that an action uses at a time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_of_a_killed_run_what_was_recorded_is_exported_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ase.io

    monkeypatch.setenv("CATENA_ROWS_PER_COMMIT", "10")

    def simulate(name: str) -> None:
        ct.simulate(ct.problems.helix_chain(5), dt=0.02, steps=100, out=tmp_path / name)

    passed = boundaries(lambda: simulate("whole.zarr"))
    kill_at(len(passed) // 2, lambda: simulate("killed.zarr"))
    run = ct.open(tmp_path / "killed.zarr")
    recorded = run.data.sizes["time"]
    assert 10 <= recorded < 101
    frames = ase.io.read(run.export(tmp_path / "killed.xyz"), index=":", format="extxyz")
    assert len(frames) == recorded
    assert frames[-1].positions.tolist() == run.data.position.values[-1].tolist()
    for suffix in ("dump", "gsd", "glb", "nc", "csv"):
        assert run.export(tmp_path / f"killed.{suffix}").stat().st_size > 0
    page = run.view(tmp_path / "killed.html")
    assert f"{run.steps} steps" in page.html and f"<dd>{recorded}, every step</dd>" in page.html


def test_a_failed_export_leaves_the_old_file_and_nothing_else(
    run: ct.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from catena.output.export import xyz

    def two_frames(given: ct.Run) -> Iterator[Any]:
        from catena.output.export.shared import frames

        yield next(frames(given))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "motion.xyz"
    target.write_text("old")
    monkeypatch.setattr(xyz, "frames", two_frames)
    with pytest.raises(ct.InputError, match=r"the disk is full\n.*motion.xyz\n.*free some space"):
        run.export(target)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("motion.xyz", "old")]


def test_a_file_has_the_permissions_of_any_new_file(run: ct.Run, tmp_path: Path) -> None:
    run.export(tmp_path / "a.csv")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a.csv").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_an_unknown_suffix_lists_the_known_ones(run: ct.Run, tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match=r"suffix '.gsdd' \(did you mean .gsd\?\)[\s\S]*\.xyz[\s\S]*netcdf"):
        run.export(tmp_path / "file.gsdd")
    with pytest.raises(ct.InputError, match=r"no format 'gdf'"):
        run.export(tmp_path / "file.xyz", format="gdf")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_does_not_exist_is_named(run: ct.Run, tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match="No such file or directory"):
        run.export(tmp_path / "missing" / "file.csv")
    with pytest.raises(ct.InputError, match="is a directory"):
        run.export(tmp_path, format="csv")


def test_a_system_without_bodies_or_particles_is_refused(tmp_path: Path) -> None:
    orbit = tumbling(ct.problems.kepler().system)
    for suffix in ("xyz", "dump", "gsd", "glb"):
        with pytest.raises(ct.CapabilityError, match=r"has no bodies[\s\S]*netcdf or csv"):
            orbit.export(tmp_path / f"orbit.{suffix}")
    book = tumbling(ct.problems.book().system)
    with pytest.raises(ct.CapabilityError, match=r"have no particles[\s\S]*choose xyz"):
        book.export(tmp_path / "book.xyz", format="xyz-particles")
    with pytest.raises(ct.CapabilityError, match=r"have no particles[\s\S]*choose xyz"):
        book.export(tmp_path / "book.pdb")


def test_a_missing_package_names_the_extra(run: ct.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(exporting, "import_module", absent)
    with pytest.raises(ct.CapabilityError, match=r"package gsd, which is not installed[\s\S]*catena\[export\]"):
        run.export(tmp_path / "file.gsd")


@pytest.mark.parametrize(("length", "why"), [(1e-10, "all atoms are within 3"), (1e4, "an atom is")])
def test_places_for_which_pdb_has_no_digits_are_refused(length: float, why: str, tmp_path: Path) -> None:
    """In metres all atoms of a molecule would be written at the origin."""
    body = ct.Body.from_particles(length * np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    chain = ct.Chain([body] * 3, ct.BendTwist(1.0, length**2, length**2, (length, 0, 0)))
    run = simulate(chain, chain.straight(length), ct.Splitting(2), dt=0.1, steps=1)
    with pytest.raises(ct.InputError, match=why):
        run.export(tmp_path / "far.pdb")
    assert not list(tmp_path.iterdir())
