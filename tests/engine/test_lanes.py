"""Members in lanes have the bits that each has alone: in plain Python for every pair that has lanes, compiled where it is slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import catena as ct
from catena.engine import lane_loop, lanes
from catena.engine.block import MemberBlock, Members
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.engine.plain_lanes import Lanes
from catena.errors import CapabilityError
from catena.kernels.views import NOT_FINITE, OK
from catena.methods.base import Method, all_methods
from catena.methods.taylor.taylor import MADE
from catena.running.ensembles.kinds import Kinds
from catena.running.ensembles.results import Ensemble
from catena.running.plan import Problem
from kinds import KINDS

HENON_HEILES = ct.problems.henon_heiles().system
MEMBERS = lanes.LANES + 2  # a block, and one that is filled up


def henon_heiles(members: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.uniform(-0.2, 0.2, (members, 4))


def nudged(problem: Problem, method: Method, members: int) -> np.ndarray:
    """Starts near that of the problem: momenta a few per cent larger or smaller."""
    view, rng = Pairing.of(problem.system, method).view, np.random.default_rng(6)
    made = []
    for _ in range(members):
        fields = {name: np.array(array) for name, array in problem.start.fields.items()}
        for name in fields.keys() & {"p", "momentum", "angular_momentum", "velocity", "angular_velocity"}:
            fields[name] *= 1 + 0.03 * rng.standard_normal()
        made.append(view.pack(ct.State(fields, 0.0)))
    return np.array(made)


def followed(block: MemberBlock, *, steps: int) -> dict[str, np.ndarray]:
    """All that a block holds after two calls, the second of which goes on from the first."""
    every = slice(0, len(block.members))
    start, running = block.record(every), np.ones(len(block.members), dtype=bool)
    first, _, _ = block.advance(every, 0, steps, running)
    first = first.copy()
    second, now, status = block.advance(every, steps, steps + 1, running)
    held = {name: getattr(block, name) for name in ("z", "e", "carry", "scale", "looks")}
    return {**held, "start": start, "first": first, "second": second.copy(), "now": now, "status": status}


def pair_of_blocks(
    program: Program, members: Members, *, compiled: bool = False
) -> tuple[lanes.LaneBlock, MemberBlock]:
    lane_program = lanes.build(program, lanes.find_varied(program, members), compiled=compiled)
    return lanes.LaneBlock(lane_program, program, members, every=2), MemberBlock(program, members, every=2)


def assert_same_bits(problem: Problem, method: Method, *, compiled: bool = False, steps: int = 2) -> None:
    program = build(problem.system, method, compiled=compiled)
    z = nudged(problem, method, MEMBERS)
    members = Members.alike(Pairing.of(problem.system, method), z, np.zeros(MEMBERS), problem.dt)
    in_lanes, alone = pair_of_blocks(program, members, compiled=compiled)
    wanted = followed(alone, steps=steps)
    for name, array in followed(in_lanes, steps=steps).items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)
    assert (wanted["status"] == OK).all()


QUICK: dict[str, tuple[Callable[[], Problem], Method]] = {
    "pendulum": (ct.problems.pendulum, ct.RK4()),  # a sine, which branches on its argument
    "drift and kick": (KINDS["separable"], ct.EulerA()),  # a step that branches, but takes arrays
}
LONG: dict[str, tuple[Callable[[], Problem], Method]] = {
    "orbit": (ct.problems.kepler, ct.Nystrom6()),
    "galactic": (ct.problems.galactic, ct.RK4()),  # its energy has a logarithm
    "top": (ct.problems.lagrange_top, ct.Splitting(2)),
    "Henon-Heiles": (ct.problems.henon_heiles, ct.Splitting(6)),
    "series of an orbit": (ct.problems.kepler, ct.Taylor(1e-10)),
    "series of a top": (ct.problems.lagrange_top, ct.Taylor()),
    "series with a sine": (ct.problems.pendulum, ct.Taylor()),
}


@pytest.mark.parametrize("name", QUICK)
def test_members_in_lanes_have_the_bits_of_members_alone(name: str) -> None:
    """Every operation is rounded in each lane as it is alone, so nothing may differ."""
    make, method = QUICK[name]
    assert_same_bits(make(), method)


def every_pair() -> Iterator[tuple[str, Method]]:
    for name in KINDS:
        problem = KINDS[name]()
        for method in (method for kind in all_methods() for method in kind.examples()):
            try:
                lanes.require_lanes(Pairing.of(problem.system, method))
            except CapabilityError:
                continue
            yield name, method


@pytest.mark.slow
def test_every_pair_that_is_not_refused_has_the_bits_of_members_alone() -> None:
    """All kinds of systems, all methods: 45 pairs have lanes."""
    pairs = list(every_pair())
    assert len(pairs) > 40
    for name, method in pairs:
        assert_same_bits(KINDS[name](), method, steps=1)


def test_each_member_is_the_single_run_that_the_driver_makes() -> None:
    """Also where members have parameters and steps of their own, which stand in lanes, too."""
    method, dt = ct.Splitting(4), np.linspace(0.05, 0.1, MEMBERS)
    base = ct.Hamiltonian("p**2/2 + k*q**4", q="q", p="p", parameters={"k": 1.0})
    systems = [base.with_parameters(k=1.0 + 0.1 * k) for k in range(MEMBERS)]
    z = np.random.default_rng(3).normal(size=(MEMBERS, 2))
    program = build(base, method, compiled=False)
    members = Kinds.of([(system, method) for system in systems]).members(
        z, np.zeros(MEMBERS), kinds=np.arange(MEMBERS), dt=dt
    )
    block, _ = pair_of_blocks(program, members)
    found = followed(block, steps=3)
    for k in range(MEMBERS):
        own = build(systems[k], method, compiled=False)
        driver = Driver(own, z[k], t0=0.0, dt=float(dt[k]), every=2)
        driver.first_row()
        rows = [driver.advance(3).rows, driver.advance(4).rows]
        np.testing.assert_array_equal(found["z"][k], driver.z)
        np.testing.assert_array_equal(found["e"][k], driver.e)
        np.testing.assert_array_equal(found["looks"][k], driver.looks)
        np.testing.assert_array_equal(np.concatenate([found["first"][k], found["second"][k]]), np.concatenate(rows))


def orbit_blocks(*, compiled: bool = False) -> tuple[lanes.LaneBlock, MemberBlock]:
    """Ellipses from circles to long ones, and one that falls from rest: each makes another number of expansions."""
    system, method = ct.problems.kepler().system, ct.Taylor(1e-4)
    e, zero = np.linspace(0.0, 0.7, MEMBERS), np.zeros(MEMBERS)
    z = np.stack([1 - e, zero, zero, np.sqrt((1 + e) / (1 - e))], axis=1)
    z[3] = 4.0, 0.0, 0.0, 0.0
    members = Members.alike(Pairing.of(system, method), z, np.zeros(MEMBERS), 0.8)
    return pair_of_blocks(build(system, method, compiled=compiled), members, compiled=compiled)


def test_members_whose_steps_differ_have_the_bits_of_members_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taylor series reach farther for one member than for another; what has arrived waits for the others."""
    in_lanes, alone = orbit_blocks()
    wanted, one_by_one = followed(alone, steps=2), MemberBlock._call

    def of_starts(block, part, first, counts, *arrays):
        assert not counts.any(), "a block went on one by one"
        return one_by_one(block, part, first, counts, *arrays)

    monkeypatch.setattr(MemberBlock, "_call", of_starts)
    for name, array in followed(in_lanes, steps=2).items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)
    assert len(set(wanted["carry"][: lanes.LANES, MADE])) > 3 and (wanted["status"] == OK).all()


