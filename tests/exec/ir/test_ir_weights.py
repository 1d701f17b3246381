"""Weights are views on the file, made when asked for, never to be written to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from exec.arrays import Array
from exec.budget import Limits
from exec.dtypes import TABLE, DType
from exec.errors import BudgetExceeded, InvalidModel, UnreadableModel
from exec.ir import Constant, Model, Weight, constant_value, is_foldable, load, sources, wire


def model_of(tensor: onnx.TensorProto, **options: object) -> Model:
    graph = h.make_graph(
        [h.make_node("Identity", [tensor.name], ["y"])],
        "g",
        [],
        [h.make_tensor_value_info("y", tensor.data_type, None)],
        [tensor],
    )
    proto = h.make_model(graph, opset_imports=[h.make_opsetid("", 25)], ir_version=13)
    return load(proto, **options)  # type: ignore[arg-type]


def constant_of(model: Model) -> Constant:
    tensor = model.graph.nodes[0].inputs[0]
    assert isinstance(tensor, Constant)
    return tensor


def base_of(array: Array) -> object:
    base: object = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return base


def test_values_are_views_on_the_file_and_read_only(layered: Callable[..., Path]) -> None:
    model = load(layered())
    values = [node.inputs[1].values for node in model.graph.nodes]
    assert all(isinstance(base_of(array), memoryview | bytes) for array in values)
    assert values[0] is model.graph.nodes[0].inputs[1].values
    with pytest.raises(ValueError, match="read-only"):
        values[0][0, 0] = 1


def test_a_large_file_is_mapped_and_not_read(layered: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAP_ABOVE", 1 << 10)
    monkeypatch.setattr("exec.ir.opening.MAP_ABOVE", 1 << 10)
    monkeypatch.setattr(wire, "WHOLE", 1 << 10)
    monkeypatch.setattr(wire, "WINDOW", 64)
    for whole in (1 << 31, 1 << 10):
        monkeypatch.setattr(sources, "MAP_WHOLE_UP_TO", whole)
        path = layered(layers=6)
        model = load(path)
        proto = onnx.load(path)
        assert model.to_proto() == proto
        for node, tensor in zip(model.graph.nodes, proto.graph.initializer, strict=True):
            assert np.array_equal(node.inputs[1].values, nh.to_array(tensor))


def test_a_file_that_changes_under_a_model_is_noticed(
    layered: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exec.ir.opening.MAP_ABOVE", 1 << 10)
    path = layered()
    model = load(path)
    data = path.read_bytes()
    path.write_bytes(data + b"\0")
    with pytest.raises(UnreadableModel, match="changed while it was open"):
        model.graph.nodes[0].inputs[1].values  # noqa: B018


@pytest.mark.parametrize("row", [row for row in TABLE if row.bits], ids=lambda row: row.name)
def test_every_type_has_onnxs_values_raw_and_typed(row: DType) -> None:
    rng = np.random.default_rng(3)
    for count in (0, 1, 5, 8, 2048):
        raw = rng.integers(0, 2 if row.name == "bool" else 256, (count * row.bits + 7) // 8, dtype=np.uint8).tobytes()
        tensor = T(name="w", data_type=row.code, raw_data=raw, dims=[count])
        wanted = nh.to_array(tensor)
        got = constant_of(model_of(tensor)).values
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert got.tobytes() == wanted.tobytes()
        if count and row.name != "float16":
            typed = h.make_tensor("w", row.code, [count], np.zeros(count, np.int8).astype(row.numpy))
            array = constant_of(model_of(typed)).values
            assert array.dtype == row.numpy
            assert array.tobytes() == nh.to_array(typed).tobytes()


@pytest.mark.parametrize("row", [row for row in TABLE if row.bits], ids=lambda row: row.name)
def test_every_type_can_be_written(row: DType) -> None:
    for count in (3, 2048):
        array = np.random.default_rng(4).integers(0, 2, count).astype(row.numpy)
        model = model_of(h.make_tensor("w", T.FLOAT, [1], [0.0]))
        constant_of(model).values = array
        tensor = model.to_proto().graph.initializer[0]
        assert tensor.data_type == row.code
        assert nh.to_array(tensor).tobytes() == array.tobytes()


def test_strings_are_str_or_all_bytes_where_one_is_no_utf8() -> None:
    text = constant_of(model_of(h.make_tensor("w", T.STRING, [2], ["a", "é"]))).values
    assert text.tolist() == ["a", "é"]
    raw = constant_of(model_of(h.make_tensor("w", T.STRING, [2], [b"a", b"\xff"]))).values
    assert raw.tolist() == [b"a", b"\xff"]
    model = model_of(h.make_tensor("w", T.STRING, [1], ["a"]))
    constant_of(model).values = np.array(["x", "yz"])
    assert list(model.to_proto().graph.initializer[0].string_data) == [b"x", b"yz"]


def test_a_decoded_copy_is_not_kept_but_a_small_one_is() -> None:
    large = constant_of(model_of(h.make_tensor("w", T.FLOAT, [50_000], np.ones(50_000, np.float32))))
    address = large.values.__array_interface__["data"][0]
    held = large.values
    assert large.values is held
    del held
    assert large._values._array is None
    small = constant_of(model_of(h.make_tensor("w", T.FLOAT, [2], [1.0, 2.0])))
    assert small.values is small.values
    assert address


def test_shape_type_and_size_are_known_without_reading(layered: Callable[..., Path]) -> None:
    path = layered(external=True)
    (path.parent / "w.bin").unlink()
    constant = load(path).graph.nodes[0].inputs[1]
    assert (constant.shape, constant.dtype, constant.nbytes) == ([64, 64], np.dtype(np.float32), 64 * 64 * 4)


def test_an_edited_array_is_frozen_and_later_writes_to_its_base_are_not_seen() -> None:
    model = model_of(h.make_tensor("w", T.FLOAT, [1], [0.0]))
    base = np.ones((600, 2), np.float32)
    constant_of(model).values = base[:, 0]
    snapshot = model.snapshot()
    base[:] = 5
    assert constant_of(snapshot.restore()).values.tolist() == [1.0] * 600
    own = np.ones(600, np.float32)
    constant_of(model).values = own
    model.snapshot()
    with pytest.raises(ValueError, match="read-only"):
        own[0] = 2


def test_graphsurgeons_own_export_writes_whole_weights(layered: Callable[..., Path]) -> None:
    path = layered()
    proto = gs.export_onnx(load(path).graph)
    assert [nh.to_array(t).tolist() for t in proto.graph.initializer] == [
        nh.to_array(t).tolist() for t in onnx.load(path).graph.initializer
    ]


def test_foldable_is_what_never_changes() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, float[2] d) => (float[2] y) <float[2] w = {1, 2}, float[2] d = {3, 4}> {
            c = Constant <value_floats = [5.0, 6.0]> ()
            i = Constant <value_int = 7> ()
            y = Sum (x, w, d, c)
        }"""
    )
    model = load(proto)
    x, w, d, c = model.graph.nodes[2].inputs
    assert [is_foldable(t) for t in (x, w, d, c)] == [False, True, False, True]
    assert constant_value(x) is None
    assert constant_value(d) is None
    value = constant_value(c)
    assert value is not None
    assert (value.dtype, value.tolist(), value.flags.writeable) == (np.float32, [5.0, 6.0], False)
    integer = constant_value(model.graph.nodes[1].outputs[0])
    assert integer is not None
    assert (integer.dtype, integer.shape) == (np.int64, ())


