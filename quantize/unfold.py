"""A convolution along one axis as a matrix product of shifted copies: the integer product of runtimes gives float, the integer Conv does not.

Where what a convolution makes has a far wider range than what is left of it after the next activation (GELU and a maximum, say),
quantizing its output is what costs most. x [N, C, L] → Transpose → k shifted Slices → Concat [N, L′, k·C] → MatMul → Transpose back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from exec.ir import Constant, Graph, Node, Variable, constant_value, remove_nodes
from quantize.choose import work_of
from quantize.findings import Finding
from quantize.placement import CLAMPS, LEAST_INTENSITY
from quantize.qdq import Writer

MOST_TAPS = 9


def unfold(graph: Graph, shapes: Mapping[str, tuple[int, ...]], kept: Collection[int] = ()) -> list[Finding]:
    """Rewrite, in place, the convolutions along one axis whose output is not clamped; the function stays the same.

    kept  ids of nodes to leave alone
    """
    writer = Writer(graph)
    gone: list[Node] = []
    findings: list[Finding] = []
    outputs = {id(t) for t in graph.outputs}
    for node in graph.nodes:
        axis = _axis(node, shapes, outputs)
        if axis is None or id(node) in kept:
            continue
        _write(node, axis, writer)
        gone.append(node)
        text = "a convolution along one axis is a matrix product of shifted copies now: its output stays float"
        findings.append(Finding("Q025", "note", node.name, text))
    writer.apply()
    remove_nodes(graph, gone)
    return findings


def _axis(node: Node, shapes: Mapping[str, tuple[int, ...]], outputs: set[int]) -> int | None:
    """The axis a convolution that can be unfolded runs along."""
    if node.op != "Conv" or node.domain or not isinstance(node.inputs[1], Constant):
        return None
    weight = constant_value(node.inputs[1])
    if weight is None or weight.dtype != np.float32:
        return None
    taps = weight.shape[2:]
    plain = (
        int(node.attrs.get("group", 1)) == 1
        and all(s == 1 for s in node.attrs.get("strides", ()))
        and all(d == 1 for d in node.attrs.get("dilations", ()))
        and not any(node.attrs.get("pads", ()))
        and node.attrs.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
    )
    along = [k for k, n in enumerate(taps) if n > 1]
    out = shapes.get(node.outputs[0].name, ())
    if not plain or len(along) != 1 or not 1 < taps[along[0]] <= MOST_TAPS or len(out) != weight.ndim:
        return None
    if any(n != 1 for k, n in enumerate(out[2:]) if k != along[0]) or id(node.outputs[0]) in outputs:
        return None
    if any(reader.op in CLAMPS for reader in node.outputs[0].outputs):
        return None
    return 2 + along[0] if work_of(node, shapes)[1] >= LEAST_INTENSITY["balanced"] else None


def _write(node: Node, axis: int, writer: Writer) -> None:
    weight = node.inputs[1].values
    rank, taps = weight.ndim, weight.shape[axis]
    others = [k for k in range(2, rank) if k != axis]
    steps: list[Node] = []

    def add(op: str, name: str, inputs: list[Any], attributes: dict[str, Any] | None = None) -> Variable:
        out = Variable(writer.name(f"{node.name}_{name}"), np.dtype(np.float32))
        steps.append(Node(op, writer.name(f"{node.name}_{name}_{op}"), attributes or {}, inputs, [out]))
        return out

    def numbers(name: str, *values: int) -> Constant:
        return writer.constant(f"{node.name}_{name}", np.array(values, np.int64))

    perm = [0, axis, 1, *others]
    turned = add("Transpose", "turned", [node.inputs[0]], {"perm": perm})
    flat = add("Squeeze", "flat", [turned, numbers("axes", *range(3, rank))]) if others else turned
    ends = [k - taps + 1 or np.iinfo(np.int64).max for k in range(taps)]
    one = numbers("one", 1)
    shifted = [
        add("Slice", f"tap{k}", [flat, numbers(f"from{k}", k), numbers(f"to{k}", int(ends[k])), one])
        for k in range(taps)
    ]
    rows = add("Concat", "rows", shifted, {"axis": 2})
    matrix = np.moveaxis(weight, axis, 0).reshape(taps, *weight.shape[:2]).transpose(0, 2, 1).reshape(-1, len(weight))
    product = add("MatMul", "product", [rows, writer.constant(f"{node.name}_matrix", np.ascontiguousarray(matrix))])
    if len(node.inputs) > 2 and (node.inputs[2].name or isinstance(node.inputs[2], Constant)):
        product = add("Add", "biased", [product, node.inputs[2]])
    back = add("Transpose", "back", [product], {"perm": [0, 2, 1]})
    output = node.outputs[0]
    if others:
        add("Unsqueeze", "result", [back, numbers("axes_back", *others)])
    steps[-1].outputs[0] = output
    node.outputs[0] = Variable(writer.name(f"{node.name}_unused"))
    writer.before[id(node)] += steps
