"""Linked bodies that start from rest: the first step is solved as far as any other, though no motion tells yet what is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.methods.base import Method
from catena.methods.runge_kutta.tableaux import Collocation, gauss, radau_iia
from catena.running.auditing import exact_limit
from catena.systems.linkage.layout import Scratch
from catena.systems.linkage.traits import is_recursive
from linked import ANGULAR, AXIS, FIRST, KINDS, SECOND
from references import collocation_step
from uncompiled import simulate

mp.mp.dps = 40
LEVELS = {"both": ct.EnergyMomentum(), "position": ct.EnergyMomentum(level="position")}
DIRECTORS = ct.EnergyMomentum(variables="directors")
GRAVITY = {"without gravity": (0.0, 0.0, 0.0), "with gravity": (0.0, -9.81, 0.0)}

# One body on a hinge: a scalar equation --------------------------------------------------------------------------------

MASS, MOMENTS, ARM = 1.3, (1.0, 1.2, 1.5), (0.3, -0.5, 0.0)  # the hinge is at -ARM in the body, and at the origin
POINT, ANCHOR = (0.4, 0.1, 0.0), (1.0, 0.9, 0.3)
PULL, TWIST = (3.0, "4*cos(3*t)", -5.0), 0.7
INERTIA = mp.mpf(MOMENTS[2]) + MASS * (mp.mpf(ARM[0]) ** 2 + mp.mpf(ARM[1]) ** 2)
FORCES: dict[str, Any] = {
    "torsion": ct.Torsion(0, "20*(1 - cos(2*theta - 1))"),
    "damped torsion": ct.Torsion(0, "20*(1 - cos(2*theta - 1))", damping=0.8),
    "spring": ct.Spring(-1, 0, (ANCHOR, POINT), k=40.0, length=0.5),
    "damper": ct.Damper(-1, 0, (ANCHOR, POINT), c=3.0),
    "site pair": ct.SitePair(-1, 0, (ANCHOR, POINT), potential=ct.LennardJones(5.0, 1.2)),
    "load": ct.Load(0, POINT, force=PULL, torque=(0.2, 0.1, TWIST)),
    "motor": ct.Motor(0, torque="2*cos(3*t)"),
    "target": ct.Motor(0, target="0.4 + t", kp=30.0, kd=0.6),
    "limit": ct.Limit(0, 0.2, 1.0, stiffness=25.0, damping=4.0),
}


def hinge(names: tuple[str, ...], gravity: tuple[float, ...], form: Any = None) -> tuple[ct.Linkage, ct.State]:
    """The body at rest, with these forces."""
    joint = ct.Revolute(-1, 0, ((0.0, 0.0, 0.0), tuple(-c for c in ARM)), axis=(0.0, 0.0, 1.0))
    linkage = ct.Linkage(
        [ct.Body(MASS, MOMENTS)], [joint], [FORCES[name] for name in names], gravity=gravity, form=form
    )
    return linkage, linkage.start()


def turned(point: tuple[float, ...], angle: Any) -> list[Any]:
    """Where a point of the body is, seen from the hinge, after a turn about it."""
    x, y = (mp.mpf(c) + a for c, a in zip(point[:2], ARM[:2], strict=True))
    return [mp.cos(angle) * x - mp.sin(angle) * y, mp.sin(angle) * x + mp.cos(angle) * y, mp.mpf(point[2])]


def distance(angle: Any) -> Any:
    """From the anchor to the point."""
    return mp.sqrt(sum((a - b) ** 2 for a, b in zip(turned(POINT, angle), map(mp.mpf, ANCHOR), strict=True)))


def potential(angle: Any, names: tuple[str, ...], gravity: tuple[float, ...]) -> Any:
    """All that has a potential."""
    fall = sum(mp.mpf(g) * r for g, r in zip(gravity, turned((0.0, 0.0, 0.0), angle), strict=True))
    value = -MASS * fall
    for name in names:
        if name.endswith("torsion"):
            value += 20 * (1 - mp.cos(2 * angle - 1))
        elif name == "spring":
            value += 20 * (distance(angle) - mp.mpf(0.5)) ** 2
        elif name == "site pair":
            ratio = (mp.mpf(1.2) / distance(angle)) ** 6
            value += 4 * 5 * (ratio**2 - ratio)
        elif name == "limit":
            value += mp.mpf(12.5) * (angle - mp.mpf(0.2)) ** 2  # it stays below
    return value


def work(t: Any, d: Any, h: Any, names: tuple[str, ...]) -> Any:
    """What dampers and loads do in a step from rest that turns the body by d, t = 2 tan(d/2)."""
    value = mp.mpf(0)
    if "damped torsion" in names:
        value -= mp.mpf(0.8) * d**2 / h
    if "damper" in names:
        value -= 3 * (distance(d) - distance(0)) ** 2 / h
    if "load" in names:
        x, y, _ = (a - b for a, b in zip(turned(POINT, d), turned(POINT, 0), strict=True))
        value += 3 * x + 4 * mp.cos(mp.mpf(1.5) * h) * y + mp.mpf(TWIST) * t
    return value + pushed(d / 2, d / h, h / 2, names) * d


def pushed(angle: Any, rate: Any, time: Any, names: tuple[str, ...]) -> Any:
    """The torque of motors, and of what brakes a stop."""
    value = mp.mpf(0)
    if "motor" in names:
        value += 2 * mp.cos(3 * time)
    if "target" in names:
        value -= 30 * (angle - mp.mpf(0.4) - time) + mp.mpf(0.6) * (rate - 1)
    if "limit" in names:
        value -= 4 * (mp.mpf(0.2) - angle) * rate
    return value


def torque(angle: Any, rate: Any, time: Any, names: tuple[str, ...], gravity: tuple[float, ...]) -> Any:
    """Of everything, for the motion itself."""
    value = -mp.diff(lambda a: potential(a, names, gravity), angle)
    if "damped torsion" in names:
        value -= mp.mpf(0.8) * rate
    if "damper" in names:
        value -= 3 * mp.diff(distance, angle) ** 2 * rate
    if "load" in names:
        x, y, _ = turned(POINT, angle)
        value += x * 4 * mp.cos(3 * time) - y * 3 + mp.mpf(TWIST)
    return value + pushed(angle, rate, time, names)


def conserving(level: str, h: Any, names: tuple[str, ...], gravity: tuple[float, ...]) -> tuple[Any, Any]:
    """Angle and rate after a conserving step from rest: the balance of energy, which is all there is with one freedom.

    t = 2 tan(d/2) is the mean of h omega at both ends. With both levels the kinetic energy is that of the turning body; the
    published step has the velocity 2 dr/h, and |dr| is a chord.
    """
    radius = INERTIA - MOMENTS[2]  # mass times the square of the arm

    def lost(t: Any) -> Any:
        d = 2 * mp.atan(t / 2)
        moving = radius * (t**2 if level == "both" else (2 * mp.sin(d / 2)) ** 2) + mp.mpf(MOMENTS[2]) * t**2
        gained = 2 * moving / h**2 + potential(d, names, gravity) - potential(0, names, gravity)
        return (gained - work(t, d, h, names)) / t  # t = 0 is no motion, and keeps the energy, too

    first = h**2 * torque(mp.mpf(0), 0, h / 2, names, gravity) / (2 * INERTIA)
    t = mp.findroot(lost, (first, first * (1 + h)), tol=1e-60, maxsteps=100)
    return 2 * mp.atan(t / 2), 2 * t / h


def rattled(h: Any, names: tuple[str, ...], gravity: tuple[float, ...]) -> tuple[Any, Any]:
    """The same by RATTLE, which is explicit here: I sin d = h^2 torque/2, I h omega = I sin d + h^2 torque/2 at the end."""
    sine = h**2 * torque(mp.mpf(0), 0, 0, names, gravity) / (2 * INERTIA)
    d = mp.asin(sine)
    return d, sine / h + h * torque(d, 0, h, names, gravity) / (2 * INERTIA)


def collocated(tableau: Collocation, h: Any, names: tuple[str, ...], gravity: tuple[float, ...]) -> tuple[Any, Any]:
    """The same by a collocation method on angle, rate and time."""

    def field(y: Any) -> list[Any]:
        return [y[1], torque(y[0], y[1], y[2], names, gravity) / INERTIA, mp.mpf(1)]

    angle, rate, _ = collocation_step(tableau, field, [mp.mpf(0)] * 3, h)
    return angle, rate


def assert_first_step(linkage: ct.Linkage, start: ct.State, method: Method, dt: float, expected: Any) -> None:
    """Angle and angular momentum to some 50 roundings; a difference quotient of energies over a turn d is rounded by 4e-15/d."""
    final = simulate(linkage, start, method, dt=dt, steps=1).final
    angle = 2.0 * np.arctan2(final.orientation[0, 3], final.orientation[0, 0])
    d, rate = expected
    allowed = 1e-14 + 4e-15 / abs(float(d))
    assert abs(angle / float(d) - 1.0) < allowed
    assert abs(final.angular_momentum[0, 2] / (MOMENTS[2] * float(rate)) - 1.0) < allowed
    assert np.abs(final.angular_momentum[0, :2]).max() < 1e-15 * abs(float(rate))


@pytest.mark.parametrize("gravity", GRAVITY)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "force",
    [("torsion",), ("spring", "damper"), ("damped torsion", "load"), ("site pair",), ("motor",), ("target", "limit")],
)
def test_a_conserving_step_from_rest_solves_the_balance_of_energy(force, level, gravity) -> None:
    """The root of that balance is found with forty digits; one Newton correction alone is off by 1e-3 to 0.1."""
    expected = conserving(level, mp.mpf(0.05), force, GRAVITY[gravity])
    assert_first_step(*hinge(force, GRAVITY[gravity]), LEVELS[level], 0.05, expected)


@pytest.mark.parametrize("dt", [0.2, 0.05, 1e-3])
def test_the_published_equations_from_rest_solve_the_balance_of_energy(dt) -> None:
    """Gravity alone acts. Joints' points meet to 1e-16, which is 1e-10 of the turn in a step of 1e-3."""
    gravity = GRAVITY["with gravity"]
    d, rate = conserving("position", mp.mpf(dt), (), gravity)
    final = simulate(*hinge((), gravity), DIRECTORS, dt=dt, steps=1).final
    allowed = 1e-14 + 1e-15 / abs(float(d))
    assert abs(final.angular_momentum[0, 2] / (MOMENTS[2] * float(rate)) - 1.0) < allowed


