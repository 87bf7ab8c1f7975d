"""Second moments and principal axes against exact rational arithmetic and 50-digit eigenvalues."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from catena.errors import InputError
from catena.geometry import inertia, rotations

EPS = sys.float_info.epsilon

BOX_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
BOX_FACES = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
])  # fmt: skip


def rational(values) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in row] for row in values]


def exact_second_moment(points, weights):
    """Mass, centre and S about the centre, in rational arithmetic on the given doubles."""
    x, w = rational(points), [Fraction(float(v)) for v in weights]
    mass = sum(w)
    center = [sum(v * p[k] for v, p in zip(w, x, strict=True)) / mass for k in range(3)]
    s = [[sum(v * (p[i] - center[i]) * (p[j] - center[j]) for v, p in zip(w, x, strict=True)) for j in range(3)] for i in range(3)]  # fmt: skip
    return mass, center, s


def exact_mesh_moments(vertices, faces):
    """Volume, centroid and S at density 1: solid tetrahedra from vertex 0 and the parallel-axis theorem, rational."""
    x = rational(vertices)
    apex = x[0]
    pieces = []
    for face in faces.tolist():
        corners = [apex, *(x[k] for k in face)]
        a, b, c = ([p - q for p, q in zip(v, apex, strict=True)] for v in corners[1:])
        cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]
        volume = sum(p * q for p, q in zip(a, cross, strict=True)) / 6
        middle = [sum(v[k] for v in corners) / 4 for k in range(3)]
        own = [[sum((v[i] - middle[i]) * (v[j] - middle[j]) for v in corners) / 20 for j in range(3)] for i in range(3)]
        pieces.append((volume, middle, own))
    volume = sum(v for v, _, _ in pieces)
    center = [sum(v * m[k] for v, m, _ in pieces) / volume for k in range(3)]
    s = [[sum(v * (o[i][j] + (m[i] - center[i]) * (m[j] - center[j])) for v, m, o in pieces) for j in range(3)] for i in range(3)]  # fmt: skip
    return volume, center, s


def relative_error(got, exact) -> float:
    """Largest difference over the largest element."""
    size = max(abs(x) for row in exact for x in row)
    return max(float(abs(Fraction(float(a)) - b) / size) for u, v in zip(got, exact, strict=True) for a, b in zip(u, v, strict=True))  # fmt: skip


def icosphere(divisions: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit sphere of triangles: an icosahedron whose edges are halved `divisions` times."""
    g = (1 + math.sqrt(5)) / 2
    vertices = [list(v) for a in (-1, 1) for b in (-g, g) for v in ((0, a, b), (a, b, 0), (b, 0, a))]
    points = np.array(vertices, dtype=float)
    faces = [
        [i, j, k] for i in range(12) for j in range(i) for k in range(j)
        if all(abs(np.linalg.norm(points[p] - points[q]) - 2) < 1e-9 for p, q in ((i, j), (j, k), (i, k)))
    ]  # fmt: skip
    faces = [f if np.linalg.det(points[f]) > 0 else f[::-1] for f in faces]
    points = [p / np.linalg.norm(p) for p in points]
    for _ in range(divisions):
        middles: dict[tuple[int, int], int] = {}
        smaller = []
        for i, j, k in faces:
            new = []
            for a, b in ((i, j), (j, k), (k, i)):
                key = (min(a, b), max(a, b))
                if key not in middles:
                    middles[key] = len(points)
                    points.append((points[a] + points[b]) / np.linalg.norm(points[a] + points[b]))
                new.append(middles[key])
            smaller += [[i, new[0], new[2]], [j, new[1], new[0]], [k, new[2], new[1]], new]
        faces = smaller
    return np.array(points), np.array(faces)


# Sums ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_particles_far_from_the_origin_keep_all_digits(offset):
    """Rounded once per product and difference: 4 eps of the largest element, at any distance.

    The coordinates are rounded when they are given; the reference takes them as they are.
    """
    rng = np.random.default_rng(1)
    x, m = rng.normal(size=(40, 3)) + offset * np.array([1.0, -0.7, 0.4]), rng.uniform(0.5, 2.0, size=40)
    mass, center, relative = inertia.center(x, m)
    exact_mass, exact_center, exact = exact_second_moment(x, m)
    assert abs(mass - exact_mass) <= EPS * mass
    assert relative_error([center], [exact_center]) <= EPS
    assert relative_error(inertia.second_moment(relative, m), exact) < 4 * EPS


