"""What a node costs in principle: multiply-adds, floating-point operations, parameters and bytes, from shapes alone.

A multiply-add is two operations. Elementwise functions count what a vector unit does for them, roughly; moves count nothing but
their bytes, and an op that only looks at memory in another way moves none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exec.specs import Spec

Shapes = Sequence[Spec | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run of one node.

    macs            multiply-adds of convolutions and matrix products
    flops           operations, 2·macs included
    bytes_read      inputs, weights included; bytes_written outputs
    weight_elements parameters among the inputs; weight_bytes their bytes
    """

    macs: int = 0
    flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    weight_elements: int = 0
    weight_bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.macs + other.macs,
            self.flops + other.flops,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
            self.weight_elements + other.weight_elements,
            self.weight_bytes + other.weight_bytes,
        )

    @property
    def intensity(self) -> float:
        """Operations per byte moved; infinite where nothing is moved."""
        moved = self.bytes_read + self.bytes_written
        return self.flops / moved if moved else math.inf


VIEWS = frozenset(
    (
        "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Shape", "Size", "Constant", "Transpose",
        "Slice", "Split", "Expand",
    )
)  # fmt: skip
"""Ops that need not touch a value's memory."""

PER_ELEMENT: dict[str, int] = {
    **dict.fromkeys(
        (
            "Add", "Sub", "Mul", "Neg", "Abs", "Relu", "Max", "Min", "Sum", "Clip", "Floor", "Ceil", "Round", "Sign",
            "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Not", "Xor", "Where",
            "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift", "IsNaN", "IsInf", "PRelu", "LeakyRelu",
            "ThresholdedRelu", "Cast", "CumSum", "Mean", "DequantizeLinear", "MaxUnpool", "Shrink", "Trilu",
        ),
        1,
    ),
    "PRelu": 2, "LeakyRelu": 2, "DequantizeLinear": 2, "QuantizeLinear": 4, "DynamicQuantizeLinear": 6,
    "Div": 4, "Reciprocal": 4, "Sqrt": 4, "Mod": 5, "Pow": 10, "Exp": 8, "Log": 8, "Sin": 8, "Cos": 8, "Tan": 10,
    "Asin": 10, "Acos": 10, "Atan": 10, "Sinh": 10, "Cosh": 10, "Asinh": 12, "Acosh": 12, "Atanh": 12, "Erf": 12,
    "Sigmoid": 10, "Tanh": 10, "Softplus": 16, "Softsign": 5, "Elu": 10, "Selu": 10, "Celu": 12, "Mish": 20,
    "HardSigmoid": 3, "HardSwish": 4, "Gelu": 15, "FastGelu": 14, "BiasGelu": 16, "QuickGelu": 12, "Swish": 11,
    "BatchNormalization": 2, "Softmax": 12, "LogSoftmax": 12, "Hardmax": 2, "LayerNormalization": 8,
    "InstanceNormalization": 8, "GroupNormalization": 8, "RMSNormalization": 5, "LpNormalization": 7,
    "MeanVarianceNormalization": 8, "SimplifiedLayerNormalization": 5, "SkipLayerNormalization": 9,
    "SkipSimplifiedLayerNormalization": 6, "RotaryEmbedding": 3,
}  # fmt: skip
"""Operations per output element."""

REDUCTIONS: dict[str, int] = {
    "ReduceSum": 1, "ReduceMean": 1, "ReduceMax": 1, "ReduceMin": 1, "ReduceProd": 1, "ReduceL1": 2, "ReduceL2": 2,
    "ReduceSumSquare": 2, "ReduceLogSum": 1, "ReduceLogSumExp": 10, "ArgMax": 1, "ArgMin": 1, "GlobalAveragePool": 1,
    "GlobalMaxPool": 1, "GlobalLpPool": 2,
}  # fmt: skip
"""Operations per input element."""

