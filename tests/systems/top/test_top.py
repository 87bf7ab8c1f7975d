"""Tops: reference motions in any axes and coordinates, derived torques, special integrals, and runs that are stored."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

import bodies
import catena as ct
from bodies import (
    EPS,
    GENERAL,
    HEAVY,
    TOPS,
    distance,
    problem_of,
    run_to,
    top_problem,
    turned_back,
    turned_problem,
    unit,
)
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.geometry.quaternion import rotation
from catena.systems.base import system_from
from catena.systems.top.attitude import ELEMENTS, AttitudePotential

CASES = {**HEAVY, "B17": GENERAL}
TIGHT = 1e-11
TABLE = {name: 2e-13 for name in HEAVY} | {"B17": GENERAL["tolerance"]}  # to which the table was confirmed in float64
CURVED = "sin(R11)*R23 + k*exp(R31)/(2 + R12) - R22*R33**2"


def columns_at_start(of) -> dict[str, np.ndarray]:
    program = build(of.system, ct.Splitting(2), compiled=False)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=0.1, every=1)
    return of.system.columns(run.first_row().rows)


# Reference motions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("method", "rate"), [(ct.Splitting(8), 20), (ct.Gauss(6), 10), (ct.Splitting(6), 25)], ids=lambda value: str(value)
)
def test_the_reference_motion_is_reached_to_the_digits_of_the_table(method, rate, name):
    case = CASES[name]
    assert bodies.error(method, case, round(case["t"] * rate)) < TABLE[name]


@pytest.mark.parametrize("name", ["B13", "B14", "B17"])
@pytest.mark.parametrize(
    ("method", "rate"),
    [
        (ct.Composition(ct.QuatEM(), "kahanli8"), 20),
        (ct.Composition(ct.Rattle(), "kahanli8"), 80),
        (ct.Splitting(4), 120),
    ],
    ids=lambda value: str(value),
)
def test_other_methods_reach_it_too(method, rate, name):
    case = CASES[name] | ({"t": 2.0} if name != "B17" else {})
    y, q = bodies.taylor(case, case["t"], digits=20) if name != "B17" else (case["y"], case["q"])
    end = run_to(method, problem_of(case), case["t"], round(case["t"] * rate))
    assert distance(end, y, q) < TIGHT


@pytest.mark.parametrize(
    "wrong", [{"gravity": [0.0, 0.0, -1.0]}, {"gravity": [0.0, 0.0, 1.0 + 1e-9]}, {"moments": [0.9, 0.6, 1.3]}], ids=str
)
def test_a_wrong_top_is_seen(wrong):
    assert bodies.error(ct.Splitting(6), HEAVY["B13"] | wrong, 200) > TIGHT


def test_a_wrong_term_of_a_general_potential_is_seen():
    wrong = np.array(GENERAL["quadratic"]).T + np.diag([0.0, 1e-8, 0.0])
    assert bodies.error(ct.Gauss(6), GENERAL | {"quadratic": wrong}, 50) > TIGHT


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(f"B{k}" for k in (*range(1, 10), 11)), *CASES])
def test_the_table_is_confirmed_by_power_series(name):
    """A route that shares nothing with the library; 16 digits are printed, 15 of B17."""
    case = bodies.FREE.get(name) or CASES[name]
    y, q = bodies.taylor(case, case["t"], digits=30)
    assert distance(ct.State({"orientation": q, "angular_momentum": y}), case["y"], case["q"]) < 5e-15


# Any axes, any coordinates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["B13", "B14", "B16", "B17"])
@pytest.mark.parametrize(
    ("method", "rate"),
    [(ct.Splitting(6), 25), (ct.Gauss(6), 10), (ct.Nystrom4(), 5), (ct.QuatEM(), 5)],
    ids=lambda v: str(v),
)
def test_a_body_whose_tensor_is_not_diagonal_moves_the_same(method, rate, name):
    """Axes relabelled and turned; the same up to round-off even where the method is far from the solution."""
    case = CASES[name] | {"t": 2.0}
    plain = run_to(method, problem_of(case), 2.0, 2 * rate)
    half = math.sqrt(0.5)
    for turn in (unit(0.3, -0.5, 0.7, 0.2), np.array([half, 0.0, half, 0.0]), np.array([0.5, 0.5, 0.5, 0.5])):
        again = run_to(method, turned_problem(case, turn), 2.0, 2 * rate)
        assert distance(turned_back(again, turn), plain.angular_momentum, plain.orientation) < 2e-13
        assert distance(again, plain.angular_momentum, plain.orientation) > 1e-2, "the axes must matter"


def test_euler_angles_quaternions_and_matrices_describe_one_motion():
    """The heavy cone at t = 1; 30-digit values, 1e-12 allowed for an angle of 100."""
    cone, exact = TOPS["cone"], TOPS["cone"]["exact"]
    euler, quaternion, matrix = (ct.problems.symmetric_top(c) for c in ("euler", "quaternion", "rotation"))
    assert distance(quaternion.start, cone["momentum"], cone["orientation"]) < 1e-14
    assert distance(matrix.start, cone["momentum"], cone["orientation"]) < 1e-14
    start = columns_at_start(quaternion)
    assert start["energy"][0] == pytest.approx(cone["energy"], rel=1e-14)
    assert start["vertical_momentum"][0] == pytest.approx(cone["vertical_momentum"], rel=1e-14)

    angles = run_to(ct.Gauss(6), euler, 1.0, 400)
    np.testing.assert_allclose(angles.q, [exact["psi"], exact["theta"], exact["phi"]], atol=1e-12)
    for of, method, steps in [(quaternion, ct.Gauss(6), 200), (matrix, ct.Splitting(6), 400)]:
        end = run_to(method, of, 1.0, steps)
        assert distance(end, exact["y"], exact["q"]) < 1e-12
        assert distance(end, exact["y"], rotations.from_euler(angles.q)) < 1e-12
        height = rotations.to_matrix(end.orientation)[2, 2] * 1.33
        assert height == pytest.approx(exact["height"], abs=1e-12)


# Torques ---------------------------------------------------------------------------------------------------------------------


def kernels(potential: AttitudePotential):
    """U, tau and tau' of mpmath matrices."""
    par = SimpleNamespace(potential=[mp.mpf(value) for value in potential.values])
    made = {}
    for name in ("potential", "torque", "torque_rate", "gradient"):
        namespace = {"math": mp}
        exec(potential.kernel(name).text, namespace)
        made[name] = lambda r, *a, f=namespace[name]: f([r[i, j] for i in range(3) for j in range(3)], *a, par)
    return made


