"""Rigid bodies: mass properties of every shape, kinds, frames, descriptions and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena.errors import CatenaWarning, InputError
from catena.geometry import rotations
from catena.systems.body import Body

EPS = sys.float_info.epsilon

CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
FACES = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip
TRIANGLE_PYRAMID = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]


def every_body() -> dict[str, Body]:
    rng = np.random.default_rng(1)
    turn = rotations.to_matrix([0.3, -0.5, 0.7, 0.2])
    tensor = turn @ np.diag([1.0, 2.0, 2.5]) @ turn.T
    return {
        "moments": Body(2.5, (1, 2, 2.5)),
        "particles": Body.from_particles(rng.normal(size=(7, 3)), rng.uniform(1, 2, 7), [0, 1, 0, "C", "O", 1, 2]),
        "inertia": Body.from_inertia(3.0, 0.5 * (tensor + tensor.T)),
        "mesh": Body.from_mesh(CORNERS @ turn.T * [1.0, 2.0, 3.0] + 5.0, FACES, 0.7),
        "box": Body.box((0.1, 0.2, 0.3), 1.7),
        "ellipsoid": Body.ellipsoid((0.1, 0.2, 0.3), 1.7),
        "disc": Body.disc(0.3, 0.1, 1.7),
        "rod": Body.rod(1.3, 0.7),
        "tetrahedron of particles": Body.tetrahedron(),
        "tetrahedron": Body.tetrahedron(rng.normal(size=(4, 3)), 0.7),
        "line": Body.from_particles(np.outer([-1.16, 0.0, 1.16], [0.6, 0.48, 0.64]), [16, 12, 16], ["O", "C", "O"]),
        "point": Body.from_particles([[0.1, 0.2, 0.3]], 2.0),
    }


BODIES = every_body()
each_body = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())


def close(got, expected, units=4):
    np.testing.assert_allclose(got, expected, rtol=units * EPS, atol=0)


# Shapes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "mass", "second_moments", "kind"),
    [
        (Body.box((1, 2, 3), 12), 12, (1, 4, 9), "solid"),
        (Body.box((1, 0, 3), 12), 12, (1, 0, 9), "planar"),
        (Body.ellipsoid((1, 2, 3), 5), 5, (1, 4, 9), "solid"),
        (Body.ellipsoid((0.7, 0.7, 0.7), 2), 2, (0.196, 0.196, 0.196), "solid"),
        (Body.disc(2, 6, 3), 3, (3, 3, 9), "solid"),
        (Body.disc(2), 1, (1, 1, 0), "planar"),
        (Body.rod(6, 2), 2, (0, 0, 6), "linear"),
        (Body.box((0, 0, 0), 2), 2, (0, 0, 0), "point"),
        (Body(2, (5, 4, 3)), 2, (1, 2, 3), "solid"),
        (Body(1, (1, 2, 3)), 1, (2, 1, 0), "planar"),
        (Body(1, (0, 2, 2)), 1, (2, 0, 0), "linear"),
        (Body(1, (0, 0, 0)), 1, (0, 0, 0), "point"),
        (Body.tetrahedron(), 4, (1 / 2, 2 / 3, 3 / 4), "solid"),
        (Body.from_particles([[3, 1, 1], [5, 1, 1]], [1, 1]), 2, (2, 0, 0), "linear"),
    ],
)
def test_shapes_have_their_closed_form_moments(body, mass, second_moments, kind):
    """I1 = d2 + d3 (cyclic), exactly rounded but for a few operations; all of them have the axes as principal axes."""
    d = np.array(second_moments, dtype=float)
    assert body.mass == mass
    assert body.kind == kind
    close(body.second_moments, d)
    close(body.moments, d.sum() - d)
    np.testing.assert_array_equal(body.tensor, np.diag(body.moments))
    np.testing.assert_array_equal(body.frame, [1, 0, 0, 0])


def test_the_tetrahedron_of_particles_is_centred_and_principal_to_the_bit():
    body = Body.tetrahedron()
    np.testing.assert_array_equal(body.center, np.zeros(3))
    close(body.moments, [17 / 12, 5 / 4, 7 / 6], units=1)
    np.testing.assert_array_equal(body.particles.positions[3], [0, 0, 0.75])
    assert body.particles.types == (0, 0, 0, 0)


def test_a_solid_tetrahedron_is_the_mesh_of_its_faces():
    """Two routes: vertices of mass m/20, and signed tetrahedra of a closed surface. Also the corner of the unit cube."""
    corner = Body.tetrahedron([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], mass=1 / 6)
    close(corner.center, [0.25, 0.25, 0.25])
    close(corner.tensor, [[1 / 80 * 1, 1 / 480, 1 / 480], [1 / 480, 1 / 80, 1 / 480], [1 / 480, 1 / 480, 1 / 80]])
    rng = np.random.default_rng(2)
    for _ in range(10):
        vertices = rng.normal(size=(4, 3))
        if np.linalg.det(vertices[1:] - vertices[0]) < 0:
            vertices = vertices[[0, 2, 1, 3]]
        mesh = Body.from_mesh(vertices, TRIANGLE_PYRAMID, density=2.0)
        solid = Body.tetrahedron(vertices, mesh.mass)
        close(mesh.mass, 2.0 * np.linalg.det(vertices[1:] - vertices[0]) / 6, units=400)  # det cancels
        np.testing.assert_allclose(mesh.center, solid.center, rtol=0, atol=1e-14)
        np.testing.assert_allclose(mesh.tensor, solid.tensor, rtol=0, atol=1e-14 * solid.tensor.max())
        np.testing.assert_allclose(mesh.moments, solid.moments, rtol=0, atol=1e-14 * solid.moments.max())


def test_the_mesh_of_a_box_is_the_box():
    turn = rotations.to_matrix([0.3, -0.5, 0.7, 0.2])
    box = Body.box((1, 2, 3), mass=6 * 1.7)
    straight = Body.from_mesh(CORNERS * [1, 2, 3], FACES, density=1.7)
    np.testing.assert_allclose(straight.moments, box.moments, rtol=8 * EPS)
    np.testing.assert_allclose(straight.center, [0.5, 1, 1.5], rtol=2 * EPS)
    np.testing.assert_array_equal(straight.frame, [1, 0, 0, 0])
    turned = Body.from_mesh((CORNERS * [1, 2, 3]) @ turn.T + [10, 20, 30], FACES, density=1.7)
    np.testing.assert_allclose(turned.moments, np.sort(box.moments), rtol=200 * EPS)  # coordinates up to 30: 30 eps


@pytest.mark.parametrize("thickness", [1e-2, 1e-4, 1e-6])
def test_a_turned_thin_mesh_keeps_its_thickness(thickness):
    """Rounding the coordinates, of size 1, changes a thickness t by 4 eps/t of itself; d3 = m t^2/12."""
    turn = rotations.to_matrix([0.3, -0.5, 0.7, 0.2])
    body = Body.from_mesh(((CORNERS - 0.5) * [1, 2, thickness]) @ turn.T, FACES)
    assert body.kind == "solid"
    assert body.second_moments[2] == pytest.approx(body.mass * thickness**2 / 12, rel=30 * EPS / thickness)


# Frames ---------------------------------------------------------------------------------------------


@each_body
def test_the_frame_turns_the_principal_tensor_into_the_given_axes(body):
    """Theta = F diag(I) F^T to a few units of rounding, with a proper rotation of unit quaternion."""
    f = body.frame_matrix
    assert np.linalg.norm(body.frame) == pytest.approx(1.0, abs=2 * EPS)
    np.testing.assert_allclose(f @ f.T, np.eye(3), rtol=0, atol=6 * EPS)
    np.testing.assert_allclose(
        f @ np.diag(body.moments) @ f.T, body.tensor, rtol=0, atol=12 * EPS * body.moments.max()
    )  # fmt: skip


def test_random_bodies_of_particles_come_back_from_their_frame():
    """Particles of the principal frame have S = diag(d), and turn back into the given ones."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(4, 9))
        x, m = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-3, 3, size=3), rng.uniform(0.1, 10, size=n)
        body = Body.from_particles(x, m)
        p = body.principal_particles.positions
        size = body.second_moments.max()
        np.testing.assert_allclose((p.T * m) @ p, np.diag(body.second_moments), rtol=0, atol=40 * EPS * size)
        np.testing.assert_allclose(p @ body.frame_matrix.T + body.center, x, rtol=0, atol=20 * EPS * np.abs(x).max())
        f = body.frame_matrix
        np.testing.assert_allclose(f @ np.diag(body.moments) @ f.T, body.tensor, rtol=0, atol=20 * EPS * size)


