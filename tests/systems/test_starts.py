"""Starts: orientations in every form, Euler angles with rates, numbers that are none, rods and points, starts that are forced."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena as ct
from catena.geometry import rotations
from catena.systems.linkage import constraints
from catena.systems.numbers import finite_number, real_array

RANDOM = np.random.default_rng(2026)
BODY = ct.Body(moments=(1.0, 1.5, 2.0))


def quaternions(n: int) -> np.ndarray:
    return rotations.normalise(RANDOM.normal(size=(n, 4)))


def same_turns(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of two sets of quaternions, whose signs tell nothing."""
    return float(np.abs(np.abs(np.sum(a * b, axis=-1)) - 1.0).max())


def pair() -> ct.Chain:
    return ct.Chain([BODY] * 2, ct.BendTwist(1.0, 1.0, 1.0, (1.0, 0.0, 0.0)), left=ct.Free())


# One door for orientations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["matrix", "rotation", "list"])
def test_one_body_takes_matrices_and_scipy_rotations(form: str) -> None:
    """Against scipy's own conversion, whose quaternions have the scalar last."""
    for q in quaternions(20):
        turn = Rotation.from_quat(q[[1, 2, 3, 0]])
        given = {"matrix": turn.as_matrix(), "rotation": turn, "list": turn.as_matrix().tolist()}[form]
        for system in (ct.FreeBody(BODY), ct.Top(BODY, ct.Gravity()), ct.ScalingBody(BODY)):
            start = system.start(given, angular_momentum=(0.0, 0.0, 1.0))
            assert same_turns(start.orientation, q) < 4e-16
            assert abs(np.linalg.norm(start.orientation) - 1.0) < 4e-16


def test_several_bodies_take_matrices_and_scipy_rotations() -> None:
    q = quaternions(2)
    turns = Rotation.from_quat(np.roll(q, -1, axis=1))
    linkage = ct.Linkage([ct.Body.box((1, 2, 3))] * 2, [])
    for system, place in ((pair(), [(0, 0, 0), (1, 0, 0)]), (linkage, [(0, 0, 0), (9, 0, 0)])):
        for given in (q, turns, turns.as_matrix()):
            assert same_turns(system.start(place, given).orientation, q) < 4e-16


def test_an_axis_with_an_angle_turns_as_it_says() -> None:
    """A third of a turn about the diagonal takes x to y, y to z."""
    turn = Rotation.from_rotvec(2 * np.pi / 3 * np.ones(3) / math.sqrt(3))
    start = ct.FreeBody(BODY).start(turn, angular_momentum=(0, 0, 1))
    assert rotations.rotate(start.orientation, np.eye(3)) == pytest.approx(np.roll(np.eye(3), 1, axis=1), abs=4e-16)


WRONG_TURNS = {
    "mirrored": (np.diag([1.0, 1.0, -1.0]), "is a reflection, not a rotation: its determinant is -1"),
    "sheared": (
        np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        "is no rotation matrix: R^T R differs from 1 by",
    ),
    "scaled": (2.0 * np.eye(3), "is no rotation matrix"),
    "zero": (np.zeros(4), "has length 0"),
    "not finite": (np.full((3, 3), np.nan), "is not finite"),
    "shape": (np.zeros((2, 2)), r"orientation has shape (2, 2)"),
    "complex": (np.array([1j, 0, 0, 0]), "complex numbers"),
    "long": ((2.0, 0.0, 0.0, 0.0), "has length 2"),
}


@pytest.mark.parametrize("name", WRONG_TURNS)
def test_what_is_no_rotation_is_refused(name: str) -> None:
    given, message = WRONG_TURNS[name]
    with pytest.raises(ct.InputError) as refused:
        ct.FreeBody(BODY).start(given, angular_momentum=(0, 0, 1))
    assert message in refused.value.wrong and refused.value.where == "start.orientation" and refused.value.do
    if name == "shape":
        return
    given = np.asarray(given)
    many = np.stack([np.eye(3) if given.ndim == 2 else np.eye(4)[0], given])
    with pytest.raises(ct.InputError) as refused:
        pair().start([(0, 0, 0), (1, 0, 0)], many)
    assert message in refused.value.wrong and refused.value.where in ("start.orientation[1]", "start.orientation")


