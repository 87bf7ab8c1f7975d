"""Controllers: Python functions that set the torques of motors at fixed times of a run, and their argument."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module

import numpy as np
from numpy.typing import ArrayLike

from ..engine.build import Program
from ..engine.driver import Driver
from ..errors import CatenaWarning, InputError, StoreError
from ..store.checking import table, text, whole
from ..systems.base import Array, State, System
from ..text.plain import Json

LARGEST_MEMORY = 2**20  # numbers


class Seen:
    """The argument of a controller.

    Attributes
    ----------
    time : the current time
    angle, speed : of the joints of its motors, in their order; for sliders, displacement and velocity
    state : the state of all bodies
    memory : numbers that the controller may change in place; they are stored with the run
    """

    def __init__(self, driver: Driver, memory: Array) -> None:
        self._driver, self._memory = driver, memory

    @property
    def time(self) -> float:
        """Time of the state."""
        return self._driver.time

    @property
    def memory(self) -> Array:
        """Numbers that the controller keeps from call to call."""
        return self._memory

    @cached_property
    def state(self) -> State:
        """The state, as a run records it."""
        driver, system = self._driver, self._driver.program.system
        marks, scale = driver.marks.copy(), driver.scale.copy()
        columns = system.columns(driver.record().rows)
        driver.marks[...], driver.scale[...] = marks, scale
        return State({field.name: columns[field.name][0] for field in system.fields}, driver.time)

    @cached_property
    def _joints(self) -> tuple[Array, Array]:
        program = self._driver.program
        return program.system.motor_places(program.view, self._driver.z, lambda: self.state)

    @property
    def angle(self) -> Array:
        """Angle of each joint, with full turns, or its displacement."""
        return self._joints[0]

    @property
    def speed(self) -> Array:
        """Angular velocity of each joint, or its velocity."""
        return self._joints[1]


Steering = Callable[[Seen], ArrayLike]


@dataclass(frozen=True)
class Named:
    """A function known only by its name: a store holds the name, and nothing that a store names is imported."""

    name: str

    def __call__(self, seen: Seen) -> ArrayLike:
        raise self.missing("the run")

    def missing(self, what: str) -> InputError:
        """Raise: the function must be given."""
        called = f", {self.name}," if self.name else ""
        given = f'"{self.name}"' if self.name else "function"
        return InputError(
            f"{what} is steered by a function{called} which a store cannot bring along", where="control",
            do=f"say which: ct.resume(path, control={given})" + (f", or catena resume --control {self.name}" if self.name else ""),
        )  # fmt: skip


@dataclass(frozen=True)
class Controller:
    """A Python function that sets the torques of motors at fixed times. Between calls the torques are constant and the
    loop is compiled.

    It sets the motors that have neither torque nor target, `Motor(joint)`, in their order, up to their efforts.
    `run.control` holds what it returned, `load_work` the work of the motors. A run with `out` can be resumed; the
    function must then be given again, by its name if it can be imported.

    Parameters
    ----------
    function : takes one argument with the attributes `time`, `angle` and `speed` of the joints of its motors, `state` and `memory`;
        returns a torque for each motor (for a slider: a force)
    every : number of steps between calls; the first call is at the start
    memory : how many numbers it may keep in `memory`, zero at the start. A resumed run loses whatever it keeps
        elsewhere

    Examples
    --------
    ::

        def lift(seen):
            return 60.0 * (0.5 - seen.angle) - 8.0 * seen.speed

        arm = ct.Linkage([rod], [hinge], [ct.Motor(0, effort=20.0)])
        run = ct.simulate(arm, arm.start(), dt=0.01, t_end=2.0, control=ct.Controller(lift, every=2))
    """

    function: Steering
    every: int = 1
    memory: int = 0

    def __post_init__(self) -> None:
        from .plan import positive_integer

        if not callable(self.function):
            raise InputError(f"{self.function!r} is no function", where="Controller.function", do="give a function")
        object.__setattr__(self, "every", positive_integer(self.every, "Controller.every"))
        if self.memory != 0:
            object.__setattr__(self, "memory", positive_integer(self.memory, "Controller.memory"))
        if self.memory > LARGEST_MEMORY:
            raise InputError(
                f"memory = {self.memory}", where="Controller.memory", do=f"keep at most {LARGEST_MEMORY} numbers"
            )

    @property
    def name(self) -> str:
        """module:function if another process can import it by that name; otherwise empty."""
        return self.function.name if isinstance(self.function, Named) else importable_name(self.function)

    def describe(self) -> dict[str, Json]:
        """The description in a store."""
        return {"function": self.name, "every": self.every, "memory": self.memory}

    def with_function(self, given: Steering | str | None, *, anyway: bool = False) -> Controller:
        """The same with the function itself: the one given, or one that the user, not a store, names."""
        if given is None:
            if isinstance(self.function, Named):
                raise self.function.missing("this run")
            return self
        function = import_function(given) if isinstance(given, str) else given
        other = replace(self, function=function)
        if self.name and other.name != self.name and not anyway:
            raise StoreError(
                f"the run was steered by {self.name}, not by {other.name or repr(function)}", where="control",
                do=f'give "{self.name}"; anyway=True goes on with another one',
            )  # fmt: skip
        return other

    def warn_if_lost(self) -> None:
        """Warn the caller of `simulate` if a resumed run will not find the function."""
        if not self.name:
            warnings.warn(
                f"{self.function!r} cannot be imported by another process: to resume this run, give it again, ct.resume(path, control=...)",
                CatenaWarning, stacklevel=3,
            )  # fmt: skip

    def room(self, step: int) -> int:
        """Steps until the next call."""
        return self.every - step % self.every

    def calls(self, step: int) -> int:
        """Number of calls before this step, which is not the first of its interval."""
        return -(-step // self.every)


def controller_from(described: Json) -> Controller:
    """The controller from the JSON of `Controller.describe`, without its function; ValueError if that is impossible."""
    fields = table(described, "control", needs=("function", "every", "memory"))
    every = whole(fields["every"], "control.every", least=1, below=2**62)
    memory = whole(fields["memory"], "control.memory", below=LARGEST_MEMORY + 1)
    return Controller(Named(text(fields["function"], "control.function")), every, memory)


def importable_name(function: object) -> str:
    """module:qualified name of a function, if it can be imported by that name; otherwise empty."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__" or "<" in name:
        return ""
    return f"{module}:{name}" if _found(sys.modules.get(module), name) is function else ""


