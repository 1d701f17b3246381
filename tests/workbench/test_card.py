"""What the card says beyond counting: work, memory and the blocks a network is made of."""

from __future__ import annotations

import itertools
from pathlib import Path

import onnx
from onnx import parser

import workbench
from exec.ir import load
from workbench.blocks import repeated_blocks
from workbench.card import FEW_NODES


def model(body: str, signature: str = "(float[2,3] x) => (float[2,5] y)", weights: str = "") -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {signature} {weights} {{ {body} }}')


def test_blocks_are_found_by_their_operators() -> None:
    block = ["MatMul", "Add", "Relu", "MatMul", "Add"]
    (found,) = repeated_blocks(["Gather", "Add", *block * 6, "Softmax"])
    assert (found.times, found.nodes) == (6, 5)
    assert dict(found.operators) == {"Add": 2, "MatMul": 2, "Relu": 1}


def test_the_shortest_period_is_the_block_and_one_operator_in_a_row_is_none() -> None:
    assert repeated_blocks(["Relu"] * 40) == ()
    assert repeated_blocks([]) == ()
    assert [(b.times, b.nodes) for b in repeated_blocks(["Conv", "Relu", "Conv", "Add"] * 4)] == [(4, 4)]


def test_work_counts_products_and_what_is_alive_at_one_time() -> None:
    proto = model("h = MatMul(x, w) y = Relu(h)", weights="<float[3,5] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}>")
    work = workbench.inspect(load(proto)).work
    assert work is not None
    assert work.macs == 2 * 3 * 5
    assert work.activation_bytes == 4 * (10 + 10)  # h and y; x (6) with h is less
    assert (work.sizes, work.unknown_nodes) == ({}, 0)


def test_what_is_assumed_and_what_is_unknown_are_said() -> None:
    open_sizes = model("y = Identity(x)", "(float[batch,3] x) => (float[batch,3] y)")
    work = workbench.inspect(load(open_sizes)).work
    assert work is not None
    assert work.sizes == {"batch": 1}
    loose = model("i = NonZero(x) y = Cast<to = 1>(i)", "(float[2,3] x) => (float[2,N] y)")
    unknown = workbench.inspect(load(loose)).work
    assert unknown is not None
    assert unknown.unknown_nodes == 2


def test_large_graphs_are_counted_when_asked() -> None:
    names = ["x", *(f"v{k}" for k in range(FEW_NODES)), "y"]
    body = " ".join(f"{b} = Abs({a})" for a, b in itertools.pairwise(names))
    large = load(model(body, "(float[2,3] x) => (float[2,3] y)"))
    assert workbench.inspect(large).work is None
    assert workbench.inspect(large, work=True).work is not None


def test_a_model_without_its_data_file_has_a_card_all_the_same(tmp_path: Path) -> None:
    proto = model("y = Reshape(x, s)", "(float[2,3] x) => (float[3,2] y)")
    shape = proto.graph.initializer.add(name="s", data_type=onnx.TensorProto.INT64, dims=[2])
    shape.data_location = onnx.TensorProto.EXTERNAL
    shape.external_data.add(key="location", value="gone.bin")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    card = workbench.inspect(load(path))
    assert card.nodes == 1
    assert any("gone.bin" in note.message or "gone.bin" in note.where for note in card.notes)
