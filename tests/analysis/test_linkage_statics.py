"""Statics of linkages: exact derivatives, equilibria that are verified, frequencies against closed forms and runs."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import catena as ct
from catena.analysis.statics import linkage_equilibrium
from catena.analysis.statics.linkage_problem import LinkageProblem
from catena.errors import CapabilityError
from catena.geometry import rotations
from catena.systems.linkage import constraints
from catena.systems.linkage import start as starts
from catena.systems.linkage.joint_form import force_slopes, form, loop_slopes, slopes
from catena.systems.linkage.joint_form.form import unpack_state
from catena.systems.linkage.linkage import Linkage
from kernels import Kernel
from linkages import closed_by, four_bars, random_tree, squeezer

FLOATING = None
TREES: dict[str, tuple[list[Any], list[int]]] = {
    "floating": ([FLOATING, ct.Revolute, ct.Spherical], [-2, 0, 1]),
    "slides": ([ct.Prismatic, ct.Cylindrical, ct.Planar], [-1, 0, 1]),
    "the rest": ([ct.Universal, ct.Screw, ct.Rigid, ct.Revolute], [-1, 0, 1, 2]),
}
POINTS = ((0.1, 0.4, -0.3), (-0.3, 0.2, 0.1))
FORCES: list[Any] = [
    ct.Spring(0, 2, POINTS, k=4.0, length=0.6), ct.SitePair(-1, 1, POINTS, ct.Yukawa(2.0, 1.5)),
    ct.Load(1, (0.2, -0.3, 0.1), (0.3, 1.0, -2.0)),
    ct.Torsion(1, "k*(1 - cos(2*theta - 1)) + theta**4/9", {"k": 2.0}),
]  # fmt: skip


def rods(n: int, joint: type = ct.Spherical, **options: Any) -> Linkage:
    """n uniform rods of total length and mass 1, hanging in gravity 1."""
    length = 1.0 / n
    rod = ct.Body.rod(length, mass=length)
    if joint is ct.Revolute:
        i = length**3 / 12.0
        rod, options = ct.Body(length, (i, i, 1e-3 * i)), {"axis": (1, 0, 0), **options}
    ends = ((0.0, 0.0, -0.5 * length), (0.0, 0.0, 0.5 * length))
    joints = [joint(j - 1, j, at=(ends[0] if j else (0, 0, 0), ends[1]), **options) for j in range(n)]
    return ct.Linkage([rod] * n, joints, gravity=(0, 0, -1))


def point_masses(n: int, spacing: float = 1.0) -> Linkage:
    """n equal point masses on massless links, hanging in gravity 1."""
    mass = ct.Body.from_particles([[0.0, 0.0, 0.0]])
    joints = [ct.Spherical(j - 1, j, at=((0, 0, 0), (0, 0, spacing))) for j in range(n)]
    return ct.Linkage([mass] * n, joints, gravity=(0, 0, -1))


# Derivatives ---------------------------------------------------------------------------------------------------------------


def derivative_errors(linkage: Linkage, start: ct.State) -> tuple[float, float]:
    """Gradient and stiffness away from equilibrium against differences of fourth order of the energy and of the gradient, along
    displacements; relative to the largest of them.
    """
    problem = LinkageProblem(linkage, start)
    here = problem.balance(problem.begin)
    stiffness, _ = problem.matrices(here)
    chance, h, worst = np.random.default_rng(3), 1e-3, [0.0, 0.0]
    for _ in range(3):
        y = chance.normal(size=len(here.free))
        along = {}
        for k in (-2, -1, 1, 2):
            z = problem.moved(here, k * h * y)
            assert z is not None
            along[k] = problem.balance(z).energy
        first = (8 * (along[1] - along[-1]) - (along[2] - along[-2])) / (12 * h)
        second = (16 * (along[1] + along[-1]) - (along[2] + along[-2]) - 30 * here.energy) / (12 * h * h)
        worst[0] = max(worst[0], abs(first - here.gradient @ y) / np.abs(here.gradient).max())
        worst[1] = max(worst[1], abs(second - y @ stiffness @ y) / np.abs(stiffness).max())
    return worst[0], worst[1]


def somewhere(name: str) -> tuple[Linkage, ct.State]:
    """A tree with all forces, far from any equilibrium."""
    kinds, parents = TREES[name]
    forces = [
        f for f in FORCES if not isinstance(f, ct.Torsion) or (name != "floating" and kinds[1] is not ct.Spherical)
    ]
    linkage, z, still = random_tree(kinds, parents, 3, forces=forces)
    begun = starts.count_from_start(linkage, still)
    return begun, unpack_state(begun, z, 0.0)


@pytest.mark.parametrize("name", TREES)
def test_force_and_stiffness_are_derivatives_of_the_energy_for_every_joint_and_force(name):
    """h^4 of what differences cut off, and eps/h^2 of rounding: measured 1e-11 and 1e-9."""
    first, second = derivative_errors(*somewhere(name))
    assert first < 1e-9 and second < 1e-7


@pytest.mark.parametrize(
    "name",
    [pytest.param("Revolute", marks=pytest.mark.slow), pytest.param("Screw", marks=pytest.mark.slow), "four bars"],
)
def test_they_are_where_loops_are_closed(name):
    """On the surface of closed loops, with the multipliers that hold them; dead loads, torsions and springs act."""
    if name == "four bars":
        plain, start = four_bars((2.0, 1.5, 1.2, 1.6), 1.2, 0.0)
        forces = [
            ct.Spring(-1, 1, POINTS, k=3.0),
            ct.Torsion(3, "theta**4 + theta**2"),
            ct.Load(1, (0, 0.1, 0.3), (0, 1, 2)),
        ]
        linkage = Linkage(plain.bodies, plain.joints, forces, gravity=(0, -0.2, -9.81))
    else:
        plain, start = closed_by(getattr(ct, name))
        linkage = Linkage(plain.bodies, plain.joints, FORCES[:3], plain.gravity)
    first, second = derivative_errors(linkage, start)
    assert first < 1e-8 and second < 1e-7


def untouched(par):
    """`change_forces` that forgets the forces."""


def no_loads(z, par):
    """`note_loads` that forgets them."""


def stiff_arm(i, par):
    """`change_joint` that forgets that axes and arms turn."""


def still_rows(z, par):
    """`change_rows` that forgets that the rows of loops turn."""


@pytest.mark.parametrize(
    ("module", "name", "twin", "made"),
    [
        (form.force_slopes, "change_all_forces", untouched, "the rest"),
        (force_slopes, "note_loads", no_loads, "the rest"),
        (slopes, "change_joint", stiff_arm, "slides"),
        (loop_slopes, "change_kept_rows", still_rows, "loop"),
    ],
    ids=["forces", "loads", "joints", "rows"],
)
def test_a_term_that_is_dropped_is_seen(monkeypatch, module, name, twin, made):
    monkeypatch.setattr(module, name, twin)
    linkage, start = closed_by(ct.Revolute) if made == "loop" else somewhere(made)
    if made == "loop":
        linkage = Linkage(linkage.bodies, linkage.joints, FORCES[:3], linkage.gravity)
    assert derivative_errors(linkage, start)[1] > 1e-4


@pytest.mark.parametrize("name", ["floating", pytest.param("slides", marks=pytest.mark.slow), "the rest"])
def test_the_linearised_equations_are_those_of_the_motion(name):
    """M dudot + (C + G) du + K dphi = 0 with the derivatives of udot that Newton's method has (tested in 50 digits), about a motion."""
    kinds, parents = TREES[name]
    linkage, z, still = random_tree(kinds, parents, 5, forces=[*FORCES[:3], ct.Damper(0, 2, POINTS, c=4.0)])
    begun = starts.count_from_start(linkage, still)
    state = unpack_state(begun, z, 0.0)
    found = begun.linearise(state)
    view = begun.view("field")
    assert view is not None and view.factors is not None
    find = Kernel(begun, "field", slopes.find_slopes, arrays=view.factors(1))
    find.function(z, find.par)
    by_positions, by_rates = find.par.newton_slopes
    size = np.abs(found.mass @ by_positions).max()
    assert np.abs(found.mass @ by_positions + found.stiffness).max() < 1e-12 * size
    assert np.abs(found.mass @ by_rates + found.damping + found.gyroscopic).max() < 1e-12 * size
    assert found.gyroscopic.any() and found.damping.any() and len(found.coordinates) == len(found.mass)