@pytest.mark.parametrize("waits", ["low[k]", "0.0"])
def test_a_member_that_does_not_wait_would_be_seen(waits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must fail: compensation or time of a member that is there go on with the others."""
    usual = lane_loop.lane_text
    monkeypatch.setattr(
        lane_loop, "lane_text", lambda *a, **k: usual(*a, **k).replace(f"_chosen(there, {waits}", "_chosen(there < 0, 0.0")
    )  # fmt: skip
    in_lanes, alone = orbit_blocks()
    assert (followed(in_lanes, steps=2)["carry"] != followed(alone, steps=2)["carry"]).any()


def henon_heiles_blocks() -> tuple[lanes.LaneBlock, MemberBlock]:
    method = ct.Splitting(6)
    pairing = Pairing.of(HENON_HEILES, method)
    members = Members.alike(pairing, henon_heiles(MEMBERS), np.zeros(MEMBERS), 0.25)
    return pair_of_blocks(build(HENON_HEILES, method, compiled=False), members)


@pytest.mark.parametrize("lost", ["rest[i] = own_e[i]", "own_e[i] = rest[i]"])
def test_what_a_block_forgets_between_two_calls_would_be_seen(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must fail: compensation is not handed on, or not handed back."""
    usual = lane_loop.lane_loop
    monkeypatch.setattr(
        lane_loop, "lane_loop", lambda *a, **k: usual(*a, **k).replace(lost, f"{lost.split(' =')[0]} = 0.0")
    )
    in_lanes, alone = henon_heiles_blocks()
    found, wanted = followed(in_lanes, steps=3), followed(alone, steps=3)
    assert any(not np.array_equal(found[name], wanted[name]) for name in wanted)


def test_a_member_that_fails_stops_no_other_of_its_block() -> None:
    """One start far outside runs away to infinity; the others keep their bits."""
    pairing = Pairing.of(HENON_HEILES, ct.RK4())
    z = henon_heiles(MEMBERS)
    z[5] = 1e3
    members = Members.alike(pairing, z, np.zeros(MEMBERS), 0.25)
    in_lanes, alone = pair_of_blocks(build(HENON_HEILES, ct.RK4(), compiled=False), members)
    found, wanted = followed(in_lanes, steps=8), followed(alone, steps=8)
    assert found["status"].tolist() == [NOT_FINITE if k == 5 else OK for k in range(MEMBERS)]
    for name in ("z", "e", "scale", "looks", "second"):
        np.testing.assert_array_equal(np.delete(found[name], 5, axis=0), np.delete(wanted[name], 5, axis=0))


@pytest.mark.parametrize(
    ("system", "method", "why"),
    [
        (HENON_HEILES, ct.Gauss(3), "differs from member to member"),
        (HENON_HEILES, ct.Langevin(1.0, 1.0), "one by one"),
        (ct.problems.book().system, ct.DMV(10), "differs from member to member"),
        (ct.problems.helix_chain(4).system, ct.Splitting(2), "loops over its parts"),
    ],
    ids=["Gauss", "Langevin", "DMV", "chain"],
)
def test_what_has_no_lanes_says_why(system: ct.System, method: Method, why: str) -> None:
    with pytest.raises(CapabilityError, match=why) as told:
        lanes.require_lanes(Pairing.of(system, method))
    assert 'layout="members"' in str(told.value)


def test_lanes_have_no_truth_of_their_own() -> None:
    """So a kernel that branches on them is found out in plain Python, as numba finds it out."""
    with pytest.raises(TypeError, match="lanes differ"):
        bool(Lanes((1.0, 2.0)) < Lanes((2.0, 1.0)))


def test_an_ensemble_asks_before_anything_is_compiled() -> None:
    starts = {"q": [[0.1, 0.2]], "p": [[0.0, 0.1]]}
    with pytest.raises(CapabilityError, match=r"Gauss\(3\) has no lanes"):
        ct.ensemble(HENON_HEILES, starts, ct.Gauss(3), dt=0.1, steps=2, layout="lanes")
    with pytest.raises(ct.InputError, match="layout"):
        ct.ensemble(HENON_HEILES, starts, dt=0.1, steps=2, layout="lane")  # type: ignore[arg-type]
    with pytest.raises(ct.InputError, match="means nothing on a"):
        ct.ensemble(HENON_HEILES, starts, dt=0.1, steps=2, layout="lanes", device="cuda")


@pytest.mark.slow
def test_a_kernel_that_branches_on_members_is_refused_by_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no trait tells: DMV iterates for each body as long as it needs."""
    monkeypatch.setattr(lanes, "require_lanes", lambda pairing: None)
    with pytest.raises(CapabilityError, match="branch on what members differ in"):
        lanes.build(build(ct.problems.book().system, ct.DMV(10), compiled=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_compiled_lanes_have_the_bits_of_compiled_members(name: str) -> None:
    """In vector registers: no multiplication is fused with an addition, no sum reordered."""
    make, method = LONG[name]
    assert_same_bits(make(), method, compiled=True, steps=300)


@pytest.mark.slow
def test_an_ensemble_in_lanes_is_the_ensemble_of_members() -> None:
    """Whole calls: final states, samples, audits, reductions, with members that fail, on one thread and on two."""
    z = henon_heiles(203)
    z[100] = 40.0
    starts = {"q": z[:, :2], "p": z[:, 2:]}

    def many(**how: object) -> Ensemble:
        reduce = {"mean": ct.Mean("q1*q2")}
        return ct.ensemble(
            HENON_HEILES, starts, ct.Splitting(6), dt=0.25, steps=200, every=10, keep="samples", reduce=reduce, **how
        )  # type: ignore[arg-type]

    wanted = many()
    for threads in (1, 2):
        found = many(layout="lanes", threads=threads)
        for part in ("final", "data", "reduced"):
            assert getattr(found, part).identical(getattr(wanted, part)), part
        assert str(found.audit()) == str(wanted.audit())
        assert str(found.failures) == str(wanted.failures) and len(found.failures) == 1
