"""Derivatives of the joint form of a linkage against differences in 50 digits, and linear equations with them."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import catena as ct
import harness
from catena.geometry import rotations
from catena.geometry.vectors import add, cross
from catena.kernels import views
from catena.systems.linkage.joint_form import force_slopes, slopes
from catena.systems.linkage.joint_form.form import pack_state
from catena.systems.linkage.joint_form.layout import layout_of
from catena.systems.linkage.joint_form.motion import BALL, Data, Link
from catena.systems.linkage.linkage import Linkage
from kernels import Kernel
from linkages import random_tree

FLOATING = None
TREES: dict[str, tuple[list[Any], list[int]]] = {
    "floating": ([FLOATING, ct.Revolute, ct.Spherical], [-2, 0, 1]),
    "hinges": ([ct.Revolute, ct.Revolute, ct.Revolute], [-1, 0, 0]),
    "balls": ([ct.Spherical, ct.Spherical, ct.Spherical], [-1, 0, 0]),
    "slides": ([ct.Prismatic, ct.Cylindrical, ct.Planar], [-1, 0, 1]),
    "the rest": ([ct.Universal, ct.Screw, ct.Rigid, ct.Revolute], [-1, 0, 1, 2]),
}
POINTS = ((0.1, 0.4, -0.3), (-0.3, 0.2, 0.1))
FORCES: dict[str, list[Any]] = {
    "spring": [ct.Spring(0, 2, POINTS, k=40.0, length=0.6), ct.Spring(-1, 1, POINTS, k=3.0)],
    "damper": [ct.Damper(0, 2, POINTS, c=4.0), ct.Damper(1, -1, POINTS, c=0.3)],
    "pair": [ct.SitePair(0, 2, POINTS, potential=ct.Morse(5.0, 0.7, 1.1)), ct.SitePair(-1, 1, POINTS, ct.Yukawa(2.0, 1.5))],
    "load": [ct.Load(1, (0.2, -0.3, 0.1), ("2*sin(3*t)", 1.0, -2.0), (0.3, "t", 0.1)), ct.Load(1, force=(0, 0, 3))],
    "torsion": [ct.Torsion(1, "k*(1 - cos(2*theta - 1)) + theta**4", {"k": 20.0}, damping=1.5)],
}  # fmt: skip
HINGED = ([FLOATING, ct.Revolute, ct.Cylindrical], [-2, 0, 1])


def arrays_of(linkage: Linkage, modes: int = 1) -> Any:
    view = linkage.view("field")
    assert view is not None and view.factors is not None
    return view.factors(modes)


def places(linkage: Linkage) -> list[tuple[int, int, int]]:
    """Place of the coordinates of each node that moves, place of its rates, number of its rates."""
    layout = layout_of(linkage)
    moving = [(layout.links[k], node.rates) for k, node in enumerate(layout.nodes) if node.rates]
    return [(int(link[Link.COORDINATE]), int(link[Link.RATE]), count) for link, count in moving]


def turns_by_coordinates(linkage: Linkage, z: np.ndarray) -> np.ndarray:
    """(rates, variables): turns and shifts of the joints by their coordinates; a ball turns by 2 Im(q^-1 dq) about its axes."""
    row = 0
    count = sum(rates for _, _, rates in places(linkage))
    made = np.full((count, len(z)), mp.mpf(0), dtype=object)
    for (place, _, rates), ball in zip(places(linkage), balls(linkage), strict=True):
        turns = np.eye(rates) if not ball else quaternion_turns(*z[place : place + 4])
        made[row : row + rates, place : place + turns.shape[1]] = turns
        row += rates
    return made


def balls(linkage: Linkage) -> list[bool]:
    return [node.kind == BALL for node in layout_of(linkage).nodes if node.rates]


def quaternion_turns(a: Any, b: Any, c: Any, d: Any) -> np.ndarray:
    rows = np.array([(-b, a, d, -c), (-c, -d, a, b), (-d, c, -b, a)], dtype=object)
    return 2 * rows / (a * a + b * b + c * c + d * d)


def make_units(axes: np.ndarray) -> None:
    """Axes are unit vectors to 16 digits; a turn about one that is not is not quite a rotation by that angle."""
    for axis in axes:
        length = mpmath.sqrt(axis @ axis)
        if length > 0:
            axis /= length


def moving_variables(linkage: Linkage) -> tuple[list[int], list[int]]:
    """Coordinates and rates of the joints in z: all but constants, time and work."""
    rates = [rate + k for _, rate, count in places(linkage) for k in range(count)]
    widths = [4 if ball else count for ball, (_, _, count) in zip(balls(linkage), places(linkage), strict=True)]
    return [at + k for width, (at, _, _) in zip(widths, places(linkage), strict=True) for k in range(width)], rates


def field_slopes(linkage: Linkage, z: np.ndarray) -> np.ndarray:
    """The derivative of the field by what moves, in the order of `moving_variables`, by central differences of 1e-16 in 50 digits."""
    field = Kernel(linkage, "field", views.field, precise=True)
    make_units(field.par.tree_data[:, Data.AXIS : Data.AXIS + 3])
    gap, columns = mp.mpf(10) ** -16, []
    coordinates, rates = moving_variables(linkage)
    variables = [*coordinates, *rates]
    for k in variables:
        both = []
        for sign in (1, -1):
            moved, out = z.copy(), harness.zeros(len(z))
            moved[k] += sign * gap
            field.function(moved, field.par, out)
            both.append(out[variables])
        columns.append((both[0] - both[1]) / (2 * gap))
    return np.array(columns).T


def slope_error(linkage: Linkage, start: np.ndarray, **options: Any) -> float:
    """Largest difference of a derivative of udot from that of the field, relative to the largest of them."""
    with mpmath.workdps(harness.DIGITS):
        z = harness.numbers(start)
        find = Kernel(linkage, "field", slopes.find_slopes, precise=True, arrays=arrays_of(linkage), **options)
        make_units(find.par.tree_data[:, Data.AXIS : Data.AXIS + 3])
        find.function(z, find.par)
        by_positions, by_rates = find.par.newton_slopes
        coordinates, _ = moving_variables(linkage)
        found = np.hstack([(by_positions @ turns_by_coordinates(linkage, z))[:, coordinates], by_rates])
        expected = field_slopes(linkage, z)[len(coordinates) :]
        return float(harness.largest((found - expected).ravel()) / harness.largest(expected.ravel()))


@pytest.mark.parametrize("name", TREES)
def test_derivatives_are_those_of_the_recursion_for_every_joint(name: str) -> None:
    """The gap 1e-16 leaves its square times third derivatives; quaternions are off |q| = 1, too."""
    linkage, z, _ = random_tree(*TREES[name], 3)
    z[[place + k for place, _, _ in places(linkage) for k in range(3)]] *= 1.1
    assert slope_error(linkage, z) < 1e-28


@pytest.mark.parametrize("name", FORCES)
def test_derivatives_are_those_of_the_recursion_for_every_force(name: str) -> None:
    linkage, z, _ = random_tree(*HINGED, 4, forces=FORCES[name])
    assert slope_error(linkage, z) < 1e-28


def test_a_line_on_ball_joints_has_no_derivatives_by_its_spin() -> None:
    """Its rate about itself does not exist, so nothing answers to it; the other rates have the derivatives of the field."""
    rod = ct.Body.from_particles([[0, 0, -0.4], [0, 0, 0.4]])
    joints = [ct.Spherical(-1, 0, ((0, 0, 0), (0, 0, 0.4))), ct.Spherical(0, 1, ((0, 0, -0.4), (0, 0, 0.7)))]
    linkage = Linkage([rod, rod], joints)
    turns = rotations.normalise(np.array([(0.9, 0.3, -0.2, 0.24), (0.7, -0.5, 0.4, 0.3)]))
    z = pack_state(linkage, linkage.start(orientation=turns, angular_velocity=[(0.7, -0.5, 0), (-0.8, 1.1, 0)]))
    assert slope_error(linkage, z) < 1e-28


# One term dropped ---------------------------------------------------------------------------------------------------------


def swing_without_its_arm(w, alpha, x, dw, dalpha, dx):
    """`swing` that forgets that the arm turns."""
    speed = cross(w, x)
    change = cross(dw, x)
    return change, add(cross(dalpha, x), add(cross(dw, speed), cross(w, change)))


def joint_with_a_stiff_arm(i, par):
    """`change_joint` that forgets that what the joint carries is handed on by another arm."""


def untouched_load(z, par):
    """`note_loads` that forgets the loads."""


def doubled_curvature(theta, which, par):
    return 2.0 * par.torsion[0] * 4.0 * math.cos(2.0 * theta - 1.0)


@pytest.mark.parametrize(
    ("module", "name", "twin", "force"),
    [
        (slopes, "swing", swing_without_its_arm, "spring"),
        pytest.param(slopes, "change_joint", joint_with_a_stiff_arm, "spring", marks=pytest.mark.slow),
        pytest.param(force_slopes, "note_loads", untouched_load, "load", marks=pytest.mark.slow),
        pytest.param(force_slopes, "change_all_forces", slopes.change_forces, "spring", marks=pytest.mark.slow),
        pytest.param(force_slopes, "change_all_forces", slopes.change_forces, "damper", marks=pytest.mark.slow),
        (force_slopes, "torsion_curvature", doubled_curvature, "torsion"),
    ],
    ids=lambda value: getattr(value, "__name__", value).split(".")[-1],
)
def test_a_term_that_is_dropped_is_seen(monkeypatch, module: Any, name: str, twin: Any, force: str) -> None:
    monkeypatch.setattr(module, name, twin)
    linkage, z, _ = random_tree(*HINGED, 4, forces=FORCES[force])
    assert slope_error(linkage, z) > 1e-4


# Linear equations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [pytest.param(0.3, marks=pytest.mark.slow), 0.2 - 0.5j])
@pytest.mark.parametrize("name", TREES)
def test_linear_equations_are_solved_for_all_that_moves(name: str, h: complex) -> None:
    """(1 - h J) x = r by as many unknowns as there are rates, against numpy with the J of differences; constants have no residual."""
    linkage, z, _ = random_tree(*TREES[name], 3)
    with mpmath.workdps(harness.DIGITS):
        j = field_slopes(linkage, harness.numbers(z)).astype(float)
    coordinates, rates = moving_variables(linkage)
    variables = [*coordinates, *rates]
    right = np.cos(np.arange(len(variables)) ** 1.3) + 1j * np.sin(np.arange(len(variables)) ** 1.7)
    x = np.zeros(len(z), dtype=complex)
    x[variables] = right
    linearise = Kernel(linkage, "field", views.linearise, arrays=arrays_of(linkage))
    linearise.function(z, linearise.par)
    factorise = Kernel(linkage, "field", views.factorise_shifted, arrays=arrays_of(linkage))
    assert factorise.function(0, h, linearise.par) == 0
    Kernel(linkage, "field", views.solve_shifted, arrays=arrays_of(linkage)).function(0, h, x, linearise.par)
    expected = np.linalg.solve(np.eye(len(j)) - h * j, right)
    assert np.abs(x[variables] - expected).max() < 1e-12 * np.abs(expected).max()
    assert np.count_nonzero(x) == len(variables)
