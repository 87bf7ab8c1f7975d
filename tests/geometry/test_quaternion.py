"""Quaternion kernels against exact arithmetic, the array functions and their own claims about round-off."""

from __future__ import annotations

import math
import sys

import mpmath
import numpy as np
import pytest

from catena.engine import collector, headers
from catena.geometry import quaternion, rotations

EPS = sys.float_info.epsilon


def unit(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rotations.normalise(rng.normal(size=(*shape, 4)))


def exact_product(p, q):
    """Hamilton product in mpmath, from the multiplication table i j = k."""
    table = {(1, 2): (1, 3), (2, 3): (1, 1), (3, 1): (1, 2), (2, 1): (-1, 3), (3, 2): (-1, 1), (1, 3): (-1, 2)}
    out = [mpmath.mpf(0)] * 4
    for i in range(4):
        for j in range(4):
            sign, k = (1, i + j) if 0 in (i, j) else (-1, 0) if i == j else table[i, j]
            out[k] += sign * mpmath.mpf(p[i]) * mpmath.mpf(q[j])
    return out


def exact_rotation(vector):
    """The quaternion of a rotation vector, at the working precision of mpmath."""
    angle = mpmath.sqrt(sum(mpmath.mpf(x) ** 2 for x in vector))
    k = mpmath.sin(angle / 2) / angle if angle else mpmath.mpf(1) / 2
    return [mpmath.cos(angle / 2), *[k * mpmath.mpf(x) for x in vector]]


def exact_turn(q, vector):
    """R(q) X = q X q^-1, at the working precision of mpmath."""
    norm = sum(mpmath.mpf(x) ** 2 for x in q)
    inverse = [mpmath.mpf(q[0]) / norm, *[-mpmath.mpf(x) / norm for x in q[1:]]]
    return exact_product(exact_product(q, [0, *vector]), inverse)[1:]


# rotations.py ---------------------------------------------------------------------------------------


def test_the_product_follows_the_multiplication_table():
    """Four products and three sums of numbers below 1: at most 4 eps."""
    rng = np.random.default_rng(1)
    p, q = unit(rng, 20), unit(rng, 20)
    got = rotations.multiply(p, q)
    for k in range(20):
        assert max(abs(mpmath.mpf(x) - y) for x, y in zip(got[k], exact_product(p[k], q[k]), strict=True)) < 4 * EPS


def test_array_functions_work_over_leading_axes():
    rng = np.random.default_rng(2)
    p, q, x = unit(rng, 2, 5), unit(rng, 2, 5), rng.normal(size=(2, 5, 3))
    angles = rng.uniform(0.1, 3.0, size=(2, 5, 3))
    for i in range(2):
        for j in range(5):
            np.testing.assert_array_equal(rotations.multiply(p, q)[i, j], rotations.multiply(p[i, j], q[i, j]))
            np.testing.assert_array_equal(rotations.rotate(q, x)[i, j], rotations.rotate(q[i, j], x[i, j]))
            matrix = rotations.to_matrix(q)
            np.testing.assert_array_equal(rotations.from_matrix(matrix)[i, j], rotations.from_matrix(matrix[i, j]))
            np.testing.assert_array_equal(rotations.from_euler(angles)[i, j], rotations.from_euler(angles[i, j]))
            np.testing.assert_array_equal(rotations.to_euler(q)[i, j], rotations.to_euler(q[i, j]))


@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e170])
def test_rotating_is_conjugation_for_quaternions_of_any_length(scale):
    """Nine products of rounded elements of size 1, vectors of size 1: measured 3 eps, 8 allowed."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, x = scale * rng.normal(size=4), rng.uniform(-1, 1, size=3)
        difference = [mpmath.mpf(a) - b for a, b in zip(rotations.rotate(q, x), exact_turn(q, x), strict=True)]
        assert max(map(abs, difference)) < 8 * EPS
        np.testing.assert_allclose(
            rotations.rotate(rotations.conjugate(q), rotations.rotate(q, x)), x, rtol=0, atol=8 * EPS
        )


def test_matrix_and_quaternion_are_inverse_near_every_half_turn():
    """All four branches, and quaternions with three tiny components; q0 >= 0 fixes the sign."""
    rng = np.random.default_rng(4)
    directions = [unit(rng), *np.eye(4), *(np.eye(4) + 1e-9 * rng.normal(size=(4, 4)))]
    for q in [*directions, *unit(rng, 200)]:
        q = rotations.normalise(q)
        back = rotations.from_matrix(rotations.to_matrix(q))
        assert back[0] >= 0.0
        np.testing.assert_allclose(back * np.sign(back @ q), q, rtol=0, atol=4 * EPS)


def test_taking_the_scalar_branch_always_would_lose_digits():
    """The negative twin of the four branches: near a half turn q0 is a difference of numbers of size 1."""
    q = rotations.normalise([1e-9, 0.6, -0.48, 0.64])
    r = rotations.to_matrix(q)
    q0 = 0.5 * math.sqrt(max(0.0, 1 + np.trace(r)))
    assert abs(q0 - q[0]) > 1e-10
    assert abs(rotations.from_matrix(r)[0] - q[0]) < 4 * EPS


def test_euler_angles_are_turns_about_z_y_z():
    """Against the product of three quaternions, and the values of a symmetric top with psi = phi = 1, theta = 45 deg."""
    rng = np.random.default_rng(5)
    for psi, theta, phi in rng.uniform(-7, 7, size=(50, 3)):
        turns = [[math.cos(a / 2), 0, s * math.sin(a / 2), (1 - s) * math.sin(a / 2)] for a, s in ((psi, 0), (theta, 1), (phi, 0))]  # fmt: skip
        product = rotations.multiply(rotations.multiply(turns[0], turns[1]), turns[2])
        np.testing.assert_allclose(rotations.from_euler([psi, theta, phi]), product, rtol=0, atol=8 * EPS)
    degree = math.pi / 180
    np.testing.assert_allclose(
        rotations.from_euler([degree, 45 * degree, degree]),
        [0.923738821183574, 0.0, 0.382683432365090, 0.016123921100474], rtol=0, atol=6e-16,
    )  # fmt: skip


def test_euler_angles_return_from_the_quaternion():
    rng = np.random.default_rng(6)
    angles = rng.uniform([-math.pi, 0, -math.pi], [math.pi, math.pi, math.pi], size=(200, 3))
    np.testing.assert_allclose(rotations.to_euler(rotations.from_euler(angles)), angles, rtol=0, atol=1e-13)
    for theta in (0.0, math.pi):  # only psi + phi or psi - phi is determined
        q = rotations.from_euler([0.7, theta, 0.4])
        q[np.abs(q) < 1e-15] = 0.0
        found = rotations.to_euler(q)
        assert found[2] == 0.0
        np.testing.assert_allclose(
            rotations.to_matrix(rotations.from_euler(found)), rotations.to_matrix(q), rtol=0, atol=8 * EPS
        )


# quaternion.py --------------------------------------------------------------------------------------


def test_kernels_agree_with_the_array_functions():
    """Same formulas in another order: a few eps; the normalised matrix for any length of q."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        q, p, x = unit(rng), unit(rng), rng.uniform(-1, 1, size=3)
        product = q.copy()
        quaternion.multiply_right(product, *p)
        np.testing.assert_allclose(product, rotations.multiply(q, p), rtol=0, atol=4 * EPS)
        np.testing.assert_allclose(quaternion.rotation(q), rotations.to_matrix(q).ravel(), rtol=0, atol=6 * EPS)
        np.testing.assert_allclose(
            quaternion.normalised_rotation(3.7 * q), rotations.to_matrix(q).ravel(), rtol=0, atol=8 * EPS
        )
        np.testing.assert_allclose(quaternion.to_space(q, *x), rotations.rotate(q, x), rtol=0, atol=12 * EPS)
        back = rotations.rotate(rotations.conjugate(q), x)
        np.testing.assert_allclose(quaternion.to_body(q, *x), back, rtol=0, atol=12 * EPS)


