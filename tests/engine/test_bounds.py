"""`CATENA_DEBUG=1`: a kernel that leaves its arrays is stopped before it does, and named with its file and line."""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import kinds
from catena.engine import bounds
from catena.engine.block import MemberBlock, Members
from catena.engine.build import Program, build
from catena.engine.collector import Part
from catena.engine.driver import Driver
from catena.errors import KernelError
from catena.kernels.summation import add
from catena.kernels.views import View, dimension, field, field_count
from catena.methods.base import Method, Stepper, Traits

HERE = Path(__file__)


# Kernels that leave their arrays -----------------------------------------------------------------------------------------


def hungry_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that copies the rate to where its work does not reach."""
    n = dimension(z)
    field(z, par, work[:n])
    for k in range(n):
        work[n + k] = work[k]  # beyond the end
        add(z, e, k, dt * work[n + k])
    return 0


def backward_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that looks at the rate before the first one."""
    n = dimension(z)
    field(z, par, work)
    for k in range(n):
        rate = 0.5 * (work[k] + work[k - 1])  # before the start
        add(z, e, k, dt * rate)
    return 0


def late_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that counts its steps and takes the number for a place."""
    n = dimension(z)
    field(z, par, work)
    for k in range(n):
        add(z, e, k, dt * work[k])
    place = int(carry[0])
    carry[0] = carry[0] + 1.0
    work[place] = 0.0  # for the first few steps
    return 0


def wide_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler on a slice that ends behind its work: without a check it is merely shorter."""
    n = dimension(z)
    field(z, par, work[: n + 1])  # a slice that is too wide
    for k in range(n):
        add(z, e, k, dt * work[k])
    return 0


