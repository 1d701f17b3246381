"""`profile --by scope` has rows that tell where the time goes; `--against` sets two engines side by side."""

from __future__ import annotations

import json
import os
from pathlib import Path

import onnx
import pytest

import workbench
from exec.timing import NodeTime
from workbench.cli.start import run
from workbench.lookup import Lookup
from workbench.samples import sample
from workbench.scopes import module_of, modules
from workbench.timescopes import time_scopes

MOBILE = str(sample("digits_mobile.onnx"))


def timed(name: str, op: str, index: int, ns: int) -> NodeTime:
    return NodeTime(name, op, "", index, "numpy", ns, ns, 0.0, None, None, None, None, (), 0, "")


def named(*names: str) -> list[NodeTime]:
    return [timed(name, "Relu", k, 100) for k, name in enumerate(names)]


def test_a_scope_that_holds_everything_is_looked_into() -> None:
    nodes = named(*(f"/model/encoder/layer.{k}/mlp/act/Relu" for k in range(6)))
    scopes, how = time_scopes(nodes)
    assert scopes == [f"/model/encoder/layer.{k}" for k in range(6)]
    assert not how  # as many rows as with each scope in full
    assert time_scopes(nodes, whole=True)[0][0] == "/model/encoder/layer.0/mlp/act"


def test_deeper_rows_are_said_to_be_there() -> None:
    nodes = named(*(f"/layer.{k}/{part}/Relu" for k in range(6) for part in "ab"))
    scopes, how = time_scopes(nodes)
    assert len(set(scopes)) == 6
    assert how == "Scopes to depth 1 of 2 (--all shows each)."


def test_what_the_exporter_recorded_stands_for_names_without_scopes() -> None:
    nodes = named("linear", "linear_1")
    assert time_scopes(nodes, {"linear": "blocks.0", "linear_1": "blocks.1"})[0] == ["blocks.0", "blocks.1"]


def test_without_any_scope_the_repeated_blocks_are_the_rows() -> None:
    ops = ["Cast", *["MatMul", "Add", "Relu", "Softmax"] * 3, "Identity"]
    scopes, how = time_scopes([timed(f"n{k}", op, k, 10) for k, op in enumerate(ops)])
    blocks = [f"block {k} of 3" for k in (1, 2, 3) for _ in range(4)]
    assert scopes == ["before the blocks", *blocks, "behind the blocks"]
    assert "repeated blocks" in how


def test_one_node_is_one_row() -> None:
    assert time_scopes(named("a")) == (["/"], "No name spells a scope, and nothing repeats.")


def test_modules_are_read_from_a_dynamo_export() -> None:
    model = workbench.load(sample("digits_attention_dynamo.onnx"))
    found = set(modules(model.graph).values())
    assert {"blocks.0.query", "blocks.1.query"} <= found
    assert {"blocks.0.query", "patch"} <= {scope.path for scope in Lookup(model).scopes}


@pytest.mark.parametrize(("text", "module"), [("['', 'a', 'a.b', 'view']", "a.b"), ("", ""), ("['view']", ""), ("no list", "")])  # fmt: skip
def test_a_record_that_is_none_is_no_module(text: str, module: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    )
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value=text)
    onnx.save(model, tmp_path / "m.onnx")
    assert module_of(workbench.load(tmp_path / "m.onnx").graph.nodes[0]) == module


def pair(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["profile", MOBILE, "--runs", "3", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "profile-pair"
    return dict(found)


def test_two_engines_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    found = pair(capsys, "--against", "onnxruntime")
    assert (found["a"], found["b"]) == ("embedded", "onnxruntime")
    nodes = {n["name"]: n for n in found["nodes"]}  # type: ignore[attr-defined]
    assert len(nodes) == 41
    stem = nodes["/stem/Conv"]
    assert min(stem["a_ns"], stem["b_ns"]) > 0


def test_a_profile_kept_before_is_set_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", MOBILE, "--runs", "3", "--json"]) == 0
    kept = json.loads(capsys.readouterr().out)
    (tmp_path / "kept.json").write_text(json.dumps(kept), encoding="utf-8")
    found = pair(capsys, "--against", str(tmp_path / "kept.json"))
    was = {n["name"]: n["median_ns"] for n in kept["nodes"]}
    assert {n["name"]: n["b_ns"] for n in found["nodes"]} == was  # type: ignore[attr-defined]
    assert found["b"] == "kept.json"


def test_the_table_says_both_sums_and_what_is_folded_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", "120")
    rows = [{"name": "/stem/Conv", "op": "Conv", "index": 0, "median_ns": 5000}, {"name": "/HardSwish", "op": "HardSwish", "index": 1, "median_ns": 0}]  # fmt: skip
    (tmp_path / "kept.json").write_text(json.dumps({"kind": "profile", "nodes": rows}), encoding="utf-8")
    assert run(["profile", MOBILE, "--runs", "3", "--against", str(tmp_path / "kept.json")]) == 0
    text = capsys.readouterr().out
    assert "5 µs in kept.json" in text.replace("\n", " ")
    assert "39 nodes not timed in kept.json" in text.replace("\n", " ")
    assert run(["profile", MOBILE, "--runs", "3", "--against", str(tmp_path / "kept.json"), "--by", "op"]) == 0
    assert "Conv" in capsys.readouterr().out


def test_scopes_and_paths_are_not_set_beside(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", MOBILE, "--against", "onnxruntime", "--by", "path"]) == 2
    assert "node and op" in capsys.readouterr().err
