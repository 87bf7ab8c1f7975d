"""Starts at a temperature: momenta of their law, nothing else changed."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct

LINE = ct.Body(mass=1.1, moments=(0.7, 0.7, 0.0))
TILTED = ct.Body.from_inertia(2.0, [[1.0, 0.2, 0.0], [0.2, 1.5, 0.1], [0.0, 0.1, 2.0]])


def chain_of(count: int) -> ct.Chain:
    return ct.Chain([TILTED, *[LINE, TILTED] * count], ct.BendTwist(1.0, 0.0, 0.0, (0, 0, 1)))


def test_momenta_of_bodies_have_the_variances_of_their_masses_and_tensors() -> None:
    """800 bodies of each kind: <p^2> = m kT, <w.w> of the angular momenta by the tensor in the given axes; 5 errors of chi^2."""
    chain = chain_of(800)
    start = chain.straight(1.0)
    warm = chain.maxwell(start, 0.6, seed=3)
    assert np.array_equal(warm.position, start.position) and np.array_equal(warm.orientation, start.orientation)
    assert not warm.momentum[0].any() and not warm.angular_momentum[0].any(), "the clamped body"
    for first, body in ((1, LINE), (2, TILTED)):
        p, y = warm.momentum[first::2], warm.angular_momentum[first::2]
        assert (p**2).mean() / (body.mass * 0.6) == pytest.approx(1.0, abs=5 * np.sqrt(2 / p.size))
        found = np.einsum("ji,jk->ik", y, y) / (len(y) * 0.6)
        assert np.abs(found - body.tensor).max() < 5 * 1.5 * body.moments.max() / np.sqrt(len(y))
    along = warm.angular_momentum[1::2] @ LINE.frame_matrix[:, int(np.argmin(LINE.moments))]
    assert np.abs(along).max() < 1e-15, "a line has no momentum along itself"
    assert np.abs(found[0, 1] - 0.0) > 0.05, "the twin without the frame would have no products of inertia"


def test_a_draw_is_a_function_of_seed_and_member() -> None:
    chain = chain_of(2)
    start = chain.straight(1.0)
    drawn = [chain.maxwell(start, 0.6, seed=s, member=m).momentum for s, m in ((3, 0), (3, 0), (4, 0), (3, 1))]
    assert np.array_equal(drawn[0], drawn[1])
    assert len({float(p[1, 0]) for p in drawn}) == 3
    assert np.array_equal(chain.maxwell(start, 2.4, seed=3).momentum, 2.0 * drawn[0]), "momenta grow with sqrt(kT)"


def test_coupled_coordinates_are_drawn_with_their_mass_matrix() -> None:
    system = ct.Hamiltonian("p1**2/2 + p2**2 + p1*p2/2 + q1**2", ["q1", "q2"], ["p1", "p2"])
    start = system.start(q=[0.1, 0.2], p=[0.0, 0.0])
    p = np.array([system.maxwell(start, 2.0, seed=1, member=k).p for k in range(4000)])
    wanted = 2.0 * np.linalg.inv([[1.0, 0.5], [0.5, 2.0]])
    assert np.abs(p.T @ p / len(p) - wanted).max() < 5 * 3.0 / np.sqrt(len(p))


@pytest.mark.parametrize(
    ("given", "message"),
    [({"temperature": -1.0}, "temperature = -1.0"), ({"seed": 2**64}, "seed ="), ({"member": -1}, "member = -1"), ({"seed": 0.5}, "seed = 0.5")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(given: dict, message: str) -> None:
    chain = chain_of(1)
    with pytest.raises(ct.InputError, match=message):
        chain.maxwell(chain.straight(1.0), **{"temperature": 1.0} | given)


def test_systems_without_a_temperature_say_so() -> None:
    of = ct.problems.pendulum()
    with pytest.raises(ct.CapabilityError, match="has no temperature here"):
        of.system.maxwell(of.start, 1.0)


@pytest.mark.parametrize("joint", [ct.Revolute, ct.Cylindrical])
def test_lines_and_points_beside_a_joint_are_as_warm_as_their_freedoms(
    joint: type[ct.Revolute | ct.Cylindrical],
) -> None:
    """2 T/kT is a chi^2 with one number for each freedom, 400 draws: 5 errors. The same of other freedoms is refused."""
    point = ct.Body.from_particles([(0, 0, 0)], masses=[1.3])
    box = ct.Body.box((1.0, 2.0, 0.5), mass=1.7)
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0.2, 0, 1.0)), axis=(1, 0, 0))
    linkage = ct.Linkage([box, point], [hinge, joint(0, 1, at=((0, 0.1, -1.0), (0.2, 0.3, 0.5)), axis=(0.3, 1, 0.4))])
    start, twice = linkage.start(), []
    for seed in range(400):
        warm = linkage.maxwell(start, 0.6, seed=seed)
        motion = warm.angular_momentum[0] @ np.linalg.inv(box.tensor) @ warm.angular_momentum[0]
        twice.append(
            (warm.momentum[0] @ warm.momentum[0] / 1.7 + warm.momentum[1] @ warm.momentum[1] / 1.3 + motion) / 0.6
        )
    freedoms = 1 + joint(0, 1).degrees
    error = np.sqrt(2 * freedoms / len(twice))
    assert abs(np.mean(twice) - freedoms) < 5 * error
    assert abs(np.mean(twice) - freedoms - 1) > 5 * error


def test_driven_joints_move_as_prescribed_and_the_others_are_warm() -> None:
    """The other rate has the law of a Gaussian of both of which one is known: mean -M01 w/M11, variance kT/M11; 400 draws, 5 errors.

    M is that of the kinetic energy of rates. Rates drawn without the drive, and then set, would have the variance of the inverse of M.
    """
    rod, kt, rate = ct.Body.box((0.1, 0.1, 1.0), mass=2.0), 0.6, 0.7
    ends = [((0, 0, 0), (0, 0, 0.5)), ((0, 0, -0.5), (0, 0, 0.5))]
    hinges = [ct.Revolute(j - 1, j, at=ends[j], axis=(1, 0, 0)) for j in (0, 1)]
    bare, driven = (ct.Linkage([rod, rod], hinges, forces) for forces in ([], [ct.Driven(0, "0.7*t + t**2")]))

    def kinetic(state: ct.State) -> float:
        spins = np.linalg.solve(rod.tensor, state.angular_momentum.T).T
        return float((state.momentum**2).sum() / 4.0 + (spins * state.angular_momentum).sum() / 2.0)

    unit = {k: kinetic(bare.start(rates=list(k))) for k in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))}
    across, own = unit[1.0, 1.0] - unit[1.0, 0.0] - unit[0.0, 1.0], 2.0 * unit[0.0, 1.0]
    straight = 2.0 * unit[1.0, 0.0]
    # what the drive and the joints take out of a draw is rounded to the spins that are drawn, those about the thin rod's own line
    rounded = 8 * np.finfo(float).eps * 5 * np.sqrt(kt / np.linalg.eigvalsh(rod.tensor)[0])
    start, found = driven.start(), []
    for seed in range(400):
        warm = driven.maxwell(start, kt, seed=seed)
        spins = np.linalg.solve(rod.tensor, warm.angular_momentum.T)[0]
        assert abs(spins[0] - rate) < rounded
        found.append(spins[1] - spins[0])
    driven.start(warm.position, warm.orientation, momentum=warm.momentum, angular_momentum=warm.angular_momentum)
    variance, wrong = kt / own, kt * straight / (straight * own - across**2)
    assert abs(np.mean(found) + across * rate / own) < 5 * np.sqrt(variance / 400)
    assert abs(np.var(found) / variance - 1.0) < 5 * np.sqrt(2 / 400) < abs(wrong / variance - 1.0)
