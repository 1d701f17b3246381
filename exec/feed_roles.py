"""What an input is for, told by what the graph does with it.

Followed from the input through operations that only move or convert values, into subgraphs and model-local functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_graphsurgeon as gs

from exec.arrays import Array
from exec.ir import constant_value
from exec.program import function_key

MOVES = frozenset(
    [
        "Identity",
        "Cast",
        "CastLike",
        "Reshape",
        "Unsqueeze",
        "Squeeze",
        "Transpose",
        "Flatten",
        "Expand",
        "Tile",
        "Slice",
        "Split",
        "Concat",
        "Pad",
        "Dropout",
        "Clip",
        "Gather",
    ]
)
"""Ops whose first input's values are found in their output (Concat: any of its inputs')."""

MOST_CHOICES = 65536

COMPARES = frozenset(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])


@dataclass(slots=True)
class Roles:
    """What was found.

    bound      values must be below this, from the table they index
    compared   constants the input is compared with, in graph order; several at once where a one-hot is spelled out
    channels   what a Conv wants on axis 1; features: what a MatMul wants on the last axis
    positive   it goes into a logarithm or a root
    """

    bound: int | None = None
    compared: list[float] = field(default_factory=list)
    channels: int | None = None
    features: int | None = None
    positive: bool = False
    bounded_by: str = ""


def roles_of(tensor: Any, functions: Mapping[tuple[str, str, str], Any]) -> Roles:
    """The roles of one graph input."""
    roles = Roles()
    seen: set[int] = set()
    pending = [(tensor, True)]
    while pending:
        value, untouched = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for node in dict.fromkeys(value.outputs):
            for position, read in enumerate(node.inputs):
                if read is value:
                    pending.extend(_visit(node, position, untouched, roles, functions))
    return roles


def _visit(
    node: Any, position: int, untouched: bool, roles: Roles, functions: Mapping[tuple[str, str, str], Any]
) -> Iterator[tuple[Any, bool]]:
    """Note what `node` does with its input `position`; yield the values to follow."""
    body = functions.get(function_key(node.domain, node.op, getattr(node, "overload", "")))
    if body is not None:
        if position < len(body.inputs):
            yield body.inputs[position], untouched
        for inner, outer in zip(body.outputs, node.outputs, strict=False):
            if any(inner is t for t in body.inputs):
                yield outer, untouched
        return
    if node.domain not in ("", "ai.onnx", "com.microsoft"):
        return
    op = node.op
    limit = _index_limit(node, position)
    if limit is not None and (roles.bound is None or limit < roles.bound):
        roles.bound, roles.bounded_by = limit, node.name or op
    if op in COMPARES:
        other = _constant_behind(_input(node, 1 - position))
        if other is not None and other.size and other.dtype.kind in "iufb":
            roles.compared.extend(np.unique(other)[:MOST_CHOICES].astype(float).tolist())
    elif op == "Conv" and position == 0 and untouched:
        shape = _shape(_input(node, 1))
        if shape is not None and len(shape) > 1 and isinstance(shape[1], int):
            roles.channels = shape[1] * int(node.attrs.get("group", 1))
    elif op in ("MatMul", "Gemm") and position == 0 and untouched:
        shape = _shape(_input(node, 1))
        if shape is not None and len(shape) > 1:
            rows = shape[-1] if op == "Gemm" and node.attrs.get("transB") else shape[-2]
            roles.features = rows if isinstance(rows, int) else roles.features
    elif op in ("Log", "Sqrt"):
        roles.positive = True
    if op in MOVES and (position == 0 or op == "Concat"):
        yield from ((out, untouched and op in ("Identity", "Cast", "Dropout")) for out in node.outputs)


def _index_limit(node: Any, position: int) -> int | None:
    """How many entries the axis has that this input indexes, if it does and the graph tells."""
    op, attributes = node.op, node.attrs
    if op in ("Gather", "GatherElements") and position == 1:
        shape = _shape(_input(node, 0))
        axis = int(attributes.get("axis", 0))
        size = None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
    elif op == "GatherND" and position == 1:
        shape = _shape(_input(node, 0))
        sizes = [n for n in shape or () if isinstance(n, int)]
        size = min(sizes, default=None)
    elif op == "OneHot" and position == 0:
        depth = _constant_behind(_input(node, 1))
        size = None if depth is None or not depth.size else int(np.ravel(depth)[0])
    elif op == "EmbedLayerNormalization" and position < 2:
        shape = _shape(_input(node, 2 if position == 0 else 4))
        size = shape[0] if shape else None
    else:
        return None
    return size if isinstance(size, int) and size > 0 else None


def _constant_behind(tensor: Any) -> Array | None:
    """The constant a value is made of by moves alone."""
    for _ in range(8):
        if tensor is None:
            return None
        value = constant_value(tensor)
        if value is not None:
            return np.asarray(value)
        if len(tensor.inputs) != 1 or tensor.inputs[0].op not in MOVES:
            return None
        tensor = _input(tensor.inputs[0], 0)
    return None


def _input(node: Any, position: int) -> Any:
    """An input of a node, None where it has not as many: no schema speaks for ops of other domains."""
    return node.inputs[position] if position < len(node.inputs) else None


def _shape(tensor: Any) -> tuple[Any, ...] | None:
    if tensor is None:
        return None
    value = constant_value(tensor) if isinstance(tensor, gs.Constant) or tensor.inputs else None
    shape = value.shape if value is not None else tensor.shape
    return None if shape is None else tuple(shape)