# Euler angles with rates -------------------------------------------------------------------------------------------------

SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] and s[1] != s[2]]


@pytest.mark.parametrize("axes", SEQUENCES)
def test_euler_angles_give_the_rotation_and_its_angular_velocity(axes: str) -> None:
    """The rotation as scipy makes it; the angular velocity from a difference of rotations, R(-h)^T R(h) = exp(2 h hat omega)."""
    angles, rates, h = RANDOM.uniform(-3, 3, (5, 3)), RANDOM.normal(size=(5, 3)), 1e-5
    made = ct.euler_angles(angles, rates, axes=axes)
    turns = Rotation.from_euler(axes.upper(), angles)
    assert same_turns(made["orientation"], np.roll(turns.as_quat(), 1, axis=1)) < 1e-15
    before, after = (Rotation.from_euler(axes.upper(), angles + s * h * rates) for s in (-1, 1))
    omega = (before.inv() * after).as_rotvec() / (2 * h)
    assert made["angular_velocity"] == pytest.approx(omega, abs=2e-9)  # h^2/6 times third derivatives, and eps/h
    assert np.abs(made["angular_velocity"] - turns.apply(omega)).max() > 0.1  # in space it would be another one


def test_a_top_starts_from_euler_angles() -> None:
    """y = I (theta' - psi' sin theta ...) of the Lagrange top: p_psi and p_phi are momenta that its motion keeps."""
    a, c, theta, psid, phid = 1.0, 0.5, 0.7, 0.3, 5.0
    top = ct.Top(ct.Body(moments=(a, a, c)), ct.Gravity())
    start = top.start(**ct.euler_angles((0.2, theta, -0.4), (psid, 0.1, phid)))
    spatial = rotations.rotate(start.orientation, start.angular_momentum)
    p_phi = c * (phid + psid * math.cos(theta))
    assert start.angular_momentum[2] == pytest.approx(p_phi, rel=1e-15)
    assert spatial[2] == pytest.approx(a * psid * math.sin(theta) ** 2 + p_phi * math.cos(theta), rel=1e-15)


def test_one_set_of_angles_gives_one_orientation_and_no_rates_no_velocity() -> None:
    made = ct.euler_angles((0.1, 0.2, 0.3))
    assert set(made) == {"orientation"} and made["orientation"].shape == (4,)
    assert same_turns(made["orientation"], rotations.from_euler((0.1, 0.2, 0.3))) < 1e-15


@pytest.mark.parametrize(
    ("arguments", "options", "where"),
    [
        (((0, 0, 0),), {"axes": "zzx"}, "euler_angles.axes"),
        (((0, 0, 0),), {"axes": "abc"}, "euler_angles.axes"),
        (((0, 0),), {}, "euler_angles.angles"),
        (((0, 0, 1j),), {}, "euler_angles.angles"),
        (((0, 0, 0), np.zeros((2, 3))), {}, "euler_angles.rates"),
    ],
)
def test_wrong_euler_angles_are_explained(arguments: tuple, options: dict, where: str) -> None:
    with pytest.raises(ct.InputError) as refused:
        ct.euler_angles(*arguments, **options)
    assert refused.value.where == where and refused.value.do


# The quaternion of a scaling body ----------------------------------------------------------------------------------------


def test_the_squared_length_of_its_quaternion_is_the_scale_of_a_scaling_body() -> None:
    """xi = A rho A* takes points of the body to s R rho, s = |A|^2 [moeller2012]."""
    body = ct.ScalingBody(BODY)
    a = np.array([0.9, -0.3, 0.4, 0.2])
    start = body.start(a, angular_velocity=(0.1, 0.2, 0.3))
    assert float(start.scale) == pytest.approx(a @ a, rel=1e-15)
    rho = np.array([0.3, -0.1, 0.7])
    moved = rotations.multiply(rotations.multiply(a, [0.0, *rho]), rotations.conjugate(a))[1:]
    assert start.scale * rotations.rotate(start.orientation, rho) == pytest.approx(moved, abs=1e-15)
    assert start.angular_momentum == pytest.approx((a @ a) ** 2 * BODY.tensor @ (0.1, 0.2, 0.3), rel=1e-14)
    assert start.orientation == pytest.approx(body.start(a / np.sqrt(a @ a), scale=2.0).orientation, abs=2e-16)


