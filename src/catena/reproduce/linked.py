"""Linked rigid bodies by Gauss's principle: the molecule of four particles, a misprint, and how the equations are conditioned.

Subunits {1, 2, 3} and {2, 3, 4} turn about the axis from 2 to 3; rates u = (velocity of particle 1, angular velocity of the first subunit,
rate about the axis). The published matrix C of v = C u has r12 where the last row needs r14: the rotation of the first
subunit carries particle 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.least_squares import least_squares
from ..engine.build import build
from ..geometry import rotations
from ..methods.runge_kutta.implicit import Gauss
from ..output.style import legend_above, line_style, plain_log_axis
from ..problems.linkages import hanging_chain, molecule
from ..systems.base import Array, State
from ..systems.linkage.joint_form.form import unpack_state
from ..systems.linkage.joint_form.layout import layout_of
from ..systems.linkage.linkage import Linkage
from .report import Folder, Report, Row, compare, small
from .stepping import driver_of

if TYPE_CHECKING:
    from ..engine.build import Program

NAME = "linked"
ABOUT = "linked rigid bodies: a molecule of four particles, the misprint in its matrix, conditioning of long chains [kneller1994]"
SOURCE = ("Kneller and Hinsen [kneller1994]", "its example, a molecule of four particles")

MASSES = np.array([15.0, 12.0, 13.0, 16.0])
ATOMS = np.array([(-0.7, 1.2, 0.0), (0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.1, -0.5, 1.0)])
RATES = np.array([0.1, -0.2, 0.3, 0.4, 0.7, -0.5, 1.1])
STIFFNESS, LENGTH = 30.0, 3.0
FOURTH = {
    1.0: (0.853243485122748, -2.50206571495421, -2.10026328692855),
    2.0: (-0.692040031934206, -2.35132149778419, -3.56602316634235),
}
ANGLE, ENERGY = 2.29753771445090, 185.323011788213
STRETCHING = 1.35  # d|r34|^2/dt with the printed matrix, three digits
DT = 0.05
DIGITS = 1e-13
LENGTHS, QUICK_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128), (1, 2, 4, 8, 16)
NOTES = (
    "References: Gauss's principle and four particles with five distances, both by extrapolation in 80 bits; they agree to 6e-16.",
    "Conditioning: hanging chains of boxes at their start, rates in radians and metres per second.",
)


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """The molecule to t = 2, and chains of up to 128 boxes; t = 1 and 16 boxes if `quick`."""
    chains = {joint: _conditions(joint, QUICK_LENGTHS if quick else LENGTHS) for joint in ("revolute", "spherical")}
    folder = Folder(out)
    _draw(folder, chains)
    rows = [*_molecule_rows(1.0 if quick else 2.0), *_matrix_rows(), *_condition_rows(chains)]
    return folder.report(NAME, "Linked rigid bodies by Gauss's principle", rows, notes=NOTES)


def particle_matrix(r: Array, axis: Array, *, printed: bool) -> Array:
    """C (12, 7) of the four particles; with the block as printed, or the correct one."""
    c = np.zeros((4, 3, 7))
    for k in range(4):
        c[k, :, :3] = np.eye(3)
        arm = r[1 if printed and k == 3 else k] - r[0]
        c[k, :, 3:6] = np.cross(np.eye(3), arm).T  # e x arm
    c[3, :, 6] = np.cross(axis, r[3] - r[1])
    return c.reshape(12, 7)


def rates_by_least_squares(r: Array, axis: Array, u: Array) -> Array:
    """udot = argmin |M^(1/2) (C udot + Cdot u - a)|."""
    c = particle_matrix(r, axis, printed=False)
    turn, other = u[3:6], u[3:6] + axis * u[6]
    bias = np.array([np.cross(turn, np.cross(turn, x - r[0])) for x in r])
    arm = r[3] - r[1]
    bias[3] = bias[1] + np.cross(other, np.cross(other, arm)) + np.cross(np.cross(turn, axis) * u[6], arm)
    d = r[3] - r[0]
    pull = STIFFNESS * (np.linalg.norm(d) - LENGTH) * d / np.linalg.norm(d)
    force = np.array([pull, np.zeros(3), np.zeros(3), -pull])
    root = np.sqrt(np.repeat(MASSES, 3))
    right = root * (force / MASSES[:, None] - bias).ravel()
    return np.linalg.lstsq(root[:, None] * c, right, rcond=None)[0]


def _fourth(system: Linkage, state: State) -> Array:
    return state.position[1] + rotations.rotate(state.orientation[1], system.bodies[1].particles.positions[2])


def _molecule_rows(t_end: float) -> list[Row]:
    """Gauss(6) on the joint form; too short to be worth compiling."""
    problem = molecule()
    system = problem.system
    assert isinstance(system, Linkage)
    driver = driver_of(system, problem.start, Gauss(6), DT)
    energy = system.columns(driver.first_row().rows)["energy"]
    rows = [compare("molecule: energy", float(energy[0]), ENERGY, within=1e-12, digits=15)]
    for t, reference in FOURTH.items():
        if t > t_end:
            return rows
        driver.advance(round(t / DT) - driver.step)
        found = _fourth(system, unpack_state(system, driver.z, t))
        rows += [
            compare(f"molecule: r4({t:g}), {name}", float(x), y, within=DIGITS, digits=15)
            for name, x, y in zip("xyz", found, reference, strict=True)
        ]
    angle = float(driver.z[layout_of(system).angles[0]])
    return [*rows, compare("molecule: angle at t = 2", angle, ANGLE, within=DIGITS, digits=15)]


def _matrix_rows() -> list[Row]:
    axis = np.array([1.0, 0.0, 0.0])
    rows = []
    for printed, reference, word in (
        (True, STRETCHING, "C12 as printed: |r34| changes"),
        (False, 0.0, "C14: it does not"),
    ):
        v = (particle_matrix(ATOMS, axis, printed=printed) @ RATES).reshape(4, 3)
        change = float(2.0 * (ATOMS[3] - ATOMS[2]) @ (v[3] - v[2]))
        name = "printed" if printed else "corrected"
        within = 0.005 if printed else 1e-14
        rows.append(
            compare(f"d|r34|^2/dt at the start, {name} matrix", change, reference, within=within, remark=word, digits=4)
        )
    problem = molecule()
    system = problem.system
    assert isinstance(system, Linkage)
    program = build(system, Gauss(6), compiled=False)
    z = program.view.pack(problem.start)
    rate = int(layout_of(system).links[-1, 3])
    ours = float(field_at(program, z)[rate])
    dense = float(rates_by_least_squares(ATOMS, axis, RATES)[6])
    remark = "recursion beside the least squares of the particles"
    return [
        *rows,
        compare("molecule: acceleration about the axis", ours, dense, within=1e-12, remark=remark, digits=15),
    ]


def field_at(program: Program, z: Array) -> Array:
    """dz/dt, by running the text of the program."""
    module, out = vars(program.module), np.zeros_like(z)
    next(value for name, value in module.items() if name.endswith("_articulated_field"))(z, program.new_par(), out)
    return out


@dataclass(frozen=True)
class Conditions:
    """Condition number of C^T M C, and deviation of both dense ways from the recursion, by the number of bodies."""

    lengths: tuple[int, ...]
    condition: Array
    qr: Array
    normal: Array


def _conditions(joint: str, lengths: tuple[int, ...]) -> Conditions:
    found = []
    for n in lengths:
        problem = hanging_chain(joint, n)
        system = problem.system
        assert isinstance(system, Linkage)
        dense = least_squares(system, problem.start)
        program = build(system, Gauss(1), compiled=False)
        z = program.view.pack(problem.start)
        rates = field_at(program, z)[
            int(layout_of(system).links[1, 3]) :
        ]  # all rates of one kind, in the order of the bodies
        size = np.abs(rates).max()
        errors = (np.abs(way - rates).max() / size for way in (dense.by_qr(), dense.by_normal_equations()))
        found.append((dense.condition(), *errors))
    condition, qr, normal = np.array(found).T
    return Conditions(lengths, condition, qr, normal)


def _condition_rows(chains: dict[str, Conditions]) -> list[Row]:
    rows = []
    for joint, found in chains.items():
        n = found.lengths[-1]
        remark = f"QR {found.qr[-1]:.1e}, normal equations {found.normal[-1]:.1e} off the recursion"
        rows.append(Row(f"{joint} chain of {n}: condition of C'MC", float(found.condition[-1]), None, None, remark, 3))
        limit = 20.0 * np.finfo(float).eps * np.sqrt(found.condition[-1])
        rows.append(
            small(
                f"{joint} chain of {n}: QR beside the recursion", found.qr[-1], limit, remark="20 eps sqrt(condition)"
            )
        )
    return rows


def _draw(folder: Folder, chains: dict[str, Conditions]) -> None:
    columns: dict[str, Array] = {"bodies": np.array(next(iter(chains.values())).lengths)}
    with folder.picture("linked", width=6.8, height=3.2) as figure:
        left, right = figure.subplots(1, 2)
        ways = {"QR": "o-", "normal equations": "s--"}
        for number, (joint, found) in enumerate(chains.items()):
            color = line_style(number)["color"]
            left.plot(found.lengths, found.condition, "o-", markersize=3.0, label=f"{joint} joints", color=color)
            for style, values in zip(ways.values(), (found.qr, found.normal), strict=True):
                right.plot(found.lengths, np.maximum(values, 1e-17), style, markersize=3.0, color=color)
            columns |= {
                f"{joint}: condition": found.condition,
                f"{joint}: QR": found.qr,
                f"{joint}: normal equations": found.normal,
            }
        for way, style in ways.items():  # colours are those of the left picture
            right.plot([], [], style, markersize=3.0, color="0.3", label=way)
        left.set_ylabel("condition number of C'MC")
        right.set_ylabel("difference from the recursion")
        for ax in (left, right):
            ax.set(xscale="log", yscale="log", xlabel="bodies")
            plain_log_axis(ax.xaxis)
            legend_above(ax)
    folder.numbers("linked_conditions", columns)
