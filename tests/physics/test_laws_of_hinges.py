"""Angles of hinges at a temperature: with masses that depend on the angles their density is sqrt(det M) exp(-V/kT), by quadrature.

That factor is what the joints' freedom in the metric of the masses makes: angles of stiff springs that only look like hinges do not have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.geometry import rotations

KT, DT = 1.0, 0.1
BODY = ct.Body(mass=1.0, moments=(0.05, 0.05, 0.05))
WARM = ct.Langevin(KT, 1.0, seed=11)
CHUNK = 2000

Angles = np.ndarray  # (..., hinges): of each hinge, from its parent


def pendulum(count: int) -> ct.Linkage:
    """Small bodies at the ends of arms of length 1, all hinges parallel, no weight."""
    joints = [ct.Revolute(k - 1, k, at=((0, 0, 0), (0, 0, 1)), axis=(1, 0, 0)) for k in range(count)]
    return ct.Linkage([BODY] * count, joints, gravity=(0.0, 0.0, 0.0))


def mass_matrices(angles: Angles) -> np.ndarray:
    """(..., n, n) in the angles: centres are sums of unit vectors at the angles phi_k = theta_0 + .. + theta_k of the plane."""
    phi = np.cumsum(angles, axis=-1)
    arms = np.exp(1j * phi)
    n = phi.shape[-1]
    made = np.zeros((*phi.shape[:-1], n, n))
    for body in range(n):
        # d r_body / d theta_a = i (arms from a to body)
        slopes = [arms[..., a : body + 1].sum(axis=-1) for a in range(n)]
        for a in range(body + 1):
            for b in range(body + 1):
                made[..., a, b] += BODY.mass * np.real(np.conj(slopes[a]) * slopes[b]) + BODY.moments[0]
    return made


FIGURES: dict[int, dict[str, Callable[[Angles], np.ndarray]]] = {
    2: {"cos 2b": lambda t: np.cos(2.0 * t[..., 1]), "cos b": lambda t: np.cos(t[..., 1])},
    3: {
        "cos 2b": lambda t: np.cos(2.0 * t[..., 1]), "cos 2c": lambda t: np.cos(2.0 * t[..., 2]),
        "cos b cos c": lambda t: np.cos(t[..., 1]) * np.cos(t[..., 2]), "cos (2b + 2c)": lambda t: np.cos(2.0 * (t[..., 1] + t[..., 2])),
    },
}  # fmt: skip


def laws(count: int, *, flat: bool = False) -> dict[str, float]:
    """Means with the weight sqrt(det M), by the trapezium rule, which is exact to round-off for smooth periodic functions; or with none."""
    circle = np.linspace(0.0, 2.0 * math.pi, 128, endpoint=False)
    grid = np.stack(np.meshgrid(*[circle] * (count - 1), indexing="ij"), axis=-1)
    angles = np.concatenate([np.zeros((*grid.shape[:-1], 1)), grid], axis=-1)
    weight = np.ones(grid.shape[:-1]) if flat else np.sqrt(np.linalg.det(mass_matrices(angles)))
    return {name: float((of(angles) * weight).sum() / weight.sum()) for name, of in FIGURES[count].items()}


def angles_of(orientation: np.ndarray) -> Angles:
    """(samples, n) of rotations about the first axis."""
    turns = 2.0 * np.arctan2(orientation[..., 1], orientation[..., 0])
    return np.diff(turns, axis=-1, prepend=0.0)


def samples(program: Program, linkage: ct.Linkage, steps: int, members: int) -> Iterator[list[dict[str, np.ndarray]]]:
    """The recorded columns of each member, in parts, after 500 steps."""
    start = linkage.start(orientation=rotations.from_vector(np.outer(np.arange(1.0, linkage.count + 1), (0.7, 0, 0))))
    fields = (*linkage.fields, *linkage.invariants, *program.stepper.accounts)
    ends = np.cumsum([field.width for field in fields])
    for member in range(members):
        driver = Driver(program, program.view.pack(start), t0=0.0, dt=DT, every=5, member=member)
        assert driver.advance(500).status == 0
        parts = []
        for _ in range(steps // CHUNK):
            block = driver.advance(CHUNK)
            assert block.status == 0
            cut = np.split(block.rows, ends[:-1], axis=1)
            parts.append({f.name: part.reshape(len(part), *f.shape) for f, part in zip(fields, cut, strict=True)})
        yield parts


def measured(program: Program, linkage: ct.Linkage, *, steps: int, members: int = 12) -> dict[str, tuple[float, float]]:
    """Means and errors from the spread of members: figures of the angles, temperature of each joint, the fourth moment."""
    figures = FIGURES[linkage.count]
    found = []
    for parts in samples(program, linkage, steps, members):
        angles = angles_of(np.concatenate([part["orientation"] for part in parts]))
        warm = np.concatenate([part["body_temperature"] for part in parts]).mean(axis=0)
        fourth = np.concatenate([part["fourth_moment"] for part in parts]).mean()
        found.append([*(of(angles).mean() for of in figures.values()), *warm, fourth])
    names = [*figures, *(f"joint {k}" for k in range(linkage.count)), "fourth"]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(members)
    return dict(zip(names, zip(mean.tolist(), error.tolist(), strict=True), strict=True))


def furthest(found: dict[str, tuple[float, float]], expected: dict[str, float]) -> float:
    """Standard errors by which the worst figure is off."""
    return max(abs(found[name][0] - law) / found[name][1] for name, law in expected.items())


def test_masses_of_the_double_pendulum_are_those_of_the_textbook() -> None:
    """M = [[3 + 2 cos b + 2 I, 1 + cos b + I], [.., 1 + I]] for unit masses and arms, det M = (1 + I)^2 + 1 + I - cos^2 b."""
    b, i = 0.8, BODY.moments[0]
    wanted = [[3.0 + 2.0 * math.cos(b) + 2.0 * i, 1.0 + math.cos(b) + i], [1.0 + math.cos(b) + i, 1.0 + i]]
    assert mass_matrices(np.array([0.3, b])) == pytest.approx(np.array(wanted), rel=1e-14)

    def weight(b: float) -> float:
        return math.sqrt((1.0 + i) ** 2 + 1.0 + i - math.cos(b) ** 2)

    whole, part = (integrate.quad(f, 0.0, math.pi)[0] for f in (weight, lambda b: math.cos(2.0 * b) * weight(b)))
    assert laws(2)["cos 2b"] == pytest.approx(part / whole, rel=1e-10)
    assert laws(2, flat=True)["cos 2b"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_angles_of_hinges_have_the_density_of_their_masses(count: int) -> None:
    """Within 4.5 errors of 11 degrees of freedom (a chance of 0.1 % for each figure); a flat density, and noise that does not know masses, are seen.

    The twin gives all components of all bodies the same noise, so that what the joints leave of it has another metric.
    """
    linkage = pendulum(count)
    program = build(linkage, WARM)
    found = measured(program, linkage, steps=60_000 if count == 2 else 40_000)
    expected = laws(count) | {f"joint {k}": 1.0 for k in range(count)} | {"fourth": 1.0}
    print(found, expected, furthest(found, expected))
    assert furthest(found, expected) < 4.5
    assert furthest(found, laws(count, flat=True)) > 8.0
    timed = program.arrays.timed
    assert timed is not None

    def without_masses(dt: float) -> dict[str, np.ndarray]:
        made = dict(timed(dt))
        return made | {"stir": np.full_like(made["stir"], made["stir"].max())}

    broken = replace(program, arrays=replace(program.arrays, timed=without_masses))
    wrong = measured(broken, linkage, steps=12_000)
    print(wrong)
    assert furthest(wrong, expected) > 8.0


@pytest.mark.slow
def test_angles_of_hinges_have_their_density_whatever_the_rates_of_the_bodies() -> None:
    """The same with other rates for each body. Bodies that decay and are stirred each by itself, and then are put on the joints, have another law."""
    linkage, rates = pendulum(3), (0.2, 6.0, 1.0)
    program = build(linkage, replace(WARM, friction=rates))
    found = measured(program, linkage, steps=40_000)
    expected = laws(3) | {f"joint {k}": 1.0 for k in range(3)} | {"fourth": 1.0}
    print(found, expected, furthest(found, expected))
    assert furthest(found, expected) < 4.5
    assert furthest(found, laws(3, flat=True)) > 8.0

    def each_by_itself(dt: float) -> dict[str, np.ndarray]:
        kept = np.exp(-np.array(rates) * dt)[:, None]
        masses = linkage.inertia().variances
        return {"loss": kept - 1.0 + 0.0 * masses, "stir": np.sqrt(KT * masses * (1.0 - kept**2)), "heavier": masses}

    broken = replace(program, arrays=replace(program.arrays, timed=each_by_itself))
    wrong = measured(broken, linkage, steps=12_000)
    print(wrong)
    assert furthest(wrong, expected) > 8.0
