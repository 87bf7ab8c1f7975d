"""Newton's corrections by blocks are those of the whole matrix."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import catena as ct
from catena.engine import collector
from catena.engine.headers import PYTHON, module_text
from catena.engine.plain_python import interpret
from catena.kernels.marks import bind
from catena.kernels.views import (
    SINGULAR,
    block_entry,
    block_jacobian,
    factorise_shifted,
    is_closed,
    linearise,
    solve_shifted,
)  # fmt: skip
from catena.methods.runge_kutta import block_tridiagonal, modes, stages
from catena.methods.runge_kutta.tableaux import gauss, radau_iia, sun_geng

BODIES = 4
TABLEAUX = [gauss(1), gauss(2), gauss(3), gauss(6), radau_iia(2), radau_iia(3), sun_geng()]


def given_blocks(z, par, out):
    """A Jacobian that is there already."""
    for j in range(out.shape[0]):
        for k in range(6):
            for a in range(7):
                for b in range(7):
                    out[j, k, a, b] = par.given[j, k, a, b]


def body_after_body(j, a, par):
    """Entries one after the other."""
    return 14 * j + a


def kernel(function, t, closed: bool = False):
    fills = {
        is_closed: int(closed),
        block_jacobian: given_blocks, block_entry: body_after_body, stages.stage_count: t.stages,
        linearise: block_tridiagonal.linearise_blocks, factorise_shifted: block_tridiagonal.factorise_blocks,
        solve_shifted: block_tridiagonal.solve_blocks,
    }  # fmt: skip
    parts = collector.collect(bind(function, fills), {})
    return interpret(module_text("blocks", parts, [], header=PYTHON, entry="@_fn")).advance


def some_blocks(size: float = 1.0, bodies: int = BODIES) -> np.ndarray:
    """Blocks without any symmetry, so that no exchanged index goes unseen."""
    return size * np.sin(1.0 + np.arange(bodies * 6 * 49) ** 1.5).reshape(bodies, 6, 7, 7)


def whole(blocks: np.ndarray, closed: bool = False) -> np.ndarray:
    bodies = len(blocks)
    matrix = np.zeros((bodies, 14, bodies, 14))
    for j in range(bodies):
        xx, xm, mx, mm, left, right = blocks[j]
        matrix[j, :, j] = np.block([[xx, xm], [mx, mm]])
        if closed or j > 0:
            matrix[j, 7:, j - 1, :7] = left
        if closed or j < bodies - 1:
            matrix[j, 7:, (j + 1) % bodies, :7] = right
    return matrix.reshape(14 * bodies, 14 * bodies)


def corrections(t, blocks: np.ndarray, dt: float, closed: bool = False) -> tuple[int, np.ndarray, np.ndarray]:
    """Status, the change by blocks, and a residual."""
    n = 14 * len(blocks)
    found = modes.modes_of(t)
    scratch = modes.mode_scratch(n) | block_tridiagonal.block_scratch(found.shape[1], len(blocks), closed=closed)
    par = SimpleNamespace(given=blocks, newton_modes=found, **scratch)
    tab, nothing = stages.table(t), np.zeros(0)
    residual, change = np.cos(np.arange(t.stages * n) ** 1.3), np.empty(t.stages * n)
    status = kernel(modes.prepare_modes, t, closed)(np.zeros(n), dt, par, tab, nothing)
    if status == 0:
        kernel(modes.correct_modes, t, closed)(residual, change, dt, par, tab, nothing)
    return status, change, residual


def defect(t, blocks: np.ndarray, dt: float, change: np.ndarray, residual: np.ndarray, closed: bool = False) -> float:
    """How far the change is from solving the whole system."""
    matrix = np.eye(len(residual)) - dt * np.kron(t.b[:, None] * t.mu, whole(blocks, closed))
    return float(np.abs(change - np.linalg.solve(matrix, residual)).max() / np.abs(change).max())


@pytest.mark.parametrize("t", TABLEAUX, ids=lambda t: f"{t.stages} stages, order {t.order}")
def test_corrections_solve_the_equations_of_all_stages_and_bodies(t):
    """Round-off times the condition of the blocks and of the eigenvectors: measured up to 1.2e-13."""
    for dt in (0.01, 0.1, 0.5):
        status, change, residual = corrections(t, some_blocks(), dt)
        assert status == 0
        assert defect(t, some_blocks(), dt, change, residual) < 1e-11


@pytest.mark.parametrize("block", range(6))
def test_every_block_counts(block):
    """The twin: one block of the Jacobian of one body forgotten."""
    forgotten = some_blocks()
    forgotten[2, block] = 0.0
    _, change, residual = corrections(gauss(3), forgotten, 0.3)
    assert defect(gauss(3), some_blocks(), 0.3, change, residual) > 1e-3


@pytest.mark.parametrize("bodies", [3, 4, 7])
def test_corrections_of_a_ring_solve_the_equations_of_all_bodies(bodies):
    """As above; measured up to 3e-14."""
    for dt in (0.01, 0.1, 0.5):
        blocks = some_blocks(bodies=bodies)
        status, change, residual = corrections(gauss(2), blocks, dt, closed=True)
        assert status == 0
        assert defect(gauss(2), blocks, dt, change, residual, closed=True) < 1e-11


@pytest.mark.parametrize(("body", "block"), [(0, 4), (3, 5), (3, 4), (0, 2), (3, 2)])
def test_every_block_beside_the_link_that_closes_a_ring_counts(body, block):
    """The twin of the test above."""
    forgotten = some_blocks()
    forgotten[body, block] = 0.0
    _, change, residual = corrections(gauss(2), forgotten, 0.3, closed=True)
    assert defect(gauss(2), some_blocks(), 0.3, change, residual, closed=True) > 1e-3


def test_a_singular_block_is_reported():
    """1 - dt lambda J_mm vanishes for the one eigenvalue 1/2 of the midpoint rule."""
    blocks = some_blocks()
    blocks[1, 3] = 2.0 * np.eye(7)
    assert corrections(gauss(1), blocks, 1.0)[0] == SINGULAR


@pytest.mark.parametrize("t", [gauss(s) for s in (1, 4, 9, 16)], ids=lambda t: f"{t.stages} stages")
def test_modes_diagonalise_the_runge_kutta_matrix(t):
    """b_i mu_ij = Re sum_c T_ic lambda_c (T^-1)_cj over half of the eigenvalues, to the condition of the vectors.

    That is 13 for three stages and 3e8 for sixteen; an iteration matrix may well have an error of 1e-4.
    """
    s = t.stages
    found = modes.modes_of(t)
    assert found.shape == (2 * s + 1, (s + 1) // 2)
    round_off = 1e4 * np.finfo(float).eps * np.linalg.cond(np.linalg.eig(t.b[:, None] * t.mu)[1])
    assert round_off < 1e-3
    again = ((found[:s] * found[2 * s]) @ found[s : 2 * s].T).real
    assert np.abs(again - t.b[:, None] * t.mu).max() < round_off
    assert np.abs((found[:s] @ found[s : 2 * s].T).real - np.eye(s)).max() < round_off


def test_a_system_without_any_jacobian_refuses_newton():
    with pytest.raises(ct.CapabilityError, match="no Jacobian"):
        ct.simulate(
            ct.Chain([ct.Body.tetrahedron()] * 2, ct.LennardJones(5.0, 1.0), form="multiplier"),
            ct.problems.helix_chain(2).start, method=ct.Gauss(3, solver="newton"), dt=0.01, steps=1,
        )  # fmt: skip
