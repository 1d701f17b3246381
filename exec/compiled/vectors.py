"""Vectors of float32 inside numba: a type, and the operations kernels are written in.

A kernel says which vector it loads, multiplies and stores, instead of hoping that a loop will be vectorized: no fastmath, no aliasing
checks, the full width of the machine. Addresses are int64; a load or store through one knows no bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exec.compiled.toolchain import OPTIONS, numba

nb = numba()

from llvmlite import binding, ir  # noqa: E402
from numba.core import cgutils as _cgutils  # noqa: E402
from numba.core import types  # noqa: E402
from numba.extending import intrinsic, models, register_model  # noqa: E402

njit = nb.njit
cgutils: Any = _cgutils  # numba types some of its functions, not these


@dataclass(frozen=True, slots=True)
class Shape:
    """What the machine's registers hold.

    lanes    floats per vector
    rows     rows of a product's register tile; columns its vectors per row
    """

    lanes: int
    rows: int
    columns: int


def machine_shape() -> Shape:
    """The register tile for this CPU: as many accumulators as leave room for the operands."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return Shape(16, 8, 3)
    if features.get("avx2") and features.get("fma"):
        return Shape(8, 4, 3)
    if features.get("neon") or features.get("asimd"):
        return Shape(4, 8, 3)
    return Shape(4, 4, 2)


SHAPE = machine_shape()
SCALES = bool(binding.get_host_cpu_features().get("avx512f"))
"""Whether one instruction multiplies by a power of two."""

LANES, ROWS, COLUMNS = SHAPE.lanes, SHAPE.rows, SHAPE.columns
PANEL = LANES * COLUMNS

F32 = ir.FloatType()
I32, I64 = ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(F32, LANES)
INTEGERS = ir.VectorType(I32, LANES)
MASK = ir.VectorType(ir.IntType(1), LANES)


class VectorType(types.Type):
    """The numba type of a vector of LANES float32."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


vector = VectorType()


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):
    """A vector is one LLVM vector register."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def constant(value: float) -> ir.Constant:
    """All lanes `value`."""
    return ir.Constant(VECTOR, [value] * LANES)


def splat(builder: Any, scalar: Any, kind: Any = VECTOR) -> Any:
    """All lanes `scalar`."""
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, scalar, I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(INTEGERS, [0] * LANES))


def pointer(builder: Any, address: Any, kind: Any = VECTOR) -> Any:
    """An address as a pointer."""
    return builder.inttoptr(address, kind.as_pointer())


