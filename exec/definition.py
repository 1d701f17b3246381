"""The function by which the specification defines an op: its FunctionProto, and a model that is a call of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.defs
from onnx import helper, numpy_helper

from exec.ir import Model, load

DOMAIN = "owb.body"


def has_definition(schema: Any) -> bool:
    """Whether the op is defined by others."""
    return bool(schema.has_function or schema.has_context_dependent_function)


def attribute_protos(attributes: Mapping[str, Any], schema: Any) -> list[onnx.AttributeProto]:
    """Plain attributes, of the types the schema gives them; arrays become tensors."""
    made = []
    for name, value in attributes.items():
        if isinstance(value, (np.ndarray, np.generic)):
            value = numpy_helper.from_array(np.asarray(value))
        kind = schema.attributes[name].type if schema is not None and name in schema.attributes else None
        number = getattr(onnx.AttributeProto, kind.name) if kind is not None else None
        made.append(helper.make_attribute(name, value, attr_type=number))
    return made


def definition(node: onnx.NodeProto, schema: Any, opset: int, types: Sequence[onnx.TypeProto]) -> onnx.FunctionProto:
    """The newest body that is not newer than `opset`, with the types written in where the op wants that.

    types  of the inputs, untyped where one is left out
    """
    body = onnx.FunctionProto()
    versions = [v for v in schema.function_opset_versions if v <= opset]
    if versions:
        body.ParseFromString(schema.get_function_with_opset_version(max(versions)))
        return body
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    version = max(versions, default=schema.since_version)
    asked = [t.SerializeToString() for t in types]
    made = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), asked)
    body.ParseFromString(made)
    return body


def call_of_definition(
    node: onnx.NodeProto, schema: Any, opset: int, types: Sequence[onnx.TypeProto], opsets: Mapping[str, int]
) -> Model:
    """A model of one node, a call of the function that defines `node`; its inputs and outputs are the node's.

    opsets  versions for the domains of which the body does not say one
    """
    body = definition(node, schema, opset, types)
    body.domain, body.name = DOMAIN, node.op_type
    made = {name for inner in body.node for name in inner.output}
    while len(body.output) > len(node.output) and body.output[-1] not in made:
        # some bodies declare outputs they make only for who asks
        body.output.pop()
    call = onnx.NodeProto()
    call.CopyFrom(node)
    call.domain = DOMAIN
    given = {a.name for a in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            call.attribute.append(attribute.default_value)
    graph = helper.make_graph(
        [call],
        node.op_type,
        [helper.make_value_info(n, t) for n, t in zip(node.input, types, strict=True) if n],
        [helper.make_value_info(n, onnx.TypeProto()) for n in node.output if n],
    )
    for needed in body.opset_import:
        needed.version = needed.version or opsets.get(needed.domain, onnx.defs.onnx_opset_version())
    imports = [*body.opset_import, helper.make_opsetid(DOMAIN, 1)]
    return load(helper.make_model(graph, functions=[body], opset_imports=imports))
