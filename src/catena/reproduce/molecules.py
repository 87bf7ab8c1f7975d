"""Molecules as linked rigid groups: butane, a peptide of ten residues, and cyclohexane, each beside an independent
computation.

Bonds and their angles are rigid; only torsions vary. Butane without angular momentum has one degree of freedom, so its
period is a quadrature. The groups of a peptide follow from its backbone. Six hinges in a ring leave no freedom in the chair of
cyclohexane, and one in the boat, whose pseudorotation is computed independently from six particles with twelve
distances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..analysis.least_squares import least_squares
from ..engine.build import build
from ..geometry import rotations
from ..methods.conserving.energy_momentum import EnergyMomentum
from ..methods.runge_kutta.implicit import Gauss
from ..output.style import legend_above, line_style
from ..systems.base import Array, State
from ..systems.body import Body
from ..systems.linkage import constraints
from ..systems.linkage.joint_forces import Torsion
from ..systems.linkage.joint_form.layout import layout_of
from ..systems.linkage.joints import Revolute
from ..systems.linkage.linkage import Linkage
from .linked import field_at
from .report import Folder, Report, Row, compare, power, small
from .stepping import driver_of, follow_steps

NAME = "molecules"
ABOUT = "butane, a peptide of ten residues and cyclohexane as linked rigid groups, each beside a second computation [kneller1994]"
SOURCE = ("Kneller and Hinsen [kneller1994]", "its equations, on three molecules of our choice")

BOND, ANGLE = 1.53, math.acos(-1.0 / 3.0)  # angstrom; tetrahedral
FREE = (0.0, 0.0, 0.0)
# Torsion of butane, sum of c_n cos(psi)^n with psi = 0 in the trans form, kJ/mol; times 100 it is in amu angstrom^2 / ps^2.
TORSION = (9.2789, 12.1557, -13.1202, -3.0597, 26.2403, -31.4950)
METHYL, METHYLENE = 15.035, 14.027
AMPLITUDE, STEPS, POINTS = 0.5, 80, 200
RESIDUES, QUICK_RESIDUES, PEPTIDE_DT, PEPTIDE_STEPS, QUICK_STEPS = 10, 3, 0.005, 200, 3
RING_DTS, RING_END, RING_SPEED = (0.02, 0.01), 0.4, 2.0
DIGITS, HELD, CONSERVED = 1e-10, 1e-12, 1e-11
NOTES = (
    "The document has one example, a molecule of four particles (linked). These three are our choice; units: amu, angstrom, ps.",
    "Butane: united atoms, Ryckaert and Bellemans' torsion, released at rest 0.5 rad off the trans form; T = 4 int sqrt(I(psi)/2(E -",
    "V)) dpsi, I without rigid motion. Peptide: groups N-CA-C and planes CA-C-N-CA, hinges at N-CA and CA-C, threefold torsions of 10",
    "kJ/mol. Cyclohexane: six groups of three, hinges at six bonds.",
)


def groups_with(atoms: Array, masses: Sequence[float], members: Sequence[Sequence[int]]) -> tuple[list[Body], Array]:
    """Rigid groups of atoms and their centres; the mass of an atom is shared equally by its groups."""
    shares = [sum(k in group for group in members) for k in range(len(atoms))]
    bodies = [Body.from_particles(atoms[list(group)], [masses[k] / shares[k] for k in group]) for group in members]
    return bodies, np.array([body.center for body in bodies])


def hinge(i: int, j: int, atoms: Array, center: Array, bond: tuple[int, int]) -> Revolute:
    """A hinge between groups i and j about the bond of two atoms."""
    at, axis = atoms[bond[0]], atoms[bond[1]] - atoms[bond[0]]
    return Revolute(i, j, (at - center[i], at - center[j]), axis=axis / np.linalg.norm(axis))


# Butane -----------------------------------------------------------------------------------------------------------


def butane_atoms(psi: float) -> Array:
    """Four carbons; the third bond rotated by psi from the trans form."""
    bend = math.pi - ANGLE
    first = np.array((-BOND * math.cos(bend), BOND * math.sin(bend), 0.0))
    last = (
        BOND + BOND * math.cos(bend),
        -BOND * math.sin(bend) * math.cos(psi),
        -BOND * math.sin(bend) * math.sin(psi),
    )
    return np.array([first, (0.0, 0.0, 0.0), (BOND, 0.0, 0.0), last])


BUTANE_MASSES = (METHYL, METHYLENE, METHYLENE, METHYL)


def torsion_energy(psi: float) -> float:
    """The potential of the torsion, a polynomial of its cosine."""
    return 100.0 * sum(c * math.cos(psi) ** k for k, c in enumerate(TORSION))


def torsion_inertia(psi: float) -> float:
    """Inertia of the torsion without rigid motion: the minimum of sum m |dx/dpsi + v + w x x|^2."""
    x = butane_atoms(psi)
    bend = math.pi - ANGLE
    rate = np.zeros((4, 3))
    rate[3, 1:] = BOND * math.sin(bend) * math.sin(psi), -BOND * math.sin(bend) * math.cos(psi)
    root = np.sqrt(np.repeat(BUTANE_MASSES, 3))
    rigid = root[:, None] * rigid_motions(x)
    residual = root * rate.ravel()
    residual = residual - rigid @ np.linalg.lstsq(rigid, residual, rcond=None)[0]
    return float(residual @ residual)


def rigid_motions(x: Array) -> Array:
    """(3 n, 6): velocities of n particles in translations and rotations."""
    turns = np.stack([np.cross(e, x) for e in np.eye(3)], axis=-1)
    return np.concatenate([np.tile(np.eye(3), (len(x), 1)), turns.reshape(-1, 3)], axis=1)


def butane_period() -> float:
    """The period by the midpoint rule in u, psi = AMPLITUDE sin(u): smooth and periodic."""
    u = (np.arange(POINTS) + 0.5) * math.pi / (2 * POINTS)
    total = torsion_energy(AMPLITUDE)
    values = []
    for x in u:
        psi = AMPLITUDE * math.sin(x)
        values.append(AMPLITUDE * math.cos(x) * math.sqrt(torsion_inertia(psi) / (2.0 * (total - torsion_energy(psi)))))
    return 4.0 * float(np.mean(values)) * math.pi / 2.0


def butane() -> tuple[Linkage, State]:
    """Butane at rest, off the trans form by the amplitude; the joint angle is measured from there."""
    atoms = butane_atoms(AMPLITUDE)
    bodies, center = groups_with(atoms, BUTANE_MASSES, ((0, 1, 2), (1, 2, 3)))
    text = " + ".join(f"c{k}*cos(theta + a)**{k}" for k in range(len(TORSION)))
    values = {f"c{k}": 100.0 * c for k, c in enumerate(TORSION)} | {"a": AMPLITUDE}
    joint = hinge(0, 1, atoms, center, (1, 2))
    system = Linkage(bodies, [joint], [Torsion(0, text, values)], gravity=FREE)
    return system, system.start(center)


def butane_angles(steps: int) -> tuple[Array, Array]:
    """Times in periods and psi along one period, by Gauss(6) in joint form, in plain Python."""
    system, start = butane()
    driver = driver_of(system, start, Gauss(6), butane_period() / steps)
    place = int(layout_of(system).angles[0])
    found = [AMPLITUDE]
    for _ in range(steps):
        driver.advance(1)
        found.append(AMPLITUDE + float(driver.z[place] + driver.e[place]))
    return np.arange(steps + 1) / steps, np.array(found)


def _butane_rows(psi: Array) -> list[Row]:
    steps, remark = len(psi) - 1, "quadrature of one degree of freedom"
    return [
        compare("butane: torsion after a quarter of its period", float(psi[steps // 4]), 0.0, within=DIGITS, remark=remark, digits=11),
        compare("butane: torsion after half of it", float(psi[steps // 2]), -AMPLITUDE, within=DIGITS, remark=remark, digits=11),
        compare("butane: torsion after a period", float(psi[-1]), AMPLITUDE, within=DIGITS, remark=remark, digits=11),
        compare("butane: potential at the trans form (kJ/mol)", torsion_energy(0.0) / 100.0, sum(TORSION), within=1e-12),
    ]  # fmt: skip


# Peptide ----------------------------------------------------------------------------------------------------------


def backbone(residues: int) -> tuple[Array, list[float]]:
    """N, CA and C of each residue, a helical zigzag with tetrahedral angles, and masses including attached atoms."""
    atoms = [np.zeros(3), np.array((BOND, 0.0, 0.0))]
    atoms.append(atoms[1] + BOND * np.array((-math.cos(ANGLE), math.sin(ANGLE), 0.0)))
    for k in range(3, 3 * residues):
        a, b, c = atoms[-3:]
        turn = math.pi if k % 3 == 1 else (-1.0 if k % 3 == 0 else -0.8)  # the peptide bond is planar
        along = (c - b) / np.linalg.norm(c - b)
        normal = np.cross(b - a, along)
        normal /= np.linalg.norm(normal)
        across = np.cross(normal, along)
        step = (-math.cos(ANGLE), math.sin(ANGLE) * math.cos(turn), math.sin(ANGLE) * math.sin(turn))
        atoms.append(c + BOND * (step[0] * along + step[1] * across + step[2] * normal))
    return np.array(atoms), [15.0, 28.0, 28.0] * residues


def peptide(residues: int) -> tuple[Linkage, State, list[tuple[int, ...]]]:
    """Groups, hinges and threefold torsions; torsions start with alternating rates of 1 rad/ps."""
    atoms, masses = backbone(residues)
    members: list[tuple[int, ...]] = []
    bonds: list[tuple[int, int]] = []
    for k in range(residues):
        members.append((3 * k, 3 * k + 1, 3 * k + 2))
        if k + 1 < residues:
            members.append((3 * k + 1, 3 * k + 2, 3 * k + 3, 3 * k + 4))
            bonds += [(3 * k + 1, 3 * k + 2), (3 * k + 3, 3 * k + 4)]
    bodies, center = groups_with(atoms, masses, members)
    joints = [hinge(i, i + 1, atoms, center, bond) for i, bond in enumerate(bonds)]
    torsions = [Torsion(i, "k*(1 - cos(3*theta))", {"k": 1000.0}) for i in range(len(joints))]
    system = Linkage(bodies, joints, torsions, gravity=FREE)
    velocity, spin = np.zeros((len(bodies), 3)), np.zeros((len(bodies), 3))
    for i, bond in enumerate(bonds):  # outwards: each group turns with its parent, and about its bond
        axis = atoms[bond[1]] - atoms[bond[0]]
        spin[i + 1] = spin[i] + (-1.0) ** i * axis / np.linalg.norm(axis)
        here = velocity[i] + np.cross(spin[i], atoms[bond[0]] - center[i])
        velocity[i + 1] = here + np.cross(spin[i + 1], center[i + 1] - atoms[bond[0]])
    return system, system.start(center, velocity=velocity, angular_velocity=spin), members


def _peptide_rows(residues: int, steps: int, *, compiled: bool) -> list[Row]:
    system, start, members = peptide(residues)
    name = f"peptide of {residues}"
    rows = [compare(f"{name}: torsions", len(system.joints), 2 * residues - 2, remark=f"{len(members)} groups")]
    program = build(system, Gauss(1), compiled=False)
    layout = layout_of(system)
    recursion = field_at(program, program.view.pack(start))[int(layout.links[1, 3]) :]
    dense = least_squares(system, start)
    ours, other = recursion[-len(system.joints) :], dense.by_qr()[-len(system.joints) :]
    limit = 20.0 * np.finfo(float).eps * math.sqrt(dense.condition())
    apart = float(np.abs(ours - other).max() / np.abs(ours).max())
    rows.append(
        small(f"{name}: accelerations, recursion beside least squares", apart, limit, remark="20 eps sqrt(condition)")
    )
    columns = _step(system, start, PEPTIDE_DT, steps, compiled=compiled)
    energy = columns["energy"]
    kinetic = float(_kinetic(system, start))
    rows.append(small(f"{name}: energy error, to kinetic", np.abs(energy - energy[0]).max() / kinetic, CONSERVED))
    for quantity in ("total_momentum", "total_angular_momentum"):
        values = columns[quantity]
        error = float(np.abs(values - values[0]).max() / max(1.0, float(np.abs(values).max())))
        rows.append(small(f"{name}: error of the {quantity.replace('_', ' ')}", error, CONSERVED))
    rows.append(
        small(
            f"{name}: bond lengths and angles",
            _shared_atoms_apart(system, columns, members),
            HELD,
            remark="atoms of two groups, seen from both",
        )
    )
    return rows


def _kinetic(system: Linkage, state: State) -> float:
    turning = sum(
        y @ np.linalg.solve(body.tensor, y) for body, y in zip(system.bodies, state.angular_momentum, strict=True)
    )
    moving = sum(p @ p / body.mass for body, p in zip(system.bodies, state.momentum, strict=True))
    return 0.5 * float(turning + moving)


def _step(system: Linkage, start: State, dt: float, steps: int, *, compiled: bool) -> dict[str, Array]:
    return follow_steps(driver_of(system, start, EnergyMomentum(), dt, compiled=compiled), steps)


def atom_paths(system: Linkage, columns: dict[str, Array], members: Sequence[Sequence[int]]) -> list[dict[int, Array]]:
    """(times, 3) of the atoms of each group, by number."""
    paths = []
    for i, (body, group) in enumerate(zip(system.bodies, members, strict=True)):
        inside = np.array(body.particles.positions)
        seen = columns["position"][:, i, None] + rotations.rotate(columns["orientation"][:, i, None], inside[None])
        paths.append({atom: seen[:, k] for k, atom in enumerate(group)})
    return paths


def _shared_atoms_apart(system: Linkage, columns: dict[str, Array], members: Sequence[Sequence[int]]) -> float:
    """Largest distance between copies of an atom in several groups; if zero, bonds and angles are those of the
    start."""
    places: dict[int, list[Array]] = {}
    for group in atom_paths(system, columns, members):
        for atom, path in group.items():
            places.setdefault(atom, []).append(path)
    return max(float(np.abs(path - seen[0]).max()) for seen in places.values() for path in seen)


# Cyclohexane ------------------------------------------------------------------------------------------------------


def ring_atoms(form: str) -> Array:
    """Six carbons with equal bonds and angles, as chair or as boat."""
    far = 2.0 * BOND * math.sin(0.5 * ANGLE)  # distance of next neighbours
    if form == "chair":
        radius = far / math.sqrt(3.0)
        height = 0.5 * math.sqrt(BOND**2 - radius**2)
        return np.array(
            [
                (radius * math.cos(k * math.pi / 3), radius * math.sin(k * math.pi / 3), height * (-1) ** k)
                for k in range(6)
            ]
        )
    x2, y2, x1 = 0.5 * BOND, 0.5 * far, (far**2 - BOND**2) / (2.0 * BOND)
    z1 = math.sqrt(BOND**2 - (x1 - x2) ** 2 - y2**2)
    return np.array([(x1, 0, z1), (x2, y2, 0), (-x2, y2, 0), (-x1, 0, z1), (-x2, -y2, 0), (x2, -y2, 0)])


PAIRS = [(k, (k + 1) % 6) for k in range(6)] + [(k, (k + 2) % 6) for k in range(6)]
RING = [((k - 1) % 6, k, (k + 1) % 6) for k in range(6)]


def rigidity(x: Array) -> Array:
    """(12, 18): rates of half the squared distances of neighbours and next neighbours."""
    rows = np.zeros((len(PAIRS), 6, 3))
    for row, (i, j) in zip(rows, PAIRS, strict=True):
        row[i], row[j] = x[i] - x[j], x[j] - x[i]
    return rows.reshape(len(PAIRS), 18)


def ring(form: str) -> tuple[Linkage, Array, Array]:
    """The linkage, its centres, and the atoms."""
    atoms = ring_atoms(form)
    bodies, center = groups_with(atoms, [METHYLENE] * 6, RING)
    joints = [hinge(k, (k + 1) % 6, atoms, center, (k, (k + 1) % 6)) for k in range(5)]
    joints.append(hinge(0, 5, atoms, center, (5, 0)))
    return Linkage(bodies, joints, gravity=FREE), center, atoms


def _freedom(form: str) -> tuple[int, int]:
    """Internal degrees of freedom: by the rows of the hinges, and by twelve distances of six particles."""
    system, center, atoms = ring(form)
    orientation = np.tile((1.0, 0.0, 0.0, 0.0), (6, 1))
    rows = constraints.gradients(system, center, orientation, images=constraints.images_of(system, orientation))
    return 36 - 6 - int(np.linalg.matrix_rank(rows, tol=1e-9)), 18 - 6 - int(
        np.linalg.matrix_rank(rigidity(atoms), tol=1e-9)
    )


def boat_velocity(atoms: Array) -> Array:
    """(6, 3): the motion that changes no distance, without rigid motion."""
    free = np.linalg.svd(rigidity(atoms))[2][11:].T  # seven of them, the six rigid motions among them
    rigid = rigid_motions(atoms)
    free = free - rigid @ np.linalg.lstsq(rigid, free, rcond=None)[0]  # equal masses
    flex = np.linalg.svd(free)[0][:, 0].reshape(6, 3)
    flex *= np.sign(flex.ravel()[np.argmax(np.abs(flex))])
    return RING_SPEED * flex / np.linalg.norm(flex, axis=1).max()


def particle_path(atoms: Array, velocity: Array, t_end: float) -> Array:
    """Final positions of six particles with twelve distances: multipliers by least squares, SciPy's DOP853."""
    from scipy.integrate import solve_ivp

    def field(t: float, z: Array) -> Array:
        x, v = z[:18].reshape(6, 3), z[18:].reshape(6, 3)
        rows = rigidity(x)
        needed = -np.array([((v[i] - v[j]) ** 2).sum() for i, j in PAIRS])
        return np.concatenate([z[18:], np.linalg.lstsq(rows, needed, rcond=1e-6)[0]])

    start = np.concatenate([atoms.ravel(), velocity.ravel()])
    return solve_ivp(field, (0.0, t_end), start, method="DOP853", rtol=1e-11, atol=1e-11).y[:18, -1].reshape(6, 3)


