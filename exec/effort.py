"""What an operation takes to compute, told from its inputs before it is: in multiply-adds, and in what else is worth as many.

A view without memory can be summed for hours, and a product of two small matrices can be a long one. So a run may spend what its
weights and inputs let expect, unless the user chose a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.budget import Limits, element_count

BASE = 30 * 10**9
"""What any model may spend: some seconds, and half as much again as a VGG19 takes."""

CALL = 80_000
"""One operation, however small its values are: some microseconds of a vectorized product."""

ELEMENT = 32
"""One element read by an operation that is no product."""

_SORTED = 3_000
_TEXT = 20_000
_OBJECT = 20_000
_PER_ELEMENT: dict[str, int] = {
    **dict.fromkeys(("TopK", "Unique", "DFT", "STFT", "GridSample", "LRN", "CumSum", "CumProd"), _SORTED),
    **dict.fromkeys(("StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch", "TfIdfVectorizer"), _TEXT),
    **dict.fromkeys(("Pow", "Erf", "Mod", "Gelu", "Mish", "Tan", "Atan", "Asin", "Acos", "Sinh", "Cosh", "Acosh", "Asinh", "Atanh"), 10 * ELEMENT),
}  # fmt: skip

Rule = Callable[[Sequence[Any], Mapping[str, Any]], int]
"""(inputs, attributes) -> multiply-adds."""


def _product(a: Any, b: Any) -> int:
    rows, columns = a.shape[:-1] or (1,), b.shape[-1] if b.ndim > 1 else 1
    repeated = element_count(b.shape[:-2]) if b.ndim > a.ndim else 1
    return element_count(rows) * repeated * int(a.shape[-1] if a.ndim else 1) * int(columns)


def _matmul(weight: int) -> Rule:
    return lambda inputs, attributes: _product(inputs[0], inputs[weight])


def _gemm(weight: int) -> Rule:
    return lambda inputs, attributes: inputs[0].size * inputs[weight].shape[0 if attributes.get("transB") else 1]


def _positions(x: Any, kernel: Sequence[int], attributes: Mapping[str, Any]) -> int:
    """How many windows there are at most, over all spatial axes."""
    axes = x.ndim - 2
    strides = attributes.get("strides") or [1] * axes
    pads = attributes.get("pads") or [0] * (2 * axes)
    if str(attributes.get("auto_pad", "NOTSET")) in ("SAME_UPPER", "SAME_LOWER"):
        pads = [*kernel, *[0] * axes]
    return element_count(
        max((x.shape[k + 2] + pads[k] + pads[k + axes] - kernel[k]) // max(strides[k], 1) + 1, 1) for k in range(axes)
    )


def _convolution(weight: int) -> Rule:
    def count(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
        x, w = inputs[0], inputs[weight]
        return int(x.shape[0] * w.size * _positions(x, w.shape[2:], attributes))

    return count


def _transposed(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    return int(inputs[0].size) * element_count(inputs[1].shape[1:])


def _pool(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    x, kernel = inputs[0], attributes["kernel_shape"]
    return int(x.shape[0] * x.shape[1]) * _positions(x, kernel, attributes) * element_count(kernel) * ELEMENT // 4


def _recurrent(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    x, w, r = inputs[:3]
    steps = x.shape[0] * x.shape[1]
    return int(steps * (w.size + r.size) + x.shape[0] * w.shape[0] * 3 * CALL)


def _attention(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    q, k, v = inputs[:3]
    past = inputs[4].shape[-2] if len(inputs) > 4 and inputs[4] is not None else 0
    return int(q.size * (k.shape[-2] + past) + v.size * q.shape[-2])


def _suppression(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    boxes, scores = inputs[:2]
    batch, count = boxes.shape[:2]
    return int(batch * count * count * 10 * ELEMENT + scores.size * CALL // 8)


def _deformed(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    offset = inputs[2]
    read = inputs[0].shape[1] * offset.size // (2 * int(attributes.get("offset_group", 1)))
    return _convolution(1)(inputs, attributes) + int(read) * 10 * ELEMENT


def _scattered(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    return element_count(inputs[2].tolist()) * CALL // 2


def _regions(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    return len(inputs[1]) * element_count(attributes["pooled_shape"]) * CALL // 8


def _spectrum(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    """What a length beyond the signal's own adds."""
    if len(inputs) < 2 or inputs[1] is None:
        return 0
    rows = int(inputs[0].size) // max(min(inputs[0].shape[:-1]), 1)
    return int(rows * int(inputs[1].reshape(())) * _SORTED)


def _pieces(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    return max(inputs[0].shape, default=1) * _OBJECT


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("MatMul", "MatMulInteger", "FusedMatMul", "TransposeMatMul", "MatMulIntegerToFloat"), _matmul(1)),
    "QLinearMatMul": _matmul(3), "DynamicQuantizeMatMul": _matmul(1), "Gemm": _gemm(1), "FusedGemm": _gemm(1), "QGemm": _gemm(3),
    **dict.fromkeys(("Conv", "ConvInteger", "FusedConv"), _convolution(1)), "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed, "MaxPool": _pool, "AveragePool": _pool, "LpPool": _pool,
    "LSTM": _recurrent, "GRU": _recurrent, "RNN": _recurrent, "Attention": _attention,
    "DeformConv": _deformed, "Col2Im": _scattered, "MaxRoiPool": _regions, "NonMaxSuppression": _suppression, "SplitToSequence": _pieces, "DFT": _spectrum,
}  # fmt: skip
"""Ops whose work is more than a number per element of their inputs."""


def work_of(op: str, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> int:
    """What computing `op` is worth in multiply-adds of float32; too little, rather than an error, for inputs it cannot take."""
    size, slow = 0, 1
    for value in inputs:
        if isinstance(value, np.ndarray):
            size += value.size
            if value.dtype.kind in "OUST":
                slow = _TEXT // ELEMENT
        elif isinstance(value, list):
            size += len(value) * (CALL // (20 * ELEMENT))
    total = CALL + size * _PER_ELEMENT.get(op, ELEMENT) * slow
    rule = _RULES.get(op)
    if rule is not None:
        try:
            total += rule(inputs, attributes) * _slowness(inputs[0])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return total  # the kernel says what is wrong with them
    return total


def _slowness(value: Value) -> int:
    """How much longer a product of this type takes than one of float32: BLAS has none of wide integers."""
    kind, itemsize = value.dtype.kind, value.dtype.itemsize
    if kind in "iu" and itemsize > 1:
        return 40
    return max(int(itemsize) // 4, 1)


def allowed(limits: Limits, given_bytes: int, filled_bytes: int = 0) -> Limits:
    """`limits` for a run on `given_bytes` of weights and inputs, and weights that a single number fills."""
    if limits.effort is None:
        return limits
    expected = BASE + limits.effort * given_bytes + ELEMENT * filled_bytes
    return replace(
        limits, multiply_adds=expected if limits.multiply_adds is None else min(limits.multiply_adds, expected)
    )