def import_function(name: str) -> Steering:
    """The function that a user names, as module:function."""
    module, _, inner = name.partition(":")
    try:
        function = _found(import_module(module), inner) if module and inner else None
    except ImportError as trouble:
        raise InputError(
            f"{name}: {trouble}", where="control", do="name it as module:function, on Python's path"
        ) from None
    if not callable(function):
        raise InputError(f"there is no function {name!r}", where="control", do="name it as module:function")
    return function


def _found(inside: object, name: str) -> object:
    for part in name.split("."):
        inside = getattr(inside, part, None)
    return inside


def check_control(system: System, control: Controller | None) -> None:
    """Refuse motors that nothing sets, and a controller that has no motor to set."""
    joints = ", ".join(map(str, system.controls))
    if control is None and joints:
        raise InputError(
            f"nothing sets the motors of joints {joints}: they have neither torque nor target", where="Motor",
            do="give them one of these, or simulate(..., control=ct.Controller(function)) in Python",
        )  # fmt: skip
    if control is not None and not isinstance(control, Controller):
        raise InputError(
            f"{control!r} is no controller", where="simulate.control", do="give ct.Controller(function, every=...)"
        )
    if control is not None and not joints:
        raise InputError(
            "there is no motor for the controller to set", where="simulate.control",
            do="give the linkage motors without torque and target, ct.Motor(joint)",
        )  # fmt: skip


class Useless(Exception):
    """Motors cannot apply what a controller returned."""


class ControlledDriver(Driver):
    """A run whose motors are set by a function; call `consult` when the function is due."""

    def __init__(self, program: Program, z: Array, *, t0: float, dt: float, every: int, controller: Controller) -> None:
        super().__init__(program, z, t0=t0, dt=dt, every=every)
        self.controller = controller
        self._motors = len(program.system.controls)
        self.control = np.zeros(self._motors + controller.memory)  # the torques, then what the function remembers
        self._asked, self._before = -1, self.control.copy()

    def state(self) -> dict[str, Array]:
        return {**super().state(), "control": self.control}

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.control.nbytes

    def restore(self, step: int, arrays: dict[str, Array]) -> None:
        super().restore(step, arrays)
        self.control[...] = arrays["control"]
        self._hold()

    def _hold(self) -> None:
        self.program.system.hold(self.par, self.control[: self._motors])

    def consult(self) -> Array:
        """Call the function and hold its torques until the next call; raises `Useless`, or what the function raises."""
        memory = self.control[self._motors :].copy()
        returned = self.controller.function(Seen(self, memory))
        torques = self._check(returned)
        if not np.isfinite(memory).all():
            raise Useless(f"its memory[{int(np.isfinite(memory).argmin())}] is not finite")
        self._asked, self._before = self.step, self.control.copy()
        self.control[: self._motors], self.control[self._motors :] = torques, memory
        self._hold()
        return torques

    def forget_unused(self) -> None:
        """Undo the last call if no step followed it: a run that continues from here calls again."""
        if self._asked == self.step:
            self.control[...] = self._before
            self._hold()

    def _check(self, returned: object) -> Array:
        try:
            torques = np.asarray(() if returned is None else returned, dtype=float)
        except (TypeError, ValueError):
            torques = np.zeros(0)
        if torques.size == 0:
            raise Useless(f"it returned {returned!r} instead of {self._motors} torques")
        if torques.shape != (self._motors,) and not (torques.shape == () and self._motors == 1):
            raise Useless(f"it returned an array of shape {torques.shape} instead of ({self._motors},)")
        torques = torques.reshape(self._motors)
        if not np.isfinite(torques).all():
            worst = int(np.isfinite(torques).argmin())
            raise Useless(f"it returned {torques[worst]} for the motor of joint {self.program.system.controls[worst]}")
        return torques
