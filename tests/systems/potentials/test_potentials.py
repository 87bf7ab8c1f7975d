"""Pair potentials: energies and forces against 50 digits, sums, tables, descriptions, kernels."""

from __future__ import annotations

import json
import math
import pickle
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

from catena.engine import headers
from catena.engine.collector import collect
from catena.errors import InputError
from catena.kernels.marks import slot
from catena.systems.potentials.pair_potentials import (
    WCA,
    Harmonic,
    LennardJones,
    Morse,
    PairPotential,
    PairSet,
    PairTable,
    Switched,
    Yukawa,
    pair_potential_from,
)
from catena.systems.potentials.pairwise import interpret
from processes import run_python

EPS = float(np.finfo(float).eps)
QUANTITIES = ("pair_energy", "pair_force", "pair_slope")
LJ_TEXT = "4*depth*((size/r)**12 - (size/r)**6)"


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mpmath.workdps(50):
        yield


# Energy, force and slope against 50 digits -------------------------------------------------------------------------------


def lennard_jones(epsilon, sigma):
    return [lambda r: 4 * epsilon * (sigma / r) ** 12, lambda r: -4 * epsilon * (sigma / r) ** 6]


def wca(epsilon, sigma):
    def within(term):
        return lambda r: term(r) if r < mp.root(2, 6) * sigma else mp.mpf(0)

    return [within(term) for term in (*lennard_jones(epsilon, sigma), lambda r: mp.mpf(epsilon))]


def morse(depth, a, r0):
    return [lambda r: depth * mp.exp(-2 * a * (r - r0)), lambda r: -2 * depth * mp.exp(-a * (r - r0))]


def switched(terms, r_on, r_cut, k):
    """The polynomial in the form 1 - x^(k+1) (...), which the code does not use."""

    def switch(r):
        x = min(max((r - r_on) / (mp.mpf(r_cut) - r_on), 0), 1)
        return 1 - x ** (k + 1) * sum(
            mp.binomial(k + i, i) * mp.binomial(2 * k + 1, k - i) * (-x) ** i for i in range(k + 1)
        )

    return [lambda r, term=term: term(r) * switch(r) for term in terms]


def yukawa(strength, kappa):
    return [lambda r: strength * mp.exp(-kappa * r) / r]


CASES: dict[str, tuple[Any, list[Any], float]] = {
    # the potential, the terms of V at 50 digits, and how far an exponent lies from a multiple of r
    "LennardJones": (LennardJones(5.0, 1.1), lennard_jones(5.0, 1.1), 0.0),
    "WCA": (WCA(2.0, 0.9), wca(2.0, 0.9), 0.0),
    "Morse": (Morse(5.0, 3.0, 1.1), morse(5.0, 3.0, 1.1), 2 * 3.0 * 1.1),
    "Yukawa": (Yukawa(2.0, 1.5), yukawa(2.0, 1.5), 0.0),
    "Yukawa of charges": (Yukawa(-1.3, 0.0), yukawa(-1.3, 0.0), 0.0),
    "Harmonic": (
        Harmonic(3.0, 1.2),
        [lambda r: 3.0 * r**2 / 2, lambda r: -3.0 * r * 1.2, lambda r: 3.0 * mp.mpf(1.2) ** 2 / 2],
        0.0,
    ),
    "text of powers": (PairPotential(LJ_TEXT, {"depth": 5.0, "size": 1.1}), lennard_jones(5.0, 1.1), 0.0),
    "text of functions": (
        PairPotential("A*exp(-b*r) - C/r**6 + log(1 + r)/r + sqrt(r)", {"A": 7.0, "b": 2.0, "C": 0.3}),
        [
            lambda r: 7 * mp.exp(-2 * r),
            lambda r: -mp.mpf(0.3) / r**6,
            lambda r: mp.log(1 + r) / r,
            lambda r: mp.sqrt(r),
        ],
        0.0,
    ),
    "text with a root": (PairPotential("sqrt(r**2 + s**2)", {"s": 0.5}), [lambda r: mp.sqrt(r**2 + 0.25)], 0.0),
    "sum": (LennardJones(5.0, 1.1) + Yukawa(2.0, 1.5), lennard_jones(5.0, 1.1) + yukawa(2.0, 1.5), 0.0),
    **{
        f"Switched, k = {k}": (
            Switched(LennardJones(5.0, 1.1), 1.2, 2.1, smoothness=k),
            switched(lennard_jones(5.0, 1.1), 1.2, 2.1, k),
            0.0,
        )
        for k in (1, 2, 3, 5)
    },
    "Switched Switched": (
        Switched(Switched(Yukawa(2.0, 1.5), 1.2, 2.1, 3), 1.7, 3.0, 1),
        switched(switched(yukawa(2.0, 1.5), 1.2, 2.1, 3), 1.7, 3.0, 1),
        0.0,
    ),
}
DISTANCES = [*np.geomspace(0.02, 50.0, 23), *np.linspace(0.907, 2.203, 40), 1.199, 1.201, 1.7001, 2.0999, 2.1001]


