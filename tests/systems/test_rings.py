"""Closed chains: the same motion in every form and view, what it keeps, and the link that closes them wherever links are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.systems.chain import tile_kernels
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
                         (rod_ring, Plain(2)), (rod_ring, ct.Gauss(1, solver="newton"))], ids=str,
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


@pytest.mark.parametrize(("form", "method"), [("rotation", ct.Rattle()), ("multiplier", ct.Gauss(3))])
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
    ("method", "order"), [(Plain(2), 2), (Plain(4), 4), (ct.Gauss(2), 4), (ct.StormerVerlet(), 2)], ids=str
)
def test_methods_have_their_orders_on_a_ring(method, order):
    """Against Gauss(4) at the smaller step, which is exact to round-off there."""
    problem = small_ring(4, amp=0.1)
    exact = moved(problem, ct.Gauss(4), dt=0.005, steps=4)
    errors = [apart(moved(problem, method, dt=0.02 / k, steps=k), exact) for k in (2, 4)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("make", [small_ring, rod_ring])
def test_momentum_and_angular_momentum_of_a_ring_are_kept_to_round_off(make):
    """50 eps times the root of the steps times the largest terms, at most 10 here."""
    run = simulate(make(4), None, Plain(2), dt=0.01, steps=20)
    for name in ("total_momentum", "total_angular_momentum"):
        assert float(np.abs(run.data[name] - run.data[name][0]).max()) < 50 * EPS * np.sqrt(20) * 10.0


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
    whole, again = halves(program_of(problem.system, ct.Splitting(4), width=8), problem.start)
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
