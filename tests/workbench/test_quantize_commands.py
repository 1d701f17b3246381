"""quantize, calibrate and sensitivity on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from quantize.report import QuantizedTensor
from workbench.cli.start import run
from workbench.render.quantizing import bars
from workbench.samples import sample

CNN = str(sample("digits_cnn.onnx"))


def owb(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_ranges_go_from_calibrate_to_quantize(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "ranges.json")
    code, out, _ = owb(capsys, "calibrate", CNN, "--samples", "2", "-o", file, "--json")
    found = json.loads(out)
    assert (code, found["kind"]) == (0, "calibration")
    assert all(sum(t["picture"]) for t in found["tensors"])
    _, out, _ = owb(capsys, "quantize", CNN, "--ranges", file, "--samples", "1", "--no-time", "--json")
    assert {t["name"]: (t["low"], t["samples"]) for t in json.loads(out)["tensors"]} == {
        t["name"]: (t["low"], 0) for t in found["tensors"]
    }


def test_sensitivity_names_every_node_and_what_the_preset_takes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = owb(capsys, "sensitivity", CNN, "--samples", "2", "--json")
    found = json.loads(out)
    assert (code, found["kind"]) == (0, "sensitivity")
    assert [n["sqnr_db"] for n in found["nodes"]] == sorted(n["sqnr_db"] for n in found["nodes"])
    assert {n["name"] for n in found["nodes"] if n["is_default"]} == {"/convs.1/Conv", "/convs.2/Conv"}


def test_a_ranking_says_that_it_writes_no_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = owb(capsys, "quantize", CNN, "-o", str(tmp_path / "q.onnx"), "--samples", "2", "--sensitivity")
    assert code == 0
    assert "nothing was written" in err
    assert not list(tmp_path.iterdir())


def test_sensitivity_by_tensor_ranks_values_with_their_worst_output_and_slice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = owb(capsys, "sensitivity", CNN, "--samples", "2", "--by", "tensor", "--json")
    found = json.loads(out)
    assert (code, found["nodes"]) == (0, [])
    assert [t["sqnr_db"] for t in found["tensors"]] == sorted(t["sqnr_db"] for t in found["tensors"])
    assert all(t["outputs"][0]["slices_db"] and t["kept_db"] > 20 for t in found["tensors"])
    _, table, _ = owb(capsys, "sensitivity", CNN, "--samples", "2", "--by", "both")
    assert all(word in table for word in ("worst output", "of the value itself", "MACs per element"))


def test_a_query_selects_by_what_the_nodes_are(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = owb(capsys, "quantize", CNN, "--samples", "1", "--no-time", "--exclude", "op:Conv macs>1M", "--json")
    assert [n["name"] for n in json.loads(out)["nodes"]] == ["/convs.2/Conv"]
    code, _, err = owb(capsys, "quantize", CNN, "--samples", "1", "--exclude", "op:Conv macs>1G")
    assert code == 2
    assert "finds no node" in err


def test_the_report_tells_the_time_and_the_share_of_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    _, out, _ = owb(capsys, "quantize", CNN, "--samples", "1", "--json")
    report = json.loads(out)
    times = report["timing"]
    assert times["engine"] == "onnxruntime"
    assert 0 < times["of_original"] < 100
    assert {"/convs.1/Conv", "/convs.2/Conv"} <= {n["name"] for n in times["nodes"]}
    assert report["macs_int8"] / report["macs_total"] > 0.9
    _, out, _ = owb(capsys, "quantize", CNN, "--samples", "1")
    assert "time in onnxruntime" in out
    assert "time, beside the optimized float model" in out


def test_no_sentence_is_cut_and_a_kind_is_one_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = owb(capsys, "quantize", CNN, "--samples", "1", "--no-time", "--exclude", "/convs.1/Conv")
    assert sum(line.startswith("Q003") for line in out.splitlines()) == 1
    assert "takes it all the same" in " ".join(out.split()) or "same)" in out
    assert "accuracy on real" in " ".join(out.split())


def test_a_metric_of_a_module_steers_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "owb_metric_test.py").write_text("def size(model):\n    return -float(len(model.graph.nodes))\n")
    monkeypatch.chdir(tmp_path)
    code, out, _ = owb(
        capsys, "quantize", CNN, "--samples", "4", "--no-time", "--metric", "owb_metric_test:size", "--max-drop", "100", "--json"
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["search"][0]["metric"] < 0


def test_what_images_need_is_refused_without_images(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = owb(capsys, "quantize", CNN, "--mean", "0.5")
    assert code == 2
    assert "--data FOLDER" in err


def test_a_histogram_has_a_bar_a_part() -> None:
    tensor = QuantizedTensor("x", 0.0, 1.0, 1 / 255, 0, 1, None, (0.0, 1.0), (0, 1, 10, 100))
    line = bars(tensor.picture)
    assert len(line) == 4
    assert line[0] == " "
    assert list(line[1:]) == sorted(line[1:])
    assert bars(()) == ""
    assert np.char.str_len(bars((5,))) == 1
