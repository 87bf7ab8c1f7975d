"""The form with a multiplier: its equations by differences, on the sphere and off it, and what every method loses with it."""

from __future__ import annotations

import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import bodies
import catena as ct
import harness
from bodies import GENERAL, HEAVY, distance, run_to, unit
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import can_treat
from catena.methods.base import Method, all_methods
from catena.running.plan import Problem, make_plan
from catena.systems.base import system_from
from catena.systems.top.attitude import ELEMENTS

DIGITS = harness.DIGITS
PLAIN = ct.Body(moments=(1.0, 1.5, 2.0))
# Its principal axes are found in float64: equations in 50 digits then hold to 1e-16 only.
TURNED = ct.Body.from_inertia(1.0, [[2.0, 0.3, -0.1], [0.3, 2.5, 0.2], [-0.1, 0.2, 3.0]])
CURVED = "sin(R11)*R23 + 0.7*exp(R31)/(2 + R12) - R22*R33**2"
POTENTIALS = {
    "gravity": "0.5*R31 + 0.25*R32 - R33",
    "general": bodies.general_text(GENERAL["linear"], GENERAL["quadratic"]),
    "curved": CURVED,
}
J0 = 0.7


def problem(form: str = "multiplier", potential: str = CURVED, *, body: ct.Body = PLAIN, **more: Any) -> Problem:
    top = ct.Top(body, potential, form, **more)
    return Problem(form, top, top.start(unit(3, 1, 1, -1), angular_momentum=(1.2, -0.7, 2.1)), 0.05)


def right_side(of: Problem):
    """The rates of (q, g) in 50 digits, half by half, as partitioned methods see them; and the start."""
    made = harness.Precise(ct.StormerVerlet(), of)
    stem = {"multiplier": "systems_top_multiplier_multiplier", "quaternion": "systems_top_motion_quaternion"}[of.name]

    def rates(z: np.ndarray) -> np.ndarray:
        out = harness.zeros(8)
        made.computed(f"{stem}_velocity", z, made.par, out)
        made.computed(f"{stem}_force", z, made.par, out)
        return out

    return rates, made.start()


def anywhere(seed: int) -> np.ndarray:
    """(q, g) far off the sphere, q.g not zero."""
    return harness.numbers(np.random.default_rng(seed).normal(size=8))


# The equations by differences ---------------------------------------------------------------------------------------------


def extended_energy(top: ct.Top, z: np.ndarray, j0: float) -> Any:
    """H(q, g) = (q.g)^2/(8 J0) + y.J^-1 y/2 + U(M(q)), y = G(q) g/2, from the matrices that define them."""
    q, g = mp.matrix(list(z[:4])), mp.matrix(list(z[4:]))
    v = q[1:, 0]
    cross = bodies.hat(list(v))
    big = mp.matrix(3, 4)
    big[:, 0] = -v
    big[:, 1:] = q[0] * mp.eye(3) - cross
    y = 0.5 * big * g
    frame = mp.matrix(top.body.frame_matrix.tolist())
    m = ((2 * q[0] ** 2 - 1) * mp.eye(3) + 2 * v * v.T + 2 * q[0] * cross) * frame.T
    names = dict(zip(ELEMENTS, [m[i, j] for i in range(3) for j in range(3)], strict=True))
    u = eval(top.potential.text, {"sin": mp.sin, "exp": mp.exp}, names)
    along = (q.T * g)[0]
    return along**2 / (8 * mp.mpf(j0)) + sum(y[k] ** 2 * mp.mpf(top.body.inverse_moments[k]) for k in range(3)) / 2 + u


def slopes(top: ct.Top, z: np.ndarray, j0: float) -> np.ndarray:
    gap, found = mp.mpf(10) ** -15, []
    for k in range(8):
        ahead, behind = z.copy(), z.copy()
        ahead[k] += gap
        behind[k] -= gap
        found.append((extended_energy(top, ahead, j0) - extended_energy(top, behind, j0)) / (2 * gap))
    return np.array(found, dtype=object)


def defect(of: Problem, z: np.ndarray, j0: float) -> Any:
    """Largest difference of the field from qdot = H_g, gdot = -H_q + (q.U_q) q with the slopes of H by differences."""
    field, _ = right_side(of)
    still = np.concatenate([z[:4], harness.zeros(4)])
    s, u = slopes(of.system, z, j0), slopes(of.system, still, j0)[:4]  # type: ignore[arg-type]
    expected = np.concatenate([s[4:], -s[:4] + (z[:4] @ u) * z[:4]])
    return harness.largest(field(z) - expected)


