"""What differs is said wherever it stands: in weights, long attributes, subgraphs and functions; names alone are nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx import parser

from exec.errors import Cancelled
from exec.ir import load
from workbench import diff
from workbench.delta import Delta
from workbench.nodes import node_table, parameters
from workbench.render.differing import delta_tables

HEAD = '<ir_version: 10, opset_import: ["" : 17, "mine" : 1]>'


def parsed(text: str) -> onnx.ModelProto:
    proto: onnx.ModelProto = parser.parse_model(HEAD + text)
    return proto


def between(before: onnx.ModelProto, after: onnx.ModelProto) -> Delta:
    return diff(load(before), load(after))


def constant_node(values: np.ndarray, name: str = "c") -> onnx.ModelProto:
    nodes = [
        h.make_node("Constant", [], [name], name="const", value=nh.from_array(values)),
        h.make_node("Add", ["x", name], ["y"], name="add"),
    ]
    ends = [h.make_tensor_value_info(n, T.FLOAT, list(values.shape)) for n in "xy"]
    graph = h.make_graph(nodes, "g", ends[:1], ends[1:])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=10)


def test_a_weight_in_a_constant_node_counts_for_its_reader_and_differs_like_any_other() -> None:
    values = np.arange(32, dtype=np.float32)
    model = load(constant_node(values))
    assert [parameters(node) for node in model.graph.nodes] == [32, 32]
    assert node_table(model).params == (32, 32)
    changed = values.copy()
    changed[7] += 0.5
    result = between(constant_node(values), constant_node(changed))
    assert [(w.node, w.before, w.max_abs) for w in result.weights] == [("const", "c", 0.5)]
    assert between(constant_node(values), constant_node(values.copy(), "k")).empty


def test_attributes_that_differ_only_where_a_text_is_cut_off_differ() -> None:
    long = list(range(40))
    other = [*long[:-1], 7]
    text = "g (float[2] x) => (int64[40] y) {{ y = Constant<value_ints = {}>() z = Relu(x) }}"
    assert between(parsed(text.format(long)), parsed(text.format(long))).empty
    (changed,) = between(parsed(text.format(long)), parsed(text.format(other))).changed
    assert changed.what[0].startswith("attribute value_ints differs beyond 0 1 2")


BRANCH = "g (bool c, float[2] x) => (float[2] y) {{ y = If (c) <then_branch = t () => (float[2] a) {{ {} }}, else_branch = e () => (float[2] b) {{ b = Neg(x) }}> }}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a = Elu <alpha = 2.0> (x)", "then_branch: Elu#0 attribute alpha 1 → 2"),
        ("h = Elu <alpha = 1.0> (x) a = Relu(h)", "then_branch: Relu Relu#1 is new"),
    ],
)
def test_a_difference_inside_a_subgraph_is_told_with_its_node(body: str, said: str) -> None:
    before = parsed(BRANCH.format("a = Elu <alpha = 1.0> (x)"))
    assert between(before, before).empty
    (changed,) = between(before, parsed(BRANCH.format(body))).changed
    assert said in changed.what


def test_a_difference_inside_a_function_is_told() -> None:
    text = ' g (float[2] x) => (float[2] y) {{ y = mine.f(x) }} <domain: "mine", opset_import: ["" : 17]> f (a) => (b) {{ b = Elu <alpha = {}> (a) }}'
    assert between(parsed(text.format("1.0")), parsed(text.format("1.0"))).empty
    assert between(parsed(text.format("1.0")), parsed(text.format("2.0"))).model == (
        "function mine::f: Elu#0 attribute alpha 1 → 2",
    )


def test_a_diff_stops_when_asked_to() -> None:
    model = load(constant_node(np.ones(4, np.float32)))
    with pytest.raises(Cancelled):
        diff(model, model, cancel=lambda: True)


def test_copies_of_a_data_file_are_equal_and_one_changed_number_is_found(
    tmp_path: Path, two_megabytes: Callable[[Path], Path]
) -> None:
    one, other = two_megabytes(tmp_path / "a"), two_megabytes(tmp_path / "b")
    assert diff(load(one), load(other)).empty
    data = bytearray((other.parent / "w.bin").read_bytes())
    data[-4:] = np.float32(3).tobytes()
    (other.parent / "w.bin").write_bytes(data)
    (weight,) = diff(load(one), load(other)).weights
    assert weight.max_abs == 2.0


@pytest.fixture
def two_megabytes() -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        folder.mkdir()
        weight = nh.from_array(np.ones((2, 1 << 18), np.float32), "w")
        ends = [h.make_tensor_value_info(n, T.FLOAT, [2, 1 << 18]) for n in "xy"]
        graph = h.make_graph([h.make_node("Add", ["x", "w"], ["y"], name="add")], "g", ends[:1], ends[1:], [weight])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
        return folder / "m.onnx"

    return make


def test_a_node_whose_weight_changed_is_a_changed_node_and_the_weight_is_named() -> None:
    text = "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {{1, 0, 0, {}}}> {{ y = MatMul (x, w) }}"
    result = between(parsed(text.format("1")), parsed(text.format("1.5")))
    assert (result.same, [c.after.op for c in result.changed]) == (0, ["MatMul"])
    caption = delta_tables(result)[-1].caption
    assert "1 changed" in caption
    assert caption.endswith("1 weight changed: w")