# References ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 20])
def test_hanging_masses_oscillate_at_the_zeros_of_laguerre_polynomials(n):
    """omega^2 = (g/l) x, x the zeros of L_n in 30 digits; each twice, in both planes. Measured 2e-16, 8e-16 and 7e-15."""
    with mpmath.workdps(30):
        coefficients = [(-1) ** k * mpmath.binomial(n, k) / mpmath.factorial(k) for k in range(n, -1, -1)]
        zeros = sorted(float(x.real) for x in mpmath.polyroots(coefficients, maxsteps=500, extraprec=400))
    modes = point_masses(n).normal_modes()
    assert modes.omega**2 == pytest.approx(np.repeat(zeros, 2), rel=3e-14)
    assert modes.omega[:2] ** 2 == pytest.approx([zeros[0]] * 2, rel=2e-15)
    assert modes.zero == 0 and (np.abs(modes.omega / np.sqrt(np.repeat(zeros, 2)) - 1.0) < modes.error).all()


@pytest.mark.slow
def test_the_lowest_frequencies_would_lose_digits_from_the_stiffness_alone(monkeypatch):
    """The twin: the error of the highest eigenvalue, here 10^3 of the lowest."""
    lowest = point_masses(20).normal_modes().omega[0]
    monkeypatch.setattr(linkage_equilibrium, "_refine_lowest", lambda *_: 0)
    assert abs(point_masses(20).normal_modes().omega[0] / lowest - 1.0) > 1e-14


