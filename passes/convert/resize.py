"""Resize at older opsets: inputs that could be left out are given, axes are spelled out, and what an older one cannot say is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.convert.adapters import downward, replacement
from passes.patch import Patch
from passes.region import Region

ROI, SCALES, SIZES = 1, 2, 3


@downward("Resize", below=19)
def resize_without_symmetric(node: Node, region: Region) -> Patch | str | None:
    mode = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    return "it samples by half_pixel_symmetric, which is new there" if mode == "half_pixel_symmetric" else None


@downward("Resize", below=18)
def resize_of_all_axes(node: Node, region: Region) -> Patch | str | None:
    """Scales or sizes for every axis, not only those named."""
    if node.attrs.get("antialias", 0):
        return "it smooths before it shrinks (antialias is 1)"
    if node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch" and region.has(node, SIZES):
        return "it keeps the ratio of the sides (keep_aspect_ratio_policy)"
    axes, rank = node.attrs.get("axes"), region.rank(node.inputs[0])
    if axes is None:
        return None
    if rank is None:
        return "it names axes, and the rank of its input is not known"
    if region.has(node, ROI) and node.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return "it crops the axes it names"
    patch = replacement(node, region)
    inputs: list[Any] = [*node.inputs, *(patch.omitted() for _ in range(4 - len(node.inputs)))]
    full = _full_scales(node, axes, rank, region) if region.has(node, SCALES) else _full_sizes(node, axes, rank, region)
    if full is None:
        return "it names axes, and what it resizes them to, or the other sizes, are not constant"
    k = SCALES if region.has(node, SCALES) else SIZES
    inputs[k] = patch.constant(full, f"{node.outputs[0].name}_{'scales' if k == SCALES else 'sizes'}")
    attrs = {name: v for name, v in node.attrs.items() if name not in ("axes", "keep_aspect_ratio_policy", "antialias")}
    patch.add("Resize", inputs[: k + 1], attrs, out=node.outputs[0])
    return patch


@downward("Resize", below=13)
def resize_with_all_inputs(node: Node, region: Region) -> Patch | str | None:
    """Roi and scales must be given; empty they say nothing."""
    if region.has(node, ROI) and region.has(node, SCALES):
        return None
    if not region.has(node, ROI) and node.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return "it crops by a roi it does not have"
    patch = replacement(node, region)
    inputs: list[Any] = list(node.inputs)
    inputs += [patch.omitted() for _ in range(SCALES + 1 - len(inputs))]
    for k, name in ((ROI, "roi"), (SCALES, "scales")):
        if not region.has(node, k):
            inputs[k] = patch.constant(np.zeros(0, np.float32), f"{node.outputs[0].name}_{name}")
    patch.add("Resize", inputs, node.attrs, out=node.outputs[0])
    return patch


@downward("Resize", below=11)
def resize_by_scales(node: Node, region: Region) -> Patch | str | None:
    """Resize-10 samples asymmetrically and rounds down, by scales."""
    mode = node.attrs.get("mode", "nearest")
    coordinates = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    if mode not in ("nearest", "linear"):
        return f"its mode is {mode}"
    if coordinates != "asymmetric" or (
        mode == "nearest" and node.attrs.get("nearest_mode", "round_prefer_floor") != "floor"
    ):
        return f"it samples by {coordinates}, and opset 10 knows only asymmetric coordinates, rounded down"
    scales = region.constant(node.inputs[SCALES]) if region.has(node, SCALES) else None
    if scales is None or not scales.size:
        return "its sizes are given, not its scales"
    patch = replacement(node, region)
    patch.add("Resize", [node.inputs[0], node.inputs[SCALES]], {"mode": mode}, out=node.outputs[0])
    return patch


def _full_scales(node: Node, axes: list[int], rank: int, region: Region) -> Any:
    given = region.constant(node.inputs[SCALES])
    if given is None or given.size != len(axes):
        return None
    full = np.ones(rank, np.float32)
    full[[a % rank for a in axes]] = given
    return full


def _full_sizes(node: Node, axes: list[int], rank: int, region: Region) -> Any:
    given, shape = region.ints(node, SIZES), region.shape(node.inputs[0])
    if given is None or shape is None or len(given) != len(axes):
        return None
    sizes: list[Any] = list(shape)
    for axis, size in zip(axes, given, strict=True):
        sizes[axis % rank] = size
    return np.array(sizes, np.int64) if all(isinstance(d, int) for d in sizes) else None
