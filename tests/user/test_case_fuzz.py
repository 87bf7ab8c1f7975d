"""Damaged cases of every kind: each is read or refused, with a place and a remedy; nothing else ever happens."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from contextlib import suppress

import pytest

import catena as ct
from catena.cases import Case, CaseError, read_case, template, template_names

TEMPLATES = {name: template(name) for name in template_names()}
LONGEST = 20  # seconds for one case to be read
RUN_STEPS = 20
ODD = [
    "nan",
    "-1",
    "1e400",
    "99999999999999999999999",
    "[]",
    "{}",
    '""',
    "true",
    "1979-05-27",
    "[[1]]",
    '"\\u0000"',
    "{a=1}",
    "\"__import__('os').system('true')\"",
    '"().__class__.__base__.__subclasses__()"',
]
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect", "os.remove")
watching = False  # a hook of the interpreter cannot be taken away again


def _refuse(event: str, arguments: object) -> None:
    if watching and event in FORBIDDEN:
        raise AssertionError(f"reading a case led to {event}")


sys.addaudithook(_refuse)


def mutated(text: str, chance: random.Random) -> str:
    """A case with some damage: characters, lines or values changed."""
    for _ in range(chance.randint(1, 3)):
        lines = text.split("\n")
        at, kind = chance.randrange(len(lines)), chance.randrange(6)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, chance.choice(lines))
        elif kind == 2 and "=" in lines[at]:
            lines[at] = lines[at].partition("=")[0] + "= " + chance.choice(ODD)
        elif kind == 3 and lines[at]:
            cut = chance.randrange(len(lines[at]))
            lines[at] = lines[at][:cut] + chance.choice('"[]{}=.#\\\té\0') + lines[at][cut + 1 :]
        elif kind == 4 and lines[at]:
            cut = chance.randrange(len(lines[at]))
            lines[at] = lines[at][:cut] + lines[at][cut + 1 :]
        else:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        text = "\n".join(lines)
    return text


@pytest.fixture
def _watched():
    """No case may hang, or have anything executed that it wrote."""

    def too_long(number, frame):
        raise AssertionError("a case takes too long to be read")

    before = signal.signal(signal.SIGALRM, too_long)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def outcome(text: str) -> Case | None:
    """The case, or None if it was refused in order; any other error is not caught."""
    global watching
    signal.alarm(LONGEST)
    watching = True
    try:
        return read_case(None, text=text, label="case.toml")
    except CaseError as error:
        mistakes = error.mistakes
    finally:
        watching = False
        signal.alarm(0)
    assert mistakes
    lines = text.count("\n") + 1
    for mistake in mistakes:
        assert mistake.wrong and mistake.do, str(mistake)
        assert mistake.place is None or 1 <= mistake.place.line <= lines
    return None


def fuzzed(count: int, seed: int) -> list[Case]:
    """Read so many damaged templates; the cases that are still good."""
    chance = random.Random(seed)
    good, found = [], Counter[bool]()
    for number in range(count):
        name = sorted(TEMPLATES)[number % len(TEMPLATES)]
        case = outcome(mutated(TEMPLATES[name], chance))
        found[case is not None] += 1
        if case is not None:
            good.append(case)
    assert min(found[True], found[False]) > count // 20, "both must happen often"
    return good


def test_a_case_that_has_something_executed_would_be_noticed(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "read_case", lambda *given, **more: os.system("true"))
    with pytest.raises(AssertionError, match=r"led to os\.system"):
        outcome(TEMPLATES["hamiltonian"])


@pytest.mark.usefixtures("_watched")
@pytest.mark.filterwarnings("ignore::catena.errors.CatenaWarning")
def test_damaged_cases_are_read_or_refused_with_place_and_remedy():
    fuzzed(400, seed=7)


@pytest.mark.slow
@pytest.mark.usefixtures("_watched")
@pytest.mark.filterwarnings("ignore::catena.errors.CatenaWarning")
def test_ten_thousand_damaged_cases_and_fifty_that_run(tmp_path):
    """Fifty of the good ones are run into stores: each opens afterwards, also where a step failed."""
    good = fuzzed(10_000, seed=11)
    assert len(good) >= 50
    for number, case in enumerate(random.Random(3).sample(good, 50)):
        path = tmp_path / f"{number}.zarr"
        with suppress(ct.CatenaError):
            ct.simulate(
                case.plan.system, case.plan.start, case.plan.method, dt=case.plan.dt, steps=RUN_STEPS, out=path,
                sections=case.plan.sections, events=case.plan.events, progress=False,
            )  # fmt: skip
        if path.exists():
            assert ct.open(path).data.sizes["time"] >= 1
    assert not [file for file in tmp_path.rglob("*") if file.name.endswith((".tmp", ".new"))]
