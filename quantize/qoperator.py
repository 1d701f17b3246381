"""QOperator format: DequantizeLinear → operator → QuantizeLinear becomes one integer operator.

The numbers are those of the QDQ form; what has no integer operator stays as it is, between its Q and DQ.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.ir import Constant, Graph, Node, Variable, constant_value, prune
from quantize.activations import clip_bounds
from quantize.findings import Finding
from quantize.placement import COMPUTE, moves
from quantize.qdq import Writer

MICROSOFT = "com.microsoft"
PRODUCTS = ("QLinearConv", "QLinearMatMul", "QGemm")
JOINING = {
    "Add": "QLinearAdd", "Mul": "QLinearMul", "Sigmoid": "QLinearSigmoid", "LeakyRelu": "QLinearLeakyRelu", "Concat": "QLinearConcat",
    "AveragePool": "QLinearAveragePool", "GlobalAveragePool": "QLinearGlobalAveragePool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantized:
    """A value as integers with the scale and zero point it is read with."""

    integers: Any
    scale: Any
    zero_point: Any


def to_qoperator(graph: Graph) -> list[Finding]:
    """Rewrite a QDQ graph in place; what was written, and what stays between Q and DQ with the reason."""
    writer = Writer(graph)
    done: Counter[str] = Counter()
    replaced: list[Node] = []
    outputs = {id(t) for t in graph.outputs}
    left: list[Finding] = []
    for node in list(graph.nodes):
        made = _integer(node, writer, outputs)
        if made is None:
            reason = _why_not(node)
            if reason:
                left.append(
                    Finding("Q032", "note", node.name, reason, "--operators qdq says the same for every runtime")
                )
            continue
        writer.after[id(node)].append(made)
        replaced.append(node)
        done[made.op] += 1
    writer.apply()
    prune(graph)
    if not any(op in PRODUCTS for op in done):
        text = "no product could be written as an integer operator: the file is plain QDQ"
        return [Finding("Q032", "warning", "", text, "the notes say why of each; --operators qdq is the same"), *left]
    return [Finding("Q031", "note", "", ", ".join(f"{n} {op}" for op, n in sorted(done.items()))), *left]


def _why_not(node: Node) -> str:
    """Why a product that reads integers has no integer operator, "" for other nodes."""
    if node.domain or node.op not in COMPUTE or len(node.inputs) < 2:
        return ""
    x, w = read_as(node.inputs[0]), read_as(node.inputs[1])
    if x is None or w is None:
        return ""
    if node.op == "ConvTranspose":
        return "there is no integer ConvTranspose"
    if len(node.inputs) > 2 and node.inputs[2].name and read_as(node.inputs[2]) is None:
        return f"its bias is float, and the integer {node.op} adds integers only"
    if node.op == "MatMul" and w.integers.shape is not None and len(w.integers.shape) != 2 and w.scale.shape:
        return "QLinearMatMul takes no scale a column for a stack of matrices"
    if node.op != "Gemm" and not any(t.op == "QuantizeLinear" for t in node.outputs[0].outputs):
        return f"its result is read as float, and the integer {node.op} gives integers"
    return f"its result is not rounded by one QuantizeLinear alone, as the integer {node.op} does it"


def _integer(node: Node, writer: Writer, outputs: set[int]) -> Node | None:
    if node.domain:
        return None
    if node.op in ("Conv", "MatMul", "Gemm"):
        return _product(node, writer, outputs)
    if node.op in JOINING or moves(node):
        return _joining(node, writer, outputs)
    return None


def read_as(tensor: Any) -> Quantized | None:
    """The integers behind a value that a DequantizeLinear made."""
    if not tensor.inputs or tensor.inputs[0].op != "DequantizeLinear" or tensor.inputs[0].domain:
        return None
    source = tensor.inputs[0]
    zero = source.inputs[2] if len(source.inputs) > 2 else None
    return Quantized(source.inputs[0], source.inputs[1], zero)


def written_as(value: Any, outputs: set[int], *, clamps: bool) -> tuple[Quantized, Node] | None:
    """What quantizes `value` and nothing else reads it, with its QuantizeLinear; behind a Relu or Clip that the integer range makes true."""
    clamp: Node | None = None
    if (
        clamps
        and len(value.outputs) == 1
        and value.outputs[0].op in ("Relu", "Clip")
        and value.outputs[0].inputs[0] is value
    ):
        if id(value) in outputs:
            return None
        clamp = value.outputs[0]
        value = clamp.outputs[0]
    readers = value.outputs
    if len(readers) != 1 or readers[0].op != "QuantizeLinear" or id(value) in outputs:
        return None
    found = readers[0]
    made = Quantized(found.outputs[0], found.inputs[1], found.inputs[2])
    return None if clamp is not None and not _saturates(clamp, made) else (made, found)


def _saturates(clamp: Node, how: Quantized) -> bool:
    """Whether every integer stands for a value the clamp lets through."""
    bounds, scale, zero = clip_bounds(clamp), constant_value(how.scale), constant_value(how.zero_point)
    if bounds is None or scale is None or zero is None:
        return False
    limits = np.iinfo(zero.dtype)
    step = float(scale)
    low, high = (limits.min - int(zero)) * step, (limits.max - int(zero)) * step
    return low >= bounds[0] - step / 4 and high <= bounds[1] + step / 4


def _take_over(quantizer: Node, writer: Writer) -> Variable:
    """The value a QuantizeLinear made, to be made by somebody else."""
    output: Variable = quantizer.outputs[0]
    quantizer.outputs[0] = Variable(writer.name(f"{output.name}_unused"), output.dtype, output.shape)
    return output


def _product(node: Node, writer: Writer, outputs: set[int]) -> Node | None:
    x, w = read_as(node.inputs[0]), read_as(node.inputs[1])
    if x is None or w is None or w.zero_point is None:
        return None
    found = written_as(node.outputs[0], outputs, clamps=True)
    bias: Any = None
    if len(node.inputs) > 2 and node.inputs[2].name:
        read = read_as(node.inputs[2])
        if read is None or not isinstance(read.integers, Constant) or read.integers.dtype != np.int32:
            return None
        bias = read.integers
    if node.op == "Gemm":
        return _gemm(node, writer, x, w, bias, found)
    if found is None or (node.op == "MatMul" and bias is not None):
        return None
    y, quantizer = found
    if y.zero_point is None or x.zero_point is None or x.zero_point.dtype != y.zero_point.dtype:
        return None
    inputs = [
        x.integers,
        x.scale,
        x.zero_point,
        w.integers,
        w.scale,
        w.zero_point,
        y.scale,
        y.zero_point,
        *([bias] if bias is not None else []),
    ]
    if node.op == "MatMul" and w.integers.values.ndim != 2 and w.scale.values.ndim:
        return None
    op = "QLinearConv" if node.op == "Conv" else "QLinearMatMul"
    attributes = dict(node.attrs) if node.op == "Conv" else {}
    return Node(op, writer.name(f"{node.name}_{op}"), attributes, inputs, [_take_over(quantizer, writer)])


def _gemm(
    node: Node, writer: Writer, x: Quantized, w: Quantized, bias: Any, found: tuple[Quantized, Node] | None
) -> Node | None:
    """com.microsoft QGemm gives float when it gets no output scale."""
    if float(node.attrs.get("beta", 1.0)) != 1.0:
        return None
    attributes = {k: v for k, v in node.attrs.items() if k in ("transA", "transB", "alpha")}
    empty = Variable("")
    inputs = [x.integers, x.scale, x.zero_point, w.integers, w.scale, w.zero_point, empty if bias is None else bias]
    if found is None:
        output = node.outputs[0]
        node.outputs[0] = Variable(writer.name(f"{output.name}_unused"), output.dtype, output.shape)
    else:
        y, quantizer = found
        inputs += [y.scale, y.zero_point]
        output = _take_over(quantizer, writer)
    while inputs and inputs[-1] is empty:
        inputs.pop()
    return Node("QGemm", writer.name(f"{node.name}_QGemm"), attributes, inputs, [output], domain=MICROSOFT)


def _joining(node: Node, writer: Writer, outputs: set[int]) -> Node | None:
    count = 1 if moves(node) else len(node.inputs)
    read = [read_as(t) for t in node.inputs[:count]]
    if any(r is None or r.zero_point is None for r in read) or len(node.outputs) != 1:
        return None
    found = written_as(node.outputs[0], outputs, clamps=False)
    if found is None:
        return None
    y, quantizer = found
    parts = [r for r in read if r is not None]
    if moves(node):
        same = (
            constant_value(parts[0].scale),
            constant_value(y.scale),
            constant_value(parts[0].zero_point),
            constant_value(y.zero_point),
        )
        if any(v is None for v in same) or same[0] != same[1] or same[2] != same[3]:
            return None
        inputs = [parts[0].integers, *node.inputs[1:]]
        return Node(
            node.op, writer.name(f"{node.name}_integer"), dict(node.attrs), inputs, [_take_over(quantizer, writer)]
        )
    op = JOINING[node.op]
    triples = [v for r in parts for v in (r.integers, r.scale, r.zero_point)]
    inputs = [y.scale, y.zero_point, *triples] if op == "QLinearConcat" else [*triples, y.scale, y.zero_point]
    attributes = dict(node.attrs)
    if op in ("QLinearAveragePool", "QLinearGlobalAveragePool"):
        attributes["channels_last"] = 0
    return Node(
        op, writer.name(f"{node.name}_{op}"), attributes, inputs, [_take_over(quantizer, writer)], domain=MICROSOFT
    )
