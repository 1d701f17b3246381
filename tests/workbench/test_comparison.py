"""What counts as equal: a share of the value's range, and when that is the function's own range it is said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from exec.errors import FeedError
from workbench import compare, load
from workbench.cli.start import run


def sigmoid_of(offset: float) -> onnx.ModelProto:
    text = f"g (float[4] x) => (float[4] y) <float[1] k = {{{offset}}}> {{ z = Add(x, k) y = Sigmoid(z) }}"
    proto: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    return proto


FEEDS = {"x": np.float32([0.0, 0.1, -0.2, 0.3])}


def test_what_stays_near_one_end_of_a_sigmoid_is_measured_by_its_span_and_says_so() -> None:
    result = compare(load(sigmoid_of(-12.0)), load(sigmoid_of(-11.0)), FEEDS)
    (output,) = result.outputs
    assert output.within
    assert output.max_of_range > 0.5
    assert output.measure == "Sigmoid"
    assert output.share == pytest.approx(output.max_abs)
    assert output.note.startswith("of Sigmoid's 1; of its own values ")


def test_a_tolerance_that_was_asked_for_is_kept_to() -> None:
    result = compare(load(sigmoid_of(-12.0)), load(sigmoid_of(-11.0)), FEEDS, tolerance=1e-2)
    assert not result.equal
    assert result.first is not None
    assert result.outputs[0].share == result.outputs[0].max_of_range


def test_a_sigmoid_in_its_middle_is_measured_by_its_values() -> None:
    assert not compare(load(sigmoid_of(0.0)), load(sigmoid_of(0.5)), FEEDS).equal


def test_the_verdict_shows_the_number_it_was_judged_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, offset in (("a", -12.0), ("b", -11.0)):
        onnx.save(sigmoid_of(offset), tmp_path / f"{name}.onnx")
    np.savez(tmp_path / "x.npz", **FEEDS)
    asked = [
        "compare",
        str(tmp_path / "a.onnx"),
        str(tmp_path / "b.onnx"),
        "--inputs",
        str(tmp_path / "x.npz"),
        "--json",
    ]
    assert run(asked) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert output["share"] < 1e-4 < output["max_of_range"]


def test_a_baseline_says_that_the_verdict_is_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, offset in (("a", 0.0), ("b", 0.5)):
        onnx.save(sigmoid_of(offset), tmp_path / f"{name}.onnx")
    asked = ["compare", str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")]
    kept = str(tmp_path / "kept.json")
    assert run([*asked, "--save-baseline", kept]) == 1
    assert run([*asked, "--baseline", kept]) == 0
    seen = capsys.readouterr()
    assert "differs" in seen.out
    assert "The verdict is not this but the" in " ".join(seen.out.split())
    assert f"{kept}: holds, 1 output " in seen.err


def test_a_recording_with_its_outputs_serves_as_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(sigmoid_of(0.0), tmp_path / "a.onnx")
    np.savez(tmp_path / "all.npz", **FEEDS, y=np.zeros(4, np.float32))
    asked = ["compare", str(tmp_path / "a.onnx"), str(tmp_path / "a.onnx"), "--inputs", str(tmp_path / "all.npz")]
    assert run(asked) == 0
    assert "without the outputs y" in capsys.readouterr().err
    np.savez(tmp_path / "typo.npz", **FEEDS, xx=np.zeros(4, np.float32))
    assert run([*asked[:-1], str(tmp_path / "typo.npz")]) == 2
    assert "no input 'xx'" in capsys.readouterr().err


def test_the_reference_overflows_in_silence() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(
            load(sigmoid_of(0.0)),
            load(sigmoid_of(0.0)),
            {"x": np.float32([-1e4, 1e4, 0, 1])},
            engines=("embedded", "reference"),
        )


def test_outputs_are_paired_by_name() -> None:
    def two(first: str, second: str, body: str) -> onnx.ModelProto:
        text = f"g (float[4] x) => (float[4] {first}, float[4] {second}) {{ {body} }}"
        proto: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
        return proto

    before = load(two("y", "z", "y = Relu(x) z = Neg(x)"))
    assert compare(before, load(two("z", "y", "y = Relu(x) z = Neg(x)")), FEEDS).equal
    assert not compare(before, load(two("z", "y", "z = Relu(x) y = Neg(x)")), FEEDS).equal


def test_models_of_different_inputs_are_told_apart_before_anything_runs() -> None:
    def named(name: str) -> onnx.ModelProto:
        text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[4] {name}) => (float[4] y) {{ y = Relu({name}) }}'
        proto: onnx.ModelProto = parser.parse_model(text)
        return proto

    with pytest.raises(FeedError, match="B has inputs that A has not: image") as caught:
        compare(load(named("x")), load(named("image")), FEEDS)
    assert "A has x" in caught.value.where


def test_the_kernels_that_are_named_run_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(sigmoid_of(1.0), path)
    for kernels in ("numpy", "plain"):
        assert run(["compare", path, path, "--kernels", kernels]) == 0
    assert run(["compare", path, path, "--kernels", "bogus"]) == 2
    assert "bogus" in capsys.readouterr().err