def test_a_length_of_one_but_for_rounding_is_one() -> None:
    q = np.array([0.1, -0.7, 0.1, 0.7]) * (1 + 4e-16)
    assert float(ct.ScalingBody(BODY, constraint="unilateral").start(q).scale) == 1.0
    with pytest.raises(ct.InputError, match="beyond the bound"):
        ct.ScalingBody(BODY, constraint="unilateral").start(1.1 * q)
    with pytest.raises(ct.InputError, match=r"has length 1\.1"):  # two scales at once
        ct.ScalingBody(BODY).start(1.1 * q, scale=1.0)


# Numbers that are none ---------------------------------------------------------------------------------------------------

NO_NUMBERS = {
    "complex numbers": np.array([1.0 + 0j, 2.0, 3.0]),
    "texts": np.array(["1", "2", "3"]),
    "truth values": np.array([True, False, True]),
    "dates": np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
    "durations": np.array([1, 2, 3], dtype="timedelta64[s]"),
    "masked values": np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "rows of different lengths": [[1.0], [2.0, 3.0]],
    "what is no number": [object(), None, object()],
}


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_what_is_no_real_number_is_refused_and_not_cast(what: str) -> None:
    """The twin: numpy casts most of them, some with a warning."""
    given = NO_NUMBERS[what]
    with pytest.raises(TypeError, match=what):
        real_array(given)
    kepler, linkage = ct.problems.kepler().system, ct.Linkage([ct.Body.box((1, 2, 3))], [])
    flat = ct.Hamiltonian("p1**2 + p2**2 + p3**2 + q1**2 + q2**2 + q3**2", q=["q1", "q2", "q3"], p=["p1", "p2", "p3"])
    starts = [
        lambda: flat.start(q=given, p=(0, 0, 0)),
        lambda: ct.FreeBody(BODY).start(angular_momentum=given),
        lambda: linkage.start(momentum=[given]),
        lambda: pair().start([given, given]),
        lambda: ct.ScalingBody(BODY).start(position=given),
        lambda: ct.Body(moments=given),
        lambda: ct.simulate(kepler, ct.State({"q": given, "p": given}), dt=0.1, steps=1),
        lambda: ct.ensemble(kepler, {"q": given, "p": given}, dt=0.1, steps=1),
        lambda: ct.Force(given) and ct.Chain([BODY] * 2, ct.Harmonic(1.0, 1.0), right=ct.Force(given)),
    ]
    for start in starts:
        with pytest.raises(ct.InputError):
            start()


