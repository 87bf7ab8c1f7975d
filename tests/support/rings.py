"""One-degree motions of hinged rings by quadrature: an independent reference for loops, which uses only data of the
library; and a broken twin.

The bodies of a ring follow each other from a base, the ground or the first body, each rotated against the previous one
about a hinge, as a product of rotations about lines. Angles that close the ring are found by Gauss-Newton on the point
and the axis of the last hinge. With one angle theta as coordinate T = M(theta) theta'^2 / 2, and energy conservation
gives t = int sqrt(M / (2 (E - U))) dtheta. A ring that is free in space without momentum has the smallest T over all
added rigid motions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import catena as ct
from catena.geometry import rotations
from catena.kernels import views
from catena.kernels.views import View
from catena.systems.linkage.joint_form import charts
from catena.systems.linkage.joint_form.kernels import articulated_field
from catena.systems.linkage.linkage import Linkage

Array = np.ndarray


def field_with_the_rank_decided_anew(z, par, out):
    """Multipliers for all rows that look independent at z, on the surface and off it; nothing projects z back."""
    charts.write_slopes(z, par)
    rank, _, _ = charts.choose_chart(par)
    charts.write_chart(rank, z, par)
    charts.read_chart(z, par)
    articulated_field(z, par, out)


class RankAnew(Linkage):
    """A linkage with a deliberate error: its energy jumps when rows that depend on others begin to contradict them."""

    def view(self, name: str) -> View | None:
        view = super().view(name)
        if view is not None and name == "field":
            del view.fills[views.step]  # type: ignore[attr-defined]
            view.fills[views.field] = field_with_the_rank_decided_anew  # type: ignore[index]
        return view


@dataclass
class Ring:
    """A hinged ring at its start; joint k connects body k - 1 (or the base) and the next, the last one closes the ring.

    Attributes
    ----------
    linkage, start : the ring, all bodies unrotated at the start
    angles : of all hinges but the last, where the ring was last closed
    """

    linkage: ct.Linkage
    start: ct.State
    angles: Array = field(init=False)

    def __post_init__(self) -> None:
        joints = self.linkage.joints
        self.free = all(joint.parent >= 0 for joint in joints)
        self.axes = (
            np.array([joint.axis for joint in joints]) / np.linalg.norm([j.axis for j in joints], axis=1)[:, None]
        )
        self.points = np.array([self._at_start(joint.parent) + np.array(joint.at[0]) for joint in joints])
        self.angles = np.zeros(len(joints) - 1)

    def _at_start(self, body: int) -> Array:
        return np.zeros(3) if body < 0 else self.start.position[body]

    def frames(self, angles: Array) -> list[tuple[Array, Array]]:
        """Q and r with x = Q X + r for points X of the start, of each body after a hinge."""
        q, r, made = np.eye(3), np.zeros(3), []
        for axis, point, angle in zip(self.axes, self.points, angles, strict=False):
            turn = rotations.to_matrix(np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)]))
            q, r = q @ turn, r + q @ (point - turn @ point)
            made.append((q, r))
        return made

    def columns(self, angles: Array) -> tuple[Array, Array]:
        """Axis and a point of each hinge but the last, in space; turning it moves everything after it."""
        before = [(np.eye(3), np.zeros(3)), *self.frames(angles)[:-1]]
        lines = [(q @ u, q @ p + r) for (q, r), u, p in zip(before, self.axes, self.points, strict=False)]
        return np.array([u for u, _ in lines]), np.array([p for _, p in lines])

    def close(self, angle: float) -> Array:
        """The angles near the last ones that close the ring for a given first angle; also their rates by the first."""
        x = self.angles.copy()
        x[0] = angle
        for _ in range(12):
            q, r = self.frames(x)[-1]
            tip, axis = q @ self.points[-1] + r, q @ self.axes[-1]
            off = np.concatenate([tip - self.points[-1], axis - self.axes[-1]])
            u, p = self.columns(x)
            slopes = np.concatenate([np.cross(u, tip - p), np.cross(u, axis)], axis=1).T
            change = np.linalg.lstsq(slopes[:, 1:], -off, rcond=1e-9)[0]
            x[1:] += change
            if np.abs(change).max() < 3e-16:
                break
        assert np.abs(off).max() < 1e-14, off
        self.angles = x
        rates = np.linalg.svd(slopes)[2][-1]
        return np.asarray(rates / rates[0])

    def mass_and_potential(self, angle: float) -> tuple[float, float]:
        """M and U."""
        rates = self.close(angle)
        u, p = self.columns(self.angles)
        frames = self.frames(self.angles)
        bodies = list(range(self.linkage.count))
        if self.free:
            frames, u = [(np.eye(3), np.zeros(3)), *frames], np.concatenate([np.zeros((1, 3)), u])
            p, rates = np.concatenate([np.zeros((1, 3)), p]), np.concatenate([[0.0], rates])
        total, mixed, whole, potential = 0.0, np.zeros(6), np.zeros((6, 6)), 0.0
        for j in bodies:
            q, r = frames[j]
            body, at = self.linkage.bodies[j], q @ self.start.position[j] + r
            inertia = q @ body.tensor @ q.T
            turning = rates[: j + 1] @ u[: j + 1]
            moving = rates[: j + 1] @ np.cross(u[: j + 1], at - p[: j + 1])
            total += body.mass * moving @ moving + turning @ inertia @ turning
            potential -= body.mass * float(self.linkage.gravity @ at)
            carried = np.cross(np.eye(3), at)  # rows: e_k x r
            mixed += np.concatenate([body.mass * moving, body.mass * carried @ moving + inertia @ turning])
            whole[:3, :3] += body.mass * np.eye(3)
            whole[3:, :3] += body.mass * carried
            whole[3:, 3:] += body.mass * carried @ carried.T + inertia
        whole[:3, 3:] = whole[3:, :3].T
        if self.free:
            total -= mixed @ np.linalg.solve(whole, mixed)
        return total, potential

    def energy(self) -> float:
        """The energy of the start."""
        kinetic = 0.0
        for body, p, y in zip(self.linkage.bodies, self.start.momentum, self.start.angular_momentum, strict=True):
            kinetic += 0.5 * (p @ p / body.mass + y @ np.linalg.solve(body.tensor, y))
        return kinetic + self.mass_and_potential(0.0)[1]

    def time_to(self, angle: float, *, panels: int = 4) -> float:
        """Time in which the first angle goes from 0 to `angle`, by panels of 16 Gauss-Legendre nodes."""
        self.angles = np.zeros_like(self.angles)
        energy, total = self.energy(), 0.0
        nodes, weights = np.polynomial.legendre.leggauss(16)
        for k in range(panels):
            for x, w in zip(nodes, weights, strict=True):
                mass, potential = self.mass_and_potential(angle * (k + 0.5 + 0.5 * x) / panels)
                total += w * np.sqrt(0.5 * mass / (energy - potential))
        return float(total * abs(angle) / (2 * panels))
