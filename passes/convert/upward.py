"""Adapters to newer opsets. Ops not listed only gained types, inputs or attributes whose defaults keep the old meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.convert.adapters import replacement, upward
from passes.dims import known
from passes.patch import Patch
from passes.region import Region
from passes.shapes.reduction import REDUCTIONS


@upward("Squeeze", "Unsqueeze", "ReduceSum", to=13)
def axes_to_input(node: Node, region: Region) -> Patch | str | None:
    """`axes` becomes an input."""
    axes = node.attrs.get("axes")
    if axes is None:
        return None
    patch = replacement(node, region)
    attrs = {k: v for k, v in node.attrs.items() if k != "axes"}
    patch.add(node.op, [node.inputs[0], patch.ints(axes, f"{node.outputs[0].name}_axes")], attrs, out=node.outputs[0])
    return patch


@upward(*(op for op in REDUCTIONS if op != "ReduceSum"), to=18)
def reduce_axes_to_input(node: Node, region: Region) -> Patch | str | None:
    return axes_to_input(node, region)


@upward("Split", to=13)
def split_to_input(node: Node, region: Region) -> Patch | str | None:
    """`split` becomes an input."""
    sizes = node.attrs.get("split")
    if sizes is None:
        return None
    patch = replacement(node, region)
    attrs = {k: v for k, v in node.attrs.items() if k != "split"}
    inputs = [node.inputs[0], patch.ints(sizes, f"{node.outputs[0].name}_split")]
    patch.add_many("Split", inputs, attrs, outs=list(node.outputs))
    return patch


@upward("Split", to=18)
def split_counts(node: Node, region: Region) -> Patch | str | None:
    """Without sizes, the number of parts is said."""
    if region.has(node, 1):
        return None
    patch = replacement(node, region)
    attrs = {**node.attrs, "num_outputs": len(node.outputs)}
    patch.add_many("Split", [node.inputs[0]], attrs, outs=list(node.outputs))
    return patch


@upward("Clip", to=11)
def clip_bounds_to_inputs(node: Node, region: Region) -> Patch | str | None:
    """`min` and `max` become inputs of the value's type."""
    dtype = region.dtype(node.inputs[0])
    if dtype is None:
        return "the type of its input is not known"
    patch = replacement(node, region)
    bounds: list[Any] = []
    for name in ("min", "max"):
        given = node.attrs.get(name)
        bounds.append(
            None if given is None else patch.constant(np.array(given, dtype), f"{node.outputs[0].name}_{name}")
        )
    patch.add("Clip", [node.inputs[0], *bounds], out=node.outputs[0])
    return patch


@upward("Pad", to=11)
def pads_to_input(node: Node, region: Region) -> Patch | str | None:
    """`pads` and `value` become inputs."""
    dtype = region.dtype(node.inputs[0])
    pads = node.attrs.get("pads", node.attrs.get("paddings"))
    if dtype is None or pads is None:
        return "the type of its input is not known"
    patch = replacement(node, region)
    inputs = [node.inputs[0], patch.ints(pads, f"{node.outputs[0].name}_pads")]
    value = node.attrs.get("value", 0.0)
    if value:
        inputs.append(patch.constant(np.array(value, dtype), f"{node.outputs[0].name}_value"))
    attrs = {"mode": node.attrs["mode"]} if "mode" in node.attrs else {}
    patch.add("Pad", inputs, attrs, out=node.outputs[0])
    return patch


@upward("Slice", to=10)
def slice_bounds_to_inputs(node: Node, region: Region) -> Patch | str | None:
    """`starts`, `ends` and `axes` become inputs."""
    patch = replacement(node, region)
    given = [name for name in ("starts", "ends", "axes") if name in node.attrs]
    bounds = [patch.ints(node.attrs[name], f"{node.outputs[0].name}_{name}") for name in given]
    patch.add("Slice", [node.inputs[0], *bounds], out=node.outputs[0])
    return patch


