"""Normalizations at opsets that do not have them yet: the formula they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from exec.dtypes import from_numpy
from exec.ir import Node
from passes.convert.adapters import downward, replacement
from passes.patch import Patch
from passes.region import Region


@downward("LayerNormalization", below=17)
def layer_normalization(node: Node, region: Region) -> Patch | str | None:
    return _spelled_out(node, region, centred=True)


@downward("RMSNormalization", below=23)
def rms_normalization(node: Node, region: Region) -> Patch | str | None:
    return _spelled_out(node, region, centred=False)


@downward("GroupNormalization", below=21)
def group_normalization(node: Node, region: Region) -> Patch | str | None:
    """Scale and bias are by channel, and were by group before: the groups are normalized as channels, then scaled."""
    return _by_instances(node, region, by_group=False)


@downward("GroupNormalization", below=18)
def group_normalization_by_group(node: Node, region: Region) -> Patch | str | None:
    return _by_instances(node, region, by_group=True)


def _widens(node: Node, dtype: np.dtype[Any]) -> bool:
    """Whether the statistics are taken in float32, of a narrower type."""
    return int(node.attrs.get("stash_type", 1)) == TensorProto.FLOAT and dtype.itemsize < 4


def _by_instances(node: Node, region: Region, *, by_group: bool) -> Patch | str | None:
    x, rank, dtype = node.inputs[0], region.rank(node.inputs[0]), region.dtype(node.inputs[0])
    if rank is None or dtype is None:
        return "the rank or type of its input is not known"
    groups = int(node.attrs["num_groups"])
    widens = _widens(node, dtype)
    inner = np.dtype(np.float32) if widens else dtype
    patch = replacement(node, region)
    if by_group:
        scale, bias = (
            patch.add("Cast", [t], {"to": from_numpy(inner).code}) if widens else t for t in node.inputs[1:3]
        )
    else:
        scale = patch.constant(np.ones(groups, inner), f"{x.name}_one_each")
        bias = patch.constant(np.zeros(groups, inner), f"{x.name}_none")
    value = patch.add("Cast", [x], {"to": from_numpy(inner).code}) if widens else x
    value = patch.add("Reshape", [value, patch.ints([0, groups, -1], f"{x.name}_groups")])
    epsilon = {"epsilon": float(node.attrs.get("epsilon", 1e-5))}
    value = patch.add("InstanceNormalization", [value, scale, bias], epsilon)
    shape = patch.add("Shape", [x])
    if by_group and not widens:
        patch.add("Reshape", [value, shape], out=node.outputs[0])
        return patch
    value = patch.add("Reshape", [value, shape])
    if by_group:
        patch.add("Cast", [value], {"to": from_numpy(dtype).code}, out=node.outputs[0])
        return patch
    if widens:
        value = patch.add("Cast", [value], {"to": from_numpy(dtype).code})
    channels = patch.ints([-1] + [1] * (rank - 2), f"{x.name}_by_channel")
    scale, bias = (patch.add("Reshape", [t, channels]) for t in node.inputs[1:3])
    patch.add("Add", [patch.add("Mul", [value, scale]), bias], out=node.outputs[0])
    return patch


def _spelled_out(node: Node, region: Region, *, centred: bool) -> Patch | str | None:
    """(x − mean) / √(mean of squares + ε) · scale + bias; the statistics in float32 where the op says so."""
    x, rank, dtype = node.inputs[0], region.rank(node.inputs[0]), region.dtype(node.inputs[0])
    if rank is None or dtype is None:
        return "the rank or type of its input is not known"
    if any(not region.is_unread(t) for t in node.outputs[1:]):
        return "its mean or its deviation is read"
    axes = list(range(int(node.attrs.get("axis", -1)) % rank, rank))
    widens = _widens(node, dtype)
    patch = replacement(node, region)

    def mean_of(value: Any) -> Any:
        if region.opset < 18:
            return patch.add("ReduceMean", [value], {"axes": axes, "keepdims": 1})
        return patch.add("ReduceMean", [value, patch.ints(axes, f"{x.name}_axes")], {"keepdims": 1})

    value = patch.add("Cast", [x], {"to": TensorProto.FLOAT}) if widens else x
    if centred:
        value = patch.add("Sub", [value, mean_of(value)])
    epsilon = np.array(node.attrs.get("epsilon", 1e-5), np.float32 if widens else dtype)
    inside = patch.add("Add", [mean_of(patch.add("Mul", [value, value])), patch.constant(epsilon, f"{x.name}_epsilon")])
    value = patch.add("Div", [value, patch.add("Sqrt", [inside])])
    if widens:
        value = patch.add("Cast", [value], {"to": from_numpy(dtype).code})
    if region.has(node, 2):
        value = patch.add("Mul", [value, node.inputs[1]])
        patch.add("Add", [value, node.inputs[2]], out=node.outputs[0])
    else:
        patch.add("Mul", [value, node.inputs[1]], out=node.outputs[0])
    return patch