def kernel_of(potential: Any, name: str) -> Any:
    written = PairSet([potential])
    function = interpret(written.kernel(name))
    par = SimpleNamespace(pair=written.values.tolist())
    return lambda s: function(s, 0, par)


def worst_error(potential: Any, terms: list[Any], name: str, exponent: float) -> float:
    """In units of round-off: of the terms that add up, of the rounding of r, and of an exponent's constant part.

    V is a function of s, A = -2 dV/ds and dA/ds = -2 d2V/ds2, so one derivative by s gives all three.
    """
    order, factor = {"pair_energy": (0, 1), "pair_force": (1, -2), "pair_slope": (2, -2)}[name]
    found = kernel_of(potential, name)
    worst = 0.0
    for r in DISTANCES:
        s = float(r * r)
        in_s = [lambda x, term=term: term(mp.sqrt(x)) for term in terms]
        parts = [factor * mp.diff(term, mp.mpf(s), order) for term in in_s]
        change = [factor * s * mp.diff(term, mp.mpf(s), order + 1) for term in in_s]
        scale = (1 + exponent) * sum(map(abs, parts)) + sum(map(abs, change))
        error = abs(found(s) - sum(parts))
        worst = max(worst, float(error / (EPS * scale)) if scale else float(error > 0) * math.inf)
    return worst


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("case", CASES)
def test_kernels_agree_with_50_digits_over_wide_distances(case, name):
    """Units of round-off of what is added up; measured at most 1.2, and 5.6 for the slope of a switch in a switch."""
    assert worst_error(*CASES[case][:2], name, CASES[case][2]) < 8


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (LennardJones(5.0, 1.1 * (1 + 1e-13)), "LennardJones"),
        (WCA(2.0 * (1 + 1e-13), 0.9), "WCA"),
        (Morse(5.0, 3.0 * (1 + 1e-13), 1.1), "Morse"),
        (Yukawa(2.0, 1.5 * (1 + 1e-13)), "Yukawa"),
        (Switched(LennardJones(5.0, 1.1), 1.2, 2.1 * (1 + 1e-13)), "Switched, k = 2"),
        (Switched(LennardJones(5.0, 1.1), 1.2, 2.1, smoothness=3), "Switched, k = 2"),
        (LennardJones(5.0, 1.1) + WCA(1e-12, 1.1), "LennardJones"),
    ],
    ids=str,
)
def test_an_error_in_the_13th_digit_is_seen(wrong, case, name):
    assert worst_error(wrong, CASES[case][1], name, CASES[case][2]) > 8


def test_a_spring_wrong_in_the_13th_digit_is_seen():
    terms = CASES["Harmonic"][1]
    assert all(worst_error(Harmonic(3.0 * (1 + 1e-13), 1.2), terms, name, 0.0) > 8 for name in QUANTITIES)


