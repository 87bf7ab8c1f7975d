"""What a collected kernel becomes: code compiled for the CPU, for CUDA, or plain Python.

The functions of a generated module are the same in all three; only the header and the entry differ.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection, Sequence

from . import bounds, calls
from .collector import Part
from .numba_private import KNOWN

STRICT = 'error_model="numpy", fastmath=False'  # strict IEEE: compiler options must not change a bit
# the expression form of `if`: to a compiler a selection is not a branch
CHOOSING = """\
@_inline
def _holds(condition):
    return condition
@_inline
def _chosen(condition, a, b):
    return a if condition else b
"""
# `_nrt=False` (private in numba) makes every allocation a compile error and avoids reference counting of slices.
# Callees without wrappers compile faster.
CPU = f"""\
import math
from catena.engine.sharing import namedtuple, share
from numba import njit, types, version_info
_known = version_info[:2] == {KNOWN}
_strict = dict({STRICT}, _nrt=False) if _known else dict({STRICT})
_inner = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True)
_fn = _apart = share(njit(**_strict, **_inner), "fn")
_inline = share(njit(inline="always", **_strict, **_inner), "inline")
{CHOOSING}"""
# A call passes every array in seven parts: in the loops of a small system this costs more than the arithmetic.
INLINED = """\
_fn = share(njit(forceinline=True, **_strict, **_inner), "within")
"""
PYTHON = """\
import math
from collections import namedtuple
_fn = _apart = _inline = _holds = lambda function: function
def _chosen(condition, a, b):
    return a if condition else b
"""
CUDA = f"""\
import math
from catena.engine.sharing import namedtuple
from numba import cuda
_fn = cuda.jit(device=True, fastmath=False)
_apart = _inline = _fn
{CHOOSING}"""
# For kernels on lanes and elementary functions: functions that are always inlined into the loop around them, fused
# multiply-adds, the bits of numbers, tables, unsigned indices.
LANES = {
    CPU: """\
from numba.extending import intrinsic
intrinsic = share(intrinsic, "intrinsic")
_within = share(njit(forceinline=True, **_strict, **_inner), "within")
@intrinsic
def _multiply_add(context, a, b, c):
    def emit(context, builder, signature, numbers):
        return builder.fma(*numbers)
    return types.float64(types.float64, types.float64, types.float64), emit
@intrinsic
def _counted(context, index):
    def emit(context, builder, signature, numbers):
        return numbers[0]
    return types.uint64(types.int64), emit
@intrinsic
def _as_integer(context, x):
    def emit(context, builder, signature, numbers):
        return builder.bitcast(numbers[0], context.get_value_type(types.int64))
    return types.int64(types.float64), emit
@intrinsic
def _as_double(context, bits):
    def emit(context, builder, signature, numbers):
        return builder.bitcast(numbers[0], context.get_value_type(types.float64))
    return types.float64(types.int64), emit
_held = namedtuple("_held", ("pair",))
_linked = namedtuple("_linked", ("link",))
from numpy import array as _table
""",
    PYTHON: """\
from catena.kernels.fused import as_double as _as_double, as_integer as _as_integer
from catena.kernels.fused import counted as _counted, held as _held, linked as _linked, multiply_add as _multiply_add
_within = _fn
_table = tuple
""",
    CUDA: """\
from numba import config
if config.ENABLE_CUDASIM:  # whose fma rounds twice, and which has no bits of numbers
    from catena.kernels.fused import as_double as _as_double, as_integer as _as_integer
    from catena.kernels.fused import held as _held, linked as _linked, multiply_add as _multiply_add
    _table = tuple
else:
    from numba.cuda import libdevice
    from numpy import array as _table
    _held = namedtuple("_held", ("pair",))
    _linked = namedtuple("_linked", ("link",))
    @_fn
    def _as_integer(x):
        return libdevice.double_as_longlong(x)
    @_fn
    def _as_double(bits):
        return libdevice.longlong_as_double(bits)
    @_fn
    def _multiply_add(a, b, c):
        return cuda.fma(a, b, c)  # numba knows it by this name only, not by another
_within = _fn
@_fn
def _counted(index):
    return index
""",
}
# Four numbers at a time: vectors if compiled for a CPU, tuples otherwise.
FOURS = {
    CPU: """\
from catena.engine.fours import on_vectors
_vector = share(on_vectors, "vector")
""",
    PYTHON: "_vector = _fn\n",
    CUDA: "_vector = _fn\n",
}
# For random numbers: a product of integers that may use all bits. numba multiplies integers with `nsw`, which tells the
# compiler that they never overflow, and the compiler draws conclusions about the sign.
WIDE = {
    CPU: """\
from numba.extending import intrinsic
intrinsic = share(intrinsic, "intrinsic")
@intrinsic
def _wide_product(context, a, b):
    def emit(context, builder, signature, numbers):
        return builder.mul(*numbers)
    return types.int64(types.int64, types.int64), emit
""",
    PYTHON: """\
from catena.kernels.noise import wide_product as _wide_product
""",
    # a GPU has an instruction for this, which its compiler does not find; the simulator is plain Python
    CUDA: """\
from numba import config, types
if config.ENABLE_CUDASIM:
    from catena.kernels.noise import wide_product as _wide_product