def llvm(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """A call of an LLVM intrinsic."""
    kind = ir.FunctionType(result, [a.type for a in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), list(arguments))


SUFFIX = f"v{LANES}f32"


def first_lanes(builder: Any, count: Any) -> Any:
    """A mask of the first `count` (int64) lanes."""
    index = ir.Constant(INTEGERS, list(range(LANES)))
    return builder.icmp_signed("<", index, splat(builder, builder.trunc(count, I32), INTEGERS))


def define(result: Any, arguments: tuple[Any, ...], body: Callable[..., Any]) -> Any:
    """An intrinsic of fixed types whose code `body(builder, *values)` writes."""
    signature = result(*arguments)

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        made = body(builder, *values)
        return context.get_dummy_value() if result is types.void else made

    names = [f"a{k}" for k in range(len(arguments))]
    source = f"def operation(typingctx, {', '.join(names)}):\n    return signature, generate\n"
    scope: dict[str, Any] = {"signature": signature, "generate": generate}
    exec(source, scope)
    return intrinsic(scope["operation"])


def _load(builder: Any, address: Any) -> Any:
    made = builder.load(pointer(builder, address))
    made.align = 4
    return made


def _store(builder: Any, address: Any, value: Any) -> None:
    builder.store(value, pointer(builder, address)).align = 4


def _load_first(builder: Any, address: Any, count: Any) -> Any:
    name = f"llvm.masked.load.{SUFFIX}.p0"
    return llvm(builder, name, VECTOR, pointer(builder, address), I32(4), first_lanes(builder, count), constant(0.0))


def _store_first(builder: Any, address: Any, value: Any, count: Any) -> None:
    name = f"llvm.masked.store.{SUFFIX}.p0"
    llvm(builder, name, ir.VoidType(), value, pointer(builder, address), I32(4), first_lanes(builder, count))


def _broadcast(builder: Any, address: Any) -> Any:
    scalar = builder.load(pointer(builder, address, F32))
    scalar.align = 4
    return splat(builder, scalar)


def _gather(builder: Any, address: Any, stride: Any, count: Any) -> Any:
    """Lane k from address + k·stride bytes, for the first `count` lanes; the rest is 0."""
    wide = ir.VectorType(I64, LANES)
    index = ir.Constant(wide, list(range(LANES)))
    undefined = ir.Constant(wide, ir.Undefined)
    zeros = ir.Constant(INTEGERS, [0] * LANES)

    def spread(scalar: Any) -> Any:
        return builder.shuffle_vector(builder.insert_element(undefined, scalar, I32(0)), undefined, zeros)

    places = builder.add(spread(address), builder.mul(index, spread(stride)))
    pointers = builder.inttoptr(places, ir.VectorType(F32.as_pointer(), LANES))
    name = f"llvm.masked.gather.{SUFFIX}.v{LANES}p0"
    return llvm(builder, name, VECTOR, pointers, I32(4), first_lanes(builder, count), constant(0.0))


def _load_even(builder: Any, address: Any, count: Any) -> Any:
    """Lane k from address + 8·k bytes for the first `count` lanes; no byte beyond the last wanted one is read."""
    twice = builder.sub(builder.mul(count, I64(2)), I64(1))
    low = _load_first(builder, address, twice)
    high = _load_first(builder, builder.add(address, I64(4 * LANES)), builder.sub(twice, I64(LANES)))
    return builder.shuffle_vector(low, high, ir.Constant(INTEGERS, [2 * k for k in range(LANES)]))


def _every_other(builder: Any, first: Any, second: Any, start: int) -> Any:
    """Lanes `start`, `start` + 2, … of two vectors behind each other."""
    lanes = [start + 2 * k for k in range(LANES)]
    return builder.shuffle_vector(first, second, ir.Constant(INTEGERS, lanes))


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return llvm(builder, f"llvm.fma.{SUFFIX}", VECTOR, a, b, c)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _exp(builder: Any, x: Any) -> Any:
    """e^x: 2^n by the exponent bits, the rest by a polynomial on ±ln(2)/2; relative error 2e-7, 0 below -104, inf above 89.

    NaN stays NaN.
    """
    low, high = constant(-104.0), constant(89.0)
    kept = _larger(builder, low, _smaller(builder, high, x))
    n = llvm(builder, f"llvm.rint.{SUFFIX}", VECTOR, builder.fmul(kept, constant(1.4426950408889634)))
    r = _fma(builder, n, constant(-0.693145751953125), kept)
    r = _fma(builder, n, constant(-1.428606765330187e-06), r)
    y = constant(1.9875691500e-4)
    for coefficient in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        y = _fma(builder, y, r, constant(coefficient))
    y = _fma(builder, y, builder.fmul(r, r), builder.fadd(r, constant(1.0)))
    return builder.select(builder.fcmp_unordered("uno", x, x), x, _scaled(builder, y, n))


def _scaled(builder: Any, y: Any, n: Any) -> Any:
    """y · 2^n for whole n, which may leave the range of a normal exponent while the product does not."""
    if SCALES:
        everywhere = ir.Constant(ir.IntType(LANES), -1)
        return llvm(builder, "llvm.x86.avx512.mask.scalef.ps.512", VECTOR, y, n, y, everywhere, I32(4))
    whole = builder.fptosi(n, INTEGERS)
    half = builder.ashr(whole, ir.Constant(INTEGERS, [1] * LANES))
    for part in (half, builder.sub(whole, half)):
        bits = builder.shl(builder.add(part, ir.Constant(INTEGERS, [127] * LANES)), ir.Constant(INTEGERS, [23] * LANES))
        y = builder.fmul(y, builder.bitcast(bits, VECTOR))
    return y


def _sum(builder: Any, x: Any) -> Any:
    kind = ir.FunctionType(F32, [F32, VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.{SUFFIX}")
    return builder.call(function, [ir.Constant(F32, 0.0), x], fastmath=("reassoc",))


def _largest(builder: Any, x: Any) -> Any:
    return llvm(builder, f"llvm.vector.reduce.fmax.{SUFFIX}", F32, x)


def _get(builder: Any, address: Any) -> Any:
    made = builder.load(pointer(builder, address, F32))
    made.align = 4
    return made


def _put(builder: Any, address: Any, value: Any) -> None:
    builder.store(value, pointer(builder, address, F32)).align = 4


def _get_int(builder: Any, address: Any) -> Any:
    return builder.load(pointer(builder, address, I64))


def _get_byte(builder: Any, address: Any) -> Any:
    return builder.zext(builder.load(pointer(builder, address, ir.IntType(8))), I64)


def _get_word(builder: Any, address: Any) -> Any:
    return builder.sext(builder.load(pointer(builder, address, I32)), I64)


def _put_word(builder: Any, address: Any, value: Any) -> None:
    builder.store(builder.trunc(value, I32), pointer(builder, address, I32))


INT, FLOAT, VEC = types.int64, types.float32, vector


def caller(kinds: str) -> Any:
    """An intrinsic that calls a part: its first argument is the address, the others are the part's, of these kinds."""
    split = kinds.split()
    arguments = tuple(INT if kind == "i" else FLOAT for kind in split)
    kind = ir.FunctionType(ir.VoidType(), [I64 if k == "i" else F32 for k in split])

    def body(builder: Any, address: Any, *values: Any) -> None:
        builder.call(builder.inttoptr(address, kind.as_pointer()), list(values))

    return define(types.void, (INT, *arguments), body)


load = define(VEC, (INT,), _load)
store = define(types.void, (INT, VEC), _store)
load_first = define(VEC, (INT, INT), _load_first)
store_first = define(types.void, (INT, VEC, INT), _store_first)
broadcast = define(VEC, (INT,), _broadcast)
gather = define(VEC, (INT, INT, INT), _gather)
load_even = define(VEC, (INT, INT), _load_even)
fill = define(VEC, (FLOAT,), splat)
evens = define(VEC, (VEC, VEC), lambda b, x, y: _every_other(b, x, y, 0))
odds = define(VEC, (VEC, VEC), lambda b, x, y: _every_other(b, x, y, 1))
add = define(VEC, (VEC, VEC), lambda b, x, y: b.fadd(x, y))
subtract = define(VEC, (VEC, VEC), lambda b, x, y: b.fsub(x, y))
multiply = define(VEC, (VEC, VEC), lambda b, x, y: b.fmul(x, y))
divide = define(VEC, (VEC, VEC), lambda b, x, y: b.fdiv(x, y))
fma = define(VEC, (VEC, VEC, VEC), _fma)
larger = define(VEC, (VEC, VEC), _larger)
smaller = define(VEC, (VEC, VEC), _smaller)
choose_less = define(VEC, (VEC, VEC, VEC, VEC), lambda b, x, y, yes, no: b.select(b.fcmp_ordered("<", x, y), yes, no))
root = define(VEC, (VEC,), lambda b, x: llvm(b, f"llvm.sqrt.{SUFFIX}", VECTOR, x))
absolute = define(VEC, (VEC,), lambda b, x: llvm(b, f"llvm.fabs.{SUFFIX}", VECTOR, x))
floor = define(VEC, (VEC,), lambda b, x: llvm(b, f"llvm.floor.{SUFFIX}", VECTOR, x))
ceil = define(VEC, (VEC,), lambda b, x: llvm(b, f"llvm.ceil.{SUFFIX}", VECTOR, x))
rint = define(VEC, (VEC,), lambda b, x: llvm(b, f"llvm.rint.{SUFFIX}", VECTOR, x))
exp = define(VEC, (VEC,), _exp)
total = define(FLOAT, (VEC,), _sum)
largest = define(FLOAT, (VEC,), _largest)
get = define(FLOAT, (INT,), _get)
put = define(types.void, (INT, FLOAT), _put)
get_int = define(INT, (INT,), _get_int)
get_byte = define(INT, (INT,), _get_byte)
get_word = define(INT, (INT,), _get_word)
put_word = define(types.void, (INT, INT), _put_word)


def helper(function: Callable[..., Any]) -> Any:
    """A function kernels call; compiled into them."""
    return njit(**OPTIONS)(function)
