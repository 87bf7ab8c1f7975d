"""The table of the free body is measured, not copied: right methods give its marks, wrong ones others."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import catena as ct
from catena.geometry.quaternion import renew, turn_about_axis
from catena.methods.base import Traits
from catena.methods.rotors.rotor import Rotor
from catena.reproduce import axis_orders, vilmart
from catena.reproduce.body_structure import KEPT, leading_power, measure_structure, step_defects
from places import read_reference

REFERENCE = read_reference("tops.toml")
STRUCTURE = {row["method"]: row for row in REFERENCE["structure"]}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return vilmart.reproduce(tmp_path_factory.mktemp("vilmart"), quick=True)


@pytest.mark.slow
def test_every_row_agrees_or_says_why_it_cannot_and_every_picture_has_ink(report):
    assert report.ok, str(report)
    assert all(row.agrees is not None or row.remark for row in report.rows), str(report)
    names = {file.name for file in report.files}
    for picture in ("vilmart_defects", "vilmart_book", "vilmart_errors", "vilmart_axis_orders"):
        assert {f"{picture}.png", f"{picture}.pdf", f"{picture}.csv"} <= names
    for file in report.files:
        if file.suffix == ".png":
            pixels = imread(file)[..., :3]
            assert (np.ptp(pixels, axis=-1) > 0.25).sum() > 500, f"{file} has no coloured ink"


@pytest.mark.slow
def test_the_table_has_every_method_with_its_published_marks(report):
    for method, marks in vilmart.PUBLISHED.items():
        row = report[f"{method}: keeps"]
        assert row.agrees is True and row.ours == row.reference == marks
    assert sum(row.quantity.endswith(": keeps") for row in report.rows) == len(vilmart.METHODS) == 15


def test_defects_have_the_sizes_known_from_another_program(report):
    """Sizes to one digit, of one step of 0.3: differences of sixth order in double precision, by separate code."""
    with next(f for f in report.files if f.name == "vilmart_table.csv").open(newline="") as file:
        table = {row["method"]: row for row in csv.DictReader(file)}
    for method, known in STRUCTURE.items():
        for key, name in (("momentum", "R y"), ("energy", "H"), ("poisson", "Poisson"), ("symplectic", "symplectic")):
            defect = float(table[method][f"defect of {name}"])
            if key in known:
                assert 0.6 * known[key] < defect < 1.6 * known[key], (method, name)
            else:
                assert defect < 1e-20, (method, name)


# Wrong methods ----------------------------------------------------------------------------------------------------


def lopsided(y, q, ey, eq, inertia, h, tab):
    """Each axis once: order 1."""
    turn_about_axis(y, q, ey, eq, 0, h * y[0] / inertia[0])
    turn_about_axis(y, q, ey, eq, 1, h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 2, h * y[2] / inertia[2])
    renew(q, eq)
    return 0


def shrinking(y, q, ey, eq, inertia, h, tab):
    """Each axis once and back, the momentum a little shorter: nothing but the order is left."""
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 2, h * y[2] / inertia[2])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    for k in range(3):
        y[k] -= 1e-15 * y[k]
    return 0


@dataclass(frozen=True)
class Wrong(Rotor):
    """A rotor with a wrong kernel."""

    kernel: Any
    name = "Wrong"

    def rotor_kernel(self) -> Any:
        return self.kernel

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, True, (), (), 0.0)


def test_a_method_that_takes_each_axis_once_is_not_found_to_have_order_two():
    """It has order 1 and is not symmetric, so that a fit in h^2 finds its order roughly (0.74)."""
    structure = measure_structure(Wrong(lopsided))
    assert 0.5 < structure.order < 1.5
    order, _ = vilmart._property_rows(Wrong(lopsided), structure)
    assert order.agrees is False


def standing_still(y, q, ey, eq, inertia, h, tab):
    """No motion at all: everything is kept, but errors never fall."""
    return 0


def test_a_method_that_does_not_move_is_not_found_to_be_exact():
    structure = measure_structure(Wrong(standing_still))
    assert structure.marks == "+ + + + +" and not structure.order > 0.1
    order, _ = vilmart._property_rows(Wrong(standing_still), structure)
    assert order.agrees is False


def test_a_loss_of_the_fifteenth_digit_in_a_step_is_seen():
    """Far below the round-off of doubles in a derivative; 32 digits see it everywhere."""
    structure = measure_structure(Wrong(shrinking))
    assert structure.marks == "- - - - -"
    assert 1e-16 < structure.defects[KEPT.index("symplectic")] < 1e-14


def test_one_method_in_the_place_of_another_disagrees():
    """The midpoint rule keeps what DMV keeps but is no Poisson map; DMV(4) is, but it is not symplectic."""
    for wrong in (ct.ImplicitMidpoint(), ct.DMV(4)):
        _, marks = vilmart._property_rows(ct.DMV(2), measure_structure(wrong))
        assert marks.agrees is False


def test_the_symplectic_defect_of_order_twelve_is_seen_at_small_steps():
    """3e-13 at dt = 0.3, of order 13: 4e-17 at 0.15, which a double could not tell from none."""
    defect = step_defects(ct.DMV(12), dt=0.15)[-1]
    assert 1e-17 < defect < 1e-16


@pytest.mark.parametrize("power", [2, 5, 12])
def test_the_leading_power_is_found_beside_the_next_one(power):
    h = np.linspace(0.2, 0.5, 6)
    errors = 3.0 * h**power * np.exp(-1.7 * h**2)
    assert leading_power(h, errors) == pytest.approx(power, abs=1e-10)


# Orders of axes ---------------------------------------------------------------------------------------------------


def test_renaming_the_axes_of_a_body_gives_the_same_motion():
    """All orders of the same body err by less than a step's share; with a momentum turned around it is another motion."""
    moments, momentum = np.array([0.6, 0.9, 1.3]), np.array([0.7, -0.5, 0.9])
    for order in axis_orders.ORDERS:
        assert axis_orders._error_of_three(moments, momentum, order) < 2e-3
        assert axis_orders._error_of_symmetric(moments, momentum, order) < 2e-3