def test_one_pass_second_moments_would_lose_everything_far_away():
    """The negative twin: sum m X X^T - M Xc Xc^T at a distance of 1e8 has no digit left."""
    rng = np.random.default_rng(1)
    x, m = rng.normal(size=(40, 3)) + 1e8, rng.uniform(0.5, 2.0, size=40)
    mass, center, _ = inertia.center(x, m)
    one_pass = inertia.second_moment(x, m) - mass * np.outer(center, center)
    assert relative_error(one_pass, exact_second_moment(x, m)[2]) > 0.01


def test_a_plane_of_particles_stays_a_plane():
    """0.1 + 0.1 + 0.1 is not three times 0.1: the mean of equal coordinates must be that coordinate."""
    x = np.array([[0.0, 0.3, 0.1], [1.0, 0.2, 0.1], [0.5, 0.9, 0.1]])
    _, center, relative = inertia.center(x, np.array([0.7, 1.3, 0.9]))
    assert center[2] == 0.1
    assert (relative[:, 2] == 0.0).all()


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_mesh_of_a_skew_polyhedron_matches_exact_arithmetic(offset):
    """A box under a random affine map, against tetrahedra and the parallel-axis theorem in rational arithmetic.

    The volume of a piece is a difference of products, 6 eps of its terms; measured 4 eps, 20 allowed.
    """
    rng = np.random.default_rng(2)
    vertices = BOX_CORNERS @ rng.normal(size=(3, 3)) + offset * rng.normal(size=3)
    volume, center, exact = exact_mesh_moments(vertices, BOX_FACES)
    faces = BOX_FACES if volume > 0 else BOX_FACES[:, ::-1]
    got_volume, got_center, triangles = inertia.mesh_volume(vertices[faces])
    assert abs(got_volume / abs(float(volume)) - 1) < 20 * EPS
    assert relative_error([got_center], [center]) < 4 * EPS
    exact = [[x if volume > 0 else -x for x in row] for row in exact]
    assert relative_error(inertia.mesh_second_moment(triangles), exact) < 20 * EPS


def test_mesh_sphere_converges_to_the_ball():
    """Volume 4 pi/3 and S = V/5 from below, second order in the edge: each halving gains a factor 4."""
    errors = []
    for divisions in (1, 2, 3):
        vertices, faces = icosphere(divisions)
        volume, _, triangles = inertia.mesh_volume(vertices[faces] + np.array([3.0, -2.0, 5.0]))
        s = inertia.mesh_second_moment(triangles)
        errors.append((4 * math.pi / 3 - volume, 4 * math.pi / 15 - np.trace(s) / 3))
        np.testing.assert_allclose(s, np.eye(3) * np.trace(s) / 3, rtol=0, atol=4e-15)  # icosahedral symmetry
    rates = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert (np.array(errors) > 0).all()
    np.testing.assert_allclose(rates[-1], 2.0, atol=0.05)


# Principal axes -------------------------------------------------------------------------------------


def test_jacobi_finds_eigenvalues_of_graded_matrices_with_all_digits():
    """Relative accuracy eps cond(C), C the matrix scaled to a unit diagonal, however graded it is: here cond(C) < 60."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        core = rng.uniform(-0.3, 0.3, size=(3, 3))
        core = np.eye(3) + np.triu(core, 1) + np.triu(core, 1).T
        grading = 10.0 ** rng.uniform(-8, 8, size=3)
        matrix = core * np.outer(grading, grading)
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        values, vectors = inertia.diagonalise(matrix)
        with mpmath.workdps(80):
            exact = sorted(mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True))
            for value, true in zip(sorted(values), exact, strict=True):
                assert abs(mpmath.mpf(value) / true - 1) < 60 * EPS
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), rtol=0, atol=8 * EPS)


@pytest.mark.parametrize("scale", [1e-300, 1e-24, 1.0, 1e24, 1e300])
def test_jacobi_does_not_depend_on_the_scale(scale):
    """Powers of two scale exactly; other scales to rounding."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(3, 3))
    matrix = matrix @ matrix.T
    power = 2.0 ** round(math.log2(scale))
    values, vectors = inertia.diagonalise(matrix)
    scaled_values, scaled_vectors = inertia.diagonalise(matrix * power)
    np.testing.assert_array_equal(scaled_values, values * power)
    np.testing.assert_array_equal(scaled_vectors, vectors)


