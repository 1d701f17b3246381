"""Which nodes stay in float32 when a model becomes narrow, and why.

Some ops do not exist in a narrow type; some values do not: a weight beyond its range, an ε that becomes 0 under a division, a sum of squares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from exec.dtypes import DType
from exec.ir import Node, constant_value
from exec.ir.opsets import schema_of

FLOAT32 = np.dtype(np.float32)
CONTROL = frozenset(["If", "Loop", "Scan"])
KEPT = frozenset(
    [
        "NonMaxSuppression",
        "RoiAlign",
        "MaxRoiPool",
        "Range",
        "CumSum",
        "TopK",
        "Multinomial",
        "RandomNormal",
        "RandomUniform",
        "RandomNormalLike",
        "RandomUniformLike",
        "Bernoulli",
        "EyeLike",
        "QuantizeLinear",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "Resize",
        "Upsample",
    ]
)
"""Ops that are unstable or unknown in narrow types."""

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
SATURATING = frozenset(["Min", "Max", "Clip", "Where", "Pad", "ConstantOfShape"])
"""Where the largest number does for one that is larger."""

INFINITE = 1e30
"""A number as large stands for infinity: a mask."""

SQUARED_SUMS = frozenset(["ReduceL2", "ReduceSumSquare", "LpNormalization"])
PASSING = frozenset(
    ["Add", "Sub", "Mul", "Div", "Max", "Clip", "Relu", "Abs", "Identity", "Reshape", "Expand", "Squeeze", "Unsqueeze", "Sqrt", "Pow"]
)  # fmt: skip
"""What may lie between a statistic and the division by it."""

STEPS = 24


def why_wide(nodes: Collection[Node], opset: int, row: DType, block: Collection[str], names: Collection[str]) -> dict[Node, str]:  # fmt: skip
    """Why each node stays in float32, "" where it becomes narrow. Nodes of one graph."""
    found = {n: _by_op(n, opset, row.text, block, names) or _by_range(n, row) for n in nodes}
    for node in nodes:
        for other, why in (*_statistic(node), *_vanishing(node, row)):
            if other in found and not found[other]:
                found[other] = why
    for node in nodes:
        # a number is kept as wide as who needs it
        if node.op == "Constant" and any(found.get(r) for r in node.outputs[0].outputs):
            found[node] = found[node] or _out_of_range(node.outputs[0], row)
    return found


def _by_op(node: Node, opset: int, text: str, block: Collection[str], names: Collection[str]) -> str:
    if node.domain:
        return "it is of a foreign domain"
    if node.name in names or node.op in block:
        return "it was asked to stay"
    if node.op in CONTROL:
        return "it hands its values over in float32; what its bodies compute is converted"
    if node.op in KEPT:
        return "the op is unstable or unknown in a narrow type"
    schema = schema_of(node.op, opset)
    if schema is None:
        return "the op is not known"
    for constraint in schema.type_constraints:
        allowed = constraint.allowed_type_strs
        if "tensor(float)" in allowed and f"tensor({text})" not in allowed:
            return f"opset {opset} does not take {text} there"
    if any(p.type_str == "tensor(float)" for p in (*schema.inputs, *schema.outputs)):
        return "an input or output is float32 by specification"
    return ""


def _by_range(node: Node, row: DType) -> str:
    """An operand the narrow type cannot hold, where the largest number would not do for it."""
    if node.op in SATURATING or node.op == "Constant":
        return ""
    return next((why for t in node.inputs if (why := _out_of_range(t, row))), "")


def _out_of_range(tensor: Any, row: DType) -> str:
    values = _float32(tensor)
    if values is None or not values.size:
        return ""
    sizes = np.abs(values[np.isfinite(values)])
    over = sizes[(sizes > LARGEST[row.text]) & (sizes < INFINITE)]
    if not over.size:
        return ""
    return f"{tensor.name} holds {float(over.max()):.3g}, and the largest {row.text} is {LARGEST[row.text]:.5g}"


def _float32(tensor: Any) -> Any:
    values = constant_value(tensor)
    return values if values is not None and values.dtype == FLOAT32 else None


def _statistic(root: Node) -> Iterator[tuple[Node, str]]:
    """What computes a deviation, from the squares up to the division by it, if `root` is its square root."""
    if root.op in SQUARED_SUMS:
        yield root, "a sum of squares may be beyond the range"
        yield from ((n, "it divides by a sum of squares") for n in _divisions(root))
    if root.op != "Sqrt" and not (root.op == "Pow" and _number(root.inputs[1]) in (0.5, -0.5)):
        return
    inside, stack, squares = {root: None}, [root], False
    while stack:
        for tensor in stack.pop().inputs:
            maker = tensor.inputs[0] if tensor.inputs else None
            if maker is None or maker in inside or len(inside) >= STEPS:
                continue
            if maker.op in ("ReduceMean", "ReduceSum"):
                inside[maker] = None
                square = maker.inputs[0].inputs[0] if maker.inputs[0].inputs else None
                if square is not None and _is_square(square):
                    inside[square] = None
                    squares = True
            elif maker.op in PASSING:
                inside[maker] = None
                stack.append(maker)
    if squares:
        why = "a sum of squares may be beyond the range"
        yield from ((n, why) for n in (*inside, *_divisions(root)))


def _is_square(node: Node) -> bool:
    if node.op == "Mul":
        return node.inputs[0] is node.inputs[1]
    return node.op == "Pow" and _number(node.inputs[1]) == 2


def _vanishing(node: Node, row: DType) -> Iterator[tuple[Node, str]]:
    """A number that keeps a divisor from being 0, and would be 0 itself: up to the division."""
    if node.op not in ("Add", "Max", "Clip", "Sub"):
        return
    for tensor in node.inputs:
        values = _float32(tensor)
        if values is None or values.size != 1 or not values.all() or values.astype(row.numpy).any():
            continue
        divisions = _divisions(node)
        if divisions:
            why = f"{float(values.reshape(-1)[0]):.3g} would be 0 in {row.text}, and something is divided by it"
            yield from ((n, why) for n in (node, *divisions))


def _divisions(node: Node) -> list[Node]:
    """The nodes from `node` to what divides by its value or takes its logarithm, and those; none if nothing does."""
    between: dict[Node, None] = {}
    last: dict[Node, None] = {}
    stack = [node]
    while stack and len(between) < STEPS:
        here = stack.pop()
        for tensor in here.outputs:
            for reader in tensor.outputs:
                if reader in between or reader in last:
                    continue
                if reader.op == "Log" or (reader.op == "Div" and reader.inputs[1] is tensor):
                    last[reader] = None
                elif reader.op == "Reciprocal":
                    last[reader] = None
                    last.update(dict.fromkeys(r for r in reader.outputs[0].outputs if r.op == "Mul"))
                elif reader.op in PASSING and reader.op not in ("Sub", "Div", "Mul"):
                    between[reader] = None
                    stack.append(reader)
    if _inverts(node):
        last.update(dict.fromkeys(r for r in node.outputs[0].outputs if r.op == "Mul"))
    one_over = [n for n in last if n.op == "Div" and _number(n.inputs[0]) == 1]
    for division in one_over:
        last.update(dict.fromkeys(r for r in division.outputs[0].outputs if r.op == "Mul"))
    return [*between, *last] if last else []


def _inverts(node: Node) -> bool:
    return node.op == "Pow" and (_number(node.inputs[1]) or 0) < 0


def _number(tensor: Any) -> float | None:
    values = constant_value(tensor)
    return (
        float(values.reshape(-1)[0]) if values is not None and values.size == 1 and values.dtype.kind == "f" else None
    )
