"""Whatever text is given as an energy: it is refused, or it is derived soon and stepped, and failing steps are said."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena.errors import CatenaError, InputError, StepFailure
from catena.expressions import parse
from catena.methods.base import Method
from expression_fuzz import NAMES, mutations

SEED = 20
COUNT = 10_000
STARTS = 8
MOST_SECONDS = 1.0  # of processor time, to derive one expression

COORDINATES, MOMENTA = ("q", "q1", "q2"), ("p", "p1", "p2")
PARAMETERS = {name: 0.5 + 0.1 * k for k, name in enumerate(sorted(set(NAMES) - {*COORDINATES, *MOMENTA}))}
METHODS: tuple[Method, ...] = (ct.Gauss(2), ct.StormerVerlet(), ct.RK4())


def accepted() -> list[str]:
    """The mutated texts that the parser lets pass; it refuses the others by an InputError, in no time."""
    passed = []
    for text in mutations(SEED, COUNT):
        try:
            parse(text, NAMES)
        except InputError:
            continue
        passed.append(text)
    return passed


def start_of(system: ct.Hamiltonian) -> ct.State | None:
    """A point where the energy is defined, if one of a few has it."""
    chance = random.Random(SEED)
    for _ in range(STARTS):
        try:
            return system.start(
                q=[chance.uniform(0.1, 1.2) for _ in COORDINATES], p=[chance.uniform(-0.9, 0.9) for _ in MOMENTA]
            )
        except InputError:
            continue
    return None


def stepped(system: ct.Hamiltonian, start: ct.State, method: Method, *, compiled: bool) -> ct.Run | None:
    """Three steps of a run, None if one of them fails and says so."""
    failed = 0
    try:
        run = uncompiled.simulate(system, start, method, dt=0.01, steps=3, compiled=compiled)
    except StepFailure as failure:
        failed, run = failure.step, failure.run
    assert len(run.data.time) == (failed or 4)
    for array in run.data.variables.values():
        assert np.isfinite(array.values).all()
    return None if failed else run


def outcome_of(text: str, method: Method) -> str:
    """What becomes of an accepted text; anything but a CatenaError is a mistake of ours."""
    began = time.process_time()
    try:
        system = ct.Hamiltonian(text, COORDINATES, MOMENTA, PARAMETERS)
    except CatenaError:
        return "refused by its parameters"
    finally:
        assert time.process_time() - began < MOST_SECONDS, text
    start = start_of(system)
    if start is None:
        return "defined nowhere"
    try:
        return "stepped" if stepped(system, start, method, compiled=False) else "failed"
    except ct.CapabilityError:
        return "not for this method"


def outcomes(texts: Iterable[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for number, text in enumerate(texts):
        try:
            found[outcome_of(text, METHODS[number % len(METHODS)])] += 1
        except Exception as error:
            raise AssertionError(f"{text!r} with {METHODS[number % len(METHODS)]}") from error
    return found


def check(found: Counter[str], *, count: int) -> None:
    """Every text is accounted for, and the fuzzer reaches the steps and their failures."""
    assert found.total() == count
    assert found["stepped"] > 0.5 * count
    assert found["failed"] + found["defined nowhere"] + found["refused by its parameters"] > 0


def test_mutated_expressions_are_refused_or_stepped() -> None:
    """10 000 texts are parsed; of those accepted, 100 drawn once for all are derived and stepped."""
    texts = accepted()
    assert 0.03 * COUNT < len(texts) < 0.9 * COUNT
    chosen = random.Random(SEED).sample(sorted(set(texts)), 100)
    check(outcomes(chosen), count=100)


@pytest.mark.slow
def test_every_mutated_expression_is_refused_or_stepped() -> None:
    texts = sorted(set(accepted()))
    check(outcomes(texts), count=len(texts))


def compare_compiled(texts: Iterable[str], *, count: int) -> None:
    """Bits equal where both step; where Python's floats give up compiled code may go on, with inf on the way."""
    compared = 0
    for number, text in enumerate(texts):
        method = METHODS[number % len(METHODS)]
        system = ct.Hamiltonian(text, COORDINATES, MOMENTA, PARAMETERS)
        start = start_of(system)
        if start is None:
            continue
        plain = stepped(system, start, method, compiled=False)
        fast = stepped(system, start, method, compiled=True)
        if plain is not None:
            assert fast is not None, text
            for name in ("q", "p", "energy"):
                assert fast.data[name].values.tobytes() == plain.data[name].values.tobytes(), text
            compared += 1
        if compared == count:
            return
    raise AssertionError(f"only {compared} compared")


def shuffled() -> list[str]:
    texts = sorted(set(accepted()))
    random.Random(SEED + 1).shuffle(texts)
    return [text for text in texts if len(text) < 200]


@pytest.mark.slow
def test_mutated_expressions_compiled_give_the_same_bits() -> None:
    compare_compiled(shuffled(), count=2)


@pytest.mark.slow
def test_twenty_mutated_expressions_compiled_give_the_same_bits() -> None:
    compare_compiled(shuffled(), count=20)


# energy, q at the start, the step after which it is no longer defined; dq/dt = 1 (the last one: at least), dt = 1/128
SINGULAR = {
    "a pole, hit exactly": ("p + 1/(q - 1/64)", 0.0, 2),
    "the end of a logarithm": ("p + log(0.015 - q)", 0.0, 2),
    "the end of a root": ("p + sqrt(0.015 - q)", 0.0, 2),
    "an overflow": ("p + p**2/100 - exp(exp(q/0.004))", 0.024, 1),
}


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_motion_into_a_singular_point_fails_in_words(name: str, method: Method) -> None:
    """Uncompiled, too, where Python raises ZeroDivisionError, ValueError and OverflowError."""
    text, q, step = SINGULAR[name]
    system = ct.Hamiltonian(text)
    with pytest.raises(StepFailure) as caught:
        uncompiled.simulate(system, system.start(q=q, p=0.0), method, dt=1 / 128, steps=50)
    assert caught.value.step == step
    assert caught.value.do
    data = caught.value.run.data
    assert len(data.time) == step
    assert np.isfinite(data.q.values).all()
    assert np.isfinite(data.energy.values).all()
