"""Link lengths, link energies and reactions of a chain: for a state, or along a run, computed on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import cache, collector, headers
from ..engine.plain_python import interpret
from ..errors import InputError
from ..kernels.marks import Filling, Kernel, Numbers, Slot
from ..systems.base import Array, State
from ..systems.chain import forces as chain_forces
from ..systems.chain.chain import DIRECTOR, Chain
from ..systems.chain.distant import distant_fills
from ..systems.chain.driving import force_fills, moving_fills
from ..systems.chain.moving_kernels import observe_at_times
from ..systems.chain.observables import observe_chain
from ..systems.chain.tearing import link_gaps, link_lengths
from ..systems.chain.views import to_split
from . import chain_averages
from .linking import director_from, linking_number, twist, writhe
from .load_outputs import Doing, doings, sources
from .quantities import first_sample

if TYPE_CHECKING:
    import xarray

    from ..running.runs import Run
    from .averages import Average

SAMPLES = 4096  # processed at a time, to limit memory
WORTH_COMPILING = 10**5  # pairs of particles; fewer are faster as plain Python


class Reactions(NamedTuple):
    """Reactions of the ends: force and torque (about the centre of mass) on left and right body, (2, 3), in space."""

    force: Array
    torque: Array


class ChainOutputs:
    """Outputs of a run of a chain besides its fields, along time.

    Parameters
    ----------
    run : a run of a chain

    Examples
    --------
    >>> import catena as ct
    >>> run = ct.simulate(ct.problems.helix_chain(4), dt=0.02, steps=10)
    >>> run.system.outputs(run).link_length.dims
    ('time', 'link')
    """

    def __init__(self, run: Run) -> None:
        from ..systems.chain.chain import Chain

        moved = getattr(run, "system", None)
        if not isinstance(moved, Chain):
            raise InputError(f"{run!r} is no run of a chain", where="outputs.run", do="give one, made by ct.simulate")
        self.chain, self._data = moved, run.data

    def __repr__(self) -> str:
        shown = [
            name for name, value in vars(type(self)).items() if isinstance(value, cached_property) and name[0] != "_"
        ]
        return f"ChainOutputs of {self._data.sizes['time']} samples and {self.chain.count} bodies: {', '.join(shown)}"

    def bond_correlation(self, *, after: float | None = None) -> xarray.Dataset:
        """Mean product of bonds, between neighbouring centres of mass: `correlation`, `error` along `separation`.

        The separation is in links. For independent links with the mean cosine c it is a^2 c^m, m = 1, 2, ...

        Parameters
        ----------
        after : time from which samples count; None: all but the first fifth of the run
        """
        return chain_averages.bond_correlation(self._positions(after, "bond_correlation"))

    def persistence_length(self, *, after: float | None = None) -> Average:
        """Length l over which the chain forgets its direction: bonds m links apart have the mean product a^2 exp(-m a/l).

        Parameters
        ----------
        after : as for `bond_correlation`
        """
        return chain_averages.persistence_length(self._positions(after, "persistence_length"))

    def structure_factor(self, wave_numbers: ArrayLike, *, after: float | None = None) -> xarray.Dataset:
        """S(k) = |sum_j exp(i k.r_j)|^2 / n of the centres of mass, averaged over all directions.

        Returns `structure_factor` and `error` along `wave_number`.

        Parameters
        ----------
        wave_numbers : (m,) magnitudes of k
        after : as for `bond_correlation`
        """
        return chain_averages.structure_factor(self._positions(after, "structure_factor"), wave_numbers)

    def _positions(self, after: float | None, where: str) -> Array:
        first = first_sample(self._data.time.values, after, where)
        return np.asarray(self._data.position.values[first:])

    @cached_property
    def link_length(self) -> xarray.DataArray:
        """Distances between neighbouring centres of mass."""
        return self._array(lambda r, _: link_lengths(self.chain, r), ("link",), "distance of centres of mass")

    @cached_property
    def link_gap(self) -> xarray.DataArray:
        """Shortest distance between two particles of neighbouring bodies; inf if a body has none."""
        return self._array(lambda *state: link_gaps(self.chain, *state), ("link",), "shortest distance of particles")

    @cached_property
    def link_energy(self) -> xarray.DataArray:
        """Energy of the potential of each link."""
        return self._slice(slice(0, self.chain.interactions.count), ("link",), "energy of a link")

    @cached_property
    def reaction_force(self) -> xarray.DataArray:
        """Force on the body at each end by whatever holds it; 0 if nothing does."""
        held = ~self.chain.held[0][[0, -1]]
        return self._reaction(0, held, "force on a held end")

    @cached_property
    def reaction_torque(self) -> xarray.DataArray:
        """Torque on the body at each end, about its centre of mass, by a clamp, in space."""
        held = np.array([not end.turns for end in (self.chain.left, self.chain.right)])
        return self._reaction(1, held, "torque on a clamped end, about the centre of mass")

    def linking_number(self, director: ArrayLike = DIRECTOR) -> xarray.DataArray:
        """Linking number of a closed chain; see `Chain.linking_number`."""
        across = director_from(director)
        return self._each(lambda r, q: linking_number(self.chain, r, q, across), "linking number")

    def twist(self, director: ArrayLike = DIRECTOR) -> xarray.DataArray:
        """Turns of a director about the polygon through the centres of mass."""
        across = director_from(director)
        return self._each(lambda r, q: twist(self.chain, r, q, across), "twist, in turns")

    def writhe(self) -> xarray.DataArray:
        """Writhe of the polygon through the centres of mass; its cost grows with the square of the number of bodies."""
        return self._each(lambda r, _: writhe(self.chain, r), "writhe")

    @cached_property
    def extension(self) -> xarray.DataArray:
        """Distance between the centres of mass of the first and the last body."""
        apart = self._data.position.values[:, -1] - self._data.position.values[:, 0]
        return self._label(np.linalg.norm(apart, axis=1), (), "distance of the ends")

    @property
    def force(self) -> xarray.DataArray:
        """Force of each end and load on its body, in space: those that pull, hold or move it."""
        return self._doing("force", ("source", "xyz"), "force on the body")

    @property
    def torque(self) -> xarray.DataArray:
        """Torque of each end and load on its body, about its centre of mass, in space."""
        return self._doing("torque", ("source", "xyz"), "torque on the body, about its centre of mass")

    @property
    def power(self) -> xarray.DataArray:
        """Power of each end and load: energy given to the chain per time."""
        return self._doing("power", ("source",), "power given to the chain")

    @property
    def work(self) -> xarray.DataArray:
        """Work of each end and load since the start, accumulated by the run step by step, not over samples."""
        return self._doing("work", ("source",), "work done on the chain")

    @cached_property
    def _doings(self) -> list[Doing]:
        return doings(self.chain, self._data, _reactions(self.chain, self._observed))

    def _doing(self, what: str, dims: tuple[str, ...], about: str) -> xarray.DataArray:
        values = np.stack([getattr(doing, what) for doing in self._doings], axis=1)
        return self._label(values, dims, about)

    def dataset(self) -> xarray.Dataset:
        """Lengths, gaps and energies of links, and reactions."""
        import xarray

        links = ["link_length", "link_gap", "link_energy"]
        names = [*links, "reaction_force", "reaction_torque", "extension", "force", "torque", "power", "work"]
        return xarray.Dataset({name: getattr(self, name) for name in names})

    @cached_property
    def _observed(self) -> Array:
        times = self._data.time.values
        blocks = enumerate(self._blocks())
        return np.concatenate(
            [_observe(self.chain, *state, times[SAMPLES * k : SAMPLES * (k + 1)]) for k, state in blocks]
        )

    def _blocks(self) -> Iterator[tuple[Array, Array]]:
        for first in range(0, self._data.sizes["time"], SAMPLES):
            part = self._data.isel(time=slice(first, first + SAMPLES))
            yield part.position.values, part.orientation.values

    def _array(self, function: Callable[[Array, Array], Array], dims: tuple[str, ...], about: str) -> xarray.DataArray:
        return self._label(np.concatenate([function(*state) for state in self._blocks()]), dims, about)

    def _each(self, function: Callable[[Array, Array], float], about: str) -> xarray.DataArray:
        """A number for each sample."""
        return self._array(lambda *states: np.array([function(*one) for one in zip(*states, strict=True)]), (), about)

    def _slice(self, columns: slice, dims: tuple[str, ...], about: str) -> xarray.DataArray:
        return self._label(self._observed[:, columns], dims, about)

    def _reaction(self, which: int, held: NDArray[np.bool_], about: str) -> xarray.DataArray:
        values = _reactions(self.chain, self._observed)[which] * held[:, None]
        return self._label(values, ("end", "xyz"), about)

    def _label(self, values: Array, dims: tuple[str, ...], about: str) -> xarray.DataArray:
        import xarray

        coords = {"time": self._data.time.values} | ({"end": ["left", "right"]} if "end" in dims else {})
        coords |= {"source": sources(self.chain)} if "source" in dims else {}
        return xarray.DataArray(values, coords, ("time", *dims), attrs={"long_name": about})


def link_energies(chain: Chain, state: State) -> Array:
    """Energy of the potential of each link, (links,)."""
    return _of_state(chain, state)[0, : chain.interactions.count]


def reactions(chain: Chain, state: State) -> Reactions:
    """Reactions of the ends in a state."""
    force, torque = _reactions(chain, _of_state(chain, state))
    held = [[not end.moves, not end.turns] for end in (chain.left, chain.right)]
    return Reactions(force[0] * np.array(held)[:, :1], torque[0] * np.array(held)[:, 1:])


def _reactions(chain: Chain, observed: Array) -> tuple[Array, Array]:
    """Minus the forces and torques on the end bodies, (samples, 2, 3) each; without -0."""
    ends = 0.0 - observed[:, chain.interactions.count :].reshape(-1, 2, 2, 3)
    return ends[:, :, 0], ends[:, :, 1]


def _of_state(chain: Chain, state: State) -> Array:
    return _observe(chain, state.position[None], state.orientation[None], np.array([state.time]))


def _observe(chain: Chain, position: Array, orientation: Array, times: Array) -> Array:
    """Result of `observe_chain` for states with a leading axis for samples."""
    states = np.stack([_steps_between(chain, r, q) for r, q in zip(position, orientation, strict=True)])
    if chain.drives:
        clocks = np.repeat(times[:, None], len(chain.drives), axis=1)
        states = np.concatenate([states, clocks, 0.0 * clocks], axis=1)
    par = _par(chain)
    left, right = chain.interactions.sides
    pairs = len(states) * int((par["count"][left] * par["count"][right]).sum())
    out = np.zeros((len(states), chain.interactions.count + 12))
    module = _module(chain, compiled=pairs > WORTH_COMPILING)
    with np.errstate(all="ignore"):
        module.advance(states, module.Parameters(**par), out)
    return out


def _par(chain: Chain) -> dict[str, Numbers]:
    """The `par` of `observe_chain`."""
    drives = chain.drives.scratch() if chain.drives else {}
    pairs = chain.acting.scratch() if chain.acting.pairs is not None else {}
    return chain.parameter_arrays() | chain.interactions.scratch() | pairs | drives


def _steps_between(chain: Chain, position: Array, orientation: Array) -> Array:
    rest = np.zeros((chain.count, 3))
    unit = orientation / np.linalg.norm(orientation, axis=1)[:, None]
    return to_split(
        chain, State({"position": position, "orientation": unit, "momentum": rest, "angular_momentum": rest})
    )


def _module(chain: Chain, *, compiled: bool) -> ModuleType:
    fills: dict[Slot, Filling] = {
        **chain.interactions.fills(),
        chain_forces.body_rotation: chain_forces.rotation_of_quaternion,
    }
    observe: Kernel = observe_chain
    if chain.acting.pairs is not None:
        fills |= distant_fills(chain, fills[chain_forces.add_link_forces])
    if chain.drives:
        fills |= force_fills(chain.drives, fills)
    if chain.drives.moving:
        fills |= moving_fills(chain.drives, fills)
        observe = observe_at_times
    parts = collector.collect(observe, fills)
    par = [(name, array.ndim, array.dtype.name) for name, array in _par(chain).items()]
    title = f"outputs of {chain.title}"
    if not compiled:
        return interpret(headers.module_text(title, parts, par, header=headers.PYTHON, entry="@_fn"))
    entry = headers.cpu_function(
        "types.void", [headers.array_type(2), headers.parameters_type(par), headers.array_type(2)]
    )
    return cache.load(headers.module_text(title, parts, par, header=headers.CPU, entry=entry), title)
