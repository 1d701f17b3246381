"""`owb optimize --dry-run --why NODE`: what would be done with a node, and what not."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

from exec.errors import OptionError
from exec.ir import load
from passes.optimize import dry_run
from workbench.cli.start import run
from workbench.why import why

SHARED = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,4,4] x) => (float[1,2,4,4] y, float[1,2,4,4] z)
    <float[2,2,1,1] w = {1,2,3,4}, float[2] s = {1,2}, float[2] b = {0,1}, float[2] m = {0,0}, float[2] v = {1,1}> {
    [Conv_12] c = Conv (x, w)  i = Identity (c)  [BatchNormalization_13] y = BatchNormalization (i, s, b, m, v)  [Add_20] z = Add (c, x) }"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(" ".join(SHARED.split())), path)
    return str(path)


def test_the_reason_names_who_else_reads_it(model: str) -> None:
    found = why(load(model), dry_run(load(model)), "Conv_12")
    assert (found.op, found.done) == ("Conv", ())
    assert next((r.rule, r.reason) for r in found.refused) == (
        "fuse-conv-bn",
        "the output of Conv_12 is also read by Add_20",
    )
    assert "fuse-pad-conv" in found.silent
    assert "fuse-conv-bn" not in found.silent


@pytest.mark.parametrize("name", ["i", "Identity#1"])
def test_a_node_without_a_name_is_found_by_its_output_or_place(name: str, model: str) -> None:
    found = why(load(model), dry_run(load(model)), name)
    assert [a.rule for a in found.done] == ["eliminate-identity"]


def test_a_name_nobody_has_is_an_error_with_near_ones(model: str) -> None:
    with pytest.raises(OptionError, match="did you mean 'Conv_12'"):
        why(load(model), dry_run(load(model)), "Conv_21")


def test_the_command_line_says_it_as_text_and_json(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["optimize", model, "--dry-run", "--why", "Conv_12"]) == 0
    assert "the output of Conv_12 is also read by Add_20" in " ".join(capsys.readouterr().out.split())
    assert run(["optimize", model, "--dry-run", "--why", "Conv_12", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kind"], said["op"], said["refused"][0]["rule"]) == ("why", "Conv", "fuse-conv-bn")
    assert run(["optimize", model, "--why", "Conv_12"]) == 2
    assert "--dry-run" in capsys.readouterr().err
