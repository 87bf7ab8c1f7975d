"""What a chain shows besides its state: lengths, energies and reactions of a state or a run, torn links, scales."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import catena as ct
from catena.engine.block import Members
from catena.errors import CatenaWarning
from catena.geometry import rotations
from catena.running.ensembles.batch import Batch
from catena.running.ensembles.job import Job
from catena.running.ensembles.results import Ensemble
from chains import Plain, disturbed_helix, quiet_start
from uncompiled import simulate

LJ = ct.LennardJones(5.0, 1.0)
BEND = ct.BendTwist(30.0, 4.0, 2.5, (1.1, 0.5, 0.4), (0.9, 0.1, -0.2, 0.3))


def pair_sum(chain: ct.Chain, state: ct.State, link: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Energy of a link, and the force and torque in space that its right body exerts on the left one: plain sums."""
    left, right = chain.particles(state)[link : link + 2]
    apart = left[:, None] - right[None]
    distance = np.linalg.norm(apart, axis=-1)
    forces = (LJ.force(distance) / distance)[..., None] * apart
    arms = left[:, None] - state.position[link]
    return float(LJ.energy(distance).sum()), forces.sum(axis=(0, 1)), np.cross(arms, forces).sum(axis=(0, 1))


def test_lengths_gaps_and_energies_of_a_state_are_those_of_plain_sums():
    chain, state = disturbed_helix(LJ)
    assert chain.link_lengths(state) == pytest.approx(
        np.linalg.norm(np.diff(state.position, axis=0), axis=1), rel=1e-15
    )
    placed = chain.particles(state)
    gaps = [np.linalg.norm(a[:, None] - b[None], axis=-1).min() for a, b in pairwise(placed)]
    assert chain.link_gaps(state) == pytest.approx(gaps, rel=1e-15)
    assert chain.link_energies(state) == pytest.approx([pair_sum(chain, state, j)[0] for j in range(3)], rel=1e-13)
    assert chain.link_energies(state).sum() == pytest.approx(-87.6679385276082806, rel=1e-13)


def test_energies_of_links_without_particles():
    chain = ct.Chain([ct.Body(moments=(1, 2, 3))] * 3, BEND)
    turn = rotations.normalise([[1, 0, 0, 0], [1, 0.2, 0, 0.1], [1, 0, 0.3, 0]])
    state = chain.start([[0, 0, 0], [1.0, 0.3, 0.2], [2.0, 0.1, 0.6]], turn)
    matrices = rotations.to_matrix(turn)
    wanted = [
        BEND.energy(matrices[j].T @ (state.position[j + 1] - state.position[j]), matrices[j].T @ matrices[j + 1])
        for j in range(2)
    ]
    assert chain.link_energies(state) == pytest.approx(wanted, rel=1e-13)
    assert np.isinf(chain.link_gaps(state)).all()


def test_reactions_balance_what_pulls_at_the_ends():
    """Clamped: force and torque; displaced: the force alone; gravity and loads count; free ends feel nothing."""
    base, state = disturbed_helix(LJ)
    _, force, torque = pair_sum(base, state, 0)
    gravity = np.array([0.0, 0.1, -0.5])
    for left, right in (
        (ct.Clamped(), ct.Displaced()),
        (ct.Displaced(), ct.Free()),
        (ct.Free(), ct.Force((3.0, 0, 0))),
    ):
        chain = ct.Chain(base.bodies, LJ, left, right, gravity)
        found = chain.reactions(state)
        if isinstance(left, ct.Free):
            assert not found.force.any()
        else:
            assert found.force[0] == pytest.approx(-(force + 4.0 * gravity), rel=1e-12)
        assert found.torque[0] == pytest.approx(-torque if isinstance(left, ct.Clamped) else np.zeros(3), rel=1e-11)
        assert not found.torque[1].any()
        assert found.force[1].any() == isinstance(right, ct.Displaced)


