"""A chain of rigid bodies; neighbouring bodies interact, particle by particle or as rigid bodies.

V is evaluated with the normalised rotations, so it is homogeneous of degree 0 in each quaternion and H is defined on all of
R^(14 n). Then |q_j|^2 and q_j.g_j are quadratic first integrals: every symplectic Runge-Kutta method conserves both
exactly, at any order, without multiplier or projection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...geometry import rotations
from ...kernels.declarations import Inertia
from ...kernels.marks import Numbers
from ...kernels.views import View
from ...text.plain import Json
from ..alike import Alike
from ..base import Array, Field, Invariant, Samples, State, System, register
from ..body import Body
from ..many_bodies import MOMENTA_OF_BODIES, GivenBodies, bodies_from, fields_of, pairs_of
from ..numbers import finite_number
from ..particles.acting import ActingParticles, GivenPairs, check_hops
from ..phase_space import PhaseSpace
from ..potentials.link_potentials import Potential
from ..potentials.pairwise import check
from ..sampled import GivenInTime, Sampled, components, depends_on_time
from ..scene import Scene
from ..states import as_state, naming_arguments
from . import checking
from . import laws as chain_laws
from . import ring_start as chain_ring
from . import spectrum as chain_spectrum
from . import start as chain_start
from . import tearing as chain_tearing
from . import views as chain_views
from .arrays import parameter_arrays
from .describing import describe_chain
from .distant import distant_view, near_bodies
from .driven_halves import halves_view
from .driving import Drives, driven_view
from .ends import Clamped, End, Free, GivenLoad, Moved, end_from, loads_from
from .interactions import GivenPotentials, Interactions
from .invariants import invariants_of
from .tiles import view as chain_tiles
from .tiles.driven import driven_tiles

if TYPE_CHECKING:
    from ...analysis.chain_outputs import ChainOutputs, Reactions
    from ...analysis.statics.dispersion import Dispersion
    from ...analysis.statics.equilibrium import Equilibrium
    from ...analysis.statics.equilibrium_path import EquilibriumPath
    from ...analysis.statics.modes import Modes
    from ...analysis.statics.rod import RodLimit
    from ...methods.base import Method
    from ...running.runs import Run
    from ..laws import Law
    from ..paths import Jump
    from .scales import Scales

Form = Literal["quaternion", "rotation", "multiplier"]
CLAMPED, FREE = Clamped(), Free()
DIRECTOR = (0.0, 1.0, 0.0)  # across the links if these lie along the first or the third axis


@register
class Chain(System):
    """A chain of rigid bodies.

    Parameters
    ----------
    bodies : list of two or more bodies; a pair potential acts between bodies that are made of particles
    potential : a pair potential, a `PairTable` by particle types, a link potential, or a sum of these; or a list with one for
        each link. Most parameters may be texts in t, or tables, as in `LennardJones("5*(1 + 0.1*sin(t))", 1.0)`
    left, right : boundary conditions of the first and the last body: `Clamped()`, `Force(force)`,
        `Displaced(position)`, `Free()`, `Moved(position, orientation)`, `Tweezers(k, anchor)`, `Torque(torque)`
    gravity : acceleration in space: three numbers, texts in t, or tables
    form : the equations that are stepped. "quaternion": canonical, preserves all structure, for all methods except
        those that need matrices. "rotation": rotation matrices, for `Rattle` and splittings. "multiplier": quaternions
        with a multiplier and a fourth moment `J0`, for comparison only: off |q| = 1 the system is not Hamiltonian and
        is unstable, so no method conserves |q|^2, q.g, energy or angular momentum better than its order, round-off
        grows exponentially, and nothing is promised
    J0 : fourth moment of the multiplier form; it does not change the exact motion
    closed : True makes a ring of three bodies or more: the last link joins the last body to the first, and there are no
        ends
    pairs : potential, or `PairTable`, between the particles of bodies that are more than `exclude` links apart. With it a chain
        cannot pass through itself. It does not affect links, which have `potential`
    exclude : 1: all bodies that no link joins interact; 2: those at least three links apart; ...
    loads : further loads, as pairs of the number of a body (-1: the last) and a `Force`, `Tweezers` or `Torque`

    Examples
    --------
    >>> import catena as ct
    >>> chain = ct.problems.helix_chain(8)
    >>> run = ct.simulate(chain, dt=0.02, t_end=2.0)
    >>> run.audit()["unit_residual"].worst < 1e-14
    True
    """

    def __init__(
        self,
        bodies: GivenBodies,
        potential: GivenPotentials,
        left: End | str | Mapping[str, object] = CLAMPED,
        right: End | str | Mapping[str, object] = FREE,
        gravity: Sequence[GivenInTime] | Array = (0.0, 0.0, 0.0),
        form: Form = "quaternion",
        J0: float = 1.0,
        *,
        closed: bool = False,
        loads: Sequence[GivenLoad] = (),
        pairs: GivenPairs = None,
        exclude: int = 1,
    ) -> None:
        self.bodies = bodies_from(bodies, least=2, where="Chain.bodies")
        self.closed = checking.check_ring(closed, len(self.bodies), [left is not CLAMPED, right is not FREE])
        if self.closed:
            left = right = FREE
        self.left, self.right = end_from(left, "Chain.left"), end_from(right, "Chain.right")
        self.loads = loads_from(loads, len(self.bodies))
        self._given_gravity = components(gravity, 3, "Chain.gravity")
        in_time = any(map(depends_on_time, self._given_gravity))  # then gravity is one of the drives
        self.gravity = np.zeros(3) if in_time else np.array(self._given_gravity, dtype=float)
        self.interactions = Interactions(self.bodies, potential, closed=self.closed)
        self.exclude = check_hops(exclude, "Chain.exclude")
        near = near_bodies(len(self.bodies), self.exclude, closed=self.closed) if pairs is not None else ()
        self.acting = ActingParticles(self.bodies if pairs is not None else (), pairs, near, "Chain.pairs")
        if form not in get_args(Form):
            raise InputError(f"form = {form!r}", where="Chain.form", do=f"choose one of {', '.join(get_args(Form))}")
        self.form = form
        self.J0 = check(J0, "Chain.J0", above=0.0)
        self.drives = Drives(self, self._given_gravity)
        checking.check_form(self)
        checking.refuse_moving_pairs(self)
        checking.check_points(self)
        checking.check_loads(self)

    @property
    def default_method(self) -> tuple[str, dict[str, Json]]:
        return ("Gauss", {"stages": 4}) if self.form == "multiplier" else ("Splitting", {"order": 4})

    @property
    def in_words(self) -> str:
        return f"{'Ring' if self.closed else 'Chain'} of {self.count} rigid bodies"

    @property
    def title(self) -> str:
        return ("Closed chain" if self.closed else "Chain") + (
            "" if self.form == "quaternion" else f" ({self.form} form)"
        )

    @property
    def potentials(self) -> tuple[Potential, ...]:
        """The potential of each link."""
        return self.interactions.potentials

    @property
    def alike(self) -> Alike[Body]:
        """Which bodies are equal."""
        return self.interactions.alike

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.bodies)

    @cached_property
    def held(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each body may move, and whether it may turn."""
        moves, turns = np.ones(self.count, dtype=bool), self.alike.each(lambda body: body.kind != "point", np.bool_)
        for j, end in ((0, self.left), (-1, self.right)):
            moves[j] = end.moves
            turns[j] &= end.turns
        return moves, turns

    @property
    def is_isolated(self) -> bool:
        """Whether momentum and angular momentum are conserved: nothing external acts on the chain."""
        ends = isinstance(self.left, Free) and isinstance(self.right, Free)
        return ends and not self.loads and not self.drives.pulls and not self.gravity.any()

    @property
    def smoothness(self) -> float:
        return min(self.interactions.smoothness, super().smoothness)

    @property
    def time_tables(self) -> tuple[Sampled, ...]:
        return self.drives.tables

    @property
    def is_prescribed(self) -> bool:
        return any(isinstance(end, Moved) for end in (self.left, self.right))

    def first_jump(self, times: Array, dt: float, start: State) -> Jump | None:
        return self.drives.first_jump(times, dt, start)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return fields_of(self.count)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        return invariants_of(self)

    @naming_arguments
    def start(
        self,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        *,
        velocity: ArrayLike | None = None,
        momentum: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        angular_momentum: ArrayLike | None = None,
        time: float = 0.0,
        check: bool = True,
    ) -> State:
        """A state of all bodies; velocities that are not given are zero.

        Particles closer than half the resting distance of their potential are refused. A warning, once for each chain,
        reports forces larger than those that hold two particles together.

        Parameters
        ----------
        position : (n, 3) centres of mass
        orientation : body to space: (n, 4) unit quaternions, scalar first; (n, 3, 3) matrices; or scipy's Rotation.
            None: all identity
        velocity or momentum : (n, 3) in space
        angular_velocity or angular_momentum : (n, 3) in the axes of the bodies
        check : False accepts particles at any distance, without warnings, for potentials that allow it
        """
        return chain_start.make_start(
            self, position, orientation, velocity=velocity, momentum=momentum, angular_velocity=angular_velocity,
            angular_momentum=angular_momentum, time=time, check=check,
        )  # fmt: skip

    def straight(self, spacing: float, *, check: bool = True) -> State:
        """All bodies in a row along x, unrotated, at rest, the first at the origin. `check` as for `start`."""
        position = np.zeros((self.count, 3))
        position[:, 0] = finite_number(spacing, "straight.spacing") * np.arange(self.count)
        return self.start(position, check=check)

    def ring(
        self, spacing: float, linking_number: int = 0, *, axis: ArrayLike = (1.0, 0.0, 0.0), check: bool = True
    ) -> State:
        """All bodies of a closed chain on a circle about the origin in the xy plane, at rest, twisted evenly.

        Parameters
        ----------
        spacing : distance between neighbours
        linking_number : number of turns of the bodies about the circle along the way round: the linking number of the
            start
        axis : direction in the bodies that is tangential to the circle
        check : as for `start`

        Examples
        --------
        >>> import catena as ct
        >>> ring = ct.Chain([ct.Body.box((1, 1, 1), 1.0)] * 24, ct.BendTwist(10.0, 2.0, 3.0, (0, 0, 1)), closed=True)
        >>> start = ring.ring(1.0, linking_number=3, axis=(0, 0, 1))
        >>> ring.linking_number(start), round(ring.twist(start), 12), round(abs(ring.writhe(start)), 12)
        (3, 3.0, 0.0)
        """
        return chain_ring.ring_start(self, spacing, linking_number, axis, check=check)

    def linking_number(self, state: State, director: ArrayLike = DIRECTOR) -> int:
        """Linking number of the two edges of a closed ribbon: the polygon of the centres of mass, and the same shifted along a director.

        It is the sum of `twist` and `writhe`, and an integer [calugareanu1959, white1969]. The motion conserves it
        until two links pass through each other (a change of 2) or a director passes through the direction of a link (a
        change of 1).

        Parameters
        ----------
        state : state of a closed chain
        director : direction in the axes of the bodies, across the links; by default the second axis
        """
        from ...analysis.linking import director_from, linking_number

        state = as_state(self, state, "linking_number.state")
        return linking_number(self, state.position, state.orientation, director_from(director))

    def twist(self, state: State, director: ArrayLike = DIRECTOR) -> float:
        """Turns of a director about the polygon of the centres of mass; positive if right-handed. Also for open chains."""
        from ...analysis.linking import director_from, twist

        state = as_state(self, state, "twist.state")
        return twist(self, state.position, state.orientation, director_from(director))

    def writhe(self, state: State) -> float:
        """How much the polygon of the centres of mass coils: its signed crossings, averaged over all directions of view.

        Exact, from the solid angles of all pairs of links [klenin2000]. Time grows with the square of the number of bodies. Also
        for open chains.
        """
        from ...analysis.linking import writhe

        return writhe(self, as_state(self, state, "writhe.state").position)

    def resting_state(self) -> State | None:
        """The state in which the chain is known to rest without load; None: it must be searched for."""
        return None

    def phase_space(self, start: State) -> PhaseSpace:
        return PhaseSpace(pairs_of(self.bodies, *self.held))

    def check_start(self, state: State) -> None:
        chain_start.check_held(self, state)

    def undefined_at(self, state: State) -> str:
        """The first link whose energy is undefined."""
        return chain_start.find_undefined_link(self, state)

    def angular_speed(self, state: State) -> float:
        """|omega| of the fastest body."""
        return float(self._speeds(state).max())

    def fastest_body(self, state: State) -> int:
        """Index of the body that turns fastest."""
        return int(self._speeds(state).argmax())

    def _speeds(self, state: State) -> Array:
        y = rotations.apply(self.alike.each(lambda body: body.frame_matrix.T), state.angular_momentum)
        return np.linalg.norm(self.alike.each(lambda body: body.inverse_moments) * y, axis=1)

    def particles(self, state: State) -> list[Array]:
        """Positions in space of the particles of each body."""
        return chain_start.place_particles(self, as_state(self, state, "particles.state"))

    def link_lengths(self, state: State) -> Array:
        """Distances between neighbouring centres of mass, (links,): n - 1 for an open chain, n for a ring."""
        return chain_tearing.link_lengths(self, as_state(self, state, "link_lengths.state").position)

    def link_gaps(self, state: State) -> Array:
        """Shortest distance between particles of neighbouring bodies, (links,); inf if a body has none."""
        state = as_state(self, state, "link_gaps.state")
        return chain_tearing.link_gaps(self, state.position, state.orientation)

    def link_energies(self, state: State) -> Array:
        """Energy of the potential of each link, (links,)."""
        from ...analysis.chain_outputs import link_energies

        return link_energies(self, as_state(self, state, "link_energies.state"))

    def reactions(self, state: State) -> Reactions:
        """Force and torque on held ends: `.force` and `.torque`, (2, 3) for left and right, in space; 0 for free
        ends."""
        from ...analysis.chain_outputs import reactions

        return reactions(self, as_state(self, state, "reactions.state"))

    def outputs(self, run: Run) -> ChainOutputs:
        """Further quantities of a run along time, each computed on access: `link_length`, `link_gap`, `link_energy`,
        `reaction_force`, `reaction_torque`, `extension`; `force`, `torque`, `power` and `work` of ends and loads;
        `twist()`, `writhe()` and `linking_number()`. `dataset()` returns all of them.
        """
        from ...analysis.chain_outputs import ChainOutputs

        return ChainOutputs(run)

    def happenings(self, samples: Samples) -> Iterator[tuple[str, float, int, dict[str, Numbers]]]:
        """Torn links, as events "torn": the number of the link, and a time interpolated between two samples."""
        for tear in chain_tearing.tears(self, samples):
            yield "torn", tear.time, tear.sample, {"link": np.array(tear.link)}

    def damaged(self, states: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Which of many states have a torn link."""
        torn = chain_tearing.find_torn_links(self, states["position"], states["orientation"])
        return np.asarray(torn.any(axis=-1))

    def laws(self, temperature: float) -> tuple[Law, ...]:
        """`stretch` and `bending` of independent `BendTwist` links; `extension` of loose links under a force."""
        return chain_laws.laws_of(self, temperature)

    @property
    def restless(self) -> str:
        return chain_laws.why_restless(self)

    def scales(self, length: float | None = None, *, mass: float | None = None, time: float | None = None) -> Scales:
        """Units of length, mass and time, and the dimensionless chain in these units.

        Parameters
        ----------
        length, mass, time : units; by default those of the first potential (for Lennard-Jones sigma and sigma
            sqrt(m/epsilon)) and the mass of the first body
        """
        from .scales import scales_of

        return scales_of(self, length, mass, time)

    def suggest_dt(
        self, method: Method | None = None, start: State | None = None, *, safety: float = chain_spectrum.SAFETY
    ) -> float:
        """A step size for accurate motion: a fifth of the stability limit of the method for the fastest mode at this
        start.

        With omega the highest frequency of small motions about the start (or the spin of a body, if that is faster), the limit
        is `method.traits.stability` / omega; methods without a limit get 1 / omega. Frequencies are those of the start: a chain
        that starts far from equilibrium may stiffen later. A start is required, because a chain has many equilibria.

        Parameters
        ----------
        method : the default of the chain if None
        start : a state of the chain
        safety : fraction of the limit; with 0.2 a method of order 2 has an error of 0.7 per cent in the period of the
            fastest mode

        Examples
        --------
        >>> import catena as ct
        >>> helix = ct.problems.helix_chain(8)
        >>> round(helix.system.suggest_dt(ct.Splitting(2), helix.start), 6)  # 0.2 * 2 / 31.4328
        0.012726
        """
        if method is None:
            from ...methods.base import method_from

            kind, arguments = self.default_method
            method = method_from({"kind": kind, **arguments})
        return chain_spectrum.suggest_step(self, method, start, check(safety, "suggest_dt.safety", above=0.0))

    def equilibrium(
        self, start: State | None = None, load: ArrayLike | None = None, tol: float | None = None
    ) -> Equilibrium:
        """A stable equilibrium under gravity, forces on the ends, tweezers at rest, and a load, by Newton's method,
        then verified.

        Parameters
        ----------
        start : where the search begins; None: every link in the deepest known minimum of its own energy. A chain has
            many equilibria, and the start determines which one is found
        load : further constant forces: (n, 3) on the centres of mass, or (3,) on that of the last body; in space
        tol : largest residual component of force, and of torque divided by about the length of a link; None: round-off
            level

        Returns
        -------
        Equilibrium, with `state` and `status`: "converged" (balanced and stable), "saddle", "torn" or "not_converged"

        Examples
        --------
        >>> import catena as ct
        >>> pulled = ct.problems.helix_chain(8, right="force", F=(3, 0, 0))
        >>> found = pulled.system.equilibrium(pulled.start)
        >>> found.status, round(found.energy, 9)
        ('converged', -269.094445274)
        """
        checking.refuse_distant(self, "equilibrium")
        from ...analysis.statics.equilibrium import find_equilibrium

        return find_equilibrium(self, start, load, tol)

    def equilibrium_path(
        self, load_direction: ArrayLike, to: float | None = None, *, start: State | Equilibrium | None = None
    ) -> EquilibriumPath:
        """Equilibria under a growing load, or as a held end is moved, up to the end of stability.

        The path is parametrised by the displacement along which the load does work, so the maximum of the load is found
        and passed. `path.limit` says whether it is a limit (no equilibrium beyond that load) or a bifurcation.

        Parameters
        ----------
        load_direction : forces that grow: (n, 3) on all bodies, or (3,) on the last one, in space. If the last body is held: the
            direction in which it is moved (3,), or rotation and direction together (6,), rotation first, both in space
        to : the largest multiple of the load, or how far the end is moved; None: until stability ends
        start : where the search for the equilibrium without load begins; see `equilibrium`

        Examples
        --------
        >>> import catena as ct
        >>> helix = ct.problems.helix_chain(2)
        >>> helix.system.equilibrium_path((1, 0, 0), start=helix.start).limit
        limit at load 19.4154581594, extension 0.121153575563, slope 0
        """
        checking.refuse_distant(self, "equilibrium_path")
        from ...analysis.statics.equilibrium_path import find_path

        return find_path(self, load_direction, to, start)

    def normal_modes(self, at: State | Equilibrium | None = None, count: int | Literal["all"] | None = None) -> Modes:
        """Natural frequencies and modes of small motions about an equilibrium.

        Parameters
        ----------
        at : the equilibrium, or a state at rest; None: `equilibrium()`
        count : number of the lowest modes; "all"; None: all for a chain of up to 250 bodies, 20 for a longer one

        Returns
        -------
        Modes, with `omega` in radians per time and `displacement(i)`; `zero` counts rigid motions that need no energy

        Examples
        --------
        >>> import catena as ct
        >>> helix = ct.problems.helix_chain(8)
        >>> helix.system.normal_modes(helix.start).omega[:2].round(12).tolist()
        [0.533915857901, 0.539398304101]
        """
        checking.refuse_distant(self, "normal_modes")
        from ...analysis.statics.modes import find_modes

        return find_modes(self, at, count)

    def dispersion(self, k: ArrayLike, cell: int = 1, *, at: State | Equilibrium | None = None) -> Dispersion:
        """Frequencies of waves along the infinite chain that repeats the middle of this one by screw motions, or around
        a uniform ring.

        Parameters
        ----------
        k : phases from cell to cell, in radians, in the axes of the bodies: stretch and twist begin at 0, bending at the screw angle
        cell : number of bodies in a cell
        at : the state of the chain whose middle is repeated, including the pull of an end; None: links at rest. A state of a ring
            is used as it is, with its stress: its normal modes are the waves with k = 2 pi m/n, m = 0 .. n - 1

        Examples
        --------
        >>> import catena as ct
        >>> helix = ct.problems.helix_chain(8)
        >>> helix.system.dispersion(0.1, at=helix.start).omega[0, :2].round(12).tolist()
        [0.768991430782, 0.898090655392]
        """
        checking.refuse_distant(self, "dispersion")
        from ...analysis.statics.dispersion import find_dispersion

        return find_dispersion(self, k, cell, at)

    def rod_limit(self, cell: int = 1, *, at: State | Equilibrium | None = None) -> RodLimit:
        """The Cosserat rod equivalent to a long uniform chain: its stiffness, inertia, wave speeds and frequencies.

        Parameters
        ----------
        cell, at : as for `dispersion`

        Examples
        --------
        >>> import catena as ct
        >>> helix = ct.problems.helix_chain(8)
        >>> round(helix.system.rod_limit(at=helix.start).bending_stiffness, 9)
        180.118653714
        """
        checking.refuse_distant(self, "rod_limit")
        from ...analysis.statics.rod import find_rod

        return find_rod(self, cell, at)

    def frequency_above(self, threshold: float, state: State) -> float | None:
        return chain_spectrum.frequency_above(self, threshold, state)

    def view(self, name: str) -> View | None:
        if not self.drives:
            return self._own_view(name)
        if name == "tiles":
            # kernels on lanes have the constants of the potentials in registers
            return None if self.drives.moving else driven_tiles(self, self._own_view(name))
        if name == "halves":
            return halves_view(self, driven_view(self, self._own_view("field")))
        return driven_view(self, self._own_view(name))

    def _own_view(self, name: str) -> View | None:
        """The view of the chain without its drives."""
        if name == "tiles":
            if self.acting.pairs is not None:
                return None
            return chain_tiles.tiles_view(self) if self.form == "quaternion" else None
        offered = {
            "quaternion": chain_views.quaternion_view,
            "rotation": chain_views.rotation_view,
            "multiplier": chain_views.multiplier_view,
        }
        return distant_view(self, offered[self.form](self, name))

    def inertia(self) -> Inertia:
        moves, turns = self.held
        masses, moments = self.alike.each(lambda body: body.mass), self.alike.each(lambda body: body.moments)
        variances = np.hstack([np.repeat((masses * moves)[:, None], 3, axis=1), moments * turns[:, None]])
        return Inertia(variances, MOMENTA_OF_BODIES, "body", frames=self.alike.each(lambda body: body.frame))

    def parameter_arrays(self) -> dict[str, Numbers]:
        return parameter_arrays(self)

    def scene(self) -> Scene:
        return Scene(self.bodies, links=self.interactions, gravity=self.gravity)

    def describe(self) -> dict[str, Json]:
        return describe_chain(self, self._given_gravity)

    def __repr__(self) -> str:
        return f"{self.title} of {self.count} bodies" + (
            "" if self.closed else f", left {self.left}, right {self.right}"
        )
