"""Nodes whose form depends on the opset: axes, bounds and sizes as attributes in old ones, as inputs in new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes.patch import Patch


def reshape(patch: Patch, x: Any, target: Sequence[int], out: Any = None) -> Any:
    """x in the shape `target` (0 copies, -1 is inferred)."""
    if patch.region.opset < 5:
        return patch.add("Reshape", [x], {"shape": list(target)}, out=out)
    return patch.add("Reshape", [x, patch.ints(target, f"{x.name}_shape")], out=out)


def unsqueeze(patch: Patch, x: Any, axes: Sequence[int], out: Any = None) -> Any:
    """Axes of size 1 put in at `axes` of the result."""
    if patch.region.opset < 13:
        return patch.add("Unsqueeze", [x], {"axes": list(axes)}, out=out)
    return patch.add("Unsqueeze", [x, patch.ints(axes, f"{x.name}_axes")], out=out)


def squeeze(patch: Patch, x: Any, axes: Sequence[int], out: Any = None) -> Any:
    """Axes of size 1 taken out."""
    if patch.region.opset < 13:
        return patch.add("Squeeze", [x], {"axes": list(axes)}, out=out)
    return patch.add("Squeeze", [x, patch.ints(axes, f"{x.name}_axes")], out=out)


def transpose(patch: Patch, x: Any, perm: Sequence[int], out: Any = None) -> Any:
    """x with its axes in the order `perm`."""
    return patch.add("Transpose", [x], {"perm": list(perm)}, out=out)


def reduce(patch: Patch, op: str, x: Any, axes: Sequence[int], keepdims: bool, out: Any = None) -> Any:
    """A reduction over `axes`: an attribute before opset 18 (ReduceSum: 13), an input since."""
    attrs: dict[str, Any] = {} if keepdims else {"keepdims": 0}
    if patch.region.opset >= (13 if op == "ReduceSum" else 18):
        return patch.add(op, [x, patch.ints(axes, f"{x.name}_axes")], attrs, out=out)
    return patch.add(op, [x], {**attrs, "axes": list(axes)}, out=out)


def clip(patch: Patch, x: Any, low: float | None, high: float | None, out: Any = None) -> Any:
    """x held between two numbers; attributes before opset 11."""
    if patch.region.opset < 11:
        return patch.add("Clip", [x], {"min": low, "max": high}, out=out)
    dtype = patch.region.dtype(x) or np.dtype(np.float32)
    bounds = [
        None if v is None else patch.constant(np.array(v, dtype), f"{x.name}_{k}")
        for k, v in (("min", low), ("max", high))
    ]
    return patch.add("Clip", [x, *bounds], out=out)


def slice_(
    patch: Patch,
    x: Any,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int] | None = None,
    out: Any = None,
) -> Any:
    """A part of x; attributes before opset 10, where steps do not exist."""
    if patch.region.opset < 10:
        return patch.add("Slice", [x], {"starts": list(starts), "ends": list(ends), "axes": list(axes)}, out=out)
    inputs = [
        x,
        patch.ints(starts, f"{x.name}_starts"),
        patch.ints(ends, f"{x.name}_ends"),
        patch.ints(axes, f"{x.name}_axes"),
    ]
    if steps is not None and any(s != 1 for s in steps):
        inputs.append(patch.ints(steps, f"{x.name}_steps"))
    return patch.add("Slice", inputs, out=out)


def split(patch: Patch, x: Any, sizes: Sequence[int], axis: int, outs: Sequence[Any]) -> list[Any]:
    """x cut along `axis`."""
    if patch.region.opset < 13:
        return patch.add_many("Split", [x], {"axis": axis, "split": list(sizes)}, outs=outs)
    return patch.add_many("Split", [x, patch.ints(sizes, f"{x.name}_split")], {"axis": axis}, outs=outs)