def test_a_body_far_away_is_the_same_body():
    """Shifted by 2^27, about 1e8, where coordinates that are multiples of 2^-20 stay exact."""
    rng = np.random.default_rng(4)
    x, m = np.round(rng.normal(size=(6, 3)) * 2**20) / 2**20, rng.integers(1, 5, size=6).astype(float)
    near, far = Body.from_particles(x, m), Body.from_particles(x + 2.0**27, m)
    np.testing.assert_allclose(far.moments, near.moments, rtol=8 * EPS)
    np.testing.assert_allclose(far.particles.positions, near.particles.positions, rtol=0, atol=8 * EPS)
    np.testing.assert_allclose(far.center - 2.0**27, near.center, rtol=0, atol=2.0**-25)


# Kinds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-100, 1e-12, 1.0, 1e12, 1e100])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("kind", "flatten"),
    [
        ("solid", (1, 1, 1)),
        ("solid", (1, 1, 1e-10)),
        ("planar", (1, 1, 0)),
        ("linear", (1, 0, 0)),
        ("point", (0, 0, 0)),
    ],
)
def test_the_kind_does_not_depend_on_size_or_direction(kind, flatten, turned, size):
    """No absolute threshold: the same particles in any unit of length, along the axes or turned."""
    x = np.array([[1.0, 0.2, -0.4], [-0.6, 0.9, 0.3], [0.1, -1.0, 0.8], [0.7, 0.5, -0.9], [-0.8, -0.3, 0.6]]) * flatten
    turn = rotations.to_matrix([0.9, 0.1, -0.3, 0.5]) if turned else np.eye(3)
    body = Body.from_particles(size * (x @ turn.T))
    assert body.kind == kind
    reference = Body.from_particles(x)
    np.testing.assert_allclose(
        np.sort(body.moments / size / size), np.sort(reference.moments), rtol=0, atol=50 * EPS * reference.moments.max()
    )


