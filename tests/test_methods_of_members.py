"""Members whose methods differ in numbers, such as temperatures: each is what it is with its own method alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.errors import InputError
from test_tempering import SPRING, WARM

TEMPERATURES = (0.6, 2.0)
BATHS = [ct.Langevin(kT, 0.3, seed=seed) for kT, seed in zip(TEMPERATURES, (5, 6), strict=True)]


def start() -> ct.State:
    return SPRING.start(q=0.3, p=0.1)


def test_members_with_methods_of_their_own_are_those_of_ensembles_with_one() -> None:
    each = [BATHS[k % 2] for k in range(4)]
    many = ct.ensemble(SPRING, start(), each, steps=20, dt=0.5)
    for k, method in enumerate(each):
        alone = ct.ensemble(SPRING, start(), method, steps=20, dt=0.5, members=4)
        assert np.array_equal(many.final.q[k], alone.final.q[k])
    assert not np.array_equal(
        many.final.q[1], ct.ensemble(SPRING, start(), WARM, steps=20, dt=0.5, members=4).final.q[1]
    )
    assert many.methods == (*BATHS,) and many.systems == (SPRING, SPRING)


def test_each_temperature_of_a_sweep_has_its_law_and_the_audit_knows_it(tmp_path: Path) -> None:
    """<q^2> = kT/k of springs, which `Langevin` keeps at any step; the audit judges each member by its own temperature."""

    def bath(kT: float) -> tuple[ct.Hamiltonian, ct.State, ct.Langevin]:
        return SPRING, start(), BATHS[TEMPERATURES.index(kT)]

    path = tmp_path / "study.zarr"
    study = ct.sweep(
        bath, {"kT": TEMPERATURES}, repeats=300, dt=0.5, steps=600, every=2, reduce={"square": ct.Mean("q**2")}, out=path
    )  # fmt: skip
    squares = 2.0 * study.square / study.kT  # k = 2
    off = (squares.mean("repeat") - 1.0) / (squares.std("repeat") / np.sqrt(300))
    assert (abs(off) < 4.0).all()
    wrong = 2.0 * study.square / TEMPERATURES[0]
    assert abs(wrong.mean("repeat") - 1.0)[1] > 1.0  # as if the first method moved all
    stored = ct.open(path)
    assert stored.study.identical(study) and stored.methods == (*BATHS,)
    assert all(row.verdict == "canonical" for row in stored.audit().canonical.rows)


CASE = """
[system]
kind = "Hamiltonian"
energy = "p**2/(2*m) + k*q**2/2"
parameters = {{k = 2.0, m = 0.7}}
[start]
q = 0.3
p = 0.0
[method]
kind = "Langevin"
temperature = 0.6
friction = 0.3
seed = 5
[run]
dt = 0.5
steps = 4
[[sweep.axis]]
key = "method.{key}"
values = {values}
"""


def test_a_case_sweeps_a_temperature_but_not_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(CASE.format(key="temperature", values="[0.6, 2.0]"))
    study = ct.sweep(path)
    assert study.q.dims[:1] == ("method.temperature",) and study.q[0] != study.q[1]
    path.write_text(CASE.format(key="rotor.kind", values='["DMV", "Jacobi"]'))
    with pytest.raises(InputError):
        ct.sweep(path)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ([BATHS[0], ct.Splitting(2)], "the description of method 1 is"),
        ([*BATHS, BATHS[0]], "3 methods, but 2 members"),
        ([BATHS[0], 2.0], "2.0 is not a method"),
        ([], "is not a method"),
        ([BATHS[0], ct.HybridMonteCarlo(2.0, substeps=2)], "the description of method 1 is"),
    ],
)
def test_methods_that_are_none_or_share_no_program_are_refused(method: list[ct.Method], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ct.ensemble(SPRING, [start(), start()], method, steps=2, dt=0.5)
