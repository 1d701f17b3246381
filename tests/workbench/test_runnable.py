"""One operator that nobody knows costs its own row, not the run."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from exec.errors import UnsupportedOp
from exec.ir import load
from workbench import compare
from workbench.cli.start import run
from workbench.runnable import runnable

HEAD = '<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>'
BODY = "a = Relu(x) b = acme.Swirl(a) c = Sigmoid(b) y = Neg(c) z = Exp(a)"


def model(known: str = "") -> onnx.ModelProto:
    proto: onnx.ModelProto = parser.parse_model(
        f"{HEAD} g (float[n,4] x) => (float[n,4] y, float[n,4] z) {known} {{ {BODY} }}"
    )
    return proto


def test_where_the_file_tells_the_shape_only_the_node_itself_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(model("<float[n,4] b>"), tmp_path / "m.onnx")
    part, lost = runnable(load(tmp_path / "m.onnx"))
    assert [n.op for n in part.graph.nodes] == ["Relu", "Sigmoid", "Neg", "Exp"]
    assert [(n.node, n.reason) for n in lost] == [("Swirl#1", "no kernel for acme::Swirl, opset 1")]
    assert run(["profile", str(tmp_path / "m.onnx"), "--runs", "3"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "not measured: Swirl#1: no kernel for acme::Swirl, opset 1" in text
    assert all(op in text for op in ("Relu", "Sigmoid", "Neg", "Exp"))


def test_where_nobody_knows_the_shape_its_readers_are_lost_too_and_the_rest_is_not(tmp_path: Path) -> None:
    part, lost = runnable(load(model()))
    assert [n.op for n in part.graph.nodes] == ["Relu", "Exp"]
    assert [n.node for n in lost] == ["Swirl#1", "Sigmoid#2", "Neg#3"]
    assert lost[1].reason == "it reads b, whose shape nobody knows"


def test_a_model_that_runs_is_not_touched() -> None:
    whole = load(parser.parse_model(f"{HEAD} g (float[4] x) => (float[4] y) {{ y = Relu(x) }}"))
    assert runnable(whole) == (whole, ())


def test_where_nothing_is_left_it_is_an_error_with_the_operator() -> None:
    with pytest.raises(UnsupportedOp, match="acme::Swirl"):
        runnable(load(parser.parse_model(f"{HEAD} g (float[4] x) => (float[4] y) {{ y = acme.Swirl(x) }}")))


def test_a_check_of_such_a_model_looks_at_all_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(model(), tmp_path / "m.onnx")
    assert run(["check", str(tmp_path / "m.onnx")]) == 1
    assert "OWB052" in capsys.readouterr().out


def test_models_are_compared_up_to_it_and_behind_it_where_both_begin_again_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(model("<float[n,4] b>"), tmp_path / "a.onnx")
    other = model("<float[n,4] b>")
    other.graph.node[3].op_type = "Abs"
    onnx.save(other, tmp_path / "b.onnx")
    same = compare(load(tmp_path / "a.onnx"), load(tmp_path / "a.onnx"))
    assert [o.name for o in same.outputs] == ["y", "z"]
    assert [n.node for n in same.lost] == ["Swirl#1"]
    assert same.equal
    assert not same.unreached
    differing = compare(load(tmp_path / "a.onnx"), load(tmp_path / "b.onnx"))
    assert [(o.name, o.within) for o in differing.outputs] == [("y", False), ("z", True)]
    assert run(["compare", str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")]) == 1
    assert "Not compared: Swirl#1, no kernel for acme::Swirl, opset 1." in " ".join(capsys.readouterr().out.split())


def test_an_output_that_cannot_be_computed_is_named_and_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.onnx")
    onnx.save(model(), path)
    result = compare(load(path), load(path))
    assert [o.name for o in result.outputs] == ["z"]
    assert result.unreached == ("y",)
    assert run(["compare", path, path]) == 2
    assert "; the output y." in " ".join(capsys.readouterr().out.split())


def test_where_an_engine_computes_it_values_are_not_made_up_for_the_other() -> None:
    pytest.importorskip("onnxruntime")
    known = load(parser.parse_model(f"{HEAD} g (float[n,4] x) => (float[n,4] y) {{ b = Relu(x) y = Neg(b) }}"))
    result = compare(load(model("<float[n,4] b>")), known, engines=("embedded", "onnxruntime"))
    assert [n.node for n in result.lost] == ["Swirl#1", "Sigmoid#2", "Neg#3"]
    assert result.unreached == ("y",)


def test_of_many_nodes_that_cannot_be_measured_the_first_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    behind = " ".join(f"v{k + 1} = Relu(v{k})" for k in range(40))
    text = f"{HEAD} g (float[n,4] x) => (float[n,4] y, float[n,4] z) {{ z = Neg(x) v0 = acme.Swirl(x) {behind} y = Abs(v40) }}"
    onnx.save(parser.parse_model(text), tmp_path / "long.onnx")
    for more, named in ((), 6), (("--all",), 42):
        assert run(["profile", str(tmp_path / "long.onnx"), "--runs", "3", *more]) == 0
        assert capsys.readouterr().out.count("not measured:") == named