@pytest.mark.parametrize("gravity", GRAVITY)
@pytest.mark.parametrize("force", [("torsion", "spring"), ("site pair", "load"), ("motor",)])
def test_rattle_from_rest_is_what_it_is_in_closed_form(force, gravity) -> None:
    expected = rattled(mp.mpf(0.05), force, GRAVITY[gravity])
    assert_first_step(*hinge(force, GRAVITY[gravity]), ct.Rattle(), 0.05, expected)


@pytest.mark.parametrize("gravity", GRAVITY)
@pytest.mark.parametrize(
    ("method", "tableau"), [(ct.Gauss(2), gauss(2)), (ct.RadauIIA(3), radau_iia(3))], ids=["Gauss", "Radau"]
)
def test_the_joint_form_from_rest_solves_the_stages(method, tableau, gravity) -> None:
    force = ("damped torsion", "spring", "damper", "site pair", "load", "motor", "target", "limit")
    expected = collocated(tableau, mp.mpf(0.05), force, GRAVITY[gravity])
    assert_first_step(*hinge(force, GRAVITY[gravity], form="joint"), method, 0.05, expected)


# Trees with a joint of any kind ------------------------------------------------------------------------------------------

THIRD = ((1.0, 0.1, 0.0), (0.1, 0.8, 0.05), (0.0, 0.05, 0.9))
ALL = ("torsions", "load", "ground", "spring", "damper", "site pair", "motors")
INNER = ("torsions", "spring", "site pair")
SINGLE = ("torsions", "load", "ground")  # a tree of hinges and ball joints then has no unknowns but those of its joints
RECURSIVE = ("Spherical", "Revolute", "Rigid")


