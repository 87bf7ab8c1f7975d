"""The hanging chains of the linkage race: by our steps, by MuJoCo and by EXUDYN, each from the same start.

MuJoCo's joints are exact only in a tree; its Runge-Kutta method is the only one of its integrators without damping; its
contacts and soft constraints are off. EXUDYN runs in its build without range checks, with a modified Newton method and
no output files, and with its sparse solver for long chains.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.kernels.views import OK
from catena.methods.base import Method

Array = NDArray[np.float64]

PEERS = {"MuJoCo": "mujoco", "EXUDYN": "exudyn"}
SOLVERS = ("TrapezoidalIndex2", "GeneralizedAlpha")
SPARSE_FROM = 50  # bodies
WARM_UP = 3  # steps of ours before a sample: the first ones cannot extrapolate


def installed(peer: str) -> bool:
    return importlib.util.find_spec(PEERS[peer]) is not None


@dataclass(frozen=True)
class Chain:
    """A chain at rest."""

    joint: str
    bodies: int

    @cached_property
    def problem(self) -> Any:
        return ct.problems.hanging_chain(self.joint, self.bodies)

    @property
    def name(self) -> str:
        return f"{self.bodies} {self.joint}"

    def motion(self, state: Any) -> Motion:
        """The data of a state that all participants have."""
        bodies = self.problem.system.bodies
        masses = np.array([[body.mass] for body in bodies])
        inverse = np.array([np.linalg.inv(body.tensor) for body in bodies])
        turning = np.einsum("nij,nj->ni", inverse, state.angular_momentum)
        return Motion(np.array(state.position), state.momentum / masses, turning)

    def energy(self, motion: Motion) -> float:
        system = self.problem.system
        masses = np.array([body.mass for body in system.bodies])
        tensors = np.array([body.tensor for body in system.bodies])
        kinetic = 0.5 * masses @ (motion.velocity**2).sum(axis=1)
        turning = 0.5 * np.einsum("ni,nij,nj->", motion.turning, tensors, motion.turning)
        return float(kinetic + turning - masses @ (motion.position @ system.gravity))


@dataclass(frozen=True)
class Motion:
    """(bodies, 3) each: centres of mass, their velocities, and angular velocities in the axes of the bodies."""

    position: Array
    velocity: Array
    turning: Array

    def distance(self, other: Motion) -> tuple[float, float]:
        """Largest difference of a coordinate and of a velocity."""
        return (
            float(np.abs(self.position - other.position).max()),
            float(np.abs(self.velocity - other.velocity).max()),
        )


@dataclass(frozen=True)
class Runner:
    """A participant that makes this many steps of this length; each call starts anew."""

    who: str
    dt: float
    steps: int
    go: Callable[[], object]
    motion: Callable[[], Motion]  # at the end of the last call
    energy: Callable[[], float]  # there, by its own formula if it has one

    def after(self) -> Motion:
        """Run, and return the final motion."""
        self.go()
        return self.motion()


def our_runner(chain: Chain, method: Method, dt: float, steps: int, *, warm_up: int = 0) -> Runner:
    """Our driver; with `warm_up` a sample begins after some steps."""
    problem = chain.problem
    program = build(problem.system, method)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=dt, every=steps + warm_up)
    assert driver.advance(warm_up).status == OK
    begin = {name: array.copy() for name, array in driver.state().items()}

    def go() -> None:
        driver.restore(warm_up, begin)
        assert driver.advance(steps).status == OK

    def motion() -> Motion:
        return chain.motion(program.view.unpack(driver.z, 0.0))

    return Runner(str(method), dt, steps, go, motion, lambda: chain.energy(motion()))


# MuJoCo --------------------------------------------------------------------------------------------------------

MUJOCO = """\
<mujoco>
  <option timestep="{dt!r}" integrator="RK4" gravity="{gravity}"><flag contact="disable" constraint="disable"/></option>
  <worldbody>{bodies}{ends}</worldbody>
