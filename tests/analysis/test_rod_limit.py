"""Waves, and the rod that a long chain is: reference values, symmetries, orders of convergence, and what spoils them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mpmath import findroot, mp, mpf

import catena as ct
from catena.analysis.statics import rod as rods
from catena.analysis.statics import rod_modes
from catena.analysis.statics.compliance import Sweep
from catena.analysis.statics.poses import Poses
from catena.analysis.statics.problem import StaticProblem
from catena.analysis.statics.rod_modes import RodPiece, rod_frequencies
from catena.analysis.statics.units import scale_matrices
from statics import REFERENCE, helix

HELIX = helix(8)
WAVES, ROD = REFERENCE["dispersion"], REFERENCE["rod"]


def waves(k, cell=1):
    return HELIX.system.dispersion(k, cell, at=HELIX.start)


def symmetric(rows):
    matrix = np.zeros((6, 6))
    for i, row in enumerate(rows):
        matrix[i, i:] = matrix[i:, i] = row
    return matrix


def test_six_branches_of_waves():
    """40 digits; float64 has 2e-12."""
    found = waves(WAVES["k"])
    assert np.abs(found.omega - np.array(WAVES["omega"])).max() < 1e-11


def test_waves_run_the_same_in_both_directions_and_begin_where_they_should():
    """Two zeros at k = 0, stretch and twist; one at each of k = +-theta, bending. The root of round-off is 1e-6."""
    k = np.linspace(0.0, np.pi, 7)
    assert np.abs(waves(k).omega - waves(-k).omega).max() < 1e-6
    assert np.abs(waves(k[1:]).omega ** 2 - waves(-k[1:]).omega ** 2).max() < 1e-11
    angle = waves(0.1).angle
    for at, zeros in ((0.0, 2), (angle, 1), (-angle, 1)):
        assert (np.abs(waves(at).omega) < 1e-5).sum() == zeros


def test_cells_of_two_are_folded():
    k = np.linspace(0.2, 3.0, 5)
    folded = np.sort(np.concatenate([waves(k / 2).omega, waves(k / 2 + np.pi).omega], axis=1), axis=1)
    assert np.abs(waves(k, 2).omega ** 2 - folded**2).max() < 1e-10


def test_group_velocities_are_slopes():
    h = 1e-4
    found = waves([1.0, 1.0 + h, 1.0 - h])
    assert found.velocity[0] == pytest.approx((found.omega[1] - found.omega[2]) / (2 * h), abs=1e-6)


def test_a_pulled_chain_bends_like_a_string():
    """omega = sqrt(T/(m h)) |k - theta| for long waves."""
    problem = helix(32, right="force", F=(3.0, 0.0, 0.0))
    found = problem.system.dispersion(0.0, at=problem.system.equilibrium(problem.start))
    assert found.angle == pytest.approx(1.50173772, abs=1e-8) and found.rise == pytest.approx(0.82205417, abs=1e-7)
    near = problem.system.dispersion(found.angle + 1e-3, at=problem.system.equilibrium(problem.start))
    assert near.omega[0, 0] / 1e-3 == pytest.approx(0.955209, abs=5e-6)


def test_the_rod_of_the_helix():
    rod = HELIX.system.rod_limit(at=HELIX.start)
    assert rod.kind == "exact"
    assert rod.stretch_twist == pytest.approx(np.array(ROD["stretch_twist"]), rel=1e-11)
    assert rod.bending_stiffness == pytest.approx(ROD["bending"], rel=1e-11)
    assert rod.mass_per_length == pytest.approx(ROD["mass"], rel=1e-11)
    assert rod.inertia[3, 3] == pytest.approx(ROD["axial_inertia"], rel=1e-11)
    assert np.abs(rod.compliance - symmetric(ROD["compliance"])).max() < 1e-11
    assert np.abs(rod.stiffness - symmetric(ROD["stiffness"])).max() < 1e-9  # twelve digits are printed
    assert rod.speeds == pytest.approx(WAVES["slopes"], rel=1e-12)
    assert rod.bending_coefficients == pytest.approx([WAVES["bending"]] * 2, rel=1e-12)


def test_two_bodies_in_a_cell_make_the_same_rod():
    one, two = (HELIX.system.rod_limit(cell, at=HELIX.start) for cell in (1, 2))
    assert two.stretch_twist == pytest.approx(one.stretch_twist, rel=1e-11)
    assert two.bending_stiffness == pytest.approx(one.bending_stiffness, rel=1e-11)
    assert 2.0 * two.speeds == pytest.approx(one.speeds, rel=1e-11)


@pytest.mark.parametrize("naive", [False, True])
def test_the_static_compliance_of_the_rod_is_that_of_the_chain(naive, monkeypatch):
    """At the last body of 5: exact; with the compliance of a link turned along (the twin) 1e-2."""
    n, problem = 5, helix(5)
    rod = problem.system.rod_limit(at=problem.start)
    if naive:
        monkeypatch.setattr(rods.RodLimit, "compliance_at", lambda self, s: _turned(self, s))
    to_end = rods.adjoint(np.eye(3), [-0.5 * (n - 1) * rod.rise, 0.0, 0.0])  # from the middle
    piece = RodPiece(rod, 0.0, n - 1.0, (True, False))
    of_rod = to_end @ scale_matrices(piece.between_ends, piece.unit) @ to_end.T
    static = StaticProblem.of(problem.system, None, "test")
    balance = static.balance(Poses.of_state(problem.system, problem.start))
    pushes = np.zeros((6, n, 6))
    pushes[np.arange(6), -1, np.arange(6)] = 1.0
    of_chain = Sweep(static, balance).solve(pushes)[:, -1].T
    carried = rods.about_axis(rod.angle * (n - 1)) @ rods._to_axis(rod.cell.screw)
    error = np.abs(of_rod - carried @ of_chain @ carried.T).max() / np.abs(of_rod).max()
    assert error > 1e-3 if naive else error < 1e-12


def _turned(rod, s):
    turn = rods.about_axis(rod.angle * np.asarray(s))
    return turn @ rod.compliance @ turn.swapaxes(-1, -2)


def bending(rod, n: int, left: str, right: str) -> list[float]:
    """Three frequencies of a straight round rod with shear and rotary inertia, by the way from end to end in 50 digits."""
    with mp.workdps(50):
        h, shear, bend = (mpf(float(x)) for x in (rod.rise, rod.stiffness[1, 1], rod.stiffness[5, 5]))
        mass, rotary = (mpf(float(rod.inertia[k, k])) / h for k in (1, 5))
        length = h * (n - 1 + mpf(left == "free") / 2 + mpf(right == "free") / 2)
        # shift, turn, force, moment: what the left end leaves free, and what the right one makes vanish
        unknown = [2, 3] if left == "clamped" else [0, 1]
        vanish = [0, 1] if right == "clamped" else [2, 3]

        def determinant(square):
            rates = [[0, 1, 1 / shear, 0], [0, 0, 0, 1 / bend], [-mass * square, 0, 0, 0], [0, -rotary * square, -1, 0]]
            way = mp.expm(length * mp.matrix(rates))
            return mp.det(mp.matrix([[way[i, j] for j in unknown] for i in vanish]))

        sign = 1 if left == right else -1
        beams = [findroot(lambda x: mp.cos(x) - sign / mp.cosh(x), (j + 1 + mpf(sign) / 2) * mp.pi) for j in range(3)]
        squares = [bend / mass * (x / length) ** 4 for x in beams]  # of Euler and Bernoulli
        return [float(mp.sqrt(findroot(determinant, (x, x * mpf(0.9999)), verify=False))) for x in squares]


ENDS = [("clamped", "free"), ("free", "clamped"), ("free", "free"), ("clamped", "clamped")]


@pytest.fixture(scope="module")
def straight():
    """The rod of round links, thirty times as long as thick."""
    return ct.Rod.circular(1.0, 1.0 / 480.0, E=1.0, G=0.4, density=1.0, n=9).rod_limit()


@pytest.mark.parametrize(("left", "right"), ENDS)
@pytest.mark.parametrize("n", [10, 100, pytest.param(2000, marks=pytest.mark.slow)])
def test_rods_of_any_length_keep_all_digits(n, left, right, straight):
    """Measured 3e-14. A rod weaker by 1e-10 (the twin) is told from it."""
    exact = np.repeat(bending(straight, n, left, right), 2)
    weaker = replace(straight, harmonics={m: (b, (1.0 + 1e-10) * part) for m, (b, part) in straight.harmonics.items()})
    assert straight.modes(n, left, right) == pytest.approx(exact, rel=1e-11)
    assert np.abs(weaker.modes(n, left, right) / exact - 1.0).min() > 3e-11


def test_rods_stretch_and_twist_in_quarter_waves(straight):
    """omega^-2 is rounded as its largest: omega to (omega/omega_1)^2/2, here a hundred thousand, of eps, with factor 8."""
    n, h = 10, straight.rise
    (ea, _), (_, gj) = straight.stretch_twist
    found = straight.modes(n, count=40)
    for stiffness, inertia in ((ea, straight.inertia[0, 0]), (gj, straight.inertia[3, 3])):
        wanted = 0.5 * np.pi / (n - 0.5) * np.sqrt(stiffness / (h * inertia))
        rounded = 4.0 * np.finfo(float).eps * (wanted / found[0]) ** 2
        assert np.abs(found / wanted - 1.0).min() < rounded < 3e-10


@pytest.mark.parametrize(("left", "right"), ENDS)
def test_points_of_a_link_are_enough_where_it_turns(left, right, monkeypatch):
    """More of them change nothing; with three (the twin), it is 1e-7."""
    rod = HELIX.system.rod_limit(at=HELIX.start)
    found = {}
    for points in (3, rod_modes.GAUSS_POINTS, 14):
        monkeypatch.setattr(rod_modes, "GAUSS_POINTS", points)
        found[points] = rod.modes(30, left, right)
    few, usual, many = found.values()
    assert usual == pytest.approx(many, rel=1e-11)
    assert np.abs(few / many - 1.0).max() > 1e-8


@pytest.fixture(scope="module")
def compared():
    return HELIX.system.rod_limit(at=HELIX.start).compare((17, 33))


def test_the_rod_is_right_to_second_order(compared):
    """Relative error of the lowest six, 17 to 33 bodies: measured 2.9e-3, 7.3e-4."""
    worst = np.abs(compared.error).max(axis=1)
    assert worst == pytest.approx([2.9e-3, 7.3e-4], rel=0.02)
    assert 3.0 < worst[0] / worst[1] < 5.0
    assert "order" in repr(compared)


def test_without_half_a_link_at_the_free_end_it_is_right_to_first_order(compared):
    """The twin: measured 6.2e-2, 3.1e-2."""
    rod = HELIX.system.rod_limit(at=HELIX.start)
    short = np.array([rod_frequencies(rod, 0.0, n - 1.0, (True, False), 6) for n in (17, 33)])
    worst = np.abs(short / compared.chain - 1.0).max(axis=1)
    assert worst == pytest.approx([6.2e-2, 3.1e-2], rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("state", "left", "wanted"), [("helix", "clamped", 8.1e-5), ("helix", "free", 2.2e-4), ("zigzag", "clamped", 1.8e-4),
                                                       ("near", "clamped", 8.8e-5)])  # fmt: skip
def test_long_rods_are_right_to_second_order(state, left, wanted):
    problem = helix(8, state=state)
    worst = np.abs(problem.system.rod_limit(at=problem.start).compare((65, 129), left).error).max(axis=1)
    assert 3.0 < worst[0] / worst[1] < 5.0
    assert worst[1] == pytest.approx(wanted, rel=0.03)


def test_near_half_a_turn_the_rod_is_reduced_and_bends_in_two_ways():
    problem = helix(8, state="zigzag")
    rod = problem.system.rod_limit(at=problem.start)
    assert rod.kind == "reduced"
    one, other = rod.bending_coefficients
    angle = rod.angle
    step = 1e-2
    branches = problem.system.dispersion(angle + step, at=problem.start).omega[0, :2] / step**2
    assert sorted(branches) == pytest.approx(sorted((one, other)), rel=1e-3) and abs(one / other - 1.0) > 0.01


def test_links_that_change_with_time_have_no_waves_and_no_rod():
    """Not those of the time zero, which were given for all times; those of a time that is named are."""
    moving, still = (ct.BendTwist(stretch, 4.0, 3.0, (0, 0, 1)) for stretch in ("100 + t", 107.0))
    chain, at_seven, other = (
        ct.Chain([ct.Body.tetrahedron()] * 5, potential) for potential in (moving, moving.at(7.0), still)
    )
    for refused in (chain.rod_limit, lambda: chain.dispersion(0.1)):
        with pytest.raises(ct.CapabilityError, match="changes with time"):
            refused()
    assert at_seven.dispersion(0.1).omega == pytest.approx(other.dispersion(0.1).omega, rel=1e-14)
    assert at_seven.rod_limit().stretch_twist[0, 0] == pytest.approx(107.0, rel=1e-12)


def test_lists_that_are_none_are_refused():
    rod = ct.problems.helix_chain(8).system.rod_limit()
    for sizes in ("ab", 9, (), (9, "x"), (1, 5), (9.5,)):
        with pytest.raises(ct.InputError, match="sizes") as told:
            rod.compare(sizes)
        assert told.value.do
    modes = ct.problems.helix_chain(4).system.normal_modes()
    for chosen in ("ab", 2, (), (0, "x"), (99,)):
        with pytest.raises(ct.InputError, match="mode"):
            modes.plot(chosen)


def test_what_has_no_rod_is_told():
    mixed = ct.Chain([ct.Body.tetrahedron(), ct.Body.box((1.0, 1.0, 1.0))] * 2, ct.BendTwist(1.0, 1.0, 1.0, (0, 0, 1)))
    pulled = helix(8, right="force", F=(1.0, 0.0, 0.0))
    for make, match in (
        (lambda: mixed.rod_limit(), "do not repeat after 1"),
        (lambda: HELIX.system.dispersion(0.1, cell=9), "cell = 9"),
        (lambda: pulled.system.rod_limit(at=pulled.start), "under a pull"),
        (lambda: HELIX.system.rod_limit(at=HELIX.start).modes(1, "clamped", "clamped"), "n = 1"),
        (lambda: helix(8, gravity=(0.0, 0.0, 1.0)).system.dispersion(0.1, at=HELIX.system.equilibrium(HELIX.start, np.ones((8, 3)))),
         "inside the chain"),
    ):  # fmt: skip
        with pytest.raises(ct.InputError, match=match):
            make()