# Between two distances -------------------------------------------------------------------------------------------------------


def mean_error(potential: Any, terms: list[Any]) -> float:
    """Of A = -2 (V1 - V0)/(s1 - s0), from a change by half to one by the last digit, in units of round-off of the forces of the terms."""
    function, par = interpret(PairSet([potential]).kernel("pair_mean")), SimpleNamespace(pair=potential.constants)
    worst = 0.0
    for r in DISTANCES[8:-15]:
        for change in (0.5, -0.3, 1e-3, -1e-6, 1e-9, EPS):
            s0 = float(r * r)
            s1 = s0 * (1 + change)
            parts = [-2 * (t(mp.sqrt(s1)) - t(mp.sqrt(s0))) / (mp.mpf(s1) - mp.mpf(s0)) for t in terms]
            error = abs(function(s0, s1, 0, par) - sum(parts))
            worst = max(worst, float(error / (EPS * sum(map(abs, parts)))))
    return worst


@pytest.mark.parametrize(
    ("potential", "of", "right"),
    [
        (LennardJones(5.0, 1.1), lennard_jones(5.0, 1.1), True),
        (LennardJones(5.0, 1.1 * (1 + 1e-13)), lennard_jones(5.0, 1.1), False),
        (LennardJones(5.0, 1.1) + LennardJones(0.3, 2.0), lennard_jones(5.0, 1.1) + lennard_jones(0.3, 2.0), True),
    ],
    ids=["alone", "an error in the 13th digit", "sum"],
)
def test_lennard_jones_between_two_distances_is_right_however_close_they_are(potential, of, right):
    """Eight roundings allowed."""
    assert (mean_error(potential, of) < 8) == right


@pytest.mark.parametrize("case", CASES)
def test_what_acts_between_two_distances_does_the_work_that_the_energy_loses(case):
    """A (s1 - s0) = -2 (V1 - V0), to rounding of the energies; where the derivative in the middle stands for the quotient, to its error as well."""
    potential = CASES[case][0]
    function, par = interpret(PairSet([potential]).kernel("pair_mean")), SimpleNamespace(pair=potential.constants)
    energy = kernel_of(potential, "pair_energy")
    for r in (0.95, 1.2, 1.5, 1.9):
        for change in (0.2, -1e-3, 1e-7):
            s0, s1 = r * r, r * r * (1 + change)
            work, lost = function(s0, s1, 0, par) * (s1 - s0), -2 * (energy(s1) - energy(s0))
            scale = 1 + abs(energy(s0)) + abs(energy(s1))
            assert abs(work - lost) < 200 * EPS * scale


def test_force_is_minus_the_slope_of_energy():
    """Values for users: 1e-13 is 50 units of round-off of the largest force here."""
    r = np.array([[1.05, 1.3], [1.9, 2.0999]])
    for potential, terms, _ in CASES.values():
        expected = [-sum(mp.diff(term, mp.mpf(x)) for term in terms) for x in r.ravel()]
        energies = [sum(term(mp.mpf(x)) for term in terms) for x in r.ravel()]
        scale = float(max(map(abs, expected)))
        np.testing.assert_allclose(potential.force(r), np.reshape(expected, r.shape).astype(float), atol=1e-13 * scale)
        np.testing.assert_allclose(potential.energy(r).ravel(), np.array(energies, dtype=float), atol=1e-13 * scale)
        assert potential.energy(1.3).shape == () and potential.force(1.3) == potential.force([1.3])[0]


def test_where_a_potential_is_not_defined_neither_is_its_force():
    bond = PairPotential("-15*log(1 - (r/1.5)**2)")
    assert np.isnan([bond.energy(2.0), bond.force(2.0)]).all()
    assert np.isfinite([bond.energy(1.4), bond.force(1.4)]).all()