def test_turned_lines_and_planes_are_recognised():
    """200 directions each, shifted: no turned line has a spurious moment about itself."""
    rng = np.random.default_rng(5)
    line, plane = np.diag([1.0, 0, 0]), np.diag([1.0, 1.0, 0])
    x = rng.normal(size=(5, 3))
    for q in rng.normal(size=(200, 4)):
        turn, shift = rotations.to_matrix(q), rng.normal(size=3)
        thread = Body.from_particles(x @ line @ turn.T + shift)
        assert thread.kind == "linear"
        assert thread.moments[0] == 0.0 and thread.moments[1] == thread.moments[2]
        assert (thread.principal_particles.positions[:, 1:] == 0.0).all()
        assert Body.from_particles(x @ plane @ turn.T + shift).kind == "planar"


def test_a_right_angle_from_the_cosine_is_a_right_angle():
    """cos(pi/2) = 6e-17 in double precision; such a molecule along y is a line, not a plane with the moment 7e-33."""
    c, s = math.cos(math.pi / 2), math.sin(math.pi / 2)
    body = Body.from_particles([[-c, -s, 0.0], [0.0, 0.0, 0.0], [c, s, 0.0]])
    assert body.kind == "linear"
    np.testing.assert_array_equal(body.moments, [2, 0, 2])
    r = rotations.to_matrix([math.cos(math.pi / 4), math.sin(math.pi / 4), 0, 0])
    assert Body.from_inertia(1.0, r @ np.diag([1.0, 1.0, 0.0]) @ r.T).kind == "linear"


def test_a_thin_box_and_a_slender_needle_are_solid_however_thin():
    assert Body.box((1, 1, 1e-30)).kind == "solid"
    assert Body(1, (1, 1, 1e-30)).kind == "solid"
    flat = Body.from_particles([[1, 0, 1e-30], [-1, 0, 1e-30], [0, 1, -1e-30], [0, -1, -1e-30]])
    assert flat.kind == "solid"
    assert flat.second_moments[2] == pytest.approx(4e-60, rel=4 * EPS)


def test_inverse_and_rotor_moments_of_degenerate_bodies():
    rod, point, solid = Body.rod(6, 2), Body(1, (0, 0, 0)), Body(1, (2, 4, 5))
    np.testing.assert_array_equal(rod.inverse_moments, [1 / 6, 1 / 6, 0])
    np.testing.assert_array_equal(rod.rotor_moments, [6, 6, 6])
    np.testing.assert_array_equal(point.inverse_moments, [0, 0, 0])
    np.testing.assert_array_equal(solid.inverse_moments, [0.5, 0.25, 0.2])
    np.testing.assert_array_equal(solid.rotor_moments, solid.moments)