def test_outputs_along_a_run_are_those_of_its_states_and_obey_newton():
    """d(sum p)/dt is the sum of the reactions: Simpson's rule over samples 0.005 apart, error 1e-7 of forces up to 20."""
    problem = ct.problems.helix_chain(4, right="clamped", amp=0.3)
    run = simulate(problem, None, Plain(6), dt=0.005, steps=80)
    outputs = problem.system.outputs(run)
    assert repr(outputs).startswith("ChainOutputs of 81 samples and 4 bodies: link_length, link_gap, ")
    assert outputs.link_length.dims == outputs.link_gap.dims == outputs.link_energy.dims == ("time", "link")
    assert outputs.reaction_force.sel(end="left").dims == ("time", "xyz")
    last = run.final
    assert outputs.link_length.values[-1] == pytest.approx(problem.system.link_lengths(last), rel=1e-14)
    assert outputs.link_gap.values[-1] == pytest.approx(problem.system.link_gaps(last), rel=1e-14)
    assert outputs.link_energy.values[-1] == pytest.approx(problem.system.link_energies(last), rel=1e-13)
    assert outputs.reaction_torque.values[-1] == pytest.approx(problem.system.reactions(last).torque, abs=1e-11)
    potential = outputs.link_energy.sum("link").values
    kinetic = run.data.energy.values - potential
    assert (kinetic > -1e-12).all()
    total = outputs.reaction_force.sum("end").values
    weights = np.r_[1.0, np.tile([4.0, 2.0], 39), 4.0, 1.0] * 0.005 / 3.0
    momentum = run.data.momentum.sum("body").values
    assert np.abs(weights @ total - (momentum[-1] - momentum[0])).max() < 1e-6 * np.abs(total).max()
    links, ends = {"link_length", "link_gap", "link_energy"}, {"reaction_force", "reaction_torque", "extension"}
    assert set(outputs.dataset()) == links | ends | {"force", "torque", "power", "work"}


def test_outputs_are_the_same_bits_compiled_and_not(monkeypatch):
    """For long runs they are compiled: pairs and links, one for each link."""
    chain, state = disturbed_helix([LJ + BEND, LJ, BEND])
    plain = chain.link_energies(state), *chain.reactions(state)
    monkeypatch.setattr("catena.analysis.chain_outputs.WORTH_COMPILING", 0)
    compiled = chain.link_energies(state), *chain.reactions(state)
    assert all(np.array_equal(a, b) for a, b in zip(plain, compiled, strict=True))


def pulled_apart(every: int, **potential) -> ct.Run:
    """Three bodies; the last leaves with speed 10 along x, far too fast to be held."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, potential.get("potential", LJ), left=ct.Free())
    start = quiet_start(chain, [[0, 0, 0], [2.2, 0, 0], [4.4, 0, 0]], velocity=[[0, 0, 0], [0, 0, 0], [10.0, 0, 0]])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torn, link 1", CatenaWarning)
        return simulate(chain, start, Plain(2), dt=0.005, steps=120, every=every)


def test_a_torn_link_is_an_event_with_its_time():
    """The shortest distance grows almost linearly there, so that samples 0.005 and 0.05 apart agree to 1e-3."""
    found = {}
    for every in (1, 10):
        run = pulled_apart(every)
        (event,) = run.events
        assert (event.name, int(event.data["link"])) == ("torn", 1)
        gaps = run.system.outputs(run).link_gap.sel(link=1).values
        times = run.data.time.values
        after = int(np.argmax(gaps > 4.0))
        assert times[after - 1] < event.time <= times[after]
        assert np.array_equal(event.data["position"], run.data.position[after])
        found[every] = event.time
    assert found[1] == pytest.approx(found[10], abs=1e-3)
    assert found[1] == pytest.approx(np.interp(4.0, gaps, times), abs=1e-3)


def test_events_asked_for_and_torn_links_stand_in_the_order_of_time():
    chain = pulled_apart(1).system
    start = quiet_start(chain, [[0, 0, 0], [2.2, 0, 0], [4.4, 0, 0]], velocity=[[0, 0, 0], [0, 0, 0], [10.0, 0, 0]])
    watched = [ct.Event("soon", "position[2,0] - 5"), ct.Event("late", "position[2,0] - 9")]
    with pytest.warns(CatenaWarning, match="torn, link 1, t = 0.2.*: from then on this is another system"):
        run = simulate(chain, start, Plain(2), dt=0.01, steps=60, events=watched)
    assert [event.name for event in run.events] == ["soon", "torn", "late"]
    assert [event.grave for event in run.events] == [False, True, False]
    assert isinstance(run.events, list)
    lines = repr(run.events).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["time", "event"]
    assert lines[2].split()[1:] == ["torn", "link", "1"]
    assert run.events._repr_html_().count("<tr>") == 4


def test_a_torn_link_stands_wherever_the_run_is_read():
    """In the audit, which is not ok, in repr and notebook, on the page; a chain that holds says nothing of the kind."""
    run = pulled_apart(1)
    (told,) = run.damage
    assert told.startswith("torn, link 1, t = 0.2")
    audit = run.audit()
    assert audit.damage == (told,)
    assert audit.contradictions == ()
    assert not audit.ok
    assert told in str(audit)
    assert told in audit._repr_html_()
    assert repr(run).endswith(f"; {told})")
    assert told in run._repr_html_()
    page = run.view()
    assert f'<p class="contradicts">{told}</p>' in page.html
    whole = pulled_apart(1, potential=LJ + ct.Harmonic(1e-6, 1.0))
    assert whole.damage == ()
    assert "torn" not in str(whole.audit()) + repr(whole) + whole._repr_html_()


def test_members_that_tear_stand_in_the_audit_of_an_ensemble():
    """The second of three starts is too fast to be held; where the final states are not kept, nobody knows."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 2, LJ, left=ct.Free())
    starts = [
        quiet_start(chain, [[0, 0, 0], [2.2, 0, 0]], velocity=[[0, 0, 0], [speed, 0, 0]]) for speed in (0.0, 10.0, 0.1)
    ]
    job = Job(chain, Plain(2), 0.005, 100, 1, "final")
    final = np.array([simulated_row(chain, start) for start in starts])
    first = np.array([simulated_row(chain, start, steps=0) for start in starts])
    batch = Batch.empty(job, 3)
    whose = Members.alike(job.pairing, np.zeros((3, job.pairing.view.dimension)), np.zeros(3), job.dt)
    batch.start[:], batch.final[:] = first, final
    audit = Ensemble.of(job, whose, batch).audit()
    assert audit.damaged == (1,)
    assert not audit.ok
    assert "3 members, 1 torn: 1" in str(audit).splitlines()
    silent = Job(chain, Plain(2), 0.005, 100, 1, "nothing")
    assert Ensemble.of(silent, whose, batch).audit().damaged == ()