@pytest.mark.parametrize("size", [0.0, 1e-170, 1e-12, 1e-5, 0.3, 2.9, 5.0, 6.2])
def test_the_exponential_less_one_has_full_relative_accuracy(size):
    """Each of the four numbers to 5 eps of itself; beyond half a turn the sine falls to 0 and feels eps * angle.

    The square of 1e-170 is no number: what is below the smallest one is 0.
    """
    rng = np.random.default_rng(8)
    direction = rng.normal(size=3)
    vector = size * direction / np.linalg.norm(direction)
    with mpmath.workdps(400):
        exact = exact_rotation(vector)
        exact[0] -= 1
        got = quaternion.exponential(*vector)
        for value, true in zip(got, exact, strict=True):
            slack = (size if size > math.pi else 0.0) * EPS + sys.float_info.min
            assert abs(mpmath.mpf(value) - true) <= 5 * abs(true) * EPS + slack


def test_cosine_less_one_by_subtraction_would_lose_the_small_angle():
    """The negative twin: cos(1e-9) - 1 is 0 in double precision."""
    assert math.cos(1e-9) - 1.0 == 0.0
    assert quaternion.cosine_less_one(math.cos(1e-9), math.sin(1e-9)) == pytest.approx(-5e-19, rel=1e-15)


