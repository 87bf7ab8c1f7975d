"""What type checkers and editors see, and what `catena` loads when it is first used: the public names, and nothing else."""

from . import problems
from .analysis.statics.dispersion import Dispersion
from .analysis.statics.equilibrium import Equilibrium
from .analysis.statics.equilibrium_path import EquilibriumPath
from .analysis.statics.modes import Modes
from .analysis.statics.rod import RodLimit
from .analysis.structure_check import check
from .analysis.umbrella import free_energy
from .cases.sweeping import sweep
from .errors import (
    CapabilityError,
    CatenaError,
    CatenaWarning,
    InputError,
    Interrupted,
    KernelError,
    StepFailure,
    StoreError,
)
from .methods.conserving.energy_momentum import EnergyMomentum
from .methods.conserving.quat_em import QuatEM
from .methods.conserving.rattle import Rattle
from .methods.heat.friction import Friction
from .methods.heat.hybrid_monte_carlo import HybridMonteCarlo
from .methods.heat.langevin import Langevin
from .methods.rotors.jacobi import Jacobi
from .methods.rotors.lagrange import Lagrange
from .methods.rotors.moser_veselov import DMV
from .methods.rotors.rotations import SymmetricRotation, ThreeRotations
from .methods.runge_kutta.implicit import (
    Gauss,
    ImplicitEuler,
    ImplicitMidpoint,
    RadauIIA,
    SunGeng,
)
from .methods.runge_kutta.runge_kutta import RK4, ExplicitEuler
from .methods.splitting.composition import Composition
from .methods.splitting.nystrom import Nystrom4, Nystrom6
from .methods.splitting.partitioned import EulerA, EulerB, StormerVerlet
from .methods.splitting.splitting import Splitting
from .methods.taylor.taylor import Taylor
from .running.catalogue import list_methods
from .running.control import Controller
from .running.crossings import Event, Section
from .running.ensembles import ensemble
from .running.ensembles.reductions import Custom, Extremes, Histogram, LastCrossing, Mean
from .running.ensembles.tempering import Tempering
from .running.opening import open, resume
from .running.plan import Problem
from .running.runs import Run
from .running.simulation import simulate
from .systems.base import State
from .systems.body import Body
from .systems.chain.chain import Chain
from .systems.chain.ends import Clamped, Displaced, Force, Free, Moved, Torque, Tweezers
from .systems.chain.rod_chain import Rod
from .systems.free_body import FreeBody
from .systems.hamiltonian import Hamiltonian
from .systems.linkage.joint_forces import (
    Damper,
    Load,
    SitePair,
    Spring,
    Torsion,
)
from .systems.linkage.joints import (
    Cylindrical,
    Distance,
    Planar,
    Prismatic,
    Revolute,
    Rigid,
    Screw,
    Spherical,
    Universal,
)
from .systems.linkage.linkage import Linkage
from .systems.linkage.motor import Driven, Limit, Motor
from .systems.linkage.particle_forces import Angle, Dihedral, External
from .systems.orientations import euler_angles
from .systems.potentials.elastic import Elastic
from .systems.potentials.link_potentials import (
    BendTwist,
    GayBerne,
    LinkPotential,
)
from .systems.potentials.pair_potentials import (
    WCA,
    Harmonic,
    LennardJones,
    Morse,
    PairPotential,
    PairTable,
    Switched,
    Yukawa,
)
from .systems.sampled import Sampled
from .systems.scaling.scaling_body import ScalingBody
from .systems.top.attitude import Gravity
from .systems.top.top import Top
from .version import __version__

__all__ = [
    "DMV",
    "RK4",
    "WCA",
    "Angle",
    "BendTwist",
    "Body",
    "CapabilityError",
    "CatenaError",
    "CatenaWarning",
    "Chain",
    "Clamped",
    "Composition",
    "Controller",
    "Custom",
    "Cylindrical",
    "Damper",
    "Dihedral",
    "Dispersion",
    "Displaced",
    "Distance",
    "Driven",
    "Elastic",
    "EnergyMomentum",
    "Equilibrium",
    "EquilibriumPath",
    "EulerA",
    "EulerB",
    "Event",
    "ExplicitEuler",
    "External",
    "Extremes",
    "Force",
    "Free",
    "FreeBody",
    "Friction",
    "Gauss",
    "GayBerne",
    "Gravity",
    "Hamiltonian",
    "Harmonic",
    "Histogram",
    "HybridMonteCarlo",
    "ImplicitEuler",
    "ImplicitMidpoint",
    "InputError",
    "Interrupted",
    "Jacobi",
    "KernelError",
    "Lagrange",
    "Langevin",
    "LastCrossing",
    "LennardJones",
    "Limit",
    "LinkPotential",
    "Linkage",
    "Load",
    "Mean",
    "Modes",
    "Morse",
    "Motor",
    "Moved",
    "Nystrom4",
    "Nystrom6",
    "PairPotential",
    "PairTable",
    "Planar",
    "Prismatic",
    "Problem",
    "QuatEM",
    "RadauIIA",
    "Rattle",
    "Revolute",
    "Rigid",
    "Rod",
    "RodLimit",
    "Run",
    "Sampled",
    "ScalingBody",
    "Screw",
    "Section",
    "SitePair",
    "Spherical",
    "Splitting",
    "Spring",
    "State",
    "StepFailure",
    "StoreError",
    "StormerVerlet",
    "SunGeng",
    "Switched",
    "SymmetricRotation",
    "Taylor",
    "Tempering",
    "ThreeRotations",
    "Top",
    "Torque",
    "Torsion",
    "Tweezers",
    "Universal",
    "Yukawa",
    "__version__",
    "check",
    "ensemble",
    "euler_angles",
    "free_energy",
    "list_methods",
    "open",
    "problems",
    "resume",
    "simulate",
    "sweep",
]