def tree(kind: str, names: tuple[str, ...], *, grounded: bool, gravity: bool) -> ct.Linkage:
    """Two bodies on a joint of this kind, the first on a hinge to the ground or to a free body.

    "torsions" act on all joints with an angle, "torsion" on that hinge.
    """
    more: dict[str, Any] = {} if kind in ("Spherical", "Rigid") else {"axis": AXIS}
    more |= {"pitch": 0.3} if kind == "Screw" else {}
    a, b = (0, 1) if grounded else (1, 2)
    joints: list[Any] = [
        ct.Revolute(a - 1, a, ((0.4, 0.1, 0.7), (0.3, -0.2, 0.5)), axis=(0.3, 1.0, 0.2)),
        getattr(ct, kind)(a, b, ((0.2, 0.1, -0.4), (0.3, -0.4, 0.2)), **more),
    ]
    torsions = [ct.Torsion(k, "20*(1 - cos(2*theta - 1))") for k in range(2) if k == 0 or kind in ANGULAR]
    acting = {
        "torsion": torsions[:1],
        "torsions": torsions,
        "load": [ct.Load(b, (0.1, 0.2, 0.3), force=(3.0, "4*cos(3*t)", -5.0), torque=(1.0, 2.0, 0.5))],
        "ground": [ct.Spring(-1, b, ((1.0, 1.0, 1.0), (0.3, 0.0, 0.0)), k=50.0, length=0.5)],
        "spring": [ct.Spring(a, b, ((0.5, 0.4, 0.0), (-0.3, 0.2, 0.7)), k=60.0, length=0.2)],
        "damper": [ct.Damper(a, b, ((0.5, -0.4, 0.1), (-0.3, 0.9, 0.7)), c=3.0)],
        "motors": [ct.Motor(0, target="t - 0.5", kp=9.0, kd=0.5), ct.Limit(0, 0.1, 1.0, stiffness=8.0, damping=2.0)],
        "site pair": [ct.SitePair(a, b, ((0.5, 0.8, 0.0), (-0.3, 0.2, -0.7)), potential=ct.LennardJones(5.0, 1.2))],
    }
    inertias = ((2.0, FIRST), (1.5, SECOND), (1.0, THIRD))[: b + 1]
    forces = [force for name in names for force in acting[name]]
    bodies = [ct.Body.from_inertia(mass, tensor) for mass, tensor in inertias]
    return ct.Linkage(bodies, joints, forces, gravity=(0.0, 0.0, -9.81 * gravity))


