"""Link potentials: forces and torques against 50-digit differences along motions of either body, and special cases."""

from __future__ import annotations

import json
import math
import pickle
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

from catena.engine import headers
from catena.engine.collector import collect
from catena.geometry.rotations import to_matrix
from catena.kernels.marks import slot
from catena.systems.potentials.link_potentials import BendTwist, GayBerne, LinkPotential, MixedPotential
from catena.systems.potentials.pair_potentials import LennardJones, PairTable, Switched, Yukawa, pair_potential_from
from catena.systems.potentials.pairwise import interpret, potential_from
from elastic_reference import quaternion_of
from refusals import check_refused

EPS = float(np.finfo(float).eps)
KERNELS = ("link_energy", "link_force")
TOLERANCE = 3e-14


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mpmath.workdps(50):
        yield


# Independent energies at 50 digits, from vectors and quaternions --------------------------------------------------------------


def bend_twist(stretch, bend, twist, d0, q0):
    """With the quaternion product, as the definition reads."""

    def energy(d, m):
        p0, p1, p2, p3 = quaternion_of(m)
        norm = mp.sqrt(sum(mp.mpf(x) ** 2 for x in q0))
        a, b, c, e = q0[0] / norm, -q0[1] / norm, -q0[2] / norm, -q0[3] / norm
        w1 = a * p1 + b * p0 + c * p3 - e * p2
        w2 = a * p2 - b * p3 + c * p0 + e * p1
        w3 = a * p3 + b * p2 - c * p1 + e * p0
        length = sum((d[k] - d0[k]) ** 2 for k in range(3))
        return mp.mpf(stretch) / 2 * length + 2 * (bend * (w1**2 + w2**2) + twist * w3**2)

    return energy


def gay_berne(epsilon, sigma, kappa, kappa_prime, mu, nu):
    """With the two quotients of the original paper, bodies at R_a = 1, R_b = Q."""
    chi = (mp.mpf(kappa) ** 2 - 1) / (mp.mpf(kappa) ** 2 + 1)
    root = mp.mpf(kappa_prime) ** (1 / mp.mpf(mu))
    chi_prime = (root - 1) / (root + 1)

    def energy(d, m):
        r = mp.sqrt(sum(x**2 for x in d))
        n = [x / r for x in d]
        ua, ub = [0, 0, 1], [m[k, 2] for k in range(3)]
        na, nb, c = (sum(x * y for x, y in zip(u, v, strict=True)) for u, v in [(n, ua), (n, ub), (ua, ub)])

        def s(x):
            return (na + nb) ** 2 / (1 + x * c) + (na - nb) ** 2 / (1 - x * c)

        reach = sigma / mp.sqrt(1 - chi / 2 * s(chi))
        depth = epsilon * (1 - chi**2 * c**2) ** (-mp.mpf(nu) / 2) * (1 - chi_prime / 2 * s(chi_prime)) ** mp.mpf(mu)
        rho = (r - reach + sigma) / sigma
        return 4 * depth * (rho**-12 - rho**-6)

    return energy


def curved(a, b):
    return lambda d, m: a * mp.sin(d[0] * m[0, 1]) + mp.exp(b * m[2, 2]) * d[1] ** 2 - m[1, 0] * m[2, 1] / (2 + d[2])


