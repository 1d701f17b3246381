"""Adapters to older opsets: what was an input with a constant value becomes an attribute again, newer ops become the formula they name."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.convert.adapters import downward, replacement
from passes.dims import minimum
from passes.patch import Patch
from passes.region import Region
from passes.shapes.reduction import REDUCTIONS

FARTHEST = (1 << 63) - 1


@downward("Squeeze", "Unsqueeze", "ReduceSum", below=13)
def axes_to_attribute(node: Node, region: Region) -> Patch | str | None:
    """`axes` becomes an attribute."""
    if not region.has(node, 1):
        return None
    axes = region.ints(node, 1)
    if axes is None:
        return "its axes are computed"
    if not axes and node.attrs.get("noop_with_empty_axes", 0):
        return "it has no axes and does nothing"
    patch = replacement(node, region)
    attrs = {k: v for k, v in node.attrs.items() if k != "noop_with_empty_axes"}
    patch.add(node.op, [node.inputs[0]], {**attrs, "axes": axes} if axes else attrs, out=node.outputs[0])
    return patch


@downward(*(op for op in REDUCTIONS if op != "ReduceSum"), below=18)
def reduce_axes_to_attribute(node: Node, region: Region) -> Patch | str | None:
    return axes_to_attribute(node, region)


@downward("Split", below=13)
def split_to_attribute(node: Node, region: Region) -> Patch | str | None:
    """`split` becomes an attribute."""
    if not region.has(node, 1):
        return None
    sizes = region.ints(node, 1)
    if sizes is None:
        return "its sizes are computed"
    patch = replacement(node, region)
    patch.add_many("Split", [node.inputs[0]], {**node.attrs, "split": sizes}, outs=list(node.outputs))
    return patch


@downward("Split", below=18)
def split_without_count(node: Node, region: Region) -> Patch | str | None:
    """Without `num_outputs`, all parts are equal."""
    count = node.attrs.get("num_outputs")
    if count is None:
        return None
    size = region.dim(node.inputs[0], int(node.attrs.get("axis", 0)))
    attrs = {k: v for k, v in node.attrs.items() if k != "num_outputs"}
    patch = replacement(node, region)
    if isinstance(size, int):
        piece = -(-size // count)
        sizes = patch.ints([piece] * (count - 1) + [size - piece * (count - 1)], f"{node.outputs[0].name}_split")
        patch.add_many("Split", [node.inputs[0], sizes], attrs, outs=list(node.outputs))
        return patch
    return "its parts may not be equal"


@downward("Reshape", below=14)
def reshape_without_zeros(node: Node, region: Region) -> Patch | str | None:
    """Without `allowzero` a 0 means the size that is there: the same where no size is 0, or the size is the input's own."""
    if not node.attrs.get("allowzero", 0):
        return None
    target, given = region.elements(node.inputs[1]), region.shape(node.inputs[0])
    if target is None:
        return "its sizes are computed, and one that is 0 would mean another thing (allowzero is 1)"
    for k, size in enumerate(target):
        own = given is not None and k < len(given) and given[k] == size
        if size != -1 and not own and minimum(size, 0) < 1:
            return f"its size {size} at axis {k} may be 0, which would mean another thing (allowzero is 1); one given with --freeze is not"
    patch = replacement(node, region)
    attrs = {name: v for name, v in node.attrs.items() if name != "allowzero"}
    patch.add("Reshape", list(node.inputs), attrs, out=node.outputs[0])
    return patch


@downward("Clip", below=11)
def clip_bounds_to_attributes(node: Node, region: Region) -> Patch | str | None:
    attrs: dict[str, Any] = {}
    for k, name in ((1, "min"), (2, "max")):
        if region.has(node, k):
            bound = region.scalar(node.inputs[k])
            if bound is None:
                return "its bounds are computed"
            attrs[name] = bound
    patch = replacement(node, region)
    patch.add("Clip", [node.inputs[0]], attrs, out=node.outputs[0])
    return patch


@downward("Pad", below=19)
def pad_without_wrap(node: Node, region: Region) -> Patch | str | None:
    return "it pads by wrapping" if node.attrs.get("mode", "constant") == "wrap" else None


@downward("Pad", below=18)
def pad_without_axes(node: Node, region: Region) -> Patch | str | None:
    return "it pads the axes it names" if region.has(node, 3) else None


