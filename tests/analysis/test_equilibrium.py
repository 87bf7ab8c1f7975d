"""Equilibria of chains: against references, verified from outside, and said to be none where there are none."""

from __future__ import annotations

import time

import numpy as np
import pytest

import catena as ct
import statics
from catena.analysis.statics import equilibrium, uniform
from catena.analysis.statics.poses import Poses
from catena.analysis.statics.problem import StaticProblem
from catena.analysis.statics.stability import stability
from catena.systems.chain import block_band, link_mechanics
from catena.systems.potentials.link_set import LinkSet
from statics import MIXED, REFERENCE, helix


def verified(chain: ct.Chain, found: equilibrium.Equilibrium) -> tuple[float, int]:
    """Residual and number of negative eigenvalues of a result by another route: kernels of the motion, and a dense eigensolver."""
    state = found.state
    problem = StaticProblem(chain, found.forces)
    poses = Poses.of_state(chain, state)
    h, gradient = 1e-4, []
    for j, c in np.argwhere(problem.free):
        step = np.zeros((chain.count, 6))
        step[j, c] = h
        along = {k: statics.energy_at(problem, poses, k * step) for k in (-2, -1, 1, 2)}
        gradient.append((8 * (along[1] - along[-1]) - (along[2] - along[-2])) / (12 * h))
    matrix = block_band.assemble(*problem.blocks(problem.balance(poses)))
    free = problem.gauge(poses).ravel()
    values = np.linalg.eigvalsh(matrix[np.ix_(free, free)])
    return float(np.abs(gradient).max()), int((values < -1e-9 * values[-1]).sum())


# The matrix ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chain", [helix(4).system, MIXED], ids=["pairs", "all potentials"])
def test_gradient_and_matrix_are_derivatives_of_the_energy(chain):
    """Differences of fourth order along displacements, away from equilibrium: h^4 of what they cut off leaves 1e-9 of the matrix."""
    problem = StaticProblem.of(chain, None, "test")
    poses = Poses.of_state(chain, statics.disturbed(chain, helix(4).start, 0.03, 1))
    balance = problem.balance(poses)
    matrix = block_band.assemble(*problem.blocks(balance))
    chance = np.random.default_rng(5)
    h = 2e-4
    for _ in range(4):
        xi = chance.normal(size=(4, 6))
        slopes = {k: statics.slope_at(problem, poses, xi, k * h) for k in (-2, -1, 1, 2)}
        energies = {k: statics.energy_at(problem, poses, k * h * xi) for k in (-2, -1, 1, 2)}
        size = np.abs(matrix).max() * (xi * xi).sum()
        first, second = ((8 * (v[1] - v[-1]) - (v[2] - v[-2])) / (12 * h) for v in (energies, slopes))
        assert first == pytest.approx((balance.gradient * xi).sum(), abs=1e-11 * size)
        assert second == pytest.approx(xi.ravel() @ matrix @ xi.ravel(), abs=1e-9 * size)


@pytest.mark.parametrize("broken", ["no symmetric turn", "wrench of the left body"])
def test_a_wrong_second_derivative_is_seen(broken, monkeypatch):
    """The twins of the test above: S without its other half, and G with the wrench in the wrong axes."""
    right = link_mechanics.geometric_blocks

    def wrong(d, q, wrench):
        if broken == "wrench of the left body":
            wrench = np.concatenate([np.einsum("nij,nj->ni", q, part) for part in np.split(wrench, 2, axis=1)], axis=1)
            return right(d, q, wrench)
        own, beside = right(d, q, wrench)
        force = np.einsum("nij,nj->ni", q, wrench[:, :3])
        own[:, 3:, 3:] = force[:, :, None] * d[:, None] - (force * d).sum(axis=1)[:, None, None] * np.eye(3)
        return 0.5 * (own + own.swapaxes(1, 2)) + 0.5 * np.eye(6) * (own - own.swapaxes(1, 2)).max(), beside

    monkeypatch.setattr(link_mechanics, "geometric_blocks", wrong)
    with pytest.raises(AssertionError):
        test_gradient_and_matrix_are_derivatives_of_the_energy(MIXED)


