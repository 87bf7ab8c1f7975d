"""The pair loop of the plain view: rows of particles, some of their places left over, against sums in higher precision."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine import cache, collector, headers
from catena.engine.plain_python import interpret
from catena.geometry import rotations
from catena.systems.chain import forces as chain_forces
from catena.systems.chain.motion import chain_force
from catena.systems.chain.views import to_split

EPS = np.finfo(float).eps
LJ = ct.LennardJones(1.3, 0.8)
TABLE = ct.PairTable({("a", "a"): LJ, ("a", "b"): ct.WCA(0.7, 0.9), ("b", "b"): None})
EQUAL, UNEQUAL, FEW = (12,) * 3, (1, 5, 17, 3, 8, 2, 16), (3, 1, 2)


def disc(count: int) -> ct.Body:
    """Particles on a wavy ring, every third of type b; one or two of them on a line."""
    angle = 2 * np.pi * np.arange(count) / count
    wave = 0.1 * np.cos(3.0 * np.arange(count)) * (count > 2)
    positions = np.column_stack([wave, 0.6 * np.cos(angle), 0.6 * np.sin(angle)])
    types = ["b" if k % 3 == 2 else "a" for k in range(count)]
    return ct.Body.from_particles(positions, 1.0 + 0.1 * np.arange(count), types=types)


def chain_of(counts: tuple[int, ...], potential: object = LJ, *, closed: bool = False) -> tuple[ct.Chain, np.ndarray]:
    """A free chain, or a ring, far from the origin, its bodies turned; and r, q, p, y."""
    n = len(counts)
    how = {"closed": True} if closed else {"left": ct.Free(), "right": ct.Free()}
    chain = ct.Chain([disc(count) for count in counts], potential, **how)
    random = np.random.default_rng(5)
    position = np.array([40.0, -30.0, 20.0]) + 1.1 * np.arange(n)[:, None] * [1.0, 0.1, 0.0]
    if closed:
        position[:, 1] += 0.8 * np.minimum(np.arange(n), n - np.arange(n))
    turned = random.normal(size=(n, 4)) * 0.1 + [1.0, 0.0, 0.0, 0.0]
    rest = np.zeros((n, 3))
    state = ct.State({
        "position": position, "orientation": turned / np.linalg.norm(turned, axis=1)[:, None],
        "momentum": rest, "angular_momentum": rest,
    })  # fmt: skip
    return chain, to_split(chain, state)


def found(
    chain: ct.Chain, z: np.ndarray, *, compiled: bool = False, wrong: tuple[str, str] = ("", ""), **changed: np.ndarray
) -> np.ndarray:
    """Forces in space and torques in the body (2, n, 3), with some text of the kernels and arrays of par changed."""
    view = chain.view("split")
    assert view is not None
    arrays = chain.parameter_arrays() | dict(view.scratch()) | changed
    types = [(name, array.ndim, array.dtype.name) for name, array in arrays.items()]
    parts = collector.collect(chain_force, dict(view.fills))
    if compiled:
        arguments = [headers.array_type(1), headers.parameters_type(types), headers.array_type(1)]
        entry = headers.cpu_function("types.void", arguments)
        module = cache.load(headers.module_text("forces", parts, types, header=headers.CPU, entry=entry), "forces")
    else:
        text = headers.module_text("forces", parts, types, header=headers.PYTHON, entry="@_fn")
        assert wrong[0] in text
        module = interpret(text.replace(*wrong))
    out = np.zeros_like(z)
    module.advance(z, module.Parameters(**arrays), out)
    return out[7 * chain.count :].reshape(2, chain.count, 3)


def expected(chain: ct.Chain, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same as plain sums over pairs in 64-bit mantissas, and the rounding errors that are due to each body.

    A pair force is a power of r up to -13: it changes by 14 times the relative change of r, that is by 14 eps reach/r where
    places are rounded to eps reach; and a few eps for its own operations and the sum.
    """
    n = chain.count
    r = z[: 3 * n].reshape(n, 3).astype(np.longdouble)
    turns = np.array([rotations.to_matrix(q) for q in z[3 * n : 7 * n].reshape(n, 4)]).astype(np.longdouble)
    arms = [body.principal_particles.positions @ turn.T for body, turn in zip(chain.bodies, turns, strict=True)]
    out, due = np.zeros((2, n, 3), dtype=np.longdouble), np.zeros((2, n))
    for j, k in [(j, j + 1) for j in range(n - 1)] + [(n - 1, 0)] * chain.closed:
        for a, potentials in zip(arms[j], chain.interactions.between(j), strict=True):
            for b, potential in zip(arms[k], potentials, strict=True):
                if potential is None:
                    continue
                apart = r[j] - r[k] + a - b
                distance = np.sqrt(apart @ apart)
                u6 = (potential.sigma / distance) ** 6
                inside = isinstance(potential, ct.LennardJones) or u6 > 0.5
                force = inside * 24.0 * potential.epsilon * (2.0 * u6 * u6 - u6) / distance**2 * apart
                size = float(48.0 * potential.epsilon * (u6 * u6 + u6) / distance) * inside
                reach = float(np.linalg.norm(r[j] - r[k]) + np.linalg.norm(a) + np.linalg.norm(b))
                for i, arm, sign in ((j, a, 1.0), (k, b, -1.0)):
                    out[0, i] += sign * force
                    out[1, i] += turns[i].T @ np.cross(arm, sign * force)
                    rounding = EPS * size * (20.0 + 14.0 * reach / float(distance))
                    due[:, i] += rounding, rounding * reach
    return out, due


