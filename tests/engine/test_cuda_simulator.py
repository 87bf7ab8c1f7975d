"""The CUDA code under numba's simulator, which runs it as Python: indices and logic, not the arithmetic of a GPU."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import pytest

from catena.engine.cuda import members as cuda
from catena.errors import CapabilityError
from processes import run_python

COMPARED = """
import functools
import json
import tempfile
import threading
import warnings
import numpy as np
import catena as ct
from catena.engine.cuda import members as cuda
from catena.running.ensembles import ensemble, gpus
from catena.running.ensembles import job as jobs

warnings.simplefilter("ignore", RuntimeWarning)  # a GPU overflows in silence
cuda.BLOCK = 2  # more than one block, the last of them not full
kepler = ct.problems.kepler().system
e = np.array([0.0, 0.6, 0.3, 0.8, 0.1])
starts = {"q": np.stack([1 - e, 0 * e], axis=1), "p": np.stack([0 * e, np.sqrt((1 + e) / (1 - e))], axis=1)}
runaway = ct.Hamiltonian("p**2/2 - q**4/4")
falling = {"q": [0.01, 2.0, 0.02, 3.0, 2.5], "p": np.zeros(5)}

def both(system, starts, method, **options):
    here = ensemble(system, starts, method, **options)
    return here, ensemble(system, starts, method, device="cuda", **options)

def equal(here, there):
    final = here.final.identical(there.final)
    data = here.keep != "samples" or here.data.identical(there.data)
    failures = [(f.member, str(f.failure)) for f in here.failures] == [(f.member, str(f.failure)) for f in there.failures]
    return bool(final and data and failures and str(here.audit()) == str(there.audit()))

found = {}
for method in (ct.Gauss(3), ct.RK4(), ct.StormerVerlet(), ct.Splitting(6)):
    here, there = both(kepler, starts, method, dt=0.05, steps=20, every=3, keep="samples")
    found[str(method)] = equal(here, there)

count = range(18)  # more than straight lines are written for
terms = " + ".join(f"p{i}**2/(2*m) + cos(q{i} - q{(i + 1) % 18})/(1 + q{i}**2)" for i in count)
ring = ct.Hamiltonian(terms, [f"q{i}" for i in count], [f"p{i}" for i in count], {"m": 0.3})
turned = {"q": np.sin(np.arange(90.0)).reshape(5, 18), "p": np.cos(np.arange(90.0)).reshape(5, 18)}
here, there = both(ring, turned, ct.Splitting(2), dt=0.05, steps=4, keep="samples")
found["many terms"] = [equal(here, there), bool(ring._derived.tables)]

spring = ct.Hamiltonian("p**2/2 + q**2/2")
here, there = both(spring, {"q": e, "p": -e}, ct.Langevin(1.0, 1.0, seed=3), dt=0.2, steps=43, every=2)
halves = [many._column("equipartition_halves") for many in (here, there)]
found["bath"] = [equal(here, there), bool((halves[0] == halves[1]).all()), float(abs(halves[0][:, 0] - halves[0][:, 1]).min())]

cuda.SAMPLE_BYTES = 8 * 6 * 5 * 7  # seven rows fit into a launch
jobs.Reducer = functools.partial(jobs.Reducer, compiled=False)
reduced = {"mean": ct.Mean("q1**2"), "ends": ct.Extremes("p1"), "bins": ct.Histogram("q2", -1.0, 1.0, 5), "last": ct.LastCrossing("q2")}
here, there = both(kepler, starts, ct.RK4(), dt=0.05, steps=40, every=2, reduce=reduced)
again = ensemble(kepler, starts, ct.RK4(), dt=0.05, steps=40, every=4, reduce=reduced, device="cuda")
found["reduced"] = [here.reduced.identical(there.reduced), here.reduced.identical(again.reduced)]
here, there = both(kepler, starts, ct.RK4(), dt=0.05, steps=210)
drifts = [np.array([many._column(f"energy_{what}") for what in ("worst", "drift", "drift_error")]) for many in (here, there)]
found["audit"] = [equal(here, there), here.audit()["energy"].verdicts, bool((drifts[0] == drifts[1]).all())]
cuda.SAMPLE_BYTES = 2**28
here_failing, there = here, there = both(runaway, falling, ct.RK4(), dt=0.05, steps=60, every=4, keep="samples")
found["failures"] = [equal(here, there), [f.member for f in there.failures]]