def missing(
    linkage: ct.Linkage, method: Method, *, dt: float, steps: int, correct: Callable[..., Any] | None = None
) -> tuple[float, Driver]:
    """What one more correction, with new derivatives, would change in the unknowns of each step, to their size; the run.

    `correct` makes of the kernel of corrections another one.
    """
    program = build(linkage, method, compiled=False)
    names = program.advance_members.__globals__
    accepting, correcting = (
        next(name for name in names if name.startswith("systems_linkage") and name.endswith(end))
        for end in ("_accept", "_correct")
    )
    accept, right = names[accepting], names[correcting]
    left = []

    def noted(z, e, h, par, x):
        further = x.copy()
        par.scratch[Scratch.FACTORED] = 0.0
        right(z, h, par, further)
        left.append(np.abs(further - x).max() / np.abs(x).max())
        return accept(z, e, h, par, x)

    names[accepting] = noted
    if correct is not None:
        names[correcting] = correct(right)
    driver = Driver(program, program.view.pack(linkage.start()), t0=0.0, dt=dt, every=1)
    assert driver.advance(steps).status == 0
    return max(left), driver


TREES = [(kind, ALL, level, place % 2 == 1) for place, kind in enumerate(KINDS) for level in [*LEVELS, "rattle"]]
TREES += [(kind, SINGLE, level, gravity) for kind in RECURSIVE for level in LEVELS for gravity in (False, True)]


@pytest.mark.parametrize(
    ("kind", "names", "level", "gravity"), TREES,
    ids=[f"{kind}, {level}, {len(names)} forces, {9.81 * g}" for kind, names, level, g in TREES],
)  # fmt: skip
def test_the_first_steps_of_a_tree_from_rest_are_solved(kind, names, level, gravity) -> None:
    """Positions and directors are about 1, unknowns about 0.05; quotients of energies add 1e-13 where points hardly move."""
    names = tuple(name for name in names if level != "rattle" or name not in ("damper", "motors"))
    linkage = tree(kind, names, grounded=kind not in ("Spherical", "Universal", "Planar"), gravity=gravity)
    assert is_recursive(linkage) == (names == SINGLE)
    left, _ = missing(linkage, LEVELS.get(level, ct.Rattle()), dt=0.05, steps=2)
    assert left < 1e-12


PARTICLES = (
    ((0.3, 0.1, 0.0), (-0.2, 0.4, 0.1), (0.1, -0.3, 0.5)),
    ((0.2, 0.0, 0.1), (-0.4, 0.1, 0.2), (0.0, 0.3, -0.3)),
)
TERMS: dict[str, tuple[Any, ...]] = {
    "pairs": (),
    "field": (ct.External("3*x**2 + 2*x*y + z*(1 + t)"),),
    "angle": (ct.Angle((0, 1, 4), "6*(theta - 1)**2"),),
    "dihedral": (ct.Dihedral((0, 1, 3, 5), "4*(1 - cos(phi - 0.6))"),),
}