def plate(thickness: float, turn: np.ndarray) -> np.ndarray:
    """Corners of a plate 1 x 2 x thickness, turned."""
    return ((BOX_CORNERS - 0.5) * np.array([1.0, 2.0, thickness])) @ turn.T


@pytest.mark.parametrize("thickness", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_turned_plate_keeps_its_thickness(thickness):
    """d3 = M t^2/4 up to the rounding of the turned coordinates, a relative 4 eps/t of the thickness."""
    turn = rotations.to_matrix([0.3, -0.5, 0.7, 0.2])
    points, weights = plate(thickness, turn), np.ones(8)
    found = inertia.principal_of_points(
        points, lambda x: inertia.second_moment(x, weights), floor=0.0, where=""
    )  # fmt: skip
    error = abs(found.second_moments[2] / (2 * thickness**2) - 1)
    assert error < 8 * EPS / thickness + 8 * EPS
    if thickness <= 1e-9:  # the negative twin: eigenvalues of the inertia tensor say nothing about the thickness
        s = inertia.second_moment(points, weights)
        moments = np.linalg.eigvalsh(inertia.inertia_tensor(s))
        assert abs((moments[0] + moments[1] - moments[2]) / 2 / (2 * thickness**2) - 1) > 0.1


@pytest.mark.parametrize("extents", [(1.0, 1e-5, 1e-10), (1.0, 1e-8, 1e-11), (1.0, 1.0, 1e-12)])
def test_turned_needles_keep_both_their_small_extents(extents):
    """Against eigenvalues of 60 digits for the coordinates as given: turning rounds them, a relative 2 eps/extent.

    The axes of S alone (the negative twin) mix the small extents of a needle, whose d_k are below the rounding of S.
    """
    rng = np.random.default_rng(7)
    weights = np.ones(9)
    worst = alone = 0.0
    for q in rng.normal(size=(20, 4)):
        points = inertia.center(rng.normal(size=(9, 3)) * extents, weights)[2] @ rotations.to_matrix(q).T
        with mpmath.workdps(60):
            x = mpmath.matrix(points.tolist())
            exact = min(mpmath.eigsy(x.T * x, eigvals_only=True))
        found = inertia.principal_of_points(
            points, lambda x: inertia.second_moment(x, weights), floor=0.0, where=""
        )  # fmt: skip
        worst = max(worst, abs(float(found.second_moments[2] / exact) - 1))
        axes = inertia.diagonalise(inertia.second_moment(points, weights))[1]
        once = np.diag(inertia.second_moment(rotations.apply(axes.T, points), weights))
        alone = max(alone, abs(float(min(once) / exact) - 1))
    assert worst < 2 * EPS / extents[2]
    assert extents[1] == 1.0 or alone > 100 * worst


def test_a_flat_tensor_turned_in_its_plane_keeps_the_digits_of_the_small_moment():
    """S has d3 on an axis of its own. Solving with Theta (the negative twin) gives I1 + I2 - I3 = 0: 1e-20 is lost in 3."""
    s = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1e-20]])
    d, _ = inertia.diagonalise(s)
    assert sorted(d)[0] == 1e-20
    moments = np.linalg.eigvalsh(inertia.inertia_tensor(s))
    assert not 0.5e-20 < (moments[0] + moments[1] - moments[2]) / 2 < 2e-20


def test_input_axes_are_kept_up_to_four_units_of_rounding_of_the_trace():
    s = np.diag([1.0, 2.0, 5.0])
    for part, kept in ((3.9, True), (4.1, False)):
        s[0, 1] = s[1, 0] = part * EPS * 8.0
        assert inertia.keeps_axes(s) is kept
    assert inertia.keeps_axes(np.zeros((3, 3)))


