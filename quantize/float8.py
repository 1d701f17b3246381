"""What float8 needs beside its types: clamps that a runtime does not take for those of unsigned integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Graph, Node, Variable
from quantize.activations import clip_bounds
from quantize.placement import CLAMPS
from quantize.qdq import Writer


def keep_clamps(graph: Graph, writer: Writer) -> None:
    """Write each Relu and Clip that is quantized behind it as Max and Min; the caller applies the writer.

    onnxruntime removes a Relu or Clip before QuantizeLinear when the zero point says the same. It reads float8's zero point as that of
    an unsigned integer, and negative values come through.
    """
    for node in graph.nodes:
        if node.op not in CLAMPS or node.domain:
            continue
        bounds = clip_bounds(node)
        if bounds is None or not any(r.op == "QuantizeLinear" for t in node.outputs for r in t.outputs):
            continue
        _write(node, bounds, writer)


def _write(node: Node, bounds: tuple[float, float], writer: Writer) -> None:
    value: Any = node.inputs[0]
    steps = [(op, bound) for op, bound in zip(("Max", "Min"), bounds, strict=True) if np.isfinite(bound)]
    if not steps:
        return
    *first, (op, bound) = steps
    for name, at in first:
        out = Variable(writer.name(f"{node.name}_{name}"), np.dtype(np.float32))
        inputs = [value, writer.constant(f"{node.name}_bound", np.asarray(at, np.float32))]
        writer.before[id(node)].append(Node(name, writer.name(f"{node.name}_{name}"), {}, inputs, [out]))
        value = out
    node.op = op
    node.attrs.clear()
    node.inputs = [value, writer.constant(f"{node.name}_bound", np.asarray(bound, np.float32))]
