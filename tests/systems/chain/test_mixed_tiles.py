"""Chains in tiles whose bodies and links differ: the same motion as in the plain view, and what it takes."""

from __future__ import annotations

import time

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.systems.chain.tiles import terms as tile_terms
from catena.systems.chain.tiles import text as chain_tile_text
from catena.systems.chain.tiles import view as tiles
from chains import quiet_start
from tiled import difference, driven, fields, halves, program_of

POSITIONS = ct.Body.tetrahedron().particles.positions
LJ, STRONG, MORSE = ct.LennardJones(5.0, 1.0), ct.LennardJones(6.0, 0.9), ct.Morse(5.0, 3.0, 1.1)
BEND, LONG = ct.BendTwist(30.0, 4.0, 2.5, (0.2, -0.1, 1.4)), ct.GayBerne(2.0, 0.5, 1.8, 2.5, 1.5, 0.7)
TABLE = ct.PairTable(
    {("A", "A"): LJ, ("A", "B"): MORSE, ("B", "B"): STRONG, ("C", "A"): None, ("C", "B"): LJ, ("C", "C"): None}
)


def body(types: str) -> ct.Body:
    """A tetrahedron of such particles, or its first ones; a fifth stands at the centre."""
    places = np.vstack([POSITIONS, [[0.0, 0.0, 0.0]]])[: len(types)]
    return ct.Body.from_particles(places, types=list(types))


def bodies(*types: str) -> list[ct.Body]:
    """Ten of them in turn."""
    return [body(types[j % len(types)]) for j in range(10)]


def linked(*potentials) -> list:
    """Nine links in turn."""
    return [potentials[j % len(potentials)] for j in range(9)]


CHAINS = {
    "every second with a fifth particle": (bodies("AAAA", "AAAAA"), LJ),
    "one, three and two particles": (bodies("A", "AAA", "AA"), STRONG),
    "types in equal bodies": (bodies("AABB"), TABLE),
    "types in two kinds of bodies": (bodies("AABB", "BABA"), TABLE),
    "types and numbers": (bodies("AABBC", "BAC", "CCAB"), TABLE),
    "other constants at each link": (bodies("AAAA"), [ct.LennardJones(4.0 + 0.2 * j, 1.0) for j in range(9)]),
    "other potentials": (bodies("AAAA"), linked(LJ, MORSE, STRONG, ct.WCA(5.0, 1.0))),
    "pairs at some links, links at others": (bodies("AAAA", "AAA"), linked(LJ, BEND, MORSE)),
    "a text, a switch, and a sum": (bodies("AABB", "BA"), linked(ct.PairPotential("a/r**9 - r**-3", {"a": 0.5}), ct.Switched(LJ, 1.2, 2.0) + MORSE)),
    "two link potentials": (bodies("AAAA"), linked(BEND, LONG, BEND)),
    "all together": (bodies("AABBC", "BAC", "CCAB"), linked(TABLE + BEND, LONG, TABLE, MORSE + LONG)),
}  # fmt: skip


def started(chain: ct.Chain) -> ct.State:
    """Ten bodies moving, turned by fixed amounts; the nearest particles some 0.9 apart."""
    j, chance = np.arange(10), np.random.default_rng(7)
    place = np.column_stack([1.85 * j, 0.2 * np.sin(j), 0.1 * np.cos(2 * j)])
    turned = rotations.from_vector(0.5 * chance.normal(size=(10, 3)))
    moving = {"momentum": chance.normal(size=(10, 3)), "angular_momentum": 0.1 * chance.normal(size=(10, 3))}
    still = [body.kind != "body" for body in chain.bodies]
    moving["angular_momentum"][still] = 0.0
    return quiet_start(chain, place, turned, check=False, **moving)


def chain_of(name: str, **more) -> ct.Chain:
    made, potential = CHAINS[name]
    return ct.Chain(made, potential, ct.Free(), ct.Force((1.0, 0.5, 0.0)), (0.0, 0.1, -0.5), **more)


@pytest.mark.parametrize("name", CHAINS)
def test_bodies_and_links_that_differ_move_as_in_the_plain_view(name):
    """Over a border of tiles of eight. Forces below 100, dt = 0.01: measured at most 1.4e-14."""
    chain = chain_of(name)
    assert difference(chain, started(chain), ct.Splitting(2), steps=2) < 5e-14


def test_a_ring_of_different_bodies_is_closed_by_the_last_of_its_links():
    """Its last link, between types that no other link joins, stands in a tile that is not full."""
    ring = ct.Chain([*bodies("AABBC", "BAC")[:9], body("CAC")], TABLE, closed=True)
    angle = 2.0 * np.pi * np.arange(10) / 10
    place = 3.6 * np.column_stack([np.cos(angle), np.sin(angle), 0.03 * np.sin(3 * angle)])
    start = quiet_start(ring, place, check=False, momentum=np.cos(place))
    assert difference(ring, start, ct.Splitting(4), steps=1) < 2e-14


@pytest.mark.parametrize("wrong", ["everything", "the first"])
def test_what_is_chosen_wrongly_is_seen(wrong, monkeypatch):
    """The twin: all links choose what some have, or all that choose take the first potential."""
    right = chain_tile_text._is_chosen

    def chosen(term, stride, shape):
        text = right(term, stride, shape)
        return text.replace("==", ">= -1.0 +") if wrong == "everything" else text.replace("== 1.0", "== 0.0")

    monkeypatch.setattr(chain_tile_text, "_is_chosen", chosen)
    name = "every second with a fifth particle" if wrong == "everything" else "other potentials"
    chain = chain_of(name)
    assert difference(chain, started(chain), ct.Splitting(2), steps=1) > 1e-6


