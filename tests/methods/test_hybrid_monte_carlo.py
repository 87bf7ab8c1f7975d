"""Hybrid Monte Carlo: the decision, step by step against an independent one, and averages without bias at long steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.kernels import noise
from catena.kernels.marks import bind
from catena.kernels.views import View
from catena.methods.base import Stepper
from catena.methods.heat.hybrid_monte_carlo import is_accepted
from catena.running.auditing import Canonical, CanonicalRow
from uncompiled import simulate

QUARTIC = ct.Hamiltonian("p**2/2 + q**4/4")
KT = 0.8
START = QUARTIC.start(q=0.5, p=0.2)


def accept_everything(error, kT, par, member, step):
    """The twin of the decision."""
    return True


@dataclass(frozen=True)
class Credulous(ct.HybridMonteCarlo):
    """A twin that accepts everything."""

    name = "Credulous"

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        fills = dict(made.kernel.fills) | {is_accepted: accept_everything}
        return replace(made, kernel=bind(made.kernel.function, fills))


@pytest.mark.parametrize("refresh", [1.0, 0.3])
def test_each_step_is_that_of_an_independent_sampler(refresh: float) -> None:
    """The same noise, leapfrog and decisions in plain formulas: states and counts."""
    dt, substeps, steps = 1.6, 2, 40
    method = ct.HybridMonteCarlo(KT, substeps=substeps, refresh=refresh, seed=3)
    run = simulate(QUARTIC, START, method, dt=dt, steps=steps)
    q, p, accepted, c, h = 0.5, 0.2, 0, 1.0 - refresh, dt / substeps
    for k in range(steps):
        p = c * p + math.sqrt((1 - c * c) * KT) * noise.normals(3, 0, 0, k, 0, noise.OF_HAMILTONIAN)[0]
        x, y = q, p
        for _ in range(substeps):
            y -= 0.5 * h * x**3
            x += h * y
            y -= 0.5 * h * x**3
        error = (y * y / 2 + x**4 / 4) - (p * p / 2 + q**4 / 4)
        w = noise.words(3, 0, 0, k, 0, noise.ACCEPT)
        if noise.unit_number(w[0], w[1]) <= math.exp(-error / KT):
            q, p, accepted = x, y, accepted + 1
        else:
            p = -p
    assert 5 < accepted < steps, "both ways are taken"
    assert run.data.q.values[-1, 0] == pytest.approx(q, rel=1e-9)
    assert run.data.p.values[-1, 0] == pytest.approx(p, rel=1e-9)
    assert run.counts == {"trajectories": steps, "accepted": accepted}


def moments(method: ct.HybridMonteCarlo, dt: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """<q^2>, <q^4> of eight members with their errors."""
    program = build(QUARTIC, method)
    found = []
    for member in range(8):
        run = Driver(program, program.view.pack(START), t0=0.0, dt=dt, every=1, member=member)
        run.advance(100)
        chunk = run.advance(steps)
        if chunk.status != 0:  # only a twin can explode: what goes too far is rejected
            return np.full(2, math.inf), np.ones(2)
        q = chunk.rows[:, 0]
        found.append([(q**2).mean(), (q**4).mean()])
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(8)


LAW = np.array([2.0 * math.sqrt(KT) * math.gamma(0.75) / math.gamma(0.25), KT])  # of exp(-q^4/(4 kT))


@pytest.mark.slow
@pytest.mark.parametrize(("substeps", "refresh"), [(2, 1.0), (1, 0.3)], ids=["HMC", "GHMC"])
def test_averages_have_no_bias_where_the_splitting_has_one(substeps: int, refresh: float) -> None:
    dt = 0.9 * substeps
    method = ct.HybridMonteCarlo(KT, substeps=substeps, refresh=refresh, seed=11)
    mean, error = moments(method, dt, 100_000)
    print((mean - LAW) / error, error / LAW)
    assert np.abs((mean - LAW) / error).max() < 5.0  # Student's t with 7 degrees of freedom, two of them: 0.3 %
    wrong, spread = moments(Credulous(KT, substeps=substeps, refresh=refresh, seed=11), dt, 100_000)
    assert np.abs((wrong - LAW) / spread).max() > 15.0, "the twin that accepts everything"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "temperature = 0.0"), ({"temperature": (1.0, 2.0)}, "temperature ="), ({"substeps": 0}, "substeps = 0"),
        ({"substeps": 2.5}, "substeps = 2.5"), ({"refresh": 0.0}, "refresh = 0.0"), ({"refresh": 1.5}, "refresh = 1.5"),
        ({"order": 3}, "order = 3"), ({"seed": -1}, "seed = -1"), ({"rotor": ct.RK4()}, "not a rotor"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ct.InputError, match=message):
        ct.HybridMonteCarlo(**{"temperature": 1.0} | arguments)


def test_a_run_that_never_moves_certifies_nothing() -> None:
    """Momenta are drawn anew all the same, so that their temperature is right; of the 400 trajectories none is accepted."""
    with pytest.warns(ct.CatenaWarning, match="0 of 400 trajectories were accepted"):
        run = simulate(QUARTIC, START, ct.HybridMonteCarlo(KT, substeps=1, seed=3), dt=40.0, steps=400)
    audit = run.audit()
    assert run.counts["accepted"] == 0
    assert {row.verdict for row in audit.canonical} == {"too short"}
    assert "0 of 400 trajectories were accepted" in str(audit) and "canonical: no deviation" not in str(audit)
    moving = simulate(QUARTIC, START, ct.HybridMonteCarlo(KT, substeps=1, seed=3), dt=0.5, steps=400)
    assert moving.counts["accepted"] > 300 and "accepted" not in str(moving.audit()), "the twin that moves"


def test_members_that_never_move_certify_nothing() -> None:
    """Of an ensemble the trajectories are not counted, but members end where they began, to the last bit; 4 of them had luck once."""
    method = ct.HybridMonteCarlo(KT, substeps=1, seed=3)
    audit = ct.ensemble(QUARTIC, START, method, dt=40.0, steps=400, members=40).audit()
    assert {row.verdict for row in audit.canonical} == {"too short"}
    assert "36 of 40 members end where they began" in str(audit)
    moving = ct.ensemble(QUARTIC, START, method, dt=0.5, steps=400, members=40).audit()
    assert moving.canonical["temperature"].verdict == "canonical" and "began" not in str(moving), "the twin that moves"


def test_the_audit_speaks_of_no_friction_and_no_error_of_the_step() -> None:
    sure = Canonical((CanonicalRow("temperature", 1.0, 1.0, 0.01, 1000.0, 0.06, "canonical"),), unbiased=True)
    assert "no error of dt" in str(sure) and "friction" not in str(sure)
    assert "friction" in str(replace(sure, unbiased=False))
    run = simulate(QUARTIC, START, ct.HybridMonteCarlo(KT, substeps=1, seed=3), dt=0.5, steps=20)
    assert run.audit().canonical.unbiased


def test_bodies_go_back_with_their_momenta_turned_round() -> None:
    """A chain with a step so long that all is rejected: positions and orientations stay to the bit, momenta are those drawn, reversed."""
    helix = ct.problems.helix_chain(3, amp=0.1)
    method = ct.HybridMonteCarlo(5.0, substeps=1, seed=2)
    program = build(helix.system, method, compiled=False)
    assert program.view.name == "split"
    run = Driver(program, program.view.pack(helix.start), t0=0.0, dt=0.4, every=1)
    before = run.z.copy()
    assert run.advance(1).status == 0
    assert run.program.method.counts(run.carry) == {"trajectories": 1, "accepted": 0}
    n = 3
    assert np.array_equal(run.z[: 7 * n], before[: 7 * n])
    mass = helix.system.bodies[1].mass
    assert run.z[7 * n + 3] == pytest.approx(-math.sqrt(5.0 * mass) * noise.normals(2, 0, 0, 0, 1, 0)[0], rel=1e-14)