def test_three_hanging_rods():
    """Null space and minimal coordinates agree to 1e-15 on these."""
    wanted = [1.206144205849420, 3.0, 5.667639652590743]
    assert rods(3).normal_modes().omega == pytest.approx(np.repeat(wanted, 2), rel=2e-15)
    hinged = rods(3, ct.Revolute).normal_modes()
    assert hinged.omega == pytest.approx(wanted, rel=2e-15)
    assert hinged.coordinates == ("joint 0 angle", "joint 1 angle", "joint 2 angle")


def test_many_rods_are_a_heavy_string():
    """omega = j_{0,1}/2 sqrt(g/L): order 2 for rods; for masses order 1, and 2 with half a link more."""
    string = 0.5 * float(mpmath.besseljzero(0, 1))
    errors = [rods(n, ct.Revolute).normal_modes().omega[0] / string - 1.0 for n in (1, 2, 4, 8, 16)]
    assert errors == pytest.approx([1.86e-2, 6.42e-3, 1.81e-3, 4.71e-4, 1.19e-4], rel=5e-3)
    masses = {n: point_masses(n, 1.0 / n).normal_modes().omega[0] / string - 1.0 for n in (4, 8)}
    assert masses[4] / masses[8] == pytest.approx(2.0, abs=0.3)
    longer = {n: point_masses(n, 1.0 / (n + 0.5)).normal_modes().omega[0] / string - 1.0 for n in (4, 8)}
    assert longer[4] / longer[8] == pytest.approx(4.0, abs=0.5)


def by_multipliers(linkage: Linkage, state: ct.State) -> np.ndarray:
    """omega^2 of a linkage at rest the other way round: bodies displaced freely, all joints as rows with multipliers, N^T K N with the
    null space N of the rows; second derivatives by differences of fourth order. None of the joint form is used.
    """
    images = constraints.images_of(linkage, state.orientation)
    shifts = constraints.shifts_of(linkage, state.position, state.orientation)
    mass = constraints.mass_matrix(linkage, state.orientation)
    masses = np.array([body.mass for body in linkage.bodies])

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = x.reshape(-1, 2, 3)
        q = np.array(
            [
                rotations.multiply(rotations.from_vector(v), p)
                for v, p in zip(moved[:, 1], state.orientation, strict=True)
            ]
        )
        return state.position + moved[:, 0], q

    rows = constraints.gradients(linkage, *at(np.zeros(len(mass))), images=images)
    weight = np.zeros((linkage.count, 2, 3))
    weight[:, 0] = -masses[:, None] * linkage.gravity
    multipliers = np.linalg.lstsq(rows.T, -weight.ravel(), rcond=1e-10)[0]

    def lagrangian(x: np.ndarray) -> float:
        r, q = at(x)
        energy = -float((masses[:, None] * linkage.gravity * r).sum())
        return energy + float(multipliers @ constraints.residuals(linkage, r, q, images=images, shifts=shifts))

    _, sizes, basis = np.linalg.svd(rows)
    free = basis[int((sizes > 1e-9 * sizes[0]).sum()) :]
    h, count = 2e-3, len(free)

    def second(v: np.ndarray) -> float:
        near, far = (lagrangian(k * h * v) + lagrangian(-k * h * v) for k in (1, 2))
        return (16 * near - far - 30 * lagrangian(0.0 * v)) / (12 * h * h)

    stiffness = np.diag([second(v) for v in free])
    for i in range(count):
        for j in range(i):
            stiffness[i, j] = stiffness[j, i] = (second(free[i] + free[j]) - second(free[i] - free[j])) / 4.0
    root = np.linalg.inv(np.linalg.cholesky(free @ mass @ free.T))
    return np.linalg.eigvalsh(root @ stiffness @ root.T)


