"""Models of PyTorch's two exporters, tf2onnx and skl2onnx compute what their frameworks did, in every engine, and go on to after a rewrite.

`exports/make.py` made the models and recorded the outputs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from exec.ir import load
from workbench import optimize
from workbench.cli.start import run
from workbench.recorded import recordings
from workbench.verification import verify_recorded

EXPORTS = sorted((Path(__file__).parent / "exports").glob("*.onnx"))
ENGINES = ("embedded", "onnxruntime", "reference")


def test_every_exporter_is_there() -> None:
    assert {p.stem.partition("_")[0] for p in EXPORTS} == {"torch", "tensorflow", "sklearn"}
    assert {"torch_script", "torch_dynamo"} <= {p.stem for p in EXPORTS}


@pytest.mark.parametrize("path", EXPORTS, ids=lambda p: p.stem)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_export_computes_what_its_framework_did(path: Path, engine: str) -> None:
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime")
    model = load(path)
    result = verify_recorded(model, recordings(model, str(path.with_suffix(".npz"))), engines=(engine,))
    assert not result.absent
    assert result.holds, result.verdict


@pytest.mark.parametrize("path", EXPORTS, ids=lambda p: p.stem)
def test_it_still_does_after_every_rewrite(path: Path) -> None:
    model = load(path)
    smaller = optimize(model).model
    result = verify_recorded(
        smaller, recordings(smaller, str(path.with_suffix(".npz"))), engines=("embedded", "reference")
    )
    assert result.holds, result.verdict


@pytest.mark.parametrize("path", EXPORTS, ids=lambda p: p.stem)
def test_looking_at_an_export_says_nothing_is_wrong_with_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("inspect", "nodes", "tensors", "check", "coverage"):
        assert run([command, str(path)]) == 0, command
    assert "defect" not in capsys.readouterr().err


def test_other_opsets_are_verified_beside_the_models_own_and_one_that_cannot_be_is_told() -> None:
    path = next(p for p in EXPORTS if p.stem == "torch_script")
    model = load(path)
    recorded = list(recordings(model, str(path.with_suffix(".npz"))))
    result = verify_recorded(model, recorded, engines=("embedded",), opsets=(17, 21, 99))
    assert [c.engine for c in result.checks] == ["embedded", "embedded at opset 21"]
    assert result.holds
    assert list(result.absent) == ["opset 99"]
