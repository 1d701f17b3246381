"""`owb nodes --profile` filters by times that were measured before, whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.cli.start import run
from workbench.samples import sample

CNN = str(sample("digits_cnn.onnx"))
COLUMNS = ["--columns", "name,time,intensity", "--format", "jsonl"]


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_saved_profile_and_its_json_give_the_same_kind_of_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["profile", CNN, "--runs", "3", "--save", str(tmp_path / "kept.json"), "--force", "--json"])
    (tmp_path / "whole.json").write_text(capsys.readouterr().out, encoding="utf-8")
    for file in ("kept.json", "whole.json"):
        assert run(["nodes", CNN, "--profile", str(tmp_path / file), "-q", "time>5%", *COLUMNS]) == 0
        found = rows(capsys)
        assert "/convs.1/Conv" in {row["name"] for row in found}
        assert all(isinstance(row["time"], float) and row["time"] > 0 for row in found)


def test_a_trtexec_profile_gives_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = [{"count": 10}, {"name": "/convs.1/Conv", "averageMs": 2.0, "timeMs": 20, "percentage": 66.0}, {"name": "/head/Gemm", "averageMs": 1.0, "timeMs": 10, "percentage": 33.0}]  # fmt: skip
    (tmp_path / "trt.json").write_text(json.dumps(layers), encoding="utf-8")
    assert run(["nodes", CNN, "--profile", str(tmp_path / "trt.json"), "-q", "time>50%", *COLUMNS]) == 0
    assert [row["name"] for row in rows(capsys)] == ["/convs.1/Conv"]


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "profile"}', '{"a": 1}'])
def test_what_is_no_profile_is_said_to_be_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.json").write_text(text, encoding="utf-8")
    assert run(["nodes", CNN, "--profile", str(tmp_path / "odd.json"), "-q", "time>1%"]) == 2
    assert "defect" not in capsys.readouterr().err


def test_without_a_profile_the_next_step_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", CNN, "-q", "time>1%"]) == 2
    assert "owb profile" in capsys.readouterr().err
