"""Races of a single body: the problems, the participants, and the errors of their outputs.

Every participant gives the same outputs: rows (q, y), orientation and body angular momentum, at the same times.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.methods.base import Method

Array = NDArray[np.float64]
Runner = Callable[[], Any]  # runs

TAYLOR_STEP = 0.25  # of the reference, at most
TAYLOR_ORDER = 40


def rates(q0, q1, q2, q3, y1, y2, y3, i1, i2, i3, strength):  # type: ignore[no-untyped-def]
    """The equations of motion in U = strength R33; for numbers, for heyoka's expressions, or compiled by numba."""
    w1 = y1 / i1
    w2 = y2 / i2
    w3 = y3 / i3
    return (
        -(q1 * w1 + q2 * w2 + q3 * w3) / 2,
        (q0 * w1 + q2 * w3 - q3 * w2) / 2,
        (q0 * w2 + q3 * w1 - q1 * w3) / 2,
        (q0 * w3 + q1 * w2 - q2 * w1) / 2,
        y2 * w3 - y3 * w2 + 2 * strength * (q2 * q3 + q0 * q1),
        y3 * w1 - y1 * w3 - 2 * strength * (q1 * q3 - q0 * q2),
        y1 * w2 - y2 * w1,
    )


@dataclass(frozen=True)
class Race:
    """A body that turns about a fixed point in U = strength R33, and the required outputs."""

    name: str
    moments: tuple[float, float, float]
    strength: float
    orientation: tuple[float, float, float, float]
    momentum: tuple[float, float, float]
    t_end: float
    outputs: int

    @property
    def is_solved(self) -> bool:
        """Whether the motion has a closed form."""
        return self.strength == 0.0 or self.moments[0] == self.moments[1]

    @property
    def times(self) -> Array:
        return np.linspace(0.0, self.t_end, self.outputs + 1)

    @property
    def start(self) -> Array:
        return np.array([*self.orientation, *self.momentum])

    @property
    def system(self) -> Any:
        body = ct.Body(moments=self.moments)
        return ct.Top(body, ct.Gravity(self.strength, (0.0, 0.0, 1.0))) if self.strength else ct.FreeBody(body)

    def energy(self, rows: Any) -> Any:
        """Energies of rows, in the type of the rows."""
        q0, q1, q2, q3, y1, y2, y3 = np.asarray(rows).T
        kinetic = sum(y * y / moment for y, moment in zip((y1, y2, y3), self.moments, strict=True)) / 2
        return kinetic + self.strength * (q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3)

    def reference(self, *, step: float = TAYLOR_STEP) -> Any:
        """The rows in extended precision, by Taylor series: the equations are quadratic, so each term is a convolution."""
        constants = np.array([*self.moments, self.strength], dtype=np.longdouble)
        unit = np.eye(7, dtype=np.longdouble)
        single = [np.array(rates(*a, *constants)) for a in unit]
        form = np.array(
            [[np.array(rates(*(a + b), *constants)) - single[i] - single[j] for j, b in enumerate(unit)]
             for i, a in enumerate(unit)]
        ) / 2  # fmt: skip
        steps = math.ceil(self.t_end / self.outputs / step)
        dt = np.longdouble(self.t_end) / self.outputs / steps
        powers = dt ** np.arange(TAYLOR_ORDER + 1)
        rows: list[Any] = [self.start.astype(np.longdouble)]
        series = np.zeros((TAYLOR_ORDER + 1, 7), dtype=np.longdouble)
        z, rest = rows[0], np.zeros(7, dtype=np.longdouble)
        for _ in range(self.outputs):
            for _ in range(steps):
                series[0] = z
                for n in range(TAYLOR_ORDER):
                    products = series[: n + 1].T @ series[n::-1]
                    series[n + 1] = np.tensordot(products, form, 2) / (n + 1)
                increment = powers[1:] @ series[1:] + rest
                after = z + increment
                z, rest = after, increment - (after - z)
            rows.append(z)
        return np.array(rows)


FREE = Race("free body", (0.376, 0.627, 1.0), 0.0, (1.0, 0.0, 0.0, 0.0), (0.0, 0.6, -0.8), 1000.0, 1000)
TOP = Race("heavy top", (0.376, 0.627, 1.0), 1.0, (1.0, 0.0, 0.0, 0.0), (0.0, 0.6, -0.8), 20.0, 200)
SYMMETRIC = Race(
    "symmetric top", (0.5, 0.5, 1.0), 1.0, (math.cos(0.4), math.sin(0.4), 0.0, 0.0), (0.1, 0.6, 0.8), 20.0, 50
)
RACES = (FREE, TOP, SYMMETRIC)


def attitude_error(rows: Any, right: Any) -> float:
    """Largest angle of conj(right) * q over the outputs, in extended precision; neither is normalised."""
    q, r = np.asarray(rows, dtype=np.longdouble)[:, :4], right[:, :4]
    scalar = (q * r).sum(axis=1)
    vector = r[:, :1] * q[:, 1:] - q[:, :1] * r[:, 1:] - np.cross(r[:, 1:], q[:, 1:])
    return float(2 * np.arctan2(np.sqrt((vector**2).sum(axis=1)), np.abs(scalar)).max())


# Who takes part ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A participant with one setting."""

    who: str
    setting: str
    run: Runner
    gather: Callable[[Any], Array] = (
        np.asarray
    )  # converts the result of the run, which differs between programs, to rows: not timed

    def rows(self) -> Array:
        """The outputs of a run, the start first."""
        return self.gather(self.run())

    @property
    def name(self) -> str:
        return f"{self.who}, {self.setting}" if self.setting else self.who