def turned(r, w):
    return r * mpmath.expm(bodies.hat(w))


POTENTIALS = {
    "gravity": AttitudePotential(ct.Gravity(1.7, (0.3, -0.2, 0.8))),
    "quadratic": AttitudePotential(bodies.general_text(GENERAL["linear"], GENERAL["quadratic"])),
    "curved": AttitudePotential(CURVED, {"k": 0.7}),
}


@pytest.mark.parametrize("potential", POTENTIALS.values(), ids=POTENTIALS)
def test_the_torque_is_the_slope_of_the_potential(potential):
    """tau_k = -dU/dxi_k for R exp(hat xi); tau' = d tau along a; U_R element by element. 30 digits, differences of 1e-10."""
    with mpmath.workdps(40):
        f = kernels(potential)
        r = turned(mpmath.eye(3), [mp.mpf(x) for x in (0.4, -0.9, 0.7)])
        gap, a = mp.mpf(10) ** -10, [mp.mpf(x) for x in (0.3, 0.2, -0.5)]
        torque, rate, slope = f["torque"](r), f["torque_rate"](r, a), f["gradient"](r)
        for k in range(3):
            w = [gap * (i == k) for i in range(3)]
            by = (f["potential"](turned(r, w)) - f["potential"](turned(r, [-x for x in w]))) / (2 * gap)
            assert abs(torque[k] + by) < 1e-18
        ahead, behind = (f["torque"](turned(r, [s * gap * x for x in a])) for s in (1, -1))
        for k in range(3):
            assert abs(rate[k] - (ahead[k] - behind[k]) / (2 * gap)) < 1e-18
        for i in range(3):
            for j in range(3):
                up, down = r.copy(), r.copy()
                up[i, j] += gap
                down[i, j] -= gap
                assert abs(slope[3 * i + j] - (f["potential"](up) - f["potential"](down)) / (2 * gap)) < 1e-18
        assert max(abs(x) for x in torque) > 0.1 and max(abs(x) for x in rate) > 0.1


