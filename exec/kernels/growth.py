"""Ops whose result is as large as a number says: the size is known before the array is made, and asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.budget import bytes_text, default_limits, element_count, exceeded
from exec.footprint import current

_WIDE = 4  # bytes of an element of float32, in which sums of smaller types are made
_STRING = 8  # TensorProto.STRING
_SMALL = 1 << 26  # bytes nobody is asked about: the answer costs more than a small result


def fitting(shape: Iterable[Any], dtype: Any) -> tuple[int, ...]:
    """`shape` as Python integers, once an array of it is known to be within the limit on memory.

    Eighteen bytes of a model can name a shape of terabytes; numpy would reserve it and the first write stop the process.
    """
    dims = tuple(int(dim) for dim in shape)
    size = element_count(dims) * np.dtype(dtype).itemsize
    if size > _SMALL:
        ask(size)
    return dims


def ask(size: int) -> None:
    """Raise `BudgetExceeded` where `size` bytes are over the limit of the run, or of the process outside one."""
    footprint = current()
    if footprint is not None:
        footprint.ask(size)
        return
    limit = default_limits().bytes_alive
    if limit is not None and size > limit:
        raise exceeded("bytes_alive", bytes_text(size), bytes_text(limit), "")


def _broadcast(inputs: Sequence[Any]) -> int:
    rank = max(x.ndim for x in inputs)
    dims = [1] * rank
    for x in inputs:
        for axis, dim in enumerate(x.shape, rank - x.ndim):
            dims[axis] = max(dims[axis], dim)
    return element_count(dims) * max(int(x.itemsize) for x in inputs)


def _concatenated(inputs: Sequence[Any]) -> int:
    return sum(int(x.nbytes) for x in inputs)


def _product(inputs: Sequence[Any]) -> int:
    a, b = inputs[:2]
    rows = a.shape[:-1] if a.ndim > 1 else ()
    columns = b.shape[-1:] if b.ndim > 1 else ()
    batch = b.shape[:-2] if b.ndim > a.ndim else ()
    return element_count((*batch, *rows, *columns)) * int(a.itemsize)


def _gathered(inputs: Sequence[Any]) -> int:
    x, indices = inputs[:2]
    return int(indices.size) * (int(x.nbytes) // max(min(x.shape, default=1), 1))


def _projected(inputs: Sequence[Any]) -> int:
    """The gates of all steps of a recurrent layer, once as a product and once with its bias."""
    x, w = inputs[:2]
    return 2 * element_count((*x.shape[:2], *w.shape[:2])) * int(x.itemsize)


def _columns(inputs: Sequence[Any]) -> int:
    """What each place of a transposed convolution adds to its window, beside what that is added to."""
    x, w = inputs[:2]
    return element_count((*x.shape[2:], *w.shape[1:])) * int(x.itemsize)


def _scores(inputs: Sequence[Any]) -> int:
    """The scores of an attention of one head, masked, exponentiated and divided."""
    q, k = inputs[:2]
    return 5 * int(q.shape[0] * q.shape[-2] * k.shape[-2]) * max(int(q.itemsize), _WIDE)


_FORESEEN: dict[str, Callable[[Sequence[Any]], int]] = {
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "Where", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor",
         "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"),
        _broadcast,
    ),
    "Concat": _concatenated, "MatMul": _product, "MatMulInteger": _product, **dict.fromkeys(("LSTM", "GRU", "RNN"), _projected),
    "ConvTranspose": _columns, "Attention": _scores, "Gather": _gathered, "GatherND": _gathered,
}  # fmt: skip
"""Ops that can make much out of little: an upper bound of their output's bytes, from their inputs."""


_LOOKING = frozenset(
    ("Shape", "Size", "Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Transpose", "Slice", "Split",
     "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "If", "Loop", "Scan",
     "SequenceConstruct", "SequenceInsert", "SequenceAt", "SequenceLength", "SplitToSequence", "Optional", "Dropout", "EyeLike")
)  # fmt: skip
"""Ops that look at their inputs in another way, or make less of them."""

_COPIED = frozenset(("Reshape", "Flatten"))
"""Ops that look at what lies in order, and copy what does not."""

_WORKING: dict[str, int] = {
    "Bernoulli": 20, "RandomNormalLike": 16, "RandomUniformLike": 16, "Multinomial": 24, "TopK": 24, "Unique": 64,
    "DFT": 140, "Softmax": 12, "LogSoftmax": 12, "Hardmax": 12, "LayerNormalization": 12, "GroupNormalization": 16,
    "InstanceNormalization": 16, "MeanVarianceNormalization": 16, "LpNormalization": 12, "LRN": 24, "GridSample": 8,
    **dict.fromkeys(("Softplus", "Selu", "Elu", "Celu", "Mish", "Shrink"), 12), "DynamicQuantizeLinear": 16,
    "Erf": 16, "Gelu": 16, "Det": 24, "ReverseSequence": 32, "Resize": 16,
}  # fmt: skip
"""Ops that keep more than their result while they work: bytes for each element of their largest input."""

_DROPPED = 20  # bytes an element of a Dropout that trains: what is drawn, the mask, the result
_WORD = 100  # bytes of a number as text: an object and its characters


def foreseen(op: str, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> None:
    """Ask for what an op is going to make, and needs while it does, where that can be large. An `op` of "" is any other.

    A view counts as what it shows: whoever reads it makes that.
    """
    if op == "ConcatFromSequence" and isinstance(inputs[0], list):
        ask(sum(int(x.nbytes) for x in inputs[0]))
        return
    arrays = [x for x in inputs if isinstance(x, np.ndarray)]
    if not arrays or any(isinstance(x, list) for x in inputs):
        return
    rule = _FORESEEN.get(op)
    size = rule(arrays) if rule is not None else _element(op, arrays, attributes) * max(x.size for x in arrays)
    if size > _SMALL:
        ask(size)


def _element(op: str, arrays: Sequence[Array], attributes: Mapping[str, Any]) -> int:
    """Bytes made or kept for each element of the largest input."""
    first, widest = arrays[0], max(int(x.itemsize) for x in arrays)
    if op in _COPIED and not first.flags.c_contiguous:
        return int(first.itemsize)
    if op.startswith("Reduce") and first.itemsize < _WIDE:
        return _WIDE
    if op == "Dropout" and len(arrays) > 2:
        return _DROPPED
    if op in _LOOKING:
        return 0
    if op == "Cast":
        return _WORD if int(attributes.get("to", 1)) == _STRING else _WIDE
    if op == "NonZero":
        return max(16 * max(first.ndim, 1), widest)
    return max(_WORKING.get(op, 1), widest)
