"""The classes: identity, links on both sides, and graphsurgeon's own ways of using them."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import InvalidModel, OptionError
from exec.ir import Constant, Graph, Model, Node, Opaque, Variable, load, no_gc
from exec.ir.collector import Frozen


def parse(text: str) -> Model:
    return load(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))


def test_nodes_tensors_and_graphs_are_graphsurgeons_and_equal_only_to_themselves() -> None:
    a, b = Variable("x"), Variable("x")
    assert a in [a]
    assert a != b
    assert len({a, b}) == 2
    one = Constant("x", np.zeros(2))
    assert one != Constant("x", np.zeros(2))
    assert Node("Relu", "n") != Node("Relu", "n")
    assert Graph() != Graph()
    for element, kind in ((a, gs.Variable), (one, gs.Constant), (Node("Relu"), gs.Node), (Graph(), gs.Graph)):
        assert isinstance(element, kind)


def links_agree(nodes: list[Node], tensors: list[Variable]) -> bool:
    for node in nodes:
        for tensor in tensors:
            reads = sum(t is tensor for t in node.inputs), sum(n is node for n in tensor.outputs)
            makes = sum(t is tensor for t in node.outputs), sum(n is node for n in tensor.inputs)
            if reads[0] != reads[1] or makes[0] != makes[1]:
                return False
    return True


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["append", "insert", "pop", "set", "del", "extend", "remove", "clear", "slice", "iadd", "assign"]
        ),
        st.integers(0, 7),
        st.integers(0, 7),
    ),
    max_size=25,
)


@given(OPERATIONS, st.booleans())
def test_both_sides_of_a_link_agree_after_any_change_of_a_list(
    operations: list[tuple[str, int, int]], from_tensors: bool
) -> None:
    nodes = [Node("Op", f"n{i}") for i in range(3)]
    tensors = [Variable(f"t{i}") for i in range(3)]
    for operation, i, j in operations:
        owners, items = (tensors, nodes) if from_tensors else (nodes, tensors)
        owner, item = owners[i % 3], items[j % 3]
        target = owner.outputs if i < 4 else owner.inputs
        if operation == "append":
            target.append(item)
        elif operation == "insert":
            target.insert(j, item)
        elif operation == "extend":
            target.extend(x for x in (item, item))
        elif operation == "iadd":
            target += [item]
        elif operation == "assign":
            owner.outputs = [item, item]
        elif operation == "clear":
            target.clear()
        elif operation == "slice":
            target[j % 2 :] = [item]
        elif len(target):
            place = j % len(target)
            if operation == "pop":
                target.pop(place)
            elif operation == "set":
                target[place] = item
            elif operation == "del":
                del target[place]
            else:
                target.remove(target[place])
        assert links_agree(nodes, tensors)


def test_a_list_of_links_is_copied_as_a_plain_list_and_never_pickled() -> None:
    node = Node("Op", "n", None, [Variable("a")], [])
    for plain in (node.inputs.copy(), copy.copy(node.inputs), node.inputs.__add__([Variable("b")])):
        assert type(plain) is list
    assert len(node.inputs) == 1
    with pytest.raises(ValueError, match="not in this list"):
        node.inputs.remove(Variable("a"))
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(node.inputs)


def test_a_tensor_changes_its_kind_in_place() -> None:
    model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
    w = model.graph.nodes[0].inputs[1]
    variable = w.to_variable()
    assert variable is w
    assert (variable.dtype, variable.shape) == (np.float32, [2])
    model.graph.inputs.append(w)
    proto = model.to_proto()
    assert [i.name for i in proto.graph.input] == ["x", "w"]
    assert len(proto.graph.initializer) == 0
    model.graph.inputs.pop()
    w.to_constant(np.float32([3, 4]))
    assert onnx.numpy_helper.to_array(model.to_proto().graph.initializer[0]).tolist() == [3, 4]


def test_what_the_graph_has_no_word_for_is_carried_and_can_be_looked_at() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Op (x) }'
    )
    proto.graph.node[0].domain = "c"
    item = proto.graph.node[0].attribute.add(name="types", type=onnx.AttributeProto.TYPE_PROTOS)
    item.type_protos.add().CopyFrom(onnx.helper.make_tensor_type_proto(1, [2]))
    model = load(proto)
    value = model.graph.nodes[0].attrs["types"]
    assert isinstance(value, Opaque)
    assert (value.kind, value.proto) == ("TYPE_PROTOS", item)
    assert value == load(proto).graph.nodes[0].attrs["types"]
    assert hash(value) == hash(load(proto).graph.nodes[0].attrs["types"])
    model.graph.nodes[0].attrs["renamed"] = model.graph.nodes[0].attrs.pop("types")
    assert model.to_proto().graph.node[0].attribute[0].name == "renamed"
    del model.graph.nodes[0].attrs["renamed"]
    assert not model.to_proto().graph.node[0].attribute


def test_an_attribute_whose_type_names_an_empty_field_is_not_read_as_zero() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Softmax <axis = 1> (x) }'
    )
    proto.graph.node[0].attribute[0].type = onnx.AttributeProto.FLOAT
    with pytest.raises(InvalidModel, match="'axis' is float, where Softmax has int"):
        load(proto)
    opened = load(proto, strict=False)
    assert isinstance(opened.graph.nodes[0].attrs["axis"], Opaque)
    assert opened.to_proto() == proto


def test_layer_cleanup_and_toposort_work_as_scripts_know_them() -> None:
    model = parse("g (float[2] x) => (float[2] y) { dead = Neg (x)  y = Relu (x) }")
    graph = model.graph
    outputs = graph.layer(op="Add", name="Relu", inputs=[graph.outputs[0], np.float32([1, 2])], outputs=["y"])
    assert isinstance(graph.nodes[-1], Node)
    assert outputs[0].name == "y_1"
    outputs[0].dtype, outputs[0].shape = np.dtype(np.float32), [2]
    graph.outputs = outputs
    graph.nodes.reverse()
    assert graph.cleanup(remove_unused_graph_inputs=True).toposort() is graph
    assert [n.op for n in graph.nodes] == ["Relu", "Add"]
    onnx.checker.check_model(model.to_proto())
    with pytest.raises(OptionError, match="does not fold"):
        graph.fold_constants()
    assert sorted(graph.tensors()) == ["onnx_graphsurgeon_constant", "x", "y", "y_1"]


def test_elements_print_as_one_line() -> None:
    model = parse("g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
    node = model.graph.nodes[0]
    assert str(node) == "y = Add(x, w)"
    assert [str(t) for t in node.inputs] == ["x: float32[N,2]", "w: constant float32[2]"]
    assert str(model.graph) == "Graph g: 1 nodes, opset 17"
    assert repr(model) == "Model('g', 1 nodes, opset 17)"


def test_a_model_says_what_goes_in_and_out_and_what_it_imports() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["ai.onnx" : 17, "com.x" : 2]> g (float[N, 2] x, seq(float[3]) s) => (float[] y) { y = Op (x, s) }'
    )
    model = load(proto)
    assert (model.opset, model.opsets, model.ir_version) == (17, {"": 17, "com.x": 2}, 8)
    x, s = model.inputs
    assert (x.name, x.dtype, x.shape, x.kind) == ("x", np.float32, ("N", 2), "tensor_type")
    assert (s.dtype, s.shape, s.kind) == (np.float32, None, "sequence_type")
    assert model.outputs[0].name == "y"
    model.graph.opset = 18
    assert model.opsets[""] == 18


def test_collections_are_off_inside_and_as_before_outside() -> None:
    assert gc.isenabled()
    with no_gc():
        assert not gc.isenabled()
        with no_gc():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_frozen_graph_is_out_of_the_collectors_sight_until_its_owner_goes() -> None:
    gc.collect()
    before = gc.get_freeze_count()  # Python 3.12 sets its immortal objects aside by itself
    lease = Frozen()
    assert gc.get_freeze_count() > before
    del lease
    assert gc.get_freeze_count() == before


def test_the_layer_needs_no_screen_and_no_command_line() -> None:
    code = "import sys, exec.ir as ir; ir.load; ir.Graph; print(*[m for m in ('textual', 'rich', 'click', 'workbench', 'passes') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