with tempfile.TemporaryDirectory() as folder:
    stored = ensemble(kepler, starts, ct.RK4(), dt=0.05, steps=20, every=3, keep="samples", device="cuda", out=folder + "/a.zarr")
    again = ct.resume(folder + "/a.zarr")
    here = ensemble(kepler, starts, ct.RK4(), dt=0.05, steps=20, every=3, keep="samples")
    found["stored"] = stored.data.equals(here.data) and again.final.equals(here.final) and len(again) == 5

from numba import cuda as gpu
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
sent, sizes = [], []
send, fetch = gpu.to_device, FakeCUDAArray.copy_to_host
gpu.to_device = lambda array, *rest, **options: sent.append(np.size(array)) or send(array, *rest, **options)
FakeCUDAArray.copy_to_host = lambda self, *rest, **options: sent.append(self.size) or fetch(self, *rest, **options)
chain = ct.problems.helix_chain(2)
for members in (2, 3):
    sent.clear()
    ensemble(chain.system, [chain.start] * members, ct.Rattle(), dt=chain.dt, steps=1, device="cuda")
    sizes.append(sum(sent))
gpu.to_device, FakeCUDAArray.copy_to_host = send, fetch
scratch = sum(array.size for array in cuda.build(chain.system, ct.Rattle()).arrays.scratch.values())
found["travelling"] = [sizes[1] - sizes[0], 26 + 2 * 26 + 5 * 3 + 40, scratch]

slower = ensemble(kepler, starts, ct.RK4(), dt=np.nextafter(0.05, 1), steps=20)
whole = ensemble(kepler, starts, ct.RK4(), dt=0.05, steps=20, device="cuda")
found["another dt"] = equal(slower, whole)
gpus.members_at_once = lambda program: 2
found["a small GPU"] = equal(whole, ensemble(kepler, starts, ct.RK4(), dt=0.05, steps=20, device="cuda"))

# the simulator knows one GPU, and runs one kernel at a time
used, order, alone, plain = {}, [], threading.Lock(), cuda.launch
def one_at_a_time(*arguments, **options):
    with alone:
        order.append(used[threading.get_ident()])
        plain(*arguments, **options)
cuda.launch = one_at_a_time
gpus.gpus_alike, gpus.use_gpu = lambda: [0, 1], lambda number: used.update({threading.get_ident(): number})
there = ensemble(runaway, falling, ct.RK4(), dt=0.05, steps=60, every=4, keep="samples", device="cuda")
found["two GPUs"] = [equal(here_failing, there), sorted(used.values()), order.count(0) > 10 < order.count(1)]
gpus.members_at_once = lambda program: 1
made = []
try:
    ensemble(kepler, starts, ct.RK4(), dt=0.05, steps=10**6, device="cuda", progress=lambda *at: made.append(at) or (at[0] > 0 and 1 / 0))
except ZeroDivisionError:
    found["stopped"] = max(at[0] for at in made) < 5 * 10**5