def simulated_row(chain: ct.Chain, start: ct.State, steps: int = 100) -> np.ndarray:
    """The last row of a short run, fields and invariants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        return simulate(chain, start, Plain(2), dt=0.005, steps=max(steps, 1))._rows[-1 if steps else 0]


def test_what_holds_at_any_distance_never_tears():
    """A harmonic pair, a rod of BendTwist; GayBerne does, three sigma beyond its longest range; WCA holds nothing."""
    assert pulled_apart(1, potential=LJ + ct.Harmonic(1e-6, 1.0)).events == []
    assert pulled_apart(1, potential=LJ + ct.BendTwist(1e-6, 1e-6, 1e-6, (2.2, 0, 0))).events == []
    assert pulled_apart(1, potential=ct.WCA(5.0, 1.0)).events == []
    (event,) = pulled_apart(1, potential=ct.GayBerne(1.0, 0.8, 1.5, 2.0, 1.0, 1.0)).events
    assert np.linalg.norm(event.data["position"][2] - event.data["position"][1]) == pytest.approx(0.8 * 4.5, abs=0.06)


def test_a_calm_chain_does_not_tear():
    problem = ct.problems.helix_chain(3)
    assert simulate(problem, None, Plain(2), dt=0.02, steps=10).events == []


def test_links_torn_at_the_boundary_of_blocks_are_found_once(monkeypatch):
    run = pulled_apart(1)
    whole = [(event.time, int(event.data["link"])) for event in run.events]
    for block in (1, 2, 7, 50):
        monkeypatch.setattr("catena.systems.chain.tearing.SAMPLES", block)
        again = [(time, int(more["link"])) for _, time, _, more in run.system.happenings(run.data)]
        assert again == whole


# Scales ------------------------------------------------------------------------------------------------------------


def test_the_natural_scales_of_lennard_jones_leave_no_parameter():
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, ct.LennardJones(5.0, 1.3), right=ct.Force((2.0, 0, 0)))
    scales = chain.scales()
    assert (scales.length, scales.mass) == (1.3, 4.0)
    assert scales.time == pytest.approx(1.3 * np.sqrt(4.0 / 5.0), rel=1e-15)
    plain = scales.chain.potentials[0]
    assert (plain.epsilon, plain.sigma, scales.chain.bodies[0].mass) == pytest.approx((1.0, 1.0, 1.0), rel=1e-15)
    assert scales.chain.right.force[0] == pytest.approx(2.0 * 1.3 / 5.0, rel=1e-14)  # F sigma/epsilon
    assert scales.chain.bodies[0].moments == pytest.approx(chain.bodies[0].moments / (4.0 * 1.3**2), rel=1e-14)


def test_the_scaled_chain_moves_as_the_original():
    """L = 2, M = 3, tau = 0.7, Gauss(3), 20 steps: r and q to 1e-14, momenta to 2e-13 of forces some hundreds large."""
    problem = ct.problems.helix_chain(3, right="force", F=(3.0, 0.0, 0.0), amp=0.3, gravity=(0.0, 0.0, -0.5))
    scales = problem.system.scales(2.0, mass=3.0, time=0.7)
    run = simulate(problem, None, ct.Gauss(3), dt=0.01, steps=20)
    start = scales.nondimensional(problem.start)
    plain = simulate(scales.chain, start, ct.Gauss(3), dt=0.01 / 0.7, steps=20)
    back = scales.dimensional(plain.final)
    assert back.time == pytest.approx(run.final.time, rel=1e-14)
    for field, tolerance in (
        ("position", 1e-14),
        ("orientation", 1e-14),
        ("momentum", 2e-13),
        ("angular_momentum", 2e-13),
    ):
        assert np.abs(getattr(back, field) - getattr(run.final, field)).max() < tolerance, field
    assert plain.data.energy.values * scales.energy == pytest.approx(run.data.energy.values, rel=1e-13)
    twin = simulate(scales.chain, start, ct.Gauss(3), dt=0.0101 / 0.7, steps=20)
    assert np.abs(scales.dimensional(twin.final).position - run.final.position).max() > 1e-6


SCALED = {
    "WCA": ct.WCA(2.0, 1.1),
    "Morse": ct.Morse(5.0, 3.0, 1.1),
    "Yukawa": ct.Yukawa(2.0, 1.5),
    "Harmonic": ct.Harmonic(3.0, 1.2),
    "Switched": ct.Switched(LJ, 1.2, 2.0),
    "PairPotential": ct.PairPotential("C*exp(-r)/r**2 + r**2", {"C": 2.0}),
    "sum": LJ + ct.Yukawa(2.0, 1.5),
    "BendTwist": BEND,
    "GayBerne": ct.GayBerne(2.0, 0.9, 1.8, 2.5, 1.5, 0.7),
    "LinkPotential": ct.LinkPotential("k*(d1 - 2)**2/2 + b*(1 - Q33)*exp(-Q12*d2)", {"k": 4.0, "b": 1.5}),
    "links": BEND + ct.LinkPotential("d3**2"),
    "mixed": LJ + BEND,
}


@pytest.mark.parametrize("name", SCALED)
def test_every_potential_has_the_same_energy_in_other_units(name):
    """V' = V tau^2/(M L^2) at the same state."""
    chain, state = disturbed_helix(SCALED[name])
    scales = chain.scales(2.0, mass=3.0, time=0.7)
    seen = scales.chain.link_energies(scales.nondimensional(state)) * scales.energy
    assert seen == pytest.approx(chain.link_energies(state), rel=1e-12)


