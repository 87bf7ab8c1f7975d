"""A user's script with every public name, for type checkers: `make check` runs mypy and pyright on it.

The last three lines are mistakes. Each says which error a checker must find there; a mistake that is not found is an error itself.
"""

from typing import assert_type

import numpy as np
import xarray
from matplotlib.axes import Axes
from numpy.typing import NDArray

import catena as ct
from catena.running.control import Seen


def systems() -> list[ct.Run]:
    body, tetrahedron = ct.Body.box((1.0, 2.0, 3.0), mass=2.0), ct.Body.tetrahedron()
    pendulum = ct.Hamiltonian("p**2/2 - w**2*cos(q)", q="q", p="p", parameters={"w": 1.0})
    shaken = ct.Hamiltonian("p**2/2 - a*cos(q) - f*q", parameters={"a": "1 + t/9", "f": ct.Sampled(range(9), range(9))})
    top = ct.Top(body, ct.Gravity(strength=1.0, center=(0, 0, 1)))
    pairs = ct.PairTable({("a", "a"): ct.Switched(ct.LennardJones(1.0, 1.0), 2.0, 2.5), ("a", "b"): ct.WCA(1.0, 1.0)})
    others = [ct.Morse(1.0, 2.0, 1.0), ct.Yukawa(1.0, 0.5), ct.Harmonic(10.0, 1.0), ct.PairPotential("k/r", {"k": 1.0})]
    bend = ct.BendTwist(stretch=10.0, bend=1.0, twist=1.0, d0=(0, 0, 1))
    elastic = ct.Elastic(np.eye(6), rest=([0.0, 0.0, 0.5], [0.0, 0.0, 1.0]), coordinates="cayley", frame="middle")
    print(elastic.converted(frame="first").components(*elastic.resting_pose), elastic.links, elastic.of_link(0).energy)
    elastic.write("links.csv")
    print(ct.Elastic.read("links.csv", coordinates="cayley", angle_unit=1.0).links)
    text = ct.LinkPotential("k*(1 - Q33)", parameters={"k": 1.0})
    chain = ct.Chain([tetrahedron] * 4, ct.LennardJones(5.0, 1.0) + text, left=ct.Clamped(), right=ct.Force((3, 0, 0)))
    ends = (
        ct.Displaced(position=(1.0, 0.0, 0.0)),
        ct.Free(),
        ct.Moved(position=("1 + t", 0, 0)),
        ct.Torque((1, "t", 0)),
    )
    pulled = ct.Chain(
        [tetrahedron] * 4, ct.LennardJones("5*(1 + 0.1*sin(t))", 1.0), loads=[(-1, ct.Tweezers(9.0, ("6.3 + t", 0, 0)))]
    )
    print(pulled.drives.names)
    print(pairs, others, bend, ct.GayBerne(1.0, 1.0, 3.0, 5.0, 2.0, 1.0), ends, chain.suggest_dt(ct.Splitting(4)))
    scaling = ct.ScalingBody(body, constraint="equality")
    starts = [
        (pendulum, pendulum.start(q=1.0, p=0.0)),
        (shaken, shaken.start(q=1.0, p=0.0)),
        (top, top.start(**ct.euler_angles((0.0, 0.5, 0.0), rates=(0.1, 0.0, 20.0)))),
        (ct.FreeBody(body), ct.FreeBody(body).start(angular_momentum=np.array([1.0, 2.0, 3.0]))),
        (chain, chain.maxwell(chain.straight(2.1), 0.5, seed=3)),
        (scaling, scaling.start(angular_velocity=(1.0, 0.0, 0.0))),
    ]
    return [ct.simulate(system, start, dt=0.01, steps=100, every=10) for system, start in starts]


