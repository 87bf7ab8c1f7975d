"""Chains of very many bodies: what Python does for them does not grow with their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.pairing import Pairing
from catena.geometry import rotations
from catena.output.page.appearance import appearance_of
from catena.running.plan import Plan, make_plan
from catena.running.trust import require_usable
from catena.systems.alike import Alike
from catena.systems.chain import spectrum
from catena.systems.chain.tiles.kernels import X

FIFTH = ct.Body.from_particles([(-0.5, -0.3, -0.2), (0.5, -0.3, -0.2), (0, 0.7, -0.2), (0, 0, 0.8), (0, 0, -0.5)])


def row(n: int, *, mixed: bool = False, potential: Any = None, seed: int = 0) -> tuple[ct.Chain, dict[str, Any]]:
    """A chain, and where its bodies are: in a row, slightly turned."""
    plain = ct.Body.tetrahedron()
    bodies = [FIFTH if mixed and j % 3 == 1 else plain for j in range(n)]
    chain = ct.Chain(bodies, potential or ct.LennardJones(5.0, 1.0), ct.Free(), ct.Force((0.1, 0.0, 0.0)))
    chance = np.random.default_rng(seed)
    place = np.stack([2.5 * np.arange(n), *(0.05 * chance.normal(size=(2, n)))], axis=1)
    turned = [1.0, 0.0, 0.0, 0.0] + 0.02 * chance.normal(size=(n, 4))
    turned /= np.linalg.norm(turned, axis=1)[:, None]
    return chain, {"position": place, "orientation": turned, "angular_velocity": 0.1 * chance.normal(size=(n, 3))}


def calls(action: Callable[[], Any]) -> int:
    """How many functions are called, those written in C as well."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def everything(n: int, *, mixed: bool, potential: Any) -> Callable[[], Plan]:
    """All that is done with a chain before its first step."""

    def action() -> Plan:
        chain, where = row(n, mixed=mixed, potential=potential)
        start = chain.start(**where)
        plan, _ = make_plan(chain, start, ct.Splitting(2), dt=0.002, steps=1, t_end=None)
        view = Pairing.of(chain, plan.method).view
        view.unpack(view.pack(start), 0.0)
        chain.parameter_arrays()
        require_usable(plan, plan.describe(apart={}))
        appearance_of(chain)
        chain.link_gaps(start)
        list(
            chain.happenings(
                {"time": np.zeros(1), "position": start.position[None], "orientation": start.orientation[None]}
            )
        )
        return plan

    return action


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("potential", [None, ct.BendTwist(30.0, 4.0, 3.0, d0=(2.5, 0.0, 0.0))], ids=["pairs", "links"])
def test_the_calls_do_not_grow_with_the_bodies(mixed: bool, potential: Any) -> None:
    """Five times the bodies: hardly a call more, but for blocks of arrays that are kept small."""
    few, many = (everything(n, mixed=mixed, potential=potential) for n in (1100, 5500))  # both too many to be named
    few()  # whatever is done once is done
    assert calls(many) < calls(few) + 2200  # half a call for each of the others


def test_a_loop_over_bodies_would_be_seen() -> None:
    """The twin of the test above: one call for each body."""
    chain, _ = row(1500)
    assert calls(lambda: [body.kind.upper() for body in chain.bodies]) >= 1500


def test_alike_bodies_have_the_bits_of_single_ones() -> None:
    """Arrays gathered from distinct bodies, against a loop over all of them."""
    chain, where = row(40, mixed=True)
    arrays = chain.parameter_arrays()
    for name, of in {
        "mass": lambda body: body.mass,
        "inertia": lambda body: body.rotor_moments,
        "inverse": lambda body: body.inverse_moments,
        "frame": lambda body: body.frame,
        "count": lambda body: len(body.particles),
    }.items():
        assert arrays[name].tobytes() == np.array([of(body) for body in chain.bodies]).tobytes(), name
    for j, body in enumerate(chain.bodies):
        mine = arrays["particles"][arrays["row"][j] : arrays["row"][j + 1]].reshape(
            -1, 3, arrays["particles"].shape[1] // 3
        )
        places = mine.transpose(0, 2, 1).reshape(-1, 3)[: len(body.particles)]
        assert places.tobytes() == body.principal_particles.positions.tobytes()
    start = chain.start(**where)
    turning = [rotations.apply(body.tensor, w) for body, w in zip(chain.bodies, where["angular_velocity"], strict=True)]
    assert start.angular_momentum.tobytes() == np.array(turning).tobytes()


def test_equal_bodies_count_as_one_whether_or_not_they_are_one_object() -> None:
    row_of = Alike([ct.Body.tetrahedron(), FIFTH, ct.Body.tetrahedron(), FIFTH])
    assert row_of.which.tolist() == [0, 1, 0, 1]
    assert [row_of.distinct[1]] == [FIFTH]


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_the_frequency_lie_above_it(seed: int) -> None:
    """The rough one of forces alone, and the one of rows of blocks, against all eigenvalues of the dense matrix."""
    chain, where = row(9, mixed=seed % 2 == 0, seed=seed)
    start = chain.start(**where, check=False)
    highest = spectrum.highest_frequency(chain, start)
    assert highest > 0.0
    for bound in (spectrum.rough_bound(chain, start), spectrum.frequency_bound(chain, start)):
        assert highest < bound < 6.0 * highest


def test_a_bound_of_particles_that_hardly_move_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deliberate error: particles that are hard to move."""
    helix = ct.problems.helix_chain(8)
    chain, start = helix.system, helix.start
    assert isinstance(chain, ct.Chain)
    mobility = spectrum._mobility
    monkeypatch.setattr(spectrum, "_mobility", lambda body: 0.01 * mobility(body))
    assert spectrum.rough_bound(chain, start) < spectrum.highest_frequency(chain, start)


def test_link_potentials_at_many_places_are_those_at_each() -> None:
    chance = np.random.default_rng(3)
    d, q = chance.normal(size=(7, 3)), np.linalg.qr(chance.normal(size=(7, 3, 3)))[0]
    for potential in (
        ct.BendTwist(30.0, 4.0, 3.0, d0=(2.5, 0.0, 0.0)),
        ct.GayBerne(1.0, 1.0, 3.0, 5.0, 2.0, 1.0),
        ct.LinkPotential("exp(-d1**2 - d2**2)*Q11 + sqrt(1 + d3**2)", {}),
    ):
        each = np.array([potential.force(*one) for one in zip(d, q, strict=True)])
        np.testing.assert_allclose(potential.forces(d, q), each, rtol=1e-13, atol=1e-300)


def test_a_store_holds_numbers_and_little_else(tmp_path: Path) -> None:
    """What is told of the bodies of a long chain is small beside a single sample; start and checkpoint are plain numbers."""
    n, path = 3000, tmp_path / "a.zarr"
    ct.simulate(ct.problems.helix_chain(n), method=ct.Splitting(2), dt=0.002, steps=8, every=2, out=path)
    sample, checkpoint = 8 * 13 * n, 8 * X * n
    assert sum(file.stat().st_size for file in path.rglob("*.json")) < 0.1 * sample
    assert (path / ".catena" / "given").stat().st_size < 1.01 * sample
    assert (path / ".catena" / "state.0").stat().st_size < 1.01 * checkpoint
