"""What a collected kernel becomes: compiled for the processor, for CUDA, or plain Python.

The functions of a generated module are the same in all three; only the header and the entry differ.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection, Sequence

from . import bounds, calls
from .collector import Part
from .numba_private import KNOWN

STRICT = 'error_model="numpy", fastmath=False'  # strict IEEE: nothing else of how it is compiled may change a bit
# what `if` becomes inside of an expression; a choice is no branch for a compiler
CHOOSING = """\
@_inline
def _holds(condition):
    return condition
@_inline
def _chosen(condition, a, b):
    return a if condition else b
"""
# `_nrt=False` (private in numba) makes every allocation a compile error
# and spares the reference counting of slices; callees without wrappers compile faster.
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
# A call hands over every array in seven parts: in the loops of a small system that costs more than the arithmetic.
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
# What kernels on lanes and elementary functions need: functions that always become part of the loop around them, fused multiply-adds,
# the bits of numbers, tables, indices without sign.
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
# Four numbers at a time: vectors where they are compiled for a processor, tuples elsewhere.
FOURS = {
    CPU: """\
from catena.engine.fours import on_vectors
_vector = share(on_vectors, "vector")
""",
    PYTHON: "_vector = _fn\n",
    CUDA: "_vector = _fn\n",
}
# What random numbers need: a product of integers that may use all bits. numba multiplies integers with `nsw`, that is, as if
# none ever overflowed, and the compiler concludes what the sign must be.
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
    # a GPU has an instruction for it, which its compiler does not find by itself; the simulator is plain Python
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
# what threads need that share a state
TOGETHER = """\
@_fn
def _together():
    cuda.syncthreads()
"""
# what the equations of a top read instead of `par`; a tuple has its names in plain Python, too
SPUN = """\
_spun = namedtuple("_spun", ("inverse", "frame", "potential"))
"""
# numba leaves the packing of straight-line code (superword-level parallelism) off. It serves methods whose stages lie
# side by side and slows others down, so it is switched on while such an entry is compiled, and only then.
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

# What checked subscripts need; those of a GPU are checked in its simulator, which is plain Python.
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
    """Text of a module: header, parameters, the functions, and the last of them as `advance`; checked by `bounds` if asked for.

    last : what ends the header, after all that the functions turn out to need
    """
    return _write(title, tuple(parts), tuple(par), header, entry, last, checked, tuple(with_ground))


@functools.lru_cache(maxsize=32)  # short runs of the same system would spend their time on this
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
        # what is checked is compiled apart: all in one function takes minutes
        header = base + CHECKS[base] + header.removeprefix(base).replace(INLINED, "")
        parts = tuple(bounds.add_checks(part, with_ground) for part in parts)
    fewer: list[str] = []
    if header.startswith(CPU) and not checked:
        types = {name: f"{dtype} {dimensions}" for name, dimensions, dtype in par}
        # straight-line code that is packed takes twice the time to compile if all of it is one function
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
    # numba compares namedtuple types by their name: the name must differ wherever the arrays differ, and only there, so that
    # functions of several modules can be the same
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
    if len(set(members)) == 1:  # numba has a type of its own for this
        return f"types.NamedUniTuple({members[0]}, {len(members)}, Parameters)"
    return f"types.NamedTuple(({', '.join(members)}), Parameters)"
