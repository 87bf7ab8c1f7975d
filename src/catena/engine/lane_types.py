"""Numbers of several members side by side, as numba sees them: a type with the arithmetic of `float`, each operation on all lanes at once.

Kernels are plain functions of numbers and arrays; compiled for this type they step as many members as there are lanes. Every operation is
that of IEEE arithmetic in each lane, and none is contracted or reassociated: the bits of a member are those that it has alone.

There is no truth of a comparison of lanes: a kernel that branches on one is not compiled, unless it asks for all of them (`holds`). A function
of numbers that branches, such as a sine, is called for one lane after the other (`by_lane`).
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from types import FunctionType
from typing import TypeAlias

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model

Unknown: TypeAlias = ir.Value  # llvmlite carries no annotations: anything, and so are the things of numba here
Value: TypeAlias = Unknown
Type: TypeAlias = Unknown
Context: TypeAlias = Unknown
Signature: TypeAlias = Unknown
BaseContext: TypeAlias = Unknown
IRBuilder: TypeAlias = Unknown

INDEX = ir.IntType(64)
NUMBERS = (types.Float, types.Integer)


class Lanes(types.Type):
    """A number of each of several members, or at each of several stages of a step."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"lanes{count}")

    @property
    def vector(self) -> ir.VectorType:
        """Of LLVM."""
        return ir.VectorType(ir.DoubleType(), self.count)

    def can_convert_from(self, typingctx: Context, other: Type) -> Conversion | None:
        """A number can be stored where lanes are kept; never chosen where another way is open."""
        return Conversion.unsafe if isinstance(other, NUMBERS) else None

    def unify(self, typingctx: Context, other: Type) -> Type | None:
        """What is a number at first, such as a sum that begins with zero, may become lanes."""
        return self if isinstance(other, NUMBERS) else None