@pytest.mark.parametrize("name", ["four_bar", "bennett", "hanging_chain"])
def test_modes_are_those_of_the_problem_with_multipliers(name):
    """Plane and spatial loops with redundant rows; 1e-8 is left by differences."""
    problem = ct.problems.hanging_chain("spherical", 2) if name == "hanging_chain" else getattr(ct.problems, name)()
    found = problem.system.equilibrium(problem.start)
    assert found.converged and not found.saddles
    values = by_multipliers(found.linkage, found.state)
    wanted = values[np.abs(values) > 1e-6]
    modes = problem.system.normal_modes(found)
    assert modes.omega**2 == pytest.approx(wanted, rel=1e-7)
    assert modes.zero == len(values) - len(wanted) == (2 if name == "hanging_chain" else 0)


def test_a_four_bar_hangs_where_its_weight_is_lowest():
    """One angle decides all: by a search along it, without any derivative."""
    problem = ct.problems.four_bar()
    found = problem.system.equilibrium(problem.start)
    a, d, lengths = np.zeros(2), np.array([2.0, 0.0]), (1.0, 2.0, 1.5)

    def height(angle: float) -> float:
        b = a + lengths[0] * np.array([np.sin(angle), -np.cos(angle)])
        gap = d - b
        s = np.linalg.norm(gap)
        along = (s * s + lengths[1] ** 2 - lengths[2] ** 2) / (2 * s)
        beside = np.sqrt(lengths[1] ** 2 - along**2)
        c = min(
            (b + along * gap / s + sign * beside * np.array([-gap[1], gap[0]]) / s for sign in (1, -1)),
            key=lambda c: c[1],
        )
        middles = ((a + b) / 2, (b + c) / 2, (d + c) / 2)
        return float(sum(l * m[1] for l, m in zip(lengths, middles, strict=True)))

    low, high = 0.0, 1.5
    for _ in range(80):
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, right) if height(left) < height(right) else (left, high)
    assert found.energy == pytest.approx(9.81 * height(low), rel=1e-13)
    y, z = found.state.position[0][1:]
    assert np.arctan2(y, -z) == pytest.approx(low, abs=1e-6)


# What is found, and what is none -------------------------------------------------------------------------------------------


def test_an_upright_pendulum_is_a_saddle_that_is_left():
    chain = ct.problems.hanging_chain("revolute", 3).system
    upright = chain.start(orientation=[(0.0, 1.0, 0.0, 0.0)] * 3)
    found = chain.equilibrium(upright)
    assert found.converged and len(found.saddles) >= 1 and min(found.saddles) < 0.0
    assert found.state.position[-1] == pytest.approx([0.0, 0.0, -7.5], abs=1e-12)
    modes = chain.normal_modes(upright)
    assert modes.unstable == 3 and "no stable equilibrium" in repr(modes)


def test_a_saddle_that_nobody_looks_for_would_be_called_converged(monkeypatch):
    """The twin: gradients alone."""
    chain = ct.problems.hanging_chain("revolute", 3).system
    upright = chain.start(orientation=[(0.0, 1.0, 0.0, 0.0)] * 3)
    blind = property(lambda self: np.zeros(len(self.values), dtype=bool))
    monkeypatch.setattr(linkage_equilibrium.LinkageStability, "is_negative", blind)
    found = chain.equilibrium(upright)
    assert found.converged and found.state.position[-1][2] == pytest.approx(7.5)