def test_turned_axes_ascend_and_have_reproducible_signs():
    """I1 <= I2 <= I3, det = +1, the largest component of the first two axes positive, whatever the turn."""
    rng = np.random.default_rng(5)
    for q in rng.normal(size=(100, 4)):
        turn = rotations.to_matrix(q)
        tensor = turn @ np.diag([2.0, 1.0, 2.5]) @ turn.T
        found = inertia.principal_of_tensor(0.5 * (tensor + tensor.T), "")
        np.testing.assert_allclose(found.moments, [1.0, 2.0, 2.5], rtol=0, atol=20 * EPS)
        assert np.linalg.det(found.axes) == pytest.approx(1.0, abs=8 * EPS)
        for k in (0, 1):
            assert found.axes[np.argmax(np.abs(found.axes[:, k])), k] > 0


# Which bodies exist ---------------------------------------------------------------------------------


def test_moments_may_violate_the_triangle_inequality_by_eight_units_of_rounding():
    """d3 = (I1 + I2 - I3)/2 >= -8 eps max(I): the largest accepted excess of I3 = 2 + x is x = 32 eps."""
    accepted = inertia.principal_of_moments(np.array([1.0, 1.0, 2.0 + 32 * EPS]), "")
    assert accepted.kind == "planar"
    assert accepted.second_moments[2] == 0.0
    with pytest.raises(InputError, match=r"I3 = 2\.0000000000000(.|\n)*axis 3"):
        inertia.principal_of_moments(np.array([1.0, 1.0, 2.0 + 34 * EPS]), "")


def test_a_tiny_positive_moment_is_not_zero():
    found = inertia.principal_of_moments(np.array([1.0, 1.0, 1e-20]), "")
    assert found.kind == "solid"
    np.testing.assert_array_equal(found.second_moments, [5e-21, 5e-21, 1.0])


def test_a_zero_moment_makes_a_line_whose_other_moments_are_one_number():
    """0.3 and 0.1 + 0.2 differ by one unit of rounding; a plane with the moment 5e-17 would spin without bound."""
    found = inertia.principal_of_moments(np.array([0.3, 0.1 + 0.2, 0.0]), "")
    assert found.kind == "linear"
    assert found.moments[0] == found.moments[1] == pytest.approx(0.3, rel=EPS)
    assert found.moments[2] == found.second_moments[0] == found.second_moments[1] == 0.0


def test_turned_lines_are_lines_where_a_rule_for_negative_values_alone_calls_them_solid():
    """Half of the rounding errors of a turned tensor are positive: 8 eps max(I) must count on both sides."""
    rng = np.random.default_rng(6)
    one_sided = 0
    for q in rng.normal(size=(200, 4)):
        turn = rotations.to_matrix(q)
        tensor = turn @ np.diag([1.0, 1.0, 0.0]) @ turn.T
        tensor = 0.5 * (tensor + tensor.T)
        assert inertia.principal_of_tensor(tensor, "").kind == "linear"
        d = np.linalg.eigvalsh(0.5 * np.trace(tensor) * np.eye(3) - tensor)
        one_sided += np.count_nonzero(np.where(d < 0, 0.0, d)) == 1
    assert one_sided < 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f[1:], r"vertex \d to vertex \d belongs to one triangle only"),
        (lambda f: np.vstack([f[:1, ::-1], f[1:]]), r"vertex \d to vertex \d is run through twice"),
        (lambda f: np.vstack([f, f[:1]]), "from vertex 0 to vertex 1 is run through twice"),
        (lambda f: np.vstack([f, [[4, 4, 5]]]), "from vertex 4 to vertex 4 joins a vertex to itself"),
    ],
)
def test_an_open_or_badly_oriented_surface_is_refused_with_its_edge(change, message):
    inertia.refuse_open(BOX_FACES, "faces")
    with pytest.raises(InputError, match=message):
        inertia.refuse_open(change(BOX_FACES), "faces")