def molecule(kind: str, what: str) -> ct.Linkage:
    """Two bodies of three particles each on a joint of this kind, free, without gravity."""
    more: dict[str, Any] = {} if kind == "Spherical" else {"axis": AXIS}
    joint = getattr(ct, kind)(0, 1, ((0.5, 0.2, 0.1), (-0.4, 0.1, -0.3)), **more)
    pairs = ct.LennardJones(2.0, 0.7) if what == "pairs" else None
    bodies = [ct.Body.from_particles(places) for places in PARTICLES]
    return ct.Linkage(bodies, [joint], TERMS[what], gravity=(0, 0, 0), pairs=pairs, exclude=0)


OF_PARTICLES = [
    pytest.param(kind, what, level, marks=[] if (what, level) in (("dihedral", "position"), ("field", "both"), ("pairs", "rattle")) else pytest.mark.slow)
    for kind, what in (("Revolute", "pairs"), ("Spherical", "field"), ("Cylindrical", "angle"), ("Revolute", "dihedral"))
    for level in (*LEVELS, "rattle")
]  # fmt: skip


@pytest.mark.parametrize(("kind", "what", "level"), OF_PARTICLES)
def test_the_first_steps_of_particles_from_rest_are_solved(kind, what, level) -> None:
    """As of trees; what acts on particles is no part of the derivatives in sweeps along a tree, so corrections end where they stop shrinking."""
    linkage = molecule(kind, what)
    left, driver = missing(linkage, LEVELS.get(level, ct.Rattle()), dt=0.05, steps=2)
    assert left < 1e-12
    assert np.abs(driver.z).max() > 0.0


def hasty(correct: Callable[..., float]) -> Callable[..., float]:
    """A correction that is measured by the motion before it: from rest and without gravity the first seems to be nothing."""

    def corrected(z, h, par, x):
        moving = bool(x.any())
        change = correct(z, h, par, x)
        return change if moving or change < 0.0 else 0.0

    return corrected


@pytest.mark.parametrize(("kind", "names"), [("Revolute", ("torsions",)), ("Universal", ("spring",))])
def test_a_single_correction_is_seen_to_be_too_little(kind, names) -> None:
    linkage = tree(kind, names, grounded=False, gravity=False)
    left, _ = missing(linkage, LEVELS["both"], dt=0.05, steps=1, correct=hasty)
    assert left > 1e-5


def test_a_single_correction_of_particles_is_seen_to_be_too_little() -> None:
    left, _ = missing(molecule("Revolute", "dihedral"), LEVELS["both"], dt=0.05, steps=1, correct=hasty)
    assert left > 1e-5


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kind", "names"), [("Revolute", ("torsions",)), ("Cylindrical", INNER)])
def test_a_free_tree_from_rest_gains_neither_energy_nor_momentum(kind, names, level) -> None:
    """Energies are about 20, momenta about 10; the momentum of a tree at rest is zero and stays so."""
    linkage = tree(kind, names, grounded=False, gravity=False)
    run = simulate(linkage, linkage.start(), LEVELS[level], dt=0.05, steps=2)
    assert float(np.abs(run.data["energy"] - run.data["energy"][0]).max()) < 1e-13
    assert float(np.abs(run.data["total_momentum"]).max()) < 1e-14
    assert float(np.abs(run.data["total_angular_momentum"]).max()) < 1e-14


@pytest.mark.parametrize("kind", ["Revolute", pytest.param("Spherical", marks=pytest.mark.slow)])
def test_directors_and_increments_take_the_same_first_step(kind) -> None:
    """Two codes of the published equations; a chain of two falls from rest."""
    linkage = tree(kind, (), grounded=True, gravity=True)
    start = linkage.start()
    ours, other = (simulate(linkage, start, m, dt=0.05, steps=1).final for m in (LEVELS["position"], DIRECTORS))
    # momenta of about 0.3 from 48 unknowns, divided by dt = 0.05: measured up to 2.6e-14
    assert np.abs(ours.momentum - other.momentum).max() < 4e-14
    assert np.abs(ours.angular_momentum - other.angular_momentum).max() < 4e-14