def linkage() -> ct.Linkage:
    joints = [ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 1)), axis=(1, 0, 0)), ct.Spherical(0, 1), ct.Universal(1, 2)]
    joints += [
        ct.Prismatic(2, 3),
        ct.Cylindrical(3, 4),
        ct.Planar(4, 5),
        ct.Screw(5, 6, pitch=0.1),
        ct.Rigid(6, 7),
        ct.Distance(0, 7, length=3.0),
    ]
    forces = [ct.Spring(0, 1, k=2.0), ct.Damper(0, 1, c=0.1), ct.Torsion(0, "k*theta**2/2", {"k": 1.0})]
    forces += [
        ct.Motor(0, target="sin(t)", kp=2.0, kd=0.1),
        ct.Limit(0, -1.0, 1.0, stiffness=5.0),
        ct.Driven(3, "t**2"),
        ct.External("k*x**2/2", ["A"], {"k": 1.0}),
        ct.Angle((0, 1, 2), "theta**2"),
        ct.Dihedral((0, 1, 2, 3), "cos(phi)"),
    ]
    forces += [ct.SitePair(0, 2, potential=ct.LennardJones(1.0, 1.0)), ct.Load(1, force=("sin(t)", 0, 0))]
    return ct.Linkage([ct.Body.rod(2.0, 1.0)] * 8, joints, forces=forces, gravity=(0, 0, -9.81))


def methods() -> str:
    runge_kutta = [
        ct.ExplicitEuler(),
        ct.ImplicitEuler(),
        ct.RK4(),
        ct.ImplicitMidpoint(),
        ct.RadauIIA(3),
        ct.SunGeng(),
    ]
    symplectic = [
        ct.EulerA(),
        ct.EulerB(),
        ct.StormerVerlet(),
        ct.Gauss(4),
        ct.Composition(ct.StormerVerlet(), "suzuki4"),
    ]
    rotors = [
        ct.Jacobi(),
        ct.ThreeRotations(),
        ct.SymmetricRotation(),
        ct.DMV(10),
        ct.Lagrange(),
        ct.Rattle(),
        ct.QuatEM(),
    ]
    warm = [ct.Langevin(1.0, 0.1, seed=7), ct.Langevin(1.0, ct.Friction(translation=0.1, rotation=(0.2, 0.2, 0.4)))]
    others = [
        *warm,
        ct.HybridMonteCarlo(1.0, substeps=8),
        ct.Taylor(),
        ct.Nystrom4(),
        ct.Nystrom6(weak=True),
        ct.EnergyMomentum(level="both"),
    ]
    return f"{ct.__version__}: {runge_kutta} {symplectic} {rotors} {others} {ct.list_methods(linkage())}"


def linked_statics(system: ct.Linkage) -> NDArray[np.complex128]:
    found = system.equilibrium(load=(1.0, 0.0, 0.0), tol=1e-9)
    modes = system.normal_modes(found, count=2)
    assert_type(modes.displacement(0).turn, NDArray[np.float64])
    assert_type(modes.zero_motions, tuple[str, ...])
    return system.linearise(found.state).eigenvalues()


def statics(chain: ct.Chain) -> tuple[ct.Equilibrium, ct.EquilibriumPath, ct.Modes, ct.Dispersion, ct.RodLimit]:
    rod = ct.Rod(length=1.0, E=2e11, G=8e10, area=1e-4, I=8e-10, J=1.6e-9, density=7800.0, n=33)
    path = rod.equilibrium_path((1.0, 0.0, 0.0), to=10.0)
    return (
        chain.equilibrium(load=(1.0, 0.0, 0.0)),
        path,
        chain.normal_modes(count=6),
        chain.dispersion([0.1, 0.2]),
        chain.rod_limit(),
    )


def rings() -> tuple[int, float]:
    ring = ct.Chain([ct.Body.box((1.0, 1.0, 1.0), 1.0)] * 12, ct.BendTwist(9.0, 2.0, 3.0, (1.0, 0.0, 0.0)), closed=True)
    start = ring.ring(1.0, linking_number=2, axis=(1.0, 0.0, 0.0))
    run = ct.simulate(ring, start, dt=0.01, steps=10)
    assert_type(ring.closed, bool)
    print(ring.outputs(run).linking_number().values, ct.problems.ring_chain(turns=1).system)
    return ring.linking_number(start), ring.twist(start, director=(0.0, 0.0, 1.0)) + ring.writhe(start)


