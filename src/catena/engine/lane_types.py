"""Numbers of several members side by side: a numba type with the arithmetic of `float`, on all lanes at once.

Kernels are plain functions of numbers and arrays; compiled for this type, they step as many members as there are lanes.
Every operation is that of IEEE arithmetic in each lane, and none is contracted or reassociated: a member has the same
bits as on its own.

A comparison of lanes has no truth value: a kernel that branches on one does not compile, unless it asks for all lanes
(`holds`). A function of numbers that branches, such as a sine, is called for one lane after the other (`by_lane`).
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

Unknown: TypeAlias = ir.Value  # llvmlite has no annotations, so this is Any; the same for objects of numba here
Value: TypeAlias = Unknown
Type: TypeAlias = Unknown
Context: TypeAlias = Unknown
Signature: TypeAlias = Unknown
BaseContext: TypeAlias = Unknown
IRBuilder: TypeAlias = Unknown

INDEX = ir.IntType(64)
NUMBERS = (types.Float, types.Integer)


class Lanes(types.Type):
    """One number for each of several members, or for each of several stages of a step."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"lanes{count}")

    @property
    def vector(self) -> ir.VectorType:
        """The LLVM vector type."""
        return ir.VectorType(ir.DoubleType(), self.count)

    def can_convert_from(self, typingctx: Context, other: Type) -> Conversion | None:
        """A number can be stored in an array of lanes; numba prefers any other conversion."""
        return Conversion.unsafe if isinstance(other, NUMBERS) else None

    def unify(self, typingctx: Context, other: Type) -> Type | None:
        """A variable that starts as a number, such as a sum that starts at zero, may become lanes."""
        return self if isinstance(other, NUMBERS) else None


class Truths(types.Type):
    """Result of a comparison of lanes."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"truths{count}")


def _lanes_in(given: Iterable[Type]) -> Lanes | None:
    """The lane type among these types, if all others are numbers."""
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
    """Register an operation with this number of arguments for lanes, and for lanes mixed with numbers."""

    @infer_global(operation)
    class OfLanes(AbstractTemplate):  # numba keeps a reference
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
    """`max` and `min` as in Python: a later argument if it is larger, else the earlier one, also next to nan."""

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
    """Repeated squaring, in the order in which numba multiplies for a literal exponent."""
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
    """a b + c, rounded once, for numbers or lanes."""
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
    return types.Array(lanes, dimensions, "C", aligned=False)  # numpy guarantees less than the alignment of a vector


def _array(context: BaseContext, builder: IRBuilder, kind: Type, data: Value, shape: Sequence[Value]) -> Value:
    """An array of lanes in memory owned by another object."""
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
    """(array of numbers, last index the lane) -> the same memory as an array of lanes; one Lanes if 1-dimensional."""
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
    """(literal length) -> an array of lanes on the stack.

    Nothing else can point there, so its contents can stay in registers.
    """
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
    """Make a function of numbers that may branch usable on lanes: it is called for one lane after the other.

    It returns a number or a tuple of numbers. A call is not inlined, or the loop would contain the function once for
    each lane. A function that also takes arrays is compiled for lanes like any other.
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
                # element by element in memory: a vector with one lane replaced would wait for all earlier stores
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

    # numba needs the names of the arguments
    exec(f"def called(typingctx, {names}):\n    return typed(typingctx, {names})", space := {"typed": typed})
    return intrinsic(space["called"])


def _lane_of(builder: IRBuilder, place: Value, index: Value) -> Value:
    """Address of one lane of a vector in memory."""
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