@pytest.mark.parametrize("potential", POTENTIALS.values(), ids=POTENTIALS)
def test_the_field_is_that_of_the_extended_energy_and_a_multiplier_anywhere(potential):
    """Differences of 1e-15 in 50 digits leave 1e-30 times third derivatives."""
    with mpmath.workdps(DIGITS):
        assert defect(problem(potential=potential, J0=J0), anywhere(1), J0) < 1e-26
        assert defect(problem(potential=potential, J0=J0, body=TURNED), anywhere(1), J0) < 1e-13


def test_whole_and_halves_are_the_same_field():
    with mpmath.workdps(DIGITS):
        of, z, out = problem(), anywhere(4), harness.zeros(8)
        whole = harness.Precise(ct.RK4(), of)
        whole.computed("systems_top_multiplier_multiplier_field", z, whole.par, out)
        assert list(out) == list(right_side(of)[0](z))


def test_a_wrong_fourth_moment_and_a_wrong_potential_are_seen():
    with mpmath.workdps(DIGITS):
        assert defect(problem(J0=J0), anywhere(1), J0 * (1 + 1e-12)) > 1e-15
        of = problem(potential="R12 + R21", J0=J0)
        of.system.potential.kernel("gradient")  # derived here; the text below is what the test takes
        of.system.potential.text = "R12 + (1 + 1e-12)*R21"
        assert defect(of, anywhere(1), J0) > 1e-15


@pytest.mark.parametrize("potential", POTENTIALS.values(), ids=POTENTIALS)
def test_on_the_sphere_both_forms_have_the_same_right_side(potential):
    """|q| = 1, q.g = 0: in 50 digits, for any fourth moment; off it they differ."""
    with mpmath.workdps(DIGITS):
        usual, start = right_side(problem("quaternion", potential))
        q = start[:4] / mp.sqrt(start[:4] @ start[:4])
        on = np.concatenate([q, start[4:] - (q @ start[4:]) * q])
        for j0 in (1.0, J0):
            field, _ = right_side(problem(potential=potential, J0=j0))
            assert harness.largest(field(on) - usual(on)) < 1e-45
            assert harness.largest(field(1.01 * on) - usual(1.01 * on)) > 1e-3


def test_off_the_sphere_the_constraints_change_as_the_equations_say():
    """d(q.g)/dt = -(1 - |q|^2) q.U_q and d|q|^2/dt = |q|^2 (q.g)/(2 J0); in the other form neither changes."""
    with mpmath.workdps(DIGITS):
        of = problem(J0=J0)
        z = anywhere(2)
        rates = right_side(of)[0](z)
        q, g, dq, dg = z[:4], z[4:], rates[:4], rates[4:]
        u = slopes(of.system, np.concatenate([q, harness.zeros(4)]), J0)[:4]  # type: ignore[arg-type]
        assert abs(dq @ g + q @ dg + (1 - q @ q) * (q @ u)) < 1e-26
        assert abs(2 * (q @ dq) - (q @ q) * (q @ g) / (2 * mp.mpf(J0))) < 1e-45
        assert abs((1 - q @ q) * (q @ u)) > 1e-3 and abs(q @ g) > 1e-3

        rates = right_side(problem("quaternion"))[0](z)
        assert max(abs(rates[:4] @ g + q @ rates[4:]), abs(q @ rates[:4])) < 1e-45


# Constraint errors --------------------------------------------------------------------------------------------------------------

SHORT = 0.4


def constraint_errors(method: Method, of: Problem, dts: list[float]) -> np.ndarray:
    """Largest |q|^2 - 1 and |q.g| on the way to t = 0.4."""
    found = []
    program = build(of.system, method, compiled=False)
    for dt in dts:
        run = Driver(program, program.view.pack(of.start), t0=0.0, dt=dt, every=1)
        chunk = run.advance(round(SHORT / dt))
        assert chunk.status == 0
        columns = of.system.columns(chunk.rows)
        found.append([np.abs(columns[name]).max() for name in ("unit_residual", "tangency_residual")])
    return np.array(found)


ORDERS = {
    ct.EulerA(): 1, ct.EulerB(): 1, ct.StormerVerlet(): 2, ct.ImplicitMidpoint(): 2, ct.SunGeng(): 5, ct.Gauss(2): 4, ct.Gauss(3): 6,
    ct.RK4(): 4,
}  # fmt: skip


@pytest.mark.parametrize(("method", "order"), ORDERS.items(), ids=[str(m) for m in ORDERS])
def test_the_constraint_errors_have_the_order_of_the_method(method, order):
    """Not the order 2 of all that was published; errors are far above round-off at these steps."""
    dts = [0.02, 0.01] if order < 3 else [0.1, 0.05]
    errors = constraint_errors(method, problem(), dts)
    assert (errors > 1e-12).all()
    assert np.abs(np.log2(errors[0] / errors[1]) - order).max() < 0.35, errors