def test_numbers_of_other_kinds_are_taken() -> None:
    given = [Fraction(1, 2), Decimal("0.25"), np.float32(0.125), 10**20]
    assert real_array(given).tolist() == [0.5, 0.25, 0.125, 1e20]
    assert real_array(np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert finite_number(np.array(3), "here") == 3.0
    with pytest.raises(ct.InputError, match=r"has shape \(2,\)"):
        finite_number([1.0, 2.0], "here")


# Rods and points on joints -----------------------------------------------------------------------------------------------


def hanging_rods() -> ct.Linkage:
    rod, point = ct.Body.rod(1.0), ct.Body.from_particles([(0, 0, 0)], masses=2.0)
    up, down = (0, 0, 0.5), (0, 0, -0.5)
    joints = [
        ct.Spherical(-1, 0, ((0, 0, 0), up)),
        ct.Spherical(0, 1, (down, up)),
        ct.Spherical(1, 2, (down, (0, 0, 0))),
    ]
    return ct.Linkage([rod, rod, point], joints)


def test_rods_and_points_are_projected_onto_their_joints() -> None:
    """To where all points meet, with velocities that keep them together; none spins about its own line."""
    linkage = hanging_rods()
    place = np.array([(0.1, 0, -0.5), (0, 0.1, -1.4), (0, 0, -2.1)])
    start = linkage.start(place, velocity=[(1, 0, 0), (1, 0, 0), (2, 0.5, 0)], project=True)
    r, turn = start.position, rotations.to_matrix(start.orientation)
    ends = [r[0] + turn[0] @ (0, 0, 0.5), r[0] + turn[0] @ (0, 0, -0.5) - r[1] - turn[1] @ (0, 0, 0.5)]
    ends.append(r[1] + turn[1] @ (0, 0, -0.5) - r[2])
    assert np.abs(ends).max() < 1e-15
    h, z = 1e-6, start
    omega = (
        start.angular_momentum * [[12.0, 12.0, 0.0]] * 2 if False else start.angular_momentum[:2] * (12.0, 12.0, 0.0)
    )
    moved = [
        (r[j] + h * z.momentum[j] / m, turn[j] @ Rotation.from_rotvec(h * w).as_matrix())
        for j, (m, w) in enumerate(zip((1.0, 1.0, 2.0), [*omega, np.zeros(3)], strict=True))
    ]
    gaps = [moved[0][0] + moved[0][1] @ (0, 0, 0.5)]
    gaps += [moved[0][0] + moved[0][1] @ (0, 0, -0.5) - moved[1][0] - moved[1][1] @ (0, 0, 0.5)]
    gaps += [moved[1][0] + moved[1][1] @ (0, 0, -0.5) - moved[2][0]]
    assert np.abs(gaps).max() / h < 1e-5 and np.abs(start.momentum).max() > 0.5
    assert (start.angular_momentum[:2, 2] == 0.0).all() and not start.angular_momentum[2].any()


def test_a_projected_start_fits_its_own_images(monkeypatch) -> None:
    """The second axis of a universal joint is where the returned state has it, not where the given one had it: that start would be refused."""
    joint = ct.Universal(-1, 0, at=((-0.4, 0.9, -1.2), (0.5, 0.8, 0.3)), axis=(0.4, -0.9, 0.1))
    linkage = ct.Linkage([ct.Body.from_inertia(2.0, [[1.0, 0.2, 0.0], [0.2, 1.5, 0.1], [0.0, 0.1, 2.0]])], [joint])
    given = {"position": [(0.3, 0.1, -0.9)], "velocity": [(1.0, 0.5, -0.7)], "angular_velocity": [(0.3, -0.8, 0.5)]}

    def accepted() -> ct.State:
        start = linkage.start(**given, project=True)
        return linkage.start(
            start.position, start.orientation, momentum=start.momentum, angular_momentum=start.angular_momentum
        )

    spin = rotations.rotate(
        accepted().orientation[0], np.linalg.solve(linkage.bodies[0].tensor, accepted().angular_momentum[0])
    )
    second = joint.triad[1]  # in the ground and, at this start, in the body
    assert abs(spin @ np.cross(second, joint.triad[0])) < 1e-14 < abs(spin @ second), (
        "it turns about these two axes only"
    )
    images = constraints.images_of(linkage, np.array([[1.0, 0, 0, 0]]))
    monkeypatch.setattr(constraints, "images_of", lambda linkage, orientation: images)
    state = linkage.start(**given, project=True)
    monkeypatch.undo()
    with pytest.raises(ct.InputError, match="pull joint 0"):
        linkage.start(
            state.position, state.orientation, momentum=state.momentum, angular_momentum=state.angular_momentum
        )


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e8])
def test_a_torn_start_is_found_in_any_unit_of_length(unit: float) -> None:
    """Two boxes apart by a millionth of their size: atoms in metres, orbits in metres. A good start at the origin is taken."""
    box = ct.Body.box((0.2 * unit, 0.2 * unit, unit))
    hinge = ct.Revolute(0, 1, ((0, 0, -0.5 * unit), (0, 0, 0.5 * unit)), axis=(1, 0, 0))
    linkage, spin = ct.Linkage([box] * 2, [hinge]), [(0.3, 0.0, 0.0), (-0.4, 0.0, 0.0)]
    good = linkage.start(angular_velocity=spin)
    linkage.start(good.position, velocity=good.momentum, angular_velocity=spin)
    apart = good.position + np.array([[0, 0, 0], [0, 0, 1e-6 * unit]])
    with pytest.raises(ct.InputError, match="does not fit joint 0"):
        linkage.start(apart)
    with pytest.raises(ct.InputError, match="pull joint 0"):
        linkage.start(
            good.position, velocity=good.momentum + np.array([[0, 0, 0], [0, 1e-6 * unit, 0]]), angular_velocity=spin
        )
    mended = linkage.start(apart, project=True)
    assert np.abs(mended.position[0] - mended.position[1] - (0, 0, unit)).max() < 1e-15 * unit