ROD = (80.0, 2.0, 1.5, (0.1, -0.2, 0.9), (0.8, 0.3, -0.4, 0.33))
CASES: dict[str, tuple[Any, Any]] = {
    "text": (
        LinkPotential("a*sin(d1*Q12) + exp(b*Q33)*d2**2 - Q21*Q32/(2 + d3)", {"a": 1.3, "b": 0.7}),
        curved(1.3, 0.7),
    ),
    "BendTwist": (BendTwist(*ROD), bend_twist(*ROD)),
    "BendTwist at rest unturned": (
        BendTwist(80.0, 2.0, 1.5, (0, 0, 1)),
        bend_twist(80.0, 2.0, 1.5, (0, 0, 1), (1, 0, 0, 0)),
    ),
    "GayBerne": (GayBerne(1.2, 0.9, 3.0, 5.0, 2.0, 1.0), gay_berne(1.2, 0.9, 3.0, 5.0, 2.0, 1.0)),
    "GayBerne, discs": (GayBerne(0.7, 1.1, 0.345, 0.2, 1.0, 2.5), gay_berne(0.7, 1.1, 0.345, 0.2, 1.0, 2.5)),
}
CASES["sum"] = (
    CASES["text"][0] + CASES["GayBerne"][0] + CASES["BendTwist"][0],
    lambda d, m: sum(CASES[name][1](d, m) for name in ("text", "GayBerne", "BendTwist")),
)
PLACES = [
    ((0.2, -0.3, 2.7), (0.7, 0.1, 0.5, -0.2)),
    ((1.6, 0.4, -1.1), (-0.2, 0.9, 0.3, 0.4)),
    ((-0.9, 2.1, 0.3), (0.01, 0.6, -0.7, 0.2)),  # almost half a turn
    ((2.4, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
]


def matrix(array):
    return mp.matrix(np.asarray(array).tolist())


def turn(axis, angle):
    """exp(hat(angle e_axis))."""
    m = mp.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m[i, i] = m[j, j] = mp.cos(angle)
    m[i, j], m[j, i] = -mp.sin(angle), mp.sin(angle)
    return m


def differences(energy, d, m):
    """-dV along the motions of the right body (d_k, then Q exp) and along the turns R_a exp of the left one."""
    d = [mp.mpf(float(x)) for x in d]

    def shifted(k):
        return lambda x: energy([y + (x if i == k else 0) for i, y in enumerate(d)], m)

    def left_turned(k):
        def value(x):
            back = turn(k, -x)
            return energy(list(back * mp.matrix(d)), back * m)

        return value

    right = [shifted(k) for k in range(3)] + [lambda x, k=k: energy(d, m * turn(k, x)) for k in range(3)]
    return (
        np.array([-mp.diff(f, 0) for f in right]),
        np.array([-mp.diff(left_turned(k), 0) for k in range(3)]),
    )


def worst_error(potential: Any, energy: Any) -> float:
    """Of energy, forces and torques on both bodies, relative to the largest of the forces (or to a larger energy)."""
    worst = 0.0
    for d, q in PLACES:
        rotation = to_matrix(q)
        exact, left = differences(energy, d, matrix(rotation))
        found = potential.force(d, rotation)
        f, c = found[:3], found[3:]
        scale = float(max(map(abs, exact)))
        value = energy([mp.mpf(x) for x in d], matrix(rotation))
        off = [*(found - exact) / scale, *(-rotation @ c - np.cross(d, f) - left) / scale]
        off.append((potential.energy(d, rotation) - value) / max(abs(value), scale))
        worst = max(worst, float(max(map(abs, off))))
    return worst


@pytest.mark.parametrize("case", CASES)
def test_energies_forces_and_torques_agree_with_50_digits(case):
    """Measured 4e-16 but for GayBerne, 1e-14: its rho, a difference of distances of 3 sigma, stands to the 12th power."""
    assert worst_error(*CASES[case]) < TOLERANCE


@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (LinkPotential("a*sin(d1*Q21) + exp(b*Q33)*d2**2 - Q21*Q32/(2 + d3)", {"a": 1.3, "b": 0.7}), "text"),
        (LinkPotential("a*sin(d1*Q12) + exp(b*Q33)*d2**2 - Q21*Q32/(2 + d3)", {"a": 1.3, "b": 0.7 + 1e-12}), "text"),
        (BendTwist(*ROD[:4], (0.8, -0.3, 0.4, -0.33)), "BendTwist"),
        (BendTwist(*ROD[:2], 1.5 + 1e-11, *ROD[3:]), "BendTwist"),
        (GayBerne(1.2, 0.9, 3.0, 5.0, 2.0, 1.0 + 1e-12), "GayBerne"),
        (GayBerne(1.2, 0.9, 3.0, 5.0 + 1e-12, 2.0, 1.0), "GayBerne"),
    ],
    ids=str,
)
def test_a_wrong_link_is_seen(wrong, case):
    assert worst_error(wrong, CASES[case][1]) > TOLERANCE


# Special cases ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["GayBerne", "GayBerne, discs"])
def test_uniaxial_bodies_may_be_exchanged_turned_about_their_axis_and_turned_around(case):
    potential = CASES[case][0]
    spun = to_matrix([math.cos(0.4), 0.0, 0.0, math.sin(0.4)])
    around = np.diag([1.0, -1.0, -1.0])
    for d, q in PLACES:
        m = to_matrix(q)
        here = potential.energy(d, m)
        for other in (
            (-m.T @ d, m.T),
            (d, m @ spun),
            (spun.T @ d, spun.T @ m),
            (d, m @ around),
            (around @ d, around @ m),
        ):
            # the steepest here changes V by some 40 units for one of the place
            assert potential.energy(*other) == pytest.approx(here, rel=100 * EPS)
        assert abs(potential.energy(d, m @ around[[1, 2, 0]]) - here) > 1e-3 * abs(here), "other turns matter"