class Truths(types.Type):
    """What a comparison of lanes gives."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"truths{count}")


def _lanes_in(given: Iterable[Type]) -> Lanes | None:
    """The type of the lanes among these, if all others are numbers."""
    kinds = {one for one in given if not isinstance(one, NUMBERS)}
    found = kinds.pop() if len(kinds) == 1 else None
    return found if isinstance(found, Lanes) else None


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: object, kind: Type) -> None:
        super().__init__(manager, kind, kind.vector)


@register_model(Truths)
class _TruthsModel(models.PrimitiveModel):
    def __init__(self, manager: object, kind: Type) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), kind.count))


def _spread(context: BaseContext, builder: IRBuilder, before: Type, after: Type, value: Value) -> Value:
    """The same number in all lanes."""
    number = context.cast(builder, value, before, types.float64)
    one = builder.insert_element(ir.Constant(after.vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), after.count), [0] * after.count)
    return builder.shuffle_vector(one, ir.Constant(after.vector, ir.Undefined), places)


for _kind in NUMBERS:
    lower_cast(_kind, Lanes)(_spread)


# Arithmetic ------------------------------------------------------------------------------------------------------


def _operation(
    operation: Callable[..., object], emit: Callable[..., Value], *arguments: int, result: type[Type] = Lanes
) -> None:
    """Let numba know an operation of so many numbers for lanes, or for lanes and numbers together."""

    @infer_global(operation)
    class OfLanes(AbstractTemplate):  # numba keeps it
        def generic(self, given: Sequence[Type], names: object) -> Signature | None:
            lanes = _lanes_in(given) if len(given) in arguments else None
            return None if lanes is None else signature(result(lanes.count), *[lanes] * len(given))

    def lower(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
        return emit(builder, *values)

    for count in arguments:
        lower_builtin(operation, *[Lanes] * count)(lower)


def _make_call(name: str) -> Callable[..., Value]:
    """An operation that LLVM has as a function, exact or correctly rounded."""

    def emit(builder: IRBuilder, *values: Value) -> Value:
        vector = values[0].type
        signature = ir.FunctionType(vector, [vector] * len(values))
        return builder.call(
            cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.v{vector.count}f64"), values
        )

    return emit


def _make_comparison(sign: str) -> Callable[..., Value]:
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


def _make_choice(sign: str) -> Callable[..., Value]:
    """`max` and `min` as Python has them: a later one if it is larger, else the earlier one, also beside nan."""

    def emit(builder: IRBuilder, *values: Value) -> Value:
        return reduce(lambda a, b: builder.select(builder.fcmp_ordered(sign, b, a), b, a), values)

    return emit


for _name, _ways in (
    ("fadd", (operator.add, operator.iadd)),
    ("fsub", (operator.sub, operator.isub)),
    ("fmul", (operator.mul, operator.imul)),
    ("fdiv", (operator.truediv, operator.itruediv)),
):
    for _way in _ways:
        _operation(_way, lambda builder, a, b, name=_name: getattr(builder, name)(a, b), 2)
for _way, _sign in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
):
    _operation(_way, _make_comparison(_sign), 2, result=Truths)
_operation(operator.ne, lambda builder, a, b: builder.fcmp_unordered("!=", a, b), 2, result=Truths)
_operation(max, _make_choice(">"), *range(2, 9))
_operation(min, _make_choice("<"), *range(2, 9))
_operation(math.copysign, _make_call("copysign"), 2)
_operation(operator.neg, lambda builder, a: builder.fneg(a), 1)
_operation(abs, _make_call("fabs"), 1)
_operation(math.fabs, _make_call("fabs"), 1)
_operation(math.sqrt, _make_call("sqrt"), 1)


@infer_global(operator.pow)
class _Power(AbstractTemplate):
    def generic(self, given: Sequence[Type], names: object) -> Signature | None:
        lanes, exponent = given
        literal = isinstance(lanes, Lanes) and isinstance(exponent, types.IntegerLiteral)
        return signature(lanes, *given) if literal and 0 < exponent.literal_value < 2**16 else None


def _power(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
    """By squares, in the order in which numba multiplies numbers for a literal exponent."""
    exponent, square, product = of.args[1].literal_value, values[0], None
    while exponent:
        if exponent & 1:
            product = square if product is None else builder.fmul(product, square)
        exponent >>= 1
        if exponent:
            square = builder.fmul(square, square)
    return product


lower_builtin(operator.pow, Lanes, types.IntegerLiteral)(_power)


@intrinsic
def multiply_add(typingctx: Context, a: Type, b: Type, c: Type) -> tuple[Signature, Callable[..., Value]]:
    """a b + c, rounded once, of numbers or lanes."""
    kind = _lanes_in((a, b, c)) or types.float64

    def emit(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
        same = [context.cast(builder, v, t, kind) for v, t in zip(values, of.args, strict=True)]
        return _make_call("fma")(builder, *same) if isinstance(kind, Lanes) else builder.fma(*same)

    return kind(a, b, c), emit


@intrinsic
def holds(typingctx: Context, condition: Type) -> tuple[Signature, Callable[..., Value]]:
    """`catena.kernels.lanes.holds`."""

    def emit(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
        if not isinstance(condition, Truths):
            return values[0]
        bits = builder.bitcast(values[0], ir.IntType(condition.count))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(condition.count), -1))

    return types.boolean(condition), emit


@intrinsic
def chosen(typingctx: Context, condition: Type, a: Type, b: Type) -> tuple[Signature, Callable[..., Value]]:
    """`catena.kernels.lanes.chosen`."""
    kind = Lanes(condition.count) if isinstance(condition, Truths) else _lanes_in((a, b)) or types.float64

    def emit(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
        same = [context.cast(builder, v, t, kind) for v, t in zip(values[1:], of.args[1:], strict=True)]
        return builder.select(values[0], *same)

    return kind(condition, types.unliteral(a), types.unliteral(b)), emit


# Arrays ----------------------------------------------------------------------------------------------------------


def _array_type(lanes: Lanes, dimensions: int) -> Type:
    return types.Array(lanes, dimensions, "C", aligned=False)  # numpy promises less than a whole vector


def _array(context: BaseContext, builder: IRBuilder, kind: Type, data: Value, shape: Sequence[Value]) -> Value:
    """An array of lanes in memory that somebody else keeps."""
    made = context.make_array(kind)(context, builder)
    size = ir.Constant(INDEX, 8 * kind.dtype.count)
    step, strides = size, list[object]()
    for length in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, length)
    made.data = data
    made.shape = cgutils.pack_array(builder, shape, ty=INDEX)
    made.strides = cgutils.pack_array(builder, strides, ty=INDEX)
    made.itemsize = size
    made.nitems = builder.udiv(step, made.itemsize)
    made.meminfo = ir.Constant(made.meminfo.type, None)
    made.parent = ir.Constant(made.parent.type, None)
    return made._getvalue()


@cache
def side_by_side(count: int) -> Callable[..., object]:
    """(numbers) -> an array of numbers whose last index is the lane, so many of them, as one of lanes; lanes alone, if it has no other index."""
    lanes = Lanes(count)

    @intrinsic
    def seen(typingctx: Context, numbers: Type) -> tuple[Signature, Callable[..., Value]]:
        kind = _array_type(lanes, numbers.ndim - 1) if numbers.ndim > 1 else lanes

        def emit(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
            given = context.make_array(numbers)(context, builder, values[0])
            data = builder.bitcast(given.data, lanes.vector.as_pointer())
            if numbers.ndim == 1:
                return builder.load(data, align=8)
            return _array(context, builder, kind, data, cgutils.unpack_tuple(builder, given.shape)[:-1])

        return kind(numbers), emit

    return seen


@cache
def room(count: int) -> Callable[..., object]:
    """(length) -> an array of so many lanes, a literal, on the stack: nothing else can point there, so that what it holds can stay in registers."""
    lanes = Lanes(count)

    @intrinsic(prefer_literal=True)
    def made(typingctx: Context, length: Type) -> tuple[Signature, Callable[..., Value]]:
        if not isinstance(length, types.IntegerLiteral):
            raise RequireLiteralValue("length")
        literal, kind = length.literal_value, _array_type(lanes, 1)

        def emit(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
            with builder.goto_entry_block():
                data = builder.alloca(lanes.vector, size=max(1, literal))
            return _array(context, builder, kind, data, [ir.Constant(INDEX, literal)])

        return kind(length), emit

    return made


# Functions that branch -------------------------------------------------------------------------------------------


def by_lane(function: FunctionType) -> Callable[..., object]:
    """A function of numbers that may branch, for lanes as well: there it is called for one after the other.

    It gives a number or a tuple of numbers. A call stays a call, or the loop would contain the function once for each lane. A function that
    takes arrays as well is compiled for lanes like any other.
    """
    names = ", ".join(inspect.signature(function).parameters)
    alone = njit(error_model="numpy", fastmath=False)(function)

    def typed(typingctx: Context, *given: Type) -> tuple[Signature, Callable[..., Value]]:
        lanes = _lanes_in(given)
        numbers = tuple(types.float64 if lanes and one is lanes else types.unliteral(one) for one in given)
        alone.compile(numbers)
        compiled: Unknown = alone.overloads[numbers]
        result = compiled.signature.return_type

        def call(context: BaseContext, builder: IRBuilder, values: Sequence[Value], **how: object) -> Value:
            context.add_linking_libs([compiled.library])
            callee = context.declare_function(builder.module, compiled.fndesc)
            _, made = context.call_conv.call_function(builder, callee, result, numbers, values, **how)
            return made

        def once(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
            return call(context, builder, _cast(context, builder, values, of.args, numbers))

        def emit(context: BaseContext, builder: IRBuilder, of: Signature, values: Sequence[Value]) -> Value:
            assert lanes is not None
            places = [cgutils.alloca_once(builder, lanes.vector) for _ in range(_width(result))]
            given = [
                cgutils.alloca_once_value(builder, v) if t is lanes else v for v, t in zip(values, of.args, strict=True)
            ]
            with cgutils.for_range(builder, ir.Constant(INDEX, lanes.count)) as loop:
                # number by number in memory: a vector with one lane exchanged would wait for all that was stored before
                own = [
                    builder.load(_lane_of(builder, v, loop.index)) if t is lanes else v
                    for v, t in zip(given, of.args, strict=True)
                ]
                made = call(context, builder, own, attrs=("noinline",))
                for k, place in enumerate(places):
                    number = builder.extract_value(made, k) if _is_tuple(result) else made
                    as_double = context.cast(builder, number, _types_in(result)[k], types.float64)
                    builder.store(as_double, _lane_of(builder, place, loop.index))
            gathered = [builder.load(place) for place in places]
            return context.make_tuple(builder, of.return_type, gathered) if _is_tuple(result) else gathered[0]

        if lanes is None:
            return signature(result, *given), once
        together = types.UniTuple(lanes, len(result)) if _is_tuple(result) else lanes
        return signature(together, *(one if one is lanes else types.unliteral(one) for one in given)), emit

    # numba asks for the names of the arguments
    exec(f"def called(typingctx, {names}):\n    return typed(typingctx, {names})", space := {"typed": typed})
    return intrinsic(space["called"])


def _lane_of(builder: IRBuilder, place: Value, index: Value) -> Value:
    """Where one lane of a vector in memory stands."""
    return builder.gep(builder.bitcast(place, ir.DoubleType().as_pointer()), [index])


def _is_tuple(kind: Type) -> bool:
    return isinstance(kind, types.BaseTuple)


def _types_in(kind: Type) -> Sequence[Type]:
    return list(kind) if _is_tuple(kind) else [kind]


def _width(kind: Type) -> int:
    return len(_types_in(kind))


def _cast(
    context: BaseContext, builder: IRBuilder, values: Sequence[Value], before: Iterable[Type], after: Iterable[Type]
) -> list[Value]:
    return [context.cast(builder, v, b, a) for v, b, a in zip(values, before, after, strict=True)]