# Description ----------------------------------------------------------------------------------------


@each_body
def test_a_description_rebuilds_the_body_bit_for_bit(body):
    text = json.dumps(body.describe(), allow_nan=False)
    again = Body.from_description(json.loads(text))
    assert again == body
    assert hash(again) == hash(body)
    assert again.kind == body.kind and again.mass == body.mass and again.particles.types == body.particles.types
    for name in ("center", "tensor", "moments", "second_moments", "frame"):
        assert getattr(again, name).tobytes() == getattr(body, name).tobytes(), name
    assert again.principal_particles.positions.tobytes() == body.principal_particles.positions.tobytes()
    copy = pickle.loads(pickle.dumps(body))
    assert copy == body and copy.moments.tobytes() == body.moments.tobytes()


def test_bodies_with_other_numbers_are_other_bodies():
    assert Body.box((1, 2, 3)) != Body.box((1, 2, math.nextafter(3, 4)))
    assert Body(1, (1, 1, 1)) != "body"


@each_body
def test_a_body_cannot_be_changed(body):
    with pytest.raises(dataclasses.FrozenInstanceError):
        body.mass = 2.0
    with pytest.raises(ValueError, match="read-only"):
        body.moments[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        body.frame_matrix[0, 0] = 2.0
    description = body.describe()
    description.clear()
    assert body.describe()
    assert "\n" not in repr(body) and repr(body).startswith("<Body ") and body.kind in repr(body)


def test_given_arrays_are_copied():
    x, m = np.array([[0.0, 0, 0], [1, 0, 0]]), np.ones(2)
    body = Body.from_particles(x, m)
    x[:], m[:] = 7.0, 7.0
    np.testing.assert_array_equal(body.particles.masses, [1, 1])
    assert body.describe()["positions"] == [[0, 0, 0], [1, 0, 0]]


def test_an_inward_mesh_is_turned_with_a_warning_once():
    """The description holds the turned triangles, so rebuilding is silent and gives the same body."""
    inward = [face[::-1] for face in FACES]
    with pytest.warns(CatenaWarning, match="clockwise seen from outside"):
        body = Body.from_mesh(CORNERS, inward)
    assert body.mass == pytest.approx(1.0, rel=4 * EPS)
    assert Body.from_description(body.describe()) == body


# Properties -----------------------------------------------------------------------------------------

coordinates = st.lists(
    st.tuples(*[st.floats(-10, 10, allow_subnormal=False).map(lambda x: round(x, 6))] * 3), min_size=1, max_size=6
)  # fmt: skip


@settings(max_examples=60)
@given(coordinates, st.floats(0.1, 10))
def test_any_particles_make_a_body_that_obeys_the_triangle_inequality(positions, mass):
    body = Body.from_particles(positions, mass)
    i, d = body.moments, body.second_moments
    assert (d >= 0).all() and (i >= 0).all()
    assert (2 * i <= i.sum() * (1 + 2 * EPS)).all()
    assert ["point", "linear", "planar", "solid"].index(body.kind) == np.count_nonzero(d)
    assert np.count_nonzero(d) <= len(positions) - 1
    assert (body.kind in ("linear", "point")) == (i == 0).any()
    assert Body.from_inertia(body.mass, body.tensor).moments.sum() == pytest.approx(i.sum(), rel=1e-13)


@settings(max_examples=60)
@given(
    st.tuples(*[st.floats(1e-6, 1e6)] * 3),
    st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: any(abs(x) > 0.1 for x in q)),
)
def test_turning_a_tensor_keeps_its_moments(d, q):
    """Eigenvalues move by the rounding of the turned tensor: 20 eps of the largest moment."""
    turn = rotations.to_matrix(q)
    second = np.array(d)
    tensor = turn @ np.diag(second.sum() - second) @ turn.T
    body = Body.from_inertia(1.0, 0.5 * (tensor + tensor.T))
    np.testing.assert_allclose(
        np.sort(body.moments), np.sort(second.sum() - second), rtol=0, atol=20 * EPS * second.sum()
    )