def test_cayley_is_the_rotation_by_twice_the_arctangent():
    rng = np.random.default_rng(9)
    for size in (0.0, 1e-9, 0.1, 1.0, 30.0):
        e = size * unit(rng)[1:]
        with mpmath.workdps(40):
            length = mpmath.sqrt(1 + sum(mpmath.mpf(x) ** 2 for x in e))
            exact = [1 / length - 1, *[mpmath.mpf(x) / length for x in e]]
            for value, true in zip(quaternion.cayley(*e), exact, strict=True):
                assert abs(mpmath.mpf(value) - true) <= 5 * EPS * abs(true)


def turn_many_times(steps, *, compensated):
    """A quaternion turned `steps` times by the same small rotation, and the exact result."""
    vector = (0.011, -0.007, 0.013)
    rho = quaternion.exponential(*vector)
    q, e = np.array([0.5, 0.5, -0.5, 0.5]), np.zeros(4)
    for _ in range(steps):
        if compensated:
            quaternion.turn_right(q, e, *rho)
        else:
            quaternion.multiply_right(q, 1.0 + rho[0], *rho[1:])
    with mpmath.workdps(40):
        # the rotation that was applied is the rounded one; its power is taken exactly
        power, base, n = [mpmath.mpf(1), 0, 0, 0], [1 + mpmath.mpf(rho[0]), *map(mpmath.mpf, rho[1:])], steps
        while n:
            power = exact_product(power, base) if n & 1 else power
            base, n = exact_product(base, base), n >> 1
        exact = exact_product([0.5, 0.5, -0.5, 0.5], power)
        return max(abs(float(mpmath.mpf(a) + mpmath.mpf(b) - c)) for a, b, c in zip(q, e, exact, strict=True))


def test_compensated_turns_keep_their_digits_over_many_steps():
    """Error per step eps |rho - 1| instead of eps: 20000 turns by 0.018 stay below sqrt(20000) eps |rho - 1| times 3,
    which the plain product (the negative twin) exceeds."""
    steps = 20_000
    bound = 3 * math.sqrt(steps) * EPS * 0.0092
    assert turn_many_times(steps, compensated=True) < bound
    assert turn_many_times(steps, compensated=False) > bound


def test_renewing_brings_the_length_to_one_and_keeps_the_direction():
    """One Newton step squares the defect: 3/8 of its square in q.q is left."""
    rng = np.random.default_rng(10)
    q0 = unit(rng)
    for defect in (1e-3, -1e-5, 1e-9):
        q, e = q0 * (1 + defect), np.zeros(4)
        quaternion.renew(q, e)
        assert abs(np.linalg.norm(q) - 1) < 1.6 * defect * defect + 2 * EPS
        np.testing.assert_allclose(q / np.linalg.norm(q), q0, rtol=0, atol=2 * EPS)


@pytest.mark.parametrize("defect", [1e-7, -3e-9])
def test_renewing_scales_q_plus_e(defect):
    """The pair keeps its direction to eps times the increment; the direction of q alone (the negative twin) differs.

    Along q the rounding of q.q remains, 2 eps.
    """
    rng = np.random.default_rng(12)
    q, e = unit(rng) * (1 + defect), rng.uniform(-1, 1, size=4) * 2.0**-55
    with mpmath.workdps(50):
        before, alone = [mpmath.mpf(a) + mpmath.mpf(b) for a, b in zip(q, e, strict=True)], list(map(mpmath.mpf, q))
        quaternion.renew(q, e)
        after = [mpmath.mpf(a) + mpmath.mpf(b) for a, b in zip(q, e, strict=True)]

        def apart(p):
            return max(abs(x / mpmath.norm(p) - y / mpmath.norm(after)) for x, y in zip(p, after, strict=True))

        assert abs(mpmath.norm(after) - 1) < 2 * EPS + 2 * defect * defect
        assert apart(before) < 2 * EPS * abs(defect) < 1e-3 * apart(alone)


def renewed_by_products(q, e):
    """The negative twin of `renew`: multiplying rounds every component."""
    k = 1.5 - 0.5 * float(q @ q)
    q *= k
    e *= k