def test_link_potentials_have_exact_slopes_and_tell_where_they_cannot():
    """BendTwist against its own second derivatives, which are linear in Q; |d1| is seen, and done by differences."""
    rod = ct.BendTwist(10.0, 2.0, 3.0, (1.1, 0.6, 0.4))
    chance = np.random.default_rng(2)
    d, q = chance.normal(size=(5, 3)), np.linalg.qr(chance.normal(size=(5, 3, 3)))[0]
    bond, constants = link_mechanics.Bond(LinkSet([rod]).groups[0]), np.tile(rod.table, (5, 1))
    slopes = bond.slopes(d, q, constants)
    assert np.abs(slopes[:, :3, :3] + 10.0 * np.eye(3)).max() < 1e-14
    rough = bond._differences(d, q, constants)
    assert np.abs(slopes - rough).max() < 1e-11 * np.abs(rough).max()
    assert bond.analytic
    corner = ct.LinkPotential("d2**2 + sqrt(d1**2)*d1 + Q11*d3**2")
    edged = link_mechanics.Bond(LinkSet([corner]).groups[0])
    assert not edged.analytic
    assert np.abs(edged.slopes(d, q, np.tile(corner.table, (5, 1)))[:, 0, 0] + 2.0 * np.sign(d[:, 0])).max() < 1e-9


# References ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 64])
def test_a_helix_pulled_by_a_force(n):
    case = REFERENCE["pulled"][str(n)]
    problem = helix(n, right="force", F=case["force"])
    found = problem.system.equilibrium(problem.start)
    assert found.status == "converged" and found.negative == 0 and found.iterations <= 5
    assert found.energy == pytest.approx(case["energy"], rel=case["energy_tolerance"])
    assert found.state.position[-1] == pytest.approx(case["last"], abs=2e-12 if n == 8 else 1e-11)


@pytest.mark.parametrize("right", REFERENCE["held"])
def test_a_helix_stretched_and_held_at_both_ends(right):
    case = REFERENCE["held"][right]
    chain, start = statics.stretched(right)
    found = chain.equilibrium(start)
    assert found.status == "converged" and found.iterations <= 5
    assert found.energy == pytest.approx(case["energy"], abs=1e-11)
    assert found.lowest == pytest.approx(case["lowest"], abs=1e-11)


def test_the_load_is_a_force_on_the_end_whoever_gives_it():
    case = REFERENCE["pulled"]["8"]
    free, forces = helix(8), np.zeros((8, 3))
    forces[-1] = case["force"]
    for load in (case["force"], forces):
        assert free.system.equilibrium(free.start, load).energy == pytest.approx(case["energy"], rel=1e-13)
    half = helix(8, right="force", F=np.array(case["force"]) / 2)
    found = half.system.equilibrium(half.start, np.array(case["force"]) / 2)
    assert found.energy == pytest.approx(case["energy"], rel=1e-13)


def test_a_chain_pulled_at_its_left_end_is_the_other_one_turned_round():
    """The last body is the root then: the helix is its own mirror but for a half turn, and d of a link that of the other way."""
    problem = helix(8, right="force", F=(3.0, 0.0, 0.0))
    found = problem.system.equilibrium(problem.start)
    state = problem.start
    reverse = ct.Chain(problem.system.bodies, ct.LennardJones(5.0, 1.0), ct.Force((3.0, 0.0, 0.0)), ct.Clamped())
    turned = reverse.equilibrium(reverse.start(state.position[::-1], state.orientation[::-1]))
    assert turned.status == "converged" and turned.iterations == found.iterations
    assert turned.energy == pytest.approx(found.energy, rel=1e-14)
    assert np.abs(turned.state.position[::-1] - found.state.position).max() < 1e-12


def test_every_potential_and_end_has_an_equilibrium():
    found = MIXED.equilibrium(helix(4).start)
    assert found.status == "converged"
    residual, negative = verified(MIXED, found)
    assert residual < 1e-8 and negative == 0


def test_without_a_start_links_begin_in_their_deepest_minimum():
    """Of the three screws of the helix chain that is the zigzag."""
    zigzag = helix(8, state="zigzag")
    found = zigzag.system.equilibrium()
    assert found.iterations == 0
    assert found.energy == pytest.approx(zigzag.system.equilibrium(zigzag.start).energy, rel=1e-13)
    rod = ct.Chain(
        [ct.Body.box((1.0, 1.0, 1.0))] * 3, ct.BendTwist(10.0, 2.0, 1.0, (0.2, 0.0, 1.0), (1.0, 0.1, 0.0, 0.2))
    )
    assert abs(rod.equilibrium().energy) < 1e-14


