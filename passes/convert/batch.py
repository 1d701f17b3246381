"""Another batch in a model that was exported with one: sizes of the inputs, and the Reshape targets that spell the old one out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Model, Node, constant_value, no_gc, unique_name, walk
from passes.convert.infer_shapes import infer_shapes
from passes.region import Workspace


def set_batch(model: Model, size: int) -> Model:
    """A copy of `model` whose inputs have `size` as first axis, as far as that is a batch.

    A constant target of a Reshape or Expand that repeats the old batch is told to keep the first axis instead; whether that is what the
    model means, a run of both shows.
    """
    with no_gc():
        copy = model.copy()
        inputs = _of_a_batch([t for t in copy.graph.inputs if t.shape])
        old = {t.shape[0] for t in inputs}
        fixed = {d for d in old if isinstance(d, int) and d > 0 and d != size}
        if fixed:
            _retarget(copy, fixed.pop())
        symbols = {d: size for d in old if isinstance(d, str) and d}
        for tensor in copy.graph.inputs:
            if tensor.shape:
                tensor.shape = [symbols.get(d, d) for d in tensor.shape]
        for tensor in inputs:
            tensor.shape = [size, *tensor.shape[1:]]
        for graph in walk(copy.graph):
            for tensor in (t for node in graph.nodes for t in node.outputs):
                # what the file says of inner values is about the old batch
                tensor.shape = None
        for tensor, shape in zip(copy.graph.outputs, [info.shape for info in model.outputs], strict=True):
            if not isinstance(tensor, Constant):
                tensor.shape = [None if d in old else d for d in shape[:1]] + list(shape[1:]) if shape else shape
        return infer_shapes(copy).model


def _of_a_batch(inputs: list[Any]) -> list[Any]:
    """The inputs whose first axis is the batch: open ones, or where none is open those of the commonest size."""
    opened = [t for t in inputs if not isinstance(t.shape[0], int) or t.shape[0] <= 0]
    if opened or not inputs:
        return opened
    commonest = Counter(t.shape[0] for t in inputs).most_common(1)[0][0]
    return [t for t in inputs if t.shape[0] == commonest]


def _retarget(model: Model, old: int) -> None:
    facts = Workspace(model).facts
    for node in model.graph.nodes:
        if node.domain or node.op != "Reshape" or node.attrs.get("allowzero", 0):
            continue
        target = constant_value(node.inputs[1])
        shape = facts.shape(node.inputs[0])
        if target is None or not shape or target.size == 0 or int(target[0]) != old or shape[0] != old:
            continue
        _set(node, target, model)


def _set(node: Node, target: Array, model: Model) -> None:
    """0 keeps the axis of the input."""
    kept = np.array(target)
    kept[0] = 0
    node.inputs[1] = Constant(unique_name(model.graph, f"{node.outputs[0].name}_target"), kept)


__all__ = ["set_batch"]