def largest(value: float, t: float, kept: NDArray[np.float64]) -> None:
    kept[0] = max(kept[0], value)


REDUCE: dict[str, ct.Mean | ct.Extremes | ct.Histogram | ct.LastCrossing | ct.Custom] = {
    "height": ct.Mean("q1"),
    "width": ct.Extremes("q2"),
    "where": ct.Histogram("q1", -1.0, 1.0, bins=10),
    "last": ct.LastCrossing("q2", direction=1),
    "largest": ct.Custom("q1", largest, (0.0,)),
}


def lift(seen: Seen) -> NDArray[np.float64]:
    return 3.0 * (1.0 - seen.angle) - seen.speed


def steered(arm: ct.Linkage) -> ct.Run[ct.Linkage]:
    return ct.simulate(arm, arm.start(), dt=0.01, steps=10, control=ct.Controller(lift, every=2, memory=1))


def study(problem: ct.Problem, start: ct.State) -> float:
    crossings = [ct.Section("through", "q1", direction=+1)]
    try:
        run = ct.simulate(problem, t_end=10.0, out="run.zarr", sections=crossings, events=[ct.Event("far", "q1 - 9")])
    except (ct.InputError, ct.CapabilityError, ct.StepFailure, ct.StoreError, ct.KernelError) as error:
        raise ct.CatenaError(str(error)) from error
    except ct.Interrupted:
        run = ct.resume("run.zarr", t_end=10.0)
    audit = ct.open("run.zarr").audit()
    many = ct.ensemble(problem, [start] * 10, steps=100, keep="samples", reduce=REDUCE)
    assert_type(ct.sweep("case.toml", {"force": ("system.right.force.0", [1.0, 2.0])}, keep="final"), xarray.Dataset)
    print(
        many.audit(),
        ct.check(problem, ct.Gauss(2)),
        run.error(),
        run.average("energy"),
        run.autocorrelation("energy", 10),
        run.histogram("energy", 20),
        run.free_energy("energy", 20),
        ct.free_energy([run], "energy", "k*x", [{"k": 1.0}]),
        run.sections["through"],
        issubclass(ct.CatenaWarning, Warning),
    )
    run.plot.energy().set_title("energy")
    run.view("page.html")
    return float(abs(run.data.energy - run.data.energy[0]).max()) if audit.ok else run.audit()["energy"].worst


def results(chain: ct.Chain, start: ct.State) -> None:
    """What a user touches of a result has its type: `assert_type` takes no Any for it."""
    run = ct.simulate(chain, start, dt=0.01, steps=10)
    assert_type(run, ct.Run[ct.Chain])
    assert_type(run.system.bodies, tuple[ct.Body, ...])
    assert_type(run.data, xarray.Dataset)
    assert_type(run.system.outputs(run).link_length, xarray.DataArray)
    assert_type(run.final.position, NDArray[np.float64])
    assert_type(run.audit()["energy"].worst, float)
    assert_type(run.error()["position"].end, float)
    assert_type(run.average("energy").error, float)
    assert_type(run.audit().canonical["temperature"].mean, float)
    assert_type(run.plot.energy(), Axes)
    assert_type(ct.ensemble(chain, [start], steps=10).final, xarray.Dataset)
    ladder = ct.Tempering((1.0, 1.5), every=10)
    warm = ct.ensemble(chain, start, ct.Langevin(1.0, 1.0), steps=20, members=4, tempering=ladder)
    assert_type(warm.exchanged, NDArray[np.float64])
    assert_type(ct.check(chain, ct.Gauss(2), start).ok, bool)
    assert_type(ct.problems.hanging_chain().system, ct.Linkage)


def mistakes() -> None:
    ct.simulate(ct.problems.kepler(), dtt=0.1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    ct.Gauss("four")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    study(ct.problems.kepler(), ct.problems.kepler().start).plot()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
