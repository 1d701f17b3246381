"""A recipe is data, and replays to the byte-same model."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from exec.errors import BenchError, OptionError
from workbench import load
from workbench.bench import Bench
from workbench.cli.start import run
from workbench.editsteps import (
    EditStep,
    ExtractStep,
    InputsToWeightsStep,
    RenameStep,
    SetDimStep,
    StripStep,
    command_of,
    edit_of,
)
from workbench.recipe import OptimizeStep, QuantizeStep, Recipe, read_recipe, replay, write_recipe
from workbench.samples import sample

CNN = sample("digits_cnn.onnx")


def test_a_recipe_survives_its_text(tmp_path: Path) -> None:
    recipe = Recipe(
        model="m.onnx",
        step=[
            OptimizeStep(passes=["default"], opset=17),
            QuantizeStep(data=4, exclude=["op:Gemm"], ranges={"x": (0.0, 1.5)}),
        ],
    )
    path = tmp_path / "r.toml"
    path.write_text(write_recipe(recipe))
    assert read_recipe(path) == recipe


def test_what_was_done_by_hand_replays_to_the_same_bytes(tmp_path: Path) -> None:
    bench = Bench(CNN, data=4)
    bench.optimize(["fuse-conv-bn"])
    bench.optimize("default")
    bench.quantize()
    bench.save(tmp_path / "by_hand.onnx")
    bench.save_recipe(tmp_path / "r.toml")
    assert run(["recipe", "run", str(tmp_path / "r.toml"), str(CNN), "-o", str(tmp_path / "replayed.onnx")]) == 0
    assert (tmp_path / "by_hand.onnx").read_bytes() == (tmp_path / "replayed.onnx").read_bytes()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version = 1\n[[step]]\ndo = 'format-disk'\n", "format-disk"),
        ("version = 1\n[[step]]\ndo = 'optimize'\npases = []\n", "pases"),
        ("version = 1\n[[step]]\ndo = 'optimize'\npasses = 3\n", "array"),
        ("not toml", "Expected"),
        ("version = 99\n", "version 99"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(OptionError) as caught:
        read_recipe(path)
    assert reason in f"{caught.value.what} {caught.value.why}"


def test_a_recipe_reads_nothing_outside_its_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        replay(Recipe(step=[QuantizeStep(data="../secret.npz")]), load(CNN), folder=tmp_path)
    assert "outside its folder" in caught.value.what


@pytest.mark.parametrize("data", ["link.npz", "link.npz:image=image", "samples"])
def test_nor_by_way_of_a_link(data: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out.npz"
    (folder / "samples").mkdir(parents=True)
    outside.write_bytes(Path(sample("digits.npz")).read_bytes())
    for link in (folder / "link.npz", folder / "samples" / "a.npz"):
        link.symlink_to(outside)
    with pytest.raises(OptionError) as caught:
        replay(Recipe(step=[QuantizeStep(data=data)]), load(sample("digits_cnn.onnx")), folder=folder)
    assert "outside its folder" in caught.value.what


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "named pipe"),
        (_large, "are read"),
        (lambda path: path.write_text("model=" + "[" * 100_000), "nested too deeply"),
        (lambda path: path.symlink_to("/dev/zero"), "device"),
        (lambda path: path.write_bytes(b"\xff\xfe"), ""),
    ],
)
def test_a_file_that_is_no_recipe_is_left_at_once(make: Callable[[Path], object], why: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    make(path)
    with pytest.raises(OptionError) as caught:
        read_recipe(path)
    assert why in caught.value.why


@pytest.mark.parametrize(
    "step",
    [
        QuantizeStep(mode="weight-only", block_size=-7),
        QuantizeStep(mode="weight-only", block_size=0),
        QuantizeStep(mode="weight-only", block_size=10**12),
        QuantizeStep(data=10**9),
        QuantizeStep(data=-1),
        SetDimStep({"batch": -5}),
        SetDimStep({"batch": 1 << 63}),
    ],
)
def test_a_number_beyond_sense_is_said(step: QuantizeStep | SetDimStep) -> None:
    with pytest.raises(BenchError) as caught:
        replay(Recipe(step=[step]), load(sample("digits_cnn.onnx")))
    assert caught.value.kind in ("option", "quantization")


def test_edits_are_steps_that_can_be_undone_and_replay_to_the_same_bytes(tmp_path: Path) -> None:
    bench = Bench(CNN)
    bench.edit(SetDimStep(dims={"batch": 2}))
    bench.edit(RenameStep(names={"logits": "scores"}))
    bench.optimize("default")
    assert bench.model("B").outputs[0].shape == (2, 10)
    bench.save(tmp_path / "by_hand.onnx")
    bench.save_recipe(tmp_path / "r.toml")
    assert run(["recipe", "run", str(tmp_path / "r.toml"), str(CNN), "-o", str(tmp_path / "replayed.onnx")]) == 0
    assert (tmp_path / "by_hand.onnx").read_bytes() == (tmp_path / "replayed.onnx").read_bytes()
    bench.undo()
    bench.undo()
    assert bench.model("B").outputs[0].name == "logits"
    assert bench.log[1].command == "owb edit set-dim B batch=2 -o B"


def test_every_edit_survives_a_recipes_text_and_its_command_line_does_the_same(tmp_path: Path) -> None:
    steps: list[EditStep] = [
        StripStep(docs=True),
        InputsToWeightsStep(),
        RenameStep(names={"logits": "scores of it"}),
        SetDimStep(dims={"batch": 3, "image:3": 8}),
        ExtractStep(outputs=["scores of it"]),
    ]
    (tmp_path / "r.toml").write_text(write_recipe(Recipe(step=list(steps))))
    read = read_recipe(tmp_path / "r.toml")
    assert read.step == steps
    assert [edit_of(msgspec.to_builtins(step)) for step in steps] == steps
    replay(read, load(CNN)).model.save(tmp_path / "replayed.onnx")
    source = str(CNN)
    for k, step in enumerate(steps):
        target = str(tmp_path / f"step{k}.onnx")
        assert run(shlex.split(command_of(step, shlex.quote(source), shlex.quote(target)))[1:]) == 0
        source = target
    assert Path(source).read_bytes() == (tmp_path / "replayed.onnx").read_bytes()


def test_a_script_of_edits_is_their_command_lines() -> None:
    bench = Bench(CNN)
    bench.edit(SetDimStep(dims={"batch": 2}))
    bench.edit(StripStep(metadata=True))
    lines = bench.script("out.onnx").splitlines()
    assert lines[2].endswith("batch=2 -o step1.onnx")
    assert lines[3] == "owb edit strip step1.onnx --metadata -o out.onnx"


def test_a_step_says_how_far_it_is_inside() -> None:
    said: list[str] = []
    recipe = Recipe(step=[StripStep(), OptimizeStep(passes=["default"])])
    replay(recipe, load(CNN), progress=lambda done, total, text: said.append(text))
    assert said[0] == "step 1 of 2, strip: begins"
    assert sum(text.startswith("step 2 of 2, optimize: ") for text in said) > 2


EVERYTHING = """version = 1
[[step]]
do = "set-dim"
dims = {batch = 2}
[[step]]
do = "optimize"
passes = ["safe"]
skip = ["fuse-conv-bn"]
verify = false
[[step]]
do = "quantize"
data = 2
per_channel = false
include = ["op:Conv"]
[[step]]
do = "rename"
names = {image = "picture"}
"""


def test_what_is_exported_gives_the_bytes_of_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(EVERYTHING, encoding="utf-8")
    assert run(["recipe", "run", "r.toml", str(CNN), "-o", "replayed.onnx"]) == 0
    capsys.readouterr()
    export = ["recipe", "export", "r.toml", "--model", str(CNN), "--output"]
    assert run([*export, "shell.onnx"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert run(shlex.split(line)[1:]) == 0
    capsys.readouterr()
    assert run([*export, "python.onnx", "--to", "python"]) == 0
    exec(compile(capsys.readouterr().out, "exported", "exec"), {})
    wanted = Path("replayed.onnx").read_bytes()
    assert Path("shell.onnx").read_bytes() == wanted
    assert Path("python.onnx").read_bytes() == wanted


def test_a_session_of_everything_is_a_script_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bench = Bench(CNN, data=2)
    bench.optimize(["safe"], verify=False)
    bench.quantize(format="qoperator", preset="full")
    for line in bench.script("out.onnx").splitlines()[2:-1]:
        assert run(shlex.split(line)[1:]) == 0
    assert Path("out.onnx").exists()
