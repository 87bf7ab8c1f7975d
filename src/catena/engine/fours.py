"""`catena.kernels.fours` and `eights` for a CPU: an LLVM vector, each function one or two instructions.

A CPU with narrower registers needs two of them for eight numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from ..kernels import eights, fours

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core.base import BaseContext
    from numba.core.types import Type
    from numba.core.typing.templates import Signature

PLACE = ir.IntType(32)
ALIGNED = 8  # bytes: guaranteed alignment of the numbers of an array

Emit = "Callable[[IRBuilder, Sequence[Type], Sequence[Value], BaseContext], Value]"


class Vector(types.Type):
    """A vector of `count` numbers."""

    def __init__(self, count: int) -> None:
        super().__init__(f"vector of {count}")
        self.count = count
        self.made_of = ir.VectorType(ir.DoubleType(), count)


four, eight = Vector(4), Vector(8)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: object, kind: Vector) -> None:
        super().__init__(manager, kind, kind.made_of)


def _make(count: int, result: Callable[..., Type], emit: Callable[..., Value]) -> object:
    """An intrinsic with this number of arguments; emit(builder, context, types, values) writes its instructions."""

    def typed(kinds: Sequence[Type]) -> tuple[Signature, Callable[..., Value]]:
        def written(context: BaseContext, builder: IRBuilder, signature: Signature, values: Sequence[Value]) -> Value:
            return emit(builder, context, signature.args, values)

        return result(*kinds)(*kinds), written

    forms: dict[int, Callable[..., object]] = {
        1: lambda context, a: typed((a,)),
        2: lambda context, a, b: typed((a, b)),
        3: lambda context, a, b, c: typed((a, b, c)),
        4: lambda context, a, b, c, d: typed((a, b, c, d)),
    }
    return intrinsic(forms[count])


def _address(builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]) -> Value:
    array = context.make_array(kinds[0])(context, builder, values[0])
    return builder.gep(array.data, [values[1]])


def _load(
    kind: Vector, builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]
) -> Value:
    place = builder.bitcast(_address(builder, context, kinds, values), kind.made_of.as_pointer())
    return builder.load(place, align=ALIGNED)


def _store(
    kind: Vector, builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]
) -> Value:
    place = builder.bitcast(_address(builder, context, kinds, values), kind.made_of.as_pointer())
    builder.store(values[2], place, align=ALIGNED)
    return context.get_dummy_value()


def _spread(kind: Vector, builder: IRBuilder, number: Value) -> Value:
    nothing = ir.Constant(kind.made_of, ir.Undefined)
    one = builder.insert_element(nothing, number, PLACE(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(PLACE, kind.count), [0] * kind.count))


def _same(
    kind: Vector, builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]
) -> Value:
    return _spread(kind, builder, context.cast(builder, values[0], kinds[0], types.float64))


def _parts(
    kind: Vector, builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]
) -> Value:
    parts = [builder.extract_element(values[0], PLACE(place)) for place in range(kind.count)]
    return context.make_tuple(builder, types.UniTuple(types.float64, kind.count), parts)


def _load_same(builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]) -> Value:
    return _spread(four, builder, builder.load(_address(builder, context, kinds, values)))


def _join(builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]) -> Value:
    made = ir.Constant(four.made_of, ir.Undefined)
    for place, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        made = builder.insert_element(made, context.cast(builder, value, kind, types.float64), PLACE(place))
    return made


def _operation(name: str) -> Callable[..., Value]:
    return lambda builder, context, kinds, values: getattr(builder, name)(*values)


def _square(builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]) -> Value:
    return builder.fmul(values[0], values[0])


def _larger(builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]) -> Value:
    return builder.select(builder.fcmp_ordered(">", *values), *values)


def _fuse(builder: IRBuilder, context: BaseContext, kinds: Sequence[Type], values: Sequence[Value]) -> Value:
    signature = ir.FunctionType(four.made_of, [four.made_of] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, "llvm.fma.v4f64"), values)


def _of(
    kind: Vector,
    load: Callable[..., object],
    store: Callable[..., object],
    same: Callable[..., object],
    parts: Callable[..., object],
) -> dict[Callable[..., object], object]:
    """Intrinsics that load, store, fill and split vectors of this kind."""
    return {
        load: _make(2, lambda *_: kind, partial(_load, kind)),
        store: _make(3, lambda *_: types.void, partial(_store, kind)),
        same: _make(1, lambda *_: kind, partial(_same, kind)),
        parts: _make(1, lambda *_: types.UniTuple(types.float64, kind.count), partial(_parts, kind)),
    }


VECTORS: dict[Callable[..., object], object] = {
    **_of(four, fours.load_four, fours.store_four, fours.same_four, fours.parts_of_four),
    fours.load_same: _make(2, lambda *_: four, _load_same),
    fours.join_four: _make(4, lambda *_: four, _join),
    fours.add_four: _make(2, lambda *_: four, _operation("fadd")),
    fours.subtract_four: _make(2, lambda *_: four, _operation("fsub")),
    fours.multiply_four: _make(2, lambda *_: four, _operation("fmul")),
    fours.fuse_four: _make(3, lambda *_: four, _fuse),
    **_of(eight, eights.load_eight, eights.store_eight, eights.same_eight, eights.parts_of_eight),
    eights.add_eight: _make(2, lambda *_: eight, _operation("fadd")),
    eights.multiply_eight: _make(2, lambda *_: eight, _operation("fmul")),
    eights.square_eight: _make(1, lambda *_: eight, _square),
    eights.larger_eight: _make(2, lambda *_: eight, _larger),
}
NAMES = {function.__name__: made for function, made in VECTORS.items()}


def on_vectors(function: FunctionType) -> object:
    """The vector form of a function of `catena.kernels.fours` or `eights`; generated names start with the module."""
    return NAMES[function.__name__.removeprefix("kernels_fours_").removeprefix("kernels_eights_")]