def test_a_hanging_chain_hangs_and_its_reaction_carries_it():
    """Under gravity, hinged to a place: balanced by the reaction on its first body, m g n; turns about the vertical cost nothing."""
    problem = helix(8, left="displaced", gravity=(0.0, 0.0, -0.5))
    found = problem.system.equilibrium(problem.start)
    assert found.status == "converged" and found.flat == 1
    assert problem.system.reactions(found.state).force[0] == pytest.approx([0.0, 0.0, 0.5 * 4.0 * 8], abs=1e-9)
    assert verified(problem.system, found)[1] == 0


# What is none --------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:particle 1 of body 0")
def test_a_saddle_is_seen_and_left():
    """The straight row between clamps is balanced by symmetry (residual 3.6e-15), with omega^2 = -207 at its lowest."""
    row = ct.problems.printed_chain(left="clamped", right="clamped", amp=0.0)
    problem = StaticProblem.of(row.system, None, "test")
    balance = problem.balance(Poses.of_state(row.system, row.start))
    assert balance.residual < 1e-13
    stable = stability(problem, balance)
    assert stable.negative > 0 and stable.lowest == pytest.approx(-207.0, abs=0.5)
    found = row.system.equilibrium(row.start)
    assert found.saddles[0] == stable.lowest and found.status == "torn"
    assert "unstable equilibria" in repr(found)


@pytest.mark.filterwarnings("ignore:particle 1 of body 0")
def test_a_saddle_that_nobody_looks_for_would_be_called_converged(monkeypatch):
    """The twin: gradients alone."""
    row = ct.problems.printed_chain(left="clamped", right="clamped", amp=0.0)
    monkeypatch.setattr(equilibrium, "stability", lambda *_: equilibrium.Stability(0, 0, 1.0, np.zeros((8, 6))))
    assert row.system.equilibrium(row.start).converged


def test_more_than_the_chain_can_bear_tears_it_and_the_limit_is_told():
    """Three bodies on the helix bear 11.026; none of the other arrangements bears 60."""
    problem = helix(3)
    found = problem.system.equilibrium(problem.start, load=(60.0, 0.0, 0.0))
    assert found.status == "torn" and not found.converged
    assert found.limit is not None and found.limit.kind == "limit"
    assert 60.0 * found.limit.load == pytest.approx(REFERENCE["limit"]["3"]["load"], abs=1e-10)
    borne = problem.system.equilibrium(problem.start, load=(11.0, 0.0, 0.0))
    assert borne.converged and borne.limit is None


def test_what_nothing_holds_is_flat_and_what_falls_is_impossible():
    free = helix(8, left="free")
    found = free.system.equilibrium(free.start)
    assert found.converged and found.flat == 6
    assert found.lowest == pytest.approx(2.190707282845429**2, rel=1e-11)
    falling = helix(8, left="free", gravity=(0.0, 0.0, -1.0))
    with pytest.raises(ct.InputError, match="nothing holds the chain"):
        falling.system.equilibrium(falling.start)
    balanced = np.zeros((8, 3))
    balanced[0, 0], balanced[-1, 0] = -1.0, 1.0
    pulled = free.system.equilibrium(free.start, balanced)
    assert pulled.converged and pulled.flat == 4  # three shifts, and the turn about the pull


def test_what_is_no_problem_of_statics_is_refused(monkeypatch):
    chain, start = helix(4).system, helix(4).start
    for make, error, match in (
        (lambda: chain.equilibrium(start, load=(1.0, 2.0)), ct.InputError, "load"),
        (lambda: chain.equilibrium(start, tol=0.0), ct.InputError, "tol = 0"),
        (lambda: helix(4, right="clamped").system.equilibrium(start, load=(1.0, 0.0, 0.0)), ct.InputError, "is held"),
    ):
        with pytest.raises(error, match=match):
            make()

    class Driven(ct.Force):
        """A force that changes with time."""

    swinging = ct.Chain(chain.bodies, ct.LennardJones(5.0, 1.0), right=ct.Force((1.0, 0.0, 0.0)))
    object.__setattr__(swinging.right, "force", ("sin(t)", 0.0, 0.0))
    with pytest.raises(ct.CapabilityError, match="changes with time"):
        swinging.equilibrium(start)