def boat_start(system: Linkage, center: Array, atoms: Array) -> State:
    """Velocities of the groups from those of their atoms."""
    moving = boat_velocity(atoms)
    velocity, spin = np.zeros((6, 3)), np.zeros((6, 3))
    for i, group in enumerate(RING):
        rigid = rigid_motions(atoms[list(group)] - center[i])
        found = np.linalg.lstsq(rigid, moving[list(group)].ravel(), rcond=None)[0]
        velocity[i], spin[i] = found[:3], found[3:]
    return system.start(center, velocity=velocity, angular_velocity=spin)


@dataclass(frozen=True)
class Boat:
    """The pseudorotation with two steps: errors at the end against the particles, and measurements of the finer run."""

    errors: list[float]
    system: Linkage
    columns: dict[str, Array]


def boat() -> Boat:
    """The boat of cyclohexane with several steps, against the path of its particles."""
    system, center, atoms = ring("boat")
    start = boat_start(system, center, atoms)
    right = particle_path(atoms, boat_velocity(atoms), RING_END)
    errors = []
    for dt in RING_DTS:
        columns = _step(system, start, dt, round(RING_END / dt), compiled=True)
        ends = [path[k][-1] for k, path in enumerate(atom_paths(system, columns, RING))]
        errors.append(float(np.abs(np.array(ends) - right).max()))
    return Boat(errors, system, columns)