Counter = Callable[[Shapes, Shapes, Mapping[str, Any]], tuple[int, int]]
"""(inputs, outputs, attributes) -> (multiply-adds, other operations)."""


def cost_of(
    op: str,
    attributes: Mapping[str, Any],
    inputs: Shapes,
    outputs: Shapes,
    constants: Sequence[bool] = (),
    domain: str = "",
) -> Cost | None:
    """The cost of a node from the shapes of its values; None where a needed shape is unknown.

    constants  which inputs are weights
    """
    if any(spec is None for spec in outputs) or not outputs:
        return None
    try:
        macs, other = operations(op, attributes, inputs, outputs, domain)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # not known, or not what the op takes
        return None
    read = 0 if op in VIEWS else _bytes_read(op, inputs, outputs)
    written = 0 if op in VIEWS else sum(s.nbytes for s in outputs if s is not None)
    weights = [s for s, fixed in zip(inputs, constants, strict=False) if fixed and s is not None]
    return Cost(macs, 2 * macs + other, read, written, sum(s.size for s in weights), sum(s.nbytes for s in weights))


def operations(
    op: str, attributes: Mapping[str, Any], inputs: Shapes, outputs: Shapes, domain: str = ""
) -> tuple[int, int]:
    """(multiply-adds, other operations) of a node."""
    counter = COUNTERS.get(f"{domain}::{op}") or COUNTERS.get(op)
    if counter is not None:
        return counter(inputs, outputs, attributes)
    out = _spec(outputs, 0)
    if op in PER_ELEMENT:
        return 0, PER_ELEMENT[op] * out.size
    if op in REDUCTIONS:
        return 0, REDUCTIONS[op] * _spec(inputs, 0).size
    return 0, 0


def _spec(specs: Shapes, position: int) -> Spec:
    spec = specs[position]
    if spec is None:
        raise TypeError
    return spec


def _bytes_read(op: str, inputs: Shapes, outputs: Shapes) -> int:
    if op in ("Gather", "GatherElements", "GatherND") and outputs and outputs[0] is not None:
        indices = inputs[1].nbytes if len(inputs) > 1 and inputs[1] is not None else 0
        return outputs[0].nbytes + indices
    return sum(s.nbytes for s in inputs if s is not None)


