"""The energy-momentum step of hanging chains in all its published unknowns, in plain arrays.

An independent program beside the kernels of the library: directors and their momenta are carried on as the equations
give them, never orthonormalised, so it shows how well the scheme itself conserves e(q) = 0 and C(q) p = 0. For each
body q = (r, q1, q2, q3) and p = (M v, p1, p2, p3); bars are means of both ends of the step, and with Ghat(q) p = y/2
[nielsen2013]:

    dr = h pbar_0/M,             dq = h Ghat(qbar)^T 4 J^-1 mean(Ghat(q) p)
    dp_0 = h M g - Phi_0^T L,    dp = -h Ghat(pbar)^T 4 J^-1 m + h C(qbar)^T g0 - (1 - C^T (C C^T)^-1 C) Phi_q^T L
    g0 = (C C^T)^-1 [C Ghat(pbar)^T + C(pbar) Ghat(qbar)^T] 4 J^-1 m,    m = mean(Ghat(p) q),    Phi(q1) = 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..geometry import rotations
from ..problems.linkages import hanging_chain

Numbers = np.ndarray  # doubles, or complex numbers for differentiation

ALONG = 1e-30  # imaginary step of the derivative: exact, because everything is polynomial or rational
MOST, CONVERGED = 20, 3e-16


@dataclass(frozen=True)
class Path:
    """A run: q and p (steps + 1, n, 4, 3), and the largest number of Newton corrections in a step."""

    chain: Chain
    q: Array
    p: Array
    corrections: int

    def orthonormality(self) -> Array:
        """Largest e(q) = Q^T Q - 1 of a body, at each node."""
        directors = self.q[:, :, 1:]
        return np.abs(np.einsum("tnka,tnla->tnkl", directors, directors) - np.eye(3)).max(axis=(1, 2, 3))

    def hidden(self) -> Array:
        """Largest C(q) p of a body, at each node."""
        return np.abs(conditions(self.q[:, :, 1:], self.p[:, :, 1:])).max(axis=(1, 2))

    def turning(self) -> Array:
        """(steps + 1, n, 3): y of each body, in the body, from both directors and momenta."""
        return 2.0 * hat(self.q[:, :, 1:], self.p[:, :, 1:])

    def energy(self) -> Array:
        """Kinetic and potential energy at each node."""
        chain = self.chain
        moving = (self.p[:, :, 0] ** 2).sum(axis=(1, 2)) / (2.0 * chain.mass)
        return (
            moving
            + (self.turning() ** 2 / chain.moments).sum(axis=(1, 2)) / 2.0
            - chain.mass * (self.q[:, :, 0] @ chain.gravity).sum(axis=1)
        )

    def momentum(self) -> Array:
        """(steps + 1, 3): angular momentum about the fixed point."""
        spin = np.einsum("tnka,tnk->tna", self.q[:, :, 1:], self.turning())
        return (np.cross(self.q[:, :, 0], self.p[:, :, 0]) + spin).sum(axis=1)

    def joints(self) -> Array:
        """Largest row of the joints at each node."""
        return np.abs(self.chain.rows(self.q)).max(axis=1)


def hat(q: Numbers, p: Numbers) -> Numbers:
    """Ghat(q) p = y/2 of directors and momenta (..., 3, 3)."""
    products = np.einsum("...ka,...la->...kl", q, p)
    return 0.5 * np.stack([products[..., j, i] - products[..., i, j] for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1)


def hat_transposed(q: Numbers, a: Numbers) -> Numbers:
    """Ghat(q)^T a."""
    return 0.5 * np.cross(q, a[..., None], axis=-2)


PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def condition_matrix(q: Numbers) -> Numbers:
    """C(q), (..., 6, 3, 3): rows of q_k . p_k and q_k . p_l + q_l . p_k."""
    c = np.zeros((*q.shape[:-2], 6, 3, 3), dtype=q.dtype)
    for row, (k, l) in enumerate(PAIRS):
        c[..., row, k, :] = q[..., l, :]
        c[..., row, l, :] = q[..., k, :]
    return c


def conditions(q: Numbers, p: Numbers) -> Numbers:
    """C(q) p."""
    return np.einsum("...rka,...ka->...r", condition_matrix(q), p)


class Chain:
    """A hanging chain of four boxes, as in `catena.problems.hanging_chain`."""

    def __init__(self, joint: str) -> None:
        problem = hanging_chain(joint)
        system = problem.system
        self.hinged, self.n = joint == "revolute", len(system.bodies)
        self.mass, self.moments = float(system.bodies[0].mass), np.array(system.bodies[0].moments)
        self.gravity = np.array(system.gravity)
        self.top, self.bottom = np.array((0.0, 0.0, 1.5)), np.array((0.0, 0.0, -1.5))
        self.per_joint = 5 if self.hinged else 3
        directors = np.swapaxes(rotations.to_matrix(problem.start.orientation), 1, 2)
        self.start = np.concatenate([problem.start.position[:, None], directors], axis=1)

    @property
    def unknowns(self) -> int:
        """Number of unknowns of a step: q, p and a multiplier for each row."""
        return (24 + self.per_joint) * self.n

    def rows(self, q: Numbers) -> Numbers:
        """Phi(q): equality of the points of each joint, for a hinge also e1 of the parent normal to e2 and e3 of the
        child."""
        own = q[..., 0, :] + np.einsum("...ka,k->...a", q[..., 1:, :], self.top)
        foot = q[..., 0, :] + np.einsum("...ka,k->...a", q[..., 1:, :], self.bottom)
        hung = np.concatenate([np.zeros_like(foot[..., :1, :]), foot[..., :-1, :]], axis=-2)
        parts = [own - hung]
        if self.hinged:
            axis = self._parent_axes(q)
            parts.append(np.stack([(axis * q[..., k, :]).sum(axis=-1) for k in (2, 3)], axis=-1))
        together = np.concatenate(parts, axis=-1)
        return together.reshape(*together.shape[:-2], -1)

    def _parent_axes(self, q: Numbers) -> Numbers:
        ground = np.broadcast_to(np.eye(3)[0], q[..., :1, 1, :].shape)
        return np.concatenate([ground, q[..., :-1, 1, :]], axis=-2)

    def push(self, q: Numbers, multipliers: Numbers) -> Numbers:
        """Phi_q(q)^T L on (r, q1, q2, q3) of each body."""
        lam = multipliers.reshape(*multipliers.shape[:-1], self.n, self.per_joint)
        force = lam[..., :3]
        out = np.zeros_like(q)
        arm = np.concatenate([[1.0], self.top])
        out += arm[:, None] * force[..., None, :]
        arm = np.concatenate([[1.0], self.bottom])
        out[..., :-1, :, :] -= arm[:, None] * force[..., 1:, None, :]
        if self.hinged:
            axis = self._parent_axes(q)
            for number, k in enumerate((2, 3)):
                weight = lam[..., 3 + number, None]
                out[..., k, :] += weight * axis
                out[..., :-1, 1, :] += weight[..., 1:, :] * q[..., 1:, k, :]
        return out

    def residual(self, x: Numbers, q0: Array, p0: Array, h: float, *, keep_hidden: bool) -> Numbers:
        """The residual of the equations for the unknowns x (..., unknowns): changes of q and p, then L."""
        size = 12 * self.n
        shape = (*x.shape[:-1], self.n, 4, 3)
        dq, dp = x[..., :size].reshape(shape), x[..., size : 2 * size].reshape(shape)
        q, p = q0 + 0.5 * dq, p0 + 0.5 * dp  # the means
        directors, momenta = q[..., 1:, :], p[..., 1:, :]
        mean = 0.5 * (hat(q0[:, 1:], p0[:, 1:]) + hat(q0[:, 1:] + dq[..., 1:, :], p0[:, 1:] + dp[..., 1:, :]))
        rate = 4.0 * mean / self.moments  # that of Ghat(p) q has the opposite sign
        force = self.push(q, x[..., 2 * size :])
        c = condition_matrix(directors)
        gram = np.einsum("...rka,...ska->...rs", c, c)
        inside = -np.einsum("...rka,...ka->...r", c, force[..., 1:, :])
        if keep_hidden:
            inside += h * np.einsum("...rka,...ka->...r", c, hat_transposed(momenta, rate))
            inside += h * conditions(momenta, hat_transposed(directors, rate))
        held = np.einsum("...rka,...r->...ka", c, np.linalg.solve(gram, inside[..., None])[..., 0])
        moved = dq[..., 0, :] - h * p[..., 0, :] / self.mass
        pushed = dp[..., 0, :] + force[..., 0, :] - h * self.mass * self.gravity
        turned = dq[..., 1:, :] - h * hat_transposed(directors, rate)
        twisted = dp[..., 1:, :] - h * hat_transposed(momenta, rate) + force[..., 1:, :] + held
        first = np.concatenate([moved[..., None, :], turned], axis=-2).reshape(*x.shape[:-1], -1)
        second = np.concatenate([pushed[..., None, :], twisted], axis=-2).reshape(*x.shape[:-1], -1)
        return np.concatenate([first, second, self.rows(q0 + dq)], axis=-1)

    def run(self, h: float, steps: int, *, keep_hidden: bool = True) -> Path:
        """A run from rest; without `keep_hidden` the term g0, which ensures C(q) p = 0, is omitted."""
        q, p = self.start, np.zeros_like(self.start)
        x, most = np.zeros(self.unknowns), 0
        path = [(q, p)]
        size = 12 * self.n
        for _ in range(steps):
            x, corrections = self._solve(x, q, p, h, keep_hidden=keep_hidden)
            q, p = q + x[:size].reshape(q.shape), p + x[size : 2 * size].reshape(p.shape)
            path.append((q, p))
            most = max(most, corrections)
        return Path(self, np.array([q for q, _ in path]), np.array([p for _, p in path]), most)

    def jacobian(self, x: Array, q: Array, p: Array, h: float, *, keep_hidden: bool) -> Array:
        """Derivative of the residual, to round-off."""
        moved = x + 1j * ALONG * np.eye(self.unknowns)
        return self.residual(moved, q, p, h, keep_hidden=keep_hidden).imag.T / ALONG

    def _solve(self, x: Array, q: Array, p: Array, h: float, *, keep_hidden: bool) -> tuple[Array, int]:
        """The unknowns of a step by Newton's method, and the number of corrections."""
        before = np.inf
        for number in range(1, MOST + 1):
            missing = self.residual(x, q, p, h, keep_hidden=keep_hidden)
            change = np.linalg.solve(self.jacobian(x, q, p, h, keep_hidden=keep_hidden), -missing)
            x = x + change
            size = float(np.abs(change[: 24 * self.n]).max() / np.abs(x[: 24 * self.n]).max())
            if size <= CONVERGED or (before < 1e-10 and size >= before):
                return x, number
            before = size
        raise ArithmeticError(f"no convergence in {MOST} corrections")
