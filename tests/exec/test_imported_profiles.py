"""Profiles of other tools: by source node, shared where a layer stands for several, refused where they are of another model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exec.engines.imported import imported
from exec.errors import OptionError
from exec.ir import load
from exec.model_explorer import node_data

TEXT = """g (float[1, 3, 8, 8] x) => (float[1, 4, 1, 1] y)
{ [conv] c = Conv(x, w) [act] s = Sigmoid(c) [mul] m = Mul(c, s) [neg] n = Neg(m) [pool] y = GlobalAveragePool(n) }"""


@pytest.fixture(scope="module")
def model(proto: Any) -> Any:
    return load(proto(TEXT, w=np.ones((4, 3, 3, 3), np.float32)))


def times_of(layers: list[dict[str, Any]], model: Any, folder: Path) -> dict[str, int]:
    path = folder / "profile.json"
    path.write_text(json.dumps([{"count": 7}, *layers]))
    found = imported(path, model)
    assert found.runs == 7
    return {n.name: n.median_ns for n in found.nodes if n.median_ns}


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("conv", ["conv"]),
        ("conv + neg", ["conv", "neg"]),
        ("conv + PWN(act)", ["conv", "act"]),
        ("PWN(PWN(act), mul)", ["act", "mul"]),
        ("act || mul || neg", ["act", "mul", "neg"]),
        ("{ForeignNode[conv...neg]}", ["conv", "act", "mul", "neg"]),
        ("{ForeignNode[conv...mul]} + pool", ["conv", "act", "mul", "pool"]),
    ],
)
def test_a_layer_of_tensorrt_is_shared_among_its_nodes(name: str, nodes: list[str], model: Any, tmp_path: Path) -> None:
    found = times_of([{"name": name, "averageMs": 0.5, "medianMs": 0.12}], model, tmp_path)
    assert found == dict.fromkeys(nodes, 120_000 // len(nodes))


def test_a_layer_of_tensorrts_own_has_a_line_of_its_own(model: Any, tmp_path: Path) -> None:
    copy = "Reformatting CopyNode for Input Tensor 0 to conv"
    found = times_of([{"name": "conv", "averageMs": 0.1}, {"name": copy, "averageMs": 0.02}], model, tmp_path)
    assert found == {"conv": 100_000, copy: 20_000}


def test_a_trace_of_onnxruntime_gives_the_times_of_source_nodes(model: Any, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "ort")
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    opened = runtime.InferenceSession(model.to_proto().SerializeToString(), options, providers=["CPUExecutionProvider"])
    for _ in range(4):
        opened.run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    found = imported(opened.end_profiling(), model)
    assert (found.engine, found.runs) == ("onnxruntime", 3)
    assert [n.name for n in found.nodes][:5] == ["conv", "act", "mul", "neg", "pool"]
    assert found.wall_ns >= found.sum_ns > 0
    assert abs(sum(n.share for n in found.nodes) - 1) < 1e-9


@pytest.mark.parametrize(
    "text", ["{", "{}", "[1]", "[]", '[{"name": "x"}]', '[{"cat": "Session", "name": "load", "dur": 1}]']
)
def test_a_file_that_is_no_profile_says_so(text: str, model: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(OptionError):
        imported(path, model)


def test_a_profile_of_another_model_says_so(model: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as error:
        times_of([{"name": "elsewhere", "averageMs": 1.0}], model, tmp_path)
    assert "another model" in error.value.hint


def test_model_explorer_gets_milliseconds_by_node(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps([{"name": "conv", "averageMs": 0.25}]))
    data = node_data(imported(path, model), "main")
    assert data["main"]["results"] == {"conv": {"value": 0.25}}
    assert [stop["stop"] for stop in data["main"]["gradient"]] == [0.0, 0.2, 0.5, 1.0]
