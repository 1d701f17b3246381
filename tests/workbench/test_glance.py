"""The first look at a file agrees with what the loader finds, and never raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import parser

import workbench as wb
from workbench.glance import _model, _NotProtobufError, glance
from workbench.samples import sample

NAMES = ("digits_cnn.onnx", "digits_control.onnx", "digits_attention_ts.onnx", "digits_attention_dynamo.onnx")


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_the_loader_says(name: str) -> None:
    seen, model = glance(sample(name)), wb.load(sample(name))
    assert seen is not None
    proto = onnx.load(sample(name))
    assert seen.ir_version == proto.ir_version
    assert seen.producer == proto.producer_name
    assert seen.opsets == {o.domain: o.version for o in proto.opset_import}
    assert seen.initializers == len(proto.graph.initializer)
    assert [n for n, _ in seen.inputs] == [i.name for i in model.inputs]
    assert [d for _, d in seen.inputs] == [tuple(i.shape or ()) for i in model.inputs]
    assert [n for n, _ in seen.outputs] == [o.name for o in model.outputs]
    assert sum(n for _, n in seen.operators) == len(proto.graph.node)


def test_a_size_without_a_name_and_a_value_without_a_shape_are_unknown() -> None:
    proto = parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[2, n] x, float y) => (float[] z) { z = Add(x, y) }'
    )
    proto.graph.input[0].type.tensor_type.shape.dim.add()
    proto.graph.input[1].type.tensor_type.ClearField("shape")
    seen = _model(proto.SerializeToString())
    assert seen.inputs == (("x", (2, "n", None)), ("y", None))
    assert seen.operators == ((("Add", ""), 1),)


def test_what_is_no_model_is_left_to_the_loader(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello, this is no model")
    (tmp_path / "cut").write_bytes(sample("digits_cnn.onnx").read_bytes()[:500])
    (tmp_path / "empty").write_bytes(b"")
    for name in ("text", "cut", "empty", "absent", "."):
        assert glance(tmp_path / name) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert glance(tmp_path / "pipe") is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        _model(data)
    except (_NotProtobufError, IndexError):
        return


def test_the_first_screen_needs_neither_numpy_nor_onnx() -> None:
    code = "import sys, tui.app; print(sorted({'numpy', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
