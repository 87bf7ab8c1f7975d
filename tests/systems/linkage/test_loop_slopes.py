"""The derivative of the field of closed loops against its differences in 50 digits, and linear equations with it."""

from __future__ import annotations

from typing import Any
from unittest import mock

import mpmath
import numpy as np
import pytest
from mpmath import mp

import catena as ct
import harness
from catena.kernels import views
from catena.systems.linkage.joint_form import charts, force_slopes, loop_newton, loop_slopes
from catena.systems.linkage.joint_form.form import pack_state
from catena.systems.linkage.joint_form.layout import layout_of
from catena.systems.linkage.joint_form.motion import Data, Link
from catena.systems.linkage.layout import Joint
from catena.systems.linkage.linkage import Linkage
from kernels import Kernel
from linkages import closed_by, four_bars

KINDS = ("Spherical", "Screw", "Revolute", "Universal", "Prismatic", "Cylindrical", "Planar", "Rigid")
RINGS = ("bennett", "bricard", "six_ring")
POINTS = ((0.1, 0.4, -0.3), (-0.3, 0.2, 0.1))
WELL = ("k*(1 - cos(2*theta - 1)) + theta**4", {"k": 20.0})
FORCES: dict[str, list[Any]] = {
    "torsion that closes": [ct.Torsion(3, *WELL, damping=1.5)],
    "damper": [ct.Damper(0, 2, POINTS, c=4.0), ct.Damper(1, -1, POINTS, c=0.3)],
    "torsion in the tree": [ct.Torsion(1, *WELL, damping=1.5)],
    "spring": [ct.Spring(0, 2, POINTS, k=40.0, length=0.6), ct.Spring(-1, 1, POINTS, k=3.0)],
    "load": [ct.Load(1, (0.2, -0.3, 0.1), ("2*sin(3*t)", 1.0, -2.0), (0.3, "t", 0.1))],
}


def slow_but(count: int, names: Any) -> list[Any]:
    """The first few, and the others for long studies."""
    return [pytest.param(name, marks=[] if k < count else pytest.mark.slow) for k, name in enumerate(names)]


def closed(kind: str) -> tuple[Linkage, np.ndarray]:
    """Four bodies on ball joints, free in space, and a joint that closes the row: some turns of balls are solved for."""
    linkage, start = closed_by(getattr(ct, kind))
    return linkage, pack_state(linkage, start)


def bars(forces: Any = ()) -> tuple[Linkage, np.ndarray]:
    """A plane four-bar linkage on its way, with forces."""
    plain, start = four_bars((2.0, 1.5, 1.2, 1.6), 1.2, 1.0)
    linkage = Linkage(plain.bodies, plain.joints, forces, gravity=(0.3, -0.2, -9.81), form="joint")
    return linkage, pack_state(linkage, start)


def factor_arrays(linkage: Linkage) -> Any:
    """What Newton's method keeps, for one factor."""
    view = linkage.view("field")
    assert view is not None and view.factors is not None
    return view.factors(1)


class Slopes:
    """A linkage with its loops closed to 50 digits, and the kernels that find the derivative of its field there."""

    def __init__(self, linkage: Linkage, z: np.ndarray) -> None:
        self.linkage, self.arrays = linkage, factor_arrays(linkage)
        self.layout = layout_of(linkage)
        close = self.kernel(charts.close_loops)
        self.z = harness.numbers(z)
        for place in self.layout.images.values():
            self.z[place : place + 4] /= mpmath.sqrt(self.z[place : place + 4] @ self.z[place : place + 4])
        out = self.z.copy()
        assert close.function(self.z, out, close.par) == views.OK
        self.z = out

    def kernel(self, function: Any) -> Kernel:
        """A kernel in 50 digits, all axes of length 1 and at right angles to 50 digits, too."""
        # where loops are closed to 1e-14 the field is no function of 50 digits
        with mock.patch.multiple(charts, ROUNDED=1e-48, NEAR=1e-30):
            made = Kernel(self.linkage, "field", function, precise=True, arrays=self.arrays)
        for axis in made.par.tree_data[:, Data.AXIS : Data.AXIS + 3]:
            length = mpmath.sqrt(axis @ axis)
            axis /= length if length > 0 else 1
        for data in made.par.joint:
            first, second, third = data[Joint.TRIAD : Joint.TRIAD + 9].reshape(3, 3)
            first /= mpmath.sqrt(first @ first)
            second -= (first @ second) * first
            second /= mpmath.sqrt(second @ second)
            third[:] = np.cross(first, second)
        return made

    @property
    def variables(self) -> list[int]:
        """Coordinates and rates of the joints in z: all but constants, time and work."""
        found = []
        for link, node in zip(self.layout.links, self.layout.nodes, strict=True):
            found += [link[Link.COORDINATE] + k for k in range(node.coordinates)]
            found += [link[Link.RATE] + k for k in range(node.rates)]
        return found

    def direction(self) -> np.ndarray:
        """A change of all variables, with nothing special about it."""
        v = harness.zeros(len(self.z))
        for k, place in enumerate(self.variables):
            v[place] = mpmath.cos(mp.mpf(k) ** mp.mpf("1.3"))
        return v

    def by_kernels(self, v: np.ndarray) -> np.ndarray:
        """J v = D (L v)."""
        linearise, take = self.kernel(views.linearise), self.kernel(loop_newton.take_unknowns)
        linearise.function(self.z, linearise.par)
        columns = linearise.par.newton_columns
        y = harness.zeros(len(columns))
        count = take.function(v, linearise.par, y)
        return (y[:count] @ columns[:count])[self.variables]

    def by_differences(self, v: np.ndarray) -> np.ndarray:
        """J v by a central difference of the field over 1e-16."""
        field, gap = self.kernel(views.field), mp.mpf(10) ** -16
        ends = []
        for sign in (1, -1):
            out = harness.zeros(len(self.z))
            field.function(self.z + sign * gap * v, field.par, out)
            ends.append(out[self.variables])
        return (ends[0] - ends[1]) / (2 * gap)