def test_what_nothing_resists_is_named():
    """A door on a vertical hinge, boxes that spin on ball joints, two linked bodies free in space."""
    boxes = ct.problems.hanging_chain("spherical", 2).system
    found = boxes.equilibrium()
    assert found.converged and found.flat_motions == ("body 0 turn 3", "body 1 turn 3")
    modes = boxes.normal_modes(found)
    assert modes.zero == 2 and modes.zero_motions == found.flat_motions and len(modes.omega) == 4
    assert "body 1 turn 3" in repr(found) and "body 1 turn 3" in repr(modes)
    free = ct.Linkage([ct.Body.box((1, 2, 3))] * 2, [ct.Revolute(0, 1, ((0, 0, -1.5), (0, 0, 1.5)))], gravity=(0, 0, 0))
    floating = free.equilibrium()
    assert floating.converged and floating.flat == 7
    assert (
        floating.flat_motions[:2] == ("body 0 shift x", "body 0 shift y") and "joint 0 angle" in floating.flat_motions
    )
    with pytest.raises(ct.InputError, match="nothing holds body 0"):
        ct.Linkage(free.bodies, free.joints).equilibrium()
    slide = ct.Prismatic(-1, 0, axis=(0, 0.6, 0.8))
    with pytest.raises(ct.InputError, match=r"nothing holds joint 0 shift against the force -15\.696"):
        ct.Linkage([ct.Body.box((1, 2, 3), mass=2.0)], [slide]).equilibrium()
    level = ct.Linkage([ct.Body.box((1, 2, 3), mass=2.0)], [ct.Prismatic(-1, 0, axis=(1, 0, 0))]).equilibrium()
    assert level.converged and level.flat_motions == ("joint 0 shift",)
    tied = ct.Linkage(free.bodies, free.joints, [ct.Spring(-1, 0, k=5.0)], gravity=(0, 0, -1))
    assert tied.equilibrium().state.position[0] == pytest.approx([0.0, 0.0, -0.4], abs=1e-12)


def test_a_rigid_motion_of_three_coordinates_is_one_motion():
    """A plane chain that hangs from a vertical hinge: the whole of it turns about the vertical."""
    body = ct.Body.box((0.2, 0.3, 1.0))
    joints = [
        ct.Spherical(-1, 0, ((0, 0, 0), (0.1, 0.2, 0.5))),
        ct.Revolute(0, 1, ((0, 0, -0.5), (0, 0.1, 0.5)), axis=(1, 0, 0)),
    ]
    modes = ct.Linkage([body, body], joints).normal_modes()
    assert modes.zero == 1 and "turn 1" in modes.zero_motions[0] and "turn 3" in modes.zero_motions[0]


def test_a_spring_without_direction_is_no_equilibrium():
    """At the tip of a cone the kernels have no force, and the slopes none of its own: 1.5 of energy would be called the least."""
    body = ct.Body.box((0.1, 0.2, 1.0), mass=2.0)
    pressed = ct.Linkage([body], [], [ct.Spring(-1, 0, k=3.0, length=1.0)], gravity=(0, 0, 0))
    with pytest.raises(ct.InputError, match=r"points of a force coincide(.|\n)*forces\[0\]"):
        pressed.equilibrium()
    found = pressed.equilibrium(pressed.start(position=[(0.0, 0.0, 1e-3)]))
    assert found.converged and abs(found.energy) < 1e-25
    loose = ct.Linkage([body], [], [ct.Spring(-1, 0, k=3.0)], gravity=(0, 0, 0))
    assert loose.equilibrium().converged  # a parabola: nothing pulls there