def test_reactions_of_hanging_rods_are_their_weights() -> None:
    linkage = hanging_rods()
    force = linkage.reactions(linkage.start()).force
    assert force == pytest.approx(
        9.81 * np.array([[0, 0, 4.0], [0, 0, 3.0], [0, 0, 2.0]]), rel=0, abs=1e-14 * 4.0 * 9.81
    )


# Chains: starts that are forced, and one warning for many ------------------------------------------------------------------


def test_particles_of_a_soft_potential_may_start_on_top_of_each_other() -> None:
    """The distance at which a user's own potential rests says nothing about how near its particles may come."""
    dimer = ct.Body.from_particles([(-0.1, 0, 0), (0.1, 0, 0)])
    chain = ct.Chain([dimer] * 2, ct.PairPotential("exp(-(r - 2)**2)*(-3)"), left=ct.Free())
    with pytest.raises(ct.InputError, match="less than half of") as refused:
        chain.straight(0.3)
    assert "check=False" in refused.value.do
    start = chain.straight(0.3, check=False)
    assert start.position[1, 0] == 0.3
    assert np.array_equal(chain.start(start.position, check=False).position, start.position)


def test_restarts_of_a_warm_chain_warn_once() -> None:
    """A hundred states of the same chain, all pressed beyond the cohesion: one warning; another chain warns anew."""
    tetrahedra = [ct.Body.tetrahedron()] * 3
    potential = ct.LennardJones(5.0, 1.0)

    def warm(chain: ct.Chain) -> int:
        with warnings.catch_warnings(record=True) as message:
            warnings.simplefilter("always")
            for shift in np.linspace(0.0, 0.01, 100):
                chain.straight(1.62 + shift)
        return len(message)

    with pytest.warns(ct.CatenaWarning) as told:  # at the line of the user, however deep it was found
        ct.Chain(tetrahedra, potential).straight(1.62)
    assert told[0].filename == __file__
    first, second = (ct.Chain(tetrahedra, potential) for _ in range(2))
    assert (warm(first), warm(first), warm(second)) == (1, 0, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda flat: flat.start(x=1, y=0, px=0, py=1), "start takes no 'x'"),
        (lambda flat: flat.start(q=(1, 0)), "missing a required argument: 'p'"),
        (lambda flat: flat.start((1, 0), (0, 1), 0.0), "too many positional arguments"),
    ],
)
def test_a_start_in_names_of_its_own_is_told_how_coordinates_are_given(
    call: Callable[[ct.Hamiltonian], ct.State], words: str
) -> None:
    flat = ct.Hamiltonian("(px**2 + py**2 + x**2 + y**2)/2", q=["x", "y"], p=["px", "py"])
    with pytest.raises(ct.InputError) as caught:
        call(flat)
    assert (caught.value.wrong, caught.value.do) == (words, "it takes q = [x, y], p = [px, py], time")


@pytest.mark.parametrize(
    ("given", "meant"), [("positions", "position"), ("omega", ""), ("angular_velocty", "angular_velocity")]
)
def test_misspelt_names_of_a_start_are_recognised(given: str, meant: str) -> None:
    for system in (pair(), ct.ScalingBody(BODY), ct.Linkage([BODY], [ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 1)))])):
        with pytest.raises(
            ct.InputError, match=re.escape(f"start takes no {given!r}" + (f" (did you mean {meant}?)" if meant else ""))
        ):
            system.start(**{given: (0.0, 0.0, 0.0)})
    with pytest.raises(ct.InputError, match="it takes orientation, angular_velocity"):
        ct.FreeBody(BODY).start(spin=(0, 0, 1))


def test_a_mistake_inside_a_start_is_not_taken_for_a_wrong_name() -> None:
    class Faulty:
        def __array__(self, *arguments: object, **named: object) -> np.ndarray:
            raise TypeError("a fault of its own")

    with pytest.raises(Exception) as caught:  # noqa: PT011
        ct.FreeBody(BODY).start(Faulty(), angular_momentum=(0, 0, 1))
    assert "start takes" not in str(caught.value)
