"""Forces of pair and link potentials inside a chain, mixed bodies, and degenerate ones."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.geometry import rotations
from catena.systems.base import system_from
from chains import Plain, quiet_start
from harness import Precise
from uncompiled import simulate

# Two bodies of three and five particles whose principal axes are not those they are given in, and one without particles.
SKEW = ct.Body.from_particles([[0.5, 0.1, -0.3], [-0.4, 0.6, 0.2], [0.1, -0.5, 0.4]], masses=[1.0, 2.0, 1.5])
LARGE = ct.Body.from_particles(
    [[0.6, 0.1, 0.0], [-0.5, 0.3, 0.2], [0.0, -0.6, 0.1], [0.1, 0.2, 0.7], [-0.1, 0.0, -0.6]],
    types=["a", "b", "a", "b", "b"],
)
TILTED = ct.Body.from_inertia(2.0, [[1.5, 0.2, 0.1], [0.2, 1.2, -0.1], [0.1, -0.1, 1.8]])
TYPED = ct.Body.from_particles(SKEW.particles.positions, masses=[1.0, 2.0, 1.5], types=["a", "b", "a"])

LJ = ct.LennardJones(5.0, 1.0)
BEND = ct.BendTwist(30.0, 4.0, 2.5, (0.2, -0.1, 1.4), (0.9, 0.1, -0.2, 0.3))
BERNE = ct.GayBerne(2.0, 0.9, 1.8, 2.5, 1.5, 0.7)
TEXT = ct.LinkPotential(
    "k*((d1 - 0.2)**2 + d2**2*Q11 + (d3 - 1)**2)/2 + b*(1 - Q33)*exp(-Q12*d2)", {"k": 4.0, "b": 1.5}
)
SPRING = np.diag([3.0, 2.0, 5.0, 40.0, 30.0, 60.0]) + 1.0
TABLE = ct.PairTable({("a", "a"): LJ, ("a", "b"): ct.Morse(4.0, 2.0, 1.2), ("b", "b"): None})
POTENTIALS = {
    "LennardJones": (SKEW, LJ),
    "WCA": (SKEW, ct.WCA(5.0, 1.3)),
    "Morse": (SKEW, ct.Morse(5.0, 3.0, 1.1)),
    "Yukawa": (SKEW, ct.Yukawa(2.0, 1.5)),
    "Harmonic": (SKEW, ct.Harmonic(3.0, 1.2)),
    "PairPotential": (SKEW, ct.PairPotential("C*exp(-r)/r**2 + r**2", {"C": 2.0})),
    "Switched": (SKEW, ct.Switched(LJ, 1.1, 2.4, smoothness=3)),
    "PotentialSum": (SKEW, LJ + ct.Yukawa(2.0, 1.5)),
    "PairTable": (TYPED, TABLE),
    "BendTwist": (TILTED, BEND),
    "GayBerne": (TILTED, BERNE),
    "LinkPotential": (TILTED, TEXT),
    "Elastic": (TILTED, ct.Elastic(SPRING, ([0.3, -0.2, 0.6], [0.2, -0.1, 1.1]), "exponential", "middle")),
    "Elastic, one for each link": (
        TILTED,
        ct.Elastic([SPRING, 2 * SPRING, SPRING], ([0.3, -0.2, 0.6], [0.2, -0.1, 1.1])),
    ),
    "LinkSum": (TILTED, BEND + TEXT),
    "MixedPotential": (SKEW, LJ + BEND),
    "one for each link": (SKEW, [LJ + BERNE, BEND, ct.Morse(5.0, 3.0, 1.1)]),
}


def scattered(bodies, potential, **ends) -> ct.Problem:
    """Four bodies of no symmetry at rest, free unless told otherwise."""
    chain = ct.Chain(bodies, potential, **{"left": ct.Free(), "right": ct.Free(), **ends})
    j = np.arange(4)
    position = np.column_stack([0.3 * np.sin(2 * j), 0.2 * np.cos(3 * j), 1.7 * j + 0.1 * np.sin(j)])
    turn = np.column_stack([np.full(4, 1.0), 0.4 * np.sin(j + 1), 0.5 * np.cos(2 * j), 0.3 * np.sin(3 * j + 2)])
    return ct.Problem("scattered", chain, quiet_start(chain, position, rotations.normalise(turn)), 0.01)


def rates(problem: ct.Problem, z: np.ndarray) -> np.ndarray:
    """dz/dt of the canonical equations."""
    program = build(problem.system, ct.RK4(), compiled=False)
    out, par = np.zeros_like(z), program.new_par()
    getattr(program.module, next(p for p in vars(program.module) if p.endswith("canonical_field")))(z, par, out)
    return out


def gradient_defect(problem: ct.Problem, potential_factor: float = 1.0) -> float:
    """Largest difference of (pdot, gdot) at rest from -dV/d(r, q), by differences of 1e-15 in 50 digits; relative.

    The quaternions are not of length 1: V is taken at the normalised rotation, so its gradient is defined there.
    """
    z = problem.system.view("canonical").pack(problem.start)
    z[12:28] *= 1.1
    seen = potential_factor * rates(problem, z)[28:]
    with mpmath.workdps(50):
        precise = Precise(ct.RK4(), problem)
        exact = np.array([mpmath.mpf(x) for x in z], dtype=object)
        step = mpmath.mpf(10) ** -15
        slopes = []
        for k in range(28):
            energies = []
            for sign in (1, -1):
                moved = exact.copy()
                moved[k] += sign * step
                energies.append(precise.invariants(moved)[0])
            slopes.append(float((energies[1] - energies[0]) / (2 * step)))
    wanted = np.array(slopes)
    return float(np.abs(seen - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("name", POTENTIALS)
def test_forces_are_the_gradient_of_the_energy(name):
    """1e-13 relative to the largest: some tens of terms, rounded."""
    body, potential = POTENTIALS[name]
    assert gradient_defect(scattered([body] * 4, potential)) < 1e-13


def test_a_force_that_is_off_by_one_part_in_a_million_is_seen():
    body, potential = POTENTIALS["LinkSum"]
    assert gradient_defect(scattered([body] * 4, potential), 1.0 + 1e-6) > 1e-7


def test_bodies_of_different_sizes_interact_by_all_their_particles():
    """Three, five, three and five particles: the force is that of plain sums, and the gradient of the energy."""
    problem = scattered([SKEW, LARGE, SKEW, LARGE], LJ)
    assert gradient_defect(problem) < 1e-13
    z = problem.system.view("canonical").pack(problem.start)
    seen = rates(problem, z)[28:40].reshape(4, 3)
    placed = problem.system.particles(problem.start)
    wanted = np.zeros((4, 3))
    for j in range(3):
        apart = placed[j][:, None] - placed[j + 1][None]
        distance = np.linalg.norm(apart, axis=-1)
        force = ((LJ.force(distance) / distance)[..., None] * apart).sum(axis=(0, 1))
        wanted[j] += force
        wanted[j + 1] -= force
    assert np.abs(seen - wanted).max() < 1e-13 * np.abs(wanted).max()


@pytest.mark.parametrize("method", [Plain(4), ct.Gauss(3)], ids=str)
@pytest.mark.parametrize("name", ["BendTwist", "GayBerne", "one for each link"])
def test_a_free_chain_of_link_potentials_keeps_momentum_and_angular_momentum(name, method):
    """50 eps sqrt(steps) of the terms, as the audit judges."""
    body, potential = POTENTIALS[name]
    problem = scattered([body] * 4, potential)
    run = simulate(problem, None, method, dt=0.005, steps=40)
    for invariant in ("total_momentum", "total_angular_momentum"):
        values = run.data[invariant].values
        assert np.abs(values - values[0]).max() < 50 * np.finfo(float).eps * np.sqrt(40) * 10
    energy = run.data.energy.values
    assert np.abs(energy - energy[0]).max() < 1e-4 * np.abs(run.data.momentum).max()


def test_a_torque_with_the_wrong_sign_loses_the_angular_momentum():
    """The twin: BendTwist whose torque on the left body is forgotten."""
    problem = scattered([TILTED] * 4, BEND)
    z = problem.system.view("canonical").pack(problem.start)
    out = rates(problem, z)
    turning = np.zeros(3)
    for j in range(4):
        q, g = z[12 + 4 * j : 16 + 4 * j], out[40 + 4 * j : 44 + 4 * j]
        torque = 0.5 * rotations.multiply(rotations.conjugate(q), g)[1:]
        turning += np.cross(z[3 * j : 3 * j + 3], out[28 + 3 * j : 31 + 3 * j]) + rotations.rotate(q, torque)
        lost = rotations.rotate(q, torque)
    assert np.abs(turning).max() < 1e-12
    assert np.abs(turning - lost).max() > 0.1


def test_potentials_of_links_are_described_and_counted():
    chain = scattered([SKEW] * 4, POTENTIALS["one for each link"][1]).system
    assert system_from(chain.describe()).describe() == chain.describe()
    one = scattered([TILTED] * 4, BEND).system
    assert system_from(one.describe()).describe() == one.describe()
    other = scattered([TILTED] * 4, ct.BendTwist(1.0, 2.0, 3.0, (0, 0, 1.0))).system
    assert (
        build(one, ct.RK4(), compiled=False).text == build(other, ct.RK4(), compiled=False).text
    )  # nothing compiled anew
    with pytest.raises(ct.InputError, match="2 potentials for 3 links"):
        scattered([TILTED] * 4, [BEND, BEND])
    with pytest.raises(ct.InputError, match="body 1 has no particles"):
        scattered([SKEW, TILTED, SKEW, SKEW], [BEND, LJ, LJ])
    with pytest.raises(ct.InputError, match="is no potential"):
        scattered([SKEW] * 4, "lj")
    scattered([SKEW, SKEW, TILTED, TILTED], [LJ, BEND, BEND])


def test_a_link_may_not_turn_what_cannot_turn():
    """A line has no moment about itself, a point none at all; a spring between centres turns neither."""
    rod, point = ct.Body.rod(1.0), ct.Body.from_particles([[0, 0, 0]])
    with pytest.raises(ct.InputError, match="link 0 turns body 1, a linear body"):
        ct.Chain([TILTED, rod], BEND)
    with pytest.raises(ct.InputError, match="link 0 turns body 0, a point"):
        ct.Chain([point, TILTED], BEND)
    spring = ct.LinkPotential("k*(d1**2 + d2**2 + d3**2)/2", {"k": 2.0})
    ct.Chain([point, rod, TILTED], spring)
    along = ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
    ct.Chain([along] * 3, BERNE)  # its axis is the third


# Degenerate bodies -------------------------------------------------------------------------------------------------


def rods_by_unit_vectors(positions, directions, velocities, rates_of_direction, potential, t_end):
    """Rods of two unit masses at r -/+ u/2 as (r, u) with |u| = 1: u'' = (torque part)/I - |u'|^2 u, by DOP853; the first is held."""
    from scipy.integrate import solve_ivp

    n = len(positions)
    mass, inertia = 2.0, 0.5

    def field(_, x):
        r, u, v, w = x.reshape(4, n, 3)
        ends = np.stack([r - 0.5 * u, r + 0.5 * u], axis=1)
        force = np.zeros((n, 2, 3))
        for j in range(n - 1):
            apart = ends[j][:, None] - ends[j + 1][None]
            s = (apart**2).sum(-1)
            i3 = (potential.sigma**2 / s) ** 3
            push = (24.0 * potential.epsilon * (2.0 * i3 * i3 - i3) / s)[..., None] * apart
            force[j] += push.sum(axis=1)
            force[j + 1] -= push.sum(axis=0)
        lever = 0.5 * (force[:, 1] - force[:, 0])
        lever -= (lever * u).sum(-1, keepdims=True) * u
        turn = lever / inertia - (w * w).sum(-1, keepdims=True) * u
        shift = force.sum(axis=1) / mass
        shift[0] = turn[0] = 0.0
        return np.concatenate([v, w, shift, turn]).ravel()

    start = np.concatenate([positions, directions, velocities, rates_of_direction]).ravel()
    end = solve_ivp(field, (0.0, t_end), start, method="DOP853", rtol=3e-14, atol=1e-15, max_step=0.005).y[:, -1]
    return end.reshape(4, n, 3)