def test_loads_torques_and_torsions():
    """A pendulum pulled aside by f hangs at atan(f/mg); a torque on a hinge, at asin(t/mgl); torsions count from the start."""
    rod = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    pendulum = ct.Linkage([rod], [hinge], gravity=(0, 0, -10))
    pulled = pendulum.equilibrium(load=(0.0, 7.0, 0.0))
    assert pulled.state.position[0] == pytest.approx(0.5 * np.array([0.0, 7.0, -20.0]) / np.hypot(7.0, 20.0), abs=1e-15)
    assert pulled.energy == pytest.approx(-0.5 * np.hypot(7.0, 20.0), rel=1e-15)
    assert pendulum.equilibrium(load=[(0.0, 7.0, 0.0)]).energy == pulled.energy
    twisted = ct.Linkage([rod], [hinge], [ct.Load(0, torque=(6.0, 0.0, 1.0))], gravity=(0, 0, -10)).equilibrium()
    angle = np.arcsin(6.0 / 10.0)
    assert twisted.state.position[0] == pytest.approx([0.0, 0.5 * np.sin(angle), -0.5 * np.cos(angle)], abs=1e-15)
    assert twisted.energy == pytest.approx(-10.0 * np.cos(angle) - 6.0 * angle, rel=1e-14)
    start = pendulum.start(orientation=[(np.cos(0.3), np.sin(0.3), 0.0, 0.0)])
    held = ct.Linkage([rod], [hinge], [ct.Torsion(0, "50*theta**2")], gravity=(0, 0, -10)).equilibrium(start)
    turned = float(held.linkage.angles(held.state)[0])
    assert 100.0 * turned + 10.0 * np.sin(0.6 + turned) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_the_squeezing_mechanism_comes_to_rest():
    """Three loops, a spring, and a torque on the crank; verified by the accelerations of the equations with multipliers."""
    from catena.analysis.linkage_reactions import accelerations

    mechanism, start = squeezer(of=Linkage)
    found = mechanism.equilibrium(start)
    assert found.converged
    moved, _ = accelerations(found.linkage, found.state)
    before, _ = accelerations(found.linkage, start)
    assert np.abs(moved).max() < 1e-9 * np.abs(before).max()


def test_what_is_no_problem_of_statics_is_refused():
    rod = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
    ball = ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0.5)))

    def loaded(**load: Any) -> Linkage:
        return ct.Linkage([rod], [ball], [ct.Load(0, **load)])

    plain = ct.Linkage([rod], [ball])
    for make, error, match in (
        (lambda: loaded(force=("sin(t)", 0, 0)).equilibrium(), ct.CapabilityError, "changes with time"),
        (lambda: loaded(torque=(0, 0, 1)).equilibrium(), ct.CapabilityError, "torque on body 0 has no potential"),
        (lambda: plain.equilibrium(load=(1.0, 2.0)), ct.InputError, "load"),
        (lambda: plain.equilibrium(tol=0.0), ct.InputError, "tol = 0"),
        (lambda: plain.normal_modes(count=0), ct.InputError, "count = 0"),
        (
            lambda: plain.normal_modes(plain.start(orientation=[(0.8, 0.6, 0, 0)])),
            ct.InputError,
            "this is no equilibrium",
        ),
    ):
        with pytest.raises(error, match=match):
            make()
    moving = ct.problems.bricard()
    with pytest.raises(ct.CapabilityError, match="at rest only"):
        moving.system.linearise(moving.start)


def verified(found: Any) -> None:
    """Residual by differences of the energy, and the number of ways down by a dense eigensolver of differences of the force."""
    problem, here = found.problem, found.balance
    h, force, columns = 1e-4, [], []
    for y in np.eye(len(here.free)):
        sides = {k: problem.balance(problem.moved(here, k * h * y)) for k in (-2, -1, 1, 2)}
        force.append((8 * (sides[1].energy - sides[-1].energy) - (sides[2].energy - sides[-2].energy)) / (12 * h))
        columns.append((sides[1].gradient - sides[-1].gradient) / (2 * h))
    values = np.linalg.eigvalsh(0.5 * (np.array(columns) + np.array(columns).T))
    assert np.abs(force).max() < 1e-7 * max(1.0, np.abs(here.gross).max())
    assert values[0] > -1e-6 * values[-1]


