"""An edit changes what it says and nothing else: each is made on the graph and, by hand, on the proto; both give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from exec.errors import InvalidModel
from exec.ir import Constant, Graph, Model, Node, Variable, load, remove_nodes

Edit = tuple[Callable[[Model], None], Callable[[onnx.ModelProto], None]]
EDITS: dict[str, Edit] = {}


def node(model: Model, name: str) -> Node:
    return next(n for n in model.graph.nodes if n.name == name)


def proto_node(proto: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(n for n in proto.graph.node if n.name == name)


def edit(name: str, graph_edit: Callable[[Model], Any], proto_edit: Callable[[onnx.ModelProto], Any]) -> None:
    EDITS[name] = (graph_edit, proto_edit)


def assign(target: Any, **values: Any) -> None:
    for name, item in values.items():
        setattr(target, name, item)


def replace(container: Any, values: list[Any]) -> None:
    del container[:]
    container.extend(values)


def attribute(proto: onnx.ModelProto, node_name: str, name: str) -> onnx.AttributeProto:
    return next(a for a in proto_node(proto, node_name).attribute if a.name == name)


edit("node name", lambda m: assign(node(m, "add"), name="sum"), lambda p: assign(proto_node(p, "add"), name="sum"))
edit("op", lambda m: assign(node(m, "add"), op="Mul"), lambda p: assign(proto_node(p, "add"), op_type="Mul"))
edit(
    "op of a node with an overload",
    lambda m: assign(node(m, "call"), op="G"),
    lambda p: (assign(proto_node(p, "call"), op_type="G"), proto_node(p, "call").ClearField("overload")),
)
edit(
    "domain nobody imports",
    lambda m: assign(node(m, "clip"), domain="com.x"),
    lambda p: (assign(proto_node(p, "clip"), domain="com.x"), p.opset_import.append(h.make_opsetid("com.x", 1))),
)
edit(
    "float attribute",
    lambda m: node(m, "leaky").attrs.update(alpha=0.5),
    lambda p: assign(attribute(p, "leaky", "alpha"), f=0.5),
)
edit(
    "int into a float attribute",
    lambda m: node(m, "leaky").attrs.update(alpha=1),
    lambda p: assign(attribute(p, "leaky", "alpha"), f=1.0),
)
edit(
    "new attribute of the type the schema says",
    lambda m: node(m, "clip").attrs.update(axis=1, alpha=2.0),
    lambda p: proto_node(p, "clip").attribute.extend([h.make_attribute("axis", 1), h.make_attribute("alpha", 2.0)]),
)
edit(
    "dropped attribute",
    lambda m: node(m, "leaky").attrs.clear(),
    lambda p: proto_node(p, "leaky").ClearField("attribute"),
)
edit(
    "tensor attribute",
    lambda m: assign(node(m, "constant").attrs["value"], values=np.zeros((16, 32), np.float32)),
    lambda p: assign(attribute(p, "constant", "value").t, raw_data=bytes(4 * 512)),
)
edit(
    "node doc and metadata",
    lambda m: (assign(node(m, "add"), doc_string="new"), node(m, "add").metadata.update({"owb.source": "a"})),
    lambda p: (
        assign(proto_node(p, "add"), doc_string="new"),
        proto_node(p, "add").metadata_props.add(key="owb.source", value="a"),
    ),
)
edit(
    "input dropped to fewer",
    lambda m: assign(node(m, "clip"), inputs=node(m, "clip").inputs[:1]),
    lambda p: replace(proto_node(p, "clip").input, ["t4"]),
)
edit(
    "nodes swapped",
    lambda m: m.graph.nodes.insert(0, m.graph.nodes.pop(5)),
    lambda p: replace(p.graph.node, [n for at in (5, 0, 1, 2, 3, 4, 6, 7) for n in [copy_of(p.graph.node[at])]]),
)


def copy_of(message: Any) -> Any:
    twin = type(message)()
    twin.CopyFrom(message)
    return twin


def rename_everywhere(proto: onnx.ModelProto) -> None:
    proto_node(proto, "leaky").output[0] = "hot"
    for branch in attribute(proto, "choose", "then_branch").g, attribute(proto, "choose", "else_branch").g:
        branch.node[0].input[0] = "hot"
    proto.graph.value_info[1].name = "hot"


edit("captured value renamed", lambda m: assign(node(m, "leaky").outputs[0], name="hot"), rename_everywhere)


def rename_annotated(proto: onnx.ModelProto) -> None:
    proto_node(proto, "add").output[0] = proto_node(proto, "leaky").input[0] = "sum"
    proto.graph.value_info[0].name = proto.graph.quantization_annotation[0].tensor_name = "sum"


edit("annotated value renamed", lambda m: assign(node(m, "add").outputs[0], name="sum"), rename_annotated)


def rename_default(proto: onnx.ModelProto) -> None:
    proto.graph.input[2].name = proto.graph.initializer[0].name = proto_node(proto, "add").input[1] = "weight"
    proto.graph.quantization_annotation[0].quant_parameter_tensor_names[0].value = "weight"


edit("input with a default renamed", lambda m: assign(m.graph.inputs[2], name="weight"), rename_default)


def rename_weight(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[1].name = proto_node(proto, "product").input[1] = "large"


edit("weight renamed", lambda m: assign(node(m, "product").inputs[1], name="large"), rename_weight)
edit(
    "weight of the same size",
    lambda m: assign(node(m, "product").inputs[1], values=np.ones((3, 512), np.float32)),
    lambda p: assign(p.graph.initializer[1], raw_data=np.ones((3, 512), np.float32).tobytes()),
)


def retype_weight(proto: onnx.ModelProto) -> None:
    tensor = proto.graph.initializer[1]
    assign(tensor, data_type=T.INT8, raw_data=bytes(6))
    tensor.dims[:] = [3, 2]


edit(
    "weight of another type and shape",
    lambda m: assign(node(m, "product").inputs[1], values=np.zeros((3, 2), np.int8)),
    retype_weight,
)


def use_new_weight(model: Model) -> None:
    node(model, "product").inputs[1] = Constant("other", np.ones((3, 512), np.float32))


def write_new_weight(proto: onnx.ModelProto) -> None:
    proto_node(proto, "product").input[1] = "other"
    del proto.graph.initializer[1]
    proto.graph.initializer.append(nh.from_array(np.ones((3, 512), np.float32), "other"))


edit("weight replaced by another one", use_new_weight, write_new_weight)
edit(
    "one dim",
    lambda m: m.graph.inputs[0].shape.__setitem__(0, 7),
    lambda p: assign(p.graph.input[0].type.tensor_type.shape.dim[0], dim_value=7),
)
edit(
    "a dim forgotten",
    lambda m: m.graph.inputs[0].shape.__setitem__(0, None),
    lambda p: p.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param"),
)
edit(
    "element type",
    lambda m: assign(m.graph.outputs[0], dtype=np.dtype(np.float16)),
    lambda p: assign(p.graph.output[0].type.tensor_type, elem_type=T.FLOAT16),
)
edit(
    "rank forgotten",
    lambda m: assign(m.graph.inputs[0], shape=None),
    lambda p: p.graph.input[0].type.tensor_type.ClearField("shape"),
)
edit(
    "shape of an inner value that had none",
    lambda m: assign(node(m, "product").outputs[0], dtype=np.dtype(np.float32), shape=["N", 512]),
    lambda p: p.graph.value_info.append(h.make_tensor_value_info("t4", T.FLOAT, ["N", 512])),
)
edit("default no longer overridable", lambda m: freeze(m), lambda p: p.graph.input.pop(2))


def freeze(model: Model) -> None:
    tensor: Any = model.graph.inputs.pop(2)
    tensor.to_constant(tensor.default)


def drop_last_but_one(model: Model) -> None:
    last, clip = node(model, "last"), node(model, "clip")
    last.inputs[0] = clip.inputs[0]
    remove_nodes(model.graph, [clip])


def drop_in_proto(proto: onnx.ModelProto) -> None:
    proto_node(proto, "last").input[0] = "t4"
    proto.graph.node.remove(proto_node(proto, "clip"))


edit("node removed", drop_last_but_one, drop_in_proto)


def bypass_leaky(model: Model) -> None:
    leaky: Any = node(model, "leaky")
    for name in ("then_branch", "else_branch"):
        node(model, "choose").attrs[name].nodes[0].inputs[0] = leaky.inputs[0]
    remove_nodes(model.graph, [leaky])


def bypass_in_proto(proto: onnx.ModelProto) -> None:
    proto.graph.node.remove(proto_node(proto, "leaky"))
    for name in ("then_branch", "else_branch"):
        attribute(proto, "choose", name).g.node[0].input[0] = "t0"
    del proto.graph.value_info[1]


edit("value_info goes with its value", bypass_leaky, bypass_in_proto)
edit(
    "inside a subgraph",
    lambda m: assign(node(m, "choose").attrs["then_branch"].nodes[0], op="Mul"),
    lambda p: assign(attribute(p, "choose", "then_branch").g.node[0], op_type="Mul"),
)
edit(
    "weight inside a subgraph",
    lambda m: assign(node(m, "choose").attrs["then_branch"].nodes[0].inputs[1], values=np.ones((2, 3), np.float32)),
    lambda p: assign(
        attribute(p, "choose", "then_branch").g.initializer[0], raw_data=np.ones((2, 3), np.float32).tobytes()
    ),
)
edit("graph name", lambda m: assign(m.graph, name="core"), lambda p: assign(p.graph, name="core"))
edit("graph metadata", lambda m: m.graph.metadata.clear(), lambda p: p.graph.ClearField("metadata_props"))
edit("model metadata", lambda m: m.metadata.update(key="new"), lambda p: assign(p.metadata_props[0], value="new"))
edit("opset", lambda m: assign(m.graph, opset=22), lambda p: assign(p.opset_import[0], version=22))
edit("IR version", lambda m: assign(m.graph, ir_version=11), lambda p: assign(p, ir_version=11))
edit("producer", lambda m: assign(m.graph, producer_name="q"), lambda p: assign(p, producer_name="q"))
edit(
    "inside a function",
    lambda m: assign(m.functions[0].nodes[0], op="Neg"),
    lambda p: assign(p.functions[0].node[0], op_type="Neg"),
)
edit(
    "function overload",
    lambda m: assign(m.functions[0], overload="v2"),
    lambda p: assign(p.functions[0], overload="v2"),
)
edit(
    "function value renamed",
    lambda m: assign(m.functions[0].inputs[0], name="z"),
    lambda p: (replace(p.functions[0].input, ["z"]), replace(p.functions[0].node[0].input, ["z"])),
)
edit(
    "function attribute",
    lambda m: m.functions[0].attrs.update(needed=None, alpha=0.5),
    lambda p: (
        p.functions[0].attribute.append("needed"),
        p.functions[0].attribute_proto.append(h.make_attribute("alpha", 0.5)),
    ),
)


def scale_in_function(model: Model) -> None:
    function = model.functions[0]
    function.nodes[0].op = "Mul"
    function.nodes[0].inputs.append(Constant("two", np.float32(2)))


def scale_in_proto(proto: onnx.ModelProto) -> None:
    function = proto.functions[0]
    function.node[0].op_type = "Mul"
    function.node[0].input.append("two")
    nodes = [
        h.make_node("Constant", [], ["two"], value=nh.from_array(np.float32(2), "two")),
        *map(copy_of, function.node),
    ]
    replace(function.node, nodes)


edit("constant new in a function", scale_in_function, scale_in_proto)


@pytest.mark.parametrize("name", EDITS)
def test_only_the_edited_element_differs(name: str, rich: onnx.ModelProto, exact: Callable[[Any], bytes]) -> None:
    graph_edit, proto_edit = EDITS[name]
    model = load(rich)
    graph_edit(model)
    proto_edit(rich)
    assert model.to_proto() == rich
    assert exact(model.to_proto()) == exact(rich)
    assert exact(model.copy().to_proto()) == exact(rich)
    assert exact(model.snapshot().restore().to_proto()) == exact(rich)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(1, 1), (True, 1), (np.int64(3), 3), (np.float32(2.0), 2), (np.dtype(np.float32), 1), (np.int8, T.INT8)],
)
def test_an_int_attribute_takes_what_stands_for_an_int(text: Any, wanted: int) -> None:
    model = load(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Cast <to = 1> (x) }'
        )
    )
    model.graph.nodes[0].attrs["to"] = text
    item = model.to_proto().graph.node[0].attribute[0]
    assert (item.type, item.i) == (onnx.AttributeProto.INT, wanted)


def test_a_new_node_gets_its_attribute_types_from_the_schema() -> None:
    model = load(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
        )
    )
    model.graph.nodes[0].op = "LeakyRelu"
    model.graph.nodes[0].attrs["alpha"] = 1
    proto = model.to_proto()
    assert proto.graph.node[0].attribute[0].type == onnx.AttributeProto.FLOAT
    onnx.checker.check_model(proto)


def test_signed_zero_nan_and_the_type_of_one_are_edits() -> None:
    node_proto = h.make_node("Op", ["x"], ["y"], domain="c", zero=0.0, nan=float("nan"), one=1)
    info = h.make_tensor_value_info
    graph = h.make_graph([node_proto], "g", [info("x", T.FLOAT, [1])], [info("y", T.FLOAT, [1])])
    proto = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("c", 1)])
    model = load(proto)
    attrs = model.graph.nodes[0].attrs
    attrs.update(zero=-0.0, nan=float("nan"))
    written = {a.name: a for a in model.to_proto().graph.node[0].attribute}
    assert np.signbit(written["zero"].f)
    assert written["nan"] == next(a for a in node_proto.attribute if a.name == "nan")
    attrs["one"] = 1.5
    assert {a.name: a.type for a in model.to_proto().graph.node[0].attribute}["one"] == onnx.AttributeProto.FLOAT


def test_names_that_would_change_their_meaning_are_refused(rich: onnx.ModelProto) -> None:
    model = load(rich)
    node(model, "leaky").outputs[0].name = "t0"
    with pytest.raises(InvalidModel, match="two values are called 't0'"):
        model.to_proto()
    model = load(rich)
    inner: Any = node(model, "choose").attrs["then_branch"].nodes[0]
    inner.outputs[0].name = "t1"
    with pytest.raises(InvalidModel, match="means another value"):
        model.to_proto()


def test_new_constants_go_where_all_their_readers_see_them(rich: onnx.ModelProto) -> None:
    model = load(rich)
    choose: Any = node(model, "choose")
    shared, alone = Constant("shared", np.float32(1)), Constant("alone", np.float32(2))
    choose.attrs["then_branch"].nodes[0].inputs[1] = shared
    choose.attrs["else_branch"].nodes[0].inputs.append(shared)
    choose.attrs["else_branch"].nodes[0].inputs.append(alone)
    proto = model.to_proto()
    branches = {a.name: a.g for a in proto_node(proto, "choose").attribute}
    assert [t.name for t in proto.graph.initializer] == ["w", "big", "unused", "shared"]
    assert [t.name for t in branches["then_branch"].initializer] == []
    assert [t.name for t in branches["else_branch"].initializer] == ["alone"]


@pytest.fixture
def old() -> onnx.ModelProto:
    """Before IR version 4 every initializer is listed as an input, too."""
    info = h.make_tensor_value_info
    graph = h.make_graph(
        [h.make_node("Add", ["x", "w"], ["t"]), h.make_node("Mul", ["t", "v"], ["y"])],
        "g",
        [info("w", T.FLOAT, [2]), info("x", T.FLOAT, [2]), info("v", T.FLOAT, [2])],
        [info("y", T.FLOAT, [2])],
        [nh.from_array(np.ones(2, np.float32), n) for n in ("w", "v")],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 8)], ir_version=3)


def test_inputs_an_old_file_lists_for_its_weights_are_constants_and_come_back_in_place(old: onnx.ModelProto) -> None:
    model = load(old)
    assert [t.name for t in model.graph.inputs] == ["x"]
    assert all(isinstance(n.inputs[1], Constant) for n in model.graph.nodes)
    assert model.to_proto() == old
    model.graph.nodes[0].inputs[1] = Constant("u", np.zeros(2, np.float32))
    proto = model.to_proto()
    assert [i.name for i in proto.graph.input] == ["x", "v", "u"]
    onnx.checker.check_model(proto)
    model.graph.ir_version = 8
    assert [i.name for i in model.to_proto().graph.input] == ["x"]


def test_an_overridable_initializer_is_a_variable_with_a_default(rich: onnx.ModelProto) -> None:
    tensor = load(rich).graph.inputs[2]
    assert isinstance(tensor, Variable)
    assert tensor.default is not None
    assert tensor.default.load().shape == (2, 3)
    assert [i.name for i in load(rich).inputs] == ["x", "c"]


def test_training_information_keeps_its_initializers(rich: onnx.ModelProto) -> None:
    info = rich.training_info.add()
    info.initialization_binding.add(key="big", value="start")
    model = load(rich)
    node(model, "product").inputs[1] = Constant("other", np.ones((3, 512), np.float32))
    assert "big" in [t.name for t in model.to_proto().graph.initializer]
    renamed = load(rich)
    node(renamed, "product").inputs[1].name = "large"
    with pytest.raises(InvalidModel, match="'big' cannot be renamed"):
        renamed.to_proto()


def test_a_graph_made_from_nothing_can_be_written(rich: onnx.ModelProto) -> None:
    model = load(rich)
    x, y = Variable("x", np.dtype(np.float32), ["N", 2]), Variable("y", np.dtype(np.float32), ["N", 2])
    big = Constant("w", np.eye(2, dtype=np.float32))
    model.graph = Graph([Node("MatMul", "m", None, [x, big], [y])], [x], [y], "fresh", opset=17, ir_version=8)
    proto = model.to_proto()
    assert proto.graph.name == "fresh"
    assert nh.to_array(proto.graph.initializer[0]).tolist() == [[1, 0], [0, 1]]
    assert [(i.domain, i.version) for i in proto.opset_import] == [("", 17)]