RINGS = {
    "equal": (EQUAL, LJ), "unequal": (UNEQUAL, LJ), "by types": (UNEQUAL, TABLE),
    "one for each link": ((9, 4, 9), [LJ, ct.LennardJones(0.4, 0.7), ct.LennardJones(0.6, 1.7)]),
}  # fmt: skip


def worst(seen: np.ndarray, wanted: np.ndarray, due: np.ndarray) -> float:
    return float((np.linalg.norm((seen - wanted).astype(float), axis=-1) / due).max())


CASES = {
    "equal": (EQUAL, LJ), "unequal": (UNEQUAL, LJ), "few": (FEW, LJ), "by types": (UNEQUAL, TABLE),
    "one for each link": ((9, 4, 9), [LJ, ct.LennardJones(0.4, 0.7)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_forces_and_torques_are_those_of_sums_over_all_pairs(case):
    """Within the rounding errors of the pairs; see `expected`."""
    chain, z = chain_of(*CASES[case])
    assert worst(found(chain, z), *expected(chain, z)) < 1.0


@pytest.mark.parametrize("case", RINGS)
def test_forces_and_torques_of_a_ring_are_those_of_sums_over_all_pairs(case):
    chain, z = chain_of(*RINGS[case], closed=True)
    assert worst(found(chain, z), *expected(chain, z)) < 1.0
    force, moment = whole(chain, z, found(chain, z))
    assert force < 2.0 and moment < 8.0


@pytest.mark.parametrize(
    "wrong", [("(g0, g1, g2)", "(g0, g1, 0.0)"), ("torque_in_body(z, n, int(0),", "torque_in_body(z, n, int(1),")]
)
def test_a_first_body_that_feels_something_else_of_the_last_is_seen(wrong):
    chain, z = chain_of(*RINGS["equal"], closed=True)
    assert worst(found(chain, z, wrong=wrong), *expected(chain, z)) > 1e6


@pytest.mark.parametrize("case", ["equal", "unequal", "by types"])
def test_a_place_left_over_that_is_counted_is_seen(case):
    chain, z = chain_of(*CASES[case])
    par = chain.parameter_arrays()
    lanes = par["particles"].shape[1] // 3
    full = lanes * np.diff(par["row"])
    assert (full > par["count"]).any()
    assert worst(found(chain, z, count=full), *expected(chain, z)) > 1e6


def test_forces_have_the_same_bits_compiled_to_vectors():
    chain, z = chain_of(UNEQUAL)
    assert found(chain, z, compiled=True).tobytes() == found(chain, z).tobytes()


@pytest.mark.parametrize(
    "wrong", [("l + 1 < count", "l + 2 < count"), ("range(0, count, 2)", "range(0, count - 1, 2)")], ids=["even", "odd"]
)
def test_a_particle_left_out_is_seen(wrong):
    chain, z = chain_of(UNEQUAL)
    assert worst(found(chain, z, wrong=wrong), *expected(chain, z)) > 1e6


def whole(chain: ct.Chain, z: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """Sum of forces and of their moments about the first body, over the rounding errors of n sums of the largest."""
    n = chain.count
    r = z[: 3 * n].reshape(n, 3) - z[:3]
    turns = np.cross(r, found[0]) + rotations.rotate(z[3 * n : 7 * n].reshape(n, 4), found[1])
    due = n * EPS * np.abs(found[0]).max()
    return np.abs(found[0].sum(axis=0)).max() / due, np.abs(turns.sum(axis=0)).max() / (due * np.linalg.norm(r[-1]))


@pytest.mark.parametrize("case", CASES)
def test_nothing_pushes_or_turns_a_chain_as_a_whole(case):
    """Two roundings for each body in a sum of forces; a torque is made of four products and is turned into the body."""
    chain, z = chain_of(*CASES[case])
    force, moment = whole(chain, z, found(chain, z))
    assert force < 2.0 and moment < 8.0


@pytest.mark.parametrize(
    ("wrong", "which"), [(("g0 = -f0", "g0 = -f1"), 0), (("d2 * f1 - d1 * f2 - t0", "-t0"), 1)], ids=["force", "torque"]
)
def test_a_right_body_that_feels_something_else_is_seen(wrong, which):
    chain, z = chain_of(UNEQUAL)
    assert whole(chain, z, found(chain, z, wrong=wrong))[which] > 1e6


def test_a_line_of_particles_is_not_turned_about_itself():
    """By nothing at all: a rounding error would stay in the angular momentum, where there is no moment of inertia."""
    chain, z = chain_of((12, 2, 8, 2, 1))
    torque = found(chain, z)[1]
    held = np.array([body.moments == 0.0 for body in chain.bodies])
    assert held.sum() == 5  # two lines, one point
    assert (torque[held] == 0.0).all() and (torque[~held] != 0.0).all()


@pytest.mark.parametrize(
    ("counts", "potential", "lanes"),
    [(EQUAL, LJ, 16), (UNEQUAL, LJ, 8), (FEW, LJ, 3), ((32, 32), LJ, 32), ((32, 16), LJ, 16), ((12, 12), TABLE, 6)],
)
def test_rows_are_as_long_as_leaves_no_more_places_over(counts, potential, lanes):
    chain, _ = chain_of(counts, potential)
    par = chain.parameter_arrays()
    assert chain.interactions.fills()[chain_forces.lane_count] == lanes
    assert chain.interactions.scratch()["x"].shape == (par["row"][-1], 6 * lanes)
    assert par["row"][-1] == sum(-(-count // lanes) for count in counts)
