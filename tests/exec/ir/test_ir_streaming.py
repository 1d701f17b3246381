"""Weights read in parts are the weights read whole, and nothing of them stays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from exec.errors import ExternalDataError
from exec.ir import Model, Weight, load
from exec.ir.streaming import PART_BYTES, equal, parts, sampled

LARGE = np.random.default_rng(0).standard_normal((3, PART_BYTES // 4 - 5)).astype(np.float32)


def written(path: Path, values: np.ndarray, external: bool) -> Model:
    weight = nh.from_array(values, "w")
    ends = [h.make_tensor_value_info(n, weight.data_type, None) for n in "xy"]
    graph = h.make_graph([h.make_node("Add", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [weight])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.save(
        model,
        path,
        save_as_external_data=external,
        location=f"{path.name}.bin" if external else None,
        size_threshold=0,
    )
    return load(path)


def weight_of(model: Model) -> Weight:
    kept = model.graph.nodes[0].inputs[1]._values
    assert isinstance(kept, Weight)
    return kept


@pytest.mark.parametrize("external", [False, True])
def test_parts_put_together_are_the_weight_and_a_data_file_stays_where_it_is(tmp_path: Path, external: bool) -> None:
    weight = weight_of(written(tmp_path / "m.onnx", LARGE, external))
    found = np.concatenate([part.copy() for part in parts(weight)])
    np.testing.assert_array_equal(found, LARGE.reshape(-1))
    assert weight.is_loaded is not external  # a small file is in memory as it is
    assert max(part.nbytes for part in parts(weight)) <= PART_BYTES


@pytest.mark.parametrize("kind", [T.INT4, T.STRING, T.BFLOAT16, T.BOOL])
def test_types_of_every_width_come_in_parts(tmp_path: Path, kind: int) -> None:
    values = ["a", "b", "c"] if kind == T.STRING else [1, 0, 1]
    proto = h.make_tensor("w", kind, [3], values)
    graph = h.make_graph([h.make_node("Identity", ["w"], ["y"])], "g", [], [h.make_tensor_value_info("y", kind, [3])])
    graph.initializer.append(proto)
    model = load(h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10))
    tensor = model.graph.nodes[0].inputs[0]
    np.testing.assert_array_equal(np.concatenate(list(parts(tensor._values))), tensor.values)
    assert equal(tensor._values, tensor.values)


def test_equal_weights_of_two_files_are_told_from_different_ones(tmp_path: Path) -> None:
    changed = LARGE.copy()
    changed[-1, -1] += 1
    one, same, other = (
        weight_of(written(tmp_path / f"{k}.onnx", values, external=True))
        for k, values in enumerate((LARGE, LARGE, changed))
    )
    assert equal(one, same)
    assert not equal(one, other)
    assert not equal(one, LARGE.astype(np.float64))
    assert sampled(one) == sampled(same) != sampled(other)
    assert not any(weight.is_loaded for weight in (one, same, other))


def test_the_same_bytes_of_one_file_are_equal_without_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "m.onnx", LARGE, external=True)
    models = load(tmp_path / "m.onnx"), load(tmp_path / "m.onnx")  # a weight belongs to its model
    a, b = map(weight_of, models)
    monkeypatch.setattr("exec.ir.fs.read_into", lambda *_: pytest.fail("the file was read"))
    assert equal(a, b)


def test_a_file_that_is_too_short_is_said_as_when_it_is_loaded(layered: Callable[..., Path]) -> None:
    path = layered(external=True)
    (path.parent / "w.bin").write_bytes(b"short")
    weight = weight_of(load(path, strict=False))
    with pytest.raises(ExternalDataError, match="beyond the end"):
        list(parts(weight))


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory of a process is measured in kB there")
def test_a_check_of_large_weights_keeps_little_of_them(tmp_path: Path) -> None:
    written(tmp_path / "m.onnx", np.zeros((100, PART_BYTES // 4), np.float32), external=True)
    look = f"from exec.ir import load; from workbench import check; check(load({str(tmp_path / 'm.onnx')!r}), select=['OWB02'])"
    idle = "from exec.ir import load; import workbench.findings"

    def peak(code: str) -> int:
        tell = f"{code}; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        return int(subprocess.run([sys.executable, "-c", tell], check=True, capture_output=True, text=True).stdout)

    assert (peak(look) - peak(idle)) << 10 < 20 * PART_BYTES
