"""Computes one node whose inputs are constants, with the kernel that a run would use: the plain one, on one thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from exec.arrays import Array, Value
from exec.errors import BenchError
from exec.footprint import counting
from exec.ir import Node
from exec.program import Operation, attribute_value
from passes.region import Region

LARGEST = 16 << 20
"""Bytes a folded value may have, beyond four times what it is made of: more is better made at run time."""

PLAIN = frozenset(
    [
        "Abs",
        "Add",
        "And",
        "Cast",
        "Ceil",
        "Clip",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "Div",
        "Equal",
        "Exp",
        "Expand",
        "Flatten",
        "Floor",
        "Gather",
        "Greater",
        "Identity",
        "Less",
        "Log",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Pow",
        "Range",
        "Reciprocal",
        "ReduceProd",
        "Reshape",
        "Shape",
        "Size",
        "Slice",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
    ]
)
"""Ops whose kernels never call BLAS. All others run on one thread, for the same bits everywhere; setting the threads takes a millisecond."""

VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})


def evaluate(node: Node, region: Region) -> list[Array | None] | None:
    """The outputs of `node`, or None where they are no tensors or the node cannot be computed."""
    inputs: list[Value] = []
    for tensor in node.inputs:
        value = region.constant(tensor) if tensor.name else None
        if tensor.name and value is None:
            return None
        inputs.append(value)
    view = _view(node, inputs, region)
    return [view] if view is not None else evaluate_on(node, inputs, region)


def _view(node: Node, inputs: Sequence[Value], region: Region) -> Array | None:
    """The result of an op that only names a new shape: that shape is known, so no kernel is asked."""
    if node.op not in VIEWS or not isinstance(inputs[0], np.ndarray):
        return None
    shape = region.shape(node.outputs[0])
    if shape is None or not all(isinstance(d, int) for d in shape):
        return None
    return inputs[0].reshape([d for d in shape if isinstance(d, int)])


def evaluate_on(node: Node, inputs: Sequence[Value], region: Region) -> list[Array | None] | None:
    """The outputs of `node` for these inputs."""
    # most models need no kernel here: the executor is loaded when one does
    from exec.interpreter import Interpreter
    from exec.threads import blas_threads

    attributes = {name: attribute_value(value, node) for name, value in node.attrs.items()}
    numbers = tuple(k if t.name else -1 for k, t in enumerate(node.inputs))
    outs = tuple(len(numbers) + k if t.name else -1 for k, t in enumerate(node.outputs))
    operation = Operation(node.op, "", region.opset, attributes, numbers, outs, node, {}, {"": region.opset})
    try:
        interpreter = Interpreter("plain")
        interpreter.budget = region.workspace.budget
        interpreter.footprint.limit = LARGEST + 4 * sum(x.nbytes for x in inputs if isinstance(x, np.ndarray))
        threads = nullcontext() if node.op in PLAIN else blas_threads(1)
        with threads, counting(interpreter.footprint), np.errstate(all="ignore"):
            values = interpreter.compute(operation, inputs, ())
    except BenchError:
        # no kernel, or the model is wrong here: the run itself will say so
        return None
    found: list[Array | None] = []
    for tensor, value in zip(node.outputs, values, strict=False):
        if tensor.name and not isinstance(value, np.ndarray):
            return None
        found.append(value if tensor.name else None)
    return found
