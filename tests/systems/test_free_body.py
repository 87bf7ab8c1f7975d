"""Free bodies: reference motions in any axes, what a start must be, invariants, degenerate bodies, and runs that are stored."""

from __future__ import annotations

import itertools
import json
from unittest import mock

import numpy as np
import pytest

import bodies
import catena as ct
from bodies import EPS, FREE, distance, free_problem, problem_of, run_to, turned_back, turned_problem, unit
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.geometry.free_motion import free_motion
from catena.methods.rotors import moser_veselov
from catena.systems.base import system_from

TIGHT = 1e-11
# Steps per unit of time with which each reaches round-off on bodies that turn once in a few units of time.
METHODS = {
    ct.DMV(10): 25,
    ct.DMV(12): 20,
    ct.Composition(ct.SymmetricRotation(), "kahanli8"): 10,
    ct.Composition(ct.ThreeRotations(), "kahanli8"): 16,
    ct.Gauss(6): 5,
}
DESCRIBED = ct.Body.from_inertia(2.0, [[2.0, 0.3, -0.1], [0.3, 2.5, 0.2], [-0.1, 0.2, 3.0]])


def steps_for(method: ct.Composition, case: dict) -> int:
    return round(abs(case["t"]) * METHODS[method])


# Reference motions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(f"B{k}", marks=pytest.mark.slow if k in (2, 3, 6, 7) else ()) for k in range(1, 10)]
)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_integrators_reach_the_reference_motion(method, name):
    """Solid, flat (B8), symmetric (B5, B6), spherical (B7), on the separatrix (B9), backwards in time (B4)."""
    assert bodies.error(method, FREE[name], steps_for(method, FREE[name])) < TIGHT


def test_book_of_vilmart_with_four_thousand_steps():
    """dt = 0.01 to t = 40: 1e-12 [vilmart2015, figure 1]."""
    assert bodies.error(ct.DMV(10), FREE["B1"], 4000, compiled=True) < 1e-12


@pytest.mark.parametrize("moments", [(0.627, 0.376, 1.0), (0.376, 0.627, 1.0 + 1e-9)])
def test_a_wrong_moment_is_seen(moments):
    case = FREE["B1"] | {"moments": moments}
    assert bodies.error(ct.DMV(10), case, 1000) > 10 * TIGHT


def test_one_wrong_digit_in_a_coefficient_is_seen():
    true = moser_veselov.coefficients

    def misprinted(moments, order):
        return true(moments, order) * np.array([1.0, 1.0 + 1e-4, *[1.0] * 27])

    with mock.patch.object(moser_veselov, "coefficients", misprinted):
        assert bodies.error(ct.DMV(10), FREE["B2"], 250) > 10 * TIGHT


def test_before_its_return_to_the_middle_axis_a_flipping_body_is_followed_to_round_off():
    """B11 at t = 100, after the first flip, against the closed form."""
    case = FREE["B11"]
    y, q = free_motion(case["moments"], case["y0"], q0=case["q0"], times=[100.0])
    assert distance(run_to(ct.DMV(10), problem_of(case), 100.0, 2000), y[0], q[0]) < TIGHT


def test_after_its_return_only_the_exact_solution_knows_the_phase():
    """B11 at t = 200: the energy decides how near the body passes the middle axis, 1 - k^2 = 2.6e-12 of it, so that a relative
    error of eps in it moves the next flip by about eps/2.6e-12 = 8e-5. Integrators stay within (1e-6 with compensated sums)."""
    case = FREE["B11"]
    error = bodies.error(ct.DMV(10), case, 4000)
    assert TIGHT < error < EPS / 2.643e-12


# Any axes -----------------------------------------------------------------------------------------------------------------


