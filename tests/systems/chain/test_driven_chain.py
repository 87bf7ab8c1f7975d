"""Chains that are pulled, shaken, turned and moved: forces, works and bytes.

The reference is an integrator of scipy on equations that are written here by themselves, particle by particle.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp

import catena as ct
import uncompiled
from catena.engine.pairing import Pairing
from catena.geometry.vectors import dot, load3, scaled, subtract
from catena.systems.chain import drive_kernels
from catena.systems.chain.drive_kernels import Drive, Now
from chains import BODY, Plain, matrix, product

STIFF, LENGTH = 3.0, 1.5
AT = (0.2, -0.1, 0.3)
TURNED = ("cos(t/3)", "sin(t/3)", "0.2*sin(t)", 0)  # not of unit length: it is normalised
TIMES = np.linspace(0.0, 2.0, 9)
SHAKE = ct.Sampled(TIMES, np.sin(2.0 * TIMES))


def everything(form: str = "quaternion", **changes) -> tuple[ct.Chain, ct.State]:
    """Four bodies: the first is moved and turned, the last held by tweezers, the others pulled, shaken and twisted."""
    arguments = {
        "left": ct.Moved(position=("0.1*sin(2*t)", "0.05*t**2", 0), orientation=TURNED),
        "right": ct.Tweezers(8.0, anchor=("4.6 + 0.3*t", SHAKE, 0.1), at=AT),
        "gravity": (0, "0.2*cos(t)", -0.3),
        "loads": [(1, ct.Force(("0.5*sin(3*t)", 0.2, "t"), at=AT)), (2, ct.Torque((0.3, "0.4*cos(t)", "-t/5"))), (2, ct.Force((0.1, 0, 0.2)))],
    }  # fmt: skip
    chain = ct.Chain([BODY] * 4, ct.Harmonic(STIFF, LENGTH), form=form, **(arguments | changes))
    position = np.zeros((4, 3))
    position[:, 0] = 1.5 * np.arange(4)
    return chain, chain.start(position, check=False)


def reference(t_end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions and momenta of bodies 1 to 3, and the works of gravity, left, right, loads[0], loads[1], by DOP853 from knot to knot."""
    from scipy.interpolate import CubicSpline

    shake = CubicSpline(TIMES, np.sin(2.0 * TIMES))
    mass, places, tensor = BODY.mass, BODY.particles.positions, BODY.tensor
    arm = np.array(AT)

    def told(t):
        u = np.array([np.cos(t / 3), np.sin(t / 3), 0.2 * np.sin(t), 0.0])
        v = np.array([-np.sin(t / 3) / 3, np.cos(t / 3) / 3, 0.2 * np.cos(t), 0.0])
        omega = 2.0 * product(v, u * [1, -1, -1, -1])[1:] / (u @ u)  # in space
        return (
            np.array([0.1 * np.sin(2 * t), 0.05 * t * t, 0.0]),
            u / np.sqrt(u @ u),
            np.array([0.2 * np.cos(2 * t), 0.1 * t, 0.0]),
            omega,
        )

    def rates(t, state):
        r, q, p, y = (np.zeros((4, 3)), np.zeros((4, 4)), np.zeros((4, 3)), np.zeros((4, 3)))
        r[1:], q[1:], p[1:], y[1:] = np.split(state[:39].reshape(3, 13), [3, 7, 10], axis=1)
        r[0], q[0], velocity, omega = told(t)
        turn = [matrix(one) for one in q]
        force, torque = np.zeros((4, 3)), np.zeros((4, 3))
        for j in range(3):
            a, b = places @ turn[j].T, places @ turn[j + 1].T
            d = (r[j] + a)[:, None] - (r[j + 1] + b)[None]
            length = np.linalg.norm(d, axis=2, keepdims=True)
            f = -STIFF * (length - LENGTH) * d / length
            force[j] += f.sum((0, 1))
            force[j + 1] -= f.sum((0, 1))
            torque[j] += np.cross(a, f.sum(1)).sum(0)
            torque[j + 1] -= np.cross(b, f.sum(0)).sum(0)
        force += mass * np.array([0.0, 0.2 * np.cos(t), -0.3])
        works = np.zeros(5)
        works[0] = -mass * (-0.2 * np.sin(t)) * r[:, 1].sum()
        anchor, speed = np.array([4.6 + 0.3 * t, shake(t), 0.1]), np.array([0.3, shake(t, 1), 0.0])
        x = r[3] + turn[3] @ arm
        pulled = -8.0 * (x - anchor)
        force[3] += pulled
        torque[3] += np.cross(turn[3] @ arm, pulled)
        works[2] = pulled @ speed
        x, push = r[1] + turn[1] @ arm, np.array([0.5 * np.sin(3 * t), 0.2, t])
        force[1] += push
        torque[1] += np.cross(turn[1] @ arm, push)
        works[3] = -np.array([1.5 * np.cos(3 * t), 0.0, 1.0]) @ x
        twist = np.array([0.3, 0.4 * np.cos(t), -t / 5])
        torque[2] += twist
        force[2] += [0.1, 0.0, 0.2]
        spin = [np.linalg.solve(tensor, one) for one in y]
        works[4] = twist @ (turn[2] @ spin[2])
        works[1] = -(force[0] @ velocity + torque[0] @ omega)
        out = [
            np.concatenate(
                [
                    p[j] / mass,
                    0.5 * product(q[j], [0.0, *spin[j]]),
                    force[j],
                    turn[j].T @ torque[j] - np.cross(spin[j], y[j]),
                ]
            )
            for j in (1, 2, 3)
        ]
        return np.concatenate([*out, works])

    state = np.zeros(44)
    for j in range(3):
        state[13 * j], state[13 * j + 3] = 1.5 * (j + 1), 1.0
    for a in range(len(TIMES) - 1):
        if TIMES[a] < t_end:
            span = (TIMES[a], min(TIMES[a + 1], t_end))
            state = solve_ivp(rates, span, state, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    bodies = state[:39].reshape(3, 13)
    return bodies[:, :3], bodies[:, 7:10], state[39:]


@pytest.fixture(scope="module")
def half_second():
    return reference(0.5)


@pytest.mark.parametrize(
    ("method", "form", "order"),
    [(Plain(4), "quaternion", 4), (ct.Gauss(2), "quaternion", 4), (Plain(2), "rotation", 2), (ct.Splitting(4), "quaternion", 4), (ct.Rattle(), "rotation", 2), (ct.StormerVerlet(), "quaternion", 2)],
    ids=["plain", "Gauss", "matrices", "tiles", "Rattle", "halves"],
)  # fmt: skip
def test_motion_and_works_are_those_of_the_reference(method, form, order, half_second):
    """Everything at once, in every view; the error falls with the order of the method, and knots of the table are ends of steps."""
    chain, start = everything(form)
    errors = []
    for steps in (10, 20):
        run = uncompiled.simulate(chain, start, method, dt=0.5 / steps, steps=steps, every=steps)
        found = run.final.position[1:], run.final.momentum[1:], run.data.work.values[-1]
        errors.append(max(np.abs(a - b).max() for a, b in zip(found, half_second, strict=True)))
    assert errors[1] < (2e-6 if order == 4 else 3e-3)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_tiles_and_plain_variables_differ_by_rounding():
    chain, start = everything()
    runs = [uncompiled.simulate(chain, start, method, dt=0.025, steps=20) for method in (ct.Splitting(4), Plain(4))]
    assert [Pairing.of(chain, run.method).view.name for run in runs] == ["tiles", "split"]
    for name in runs[0].data:
        a, b = (run.data[name].values for run in runs)
        assert np.abs(a - b).max() < 1e-13 * max(1.0, np.abs(a).max()), name
    for name, a in runs[0].final.fields.items():
        assert np.abs(a - runs[1].final.fields[name]).max() < 1e-13


def test_a_constant_force_as_text_is_a_constant_force_bit_by_bit():
    chains = [
        everything(left=ct.Clamped(), right=ct.Force(force), gravity=(0, 0, 0), loads=())[0]
        for force in ((3.0, 0, 0.5), ("3", "0", "1/2"))
    ]
    assert chains[0].describe() == chains[1].describe() and not chains[1].drives
    start = everything()[1]
    runs = [uncompiled.simulate(chain, start, ct.Splitting(4), dt=0.025, steps=5) for chain in chains]
    assert runs[0].final.position.tobytes() == runs[1].final.position.tobytes()


def test_energy_less_works_is_kept():
    """All that acts has a potential: bounded, by the error of the method; a torque has none, and nothing is promised."""
    chain, start = everything(
        loads=[(1, ct.Force(("sin(3*t)", 0, 0), at=AT))], right=ct.Tweezers(8.0, ("4.6 + 0.3*sin(t)", 0, 0))
    )
    run = uncompiled.simulate(chain, start, Plain(4), dt=0.025, steps=100)
    assert np.ptp(run.data.energy.values) < 1e-7 * np.abs(run.data.work.values).max()
    assert Pairing.of(chain, run.method).promises.kept["energy"] == "bounded"
    assert Pairing.of(everything()[0], run.method).promises.kept["energy"] == "none"


def lazy_pull(x, k, par):
    """The clock takes up too much: the twin of `pull`."""
    now = par.drive_now[k]
    force = scaled(-par.drive[k, Drive.STIFFNESS], subtract(x, load3(now, Now.VALUE)))
    return force, -1.01 * dot(force, load3(now, Now.SLOPE))


def test_a_work_that_is_wrong_by_a_hundredth_is_seen(monkeypatch):
    chain, start = everything(loads=(), gravity=(0, 0, 0), left=ct.Clamped())
    right = uncompiled.simulate(chain, start, Plain(4), dt=0.025, steps=50)
    monkeypatch.setattr(drive_kernels, "pull", lazy_pull)
    wrong = uncompiled.simulate(chain, start, Plain(4), dt=0.025, steps=50)
    assert np.ptp(wrong.data.energy.values) > 100 * np.ptp(right.data.energy.values)


def test_outputs_tell_force_power_and_work_of_each_end():
    """Work is that of the steps: the integral of the power over samples, to the error of Simpson's rule."""
    chain, start = everything()
    run = uncompiled.simulate(chain, start, Plain(4), dt=0.0125, steps=40)
    out = chain.outputs(run)
    assert list(out.work.source.values) == ["left", "right", "loads[0]", "loads[1]", "loads[2]"]
    summed = simpson(out.power.values, x=run.data.time.values, axis=0)
    assert np.abs(out.work.values[-1] - summed).max() < 1e-6
    assert np.abs(out.work.values[-1]).min() > 1e-5  # each of them works
    anchor = np.stack([4.6 + 0.3 * run.data.time.values, np.vectorize(SHAKE.at)(run.data.time.values)], axis=1)
    arms = np.array([matrix(q) @ np.array(AT) for q in run.data.orientation.values[:, 3]])
    assert (
        np.abs(
            out.force.sel(source="right").values[:, :2]
            - 8.0 * (anchor - (run.data.position.values[:, 3] + arms)[:, :2])
        ).max()
        < 1e-12
    )
    assert out.dataset().extension.values[0] == pytest.approx(4.5)


def test_newton_knows_how_stiff_tweezers_are():
    """A step in which the trap turns by two radians: Newton's method gets along without small steps, and both iterations agree at a small one."""
    chain, start = everything(right=ct.Tweezers(1e5, ("4.7 + t", "sin(t)/9", 0.1), at=AT), loads=())
    run = uncompiled.simulate(chain, start, ct.Gauss(2, solver="newton"), dt=0.025, steps=3)
    assert run.final.time == pytest.approx(0.075)
    runs = [
        uncompiled.simulate(*everything(), ct.Gauss(2, solver=name), dt=0.025, steps=3)
        for name in ("newton", "fixed-point")
    ]
    assert np.abs(runs[0].final.position - runs[1].final.position).max() < 1e-13


@pytest.mark.slow
def test_a_pulled_chain_that_was_stopped_ends_with_the_same_bytes(tmp_path):
    """In tiles, with a kick pending at the checkpoint."""
    chain, start = everything()
    whole = ct.simulate(chain, start, ct.Splitting(4), dt=0.025, steps=60, out=tmp_path / "whole.zarr")
    ct.simulate(chain, start, ct.Splitting(4), dt=0.025, steps=23, out=tmp_path / "part.zarr")
    rest = ct.resume(tmp_path / "part.zarr", steps=60)
    for name in whole.data:
        assert whole.data[name].values.tobytes() == rest.data[name].values.tobytes()
    assert ct.open(tmp_path / "whole.zarr").final.momentum.tobytes() == whole.final.momentum.tobytes()


@pytest.mark.slow
def test_a_chain_of_64_is_pulled_and_let_back():
    """Tweezers at constant speed: work is the change of energy to the method's bound, and pulling backwards returns the state."""
    helix = ct.problems.helix_chain(64)
    end, steps, dt = helix.start.position[-1].tolist(), 1000, 0.01
    last = steps * dt

    def pulled(way: str) -> ct.Chain:
        anchor = (f"{end[0]!r} + 0.05*{way}", end[1], end[2])
        return ct.Chain(helix.system.bodies, helix.system.potentials[0], right=ct.Tweezers(20.0, anchor))

    chain = pulled("t")
    start = chain.start(helix.start.position, helix.start.orientation)
    there = ct.simulate(chain, start, ct.Splitting(4), dt=dt, steps=steps, every=5)
    energy = there.data.energy.values + there.data.work.values[:, 0]  # that of the chain and of the trap
    assert abs(energy[-1] - energy[0] - there.data.work.values[-1, 0]) < 1e-6 * abs(there.data.work.values[-1, 0])
    assert there.audit()["energy"].verdict in ("exact", "bounded")
    turned = there.final
    fields = dict(turned.fields, momentum=-turned.momentum, angular_momentum=-turned.angular_momentum)
    back = ct.simulate(pulled(f"({last!r} - t)"), ct.State(fields), ct.Splitting(4), dt=dt, steps=steps, every=steps)
    assert np.abs(back.final.position - start.position).max() < 1e-9
    assert np.abs(back.final.momentum).max() < 1e-9


@pytest.mark.parametrize(
    ("make", "kind", "wrong"),
    [
        (lambda: ct.Force(("3*s", 0, 0)), ct.InputError, "unknown name s"),
        (lambda: ct.Force((1, 2)), ct.InputError, "give 3 numbers"),
        (lambda: ct.Tweezers(-1.0, (0, 0, 0)), ct.InputError, "k = -1"),
        (lambda: ct.Moved(orientation=(1, 0, 0)), ct.InputError, "give 4 numbers"),
        (lambda: ct.Moved(orientation=(0, 0, 0, 0)), ct.InputError, "the orientation is 0"),
        (lambda: everything(left=ct.Clamped(), loads=[(0, ct.Force((1, 0, 0)))]), ct.InputError, "body 0 is held"),
        (lambda: everything(left=ct.Displaced(), loads=[(0, ct.Force((1, 0, 0)))]), ct.InputError, "body 0 is held"),
        (lambda: everything(loads=[(7, ct.Force(("t", 0, 0)))]), ct.InputError, "there is no body 7"),
        (lambda: everything(loads=[(1, ct.Clamped())]), ct.InputError, "not a load"),
        (lambda: everything(left=ct.Moved(position=("1 + t", 0, 0))), ct.InputError, "starts with position"),
        (lambda: everything(left=ct.Moved(orientation=("t", 0, 0, 0))), ct.InputError, "orientation is 0"),
        (lambda: everything(right=ct.Force(("1/t", 0, 0))), ct.InputError, "not defined at t = 0"),
        (lambda: everything(form="multiplier"), ct.CapabilityError, "multiplier form"),
        (lambda: everything()[0].equilibrium(), ct.CapabilityError, "changes with time"),
        (lambda: uncompiled.simulate(*everything(), Plain(2), dt=0.5, steps=5), ct.InputError, "a table has values"),
    ],
)  # fmt: skip
def test_bad_input_is_told(make, kind, wrong):
    with pytest.raises(kind, match=wrong):
        make()


def test_a_driven_chain_is_made_again_from_its_description():
    from catena.systems.base import system_from

    chain = everything()[0]
    assert system_from(chain.describe()).describe() == chain.describe()


def test_a_chain_is_pulled_in_a_bath():
    """Without friction and heat the bath is a Strang splitting, bit by bit; with friction alone it takes energy, and the work is still told."""
    chain, start = everything(loads=(), left=ct.Clamped())
    quiet = uncompiled.simulate(chain, start, ct.Langevin(temperature=0.0, friction=0.0, seed=1), dt=0.025, steps=20)
    plain = uncompiled.simulate(chain, start, Plain(2), dt=0.025, steps=20)
    assert quiet.final.position.tobytes() == plain.final.position.tobytes()
    assert quiet.data.work.values.tobytes() == plain.data.work.values.tobytes()
    rub = ct.Friction(translation=0.5, rotation=0.2)
    damped = uncompiled.simulate(chain, start, ct.Langevin(temperature=0.0, friction=rub, seed=1), dt=0.025, steps=20)
    lost = np.diff(damped.data.energy.values)
    assert lost[-1] < 0.0 and damped.data.energy.values[-1] < plain.data.energy.values[-1] - 1e-3
