"""`ct.Rod` against what is known of rods: elastica, beams, buckling under force and torque, each with its order of convergence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import catena as ct

SHEAR = 0.4  # G/E, nu = 1/4
BEAM = np.array([1.8751040687119611, 4.694091132974174, 7.854757438237613]) ** 2  # cos x cosh x = -1


def rod(n: int, slender: float = 5000.0, **options) -> ct.Rod:
    """Length 1, bending stiffness 1, mass 1, twist stiffness 0.8."""
    radius = 1.0 / slender
    second = 0.25 * math.pi * radius**4
    density = 1.0 / (math.pi * radius**2)
    return ct.Rod.circular(1.0, radius, E=1.0 / second, G=SHEAR / second, density=density, n=n, **options)


def elastica(load: float) -> tuple[float, float]:
    """Tip of the inextensible cantilever under a dead force across: theta'' = -P cos theta, by shooting for theta'(0)."""

    def shot(curvature: float) -> np.ndarray:
        def rates(_, y):
            return [y[1], -load * math.cos(y[0]), math.cos(y[0]), math.sin(y[0])]

        return solve_ivp(rates, (0.0, 1.0), [0.0, curvature, 0.0, 0.0], rtol=1e-12, atol=1e-13).y[:, -1]

    first = brentq(lambda c: shot(c)[1], 0.5 * load if load < 2.0 else 1.0, load, xtol=1e-13)
    return tuple(shot(first)[2:])


def extrapolated(values: list[np.ndarray]) -> np.ndarray:
    """Without the error of second order, from two values, the second with half the links."""
    return (4.0 * values[1] - values[0]) / 3.0


@pytest.mark.parametrize("load", [1.0, pytest.param(10.0, marks=pytest.mark.slow)])
def test_a_cantilever_bends_as_the_elastica(load):
    """Order 2; extrapolated to 1e-6 (shear and stretch of a rod of slenderness 5000 are 1e-7 of it)."""
    tips = []
    for n in (17, 33, 65):
        found = rod(n).equilibrium(load=(0.0, load, 0.0))
        assert found.converged and found.iterations <= 12
        tips.append(found.state.position[-1, :2])
    exact = np.array(elastica(load))
    errors = [np.abs(tip - exact).max() for tip in tips]
    assert 3.5 < errors[0] / errors[1] < 4.5 and 3.5 < errors[1] / errors[2] < 4.5
    assert np.abs(extrapolated(tips[1:]) - exact).max() < 1e-6


def test_a_cantilever_has_the_frequencies_of_a_beam():
    """Six of them, in pairs, to Euler and Bernoulli; rotary inertia and shear take 1e-6 at this slenderness."""
    found = [rod(n).normal_modes(count=6).omega for n in (17, 33, 65)]
    exact = np.repeat(BEAM, 2)
    first, second = (np.abs(one / exact - 1.0).max() for one in found[1:])
    assert 3.5 < first / second < 4.5
    assert extrapolated(found[1:]) == pytest.approx(exact, rel=2e-5)
    assert extrapolated(found[1:])[:2] == pytest.approx(exact[:2], rel=1e-6)


def test_a_stocky_cantilever_has_the_frequencies_of_timoshenkos_beam():
    """From the determinant of Timoshenko's equations for clamped and free ends, slenderness 20: 2 per cent below Euler's."""
    slender, n = 20.0, 33
    found = [rod(k, slender).normal_modes(count=2).omega[0] for k in (n, 2 * n - 1)]
    exact = timoshenko(slender)
    assert abs(exact / BEAM[0] - 1.0) > 2e-3
    assert float(extrapolated(found)) == pytest.approx(exact, rel=1e-5)


def timoshenko(slender: float) -> float:
    """First frequency: the state (w, psi, M, Q) carried along a clamped-free beam by a matrix exponential."""
    from scipy.linalg import expm

    made = rod(3, slender)
    shear, inertia = made.shear[0], 0.25 / slender**2

    def determinant(omega: float) -> float:
        square = omega * omega
        a = np.array([[0, 1, 0, 1 / shear], [0, 0, 1, 0], [0, -inertia * square, 0, -1], [-square, 0, 0, 0.0]])
        return float(np.linalg.det(expm(a)[2:, 2:]))

    return brentq(determinant, 0.8 * BEAM[0], 1.01 * BEAM[0])


def test_a_compressed_rod_buckles_at_eulers_load():
    loads = []
    for n in (9, 17):
        limit = rod(n, 1000.0).equilibrium_path((-1.0, 0.0, 0.0)).limit
        assert limit is not None and limit.kind == "bifurcation"
        loads.append(limit.load)
    euler = math.pi**2 / 4.0
    errors = [load / euler - 1.0 for load in loads]
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert extrapolated(loads) == pytest.approx(euler, rel=2e-4)


