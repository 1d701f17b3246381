"""Shapes of element-by-element ops: broadcast, or as the first input."""

from __future__ import annotations

from collections.abc import Sequence

from passes.dims import Atom, Dim, Expr, Shape, minimum
from passes.shapes.registry import Call, Shapes, shape_of


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    """The size two dimensions broadcast to."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    # a size above 1 decides: the other one is equal to it or 1, or the run stops
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    if _cut(b, a):
        return a
    if _cut(a, b):
        return b
    first, second = sorted((a, b), key=str)
    return Expr({(Atom("broadcast", (first, second), 0),): 1})


def _cut(a: Dim, b: Dim) -> bool:
    """Whether `a` is min(b, n) with n above 1: where it is not b, the two do not broadcast and the run stops."""
    if not isinstance(a, Expr) or len(a.terms) != 1:
        return False
    ((mono, factor),) = a.terms.items()
    if factor != 1 or len(mono) != 1 or mono[0].name != "min":
        return False
    other = [d for d in mono[0].args if d != b]
    return len(other) == 1 and minimum(other[0], 0) > 1


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape several shapes broadcast to."""
    result: Shape = ()
    for shape in shapes:
        if shape == result:
            continue
        width = max(len(shape), len(result))
        a = (1,) * (width - len(result)) + result
        b = (1,) * (width - len(shape)) + shape
        result = tuple(x if x == y else broadcast_dim(x, y) for x, y in zip(a, b, strict=True))
    return result


BROADCASTING = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Mod",
    "Max",
    "Min",
    "Sum",
    "Mean",
    "And",
    "Or",
    "Xor",
    "Equal",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "Where",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
]

SAME = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumSum",
    "DequantizeLinear",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "LRN",
    "MeanVarianceNormalization",
    "Mish",
    "Neg",
    "Not",
    "PRelu",
    "QuantizeLinear",
    "Reciprocal",
    "Relu",
    "ReverseSequence",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Scatter",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Trilu",
    "RandomNormalLike",
    "RandomUniformLike",
    "Bernoulli",
    "GroupNormalization",
    "RMSNormalization",
    "EyeLike",
    "RotaryEmbedding",
    "TensorScatter",
    "CumProd",
]


@shape_of(*BROADCASTING)
def broadcasting(call: Call) -> Shapes:
    shapes: list[Shape] = []
    for fact in call.inputs:
        if fact is None or fact.shape is None:
            return None
        shapes.append(fact.shape)
    if call.opset < 7 and call.attr("broadcast", 0):
        return shapes[0]
    return broadcast(shapes)


@shape_of(*SAME)
def same(call: Call) -> Shapes:
    return call.shape(0)


@shape_of("Dropout")
def dropout(call: Call) -> Shapes:
    return [call.shape(0)] * call.n_outputs


@shape_of("BatchNormalization")
def batch_normalization(call: Call) -> Shapes:
    channels = call.shape(1)
    return [call.shape(0)] + [channels] * (call.n_outputs - 1)


@shape_of("LayerNormalization")
def layer_normalization(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return None
    axis = call.attr("axis", -1) % len(x)
    statistics = x[:axis] + (1,) * (len(x) - axis)
    return [x] + [statistics] * (call.n_outputs - 1)


@shape_of("DynamicQuantizeLinear")
def dynamic_quantize_linear(call: Call) -> Shapes:
    return [call.shape(0), (), ()]
