"""What the card says beyond counting: work, memory and the blocks a network is made of."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

import workbench
from exec.ir import load
from workbench.blocks import repeated_blocks
from workbench.card import FEW_NODES
from workbench.cli.start import run
from workbench.nodes import node_table
from workbench.samples import sample
from workbench.tensors import tensor_rows


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


OVERRIDABLE = (
    "(float[n,8,4] x, int64[2] s, float[4,4] w) => (float[a,b] y) <int64[2] s = {-1, 4}, "
    "float[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}>"
)


def test_defaults_of_inputs_are_weights_and_tell_the_shapes() -> None:
    opened = load(model("r = Reshape(x, s) y = MatMul(r, w)", OVERRIDABLE))
    card = workbench.inspect(opened)
    assert (card.defaults, card.parameters, card.weight_bytes) == (2, 18, 80)
    assert card.work is not None
    assert (card.work.macs, card.work.unknown_nodes) == (8 * 4 * 4, 0)
    assert node_table(opened).params == (2, 16)
    assert [row.name for row in tensor_rows(opened)[0]] == ["s", "w"]


def test_constant_nodes_are_weights_and_no_activations() -> None:
    text = "c = Constant <value = float[3,5] {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}> () h = MatMul(x, c) y = Relu(h)"
    held, given = workbench.inspect(load(model(text))), workbench.inspect(
        load(model("h = MatMul(x, w) y = Relu(h)", weights="<float[3,5] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}>"))
    )  # fmt: skip
    assert (held.parameters, held.work) == (given.parameters, given.work)


def test_a_size_that_is_given_counts(capsys: pytest.CaptureFixture[str]) -> None:
    cnn = str(sample("digits_cnn.onnx"))
    work = {}
    for size in (1, 8):
        assert run(["inspect", cnn, "--dim", f"batch={size}", "--json"]) == 0
        work[size] = json.loads(capsys.readouterr().out)["work"]
    assert work[8]["macs"] == 8 * work[1]["macs"]
    assert run(["inspect", cnn, "--dim", "bach=8"]) == 2
    assert "did you mean 'batch'" in capsys.readouterr().err


def test_a_model_of_very_many_inputs_has_a_short_card_and_a_long_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"x{k}" for k in range(1_023)]
    path = tmp_path / "many.onnx"
    signature = f"({', '.join(f'float[2] {n}' for n in names)}) => (float[2] y)"
    onnx.save(model(f"y = Sum({', '.join(names)})", signature), path)
    assert run(["inspect", str(path)]) == 0
    card = capsys.readouterr().out
    assert "x19 " in card
    assert "x20 " not in card
    assert "1,003 more inputs" in card
    assert run(["inspect", str(path), "--json"]) == 0
    assert [port["name"] for port in json.loads(capsys.readouterr().out)["inputs"]] == names