@pytest.mark.slow
def test_rods_move_as_unit_vectors_do():
    """Gauss(6) against an independent formulation integrated by DOP853 with its least tolerances: 1e-13 (measured 2e-14)."""
    rod = ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
    potential = ct.LennardJones(1.0, 1.0)
    chain = ct.Chain([rod] * 4, potential)
    j = np.arange(4)
    position = np.column_stack([1.2 * j, 0.1 * j, np.zeros(4)])
    velocity = 0.1 * np.column_stack([np.sin(j), np.cos(j), np.sin(2 * j)]) * (j > 0)[:, None]
    spin = 0.2 * np.column_stack([np.cos(j), np.sin(2 * j), np.zeros(4)]) * (j > 0)[:, None]
    start = chain.start(position, velocity=velocity, angular_velocity=spin)
    run = ct.simulate(chain, start, method=ct.Gauss(6), dt=0.01, t_end=1.0, every=10)
    up = np.tile((0.0, 0.0, 1.0), (4, 1))
    r, u, v, w = rods_by_unit_vectors(position, up, velocity, np.cross(spin, up), potential, 1.0)
    seen = rotations.rotate(run.final.orientation, up)
    omega = rotations.rotate(run.final.orientation, run.final.angular_momentum / 0.5)
    assert np.abs(run.final.position - r).max() < 1e-13
    assert np.abs(seen - u).max() < 1e-13
    assert np.abs(run.final.momentum / 2.0 - v).max() < 1e-13
    assert np.abs(np.cross(omega, seen) - w).max() < 1e-13
    assert np.abs(run.data.unit_residual).max() < 1e-15
    assert np.abs(seen - up).max() > 0.01


