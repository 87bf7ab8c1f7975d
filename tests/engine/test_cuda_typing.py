"""What goes to a CUDA GPU passes numba's type inference, which its simulator does not ask: no GPU is needed to find out."""

from __future__ import annotations

import pytest

from processes import run_python

# numba-cuda infers the types of all functions first, and then looks for the compiler of the GPU, which is not there
TYPED = """
import re, sys
from types import SimpleNamespace
import numba_cuda
from numba import cuda, types
import numba.cuda.dispatcher as dispatcher
import catena as ct
from catena.engine.cuda import members
from catena.engine.cuda import bodies

dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
members.require_cuda = bodies.require_cuda = lambda: cuda
texts = {}
members.load = bodies.load = lambda text, title, name="advance_members": texts.update({name: text})
problem, method = eval(sys.argv[1], {"ct": ct})
(bodies if sys.argv[2] == "bodies" else members).build(getattr(problem, "system", problem), method)
for name, text in texts.items():
    entry = re.search(r"@cuda.jit\\((types.void\\(.*?\\)), fastmath=False, \\*\\*_options\\)\\n(?=def " + name + ")", text, re.S)
    text = text.replace(entry[0], "")
    if sys.argv[3:]:
        assert sys.argv[3] in text
        text = text.replace(sys.argv[3], sys.argv[4])
    namespace = {"__name__": "typed"}
    exec(compile(text, "<typed>", "exec"), namespace)
    try:
        cuda.compile(namespace[name], eval(entry[1]), cc=(9, 0), device=False, abi="numba")
    except Exception as error:
        print(type(error).__name__)
    else:
        print("compiled")
"""
FINE = {"DynamicLibNotFoundError", "compiled"}
PAIRS = {
    "tiles": "(ct.problems.helix_chain(8), ct.Splitting(2))",
    "rattle": "(ct.problems.helix_chain(8), ct.Rattle())",
    "links": "(ct.Problem('links', *(lambda chain: (chain, chain.straight(1.0)))(ct.Chain([ct.Body.tetrahedron()] * 8, "
    "ct.Elastic([[float(i == j) for j in range(6)] for i in range(6)], ([0, 0, 0.1], [1, 0, 0]), 'exponential', 'middle'))), "
    "0.01), ct.Splitting(2))",
    "sine": "(ct.Hamiltonian('p**2/2 - cos(q) + exp(-q*q) + (1 + q*q)**1.3 + atan2(q, 2)'), ct.RK4())",
    "series": "(ct.problems.kepler(e=0.6), ct.Taylor())",
    "stages on lanes": "(ct.problems.lagrange_top(), ct.Gauss(5))",
    "closed form": "(ct.problems.lagrange_top(), ct.Lagrange())",
    "mixed tiles": "(ct.Problem('mixed', *(lambda chain: (chain, chain.straight(2.5)))(ct.Chain("
    "[ct.Body.tetrahedron(), ct.Body.from_particles([[0, 0, -0.5], [0, 0.1, 0.5], [0.3, 0, 0]])] * 4, "
    "[ct.LennardJones(1, 1), ct.Morse(1, 2, 1)] * 3 + [ct.LennardJones(2, 1)])), 0.01), ct.Splitting(2))",
    "hinges": "(ct.problems.triple_pendulum(), ct.EnergyMomentum())",
}


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_programs_for_a_gpu_are_typed(pair: str) -> None:
    [told] = run_python(TYPED, PAIRS[pair], "members")[0].split()
    assert told in FINE


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ct.Splitting(4)", "ct.Langevin(1.0, 1.0, seed=1)"])
def test_kernels_for_single_bodies_are_typed(method: str) -> None:
    """Those of the steps, of what tells a state, and of the looks."""
    told = run_python(TYPED, f"(ct.problems.helix_chain(8), {method})", "bodies")[0].split()
    assert len(told) == 3 and set(told) <= FINE


@pytest.mark.slow
def test_a_function_that_a_gpu_does_not_know_is_noticed() -> None:
    """The name of a fused multiply-add bound to another one, as it once was.

    In a program whose calls are not deep: numba tries a call that has no type twice at each level, so in deep ones it takes hours.
    """
    line = "    @_fn\n    def _multiply_add(a, b, c):"
    bound = "    _multiply_add = cuda.fma\n    @_fn\n    def _unused(a, b, c):"
    assert run_python(TYPED, PAIRS["series"], "members", line, bound)[0].strip() == "TypingError"