else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic
    @intrinsic
    def _wide_product(context, a, b):
        def emit(context, builder, signature, numbers):
            word, wide = ir.IntType(32), ir.IntType(64)
            product = ir.InlineAsm(ir.FunctionType(wide, [word, word]), "mul.wide.u32 $0, $1, $2;", "=l,r,r")
            return builder.call(product, [builder.trunc(number, word) for number in numbers])
        return types.int64(types.int64, types.int64), emit
""",
}
# for threads that share a state
TOGETHER = """\
@_fn
def _together():
    cuda.syncthreads()
"""
# what the equations of a top read instead of `par`; a tuple with names, so that it works in plain Python, too
SPUN = """\
_spun = namedtuple("_spun", ("inverse", "frame", "potential"))
"""
# numba disables the vectorisation of straight-line code (superword-level parallelism). It helps methods whose stages
# are stored side by side and slows down others, so it is enabled while such an entry is compiled, and only then.
PACKED = """\
from numba import config
def _packed(compile):
    def compiled(function):
        config.reload_config()
        before = config.SLP_VECTORIZE
        config.SLP_VECTORIZE = 1
        try:
            return compile(function)
        finally:
            config.SLP_VECTORIZE = before
    return compiled
"""

# For checked subscripts; those of a GPU are checked in its simulator, which is plain Python.
CHECKS = {CPU: bounds.COMPILED, PYTHON: bounds.PLAIN, CUDA: bounds.PLAIN}

ArrayType = tuple[str, int, str]  # name, number of dimensions, dtype


def module_text(
    title: str,
    parts: Sequence[Part],
    par: Sequence[ArrayType],
    *,
    header: str,
    entry: str,
    last: str = "",
    checked: bool = False,
    with_ground: Collection[str] = (),
) -> str:
    """Text of a module: header, parameters, functions, the last of them as `advance`; with `bounds` checks on request.

    last : end of the header, after the parts that the functions turn out to need
    """
    return _write(title, tuple(parts), tuple(par), header, entry, last, checked, tuple(with_ground))


@functools.lru_cache(maxsize=32)  # otherwise it would dominate short runs of the same system
def _write(
    title: str,
    parts: tuple[Part, ...],
    par: tuple[ArrayType, ...],
    header: str,
    entry: str,
    last: str,
    checked: bool,
    with_ground: tuple[str, ...],
) -> str:
    if checked:
        base = next(base for base in CHECKS if header.startswith(base))
        # checked functions are not inlined: all in one function would take minutes to compile
        header = base + CHECKS[base] + header.removeprefix(base).replace(INLINED, "")
        parts = tuple(bounds.add_checks(part, with_ground) for part in parts)
    fewer: list[str] = []
    if header.startswith(CPU) and not checked:
        types = {name: f"{dtype} {dimensions}" for name, dimensions, dtype in par}
        # vectorised straight-line code takes twice as long to compile if it is all one function
        fewer, arranged = calls.narrow(parts if PACKED in header else calls.within_their_callers(parts), types)
        parts = tuple(arranged)
    if any(part.mark in ("within", "table") or "_multiply_add(" in part.text for part in parts):
        header += next(more for base, more in LANES.items() if header.startswith(base))
    if any(part.mark == "vector" for part in parts):
        header += FOURS[PYTHON] if checked else next(more for base, more in FOURS.items() if header.startswith(base))
    if any("_wide_product(" in part.text for part in parts):
        header += next(more for base, more in WIDE.items() if header.startswith(base))
    if any("_together(" in part.text for part in parts):
        header += TOGETHER
    if any("_spun(" in part.text for part in parts):
        header += SPUN
    header += last
    listing = [f"# {title}", "# Parts, in order of definition:"]
    listing += [f"#   {part.name}: {part.origin}" for part in parts]
    # numba compares namedtuple types by name: the name must differ if and only if the arrays differ, so that
    # several modules can share functions
    unique = hashlib.sha256(repr(list(par)).encode()).hexdigest()[:12]
    fields = tuple(name for name, _, _ in par)
    lines = [*listing, header, f'Parameters_{unique} = namedtuple("Parameters_{unique}", {fields})']
    lines += [f"Parameters = Parameters_{unique}", *fewer]
    for part in parts[:-1]:
        mark = [] if part.mark == "table" else [f"@_{part.mark}"]
        lines += ["", f"# {part.origin}", *mark, part.text]
    loop = parts[-1]
    lines += ["", f"# {loop.origin}", entry.replace("Parameters", f"Parameters_{unique}")]
    lines += [loop.text.replace(f"def {loop.name}(", "def advance(", 1), ""]
    return "\n".join(lines)


def cpu_function(result: str, arguments: Sequence[str]) -> str:
    """Decorator of an entry with these types."""
    return f"@njit({result}({', '.join(arguments)}), nogil=True, cache=_known, no_cfunc_wrapper=True, **_strict)"


def array_type(dimensions: int, dtype: str = "float64") -> str:
    """Type of a contiguous array."""
    return f"types.{dtype}[{':, ' * (dimensions - 1)}::1]"


def parameters_type(par: Sequence[ArrayType]) -> str:
    """Type of `par`."""
    members = [array_type(dimensions, dtype) for _, dimensions, dtype in par]
    if len(set(members)) == 1:  # numba has a separate type for this
        return f"types.NamedUniTuple({members[0]}, {len(members)}, Parameters)"
    return f"types.NamedTuple(({', '.join(members)}), Parameters)"
