"""Orders of the splittings on chains, of slow and of fast bodies, with rotors that suffice and that do not."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.methods.rotors.rotations import ThreeRotations
from chains import Plain
from uncompiled import simulate

POOR = ThreeRotations()
GOOD = ct.Composition(ThreeRotations(), "suzuki4")
TIME = 0.2


def with_rotor(order: int, rotor) -> Plain:
    """A splitting whose rotor is not checked."""
    splitting = Plain(order)
    object.__setattr__(splitting, "rotor", rotor)
    return splitting


def chain_of(name: str) -> ct.Problem:
    """tet: a pulled helix of six tetrahedra; fast: the same with unequal moments, turning some ten times faster."""
    problem = ct.problems.helix_chain(6, right="force", F=(3.0, 0.0, 0.0), amp=0.3)
    if name == "tet":
        return problem
    body = ct.Body(4.0, (0.3, 1.0, 1.2))
    object.__setattr__(body, "particles", ct.Body.tetrahedron().particles)
    chain = ct.Chain([body] * 6, ct.LennardJones(5.0, 1.0), right=ct.Force((3.0, 0.0, 0.0)))
    j = np.arange(6)
    spin = np.column_stack([6 + np.cos(j), 4 + np.cos(2 * j), 5 + np.sin(3 * j)]) * (j > 0)[:, None]
    start = chain.start(
        problem.start.position, problem.start.orientation, momentum=problem.start.momentum, angular_velocity=spin
    )
    return ct.Problem(name, chain, start, 0.02)


def error(problem: ct.Problem, method, dt: float, exact: ct.State) -> float:
    steps = round(TIME / dt)
    state = simulate(problem, None, method, dt=dt, steps=steps, every=steps).final
    return max(float(np.abs(getattr(state, f) - getattr(exact, f)).max()) for f in state.fields)


@pytest.fixture(scope="module")
def exact() -> dict[str, ct.State]:
    """By order 6 with steps five times smaller than the smallest here: 1e-13 and less."""
    return {
        name: ct.simulate(chain_of(name), method=ct.Splitting(6), dt=TIME / 800, steps=800, every=800).final
        for name in ("tet", "fast")
    }


CASES = [
    ("tet", Plain(2), 2, (0.01, 0.005)),
    ("tet", Plain(4), 4, (0.01, 0.005)),
    ("tet", Plain(6), 6, (0.02, 0.01)),
    ("tet", with_rotor(4, GOOD), 4, (0.01, 0.005)),
    ("fast", Plain(2), 2, (0.0025, 0.00125)),
    ("fast", Plain(4), 4, (0.005, 0.0025)),
    ("fast", Plain(6), 6, (0.005, 0.0025)),
    ("tet", with_rotor(6, POOR), 2, (0.01, 0.005)),
    ("fast", with_rotor(4, POOR), 2, (0.0025, 0.00125)),
    ("fast", with_rotor(6, POOR), 2, (0.005, 0.0025)),
]


@pytest.mark.parametrize(
    ("name", "method", "order", "dts"),
    [pytest.param(*c, id=f"{c[0]}-{c[1]}", marks=pytest.mark.slow if c[0] == "tet" else ()) for c in CASES],
)
@pytest.mark.slow
def test_a_splitting_has_its_order_unless_its_rotor_has_not(name, method, order, dts, exact):
    """Within 0.15, from two steps in the asymptotic range."""
    problem = chain_of(name)
    coarse, fine = (error(problem, method, dt, exact[name]) for dt in dts)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15), (coarse, fine)