print(json.dumps(found))
"""


@cache
def found() -> dict[str, Any]:
    return json.loads(run_python(COMPARED, NUMBA_ENABLE_CUDASIM=1)[0])


@pytest.mark.parametrize("method", ["Gauss(3)", "RK4()", "StormerVerlet()", "Splitting(6)"])
def test_members_on_the_gpu_are_those_of_the_processor_to_the_bit(method):
    """States, samples, failures and audit of 5 members; 3 does not divide the 20 steps."""
    assert found()[method]


def test_members_of_many_terms_have_the_same_bits_on_the_gpu():
    """Loops over tables of whole numbers, which go to the GPU as they are."""
    assert found()["many terms"] == [True, True]


def test_the_comparison_sees_one_unit_in_the_last_place_of_dt():
    assert not found()["another dt"]


def test_deviations_folded_on_the_gpu_give_the_same_verdicts():
    """211 samples, in launches of seven: one after the other into their blocks, so that drifts have the same bits, too."""
    same, verdicts, same_drifts = found()["audit"]
    assert same
    assert "too short" not in verdicts and len(verdicts) > 1
    assert same_drifts


def test_what_a_bath_adds_up_is_averaged_on_the_gpu_alike():
    """Means over both halves of the samples after the first fifth, which differ from each other; and the audit made of them."""
    same, same_halves, apart = found()["bath"]
    assert same and same_halves and apart > 0.0


def test_samples_are_reduced_on_the_gpu_as_on_the_processor():
    """Means, extremes, bins and crossings, in launches of seven samples, to the bit; half as many samples make others."""
    assert found()["reduced"] == [True, False]


def test_a_member_that_fails_on_the_gpu_stops_before_the_failing_step():
    """Step, time, state and samples of each are those of the processor, and the others go on."""
    assert found()["failures"] == [True, [1, 3, 4]]


def test_members_that_do_not_fit_on_the_gpu_together_are_taken_in_turn():
    assert found()["a small GPU"]


def test_members_are_shared_by_the_gpus_of_a_machine():
    """Each by a thread of its own, in the order of the members, failures among them; an error ends all of them at the end of a launch."""
    assert found()["two GPUs"] == [True, [0, 1], True]
    assert found()["stopped"]


def test_what_a_gpu_did_is_stored_as_what_the_processor_did():
    assert found()["stored"]


def test_scratch_and_zeros_do_not_travel_to_the_gpu():
    """Of each member: its variables, two rows, five numbers for each of its invariants, and some for its steps; not the arrays that its steps scribble on."""
    each, enough, scratch = found()["travelling"]
    assert 26 + 2 * 26 < each < enough < each + scratch


def test_a_machine_without_a_gpu_is_told_so():
    numba_cuda = pytest.importorskip("numba.cuda")
    if numba_cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(CapabilityError, match="no CUDA GPU can be used"):
        cuda.build(None, None)


def test_multiplications_and_additions_are_not_fused():
    """The option goes to NVVM through the one function by which numba-cuda calls it, and only while we compile."""
    pytest.importorskip("numba_cuda")
    from numba.cuda import codegen
    from numba.cuda.cudadrv import nvvm

    assert inspect.getsource(codegen).count("nvvm.compile_ir(") == inspect.getsource(codegen).count("compile_ir(") > 0
    original = nvvm.compile_ir
    with cuda.without_contraction():
        assert nvvm.compile_ir.func is original
        assert nvvm.compile_ir.keywords == {"fma": False}
    assert nvvm.compile_ir is original


CHECKED = """
import numpy as np
import catena as ct
from catena.engine.cuda import members as cuda

kepler = ct.problems.kepler()
starts = {"q": [[0.4, 0.0], [0.5, 0.1], [1.0, 0.0]], "p": [[0.0, 2.0], [0.1, 1.4], [0.0, 1.0]]}
options = dict(dt=0.05, steps=45, every=2, keep="samples", device="cuda")
texts = []
load = cuda.load
cuda.load = lambda text, title: (texts.append(text), load(text, title))[1]
ct.ensemble(kepler.system, starts, ct.RK4(), **options)
ct.ensemble(kepler.system, starts, ct.Splitting(4), **options)
print(all("_edge(" in text and "_at(" in text for text in texts), len(texts))
"""


@pytest.mark.slow
def test_members_on_the_gpu_stay_within_their_arrays() -> None:
    """Every subscript of the GPU's code is checked in its simulator; one that leaves an array would end the process."""
    assert run_python(CHECKED, NUMBA_ENABLE_CUDASIM=1, CATENA_DEBUG=1)[0].split() == ["True", "2"]


SHARED = """
import catena as ct
from catena.engine.cuda import members as cuda

spring = ct.Hamiltonian("p**2/2 + q**2/2")
one, other = (cuda.build(spring, ct.Langevin(1.0, friction, seed=seed)) for friction, seed in ((1.0, 1), (2.0, 2)))
print(one.kernel is other.kernel)
"""


def test_pairs_that_differ_in_numbers_share_a_kernel() -> None:
    """Nobody waits for the compiler because of another seed."""
    assert run_python(SHARED, NUMBA_ENABLE_CUDASIM=1)[0].split() == ["True"]
