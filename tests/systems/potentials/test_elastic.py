"""Elastic links: against 50 digits, against themselves in other conventions, near half a turn and near none, one for each link."""

from __future__ import annotations

import itertools
import json
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp
from scipy.spatial.transform import Rotation

import catena as ct
import elastic_reference as reference
from catena.geometry import rotations
from catena.systems.base import system_from
from catena.systems.chain.link_mechanics import Bond, LinkMechanics
from catena.systems.potentials import elastic_kernels
from catena.systems.potentials.elastic_coordinates import components_of, pose_of, slopes_of
from catena.systems.potentials.pairwise import interpret, potential_from
from elastic_links import BOX, CONVENTIONS, TILTED, disturbed, elastic, row_of_links, stiffness
from refusals import check_refused

EPS = float(np.finfo(float).eps)


def poses(angles: Any, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """d and Q of turns by these angles about axes of no symmetry."""
    chance = np.random.default_rng(seed)
    axes = chance.normal(size=(len(angles), 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    turns = rotations.from_vector(np.array(angles)[:, None] * axes)
    return chance.normal(size=(len(angles), 3)), rotations.to_matrix(turns)


def errors(link: ct.Elastic, d: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Of energy, gradient and Hessian of a link by displacements of its second body, relatively to the largest of each, at 50 digits."""
    energy = reference.elastic(link.stiffness, link.rest, link.coordinates, link.frame)
    found = LinkMechanics(ct.Chain([BOX] * 2, link)).values(d[None], q[None])
    with mpmath.workdps(50):
        place, matrix, h = mp.matrix([mp.mpf(float(x)) for x in d]), mp.matrix(q.tolist()), mp.mpf(10) ** -16

        def at(axis: int, x: Any) -> Any:
            xi = [x if k == axis else 0 for k in range(6)]
            return energy(list(place + matrix * mp.matrix(xi[:3])), matrix * reference.exponential(xi[3:]))

        value = energy(list(place), matrix)
        slopes = np.array([float((at(k, h) - at(k, -h)) / (2 * h)) for k in range(6)])
        curved = reference.hessian(energy, d, q)
        off = float(abs(found.energy[0] - value) / value)
    return np.array(
        [
            off,
            np.abs(found.gradient[0] - slopes).max() / np.abs(slopes).max(),
            np.abs(found.stiffness[0] - curved).max() / np.abs(curved).max(),
        ]
    )


# Against 50 digits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coordinates", "frame"), CONVENTIONS)
def test_energies_forces_torques_and_second_derivatives_agree_with_50_digits(coordinates, frame):
    """Measured 4e-15 at worst, at 3 radians, from no turn at all to nearly half a one."""
    for d, q in zip(*poses([0.0, 1e-8, 0.7, 3.0]), strict=True):
        assert errors(elastic(coordinates, frame), d, q).max() < 1e-13


def test_the_wrong_convention_is_seen():
    """The twin: 50 digits of one convention against the kernels of another."""
    d, q = (part[0] for part in poses([0.7]))
    for one, other in itertools.permutations(CONVENTIONS, 2):
        link = elastic(*one)
        wrong = reference.elastic(link.stiffness, link.rest, *other)
        with mpmath.workdps(50):
            value = wrong([mp.mpf(float(x)) for x in d], mp.matrix(q.tolist()))
        assert abs(link.energy(d, q) / float(value) - 1.0) > 1e-4, (one, other)


def near_half_a_turn(gap: float) -> float:
    """Relative error of the Cayley vector of a turn by pi - gap."""
    _, q = poses([np.pi - gap], seed=4)
    w, v = elastic_kernels.half_turn(*q[0].ravel())
    found = 2.0 * elastic_kernels.cayley_factors(w)[0] * np.array(v)
    with mpmath.workdps(50):
        wanted = np.array(reference.components([0, 0, 0], mp.matrix(q[0].tolist()), "cayley", "first")[:3])
        return float(max(abs(wanted - found)) / max(abs(wanted)))


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_near_half_a_turn_a_cayley_vector_loses_what_the_matrix_has_lost(gap):
    """tan(phi/2) multiplies a relative error of the angle by 1/gap; measured 0.3 to 1.5 eps/gap."""
    assert near_half_a_turn(gap) < 8 * EPS / gap


def test_near_half_a_turn_the_trace_alone_loses_twice_as_many_digits(monkeypatch):
    """The twin: w from 1 + tr Q = 4 w^2."""

    def from_trace(q11, q12, q13, q21, q22, q23, q31, q32, q33):
        w = 0.5 * np.sqrt(1.0 + (q11 + q22 + q33))
        return w, (0.25 * (q32 - q23) / w, 0.25 * (q13 - q31) / w, 0.25 * (q21 - q12) / w)

    monkeypatch.setattr(elastic_kernels, "half_turn", from_trace)
    assert near_half_a_turn(1e-6) > 1000 * EPS / 1e-6


def test_the_factors_of_rotation_vectors_have_all_their_digits():
    """G = alpha/sin(alpha) and E = (1 - G cos(alpha))/sin(alpha)^2; at small angles the formula itself has none for E."""
    cosines = np.cos(np.array([0.0, 1e-8, 3e-7, 1e-5, 1e-3, 0.1, 0.5, 1.0, 1.5, 1.57]))
    g, e = interpret(elastic_kernels.exponential_factors, np)(cosines)
    naive = (1.0 - g * cosines) / np.maximum(1.0 - cosines**2, 1e-300)
    lost = []
    with mpmath.workdps(50):
        for k, w in enumerate(cosines.tolist()):
            angle, sine = mp.acos(mp.mpf(w)), mp.sqrt(1 - mp.mpf(w) ** 2)
            wanted = angle / sine if sine else mp.mpf(1)
            slope = (1 - wanted * w) / sine**2 if sine else mp.mpf(1) / 3
            assert abs(g[k] / wanted - 1) < 2 * EPS
            assert abs(e[k] / slope - 1) < 4 * EPS
            lost.append(float(abs(naive[k] / slope - 1)))
    assert max(lost) > 1e-4  # the twin


# Conventions against each other ------------------------------------------------------------------------------------------------


def test_components_are_what_other_codes_call_them():
    """scipy has rotation vectors, and Rodrigues parameters tan(phi/4) n, of which Cayley vectors are 4 p/(1 - p.p)."""
    d, q = poses([0.0, 1e-9, 0.3, 1.7, 3.1])
    turns = Rotation.from_matrix(q)
    vector, quarter = turns.as_rotvec(), turns.as_mrp()
    cayley = 4.0 * quarter / (1.0 - (quarter**2).sum(axis=1, keepdims=True))
    middle = Rotation.from_rotvec(0.5 * vector).inv().apply(d)
    for (coordinates, frame), r, t in zip(
        CONVENTIONS, (cayley, cayley, vector, vector), (d, middle, d, middle), strict=True
    ):
        found = components_of(d, q, coordinates, frame)
        assert np.abs(found - np.hstack([r, t])).max() < 1e-12  # 1.7e-14 of a Cayley vector of 48
        back = pose_of(found, coordinates, frame)
        assert np.abs(back[0] - d).max() < 1e-14 and np.abs(back[1] - q).max() < 1e-14


def test_an_axis_is_the_same_in_all_frames_and_the_middle_is_half_way_from_either_body():
    """Seen from the second body the link is turned the other way, and shifted the other way along the same middle axes."""
    d, q = poses([0.4, 2.5])
    for coordinates in ("cayley", "exponential"):
        x = components_of(d, q, coordinates, "middle")
        back = components_of(-np.einsum("nji,nj->ni", q, d), np.swapaxes(q, 1, 2), coordinates, "middle")
        assert np.abs(x + back).max() < 1e-14
        assert np.abs(np.einsum("nij,nj->ni", q, x[:, :3]) - x[:, :3]).max() < 1e-14


@pytest.mark.parametrize(("coordinates", "frame"), CONVENTIONS)
def test_slopes_of_components_are_derivatives(coordinates, frame):
    """Differences of fourth order along exp: 1e-10."""
    d, q = (part[0] for part in poses([1.1]))
    slopes, h = slopes_of(components_of(d, q, coordinates, frame), coordinates, frame), 1e-3

    def at(axis: int, x: float) -> np.ndarray:
        xi = x * np.eye(6)[axis]
        return components_of(d + xi[3:], q @ rotations.to_matrix(rotations.from_vector(xi[:3])), coordinates, frame)

    for k in range(6):
        rough = (8.0 * (at(k, h) - at(k, -h)) - (at(k, 2 * h) - at(k, -2 * h))) / (12.0 * h)
        assert np.abs(rough - slopes[:, k]).max() < 1e-10


@pytest.mark.parametrize("one", CONVENTIONS, ids=str)
def test_a_link_in_another_convention_is_the_same_to_second_order(one):
    """What V differs by falls with the third power of the strain, both ways round; a stiffness that is merely copied does not."""
    link = elastic(*one)
    way = np.array([0.3, -0.5, 0.4, 0.2, 0.6, -0.3])
    for other in CONVENTIONS:
        changed = link.converted(*other)
        assert (changed.coordinates, changed.frame) == other
        back = changed.converted(*one)
        assert np.abs(back.table - link.table).max() < 1e-12 * np.abs(link.table).max()
        if other == one:
            continue

        def differences(with_: ct.Elastic) -> list[float]:
            places = [pose_of(link.components(*link.resting_pose) + h * way, *one) for h in (1e-2, 5e-3)]
            return [abs(with_.energy(*place) - link.energy(*place)) for place in places]

        coarse, fine = differences(changed)
        assert 7.0 < coarse / fine < 9.5, (one, other)
        copied = ct.Elastic(link.stiffness, changed.rest, *other)
        coarse, fine = differences(copied)
        assert 3.0 < coarse / fine < 5.0, (one, other)


# One for each link --------------------------------------------------------------------------------------------------------------


def test_one_for_each_link_is_the_list_of_them():
    """Energies, statics and descriptions; bodies whose principal axes are not those they are given in."""
    row = row_of_links(4)
    together, apart = (
        ct.Chain([TILTED, BOX, TILTED, TILTED, BOX], p) for p in (row, [row.of_link(j) for j in range(4)])
    )
    assert together.count == 5 and row.links == 4 and row.of_link(2).links is None
    start = disturbed(together)
    assert np.array_equal(together.link_energies(start), apart.link_energies(start))
    one, other = (
        LinkMechanics(chain).values(*map(np.array, poses([0.1, 0.5, 1.0, 2.0]))) for chain in (together, apart)
    )
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b)
    pulled, same = (chain.equilibrium(start, load=(0.0, 0.3, 1.0)) for chain in (together, apart))
    assert pulled.converged and pulled.energy == pytest.approx(same.energy, rel=1e-13)
    made = system_from(json.loads(json.dumps(together.describe())))
    assert made.describe() == together.describe() and made.potentials[0] == row
    assert hash(made.potentials[0]) == hash(row) and row != row_of_links(4, "cayley")


@pytest.mark.parametrize("ends", [{}, {"right": ct.Clamped()}], ids=["free end", "held"])
def test_no_link_is_computed_by_itself(ends, monkeypatch):
    """Statics of 12 and of 48 links, all different: as many calls of kernels, as arrays or as a list of potentials."""
    calls = []
    whole = Bond._at_once
    monkeypatch.setattr(Bond, "_at_once", lambda self, *rest: calls.append(1) or whole(self, *rest))
    counts = {}
    for links in (12, 48):
        row = row_of_links(links)
        for form, potential in (("row", row), ("list", [row.of_link(j) for j in range(links)])):
            chain = ct.Chain([BOX] * (links + 1), potential, **ends)
            calls.clear()
            LinkMechanics(chain).values(*row.resting_pose)
            counts[form, links] = len(calls)
    assert len(set(counts.values())) == 1, counts


def test_a_chain_of_different_links_rests_where_they_say():
    row = row_of_links(6, "cayley", "middle")
    chain = ct.Chain([TILTED] * 7, row)
    found = chain.equilibrium()
    assert found.converged and found.iterations == 0 and abs(found.energy) < 1e-26
    matrices = rotations.to_matrix(found.state.orientation)
    q = np.swapaxes(matrices[:-1], 1, 2) @ matrices[1:]
    d = np.einsum("nji,nj->ni", matrices[:-1], np.diff(found.state.position, axis=0))
    assert np.abs(row.components(d, q) - np.hstack(row.rest)).max() < 1e-13
    assert chain.normal_modes(found).omega[0] > 0.0
    with pytest.raises(ct.InputError, match="do not repeat"):
        chain.dispersion(0.1, at=found)
    same = ct.Chain([TILTED] * 7, ct.Elastic(row.stiffness[0], [np.tile(part[0], (6, 1)) for part in row.rest]))
    assert len(same.interactions.alike_links[0]) == 1


def test_sums_and_pairs_go_with_one_for_each_link():
    """LennardJones + BendTwist + Elastic of each link: forces by differences of the energy, in the kernels of the motion."""
    tetrahedron = ct.Body.tetrahedron()
    both = ct.LennardJones(1.0, 0.4) + (ct.BendTwist(1.0, 2.0, 3.0, (0, 0, 1)) + row_of_links(3))
    chain = ct.Chain([tetrahedron] * 4, both)
    plain = ct.Chain([tetrahedron] * 4, row_of_links(3))
    start = chain.start(plain.equilibrium().state.position * 1.6, plain.equilibrium().state.orientation)
    parts = [ct.Chain([tetrahedron] * 4, part).link_energies(start) for part in (both.pairs, *both.links.terms)]
    assert np.abs(chain.link_energies(start) - sum(parts)).max() < 1e-13
    bonds = ct.Chain([tetrahedron] * 4, both.links)
    rest = bonds.equilibrium()
    assert rest.converged and rest.energy > 0.1  # the two do not rest at one place
    assert system_from(chain.describe()).describe() == chain.describe()


# Bad input ------------------------------------------------------------------------------------------------------------------------


GOOD = np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
REST = ([0.0, 0.0, 0.1], [0.0, 0.0, 1.0])
SKEW = GOOD + np.eye(6, k=1) * 1e-9
WRONG: dict[str, tuple[Any, str]] = {
    "not symmetric": (lambda: ct.Elastic(SKEW, REST), "not symmetric: r1 r2 has 1e-09 and 0"),
    "indefinite": (lambda: ct.Elastic(GOOD - 3.0 * np.outer(GOOD[5], GOOD[5]), REST), "lowest eigenvalue is -10"),
    "indefinite in other units": (
        lambda: ct.Elastic(np.diag([1e9, 1e9, 1e9, 1.0, 1.0, -1e-6]), REST), "lowest eigenvalue is -1e-06",
    ),
    "coupled to nothing": (
        lambda: ct.Elastic(np.diag([1.0, 1, 1, 1, 1, 0]) + 0.1 * (np.eye(6, k=5) + np.eye(6, k=-5)), REST), "not positive",
    ),
    "five rows": (lambda: ct.Elastic(np.eye(5), REST), "stiffness has shape (5, 5)"),
    "nan": (lambda: ct.Elastic(np.full((6, 6), np.nan), REST), "is not finite"),
    "a mirror": (lambda: ct.Elastic(GOOD, (np.diag([1.0, 1.0, -1.0]), REST[1])), "det R = -1"),
    "stretched": (lambda: ct.Elastic(GOOD, (1.01 * np.eye(3), REST[1])), "R^T R is off by 0.0201"),
    "one of many stretched": (
        lambda: ct.Elastic(GOOD, ([np.eye(3), 2.0 * np.eye(3)], [REST[1]] * 2)), "the matrix of link 1 is no rotation",
    ),
    "no quaternion": (lambda: ct.Elastic(GOOD, ([0.0] * 4, REST[1])), "quaternion of zeros"),
    "half a turn": (lambda: ct.Elastic(GOOD, ([0.0, 0.0, np.pi], REST[1]), "exponential"), "no less than half a turn"),
    "turns without end": (lambda: ct.Elastic(GOOD, ([0.0, 0.0, 1e200], REST[1])), "no less than half a turn"),
    "a huge matrix": (lambda: ct.Elastic(GOOD, (np.full((3, 3), 1e200), REST[1])), "is no rotation"),
    "half a turn of a matrix": (lambda: ct.Elastic(GOOD, (np.diag([1.0, -1, -1]), REST[1])), "no less than half a turn"),
    "one thing at rest": (lambda: ct.Elastic(GOOD, [REST[1]]), "give two: the rotation and the translation"),
    "numbers of rows": (lambda: ct.Elastic(stiffness(1, 3), ([REST[0]] * 2, [REST[1]] * 2)), "as many of each"),
    "rotation of other rows": (lambda: ct.Elastic(GOOD, ([REST[0]] * 2, REST[1])), "a rotation of shape (2, 3)"),
    "coordinates": (lambda: ct.Elastic(GOOD, REST, "euler"), "choose one of cayley, exponential"),
    "frame": (lambda: ct.Elastic(GOOD, REST, frame="second"), "choose one of first, middle"),
    "too many links": (lambda: ct.Chain([BOX] * 4, row_of_links(4)), "constants for 4 links at 3"),
    "in a list": (lambda: ct.Chain([BOX] * 3, [row_of_links(2)] * 2), "constants for 2 links at one"),
    "asked for one": (lambda: row_of_links(2).energy([0, 0, 1], np.eye(3)), "ask that of one of them"),
    "other sums": (lambda: row_of_links(2) + row_of_links(3), "for 2 and for 3 links do not add"),
    "a rod turned about itself": (lambda: ct.Chain([BOX, ct.Body.rod(1.0)], elastic()), "turns body 1, a linear body"),
    "a rod at the second link": (
        lambda: ct.Chain([BOX, BOX, ct.Body.rod(1.0)], ct.Elastic(np.array([np.diag([0.0] * 3 + [1.0] * 3), GOOD]), REST)),
        "link 1 turns body 2, a linear body",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_refused_with_what_and_what_to_do(case):
    check_refused(*WRONG[case])


def test_a_rest_may_be_coordinates_a_quaternion_or_a_matrix():
    q = rotations.from_vector([0.1, -0.4, 0.3])
    for coordinates in ("cayley", "exponential"):
        vector = components_of(np.zeros(3), rotations.to_matrix(q), coordinates, "first")[:3]
        for turn in (vector, q, -2.0 * q, rotations.to_matrix(q)):
            link = ct.Elastic(GOOD, (turn, REST[1]), coordinates)
            assert np.abs(link.rest[0] - vector).max() < 1e-15
            assert potential_from(link.describe()) == link
    three = ct.Elastic(GOOD, ([[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], [REST[1]] * 3))
    assert three.links == 3 and np.array_equal(three.rest[0], 0.1 * np.eye(3))
    assert ct.Elastic(0.0 * GOOD, REST).energy([1, 2, 3], rotations.to_matrix(q)) == 0.0