def test_the_order_that_is_given_to_the_kernel_is_the_one_that_the_method_chooses():
    moments, momentum = np.array([0.9, 1.3, 0.6]), np.array([0.7, -0.5, 0.9])
    tab = ct.SymmetricRotation().row(moments)
    order = tuple(int(axis) for axis in tab[:3])
    chosen = axis_orders._error(ct.SymmetricRotation().rotor_kernel(), moments, momentum, tab)
    assert axis_orders._error_of_symmetric(moments, momentum, order) == pytest.approx(chosen, rel=1e-9)
    others = [axis_orders._error_of_symmetric(moments, momentum, o) for o in axis_orders.ORDERS if o != order]
    assert all(abs(math.log(error / chosen)) > 1e-3 for error in others)


def test_families_are_possible_bodies_and_the_chosen_order_is_never_far_from_the_best():
    families = axis_orders.compare(12)
    assert [family.name for family in families] == ["random", "nearly symmetric", "flat"]
    for family in families:
        bodies = np.arange(12)
        assert (family.three.min(axis=1) == 1.0).all() and (family.symmetric.min(axis=1) == 1.0).all()
        chosen = family.symmetric[bodies, family.chosen]
        assert np.median(chosen) < 3.0 < np.median(family.symmetric.max(axis=1))


@pytest.mark.slow
def test_the_whole_table(tmp_path):
    report = vilmart.reproduce(tmp_path)
    assert report.ok, str(report)
    errors = [row.ours for row in report.rows if row.quantity.endswith("error of y and q")]
    assert errors == sorted(errors) and errors[0] < 1e-12
