"""`owb convert` says what it did, verifies it, and writes nothing that computes something else."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from passes.selftest import model_of
from workbench.cli.start import run
from workbench.samples import sample

CNN = str(sample("digits_cnn.onnx"))


def test_half_precision_is_written_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "half.onnx"
    assert run(["convert", CNN, "-o", str(out), "--to", "float16", "--block", "Conv"]) == 0
    said = capsys.readouterr().out
    assert "Verified against the original" in said
    made = onnx.load(str(out))
    assert {t.data_type for t in made.graph.initializer} == {TensorProto.FLOAT, TensorProto.FLOAT16}
    assert made.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT


def test_a_result_that_computes_something_else_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "g (float[2,4] x) => (float[2,4] y) <float k = {60000}, float d = {0.0001}> { a = Mul (x, k)  b = Mul (a, k)  y = Mul (b, d) }"
    source, out = tmp_path / "wide.onnx", tmp_path / "half.onnx"
    onnx.save(model_of(text, 17), source)
    assert run(["convert", str(source), "-o", str(out), "--to", "float16"]) == 1
    said = capsys.readouterr().err
    assert "not written: output y" in said
    assert "`--block NODE`" in said
    assert not out.exists()
    assert run(["convert", str(source), "-o", str(out), "--to", "float16", "--no-verify"]) == 0
    assert "Not verified" in capsys.readouterr().out
    assert out.exists()


def test_sizes_opset_and_batch_in_one_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.onnx"
    assert run(["convert", CNN, "-o", str(out), "--opset", "20", "--batch", "4", "--int32"]) == 0
    made = onnx.load(str(out))
    assert made.opset_import[0].version == 20
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 4
    assert "batch 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [([], "nothing to convert"), (["--to", "float16", "--block", "Cov"], "no op and no node called 'Cov'")],
)
def test_what_cannot_be_meant_is_refused(words: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    assert run(["convert", CNN, "-o", str(tmp_path / "o.onnx"), *words]) == 2
    assert text in capsys.readouterr().err
