"""Writing integers into the graph: QuantizeLinear and DequantizeLinear around what runs in 8 bits."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Graph, Names, Node, Variable
from quantize.numerics import Params


class Writer:
    """Collects edits of one graph and applies them in one pass over its nodes."""

    def __init__(self, graph: Graph, names: Names | None = None) -> None:
        self.graph = graph
        self.before: dict[int, list[Node]] = defaultdict(list)
        self.after: dict[int, list[Node]] = defaultdict(list)
        self._names = names
        self._weights: dict[tuple[Any, ...], Variable] = {}
        self._reads: dict[int, Variable] = {}

    def name(self, wish: str) -> str:
        """A name nobody has yet."""
        if self._names is None:
            self._names = Names(self.graph)
        return self._names.unique(wish)

    def constant(self, name: str, values: Array) -> Constant:
        """A new initializer."""
        return Constant(self.name(name), values)

    def weight(self, node: Node, place: int, integers: Array, how: Params, axis: int | None) -> bool:
        """Let `node` read its weight (or bias) from integers; equal ones of one original are stored once. True when shared."""
        original = node.inputs[place]
        key = (id(original), axis, integers.dtype.str, how.scale.tobytes(), integers.shape)
        shared = key in self._weights
        if not shared:
            base = original.name or f"{node.name}_{place}"
            out = Variable(self.name(f"{base}_dequantized"), np.dtype(np.float32), list(integers.shape))
            inputs = [self.constant(f"{base}_quantized", integers), self.constant(f"{base}_scale", how.scale)]
            if integers.dtype != np.int32:
                inputs.append(self.constant(f"{base}_zero_point", how.zero_point))
            attributes = {"axis": axis} if how.scale.ndim else {}
            self.before[id(node)].append(
                Node("DequantizeLinear", self.name(f"{base}_DequantizeLinear"), attributes, inputs, [out])
            )
            self._weights[key] = out
        node.inputs[place] = self._weights[key]
        return shared

    def made(self, node: Node, tensor: Variable, how: Params) -> None:
        """Quantize what `node` makes: everybody reads the dequantized value, which keeps the name."""
        raw = Variable(self.name(f"{tensor.name}_float"), tensor.dtype, tensor.shape)
        place = next(k for k, t in enumerate(node.outputs) if t is tensor)
        node.outputs[place] = raw
        self.after[id(node)] += self._pair(raw, tensor, how)

    def read(self, node: Node, place: int, how: Params) -> None:
        """Quantize what `node` reads at `place`; other readers keep the float value."""
        tensor = node.inputs[place]
        if id(tensor) not in self._reads:
            out = Variable(self.name(f"{tensor.name}_dequantized"), tensor.dtype, tensor.shape)
            self._reads[id(tensor)] = out
            self.before[id(node)] += self._pair(tensor, out, how)
        node.inputs[place] = self._reads[id(tensor)]

    def _pair(self, source: Variable, target: Variable, how: Params) -> list[Node]:
        base = target.name.removesuffix("_dequantized")
        scale, zero = self.constant(f"{base}_scale", how.scale), self.constant(f"{base}_zero_point", how.zero_point)
        integers = Variable(self.name(f"{base}_quantized"), how.zero_point.dtype, source.shape)
        return [
            Node("QuantizeLinear", self.name(f"{base}_QuantizeLinear"), {}, [source, scale, zero], [integers]),
            Node("DequantizeLinear", self.name(f"{base}_DequantizeLinear"), {}, [integers, scale, zero], [target]),
        ]

    def apply(self) -> None:
        """Put the new nodes into the list; a value read before its first maker in the list stays in order."""
        nodes: list[Node] = []
        for node in self.graph.nodes:
            nodes += self.before.get(id(node), ())
            nodes.append(node)
            nodes += self.after.get(id(node), ())
        self.graph.nodes = nodes