def test_round_bodies_are_lennard_jones_spheres():
    """Formulas that share nothing; 1e-14 is 50 units of round-off."""
    spheres, pair = GayBerne(2.0, 1.3, 1.0, 1.0, 2.0, 1.0), LennardJones(2.0, 1.3)
    for d, q in PLACES:
        r = float(np.linalg.norm(d))
        expected = [*(pair.force(r) * np.array(d) / r), 0.0, 0.0, 0.0]
        np.testing.assert_allclose(spheres.force(d, to_matrix(q)), expected, atol=1e-14 * abs(pair.force(r)))
        assert spheres.energy(d, to_matrix(q)) == pytest.approx(float(pair.energy(r)), rel=1e-14)


def test_a_rod_rests_at_its_screw_whatever_sign_or_length_its_quaternion_has():
    rest = BendTwist(*ROD)
    rotation = to_matrix(ROD[4])
    assert rest.energy(ROD[3], rotation) == pytest.approx(0.0, abs=8 * EPS)
    np.testing.assert_allclose(rest.force(ROD[3], rotation), 0.0, atol=8 * EPS)
    other = BendTwist(*ROD[:4], tuple(-3.0 * x for x in ROD[4]))
    for d, q in PLACES:
        np.testing.assert_allclose(other.force(d, to_matrix(q)), rest.force(d, to_matrix(q)), atol=1e-13)


def test_small_bends_and_twists_have_the_energy_of_a_rod():
    """bend theta^2/2 and twist theta^2/2; the next term is theta^2/12 of it."""
    rod, angle = BendTwist(80.0, 2.0, 1.5, (0, 0, 1)), 1e-3
    for axis, stiffness in enumerate((2.0, 2.0, 1.5)):
        m = np.array(turn(axis, angle).tolist(), dtype=float)
        assert rod.energy((0, 0, 1), m) == pytest.approx(stiffness * angle**2 / 2, rel=1e-6)
        assert rod.force((0, 0, 1), m)[3 + axis] == pytest.approx(-stiffness * angle, rel=1e-6)


def test_a_rod_is_smooth_at_half_a_turn():
    """The torque of a bend, bend sin(theta), passes through zero there with a finite slope."""
    rod = BendTwist(80.0, 2.0, 1.5, (0, 0, 1))
    angles = math.pi + np.array([-1e-4, 0.0, 1e-4])
    torque = [rod.force((0, 0, 1), np.array(turn(0, a).tolist(), dtype=float))[3] for a in angles]
    np.testing.assert_allclose(torque, [-2e-4, 0.0, 2e-4], atol=1e-11)


# Sums, descriptions, kernels -----------------------------------------------------------------------------------------------------


def test_pair_and_link_potentials_add_in_any_order():
    pair, charge, rod, text = LennardJones(1.0, 1.0), Yukawa(1.0, 1.0), CASES["BendTwist"][0], CASES["text"][0]
    for both in (pair + charge + rod + text, pair + rod + text + charge, rod + text + (pair + charge)):
        assert isinstance(both, MixedPotential)
    assert (pair + rod + charge).pairs == pair + charge
    assert (charge + (pair + rod)).pairs == charge + pair
    assert (text + (pair + rod)).links == text + rod
    assert ((pair + rod) + (charge + text)) == (pair + charge) + (rod + text)
    assert (pair + rod).links == rod and (rod + pair) == (pair + rod)
    table = PairTable({("A", "A"): pair})
    assert (table + rod).pairs == (rod + table).pairs == table
    assert (table + rod + charge).pairs == table + charge
    assert (pair + rod).smoothness == math.inf
    assert (Switched(pair, 1.0, 2.0) + rod).smoothness == 2
    for attempt in (lambda: rod + 1.0, lambda: 1.0 + rod, lambda: (pair + rod) + 1.0, lambda: 1.0 + (pair + rod)):
        with pytest.raises(TypeError):
            attempt()


@pytest.mark.parametrize(
    "potential",
    [
        *(case[0] for case in CASES.values()),
        LennardJones(1.0, 1.0) + CASES["sum"][0],
        PairTable({("A", "A"): None}) + CASES["text"][0],
        LennardJones(1.0, 1.0) + Yukawa(1.0, 1.0),
    ],
    ids=lambda p: type(p).__name__,
)
def test_a_description_gives_the_same_potential_back(potential):
    again = potential_from(json.loads(json.dumps(potential.describe())))
    assert again == potential and hash(again) == hash(potential)
    assert pickle.loads(pickle.dumps(potential)) == potential


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (CASES["text"][0], LinkPotential(CASES["text"][0].text, {"b": -1.0, "a": 0.0})),
        (CASES["BendTwist"][0], CASES["BendTwist at rest unturned"][0]),
        (CASES["GayBerne"][0], CASES["GayBerne, discs"][0]),
        (CASES["BendTwist"][0] + CASES["GayBerne"][0], CASES["BendTwist"][0] + CASES["GayBerne, discs"][0]),
    ],
)
def test_other_values_never_change_a_kernel(first, second):
    for name in KERNELS:
        assert first.kernel(name) == second.kernel(name)
        assert first.kernel(name) != (first + first).kernel(name)
    assert first.values.tolist() != second.values.tolist()


