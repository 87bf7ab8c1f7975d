"""Sums along lists of partners: the bits of plain sums over all pairs."""

from __future__ import annotations

import time

import numpy as np
import pytest

import catena as ct
from catena.engine.single_kernels import PAR, SingleKernels
from catena.systems.particles import acting, kernels
from catena.systems.particles.layout import Listing, Particle

CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.2, 0.3, 1)]
ENDS = ct.Switched(ct.LennardJones(1.0, 1.0), 2.0, 2.5)
TABLE = ct.PairTable({("A", "A"): ENDS, ("A", "B"): ct.WCA(1.0, 1.1), ("B", "B"): None})


class Sums:
    """Forces between the particles of bodies on a grid, turned at random, in a row of joints; in a step each moves by about `moved`."""

    def __init__(self, count: int, *, moved: float = 0.01, compiled: bool = False) -> None:
        rng, side = np.random.default_rng(0), 1 + int(count ** (1 / 3))
        grid = 3.0 * np.argwhere(np.ones((side, side, side)))[:count]
        bodies = [ct.Body.from_particles(CORNERS, types=["A", "B", "A", "A"])] * count
        joints = [ct.Spherical(k, k + 1, at=((0, 0, 0), (0, 0, 1))) for k in range(3)]
        self.linkage = ct.Linkage(bodies, joints, gravity=(0, 0, 0), pairs=TABLE)
        view = self.linkage.view("constrained")
        assert view is not None
        single = SingleKernels(self.linkage, view, scratch={})
        self.arrays = single.arrays
        self.at, self.between = (
            single.function(kernel, [PAR], compiled=compiled)
            for kernel in (kernels.find_wrenches, kernels.find_wrenches_between)
        )
        q = rng.normal(size=(count, 4))
        still = np.zeros_like(grid)
        turned = q / np.linalg.norm(q, axis=1)[:, None]
        state = ct.State({"position": grid, "orientation": turned, "momentum": still, "angular_momentum": still})
        places = self.linkage.particles(state).positions
        self.place(places, places + moved * rng.normal(size=places.shape))

    def place(self, start: np.ndarray, end: np.ndarray) -> None:
        """Put particles where they are at the start and at the end of a step."""
        self.arrays["particle"][:, Particle.PLACE : Particle.PLACE + 3] = start
        self.arrays["particle"][:, Particle.PLACE_END : Particle.PLACE_END + 3] = end

    def forces(self) -> list[bytes]:
        """At the start, in the step, and at the start again after all particles moved a little, with old lists."""
        found, rows = [], self.arrays["particle"]
        for what in (self.at, self.between):
            what()
            found.append(rows[:, Particle.PUSH : Particle.PUSH + 3].tobytes())
        rows[:, Particle.PLACE : Particle.PLACE + 3] += 0.05 * np.random.default_rng(7).normal(size=(len(rows), 3))
        self.at()
        return [*found, rows[:, Particle.PUSH : Particle.PUSH + 3].tobytes()]


@pytest.fixture
def plain(monkeypatch):
    """Sums over all pairs."""

    def made(*arguments, **named):
        with monkeypatch.context() as context:
            context.setattr(acting, "LISTED_FROM", 10**9)
            return Sums(*arguments, **named)

    return made


@pytest.mark.parametrize("moved", [0.01, 2.0])
def test_sums_along_lists_have_the_bits_of_plain_sums(plain, moved):
    """Also in a step that moves particles farther than the skin."""
    along, over = Sums(30, moved=moved), plain(30, moved=moved)
    assert "particle_listing" in along.arrays
    assert "particle_listing" not in over.arrays
    assert along.forces() == over.forces()


def test_a_list_that_leaves_partners_out_is_noticed(plain):
    wrong = Sums(30)
    wrong.arrays["particle_reach"][0] *= 0.7
    assert wrong.forces()[0] != plain(30).forces()[0]


def test_lists_without_room_give_way_to_all_pairs(plain, monkeypatch):
    monkeypatch.setattr(acting, "ROOM", 1)
    narrow = Sums(30)
    assert narrow.forces() == plain(30).forces()
    assert narrow.arrays["particle_listing"][Listing.FULL] == 1.0


@pytest.mark.slow
def test_lists_of_ten_thousand_particles(plain):
    """Bits as well, and twenty times as fast at least (measured: 0.7 ms)."""
    along, over = Sums(2500, compiled=True), plain(2500, compiled=True)
    assert along.forces() == over.forces()
    times = []
    for sums in (along, over):
        best = np.inf
        for _ in range(5):
            begun = time.perf_counter()
            sums.at()
            best = min(best, time.perf_counter() - begun)
        times.append(best)
    assert times[0] < 0.05 * times[1], times