def test_gravity_is_the_text_in_the_last_row():
    """tau = n x G."""
    g = np.array([0.3, -0.2, 0.8])
    r = rotations.to_matrix(unit(1, 2, -1, 0.5))
    np.testing.assert_allclose(
        AttitudePotential(ct.Gravity(2.0, g)).torque_at(r), np.cross(r[2], 2.0 * g), atol=4 * EPS
    )
    np.testing.assert_allclose(
        AttitudePotential("2*(0.3*R31 - 0.2*R32 + 0.8*R33)").torque_at(r), np.cross(r[2], 2.0 * g), atol=4 * EPS
    )


def test_text_sympy_and_gravity_give_one_motion():
    names = sympy.symbols("R31 R32 R33", real=True)
    expression = 0.5 * names[0] + 0.25 * names[1] - names[2]
    case = HEAVY["B16"]
    ends = [
        run_to(ct.Splitting(6), top_problem(case["moments"], u, case["y0"], case["q0"]), 2.0, 40)
        for u in (ct.Gravity(0.5, (1.0, 0.5, -2.0)), "0.5*R31 + 0.25*R32 - R33", expression)
    ]
    for end in ends[1:]:
        assert distance(end, ends[0].angular_momentum, ends[0].orientation) < 1e-14


@pytest.mark.parametrize(
    ("potential", "parameters", "error"),
    [
        ("R44", None, ct.InputError),
        ("k*R33", None, ct.InputError),
        ("R11*R33", {"R11": 2.0}, ct.InputError),
        ({"kind": "Wind"}, None, ct.InputError),
    ],
)
def test_potentials_that_make_no_sense_are_refused(potential, parameters, error):
    with pytest.raises(error):
        ct.Top(ct.Body(moments=(1, 2, 3)), potential, parameters=parameters)


@pytest.mark.parametrize(
    ("potential", "q"),
    [
        ("1/R31", (1, 0, 0, 0)),
        ("log(R33)", (0, 1, 0, 0)),
        ("R33**1.5", (0, 1, 0, 0)),
        ("sqrt(R31)", (1, 0, 0, 0)),  # it has a value there, but no slope
        ("exp(800*R11)", (1, 0, 0, 0)),
    ],
)
def test_a_potential_that_is_singular_at_the_start_is_refused_there(potential, q):
    """R31 = 0, R33 = -1, R11 = 1; elsewhere the same top starts."""
    top = ct.Top(ct.Body(moments=(1, 2, 3)), potential)
    with pytest.raises(ct.InputError, match="singular at this orientation") as refused:
        top.start(q, angular_momentum=(1, 0, 0))
    assert refused.value.where == "start.orientation" and len(str(refused.value).splitlines()) <= 4
    top.start(unit(3, 1, -1, 1), angular_momentum=(1, 0, 0))


def test_gravity_takes_finite_numbers():
    with pytest.raises(ct.InputError, match=r"strength = inf is not finite\n  at Gravity.strength"):
        ct.Gravity(float("inf"))
    with pytest.raises(ct.InputError, match=r"has shape \(2,\)\n  at Gravity.center"):
        ct.Gravity(1.0, (0.0, 1.0))


# Invariants ------------------------------------------------------------------------------------------------------------------


