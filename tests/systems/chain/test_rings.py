"""Closed chains: the same motion in every form and view, what it keeps, and the link that closes them wherever links are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.cases import CaseError, read_case
from catena.output.page.appearance import appearance_of
from catena.output.page.colouring import _of_bodies
from catena.output.page.tension import link_forces
from catena.systems.base import system_from
from catena.systems.chain import block_band, spectrum
from catena.systems.chain.tiles import kernels as tile_kernels
from chains import Plain, in_form, quiet_start
from tiled import difference, halves, program_of
from uncompiled import simulate

EPS = np.finfo(float).eps
BOX = ct.Body.box((1.0, 0.8, 0.6), 1.0)
ROD = ct.BendTwist(40.0, 2.0, 3.0, (0.0, 0.0, 1.0))


def small_ring(n: int, amp: float = 0.3) -> ct.Problem:
    """Tetrahedra on a circle, askew, not too near to each other, in motion."""
    chain = ct.Chain([ct.Body.tetrahedron()] * n, ct.LennardJones(5.0, 1.0), closed=True)
    calm = chain.ring(2.0, axis=(1.0, 0.7, -0.4), check=False)
    return ct.Problem("small_ring", chain, in_motion(chain, calm, amp), 0.01)


def rod_ring(n: int = 12, linking_number: int = 1, amp: float = 0.3) -> ct.Problem:
    """Boxes with the energy of a rod, on a circle, in motion."""
    chain = ct.Chain([BOX] * n, ROD, closed=True)
    calm = chain.ring(1.0, linking_number, axis=(0.0, 0.0, 1.0))
    return ct.Problem("rod_ring", chain, in_motion(chain, calm, amp), 0.02)


def in_motion(chain: ct.Chain, calm: ct.State, amp: float) -> ct.State:
    """Velocities that have no symmetry."""
    j, phase = np.arange(chain.count)[:, None], np.arange(3.0)
    velocity, spin = amp * np.sin(j + phase), amp * np.cos(2 * j + phase)
    return quiet_start(chain, calm.position, calm.orientation, velocity=velocity, angular_velocity=spin)


def rolled(problem: ct.Problem, by: int) -> ct.Problem:
    """The same ring, counted from another body on."""
    start = ct.State({name: np.roll(array, -by, axis=0) for name, array in problem.start.fields.items()})
    return ct.Problem(problem.name, problem.system, start, problem.dt)


def moved(problem: ct.Problem, method, *, dt: float = 0.01, steps: int = 4) -> ct.State:
    return simulate(problem, None, method, dt=dt, steps=steps, every=steps).final


def apart(one: ct.State, other: ct.State) -> float:
    """Largest difference; quaternions up to their signs."""
    signs = np.sign((one.orientation * other.orientation).sum(axis=1))[:, None]
    found = [
        np.abs(one.fields[name] - other.fields[name] * (signs if name == "orientation" else 1.0)).max()
        for name in one.fields
    ]
    return float(max(found))


# Motion -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "method"), [(small_ring, ct.StormerVerlet()), (small_ring, ct.RK4()), (small_ring, ct.Gauss(2, solver="newton")),
                         (rod_ring, Plain(2)), (rod_ring, ct.Gauss(1, solver="newton"))], ids=lambda given: getattr(given, "__name__", str(given)),
)  # fmt: skip
def test_a_ring_moves_alike_whichever_body_is_called_the_first(make, method):
    """Forces are added up in another order: round-off of a few steps, measured up to 4e-15; stages are converged to the same."""
    problem = make(4)
    there = moved(rolled(problem, 2), method, steps=2)
    back = ct.State({name: np.roll(array, 2, axis=0) for name, array in there.fields.items()})
    assert apart(moved(problem, method, steps=2), back) < 2e-13


def test_a_ring_that_is_not_closed_is_seen():
    """The twin of the test above: the link from the last body to the first is left out."""
    problem = small_ring(6)
    open_chain = ct.Chain(problem.system.bodies, problem.system.potentials[0], ct.Free(), ct.Free())
    cut = ct.Problem("cut", open_chain, problem.start, 0.01)
    there = moved(rolled(cut, 2), Plain(2))
    back = ct.State({name: np.roll(array, 2, axis=0) for name, array in there.fields.items()})
    assert apart(moved(cut, Plain(2)), back) > 1e-3


@pytest.mark.parametrize(
    ("form", "method"), [("rotation", ct.Rattle()), pytest.param("multiplier", ct.Gauss(3), marks=pytest.mark.slow)]
)
def test_all_forms_are_the_same_motion(form, method):
    """Gauss(4) is exact to 1e-13 here; RATTLE has an error of order two, which halving the step divides by four."""
    problem = small_ring(4, amp=0.1)
    exact = moved(problem, ct.Gauss(4), dt=0.005, steps=4)
    errors = [apart(moved(in_form(problem, form), method, dt=0.02 / k, steps=k), exact) for k in (4, 8)]
    if form == "multiplier":
        assert errors[1] < 1e-11
    else:
        assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.4)


@pytest.mark.parametrize(
    ("method", "order"),
    [(Plain(2), 2), (Plain(4), 4), pytest.param(ct.Gauss(2), 4, marks=pytest.mark.slow), (ct.StormerVerlet(), 2)],
    ids=str,
)
def test_methods_have_their_orders_on_a_ring(method, order):
    """Against Gauss(4) at the smaller step, which is exact to round-off there."""
    problem = small_ring(4, amp=0.1)
    exact = moved(problem, ct.Gauss(4), dt=0.005, steps=4)
    errors = [apart(moved(problem, method, dt=0.02 / k, steps=k), exact) for k in (2, 4)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("make", [small_ring, rod_ring], ids=["pairs", "links"])
def test_momentum_and_angular_momentum_of_a_ring_are_kept_to_round_off(make):
    """50 eps times the root of the steps times the largest terms, at most 10 here."""
    run = simulate(make(4), None, Plain(2), dt=0.01, steps=8, every=4)
    for name in ("total_momentum", "total_angular_momentum"):
        assert float(np.abs(run.data[name] - run.data[name][0]).max()) < 50 * EPS * np.sqrt(8) * 10.0


def test_a_ring_comes_back_along_its_way():
    """Velocities turned round after some steps of a symmetric method: round-off grows to 1e-13."""
    problem = small_ring(6)
    there = moved(problem, Plain(4), steps=6)
    turned = {name: -array if "momentum" in name else array for name, array in there.fields.items()}
    back = moved(ct.Problem("back", problem.system, ct.State(turned), 0.01), Plain(4), steps=6)
    again = ct.State({name: -array if "momentum" in name else array for name, array in back.fields.items()})
    assert apart(again, problem.start) < 1e-12


# Tiles ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 8, 10, 16])
def test_tiles_of_a_ring_agree_with_the_plain_view(n):
    """The last tile is filled up, or full; there is one, or another one before it."""
    problem = small_ring(n)
    assert difference(problem.system, problem.start, ct.Splitting(2)) < 1e-14


@pytest.mark.parametrize("n", [8, 10])
def test_a_ring_in_tiles_goes_on_from_its_checkpoint_to_the_same_bits(n):
    problem = small_ring(n)
    whole, again = halves(program_of(problem.system, ct.Splitting(2), width=8), problem.start)
    assert {name: array.tobytes() for name, array in again.state().items()} == {
        name: array.tobytes() for name, array in whole.state().items()
    }


def close_to_the_wrong_body(z, w, i):
    """`close_ring` with the link before the last one."""
    n = tile_kernels.stride_of(z)
    for c in range(6):
        z[(tile_kernels.F + c) * n - 1] = w[(tile_kernels.F + c) * n + i - 1]


@pytest.mark.parametrize("missing", ["close_ring", "repeat_first"])
def test_a_ring_in_tiles_that_is_not_closed_is_seen(missing, monkeypatch):
    problem = small_ring(10)
    monkeypatch.setattr(tile_kernels, missing, close_to_the_wrong_body)
    assert difference(problem.system, problem.start, ct.Splitting(2)) > 1e-3


# Wherever links are asked for -------------------------------------------------------------------------------------------


def test_a_ring_has_no_ends_and_three_bodies_at_least():
    for left, right, name in (
        (ct.Clamped(), None, "left"),
        (None, "Free", "right"),
        (ct.Free(), ct.Free(), "left and right"),
    ):
        ends = {side: end for side, end in (("left", left), ("right", right)) if end is not None}
        with pytest.raises(ct.InputError, match=f"no ends, but {name}"):
            ct.Chain([BOX] * 4, ROD, closed=True, **ends)
    with pytest.raises(ct.InputError, match="2 bodies make no ring"):
        ct.Chain([BOX] * 2, ROD, closed=True)
    with pytest.raises(ct.InputError, match="closed = 'yes'"):
        ct.Chain([BOX] * 4, ROD, closed="yes")
    with pytest.raises(ct.InputError, match="3 potentials for 4 links"):
        ct.Chain([BOX] * 4, [ROD] * 3, closed=True)
    with pytest.raises(ct.CapabilityError, match="this chain is open"):
        ct.Chain([BOX] * 4, ROD).ring(1.0)
    with pytest.raises(ct.InputError, match="half a turn or more"):
        ct.Chain([BOX] * 4, ROD, closed=True).ring(1.0, linking_number=2)


def test_a_ring_is_described_and_made_again():
    ring = small_ring(4).system
    description = ring.describe()
    assert description["closed"] is True and "left" not in description
    again = system_from(description)
    assert isinstance(again, ct.Chain) and again.closed and again.describe() == description
    assert "closed" not in ct.Chain([BOX] * 4, ROD).describe()
    assert repr(ring) == "Closed chain of 4 bodies" and ring.in_words == "Ring of 4 rigid bodies"


def test_links_of_a_ring_are_as_many_as_its_bodies():
    """Energies, lengths and gaps of all links are those of the ring counted from the next body on."""
    problem, beside = small_ring(5), rolled(small_ring(5), 1)
    ring = problem.system
    for measure in (ring.link_lengths, ring.link_gaps, ring.link_energies):
        assert len(measure(problem.start)) == 5
        assert measure(beside.start) == pytest.approx(np.roll(measure(problem.start), -1), rel=1e-12)
    assert not ring.reactions(problem.start).force.any()


def test_the_link_that_closes_a_ring_tears_like_any_other():
    problem = small_ring(5)
    position = problem.start.position.copy()
    position[0] += [0.0, -30.0, 0.0]
    states = {
        "position": np.array([problem.start.position, position]),
        "orientation": np.array([problem.start.orientation] * 2),
    }
    assert problem.system.damaged(states).tolist() == [False, True]
    found = list(problem.system.happenings({"time": np.array([0.0, 1.0]), **states}))
    assert [int(data["link"]) for _, _, _, data in found] == [0, 4]


def test_the_frequencies_of_a_ring_are_bounded_as_they_are():
    """Of an even and of an odd number of bodies, where links of even numbers touch a body twice."""
    for n in (4, 5):
        problem = small_ring(n)
        exact = spectrum.highest_frequency(problem.system, problem.start)
        matrix = block_band.assemble(*spectrum.weigh_stiffness(problem.system, problem.start))
        assert exact == pytest.approx(np.sqrt(np.linalg.eigvalsh(matrix)[-1]), rel=1e-11)
        assert exact <= spectrum.frequency_bound(problem.system, problem.start)
        assert exact <= spectrum.rough_bound(problem.system, problem.start)


def test_units_of_a_ring_are_those_of_a_ring():
    ring = small_ring(4)
    scales = ring.system.scales()
    assert scales.chain.closed
    energies = scales.chain.link_energies(scales.nondimensional(ring.start)) * scales.energy
    assert energies == pytest.approx(ring.system.link_energies(ring.start), rel=1e-12)


def test_the_link_that_closes_a_ring_is_drawn_and_pulls():
    problem = small_ring(5)
    assert appearance_of(problem.system).links.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
    scene = problem.system.scene()
    assert scene is not None and scene.links is not None
    start = problem.start
    _, energy = link_forces(scene.links, start.position[None], start.orientation[None])
    assert energy[0] == pytest.approx(problem.system.link_energies(start), rel=1e-4)


def test_colours_by_energy_are_those_of_each_frame():
    """Energies of links and of bodies add up to the energy of each frame, whatever the others are."""
    run = simulate(small_ring(4), None, Plain(2), dt=0.005, steps=8, every=4)
    (energy,) = [values for name, values in _of_bodies(run.system, run.data) if name.startswith("energy, with half")]
    assert energy.sum(axis=1) == pytest.approx(run.data.energy.values, rel=1e-3)


CASE = """
[system]
kind = "Chain"
bodies = { count = 6, mass = 1.0, moments = [1.0, 1.0, 1.0] }
potential = { kind = "BendTwist", stretch = 10.0, bend = 2.0, twist = 3.0, d0 = [1.0, 0.0, 0.0] }
closed = true
[start]
ring = { spacing = 1.0, linking_number = 2 }
[run]
dt = 0.01
steps = 4
"""


def test_a_case_says_that_a_chain_is_closed(tmp_path):
    (tmp_path / "ring.toml").write_text(CASE)
    plan = read_case(tmp_path / "ring.toml").plan
    assert isinstance(plan.system, ct.Chain) and plan.system.closed
    assert plan.system.linking_number(plan.start) == 2
    (tmp_path / "ends.toml").write_text(CASE.replace("closed = true", 'closed = true\nright = { kind = "Free" }'))
    with pytest.raises(CaseError, match="no ends, but right is given"):
        read_case(tmp_path / "ends.toml")


@pytest.mark.slow
def test_a_ring_is_stored_and_goes_on_to_the_same_bytes(tmp_path):
    """Compiled, in tiles: as one run, and as one that was continued."""
    problem = small_ring(18, amp=0.1)
    whole = ct.simulate(problem, method=ct.Splitting(2), dt=0.002, steps=40, every=10, out=tmp_path / "whole.zarr")
    ct.simulate(problem, method=ct.Splitting(2), dt=0.002, steps=20, every=10, out=tmp_path / "half.zarr")
    again = ct.resume(tmp_path / "half.zarr", steps=40)
    assert again.system.closed
    for name in ("position", "orientation", "momentum", "angular_momentum", "energy", "total_angular_momentum"):
        assert again.data[name].values.tobytes() == whole.data[name].values.tobytes()
