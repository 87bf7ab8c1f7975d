"""Hamiltonians with many terms as texts, and the same in numpy: bodies that attract each other, and a chain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct

Array = NDArray[np.float64]


def bodies_arguments(count: int, axes: str = "xyz") -> tuple[Any, ...]:
    """Energy, coordinates, momenta and parameters of bodies with named masses."""
    kinetic = [f"({' + '.join(f'p{a}{i}**2' for a in axes)})/(2*m{i})" for i in range(count)]
    pairs = [
        f"G*m{i}*m{j}/sqrt({' + '.join(f'({a}{i} - {a}{j})**2' for a in axes)})"
        for i in range(count)
        for j in range(i + 1, count)
    ]
    q = [f"{a}{i}" for i in range(count) for a in axes]
    masses = {f"m{i}": 1.0 + 0.5 * math.sin(i) for i in range(count)}
    return f"{' + '.join(kinetic)} - {' - '.join(pairs)}", q, [f"p{name}" for name in q], {"G": 0.75, **masses}


def bodies(count: int, axes: str = "xyz") -> ct.Hamiltonian:
    return ct.Hamiltonian(
        *bodies_arguments(count, axes),
        invariants={f"momentum_{axes[0]}": " + ".join(f"p{axes[0]}{i}" for i in range(count)), "turn": _turn(count)},
    )


def _turn(count: int) -> str:
    return " + ".join(f"(x{i}*py{i} - y{i}*px{i})" for i in range(count))


def bodies_start(system: ct.Hamiltonian, seed: int = 0, spread: float = 3.0) -> ct.State:
    """Bodies at random positions at least 1 apart."""
    chance = np.random.default_rng(seed)
    places: list[Array] = []
    while len(places) < len(system.q) // 3:
        place = chance.normal(size=3) * spread
        if all(np.linalg.norm(place - other) > 1.0 for other in places):
            places.append(place)
    return system.start(q=np.concatenate(places), p=0.2 * chance.normal(size=len(system.q)))


def planets(count: int) -> tuple[ct.Hamiltonian, ct.State]:
    """A sun and planets of 1e-5 of its mass, on inclined, nearly circular orbits without close encounters."""
    masses = {"G": 1.0, "m0": 1.0, **{f"m{i}": 1e-5 * (1 + i % 3) for i in range(1, count)}}
    system = bodies(count).with_parameters(**masses)
    angle, radius = 2.4 * np.arange(1, count), 1.0 + 0.25 * np.arange(count - 1)
    tilt = 0.1 * np.cos(3.0 * angle)
    across = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    along = np.stack([-np.sin(angle) * np.cos(tilt), np.cos(angle) * np.cos(tilt), np.sin(tilt)], axis=1)
    q = np.concatenate([np.zeros((1, 3)), radius[:, None] * across])
    p = np.array([masses[f"m{i}"] for i in range(1, count)])[:, None] * along / np.sqrt(radius)[:, None]
    p = np.concatenate([-p.sum(axis=0, keepdims=True), p])
    return system, system.start(q=q.ravel(), p=p.ravel())


def bodies_by_numpy(q: Array, p: Array, masses: Array, g: float) -> tuple[float, Array, Array]:
    """Energy, field and its derivative, by the formulas of Newton's law."""
    n = len(masses)
    x, v = q.reshape(n, 3), p.reshape(n, 3)
    difference = x[:, None] - x[None, :]
    distance = np.sqrt((difference**2).sum(axis=2)) + np.eye(n)
    strength = g * masses[:, None] * masses[None, :] * (1.0 - np.eye(n))
    energy = (v**2 / (2 * masses[:, None])).sum() - (strength / distance).sum() / 2
    force = -(strength / distance**3)[:, :, None] * difference
    field = np.concatenate([(v / masses[:, None]).ravel(), force.sum(axis=1).ravel()])
    # d force_ij / d x_i = -k (1 / r^3 - 3 d d^T / r^5)
    slope = -(strength / distance**3)[:, :, None, None] * np.eye(3)
    slope += 3 * (strength / distance**5)[:, :, None, None] * difference[:, :, :, None] * difference[:, :, None, :]
    blocks = -slope
    blocks[np.arange(n), np.arange(n)] = slope.sum(axis=1)
    jacobian = np.zeros((6 * n, 6 * n))
    jacobian[: 3 * n, 3 * n :] = np.diag(np.repeat(1 / masses, 3))
    jacobian[3 * n :, : 3 * n] = blocks.transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
    return float(energy), field, jacobian


def chain(count: int) -> ct.Hamiltonian:
    """The chain of Fermi, Pasta, Ulam and Tsingou with fixed ends."""
    q = [f"q{i}" for i in range(1, count + 1)]
    p = [f"p{i}" for i in range(1, count + 1)]
    stretch = [f"({b} - {a})".replace("(q1 - 0)", "q1") for a, b in zip(["0", *q], [*q, "0"], strict=True)]
    springs = [f"{d}**2/2 + alpha*{d}**3/3 + beta*{d}**4/4" for d in stretch]
    kinetic = f"({' + '.join(f'{name}**2' for name in p)})/2"
    return ct.Hamiltonian(f"{kinetic} + {' + '.join(springs)}", q, p, {"alpha": 0.25, "beta": 0.5})


def chain_start(system: ct.Hamiltonian) -> ct.State:
    """The lowest mode, at rest."""
    count = len(system.q)
    return system.start(q=np.sin(np.pi * np.arange(1, count + 1) / (count + 1)), p=np.zeros(count))


def chain_by_numpy(q: Array, p: Array, alpha: float, beta: float) -> tuple[float, Array, Array]:
    """Energy, field and its derivative."""
    n = len(q)
    d = np.diff(np.concatenate([[0.0], q, [0.0]]))
    energy = (p**2).sum() / 2 + (d**2 / 2 + alpha * d**3 / 3 + beta * d**4 / 4).sum()
    tension = d + alpha * d**2 + beta * d**3
    stiffness = 1 + 2 * alpha * d + 3 * beta * d**2
    jacobian = np.zeros((2 * n, 2 * n))
    jacobian[:n, n:] = np.eye(n)
    jacobian[n:, :n] = -np.diag(stiffness[:-1] + stiffness[1:])
    jacobian[n:, :n] += np.diag(stiffness[1:-1], 1) + np.diag(stiffness[1:-1], -1)
    return float(energy), np.concatenate([p, tension[1:] - tension[:-1]]), jacobian
