"""The tiled sweep of a chain: the same motion as the plain view, the same bits for every tile, and what it takes."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
import pytest

import catena as ct
from catena.engine import collector, headers
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.plain_python import interpret
from catena.kernels import fused, views
from catena.kernels.views import View
from catena.methods.rotors import lane_rotors
from catena.systems.chain.tiles import kernels as chain_tile_kernels
from catena.systems.chain.tiles import text as chain_tile_text
from catena.systems.chain.tiles import view as chain_tiles
from tiled import difference, driven, fields, final, halves, program_of

EPS = np.finfo(float).eps
TETRAHEDRON = ct.Body.tetrahedron()


@pytest.fixture(scope="module")
def helix() -> ct.Problem:
    return ct.problems.helix_chain(10, right="force", F=(3.0, 0.0, 0.0), amp=0.3, gravity=(0.0, 0.1, -0.5))


@pytest.fixture(scope="module")
def compiled(helix) -> Program:
    return program_of(helix.system, ct.Splitting(2), width=8, compiled=True)


def with_a_fast_body(problem: ct.Problem) -> ct.State:
    """Body 3 turns too far in a step for the polynomials, body 4 does not."""
    spin = np.array([body.tensor @ (0.2, -0.1, 0.3) for body in problem.system.bodies])
    spin[0] = 0.0
    spin[3] *= 400.0
    start = problem.start
    return problem.system.start(start.position, start.orientation, momentum=start.momentum, angular_momentum=spin)


def test_a_chain_of_small_equal_bodies_is_swept_in_tiles(helix):
    assert build(helix.system, ct.Splitting(2), compiled=False).view.name == "tiles"


def test_bodies_of_many_particles_keep_the_plain_view():
    assert build(ct.problems.disc_chain(3, n_p=12).system, ct.Splitting(2), compiled=False).view.name == "split"


@pytest.mark.parametrize("rotor", [ct.Jacobi(), ct.ThreeRotations(), ct.DMV(12)], ids=str)
def test_other_rotors_keep_the_plain_view(helix, rotor):
    assert build(helix.system, ct.Splitting(2, rotor), compiled=False).view.name == "split"


def test_a_hundred_steps_agree_with_the_plain_view(helix, compiled):
    """Largest magnitudes about 10, forces about 100 times dt: 1e-12 is asked for, measured 2e-14."""
    plain = program_of(helix.system, ct.Splitting(2), width=0, compiled=True)
    seen, wanted = (final(program, helix.start, dt=0.005, steps=100) for program in (compiled, plain))
    assert np.abs(seen - wanted).max() < 1e-12


@pytest.mark.parametrize(
    "method", [ct.Splitting(4), ct.Splitting(6), ct.Splitting(8), ct.Splitting(2, ct.DMV(6))], ids=str
)
def test_all_orders_agree_with_the_plain_view(method):
    problem = ct.problems.helix_chain(3, left="displaced", amp=0.3)
    assert difference(problem.system, problem.start, method, dt=0.02) < 1e-14


@pytest.mark.parametrize(
    "potential",
    [
        ct.WCA(5.0, 1.0),
        ct.Morse(5.0, 3.0, 1.1),
        ct.Yukawa(2.0, 1.5),
        ct.Harmonic(3.0, 1.2),
        ct.Switched(ct.LennardJones(5.0, 1.0), 1.2, 2.0),
        ct.PairPotential("a/r**9 - r**-3", {"a": 0.5}),
        ct.LennardJones(5.0, 1.0) + ct.Yukawa(2.0, 1.5),
    ],
    ids=lambda potential: type(potential).__name__,
)
def test_every_pair_potential_has_the_same_forces(potential):
    start = ct.problems.helix_chain(3, amp=0.1).start
    assert difference(ct.Chain([TETRAHEDRON] * 3, potential), start, ct.Splitting(2), steps=1) < 2e-15


def test_unequal_bodies_linear_bodies_and_points_agree_with_the_plain_view():
    positions = TETRAHEDRON.particles.positions
    bodies = [TETRAHEDRON, ct.Body.from_particles(1.2 * positions, 0.7), ct.Body.from_particles(0.9 * positions, 2.0)]
    start = ct.problems.helix_chain(3, left="free", amp=0.3).start
    chain = ct.Chain(bodies, ct.LennardJones(5.0, 1.0), ct.Free(), gravity=(0.0, 0.0, -1.0))
    assert difference(chain, start, ct.Splitting(2)) < 1e-14
    place = np.column_stack([1.3 * np.arange(3), 0.1 * np.arange(3), np.zeros(3)])
    rods = ct.Chain([ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])] * 3, ct.LennardJones(1.0, 1.0))
    points = ct.Chain([ct.Body.from_particles([[0, 0, 0]])] * 3, ct.LennardJones(1.0, 1.0))
    for chain in (rods, points):
        assert difference(chain, chain.start(place), ct.Splitting(4)) < 1e-14


@pytest.mark.parametrize("method", [ct.Splitting(2), ct.Splitting(4)], ids=str)
def test_bodies_too_fast_for_the_polynomials_are_turned_one_by_one(method):
    """The second step kicks by 60 with forces of r^-13: starts one unit of the last digit apart end up to 5.5e-13 apart."""
    problem = ct.problems.helix_chain(5, amp=0.1)
    for steps, tolerance in ((1, 1e-13), (2, 1e-12)):
        assert difference(problem.system, with_a_fast_body(problem), method, dt=0.004, steps=steps) < tolerance


def test_the_bits_do_not_depend_on_the_tile_nor_on_the_compiler(helix, compiled):
    """Tiles of 8 in vector registers against one of 64, number by number in Python; with a body that is turned alone."""
    start = with_a_fast_body(helix)
    in_python = program_of(helix.system, ct.Splitting(2), width=64)
    results = [driven(program, start, dt=0.004, steps=2) for program in (compiled, in_python)]
    first, second = (fields(p.view.unpack(d.z, 0.0)) for p, d in zip((compiled, in_python), results, strict=True))
    assert first.tobytes() == second.tobytes()


def test_what_is_published_is_what_is_unpacked(helix, compiled):
    """Both make the kick that is pending, one in the loop, one in numpy."""
    driver = driven(compiled, helix.start, dt=0.01, steps=3)
    row = driver.first_row().rows[0, : helix.system.public_width]
    assert row.tobytes() == fields(compiled.view.unpack(driver.z, 0.0)).tobytes()


def test_a_free_chain_keeps_momentum_and_angular_momentum_to_roundoff():
    """A walk of 2000 steps over 8 bodies: 50 eps sqrt(2000) times the largest terms, 16 and 60; measured 5e-15 and 6e-14."""
    problem = ct.problems.helix_chain(8, "zigzag", left="free", right="free", amp=0.3)
    data = ct.simulate(problem, method=ct.Splitting(2), dt=0.005, steps=2000, every=200).data
    for name, scale in (("total_momentum", 2.0), ("total_angular_momentum", 20.0)):
        deviation = float(np.abs(data[name] - data[name][0]).max())
        assert deviation < 50 * EPS * np.sqrt(2000) * scale, name


def test_a_torque_about_the_wrong_centre_is_seen(helix, monkeypatch):
    """The twin: s = t instead of t - d x f."""
    right = chain_tile_text.link_text

    def wrong(lanes: int, shape: chain_tile_text.Shape):
        written = right(lanes, shape)
        text = "\n".join(
            line.split(" = ")[0] + f" = t{line.strip()[1]}" if line.strip().startswith("s") else line
            for line in written.text.split("\n")
        )
        assert text != written.text
        return type(written)(written.name, text, written.origin, written.uses)

    monkeypatch.setattr(chain_tiles, "link_text", wrong)
    assert difference(helix.system, helix.start, ct.Splitting(2)) > 1e-3


def test_a_chain_that_flies_apart_is_a_failed_step(helix, compiled):
    """Momenta of 1e155 over a step of 1e5: what overflows is found, and the state is the last sound one."""
    start = helix.start
    thrown = helix.system.start(start.position, start.orientation, momentum=1e155 * start.momentum)
    driver = Driver(compiled, compiled.view.pack(thrown), t0=0.0, dt=1e5, every=1)
    assert driver.advance(3).status == views.NOT_FINITE
    assert driver.step == 0 and np.isfinite(driver.z).all()


def test_a_rotation_too_long_leaves_the_state_untouched():
    """DMV refuses a quarter turn in a step; nothing of the step may stay."""
    problem = ct.problems.helix_chain(5, amp=0.1)
    program = program_of(problem.system, ct.Splitting(4), width=8)
    driver = Driver(program, program.view.pack(with_a_fast_body(problem)), t0=0.0, dt=0.1, every=1)
    before = fields(program.view.unpack(driver.z, 0.0))
    status, made = driver._call(1, np.empty((2, program.width)))
    assert (status, made) == (views.STEP_TOO_LONG, 0)
    assert fields(program.view.unpack(driver.z, 0.0)).tobytes() == before.tobytes()


def test_nothing_is_allocated_in_a_sweep(compiled):
    """The compiler refuses an allocation in such code (the broken twin of all methods shows it)."""
    assert "_nrt=False" in compiled.text and "sweep_tiles" in compiled.text


def test_fused_multiply_add_is_rounded_once():
    """Against the C library, and against the instruction in compiled code."""
    fma = ctypes.CDLL(ctypes.util.find_library("m")).fma
    fma.restype, fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    parts = collector.collect(views.multiply_add, {views.multiply_add: fused_kernel})
    entry = '@njit("float64(float64, float64, float64)", **_strict)'
    namespace: dict = {"__name__": "fused_test"}
    exec(headers.module_text("fused", parts, (), header=headers.CPU, entry=entry), namespace)
    random = np.random.default_rng(5)
    cases = [tuple(x) for x in (random.normal(size=(300, 3)) * 10.0 ** random.integers(-9, 9, (300, 3))).tolist()]
    cases += [(a, b, -(a * b)) for a, b, _ in cases[:50]] + [(0.0, -1.0, -0.0), (-0.0, 1.0, 0.0), (1e200, 1e200, 1.0)]
    for case in cases:
        wanted = np.float64(fma(*case)).tobytes()
        assert np.float64(fused.multiply_add(*case)).tobytes() == wanted
        assert np.float64(namespace["advance"](*case)).tobytes() == wanted
    assert any(fma(*case) != case[0] * case[1] + case[2] for case in cases)


def fused_kernel(a, b, c):
    return fused.multiply_add(a, b, c)


@pytest.mark.parametrize(
    "moments", [(17 / 12, 5 / 4, 7 / 6), (1, 2, 3), (3, 1, 2), (0.3, 1, 1.2), (1, 1, 2), (0.01, 1, 1)]
)
def test_six_sweeps_are_enough_within_the_reach(moments):
    """In extended precision, on 2000 momenta at the end of the reach: less than 1e-17 is left."""
    i1, i2, i3 = np.array(moments, dtype=np.longdouble)
    angle = lane_rotors.moser_veselov_reach(np.array(moments, dtype=float))
    directions = np.random.default_rng(3).normal(size=(3, 2000)).astype(np.longdouble)
    g = angle * directions / np.sqrt((directions**2).sum(axis=0))
    skew = (i3 - i2) / i1, (i1 - i3) / i2, (i2 - i1) / i3
    relax = interpreted_lane(lane_rotors.relax)
    e, left = g, []
    for _ in range(40):
        e = np.array(relax(*e, *g, *skew))
        left.append(e)
    assert np.abs(left[5] - left[-1]).max() < 1e-17
    assert np.abs(left[2] - left[-1]).max() > 1e-17  # the twin: three are not


def interpreted_lane(kernel):
    parts = collector.collect(kernel, {views.multiply_add: plain_multiply_add})
    return interpret(headers.module_text("lane", parts, (), header=headers.PYTHON, entry="@_fn")).advance


def plain_multiply_add(a, b, c):
    return a * b + c


def test_a_tile_is_as_wide_as_costs_least():
    widths = {n: chain_tiles.tile_width(n) for n in (2, 8, 30, 50, 64, 66, 128, 1000, 4096)}
    assert widths == {2: 8, 8: 8, 30: 8, 50: 64, 64: 64, 66: 8, 128: 64, 1000: 64, 4096: 64}


def test_a_variable_names_its_body(helix):
    view, shape = chain_tiles.tiles_view(helix.system, 8), chain_tiles.shape_of(helix.system)
    assert isinstance(view, View) and view.body_of is not None and shape is not None
    rows = chain_tiles.row_count(shape)
    stride = 8 + chain_tile_kernels.PADDING
    assert view.body_of(5) == 5
    assert view.body_of(rows * stride + 3 * stride + 1) == 9
    assert view.body_of(view.dimension - 1) == 9


@pytest.mark.parametrize("method", [ct.Splitting(2), ct.Splitting(4, rotor=ct.DMV(10))], ids=str)
def test_a_run_goes_on_from_its_checkpoint_to_the_same_bits(helix, method):
    """Ten bodies in tiles of eight: the last tile is filled up by bodies that no checkpoint knows."""
    program = program_of(helix.system, method, width=8)
    whole, again = halves(program, helix.start)
    assert {name: array.tobytes() for name, array in again.state().items()} == {
        name: array.tobytes() for name, array in whole.state().items()
    }
    assert [again.state()[name].size for name in "ze"] == [35 * 10 + 1, 0]
    again.restore(5, {**whole.state(), "z": whole.z, "e": whole.e})  # as older checkpoints held it
    assert again.z.tobytes() == whole.z.tobytes()


@pytest.mark.parametrize("forgotten", [slice(-1, None), slice(60, 70)], ids=["pending kick", "rounding"])
def test_a_checkpoint_that_lacks_something_of_a_tile_is_seen(helix, forgotten):
    """The twin of the test above."""

    def spoil(z: np.ndarray) -> None:
        assert z[forgotten].any()
        z[forgotten] = 0.0

    whole, again = halves(program_of(helix.system, ct.Splitting(2), width=8), helix.start, spoil)
    assert again.state()["z"].tobytes() != whole.state()["z"].tobytes()
