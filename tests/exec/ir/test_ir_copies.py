"""Copies and snapshots share weights and nothing else."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from exec.ir import Constant, Model, load, remove_nodes, walk


def wreck(model: Model) -> None:
    """Change everything that can be reached."""
    for graph in [g for owner in (model.graph, *model.functions) for g in walk(owner)]:
        graph.name += "!"
        graph.metadata["x"] = "y"
        for tensor in graph.inputs:
            tensor.name += "!"
            tensor.metadata["x"] = "y"
            tensor.shape = None
        for node in graph.nodes:
            node.name += "!"
            node.attrs["extra"] = 1
            node.metadata["x"] = "y"
            for tensor in node.outputs:
                tensor.name += "!"
    remove_nodes(model.graph, model.graph.nodes[:2])
    model.graph.outputs.clear()
    model.graph.opset = 3
    model.functions.clear()
    model.metadata.clear()


def test_a_copy_does_not_see_what_happens_to_its_original(rich: onnx.ModelProto) -> None:
    model = load(rich)
    copy = model.copy()
    wreck(model)
    assert copy.to_proto() == rich


def test_an_original_does_not_see_what_happens_to_its_copy(rich: onnx.ModelProto) -> None:
    model = load(rich)
    wreck(model.copy())
    assert model.to_proto() == rich


def test_a_copy_of_a_copy_of_an_edited_model_is_the_edited_model(rich: onnx.ModelProto) -> None:
    model = load(rich)
    model.graph.nodes[0].name = "edited"
    model.graph.nodes[0].metadata["owb.source"] = "add"
    model.graph.inputs[0].metadata["k"] = "v"
    edited = model.to_proto()
    assert model.copy().copy().to_proto() == edited
    assert edited != rich


def test_weights_are_the_same_arrays_in_a_copy(rich: onnx.ModelProto) -> None:
    model = load(rich)
    copy = model.copy()
    for before, after in zip(model.graph.nodes, copy.graph.nodes, strict=True):
        for a, b in zip(before.inputs, after.inputs, strict=True):
            if isinstance(a, Constant):
                assert a is not b
                assert a.values is b.values


def test_copying_a_graph_by_its_own_method_keeps_everything(rich: onnx.ModelProto) -> None:
    model = load(rich)
    model.graph = model.graph.copy()
    assert model.to_proto() == rich


def test_a_snapshot_restores_the_state_it_was_made_in(rich: onnx.ModelProto) -> None:
    model = load(rich)
    states = []
    for step in range(4):
        model.graph.nodes[step].name = f"step {step}"
        product = next(n for n in model.graph.nodes if n.op == "MatMul")
        product.inputs[1] = Constant(f"w{step}", np.full((3, 512), step, np.float32))
        states.append((model.snapshot(), model.to_proto()))
    wreck(model)
    for snapshot, proto in reversed(states):
        restored = snapshot.restore()
        assert restored.to_proto() == proto
        wreck(restored)
        assert snapshot.restore().to_proto() == proto


def test_a_snapshot_is_small_however_large_the_weights_are(rich: onnx.ModelProto) -> None:
    model = load(rich)
    product = next(n for n in model.graph.nodes if n.op == "MatMul")
    product.inputs[1] = Constant("zeros", np.zeros((1000, 1000), np.float32))
    assert len(model.snapshot().data) < 8192


def test_a_restored_model_keeps_the_arrays_it_needs_and_lets_go_of_them(rich: onnx.ModelProto) -> None:
    model = load(rich)
    product = next(n for n in model.graph.nodes if n.op == "MatMul")
    array = np.full((3, 512), 7, np.float32)
    gone = weakref.ref(array)
    product.inputs[1] = Constant("sevens", array)
    restored = model.snapshot().restore()
    del product, array, model
    gc.collect()
    again = next(n for n in restored.graph.nodes if n.op == "MatMul")
    assert again.inputs[1].values[0, 0] == 7
    assert (
        next(t for t in restored.to_proto().graph.initializer if t.name == "sevens").raw_data[:4]
        == np.float32(7).tobytes()
    )
    assert gone() is not None
    del again, restored
    gc.collect()
    assert gone() is None


def test_a_weight_may_move_to_another_model(rich: onnx.ModelProto, layered: Callable[..., Path]) -> None:
    for external in (False, True):
        donor = load(layered("donor.onnx", external=external))
        model = load(rich)
        product: Any = next(n for n in model.graph.nodes if n.op == "MatMul")
        taken = donor.graph.nodes[0].inputs[1]
        wanted = np.array(taken.values)
        product.inputs[1] = taken
        del donor
        tensor = next(t for t in model.to_proto().graph.initializer if t.name == "w0")
        assert tensor.data_location == onnx.TensorProto.DEFAULT
        assert np.array_equal(onnx.numpy_helper.to_array(tensor), wanted)


def test_a_copy_of_a_model_whose_nodes_were_made_by_graphsurgeon_itself_is_whole(rich: onnx.ModelProto) -> None:
    import onnx_graphsurgeon as gs

    model = load(rich)
    last = model.graph.nodes[-1]
    y = last.outputs[0]
    middle = gs.Variable("middle", np.dtype(np.float32), ["N", 32])
    last.outputs = [middle]
    model.graph.nodes.append(gs.Node("Add", "plain", {}, [middle, gs.Constant("one", np.float32([1]))], [y]))
    proto = model.to_proto()
    assert proto.graph.node[-1].op_type == "Add"
    assert model.copy().to_proto() == proto


def test_parts_of_a_graph_that_graphsurgeon_imported_can_be_used(
    rich: onnx.ModelProto, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx_graphsurgeon as gs

    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] t1) => (float[2,3] q) <float[3] three = {1, 2, 3}> { q = Add (t1, three) }"""
    theirs = gs.import_onnx(onnx.parser.parse_model(text))
    model = load(rich)
    theirs.nodes[0].inputs[0] = model.graph.nodes[1].outputs[0]
    theirs.inputs.clear()
    choose: Any = model.graph.nodes[2]
    choose.attrs["else_branch"] = theirs
    choose.attrs["then_branch"].nodes[0].inputs[1] = theirs.nodes[0].inputs[1]
    capsys.readouterr()
    proto = model.to_proto()
    assert model.copy().to_proto() == proto
    assert load(proto).graph.nodes[2].attrs["else_branch"].nodes[0].inputs[1].values.tolist() == [1, 2, 3]
    assert [t.name for t in proto.graph.initializer][-1] == "three"
    assert "".join(capsys.readouterr()) == ""
