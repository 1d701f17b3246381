"""LSTMs with weights in 8 bits: com.microsoft DynamicQuantizeLSTM, which measures what it reads in every run.

ONNX has no integer LSTM, and no runtime makes one of Q and DQ around a float LSTM: in float it is soon most of what is left of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Graph, Node, Variable, constant_value
from exec.metrics import sqnr_db
from quantize.choose import work_of
from quantize.findings import Finding
from quantize.numerics import TYPES, params, quantize
from quantize.qdq import Writer
from quantize.report import QuantizedNode

LEAST_ELEMENTS = 1 << 16
"""Of both weights; below it the time lies in the steps, not in the products."""


def quantize_recurrent(
    graph: Graph, writer: Writer, shapes: Mapping[str, tuple[int, ...]], left: frozenset[str], findings: list[Finding]
) -> list[QuantizedNode]:
    """Rewrite the LSTMs of `graph` in place, but for those named in `left`; the caller applies the writer."""
    rows = []
    for node in graph.nodes:
        found = None if node.domain or node.op != "LSTM" or node.name in left else _weights(node)
        if found is None:
            continue
        macs, intensity = work_of(node, shapes)
        exact, size = (
            min(_store(node, place, values, writer) for place, values in found),
            sum(v.nbytes for _, v in found),
        )
        node.op, node.domain = "DynamicQuantizeLSTM", "com.microsoft"
        rows.append(QuantizedNode(node.name, node.op, macs, intensity, size, exact))
        text = "written as com.microsoft DynamicQuantizeLSTM, with weights in 8 bits: onnxruntime loads it, other runtimes may not"
        findings.append(
            Finding("Q033", "warning", node.name, text, "--exclude op:LSTM keeps it float, for every runtime")
        )
    return rows


def _weights(node: Node) -> list[tuple[int, Array]] | None:
    """(position, values) of W and R, where both are constants and nothing about the node is unusual."""
    if node.attrs.get("layout", 0) or len(node.inputs) < 3:
        return None
    found = [(place, constant_value(node.inputs[place])) for place in (1, 2)]
    usable = [
        (k, v) for k, v in found if v is not None and v.dtype == np.float32 and v.ndim == 3 and np.isfinite(v).all()
    ]
    return usable if len(usable) == 2 and sum(v.size for _, v in usable) >= LEAST_ELEMENTS else None


def _store(node: Node, place: int, values: Array, writer: Writer) -> float:
    """[directions, gates, inputs] as int8 [directions, inputs, gates], one scale a gate's row; its dB."""
    kind, base = TYPES["s8"], node.inputs[place].name or f"{node.name}_{place}"
    top = np.abs(values).max(2)
    how = params(-top, top, kind)
    integers = np.stack([quantize(v, params(-t, t, kind, axis=0)) for v, t in zip(values, top, strict=True)])
    exact = sqnr_db(values, integers.astype(np.float32) * how.scale[:, :, None])
    inputs: list[Any] = list(node.inputs)
    inputs += [Variable.empty() for _ in range(12 - len(inputs))]
    inputs[place] = writer.constant(f"{base}_quantized", np.ascontiguousarray(integers.transpose(0, 2, 1)))
    scale, zero = (8, 9) if place == 1 else (10, 11)
    inputs[scale] = writer.constant(f"{base}_scale", how.scale)
    inputs[zero] = writer.constant(f"{base}_zero_point", np.zeros(how.scale.shape, np.int8))
    node.inputs = inputs
    return exact