# Long runs --------------------------------------------------------------------------------------------------------------

# How many torsions there are and what is measured makes another program: with one torsion all these share a dozen.
LONG = [
    (kind, ("torsion", *names), grounded, gravity, level)
    for level, names, grounded, gravities, kinds in (
        ("both", SINGLE[1:], True, (False, True), RECURSIVE), ("both", (), False, (False, True), RECURSIVE),
        ("both", ALL[1:], True, (False, True), KINDS), ("both", INNER[1:], False, (False, True), KINDS),
        ("position", SINGLE[1:], True, (False, True), RECURSIVE), ("position", (), False, (False,), RECURSIVE),
        ("position", ALL[1:], True, (False, True), KINDS), ("position", INNER[1:], False, (False,), KINDS),
        ("rattle", INNER[1:], False, (False,), KINDS), ("rattle", INNER[1:], True, (False, True), KINDS),
    )
    for gravity in gravities for kind in kinds
]  # fmt: skip


SPUN_UP = 100.0  # times the energy of the start


def not_exact(run: ct.Run) -> list[str]:
    """What is promised to be exact, and is not by the audit's verdict.

    Where a constant load has spun the bodies up, rounding grows along the run, which the audit's walks do not: then the energy has
    to stay within a tenth of what round-off may do.
    """
    found = [row for row in run.audit() if row.promised == "exact" and row.verdict != "exact"]
    scale = float(run._scale[0])
    if scale > SPUN_UP * abs(found[0].start if found else 0.0):
        found = [row for row in found if row.quantity != "energy" or row.worst > 0.1 * exact_limit(run.steps, scale)]
    return [f"{row.label} {row.finding}" for row in found]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*will press against the stop")  # so that it is met
@pytest.mark.parametrize(
    ("kind", "names", "grounded", "gravity", "level"), LONG,
    ids=[f"{case[0]}, {case[4]}, {len(case[1])} forces, {'grounded' if case[2] else 'free'}, {9.81 * case[3]}" for case in LONG],
)  # fmt: skip
def test_what_is_promised_to_be_exact_is_exact_from_rest(kind, names, grounded, gravity, level) -> None:
    """1e4 steps of 0.02; with dampers and loads it is the balance of energy and work.

    Of a thousand runs the audit takes a walk for a drift in one, and here are more than a hundred: what drifts is followed four times as
    long, in which a drift comes out more clearly and a walk does not.
    """
    linkage = tree(kind, names, grounded=grounded, gravity=gravity)
    method = LEVELS.get(level, ct.Rattle())
    for times in (1, 4):
        run = ct.simulate(linkage, linkage.start(), method=method, dt=0.02, steps=times * 10_000, every=times * 10)
        if not any(what.endswith("drifts") for what in not_exact(run)):
            break
    assert not_exact(run) == [], run.audit()


# Nothing moves ---------------------------------------------------------------------------------------------------------

RESTING = {**LEVELS, "rattle": ct.Rattle()}


@pytest.mark.parametrize("size", [1.0, 1e-10, 1e3])
@pytest.mark.parametrize("method", RESTING)
def test_what_rests_at_the_origin_goes_on_resting(method, size) -> None:
    """Joints' points meet to a rounding of their arms, also where the centre of mass is at zero and in any unit of length."""
    random = np.random.default_rng(1)
    for _ in range(2):
        arm, turn = size * random.normal(size=3), rotations.normalise(random.normal(size=4))
        joint = ct.Universal(-1, 0, (rotations.rotate(turn, arm), arm), axis=random.normal(size=3))
        linkage = ct.Linkage([ct.Body(1.0, size**2 * np.array(MOMENTS))], [joint], gravity=(0.0, 0.0, 0.0))
        start = linkage.start([(0.0, 0.0, 0.0)], [turn])
        final = simulate(linkage, start, RESTING[method], dt=0.05, steps=2).final
        assert np.abs(final.position).max() < 1e-14 * size
        assert np.abs(final.orientation - turn).max() < 1e-14


def test_the_published_equations_let_rest_what_rests() -> None:
    linkage = tree("Revolute", (), grounded=False, gravity=False)
    final = simulate(linkage, linkage.start(), DIRECTORS, dt=0.05, steps=1).final
    assert np.abs(final.momentum).max() < 1e-13


