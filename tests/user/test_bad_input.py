"""Every mistake of a user is a CatenaError that says what to do, and nothing is ever overwritten."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.pairing import Pairing, can_treat, methods_for
from catena.errors import CatenaError, InputError, StoreError
from catena.running.ensembles.job import Job
from catena.running.plan import Plan
from catena.running.recording import ROWS_VARIABLE
from catena.store import Store
from processes import contents

MOST_SECONDS = 1.0  # to refuse anything; on a busy machine, too, it takes milliseconds


@contextlib.contextmanager
def refused(kind: type[CatenaError], message: str) -> Iterator[None]:
    """The block raises this error, soon, in at most four lines, with advice."""
    began = time.process_time()
    with pytest.raises(kind, match=message) as caught:
        yield
    assert time.process_time() - began < MOST_SECONDS
    error = caught.value
    assert len(str(error).splitlines()) <= 4, str(error)
    assert error.do, str(error)


def oscillator(**changes: Any) -> ct.Run:
    arguments = {"method": ct.StormerVerlet(), "dt": 0.1, "steps": 10, "progress": False, **changes}
    system = arguments.pop("system", ct.problems.harmonic())
    return ct.simulate(system, **arguments)


# Expressions

EXPRESSIONS = {
    "an unknown name": ("p**2/2 + omega*q**2", "unknown name omega"),
    "a misspelt name": ("p**2/2 + kk*q**2", r"unknown name kk"),
    "a call that is not known": ("p**2/2 + gamma(q)", "calls gamma, which is not a known function"),
    "an import": ("__import__('os').system('true')", "holds|calls __import__"),
    "an import without quotes": ("__import__(q)", "calls __import__"),
    "an attribute": ("q.real + p**2", "names have no attributes"),
    "eval": ("eval(q)", "calls eval"),
    "a power tower": ("p**2/2 + 9**9**9**9", "no finite real value"),
    "a power tower of names": ("q**9**9**9", "no finite real value|the limit is"),
    "a large power": ("q**1000", "the limit is 100"),
    "a megabyte of brackets": ("(" * 2**20, "the limit is"),
    "brackets": ("(" * 1000 + "q" + ")" * 1000, "nested deeper"),
    "no text": ("", "is empty"),
    "a division by zero": ("q/0 + p", "no finite real value"),
    "a complex constant": ("sqrt(-1)*q", "no finite real value"),
    "nan": ("q + nan", "unknown name nan"),
    "a caret": ("p^2/2", r"powers are written with \*\*"),
    "an assignment": ("H = p**2", "an expression has no = sign"),
    "a null byte": ("p**2\0", "which no expression knows"),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_energy_is_refused_for(name: str) -> None:
    text, message = EXPRESSIONS[name]
    with refused(InputError, message):
        ct.Hamiltonian(text, "q", "p", {"k": 1.0})


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_section_is_refused_for(name: str, tmp_path: Path) -> None:
    text, message = EXPRESSIONS[name]
    for watched in ({"sections": [ct.Section("s", text)]}, {"events": [ct.Event("s", text)]}):
        with refused(InputError, message):
            oscillator(**watched, out=tmp_path / "run.zarr")
    with refused(InputError, message):
        oscillator(sections=[ct.Section("s", "q", where=text or " ")])
    assert list(tmp_path.iterdir()) == []


def test_a_condition_must_be_one_and_a_value_must_not() -> None:
    with refused(InputError, "is a number, not a condition"):
        oscillator(sections=[ct.Section("s", "q", where="q")])
    with refused(InputError, "a number is needed, not a condition"):
        oscillator(sections=[ct.Section("s", "q > 0")])


# Systems and starts


def kepler() -> ct.Hamiltonian:
    return ct.problems.kepler().system


BOX = ct.Body.box((0.2, 0.2, 1.0), mass=2.0)
HINGE = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
SYSTEMS: dict[str, tuple[Callable[[], Any], str]] = {
    "a start on a singular point": (lambda: kepler().start(q=[0, 0], p=[1, 0]), "the energy is not defined"),
    "a start outside the domain": (lambda: ct.Hamiltonian("p**2/2 + log(q)").start(q=-1, p=0), "energy is not defined"),
    "too few coordinates": (lambda: kepler().start(q=[1], p=[0, 1]), r"q = \[1\] has shape \(1,\)"),
    "a matrix": (lambda: kepler().start(q=[[1, 0]], p=[0, 1]), r"q = \[\[1, 0\]\] has shape \(1, 2\)"),
    "a coordinate that is nan": (lambda: kepler().start(q=[np.nan, 0], p=[0, 1]), "is not finite"),
    "a momentum that is infinite": (lambda: kepler().start(q=[1, 0], p=[0, np.inf]), "is not finite"),
    "a parameter that is nan": (lambda: ct.Hamiltonian("k*q*p", parameters={"k": np.nan}), "nan is not finite"),
    "a parameter that is a text": (lambda: ct.Hamiltonian("k*q*p", parameters={"k": "a"}), "unknown name a"),
    "a missing parameter": (lambda: ct.Hamiltonian("k*q*p"), "unknown name k"),
    "an unknown parameter": (lambda: ct.problems.harmonic().system.with_parameters(w=1.0), "no parameter 'w'"),
    "parameters without an energy": (lambda: ct.problems.harmonic(m=0.0), "not defined for the parameters"),
    "a name given twice": (lambda: ct.Hamiltonian("q*p", "q", "p", {"q": 1.0}), "given twice"),
    "a name that is none": (lambda: ct.Hamiltonian("q*p", "q 1", "p"), "is not a name"),
    "several names in one text": (lambda: ct.Hamiltonian("q1*p1", "q1, q2", "p1 p2"), r"as a list: \['q1', 'q2'\]"),
    "a decimal comma": (lambda: ct.Hamiltonian("p**2/2 + 0,5*q**2"), "write numbers with a point"),
    "parameters in a list": (lambda: ct.Hamiltonian("k*q*p", parameters=["k"]), r"parameters = \['k'\]"),  # type: ignore[arg-type]
    "invariants in a text": (lambda: ct.Hamiltonian("q*p", invariants="q"), "invariants = 'q'"),  # type: ignore[arg-type]
    "a body that is a list": (lambda: ct.FreeBody([1, 2, 3]), r"is not a body\n  at FreeBody\.body"),  # type: ignore[arg-type]
    "gravity as a number": (lambda: ct.Top(BOX, 9.81), r"give ct\.Gravity\(9\.81\)"),  # type: ignore[arg-type]
    "gravity with a word that it does not know": (
        lambda: ct.Top(BOX, {"kind": "Gravity", "strenght": 1.0}),
        r"Gravity has no 'strenght' \(did you mean strength\?\)\n  at Top\.potential",
    ),
    "a potential of a top in a list": (lambda: ct.Top(BOX, ["R33"]), r"neither a text nor .*\n  at Top\.potential"),  # type: ignore[arg-type]
    "no energy": (lambda: ct.Hamiltonian(None), r"None is neither a text nor .*\n  at Hamiltonian\.energy"),  # type: ignore[arg-type]
    "an invariant that is a number": (
        lambda: ct.Hamiltonian("q*p", invariants={"J": 3}),  # type: ignore[dict-item]
        r"3 is neither a text nor .*\n  at Hamiltonian\.invariants\.J",
    ),
    "a path in place of a name": (
        lambda: ct.Hamiltonian("q*p", invariants={"../L": "q*p"}),
        r"'\.\./L' cannot name an invariant",
    ),
    "an invariant without a name": (lambda: ct.Hamiltonian("q*p", invariants={"": "q"}), "'' cannot name an invariant"),
    "an invariant called as its energy": (
        lambda: ct.Hamiltonian("q*p", invariants={"energy": "q"}),
        "cannot name an inv",
    ),
    "coordinates that are a number": (lambda: ct.Hamiltonian("q*p", 3), r"q = 3 is not a list of names"),  # type: ignore[arg-type]
    "no pair potential": (lambda: ct.PairPotential(None), r"None is neither .*\n  at PairPotential\.text"),  # type: ignore[arg-type]
    "a coordinate without momentum": (lambda: ct.Hamiltonian("q1*p", ["q1", "q2"], "p"), "2 coordinates but 1 momenta"),
    "an eccentricity beyond 1": (lambda: ct.problems.kepler(e=1.5), "eccentricity|e = 1.5"),
    "an eccentricity that is a text": (lambda: ct.problems.kepler(e="a"), "at kepler.e"),  # type: ignore[arg-type]
    "an oscillator that does not": (lambda: ct.problems.harmonic(k=-1.0), "k/m = -1"),
    "a spring that changes": (lambda: ct.problems.harmonic(k="4 + t"), "at harmonic.k"),  # type: ignore[arg-type]
    "fewer bodies than none": (lambda: ct.problems.helix_chain(-1), "helix_chain.n = -1"),
    "more bodies than memory": (lambda: ct.problems.ring_chain(10**12), "1000000000000 bodies would take"),
    "half a body": (lambda: ct.problems.printed_chain(2.5), "printed_chain.n = 2.5"),  # type: ignore[arg-type]
    "turns that are none": (lambda: ct.problems.ring_chain(turns=0.5), "ring_chain.turns"),  # type: ignore[arg-type]
    "a number in place of a chain": (lambda: ct.problems.helix_chain(4, system=4), "4 is not a chain"),  # type: ignore[arg-type]
    "a speed that is a text": (lambda: ct.problems.disc_chain(amp="a"), "at disc_chain.amp"),  # type: ignore[arg-type]
    "a time that is nan": (lambda: kepler().start(q=[1, 0], p=[0, 1], time=np.nan), "nan is not finite"),
    "a direction": (lambda: ct.Section("s", "q", direction=2), "direction = 2"),
    "a name of a section": (lambda: ct.Section("a b", "q"), "cannot name a section"),
    "a section without text": (lambda: ct.Section("s", 5), "5 is not a text"),  # type: ignore[arg-type]
    "an event that stops perhaps": (lambda: ct.Event("s", "q", stop="no"), "stop = 'no'"),  # type: ignore[arg-type]
    "stages": (lambda: ct.Gauss(0), "stages"),
    "names that nobody declared": (
        lambda: ct.Hamiltonian("p1**2/2 + q1**2/2"),
        "coordinates of a Hamiltonian in q and p",
    ),
    "a joint without a list": (lambda: ct.Linkage([BOX], HINGE), r"Linkage\.joints\n  do: write it in brackets"),  # type: ignore[arg-type]
    "a force without a list": (lambda: ct.Linkage([BOX], [HINGE], ct.Limit(0)), r"Linkage\.forces"),  # type: ignore[arg-type]
    "a scheme": (lambda: ct.Composition(ct.StormerVerlet(), "yoshida5"), "yoshida"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_refused(name: str) -> None:
    make, message = SYSTEMS[name]
    with refused(InputError, message):
        make()


# Runs

OTHER_START = ct.State({"q": np.array([1.0, 2.0]), "p": np.array([1.0, 2.0])})
SINGULAR = ct.State({"q": np.zeros(2), "p": np.ones(2)})

RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "dt = 0": ({"dt": 0}, "dt = 0"),
    "a negative dt": ({"dt": -0.1}, "dt = -0.1"),
    "dt = nan": ({"dt": float("nan")}, "dt = nan"),
    "dt = inf": ({"dt": float("inf")}, "dt = inf"),
    "dt as a text": ({"dt": "0.1"}, "dt = '0.1'"),
    "dt = True": ({"dt": True}, "dt = True"),
    "a complex dt": ({"dt": np.complex128(1)}, "dt = "),
    "a dt beyond all doubles": ({"dt": 10**400}, "dt = 1000"),
    "no length": ({"steps": None}, "neither steps nor t_end is given"),
    "two lengths": ({"t_end": 1.0}, "both steps and t_end are given"),
    "a fraction of a step": ({"steps": 1.5}, "steps = 1.5"),
    "no step": ({"steps": 0}, "steps = 0"),
    "steps = True": ({"steps": True}, "steps = True"),
    "too many steps": ({"steps": 2**70}, "steps = "),
    "t_end = nan": ({"steps": None, "t_end": float("nan")}, "t_end = nan"),
    "t_end as a text": ({"steps": None, "t_end": "1"}, "t_end = '1'"),
    "t_end before the start": ({"steps": None, "t_end": -1.0}, "t_end = -1.0"),
    "t_end out of reach": ({"steps": None, "t_end": 1e300}, "too many"),
    "every = 0": ({"every": 0}, "every = 0"),
    "every = 1.0": ({"every": 1.0}, "every = 1.0"),
    "a method that is a class": ({"method": ct.StormerVerlet}, r"is not a method[\s\S]*such as ct\.StormerVerlet\(\)"),
    "a method that is a text": ({"method": "RK4"}, r"'RK4' is not a method[\s\S]*such as ct\.RK4\(\)"),
    "a problem that was not called": ({"system": ct.problems.kepler}, "call it first"),
    "no system": ({"system": "kepler"}, "'kepler' is not a system"),
    "no start": ({"system": ct.problems.harmonic().system}, "start = None is not a state"),
    "a start that is a list": ({"start": [1.0, 2.0]}, "is not a state"),
    "the start of another system": ({"start": OTHER_START}, r"the start has q \(2,\), p \(2,\); this system needs q \(1,\)"),
    "a start with other fields": ({"start": ct.State({"x": np.ones(1)})}, r"the start has x \(1,\)"),
    "a start that is no number": ({"start": ct.State({"q": "a", "p": "b"})}, "the start has no numbers"),
    "a start that is nan": ({"start": ct.State({"q": np.array([np.nan]), "p": np.ones(1)})}, "not finite"),
    "one section without a list": ({"sections": ct.Section("s", "q")}, "give a list"),
    "a section as a text": ({"sections": "q"}, "give a list"),
    "an event among the sections": ({"sections": [ct.Event("s", "q")]}, "give a list"),
    "a section among the events": ({"events": [ct.Section("s", "q")]}, "give a list"),
    "an output that is no path": ({"out": 5}, "5 is not a path"),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_refused_for(name: str, tmp_path: Path) -> None:
    changes, message = RUNS[name]
    with refused(InputError, message):
        oscillator(**{"out": tmp_path / "run.zarr", **changes})
    assert list(tmp_path.iterdir()) == []


def test_the_run_that_all_these_mistakes_spoil_is_sound() -> None:
    assert oscillator().steps == 10


def test_a_state_made_by_hand_on_a_singular_point_is_refused(tmp_path: Path) -> None:
    """`start` of the system would have found it; `State` does not know the energy."""
    with refused(InputError, "not defined at the start"):
        oscillator(system=kepler(), start=SINGULAR, out=tmp_path / "run.zarr")
    assert list(tmp_path.iterdir()) == []


def test_a_splitting_of_what_cannot_be_split_names_methods_that_can() -> None:
    with refused(ct.CapabilityError, r"Splitting\(4\) cannot treat .*kicks and drifts.*\n  do: use one of .*Gauss"):
        oscillator(system=ct.problems.pendulum(), method=ct.Splitting(4))


WITHOUT_JACOBIAN = {
    "scaling body": ct.ScalingBody(ct.Body(moments=(2.0, 3.0, 4.0))),
    "chain": ct.Chain([ct.Body.tetrahedron()] * 2, ct.LennardJones(5.0, 1.0), form="multiplier"),
    "free body": ct.FreeBody(ct.Body(moments=(2.0, 3.0, 4.0))),
    "top": ct.problems.lagrange_top().system,
}


@pytest.mark.parametrize(
    "method", [ct.Gauss(2, "newton"), ct.RadauIIA(3, "newton"), ct.ImplicitEuler("newton")], ids=str
)
@pytest.mark.parametrize("name", WITHOUT_JACOBIAN)
def test_where_newton_has_no_jacobian_the_refusal_names_what_works(name: str, method: Any) -> None:
    """Not the method that was just refused: the same one with another solver, and others by name."""
    system = WITHOUT_JACOBIAN[name]
    with pytest.raises(ct.CapabilityError, match="no Jacobian") as caught:
        Pairing.of(system, method)
    advice = re.fullmatch(r"use (\w+)\((.*)\), or one of (.*)", caught.value.do)
    assert advice is not None, caught.value.do
    kind, parameters, others = advice.groups()
    assert kind == method.name
    assert can_treat(system, eval(f"ct.{kind}({parameters})"))
    assert method.name not in others.split(", ")
    assert set(others.split(", ")) == set(methods_for(system)) - {method.name}


def test_a_refusal_hands_on_what_the_method_itself_advises() -> None:
    rod, hinge = ct.Body.box((0.1, 0.1, 1.0)), ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)))
    damped = ct.Linkage([rod], [hinge], [ct.Torsion(0, damping=1.0)])
    with refused(
        ct.CapabilityError, r"Rattle\(\) cannot treat .*dampers\n  do: use EnergyMomentum\(\), or one of Gauss"
    ):
        Pairing.of(damped, ct.Rattle())
    with refused(ct.CapabilityError, r"directors.*\n  do: use EnergyMomentum\(\), or one of Gauss"):
        Pairing.of(damped, ct.EnergyMomentum(variables="directors"))


# Stores


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 40 steps with four commits."""
    folder = tmp_path_factory.mktemp("stores")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ROWS_VARIABLE, "10")
        oscillator(steps=40, out=folder / "run.zarr")
    return folder / "run.zarr"


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run.zarr"))


