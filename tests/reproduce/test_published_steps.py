"""Figures at their published steps come out of a second program, and wrong equations do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.reproduce import chain_discs, chain_energy, galactic_tolerance, hanging_steps, kepler_claims, top_steps
from catena.reproduce.director_step import Chain, conditions, hat, hat_transposed
from catena.reproduce.stopped import Stopped


@pytest.fixture(scope="module")
def spherical():
    return hanging_steps.study(hanging_steps.EXAMPLES[1], 10, compiled=False)


@pytest.mark.slow
def test_the_published_equations_keep_what_they_should_and_are_the_step_of_the_library(spherical):
    rows = hanging_steps._rows(spherical)
    assert all(row.agrees for row in rows), [row.cells() for row in rows if not row.agrees]
    assert len(rows) == 12


@pytest.mark.slow
def test_the_equations_without_g0_lose_the_momenta_of_the_directors_only(spherical):
    wrong = {row.quantity: row for row in hanging_steps._rows(replace(spherical, whole=spherical.without))}
    assert [name for name, row in wrong.items() if not row.agrees] == ["spherical, dt = 0.1: C(q) p"]


def test_the_derivative_of_the_equations_is_that_of_differences():
    chain = Chain("revolute")
    x = 1e-3 * np.sin(1.0 + np.arange(chain.unknowns))
    p = 0.1 * np.cos(np.arange(chain.start.size)).reshape(chain.start.shape)
    exact = chain.jacobian(x, chain.start, p, 0.01, keep_hidden=True)
    for k in (0, 17, 60, 100):
        step = 1e-6 * np.eye(chain.unknowns)[k]
        ahead, behind = (
            chain.residual(x + sign * step, chain.start, p, 0.01, keep_hidden=True) for sign in (1.0, -1.0)
        )
        assert np.abs((ahead - behind) / 2e-6 - exact[:, k]).max() < 1e-8


def test_the_matrices_of_directors_are_what_their_names_say():
    rng = np.random.default_rng(3)
    q, p, a = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    assert (hat_transposed(q, a) * p).sum() == pytest.approx(hat(q, p) @ a, abs=1e-14)
    products = q @ p.T
    mixed = [products[k, l] + products[l, k] for k, l in ((1, 2), (0, 2), (0, 1))]
    assert conditions(q, p) == pytest.approx([*np.diag(products), *mixed], abs=1e-14)


@pytest.mark.parametrize("end", list(chain_energy.ENDS))
def test_the_energy_of_the_printed_chain_is_that_of_all_its_pairs(end):
    problem = chain_energy.chain_with(end)
    program = build(problem.system, ct.Splitting(2), compiled=False)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=0.01, every=1)
    first = float(problem.system.columns(driver.first_row().rows)["energy"][0])
    assert chain_energy.energy_of(problem) == pytest.approx(first, abs=1e-11)
    other = chain_energy.energy_of(chain_energy.chain_with("clamped" if end == "pulled" else "pulled"))
    assert abs(other - first) > 1.0


def test_printed_discs_have_the_printed_size_and_cannot_hold():
    problem = chain_discs.printed_discs(4, 8)
    corners = np.array(problem.system.bodies[0].particles.positions)
    assert np.hypot(corners[:, 0], corners[:, 1]) == pytest.approx(0.05)
    assert np.ptp(corners[:, 2]) == pytest.approx(0.005)
    most = 64 * ct.LennardJones(chain_discs.WELL, 1.0).cohesion
    assert 80 * most < chain_discs.PULL


def test_projection_holds_both_constraints_and_normalising_one():
    scheme = top_steps.PROJECTION[1]
    both = top_steps.follow(scheme, top_steps.DT, 0.05).errors
    assert max(both["|q|^2 - 1"].max(), both["q.g"].max()) < 1e-13

    def normalise(z):
        z[:4] /= np.linalg.norm(z[:4])

    one = top_steps.follow(scheme, top_steps.DT, 0.05, treat=normalise).errors
    assert one["|q|^2 - 1"].max() < 1e-15 and one["q.g"].max() > 1e-3


def test_the_angle_of_the_printed_orbit_is_not_that_of_kepler():
    time = np.array([0.0, 5.0, 2 * np.pi])
    exact, printed = kepler_claims.exact_positions(time), kepler_claims.printed_positions(time)
    assert exact[1] == pytest.approx(kepler_claims.AT_FIVE, abs=1e-14)
    assert printed[1] == pytest.approx(kepler_claims.PRINTED_AT_FIVE, abs=1e-6)
    assert np.abs(exact - printed)[[0, 2]].max() < 1e-14
    for q in (exact, printed):  # both on the ellipse
        assert np.hypot(q[:, 0] + 0.6, q[:, 1] / 0.8) == pytest.approx(1.0, abs=1e-14)


def steps_of(method):
    problem = ct.problems.galactic()
    program = build(problem.system, method, compiled=False)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=0.2, every=1)
    assert driver.advance(10).status == 0
    return driver.z + driver.e


def test_a_stopped_iteration_is_the_method_but_for_its_tolerance():
    """Errors of ten steps stay near the tolerance; to round-off it is the method itself."""
    exact = steps_of(ct.Gauss(3))
    assert np.abs(steps_of(Stopped(ct.Gauss(3), 1e-15)) - exact).max() < 1e-14
    for tolerance in (1e-6, 1e-10):
        for afresh in (False, True):
            error = np.abs(steps_of(Stopped(ct.Gauss(3), tolerance, afresh)) - exact).max()
            assert 1e-3 * tolerance < error < 20 * tolerance


def test_a_count_outside_all_readings_disagrees():
    case = galactic_tolerance.IMPLICIT[0]
    counts = {reading.name: case.repeated + k for k, reading in enumerate(galactic_tolerance.readings())}
    assert galactic_tolerance._implicit_row(case, counts, quick=False).agrees
    assert not galactic_tolerance._implicit_row(case, {n: c + 1 for n, c in counts.items()}, quick=False).agrees


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [hanging_steps, chain_energy, chain_discs, galactic_tolerance, kepler_claims, top_steps],
    ids=lambda m: m.NAME,
)
def test_the_whole_comparison(module, tmp_path):
    report = module.reproduce(tmp_path, quick=True)
    assert report.ok, str(report)
    assert {file.suffix for file in report.files} == {".png", ".pdf", ".csv"}