def test_random_starts_give_no_false_equilibrium():
    """Every result that is called converged is verified by differences of the energy and by a dense eigensolver."""
    counts = {"converged": 0}
    for seed in range(8):
        problem = helix(4, right=("free", "force", "clamped", "displaced")[seed % 4], F=(2.0, 1.0, 0.0))
        size = (0.02, 0.1, 0.3)[seed % 3]
        found = problem.system.equilibrium(statics.disturbed(problem.system, problem.start, size, seed))
        counts[found.status] = counts.get(found.status, 0) + 1
        if found.converged:
            residual, negative = verified(problem.system, found)
            assert residual < 1e-8 and negative == 0, (seed, found)
    assert counts["converged"] >= 5, counts


def random_start(seed: int) -> tuple[ct.Chain, equilibrium.Equilibrium]:
    """One of 200 starts: all ends, three screws, disturbed a little or out of all shape."""
    right = ("free", "force", "clamped", "displaced")[seed % 4]
    problem = helix(5, state=("helix", "near", "zigzag")[seed % 3], right=right, F=(4.0, 1.0, -1.0))
    size = (0.02, 0.1, 0.3, 1.0)[seed // 4 % 4]
    return problem.system, problem.system.equilibrium(statics.disturbed(problem.system, problem.start, size, seed))


@pytest.mark.parametrize("seed", [64, 140])
def test_links_are_relaxed_as_far_as_rounding_allows(seed, monkeypatch):
    """Links that stand for themselves ended at 1.5 and 3.9 times tol, and were called lost, as long as 450 eps were good enough."""
    assert random_start(seed)[1].converged
    monkeypatch.setattr(uniform, "ROUNDED", 1e-13)
    assert random_start(seed)[1].status == "not_converged"


@pytest.mark.slow
def test_two_hundred_random_starts_give_no_false_equilibrium():
    """Nor is anything called lost that is all but at rest; a chain between held ends with a link of 3.9 sigma still creeps along."""
    counts: dict[str, int] = {}
    for seed in range(200):
        chain, found = random_start(seed)
        counts[found.status] = counts.get(found.status, 0) + 1
        if found.converged:
            residual, negative = verified(chain, found)
            assert residual < max(1e-8, 10 * found.tol) and negative == 0, (seed, found)
        assert found.status != "not_converged" or found.residual > 1e6 * found.tol, (seed, found)
    assert counts["converged"] >= 187 and counts.get("not_converged", 0) <= 1, counts


# Long chains ---------------------------------------------------------------------------------------------------------------


def test_the_iterations_of_a_pulled_chain_do_not_grow_with_it():
    problem = helix(1000, right="force", F=(3.0, 0.0, 0.0))
    found = problem.system.equilibrium(problem.start)
    assert found.converged and found.iterations <= 5


def test_with_wrenches_out_of_balance_they_do(monkeypatch):
    """The twin: the matrix with the wrenches that the links happen to have, and the unloaded helix to begin with."""
    problem = helix(256, right="force", F=(3.0, 0.0, 0.0))
    monkeypatch.setattr(equilibrium, "pulled_start", lambda *_: None)
    good = problem.system.equilibrium(problem.start)
    assert good.iterations <= 6
    monkeypatch.setattr(StaticProblem, "wrenches", lambda self, poses: self.balance(poses).values.gradient)
    assert problem.system.equilibrium(problem.start).iterations > 2 * good.iterations


@pytest.mark.slow
def test_very_long_chains_take_as_many_iterations_and_linear_time():
    """Measured 3 iterations at 1000, 10 000 and 100 000 bodies; times are the best of three, sizes in turn."""
    best: dict[int, float] = {}
    problems = {n: helix(n, right="force", F=(3.0, 0.0, 0.0)) for n in (1000, 10_000)}
    for _ in range(3):
        for n, problem in problems.items():
            begin = time.perf_counter()
            found = problem.system.equilibrium(problem.start)
            best[n] = min(best.get(n, np.inf), time.perf_counter() - begin)
            assert found.converged and found.iterations <= 5
    assert best[10_000] <= 13 * best[1000]
    longest = helix(100_000, right="force", F=(3.0, 0.0, 0.0))
    found = longest.system.equilibrium(longest.start)
    assert found.converged and found.iterations <= 6