def test_without_odd_powers_of_r_no_root_is_taken():
    for potential in (LennardJones(5.0, 1.0), WCA(5.0, 1.0)):
        for quantity in ("energy", "force", "slope"):
            assert "sqrt" not in potential.kernel(quantity).__code__.co_names
    derived = PairPotential(LJ_TEXT, {"depth": 5.0, "size": 1.1})
    assert not any("sqrt" in derived.kernel(quantity).text for quantity in ("energy", "force", "slope"))
    assert "sqrt" in PairPotential("1/r").kernel("force").text


def test_a_spring_of_no_length_rests_at_distance_zero():
    assert kernel_of(PairPotential("k*r**2/2", {"k": 3.0}), "pair_force")(0.0) == -3.0


def test_wca_ends_without_a_jump_in_force_but_with_one_in_its_slope():
    """57.1 epsilon/sigma^2: V'' of Lennard-Jones at its minimum, 72/2^(1/3)."""
    end = 2.0 ** (1 / 6)
    near = np.array([end * (1 - 1e-9), end * (1 + 1e-9)])
    force = WCA(1.0, 1.0).force(near)
    assert force[1] == 0.0 and 0 < force[0] < 1e-6
    slope = kernel_of(WCA(1.0, 1.0), "pair_slope")
    second = -2 * near[0] ** 2 * slope(near[0] ** 2) - force[0] / near[0]
    assert second == pytest.approx(72 / 2 ** (1 / 3), rel=1e-6)
    assert slope(near[1] ** 2) == 0.0


def test_smoothness_is_told():
    assert [CASES[name][0].smoothness for name in ("LennardJones", "WCA", "Switched, k = 3")] == [math.inf, 1, 3]
    assert (LennardJones(1.0, 1.0) + WCA(1.0, 1.0)).smoothness == 1
    assert PairTable({(0, 0): None, (0, 1): Switched(Yukawa(1.0, 1.0), 1.0, 2.0)}).smoothness == 2


# Sums, tables, descriptions ----------------------------------------------------------------------------------------------------


TABLE = PairTable({("A", "B"): WCA(1.0, 1.0), ("A", "A"): LennardJones(1.0, 1.0), ("B", "B"): None})


def test_sums_are_flat_and_add_up_in_order():
    a, b, c = LennardJones(1.0, 1.0), Yukawa(2.0, 0.5), Harmonic(3.0, 1.2)
    assert ((a + b) + c) == (a + (b + c))
    assert ((a + b) + c).terms == (a, b, c)
    r = np.array([0.8, 1.1, 2.0])
    np.testing.assert_allclose((a + b + c).force(r), a.force(r) + b.force(r) + c.force(r), rtol=4 * EPS)


def test_a_table_is_symmetric_and_its_order_does_not_matter():
    other = PairTable({("B", "B"): None, ("B", "A"): WCA(1.0, 1.0), ("A", "A"): LennardJones(1.0, 1.0)})
    assert other == TABLE and hash(TABLE) == hash(other)
    assert TABLE.describe() == other.describe()
    assert TABLE.between("A", "B") == TABLE.between("B", "A") == WCA(1.0, 1.0)
    assert TABLE.between("B", "B") is None
    assert TABLE.potentials == (LennardJones(1.0, 1.0), WCA(1.0, 1.0))
    assert (TABLE.torn_distance, TABLE.length, TABLE.cohesion) == (4.0, 1.0, LennardJones(1.0, 1.0).cohesion)
    assert PairTable({(0, "x"): None, (10, 9): WCA(1.0, 2.0)}).between(9, 10) == WCA(1.0, 2.0)
    assert LennardJones(1.0, 1.0).between("A", 3) == LennardJones(1.0, 1.0)


