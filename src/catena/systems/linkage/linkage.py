"""Rigid bodies linked by joints: open trees and closed loops, in director form or in joint form.

In director form every body has its own position and orientation, and the joints are rows Phi(q) = 0 held by multipliers
[nielsen2013]. In joint form the coordinates are those of the joints, and the rows hold by themselves [kneller1994].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...geometry import rotations
from ...kernels.declarations import Inertia
from ...kernels.marks import Numbers, Parameters
from ...kernels.views import View
from ...text.plain import Json
from ..alike import Alike
from ..base import Array, Field, Invariant, State, System, register
from ..body import Particles
from ..many_bodies import MOMENTA_OF_BODIES, GivenBodies, bodies_from, describe_bodies, fields_of, pairs_of
from ..particles.acting import ActingParticles, GivenPairs, check_hops, within_hops
from ..particles.acting_terms import Terms
from ..phase_space import PhaseSpace
from ..sampled import GivenInTime, Sampled, components, describe_in_time
from ..scene import Scene
from ..states import as_start, as_state, naming_arguments
from . import constraints, fit
from . import start as starts
from .checking import blame, check_forces, check_names, find_passed_stop, find_undefined_force
from .declared import check_list
from .joint_coordinates import GivenCoordinates, joint_angles, read_controlled_joints, start_from_joints
from .joint_forces import JointForce, OnAngle, OnBodies, force_from
from .joints import GROUND, Joint, joint_from
from .layout import Signal
from .signals import Signals
from .thin import align, is_thin, require_resisted
from .tree import Tree, tree_of

if TYPE_CHECKING:
    from ...analysis.linkage_outputs import LinkageOutputs
    from ...analysis.linkage_reactions import JointReactions
    from ...analysis.statics.linearised import Linearised
    from ...analysis.statics.linkage_equilibrium import LinkageEquilibrium
    from ...analysis.statics.linkage_modes import LinkageModes
    from ...running.runs import Run
    from ..paths import Jump

Form = Literal["director", "joint"]
ENERGY_MOMENTUM = ("energy_momentum", "energy_momentum_position", "energy_momentum_directors", "constrained")


@register
class Linkage(System):
    """Rigid bodies linked by joints.

    Parameters
    ----------
    bodies : the bodies, numbered from 0
    joints : Spherical, Revolute, Prismatic, Cylindrical, Universal, Planar, Screw, Rigid or Distance. The first joint whose child is a
        body carries that body; further ones close loops
    forces : Spring, Damper, Torsion, SitePair, Load, Motor, Limit and Driven; External, Angle and Dihedral act on particles
    gravity : acceleration in space: three numbers, texts in t, or tables `Sampled(times, values)`
    form : "director" (for EnergyMomentum and Rattle), "joint" (for Gauss and all others), or None: whichever the method needs
    pairs : potential between the particles of all bodies, or a `PairTable` of potentials by their types. Particles of one body do
        not interact, and those of type "none" interact with no others
    exclude : particles of bodies that are connected by this number of joints, or fewer, do not interact; 0: those of all bodies do

    Examples
    --------
    >>> import catena as ct
    >>> rod = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
    >>> hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    >>> pendulum = ct.Linkage([rod], [hinge])
    >>> start = pendulum.start(orientation=[(0.8, 0.6, 0, 0)])
    >>> run = ct.simulate(pendulum, start, dt=0.01, steps=10_000)
    >>> run.audit()["energy"].verdict
    'exact'
    """

    with_ground = frozenset({"node", "sweep", "push", "tree_home"})

    def __init__(
        self,
        bodies: GivenBodies,
        joints: Sequence[Joint | Mapping[str, object]] = (),
        forces: Sequence[OnBodies | Mapping[str, object]] = (),
        gravity: Sequence[GivenInTime] | Array = (0.0, 0.0, -9.81),
        form: Form | None = None,
        *,
        pairs: GivenPairs = None,
        exclude: int = 1,
    ) -> None:
        if form not in (None, "director", "joint"):
            raise InputError(f"form = {form!r}", where="Linkage.form", do='choose "director" or "joint", or neither')
        self.form = form
        self.bodies = bodies_from(bodies, least=1, where="Linkage.bodies")
        self.joints: tuple[Joint, ...] = tuple(map(joint_from, check_list(joints, "Linkage.joints")))
        self.bodies = align(self.bodies, self.joints)
        self.forces: tuple[JointForce, ...] = tuple(map(force_from, check_list(forces, "Linkage.forces")))
        self.given_gravity = components(gravity, 3, "Linkage.gravity")
        self.signals = Signals(self.given_gravity, self.forces)
        moves = self.signals.gravity_moves
        self.gravity = np.zeros(3) if moves else np.array(self.given_gravity, dtype=float)
        self.tree: Tree = tree_of(len(self.bodies), self.joints)
        self.exclude = check_hops(exclude, "Linkage.exclude")
        terms = Terms(self.forces)
        self.acting = ActingParticles(self.bodies, pairs, self._near_bodies(), "Linkage.pairs", terms)
        check_names(self)
        check_forces(self)

    @classmethod
    def from_molecule(
        cls,
        path: str,
        rotatable: Iterable[tuple[int, int]],
        forces: Sequence[OnBodies] = (),
        *,
        pairs: GivenPairs = None,
        exclude: int = 1,
        gravity: Sequence[GivenInTime] | Array = (0.0, 0.0, 0.0),
    ) -> tuple[Linkage, State]:
        """A molecule as rigid groups that turn about some of its bonds, and its start at rest, as in the file.

        The angle of each hinge, for `Torsion` and `angles`, is the dihedral angle of its atoms. Types of particles are the symbols of
        the elements. `catena.systems.linkage.molecule.read_molecule` says which atoms form which group. `particles`, `dihedrals` and
        exports number the atoms group after group: atom k of the file is particle `read_molecule(path, rotatable).numbers[k]` there.

        Parameters
        ----------
        path : XYZ or PDB file, read by ASE; lengths in angstrom, masses in atomic mass units
        rotatable : bonds that turn, as pairs of numbers of atoms in the file, from 0 on; all others stay fixed
        forces : as for `Linkage`; `Angle` and `Dihedral` with the numbers of atoms in the file
        pairs, exclude, gravity : as for `Linkage`
        """
        from .molecule import read_molecule

        molecule = read_molecule(path, rotatable)
        renumbered = [molecule.renumbered(force) for force in forces]
        linkage = cls(molecule.bodies, molecule.joints, renumbered, gravity, pairs=pairs, exclude=exclude)
        return linkage, linkage.start([body.center for body in molecule.bodies])

    def dihedrals(self, state: State, atoms: ArrayLike) -> Array:
        """Dihedral angles in (-pi, pi] of particles, numbered as in `particles`: (4,) for one, (m, 4) for several; IUPAC signs.

        Examples
        --------
        >>> import catena as ct
        >>> chain = ct.Body.from_particles([[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 1]])
        >>> linkage = ct.Linkage([chain])
        >>> linkage.dihedrals(linkage.start(), [0, 1, 2, 3]).round(6).tolist()
        1.570796
        """
        return self.acting.dihedrals(as_state(self, state, "dihedrals.state"), atoms)

    def with_parts(self, joints: Sequence[Joint] | None = None, forces: Sequence[OnBodies] | None = None) -> Linkage:
        """The same linkage with other joints or forces."""
        return type(self)(
            self.bodies, self.joints if joints is None else joints, self.forces if forces is None else forces,
            self.given_gravity, self.form, pairs=self.acting.pairs, exclude=self.exclude,
        )  # fmt: skip

    def _near_bodies(self) -> list[set[int]]:
        """For each body those behind it that up to `exclude` joints connect to it; the ground connects nothing."""
        joined: list[set[int]] = [set() for _ in self.bodies]
        for joint in self.joints:
            if joint.parent != GROUND:
                joined[joint.parent].add(joint.child)
                joined[joint.child].add(joint.parent)
        return [{j for j in within_hops(i, joined, self.exclude) if j > i} for i in range(len(self.bodies))]

    @property
    def particle_forces(self) -> bool:
        """Whether anything acts on particles."""
        return self.acting.pairs is not None or bool(self.acting.terms)

    @classmethod
    def from_urdf(
        cls,
        path: str,
        *,
        gravity: Sequence[GivenInTime] | Array = (0.0, 0.0, -9.81),
        angles: Mapping[str, float] | None = None,
        motors: Mapping[str, Mapping[str, object]] | None = None,
        driven: Mapping[str, GivenInTime] | None = None,
        limits: tuple[float, float] | None = None,
    ) -> tuple[Linkage, State]:
        """The tree of a robot description (URDF) and its start at rest; `catena.systems.linkage.urdf.read_urdf` also returns the names.

        Parameters
        ----------
        path : the file; nothing else is read
        gravity : acceleration, as for `Linkage`
        angles : where joints start, by name; zero if not given
        motors : arguments of `Motor` by joint names: {"shoulder": {"target": "sin(t)", "kp": 50.0, "kd": 2.0}}. The efforts of the
            file bound them
        driven : joints whose motion is prescribed (`Driven`), by name: text in t, or `Sampled(times, values)`.
            `outputs(run).motor_torque` is the torque that this needs
        limits : stiffness and damping of stops (`Limit`) where the file has limits. None: no stops, and a warning says so. The warning
            names everything in the file that is not used, such as dry friction
        """
        from .urdf import read_urdf
        from .urdf.driving import drives_of

        robot = read_urdf(path, angles=angles)
        linkage = cls(robot.bodies, robot.joints, drives_of(robot, motors or {}, driven or {}, limits), gravity)
        return linkage, linkage.start(robot.position, robot.orientation, project=bool(driven))

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.bodies)

    @property
    def default_method(self) -> tuple[str, dict[str, Json]]:
        return ("Gauss", {"stages": 3}) if self._only_in_joints else ("EnergyMomentum", {})

    @property
    def _only_in_joints(self) -> str:
        """What the director form does not know."""
        pushed = [f.joint for f in self.forces if isinstance(f, OnAngle) and not self.joints[f.joint].has_angle]
        return f"joint {pushed[0]} slides, and something acts along it" if pushed else ""

    def gravity_at(self, time: float) -> Array:
        """The acceleration of what falls, at a time."""
        return self.signals.at(time)[:3, Signal.VALUE] if self.signals.gravity_moves else self.gravity

    @property
    def time_tables(self) -> tuple[Sampled, ...]:
        return self.signals.tables

    @property
    def in_words(self) -> str:
        return f"{self.count} linked rigid bodies" if self.count > 1 else "Rigid body on joints"

    @property
    def title(self) -> str:
        return "Linkage with loops" if self.tree.loops else "Linkage"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return fields_of(self.count)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        from .measures import invariants_of

        return invariants_of(self)

    @naming_arguments
    def start(
        self,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        *,
        velocity: ArrayLike | None = None,
        momentum: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        angular_momentum: ArrayLike | None = None,
        angles: GivenCoordinates | None = None,
        rates: GivenCoordinates | None = None,
        time: float = 0.0,
        project: bool = False,
        check: bool = True,
    ) -> State:
        """A state that fits the joints; velocities that are not given are zero.

        Parameters
        ----------
        angles, rates : coordinates of the joints and their rates: a number for each in their order, or by name (or number). Angles for
            hinges, displacements for sliders, sequences of both for joints with more freedoms. Joints that are not named rest at 0,
            that is, where `image` has them, or without an image where `orientation` has them. The arguments below then concern only
            bodies that no joint carries, and those on ball joints
        position : (n, 3) centres of mass; if left out, the points of every carrying joint coincide
        orientation : body to space: (n, 4) unit quaternions, scalar first; (n, 3, 3) matrices; or scipy's Rotation. None: not turned
        velocity or momentum : (n, 3) in space; if left out, those points stay together
        angular_velocity or angular_momentum : (n, 3) in the axes of the bodies
        project : use the nearest state that fits the joints, and report its distance, instead of refusing a state that does not fit
        check : refuse particles that are closer than half their distance at rest; False accepts them
        """
        by_joints = angles is not None or rates is not None
        moving = velocity, angular_velocity, momentum, angular_momentum
        given = starts.Given(position, orientation, *moving, time=time, project=project)
        state = start_from_joints(self, angles, rates, given) if by_joints else starts.make_start(self, given)
        if self.signals.driven:
            from .joint_form.form import follow_drives, pack_state

            follow = project or (position is None and orientation is None and not by_joints)
            state = follow_drives(self, state) if follow else state
            pack_state(self, state)  # which refuses joints that are not where they are told to be
        if check:
            self.acting.check_distances(state)
            self.acting.terms.check_angles(self.acting.at(state).positions)
        return state

    def check_start(self, state: State) -> None:
        fit.Fit(self, state).require(state)
        if self.forces and any(map(is_thin, self.bodies)):
            from ...analysis.linkage_reactions import applied_forces

            motion = constraints.velocities(self, state)
            require_resisted(self, state, applied_forces(self, state, motion, self.angles(state)))

    # what systems are asked, answered by the modules of this folder
    begun = starts.count_from_start
    undefined_at = find_undefined_force
    motor_places = read_controlled_joints
    blamed = blame
    passed_stop = find_passed_stop

    def phase_space(self, start: State) -> PhaseSpace:
        shifts = constraints.shifts_of(self, start.position, start.orientation)
        everything = [True] * self.count
        return PhaseSpace(
            pairs_of(self.bodies, everything, everything),
            partial(fit.project, self, shifts=shifts) if self.joints else None,
        )

    @property
    def restless(self) -> str:
        if any("work" in invariant.tags for invariant in self.invariants):
            return "dampers or loads do work on it"
        held = any(joint.parent == GROUND for joint in self.joints)
        return "gravity moves it, and nothing holds it" if self.gravity.any() and not held else ""

    def inertia(self) -> Inertia:
        from .traits import joint_freedoms

        variances = np.array([[*[body.mass] * 3, *body.moments] for body in self.bodies])
        frames, freedoms = np.array([body.frame for body in self.bodies]), joint_freedoms(self)
        looped = bool(self.tree.loops)
        return Inertia(variances, MOMENTA_OF_BODIES, "body", frames=frames, freedoms=freedoms, looped=looped)

    def maxwell(self, state: State, temperature: float, *, seed: int = 0, member: int = 0) -> State:
        from ...analysis.linkage_reactions import drive_rows

        drawn = super().maxwell(state, temperature, seed=seed, member=member)
        rates = self.signals.at(drawn.time)[list(self.signals.driven.values()), Signal.SLOPE]
        # noise of the masses becomes noise of the joints
        return fit.Fit(self, drawn).moving(drawn, drive_rows(self, drawn), rates)

    maxwell.__doc__ = System.maxwell.__doc__

    @property
    def controls(self) -> tuple[int, ...]:
        return tuple(self.signals.held.values())

    def hold(self, par: Parameters, torques: Array) -> None:
        par.signal[list(self.signals.held), Signal.VALUE] = torques

    @property
    def moved_joints(self) -> list[int]:
        """Joints with a motor, or with a motion that is prescribed."""
        motors = {f.joint for f in self.forces if isinstance(f, OnAngle) and "motor_torque" in f.quantities}
        return sorted(motors | set(self.signals.driven))

    def angles(self, state: State, start: State | None = None) -> Array:
        """(joints,): the angle about the axis of each joint that has one, in (-pi, pi], and the displacement of sliders; nan for the others.

        Parameters
        ----------
        start : start of the motion, from which the angles of joints without `image` count. None: this state, so that they are 0
        """
        state = as_state(self, state, "angles.state")
        return joint_angles(self._count_from(start, "angles.start"), state)

    def particles(self, state: State) -> Particles:
        """Positions in space, masses and types of the particles of all bodies, numbered consecutively, without those of type "none".

        Examples
        --------
        >>> import catena as ct
        >>> water = ct.Body.from_particles([[0, 0, 0], [1, 0, 0], [0, 1, 0]], masses=[16, 1, 1], types=["O", "H", "H"])
        >>> pair = ct.Linkage([water, water], gravity=(0, 0, 0))
        >>> pair.particles(pair.start([[0, 0, 0], [3, 0, 0]])).positions[3].round(6).tolist()
        [2.944444, -0.055556, 0.0]
        """
        return self.acting.whole(as_state(self, state, "particles.state"))

    def reactions(self, state: State, start: State | None = None) -> JointReactions:
        """Forces and torques of the joints on their children: `.force`, and `.torque` about the child's point, (joints, 3), in space.

        They are the multipliers of the equations of motion at this state, whatever the method; multipliers of single steps
        would alternate. Where loops make rows redundant the split between them is not determined by mechanics, and the
        smallest is given, torques over the longest arm. `outputs` has them along a run.

        Parameters
        ----------
        start : start of the motion, if the state is a later one and joints have no `image`: torsions and the second axis of a
            universal joint count from there. Angles are taken in (-pi, pi]
        """
        from ...analysis.linkage_reactions import reactions

        return reactions(self._count_from(start, "reactions.start"), as_start(self, state, "reactions.state"))

    def _count_from(self, start: State | None, where: str) -> Linkage:
        """The linkage with angles that count from a state; None: from where they are."""
        return self if start is None else starts.count_from_start(self, as_state(self, start, where))

    def motor_torques(self, state: State, start: State | None = None) -> Array:
        """(joints,): torques of motors, and of drives of prescribed joints, about the axis of each joint (for a slider: forces along it).

        Parameters
        ----------
        start : as for `reactions`
        """
        from ...analysis.linkage_reactions import motor_torques

        counted = self._count_from(start, "motor_torques.start")
        return motor_torques(counted, as_start(self, state, "motor_torques.state"))

    def outputs(self, run: Run, every: int = 1) -> LinkageOutputs:
        """Angles, speeds and reactions of the joints along a run, at every k-th sample, each computed when it is asked for."""
        from ...analysis.linkage_outputs import LinkageOutputs

        return LinkageOutputs(run, every)

    def equilibrium(
        self, start: State | None = None, load: ArrayLike | None = None, tol: float | None = None
    ) -> LinkageEquilibrium:
        """A stable equilibrium under gravity, the forces, and a load, found by Newton's method in the joint coordinates and verified.

        Dampers do nothing at rest. Loads must be constant, and torques must have a potential, as on bodies that turn about one
        direction only. Loops stay closed.

        Parameters
        ----------
        start : where to begin; its velocities are ignored. None: no body is turned. Torsions of joints without `image` count from there
        load : forces (n, 3) on the centres of mass, or (3,) on the last body, in addition to those of the linkage
        tol : largest residual torque on a joint coordinate (for a shift: force times the size of the linkage); None: what rounding leaves

        Examples
        --------
        >>> import catena as ct
        >>> chain = ct.problems.hanging_chain("revolute", n=3)
        >>> found = chain.system.equilibrium(chain.start)
        >>> found.status, found.state.position[-1].round(9).tolist()
        ('converged', [0.0, 0.0, -7.5])
        """
        from ...analysis.statics.linkage_equilibrium import find_linkage_equilibrium

        return find_linkage_equilibrium(self, start, load, tol)

    def normal_modes(self, at: State | LinkageEquilibrium | None = None, count: int | None = None) -> LinkageModes:
        """Natural frequencies and modes of small motions about an equilibrium.

        Dampers do not enter the frequencies; `modes.damping` has their effect, and `linearise` the exact decay.

        Parameters
        ----------
        at : the equilibrium, or a state at rest; None: `equilibrium()`
        count : number of the lowest modes; None: all

        Examples
        --------
        >>> import catena as ct
        >>> masses = [ct.Body.from_particles([[0, 0, 0]])] * 2
        >>> joints = [ct.Spherical(j - 1, j, at=((0, 0, 0), (0, 0, 1))) for j in range(2)]
        >>> double = ct.Linkage(masses, joints, gravity=(0, 0, -1))
        >>> (double.normal_modes().omega ** 2).round(12).tolist()  # 2 - sqrt(2) and 2 + sqrt(2), twice each
        [0.585786437627, 0.585786437627, 3.414213562373, 3.414213562373]
        """
        from ...analysis.statics.linkage_modes import find_linkage_modes

        return find_linkage_modes(self, at, count)

    def linearise(self, state: State) -> Linearised:
        """Matrices M, C, G and K of the linearised equations of motion in joint coordinates, with the names of the coordinates.

        Parameters
        ----------
        state : an equilibrium, or any state of a tree; a linkage with loops must be at rest in equilibrium

        Examples
        --------
        >>> import catena as ct
        >>> rod = ct.Body.box((0.1, 0.1, 1.0), mass=2.0)
        >>> hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
        >>> pendulum = ct.Linkage([rod], [hinge], gravity=(0, 0, -10))
        >>> matrices = pendulum.linearise(pendulum.start())
        >>> matrices.coordinates, matrices.stiffness.round(12).tolist()
        (('joint 0 angle',), [[10.0]])
        """
        from ...analysis.statics.linearised import linearise

        return linearise(self, as_start(self, state, "linearise.state"))

    @property
    def is_prescribed(self) -> bool:
        return bool(self.signals.driven)

    def first_jump(self, times: Array, dt: float, start: State) -> Jump | None:
        return self.signals.first_jump(times, dt)

    def view(self, name: str) -> View | None:
        if name in ENERGY_MOMENTUM and self.form != "joint" and not self._only_in_joints:
            from .views import director_view

            made = director_view(self, name)
            if made is None or not self.signals.driven:
                return made
            return replace(made, pack=partial(self._on_paths, made))
        if name in ("field", "canonical") and self.form != "director":
            from .joint_form.form import articulated_view

            return articulated_view(self, name)
        return None

    def _on_paths(self, view: View, state: State) -> Array:
        """z of a view of the director form; InputError for joints that are not where they are told to be."""
        from .joint_form.form import pack_state

        pack_state(self, state)
        return view.pack(state)

    def lacks(self, name: str) -> str:
        if name in ENERGY_MOMENTUM and self._only_in_joints:
            return f"{self._only_in_joints}, which only the joint form knows: use Gauss(3)"
        if name == "energy_momentum_directors" and self.form != "joint":
            from .views import not_published

            return not_published(self)
        if name == "split":
            return "masses of its joint coordinates change with its angles, so there are no kicks and drifts"
        if name in ENERGY_MOMENTUM and self.form == "joint":
            return 'that is for form="director", and this one has form="joint"'
        return ""

    def parameter_arrays(self) -> dict[str, Numbers]:
        from .director_arrays import director_arrays
        from .joint_form.tables import articulated_arrays

        return director_arrays(self)[0] | articulated_arrays(self)[0]

    def principal_images(self, images: Array) -> Array:
        """Orientations of children seen from parents, between principal axes instead of the given ones."""
        made = images.copy()
        for k, joint in enumerate(self.joints):
            made[..., k, :] = rotations.multiply(made[..., k, :], self.bodies[joint.child].frame)
            if joint.parent >= 0:
                back = rotations.conjugate(self.bodies[joint.parent].frame)
                made[..., k, :] = rotations.multiply(back, made[..., k, :])
        return made

    def scene(self) -> Scene:
        return Scene(self.bodies, joints=self.joints, gravity=self.gravity)

    def describe(self) -> dict[str, Json]:
        described = {
            "kind": self.kind, "bodies": describe_bodies(Alike(self.bodies)), "joints": [joint.describe() for joint in self.joints],
            "forces": [force.describe() for force in self.forces], "gravity": [describe_in_time(part) for part in self.given_gravity],
        }  # fmt: skip
        if self.acting.pairs is not None:
            described |= {"pairs": self.acting.pairs.describe(), "exclude": self.exclude}
        return described if self.form is None else described | {"form": self.form}

    def __repr__(self) -> str:
        joints = len(self.joints)
        return f"Linkage of {self.count} bod{'y' if self.count == 1 else 'ies'} with {joints} joint{'' if joints == 1 else 's'}"
