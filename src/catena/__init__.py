"""catena: Hamiltonian dynamics of rigid bodies and chains, with integrators that keep what mechanics keeps.

The public names, and nothing else. They are loaded when they are first used: `import catena` is cheap.
"""

from importlib import import_module
from typing import Any

from .version import __version__

_HOMES = {
    "systems.base": ["State"],
    "systems.hamiltonian": ["Hamiltonian"],
    "systems.body": ["Body"],
    "systems.orientations": ["euler_angles"],
    "systems.free_body": ["FreeBody"],
    "systems.scaling.scaling_body": ["ScalingBody"],
    "systems.tops.top": ["Top"],
    "systems.tops.attitude": ["Gravity"],
    "systems.chains.chain": ["Chain"],
    "systems.linkages.linkage": ["Linkage"],
    "systems.linkages.joints": [
        "Cylindrical",
        "Planar",
        "Prismatic",
        "Revolute",
        "Rigid",
        "Screw",
        "Spherical",
        "Universal",
    ],
    "systems.linkages.joint_forces": ["Damper", "Load", "SitePair", "Spring", "Torsion"],
    "systems.chains.ends": ["Clamped", "Displaced", "Force", "Free"],
    "systems.potentials.pair_potentials": [
        "Harmonic",
        "LennardJones",
        "Morse",
        "PairPotential",
        "PairTable",
        "Switched",
        "WCA",
        "Yukawa",
    ],
    "systems.potentials.link_potentials": ["BendTwist", "GayBerne", "LinkPotential"],
    "methods.runge_kutta": ["ExplicitEuler", "RK4"],
    "methods.implicit": ["Gauss", "ImplicitEuler", "ImplicitMidpoint", "RadauIIA", "SunGeng"],
    "methods.partitioned": ["EulerA", "EulerB", "StormerVerlet"],
    "methods.composition": ["Composition"],
    "methods.splitting": ["Splitting"],
    "methods.taylor": ["Taylor"],
    "methods.rotations": ["SymmetricRotation", "ThreeRotations"],
    "methods.moser_veselov": ["DMV"],
    "methods.jacobi": ["Jacobi"],
    "methods.rattle": ["Rattle"],
    "methods.nystrom": ["Nystrom4"],
    "methods.quat_em": ["QuatEM"],
    "methods.energy_momentum": ["EnergyMomentum"],
    "plan": ["Problem"],
    "watching": ["Event", "Section"],
    "catalogue": ["list_methods"],
    "analysis.structure_check": ["check"],
    "simulation": ["resume", "simulate"],
    "ensembles": ["ensemble"],
    "runs": ["Run"],
    "errors": [
        "CapabilityError",
        "CatenaError",
        "CatenaWarning",
        "InputError",
        "Interrupted",
        "KernelError",
        "StepFailure",
        "StoreError",
    ],
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", "open", "problems", *sorted(_NAMES)]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(f"catena.{_NAMES[name]}"), name)
    elif name == "problems":
        value = import_module("catena.problems")
    elif name == "open":
        value = import_module("catena.runs").open_stored
    else:
        raise AttributeError(f"module 'catena' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