def deaf_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that asks for an element of its table by a number that is not there."""
    n = dimension(z)
    field(z, par, work)
    for k in range(n):
        add(z, e, k, dt * work[k] * tab[0, 1])  # a plain number
    return 0


@dataclass(frozen=True)
class Euler(Method):
    """Explicit Euler by one of these kernels."""

    kernel: Any
    work: int = 2
    name = "Euler"
    needs = ("canonical",)

    def stepper(self, view: View) -> Stepper:
        return Stepper(self.kernel, np.ones((1, 1)), self.work, 1)

    @property
    def traits(self) -> Traits:
        return Traits(1, False, False, True, (), (), math.inf)


def line_of(comment: str) -> int:
    """The line of this file that ends with a comment."""
    return next(k for k, line in enumerate(HERE.read_text().splitlines(), 1) if line.endswith(f"  # {comment}"))


FAULTS = {
    "beyond the end": (Euler(hungry_step), 1, "element 2 of 2"),
    "before the start": (Euler(backward_step), 1, "element -1 of 2"),
    "for the first few steps": (Euler(late_step), 3, "element 2 of 2"),
    "a slice that is too wide": (Euler(wide_step), 1, "a slice from or to element 3 of 2"),
    "a plain number": (Euler(deaf_step), 1, "index 1 is out of bounds for axis 1 with size 1"),
}


@pytest.fixture
def pendulum() -> ct.Problem:
    return ct.problems.pendulum()


def driver(method: Method, of: ct.Problem, **options: Any) -> Driver:
    program = build(of.system, method, **options)
    return Driver(program, program.view.pack(of.start), t0=0.0, dt=0.01, every=1)


@pytest.mark.parametrize("comment", FAULTS)
def test_plain_python_finds_what_leaves_an_array_and_names_the_line(comment, pendulum):
    method, step, wrong = FAULTS[comment]
    run = driver(method, pendulum, compiled=False, checked=True)
    with pytest.raises(KernelError) as caught:
        run.advance(10)
    assert wrong in caught.value.wrong and method.kernel.__name__ in caught.value.wrong
    assert caught.value.where.startswith(f"{HERE}:{line_of(comment)}, step {step}: ")
    assert "Stepper.work" in caught.value.do
    assert run.step == step - 1


@pytest.mark.parametrize("comment", ["beyond the end", "for the first few steps"])
def test_memory_that_is_too_small_is_found_without_checks(comment, pendulum, monkeypatch):
    """What a compiled kernel writes behind its work is noticed after the first chunk, and located by plain Python."""
    monkeypatch.delenv(bounds.VARIABLE, raising=False)
    method, step, wrong = FAULTS[comment]
    run = driver(method, pendulum)
    with pytest.raises(KernelError) as caught:
        run.advance(10)
    assert wrong in caught.value.wrong and method.kernel.__name__ in caught.value.wrong
    assert caught.value.where.startswith(f"{HERE}:{line_of(comment)}, step {step}: ")
    assert "Stepper.work" in caught.value.do


def test_memory_that_is_large_enough_is_left_alone(pendulum):
    """The twin of the test above."""
    run = driver(Euler(hungry_step, work=4), pendulum)
    assert run.advance(10).status == 0


class Silent(ct.Hamiltonian):
    """A system that forgets to say that it has an energy."""

    invariants = ()


@pytest.mark.parametrize("members", [None, 3])
def test_invariants_that_a_system_does_not_tell_of_are_found_without_checks(members, pendulum, monkeypatch):
    """What compiled code measures beyond a row is noticed in the row of the start, before it harms anything."""
    monkeypatch.delenv(bounds.VARIABLE, raising=False)
    program = build(pendulum.system, Euler(hungry_step, work=4))
    silent = Silent(**{name: value for name, value in pendulum.system.describe().items() if name != "kind"})

    def first_row(program: Program) -> Any:
        z = program.view.pack(pendulum.start)
        if members is None:
            return Driver(program, z, t0=0.0, dt=0.01, every=1).first_row().rows[0]
        together = Members.alike(program, np.repeat(z[None], members, axis=0), np.zeros(members), 0.01)
        return MemberBlock(program, together, every=1).record(slice(0, members))[0]

    assert first_row(program).shape == (3,)
    with pytest.raises(KernelError, match="measure leaves an array: index 0 is out of bounds") as caught:
        first_row(replace(program, system=silent))
    assert "the start: out[0] = " in caught.value.where and "`invariants`" in caught.value.do


def test_compiled_code_is_stopped_before_it_leaves_an_array(pendulum, monkeypatch):
    """One program for an index of each kind; what it finds is located by plain Python, in the first step that goes wrong."""
    monkeypatch.setenv(bounds.VARIABLE, "1")
    method, step, wrong = FAULTS["for the first few steps"]
    run = driver(method, pendulum)
    assert run.advance(2).status == 0
    plain = driver(method, pendulum, compiled=False)
    plain.advance(2)
    assert run.z.tobytes() == plain.z.tobytes()
    with pytest.raises(KernelError, match=wrong) as caught:
        run.advance(10)
    assert caught.value.where.startswith(f"{HERE}:{line_of('for the first few steps')}, step {step}: work[place] = 0.0")
    assert (run.step, run.z.tobytes()) == (2, plain.z.tobytes())


CHECKED = re.compile(r"\b_at\(")  # a subscript that is looked at first


def test_nothing_is_checked_unless_it_is_asked_for(pendulum, monkeypatch):
    for setting, checks in (("", False), ("0", False), ("1", True)):
        monkeypatch.setenv(bounds.VARIABLE, setting)
        assert bool(CHECKED.search(build(pendulum.system, ct.Gauss(2), compiled=False).text)) is checks
    monkeypatch.delenv(bounds.VARIABLE)
    assert not CHECKED.search(build(pendulum.system, ct.Gauss(2), compiled=False).text)


def test_without_checks_plain_python_names_the_line_as_well(pendulum):
    """It finds what is beyond the end by itself."""
    with pytest.raises(KernelError, match="element 2 of 2") as caught:
        driver(Euler(hungry_step), pendulum, compiled=False).advance(3)
    assert f"{HERE}:{line_of('beyond the end')}" in caught.value.where


@dataclass(frozen=True)
class Short(Method):
    """A method whose work is one number too short."""

    whole: Method
    name = "Short"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.whole.needs

    def stepper(self, view: View) -> Stepper:
        stepper = self.whole.stepper(view)
        return replace(stepper, work=stepper.work - 1)

    @property
    def traits(self) -> Traits:
        return self.whole.traits


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("chain", ct.RK4()), ("separable", ct.Composition(ct.StormerVerlet(), "yoshida4")),
        ("not separable", ct.StormerVerlet()), ("top", ct.Gauss(2)), ("free body", ct.SunGeng()),
    ],
    ids=str,
)  # fmt: skip
def test_a_work_array_one_number_too_short_is_found(kind, method):
    """Compiled, it would write beyond its end or on what stands next in it."""
    of = kinds.kind(kind)
    assert driver(method, of, compiled=False, checked=True).advance(1).status == 0
    with pytest.raises(KernelError, match=r"element \d+ of \d+"):
        driver(Short(method), of, compiled=False, checked=True).advance(1)


def test_more_fields_than_stages_have_room_for_are_refused(pendulum):
    """In compiled code the changes of the ninth would be those of the first in the sweep before."""
    view = pendulum.system.view("canonical")
    for count, enough in ((8, True), (9, False)):
        crowded = replace(view, fills={**view.fills, field_count: count})
        with nullcontext() if enough else pytest.raises(ct.CapabilityError, match="9 fields"):
            ct.Gauss(2).stepper(crowded)


def test_a_kernel_that_exists_as_text_is_named_by_who_wrote_it(pendulum):
    program = build(pendulum.system, ct.RK4(), compiled=False, checked=True)
    files = {
        function.__code__.co_filename for function in vars(program.module).values() if hasattr(function, "__code__")
    }
    assert any(name.startswith("<catena.") for name in files)
    assert any(name.endswith("engine/loop.py") for name in files)


def test_the_last_row_of_some_arrays_is_the_ground():
    """-1 there, and nowhere else, is a row; -2 is none."""
    part = Part("f", "fn", "here", "def f(node, own, i):\n    return node[i, 2] + own[i]")
    text = bounds.add_checks(part, {"node"}).text
    assert "node[_row(i, len(node)), 2]" in text and "own[_at(i, len(own))]" in text
    assert bounds.row(-1, 3) == -1
    for check, index in ((bounds.row, -2), (bounds.row, 3), (bounds.at, -1), (bounds.at, 3), (bounds.edge, 4)):
        with pytest.raises(IndexError):
            check(index, 3)


def test_a_work_array_of_the_right_length_is_left_alone(pendulum):
    whole = Euler(hungry_step, work=4)
    run = driver(whole, pendulum, compiled=False, checked=True)
    assert run.advance(10).status == 0
    other = driver(whole, pendulum, compiled=False, checked=False)
    other.advance(10)
    assert run.z.tobytes() == other.z.tobytes()