def axis_orders() -> list[np.ndarray]:
    """The quaternions of the 24 rotations that take axes to axes."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), order] = signs
            if np.linalg.det(matrix) > 0:
                found.append(rotations.from_matrix(matrix))
    return found


@pytest.mark.parametrize("method", [ct.DMV(10), ct.SymmetricRotation(), ct.ImplicitMidpoint()], ids=str)
def test_the_order_of_the_axes_does_not_matter(method):
    """All 24 relabellings give the same motion up to round-off, also at a step where the method itself is off by 1e-3.

    ThreeRotations depends on the order of its axes, so it is not here."""
    case = FREE["B2"] | {"t": 2.0}
    plain = run_to(method, problem_of(case), 2.0, 20)
    for turn in axis_orders():
        again = turned_back(run_to(method, turned_problem(case, turn), 2.0, 20), turn)
        assert distance(again, plain.angular_momentum, plain.orientation) < 100 * EPS


def test_three_rotations_depend_on_the_order_of_the_axes():
    case = FREE["B2"] | {"t": 2.0}
    plain = run_to(ct.ThreeRotations(), problem_of(case), 2.0, 20)
    again = [turned_back(run_to(ct.ThreeRotations(), turned_problem(case, a), 2.0, 20), a) for a in axis_orders()]
    assert max(distance(state, plain.angular_momentum, plain.orientation) for state in again) > 1e-4


@pytest.mark.parametrize("name", ["B2", "B3", "B5", "B9"])
@pytest.mark.parametrize("method", [ct.DMV(10), ct.Gauss(6)], ids=str)
def test_a_body_whose_tensor_is_not_diagonal_moves_the_same(method, name):
    """Published fields refer to the axes in which the body was given."""
    case, turn = FREE[name], unit(0.3, -0.5, 0.7, 0.2)
    of = turned_problem(case, turn)
    assert not np.array_equal(of.system.body.frame, [1, 0, 0, 0])
    end = run_to(method, of, case["t"], steps_for(method, case))
    assert distance(turned_back(end, turn), case["y"], case["q"]) < TIGHT
    assert distance(end, case["y"], case["q"]) > 0.01, "the axes must matter"


def test_a_published_row_is_the_state_in_the_given_axes():
    """What `publish` writes and what `unpack` returns are the same, and the start comes back."""
    system = ct.FreeBody(DESCRIBED)
    start = system.start(unit(1, 2, 3, 4), angular_momentum=(0.3, -0.2, 0.9))
    program = build(system, ct.DMV(4), compiled=False)
    run = Driver(program, program.view.pack(start), t0=0.0, dt=0.1, every=1)
    first = system.columns(run.first_row().rows)
    assert distance(start, first["angular_momentum"][0], first["orientation"][0]) < 4 * EPS
    row = system.columns(run.advance(5).rows)
    end = program.view.unpack(run.z, 0.5)
    assert distance(end, row["angular_momentum"][-1], row["orientation"][-1]) < 4 * EPS


# Starts -------------------------------------------------------------------------------------------------------------------


def test_momentum_is_the_tensor_times_the_velocity_in_the_given_axes():
    system, velocity = ct.FreeBody(DESCRIBED), np.array([0.3, -0.2, 0.9])
    start = system.start(angular_velocity=velocity)
    np.testing.assert_allclose(start.angular_momentum, DESCRIBED.tensor @ velocity, rtol=4 * EPS)
    assert np.abs(start.angular_momentum - DESCRIBED.moments * velocity).max() > 0.01


@pytest.mark.parametrize(
    ("orientation", "motion", "message"),
    [
        ((1, 0, 0, 0), {}, "either"),
        ((1, 0, 0, 0), {"angular_velocity": (1, 0, 0), "angular_momentum": (1, 0, 0)}, "either"),
        ((0, 0, 0, 0), {"angular_momentum": (1, 0, 0)}, "length 0"),
        ((2, 0, 0, 0), {"angular_momentum": (1, 0, 0)}, "length 2"),
        ((1, 0, 0), {"angular_momentum": (1, 0, 0)}, "orientation"),
        ((1, 0, 0, float("nan")), {"angular_momentum": (1, 0, 0)}, "orientation"),
        ((1, 0, 0, 0), {"angular_momentum": (1, 0)}, "angular_momentum"),
        ((1, 0, 0, 0), {"angular_velocity": "fast"}, "angular_velocity"),
    ],
)
def test_starts_that_make_no_sense_are_refused(orientation, motion, message):
    with pytest.raises(ct.InputError, match=message):
        ct.FreeBody(DESCRIBED).start(orientation, **motion)


@pytest.mark.parametrize("system", [ct.FreeBody(DESCRIBED), ct.Top(DESCRIBED, ct.Gravity())], ids=["free", "top"])
def test_a_quaternion_is_normalised_if_it_is_off_by_a_millionth_and_refused_beyond(system):
    q = np.array([0.1, -0.7, 0.1, 0.7])
    for factor in (1 + 0.9e-6, 1 - 0.9e-6):
        start = system.start(factor * q, angular_momentum=(1, 0, 0))
        assert abs(np.linalg.norm(start.orientation) - 1) <= 2 * EPS
        np.testing.assert_allclose(start.orientation, q, rtol=4 * EPS)
    for factor in (1 + 1.1e-6, 1 - 1.1e-6, -2.0):
        with pytest.raises(ct.InputError, match="has length") as refused:
            system.start(factor * q, angular_momentum=(1, 0, 0))
        assert "give a unit quaternion" in refused.value.do


# Invariants -----------------------------------------------------------------------------------------------------------------


def test_the_invariants_are_energy_casimir_spatial_momentum_and_the_length_of_q():
    system = ct.FreeBody(DESCRIBED)
    start = system.start(unit(1, -2, 0.5, 1), angular_momentum=(0.3, -0.2, 0.9))
    program = build(system, ct.DMV(10), compiled=False)
    row = system.columns(Driver(program, program.view.pack(start), t0=0.0, dt=0.1, every=1).first_row().rows)
    y = start.angular_momentum
    assert [i.name for i in system.invariants] == ["energy", "casimir", "spatial_momentum", "unit_residual"]
    assert row["energy"][0] == pytest.approx(0.5 * y @ np.linalg.solve(DESCRIBED.tensor, y), rel=1e-14)
    assert row["casimir"][0] == pytest.approx(0.5 * y @ y, rel=1e-14)
    np.testing.assert_allclose(row["spatial_momentum"][0], rotations.to_matrix(start.orientation) @ y, rtol=1e-14)
    assert abs(row["unit_residual"][0]) <= 4 * EPS


# Degenerate bodies ------------------------------------------------------------------------------------------------------------

ROD = ct.Body(moments=(1.0, 1.0, 0.0))
ACROSS = (0.5, -0.25, 0.0)


@pytest.mark.parametrize(
    "method", [ct.SymmetricRotation(), ct.DMV(2), ct.DMV(10), ct.Rattle(), ct.ImplicitMidpoint()], ids=str
)
def test_a_line_turns_uniformly_about_its_momentum(method):
    """Exactly, but for the angle: SymmetricRotation and the preprocessed methods have it right, the others to order 2."""
    system = ct.FreeBody(ROD)
    start = system.start(angular_momentum=ACROSS)
    end = run_to(method, bodies.Problem("rod", system, start, 0.1), 3.0, 60)
    angle = 3.0 * np.linalg.norm(ACROSS)
    q = [np.cos(angle / 2), *np.sin(angle / 2) * np.array(ACROSS) / np.linalg.norm(ACROSS)]
    accurate = method.traits.order > 2 or isinstance(method, ct.SymmetricRotation)
    assert distance(end, ACROSS, q) < (1e-13 if accurate else 1e-3)
    assert end.angular_momentum[2] == 0.0


@pytest.mark.parametrize("method", [ct.SymmetricRotation(), ct.DMV(2), ct.ImplicitMidpoint()], ids=str)
def test_the_moment_about_a_line_never_enters(method):
    """With I1 = I2 and no momentum along axis 3 any third moment gives the same bits."""
    ends = [run_to(method, free_problem((1.0, 1.0, third), ACROSS), 3.0, 60) for third in (0.3, 1.0, 1.9)]
    system = ct.FreeBody(ROD)
    ends.append(run_to(method, bodies.Problem("rod", system, system.start(angular_momentum=ACROSS), 0.1), 3.0, 60))
    assert len({(end.orientation.tobytes(), (end.angular_momentum + 0.0).tobytes()) for end in ends}) == 1


def test_for_three_rotations_it_would():
    """Which is why they are refused: y3 = 0 is not kept."""
    a, b = (run_to(ct.ThreeRotations(), free_problem((1.0, 1.0, third), ACROSS), 3.0, 60) for third in (0.3, 1.9))
    assert 1e-6 < distance(a, b.angular_momentum, b.orientation) < 1e-2
    with pytest.raises(ct.CapabilityError, match="linear body spin about its own line"):
        build(ct.FreeBody(ROD), ct.ThreeRotations(), compiled=False)


def test_a_line_cannot_spin_about_itself():
    with pytest.raises(ct.InputError, match="own line"):
        ct.FreeBody(ROD).start(angular_momentum=(0.5, -0.25, 1e-12))
    # momentum made of a velocity is never refused for its round-off
    rng = np.random.default_rng(5)
    for _ in range(100):
        line = ct.Body.from_particles(np.outer([-1.1, 0.1, 1.3], rng.normal(size=3)) + rng.normal(size=3), [16, 12, 16])
        assert line.kind == "linear"
        ct.FreeBody(line).start(angular_velocity=rng.normal(size=3))


def test_a_point_has_no_orientation():
    with pytest.raises(ct.CapabilityError, match="point"):
        ct.FreeBody(ct.Body.box((0, 0, 0)))


@pytest.mark.parametrize("power", [-40, 40])
@pytest.mark.parametrize(
    "method", [ct.DMV(2), ct.DMV(12), ct.SymmetricRotation(), ct.ThreeRotations(), ct.Gauss(2)], ids=str
)
def test_the_unit_of_mass_does_not_matter(method, power):
    """Moments of about 1e-12 and 1e12: with a power of two the orientations have the same bits."""
    scale = 2.0**power
    plain, scaled = (
        run_to(method, free_problem(np.array([0.6, 0.9, 1.3]) * s, np.array([0.7, -0.5, 0.9]) * s), 2.0, 20)
        for s in (1.0, scale)
    )
    assert plain.orientation.tobytes() == scaled.orientation.tobytes()
    assert (plain.angular_momentum * scale).tobytes() == scaled.angular_momentum.tobytes()


# Descriptions, stores, sections ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [ct.Body(moments=(1, 2, 2.5)), DESCRIBED, ROD, ct.Body.tetrahedron()], ids=str)
def test_a_described_system_comes_back(body):
    described = json.loads(json.dumps(ct.FreeBody(body).describe()))
    again = system_from(described)
    assert again.describe() == described and again.body == body


def test_a_stored_run_resumes_to_the_same_bits(tmp_path):
    """The modified moments of DMV(10), computed in the first step, are part of what a store keeps."""
    system = ct.FreeBody(DESCRIBED)
    start = system.start(angular_momentum=(0.3, -0.2, 0.9))
    arguments = {"method": ct.DMV(10), "dt": 0.05, "every": 3}
    whole = ct.simulate(system, start, steps=900, **arguments)
    ct.simulate(system, start, steps=411, out=tmp_path / "run.zarr", **arguments)
    resumed = ct.resume(tmp_path / "run.zarr", steps=900)
    for name in ("orientation", "angular_momentum", "energy", "spatial_momentum"):
        assert resumed.data[name].values.tobytes() == whole.data[name].values.tobytes(), name
    assert resumed.final.orientation.tobytes() == whole.final.orientation.tobytes()


def test_sections_are_written_in_components():
    """A component of y changes sign every half period of the exact motion; located to the accuracy of DMV(10)."""
    case = FREE["B1"]
    of = problem_of(case)
    run = ct.simulate(
        of.system, of.start, method=ct.DMV(10), dt=0.05, t_end=40.0,
        sections=[ct.Section("turn", "angular_momentum[1]", direction=0, where="orientation[0]**2 >= 0")],
    )  # fmt: skip
    times = run.sections["turn"].time.values
    y, _ = free_motion(case["moments"], case["y0"], q0=case["q0"], times=times)
    assert len(times) == 11 and np.abs(y[:, 1]).max() < 1e-12
    np.testing.assert_allclose(np.diff(times), bodies.RIGID["flip"][2]["half_period"], rtol=1e-12)


def test_an_unknown_component_is_refused():
    of = problem_of(FREE["B1"])
    with pytest.raises(ct.InputError, match=r"angular_momentum\[3\]"):
        ct.simulate(
            of.system, of.start, method=ct.DMV(10), dt=0.05, steps=10, sections=[ct.Section("s", "angular_momentum[3]")]
        )
