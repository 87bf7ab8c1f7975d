"""Switches: as many continuous derivatives as promised, and the order of convergence that they allow."""

from __future__ import annotations

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from mpmath import mp

from catena.methods.splitting.schemes import SCHEMES
from catena.systems.potentials.pair_potentials import WCA, LennardJones, Switched, Yukawa
from catena.systems.potentials.pairwise import interpret

EPS = float(np.finfo(float).eps)


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("end", [1, 2])
def test_a_switch_has_exactly_k_continuous_derivatives(end, k):
    """The kernel's own text at 50 digits; its constants are exact for these ends."""
    potential = Switched(LennardJones(1.0, 1.0), 1.0, 2.0, smoothness=k)
    written = potential.kernel("energy")
    namespace = {"math": mp, "inner_energy": dict(written.uses)["inner_energy"]}
    exec(written.text, namespace)
    par = SimpleNamespace(pair=potential.constants)

    def jump(order: int) -> float:
        energy = lambda r: mp.mpf(namespace[written.name](r * r, 0, par))  # noqa: E731
        sides = [mp.diff(energy, mp.mpf(end), order, direction=side) for side in (-1, 1)]
        return float(abs(sides[1] - sides[0]))

    # V(1) = 0: at the beginning of the switch V S has one continuous derivative more
    smooth = k + 1 if end == 1 else k
    assert all(jump(order) < 1e-12 for order in range(smooth + 1))
    assert jump(smooth + 1) > 0.1


def test_the_default_switch_is_the_quintic():
    """1 - x^3 (10 - 15 x + 6 x^2), the usual one."""
    r = np.linspace(1.0, 2.0, 11)
    x = (r - 1.0) / 1.0
    base = Yukawa(1.0, 0.0)
    expected = base.energy(r) * (1 - x**3 * (10 - 15 * x + 6 * x**2))
    np.testing.assert_allclose(Switched(base, 1.0, 2.0).energy(r), expected, atol=4 * EPS)


def end_of_a_collision(potential, later: float, steps: int) -> np.ndarray:
    """In from beyond r_cut, off the core and out again, by a composition of order 6."""
    force, h = interpret(potential.kernel("force")), 2.6 / steps
    par = SimpleNamespace(pair=potential.constants)
    r, p = 2.6 + later, -1.0
    pull = force(r * r, 0, par) * r
    for _ in range(steps):
        for weight in SCHEMES["yoshida6"].weights.tolist():
            p += 0.5 * weight * h * pull
            r += weight * h * p
            pull = force(r * r, 0, par) * r
            p += 0.5 * weight * h * pull
    return np.array([r, p])


@pytest.mark.parametrize(
    ("potential", "order"),
    [
        (WCA(1.0, 1.0), 2),
        (Switched(LennardJones(1.0, 1.0), 1.2, 2.0, smoothness=1), 2),
        (Switched(LennardJones(1.0, 1.0), 1.2, 2.0, smoothness=2), 3),
        (Switched(LennardJones(1.0, 1.0), 1.2, 2.0, smoothness=5), 6),
    ],
    ids=str,
)
def test_a_method_of_order_6_shows_order_k_plus_1(potential, order):
    """Root mean square over starts, since it matters where in a step an end is met; measured 1.8, 1.9, 3.4 and 5.96."""
    starts, counts = np.linspace(0.0, 0.1, 8), [80, 160, 320, 640]
    exact = [end_of_a_collision(potential, later, 2560) for later in starts]
    errors = [
        np.sqrt(np.mean([(end_of_a_collision(potential, x, n) - e) ** 2 for x, e in zip(starts, exact, strict=True)]))
        for n in counts
    ]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.15 if order == 6 else 0.6), errors