def test_a_table_is_scaled_entry_by_entry_and_units_may_be_scaled_again():
    body = ct.Body.from_particles(ct.Body.tetrahedron().particles.positions, types=[0, 0, 1, 1])
    chain = ct.Chain([body] * 2, ct.PairTable({(0, 0): LJ, (0, 1): None, (1, 1): ct.PairPotential("1/r**4")}))
    again = chain.scales(2.0, time=0.5).chain.scales(0.5, mass=0.25, time=2.0).chain
    state = chain.start([[0, 0, 0], [2.2, 0, 0]])
    assert again.link_energies(state) == pytest.approx(chain.link_energies(state), rel=1e-13)


def test_potentials_without_a_length_ask_for_units():
    chain = ct.Chain([ct.Body.tetrahedron()] * 2, ct.Yukawa(1.0, 1.0))
    with pytest.raises(ct.InputError, match="Yukawa suggests no length and energy"):
        chain.scales()
    assert chain.scales(1.0, time=1.0).mass == 4.0


def test_printed_chain_tears_where_it_is_known_to(tmp_path):
    """Links 0-1 and 6-7 are the ones that let go, after t = 2; kept in a store, the events are the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        problem = ct.problems.printed_chain()
    with pytest.warns(CatenaWarning, match="torn, link 0, .*; torn, link 6, "):
        run = ct.simulate(problem, method=ct.Splitting(6), dt=0.005, t_end=4.0, every=10, out=tmp_path / "torn.zarr")
    found = [(event.name, int(event.data["link"])) for event in run.events]
    assert found == [("torn", 0), ("torn", 6)]
    assert 2.0 < run.events[0].time < run.events[1].time < 3.0
    assert [event.time for event in ct.open(tmp_path / "torn.zarr").events] == [event.time for event in run.events]
    assert ct.open(tmp_path / "torn.zarr").damage == run.damage
    assert not ct.open(tmp_path / "torn.zarr").audit().ok