</mujoco>
"""
MUJOCO_BODY = """
<body pos="{place}" quat="{turn}"><joint {joint} pos="0 0 0" armature="0" damping="0"/>
<inertial pos="{center}" mass="{mass!r}" diaginertia="{moments}"/>"""
MUJOCO_JOINTS = {"revolute": 'type="hinge" axis="1 0 0"', "spherical": 'type="ball"'}


def mujoco_text(chain: Chain, dt: float) -> str:
    """The model: the frame of each body is at the joint that carries it, rotated as at the start."""

    def words(values: Any) -> str:
        return " ".join(repr(float(value)) for value in values)

    system, turns = chain.problem.system, chain.problem.start.orientation
    text = ""
    before, above = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
    for body, joint, turn in zip(system.bodies, system.joints, turns, strict=True):
        there, here = (np.array(point) for point in joint.at)
        text += MUJOCO_BODY.format(
            place=words(there - above), turn=words(rotations.multiply(rotations.conjugate(before), turn)),
            joint=MUJOCO_JOINTS[chain.joint], center=words(-here), mass=body.mass, moments=words(np.diag(body.tensor)),
        )  # fmt: skip
        before, above = turn, here
    return MUJOCO.format(dt=dt, gravity=words(system.gravity), bodies=text, ends="</body>" * len(turns))


def mujoco_runner(chain: Chain, dt: float, steps: int) -> Runner:
    """MuJoCo's Runge-Kutta method, in its own loop."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mujoco_text(chain, dt))
    data = mujoco.MjData(model)

    def go() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    def motion() -> Motion:
        mujoco.mj_forward(model, data)
        local = np.zeros((chain.bodies, 6))
        space = np.zeros((chain.bodies, 6))
        for k in range(chain.bodies):
            for rates, own_axes in ((local, 1), (space, 0)):
                mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, k + 1, rates[k], own_axes)
        return Motion(data.xipos[1:].copy(), space[:, 3:], local[:, :3])

    def energy() -> float:
        mujoco.mj_forward(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        return float(data.energy.sum())

    return Runner("MuJoCo RK4", dt, steps, go, motion, energy)


# EXUDYN --------------------------------------------------------------------------------------------------------


def exudyn_runner(chain: Chain, solver: str, dt: float, steps: int) -> Runner:
    """An implicit integrator of EXUDYN on redundant coordinates with multipliers."""
    sys.exudynFast = True  # type: ignore[attr-defined]  # before the import: the build without range checks
    import exudyn
    from exudyn.utilities import RigidBodyInertia

    system, start = chain.problem.system, chain.problem.start
    container = exudyn.SystemContainer()
    mbs = container.AddSystem()
    before, numbers = mbs.CreateGround(), []
    for k, (body, joint) in enumerate(zip(system.bodies, system.joints, strict=True)):
        turn = rotations.to_matrix(start.orientation[k])
        number = mbs.CreateRigidBody(
            referencePosition=list(start.position[k]), referenceRotationMatrix=turn,
            inertia=RigidBodyInertia(mass=body.mass, inertiaTensor=body.tensor), gravity=list(system.gravity),
        )  # fmt: skip
        place = list(start.position[k] + turn @ np.array(joint.at[1]))
        common = {"itemNumbers": [before, number], "position": place, "useGlobalFrame": True, "show": False}
        if chain.joint == "revolute":
            mbs.CreateRevoluteJoint(axis=[1.0, 0.0, 0.0], **common)
        else:
            mbs.CreateSphericalJoint(**common)
        before = number
        numbers.append(number)
    mbs.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * dt
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solution.file.write = False
    settings.parallel.numberOfThreads = 1
    if chain.bodies >= SPARSE_FROM:
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    kind = getattr(exudyn.DynamicSolverType, solver)

    def motion() -> Motion:
        kinds = exudyn.OutputVariableType
        names = (kinds.Position, kinds.Velocity, kinds.AngularVelocityLocal)
        return Motion(*(np.array([mbs.GetObjectOutputBody(k, name) for k in numbers]) for name in names))

    def go() -> None:
        mbs.SolveDynamic(settings, solverType=kind)

    return Runner(f"EXUDYN {solver}", dt, steps, go, motion, lambda: chain.energy(motion()))
