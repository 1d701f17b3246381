"""Sizes that a model has written into it: an exporter that traced one run wrote that run's sizes where it should have asked for them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from exec.arrays import Array
from exec.ir import Constant, constant_value

MOST_SIZES = 3
LARGEST = 1 << 16


def pins_elements(model: Any) -> bool:
    """Whether a Reshape has a target of fixed sizes only, so that its input cannot have another batch."""
    for node in model.graph.nodes:
        if (
            node.op == "Reshape"
            and not node.domain
            and len(node.inputs) > 1
            and not isinstance(node.inputs[0], Constant)
        ):
            target = _numbers(node.inputs[1])
            if target is not None and target.size and (target > 0).all():
                return True
    return False


def pinned_sizes(model: Any) -> tuple[int, ...]:
    """Sizes above 1 in the targets of Reshapes and in what is joined to such targets, the most frequent first."""
    found: Counter[int] = Counter()
    for node in model.graph.nodes:
        if node.domain or node.op not in ("Reshape", "Concat"):
            continue
        for tensor in node.inputs[1:2] if node.op == "Reshape" else node.inputs:
            sizes = _numbers(tensor)
            if sizes is not None:
                found.update(int(v) for v in sizes if 1 < v <= LARGEST)
    return tuple(size for size, _ in found.most_common(MOST_SIZES))


def _numbers(tensor: Any) -> Array | None:
    """The values of a small list of int64."""
    if tensor.dtype is not None and getattr(tensor.dtype, "name", "") != "int64":
        return None
    value = constant_value(tensor)
    return value if value is not None and value.dtype.name == "int64" and value.ndim == 1 and value.size <= 8 else None
