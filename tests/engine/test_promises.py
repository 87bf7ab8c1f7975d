"""What is promised for a pair of system and method, and that tables, stores and audits say the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

import broken
import catena as ct
import harness
import kinds
from catena.analysis.structure_check import Check, CheckRow, check_program
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing, can_treat
from catena.engine.promises import Promises
from catena.methods.base import Method
from catena.running.origin import Origin
from catena.running.plan import Problem
from catena.running.recording import store_attributes
from uncompiled import simulate

EVERYTHING = ["energy", "casimir", "spatial_momentum", "unit_residual"]


def word(name: str, method: Method) -> str:
    return Pairing.of(kinds.kind(name).system, method).promises.traits.symplectic_word


# What is promised ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ct.ImplicitMidpoint(), ct.Gauss(2), ct.SunGeng(), ct.Gauss(6)], ids=str)
def test_symplectic_runge_kutta_methods_are_not_symplectic_on_a_free_body(method):
    """(q, y) are not canonical; on a Hamiltonian they are."""
    assert word("free body", method) == "no"
    assert word("not separable", method) == "yes"


@pytest.mark.parametrize("method", [ct.Rattle(), ct.ImplicitMidpoint(), ct.DMV(6), ct.Jacobi()], ids=str)
def test_what_keeps_everything_of_a_free_body_is_promised_to(method):
    assert Pairing.of(kinds.kind("free body").system, method).promises.that_are("exact") == EVERYTHING


def test_the_orientation_of_a_free_body_is_lost_in_quaternions():
    """R y is cubic in (q, y): no Runge-Kutta method keeps it."""
    assert Pairing.of(kinds.kind("free body").system, ct.Gauss(3)).promises.kept["spatial_momentum"] == "none"


@pytest.mark.parametrize("method", [ct.Gauss(4), ct.ImplicitMidpoint(), ct.SunGeng()], ids=str)
def test_nothing_is_promised_for_the_joint_form_of_a_linkage(method):
    found = Pairing.of(kinds.kind("free linkage").system, method).promises
    assert set(found.kept.values()) == {"none", "needed"}
    assert not found.traits.symplectic and found.traits.symmetric == method.traits.symmetric


@pytest.mark.parametrize("name", ["top with multiplier", "chain with multiplier"])
def test_nothing_is_symplectic_with_a_multiplier(name):
    table = ct.list_methods(kinds.kind(name).system)
    assert len(table) > 10
    assert {row[2] for row in table.rows()} == {"-"}


@pytest.mark.parametrize("method", [ct.Jacobi(), ct.DMV("exact")], ids=str)
def test_an_exact_flow_has_no_order(method):
    table = {row[0]: row[1] for row in ct.list_methods(kinds.kind("free body").system).rows()}
    assert table[str(method)] == "exact"
    assert Pairing.of(kinds.kind("free body").system, method).promises.to_dict()["order"] == "exact"
    assert "exact" in method._repr_html_() and "adaptive" not in method._repr_html_()


def test_inner_steps_are_called_adaptive():
    assert ct.Taylor().traits.order_word == "adaptive"


def test_a_rotor_that_is_named_promises_what_it_promises_unnamed():
    """Splitting(6) turns an asymmetric top by DMV(10): the same map, the same promise. DMV(8) lets the energy drift."""
    top = kinds.kind("top").system
    assert Pairing.of(top, ct.Splitting(6, rotor=ct.DMV(10))).promises == Pairing.of(top, ct.Splitting(6)).promises
    assert Pairing.of(top, ct.Splitting(6)).promises.kept["energy"] == "bounded"
    assert word("top", ct.Splitting(6)) == "to order 10"
    assert Pairing.of(top, ct.Splitting(6, rotor=ct.DMV(8))).promises.kept["energy"] == "none"
    assert word("top", ct.Splitting(6, rotor=ct.Jacobi())) == "yes"
    assert word("symmetric top", ct.Splitting(6)) == "yes"


def test_a_rotor_does_not_matter_where_nothing_turns():
    assert (
        Pairing.of(kinds.kind("separable").system, ct.Splitting(4, rotor=ct.DMV(4))).promises
        == Pairing.of(kinds.kind("separable").system, ct.Splitting(4)).promises
    )


def test_a_composition_promises_what_its_base_does_there():
    body = kinds.kind("free body").system
    found = Pairing.of(body, ct.Composition(ct.ImplicitMidpoint(), "suzuki4")).promises
    assert not found.traits.symplectic and found.that_are("exact") == EVERYTHING and found.traits.order == 4


# Explicit -----------------------------------------------------------------------------------------------------------


def rounds(method: Method, of: Problem, dt: float) -> int:
    """Times that loops go round in a step: lines to which a function comes back."""
    program = build(of.system, method, compiled=False)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=dt, every=2)
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != "<interpreted>":
            return None
        last = frame.f_lineno

        def line(frame: Any, event: str, _: Any) -> Any:
            nonlocal count, last
            count += event == "line" and frame.f_lineno < last
            last = frame.f_lineno
            return line

        return line

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert run.advance(1).status == 0
    finally:
        sys.settrace(before)
    return count


LONGER = [pytest.param(name, marks=pytest.mark.slow) for name in ("separable", "top", "symmetric top", "scaling body")]


@pytest.mark.parametrize("name", ["not separable", "free body", *LONGER])
def test_only_what_is_called_implicit_iterates(name):
    """Loops go round as often in a long step as in a short one if, and only if, a method is called explicit."""
    of = kinds.kind(name)
    for method in harness.examples():
        if not can_treat(of.system, method) or not method.traits.has_order:
            continue
        same = rounds(method, of, of.dt) == rounds(method, of, 1e-4 * of.dt)
        assert same == Pairing.of(of.system, method).promises.traits.explicit, method


# One answer -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ct.ImplicitMidpoint(), ct.Rattle(), ct.Gauss(2)], ids=str)
def test_table_store_and_audit_say_the_same(method):
    of = kinds.kind("free body")
    found = Pairing.of(of.system, method).promises
    run = simulate(of, None, method, dt=0.1, steps=3)
    assert {row.quantity: row.promised for row in run.audit()} == found.kept
    assert store_attributes(run.plan, Origin.here(run.plan.program_digest()), {})["traits"] == found.to_dict()
    table = ct.list_methods(of.system)
    listed = next(row for row in table.to_dict() if row["example"] == str(method))
    assert {k: listed[k] for k in ("order", "symplectic", "symmetric", "explicit")} == {
        k: found.to_dict()[k] for k in ("order", "symplectic", "symmetric", "explicit")
    }
    assert {row["what"]: row["how"] for row in listed["keeps"]} == {k: v for k, v in found.kept.items() if v != "none"}
    cells = next(row for row in table.rows() if row[0] == str(method))
    assert cells[5] == ", ".join(found.that_are("exact"))
    assert cells[6] == found.kept["energy"]


# Measured -------------------------------------------------------------------------------------------------------------

UNCOMPILED_STEPS, UNCOMPILED_KEPT = 1500, 250
ROUND_OFF = 1e-13  # of quantities of size one in as many steps: what the audit says of changes below it is not held against anyone
QUICK: dict[str, tuple[Method, ...]] = {
    "not separable": (ct.EulerA(), ct.StormerVerlet(), ct.RK4()),
    "separable": (ct.Splitting(6), ct.Nystrom4()),
    "free body": (ct.ImplicitMidpoint(), ct.Rattle(), ct.DMV(4), ct.DMV("exact"), ct.Jacobi(), ct.ThreeRotations()),
    "top": (ct.StormerVerlet(), ct.Splitting(2), ct.Rattle(), ct.QuatEM()),
    "top with multiplier": (ct.EulerA(),),
    "scaling body": (ct.Jacobi(), ct.EnergyMomentum()),
}


def checked(of: Problem, method: Method, found: Promises | None = None, *, compiled: bool = False) -> Check:
    lengths = {} if compiled else {"most_steps": UNCOMPILED_STEPS, "kept_steps": UNCOMPILED_KEPT}
    program = build(of.system.begun(of.start), method, compiled=compiled)
    return check_program(program, of.start, found or Pairing.of(of.system, method).promises, guess=of.dt, **lengths)


def shortcomings(found: Check) -> list[str]:
    """Rows that contradict a promise, and structures that are kept without being promised: a table may be too modest, too.

    What is "needed" is no promise. Beyond order 8 a double may not show the structure that is lost.
    """
    wrong = [row.name for row in found.contradictions if row.promised != "needed" and _is_seen(row)]
    modest = [row.name for row in found if row.verdict == "yes" and row.promised == "no"]
    return wrong + modest


def _is_seen(row: CheckRow) -> bool:
    return row.promised != "exact" or not row.measured < ROUND_OFF


@pytest.mark.parametrize(
    ("name", "method"), [pytest.param(n, m, id=f"{n}-{m}") for n, methods in QUICK.items() for m in methods]
)
def test_what_is_promised_is_measured(name, method):
    """Order, symplectic form, Poisson bracket, symmetry, and each invariant."""
    found = checked(kinds.kind(name), method)
    assert not shortcomings(found), found
    assert found["order"].verdict != "unclear" and found["symmetric"].verdict != "unclear", found


MANY_BODIES = ("chain", "linkage", "loop")


@pytest.mark.slow
@pytest.mark.parametrize("name", kinds.KINDS)
def test_what_any_method_promises_for_any_kind_of_system_is_measured(name):
    """All pairs; those of many bodies compiled."""
    of, failed = kinds.kind(name), []
    for method in harness.examples():
        if can_treat(of.system, method) and not method.traits.random:
            found = checked(of, method, compiled=any(part in name for part in MANY_BODIES))
            failed += [f"{method}: {what}\n{found}" for what in shortcomings(found) if not _too_fine(method, found)]
    assert not failed, "\n".join(failed)


def _too_fine(method: Method, found: Check) -> bool:
    """Whether the only complaint is that a defect of a method of high order is not seen."""
    return found.ok and method.traits.order > 8


@pytest.mark.parametrize(
    ("name", "method", "rows"),
    [
        ("free body", ct.ImplicitMidpoint(), ["symplectic", "Poisson"]),
        ("top with multiplier", ct.EulerA(), ["symplectic"]),
        pytest.param("free body", ct.Gauss(2), ["symplectic", "Poisson"], marks=pytest.mark.slow),
        pytest.param("scaling body", ct.ImplicitMidpoint(), ["symplectic"], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_what_a_method_promises_elsewhere_is_refuted_there(name, method, rows):
    """The traits of the method alone, whatever the system, are what the table used to print."""
    of = kinds.kind(name)
    boast = Promises(method.traits, Pairing.of(of.system, method).promises.kept)
    found = checked(of, method, boast)
    assert {row.name for row in found.contradictions} == set(rows)


@pytest.mark.parametrize(
    ("twin", "rows"),
    [
        (broken.BoastfulRK4(), ["symplectic", "symmetric"]),
        (broken.MisprintedRK4(), ["order"]),
        (broken.LopsidedVerlet(), ["symmetric", "order"]),
    ],
    ids=str,
)
def test_a_claim_that_does_not_hold_is_seen(twin, rows):
    found = checked(kinds.kind("separable"), twin)
    assert set(rows) <= {row.name for row in found.contradictions}, found


@pytest.mark.slow
def test_a_rotor_that_is_less_symplectic_than_promised_is_seen():
    of = kinds.kind("top")
    method = ct.Splitting(4, rotor=ct.DMV(6))
    honest = Pairing.of(of.system, method).promises
    boast = Promises(replace(honest.traits, nearly=10), honest.kept)
    assert checked(of, method, honest)["symplectic"].verdict == "to order 6"
    assert checked(of, method, boast)["symplectic"].contradicts
