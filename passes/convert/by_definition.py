"""Ops that an older opset does not have, written as the function by which the specification defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from exec.definition import attribute_protos, call_of_definition, has_definition
from exec.dtypes import from_numpy
from exec.ir import Graph, Node
from exec.ir.opsets import schema_of
from passes.convert.adapters import replacement
from passes.inline import Inliner, resolved
from passes.patch import Patch
from passes.region import Region


def goes_by_definition(op: str, version: int) -> bool:
    """Whether opset `version` defines an op by others, and the one before does not have it."""
    schema: Any = schema_of(op, version)
    return schema is not None and has_definition(schema) and schema_of(op, version - 1) is None


def by_definition(node: Node, region: Region) -> Patch | str | None:
    """An adapter: the node as others of its own opset, which is still that of the region."""
    version = region.opset
    schema: Any = schema_of(node.op, version)
    if any(isinstance(v, Graph) for v in node.attrs.values()):
        return None
    types = [_type(t, region) if region.has(node, k) else onnx.TypeProto() for k, t in enumerate(node.inputs)]
    if any(t is None for t in types):
        return "the type of an input is not known"
    names = [f"i{k}" if region.has(node, k) else "" for k in range(len(node.inputs))]
    outputs = [f"o{k}" if t.name else "" for k, t in enumerate(node.outputs)]
    proto = helper.make_node(node.op, names, outputs)
    proto.attribute.extend(attribute_protos(node.attrs, schema))
    model = call_of_definition(proto, schema, version, [t for t in types if t is not None], {"": version})
    (call,), (function,) = model.graph.nodes, model.graph.functions
    if not function.nodes:
        return "its definition depends on what is not known here"
    patch = replacement(node, region)
    values = {t: node.inputs[k] for k, t in enumerate(function.inputs) if region.has(node, k)}
    inliner = Inliner(
        patch, values, attrs=resolved(call, function.attrs), prefix=f"{node.name or node.op}/", once=False
    )
    outs = [t if t.name else None for t in node.outputs]
    outs += [None] * (len(function.outputs) - len(outs))
    for out, result in zip(outs, inliner.add(function, outs), strict=True):
        if out is not None and out is not result:
            patch.replace(out, result)
    return patch


def _type(tensor: Any, region: Region) -> onnx.TypeProto | None:
    dtype, shape = region.dtype(tensor), region.shape(tensor)
    if not isinstance(dtype, np.dtype):
        return None
    dims = None if shape is None else [d if isinstance(d, int) else None for d in shape]
    return helper.make_tensor_type_proto(from_numpy(dtype).code, dims)
