"""Each `--max-…` flag limits a run, and says so when it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import parser

from exec.budget import FLAGS, Limits, use_limits
from workbench.cli.start import run

LOOP = (
    '<ir_version: 10, opset_import: ["" : 21]> g (float[4000] x) => (float[4000] y) { '
    "m = Constant<value = int64 {9}>() go = Constant<value = bool {1}>() y = Loop(m, go, x) "
    "<body = b (int64 i, bool c, float[4000] v) => (bool d, float[4000] w) { d = Identity(c) w = Neg(v) }> }"
)
ENOUGH = {"growth", "effort", "nodes"}
"""Limits that this model does not reach however small they are: what any model may take is more, and it calls no function."""


@pytest.fixture(autouse=True)
def _limits_end_with_the_test() -> Iterator[None]:
    yield
    use_limits(Limits())


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "loop.onnx"
    onnx.save(parser.parse_model(LOOP), path)
    return str(path)


@pytest.mark.parametrize("field", sorted(FLAGS.keys() - ENOUGH))
def test_a_small_limit_stops_the_run_and_names_its_flag(
    field: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", model, FLAGS[field], "0" if field in ("seconds", "depth") else "1"]) == 2
    said = capsys.readouterr().err
    assert "owb: budget: " in said
    assert FLAGS[field] in said


@pytest.mark.parametrize("field", sorted(FLAGS))
def test_no_limit_runs(field: str, model: str) -> None:
    assert run(["run", model, FLAGS[field], "none"]) == 0


def test_the_clock_stops_the_rewriting(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.onnx"
    assert run(["optimize", model, "-o", str(out), "--max-seconds", "0"]) == 2
    assert "--max-seconds" in capsys.readouterr().err
    assert not out.exists()
