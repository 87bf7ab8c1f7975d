"""Statics in metres and kilograms: whatever the units, the same equilibria, frequencies, waves and rods, and the same words about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import catena as ct
from catena.analysis.statics import equilibrium, newton, units
from catena.analysis.statics.linkage_problem import LinkageProblem

Scale = tuple[float, float, float]  # units of mass, length and energy
REDUCED: Scale = (1.0, 1.0, 1.0)
OTHERS: dict[str, Scale] = {"molecule": (1e-26, 1e-10, 1e-21), "planet": (1e24, 1e9, 1e30), "soft": (1.0, 1.0, 1e-12)}
PARTICLES = np.array([(-1 / 2, -1 / 3, -1 / 4), (1 / 2, -1 / 3, -1 / 4), (0, 2 / 3, -1 / 4), (0, 0, 3 / 4)])
SAME = 1e-7  # numbers that are no powers of two are rounded, and so is what Newton's method leaves: 1e-9 was seen
pytestmark = pytest.mark.filterwarnings("ignore:particle")


def period(scale: Scale) -> float:
    """The unit of time."""
    mass, length, energy = scale
    return float(np.sqrt(mass * length**2 / energy))


def rod_like(scale: Scale, count: int, *ends: Any, closed: bool = False) -> ct.Chain:
    mass, length, energy = scale
    body = ct.Body.from_particles(PARTICLES * length, mass)
    return ct.Chain(
        [body] * count,
        ct.BendTwist(100 * energy / length**2, 2 * energy, energy, (0, 0, length)),
        *ends,
        closed=closed,
    )


def elastic(scale: Scale, count: int, *right: Any) -> ct.Chain:
    mass, length, energy = scale
    stiffness = energy * np.diag([40, 40, 60, 300 / length**2, 300 / length**2, 500 / length**2])
    rest = ((0, 0, 0.5), (0, 0, length))
    body = ct.Body.from_particles(PARTICLES * length, mass)
    return ct.Chain(
        [body] * count, ct.Elastic(stiffness, rest, coordinates="exponential", frame="middle"), ct.Clamped(), *right
    )


def upright(chain: ct.Chain, spacing: float) -> ct.State:
    return chain.start([(0, 0, spacing * k) for k in range(chain.count)], check=False)


def at_rest(kind: str, scale: Scale) -> Any:
    """A system of this kind, and its equilibrium."""
    mass, length, energy = scale
    pull = ct.Force((energy / length, 0, 0))
    if kind == "particles":  # their links are searched for
        chain = ct.Chain(
            [ct.Body.from_particles(PARTICLES * length, mass)] * 4, ct.LennardJones(5 * energy, length), ct.Clamped()
        )
        return chain, chain.equilibrium()
    if kind == "positions held":
        chain = rod_like(scale, 6, ct.Displaced(), ct.Displaced())
        return chain, chain.equilibrium(upright(chain, length))
    if kind == "tweezers":
        held = [ct.Tweezers(3 * energy / length**2, (0, 0, z * length)) for z in (0, 4)]
        chain = rod_like(scale, 6, *held)
        return chain, chain.equilibrium()
    if kind == "pulled":
        chain = elastic(scale, 6, pull)
        return chain, chain.equilibrium()
    if kind == "ring":
        chain = rod_like(scale, 8, closed=True)
        return chain, chain.equilibrium(chain.ring(length, 1))
    assert kind == "points"
    point = ct.Body.from_particles([(0, 0, 0)], mass)
    chain = ct.Chain([point] * 6, ct.Morse(5 * energy, 3 / length, length), ct.Clamped(), pull)
    return chain, chain.equilibrium(chain.straight(length))


KINDS = {"particles": 0, "positions held": 1, "tweezers": 2, "pulled": 0, "points": 0}  # motions that cost nothing


def assert_same(kind: str, scale: Scale) -> None:
    (chain, found), (plain, known) = at_rest(kind, scale), at_rest(kind, REDUCED)
    assert known.converged and known.flat == KINDS[kind]
    assert (found.status, found.flat, found.negative) == (known.status, known.flat, known.negative)
    assert found.energy / scale[2] == pytest.approx(known.energy, rel=1e-12, abs=1e-12)
    modes, expected = chain.normal_modes(found), plain.normal_modes(known)
    assert modes.zero == expected.zero and modes.method == expected.method
    assert modes.omega * period(scale) == pytest.approx(expected.omega, rel=SAME)
    assert modes.error == pytest.approx(expected.error, rel=0.1)


@pytest.mark.parametrize("scale", OTHERS.values(), ids=list(OTHERS))
@pytest.mark.parametrize("kind", KINDS)
def test_equilibria_and_frequencies_are_the_same_in_any_units(kind, scale):
    assert_same(kind, scale)


def test_in_the_unit_of_the_user_they_would_not_be(monkeypatch):
    """In metres the two ends of a molecule are one place, and it turns about it at no cost; nothing pulls that is more than rounding."""
    monkeypatch.setattr(units, "power_of_two", lambda size: 1.0)
    for kind in ("positions held", "tweezers"):
        with pytest.raises(AssertionError):
            assert_same(kind, OTHERS["molecule"])
    with pytest.raises(AssertionError):
        assert_same("pulled", (1.0, 1e6, 1.0))


def test_a_balance_is_made_as_sharp_as_its_flat_motions_need(monkeypatch):
    """A round rod spins about itself at no cost, and turns about the line of its tweezers: what was left of the forces made one of these a way down."""
    assert at_rest("tweezers", REDUCED)[1].flat == 2
    monkeypatch.setattr(newton, "SLIGHT", (0.0,))
    monkeypatch.delattr(equilibrium._Search, "sharper")
    assert at_rest("tweezers", REDUCED)[1].status == "saddle"


@pytest.mark.parametrize("scale", OTHERS.values(), ids=list(OTHERS))
def test_a_ring_that_rolls_keeps_all_its_frequencies(scale):
    """Where along its roll it stops is chance, and its frequencies depend on that, by 1e-8: K does not, M does."""
    (chain, found), (plain, known) = at_rest("ring", scale), at_rest("ring", REDUCED)
    assert found.converged and (found.flat, known.flat) == (7, 7)
    modes = chain.normal_modes(found)
    assert modes.zero == 7
    assert modes.omega * period(scale) == pytest.approx(plain.normal_modes(known).omega, rel=1e-5)


def test_frequencies_of_a_molecule_are_those_of_its_energy():
    """Against an energy written out here, its second differences (extrapolated; 1e-7 is left of them) and the masses, all in SI."""
    mass, length, energy = OTHERS["molecule"]
    masses = mass * np.array([1.0, 1.5, 2.0, 2.5])
    body = ct.Body.from_particles(PARTICLES * length, masses, types=["A", "A", "B", "C"])
    table = ct.PairTable(
        {
            ("A", "A"): ct.LennardJones(energy, length), ("A", "B"): ct.Morse(2 * energy, 3 / length, 1.2 * length), ("A", "C"): None,
            ("B", "B"): ct.LennardJones(2 * energy, 1.1 * length), ("B", "C"): None, ("C", "C"): ct.Morse(energy, 2 / length, length),
        }
    )  # fmt: skip
    pull = np.array([0.3, 0.0, 0.2]) * energy / length
    links = table + ct.BendTwist(3 * energy / length**2, 2 * energy, 1.5 * energy, (0, 0, 1.1 * length))
    chain = ct.Chain([body] * 3, links, ct.Clamped(), ct.Force(pull))
    found = chain.equilibrium(upright(chain, 1.3 * length))
    assert found.converged
    x = PARTICLES - masses @ PARTICLES / masses.sum()
    place, turn = found.state.position / length, Rotation.from_quat(found.state.orientation[:, [1, 2, 3, 0]])

    def potential(a: str, b: str, r: float) -> float:
        if {a, b} == {"A", "B"} or a + b == "CC":
            depth, width, rest = (1.0, 2.0, 1.0) if a == "C" else (2.0, 3.0, 1.2)
            return float(depth * (1 - np.exp(-width * (r - rest))) ** 2 - depth)
        sigma, epsilon = {"AA": (1.0, 1.0), "BB": (1.1, 2.0)}.get(a + b, (1.0, 0.0))
        return 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)

    def value(y: np.ndarray) -> float:
        """In units of the energy, with bodies 1 and 2 shifted and turned."""
        y = np.concatenate([np.zeros(6), y]).reshape(3, 6)
        r, q = place + y[:, :3], (Rotation.from_rotvec(y[:, 3:]) * turn).as_matrix()
        total = -r[-1] @ pull * length / energy
        for a in (0, 1):
            left, right = r[a] + x @ q[a].T, r[a + 1] + x @ q[a + 1].T
            total += sum(
                potential("AABC"[k], "AABC"[m], float(np.linalg.norm(left[k] - right[m])))
                for k in range(4)
                for m in range(4)
            )
            d, rotation = q[a].T @ (r[a + 1] - r[a]), q[a].T @ q[a + 1]
            bend, twist = 1 - rotation[2, 2], 1 + rotation[2, 2] - rotation[0, 0] - rotation[1, 1]
            total += 1.5 * np.sum((d - [0, 0, 1.1]) ** 2) + 2 * (2 * bend / 2 + 1.5 * twist / 4)
        return float(total)

    def second(h: float) -> np.ndarray:
        e = h * np.eye(12)
        return np.array(
            [[value(a + b) - value(a - b) - value(b - a) + value(-a - b) for a in e] for b in e]
        ) / (4 * h * h)  # fmt: skip

    assert value(np.zeros(12)) == pytest.approx(found.energy / energy, rel=1e-12)
    metric = np.zeros((12, 12))
    weights, tensor = (
        masses / mass,
        np.einsum("k,kij->ij", masses / mass, [np.eye(3) * (p @ p) - np.outer(p, p) for p in x]),
    )
    for k in (0, 1):
        q = turn.as_matrix()[k + 1]
        metric[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = weights.sum() * np.eye(3)
        metric[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = q @ tensor @ q.T
    squares = eigh((4 * second(1e-3) - second(2e-3)) / 3, metric, eigvals_only=True)
    omega = np.sqrt(squares * energy / mass) / length
    assert chain.normal_modes(found).omega == pytest.approx(omega, rel=1e-6)


@pytest.mark.parametrize("scale", OTHERS.values(), ids=list(OTHERS))
def test_long_chains_waves_rods_and_paths_are_the_same_in_any_units(scale):
    """Also where a few of many modes are computed: ARPACK takes what is below some 1e-11 for nothing."""
    _, length, energy = scale
    unit, chain, plain = period(scale), elastic(scale, 10), elastic(REDUCED, 10)
    long, known = (elastic(one, 270, ct.Force((0.01 * one[2] / one[1], 0, 0))) for one in (scale, REDUCED))
    assert long.normal_modes(long.equilibrium(), 3).omega * unit == pytest.approx(
        known.normal_modes(known.equilibrium(), 3).omega, rel=1e-5
    )
    # one branch begins at nothing: the root of what rounding makes of that
    waves, expected = chain.dispersion([0.1, 0.5]), plain.dispersion([0.1, 0.5])
    assert waves.omega * unit == pytest.approx(expected.omega, rel=SAME, abs=1e-6)
    assert waves.rise / length == pytest.approx(expected.rise, rel=1e-12)
    rod, limit = chain.rod_limit(), plain.rod_limit()
    assert rod.kind == limit.kind
    assert rod.stretch_twist[0, 0] * length / energy == pytest.approx(limit.stretch_twist[0, 0], rel=1e-12)
    assert rod.bending_stiffness / (energy * length) == pytest.approx(limit.bending_stiffness, rel=1e-12)
    assert rod.modes(45, count=2) * unit == pytest.approx(limit.modes(45, count=2), rel=1e-11)
    assert rod.compare((9,)).error == pytest.approx(limit.compare((9,)).error, rel=1e-4)
    paths = [
        one.equilibrium_path((0, 0, -size[2] / size[1]), to=40.0) for one, size in ((chain, scale), (plain, REDUCED))
    ]
    assert [path.limit is not None and path.limit.kind for path in paths] == ["bifurcation"] * 2
    assert paths[0].load == pytest.approx(paths[1].load, rel=SAME, abs=1e-10)
    assert paths[0].extension / energy == pytest.approx(paths[1].extension, rel=SAME, abs=1e-10)


def floating(scale: Scale) -> tuple[ct.Linkage, Any]:
    """Three bodies on two hinges, held by nothing."""
    mass, length, energy = scale
    body = ct.Body.from_particles(PARTICLES * length, mass)
    ends = ((0, 0, 0.75 * length), (0, 0, -0.75 * length))
    linkage = ct.Linkage(
        [body] * 3,
        [ct.Revolute(k, k + 1, at=ends, axis=(1, 0, 0)) for k in (0, 1)],
        [ct.Torsion(k, "b*(1 - cos(theta - 0.5))", {"b": 2 * energy}) for k in (0, 1)],
        gravity=(0, 0, 0),
        pairs=ct.LennardJones(energy, length),
    )
    return linkage, linkage.equilibrium(linkage.start())


def test_linkages_that_float_are_at_rest_in_any_units(monkeypatch):
    """Their shifts have forces, their hinges torques: what rounding leaves of the larger ones was thought enough for the smaller ones."""
    linkage, known = floating(REDUCED)
    expected = linkage.normal_modes(known).omega

    def frequencies(scale: Scale) -> np.ndarray:
        other, found = floating(scale)
        assert found.converged and found.flat == known.flat == 6
        return np.asarray(other.normal_modes(found).omega) * period(scale)

    for scale in OTHERS.values():
        assert frequencies(scale) == pytest.approx(expected, rel=SAME)
    monkeypatch.setattr(LinkageProblem, "units", lambda self, free: np.ones(len(free)))
    with pytest.raises(AssertionError):
        assert frequencies(OTHERS["molecule"]) == pytest.approx(expected, rel=1e-4)