@downward("Pad", below=11)
def pads_to_attributes(node: Node, region: Region) -> Patch | str | None:
    pads = region.ints(node, 1)
    value = region.scalar(node.inputs[2]) if region.has(node, 2) else 0.0
    if pads is None or value is None:
        return "its pads are computed"
    patch = replacement(node, region)
    patch.add("Pad", [node.inputs[0]], {**node.attrs, "pads": pads, "value": value}, out=node.outputs[0])
    return patch


@downward("Constant", below=12)
def constant_as_tensor(node: Node, region: Region) -> Patch | str | None:
    """Numbers and words stand in a tensor."""
    if "value" in node.attrs or "sparse_value" in node.attrs:
        return None
    value = region.constant(node.outputs[0])
    if value is None:
        return "its value is not known"
    patch = replacement(node, region)
    held = patch.constant(value, f"{node.outputs[0].name}_value")
    patch.add("Constant", [], {"value": held}, out=node.outputs[0])
    return patch


@downward("Slice", below=10)
def slice_bounds_to_attributes(node: Node, region: Region) -> Patch | str | None:
    attrs: dict[str, Any] = {}
    for k, name in ((1, "starts"), (2, "ends"), (3, "axes")):
        if region.has(node, k):
            values = region.ints(node, k)
            if values is None:
                return "its bounds are computed"
            attrs[name] = values
    steps = region.ints(node, 4) if region.has(node, 4) else [1]
    if steps is None or any(s != 1 for s in steps):
        return "it has steps"
    patch = replacement(node, region)
    patch.add("Slice", [node.inputs[0]], attrs, out=node.outputs[0])
    return patch


@downward("Dropout", below=12)
def dropout_ratio_to_attribute(node: Node, region: Region) -> Patch | str | None:
    if region.has(node, 2):
        training = region.constant(node.inputs[2])
        if training is None or training.any():
            return "it runs in training mode"
    ratio = region.scalar(node.inputs[1]) if region.has(node, 1) else 0.5
    if ratio is None:
        return "its ratio is computed"
    patch = replacement(node, region)
    patch.add_many("Dropout", [node.inputs[0]], {"ratio": ratio}, outs=list(node.outputs))
    return patch


@downward("BatchNormalization", below=14)
def batch_norm_without_mode(node: Node, region: Region) -> Patch | str | None:
    if node.attrs.get("training_mode", 0):
        return "it runs in training mode"
    if "training_mode" not in node.attrs:
        return None
    patch = replacement(node, region)
    attrs = {k: v for k, v in node.attrs.items() if k != "training_mode"}
    patch.add(node.op, list(node.inputs), attrs, out=node.outputs[0])
    return patch


@downward("Softmax", "LogSoftmax", "Hardmax", below=13)
def softmax_axis(node: Node, region: Region) -> Patch | str | None:
    """Before opset 13 all axes from `axis` on were one: right for the last, a Transpose brings another one there."""
    rank = region.rank(node.inputs[0])
    if rank is None:
        return "the rank of its input is not known"
    axis = int(node.attrs.get("axis", -1)) % rank
    patch = replacement(node, region)
    if axis == rank - 1:
        patch.add(node.op, [node.inputs[0]], {"axis": axis}, out=node.outputs[0])
        return patch
    perm = [k for k in range(rank) if k != axis] + [axis]
    back = [perm.index(k) for k in range(rank)]
    turned = patch.add("Transpose", [node.inputs[0]], {"perm": perm})
    y = patch.add(node.op, [turned], {"axis": rank - 1})
    patch.add("Transpose", [y], {"perm": back}, out=node.outputs[0])
    return patch


@downward("GridSample", below=20)
def grid_sample_mode(node: Node, region: Region) -> Patch | str | None:
    names = {"linear": "bilinear", "cubic": "bicubic"}
    mode = node.attrs.get("mode", "linear")
    patch = replacement(node, region)
    patch.add("GridSample", list(node.inputs), {**node.attrs, "mode": names.get(mode, mode)}, out=node.outputs[0])
    return patch


@downward("DFT", below=20)
def dft_axis_to_attribute(node: Node, region: Region) -> Patch | str | None:
    axis = region.ints(node, 2) if region.has(node, 2) else [-2]
    rank = region.rank(node.inputs[0])
    if axis is None or rank is None:
        return "its axis is computed, or the rank of its input is not known"
    patch = replacement(node, region)
    patch.add("DFT", list(node.inputs[:2]), {**node.attrs, "axis": axis[0] % rank}, out=node.outputs[0])
    return patch


