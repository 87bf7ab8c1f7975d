"""Twist, writhe and linking number of rings, against crossings that are counted in a picture of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catena as ct
from catena.analysis.linking import WORTH_COMPILING
from catena.geometry import ribbons, rotations
from closed import counted_links

BOX = ct.Body.box((1.0, 0.8, 0.6), 1.0)
ROD = ct.BendTwist(40.0, 2.0, 3.0, (1.0, 0.0, 0.0))
VIEWS = np.array([[0.3, 0.2, 1.0], [1.0, -0.4, 0.25]])


def tangled(n: int, seed: int, waves: int = 4) -> tuple[ct.Chain, ct.State]:
    """A ring on a random smooth closed curve, its bodies turned at random, evenly or not."""
    chance = np.random.default_rng(seed)
    angle = 2.0 * math.pi * np.arange(n) / n
    position = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)])
    for m in range(1, waves + 1):
        parts = chance.normal(size=(2, 3)) / m
        position += np.cos(m * angle)[:, None] * parts[0] + np.sin(m * angle)[:, None] * parts[1]
    turns = chance.normal(size=(n, 4))
    chain = ct.Chain([BOX] * n, ROD, closed=True)
    return chain, chain.start(n * position, turns / np.linalg.norm(turns, axis=1, keepdims=True))


def counted(state: ct.State, view: np.ndarray, director: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> float:
    """Links of the polygon of the centres with the same, a little along the director."""
    across = rotations.rotate(state.orientation, np.array(director))
    return counted_links(state.position, state.position + 1e-4 * across, view)


def defect(chain: ct.Chain, state: ct.State, view: np.ndarray = VIEWS[0]) -> float:
    """How far twist and writhe together are from what is counted."""
    return abs(chain.twist(state) + chain.writhe(state) - counted(state, view))


@pytest.mark.parametrize("n", [3, 6, 40, WORTH_COMPILING + 26])
def test_twist_and_writhe_add_up_to_the_links_that_are_counted(n):
    """Each view counts others. Round-off of n^2 solid angles: 1e-9 is asked for, measured up to 3e-15."""
    for seed in range(3):
        chain, state = tangled(n, seed)
        for view in VIEWS:
            assert defect(chain, state, view) < 1e-12
        assert chain.linking_number(state) == counted(state, VIEWS[0])


@pytest.mark.parametrize("director", [(0.0, 0.0, 1.0), (1.0, 2.0, -0.5)])
def test_any_direction_in_the_bodies_may_be_the_director(director):
    chain, state = tangled(30, 5)
    assert chain.linking_number(state, director) == counted(state, VIEWS[1], director)


def test_the_sines_of_angles_between_planes_would_lose_half_of_the_digits(monkeypatch):
    """The twin: the formula that is usually printed. A ring that is nearly flat shows it: measured 5e-9 and 2e-16."""

    def by_sines(r1, r2, r3, r4):
        r1, r2, r3, r4 = map(np.array, (r1, r2, r3, r4))
        sides = (r3 - r1, r4 - r1, r4 - r2, r3 - r2)
        normals = [np.cross(a, b) for a, b in zip(sides, (*sides[1:], sides[0]), strict=True)]
        units = [normal / np.linalg.norm(normal) for normal in normals]
        area = sum(math.asin(np.clip(a @ b, -1.0, 1.0)) for a, b in zip(units, (*units[1:], units[0]), strict=True))
        return 0.5 * area * np.sign(np.cross(r4 - r3, r2 - r1) @ (r3 - r1))

    def fraction() -> float:
        total = chain.twist(flat) + chain.writhe(flat)
        return abs(total - round(total))

    chain, state = tangled(40, 1)
    flat = chain.start(state.position * [1.0, 0.7, 1e-9], state.orientation)
    assert fraction() < 1e-12
    monkeypatch.setattr(ribbons, "half_solid_angle", by_sines)
    assert fraction() > 1e-10


def test_a_wrong_sign_of_the_writhe_is_seen():
    """The twin of the first test."""
    chain, state = tangled(40, 2)
    assert abs(chain.twist(state) - chain.writhe(state) - counted(state, VIEWS[0])) > 0.01


def crossing_strands(gap: float) -> tuple[ct.Chain, ct.State]:
    """A figure of eight whose strands are so far above each other in the middle."""
    n = 48
    t = 2.0 * math.pi * (np.arange(n) + 0.5) / n
    position = np.column_stack([n / 6 * np.sin(2.0 * t), n / 4 * np.sin(t), 0.5 * gap * np.cos(t)])
    chain = ct.Chain([BOX] * n, ROD, closed=True)
    frames = np.zeros((n, 3, 3))
    along = np.roll(position, -1, axis=0) - np.roll(position, 1, axis=0)
    frames[:, :, 0] = along / np.linalg.norm(along, axis=1, keepdims=True)
    frames[:, :, 1] = np.cross([0.0, 0.0, 1.0], frames[:, :, 0])
    frames[:, :, 1] /= np.linalg.norm(frames[:, :, 1], axis=1, keepdims=True)
    frames[:, :, 2] = np.cross(frames[:, :, 0], frames[:, :, 1])
    return chain, chain.start(position, frames)


def test_a_ring_that_passes_through_itself_changes_its_links_by_two_and_its_twist_by_nothing():
    links, twists = [], []
    for gap in (1.0, 0.1, 1e-3, -1e-3, -0.1, -1.0):
        chain, state = crossing_strands(gap)
        links.append(chain.linking_number(state))
        twists.append(chain.twist(state))
        assert links[-1] == counted_links(
            state.position, state.position + 1e-5 * rotations.rotate(state.orientation, np.array([0.0, 1.0, 0.0])), VIEWS[1]
        )  # fmt: skip
    assert len(set(links[:3])) == len(set(links[3:])) == 1 and abs(links[2] - links[3]) == 2
    assert abs(twists[2] - twists[3]) < 1e-2 < 1.0


def test_a_director_that_passes_through_a_link_changes_the_links_by_one():
    """A body is turned once about an axis across the ring: there and back, or to the same side twice."""
    chain = ct.Chain([BOX] * 12, ROD, closed=True)
    calm = chain.ring(1.0, linking_number=1)
    links, sums = [], []
    for angle in np.linspace(0.0, 2.0 * math.pi, 100):
        turned = calm.orientation.copy()
        turn = np.array([math.cos(0.5 * angle), 0.0, 0.1 * math.sin(0.5 * angle), math.sin(0.5 * angle)])
        turned[3] = rotations.multiply(turned[3], turn / np.linalg.norm(turn))
        state = chain.start(calm.position, turned)
        links.append(chain.linking_number(state))
        sums.append(chain.twist(state) + chain.writhe(state))
    assert np.abs(np.array(sums) - links).max() < 1e-12
    jumps = np.diff(links)
    assert links[0] == links[-1] == 1 and 1 <= np.abs(jumps).max() <= 1 and (jumps != 0).sum() in (2, 4)


def test_an_open_chain_has_twist_and_writhe_but_no_linking_number():
    """A helix of one turn: Tw + Wr of director and polygon, by hand: the director does not turn about the axis."""
    chain = ct.Chain([BOX] * 9, ROD)
    state = chain.straight(1.0)
    assert chain.twist(state) == 0.0 and chain.writhe(state) == 0.0
    angle = np.arange(9) * 0.3
    turn = np.column_stack([np.cos(0.5 * angle), np.sin(0.5 * angle), 0.0 * angle, 0.0 * angle])
    turned = chain.start(state.position, turn)
    assert chain.twist(turned) == pytest.approx(8 * 0.3 / (2.0 * math.pi), rel=1e-14)
    with pytest.raises(ct.CapabilityError, match="no linking number"):
        chain.linking_number(state)


def test_bodies_at_one_place_and_directors_that_are_none_are_refused():
    chain, state = tangled(6, 0)
    position = state.position.copy()
    position[0] = position[5]
    together = ct.State({**state.fields, "position": position})
    with pytest.raises(ct.InputError, match="bodies 5 and 0 are at one place"):
        chain.writhe(together)
    with pytest.raises(ct.InputError, match="the director is zero"):
        chain.twist(state, (0.0, 0.0, 0.0))


@pytest.mark.slow
def test_three_thousand_bodies_keep_their_links_along_a_run_but_for_whole_numbers():
    """1e-9 is asked for; measured below 1e-11. The ring is thrown through itself: its linking number changes there, by 2."""
    n = 3000
    chain = ct.Chain([BOX] * n, ROD, closed=True)
    calm = chain.ring(1.0, linking_number=40)
    angle = 2.0 * math.pi * np.arange(n) / n
    thrown = np.column_stack(
        [3.0 * np.sin(2.0 * angle), 2.0 * np.cos(3.0 * angle), 4.0 * np.sin(angle) * np.cos(2.0 * angle)]
    )
    start = chain.start(calm.position, calm.orientation, velocity=thrown)
    run = ct.simulate(chain, start, ct.Splitting(2), dt=0.05, steps=6000, every=300)
    links = []
    for k in range(run.data.sizes["time"]):
        state = ct.State({name: run.data[name].values[k] for name in start.fields})
        assert defect(chain, state) < 1e-9
        links.append(chain.linking_number(state))
    assert links == chain.outputs(run).linking_number().values.tolist()
    assert links[0] == 40 and len(set(links)) > 1
