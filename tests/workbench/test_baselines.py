"""Figures kept for CI: worse ones fail, better ones pass, a busy machine is not judged."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from exec.errors import BenchError, OptionError
from exec.noise import Noise
from exec.timing import Profile, profile
from workbench import load
from workbench.baseline import Baseline, judge, load_baseline, save_baseline
from workbench.cli.start import run
from workbench.samples import sample
from workbench.slowdown import baseline_of
from workbench.slowdown import judge as judge_times

CNN = str(sample("digits_cnn.onnx"))


def test_a_figure_may_grow_by_the_slack_and_no_more() -> None:
    kept = Baseline("inspect", {"nodes": 100.0, "sqnr": 30.0}, ["sqnr"])
    assert [v.holds for v in judge(kept, {"nodes": 101, "sqnr": 29.8}, 0.01)] == [True, True]
    assert [v.holds for v in judge(kept, {"nodes": 102, "sqnr": 29.0}, 0.01)] == [False, False]
    assert [v.holds for v in judge(kept, {"nodes": 50}, 0.0)] == [True, False]


def test_inspect_fails_when_a_model_grew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "base.json"
    assert run(["inspect", CNN, "--save-baseline", str(path)]) == 0
    assert run(["inspect", CNN, "--baseline", str(path)]) == 0
    figures = json.loads(path.read_text())
    figures["figures"]["nodes"] -= 1
    path.write_text(json.dumps(figures))
    assert run(["inspect", CNN, "--baseline", str(path)]) == 1
    assert "nodes was 12, is 13" in capsys.readouterr().err


def test_a_file_that_is_no_baseline_says_so(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("{}")
    with pytest.raises(OptionError):
        load_baseline(path, "inspect")
    save_baseline(path, Baseline("compare", {}))
    with pytest.raises(OptionError) as caught:
        load_baseline(path, "inspect")
    assert "'compare'" in caught.value.what


@pytest.fixture(scope="module")
def measured() -> Profile:
    result = profile(load(CNN), runs=3)
    return dataclasses.replace(result, noise=dataclasses.replace(result.noise, quiet=True, reason=""))


def test_the_same_times_hold_and_doubled_times_do_not(measured: Profile) -> None:
    assert all(r.holds for r in judge_times(baseline_of(measured), measured, 1.10))
    slow = dataclasses.replace(
        measured,
        sum_ns=measured.sum_ns * 2,
        nodes=tuple(dataclasses.replace(n, median_ns=n.median_ns * 2) for n in measured.nodes),
    )
    worse = [r for r in judge_times(baseline_of(measured), slow, 1.10) if not r.holds]
    assert worse[0].name == "total"
    assert worse[0].ratio == pytest.approx(2.0)


def test_a_machine_of_half_the_speed_may_take_twice_as_long(measured: Profile) -> None:
    machine = measured.machine
    half = dataclasses.replace(
        machine, gemm_flops_per_s=machine.gemm_flops_per_s / 2, copy_bytes_per_s=machine.copy_bytes_per_s / 2
    )
    slow = dataclasses.replace(
        measured,
        machine=half,
        sum_ns=measured.sum_ns * 2,
        nodes=tuple(dataclasses.replace(n, median_ns=n.median_ns * 2) for n in measured.nodes),
    )
    assert all(r.holds for r in judge_times(baseline_of(measured), slow, 1.10))


def test_a_busy_machine_is_not_judged(measured: Profile) -> None:
    noisy = dataclasses.replace(measured, noise=Noise(1, 2, 3, 0.5, False, "something else runs"))
    with pytest.raises(BenchError) as caught:
        judge_times(baseline_of(measured), noisy, 1.10)
    assert "something else runs" in caught.value.why


def test_github_is_told_which_node_got_slower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers, base = tmp_path / "trt.json", tmp_path / "base.json"
    name = load(CNN).graph.nodes[0].name
    layers.write_text(json.dumps([{"name": name, "averageMs": 1.0}]))
    given = ["profile", CNN, "--import", str(layers)]
    assert run([*given, "--save", str(base)]) == 0
    assert run([*given, "--baseline", str(base), "--format", "github"]) == 0
    assert capsys.readouterr().out.count("::error") == 0
    layers.write_text(json.dumps([{"name": name, "averageMs": 1.5}]))
    assert run([*given, "--baseline", str(base), "--format", "github"]) == 1
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error")]
    assert len(said) == 2
    assert "1.50×" in said[0]


def busy(monkeypatch: pytest.MonkeyPatch, *verdicts: bool) -> list[bool]:
    """The machine is as quiet as `verdicts` say in turn, the last one from then on."""
    left = list(verdicts)

    def judged(times: object, share: float) -> Noise:
        quiet = left.pop(0) if len(left) > 1 else left[0]
        return Noise(1, 2, 3, share, quiet, "" if quiet else "something else runs")

    monkeypatch.setattr("exec.noise.judged", judged)
    return left


def test_a_busy_machine_keeps_no_baseline_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    busy(monkeypatch, False)
    kept = tmp_path / "kept.json"
    asked = ["profile", CNN, "--runs", "3", "--save", str(kept)]
    assert run(asked) == 2
    said = capsys.readouterr().err
    assert "too busy for a baseline" in said
    assert "--wait" in said
    assert not kept.exists()
    assert run([*asked, "--force"]) == 0
    assert kept.exists()


def test_waiting_ends_once_it_is_quiet_and_measures_again_while_it_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # busy, quiet, quiet: measured, but busy; quiet, quiet: measured in quiet
    left = busy(monkeypatch, False, True, True, False, True, True, True)
    monkeypatch.setattr("exec.noise.PROBE_SECONDS", 0.01)
    monkeypatch.setattr("exec.noise.PAUSE_SECONDS", 0.01)
    kept = tmp_path / "kept.json"
    assert run(["profile", CNN, "--runs", "3", "--wait", "600", "--save", str(kept)]) == 0
    assert kept.exists()
    assert left == [True]


def test_waiting_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch, False)
    monkeypatch.setattr("exec.noise.PROBE_SECONDS", 0.01)
    kept = tmp_path / "kept.json"
    assert run(["profile", CNN, "--runs", "3", "--wait", "0.05", "--save", str(kept)]) == 2
    assert not kept.exists()


@pytest.mark.parametrize("engine", ["onnxruntime", "reference"])
def test_what_an_engine_does_not_measure_is_said_and_not_zero(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime")
    run(["profile", CNN, "--runs", "3", "--engine", engine])
    assert f"memory not measured in {engine}" in " ".join(capsys.readouterr().out.split())
    run(["profile", CNN, "--runs", "3", "--engine", engine, "--json"])
    assert json.loads(capsys.readouterr().out)["peak_bytes"] is None


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_numbers_of_a_profile_are_never_cut(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    run(["profile", CNN, "--runs", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    row = next(line for line in lines if "MaxPool_1" in line)
    assert re.search(r"\d (µs|ms) ", row)
    assert re.search(r"\d %", row)


@pytest.mark.parametrize("asked", [["--engine", "onnxruntime"], ["--import", "trace.json"]])
def test_memory_is_not_asked_of_an_engine_that_measures_none(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", CNN, "--by", "memory", *asked]) == 2
    assert "memory is measured in the embedded engine only" in capsys.readouterr().err