@pytest.mark.parametrize("method", [ct.ImplicitMidpoint(), ct.SunGeng(), ct.Gauss(2)], ids=str)
def test_in_the_other_form_the_same_methods_keep_both(method):
    assert constraint_errors(method, problem("quaternion"), [0.1]).max() < 1e-14


def test_the_fourth_moment_changes_the_error_of_the_constraints_only_through_their_size():
    """It is not a parameter of the motion: with a larger J0 |q| follows q.g more slowly."""
    heavy, light = (constraint_errors(ct.Gauss(2), problem(J0=j0), [0.1])[0] for j0 in (10.0, 0.1))
    assert light[0] > 10 * heavy[0]


@pytest.mark.parametrize("method", [ct.ImplicitMidpoint(), ct.Gauss(2), ct.StormerVerlet(), ct.EulerB()], ids=str)
def test_no_method_is_symplectic_in_this_form(method):
    """On R^8, in 50 digits, where the other form has none; the equations themselves are not Hamiltonian there."""
    assert harness.symplectic_defect(method, problem()) > 1e-2
    assert harness.symplectic_defect(method, problem("quaternion")) < harness.SYMPLECTIC_LEVEL


# Use ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["B13", "B16"])
def test_the_motion_is_the_same(name):
    """The reference motion of a top to 1e-11 by a method of order 12."""
    case = HEAVY[name] | {"t": 2.0}
    top = ct.Top(ct.Body(moments=tuple(case["moments"])), ct.Gravity(1.0, case["gravity"]), "multiplier")
    of = Problem("top", top, top.start(unit(*case["q0"]), angular_momentum=case["y0"]), 0.1)
    y, q = bodies.taylor(case, 2.0)
    assert distance(run_to(ct.Gauss(6), of, 2.0, 40), y, q) < 1e-11


def test_heyoka_finds_all_parameters_that_the_field_reads():
    """They are handed over by what the program reads, and a step made elsewhere reads more than the rest of it."""
    a, b = (run_to(method, problem(), 1.0, 20) for method in (ct.Taylor(), ct.Gauss(6)))
    assert distance(a, b.angular_momentum, b.orientation) < 1e-12


def test_it_is_published_in_the_axes_in_which_the_body_was_given():
    of, usual = problem(body=TURNED), problem("quaternion", body=TURNED)
    a, b = (run_to(ct.Gauss(6), p, 1.0, 20) for p in (of, usual))
    assert distance(a, b.angular_momentum, b.orientation) < 1e-11
    assert np.abs(a.angular_momentum - of.start.angular_momentum).max() > 0.1


def test_nothing_is_promised_and_splittings_cannot_treat_it():
    top = problem().system
    treating = [m for kind in all_methods() for m in kind.examples() if can_treat(top, m)]
    assert {"Gauss", "EulerA", "EulerB", "StormerVerlet", "SunGeng", "RK4"} <= {m.name for m in treating}
    assert not {m.name for m in treating} & {"Splitting", "Nystrom4", "Rattle", "QuatEM", "DMV", "Jacobi"}
    assert all(m.traits.promise(i.tags) == "none" for m in treating for i in top.invariants)
    plain = ct.Top(ct.Body(moments=(1, 1, 0.5)), ct.Gravity(), "multiplier")
    assert [i.name for i in plain.invariants][-1] == "axial_momentum" and not any(i.tags for i in plain.invariants)


def test_without_a_method_it_is_gauss():
    of = problem()
    plan, _ = make_plan(of.system, of.start, None, dt=0.05, steps=1, t_end=None)
    assert plan.method == ct.Gauss(3)


def test_it_is_described_with_its_form_and_moment():
    top = ct.Top(TURNED, ct.Gravity(2.0), "multiplier", J0=J0)
    described = json.loads(json.dumps(top.describe()))
    assert described["form"] == "multiplier" and described["J0"] == J0
    again = system_from(described)
    assert again.describe() == described and "multiplier" in repr(again)
    assert "form" not in ct.Top(TURNED, ct.Gravity()).describe()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"form": "rotation"}, "form = 'rotation'"),
        ({"form": "multiplier", "J0": 0.0}, "J0 = 0.0"),
        ({"form": "multiplier", "J0": -1}, "J0 = -1"),
        ({"form": "multiplier", "J0": math.inf}, "J0 = inf"),
        ({"form": "multiplier", "J0": math.nan}, "J0 = nan"),
        ({"form": "multiplier", "J0": "one"}, "J0 = 'one'"),
        ({"J0": 2.0}, "no meaning"),
    ],
)
def test_forms_and_moments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ct.InputError, match=message):
        ct.Top(TURNED, ct.Gravity(), **arguments)