def slope_error(linkage: Linkage, z: np.ndarray) -> float:
    """Largest difference of J v from that of differences, relative to the largest of its elements."""
    with mpmath.workdps(harness.DIGITS):
        slopes = Slopes(linkage, z)
        v = slopes.direction()
        expected = slopes.by_differences(v)
        return float(harness.largest(slopes.by_kernels(v) - expected) / harness.largest(expected))


@pytest.mark.parametrize("kind", slow_but(2, KINDS))
def test_the_derivative_is_that_of_the_field_whatever_joint_closes_the_loop(kind: str) -> None:
    """The gap 1e-16 leaves its square times third derivatives: measured 3e-32 to 9e-31."""
    assert slope_error(*closed(kind)) < 1e-28


@pytest.mark.parametrize("name", slow_but(1, RINGS))
def test_the_derivative_is_that_of_the_field_of_overconstrained_rings(name: str) -> None:
    """Rows that are left out because they follow from others stay left out."""
    problem = getattr(ct.problems, name)()
    assert slope_error(problem.system, pack_state(problem.system, problem.start)) < 1e-28


@pytest.mark.parametrize("name", slow_but(2, FORCES))
def test_the_derivative_is_that_of_the_field_for_every_force(name: str) -> None:
    assert slope_error(*bars(FORCES[name])) < 1e-28


# One term dropped ---------------------------------------------------------------------------------------------------------


def still_angle(z, condition, par, out):
    """`change_angle` that forgets that directions turn."""


def still_arms(condition, par, out):
    """`change_gap` that forgets that the arms turn."""


def still_sweep(u, o, of_n, gap, out):
    """`change_sweep` that forgets the gap."""


def still_pitch(pitch, u, o, w, of_n, of_m, out):
    """`change_pitch` that forgets the screw."""


def still_twist(par):
    """`change_twists` that forgets the torsion."""


def unstretched(at, base, out):
    """`write_stretch` that forgets that a longer quaternion turns faster."""
    for k in range(out.shape[0]):
        out[k] = 0.0


@pytest.mark.parametrize(
    ("module", "name", "twin", "made"),
    [
        (loop_slopes, "change_gap", still_arms, "bars"),
        (force_slopes, "change_twists", still_twist, "torsion that closes"),
        (loop_slopes, "change_pitch", still_pitch, "Screw"),
        pytest.param(loop_slopes, "change_angle", still_angle, "Screw", marks=pytest.mark.slow),
        pytest.param(loop_slopes, "change_sweep", still_sweep, "Screw", marks=pytest.mark.slow),
        pytest.param(loop_newton, "write_stretch", unstretched, "Screw", marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "__name__", value).split(".")[-1],
)
def test_a_term_that_is_dropped_is_seen(monkeypatch, module: Any, name: str, twin: Any, made: str) -> None:
    monkeypatch.setattr(module, name, twin)
    assert slope_error(*(closed(made) if made in KINDS else bars(FORCES.get(made, ())))) > 1e-5


# Linear equations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.3, 0.2 - 0.5j])
@pytest.mark.parametrize("kind", ["Spherical", "Universal"])
def test_linear_equations_are_solved_by_the_unknowns_of_the_chart(kind: str, h: complex) -> None:
    """x - h J x is the right-hand side again; what nothing depends on keeps it."""
    linkage, z = closed(kind)
    arrays = factor_arrays(linkage)
    slots = (views.linearise, views.factorise_shifted, views.solve_shifted, loop_newton.take_unknowns)
    linearise, factorise, solve, take = (Kernel(linkage, "field", slot, arrays=arrays) for slot in slots)
    linearise.function(z, linearise.par)
    assert factorise.function(0, h, linearise.par) == views.OK
    right = np.cos(np.arange(len(z)) ** 1.3) + 1j * np.sin(np.arange(len(z)) ** 1.7)
    x, columns = right.copy(), linearise.par.newton_columns
    solve.function(0, h, x, linearise.par)
    y = np.zeros(len(columns), dtype=complex)
    count = take.function(x, linearise.par, y)
    assert np.abs(x - h * (y[:count] @ columns[:count]) - right).max() < 1e-12 * np.abs(x).max()
