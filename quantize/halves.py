"""Weights that stay float, stored in 16 bits: runtimes fold the Cast when they load the file, so it costs size and no time."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Graph, Node, Variable
from quantize.numerics import PART
from quantize.qdq import Writer

HALVED: dict[str, tuple[int, ...]] = {
    "Conv": (1,), "ConvTranspose": (1,), "Gemm": (1,), "MatMul": (0, 1), "LSTM": (1, 2), "GRU": (1, 2), "RNN": (1, 2), "Gather": (0,),
}  # fmt: skip
"""Operators and the positions of the weights they can read through a Cast."""

LEAST_BYTES = 1024
LEAST_DB = 60.0
"""What float16 keeps of ordinary weights is above 70 dB; values beyond its range fall below this and stay float32."""


def store_halves(graph: Graph, writer: Writer) -> tuple[int, int]:
    """Let float32 weights be read through a Cast from float16; (weights, bytes saved). The caller applies the writer."""
    read: dict[int, Variable | None] = {}
    saved = count = 0
    outputs = {id(t) for t in graph.outputs}
    for node in graph.nodes:
        for place in HALVED.get(node.op, ()) if not node.domain else ():
            weight = node.inputs[place] if place < len(node.inputs) else None
            if not isinstance(weight, Constant) or id(weight) in outputs or weight.dtype != np.float32:
                continue
            if weight.nbytes < LEAST_BYTES:
                continue
            if id(weight) not in read:
                half = _half(weight.values)
                read[id(weight)] = None if half is None else _cast(writer, node, weight, half)
                saved += 0 if half is None else half.nbytes
                count += half is not None
            value = read[id(weight)]
            if value is not None:
                node.inputs[place] = value
    return count, saved


def _half(values: Array) -> Array | None:
    """The values in float16, None where that says too little; a part at a time."""
    flat = values.reshape(-1)
    half = np.empty(flat.size, np.float16)
    signal = noise = 0.0
    for k in range(0, flat.size, PART):
        part = flat[k : k + PART].astype(np.float64)
        with np.errstate(over="ignore"):
            half[k : k + PART] = part
        gap = part - half[k : k + PART]
        if not np.isfinite(gap).all():
            return None
        signal += float(part @ part)
        noise += float(gap @ gap)
    return half.reshape(values.shape) if signal > noise * 10 ** (LEAST_DB / 10) else None


def _cast(writer: Writer, node: Node, weight: Constant, half: Array) -> Variable:
    stored = writer.constant(f"{weight.name}_half", half)
    value = Variable(writer.name(f"{weight.name}_float"), np.dtype(np.float32), list(half.shape))
    writer.before[id(node)].append(Node("Cast", writer.name(f"{weight.name}_Cast"), {"to": 1}, [stored], [value]))
    return value