def _conv(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    weight, out = _spec(inputs, 1), _spec(outputs, 0)
    bias = out.size if len(inputs) > 2 and inputs[2] is not None else 0
    return out.size * math.prod(weight.shape[1:]), bias


def _qlinear_conv(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    weight, out = _spec(inputs, 3), _spec(outputs, 0)
    return out.size * math.prod(weight.shape[1:]), 4 * out.size


def _conv_transpose(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    x, weight, out = _spec(inputs, 0), _spec(inputs, 1), _spec(outputs, 0)
    return x.size * math.prod(weight.shape[1:]), out.size


def _deform_conv(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    weight, out = _spec(inputs, 1), _spec(outputs, 0)
    taps = math.prod(weight.shape[2:]) * out.size // max(out.shape[1], 1) * weight.shape[1]
    return out.size * math.prod(weight.shape[1:]), 8 * taps


def _matmul(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    return _spec(outputs, 0).size * _spec(inputs, 0).shape[-1], 0


def _qlinear_matmul(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    return _spec(outputs, 0).size * _spec(inputs, 0).shape[-1], 4 * _spec(outputs, 0).size


def _gemm(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    a, out = _spec(inputs, 0), _spec(outputs, 0)
    inner = a.shape[0 if attributes.get("transA") else 1]
    return out.size * inner, out.size if len(inputs) > 2 and inputs[2] is not None else 0


def _matmul_nbits(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    return _spec(outputs, 0).size * int(attributes["K"]), int(attributes["K"]) * int(attributes["N"])


def _recurrent(gates: int) -> Counter:
    def count(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
        x, w, r = _spec(inputs, 0), _spec(inputs, 1), _spec(inputs, 2)
        hidden = r.shape[-1] if r.shape[-1] * gates == r.shape[1] else r.shape[1]
        steps = x.shape[0] * x.shape[1] * w.shape[0]
        return steps * gates * hidden * (x.shape[2] + hidden), steps * hidden * 10 * gates

    return count


def _attention(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    q, k, v = _spec(inputs, 0), _spec(inputs, 1), _spec(inputs, 2)
    past = inputs[4].shape[2] if len(inputs) > 4 and inputs[4] is not None else 0
    if q.ndim == 4:
        b, heads, length, depth = q.shape
        keys, width = k.shape[2] + past, v.shape[3]
    else:
        heads = int(attributes["q_num_heads"])
        b, length, depth = q.shape[0], q.shape[1], q.shape[2] // heads
        keys, width = k.shape[1] + past, v.shape[2] // int(attributes["kv_num_heads"])
    return b * heads * length * keys * (depth + width), 12 * b * heads * length * keys


def _packed_attention(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    """com.microsoft's: the three projections are part of it, in one weight (features, q + k + v)."""
    x, weight = _spec(inputs, 0), _spec(inputs, 1)
    b, length, features = x.shape
    heads, width = int(attributes["num_heads"]), weight.shape[1] // 3
    projections = b * length * features * weight.shape[1]
    return projections + 2 * b * length * length * width, 12 * b * heads * length * length


def _einsum(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    terms = str(attributes["equation"]).replace(" ", "").split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, spec in zip(terms, inputs, strict=True):
        if spec is None or "." in term:
            raise TypeError
        sizes.update(zip(term, spec.shape, strict=True))
    total = math.prod(sizes.values())
    return (total * (len(terms) - 1), 0) if len(terms) > 1 else (0, total)


def _pool(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    return 0, _spec(outputs, 0).size * math.prod(attributes["kernel_shape"])


def _resize(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    taps = {"nearest": 0, "linear": 2, "cubic": 4}.get(str(attributes.get("mode", "nearest")), 2)
    x, out = _spec(inputs, 0), _spec(outputs, 0)
    axes = sum(a != b for a, b in zip(x.shape, out.shape, strict=True))
    return 0, out.size * 2 * taps * axes


def _grid_sample(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    return 0, _spec(outputs, 0).size * 12


def _lrn(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    return 0, _spec(outputs, 0).size * (2 * int(attributes["size"]) + 12)


def _fourier(inputs: Shapes, outputs: Shapes, attributes: Mapping[str, Any]) -> tuple[int, int]:
    out = _spec(outputs, 0)
    length = max(out.shape[-2] if out.ndim > 1 else 1, 2)
    return 0, int(2.5 * out.size * math.log2(length))


COUNTERS: dict[str, Counter] = {
    "Conv": _conv, "ConvInteger": _conv, "FusedConv": _conv, "QLinearConv": _qlinear_conv,
    "ConvTranspose": _conv_transpose, "DeformConv": _deform_conv, "CausalConvWithState": _conv,
    "MatMul": _matmul, "MatMulInteger": _matmul, "FusedMatMul": _matmul, "TransposeMatMul": _matmul,
    "MatMulIntegerToFloat": _matmul, "DynamicQuantizeMatMul": _matmul, "QLinearMatMul": _qlinear_matmul,
    "MatMulNBits": _matmul_nbits, "Gemm": _gemm, "FusedGemm": _gemm, "QGemm": _gemm,
    "LSTM": _recurrent(4), "DynamicQuantizeLSTM": _recurrent(4), "GRU": _recurrent(3), "RNN": _recurrent(1),
    "Attention": _attention, "com.microsoft::Attention": _packed_attention, "Einsum": _einsum,
    "MaxPool": _pool, "AveragePool": _pool, "LpPool": _pool, "Resize": _resize, "Upsample": _resize,
    "GridSample": _grid_sample, "LRN": _lrn, "DFT": _fourier, "STFT": _fourier,
}  # fmt: skip
"""Ops whose arithmetic is more than a number per element."""
