"""An arm of seven links from a robot description: motors and prescribed paths against MuJoCo 4.0, and what the file says of its joints.

MuJoCo's digits: forward dynamics (`mj_forward` with the torques of the motors at each stage) by Runge-Kutta of order 4 with 16 000 steps, extrapolated
from 8000; inverse dynamics by `mj_inverse`. Both from the same file, `seven_links.py`, with gravity (0, 0, -9.81) and without constraints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import seven_links
from catena.errors import CatenaWarning, InputError
from catena.geometry import rotations
from catena.systems.linkage.constraints import turn_vectors
from catena.systems.linkage.linkage import Linkage

FOLLOWED = (  # angles, then rates, at t = 2
    0.3733158779152223, 0.526319999261439, -0.466124382967615, -0.9994111054187736, -0.7642364214649092, -0.500332531951761, -0.20034207304448082,
    -0.5097392092073789, -1.4130217200122248, -0.5123693672813076, 0.12052487041244261, 0.6840379719305166, 1.3543324856872827, 1.2821804843199411,
)  # fmt: skip
TORQUES = {
    0.0: (
        -1.4653429800446056,
        5.4444246953428745,
        -1.5164362683807127,
        9.054938342231985,
        -0.2506682857170428,
        -4.942903199858927,
        0.0208386727884598,
    ),
    0.7: (
        -2.5004024250112904,
        -15.445540096169092,
        2.2942252939659937,
        9.64936780674498,
        0.8696651028315455,
        -3.162120459186233,
        0.008609905263118847,
    ),
    2.0: (
        -0.36402975317781205,
        -19.007824653954962,
        7.113210509979616,
        25.389575546632432,
        -1.3218983217912676,
        -5.918773783391562,
        -0.12193143115305694,
    ),
}


def driven(folder: Path) -> tuple[Linkage, ct.State]:
    system, rest = Linkage.from_urdf(seven_links.write(folder))
    drives = [ct.Driven(k, path) for k, path in enumerate(seven_links.PATHS)]
    return Linkage(system.bodies, system.joints, drives, gravity=(0, 0, -9.81)), rest


@pytest.mark.parametrize("time", list(TORQUES))
def test_prescribed_paths_take_the_torques_of_inverse_dynamics(tmp_path: Path, time: float) -> None:
    """1e-8 asked for, 3e-11 measured: the multipliers of all joints are found from one matrix, whose condition they lose."""
    system, rest = driven(tmp_path)
    start = system.start(rest.position, rest.orientation, time=time, project=True)
    np.testing.assert_allclose(system.angles(start), seven_links.told(time)[:, 0], atol=1e-13)
    np.testing.assert_allclose(system.motor_torques(start), TORQUES[time], rtol=0, atol=1e-10)


def test_another_path_takes_other_torques(tmp_path: Path) -> None:
    """The digits tell a second derivative that is off by 1e-4."""
    system, rest = driven(tmp_path)
    forces = [*system.forces[:-1], ct.Driven(6, f"{seven_links.PATHS[6]} + 0.00005*t**2")]
    other = Linkage(system.bodies, system.joints, forces, gravity=(0, 0, -9.81))
    assert (
        np.abs(other.motor_torques(other.start(rest.position, rest.orientation, project=True)) - TORQUES[0.0]).max()
        > 1e-6
    )


@pytest.mark.slow
def test_motors_follow_their_targets_as_in_mujoco(tmp_path: Path) -> None:
    """1e-6 asked for over 2 s."""
    motors = {
        f"j{k}": {"target": path, "kp": seven_links.KP, "kd": seven_links.KD}
        for k, path in enumerate(seven_links.PATHS)
    }
    told = seven_links.told(0.0)
    angles = {f"j{k}": float(told[k, 0]) for k in range(7)}
    system, rest = Linkage.from_urdf(seven_links.write(tmp_path), angles=angles, motors=motors)
    start = moving(system, rest, told[:, 1])
    run = ct.simulate(system, start, ct.Gauss(4), dt=0.005, steps=400, every=400)
    outputs: Any = system.outputs(run)
    found = np.concatenate([system.angles(run.final), outputs.speed[-1].values])
    np.testing.assert_allclose(found, FOLLOWED, rtol=0, atol=1e-7)
    assert abs(float(run.data.energy[-1] - run.data.energy[0])) < 1e-6


def moving(system: Linkage, rest: ct.State, rates: Any) -> ct.State:
    """The state with these rates of the hinges."""
    omega = np.zeros((system.count, 3))
    for k, joint in enumerate(system.joints):
        above = np.zeros(3) if joint.parent < 0 else omega[joint.parent]
        omega[joint.child] = above + rates[k] * turn_vectors(rest.orientation, joint.parent, joint.triad[0])
    own = [rotations.rotate(rotations.conjugate(q), w) for q, w in zip(rest.orientation, omega, strict=True)]
    return system.start(rest.position, rest.orientation, angular_velocity=own)


LIMITED = """<robot name="two"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="10" velocity="5"/><dynamics damping="0.3" friction="0.2"/></joint></robot>"""


def test_what_a_file_says_of_joints_is_used_or_named(tmp_path: Path) -> None:
    path = tmp_path / "two.urdf"
    path.write_text(LIMITED)
    with pytest.warns(
        CatenaWarning, match=r"limits of hinge are not enforced.*dry friction of hinge.*largest speeds of hinge"
    ):
        Linkage.from_urdf(str(path))
    with pytest.warns(CatenaWarning, match="two: dry friction"):
        system, _ = Linkage.from_urdf(str(path), motors={"hinge": {"target": 1.5, "kp": 100.0}}, limits=(50.0, 1.0))
    damping, motor, limit = system.forces
    assert (damping.damping, motor.effort) == (0.3, 10.0)  # type: ignore[union-attr]
    assert (limit.low, limit.high, limit.stiffness, limit.damping) == (-1.0, 2.0, 50.0, 1.0)  # type: ignore[union-attr]
    with pytest.raises(InputError, match="beyond its limits"):
        Linkage.from_urdf(str(path), motors={"hinge": {"target": 2.5, "kp": 1.0}})
    for wrong, message in (({"torqe": 1.0}, r"no 'torqe' \(did you mean torque\?\)"), (3.0, "3.0")):
        with pytest.raises(InputError, match=message):
            Linkage.from_urdf(str(path), motors={"hinge": wrong})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="no movable joint 'hinges'"):
        Linkage.from_urdf(str(path), motors={"hinges": {"torque": 1.0}})


def test_the_motion_of_joints_of_a_file_is_prescribed(tmp_path: Path) -> None:
    """The torque about the hinge is the moment of inertia times the acceleration; no damping, no stops."""
    path = tmp_path / "two.urdf"
    path.write_text(LIMITED)
    with pytest.warns(CatenaWarning, match="damping of hinge is left out: their motion is prescribed"):
        system, start = Linkage.from_urdf(str(path), driven={"hinge": "0.5 + 0.2*t**2"}, limits=(50.0, 1.0))
    assert [type(force) for force in system.forces] == [ct.Driven]
    assert system.angles(start)[0] == pytest.approx(0.5, abs=1e-15)
    assert system.motor_torques(start)[0] == pytest.approx(0.4, abs=1e-14)
    beyond = ct.Sampled([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.5, 1.0])
    with pytest.raises(InputError, match=r"the path of joint 'hinge' is 2\.5, beyond its limits"):
        Linkage.from_urdf(str(path), driven={"hinge": beyond})
    with pytest.raises(InputError, match=r"at from_urdf\.driven"):
        Linkage.from_urdf(str(path), driven={"hinges": "t"})