@contextlib.contextmanager
def untouched(path: Path) -> Iterator[None]:
    """Nothing under a path is changed."""
    before = contents(path)
    yield
    assert contents(path) == before


def test_a_store_is_never_overwritten(store: Path) -> None:
    with untouched(store.parent), refused(StoreError, "run.zarr exists; nothing is ever overwritten"):
        oscillator(out=store)


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_nothing_else_is_overwritten_either(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    {"directory": path.mkdir, "file": path.touch, "link": lambda: path.symlink_to("nowhere")}[kind]()
    with untouched(tmp_path), refused(StoreError, "exists; nothing is ever overwritten"):
        oscillator(out=path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refused(StoreError, "there is no directory .*nowhere"):
        oscillator(out=tmp_path / "nowhere" / "run.zarr")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_directory_can_have_is_refused(tmp_path: Path) -> None:
    with untouched(tmp_path), refused(StoreError, "no name of a directory: embedded null byte"):
        oscillator(out=tmp_path / "a\0b.zarr")


@pytest.mark.parametrize("many", [False, True])
def test_a_folder_that_nobody_can_write_in_is_found_before_anything_is_compiled(
    many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plan, "program", lambda plan: pytest.fail("compiled first"))
    monkeypatch.setattr(Job, "program", property(lambda job: pytest.fail("compiled first")))
    start, how = ct.problems.harmonic().start, {"method": ct.StormerVerlet(), "dt": 0.1, "steps": 5}
    with refused(
        StoreError, "the file system refused[\\s\\S]*nothing was begun"
    ):  # where not even root makes directories
        if many:
            ct.ensemble(ct.problems.harmonic(), [start, start], **how, out="/proc/run.zarr")
        else:
            oscillator(out="/proc/run.zarr")


def test_a_store_at_work_is_not_resumed(store: Path) -> None:
    writer, _ = Store.reopen(store)
    with writer, refused(StoreError, "being written by another process"):
        ct.resume(store, steps=100)
    with writer, contextlib.suppress(StoreError):
        assert ct.open(store).steps == 40  # but it can be read


def test_a_store_of_another_version_is_refused(store: Path) -> None:
    spec = store / ".catena" / "spec.json"
    spec.write_bytes(spec.read_bytes().replace(b'"format": 1', b'"format": 99'))
    for action in (ct.open, ct.resume):
        with untouched(store), refused(StoreError, "format 99, this catena reads format 1"):
            action(store)


@pytest.mark.parametrize("action", [ct.open, ct.resume])
def test_what_is_no_store_is_refused(action: Callable[[Any], Any], tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.zarr"
    foreign.mkdir()
    (foreign / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (tmp_path / "file.zarr").write_text("")
    with untouched(tmp_path):
        for name in ("foreign.zarr", "file.zarr"):
            with refused(StoreError, "not a run store of catena"):
                action(tmp_path / name)
        with refused(StoreError, "there is no run store here"):
            action(tmp_path / "nothing.zarr")
        with refused(InputError, "5 is not a path"):
            action(5)


def test_a_run_cannot_be_resumed_to_fewer_steps_than_it_has(store: Path) -> None:
    with untouched(store), refused(InputError, "has made 40 steps already, more than the 30 asked for"):
        ct.resume(store, steps=30)
    with untouched(store), refused(InputError, "both steps and t_end"):
        ct.resume(store, steps=50, t_end=5.0)
    # the step is that of the run: another one is not advised
    with untouched(store), refused(InputError, r"does not divide(.|\n)*do: use t_end = [0-9.]+$"):
        ct.resume(store, t_end=5.05)
    assert ct.resume(store, steps=50, progress=False).steps == 50  # and the lock is free again


FILES = [
    "zarr.json",
    "q/zarr.json",
    "energy/c/0",
    "time/c/0",
    ".catena/spec.json",
    ".catena/state.0",
    ".catena/state.1",
]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", [flip, truncate, Path.unlink])
def test_a_damaged_file_is_found_when_the_run_is_opened(name: str, harm: Callable[[Path], None], store: Path) -> None:
    """state.0 is the newest checkpoint of five; without the one before it nothing is lost."""
    assert ct.open(store).steps == 40
    harm(store / name)
    if harm is Path.unlink and name.endswith("state.1"):
        assert ct.open(store).steps == 40
        return
    with untouched(store), refused(StoreError, r"damaged|missing|bytes instead of|not whole|not a run store"):
        ct.open(store)


@pytest.mark.parametrize("name", ["q/c/0/0", ".catena/spec.json"])
@pytest.mark.parametrize("harm", [flip, truncate, Path.unlink])
def test_a_run_does_not_go_on_from_damaged_files(name: str, harm: Callable[[Path], None], store: Path) -> None:
    """What can be mended (metadata, one of two checkpoints) is mended; these cannot."""
    harm(store / name)
    with untouched(store), refused(StoreError, r"damaged|missing|bytes instead of|checksum|not a run store"):
        ct.resume(store, steps=60)


def test_a_run_does_not_go_on_without_any_checkpoint(store: Path) -> None:
    for number in (0, 1):
        truncate(store / ".catena" / f"state.{number}")
    for action in (ct.open, lambda path: ct.resume(path, steps=60)):
        with untouched(store), refused(StoreError, "no checkpoint is whole"):
            action(store)
