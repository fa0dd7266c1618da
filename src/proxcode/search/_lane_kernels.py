"""A vector of `LANES` 16-bit integers as a type of numba, one lane per query, and operations on single numbers.

LLVM vectorises no loop whose reads it cannot tell from its writes, as those through lookup tables. With an explicit
vector type each operation below is one or few instructions on any processor.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

# Queries that are compared with a code at a time: one register of 512 bits, or two of 256.
LANES = 32

_VECTOR = ir.VectorType(ir.IntType(16), LANES)


class LanesType(types.Type):
    """The numba type of a vector."""

    def __init__(self):
        super().__init__(name=f"Uint16Lanes{LANES}")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, _VECTOR)


_lanes = LanesType()


def _address(context, builder, array_type, array, row):
    """Return the address of entry row * LANES of a contiguous array."""
    data = context.make_array(array_type)(context, builder, array).data
    first = builder.mul(row, ir.Constant(row.type, LANES))
    return builder.bitcast(builder.gep(data, [first]), _VECTOR.as_pointer())


@intrinsic
def load(typingctx, array, row):
    """Return entries row * LANES to (row + 1) * LANES - 1 of a contiguous array of uint16."""

    def codegen(context, builder, signature, args):
        return builder.load(_address(context, builder, signature.args[0], *args), align=2)

    return _lanes(array, types.uint64), codegen


@intrinsic
def store(typingctx, array, row, vector):
    """Write a vector to entries row * LANES to (row + 1) * LANES - 1 of a contiguous array of uint16."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, signature.args[0], *args[:2]), align=2)
        return context.get_dummy_value()

    return types.void(array, types.uint64, _lanes), codegen


@intrinsic
def fill(typingctx, value):
    """Return a vector of equal numbers."""

    def codegen(context, builder, signature, args):
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, args[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, nothing, zeros)

    return _lanes(types.uint16), codegen


@intrinsic
def add(typingctx, a, b):
    """Return a + b."""

    def codegen(context, builder, signature, args):
        return builder.add(*args)

    return _lanes(_lanes, _lanes), codegen


@intrinsic
def smaller(typingctx, a, b):
    """Return the smaller number of each lane."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.icmp_unsigned("<", *args), *args)

    return _lanes(_lanes, _lanes), codegen


@intrinsic
def lanes_below(typingctx, a, b):
    """Return the lanes in which a < b as a bit mask, lane 0 in the lowest bit."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(builder.icmp_unsigned("<", *args), ir.IntType(LANES))

    return types.uint32(_lanes, _lanes), codegen


@intrinsic
def lowest_one(typingctx, mask):
    """Return the number of the lowest bit that is 1."""

    def codegen(context, builder, signature, args):
        return builder.zext(builder.cttz(args[0], ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

    return types.int64(types.uint32), codegen


@intrinsic
def bits_of(typingctx, value):
    """Return the bits of a float32 as a uint32."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.uint32(types.float32), codegen


@intrinsic
def from_bits(typingctx, bits):
    """Return the float32 of these bits."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), codegen


@intrinsic
def add_if(typingctx, total, byte, mask, value):
    """Return total + value if byte & mask is not 0, otherwise the total, all of them uint8."""

    def codegen(context, builder, signature, args):
        zero = ir.Constant(ir.IntType(8), 0)
        is_set = builder.icmp_unsigned("!=", builder.and_(args[1], args[2]), zero)
        return builder.add(args[0], builder.select(is_set, args[3], zero))

    byte_type = types.uint8
    return byte_type(byte_type, byte_type, byte_type, byte_type), codegen
