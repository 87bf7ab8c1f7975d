"""A parameter that nothing depends on is most often a mistake, and changes no number: it is told where it was given."""

import re
import warnings

import pytest

import catena as ct

BODY = ct.Body(moments=(1.0, 2.0, 2.5))
MADE = {
    "Hamiltonian": lambda given: ct.Hamiltonian("p**2/2 + kappa*q**2/2", parameters=given),
    "Top": lambda given: ct.Top(BODY, "kappa*R33", parameters=given),
    "PairPotential": lambda given: ct.PairPotential("kappa*(r - 1)**2", given),
    "LinkPotential": lambda given: ct.LinkPotential("kappa*d1**2", given),
    "Torsion": lambda given: ct.Torsion(0, "kappa*theta**2", given),
}


@pytest.mark.parametrize("kind", MADE)
def test_a_parameter_that_nothing_depends_on_is_told_at_the_users_line(kind):
    with pytest.warns(ct.CatenaWarning, match="nothing in this") as told:
        MADE[kind]({"kappa": 1.0, "kapa": 2.0})
    assert re.fullmatch(
        rf"nothing in this {kind} depends on its parameter 'kapa' \(did you mean kappa\?\)", str(told[0].message)
    )
    assert len(told) == 1
    assert told[0].filename == __file__


@pytest.mark.parametrize("kind", MADE)
def test_parameters_that_are_used_are_not_told(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MADE[kind]({"kappa": 1.0})


def test_parameters_of_invariants_and_of_other_parameters_are_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.Hamiltonian(
            "p**2/2 + k*q**2/2", parameters={"k": "a*sin(w*t)", "a": 1.0, "w": 2.0, "c": 3.0}, invariants={"J": "c*p"}
        )


def test_gravity_has_no_parameters():
    with pytest.warns(ct.CatenaWarning, match="nothing in this Top depends on its parameter 'S'"):
        ct.Top(BODY, ct.Gravity(1.0), parameters={"S": 2.0})