def torsions_of(atoms: Array) -> Array:
    """(times, 6) dihedral angles of (times, 6, 3) atoms."""
    found = []
    for k in range(6):
        a, b, c, d = (atoms[:, (k + s) % 6] for s in range(4))
        first, second = np.cross(b - a, c - b), np.cross(c - b, d - c)
        sine = (np.cross(first, second) * (c - b)).sum(axis=1) / np.linalg.norm(c - b, axis=1)
        found.append(np.arctan2(sine, (first * second).sum(axis=1)))
    return np.array(found).T


def _ring_rows() -> list[Row]:
    rows = []
    for form, known in (("chair", 0), ("boat", 1)):
        hinges, distances = _freedom(form)
        rows.append(
            compare(
                f"cyclohexane, {form}: internal freedom of six hinges",
                hinges,
                known,
                remark=f"{distances} by twelve distances",
            )
        )
        rows.append(compare(f"cyclohexane, {form}: internal freedom of twelve distances", distances, known))
    return rows


def _boat_rows(found: Boat) -> list[Row]:
    order = power(RING_DTS, found.errors)
    energy = found.columns["energy"]
    atoms = np.stack([path[k] for k, path in enumerate(atom_paths(found.system, found.columns, RING))], axis=1)
    lengths = np.array([np.linalg.norm(atoms[:, i] - atoms[:, j], axis=1) for i, j in PAIRS])
    turned = float(np.degrees(np.ptp(np.unwrap(torsions_of(atoms), axis=0), axis=0).max()))
    remark = f"off by {found.errors[0]:.1e} and {found.errors[1]:.1e} at t = {RING_END:g}"
    return [
        compare("cyclohexane, boat: order of EnergyMomentum() beside particles", order, 2.0, within=0.1, remark=remark, digits=3),
        small("cyclohexane, boat: energy error, relative", np.abs(energy / energy[0] - 1.0).max(), CONSERVED),
        small("cyclohexane, boat: twelve distances", np.abs(lengths - lengths[:, :1]).max(), HELD),
        Row("cyclohexane, boat: largest change of a torsion (degrees)", turned, "> 20", turned > 20.0, "it does move", 3),
    ]  # fmt: skip


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """All three; with `quick` a peptide of three residues and no motion of cyclohexane, so that nothing is compiled."""
    time, psi = butane_angles(STEPS)
    rows = _butane_rows(psi)
    rows += _peptide_rows(*((QUICK_RESIDUES, QUICK_STEPS) if quick else (RESIDUES, PEPTIDE_STEPS)), compiled=not quick)
    rows += _ring_rows()
    found = None if quick else boat()
    if found is not None:
        rows += _boat_rows(found)
    folder = Folder(out)
    _draw(folder, time, psi, found)
    return folder.report(NAME, "Molecules of linked rigid groups", rows, notes=NOTES)


def _draw(folder: Folder, time: Array, psi: Array, found: Boat | None) -> None:
    with folder.picture("molecules", width=8.6, height=3.4) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(time, np.degrees(psi), label="butane, torsion off the trans form", **line_style(0))
        left.set(xlabel="time / period", ylabel="angle (degrees)")
        legend_above(left)
        if found is not None:
            atoms = np.stack([path[k] for k, path in enumerate(atom_paths(found.system, found.columns, RING))], axis=1)
            angles = np.degrees(np.unwrap(torsions_of(atoms), axis=0))
            times = RING_DTS[-1] * np.arange(len(angles))
            for k in range(6):
                right.plot(times, angles[:, k], label=f"torsion {k + 1}", **line_style(k))
            right.set(xlabel="time (ps)", ylabel="angle (degrees)")
            right.legend(title="boat of cyclohexane", loc="upper left", bbox_to_anchor=(1.0, 1.0))
            folder.numbers(
                "molecules_boat", {"time": times} | {f"torsion {k + 1}": angles[:, k] for k in range(6)}, digits=10
            )
        else:
            right.set_visible(False)
    folder.numbers("molecules_butane", {"time / period": time, "psi": psi})