def test_a_sympy_expression_is_as_good_as_text():
    d3, q33, k = sympy.symbols("d3 Q33 k")
    assert LinkPotential(k * d3**2 / 2 - q33, {"k": 2.0}).energy([0, 0, 3], np.eye(3)) == 8.0


def test_where_a_potential_is_not_defined_it_says_nan():
    assert math.isnan(LinkPotential("log(d1)").energy([-1, 0, 0], np.eye(3)))
    assert np.isnan(LinkPotential("1/d1").force([0, 0, 0], np.eye(3))).all()


@slot
def link_energy(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par):
    """V."""


@slot
def link_force(d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par):
    """f, c."""


def all_values(x, par, out):
    for i in range(x.shape[0]):
        a = x[i]
        out[i, 0] = link_energy(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], par)
        force = link_force(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], par)
        for k in range(6):
            out[i, 1 + k] = force[k]


def test_compiled_and_interpreted_kernels_give_the_same_bits():
    potential = CASES["sum"][0]
    parts = collect(
        all_values, {link_energy: potential.kernel("link_energy"), link_force: potential.kernel("link_force")}
    )
    x = np.array([[*d, *to_matrix(q).ravel()] for d, q in PLACES])
    results = []
    for header, entry in [(headers.PYTHON, "@_fn"), (headers.CPU, "@njit(**_strict)")]:
        text = headers.module_text("links", parts, [("link", 1, "float64")], header=header, entry=entry)
        module: dict[str, Any] = {"__name__": "links"}
        exec(compile(text, "<links>", "exec"), module)
        out = np.zeros((len(x), 7))
        module["advance"](x, module["Parameters"](potential.values), out)
        results.append(out)
    assert results[0].tobytes() == results[1].tobytes()
    par = SimpleNamespace(link=potential.values)
    assert results[0][0, 0] == interpret(potential.kernel("link_energy"))(*x[0], par)


# Wrong input -----------------------------------------------------------------------------------------------------------------


WRONG = {
    "unknown name": (lambda: LinkPotential("d4**2"), "d4"),
    "nothing that moves": (lambda: LinkPotential("a", {"a": 1.0}), "neither position nor rotation"),
    "a parameter Q11": (lambda: LinkPotential("d1", {"Q11": 1.0}), "cannot be called 'Q11'"),
    "parameters of no meaning": (lambda: LinkPotential("d1/a", {"a": 0.0}), "not defined for the parameters"),
    "negative stiffness": (lambda: BendTwist(-1.0, 1.0, 1.0, (0, 0, 1)), "stretch = -1"),
    "two coordinates": (lambda: BendTwist(1.0, 1.0, 1.0, (0, 1)), "give 3 numbers, texts in t"),
    "text for a vector": (lambda: BendTwist(1.0, 1.0, 1.0, "xyz"), "give 3 numbers, texts in t"),
    "no quaternion": (lambda: BendTwist(1.0, 1.0, 1.0, (0, 0, 1), (0, 0, 0, 0)), "other than zero"),
    "no length": (lambda: GayBerne(1.0, 1.0, 0.0, 1.0, 1.0, 1.0), "kappa = 0"),
    "nan": (lambda: GayBerne(1.0, 1.0, 1.0, 1.0, 1.0, math.nan), "not finite"),
    "no rotation matrix": (lambda: CASES["GayBerne"][0].energy([0, 0, 1], [1, 0, 0, 0]), "rotation of shape (4,)"),
    "missing argument": (lambda: potential_from({"kind": "GayBerne", "epsilon": 1.0}), "GayBerne needs sigma"),
    "unknown kind": (lambda: potential_from({"kind": "BendTwits"}), "did you mean BendTwist"),
    "a link among pairs": (lambda: pair_potential_from(CASES["text"][0].describe()), "no pair potential"),
    "a link in a table": (
        lambda: pair_potential_from({"kind": "PairTable", "pairs": [[0, 0, CASES["text"][0].describe()]]}),
        "no pair potential",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_refused_with_what_and_what_to_do(case):
    check_refused(*WRONG[case])