@upward("TopK", to=10)
def top_k_to_input(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    k = patch.ints([node.attrs["k"]], f"{node.outputs[0].name}_k")
    attrs = {name: v for name, v in node.attrs.items() if name != "k"}
    patch.add_many("TopK", [node.inputs[0], k], attrs, outs=list(node.outputs))
    return patch


@upward("Upsample", to=9)
def upsample_scales_to_input(node: Node, region: Region) -> Patch | str | None:
    scales = node.attrs.get("scales")
    if scales is None:
        return "it has no scales"
    patch = replacement(node, region)
    attrs = {"mode": node.attrs["mode"]} if "mode" in node.attrs else {}
    inputs = [node.inputs[0], patch.constant(np.array(scales, np.float32), f"{node.outputs[0].name}_scales")]
    patch.add("Upsample", inputs, attrs, out=node.outputs[0])
    return patch


@upward("Upsample", to=10)
def upsample_to_resize(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    patch.add("Resize", list(node.inputs), node.attrs, out=node.outputs[0])
    return patch


@upward("Resize", to=11)
def resize_modes(node: Node, region: Region) -> Patch | str | None:
    """Resize-10 samples asymmetrically and rounds down; the roi input is new."""
    patch = replacement(node, region)
    attrs = {**node.attrs, "coordinate_transformation_mode": "asymmetric"}
    if node.attrs.get("mode", "nearest") == "nearest":
        attrs["nearest_mode"] = "floor"
    roi = patch.constant(np.zeros(0, np.float32), f"{node.outputs[0].name}_roi")
    patch.add("Resize", [node.inputs[0], roi, node.inputs[1]], attrs, out=node.outputs[0])
    return patch


@upward("Dropout", to=7)
def dropout_without_mode(node: Node, region: Region) -> Patch | str | None:
    if not node.attrs.get("is_test", 0):
        return "it runs in training mode (is_test is 0)"
    patch = replacement(node, region)
    patch.add_many("Dropout", [node.inputs[0]], {"ratio": node.attrs.get("ratio", 0.5)}, outs=list(node.outputs))
    return patch


@upward("Dropout", to=12)
def dropout_ratio_to_input(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    ratio = patch.constant(np.array(node.attrs.get("ratio", 0.5), np.float32), f"{node.outputs[0].name}_ratio")
    patch.add_many("Dropout", [node.inputs[0], ratio], outs=list(node.outputs))
    return patch


@upward("BatchNormalization", to=7)
def batch_norm_without_mode(node: Node, region: Region) -> Patch | str | None:
    if not node.attrs.get("is_test", 0):
        return "it runs in training mode (is_test is 0)"
    return _only(node, region, "epsilon", "momentum", "spatial")


@upward("BatchNormalization", to=9)
def batch_norm_spatial(node: Node, region: Region) -> Patch | str | None:
    if not node.attrs.get("spatial", 1):
        return "it normalizes each position by itself (spatial is 0)"
    return _only(node, region, "epsilon", "momentum")


@upward("BatchNormalization", to=14)
def batch_norm_outputs(node: Node, region: Region) -> Patch | str | None:
    """Before opset 14 further outputs meant training."""
    if any(not region.is_unread(t) for t in node.outputs[1:]):
        return "it runs in training mode: its statistics are read"
    return _only(node, region, "epsilon", "momentum") if len(node.outputs) > 1 else None


def _only(node: Node, region: Region, *names: str) -> Patch:
    patch = replacement(node, region)
    attrs = {k: v for k, v in node.attrs.items() if k in names}
    patch.add(node.op, list(node.inputs), attrs, out=node.outputs[0])
    return patch


@upward("Softmax", "LogSoftmax", "Hardmax", to=13)
def softmax_axis(node: Node, region: Region) -> Patch | str | None:
    """Before opset 13 all axes from `axis` on were one: a Flatten before, and the shape again after."""
    x = node.inputs[0]
    shape = region.shape(x)
    axis = int(node.attrs.get("axis", 1))
    if shape is None:
        return "the rank of its input is not known"
    axis = axis + len(shape) if axis < 0 else axis
    patch = replacement(node, region)
    if axis == len(shape) - 1 or (known(shape[axis + 1 :]) and all(d == 1 for d in shape[axis + 1 :])):
        patch.add(node.op, [x], {"axis": axis}, out=node.outputs[0])
        return patch
    flat = patch.add("Flatten", [x], {"axis": axis})
    y = patch.add(node.op, [flat], {"axis": 1})
    size = patch.add("Shape", [x])
    patch.add("Reshape", [y, size], out=node.outputs[0])
    return patch


@upward("RoiAlign", to=16)
def roi_align_mode(node: Node, region: Region) -> Patch | str | None:
    if "coordinate_transformation_mode" in node.attrs:
        return None
    patch = replacement(node, region)
    attrs = {**node.attrs, "coordinate_transformation_mode": "output_half_pixel"}
    patch.add("RoiAlign", list(node.inputs), attrs, out=node.outputs[0])
    return patch


@upward("GridSample", to=20)
def grid_sample_mode(node: Node, region: Region) -> Patch | str | None:
    mode = node.attrs.get("mode", "bilinear")
    patch = replacement(node, region)
    names = {"bilinear": "linear", "bicubic": "cubic"}
    patch.add("GridSample", list(node.inputs), {**node.attrs, "mode": names.get(mode, mode)}, out=node.outputs[0])
    return patch


@upward("DFT", to=20)
def dft_axis(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    attrs = {k: v for k, v in node.attrs.items() if k != "axis"}
    axis = patch.constant(np.array(node.attrs.get("axis", 1), np.int64), f"{node.outputs[0].name}_axis")
    length = node.inputs[1] if region.has(node, 1) else None
    patch.add("DFT", [node.inputs[0], length, axis], attrs, out=node.outputs[0])
    return patch


@upward("GroupNormalization", to=21)
def group_norm_scale(node: Node, region: Region) -> Patch | str | None:
    """γ and β were one per group, now they are one per channel."""
    groups, channels = int(node.attrs.get("num_groups", 1)), region.dim(node.inputs[0], 1)
    scale, bias = region.constant(node.inputs[1]), region.constant(node.inputs[2])
    if not isinstance(channels, int) or scale is None or bias is None:
        return "its scale is not constant, or its channels are not known"
    patch = replacement(node, region)
    wide = [
        patch.constant(np.repeat(a, channels // groups), t.name)
        for a, t in zip((scale, bias), node.inputs[1:], strict=True)
    ]
    patch.add("GroupNormalization", [node.inputs[0], *wide], node.attrs, out=node.outputs[0])
    return patch


@upward("Scatter", to=11)
def scatter_elements(node: Node, region: Region) -> Patch | str | None:
    patch = replacement(node, region)
    patch.add("ScatterElements", list(node.inputs), node.attrs, out=node.outputs[0])
    return patch


@upward("Reshape", to=5)
def reshape_target_to_input(node: Node, region: Region) -> Patch | str | None:
    target = node.attrs.get("shape")
    if target is None:
        return "it has no shape"
    patch = replacement(node, region)
    patch.add("Reshape", [node.inputs[0], patch.ints(target, f"{node.outputs[0].name}_shape")], out=node.outputs[0])
    return patch


@upward("Cast", to=6)
def cast_code(node: Node, region: Region) -> Patch | str | None:
    """`to` was a name."""
    import onnx

    code = node.attrs.get("to")
    if isinstance(code, int):
        return None
    patch = replacement(node, region)
    patch.add("Cast", [node.inputs[0]], {"to": onnx.TensorProto.DataType.Value(str(code).upper())}, out=node.outputs[0])
    return patch


@upward("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater", "Pow", "PRelu", to=7)
def broadcast_axis(node: Node, region: Region) -> Patch | str | None:
    """`broadcast` and `axis` gave the second operand its place; now its shape does."""
    if not node.attrs.get("broadcast", 0):
        return _only(node, region) if node.attrs else None
    axis, a, b = node.attrs.get("axis"), region.rank(node.inputs[0]), region.rank(node.inputs[1])
    if axis is None:
        return _only(node, region)
    if a is None or b is None:
        return "the ranks of its inputs are not known"
    behind = a - (int(axis) % a) - b
    patch = replacement(node, region)
    second = node.inputs[1]
    if behind:
        second = patch.add("Unsqueeze", [second], {"axes": list(range(b, b + behind))})
    patch.add(node.op, [node.inputs[0], second], out=node.outputs[0])
    return patch


@upward("Gemm", to=7)
def gemm_broadcast(node: Node, region: Region) -> Patch | str | None:
    return _only(node, region, "alpha", "beta", "transA", "transB")