@pytest.mark.parametrize("level", LEVELS)
def test_a_load_that_begins_later_finds_the_bodies_at_rest(level) -> None:
    """Three steps of nothing are known then; the balance of energy and work holds in the step that moves, too."""
    joint = ct.Revolute(-1, 0, ((0.0, 0.0, 0.0), tuple(-c for c in ARM)), axis=(0.0, 0.0, 1.0))
    load = ct.Load(0, POINT, force=("30*(sqrt((t - 0.2)**2) + t - 0.2)", 0.0, 0.0))
    linkage = ct.Linkage([ct.Body(MASS, MOMENTS)], [joint], [load], gravity=(0.0, 0.0, 0.0))
    run = simulate(linkage, linkage.start(), LEVELS[level], dt=0.05, steps=7)
    assert np.abs(run.data["angular_momentum"][:5]).max() < 1e-15  # of the text's own rounding
    assert abs(float(run.data["angular_momentum"][-1, 0, 2])) > 0.01
    assert float(np.abs(run.data["energy"] - run.data["energy"][0]).max()) < 1e-15


LATER = "30*(sqrt((t - 0.2)**2) + t - 0.2)"


@pytest.mark.parametrize(
    "method", [pytest.param(LEVELS["both"], marks=pytest.mark.slow), LEVELS["position"], ct.Gauss(2)], ids=str
)
def test_a_motor_that_begins_later_finds_the_body_at_rest(method) -> None:
    """Steps of nothing, then a torque that grows with the time, 60 (t - 0.2): its integral is known, and stages of Gauss have it exactly."""
    joint = ct.Revolute(-1, 0, ((0.0, 0.0, 0.0), tuple(-c for c in ARM)), axis=(0.0, 0.0, 1.0))
    motor = ct.Motor(0, torque=LATER)
    linkage = ct.Linkage([ct.Body(MASS, MOMENTS)], [joint], [motor], gravity=(0.0, 0.0, 0.0))
    run = simulate(linkage, linkage.start(), method, dt=0.05, steps=7)
    assert np.abs(run.data["angular_momentum"][:5]).max() < 1e-15  # of the text's own rounding
    rate = float(run.data["angular_momentum"][-1, 0, 2]) / MOMENTS[2]
    expected = 30 * 0.15**2 / float(INERTIA)
    assert abs(rate / expected - 1.0) < (1e-13 if isinstance(method, ct.Gauss) else 3e-4)
    assert float(np.abs(run.data["energy"] - run.data["energy"][0]).max()) < 1e-15


@pytest.mark.parametrize("level", [pytest.param("both", marks=pytest.mark.slow), "position"])
def test_a_field_that_begins_later_finds_particles_at_rest(level) -> None:
    """Its strength, and with it every scale, is zero in the first steps."""
    bodies = [ct.Body.from_particles(places) for places in PARTICLES]
    linkage = ct.Linkage(bodies, [], [ct.External(f"x*{LATER}")], gravity=(0, 0, 0))
    run = simulate(linkage, linkage.start([(0, 0, 0), (2, 0, 0)]), LEVELS[level], dt=0.05, steps=6)
    assert np.abs(run.data["momentum"][:5]).max() < 1e-15
    # three particles of mass 1 each; forces in the middle of steps are exact for a linear one
    assert np.abs(run.data["momentum"][-1, :, 0] + 3 * 30 * 0.1**2).max() < 1e-13
    assert float(np.abs(run.data["energy"] - run.data["energy"][0]).max()) < 4e-14  # of parts of up to 40


@pytest.mark.parametrize("level", LEVELS)
def test_a_body_on_a_spring_keeps_its_energy_in_any_units(level) -> None:
    """A displacement is small to the size of the body and its forces, not to the unit: metres, and molecules in metres."""
    for length, mass, time in ((1.0, 1.0, 1.0), (1e-10, 1e-26, 1e-13)):
        spring = ct.Spring(-1, 0, k=40.0 * mass / time**2, length=0.5 * length)
        body = ct.Body(mass, mass * length**2 * np.array(MOMENTS))
        linkage = ct.Linkage([body], [], [spring], gravity=(0.0, 0.0, 0.0))
        start = linkage.start(length * np.array([(1.0, 0.9, 0.3)]))
        run = simulate(linkage, start, LEVELS[level], dt=0.02 * time, steps=10)
        assert float(np.abs(run.data["energy"] / run.data["energy"][0] - 1.0).max()) < 4e-15