@pytest.mark.parametrize("method", [Plain(4), ct.Gauss(3)], ids=str)
def test_points_are_a_string_of_beads(method):
    """Point masses with springs: normal modes in closed form; Gauss(3) and order 4 to their errors at dt = 0.01."""
    n, k, m = 5, 3.0, 2.0
    point = ct.Body.from_particles([[0, 0, 0]], masses=m)
    chain = ct.Chain([point] * n, ct.Harmonic(k, 1.0), left=ct.Clamped(), right=ct.Clamped())
    position = np.zeros((n, 3))
    position[:, 0] = np.arange(n) + 0.05 * np.sin(np.pi * np.arange(n) / (n - 1))
    position[-1, 0] = n - 1
    run = simulate(chain, chain.start(position), method, dt=0.01, steps=100)
    omega = 2.0 * np.sqrt(k / m) * np.sin(np.pi / (2 * (n - 1)))
    wanted = np.arange(n) + 0.05 * np.sin(np.pi * np.arange(n) / (n - 1)) * np.cos(omega * 1.0)
    assert np.abs(run.final.position[:, 0] - wanted).max() < {"Splitting": 1e-10, "Gauss": 1e-13}[method.name]
    assert np.array_equal(run.final.orientation, chain.start(position).orientation)


def test_points_rods_and_solids_share_a_chain():
    """Energy to the order of the method, the unit length to round-off, the point unturned."""
    point, rod = ct.Body.from_particles([[0, 0, 0]]), ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
    problem = scattered([ct.Body.tetrahedron(), point, rod, LARGE], LJ)
    errors = []
    for dt in (0.01, 0.005):
        run = simulate(problem, None, Plain(4), dt=dt, steps=round(0.2 / dt))
        errors.append(float(np.abs(run.data.energy - run.data.energy[0]).max()))
        assert np.abs(run.data.unit_residual).max() < 1e-15
        assert np.array_equal(run.final.orientation[1], problem.start.orientation[1])
    assert np.log2(errors[0] / errors[1]) > 3.5
