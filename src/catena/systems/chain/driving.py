"""The drives of a chain for its views: their order, their arrays, and each view extended by clocks and works."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ...geometry import rotations
from ...geometry.quaternion import rotation, store4
from ...geometry.vectors import store9
from ...kernels import views
from ...kernels.marks import Filling, Kernel, Numbers, Slot, Written, bind
from ...kernels.views import Flag, View
from ..base import Array, State
from ..one_body import NOT_CANONICAL
from ..paths import LEAST_JUMP, Jump, first_of, jumps_of, turning_jumps
from ..sampled import SPLINES, InTime, Sampled, components, depends_on_time, spline_arrays, write_in_time
from . import drive_kernels as kernels
from . import forces as chain_forces
from . import hessian as chain_hessian
from . import motion as chain_motion
from . import moving_kernels
from .drive_kernels import FORCE, GRAVITY, MOVED, POTENTIAL, TORQUE, TWEEZERS, Drive, Now
from .drive_slopes import add_drive_slopes
from .ends import End, Force, Moved, Torque, Tweezers
from .moving import MovingPotentials

if TYPE_CHECKING:
    from .chain import Chain

WIDTH = Now.SLOPE - Now.VALUE  # components of a drive
BLOCK = 14  # variables of a body in the canonical equations


@dataclass(frozen=True)
class Acting:
    """One drive: its name, its kind among the kernels, its body, and the end or load that it comes from."""

    name: str
    sort: int
    body: int
    source: End | None
    components: tuple[InTime, ...]


class Drives:
    """All drives of a chain; empty if nothing depends on time or acts off the centre of mass.

    Parameters
    ----------
    chain : with its ends and loads
    gravity : as it was given
    """

    def __init__(self, chain: Chain, gravity: Sequence[InTime]) -> None:
        self.chain = chain
        last = chain.count - 1
        self.moving = MovingPotentials(chain.interactions)
        found = [Acting("potential", POTENTIAL, 0, None, ())] if self.moving else []
        if any(map(depends_on_time, gravity)):
            found.append(Acting("gravity", GRAVITY, 0, None, tuple(gravity)))
        sources: list[tuple[str, int, End]] = [("left", 0, chain.left), ("right", last, chain.right)]
        sources += [(f"loads[{number}]", body, load) for number, (body, load) in enumerate(chain.loads)]
        found += [acting for source in sources if (acting := _acting(*source)) is not None]
        self.acting = tuple(found)

    def __len__(self) -> int:
        return len(self.acting)

    @property
    def names(self) -> list[str]:
        """Names of the drives: gravity, left, right, loads[0], ..."""
        return [acting.name for acting in self.acting]

    @property
    def tables(self) -> tuple[Sampled, ...]:
        """Tables of all components, then those of the potentials."""
        own = (part for acting in self.acting for part in acting.components if isinstance(part, Sampled))
        return (*own, *self.moving.tables)

    @property
    def pulls(self) -> bool:
        """Whether anything external acts on the chain."""
        return any(acting.sort != POTENTIAL for acting in self.acting)

    @property
    def has_potential(self) -> bool:
        """Whether every drive has a potential."""
        return all(acting.sort != TORQUE for acting in self.acting)

    @cached_property
    def arrays(self) -> dict[str, Numbers]:
        """The arrays that the kernels read in par."""
        table = np.zeros((len(self), Drive.WIDTH))
        constants = np.zeros((len(self), WIDTH))
        for row, numbers, acting in zip(table, constants, self.acting, strict=True):
            source = acting.source
            if isinstance(source, (Force, Tweezers)):
                axes = self.chain.bodies[acting.body].frame_matrix.T
                row[Drive.AT : Drive.STIFFNESS] = rotations.apply(axes, source.at)
            if isinstance(source, Tweezers):
                row[Drive.STIFFNESS] = source.k
            if isinstance(source, Moved):
                row[Drive.POSITION] = source.position is not None
                row[Drive.ORIENTATION] = source.orientation is not None
            numbers[: len(acting.components)] = [c if isinstance(c, float) else 0.0 for c in acting.components]
        return {
            "drive": table,
            "drive_constant": constants,
            "drive_sort": np.array([acting.sort for acting in self.acting], dtype=np.int64),
            "drive_body": np.array([acting.body for acting in self.acting], dtype=np.int64),
            **(spline_arrays(self.tables) if self.tables else {}),
            **(self.moving.arrays() if self.moving else {}),
        }

    def scratch(self) -> dict[str, Numbers]:
        """The arrays that they write to."""
        k = len(self)
        return {
            "drive_now": np.zeros((k, Now.WIDTH)), "drive_rate": np.zeros(k), "drive_push": np.zeros((k, 3)),
            "drive_spin": np.zeros((k, 3)), **(self.moving.scratch() if self.moving else {}),
        }  # fmt: skip

    @cached_property
    def values(self) -> Written:
        """`drive_values`: numbers from par, texts and splines as code with their first and second derivatives."""
        lines = [
            "def drive_values(t, which, par, out):", f"    for k in range({Now.WIDTH}):", "        out[k] = 0.0",
            f"    for k in range({WIDTH}):", "        out[k] = par.drive_constant[which, k]",
        ]  # fmt: skip
        number = 0
        for which, acting in enumerate(self.acting):
            for place, component in enumerate(acting.components):
                if not depends_on_time(component):
                    continue
                lines.append(f"    if which == {which}:")
                outputs = [f"out[{place + WIDTH * order}]" for order in range(3)]
                lines += [f"        {line}" for line in write_in_time(component, outputs, number)]
                number += isinstance(component, Sampled)
        return Written("drive_values", "\n".join(lines), __name__, SPLINES)

    def at(self, times: Array) -> Array:
        """(times, drives, Now.WIDTH): components and derivatives, outside of kernels."""
        namespace: dict[str, object] = {"math": math, **dict(SPLINES)}
        exec(self.values.text, namespace)
        values = namespace["drive_values"]
        assert isinstance(values, FunctionType)
        par, out = SimpleNamespace(**self.arrays), np.zeros((len(times), len(self), Now.WIDTH))
        for row, t in zip(out, np.asarray(times, dtype=float).tolist(), strict=True):
            for which in range(len(self)):
                try:
                    values(t, which, par, row[which])
                except (ArithmeticError, ValueError):
                    row[which] = np.nan
        return out

    def first_jump(self, times: Array, dt: float, start: State) -> Jump | None:
        """The first of the steps from these times in which the prescribed motion of an end jumps."""
        spacing = float(np.median(np.linalg.norm(np.diff(start.position, axis=0), axis=1)))
        found: list[Jump] = []
        for acting in self.acting:
            if isinstance(acting.source, Moved):
                where = f"Chain.{acting.name}"
                for k, axis in enumerate("xyz"):
                    path = f"the {axis} to which the {acting.name} end is moved"
                    place = f"{where}.position[{k}]"
                    found += jumps_of(acting.components[k], path, place, times, dt, least=LEAST_JUMP * spacing)
                path = f"the angle by which the {acting.name} end is turned in a step"
                found += turning_jumps(acting.components[3:], path, f"{where}.orientation", times, dt)
        return first_of(found)


def _acting(name: str, body: int, source: End) -> Acting | None:
    """The drive of an end or a load, if it is a drive."""
    if isinstance(source, Force) and not source.constant:
        return Acting(name, FORCE, body, source, components(source.force, 3, name))
    if isinstance(source, Tweezers):
        return Acting(name, TWEEZERS, body, source, components(source.anchor, 3, name))
    if isinstance(source, Torque):
        return Acting(name, TORQUE, body, source, components(source.torque, 3, name))
    if isinstance(source, Moved):
        parts = (*(source.position or (0.0,) * 3), *(source.orientation or (1.0, 0.0, 0.0, 0.0)))
        return Acting(name, MOVED, body, source, components(parts, 7, name))
    return None


# Views -------------------------------------------------------------------------------------------------------------


def orient_quaternion(z, n, j, q):
    """`set_orientation` for quaternions."""
    store4(z, 3 * n + 4 * j, q)


def orient_matrix(z, n, j, q):
    """`set_orientation` for rotation matrices."""
    store9(z, 3 * n + 9 * j, rotation(q))


def driven_view(chain: Chain, view: View | None) -> View | None:
    """A view of the chain alone, extended by a clock and a work for each drive.

    To be canonical as a whole, the momenta of clocks would have to come after half of the variables; `halves_view` has
    this order, for methods that need it.
    """
    if view is None or view.name == "canonical":
        return None
    drives, below = chain.drives, view.fills
    fills: dict[Slot, Filling] = {
        **below,
        **force_fills(drives, below),
        **recorded_fills(below),
    }
    fills |= _field_fills(drives, below) if view.name == "field" else _split_fills(below)
    if drives.moving:
        fills |= moving_fills(drives, fills)
    lost = frozenset() if drives.has_potential else NOT_CANONICAL
    flags = view.flags - ({Flag.BLOCK_JACOBIAN} if 2 * len(drives) >= BLOCK else set())
    return replace(
        view, fills=fills, dimension=view.dimension + 2 * len(drives), flags=flags, withdrawn=view.withdrawn | lost,
        pack=lambda state: pack_drives(chain, view, state),
        unpack=lambda z, time: prescribed_momenta(chain, view.unpack(z[: view.dimension], time)),
        scratch=lambda: {**view.scratch(), **drives.scratch()}, body_of=lambda variable: body_of(chain, view, variable),
    )  # fmt: skip


def force_fills(drives: Drives, below: Mapping[Slot, Filling]) -> dict[Slot, Filling]:
    """The forces of the chain with those of its drives."""
    return {
        kernels.drive_values: drives.values,
        chain_forces.add_link_forces: _around(kernels.add_drives, chain_forces.add_link_forces, below),
    }


def recorded_fills(below: Mapping[Slot, Filling]) -> dict[Slot, Filling]:
    """Kernels that record the chain with its drives."""
    return {
        views.publish: _around(kernels.publish_driven, views.publish, below),
        views.measure: _around(kernels.measure_driven, views.measure, below),
    }


def _around(kernel: Kernel, slot: Slot, below: Mapping[Slot, Filling]) -> Filling:
    """A kernel for a slot that calls the same slot: the call reaches the kernel of the chain alone."""
    return bind(kernel, {slot: below[slot]})


def moving_fills(drives: Drives, below: Mapping[Slot, Filling]) -> dict[Slot, Filling]:
    """All kernels that use the potentials, with their constants at the time of the clock."""
    evaluated = (views.force, views.field, views.velocity, views.momentum_rate, views.block_jacobian)
    made: dict[Slot, Filling] = {
        slot: bind(moving_kernels.at_time, {moving_kernels.moving_below: below[slot]})
        for slot in evaluated if slot in below
    }  # fmt: skip
    if views.measure in below:
        made[views.measure] = _around(moving_kernels.measure_at_time, views.measure, below)
    return made | {
        moving_kernels.set_constants: drives.moving.constants(len(drives.tables) - len(drives.moving.tables)),
        moving_kernels.potential_rate: drives.moving.rate(),
        chain_forces.add_link_forces: _around(moving_kernels.add_moving, chain_forces.add_link_forces, below),
    }


def _split_fills(below: Mapping[Slot, Filling]) -> dict[Slot, Filling]:
    matrices = chain_motion.orientation_width in below
    return {
        kernels.set_orientation: orient_matrix if matrices else orient_quaternion,
        views.force: _around(kernels.driven_force, views.force, below),
        views.kick: _around(kernels.driven_kick, views.kick, below),
        views.drift: _around(kernels.driven_drift, views.drift, below),
    }


def _field_fills(drives: Drives, below: Mapping[Slot, Filling]) -> dict[Slot, Filling]:
    moved = any(acting.sort == MOVED for acting in drives.acting)
    return {
        kernels.set_orientation: orient_quaternion,
        views.field: _around(kernels.driven_field, views.field, below),
        views.momentum_rate: _around(kernels.driven_rate, views.momentum_rate, below),
        views.field_count: 6,
        views.has_clock: 1,
        views.field_end: kernels.driven_field_end,
        chain_hessian.add_link_slopes: _around(add_drive_slopes, chain_hessian.add_link_slopes, below),
        **({views.step: kernels.driven_step} if moved else {}),
    }  # fmt: skip


def pack_drives(chain: Chain, view: View, state: State) -> Array:
    """The variables of the chain alone, without momenta of prescribed bodies, then times of clocks, and zero works."""
    count = len(chain.drives)
    return np.concatenate([view.pack(at_rest(chain, state)), np.full(count, state.time), np.zeros(count)])


def at_rest(chain: Chain, state: State) -> State:
    """The state without momenta of prescribed bodies."""
    fields = {name: values.copy() for name, values in state.fields.items()}
    for acting in chain.drives.acting:
        if acting.sort == MOVED:
            fields["momentum"][acting.body] = 0.0
            fields["angular_momentum"][acting.body] = 0.0
    return State(fields, state.time)


def prescribed_momenta(chain: Chain, state: State) -> State:
    """The state with the momenta of prescribed bodies, from their motion."""
    if all(acting.sort != MOVED for acting in chain.drives.acting):
        return state
    for acting, row in zip(chain.drives.acting, chain.drives.at(np.array([state.time]))[0], strict=True):
        if isinstance(acting.source, Moved):
            body = chain.bodies[acting.body]
            if acting.source.position is not None:
                state.momentum[acting.body] = body.mass * row[Now.SLOPE : Now.QUATERNION_SLOPE]
            if acting.source.orientation is not None:
                u, rate = row[Now.QUATERNION : Now.SLOPE], row[Now.QUATERNION_SLOPE : Now.CURVATURE]
                spin = 2.0 * rotations.multiply(rotations.conjugate(u), rate)[1:] / (u @ u)
                state.angular_momentum[acting.body] = rotations.apply(body.tensor, spin)
    return state


def body_of(chain: Chain, view: View, variable: int) -> int:
    """The body of a variable; clocks and works belong to the driven body."""
    if variable >= view.dimension:
        return chain.drives.acting[(variable - view.dimension) % len(chain.drives)].body
    assert view.body_of is not None
    return view.body_of(variable)