@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_random_starts_give_no_false_equilibrium(count):
    """Trees of all joints, and a loop, with springs; from anywhere."""
    statuses = []
    for seed in range(count):
        chance = np.random.default_rng(seed)
        if seed % 3 == 2:
            system, start = four_bars((2.0, 1.5, 1.2, 1.6), chance.uniform(0.9, 2.0), 0.0)
            system = Linkage(system.bodies, system.joints, [ct.Spring(-1, 1, POINTS, k=3.0)], gravity=(0, 0, -1))
        else:
            system, _, still = random_tree(
                [ct.Spherical, ct.Revolute, ct.Universal], [-1, 0, 1], seed, forces=FORCES[:1]
            )
            start = system.start(orientation=still.orientation)
        found = system.equilibrium(start)
        statuses.append(found.status)
        if found.converged:
            verified(found)
    assert statuses.count("converged") > 0.9 * count, statuses


# In motion -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_small_motions_oscillate_at_the_frequencies_of_their_modes():
    """EnergyMomentum, as the midpoint rule, oscillates at (2/dt) arctan(w dt/2); beyond it 1e-9 was measured at this amplitude."""
    chain = ct.problems.hanging_chain("revolute", 4)
    modes = chain.system.normal_modes()
    dt = 0.02
    run = ct.simulate(chain.system, modes.start({mode: 1e-4 for mode in range(4)}), dt=dt, steps=4000)
    _, rates = modes.amplitudes(run)
    for mode, omega in enumerate(modes.omega):
        values, lag = rates[:, mode], max(1, int(0.8 / (omega * dt)))
        ahead, here, behind = values[2 * lag :], values[lag:-lag], values[: -2 * lag]
        measured = np.arccos((ahead + behind) @ here / (2.0 * here @ here)) / (lag * dt)
        shifted = 2.0 / dt * np.arctan(0.5 * omega * dt)
        assert measured == pytest.approx(shifted, rel=2e-7), mode
        if omega > 4.0:  # the twin: without the shift of the method
            assert abs(measured / omega - 1.0) > 1e-4
    energy = modes.energy(run)
    assert energy.isel(time=0).values == pytest.approx(0.5e-8, rel=1e-6)


def test_modes_are_orthonormal_in_the_bodies_and_in_the_joints():
    chain = ct.problems.hanging_chain("spherical", 3)
    modes = chain.system.normal_modes()
    body = chain.system.bodies[0]
    mass = np.zeros((6, 6))
    mass[:3, :3], mass[3:, 3:] = body.mass * np.eye(3), body.tensor
    products = np.einsum("kni,ij,lnj->kl", modes.vectors, mass, modes.vectors)
    assert np.abs(products - np.eye(6)).max() < 1e-13
    matrices = chain.system.linearise(modes.state)
    inside = modes.joint_vectors @ matrices.stiffness @ modes.joint_vectors.T
    assert np.abs(inside - np.diag(modes.omega**2)).max() < 1e-12 * modes.omega[-1] ** 2
    assert modes.displacement(0).position.shape == (3, 3) and len(chain.system.normal_modes(count=2).omega) == 2


def test_dampers_take_what_closed_form_says():
    """A damped pendulum, s = -c/2I +- i sqrt(mgl/I - (c/2I)^2); the modes leave it out, and tell."""
    i = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    damped = ct.Linkage([i], [hinge], [ct.Torsion(0, damping=0.3)], gravity=(0, 0, -10))
    inertia = i.moments.max() + 2.0 * 0.25
    omega, decay = np.sqrt(10.0 / inertia), 0.15 / inertia
    modes = damped.normal_modes()
    assert modes.omega == pytest.approx([omega], rel=1e-14) and modes.damping == pytest.approx(
        [decay / omega], rel=1e-14
    )
    assert "damping" in repr(modes)
    found = damped.linearise(damped.start()).eigenvalues()
    assert np.sort(found.imag) == pytest.approx(np.sqrt(omega**2 - decay**2) * np.array([-1, 1]), rel=1e-14)
    assert found.real == pytest.approx([-decay] * 2, rel=1e-13)


@pytest.mark.parametrize("spin", [3.0, 8.0])
def test_a_sleeping_top_falls_or_sleeps(spin):
    """I3^2 w^2 > 4 A mgl [goldstein2002]: roots of A x^2 - I3 w x + mgl in space, less w in the axes of the top."""
    top = ct.Body.disc(0.5, 0.1, mass=2.0)
    upright = ct.Linkage([top], [ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, -0.4)))], gravity=(0, 0, -10))
    state = upright.start(angular_velocity=[(0.0, 0.0, spin)])
    found = upright.linearise(state)
    a, i3, mgl = top.moments.min() + 2.0 * 0.16, top.moments.max(), 8.0
    roots = np.roots([a, -i3 * spin, mgl])
    wanted = [s for root in roots for s in (1j * (root - spin), -1j * (root - spin))]
    values = found.eigenvalues()
    for s in wanted:
        assert np.abs(values - s).min() < 1e-12 * abs(s)
    stable = i3**2 * spin**2 > 4.0 * a * mgl
    assert (values.real.max() < 1e-10) == stable
    assert found.gyroscopic.any() and found.turning.any()