def test_renewing_does_not_walk_away():
    """Round-off of direction and length after 20000 renewals and turns, against the exact power of the rotation.

    The compensated increment leaves the error of the turns alone; products of components walk: 10 times more.
    """
    steps, vector = 20_000, (0.011, -0.007, 0.013)
    rho = quaternion.exponential(*vector)

    def run(renewal):
        q, e = np.array([0.5, 0.5, -0.5, 0.5]), np.zeros(4)
        for _ in range(steps):
            quaternion.turn_right(q, e, *rho)
            renewal(q, e)
        with mpmath.workdps(40):
            angle = steps * mpmath.atan2(mpmath.norm(rho[1:]), 1 + mpmath.mpf(rho[0]))
            axis = [mpmath.mpf(x) / mpmath.norm(rho[1:]) for x in rho[1:]]
            exact = exact_product([0.5, 0.5, -0.5, 0.5], [mpmath.cos(angle), *[mpmath.sin(angle) * x for x in axis]])
            true = [mpmath.mpf(a) + mpmath.mpf(b) for a, b in zip(q, e, strict=True)]
            length = mpmath.norm(true)
            direction = max(abs(float(a / length - b)) for a, b in zip(true, exact, strict=True))
            return direction, abs(float(length - 1))

    direction, length = run(quaternion.renew)
    assert length < 3 * EPS
    assert direction < 3 * math.sqrt(steps) * EPS * 0.0092
    assert run(renewed_by_products)[0] > 5 * direction


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_turning_about_an_axis_keeps_the_momentum_in_space(axis):
    """R(q) y is unchanged, q turns as q * (cos, e_k sin) and y_k stays to the bit."""
    rng = np.random.default_rng(11 + axis)
    for angle in (1e-8, 0.3, -2.0, 4.0):
        q0, y0 = unit(rng), rng.uniform(-1, 1, size=3)
        q, y, eq, ey = q0.copy(), y0.copy(), np.zeros(4), np.zeros(3)
        quaternion.turn_about_axis(y, q, ey, eq, axis, angle)
        rho = np.zeros(4)
        rho[0], rho[1 + axis] = math.cos(angle / 2), math.sin(angle / 2)
        np.testing.assert_allclose(q, rotations.multiply(q0, rho), rtol=0, atol=4 * EPS)
        np.testing.assert_allclose(rotations.rotate(q, y), rotations.rotate(q0, y0), rtol=0, atol=12 * EPS)
        assert y[axis] == y0[axis]
        # the negative twin: y turned the other way loses R(q) y
        wrong, other = q0.copy(), y0.copy()
        quaternion.turn_about_axis(other, wrong, np.zeros(3), np.zeros(4), axis, -angle)
        assert np.abs(rotations.rotate(q, other) - rotations.rotate(q0, y0)).max() > 1e3 * EPS


def everything(q, e, y, ey, out, steps):
    """A loop over all kernels, for the compiler."""
    for n in range(steps):
        a, b, c, d = quaternion.exponential(0.01 * y[0], 0.02 * y[1], 0.03 * y[2])
        quaternion.turn_right(q, e, a, b, c, d)
        a, b, c, d = quaternion.cayley(0.01 * y[2], 0.02 * y[0], 0.03 * y[1])
        quaternion.turn_right(q, e, a, b, c, d)
        quaternion.turn_about_axis(y, q, ey, e, n % 3, 0.1 * y[n % 3])
        quaternion.renew(q, e)
    quaternion.multiply_right(q, 0.6, 0.0, 0.8, 0.0)
    out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], out[8] = quaternion.rotation(q)
    out[9], out[10], out[11] = quaternion.to_space(q, y[0], y[1], y[2])
    out[12], out[13], out[14] = quaternion.to_body(q, y[0], y[1], y[2])
    out[15] = quaternion.normalised_rotation(q)[4]


def test_kernels_compile_to_the_bits_of_plain_python():
    """All of them through the collector and the strict header of the compiled loop, which allows no allocation."""
    parts = collector.collect(everything, {})
    text = headers.module_text("quaternions", parts, (), header=headers.CPU, entry="@njit(**_strict)")
    namespace: dict = {"__name__": "quaternions"}
    exec(text, namespace)

    def result(function):
        q, e, y = np.array([0.5, -0.5, 0.5, 0.5]), np.zeros(4), np.array([0.7, -0.4, 1.1])
        ey, out = np.zeros(3), np.zeros(16)
        function(q, e, y, ey, out, 50)
        return np.concatenate([q, e, y, ey, out])

    np.testing.assert_array_equal(result(namespace["advance"]), result(everything))