def test_what_acts_nowhere_is_not_computed():
    """Two fifth particles never meet where every second body has one; in equal bodies nothing has to be chosen."""
    for name, evaluations, rows in (("every second with a fifth particle", 24, 2), ("types in equal bodies", 16, 0)):
        terms = tile_terms.terms_of(chain_of(name).interactions)
        assert (terms.evaluations, terms.rows.shape[1]) == (evaluations, rows), name


@pytest.mark.parametrize("potential", [TABLE, MORSE, linked(LJ, MORSE)])
def test_forces_in_tiles_have_the_exp_of_lanes(potential):
    """Energies are recorded with that of all other programs."""
    text = program_of(ct.Chain(bodies("AABB"), potential), ct.Splitting(2)).text
    assert "exponential_exp_in_lanes(-a" in text and "exponential_exp(-a" not in text


def test_other_constants_are_not_compiled_again():
    made = bodies("AABB", "BABA")
    other = ct.PairTable({("A", "A"): STRONG, ("A", "B"): ct.Morse(4.0, 2.0, 1.0), ("B", "B"): LJ})
    texts = {build(ct.Chain(made, table), ct.Splitting(2), compiled=False).text for table in (TABLE, other)}
    assert len(texts) == 1


def test_bodies_too_unequal_keep_the_plain_view():
    """One large body among points: of fifteen pairs that all links would compute, one or two act."""
    large = ct.Body.from_particles(np.random.default_rng(2).normal(size=(8, 3)))
    point = ct.Body.from_particles([[0.0, 0.0, 0.0]])
    assert tiles.tiles_view(ct.Chain([large, *[point] * 30], LJ)) is None
    assert tiles.tiles_view(ct.Chain([large, point] * 15, LJ)) is not None


def test_a_mixed_chain_goes_on_from_its_checkpoint_to_the_same_bits():
    chain = chain_of("all together")
    whole, again = halves(program_of(chain, ct.Splitting(2), width=8), started(chain))
    assert {name: array.tobytes() for name, array in again.state().items()} == {
        name: array.tobytes() for name, array in whole.state().items()
    }


@pytest.mark.slow
def test_the_bits_do_not_depend_on_the_tile_nor_on_the_compiler():
    """Tiles of 8 in vector registers against one of 64, number by number in Python; momentum is kept to round-off."""
    made, potential = CHAINS["all together"]
    chain = ct.Chain(made, potential, ct.Free(), ct.Free())
    start = started(chain)
    programs = program_of(chain, ct.Splitting(2), width=8, compiled=True), program_of(chain, ct.Splitting(2), width=64)
    first, second = (fields(p.view.unpack(driven(p, start, dt=0.01, steps=2).z, 0.0)) for p in programs)
    assert first.tobytes() == second.tobytes()
    data = ct.simulate(chain, start, method=ct.Splitting(2), dt=0.002, steps=100, every=10).data
    for name, scale in (("total_momentum", 10.0), ("total_angular_momentum", 100.0)):
        assert float(np.abs(data[name] - data[name][0]).max()) < 50 * np.finfo(float).eps * 10.0 * scale, name


@pytest.mark.slow
def test_a_pair_costs_at_most_twice_as_much_as_between_equal_bodies():
    """Steps of 512 bodies, the best of 30 rounds in turn, for each pair that acts, over those of equal bodies with the same potentials.

    Measured 1.0 with a fifth particle in every second body, 1.0 with a table of types in equal bodies, 1.4 in two kinds of bodies at random.
    """
    n, chance = 512, np.random.default_rng(5)
    table = ct.PairTable({("A", "A"): LJ, ("A", "B"): MORSE, ("B", "B"): STRONG})
    kinds = [body("AABB"), body("BABA")]
    chains = {
        "LJ": ([body("AAAA")] * n, LJ, 16.0),
        "Morse": ([body("AAAA")] * n, MORSE, 16.0),
        "a fifth particle": (bodies("AAAA", "AAAAA") * 52, LJ, 20.0),
        "types": ([kinds[0]] * n, table, 16.0),
        "random types": ([kinds[k] for k in chance.integers(0, 2, n)], table, 16.0),
    }
    drivers, best = {}, {}
    for name, (made, potential, _) in chains.items():
        chain = ct.Chain(made, potential)
        program = build(chain, ct.Splitting(2))
        assert program.view.name == "tiles"
        start = chain.straight(2.5, check=False)
        drivers[name] = Driver(program, program.view.pack(start), t0=0.0, dt=1e-4, every=10**9)
        best[name] = np.inf
    for _ in range(30):
        for name, driver in drivers.items():
            begin = time.process_time()
            assert driver.advance(20).status == 0
            best[name] = min(best[name], time.process_time() - begin)
    pair = {name: best[name] / len(chains[name][0]) / chains[name][2] for name in chains}
    half = (pair["LJ"] + pair["Morse"]) / 2  # of the pairs of the table
    ratios = [pair["a fifth particle"] / pair["LJ"], pair["types"] / half, pair["random types"] / half]
    print(ratios)
    assert max(ratios) < 2.0, ratios