def sparse(indices: Array, dims: list[int], dtype: type = np.float32) -> onnx.ModelProto:
    values = nh.from_array(np.arange(1, len(indices) + 1, dtype=dtype), "s")
    proto = h.make_sparse_tensor(values, nh.from_array(indices, "i"), dims)
    graph = h.make_graph(
        [h.make_node("Identity", ["s"], ["y"])],
        "g",
        [],
        [h.make_tensor_value_info("y", T.FLOAT, dims)],
        sparse_initializer=[proto],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def test_sparse_weights_are_dense_arrays_when_asked() -> None:
    linear = constant_of(load(sparse(np.array([1, 5]), [2, 3]))).values
    assert linear.tolist() == [[0, 1, 0], [0, 0, 2]]
    coordinates = constant_of(load(sparse(np.array([[0, 1], [1, 2]]), [2, 3]))).values
    assert coordinates.tolist() == linear.tolist()
    proto = sparse(np.array([1, 5]), [2, 3])
    model = load(proto)
    constant_of(model).name = "renamed"
    assert model.to_proto().graph.sparse_initializer[0].values.name == "renamed"


def test_a_sparse_weight_that_would_be_huge_is_not_made() -> None:
    model = load(sparse(np.array([1, 5]), [1 << 20, 1 << 20]), limits=Limits(bytes_alive=1 << 20))
    with pytest.raises(BudgetExceeded) as caught:
        constant_of(model).values  # noqa: B018
    assert "--max-memory" in caught.value.hint
    with pytest.raises(BudgetExceeded):  # by default what is stored says how much: some bytes are no gigabyte
        constant_of(load(sparse(np.array([1, 5]), [1 << 28]))).values  # noqa: B018
    with pytest.raises(InvalidModel, match="outside its shape"):
        constant_of(load(sparse(np.array([1, 6]), [2, 3]), strict=False)).values  # noqa: B018


def test_a_weight_says_what_it_is() -> None:
    weight = constant_of(model_of(h.make_tensor("w", T.INT4, [3], [1, 2, 3])))._values
    assert isinstance(weight, Weight)
    assert (str(weight), weight.nbytes, weight.size) == ("Weight(int4[3])", 2, 3)


def test_a_numpy_scalar_is_held_as_the_array_it_would_be_in_a_file() -> None:
    tensor = Constant("scale", np.float32(0.5))
    assert isinstance(tensor.values, np.ndarray)
    tensor.values = tensor.values * np.float32(2)
    assert isinstance(tensor.values, np.ndarray)
    assert (tensor.values.shape, tensor.values.dtype, float(tensor.values)) == ((), np.float32, 1.0)