@pytest.mark.slow
def test_large_linkages_compile_and_agree(monkeypatch):
    """The same kernels, as plain Python and compiled: the same bits."""
    import catena.analysis.statics.linkage_problem as module

    linkage = rods(3, ct.Revolute)
    plain = linkage.normal_modes().omega
    monkeypatch.setattr(module, "PLAIN", 0)
    assert (linkage.normal_modes().omega == plain).all()


# On a page -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["helix", "four_bar"])
def test_a_mode_oscillates_on_a_page(name, tmp_path, monkeypatch):
    """Frames begin at the equilibrium, go as far to both sides, and come back; no joint of a loop comes apart on the way."""
    if name == "helix":
        helix = ct.problems.helix_chain(5, amp=0.0)
        modes: ct.Modes = helix.system.normal_modes(helix.start)
    else:
        bars = ct.problems.four_bar()
        modes = bars.system.normal_modes(bars.system.equilibrium(bars.start))
    size = modes.visible_amplitude(0)
    position, orientation = modes.displaced(0, size * np.array([0.0, 1.0, -1.0, 1e-5]))
    assert np.abs(position[0] - modes.state.position).max() < 1e-14
    moved = np.linalg.norm(position[1:3] - position[0], axis=2).max(axis=1)
    assert moved[0] == pytest.approx(moved[1], rel=0.2)
    along = modes.displacement(0).position
    assert np.abs((position[3] - position[0]) / (1e-5 * size) - along).max() < 1e-3 * np.abs(along).max()
    if isinstance(modes.system, ct.Linkage):
        modes.system.start(position[1], orientation[1])  # which refuses what does not fit
    monkeypatch.setattr("catena.output.page.pose_pages.FRAMES", 12)
    page = modes.view(tmp_path / "mode.html", mode=0)
    text = (tmp_path / "mode.html").read_text(encoding="utf-8")
    assert text == page.html and f"Mode 0: omega = {modes.omega[0]:.10g}" in text and "Frequencies" in text
    for mode in (-1 - len(modes.omega), len(modes.omega), 0.5, True):
        with pytest.raises(ct.InputError, match="there is no mode"):
            modes.view(mode=mode)


def pulled_point(arm: tuple[float, ...], at: tuple[float, ...]) -> Linkage:
    """A point on a universal joint, whose axes are z of the ground and y, pulled by a spring without length."""
    point = ct.Body.from_particles([(0, 0, 0)], masses=[1.3])
    joint = ct.Universal(-1, 0, at=((0, 0, 0), arm), axis=(0, 0, 1))
    return ct.Linkage([point], [joint], [ct.Spring(-1, 0, at=(at, (0, 0, 0)), k=2.0)], gravity=(0, 0, 0))


def test_where_a_turn_of_a_point_moves_nothing_it_has_no_frequency(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulled to its pole a turn about z moves nothing; pulled as far as it comes, both turns move it alike, and omega^2 was 7e16.

    Elsewhere it moves on a sphere of radius 1 as a pendulum: omega^2 = k d/m at the distance d of the pull from the middle.
    """
    free = pulled_point((1, 0, 0), (0, 0.3, -2.7)).equilibrium()
    assert free.lowest == pytest.approx(2.0 * np.hypot(0.3, 2.7) / 1.3, rel=1e-10)
    stuck = [pulled_point(arm, (0, 0, -3.0)) for arm in ((1, 0, 0), (0.6, 0.8, 0))]
    for linkage in stuck:
        with pytest.raises(CapabilityError, match="nothing resists the turn of body 0"):
            linkage.equilibrium()
    monkeypatch.setattr(linkage_equilibrium, "INERT", -1.0)
    assert stuck[1].equilibrium().lowest > 1e10