def test_tables_add_entry_by_entry():
    charge = Yukawa(1.0, 1.0)
    both = TABLE + charge
    assert both.between("A", "A") == LennardJones(1.0, 1.0) + charge
    assert both.between("B", "B") == charge
    assert (charge + TABLE).between("A", "A") == charge + LennardJones(1.0, 1.0)
    assert (TABLE + TABLE).between("B", "B") is None
    with pytest.raises(InputError, match="'B' and 'B'"):
        TABLE + PairTable({("A", "A"): charge, ("A", "B"): charge})


@pytest.mark.parametrize("potential", [*(case[0] for case in CASES.values()), TABLE], ids=lambda p: type(p).__name__)
def test_a_description_gives_the_same_potential_back(potential):
    again = pair_potential_from(json.loads(json.dumps(potential.describe())))
    assert again == potential and hash(again) == hash(potential)
    assert pickle.loads(pickle.dumps(potential)) == potential
    assert again.describe() == potential.describe()


def test_potentials_are_frozen_values():
    with pytest.raises(AttributeError):
        LennardJones(1.0, 1.0).sigma = 2.0
    assert LennardJones(1, 2) == LennardJones(1.0, 2.0) != LennardJones(1.0, 2.5)
    assert LennardJones(1.0, 1.0) != WCA(1.0, 1.0)
    assert PairPotential("a/r + b", {"a": 1.0, "b": 2.0}) == PairPotential("a/r + b", {"b": 2, "a": 1})


def test_a_sympy_expression_is_as_good_as_text():
    r, a = sympy.symbols("r a")
    potential = PairPotential(a * sympy.exp(-r) / r, {"a": 2.0})
    np.testing.assert_allclose(potential.force([1.0, 2.0]), Yukawa(2.0, 1.0).force([1.0, 2.0]), rtol=4 * EPS)
    assert pair_potential_from(potential.describe()) == potential


# Kernels -------------------------------------------------------------------------------------------------------------------


OTHER_VALUES = [
    (LennardJones(5.0, 1.0), LennardJones(0.3, 2.0)),
    (WCA(5.0, 1.0), WCA(0.3, 2.0)),
    (Morse(5.0, 3.0, 1.1), Morse(1.0, 2.0, 3.0)),
    (Yukawa(2.0, 1.5), Yukawa(-1.0, 0.0)),
    (Harmonic(3.0, 1.2), Harmonic(1.0, 2.0)),
    (PairPotential("a*r**b", {"a": 1.0, "b": 3.0}), PairPotential("a*r**b", {"b": 0.0, "a": -1.0})),
    (Switched(LennardJones(5.0, 1.0), 1.2, 2.0), Switched(LennardJones(1.0, 2.0), 3.0, 4.0)),
    (LennardJones(5.0, 1.0) + Yukawa(2.0, 1.5), LennardJones(1.0, 3.0) + Yukawa(1.0, 1.0)),
]


@pytest.mark.parametrize(("first", "second"), OTHER_VALUES, ids=lambda p: type(p).__name__)
def test_other_values_never_change_a_kernel(first, second):
    """So nothing is compiled again for them; other formulas do change it."""
    for name in QUANTITIES:
        assert PairSet([first]).kernel(name) == PairSet([second]).kernel(name)
        assert PairSet([first, second]).kernel(name) == PairSet([second, first]).kernel(name)
        assert PairSet([first]).kernel(name) != PairSet([first + Morse(1.0, 1.0, 1.0)]).kernel(name)
    assert Switched(WCA(1.0, 1.0), 1.0, 2.0, 1).kernel("force") != Switched(Yukawa(1.0, 1.0), 1.0, 2.0, 1).kernel(
        "force"
    )


def test_potentials_of_one_formula_are_told_apart_without_a_branch():
    same = PairSet([LennardJones(5.0, 1.0), LennardJones(0.3, 2.0), LennardJones(1.0, 1.5)])
    assert all(" if " not in same.kernel(name).text for name in QUANTITIES)
    assert len(same.kernel("pair_force").uses) == 1
    assert "which" not in PairSet([LennardJones(5.0, 1.0)]).kernel("pair_force").text.partition("\n")[2]


