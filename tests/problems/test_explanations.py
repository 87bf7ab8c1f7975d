"""Each built-in problem says in a paragraph what it is, what one sees, and why."""

from __future__ import annotations

import math

import numpy as np
import pytest

from catena import problems


@pytest.mark.filterwarnings("ignore:particle 1 of body 0")  # printed_chain starts far from equilibrium, and says so
@pytest.mark.parametrize("name", problems.__all__)
def test_every_problem_is_explained_in_one_paragraph(name):
    """Three sentences or more; a name alone, which is what there was, is none."""
    about = getattr(problems, name)().about
    assert about == " ".join(about.split()) and about.endswith(".") and "{" not in about
    assert len(about.replace(": ", ". ").split(". ")) >= 3 and 250 <= len(about) <= 600


def test_the_variants_of_a_problem_are_named_and_have_the_same_explanation():
    assert problems.hanging_chain("spherical", 6).about.startswith("6 boxes on spherical joints")
    assert problems.kepler(e=0.3).about.startswith("Kepler problem, eccentricity 0.3.")
    assert problems.symmetric_top("quaternion").about == problems.symmetric_top().about


@pytest.mark.filterwarnings("ignore:particle 1 of body 0")  # another turn brings bodies near to each other
def test_numbers_of_numpy_are_numbers_of_a_problem() -> None:
    """As in a sweep over `np.arange`; 0.5 and True are none (`tests/test_bad_input.py`)."""
    for made, plain in (
        (problems.ring_chain(np.int64(96), turns=np.int64(1)), problems.ring_chain(96, turns=1)),
        (problems.disc_chain(np.int64(3), np.int64(16)), problems.disc_chain(3, 16)),
        (problems.hanging_chain(n=np.int64(3)), problems.hanging_chain(n=3)),
    ):
        assert all(np.array_equal(field, plain.start.fields[name]) for name, field in made.start.fields.items())


def test_the_numbers_of_the_explanations_are_those_of_the_motion():
    top = problems.lagrange_top()
    tilts = [round(math.degrees(math.acos(top.facts[edge]))) for edge in ("highest_cosine", "lowest_cosine")]
    assert "between {} and {} degrees".format(*tilts) in top.about
    star = problems.henon_heiles()
    (q1, q2), (p1, p2) = star.start.q, star.start.p
    energy = (p1**2 + p2**2 + q1**2 + q2**2) / 2 + q1**2 * q2 - q2**3 / 3
    assert f"energy, {energy:.4f}, lies below the 1/6" in star.about and energy < 1 / 6
    loop = problems.bricard().system
    assert (
        6 * len(loop.bodies) == 5 * len(loop.joints) == 30
        and "thirty of one and thirty of the other" in problems.bricard().about
    )
    assert 5 * len(problems.four_bar().system.joints) == 20 and "twenty conditions" in problems.four_bar().about