@downward("HardSwish", below=14)
def hard_swish(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    gate = patch.add("HardSigmoid", [node.inputs[0]], {"alpha": 1 / 6, "beta": 0.5})
    patch.add("Mul", [node.inputs[0], gate], out=node.outputs[0])
    return patch


@downward("Mish", below=18)
def mish(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    inner = patch.add("Tanh", [patch.add("Softplus", [node.inputs[0]])])
    patch.add("Mul", [node.inputs[0], inner], out=node.outputs[0])
    return patch


@downward("Swish", below=24)
def swish(node: Node, region: Region) -> Patch | str | None:
    dtype = region.dtype(node.inputs[0])
    if dtype is None:
        return "the type of its input is not known"
    patch = replacement(node, region)
    alpha, x = float(node.attrs.get("alpha", 1.0)), node.inputs[0]
    inner = x if alpha == 1 else patch.add("Mul", [x, patch.constant(np.array(alpha, dtype), f"{x.name}_alpha")])
    patch.add("Mul", [x, patch.add("Sigmoid", [inner])], out=node.outputs[0])
    return patch


@downward("Gelu", below=20)
def gelu(node: Node, region: Region) -> Patch | str | None:
    dtype = region.dtype(node.inputs[0])
    if dtype is None:
        return "the type of its input is not known"
    patch, x = replacement(node, region), node.inputs[0]

    def number(value: float, name: str) -> Any:
        return patch.constant(np.array(value, dtype), f"{x.name}_{name}")

    if node.attrs.get("approximate", "none") == "tanh":
        square = patch.add("Mul", [x, x])
        cube = patch.add("Mul", [patch.add("Mul", [square, x]), number(0.044715, "cubic")])
        scaled = patch.add("Mul", [patch.add("Add", [x, cube]), number(float(np.sqrt(2 / np.pi)), "scale")])
        gate = patch.add("Tanh", [scaled])
    else:
        gate = patch.add("Erf", [patch.add("Mul", [x, number(float(np.sqrt(0.5)), "scale")])])
    half = patch.add("Mul", [x, number(0.5, "half")])
    patch.add("Mul", [half, patch.add("Add", [gate, number(1.0, "one")])], out=node.outputs[0])
    return patch


@downward("Shape", below=15)
def shape_of_all_axes(node: Node, region: Region) -> Patch | str | None:
    """`start` and `end` cut the list of all sizes."""
    start, end = int(node.attrs.get("start", 0)), node.attrs.get("end")
    if start == 0 and end is None:
        return None
    patch = replacement(node, region)
    name = node.outputs[0].name
    whole = patch.add("Shape", [node.inputs[0]])
    bounds = [patch.ints([start], f"{name}_start"), patch.ints([FARTHEST if end is None else int(end)], f"{name}_end")]
    patch.add("Slice", [whole, *bounds], out=node.outputs[0])
    return patch


@downward("Trilu", below=14)
def triangle(node: Node, region: Region) -> Patch | str | None:
    """What lies on the wrong side of the diagonal, column − row against k, becomes 0."""
    x, dtype = node.inputs[0], region.dtype(node.inputs[0])
    k = region.scalar(node.inputs[1]) if region.has(node, 1) else 0
    if dtype is None or k is None:
        return "the type of its input is not known, or its diagonal is computed"
    patch = replacement(node, region)
    name = node.outputs[0].name
    one, zero = (
        patch.constant(np.array(1, np.int64), f"{name}_one"),
        patch.constant(np.array(0, np.int64), f"{name}_zero"),
    )

    def places(axis: int) -> Any:
        size = patch.add("Gather", [patch.add("Shape", [x]), patch.constant(np.array(axis, np.int64), f"{name}_axis")])
        return patch.add("Range", [zero, size, one])

    rows = patch.add("Reshape", [places(-2), patch.ints([-1, 1], f"{name}_column")])
    distance = patch.add("Sub", [places(-1), rows])
    nothing = patch.constant(np.zeros((), dtype), f"{name}_nothing")
    # of the upper triangle column − row ≥ k stays, of the lower ≤ k
    if node.attrs.get("upper", 1):
        cut, kept = patch.add("Less", [distance, patch.constant(np.array(int(k), np.int64), f"{name}_k")]), [nothing, x]
    else:
        limit = patch.constant(np.array(int(k) + 1, np.int64), f"{name}_k")
        cut, kept = patch.add("Less", [distance, limit]), [x, nothing]
    patch.add("Where", [cut, *kept], out=node.outputs[0])
    return patch