MANY = [
    LennardJones(5.0, 1.0),
    LennardJones(0.3, 2.0),
    None,
    Morse(5.0, 3.0, 1.1),
    None,
    *(case[0] for case in CASES.values()),
    LennardJones(1.0, 1.5),
    Yukawa(3.0, 0.2),
    Yukawa(2.0, 0.1),
]


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_number_means_its_potential(name):
    numbered = PairSet(MANY)
    function = interpret(numbered.kernel(name))
    par = SimpleNamespace(pair=numbered.values.tolist())
    for which, potential in enumerate(MANY):
        for s in (0.9, 1.7, 3.1):
            expected = 0.0 if potential is None else kernel_of(potential, name)(s)
            assert function(s, which, par) == expected


def test_no_potential_at_all_is_no_force():
    empty = PairSet([])
    assert [interpret(empty.kernel(name))(1.0, 0, None) for name in QUANTITIES] == [0.0, 0.0, 0.0]
    assert len(empty.values) == 1


@slot
def pair_energy(s, which, par):
    """V."""


@slot
def pair_force(s, which, par):
    """A."""


@slot
def pair_slope(s, which, par):
    """dA/ds."""


def all_values(s, count, par, out):
    k = 0
    for which in range(count):
        for i in range(len(s)):
            out[k] = pair_energy(s[i], which, par)
            out[k + 1] = pair_force(s[i], which, par)
            out[k + 2] = pair_slope(s[i], which, par)
            k += 3


COMPILED = [
    LennardJones(5.0, 1.0),
    LennardJones(0.3, 2.0),
    None,
    *(CASES[name][0] for name in ("WCA", "Morse", "Yukawa", "Harmonic", "text of functions", "Switched, k = 2")),
    Switched(LennardJones(1.0, 1.5) + Yukawa(3.0, 0.2), 1.0, 3.0, 4),
]


def test_compiled_and_interpreted_kernels_give_the_same_bits():
    numbered = PairSet(COMPILED)
    contracts = {"pair_energy": pair_energy, "pair_force": pair_force, "pair_slope": pair_slope}
    parts = collect(all_values, {contract: numbered.kernel(name) for name, contract in contracts.items()})
    s = np.geomspace(0.05, 50.0, 200)
    results = []
    for header, entry in [(headers.PYTHON, "@_fn"), (headers.CPU, "@njit(**_strict)")]:
        text = headers.module_text("pairs", parts, [("pair", 1, "float64")], header=header, entry=entry)
        module: dict[str, Any] = {"__name__": "pairs"}
        exec(compile(text, "<pairs>", "exec"), module)
        out = np.zeros(3 * len(COMPILED) * len(s))
        module["advance"](s, len(COMPILED), module["Parameters"](numbered.values), out)
        results.append(out)
    assert results[0].tobytes() == results[1].tobytes()
    assert np.isfinite(results[0]).all()
    assert len(set(results[0].tolist())) > 20 * len(s), "they differ among each other"


def test_a_warm_process_needs_no_sympy_and_finds_the_same_text(tmp_path):
    code = (
        "import sys\n"
        "from catena.systems.potentials.pair_potentials import PairPotential, PairSet, Switched\n"
        "written = PairSet([Switched(PairPotential('a/r**9 + exp(-b*r)', {'b': 1.0, 'a': 2.0}), 1.0, 2.0)])\n"
        "print(written.kernel('pair_force'), 'sympy' in sys.modules, sep='|')"
    )
    cold, warm = (run_python(code, CATENA_CACHE_DIR=tmp_path, PYTHONHASHSEED=seed)[0].strip() for seed in (1, 2))
    elsewhere = run_python(code, CATENA_CACHE_DIR=tmp_path / "other", PYTHONHASHSEED=3)[0].strip()
    assert cold.endswith("|True") and "derived_force" in cold
    assert cold == elsewhere
    assert warm == cold.removesuffix("|True") + "|False"
