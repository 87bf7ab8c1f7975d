"""Members whose methods differ in numbers, such as temperatures: each is what it is with its own method alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_tempering import SPRING, WARM

import catena as ct
from catena.errors import InputError
from catena.running.thermal import laws_of_members
from catena.systems.laws import langevin_function, mean_cosine

TEMPERATURES = (0.6, 2.0)
BATHS = [ct.Langevin(kT, 0.3, seed=seed) for kT, seed in zip(TEMPERATURES, (5, 6), strict=True)]
TOP = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
TOP_START = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0.5, -0.5, 0.3))


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


def test_each_point_of_a_sweep_over_temperatures_shows_its_own_law(tmp_path: Path) -> None:
    """The mean cosine of a top, -L(b/kT), b = 1.5, which was that of the first temperature for all; without repeats there is no error."""

    def bath(kT: float) -> tuple[ct.Top, ct.State, ct.Langevin]:
        return TOP, TOP_START, ct.Langevin(kT, 1.0, seed=4)

    temperatures = [0.5, 1.0, 2.0]
    path = tmp_path / "many.zarr"
    ct.sweep(bath, {"kT": temperatures}, repeats=12, dt=0.1, steps=400, every=20, keep="samples", out=path)
    many = ct.open(path)
    row = many.audit().canonical["height"]
    laws = [-langevin_function(1.5 / kT) for kT in temperatures]
    q = many.data.orientation.values[:, 5:]  # without the first fifth
    cosine = (q[..., 0] ** 2 + q[..., 3] ** 2 - q[..., 1] ** 2 - q[..., 2] ** 2).mean(axis=1).reshape(3, 12)
    assert [(point.name, point.members) for point in row.points] == [("kT = 0.5", 12), ("kT = 1", 12), ("kT = 2", 12)]
    np.testing.assert_allclose([point.law for point in row.points], laws, rtol=1e-14)
    np.testing.assert_allclose([point.mean for point in row.points], cosine.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose([point.error for point in row.points], cosine.std(axis=1, ddof=1) / np.sqrt(12))
    assert (row.law, row.mean) == pytest.approx((np.mean(laws), cosine.mean()), rel=1e-12)
    shown = str(many.audit())
    assert all(f"at kT = {kT:g}" in shown and f"{law:.6g}" in shown for kT, law in zip(temperatures, laws, strict=True))
    alone = ct.ensemble(TOP, TOP_START, [ct.Langevin(kT, 1.0, seed=4) for kT in temperatures], dt=0.1, steps=40).audit()
    told = json.loads(json.dumps(alone.to_dict()))["height"]["points"]
    assert [(point["name"], point["law"], point["error"]) for point in told] == [
        (f"kT = {kT:g}", law, None) for kT, law in zip(temperatures, laws, strict=True)
    ]


def test_links_of_a_chain_have_the_law_of_their_temperature() -> None:
    """<T33> by quadrature at each kT; their stretch has one law at all of them, so no points, nor have members that seeds tell apart."""
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)))
    kT = np.repeat([0.5, 1.0, 2.0], 2)
    states = {name: np.stack([array] * 6) for name, array in chain.start([(0, 0, k) for k in range(3)]).fields.items()}
    kinds = np.arange(6.0)
    stretch, bending = laws_of_members([chain] * 6, kinds, kT, states, None, lambda some: str(some.tolist()))
    assert stretch.points == () and stretch.law == 1.0
    assert [(point.name, point.law) for point in bending.points] == [
        ("[0, 1]", mean_cosine(8.0, 6.0)), ("[2, 3]", mean_cosine(4.0, 3.0)), ("[4, 5]", mean_cosine(2.0, 1.5)),
    ]  # fmt: skip
    assert bending.law == pytest.approx(np.mean([point.law for point in bending.points]), rel=1e-15)
    assert [series.points for series in laws_of_members([chain] * 6, kinds, np.ones(6), states, None, str)] == [(), ()]


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