# What is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Body(1, (1, 1, 3)), r"I3 = 3 is larger than I1 \+ I2 = 2\n  at Body.moments, axis 3\n  do: make I3"),
        (lambda: Body(1, (5, 1, 3)), r"I1 = 5 is larger than I2 \+ I3 = 4(.|\n)*axis 1"),
        (lambda: Body(1, (0, 1, 2)), r"I3 = 2 is larger"),
        (lambda: Body(1, (1, 1, -1e-17)), "negative element(.|\n)*Body.moments"),
        (lambda: Body(0.0, (1, 1, 1)), r"0.0 is not positive\n  at Body.mass"),
        (lambda: Body(math.inf, (1, 1, 1)), r"inf is not finite\n  at Body.mass"),
        (lambda: Body(1, (1, 2)), r"has shape \(2,\)\n  at Body.moments\n  do: give 3 finite numbers"),
        (lambda: Body(1, "abc"), r"not an array of numbers: it has texts\n  at Body.moments"),
        (lambda: Body.from_inertia(1, np.diag([1, 1, 3])), "I3 = 3 is larger"),
        (lambda: Body.from_inertia(1, [[3, 1, 0], [1, 3, 0], [0, 0, 0.5]]), r"larger than(.|\n)*principal axis \(0.70710"),
        (lambda: Body.from_inertia(1, [[2, 1, 0], [0.5, 2, 0], [0, 0, 2]]), r"element 12 is 1, element 21 is 0.5"),
        (lambda: Body.from_inertia(1, [[2, 1, 0], [1, -2, 0], [0, 0, 2]]), "diagonal"),
        (lambda: Body.from_particles([]), r"has shape \(0,\)\n  at Body.from_particles.positions\n  do: give n x 3"),
        (lambda: Body.from_particles([[1, 2]]), "n x 3 finite numbers"),
        (lambda: Body.from_particles([[0, 0, 0], [0, math.nan, 0]]), r"element \[1, 1\] of positions is not finite: nan"),
        (lambda: Body.from_particles(np.eye(3), [1, 0, 1]), "particle 1 has mass 0"),
        (lambda: Body.from_particles(np.eye(3), [1, 1]), r"has shape \(2,\)(.|\n)*masses\n  do: give 3 finite numbers"),
        (lambda: Body.from_particles(np.eye(3), -1), "particle 0 has mass -1"),
        (lambda: Body.from_particles(np.eye(3), 1, ["C", "O"]), "for 3 particles(.|\n)*types"),
        (lambda: Body.from_particles(np.eye(3), 1, "COC"), "give 3 integers or names"),
        (lambda: Body.from_particles(np.eye(3), 1, [1, 2, 0.5]), "give 3 integers or names"),
        (lambda: Body.from_particles([[0, 0, 0], [1e-170, 0, 0]]), "cannot be represented(.|\n)*choose other units"),
        (lambda: Body.from_particles(1e200 * np.eye(3)), "cannot be represented"),
        (lambda: Body.rod(1e-170), "cannot be represented"),
        (lambda: Body.box((1e200, 1, 1)), "cannot be represented"),
        (lambda: Body.box((1, -2, 3)), r"negative element\n  at Body.box.size"),
        (lambda: Body.disc(-1), "negative(.|\n)*Body.disc.radius"),
        (lambda: Body.rod(1, 0), r"not positive\n  at Body.rod.mass"),
        (lambda: Body.tetrahedron(mass=2.0), "without vertices"),
        (lambda: Body.tetrahedron(np.eye(3)), r"has shape \(3, 3\)(.|\n)*4 x 3"),
        (lambda: Body.from_mesh(CORNERS, FACES[1:]), r"edge from vertex \d to vertex \d belongs to one triangle only"),
        (lambda: Body.from_mesh(CORNERS, [[0, 1, 8]]), "from 0 to 8(.|\n)*integers from 0 to 7"),
        (lambda: Body.from_mesh(CORNERS, [[0, 1, 2.5]]), "integers from 0 to 7"),
        (lambda: Body.from_mesh(CORNERS, [[0, 1, 3], [0, 3, 1]]), "encloses no volume"),
        (lambda: Body.from_mesh(CORNERS, FACES, 0), r"not positive\n  at Body.from_mesh.density"),
        (lambda: Body.from_description({"shape": "boxx"}), r"no shape 'boxx' \(did you mean box\?\)"),
        (lambda: Body.from_description({"shape": "box", "sizes": [1, 1, 1]}), r"no 'sizes' \(did you mean size\?\)"),
        (lambda: Body.from_description({"shape": "box"}), "needs size"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_with_value_place_and_remedy(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) <= 4
    assert caught.value.where and caught.value.do