def test_energy_and_vertical_momentum_are_those_of_the_definition():
    of = top_problem((1.0, 1.5, 2.0), CURVED.replace("k", "0.7"), (0.5, -0.25, 1.0), (3, 1, 1, -1))
    r, y = rotations.to_matrix(of.start.orientation), of.start.angular_momentum
    u = eval(CURVED, {"sin": math.sin, "exp": math.exp, "k": 0.7} | dict(zip(ELEMENTS, r.ravel(), strict=True)))
    row = columns_at_start(of)
    assert row["energy"][0] == pytest.approx(0.5 * (y**2 / [1.0, 1.5, 2.0]).sum() + u, rel=1e-14)
    assert row["vertical_momentum"][0] == pytest.approx((r @ y)[2], rel=1e-14)
    assert row["tangency_residual"][0] == 0.0


@pytest.mark.parametrize(
    ("moments", "center", "special"),
    [
        ((1.0, 1.0, 0.5), (0, 0, 1), "axial_momentum"),
        ((0.5, 1.0, 1.0), (-1, 0, 0), "axial_momentum"),
        ((1.0, 0.5, 1.0), (0, 2, 0), "axial_momentum"),
        ((2.0, 2.0, 1.0), (1, 0, 0), "kovalevskaya"),
        ((1.0, 2.0, 2.0), (0, 1, -1), "kovalevskaya"),
        ((2.0, 1.0, 2.0), (3, 0, 1), "kovalevskaya"),
        ((1.0, 1.0, 0.5), (0, 1e-9, 1), None),
        ((2.0, 2.0, 1.0), (1, 0, 1e-9), None),
        ((1.0, 1.5, 2.0), (0, 0, 1), None),
    ],
)
def test_special_tops_report_their_further_integral_in_any_axes(moments, center, special):
    """And it is constant in the motion: a wrong sign, factor or axis would drift by more than 0.1 in this time."""
    of = top_problem(moments, ct.Gravity(1.0, center), (0.5, 1.0, 0.75), (2, 1, 0, 1))
    names = [i.name for i in of.system.invariants]
    assert names[:4] == ["energy", "vertical_momentum", "unit_residual", "tangency_residual"]
    assert names[4:] == ([special] if special else [])
    if special:
        program = build(of.system, ct.Gauss(6), compiled=False)
        run = Driver(program, program.view.pack(of.start), t0=0.0, dt=0.1, every=10)
        values = of.system.columns(np.concatenate([run.first_row().rows, run.advance(100).rows]))[special]
        assert np.ptp(values) < 1e-13 * max(1.0, abs(values[0]))


def test_kovalevskayas_integral_has_its_published_value():
    of = top_problem((2.6, 2.6, 1.3), ct.Gravity(1.0, (0.8, 0.6, 0.0)), (0.5, 1.0, 0.75), (2, 1, 0, 1))
    assert columns_at_start(of)["kovalevskaya"][0] == pytest.approx(TOPS["kovalevskaya"]["value"], rel=1e-14)


def test_the_vertical_momentum_is_promised_only_where_gravity_alone_acts():
    kept = {i.name: i.tags for i in problem_of(HEAVY["B13"]).system.invariants}["vertical_momentum"]
    lost = {i.name: i.tags for i in problem_of(GENERAL).system.invariants}["vertical_momentum"]
    assert ct.Rattle().traits.promise(kept) == "exact" and ct.Rattle().traits.promise(lost) == "none"


def test_how_far_a_rotation_is_from_orthogonal_is_how_far_its_quaternion_is_from_unit_length():
    """R^T R - 1 = -4 (|q|^2 - 1) [v]x^2: a residual of orthogonality would say nothing that `unit_residual` does not."""
    for q in np.random.default_rng(3).normal(size=(20, 4)):
        q *= 1.01 / np.linalg.norm(q)
        r = np.array(rotation(q)).reshape(3, 3)
        cross = np.array([[0, -q[3], q[2]], [q[3], 0, -q[1]], [-q[2], q[1], 0]])
        np.testing.assert_allclose(r.T @ r - np.eye(3), -4 * (q @ q - 1) * cross @ cross, atol=1e-15)
        normal = rotations.to_matrix(q / np.linalg.norm(q))
        np.testing.assert_allclose(normal.T @ normal, np.eye(3), atol=1e-15)


