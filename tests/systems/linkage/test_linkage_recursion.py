"""Steps in the joints' increments against the same steps with all bodies' increments and multipliers, and how fast they converge."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.systems.linkage import traits
from catena.systems.linkage.layout import Scratch
from uncompiled import simulate

METHODS = {"both": ct.EnergyMomentum(), "position": ct.EnergyMomentum(level="position")}
BODIES = 6
STEPS = 6


def random_tree(kinds: str, *, floating: bool, forces: bool) -> tuple[ct.Linkage, ct.State]:
    """A branched tree of bodies with full inertia, its joints hinges (r), ball joints (s) and rigid joints (g) in turn."""
    random = np.random.default_rng(1)
    bodies, joints = [], []
    for i in range(BODIES):
        a = random.normal(size=(3, 3))
        bodies.append(ct.Body.from_inertia(random.uniform(0.5, 2.0), a @ a.T + 9.0 * np.eye(3)))
        if i == 0 and floating:
            continue
        parent = int(random.integers(0 if floating else -1, i)) if i else -1
        at = tuple(map(tuple, 0.5 * random.normal(size=(2, 3))))
        axis = tuple(random.normal(size=3))
        made = {
            "r": ct.Revolute(parent, i, at, axis=axis),
            "s": ct.Spherical(parent, i, at),
            "g": ct.Rigid(parent, i, at),
        }
        joints.append(made[kinds[i % len(kinds)]])
    acting: list[object] = []
    if forces:
        hinges = [k for k, joint in enumerate(joints) if isinstance(joint, ct.Revolute)]
        acting = [ct.Torsion(k, "8*(1 - cos(theta - 0.3)) + theta**2", damping=0.2) for k in hinges]
        acting += [
            ct.Spring(-1, BODIES - 1, ((1.0, 1.0, 1.0), (0.3, 0.0, 0.0)), k=5.0, length=0.5),
            ct.Load(BODIES - 1, (0.1, 0.2, 0.3), force=(0.3, "sin(3*t)", 0.5), torque=(0.1, 0.0, 0.2)),
        ]
    linkage = ct.Linkage(bodies, joints, acting)
    turns = random.normal(size=(BODIES, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    return linkage, linkage.start(orientation=turns, angular_velocity=random.normal(size=(BODIES, 3)), project=True)


TREES = {
    "hinges": ("r", False, False), "hinges with forces": ("r", False, True), "mixed": ("rsg", False, True),
    "floating": ("srg", True, False), "floating with forces": ("srrg", True, True),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "tree", [pytest.param(tree, marks=() if "forces" in tree else pytest.mark.slow) for tree in TREES]
)
def test_joints_increments_give_the_step_of_all_unknowns(tree, method, monkeypatch) -> None:
    """Two codes of the same equations, one with multipliers; momenta reach 20, and the published step turns errors around."""
    kinds, floating, forces = TREES[tree]
    linkage, start = random_tree(kinds, floating=floating, forces=forces)
    assert traits.is_recursive(linkage)
    ours = simulate(linkage, start, METHODS[method], dt=0.05, steps=STEPS)
    monkeypatch.setattr(traits, "is_recursive", lambda linkage: False)
    linkage, start = random_tree(kinds, floating=floating, forces=forces)  # what a system shows is asked for once
    other = simulate(linkage, start, METHODS[method], dt=0.05, steps=STEPS)
    assert build(linkage, METHODS[method], compiled=False).view.unknowns > 6 * BODIES
    for name, tolerance in (
        ("position", 1e-13),
        ("orientation", 1e-13),
        ("momentum", 1e-11),
        ("angular_momentum", 1e-11),
    ):
        assert np.abs(getattr(ours.final, name) - getattr(other.final, name)).max() < tolerance
    for name in ("joint_position_residual", "unit_residual"):
        assert float(np.abs(ours.data[name]).max()) < 1e-14
    change = np.abs(ours.data["energy"] - ours.data["energy"][0]).max()
    assert float(change) < 1e-12


def corrections(
    linkage: ct.Linkage, start: ct.State, method: ct.EnergyMomentum, *, dt: float, wrong: bool = False
) -> list[float]:
    """Sizes of the corrections in one step, with new derivatives for each; `wrong`: with a wrong sign in these."""
    program = build(linkage, method, compiled=False)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=1)
    names = program.advance_members.__globals__
    correct, turn = (
        names[f"systems_linkage_director_form_{name}"] for name in ("recursion_correct", "recursion_tables_turn_arm")
    )
    sizes = []

    def noted(z, h, par, x):
        par.scratch[Scratch.FACTORED] = 0.0
        sizes.append(correct(z, h, par, x))
        return sizes[-1]

    names["systems_linkage_director_form_recursion_correct"] = noted
    names["methods_conserving_energy_momentum_follow"] = lambda z, h, par, x, kept: (
        0
    )  # whose corrections are those of shorter steps
    if wrong:
        names["systems_linkage_director_form_recursion_tables_turn_arm"] = lambda table, own, sign, *rest: turn(
            table, own, -sign, *rest
        )
    driver.advance(1)
    return sizes


@pytest.mark.parametrize("tree", TREES)
def test_the_published_step_is_solved_by_newtons_method(tree) -> None:
    """With the exact derivative each correction is about the square of the one before; a wrong term makes them fall linearly."""
    kinds, floating, forces = TREES[tree]
    sizes = corrections(*random_tree(kinds, floating=floating, forces=forces), METHODS["position"], dt=0.1)
    falling = [(a, b) for a, b in pairwise(sizes) if 1e-7 < a < 1e-2]
    assert falling
    for before, after in falling:
        assert after < 30.0 * before**2 + 1e-14


@pytest.mark.parametrize("tree", TREES)
def test_with_both_levels_the_derivative_lacks_only_what_is_small(tree) -> None:
    """Left out are products with the second multiplier, which is small of third order in dt: corrections fall by 100 and more."""
    kinds, floating, forces = TREES[tree]
    linkage, start = random_tree(kinds, floating=floating, forces=forces)
    for dt, least in ((0.1, 30.0), (0.02, 1000.0)):
        sizes = corrections(linkage, start, METHODS["both"], dt=dt)
        assert len(sizes) > 2
        assert all(after < before / least + 1e-14 for before, after in pairwise(sizes[1:]))


@pytest.mark.parametrize("method", METHODS)
def test_a_wrong_sign_in_the_recursion_is_noticed(method) -> None:
    """The turn of the arms under a force: without forces but weight a step of 0.1 needs three corrections, with the error more."""
    linkage, start = random_tree("r", floating=False, forces=False)
    right = corrections(linkage, start, METHODS[method], dt=0.1)
    spoiled = corrections(linkage, start, METHODS[method], dt=0.1, wrong=True)
    assert spoiled[1] > 4.0 * right[1]
    assert len(spoiled) > len(right)