def our_entry(race: Race, method: Method, steps: int) -> Entry:
    """This number of steps of a method from one output to the next."""
    system = race.system
    program = build(system, method)
    dt = race.t_end / race.outputs / steps
    start = system.start(race.orientation, angular_momentum=race.momentum)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=steps)
    first, back = driver.first_row().rows, driver.way_back()

    def run() -> Array:
        back()
        rest = driver.advance(steps * race.outputs)
        assert rest.status == 0
        return rest.rows

    return Entry(str(method), f"dt {dt:.4g}", run, lambda rest: np.concatenate([first, rest])[:, :7])


def taylor_entry(race: Race, tolerance: float) -> Entry:
    """Our Taylor series, with its own steps; outputs are evaluated on them."""
    return replace(our_entry(race, ct.Taylor(tolerance), 1), who="Taylor", setting=f"tolerance {tolerance:.0e}")


def exact_entry(race: Race) -> Entry:
    """Jacobi's solution, or Lagrange's, at the times of the outputs."""
    system, times = race.system, race.times
    start = system.start(race.orientation, angular_momentum=race.momentum)

    def gather(states: ct.State) -> Array:
        return np.concatenate([states.orientation, states.angular_momentum], axis=1)

    return Entry("exact", "", lambda: system.exact(times, start), gather)


def heyoka_entry(race: Race, tolerance: float, kind: Any = float) -> Entry:
    """heyoka's adaptive Taylor method; outputs by its dense output."""
    import heyoka

    variables = heyoka.make_vars("q0", "q1", "q2", "q3", "y1", "y2", "y3")
    fields = rates(*variables, *(kind(value) for value in (*race.moments, race.strength)))
    start, times = race.start.astype(kind), kind(race.t_end) * np.arange(race.outputs + 1) / race.outputs
    equations = list(zip(variables, fields, strict=True))
    integrator = heyoka.taylor_adaptive(equations, start, fp_type=kind, tol=kind(tolerance))

    def run() -> Array:
        integrator.time = kind(0)
        integrator.state[:] = start
        return integrator.propagate_grid(times)[-1]

    return Entry("heyoka", f"tolerance {tolerance:.0e}", run)


def scipy_entry(race: Race, tolerance: float) -> Entry:
    """SciPy's DOP853 with the field compiled by numba."""
    from numba import njit
    from scipy.integrate import solve_ivp

    compiled = njit(rates)
    i1, i2, i3 = race.moments
    strength = race.strength

    @njit
    def field(t, z):  # type: ignore[no-untyped-def]
        return np.array(compiled(z[0], z[1], z[2], z[3], z[4], z[5], z[6], i1, i2, i3, strength))

    start, times = race.start, race.times
    options = {"method": "DOP853", "rtol": tolerance, "atol": 0.01 * tolerance, "t_eval": times}
    return Entry(
        "DOP853", f"tolerance {tolerance:.0e}", lambda: solve_ivp(field, (0.0, race.t_end), start, **options).y.T
    )


MUJOCO = """\
<mujoco>
  <option gravity="0 0 {gravity}" timestep="{dt}" integrator="RK4">
    <flag contact="disable" constraint="disable" energy="{energy}"/>
  </option>
  <worldbody><body>
    <joint type="ball" armature="0" damping="0"/>
    <inertial pos="0 0 {height}" mass="{mass}" diaginertia="{i1!r} {i2!r} {i3!r}"/>
  </body></worldbody>
</mujoco>
"""


def mujoco_model(race: Race, dt: float, *, energy: str = "disable") -> tuple[Any, Any]:
    """Model and data at the start. A small mass high up changes the central moments, I - m l^2 (1, 1, 0), little.

    MuJoCo refuses moments of which two do not exceed the third, and so the symmetric top.
    """
    import mujoco

    mass, height = (0.001, 1.0) if race.strength else (1.0, 0.0)
    i1, i2, i3 = race.moments
    text = MUJOCO.format(
        gravity=-race.strength / (mass * height) if race.strength else 0.0, dt=dt, energy=energy, mass=mass,
        height=height, i1=i1 - mass * height**2, i2=i2 - mass * height**2, i3=i3,
    )  # fmt: skip
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = race.orientation
    data.qvel[:] = np.array(race.momentum) / race.moments
    mujoco.mj_forward(model, data)
    return model, data


def mujoco_entry(race: Race, steps: int) -> Entry:
    """MuJoCo's Runge-Kutta method; its other integrators damp a turning body."""
    import mujoco

    dt = race.t_end / race.outputs / steps
    model, data = mujoco_model(race, dt)
    moments = np.array(race.moments)

    def run() -> Array:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = race.orientation
        data.qvel[:] = np.array(race.momentum) / moments
        rows = np.empty((race.outputs + 1, 7))
        rows[0, :4], rows[0, 4:] = data.qpos, moments * data.qvel
        for k in range(1, race.outputs + 1):
            mujoco.mj_step(model, data, steps)
            rows[k, :4], rows[k, 4:] = data.qpos, moments * data.qvel
        return rows

    return Entry("MuJoCo RK4", f"dt {dt:.4g}", run)


PEERS = {"heyoka": "heyoka", "DOP853": "scipy", "MuJoCo RK4": "mujoco"}


def installed(peer: str) -> bool:
    return importlib.util.find_spec(PEERS[peer]) is not None