@pytest.mark.slow
def test_a_shaft_whose_end_is_turned_buckles_at_greenhills_torque():
    """Both ends clamped: M L/B = 2 x 4.4934 = 8.9868, tan x = x."""
    torques = []
    for n in (17, 33, 65):
        limit = rod(n, 500.0, right=ct.Clamped()).equilibrium_path((1.0, 0.0, 0.0, 0.0, 0.0, 0.0)).limit
        assert limit is not None and limit.kind == "bifurcation"
        torques.append(limit.load)
    exact = 2.0 * brentq(lambda x: math.sin(x) - x * math.cos(x), 4.0, 4.6)
    assert exact == pytest.approx(8.9868, abs=1e-4)
    errors = [torque / exact - 1.0 for torque in torques]
    assert 3.0 < errors[1] / errors[2] < 5.0, errors
    assert extrapolated(torques[1:]) == pytest.approx(exact, rel=1e-3)


def test_strains_in_the_axes_of_one_body_are_of_first_order():
    """The twin: the same stiffnesses with d as it is."""
    tips = []
    for n in (9, 17, 33):
        made = rod(n, 500.0)
        h = made.spacing
        text = "h*(ea*(d1/h - 1)**2 + ga*(d2**2 + d3**2)/h**2)/2 + (gj*(1 + Q11 - Q22 - Q33) + 2*ei*(1 - Q11))/(2*h)"
        values = {"h": h, "ea": made.stretch, "ga": made.shear[0], "gj": made.torsion, "ei": 1.0}
        chain = ct.Chain(made.bodies, ct.LinkPotential(text, values))
        tips.append(chain.equilibrium(made.straight(), load=(0.0, 1.0, 0.0)).state.position[-1, 1])
    errors = [abs(tip - elastica(1.0)[1]) for tip in tips]
    assert errors[1] / errors[2] < 2.5


def test_the_chain_of_a_rod_has_that_rod_for_its_limit():
    """EA, GJ and EI come back, and mass per length; a link bends about its middle, so that a stocky rod is "exact", a slender one "local"."""
    assert rod(65, 4.0).rod_limit().kind == "exact"
    made = rod(9, 50.0)
    found = made.rod_limit()
    assert found.kind == "local" and found.angle == 0.0 and found.rise == pytest.approx(made.spacing)
    assert np.diag(found.stretch_twist) == pytest.approx([made.stretch, made.torsion], rel=1e-9)
    assert found.bending_stiffnesses == pytest.approx(made.bending, rel=1e-9)
    assert found.mass_per_length == pytest.approx(1.0)


def test_sections():
    nu = 0.25
    bar = ct.Rod.rectangular(1.0, (1.0, 2.0), E=1.0, G=SHEAR, density=3.0, n=3)
    assert bar.bending == pytest.approx((8.0 / 12.0, 2.0 / 12.0))  # about axis 2 the side along axis 3 counts
    assert bar.torsion == pytest.approx(SHEAR * 0.457366, rel=1e-5)  # 0.228683 a^3 b, Timoshenko & Goodier
    assert bar.shear[0] == pytest.approx(SHEAR * 2.0 * 10 * (1 + nu) / (12 + 11 * nu))
    tube = ct.Rod.tube(1.0, (2.0, 1.0), E=1.0, G=SHEAR, density=1.0, n=3)
    assert tube.bending[0] == pytest.approx(math.pi / 4 * 15.0) and tube.torsion == pytest.approx(
        SHEAR * math.pi / 2 * 15.0
    )
    assert rod(3).shear[0] * (math.pi / 5000.0**2) ** -1 * (0.25 * math.pi / 5000.0**4) == pytest.approx(
        SHEAR * 6 * 1.25 / 8.5
    )
    assert sum(body.mass for body in rod(9, left=ct.Free()).bodies) == pytest.approx(1.0)
    again = ct.Chain(bar.bodies, list(bar.potentials))
    assert again.describe()["potential"] == bar.describe()["potential"] and bar.describe()["kind"] == "Chain"


def test_mistakes_are_told():
    good = {"length": 1.0, "E": 1.0, "G": 0.4, "area": 1.0, "I": 1.0, "J": 1.0, "density": 1.0, "n": 5}
    for name, value, match in (
        ("n", 1, "n = 1"),
        ("E", -1.0, "E = -1"),
        ("I", (1.0, 2.0, 3.0), "3 numbers"),
        ("J", 0.0, "J = 0"),
    ):
        with pytest.raises(ct.InputError, match=match):
            ct.Rod(**{**good, name: value})
    with pytest.raises(ct.InputError, match="outer radius first"):
        ct.Rod.tube(1.0, (1.0, 2.0), E=1.0, G=0.4, density=1.0, n=3)


def test_the_local_rod_has_the_frequencies_of_its_chain_to_second_order():
    """Half bodies at free ends: here clamped at both, where there are none."""
    made = rod(9, 50.0, right=ct.Clamped())
    worst = np.abs(made.rod_limit().compare((9, 17), right="clamped", count=2).error).max(axis=1)
    assert 3.0 < worst[0] / worst[1] < 5.0
