"""Models that carry everything, for the tests of the model layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh


def describe(element: Any, word: str) -> None:
    element.doc_string = f"doc of {word}"
    entry = element.metadata_props.add()
    entry.key, entry.value = "key", f"value of {word}"


def value(name: str, shape: Any = (2, 3), dtype: int = T.FLOAT) -> onnx.ValueInfoProto:
    info = h.make_tensor_value_info(name, dtype, shape)
    describe(info, name)
    if shape:
        info.type.denotation = "IMAGE"
        info.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    return info


def weight(name: str, shape: tuple[int, ...] = (2, 3), seed: int = 0) -> onnx.TensorProto:
    tensor = nh.from_array(np.random.default_rng(seed).random(shape, dtype=np.float32), name)
    describe(tensor, name)
    return tensor


def rich_proto() -> onnx.ModelProto:
    """Every element described, a large and a small weight, subgraphs that capture, a function, and fields nobody knows."""
    branch = h.make_graph(
        [h.make_node("Add", ["t1", "w_inner"], ["b1"], name="inner")], "then", [], [value("b1")], [weight("w_inner")]
    )
    other = h.make_graph([h.make_node("Neg", ["t1"], ["b2"], name="negate")], "else", [], [value("b2")])
    nodes = [
        h.make_node("Add", ["x", "w"], ["t0"], name="add"),
        h.make_node("LeakyRelu", ["t0"], ["t1"], name="leaky", alpha=0.25),
        h.make_node("If", ["c"], ["t2"], name="choose", then_branch=branch, else_branch=other),
        h.make_node("F", ["t2"], ["t3"], name="call", domain="loc", overload="v1"),
        h.make_node("MatMul", ["t3", "big"], ["t4"], name="product"),
        h.make_node("Constant", [], ["k"], name="constant", value=weight("k_value", (16, 32), 4)),
        h.make_node("Clip", ["t4", "", ""], ["t5"], name="clip"),
        h.make_node("Add", ["t5", "k"], ["y"], name="last"),
    ]
    for node in nodes:
        describe(node, node.name)
        if node.attribute:
            node.attribute[0].doc_string = "attribute doc"
    graph = h.make_graph(
        nodes,
        "main",
        [value("x", ("N", 3)), value("c", (), T.BOOL), value("w")],
        [value("y", ("N", 32))],
        [weight("w"), weight("big", (3, 512), 2), weight("unused", (2,), 3)],
        value_info=[value("t0"), value("t1"), value("ghost")],
    )
    graph.initializer[1].dims[:] = [3, 512]
    describe(graph, "graph")
    note = graph.quantization_annotation.add()
    note.tensor_name = "t0"
    entry = note.quant_parameter_tensor_names.add()
    entry.key, entry.value = "SCALE_TENSOR", "w"
    function = h.make_function(
        "loc", "F", ["a"], ["b"], [h.make_node("Relu", ["a"], ["b"], name="f_relu")], [h.make_opsetid("", 21)]
    )
    function.overload = "v1"
    describe(function, "F")
    describe(function.node[0], "f_relu")
    model = h.make_model(
        graph,
        opset_imports=[h.make_opsetid("ai.onnx", 21), h.make_opsetid("loc", 1)],
        functions=[function],
        producer_name="p",
        ir_version=10,
    )
    describe(model, "model")
    unknown = b"\xc2\xf3\x04\x02hi"
    for element in (model, model.graph, model.graph.node[0], model.graph.initializer[0], model.graph.input[0]):
        element.MergeFromString(unknown)
    return model


@pytest.fixture
def rich() -> onnx.ModelProto:
    return rich_proto()


@pytest.fixture
def layered(tmp_path: Path) -> Callable[..., Path]:
    """Writes a chain of MatMuls: layered(path name, layers, external=bool) → its path."""

    def make(name: str = "m.onnx", layers: int = 4, external: bool = False, location: str = "w.bin") -> Path:
        rng = np.random.default_rng(1)
        weights = [nh.from_array(rng.random((64, 64), dtype=np.float32), f"w{i}") for i in range(layers)]
        nodes = [h.make_node("MatMul", [f"t{i}", f"w{i}"], [f"t{i + 1}"], name=f"n{i}") for i in range(layers)]
        ends = [h.make_tensor_value_info(n, T.FLOAT, ["N", 64]) for n in ("t0", f"t{layers}")]
        graph = h.make_graph(nodes, "g", ends[:1], ends[1:], weights)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / name
        onnx.save(model, path, save_as_external_data=external, location=location if external else None)
        return path

    return make


def exact(proto: onnx.ModelProto) -> bytes:
    return proto.SerializeToString(deterministic=True)


@pytest.fixture(name="exact")
def exact_fixture() -> Callable[[onnx.ModelProto], bytes]:
    """Serialized so that equal models are equal bytes."""
    return exact
