"""What type checkers and editors see, and what `catena` loads when it is first used: the public names, and nothing else."""

from . import problems
from .analysis.dispersion import Dispersion
from .analysis.equilibrium import Equilibrium
from .analysis.equilibrium_path import EquilibriumPath
from .analysis.modes import Modes
from .analysis.rod import RodLimit
from .analysis.structure_check import check
from .catalogue import list_methods
from .ensembles import ensemble
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
from .methods.composition import Composition
from .methods.energy_momentum import EnergyMomentum
from .methods.implicit import (
    Gauss,
    ImplicitEuler,
    ImplicitMidpoint,
    RadauIIA,
    SunGeng,
)
from .methods.jacobi import Jacobi
from .methods.lagrange import Lagrange
from .methods.moser_veselov import DMV
from .methods.nystrom import Nystrom4, Nystrom6
from .methods.partitioned import EulerA, EulerB, StormerVerlet
from .methods.quat_em import QuatEM
from .methods.rattle import Rattle
from .methods.rotations import SymmetricRotation, ThreeRotations
from .methods.runge_kutta import RK4, ExplicitEuler
from .methods.splitting import Splitting
from .methods.taylor import Taylor
from .plan import Problem
from .runs import Run, open
from .simulation import resume, simulate
from .systems.base import State
from .systems.body import Body
from .systems.chains.chain import Chain
from .systems.chains.ends import Clamped, Displaced, Force, Free
from .systems.chains.rod_chain import Rod
from .systems.free_body import FreeBody
from .systems.hamiltonian import Hamiltonian
from .systems.linkages.joint_forces import (
    Damper,
    Load,
    SitePair,
    Spring,
    Torsion,
)
from .systems.linkages.joints import (
    Cylindrical,
    Planar,
    Prismatic,
    Revolute,
    Rigid,
    Screw,
    Spherical,
    Universal,
)
from .systems.linkages.linkage import Linkage
from .systems.orientations import euler_angles
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
from .systems.scaling.scaling_body import ScalingBody
from .systems.tops.attitude import Gravity
from .systems.tops.top import Top
from .version import __version__
from .watching import Event, Section

__all__ = [
    "DMV",
    "RK4",
    "WCA",
    "BendTwist",
    "Body",
    "CapabilityError",
    "CatenaError",
    "CatenaWarning",
    "Chain",
    "Clamped",
    "Composition",
    "Cylindrical",
    "Damper",
    "Dispersion",
    "Displaced",
    "EnergyMomentum",
    "Equilibrium",
    "EquilibriumPath",
    "EulerA",
    "EulerB",
    "Event",
    "ExplicitEuler",
    "Force",
    "Free",
    "FreeBody",
    "Gauss",
    "GayBerne",
    "Gravity",
    "Hamiltonian",
    "Harmonic",
    "ImplicitEuler",
    "ImplicitMidpoint",
    "InputError",
    "Interrupted",
    "Jacobi",
    "KernelError",
    "Lagrange",
    "LennardJones",
    "LinkPotential",
    "Linkage",
    "Load",
    "Modes",
    "Morse",
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
    "ThreeRotations",
    "Top",
    "Torsion",
    "Universal",
    "Yukawa",
    "__version__",
    "check",
    "ensemble",
    "euler_angles",
    "list_methods",
    "open",
    "problems",
    "resume",
    "simulate",
]