# Degenerate bodies -------------------------------------------------------------------------------------------------------------


def test_a_rod_swings_like_a_pendulum():
    """I thetadd = g sin(theta) in a plane, against the series of a solid top with another third moment."""
    rod = ct.Top(ct.Body(moments=(1.0, 1.0, 0.0)), ct.Gravity(1.5, (0, 0, 1)))
    start = rod.start(unit(4, 1, 0, 0), angular_momentum=(0.25, 0.5, 0.0))
    case = {"moments": [1.0, 1.0, 1.0], "y0": [0.25, 0.5, 0.0], "q0": [4, 1, 0, 0], "gravity": [0, 0, 1.5]}
    y, q = bodies.taylor(case, 2.0, digits=20)
    for method in (ct.Splitting(6), ct.Gauss(6)):
        assert distance(run_to(method, bodies.Problem("rod", rod, start, 0.1), 2.0, 50), y, q) < TIGHT


@pytest.mark.parametrize("potential", ["R11", ct.Gravity(1.0, (0.1, 0.0, 1.0)), "R33 + 1e-9*R12*R21"], ids=str)
def test_nothing_may_turn_a_line_about_itself(potential):
    with pytest.raises(ct.InputError, match="about its own line"):
        ct.Top(ct.Body.rod(1.0), potential)


def test_a_line_in_a_potential_of_its_direction_is_welcome():
    rng = np.random.default_rng(3)
    for _ in range(20):
        along = rng.normal(size=3)
        line = ct.Body.from_particles(np.outer([-1.1, 0.1, 1.3], along), [16, 12, 16])
        ct.Top(line, ct.Gravity(1.0, along))
    ct.Top(ct.Body.rod(1.0), "R13**2 + log(3 + R33)")


def test_what_cannot_be_a_top_is_refused():
    with pytest.raises(ct.CapabilityError, match="point"):
        ct.Top(ct.Body.box((0, 0, 0)), ct.Gravity())
    with pytest.raises(ct.CapabilityError, match="line"):
        build(ct.Top(ct.Body.rod(1.0), ct.Gravity()), ct.Splitting(2, ct.ThreeRotations()), compiled=False)


# Descriptions, stores, sections --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "top",
    [
        ct.Top(ct.Body(moments=(1, 2, 2.5)), ct.Gravity(2.0, (0.1, 0.2, 0.3))),
        ct.Top(ct.Body.from_inertia(1.0, [[2.0, 0.3, 0], [0.3, 2.5, 0], [0, 0, 3.0]]), CURVED, parameters={"k": 0.1}),
        ct.Top({"shape": "disc", "radius": 2.0}, {"kind": "Gravity", "strength": 3.0}),
    ],
    ids=["gravity", "text", "tables"],
)
def test_a_described_top_comes_back(top):
    described = json.loads(json.dumps(top.describe()))
    again = system_from(described)
    assert again.describe() == described
    assert again.body == top.body
    r = rotations.to_matrix(unit(1, 2, -1, 0.5))
    assert again.potential.torque_at(r).tobytes() == top.potential.torque_at(r).tobytes()


def test_a_stored_top_resumes_to_the_same_bits(tmp_path):
    of = problem_of(HEAVY["B16"])
    arguments = {"method": ct.Splitting(6), "dt": 0.05, "every": 3}
    whole = ct.simulate(of.system, of.start, steps=900, **arguments)
    ct.simulate(of.system, of.start, steps=411, out=tmp_path / "run.zarr", **arguments)
    resumed = ct.resume(tmp_path / "run.zarr", steps=900)
    for name in ("orientation", "angular_momentum", "energy", "vertical_momentum"):
        assert resumed.data[name].values.tobytes() == whole.data[name].values.tobytes(), name
